//! Golden files: texts that a person has reviewed.

use std::path::Path;
use std::{env, fs};

use crate::storage;

/// Compares the text `now` that a test wrote, such as a [`playthrough`](super::playthrough), with a file that a
/// person has reviewed. If the environment variable PETTEIA_BLESS is set, the file is written instead, for another
/// review. The file may have Windows line endings.
///
/// # Errors
/// If the file cannot be read or written, or differs. If the file differs, the error names the first different line and
/// explains how to accept the new text.
pub fn unchanged(path: &Path, now: &str) -> Result<(), String> {
    kept(path, now, env::var_os("PETTEIA_BLESS").is_some())
}

fn kept(path: &Path, now: &str, bless: bool) -> Result<(), String> {
    let place = path.display();
    if bless {
        let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
        return folder.and_then(|()| fs::write(path, now)).map_err(|e| format!("{place}: {e}"));
    }
    let read = storage::read_at_most(path, storage::LARGEST_TEXT, "a golden file");
    let then = read.map_err(|e| format!("{e}; set PETTEIA_BLESS=1 to write it, and then review it"))?;
    let then = String::from_utf8_lossy(&then);
    compare(now, &then).map_err(|difference| {
        format!(
            "{place} {difference}\nIf the change is right, set PETTEIA_BLESS=1 to rewrite the file, and then review \
             it."
        )
    })
}

fn compare(now: &str, then: &str) -> Result<(), String> {
    let (mut new, mut old) = (now.lines(), then.lines());
    for line in 1.. {
        match (new.next(), old.next()) {
            (None, None) => break,
            (now, then) if now == then => {}
            (now, then) => {
                let [now, then] = [now, then].map(|line| line.unwrap_or("(the end)"));
                return Err(format!("differs in line {line}:\nnow  {now}\nthen {then}"));
            }
        }
    }
    if now == then.replace("\r\n", "\n") { Ok(()) } else { Err("differs in its line endings".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_differs_is_named() {
        for (now, then, says) in [
            ("a\nb\n", "a\nb\n", None),
            ("a\nb\n", "a\r\nb\r\n", None),
            ("a\nb\nc\n", "a\nx\ny\n", Some("line 2:\nnow  b\nthen x")),
            ("a\nb\n", "a\n", Some("line 2:\nnow  b\nthen (the end)")),
            ("a\n", "a\n\n", Some("line 2:\nnow  (the end)\nthen ")),
            ("", "a\n", Some("line 1:\nnow  (the end)\nthen a")),
            ("a\nb", "a\nb\n", Some("its line endings")),
            ("a\r\n", "a\n", Some("its line endings")),
        ] {
            let found = compare(now, then).err();
            assert_eq!(found, says.map(|says| format!("differs in {says}")), "{now:?} {then:?}");
        }
    }

    #[test]
    fn files_are_named_and_written_if_asked() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("games/game.txt");
        let problem = kept(&path, "a\n", false).expect_err("there is none");
        assert!(
            problem.starts_with(&path.display().to_string()) && problem.contains("PETTEIA_BLESS=1"),
            "{problem}"
        );
        assert_eq!(kept(&path, "b\n", true), Ok(()));
        let problem = kept(&path, "a\n", false).expect_err("it differs");
        assert!(
            problem.contains("line 1:\nnow  a\nthen b\n") && problem.contains("PETTEIA_BLESS=1"),
            "{problem}"
        );
        assert_eq!(kept(&path, "b\n", false), Ok(()));
    }
}

//! Removes paths that would identify the person who built this program from a copy of it.
//!
//! Panic messages name source files, and they name files of other packages by their full paths, so a program contains
//! the user name of the person who built it. A path can be overwritten with another of the same length without changing
//! the program. The part of a path that says where in a package something happened is kept.

use std::collections::BTreeSet;

use memchr::memmem;

/// The end of a source file's name in a program.
const END: &[u8] = b".rs\0";
/// The length of the longest path that is recognized, in bytes.
const LONGEST: usize = 4096;
/// The byte that overwrites a path.
const FILL: u8 = b'~';
/// Cargo's folders: everything after them is the same for everyone.
const KEPT: [&str; 4] = ["/registry/src/", "\\registry\\src\\", "/git/checkouts/", "\\git\\checkouts\\"];
/// The prefix of the paths of Rust's own sources, which were already replaced when Rust was built.
const NEUTRAL: &str = "/rustc/";

/// Overwrites the paths in a program and returns their number.
pub(super) fn scrub(program: &mut [u8]) -> usize {
    let ends: Vec<usize> = memmem::find_iter(program, END).collect();
    let mut prefixes = BTreeSet::new();
    let mut scrubbed = 0;
    for end in ends {
        let before = &program[end.saturating_sub(LONGEST)..end + END.len() - 1];
        let start = before.iter().rposition(|byte| byte.is_ascii_control()).map_or(0, |at| at + 1);
        let Ok(path) = std::str::from_utf8(&before[start..]) else { continue };
        let length = personal(path);
        if length > 0 {
            let from = end + END.len() - 1 - path.len();
            prefixes.insert(program[from..from + length].to_vec());
            program[from..from + length].fill(FILL);
            scrubbed += 1;
        }
    }
    // prefixes also occur in paths that directly follow other text, and in debug information
    for prefix in prefixes {
        for kept in KEPT {
            let name = [&prefix, kept.as_bytes()].concat();
            let places: Vec<usize> = memmem::find_iter(program, &name).collect();
            for place in places {
                program[place..place + prefix.len()].fill(FILL);
                scrubbed += 1;
            }
        }
    }
    scrubbed
}

/// Returns the number of bytes at the start of a source file's path that are personal, or 0 if it is not an absolute
/// path.
fn personal(path: &str) -> usize {
    let drive = path.as_bytes();
    let is_whole = path.starts_with('/')
        || path.starts_with("\\\\")
        || drive.len() > 3 && drive[0].is_ascii_alphabetic() && [&b":\\"[..], b":/"].contains(&&drive[1..3]);
    if !is_whole || path.starts_with(NEUTRAL) {
        return 0;
    }
    if let Some(at) = KEPT.iter().find_map(|kept| path.find(kept)) {
        return at;
    }
    // the folder that holds `src` has the package's name, so it is kept
    let folders = path.rfind("/src/").or_else(|| path.rfind("\\src\\")).unwrap_or(path.len());
    path[..folders].rfind(['/', '\\']).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scrubbed(text: &str) -> String {
        let mut bytes = text.as_bytes().to_vec();
        scrub(&mut bytes);
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn only_the_personal_part_of_a_path_is_replaced() {
        for (path, expected) in [
            (
                "/home/zoë/.cargo/registry/src/index.crates.io-19/burn-0.2/src/a.rs",
                "~~~~~~~~~~~~~~~~~/registry/src/index.crates.io-19/burn-0.2/src/a.rs",
            ),
            ("/root/.cargo/git/checkouts/x-1/2/src/a.rs", "~~~~~~~~~~~~/git/checkouts/x-1/2/src/a.rs"),
            ("/home/a/games/petteia/src/net/infer/mod.rs", "~~~~~~~~~~~~~/petteia/src/net/infer/mod.rs"),
            (
                "C:\\Users\\a\\.cargo\\registry\\src\\i-1\\b\\src\\a.rs",
                "~~~~~~~~~~~~~~~~~\\registry\\src\\i-1\\b\\src\\a.rs",
            ),
            ("/rustc/5980/library/core/src/a.rs", "/rustc/5980/library/core/src/a.rs"),
            ("src/net/mod.rs", "src/net/mod.rs"),
            ("/a.rs", "/a.rs"),
        ] {
            let text = format!("\u{1}\0{path}\0after");
            assert_eq!(scrubbed(&text), format!("\u{1}\0{expected}\0after"));
        }
    }

    #[test]
    fn names_without_a_boundary_follow_those_with_one() {
        let text = "\0/home/a/.cargo/registry/src/i/b/src/a.rs\0got /home/a/.cargo/registry/src/i/c/src/d.rs, \
            /home/a/.cargo";
        let expected = "\0~~~~~~~~~~~~~~/registry/src/i/b/src/a.rs\0got ~~~~~~~~~~~~~~/registry/src/i/c/src/d.rs, \
            /home/a/.cargo";
        assert_eq!(scrubbed(text), expected);
        assert_eq!(scrubbed("nothing.rs\0 here"), "nothing.rs\0 here");
        assert_eq!(scrub(&mut []), 0);
    }
}

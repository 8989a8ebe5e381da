//! Takes the paths of whoever built a program out of a copy of it.
//!
//! Messages of panics name source files, and those of other packages by their whole path: a program tells the account's
//! name of its builder. A name can be replaced by one of the same length without a change to the program. What stays is
//! the part that says where in a package something happened.

use std::collections::BTreeSet;

use memchr::memmem;

/// How the name of a source file ends in a program.
const END: &[u8] = b".rs\0";
/// The longest path that is looked at.
const LONGEST: usize = 4096;
/// The byte that replaces each byte of a name.
const FILL: u8 = b'~';
/// Folders of Cargo: what follows them is the same for everybody.
const KEPT: [&str; 4] = ["/registry/src/", "\\registry\\src\\", "/git/checkouts/", "\\git\\checkouts\\"];
/// The paths of Rust's own sources have been replaced when Rust was built.
const NEUTRAL: &str = "/rustc/";

/// Replaces the paths in a program; how many there were.
pub fn scrub(program: &mut [u8]) -> usize {
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
    // in names that something else stands in front of, and in debug information
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

/// How many bytes at the start of a source file's path say where somebody keeps it; 0 if it is not a whole path.
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
    // the folder of a package is named like the package
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
        let text = "\0/home/a/.cargo/registry/src/i/b/src/a.rs\0got /home/a/.cargo/registry/src/i/c/src/d.rs, /home/a/.cargo";
        let expected = "\0~~~~~~~~~~~~~~/registry/src/i/b/src/a.rs\0got ~~~~~~~~~~~~~~/registry/src/i/c/src/d.rs, /home/a/.cargo";
        assert_eq!(scrubbed(text), expected);
        assert_eq!(scrubbed("nothing.rs\0 here"), "nothing.rs\0 here");
        assert_eq!(scrub(&mut []), 0);
    }
}

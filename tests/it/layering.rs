//! The layers of the library: a module imports only from modules that precede it in `lib.rs`.
//!
//! Printing is a lint (`[lints]` in `Cargo.toml`).

use std::fs;
use std::path::{Path, PathBuf};

/// The layers in data-flow order: the modules of `src/lib.rs`, in the same order, and the program.
fn layers() -> Vec<&'static str> {
    let lines = include_str!("../../src/lib.rs").lines();
    let modules = lines
        .filter_map(|line| line.strip_prefix("pub ").unwrap_or(line).strip_prefix("mod ")?.strip_suffix(';'));
    modules.chain(["main"]).collect()
}

/// The layers that may name specific games; everything else is generic.
const KNOW_GAMES: [&str; 4] = ["games", "cli", "wasm", "main"];

fn sources(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        match entry.path() {
            path if path.is_dir() => sources(&path, out),
            path if path.extension().is_some_and(|e| e == "rs") => out.push(path),
            _ => {}
        }
    }
}

fn all_sources() -> Vec<PathBuf> {
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut files);
    files.sort();
    files
}

/// The layer of a file: the first part of its path below src.
fn layer_of(path: &Path) -> String {
    let below = path.strip_prefix(Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).unwrap();
    let first = below.components().next().unwrap().as_os_str().to_string_lossy().into_owned();
    first.trim_end_matches(".rs").to_string()
}

/// Whether the file contains the unit tests of the file above it: `#[cfg(test)] mod tests;`.
fn is_tests(path: &Path) -> bool {
    let parent = path.parent().unwrap();
    let above = [parent.join("mod.rs"), parent.with_extension("rs")];
    let declares =
        |file: &PathBuf| fs::read_to_string(file).is_ok_and(|text| text.contains("#[cfg(test)]\nmod tests;"));
    path.ends_with("tests.rs") && above.iter().any(declares)
}

/// The text without comments, and without unit tests at its end. Other test code is kept, because a file continues
/// after `#[cfg(test)] mod tests;`.
fn code(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let lines = match lines.iter().rposition(|line| *line == "mod tests {") {
        // if the first unindented brace is the last line, the tests end the file; otherwise more code follows them
        Some(at)
            if lines[at..].iter().rposition(|line| !line.is_empty())
                == lines[at..].iter().position(|line| *line == "}") =>
        {
            &lines[..at]
        }
        _ => &lines[..],
    };
    lines.join("\n")
}

/// The first names of all paths that begin with `crate::`; the names in a group (`crate::{a, b::c}`) are listed one
/// by one.
fn imports(code: &str) -> Vec<String> {
    let name = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let mut found = Vec::new();
    for (at, start) in code.match_indices("crate::") {
        // `$crate::` begins a path in one of our macros, `other_crate::` one of another crate
        if code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let rest = code[at + start.len()..].trim_start();
        let Some(group) = rest.strip_prefix('{') else {
            found.push(name(rest));
            continue;
        };
        let (mut depth, mut first) = (0, true);
        for (at, character) in group.char_indices() {
            match character {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => first = true,
                c if first && !c.is_whitespace() => {
                    found.push(name(&group[at..]));
                    first = false;
                }
                _ => {}
            }
        }
    }
    found
}

/// The imports that a file of `layer` may not have.
fn faults(layer: &str, code: &str) -> Vec<String> {
    let layers = layers();
    let rank = |layer: &str| layers.iter().position(|name| *name == layer);
    let own = rank(layer).unwrap_or_else(|| panic!("src/{layer} is not a module of src/lib.rs"));
    let mut faults = Vec::new();
    for target in imports(code) {
        let Some(other) = rank(&target) else {
            faults.push(format!("crate::{target} is not a layer"));
            continue;
        };
        if other > own {
            faults.push(format!("imports crate::{target}, which stands above {layer}"));
        }
        if target == "games" && !KNOW_GAMES.contains(&layer) {
            faults.push("names the games".into());
        }
    }
    faults
}

#[test]
fn modules_import_only_from_lower_layers() {
    let mut found = Vec::new();
    for path in all_sources().into_iter().filter(|path| layer_of(path) != "lib" && !is_tests(path)) {
        let code = code(&fs::read_to_string(&path).unwrap());
        found.extend(
            faults(&layer_of(&path), &code).iter().map(|fault| format!("{}: {fault}", path.display())),
        );
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// The layers above `any`, which are compiled once, not once for each game.
fn above_the_door() -> Vec<&'static str> {
    layers().into_iter().skip_while(|layer| *layer != "truth").filter(|layer| *layer != "main").collect()
}

#[test]
fn nothing_above_the_door_is_generic_over_games() {
    let above = above_the_door();
    assert!(above.contains(&"run") && above.contains(&"cli") && !above.contains(&"arena"), "{above:?}");
    for path in all_sources().into_iter().filter(|path| above.contains(&&*layer_of(path))) {
        let code = code(&fs::read_to_string(&path).unwrap());
        assert!(!code.contains(": Game>") && !code.contains(": Game,"), "{}", path.display());
        assert!(!code.contains("with_game"), "{}", path.display());
    }
}

#[test]
fn imports_are_seen_wherever_they_stand() {
    let seen = |text: &str| imports(&code(text)).join(" ");
    assert_eq!(
        seen("use crate::{search::{tree, run}, net,\n    replay::store::{a, b},\n};"),
        "search net replay"
    );
    assert_eq!(seen("use crate::\n    cli::print;"), "cli");
    assert_eq!(seen("#[cfg(test)]\nmod tests;\nuse crate::run::Event;"), "run");
    assert_eq!(seen("fn f(e: &crate::error::Error) {}\n// crate::cli\n"), "error");
    let tests = "#[cfg(test)]\nmod tests {\n    use crate::cli::print;\n}\n";
    assert_eq!(seen(tests), "");
    assert_eq!(seen(&format!("{tests}use crate::cli;\n")), "cli cli");
    assert!(faults("net", "use crate::{error::Result, run};")[0].contains("run, which stands above net"));
    assert!(faults("run", "use crate::games::cage;")[0].contains("names the games"));
    assert!(faults("games", "use crate::game::Game;").is_empty());
}

#[test]
fn the_model_sees_nothing_of_a_game_but_its_shape() {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/net/model.rs")).unwrap();
    let text = code(&text);
    assert!(!text.contains("crate::game"));
}

/// `Device::default()` picks a GPU backend if one is compiled in, and panics without the hardware. clippy cannot
/// forbid a trait's method for a single type; but with `default_trait_access` it can ensure that the type is always
/// named.
#[test]
fn nobody_asks_for_the_default_device() {
    for path in all_sources() {
        let text = fs::read_to_string(&path).unwrap();
        let text: String = code(&text).split_whitespace().collect();
        assert!(!text.contains("Device::default"), "{}", path.display());
    }
}

/// Opening a FIFO waits forever, and a device has no end: `storage::open` and similar functions first check what a
/// file is.
#[test]
fn files_are_opened_in_one_place() {
    let doors = [
        "File::open",
        "File::create",
        "File::options",
        "OpenOptions",
        "fs::read(",
        "fs::read_to_string",
        "fs::copy",
    ];
    let mut found = Vec::new();
    let library =
        all_sources().into_iter().filter(|path| layer_of(path) != "storage" && layer_of(path) != "lib");
    for path in library.filter(|path| !is_tests(path)) {
        let text = code(&fs::read_to_string(&path).unwrap());
        let used = doors.into_iter().filter(|door| text.contains(door));
        found.extend(used.map(|door| format!("{}: {door} instead of storage::open", path.display())));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn files_stay_readable() {
    let mut files = all_sources();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests"), &mut files);
    for path in files {
        let lines = fs::read_to_string(&path).unwrap().lines().count();
        assert!(lines <= 600, "{} has {lines} lines", path.display());
    }
}

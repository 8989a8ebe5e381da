//! The layers of the library: a module imports only from modules that precede it in `lib.rs` and, in some layers, in
//! its folder's `mod.rs`.
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

/// A path as a list of its names.
type Names = Vec<String>;

/// Returns the paths at the beginning of a text, as in a `use`: `a::{b, c::d}` has two. Also returns the text after
/// them.
fn tree(text: &str) -> (Vec<Names>, &str) {
    let text = text.trim_start();
    if let Some(mut rest) = text.strip_prefix('{') {
        let mut all = Vec::new();
        loop {
            rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ',');
            if rest.is_empty() || rest.starts_with('}') {
                return (all, rest.get(1..).unwrap_or_default());
            }
            let (paths, after) = tree(rest);
            all.extend(paths);
            // `a as b` names `a`
            rest = after.find([',', '}']).map_or("", |end| &after[end..]);
        }
    }
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    match rest.trim_start().strip_prefix("::") {
        Some(below) if !name.is_empty() => {
            let (paths, rest) = tree(below);
            (paths.into_iter().map(|path| [vec![name.to_string()], path].concat()).collect(), rest)
        }
        _ if name.is_empty() => (vec![Vec::new()], rest),
        _ => (vec![vec![name.to_string()]], rest),
    }
}

/// Returns all paths that begin with `root::`, without this prefix.
fn paths(code: &str, root: &str) -> Vec<Names> {
    let start = format!("{root}::");
    // `other_crate::` begins a path in another crate, and `pub(in crate::run)` is not an import
    let begins = |before: &str| {
        !before.ends_with(|c: char| c.is_alphanumeric() || "_:".contains(c)) && !before.ends_with("(in ")
    };
    let found = code.match_indices(&start).filter(|(at, _)| begins(&code[..*at]));
    found.flat_map(|(at, start)| tree(&code[at + start.len()..]).0).collect()
}

/// The imports that a file of `layer` may not have.
fn faults(layer: &str, code: &str) -> Vec<String> {
    let layers = layers();
    let rank = |layer: &str| layers.iter().position(|name| *name == layer);
    let own = rank(layer).unwrap_or_else(|| panic!("src/{layer} is not a module of src/lib.rs"));
    let mut faults = Vec::new();
    for path in paths(code, "crate") {
        let target = path.first().map_or("", String::as_str);
        let Some(other) = rank(target) else {
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

/// The layers in which the modules are ordered, too: each imports only from those before it in the `mod` lines of its
/// folder's `mod.rs`.
const ORDERED: [&str; 1] = ["run"];

/// Returns the names in the `mod` lines of a folder's `mod.rs`, in order.
fn modules_of(folder: &[String]) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(folder.join("/")).join("mod.rs");
    let text = fs::read_to_string(path).unwrap();
    let name = |line: &str| Some(line.strip_suffix(';')?.rsplit_once("mod ")?.1.to_string());
    text.lines().filter(|line| line.starts_with("mod ") || line.starts_with("pub")).filter_map(name).collect()
}

/// Returns the path of a file's module below the crate.
fn module_of(path: &Path) -> Names {
    let below =
        path.strip_prefix(Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).unwrap().with_extension("");
    let names = below.components().map(|name| name.as_os_str().to_string_lossy().into_owned());
    names.filter(|name| name != "mod").collect()
}

/// Returns the faults of imports in the module `own` of an ordered layer.
fn order_faults(own: &[String], code: &str) -> Vec<String> {
    let above = |levels: usize| own[..own.len() - levels].to_vec();
    let absolute = |path: Names| {
        let levels = 1 + path.iter().take_while(|name| *name == "super").count();
        [above(levels), path[levels - 1..].to_vec()].concat()
    };
    let inside = paths(code, "crate").into_iter().filter(|path| path.first() == own.first());
    let nearby = paths(code, "self").into_iter().map(|path| [own.to_vec(), path].concat());
    let targets = inside.chain(paths(code, "super").into_iter().map(absolute)).chain(nearby);
    let mut faults = Vec::new();
    for target in targets {
        let common = own.iter().zip(&target).take_while(|(own, target)| own == target).count();
        if common == own.len() {
            continue;
        }
        let modules = modules_of(&own[..common]);
        let rank = |path: &[String]| modules.iter().position(|name| Some(name) == path.get(common));
        let named = target.join("::");
        match (rank(&target), rank(own).expect("it is a module")) {
            (None, _) => faults.push(format!("names {named} in a mod.rs, not where it is declared")),
            (Some(other), rank) if other > rank => faults.push(format!("imports {named}, which comes later")),
            _ => {}
        }
    }
    faults
}

#[test]
fn ordered_modules_import_only_from_earlier_ones() {
    let mut found = Vec::new();
    let ordered = |path: &PathBuf| ORDERED.contains(&&*layer_of(path)) && !is_tests(path);
    for path in all_sources().into_iter().filter(ordered) {
        let code = code(&fs::read_to_string(&path).unwrap());
        let faults = order_faults(&module_of(&path), &code);
        found.extend(faults.iter().map(|fault| format!("{}: {fault}", path.display())));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn imports_are_seen_wherever_they_stand() {
    let seen = |text: &str| {
        let paths: Vec<String> = paths(&code(text), "crate").iter().map(|path| path.join("::")).collect();
        paths.join(" ")
    };
    assert_eq!(
        seen("use crate::{search::{tree as t, run}, net,\n    replay::store::{a, b},\n};"),
        "search::tree search::run net replay::store::a replay::store::b"
    );
    assert_eq!(seen("use crate::\n    cli::print;"), "cli::print");
    assert_eq!(seen("#[cfg(test)]\nmod tests;\nuse crate::run::Event;"), "run::Event");
    assert_eq!(seen("fn f(e: &crate::error::Error) {}\n// crate::cli\n"), "error::Error");
    assert_eq!(
        seen("pub(in crate::run) fn f() { crate::net::f::<u8>(); other_crate::x(); $crate::y::z!() }"),
        "net::f y::z"
    );
    let tests = "#[cfg(test)]\nmod tests {\n    use crate::cli::print;\n}\n";
    assert_eq!(seen(tests), "");
    assert_eq!(seen(&format!("{tests}use crate::cli;\n")), "cli::print cli");
    assert!(faults("net", "use crate::{error::Result, run};")[0].contains("run, which stands above net"));
    assert!(faults("run", "use crate::games::cage;")[0].contains("names the games"));
    assert!(faults("games", "use crate::game::Game;").is_empty());
}

#[test]
fn imports_against_the_order_are_seen() {
    let faults = |module: &str, code: &str| {
        order_faults(&module.split("::").map(str::to_string).collect::<Names>(), code).join(", ")
    };
    let later = "imports run::metrics::ladder::Games, which comes later";
    assert_eq!(faults("run::metrics::lines", "use super::ladder::Games;"), later);
    assert_eq!(faults("run::metrics::lines", "fn f(_: &super::super::metrics::ladder::Games) {}"), later);
    assert_eq!(faults("run::metrics::lines", "use crate::run::metrics::{health, ladder::Games};"), later);
    let later = "imports run::turn::run::Role, which comes later";
    assert_eq!(faults("run::work::worker", "use crate::run::turn::run::Role;"), later);
    assert!(
        faults("run::files::look", "use crate::run::{Event, metrics::lines};")
            .contains("run::Event in a mod.rs")
    );
    assert!(faults("run::files::look", "use super::*;").contains("not where it is declared"));
    assert_eq!(faults("run::metrics::ladder", "use super::lines::Line; use crate::net::weights;"), "");
    assert_eq!(
        faults("run::work", "pub use self::worker::Worker; use crate::run::files::shared::Identity;"),
        ""
    );
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

/// Files have at most 600 lines, of at most 120 columns; rustfmt breaks neither comments nor literals. Only literals
/// that cannot be broken are longer: raw literals, and words.
#[test]
fn files_stay_readable() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for folder in ["src", "tests", "examples", "checks", "python/src"] {
        sources(&root.join(folder), &mut files);
    }
    let mut found = Vec::new();
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        let count = text.lines().count();
        if count > 600 {
            found.push(format!("{} has {count} lines", path.display()));
        }
        for (index, line) in text.lines().enumerate() {
            let can_break = !line.contains("r#\"") && line.split(' ').all(|word| word.len() <= 100);
            if can_break && line.chars().count() > 120 {
                found.push(format!("{}:{} has over 120 columns", path.display(), index + 1));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

//! The layers of the library: a module imports only from those that stand before it in `lib.rs`.

use std::fs;
use std::path::{Path, PathBuf};

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

/// The text of a file without its unit tests and comments.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let code = text.split("#[cfg(test)]").next().unwrap();
    code.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

#[test]
fn modules_import_only_from_lower_layers() {
    // in data-flow order; games stand apart: only the edge may name them
    let order = [
        "error",
        "config",
        "random",
        "storage",
        "attachment",
        "board",
        "encode",
        "game",
        "memory",
        "conformance",
        "games",
        "search",
        "net",
        "replay",
        "selfplay",
        "train",
        "checkpoint",
        "arena",
        "gate",
        "audit",
        "pipeline",
        "export",
        "protocol",
        "cli",
        "main",
    ];
    // these pairs are one layer each and may see each other
    let same = [("config", "game"), ("encode", "game"), ("board", "game"), ("error", "game")];
    let rank = |layer: &str| order.iter().position(|name| *name == layer);
    let mut faults = Vec::new();
    for path in all_sources() {
        let layer = layer_of(&path);
        if layer == "lib" {
            continue;
        }
        let own =
            rank(&layer).unwrap_or_else(|| panic!("src/{layer} has no place in the layers of this test"));
        for (at, _) in code(&path).match_indices("crate::") {
            let rest = &code(&path)[at + 7..];
            let target: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            let Some(other) = rank(&target) else {
                faults.push(format!("{}: crate::{target} is no layer", path.display()));
                continue;
            };
            let together =
                same.iter().any(|(a, b)| (*a == layer && *b == target) || (*b == layer && *a == target));
            if other > own && !together {
                faults.push(format!("{} ({layer}) imports crate::{target}", path.display()));
            }
            if target == "games" && !["cli", "main", "games"].contains(&layer.as_str()) {
                faults.push(format!("{} names the games", path.display()));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_model_sees_nothing_of_a_game_but_its_shape() {
    let text = code(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/net/model.rs"));
    let seen: Vec<&str> = text.lines().filter(|line| line.contains("crate::game")).collect();
    assert_eq!(seen, ["use crate::game::Shape;"]);
}

#[test]
fn only_the_cli_prints() {
    for path in all_sources() {
        let printing =
            ["println!", "eprintln!", "print!(", "dbg!"].iter().any(|word| code(&path).contains(word));
        let allowed = ["cli", "main"].contains(&layer_of(&path).as_str());
        assert!(allowed || !printing, "{} prints", path.display());
    }
}

/// `Device::default()` picks a GPU backend when one is compiled in, and panics without the hardware.
#[test]
fn nobody_asks_for_the_default_device() {
    for path in all_sources() {
        assert!(!code(&path).contains("Device::default"), "{}", path.display());
    }
}

#[test]
fn files_stay_readable() {
    for path in all_sources() {
        let lines = fs::read_to_string(&path).unwrap().lines().count();
        assert!(lines <= 600, "{} has {lines} lines", path.display());
    }
}

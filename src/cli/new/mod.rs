//! `petteia new`: creates a crate with a small, complete game for the user to modify.

use std::path::{Path, PathBuf};

use clap::Args;

use super::{print, shell_word, warn};
use crate::error::{Error, Result, quoted};
use crate::program::Program;
use crate::registry::Catalog;
use crate::storage;
use crate::template::filled;
use crate::text_game;

/// Create a crate for your own game, or a text with its rules.
#[derive(Args)]
#[command(after_help = "\
The crate has a small, complete game for you to modify, with tests, a config, and a program that has the same \
commands as this one. With --from-checkout, the crate depends on Petteia's source in that folder; otherwise, the \
crate depends on this version of Petteia from crates.io, where Petteia is not published yet. With --text, the command \
writes NAME.game instead of a crate: a game in a dozen lines of plain words, which needs no compiler \
(docs/rules-as-text.md describes the language).

Examples:
  petteia new --text hexapawn
  petteia new hexapawn --from-checkout ~/src/petteia
  petteia new hexapawn --path ~/games/hexapawn --from-checkout .")]
pub(super) struct New {
    /// Name of the crate, the program, and the game: lowercase words joined by hyphens
    #[arg(value_name = "NAME")]
    name: String,
    /// Folder to create; it must be empty if it exists [default: NAME]
    #[arg(long, value_name = "DIR")]
    path: Option<PathBuf>,
    /// Depend on the Petteia source in this folder, with the versions in its Cargo.lock
    #[arg(long, value_name = "DIR")]
    from_checkout: Option<PathBuf>,
    /// Write NAME.game, a text with the rules, into the current folder
    #[arg(long, conflicts_with_all = ["path", "from_checkout"])]
    text: bool,
}

/// The text of a new game.
const TEXT: &str = include_str!("template/text.game.in");

/// The temporary folder for a crate whose folder already exists.
const TEMPORARY: &str = ".tmp-crate";

/// The files of a new crate: their paths and contents, with placeholders for names.
const FILES: [(&str, &str); 10] = [
    ("Cargo.toml", include_str!("template/Cargo.toml.in")),
    (".cargo/config.toml", include_str!("template/cargo/config.toml.in")),
    (".gitignore", include_str!("template/gitignore.in")),
    ("README.md", include_str!("template/README.md.in")),
    ("src/main.rs", include_str!("template/src/main.rs.in")),
    ("src/lib.rs", include_str!("template/src/lib.rs.in")),
    ("src/{{module}}.rs", include_str!("template/src/game.rs.in")),
    ("configs/{{name}}.toml", include_str!("template/configs/game.toml.in")),
    ("tests/rules.rs", include_str!("template/tests/rules.rs.in")),
    ("tests/playthrough.txt", include_str!("template/tests/playthrough.txt.in")),
];

/// Names that Cargo forbids, and names of crates that every program has.
const TAKEN: [&str; 12] = [
    "petteia",
    "std",
    "core",
    "alloc",
    "proc-macro",
    "test",
    "main",
    "lib",
    "build",
    "deps",
    "examples",
    "incremental",
];
/// Petteia's manifest, which names the crates that Petteia needs; a new crate must not have the name of one of them.
const MANIFEST: &str = include_str!("../../../Cargo.toml");
/// Rust's keywords, which cannot name a module.
const KEYWORDS: [&str; 52] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop",
    "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static",
    "struct", "super", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual",
    "where", "while", "yield", "union",
];

impl New {
    /// Writes the crate or the text.
    pub(super) fn run(self, games: Catalog) -> Result<()> {
        check_name(&self.name)?;
        if self.text {
            return self.write_text();
        }
        let folder = self.path.clone().unwrap_or_else(|| PathBuf::from(&self.name));
        refuse_filled(&folder)?;
        let checkout = self.from_checkout.as_deref().map(find_checkout).transpose()?;
        let names = CrateNames::new(&self.name, checkout.as_deref());
        let write = |folder: &Path| {
            for (path, text) in FILES {
                let path = folder.join(names.filled(path));
                storage::create_parent(&path)?;
                storage::write_whole(&path, names.filled(text).as_bytes())?;
            }
            checkout.as_ref().map_or(Ok(()), |checkout| copy_lock(checkout, folder))
        };
        storage::create_parent(&folder)?;
        if storage::exists(&folder)? {
            // the folder may be the working directory of some process, so it cannot be replaced: its contents are made
            // elsewhere and moved into it
            fill(&folder, write)?
        } else {
            storage::write_folder_whole(&folder, MANIFEST, write)?
        }
        self.print_next_steps(&folder)?;
        if games.ids().contains(&self.name) {
            warn(format_args!(
                "this program already has a game `{0}`; because the files of both games will have the same id, neither \
                 program will be able to read the files of the other; choose another name to avoid this",
                self.name
            ));
        }
        if self.from_checkout.is_none() {
            warn("Petteia is not on crates.io yet, so this crate will not build; use --from-checkout DIR");
        }
        Ok(())
    }

    /// Writes the text of a small game.
    fn write_text(&self) -> Result<()> {
        let path = PathBuf::from(format!("{}.{}", self.name, text_game::EXTENSION));
        if storage::exists(&path)? {
            return Err(Error::Config(format!("{} already exists; choose another name", path.display())));
        }
        let text = CrateNames::new(&self.name, None).filled(TEXT);
        storage::write_whole(&path, text.as_bytes())?;
        let (place, me) = (path.display(), Program::current().name);
        print(format_args!("Wrote {place}, a game in lines of plain words\n"))?;
        print(format_args!("{me} play {place}"))?;
        print(format_args!("{me} explain {place}"))?;
        print(format_args!("{me} train {place}"))
    }

    fn print_next_steps(&self, folder: &Path) -> Result<()> {
        let (name, place) = (&self.name, folder.display());
        let module = name.replace('-', "_");
        print(format_args!(
            "Created the crate {place} with the game `{name}`; its rules are in src/{module}.rs\n"
        ))?;
        print(format_args!("cd {}", shell_word(&place.to_string())))?;
        print("cargo test --release")?;
        print(format_args!("cargo run --release -- train {name}"))
    }
}

/// The placeholders of the files with their values.
struct CrateNames([(&'static str, String); 6]);

impl CrateNames {
    fn new(name: &str, checkout: Option<&Path>) -> CrateNames {
        let words: Vec<&str> = name.split('-').collect();
        let capital = |word: &&str| format!("{}{}", word[..1].to_uppercase(), &word[1..]);
        let module = name.replace('-', "_");
        let mut title = words.join(" ");
        title[..1].make_ascii_uppercase();
        let dependency = match checkout {
            Some(path) => format!("{{ path = {} }}", toml::Value::String(path.display().to_string())),
            None => format!("\"{}\"", env!("CARGO_PKG_VERSION")),
        };
        CrateNames([
            ("name", name.to_string()),
            ("crate", module.clone()),
            ("module", module),
            ("type", type_name(words.iter().map(capital).collect())),
            ("title", title),
            ("dependency", dependency),
        ])
    }

    fn filled(&self, text: &str) -> String {
        filled(text, &self.0)
    }
}

/// Returns a name for the type of the rules that does not occur elsewhere in the new crate.
fn type_name(name: String) -> String {
    let is_word_of = |text: &str| text.split(|c: char| !c.is_alphanumeric()).any(|word| word == name);
    if FILES.iter().any(|(_, text)| is_word_of(text)) { name + "Game" } else { name }
}

/// Rejects names that Cargo, Rust, or the registry of games would not accept.
fn check_name(name: &str) -> Result<()> {
    let refused =
        |why: &str| Err(Error::Config(format!("{} cannot be the name of a crate: {why}", quoted(name))));
    let begins = |word: &str| word.starts_with(|letter: char| letter.is_ascii_lowercase());
    let fits = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    if !name.split('-').all(|word| begins(word) && word.chars().all(fits)) || name.len() > 60 {
        return refused(
            "use lowercase words of letters and digits, each starting with a letter, joined by hyphens, \
             e.g. `hexapawn` or `nine-stones`",
        );
    }
    if KEYWORDS.contains(&name) || TAKEN.contains(&name) {
        return refused("the name is reserved");
    }
    let plain = |name: &str| name.replace('-', "_");
    if needed().iter().any(|needed| plain(needed) == plain(name)) {
        refused("Petteia needs a crate of this name")
    } else {
        Ok(())
    }
}

/// Lists the crates that Petteia needs for building and testing.
fn needed() -> Vec<String> {
    let manifest: toml::Table = toml::from_str(MANIFEST).expect("Cargo has read it");
    let dependencies = |table: &toml::Table| {
        let kinds = ["dependencies", "dev-dependencies"].into_iter();
        let tables = kinds.filter_map(|kind| table.get(kind)?.as_table());
        tables.flat_map(|table| table.keys().cloned()).collect::<Vec<_>>()
    };
    let targets =
        manifest.get("target").and_then(toml::Value::as_table).into_iter().flat_map(|table| table.values());
    let targets = targets.filter_map(toml::Value::as_table).flat_map(dependencies);
    dependencies(&manifest).into_iter().chain(targets).collect()
}

/// Makes the contents in a temporary folder inside the empty folder, then moves them out. The manifest, by which Cargo
/// recognizes a crate, is moved last.
fn fill(folder: &Path, write: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    storage::remove_temporaries(folder)?;
    let temporary = folder.join(TEMPORARY);
    storage::write_folder_whole(&temporary, MANIFEST, write)?;
    let (last, first): (Vec<PathBuf>, Vec<PathBuf>) =
        storage::list(&temporary)?.into_iter().partition(|path| path.ends_with("Cargo.toml"));
    for path in first.into_iter().chain(last) {
        let name = path.file_name().expect("an entry of a folder has a name");
        std::fs::rename(&path, folder.join(name)).map_err(Error::io(&path))?;
    }
    storage::remove_temporaries(folder)
}

/// Rejects a folder that is not empty, except for files that an interrupted command left behind.
fn refuse_filled(folder: &Path) -> Result<()> {
    let is_left = |path: &PathBuf| path.file_name().is_some_and(storage::is_temporary);
    let is_free = if storage::exists(folder)? {
        storage::is_folder(folder)? && storage::list(folder)?.iter().all(is_left)
    } else {
        true
    };
    if is_free {
        Ok(())
    } else {
        Err(Error::Config(format!(
            "{} already exists and is not an empty folder; choose another folder with --path",
            folder.display()
        )))
    }
}

/// Returns the folder of Petteia's source as an absolute path.
fn find_checkout(folder: &Path) -> Result<PathBuf> {
    let manifest = folder.join("Cargo.toml");
    let name = storage::read_text(&manifest, "a Cargo manifest").ok().and_then(|text| {
        let manifest: toml::Table = toml::from_str(&text).ok()?;
        Some(manifest.get("package")?.get("name")?.as_str()?.to_string())
    });
    if name.as_deref() != Some("petteia") {
        return Err(Error::Config(format!(
            "--from-checkout {}: this is not Petteia's source folder, which has the Cargo.toml of the package \
                `petteia`",
            folder.display()
        )));
    }
    folder.canonicalize().map_err(Error::io(folder))
}

/// Copies the lock file, so that the crate uses the versions that Petteia is tested with.
fn copy_lock(checkout: &Path, folder: &Path) -> Result<()> {
    let lock = checkout.join("Cargo.lock");
    if storage::exists(&lock)? {
        storage::write_whole(&folder.join("Cargo.lock"), &storage::read(&lock)?)
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked() {
        for good in ["hexapawn", "nine-stones", "a1", "x-2y".replace("2y", "y2").as_str()] {
            assert!(check_name(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "-",
            "a-",
            "-a",
            "build",
            "deps",
            "Hex",
            "1a",
            "a_b",
            "a--b",
            "é",
            "match",
            "petteia",
            "a b",
            "../x",
            "nine-9",
            "serde",
            "clap",
            "toml",
            "rand",
            "proptest",
            "proc-macro",
            "burn",
            "burn-pack",
            "nix",
            "zstd",
        ] {
            assert!(check_name(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn placeholders_are_filled() {
        let names = CrateNames::new("nine-stones", None);
        let text = names.filled("{{name}} {{crate}}::{{module}}::{{type}}, {{title}} = {{dependency}}");
        let version = env!("CARGO_PKG_VERSION");
        assert_eq!(
            text,
            format!("nine-stones nine_stones::nine_stones::NineStones, Nine stones = \"{version}\"")
        );
        assert_eq!(names.filled("{{type}}"), "NineStones");
        for taken in ["state", "game", "outcome", "option", "board-view"] {
            assert!(CrateNames::new(taken, None).filled("{{type}}").ends_with("Game"), "{taken}");
        }
        for (path, text) in FILES {
            assert!(!names.filled(path).contains("{{") && !names.filled(text).contains("{{"), "{path}");
        }
    }
}

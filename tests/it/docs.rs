//! The guides: links lead somewhere, commands and settings that they name exist, the README is short, and the index
//! and the table of commands are complete.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use petteia::config::settings;

use crate::support::command::{out, succeeds};

/// The maximum number of words in README.md.
const SHORT: usize = 900;
/// The maximum width of a line of prose, in characters.
const WIDTH: usize = 100;

fn guides() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let pages = [
        "docs",
        "docs/balance",
        "docs/games",
        "docs/journal",
        "docs/reports",
        "agents",
        "examples/breakthrough",
        "scripts",
    ];
    let pages = pages.map(|folder| root.join(folder));
    let in_docs =
        pages.iter().flat_map(|folder| fs::read_dir(folder).unwrap()).map(|entry| entry.unwrap().path());
    let at_root =
        ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md"].map(|name| root.join(name));
    let mut paths: Vec<PathBuf> =
        in_docs.filter(|path| path.extension().is_some_and(|e| e == "md")).chain(at_root).collect();
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), fs::read_to_string(path).unwrap())).collect()
}

/// The texts between backticks, and the lines of code blocks.
fn code(text: &str) -> impl Iterator<Item = &str> {
    let blocks = text.split("```");
    blocks.enumerate().flat_map(|(index, part)| -> Vec<&str> {
        match index % 2 {
            0 => part.split('`').skip(1).step_by(2).collect(),
            _ => part.lines().skip(1).collect(),
        }
    })
}

/// The anchor by which a link refers to a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.to_lowercase().replace(' ', "-");
    kept.chars().filter(|c| c.is_alphanumeric() || ['-', '_'].contains(c)).collect()
}

#[test]
fn the_readme_is_short() {
    let words = include_str!("../../README.md").split_whitespace().count();
    assert!(words <= SHORT, "README.md has {words} words: move something to docs/");
}

/// Diffs and terminals show lines, not paragraphs. Tables, headings, pictures, and code may be wider, as may the
/// pages in docs/games, which `petteia rules --markdown` writes.
#[test]
fn prose_is_wrapped() {
    for (path, text) in guides() {
        let is_made = path.parent().is_some_and(|folder| folder.ends_with("docs/games"));
        if is_made && !path.ends_with("README.md") {
            continue;
        }
        let mut in_code = false;
        for (index, line) in text.lines().enumerate() {
            let words = line.trim_start();
            in_code ^= words.starts_with("```");
            let is_free = in_code || words.starts_with(['|', '#', '<', '!', '[']);
            let width = line.chars().count();
            let can_break = words.trim_start_matches("- ").contains(' ');
            assert!(
                is_free || !can_break || width <= WIDTH,
                "{}:{} has {width} characters: wrap it at {WIDTH}",
                path.display(),
                index + 1
            );
        }
    }
}

#[test]
fn every_page_is_in_the_index() {
    let index = include_str!("../../docs/README.md");
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let listed = index.contains(&format!("]({name}")) || ["README.md", "images"].contains(&name.as_str());
        assert!(listed, "docs/README.md does not list docs/{name}");
    }
}

#[test]
fn the_tutorial_lists_every_command() {
    let (_, table) = include_str!("../../docs/tutorial.md").split_once("\n## The commands\n").unwrap();
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `petteia "));
    let listed: BTreeSet<&str> = rows.filter_map(|row| row.split([' ', '`']).next()).collect();
    let help = out(&succeeds(&["help"], ""));
    let (_, list) = help.split_once("\nCommands:\n").unwrap();
    let (list, _) = list.split_once("\n\n").unwrap();
    // a continued line has more spaces before it
    let names = list.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let known: BTreeSet<&str> = names.filter(|name| !name.is_empty() && *name != "help").collect();
    assert_eq!(listed, known);
}

#[test]
fn links_lead_somewhere() {
    let mut checked = 0;
    for (path, text) in guides() {
        let prose: String = text.split("```").step_by(2).collect();
        let targets = prose.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        let quoted = |before| prose.split(before).skip(1).filter_map(|rest| rest.split('"').next());
        let links = targets.chain(quoted("src=\"")).chain(quoted("srcset=\""));
        for link in links.filter(|link| !link.starts_with("https://")) {
            let (file, section) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { path.clone() } else { path.parent().unwrap().join(file) };
            assert!(target.exists(), "{}: {link} does not exist", path.display());
            if !section.is_empty() {
                let text = fs::read_to_string(&target).unwrap();
                let mut headings = text.lines().filter(|line| line.starts_with('#'));
                let found = headings.any(|line| anchor(line.trim_start_matches('#').trim_start()) == section);
                assert!(found, "{}: {link} names no heading", path.display());
            }
            checked += 1;
        }
    }
    assert!(checked > 30, "only {checked} links were found");
}

#[test]
fn commands_in_the_guides_exist() {
    let help = out(&succeeds(&["help"], ""));
    let is_known =
        |name: &str| name == "help" || help.lines().any(|l| l.split_whitespace().next() == Some(name));
    let mut checked = 0;
    for (path, text) in guides() {
        for line in code(&text) {
            for rest in line.split("petteia ").skip(1) {
                let name = rest.split_whitespace().next().unwrap_or_default();
                if !name.is_empty()
                    && name.chars().all(|c| c.is_ascii_lowercase() || c == '-')
                    && !name.starts_with('-')
                {
                    assert!(is_known(name), "{}: there is no command `petteia {name}`", path.display());
                    checked += 1;
                }
            }
        }
    }
    assert!(checked > 50, "only {checked} commands were found");
}

/// The help of a command and of its subcommands.
fn whole_help(name: &str) -> String {
    let mut help = out(&succeeds(&[name, "--help"], ""));
    let list = help.split("\nCommands:\n").nth(1).unwrap_or_default();
    let list = list.split("\n\n").next().unwrap_or_default().to_string();
    for command in list.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next()) {
        if !command.is_empty() && command != "help" {
            help += &out(&succeeds(&["help", name, command], ""));
        }
    }
    help
}

#[test]
fn flags_in_the_guides_exist() {
    let mut checked = 0;
    let mut helps = BTreeMap::new();
    for (path, text) in guides() {
        for line in code(&text) {
            for rest in line.split("petteia ").skip(1) {
                // a flag after a pipe or a comment belongs to something else
                let own = rest.split(['|', '#', '`', ';']).next().unwrap_or_default();
                let Some(name) = own.split_whitespace().next() else { continue };
                if !name.chars().all(|c| c.is_ascii_lowercase() || c == '-') || name.starts_with('-') {
                    continue;
                }
                for flag in own.split_whitespace().filter(|word| word.starts_with("--") && word.len() > 2) {
                    let flag = flag.split(['=', ',', ']', ')']).next().unwrap_or_default();
                    let help = helps.entry(name.to_string()).or_insert_with(|| whole_help(name));
                    let known = help.split([' ', ',', '\n', '[', '.']).any(|word| word == flag);
                    assert!(known, "{}: `petteia {name}` has no {flag}", path.display());
                    checked += 1;
                }
            }
        }
    }
    assert!(checked > 30, "only {checked} flags were found");
}

#[test]
fn settings_in_the_guides_exist() {
    let known: BTreeSet<&str> = settings().map(|setting| setting.key).collect();
    let mut checked = 0;
    for (path, text) in guides() {
        for name in code(&text).filter_map(|code| code.split([' ', '=']).next()) {
            let Some((section, key)) = name.split_once('.') else { continue };
            let is_section = known.iter().any(|known| known.split('.').next() == Some(section));
            let is_key = key.chars().all(|c| c.is_ascii_lowercase() || c == '_')
                && !["rs", "md", "log", "py"].contains(&key);
            if is_section && section != "game" && is_key {
                assert!(known.contains(name), "{}: there is no setting {name}", path.display());
                checked += 1;
            }
        }
    }
    assert!(checked > 20, "only {checked} settings were found");
}

#[test]
fn experimental_settings_stand_apart() {
    let text = include_str!("../../docs/configuration.md");
    let (before, rest) = text.split_once("### Experimental").unwrap();
    let (listed, _) = rest.split_once("\n## ").unwrap();
    let (matter, _) = before.split_once("## Settings that matter").unwrap().1.split_once("### ").unwrap();
    for setting in settings() {
        let quoted = format!("`{}`", setting.key);
        assert_eq!(listed.contains(&quoted), setting.experimental, "{}", setting.key);
        assert!(
            !setting.experimental || !matter.contains(&quoted),
            "{} is no equal of the others",
            setting.key
        );
    }
}

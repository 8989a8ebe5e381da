//! The rules for people: every variant has its own text, its examples are valid positions of the game, and docs/games
//! shows the same text.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use petteia::any::Opened;
use petteia::game::Game;
use petteia::games::Games;
use petteia::manual::{Block, blocks, brief};
use petteia::registry::Registry;

use crate::support::command::{err, out, petteia};

struct Manual;

impl Manual {
    fn on(self, rules: Opened) -> (String, usize) {
        let blocks = blocks(&rules.game).unwrap();
        let examples = blocks.iter().filter(|block| matches!(block, Block::Example { .. })).count();
        (rules.game.manual(), examples)
    }
}

#[test]
fn every_variant_has_rules_of_its_own_with_examples() {
    let mut texts = BTreeSet::new();
    for id in Games::ids() {
        let (text, examples) = Games::open(&id, &Default::default()).map(|rules| Manual.on(rules)).unwrap();
        assert!(examples >= 1, "{id}");
        assert!(texts.insert(text), "{id} has the rules of another variant");
        let printed = petteia(&["rules", &id], "");
        assert!(printed.status.success() && out(&printed).contains(&format!("({id})")), "{}", err(&printed));
        assert!(out(&printed).lines().all(|line| line.chars().count() <= 100), "{}", out(&printed));
    }
    // what a player of the advanced game must know
    let advanced = out(&petteia(&["rules", "custodial-trap-advanced"], ""));
    for word in ["W@b2", "first:w", "pick:b", "re:w", "re:s", "done", "@c3"] {
        assert!(advanced.contains(word), "{word}");
    }
    let intro = out(&petteia(&["rules", "custodial-trap-intro"], ""));
    assert!(!intro.contains("@c3") && intro.contains("trapped between c4 and e4"), "{intro}");
}

#[test]
fn every_variant_has_rules_in_brief() {
    for id in Games::ids() {
        let lines = Games::open(&id, &Default::default()).map(|rules| brief(&rules.game)).unwrap();
        assert_eq!(lines.len(), 3, "{id}: {lines:?}");
        for line in &lines {
            let length = line.chars().count();
            assert!((20..=220).contains(&length) && line.ends_with('.'), "{id}, {length}: {line}");
        }
        // the summary must make sense by itself in a list of games
        assert!(lines[0].chars().count() <= 160, "{id}: {}", lines[0]);
    }
}

/// `petteia rules ID --markdown docs/games` makes the pages again; review them then.
#[test]
fn the_pages_of_the_documentation_are_the_same_text() {
    let folder = tempfile::tempdir().unwrap();
    for id in Games::ids() {
        let written = petteia(&["rules", &id, "--markdown", folder.path().to_str().unwrap()], "");
        assert!(written.status.success(), "{}", err(&written));
    }
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/games");
    let names = |folder: &Path| -> BTreeSet<String> {
        let entries = fs::read_dir(folder).unwrap().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    };
    let mut expected = names(folder.path());
    expected.insert("README.md".into());
    assert_eq!(names(&docs), expected);
    for name in names(folder.path()) {
        let [made, kept] =
            [folder.path(), &docs].map(|folder| fs::read_to_string(folder.join(&name)).unwrap());
        assert!(made == kept, "docs/games/{name} is not what `petteia rules --markdown` writes");
    }
}

//! Games on the page whose rules are a text: those that the program carries, those that the user named, those of
//! runs, and the one in the editor.
//!
//! A text that the program has by name is omitted from a game's options, like other defaults. Any other text is among
//! the options, so that a game continues by the rules with which it began. Reading a text opens no file.

use std::collections::BTreeMap;
use std::sync::Mutex;

use super::api::{TextAnswer, TextLine, TextProblem, Texts, WrittenText};
use crate::any::Opened;
use crate::draw;
use crate::error::{Error, Result};
use crate::game::{BoardView, Game};
use crate::options::{Settings, TEXT, TEXT_HASH};
use crate::page::api::Described;
use crate::page::listed::{RulesOrigin, described, start_of};
use crate::page::locked;
use crate::registry::Catalog;
use crate::storage::sha256;
use crate::template::filled;
use crate::text_game::{self, Problem, Sized};

/// The text with which the editor begins, with placeholders for the title and for the name of a file.
const TEMPLATE: &str = include_str!("../cli/new/template/text.game.in");
const TITLE: &str = "My Game";
/// The largest number of runs' texts whose games are kept.
const KEPT: usize = 64;

/// The texts that the page has in addition to those that the program carries.
pub(super) struct KnownTexts {
    catalog: Catalog,
    /// The texts that the user named, by the id of the game.
    named: BTreeMap<String, String>,
    /// The games of the runs' texts, by the text.
    of_runs: Mutex<BTreeMap<String, Described>>,
}

impl KnownTexts {
    pub(super) fn new(catalog: Catalog, named: &[(String, String)]) -> Result<KnownTexts> {
        let ids = catalog.ids();
        if let Some((id, _)) = named.iter().find(|(id, _)| ids.contains(id)) {
            return Err(Error::Config(format!(
                "{id} is the id of another game, whose rules are in Rust: give your text another title"
            )));
        }
        Ok(KnownTexts { catalog, named: named.iter().cloned().collect(), of_runs: Mutex::default() })
    }

    /// Returns the games in the page's list: their ids, options, and origins.
    pub(super) fn listed(&self) -> Vec<(String, Settings, RulesOrigin)> {
        let programs = self.catalog.ids().into_iter().map(|id| (id, Settings::new(), RulesOrigin::Program));
        let is_shipped =
            |name: &&str| !self.catalog.ids().iter().any(|id| id == name) && !self.named.contains_key(*name);
        let shipped = self.catalog.text_names().into_iter().filter(is_shipped);
        let shipped = shipped.map(|name| (name.to_string(), Settings::new(), RulesOrigin::Shipped));
        let named = self.named.iter().map(|(id, text)| {
            (id.clone(), [(TEXT.to_string(), text.clone().into())].into(), RulesOrigin::Named)
        });
        programs.chain(named).chain(shipped).collect()
    }

    /// Converts the options of a game from elsewhere to the page's form: a known text replaces its checksum, and a text
    /// that the program carries under this id is omitted.
    pub(super) fn plain(&self, id: &str, mut options: Settings) -> Settings {
        let Some(text) = options.get(TEXT).and_then(toml::Value::as_str) else { return options };
        let shipped = self.catalog.text(id).filter(|_| !self.named.contains_key(id));
        let is_meant = |known: &str| match text.strip_prefix(TEXT_HASH) {
            Some(hash) => sha256(known.as_bytes()) == hash,
            None => known == text,
        };
        if shipped.is_some_and(is_meant) {
            options.remove(TEXT);
            return options;
        }
        let of_runs = locked(&self.of_runs);
        let known =
            self.named.values().chain(of_runs.keys()).map(String::as_str).chain(self.catalog.text(id));
        if let Some(known) = known.into_iter().find(|known| is_meant(known)) {
            options.insert(TEXT.into(), known.into());
        }
        options
    }

    /// Returns the game of a run, if its rules are a text.
    pub(super) fn of_run(&self, id: &str, options: &Settings) -> Option<Described> {
        let text = options.get(TEXT)?.as_str()?.to_string();
        if let Some(known) = locked(&self.of_runs).get(&text) {
            return Some(known.clone());
        }
        let options = [(TEXT.to_string(), text.clone().into())].into();
        let game = described(&self.catalog.open(id, &options).ok()?, RulesOrigin::Run);
        let mut of_runs = locked(&self.of_runs);
        if of_runs.len() >= KEPT {
            of_runs.clear();
        }
        of_runs.insert(text, game.clone());
        Some(game)
    }

    /// Returns the texts that the editor offers to begin with.
    pub(super) fn to_begin_with(&self) -> Texts {
        let template = filled(TEMPLATE, &[("title", TITLE), ("name", "my-game")]);
        let shipped = self.catalog.text_names().into_iter().filter_map(|name| {
            let text = self.catalog.text(name)?;
            let title = text_game::title_of(text).unwrap_or_else(|| name.to_string());
            Some(WrittenText { title, text: text.to_string() })
        });
        Texts { template, texts: shipped.collect() }
    }

    /// Returns the game of a text, both as rules and as a text game, or the text's first problem.
    pub(super) fn opened(&self, text: &str) -> Result<std::result::Result<(Opened, Sized), Problem>> {
        let read = text_game::id_of(text).and_then(|id| Ok((id, text_game::read(text, &Settings::new())?)));
        let (id, game) = match read {
            Ok(read) => read,
            Err(problem) => return Ok(Err(problem)),
        };
        Ok(Ok((self.catalog.open(&id, &[(TEXT.to_string(), text.into())].into())?, game)))
    }

    /// Checks a text and returns its first problem, or its game with the meaning of each line in the initial
    /// position.
    pub(super) fn checked(&self, text: &str) -> Result<TextAnswer> {
        let (rules, game) = match self.opened(text)? {
            Ok(opened) => opened,
            Err(Problem { line, column, what }) => {
                return Ok(TextAnswer::Wrong { problem: TextProblem { line, column, what } });
            }
        };
        let explained = game.explained(None)?;
        let (id, shape) = (&rules.identity.id, rules.identity.shape);
        let lines = explained.into_iter().map(|line| TextLine {
            line: line.line,
            words: line.words,
            says: line.says,
            places: line
                .squares
                .iter()
                .map(|square| BoardView::place(*square, shape.height, shape.width))
                .collect(),
        });
        let lines = lines.collect();
        let start = rules.game.initial();
        let is_other = |known: Option<&str>| known.is_some_and(|known| known != text);
        let taken = self.catalog.ids().contains(id)
            || is_other(self.catalog.text(id))
            || is_other(self.named.get(id).map(String::as_str));
        Ok(TextAnswer::Right {
            svg: start_of(&rules),
            actions: shape.actions,
            rows: shape.height,
            columns: shape.width,
            names: draw::names(&rules.game, &start),
            lines,
            legal: rules.game.legal(&start).len(),
            taken,
            game: Box::new(described(&rules, RulesOrigin::Editor)),
        })
    }
}

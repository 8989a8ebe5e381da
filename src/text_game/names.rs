//! The names that a text gives.

use std::borrow::Cow;
use std::collections::HashSet;

use super::geometry::Tiling;
use super::text::{Next, Number, Text, Way};
use crate::game::{About, BoardStyle};

/// The names that a text gives.
#[derive(Debug)]
pub(super) struct Names {
    pub about: About,
    /// The letters of each player's pieces.
    pub letters: [String; 2],
    /// How positions write the player to move.
    pub sides: [String; 2],
    /// The reasons why games end: first one for each line `end`, then the reasons for no action left, repetition, no
    /// progress, and the limit.
    pub reasons: Vec<String>,
    /// Whether the number of plies matters from the start.
    pub counts_plies: bool,
    /// Whether consecutive quiet actions, which leave the number of pieces unchanged, are counted.
    pub counts_quiet: bool,
    /// Whether positions must name the line of actions by which a piece continues.
    pub names_line: bool,
    /// Whether actions must name the kind of piece that they place.
    pub names_kind: bool,
    /// For each kind, whether a player has at most one piece of it.
    pub single: Vec<bool>,
}

impl Names {
    pub(super) fn new(text: &Text) -> Names {
        let letters = |player: usize| text.kinds.iter().map(|kind| kind.letters[player]).collect();
        let initial = |name: &String| name.chars().next().map(|letter| letter.to_lowercase().to_string());
        let initials = [0, 1].map(|player| initial(&text.players[player]).unwrap_or_default());
        let is_plain = initials.iter().all(|initial| initial.bytes().all(|byte| byte.is_ascii_lowercase()));
        let sides =
            if initials[0] != initials[1] && is_plain { initials } else { ["1", "2"].map(String::from) };
        let general = ["no action left", "a repeated position", "no progress", "the limit of actions"];
        let reasons = text.ends.iter().map(|end| end.reason.clone()).chain(general.map(String::from));
        let again = text.actions.iter().filter(|line| matches!(line.next, Next::Again { .. })).count();
        let placed: HashSet<Option<usize>> = text
            .actions
            .iter()
            .filter(|line| matches!(line.way, Way::Place | Way::Drop))
            .map(|line| line.piece)
            .collect();
        Names {
            about: about(text),
            letters: [letters(0), letters(1)],
            sides,
            reasons: reasons.collect(),
            counts_plies: text.asks_for(&Number::Ply),
            counts_quiet: text.quiet.is_some() || text.asks_for(&Number::Quiet),
            names_line: again > 1,
            names_kind: placed.len() > 1,
            single: text.single_kinds(),
        }
    }
}

/// Collects what a text says about its game.
fn about(text: &Text) -> About {
    About {
        name: id_of_title(&text.title).into(),
        title: text.title.clone().into(),
        author: text.author.clone().into(),
        summary: text.about.join(" ").into(),
        players: text.players.clone().map(Cow::from),
        colors: text.players.clone().map(Cow::from),
        drawless: false,
        encoding: 1,
        board: match text.board.tiling {
            Tiling::Squares => BoardStyle::Plain,
            Tiling::Hexagons => BoardStyle::Hexagons,
        },
        upright: text.actions.iter().any(|line| line.way == Way::Drop),
    }
}

/// Returns the title as an id, in lower case and with hyphens.
pub(super) fn id_of_title(title: &str) -> String {
    let plain = title.to_lowercase().replace(|letter: char| !letter.is_ascii_alphanumeric(), "-");
    plain.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}

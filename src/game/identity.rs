//! The identity of a game: id, options, encoding and sizes, as files record them.

use std::collections::BTreeSet;

use super::{BoardStyle, Game, GameOptions, Settings};
use crate::encode::{MAX_ACTIONS, MAX_CELLS, MAX_PLANES, Shape};
use crate::error::{Error, Input, Result};
use crate::options::{TEXT, TEXT_HASH};
use crate::shipped::ShippedForGame;
use crate::storage::sha256;

/// The constants of a [`Game`] as a value.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the constants of the same names say it")]
pub struct About {
    pub name: &'static str,
    pub title: &'static str,
    pub author: &'static str,
    pub summary: &'static str,
    pub players: [&'static str; 2],
    pub options: &'static [(&'static str, &'static str)],
    pub drawless: bool,
    pub variants: &'static [&'static str],
    pub encoding: u32,
    pub board: BoardStyle,
    pub upright: bool,
}

impl About {
    /// The constants of `G`.
    pub fn of<G: Game>() -> About {
        About {
            name: G::NAME,
            title: G::TITLE,
            author: G::AUTHOR,
            summary: G::SUMMARY,
            players: G::PLAYERS,
            options: G::OPTIONS,
            drawless: G::DRAWLESS,
            variants: G::VARIANTS,
            encoding: G::ENCODING,
            board: G::BOARD,
            upright: G::UPRIGHT,
        }
    }

    /// Who made the game, in words: "by" and the author, or "traditional".
    pub fn byline(&self) -> String {
        match self.author {
            "traditional" => self.author.into(),
            author => format!("by {author}"),
        }
    }

    /// The ids of the variants, the default first.
    pub fn ids(&self) -> impl Iterator<Item = String> {
        self.variants.iter().map(|variant| id_of(self.name, variant))
    }
}

/// The identity of a game: everything that a file must record to mean the same game again.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct GameIdentity {
    /// The registry id, e.g. `"cage-8"`.
    pub id: String,
    /// The switches that were set.
    #[serde(default)]
    pub options: Settings,
    /// The version of planes and actions, [`Game::ENCODING`].
    pub encoding: u32,
    /// The sizes.
    pub shape: Shape,
}

impl GameIdentity {
    /// The options as records have them: the rules of a text game by their checksum.
    pub fn options_of_records(&self) -> Settings {
        let mut options = self.options.clone();
        if let Some(text) = options.get_mut(TEXT) {
            *text = text.as_str().map_or_else(|| text.to_string(), text_name).into();
        }
        options
    }

    /// Fails if `self`, read from `place`, is not the game `expected`; says which part differs.
    pub fn expect(&self, expected: &GameIdentity, place: &str) -> Result<()> {
        let other = |what: String| {
            Err(Error::Mismatch(format!(
                "{place} has {what}: use it for the game, with the options and the program version that made it, or \
                 train again"
            )))
        };
        let differs =
            |what: &str, found: String, wanted: String| other(format!("{what} {found} instead of {wanted}"));
        if self.id != expected.id {
            return differs("game", self.id.clone(), expected.id.clone());
        }
        if self.options != expected.options {
            let differences = option_differences(&self.options, &expected.options);
            let error = other(format!("other game options (there / asked for): {differences}"));
            return error.map_err(|error| error.about(Input::GameOptions));
        }
        if self.encoding != expected.encoding {
            return differs("encoding version", self.encoding.to_string(), expected.encoding.to_string());
        }
        if self.shape != expected.shape {
            return differs("shape", format!("{:?}", self.shape), format!("{:?}", expected.shape));
        }
        Ok(())
    }
}

/// What the rules of a text game are called by: their checksum.
pub fn text_name(text: &str) -> String {
    if text.starts_with(TEXT_HASH) { text.into() } else { format!("{TEXT_HASH}{}", sha256(text.as_bytes())) }
}

/// The name of a text for people: a few digits tell texts apart.
pub fn short_text_name(text: &str) -> String {
    text_name(text).chars().take(TEXT_HASH.len() + 12).collect()
}

/// The switches that differ: `name = ours / theirs`.
pub fn option_differences(ours: &Settings, theirs: &Settings) -> String {
    let shown = |name: &str, value: Option<&toml::Value>| match value {
        None => "not set".into(),
        Some(value) if name == TEXT => value.as_str().map_or_else(|| value.to_string(), short_text_name),
        Some(value) => value.to_string(),
    };
    let names: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
    let pairs = names.into_iter().map(|name| (name, ours.get(name), theirs.get(name)));
    let differing = pairs.filter(|(_, ours, theirs)| ours != theirs);
    let texts = differing
        .map(|(name, ours, theirs)| format!("{name} = {} / {}", shown(name, ours), shown(name, theirs)));
    texts.collect::<Vec<_>>().join(", ")
}

/// The rules of a game together with their identity.
///
/// ```
/// use petteia::game::{GameOptions, Rules};
/// use petteia::games::cage::Cage;
///
/// let small = GameOptions { variant: "4".into(), ..GameOptions::default() };
/// let rules = Rules::<Cage>::new(&small)?;
/// assert_eq!((rules.identity.id.as_str(), rules.identity.shape.width), ("cage-4", 4));
///
/// let unknown = GameOptions { settings: [("pie".to_string(), true.into())].into(), ..small };
/// let error = Rules::<Cage>::new(&unknown).unwrap_err();
/// assert_eq!(error.to_string(), "unknown option `game.pie`: cage has no options besides `id`");
/// # Ok::<(), petteia::error::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Rules<G> {
    /// The rules.
    pub game: G,
    /// Their identity.
    pub identity: GameIdentity,
    /// What the program carries for the game, if a [`Catalog`](crate::registry::Catalog) opened it.
    pub shipped: ShippedForGame,
}

impl<G: Game> Rules<G> {
    /// The game with these options.
    ///
    /// # Errors
    /// If the game rejects one of them, or if no network can have the game's shape ([`Shape::is_possible`]).
    pub fn new(options: &GameOptions) -> Result<Rules<G>> {
        Rules::of(G::new(options)?, options)
    }

    /// Wraps a game that was made with these options.
    ///
    /// # Errors
    /// No network can have the game's shape ([`Shape::is_possible`]).
    pub fn of(game: G, options: &GameOptions) -> Result<Rules<G>> {
        let identity = GameIdentity {
            id: id_of(game.about().name, &options.variant),
            options: options.settings.clone(),
            encoding: game.about().encoding,
            shape: game.shape(),
        };
        let Shape { planes, height, width, actions } = identity.shape;
        if !identity.shape.is_possible() {
            return Err(Error::Config(format!(
                "{} has {planes} planes of {height}x{width} squares and {actions} actions; a game needs at least one of \
                 each, and at most {MAX_PLANES} planes, {MAX_CELLS} squares and {MAX_ACTIONS} actions",
                identity.id
            )));
        }
        Ok(Rules { game, identity, shipped: ShippedForGame::default() })
    }
}

/// The registry id of a variant of the game with this name.
pub fn id_of(name: &str, variant: &str) -> String {
    match variant {
        "" => name.to_string(),
        _ => format!("{name}-{variant}"),
    }
}

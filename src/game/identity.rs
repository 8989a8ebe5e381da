//! The identity of a game as files record it: id, options, encoding, and sizes.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::mem::{forget, replace};

use super::{BoardStyle, Game, GameOptions, Player, Settings, Variants};
use crate::encode::{MAX_ACTIONS, MAX_CELLS, MAX_PLANES, Shape};
use crate::error::{Error, Input, Result};
use crate::options::{TEXT, TEXT_HASH};
use crate::shipped::ShippedForGame;
use crate::storage::sha256;

/// Text that is part of the program or owned by the game that it belongs to.
type Text = Cow<'static, str>;

/// What a game is called and what its board looks like, as [`Game::about`] returns it.
///
/// A game written in Rust can keep it in a `static`:
///
/// ```
/// use petteia::game::{About, BoardStyle, Player};
///
/// static ABOUT: About = About::new("my-game", ["Black", "White"])
///     .title("My Game")
///     .author("me, 2026")
///     .summary("Place a stone; five in a row win.")
///     .board(BoardStyle::Checkered);
/// assert_eq!((ABOUT.encoding, ABOUT.player(Player::Second)), (1, "White"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// The id of the plain game, lowercase with hyphens.
    pub name: Text,
    /// The name for display; by default the id.
    pub title: Text,
    /// The author of the game; by default "traditional".
    pub author: Text,
    /// The rules in a few sentences and how to write actions, for people who play the game; may be empty.
    pub summary: Text,
    /// The names of the two players in this variant.
    pub players: [Text; 2],
    /// The names of the colors of the players' pieces, which determine the colors in drawings; by default the names of
    /// the players. Colors and players have different names in games whose players take their colors later.
    pub colors: [Text; 2],
    /// Whether the rules have no draws: a draw then comes only from [`Game::max_plies`], a safety net that real games
    /// do not reach, and causes a warning.
    pub drawless: bool,
    /// The version of the planes and the action layout, raised whenever either changes; by default 1.
    pub encoding: u32,
    /// The look of the board's squares in a drawing; by default [`BoardStyle::Plain`].
    pub board: BoardStyle,
    /// Whether the board is upright, as in games where pieces fall; drawings of an upright board are never turned.
    pub upright: bool,
}

/// Replaces a text in a `const fn`, where no value can be dropped. Builders only have borrowed texts, so nothing leaks.
const fn set(text: &mut Text, value: &'static str) {
    forget(replace(text, Cow::Borrowed(value)));
}

impl About {
    /// Returns the description of a game with this id and these players. All other fields have the defaults that their
    /// documentation gives.
    pub const fn new(name: &'static str, [first, second]: [&'static str; 2]) -> About {
        About {
            name: Cow::Borrowed(name),
            title: Cow::Borrowed(name),
            author: Cow::Borrowed(TRADITIONAL),
            summary: Cow::Borrowed(""),
            players: [Cow::Borrowed(first), Cow::Borrowed(second)],
            colors: [Cow::Borrowed(first), Cow::Borrowed(second)],
            drawless: false,
            encoding: 1,
            board: BoardStyle::Plain,
            upright: false,
        }
    }

    /// Sets the name for display.
    pub const fn title(mut self, title: &'static str) -> About {
        set(&mut self.title, title);
        self
    }

    /// Sets the author.
    pub const fn author(mut self, author: &'static str) -> About {
        set(&mut self.author, author);
        self
    }

    /// Sets the rules in a few sentences.
    pub const fn summary(mut self, summary: &'static str) -> About {
        set(&mut self.summary, summary);
        self
    }

    /// Sets the names of the colors of the pieces.
    pub const fn colors(mut self, [first, second]: [&'static str; 2]) -> About {
        let [color_of_first, color_of_second] = &mut self.colors;
        set(color_of_first, first);
        set(color_of_second, second);
        self
    }

    /// Sets the version of planes and actions.
    pub const fn encoding(mut self, encoding: u32) -> About {
        self.encoding = encoding;
        self
    }

    /// Sets the look of the board.
    pub const fn board(mut self, board: BoardStyle) -> About {
        self.board = board;
        self
    }

    /// Makes the board upright.
    pub const fn upright(mut self) -> About {
        self.upright = true;
        self
    }

    /// Declares that the rules have no draws.
    pub const fn drawless(mut self) -> About {
        self.drawless = true;
        self
    }

    /// Returns the name of a player.
    pub fn player(&self, player: Player) -> &str {
        &self.players[player.index()]
    }

    /// Returns the names of both players.
    pub fn player_names(&self) -> [&str; 2] {
        self.players.each_ref().map(|name| &**name)
    }

    /// Returns the author in words: "by" and the name, or "traditional".
    pub fn byline(&self) -> String {
        if self.author == TRADITIONAL { TRADITIONAL.into() } else { format!("by {}", self.author) }
    }
}

/// The author of a game that has no known author.
const TRADITIONAL: &str = "traditional";

/// The identity of a game: everything that a file must record to identify the same game again.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct GameIdentity {
    /// The registry id, e.g. `"cage-8"`.
    pub id: String,
    /// The options that were set.
    #[serde(default)]
    pub options: Settings,
    /// The version of planes and actions, [`About::encoding`].
    pub encoding: u32,
    /// The sizes that a network needs to know.
    pub shape: Shape,
}

impl GameIdentity {
    /// Returns the options as records store them: the rules of a text game are replaced by their checksum.
    pub fn options_of_records(&self) -> Settings {
        let mut options = self.options.clone();
        if let Some(text) = options.get_mut(TEXT) {
            *text = text.as_str().map_or_else(|| text.to_string(), text_name).into();
        }
        options
    }

    /// Checks that `self`, read from `place`, is the game `expected`.
    ///
    /// # Errors
    /// If it is a different game. The error says which part differs.
    pub fn expect(&self, expected: &GameIdentity, place: &str) -> Result<()> {
        let other = |what: String| {
            Err(Error::Mismatch(format!(
                "{place} has {what}: use it with the game, the options, and the program version that made it, or \
                 train again"
            )))
        };
        let differs = |what: &str, actual: String, wanted: String| {
            other(format!("{what} {actual} instead of {wanted}"))
        };
        if self.id != expected.id {
            return differs("game", self.id.clone(), expected.id.clone());
        }
        if self.options != expected.options {
            let differences = option_differences(&self.options, &expected.options);
            let error = other(format!("different game options (there / requested): {differences}"));
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

/// Returns the name of a text game's rules, which is their checksum.
pub(crate) fn text_name(text: &str) -> String {
    if text.starts_with(TEXT_HASH) { text.into() } else { format!("{TEXT_HASH}{}", sha256(text.as_bytes())) }
}

/// Returns a short name of a text for people; a few digits are enough to tell texts apart.
pub(crate) fn short_text_name(text: &str) -> String {
    text_name(text).chars().take(TEXT_HASH.len() + 12).collect()
}

/// Returns the options that differ, as `name = ours / theirs`.
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
    /// The identity of the rules.
    pub identity: GameIdentity,
    /// The ids of the game's variants, the default first.
    pub variants: Vec<String>,
    /// The files that the program carries for the game, if a [`Catalog`](crate::registry::Catalog) opened it.
    pub shipped: ShippedForGame,
}

impl<G: Variants> Rules<G> {
    /// Makes the game with these options.
    ///
    /// # Errors
    /// If the game rejects one of the options, or if no network can have the game's shape ([`Shape::is_possible`]).
    pub fn new(options: &GameOptions) -> Result<Rules<G>> {
        let variants = ids_of::<G>().collect();
        Ok(Rules { variants, ..Rules::of(G::new(options)?, options)? })
    }
}

impl<G: Game> Rules<G> {
    /// Wraps a game that was made with these options.
    ///
    /// # Errors
    /// If no network can have the game's shape ([`Shape::is_possible`]).
    pub fn of(game: G, options: &GameOptions) -> Result<Rules<G>> {
        let identity = GameIdentity {
            id: id_of(&game.about().name, &options.variant),
            options: options.settings.clone(),
            encoding: game.about().encoding,
            shape: game.shape(),
        };
        let Shape { planes, height, width, actions } = identity.shape;
        if !identity.shape.is_possible() {
            return Err(Error::Config(format!(
                "{} has {planes} planes of {height}x{width} squares and {actions} actions; a game needs at least one \
                 of each, and at most {MAX_PLANES} planes, {MAX_CELLS} squares and {MAX_ACTIONS} actions",
                identity.id
            )));
        }
        let variants = vec![identity.id.clone()];
        Ok(Rules { game, identity, variants, shipped: ShippedForGame::default() })
    }
}

/// Returns the ids of one game, one for each variant.
pub fn ids_of<G: Variants>() -> impl Iterator<Item = String> {
    const { assert!(!G::VARIANTS.is_empty(), "VARIANTS is empty; the plain game is \"\"") };
    G::VARIANTS.iter().map(|variant| id_of(G::NAME, variant))
}

/// Returns whether this can be the id of a game, which is in lower case with hyphens.
pub(crate) fn is_id(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-')
}

/// Returns the registry id of a variant of the game with this name.
pub fn id_of(name: &str, variant: &str) -> String {
    match variant {
        "" => name.to_string(),
        _ => format!("{name}-{variant}"),
    }
}

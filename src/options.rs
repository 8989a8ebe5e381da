//! The options of a game as a user writes them, in `[game]` of a config or with `--set game.NAME=VALUE`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use crate::error::{Error, Result};

/// The options of a game as a user wrote them: the section `[game]` of a config, without `id`.
pub type Settings = BTreeMap<String, toml::Value>;

/// The option that has the rules of a [text game](crate::text_game): the whole text or, in records, [`TEXT_HASH`] and a
/// checksum.
pub const TEXT: &str = "text";
/// The prefix of the name that replaces a text. The SHA-256 checksum of the text follows the prefix.
pub const TEXT_HASH: &str = "sha256:";

/// The input of [`Variants::new`](crate::game::Variants::new): a variant and the options that the user set.
///
/// A game reads its options and states which ones it knows:
///
/// ```
/// use petteia::game::GameOptions;
///
/// let settings = [("size".to_string(), 7.into())].into();
/// let options = GameOptions { settings, ..GameOptions::default() };
/// options.expect_settings("my-game", &["size", "swap"])?;
/// assert_eq!((options.integer("size", 5, 3..=9)?, options.flag("swap", true)?), (7, true));
/// let error = options.integer("size", 5, 3..=6).unwrap_err();
/// assert_eq!(error.to_string(), "game.size = 7 is not permitted: use a whole number from 3 to 6");
/// # Ok::<(), petteia::error::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GameOptions {
    /// The variant: the part of the id after the name, empty for the plain game.
    pub variant: String,
    /// The values of the options by name. A game rejects unknown options.
    pub settings: Settings,
}

/// An option of a game, as forms and lists show it.
#[derive(Clone, Debug, PartialEq)]
pub struct GameOption {
    /// The name of the option.
    pub name: Cow<'static, str>,
    /// What the option does, in a few words that end with its default.
    pub effect: Cow<'static, str>,
    /// The value of the option if the user does not set it.
    pub default: toml::Value,
    /// The values that the option may have.
    pub permitted: Permitted,
}

/// The values that an option may have.
#[derive(Clone, Debug, PartialEq)]
pub enum Permitted {
    /// A whole number in this range.
    Range(RangeInclusive<i64>),
    /// One of these values.
    OneOf(Vec<toml::Value>),
}

impl GameOption {
    /// Returns an option that [`GameOptions::flag`] reads.
    pub fn flag(name: &'static str, effect: &'static str, default: bool) -> GameOption {
        GameOption::one_of(name, effect, default, [true, false])
    }

    /// Returns an option that [`GameOptions::integer`] reads.
    pub fn integer(
        name: impl Into<Cow<'static, str>>,
        effect: impl Into<Cow<'static, str>>,
        default: i64,
        permitted: RangeInclusive<i64>,
    ) -> GameOption {
        let permitted = Permitted::Range(permitted);
        GameOption { name: name.into(), effect: effect.into(), default: default.into(), permitted }
    }

    /// Returns an option that [`GameOptions::choice`] reads.
    ///
    /// # Panics
    /// If `known` is empty.
    pub fn choice(name: &'static str, effect: &'static str, known: &[&str]) -> GameOption {
        GameOption::one_of(name, effect, known[0], known.iter().copied())
    }

    /// Returns an option with one of these values.
    pub fn one_of<T: Into<toml::Value>>(
        name: &'static str,
        effect: &'static str,
        default: T,
        values: impl IntoIterator<Item = T>,
    ) -> GameOption {
        let permitted = Permitted::OneOf(values.into_iter().map(T::into).collect());
        GameOption { name: name.into(), effect: effect.into(), default: default.into(), permitted }
    }
}

impl GameOptions {
    /// Rejects options that are not in `known`.
    ///
    /// # Errors
    /// If an option is not in `known`.
    pub fn expect_settings(&self, game: &str, known: &[&str]) -> Result<()> {
        match self.settings.keys().find(|key| !known.contains(&key.as_str())) {
            None => Ok(()),
            Some(key) => Err(Error::Config(format!(
                "unknown option `game.{key}`: {game} {}",
                match known {
                    [] => "has no options besides `id`".to_string(),
                    _ => format!("knows {}", known.join(", ")),
                }
            ))),
        }
    }

    /// Returns the value of an option that is `true` or `false`.
    ///
    /// # Errors
    /// If the value is neither `true` nor `false`.
    pub fn flag(&self, name: &str, default: bool) -> Result<bool> {
        match self.settings.get(name) {
            None => Ok(default),
            Some(toml::Value::Boolean(value)) => Ok(*value),
            Some(other) => Err(not_permitted(name, other, "true or false")),
        }
    }

    /// Returns the value of an option that is a whole number in `permitted`.
    ///
    /// # Errors
    /// If the value is not a whole number in `permitted`.
    pub fn integer(&self, name: &str, default: i64, permitted: RangeInclusive<i64>) -> Result<i64> {
        match self.settings.get(name) {
            None => Ok(default),
            Some(toml::Value::Integer(value)) if permitted.contains(value) => Ok(*value),
            Some(other) => {
                let range = format!("a whole number from {} to {}", permitted.start(), permitted.end());
                Err(not_permitted(name, other, &range))
            }
        }
    }

    /// Returns the index, in `known`, of the value of an option. The first value is the default.
    ///
    /// # Errors
    /// If the value is not in `known`.
    pub fn choice(&self, name: &str, known: &[&str]) -> Result<usize> {
        let Some(value) = self.settings.get(name) else { return Ok(0) };
        let index = value.as_str().and_then(|text| known.iter().position(|known| *known == text));
        index.ok_or_else(|| not_permitted(name, value, &known.join(", ")))
    }
}

fn not_permitted(name: &str, value: &toml::Value, permitted: &str) -> Error {
    Error::Config(format!("game.{name} = {value} is not permitted: use {permitted}"))
}

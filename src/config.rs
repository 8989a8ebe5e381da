//! The settings of a run: one TOML file, then `key=value` overrides, checked once.
//!
//! For a misspelled key, the error shows the line, a caret, and the valid keys; for a value out of range, the line
//! and the permitted range. The resolved settings are written to the run folder and to every checkpoint.
//!
//! Each setting is defined once, as a line of a table in `sections` or `arena`; [`settings`] lists them all.
//! [`Config::parse`] is strict; [`Config::read`] takes what it knows from a config of another version.
//!
//! # Formats
//!
//! A format determines the defaults and which settings are written. Format 1 has the defaults of version 0.1:
//! settings that were added later are off, and settings that are off are not written. Format 2 has the defaults that
//! made agents stronger, and all settings are written. Format 3 has a smaller network, more generations, and fewer
//! matches. A config that a person writes has the newest format unless it contains `config_format`. Settings kept by a
//! run have format 1 unless they name another format, because format 1 wrote no number.

mod arena;
mod gone;
mod lenient;
pub mod limits;
mod point;
mod sections;
mod sets;
mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde::de::DeserializeOwned;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use toml::de::DeTable;

use crate::error::{Error, Result, nearest, quoted};
use crate::options::Settings;
pub use arena::ArenaConfig;
pub(crate) use gone::GATE_OFF;
pub use lenient::Reading;
use point::point;
pub use sections::{
    Bootstrap, DeviceKind, EvaluatorKind, NetConfig, OptimizerKind, Precision, ReplayConfig, RootKind,
    SearchConfig, SelfplayConfig, TrainConfig, TrainDevice,
};
pub use sets::game_settings;
pub use table::{Ignored, Kind, Setting};
use table::{RangeProblem, Rule, Whole};

/// The newest format of configs, which changes when an existing key changes its meaning or its default. A run with a
/// config of a newer format is not resumed.
pub const CONFIG_FORMAT: u32 = 3;
const FORMAT_KEY: &str = "config_format";

/// The limits for a whole config, and for a line of it.
const MOST_BRACKETS: usize = 1000;
const MOST_DOTS: usize = 100;
const TOO_DEEP: &str = "too many brackets or dots: no setting is nested this deeply";

macro_rules! seed {
    () => {
        "Every random stream of the run is derived from this number."
    };
}

macro_rules! game_id {
    () => {
        "The game's id."
    };
}

const SEED: Rule<u64> = Rule { key: "seed", doc: seed!(), ends: None, even: false, experimental: false };
const DEFAULT_SEED: u64 = 1;

/// Everything that determines what a run does: same config, same seed, same bytes.
///
/// Make one with [`Config::new`] and change its fields, or use [`Config::parse`].
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Config {
    #[doc = concat!(seed!(), "\n\nDefault `1`.")]
    #[serde(default = "default_seed")]
    pub seed: u64,
    /// The game: `id`, and the game's own switches.
    pub game: GameConfig,
    /// The network.
    #[serde(default)]
    pub net: NetConfig,
    /// The tree search in self-play and evaluation.
    #[serde(default)]
    pub search: SearchConfig,
    /// Games that the agent plays against itself.
    #[serde(default)]
    pub selfplay: SelfplayConfig,
    /// The positions that training samples from.
    #[serde(default)]
    pub replay: ReplayConfig,
    /// Gradient steps.
    #[serde(default)]
    pub train: TrainConfig,
    /// Evaluation after each generation and at the end.
    #[serde(default)]
    pub arena: ArenaConfig,
    #[serde(rename = "config_format", default = "first_format", deserialize_with = "known_format")]
    format: u32,
}

fn default_seed() -> u64 {
    DEFAULT_SEED
}

fn first_format() -> u32 {
    1
}

fn known_format<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    match u32::deserialize(deserializer)? {
        format @ 1..=CONFIG_FORMAT => Ok(format),
        0 => Err(serde::de::Error::custom(format!("{FORMAT_KEY} = 0: the first format is 1"))),
        other => Err(serde::de::Error::custom(format_problem(other))),
    }
}

impl Serialize for Config {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Config { seed, game, net, search, selfplay, replay, train, arena, format } = self;
        let mut map = serializer.serialize_map(None)?;
        if *format > 1 {
            map.serialize_entry(FORMAT_KEY, format)?;
        }
        map.serialize_entry("seed", seed)?;
        map.serialize_entry("game", game)?;
        if *format == 1 {
            map.serialize_entry("net", net)?;
            map.serialize_entry("search", search)?;
            map.serialize_entry("selfplay", selfplay)?;
            map.serialize_entry("replay", replay)?;
            map.serialize_entry("train", train)?;
            map.serialize_entry("arena", arena)?;
        } else {
            map.serialize_entry("net", &Whole(net))?;
            map.serialize_entry("search", &Whole(search))?;
            map.serialize_entry("selfplay", &Whole(selfplay))?;
            map.serialize_entry("replay", &Whole(replay))?;
            map.serialize_entry("train", &Whole(train))?;
            map.serialize_entry("arena", &Whole(arena))?;
        }
        map.end()
    }
}

fn format_problem(found: impl std::fmt::Display) -> String {
    format!(
        "{FORMAT_KEY} = {found}: these settings are from a newer version of petteia, but this one reads format \
         {CONFIG_FORMAT} or older: resume the run with the version that started it"
    )
}

/// `[game]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct GameConfig {
    #[doc = concat!(game_id!(), "\n\nRequired.")]
    pub id: String,
    /// The game's own switches; the game rejects unknown ones.
    #[serde(flatten)]
    pub options: Settings,
}

/// Returns every setting, in the order of a config, except the options of a game.
pub fn settings() -> impl Iterator<Item = Setting> {
    let id = Setting {
        key: "game.id",
        doc: game_id!().into(),
        kind: Kind::Text,
        default: None,
        range: None,
        even: false,
        experimental: false,
    };
    [SEED.setting(&DEFAULT_SEED), id]
        .into_iter()
        .chain(NetConfig::settings())
        .chain(SearchConfig::settings())
        .chain(SelfplayConfig::settings())
        .chain(ReplayConfig::settings())
        .chain(TrainConfig::settings())
        .chain(ArenaConfig::settings())
}

impl Config {
    /// Returns the defaults of the newest format for the game `id`, which is looked up only when the config is used.
    pub fn new(id: impl Into<String>) -> Config {
        Config::of_format(CONFIG_FORMAT, GameConfig { id: id.into(), options: Settings::new() })
    }

    /// Returns the defaults of a format, from 1 to [`CONFIG_FORMAT`].
    pub(crate) fn of_format(format: u32, game: GameConfig) -> Config {
        // the defaults of one format in all sections
        macro_rules! sections {
            ($defaults:ident) => {
                Config {
                    seed: DEFAULT_SEED,
                    game,
                    net: NetConfig::$defaults(),
                    search: SearchConfig::$defaults(),
                    selfplay: SelfplayConfig::$defaults(),
                    replay: ReplayConfig::$defaults(),
                    train: TrainConfig::$defaults(),
                    arena: ArenaConfig::$defaults(),
                    format,
                }
            };
        }
        match format {
            1 => sections!(default),
            2 => sections!(second),
            _ => sections!(recommended),
        }
    }

    /// Returns the defaults of this config's format for its game.
    pub fn defaults(&self) -> Config {
        Config::of_format(self.format, self.game.clone())
    }

    /// Returns the format, which determines the defaults.
    pub fn format(&self) -> u32 {
        self.format
    }

    /// Returns whether matches are played after generation `number`.
    pub(crate) fn has_matches(&self, number: usize) -> bool {
        number.is_multiple_of(self.arena.every) || number == self.train.generations
    }

    /// Returns the number of games that generation `number` plays against the opponent of the evaluation.
    pub(crate) fn evaluation_games(&self, number: usize) -> usize {
        match self.has_matches(number) {
            _ if number == self.train.generations => self.arena.final_games,
            true => self.arena.games,
            false => 0,
        }
    }

    /// Returns the number of games that generation `number` plays against earlier generations chosen for its rating.
    pub(crate) fn rating_games(&self, number: usize) -> usize {
        if self.has_matches(number) { self.arena.ladder_games } else { 0 }
    }

    /// Parses `source`, a text at `place` that a person wrote, applies `sets` (each a `key=value`), and checks every
    /// range. A text that does not name a format has the newest one.
    ///
    /// ```
    /// use petteia::config::Config;
    ///
    /// let text = "game.id = 'tic-tac-toe'\nnet.filters = 8";
    /// let config = Config::parse("tiny.toml", text, &["train.batch=32".to_string()])?;
    /// assert_eq!((config.net.filters, config.train.batch), (8, 32));
    /// let wrong = Config::parse("tiny.toml", "game.id = 'tic-tac-toe'\nnet.filtres = 8", &[]);
    /// let error = wrong.unwrap_err().to_string();
    /// assert!(error.starts_with("tiny.toml: ") && error.contains("did you mean `filters`?"), "{error}");
    /// # Ok::<(), petteia::error::Error>(())
    /// ```
    ///
    /// # Errors
    /// If a key is unknown, a value is not permitted, or the config is of a newer format.
    pub fn parse(place: &str, source: &str, sets: &[String]) -> Result<Config> {
        Config::parse_as(CONFIG_FORMAT, place, source, sets)
    }

    /// Parses settings that a run or checkpoint has kept, like [`Config::parse`]. If they do not name a format, they
    /// have the first one.
    ///
    /// # Errors
    /// As for [`Config::parse`].
    pub fn parse_kept(place: &str, source: &str, sets: &[String]) -> Result<Config> {
        Config::parse_as(1, place, source, sets)
    }

    fn parse_as(format: u32, place: &str, source: &str, sets: &[String]) -> Result<Config> {
        let mut table: toml::Table = from_text(place, source)?;
        if let Some(format) =
            table.get(FORMAT_KEY).filter(|format| format.as_integer() > Some(CONFIG_FORMAT.into()))
        {
            // reported before unknown keys, which may be a consequence of the newer format
            return Err(wrong(place, &show(source, FORMAT_KEY, &format_problem(format))));
        }
        let partial: Config = from_text(place, source)?;
        let format = if table.contains_key(FORMAT_KEY) { partial.format } else { format };
        table = Config::of_format(format, partial.game).overlaid(table);
        let mut config: Config = table.clone().try_into().expect("both are valid configs");
        if let Err(problem) = config.problem() {
            return Err(wrong(place, &show(source, problem.key, &problem.says)));
        }
        for set in sets {
            config = sets::apply(&mut table, set)?;
        }
        // all settings are checked together: a value may be in range only in combination with another
        let Err(problem) = config.problem() else { return Ok(config) };
        let about = |set: &&String| sets::parse(set).is_ok_and(|(key, _)| key == problem.key);
        let set = sets.iter().rfind(about).or(sets.last()).expect("the file alone was checked");
        Err(sets::wrong(set, &problem.says))
    }

    /// Parses settings like [`Config::parse`], on top of the settings `self` of a run or of a game. Settings that
    /// neither `source` nor `sets` names stay as they are, so a run does not change if another version has a different
    /// default.
    ///
    /// # Errors
    /// As for [`Config::parse`].
    #[expect(
        clippy::missing_panics_doc,
        reason = "settings that were checked, over others that were checked, are settings"
    )]
    pub fn parse_over(&self, place: &str, source: &str, sets: &[String]) -> Result<Config> {
        // the source is parsed alone first, so that errors are about the source
        Config::parse(place, source, sets)?;
        let mut over: toml::Table = from_text(place, source)?;
        over.remove(FORMAT_KEY);
        let mut table = self.overlaid(over);
        let mut config: Config = table.clone().try_into().expect("both are valid configs");
        for set in sets {
            config = sets::apply(&mut table, set)?;
        }
        config.check()?;
        Ok(config)
    }

    /// Returns these settings, overridden by those in `over`, which must name the game.
    fn overlaid(&self, over: toml::Table) -> toml::Table {
        let mut table = toml::Table::try_from(self).expect("a config is always valid TOML");
        // the options of one game mean nothing to another game
        table.remove("game");
        overlay(&mut table, over);
        table
    }

    /// Checks every range and the constraints between settings.
    ///
    /// # Errors
    /// If a setting is not permitted; the error names it with its range.
    pub fn check(&self) -> Result<()> {
        self.problem().map_err(|problem| Error::Config(problem.says))
    }

    /// Returns the resolved settings as TOML.
    #[expect(clippy::missing_panics_doc, reason = "a config is always valid TOML")]
    pub fn to_toml(&self) -> String {
        toml::to_string_pretty(self).expect("a config is always valid TOML")
    }

    /// Returns the settings that differ: key, value in `self`, value in `other`.
    #[expect(clippy::missing_panics_doc, reason = "a config is always valid TOML")]
    pub fn differences(&self, other: &Config) -> Vec<[String; 3]> {
        let flat = |config: &Config| {
            let mut rows = Vec::new();
            // all settings are written, regardless of the format
            let whole = Config { format: CONFIG_FORMAT, ..config.clone() };
            let table = toml::Table::try_from(whole).expect("a config is always valid TOML");
            flatten("", &toml::Value::Table(table), &mut rows);
            rows.into_iter().collect::<BTreeMap<_, _>>()
        };
        let [own_rows, other_rows] = [self, other].map(flat);
        let keys: BTreeSet<_> = own_rows.keys().chain(other_rows.keys()).collect();
        let text = |value: Option<&String>| value.cloned().unwrap_or_else(|| "not set".into());
        keys.into_iter()
            .filter(|key| own_rows.get(*key) != other_rows.get(*key))
            .map(|key| [key.clone(), text(own_rows.get(key)), text(other_rows.get(key))])
            .collect()
    }

    fn problem(&self) -> Result<(), RangeProblem> {
        let (net, search, selfplay) = (&self.net, &self.search, &self.selfplay);
        net.check()?;
        search.check()?;
        selfplay.check()?;
        self.replay.check()?;
        self.train.check()?;
        self.arena.check()?;
        if selfplay.fast_simulations >= search.simulations && selfplay.fast_simulations > 0 {
            let says = format!(
                "selfplay.fast_simulations = {} is not below search.simulations = {}: fast searches must be shorter",
                selfplay.fast_simulations, search.simulations
            );
            return Err(RangeProblem { key: "selfplay.fast_simulations", says });
        }
        if net.precision == Precision::Bf16 && net.evaluator == EvaluatorKind::Burn {
            let says =
                "net.precision = \"bf16\" needs net.evaluator = \"fused\": burn computes in f32".into();
            return Err(RangeProblem { key: "net.precision", says });
        }
        if net.device != DeviceKind::Cpu && net.evaluator == EvaluatorKind::Burn {
            let says = format!(
                "net.device = \"{}\" needs net.evaluator = \"fused\": \"burn\" computes on the CPU",
                net.device
            );
            return Err(RangeProblem { key: "net.device", says });
        }
        let train = &self.train;
        if train.device != TrainDevice::Cpu && train.precision == Precision::Bf16 {
            let says = format!(
                "train.precision = \"bf16\" needs train.device = \"cpu\": \"{}\" trains in f32",
                train.device
            );
            return Err(RangeProblem { key: "train.precision", says });
        }
        Ok(())
    }
}

/// Returns an error about `place`.
fn wrong(place: &str, what: &str) -> Error {
    Error::Config(format!("{place}: {}", what.trim_end()))
}

fn misread(place: &str, source: &str, error: toml::de::Error) -> Error {
    let what = explained(&error);
    wrong(place, &error.span().map_or(what.clone(), |span| point(source, span, &what)))
}

/// Writes the settings in `over` over those in `table`.
fn overlay(table: &mut toml::Table, over: toml::Table) {
    for (key, value) in over {
        match (table.get_mut(&key), value) {
            (Some(toml::Value::Table(below)), toml::Value::Table(value)) => overlay(below, value),
            (_, value) => {
                table.insert(key, value);
            }
        }
    }
}

/// Parses the settings in a text. Settings that no longer exist are ignored if they were off.
fn from_text<T: DeserializeOwned>(place: &str, source: &str) -> Result<T> {
    if let Some(span) = too_deep(source) {
        return Err(wrong(place, &point(source, span, TOO_DEEP)));
    }
    let parsed = DeTable::parse(source).and_then(|mut settings| {
        gone::drop_if_off(settings.get_mut());
        T::deserialize(toml::Deserializer::from(settings))
    });
    parsed.map_err(|error| misread(place, source, error))
}

/// Returns the line of `source` that sets `key` (`section.name`), with carets under the value and `says` below. If no
/// line sets `key`, returns only `says`.
pub fn show(source: &str, key: &str, says: &str) -> String {
    match point::find(source, key) {
        Some(span) => point(source, span, says),
        None => says.to_string(),
    }
}

/// Returns the first line on which a text exceeds the limits: the dots of the line, or all brackets up to its end, are
/// more than any valid config has. Tables nested too deeply, and too many brackets skipped after an error, would make
/// toml overflow the stack.
fn too_deep(source: &str) -> Option<Range<usize>> {
    let (mut begin, mut brackets) = (0, 0);
    source.split_inclusive('\n').find_map(|line| {
        let start = begin;
        begin += line.len();
        brackets += line.matches(['[', '{']).count();
        let is_deep = brackets > MOST_BRACKETS || line.matches('.').count() > MOST_DOTS;
        is_deep.then(|| start..start + line.trim_end().len())
    })
}

/// Returns toml's message in plain words. Adds a hint if a key is misspelled or misplaced or if the user was looking
/// for the key that selects a device, and the reason if a key no longer exists.
fn explained(error: &toml::de::Error) -> String {
    let text =
        RUST_WORDS.iter().fold(error.message().to_string(), |text, (rust, plain)| text.replace(rust, plain));
    let Some((key, others)) =
        text.strip_prefix("unknown field `").and_then(|rest| rest.split_once("`, expected "))
    else {
        return text;
    };
    if let Some(reason) = gone::why(key) {
        return reason.into();
    }
    let hint = match key {
        "gpu" => "; set `net.device` to choose the device that computes the network".to_string(),
        _ => meant(key, others.split('`').skip(1).step_by(2)),
    };
    format!("{text}{hint}")
}

/// Serde's names for kinds of values, each with the words that a user knows.
const RUST_WORDS: [(&str, &str); 7] = [
    ("expected usize", "expected a whole number, 0 or more"),
    ("expected u64", "expected a whole number, 0 or more"),
    ("expected u32", "expected a whole number, 0 or more"),
    ("expected f32", "expected a number"),
    ("expected f64", "expected a number"),
    ("expected a boolean", "expected true or false"),
    ("expected struct GameConfig", "expected a section `[game]` with the `id` of a game"),
];

/// Returns the settings that a user may mean by an unknown `key` in a section with the keys `known`: settings of that
/// name in other sections, or else the nearest name here or elsewhere.
fn meant<'a>(key: &str, known: impl Iterator<Item = &'a str>) -> String {
    let all: Vec<Setting> = settings().collect();
    let name = |setting: &Setting| setting.key.rsplit('.').next().unwrap_or_default();
    let full_keys = |key: &str| -> Vec<String> {
        all.iter().filter(|setting| name(setting) == key).map(|setting| quoted(setting.key)).collect()
    };
    let mut names = full_keys(key);
    if names.is_empty() {
        names = nearest(key, known).map(quoted).into_iter().collect();
    }
    if names.is_empty() {
        names = nearest(key, all.iter().map(name)).map(full_keys).unwrap_or_default();
    }
    if names.is_empty() { String::new() } else { format!("; did you mean {}?", names.join(" or ")) }
}

fn flatten(prefix: &str, value: &toml::Value, out: &mut Vec<(String, String)>) {
    match value {
        toml::Value::Table(table) => {
            for (key, value) in table {
                let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
                flatten(&path, value, out);
            }
        }
        // most settings are f32, so the digits that only f64 shows are omitted
        toml::Value::Float(number) if (*number as f32) as f64 == *number => {
            out.push((prefix.to_string(), format!("{:?}", *number as f32)));
        }
        _ => out.push((prefix.to_string(), value.to_string())),
    }
}

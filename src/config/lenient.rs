//! Configs of other versions, read as far as this version understands them.
//!
//! Resuming a run requires knowing all of its settings, so [`Config::parse`] is strict. Playing with, exporting, or
//! listing a checkpoint needs only some settings: here, unknown keys are ignored, values out of range are moved to the
//! nearest permitted one, and missing settings get their defaults. Every setting that was not taken unchanged is
//! reported.

use std::mem::take;

use super::table::Ignored;
use super::{
    ArenaConfig, CONFIG_FORMAT, Config, FORMAT_KEY, GameConfig, NetConfig, ReplayConfig, SearchConfig,
    SelfplayConfig, TrainConfig, from_text, show, wrong,
};
use crate::error::{Result, shown};

/// A config that any version of Petteia may have written.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Reading {
    /// The settings that this version knows.
    pub config: Config,
    /// The settings that were not taken unchanged.
    pub ignored: Vec<Ignored>,
}

impl Config {
    /// Reads `source`, the text that a run or checkpoint has kept at `place`, as far as this version understands it. A
    /// text that does not name a format has format 1.
    ///
    /// # Errors
    /// If the text is not TOML, or does not name a game.
    pub fn read(place: &str, source: &str) -> Result<Reading> {
        let mut table: toml::Table = from_text(place, source)?;
        let mut ignored = Vec::new();
        let game = match table.remove("game").map(toml::Value::try_into::<GameConfig>) {
            Some(Ok(game)) => game,
            Some(Err(error)) => {
                return Err(wrong(place, &show(source, "game.id", &format!("game: {}", error.message()))));
            }
            None => return Err(wrong(place, "it does not name a game: `game.id` is missing")),
        };
        let found = table.remove(FORMAT_KEY);
        let mut section = |name: &str, ignored: &mut Vec<Ignored>| match table.remove(name) {
            Some(toml::Value::Table(section)) => section,
            Some(other) => {
                ignored.push(Ignored::unknown(name.into(), &other));
                toml::Table::new()
            }
            None => toml::Table::new(),
        };
        let format = found.as_ref().map_or(Some(1), |format| u32::try_from(format.as_integer()?).ok());
        let known = format.filter(|format| (1..=CONFIG_FORMAT).contains(format));
        // a newer format writes all of its settings, so a setting that is missing is off
        let mut config = Config::of_format(known.unwrap_or(1), game);
        config.net = NetConfig::read(section("net", &mut ignored), take(&mut config.net), &mut ignored);
        config.search =
            SearchConfig::read(section("search", &mut ignored), take(&mut config.search), &mut ignored);
        config.selfplay =
            SelfplayConfig::read(section("selfplay", &mut ignored), take(&mut config.selfplay), &mut ignored);
        config.replay =
            ReplayConfig::read(section("replay", &mut ignored), take(&mut config.replay), &mut ignored);
        config.train =
            TrainConfig::read(section("train", &mut ignored), take(&mut config.train), &mut ignored);
        config.arena =
            ArenaConfig::read(section("arena", &mut ignored), take(&mut config.arena), &mut ignored);
        config.seed = super::SEED.read(&mut table, config.seed, &mut ignored);
        if let Some(format) = found.filter(|_| known.is_none()) {
            ignored.push(Ignored::unknown(FORMAT_KEY.into(), &format));
        }
        ignored.extend(table.into_iter().map(|(key, value)| Ignored::unknown(key, &value)));
        Ok(Reading { config, ignored })
    }
}

impl NetConfig {
    /// Reads the network settings of a checkpoint of any version. The network's output depends on its sizes, which
    /// must be present and possible. A key of another version, or a way to compute that this version lacks, is
    /// ignored.
    pub(crate) fn of_checkpoint(net: toml::Table) -> Result<NetConfig, String> {
        for size in ["filters", "blocks", "value_planes", "value_hidden"] {
            if !net.contains_key(size) {
                return Err(format!("missing field `{size}`"));
            }
        }
        let mut ignored = Vec::new();
        // settings that are off are not written to a checkpoint
        let found = NetConfig::read(net, NetConfig::default(), &mut ignored);
        let is_size = |ignored: &&Ignored| !matches!(&*ignored.key, "net.evaluator" | "net.precision");
        match ignored.iter().filter(is_size).find(|ignored| !ignored.is_unknown()) {
            Some(size) => Err(format!("no network has {} = {}", size.key, shown(&size.value))),
            None => Ok(found),
        }
    }
}

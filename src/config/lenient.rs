//! Configs of other versions, read as far as this one understands them.
//!
//! To resume a run is to know all of its settings, so [`Config::parse`] is strict. Who plays by a checkpoint, exports it or
//! lists what is there needs only some of them: here unknown keys are passed over, values out of range are brought into it,
//! and what is missing has its default. What was not taken as it stands is named.

use super::table::Ignored;
use super::{
    ArenaConfig, CONFIG_FORMAT, Config, FORMAT_KEY, GameConfig, NetConfig, ReplayConfig, SearchConfig,
    SelfplayConfig, TrainConfig, parse_table, show, wrong,
};
use crate::error::{Result, shown};

/// A config as any version of the program may have written it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Reading {
    /// What this program knows of it.
    pub config: Config,
    /// What was not taken as it stands.
    pub ignored: Vec<Ignored>,
}

impl Config {
    /// Reads `source`, the text of `place`, as far as this program understands it.
    ///
    /// # Errors
    /// The text is not TOML, or names no game.
    pub fn read(place: &str, source: &str) -> Result<Reading> {
        let mut table = parse_table(place, source)?;
        let mut ignored = Vec::new();
        let game = match table.remove("game").map(toml::Value::try_into::<GameConfig>) {
            Some(Ok(game)) => game,
            Some(Err(error)) => {
                return Err(wrong(place, &show(source, "game.id", &format!("game: {}", error.message()))));
            }
            None => return Err(wrong(place, "it names no game: `game.id` is missing")),
        };
        let mut section = |name: &str, ignored: &mut Vec<Ignored>| match table.remove(name) {
            Some(toml::Value::Table(section)) => section,
            Some(other) => {
                ignored.push(Ignored::unknown(name.into(), &other));
                toml::Table::new()
            }
            None => toml::Table::new(),
        };
        let mut config = Config {
            net: NetConfig::read(section("net", &mut ignored), &mut ignored),
            search: SearchConfig::read(section("search", &mut ignored), &mut ignored),
            selfplay: SelfplayConfig::read(section("selfplay", &mut ignored), &mut ignored),
            replay: ReplayConfig::read(section("replay", &mut ignored), &mut ignored),
            train: TrainConfig::read(section("train", &mut ignored), &mut ignored),
            arena: ArenaConfig::read(section("arena", &mut ignored), &mut ignored),
            ..Config::of(game)
        };
        config.seed = super::SEED.read(&mut table, config.seed, &mut ignored);
        if table.get(FORMAT_KEY) == Some(&toml::Value::from(CONFIG_FORMAT)) {
            table.remove(FORMAT_KEY);
        }
        ignored.extend(table.into_iter().map(|(key, value)| Ignored::unknown(key, &value)));
        Ok(Reading { config, ignored })
    }
}

impl NetConfig {
    /// The network that a checkpoint of any version says it has. What it computes follows from its sizes, which must be
    /// there and possible; a key of another version, or a way of computing that this one lacks, is passed over.
    pub(crate) fn of_checkpoint(net: toml::Table) -> Result<NetConfig, String> {
        for size in ["filters", "blocks", "value_planes", "value_hidden"] {
            if !net.contains_key(size) {
                return Err(format!("missing field `{size}`"));
            }
        }
        let mut ignored = Vec::new();
        let found = NetConfig::read(net, &mut ignored);
        let is_size = |ignored: &&Ignored| !matches!(&*ignored.key, "net.evaluator" | "net.precision");
        match ignored.iter().filter(is_size).find(|ignored| !ignored.is_unknown()) {
            Some(size) => Err(format!("no network has {} = {}", size.key, shown(&size.value))),
            None => Ok(found),
        }
    }
}

//! The settings of a run: one TOML file, then `--set key=value`, checked once.
//!
//! A misspelt key prints the line, a caret and the legal keys; a value out of range prints the line
//! and the permitted range. The resolved settings are written to the run folder and to every checkpoint.

mod arena;
mod point;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, quoted, shown};
use crate::options::Settings;
pub use arena::{ArenaConfig, GateKind};
use point::point;

/// In a config, and in a line of it.
const MOST_BRACKETS: usize = 1000;
const MOST_DOTS: usize = 100;
const TOO_DEEP: &str = "too many brackets or dots: nothing is nested so deeply here";

/// Everything that decides what a run does. Same config, same seed: same bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Every random stream of the run is derived from this (default 1).
    #[serde(default = "one")]
    pub seed: u64,
    /// The game: `id`, and the game's own switches.
    pub game: GameConfig,
    /// The network.
    #[serde(default)]
    pub net: NetConfig,
    /// The tree search of self-play and evaluation.
    #[serde(default)]
    pub search: SearchConfig,
    /// Games that the agent plays against itself.
    #[serde(default)]
    pub selfplay: SelfplayConfig,
    /// What training samples from.
    #[serde(default)]
    pub replay: ReplayConfig,
    /// Gradient steps.
    #[serde(default)]
    pub train: TrainConfig,
    /// Evaluation after each generation and at the end.
    #[serde(default)]
    pub arena: ArenaConfig,
}

fn one() -> u64 {
    1
}

/// `[game]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GameConfig {
    /// The registry id (required).
    pub id: String,
    /// The game's own switches; the game refuses those that it does not know.
    #[serde(flatten)]
    pub options: Settings,
}

/// `[net]`: a residual tower (AlphaZero: 256 filters, 19 blocks).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NetConfig {
    /// Channels of the tower, 1..=512 (default 32).
    pub filters: usize,
    /// Residual blocks of two 3x3 convolutions, 0..=40 (default 4).
    pub blocks: usize,
    /// Planes of the value head, 1..=64 (default 4; AlphaZero: 1).
    pub value_planes: usize,
    /// Hidden units of the value head, 1..=1024 (default 64; AlphaZero: 256).
    pub value_hidden: usize,
    /// What evaluates positions outside training (default `fused`).
    pub evaluator: EvaluatorKind,
    /// Products of the fused forward pass in `f32` (the default) or `bf16` (1.6 to 1.8 times as fast, where the CPU has
    /// the instructions; agents of a run that was trained in bf16 play in f32 elsewhere).
    pub precision: Precision,
}

/// `net.precision`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// 32 bits.
    F32,
    /// Factors of 16 bits (8 of them exponent) inside the tower, everything else of 32.
    Bf16,
}

/// `net.evaluator`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EvaluatorKind {
    /// The fused forward pass of `net/cpu`.
    Fused,
    /// burn's own forward pass: the reference.
    Burn,
}

impl Default for NetConfig {
    fn default() -> Self {
        NetConfig {
            filters: 32,
            blocks: 4,
            value_planes: 4,
            value_hidden: 64,
            evaluator: EvaluatorKind::Fused,
            precision: Precision::F32,
        }
    }
}

/// `[search]`: PUCT (Silver et al. 2017, Rosin 2011), at the root by choice Gumbel (Danihelka et al. 2022).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SearchConfig {
    /// New simulations an action, 1..=1000000 (default 64; AlphaZero: 800).
    pub simulations: usize,
    /// What decides at the root (default `puct`): `gumbel` considers few actions and halves them ("Policy improvement
    /// by planning with Gumbel", ICLR 2022), plays the winner and teaches the improved policy instead of the
    /// visits; root noise and temperatures are then not used. For small numbers of simulations.
    pub root: RootKind,
    /// Actions that the Gumbel root considers, 1..=65536 (default 16, as the paper).
    pub gumbel_actions: usize,
    /// The paper's c_visit, 0..=10000 (default 50): how much values count before there are visits.
    pub gumbel_visit: f32,
    /// The paper's c_scale, 0.001..=100 (default 1, for values of 0..1): how much values count beside logits.
    pub gumbel_scale: f32,
    /// Exploration constant, 0.01..=100 (default 1.5; AlphaZero: 1.25).
    pub cpuct: f32,
    /// First-play urgency: an unvisited action counts as the parent's value minus this times the root of the
    /// prior mass already visited, 0..=2 (default 0.2, as KataGo).
    pub fpu_reduction: f32,
    /// The same at a root with noise, 0..=2 (default 0, as KataGo).
    pub fpu_reduction_root: f32,
    /// Total concentration of the Dirichlet noise, shared by the legal actions: alpha = this / actions,
    /// 0.1..=1000 (default 10.83, as KataGo).
    pub noise_concentration: f32,
    /// Share of the noise in the root's priors during self-play, 0..=1 (default 0.25, as AlphaZero).
    pub noise_fraction: f32,
    /// Keep the subtree of the action played (default true).
    pub reuse_tree: bool,
    /// Forced playouts and policy target pruning (Wu 2019, arXiv:1902.10565): at a PUCT root with noise each visited
    /// action gets at least sqrt(this * prior * simulations) simulations, and those that its score did not
    /// ask for are taken out of the policy target, 0..=100 (default 0: off; KataGo: 2).
    pub forced_playouts: f32,
}

/// `search.root`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RootKind {
    /// PUCT as in the rest of the tree, with Dirichlet noise in self-play.
    Puct,
    /// Gumbel noise and sequential halving.
    Gumbel,
}

impl Default for SearchConfig {
    fn default() -> Self {
        SearchConfig {
            simulations: 64,
            root: RootKind::Puct,
            gumbel_actions: 16,
            gumbel_visit: 50.0,
            gumbel_scale: 1.0,
            cpuct: 1.5,
            fpu_reduction: 0.2,
            fpu_reduction_root: 0.0,
            noise_concentration: 10.83,
            noise_fraction: 0.25,
            reuse_tree: true,
            forced_playouts: 0.0,
        }
    }
}

/// `[selfplay]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SelfplayConfig {
    /// Games a generation, 1..=10000000 (default 512).
    pub games: usize,
    /// Games in flight together on one thread; their leaves form one batch (with `net.evaluator = "burn"` half of
    /// them do, and all cores work on the other half meanwhile) and their records one shard, 1..=65536 (default 128). `games / batch` is how many cores self-play can keep busy.
    pub batch: usize,
    /// Temperature of the first `temperature_plies` plies, 0..=10 (default 1).
    pub temperature: f32,
    /// Plies at `temperature`, 0..=10000 (default 16; AlphaZero: 30 in chess).
    pub temperature_plies: usize,
    /// Temperature afterwards, 0..=10 (default 0.2).
    pub temperature_final: f32,
    /// Up to this many uniformly random actions begin a game (they are not trained on), 0..=1000 (default 0).
    pub random_plies: usize,
    /// Playout cap randomization (Wu 2019, arXiv:1902.10565): simulations of a fast search, which has no noise and is
    /// not trained on, neither its policy nor its value, 0..=999999 (default 0: off; KataGo: 100 of 600).
    pub fast_simulations: usize,
    /// Share of full searches, with noise and trained on, when there are fast ones, 0.01..=1 (default 0.25, as
    /// KataGo).
    pub full_share: f32,
    /// Policy surprise weighting (KataGo's methods, after Wu 2019): this share of a game's training weight goes to
    /// its positions by how far the policy target is from the prior, the rest equally, 0..=1 (default 0: off;
    /// KataGo: 0.5).
    pub surprise_weight: f32,
    /// Mebibytes of evaluations that each shard in flight remembers, 0..=65536 (default 0: none): games
    /// that reach the same position ask the network once. Changes no game (of the fused evaluator), only the time.
    pub cache: usize,
    /// Games of the first generation, played before any network exists, 0..=10000000 (default 512).
    pub bootstrap_games: usize,
    /// Their evaluator (default `rollout`): random playouts by the rules alone, or `uniform`.
    pub bootstrap: Bootstrap,
    /// Their simulations an action, 1..=1000000 (default 200).
    pub bootstrap_simulations: usize,
}

/// `selfplay.bootstrap`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Bootstrap {
    /// Random playouts to the end of the game, without root noise.
    Rollout,
    /// Equal priors and value 0: only the ends of games that the tree reaches say anything.
    Uniform,
}

impl Default for SelfplayConfig {
    fn default() -> Self {
        SelfplayConfig {
            games: 512,
            batch: 128,
            temperature: 1.0,
            temperature_plies: 16,
            temperature_final: 0.2,
            random_plies: 0,
            fast_simulations: 0,
            full_share: 0.25,
            surprise_weight: 0.0,
            cache: 0,
            bootstrap_games: 512,
            bootstrap: Bootstrap::Rollout,
            bootstrap_simulations: 200,
        }
    }
}

/// `[replay]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReplayConfig {
    /// Newest positions that training samples from, 1..=100000000 (default 100000; AlphaZero: the last
    /// million games). Whole shards are kept, so the window may hold a little more.
    pub window: usize,
}

impl Default for ReplayConfig {
    fn default() -> Self {
        ReplayConfig { window: 100_000 }
    }
}

/// `[train]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TrainConfig {
    /// Turns of the pipeline, 1..=100000 (default 10).
    pub generations: usize,
    /// Samples a step, 1..=65536 (default 128; AlphaZero: 4096).
    pub batch: usize,
    /// How often a new position is sampled on average, 0.01..=1000 (default 4): a generation takes
    /// `new positions * samples_per_position / batch` steps.
    pub samples_per_position: f32,
    /// `adamw` or `sgd` (default `adamw`; AlphaZero: SGD with momentum 0.9).
    pub optimizer: OptimizerKind,
    /// Highest learning rate, 1e-9..=1 (default 0.002).
    pub learning_rate: f64,
    /// Learning rate at the end of the cosine, 0..=1 (default 0.0001).
    pub learning_rate_final: f64,
    /// Steps over which the rate rises from 0, 0..=1000000 (default 100).
    pub warmup_steps: usize,
    /// Decoupled (AdamW) or L2 (SGD) weight decay, not on norms and biases, 0..=1 (default 0.0001).
    pub weight_decay: f64,
    /// Momentum of SGD, 0..=0.999 (default 0.9).
    pub momentum: f64,
    /// Largest norm of the whole gradient, 1e-6..=1e6 (default 5).
    pub clip_norm: f32,
    /// Weight of the value loss beside the policy loss, 0..=100 (default 1).
    pub value_weight: f32,
    /// Share of the search's own root value in the value target, 0..=1 (default 0; the rest is the
    /// game's outcome).
    pub search_value_share: f32,
}

/// `train.optimizer`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OptimizerKind {
    /// Adam with decoupled weight decay (Loshchilov and Hutter 2019).
    Adamw,
    /// Stochastic gradient descent with momentum.
    Sgd,
}

impl Default for TrainConfig {
    fn default() -> Self {
        TrainConfig {
            generations: 10,
            batch: 128,
            samples_per_position: 4.0,
            optimizer: OptimizerKind::Adamw,
            learning_rate: 0.002,
            learning_rate_final: 0.0001,
            warmup_steps: 100,
            weight_decay: 0.0001,
            momentum: 0.9,
            clip_norm: 5.0,
            value_weight: 1.0,
            search_value_share: 0.0,
        }
    }
}

impl Config {
    /// Parses `source`, the text of `place`, applies `sets` (`key=value` each) and checks every range.
    pub fn parse(place: &str, source: &str, sets: &[String]) -> Result<Config> {
        let named = |what: &str| Error::Config(format!("{place}: {}", what.trim_end()));
        let misread = |error: toml::de::Error| match error.span() {
            Some(span) => named(&point(source, span, &explained(&error))),
            None => named(&explained(&error)),
        };
        if let Some(span) = too_deep(source) {
            return Err(named(&point(source, span, TOO_DEEP)));
        }
        let checked: Config = toml::from_str(source).map_err(misread)?;
        if let Err(problem) = checked.check() {
            return Err(named(&show(source, problem.key, &problem.says)));
        }
        let mut table: toml::Table = toml::from_str(source).map_err(misread)?;
        let mut config = checked;
        for set in sets {
            config = apply(&mut table, set)?;
        }
        // all together: one may be in range only beside another
        let Err(problem) = config.check() else { return Ok(config) };
        let about = |set: &&String| parse_set(set).is_ok_and(|(key, _)| key == problem.key);
        let set = sets.iter().rfind(about).or(sets.last()).expect("the file alone was checked");
        Err(wrong_set(set, &problem.says))
    }

    /// The resolved settings as TOML.
    pub fn to_toml(&self) -> String {
        toml::to_string_pretty(self).expect("a config is always valid TOML")
    }

    /// The settings that differ: key, ours, theirs.
    pub fn differences(&self, other: &Config) -> Vec<[String; 3]> {
        let flat = |config: &Config| {
            let mut rows = Vec::new();
            let table = toml::Table::try_from(config).expect("a config is always valid TOML");
            flatten("", &toml::Value::Table(table), &mut rows);
            rows.into_iter().collect::<BTreeMap<_, _>>()
        };
        let (ours, theirs) = (flat(self), flat(other));
        let keys: BTreeSet<_> = ours.keys().chain(theirs.keys()).collect();
        let shown = |value: Option<&String>| value.cloned().unwrap_or_else(|| "not set".into());
        keys.into_iter()
            .filter(|key| ours.get(*key) != theirs.get(*key))
            .map(|key| [key.clone(), shown(ours.get(key)), shown(theirs.get(key))])
            .collect()
    }

    fn check(&self) -> Result<(), RangeProblem> {
        let (n, s, p, t) = (&self.net, &self.search, &self.selfplay, &self.train);
        range("net.filters", n.filters, 1, 512)?;
        range("net.blocks", n.blocks, 0, 40)?;
        range("net.value_planes", n.value_planes, 1, 64)?;
        range("net.value_hidden", n.value_hidden, 1, 1024)?;
        range("search.simulations", s.simulations, 1, 1_000_000)?;
        range("search.gumbel_actions", s.gumbel_actions, 1, 65536)?;
        range("search.gumbel_visit", s.gumbel_visit, 0.0, 1e4)?;
        range("search.gumbel_scale", s.gumbel_scale, 0.001, 100.0)?;
        range("search.cpuct", s.cpuct, 0.01, 100.0)?;
        range("search.fpu_reduction", s.fpu_reduction, 0.0, 2.0)?;
        range("search.fpu_reduction_root", s.fpu_reduction_root, 0.0, 2.0)?;
        range("search.noise_concentration", s.noise_concentration, 0.1, 1000.0)?;
        range("search.noise_fraction", s.noise_fraction, 0.0, 1.0)?;
        range("search.forced_playouts", s.forced_playouts, 0.0, 100.0)?;
        range("selfplay.games", p.games, 1, 10_000_000)?;
        range("selfplay.batch", p.batch, 1, 65536)?;
        range("selfplay.temperature", p.temperature, 0.0, 10.0)?;
        range("selfplay.temperature_plies", p.temperature_plies, 0, 10000)?;
        range("selfplay.temperature_final", p.temperature_final, 0.0, 10.0)?;
        range("selfplay.random_plies", p.random_plies, 0, 1000)?;
        range("selfplay.fast_simulations", p.fast_simulations, 0, 999_999)?;
        range("selfplay.full_share", p.full_share, 0.01, 1.0)?;
        range("selfplay.surprise_weight", p.surprise_weight, 0.0, 1.0)?;
        range("selfplay.cache", p.cache, 0, 65536)?;
        range("selfplay.bootstrap_games", p.bootstrap_games, 0, 10_000_000)?;
        range("selfplay.bootstrap_simulations", p.bootstrap_simulations, 1, 1_000_000)?;
        range("replay.window", self.replay.window, 1, 100_000_000)?;
        range("train.generations", t.generations, 1, 100_000)?;
        range("train.batch", t.batch, 1, 65536)?;
        range("train.samples_per_position", t.samples_per_position, 0.01, 1000.0)?;
        range("train.learning_rate", t.learning_rate, 1e-9, 1.0)?;
        range("train.learning_rate_final", t.learning_rate_final, 0.0, 1.0)?;
        range("train.warmup_steps", t.warmup_steps, 0, 1_000_000)?;
        range("train.weight_decay", t.weight_decay, 0.0, 1.0)?;
        range("train.momentum", t.momentum, 0.0, 0.999)?;
        range("train.clip_norm", t.clip_norm, 1e-6, 1e6)?;
        range("train.value_weight", t.value_weight, 0.0, 100.0)?;
        range("train.search_value_share", t.search_value_share, 0.0, 1.0)?;
        if p.fast_simulations >= s.simulations && p.fast_simulations > 0 {
            let says = format!(
                "selfplay.fast_simulations = {} is not below search.simulations = {}: fast searches are the shorter ones",
                p.fast_simulations, s.simulations
            );
            return Err(RangeProblem { key: "selfplay.fast_simulations", says });
        }
        if n.precision == Precision::Bf16 && n.evaluator == EvaluatorKind::Burn {
            let says =
                "net.precision = \"bf16\" needs net.evaluator = \"fused\": burn computes in f32".into();
            return Err(RangeProblem { key: "net.precision", says });
        }
        self.arena.check()
    }
}

/// A key whose value is not permitted.
struct RangeProblem {
    key: &'static str,
    says: String,
}

/// `says` below the line of `source` that sets `key` (`section.name`), with carets under its value; `says` alone when no
/// line does.
pub fn show(source: &str, key: &str, says: &str) -> String {
    match point::find(source, key) {
        Some(span) => point(source, span, says),
        None => says.to_string(),
    }
}

/// Compares in the setting's own type: what rounds to an f32 bound is the bound.
fn range<T: PartialOrd + Display>(key: &'static str, value: T, low: T, high: T) -> Result<(), RangeProblem> {
    // written so that NaN fails
    if value >= low && value <= high {
        return Ok(());
    }
    Err(RangeProblem { key, says: format!("{key} = {value} is out of range: {low} to {high} is permitted") })
}

fn even(key: &'static str, value: usize) -> Result<(), RangeProblem> {
    if value.is_multiple_of(2) {
        return Ok(());
    }
    let says = format!("{key} = {value} is odd: games come in pairs, each opening with both colours");
    Err(RangeProblem { key, says })
}

/// The first line with more dots, or more brackets together with those before it, than any settings of ours or file
/// name: tables in tables, and brackets that toml skips after an error, are followed until the stack overflows.
fn too_deep(source: &str) -> Option<Range<usize>> {
    let (mut begin, mut brackets) = (0, 0);
    source.split_inclusive('\n').find_map(|line| {
        let start = begin;
        begin += line.len();
        brackets += line.matches(['[', '{']).count();
        let deep = brackets > MOST_BRACKETS || line.matches('.').count() > MOST_DOTS;
        deep.then(|| start..start + line.trim_end().len())
    })
}

/// The key and the value of `key=value` as a user writes it behind `--set`.
fn parse_set(set: &str) -> Result<(&str, toml::Value)> {
    let (key, text) = set
        .split_once('=')
        .map(|(key, text)| (key.trim(), text.trim()))
        .filter(|(key, _)| !key.is_empty())
        .ok_or_else(|| {
            wrong_set(
                set,
                "write it as key=value, e.g. --set search.simulations=64 or --set game.start=blocks",
            )
        })?;
    if too_deep(set).is_some() {
        return Err(wrong_set(set, TOO_DEEP));
    }
    // what is no TOML value is a text, so that --set game.id=phage needs no quotes
    let value = format!("x = {text}")
        .parse::<toml::Table>()
        .ok()
        .and_then(|mut table| table.remove("x"))
        .unwrap_or_else(|| toml::Value::String(text.to_string()));
    Ok((key, value))
}

fn wrong_set(set: &str, what: &str) -> Error {
    Error::Config(format!("--set {}: {}", shown(set), what.trim_end()))
}

/// The switches of a game in a list of `game.NAME=VALUE`, for commands that need no whole config.
pub fn game_settings(sets: &[String]) -> Result<Settings> {
    let mut settings = Settings::new();
    for set in sets {
        let (key, value) = parse_set(set)?;
        let name = key.strip_prefix("game.").filter(|name| !["", "id"].contains(name)).ok_or_else(|| {
            wrong_set(set, "only the game's own options can be set here, e.g. --set game.start=blocks")
        })?;
        settings.insert(name.to_string(), value);
    }
    Ok(settings)
}

/// Puts one `key=value` into `table` and returns the config that it then describes.
fn apply(table: &mut toml::Table, set: &str) -> Result<Config> {
    let wrong = |what: &str| wrong_set(set, what);
    let (key, value) = parse_set(set)?;
    let (sections, name) = key.rsplit_once('.').unwrap_or(("", key));
    let mut target = &mut *table;
    for section in sections.split('.').filter(|section| !section.is_empty()) {
        target = target
            .entry(section)
            .or_insert_with(|| toml::Value::Table(toml::Table::new()))
            .as_table_mut()
            .ok_or_else(|| wrong(&format!("{} is no section", quoted(section))))?;
    }
    target.insert(name.to_string(), value);
    table.clone().try_into().map_err(|e: toml::de::Error| wrong(&explained(&e)))
}

/// What toml says, and a word for whoever looks for the key of another device.
fn explained(error: &toml::de::Error) -> String {
    let text = error.message();
    let device = ["device", "gpu"].iter().any(|key| text.starts_with(&format!("unknown field `{key}`")));
    let more = if device { "; this build computes on the CPU only" } else { "" };
    format!("{text}{more}")
}

fn flatten(prefix: &str, value: &toml::Value, out: &mut Vec<(String, String)>) {
    match value {
        toml::Value::Table(table) => {
            for (key, value) in table {
                let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
                flatten(&path, value, out);
            }
        }
        // most settings are f32: not with the digits that only f64 shows
        toml::Value::Float(number) if (*number as f32) as f64 == *number => {
            out.push((prefix.to_string(), format!("{:?}", *number as f32)));
        }
        _ => out.push((prefix.to_string(), value.to_string())),
    }
}

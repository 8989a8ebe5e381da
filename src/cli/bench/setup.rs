//! The common setup of `bench net`, `search`, `train`, and `selfplay`: the game, the network, the threads.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::measure::{Measurement, Measuring};
use crate::any::{AnyGame, AnyState};
use crate::checkpoint::Checkpoint;
use crate::cli::flags::Device;
use crate::cli::print;
use crate::cli::subject::named;
use crate::config::limits::{MAX_BATCH, MAX_SIMULATIONS, MAX_THREADS};
use crate::config::{DeviceKind, EvaluatorKind, NetConfig, Precision, game_settings};
use crate::conformance::random_positions;
use crate::error::{Error, Result};
use crate::game::{GameIdentity, Rules, Settings};
use crate::net::device::Processor;
use crate::net::evaluator::SharedNet;
use crate::net::infer::CpuNet;
use crate::net::network::Network;
use crate::registry::Catalog;

const SEED: u64 = 1;
/// The default number of simulations per action.
pub(super) const SIMULATIONS: usize = 100;

/// The options of the setup.
#[derive(Args, Clone)]
#[command(next_help_heading = "Setup")]
pub(super) struct BenchSetup {
    /// Game id [default: the checkpoint's game, or connect-four]
    #[arg(long, value_name = "ID")]
    game: Option<String>,
    /// Game option, e.g. game.start=blocks; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Size of a network with random weights
    #[arg(long, value_name = "FILTERSxBLOCKS", default_value = "32x4")]
    net: NetSize,
    /// Use the network of this run, checkpoint, or exported file; selfplay
    /// also uses its settings, unless a flag overrides them
    #[arg(long, value_name = "PATH", conflicts_with = "net")]
    checkpoint: Option<PathBuf>,
    /// Simulations per action (search, selfplay) [default: 100]
    #[arg(long, value_name = "N")]
    pub simulations: Option<usize>,
    /// Number of threads
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub threads: usize,
    /// Batch size: positions per evaluation, games in flight per thread, or samples per step
    /// [default: 1 and 64 for net, 128 for selfplay, 256 for train]
    #[arg(long, value_name = "N")]
    pub batch: Option<usize>,
    /// Precision of the products in the network's tower
    /// [default: for net, all that this CPU supports; otherwise f32]
    #[arg(long, value_enum)]
    precision: Option<PrecisionArg>,
    #[command(flatten)]
    device: Device,
    #[command(flatten)]
    pub measuring: Measuring,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum PrecisionArg {
    F32,
    Bf16,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct NetSize {
    filters: usize,
    blocks: usize,
}

impl FromStr for NetSize {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<NetSize, String> {
        let (filters, blocks) = text.split_once('x').ok_or("write FILTERSxBLOCKS, e.g. 32x4")?;
        let number = |text: &str, low: usize, high: usize| match text.parse() {
            Ok(number) if (low..=high).contains(&number) => Ok(number),
            _ => {
                Err(format!("`{text}` is not in the range {low} to {high}; write FILTERSxBLOCKS, e.g. 32x4"))
            }
        };
        Ok(NetSize { filters: number(filters, 1, 512)?, blocks: number(blocks, 0, 40)? })
    }
}

/// Everything that a benchmark needs.
pub(super) struct Workbench {
    /// The rules.
    pub game: AnyGame,
    /// The identity of the rules.
    pub identity: GameIdentity,
    /// The network's settings.
    pub config: NetConfig,
    /// The checkpoint of the network, if one was named; see [`Workbench::network`].
    pub checkpoint: Option<Checkpoint>,
    /// The device that computes the network outside training.
    pub processor: Processor,
    /// The user's options.
    pub setup: BenchSetup,
}

impl BenchSetup {
    /// Makes everything that the benchmark needs.
    pub(super) fn bench(self, games: Catalog) -> Result<Workbench> {
        self.measuring.check()?;
        let within = |name: &str, value: usize, most: usize| {
            if (1..=most).contains(&value) {
                Ok(())
            } else {
                Err(Error::Config(format!("--{name} {value}: must be from 1 to {most}")))
            }
        };
        within("threads", self.threads, MAX_THREADS)?;
        within("simulations", self.simulations.unwrap_or(1), MAX_SIMULATIONS)?;
        within("batch", self.batch.unwrap_or(1), MAX_BATCH)?;
        let checkpoint = self.checkpoint.as_deref().map(Checkpoint::find).transpose()?;
        let trained = checkpoint.as_ref().map(|checkpoint| &checkpoint.manifest.game);
        let (game, mut settings) = match (&self.game, &trained) {
            (Some(game), _) => {
                let (id, options, _) = named(game, games)?;
                (id, options)
            }
            (None, Some(trained)) => (trained.id.clone(), Settings::new()),
            (None, None) => (default_game(games), Settings::new()),
        };
        settings.extend(game_settings(&self.set)?);
        // a later check names the options that differ from those of the checkpoint
        let trained = trained.filter(|trained| trained.id == game);
        for (name, value) in trained.into_iter().flat_map(|trained| &trained.options) {
            settings.entry(name.clone()).or_insert_with(|| value.clone());
        }
        let Rules { game, identity, .. } = games.open(&game, &settings)?;
        let mut config = self.network(&identity, checkpoint.as_ref())?;
        let processor = self.device.processor()?;
        config.device = processor.kind();
        if config.device != DeviceKind::Cpu && self.precision.is_some() {
            return Err(Error::Config(
                "--precision applies only to the CPU; a GPU has its own precision".into(),
            ));
        }
        Ok(Workbench { game, identity, config, checkpoint, processor, setup: self })
    }

    /// Returns the settings of the network, which comes from the checkpoint if there is one.
    fn network(&self, identity: &GameIdentity, checkpoint: Option<&Checkpoint>) -> Result<NetConfig> {
        let precision = match self.precision {
            None | Some(PrecisionArg::F32) => Precision::F32,
            Some(PrecisionArg::Bf16) => Precision::Bf16,
        };
        if let Some(instructions) = CpuNet::lacks(precision) {
            let error = format!("--precision {precision}: this CPU lacks {instructions} instructions");
            return Err(Error::Config(error));
        }
        let NetSize { filters, blocks } = self.net;
        let mut config = NetConfig { filters, blocks, ..NetConfig::default() };
        if let (Some(checkpoint), Some(path)) = (checkpoint, &self.checkpoint) {
            checkpoint.manifest.game.expect(identity, &path.display().to_string())?;
            config = checkpoint.manifest.net.clone();
        }
        if precision != Precision::F32 && config.evaluator == EvaluatorKind::Burn {
            return Err(Error::Config(format!(
                "--precision {precision}: this run has net.evaluator = \"burn\", which computes in f32"
            )));
        }
        config.precision = precision;
        Ok(config)
    }

    /// Prints measurements with their common fields.
    fn print(&self, measured: &mut [Measurement], about: &Value) -> Result<()> {
        for measurement in measured {
            let about = about.as_object().expect("names and values");
            for (name, value) in about.iter().filter(|(_, value)| !value.is_null()) {
                measurement.about.insert(name.clone(), value.clone());
            }
            measurement.about.insert("threads".into(), json!(self.threads));
            print(self.measuring.line(measurement))?;
        }
        Ok(())
    }
}

fn default_game(games: Catalog) -> String {
    let ids = games.ids();
    ids.iter().find(|id| *id == "connect-four").or(ids.first()).cloned().unwrap_or_default()
}

impl Workbench {
    /// Loads the network, or makes one with random weights.
    pub(super) fn network(&self) -> Result<Network> {
        match &self.checkpoint {
            Some(checkpoint) => checkpoint.network(),
            None => Ok(Network::new(&self.config, self.identity.shape, SEED)),
        }
    }

    /// Returns the network in the form that evaluators share.
    pub(super) fn shared(&self) -> Result<SharedNet> {
        self.shared_in(self.config.precision)
    }

    /// Returns the shared network in a precision that the CPU supports.
    pub(super) fn shared_in(&self, precision: Precision) -> Result<SharedNet> {
        let config = NetConfig { precision, ..self.config.clone() };
        SharedNet::on(&self.network()?, &config, &self.processor)
    }

    /// Returns the precisions to measure: all that the CPU supports, unless one was named.
    pub(super) fn precisions(&self) -> Vec<Precision> {
        match (self.setup.precision, self.config.evaluator, &self.processor) {
            (None, EvaluatorKind::Fused, Processor::Cpu) => CpuNet::precisions(),
            _ => vec![self.config.precision],
        }
    }

    /// Returns positions of random games, none of them final.
    pub(super) fn positions(&self, count: usize) -> Vec<AnyState> {
        random_positions(&self.game, count, SEED)
    }

    /// Returns the size of the network as `FILTERSxBLOCKS`.
    pub(super) fn net_text(&self) -> String {
        format!("{}x{}", self.config.filters, self.config.blocks)
    }

    /// Prints measurements with the fields `about`.
    pub(super) fn print<const N: usize>(&self, mut measured: [Measurement; N], about: Value) -> Result<()> {
        self.setup.print(&mut measured, &about)
    }

    /// Returns the precision as a setting.
    pub(super) fn precision(&self) -> Value {
        json!(self.config.precision)
    }
}

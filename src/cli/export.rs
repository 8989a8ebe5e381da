//! `petteia export`: writes a checkpoint as a single file.

use std::path::PathBuf;

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};

use super::engine::EngineArgs;
use super::inspect::identity_here;
use super::{own_name, print, refuse_existing, shell_word};
use crate::arena::agent::AgentSpec;
use crate::checkpoint::Checkpoint;
use crate::error::{Error, Result};
use crate::export::bot::Defaults;
use crate::export::{Format, export, export_bot};
use crate::registry::Catalog;

/// Write a trained network as a single file.
#[derive(Args)]
#[command(after_help = "\
Example:
  petteia export runs/phage --format bot --out phage-bot
  petteia export runs/caissa --format bot --out bot --codecup --time 30")]
pub struct Export {
    /// Run folder (its newest checkpoint), checkpoint folder or exported file
    #[arg(value_name = "RUN-OR-CHECKPOINT")]
    source: PathBuf,
    /// Output format
    #[arg(long, value_enum)]
    format: Format,
    /// File to write, which must not exist
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    #[command(flatten, next_help_heading = "What a bot does without arguments (its own flags override it)")]
    engine: EngineArgs,
}

impl ValueEnum for Format {
    fn value_variants<'a>() -> &'a [Format] {
        &[Format::Bot, Format::Safetensors, Format::Onnx]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let (name, help) = match self {
            Format::Bot => {
                ("bot", "A standalone program that plays; it speaks UGI, GTP and the CodeCup protocol")
            }
            Format::Safetensors => (
                "safetensors",
                "Weights with the manifest (game, encoding, network, training) in the header; usable as an agent",
            ),
            Format::Onnx => {
                ("onnx", "The network for other programs (such as ONNX Runtime), with the same metadata")
            }
        };
        Some(PossibleValue::new(name).help(help))
    }
}

impl Export {
    /// Writes the file.
    pub fn run(self, games: Catalog) -> Result<()> {
        refuse_existing(&self.out)?;
        let checkpoint = Checkpoint::find(&self.source).map_err(|error| self.explained(error))?;
        self.expect_known(&checkpoint, games)?;
        let defaults = self.engine.as_defaults()?;
        if defaults != Defaults::default() && self.format != Format::Bot {
            return Err(Error::Config(
                "--protocol, --gtp, --codecup, --time, --simulations, --hash and --threads say what a bot does: they are \
                 for --format bot"
                    .into(),
            ));
        }
        let manifest = &checkpoint.manifest;
        let size = match self.format {
            Format::Bot => export_bot(&checkpoint, &defaults, &self.out)?,
            format => export(&checkpoint, format, &self.out)?,
        };
        print(format_args!(
            "{}: {}, generation {}, step {}, {size} bytes",
            self.out.display(),
            manifest.game.id,
            manifest.generation,
            manifest.step
        ))?;
        self.print_use(&manifest.game.id)
    }

    /// Prints how to use the file.
    fn print_use(&self, id: &str) -> Result<()> {
        let file = self.out.display().to_string();
        let me = own_name();
        match self.format {
            Format::Bot => {
                let here = if file.contains(std::path::MAIN_SEPARATOR) { "" } else { "./" };
                let program = format!("{here}{file}");
                let program = shell_word(&program);
                print(format_args!(
                    "run it:           {program} speaks to programs; {program} --help says how"
                ))?;
                print(format_args!("play against it:  {me} play {id} --opponent {program}"))
            }
            Format::Safetensors => {
                print(format_args!("play against it:  {me} play {id} --opponent {}", shell_word(&file)))
            }
            Format::Onnx => Ok(()),
        }
    }

    /// Rejects a game that this program could not play with the exported file: one that it lacks, or has in another
    /// encoding.
    fn expect_known(&self, checkpoint: &Checkpoint, games: Catalog) -> Result<()> {
        let (game, place) = (&checkpoint.manifest.game, self.source.display());
        let here = identity_here(&game.id, &game.options, games).map_err(|error| {
            Error::Mismatch(format!("{place}: {error}; export it with the program that made it"))
        })?;
        game.expect(&here, &place.to_string())
    }

    /// A better error if the user wrote the run as an agent, with a suffix.
    fn explained(&self, error: Error) -> Error {
        match AgentSpec::parse(&self.source) {
            Ok(AgentSpec::Trained(run, ..)) if run != self.source => Error::Config(format!(
                "{}: an export has no number of simulations and keeps the precision of its run; write just {}",
                self.source.display(),
                run.display()
            )),
            _ => error,
        }
    }
}

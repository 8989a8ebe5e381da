//! `petteia export`: a checkpoint as one file.

use std::path::PathBuf;

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};

use super::inspect::identity_here;
use super::{print, refuse_existing};
use crate::arena::agent::AgentSpec;
use crate::checkpoint::Checkpoint;
use crate::error::{Error, Result};
use crate::export::{Format, export};
use crate::registry::Registry;

/// Write a trained network as one file.
#[derive(Args)]
#[command(after_help = "\
Example:
  petteia export runs/phage --format bot --out phage-bot")]
pub struct Export {
    /// Run folder (its newest checkpoint, with a gate its champion), checkpoint folder or exported file
    #[arg(value_name = "RUN-OR-CHECKPOINT")]
    source: PathBuf,
    /// What to write
    #[arg(long, value_enum)]
    format: Format,
    /// The file to write, which must not exist
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

impl ValueEnum for Format {
    fn value_variants<'a>() -> &'a [Format] {
        &[Format::Bot, Format::Safetensors, Format::Onnx]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let (name, help) = match self {
            Format::Bot => {
                ("bot", "A program that plays: runs alone, speaks UGI, GTP and the CodeCup jury's dialogue")
            }
            Format::Safetensors => (
                "safetensors",
                "Weights with the manifest (game, encoding, network, training) in the header; can be used as an agent",
            ),
            Format::Onnx => (
                "onnx",
                "The network's function for other programs (ONNX Runtime and the like), with the same metadata",
            ),
        };
        Some(PossibleValue::new(name).help(help))
    }
}

impl Export {
    /// Writes the file.
    pub fn run<R: Registry>(self) -> Result<()> {
        refuse_existing(&self.out)?;
        let checkpoint = Checkpoint::find(&self.source).map_err(|error| self.explained(error))?;
        self.expect_known::<R>(&checkpoint)?;
        let size = export(&checkpoint, self.format, &self.out)?;
        let manifest = &checkpoint.manifest;
        print(format_args!(
            "{}: {}, generation {}, step {}, {size} bytes",
            self.out.display(),
            manifest.game.id,
            manifest.generation,
            manifest.step
        ))
    }

    /// Refuses a game that this program would not play by the exported file: one that it lacks, or has in another
    /// encoding.
    fn expect_known<R: Registry>(&self, checkpoint: &Checkpoint) -> Result<()> {
        let (game, place) = (&checkpoint.manifest.game, self.source.display());
        let here = identity_here::<R>(&game.id, &game.options).map_err(|error| {
            Error::Mismatch(format!("{place}: {error}; export it with the program that made it"))
        })?;
        game.expect(&here, &place.to_string())
    }

    /// Who writes a run as one writes an agent means the run.
    fn explained(&self, error: Error) -> Error {
        match AgentSpec::parse(&self.source) {
            Ok(AgentSpec::Trained(run, ..)) if run != self.source => Error::Config(format!(
                "{}: an export has no simulations and the precision of its run; write just {}",
                self.source.display(),
                run.display()
            )),
            _ => error,
        }
    }
}

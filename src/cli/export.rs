//! `petteia export`: writes a trained network as a single file.

use std::env::consts::EXE_SUFFIX;
use std::path::{Path, PathBuf};

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};

use super::engine::EngineArgs;
use super::inspect::identity_here;
use super::subject::named;
use super::{own_name, path_word, print, refuse_existing};
use crate::any::Opened;
use crate::arena::levels::shipped_agent;
use crate::arena::spec::AgentSpec;
use crate::checkpoint::Checkpoint;
use crate::error::{Error, Result, did_you_mean};
use crate::export::bot::Defaults;
use crate::export::html::{self, Page};
use crate::export::{Format, export, export_bot};
use crate::game::{GameIdentity, Settings};
use crate::games::Games;
use crate::registry::Catalog;
use crate::run::is_run;
use crate::shipped::Shipped;

/// Write a trained network as a single file.
#[derive(Args)]
#[command(after_help = "\
Examples:
  petteia export runs/phage
  petteia export phage --format onnx
  petteia export my.game --format html
  petteia export runs/caissa --out bot --codecup --time 30")]
pub(super) struct Export {
    /// Run folder (its newest checkpoint), checkpoint folder, or exported file, or the id of a game (its shipped agent)
    #[arg(value_name = "RUN-OR-CHECKPOINT|GAME")]
    source: PathBuf,
    /// Output format [default: bot]
    #[arg(long, value_enum, default_value_t = BOT, hide_default_value = true)]
    format: ExportKind,
    /// File to write, which must not exist [default: GAME-bot, GAME.safetensors, GAME.onnx, or GAME.html, with the id
    /// of the game]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(
        flatten,
        next_help_heading = "Behavior of a bot without arguments (its own flags override it)"
    )]
    engine: EngineArgs,
}

/// The kind of file to write.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ExportKind {
    Network(Format),
    Page,
}

const BOT: ExportKind = ExportKind::Network(Format::Bot);

impl ValueEnum for ExportKind {
    fn value_variants<'a>() -> &'a [ExportKind] {
        const FORMATS: [ExportKind; 5] = [
            BOT,
            ExportKind::Network(Format::Safetensors),
            ExportKind::Network(Format::SafetensorsBf16),
            ExportKind::Network(Format::Onnx),
            ExportKind::Page,
        ];
        &FORMATS
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let (name, help) = match *self {
            BOT => ("bot", "A standalone program that plays; it speaks UGI, GTP, and the CodeCup protocol"),
            ExportKind::Network(Format::Onnx) => {
                ("onnx", "The network with its metadata, for other programs such as ONNX Runtime")
            }
            ExportKind::Network(Format::SafetensorsBf16) => (
                "safetensors-bf16",
                "The same with weights rounded to 16 bits (bf16), in about half the bytes",
            ),
            ExportKind::Network(_) => (
                "safetensors",
                "Weights with the manifest (game, encoding, network, training) in the header; usable as an agent",
            ),
            ExportKind::Page => {
                ("html", "A page in one file that plays in any browser, from a disk or a web host")
            }
        };
        Some(PossibleValue::new(name).help(help))
    }
}

impl Export {
    /// Writes the file.
    pub(super) fn run(self, games: Catalog) -> Result<()> {
        let defaults = self.engine.as_defaults()?;
        if defaults != Defaults::default() && self.format != BOT {
            return Err(Error::Config(
                "--protocol, --gtp, --codecup, --time, --simulations, --hash, and --threads set the behavior of a bot, \
                 so they apply only to --format bot"
                    .into(),
            ));
        }
        match self.format {
            ExportKind::Network(format) => self.network(format, &defaults, games),
            ExportKind::Page => self.page(games),
        }
    }

    /// Writes a trained network.
    fn network(&self, format: Format, defaults: &Defaults, games: Catalog) -> Result<()> {
        let checkpoint = self.checkpoint(games)?;
        expect_known(&checkpoint, &self.source, games)?;
        let manifest = &checkpoint.manifest;
        let out = self.free_file(&manifest.game.id)?;
        let size = match format {
            Format::Bot => export_bot(&checkpoint, defaults, &out)?,
            format => export(&checkpoint, format, &out)?,
        };
        print(format_args!(
            "{}: {}, generation {}, step {}, {size} bytes",
            out.display(),
            manifest.game.id,
            manifest.generation,
            manifest.step
        ))?;
        self.print_use(&out)
    }

    /// Writes a page for a game, with its shipped agent if there is one, or for a trained agent.
    fn page(&self, games: Catalog) -> Result<()> {
        let playable = playable(&self.source, games)?;
        let id = &playable.rules.identity.id;
        let out = self.free_file(id)?;
        let size = html::write(&playable.page(), &out)?;
        print(format_args!("{}: {id}, {}, {size} bytes", out.display(), playable.agent))?;
        self.print_use(&out)
    }

    /// Returns the checkpoint to write: the checkpoint at the given path, or the shipped agent of the game with the
    /// given id.
    fn checkpoint(&self, games: Catalog) -> Result<Checkpoint> {
        let id = self.source.to_str().filter(|word| games.names().iter().any(|id| id == word));
        match id {
            Some(id) => shipped_agent(&games.open(id, &Settings::new())?),
            None => Checkpoint::find(&self.source).map_err(|error| self.explained(error, games)),
        }
    }

    /// Returns the file to write, which does not exist.
    fn free_file(&self, id: &str) -> Result<PathBuf> {
        let usual = || match self.format {
            BOT => format!("{id}-bot{EXE_SUFFIX}"),
            ExportKind::Network(Format::Onnx) => format!("{id}.onnx"),
            ExportKind::Network(_) => format!("{id}.safetensors"),
            ExportKind::Page => format!("{id}.html"),
        };
        let out = self.out.clone().unwrap_or_else(|| usual().into());
        refuse_existing(&out)?;
        Ok(out)
    }

    /// Prints how to use the file.
    fn print_use(&self, out: &Path) -> Result<()> {
        let file = path_word(&out.display().to_string());
        let me = own_name();
        match self.format {
            BOT => {
                print(format_args!(
                    "run it:           {file} speaks to programs; {file} --help explains how"
                ))?;
                print(format_args!("play against it:  {me} play {file}"))
            }
            ExportKind::Network(Format::Onnx) => Ok(()),
            ExportKind::Network(_) => print(format_args!("play against it:  {me} play {file}")),
            ExportKind::Page => {
                print(format_args!("open it:          {file}, in a browser or on a web host"))
            }
        }
    }

    /// Returns a better error if the user gave an agent with a suffix, or the word `shipped`, instead of a run or a
    /// game.
    fn explained(&self, error: Error, games: Catalog) -> Error {
        match AgentSpec::parse(&self.source) {
            Ok(AgentSpec::Shipped(..)) => Error::Config(format!(
                "{} does not name a game, because each game has its own shipped agent; name one of {}",
                self.source.display(),
                games.names().join(", ")
            )),
            Ok(AgentSpec::Trained(run, ..)) if run != self.source => Error::Config(format!(
                "{}: an export has no number of simulations, and it keeps the precision of its run; write {} alone",
                self.source.display(),
                run.display()
            )),
            _ => self.corrected(error, games),
        }
    }

    /// Returns a better error if the user misspelled the id of a game.
    fn corrected(&self, error: Error, games: Catalog) -> Error {
        let (word, ids) = (self.source.to_string_lossy(), games.names());
        match did_you_mean(&word, ids.iter().map(String::as_str)) {
            hint if !hint.is_empty() && matches!(error, Error::Missing(_)) => {
                Error::Missing(format!("{word} is neither the id of a game nor a run{hint}"))
            }
            _ => error,
        }
    }
}

/// Rejects a game that this program could not play with the exported file, because it lacks the game or has it with
/// another encoding.
fn expect_known(checkpoint: &Checkpoint, source: &Path, games: Catalog) -> Result<()> {
    let (game, place) = (&checkpoint.manifest.game, source.display());
    let here = identity_here(&game.id, &game.options, games).map_err(|error| {
        Error::Mismatch(format!("{place}: {error}; export it with the program that trained it"))
    })?;
    game.expect(&here, &place.to_string())
}

/// The contents of a page: a game, and its trained agent if it has one.
pub(super) struct Playable {
    pub rules: Opened,
    checkpoint: Option<Checkpoint>,
    /// The agent's name, for people.
    agent: String,
    /// The levels of the agent, if it has any.
    levels: Option<Shipped>,
}

impl Playable {
    /// Returns the page.
    pub(super) fn page(&self) -> Page<'_> {
        Page {
            rules: &self.rules,
            checkpoint: self.checkpoint.as_ref(),
            agent: &self.agent,
            levels: self.levels.as_ref(),
        }
    }
}

/// Collects the contents of a page: a game with its shipped agent, if it has one, or a trained agent with its game.
pub(super) fn playable(source: &Path, games: Catalog) -> Result<Playable> {
    let (id, options, agent) = named(&source.to_string_lossy(), games)?;
    let rules = games.open(&id, &options)?;
    expect_in_pages(&rules)?;
    let Some(agent) = agent else {
        // the shipped agent of a small game is a perfect player, which needs no network
        let name = if AgentSpec::shipped(&rules).is_ok() { "shipped agent" } else { "no trained agent" };
        let (checkpoint, levels) = (shipped_agent(&rules).ok(), rules.shipped.levels.clone());
        return Ok(Playable { rules, checkpoint, agent: name.into(), levels });
    };
    let checkpoint = Checkpoint::find(Path::new(&agent))?;
    expect_known(&checkpoint, source, games)?;
    let run = source.file_name().filter(|_| is_run(source));
    let run = run.map_or_else(String::new, |run| format!(" of {}", run.display()));
    let name = format!("agent{run}, generation {}", checkpoint.manifest.generation);
    // the levels were measured with the shipped agent, so they do not apply to other agents
    Ok(Playable { rules, checkpoint: Some(checkpoint), agent: name, levels: None })
}

/// Refuses a game that the program inside a page does not have: a game in Rust that is not Petteia's.
fn expect_in_pages(rules: &Opened) -> Result<()> {
    let GameIdentity { id, options, .. } = &rules.identity;
    let here = Catalog::of::<Games>().open(id, options);
    if here.is_ok_and(|here| here.identity == rules.identity) {
        Ok(())
    } else {
        Err(Error::Config(format!(
            "{id}: a page can contain only Petteia's own games and games whose rules are a text"
        )))
    }
}

//! `petteia inspect`: describes a file or folder and checks that it is intact.
//!
//! [`kinds`] lists the kinds of files; a new kind needs a new entry there and a function that fills a [`Findings`]. A
//! report has problems and facts; the facts are printed one per line for people, or as one JSON object for programs. If
//! there are problems, the exit code is 1. Only [`repair`] writes anything.

mod network;
mod records;
mod repair;
mod run;
mod plain;
mod solved;

use std::fmt::Display;
use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Map, Value, json};

use super::help::with_own_name;
use super::text::{ACCENT, display_value, hanging, network_size, painted, terminal_width, wrapped};
use super::{print, refuse_other_devices};
use crate::checkpoint::MANIFEST;
use crate::config::{Ignored, Reading};
use crate::error::{Error, Result};
use crate::game::{GameIdentity, Settings};
use crate::registry::Catalog;
use crate::replay::store;
use crate::run::{Refused, SETTINGS};
use crate::storage;

/// Describe a file or folder and check that it is intact.
#[derive(Args)]
#[command(after_help = "\
Recognizes run folders, their generations of records, shards of records (including \
those set aside as damaged), sets of solved positions, checkpoints, exported networks, \
optimizer states, bots, saved matches and ladders, configs, and metrics. Hashes are verified, games are replayed, and \
networks are loaded. The exit code is 1 if there is a problem.

--repair sets aside the damaged parts of a run, and rebuilds what it can from the rest: \
shards from the files of workers, or by playing their games again. Nothing is deleted.

Examples:
  petteia inspect runs/phage
  petteia inspect runs/phage --repair
  petteia inspect phage.safetensors --json")]
pub(super) struct Inspect {
    /// File or folder that petteia wrote, of one of the kinds below, or a config
    #[arg(value_name = "PATH")]
    path: PathBuf,
    /// Repair a run that is not in training, as far as possible, and then inspect it
    #[arg(long)]
    repair: bool,
    /// Assume that the process that trained the run has ended; needed only in an object store, where petteia cannot
    /// tell
    #[arg(long, requires = "repair")]
    take_over: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// A kind of file or folder.
struct FileKind {
    name: &'static str,
    is: fn(&Path) -> bool,
    report: fn(&Path, &mut Findings, Catalog) -> Result<()>,
}

/// Returns the kinds in the order in which they are tried.
fn kinds() -> [FileKind; 14] {
    [
        FileKind { name: "run folder", is: run::is, report: run::report },
        FileKind { name: "checkpoint", is: network::is_checkpoint, report: network::checkpoint },
        FileKind { name: "records of a generation", is: records::is_generation, report: records::report },
        FileKind {
            name: "shard of records, set aside as damaged",
            is: store::is_set_aside,
            report: records::report,
        },
        FileKind { name: "set of solved positions", is: solved::is_set, report: solved::report },
        FileKind { name: "shard of records", is: records::is_shard, report: records::report },
        FileKind {
            name: "refused batch",
            is: Refused::is,
            report: |path, report, _| plain::refused(path, report),
        },
        FileKind { name: "network", is: network::is_file, report: network::file },
        FileKind {
            name: "optimizer state of a checkpoint",
            is: network::is_optimizer,
            report: network::optimizer,
        },
        FileKind {
            name: "metrics of a run",
            is: plain::is_metrics,
            report: |path, report, _| plain::metrics(path, report),
        },
        FileKind { name: "config", is: plain::is_config, report: plain::config },
        FileKind {
            name: "network in ONNX",
            is: network::is_onnx,
            report: |path, report, _| network::onnx(path, report),
        },
        FileKind {
            name: "match or ladder",
            is: plain::is_match,
            report: |path, report, _| plain::saved_match(path, report),
        },
        FileKind { name: "bot", is: network::is_bot, report: network::bot },
    ]
}

/// The facts and problems of a file or folder.
#[derive(Default)]
struct Findings {
    facts: Vec<(&'static str, Value)>,
    problems: Vec<String>,
}

impl Findings {
    fn fact(&mut self, name: &'static str, value: impl Into<Value>) {
        self.facts.push((name, value.into()));
    }

    fn problem(&mut self, problem: impl Display) {
        self.problems.push(problem.to_string());
    }

    /// Adds the settings that this program ignores, if there are any. Only a program that knows all settings of a run
    /// can resume it.
    fn ignored(&mut self, settings: &Reading) {
        if !settings.ignored.is_empty() {
            let ignored: Vec<String> = settings.ignored.iter().map(Ignored::to_string).collect();
            self.fact("settings of another version", ignored);
        }
    }

    /// Returns the value, or adds an error to the problems.
    fn checked<T>(&mut self, result: Result<T>) -> Option<T> {
        result.map_err(|error| self.problem(error)).ok()
    }

    /// Adds the game, and a problem if the game is different in this program.
    fn game(&mut self, game: &GameIdentity, place: &Path, games: Catalog) {
        self.fact("game", game.id.as_str());
        self.fact("options", json!(game.options));
        self.fact("encoding", game.encoding);
        self.fact("shape", json!(game.shape));
        let here = identity_here(&game.id, &game.options, games);
        self.checked(here.and_then(|here| game.expect(&here, &place.display().to_string())));
    }
}

/// Returns the identity of a game in this program.
pub(super) fn identity_here(id: &str, options: &Settings, games: Catalog) -> Result<GameIdentity> {
    Ok(games.open(id, options)?.identity)
}

impl Inspect {
    /// Identifies the path, checks it, and prints a report.
    pub(super) fn run(self, games: Catalog) -> Result<()> {
        refuse_other_devices()?;
        let Some(about) = storage::about(&self.path)? else {
            return Err(Error::Missing(format!("{} does not exist", self.path.display())));
        };
        if !about.is_file && !about.is_folder {
            return Err(Error::Data(format!("{} is neither a file nor a folder", self.path.display())));
        }
        let repaired =
            if self.repair { Some(repair::repair(&self.path, self.take_over, games)?) } else { None };
        let path = described(&self.path);
        let kind = kinds().into_iter().find(|kind| (kind.is)(&path)).ok_or_else(|| unknown(&path))?;
        let mut report = Findings::default();
        (kind.report)(&path, &mut report, games)?;
        report.fact("bytes", size(&path));
        if let Some(repaired) = repaired {
            repaired.report(&mut report, self.json)?;
        }
        let Findings { facts, problems } = report;
        let count = problems.len();
        if self.json {
            print_json(&path, kind.name, facts, problems)?
        } else {
            print_text(&path, kind.name, &facts, &problems)?
        }
        match count {
            0 => Ok(()),
            1 => Err(Error::Data(format!("{}: 1 problem, see above", path.display()))),
            _ => Err(Error::Data(format!("{}: {count} problems, see above", path.display()))),
        }
    }
}

/// Returns the path that a file describes: for a manifest its checkpoint, for a checksum its shard, and for any other
/// file the file itself.
fn described(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if path.ends_with(MANIFEST) => {
            if folder.as_os_str().is_empty() {
                PathBuf::from(".")
            } else {
                folder.to_path_buf()
            }
        }
        _ if path.extension().is_some_and(|extension| extension == "sha256") => {
            Some(path.with_extension("")).filter(|shard| storage::has(shard)).unwrap_or(path.to_path_buf())
        }
        _ => path.to_path_buf(),
    }
}

fn print_json(path: &Path, kind: &str, facts: Vec<(&str, Value)>, problems: Vec<String>) -> Result<()> {
    let mut object: Map<String, Value> =
        facts.into_iter().map(|(name, value)| (name.replace(' ', "_"), value)).collect();
    object.insert("path".into(), path.display().to_string().into());
    object.insert("kind".into(), kind.into());
    object.insert("problems".into(), problems.into());
    print(Value::Object(object))
}

fn print_text(path: &Path, kind: &str, facts: &[(&str, Value)], problems: &[String]) -> Result<()> {
    print(format_args!("{}: {}", path.display(), painted(kind, ACCENT)))?;
    let width = facts.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, value) in facts {
        let line = format!("  {name:<width$}  {}", fact_text(name, value));
        print(hanging(&line, width + 4, terminal_width()))?;
    }
    for problem in problems {
        print(wrapped(&with_own_name(format!("  problem: {problem}")), terminal_width()))?;
    }
    match problems.len() {
        0 => print("intact"),
        // the error states the number of problems
        _ => Ok(()),
    }
}

/// Formats a fact for people. Sizes are in their usual order, which the fields of JSON do not keep.
fn fact_text(name: &str, value: &Value) -> String {
    let mut rest = value.clone();
    let mut take = |key: &str| rest.as_object_mut().and_then(|fields| fields.remove(key)?.as_u64());
    let sizes = match name {
        "shape" => (|| {
            let (planes, height, width) = (take("planes")?, take("height")?, take("width")?);
            Some(format!("{planes} planes of {height}x{width}, {} actions", take("actions")?))
        })(),
        "network" => (|| Some(network_size(take("filters")? as usize, take("blocks")? as usize)))(),
        _ => None,
    };
    match (sizes, rest.as_object().is_some_and(|fields| fields.is_empty())) {
        (None, _) => display_value(value),
        (Some(sizes), true) => sizes,
        (Some(sizes), false) => format!("{sizes}, {}", display_value(&rest)),
    }
}

/// Returns the size of a file, or of everything in a folder, in bytes.
fn size(path: &Path) -> u64 {
    match storage::about(path) {
        Ok(Some(about)) if about.is_folder => {
            storage::files_below(path).unwrap_or_default().into_iter().map(|(_, length)| length).sum()
        }
        about => about.ok().flatten().map_or(0, |about| about.length),
    }
}

/// Returns the error for a path of unknown kind; the error describes what can be recognized.
fn unknown(path: &Path) -> Error {
    let place = path.display();
    if let Some(run) = path.parent().filter(|folder| run::is(folder)) {
        return Error::Data(format!("{place} is part of a run; inspect {}", run.display()));
    }
    if storage::has_folder(path) {
        let inside = match storage::list(path) {
            Ok(inside) => inside,
            Err(error) => return error,
        };
        let runs = inside.into_iter().filter(|path| run::is(path));
        let runs: Vec<String> = runs.map(|path| path.display().to_string()).collect();
        let inside =
            if runs.is_empty() { String::new() } else { format!("; runs in it: {}", runs.join(", ")) };
        return Error::Data(format!(
            "{place} is a folder, but not a run (no {SETTINGS}), a checkpoint (no {MANIFEST}), or a generation of \
             records (no shard-0000.jsonl.zst ...){inside}"
        ));
    }
    let mut first = [0; 8];
    let read = storage::open(path).ok().and_then(|mut file| file.read(&mut first).ok()).unwrap_or(0);
    let description = match &first[..read] {
        [] => "it is empty",
        [0x28, 0xb5, 0x2f, 0xfd, ..] => "it is compressed with zstd, but does not have the name of a shard",
        [0x1f, 0x8b, ..] => "it is compressed with gzip",
        [b'P', b'K', 3, 4, ..] => "it is a zip archive",
        [0x7f, b'E', b'L', b'F', ..] => "it is a program",
        [b'{' | b'[', ..] => "it looks like JSON",
        bytes if bytes.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace()) => {
            "it looks like text"
        }
        _ => "it is binary",
    };
    Error::Data(format!("petteia does not recognize the file {place}: {description} ({} bytes)", size(path)))
}

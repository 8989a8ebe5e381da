//! `petteia inspect`: what a file or folder is, and whether it is whole.
//!
//! [`kinds`] says what there is; one more kind of file is one more line there and a function that fills a [`Report`].
//! A report has facts, for people one a line and for programs one JSON object, and problems: with any the exit code
//! is 1. Nothing is written.

mod network;
mod records;
mod run;
mod text;

use std::fmt::Display;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Map, Value, json};

use super::board::{ACCENT, hanging, painted, terminal_width, wrapped};
use super::{print, refuse_other_devices};
use crate::checkpoint::MANIFEST;
use crate::config::{Ignored, Reading};
use crate::error::{Error, Result};
use crate::game::{Game, GameIdentity, Rules, Settings};
use crate::registry::{Job, Registry};
use crate::replay::store;
use crate::run::SETTINGS;

/// Say what a file or folder is, and check that it is whole.
#[derive(Args)]
#[command(after_help = "\
It knows run folders, generations of records in them, shards of records (also \
those set aside as damaged), checkpoints, exported networks, optimizer states, \
configs and metrics. Hashes are compared, games are played again by the rules, and \
networks are loaded. The exit code is 1 when something is wrong.

Examples:
  petteia inspect runs/phage
  petteia inspect phage.safetensors --json")]
pub struct Inspect {
    /// Any file or folder that petteia wrote, or a config
    #[arg(value_name = "PATH")]
    path: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// A kind of file or folder.
struct Kind {
    name: &'static str,
    is: fn(&Path) -> bool,
    report: fn(&Path, &mut Report) -> Result<()>,
}

/// The first whose `is` holds is what a path is.
fn kinds<R: Registry>() -> [Kind; 12] {
    [
        Kind { name: "run folder", is: run::is, report: run::report::<R> },
        Kind { name: "checkpoint", is: network::is_checkpoint, report: network::checkpoint::<R> },
        Kind { name: "records of a generation", is: records::is_generation, report: records::report::<R> },
        Kind {
            name: "shard of records, set aside as damaged",
            is: store::is_set_aside,
            report: records::report::<R>,
        },
        Kind { name: "shard of records", is: records::is_shard, report: records::report::<R> },
        Kind { name: "network", is: network::is_file, report: network::file::<R> },
        Kind {
            name: "optimizer state of a checkpoint",
            is: network::is_optimizer,
            report: network::optimizer::<R>,
        },
        Kind { name: "metrics of a run", is: text::is_metrics, report: text::metrics },
        Kind { name: "config", is: text::is_config, report: text::config::<R> },
        Kind { name: "network in ONNX", is: network::is_onnx, report: network::onnx },
        Kind { name: "match", is: text::is_match, report: text::saved_match },
        Kind { name: "bot", is: network::is_bot, report: network::bot::<R> },
    ]
}

/// What is known of a file or folder.
#[derive(Default)]
struct Report {
    facts: Vec<(&'static str, Value)>,
    problems: Vec<String>,
}

impl Report {
    fn fact(&mut self, name: &'static str, value: impl Into<Value>) {
        self.facts.push((name, value.into()));
    }

    fn problem(&mut self, what: impl Display) {
        self.problems.push(what.to_string());
    }

    /// The settings that this program passes over, if there are any. Whoever resumes the run must know them all.
    fn ignored(&mut self, settings: &Reading) {
        if !settings.ignored.is_empty() {
            let ignored: Vec<String> = settings.ignored.iter().map(Ignored::to_string).collect();
            self.fact("settings of another version", ignored);
        }
    }

    /// The value, or a problem.
    fn checked<T>(&mut self, result: Result<T>) -> Option<T> {
        result.map_err(|error| self.problem(error)).ok()
    }

    /// What the game is, and whether this program has the same.
    fn game<R: Registry>(&mut self, found: &GameIdentity, place: &Path) {
        self.fact("game", found.id.as_str());
        self.fact("options", json!(found.options));
        self.fact("encoding", found.encoding);
        self.fact("shape", json!(found.shape));
        let here = identity_here::<R>(&found.id, &found.options);
        self.checked(here.and_then(|here| found.expect(&here, &place.display().to_string())));
    }
}

/// A game as this program knows it.
pub(super) fn identity_here<R: Registry>(id: &str, options: &Settings) -> Result<GameIdentity> {
    struct Here;
    impl Job for Here {
        type Output = GameIdentity;
        fn run<G: Game>(self, rules: Rules<G>) -> GameIdentity {
            rules.identity
        }
    }
    R::with_game(id, options, Here)
}

impl Inspect {
    /// Finds out what the path is, checks it, and prints what is known.
    pub fn run<R: Registry>(self) -> Result<()> {
        refuse_other_devices()?;
        if !self.path.exists() {
            return Err(Error::Missing(format!("{} does not exist", self.path.display())));
        }
        if !self.path.is_file() && !self.path.is_dir() {
            return Err(Error::Data(format!("{} is neither a file nor a folder", self.path.display())));
        }
        let path = described(&self.path);
        let kind = kinds::<R>().into_iter().find(|kind| (kind.is)(&path)).ok_or_else(|| unknown(&path))?;
        let mut report = Report::default();
        (kind.report)(&path, &mut report)?;
        report.fact("bytes", size(&path));
        let Report { facts, problems } = report;
        let count = problems.len();
        match self.json {
            true => print_json(&path, kind.name, facts, problems)?,
            false => print_text(&path, kind.name, &facts, &problems)?,
        }
        match count {
            0 => Ok(()),
            1 => Err(Error::Data(format!("{}: 1 problem, see above", path.display()))),
            _ => Err(Error::Data(format!("{}: {count} problems, see above", path.display()))),
        }
    }
}

/// What a file that only describes another one is about: a manifest its checkpoint, a checksum its shard.
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
            Some(path.with_extension("")).filter(|shard| shard.exists()).unwrap_or(path.to_path_buf())
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
        let line = format!("  {name:<width$}  {}", words(value));
        print(hanging(&line, width + 4, terminal_width()))?;
    }
    for problem in problems {
        print(wrapped(&format!("  problem: {problem}"), terminal_width()))?;
    }
    Ok(())
}

/// A value for people.
fn words(value: &Value) -> String {
    let join = |parts: Vec<String>| if parts.is_empty() { "none".into() } else { parts.join(", ") };
    match value {
        Value::Null => "none".into(),
        Value::String(text) => text.clone(),
        Value::Array(values) => join(values.iter().map(words).collect()),
        Value::Object(fields) => {
            join(fields.iter().map(|(name, value)| format!("{name} {}", words(value))).collect())
        }
        other => other.to_string(),
    }
}

/// The bytes of a file, or of everything in a folder.
fn size(path: &Path) -> u64 {
    // a link counts as itself: what it leads to may lead back here
    match fs::symlink_metadata(path) {
        Ok(about) if about.is_dir() => {
            fs::read_dir(path).into_iter().flatten().flatten().map(|entry| size(&entry.path())).sum()
        }
        about => about.map_or(0, |about| about.len()),
    }
}

/// Says of a path that is no kind of ours what can be seen.
fn unknown(path: &Path) -> Error {
    let place = path.display();
    if let Some(run) = path.parent().filter(|folder| run::is(folder)) {
        return Error::Data(format!("{place} is a part of a run: inspect {}", run.display()));
    }
    if path.is_dir() {
        let mut runs: Vec<String> = fs::read_dir(path)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| run::is(path))
            .map(|path| path.display().to_string())
            .collect();
        runs.sort();
        let inside =
            if runs.is_empty() { String::new() } else { format!("; runs in it: {}", runs.join(", ")) };
        return Error::Data(format!(
            "{place} is a folder, but no run (with {SETTINGS}), no checkpoint (with {MANIFEST}) and no generation of \
             records (with shard-0000.jsonl.zst ...){inside}"
        ));
    }
    let mut first = [0; 8];
    let read = File::open(path).and_then(|mut file| file.read(&mut first)).unwrap_or(0);
    let looks = match &first[..read] {
        [] => "it is empty",
        [0x28, 0xb5, 0x2f, 0xfd, ..] => "it is compressed with zstd, but not named as a shard is",
        [0x1f, 0x8b, ..] => "it is compressed with gzip",
        [b'P', b'K', 3, 4, ..] => "it is a zip archive",
        [0x7f, b'E', b'L', b'F', ..] => "it is a program",
        [b'{' | b'[', ..] => "it looks like JSON",
        bytes if bytes.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace()) => {
            "it looks like text"
        }
        _ => "it is binary",
    };
    Error::Data(format!("{place} is no file that petteia knows: {looks} ({} bytes)", size(path)))
}

//! Configs, metrics, and saved matches: text files without a hash.
//!
//! A config is valid if every key is known and every value is in range, and if the game accepts its options. Metrics
//! are valid if a run could have written every line.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use serde_json::{Value, json};

use super::{Findings, identity_here};
use crate::arena::journal::{JournalLine, LONGEST_LINE};
use crate::cli::progress::verdict;
use crate::config::{Config, Reading};
use crate::error::{Error, Result};
use crate::registry::Catalog;
use crate::run::{self, METRICS, Reader, Refused};
use crate::storage;

/// The maximum length of the header of a match, in bytes.
const LONGEST_HEADER: u64 = 1 << 16;

/// Counts unreadable lines; the first few are reported individually, and the rest as a number.
struct UnreadableLines<'a> {
    path: &'a Path,
    count: usize,
}

impl<'a> UnreadableLines<'a> {
    /// The number of lines that are reported individually.
    const NAMED: usize = 20;

    fn new(path: &'a Path) -> Self {
        UnreadableLines { path, count: 0 }
    }

    fn add(&mut self, report: &mut Findings, number: usize, error: &serde_json::Error) {
        self.count += 1;
        if self.count <= Self::NAMED {
            report.problem(format!("{}: line {number}: {error}", self.path.display()));
        }
    }

    fn end(self, report: &mut Findings) {
        if self.count > Self::NAMED {
            report.problem(format!("{}: {} more such lines", self.path.display(), self.count - Self::NAMED));
        }
    }
}

pub(super) fn is_config(path: &Path) -> bool {
    storage::has_file(path) && path.extension().is_some_and(|extension| extension == "toml")
}

pub(super) fn is_metrics(path: &Path) -> bool {
    storage::has_file(path) && path.ends_with(METRICS)
}

pub(super) fn is_match(path: &Path) -> bool {
    storage::has_file(path) && match_header(path).is_some()
}

/// Returns the first line of a file that `petteia arena --save` or `petteia ladder --save` wrote.
fn match_header(path: &Path) -> Option<Value> {
    let mut first = String::new();
    let file = BufReader::new(storage::open(path).ok()?);
    file.take(LONGEST_HEADER).read_line(&mut first).ok()?;
    let header: Value = serde_json::from_str(&first).ok()?;
    (header["agents"].is_array() && header["opening_plies"].is_u64()).then_some(header)
}

/// Reports the games of a match or a ladder without replaying them; resuming the match or ladder replays them.
pub(super) fn saved_match(path: &Path, report: &mut Findings) -> Result<()> {
    let header = match_header(path).unwrap_or_default();
    for name in ["game", "agents", "seed", "opening_plies"] {
        report.fact(name, header[name].clone());
    }
    let is_ladder = header["pairing"] != Value::Null;
    if is_ladder {
        report.fact("pairing", header["pairing"].clone());
    }
    let (mut scores, mut unreadable) = ([0; 3], UnreadableLines::new(path));
    for (line, number) in storage::lines(path, LONGEST_LINE)?.zip(1..).skip(1) {
        match serde_json::from_slice::<JournalLine>(&line?) {
            Ok(pair) => pair.games.iter().map(|game| game.score).for_each(|score| {
                scores[match score {
                    1.0 => 0,
                    0.0 => 2,
                    _ => 1,
                }] += 1
            }),
            Err(error) => unreadable.add(report, number, &error),
        }
    }
    unreadable.end(report);
    report.fact("games", scores.iter().sum::<usize>());
    if !is_ladder {
        report.fact("first agent", json!({"wins": scores[0], "draws": scores[1], "losses": scores[2]}));
    }
    Ok(())
}

/// Reports the batch of a refused training step.
pub(super) fn refused(path: &Path, report: &mut Findings) -> Result<()> {
    let (about, parts) = Refused::read(path)?;
    report.fact("generation", about.generation);
    report.fact("step", about.step);
    report.fact("seed", about.seed);
    report.fact("refused because", about.reason);
    report.fact("rows", about.rows);
    let sizes: Vec<String> = parts.iter().map(|part| format!("{} {:?}", part.name, part.sizes)).collect();
    report.fact("parts", sizes);
    for part in parts.iter().filter(|part| part.bad > 0) {
        report.problem(format!("{} numbers in {} are not finite", part.bad, part.name));
    }
    Ok(())
}

/// Reads the settings of a run, except those unknown to this program.
pub(super) fn read_settings(path: &Path) -> Result<Reading> {
    let text = storage::read_text(path, "a config")?;
    let read = Config::read(&path.display().to_string(), &text);
    read.map_err(|error| Error::Data(format!("not a Petteia config: {error}")))
}

/// Reads the settings in a file; all of them must be known.
pub(super) fn read_config(path: &Path) -> Result<Config> {
    let text = storage::read_text(path, "a config")?;
    let place = path.display().to_string();
    let parsed = match run::run_of(path) {
        Some(_) => Config::parse_kept(&place, &text, &[]),
        None => Config::parse(&place, &text, &[]),
    };
    parsed.map_err(|error| Error::Data(format!("not a Petteia config: {error}")))
}

/// Reports a config: its game, and the settings that differ from the defaults.
pub(super) fn config(path: &Path, report: &mut Findings, games: Catalog) -> Result<()> {
    let config = read_config(path)?;
    let game = identity_here(&config.game.id, &config.game.options, games)?;
    report.game(&game, path, games);
    report.fact("network", json!(config.net));
    report.fact("seed", config.seed);
    let changed = config.differences(&config.defaults());
    let describe = |[key, here, default]: [String; 3]| format!("{key} {here} (default {default})");
    report.fact("changed settings", changed.into_iter().map(describe).collect::<Vec<_>>());
    report.fact("checked", "every key and its range");
    Ok(())
}

/// Reports the metrics of a run: the number of lines, the last losses, and the last evaluation.
pub(super) fn metrics(path: &Path, report: &mut Findings) -> Result<()> {
    let mut reader = Reader::of_file(path);
    reader.read(u64::MAX)?;
    let is_cut = reader.is_cut();
    let before = reader.history().lines;
    let history = reader.finish();
    let run::Unreadable { count, named } = &history.unreadable;
    for (line, reason) in named {
        report.problem(format!("{}: line {line}: {reason}", path.display()));
    }
    if *count > named.len() {
        report.problem(format!("{}: {} more such lines", path.display(), count - named.len()));
    }
    if is_cut && history.lines == before {
        report.problem(format!("{}: line {}: the line is cut off", path.display(), before + 1));
    }
    report.fact("lines of metrics", history.lines - count);
    if let Some((_, line)) = history.training.newest() {
        let rounded = |loss: Option<f64>| loss.map(|loss| (loss * 1000.0).round() / 1000.0);
        let losses = json!({"policy": rounded(line.policy_loss), "value": rounded(line.value_loss)});
        report.fact("last losses", losses);
    }
    if let Some((_, opponent, result)) = &history.evaluation {
        report.fact("last evaluation", format!("against {opponent}: {}", verdict(result)));
    }
    Ok(())
}

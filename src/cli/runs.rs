//! `petteia runs`: lists the runs in a folder.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use clap::Args;
use serde_json::{Map, Value, json};

use super::progress::{cpu_duration, duration};
use super::table::{Column, Table};
use super::text::{display_value, terminal_width};
use super::{print, warn};
use crate::arena::elo::{bounds, signed};
use crate::checkpoint;
use crate::checkpoint::RUNS;
use crate::error::{Error, Result};
use crate::report::RunNumbers;
use crate::run::work::roster::{Activity, roster};
use crate::run::{self, History, METRICS, Times};
use crate::storage;

/// The columns of the table.
const KEYS: [&str; 7] = ["run", "game", "generations", "state", "written", "strength", "opponent"];
/// The headings of the table, each with its priority for omission on a narrow terminal: the column with the greatest
/// number is omitted first, and columns with 0 are never omitted.
const HEADINGS: [(&str, u8); 7] = [
    ("run", 0),
    ("game", 0),
    ("generations", 0),
    ("state", 0),
    ("written", 2),
    ("above the first", 1),
    ("above its opponent", 3),
];

/// The headings for the processes that work on a run.
const WORKERS: [(&str, u8); 7] = [
    ("worker", 0),
    ("shards", 1),
    ("games", 4),
    ("judged", 3),
    ("positions/s", 0),
    ("last sign", 0),
    ("wrong", 0),
];

/// The headings for the parts of a run.
const TIMES: [(&str, u8); 3] = [("part", 0), ("by the clock", 0), ("CPU time", 0)];

/// List the runs in a folder: game, generation, state, strength.
#[derive(Args)]
#[command(after_help = "\
A run is running if a process is training it, finished if all of its generations are trained and the last one is \
rated, and interrupted otherwise; `petteia train --run RUN` resumes an interrupted run. Strength is in Elo with 95 % \
bounds. The newest rated generation is compared with the first one and with the opponent of the evaluations. The \
comparison with the first generation uses all games of the run except the final games between the two generations. \
The comparison with the opponent uses all games of the run or, if the run has no ratings, the games of the newest \
evaluation. For a single run, the command also lists the processes that work on it, with the amount and the speed of \
their work in the two newest generations, and the wall-clock time and CPU time that each part of the run took.

Examples:
  petteia runs
  petteia runs runs/phage
  petteia runs experiments --json")]
pub(super) struct Runs {
    /// Folder with the runs, or a single run
    #[arg(value_name = "FOLDER", default_value = RUNS)]
    folder: PathBuf,
    /// Print one JSON object per run
    #[arg(long)]
    json: bool,
}

impl Runs {
    /// Prints the list.
    pub(super) fn run(self) -> Result<()> {
        let place = self.folder.display();
        if !storage::is_folder(&self.folder)? {
            return Err(Error::Missing(format!(
                "{place} is not a folder; name the folder that has the runs"
            )));
        }
        let mut folders: Vec<PathBuf> =
            storage::list(&self.folder)?.into_iter().filter(|folder| run::is_run(folder)).collect();
        // the folder of a single run is accepted, too
        let is_single = folders.is_empty() && run::has_run(&self.folder)?;
        if is_single {
            folders.push(self.folder.clone());
        }
        folders.sort();
        if folders.is_empty() {
            return Err(Error::Missing(format!(
                "{place} has no runs; `petteia train GAME` starts one in runs"
            )));
        }
        let mut rows: Vec<Map<String, Value>> = folders.iter().map(|folder| about(folder)).collect();
        let workers = if is_single { roster(&folders[0])? } else { Vec::new() };
        let times = if is_single { Some(times(&folders[0])?) } else { None };
        if let Some([clock, cpu]) = &times {
            rows[0].insert("workers".into(), json!(workers));
            rows[0].insert("seconds".into(), by_part(clock.as_ref()));
            rows[0].insert("cpu_seconds".into(), by_part(cpu.as_ref()));
        }
        if self.json {
            return rows.into_iter().try_for_each(|row| print(Value::Object(row)));
        }
        print_table(&HEADINGS, rows.iter().map(cells).collect())?;
        if !workers.is_empty() {
            print("")?;
            print_table(&WORKERS, workers.iter().map(worker_cells).collect())?;
        }
        if let Some([Some(clock), cpu]) = &times
            && clock.whole() > 0.0
        {
            print("")?;
            print_table(&TIMES, time_rows(clock, cpu.as_ref()))?;
        }
        let problems = rows.iter().filter_map(|row| row.get("problem"));
        problems.for_each(|problem| warn(display_value(problem)));
        Ok(())
    }
}

/// Returns how long the parts of the run in `folder` took, in wall-clock time and, if the metrics have it, in CPU time.
fn times(folder: &Path) -> Result<[Option<Times>; 2]> {
    let history = History::of(folder)?;
    Ok([Some(history.times()), history.cpu_times()])
}

/// Returns the times by the names of their parts.
fn by_part(times: Option<&Times>) -> Value {
    let pair = |(name, seconds): (&'static str, f64)| (name, json!(seconds));
    times.map_or(Value::Null, |times| times.parts().into_iter().map(pair).collect())
}

/// Returns a row for each part that took any time, and a row for all parts together.
fn time_rows(clock: &Times, cpu: Option<&Times>) -> Vec<Vec<String>> {
    let whole = |times: &Times| times.parts().into_iter().chain([("all", times.whole())]).collect::<Vec<_>>();
    let cpu = cpu.map(whole);
    let rows = whole(clock).into_iter().enumerate().filter(|(_, (_, seconds))| *seconds > 0.0);
    let row = |(at, (name, seconds)): (usize, (&str, f64))| {
        let cpu = cpu.as_ref().map_or("unknown".into(), |parts| cpu_duration(parts[at].1));
        vec![name.to_string(), duration(seconds), cpu]
    };
    rows.map(row).collect()
}

/// Prints a table with these headings, each with its priority for omission.
fn print_table(headings: &[(&'static str, u8)], rows: Vec<Vec<String>>) -> Result<()> {
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let columns = headings.iter().enumerate();
    let columns = columns.map(|(at, (heading, spare))| Column::text(heading, width(at), *spare)).collect();
    let table = Table::new(columns, terminal_width());
    print(table.head())?;
    rows.iter().try_for_each(|row| print(table.line(row)))
}

/// Returns the row of a process that works on a run.
fn worker_cells(worker: &Activity) -> Vec<String> {
    let number = |value: usize| if value == 0 { String::new() } else { value.to_string() };
    let wrong = [(worker.failed, "failed"), (worker.rejected, "rejected")];
    let wrong =
        wrong.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
    let wrong: Vec<String> = worker.is_silent.then(|| "silent".into()).into_iter().chain(wrong).collect();
    vec![
        format!("{} {}", worker.machine, worker.process),
        number(worker.shards),
        number(worker.games),
        number(worker.judged),
        worker.positions_per_second.map_or(String::new(), |speed| format!("{speed:.0}")),
        worker.seconds_ago.map_or(String::new(), |seconds| format!("{} ago", duration(seconds))),
        wrong.join(", "),
    ]
}

/// Collects the facts about a run; a part that cannot be read is null, with the reason as `problem`.
fn about(folder: &Path) -> Map<String, Value> {
    let mut row = Map::new();
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
    row.insert("run".into(), json!(name.unwrap_or_else(|| folder.display().to_string())));
    let mut problem = None;
    match run::reading_of(folder) {
        Ok(reading) => {
            row.insert("game".into(), json!(reading.config.game.id));
            row.insert("planned".into(), json!(reading.config.train.generations));
        }
        Err(error) => problem = Some(error),
    }
    match checkpoint::latest(folder) {
        Ok(newest) => {
            row.insert("generations".into(), json!(newest.map_or(0, |newest| newest.manifest.generation)));
        }
        Err(error) => problem = problem.or(Some(error)),
    }
    match run::state_of(folder) {
        Ok(state) => row.insert("state".into(), json!(state.id())),
        Err(error) => {
            problem = problem.or(Some(error));
            row.insert("state".into(), json!("damaged"))
        }
    };
    let written = storage::about(&folder.join(METRICS)).ok().flatten().and_then(|file| file.modified);
    if let Some(age) = written.and_then(|written| SystemTime::now().duration_since(written).ok()) {
        row.insert("seconds_ago".into(), json!(age.as_secs()));
    }
    // a run without a finished generation has no numbers yet
    if let Ok(numbers) = RunNumbers::read(folder) {
        if let Some(rated) = numbers.ratings.last().filter(|rated| rated.generation > 1) {
            row.insert("strength".into(), json!({"elo": rated.elo, "low": rated.low, "high": rated.high}));
        }
        if let Some((opponent, [elo, low, high])) = above_opponent(&numbers) {
            row.insert("opponent".into(), json!({"agent": opponent, "elo": elo, "low": low, "high": high}));
        }
    }
    if let Some(problem) = problem {
        row.insert("problem".into(), json!(problem.to_string()));
    }
    row
}

/// Returns how much stronger the newest rated generation is than the opponent of the evaluations, from all games of the
/// run. In a run without ratings, only the newest evaluation counts.
fn above_opponent(numbers: &RunNumbers) -> Option<(String, [Option<f64>; 3])> {
    let rated = numbers.ratings.last().and_then(|rated| {
        let rating = numbers.history.rating(&numbers.config.arena.opponent, rated.generation)?;
        let (opponent, by) = rating.above_opponent?;
        Some((opponent, [Some(by.elo), by.low, by.high]))
    });
    rated.or_else(|| {
        let last =
            numbers.evaluations().into_iter().filter_map(|(opponent, all)| Some((opponent, *all.last()?)));
        let (opponent, result) = last.max_by_key(|(_, result)| result.generation)?;
        Some((opponent, [Some(result.elo), result.low, result.high]))
    })
}

/// Returns the row of a run in the table.
fn cells(row: &Map<String, Value>) -> Vec<String> {
    let text = |key: &str| row.get(key).map(display_value).unwrap_or_default();
    let elo = |strength: &Value| {
        let [elo, low, high] = ["elo", "low", "high"].map(|key| strength[key].as_f64());
        elo.map(|elo| format!("{} ({})", signed(elo), bounds(low, high))).unwrap_or_default()
    };
    let cell = |key: &&str| match *key {
        "generations" if row.contains_key("planned") => {
            format!("{} of {}", text("generations"), text("planned"))
        }
        "written" => match row.get("seconds_ago").and_then(Value::as_f64) {
            Some(seconds) => format!("{} ago", duration(seconds)),
            None => String::new(),
        },
        "strength" => row.get("strength").map(elo).unwrap_or_default(),
        "opponent" => match row.get("opponent") {
            Some(opponent) => format!("{}: {}", display_value(&opponent["agent"]), elo(opponent)),
            None => String::new(),
        },
        key => text(key),
    };
    KEYS.iter().map(cell).collect()
}

//! A run's results as one HTML page: `petteia report`.
//!
//! Input: the folders of one or more runs of a game. Output: the text of a self-contained, printable page with inline
//! SVG, no script, and a light and a dark style. Every picture also comes as a table. The page only shows what the runs
//! have written; anything that a folder lacks is left out. `numbers` reads a run, `chart` draws charts, `games` shows
//! recorded games, `ladder` shows a ladder of the run's generations, `page` is the frame, and `ascii` makes a page
//! independent of the charset that a host declares.

pub(crate) mod ascii;
pub mod chart;
mod games;
mod ladder;
mod numbers;
pub mod page;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;

use maud::{Markup, html};

use self::chart::{Bars, Chart, Series};
pub use self::ladder::LadderReport;
pub use self::numbers::RunNumbers;
use crate::any::Opened;
use crate::error::{Error, Result};
use crate::game::Game;
use crate::run::{Health, RatedGeneration, SelfplayLine, Thinned, Times, TrainLine};

/// A measure of each run, shown as a chart.
struct ChartMeasure {
    title: &'static str,
    about: &'static str,
    unit: &'static str,
    /// The lines of the chart, by generation: the run's own numbers first, then the numbers to compare them with.
    lines: &'static [(&'static str, LineNumber)],
}

/// The kind of line in the metrics that contains a number, and a function that takes the number from the line.
enum LineNumber {
    Training(fn(&TrainLine) -> Option<f64>),
    Health(fn(&Health) -> Option<f64>),
}

impl LineNumber {
    fn of(&self, run: &RunNumbers) -> Vec<(f64, f64)> {
        fn points<T>(of: &Thinned<T>, number: fn(&T) -> Option<f64>) -> Vec<(f64, f64)> {
            of.iter().filter_map(|(generation, line)| Some((generation as f64, number(line)?))).collect()
        }
        match self {
            LineNumber::Training(number) => points(&run.history.training, *number),
            LineNumber::Health(number) => points(&run.history.health, *number),
        }
    }
}

/// The size of a page, in characters, above which its games are shown in fewer diagrams.
const GAMES: usize = 370_000;

use LineNumber::{Health as OfHealth, Training as OfTraining};

/// The measures that are shown exactly as in the metrics.
const MEASURES: [ChartMeasure; 7] = [
    ChartMeasure {
        title: "Policy loss",
        about: "Cross entropy between the network's policy and the search's, in nats. The loss cannot fall below the \
                floor, which is the entropy of the search's policy.",
        unit: "nats",
        lines: &[
            ("in training", OfTraining(|line| line.policy_loss)),
            ("floor", OfTraining(|line| line.policy_floor)),
            ("on new games", OfHealth(|health| Some(health.fresh?.policy_loss))),
        ],
    },
    ChartMeasure {
        title: "Value loss",
        about: "Cross entropy between the predicted and the actual result, in nats; on new games, it is measured \
                before the network is trained on them. A constant is the best prediction that is the same for every \
                position. A rise of the loss may be harmless, because games between better players are closer.",
        unit: "nats",
        lines: &[
            ("in training", OfTraining(|line| line.value_loss)),
            ("on new games", OfHealth(|health| Some(health.fresh?.value_loss))),
            ("a constant", OfHealth(|health| Some(health.fresh?.value_constant))),
        ],
    },
    ChartMeasure {
        title: "Calibration",
        about: "How far off the network's expected scores are on average, in points of a game's score, on new games \
                and on the games in its window; 0 is perfect.",
        unit: "points",
        lines: &[
            ("on new games", OfHealth(|health| Some(health.fresh?.calibration))),
            ("in its window", OfHealth(|health| Some(health.seen.calibration))),
        ],
    },
    ChartMeasure {
        title: "Entropy of the policy",
        about: "How undecided policies are, in nats: the network's, the search's, and that of a player who knows only \
                the rules.",
        unit: "nats",
        lines: &[
            ("the network", OfHealth(|health| Some(health.fresh?.policy_entropy))),
            ("the search", OfHealth(|health| Some(health.fresh?.policy_floor))),
            ("equal chances", OfHealth(|health| Some(health.fresh?.policy_uniform))),
        ],
    },
    ChartMeasure {
        title: "What the search still teaches",
        about: "The mean divergence of the search's policy from the network's in new games, in nats. If it is near 0, \
                more games from this search would teach the network nothing.",
        unit: "nats",
        lines: &[("surprise", OfHealth(|health| health.surprise))],
    },
    ChartMeasure {
        title: "Duplicates in the window",
        about: "The share of positions in the replay window that repeat another position in it.",
        unit: "share",
        lines: &[("duplicates", OfHealth(|health| Some(health.duplicates)))],
    },
    ChartMeasure {
        title: "Length of games",
        about: "The mean number of actions in a self-play game.",
        unit: "actions",
        lines: &[("length", OfHealth(|health| Some(health.length)))],
    },
];

/// Returns the page about these runs of one game, named after the first run.
///
/// # Errors
/// If the runs are of different games, or one of them has nothing to show.
pub fn report(rules: &Opened, runs: &[RunNumbers], ladder: Option<&LadderReport>) -> Result<String> {
    for run in runs {
        if run.config.game.id != rules.identity.id || run.config.game.options != rules.identity.options {
            return Err(Error::Config(format!(
                "{} is a run of {}, and the first run is one of {}: a report compares runs of one game with the same \
                    options",
                run.folder.display(),
                run.config.game.id,
                rules.identity.id
            )));
        }
    }
    let names: Vec<&str> = runs.iter().map(|run| &*run.name).collect();
    let game = &rules.game;
    let title = format!("{}: {}", game.about().title, names.join(", "));
    let compared = runs.len() > 1;
    let numbers = html! {
        h1 { (game.about().title) ": " (names.join(", ")) }
        @for run in runs { (summary(run, compared)) }
        (charts(runs))
    };
    let room = GAMES.saturating_sub(numbers.0.len()) / runs.len().max(1);
    let body = html! {
        (numbers)
        @if let Some(ladder) = ladder { (ladder.shown()) }
        @for run in runs {
            @let shown = games::shown(rules, run, room);
            @if !shown.is_empty() {
                h2 { "Games of generation " (run.generations) @if compared { " of " (run.name) } }
                p { (games::ABOUT) }
                @for game in shown { (game) }
            }
        }
        h2 { "Settings" }
        p { "The settings that differ from the defaults." }
        div.wide { (settings(runs)) }
    };
    Ok(page::page(&title, &body))
}

/// Returns the curves of these runs.
pub fn charts(runs: &[RunNumbers]) -> Markup {
    let every = runs.iter().map(RunNumbers::every).max().unwrap_or(1);
    html! {
        h2 { "What it learned" }
        @if every > 1 {
            p.why {
                "Because there are many generations, the charts and their tables show only one generation in " (every)
                    " and the newest; "
                code { "metrics.jsonl" } " has all of them."
            }
        }
        div.charts {
            (strength(runs).figure())
            (against(runs).figure())
            @for measure in &MEASURES { (measure_chart(runs, measure).figure()) }
            (scores(runs).figure())
            @for run in runs { (endings(run, runs.len() > 1).figure()) }
        }
        h2 { "Where the time went" }
        div.charts {
            (speed(runs).figure())
            (time(runs).figure())
            @if let Some(bars) = cpu_time(runs) { (bars.figure()) }
        }
    }
}

/// Returns a summary of a run in a few lines, with its signs.
fn summary(run: &RunNumbers, has_name: bool) -> Markup {
    let history = &run.history;
    html! {
        @if has_name { h2 { (run.name) } }
        p.facts {
            (run.state()) ". " (history.played.games) " games, " (history.played.positions) " positions"
            @if let Some((_, line)) = history.training.newest() { ", " (line.step) " training steps" }
            ". A network of " (run.config.net.filters) " filters and " (run.config.net.blocks) " blocks, "
            (run.config.search.simulations) " simulations per action, seed " (run.config.seed) "."
        }
        @match history.unreadable.count {
            0 => {}
            1 => p.why { "A line of " code { "metrics.jsonl" } " is damaged and left out." }
            lines => p.why { (lines) " lines of " code { "metrics.jsonl" } " are damaged and left out." }
        }
        @if !history.signs.is_empty() {
            h3 { "What the run noticed" }
            @if history.earlier_signs > 0 {
                p { "Only the newest entries are shown; the log has " (history.earlier_signs) " more." }
            }
            ul.signs { @for (generation, sign) in &history.signs { li { b {
                "Generation " (generation) ": " } (sign) } } }
        }
    }
}

/// Returns the series of a kind of number, one for each run. The name of a series includes the run's name only if there
/// are several runs.
fn series(
    runs: &[RunNumbers],
    label: &str,
    style: usize,
    points: impl Fn(&RunNumbers) -> Vec<(f64, f64)>,
) -> Vec<Series> {
    let of = |(index, run): (usize, &RunNumbers)| {
        let (name, color, line) = match (runs.len(), label) {
            (1, "") => (run.name.clone(), style, 0),
            (1, label) => (label.to_string(), style, 0),
            (_, "") => (run.name.clone(), index, 0),
            (_, label) => (format!("{}, {label}", run.name), index, style),
        };
        Series { name, color, line, points: points(run), band: Vec::new() }
    };
    runs.iter().enumerate().map(of).filter(|series| !series.points.is_empty()).collect()
}

fn measure_chart(runs: &[RunNumbers], measure: &ChartMeasure) -> Chart {
    let lines = measure.lines.iter().enumerate();
    let series = lines.flat_map(|(style, (label, number))| {
        let label = if measure.lines.len() == 1 { "" } else { label };
        series(runs, label, style, |run| number.of(run))
    });
    Chart::by_generation(measure.title, measure.about, measure.unit, series.collect())
}

/// Returns a series of differences with their bounds.
fn banded(name: String, color: usize, line: usize, results: &[RatedGeneration]) -> Series {
    Series {
        name,
        color,
        line,
        points: results.iter().map(|r| (r.generation as f64, r.elo)).collect(),
        band: results.iter().map(|r| (r.generation as f64, r.low, r.high)).collect(),
    }
}

fn strength(runs: &[RunNumbers]) -> Chart {
    let rated = runs.iter().enumerate().filter(|(_, run)| !run.ratings.is_empty());
    let series = rated.map(|(color, run)| banded(run.name.clone(), color, 0, &run.ratings)).collect();
    let about = "Elo above the run's first rated generation, as a match between the two would show it, with 95 % \
                 bounds. The estimate uses all games of the run between its generations and against the evaluation's \
                 opponent. This chart does not compare runs with each other: each run begins at 0.";
    Chart::by_generation("Strength", about, "Elo", series)
}

fn against(runs: &[RunNumbers]) -> Chart {
    let mut all = Vec::new();
    for (index, run) in runs.iter().enumerate() {
        for (number, (opponent, results)) in run.evaluations().into_iter().enumerate() {
            let (name, color) = match runs.len() {
                1 => (opponent, number),
                _ => (format!("{} against {opponent}", run.name), index),
            };
            all.push(banded(name, color, number, &results));
        }
    }
    let about = "Elo against the evaluation's opponent, from the games of each generation alone, with 95 % bounds. A \
                 bound that these games do not determine reaches the edge of the picture.";
    Chart::by_generation("Against its opponent", about, "Elo", all)
}

fn scores(runs: &[RunNumbers]) -> Chart {
    let first = series(runs, "first player's score", 0, |run| run.played(|games| games.first_score()));
    let draws = series(runs, "draws", 1, |run| run.played(|games| games.draws()));
    let about =
        "The first player's mean score in self-play (a win counts 1, a draw ½), and the share of draws.";
    Chart::by_generation("Is it balanced?", about, "share", first.into_iter().chain(draws).collect())
}

fn endings(run: &RunNumbers, has_name: bool) -> Chart {
    let endings: BTreeMap<String, Vec<(f64, f64)>> = run.endings();
    let lines = endings.into_iter().enumerate().map(|(color, (name, points))| {
        let name = if name.is_empty() { "no reason given".into() } else { name };
        Series { name, color, line: 0, points, band: Vec::new() }
    });
    let title = if has_name { format!("How games end: {}", run.name) } else { "How games end".into() };
    Chart::by_generation(
        title,
        "The share of self-play games that ended in each way.",
        "share",
        lines.collect(),
    )
}

/// Returns the chart of the speed: per second of CPU time if all runs have recorded their CPU time, which can be
/// compared between runs; otherwise, per second of wall-clock time.
fn speed(runs: &[RunNumbers]) -> Chart {
    let knows_cpu =
        |run: &RunNumbers| run.history.selfplay.iter().all(|(_, line)| line.cpu_seconds.is_some());
    let (second, unit, seconds): (_, _, fn(&SelfplayLine) -> Option<f64>) = if runs.iter().all(knows_cpu) {
        ("CPU second", "positions/CPU s", |line| line.cpu_seconds)
    } else {
        ("second", "positions/s", |line| line.seconds)
    };
    let about = format!(
        "Self-play positions per {second}. Later generations may search longer and play against better defenses."
    );
    Chart::by_generation("Speed of self-play", &about, unit, series(runs, "", 0, |run| run.speed(seconds)))
}

fn time(runs: &[RunNumbers]) -> Bars {
    let about = "Wall-clock seconds of each part, over all sessions of the run.";
    let bars = runs.iter().map(|run| (run.name.clone(), parts(&run.history.times()))).collect();
    Bars { title: "Time".into(), about: about.into(), unit: "s".into(), bars }
}

/// Returns the CPU time of each part for the runs that recorded it; `None` if no run did.
fn cpu_time(runs: &[RunNumbers]) -> Option<Bars> {
    let about = "CPU seconds of each part, in all processes that worked on it; wall-clock time also counts the work of \
        other programs.";
    let known = runs.iter().filter_map(|run| Some((run.name.clone(), parts(&run.history.cpu_times()?))));
    let bars: Vec<_> = known.collect();
    (!bars.is_empty()).then(|| Bars { title: "CPU time".into(), about: about.into(), unit: "s".into(), bars })
}

/// Returns the parts that took any time.
fn parts(times: &Times) -> Vec<(&'static str, f64)> {
    times.parts().into_iter().filter(|(_, seconds)| *seconds > 0.0).collect()
}

/// Returns one row for each setting in which a run differs from the defaults.
fn settings(runs: &[RunNumbers]) -> Markup {
    let mut rows: BTreeMap<String, (String, Vec<Option<String>>)> = BTreeMap::new();
    for (index, run) in runs.iter().enumerate() {
        for [key, default, value] in run.config.defaults().differences(&run.config) {
            let row = rows.entry(key).or_insert_with(|| (default, vec![None; runs.len()]));
            row.1[index] = Some(value);
        }
    }
    html! {
        table {
            thead { tr { th scope="col" { "setting" } th scope="col" { "default" } @for run in runs { th scope="col" {
                (run.name) } } } }
            tbody {
                @for (key, (default, values)) in &rows {
                    tr {
                        td { code { (key) } }
                        td { (default) }
                        @for value in values { td { (value.as_ref().unwrap_or(default)) } }
                    }
                }
            }
        }
    }
}

/// Reads the runs in these folders.
///
/// # Errors
/// If a folder does not contain a run that has begun.
pub fn read(folders: &[impl AsRef<Path>]) -> Result<Vec<RunNumbers>> {
    let mut runs =
        folders.iter().map(|folder| RunNumbers::read(folder.as_ref())).collect::<Result<Vec<_>>>()?;
    numbers::tell_apart(&mut runs);
    Ok(runs)
}

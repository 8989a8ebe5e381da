//! Summarizes a run's metrics in memory that does not grow with the run: sums, the newest lines, and a sample of the
//! older ones.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;

use super::health::Health;
use super::ladder::{Games, RatedGeneration, Rating};
use super::lines::{
    EvaluationLine, LONGEST_LINE, Line, METRICS, Played, Scored, SelfplayLine, TrainLine, result_of,
};
use super::signs::Learning;
use super::stopwatch::Times;
use super::thinned::Thinned;
use crate::arena::MatchResult;
use crate::error::Result;
use crate::storage::{Found, Tail};

/// The largest number of unreadable lines that are listed by number.
const NAMED: usize = 20;
/// The number of newest signs that are kept.
const SIGNS: usize = 100;
/// The largest number of the evaluation's opponents that are counted separately.
const OPPONENTS: usize = 8;
/// The largest number of kinds of endings that are counted separately.
const ENDINGS: usize = 32;
/// The number of newest generations whose times are kept.
const TIMED: usize = 3;

/// Lines that could not be read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Unreadable {
    /// The number of unreadable lines.
    pub count: usize,
    /// The first unreadable lines: the number of each, counted from 1, and its error.
    pub named: Vec<(usize, String)>,
}

/// A summary of a run's metrics, including those of the generation in progress.
///
/// If there are several lines about the same thing, the last one counts. Numbers by generation are [`Thinned`] here;
/// the file keeps all numbers.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// The number of lines, including unreadable ones.
    pub lines: usize,
    /// Lines that could not be read and are otherwise ignored.
    pub unreadable: Unreadable,
    /// The newest generation with self-play games; 0 if there is none.
    pub newest: usize,
    /// The self-play of each generation.
    pub selfplay: Thinned<SelfplayLine>,
    /// The last training steps of each generation.
    pub training: Thinned<TrainLine>,
    /// Measurements of what each generation has learned.
    pub health: Thinned<Health>,
    /// How much stronger each generation is than each opponent of the evaluation, based only on the games of that
    /// evaluation.
    pub evaluations: BTreeMap<String, Thinned<RatedGeneration>>,
    /// The self-play games of all generations.
    pub played: Played,
    /// The newest signs that the run has shown, oldest first, with their generations.
    pub signs: VecDeque<(usize, String)>,
    /// The number of earlier signs, which are no longer kept.
    pub earlier_signs: usize,
    /// The generation, opponent, and result of the newest evaluation.
    pub evaluation: Option<(usize, String, MatchResult)>,
    /// The games by which generations are rated.
    pub(in crate::run) games: Games,
    /// The measurements that signs depend on.
    pub(in crate::run) learning: Learning,
    /// The newest line about self-play, and the newest about training.
    pub(in crate::run) last_selfplay: Option<SelfplayLine>,
    pub(in crate::run) last_training: Option<TrainLine>,
    /// Whether the last line is about training.
    pub(in crate::run) is_training: bool,
    /// The time of each part of the newest generations, in seconds.
    pub(in crate::run) timed: BTreeMap<usize, BTreeMap<TimedPart, Option<f64>>>,
    /// The times of all lines except the newest training line, by the clock and in CPU time. Each training line gives
    /// the time of its generation so far, so only the last line of each generation is added.
    times: Times,
    cpu_times: Times,
    /// Whether a line with a time lacks its CPU time.
    lacks_cpu: bool,
}

/// The parts of a generation that are timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::run) enum TimedPart {
    Selfplay,
    Training,
    Health,
    Evaluation,
    Rating,
}

impl History {
    /// Reads the metrics of the run in `folder`; the history is empty if there are none yet.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn of(folder: &Path) -> Result<History> {
        let mut reader = Reader::new(folder);
        reader.read(u64::MAX)?;
        Ok(reader.finish())
    }

    /// Adds a line, which is given without its line end. An unreadable line is counted.
    pub fn add(&mut self, text: &[u8]) {
        self.lines += 1;
        match Line::read(text) {
            Ok(Some(line)) => self.take_in(line, text),
            Ok(None) => self.is_training = false,
            Err(reason) => self.refuse(reason),
        }
    }

    fn refuse(&mut self, reason: String) {
        self.unreadable.count += 1;
        if self.unreadable.named.len() < NAMED {
            self.unreadable.named.push((self.lines, reason));
        }
    }

    fn take_in(&mut self, line: Line<Scored>, text: &[u8]) {
        self.is_training = matches!(line, Line::Train(_));
        match line {
            Line::Selfplay(line) => self.add_selfplay(line),
            Line::Train(line) => {
                self.time(line.generation, TimedPart::Training, Some(line.seconds));
                self.lacks_cpu |= line.cpu_seconds.is_none();
                // each training line gives the time spent so far on training its generation
                let before = self.last_training.replace(line.clone());
                if let Some(before) = before.filter(|before| before.generation != line.generation) {
                    self.times.training += before.seconds;
                    self.cpu_times.training += before.cpu_seconds.unwrap_or(0.0);
                }
                self.training.add(line.generation, line);
            }
            Line::Health(line) => {
                let generation = line.health.generation;
                self.time(generation, TimedPart::Health, Some(line.seconds));
                for sign in line.signs {
                    if self.signs.len() == SIGNS {
                        self.signs.pop_front();
                        self.earlier_signs += 1;
                    }
                    self.signs.push_back((generation, sign));
                }
                // the endings are in the generation's self-play line
                let health = Health { endings: BTreeMap::new(), ..line.health };
                self.learning.add(health.clone());
                self.health.add(generation, health);
            }
            Line::Evaluation(line) => self.add_evaluation(line, text),
            Line::Ladder(line) => {
                self.time(line.generation, TimedPart::Rating, Some(line.seconds));
                self.times.rating += line.seconds;
                self.cpu_times.rating += self.cpu(line.cpu_seconds);
                self.games.ladder(line);
            }
        }
    }

    fn add_selfplay(&mut self, mut line: SelfplayLine) {
        self.newest = self.newest.max(line.generation);
        self.time(line.generation, TimedPart::Selfplay, line.seconds);
        // if there is no wall-clock time, ignore the CPU time, too
        let cpu = if line.seconds.is_some() { self.cpu(line.cpu_seconds) } else { 0.0 };
        for (times, seconds) in [(&mut self.times, line.seconds.unwrap_or(0.0)), (&mut self.cpu_times, cpu)] {
            *(if line.bootstrap { &mut times.bootstrap } else { &mut times.selfplay }) += seconds;
        }
        self.times.window += line.window_seconds;
        self.cpu_times.window += self.cpu(line.window_cpu_seconds);
        let Played { games, positions, plies, first, second, draw } = line.played();
        let sums = &mut self.played;
        let all = [
            (&mut sums.games, games),
            (&mut sums.positions, positions),
            (&mut sums.plies, plies),
            (&mut sums.first, first),
            (&mut sums.second, second),
            (&mut sums.draw, draw),
        ];
        all.into_iter().for_each(|(sum, count)| *sum = sum.saturating_add(count));
        self.last_selfplay = Some(line.clone());
        while line.endings.len() > ENDINGS {
            line.endings.pop_last();
        }
        self.selfplay.add(line.generation, line);
    }

    fn add_evaluation(&mut self, line: EvaluationLine<Scored>, text: &[u8]) {
        let generation = line.generation;
        self.time(generation, TimedPart::Evaluation, Some(line.seconds));
        self.times.evaluation += line.seconds;
        self.cpu_times.evaluation += self.cpu(line.cpu_seconds);
        let Scored { elo, elo_low: low, elo_high: high, .. } = line.result;
        // if one side won all games, there is only one bound
        if let Some(elo) = elo.or(low).or(high)
            && (self.evaluations.contains_key(&line.opponent) || self.evaluations.len() < OPPONENTS)
        {
            let ratings = self.evaluations.entry(line.opponent.clone()).or_default();
            ratings.add(generation, RatedGeneration { generation, elo, low, high });
        }
        if let Some(result) = result_of(text) {
            self.evaluation = Some((generation, line.opponent.clone(), result));
        }
        self.games.evaluation(line);
    }

    fn time(&mut self, generation: usize, part: TimedPart, seconds: Option<f64>) {
        self.timed.entry(generation).or_default().insert(part, seconds);
        while self.timed.len() > TIMED {
            self.timed.pop_first();
        }
    }

    /// Returns the time of each part of the run, according to the lines.
    pub fn times(&self) -> Times {
        let newest = self.last_training.as_ref().map_or(0.0, |line| line.seconds);
        Times { training: self.times.training + newest, ..self.times }
    }

    /// Returns the CPU time of each part; `None` if a line lacks it, as lines of earlier versions do.
    pub(crate) fn cpu_times(&self) -> Option<Times> {
        let newest = self.last_training.as_ref().and_then(|line| line.cpu_seconds).unwrap_or(0.0);
        let times = Times { training: self.cpu_times.training + newest, ..self.cpu_times };
        (!self.lacks_cpu && self.lines > 0).then_some(times)
    }

    /// Returns the CPU seconds of the newest generation's games and training; `None` if `generation` is not the newest.
    pub(in crate::run) fn cpu_seconds_of(&self, generation: usize) -> Option<f64> {
        let games = self.last_selfplay.as_ref().filter(|line| line.generation == generation)?;
        let steps = self.last_training.as_ref().filter(|line| line.generation == generation)?;
        Some(games.cpu_seconds? + games.window_cpu_seconds? + steps.cpu_seconds?)
    }

    /// Returns the CPU seconds of a line, and notes whether it lacks them.
    fn cpu(&mut self, seconds: Option<f64>) -> f64 {
        self.lacks_cpu |= seconds.is_none();
        seconds.unwrap_or(0.0)
    }

    /// Returns how much stronger the newest generations are than the first one rated together with them, based on all
    /// games between them.
    pub fn ratings(&self, opponent: &str) -> Vec<RatedGeneration> {
        self.games.ratings(opponent)
    }

    /// Returns the rating of one of the newest generations; `None` if it was not rated.
    pub fn rating(&self, opponent: &str, generation: usize) -> Option<Rating> {
        self.games.rating(opponent, generation)
    }

    /// Returns the number of lines that [`History::ratings`] depends on. The ratings change only if this number does.
    pub(crate) fn rated_lines(&self) -> usize {
        self.games.lines()
    }
}

/// Reads the metrics of a run that may be in training. Each call reads only what was added since the last call.
#[derive(Debug)]
pub struct Reader {
    tail: Tail,
    history: History,
}

impl Reader {
    /// Makes a reader of the metrics of the run in `folder`; nothing is read yet.
    pub fn new(folder: &Path) -> Reader {
        Reader::of_file(&folder.join(METRICS))
    }

    /// Makes a reader of metrics in a file with any name.
    pub(crate) fn of_file(path: &Path) -> Reader {
        Reader { tail: Tail::new(path, LONGEST_LINE), history: History::default() }
    }

    /// Reads at most about `most` more bytes, and returns whether it reached the end of the file. If the file was
    /// replaced or changed, the reader starts over.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read(&mut self, most: u64) -> Result<bool> {
        let history = &mut self.history;
        self.tail.read(most, &mut |found| match found {
            Found::Anew => *history = History::default(),
            Found::Line(line) => history.add(line),
            Found::TooLong => {
                history.lines += 1;
                history.refuse(format!("it is longer than the {LONGEST_LINE} bytes that a line may have"));
            }
        })
    }

    /// Returns the history read so far, including a last line that lacks only its line end.
    pub fn finish(mut self) -> History {
        if let Ok(Some(_)) = Line::read(self.tail.rest()) {
            self.history.add(self.tail.rest());
        }
        self.history
    }

    /// Returns the history read so far.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// Returns the number of bytes read.
    pub fn position(&self) -> u64 {
        self.tail.position()
    }

    /// Returns whether the file ends without a line end: its last line is being written, or the process that wrote it
    /// was killed.
    pub(crate) fn is_cut(&self) -> bool {
        self.tail.is_cut()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn history(lines: &[Value]) -> History {
        let mut history = History::default();
        lines.iter().for_each(|line| history.add(line.to_string().as_bytes()));
        history
    }

    /// Makes the lines of a generation as a run writes them.
    fn generation(number: usize) -> Vec<Value> {
        let health = Health { generation: number, length: 30.0, ..Health::default() };
        let mut health = json!(health);
        health["kind"] = "health".into();
        health["signs"] = json!(["it gets worse"]);
        let met = json!([{"generation": number / 2 + 1, "wins": 3, "draws": 2, "losses": 1, "pairs": [0, 1, 1, 1, 0]}]);
        vec![
            json!({"kind": "selfplay", "generation": number, "games": 4, "positions": 40, "first": 3, "draw": 1,
                "endings": {"mate": 4}, "seconds": 2, "cpu_seconds": 4, "window_seconds": 0.5,
                    "window_cpu_seconds": 0.25}),
            json!({"kind": "train", "generation": number, "step": 10 * number - 5, "policy_loss": 2.0, "seconds": 1,
                "cpu_seconds": 2}),
            json!({"kind": "train", "generation": number, "step": 10 * number, "policy_loss": 1.0, "seconds": 3,
                "cpu_seconds": 6}),
            health,
            json!({"kind": "evaluation", "generation": number, "player": number, "opponent": "random",
                "result": {"elo": 100.0, "elo_low": 50.0, "elo_high": null, "pairs": [0, 0, 1, 2, 0]}, "seconds": 1,
                    "cpu_seconds": 2}),
            json!({"kind": "ladder", "generation": number, "matches": if number > 1 { met } else { json!([]) },
                "seconds": 4, "cpu_seconds": 8}),
        ]
    }

    #[test]
    fn sums_count_every_generation_once() {
        let lines: Vec<Value> = (1..=3).flat_map(generation).collect();
        let history = history(&lines);
        assert_eq!((history.lines, history.unreadable.count, history.newest), (18, 0, 3));
        assert_eq!((history.played.games, history.played.positions, history.played.first), (12, 120, 9));
        let times = history.times();
        assert_eq!((times.selfplay, times.window, times.training), (6.0, 1.5, 9.0));
        assert_eq!((times.evaluation, times.rating), (3.0, 12.0));
        let cpu = history.cpu_times().unwrap();
        assert_eq!((cpu.selfplay, cpu.window, cpu.training), (12.0, 0.75, 18.0));
        assert_eq!((cpu.evaluation, cpu.rating, cpu.whole()), (6.0, 24.0, 60.75));
        assert_eq!(history.cpu_seconds_of(3), Some(10.25));
        let steps: Vec<_> =
            history.training.iter().map(|(number, line)| (number, line.step, line.policy_loss)).collect();
        assert_eq!(steps, [(1, 10, Some(1.0)), (2, 20, Some(1.0)), (3, 30, Some(1.0))]);
        assert_eq!(history.evaluations["random"].newest().unwrap().1.low, Some(50.0));
        assert_eq!(history.signs.len(), 3);
    }

    #[test]
    fn cpu_time_is_unknown_as_soon_as_a_line_lacks_it() {
        for kind in ["selfplay", "train", "evaluation", "ladder"] {
            let mut lines: Vec<Value> = (1..=2).flat_map(generation).collect();
            assert!(history(&lines).cpu_times().is_some());
            let last = lines.iter_mut().rfind(|line| line["kind"] == kind).unwrap();
            last.as_object_mut().unwrap().remove("cpu_seconds");
            let read = history(&lines);
            assert_eq!((read.cpu_times(), read.unreadable.count), (None, 0), "{kind}");
            assert_eq!(read.times().training, 6.0);
        }
        assert_eq!(history(&[]).cpu_times(), None);
    }

    /// Returns the approximate size of a history: the length of its numbers and texts.
    fn size(history: &History) -> usize {
        format!("{history:?}").len()
    }

    #[test]
    fn what_is_kept_does_not_grow_with_a_run() {
        let mut history = History::default();
        let mut sizes = Vec::new();
        for number in 1..=20_000 {
            generation(number).iter().for_each(|line| history.add(line.to_string().as_bytes()));
            if [2_000, 20_000].contains(&number) {
                sizes.push(size(&history));
            }
        }
        assert!(sizes[1] < 2 * sizes[0], "{sizes:?}");
        assert_eq!((history.played.games, history.newest, history.earlier_signs), (80_000, 20_000, 19_900));
        let rated = history.ratings("random");
        assert_eq!((rated.len(), rated[99].generation), (100, 20_000));
    }

    #[test]
    fn hostile_lines_are_counted_and_take_no_room() {
        let mut history = History::default();
        for number in 0..50_000u64 {
            let lines = [
                json!({"kind": "evaluation", "generation": number % 7 + 1, "opponent": format!("agent {number}"),
                    "result": {"elo": number}}),
                json!({"kind": "ladder", "generation": number + 1, "matches": []}),
                json!({"kind": "gate", "generation": 100_000 - number, "champion": u64::MAX}),
                json!({"kind": "health", "generation": 1, "signs": ["x"]}),
                json!({"kind": "ladder", "generation": u64::MAX - number, "matches": []}),
                json!({"kind": "nonsense"}),
            ];
            lines.iter().for_each(|line| history.add(line.to_string().as_bytes()));
        }
        assert_eq!(history.unreadable.count, 100_000);
        assert_eq!(history.unreadable.named.len(), NAMED);
        assert_eq!(history.unreadable.named[0], (5, format!("there is no generation {}", u64::MAX)));
        assert!(size(&history) < 200_000, "{}", size(&history));
        // these generations never played each other
        assert_eq!(history.ratings("agent 3").len(), 1);
    }

    #[test]
    fn a_reader_reads_only_what_was_added() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(METRICS);
        let text =
            |number: usize| generation(number).iter().map(|line| format!("{line}\n")).collect::<String>();
        let mut reader = Reader::new(folder.path());
        assert!(reader.read(u64::MAX).unwrap() && reader.history().lines == 0);
        std::fs::write(&path, text(1)).unwrap();
        assert!(reader.read(u64::MAX).unwrap());
        std::fs::write(&path, format!("{}{}{{\"kind\":", text(1), text(2))).unwrap();
        assert!(reader.read(u64::MAX).unwrap() && reader.is_cut());
        assert_eq!((reader.history().lines, reader.history().played.games), (12, 8));
        // another run replaces the file
        std::fs::write(&path, text(5)).unwrap();
        assert!(reader.read(u64::MAX).unwrap() && !reader.is_cut());
        assert_eq!((reader.history().lines, reader.history().newest), (6, 5));
        assert_eq!(reader.position(), text(5).len() as u64);
        assert_eq!(History::of(folder.path()).unwrap().played, reader.history().played);
    }
}

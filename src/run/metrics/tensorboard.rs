//! Copies the metrics to an event file for TensorBoard, next to the metrics themselves.
//!
//! Every number in a line of `metrics.jsonl` becomes a scalar `KIND/KEY` with the line's time, at the line's optimizer
//! step if it has one, otherwise at its generation. A line with games between generations is followed by the resulting
//! rating with its bounds: `rating/above_first` compares the generation with the first one rated together with it, and
//! `rating/above_half_age` compares it with the generation of half its age. The file is a function of the metrics:
//! after a crash, missing events are appended, and a file with other contents is rewritten. No step occurs twice.
//!
//! Computing ratings takes longer than everything else. Ratings that are already in the file are not computed again,
//! and if ratings of earlier generations are missing, only some of them are added.
//!
//! Format: TFRecords (<https://www.tensorflow.org/tutorials/load_data/tfrecord>) of `tensorflow.Event` messages.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use prost::Message;
use serde_json::Value;

use super::ladder::Games;
use super::lines::{LONGEST_LINE, Line, METRICS};
use crate::error::{Error, Result};
use crate::storage::{self, Found, Tail};

/// The event file in the run's folder; TensorBoard looks for `tfevents` in its name.
pub const EVENTS: &str = "events.out.tfevents.petteia";
/// The version in the first event of a file.
const VERSION: &str = "brain.Event:2";
/// The constant with which TFRecords mask their checksums.
const MASK: u32 = 0xa282_ead8;
/// The largest number of ratings of earlier generations that are computed when a run is resumed.
const LATER_RATINGS: usize = 200;
/// The longest message of an event that is read, in bytes.
const LONGEST_EVENT: usize = 1 << 20;
/// The number of bytes before the message of a record.
const HEAD: usize = 12;
/// The number of bytes after the message of a record.
const SUM: usize = 4;
/// The prefix of the tags of ratings.
const RATING: &str = "rating/";
/// The keys that identify a line and the time of writing; they are not measurements.
const COORDINATES: [&str; 4] = ["kind", "generation", "step", "time"];

/// `tensorflow.Event`
#[derive(Clone, PartialEq, Message)]
struct TensorEvent {
    #[prost(double, tag = "1")]
    wall_time: f64,
    #[prost(int64, tag = "2")]
    step: i64,
    #[prost(string, optional, tag = "3")]
    file_version: Option<String>,
    #[prost(message, optional, tag = "5")]
    summary: Option<TensorSummary>,
}

/// `tensorflow.Summary`
#[derive(Clone, PartialEq, Message)]
struct TensorSummary {
    #[prost(message, repeated, tag = "1")]
    value: Vec<Scalar>,
}

/// `tensorflow.Summary.Value`
#[derive(Clone, PartialEq, Message)]
struct Scalar {
    #[prost(string, tag = "1")]
    tag: String,
    #[prost(float, optional, tag = "2")]
    simple_value: Option<f32>,
}

/// The event file of a run in training.
#[derive(Debug)]
pub(in crate::run) struct Events {
    path: PathBuf,
    /// The metrics. Everything read from the metrics so far is in the event file.
    metrics: Tail,
    records: EventRecords,
}

impl Events {
    /// Brings the file in line with the metrics of a run that is resumed after `done` generations; `opponent` is the
    /// evaluation's opponent.
    pub(in crate::run) fn open(folder: &Path, opponent: &str, done: usize) -> Result<Events> {
        let every = done.div_ceil(LATER_RATINGS).next_power_of_two();
        let new = || Events {
            path: folder.join(EVENTS),
            metrics: Tail::new(&folder.join(METRICS), LONGEST_LINE),
            records: EventRecords {
                games: Games::default(),
                opponent: opponent.into(),
                is_begun: false,
                every,
            },
        };
        let mut events = new();
        let mut known = KnownRatings::open(&events.path)?;
        let mut is_right = Ok(true);
        events.metrics.read(u64::MAX, &mut |found| {
            if let (Found::Line(line), Ok(true)) = (found, &is_right) {
                is_right = known.go_on(&mut events.records, line);
            }
        })?;
        if !(is_right? && known.end()?) {
            // the file has other contents, or more than it should have: rewrite it
            events = new();
            let path = events.path.clone();
            storage::stream_whole(&path, |file| {
                let mut written = Ok(());
                events.metrics.read(u64::MAX, &mut |found| {
                    if let (Found::Line(line), true) = (found, written.is_ok()) {
                        written = file.write_all(&events.records.of(line));
                    }
                })?;
                written.map_err(Error::io(&path))
            })?;
        }
        events.records.every = 1;
        Ok(events)
    }

    /// Adds everything that was written to the metrics since the last call.
    pub(in crate::run) fn update(&mut self) -> Result<()> {
        let mut new = Vec::new();
        self.metrics.read(u64::MAX, &mut |found| {
            if let Found::Line(line) = found {
                new.extend(self.records.of(line));
            }
        })?;
        if new.is_empty() { Ok(()) } else { storage::append(&self.path, &new) }
    }
}

/// Turns lines of metrics into records, one after another.
#[derive(Debug)]
struct EventRecords {
    games: Games,
    opponent: String,
    is_begun: bool,
    /// The interval between generations whose ratings are computed.
    every: usize,
}

impl EventRecords {
    /// Returns the records of the next line, with its rating if there is one.
    fn of(&mut self, line: &[u8]) -> Vec<u8> {
        let (mut records, rated) = self.without_rating(line);
        records.extend(rated.and_then(|event| self.rating(&event)));
        records.concat()
    }

    /// Returns the records of the next line without its rating, and the line's event if a rating follows.
    fn without_rating(&mut self, line: &[u8]) -> (Vec<Vec<u8>>, Option<TensorEvent>) {
        let Some(event) = serde_json::from_slice(line).ok().and_then(|line| event(&line)) else {
            return (Vec::new(), None);
        };
        let mut records = Vec::new();
        if !std::mem::replace(&mut self.is_begun, true) {
            let (wall_time, file_version) = (event.wall_time, Some(VERSION.to_string()));
            records.push(record(&TensorEvent { wall_time, step: 0, file_version, summary: None }));
        }
        records.push(record(&event));
        let is_rated = match Line::read(line) {
            Ok(Some(Line::Evaluation(line))) => {
                self.games.evaluation(line);
                false
            }
            Ok(Some(Line::Ladder(line))) => {
                self.games.ladder(line);
                true
            }
            _ => false,
        };
        (records, is_rated.then_some(event))
    }

    /// Returns the record of the rating that follows a line with games between generations; `line` is that line's
    /// event.
    fn rating(&self, line: &TensorEvent) -> Option<Vec<u8>> {
        let number = usize::try_from(line.step).ok().filter(|number| number % self.every == 0)?;
        let rating = self.games.rating(&self.opponent, number)?;
        let first = Games::first_rated_with(number);
        let mut scalars = Vec::new();
        for (earlier, above) in &rating.above_earlier {
            let name = if *earlier == first { "above_first" } else { "above_half_age" };
            let bounds = [("", Some(above.elo)), ("_low", above.low), ("_high", above.high)];
            let known = bounds.iter().filter_map(|(bound, elo)| Some((bound, (*elo)? as f32)));
            scalars.extend(known.map(|(bound, elo)| Scalar {
                tag: format!("{RATING}{name}{bound}"),
                simple_value: Some(elo),
            }));
        }
        let summary = (!scalars.is_empty()).then_some(TensorSummary { value: scalars })?;
        Some(record(&TensorEvent { summary: Some(summary), ..line.clone() }))
    }
}

/// An existing event file, which is compared with what it should contain, and continued at its end.
struct KnownRatings<'a> {
    path: &'a Path,
    /// The file opened for reading, until records are added.
    existing: Option<BufReader<File>>,
    /// The next record of the file.
    next: Option<Vec<u8>>,
    /// The number of bytes that are right so far.
    right: u64,
    /// The file opened for writing, once records are added.
    added: Option<BufWriter<File>>,
}

impl<'a> KnownRatings<'a> {
    fn open(path: &'a Path) -> Result<KnownRatings<'a>> {
        let existing = storage::exists(path)?.then(|| storage::open(path)).transpose()?;
        Ok(KnownRatings { path, existing: existing.map(BufReader::new), next: None, right: 0, added: None })
    }

    /// Compares the file with the records of the next line, or adds them at its end. Returns whether the file is right
    /// so far.
    fn go_on(&mut self, records: &mut EventRecords, line: &[u8]) -> Result<bool> {
        let (plain, rated) = records.without_rating(line);
        for expected in plain {
            match self.peek() {
                Some(record) if *record == expected => self.accept(),
                Some(_) => return Ok(false),
                None => self.add(&expected)?,
            }
        }
        let Some(event) = rated else { return Ok(true) };
        match self.peek() {
            Some(record) if is_rating(record, event.step) => self.accept(),
            // a file without this rating is also right
            Some(_) => {}
            None => records.rating(&event).map_or(Ok(()), |rating| self.add(&rating))?,
        }
        Ok(true)
    }

    /// Returns the next whole record of the file; `None` at its end.
    fn peek(&mut self) -> Option<&Vec<u8>> {
        if self.next.is_none() {
            self.next = self.existing.as_mut().and_then(next_record);
        }
        self.next.as_ref()
    }

    fn accept(&mut self) {
        self.right += self.next.take().map_or(0, |record| record.len() as u64);
    }

    /// Appends a record. A record that was cut off when the run was killed is overwritten.
    fn add(&mut self, record: &[u8]) -> Result<()> {
        let io = Error::io(self.path);
        let mut file = match self.added.take() {
            Some(file) => file,
            None => {
                self.existing = None;
                self.cut()?
            }
        };
        file.write_all(record).map_err(io)?;
        self.added = Some(file);
        Ok(())
    }

    fn cut(&self) -> Result<BufWriter<File>> {
        let file = storage::open_or_create(self.path)?;
        file.set_len(self.right).map_err(Error::io(self.path))?;
        Ok(BufWriter::new(file))
    }

    /// Finishes the file. Returns false if the file contains more than it should.
    fn end(mut self) -> Result<bool> {
        if self.peek().is_some() {
            return Ok(false);
        }
        match self.added.take() {
            Some(mut file) => file.flush().map_err(Error::io(self.path))?,
            None if self.existing.is_some() => drop(self.cut()?),
            None => {}
        }
        Ok(true)
    }
}

/// Reads the next record of a file, if it is whole.
fn next_record(file: &mut BufReader<File>) -> Option<Vec<u8>> {
    let mut record = vec![0; HEAD];
    file.read_exact(&mut record).ok()?;
    let length = u64::from_le_bytes(record[..8].try_into().expect("eight of the bytes"));
    let length = usize::try_from(length).ok().filter(|length| *length <= LONGEST_EVENT)?;
    record.resize(HEAD + length + SUM, 0);
    file.read_exact(&mut record[HEAD..]).ok()?;
    Some(record)
}

/// Returns whether a record is an intact rating at this step.
fn is_rating(record: &[u8], step: i64) -> bool {
    let (head, rest) = record.split_at(HEAD);
    let (message, sum) = rest.split_at(rest.len() - SUM);
    let is_intact = head[8..] == masked(&head[..8]) && *sum == masked(message);
    let Some(TensorEvent { step: at, summary: Some(summary), .. }) =
        TensorEvent::decode(message).ok().filter(|_| is_intact)
    else {
        return false;
    };
    at == step && summary.value.iter().all(|scalar| scalar.tag.starts_with(RATING))
}

/// Returns the event of a line of metrics; `None` if the line has no numbers.
fn event(line: &Value) -> Option<TensorEvent> {
    let kind = line["kind"].as_str()?;
    let mut scalars = Vec::new();
    for (key, value) in line.as_object()?.iter().filter(|(key, _)| !COORDINATES.contains(&key.as_str())) {
        let tag = format!("{kind}/{key}");
        match value {
            // the numbers of a match are nested in its result
            Value::Object(parts) => {
                scalars
                    .extend(parts.iter().filter_map(|(part, value)| scalar(format!("{tag}.{part}"), value)));
            }
            value => scalars.extend(scalar(tag, value)),
        }
    }
    let wall_time = line["time"].as_str().and_then(|time| humantime::parse_rfc3339(time).ok());
    let wall_time = wall_time.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let step = line["step"].as_i64().or(line["generation"].as_i64())?;
    (!scalars.is_empty()).then(|| TensorEvent {
        wall_time: wall_time.map_or(0.0, |time| time.as_secs_f64()),
        step,
        file_version: None,
        summary: Some(TensorSummary { value: scalars }),
    })
}

fn scalar(tag: String, value: &Value) -> Option<Scalar> {
    let number = match value {
        Value::Bool(switch) => *switch as usize as f64,
        value => value.as_f64()?,
    };
    Some(Scalar { tag, simple_value: Some(number as f32) })
}

/// Makes a TFRecord: length, its checksum, the message, its checksum.
fn record(event: &TensorEvent) -> Vec<u8> {
    let message = event.encode_to_vec();
    let length = (message.len() as u64).to_le_bytes();
    [&length[..], &masked(&length), &message, &masked(&message)].concat()
}

fn masked(bytes: &[u8]) -> [u8; 4] {
    crc32c::crc32c(bytes).rotate_right(15).wrapping_add(MASK).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(lines: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), lines);
        folder
    }

    fn write(folder: &Path, lines: &[&str]) {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        std::fs::write(folder.join(METRICS), text).unwrap();
    }

    const LINES: [&str; 3] = [
        r#"{"kind":"selfplay","generation":1,"games":8,"bootstrap":true,"time":"2026-11-22T04:30:52.250Z"}"#,
        r#"{"kind":"train","generation":1,"step":17,"value_loss":0.5,"note":"x","time":"2026-11-22T04:30:53Z"}"#,
        r#"{"kind":"evaluation","generation":1,"result":{"elo":12.5,"pairs":[1,2],"sprt":null},"opponent":"random"}"#,
    ];

    /// Reads the events in a file, and asserts that their checksums are right.
    fn events(folder: &Path) -> Vec<TensorEvent> {
        let bytes = std::fs::read(folder.join(EVENTS)).unwrap();
        let (mut rest, mut events) = (&bytes[..], Vec::new());
        while let Some((head, tail)) = rest.split_at_checked(12) {
            let length = u64::from_le_bytes(head[..8].try_into().unwrap()) as usize;
            assert_eq!(head[8..], masked(&head[..8]));
            let (message, tail) = tail.split_at(length);
            assert_eq!(tail[..4], masked(message));
            events.push(TensorEvent::decode(message).unwrap());
            rest = &tail[4..];
        }
        events
    }

    #[test]
    fn numbers_become_scalars() {
        let folder = folder(&LINES);
        Events::open(folder.path(), "random", 3).unwrap();
        let read = events(folder.path());
        assert_eq!(read[0].file_version.as_deref(), Some(VERSION));
        assert_eq!(read[0].wall_time, 1_795_321_852.25);
        let values = |event: &TensorEvent| -> Vec<(String, f32)> {
            let values = &event.summary.as_ref().unwrap().value;
            values.iter().map(|value| (value.tag.clone(), value.simple_value.unwrap())).collect()
        };
        let all: Vec<_> = read[1..].iter().map(|event| (event.step, values(event))).collect();
        let expected = [
            (1, vec![("selfplay/bootstrap".to_string(), 1.0), ("selfplay/games".into(), 8.0)]),
            (17, vec![("train/value_loss".into(), 0.5)]),
            (1, vec![("evaluation/result.elo".into(), 12.5)]),
        ];
        assert_eq!(all, expected);
    }

    #[test]
    fn the_file_is_a_function_of_the_metrics() {
        let whole = folder(&LINES);
        Events::open(whole.path(), "random", 3).unwrap();
        let expected = std::fs::read(whole.path().join(EVENTS)).unwrap();
        let grown = folder(&[]);
        let mut file = Events::open(grown.path(), "random", 3).unwrap();
        let path = grown.path().join(EVENTS);
        for count in [1, 3] {
            write(grown.path(), &LINES[..count]);
            file.update().unwrap();
        }
        assert_eq!(std::fs::read(&path).unwrap(), expected);
        // the writer was killed while appending, or the file has more events than the metrics or other contents
        for left in [&expected[..expected.len() - 7], &[&expected[..], b"more"].concat(), b"else"] {
            std::fs::write(&path, left).unwrap();
            Events::open(grown.path(), "random", 3).unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), expected);
        }
    }

    /// Makes the ladder lines of a run with `generations` generations, each a little stronger than the one before.
    fn rated_run(generations: usize) -> Vec<String> {
        let line = |number: usize| {
            let met = match number {
                1 => String::new(),
                _ => format!(
                    r#"{{"generation":{},"wins":5,"pairs":[1,2,9,4,2],"effective_games":36}}"#,
                    number - 1
                ),
            };
            format!(
                r#"{{"kind":"ladder","generation":{number},"matches":[{met}],"seconds":1.5,"time":"2026-11-22T04:30:5{}Z"}}"#,
                number % 10
            )
        };
        (1..=generations).map(line).collect()
    }

    fn texts(lines: &[String]) -> Vec<&str> {
        lines.iter().map(|line| &**line).collect()
    }

    /// Reads the ratings in a file: step, and value by tag.
    fn ratings(folder: &Path) -> Vec<(i64, Vec<(String, f32)>)> {
        let values = |event: TensorEvent| {
            let values = event.summary.into_iter().flat_map(|summary| summary.value);
            let rated = values.filter(|value| value.tag.starts_with(RATING));
            let rated: Vec<_> = rated.map(|value| (value.tag, value.simple_value.unwrap())).collect();
            (!rated.is_empty()).then_some((event.step, rated))
        };
        events(folder).into_iter().filter_map(values).collect()
    }

    #[test]
    fn ratings_have_their_bounds() {
        let lines = rated_run(4);
        let folder = folder(&texts(&lines));
        Events::open(folder.path(), "random", 4).unwrap();
        let rated = ratings(folder.path());
        assert_eq!(
            rated.iter().map(|(step, _)| *step).collect::<Vec<_>>(),
            [2, 3, 4],
            "the first has nobody to meet"
        );
        let tags = |at: usize| rated[at].1.iter().map(|(tag, _)| &**tag).collect::<Vec<_>>();
        let first = ["rating/above_first", "rating/above_first_low", "rating/above_first_high"];
        let half = ["rating/above_half_age", "rating/above_half_age_low", "rating/above_half_age_high"];
        assert_eq!(tags(0), first);
        assert_eq!(tags(2), [half, first].concat());
        let values: Vec<f32> = rated[2].1.iter().map(|(_, value)| *value).collect();
        assert!(values[4] < values[3] && values[3] < values[5] && values[0] < values[3], "{values:?}");
        // these are the ratings that the run itself computes
        let mut games = Games::default();
        for line in &lines {
            let Ok(Some(Line::Ladder(line))) = Line::read(line.as_bytes()) else { panic!("{line}") };
            games.ladder(line);
        }
        assert_eq!(games.rating("random", 4).unwrap().above_earlier[1].1.elo as f32, values[3]);
    }

    #[test]
    fn ratings_that_are_there_are_kept_and_missing_ones_added() {
        let lines = rated_run(6);
        let whole = folder(&texts(&lines));
        Events::open(whole.path(), "random", 6).unwrap();
        let expected = std::fs::read(whole.path().join(EVENTS)).unwrap();
        let grown = folder(&[]);
        let path = grown.path().join(EVENTS);
        let mut file = Events::open(grown.path(), "random", 0).unwrap();
        for count in 1..=6 {
            write(grown.path(), &texts(&lines)[..count]);
            file.update().unwrap();
        }
        assert!(std::fs::read(&path).unwrap() == expected, "one by one");
        // the writer is killed at any byte
        for length in 0..expected.len() {
            std::fs::write(&path, &expected[..length]).unwrap();
            Events::open(grown.path(), "random", 6).unwrap();
            assert!(std::fs::read(&path).unwrap() == expected, "cut at {length}");
        }
        // a file written by a version without ratings is continued
        let mut old =
            EventRecords { games: Games::default(), opponent: String::new(), is_begun: false, every: 1 };
        let old: Vec<u8> =
            lines[..5].iter().flat_map(|line| old.without_rating(line.as_bytes()).0.concat()).collect();
        std::fs::write(&path, &old).unwrap();
        Events::open(grown.path(), "random", 6).unwrap();
        assert!(std::fs::read(&path).unwrap().starts_with(&old));
        assert_eq!(ratings(grown.path()).iter().map(|(step, _)| *step).collect::<Vec<_>>(), [5, 6]);
    }

    /// When a long run is resumed, only some of the missing ratings of earlier generations are computed.
    #[test]
    fn not_all_ratings_of_a_long_run_are_computed() {
        let mut lines = rated_run(3 * LATER_RATINGS);
        // a rating based on few games is computed quickly
        lines.iter_mut().skip(20).for_each(|line| *line = line.replace("[1,2,9,4,2]", "[0,0,0,0,0]"));
        let long = folder(&texts(&lines));
        Events::open(long.path(), "random", lines.len()).unwrap();
        assert!(events(long.path()).len() > lines.len());
        assert!(ratings(long.path()).iter().all(|(step, _)| step % 4 == 0), "{:?}", ratings(long.path()));
    }

    #[test]
    fn checksums_are_those_of_tensorflow() {
        // the length field of a record of 24 bytes, as TensorFlow writes it
        let known: [u8; 4] = crc32c::crc32c(b"123456789").to_le_bytes();
        assert_eq!(known, 0xe306_9283u32.to_le_bytes());
    }
}

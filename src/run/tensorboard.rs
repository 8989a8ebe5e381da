//! The metrics as an event file for TensorBoard, beside them.
//!
//! Every number in a line of `metrics.jsonl` becomes a scalar `KIND/KEY`, at the line's optimizer step if it has one and
//! otherwise at its generation, with the line's own time. So the file is a function of the metrics: after a crash what is
//! missing is appended, and a file that says something else is written anew. No step is there twice.
//!
//! Format: TFRecords (<https://www.tensorflow.org/tutorials/load_data/tfrecord>) of `tensorflow.Event` messages.

use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use prost::Message;
use serde_json::Value;

use super::METRICS;
use crate::error::{Error, Result};
use crate::storage;

/// The file in the run's folder; TensorBoard looks for `tfevents`.
pub const EVENTS: &str = "events.out.tfevents.petteia";
/// What the first event of a file says.
const VERSION: &str = "brain.Event:2";
/// What the checksums of TFRecords are masked with.
const MASK: u32 = 0xa282_ead8;
/// Keys that say where and when, not what.
const COORDINATES: [&str; 4] = ["kind", "generation", "step", "time"];

/// `tensorflow.Event`
#[derive(Clone, PartialEq, Message)]
struct Event {
    #[prost(double, tag = "1")]
    wall_time: f64,
    #[prost(int64, tag = "2")]
    step: i64,
    #[prost(string, optional, tag = "3")]
    file_version: Option<String>,
    #[prost(message, optional, tag = "5")]
    summary: Option<Summary>,
}

/// `tensorflow.Summary`
#[derive(Clone, PartialEq, Message)]
struct Summary {
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
pub(super) struct Events {
    metrics: PathBuf,
    path: PathBuf,
    /// The bytes of the metrics that are in the file.
    read: u64,
}

impl Events {
    /// Brings the file in line with the metrics that a resumed run has.
    pub(super) fn open(folder: &Path) -> Result<Events> {
        let mut events = Events { metrics: folder.join(METRICS), path: folder.join(EVENTS), read: 0 };
        let expected = events.new_ones()?;
        let found = match storage::exists(&events.path)? {
            true => storage::read_at_most(&events.path, expected.len() as u64, "the events of these metrics"),
            false => Ok(Vec::new()),
        };
        match found {
            Ok(found) if expected.starts_with(&found) => events.append(&expected[found.len()..])?,
            // it has something else, or more
            Ok(_) | Err(Error::Data(_)) => storage::write_whole(&events.path, &expected)?,
            Err(error) => return Err(error),
        }
        Ok(events)
    }

    /// Adds what was written to the metrics since.
    pub(super) fn update(&mut self) -> Result<()> {
        let new = self.new_ones()?;
        self.append(&new)
    }

    fn append(&self, bytes: &[u8]) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        storage::open_or_create(&self.path)?.write_all(bytes).map_err(Error::io(&self.path))
    }

    /// The records of the lines that were not read yet.
    fn new_ones(&mut self) -> Result<Vec<u8>> {
        let mut text = String::new();
        let mut file = storage::open(&self.metrics)?;
        let read = file.seek(SeekFrom::Start(self.read)).and_then(|_| file.read_to_string(&mut text));
        let is_first = self.read == 0;
        self.read += read.map_err(Error::io(&self.metrics))? as u64;
        let mut events: Vec<Event> = text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .filter_map(|line: Value| event(&line))
            .collect();
        if let Some(first) = events.first().filter(|_| is_first) {
            let version = Some(VERSION.to_string());
            let version = Event { wall_time: first.wall_time, step: 0, file_version: version, summary: None };
            events.insert(0, version);
        }
        Ok(events.iter().flat_map(record).collect())
    }
}

/// The event of a line of metrics; `None` if there is no number in it.
fn event(line: &Value) -> Option<Event> {
    let kind = line["kind"].as_str()?;
    let mut scalars = Vec::new();
    for (key, value) in line.as_object()?.iter().filter(|(key, _)| !COORDINATES.contains(&key.as_str())) {
        let tag = format!("{kind}/{key}");
        match value {
            // a result has its numbers inside
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
    (!scalars.is_empty()).then(|| Event {
        wall_time: wall_time.map_or(0.0, |time| time.as_secs_f64()),
        step,
        file_version: None,
        summary: Some(Summary { value: scalars }),
    })
}

fn scalar(tag: String, value: &Value) -> Option<Scalar> {
    let number = match value {
        Value::Bool(switch) => *switch as usize as f64,
        value => value.as_f64()?,
    };
    Some(Scalar { tag, simple_value: Some(number as f32) })
}

/// A TFRecord: length, its checksum, the message, its checksum.
fn record(event: &Event) -> Vec<u8> {
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

    /// The events of a file, whose checksums must be right.
    fn events(folder: &Path) -> Vec<Event> {
        let bytes = std::fs::read(folder.join(EVENTS)).unwrap();
        let (mut rest, mut found) = (&bytes[..], Vec::new());
        while let Some((head, tail)) = rest.split_at_checked(12) {
            let length = u64::from_le_bytes(head[..8].try_into().unwrap()) as usize;
            assert_eq!(head[8..], masked(&head[..8]));
            let (message, tail) = tail.split_at(length);
            assert_eq!(tail[..4], masked(message));
            found.push(Event::decode(message).unwrap());
            rest = &tail[4..];
        }
        found
    }

    #[test]
    fn numbers_become_scalars() {
        let folder = folder(&LINES);
        Events::open(folder.path()).unwrap();
        let found = events(folder.path());
        assert_eq!(found[0].file_version.as_deref(), Some(VERSION));
        assert_eq!(found[0].wall_time, 1_795_321_852.25);
        let values = |event: &Event| -> Vec<(String, f32)> {
            let values = &event.summary.as_ref().unwrap().value;
            values.iter().map(|value| (value.tag.clone(), value.simple_value.unwrap())).collect()
        };
        let all: Vec<_> = found[1..].iter().map(|event| (event.step, values(event))).collect();
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
        Events::open(whole.path()).unwrap();
        let expected = std::fs::read(whole.path().join(EVENTS)).unwrap();
        let grown = folder(&[]);
        let mut file = Events::open(grown.path()).unwrap();
        let path = grown.path().join(EVENTS);
        for count in [1, 3] {
            write(grown.path(), &LINES[..count]);
            file.update().unwrap();
        }
        assert_eq!(std::fs::read(&path).unwrap(), expected);
        // killed while it was appended to, or with more than the metrics that count, or with something else
        for found in [&expected[..expected.len() - 7], &[&expected[..], b"more"].concat(), b"else"] {
            std::fs::write(&path, found).unwrap();
            Events::open(grown.path()).unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), expected);
        }
    }

    #[test]
    fn checksums_are_those_of_tensorflow() {
        // the length field of a record of 24 bytes, as TensorFlow writes it
        let known: [u8; 4] = crc32c::crc32c(b"123456789").to_le_bytes();
        assert_eq!(known, 0xe306_9283u32.to_le_bytes());
    }
}

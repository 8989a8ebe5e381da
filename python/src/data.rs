//! Records of runs and games from elsewhere, as arrays and back.

use std::path::PathBuf;

use numpy::{PyArray1, PyArrayMethods};
use petteia::any::Opened;
use petteia::encode::Shape;
use petteia::error::{Error, Result};
use petteia::game::{Game as _, Outcome};
use petteia::parallel;
use petteia::replay::record::Record;
use petteia::replay::sample::samples;
use petteia::replay::store;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::convert::raised;
use crate::game::Game;
use crate::serve::work;

/// The positions of games that are trained on, a row for each.
#[derive(Default)]
pub struct Rows {
    planes: Vec<f32>,
    policy: Vec<f32>,
    mask: Vec<bool>,
    wdl: Vec<f32>,
    outcome: Vec<i8>,
    weight: Vec<f32>,
    generation: Vec<i32>,
    game: Vec<i32>,
}

impl Rows {
    /// Replays the games, on all cores.
    ///
    /// # Errors
    /// A record contradicts the rules.
    pub fn of(rules: &Opened, records: &[Record]) -> Result<Rows> {
        let parts = parallel::map(records.len(), &|index| Rows::of_game(rules, &records[index]))?;
        let mut all = Rows::default();
        for part in parts {
            all.planes.extend(part.planes);
            all.policy.extend(part.policy);
            all.mask.extend(part.mask);
            all.wdl.extend(part.wdl);
            all.outcome.extend(part.outcome);
            all.weight.extend(part.weight);
            all.generation.extend(part.generation);
            all.game.extend(part.game);
        }
        Ok(all)
    }

    fn of_game(rules: &Opened, record: &Record) -> Result<Rows> {
        let (shape, mut rows) = (rules.identity.shape, Rows::default());
        for sample in samples(rules, record)? {
            let begin = rows.planes.len();
            rows.planes.resize(begin + shape.input_len(), 0.0);
            sample.planes.expand(&mut rows.planes[begin..]);
            let begin = rows.policy.len();
            rows.policy.resize(begin + shape.actions, 0.0);
            rows.mask.resize(begin + shape.actions, false);
            for (action, share) in &sample.policy {
                rows.policy[begin + action.index()] = *share;
                rows.mask[begin + action.index()] = true;
            }
            rows.wdl.extend([sample.search.win, sample.search.draw, sample.search.loss]);
            rows.outcome.push(sample.outcome.value() as i8);
            rows.weight.push(sample.weight);
            rows.generation.push(record.generation as i32);
            rows.game.push(record.index as i32);
        }
        Ok(rows)
    }

    /// The rows as arrays by their names.
    pub fn dict<'py>(self, py: Python<'py>, shape: Shape) -> PyResult<Bound<'py, PyDict>> {
        let Shape { planes, height, width, actions } = shape;
        let n = self.outcome.len();
        let dict = PyDict::new(py);
        dict.set_item("planes", PyArray1::from_vec(py, self.planes).reshape([n, planes, height, width])?)?;
        dict.set_item("policy", PyArray1::from_vec(py, self.policy).reshape([n, actions])?)?;
        dict.set_item("mask", PyArray1::from_vec(py, self.mask).reshape([n, actions])?)?;
        dict.set_item("wdl", PyArray1::from_vec(py, self.wdl).reshape([n, 3])?)?;
        dict.set_item("outcome", PyArray1::from_vec(py, self.outcome))?;
        dict.set_item("weight", PyArray1::from_vec(py, self.weight))?;
        dict.set_item("generation", PyArray1::from_vec(py, self.generation))?;
        dict.set_item("index", PyArray1::from_vec(py, self.game))?;
        Ok(dict)
    }
}

/// The records as lines of JSON.
pub fn lines(records: &[Record]) -> Vec<String> {
    records.iter().map(|record| serde_json::to_string(record).expect("plain data")).collect()
}

/// The game of a run's records, the records as lines of JSON, and their positions; of these generations alone, if some are
/// named.
#[pyfunction]
#[pyo3(name = "_records", signature = (path, generations = None))]
#[allow(clippy::type_complexity)]
pub fn records<'py>(
    py: Python<'py>,
    path: PathBuf,
    generations: Option<Vec<usize>>,
) -> PyResult<(Game, Vec<String>, Bound<'py, PyDict>)> {
    let found = store::find(&path).map_err(raised)?;
    let is_wanted = |path: &&PathBuf| match &generations {
        Some(wanted) => store::place_of(path).is_some_and(|(generation, _)| wanted.contains(&generation)),
        None => true,
    };
    let paths: Vec<&PathBuf> = found.all().filter(is_wanted).collect();
    let Some(first) = paths.first() else {
        return Err(PyValueError::new_err(format!("{} has no such records", path.display())));
    };
    let settings = petteia::run::is_run(&path).then(|| petteia::run::reading_of(&path)).transpose();
    let (id, options) = match settings.map_err(raised)? {
        // records name the text of a game by its checksum; the run has it whole
        Some(reading) => (reading.config.game.id, reading.config.game.options),
        None => store::first_record(first).map(|record| (record.game, record.options)).map_err(raised)?,
    };
    let game = Game::open(&id, &options)?;
    let rules = &game.rules;
    let (lines, rows) = work(py, |running| {
        let mut records = Vec::new();
        for path in paths {
            if !running.goes_on() {
                return Err(Error::Interrupted);
            }
            records.extend(store::read_shard(path, rules, None)?.records);
        }
        Ok((lines(&records), Rows::of(rules, &records)?))
    })?;
    let arrays = rows.dict(py, rules.identity.shape)?;
    Ok((game, lines, arrays))
}

/// Writes games from elsewhere as a shard of records that training can begin with. Each is a list of action texts; the rules
/// check them, and say how they ended. An action that was played has all visits.
#[pyfunction]
#[pyo3(name = "_write_records")]
pub fn write_records(path: PathBuf, game: &Game, games: Vec<Vec<String>>) -> PyResult<usize> {
    let identity = &game.rules.identity;
    let any = game.any();
    let mut records = Vec::new();
    for (index, actions) in games.into_iter().enumerate() {
        let mut state = any.initial();
        let start = any.state_text(&state);
        for (ply, text) in actions.iter().enumerate() {
            let legal = any.legal(&state);
            let action = any.parse_action(&state, text).filter(|action| legal.contains(action));
            let Some(action) = action else {
                return Err(PyValueError::new_err(format!(
                    "game {index}, ply {ply}: {text:?} is not legal there"
                )));
            };
            any.play(&mut state, action);
        }
        let Some(outcome) = any.outcome(&state) else {
            return Err(PyValueError::new_err(format!("game {index} is not over after its last action")));
        };
        let plies = actions.len();
        records.push(Record {
            format: petteia::replay::record::PLAIN_FORMAT,
            game: identity.id.clone(),
            options: identity.options_of_records(),
            encoding: identity.encoding,
            generation: 1,
            index,
            evaluator: "uniform:1".into(),
            start,
            visits: actions.iter().map(|text| [(text.clone(), 1)].into()).collect(),
            policy: Vec::new(),
            weights: Vec::new(),
            // nobody has searched; what such a record teaches is its outcome
            wdl: vec![[0.0, 1.0, 0.0]; plies],
            outcome: Outcome::id(outcome).into(),
            actions,
        });
    }
    store::write_shard(&path, &records, None).map_err(raised)?;
    Ok(records.iter().map(Record::positions).sum())
}

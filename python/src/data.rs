//! Conversion of records to arrays, and of games from elsewhere to records.

use std::path::{Path, PathBuf};

use numpy::{PyArray1, PyArrayMethods};
use petteia::any::Opened;
use petteia::checkpoint::Checkpoint;
use petteia::encode::Shape;
use petteia::error::{Error, Result};
use petteia::game::Outcome;
use petteia::parallel;
use petteia::replay::ended::Ended;
use petteia::replay::place::is_held_out;
use petteia::replay::played::Played;
use petteia::replay::record::Record;
use petteia::replay::sample::samples;
use petteia::replay::store;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::convert::raised;
use crate::game::Game;
use crate::serve::work;

/// The positions that training uses, with a row for each position.
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
    /// Replays the games on all cores.
    ///
    /// # Errors
    /// If a record contradicts the rules.
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

    /// Returns the rows as arrays by name.
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

/// Returns the records as lines of JSON.
pub fn lines(records: &[Record]) -> Vec<String> {
    records.iter().map(|record| serde_json::to_string(record).expect("plain data")).collect()
}

/// Returns the game of a run's records, the records as lines of JSON, and their positions. With `generations`, returns
/// only the records of these generations; with `window`, only the records that the newest checkpoint was trained on.
/// Without `game`, the game is the one that the run or the records name.
#[pyfunction]
#[pyo3(name = "_records", signature = (path, generations = None, game = None, window = false))]
#[allow(clippy::type_complexity)]
pub fn records<'py>(
    py: Python<'py>,
    path: PathBuf,
    generations: Option<Vec<usize>>,
    game: Option<PyRef<Game>>,
    window: bool,
) -> PyResult<(Game, Vec<String>, Bound<'py, PyDict>)> {
    let reading = petteia::run::is_run(&path).then(|| petteia::run::reading_of(&path)).transpose();
    let config = reading.map_err(raised)?.map(|reading| reading.config);
    let paths = if window {
        window_of(&path).map_err(raised)?
    } else {
        let is_wanted = |path: &&PathBuf| match &generations {
            Some(wanted) => store::place_of(path).is_some_and(|(generation, _)| wanted.contains(&generation)),
            None => true,
        };
        store::find(&path).map_err(raised)?.all().filter(is_wanted).cloned().collect()
    };
    let Some(first) = paths.first() else {
        return Err(PyValueError::new_err(format!("{} has no matching records", path.display())));
    };
    let game = match (game, &config) {
        (Some(game), _) => game.clone(),
        // records name a game's text by its checksum; the run has the whole text
        (None, Some(config)) => Game::open(&config.game.id, &config.game.options)?,
        (None, None) => {
            let first = store::first_record(first).map_err(raised)?;
            Game::open(&first.game, &first.options)?
        }
    };
    let rules = &game.rules;
    let is_held_out = |record: &Record| {
        let place = config.as_ref().filter(|_| window);
        place.is_some_and(|config| is_held_out(config, record.generation, record.index))
    };
    let (lines, rows) = work(py, game.written.as_ref(), |running| {
        let mut records = Vec::new();
        for path in paths {
            if !running.goes_on() {
                return Err(Error::Interrupted);
            }
            records.extend(store::read_shard(&path, rules, None)?.records);
        }
        records.retain(|record| !is_held_out(record));
        Ok((lines(&records), Rows::of(rules, &records)?))
    })?;
    let arrays = rows.dict(py, rules.identity.shape)?;
    Ok((game, lines, arrays))
}

/// Returns the shards that the newest checkpoint of a run was trained on, oldest first.
fn window_of(run: &Path) -> Result<Vec<PathBuf>> {
    let newest = Checkpoint::find(run)?;
    let Some(data) = &newest.manifest.data else {
        let place = run.display();
        return Err(Error::Data(format!(
            "{place}: the newest checkpoint does not say what it was trained on"
        )));
    };
    Ok(data.window().iter().map(|shard| run.join(store::path_in_run(&shard.name))).collect())
}

/// Writes games from elsewhere as a shard of records that training can begin with. Each game is a list of action texts,
/// which the rules check. For games that are not over by the rules, `outcomes` and `ended` say how they ended. In each
/// position, the action that was played gets all visits.
#[pyfunction]
#[pyo3(name = "_write_records", signature = (path, game, games, outcomes = None, ended = None))]
pub fn write_records(
    path: PathBuf,
    game: &Game,
    games: Vec<Vec<String>>,
    outcomes: Option<Vec<Option<String>>>,
    ended: Option<Vec<Option<String>>>,
) -> PyResult<usize> {
    let outcomes = each("outcomes", outcomes, games.len(), Outcome::from_id, "first, second, or draw")?;
    let ended = each("ended", ended, games.len(), Ended::from_id, &Ended::ALL.map(Ended::id).join(", "))?;
    let ends = outcomes.into_iter().zip(ended);
    let records = games.into_iter().zip(ends).enumerate().map(|(index, (actions, (outcome, ended)))| {
        let played = Played { start: None, actions, outcome, ended };
        let record = game.asked(|| played.record(&game.rules, index))?;
        record.map_err(|error| PyValueError::new_err(format!("game {index}: {error}")))
    });
    write(&path, &records.collect::<PyResult<Vec<_>>>()?)
}

/// Returns the value given for each game, if any.
fn each<T: Clone>(
    name: &str,
    given: Option<Vec<Option<String>>>,
    games: usize,
    parse: fn(&str) -> Option<T>,
    known: &str,
) -> PyResult<Vec<Option<T>>> {
    let Some(given) = given else { return Ok(vec![None; games]) };
    if given.len() != games {
        let found = given.len();
        return Err(PyValueError::new_err(format!("{found} {name} for {games} games")));
    }
    let parsed = |text: String| {
        let unknown = || PyValueError::new_err(format!("{name}: {text:?} is not one of {known}"));
        parse(&text).ok_or_else(unknown)
    };
    given.into_iter().map(|text| text.map(parsed).transpose()).collect()
}

/// Writes records, given as lines of JSON, as a shard.
#[pyfunction]
#[pyo3(name = "_write_lines")]
pub fn write_lines(path: PathBuf, lines: Vec<String>) -> PyResult<usize> {
    let record = |line: &String| serde_json::from_str(line);
    let records: std::result::Result<Vec<Record>, _> = lines.iter().map(record).collect();
    write(&path, &records.map_err(|error| PyValueError::new_err(error.to_string()))?)
}

/// Writes a shard and returns the number of its positions.
fn write(path: &Path, records: &[Record]) -> PyResult<usize> {
    store::write_shard(path, records, None).map_err(raised)?;
    Ok(records.iter().map(Record::positions).sum())
}

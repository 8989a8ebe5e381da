//! The methods of `Game`.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::PathBuf;
use std::sync::Arc;

use numpy::{PyArray4, PyReadonlyArray3, PyUntypedArrayMethods};
use petteia::any::{AnyGame, AnyState};
use petteia::error::Error;
use petteia::game::Game as _;
use petteia::options::Settings;
use petteia::text_game;
use pyo3::exceptions::{PyFileNotFoundError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::batch::{Batch, filled};
use crate::convert::{Whole, dict, raised, settings};
use crate::game::{Game, Position, catalog};
use crate::serve::work;
use crate::written::WrittenGame;

/// The number of positions from which leaves are counted separately, if there are that many positions.
const PARTS: usize = 1000;

/// Returns the positions after each legal action.
fn after(game: &AnyGame, state: &AnyState) -> Vec<AnyState> {
    let played = |action| {
        let mut next = state.clone();
        game.play(&mut next, action);
        next
    };
    game.legal(state).into_iter().map(played).collect()
}

/// Returns the names of all games in the program, including those whose rules are a text.
#[pyfunction]
pub fn games() -> Vec<String> {
    catalog().names()
}

/// Returns the game with this id and these options as JSON, which is how a game is pickled.
#[pyfunction]
#[pyo3(name = "_game")]
pub fn reopened(id: &str, options: &str) -> PyResult<Game> {
    let options: Settings =
        serde_json::from_str(options).map_err(|error| PyValueError::new_err(error.to_string()))?;
    Game::open(id, &options)
}

#[pymethods]
impl Game {
    #[new]
    #[pyo3(signature = (name, **options))]
    fn new(name: &Bound<PyAny>, options: Option<&Bound<PyDict>>) -> PyResult<Game> {
        let options = settings(options)?;
        let Ok(name) = name.extract::<PathBuf>() else {
            let (written, rules) = WrittenGame::of(name, &catalog().names())?;
            return match options.keys().next() {
                Some(option) => Err(PyTypeError::new_err(format!(
                    "{option}: a game that is written in Python has no options; give them to its object"
                ))),
                None => Ok(Game { rules: Arc::new(rules), written: Some(written) }),
            };
        };
        if name.extension().is_some_and(|extension| extension == text_game::EXTENSION) {
            if !petteia::storage::exists(&name).map_err(raised)? {
                return Err(PyFileNotFoundError::new_err(format!("{} does not exist", name.display())));
            }
            let (id, text) = text_game::rules_at(&name).map_err(raised)?;
            return Game::open(&id, &options.into_iter().chain(text).collect());
        }
        Game::open(&name.to_string_lossy(), &options)
    }

    /// Returns the game whose rules are this text, in the language of docs/rules-as-text.md.
    #[staticmethod]
    #[pyo3(signature = (text, **options))]
    fn from_text(text: &str, options: Option<&Bound<PyDict>>) -> PyResult<Game> {
        Game::of_text(text, settings(options)?)
    }

    /// The name of the variant, e.g. "cage-6".
    #[getter]
    fn id(&self) -> &str {
        &self.rules.identity.id
    }

    /// The name for people.
    #[getter]
    fn title(&self) -> String {
        self.any().about().title.to_string()
    }

    /// The names of the first and second players.
    #[getter]
    fn players(&self) -> (String, String) {
        self.any().about().player_names().map(String::from).into()
    }

    /// The options, with their defaults.
    #[getter]
    fn options<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        dict(py, &self.rules.identity.options)
    }

    /// The shape of an encoded position: (planes, height, width).
    #[getter]
    fn shape(&self) -> (usize, usize, usize) {
        self.shape_of()
    }

    /// The number of actions of the policy; an action is a number below this.
    #[getter]
    fn actions(&self) -> usize {
        self.rules.identity.shape.actions
    }

    /// The maximum number of actions in a game.
    #[getter]
    fn max_plies(&self) -> usize {
        self.any().max_plies()
    }

    /// The rules, for people, in Markdown.
    #[getter]
    fn manual(&self) -> String {
        self.any().manual()
    }

    /// Returns a game after `actions`, played from the beginning or from the position that `text` names.
    #[pyo3(signature = (text = None, actions = Vec::new()), text_signature = "($self, text=None, actions=())")]
    fn position(&self, text: Option<&str>, actions: Vec<Bound<PyAny>>) -> PyResult<Position> {
        let start = || text.map_or_else(|| Ok(self.any().initial()), |text| self.any().parse_state(text));
        let position = self.at(self.asked(start)?.map_err(raised)?);
        for action in &actions {
            position.play(action)?;
        }
        Ok(position)
    }

    /// Returns `n` games that are stepped together; with `auto_reset`, a game that has ended begins again at once.
    #[pyo3(signature = (n, auto_reset = true, seed = Whole(0)), text_signature = "($self, n, auto_reset=True, seed=0)")]
    fn batch(&self, n: Whole<usize>, auto_reset: bool, seed: Whole<u64>) -> PyResult<Batch> {
        Batch::new(self.clone(), n.0, auto_reset, seed.0)
    }

    /// Makes the planes that `Batch.observe` returns, float32 [n, planes, height, width], of what
    /// `Batch.observe_packed` returns.
    #[pyo3(signature = (packed, out = None))]
    fn unpack<'py>(
        &self,
        py: Python<'py>,
        packed: PyReadonlyArray3<'py, u64>,
        out: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray4<f32>>> {
        let shape = self.rules.identity.shape;
        let n = packed.shape()[0];
        let wanted = [n, shape.planes, shape.plane_words()];
        let words = match packed.as_slice() {
            Ok(words) if packed.shape() == wanted => words,
            _ => {
                return Err(PyValueError::new_err(format!(
                    "packed: a contiguous array of shape {wanted:?} was expected, not {:?}",
                    packed.shape()
                )));
            }
        };
        if let Some(plane) = shape.misplaced(words) {
            return Err(PyValueError::new_err(format!(
                "packed: plane {} of row {} has squares beyond the board",
                plane % shape.planes,
                plane / shape.planes
            )));
        }
        let fill = |numbers: &mut [f32]| {
            shape.expand(words, numbers);
            Ok(())
        };
        filled(py, out, [n, shape.planes, shape.height, shape.width], fill)
    }

    /// Returns the number of sequences of `depth` actions from the beginning.
    fn perft(&self, py: Python, depth: Whole<usize>) -> PyResult<u64> {
        let (game, depth) = (self.any(), depth.0);
        work(py, self.written.as_ref(), |running| {
            // leaves are counted in parts, so that the work can be interrupted
            let (mut states, mut depth) = (vec![game.initial()], depth);
            while depth > 0 && states.len() < PARTS && !states.is_empty() {
                states = states.iter().flat_map(|state| after(game, state)).collect();
                depth -= 1;
            }
            states.iter().try_fold(0, |leaves, state| {
                if running.goes_on() {
                    Ok(leaves + game.perft(state, depth))
                } else {
                    Err(Error::Interrupted)
                }
            })
        })
    }

    fn __repr__(&self) -> String {
        format!("Game({:?})", self.rules.identity.id)
    }

    fn __eq__(&self, other: &Game) -> PyResult<bool> {
        self.is_alike(other)
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.rules.identity.id.hash(&mut hasher);
        hasher.finish()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        if let Some(written) = &self.written {
            let make = py.get_type::<Game>().into_any();
            return Ok((make, (written.object(),).into_pyobject(py)?));
        }
        let make = py.import("petteia._petteia")?.getattr("_game")?;
        let identity = &self.rules.identity;
        let options = serde_json::to_string(&identity.options).expect("plain data");
        Ok((make, (&identity.id, options).into_pyobject(py)?))
    }
}

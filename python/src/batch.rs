//! `Batch`: many games that are stepped together.

use std::sync::{Mutex, MutexGuard, TryLockError};

use numpy::ndarray::{Dim, Dimension, IntoDimension};
use numpy::{
    Element, PyArray, PyArray1, PyArray2, PyArray3, PyArray4, PyArrayMethods, PyUntypedArray,
    PyUntypedArrayMethods,
};
use petteia::any::batch;
use petteia::session::Session;
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::convert::{Whole, in_use, raised, zeros};
use crate::game::{Game, Position, numbers as action_numbers};
use crate::threads::expect_threads;

/// N instances of one game, each at its own position, that are stepped together.
///
/// `observe`, `mask`, and `to_move` say what the player to move sees in each game; `apply` plays an action in each
/// game. Arrays have a row for each game; `out=` fills an existing array. Only one thread at a time can use a batch.
#[pyclass(frozen, weakref, module = "petteia")]
pub struct Batch {
    game: Game,
    len: usize,
    stepped: Mutex<Stepped>,
}

/// The part of a batch that changes.
struct Stepped {
    games: batch::Batch,
    seed: u64,
    /// How often actions have been drawn so far.
    drawn: u64,
}

impl Batch {
    pub fn new(game: Game, len: usize, auto_reset: bool, seed: u64) -> PyResult<Batch> {
        let games = game.asked(|| batch::Batch::new(game.any(), len, auto_reset))?.map_err(raised)?;
        Ok(Batch { game, len, stepped: Mutex::new(Stepped { games, seed, drawn: 0 }) })
    }

    /// Returns the games for the calling thread.
    fn stepped(&self) -> PyResult<MutexGuard<'_, Stepped>> {
        match self.stepped.try_lock() {
            Ok(stepped) => Ok(stepped),
            Err(TryLockError::Poisoned(stepped)) => Ok(stepped.into_inner()),
            Err(TryLockError::WouldBlock) => Err(in_use("batch")),
        }
    }

    /// Returns the games for work that is spread over the cores unless there are few games.
    fn shared(&self) -> PyResult<MutexGuard<'_, Stepped>> {
        let stepped = self.stepped()?;
        if stepped.games.uses_threads() {
            expect_threads()?;
        }
        Ok(stepped)
    }

    fn check(&self, index: usize) -> PyResult<()> {
        if index < self.len {
            Ok(())
        } else {
            Err(PyIndexError::new_err(format!("there are {} games, not game {index}", self.len)))
        }
    }
}

/// Fills the given array, or a new one, and returns it.
pub(crate) fn filled<'py, T: Element + Copy + Default + Send, const N: usize>(
    py: Python<'py>,
    given: Option<Bound<'py, PyAny>>,
    shape: [usize; N],
    fill: impl FnOnce(&mut [T]) -> PyResult<()> + Send,
) -> PyResult<Bound<'py, PyArray<T, Dim<[usize; N]>>>>
where
    Dim<[usize; N]>: Dimension,
    [usize; N]: IntoDimension<Dim = Dim<[usize; N]>>,
{
    let Some(given) = given else {
        let mut numbers = zeros(shape.iter().fold(1, |len: usize, side| len.saturating_mul(*side)))?;
        py.detach(|| fill(&mut numbers))?;
        return PyArray1::from_vec(py, numbers).reshape(shape);
    };
    let wanted = format!("out: a contiguous array of {} and shape {shape:?} was expected", T::get_dtype(py));
    let array = match given.cast::<PyArray<T, Dim<[usize; N]>>>() {
        Ok(array) if array.shape() == shape && array.is_c_contiguous() => array.clone(),
        Ok(_) => return Err(PyValueError::new_err(wanted)),
        Err(_) => return Err(PyTypeError::new_err(format!("{wanted}, not {}", kind(&given)))),
    };
    let mut writable = array.try_readwrite().map_err(busy)?;
    let numbers = writable.as_slice_mut().map_err(|_| PyValueError::new_err(wanted))?;
    py.detach(|| fill(numbers))?;
    drop(writable);
    Ok(array)
}

/// Describes a value for a message.
fn kind(given: &Bound<PyAny>) -> String {
    match given.cast::<PyUntypedArray>() {
        Ok(array) => format!("one of {} and shape {:?}", array.dtype(), array.shape()),
        Err(_) => given.get_type().to_string(),
    }
}

#[pymethods]
impl Batch {
    /// The rules of the games.
    #[getter]
    fn game(&self) -> Game {
        self.game.clone()
    }

    fn __len__(&self) -> usize {
        self.len
    }

    /// The player to move in each game, int8 [n]: 0 for the first player, 1 for the second.
    #[getter]
    fn to_move<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i8>>> {
        let (stepped, mut movers) = (self.stepped()?, zeros(self.len)?);
        self.game.asked(|| stepped.games.movers(&mut movers))?;
        Ok(PyArray1::from_vec(py, movers))
    }

    /// Returns the planes, float32 [n, planes, height, width], each from the point of view of the player to move.
    #[pyo3(signature = (out = None))]
    fn observe<'py>(
        &self,
        py: Python<'py>,
        out: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray4<f32>>> {
        let mut stepped = self.shared()?;
        let (games, (planes, height, width)) = (&mut stepped.games, self.game.shape_of());
        let fill = |numbers: &mut [f32]| self.game.asked(|| games.observe(numbers));
        filled(py, out, [self.len, planes, height, width], fill)
    }

    /// Returns the planes as bits, uint64 [n, planes, words]: the squares of a plane in words of 64 bits, the lowest
    /// bit first, and then the bits of its number as a 32-bit float. In a plane that has its number on all squares, all
    /// bits of the squares are 1. This takes a small part of the time and the memory of `observe`, and `Game.unpack`
    /// makes the same floats of it.
    #[pyo3(signature = (out = None))]
    fn observe_packed<'py>(
        &self,
        py: Python<'py>,
        out: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray3<u64>>> {
        let mut stepped = self.shared()?;
        let games = &mut stepped.games;
        let shape = games.shape();
        let fill = |words: &mut [u64]| self.game.asked(|| games.observe_words(words));
        filled(py, out, [self.len, shape.planes, shape.plane_words()], fill)
    }

    /// Returns which actions are legal, bool [n, actions]; none where a game is over.
    #[pyo3(signature = (out = None))]
    fn mask<'py>(
        &self,
        py: Python<'py>,
        out: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray2<bool>>> {
        let stepped = self.shared()?;
        let games = &stepped.games;
        let fill = |flags: &mut [bool]| {
            games.mask(flags);
            Ok(())
        };
        filled(py, out, [self.len, games.shape().actions], fill)
    }

    /// Returns a legal action for each game, drawn with equal probability, uint16 [n]; 0 where a game is over. The
    /// batch's seed, or `seed` if given, determines the draws.
    #[pyo3(signature = (seed = None))]
    fn sample<'py>(&self, py: Python<'py>, seed: Option<Whole<u64>>) -> PyResult<Bound<'py, PyArray1<u16>>> {
        let mut stepped = self.shared()?;
        let (seed, draw) = match seed {
            Some(seed) => (seed.0, 0),
            None => {
                stepped.drawn += 1;
                (stepped.seed, stepped.drawn)
            }
        };
        let mut actions = zeros(self.len)?;
        let games = &stepped.games;
        py.detach(|| games.sample(seed, draw, &mut actions));
        Ok(PyArray1::from_vec(py, actions))
    }

    /// Plays an action in each game, uint16 [n], and returns (rewards, ended). The rewards, float32 [n, 2], are 1 and
    /// -1 for the winner and the loser of a game that ends with this action, and otherwise 0. `ended`, bool [n], says
    /// which games have ended. With auto_reset, these games have begun again. Without it, actions for games that are
    /// over are ignored. An illegal action raises a ValueError and changes nothing.
    #[allow(clippy::type_complexity)]
    fn apply<'py>(
        &self,
        py: Python<'py>,
        actions: &Bound<'py, PyAny>,
    ) -> PyResult<(Bound<'py, PyArray2<f32>>, Bound<'py, PyArray1<bool>>)> {
        let (mut stepped, n) = (self.shared()?, self.len);
        // a copy, so that no one can change it after the rules have checked it
        let actions = numbers(actions)?;
        if actions.len() != n {
            return Err(PyValueError::new_err(format!("{} actions for {n} games", actions.len())));
        }
        let (mut rewards, mut ended) = (zeros::<[f32; 2]>(n)?, zeros(n)?);
        let (game, games) = (&self.game, &mut stepped.games);
        py.detach(|| game.asked(|| games.play(&actions, &mut rewards, &mut ended)))?.map_err(raised)?;
        let rewards = PyArray1::from_vec(py, rewards.into_flattened()).reshape([n, 2])?;
        Ok((rewards, PyArray1::from_vec(py, ended)))
    }

    /// Returns the legal actions of a game, uint16, ascending; none if it is over.
    fn legal_actions<'py>(
        &self,
        py: Python<'py>,
        index: Whole<usize>,
    ) -> PyResult<Bound<'py, PyArray1<u16>>> {
        self.check(index.0)?;
        Ok(PyArray1::from_vec(py, action_numbers(self.stepped()?.games.legal(index.0))))
    }

    /// Returns the position of a game, without the actions that led to it.
    fn position(&self, index: Whole<usize>) -> PyResult<Position> {
        self.check(index.0)?;
        let state = self.stepped()?.games.state(index.0);
        Ok(Position::of(self.game.clone(), Session::from(self.game.any().clone(), state)))
    }

    /// Puts a game at a position.
    fn set(&self, index: Whole<usize>, position: &Position) -> PyResult<()> {
        self.check(index.0)?;
        if !position.game.is_alike(&self.game)? {
            return Err(PyValueError::new_err("the position belongs to another game"));
        }
        let (mut stepped, state) = (self.stepped()?, position.state()?);
        self.game.asked(|| stepped.games.set(index.0, &state))
    }

    /// Puts all games, or one of them, at the start.
    #[pyo3(signature = (index = None))]
    fn reset(&self, index: Option<Whole<usize>>) -> PyResult<()> {
        let rows = match index {
            Some(index) => {
                self.check(index.0)?;
                index.0..index.0 + 1
            }
            None => 0..self.len,
        };
        let mut stepped = self.stepped()?;
        rows.for_each(|index| stepped.games.restart(index));
        Ok(())
    }

    fn __repr__(&self) -> String {
        format!("<Batch of {} games of {}>", self.len, self.game.rules.identity.id)
    }
}

/// Returns action numbers, given as integers of any type.
fn numbers(given: &Bound<PyAny>) -> PyResult<Vec<u16>> {
    if let Ok(actions) = given.cast::<PyArray1<u16>>() {
        return Ok(actions.try_readonly().map_err(busy)?.as_array().iter().copied().collect());
    }
    let array = given.py().import("numpy")?.call_method1("asarray", (given,))?;
    if !matches!(array.getattr("dtype")?.getattr("kind")?.extract::<char>()?, 'i' | 'u') {
        return Err(PyTypeError::new_err(format!("actions are integers, not {}", array.getattr("dtype")?)));
    }
    let shape: Vec<usize> = array.getattr("shape")?.extract()?;
    if shape.len() != 1 {
        return Err(PyValueError::new_err(format!(
            "actions must be a list or an array with one number for each game, but the shape is {shape:?}"
        )));
    }
    let actions: Vec<i64> = array.call_method0("tolist")?.extract()?;
    let number = |action: i64| {
        u16::try_from(action).map_err(|_| PyValueError::new_err(format!("there is no action {action}")))
    };
    actions.into_iter().map(number).collect()
}

fn busy(error: numpy::BorrowError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

//! `Batch`, many games that are stepped together.

use numpy::{
    Element, PyArray, PyArray1, PyArray2, PyArray4, PyArrayMethods, PyReadwriteArray2, PyReadwriteArray4,
};
use petteia::any::batch;
use petteia::session::Session;
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::convert::raised;
use crate::game::{Game, Position, numbers as action_numbers};
use crate::serve::expect_threads;

/// N games of one kind, each at a position of its own, that are stepped together.
///
/// `observe`, `mask` and `to_move` say what the player to move sees in each, `apply` plays an action in each. Arrays have a row
/// for each game; with `out=` an array is filled that is there already.
#[pyclass(module = "petteia")]
pub struct Batch {
    game: Game,
    games: batch::Batch,
    seed: u64,
    /// The number of times that actions were drawn.
    drawn: u64,
}

impl Batch {
    pub fn new(game: Game, n: usize, auto_reset: bool, seed: u64) -> PyResult<Batch> {
        let games = game.asked(|| batch::Batch::new(game.any(), n, auto_reset))?;
        Ok(Batch { game, games, seed, drawn: 0 })
    }

    /// Small batches need no threads.
    fn expect_threads(&self) -> PyResult<()> {
        if self.games.uses_threads() { expect_threads() } else { Ok(()) }
    }

    fn check(&self, index: usize) -> PyResult<()> {
        match index < self.games.len() {
            true => Ok(()),
            false => {
                Err(PyIndexError::new_err(format!("there are {} games, not game {index}", self.games.len())))
            }
        }
    }
}

/// The floats or bytes of an array that is to be filled.
fn slice<'a, T: Element, D: numpy::ndarray::Dimension>(
    array: &'a mut numpy::PyReadwriteArray<'_, T, D>,
    shape: &[usize],
) -> PyResult<&'a mut [T]> {
    let wrong = || PyValueError::new_err(format!("out: a contiguous array of shape {shape:?} was expected"));
    if array.as_array().shape() != shape || !array.as_array().is_standard_layout() {
        return Err(wrong());
    }
    array.as_slice_mut().map_err(|_| wrong())
}

/// An array of these numbers.
fn array<T: Element, const N: usize>(
    py: Python,
    numbers: Vec<T>,
    shape: [usize; N],
) -> PyResult<Bound<PyArray<T, numpy::ndarray::Dim<[usize; N]>>>>
where
    numpy::ndarray::Dim<[usize; N]>: numpy::ndarray::Dimension,
    [usize; N]: numpy::ndarray::IntoDimension<Dim = numpy::ndarray::Dim<[usize; N]>>,
{
    PyArray1::from_vec(py, numbers).reshape(shape)
}

#[pymethods]
impl Batch {
    /// The rules.
    #[getter]
    fn game(&self) -> Game {
        self.game.clone()
    }

    fn __len__(&self) -> usize {
        self.games.len()
    }

    /// Who acts in each game, int8 [n]: 0 for the first player, 1 for the second.
    #[getter]
    fn to_move<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i8>>> {
        let mut movers = vec![0; self.games.len()];
        self.game.asked(|| self.games.movers(&mut movers))?;
        Ok(PyArray1::from_vec(py, movers))
    }

    /// The planes, float32 [n, planes, height, width], each from the point of view of the player to move.
    #[pyo3(signature = (out = None))]
    fn observe<'py>(
        &mut self,
        py: Python<'py>,
        out: Option<Bound<'py, PyArray4<f32>>>,
    ) -> PyResult<Bound<'py, PyArray4<f32>>> {
        self.expect_threads()?;
        let (n, (planes, height, width)) = (self.games.len(), self.game.shape_of());
        let shape = [n, planes, height, width];
        let (game, games) = (&self.game, &mut self.games);
        match out {
            Some(given) => {
                let mut writable: PyReadwriteArray4<f32> = given.try_readwrite().map_err(busy)?;
                let numbers = slice(&mut writable, &shape)?;
                py.detach(|| game.asked(|| games.observe(numbers)))?;
                drop(writable);
                Ok(given)
            }
            None => {
                let mut numbers = vec![0.0; shape.iter().product()];
                py.detach(|| game.asked(|| games.observe(&mut numbers)))?;
                array(py, numbers, shape)
            }
        }
    }

    /// Which actions are legal, bool [n, actions]; none where a game is over.
    #[pyo3(signature = (out = None))]
    fn mask<'py>(
        &self,
        py: Python<'py>,
        out: Option<Bound<'py, PyArray2<bool>>>,
    ) -> PyResult<Bound<'py, PyArray2<bool>>> {
        self.expect_threads()?;
        let shape = [self.games.len(), self.games.shape().actions];
        let games = &self.games;
        match out {
            Some(given) => {
                let mut writable: PyReadwriteArray2<bool> = given.try_readwrite().map_err(busy)?;
                let flags = slice(&mut writable, &shape)?;
                py.detach(|| games.mask(flags));
                drop(writable);
                Ok(given)
            }
            None => {
                let mut flags = vec![false; shape.iter().product()];
                py.detach(|| games.mask(&mut flags));
                array(py, flags, shape)
            }
        }
    }

    /// A legal action for each game, drawn with equal probability, uint16 [n]; 0 where a game is over. The draws follow from
    /// the batch's seed, or from `seed`.
    #[pyo3(signature = (seed = None))]
    fn sample<'py>(&mut self, py: Python<'py>, seed: Option<u64>) -> PyResult<Bound<'py, PyArray1<u16>>> {
        self.expect_threads()?;
        let (seed, draw) = match seed {
            Some(seed) => (seed, 0),
            None => {
                self.drawn += 1;
                (self.seed, self.drawn)
            }
        };
        let mut actions = vec![0; self.games.len()];
        let games = &self.games;
        py.detach(|| games.sample(seed, draw, &mut actions));
        Ok(PyArray1::from_vec(py, actions))
    }

    /// Plays an action in each game, uint16 [n], and returns (rewards, ended): float32 [n, 2], 1 and -1 for who has won and lost
    /// with this action, otherwise 0; and bool [n], which games have ended. With auto_reset, those have begun again. Without
    /// it, actions for games that are over are ignored. An illegal action is a ValueError, and nothing has changed.
    #[allow(clippy::type_complexity)]
    fn apply<'py>(
        &mut self,
        py: Python<'py>,
        actions: &Bound<'py, PyAny>,
    ) -> PyResult<(Bound<'py, PyArray2<f32>>, Bound<'py, PyArray1<bool>>)> {
        self.expect_threads()?;
        let n = self.games.len();
        // a copy, which nobody changes after the rules have looked at it
        let actions = numbers(actions)?;
        if actions.len() != n {
            return Err(PyValueError::new_err(format!("{} actions for {n} games", actions.len())));
        }
        let (mut rewards, mut ended) = (vec![[0.0; 2]; n], vec![false; n]);
        let (game, games) = (&self.game, &mut self.games);
        py.detach(|| game.asked(|| games.play(&actions, &mut rewards, &mut ended)))?.map_err(raised)?;
        Ok((array(py, rewards.into_flattened(), [n, 2])?, PyArray1::from_vec(py, ended)))
    }

    /// The legal actions of a game, uint16, ascending; none if it is over.
    fn legal_actions<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyArray1<u16>>> {
        self.check(index)?;
        Ok(PyArray1::from_vec(py, action_numbers(self.games.legal(index))))
    }

    /// The position of a game, without the actions that led there.
    fn position(&self, index: usize) -> PyResult<Position> {
        self.check(index)?;
        let session = Session::from(self.game.any().clone(), self.games.state(index));
        Ok(Position { game: self.game.clone(), session })
    }

    /// Puts a game at a position.
    fn set(&mut self, index: usize, position: &Position) -> PyResult<()> {
        self.check(index)?;
        if !position.game.is_alike(&self.game)? {
            return Err(PyValueError::new_err("the position is of another game"));
        }
        let (game, games) = (&self.game, &mut self.games);
        game.asked(|| games.set(index, position.session.state()))
    }

    /// Puts all games at the start, or one.
    #[pyo3(signature = (index = None))]
    fn reset(&mut self, index: Option<usize>) -> PyResult<()> {
        match index {
            Some(index) => {
                self.check(index)?;
                self.games.restart(index);
            }
            None => (0..self.games.len()).for_each(|index| self.games.restart(index)),
        }
        Ok(())
    }

    fn __repr__(&self) -> String {
        format!("<Batch of {} games of {}>", self.games.len(), self.game.rules.identity.id)
    }
}

/// The numbers of actions, of any type of integers.
fn numbers(given: &Bound<PyAny>) -> PyResult<Vec<u16>> {
    if let Ok(actions) = given.cast::<PyArray1<u16>>() {
        return Ok(actions.try_readonly().map_err(busy)?.as_array().iter().copied().collect());
    }
    let array = given.py().import("numpy")?.call_method1("asarray", (given,))?;
    if !matches!(array.getattr("dtype")?.getattr("kind")?.extract::<char>()?, 'i' | 'u') {
        return Err(PyTypeError::new_err("actions are integers"));
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

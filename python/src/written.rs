//! Games written in Python, as games of the library.
//!
//! Input: an object with the methods of the contract (`help(petteia.Game)`). Output: a [`WrittenGame`], which any
//! thread may call; each call takes the interpreter's lock. Rules cannot fail, so an exception is stored, unwinds the
//! work like a panic, and surfaces where the work was called ([`WrittenGame::guarded`], [`crate::serve`]).

use std::borrow::Cow;
use std::fmt::{self, Debug, Formatter};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use numpy::{PyArrayDyn, PyArrayMethods, PyUntypedArrayMethods};
use petteia::any::Opened;
use petteia::encode::{Planes, Shape};
use petteia::error::{Error, Result};
use petteia::game::{About, Action, BoardStyle, BoardView, Game, GameOptions, Outcome, Player, Rules};
use pyo3::call::PyCallArgs;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};

use crate::convert::{Whole, raised};
use crate::ending;
use crate::threads::answering;

/// The number of words for the squares of the largest board.
const WORDS: usize = petteia::encode::MAX_CELLS.div_ceil(64);

/// A game written in Python.
#[derive(Clone)]
pub struct WrittenGame(Arc<Written>);

struct Written {
    object: Py<PyAny>,
    about: About,
    shape: Shape,
    max_plies: usize,
    /// The letters of the players' pieces on the board.
    pieces: [String; 2],
    has: Has,
    /// The exception that unwinds the work.
    raised: Mutex<Option<PyErr>>,
}

/// The optional methods that a game has.
struct Has {
    action_text: bool,
    key: bool,
    board: bool,
    touched: bool,
    exchanged: bool,
}

/// A position: a value that a Python method returned and that is never changed.
#[derive(Clone)]
pub struct WrittenState(Arc<Value>);

struct Value {
    object: Py<PyAny>,
    game: WrittenGame,
}

impl WrittenGame {
    /// Makes a game from an object, and returns it with its rules.
    ///
    /// # Errors
    /// If something in the contract is missing or of the wrong type.
    pub fn of(object: &Bound<PyAny>, known: &[String]) -> PyResult<(WrittenGame, Opened)> {
        if object.is_instance_of::<PyType>() {
            return Err(PyTypeError::new_err(format!(
                "a game is an object of a class, not the class itself: Game({}())",
                object.cast::<PyType>()?.name()?
            )));
        }
        let missing: Vec<&str> =
            REQUIRED.into_iter().filter(|name| !object.hasattr(*name).unwrap_or(false)).collect();
        if !missing.is_empty() {
            return Err(PyTypeError::new_err(format!(
                "a game is a name, a file, or an object with the attributes and methods of a game \
                 (help(petteia.Game)); this {} lacks {}",
                object.get_type().name()?,
                missing.join(", ")
            )));
        }
        let text = |name: &str, otherwise: &str| -> PyResult<String> {
            object.getattr_opt(name)?.map_or_else(|| Ok(otherwise.into()), |text| text.extract())
        };
        let pair = |name: &str, otherwise: [&str; 2]| -> PyResult<[String; 2]> {
            object.getattr_opt(name)?.map_or_else(|| Ok(otherwise.map(String::from)), |pair| pair.extract())
        };
        let number =
            |name: &str| -> PyResult<usize> { Ok(object.getattr(name)?.extract::<Whole<usize>>()?.0) };
        let (Whole(planes), Whole(height), Whole(width)) = object.getattr("shape")?.extract()?;
        let shape = Shape { planes, height, width, actions: number("actions")? };
        let name = text("name", "")?;
        if known.contains(&name) {
            return Err(PyValueError::new_err(format!(
                "the program has a game `{name}`: choose another name"
            )));
        }
        let encoding = object.getattr_opt("encoding")?.map_or(Ok(1), |encoding| encoding.extract())?;
        let players = pair("players", ["First", "Second"])?;
        let about = About {
            title: text("title", &name)?.into(),
            name: name.into(),
            author: text("author", "its author")?.into(),
            summary: text("summary", "")?.into(),
            colors: players.clone().map(Cow::from),
            players: players.map(Cow::from),
            drawless: false,
            encoding,
            board: BoardStyle::Plain,
            upright: false,
        };
        let has = |name: &str| object.hasattr(name).unwrap_or(false);
        let has = Has {
            action_text: has("action_text"),
            key: has("key"),
            board: has("board"),
            touched: has("touched"),
            exchanged: has("exchanged"),
        };
        let written = Written {
            object: object.clone().unbind(),
            about,
            shape,
            max_plies: number("max_plies")?,
            pieces: pair("pieces", ["", ""])?,
            has,
            raised: Mutex::default(),
        };
        let game = WrittenGame(Arc::new(written));
        let rules = Rules::of(game.clone(), &GameOptions::default()).map_err(raised)?;
        Ok((game, rules.opened()))
    }

    /// Returns the Python object.
    pub fn object(&self) -> &Py<PyAny> {
        &self.0.object
    }

    /// Returns whether the other object is the same one, is equal, or has the same class and attributes.
    pub fn is_alike(&self, other: &WrittenGame) -> PyResult<bool> {
        let _at_work = ending::at_work()?;
        Python::attach(|py| {
            let (one, other) = (self.object().bind(py), other.object().bind(py));
            if one.eq(other)? || !one.get_type().is(other.get_type()) {
                return one.eq(other);
            }
            match (one.getattr_opt("__dict__")?, other.getattr_opt("__dict__")?) {
                (Some(one), Some(other)) => one.eq(other),
                _ => Ok(true),
            }
        })
    }

    fn kept(&self) -> MutexGuard<'_, Option<PyErr>> {
        self.0.raised.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether a method has raised an exception that has not surfaced yet.
    pub fn has_raised(&self) -> bool {
        self.kept().is_some()
    }

    /// Takes the exception that a method has raised, if any.
    pub fn raised(&self) -> Option<PyErr> {
        self.kept().take()
    }

    /// Calls rules; an exception in one of the game's methods becomes the error.
    pub fn guarded<T>(&self, rules: impl FnOnce() -> T) -> PyResult<T> {
        let _at_work = ending::at_work()?;
        self.raised();
        catch_unwind(AssertUnwindSafe(rules))
            .map_err(|panic| self.raised().unwrap_or_else(|| resume_unwind(panic)))
    }

    fn fail(&self, error: PyErr) -> ! {
        let message = error.to_string();
        self.kept().get_or_insert(error);
        // unlike `panic!`, this calls no panic hook, so nothing is printed
        resume_unwind(Box::new(message))
    }

    /// Calls a method and reads what it returns.
    fn call<T>(
        &self,
        name: &str,
        arguments: impl for<'py> PyCallArgs<'py>,
        read: impl FnOnce(Bound<PyAny>) -> PyResult<T>,
    ) -> T {
        if ending::is_near() {
            self.fail(ending::refusal());
        }
        let result = Python::attach(|py| {
            answering(|| self.object().bind(py).call_method1(name, arguments)).and_then(read)
        });
        result.unwrap_or_else(|error| self.fail(error))
    }

    fn keep(&self, object: Bound<PyAny>) -> WrittenState {
        WrittenState(Arc::new(Value { object: object.unbind(), game: self.clone() }))
    }

    /// Returns a grid of texts, the first row on top.
    fn board(&self, state: &WrittenState) -> Vec<Vec<String>> {
        if self.0.has.board {
            // a row may be a text with one letter per square
            self.call("board", (state.object(),), |board| {
                board.try_iter()?.map(|row| row?.try_iter()?.map(|cell| cell?.extract()).collect()).collect()
            })
        } else {
            vec![vec![".".into(); self.0.shape.width]; self.0.shape.height]
        }
    }
}

/// The attributes and methods that a game must have.
const REQUIRED: [&str; 12] = [
    "name",
    "shape",
    "actions",
    "max_plies",
    "initial",
    "to_move",
    "legal_actions",
    "play",
    "outcome",
    "planes",
    "state_text",
    "parse_state",
];

impl WrittenState {
    fn object(&self) -> &Py<PyAny> {
        &self.0.object
    }
}

impl PartialEq for WrittenState {
    fn eq(&self, other: &WrittenState) -> bool {
        if Arc::ptr_eq(&self.0, &other.0) {
            return true;
        }
        let equal = Python::attach(|py| answering(|| self.object().bind(py).eq(other.object().bind(py))));
        equal.unwrap_or_else(|error| self.0.game.fail(error))
    }
}

impl Eq for WrittenState {}

impl Debug for WrittenState {
    fn fmt(&self, out: &mut Formatter) -> fmt::Result {
        write!(out, "{}", self.object())
    }
}

impl Game for WrittenGame {
    type State = WrittenState;

    fn about(&self) -> &About {
        &self.0.about
    }

    fn shape(&self) -> Shape {
        self.0.shape
    }

    fn max_plies(&self) -> usize {
        self.0.max_plies
    }

    fn initial(&self) -> WrittenState {
        self.call("initial", (), |state| Ok(self.keep(state)))
    }

    fn to_move(&self, state: &WrittenState) -> Player {
        self.call("to_move", (state.object(),), |player| match player.extract()? {
            0 => Ok(Player::First),
            1 => Ok(Player::Second),
            other => Err(PyValueError::new_err(format!("to_move is 0 or 1, not {other}"))),
        })
    }

    fn legal_actions(&self, state: &WrittenState, out: &mut Vec<Action>) {
        out.clear();
        if self.outcome(state).is_some() {
            return;
        }
        let numbers: Vec<i64> = self.call("legal_actions", (state.object(),), |actions| {
            // numpy's integers, too
            actions.try_iter()?.map(|action| action?.call_method0("__index__")?.extract()).collect()
        });
        for number in numbers {
            match u16::try_from(number) {
                Ok(action) if usize::from(action) < self.0.shape.actions => out.push(Action(action)),
                _ => self.fail(PyValueError::new_err(format!(
                    "legal_actions contains {number}, but actions are numbers below {}",
                    self.0.shape.actions
                ))),
            }
        }
        out.sort_unstable();
        if out.is_empty() {
            self.fail(PyValueError::new_err(
                "legal_actions is empty, but outcome says that the game is not over",
            ));
        }
    }

    fn play(&self, state: &mut WrittenState, action: Action) {
        let next = self.call("play", (state.object(), action.0), |next| Ok(self.keep(next)));
        if Python::attach(|py| next.object().is(state.object().bind(py))) {
            self.fail(PyTypeError::new_err(
                "play must return a new position and leave the previous one unchanged",
            ));
        }
        *state = next;
    }

    fn outcome(&self, state: &WrittenState) -> Option<Outcome> {
        self.call("outcome", (state.object(),), |outcome| {
            if outcome.is_none() {
                return Ok(None);
            }
            let known = outcome.extract::<String>().ok().and_then(|outcome| Outcome::from_id(&outcome));
            known.map(Some).ok_or_else(|| {
                PyValueError::new_err(format!(
                    "outcome must be \"first\", \"second\", \"draw\", or None, not {}",
                    outcome.repr().map_or_else(|_| "this".into(), |text| text.to_string())
                ))
            })
        })
    }

    fn encode(&self, state: &WrittenState, planes: &mut Planes) {
        let Shape { planes: count, height, width, .. } = self.0.shape;
        self.call("planes", (state.object(),), |value| {
            let named = PyDict::new(value.py());
            named.set_item("dtype", "float32")?;
            let array = value.py().import("numpy")?.call_method("asarray", (value,), Some(&named))?;
            let array = array.cast_into::<PyArrayDyn<f32>>()?;
            if array.shape() != [count, height, width] {
                return Err(PyValueError::new_err(format!(
                    "planes have the shape {:?}, but ({count}, {height}, {width}) was expected",
                    array.shape()
                )));
            }
            let read = array.try_readonly()?;
            let numbers: Vec<f32> = read.as_array().iter().copied().collect();
            for (plane, numbers) in numbers.chunks_exact(height * width).enumerate() {
                if numbers.iter().all(|number| *number == numbers[0] && number.is_finite()) {
                    planes.fill(plane, numbers[0]);
                    continue;
                }
                let mut bits = [0; WORDS];
                for (square, number) in numbers.iter().enumerate() {
                    match number {
                        1.0 => bits[square / 64] |= 1_u64 << (square % 64),
                        0.0 => (),
                        other => {
                            return Err(PyValueError::new_err(format!(
                                "plane {plane} contains the number {other}: a plane must be 0s and 1s, or the same \
                                    number everywhere"
                            )));
                        }
                    }
                }
                planes.set_bits(plane, bits);
            }
            Ok(())
        });
    }

    fn key(&self, state: &WrittenState) -> u64 {
        if self.0.has.key {
            return self.call("key", (state.object(),), |key| {
                // the key may be any integer; its lowest 64 bits are used
                key.call_method1("__and__", (u64::MAX,))?.extract()
            });
        }
        let mut hasher = DefaultHasher::new();
        self.state_text(state).hash(&mut hasher);
        hasher.finish()
    }

    fn action_text(&self, state: &WrittenState, action: Action) -> String {
        if self.0.has.action_text {
            self.call("action_text", (state.object(), action.0), |text| text.extract())
        } else {
            action.0.to_string()
        }
    }

    fn parse_action(&self, state: &WrittenState, text: &str) -> Option<Action> {
        self.legal(state).into_iter().find(|action| self.action_text(state, *action) == text)
    }

    fn state_text(&self, state: &WrittenState) -> String {
        self.call("state_text", (state.object(),), |text| text.extract())
    }

    fn parse_state(&self, text: &str) -> Result<WrittenState> {
        let parsed = Python::attach(|py| {
            let object = self.object().bind(py);
            answering(|| object.call_method1("parse_state", (text,))).map(|state| self.keep(state))
        });
        parsed.or_else(|error| {
            let (is_text, message) =
                Python::attach(|py| (error.is_instance_of::<PyValueError>(py), error.value(py).to_string()));
            // a ValueError is about the text; any other exception is a fault in the rules
            if is_text { Err(Error::Illegal(message)) } else { self.fail(error) }
        })
    }

    fn view(&self, state: &WrittenState) -> BoardView {
        let cells = self.board(state);
        if let Some(row) = cells.iter().find(|row| row.len() != cells[0].len()) {
            self.fail(PyValueError::new_err(format!(
                "board has rows of {} and {} squares",
                cells[0].len(),
                row.len()
            )));
        }
        if cells.is_empty() || cells[0].is_empty() {
            self.fail(PyValueError::new_err("board has no squares"));
        }
        let (height, width) = (cells.len(), cells[0].len());
        let cell = |square: usize| cells[height - 1 - square / width][square % width].clone();
        let note = if self.0.has.board { String::new() } else { self.state_text(state) };
        BoardView::of_squares(height, width, self.0.pieces.each_ref().map(String::as_str), cell, note)
    }

    fn touched(&self, before: &WrittenState, action: Action) -> Vec<(usize, usize)> {
        if self.0.has.touched {
            return self.call("touched", (before.object(), action.0), |squares| squares.extract());
        }
        let mut after = before.clone();
        self.play(&mut after, action);
        let (before, after) = (self.board(before), self.board(&after));
        let squares = before.iter().zip(&after).enumerate().flat_map(|(row, (before, after))| {
            let changed = before.iter().zip(after).enumerate().filter(|(_, (before, after))| before != after);
            changed.map(move |(column, _)| (row, column))
        });
        squares.collect()
    }

    fn exchanged(&self, state: &WrittenState) -> Option<WrittenState> {
        let exchanged = |state: Bound<PyAny>| Ok((!state.is_none()).then(|| self.keep(state)));
        if self.0.has.exchanged { self.call("exchanged", (state.object(),), exchanged) } else { None }
    }
}

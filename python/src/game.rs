//! `Game`: the rules of a variant; `Position`: a game in progress.

use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError};

use numpy::{PyArray1, PyArray3, PyArrayMethods};
use petteia::any::{AnyGame, AnyState, Opened};
use petteia::draw::{self, Marks};
use petteia::encode::Planes;
use petteia::game::{self, Action, Game as _, Outcome};
use petteia::games::Games;
use petteia::options::{Settings, TEXT};
use petteia::registry::Catalog;
use petteia::session::{Session, illegal, meant};
use petteia::text_game;
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyString};

use crate::convert::{in_use, raised, refuse_bool};
use crate::written::WrittenGame;

pub fn catalog() -> Catalog {
    Catalog::of::<Games>()
}

/// The rules of one variant of a game.
///
/// `Game("cage-6")` is a game of the program, `Game("my.game")` is a game whose rules are a text, and keywords are the
/// game's options: `Game("hex", size=7)`. A game is immutable and can be pickled.
///
/// `Game(Nim())` is a game written in Python, which all functions accept. Compared with the program's own games, random
/// games take hundreds of times as long and a search about ten times as long, and only one core works at a time. The
/// object must have
///
///     name                  "nim": lower case with hyphens, and not the name of a game of the program
///     shape                 (planes, height, width) of an encoded position
///     actions               the number of actions; an action is a number below it
///     max_plies             the maximum number of actions in a game
///     initial()             the first position: any immutable value with ==, e.g. a text or a tuple
///     to_move(state)        0 or 1: the player to move; players need not alternate
///     legal_actions(state)  the numbers of the legal actions; not called if the game is over
///     play(state, action)   the position afterward, a new value
///     outcome(state)        None, "first", "second", or "draw"
///     planes(state)         numbers [planes, height, width], from the point of view of the player to move, which show
///                           everything that determines which actions are legal. A plane is 0s and 1s, or one number
///                           everywhere
///     state_text(state)     the position as text on one line, with everything that the rest of the game depends on
///     parse_state(text)     the position with this text; a ValueError if there is none
///
/// It may also have title, author, summary, players (two names), encoding (a number, raised whenever planes or actions
/// change), and
///
///     action_text(state, action)  one word; by default the number
///     board(state)                rows of texts for drawings, the top row first, "." for empty squares; with `board`,
///                                 `pieces` are the letters of the two players, e.g. ("X", "O")
///     touched(state, action)      [(row, column)] of the board; by default the squares that change
///     key(state)                  an integer, equal for positions with the same future; by default, a hash of the text
///     exchanged(state)            the position with the players exchanged, for `check_game`
///
/// `check_game` plays random games and checks the object's answers. Rules written as a text (`Game.from_text`) or in
/// Rust are faster and have symmetries.
#[pyclass(frozen, weakref, module = "petteia")]
#[derive(Clone)]
pub struct Game {
    pub rules: Arc<Opened>,
    /// The object, if the rules are written in Python.
    pub written: Option<WrittenGame>,
}

/// Returns actions as numbers.
pub fn numbers(actions: &[Action]) -> Vec<u16> {
    actions.iter().map(|action| action.0).collect()
}

impl Game {
    pub fn open(id: &str, options: &Settings) -> PyResult<Game> {
        Ok(Game { rules: Arc::new(catalog().open(id, options).map_err(raised)?), written: None })
    }

    pub fn any(&self) -> &AnyGame {
        &self.rules.game
    }

    /// Calls the rules, which may raise an exception if they are written in Python.
    pub fn asked<T>(&self, rules: impl FnOnce() -> T) -> PyResult<T> {
        match &self.written {
            Some(written) => written.guarded(rules),
            None => Ok(rules()),
        }
    }

    /// Returns whether both are the same game.
    pub fn is_alike(&self, other: &Game) -> PyResult<bool> {
        match (&self.written, &other.written) {
            (Some(one), Some(other)) => one.is_alike(other),
            (None, None) => Ok(self.rules.identity == other.rules.identity),
            _ => Ok(false),
        }
    }

    /// Returns (planes, height, width).
    pub fn shape_of(&self) -> (usize, usize, usize) {
        let shape = self.rules.identity.shape;
        (shape.planes, shape.height, shape.width)
    }

    pub fn of_text(text: &str, options: Settings) -> PyResult<Game> {
        let id = text_game::id_of(text).map_err(|problem| PyValueError::new_err(problem.to_string()))?;
        let options = options.into_iter().chain([(TEXT.to_string(), text.into())]).collect();
        Game::open(&id, &options)
    }

    pub fn at(&self, start: AnyState) -> Position {
        Position::of(self.clone(), Session::from(self.any().clone(), start))
    }
}

/// A game in progress: where it began, the actions since then, and the current position.
///
/// An action is its text or a number below `game.actions`, from the point of view of the player to move. `to_move` is
/// the player to move; players need not alternate. While one thread plays or takes back an action, no other thread can
/// use the position.
#[pyclass(frozen, weakref, module = "petteia")]
pub struct Position {
    pub game: Game,
    session: RwLock<Session<AnyGame>>,
}

impl Position {
    pub fn of(game: Game, session: Session<AnyGame>) -> Position {
        Position { game, session: RwLock::new(session) }
    }

    fn session(&self) -> PyResult<RwLockReadGuard<'_, Session<AnyGame>>> {
        match self.session.try_read() {
            Ok(session) => Ok(session),
            Err(TryLockError::Poisoned(session)) => Ok(session.into_inner()),
            Err(TryLockError::WouldBlock) => Err(in_use("position")),
        }
    }

    fn session_to_change(&self) -> PyResult<RwLockWriteGuard<'_, Session<AnyGame>>> {
        match self.session.try_write() {
            Ok(session) => Ok(session),
            Err(TryLockError::Poisoned(session)) => Ok(session.into_inner()),
            Err(TryLockError::WouldBlock) => Err(in_use("position")),
        }
    }

    /// Returns the current position.
    pub fn state(&self) -> PyResult<AnyState> {
        Ok(self.session()?.state().clone())
    }

    /// Calls the rules with the position.
    fn asked<T>(&self, rules: impl FnOnce(&AnyGame, &AnyState) -> T) -> PyResult<T> {
        self.asked_of_session(|session| rules(session.game(), session.state()))
    }

    /// Calls the rules with the game so far.
    fn asked_of_session<T>(&self, rules: impl FnOnce(&Session<AnyGame>) -> T) -> PyResult<T> {
        let session = self.session()?;
        self.game.asked(|| rules(&session))
    }

    /// Returns the legal action that a number or text stands for.
    fn action(&self, session: &Session<AnyGame>, action: &Bound<PyAny>) -> PyResult<Action> {
        let (game, state) = (session.game(), session.state());
        refuse_bool(action)?;
        if action.is_instance_of::<PyString>() {
            let text = action.extract::<String>()?;
            let read = || meant(game, state, &text).ok_or_else(|| illegal(game, state, &text));
            return self.game.asked(read)?.map_err(raised);
        }
        // numpy's integers have __index__, like Python's
        let number = if action.is_instance_of::<PyInt>() {
            action.extract::<i64>()?
        } else {
            action
                .call_method0("__index__")
                .map_err(|_| PyTypeError::new_err("an action is a number or a text"))?
                .extract()?
        };
        let legal = self.game.asked(|| game.legal(state))?;
        let action = u16::try_from(number).ok().map(Action).filter(|action| legal.contains(action));
        action.ok_or_else(|| PyValueError::new_err(format!("action {number} is not legal here")))
    }
}

#[pymethods]
impl Position {
    /// The rules of the game.
    #[getter]
    fn game(&self) -> Game {
        self.game.clone()
    }

    /// The player to move: 0 for the first player, 1 for the second. Players need not alternate.
    #[getter]
    fn to_move(&self) -> PyResult<usize> {
        self.asked(|game, state| game.to_move(state).index())
    }

    /// The position as text, which `Game.position` reads.
    #[getter]
    fn text(&self) -> PyResult<String> {
        self.asked(|game, state| game.state_text(state))
    }

    /// The actions since the beginning, as numbers.
    #[getter]
    fn actions(&self) -> PyResult<Vec<u16>> {
        Ok(numbers(self.session()?.actions()))
    }

    /// The actions since the beginning, as texts.
    #[getter]
    fn action_texts(&self) -> PyResult<Vec<String>> {
        self.asked_of_session(Session::texts)
    }

    /// Whether the game is over.
    #[getter]
    fn is_over(&self) -> PyResult<bool> {
        self.asked_of_session(Session::is_over)
    }

    /// How the game ended: "first", "second", or "draw"; None if it is not over.
    #[getter]
    fn outcome(&self) -> PyResult<Option<&'static str>> {
        self.asked(|game, state| game.outcome(state).map(Outcome::id))
    }

    /// Why the game is over, in a few words; "" if it is not over or if there is only one possible reason.
    #[getter]
    fn ending(&self) -> PyResult<String> {
        self.asked(|game, state| match game.outcome(state) {
            Some(_) => game.ending(state).to_string(),
            None => String::new(),
        })
    }

    /// The results (first, second): 1 for a win, -1 for a loss, otherwise 0.
    #[getter]
    fn returns(&self) -> PyResult<(f32, f32)> {
        let outcome = self.asked(|game, state| game.outcome(state))?;
        let value = |player| outcome.map_or(0.0, |outcome| outcome.value_for(player));
        Ok((value(game::Player::First), value(game::Player::Second)))
    }

    /// A hash of everything that the rest of the game depends on.
    #[getter]
    fn key(&self) -> PyResult<u64> {
        self.asked(|game, state| game.key(state))
    }

    /// Returns the legal actions, ascending; none if the game is over.
    fn legal_actions(&self) -> PyResult<Vec<u16>> {
        self.asked(|game, state| numbers(&game.legal(state)))
    }

    /// Returns the legal actions as texts, in the order of `legal_actions`.
    fn legal_texts(&self) -> PyResult<Vec<String>> {
        self.asked(|game, state| {
            game.legal(state).into_iter().map(|action| game.action_text(state, action)).collect()
        })
    }

    /// Returns the text of a legal action.
    fn action_text(&self, action: &Bound<PyAny>) -> PyResult<String> {
        let session = self.session()?;
        let action = self.action(&session, action)?;
        self.game.asked(|| session.game().action_text(session.state(), action))
    }

    /// Returns the number of the legal action with this text.
    fn action_number(&self, action: &Bound<PyAny>) -> PyResult<u16> {
        Ok(self.action(&*self.session()?, action)?.0)
    }

    /// Plays a legal action, given as its number or its text.
    pub fn play(&self, action: &Bound<PyAny>) -> PyResult<()> {
        let mut session = self.session_to_change()?;
        let action = self.action(&session, action)?;
        self.game.asked(|| session.play(action))
    }

    /// Takes back the last action.
    fn undo(&self) -> PyResult<()> {
        let mut session = self.session_to_change()?;
        if self.game.asked(|| session.undo())? {
            Ok(())
        } else {
            Err(PyIndexError::new_err("there is no action to take back"))
        }
    }

    /// Returns the planes, float32 [planes, height, width], from the point of view of the player to move.
    fn planes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray3<f32>>> {
        let shape = self.game.rules.identity.shape;
        let (mut planes, mut out) = (Planes::new(shape), vec![0.0; shape.input_len()]);
        self.asked(|game, state| game.encode(state, &mut planes))?;
        planes.expand(&mut out);
        PyArray1::from_vec(py, out).reshape([shape.planes, shape.height, shape.width])
    }

    /// Returns which actions are legal, bool [actions].
    fn mask<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<bool>>> {
        let mut mask = vec![false; self.game.rules.identity.shape.actions];
        let legal = self.asked(|game, state| game.legal(state))?;
        legal.iter().for_each(|action| mask[action.index()] = true);
        Ok(PyArray1::from_vec(py, mask))
    }

    /// Returns an independent game at the same position.
    #[pyo3(name = "clone")]
    fn copied(&self) -> PyResult<Position> {
        Ok(Position::of(self.game.clone(), self.session()?.clone()))
    }

    /// Returns a drawing as SVG, with the last action marked.
    fn svg(&self) -> PyResult<String> {
        self.asked_of_session(|session| {
            let (game, state) = (session.game(), session.state());
            let marks = match session.actions().split_last() {
                Some((last, before)) => Marks::after(game, &session.state_after(before.len()), *last),
                None => Marks::default(),
            };
            draw::file(game, state, &marks, &game.state_text(state))
        })
    }

    fn _repr_svg_(&self) -> PyResult<String> {
        self.svg()
    }

    /// Returns the board in letters, the first row on top.
    fn __str__(&self) -> PyResult<String> {
        let view = self.asked(|game, state| game.view(state))?;
        let width = view.cells.iter().flatten().map(|cell| cell.chars().count()).max().unwrap_or(1);
        let row = |row: &Vec<String>| {
            let cells: Vec<String> = row.iter().map(|cell| format!("{cell:>width$}")).collect();
            cells.join(" ").trim_end().to_string()
        };
        Ok(view.cells.iter().map(row).collect::<Vec<_>>().join("\n"))
    }

    fn __repr__(&self) -> PyResult<String> {
        Ok(format!("<Position of {}: {}>", self.game.rules.identity.id, self.text()?))
    }

    fn __eq__(&self, other: &Position) -> PyResult<bool> {
        if !self.game.is_alike(&other.game)? {
            return Ok(false);
        }
        let other = other.state()?;
        self.asked(|_, state| *state == other)
    }

    fn __copy__(&self) -> PyResult<Position> {
        self.copied()
    }

    fn __deepcopy__(&self, _memo: &Bound<PyAny>) -> PyResult<Position> {
        self.copied()
    }

    #[allow(clippy::type_complexity)]
    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, (Game, Option<String>, Vec<u16>))> {
        let (start, game) = (self.session()?.start().clone(), self.game.any());
        let (has_all, is_first) =
            self.asked(|_, _| (game.without_history(&start) == start, start == game.initial()))?;
        if !has_all {
            return Err(PyValueError::new_err(
                "the position began with a history that its text does not have: pickle one that was played from its \
                    start",
            ));
        }
        let text = if is_first { None } else { Some(self.asked(|_, _| game.state_text(&start))?) };
        let make = py.import("petteia")?.getattr("_position")?;
        Ok((make, (self.game.clone(), text, self.actions()?)))
    }
}

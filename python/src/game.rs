//! `Game`, the rules of a variant, and `Position`, a game in progress.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::PathBuf;
use std::sync::Arc;

use numpy::{PyArray1, PyArray3, PyArrayMethods};
use petteia::any::{AnyGame, AnyState, Opened};
use petteia::draw::{self, Marks};
use petteia::encode::Planes;
use petteia::error::Error;
use petteia::game::{self, Action, Game as _, Outcome};
use petteia::games::Games;
use petteia::options::{Settings, TEXT};
use petteia::registry::Catalog;
use petteia::session::{Session, illegal, meant};
use petteia::text_game;
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyString};

use crate::batch::Batch;
use crate::convert::{dict, raised, settings};
use crate::serve::work;

/// A count of leaves is made in so many parts, if there are.
const PARTS: usize = 1000;

/// The positions after each legal action.
fn after(game: &AnyGame, state: &AnyState) -> Vec<AnyState> {
    let played = |action| {
        let mut next = state.clone();
        game.play(&mut next, action);
        next
    };
    game.legal(state).into_iter().map(played).collect()
}

pub fn catalog() -> Catalog {
    Catalog::of::<Games>()
}

/// The names of all games in the program, those whose rules are a text among them.
#[pyfunction]
pub fn games() -> Vec<String> {
    catalog().names()
}

/// The game of an id and its options as JSON: what a pickled game is.
#[pyfunction]
#[pyo3(name = "_game")]
pub fn reopened(id: &str, options: &str) -> PyResult<Game> {
    let options: Settings =
        serde_json::from_str(options).map_err(|error| PyValueError::new_err(error.to_string()))?;
    Game::open(id, &options)
}

/// The rules of one variant of a game.
///
/// `Game("cage-6")` is a game of the program, `Game("my.game")` one whose rules are a text, and keywords are its options:
/// `Game("hex", size=7)`. It is immutable and can be pickled.
#[pyclass(frozen, module = "petteia")]
#[derive(Clone)]
pub struct Game {
    pub rules: Arc<Opened>,
}

impl Game {
    pub fn open(id: &str, options: &Settings) -> PyResult<Game> {
        Ok(Game { rules: Arc::new(catalog().open(id, options).map_err(raised)?) })
    }

    pub fn any(&self) -> &AnyGame {
        &self.rules.game
    }

    /// (planes, height, width).
    pub fn shape_of(&self) -> (usize, usize, usize) {
        let shape = self.rules.identity.shape;
        (shape.planes, shape.height, shape.width)
    }

    fn of_text(text: &str, options: Settings) -> PyResult<Game> {
        let id = text_game::id_of(text).map_err(|problem| PyValueError::new_err(problem.to_string()))?;
        let options = options.into_iter().chain([(TEXT.to_string(), text.into())]).collect();
        Game::open(&id, &options)
    }

    fn at(&self, start: AnyState) -> Position {
        Position { game: self.clone(), session: Session::from(self.any().clone(), start) }
    }
}

#[pymethods]
impl Game {
    #[new]
    #[pyo3(signature = (name, **options))]
    fn new(name: PathBuf, options: Option<&Bound<PyDict>>) -> PyResult<Game> {
        let options = settings(options)?;
        if name.extension().is_some_and(|extension| extension == text_game::EXTENSION) {
            let (id, text) = text_game::rules_at(&name).map_err(raised)?;
            return Game::open(&id, &options.into_iter().chain(text).collect());
        }
        Game::open(&name.to_string_lossy(), &options)
    }

    /// The game whose rules are this text, in the words of docs/rules-as-text.md.
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
        self.any().about().title.into()
    }

    /// The names of the first and the second player.
    #[getter]
    fn players(&self) -> (&'static str, &'static str) {
        self.any().players().into()
    }

    /// The options, with their defaults.
    #[getter]
    fn options<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        dict(py, &self.rules.identity.options)
    }

    /// (planes, height, width) of an encoded position.
    #[getter]
    fn shape(&self) -> (usize, usize, usize) {
        self.shape_of()
    }

    /// The number of actions of the policy; an action is a number below it.
    #[getter]
    fn actions(&self) -> usize {
        self.rules.identity.shape.actions
    }

    /// The most actions in a game.
    #[getter]
    fn max_plies(&self) -> usize {
        self.any().max_plies()
    }

    /// The rules, for people, in Markdown.
    #[getter]
    fn manual(&self) -> String {
        self.any().manual()
    }

    /// A game at its beginning or, with `text`, at the position that it names, after these actions.
    #[pyo3(signature = (text = None, actions = Vec::new()))]
    fn position(&self, text: Option<&str>, actions: Vec<Bound<PyAny>>) -> PyResult<Position> {
        let start = text.map_or_else(|| Ok(self.any().initial()), |text| self.any().parse_state(text));
        let mut position = self.at(start.map_err(raised)?);
        for action in &actions {
            position.play(action)?;
        }
        Ok(position)
    }

    /// `n` games that are stepped together; with `auto_reset`, a game that has ended begins again at once.
    #[pyo3(signature = (n, auto_reset = true, seed = 0))]
    fn batch(&self, n: usize, auto_reset: bool, seed: u64) -> Batch {
        Batch::new(self.clone(), n, auto_reset, seed)
    }

    /// The number of sequences of `depth` actions from the beginning.
    fn perft(&self, py: Python, depth: usize) -> PyResult<u64> {
        let game = self.any();
        work(py, |running| {
            // in parts, so that it can be interrupted
            let (mut states, mut depth) = (vec![game.initial()], depth);
            while depth > 0 && states.len() < PARTS && !states.is_empty() {
                states = states.iter().flat_map(|state| after(game, state)).collect();
                depth -= 1;
            }
            states.iter().try_fold(0, |leaves, state| match running.goes_on() {
                true => Ok(leaves + game.perft(state, depth)),
                false => Err(Error::Interrupted),
            })
        })
    }

    fn __repr__(&self) -> String {
        format!("Game({:?})", self.rules.identity.id)
    }

    fn __eq__(&self, other: &Game) -> bool {
        self.rules.identity == other.rules.identity
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.rules.identity.id.hash(&mut hasher);
        hasher.finish()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String, String))> {
        let make = py.import("petteia._petteia")?.getattr("_game")?;
        let identity = &self.rules.identity;
        let options = serde_json::to_string(&identity.options).expect("plain data");
        Ok((make, (identity.id.clone(), options)))
    }
}

/// A game in progress: where it began, the actions since, and where it is.
///
/// An action is a number below `game.actions`, from the point of view of the player to move, or its text. Who acts is
/// `to_move`: players need not alternate.
#[pyclass(module = "petteia")]
#[derive(Clone)]
pub struct Position {
    pub game: Game,
    pub session: Session<AnyGame>,
}

impl Position {
    fn action(&self, action: &Bound<PyAny>) -> PyResult<Action> {
        let (game, state) = (self.session.game(), self.session.state());
        if action.is_instance_of::<PyString>() {
            let text = action.extract::<String>()?;
            return meant(game, state, &text).ok_or_else(|| raised(illegal(game, state, &text)));
        }
        // numpy's integers have __index__, as Python's have
        let number = match action.is_instance_of::<PyInt>() {
            true => action.extract::<i64>()?,
            false => action
                .call_method0("__index__")
                .map_err(|_| PyTypeError::new_err("an action is a number or a text"))?
                .extract()?,
        };
        let legal = game.legal(state);
        let found = u16::try_from(number).ok().map(Action).filter(|action| legal.contains(action));
        found.ok_or_else(|| PyValueError::new_err(format!("action {number} is not legal here")))
    }
}

#[pymethods]
impl Position {
    /// The rules.
    #[getter]
    fn game(&self) -> Game {
        self.game.clone()
    }

    /// Who acts: 0 for the first player, 1 for the second. They need not alternate.
    #[getter]
    fn to_move(&self) -> usize {
        self.game.any().to_move(self.session.state()).index()
    }

    /// The position as text, which `Game.position` reads.
    #[getter]
    fn text(&self) -> String {
        self.game.any().state_text(self.session.state())
    }

    /// The actions since the beginning, as numbers.
    #[getter]
    fn actions(&self) -> Vec<u16> {
        self.session.actions().iter().map(|action| action.0).collect()
    }

    /// The actions since the beginning, as texts.
    #[getter]
    fn action_texts(&self) -> Vec<String> {
        self.session.texts()
    }

    /// Whether the game is over.
    #[getter]
    fn is_over(&self) -> bool {
        self.session.is_over()
    }

    /// How the game ended: "first", "second" or "draw"; None if it goes on.
    #[getter]
    fn outcome(&self) -> Option<&'static str> {
        self.game.any().outcome(self.session.state()).map(Outcome::id)
    }

    /// Why the game is over, in a few words; "" if it goes on or there is one reason only.
    #[getter]
    fn ending(&self) -> &'static str {
        if self.is_over() { self.game.any().ending(self.session.state()) } else { "" }
    }

    /// (first, second): 1 for who has won, -1 for who has lost, otherwise 0.
    #[getter]
    fn returns(&self) -> (f32, f32) {
        let outcome = self.game.any().outcome(self.session.state());
        let value = |player| outcome.map_or(0.0, |outcome| outcome.value_for(player));
        (value(game::Player::First), value(game::Player::Second))
    }

    /// A hash of everything that the rest of the game depends on.
    #[getter]
    fn key(&self) -> u64 {
        self.game.any().key(self.session.state())
    }

    /// The legal actions, ascending; none if the game is over.
    fn legal_actions(&self) -> Vec<u16> {
        self.session.game().legal(self.session.state()).iter().map(|action| action.0).collect()
    }

    /// The legal actions as texts, in the same order.
    fn legal_texts(&self) -> Vec<String> {
        let (game, state) = (self.session.game(), self.session.state());
        game.legal(state).into_iter().map(|action| game.action_text(state, action)).collect()
    }

    /// The text of a legal action.
    fn action_text(&self, action: &Bound<PyAny>) -> PyResult<String> {
        let action = self.action(action)?;
        Ok(self.session.game().action_text(self.session.state(), action))
    }

    /// The number of the legal action that this text means.
    fn action_number(&self, action: &Bound<PyAny>) -> PyResult<u16> {
        Ok(self.action(action)?.0)
    }

    /// Plays a legal action: its number or its text.
    fn play(&mut self, action: &Bound<PyAny>) -> PyResult<()> {
        let action = self.action(action)?;
        self.session.play(action);
        Ok(())
    }

    /// Takes the last action back.
    fn undo(&mut self) -> PyResult<()> {
        match self.session.undo() {
            true => Ok(()),
            false => Err(PyIndexError::new_err("there is no action to take back")),
        }
    }

    /// The planes, float32 [planes, height, width], from the point of view of the player to move.
    fn planes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray3<f32>>> {
        let shape = self.game.rules.identity.shape;
        let (mut planes, mut out) = (Planes::new(shape), vec![0.0; shape.input_len()]);
        self.session.game().encode(self.session.state(), &mut planes);
        planes.expand(&mut out);
        PyArray1::from_vec(py, out).reshape([shape.planes, shape.height, shape.width])
    }

    /// Which actions are legal, bool [actions].
    fn mask<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<bool>> {
        let mut mask = vec![false; self.game.rules.identity.shape.actions];
        self.session.game().legal(self.session.state()).iter().for_each(|action| mask[action.index()] = true);
        PyArray1::from_vec(py, mask)
    }

    /// A game of its own at the same place.
    #[pyo3(name = "clone")]
    fn copied(&self) -> Position {
        self.clone()
    }

    /// A drawing, as SVG, with the last action marked.
    fn svg(&self) -> String {
        let (game, state) = (self.session.game(), self.session.state());
        let marks = match self.session.actions().split_last() {
            Some((last, before)) => Marks::after(game, &self.session.state_after(before.len()), *last),
            None => Marks::default(),
        };
        draw::file(game, state, &marks, &self.text())
    }

    fn _repr_svg_(&self) -> String {
        self.svg()
    }

    /// The board in letters, the first row on top.
    fn __str__(&self) -> String {
        let view = self.session.game().view(self.session.state());
        let width = view.cells.iter().flatten().map(|cell| cell.chars().count()).max().unwrap_or(1);
        let row = |row: &Vec<String>| {
            let cells: Vec<String> = row.iter().map(|cell| format!("{cell:>width$}")).collect();
            cells.join(" ").trim_end().to_string()
        };
        view.cells.iter().map(row).collect::<Vec<_>>().join("\n")
    }

    fn __repr__(&self) -> String {
        format!("<Position of {}: {}>", self.game.rules.identity.id, self.text())
    }

    fn __eq__(&self, other: &Position) -> bool {
        self.game.__eq__(&other.game) && self.session.state() == other.session.state()
    }

    fn __copy__(&self) -> Position {
        self.clone()
    }

    fn __deepcopy__(&self, _memo: &Bound<PyAny>) -> Position {
        self.clone()
    }

    #[allow(clippy::type_complexity)]
    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, (Game, Option<String>, Vec<u16>))> {
        let game = self.game.any();
        let start = self.session.start();
        if game.without_history(start) != *start {
            return Err(PyValueError::new_err(
                "the position began with a history that its text does not have: pickle one that was played from its start",
            ));
        }
        let text = (*start != game.initial()).then(|| game.state_text(start));
        let make = py.import("petteia")?.getattr("_position")?;
        Ok((make, (self.game.clone(), text, self.actions())))
    }
}

//! The conformance test, which checks that a game satisfies the contract of [`Game`].
//!
//! [`check`] plays seeded random games and examines every position: legal actions, texts, planes, key, symmetries,
//! exchanged players, view, illegal actions, and damaged texts. Additional games avoid ending, to test `max_plies`.
//! [`check`] returns statistics of the random games, or the first violated rule with the seed that reproduces it:
//! `check(&game, 1, violation.seed)` (violations about positions with the same key or planes, or about touched squares,
//! may also need the preceding games). A panic in the rules is a violation, too.

mod exchange;
mod fuzz;
mod planes;
mod playthrough;
mod reviewed;
mod stretched;
mod symmetry;
mod texts;
mod touched;

use std::any::Any;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt::{self, Display};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::encode::{MAX_ACTIONS, MAX_CELLS, MAX_PLANES, Planes};
use crate::game::{Action, BoardView, Game, Outcome, Shape, is_id};
use crate::random::mix;

use exchange::MoverPlanes;
use fuzz::Fuzz;
use touched::Touched;

pub use playthrough::{playthrough, random_game, random_positions};
pub use reviewed::unchanged;

/// The largest number of actions that a message lists.
const LISTED: usize = 6;

/// The number of positions that [`glance`] examines.
const GLANCED: usize = 200;

/// Statistics of the games of a passed [`check`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statistics {
    /// The number of games played.
    pub games: usize,
    /// The number of positions examined, including final ones.
    pub positions: usize,
    /// The number of actions played.
    pub actions: usize,
    /// The sum of the legal actions of all positions.
    pub legal_actions: usize,
    /// The number of plies of the shortest game.
    pub shortest: usize,
    /// The number of plies of the longest game.
    pub longest: usize,
    /// The wins of the first player, the wins of the second player, and the draws.
    pub outcomes: [usize; 3],
}

impl Statistics {
    /// Returns the average number of plies per game.
    pub fn mean_length(&self) -> f64 {
        self.actions as f64 / self.games.max(1) as f64
    }

    /// Returns the average number of legal actions in positions that are not final.
    pub fn mean_branching(&self) -> f64 {
        self.legal_actions as f64 / self.actions.max(1) as f64
    }

    fn add(&mut self, plies: usize, outcome: Outcome) {
        self.shortest = if self.games == 0 { plies } else { self.shortest.min(plies) };
        self.longest = self.longest.max(plies);
        self.games += 1;
        self.actions += plies;
        self.outcomes[match outcome {
            Outcome::Win(player) => player.index(),
            Outcome::Draw => 2,
        }] += 1;
    }
}

impl Display for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let [first, second, draws] = self.outcomes;
        let (length, branching) = (self.mean_length(), self.mean_branching());
        write!(f, "{} games, {} positions, ", self.games, self.positions)?;
        write!(f, "{length:.1} plies per game ({}-{}), ", self.shortest, self.longest)?;
        write!(f, "{branching:.1} legal actions per position; first {first}, second {second}, draws {draws}")
    }
}

/// A violated rule, and where it was violated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The seed of the game in which the rule was violated.
    pub seed: u64,
    /// The number of actions played before the violation.
    pub ply: usize,
    /// The position as text.
    pub position: String,
    /// A description of the violation, in one sentence.
    pub rule: String,
}

impl Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} (seed {}, ply {}, position `{}`)", self.rule, self.seed, self.ply, self.position)
    }
}

impl std::error::Error for Violation {}

/// Checks `game` with `games` random games; game `i` has the seed `seed + i`.
///
/// A test of a game's rules calls this function and shows the [`Violation`], which names the position:
///
/// ```
/// use petteia::conformance::check;
/// use petteia::games::tic_tac_toe::TicTacToe;
///
/// let statistics = check(&TicTacToe, 20, 1)?;
/// assert_eq!(statistics.games, 20);
/// assert!(statistics.shortest >= 5 && statistics.longest <= 9);
/// # Ok::<(), petteia::conformance::Violation>(())
/// ```
///
/// # Errors
/// Returns the first violated rule.
pub fn check<G: Game>(game: &G, games: usize, seed: u64) -> Result<Statistics, Violation> {
    check_while(game, games, seed, &mut |_| true)
}

/// Checks `game` like [`check`], but stops when `goes_on` returns false. `goes_on` is called before each position with
/// the statistics so far. The statistics cover the games that have ended and also the positions of the last, unfinished
/// game.
///
/// # Errors
/// Returns the first violated rule.
pub fn check_while<G: Game>(
    game: &G,
    games: usize,
    seed: u64,
    goes_on: &mut dyn FnMut(&Statistics) -> bool,
) -> Result<Statistics, Violation> {
    let mut checker = Checker {
        game,
        shape: game.shape(),
        keys: HashMap::new(),
        planes: HashMap::new(),
        mover_planes: MoverPlanes::default(),
        touched: Touched::default(),
        report: Statistics::default(),
        goes_on,
    };
    let initial = || game.state_text(&game.initial());
    checker.constants().map_err(|rule| Violation { seed, ply: 0, position: initial(), rule })?;
    let mut seeds = (0..games as u64).map(|index| seed.wrapping_add(index));
    let is_whole = seeds.try_fold(true, |goes_on, seed| Ok(goes_on && checker.random_game(seed)?))?;
    if is_whole {
        checker.long_games(games, seed)?;
    }
    checker.touched.verdict()?;
    Ok(checker.report)
}

/// Examines the first positions of two random games, as a quick check before training an agent for a game. The check
/// costs almost nothing and finds mistakes that occur in every game.
///
/// # Errors
/// Returns the first violated rule.
pub fn glance<G: Game>(game: &G) -> Result<(), Violation> {
    check_while(game, 2, 1, &mut |seen| seen.positions < GLANCED).map(drop)
}

/// The result of a check; `Err` holds the violated rule.
type Checked = Result<(), String>;

/// Returns the text of `rule` as a violation unless `is_kept`.
fn require(is_kept: bool, rule: impl FnOnce() -> String) -> Checked {
    if is_kept { Ok(()) } else { Err(rule()) }
}

/// Runs rules that may panic. If the rules panic, the error message begins with `what`.
fn caught<T>(what: impl FnOnce() -> String, rules: impl FnOnce() -> T) -> Result<T, String> {
    let message = |panic: Box<dyn Any + Send>| match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => panic.downcast_ref::<&str>().unwrap_or(&"no message").to_string(),
    };
    catch_unwind(AssertUnwindSafe(rules)).map_err(|panic| format!("{} panics: {}", what(), message(panic)))
}

struct Checker<'a, G: Game> {
    game: &'a G,
    shape: Shape,
    /// For each key, a digest of everything that positions with the same key must share, and the text of the first
    /// position with that key.
    keys: HashMap<u64, (u64, String)>,
    /// For each hash of planes, a digest of the legal actions, and the text of the first position with these planes.
    planes: HashMap<u64, (u64, String)>,
    mover_planes: MoverPlanes,
    touched: Touched,
    report: Statistics,
    /// Returns whether to examine one more position.
    goes_on: &'a mut dyn FnMut(&Statistics) -> bool,
}

/// A position under examination, with what the rules return for it.
struct ExaminedPosition<S> {
    state: S,
    text: String,
    legal: Vec<Action>,
    /// The legal actions as text.
    actions: Vec<String>,
    encoded: Encoded,
    view: BoardView,
}

/// Two positions whose actions are played side by side. One action is played with the history, which can be long, and
/// all others are played without it.
struct Pair<'a, S> {
    with_history: [&'a S; 2],
    without: [S; 2],
    /// The index of the action that is played with the history, if there is an action.
    due: Option<usize>,
}

impl<'a, S> Pair<'a, S> {
    /// The ply decides which of this number of actions is played with the history.
    fn new<G: Game<State = S>>(game: &G, positions: [&'a S; 2], ply: usize, actions: usize) -> Self {
        Pair {
            with_history: positions,
            without: positions.map(|position| game.without_history(position)),
            due: ply.checked_rem(actions),
        }
    }

    /// Returns the positions to play the action with this index in.
    fn at(&self, index: usize) -> [&S; 2] {
        if Some(index) == self.due { self.with_history } else { self.without.each_ref() }
    }
}

/// A network's input for a position.
struct Encoded {
    planes: Planes,
    /// The numbers, as `[planes, height, width]`.
    numbers: Vec<f32>,
}

impl<G: Game> Checker<'_, G> {
    fn constants(&self) -> Checked {
        let Shape { planes, height, width, actions } = self.shape;
        require(self.shape.is_possible(), || {
            format!(
                "the shape has {planes} planes of {height}x{width} squares and {actions} actions; a network needs at \
                 least one of each, and at most {MAX_PLANES} planes, {MAX_CELLS} squares, and {MAX_ACTIONS} actions"
            )
        })?;
        let about = self.game.about();
        require(is_id(&about.name), || format!("the id `{}` is not in lower case with hyphens", about.name))?;
        let [first, second] = about.player_names();
        require(first != second, || format!("both players are called {first}"))
    }

    /// Plays a random game and returns whether it ended.
    fn random_game(&mut self, seed: u64) -> Result<bool, Violation> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut fuzz = Fuzz::new(seed);
        let mut state = self.game.initial();
        for ply in 0.. {
            if !(self.goes_on)(&self.report) {
                return Ok(false);
            }
            let mut next = || self.examine(&state, (seed, ply), &mut random, &mut fuzz);
            let next = caught(|| "a function of the rules".into(), &mut next).flatten();
            let next = next.map_err(|rule| {
                let position = caught(String::new, || self.game.state_text(&state)).unwrap_or_default();
                Violation { seed, ply, position, rule }
            })?;
            match next {
                Some(next) => state = next,
                None => break,
            }
        }
        Ok(true)
    }

    /// Examines a position and returns the one after a random action, unless the game is over.
    fn examine(
        &mut self,
        state: &G::State,
        (seed, ply): (u64, usize),
        random: &mut Xoshiro256PlusPlus,
        fuzz: &mut Fuzz,
    ) -> Result<Option<G::State>, String> {
        let position = self.look_at(state, ply)?;
        self.same_key(state, &position.text, &position.legal, &position.encoded)?;
        self.same_planes(state, &position.text, &position.legal, &position.encoded)?;
        self.exchange(&position, ply)?;
        self.illegal_actions(&position, random)?;
        self.damaged_texts(&position, fuzz)?;
        self.report.positions += 1;
        self.report.legal_actions += position.legal.len();
        if let Some(outcome) = self.game.outcome(state) {
            let cut_short = self.game.about().drawless && outcome == Outcome::Draw;
            require(!cut_short, || "a game without draws was drawn".into())?;
            self.report.add(ply, outcome);
            return Ok(None);
        }
        let action = position.legal[random.random_range(0..position.legal.len())];
        let next = self.after(state, action);
        self.touched.look(self.game, &position, action, &next, (seed, ply));
        Ok(Some(next))
    }

    /// Returns the position after an action.
    fn after(&self, state: &G::State, action: Action) -> G::State {
        let mut next = state.clone();
        self.game.play(&mut next, action);
        next
    }

    fn look_at(&self, state: &G::State, ply: usize) -> Result<ExaminedPosition<G::State>, String> {
        let state = state.clone();
        let text = self.game.state_text(&state);
        let limit = self.game.max_plies();
        let is_over = self.game.outcome(&state).is_some();
        require(ply < limit || is_over, || {
            format!("the game is not over after max_plies = {limit} actions")
        })?;
        let legal = self.legal_actions(&state)?;
        let encoded = self.encoded(&state)?;
        let actions = self.action_texts(&state, &legal)?;
        let view = self.view(&state, &legal)?;
        let position = ExaminedPosition { state, text, legal, actions, encoded, view };
        self.state_text(&position)?;
        self.symmetries(&position, ply)?;
        Ok(position)
    }

    /// Checks what must be true of legal actions in any position, and returns them.
    fn legal_actions(&self, state: &G::State) -> Result<Vec<Action>, String> {
        // the previous content of the list must not matter
        let mut legal = vec![Action(u16::MAX); 3];
        self.game.legal_actions(state, &mut legal);
        require(!legal.starts_with(&[Action(u16::MAX); 3]), || {
            "legal_actions appends to the given list instead of replacing its contents".into()
        })?;
        let ascending = legal.windows(2).find(|pair| pair[0] >= pair[1]);
        require(ascending.is_none(), || {
            let [one, other] =
                [0, 1].map(|at| self.named(state, ascending.map_or(Action(0), |pair| pair[at])));
            if one == other {
                format!("the legal actions are not ascending: {one} is listed twice")
            } else {
                format!("the legal actions are not ascending: {one} comes before {other}")
            }
        })?;
        let actions = self.shape.actions;
        let in_range = legal.last().is_none_or(|action| action.index() < actions);
        require(in_range, || {
            let last = self.named(state, legal[legal.len() - 1]);
            format!("the legal {last} is not below shape.actions = {actions}")
        })?;
        let outcome = self.game.outcome(state);
        require(legal.is_empty() == outcome.is_some(), || {
            format!("there are {} legal actions, but the outcome is {outcome:?}", legal.len())
        })?;
        let count = self.game.count_legal_actions(state, &mut vec![Action(0)]);
        require(count == legal.len(), || {
            format!("count_legal_actions returns {count}, but there are {} legal actions", legal.len())
        })?;
        Ok(legal)
    }

    /// Returns an action for a message: its text, if it has one here, and its number.
    fn named(&self, state: &G::State, action: Action) -> String {
        let text = if action.index() < self.shape.actions {
            caught(String::new, || self.game.action_text(state, action)).ok()
        } else {
            None
        };
        text.map_or_else(|| format!("action {}", action.0), |text| format!("action `{text}` ({})", action.0))
    }

    /// Describes which actions are missing from `found` and which should not be in it.
    fn difference(&self, state: &G::State, found: &[Action], expected: &[Action]) -> String {
        let only = |these: &[Action], those: &[Action], what: &str| {
            let only: Vec<Action> = these.iter().filter(|action| !those.contains(action)).copied().collect();
            let mut texts: Vec<String> =
                only.iter().take(LISTED).map(|action| self.named(state, *action)).collect();
            if only.len() > LISTED {
                texts.push(format!("{} more", only.len() - LISTED));
            }
            (!texts.is_empty()).then(|| format!("{what} {}", texts.join(", ")))
        };
        let parts = [only(expected, found, "without"), only(found, expected, "with")];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    fn encoded(&self, state: &G::State) -> Result<Encoded, String> {
        let mut planes = Planes::new(self.shape);
        self.game.encode(state, &mut planes);
        let numbers = self.expand(&planes);
        if let Some(at) = numbers.iter().position(|number| !number.is_finite()) {
            let plane = at / self.shape.cells();
            return Err(format!("encode leaves plane {plane} unwritten or not finite"));
        }
        Ok(Encoded { planes, numbers })
    }

    fn expand(&self, planes: &Planes) -> Vec<f32> {
        let mut numbers = vec![f32::NAN; self.shape.input_len()];
        planes.expand(&mut numbers);
        numbers
    }

    /// Returns the first plane in which two positions differ.
    fn differing_plane(&self, one: &[f32], other: &[f32]) -> Option<usize> {
        let at = one.iter().zip(other).position(|(one, other)| one != other);
        at.map(|at| at / self.shape.cells())
    }

    fn view(&self, state: &G::State, legal: &[Action]) -> Result<BoardView, String> {
        let view = self.game.view(state);
        let (rows, columns) = (view.rows.len(), view.columns.len());
        let is_full = view.cells.len() == rows && view.cells.iter().all(|row| row.len() == columns);
        require(is_full && rows * columns > 0, || {
            let cells: Vec<usize> = view.cells.iter().map(Vec::len).collect();
            format!("the view has {rows} row labels and {columns} column labels, but rows of {cells:?} cells")
        })?;
        let [first, second] = &view.pieces;
        require(!first.chars().any(|letter| second.contains(letter)), || {
            format!("the view uses the same letter for pieces of both players: `{first}`, `{second}`")
        })?;
        for &action in legal {
            for (row, column) in self.game.touched(state, action) {
                require(row < rows && column < columns, || {
                    let action = self.named(state, action);
                    format!("{action} touches row {row}, column {column}, which the view does not have")
                })?;
            }
        }
        Ok(view)
    }

    /// Checks that positions with the same key agree in everything that a cache would store for them.
    fn same_key(&mut self, state: &G::State, text: &str, legal: &[Action], encoded: &Encoded) -> Checked {
        let mut hasher = DefaultHasher::new();
        (self.game.to_move(state), self.game.outcome(state), legal.len()).hash(&mut hasher);
        let actions = legal.iter().map(|action| u64::from(action.0));
        let numbers = encoded.numbers.iter().map(|number| u64::from(number.to_bits()));
        // the default hasher is slow for this many numbers
        let digest =
            actions.chain(numbers).fold(hasher.finish(), |digest, number| mix(digest.wrapping_add(number)));
        match self.keys.entry(self.game.key(state)) {
            Entry::Vacant(entry) => {
                entry.insert((digest, text.to_string()));
                Ok(())
            }
            Entry::Occupied(entry) => {
                let (other, other_text) = entry.get();
                require(*other == digest, || {
                    format!("`{text}` and the different position `{other_text}` have the same key")
                })
            }
        }
    }

    fn illegal_actions(
        &self,
        position: &ExaminedPosition<G::State>,
        random: &mut Xoshiro256PlusPlus,
    ) -> Checked {
        let actions = self.shape.actions;
        let mut tries: Vec<u16> = (0..8).map(|_| random.random_range(0..actions) as u16).collect();
        tries.extend([u16::MAX, actions.min(u16::MAX as usize) as u16]);
        for action in tries.into_iter().map(Action).filter(|action| !position.legal.contains(action)) {
            let mut state = position.state.clone();
            let is_refused = self.game.try_play(&mut state, action).is_err();
            require(is_refused, || format!("try_play plays the illegal action {}", action.0))?;
            let same = state == position.state;
            require(same, || format!("try_play of the illegal action {} changes the position", action.0))?;
        }
        Ok(())
    }
}

//! The conformance test: does a game satisfy the contract of [`Game`]?
//!
//! [`check`] plays seeded random games and examines every position: legal actions, texts, planes, key, symmetries,
//! view and illegal actions. It returns statistics of the games, or the first violated rule with the seed that
//! reproduces it: `check(&game, 1, violation.seed)` (a collision of keys may also need the preceding games).

mod playthrough;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt::{self, Display};
use std::hash::{DefaultHasher, Hash, Hasher};

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::board::Symmetry;
use crate::encode::{MAX_CELLS, Planes};
use crate::game::{Action, Game, Outcome, Shape, id_of};

pub use playthrough::playthrough;

/// Statistics of the games of a passed [`check`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statistics {
    /// Games played.
    pub games: usize,
    /// Positions examined, including final ones.
    pub positions: usize,
    /// Actions played.
    pub actions: usize,
    /// Sum of the legal actions of all positions.
    pub legal_actions: usize,
    /// Plies of the shortest game.
    pub shortest: usize,
    /// Plies of the longest game.
    pub longest: usize,
    /// Wins of the first player, wins of the second, draws.
    pub outcomes: [usize; 3],
}

impl Statistics {
    /// Average number of plies per game.
    pub fn mean_length(&self) -> f64 {
        self.actions as f64 / self.games.max(1) as f64
    }

    /// Average number of legal actions in positions that are not final.
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

/// A violated rule and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The seed of the game that shows it.
    pub seed: u64,
    /// Number of actions played before.
    pub ply: usize,
    /// The position as text.
    pub position: String,
    /// What is wrong, in one sentence.
    pub rule: String,
}

impl Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} (seed {}, ply {}, position `{}`)", self.rule, self.seed, self.ply, self.position)
    }
}

impl std::error::Error for Violation {}

/// Checks `game` with this many random games; game `i` has the seed `seed + i`.
pub fn check<G: Game>(game: &G, games: usize, seed: u64) -> Result<Statistics, Violation> {
    let mut checker =
        Checker { game, shape: game.shape(), keys: HashMap::new(), report: Statistics::default() };
    let initial = || game.state_text(&game.initial());
    checker.constants().map_err(|rule| Violation { seed, ply: 0, position: initial(), rule })?;
    for index in 0..games as u64 {
        checker.random_game(seed.wrapping_add(index))?;
    }
    Ok(checker.report)
}

/// `Err` holds the violated rule.
type Checked = Result<(), String>;

/// Reports a violation unless `kept`.
fn require(kept: bool, rule: impl FnOnce() -> String) -> Checked {
    if kept { Ok(()) } else { Err(rule()) }
}

struct Checker<'a, G: Game> {
    game: &'a G,
    shape: Shape,
    /// By key: a digest of everything that positions with the same key must share, and the first such position as
    /// text.
    keys: HashMap<u64, (u64, String)>,
    report: Statistics,
}

/// A position under examination, with its legal actions and planes.
struct Position<S> {
    state: S,
    text: String,
    legal: Vec<Action>,
    planes: Planes,
}

impl<G: Game> Checker<'_, G> {
    fn constants(&self) -> Checked {
        let Shape { planes, height, width, actions } = self.shape;
        let id_like =
            |id: &str| id.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-');
        let sizes = planes > 0 && height > 0 && width > 0 && height * width <= MAX_CELLS;
        require(sizes, || {
            format!("the shape must have planes of 1 to {MAX_CELLS} squares, not {:?}", self.shape)
        })?;
        let fits = (1..=u16::MAX as usize + 1).contains(&actions);
        require(fits, || format!("{actions} actions do not fit in 16 bits"))?;
        require(!G::VARIANTS.is_empty(), || "VARIANTS is empty; the plain game is \"\"".into())?;
        for (index, variant) in G::VARIANTS.iter().enumerate() {
            let id = id_of::<G>(variant);
            require(!id.is_empty() && id_like(&id), || {
                format!("the id `{id}` is not lower case with hyphens")
            })?;
            let new = !G::VARIANTS[..index].contains(variant);
            require(new, || format!("the variant `{variant}` is listed twice"))?;
        }
        let [first, second] = self.game.players();
        require(first != second, || format!("both players are called {first}"))
    }

    fn random_game(&mut self, seed: u64) -> Result<(), Violation> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut state = self.game.initial();
        for ply in 0.. {
            let violation = |rule| {
                let position = self.game.state_text(&state);
                Violation { seed, ply, position, rule }
            };
            let position = self.look_at(&state, ply).map_err(violation)?;
            self.same_key(&position).map_err(violation)?;
            self.illegal_actions(&position, &mut random).map_err(violation)?;
            self.report.positions += 1;
            self.report.legal_actions += position.legal.len();
            if let Some(outcome) = self.game.outcome(&state) {
                let cut_short = G::DRAWLESS && outcome == Outcome::Draw;
                require(!cut_short, || "a game without draws was drawn".into()).map_err(violation)?;
                self.report.add(ply, outcome);
                break;
            }
            let action = position.legal[random.random_range(0..position.legal.len())];
            self.game.play(&mut state, action);
        }
        Ok(())
    }

    fn look_at(&self, state: &G::State, ply: usize) -> Result<Position<G::State>, String> {
        let state = state.clone();
        let text = self.game.state_text(&state);
        let most = self.game.max_plies();
        let over = self.game.outcome(&state).is_some();
        require(ply < most || over, || format!("the game is not over after max_plies = {most} actions"))?;
        let legal = self.legal_actions(&state)?;
        let planes = self.planes(&state)?;
        let position = Position { state, text, legal, planes };
        self.action_texts(&position)?;
        self.state_text(&position)?;
        self.view(&position)?;
        self.symmetries(&position, ply)?;
        Ok(position)
    }

    fn legal_actions(&self, state: &G::State) -> Result<Vec<Action>, String> {
        // the previous content of the list must not matter
        let mut legal = vec![Action(u16::MAX); 3];
        self.game.legal_actions(state, &mut legal);
        let ascending = legal.is_sorted_by(|a, b| a < b);
        require(ascending, || format!("the legal actions are not ascending: {}", indices(&legal)))?;
        let actions = self.shape.actions;
        let in_range = legal.last().is_none_or(|action| action.index() < actions);
        require(in_range, || format!("a legal action is not below shape.actions = {actions}"))?;
        let outcome = self.game.outcome(state);
        require(legal.is_empty() == outcome.is_some(), || {
            format!("there are {} legal actions, but the outcome is {outcome:?}", legal.len())
        })?;
        let counted = self.game.count_legal_actions(state, &mut vec![Action(0)]);
        require(counted == legal.len(), || {
            format!("count_legal_actions says {counted}, but there are {} legal actions", legal.len())
        })?;
        Ok(legal)
    }

    fn action_texts(&self, position: &Position<G::State>) -> Checked {
        // a text is parsed as one action, so texts that round-trip are distinct
        for &action in &position.legal {
            let text = self.game.action_text(&position.state, action);
            let parsed = self.game.parse_action(&position.state, &text);
            require(parsed == Some(action), || {
                format!("the text `{text}` of action {} is parsed as {parsed:?}", action.0)
            })?;
            let mut played = position.state.clone();
            let tried = self.game.try_play(&mut played, action);
            require(tried.is_ok(), || format!("try_play rejects the legal action `{text}`"))?;
            let mut expected = position.state.clone();
            self.game.play(&mut expected, action);
            require(played == expected, || format!("try_play and play differ for the action `{text}`"))?;
        }
        Ok(())
    }

    fn state_text(&self, position: &Position<G::State>) -> Checked {
        let Position { state, text, .. } = position;
        require(!text.contains('\n'), || "the position's text has more than one line".into())?;
        let parsed = self.game.parse_state(text);
        let parsed = parsed.map_err(|error| format!("the position's own text is rejected: {error}"))?;
        let written = self.game.without_history(state);
        require(parsed == written, || "the position parsed from its own text is different".into())?;
        let same = self.game.without_history(&written) == written;
        require(same, || "the position without history still has one".into())?;
        let again = self.game.state_text(&parsed);
        require(again == *text, || format!("the parsed position's text is `{again}`"))?;
        let legal = self.game.legal(&written);
        self.behaves_like(&parsed, &written, &legal, "the position parsed from its own text")?;
        let same = self.game.key(&parsed) == self.game.key(&written);
        require(same, || "equal positions have different keys".into())?;
        // a history may end the game, but has no other effect
        require(legal == position.legal || position.legal.is_empty(), || {
            "the position without history has different legal actions".into()
        })
    }

    /// Checks that both have the same player to move, outcome and legal actions.
    fn behaves_like(&self, other: &G::State, state: &G::State, legal: &[Action], what: &str) -> Checked {
        let same = self.game.to_move(other) == self.game.to_move(state);
        require(same, || format!("{what} has a different player to move"))?;
        let same = self.game.outcome(other) == self.game.outcome(state);
        require(same, || format!("{what} has a different outcome"))?;
        let other = self.game.legal(other);
        require(other == legal, || {
            format!("{what} has different legal actions: {}, not {}", indices(&other), indices(legal))
        })
    }

    fn planes(&self, state: &G::State) -> Result<Planes, String> {
        let mut planes = Planes::new(self.shape);
        self.game.encode(state, &mut planes);
        let numbers = self.expand(&planes);
        if let Some(at) = numbers.iter().position(|number| !number.is_finite()) {
            let plane = at / self.shape.cells();
            return Err(format!("encode leaves plane {plane} unwritten or not finite"));
        }
        Ok(planes)
    }

    fn expand(&self, planes: &Planes) -> Vec<f32> {
        let mut numbers = vec![f32::NAN; self.shape.input_len()];
        planes.expand(&mut numbers);
        numbers
    }

    fn view(&self, position: &Position<G::State>) -> Checked {
        let view = self.game.view(&position.state);
        let (rows, columns) = (view.rows.len(), view.columns.len());
        let full = view.cells.len() == rows && view.cells.iter().all(|row| row.len() == columns);
        require(full && rows * columns > 0, || {
            let cells: Vec<usize> = view.cells.iter().map(Vec::len).collect();
            format!("the view has {rows} row labels and {columns} column labels, but rows of {cells:?} cells")
        })?;
        let [first, second] = view.pieces;
        require(!first.chars().any(|letter| second.contains(letter)), || {
            format!("the view has a letter for pieces of both players: `{first}`, `{second}`")
        })?;
        for &action in &position.legal {
            for (row, column) in self.game.touched(&position.state, action) {
                require(row < rows && column < columns, || {
                    format!(
                        "action {} touches row {row}, column {column}, which is not on the view",
                        action.0
                    )
                })?;
            }
        }
        Ok(())
    }

    fn symmetries(&self, position: &Position<G::State>, ply: usize) -> Checked {
        let symmetries = self.game.symmetries(&position.state);
        let first = symmetries.first() == Some(&Symmetry::IDENTITY);
        require(first, || "the identity is not the first of the symmetries".into())?;
        // all of them at the start, then in turn: a long game has enough positions for each
        let looked_at = |index: &usize| ply < 2 * symmetries.len() || ply % symmetries.len() == *index;
        for index in (0..symmetries.len()).filter(looked_at) {
            self.symmetry(position, symmetries[index]).map_err(|rule| format!("symmetry {index}: {rule}"))?;
        }
        Ok(())
    }

    fn symmetry(&self, position: &Position<G::State>, symmetry: Symmetry) -> Checked {
        let Position { state, legal, planes, .. } = position;
        let mapped = self.game.map_state(symmetry, state);
        let identity = symmetry != Symmetry::IDENTITY || mapped == *state;
        require(identity, || "the identity changes the position".into())?;
        let image: Vec<Action> = legal.iter().map(|a| self.game.map_action(symmetry, *a)).collect();
        let mut sorted = image.clone();
        sorted.sort_unstable();
        self.behaves_like(&mapped, state, &sorted, "the mapped position")?;
        let seen = self.planes(&mapped)?;
        let same = self.expand(&seen) == self.expand(&planes.mapped(symmetry));
        require(same, || "the mapped position's planes are not the mapped planes".into())?;
        for (&action, &image) in legal.iter().zip(&image) {
            let (mut after, mut mapped) = (state.clone(), mapped.clone());
            self.game.play(&mut after, action);
            self.game.play(&mut mapped, image);
            let commutes = self.game.map_state(symmetry, &after) == mapped;
            require(commutes, || format!("playing action {} and mapping do not commute", action.0))?;
        }
        Ok(())
    }

    /// Positions with the same key must agree in everything that a cache would store for them.
    fn same_key(&mut self, position: &Position<G::State>) -> Checked {
        let Position { state, text, legal, planes } = position;
        let mut hasher = DefaultHasher::new();
        (self.game.to_move(state), self.game.outcome(state), legal).hash(&mut hasher);
        self.expand(planes).iter().for_each(|number| number.to_bits().hash(&mut hasher));
        let digest = hasher.finish();
        match self.keys.entry(self.game.key(state)) {
            Entry::Vacant(entry) => {
                entry.insert((digest, text.clone()));
                Ok(())
            }
            Entry::Occupied(entry) => {
                let (other, other_text) = entry.get();
                require(*other == digest, || {
                    format!("the different position `{other_text}` has the same key")
                })
            }
        }
    }

    fn illegal_actions(&self, position: &Position<G::State>, random: &mut Xoshiro256PlusPlus) -> Checked {
        let actions = self.shape.actions;
        let mut tries: Vec<u16> = (0..8).map(|_| random.random_range(0..actions) as u16).collect();
        tries.extend([u16::MAX, actions.min(u16::MAX as usize) as u16]);
        for action in tries.into_iter().map(Action).filter(|action| !position.legal.contains(action)) {
            let mut state = position.state.clone();
            let refused = self.game.try_play(&mut state, action).is_err();
            require(refused, || format!("try_play plays the illegal action {}", action.0))?;
            let same = state == position.state;
            require(same, || format!("try_play of the illegal action {} changes the position", action.0))?;
        }
        Ok(())
    }
}

/// The start of a list of actions, for a message.
fn indices(actions: &[Action]) -> String {
    let shown: Vec<u16> = actions.iter().take(12).map(|action| action.0).collect();
    let more = if actions.len() > shown.len() { " ..." } else { "" };
    format!("{shown:?}{more}")
}

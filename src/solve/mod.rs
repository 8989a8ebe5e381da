//! The exact value of a position, by proof-number search in bounded memory: win, draw, or loss with best play.
//!
//! [`Solver`] asks up to two questions about a position: does the first player win, and does the first player at
//! least draw? The answer comes from a tree: where the first player is to move, the answer is yes if it is yes after at
//! least one action; where the second player is to move, the answer is yes if it is yes after every action. Depth-first
//! proof-number search (Nagai 2002) answers the question with few nodes: it always extends the line whose proof or
//! disproof seems to need the fewest further positions. Players need not alternate. Besides proof numbers, a node has
//! [`Bounds`] of its value, which are valid for both questions.
//!
//! # What the answers are worth
//!
//! - A position is identified by its 64-bit [`Game::key`], so two positions with equal keys would be confused.
//!   With ten million positions in the table, the odds of such a confusion are one in 370,000 (see `table`).
//! - Anything that the key leaves out is ignored here, too: for example, a limit of plies that is only a safety net.
//! - A line that returns to a position with the same key proves nothing. If the value depends on such a line, or if the
//!   nodes are used up, the value stays unknown. An answer is never a guess.

mod table;
mod turns;

use crate::error::{Error, Result};
use crate::game::{Action, Game, Outcome, Player};
use table::{BoundsTable, Entry};
use turns::Goal;

/// The proof number of an impossible proof, which no number of positions can reach.
const INFINITE: u32 = u32::MAX;
/// The number of nodes between two calls of the caller's `more`.
const BETWEEN_CALLS: u64 = 1024;

/// The resources that a solver may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The number of nodes for one call; a node is a position whose actions are listed.
    pub nodes: u64,
    /// The memory for the table, in bytes.
    pub table: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { nodes: 10_000_000, table: 256 << 20 }
    }
}

/// The possible values of a position: the least and the greatest for the first player, each -1, 0, or 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    low: i8,
    high: i8,
}

impl Bounds {
    /// The bounds of a position about which nothing is known.
    pub const UNKNOWN: Bounds = Bounds { low: -1, high: 1 };

    /// Returns the bounds of a known result.
    pub fn of(outcome: Outcome) -> Bounds {
        let value = outcome.value_for(Player::First) as i8;
        Bounds { low: value, high: value }
    }

    /// Returns the result, if it is known.
    pub fn outcome(self) -> Option<Outcome> {
        match (self.low, self.high) {
            (1, 1) => Some(Outcome::Win(Player::First)),
            (0, 0) => Some(Outcome::Draw),
            (-1, -1) => Some(Outcome::Win(Player::Second)),
            _ => None,
        }
    }

    /// Returns the least and the greatest possible value for `player`, each -1, 0, or 1.
    pub fn for_player(self, player: Player) -> (i8, i8) {
        match player {
            Player::First => (self.low, self.high),
            Player::Second => (-self.high, -self.low),
        }
    }

    /// Combines the bounds from two sources.
    fn and(self, other: Bounds) -> Bounds {
        Bounds { low: self.low.max(other.low), high: self.high.min(other.high) }
    }

    /// Returns the bounds of a position in which `player` moves, given the bounds of the positions after its actions.
    fn best(player: Player, children: impl Iterator<Item = Bounds>) -> Bounds {
        let best = |a: i8, b: i8| if player == Player::First { a.max(b) } else { a.min(b) };
        let both = |a: Bounds, b: Bounds| Bounds { low: best(a.low, b.low), high: best(a.high, b.high) };
        children.reduce(both).unwrap_or(Bounds::UNKNOWN)
    }
}

/// The answer about a position and all its actions.
#[derive(Clone, Debug)]
pub struct Solved {
    /// The value of the position.
    pub bounds: Bounds,
    /// The values after each legal action, ascending by action; empty if the game is over.
    pub actions: Vec<(Action, Bounds)>,
    /// The number of nodes that the answer took.
    pub nodes: u64,
}

impl Solved {
    /// Returns the actions that are known to keep the value of the position, ascending; `None` if the value is
    /// unknown, or if no action is known to keep it. Actions with an unknown value may keep it, too.
    pub fn best_actions(&self) -> Option<Vec<Action>> {
        let value = self.bounds.outcome()?;
        let best = self.actions.iter().filter(|(_, bounds)| bounds.outcome() == Some(value));
        let best: Vec<Action> = best.map(|(action, _)| *action).collect();
        (self.actions.is_empty() || !best.is_empty()).then_some(best)
    }
}

/// How far a node is from the answer to the current question.
#[derive(Clone, Copy, Debug)]
struct ProofDistance {
    /// The least numbers of positions that a proof and a disproof still need. Both are infinite if the answer depends
    /// on a repetition.
    numbers: [u32; 2],
    bounds: Bounds,
}

/// A position after one action.
struct Child<S> {
    state: S,
    key: u64,
    proof: ProofDistance,
}

/// Finds exact values and keeps what it has learned for the next position.
///
/// ```
/// use petteia::game::{Game, Outcome};
/// use petteia::games::tic_tac_toe::TicTacToe;
/// use petteia::solve::{Limits, Solver};
///
/// let mut solver = Solver::new(TicTacToe, Limits::default());
/// assert_eq!(solver.outcome(&TicTacToe.initial())?, Outcome::Draw);
/// // against a mark in the corner, only the center draws
/// let corner = TicTacToe.parse_state("X../.../... O")?;
/// let center = TicTacToe.parse_action(&corner, "b2").expect("an empty square");
/// assert_eq!(solver.best_actions(&corner)?, [center]);
/// # Ok::<(), petteia::error::Error>(())
/// ```
pub struct Solver<G: Game> {
    game: G,
    limits: Limits,
    table: BoundsTable,
    /// The keys from the root to the current node.
    path: Vec<u64>,
    nodes: u64,
    stopped: bool,
    /// The search gives up when the proof and the disproof of its root both need more positions than this.
    patience: u32,
    scratch: Vec<Action>,
}

debug_fields!(Solver<G: Game>, limits, nodes);

impl<G: Game> Solver<G> {
    /// Returns a solver that does not know any positions yet.
    pub fn new(game: G, limits: Limits) -> Solver<G> {
        let table = BoundsTable::new(limits.table);
        let (path, scratch) = (Vec::new(), Vec::new());
        Solver { game, limits, table, path, nodes: 0, stopped: false, patience: INFINITE, scratch }
    }

    /// Returns the value of `state`.
    ///
    /// # Errors
    /// If the value is unknown within the limits.
    pub fn outcome(&mut self, state: &G::State) -> Result<Outcome> {
        let solved = turns::solve(self, state, Goal::Value, &mut |_, _| true);
        solved.bounds.outcome().ok_or_else(|| self.unknown("the value"))
    }

    /// Returns the actions that keep the value of `state`, in which the game must not be over: all of them if the
    /// nodes suffice, otherwise those that are known to keep it.
    ///
    /// # Errors
    /// If no action is known to keep the value within the limits.
    pub fn best_actions(&mut self, state: &G::State) -> Result<Vec<Action>> {
        let solved = turns::solve(self, state, Goal::Best, &mut |_, _| true);
        solved.best_actions().ok_or_else(|| match solved.bounds.outcome() {
            Some(_) => self.unknown("the best action"),
            None => self.unknown("the value"),
        })
    }

    /// Returns the value of `state` and of each of its actions. From time to time, and as soon as the value is known,
    /// the solver calls `more` with the number of nodes so far and the bounds of `state`. The search ends when `more`
    /// returns false.
    pub fn solve(&mut self, state: &G::State, mut more: impl FnMut(u64, Bounds) -> bool) -> Solved {
        turns::solve(self, state, Goal::Everything, &mut more)
    }

    /// Returns the value of `state` and of each of its actions, which are solved one after the other, for callers
    /// that need the values of all of them. `more` is as in [`Solver::solve`].
    pub(crate) fn solve_in_order(&mut self, state: &G::State, mut more: impl FnMut(u64) -> bool) -> Solved {
        self.begin();
        let mut actions = Vec::new();
        for action in self.game.legal(state) {
            let mut next = state.clone();
            self.game.play(&mut next, action);
            actions.push((action, self.value(&next, &mut more)));
        }
        let bounds = match self.game.outcome(state) {
            Some(outcome) => Bounds::of(outcome),
            None => Bounds::best(self.game.to_move(state), actions.iter().map(|(_, bounds)| *bounds)),
        };
        Solved { bounds, actions, nodes: self.nodes }
    }

    /// Returns the values of a search's root actions, solved in order; `None` if the value of the root is not found, or
    /// if the search for it [gives up](patience).
    pub(crate) fn look(&mut self, root: &G::State) -> Option<Vec<(Action, Bounds)>> {
        self.begin();
        self.patience = patience(self.limits.nodes);
        let bounds = self.value(root, &mut |_| true);
        self.patience = INFINITE;
        bounds.outcome()?;
        Some(self.solve_in_order(root, |_| true).actions)
    }

    /// Returns the value of `state`, in which the game must not be over, if it is found within `nodes` nodes, which
    /// both questions share. Gives up before that if neither a proof nor a disproof is near.
    pub fn probe(&mut self, state: &G::State, nodes: u64) -> Option<Outcome> {
        let limit = self.limits.nodes;
        self.begin();
        self.patience = patience(nodes);
        let (key, mut bounds) = self.known(state);
        for (threshold, nodes) in [(1, nodes.div_ceil(2)), (0, nodes)] {
            (self.limits.nodes, self.stopped) = (nodes, false);
            bounds = self.ask(state, key, bounds, threshold, &mut |_| true);
        }
        (self.limits.nodes, self.patience) = (limit, INFINITE);
        bounds.outcome()
    }

    fn begin(&mut self) {
        self.path.clear();
        (self.nodes, self.stopped) = (0, false);
    }

    fn unknown(&self, what: &str) -> Error {
        Error::Config(format!(
            "{what} of the position is unknown after {} nodes: the positions of this game may be too hard to solve",
            self.nodes
        ))
    }

    /// Asks both questions, if necessary.
    fn value(&mut self, state: &G::State, more: &mut dyn FnMut(u64) -> bool) -> Bounds {
        if let Some(outcome) = self.game.outcome(state) {
            return Bounds::of(outcome);
        }
        let (key, bounds) = self.known(state);
        [1, 0].into_iter().fold(bounds, |bounds, threshold| self.ask(state, key, bounds, threshold, more))
    }

    /// Returns the key of a position and its bounds in the table.
    fn known(&self, state: &G::State) -> (u64, Bounds) {
        let key = self.game.key(state);
        (key, self.table.get(key).map_or(Bounds::UNKNOWN, |entry| entry.bounds))
    }

    /// Asks whether the first player reaches `threshold`, and returns the bounds of the position.
    fn ask(
        &mut self,
        state: &G::State,
        key: u64,
        bounds: Bounds,
        threshold: i8,
        more: &mut dyn FnMut(u64) -> bool,
    ) -> Bounds {
        if is_answered(bounds, threshold) || self.stopped {
            return bounds;
        }
        bounds.and(self.search(state, key, [INFINITE; 2], threshold, more).bounds)
    }

    /// Searches below `state`, in which the game must not be over, until the question is answered or one of the proof
    /// numbers reaches its limit.
    fn search(
        &mut self,
        state: &G::State,
        key: u64,
        limits: [u32; 2],
        threshold: i8,
        more: &mut dyn FnMut(u64) -> bool,
    ) -> ProofDistance {
        let before = self.nodes;
        self.count(more);
        let player = self.game.to_move(state);
        // the player to move needs the least of the children's numbers on its own side, and their sum on the other
        // side
        let own = player.index();
        self.path.push(key);
        let mut children = self.children(state, threshold);
        let proof = loop {
            let proof = combined(player, &children, threshold);
            let reached = (0..2).any(|number| proof.numbers[number] >= limits[number]);
            if reached || is_answered(proof.bounds, threshold) || self.stopped {
                break proof;
            }
            if self.path.len() == 1 && proof.numbers.iter().all(|number| *number > self.patience) {
                self.stopped = true;
                break proof;
            }
            let (best, second) = most_promising(&children, own);
            let child = &children[best];
            let mut child_limits = [0; 2];
            // search up to the second-best number plus a quarter, so that the search does not jump back and forth
            child_limits[own] = limits[own].min(second.saturating_add(second / 4).saturating_add(1));
            let others = proof.numbers[1 - own].saturating_sub(child.proof.numbers[1 - own]);
            child_limits[1 - own] = limits[1 - own].saturating_sub(others);
            let result = self.search(&child.state, child.key, child_limits, threshold, more);
            let known = children[best].proof.bounds.and(result.bounds);
            children[best].proof = ProofDistance { bounds: known, ..result };
        };
        self.path.pop();
        self.remember(key, proof, threshold, self.nodes - before);
        proof
    }

    fn count(&mut self, more: &mut dyn FnMut(u64) -> bool) {
        self.nodes += 1;
        if self.nodes >= self.limits.nodes || (self.nodes.is_multiple_of(BETWEEN_CALLS) && !more(self.nodes))
        {
            self.stopped = true;
        }
    }

    /// Stores the result of `work` nodes of search. A result that depends on the path to this position is not stored.
    fn remember(&mut self, key: u64, proof: ProofDistance, threshold: i8, work: u64) {
        let ProofDistance { numbers, bounds } = proof;
        // the table may have an answer to the other question
        let (bounds, work) = match self.table.get(key) {
            Some(entry) => (bounds.and(entry.bounds), work + u64::from(entry.work)),
            None => (bounds, work),
        };
        let is_stuck = numbers == [INFINITE; 2];
        if !is_stuck || bounds != Bounds::UNKNOWN {
            let numbers = if is_stuck { [1, 1] } else { numbers };
            let work = work.min(u64::from(u32::MAX)) as u32;
            self.table.put(Entry { key, numbers, work, bounds, threshold });
        }
    }

    /// Returns the positions after each action, with what is known about them.
    fn children(&mut self, state: &G::State, threshold: i8) -> Vec<Child<G::State>> {
        let mut legal = std::mem::take(&mut self.scratch);
        self.game.legal_actions(state, &mut legal);
        let mut children = Vec::with_capacity(legal.len());
        for &action in &legal {
            let mut next = state.clone();
            self.game.play(&mut next, action);
            let key = self.game.key(&next);
            children.push(Child {
                key,
                proof: ProofDistance { numbers: [1, 1], bounds: Bounds::UNKNOWN },
                state: next,
            });
        }
        self.table.load(children.iter().map(|child| child.key));
        for child in &mut children {
            child.proof = self.first_guess(child, threshold, &mut legal);
        }
        self.scratch = legal;
        children
    }

    /// Returns the proof of a position before it is searched: from its result, from the table, or guessed from the
    /// number of its actions.
    fn first_guess(
        &self,
        child: &Child<G::State>,
        threshold: i8,
        scratch: &mut Vec<Action>,
    ) -> ProofDistance {
        let Child { state, key, .. } = child;
        if let Some(outcome) = self.game.outcome(state) {
            return ProofDistance::of(Bounds::of(outcome), threshold, [1, 1]);
        }
        let mut guess = [1, 1];
        let mut bounds = Bounds::UNKNOWN;
        match self.table.get(*key) {
            Some(entry) => {
                bounds = entry.bounds;
                if entry.threshold == threshold {
                    guess = entry.numbers;
                }
            }
            None => {
                let other = 1 - self.game.to_move(state).index();
                guess[other] = self.game.count_legal_actions(state, scratch) as u32;
            }
        }
        if !is_answered(bounds, threshold) && self.path.contains(key) {
            return ProofDistance { numbers: [INFINITE; 2], bounds };
        }
        ProofDistance::of(bounds, threshold, guess)
    }
}

impl ProofDistance {
    /// Returns a proof with `numbers`, unless the bounds already answer the question.
    fn of(bounds: Bounds, threshold: i8, numbers: [u32; 2]) -> ProofDistance {
        let numbers = match (bounds.low >= threshold, bounds.high < threshold) {
            (true, _) => [0, INFINITE],
            (_, true) => [INFINITE, 0],
            // numbers stored for the other question may be infinite
            _ => numbers.map(|number| number.clamp(1, INFINITE - 1)),
        };
        ProofDistance { numbers, bounds }
    }
}

/// Returns the patience of a search with this number of nodes: the greatest of the numbers that still let it go on.
///
/// Most positions of a game have no short proof, and a search of such a position spends all of its nodes, while its
/// numbers grow. A search that finds an answer hardly ever has two large numbers before: with 1,000 nodes, searches
/// that give up at the square root of the nodes find 97 to 99 % of the answers for 10 to 40 % of the nodes (Cage 6x6,
/// Connect Four, Phage), and with 16 nodes, all of them for 25 to 45 %.
fn patience(nodes: u64) -> u32 {
    u32::try_from(nodes.isqrt()).unwrap_or(INFINITE)
}

/// Returns whether the bounds determine if the first player reaches `threshold`.
fn is_answered(bounds: Bounds, threshold: i8) -> bool {
    bounds.low >= threshold || bounds.high < threshold
}

/// Returns the proof of a node: the least of the children's numbers for the side of the player to move, and their sum
/// for the other side.
fn combined<S>(player: Player, children: &[Child<S>], threshold: i8) -> ProofDistance {
    let bounds = Bounds::best(player, children.iter().map(|child| child.proof.bounds));
    let (own, other) = (player.index(), 1 - player.index());
    let mut numbers = [INFINITE, 0];
    for child in children {
        let child = child.proof.numbers;
        numbers[0] = numbers[0].min(child[own]);
        // a child that depends on a repetition does not count, so that the other children are searched
        if child != [INFINITE; 2] {
            numbers[1] = numbers[1].saturating_add(child[other]);
        }
    }
    let [smallest, sum] = numbers;
    if !is_answered(bounds, threshold) && smallest == INFINITE {
        return ProofDistance { numbers: [INFINITE; 2], bounds };
    }
    let mut numbers = [0; 2];
    (numbers[own], numbers[other]) = (smallest, sum);
    ProofDistance::of(bounds, threshold, numbers)
}

/// Returns the child with the least number on the side of the player to move, and the next smallest number.
fn most_promising<S>(children: &[Child<S>], own: usize) -> (usize, u32) {
    let number = |place: usize| children[place].proof.numbers[own];
    let best = (0..children.len()).min_by_key(|place| number(*place)).unwrap_or(0);
    let others = (0..children.len()).filter(|place| *place != best);
    (best, others.map(number).min().unwrap_or(INFINITE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::games::connect_four::ConnectFour;
    use crate::random::{Purpose, choose, stream};

    /// Plays a random game, and calls `visit` with each position in which somebody is to move.
    fn random_game(number: u64, mut visit: impl FnMut(&<ConnectFour as Game>::State)) {
        let (game, mut random) = (ConnectFour, stream(0, Purpose::Start, &[number]));
        let mut state = game.initial();
        loop {
            let legal = game.legal(&state);
            if legal.is_empty() {
                return;
            }
            visit(&state);
            game.play(&mut state, choose(&mut random, &legal));
        }
    }

    #[test]
    fn a_probe_saves_nodes_and_finds_nearly_all_values() {
        const NODES: u64 = 1000;
        let limits = Limits { nodes: NODES, table: 1 << 16 };
        let (mut with, mut without) = (Solver::new(ConnectFour, limits), [0; 2]);
        let (mut found, mut spent) = ([0; 2], [0; 2]);
        for number in 0..40 {
            random_game(number, |state| {
                found[0] += usize::from(with.probe(state, NODES).is_some());
                spent[0] += with.nodes;
                let mut patient = Solver::new(ConnectFour, limits);
                let value = patient.outcome(state).ok();
                found[1] += usize::from(value.is_some());
                spent[1] += patient.nodes;
                if let (Some(short), Some(long)) = (with.probe(state, NODES), value) {
                    assert_eq!(short, long, "what a probe finds is the value");
                }
                without[usize::from(value.is_some())] += 1;
            });
        }
        assert!(without.iter().all(|count| *count > 50), "easy and hard positions: {without:?}");
        assert!(found[0] * 100 >= found[1] * 95, "{found:?} values");
        assert!(spent[0] * 3 < spent[1] * 2, "{spent:?} nodes");
    }
}

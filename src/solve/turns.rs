//! Finds the value of a position and of its actions by asking questions in turn, so that no hard question uses up the
//! nodes of an easy one.
//!
//! Each round asks about the position itself first, then about each action that is still unknown; the next round has
//! twice the nodes for each question. The table remembers the results of all rounds. What a result implies for the
//! position or its actions is applied at once: one winning action decides the position, and no action is worth more
//! than the position.

use super::{Bounds, Solved, Solver, is_answered};
use crate::game::{Action, Game, Player};

/// The number of nodes for each question about an action in the first round.
const FIRST_SHARE: u64 = 16;
/// While actions are unknown, a question about the position gets at most this fraction (1 / PART) of the remaining
/// nodes.
const PART: u64 = 4;
/// The questions: does the first player win, and does the first player at least draw?
const THRESHOLDS: [i8; 2] = [1, 0];

/// The goal of a search.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Goal {
    /// The value of the position.
    Value,
    /// The actions that keep the value of the position.
    Best,
    /// The value of each action.
    Everything,
}

/// Receives the number of nodes so far and the bounds of the position, and ends the search by returning false.
pub(super) type More<'a> = &'a mut dyn FnMut(u64, Bounds) -> bool;

/// A position and its bounds.
struct BoundedPosition<S> {
    state: S,
    key: u64,
    bounds: Bounds,
    /// For each threshold, whether the answer depends on a repetition, in which case no number of nodes finds it.
    stuck: [bool; 2],
}

impl<S> BoundedPosition<S> {
    /// Returns whether a question about a position with these bounds is worth spending nodes on.
    fn is_open(&self, bounds: Bounds, question: usize, drawless: bool) -> bool {
        let is_open = |question: usize| !self.stuck[question] && !is_answered(bounds, THRESHOLDS[question]);
        // without draws, both questions are the same, unless a game may end by its limit
        is_open(question) && !(drawless && question == 1 && is_open(0))
    }
}

/// A solver and the number of nodes for all questions together.
struct NodeBudget<'a, G: Game> {
    solver: &'a mut Solver<G>,
    whole: u64,
    more: More<'a>,
    ended: bool,
}

impl<G: Game> NodeBudget<'_, G> {
    fn left(&self) -> u64 {
        if self.ended { 0 } else { self.whole.saturating_sub(self.solver.nodes) }
    }

    /// Asks a question with at most `share` nodes (at least 1), while the root has the bounds `root`.
    fn ask(&mut self, position: &mut BoundedPosition<G::State>, question: usize, share: u64, root: Bounds) {
        let threshold = THRESHOLDS[question];
        let solver = &mut *self.solver;
        (solver.limits.nodes, solver.stopped) = (self.whole.min(solver.nodes.saturating_add(share)), false);
        let (more, ended) = (&mut *self.more, &mut self.ended);
        let mut more = |nodes| {
            *ended |= !more(nodes, root);
            !*ended
        };
        let known = position.bounds.and(solver.known(&position.state).1);
        position.bounds = solver.ask(&position.state, position.key, known, threshold, &mut more);
        position.stuck[question] = !solver.stopped && !is_answered(position.bounds, threshold);
        solver.limits.nodes = self.whole;
    }
}

/// One search in progress.
struct Turns<'a, G: Game> {
    budget: NodeBudget<'a, G>,
    player: Player,
    root: BoundedPosition<G::State>,
    actions: Vec<(Action, BoundedPosition<G::State>)>,
    wanted: Goal,
    announced: bool,
}

/// Solves `state` in turns, within the limits of `solver`.
pub(super) fn solve<G: Game>(solver: &mut Solver<G>, state: &G::State, goal: Goal, more: More) -> Solved {
    solver.begin();
    if let Some(outcome) = solver.game.outcome(state) {
        return Solved { bounds: Bounds::of(outcome), actions: Vec::new(), nodes: 0 };
    }
    let player = solver.game.to_move(state);
    let legal = if goal == Goal::Value { Vec::new() } else { solver.game.legal(state) };
    let after = |action: Action| {
        let mut next = state.clone();
        solver.game.play(&mut next, action);
        (action, asked(solver, next))
    };
    let actions = legal.into_iter().map(after).collect();
    let (root, whole) = (asked(solver, state.clone()), solver.limits.nodes);
    let budget = NodeBudget { solver, whole, more, ended: false };
    let mut turns = Turns { budget, player, root, actions, wanted: goal, announced: false };
    turns.run();
    let actions = turns.actions.into_iter().map(|(action, position)| (action, position.bounds)).collect();
    Solved { bounds: turns.root.bounds, actions, nodes: turns.budget.solver.nodes }
}

/// Returns a position with the bounds of its result or those from the table.
fn asked<G: Game>(solver: &Solver<G>, state: G::State) -> BoundedPosition<G::State> {
    let (key, known) = solver.known(&state);
    let bounds = solver.game.outcome(&state).map_or(known, Bounds::of);
    BoundedPosition { state, key, bounds, stuck: [false; 2] }
}

impl<G: Game> Turns<'_, G> {
    fn run(&mut self) {
        self.deduce();
        let mut share = FIRST_SHARE;
        loop {
            let count: u64 = self.actions.iter().map(|(_, position)| self.open_questions(position)).sum();
            let is_root_open =
                (0..2).any(|question| self.root.is_open(self.root.bounds, question, self.drawless()));
            if self.budget.left() == 0 || count == 0 && !is_root_open {
                return;
            }
            self.ask_root(share, count);
            for at in 0..self.actions.len() {
                self.ask_action(at, share);
            }
            self.deduce();
            share = share.saturating_mul(2);
        }
    }

    fn drawless(&self) -> bool {
        self.budget.solver.game.about().drawless
    }

    fn ask_root(&mut self, share: u64, count: u64) {
        for question in self.order() {
            let left = self.budget.left();
            if self.root.is_open(self.root.bounds, question, self.drawless()) && left > 0 {
                let part = share.saturating_mul(count).min(left / PART).max(1);
                let known = self.root.bounds;
                self.budget.ask(&mut self.root, question, if count > 0 { part } else { share }, known);
            }
        }
        self.deduce();
    }

    fn ask_action(&mut self, at: usize, share: u64) {
        for question in self.order() {
            if self.budget.left() > 0 && self.is_wanted(&self.actions[at].1, question) {
                let position = &mut self.actions[at].1;
                self.budget.ask(position, question, share, self.root.bounds);
                let bounds = position.bounds;
                // one winning action decides the position
                self.root.bounds = self.root.bounds.and(self.at_least(bounds));
                self.announce();
            }
        }
    }

    /// Returns the order of the questions. The question whether the player to move wins comes first.
    fn order(&self) -> [usize; 2] {
        if self.player == Player::First { [0, 1] } else { [1, 0] }
    }

    fn open_questions(&self, position: &BoundedPosition<G::State>) -> u64 {
        (0..2).filter(|question| self.is_wanted(position, *question)).count() as u64
    }

    /// Returns whether the answer to `question` is unknown and matters.
    fn is_wanted(&self, position: &BoundedPosition<G::State>, question: usize) -> bool {
        let bounds = position.bounds.and(self.at_most(self.root.bounds));
        if !position.is_open(bounds, question, self.drawless()) {
            return false;
        }
        match (self.wanted, self.root.bounds.outcome()) {
            // is the action worth as much as the position?
            (Goal::Best, Some(outcome)) => {
                let value = outcome.value_for(Player::First) as i8;
                let threshold = if self.player == Player::First { value } else { value + 1 };
                self.drawless() || THRESHOLDS[question] == threshold
            }
            _ => true,
        }
    }

    /// Returns the bounds of a position from which the player to move can reach a position with these bounds.
    fn at_least(&self, bounds: Bounds) -> Bounds {
        match self.player {
            Player::First => Bounds { high: 1, ..bounds },
            Player::Second => Bounds { low: -1, ..bounds },
        }
    }

    /// Returns the bounds of every position that the player to move can reach from a position with these bounds.
    fn at_most(&self, bounds: Bounds) -> Bounds {
        match self.player {
            Player::First => Bounds { low: -1, ..bounds },
            Player::Second => Bounds { high: 1, ..bounds },
        }
    }

    /// Derives bounds of the actions from the bounds of the position, and the other way around.
    fn deduce(&mut self) {
        let player = self.player;
        let after = self.actions.iter().map(|(_, position)| position.bounds);
        self.root.bounds = self.root.bounds.and(Bounds::best(player, after));
        let root = self.root.bounds;
        let (ceiling, floor) = (self.at_most(root), self.at_least(root));
        let worth = root.for_player(player).0;
        for (_, position) in &mut self.actions {
            position.bounds = position.bounds.and(ceiling);
        }
        let reaches = |position: &BoundedPosition<G::State>| position.bounds.for_player(player).1 >= worth;
        let mut candidates = self.actions.iter_mut().filter(|(_, position)| reaches(position));
        // if only one action can be worth as much as the position, it is worth exactly that
        if let (Some((_, only)), None) = (candidates.next(), candidates.next()) {
            only.bounds = only.bounds.and(floor);
        }
        self.announce();
    }

    /// Reports the value of the position once, as soon as it is known.
    fn announce(&mut self) {
        if !self.announced && self.root.bounds.outcome().is_some() {
            self.announced = true;
            let nodes = self.budget.solver.nodes;
            self.budget.ended |= !(self.budget.more)(nodes, self.root.bounds);
        }
    }
}

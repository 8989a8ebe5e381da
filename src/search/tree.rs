//! One search tree, without threads, network, or random numbers.
//!
//! A simulation is a [`Walk`](super::walk::Walk): [`Tree::select`] takes it to a leaf and, if the leaf needs an
//! evaluation, [`Tree::apply`] adds the evaluation. Values are for [`Player::First`] everywhere in the tree, so no sign
//! changes on the way up, and a player may act twice in a row. [`for_first`] and [`Edge::mean_for`] convert values
//! between the players' points of view. `proof` proves results from finished games and propagates them. Everything
//! specific to the root is in `root`.

use super::evaluator::Wdl;
use super::nodes::Nodes;
use super::root::RootPlan;
use crate::config::SearchConfig;
use crate::game::{Action, Game, Outcome, Player};

pub(super) const ROOT: usize = 0;

/// An action of a node, with the statistics of the resulting position.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    /// The action.
    pub action: Action,
    /// Simulations through the action.
    pub visits: u32,
    /// The evaluator's probability, with noise at a noisy root.
    pub prior: f32,
    /// The exact result, once known.
    pub proven: Option<Outcome>,
    /// The plies to the end of the game according to the proof of a win or a loss, including this action.
    pub plies: Option<u32>,
    /// The mean value for the first player; meaningless if proven.
    mean: f32,
    pub(super) child: Option<usize>,
}

impl Edge {
    /// Returns the mean value for `player`, exact if proven, `None` without visits.
    pub fn mean_for(&self, player: Player) -> Option<f32> {
        match self.proven {
            Some(outcome) => Some(outcome.value_for(player)),
            None if self.visits == 0 => None,
            None => Some(for_first(player, self.mean)),
        }
    }
}

/// Converts a value for `player` to one for the first player, and back.
pub fn for_first(player: Player, value: f32) -> f32 {
    match player {
        Player::First => value,
        Player::Second => -value,
    }
}

/// The search tree of one position.
///
/// ```
/// use petteia::config::SearchConfig;
/// use petteia::game::{Game, Outcome, Player, line_text};
/// use petteia::games::tic_tac_toe::TicTacToe;
/// use petteia::random::{Purpose, stream};
/// use petteia::search::{Search, evaluator::Uniform};
///
/// let state = TicTacToe.parse_state("XX./OO./... X")?;
/// let mut search = Search::new(TicTacToe, SearchConfig::default(), state);
/// search.run(&mut Uniform, 100, &mut stream(1, Purpose::Agent, &[]))?;
/// let tree = search.tree();
/// assert_eq!(line_text(&TicTacToe, &state, &tree.principal_variation()), ["c3"]);
/// // a search ends as soon as its root is solved
/// assert_eq!(tree.proven(), Some(Outcome::Win(Player::First)));
/// assert!(tree.visits() < 100);
/// # Ok::<(), petteia::error::Error>(())
/// ```
pub struct Tree<G: Game> {
    pub(super) game: G,
    pub(super) config: SearchConfig,
    pub(super) root: G::State,
    pub(super) nodes: Nodes,
    /// The noise and the plan of this root's search.
    pub(super) plan: RootPlan,
    /// The number of walks in flight that count as losses for other walks.
    pub(super) on_their_way: u32,
    /// The number of roots that the tree has had; a walk from an earlier root is rejected.
    pub(super) roots: u64,
}

debug_fields!(Tree<G: Game>, root, config);

impl<G: Game> Tree<G> {
    /// Returns a tree with only a root.
    pub fn new(game: G, config: SearchConfig, root: G::State) -> Tree<G> {
        let nodes = Nodes::new(&config);
        Tree { game, config, root, nodes, plan: RootPlan::default(), on_their_way: 0, roots: 0 }
    }

    /// Returns the position at the root.
    pub fn root(&self) -> &G::State {
        &self.root
    }

    /// Returns the player to move at the root.
    pub fn mover(&self) -> Player {
        self.game.to_move(&self.root)
    }

    /// Returns the root's exact result, once known.
    pub fn proven(&self) -> Option<Outcome> {
        match self.nodes.root() {
            Some(root) => root.proven,
            None => self.game.outcome(&self.root),
        }
    }

    /// Returns whether more simulations would change nothing: the result is proven and an action that reaches it is
    /// known.
    pub fn is_solved(&self) -> bool {
        self.proven().is_some()
    }

    /// Returns the number of the root's simulations, including those kept from an earlier search.
    pub fn visits(&self) -> u32 {
        self.nodes.root().map_or(0, |root| root.visits)
    }

    /// Returns whether there are walks in flight that count as losses for other walks.
    pub(super) fn has_walks(&self) -> bool {
        self.on_their_way > 0
    }

    /// Returns the number of nodes, and the bytes that they and their edges take.
    pub fn size(&self) -> (usize, usize) {
        self.nodes.size()
    }

    /// Returns the root's actions; empty before its first evaluation.
    pub fn root_edges(&self) -> impl ExactSizeIterator<Item = Edge> {
        self.nodes.root().map_or(0..0, |root| root.range()).map(|edge| self.edge(edge))
    }

    /// Returns whether the root has been evaluated, so that noise can be mixed into its priors.
    pub fn has_root(&self) -> bool {
        !self.nodes.is_empty()
    }

    /// Returns win, draw, loss for the player to move at the root: the exact result if proven, otherwise the mean.
    pub fn root_wdl(&self) -> Wdl {
        let player = self.mover();
        match (self.proven(), self.nodes.root()) {
            (Some(outcome), _) => Wdl::of(outcome, player),
            (None, Some(root)) => {
                Wdl::from_value(for_first(player, root.mean()), (root.draw / root.visits as f64) as f32)
            }
            (None, None) => Wdl { win: 0.0, draw: 1.0, loss: 0.0 },
        }
    }

    /// Makes the position after `action` the root; keeps its subtree if the config says so.
    pub fn advance(&mut self, action: Action) {
        let child = self.root_edges().find(|edge| edge.action == action).and_then(|edge| edge.child);
        self.game.play(&mut self.root, action);
        self.roots += 1;
        self.plan.clear();
        match child.filter(|_| self.config.reuse_tree) {
            Some(child) => self.nodes.keep_subtree(child),
            None => self.nodes.clear(),
        }
    }

    /// Starts again at `root` but keeps the memory.
    pub fn restart(&mut self, root: G::State) {
        self.root = root;
        self.roots += 1;
        self.plan.clear();
        self.nodes.clear();
    }

    pub(super) fn edge(&self, edge: usize) -> Edge {
        let edge = self.nodes.edges[edge];
        Edge {
            action: edge.action,
            visits: edge.visits,
            prior: edge.prior,
            proven: edge.link.proven(),
            plies: edge.plies(),
            mean: edge.mean,
            child: edge.link.child(),
        }
    }
}

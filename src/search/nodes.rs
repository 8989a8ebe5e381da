//! The memory of a search tree: flat arrays of nodes and edges, 36 bytes per node (44 with `search.cpuct_spread`) and
//! 20 per edge.
//!
//! Nodes and the edges of each node are stored in order of creation, so a child comes after its parent, and
//! [`Nodes::keep_subtree`] can move the kept nodes to the front in place. Sums and means are for [`Player::First`].

use std::ops::Range;

use super::evaluator::Evaluation;
use super::tree::for_first;
use crate::config::SearchConfig;
use crate::game::{Action, Outcome, Player};

/// Statistics of a position, without its edges.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    /// Sum of the values for the first player. f64, because an f32 sum stops growing in long searches.
    pub value: f64,
    /// Sum of the draw probabilities.
    pub draw: f64,
    /// Simulations through the node, including its own evaluation.
    pub visits: u32,
    first_edge: u32,
    /// The sum of the priors of the node's visited edges.
    pub visited_mass: f32,
    /// The number of the node's edges minus 1; the number itself does not fit if all
    /// [`MAX_ACTIONS`](crate::encode::MAX_ACTIONS) actions are legal.
    last_edge: u16,
    pub to_move: Player,
    /// The exact result, once known.
    pub proven: Option<Outcome>,
}

const _: () = assert!(size_of::<Node>() == 32);

impl Node {
    /// Returns the indices of the node's edges.
    pub(super) fn range(&self) -> Range<usize> {
        let first = self.first_edge as usize;
        first..first + usize::from(self.last_edge) + 1
    }

    /// Returns the mean value for the first player.
    pub(super) fn mean(&self) -> f32 {
        (self.value / self.visits as f64) as f32
    }
}

/// An edge's child and proven result in one word: 2 bits of result above 30 bits of index. The root is never a child,
/// so an index of 0 means that there is no child.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Link(u32);

const RESULT_SHIFT: u32 = 30;
const CHILD: u32 = (1 << RESULT_SHIFT) - 1;

impl Link {
    /// Returns the node below the edge, if there is one.
    pub(super) fn child(self) -> Option<usize> {
        let child = self.0 & CHILD;
        (child != 0).then_some(child as usize)
    }

    fn with_child(self, child: usize) -> Link {
        Link(self.0 & !CHILD | child as u32)
    }

    /// Returns the exact result, once known.
    pub(super) fn proven(self) -> Option<Outcome> {
        match self.0 >> RESULT_SHIFT {
            0 => None,
            1 => Some(Outcome::Win(Player::First)),
            2 => Some(Outcome::Win(Player::Second)),
            _ => Some(Outcome::Draw),
        }
    }

    fn with_proven(self, outcome: Outcome) -> Link {
        let result = match outcome {
            Outcome::Win(Player::First) => 1,
            Outcome::Win(Player::Second) => 2,
            Outcome::Draw => 3,
        };
        Link(self.0 & CHILD | result << RESULT_SHIFT)
    }
}

/// An action of a node. The fields that a simulation reads are adjacent, because in a large tree each step waits for
/// memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct StoredEdge {
    /// The evaluator's probability, with noise at a noisy root.
    pub prior: f32,
    /// Simulations through the edge.
    pub visits: u32,
    /// The child's mean for the first player, 0 without visits. A proven win for the first player is [`PROVEN`] minus
    /// the plies to the end of the game, and a proven loss is the negative of that, so the losing player never selects
    /// it. A proven draw is 0.
    pub mean: f32,
    pub link: Link,
    pub action: Action,
    /// Simulations in flight through the edge, or waiting below it; 0 between rounds.
    pub waiting: u16,
}

const _: () = assert!(size_of::<StoredEdge>() == 20);

/// The mean of a proven win before the plies are subtracted (see [`StoredEdge::mean`]). It is greater than any value
/// plus exploration, and small enough that subtracting plies is exact in f32.
const PROVEN: f32 = 1e6;

impl StoredEdge {
    /// Returns the plies to the end of the game according to the proof of a win or a loss, including this action.
    pub(super) fn plies(&self) -> Option<u32> {
        let decided = matches!(self.link.proven(), Some(Outcome::Win(_)));
        decided.then(|| (PROVEN - self.mean.abs()) as u32)
    }
}

/// All nodes of a tree; node 0 is the root.
#[derive(Clone, Debug, Default)]
pub(super) struct Nodes {
    nodes: Vec<Node>,
    /// The evaluator's value of each node for the first player; read only for the root.
    raw: Vec<f32>,
    /// The sum of the squares of the values of each node; empty unless `search.cpuct_spread` needs it.
    squares: Vec<f64>,
    with_squares: bool,
    pub edges: Vec<StoredEdge>,
    /// Scratch memory for [`Nodes::keep_subtree`].
    moved: Vec<u32>,
}

impl Nodes {
    /// Returns an empty tree for a search with these settings.
    pub(super) fn new(config: &SearchConfig) -> Nodes {
        Nodes { with_squares: config.cpuct_spread > 0.0, ..Nodes::default() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    pub(super) fn root(&self) -> Option<&Node> {
        self.nodes.first()
    }

    pub(super) fn get(&self, node: usize) -> &Node {
        &self.nodes[node]
    }

    /// Returns the number of nodes, and the bytes that they and their edges take.
    pub(super) fn size(&self) -> (usize, usize) {
        let (nodes, edges) = (self.nodes.len(), self.edges.len());
        let a_node = size_of::<Node>() + size_of::<f32>();
        (nodes, nodes * a_node + self.squares.len() * size_of::<f64>() + edges * size_of::<StoredEdge>())
    }

    /// Returns the sum of the squares of a node's values.
    ///
    /// # Panics
    /// If the settings do not need these sums.
    pub(super) fn squares(&self, node: usize) -> f64 {
        self.squares[node]
    }

    /// Adds the square of a value to the sum of a node, if the settings need it.
    #[inline(always)]
    pub(super) fn square(&mut self, node: usize, value: f64) {
        if self.with_squares {
            self.squares[node] += value * value;
        }
    }

    pub(super) fn get_mut(&mut self, node: usize) -> &mut Node {
        &mut self.nodes[node]
    }

    /// Adds a node with one visit, below `edge` unless it is the root.
    ///
    /// # Panics
    /// If no action is legal, or if there are too many actions, nodes, or edges.
    pub(super) fn push(
        &mut self,
        edge: Option<usize>,
        to_move: Player,
        legal: &[Action],
        evaluation: &Evaluation,
    ) -> usize {
        let node = self.nodes.len();
        assert!(node < CHILD as usize, "a tree has at most 2^30 nodes");
        let first_edge = u32::try_from(self.edges.len()).expect("a tree has at most 2^32 edges");
        let last_edge =
            u16::try_from(legal.len().wrapping_sub(1)).expect("from 1 to 65,536 actions are legal");
        let raw = for_first(to_move, evaluation.wdl.value());
        let (value, draw) = (raw as f64, evaluation.wdl.draw as f64);
        let (visits, visited_mass, proven) = (1, 0.0, None);
        self.raw.push(raw);
        if self.with_squares {
            self.squares.push(value * value);
        }
        self.nodes.push(Node { value, draw, visits, first_edge, visited_mass, last_edge, to_move, proven });
        self.edges.extend(legal.iter().zip(evaluation.priors).map(|(&action, &prior)| StoredEdge {
            prior,
            visits: 0,
            mean: 0.0,
            link: Link::default(),
            action,
            waiting: 0,
        }));
        if let Some(edge) = edge {
            self.edges[edge].link = self.edges[edge].link.with_child(node);
        }
        node
    }

    /// Returns the evaluator's own value of the root, for the first player.
    pub(super) fn root_raw(&self) -> f32 {
        self.raw[0]
    }

    /// Stores the exact result of an edge, and the plies to the end of the game.
    pub(super) fn prove(&mut self, edge: usize, outcome: Outcome, plies: u32) {
        let edge = &mut self.edges[edge];
        edge.link = edge.link.with_proven(outcome);
        edge.mean = match outcome {
            Outcome::Draw => 0.0,
            Outcome::Win(_) => outcome.value_for(Player::First) * (PROVEN - plies as f32),
        };
    }

    /// Drops everything but keeps the memory.
    pub(super) fn clear(&mut self) {
        self.truncate(0, 0);
    }

    /// Makes `root` the root: its subtree moves to the front, in order, and the rest is dropped.
    pub(super) fn keep_subtree(&mut self, root: usize) {
        // for each node that is kept: 1 + the new index of the edge that leads to it
        self.moved.clear();
        self.moved.resize(self.nodes.len(), 0);
        let (mut nodes, mut edges) = (0, 0);
        for old in root..self.nodes.len() {
            match self.moved[old] as usize {
                0 if old == root => {}
                0 => continue,
                edge => {
                    let link = &mut self.edges[edge - 1].link;
                    *link = link.with_child(nodes);
                }
            }
            let range = self.nodes[old].range();
            let end = edges + range.len();
            self.edges.copy_within(range, edges);
            for edge in edges..end {
                if let Some(child) = self.edges[edge].link.child() {
                    self.moved[child] = edge as u32 + 1;
                }
            }
            self.raw[nodes] = self.raw[old];
            if self.with_squares {
                self.squares[nodes] = self.squares[old];
            }
            self.nodes[nodes] = Node { first_edge: edges as u32, ..self.nodes[old] };
            (nodes, edges) = (nodes + 1, end);
        }
        self.truncate(nodes, edges);
    }

    fn truncate(&mut self, nodes: usize, edges: usize) {
        self.nodes.truncate(nodes);
        self.raw.truncate(nodes);
        self.squares.truncate(nodes);
        self.edges.truncate(edges);
    }
}

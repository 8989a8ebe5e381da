//! A game that is a tree written as text, for testing the search.
//!
//! `1(2(+ -) =)`: the first player has two actions. After action 0, the second player has two actions: one wins for the
//! first player (`+`), the other for the second (`-`). Action 1 is a draw (`=`). Players need not alternate. `<` leads
//! back to the start.

use std::sync::Arc;

use petteia::encode::Planes;
use petteia::error::{Error, Result};
use petteia::game::{About, Action, BoardView, Game, GameOptions, Outcome, Player, Shape, Variants};

#[derive(Clone, Debug)]
enum Node {
    Inner(Player, Vec<usize>),
    Leaf(Outcome),
}

#[derive(Clone)]
pub struct TreeGame {
    nodes: Arc<Vec<Node>>,
}

impl TreeGame {
    pub fn parse(text: &str) -> TreeGame {
        let mut nodes = Vec::new();
        let mut rest = text.bytes().filter(|c| !c.is_ascii_whitespace()).collect::<Vec<_>>();
        rest.reverse();
        parse_node(&mut rest, &mut nodes);
        assert!(rest.is_empty(), "text after the tree");
        TreeGame { nodes: Arc::new(nodes) }
    }

    /// The true result of a node, by plain minimax.
    pub fn minimax(&self, node: usize) -> Outcome {
        match &self.nodes[node] {
            Node::Leaf(outcome) => *outcome,
            Node::Inner(player, children) => children
                .iter()
                .map(|child| self.minimax(*child))
                .max_by(|a, b| a.value_for(*player).total_cmp(&b.value_for(*player)))
                .unwrap(),
        }
    }

    pub fn child(&self, node: usize, action: Action) -> usize {
        match &self.nodes[node] {
            Node::Inner(_, children) => children[action.index()],
            Node::Leaf(_) => panic!("a leaf has no actions"),
        }
    }
}

/// Parses depth first; a node gets its index before its children do.
fn parse_node(rest: &mut Vec<u8>, nodes: &mut Vec<Node>) -> usize {
    if rest.last() == Some(&b'<') {
        rest.pop();
        return 0;
    }
    let index = nodes.len();
    nodes.push(Node::Leaf(Outcome::Draw));
    nodes[index] = match rest.pop() {
        Some(b'+') => Node::Leaf(Outcome::Win(Player::First)),
        Some(b'-') => Node::Leaf(Outcome::Win(Player::Second)),
        Some(b'=') => Node::Leaf(Outcome::Draw),
        Some(player @ (b'1' | b'2')) => {
            assert_eq!(rest.pop(), Some(b'('));
            let mut children = Vec::new();
            while rest.last() != Some(&b')') {
                children.push(parse_node(rest, nodes));
            }
            rest.pop();
            Node::Inner(if player == b'1' { Player::First } else { Player::Second }, children)
        }
        other => panic!("unexpected {other:?}"),
    };
    index
}

static ABOUT: About = About::new(TreeGame::NAME, ["one", "two"]).title("Tree").author("tests");

impl Variants for TreeGame {
    const NAME: &'static str = "tree";

    fn new(_options: &GameOptions) -> Result<Self> {
        Err(Error::Config("made from text".into()))
    }
}

impl Game for TreeGame {
    type State = usize;

    fn about(&self) -> &About {
        &ABOUT
    }

    fn shape(&self) -> Shape {
        Shape { planes: 1, height: 1, width: 1, actions: 64 }
    }
    fn max_plies(&self) -> usize {
        self.nodes.len()
    }
    fn initial(&self) -> usize {
        0
    }
    fn to_move(&self, state: &usize) -> Player {
        match &self.nodes[*state] {
            Node::Inner(player, _) => *player,
            Node::Leaf(_) => Player::First,
        }
    }
    fn legal_actions(&self, state: &usize, out: &mut Vec<Action>) {
        out.clear();
        if let Node::Inner(_, children) = &self.nodes[*state] {
            out.extend((0..children.len() as u16).map(Action));
        }
    }
    fn play(&self, state: &mut usize, action: Action) {
        *state = self.child(*state, action);
    }
    fn outcome(&self, state: &usize) -> Option<Outcome> {
        match &self.nodes[*state] {
            Node::Inner(..) => None,
            Node::Leaf(outcome) => Some(*outcome),
        }
    }
    fn encode(&self, state: &usize, planes: &mut Planes) {
        planes.fill(0, *state as f32);
    }
    fn key(&self, state: &usize) -> u64 {
        *state as u64
    }
    fn action_text(&self, _state: &usize, action: Action) -> String {
        action.0.to_string()
    }
    fn parse_action(&self, _state: &usize, text: &str) -> Option<Action> {
        text.parse().ok().map(Action)
    }
    fn state_text(&self, state: &usize) -> String {
        state.to_string()
    }
    fn parse_state(&self, text: &str) -> Result<usize> {
        text.parse().map_err(|_| Error::Position(text.into()))
    }
    fn view(&self, state: &usize) -> BoardView {
        BoardView {
            columns: vec!["a".into()],
            rows: vec!["1".into()],
            cells: vec![vec![state.to_string()]],
            pieces: Default::default(),
            note: String::new(),
            reserves: None,
        }
    }
    fn touched(&self, _before: &usize, _action: Action) -> Vec<(usize, usize)> {
        Vec::new()
    }
}

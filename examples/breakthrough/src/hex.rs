//! Hex without a swap, on boards of 11x11, 7x7 and 5x5: a connection game without draws.
//!
//! H1 Red goes first; the players take turns putting a stone of their color on an empty cell.
//! H2 Red wins with a chain of red stones from rank 1 to the last rank; Blue wins with a chain of blue stones from file
//! a to the last file.
//! H3 The neighbors of a cell are the adjacent cells in its rank and in its file, and the two adjacent cells on the
//! diagonal from the upper left to the lower right.
//!
//! | action   | meaning |
//! |----------|---------|
//! | 0..cells | a stone on cell `row * side + column` of the player's board; 0 is a1 |
//!
//! | plane | is 1 on cells |
//! |-------|---------------|
//! | 0     | with a stone of the player to move |
//! | 1     | with a stone of the opponent |
//! | 2     | everywhere, to tell the board from the zero padding around it |
//!
//! Blue's board is Red's with ranks and files exchanged, so that the player to move always connects the ranks.
//!
//! Position text: ranks from the top with `R`, `B`, and numbers of empty cells, then the side to move. An action is
//! written as its cell: `f6`.

use petteia::board::{Symmetry, parse_ranks, parse_square, ranks_text, square_text};
use petteia::encode::{Planes, Shape};
use petteia::error::{Error, Result};
use petteia::game::{About, Action, BoardView, Game, Outcome, Player, Variants};
use petteia::options::GameOptions;
use petteia::random::mix;

/// The symmetries of the board: the identity and a half turn.
const TURNS: [Symmetry; 2] = [Symmetry::SQUARE[0], Symmetry::SQUARE[3]];
/// The symmetry that exchanges ranks and files.
const TRANSPOSED: Symmetry = Symmetry::SQUARE[4];

/// The rules on a board of one size.
#[derive(Clone, Debug)]
pub struct Hex {
    side: usize,
    /// The neighbors of each cell.
    neighbors: Vec<u128>,
    /// The edges that each player connects: the first and the last rank for Red, the first and the last file for Blue.
    edges: [[u128; 2]; 2],
}

/// The stones of both players.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    stones: [u128; 2],
    /// Whether the last stone made a chain.
    is_won: bool,
    key: u64,
}

impl State {
    fn mover(&self) -> Player {
        let [red, blue] = self.stones.map(u128::count_ones);
        if red == blue { Player::First } else { Player::Second }
    }

    fn put(&mut self, player: Player, cell: usize) {
        self.stones[player.index()] |= 1 << cell;
        // the number that is hashed is never 0, because the hash of 0 is 0
        self.key ^= mix((2 * cell + player.index() + 1) as u64);
    }
}

impl Hex {
    fn of_side(side: usize) -> Hex {
        let bit = |row: usize, column: usize| 1u128 << (row * side + column);
        let neighbors = |cell: usize| {
            let (row, column) = ((cell / side) as i32, (cell % side) as i32);
            [(0, 1), (0, -1), (1, 0), (-1, 0), (1, -1), (-1, 1)]
                .map(|(up, right)| (row + up, column + right))
                .into_iter()
                .filter(|(row, column)| (0..side as i32).contains(row) && (0..side as i32).contains(column))
                .fold(0, |all, (row, column)| all | bit(row as usize, column as usize))
        };
        let all = |of: &dyn Fn(usize) -> u128| (0..side).map(of).fold(0, |all, one| all | one);
        let edges = [
            [all(&|column| bit(0, column)), all(&|column| bit(side - 1, column))],
            [all(&|row| bit(row, 0)), all(&|row| bit(row, side - 1))],
        ];
        Hex { side, neighbors: (0..side * side).map(neighbors).collect(), edges }
    }

    fn cells(&self) -> usize {
        self.side * self.side
    }

    /// The cell of a player's action, or the action of a cell; for Blue, ranks and files are exchanged.
    fn turned(&self, player: Player, cell: usize) -> usize {
        match player {
            Player::First => cell,
            Player::Second => TRANSPOSED.square(cell, self.side, self.side),
        }
    }

    /// Whether these stones connect a player's edges.
    fn connects(&self, player: Player, stones: u128) -> bool {
        let [from, to] = self.edges[player.index()];
        let (mut reached, mut new) = (0, stones & from);
        while new != 0 {
            reached |= new;
            if reached & to != 0 {
                return true;
            }
            let mut next = 0;
            while new != 0 {
                next |= self.neighbors[new.trailing_zeros() as usize];
                new &= new - 1;
            }
            new = next & stones & !reached;
        }
        false
    }

    fn empty(&self, state: &State) -> u128 {
        let [red, blue] = state.stones;
        !(red | blue) & ((1 << self.cells()) - 1)
    }
}

static ABOUT: About = About::new(Hex::NAME, ["Red", "Blue"])
    .title("Hex")
    .author("Piet Hein")
    .summary(
        "Put a stone on an empty cell. Red connects the first rank with the last, Blue the first file with the last; \
        neighbors are in rank and file, and from above left to below right. Write the cell: f6.",
    )
    .drawless();

impl Variants for Hex {
    const NAME: &'static str = "hex";
    const VARIANTS: &'static [&'static str] = &["", "7", "5"];

    fn new(options: &GameOptions) -> Result<Self> {
        options.expect_settings(Self::NAME, &[])?;
        Ok(Hex::of_side(match &*options.variant {
            "7" => 7,
            "5" => 5,
            _ => 11,
        }))
    }
}

impl Game for Hex {
    type State = State;

    fn about(&self) -> &About {
        &ABOUT
    }

    fn shape(&self) -> Shape {
        Shape { planes: 3, height: self.side, width: self.side, actions: self.cells() }
    }

    fn max_plies(&self) -> usize {
        self.cells()
    }

    fn initial(&self) -> State {
        State { stones: [0; 2], is_won: false, key: 0 }
    }

    fn to_move(&self, state: &State) -> Player {
        state.mover()
    }

    fn legal_actions(&self, state: &State, out: &mut Vec<Action>) {
        out.clear();
        if !state.is_won {
            let (mover, empty) = (state.mover(), self.empty(state));
            // the actions must be in ascending order
            let is_empty = |action: &usize| empty >> self.turned(mover, *action) & 1 == 1;
            out.extend((0..self.cells()).filter(is_empty).map(|action| Action(action as u16)));
        }
    }

    fn count_legal_actions(&self, state: &State, _scratch: &mut Vec<Action>) -> usize {
        if state.is_won { 0 } else { self.empty(state).count_ones() as usize }
    }

    fn play(&self, state: &mut State, action: Action) {
        let mover = state.mover();
        let cell = self.turned(mover, action.index());
        debug_assert!(self.empty(state) >> cell & 1 == 1 && !state.is_won);
        state.put(mover, cell);
        state.is_won = self.connects(mover, state.stones[mover.index()]);
    }

    fn outcome(&self, state: &State) -> Option<Outcome> {
        state.is_won.then(|| Outcome::Win(state.mover().other()))
    }

    fn ending(&self, _state: &State) -> &str {
        "a chain"
    }

    fn encode(&self, state: &State, planes: &mut Planes) {
        let mover = state.mover();
        for (plane, player) in [mover, mover.other()].into_iter().enumerate() {
            let stones = state.stones[player.index()];
            let cells = (0..self.cells()).filter(|cell| stones >> cell & 1 == 1);
            let turned = cells.map(|cell| self.turned(mover, cell)).fold(0u128, |all, cell| all | 1 << cell);
            planes.set_bits(plane, [turned as u64, (turned >> 64) as u64]);
        }
        planes.fill(2, 1.0);
    }

    fn key(&self, state: &State) -> u64 {
        state.key
    }

    fn action_text(&self, state: &State, action: Action) -> String {
        square_text(self.turned(state.mover(), action.index()), self.side)
    }

    fn parse_action(&self, state: &State, text: &str) -> Option<Action> {
        let cell = parse_square(text, self.side, self.side)?;
        let is_legal = !state.is_won && self.empty(state) >> cell & 1 == 1;
        is_legal.then(|| Action(self.turned(state.mover(), cell) as u16))
    }

    fn why_illegal(&self, state: &State, text: &str) -> Option<String> {
        let cell = parse_square(text, self.side, self.side)?;
        (self.empty(state) >> cell & 1 == 0).then(|| format!("{text} is taken"))
    }

    fn state_text(&self, state: &State) -> String {
        let letter = |cell: usize| match state.stones.map(|stones| stones >> cell & 1 == 1) {
            [true, _] => Some('R'),
            [_, true] => Some('B'),
            _ => None,
        };
        let ranks = ranks_text(self.side, self.side, letter);
        format!("{ranks} {}", if state.mover() == Player::First { "R" } else { "B" })
    }

    fn parse_state(&self, text: &str) -> Result<State> {
        let example = self.state_text(&self.initial());
        let wrong =
            |what: &str| Error::position(&ABOUT.title, text, what, &format!("write it like `{example}`"));
        let (board, side) = text.split_once(' ').ok_or_else(|| wrong("the side to move is missing"))?;
        let cells = parse_ranks(board, self.side, self.side, "RB").map_err(|what| wrong(&what))?;
        let mut state = self.initial();
        for (cell, letter) in cells.into_iter().enumerate() {
            match letter {
                Some('R') => state.put(Player::First, cell),
                Some(_) => state.put(Player::Second, cell),
                None => {}
            }
        }
        let [red, blue] = state.stones.map(u128::count_ones);
        if red != blue && red != blue + 1 {
            return Err(wrong(&format!("{red} R and {blue} B are impossible: Red goes first")));
        }
        let mover = state.mover();
        if side != if mover == Player::First { "R" } else { "B" } {
            return Err(wrong("the side to move does not match the stones"));
        }
        let last = mover.other();
        let stones = state.stones[last.index()];
        state.is_won = self.connects(last, stones);
        let is_last = |cell: usize| stones >> cell & 1 == 1 && !self.connects(last, stones & !(1 << cell));
        if self.connects(mover, state.stones[mover.index()])
            || state.is_won && !(0..self.cells()).any(is_last)
        {
            return Err(wrong("the game was over before the last stone"));
        }
        Ok(state)
    }

    fn view(&self, state: &State) -> BoardView {
        let cell = |cell: usize| match state.stones.map(|stones| stones >> cell & 1 == 1) {
            [true, _] => "R".to_string(),
            [_, true] => "B".to_string(),
            _ => ".".to_string(),
        };
        BoardView::of_squares(self.side, self.side, ["R", "B"], cell, String::new())
    }

    fn touched(&self, before: &State, action: Action) -> Vec<(usize, usize)> {
        vec![BoardView::place(self.turned(before.mover(), action.index()), self.side, self.side)]
    }

    fn symmetries(&self, _state: &State) -> &[Symmetry] {
        &TURNS
    }

    fn map_action(&self, symmetry: Symmetry, action: Action) -> Action {
        Action(symmetry.square(action.index(), self.side, self.side) as u16)
    }

    fn map_state(&self, symmetry: Symmetry, state: &State) -> State {
        let mut mapped = self.initial();
        for player in [Player::First, Player::Second] {
            let stones = state.stones[player.index()];
            for cell in (0..self.cells()).filter(|cell| stones >> cell & 1 == 1) {
                mapped.put(player, symmetry.square(cell, self.side, self.side));
            }
        }
        State { is_won: state.is_won, ..mapped }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(game: &Hex, actions: &str) -> State {
        let mut state = game.initial();
        for text in actions.split(' ') {
            let action = game.parse_action(&state, text).unwrap_or_else(|| panic!("{text} in {actions}"));
            assert_eq!(game.action_text(&state, action), text);
            game.play(&mut state, action);
        }
        // the text of the position contains everything that the actions determine
        assert_eq!(game.parse_state(&game.state_text(&state)).unwrap(), state);
        state
    }

    #[test]
    fn chains_win() {
        let game = Hex::of_side(5);
        let outcome = |actions: &str| game.outcome(&after(&game, actions));
        assert_eq!(outcome("c1 a1 c2 b1 c3 d1 c4 e1"), None);
        assert_eq!(outcome("c1 a1 c2 b1 c3 d1 c4 e1 c5"), Some(Outcome::Win(Player::First)));
        // cells on a diagonal from the upper left to the lower right are neighbors, those on the other diagonal are not
        assert_eq!(outcome("e1 a1 d2 b1 c3 d1 b4 e2 a5"), Some(Outcome::Win(Player::First)));
        assert_eq!(outcome("a1 e1 b2 d1 c3 b1 d4 e2 e5"), None);
        // Blue connects files, and a chain of Red from file to file does not win
        assert_eq!(outcome("a1 a2 b1 b2 c1 c2 d1 d2 e1"), None);
        assert_eq!(outcome("a1 a2 b1 b2 c1 c2 d1 d2 e1 e2"), Some(Outcome::Win(Player::Second)));
    }

    #[test]
    fn a_wrong_text_is_rejected_with_the_reason() {
        let game = Hex::of_side(5);
        for (text, expected) in [
            ("5/5/5/5/5", "the side to move is missing"),
            ("RRR2/5/5/5/5 R", "3 R and 0 B are impossible"),
            ("RB3/5/5/5/5 B", "does not match"),
            ("R3B/R3B/R3B/R3B/R3B R", "over before the last stone"),
            ("RR1BB/RR1BB/RR1BB/RR1BB/RR2B B", "over before the last stone"),
        ] {
            let error = game.parse_state(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}

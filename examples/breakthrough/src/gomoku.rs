//! Gomoku, freestyle, on boards of 15x15 and 19x19, an example of a large board.
//!
//! G1 Black goes first; the players take turns putting a stone of their color on an empty square.
//! G2 A player with five or more stones in an unbroken line along a rank, a file, or a diagonal wins.
//! G3 If the board is full and no player has such a line, the game is a draw.
//!
//! | action   | meaning |
//! |----------|---------|
//! | 0..cells | a stone on square `row * side + column`; 0 is a1 |
//!
//! | plane | is 1 on squares |
//! |-------|-----------------|
//! | 0     | with a stone of the player to move |
//! | 1     | with a stone of the opponent |
//! | 2     | everywhere, to tell the board from the zero padding around it |
//!
//! Position text: ranks from the top with `B`, `W`, and numbers of empty squares, then the side to move. The number of
//! stones determines the side to move, so there is no position with the players exchanged. An action is written as its
//! square: `h8`.

use petteia::board::{Symmetry, parse_ranks, parse_square, ranks_text, square_text};
use petteia::encode::{Planes, Shape};
use petteia::error::{Error, Result};
use petteia::game::{About, Action, BoardView, Game, Outcome, Player, Variants};
use petteia::options::GameOptions;
use petteia::random::mix;

/// The number of words in a set of up to 19x19 squares.
const WORDS: usize = 6;
/// The number of stones in a row that wins.
const ROW: usize = 5;
/// The directions of a rank, a file, and the two diagonals, as steps (columns, rows).
const DIRECTIONS: [(i32, i32); 4] = [(1, 0), (0, 1), (1, 1), (1, -1)];

/// A set of squares.
type Set = [u64; WORDS];

fn has(set: &Set, square: usize) -> bool {
    set[square / 64] >> (square % 64) & 1 == 1
}

/// The rules on a board of one size.
#[derive(Clone, Debug)]
pub struct Gomoku {
    side: usize,
}

/// The stones of both players.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    stones: [Set; 2],
    placed: usize,
    /// Whether the last stone made a row.
    is_won: bool,
    key: u64,
}

impl State {
    fn mover(&self) -> Player {
        if self.placed.is_multiple_of(2) { Player::First } else { Player::Second }
    }

    fn is_empty(&self, square: usize) -> bool {
        !self.stones.iter().any(|stones| has(stones, square))
    }

    fn put(&mut self, player: Player, square: usize) {
        self.stones[player.index()][square / 64] |= 1 << (square % 64);
        self.placed += 1;
        // the number that is hashed is never 0, because the hash of 0 is 0
        self.key ^= mix((2 * square + player.index() + 1) as u64);
    }
}

impl Gomoku {
    fn cells(&self) -> usize {
        self.side * self.side
    }

    /// Whether the stone on `square` is part of a row of five.
    fn in_row(&self, stones: &Set, square: usize) -> bool {
        let side = self.side as i32;
        let (column, row) = ((square % self.side) as i32, (square / self.side) as i32);
        let run = |columns: i32, rows: i32| {
            let inside = |at: &(i32, i32)| (0..side).contains(&at.0) && (0..side).contains(&at.1);
            (1..ROW as i32)
                .map(|n| (column + n * columns, row + n * rows))
                .take_while(|at| inside(at) && has(stones, (at.1 * side + at.0) as usize))
                .count()
        };
        DIRECTIONS.iter().any(|&(columns, rows)| run(columns, rows) + run(-columns, -rows) + 1 >= ROW)
    }

    /// The stones of a player that are part of a row of five.
    fn rows(&self, stones: &Set) -> Vec<usize> {
        (0..self.cells()).filter(|square| has(stones, *square) && self.in_row(stones, *square)).collect()
    }

    fn is_over(&self, state: &State) -> bool {
        state.is_won || state.placed == self.cells()
    }

    fn letter(state: &State, square: usize) -> Option<char> {
        let [black, white] = state.stones.each_ref().map(|stones| has(stones, square));
        if black { Some('B') } else { white.then_some('W') }
    }
}

static ABOUT: About = About::new(Gomoku::NAME, ["Black", "White"])
    .title("Gomoku")
    .author("traditional")
    .summary("Put a stone on an empty square. Five in a row win, also diagonally. Write the square: h8.");

impl Variants for Gomoku {
    const NAME: &'static str = "gomoku";
    const VARIANTS: &'static [&'static str] = &["", "19"];

    fn new(options: &GameOptions) -> Result<Self> {
        options.expect_settings(Self::NAME, &[])?;
        Ok(Gomoku { side: if options.variant == "19" { 19 } else { 15 } })
    }
}

impl Game for Gomoku {
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
        State { stones: [[0; WORDS]; 2], placed: 0, is_won: false, key: 0 }
    }

    fn to_move(&self, state: &State) -> Player {
        state.mover()
    }

    fn legal_actions(&self, state: &State, out: &mut Vec<Action>) {
        out.clear();
        if !self.is_over(state) {
            let empty = (0..self.cells()).filter(|square| state.is_empty(*square));
            out.extend(empty.map(|square| Action(square as u16)));
        }
    }

    fn count_legal_actions(&self, state: &State, _scratch: &mut Vec<Action>) -> usize {
        if self.is_over(state) { 0 } else { self.cells() - state.placed }
    }

    fn play(&self, state: &mut State, action: Action) {
        debug_assert!(state.is_empty(action.index()) && !self.is_over(state));
        let mover = state.mover();
        state.put(mover, action.index());
        state.is_won = self.in_row(&state.stones[mover.index()], action.index());
    }

    fn outcome(&self, state: &State) -> Option<Outcome> {
        if state.is_won {
            return Some(Outcome::Win(state.mover().other()));
        }
        self.is_over(state).then_some(Outcome::Draw)
    }

    fn ending(&self, state: &State) -> &str {
        if state.is_won { "five in a row" } else { "a full board" }
    }

    fn encode(&self, state: &State, planes: &mut Planes) {
        let own = state.mover().index();
        planes.set_bits(0, state.stones[own]);
        planes.set_bits(1, state.stones[1 - own]);
        planes.fill(2, 1.0);
    }

    fn key(&self, state: &State) -> u64 {
        state.key
    }

    fn action_text(&self, _state: &State, action: Action) -> String {
        square_text(action.index(), self.side)
    }

    fn parse_action(&self, state: &State, text: &str) -> Option<Action> {
        let square = parse_square(text, self.side, self.side)?;
        (!self.is_over(state) && state.is_empty(square)).then_some(Action(square as u16))
    }

    fn why_illegal(&self, state: &State, text: &str) -> Option<String> {
        let square = parse_square(text, self.side, self.side)?;
        (!state.is_empty(square)).then(|| format!("{text} is taken"))
    }

    fn state_text(&self, state: &State) -> String {
        let ranks = ranks_text(self.side, self.side, |square| Gomoku::letter(state, square));
        format!("{ranks} {}", if state.mover() == Player::First { "B" } else { "W" })
    }

    fn parse_state(&self, text: &str) -> Result<State> {
        let example = self.state_text(&self.initial());
        let wrong =
            |what: &str| Error::position(&ABOUT.title, text, what, &format!("write it like `{example}`"));
        let (board, side) = text.split_once(' ').ok_or_else(|| wrong("the side to move is missing"))?;
        let squares = parse_ranks(board, self.side, self.side, "BW").map_err(|what| wrong(&what))?;
        let mut state = self.initial();
        for (square, letter) in squares.into_iter().enumerate() {
            match letter {
                Some('B') => state.put(Player::First, square),
                Some(_) => state.put(Player::Second, square),
                None => {}
            }
        }
        let [black, white] =
            state.stones.map(|stones| stones.iter().map(|word| word.count_ones()).sum::<u32>());
        if black != white && black != white + 1 {
            return Err(wrong(&format!("{black} B and {white} W are impossible: Black goes first")));
        }
        let mover = state.mover();
        if side != if mover == Player::First { "B" } else { "W" } {
            return Err(wrong("the side to move does not match the stones"));
        }
        let last = state.stones[mover.other().index()];
        let rows = self.rows(&last);
        let unmade = |square: &usize| {
            let mut before = last;
            before[square / 64] &= !(1 << (square % 64));
            self.rows(&before).is_empty()
        };
        if !self.rows(&state.stones[mover.index()]).is_empty() || !rows.is_empty() && !rows.iter().any(unmade)
        {
            return Err(wrong("the game was over before the last stone"));
        }
        state.is_won = !rows.is_empty();
        Ok(state)
    }

    fn view(&self, state: &State) -> BoardView {
        let cell = |square: usize| Gomoku::letter(state, square).unwrap_or('.').to_string();
        BoardView::of_squares(self.side, self.side, ["B", "W"], cell, String::new())
    }

    fn touched(&self, _before: &State, action: Action) -> Vec<(usize, usize)> {
        vec![BoardView::place(action.index(), self.side, self.side)]
    }

    fn symmetries(&self, _state: &State) -> &[Symmetry] {
        &Symmetry::SQUARE
    }

    fn map_action(&self, symmetry: Symmetry, action: Action) -> Action {
        Action(symmetry.square(action.index(), self.side, self.side) as u16)
    }

    fn map_state(&self, symmetry: Symmetry, state: &State) -> State {
        let mut mapped = self.initial();
        for player in [Player::First, Player::Second] {
            for square in (0..self.cells()).filter(|square| has(&state.stones[player.index()], *square)) {
                mapped.put(player, symmetry.square(square, self.side, self.side));
            }
        }
        State { is_won: state.is_won, ..mapped }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_or_more_in_a_row_win() {
        let game = Gomoku { side: 15 };
        let outcome = |actions: &str| {
            let mut state = game.initial();
            for text in actions.split(' ') {
                let action = game.parse_action(&state, text).unwrap_or_else(|| panic!("{text} in {actions}"));
                game.play(&mut state, action);
            }
            // the text of the position contains everything that the actions determine
            assert_eq!(game.parse_state(&game.state_text(&state)).unwrap(), state);
            game.outcome(&state)
        };
        let black = Some(Outcome::Win(Player::First));
        assert_eq!(outcome("a1 a2 b1 b2 c1 c2 d1 d2"), None);
        assert_eq!(outcome("a1 a2 b1 b2 c1 c2 d1 d2 e1"), black);
        assert_eq!(outcome("a1 o1 b2 o2 e5 o3 d4 o4 c3"), black);
        assert_eq!(outcome("a1 o15 b2 n15 e5 m15 d4 l15 h8 k15"), Some(Outcome::Win(Player::Second)));
        assert_eq!(outcome("a5 o1 b4 o2 e1 o3 d2 o4 c3"), black);
        assert_eq!(outcome("a1 a2 b1 b2 c1 c2 e1 d2 f1 o9 d1"), black, "six in a row");
        // squares at the end of a rank and at the beginning of the next rank do not form a row
        assert_eq!(outcome("m1 a9 n1 c9 o1 e9 a2 g9 b2"), None);
    }

    #[test]
    fn a_wrong_text_is_rejected_with_the_reason() {
        let game = Gomoku { side: 15 };
        let rest = "/15".repeat(13);
        for (ranks, expected) in [
            ("15/BBB12 B", "3 B and 0 W are impossible"),
            ("15/BW13 W", "does not match"),
            ("BBBBB10/WWWWW10 B", "over before the last stone"),
            ("BBBBB5BBBBB/WWWWW1WWW1W4 W", "over before the last stone"),
            ("BBBBB5BBBBB/WWW1W1WWW1W4 W", "10 B and 8 W"),
            ("BBBBB5BBBBB/WWW1W1WWW1WW3 W", "over before the last stone"),
        ] {
            let text = ranks.replacen(' ', &format!("{rest} "), 1);
            let error = game.parse_state(&text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}

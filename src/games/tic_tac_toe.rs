//! Tic-tac-toe, traditional: a benchmark that anyone can solve, and an example of how to write a game.
//!
//! T1 Two players, X first, take turns putting their marks on empty squares of a 3x3 board, a1..c3. T2 A player with
//! three marks on a rank, file, or diagonal wins. T3 A full board without such a line is a draw.
//!
//! | action | meaning |
//! |--------|---------|
//! | 0..9   | a mark on square `row * 3 + column`, a1 = 0, c1 = 2, c3 = 8 |
//!
//! | plane | on squares |
//! |-------|------------|
//! | 0     | with a mark of the player to move |
//! | 1     | with a mark of the opponent |
//!
//! [`Game::encode`] takes about 2 ns.
//!
//! Position text: the ranks 3 to 1 separated by `/`, with `X`, `O`, or `.` for each square, then the side to move:
//! `.../.X./O.. X`. Symmetries: all 8 of the square. The number of marks determines who is to move, so there is no
//! position with the players exchanged ([`Game::exchanged`]).

use crate::board::{Symmetry, parse_square, square_text};
use crate::encode::Planes;
use crate::error::{Error, Result};
use crate::game::{
    About, Action, BoardView, Game, GameOptions, Look, Outcome, PieceShape, Player, Shape, Variants,
};

const SIDE: usize = 3;
const FULL: u16 = 0b111_111_111;
const LINES: [u16; 8] = [
    0b000_000_111, // ranks
    0b000_111_000,
    0b111_000_000,
    0b001_001_001, // files
    0b010_010_010,
    0b100_100_100,
    0b100_010_001, // diagonals
    0b001_010_100,
];

/// A table of 512 bits: bit `marks` is set if the marks contain a line.
static HAS_LINE: [u64; 8] = {
    let mut table = [0; 8];
    let mut index = 0;
    while index < 512 * LINES.len() {
        let (marks, line) = (index / LINES.len(), LINES[index % LINES.len()] as usize);
        if marks & line == line {
            table[marks / 64] |= 1 << (marks % 64);
        }
        index += 1;
    }
    table
};

/// The rules; there are no options.
#[derive(Clone, Debug)]
pub struct TicTacToe;

/// The marks of both players as sets of squares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct State {
    marks: [u16; 2],
}

impl State {
    fn occupied(self) -> u16 {
        self.marks[0] | self.marks[1]
    }

    fn mover(self) -> Player {
        if self.marks[0].count_ones() == self.marks[1].count_ones() { Player::First } else { Player::Second }
    }

    fn has_line(self, player: Player) -> bool {
        let marks = self.marks[player.index()] as usize;
        HAS_LINE[marks / 64] >> (marks % 64) & 1 == 1
    }
}

static ABOUT: About =
    About::new(TicTacToe::NAME, ["X", "O"]).title("Tic-tac-toe").author("traditional").summary(
        "Put your mark on an empty square. Three in a row, column or diagonal win; a full board without \
        them is a draw. Write the square: b2.",
    );

impl Variants for TicTacToe {
    const NAME: &'static str = "tic-tac-toe";

    fn new(options: &GameOptions) -> Result<Self> {
        options.expect_settings(Self::NAME, &[])?;
        Ok(TicTacToe)
    }
}

impl Game for TicTacToe {
    type State = State;

    fn about(&self) -> &About {
        &ABOUT
    }

    fn manual(&self) -> String {
        include_str!("manuals/tic-tac-toe.txt").into()
    }

    fn brief(&self) -> String {
        include_str!("manuals/tic-tac-toe-brief.txt").into()
    }

    fn shape(&self) -> Shape {
        Shape { planes: 2, height: SIDE, width: SIDE, actions: SIDE * SIDE }
    }

    fn max_plies(&self) -> usize {
        SIDE * SIDE
    }

    fn initial(&self) -> State {
        State { marks: [0, 0] }
    }

    fn to_move(&self, state: &State) -> Player {
        state.mover()
    }

    fn legal_actions(&self, state: &State, out: &mut Vec<Action>) {
        out.clear();
        if state.has_line(state.mover().other()) {
            return;
        }
        let mut free = FULL & !state.occupied();
        while free != 0 {
            out.push(Action(free.trailing_zeros() as u16));
            free &= free - 1;
        }
    }

    fn count_legal_actions(&self, state: &State, _scratch: &mut Vec<Action>) -> usize {
        if state.has_line(state.mover().other()) {
            0
        } else {
            (FULL & !state.occupied()).count_ones() as usize
        }
    }

    fn play(&self, state: &mut State, action: Action) {
        debug_assert!(state.occupied() >> action.0 & 1 == 0);
        state.marks[state.mover().index()] |= 1 << action.0;
    }

    fn outcome(&self, state: &State) -> Option<Outcome> {
        // only the player who moved last can have a new line
        let last = state.mover().other();
        if state.has_line(last) {
            return Some(Outcome::Win(last));
        }
        (state.occupied() == FULL).then_some(Outcome::Draw)
    }

    fn ending(&self, state: &State) -> &str {
        if state.has_line(state.mover().other()) { "three in a row" } else { "a full board" }
    }

    fn encode(&self, state: &State, planes: &mut Planes) {
        let mover = state.mover();
        planes.set_bits(0, state.marks[mover.index()]);
        planes.set_bits(1, state.marks[mover.other().index()]);
    }

    fn key(&self, state: &State) -> u64 {
        (state.marks[0] as u64) << 9 | state.marks[1] as u64
    }

    fn action_text(&self, _state: &State, action: Action) -> String {
        square_text(action.index(), SIDE)
    }

    fn parse_action(&self, state: &State, text: &str) -> Option<Action> {
        let action = Action(parse_square(text, SIDE, SIDE)? as u16);
        self.legal(state).contains(&action).then_some(action)
    }

    fn why_illegal(&self, state: &State, text: &str) -> Option<String> {
        let square = parse_square(text, SIDE, SIDE)?;
        let taken = (state.marks[0] | state.marks[1]) >> square & 1 == 1;
        taken.then(|| format!("{text} is taken"))
    }

    fn state_text(&self, state: &State) -> String {
        let rows: Vec<String> = self.view(state).cells.iter().map(|row| row.concat()).collect();
        format!("{} {}", rows.join("/"), ABOUT.players[state.mover().index()])
    }

    fn parse_state(&self, text: &str) -> Result<State> {
        let wrong = |what: &str| Error::position(&ABOUT.title, text, what, "write it like `.../.X./O.. X`");
        let (board, side) = text.split_once(' ').ok_or_else(|| wrong("the side to move is missing"))?;
        let rows: Vec<&str> = board.split('/').collect();
        if rows.len() != SIDE || rows.iter().any(|row| row.chars().count() != SIDE) {
            return Err(wrong("it needs 3 ranks of 3 squares"));
        }
        let mut state = self.initial();
        for (square, mark) in rows.iter().rev().flat_map(|row| row.chars()).enumerate() {
            match mark {
                'X' => state.marks[0] |= 1 << square,
                'O' => state.marks[1] |= 1 << square,
                '.' => {}
                other => return Err(wrong(&format!("`{other}` is not a mark"))),
            }
        }
        let (x, o) = (state.marks[0].count_ones(), state.marks[1].count_ones());
        if x != o && x != o + 1 {
            return Err(wrong(&format!("{x} X and {o} O are impossible: X goes first")));
        }
        if side != ABOUT.players[state.mover().index()] {
            return Err(wrong("the side to move does not match the marks"));
        }
        if state.has_line(state.mover()) {
            return Err(wrong("the game was over before the last mark"));
        }
        Ok(state)
    }

    fn view(&self, state: &State) -> BoardView {
        let mark = |square: usize| match (state.marks[0] >> square & 1, state.marks[1] >> square & 1) {
            (1, _) => "X".to_string(),
            (_, 1) => "O".to_string(),
            _ => ".".to_string(),
        };
        BoardView::of_squares(SIDE, SIDE, ABOUT.player_names(), mark, String::new())
    }

    fn look(&self, _view: &BoardView, text: &str) -> Look {
        match text {
            "X" => Look::Piece(PieceShape::Cross),
            "O" => Look::Piece(PieceShape::Nought),
            _ => Look::Empty,
        }
    }

    fn touched(&self, _before: &State, action: Action) -> Vec<(usize, usize)> {
        vec![BoardView::place(action.index(), SIDE, SIDE)]
    }

    fn symmetries(&self, _state: &State) -> &[Symmetry] {
        &Symmetry::SQUARE
    }

    fn map_action(&self, symmetry: Symmetry, action: Action) -> Action {
        Action(symmetry.square(action.index(), SIDE, SIDE) as u16)
    }

    fn map_state(&self, symmetry: Symmetry, state: &State) -> State {
        let map = |marks: u16| {
            let squares = (0..9).filter(|square| marks >> square & 1 == 1);
            squares.fold(0, |set, square| set | 1 << symmetry.square(square, SIDE, SIDE))
        };
        State { marks: state.marks.map(map) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_plane_belongs_to_the_player_to_move() {
        let state = TicTacToe.parse_state("..O/.X./X.O X").unwrap();
        let mut planes = Planes::new(TicTacToe.shape());
        TicTacToe.encode(&state, &mut planes);
        let mut numbers = [f32::NAN; 18];
        planes.expand(&mut numbers);
        assert_eq!(numbers[..9], [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]); // X on a1, b2
        assert_eq!(numbers[9..], [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]); // O on c1, c3
    }

    #[test]
    fn a_wrong_text_is_rejected_with_the_reason() {
        let cases = [
            ("", "side to move is missing"),
            (".../... X", "3 ranks of 3 squares"),
            (".../..../.. X", "3 ranks of 3 squares"),
            (".../.x./... X", "`x` is not a mark"),
            (".../.O./... X", "0 X and 1 O are impossible"),
            ("XX./.../... O", "2 X and 0 O are impossible"),
            (".../.X./... X", "side to move does not match"),
            (".../.X./... O ", "side to move does not match"),
            ("XXX/OOO/... X", "over before the last mark"),
            ("XXX/OO./O.. X", "over before the last mark"),
        ];
        for (text, expected) in cases {
            let error = TicTacToe.parse_state(text).unwrap_err().to_string();
            assert!(error.contains(expected) && error.contains("`.../.X./O.. X`"), "{text}: {error}");
        }
    }
}

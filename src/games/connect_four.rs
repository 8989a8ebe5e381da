//! Connect Four, by Howard Wexler and Ned Strongin (1974), 7 columns x 6 rows: a benchmark, solved in 1988 (the first
//! player wins, starting in the middle column).
//!
//! F1 Two players, Red first, take turns dropping a disc into a column; it falls to the lowest empty square.
//! F2 A full column accepts no more discs.
//! F3 A player with four discs in a row, orthogonally or diagonally, wins.
//! F4 A full board without such a row is a draw.
//!
//! | action | meaning |
//! |--------|---------|
//! | 0..7   | a disc into that column from the left; as text `1`..`7` |
//!
//! | plane | on squares (row 0 is the bottom) |
//! |-------|----------------------------------|
//! | 0     | discs of the player to move |
//! | 1     | discs of the opponent |
//! | 2     | where a disc would fall now |
//!
//! [`Game::encode`] takes about 11 ns.
//!
//! Position text: the columns played so far (`4455`), or `-` for the empty board. The state remembers the columns, so
//! two move orders that lead to the same board give two states. Both states have the same [`Game::key`], since they
//! have the same future.

use crate::board::Symmetry;
use crate::encode::Planes;
use crate::error::{Error, Result};
use crate::game::{
    About, Action, BoardStyle, BoardView, Game, GameOptions, Outcome, Player, Shape, Variants,
};

const WIDTH: usize = 7;
const HEIGHT: usize = 6;
const CELLS: usize = WIDTH * HEIGHT;
/// The bits per column: the column's squares from the bottom, and one more bit that stays empty so that rows do not
/// wrap around.
const STRIDE: usize = HEIGHT + 1;
const COLUMN: u64 = (1 << HEIGHT) - 1;
/// The bottom square of each column.
const BOTTOM: u64 = {
    let (mut bottom, mut column) = (0, 0);
    while column < WIDTH {
        bottom |= 1 << (column * STRIDE);
        column += 1;
    }
    bottom
};
/// The top square of each column.
const TOP: u64 = BOTTOM << (HEIGHT - 1);
const BOARD: u64 = BOTTOM * COLUMN;

/// The rules; there are no options.
#[derive(Clone, Debug)]
pub struct ConnectFour;

/// A position and the actions that led to it. Bit `column * 7 + row` of a set is a square.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct State {
    discs: [u64; 2],
    played: [u8; CELLS],
    plies: u8,
}

impl State {
    fn occupied(&self) -> u64 {
        self.discs[0] | self.discs[1]
    }

    fn mover(&self) -> Player {
        if self.plies.is_multiple_of(2) { Player::First } else { Player::Second }
    }

    fn height(&self, column: usize) -> usize {
        (self.occupied() >> (column * STRIDE) & COLUMN).count_ones() as usize
    }

    fn has_four(&self, player: Player) -> bool {
        let discs = self.discs[player.index()];
        // upward, to the right, and both diagonals
        [1, STRIDE, STRIDE - 1, STRIDE + 1].iter().any(|step| {
            let pairs = discs & discs >> step;
            pairs & pairs >> (2 * step) != 0
        })
    }
}

/// Converts a set of squares to row-major order, as in planes: columns and rows of a 7x7 square are exchanged.
fn plane(squares: u64) -> u64 {
    // each diagonal moves by 6 squares for each step from the main diagonal
    let diagonals = (1..WIDTH).map(|above| {
        let (squares_above, by) = (DIAGONALS[above], above * (STRIDE - 1));
        (squares & squares_above) << by | squares >> by & squares_above
    });
    diagonals.fold(squares & DIAGONALS[0], |plane, diagonal| plane | diagonal)
}

/// For each number, the squares of a 7x7 square whose row is their column plus this number.
const DIAGONALS: [u64; WIDTH] = {
    let mut diagonals = [0; WIDTH];
    let mut above = 0;
    while above < WIDTH {
        let mut column = 0;
        while column + above < WIDTH {
            diagonals[above] |= 1 << (column * STRIDE + column + above);
            column += 1;
        }
        above += 1;
    }
    diagonals
};

static ABOUT: About = About::new(ConnectFour::NAME, ["Red", "Yellow"])
    .title("Connect Four")
    .author("Howard Wexler and Ned Strongin, 1974")
    .summary(
        "Drop a disc into a column; it falls to the lowest empty square. Four of \
        your discs in a row, column or diagonal win; a full board without them is a draw. Write the column: \
        1 to 7.",
    )
    .board(BoardStyle::Round)
    .upright();

impl Variants for ConnectFour {
    const NAME: &'static str = "connect-four";

    fn new(options: &GameOptions) -> Result<Self> {
        options.expect_settings(Self::NAME, &[])?;
        Ok(ConnectFour)
    }
}

impl Game for ConnectFour {
    type State = State;

    fn about(&self) -> &About {
        &ABOUT
    }

    fn manual(&self) -> String {
        include_str!("manuals/connect-four.txt").into()
    }

    fn brief(&self) -> String {
        include_str!("manuals/connect-four-brief.txt").into()
    }

    fn shape(&self) -> Shape {
        Shape { planes: 3, height: HEIGHT, width: WIDTH, actions: WIDTH }
    }

    fn max_plies(&self) -> usize {
        CELLS
    }

    fn initial(&self) -> State {
        State { discs: [0; 2], played: [0; CELLS], plies: 0 }
    }

    fn to_move(&self, state: &State) -> Player {
        state.mover()
    }

    fn legal_actions(&self, state: &State, out: &mut Vec<Action>) {
        out.clear();
        if state.has_four(state.mover().other()) {
            return;
        }
        let occupied = state.occupied();
        let free = |column: &usize| occupied >> (column * STRIDE + HEIGHT - 1) & 1 == 0;
        out.extend((0..WIDTH).filter(free).map(|column| Action(column as u16)));
    }

    fn count_legal_actions(&self, state: &State, _scratch: &mut Vec<Action>) -> usize {
        let full = state.occupied() & TOP;
        if state.has_four(state.mover().other()) { 0 } else { WIDTH - full.count_ones() as usize }
    }

    fn play(&self, state: &mut State, action: Action) {
        let column = action.index();
        debug_assert!(state.height(column) < HEIGHT);
        // adding the column's bottom bit carries through its discs to its lowest empty square
        let disc =
            (state.occupied() + (1 << (column * STRIDE))) & (COLUMN << (column * STRIDE)) & !state.occupied();
        state.discs[state.mover().index()] |= disc;
        state.played[state.plies as usize] = column as u8;
        state.plies += 1;
    }

    fn outcome(&self, state: &State) -> Option<Outcome> {
        // only the player who moved last can have a new row
        let last = state.mover().other();
        if state.has_four(last) {
            return Some(Outcome::Win(last));
        }
        (state.plies as usize == CELLS).then_some(Outcome::Draw)
    }

    fn ending(&self, state: &State) -> &str {
        if state.has_four(state.mover().other()) { "four in a row" } else { "a full board" }
    }

    fn encode(&self, state: &State, planes: &mut Planes) {
        let own = state.mover().index();
        planes.set_bits(0, plane(state.discs[own]));
        planes.set_bits(1, plane(state.discs[1 - own]));
        planes.set_bits(2, plane((state.occupied() + BOTTOM) & BOARD));
    }

    fn key(&self, state: &State) -> u64 {
        // Red's discs plus one bit above the top disc of each column: a number unique to the position
        let mixed = (state.discs[0] + state.occupied() + BOTTOM).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ mixed >> 32
    }

    fn action_text(&self, _state: &State, action: Action) -> String {
        (action.0 + 1).to_string()
    }

    fn parse_action(&self, state: &State, text: &str) -> Option<Action> {
        let [digit @ b'1'..=b'7'] = text.as_bytes() else { return None };
        let action = Action((digit - b'1') as u16);
        self.legal(state).contains(&action).then_some(action)
    }

    fn why_illegal(&self, state: &State, text: &str) -> Option<String> {
        let [digit @ b'1'..=b'7'] = text.as_bytes() else {
            return text.parse::<u64>().is_ok().then(|| format!("there are columns 1 to {WIDTH}"));
        };
        (state.height((digit - b'1') as usize) == HEIGHT).then(|| format!("column {text} is full"))
    }

    fn state_text(&self, state: &State) -> String {
        if state.plies == 0 {
            return "-".into();
        }
        state.played[..state.plies as usize].iter().map(|column| (b'1' + column) as char).collect()
    }

    fn parse_state(&self, text: &str) -> Result<State> {
        let mut state = self.initial();
        if text == "-" {
            return Ok(state);
        }
        let wrong = |what: String| {
            let hint = "write the columns played, like `4455`, or `-` for the empty board";
            Error::position(&ABOUT.title, text, &what, hint)
        };
        if text.is_empty() {
            return Err(wrong("it is empty".into()));
        }
        for (ply, letter) in (1..).zip(text.chars()) {
            let column = letter.to_digit(10).filter(|digit| (1..=7).contains(digit));
            let Some(column) = column else {
                return Err(wrong(format!("disc {ply}: `{letter}` is not a column from 1 to 7")));
            };
            if self.outcome(&state).is_some() {
                return Err(wrong(format!("disc {ply}: the game was already over")));
            }
            if state.height(column as usize - 1) == HEIGHT {
                return Err(wrong(format!("disc {ply}: column {column} is full")));
            }
            self.play(&mut state, Action(column as u16 - 1));
        }
        Ok(state)
    }

    fn view(&self, state: &State) -> BoardView {
        let cell = |row: usize, column: usize| {
            let bit = column * STRIDE + row;
            match (state.discs[0] >> bit & 1, state.discs[1] >> bit & 1) {
                (1, _) => "X".to_string(),
                (_, 1) => "O".to_string(),
                _ => ".".to_string(),
            }
        };
        BoardView {
            columns: (1..=WIDTH).map(|column| column.to_string()).collect(),
            rows: vec![String::new(); HEIGHT],
            cells: (0..HEIGHT)
                .rev()
                .map(|row| (0..WIDTH).map(|column| cell(row, column)).collect())
                .collect(),
            pieces: ["X", "O"].map(String::from),
            note: "X Red, O Yellow".into(),
            reserves: None,
        }
    }

    fn touched(&self, before: &State, action: Action) -> Vec<(usize, usize)> {
        vec![(HEIGHT - 1 - before.height(action.index()), action.index())]
    }

    fn symmetries(&self, _state: &State) -> &[Symmetry] {
        &Symmetry::COLUMN_MIRROR
    }

    fn map_action(&self, symmetry: Symmetry, action: Action) -> Action {
        Action(symmetry.square(action.index(), HEIGHT, WIDTH) as u16)
    }

    fn map_state(&self, symmetry: Symmetry, state: &State) -> State {
        let mut mapped = self.initial();
        for &column in &state.played[..state.plies as usize] {
            self.play(&mut mapped, self.map_action(symmetry, Action(column as u16)));
        }
        mapped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_ways_to_one_board_share_a_key_but_not_a_text() {
        let [one, other] = ["123", "321"].map(|text| ConnectFour.parse_state(text).unwrap());
        assert_eq!(ConnectFour.key(&one), ConnectFour.key(&other));
        assert_ne!(one, other);
        // the same squares taken by the other players
        let exchanged = ConnectFour.parse_state("213").unwrap();
        assert_ne!(ConnectFour.key(&one), ConnectFour.key(&exchanged));
    }

    #[test]
    fn planes_have_rows_where_sets_have_columns() {
        for square in 0..CELLS {
            let bit = square % WIDTH * STRIDE + square / WIDTH;
            assert_eq!(plane(1 << bit), 1 << square, "square {square}");
        }
        let mut planes = Planes::new(ConnectFour.shape());
        ConnectFour.encode(&ConnectFour.parse_state("4444443").unwrap(), &mut planes);
        // column 4 is full, and one disc is in column 3
        let each = ConnectFour.shape().plane_words();
        assert_eq!(planes.words()[2 * each], 0b1110011 | 1 << (WIDTH + 2));
    }

    #[test]
    fn rows_do_not_wrap_around_the_edge() {
        // Red's discs at the top of column 1 and the bottom of column 2 are adjacent in the bit set
        let state = ConnectFour.parse_state("2122111").unwrap();
        assert_eq!(ConnectFour.outcome(&state), None);
    }

    #[test]
    fn a_wrong_text_is_rejected_with_the_place() {
        let cases = [
            ("", "it is empty"),
            ("0", "disc 1: `0` is not a column from 1 to 7"),
            ("44x", "disc 3: `x` is not a column from 1 to 7"),
            ("4\u{664}", "disc 2: `\u{664}` is not a column"),
            ("1111111", "disc 7: column 1 is full"),
            ("12121212", "disc 8: the game was already over"),
        ];
        for (text, expected) in cases {
            let error = ConnectFour.parse_state(text).unwrap_err().to_string();
            assert!(error.contains(expected) && error.contains("`4455`"), "{text}: {error}");
        }
    }
}

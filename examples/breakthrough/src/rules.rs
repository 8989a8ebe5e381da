//! Breakthrough (Dan Troyka, 2000), on 8x8 and 5x5 boards.
//!
//! B1 White has men on ranks 1 and 2, Black on the last two ranks. White moves first; the players take turns.
//! B2 A man moves one square straight or diagonally forward, to an empty square.
//! B3 A man captures one square diagonally forward, never straight. Capturing is not compulsory.
//! B4 A player wins by moving a man to the last rank, as seen by that player, or by capturing the opponent's last man.
//!
//! There is always a legal action, because a player's most advanced man has no man of the same player in front of it.
//! Men only move forward, so every game ends, and there are no draws.
//!
//! Planes and actions are seen from the side of the player to move: for Black, the ranks are reversed. `n` is the side
//! of the board, and `cells = n * n`:
//!
//! | action           | meaning |
//! |------------------|---------|
//! | 0..cells         | the man on that square moves diagonally forward, toward file a |
//! | cells..2 cells   | the same man moves straight forward |
//! | 2 cells..3 cells | the same man moves diagonally forward, away from file a |
//!
//! | plane | is 1 on squares |
//! |-------|-----------------|
//! | 0     | with a man of the player to move |
//! | 1     | with a man of the opponent |
//! | 2     | everywhere, to tell the board from the zero padding around it |
//!
//! Position text: ranks from the top with `W`, `B`, and numbers of empty squares, then the side to move:
//! `BBBBB/BBBBB/5/WWWWW/WWWWW W`. An action is written as its origin and destination: `b2-c3`.

use petteia::board::{Symmetry, parse_ranks, parse_square, ranks_text, square_text};
use petteia::encode::{Planes, Shape};
use petteia::error::{Error, Result};
use petteia::game::{About, Action, BoardView, Game, Outcome, Player, Variants};
use petteia::options::GameOptions;
use petteia::random::mix;

/// The distance between ranks of a bitboard, for every size of the board.
const RANK: usize = 8;
const FILE_A: u64 = 0x0101_0101_0101_0101;
const FIRST_RANK: u64 = 0xff;

/// The rules on a board of one size.
#[derive(Clone, Debug)]
pub struct Breakthrough {
    side: usize,
    board: u64,
}

/// The men, as sets of squares; rank 0 is the rank nearest to the player to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    own: u64,
    enemy: u64,
    mover: Player,
}

impl Breakthrough {
    fn of_side(side: usize) -> Breakthrough {
        let rank = (1 << side) - 1;
        Breakthrough { side, board: (0..side).fold(0, |board, row| board | rank << (row * RANK)) }
    }

    fn cells(&self) -> usize {
        self.side * self.side
    }

    /// Returns a set of squares with the ranks reversed.
    fn turned(&self, squares: u64) -> u64 {
        squares.swap_bytes() >> ((RANK - self.side) * RANK)
    }

    /// Returns a bitboard without the gaps after the ranks of a small board.
    fn packed(&self, squares: u64) -> u64 {
        if self.side == RANK {
            return squares;
        }
        let rank = (1 << self.side) - 1;
        (0..self.side).fold(0, |packed, row| packed | (squares >> (row * RANK) & rank) << (row * self.side))
    }

    /// The bit of a square `row * side + column`.
    fn bit(&self, square: usize) -> u64 {
        1 << (square / self.side * RANK + square % self.side)
    }

    /// The men that can move diagonally toward file a, straight, and diagonally away from it.
    fn movable(&self, state: &State) -> [u64; 3] {
        let occupied = state.own | state.enemy;
        let right_edge = FILE_A << (self.side - 1);
        [
            state.own & !FILE_A & !(state.own >> (RANK - 1)) & (self.board >> (RANK - 1)),
            state.own & !(occupied >> RANK) & (self.board >> RANK),
            state.own & !right_edge & !(state.own >> (RANK + 1)) & (self.board >> (RANK + 1)),
        ]
    }

    fn is_over(&self, state: &State) -> bool {
        state.enemy & FIRST_RANK != 0 || state.own == 0
    }

    /// White's men and Black's; rank 0 is White's first rank.
    fn men(&self, state: &State) -> [u64; 2] {
        match state.mover {
            Player::First => [state.own, state.enemy],
            Player::Second => [self.turned(state.enemy), self.turned(state.own)],
        }
    }

    fn state(&self, [white, black]: [u64; 2], mover: Player) -> State {
        match mover {
            Player::First => State { own: white, enemy: black, mover },
            Player::Second => State { own: self.turned(black), enemy: self.turned(white), mover },
        }
    }

    /// The squares of origin and destination of an action, as seen by the player to move.
    fn squares(&self, action: Action) -> [usize; 2] {
        let (direction, from) = (action.index() / self.cells(), action.index() % self.cells());
        [from, from + self.side + direction - 1]
    }

    /// Converts a square of the board to the point of view of `player`, and back.
    fn seen(&self, square: usize, player: Player) -> usize {
        match player {
            Player::First => square,
            Player::Second => self.cells() - self.side - square / self.side * self.side + square % self.side,
        }
    }

    /// The letter on a square of the board.
    fn letter(&self, state: &State, square: usize) -> Option<char> {
        let [white, black] = self.men(state).map(|men| men & self.bit(square) != 0);
        if white { Some('W') } else { black.then_some('B') }
    }
}

static ABOUT: About = About::new(Breakthrough::NAME, ["White", "Black"])
    .title("Breakthrough")
    .author("Dan Troyka")
    .summary(
        "Move a man one square forward, straight or diagonally, to an empty square, or capture diagonally forward. A \
        man on the far rank wins, and so does capturing the last man. Type from and to: b2-c3.",
    );

impl Variants for Breakthrough {
    const NAME: &'static str = "breakthrough";
    const VARIANTS: &'static [&'static str] = &["", "5"];

    fn new(options: &GameOptions) -> Result<Self> {
        options.expect_settings(Self::NAME, &[])?;
        Ok(Breakthrough::of_side(if options.variant == "5" { 5 } else { 8 }))
    }
}

impl Game for Breakthrough {
    type State = State;

    fn about(&self) -> &About {
        &ABOUT
    }

    fn shape(&self) -> Shape {
        Shape { planes: 3, height: self.side, width: self.side, actions: 3 * self.cells() }
    }

    fn max_plies(&self) -> usize {
        // at most, all men of both sides move from their first two ranks to the last rank
        2 * self.side * (self.side - 1 + self.side - 2)
    }

    fn initial(&self) -> State {
        let own = self.board & 0xffff;
        State { own, enemy: self.turned(own), mover: Player::First }
    }

    fn to_move(&self, state: &State) -> Player {
        state.mover
    }

    fn legal_actions(&self, state: &State, out: &mut Vec<Action>) {
        out.clear();
        if self.is_over(state) {
            return;
        }
        for (direction, men) in self.movable(state).into_iter().enumerate() {
            let mut men = self.packed(men);
            while men != 0 {
                out.push(Action((direction * self.cells()) as u16 + men.trailing_zeros() as u16));
                men &= men - 1;
            }
        }
    }

    fn count_legal_actions(&self, state: &State, _scratch: &mut Vec<Action>) -> usize {
        if self.is_over(state) {
            0
        } else {
            self.movable(state).iter().map(|men| men.count_ones() as usize).sum()
        }
    }

    fn play(&self, state: &mut State, action: Action) {
        let [from, to] = self.squares(action).map(|square| self.bit(square));
        debug_assert!(state.own & from != 0 && state.own & to == 0);
        let (own, enemy) = (state.own ^ from ^ to, state.enemy & !to);
        *state = State { own: self.turned(enemy), enemy: self.turned(own), mover: state.mover.other() };
    }

    fn outcome(&self, state: &State) -> Option<Outcome> {
        self.is_over(state).then_some(Outcome::Win(state.mover.other()))
    }

    fn encode(&self, state: &State, planes: &mut Planes) {
        planes.set_bits(0, self.packed(state.own));
        planes.set_bits(1, self.packed(state.enemy));
        planes.fill(2, 1.0);
    }

    fn key(&self, state: &State) -> u64 {
        mix(mix(mix(state.own) ^ state.enemy) ^ state.mover.index() as u64)
    }

    fn action_text(&self, state: &State, action: Action) -> String {
        let [from, to] =
            self.squares(action).map(|square| square_text(self.seen(square, state.mover), self.side));
        format!("{from}-{to}")
    }

    fn parse_action(&self, state: &State, text: &str) -> Option<Action> {
        let (from, to) = text.split_once('-')?;
        let square = |text| Some(self.seen(parse_square(text, self.side, self.side)?, state.mover));
        let squares = [square(from)?, square(to)?];
        self.legal(state).into_iter().find(|action| self.squares(*action) == squares)
    }

    fn state_text(&self, state: &State) -> String {
        let ranks = ranks_text(self.side, self.side, |square| self.letter(state, square));
        format!("{ranks} {}", if state.mover == Player::First { "W" } else { "B" })
    }

    fn parse_state(&self, text: &str) -> Result<State> {
        let example = self.state_text(&self.initial());
        let wrong =
            |what: &str| Error::position(&ABOUT.title, text, what, &format!("write it like `{example}`"));
        let (board, side) = text.split_once(' ').ok_or_else(|| wrong("the side to move is missing"))?;
        let mover = match side {
            "W" => Player::First,
            "B" => Player::Second,
            _ => return Err(wrong("the side to move must be W or B")),
        };
        let squares = parse_ranks(board, self.side, self.side, "WB").map_err(|what| wrong(&what))?;
        let men = |letter: char| {
            let of = squares.iter().enumerate().filter(|(_, on)| **on == Some(letter));
            of.fold(0, |men, (square, _)| men | self.bit(square))
        };
        let men = [men('W'), men('B')];
        if men.iter().any(|men| men.count_ones() as usize > 2 * self.side) {
            return Err(wrong(&format!("a side has at most {} men", 2 * self.side)));
        }
        let state = self.state(men, mover);
        if state.enemy == 0 || state.own & self.turned(FIRST_RANK & self.board) != 0 {
            return Err(wrong("the player to move has already won"));
        }
        if state.own == 0 && state.enemy & FIRST_RANK != 0 {
            return Err(wrong("the game cannot have ended in two ways at once"));
        }
        Ok(state)
    }

    fn view(&self, state: &State) -> BoardView {
        let cell = |square: usize| self.letter(state, square).unwrap_or('.').to_string();
        BoardView::of_squares(self.side, self.side, ["W", "B"], cell, String::new())
    }

    fn touched(&self, before: &State, action: Action) -> Vec<(usize, usize)> {
        self.squares(action)
            .map(|square| BoardView::place(self.seen(square, before.mover), self.side, self.side))
            .to_vec()
    }

    fn symmetries(&self, _state: &State) -> &[Symmetry] {
        // mirroring the ranks does not commute with reversing them for Black
        &Symmetry::COLUMN_MIRROR
    }

    fn map_action(&self, symmetry: Symmetry, action: Action) -> Action {
        let (direction, from) = (action.index() / self.cells(), action.index() % self.cells());
        // straight forward stays straight forward for both players
        let direction = if symmetry.mirror_columns { 2 - direction } else { direction };
        Action((direction * self.cells() + symmetry.square(from, self.side, self.side)) as u16)
    }

    fn turning(&self) -> Symmetry {
        Symmetry::ROW_MIRROR
    }

    fn map_state(&self, symmetry: Symmetry, state: &State) -> State {
        let map = |men: u64| {
            let squares = (0..self.cells()).filter(|square| men & self.bit(*square) != 0);
            squares.fold(0, |set, square| set | self.bit(symmetry.square(square, self.side, self.side)))
        };
        State { own: map(state.own), enemy: map(state.enemy), mover: state.mover }
    }

    fn exchanged(&self, state: &State) -> Option<State> {
        // the men are stored as the player to move sees them, so only the player changes
        Some(State { mover: state.mover.other(), ..*state })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn actions(side: usize, text: &str) -> Vec<String> {
        let game = Breakthrough::of_side(side);
        let state = game.parse_state(text).unwrap();
        game.legal(&state).into_iter().map(|action| game.action_text(&state, action)).collect()
    }

    #[test]
    fn straight_moves_do_not_capture() {
        assert_eq!(actions(5, "5/4B/2BB1/2W2/5 W"), ["c2-b3", "c2-d3"]);
        let black = ["c3-b2", "d3-c2", "e4-e3", "d3-d2", "c3-d2", "d3-e2"];
        assert_eq!(actions(5, "5/4B/2BB1/2W2/5 B"), black);
    }

    #[test]
    fn the_last_rank_and_the_last_capture_win() {
        let game = Breakthrough::of_side(5);
        let outcome = |text: &str| game.parse_state(text).map(|state| game.outcome(&state));
        assert_eq!(outcome("2W2/B4/5/5/5 B").unwrap(), Some(Outcome::Win(Player::First)));
        assert_eq!(outcome("5/5/5/W4/3B1 W").unwrap(), Some(Outcome::Win(Player::Second)));
        assert_eq!(outcome("5/5/2W2/5/5 B").unwrap(), Some(Outcome::Win(Player::First)));
        assert_eq!(outcome("5/B4/2W2/5/5 B").unwrap(), None);
        assert!(outcome("2W2/B4/5/5/5 W").is_err());
    }
}

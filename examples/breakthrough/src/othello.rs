//! Othello (Reversi): disks enclosed between a new disk and an old disk of the other color change sides, and a player
//! with no move passes.
//!
//! O1 Black goes first, from two disks of each color on the four squares in the middle.
//! O2 A player puts a disk on an empty square such that this disk and another disk of the player enclose enemy disks in
//! a line. All disks enclosed in this way, in all eight directions, are turned.
//! O3 A player who cannot turn any disk passes; otherwise passing is not allowed. If neither player can turn a disk,
//! the game is over.
//! O4 The player with more disks wins; with equal numbers, the game is a draw.
//!
//! | action | meaning |
//! |--------|---------|
//! | 0..64  | a disk on square `row * 8 + column`; 0 is a1 |
//! | 64     | pass |
//!
//! | plane | is 1 on squares |
//! |-------|-----------------|
//! | 0     | with a disk of the player to move |
//! | 1     | with a disk of the opponent |
//! | 2     | everywhere, to tell the board from the zero padding around it |
//!
//! Position text: ranks from the top with `B`, `W`, and numbers of empty squares, then the side to move. An action is
//! written as its square, e.g. `d3`, or as `pass`.

use petteia::board::{Symmetry, parse_ranks, parse_square, ranks_text, square_text};
use petteia::encode::{Planes, Shape};
use petteia::error::{Error, Result};
use petteia::game::{About, Action, BoardView, Game, Outcome, Player, Variants};
use petteia::options::GameOptions;
use petteia::random::mix;

/// The length of a side of the board, in squares.
pub const SIDE: usize = 8;
/// The number of squares.
pub const SQUARES: usize = SIDE * SIDE;
/// The action of a player who cannot turn any disk.
pub const PASS: Action = Action(SQUARES as u16);
/// The files at the edges: a step to the left cannot end on file h, and a step to the right cannot end on file a.
const FILE_H: u64 = 0x8080_8080_8080_8080;
const FILE_A: u64 = 0x0101_0101_0101_0101;
/// The start position: White has disks on d4 and e5, Black on d5 and e4.
const WHITE: u64 = 1 << 27 | 1 << 36;
const BLACK: u64 = 1 << 28 | 1 << 35;

/// Moves a set of squares one step in one of the eight directions.
pub fn step(set: u64, direction: usize) -> u64 {
    match direction {
        0 => set << 8,
        1 => set >> 8,
        2 => set << 1 & !FILE_A,
        3 => set >> 1 & !FILE_H,
        4 => set << 9 & !FILE_A,
        5 => set >> 9 & !FILE_H,
        6 => set << 7 & !FILE_H,
        _ => set >> 7 & !FILE_A,
    }
}

/// The squares on which a new disk turns other disks.
fn targets(own: u64, other: u64) -> u64 {
    let empty = !(own | other);
    (0..8).fold(0, |all, direction| {
        let mut run = step(own, direction) & other;
        for _ in 0..SIDE - 3 {
            run |= step(run, direction) & other;
        }
        all | step(run, direction) & empty
    })
}

/// The disks that a new disk on `square` turns.
fn turned(own: u64, other: u64, square: usize) -> u64 {
    (0..8).fold(0, |all, direction| {
        let (mut run, mut at) = (0, step(1 << square, direction));
        while at & other != 0 {
            run |= at;
            at = step(at, direction);
        }
        if at & own != 0 { all | run } else { all }
    })
}

/// The rules.
#[derive(Clone, Debug)]
pub struct Othello;

/// The disks of both players, and who is to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// The disks of the first player and of the second, as sets of squares.
    pub disks: [u64; 2],
    /// The player to move.
    pub mover: Player,
}

impl State {
    /// The disks of the player to move, and those of the other player.
    pub fn sides(&self) -> (u64, u64) {
        let mover = self.mover.index();
        (self.disks[mover], self.disks[1 - mover])
    }

    fn targets(&self) -> u64 {
        let (own, other) = self.sides();
        targets(own, other)
    }

    /// Whether neither player can move.
    fn is_over(&self) -> bool {
        let (own, other) = self.sides();
        targets(own, other) == 0 && targets(other, own) == 0
    }

    fn letter(&self, square: usize) -> Option<char> {
        match self.disks.map(|disks| disks >> square & 1 == 1) {
            [true, _] => Some('B'),
            [_, true] => Some('W'),
            _ => None,
        }
    }
}

static ABOUT: About = About::new(Othello::NAME, ["Black", "White"])
    .title("Othello")
    .author("traditional")
    .summary(
        "Put a disk so that enemy disks lie in a line between it and another of yours: they become yours. More disks \
        win. Write the square, d3, or pass.",
    );

impl Variants for Othello {
    const NAME: &'static str = "othello";

    fn new(options: &GameOptions) -> Result<Self> {
        options.expect_settings(Self::NAME, &[])?;
        Ok(Othello)
    }
}

impl Game for Othello {
    type State = State;

    fn about(&self) -> &About {
        &ABOUT
    }

    fn shape(&self) -> Shape {
        Shape { planes: 3, height: SIDE, width: SIDE, actions: SQUARES + 1 }
    }

    /// Each disk takes a ply, and no two passes follow each other.
    fn max_plies(&self) -> usize {
        2 * (SQUARES - 4)
    }

    fn initial(&self) -> State {
        State { disks: [BLACK, WHITE], mover: Player::First }
    }

    fn to_move(&self, state: &State) -> Player {
        state.mover
    }

    fn legal_actions(&self, state: &State, out: &mut Vec<Action>) {
        out.clear();
        let mut targets = state.targets();
        while targets != 0 {
            out.push(Action(targets.trailing_zeros() as u16));
            targets &= targets - 1;
        }
        if out.is_empty() && !state.is_over() {
            out.push(PASS);
        }
    }

    fn play(&self, state: &mut State, action: Action) {
        if action != PASS {
            let (own, other) = state.sides();
            let turned = turned(own, other, action.index());
            debug_assert!(turned != 0, "{action:?} in {}", self.state_text(state));
            let mover = state.mover.index();
            state.disks[mover] |= turned | 1 << action.index();
            state.disks[1 - mover] &= !turned;
        }
        state.mover = state.mover.other();
    }

    fn outcome(&self, state: &State) -> Option<Outcome> {
        let [black, white] = state.disks.map(u64::count_ones);
        state.is_over().then(|| match black.cmp(&white) {
            std::cmp::Ordering::Greater => Outcome::Win(Player::First),
            std::cmp::Ordering::Less => Outcome::Win(Player::Second),
            std::cmp::Ordering::Equal => Outcome::Draw,
        })
    }

    fn ending(&self, state: &State) -> &str {
        match state.disks {
            [_, 0] | [0, _] => "one side has no disk left",
            [black, white] if black | white == u64::MAX => "a full board",
            _ => "neither side can move",
        }
    }

    fn encode(&self, state: &State, planes: &mut Planes) {
        let (own, other) = state.sides();
        planes.set_bits(0, [own]);
        planes.set_bits(1, [other]);
        planes.fill(2, 1.0);
    }

    fn key(&self, state: &State) -> u64 {
        let [black, white] = state.disks;
        mix(mix(mix(black) ^ white) ^ state.mover.index() as u64)
    }

    fn action_text(&self, _state: &State, action: Action) -> String {
        if action == PASS { "pass".into() } else { square_text(action.index(), SIDE) }
    }

    fn parse_action(&self, state: &State, text: &str) -> Option<Action> {
        let targets = state.targets();
        if text == "pass" {
            return (targets == 0 && !state.is_over()).then_some(PASS);
        }
        let square = parse_square(text, SIDE, SIDE)?;
        (targets >> square & 1 == 1).then_some(Action(square as u16))
    }

    fn why_illegal(&self, state: &State, text: &str) -> Option<String> {
        if text == "pass" {
            return (state.targets() != 0).then(|| "only a player who can turn no disk passes".into());
        }
        let square = parse_square(text, SIDE, SIDE)?;
        match state.letter(square) {
            Some(_) => Some(format!("{text} is taken")),
            None => Some(format!("a disk on {text} would not turn any disk")),
        }
    }

    fn state_text(&self, state: &State) -> String {
        let ranks = ranks_text(SIDE, SIDE, |square| state.letter(square));
        format!("{ranks} {}", if state.mover == Player::First { "B" } else { "W" })
    }

    fn parse_state(&self, text: &str) -> Result<State> {
        let example = self.state_text(&self.initial());
        let wrong =
            |what: &str| Error::position(&ABOUT.title, text, what, &format!("write it like `{example}`"));
        let (board, side) = text.split_once(' ').ok_or_else(|| wrong("the side to move is missing"))?;
        let squares = parse_ranks(board, SIDE, SIDE, "BW").map_err(|what| wrong(&what))?;
        let mover = match side {
            "B" => Player::First,
            "W" => Player::Second,
            _ => return Err(wrong("the side to move is B or W")),
        };
        let of = |color: char| {
            let all = squares.iter().enumerate().filter(|(_, letter)| **letter == Some(color));
            all.fold(0, |all, (square, _)| all | 1 << square)
        };
        let state = State { disks: [of('B'), of('W')], mover };
        // the squares in the middle are never empty, because disks are never removed
        let [black, white] = state.disks;
        if (black | white) & (BLACK | WHITE) != BLACK | WHITE {
            return Err(wrong("the four squares in the middle must have disks, as they do from the start"));
        }
        Ok(state)
    }

    fn view(&self, state: &State) -> BoardView {
        let cell = |square: usize| state.letter(square).unwrap_or('.').to_string();
        BoardView::of_squares(SIDE, SIDE, ["B", "W"], cell, String::new())
    }

    fn touched(&self, _before: &State, action: Action) -> Vec<(usize, usize)> {
        if action == PASS { Vec::new() } else { vec![BoardView::place(action.index(), SIDE, SIDE)] }
    }

    fn symmetries(&self, _state: &State) -> &[Symmetry] {
        &Symmetry::SQUARE
    }

    fn map_action(&self, symmetry: Symmetry, action: Action) -> Action {
        if action == PASS { PASS } else { Action(symmetry.square(action.index(), SIDE, SIDE) as u16) }
    }

    fn map_state(&self, symmetry: Symmetry, state: &State) -> State {
        let mapped = |disks: u64| {
            let squares = (0..SQUARES).filter(|square| disks >> square & 1 == 1);
            squares.fold(0, |all, square| all | 1 << symmetry.square(square, SIDE, SIDE))
        };
        State { disks: state.disks.map(mapped), ..*state }
    }

    fn exchanged(&self, state: &State) -> Option<State> {
        let [black, white] = state.disks;
        Some(State { disks: [white, black], mover: state.mover.other() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disks_between_are_turned() {
        let game = Othello;
        let mut state = game.initial();
        for text in ["d3", "c3", "c4", "c5"] {
            let action = game.parse_action(&state, text).unwrap_or_else(|| panic!("{text}"));
            game.play(&mut state, action);
        }
        assert_eq!(game.state_text(&state), "8/8/8/2WWW3/2WBB3/2WB4/8/8 B");
    }

    /// The shortest game: nine plies, after which White has no disk left.
    #[test]
    fn the_shortest_game() {
        let game = Othello;
        let mut state = game.initial();
        // a1 is at the bottom of our boards, so this is the usual f5 d6 c5 f4 e7 f6 g5 e6 e3 with the ranks reversed
        for text in ["e6", "f4", "e3", "d6", "g5", "f6", "e7", "f5", "c5"] {
            let action = game
                .parse_action(&state, text)
                .unwrap_or_else(|| panic!("{text} in {}", game.state_text(&state)));
            assert_eq!(game.outcome(&state), None);
            game.play(&mut state, action);
        }
        assert_eq!(game.outcome(&state), Some(Outcome::Win(Player::First)), "{}", game.state_text(&state));
        assert_eq!(game.ending(&state), "one side has no disk left");
    }

    #[test]
    fn who_can_turn_nothing_passes() {
        let game = Othello;
        let state = game.parse_state("8/8/8/3BW3/3BB3/8/8/8 W").unwrap();
        assert!(game.parse_action(&state, "pass").is_none());
        assert_eq!(game.why_illegal(&state, "pass").unwrap(), "only a player who can turn no disk passes");
        let blocked = game.parse_state("8/8/8/WWWBB3/3WB3/8/8/8 B").unwrap();
        assert!(game.parse_action(&blocked, "pass").is_none());
        // White cannot turn the disk in the corner, but Black can turn the disk beside it
        let passes = game.parse_state("8/8/8/3WW3/3WW3/8/8/BW6 W").unwrap();
        assert_eq!(game.legal(&passes), [PASS]);
        assert_eq!(game.action_text(&passes, PASS), "pass");
        assert!(game.parse_state("8/8/8/8/8/8/8/8 B").is_err());
    }
}

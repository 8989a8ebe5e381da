//! Hex with the swap rule, slow and simple, for tests: the board is turned for the second player, and the right to
//! swap is visible only in a plane.
//!
//! Red joins the bottom with the top, Blue the left side with the right. Instead of placing its first stone, Blue may
//! take over Red's, which becomes Blue's on the mirrored square. Blue sees the board transposed. Actions: squares,
//! then the swap. Planes: own stones, the opponent's, whether the player to move may swap.

use petteia::board::{Symmetry, parse_ranks, parse_square, ranks_text, square_text};
use petteia::encode::{Planes, Shape};
use petteia::error::{Error, Result};
use petteia::game::{About, Action, BoardView, Game, GameOptions, Outcome, Player, Variants};
use petteia::random::mix;

pub const SIDE: usize = 4;
pub const CELLS: usize = SIDE * SIDE;
pub const SWAP: Action = Action(CELLS as u16);
pub const TRANSPOSED: Symmetry = Symmetry::SQUARE[4];
const TURNS: [Symmetry; 2] = [Symmetry::IDENTITY, Symmetry::SQUARE[3]];

/// The rules, in which a mistake can be planted.
#[derive(Clone)]
pub struct Hex {
    /// The steps (columns, rows) to the neighbors that are not in the same row or column.
    pub slant: [(i32, i32); 2],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// Red's stones and Blue's, on the board as it is.
    pub stones: [u64; 2],
    pub mover: Player,
    /// Whether the player to move may swap.
    pub swap: bool,
}

pub fn mapped(stones: u64, symmetry: Symmetry) -> u64 {
    let squares = (0..CELLS).filter(|square| stones >> square & 1 == 1);
    squares.fold(0, |set, square| set | 1 << symmetry.square(square, SIDE, SIDE))
}

/// The symmetry from the board to the player's point of view, and back.
pub fn view_of(player: Player) -> Symmetry {
    if player == Player::First { Symmetry::IDENTITY } else { TRANSPOSED }
}

/// The square of the board that a player's action refers to.
pub fn square_of(action: Action, player: Player) -> usize {
    view_of(player).square(action.index(), SIDE, SIDE)
}

impl Hex {
    pub const RIGHT: Hex = Hex { slant: [(1, -1), (-1, 1)] };

    /// Whether these stones join the bottom with the top.
    fn joins(&self, stones: u64) -> bool {
        let mut found = stones & ((1 << SIDE) - 1);
        for _ in 0..CELLS {
            let known = found;
            for square in (0..CELLS).filter(|square| known >> square & 1 == 1) {
                for (x, y) in [(1, 0), (-1, 0), (0, 1), (0, -1)].iter().chain(&self.slant) {
                    let (column, row) = ((square % SIDE) as i32 + x, (square / SIDE) as i32 + y);
                    let board = 0..SIDE as i32;
                    if board.contains(&column) && board.contains(&row) {
                        found |= stones & 1 << (row as usize * SIDE + column as usize);
                    }
                }
            }
        }
        found >> (CELLS - SIDE) != 0
    }
}

impl State {
    fn letter(&self, square: usize) -> Option<char> {
        self.stones.iter().position(|stones| stones >> square & 1 == 1).map(|player| ['R', 'B'][player])
    }
}

static ABOUT: About = About::new(Hex::NAME, ["Red", "Blue"]).title("Hex").author("Piet Hein").drawless();

impl Variants for Hex {
    const NAME: &'static str = "hex";

    fn new(_options: &GameOptions) -> Result<Self> {
        Ok(Hex::RIGHT)
    }
}

impl Game for Hex {
    type State = State;

    fn about(&self) -> &About {
        &ABOUT
    }

    fn shape(&self) -> Shape {
        Shape { planes: 3, height: SIDE, width: SIDE, actions: CELLS + 1 }
    }
    fn max_plies(&self) -> usize {
        CELLS + 1
    }
    fn initial(&self) -> State {
        State { stones: [0; 2], mover: Player::First, swap: false }
    }
    fn to_move(&self, state: &State) -> Player {
        state.mover
    }
    fn legal_actions(&self, state: &State, out: &mut Vec<Action>) {
        out.clear();
        if self.outcome(state).is_some() {
            return;
        }
        let taken = mapped(state.stones[0] | state.stones[1], view_of(state.mover));
        out.extend((0..CELLS).filter(|square| taken >> square & 1 == 0).map(|square| Action(square as u16)));
        if state.swap {
            out.push(SWAP);
        }
    }
    fn play(&self, state: &mut State, action: Action) {
        let (own, enemy) = (state.mover.index(), state.mover.other().index());
        if action == SWAP {
            state.stones[own] = mapped(state.stones[enemy], TRANSPOSED);
            state.stones[enemy] = 0;
        } else {
            state.stones[own] |= 1 << square_of(action, state.mover);
        }
        let first = action != SWAP && (state.stones[0] | state.stones[1]).count_ones() == 1;
        (state.mover, state.swap) = (state.mover.other(), first);
    }
    fn outcome(&self, state: &State) -> Option<Outcome> {
        let players = [Player::First, Player::Second].into_iter();
        let joined = |player: &Player| self.joins(mapped(state.stones[player.index()], view_of(*player)));
        players.into_iter().find(joined).map(Outcome::Win)
    }
    fn encode(&self, state: &State, planes: &mut Planes) {
        for (plane, player) in [state.mover, state.mover.other()].into_iter().enumerate() {
            planes.set_bits(plane, mapped(state.stones[player.index()], view_of(state.mover)));
        }
        planes.fill(2, f32::from(u8::from(state.swap)));
    }
    fn key(&self, state: &State) -> u64 {
        mix(mix(state.stones[0])
            ^ state.stones[1].rotate_left(20)
            ^ (state.mover.index() as u64) << 1
            ^ u64::from(state.swap))
    }
    fn action_text(&self, state: &State, action: Action) -> String {
        if action == SWAP { "swap".into() } else { square_text(square_of(action, state.mover), SIDE) }
    }
    fn parse_action(&self, state: &State, text: &str) -> Option<Action> {
        let square = |text| {
            let seen = view_of(state.mover).square(parse_square(text, SIDE, SIDE)?, SIDE, SIDE);
            Some(Action(seen as u16))
        };
        let action = if text == "swap" { SWAP } else { square(text)? };
        self.legal(state).contains(&action).then_some(action)
    }
    fn state_text(&self, state: &State) -> String {
        let (side, swap) = (["R", "B"][state.mover.index()], if state.swap { "swap" } else { "-" });
        format!("{} {side} {swap}", ranks_text(SIDE, SIDE, |square| state.letter(square)))
    }
    fn parse_state(&self, text: &str) -> Result<State> {
        let wrong =
            |what: &str| Error::position(&ABOUT.title, text, what, "write it like `4/4/4/2R1 B swap`");
        let words: Vec<&str> = text.split(' ').collect();
        let [board, side, swap] = words[..] else { return Err(wrong("it must have three words")) };
        let mover = match side {
            "R" => Player::First,
            "B" => Player::Second,
            _ => return Err(wrong("the side to move must be R or B")),
        };
        let squares = parse_ranks(board, SIDE, SIDE, "RB").map_err(|what| wrong(&what))?;
        let stones = ['R', 'B'].map(|letter| {
            let of = squares.iter().enumerate().filter(|(_, on)| **on == Some(letter));
            of.fold(0_u64, |set, (square, _)| set | 1 << square)
        });
        let one = stones[mover.index()] == 0 && stones[mover.other().index()].count_ones() == 1;
        let swap = match swap {
            "swap" if one => true,
            "-" => false,
            _ => return Err(wrong("nothing can be swapped")),
        };
        let state = State { stones, mover, swap };
        let full = (stones[0] | stones[1]).count_ones() as usize == CELLS;
        if full && self.outcome(&state).is_none() { Err(wrong("nobody has won")) } else { Ok(state) }
    }
    fn view(&self, state: &State) -> BoardView {
        let cell = |square| state.letter(square).unwrap_or('.').to_string();
        BoardView::of_squares(SIDE, SIDE, ["R", "B"], cell, String::new())
    }
    fn touched(&self, before: &State, action: Action) -> Vec<(usize, usize)> {
        let place = |square| BoardView::place(square, SIDE, SIDE);
        if action != SWAP {
            return vec![place(square_of(action, before.mover))];
        }
        let stone = before.stones[before.mover.other().index()].trailing_zeros() as usize;
        vec![place(stone), place(TRANSPOSED.square(stone, SIDE, SIDE))]
    }
    fn symmetries(&self, _state: &State) -> &[Symmetry] {
        &TURNS
    }
    fn map_action(&self, symmetry: Symmetry, action: Action) -> Action {
        if action == SWAP { SWAP } else { Action(symmetry.square(action.index(), SIDE, SIDE) as u16) }
    }
    fn turning(&self) -> Symmetry {
        TRANSPOSED
    }
    fn map_state(&self, symmetry: Symmetry, state: &State) -> State {
        State { stones: state.stones.map(|stones| mapped(stones, symmetry)), ..*state }
    }
    fn exchanged(&self, state: &State) -> Option<State> {
        let [red, blue] = state.stones.map(|stones| mapped(stones, TRANSPOSED));
        Some(State { stones: [blue, red], mover: state.mover.other(), swap: state.swap })
    }
}

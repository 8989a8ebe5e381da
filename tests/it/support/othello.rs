//! Othello on 6x6, slow and simple, for tests: it has passes and all symmetries, and its board is not turned.
//!
//! Black moves first (X, the first player). A disc is placed where it encloses enemy discs in a line, which are
//! turned over. A player who cannot place one passes; if neither can, the game is over and the player with more discs
//! wins. Actions: squares, then the pass. Planes: own discs, the opponent's, where the player to move can place one,
//! where the opponent could.

use petteia::board::{Symmetry, parse_ranks, parse_square, ranks_text, square_text};
use petteia::encode::{Planes, Shape};
use petteia::error::{Error, Result};
use petteia::game::{About, Action, BoardView, Game, GameOptions, Outcome, Player, Variants};
use petteia::random::mix;

pub const SIDE: usize = 6;
pub const CELLS: usize = SIDE * SIDE;
pub const PASS: Action = Action(CELLS as u16);

const DIRECTIONS: [(i32, i32); 8] = [(0, 1), (1, 0), (1, 1), (1, -1), (0, -1), (-1, 0), (-1, -1), (-1, 1)];

/// The rules, in which mistakes can be planted.
#[derive(Clone)]
pub struct Othello {
    /// The number of directions, up to 8, in which discs are turned.
    pub directions: usize,
    /// Whether lines continue at the opposite edge.
    pub wraps: bool,
}

impl Othello {
    pub const RIGHT: Othello = Othello { directions: 8, wraps: false };

    fn step(&self, square: usize, (dx, dy): (i32, i32)) -> Option<usize> {
        let (mut x, y) = ((square % SIDE) as i32 + dx, (square / SIDE) as i32 + dy);
        if self.wraps {
            x = x.rem_euclid(SIDE as i32);
        }
        let board = 0..SIDE as i32;
        (board.contains(&x) && board.contains(&y)).then(|| y as usize * SIDE + x as usize)
    }

    /// The discs that a disc of `player` on `square` turns over.
    pub fn turned(&self, state: &State, player: Player, square: usize) -> u64 {
        let [own, enemy] = [player, player.other()].map(|player| state.discs[player.index()]);
        if (own | enemy) >> square & 1 == 1 {
            return 0;
        }
        let mut all = 0;
        for direction in &DIRECTIONS[..self.directions] {
            let (mut line, mut at) = (0, self.step(square, *direction));
            while let Some(next) = at.filter(|next| enemy >> next & 1 == 1 && line >> next & 1 == 0) {
                line |= 1 << next;
                at = self.step(next, *direction);
            }
            if at.is_some_and(|end| own >> end & 1 == 1) {
                all |= line;
            }
        }
        all
    }

    fn places(&self, state: &State, player: Player) -> u64 {
        let can = |square: &usize| self.turned(state, player, *square) != 0;
        (0..CELLS).filter(can).fold(0, |set, square| set | 1 << square)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    pub discs: [u64; 2],
    pub mover: Player,
}

impl State {
    fn letter(&self, square: usize) -> Option<char> {
        self.discs.iter().position(|discs| discs >> square & 1 == 1).map(|player| ['X', 'O'][player])
    }
}

static ABOUT: About = About::new(Othello::NAME, ["Black", "White"]).title("Othello").author("traditional");

impl Variants for Othello {
    const NAME: &'static str = "othello";

    fn new(_options: &GameOptions) -> Result<Self> {
        Ok(Othello::RIGHT)
    }
}

impl Game for Othello {
    type State = State;

    fn about(&self) -> &About {
        &ABOUT
    }

    fn shape(&self) -> Shape {
        Shape { planes: 4, height: SIDE, width: SIDE, actions: CELLS + 1 }
    }
    fn max_plies(&self) -> usize {
        2 * CELLS
    }
    fn initial(&self) -> State {
        // c4 and d3 for Black, c3 and d4 for White
        State { discs: [1 << 20 | 1 << 15, 1 << 14 | 1 << 21], mover: Player::First }
    }
    fn to_move(&self, state: &State) -> Player {
        state.mover
    }
    fn legal_actions(&self, state: &State, out: &mut Vec<Action>) {
        out.clear();
        let places = self.places(state, state.mover);
        out.extend((0..CELLS).filter(|square| places >> square & 1 == 1).map(|square| Action(square as u16)));
        if out.is_empty() && self.places(state, state.mover.other()) != 0 {
            out.push(PASS);
        }
    }
    fn play(&self, state: &mut State, action: Action) {
        if action != PASS {
            let turned = self.turned(state, state.mover, action.index());
            state.discs[state.mover.index()] |= turned | 1 << action.0;
            state.discs[state.mover.other().index()] &= !turned;
        }
        state.mover = state.mover.other();
    }
    fn outcome(&self, state: &State) -> Option<Outcome> {
        let over = [Player::First, Player::Second].iter().all(|player| self.places(state, *player) == 0);
        let [black, white] = state.discs.map(u64::count_ones);
        over.then_some(match black.cmp(&white) {
            std::cmp::Ordering::Greater => Outcome::Win(Player::First),
            std::cmp::Ordering::Less => Outcome::Win(Player::Second),
            std::cmp::Ordering::Equal => Outcome::Draw,
        })
    }
    fn encode(&self, state: &State, planes: &mut Planes) {
        for (side, player) in [state.mover, state.mover.other()].into_iter().enumerate() {
            planes.set_bits(side, state.discs[player.index()]);
            planes.set_bits(2 + side, self.places(state, player));
        }
    }
    fn key(&self, state: &State) -> u64 {
        mix(mix(state.discs[0]) ^ state.discs[1].rotate_left(1) ^ state.mover.index() as u64)
    }
    fn action_text(&self, _state: &State, action: Action) -> String {
        if action == PASS { "pass".into() } else { square_text(action.index(), SIDE) }
    }
    fn parse_action(&self, state: &State, text: &str) -> Option<Action> {
        let action = if text == "pass" { PASS } else { Action(parse_square(text, SIDE, SIDE)? as u16) };
        self.legal(state).contains(&action).then_some(action)
    }
    fn state_text(&self, state: &State) -> String {
        let side = ["X", "O"][state.mover.index()];
        format!("{} {side}", ranks_text(SIDE, SIDE, |square| state.letter(square)))
    }
    fn parse_state(&self, text: &str) -> Result<State> {
        let wrong =
            |what: &str| Error::position(&ABOUT.title, text, what, "write it like `6/6/2OX2/2XO2/6/6 X`");
        let (board, side) = text.split_once(' ').ok_or_else(|| wrong("the side to move is missing"))?;
        let mover = match side {
            "X" => Player::First,
            "O" => Player::Second,
            _ => return Err(wrong("the side to move must be X or O")),
        };
        let squares = parse_ranks(board, SIDE, SIDE, "XO").map_err(|what| wrong(&what))?;
        let discs = ['X', 'O'].map(|letter| {
            let of = squares.iter().enumerate().filter(|(_, on)| **on == Some(letter));
            of.fold(0, |set, (square, _)| set | 1 << square)
        });
        Ok(State { discs, mover })
    }
    fn view(&self, state: &State) -> BoardView {
        let cell = |square| state.letter(square).unwrap_or('.').to_string();
        BoardView::of_squares(SIDE, SIDE, ["X", "O"], cell, String::new())
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
        let map = |discs: u64| {
            let squares = (0..CELLS).filter(|square| discs >> square & 1 == 1);
            squares.fold(0, |set, square| set | 1 << symmetry.square(square, SIDE, SIDE))
        };
        State { discs: state.discs.map(map), mover: state.mover }
    }
    fn exchanged(&self, state: &State) -> Option<State> {
        let [black, white] = state.discs;
        Some(State { discs: [white, black], mover: state.mover.other() })
    }
}

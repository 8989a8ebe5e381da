//! Amazons on 5x5 with two amazons each, slow and simple, for tests: a turn is two actions of the same player.
//!
//! An amazon moves like a chess queen, then shoots an arrow like a queen to a square, which stays closed. A player
//! who cannot move loses. An action is a direction, a distance and the square where it begins, for both halves of a
//! turn. Planes: own amazons, the opponent's, arrows, the amazon that must shoot, whether one must.

use petteia::board::{Symmetry, parse_ranks, parse_square, ranks_text, square_text};
use petteia::encode::{Planes, Shape};
use petteia::error::{Error, Result};
use petteia::game::{About, Action, BoardView, Game, GameOptions, Outcome, Player, Variants};
use petteia::random::mix;

pub const SIDE: usize = 5;
pub const CELLS: usize = SIDE * SIDE;
const FAR: usize = SIDE - 1;
const STEPS: [(i32, i32); 8] = [(1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1)];

#[derive(Clone)]
pub struct Amazons;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    pub amazons: [u64; 2],
    pub arrows: u64,
    pub mover: Player,
    pub shooter: Option<usize>,
}

pub fn mapped(squares: u64, symmetry: Symmetry) -> u64 {
    let on = (0..CELLS).filter(|square| squares >> square & 1 == 1);
    on.fold(0, |set, square| set | 1 << symmetry.square(square, SIDE, SIDE))
}

/// The squares where an action begins and ends.
pub fn squares(action: Action) -> [usize; 2] {
    let (kind, from) = (action.index() / CELLS, action.index() % CELLS);
    let (x, y) = STEPS[kind / FAR];
    let far = (kind % FAR) as i32 + 1;
    [from, (from as i32 + far * (x + SIDE as i32 * y)) as usize]
}

impl Amazons {
    fn lines(&self, state: &State, out: &mut Vec<Action>) {
        let taken = state.amazons[0] | state.amazons[1] | state.arrows;
        let begins = match state.shooter {
            Some(shooter) => 1 << shooter,
            None => state.amazons[state.mover.index()],
        };
        for kind in 0..STEPS.len() * FAR {
            for from in (0..CELLS).filter(|square| begins >> square & 1 == 1) {
                let ((x, y), far) = (STEPS[kind / FAR], kind % FAR);
                let free = |step: usize| {
                    let step = step as i32 + 1;
                    let (column, row) = ((from % SIDE) as i32 + step * x, (from / SIDE) as i32 + step * y);
                    let board = 0..SIDE as i32;
                    board.contains(&column)
                        && board.contains(&row)
                        && taken >> (row * SIDE as i32 + column) & 1 == 0
                };
                if (0..=far).all(free) {
                    out.push(Action((kind * CELLS + from) as u16));
                }
            }
        }
    }
}

impl State {
    fn letter(&self, square: usize) -> Option<char> {
        let [white, black] = self.amazons;
        [(white, 'W'), (black, 'B'), (self.arrows, 'x')]
            .into_iter()
            .find_map(|(set, letter)| (set >> square & 1 == 1).then_some(letter))
    }
}

static ABOUT: About =
    About::new(Amazons::NAME, ["White", "Black"]).title("Amazons").author("Walter Zamkauskas").drawless();

impl Variants for Amazons {
    const NAME: &'static str = "amazons";

    fn new(_options: &GameOptions) -> Result<Self> {
        Ok(Amazons)
    }
}

impl Game for Amazons {
    type State = State;

    fn about(&self) -> &About {
        &ABOUT
    }

    fn shape(&self) -> Shape {
        Shape { planes: 5, height: SIDE, width: SIDE, actions: STEPS.len() * FAR * CELLS }
    }
    fn max_plies(&self) -> usize {
        2 * (CELLS - 4)
    }
    fn initial(&self) -> State {
        let amazons = [1 << 1 | 1 << 3, 1 << 21 | 1 << 23];
        State { amazons, arrows: 0, mover: Player::First, shooter: None }
    }
    fn to_move(&self, state: &State) -> Player {
        state.mover
    }
    fn legal_actions(&self, state: &State, out: &mut Vec<Action>) {
        out.clear();
        self.lines(state, out);
    }
    fn play(&self, state: &mut State, action: Action) {
        let [from, to] = squares(action);
        match state.shooter {
            None => {
                state.amazons[state.mover.index()] ^= 1 << from | 1 << to;
                state.shooter = Some(to);
            }
            Some(_) => {
                state.arrows |= 1 << to;
                (state.mover, state.shooter) = (state.mover.other(), None);
            }
        }
    }
    fn outcome(&self, state: &State) -> Option<Outcome> {
        self.legal(state).is_empty().then_some(Outcome::Win(state.mover.other()))
    }
    fn encode(&self, state: &State, planes: &mut Planes) {
        let [own, enemy] = [state.mover, state.mover.other()].map(|player| state.amazons[player.index()]);
        let shooter = state.shooter.map_or(0, |square| 1 << square);
        for (plane, squares) in [own, enemy, state.arrows, shooter].into_iter().enumerate() {
            planes.set_bits(plane, squares);
        }
        planes.fill(4, f32::from(u8::from(state.shooter.is_some())));
    }
    fn key(&self, state: &State) -> u64 {
        let side = (state.mover.index() as u64) << 8 | state.shooter.map_or(0xff, |square| square as u64);
        mix(mix(mix(state.amazons[0]) ^ state.amazons[1]) ^ state.arrows ^ side << 40)
    }
    fn action_text(&self, _state: &State, action: Action) -> String {
        squares(action).map(|square| square_text(square, SIDE)).join("-")
    }
    fn parse_action(&self, state: &State, text: &str) -> Option<Action> {
        let (from, to) = text.split_once('-')?;
        let wanted = [parse_square(from, SIDE, SIDE)?, parse_square(to, SIDE, SIDE)?];
        self.legal(state).into_iter().find(|action| squares(*action) == wanted)
    }
    fn state_text(&self, state: &State) -> String {
        let shooter = state.shooter.map_or("-".into(), |square| square_text(square, SIDE));
        let side = ["W", "B"][state.mover.index()];
        format!("{} {side} {shooter}", ranks_text(SIDE, SIDE, |square| state.letter(square)))
    }
    fn parse_state(&self, text: &str) -> Result<State> {
        let wrong =
            |what: &str| Error::position(&ABOUT.title, text, what, "write it like `1B1B1/5/5/5/1W1W1 W -`");
        let words: Vec<&str> = text.split(' ').collect();
        let [board, side, shooter] = words[..] else { return Err(wrong("it must have three words")) };
        let mover = match side {
            "W" => Player::First,
            "B" => Player::Second,
            _ => return Err(wrong("the side to move must be W or B")),
        };
        let on = parse_ranks(board, SIDE, SIDE, "WBx").map_err(|what| wrong(&what))?;
        let [white, black, arrows] = ['W', 'B', 'x'].map(|letter| {
            let of = on.iter().enumerate().filter(|(_, on)| **on == Some(letter));
            of.fold(0_u64, |set, (square, _)| set | 1 << square)
        });
        let amazons = [white, black];
        let shooter = match (shooter, parse_square(shooter, SIDE, SIDE)) {
            ("-", _) => None,
            (_, Some(square)) if amazons[mover.index()] >> square & 1 == 1 => Some(square),
            _ => return Err(wrong("the last word is the amazon that shoots, or -")),
        };
        let state = State { amazons, arrows, mover, shooter };
        let stuck = shooter.is_some() && self.legal(&state).is_empty();
        if stuck { Err(wrong("the amazon cannot shoot")) } else { Ok(state) }
    }
    fn view(&self, state: &State) -> BoardView {
        let cell = |square| state.letter(square).unwrap_or('.').to_string();
        BoardView::of_squares(SIDE, SIDE, ["W", "B"], cell, String::new())
    }
    fn touched(&self, _before: &State, action: Action) -> Vec<(usize, usize)> {
        squares(action).map(|square| BoardView::place(square, SIDE, SIDE)).to_vec()
    }
    fn symmetries(&self, _state: &State) -> &[Symmetry] {
        &Symmetry::SQUARE
    }
    fn map_action(&self, symmetry: Symmetry, action: Action) -> Action {
        let (kind, from) = (action.index() / CELLS, action.index() % CELLS);
        let step = symmetry.step(STEPS[kind / FAR]);
        let direction = STEPS.iter().position(|other| *other == step).unwrap();
        let from = symmetry.square(from, SIDE, SIDE);
        Action(((direction * FAR + kind % FAR) * CELLS + from) as u16)
    }
    fn map_state(&self, symmetry: Symmetry, state: &State) -> State {
        State {
            amazons: state.amazons.map(|squares| mapped(squares, symmetry)),
            arrows: mapped(state.arrows, symmetry),
            shooter: state.shooter.map(|square| symmetry.square(square, SIDE, SIDE)),
            ..*state
        }
    }
    fn exchanged(&self, state: &State) -> Option<State> {
        let [white, black] = state.amazons;
        Some(State { amazons: [black, white], mover: state.mover.other(), ..*state })
    }
}

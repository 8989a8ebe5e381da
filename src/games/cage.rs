//! Cage, by Mark Steere (2010): a full board of checkers that capture each other on their way to the center.
//!
//! Rulings (G1..G6), Red first, n x n squares, n = 10 (the game), 8, 6, 4. The board starts full: Red on a1 and on all
//! squares of that color, Blue on the others. nb(s, c) = number of orthogonal neighbors of square s with a checker of
//! color c, never counting the moving checker itself.
//!
//! - G1 Step. A checker goes to one of its 8 neighbor squares, which must be empty with nb(to, own) = 0 (restriction
//!   1). The step must be either *centering*: (2x-n+1)² + (2y-n+1)² gets strictly smaller, or *adjoining*: nb(from,
//!   enemy) = 0 and nb(to, enemy) > 0, in any direction. It must not have nb(from, enemy) > 0 and nb(to, enemy) = 0
//!   (restriction 2). A step is a whole turn.
//! - G2 Jump. A checker jumps over an orthogonally adjacent enemy to the square directly behind it, which must be empty
//!   with nb(land, own) = 0; the enemy is removed at once. Vacated and captured squares count as empty.
//! - G3 Edge capture. If the square behind the enemy is off the board, both checkers are removed and the turn ends;
//!   restriction 1 does not apply.
//! - G4 After a jump the same player must continue with the same checker as long as it can jump (edge captures
//!   included). Starting with a jump is never compulsory. Restriction 2 does not apply to jumps.
//! - G5 Pass. A player passes only with no step and no jump at the start of a turn; passing is then the only action.
//! - G6 A player without checkers has lost, even if it removed its last checker itself. If the last checkers of both
//!   sides are removed together, the mover wins. There are no draws: the limit of 1,000 actions is a safety net.
//!
//! The rules are the same for both colors and in every direction, so the board is never flipped.
//!
//! | action           | meaning (s = rank*n + file; directions N E S W NE SE SW NW) |
//! |------------------|-------------------------------------------------------------|
//! | d*n² + s         | the checker on s steps in direction d = 0..7 |
//! | (8 + d)*n² + s   | the checker on s jumps in direction d = 0..3, also over the edge |
//! | 12*n²            | pass |
//!
//! | planes | content |
//! |--------|---------|
//! | 0, 1   | own checkers, the opponent's checkers |
//! | 2      | empty squares |
//! | 3      | the checker that must continue jumping |
//! | 4, 5   | own checkers next to an enemy, the opponent's |
//! | 6, 7   | empty squares without own neighbors (restriction 1), without the opponent's |
//! | 8, 9   | own checkers that can jump now, the opponent's that could in its turn |
//! | 10, 11 | own checkers that the opponent could capture in its turn, the opponent's that can be captured now |
//! | 12     | (plies - 500) / 500 everywhere, 0 up to ply 500 |
//! | 13...  | n/2 rings of squares, the four in the center first |
//!
//! [`Game::encode`] takes about 27 ns on 10x10. Finding all legal actions as sets takes about as long. A random game
//! spends most of its time listing the actions, since each of the 24 words holds only a few.
//!
//! The key contains the checkers, the side to move, the square of the checker that must continue jumping, and, from ply
//! 500 on, the plies: the limit is only a safety net, far beyond real games of 80 to 210 actions.
//!
//! Position text: `<board> <side> <square> <plies>`. The board has the ranks n to 1 separated by `/`, with `R`, `B`, or
//! a number of empty squares; the side is `r` or `b`; the square is that of the checker that must continue jumping, or
//! `-`; the plies are the actions played so far. Any placement of checkers is a position; if either side has no
//! checkers, the player not to move has won. Action text: step `c3-d4`, jump `c3xc5`, edge capture `b5xoff(a5)`,
//! `pass`.

use std::hint::select_unpredictable;

use crate::board::{Symmetry, parse_square, ranks_text, square_text};
use crate::encode::Planes;
use crate::error::{Error, Result};
use crate::game::{
    About, Action, BoardStyle, BoardView, Game, GameOptions, Outcome, Player, Shape, Variants,
};
use crate::game::{Look, PieceShape};
use crate::random::mix;

/// Directions (file, rank), the orthogonal ones first, because jumps use only those.
const DIRECTIONS: [(i32, i32); 8] = [(0, 1), (1, 0), (0, -1), (-1, 0), (1, 1), (1, -1), (-1, -1), (-1, 1)];
const STEPS: usize = 8;
const JUMPS: usize = 4;
const KINDS: usize = STEPS + JUMPS;
const MAX_PLIES: u16 = 1000;
/// From this ply on, the plies are part of the key and of the planes.
const CAP_IN_SIGHT: u16 = 500;
const NOBODY: u8 = u8::MAX;

/// Calls a function with the board's width as a constant, which makes shifts and masks constants, too.
macro_rules! sized {
    ($game:expr, $function:ident($($argument:expr),*)) => {
        match $game.side {
            4 => $function::<4>($($argument),*),
            6 => $function::<6>($($argument),*),
            8 => $function::<8>($($argument),*),
            _ => $function::<10>($($argument),*),
        }
    };
}

mod text;
mod why;

/// The board of width N, as sets of squares.
struct Squares<const N: usize>;

impl<const N: usize> Squares<N> {
    const ALL: u128 = !0 >> (128 - N * N);
    /// The squares from which a step in that direction stays on the board.
    const INSIDE: [u128; STEPS] = Self::starts(false);
    /// The squares from which a step in that direction stays on the board and gets closer to the center.
    const NEARER: [u128; STEPS] = Self::starts(true);
    /// The `N / 2` rings, innermost first.
    const RINGS: [u128; 5] = Self::rings();

    const fn starts(nearer: bool) -> [u128; STEPS] {
        const fn squared<const N: usize>(x: i32, y: i32) -> i32 {
            let (x, y) = (2 * x - N as i32 + 1, 2 * y - N as i32 + 1);
            x * x + y * y
        }
        let mut starts = [0; STEPS];
        let mut index = 0;
        while index < STEPS * N * N {
            let (direction, square) = (index / (N * N), index % (N * N));
            let (x, y) = ((square % N) as i32, (square / N) as i32);
            let (to_x, to_y) = (x + DIRECTIONS[direction].0, y + DIRECTIONS[direction].1);
            let inside = to_x >= 0 && to_x < N as i32 && to_y >= 0 && to_y < N as i32;
            if inside && (!nearer || squared::<N>(to_x, to_y) < squared::<N>(x, y)) {
                starts[direction] |= 1 << square;
            }
            index += 1;
        }
        starts
    }

    const fn rings() -> [u128; 5] {
        let mut rings = [0; 5];
        let mut square = 0;
        while square < N * N {
            let (x, y) = ((square % N * 2 + 1).abs_diff(N) / 2, (square / N * 2 + 1).abs_diff(N) / 2);
            rings[if x > y { x } else { y }] |= 1 << square;
            square += 1;
        }
        rings
    }
}

/// Returns the change in a square's index for a step in a direction.
const fn offset<const N: usize>(direction: usize) -> i32 {
    DIRECTIONS[direction].1 * N as i32 + DIRECTIONS[direction].0
}

/// Returns the squares from which a step in `direction` leads into `set`, plus some false squares from which it leaves
/// the board.
#[inline(always)]
fn behind<const N: usize>(set: u128, direction: usize) -> u128 {
    let offset = offset::<N>(direction);
    if offset > 0 { set >> offset } else { set << -offset }
}

/// Returns the squares with at least one and with at least two orthogonal neighbors in `set`.
#[inline(always)]
fn around<const N: usize>(set: u128) -> (u128, u128) {
    let inside = Squares::<N>::INSIDE;
    let upright = (behind::<N>(set, 0) & inside[0], behind::<N>(set, 2) & inside[2]);
    let level = (behind::<N>(set, 1) & inside[1], behind::<N>(set, 3) & inside[3]);
    let (vertical, horizontal) = (upright.0 | upright.1, level.0 | level.1);
    (vertical | horizontal, upright.0 & upright.1 | level.0 & level.1 | vertical & horizontal)
}

/// Returns the empty squares without own neighbors, which restriction 1 permits as targets for every checker that is
/// not next to them.
#[inline(always)]
fn free<const N: usize>(own: u128, enemy: u128) -> u128 {
    Squares::<N>::ALL & !(own | enemy | around::<N>(own).0)
}

/// Returns the `movers` that can jump to the `free` squares or over the edge, by direction (G2, G3).
#[inline(always)]
fn jumps<const N: usize>(movers: u128, enemy: u128, free: u128) -> [u128; JUMPS] {
    let jump = |direction| {
        let inside = Squares::<N>::INSIDE[direction];
        // the false squares of `behind` are those of enemies on the edge, which can be captured anyway
        let takeable = enemy & (behind::<N>(free, direction) | !inside);
        movers & inside & behind::<N>(takeable, direction)
    };
    // written out here and below because calls through `map` are not inlined
    [jump(0), jump(1), jump(2), jump(3)]
}

fn union(sets: [u128; JUMPS]) -> u128 {
    sets[0] | sets[1] | sets[2] | sets[3]
}

/// Returns the own checkers that can step, by direction (G1).
#[inline(always)]
fn steps<const N: usize>(own: u128, enemy: u128) -> [u128; STEPS] {
    let empty = Squares::<N>::ALL & !(own | enemy);
    let (beside_own, crowded) = around::<N>(own);
    let (beside_enemy, _) = around::<N>(enemy);
    let step = |direction| {
        // the checker itself is an orthogonal neighbor of its target unless the step is diagonal
        let targets = empty & !if direction < JUMPS { crowded } else { beside_own };
        let any = behind::<N>(targets, direction);
        let joining = behind::<N>(targets & beside_enemy, direction);
        let centering = Squares::<N>::NEARER[direction] & (joining | any & !beside_enemy);
        let adjoining = Squares::<N>::INSIDE[direction] & joining & !beside_enemy;
        own & (centering | adjoining)
    };
    [step(0), step(1), step(2), step(3), step(4), step(5), step(6), step(7)]
}

/// Returns, for each kind of action except passing, the squares from which it is legal.
#[inline(always)]
fn actions<const N: usize>(state: &State) -> [u128; KINDS] {
    let mut sets = [0; KINDS];
    if !state.over() {
        let (own, enemy) = state.sides();
        if state.jumping == NOBODY {
            sets[..STEPS].copy_from_slice(&steps::<N>(own, enemy));
        }
        sets[STEPS..].copy_from_slice(&jumps::<N>(state.movers(), enemy, free::<N>(own, enemy)));
    }
    sets
}

fn list<const N: usize>(state: &State, out: &mut Vec<Action>) {
    // the nonempty sets, in halves, and the first action of each; a zero ends the list
    let (mut words, mut firsts, mut used) = ([0; 2 * KINDS + 1], [0; 2 * KINDS + 1], 0);
    for (kind, set) in actions::<N>(state).into_iter().enumerate() {
        for (half, word) in [set as u64, (set >> 64) as u64].into_iter().enumerate() {
            words[used] = word;
            firsts[used] = (kind * N * N + half * 64) as u16;
            used += (word != 0) as usize;
        }
    }
    // a local list, so its length stays in a register
    let mut list = std::mem::take(out);
    list.clear();
    let (mut at, mut word) = (0, words[0]);
    while word != 0 {
        list.push(Action(firsts[at] + word.trailing_zeros() as u16));
        let rest = word & (word - 1);
        let last = rest == 0;
        // the number of bits in a set is unpredictable: a branch on it would cost more than everything else
        word = select_unpredictable(last, words[at + 1], rest);
        at += last as usize;
    }
    if list.is_empty() && !state.over() {
        list.push(Action((KINDS * N * N) as u16));
    }
    *out = list;
}

fn count<const N: usize>(state: &State) -> usize {
    let actions: u32 = actions::<N>(state).iter().map(|set| set.count_ones()).sum();
    if state.over() { 0 } else { actions.max(1) as usize }
}

fn play<const N: usize>(state: &mut State, action: Action) {
    let player = state.to_move.index();
    let (kind, from) = (action.index() / (N * N), action.index() % (N * N));
    let next = |square: usize, direction| (square as i32 + offset::<N>(direction)) as usize;
    state.plies += 1;
    state.jumping = NOBODY;
    if kind < STEPS {
        state.checkers[player] ^= 1 << from | 1 << next(from, kind);
    } else if kind < KINDS {
        let direction = kind - STEPS;
        let over = next(from, direction);
        state.checkers[player] ^= 1 << from;
        state.checkers[1 - player] ^= 1 << over;
        if Squares::<N>::INSIDE[direction] >> over & 1 == 1 {
            let land = next(over, direction);
            state.checkers[player] |= 1 << land;
            let (own, enemy) = state.sides();
            if union(jumps::<N>(1 << land, enemy, free::<N>(own, enemy))) != 0 {
                state.jumping = land as u8;
                return;
            }
        }
    }
    state.to_move = state.to_move.other();
}

fn encode<const N: usize>(state: &State, planes: &mut Planes) {
    let (own, enemy) = state.sides();
    let jumping = if state.jumping == NOBODY { 0 } else { state.movers() };
    for (plane, set) in [own, enemy, Squares::<N>::ALL & !(own | enemy), jumping].into_iter().enumerate() {
        planes.set_bits(plane, set);
    }
    for (side, (own, enemy, movers)) in
        [(own, enemy, state.movers()), (enemy, own, enemy)].into_iter().enumerate()
    {
        let free = free::<N>(own, enemy);
        let jumps = jumps::<N>(movers, enemy, free);
        // `behind` in the opposite direction steps ahead, from the jumping to the captured checker
        let captured = behind::<N>(jumps[0], 2)
            | behind::<N>(jumps[1], 3)
            | behind::<N>(jumps[2], 0)
            | behind::<N>(jumps[3], 1);
        planes.set_bits(4 + side, own & around::<N>(enemy).0);
        planes.set_bits(6 + side, free);
        planes.set_bits(8 + side, union(jumps));
        planes.set_bits(11 - side, captured);
    }
    planes.fill(12, state.plies.saturating_sub(CAP_IN_SIGHT) as f32 / (MAX_PLIES - CAP_IN_SIGHT) as f32);
    for (ring, squares) in Squares::<N>::RINGS[..N / 2].iter().enumerate() {
        planes.set_bits(13 + ring, *squares);
    }
}

/// The rules on a board of one size.
#[derive(Clone, Copy, Debug)]
pub struct Cage {
    side: usize,
}

/// A position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// Red's and Blue's checkers.
    checkers: [u128; 2],
    to_move: Player,
    /// The square of the checker that must continue jumping, or [`NOBODY`].
    jumping: u8,
    plies: u16,
}

impl State {
    /// Returns the checkers of the player to move and those of the opponent.
    fn sides(&self) -> (u128, u128) {
        let player = self.to_move.index();
        (self.checkers[player], self.checkers[1 - player])
    }

    /// Returns the mover's checkers that are allowed to jump.
    fn movers(&self) -> u128 {
        if self.jumping == NOBODY { self.sides().0 } else { 1 << self.jumping }
    }

    fn over(&self) -> bool {
        self.checkers[0] == 0 || self.checkers[1] == 0 || self.plies >= MAX_PLIES
    }
}

impl Cage {
    fn cells(&self) -> usize {
        self.side * self.side
    }

    fn square(&self, square: usize) -> String {
        square_text(square, self.side)
    }

    /// Returns the square `steps` steps away in a direction, if it is on the board.
    fn ahead(&self, from: usize, direction: usize, steps: i32) -> Option<usize> {
        let (dx, dy) = DIRECTIONS[direction];
        let x = (from % self.side) as i32 + steps * dx;
        let y = (from / self.side) as i32 + steps * dy;
        let board = 0..self.side as i32;
        (board.contains(&x) && board.contains(&y)).then(|| y as usize * self.side + x as usize)
    }

    fn is_legal(&self, state: &State, action: Action) -> bool {
        let sets = sized!(self, actions(state));
        match sets.get(action.index() / self.cells()) {
            Some(set) => set >> (action.index() % self.cells()) & 1 == 1,
            None => action.index() == KINDS * self.cells() && sets == [0; KINDS] && !state.over(),
        }
    }

    fn letter(&self, state: &State, square: usize) -> Option<char> {
        let player = state.checkers.iter().position(|set| set >> square & 1 == 1)?;
        Some(['R', 'B'][player])
    }
}

static ABOUT: About = About::new(Cage::NAME, ["Red", "Blue"])
    .title("Cage")
    .author("Mark Steere, 2010")
    .summary(
        "A checker steps to an empty one of the 8 squares around it that is not \
        next to a checker of its color (diagonals do not count): closer to the center, or from not next to \
        an enemy to next to one, but never the other way around. Or it jumps straight over an adjacent \
        enemy, which is removed, landing next to none of its own, and continues as long as it can; a jump \
        over the edge removes both checkers. Pass if nothing else is possible. A player with no checkers \
        left loses. Write a step c3-d4, a jump c3xc5, a jump over the edge b5xoff(a5).",
    )
    .board(BoardStyle::Checkered)
    .drawless();

impl Variants for Cage {
    const NAME: &'static str = "cage";
    const VARIANTS: &'static [&'static str] = &["", "8", "6", "4"];

    fn new(options: &GameOptions) -> Result<Self> {
        options.expect_settings(Self::NAME, &[])?;
        let side = match options.variant.as_str() {
            "" => 10,
            "8" => 8,
            "6" => 6,
            "4" => 4,
            other => return Err(Error::Config(format!("unknown variant `{other}` of cage (8, 6, 4)"))),
        };
        Ok(Cage { side })
    }
}

impl Game for Cage {
    type State = State;

    fn about(&self) -> &About {
        &ABOUT
    }

    fn manual(&self) -> String {
        super::manuals::cage(self.side)
    }

    fn brief(&self) -> String {
        include_str!("manuals/cage-brief.txt").into()
    }

    fn shape(&self) -> Shape {
        let (side, cells) = (self.side, self.cells());
        Shape { planes: 13 + side / 2, height: side, width: side, actions: KINDS * cells + 1 }
    }

    fn max_plies(&self) -> usize {
        MAX_PLIES as usize
    }

    fn initial(&self) -> State {
        let red = |square: &usize| (square % self.side + square / self.side).is_multiple_of(2);
        let red = (0..self.cells()).filter(red).fold(0, |set, square| set | 1 << square);
        let blue = !red & !0 >> (128 - self.cells());
        State { checkers: [red, blue], to_move: Player::First, jumping: NOBODY, plies: 0 }
    }

    fn to_move(&self, state: &State) -> Player {
        state.to_move
    }

    fn legal_actions(&self, state: &State, out: &mut Vec<Action>) {
        sized!(self, list(state, out));
    }

    fn count_legal_actions(&self, state: &State, _scratch: &mut Vec<Action>) -> usize {
        sized!(self, count(state))
    }

    fn play(&self, state: &mut State, action: Action) {
        debug_assert!(self.is_legal(state, action));
        sized!(self, play(state, action));
    }

    fn outcome(&self, state: &State) -> Option<Outcome> {
        let (own, enemy) = state.sides();
        match (own != 0, enemy != 0) {
            (true, true) if state.plies >= MAX_PLIES => Some(Outcome::Draw),
            (true, true) => None,
            (true, false) => Some(Outcome::Win(state.to_move)),
            // capturing the last enemy ends the turn, so a player who also lost the last checker is not to move
            (false, _) => Some(Outcome::Win(state.to_move.other())),
        }
    }

    fn ending(&self, state: &State) -> &str {
        match self.outcome(state) {
            Some(Outcome::Draw) => "the limit of actions",
            _ => "no checkers left",
        }
    }

    fn encode(&self, state: &State, planes: &mut Planes) {
        sized!(self, encode(state, planes));
    }

    fn key(&self, state: &State) -> u64 {
        let plies = if state.plies < CAP_IN_SIGHT { 0 } else { state.plies };
        let turn = (plies as u64) << 16 | (state.jumping as u64) << 8 | state.to_move.index() as u64;
        let [red, blue] = state.checkers;
        [red as u64, (red >> 64) as u64, blue as u64, (blue >> 64) as u64]
            .into_iter()
            .fold(mix(turn + 1), |hash, word| mix((hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)))
    }

    fn action_text(&self, _state: &State, action: Action) -> String {
        let (kind, from) = (action.index() / self.cells(), action.index() % self.cells());
        let name = self.square(from);
        let on = |direction, steps| self.ahead(from, direction, steps).map(|square| self.square(square));
        match kind.checked_sub(STEPS) {
            None => format!("{name}-{}", on(kind, 1).unwrap_or_default()),
            Some(JUMPS..) => "pass".into(),
            Some(direction) => match on(direction, 2) {
                Some(land) => format!("{name}x{land}"),
                None => format!("{name}xoff({})", on(direction, 1).unwrap_or_default()),
            },
        }
    }

    fn parse_action(&self, state: &State, text: &str) -> Option<Action> {
        if text == "pass" {
            return Some(Action((KINDS * self.cells()) as u16)).filter(|pass| self.is_legal(state, *pass));
        }
        let from = parse_square(text.split(['-', 'x']).next()?, self.side, self.side)?;
        (0..KINDS)
            .map(|kind| Action((kind * self.cells() + from) as u16))
            .find(|action| self.is_legal(state, *action) && self.action_text(state, *action) == text)
    }

    fn why_illegal(&self, state: &State, text: &str) -> Option<String> {
        why::why_illegal(self, state, text)
    }

    fn state_text(&self, state: &State) -> String {
        let board = ranks_text(self.side, self.side, |square| self.letter(state, square));
        let side = ["r", "b"][state.to_move.index()];
        let jumping = if state.jumping == NOBODY { "-".into() } else { self.square(state.jumping as usize) };
        format!("{board} {side} {jumping} {}", state.plies)
    }

    fn parse_state(&self, text: &str) -> Result<State> {
        self.parse(text).map_err(|what| {
            let initial = self.state_text(&self.initial());
            Error::position(&ABOUT.title, text, &what, &format!("the initial position is `{initial}`"))
        })
    }

    fn view(&self, state: &State) -> BoardView {
        let cell = |square| self.letter(state, square).map_or(".".into(), String::from);
        let note = match state.jumping {
            NOBODY => String::new(),
            square => format!("{} must go on jumping", self.square(square as usize)),
        };
        BoardView::of_squares(self.side, self.side, ["R", "B"], cell, note)
    }

    fn look(&self, _view: &BoardView, text: &str) -> Look {
        if text == "." { Look::Empty } else { Look::Piece(PieceShape::Checker) }
    }

    fn touched(&self, _before: &State, action: Action) -> Vec<(usize, usize)> {
        let (kind, from) = (action.index() / self.cells(), action.index() % self.cells());
        let (direction, steps) = match kind.checked_sub(STEPS) {
            None => (kind, 1),
            Some(JUMPS..) => return Vec::new(),
            Some(direction) => (direction, 2),
        };
        (0..=steps)
            .filter_map(|steps| self.ahead(from, direction, steps))
            .map(|square| BoardView::place(square, self.side, self.side))
            .collect()
    }

    fn symmetries(&self, _state: &State) -> &[Symmetry] {
        &Symmetry::SQUARE
    }

    fn map_action(&self, symmetry: Symmetry, action: Action) -> Action {
        let (kind, from) = (action.index() / self.cells(), action.index() % self.cells());
        if kind == KINDS {
            return action;
        }
        let (first, direction) = if kind < STEPS { (0, kind) } else { (STEPS, kind - STEPS) };
        let step = symmetry.step(DIRECTIONS[direction]);
        let direction = DIRECTIONS.iter().position(|other| *other == step).unwrap_or_default();
        let from = symmetry.square(from, self.side, self.side);
        Action(((first + direction) * self.cells() + from) as u16)
    }

    fn map_state(&self, symmetry: Symmetry, state: &State) -> State {
        let map = |square: usize| symmetry.square(square, self.side, self.side);
        let mut checkers = [0; 2];
        for (mapped, mut set) in checkers.iter_mut().zip(state.checkers) {
            while set != 0 {
                *mapped |= 1 << map(set.trailing_zeros() as usize);
                set &= set - 1;
            }
        }
        let jumping = match state.jumping {
            NOBODY => NOBODY,
            square => map(square as usize) as u8,
        };
        State { checkers, jumping, ..*state }
    }

    fn exchanged(&self, state: &State) -> Option<State> {
        let [red, blue] = state.checkers;
        Some(State { checkers: [blue, red], to_move: state.to_move.other(), ..*state })
    }
}

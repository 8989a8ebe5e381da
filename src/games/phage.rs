//! Phage, by Steve Gardner (2003): four pieces per side that burn their squares behind them.
//!
//! Rulings (P1..P6), White first, 8x8 squares a1..h8:
//!
//! - P1 A piece slides one or more squares along one of its directions: all 8 for the circle; the 4 orthogonal ones for
//!   the diamond; the 4 diagonal ones for the square; left, right, and straight ahead for the triangle (ahead is north
//!   for White, south for Black).
//! - P2 Every square that the piece passes and the square where it lands must be open: on the board, without a piece,
//!   and never left by any piece.
//! - P3 The square that a piece leaves is closed for both players for the rest of the game.
//! - P4 Each piece has 7 moves, which are not transferable. There are no captures and no passing.
//! - P5 The game ends if the side to move has no legal move. Black to move and stuck: White wins. White to move and
//!   stuck: Black wins if Black could still move; otherwise the game is a draw.
//! - P6 A game has at most 56 plies and cannot run in circles.
//!
//! | action      | meaning, from the point of view of the player to move (ranks flipped for Black) |
//! |-------------|------------------------------------------------------------------|
//! | kind*64 + s | the piece of that kind (circle, square, triangle, diamond) slides to square s = rank*8 + file |
//!
//! | planes | content, ranks flipped for Black |
//! |--------|--------------------------------------|
//! | 0-3    | own circle, square, triangle, diamond |
//! | 4-7    | the opponent's circle, square, triangle, diamond |
//! | 8      | closed squares |
//! | 9      | open squares |
//! | 10-13  | own slides left / 7, by kind, everywhere |
//! | 14-17  | the opponent's slides left / 7, by kind, everywhere |
//! | 18     | 1 if White is to move (the draw rule of P5 is not symmetric) |
//! | 19-22  | where each own piece can slide now |
//! | 23-26  | where each of the opponent's pieces could slide |
//!
//! [`Game::encode`] takes about 30 ns.
//!
//! Position text: `<board> <side> <slides left>`. The board has the ranks 8 to 1 separated by `/`; a digit is a run of
//! open empty squares, `x` is a closed square, `C S T D` are White's circle, square, triangle, and diamond, and `c s t
//! d` are Black's. The side is `w` or `b`. The slides left are four digits for White, `/`, and four for Black, in the
//! order C S T D. Action text: `e3-h6`.

use crate::board::{Symmetry, parse_square, square_text};
use crate::encode::Planes;
use crate::error::{Error, Result};
use crate::game::{
    About, Action, BoardView, Game, GameOptions, Look, Outcome, PieceShape, Player, Shape, Variants,
};

const SIDE: usize = 8;
const KINDS: usize = 4;
const MOVES: u8 = 7;
const LETTERS: [&str; 2] = ["CSTD", "cstd"];
const INITIAL: &str = "7d/5t2/3s4/1c6/6C1/4S3/2T5/D7 w 7777/7777";

/// Steps (file, rank). The steps that raise the square's index come first.
const STEPS: [(i32, i32); 8] = [(1, 0), (-1, 1), (0, 1), (1, 1), (-1, 0), (1, -1), (0, -1), (-1, -1)];
const RISING: usize = 4;
const EAST: usize = 0;
const NORTH: usize = 2;
const WEST: usize = 4;
const SOUTH: usize = 6;

/// `RAYS[direction][square]` is the set of squares in that direction, up to the edge.
static RAYS: [[u64; 64]; 8] = rays();
/// `NEXT[player][kind][square]` is the set of squares one step away.
static NEXT: [[[u64; 64]; KINDS]; 2] = next();

const fn rays() -> [[u64; 64]; 8] {
    let mut rays = [[0; 64]; 8];
    let mut direction = 0;
    while direction < 8 {
        let mut square = 0;
        while square < 64 {
            let (dx, dy) = STEPS[direction];
            let (mut x, mut y) = (square % 8 + dx, square / 8 + dy);
            while x >= 0 && x < 8 && y >= 0 && y < 8 {
                rays[direction][square as usize] |= 1 << (y * 8 + x);
                (x, y) = (x + dx, y + dy);
            }
            square += 1;
        }
        direction += 1;
    }
    rays
}

/// Returns the directions of a kind, as indices into [`STEPS`] (P1).
const fn directions(player: usize, kind: usize) -> &'static [usize] {
    match (kind, player) {
        (0, _) => &[0, 1, 2, 3, 4, 5, 6, 7],
        (1, _) => &[1, 3, 5, 7],
        (2, 0) => &[EAST, NORTH, WEST],
        (2, _) => &[EAST, WEST, SOUTH],
        _ => &[EAST, NORTH, WEST, SOUTH],
    }
}

const fn next() -> [[[u64; 64]; KINDS]; 2] {
    let mut next = [[[0; 64]; KINDS]; 2];
    let mut index = 0;
    while index < 2 * KINDS * 64 {
        let (player, kind, square) = (index / (KINDS * 64), index / 64 % KINDS, index % 64);
        let directions = directions(player, kind);
        let mut at = 0;
        while at < directions.len() {
            let (x, y) =
                (square as i32 % 8 + STEPS[directions[at]].0, square as i32 / 8 + STEPS[directions[at]].1);
            if x >= 0 && x < 8 && y >= 0 && y < 8 {
                next[player][kind][square] |= 1 << (y * 8 + x);
            }
            at += 1;
        }
        index += 1;
    }
    next
}

/// The rules; there are no options.
#[derive(Clone, Debug)]
pub struct Phage;

/// A position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// The open squares, which have no piece and which no piece has left.
    open: u64,
    /// The square of each player's piece, by kind.
    pieces: [[u8; KINDS]; 2],
    /// The number of moves that each piece has left.
    left: [[u8; KINDS]; 2],
    to_move: Player,
}

impl State {
    /// Returns the squares that each piece of a player can slide to.
    fn reach(&self, player: usize) -> [u64; KINDS] {
        let reach = |kind: usize| if self.left[player][kind] > 0 { self.slides(player, kind) } else { 0 };
        // with literal kinds, the compiler unrolls the rays of each
        [reach(0), reach(1), reach(2), reach(3)]
    }

    /// Returns the squares that a piece can slide to, ignoring how many slides it has left.
    #[inline(always)]
    fn slides(&self, player: usize, kind: usize) -> u64 {
        let square = self.pieces[player][kind] as usize;
        let mut targets = 0;
        for &direction in directions(player, kind) {
            let ray = RAYS[direction][square];
            let blocked = ray & !self.open;
            // up to the nearest blocked square, which is the lowest on a rising ray and the highest on a falling ray
            let near = if direction < RISING {
                blocked ^ blocked.wrapping_sub(1)
            } else {
                !0 << (63 - (blocked | 1).leading_zeros())
            };
            targets |= ray & near;
        }
        targets & self.open
    }

    fn can_move(&self, player: usize) -> bool {
        (0..KINDS).any(|kind| {
            self.left[player][kind] > 0
                && NEXT[player][kind][self.pieces[player][kind] as usize] & self.open != 0
        })
    }

    fn occupied(&self) -> u64 {
        self.pieces.iter().flatten().fold(0, |set, square| set | 1 << square)
    }

    fn closed(&self) -> u64 {
        !self.open & !self.occupied()
    }

    fn moves_made(&self, player: usize) -> u32 {
        self.left[player].iter().map(|left| (MOVES - left) as u32).sum()
    }
}

/// Returns a set of squares from the player's point of view; doing this twice gives the set back.
fn seen(set: u64, player: usize) -> u64 {
    if player == 0 { set } else { set.swap_bytes() }
}

/// Returns a square from the player's point of view; doing this twice gives the square back.
fn seen_square(square: usize, player: usize) -> usize {
    if player == 0 { square } else { square ^ 56 }
}

static ABOUT: About =
    About::new(Phage::NAME, ["White", "Black"]).title("Phage").author("Steve Gardner, 2003").summary(
        "Pieces slide over open squares and permanently close the square they \
        leave (x): the circle (C, c) in all 8 directions, the square (S, s) diagonally, the diamond (D, d) \
        along files and ranks, the triangle (T, t) sideways and ahead only. Each piece has 7 slides; \
        nothing is captured. A player who cannot slide loses, but if White is to act and neither side can, \
        it is a draw. Write e3-h6.",
    );

impl Variants for Phage {
    const NAME: &'static str = "phage";

    fn new(options: &GameOptions) -> Result<Self> {
        options.expect_settings(Self::NAME, &[])?;
        Ok(Phage)
    }
}

impl Game for Phage {
    type State = State;

    fn about(&self) -> &About {
        &ABOUT
    }

    fn manual(&self) -> String {
        include_str!("manuals/phage.txt").into()
    }

    fn brief(&self) -> String {
        include_str!("manuals/phage-brief.txt").into()
    }

    fn shape(&self) -> Shape {
        Shape { planes: 27, height: SIDE, width: SIDE, actions: KINDS * 64 }
    }

    fn max_plies(&self) -> usize {
        2 * KINDS * MOVES as usize
    }

    fn initial(&self) -> State {
        let white = [30, 20, 10, 0]; // g4, e3, c2, a1
        let pieces = [white, white.map(|square| 63 - square)];
        let occupied = pieces.iter().flatten().fold(0, |set, square| set | 1 << square);
        State { open: !occupied, pieces, left: [[MOVES; KINDS]; 2], to_move: Player::First }
    }

    fn to_move(&self, state: &State) -> Player {
        state.to_move
    }

    fn legal_actions(&self, state: &State, out: &mut Vec<Action>) {
        let player = state.to_move.index();
        let reach = state.reach(player);
        out.clear();
        out.resize(reach.iter().map(|targets| targets.count_ones() as usize).sum(), Action(0));
        let mut slots = out.iter_mut();
        for (kind, targets) in reach.into_iter().enumerate() {
            let mut targets = seen(targets, player);
            while targets != 0
                && let Some(slot) = slots.next()
            {
                *slot = Action((kind * 64) as u16 + targets.trailing_zeros() as u16);
                targets &= targets - 1;
            }
        }
    }

    fn count_legal_actions(&self, state: &State, _scratch: &mut Vec<Action>) -> usize {
        state.reach(state.to_move.index()).iter().map(|targets| targets.count_ones() as usize).sum()
    }

    fn play(&self, state: &mut State, action: Action) {
        let player = state.to_move.index();
        let (kind, to) = (action.index() / 64, seen_square(action.index() % 64, player));
        debug_assert!(state.left[player][kind] > 0 && state.slides(player, kind) >> to & 1 == 1);
        // the square that the piece leaves was not open while the piece was on it, and stays closed (P3)
        state.open &= !(1 << to);
        state.pieces[player][kind] = to as u8;
        state.left[player][kind] -= 1;
        state.to_move = state.to_move.other();
    }

    fn outcome(&self, state: &State) -> Option<Outcome> {
        if state.can_move(state.to_move.index()) {
            return None;
        }
        Some(match state.to_move {
            Player::Second => Outcome::Win(Player::First),
            Player::First if state.can_move(1) => Outcome::Win(Player::Second),
            Player::First => Outcome::Draw,
        })
    }

    fn ending(&self, state: &State) -> &str {
        match self.outcome(state) {
            Some(Outcome::Draw) => "neither player can move",
            _ => "one player cannot move",
        }
    }

    fn encode(&self, state: &State, planes: &mut Planes) {
        let own = state.to_move.index();
        let set =
            |planes: &mut Planes, plane: usize, squares: u64| planes.set_bits(plane, seen(squares, own));
        for (side, player) in [own, 1 - own].into_iter().enumerate() {
            for (kind, targets) in state.reach(player).into_iter().enumerate() {
                set(planes, side * 4 + kind, 1 << state.pieces[player][kind]);
                planes.fill(10 + side * 4 + kind, state.left[player][kind] as f32 / MOVES as f32);
                set(planes, 19 + side * 4 + kind, targets);
            }
        }
        set(planes, 8, state.closed());
        set(planes, 9, state.open);
        planes.fill(18, if own == 0 { 1.0 } else { 0.0 });
    }

    fn key(&self, state: &State) -> u64 {
        let word = |bytes: [[u8; KINDS]; 2]| {
            (u32::from_le_bytes(bytes[0]) as u64) << 32 | u32::from_le_bytes(bytes[1]) as u64
        };
        // squares and slides left are small numbers, so the top bit is free for the side to move
        let left = word(state.left) | (state.to_move.index() as u64) << 63;
        [state.open, word(state.pieces), left].into_iter().fold(0, |hash: u64, word| {
            let mixed = (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ mixed >> 32
        })
    }

    fn action_text(&self, state: &State, action: Action) -> String {
        let player = state.to_move.index();
        let from = state.pieces[player][action.index() / 64] as usize;
        let to = seen_square(action.index() % 64, player);
        format!("{}-{}", square_text(from, SIDE), square_text(to, SIDE))
    }

    fn parse_action(&self, state: &State, text: &str) -> Option<Action> {
        let player = state.to_move.index();
        let (from, to) = text.split_once('-')?;
        let (from, to) = (parse_square(from, SIDE, SIDE)?, parse_square(to, SIDE, SIDE)?);
        let kind = state.pieces[player].iter().position(|square| *square as usize == from)?;
        let legal = state.left[player][kind] > 0 && state.slides(player, kind) >> to & 1 == 1;
        legal.then(|| Action((kind * 64 + seen_square(to, player)) as u16))
    }

    fn why_illegal(&self, state: &State, text: &str) -> Option<String> {
        let squares =
            text.split_once('-').map(|(from, to)| [from, to].map(|text| parse_square(text, SIDE, SIDE)));
        let [Some(from), Some(to)] = squares? else { return None };
        let player = state.to_move.index();
        let Some(kind) = state.pieces[player].iter().position(|square| *square as usize == from) else {
            return Some(format!("{} has no piece on {}", ABOUT.players[player], square_text(from, SIDE)));
        };
        let name = ["circle", "square", "triangle", "diamond"][kind];
        match (state.left[player][kind], state.open >> to & 1) {
            (0, _) => Some(format!("the {name} has made its 7 slides")),
            (_, 0) => Some(format!("{} is not open", square_text(to, SIDE))),
            _ => Some(format!("the {name} cannot slide there over open squares")),
        }
    }

    fn state_text(&self, state: &State) -> String {
        let mut ranks = Vec::new();
        for row in self.view(state).cells {
            let mut rank = String::new();
            let mut run = 0;
            for cell in row.iter().map(String::as_str).chain(["end"]) {
                if cell == "." {
                    run += 1;
                    continue;
                }
                if run > 0 {
                    rank.push_str(&run.to_string());
                    run = 0;
                }
                rank.push_str(if cell == "end" { "" } else { cell });
            }
            ranks.push(rank);
        }
        let left = |player: usize| state.left[player].iter().map(|left| left.to_string()).collect::<String>();
        let side = ["w", "b"][state.to_move.index()];
        format!("{} {side} {}/{}", ranks.join("/"), left(0), left(1))
    }

    fn parse_state(&self, text: &str) -> Result<State> {
        parse(text).map_err(|what| {
            Error::position(&ABOUT.title, text, &what, &format!("the initial position is `{INITIAL}`"))
        })
    }

    fn view(&self, state: &State) -> BoardView {
        let cell = |square: usize| {
            for (pieces, letters) in state.pieces.iter().zip(LETTERS) {
                if let Some(kind) = pieces.iter().position(|at| *at as usize == square) {
                    return letters[kind..kind + 1].to_string();
                }
            }
            if state.open >> square & 1 == 1 { ".".into() } else { "x".into() }
        };
        let left = |player: usize| {
            let parts = state.left[player].iter().zip(LETTERS[player].chars());
            parts.map(|(left, letter)| format!("{letter}{left}")).collect::<Vec<_>>().join(" ")
        };
        let note = format!("slides left: White {}, Black {}", left(0), left(1));
        BoardView::of_squares(SIDE, SIDE, LETTERS, cell, note)
    }

    fn look(&self, _view: &BoardView, text: &str) -> Look {
        match text {
            "." => Look::Empty,
            "C" | "c" => Look::Piece(PieceShape::Circle),
            "S" | "s" => Look::Piece(PieceShape::Square),
            "T" | "t" => Look::Piece(PieceShape::Triangle),
            "D" | "d" => Look::Piece(PieceShape::Diamond),
            _ => Look::Closed,
        }
    }

    fn touched(&self, before: &State, action: Action) -> Vec<(usize, usize)> {
        let player = before.to_move.index();
        let from = before.pieces[player][action.index() / 64] as usize;
        let to = seen_square(action.index() % 64, player);
        [from, to].map(|square| BoardView::place(square, SIDE, SIDE)).to_vec()
    }

    fn symmetries(&self, _state: &State) -> &[Symmetry] {
        &Symmetry::COLUMN_MIRROR
    }

    fn map_action(&self, symmetry: Symmetry, action: Action) -> Action {
        let (kind, square) = (action.index() / 64, action.index() % 64);
        Action((kind * 64 + symmetry.square(square, SIDE, SIDE)) as u16)
    }

    fn turning(&self) -> Symmetry {
        Symmetry::ROW_MIRROR
    }

    fn map_state(&self, symmetry: Symmetry, state: &State) -> State {
        let map = |square: usize| symmetry.square(square, SIDE, SIDE);
        let open = (0..64)
            .filter(|square| state.open >> square & 1 == 1)
            .fold(0, |set, square| set | 1 << map(square));
        let pieces = state.pieces.map(|pieces| pieces.map(|square| map(square as usize) as u8));
        State { open, pieces, ..*state }
    }

    fn exchanged(&self, state: &State) -> Option<State> {
        // P5: if neither side can move, it matters who White is
        let both_stuck = !state.can_move(0) && !state.can_move(1);
        let turned = |player: usize| state.pieces[player].map(|square| seen_square(square as usize, 1) as u8);
        (!both_stuck).then(|| State {
            open: seen(state.open, 1),
            pieces: [turned(1), turned(0)],
            left: [state.left[1], state.left[0]],
            to_move: state.to_move.other(),
        })
    }
}

fn parse(text: &str) -> Result<State, String> {
    let fields: Vec<&str> = text.split(' ').collect();
    let [board, side, left] = fields[..] else {
        return Err("it needs three fields: board, side to move, slides left".into());
    };
    let to_move = match side {
        "w" => Player::First,
        "b" => Player::Second,
        _ => return Err(format!("the side to move must be `w` or `b`, not `{side}`")),
    };
    let (open, pieces) = parse_board(board)?;
    let state = State { open, pieces, left: parse_left(left)?, to_move };
    let (white, black) = (state.moves_made(0), state.moves_made(1));
    if white != black + to_move.index() as u32 {
        return Err(format!("White has made {white} moves and Black {black}: `{side}` cannot be to move"));
    }
    if state.closed().count_ones() != white + black {
        let closed = state.closed().count_ones();
        return Err(format!("{closed} squares are closed after {} moves", white + black));
    }
    Ok(state)
}

fn parse_board(board: &str) -> Result<(u64, [[u8; KINDS]; 2]), String> {
    const NONE: u8 = u8::MAX;
    let (mut open, mut pieces) = (0, [[NONE; KINDS]; 2]);
    let ranks: Vec<&str> = board.split('/').collect();
    if ranks.len() != SIDE {
        return Err(format!("the board has {} ranks, not 8", ranks.len()));
    }
    for (rank, y) in ranks.iter().zip((0..SIDE).rev()) {
        let (mut x, mut after_digit) = (0, false);
        for letter in rank.chars() {
            let run = letter.to_digit(10).filter(|run| (1..=8).contains(run)).unwrap_or(0) as usize;
            if x + run.max(1) > SIDE {
                return Err(format!("rank {} has more than 8 squares", y + 1));
            }
            let owner = LETTERS.iter().position(|letters| letters.contains(letter));
            match (run, owner) {
                (1.., _) if after_digit => return Err(format!("rank {}: two adjacent numbers", y + 1)),
                (1.., _) => open |= ((1u64 << run) - 1) << (y * SIDE + x),
                (_, Some(player)) => {
                    let kind = LETTERS[player].find(letter).unwrap_or_default();
                    if pieces[player][kind] != NONE {
                        return Err(format!("there is more than one `{letter}`"));
                    }
                    pieces[player][kind] = (y * SIDE + x) as u8;
                }
                _ if letter == 'x' => {}
                _ => {
                    return Err(format!(
                        "rank {}: `{letter}` is not a piece, a closed square (`x`), or a number of open squares \
                         (1 to 8)",
                        y + 1
                    ));
                }
            }
            after_digit = run > 0;
            x += run.max(1);
        }
        if x != SIDE {
            return Err(format!("rank {} has {x} squares, not 8", y + 1));
        }
    }
    for (player, letters) in LETTERS.iter().enumerate() {
        if let Some(kind) = pieces[player].iter().position(|square| *square == NONE) {
            return Err(format!("there is no `{}`", &letters[kind..kind + 1]));
        }
    }
    Ok((open, pieces))
}

fn parse_left(text: &str) -> Result<[[u8; KINDS]; 2], String> {
    let digits = |part: &str| -> Option<[u8; KINDS]> {
        let digits: Vec<u8> = part.bytes().map(|c| c.wrapping_sub(b'0')).collect();
        let digits: [u8; KINDS] = digits.try_into().ok()?;
        digits.iter().all(|left| *left <= MOVES).then_some(digits)
    };
    let both = text.split_once('/').and_then(|(white, black)| Some([digits(white)?, digits(black)?]));
    both.ok_or_else(|| {
        format!(
            "the numbers of remaining slides must be four digits from 0 to 7 for each side, like `7777/7777`, not \
             `{text}`"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_initial_position_is_that_of_the_rule_sheet() {
        assert_eq!(Phage.state_text(&Phage.initial()), INITIAL);
        assert_eq!(Phage.parse_state(INITIAL).unwrap(), Phage.initial());
    }

    #[test]
    fn ahead_is_up_for_both_players() {
        let mut state = Phage.initial();
        let ahead = |state: &State, text| Phage.parse_action(state, text).unwrap();
        let white = ahead(&state, "c2-c8");
        assert_eq!(white, Action(2 * 64 + 58));
        Phage.play(&mut state, white);
        // f7-f1 seen from Black's side is the same action, except for the mirrored files
        assert_eq!(ahead(&state, "f7-f1"), Action(2 * 64 + 61));
    }

    #[test]
    fn a_wrong_text_is_rejected_with_the_reason() {
        let board = |board: &str| format!("{board} w 7777/7777");
        let cases = [
            (String::new(), "three fields"),
            (INITIAL.replace(" w ", " W "), "`w` or `b`, not `W`"),
            (INITIAL.replace("7777/", "7778/"), "four digits from 0 to 7 for each side"),
            (INITIAL.replace("7777/", "777/"), "four digits from 0 to 7 for each side"),
            (INITIAL.replace(" w ", " b "), "White has made 0 moves and Black 0"),
            (INITIAL.replace("7d", "6xd"), "1 squares are closed after 0 moves"),
            (board("7d/5t2/3s4/1c6/6C1/4S3/2T5"), "7 ranks, not 8"),
            (board("7d/5t2/3s4/1c6/6C1/4S3/2T6/D7"), "rank 2 has more than 8 squares"),
            (board("7d/5t2/3s4/1c6/6C1/4S3/2T4/D7"), "rank 2 has 7 squares, not 8"),
            (board("7d/5t2/3s4/1c6/6C1/4S3/2T14/D7"), "rank 2: two adjacent numbers"),
            (board("7d/5t2/3s4/1c6/6C1/4S3/2\u{e9}5/D7"), "rank 2: `\u{e9}` is not a piece"),
            (board("7d/5t2/3s4/1c6/6C1/4S3/2T5/D6D"), "more than one `D`"),
            (board("7d/5t2/3s4/1c6/6C1/4S3/8/D7"), "no `T`"),
        ];
        for (text, expected) in cases {
            let error = Phage.parse_state(&text).unwrap_err().to_string();
            assert!(error.contains(expected) && error.contains(INITIAL), "{text}: {error}");
        }
    }
}

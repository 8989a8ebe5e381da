//! Caïssa, by Christian Freeling, with the rules of CodeCup 2003: chess pieces that carry the board along.
//!
//! Rulings (R1..R9), White first, 7x7 squares a1..g7, each with a tile at the start:
//!
//! - R1 Queen, rook, bishop, and knight move along the lines of the chess pieces. Only pieces block a line; holes never
//!   do. A slider may land on the first piece it meets (as R3 allows), never beyond it.
//! - R2 The queen's target must have a tile and no piece of her own color; an enemy rook, bishop or knight there is
//!   captured. The tile that she leaves is removed. While in check she may only go to one of the 8 adjacent squares.
//! - R3 Rook, bishop, knight: a move to a hole takes the tile along, so that the square left becomes a hole; a move to
//!   an empty tile is a plain move; a rook, bishop, or knight of either color on the target trades places with the
//!   mover; a queen cannot be a target.
//! - R4 After every move all tiles must form one group (8 neighbors per square).
//! - R5 After every move the mover's queen must not be in check, and the queens must not see each other along a rank,
//!   file, or diagonal without a piece in between.
//! - R6 Check: an enemy rook, bishop or knight has the queen's square among its targets by R1, pinned or not.
//! - R7 An exchange of pieces of different colors must not be undone by the very next action (`exchange_ban`).
//! - R8 If the side to move has no legal move, it loses if it is in check; otherwise the game is a draw. A position
//!   after 200 plies is also a draw unless it is mate. There is no repetition rule and no passing.
//! - R9 A player's own queen must not be exchanged (unless `queen_exchange`).
//!
//! Each side has one piece of each kind, and no rule depends on direction, so nothing is flipped for Black:
//!
//! | action      | meaning |
//! |-------------|---------|
//! | kind*49 + s | the own piece of that kind (queen, rook, bishop, knight) goes to square s = rank*7 + file |
//!
//! | planes | content |
//! |--------|---------|
//! | 0-3    | own queen, rook, bishop, knight |
//! | 4-7    | the opponent's queen, rook, bishop, knight |
//! | 8, 9   | tiles, holes |
//! | 10     | tiles whose removal would disconnect the others (R4) |
//! | 11     | both squares of the exchange that R7 forbids now |
//! | 12-15  | where each own piece may legally go now |
//! | 16-19  | the lines of each of the opponent's pieces (R1) |
//! | 20     | 1 everywhere when in check |
//! | 21     | plies / 200 everywhere |
//!
//! [`Game::encode`] takes about 500 ns, most of it for plane 10; a position has 24 bytes.
//!
//! The key contains the whole state, including the plies. Including the plies loses nothing, since lines that transpose
//! have the same length, and the plies are needed because every game can reach the limit. With the plies in the key, a
//! game cannot run in circles. The ban is part of the state only if the forbidden action would be possible by R1, so it
//! rarely separates positions with the same future.
//!
//! Position text: `<ranks 7..1> <side> <ban> <ply>`. In the ranks, `QRBN` are White's pieces, `qrbn` Black's, a number
//! is that many empty tiles, and `*` is a hole; the side is `w` or `b`; the ban is `-` or the action that R7 forbids;
//! the ply counts the plies of both players. Action text: `b2-c4`.

use crate::board::{Symmetry, parse_count, parse_ranks, parse_square, ranks_text, square_text};
use crate::encode::Planes;
use crate::error::{Error, Result};
use crate::game::{
    About, Action, BoardStyle, BoardView, Game, GameOption, GameOptions, Look, Outcome, PieceShape, Player,
    Shape, Variants,
};
use crate::random::mix;

mod squares;
mod why;

use squares::{ALL, AROUND, CELLS, LEAP, SIDE, bishop, group, lowest, reconnecting, removable, rook};

const KINDS: usize = 4;
const QUEEN: usize = 0;
const ROOK: usize = 1;
const BISHOP: usize = 2;
const KNIGHT: usize = 3;
const LETTERS: [&str; 2] = ["QRBN", "qrbn"];
const MAX_PLIES: u8 = 200;
/// The square of a captured piece, which is outside the board.
const GONE: u8 = 63;
const INITIAL: &str = "7/3bqn1/4r2/7/2R4/1NQB3/7 w - 0";

/// The rules with their two options.
#[derive(Clone, Copy, Debug)]
pub struct Caissa {
    exchange_ban: bool,
    queen_exchange: bool,
}

/// A position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct State {
    tiles: u64,
    /// The square of each player's piece by kind, or [`GONE`].
    pieces: [[u8; KINDS]; 2],
    /// The source and target of the exchange that R7 forbids, or [`GONE`] twice.
    ban: [u8; 2],
    plies: u8,
    to_move: Player,
}

/// The board from the point of view of the player to move.
struct MoverView {
    own: [u8; KINDS],
    enemy: [u8; KINDS],
    own_set: u64,
    enemy_set: u64,
    /// The rook's and the bishop's lines from the own queen.
    straight: u64,
    diagonal: u64,
    in_check: bool,
}

fn bit(square: u8) -> u64 {
    1 << square & ALL
}

fn set(pieces: [u8; KINDS]) -> u64 {
    (1 << pieces[0] | 1 << pieces[1] | 1 << pieces[2] | 1 << pieces[3]) & ALL
}

/// Returns the lines of a kind (R1). A captured piece has no lines, because no ray starts at its square.
#[inline(always)]
fn lines(kind: usize, square: usize, occupied: u64) -> u64 {
    match kind {
        QUEEN => rook(square, occupied) | bishop(square, occupied),
        ROOK => rook(square, occupied),
        BISHOP => bishop(square, occupied),
        _ => LEAP[square],
    }
}

/// Returns whether a queen on `queen` is in check or sees the enemy queen (R5).
#[inline(always)]
fn exposed(queen: usize, occupied: u64, enemy: [u8; KINDS]) -> bool {
    let bits = enemy.map(bit);
    rook(queen, occupied) & (bits[QUEEN] | bits[ROOK]) != 0
        || bishop(queen, occupied) & (bits[QUEEN] | bits[BISHOP]) != 0
        || LEAP[queen] & bits[KNIGHT] != 0
}

impl State {
    fn sight(&self) -> MoverView {
        let (own, enemy) = (self.pieces[self.to_move.index()], self.pieces[1 - self.to_move.index()]);
        let (own_set, enemy_set) = (set(own), set(enemy));
        let queen = own[QUEEN] as usize;
        let (straight, diagonal) = (rook(queen, own_set | enemy_set), bishop(queen, own_set | enemy_set));
        let checks =
            straight & bit(enemy[ROOK]) | diagonal & bit(enemy[BISHOP]) | LEAP[queen] & bit(enemy[KNIGHT]);
        MoverView { own, enemy, own_set, enemy_set, straight, diagonal, in_check: checks != 0 }
    }

    /// Returns the piece on a square: player and kind.
    fn piece(&self, square: usize) -> Option<(usize, usize)> {
        (0..2 * KINDS)
            .map(|index| (index / KINDS, index % KINDS))
            .find(|&(player, kind)| self.pieces[player][kind] as usize == square)
    }

    /// Returns the queen's targets (R2).
    fn queen_targets(&self, sight: &MoverView) -> u64 {
        let queen = sight.own[QUEEN] as usize;
        let mut targets = (sight.straight | sight.diagonal) & self.tiles & !sight.own_set;
        if sight.in_check {
            targets &= AROUND[queen];
        }
        // she does not block the lines behind her
        let occupied = (sight.own_set | sight.enemy_set) & !(1 << queen);
        for (kind, square) in sight.enemy.into_iter().enumerate() {
            targets &= !lines(kind, square as usize, occupied);
        }
        let targets = targets & !bit(sight.enemy[QUEEN]);
        if targets != 0 && removable(self.tiles, queen) { targets } else { 0 }
    }

    /// Returns the targets of the rook, bishop, or knight by R1, R3, R4, R7, and R9, before the check of R5.
    fn piece_targets(&self, rules: &Caissa, sight: &MoverView, kind: usize) -> u64 {
        let from = sight.own[kind];
        let mut targets =
            lines(kind, from as usize, sight.own_set | sight.enemy_set) & !bit(sight.enemy[QUEEN]);
        if !rules.queen_exchange {
            targets &= !bit(sight.own[QUEEN]);
        }
        if targets & !self.tiles != 0 {
            targets &= self.tiles | reconnecting(self.tiles, from as usize);
        }
        if rules.exchange_ban && self.ban[0] == from {
            targets &= !bit(self.ban[1]);
        }
        targets
    }

    /// Returns whether an action of the rook, bishop, or knight violates R5, tested in the position after the action.
    fn exposes(&self, sight: &MoverView, kind: usize, to: u8) -> bool {
        let (from, mut enemy, mut queen) = (sight.own[kind], sight.enemy, sight.own[QUEEN]);
        let mut occupied = sight.own_set | sight.enemy_set;
        if queen == to {
            queen = from;
        } else if let Some(other) = enemy.iter().position(|square| *square == to) {
            enemy[other] = from;
        } else if occupied & bit(to) == 0 {
            occupied ^= bit(from) | bit(to);
        }
        exposed(queen as usize, occupied, enemy)
    }

    /// Returns the targets of each piece of the player to move, even if the game was ended by the limit.
    fn targets(&self, rules: &Caissa) -> [u64; KINDS] {
        let sight = self.sight();
        let safe_targets = |kind: usize| {
            if sight.own[kind] == GONE {
                return 0;
            }
            let mut targets = self.piece_targets(rules, &sight, kind);
            let mut unsure = self.unsure(&sight, kind, targets);
            while unsure != 0 {
                if self.exposes(&sight, kind, unsure.trailing_zeros() as u8) {
                    targets ^= lowest(unsure);
                }
                unsure &= unsure - 1;
            }
            targets
        };
        [self.queen_targets(&sight), safe_targets(ROOK), safe_targets(BISHOP), safe_targets(KNIGHT)]
    }

    /// Returns the `candidates` that could expose the player's own queen.
    #[inline(always)]
    fn unsure(&self, sight: &MoverView, kind: usize, candidates: u64) -> u64 {
        let from = bit(sight.own[kind]);
        let occupied = sight.own_set | sight.enemy_set;
        if sight.in_check {
            return candidates;
        }
        // an exchange with an enemy puts the enemy piece on the square that the piece leaves
        let mut unsure = candidates & (sight.enemy_set | bit(sight.own[QUEEN]));
        // a piece that shields the queen opens a line when it leaves
        if from & (sight.straight | sight.diagonal) != 0
            && exposed(sight.own[QUEEN] as usize, occupied & !from, sight.enemy)
        {
            unsure |= candidates & !occupied;
        }
        unsure
    }
}

impl Caissa {
    fn parse(&self, text: &str) -> Result<State, String> {
        let fields: Vec<&str> = text.split(' ').collect();
        let [board, side, ban, plies] = fields[..] else {
            return Err("it needs four fields: ranks, side to move, forbidden action or `-`, plies".into());
        };
        let to_move = match side {
            "w" => Player::First,
            "b" => Player::Second,
            _ => return Err(format!("the side to move must be `w` or `b`, not `{side}`")),
        };
        let Some(plies) = parse_count(plies, MAX_PLIES as usize) else {
            return Err(format!("the plies must be a number up to {MAX_PLIES}, not `{plies}`"));
        };
        if plies % 2 != to_move.index() {
            return Err(format!("after {plies} plies `{side}` cannot be to move: White goes first"));
        }
        let (tiles, pieces) = parse_board(board)?;
        let mut state = State { tiles, pieces, ban: [GONE; 2], plies: plies as u8, to_move };
        let waiting = State { to_move: to_move.other(), ..state };
        if group(lowest(tiles), tiles) != tiles {
            return Err("the tiles are not connected".into());
        }
        if waiting.sight().in_check {
            return Err("the player who is not to move is in check".into());
        }
        let queen = pieces[0][QUEEN] as usize;
        if lines(QUEEN, queen, set(pieces[0]) | set(pieces[1])) & bit(pieces[1][QUEEN]) != 0 {
            return Err("the queens see each other".into());
        }
        if ban != "-" {
            let squares = parse_ban(&state, ban)?;
            // without R7 there is nothing to remember
            state.ban = if self.exchange_ban { squares } else { [GONE; 2] };
        }
        Ok(state)
    }
}

fn parse_board(board: &str) -> Result<(u64, [[u8; KINDS]; 2]), String> {
    let (mut tiles, mut pieces) = (ALL, [[GONE; KINDS]; 2]);
    for (square, letter) in parse_ranks(board, SIDE, SIDE, "QRBNqrbn*")?.into_iter().enumerate() {
        let Some(letter) = letter else { continue };
        match LETTERS.iter().position(|letters| letters.contains(letter)) {
            None => tiles &= !(1 << square),
            Some(player) => {
                let piece = &mut pieces[player][LETTERS[player].find(letter).unwrap_or_default()];
                if *piece != GONE {
                    return Err(format!("there is more than one `{letter}`"));
                }
                *piece = square as u8;
            }
        }
    }
    match pieces.iter().position(|pieces| pieces[QUEEN] == GONE) {
        Some(player) => Err(format!("there is no `{}`", &LETTERS[player][..1])),
        None => Ok((tiles, pieces)),
    }
}

fn parse_ban(state: &State, text: &str) -> Result<[u8; 2], String> {
    let squares = text.split_once('-').and_then(|(from, to)| {
        Some([parse_square(from, SIDE, SIDE)? as u8, parse_square(to, SIDE, SIDE)? as u8])
    });
    let Some([from, to]) = squares else {
        return Err(format!("the forbidden action must be like `b2-c4` or `-`, not `{text}`"));
    };
    let mover = state.to_move.index();
    let occupied = set(state.pieces[0]) | set(state.pieces[1]);
    let possible = match (state.piece(from as usize), state.piece(to as usize)) {
        (Some((player, kind)), Some((other, other_kind))) => {
            state.plies > 0
                && player == mover
                && other != mover
                && kind != QUEEN
                && other_kind != QUEEN
                && lines(kind, from as usize, occupied) & bit(to) != 0
                && lines(other_kind, to as usize, occupied) & bit(from) != 0
        }
        _ => false,
    };
    if possible {
        Ok([from, to])
    } else {
        Err(format!("`{text}` would not undo an exchange that the enemy has just made"))
    }
}

static ABOUT: About = About::new(Caissa::NAME, ["White", "Black"])
    .title("Caïssa")
    .author("Christian Freeling, rules of CodeCup 2003")
    .summary(
        "Q, R, B and N move as in chess, and only pieces block a line. R, B and N \
        go to a tile (.), carry their own tile into a hole (*), or trade places with an R, B or N of either \
        side. The queen needs a tile, may capture there, removes the tile she leaves, and in check moves \
        one square only. All tiles must stay one group, and the queens must not see each other. A player in \
        check without an action loses; without check it is a draw, as it is after 200 actions. Write b2-c4.",
    )
    .board(BoardStyle::Tiles);

impl Variants for Caissa {
    const NAME: &'static str = "caissa";

    fn new(options: &GameOptions) -> Result<Self> {
        options.expect_settings(Self::NAME, &["exchange_ban", "queen_exchange"])?;
        Ok(Caissa {
            exchange_ban: options.flag("exchange_ban", true)?,
            queen_exchange: options.flag("queen_exchange", false)?,
        })
    }
}

impl Game for Caissa {
    type State = State;

    fn about(&self) -> &About {
        &ABOUT
    }

    fn options(&self) -> Vec<GameOption> {
        let exchange_ban =
            "an exchange with an enemy may not be undone immediately, ruling R7 (default true)";
        let queen_exchange = "a player's own queen may be exchanged, ruling R9 (default false)";
        vec![
            GameOption::flag("exchange_ban", exchange_ban, true),
            GameOption::flag("queen_exchange", queen_exchange, false),
        ]
    }

    fn manual(&self) -> String {
        include_str!("manuals/caissa.txt").into()
    }

    fn brief(&self) -> String {
        include_str!("manuals/caissa-brief.txt").into()
    }

    fn shape(&self) -> Shape {
        Shape { planes: 22, height: SIDE, width: SIDE, actions: KINDS * CELLS }
    }

    fn max_plies(&self) -> usize {
        MAX_PLIES as usize
    }

    fn initial(&self) -> State {
        let white = [9, 16, 10, 8]; // c2, c3, d2, b2
        let pieces = [white, white.map(|square| CELLS as u8 - 1 - square)];
        State { tiles: ALL, pieces, ban: [GONE; 2], plies: 0, to_move: Player::First }
    }

    fn to_move(&self, state: &State) -> Player {
        state.to_move
    }

    fn legal_actions(&self, state: &State, out: &mut Vec<Action>) {
        out.clear();
        if state.plies >= MAX_PLIES {
            return;
        }
        for (kind, mut targets) in state.targets(self).into_iter().enumerate() {
            while targets != 0 {
                out.push(Action((kind * CELLS) as u16 + targets.trailing_zeros() as u16));
                targets &= targets - 1;
            }
        }
    }

    fn count_legal_actions(&self, state: &State, _scratch: &mut Vec<Action>) -> usize {
        match state.plies {
            MAX_PLIES.. => 0,
            _ => state.targets(self).iter().map(|targets| targets.count_ones() as usize).sum(),
        }
    }

    fn play(&self, state: &mut State, action: Action) {
        let (kind, to) = (action.index() / CELLS, (action.index() % CELLS) as u8);
        debug_assert!(state.targets(self)[kind] & bit(to) != 0);
        let player = state.to_move.index();
        let from = state.pieces[player][kind];
        let enemy = state.pieces[1 - player].iter().position(|square| *square == to);
        let own = state.pieces[player].iter().position(|square| *square == to);
        state.pieces[player][kind] = to;
        state.ban = [GONE; 2];
        match (kind, enemy, own) {
            (QUEEN, enemy, _) => {
                state.tiles &= !(1 << from);
                if let Some(enemy) = enemy {
                    state.pieces[1 - player][enemy] = GONE;
                }
            }
            (_, Some(enemy), _) => {
                state.pieces[1 - player][enemy] = from;
                let occupied = set(state.pieces[0]) | set(state.pieces[1]);
                if self.exchange_ban && lines(enemy, from as usize, occupied) & bit(to) != 0 {
                    state.ban = [from, to];
                }
            }
            (_, _, Some(own)) => state.pieces[player][own] = from,
            _ if state.tiles & bit(to) == 0 => state.tiles ^= bit(from) | bit(to),
            _ => {}
        }
        state.plies += 1;
        state.to_move = state.to_move.other();
    }

    fn outcome(&self, state: &State) -> Option<Outcome> {
        // R8
        if state.targets(self) == [0; KINDS] {
            return Some(if state.sight().in_check {
                Outcome::Win(state.to_move.other())
            } else {
                Outcome::Draw
            });
        }
        (state.plies >= MAX_PLIES).then_some(Outcome::Draw)
    }

    fn ending(&self, state: &State) -> &str {
        match (state.targets(self) == [0; KINDS], state.sight().in_check) {
            (true, true) => "checkmate",
            (true, false) => "stalemate",
            (false, _) => "the limit of actions",
        }
    }

    fn encode(&self, state: &State, planes: &mut Planes) {
        let sight = state.sight();
        let occupied = sight.own_set | sight.enemy_set;
        for (kind, targets) in state.targets(self).into_iter().enumerate() {
            planes.set_bits(kind, bit(sight.own[kind]));
            planes.set_bits(4 + kind, bit(sight.enemy[kind]));
            planes.set_bits(12 + kind, targets);
            planes.set_bits(16 + kind, lines(kind, sight.enemy[kind] as usize, occupied));
        }
        let mut parting = state.tiles;
        let mut left = state.tiles;
        while left != 0 {
            if removable(state.tiles, left.trailing_zeros() as usize) {
                parting ^= lowest(left);
            }
            left &= left - 1;
        }
        planes.set_bits(8, state.tiles);
        planes.set_bits(9, ALL & !state.tiles);
        planes.set_bits(10, parting);
        planes.set_bits(11, bit(state.ban[0]) | bit(state.ban[1]));
        planes.fill(20, sight.in_check as u8 as f32);
        planes.fill(21, state.plies as f32 / MAX_PLIES as f32);
    }

    fn key(&self, state: &State) -> u64 {
        let pieces = state.pieces.iter().flatten().fold(0, |word, square| word << 8 | *square as u64);
        let rest = (state.ban[0] as u64) << 24
            | (state.ban[1] as u64) << 16
            | (state.plies as u64) << 8
            | state.to_move.index() as u64;
        mix(mix(mix(state.tiles + 1) ^ pieces) ^ rest)
    }

    fn action_text(&self, state: &State, action: Action) -> String {
        let from = state.pieces[state.to_move.index()][action.index() / CELLS];
        format!("{}-{}", square_text(from as usize, SIDE), square_text(action.index() % CELLS, SIDE))
    }

    fn parse_action(&self, state: &State, text: &str) -> Option<Action> {
        let (from, to) = text.split_once('-')?;
        let (from, to) = (parse_square(from, SIDE, SIDE)?, parse_square(to, SIDE, SIDE)?);
        let (player, kind) = state.piece(from)?;
        let legal = player == state.to_move.index()
            && state.plies < MAX_PLIES
            && state.targets(self)[kind] >> to & 1 == 1;
        legal.then(|| Action((kind * CELLS + to) as u16))
    }

    fn why_illegal(&self, state: &State, text: &str) -> Option<String> {
        why::why_illegal(self, state, text)
    }

    fn state_text(&self, state: &State) -> String {
        let letter = |square: usize| match state.piece(square) {
            Some((player, kind)) => LETTERS[player].chars().nth(kind),
            None => (state.tiles >> square & 1 == 0).then_some('*'),
        };
        let ban = match state.ban {
            [GONE, _] => "-".to_string(),
            [from, to] => format!("{}-{}", square_text(from as usize, SIDE), square_text(to as usize, SIDE)),
        };
        let side = ["w", "b"][state.to_move.index()];
        format!("{} {side} {ban} {}", ranks_text(SIDE, SIDE, letter), state.plies)
    }

    fn parse_state(&self, text: &str) -> Result<State> {
        self.parse(text).map_err(|what| {
            Error::position(&ABOUT.title, text, &what, &format!("the initial position is `{INITIAL}`"))
        })
    }

    fn view(&self, state: &State) -> BoardView {
        let cell = |square: usize| match state.piece(square) {
            Some((player, kind)) => LETTERS[player][kind..kind + 1].to_string(),
            None if state.tiles >> square & 1 == 1 => ".".into(),
            None => "*".into(),
        };
        let mut notes = vec![format!("ply {} of {MAX_PLIES}", state.plies)];
        if state.sight().in_check {
            notes.push("check".into());
        }
        if state.ban[0] != GONE {
            let [from, to] = state.ban.map(|square| square_text(square as usize, SIDE));
            notes.push(format!("{from}-{to} would undo the last exchange"));
        }
        BoardView::of_squares(SIDE, SIDE, LETTERS, cell, notes.join(", "))
    }

    fn look(&self, _view: &BoardView, text: &str) -> Look {
        match text {
            "." => Look::Empty,
            "Q" | "q" => Look::Piece(PieceShape::Queen),
            "R" | "r" => Look::Piece(PieceShape::Rook),
            "B" | "b" => Look::Piece(PieceShape::Bishop),
            "N" | "n" => Look::Piece(PieceShape::Knight),
            _ => Look::Hole,
        }
    }

    fn touched(&self, before: &State, action: Action) -> Vec<(usize, usize)> {
        let from = before.pieces[before.to_move.index()][action.index() / CELLS] as usize;
        [from, action.index() % CELLS].map(|square| BoardView::place(square, SIDE, SIDE)).to_vec()
    }

    fn symmetries(&self, _state: &State) -> &[Symmetry] {
        &Symmetry::SQUARE
    }

    fn map_action(&self, symmetry: Symmetry, action: Action) -> Action {
        let (kind, square) = (action.index() / CELLS, action.index() % CELLS);
        Action((kind * CELLS + symmetry.square(square, SIDE, SIDE)) as u16)
    }

    fn map_state(&self, symmetry: Symmetry, state: &State) -> State {
        let map = |square: u8| match square {
            GONE => GONE,
            _ => symmetry.square(square as usize, SIDE, SIDE) as u8,
        };
        let tiles =
            (0..CELLS as u8).filter(|square| state.tiles & bit(*square) != 0).fold(0, |s, q| s | bit(map(q)));
        State { tiles, pieces: state.pieces.map(|pieces| pieces.map(map)), ban: state.ban.map(map), ..*state }
    }

    fn exchanged(&self, state: &State) -> Option<State> {
        let [white, black] = state.pieces;
        Some(State { pieces: [black, white], to_move: state.to_move.other(), ..*state })
    }
}

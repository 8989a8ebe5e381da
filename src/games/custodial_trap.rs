//! Custodial Trap, by Rich Hutnik (2014): a man between two enemies is trapped and can be captured.
//!
//! Rulings (C1..C6), two colors, 18 men each, 8x8 squares a1..h8; the *inner* squares are b2..g7. Three variants:
//! `intro` (all men on the board), `intermediate` (two per side in reserve), `advanced` (empty board and a setup
//! phase). Whatever the rule sheet leaves open can be chosen with an option or by setting up a position.
//!
//! - C1 Trapped. A man is trapped if, on at least one of the 4 axes (file, rank, two diagonals), the longest unbroken
//!   run of men of its color through it has an enemy man directly at both ends. Edges and empty squares never trap. The
//!   men at the ends may themselves be trapped, and a man may move into a trap.
//! - C2 Slide. An untrapped man moves like a chess queen over empty squares to an empty square.
//! - C3 Capture. An untrapped man X moves one step in one of the 8 directions onto an adjacent enemy man Y and
//!   removes it, if the unbroken run of enemy men that starts with Y in that direction has a man of X's color
//!   directly after its far end. Never compulsory. With `diagonal_capture = false`, 4 directions only.
//! - C4 Drop (not intro). Instead of moving, put a man from the reserve on any empty inner square. No passing.
//! - C5 End, tested after an action of M (O is to move), in this order: a. O has fewer than 7 men left, board and
//!   reserve together: M wins. b. Not intro: M's reserve is empty and its men form one orthogonal group: M wins. c. O
//!   has no legal action: M wins. d. Not intro: O's reserve is empty and its men form one orthogonal group: O wins. e.
//!   Third occurrence of (board, reserves, side to move): draw (`repetition`, 0 for never). f. 100 plies in a row
//!   without a capture or drop: draw (`no_progress`). Positions given as text are judged in the same way.
//! - C6 White goes first; in the advanced game, the color that A names.
//!
//! In the advanced game the players are A (first) and B (second), and have no colors until the pick. The phases are:
//! *place*: A puts men of either color on inner squares in ascending order, and ends this phase by naming the color
//! that goes first; *choose*: B takes a color, or lifts one color's men (or, from a full board, those of one half) to
//! rearrange them; *re-w, re-b, re-s, re-n*: B puts lifted men back in ascending order until `done`; *pick*: A takes a
//! color. At most 76 actions.
//!
//! The rules of play are the same for both colors and in every direction, so the board is never flipped.
//!
//! | action             | meaning (s = rank*8 + file; directions N NE E SE S SW W NW) |
//! |--------------------|-------------------------------------------------------------|
//! | (7d + k - 1)*64 + s | the man on s slides k = 1..7 squares in direction d = 0..7 |
//! | (56 + d)*64 + s    | the man on s captures in direction d |
//! | 64*64 + s          | a man is dropped on s (not intro) |
//! | 65*64 + s          | setup: a white man is put on s (this and what follows: advanced only) |
//! | 66*64 + s          | setup: a black man is put on s |
//! | 67*64 + 0..8       | `first:w first:b pick:w pick:b re:w re:b re:s re:n done` |
//!
//! | planes | content; own = of the color to move, in the setup White's |
//! |--------|--------------------------------------------------------------|
//! | 0-2    | own men, the other color's, empty squares |
//! | 3, 4   | own trapped men, the other color's |
//! | 5, 6   | own men that the other color could capture if it were to move, its men that can be captured now |
//! | 7      | inner squares |
//! | 8, 9   | own men with the reserve / 18 everywhere, the other color's |
//! | 10, 11 | own reserve / 18, the other color's |
//! | 12     | plies without capture or drop / `no_progress` |
//! | 13     | (occurrences of this position - 1) / (`repetition` - 1), or 0 |
//! | 14, 15 | 1 if the own men are one orthogonal group, the other color's |
//! | 16-23  | advanced: 1 in phase play, place, choose, re-w, re-b, re-s, re-n, pick |
//! | 24, 25 | advanced: where a white man, a black man can be put now |
//! | 26     | advanced: the last square of the phase's ascending order |
//! | 27, 28 | advanced, in the setup: 1 if White goes first, Black |
//!
//! Times on one core of a server from 2024: [`Game::encode`] 30 ns (advanced 35 to 60), a list of the legal actions 135
//! ns, their number 37 ns, an action including the copy of the state (272 bytes) 29 ns. Repetitions account for 10 ns
//! of the last figure. The state holds the slides since the last capture or drop (200 bytes), which are searched only
//! if two sets of squares do not rule out a repetition; see `state.rs`.
//!
//! The key contains the men, reserves, color to move, phase, last square, color that goes first, color of A, plies
//! without a capture or drop, the number of times that the position has occurred, and the listed positions that become
//! a draw with one more occurrence. Positions that occurred less often (with `repetition = 3`, once) are left out: a
//! draw through one of them needs two more visits, the second at least five plies away. A first visit changes only the
//! number of occurrences that plane 13 shows, and this number is part of the key of the position visited. The plies of
//! the game are left out, because nothing depends on them. A key takes 8 ns. If the list must be searched, it takes 0.3
//! µs on average (0.8 µs with 90 or more slides). The list is searched after a position has occurred twice since the
//! last capture or drop, and always with `repetition = 2`.
//!
//! Position text, nine fields: `<variant> <board> <turn> <reserve w/b> <clock> <ply> <phase> <first> <color of A>`.
//! Board: ranks 8 to 1 separated by `/`, with `w`, `b`, or a number of empty squares. Turn: `w` or `b` in play,
//! otherwise `A` or `B`. Clock: plies since the last capture or drop. Ply: actions so far, including the setup. Phase:
//! `play`, `choose`, `pick`, or one of `place:`, `re-w:`, `re-b:`, `re-s:`, `re-n:` with the last square or `-`. First:
//! the color that goes first, or `-`. Color of A: a color or `-`. A position from text remembers no earlier positions.
//! Action text: slide `a1-d4`, capture `b4xc5`, drop `@c3`, setup `W@c3`, `B@c3`, and the words above.

use crate::board::Symmetry;
use crate::encode::Planes;
use crate::error::Result;
use crate::game::{About, Action, BoardView, Game, GameOption, Outcome, Player, Shape};
use crate::random::mix;

mod planes;
mod settings;
mod squares;
mod state;
mod text;

use settings::NamedStart;
pub(super) use settings::Variant;
use squares::{DISTANCES, HALVES, INNER, SLIDES};
pub use state::State;

/// The number of men per side.
const MEN: u32 = 18;
/// C5a: a side with fewer men than this, board and reserve together, has lost.
const LEAST: u32 = 7;
const MAX_NO_PROGRESS: usize = 100;
const MAX_SET_UP: usize = 76;
/// The maximum ply count of a position. No game is that long, but a text may claim it.
const MOST_PLIES: u16 = 9999;
const WHITE: usize = 0;
const BLACK: usize = 1;
/// No color.
const NEITHER: u8 = 2;
/// No square.
const NOWHERE: u8 = 64;

const CAPTURE: usize = SLIDES;
const DROP: usize = 64;
const PLACE: usize = 65;
const EXTRA: usize = 67 * 64;
/// The actions without a square, starting at [`EXTRA`].
const EXTRAS: [&str; 9] = ["first:w", "first:b", "pick:w", "pick:b", "re:w", "re:b", "re:s", "re:n", "done"];
const FIRST: usize = 0;
const PICK: usize = 2;
const LIFT: usize = 4;
const DONE: usize = 8;

/// The phase of the game; every phase but `Play` belongs to the setup of the advanced game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Play,
    /// A puts men on the board.
    Place,
    /// B takes a color or lifts men.
    Choose,
    /// B puts lifted white men back.
    White,
    /// B puts lifted black men back.
    Black,
    /// B puts the men of ranks 2-4 back.
    South,
    /// B puts the men of ranks 5-7 back.
    North,
    /// A takes a color.
    Pick,
}

impl Phase {
    /// The phases that begin with `re:w`, `re:b`, `re:s`, and `re:n`.
    const LIFTED: [Phase; 4] = [Phase::White, Phase::Black, Phase::South, Phase::North];

    /// Returns the index of this phase in [`Phase::LIFTED`].
    fn lifted(self) -> Option<usize> {
        Phase::LIFTED.iter().position(|phase| *phase == self)
    }
}

/// The rules of one variant.
#[derive(Clone, Copy, Debug)]
pub struct CustodialTrap {
    variant: Variant,
    start: NamedStart,
    diagonal_capture: bool,
    /// The number of occurrences that make a draw; 0 for none.
    repetition: u8,
    no_progress: u8,
}

impl CustodialTrap {
    /// Updates what is derived from the board: which men can move, and whether the game is over (C5).
    fn judge(&self, state: &mut State) {
        let (own, enemies) = state.sides();
        state.movers = own & !squares::trapped(own, enemies);
        state.outcome = self.end(state).map(|(outcome, _)| outcome);
    }

    /// Returns the outcome and the rule that ended the game, if it is over (C5). M has acted, and O is to move.
    fn end(&self, state: &State) -> Option<(Outcome, &'static str)> {
        let (o, m) = ((state.turn & 1) as usize, 1 - (state.turn & 1) as usize);
        let grouped = |color: usize| {
            self.variant.drops() && state.reserve[color] == 0 && squares::one_group(state.men[color])
        };
        let won = |color: usize, how| Some((Outcome::Win(state.owner(color as u8)), how));
        if state.total(o) < LEAST {
            return won(m, "fewer than seven men");
        }
        if grouped(m) {
            return won(m, "one group");
        }
        if !self.can_act(state) {
            return won(m, "no legal action");
        }
        if grouped(o) {
            return won(o, "one group");
        }
        if self.repetition > 0 && state.occurrences >= self.repetition {
            return Some((Outcome::Draw, "a repeated position"));
        }
        (state.clock >= self.no_progress).then_some((Outcome::Draw, "no progress"))
    }

    /// Returns whether the color to move has a legal action.
    #[inline(always)]
    fn can_act(&self, state: &State) -> bool {
        let (own, enemies) = state.sides();
        squares::can_slide(state.movers, state.empty())
            || self.drop_squares(state) != 0
            || squares::captures(state.movers, own, enemies, self.diagonal_capture) != [0; 8]
    }

    /// Returns the squares where the color to move can drop a man (C4).
    fn drop_squares(&self, state: &State) -> u64 {
        if state.reserve[(state.turn & 1) as usize] > 0 { state.empty() & INNER } else { 0 }
    }

    /// Returns the actions in play: slides by direction and distance, captures by direction, and drops.
    #[inline(always)]
    fn sets(&self, state: &State) -> ([u64; SLIDES], [u64; 8], u64) {
        let (own, enemies) = state.sides();
        let mut slides = [0; SLIDES];
        squares::slides(state.movers, state.empty(), &mut slides);
        let captures = squares::captures(state.movers, own, enemies, self.diagonal_capture);
        (slides, captures, self.drop_squares(state))
    }

    fn list_play(&self, state: &State, out: &mut Vec<Action>) {
        let (slides, captures, drops) = self.sets(state);
        let sets = slides.iter().chain(&captures).chain([&drops]);
        let count: u32 = sets.map(|set| set.count_ones()).sum();
        // `put` may write a few extra slots after each set's actions
        out.resize(count as usize + MOST_SLOTS, Action(0));
        let mut at = 0;
        for (direction, sets) in slides.chunks_exact(DISTANCES).enumerate() {
            let kind = direction * DISTANCES;
            at = put::<MOST_SLOTS>(out, at, kind, sets[0]);
            at = put::<5>(out, at, kind + 1, sets[1]);
            at = put::<4>(out, at, kind + 2, sets[2]);
            at = put::<3>(out, at, kind + 3, sets[3]);
            if sets[4] != 0 {
                at = put::<2>(out, at, kind + 4, sets[4]);
                at = put::<2>(out, at, kind + 5, sets[5]);
                at = put::<1>(out, at, kind + 6, sets[6]);
            }
        }
        for (direction, set) in captures.into_iter().enumerate() {
            at = put::<1>(out, at, CAPTURE + direction, set);
        }
        put::<1>(out, at, DROP, drops);
        out.truncate(count as usize);
    }

    fn list_set_up(&self, state: &State, out: &mut Vec<Action>) {
        let men = state.men[WHITE] | state.men[BLACK];
        for color in [WHITE, BLACK] {
            let mut places = state.places(color);
            while places != 0 {
                out.push(Action(((PLACE + color) * 64) as u16 + places.trailing_zeros() as u16));
                places &= places - 1;
            }
        }
        let extras = match state.phase {
            Phase::Choose if men == INNER => PICK..DONE,
            // halves can be lifted only from a full board
            Phase::Choose => PICK..LIFT + 2,
            Phase::Pick => PICK..LIFT,
            _ if men == 0 => 0..0,
            Phase::Place => FIRST..PICK,
            _ => DONE..EXTRAS.len(),
        };
        out.extend(extras.map(|extra| Action((EXTRA + extra) as u16)));
    }

    fn play_set_up(&self, state: &mut State, action: usize) {
        if action < EXTRA {
            let (color, square) = (action / 64 - PLACE, action % 64);
            state.men[color] |= 1 << square;
            state.reserve[color] -= 1;
            state.pointer = square as u8;
            return;
        }
        state.pointer = NOWHERE;
        let extra = action - EXTRA;
        match extra {
            FIRST..PICK => (state.first, state.phase) = (extra as u8, Phase::Choose),
            PICK..LIFT => {
                let color = (extra - PICK) as u8;
                // when B chooses, A gets the other color
                state.color = if state.phase == Phase::Choose { 1 - color } else { color };
                state.phase = Phase::Play;
                state.turn = state.first;
                self.judge(state);
            }
            DONE => state.phase = Phase::Pick,
            _ => {
                let what = extra - LIFT;
                for color in [WHITE, BLACK] {
                    let area = match what.checked_sub(2) {
                        Some(half) => HALVES[half],
                        None => {
                            if what == color {
                                !0
                            } else {
                                0
                            }
                        }
                    };
                    state.reserve[color] += (state.men[color] & area).count_ones() as u8;
                    state.men[color] &= !area;
                }
                state.phase = Phase::LIFTED[what];
            }
        }
    }

    fn play_men(&self, state: &mut State, action: usize) {
        let turn = (state.turn & 1) as usize;
        let (kind, from) = (action / 64, action % 64);
        debug_assert!(kind == DROP || state.movers >> from & 1 == 1);
        state.clock += 1;
        if kind < CAPTURE {
            let to = target(kind, from);
            state.men[turn] ^= 1 << from | 1 << to;
            if self.repetition > 0 {
                state.remember(from, to);
            }
        } else {
            if kind < DROP {
                let to = target(kind, from);
                state.men[turn] ^= 1 << from | 1 << to;
                state.men[1 - turn] ^= 1 << to;
            } else {
                state.men[turn] |= 1 << from;
                state.reserve[turn] -= 1;
            }
            state.clock = 0;
            state.forget();
        }
        state.turn = 1 - turn as u8;
        self.judge(state);
    }
}

/// The largest number of slots that [`put`] writes without checking how many it needs.
const MOST_SLOTS: usize = 8;

/// Writes the actions of one kind into `list`, starting at `at`, and returns the index for the next actions.
///
/// An unpredictable branch would cost more than anything else. Therefore N slots are always written, which are rarely
/// too few, and the next call overwrites the slots that were not needed.
#[inline(always)]
fn put<const N: usize>(list: &mut [Action], at: usize, kind: usize, mut set: u64) -> usize {
    let count = set.count_ones() as usize;
    let mut take = |slot: &mut Action| {
        // the extra bit tells the compiler that the set is not empty, which saves a check
        *slot = Action((kind * 64) as u16 + (set | 1 << 63).trailing_zeros() as u16);
        set &= set.wrapping_sub(1);
    };
    list[at..][..N].iter_mut().for_each(&mut take);
    if count > N {
        list[at + N..at + count].iter_mut().for_each(take);
    }
    at + count
}

/// Returns the target square of a slide or capture of this kind.
#[inline(always)]
fn target(kind: usize, from: usize) -> usize {
    const OFFSETS: [i8; DROP] = {
        let mut offsets = [0; DROP];
        let mut kind = 0;
        while kind < DROP {
            offsets[kind] = if kind < CAPTURE {
                squares::offset(kind / DISTANCES) as i8 * (kind % DISTANCES + 1) as i8
            } else {
                squares::offset(kind - CAPTURE) as i8
            };
            kind += 1;
        }
        offsets
    };
    (from as i32 + OFFSETS[kind] as i32) as usize & 63
}

impl Game for CustodialTrap {
    type State = State;

    fn about(&self) -> &About {
        // players take colors only when the setup ends
        if self.variant == Variant::Advanced { &settings::ABOUT_ADVANCED } else { &settings::ABOUT }
    }

    fn options(&self) -> Vec<GameOption> {
        settings::list(self.variant)
    }

    /// Returns whether the game has the Limited Dutch Offer, which lets the players settle who plays which color.
    fn has_offer(&self) -> bool {
        self.variant == Variant::Advanced
    }

    fn manual(&self) -> String {
        super::manuals::custodial_trap(self.variant)
    }

    fn brief(&self) -> String {
        super::manuals::custodial_trap_brief(self.variant).into()
    }

    fn shape(&self) -> Shape {
        let actions = [DROP * 64, PLACE * 64, EXTRA + EXTRAS.len()][self.variant as usize];
        Shape { planes: planes::count(self.variant), height: 8, width: 8, actions }
    }

    fn max_plies(&self) -> usize {
        // each side can lose 11 men and continue; the next capture ends the game
        let captures = 2 * (MEN - LEAST) as usize + 1;
        let (drops, set_up) = match self.variant {
            Variant::Advanced => (2 * MEN as usize, MAX_SET_UP),
            _ => (2 * self.start.2 as usize, 0),
        };
        set_up + (captures + drops + 1) * self.no_progress as usize
    }

    fn initial(&self) -> State {
        let (_, board, reserve) = self.start;
        let men = text::parse_men(board).unwrap_or_default();
        let mut state = State { men, reserve: [reserve; 2], ..State::EMPTY };
        if self.variant == Variant::Advanced {
            state.phase = Phase::Place;
        } else {
            state.color = WHITE as u8;
            self.judge(&mut state);
        }
        state
    }

    fn to_move(&self, state: &State) -> Player {
        match state.phase {
            Phase::Play => state.owner(state.turn),
            Phase::Place | Phase::Pick => Player::First,
            _ => Player::Second,
        }
    }

    fn legal_actions(&self, state: &State, out: &mut Vec<Action>) {
        // a local list can be kept in registers
        let mut list = std::mem::take(out);
        list.clear();
        if state.phase != Phase::Play {
            self.list_set_up(state, &mut list);
        } else if state.outcome.is_none() {
            self.list_play(state, &mut list);
        }
        *out = list;
    }

    fn count_legal_actions(&self, state: &State, scratch: &mut Vec<Action>) -> usize {
        if state.phase != Phase::Play {
            self.legal_actions(state, scratch);
            return scratch.len();
        }
        if state.outcome.is_some() {
            return 0;
        }
        let (slides, captures, drops) = self.sets(state);
        let count = |sets: &[u64]| sets.iter().map(|set| set.count_ones()).sum::<u32>() as usize;
        count(&slides) + count(&captures) + count(&[drops])
    }

    fn play(&self, state: &mut State, action: Action) {
        state.ply = (state.ply + 1).min(MOST_PLIES);
        match state.phase {
            Phase::Play => self.play_men(state, action.index()),
            _ => self.play_set_up(state, action.index()),
        }
    }

    fn outcome(&self, state: &State) -> Option<Outcome> {
        state.outcome
    }

    fn ending(&self, state: &State) -> &str {
        self.end(state).map_or("", |(_, how)| how)
    }

    fn encode(&self, state: &State, planes: &mut Planes) {
        planes::encode(self, state, planes);
    }

    fn key(&self, state: &State) -> u64 {
        let set_up = [state.phase as u8, state.pointer, state.first, state.color];
        let counters = [state.reserve[0], state.reserve[1], state.clock, state.occurrences];
        let word = |high: [u8; 4], low: [u8; 4]| {
            (u32::from_le_bytes(high) as u64) << 32 | u32::from_le_bytes(low) as u64
        };
        // the positions that are one occurrence short of a draw; it does not matter whether the current position is
        // among them
        let short = match self.repetition {
            2 => state.often(1),
            3.. if state.repeated => state.often(self.repetition as usize - 1),
            _ => 0,
        };
        [state.men[0], state.men[1], word(set_up, counters), short]
            .into_iter()
            .fold(mix(state.turn as u64 + 1), |hash, word| {
                mix((hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15))
            })
    }

    fn action_text(&self, _state: &State, action: Action) -> String {
        text::action(action.index())
    }

    fn action_words(&self, _state: &State, action: Action) -> Option<String> {
        text::words(action.index())
    }

    fn piece_name(&self, _text: &str) -> Option<&str> {
        Some("man")
    }

    fn parse_action(&self, state: &State, text: &str) -> Option<Action> {
        let action = Action(text::parse_action(text)? as u16);
        self.legal(state).binary_search(&action).ok().map(|_| action)
    }

    fn why_illegal(&self, state: &State, text: &str) -> Option<String> {
        text::why_illegal(state, text)
    }

    fn state_text(&self, state: &State) -> String {
        text::state(self, state)
    }

    fn parse_state(&self, text: &str) -> Result<State> {
        text::position(self, text)
    }

    fn without_history(&self, state: &State) -> State {
        let mut state = *state;
        if state.phase == Phase::Play {
            state.forget();
            self.judge(&mut state);
        }
        state
    }

    fn view(&self, state: &State) -> BoardView {
        text::view(self, state)
    }

    fn stuck(&self, state: &State) -> Vec<(usize, usize)> {
        text::trapped_places(state)
    }

    fn touched(&self, _before: &State, action: Action) -> Vec<(usize, usize)> {
        text::touched(action.index())
    }

    fn symmetries(&self, state: &State) -> &[Symmetry] {
        // the setup fills the squares in one fixed order
        if state.phase == Phase::Play { &Symmetry::SQUARE } else { &[Symmetry::IDENTITY] }
    }

    fn map_action(&self, symmetry: Symmetry, action: Action) -> Action {
        let (kind, square) = (action.index() / 64, action.index() % 64);
        let direction = |direction| squares::map_direction(symmetry, direction);
        let kind = match kind {
            0..CAPTURE => direction(kind / DISTANCES) * DISTANCES + kind % DISTANCES,
            CAPTURE..DROP => CAPTURE + direction(kind - CAPTURE),
            _ if action.index() >= EXTRA => return action,
            _ => kind,
        };
        Action((kind * 64 + symmetry.square(square, 8, 8)) as u16)
    }

    fn map_state(&self, symmetry: Symmetry, state: &State) -> State {
        state.mapped(symmetry)
    }

    fn exchanged(&self, state: &State) -> Option<State> {
        // A and B have different tasks in the setup
        (state.phase == Phase::Play).then(|| state.exchanged())
    }
}

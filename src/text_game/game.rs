//! Plays games whose rules are a text.

use std::cell::Cell;
use std::cmp::Ordering;
use std::sync::Arc;

use super::ast::Side;
use super::compile::Program;
use super::eval::Sight;
use super::limits::MOST_SETS;
use super::mask::Mask;
use super::ops::Things;
use super::rules::{ANY_LINE, Clock, Ending, Move, NOWHERE, Rules};
use super::state::{Past, State};
use super::symmetry::{Symmetries, steps_of, symmetries, turning_of, with_ends_of};
use super::text::{ActionLine, Effect, Next, Set, Squares, Text, Way};
use super::transform::{for_player, mapped};
use crate::board::Symmetry;
use crate::encode::Shape;
use crate::game::{Action, Outcome, Player};
use crate::random::mix;

/// A game whose rules are a text, on boards that fit into `M`.
#[derive(Clone, Debug)]
pub struct TextGame<M: Mask>(pub(super) Arc<Facts<M>>);

/// The counts that a quiet action leaves unchanged: the number of pieces, and the number of squares with each state.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct PieceNumbers {
    pieces: usize,
    states: [u16; MOST_SETS],
}

/// Everything that is derived from a text.
#[derive(Debug)]
pub(super) struct Facts<M: Mask> {
    pub text: Text,
    /// The rules from the first player's point of view and from the second player's.
    pub rules: [Rules<M>; 2],
    pub shape: Shape,
    pub sets: usize,
    pub counters: usize,
    /// The symmetry that maps the board to the second player's view of it.
    pub turning: Symmetry,
    /// The square to which `turning` maps each square.
    pub turned: Vec<u16>,
    /// Whether all rules are the same for both players if the second player sees the board through `turning`.
    pub is_alike: bool,
    pub symmetries: Vec<Symmetry>,
    /// For each symmetry, the plane of actions to which it maps each plane.
    plane_maps: Vec<Vec<u16>>,
    /// For each symmetry, the line of actions to which it maps each line.
    line_maps: Vec<Vec<u8>>,
    /// For each line of actions, the first line to which a symmetry maps it.
    pub kin: Vec<usize>,
    /// All squares of the first row.
    pub row: M,
    pub words: super::names::Names,
    pub encoding: Vec<super::planes::Plane>,
    pub start: State<M>,
    /// Whether captured pieces can return. If so, a position can occur again even after the number of pieces has
    /// changed.
    pub can_come_back: bool,
    /// Whether two legal actions can have the same words.
    pub may_be_ambiguous: bool,
    /// Whether the lines of the text are in the order of their action numbers. Actions that belong to no square have
    /// the last numbers, wherever their lines are in the text.
    pub is_ascending: bool,
    pub has_pass: bool,
    pub program: Program<M>,
}

impl<M: Mask> TextGame<M> {
    /// Makes the game of a text.
    pub(super) fn new(text: Text) -> TextGame<M> {
        let first = for_player(&text, 0);
        let second = for_player(&text, 1);
        let board = &text.board;
        let alike = turning_of(&first, &second);
        let (turning, is_alike) = alike.unwrap_or((Symmetry::IDENTITY, false));
        let is_turned = alike.is_some();
        // if there is a turning, the second player's lines are the turned lines of the first player, so planes mean the
        // same for both
        let second = if is_turned { with_ends_of(mapped(&first, turning), &second) } else { second };
        let rules = [Rules::new(&first, 0), Rules::new(&second, 1)];
        let actions = rules[0].actions;
        let is_ascending = rules[0].lines.is_sorted_by_key(|line| !line.moves.is_on_squares());
        let seen_second = mapped(&second, turning);
        let found = symmetries(&text, [&first, &seen_second], turning, &rules[0]);
        let Symmetries { symmetries, plane_maps, line_maps, kin } = found;
        let (sets, counters) = text.sizes();
        let encoding = super::planes::layout(&text, &rules, is_alike, &kin);
        let shape = Shape { planes: encoding.len(), height: board.height, width: board.width, actions };
        let mut things = Things { sets: [M::NONE; _], counters: [0; _] };
        for (kind, squares) in text.pieces_at_start.iter().enumerate() {
            for (player, squares) in squares.iter().enumerate() {
                things.sets[player * text.kinds.len() + kind] = M::from_wide(*squares);
            }
        }
        for (state, squares) in text.states_at_start.iter().enumerate() {
            things.sets[2 * text.kinds.len() + state] = M::from_wide(*squares);
        }
        for (index, counter) in text.counters.iter().enumerate() {
            for player in 0..2 {
                things.counters[text.numbers_of(index, player)].fill(counter.start);
            }
        }
        let clock =
            Clock { ply: 0, quiet: 0, passes: 0, phase: 0, goes_on: false, moved: NOWHERE, line: ANY_LINE };
        let start = State { things, clock, to_move: Player::First, result: None, past: Past::default() };
        let words = super::names::Names::new(&text);
        let facts = Facts {
            rules,
            shape,
            sets,
            counters,
            turning,
            turned: (0..board.cells())
                .map(|square| turning.square(square, board.height, board.width) as u16)
                .collect(),
            is_alike,
            symmetries,
            plane_maps,
            line_maps,
            kin,
            row: (0..board.width).fold(M::NONE, |set, square| set | M::of(square)),
            words,
            encoding,
            start,
            can_come_back: can_come_back(&text),
            may_be_ambiguous: may_be_ambiguous(&text),
            is_ascending,
            has_pass: text.actions.iter().any(|line| line.way == Way::Pass),
            program: Program::default(),
            text,
        };
        TextGame(Arc::new(facts))
    }

    pub(super) fn rules(&self, player: Player) -> [&Rules<M>; 2] {
        let rules = &self.0.rules;
        match player {
            Player::First => [&rules[0], &rules[1]],
            Player::Second => [&rules[1], &rules[0]],
        }
    }

    /// Maps squares of the board to squares in the view of the player with this index, or back.
    #[inline]
    pub(super) fn seen(&self, squares: M, player: usize) -> M {
        let turning = self.0.turning;
        if player == 0 || turning == Symmetry::IDENTITY {
            return squares;
        }
        let Shape { height, width, .. } = self.0.shape;
        // a few squares are looked up one by one; for many squares, it is faster to move whole rows
        if turning == Symmetry::ROW_MIRROR && squares.count() > height {
            let row = self.0.row;
            return (0..height).fold(M::NONE, |set, y| {
                set | (squares.shifted(-((y * width) as i32)) & row)
                    .shifted(((height - 1 - y) * width) as i32)
            });
        }
        let mut seen = M::NONE;
        squares.each_square(|square| seen |= M::of(self.0.turned[square].into()));
        seen
    }

    /// Maps a square of the board to a square in a player's view, or back.
    #[inline]
    pub(super) fn seen_square(&self, square: usize, player: Player) -> usize {
        match player {
            Player::First => square,
            Player::Second => self.0.turned[square].into(),
        }
    }

    /// For each plane, calls `found` with the number of its first action and with the squares of its legal actions in
    /// the view of the player to move.
    #[inline]
    pub(super) fn each_legal(&self, state: &State<M>, found: &mut dyn FnMut(usize, M)) {
        if state.result.is_some() {
            return;
        }
        let own = self.rules(state.to_move)[0];
        let (cells, width) = (self.0.shape.cells(), self.0.shape.width);
        let sight = own.sight(&state.things, &state.clock);
        own.each(&sight, &state.clock, &mut |line, plane, squares| {
            match own.lines[line].moves {
                Move::Drop => {
                    let columns = self.seen(squares, own.player).squares().map(|square| square % width);
                    found(plane, columns.fold(M::NONE, |set, column| set | M::of(column)));
                }
                Move::Pass | Move::Swap => found(plane, squares),
                _ => found(plane * cells, self.seen(squares, own.player)),
            }
            false
        });
    }

    /// Returns whether there is an action in the initial position. This does not compile the rules.
    pub(super) fn can_begin(&self) -> bool {
        let mut any = false;
        self.each_legal(&self.0.start, &mut |_, _| any = true);
        any
    }

    /// Returns an action's line, its plane, and its square on the board.
    #[inline]
    pub(super) fn decoded(&self, state: &State<M>, action: Action) -> (usize, usize, usize) {
        let rules = &self.0.rules[state.to_move.index()];
        let cells = self.0.shape.cells();
        let index = action.index();
        let plane = index / cells;
        if plane < rules.planes {
            let line = usize::from(rules.owners[plane]);
            return (line, plane, self.seen_square(index % cells, state.to_move));
        }
        let line = rules.owner(index, cells);
        let first = rules.lines[line].first;
        let square = match rules.lines[line].moves {
            Move::Drop => {
                let column = self.seen_square(index - first, state.to_move) % self.0.shape.width;
                rules.lowest_empty(column, &state.things)
            }
            _ => 0,
        };
        (line, first, square)
    }

    /// Plays a legal action.
    pub(super) fn play_legal(&self, state: &mut State<M>, action: Action) {
        let (index, plane, square) = self.decoded(state, action);
        let own = self.rules(state.to_move)[0];
        let line = &own.lines[index];
        let remembers = own.repetition.is_some();
        if remembers {
            state.past = state.past.with(self.occurrence(state), state);
        }
        let trip = own.trip(line, plane, square, &state.things);
        let counts = remembers || self.0.words.counts_quiet;
        let before = if counts { self.numbers(&state.things) } else { PieceNumbers::default() };
        own.perform(line, &trip, &mut state.things, &state.clock);
        if matches!(line.moves, Move::Swap) {
            *state = self.with_sides_exchanged(state);
        }
        let clock = &mut state.clock;
        clock.ply = clock.ply.saturating_add(1);
        let after = if counts { self.numbers(&state.things) } else { PieceNumbers::default() };
        if self.0.words.counts_quiet {
            clock.quiet = if after == before { clock.quiet.saturating_add(1) } else { 0 };
        }
        if remembers && after.pieces != before.pieces && !self.0.can_come_back {
            state.past = Past::default();
        }
        clock.passes =
            if line.moves.is_pass() && clock.line == ANY_LINE { clock.passes.saturating_add(1) } else { 0 };
        (clock.goes_on, clock.moved, clock.line) = (false, NOWHERE, ANY_LINE);
        let has_moved = trip.to.any();
        let to = if has_moved { trip.to.lowest() as u16 } else { NOWHERE };
        match line.next {
            Next::Turn => state.to_move = state.to_move.other(),
            Next::Phase(phase) => {
                clock.phase = phase as u8;
                state.to_move = state.to_move.other();
            }
            Next::Then(phase) => {
                clock.phase = phase as u8;
                (clock.goes_on, clock.moved) = (true, to);
            }
            Next::Again { .. } => {
                let goes_on = Clock { goes_on: true, moved: to, line: index as u8, ..*clock };
                // a piece does not continue if its own action has removed or flipped it
                let sight = own.sight(&state.things, &goes_on);
                if (sight.own & trip.to).any() && own.can_act(&sight, &goes_on) {
                    *clock = goes_on;
                } else {
                    state.to_move = state.to_move.other();
                }
            }
        }
        self.judge(state);
    }

    fn numbers(&self, things: &Things<M>) -> PieceNumbers {
        let (pieces, states) = things.sets[..self.0.sets].split_at(2 * self.0.text.kinds.len());
        let mut numbers =
            PieceNumbers { pieces: pieces.iter().map(|set| set.count()).sum(), ..PieceNumbers::default() };
        numbers.states.iter_mut().zip(states).for_each(|(number, set)| *number = set.count() as u16);
        numbers
    }

    /// Determines whether the game is over and stores the result in the position.
    pub(super) fn judge(&self, state: &mut State<M>) {
        state.result = None;
        state.result = self.verdict(state);
    }

    /// Returns whether nobody has acted yet, in which case no end is tested.
    pub(super) fn is_start(&self, state: &State<M>) -> bool {
        let start = &self.0.start;
        state.clock.ply == 0 && state.things == start.things && state.to_move == start.to_move
    }

    /// Calls `ask` with what the ends of a game depend on: the rules of the player who has acted, the position in that
    /// player's view, and a function that returns whether a side is stuck.
    #[inline]
    pub(super) fn ask<R>(
        &self,
        state: &State<M>,
        ask: impl FnOnce(&Rules<M>, &Sight<M>, &dyn Fn(Side) -> bool) -> R,
    ) -> R {
        let goes_on = state.clock.goes_on;
        let [own, enemy] = self.rules(actor(state));
        // when ends are tested, no piece is about to continue
        let clock = Clock { goes_on: false, moved: NOWHERE, line: ANY_LINE, ..state.clock };
        let sight = own.sight(&state.things, &clock);
        // compute at most once whether each side can act; a player who continues with a piece can act
        let is_on_the_way = goes_on && state.clock.line != ANY_LINE;
        let known = [Cell::new(is_on_the_way.then_some(false)), Cell::new(None)];
        let stuck = |side: Side| {
            known[side as usize].get().unwrap_or_else(|| {
                let can_act = match side {
                    Side::Own if goes_on => {
                        own.can_act(&own.sight(&state.things, &state.clock), &state.clock)
                    }
                    Side::Own => own.can_act(&sight, &clock),
                    Side::Enemy => enemy.can_act(&enemy.sight(&state.things, &clock), &clock),
                };
                known[side as usize].set(Some(!can_act));
                !can_act
            })
        };
        ask(own, &sight, &stuck)
    }

    /// Returns the result of an end from the point of view of a player.
    pub(super) fn result_of(&self, state: &State<M>, ending: &Ending<M>, player: Player) -> Outcome {
        match ending {
            Ending::Win => Outcome::Win(player),
            Ending::Loss => Outcome::Win(player.other()),
            Ending::Draw => Outcome::Draw,
            Ending::Most(of) => {
                let [own, enemy] = self.rules(player);
                let count = |rules: &Rules<M>, of| rules.sight(&state.things, &state.clock).set(of).count();
                match count(own, &of[0]).cmp(&count(enemy, &of[1])) {
                    Ordering::Greater => Outcome::Win(player),
                    Ordering::Less => Outcome::Win(player.other()),
                    Ordering::Equal => Outcome::Draw,
                }
            }
        }
    }

    /// Returns the result and the index of its reason.
    fn verdict(&self, state: &State<M>) -> Option<(Outcome, u16)> {
        let actor = actor(state);
        let result = |verdict: &Ending<M>, player: Player| self.result_of(state, verdict, player);
        self.ask(state, |own, sight, stuck| {
            if !self.is_start(state)
                && let Some(index) = own.ends.iter().position(|(condition, _)| sight.holds(condition, stuck))
            {
                return Some((result(&own.ends[index].1, actor), index as u16));
            }
            let next = self.rules(state.to_move)[0];
            let side = if state.clock.goes_on { Side::Own } else { Side::Enemy };
            let mut any = next.passes[usize::from(state.clock.phase)] || !stuck(side);
            if !any && self.0.has_pass {
                next.each(&next.sight(&state.things, &state.clock), &state.clock, &mut |_, _, _| {
                    any = true;
                    true
                });
            }
            let first = own.ends.len() as u16;
            if !any {
                let verdict = next.stuck.as_ref().unwrap_or(&Ending::Loss);
                return Some((result(verdict, state.to_move), first));
            }
            if let Some((times, verdict)) = &own.repetition
                && state.past.count(self.occurrence(state)) + 1 >= usize::from(*times)
            {
                return Some((result(verdict, actor), first + 1));
            }
            if let Some((_, verdict)) = own.quiet.as_ref().filter(|(most, _)| state.clock.quiet >= *most) {
                return Some((result(verdict, actor), first + 2));
            }
            (state.clock.ply >= own.limit.0).then(|| (result(&own.limit.1, actor), first + 3))
        })
    }

    /// Returns the position after the players have exchanged sides: each player has what the other had, and sees it as
    /// the other did.
    fn with_sides_exchanged(&self, state: &State<M>) -> State<M> {
        let mut exchanged = state.clone();
        let kinds = self.0.text.kinds.len();
        for (index, set) in state.things.sets[..self.0.sets].iter().enumerate() {
            let to = match index {
                _ if index < kinds => index + kinds,
                _ if index < 2 * kinds => index - kinds,
                _ => index,
            };
            exchanged.things.sets[to] = self.seen(*set, 1);
        }
        let text = &self.0.text;
        for counter in 0..text.counters.len() {
            for (one, other) in text.numbers_of(counter, 0).zip(text.numbers_of(counter, 1)) {
                exchanged.things.counters.swap(one, other);
            }
        }
        exchanged
    }

    /// Hashes the parts of a position that are compared to find repetitions.
    pub(super) fn occurrence(&self, state: &State<M>) -> u64 {
        state.occurrence(self.0.sets, self.0.counters)
    }

    /// See [`crate::game::Game::exchanged`].
    pub(super) fn exchanged_state(&self, state: &State<M>) -> Option<State<M>> {
        self.0.is_alike.then(|| {
            let past = state
                .past
                .changed(|state| self.with_players_exchanged(&state), |state| self.occurrence(state));
            State { past, ..self.with_players_exchanged(state) }
        })
    }

    fn with_players_exchanged(&self, state: &State<M>) -> State<M> {
        let mut exchanged = self.with_sides_exchanged(state);
        exchanged.to_move = state.to_move.other();
        if state.clock.moved != NOWHERE {
            let square =
                self.0.turning.square(state.clock.moved as usize, self.0.shape.height, self.0.shape.width);
            exchanged.clock.moved = square as u16;
        }
        exchanged.result = state.result.map(|(outcome, why)| (outcome.opposite(), why));
        exchanged
    }

    pub(super) fn mapped_action(&self, symmetry: Symmetry, action: Action) -> Action {
        let shape = self.0.shape;
        let (cells, index) = (shape.cells(), action.index());
        if symmetry == Symmetry::IDENTITY {
            return action;
        }
        if index / cells < self.0.rules[0].planes {
            // the turning for the second player does not change planes
            let plane = self
                .number_of(symmetry)
                .map_or(index / cells, |known| self.0.plane_maps[known][index / cells] as usize);
            let square = symmetry.square(index % cells, shape.height, shape.width);
            return Action((plane * cells + square) as u16);
        }
        let rules = &self.0.rules[0];
        let line = &rules.lines[rules.owner(index, cells)];
        match line.moves {
            Move::Drop => {
                let column = symmetry.square(index - line.first, shape.height, shape.width) % shape.width;
                Action((line.first + column) as u16)
            }
            _ => action,
        }
    }

    /// See [`crate::game::Game::map_state`].
    pub(super) fn mapped_state(&self, symmetry: Symmetry, state: &State<M>) -> State<M> {
        let player = state.to_move;
        let past = state
            .past
            .changed(|state| self.mapped_once(symmetry, &state, player), |state| self.occurrence(state));
        State { past, ..self.mapped_once(symmetry, state, player) }
    }

    fn mapped_once(&self, symmetry: Symmetry, state: &State<M>, player: Player) -> State<M> {
        let Shape { height, width, .. } = self.0.shape;
        // the symmetry applies to the view of the player to move
        let square = |square: usize| {
            self.seen_square(symmetry.square(self.seen_square(square, player), height, width), player)
        };
        let mut mapped = state.clone();
        for set in &mut mapped.things.sets[..self.0.sets] {
            *set = set.squares().fold(M::NONE, |set, from| set | M::of(square(from)));
        }
        if state.clock.moved != NOWHERE {
            mapped.clock.moved = square(state.clock.moved as usize) as u16;
        }
        if state.clock.line != ANY_LINE
            && let Some(number) = self.number_of(symmetry)
        {
            mapped.clock.line = self.0.line_maps[number][usize::from(state.clock.line)];
        }
        mapped
    }

    /// Returns the index of a symmetry among those of the game.
    fn number_of(&self, symmetry: Symmetry) -> Option<usize> {
        self.0.symmetries.iter().position(|known| *known == symmetry)
    }

    pub(super) fn key_of(&self, state: &State<M>) -> u64 {
        let mut hash = self.occurrence(state);
        let rules = &self.0.rules[0];
        if let Some((times, _)) = &rules.repetition {
            // include how often the position has occurred, and which positions would end the game if they occurred
            // again
            let times = usize::from(*times);
            let occurred = state.past.count(hash);
            hash = mix(hash ^ occurred as u64);
            // rotate, so that swapping the two values gives a different hash
            hash = mix(hash.rotate_left(1) ^ state.past.often(times - 1));
        }
        if self.0.words.counts_quiet {
            hash = mix(hash ^ u64::from(state.clock.quiet));
        }
        let late = state.clock.ply > rules.limit.0 / 2 || self.0.words.counts_plies;
        let small = u64::from(state.clock.passes) << 16 | if late { u64::from(state.clock.ply) } else { 0 };
        mix(hash ^ small << 8)
    }
}

/// Returns whether two lines may move the same piece in the same way, place the same piece, or both pass or both swap.
fn may_be_ambiguous(text: &Text) -> bool {
    let alike = |one: &ActionLine, other: &ActionLine| {
        let same_piece = one.piece == other.piece || one.piece.is_none() || other.piece.is_none();
        let [ways, others] = [one, other].map(|line| steps_of(&line.way));
        let is_placed = |line: &ActionLine| matches!(line.way, Way::Place | Way::Drop);
        let same_way = match (is_placed(one), is_placed(other)) {
            (false, false) => ways.iter().any(|step| others.contains(step)),
            (one, other) => one == other,
        };
        // a capture is written differently from a plain step
        let differ = one.captures != other.captures
            && [one, other]
                .iter()
                .all(|line| !line.captures || is_enemy(&line.to) || matches!(line.way, Way::Hop { .. }));
        // an action without a piece is written as `pass` or `swap` alone
        let is_bare = |line: &ActionLine| matches!(line.way, Way::Pass | Way::Swap);
        let alike = if is_bare(one) || is_bare(other) {
            one.way == other.way
        } else {
            same_piece && same_way && !differ
        };
        one.phase == other.phase && alike
    };
    let lines = || text.actions.iter().enumerate();
    lines().any(|(at, one)| lines().any(|(there, other)| at < there && alike(one, other)))
}

/// Returns whether all squares of this set have enemy pieces.
fn is_enemy(set: &Set) -> bool {
    match set {
        Set::Leaf(Squares::Pieces(side, _)) => *side == Some(Side::Enemy),
        Set::And(both) => both.iter().any(is_enemy),
        Set::Or(both) => both.iter().all(is_enemy),
        Set::UpTo(both) => is_enemy(&both[0]),
        _ => false,
    }
}

/// Returns the player who has acted last.
fn actor<M: Mask>(state: &State<M>) -> Player {
    if state.clock.goes_on { state.to_move } else { state.to_move.other() }
}

/// Returns whether pieces can be placed indefinitely because no counter runs out or a counter is refilled.
fn can_come_back(text: &Text) -> bool {
    let runs_out = |effect: &Effect| {
        matches!(effect, Effect::Count(counter, by) if counter.side == Side::Own
        && *by < 0)
    };
    let places = |line: &ActionLine| matches!(line.way, Way::Place | Way::Drop) && line.piece.is_some();
    let is_free = |line: &ActionLine| places(line) && !line.effects.iter().any(runs_out);
    let fills = |effect: &Effect| matches!(effect.unconditional(), Effect::Count(_, by) if *by > 0);
    text.actions.iter().any(|line| is_free(line) || line.effects.iter().any(fills))
}

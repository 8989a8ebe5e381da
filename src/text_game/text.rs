//! The content of a text: its declarations, lines of actions, and ends, with expressions whose leaves are
//! [names](Squares).

use std::ops::{Range, RangeInclusive};

use super::ast::{self, Leaves, Side};
use super::geometry::{Board, Direction};
use super::mask::{Mask, Wide};

/// The leaves of a tree as it is read: names are resolved, but directions are still relative to a player.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Read;

impl Leaves for Read {
    type Squares = Squares;
    type Direction = Direction;
    type Leap = (i32, i32);
    type Row = Row;
    type Counter = CounterOf;

    fn is_sided(squares: &Squares) -> bool {
        match squares {
            Squares::Fixed(of) => of[0] != of[1],
            Squares::Pieces(side, _) => side.is_some(),
            Squares::State(_) => false,
            Squares::Named { is_sided, .. } => *is_sided,
        }
    }

    fn is_relative(direction: Direction) -> bool {
        direction.relative
    }

    fn directions(row: &Row) -> &[Direction] {
        &row.directions
    }
}

pub(super) type Set = ast::Set<Read>;
pub(super) type Number = ast::Number<Read>;
pub(super) type Condition = ast::Condition<Read>;
pub(super) type Effect = ast::Effect<Read>;

/// A set of squares that is not composed of other sets.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Squares {
    /// The same squares in every position, for the first player and for the second.
    Fixed(Box<[Wide; 2]>),
    /// Squares with a piece of one side or of either, and of one kind or of any.
    Pieces(Option<Side>, Option<usize>),
    /// Squares with a state.
    State(usize),
    Named {
        index: usize,
        is_sided: bool,
    },
}

impl Squares {
    /// Returns the set of a side's pieces.
    pub(super) fn of(side: Side) -> Set {
        Set::Leaf(Squares::Pieces(Some(side), None))
    }
}

/// Squares in a row.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    pub length: usize,
    pub directions: Directions,
}

/// Directions in the order in which they were written.
pub(super) type Directions = Vec<Direction>;

/// A counter of a side, and of a kind of piece if the counter is kept per piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CounterOf {
    pub counter: usize,
    pub side: Side,
    pub kind: Option<usize>,
}

/// How a piece gets to a square.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Way {
    /// A new piece on a square.
    Place,
    /// A new piece on the lowest empty square of a column.
    Drop,
    Step(Directions),
    /// `least` to `most` steps, or exactly as many steps as there are squares of `exactly` in the line.
    Slide {
        directions: Directions,
        least: usize,
        most: usize,
        through: Set,
        exactly: Option<Set>,
    },
    /// Over an adjacent square to the square behind it, which may be off the board.
    Hop {
        directions: Directions,
        over: Set,
        off_board: bool,
    },
    /// Steps of any length: columns and rows.
    Leap(Vec<(i32, i32)>),
    Pass,
    /// The players exchange sides: each gets what the other has.
    Swap,
}

impl Way {
    /// Returns whether a piece on the board goes to another square.
    pub(super) fn moves(&self) -> bool {
        !matches!(self, Way::Place | Way::Drop | Way::Pass | Way::Swap)
    }
}

/// What follows an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// The other player acts.
    Turn,
    /// The same piece continues by the same line of the text if it can. With `may`, it can also stop.
    Again { may: bool },
    /// The same player acts in another phase.
    Then(usize),
    /// The other player acts in another phase.
    Phase(usize),
}

/// One line of actions.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ActionLine {
    /// The line of the text.
    pub line: usize,
    pub phase: usize,
    /// The group of the line. Lines of a group are legal only if lines of earlier groups allow no action.
    pub group: usize,
    pub piece: Option<usize>,
    pub way: Way,
    pub to: Set,
    /// Whether the action removes the enemy piece that the piece moves onto or jumps over.
    pub captures: bool,
    /// Whether a piece on the target square goes to the square that the moving piece leaves.
    pub exchanges: bool,
    pub conditions: Vec<Condition>,
    /// What must hold after the action.
    pub required: Vec<Condition>,
    pub effects: Vec<Effect>,
    pub next: Next,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Verdict {
    Win,
    Loss,
    Draw,
    /// The player with more of these squares wins.
    Most(Set),
}

/// The results for the player who has acted: one if that is the first player, and one if it is the second.
pub(super) type Verdicts = [Verdict; 2];

#[derive(Clone, Debug, PartialEq)]
pub(super) struct End {
    pub line: usize,
    /// The words of the condition.
    pub reason: String,
    pub condition: Condition,
    pub verdicts: Verdicts,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Kind {
    pub name: String,
    /// The letters of the first player's pieces and of the second's.
    pub letters: [char; 2],
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Counter {
    pub name: String,
    pub per_piece: bool,
    pub start: u16,
}

/// A named number that a user can set.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TextOption {
    pub name: String,
    pub value: i64,
    /// The default value, which the text gives.
    pub usual: i64,
    pub range: RangeInclusive<i64>,
}

/// A named set.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Named {
    pub line: usize,
    pub name: String,
    /// The squares that the name means for the first player and for the second.
    pub squares: [Set; 2],
    /// The squares, if they are the same in every position.
    pub fixed: Option<[Wide; 2]>,
    pub is_sided: bool,
}

/// Everything that a text says.
#[derive(Clone, Debug)]
pub(super) struct Text {
    pub title: String,
    pub author: String,
    pub about: Vec<String>,
    /// The statements of the rules as they are written, each with its line.
    pub statements: Vec<(usize, String)>,
    pub players: [String; 2],
    pub board: Board,
    pub options: Vec<TextOption>,
    pub kinds: Vec<Kind>,
    pub states: Vec<(String, char)>,
    pub counters: Vec<Counter>,
    pub sets: Vec<Named>,
    pub phases: Vec<String>,
    pub actions: Vec<ActionLine>,
    pub ends: Vec<End>,
    pub stuck: Option<Verdicts>,
    /// How often a position must occur, and the result.
    pub repetition: Option<(usize, Verdicts)>,
    /// The number of consecutive quiet actions, which leave the number of pieces unchanged, and the result.
    pub quiet: Option<(usize, Verdicts)>,
    pub limit: (usize, Verdicts),
    /// The initial squares of each kind of piece, for each player.
    pub pieces_at_start: Vec<[Wide; 2]>,
    pub states_at_start: Vec<Wide>,
}

impl Text {
    /// Returns the names of the kinds of pieces.
    pub(super) fn kind_names(&self) -> impl Iterator<Item = &str> + Clone {
        self.kinds.iter().map(|kind| kind.name.as_str())
    }

    /// Returns the names of the states of squares.
    pub(super) fn state_names(&self) -> impl Iterator<Item = &str> + Clone {
        self.states.iter().map(|state| state.0.as_str())
    }

    /// Returns the option with this name.
    pub(super) fn option(&self, name: &str) -> Option<&TextOption> {
        self.options.iter().find(|option| option.name == name)
    }

    /// Returns whether a player who acts in this phase can always pass.
    pub(super) fn can_always_pass(&self, phase: usize) -> bool {
        let mut here = self.actions.iter().filter(|line| line.phase == phase);
        here.any(|line| line.way == Way::Pass && line.conditions.is_empty() && line.required.is_empty())
    }

    /// Returns the range, among the numbers of a position, of a player's counter: one number, or one for each kind of
    /// piece.
    pub(super) fn numbers_of(&self, counter: usize, player: usize) -> Range<usize> {
        let width = |counter: &Counter| if counter.per_piece { self.kinds.len() } else { 1 };
        let first: usize = self.counters[..counter].iter().map(|counter| 2 * width(counter)).sum();
        let each = width(&self.counters[counter]);
        first + player * each..first + (player + 1) * each
    }

    /// Returns the index of a counter among the numbers of a position, from a player's point of view.
    pub(super) fn number_of(&self, of: CounterOf, player: usize) -> usize {
        let owner = if of.side == Side::Own { player } else { 1 - player };
        self.numbers_of(of.counter, owner).start + of.kind.unwrap_or(0)
    }

    /// Returns the number of sets of squares and the number of counters in a position.
    pub(super) fn sizes(&self) -> (usize, usize) {
        let counters = self.counters.len().checked_sub(1).map_or(0, |last| self.numbers_of(last, 1).end);
        (2 * self.kinds.len() + self.states.len(), counters)
    }

    /// Returns whether actions or ends use this number.
    pub(super) fn asks_for(&self, number: &Number) -> bool {
        let of_lines = self.actions.iter().flat_map(|line| {
            let effects = line.effects.iter().filter_map(Effect::condition);
            line.conditions.iter().chain(&line.required).chain(effects)
        });
        let mut conditions = self.ends.iter().map(|end| &end.condition).chain(of_lines);
        conditions.any(|condition| condition.numbers().contains(&number))
    }

    /// Returns, for each kind, whether no player can ever have two pieces of it, since both players start with at
    /// most one and no action makes more.
    pub(super) fn single_kinds(&self) -> Vec<bool> {
        let effects = || self.actions.iter().flat_map(|line| &line.effects).map(Effect::unconditional);
        let flips = effects().any(|effect| matches!(effect, Effect::Flip(_)));
        let is_single = |kind: usize| {
            let is_placed =
                |line: &ActionLine| matches!(line.way, Way::Place | Way::Drop) && line.piece == Some(kind);
            !flips
                && !self.actions.iter().any(is_placed)
                && !effects().any(|effect| matches!(effect, Effect::Promote(to, _) if *to == kind))
                && self.pieces_at_start[kind].iter().all(|squares| squares.count() <= 1)
        };
        (0..self.kinds.len()).map(is_single).collect()
    }
}

//! What a text says, as a tree: names are resolved, numbers known, directions still relative to a player.

use std::ops::{Range, RangeInclusive};

use super::geometry::Direction;
use super::mask::Wide;

/// Whose pieces or counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Of the player who acts, or, in ends, has acted.
    Own,
    /// Of the other one.
    Enemy,
}

/// A set of squares.
#[derive(Clone, Debug, PartialEq)]
pub enum Squares {
    /// The same squares in every position; those of the first player and of the second.
    Fixed(Box<[Wide; 2]>),
    /// What the first player means by a name, and the second.
    Each(Box<[Squares; 2]>),
    /// Squares with a piece of this side, of one kind or any.
    Pieces(Option<Side>, Option<usize>),
    /// Squares without a piece.
    Empty,
    State(usize),
    Set(usize),
    From,
    To,
    Over,
    /// Where the piece is that has just moved and goes on.
    Moved,
    Not(Box<Squares>),
    And(Box<Squares>, Box<Squares>),
    Or(Box<Squares>, Box<Squares>),
    /// The squares one step away in these directions.
    Step(Directions, Box<Squares>),
    /// The squares these steps (columns, rows) away.
    Leap(Vec<(i32, i32)>, Box<Squares>),
    /// The squares that a line from `of` reaches over squares of `over`: those, and the first other one.
    Reach {
        of: Box<Squares>,
        over: Box<Squares>,
        directions: Directions,
    },
    /// The first squares behind straight runs of `what` that begin next to `from`.
    Beyond {
        what: Box<Squares>,
        from: Box<Squares>,
        directions: Directions,
    },
    /// Straight runs of `what` with a square of `by` at both ends; with `to`, at least one end is where the piece went.
    Enclosed {
        what: Box<Squares>,
        by: Box<Squares>,
        directions: Directions,
        to: bool,
    },
    /// Squares of `what` from which the first square ahead that is not of `what` is in `then`.
    UpTo {
        what: Box<Squares>,
        then: Box<Squares>,
    },
    /// The squares of `within` that are connected to `of` through it.
    Group {
        of: Box<Squares>,
        within: Box<Squares>,
        directions: Directions,
    },
    /// Squares of lines through a run of at least (or exactly) this many of `what`.
    Line {
        length: usize,
        exactly: bool,
        what: Box<Squares>,
        directions: Directions,
    },
    /// Squares behind which, in this direction, is a piece or the edge: where what falls stays.
    Floor(Direction),
}

/// Directions in the order in which they were written.
pub type Directions = Vec<Direction>;

#[derive(Clone, Debug, PartialEq)]
pub enum Number {
    Is(i64),
    Count(Squares),
    /// A counter; of a kind of piece if it is kept for each.
    Counter(usize, Side, Option<usize>),
    Ply,
    Quiet,
    Passes,
    Plus(Box<Number>, Box<Number>),
    Minus(Box<Number>, Box<Number>),
    /// The number of groups.
    Groups(Squares, Directions),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    Less,
    AtMost,
    Is,
    Differs,
    AtLeast,
    More,
}

impl Compare {
    pub fn holds(self, one: i64, other: i64) -> bool {
        match self {
            Compare::Less => one < other,
            Compare::AtMost => one <= other,
            Compare::Is => one == other,
            Compare::Differs => one != other,
            Compare::AtLeast => one >= other,
            Compare::More => one > other,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    Any(Squares),
    Connected {
        what: Squares,
        from: Squares,
        to: Squares,
        directions: Directions,
    },
    Stuck(Side),
    Compared(Number, Compare, Number),
    /// Whether the piece's square, before or after, or the square jumped over, is one of these.
    Place(Spot, Squares),
    /// Whether the square gone to is nearer to the center than the one left.
    Inward,
    Not(Box<Condition>),
    And(Box<Condition>, Box<Condition>),
    Or(Box<Condition>, Box<Condition>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spot {
    From,
    To,
    Over,
}

/// How a piece gets to a square.
#[derive(Clone, Debug, PartialEq)]
pub enum Way {
    /// A new piece on a square.
    Place,
    /// A new piece on the lowest empty square of a column.
    Drop,
    Step(Directions),
    /// One or more steps, at most `most`, or exactly as many as there are squares of `exactly` in the line.
    Slide {
        directions: Directions,
        least: usize,
        most: usize,
        through: Squares,
        exactly: Option<Squares>,
    },
    /// Over an adjacent square to the one behind it, which may be off the board.
    Hop {
        directions: Directions,
        over: Squares,
        off_board: bool,
    },
    Leap(Vec<(i32, i32)>),
    Pass,
    /// The players exchange sides: each gets what the other has.
    Swap,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Removes the enemy where the piece goes, or that it jumps over.
    Capture,
    Remove(Squares),
    /// Pieces change sides.
    Flip(Squares),
    Mark(usize, Squares),
    Unmark(usize, Squares),
    /// The pieces there become pieces of this kind.
    Promote(usize, Squares),
    /// The counter of this side, and of the kind that acts if it is kept for each, changes.
    Count(usize, Side, i64),
    /// The piece on the square gone to, if there is one, goes where the piece came from.
    Exchange,
    /// What follows happens only if this holds.
    When(Condition, Vec<Effect>),
}

/// What follows an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The other player acts.
    Turn,
    /// The same piece goes on by the same line of the text if it can; with `may`, it need not.
    Again { may: bool },
    /// The same player acts in another phase.
    Then(usize),
    /// The other player acts in another phase.
    Phase(usize),
}

/// One line of actions.
#[derive(Clone, Debug, PartialEq)]
pub struct ActionLine {
    /// The line of the text.
    pub line: usize,
    pub phase: usize,
    /// Lines of a later group are legal only if those of earlier ones allow nothing.
    pub group: usize,
    pub piece: Option<usize>,
    pub way: Way,
    pub to: Squares,
    pub conditions: Vec<Condition>,
    /// What must hold once everything has been done.
    pub required: Vec<Condition>,
    pub effects: Vec<Effect>,
    pub next: Next,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    Win,
    Loss,
    Draw,
    /// The player with more of these squares wins.
    Most(Squares),
}

/// The result for the player who has acted, if it is the first player and if it is the second.
pub type Verdicts = [Verdict; 2];

#[derive(Clone, Debug, PartialEq)]
pub struct End {
    pub line: usize,
    /// The words of the condition, for people.
    pub reason: String,
    pub condition: Condition,
    pub verdicts: Verdicts,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Kind {
    pub name: String,
    /// The letters of the first player's pieces and of the second's.
    pub letters: [char; 2],
}

#[derive(Clone, Debug, PartialEq)]
pub struct Counter {
    pub name: String,
    pub per_piece: bool,
    pub start: u16,
}

/// A named number that a user may set.
#[derive(Clone, Debug, PartialEq)]
pub struct TextOption {
    pub name: String,
    pub value: i64,
    /// What the text says.
    pub usual: i64,
    pub range: RangeInclusive<i64>,
}

/// A named set.
#[derive(Clone, Debug, PartialEq)]
pub struct Named {
    pub line: usize,
    pub name: String,
    pub squares: Squares,
    /// The squares, if they are the same in every position.
    pub fixed: Option<[Wide; 2]>,
    /// Whether they are others for the other player.
    pub has_sides: bool,
}

/// Everything that a text says.
#[derive(Clone, Debug)]
pub struct Text {
    pub title: String,
    pub author: String,
    pub about: Vec<String>,
    /// The rules as they are written, each with its line.
    pub said: Vec<(usize, String)>,
    pub players: [String; 2],
    pub board: super::geometry::Board,
    pub options: Vec<TextOption>,
    pub kinds: Vec<Kind>,
    pub states: Vec<(String, char)>,
    pub counters: Vec<Counter>,
    pub sets: Vec<Named>,
    pub phases: Vec<String>,
    pub actions: Vec<ActionLine>,
    pub ends: Vec<End>,
    pub stuck: Option<Verdicts>,
    /// How often a position must occur, and what it means.
    pub repetition: Option<(usize, Verdicts)>,
    /// Actions in a row that change no number of pieces.
    pub quiet: Option<(usize, Verdicts)>,
    pub limit: (usize, Verdicts),
    /// Pieces at the start: of each kind, of each player.
    pub pieces_at_start: Vec<[Wide; 2]>,
    pub states_at_start: Vec<Wide>,
}

impl Text {
    /// The names of the kinds of pieces.
    pub fn kind_names(&self) -> impl Iterator<Item = &str> + Clone {
        self.kinds.iter().map(|kind| kind.name.as_str())
    }

    /// The names of the states of squares.
    pub fn state_names(&self) -> impl Iterator<Item = &str> + Clone {
        self.states.iter().map(|state| state.0.as_str())
    }

    /// The option with this name.
    pub fn option(&self, name: &str) -> Option<&TextOption> {
        self.options.iter().find(|option| option.name == name)
    }

    /// Whether who acts in this phase can always pass.
    pub fn can_always_pass(&self, phase: usize) -> bool {
        let mut here = self.actions.iter().filter(|line| line.phase == phase);
        here.any(|line| line.way == Way::Pass && line.conditions.is_empty() && line.required.is_empty())
    }

    /// Which numbers of a position are a counter of a player: one, or one for each kind of piece.
    pub fn numbers_of(&self, counter: usize, player: usize) -> Range<usize> {
        let width = |counter: &Counter| if counter.per_piece { self.kinds.len() } else { 1 };
        let first: usize = self.counters[..counter].iter().map(|counter| 2 * width(counter)).sum();
        let each = width(&self.counters[counter]);
        first + player * each..first + (player + 1) * each
    }

    /// The number of sets of squares and of counters that positions consist of.
    pub fn sizes(&self) -> (usize, usize) {
        let counters = self.counters.len().checked_sub(1).map_or(0, |last| self.numbers_of(last, 1).end);
        (2 * self.kinds.len() + self.states.len(), counters)
    }
}

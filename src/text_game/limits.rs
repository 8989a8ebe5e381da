//! The limits of a text, which bound the time and memory of reading it and of playing its game.

/// The largest number of bytes in a text.
pub const LARGEST: usize = 1 << 16;
/// The largest number of sets of squares in a position: one for each kind of piece of each player, and one for each
/// state.
pub(super) const MOST_SETS: usize = 16;
/// The largest number of counters in a position. Each declared counter needs one for each player, or one for each kind
/// of piece of each player.
pub(super) const MOST_COUNTERS: usize = 16;
/// The largest number of named sets, and of sets that are computed only once per position.
pub(super) const MOST_KEPT: usize = 20;
/// The largest number of lines of actions.
pub(super) const MOST_LINES: usize = 40;
/// The largest number of clauses of an action.
pub(super) const MOST_CLAUSES: usize = 24;
/// The largest number of ends of a game.
pub(super) const MOST_ENDS: usize = 64;
/// The deepest nesting of squares and conditions.
pub(super) const DEEPEST: usize = 40;
/// The largest number of joined parts in a statement.
pub(super) const MOST_LINKS: usize = 200;
/// The largest number of actions that a game may last.
pub(super) const LONGEST: usize = 20_000;

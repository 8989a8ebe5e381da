//! The limits of a text, so that reading it and playing by it take bounded time and memory.

/// The most bytes of a text.
pub const LARGEST: usize = 1 << 16;
/// The most sets of squares that a position consists of: those of each kind for both players, and the states.
pub const MOST_SETS: usize = 16;
/// The most counters of a position: one for each player, or for each kind of each player.
pub const MOST_COUNTERS: usize = 16;
/// The most named sets, and the most sets that are found only once in a position.
pub const MOST_KEPT: usize = 20;
/// The most lines of actions.
pub const MOST_LINES: usize = 40;
/// The most clauses of an action.
pub const MOST_CLAUSES: usize = 24;
/// The most ends of a game.
pub const MOST_ENDS: usize = 64;
/// The deepest nesting of squares and conditions.
pub const DEEPEST: usize = 40;
/// The most joined parts of a statement.
pub const MOST_LINKS: usize = 200;
/// The most actions that a game may last.
pub const LONGEST: usize = 20_000;

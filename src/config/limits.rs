//! Limits that the settings share with command lines, protocols, and files.

/// The maximum number of simulations per action, in settings, agents, protocols, and records.
pub const MAX_SIMULATIONS: usize = 1_000_000;
/// The maximum number of simulations of a fast search, which must have fewer simulations than a full search.
pub const MAX_FAST_SIMULATIONS: usize = MAX_SIMULATIONS - 1;
/// The maximum number of nodes of a solver at one root.
pub const MAX_SOLVE_NODES: usize = 10_000_000;
/// The maximum number of nodes of a solver at one leaf.
pub const MAX_LEAF_NODES: usize = 10_000;
/// The maximum number of leaves that a search gathers before they are evaluated; see `search.leaves`.
pub const MAX_LEAVES: usize = 1_024;
/// The maximum number of games of a match.
pub const MAX_MATCH_GAMES: usize = 1_000_000;
/// The maximum number of generations of a run.
pub const MAX_GENERATIONS: usize = 100_000;
/// The maximum number of games of a generation.
pub const MAX_GAMES: usize = 10_000_000;
/// The maximum number of positions or games that are computed together.
pub const MAX_BATCH: usize = 65_536;
/// The largest evaluation cache, in mebibytes.
pub const MAX_CACHE: usize = 65_536;
/// The largest search tree of an engine, in mebibytes.
pub const MAX_HASH: usize = 32_768;
/// The maximum number of random plies at the start of a game.
pub const MAX_OPENING_PLIES: usize = 1_000;
/// The maximum number of worker threads of a command.
pub const MAX_THREADS: usize = 512;
/// The maximum number of agents of a ladder: the work of planning its games grows with the third power of their number.
pub const MAX_LADDER_AGENTS: usize = 300;

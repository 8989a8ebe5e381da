//! Limits that the settings share with command lines, protocols, and files.

/// The most simulations per action, in settings, agents, protocols, and records.
pub const MAX_SIMULATIONS: usize = 1_000_000;
/// The most simulations of a fast search, which must have fewer than a full one.
pub const MAX_FAST_SIMULATIONS: usize = MAX_SIMULATIONS - 1;
/// The most nodes of a solver at one root.
pub const MAX_SOLVE_NODES: usize = 10_000_000;
/// The most nodes of a solver at one leaf.
pub const MAX_LEAF_NODES: usize = 10_000;
/// The most leaves that a search gathers before they are evaluated; see `search.leaves`.
pub const MAX_LEAVES: usize = 1_024;
/// The most games of a match.
pub const MAX_MATCH_GAMES: usize = 1_000_000;
/// The most generations of a run.
pub const MAX_GENERATIONS: usize = 100_000;
/// The most games of a generation.
pub const MAX_GAMES: usize = 10_000_000;
/// The most positions or games that are computed together.
pub const MAX_BATCH: usize = 65_536;
/// The largest evaluation cache, in mebibytes.
pub const MAX_CACHE: usize = 65_536;
/// The largest search tree of an engine, in mebibytes.
pub const MAX_HASH: usize = 32_768;
/// The most random plies at the start of a game.
pub const MAX_OPENING_PLIES: usize = 1_000;
/// The most worker threads of a command.
pub const MAX_THREADS: usize = 512;
/// The most agents of a ladder: the work of planning its games grows with the third power of their number.
pub const MAX_LADDER_AGENTS: usize = 300;

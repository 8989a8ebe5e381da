//! The settings of a run's matches: its evaluation and the rating of its generations.
//!
//! They are the keys of `[arena]`.

use super::limits::{MAX_GENERATIONS, MAX_MATCH_GAMES, MAX_OPENING_PLIES, MAX_SIMULATIONS};
use super::table::{is_one, section};

section! {
    /// `[arena]`
    pub struct ArenaConfig, "arena" {
        /// Matches are played after every this many generations, and after the last one.
        #[serde(skip_serializing_if = "is_one")]
        every: usize = 1, 1..=MAX_GENERATIONS;
        /// Paired games against `opponent` after each generation that has matches (0: none).
        games: usize = 20, 0..=MAX_MATCH_GAMES, even;
        /// Paired games against `opponent` after the last generation.
        final_games: usize = 100, 0..=MAX_MATCH_GAMES, even;
        /// The opponent of the evaluation, any agent: `random`, `perfect`, `rollout:SIMS`, `uniform:SIMS`, `shipped`,
        /// or a run or checkpoint. The strength of a run or checkpoint does not depend on this config.
        opponent: String = "rollout:400";
        /// Simulations per action of the run's own agent.
        simulations: usize = 100, 1..=MAX_SIMULATIONS;
        /// Seeded random actions at the start of each pair of games.
        opening_plies: usize = 4, 0..=MAX_OPENING_PLIES;
        /// Paired games of each new network that has matches against networks of earlier generations, which the run
        /// uses to rate its generations (0: none). The last network also plays `final_games` against the first. Nothing
        /// that is trained depends on these games.
        ladder_games: usize = 20, 0..=MAX_MATCH_GAMES, even;
    }
}

//! The settings of matches: the evaluation of a run, and the gate for its networks.
//!
//! The keys of `[arena]`; `arena` and `gate` use them.

use super::limits::{MAX_MATCH_GAMES, MAX_OPENING_PLIES, MAX_SIMULATIONS};
use super::table::{choice, section};

section! {
    /// `[arena]`
    pub struct ArenaConfig, "arena" {
        /// Paired games against `opponent` after each generation (0: none). With a gate they are played by the
        /// champion, whenever there is a new one.
        games: usize = 20, 0..=MAX_MATCH_GAMES, even;
        /// Paired games against `opponent` after the last generation.
        final_games: usize = 100, 0..=MAX_MATCH_GAMES, even;
        /// Any agent: `random`, `perfect`, `rollout:SIMS`, `uniform:SIMS`, or a run or checkpoint, whose strength
        /// then does not depend on this config.
        opponent: String = "rollout:400";
        /// Simulations per action of our agent.
        simulations: usize = 100, 1..=MAX_SIMULATIONS;
        /// Seeded random actions at the start of each pair of games.
        opening_plies: usize = 4, 0..=MAX_OPENING_PLIES;
        /// Paired games of each new network against networks of earlier generations, by which the run rates its
        /// generations (0: none). The last one also plays `final_games` against the first. Nothing that is trained
        /// depends on them.
        ladder_games: usize = 20, 0..=MAX_MATCH_GAMES, even;
        /// The test that a new network must pass to play the self-play games and to represent the run. Training
        /// continues from the newest network either way, as in KataGo (SelfplayTraining.md).
        gate: GateKind = GateKind::None;
        /// H0 of the gate: the new network is better than the champion by this much, in Elo. Must be less than
        /// `gate_elo1`.
        gate_elo0: f64 = 0.0, -1000.0..=999.0;
        /// H1 of the gate (35 Elo is a score of 55 %, as in AlphaGo Zero). Must be more than `gate_elo0`.
        gate_elo1: f64 = 35.0, -999.0..=1000.0;
        /// Probability that the gate promotes a network of `gate_elo0`.
        gate_alpha: f64 = 0.05, 0.000_001..=0.4;
        /// Probability that the gate rejects a network of `gate_elo1`.
        gate_beta: f64 = 0.05, 0.000_001..=0.4;
        /// Maximum number of games of the gate (AlphaGo Zero: 400): a network still undecided then is not promoted.
        gate_games: usize = 400, 2..=MAX_MATCH_GAMES, even;
    }
}

choice! {
    /// `arena.gate`
    pub enum GateKind {
        /// Every new network plays at once.
        None = "none",
        /// A sequential probability ratio test against the champion.
        Sprt = "sprt",
    }
}

//! The settings of matches: the evaluation of a run, and the gate that its networks pass.
//!
//! In go the keys of `[arena]`; what they decide is in `arena`, `gate` and `pipeline`.

use super::limits::{MAX_MATCH_GAMES, MAX_OPENING_PLIES, MAX_SIMULATIONS};
use super::table::{choice, section};

section! {
    /// `[arena]`
    pub struct ArenaConfig, "arena" {
        /// Paired games against `opponent` after each generation (0: none). Behind a gate the champion plays them, when
        /// it is a new one.
        games: usize = 20, 0..=MAX_MATCH_GAMES, even;
        /// The same after the last generation.
        final_games: usize = 100, 0..=MAX_MATCH_GAMES, even;
        /// Any agent: `random`, `perfect`, `rollout:SIMS`, `uniform:SIMS`, or a run or checkpoint, whose strength
        /// this config then does not decide.
        opponent: String = "rollout:400";
        /// Simulations an action of our agent.
        simulations: usize = 100, 1..=MAX_SIMULATIONS;
        /// Seeded random actions that begin each pair of games.
        opening_plies: usize = 4, 0..=MAX_OPENING_PLIES;
        /// What a new network must pass before it plays the self-play games and stands for the run. Training goes on
        /// from the newest network either way, as in KataGo (SelfplayTraining.md).
        gate: GateKind = GateKind::None;
        /// H0 of the gate: the new network is better than the champion by this much, in Elo. Less than `gate_elo1`.
        gate_elo0: f64 = 0.0, -1000.0..=999.0;
        /// H1 of the gate (35 Elo are a score of 55 %, as AlphaGo Zero asked for). More than `gate_elo0`.
        gate_elo1: f64 = 35.0, -999.0..=1000.0;
        /// Probability that the gate promotes a network of `gate_elo0`.
        gate_alpha: f64 = 0.05, 0.000_001..=0.4;
        /// Probability that the gate refuses a network of `gate_elo1`.
        gate_beta: f64 = 0.05, 0.000_001..=0.4;
        /// Most games of the gate (AlphaGo Zero: 400): who is undecided then is not promoted.
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

//! The settings of matches: the evaluation of a run, and the gate that its networks pass.
//!
//! In go the keys of `[arena]`, checked for their ranges; what they decide is in `arena`, `gate` and
//! `pipeline`.

use serde::{Deserialize, Serialize};

use super::{RangeProblem, even, range};

/// `[arena]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ArenaConfig {
    /// Paired games against `opponent` after each generation, even, 0..=1000000 (default 20; 0: none). Behind a
    /// gate the champion plays them, when it is a new one.
    pub games: usize,
    /// The same after the last generation, even, 0..=1000000 (default 100).
    pub final_games: usize,
    /// Any agent: `random`, `perfect`, `rollout:SIMS`, `uniform:SIMS`, or a run or checkpoint, whose strength
    /// this config then does not decide (default `rollout:400`).
    pub opponent: String,
    /// Simulations an action of our agent, 1..=1000000 (default 100).
    pub simulations: usize,
    /// Seeded random actions that begin each pair of games, 0..=1000 (default 4).
    pub opening_plies: usize,
    /// What a new network must pass before it plays the self-play games and stands for the run (default
    /// `none`). Training goes on from the newest network either way, as in KataGo (SelfplayTraining.md).
    pub gate: GateKind,
    /// H0 of the gate: the new network is better than the champion by this much, in Elo, -1000..=999 (default 0).
    pub gate_elo0: f64,
    /// H1 of the gate, more than `gate_elo0`, -999..=1000 (default 35, a score of 55 % as AlphaGo Zero asked
    /// for).
    pub gate_elo1: f64,
    /// Probability that the gate promotes a network of `gate_elo0`, 0.000001..=0.4 (default 0.05).
    pub gate_alpha: f64,
    /// Probability that the gate refuses a network of `gate_elo1`, 0.000001..=0.4 (default 0.05).
    pub gate_beta: f64,
    /// Most games of the gate, even, 2..=1000000 (default 400, as AlphaGo Zero): who is undecided then is not
    /// promoted.
    pub gate_games: usize,
}

/// `arena.gate`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GateKind {
    /// Every new network plays at once.
    None,
    /// A sequential probability ratio test against the champion.
    Sprt,
}

impl Default for ArenaConfig {
    fn default() -> Self {
        ArenaConfig {
            games: 20,
            final_games: 100,
            opponent: "rollout:400".into(),
            simulations: 100,
            opening_plies: 4,
            gate: GateKind::None,
            gate_elo0: 0.0,
            gate_elo1: 35.0,
            gate_alpha: 0.05,
            gate_beta: 0.05,
            gate_games: 400,
        }
    }
}

impl ArenaConfig {
    pub(super) fn check(&self) -> Result<(), RangeProblem> {
        range("arena.games", self.games, 0, 1_000_000)?;
        range("arena.final_games", self.final_games, 0, 1_000_000)?;
        range("arena.simulations", self.simulations, 1, 1_000_000)?;
        range("arena.opening_plies", self.opening_plies, 0, 1000)?;
        range("arena.gate_elo0", self.gate_elo0, -1000.0, 999.0)?;
        range("arena.gate_elo1", self.gate_elo1, -999.0, 1000.0)?;
        range("arena.gate_alpha", self.gate_alpha, 1e-6, 0.4)?;
        range("arena.gate_beta", self.gate_beta, 1e-6, 0.4)?;
        range("arena.gate_games", self.gate_games, 2, 1_000_000)?;
        if self.gate_elo0 >= self.gate_elo1 {
            let says = format!(
                "arena.gate_elo1 = {} is not above arena.gate_elo0 = {}",
                self.gate_elo1, self.gate_elo0
            );
            return Err(RangeProblem { key: "arena.gate_elo1", says });
        }
        even("arena.games", self.games)?;
        even("arena.final_games", self.final_games)?;
        even("arena.gate_games", self.gate_games)
    }
}

//! The gate of a run: a new network plays the self-play games only if it is better than the current one, the
//! champion.
//!
//! For the checkpoint of a generation it makes a decision, written next to it as `gate.json`; a decided match is not
//! repeated. The champion is the newest generation that was promoted; the first has no opponent. Training continues
//! from the newest network either way, as with KataGo's gatekeeper (lightvector/KataGo, SelfplayTraining.md), here
//! with a sequential test instead of a fixed number of games.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::any::{AnyGame, Opened};
use crate::arena::agent::Contestant;
use crate::arena::sprt::{Sprt, Verdict};
use crate::arena::{Match, MatchResult, Standing};
use crate::checkpoint::{self, Checkpoint, GATE};
use crate::config::Config;
use crate::error::Result;
use crate::net::device::Processor;
use crate::net::evaluator::SharedNet;
use crate::random::mix;
use crate::storage;

/// The gate's decision about a generation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// Whether it is the champion now.
    pub promoted: bool,
    /// The generation that was the champion before, if there was one.
    pub champion: Option<usize>,
    /// The match against it.
    pub result: Option<MatchResult>,
    /// SHA-256 of the tensors that were judged; not in decisions of version 0.1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights: Option<String>,
}

/// Plays the newest `checkpoint` of the run in `folder` against the champion, unless that was done before. `tick` is
/// that of [`AnyGame::play_match`].
pub fn decide(
    rules: &Opened,
    config: &Config,
    processor: &Processor,
    folder: &Path,
    checkpoint: &Checkpoint,
    tick: impl Fn(&Standing) -> bool + Sync,
) -> Result<Decision> {
    if let Some(decision) = checkpoint.gate()? {
        return Ok(decision);
    }
    let number = checkpoint.manifest.generation;
    // nothing was promoted before: the newest represents the run
    let champion = checkpoint::champion(folder)?.filter(|champion| champion.manifest.generation != number);
    let weights = Some(checkpoint.tensors_sha256().to_string());
    let decision = match champion {
        None => Decision { promoted: true, champion: None, result: None, weights },
        Some(champion) => {
            let agent = |of: &Checkpoint| contestant(rules, config, processor, of);
            let agents = [agent(checkpoint)?, agent(&champion)?];
            let plan = plan(config, number)?;
            let result = rules.game.play_match(&plan, agents.each_ref(), None, tick)?;
            let promoted = result.sprt.is_some_and(|test| test.verdict == Verdict::H1);
            Decision { promoted, champion: Some(champion.manifest.generation), result: Some(result), weights }
        }
    };
    storage::write_whole(&checkpoint.path.join(GATE), storage::sealed(&decision).as_bytes())?;
    Ok(decision)
}

/// A checkpoint of the run as it plays in its matches.
pub(super) fn contestant(
    rules: &Opened,
    config: &Config,
    processor: &Processor,
    checkpoint: &Checkpoint,
) -> Result<Contestant<AnyGame>> {
    let network = checkpoint.network()?;
    let net = SharedNet::on(&network, &config.net, processor)?;
    Ok(Contestant::trained(&rules.game, &config.search.one_by_one(), net, config.arena.simulations))
}

fn plan(config: &Config, generation: usize) -> Result<Match> {
    let settings = &config.arena;
    let sprt = Sprt::new(settings.gate_elo0, settings.gate_elo1, settings.gate_alpha, settings.gate_beta)?;
    Ok(Match {
        games: settings.gate_games,
        // other openings for each generation, or a lucky opening would count again and again
        seed: mix(config.seed.wrapping_add(generation as u64)),
        opening_plies: settings.opening_plies,
        sprt: Some(sprt),
    })
}

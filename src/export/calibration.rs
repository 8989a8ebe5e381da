//! Measures how large a network's activations become in play, so that an export can compute in int8.
//!
//! Input: the rules and a checkpoint. Output: the largest number and the mean of each channel of each activation, and
//! how far answers in int8 are then from those in f32. The positions are evenly spaced among those of the newest
//! games that the run recorded up to this checkpoint; if it has no records, they come from random games. The same
//! checkpoint and records give the same ranges.

use std::path::Path;

use crate::any::{AnyState, Opened};
use crate::checkpoint::{Checkpoint, FOLDER};
use crate::config::Precision;
use crate::conformance::random_positions;
use crate::error::{Error, Result};
use crate::net::precision::{self, Distance};
use crate::net::ranges::Ranges;
use crate::replay::store;

/// The number of positions in which activations are measured.
const POSITIONS: usize = 4096;
/// The number of newest positions from which those are chosen.
const CANDIDATES: usize = 16 * POSITIONS;
/// The number of those positions in which answers are compared.
const COMPARED: usize = 512;
const SEED: u64 = 1;

/// The ranges, and where the positions came from.
#[derive(Clone, Debug)]
pub struct Calibration {
    /// How large the activations became.
    pub ranges: Ranges,
    /// The number of positions measured.
    pub positions: usize,
    /// Whether the positions were recorded by the run; if not, they come from random games.
    pub recorded: bool,
    /// The distance of the answers in the other precisions of this CPU from those in f32, on average over some of the
    /// positions.
    pub distances: Vec<(Precision, Distance)>,
}

/// Measures the activations of `checkpoint`.
///
/// If the network or a record is damaged, or belongs to another game.
pub fn calibrate(rules: &Opened, checkpoint: &Checkpoint) -> Result<Calibration> {
    let network = checkpoint.network()?;
    let mut states = recorded(rules, checkpoint)?;
    let recorded = !states.is_empty();
    if !recorded {
        states = random_positions(&rules.game, POSITIONS, SEED);
    }
    let (positions, ranges) = (states.len(), precision::ranges(&rules.game, &network, &states));
    let wrong = |why: String| Error::Data(format!("{}: its activations: {why}", checkpoint.path.display()));
    ranges.check(network.layers()).map_err(wrong)?;
    let network = network.with_ranges(Some(ranges.clone()));
    let compared: Vec<AnyState> = states.iter().step_by(positions.div_ceil(COMPARED)).cloned().collect();
    let precisions = precision::possible(&network).split_off(1);
    let distances = precision::distances(&rules.game, &network, &precisions, &compared)?;
    Ok(Calibration {
        ranges,
        positions,
        recorded,
        distances: precisions.into_iter().zip(distances).collect(),
    })
}

/// Positions recorded by the run to which a checkpoint belongs; empty for an export.
fn recorded(rules: &Opened, checkpoint: &Checkpoint) -> Result<Vec<AnyState>> {
    let Some(run) = checkpoint.path.parent().filter(|path| path.ends_with(FOLDER)).and_then(Path::parent)
    else {
        return Ok(Vec::new());
    };
    let mut states = Vec::new();
    let mut shards = store::list(run)?;
    shards.retain(|(generation, path)| {
        *generation <= checkpoint.manifest.generation && store::is_finished(path).unwrap_or(false)
    });
    while let Some((_, path)) = shards.pop()
        && states.len() < CANDIDATES
    {
        for record in store::read_unplayed(&path)? {
            record.replay(rules, |ply| states.push(ply.state.clone()))?;
        }
    }
    let (count, len) = (states.len().min(POSITIONS), states.len());
    Ok((0..count).map(|i| states[i * len / count].clone()).collect())
}

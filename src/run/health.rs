//! Numbers that say whether a run still learns: a line of metrics for each generation.
//!
//! New games are measured before they are trained on, by the network that was trained on all earlier ones, so no
//! games have to be set aside for this. The window is measured after training on it. Both are measured in evaluation
//! mode. [`signs`](super::signs) turns the series of lines into sentences.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::train::quality::Quality;

/// Measurements of one generation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Health {
    /// Its number, from 1.
    pub generation: usize,
    /// How well the previous generation's network predicts this generation's games; absent if it was not trained.
    pub fresh: Option<Quality>,
    /// How well the network predicts the window that it was trained on.
    pub seen: Quality,
    /// How well it predicts positions that are never trained on, if there are any.
    pub held_out: Option<Quality>,
    /// The mean divergence of the search's policy from the network's in the new games; absent with `fresh`.
    pub surprise: Option<f64>,
    /// The share of the window's positions that repeat an earlier one; the first occurrence does not count.
    pub duplicates: f64,
    /// The share of the network's channels that [no longer take part](crate::net::weights::Weights::dead_channels).
    pub dead_channels: f64,
    /// Mean number of actions in its games.
    pub length: f64,
    /// Mean score of the first player in its games, 0 to 1.
    pub first_score: f64,
    /// The share of drawn games.
    pub draws: f64,
    /// How many of its games ended in each way, if the rules tell.
    pub endings: BTreeMap<String, usize>,
}

//! Measurements of how well a run learns: one line of metrics for each generation.
//!
//! New games are measured before the network is trained on them, so they serve as test data. The window is measured
//! after the network was trained on it. The network is in evaluation mode for both measurements.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::train::quality::Quality;

/// Measurements of one generation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Health {
    /// The generation's number, from 1.
    pub generation: usize,
    /// How well the previous generation's network predicts this generation's games; absent if it was not trained.
    pub fresh: Option<Quality>,
    /// How well the network predicts the window that it was trained on.
    pub seen: Quality,
    /// How well the network predicts positions that are never trained on, if there are any.
    pub held_out: Option<Quality>,
    /// The mean divergence of the search's policy from the network's in the new games; absent if `fresh` is.
    pub surprise: Option<f64>,
    /// The share of the window's positions that repeat an earlier one; the first occurrence does not count.
    pub duplicates: f64,
    /// The share of the network's channels that [no longer take part](crate::net::weights::Weights::dead_channels).
    pub dead_channels: f64,
    /// The mean number of actions in the generation's games.
    pub length: f64,
    /// The mean score of the first player in the generation's games, 0 to 1.
    pub first_score: f64,
    /// The share of drawn games.
    pub draws: f64,
    /// The number of the generation's games by kind of ending, if the rules name the kinds.
    pub endings: BTreeMap<String, usize>,
}

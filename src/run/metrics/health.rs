//! Measurements of how well a run learns: one line of metrics for each generation.
//!
//! New games are measured before the network is trained on them, so no games need to be set aside for this. The window
//! is measured after the network was trained on it. Both are measured in evaluation mode.

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
    /// How well the network predicts positions that are never trained on, if there are any.
    pub held_out: Option<Quality>,
    /// The mean divergence of the search's policy from the network's in the new games; absent if `fresh` is.
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
    /// The number of its games that ended in each way, if the rules name the ways.
    pub endings: BTreeMap<String, usize>,
}

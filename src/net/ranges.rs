//! How large the activations of a network become: what its forward pass in bytes needs to know besides the weights.
//!
//! [`cpu`](super::cpu) measures them on positions and reads them; exports keep them with the weights.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::layers::{Layer, Layers};

/// The name of the input.
pub const INPUT: &str = "input";

/// For the input and each part of the tower, by name, the number from which on an activation counts as the largest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ranges(pub BTreeMap<String, f32>);

impl Ranges {
    /// What has a range in a network with these layers: the input, then what is written by each convolution of the tower, and
    /// by each layer that changes it.
    pub fn names(layers: &Layers) -> Vec<&str> {
        let mut names = vec![INPUT];
        for layer in &layers.tower {
            match layer {
                Layer::Conv(conv) => names.push(&conv.name),
                Layer::Block { first, second, .. } => names.extend([&*first.name, &*second.name]),
                Layer::Global(linear) => names.push(&linear.name),
                _ => {}
            }
        }
        names
    }

    /// # Errors
    /// They do not belong to a network with these layers, or are not finite and positive; the error says why.
    pub fn check(&self, layers: &Layers) -> Result<(), String> {
        let mut names = Ranges::names(layers);
        names.sort_unstable();
        if !self.0.keys().eq(names) {
            return Err("they are those of another network".into());
        }
        match self.0.iter().find(|(_, range)| !(range.is_normal() && **range > 0.0)) {
            Some((name, range)) => Err(format!("that of {name} is {range}, not a positive number")),
            None => Ok(()),
        }
    }

    /// What one of 255 steps of the activations `name` is worth.
    ///
    /// # Panics
    /// They have no range.
    pub(super) fn step(&self, name: &str) -> f32 {
        self.0.get(name).unwrap_or_else(|| panic!("no range of {name}")) / 255.0
    }
}

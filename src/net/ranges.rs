//! How large the activations of a network become: what its forward pass in bytes needs to know besides the weights.
//!
//! [`infer`](super::infer) measures them on positions and reads them; exports keep them with the weights.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::layers::{Layer, Layers};

/// The name of the input.
pub const INPUT: &str = "input";
/// The smallest range of a channel, as a share of the largest one beside it: what was never seen may come in play.
const LEAST: f32 = 0.25;

/// Ranges of the input and of each part of the tower, by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ranges(pub BTreeMap<String, Channels>);

/// Ranges of the channels of one activation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Channels {
    /// The largest number of each.
    pub largest: Vec<f32>,
    /// The mean of each, over all squares.
    pub mean: Vec<f32>,
}

impl Ranges {
    /// What has ranges in a network with these layers, and its channels: the input, then what is written by each
    /// convolution of the tower, and by each layer that changes it.
    pub fn names(layers: &Layers) -> Vec<(&str, usize)> {
        let mut names = vec![(INPUT, layers.shape.planes)];
        for layer in &layers.tower {
            match layer {
                Layer::Ones => names[0].1 += 1,
                Layer::Conv(conv) => names.push((&conv.name, conv.outputs)),
                Layer::Block { first, second, .. } => {
                    names.extend([first, second].map(|conv| (&*conv.name, conv.outputs)));
                }
                Layer::Global(linear) => names.push((&linear.name, linear.outputs)),
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
        let fits = |(&(name, channels), (known, numbers)): (&(&str, usize), (&String, &Channels))| {
            name == known && [numbers.largest.len(), numbers.mean.len()] == [channels; 2]
        };
        if names.len() != self.0.len() || !names.iter().zip(&self.0).all(fits) {
            return Err("they are those of another network".into());
        }
        for (name, Channels { largest, mean }) in &self.0 {
            if let Some(range) = largest.iter().find(|range| !(range.is_finite() && **range >= 0.0)) {
                return Err(format!("one of {name} is {range}, not a positive number"));
            }
            if let Some(mean) = mean.iter().find(|mean| !mean.is_finite()) {
                return Err(format!("a mean of {name} is {mean}"));
            }
        }
        Ok(())
    }

    /// # Panics
    /// Nothing is known of the activations `name`.
    pub(super) fn of(&self, name: &str) -> &Channels {
        self.0.get(name).unwrap_or_else(|| panic!("no ranges of {name}"))
    }

    /// Those of what the heads of a network with these layers read.
    pub(super) fn of_features(&self, layers: &Layers) -> &Channels {
        let (name, _) = Ranges::names(layers).pop().expect("at least the input");
        self.of(name)
    }
}

impl Channels {
    /// The size of one of 255 steps, for each channel.
    pub(super) fn steps(&self) -> Vec<f32> {
        let most = self.largest.iter().fold(0.0, |most: f32, range| most.max(*range));
        // without any activation, all steps are right
        let least = if most * LEAST / 255.0 >= f32::MIN_POSITIVE { most * LEAST } else { 1.0 };
        self.largest.iter().map(|range| range.max(least) / 255.0).collect()
    }
}

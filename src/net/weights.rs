//! The weights of a network as plain numbers with batch norm folded in: everything that an evaluator needs, and
//! nothing that only training needs. [`Network::weights`](super::network::Network::weights) makes them;
//! [`infer`](super::infer) and exports read them.

use std::collections::BTreeMap;

use super::layers::Layers;

/// The smallest norm of a channel that is not dead, as a share of the largest norm in its layer.
const DEAD: f64 = 0.01;

/// A network: its layers and their numbers.
#[derive(Clone, Debug)]
pub struct Weights {
    /// The network's layers.
    pub layers: Layers,
    /// The numbers of every layer that has weights, by its name.
    pub numbers: BTreeMap<String, Numbers>,
}

/// The numbers of one layer.
#[derive(Clone, Debug)]
pub struct Numbers {
    /// `[outputs, inputs, kernel, kernel]` for a convolution, `[inputs, outputs]` for a linear layer.
    pub weight: Vec<f32>,
    /// `[outputs]`; for a convolution with batch norm, the bias comes from the norm.
    pub bias: Vec<f32>,
}

impl Weights {
    /// Returns the numbers of the layer `name`.
    ///
    /// # Panics
    /// If there is no such layer.
    pub fn of(&self, name: &str) -> &Numbers {
        self.numbers.get(name).unwrap_or_else(|| panic!("the network has no layer {name}"))
    }

    /// Returns the number of dead channels of the convolutions, and the number of all channels. With batch norm
    /// folded in, the weights of a dead channel have a norm below a hundredth of the largest norm in their layer. The
    /// median norm cannot serve as the reference, because most of a layer may be dead.
    pub fn dead_channels(&self) -> (usize, usize) {
        let (mut dead, mut all) = (0, 0);
        for layer in self.layers.weighted().filter(|layer| layer.sizes().len() == 4) {
            let (weight, outputs) = (&self.of(layer.name()).weight, layer.outputs());
            let inputs = weight.len() / outputs;
            let square = |channel: &[f32]| channel.iter().map(|&w| f64::from(w).powi(2)).sum::<f64>();
            let norms: Vec<f64> = weight.chunks(inputs).map(|channel| square(channel).sqrt()).collect();
            let threshold = DEAD * norms.iter().copied().fold(0.0, f64::max);
            dead += norms.iter().filter(|norm| **norm < threshold).count();
            all += outputs;
        }
        (dead, all)
    }

    /// Checks that the layers fit each other and that the numbers fit the layers.
    ///
    /// # Panics
    /// If the layers do not fit each other, or the numbers do not fit the layers.
    pub fn check(&self) {
        self.layers.check();
        for layer in self.layers.weighted() {
            let Numbers { weight, bias } = self.of(layer.name());
            let expected = (layer.sizes().iter().product(), layer.outputs());
            assert_eq!((weight.len(), bias.len()), expected, "the numbers of {}", layer.name());
        }
    }
}

//! An exponential moving average of a network over its training steps, with the running statistics of its batch
//! norms.
//!
//! The average begins as a copy of the network. Step t adds the network in training with the weight 1 - d, where d is
//! `train.average` but at most (1 + t) / (10 + t). The limit makes the average soon forget the first steps, when
//! weights are still random.

use crate::net::network::Network;

/// The average of a network.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Average(Network);

impl Average {
    /// Returns an average that begins as a copy of a network.
    pub(super) fn of(network: &Network) -> Average {
        Average(network.clone())
    }

    /// Adds the network in training after its step number `step`, counted from 1.
    pub(super) fn add(&mut self, network: &Network, decay: f32, step: usize) {
        let share = 1.0 - decay_at(decay, step);
        for (average, (_, _, new)) in self.0.numbers_mut().zip(network.tensors()) {
            average.iter_mut().zip(new).for_each(|(average, new)| *average += share * (new - *average));
        }
    }

    /// Returns the averaged network.
    pub(super) fn network(&self) -> &Network {
        &self.0
    }
}

/// Returns the share of the average that a step keeps.
fn decay_at(decay: f32, step: usize) -> f32 {
    let step = step as f64;
    decay.min(((1.0 + step) / (10.0 + step)) as f32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::NetConfig;
    use crate::encode::Shape;

    fn network(seed: u64) -> Network {
        let net = NetConfig::with(|net| (net.filters, net.blocks, net.value_hidden) = (4, 1, 4));
        Network::new(&net, Shape { planes: 2, height: 3, width: 3, actions: 9 }, seed)
    }

    /// Returns the average of constants: 0 at first, then 1 at each step.
    fn after(steps: usize, decay: f32) -> f32 {
        let of = |number: f32| {
            let mut network = network(1);
            network.numbers_mut().for_each(|numbers| numbers.fill(number));
            network
        };
        let (mut average, one) = (Average::of(&of(0.0)), of(1.0));
        (1..=steps).for_each(|step| average.add(&one, decay, step));
        let mut numbers = average.0.tensors().flat_map(|(_, _, numbers)| numbers.iter().copied());
        let first = numbers.next().expect("a number");
        assert!(numbers.all(|number| number == first));
        first
    }

    #[test]
    fn constants_are_averaged_as_by_hand() {
        // the remaining share of the beginning is the product of the decays, at first 2/11, 3/12, 4/13, ...
        for (steps, decay, share) in [
            (0, 0.9, 1.0),
            (1, 0.9, 2.0 / 11.0),
            (3, 0.9, 2.0 / 11.0 * 3.0 / 12.0 * 4.0 / 13.0),
            (3, 0.2, 2.0 / 11.0 * 0.2 * 0.2),
            (2, 0.0, 0.0),
        ] {
            assert!((after(steps, decay) - (1.0 - share)).abs() < 1e-6, "{steps} steps, decay {decay}");
        }
        assert_eq!(decay_at(0.999, 8990), 0.999, "from this step on, it is the decay that was asked for");
        assert!(decay_at(0.999, 8000) < 0.999);
    }

    #[test]
    fn a_network_that_does_not_change_is_its_own_average() {
        let network = network(2);
        let mut average = Average::of(&network);
        (1..=100).for_each(|step| average.add(&network, 0.99, step));
        assert_eq!(average, Average::of(&network));
        assert_eq!(average.network(), &network);
    }
}

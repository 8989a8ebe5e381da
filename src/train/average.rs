//! An exponential moving average of a network over its training steps, with the running statistics of its batch norms.
//!
//! It begins as the network that it is made of. Step t adds the network in training with the weight 1 - d, where d is
//! `train.average` but at most (1 + t) / (10 + t): so the first steps, which leave random weights, are soon forgotten.

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::tensor::{Tensor, TensorData};

use crate::net::model::Network;

/// The average of a network, as numbers in the order in which it is visited.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Average(Vec<Vec<f32>>);

impl Average {
    /// Begins as a snapshot.
    pub fn of(snapshot: &Network) -> Average {
        let mut numbers = Numbers(Vec::new());
        snapshot.visit(&mut numbers);
        Average(numbers.read())
    }

    /// Adds a snapshot of the network in training after its step number `step`, counted from 1.
    pub fn add(&mut self, snapshot: &Network, decay: f32, step: usize) {
        let share = 1.0 - decay_at(decay, step);
        for (average, new) in self.0.iter_mut().zip(Average::of(snapshot).0) {
            average.iter_mut().zip(new).for_each(|(average, new)| *average += share * (new - *average));
        }
    }

    /// The average as a network; `snapshot` is any of the same kind.
    pub fn network(&self, snapshot: Network) -> Network {
        snapshot.map(&mut Replace(self.0.iter()))
    }
}

/// How much of the average a step keeps.
fn decay_at(decay: f32, step: usize) -> f32 {
    let step = step as f64;
    decay.min(((1.0 + step) / (10.0 + step)) as f32)
}

/// Collects all numbers of a network, which need not be there yet.
struct Numbers(Vec<Tensor<1>>);

impl Numbers {
    /// Waits for them.
    fn read(self) -> Vec<Vec<f32>> {
        let lengths: Vec<usize> = self.0.iter().map(|tensor| tensor.dims()[0]).collect();
        let all = super::read(self.0);
        let mut rest = all.as_slice();
        lengths.into_iter().map(|length| rest.split_off(..length).expect("all numbers").to_vec()).collect()
    }
}

impl ModuleVisitor for Numbers {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        self.0.push(param.val().flatten(0, D - 1));
    }
}

/// Replaces all numbers of a network.
struct Replace<'a>(std::slice::Iter<'a, Vec<f32>>);

impl ModuleMapper for Replace<'_> {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let numbers = self.0.next().expect("numbers for every parameter");
        let (id, tensor, mapper) = param.consume();
        let data = TensorData::new(numbers.clone(), tensor.dims());
        Param::from_mapped_value(id, Tensor::from_data(data, &tensor.device()), mapper)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::NetConfig;
    use crate::encode::Shape;
    use crate::net::model::device;

    fn network(seed: u64) -> Network {
        let net = NetConfig::with(|net| (net.filters, net.blocks, net.value_hidden) = (4, 1, 4));
        Network::new(&net, Shape { planes: 2, height: 3, width: 3, actions: 9 }, seed, &device()).snapshot()
    }

    /// The average of constants: 0 at first, then 1 at each step.
    fn after(steps: usize, decay: f32) -> f32 {
        let numbers =
            |number: f32| Average(Average::of(&network(1)).0.iter().map(|n| vec![number; n.len()]).collect());
        let (mut average, one) = (numbers(0.0), numbers(1.0).network(network(1)));
        (1..=steps).for_each(|step| average.add(&one, decay, step));
        let first = average.0[0][0];
        assert!(average.0.iter().flatten().all(|number| *number == first));
        first
    }

    #[test]
    fn constants_are_averaged_as_by_hand() {
        // what is left of the beginning: the product of the decays, at first 2/11, 3/12, 4/13, ...
        for (steps, decay, left) in [
            (0, 0.9, 1.0),
            (1, 0.9, 2.0 / 11.0),
            (3, 0.9, 2.0 / 11.0 * 3.0 / 12.0 * 4.0 / 13.0),
            (3, 0.2, 2.0 / 11.0 * 0.2 * 0.2),
            (2, 0.0, 0.0),
        ] {
            assert!((after(steps, decay) - (1.0 - left)).abs() < 1e-6, "{steps} steps, decay {decay}");
        }
        assert_eq!(decay_at(0.999, 8990), 0.999, "from there on it is what was asked for");
        assert!(decay_at(0.999, 8000) < 0.999);
    }

    #[test]
    fn a_network_that_does_not_change_is_its_own_average() {
        let network = network(2);
        let mut average = Average::of(&network);
        (1..=100).for_each(|step| average.add(&network, 0.99, step));
        assert_eq!(average, Average::of(&network));
        assert_eq!(Average::of(&average.network(self::network(3))), average);
    }
}

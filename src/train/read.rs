//! Reads the state of an optimizer onto the CPU; the first step moves each state to the device of its parameter.
//!
//! burn would read the state onto its default device, which is a GPU if this program was built for one, even if the
//! machine has no GPU.

use burn::optim::{LearningRate, Optimizer, RecordState, StateSink, StateSource};
use burn::tensor::{Device, Tensor};

use crate::net::device::cpu;

/// An optimizer whose state is read onto the CPU.
#[derive(Clone, Debug)]
pub(super) struct ReadOnCpu<O>(pub O);

/// The state of one parameter.
#[derive(Clone, Debug)]
pub(super) struct State<S>(S);

impl<S: RecordState> RecordState for State<S> {
    fn state_flatten(&self, prefix: &str, out: &mut StateSink) {
        self.0.state_flatten(prefix, out);
    }

    fn state_unflatten(prefix: &str, source: &mut StateSource, _default: &Device) -> Option<State<S>> {
        S::state_unflatten(prefix, source, &cpu()).map(State)
    }
}

impl<O: Optimizer> Optimizer for ReadOnCpu<O> {
    type State<const D: usize> = State<O::State<D>>;

    fn step<const D: usize>(
        &self,
        rate: LearningRate,
        tensor: Tensor<D>,
        gradient: Tensor<D>,
        state: Option<Self::State<D>>,
    ) -> (Tensor<D>, Option<Self::State<D>>) {
        let (tensor, state) = self.0.step(rate, tensor, gradient, state.map(|state| state.0));
        (tensor, state.map(State))
    }

    fn to_device<const D: usize>(state: Self::State<D>, device: &Device) -> Self::State<D> {
        State(O::to_device(state.0, device))
    }
}

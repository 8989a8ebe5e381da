//! The policy/value network: encoded planes in, policy logits and win, draw, loss out.
//!
//! Its parts:
//! - the description: [`layers`] lists what a network computes, and everything else follows from it; [`auxiliary`]
//!   has the heads that only training computes;
//! - the network as plain numbers: [`network`] has every tensor, `tensors` checks a file of them, and [`weights`]
//!   has what an evaluator needs, with batch norm folded in;
//! - the network as a burn module: training changes `model`, in programs with the feature `train`, which is on by
//!   default;
//! - `learn`: the kernels of the forward and backward pass in training, as one operation for burn's autodiff;
//! - [`infer`]: inference on a CPU, the fused forward pass that self-play and agents use;
//! - [`cuda`]: inference on an NVIDIA GPU, if there is one at run time; `backend` has burn's own devices.
//!
//! [`forward`] is the trait of all forward passes, [`device`] finds the device that computes them, [`evaluator`]
//! connects them to the search, and `precision` finds the fastest precision on this CPU. `kernels` has the matrix
//! products that a CPU can compute, for inference and training.

pub mod auxiliary;
#[cfg(feature = "train")]
mod backend;
mod compared;
pub mod cuda;
pub mod device;
pub mod evaluator;
pub mod forward;
pub mod infer;
mod kernels;
pub mod layers;
#[cfg(feature = "train")]
mod learn;
#[cfg(feature = "train")]
pub mod model;
pub mod network;
#[cfg(feature = "train")]
mod parts;
pub(crate) mod precision;
pub mod source;
pub(crate) mod tensors;
pub mod weights;

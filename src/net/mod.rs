//! The policy/value network: encoded planes in, policy logits and win, draw, loss out.
//!
//! Its parts:
//! - the description: [`layers`] lists what a network computes, and everything else follows it; [`auxiliary`] has the
//!   heads that only training computes;
//! - the network as plain numbers: [`network`] has every tensor, [`tensors`] checks a file of them, [`weights`] has what
//!   an evaluator needs, with batch norm folded in;
//! - the network as a burn module: `model` is what training changes, in programs with the feature `train`, on by default;
//! - `learn`: the kernels of the forward and backward pass in training, as one operation for burn's autodiff;
//! - [`infer`]: inference on a CPU, the fused forward pass that self-play and agents use;
//! - [`cuda`]: inference on an NVIDIA GPU, if there is one at run time; `vulkan` finds any GPU for burn's own
//!   operations.
//!
//! [`forward`] is the trait behind which the passes stand, [`device`] finds what computes them, [`evaluator`] connects
//! them to the search, [`precision`] finds the fastest on this CPU; what a CPU can multiply, for
//! both passes, is in `kernels`.

pub mod auxiliary;
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
pub mod precision;
pub mod ranges;
pub mod source;
pub mod tensors;
#[cfg(feature = "train")]
pub mod vulkan;
pub mod weights;

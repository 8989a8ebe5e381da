//! The reason why a training step was refused: a number in it was not finite.

use crate::error::Error;

/// The place of the first number that was NaN or infinite.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// The planes, the policy, or the value of the batch.
    #[error("the batch has a number that is not finite")]
    Batch,
    /// The losses of the network on an intact batch.
    #[error("the losses are not finite (policy {policy}, value {value})")]
    Loss {
        /// The policy's loss.
        policy: f32,
        /// The value's loss.
        value: f32,
    },
    /// The gradient of finite losses.
    #[error("the gradient is not finite")]
    Gradient,
    /// The weights that a finite gradient led to.
    #[error("the weights after the step are not finite")]
    Weights,
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Error {
        Error::Data(format!("the training step was refused: {refusal}"))
    }
}

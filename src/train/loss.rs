//! Losses: as numbers and, in programs that train, as functions of burn's tensors.

#[cfg(feature = "train")]
mod tensors;

#[cfg(feature = "train")]
pub use self::tensors::{data, losses, with_auxiliary};
use crate::net::auxiliary::HeadKind;

/// Means over a batch, in nats.
#[derive(Clone, Copy, Debug, Default)]
pub struct Losses {
    /// Cross entropy of the policy target and the predicted policy.
    pub policy: f32,
    /// Cross entropy of the value target and the predicted win, draw, loss.
    pub value: f32,
    /// Entropy of the policy targets: a lower bound for `policy`.
    pub policy_floor: f32,
    /// For each [`HeadKind`], the divergence of the auxiliary head's predictions from its targets; 0 if there is no
    /// such head or it has no targets.
    pub auxiliary: [f32; HeadKind::ALL.len()],
}

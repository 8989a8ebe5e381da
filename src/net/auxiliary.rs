//! Auxiliary heads exist only in training, where their targets give the tower more to learn from each position (Wu
//! 2019, arXiv:1902.10565). Auxiliary heads are never computed in play, and exports do not contain them.
//!
//! A head consists of a [`HeadKind`], its layers, and the weight of its loss, which is a setting of `[net]`. The
//! targets of heads are in [`replay::auxiliary`](crate::replay::auxiliary), and their losses are in
//! [`train::loss`](crate::train::loss).

use super::layers::{Layer, linear, logits};
use crate::config::NetConfig;
use crate::encode::Shape;

/// The target of an auxiliary head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HeadKind {
    /// `net.soft_policy`: the policy target at a higher temperature.
    SoftPolicy,
    /// `net.reply_policy`: the policy target of the other player's next ply.
    ReplyPolicy,
    /// `net.short_value`: win, draw, loss as the search sees them over the next plies.
    ShortValue,
}

impl HeadKind {
    /// All kinds, in their order in a network.
    pub const ALL: [HeadKind; 3] = [HeadKind::SoftPolicy, HeadKind::ReplyPolicy, HeadKind::ShortValue];

    /// Returns the name of the head's setting in `[net]`.
    pub fn name(self) -> &'static str {
        ["soft_policy", "reply_policy", "short_value"][self as usize]
    }

    /// Returns the weight of the head's loss, or 0 if the settings do not ask for the head.
    pub fn weight(self, config: &NetConfig) -> f32 {
        match self {
            HeadKind::SoftPolicy => config.soft_policy,
            HeadKind::ReplyPolicy => config.reply_policy,
            HeadKind::ShortValue => config.short_value,
        }
    }

    /// Returns whether the head predicts shares of the actions; otherwise, it predicts win, draw, loss.
    pub fn is_policy(self) -> bool {
        self != HeadKind::ShortValue
    }

    /// Returns the number of the head's outputs.
    pub fn outputs(self, shape: Shape) -> usize {
        if self.is_policy() { shape.actions } else { 3 }
    }
}

/// An auxiliary head.
#[derive(Clone, Debug, PartialEq)]
pub struct AuxiliaryHead {
    /// The target of the head.
    pub kind: HeadKind,
    /// The weight of the head's loss.
    pub weight: f32,
    /// The layers that produce the head's logits, part by part. Their input is the features of the policy, or the last
    /// hidden row of the value head.
    pub parts: Vec<Vec<Layer>>,
}

/// Returns the auxiliary heads that `config` asks for.
pub(super) fn heads(config: &NetConfig, shape: Shape) -> Vec<AuxiliaryHead> {
    let parts = |kind| match kind {
        HeadKind::SoftPolicy => logits("soft", config.filters, shape),
        HeadKind::ReplyPolicy => logits("reply", config.filters, shape),
        HeadKind::ShortValue => vec![vec![linear("short_value", config.value_hidden, 3, false)]],
    };
    let head = |kind: HeadKind| {
        let weight = kind.weight(config);
        (weight > 0.0).then(|| AuxiliaryHead { kind, weight, parts: parts(kind) })
    };
    HeadKind::ALL.into_iter().filter_map(head).collect()
}

/// Returns the settings of the network without auxiliary heads: the network that plays and that an export contains.
pub fn without_heads(config: &NetConfig) -> NetConfig {
    NetConfig { soft_policy: 0.0, reply_policy: 0.0, short_value: 0.0, ..config.clone() }
}

/// Returns whether the settings ask for an auxiliary head.
pub fn has_heads(config: &NetConfig) -> bool {
    HeadKind::ALL.into_iter().any(|kind| kind.weight(config) > 0.0)
}

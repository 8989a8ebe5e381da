//! The training targets of auxiliary heads for the positions of a game.
//!
//! Input: the plies of a game, with the results of their searches. Output: for each position, the targets of the
//! network's auxiliary heads, from the point of view of the player to move; empty if the network has no such heads.

use super::returns::{PlyTarget, value_targets};
use crate::board::Symmetry;
use crate::config::{NetConfig, ReplayConfig};
use crate::game::{Action, Game, Outcome};
use crate::net::auxiliary::HeadKind;

/// The `value_decay` of a short-term value: each further ply counts 1 - `SHORT` times as much as the ply before it.
const SHORT: f32 = 1.0 / 6.0;

/// The training target of a head for a position.
#[derive(Clone, Debug, PartialEq)]
pub struct AuxiliaryTarget {
    /// The head.
    pub head: HeadKind,
    /// Outputs with their shares, ascending by output. An output is an action, or 0, 1, or 2 for win, draw, and loss.
    /// The sum of the shares is the weight of the position.
    pub shares: Vec<(u16, f32)>,
}

/// Returns the heads of a network whose targets do not follow from the policy target.
pub(super) fn taught(net: &NetConfig) -> Vec<HeadKind> {
    let is_taught = |kind: &HeadKind| *kind != HeadKind::SoftPolicy && kind.weight(net) > 0.0;
    HeadKind::ALL.into_iter().filter(is_taught).collect()
}

/// Returns the targets of `head` at each ply. `policies` has the policy target of each searched ply; a ply without a
/// target gets no shares.
pub(super) fn targets<G: Game>(
    head: HeadKind,
    game: &G,
    plies: &[PlyTarget],
    policies: &[Option<&[(Action, f32)]>],
    (outcome, settings): (Outcome, &ReplayConfig),
) -> Vec<AuxiliaryTarget> {
    let shares: Vec<Vec<(u16, f32)>> = match head {
        // computed from the policy target during training
        HeadKind::SoftPolicy => vec![Vec::new(); plies.len()],
        HeadKind::ReplyPolicy => {
            let reply = |next: Option<usize>| Some(seen_by_other(game, policies[next?]?));
            replies(plies).into_iter().map(|next| reply(next).unwrap_or_default()).collect()
        }
        HeadKind::ShortValue => {
            let settings = ReplayConfig { value_decay: SHORT, ..settings.clone() };
            let values = value_targets(plies, outcome, &settings).into_iter();
            values.map(|wdl| vec![(0, wdl.win), (1, wdl.draw), (2, wdl.loss)]).collect()
        }
    };
    shares.into_iter().map(|shares| AuxiliaryTarget { head, shares }).collect()
}

/// Returns, for each ply, the next ply at which the other player is to move, if there is one.
fn replies(plies: &[PlyTarget]) -> Vec<Option<usize>> {
    let mut next = [None; 2];
    let mut replies = vec![None; plies.len()];
    for (index, ply) in plies.iter().enumerate().rev() {
        replies[index] = next[ply.mover.other().index()];
        next[ply.mover.index()] = Some(index);
    }
    replies
}

/// Returns the actions with a share in `policy`, as the player who is not to move sees the board.
fn seen_by_other<G: Game>(game: &G, policy: &[(Action, f32)]) -> Vec<(u16, f32)> {
    let turning = game.turning();
    let seen = |action: Action| match turning {
        Symmetry::IDENTITY => action.0,
        _ => game.map_action(turning, action).0,
    };
    let entries = policy.iter().filter(|(_, share)| *share > 0.0);
    let mut shares: Vec<(u16, f32)> = entries.map(|(action, share)| (seen(*action), *share)).collect();
    shares.sort_unstable_by_key(|(output, _)| *output);
    shares
}

/// Moves `targets` toward `others`, to a mean in which `others` has the weight `share`. A missing target counts as a
/// target without shares.
pub(super) fn mix(targets: &mut Vec<AuxiliaryTarget>, others: &[AuxiliaryTarget], share: f32) {
    for other in others {
        if targets.iter().all(|target| target.head != other.head) {
            targets.push(AuxiliaryTarget { head: other.head, shares: Vec::new() });
        }
    }
    for target in targets {
        let other = others.iter().find(|other| other.head == target.head);
        target.shares.iter_mut().for_each(|(_, sum)| *sum *= 1.0 - share);
        for (output, other) in other.into_iter().flat_map(|other| &other.shares) {
            match target.shares.binary_search_by_key(output, |(output, _)| *output) {
                Ok(at) => target.shares[at].1 += share * other,
                Err(at) => target.shares.insert(at, (*output, share * other)),
            }
        }
    }
}

//! Reviews a game in words: lists the actions that lost the most expected score, and better actions.

use super::board::player_text;
use super::print;
use super::text::{ACCENT, painted, terminal_width, wrapped};
use crate::any::{AnyGame, AnyState};
use crate::arena::contestant::Contestant;
use crate::arena::review::{analyses, verdicts};
use crate::error::Result;
use crate::game::{Action, Game, line_text};

/// Prints the `top` actions that lost the most expected score according to the searches of `agent`, in the order of the
/// game; `states` are the positions in which `actions` were played.
pub(super) fn review(
    game: &AnyGame,
    states: &[AnyState],
    actions: &[Action],
    agent: &Contestant<AnyGame>,
    top: usize,
) -> Result<()> {
    let mut states = states.to_vec();
    if let (Some(state), Some(action)) = (states.last(), actions.last()) {
        let mut last = state.clone();
        game.play(&mut last, *action);
        states.push(last);
    }
    let analyses = analyses(game, agent, &states, 0, &|_| true)?;
    let mut verdicts = verdicts(game, &states, actions, &analyses);
    verdicts.sort_by(|(_, a), (_, b)| (b.could - b.got).total_cmp(&(a.could - a.got)));
    verdicts.truncate(top);
    verdicts.sort_by_key(|(ply, _)| *ply);
    if verdicts.is_empty() {
        return print("no action lost much");
    }
    for (ply, verdict) in verdicts {
        let state = &states[ply];
        let text = format!(
            "ply {ply}: {} plays {} and goes from {:.2} to {:.2}; better {} (expected: {})",
            player_text(game, game.to_move(state)),
            painted(game.action_text(state, actions[ply]), ACCENT),
            verdict.could,
            verdict.got,
            painted(game.action_text(state, verdict.better), ACCENT),
            line_text(game, state, &verdict.line).join(" "),
        );
        print(wrapped(&text, terminal_width()))?;
    }
    Ok(())
}

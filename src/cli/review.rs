//! A review of a game in words: the actions that lost most, and what was better.

use super::board::player_text;
use super::print;
use super::text::{ACCENT, painted, terminal_width, wrapped};
use crate::any::{AnyGame, AnyState};
use crate::arena::agent::Contestant;
use crate::error::{Error, Result};
use crate::game::{Action, Game, Player, line_text};
use crate::parallel;
use crate::random::{Purpose, stream};
use crate::search::tree::for_first;

/// The smallest loss of expected score that is mentioned.
const NOTICED: f32 = 0.05;

/// An agent's judgment of an action that was played: the mover's expected scores, 0 to 1.
struct PlyVerdict {
    ply: usize,
    /// Before the action.
    could: f32,
    /// After it.
    got: f32,
    better: String,
    line: String,
}

/// Prints the `top` actions that lost most according to the searches of `agent`, in the order of the game; `states`
/// are the positions in which `actions` were played.
pub fn review(
    game: &AnyGame,
    states: &[AnyState],
    actions: &[Action],
    agent: &Contestant<AnyGame>,
    top: usize,
) -> Result<()> {
    let searches = parallel::map(states.len(), &|ply| {
        let random = stream(1, Purpose::Agent, &[ply as u64]);
        let Some(mut agent) = agent.search_agent(random) else {
            return Err(Error::Config("a review needs an agent that searches, e.g. rollout:1000".into()));
        };
        agent.analyze(&states[ply])
    })?;
    // turns a value for one player into the expected score of another, or the same, player
    let score = |value: f32, of: Player, to: Player| (for_first(to, for_first(of, value)) + 1.0) / 2.0;
    let mut verdicts = Vec::new();
    for (ply, (state, search)) in states.iter().zip(&searches).enumerate() {
        let mover = game.to_move(state);
        let played = actions[ply];
        let got = match (states.get(ply + 1), searches.get(ply + 1)) {
            (Some(next), Some(search)) => score(search.value, game.to_move(next), mover),
            _ => {
                let mut last = state.clone();
                game.play(&mut last, played);
                game.outcome(&last).map_or(0.5, |outcome| (outcome.value_for(mover) + 1.0) / 2.0)
            }
        };
        let could = score(search.value, mover, mover);
        if search.action != played && could - got >= NOTICED {
            let line = line_text(game, state, &search.principal_variation).join(" ");
            let better = game.action_text(state, search.action);
            verdicts.push(PlyVerdict { ply, could, got, better, line });
        }
    }
    verdicts.sort_by(|a, b| (b.could - b.got).total_cmp(&(a.could - a.got)));
    verdicts.truncate(top);
    verdicts.sort_by_key(|verdict| verdict.ply);
    if verdicts.is_empty() {
        return print("no action lost much");
    }
    for PlyVerdict { ply, could, got, better, line } in verdicts {
        let state = &states[ply];
        let text = format!(
            "ply {ply}: {} plays {} and goes from {could:.2} to {got:.2}; better {} (expected: {line})",
            player_text(game, game.to_move(state)),
            painted(game.action_text(state, actions[ply]), ACCENT),
            painted(&better, ACCENT),
        );
        print(wrapped(&text, terminal_width()))?;
    }
    Ok(())
}

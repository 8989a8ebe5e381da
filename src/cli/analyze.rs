//! `petteia analyze`: what an agent thinks of positions.

use std::io::BufRead;

use clap::Args;
use serde_json::{Map, json};

use super::{AGENTS, GameArgs, print};
use crate::arena::agent::{AgentSpec, Analysis, Contestant};
use crate::error::{Error, Result};
use crate::game::{Action, Game, GameOptions, identity};
use crate::games::Job;
use crate::random::{Purpose, stream};

/// Say what an agent thinks of positions.
#[derive(Args)]
#[command(after_help = format!("\
Reads one position a line from standard input and prints one JSON object a line: \
action, value (the expected result for the player to move, -1 to 1), visits by \
action, and the expected line of play. Blank lines are skipped; a line that is no \
position ends the command with an error that names it.

{AGENTS}
(random and perfect do not search, so they have nothing to say here)

Examples:
  echo 'X.X/.O./O.. X' | petteia analyze tic-tac-toe --agent rollout:400
  petteia analyze phage --agent runs/phage:800 < positions.txt"))]
pub struct Analyze {
    #[command(flatten)]
    pub game: GameArgs,
    /// The agent, see below
    #[arg(long, value_name = "AGENT")]
    agent: String,
    /// Seed of rollouts
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

impl Job for Analyze {
    type Output = Result<()>;

    fn run<G: Game>(self, game: G, options: GameOptions) -> Result<()> {
        let contestant = Contestant::new(&game, &identity(&game, &options), &AgentSpec::parse(&self.agent)?)?;
        let searcher = |number: usize| {
            contestant.searcher(stream(self.seed, Purpose::Agent, &[number as u64])).ok_or_else(|| {
                Error::Config(format!("agent `{}` does not search, so there is nothing to show", self.agent))
            })
        };
        searcher(0)?;
        for (number, line) in std::io::stdin().lock().split(b'\n').enumerate() {
            let line = line.map_err(Error::io("standard input"))?;
            let line = String::from_utf8_lossy(&line);
            let text = line.trim();
            if text.is_empty() {
                continue;
            }
            let at_line = |what: String| Error::Position(format!("line {}: {what}", number + 1));
            let state = game.parse_state(text).map_err(|e| at_line(e.to_string()))?;
            if let Some(outcome) = game.outcome(&state) {
                let value = outcome.value_for(game.to_move(&state));
                print(
                    json!({"position": text, "outcome": outcome.id(), "action": null, "value": value, "visits": {}, "principal_variation": []}),
                )?;
                continue;
            }
            print(shown(&game, text, &state, &searcher(number)?.analyze(&state)))?;
        }
        Ok(())
    }
}

fn shown<G: Game>(game: &G, text: &str, state: &G::State, analysis: &Analysis) -> serde_json::Value {
    let action_text = |action: Action| game.action_text(state, action);
    let visits: Map<String, _> =
        analysis.visits.iter().map(|&(action, visits)| (action_text(action), visits.into())).collect();
    json!({
        "position": text, "outcome": null, "action": action_text(analysis.action), "value": analysis.value,
        "visits": visits, "principal_variation": line_text(game, state, &analysis.principal_variation),
    })
}

/// A line of actions in words.
pub fn line_text<G: Game>(game: &G, state: &G::State, line: &[Action]) -> Vec<String> {
    let mut state = state.clone();
    line.iter()
        .map(|&action| {
            let text = game.action_text(&state, action);
            game.play(&mut state, action);
            text
        })
        .collect()
}

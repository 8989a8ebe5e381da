//! `petteia analyze`: prints an agent's analysis of positions.

use std::ffi::OsString;
use std::io::{BufRead, IsTerminal};

use clap::Args;
use serde_json::{Map, Value, json};

use super::flags::Device;
use super::subject::Subject;
use super::{AGENTS, GameArgs, note, print, use_threads};
use crate::any::{AnyGame, AnyState};
use crate::arena::contestant::Contestant;
use crate::arena::searching::Analysis;
use crate::arena::spec::AgentSpec;
use crate::encode::Planes;
use crate::error::{Error, Result};
use crate::game::{Action, Game, line_text};
use crate::random::{Purpose, stream};
use crate::storage::text;

/// UGI's name for the initial position.
const START: &str = "startpos";

/// Analyze positions with an agent.
#[derive(Args)]
#[command(after_help = format!("\
Reads one position per line from standard input (startpos is the initial position) and prints one JSON object for \
each. The fields of an object include position, outcome, action, value (the expected result for the player to move, \
-1 to 1), principal_variation, and, by action, visits, values (null if the search did not visit the action), and \
priors (the network's probabilities). Blank lines are skipped; a line that is not a position stops the command with \
an error that names the line.

--planes adds the input for an exported network: planes, nested \
[planes][height][width], as seen by the player to move; legal_actions, the policy indices \
in ascending order; and legal_action_texts in the same order. If the game is over, \
planes is null and the lists are empty.

{AGENTS}
(random and perfect do not search, so they cannot analyze)

Examples:
  echo 'X.X/.O./O.. X' | petteia analyze tic-tac-toe --agent rollout:400
  echo startpos | petteia analyze runs/phage
  petteia analyze phage --agent runs/phage:800 < positions.txt"))]
pub(super) struct Analyze {
    #[command(flatten)]
    pub game: GameArgs,
    /// The agent, see below [default: the run given as GAME, or shipped, or rollout:400 if no agent is shipped]
    #[arg(long, value_name = "AGENT")]
    agent: Option<OsString>,
    /// Random seed of rollouts
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Worker threads; the result does not depend on them [default: all cores]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    #[command(flatten)]
    device: Device,
    /// Also print the network input and the legal actions of each position
    #[arg(long)]
    planes: bool,
}

impl Analyze {
    /// Runs the command on a game.
    pub(super) fn on(self, subject: Subject) -> Result<()> {
        let (agent, remark) = subject.agent_or_usual(self.agent.as_ref(), "the agent");
        if let Some(remark) = remark {
            note(remark);
        }
        let rules = subject.rules;
        let game = &rules.game;
        use_threads(self.threads)?;
        let spec = AgentSpec::parse(&agent)?;
        let contestant = Contestant::on(&rules, &spec, &self.device.processor()?)?;
        let contestant = contestant.with_threads(rayon::current_num_threads());
        let search_agent = |number: usize| {
            contestant.search_agent(stream(self.seed, Purpose::Agent, &[number as u64])).ok_or_else(|| {
                Error::Config(format!("agent `{}` does not search, so it cannot analyze", agent.display()))
            })
        };
        search_agent(0)?;
        if std::io::stdin().is_terminal() {
            note("Enter one position per line, or startpos for the initial position; press Ctrl-D to end.");
        }
        for (number, line) in std::io::stdin().lock().split(b'\n').enumerate() {
            let line = line.map_err(Error::io("standard input"))?;
            let read = text::readable(&line).map_err(|why| Error::Data(format!("standard input: {why}")))?;
            let initial;
            let text = match read.trim() {
                "" => continue,
                START => {
                    initial = game.state_text(&game.initial());
                    &initial
                }
                text => text,
            };
            let at_line = |why: String| Error::Position(format!("line {}: {why}", number + 1));
            let state = game.parse_state(text).map_err(|e| at_line(e.to_string()))?;
            let mut shown = match game.outcome(&state) {
                Some(outcome) => json!({
                    "position": text, "outcome": outcome.id(), "action": null,
                    "value": outcome.value_for(game.to_move(&state)), "visits": {}, "values": {}, "priors": {},
                    "principal_variation": [],
                }),
                None => shown(game, text, &state, &search_agent(number)?.analyze(&state)?),
            };
            if self.planes {
                add_planes(game, &state, &mut shown);
            }
            print(shown)?;
        }
        Ok(())
    }
}

fn shown(game: &AnyGame, text: &str, state: &AnyState, analysis: &Analysis) -> Value {
    let action_text = |action: Action| game.action_text(state, action);
    let visits: Map<String, Value> =
        analysis.visits.iter().map(|&(action, visits)| (action_text(action), visits.into())).collect();
    let priors: Map<String, Value> =
        analysis.priors.iter().map(|&(action, prior)| (action_text(action), prior.into())).collect();
    let values: Map<String, Value> =
        analysis.values.iter().map(|&(action, value)| (action_text(action), value.into())).collect();
    json!({
        "position": text, "outcome": null, "action": action_text(analysis.action), "value": analysis.value,
        "visits": visits, "values": values, "priors": priors,
        "principal_variation": line_text(game, state, &analysis.principal_variation),
    })
}

fn add_planes(game: &AnyGame, state: &AnyState, shown: &mut Value) {
    let legal = game.legal(state);
    shown["planes"] = if legal.is_empty() { Value::Null } else { nested_planes(game, state) };
    shown["legal_actions"] = legal.iter().map(|action| action.0).collect();
    shown["legal_action_texts"] = legal.iter().map(|&action| game.action_text(state, action)).collect();
}

/// Returns the planes nested as `[planes][height][width]`.
fn nested_planes(game: &AnyGame, state: &AnyState) -> Value {
    let shape = game.shape();
    let mut planes = Planes::new(shape);
    game.encode(state, &mut planes);
    let mut numbers = vec![0.0; shape.input_len()];
    planes.expand(&mut numbers);
    let rows = |plane: &[f32]| plane.chunks_exact(shape.width).map(Value::from).collect::<Value>();
    numbers.chunks_exact(shape.cells()).map(rows).collect()
}

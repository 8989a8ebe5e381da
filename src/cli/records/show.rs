//! `petteia records RUN show`: shows one game, ply by ply.
//!
//! The game is replayed first; a record that violates the rules is an error and is not drawn. Shards of other
//! generations are not read.

use std::collections::BTreeMap;
use std::ffi::OsString;

use clap::Args;

use super::{FoundRecords, generation_of, greatest_first, record_result};
use crate::any::{AnyGame, AnyState, Opened};
use crate::arena::contestant::Contestant;
use crate::arena::spec::AgentSpec;
use crate::cli::board::{Marks, drawn, player_text};
use crate::cli::print;
use crate::cli::review::review;
use crate::cli::text::{ACCENT, painted, terminal_width, wrapped};
use crate::error::{Error, Result};
use crate::game::{Action, Game};
use crate::registry::Catalog;
use crate::replay::record::Record;
use crate::replay::store;

/// Show one game: boards, actions, and search results.
#[derive(Args)]
#[command(after_help = "\
The value comes from the search and is for the player to move, from -1 (lost) to 1 (won). A ply \
without visits was played at random or by a fast search and is not trained on. If the policy target differs from the \
visits, it is shown after the visits.

With --review, scores are the expected scores of the player to move, from 0 (lost) to \
1 (won), and --top actions are listed in the order of the game.")]
pub(super) struct Show {
    /// Generation [default: the newest]
    #[arg(long, value_name = "N")]
    generation: Option<usize>,
    /// Number of the game in its generation, counting from 0 [default: the first one]
    #[arg(long, value_name = "N")]
    game: Option<usize>,
    /// Number of actions to show with their visits, most visited first
    #[arg(long, value_name = "N", default_value_t = 5)]
    top: usize,
    /// Instead of showing the game, list the actions that lost the most, with better actions, according to searches by
    /// --agent
    #[arg(long, requires = "agent")]
    review: bool,
    /// Agent for --review, e.g. runs/phage:400 or rollout:1000
    #[arg(long, value_name = "AGENT", requires = "review")]
    agent: Option<OsString>,
}

struct Draw {
    record: Record,
    top: usize,
    /// The agent that reviews the game.
    agent: Option<OsString>,
}

impl Show {
    pub(super) fn run(self, source: &FoundRecords, games: Catalog) -> Result<()> {
        let record = self.find(source)?;
        Draw { record, top: self.top, agent: self.agent }.on(source.opened(games)?)
    }

    fn find(&self, source: &FoundRecords) -> Result<Record> {
        let paths = &source.shards.paths;
        let wanted = self.generation.or_else(|| paths.iter().filter_map(|path| generation_of(path)).max());
        let (mut numbers, mut problem) = (Vec::new(), None);
        for path in
            paths.iter().filter(|path| generation_of(path).is_none_or(|number| Some(number) == wanted))
        {
            let records = match store::read_unplayed(path) {
                Ok(records) => records,
                Err(error) => {
                    problem = Some(error);
                    continue;
                }
            };
            for record in records.into_iter().filter(|r| wanted.is_none_or(|number| r.generation == number)) {
                if self.game.is_none_or(|number| record.index == number) {
                    return Ok(record);
                }
                numbers.push(record.index);
            }
        }
        let place = wanted.map_or(String::new(), |number| format!(" in generation {number}"));
        let fault = match (numbers.iter().min(), numbers.iter().max()) {
            (Some(first), Some(last)) => {
                format!("no such game{place}, where games are numbered {first} to {last}")
            }
            _ => format!("no game{place}"),
        };
        let problem = problem.map_or(String::new(), |error| format!(" ({error})"));
        Err(Error::Missing(format!("{} has {fault}{problem}", source.path.display())))
    }
}

impl Draw {
    /// Shows the record of a game.
    pub(crate) fn on(self, rules: Opened) -> Result<()> {
        let game = &rules.game;
        let Draw { record, top, agent } = self;
        let width = terminal_width();
        let mut states = Vec::new();
        record.replay(&rules, |ply| states.push(ply.state.clone()))?;
        let result = record_result(game, &record);
        print(wrapped(
            &format!(
                "{}, generation {}, game {}, evaluated by {}: {} after {} plies",
                record.game,
                record.generation,
                record.index,
                record.evaluator,
                result,
                record.actions.len()
            ),
            width,
        ))?;
        if let Some(agent) = agent {
            let contestant = Contestant::new(&rules, &AgentSpec::parse(&agent)?)?;
            let actions = record.actions.iter().zip(&states).map(|(text, state)| action(game, state, text));
            return review(game, &states, &actions.collect::<Vec<_>>(), &contestant, top);
        }
        let mut marks = Marks::default();
        for (ply, state) in states.iter().enumerate() {
            print(format_args!("\n{}\n", drawn(game, state, &marks, width)))?;
            print(wrapped(&ply_text(game, &record, ply, state, top), width))?;
            let action = action(game, state, &record.actions[ply]);
            marks.last = game.touched(state, action);
        }
        let mut last = states.pop().unwrap_or(game.parse_state(&record.start)?);
        if let Some(text) = record.actions.last() {
            let action = action(game, &last, text);
            game.play(&mut last, action);
        }
        print(format_args!("\n{}\n\n{}", drawn(game, &last, &marks, width), result))
    }
}

fn action(game: &AnyGame, state: &AnyState, text: &str) -> Action {
    game.parse_action(state, text).expect("the record was replayed")
}

/// Describes a ply: player, action, value, and the greatest visits and policy weights.
fn ply_text(game: &AnyGame, record: &Record, ply: usize, state: &AnyState, top: usize) -> String {
    let mut text = format!(
        "ply {ply}: {} plays {} ({}; ",
        player_text(game, game.to_move(state)),
        painted(&record.actions[ply], ACCENT),
        record.value(ply).map_or("no value".into(), |value| format!("value {value:+.2}")),
    );
    if record.visits[ply].is_empty() {
        text += "not trained on)"
    } else {
        text += &format!("visits {})", best(&record.visits[ply], top))
    }
    if let Some(policy) = record.policy.get(ply).filter(|policy| !policy.is_empty()) {
        text += &format!(" policy {}", best(policy, top));
    }
    text
}

/// Lists the `top` greatest weights in descending order, and the number of the remaining weights.
fn best(weights: &BTreeMap<String, u32>, top: usize) -> String {
    let sorted = greatest_first(weights);
    let shown: Vec<String> = sorted.iter().take(top).map(|(text, n)| format!("{text} {n}")).collect();
    let more = sorted.len().saturating_sub(top);
    if more > 0 { format!("{}, {more} more", shown.join(", ")) } else { shown.join(", ") }
}

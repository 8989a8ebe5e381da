//! `petteia perft`: counts action sequences, to compare the rules with another program.

use std::time::Instant;

use clap::Args;
use serde_json::json;

use super::counter::Counter;
use super::{GameArgs, print};
use crate::any::{AnyGame, AnyState, Opened};
use crate::error::{Error, Result};
use crate::game::Game;

/// Count action sequences, to compare the rules with another program.
#[derive(Args)]
#[command(after_help = "\
Examples:
  petteia perft phage --depth 5
  petteia perft tic-tac-toe --depth 3 --divide --position 'X../.../... O'")]
pub(super) struct Perft {
    #[command(flatten)]
    pub game: GameArgs,
    /// Number of actions in a sequence
    #[arg(long, value_name = "N")]
    depth: usize,
    /// Position to start from [default: the initial position]
    #[arg(long, value_name = "TEXT")]
    position: Option<String>,
    /// Also print the count after each first action
    #[arg(long)]
    divide: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Perft {
    /// Runs the command on a game.
    pub(super) fn on(self, rules: Opened) -> Result<()> {
        let game = &rules.game;
        if self.depth > game.max_plies() {
            let most = game.max_plies();
            return Err(Error::Config(format!(
                "--depth {}: no game is longer than {most} actions",
                self.depth
            )));
        }
        let state = match &self.position {
            Some(text) => game.parse_state(text)?,
            None => game.initial(),
        };
        let started = Instant::now();
        let divided = self.divided(game, &state);
        let nodes = match self.depth {
            0 => 1,
            _ => divided.iter().map(|(_, nodes)| nodes).sum(),
        };
        let seconds = started.elapsed().as_secs_f64();
        let rate = nodes as f64 / seconds.max(1e-9);
        if self.json {
            let mut object = json!({
                "game": rules.identity.id, "depth": self.depth, "nodes": nodes,
                "seconds": seconds, "nodes_per_second": rate,
            });
            if self.divide {
                object["divide"] = divided
                    .into_iter()
                    .map(|(action, nodes)| (action, nodes.into()))
                    .collect::<serde_json::Map<_, _>>()
                    .into();
            }
            return print(object);
        }
        for (action, nodes) in divided.iter().filter(|_| self.divide) {
            print(format_args!("{action}: {nodes}"))?;
        }
        print(format_args!(
            "{nodes} nodes at depth {}, {seconds:.3} s, {:.1} million/s",
            self.depth,
            rate / 1e6
        ))
    }
}

impl Perft {
    /// Returns the first actions, each with the number of sequences that begin with it. Shows progress in pairs of
    /// actions.
    fn divided(&self, game: &AnyGame, state: &AnyState) -> Vec<(String, u64)> {
        if self.depth == 0 {
            return Vec::new();
        }
        let pairs = game.perft(state, self.depth.min(2));
        let counter = (self.depth > 2).then(|| Counter::new(pairs, "pairs of actions"));
        let after = |state: &AnyState, action| {
            let mut next = state.clone();
            game.play(&mut next, action);
            next
        };
        let mut done = 0;
        let mut count_after = |first: &AnyState| -> u64 {
            let Some(counter) = &counter else { return game.perft(first, self.depth - 1) };
            let count = |second| {
                let nodes = game.perft(&after(first, second), self.depth - 2);
                done += 1;
                counter.show(done, "");
                nodes
            };
            game.legal(first).into_iter().map(count).sum()
        };
        let mut divided = Vec::new();
        for first in game.legal(state) {
            divided.push((game.action_text(state, first), count_after(&after(state, first))));
        }
        divided
    }
}

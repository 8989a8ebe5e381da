//! `petteia check-game`: tests the rules of a game for conformance.

use clap::Args;

use super::{GameArgs, print};
use crate::conformance;
use crate::error::{Error, Result};
use crate::game::{Game, Rules};
use crate::registry::Job;

/// Check the rules of a game by playing random games.
#[derive(Args)]
#[command(after_help = "\
Checks everything that the rest of the program relies on: the order and range of \
actions, texts and their parsing, planes, symmetries, keys, and that games end.

Example:
  petteia check-game phage --games 1000")]
pub struct CheckGame {
    #[command(flatten)]
    pub game: GameArgs,
    /// Random games to play
    #[arg(long, value_name = "N", default_value_t = 200)]
    games: usize,
    /// Seed of the random games
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

impl Job for CheckGame {
    type Output = Result<()>;

    fn run<G: Game>(self, rules: Rules<G>) -> Result<()> {
        let game = &rules.game;
        if self.games == 0 {
            return Err(Error::Config("--games 0: must be at least 1".into()));
        }
        match conformance::check(game, self.games, self.seed) {
            Ok(report) => print(format_args!("{}: ok, {report}", self.game.id)),
            Err(problem) => Err(Error::Illegal(format!("{}: {problem}", self.game.id))),
        }
    }
}

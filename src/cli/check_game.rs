//! `petteia check-game`: the conformance test of a game's rules.

use clap::Args;

use super::{GameArgs, print};
use crate::conformance;
use crate::error::{Error, Result};
use crate::game::{Game, GameOptions};
use crate::games::Job;

/// Check a game against the contract of games, over random games.
#[derive(Args)]
pub struct CheckGame {
    /// The game
    #[command(flatten)]
    pub game: GameArgs,
    /// Random games
    #[arg(long, default_value_t = 200)]
    games: usize,
    /// Seed of the random games
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl Job for CheckGame {
    type Output = Result<()>;

    fn run<G: Game>(self, game: G, _options: GameOptions) -> Result<()> {
        if self.games == 0 {
            return Err(Error::Config("--games 0 checks nothing: give at least 1".into()));
        }
        match conformance::check(&game, self.games, self.seed) {
            Ok(report) => print(format_args!("{}: ok, {report}", self.game.id)),
            Err(problem) => Err(Error::Illegal(format!("{}: {problem}", self.game.id))),
        }
    }
}

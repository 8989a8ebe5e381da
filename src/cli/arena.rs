//! `petteia arena`: which of two agents is stronger.

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};

use super::progress::verdict;
use super::{AGENTS, GameArgs, catch_interrupts, interrupted, print, use_threads};
use crate::arena::agent::{AgentSpec, Contestant};
use crate::arena::{Match, MatchResult, play_match};
use crate::error::{Error, Result};
use crate::game::{Game, GameOptions, identity};
use crate::games::Job;

const MAX_GAMES: usize = 1_000_000;

/// Play a match between two agents: which is stronger?
#[derive(Args)]
#[command(after_help = format!("\
{AGENTS}

Each opening is played twice, with both colours; Elo and its bounds come from the \
scores of the pairs. A clean sweep has no upper bound: what is printed then is the \
largest difference that so many games can show. Random openings can decide a short \
game: give --opening-plies 0 for tic-tac-toe.

Examples:
  petteia arena phage runs/phage:100 rollout:400 --games 200
  petteia arena tic-tac-toe runs/tic-tac-toe perfect --opening-plies 0"))]
pub struct Arena {
    #[command(flatten)]
    pub game: GameArgs,
    /// The agent whose results are counted, see below
    #[arg(value_name = "AGENT")]
    first: String,
    /// Its opponent
    #[arg(value_name = "AGENT")]
    second: String,
    /// Games, an even number
    #[arg(long, value_name = "N", default_value_t = 100)]
    games: usize,
    /// Seed of openings and agents
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Random actions that begin each pair of games
    #[arg(long, value_name = "N", default_value_t = 4)]
    opening_plies: usize,
    /// Worker threads, which change no result [default: all cores]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Job for Arena {
    type Output = Result<()>;

    fn run<G: Game>(self, game: G, options: GameOptions) -> Result<()> {
        if !(2..=MAX_GAMES).contains(&self.games) || !self.games.is_multiple_of(2) {
            return Err(Error::Config(format!(
                "--games {}: give an even number, 2 to {MAX_GAMES}; each opening is played twice",
                self.games
            )));
        }
        if self.opening_plies >= game.max_plies() {
            return Err(Error::Config(format!(
                "--opening-plies {}: no game of {} is longer than {} actions",
                self.opening_plies,
                self.game.id,
                game.max_plies()
            )));
        }
        let identity = identity(&game, &options);
        let specs = [AgentSpec::parse(&self.first)?, AgentSpec::parse(&self.second)?];
        let first = Contestant::new(&game, &identity, &specs[0])?;
        let second = Contestant::new(&game, &identity, &specs[1])?;
        use_threads(self.threads)?;
        catch_interrupts();
        let style = ProgressStyle::with_template("{bar:24} {pos}/{len} games, {eta} left").expect("constant");
        let bar = ProgressBar::new(self.games as u64).with_style(style);
        let plan = Match { games: self.games, seed: self.seed, opening_plies: self.opening_plies };
        let result = play_match(&game, &plan, [&first, &second], |done| {
            bar.set_position(done as u64);
            !interrupted()
        });
        bar.finish_and_clear();
        self.show(&result?)
    }
}

impl Arena {
    /// The agents in the other order.
    pub fn swapped(self) -> Arena {
        Arena { first: self.second, second: self.first, ..self }
    }

    fn show(&self, result: &MatchResult) -> Result<()> {
        if self.json {
            return print(serde_json::to_string(result).expect("results are valid JSON"));
        }
        print(format_args!("{} against {}: {}", self.first, self.second, verdict(result)))
    }
}

//! `petteia records RUN verify`: every checksum, every game played again by the rules.
//!
//! [`verify`] is silent and serves `petteia inspect` as well. One shard is in memory at a time.

use clap::Args;

use super::Source;
use crate::cli::board::counted;
use crate::cli::print;
use crate::error::{Error, Result};
use crate::game::{Game, GameIdentity, GameOptions, identity};
use crate::games::Job;
use crate::replay::store;

/// Compare every checksum and play every game again by the rules.
#[derive(Args)]
#[command(after_help = "Each damaged shard is named with the reason; then the exit code is 1.")]
pub struct Verify {}

/// What was found.
pub struct Verified {
    /// The game that the records are of.
    pub game: GameIdentity,
    /// Shards that are whole.
    pub whole: usize,
    /// Their games.
    pub games: usize,
    /// The actions of these.
    pub plies: usize,
    /// What is wrong with the other shards, one each.
    pub problems: Vec<Error>,
}

/// Reads every shard of `source`, one at a time, and plays its games again.
pub fn verify(source: &Source) -> Result<Verified> {
    source.on_game(Check(source))
}

struct Check<'a>(&'a Source);

impl Job for Check<'_> {
    type Output = Result<Verified>;

    fn run<G: Game>(self, game: G, options: GameOptions) -> Result<Verified> {
        let identity = identity(&game, &options);
        let mut found =
            Verified { game: identity.clone(), whole: 0, games: 0, plies: 0, problems: Vec::new() };
        for path in &self.0.shards.paths {
            match store::read_shard(path, &game, &identity) {
                Ok(records) => {
                    found.whole += 1;
                    found.games += records.len();
                    found.plies += records.iter().map(|record| record.actions.len()).sum::<usize>();
                }
                Err(error) => found.problems.push(error),
            }
        }
        Ok(found)
    }
}

impl Verify {
    pub fn run(self, source: &Source) -> Result<()> {
        let Verified { game, whole, games, plies, problems } = verify(source)?;
        for problem in &problems {
            print(problem)?;
        }
        for path in &source.shards.set_aside {
            print(format_args!("{}: set aside as damaged before, not used", path.display()))?;
        }
        let shards = source.count();
        print(format_args!(
            "{}: {whole} of {shards} whole, with {} and {} of {}",
            source.path.display(),
            counted(games, "game", "games"),
            counted(plies, "ply", "plies"),
            game.id
        ))?;
        match problems.len() {
            0 => Ok(()),
            damaged => Err(Error::Data(format!(
                "{damaged} of {shards} cannot be used; `petteia train` sets damaged ones aside when it resumes"
            ))),
        }
    }
}

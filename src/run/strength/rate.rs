//! The games of a generation against earlier ones, which rate it; see [`ladder`](crate::run::metrics::ladder).

use super::judge::Judge;
use crate::any::AnyGame;
use crate::arena::Standing;
use crate::arena::contestant::Contestant;
use crate::arena::ladder::Ladder;
use crate::arena::pairing::{Pairing, Planner};
use crate::checkpoint::{self, Checkpoint};
use crate::error::{Error, Result};
use crate::random::mix;
use crate::run::event::Event;
use crate::run::metrics::ladder::{Games, Pool};
use crate::run::metrics::lines::{Against, LadderLine};
use crate::run::metrics::stopwatch::PartTimer;
use crate::storage;

/// The largest number of opponents of a generation.
const OPPONENTS: usize = 5;
/// The number of rounds that are always played: the games of every generation, and the final games. A contradiction
/// adds rounds.
const ROUNDS: usize = 2;

impl Judge<'_> {
    /// Plays the games that rate the generation of a checkpoint against earlier ones; `before` are the earlier games of
    /// the run. Returns `None` if this run does not rate the generation.
    pub(super) fn rating(&self, checkpoint: &Checkpoint, before: &Games) -> Result<Option<LadderLine>> {
        let number = checkpoint.manifest.generation;
        let games = self.config.rating_games(number);
        // a run finished by a version without ratings stays as it is
        let is_last = number > 1 && number == self.config.train.generations;
        if games == 0 || (is_last && !before.has_ratings()) {
            return Ok(None);
        }
        let watch = PartTimer::start();
        let mut rounds = vec![(self.opponents(before, number, games / 2)?, games)];
        let first = Pool::first(number);
        if is_last && storage::exists(&checkpoint::path_of(self.folder, first))? {
            rounds.push((vec![first], self.config.arena.final_games));
        }
        rounds.retain(|(opponents, games)| !opponents.is_empty() && *games > 0);
        let mut matches = self.play_against(checkpoint, &rounds, 0)?;
        let line = |matches: &[Against]| {
            let took = watch.took();
            LadderLine {
                generation: number,
                simulations: self.config.arena.simulations,
                matches: matches.to_vec(),
                seconds: took.seconds(),
                cpu_seconds: took.cpu_seconds(),
            }
        };
        let again = self.contradicted(before, line(&matches))?;
        if !again.is_empty() {
            matches.extend(self.play_against(checkpoint, &[(again, games)], ROUNDS)?);
        }
        Ok(Some(line(&matches)))
    }

    /// Chooses the earlier generations whose games against generation `number` are most informative.
    fn opponents(&self, before: &Games, number: usize, pairs: usize) -> Result<Vec<usize>> {
        let pool = Pool::of(before, &self.config.arena.opponent, number);
        let own = number + 1 - pool.first;
        let mut candidates = Vec::new();
        for earlier in pool.first..number {
            if let Some(place) = pool.place(earlier)
                && storage::exists(&checkpoint::path_of(self.folder, earlier))?
            {
                candidates.push([place, own]);
            }
        }
        let mut planner = Planner::new(&pool.ratings());
        let mut opponents = Vec::new();
        while opponents.len() < OPPONENTS.min(pairs)
            && let Some(chosen) = planner.choose(&candidates)
        {
            candidates.retain(|candidate| *candidate != chosen);
            opponents.push(pool.first + chosen[0] - 1);
        }
        Ok(opponents)
    }

    /// Returns the earlier generations whose games in `line` contradict the ratings, and against which more games can
    /// be played.
    fn contradicted(&self, before: &Games, line: LadderLine) -> Result<Vec<usize>> {
        let number = line.generation;
        let mut games = before.clone();
        games.ladder(line);
        let mut there = Vec::new();
        for earlier in Pool::of(&games, &self.config.arena.opponent, number).contradicted(number) {
            if storage::exists(&checkpoint::path_of(self.folder, earlier))? {
                there.push(earlier);
            }
        }
        there.truncate(OPPONENTS);
        Ok(there)
    }

    /// Plays rounds of games. Each round is given as some earlier generations and the number of games against each;
    /// `before` is the number of earlier rounds. The games of the second round are the final ones.
    fn play_against(
        &self,
        checkpoint: &Checkpoint,
        rounds: &[(Vec<usize>, usize)],
        before: usize,
    ) -> Result<Vec<Against>> {
        let all = rounds.iter().map(|(_, games)| games).sum();
        let (mut matches, mut done) = (Vec::new(), 0);
        for (round, (opponents, games)) in rounds.iter().enumerate() {
            let report = |standing: &Standing| {
                let standing =
                    Standing { games: done + standing.games, kept: done + standing.kept, ..*standing };
                self.observer.event(Event::Rating { standing, games: all });
            };
            let round = before + round;
            let played = self.play_round(checkpoint, opponents, *games, round as u64, &report)?;
            matches.extend(played.into_iter().map(|met| Against { is_final: round == 1, ..met }));
            done += games;
        }
        Ok(matches)
    }

    /// Plays the games of one round.
    fn play_round(
        &self,
        checkpoint: &Checkpoint,
        opponents: &[usize],
        games: usize,
        round: u64,
        report: &(dyn Fn(&Standing) + Sync),
    ) -> Result<Vec<Against>> {
        let settings = &self.config.arena;
        let number = checkpoint.manifest.generation;
        let mut agents = vec![self.contestant(&checkpoint.network()?)?];
        for earlier in opponents {
            let earlier = Checkpoint::open_folder(&checkpoint::path_of(self.folder, *earlier))?;
            agents.push(self.contestant(&earlier.network()?)?);
        }
        let agents: Vec<&Contestant<AnyGame>> = agents.iter().collect();
        let plan = Ladder {
            games,
            // each generation and round has different openings
            seed: mix(mix(self.config.seed).wrapping_add(number as u64)).wrapping_add(round),
            opening_plies: settings.opening_plies,
            book: None,
            pairing: Pairing::Gauntlet(0),
        };
        let (result, complete) = self.rules.game.play_ladder(&plan, &agents, None, &|standing| {
            report(standing);
            !self.observer.interrupted()
        })?;
        if !complete {
            return Err(Error::Interrupted);
        }
        let against = result.met.into_iter().map(|met| Against {
            generation: opponents[met.agents[1] - 1],
            wins: met.wins,
            draws: met.draws,
            losses: met.losses,
            pairs: met.pairs,
            effective_games: Some(met.effective_games),
            is_final: false,
        });
        Ok(against.collect())
    }
}

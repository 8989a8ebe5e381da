//! How a run rates its generations against each other as it goes.
//!
//! After each generation the new network plays `arena.ladder_games` games against networks of earlier generations,
//! chosen where they tell most. All games of the run so far, among them those of the evaluation and the gate, are rated
//! together, so the figure of a generation rests on many more games than its own. The last one also plays
//! `arena.final_games` against the first, which stand for themselves unless most are copies: openings that decide a game
//! limit the score against a weak player, and rated together they would make the last generation look weaker than those
//! that never played there.
//! The games are lines of the metrics; nothing that is trained depends on them.

use std::time::Instant;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::gate::contestant;
use super::metrics::{Metrics, lines_of};
use super::{Event, Run, rounded};
use crate::arena::Standing;
use crate::arena::agent::Contestant;
use crate::arena::ladder::{Ladder, play_ladder};
use crate::arena::pairing::{Pairing, Planner};
use crate::arena::rating::{Difference, Meeting, Ratings};
use crate::arena::sprt::Pentanomial;
use crate::checkpoint::{self, Checkpoint};
use crate::error::{Error, Result};
use crate::game::Game;
use crate::random::mix;
use crate::storage;

/// The share of the final games that must differ, so that they alone rate the last generation against the first.
const DIFFERENT: f64 = 0.5;
/// The newest generations, which are rated together; older ones say little about them.
const POOL: usize = 100;
/// The most opponents of a generation.
const OPPONENTS: usize = 5;
/// The kind of its lines in the metrics.
const KIND: &str = "ladder";
/// The number of the evaluation's opponent among the agents; generations follow.
const OPPONENT: usize = 0;

/// The rating of a generation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rating {
    /// The generation.
    pub generation: usize,
    /// How much stronger it is than one of half its age, and than the first: the last one by its
    /// `arena.final_games` against it, unless most are copies.
    pub above_earlier: Vec<(usize, Difference)>,
    /// How much stronger it is than the opponent of the evaluation.
    pub above_opponent: Option<(String, Difference)>,
    /// Games among generations so far.
    pub games: usize,
    /// The time for them, in seconds.
    pub seconds: f64,
}

/// The games against one earlier generation, as in the metrics.
#[derive(Serialize, Deserialize)]
struct Against {
    generation: usize,
    wins: usize,
    draws: usize,
    losses: usize,
    pairs: Pentanomial,
    effective_games: f64,
    /// The games of the last generation against the first.
    #[serde(rename = "final", default, skip_serializing_if = "std::ops::Not::not")]
    is_final: bool,
}

/// What the metrics say about the generations from `first` to `last`.
struct Pool {
    first: usize,
    last: usize,
    meetings: Vec<Meeting>,
    games: usize,
    seconds: f64,
}

impl Pool {
    /// The first of the generations that are rated together with this one.
    fn first(last: usize) -> usize {
        (last + 1).saturating_sub(POOL).max(1)
    }

    fn read(lines: &[Value], opponent: &str, last: usize) -> Pool {
        let first = Pool::first(last);
        let mut pool = Pool { first, last, meetings: Vec::new(), games: 0, seconds: 0.0 };
        for line in lines_of(lines, "evaluation").filter(|line| line["opponent"] == opponent) {
            pool.meet(generation(&line["player"]), Some(OPPONENT), &line["result"]);
        }
        for line in lines_of(lines, "gate") {
            let champion = generation(&line["champion"]).and_then(|champion| pool.place(champion));
            pool.meet(generation(&line["generation"]), champion, &line["result"]);
        }
        for line in lines_of(lines, KIND) {
            pool.seconds += line["seconds"].as_f64().unwrap_or(0.0);
            for game in line["matches"].as_array().into_iter().flatten() {
                let earlier = generation(&game["generation"]).and_then(|earlier| pool.place(earlier));
                if game["final"] != true {
                    pool.meet(generation(&line["generation"]), earlier, game);
                }
                let counts = ["wins", "draws", "losses"].map(|count| game[count].as_u64().unwrap_or(0));
                pool.games += counts.iter().sum::<u64>() as usize;
            }
        }
        pool
    }

    /// The number of a generation among the agents.
    fn place(&self, generation: usize) -> Option<usize> {
        (self.first..=self.last).contains(&generation).then(|| generation - self.first + 1)
    }

    /// Counts the games of a generation, if it and its opponent are in the pool.
    fn meet(&mut self, generation: Option<usize>, other: Option<usize>, result: &Value) {
        let own = generation.and_then(|generation| self.place(generation));
        if let (Some(own), Some(other)) = (own, other)
            && own != other
        {
            self.meetings.extend(meeting([own, other], result));
        }
    }

    fn ratings(&self) -> Ratings {
        Ratings::fit(self.last + 2 - self.first, &self.meetings)
    }
}

/// The games of a line between two agents, if there are any.
fn meeting(agents: [usize; 2], result: &Value) -> Option<Meeting> {
    let pairs = Pentanomial::deserialize(&result["pairs"]).unwrap_or_default();
    let played: usize = pairs.iter().sum();
    let effective = result["effective_games"].as_f64();
    let worth = effective.map_or(1.0, |games| games / (2 * played) as f64);
    (played > 0).then_some(Meeting { agents, pairs, worth })
}

fn generation(value: &Value) -> Option<usize> {
    value.as_u64().map(|number| number as usize)
}

/// The rating of generation `number` by the games so far; `None` if it was not rated.
pub(super) fn rating(metrics: &Metrics, opponent: &str, number: usize) -> Option<Rating> {
    let line = metrics.line_of(KIND, number)?;
    let finals = line["matches"].as_array().into_iter().flatten().find(|game| game["final"] == true);
    // copies of a few games say less than those so far
    let finals = finals.and_then(|game| meeting([1, 0], game)).filter(|games| games.worth >= DIFFERENT);
    let pool = Pool::read(metrics.lines(), opponent, number);
    let (ratings, own) = (pool.ratings(), pool.place(number)?);
    let mut earlier = vec![number / 2, pool.first];
    earlier.dedup();
    let above = |earlier: usize| {
        let by = match &finals {
            Some(games) if earlier == pool.first => {
                Ratings::fit(2, std::slice::from_ref(games)).difference(1, 0)
            }
            _ => ratings.difference(own, pool.place(earlier)?),
        };
        Some((earlier, by?))
    };
    let above_earlier = earlier.into_iter().filter(|earlier| *earlier < number).filter_map(above).collect();
    let above_opponent = ratings.difference(own, OPPONENT).map(|above| (opponent.to_string(), above));
    Some(Rating {
        generation: number,
        above_earlier,
        above_opponent,
        games: pool.games,
        seconds: pool.seconds,
    })
}

/// How much stronger a generation is than another player.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RatedGeneration {
    /// The generation.
    pub generation: usize,
    /// The most likely difference.
    pub elo: f64,
    /// The lower 95% bound; `None` if the games set no limit.
    pub low: Option<f64>,
    /// The upper 95% bound, likewise.
    pub high: Option<f64>,
}

/// How much stronger the generations are than the first one that is rated with them, by all games in these lines of the
/// metrics together.
pub fn ratings_of(lines: &[Value], opponent: &str) -> Vec<RatedGeneration> {
    let generations =
        lines.iter().filter(|line| line["kind"] == KIND).map(|line| generation(&line["generation"]));
    let Some(last) = generations.flatten().max() else { return Vec::new() };
    let pool = Pool::read(lines, opponent, last);
    let ratings = pool.ratings();
    let above = |number: usize| {
        let Difference { elo, low, high, .. } =
            ratings.difference(pool.place(number)?, pool.place(pool.first)?)?;
        Some(RatedGeneration { generation: number, elo, low, high })
    };
    (pool.first..=last).filter_map(above).collect()
}

impl<G: Game> Run<'_, G> {
    /// Rates the generation of a checkpoint, unless that was done before.
    pub(super) fn rate(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        let number = checkpoint.manifest.generation;
        let games = self.config.arena.ladder_games;
        if games == 0 || self.metrics.line_of(KIND, number).is_some() {
            return Ok(());
        }
        // a run that a version without ratings finished is only read
        let is_last = number > 1 && number == self.config.train.generations;
        if is_last && self.metrics.lines_of(KIND).next().is_none() {
            return Ok(());
        }
        let started = Instant::now();
        let mut rounds = vec![(self.opponents(number, games / 2)?, games)];
        let first = Pool::first(number);
        if is_last && storage::exists(&checkpoint::path_of(self.folder, first))? {
            rounds.push((vec![first], self.config.arena.final_games));
        }
        rounds.retain(|(opponents, games)| !opponents.is_empty() && *games > 0);
        let matches = self.play_against(checkpoint, &rounds)?;
        self.metrics.write(json!({
            "kind": KIND, "generation": number, "simulations": self.config.arena.simulations, "matches": matches,
            "seconds": rounded(started.elapsed()),
        }))?;
        if let Some(rating) = rating(&self.metrics, &self.config.arena.opponent, number) {
            self.observer.event(Event::Rated(Box::new(rating)));
        }
        Ok(())
    }

    /// The earlier generations whose games with this one tell most.
    fn opponents(&self, number: usize, pairs: usize) -> Result<Vec<usize>> {
        let pool = Pool::read(self.metrics.lines(), &self.config.arena.opponent, number);
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

    /// Plays a number of games against each of these groups of earlier generations.
    fn play_against(&self, checkpoint: &Checkpoint, rounds: &[(Vec<usize>, usize)]) -> Result<Vec<Against>> {
        let all = rounds.iter().map(|(_, games)| games).sum();
        let (mut matches, mut done) = (Vec::new(), 0);
        for (round, (opponents, games)) in rounds.iter().enumerate() {
            let report = |standing: &Standing| {
                let standing =
                    Standing { games: done + standing.games, kept: done + standing.kept, ..*standing };
                self.observer.event(Event::Rating { standing, games: all });
            };
            let played = self.play_round(checkpoint, opponents, *games, round as u64, &report)?;
            matches.extend(played.into_iter().map(|met| Against { is_final: round > 0, ..met }));
            done += games;
        }
        Ok(matches)
    }

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
        let mut agents = vec![contestant(self.rules, self.config, self.processor, checkpoint)?];
        for earlier in opponents {
            let earlier = Checkpoint::open_folder(&checkpoint::path_of(self.folder, *earlier))?;
            agents.push(contestant(self.rules, self.config, self.processor, &earlier)?);
        }
        let agents: Vec<&Contestant<G>> = agents.iter().collect();
        let plan = Ladder {
            games,
            // other openings than the gate's, and for each generation and round
            seed: mix(mix(self.config.seed).wrapping_add(number as u64)).wrapping_add(round),
            opening_plies: settings.opening_plies,
            pairing: Pairing::Gauntlet(0),
        };
        let (result, complete) = play_ladder(&self.rules.game, &plan, &agents, None, &|standing| {
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
            effective_games: met.effective_games,
            is_final: false,
        });
        Ok(against.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line of a generation's games: against whom, pairs, and whether they are the final ones.
    fn line(number: usize, matches: &[(usize, [usize; 5], bool)]) -> Value {
        let matches: Vec<Value> = matches
            .iter()
            .map(|(generation, pairs, is_final)| {
                let mut game = json!({
                    "generation": generation, "wins": 0, "draws": 2 * pairs.iter().sum::<usize>(), "losses": 0,
                    "pairs": pairs, "effective_games": 2 * pairs.iter().sum::<usize>(),
                });
                if *is_final {
                    game["final"] = true.into();
                }
                game
            })
            .collect();
        json!({"kind": KIND, "generation": number, "matches": matches})
    }

    #[test]
    fn final_games_that_are_copies_do_not_replace_the_others() {
        let folder = tempfile::tempdir().unwrap();
        let rated = |effective: usize| {
            let mut metrics = Metrics::open(folder.path(), 0, false).unwrap().0;
            let mut last = line(2, &[(1, [0, 0, 3, 2, 5], false), (1, [0, 0, 40, 0, 0], true)]);
            last["matches"][1]["effective_games"] = effective.into();
            [line(1, &[]), last].into_iter().for_each(|line| metrics.write(line).unwrap());
            rating(&metrics, "random", 2).unwrap().above_earlier[0].1.elo
        };
        let (copies, different) = (rated(2), rated(80));
        assert!(copies > 50.0 && different.abs() < 1e-6, "{copies} {different}");
    }

    #[test]
    fn the_final_games_stand_for_themselves() {
        let (second, third) = (line(2, &[(1, [0, 0, 3, 2, 5], false)]), [(2, [0, 1, 5, 2, 2], false)]);
        let rated = |third: &[(usize, [usize; 5], bool)]| {
            ratings_of(&[line(1, &[]), second.clone(), line(3, third)], "random")
        };
        let without = rated(&third);
        // decided openings hold the last generation down against the first
        let final_games = (1, [0, 0, 40, 10, 0], true);
        assert_eq!(rated(&[third[0], final_games]), without);
        // the same games as any others would make it weaker than the second
        let counted = rated(&[third[0], (1, [0, 0, 40, 10, 0], false)]);
        assert!(
            without[2].elo > without[1].elo && counted[2].elo < counted[1].elo,
            "{without:?} {counted:?}"
        );
    }
}

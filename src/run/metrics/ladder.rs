//! Rates the generations of a run against each other while it trains.
//!
//! After each generation, the new network plays `arena.ladder_games` games against networks of earlier generations,
//! chosen so that the games are most informative. The last generation also plays `arena.final_games` against the first.
//! All games of the run so far, including those of the evaluation, are rated together. A generation's rating therefore
//! depends on many more games than its own, and is the same wherever it is shown. If some openings decide the game,
//! every score is limited; the share of these openings is part of the fit ([`Ratings::fit_openings`]). If a
//! generation's games against another one contradict the ratings, the two play more games. The games are lines of the
//! metrics; training does not depend on them.

use std::collections::BTreeMap;

use serde::Serialize;

use super::lines::{Against, EvaluationLine, LadderLine, Scored};
use crate::arena::rating::{Difference, Meeting, Ratings};
use crate::arena::sprt::Pentanomial;

/// The number of newest generations that are rated together; games of older generations add little.
const POOL: usize = 100;
/// The number of standard errors by which games must differ from the ratings to contradict them.
const CONTRADICTION: f64 = 2.5;
/// The index of the evaluation's opponent among the rated agents; the generations follow it.
const OPPONENT: usize = 0;

/// The rating of a generation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rating {
    /// The generation.
    pub generation: usize,
    /// How much stronger the generation is than the generation of half its age, and than the first one rated together
    /// with it.
    pub above_earlier: Vec<(usize, Difference)>,
    /// How much stronger the generation is than the opponent of the evaluation.
    pub above_opponent: Option<(String, Difference)>,
    /// The number of games between generations so far.
    pub games: usize,
    /// The time that the games between generations took, in seconds.
    pub seconds: f64,
    /// The time that the games between generations took, in CPU seconds, if all lines have it.
    pub cpu_seconds: Option<f64>,
}

/// The games by which generations are rated, from the lines of the metrics. Lines are kept as long as they are needed:
/// the lines of the newest [`POOL`] generations, and of the generations rated together with the newest rated one.
#[derive(Clone, Debug, Default)]
pub(in crate::run) struct Games {
    ladder: BTreeMap<usize, LadderLine>,
    evaluations: BTreeMap<usize, EvaluationLine<Scored>>,
    /// The newest rated generation; 0 if there is none.
    rated: usize,
    /// The newest generation of all; 0 if there is none.
    newest: usize,
    /// The number of lines so far.
    lines: usize,
    /// The number of ladder games so far.
    played: usize,
    /// The seconds that the ladder games took.
    seconds: f64,
    /// The CPU seconds that the ladder games took.
    cpu_seconds: f64,
    /// Whether a line lacks its CPU seconds.
    lacks_cpu: bool,
}

impl Games {
    /// Adds a line with games between generations.
    pub(in crate::run) fn ladder(&mut self, line: LadderLine) {
        let games = line.matches.iter().map(|game| game.wins + game.draws + game.losses);
        self.played = self.played.saturating_add(games.sum());
        self.seconds += line.seconds;
        self.cpu_seconds += line.cpu_seconds.unwrap_or(0.0);
        self.lacks_cpu |= line.cpu_seconds.is_none();
        self.rated = self.rated.max(line.generation);
        let generation = line.generation;
        self.ladder.insert(generation, line);
        self.forget(generation);
    }

    /// Adds a line with games of the evaluation.
    pub(in crate::run) fn evaluation(&mut self, line: EvaluationLine<Scored>) {
        let generation = line.generation;
        self.evaluations.insert(generation, line);
        self.forget(generation);
    }

    /// Counts a line about a generation. If there are many lines, drops those that no rating needs any longer.
    fn forget(&mut self, generation: usize) {
        self.lines += 1;
        self.newest = self.newest.max(generation);
        let (rated, newest) = (self.rated, self.newest);
        let rated_together = Pool::first(rated)..=rated;
        let is_needed = |number: usize| rated_together.contains(&number) || number >= Pool::first(newest);
        // this is done rarely, because it goes through all lines
        let is_full = |length: usize| length > 4 * POOL;
        if is_full(self.ladder.len()) {
            self.ladder.retain(|number, _| is_needed(*number));
        }
        if is_full(self.evaluations.len()) {
            self.evaluations.retain(|number, _| is_needed(*number));
        }
    }

    /// Returns the first of the generations that are rated together with `generation`.
    pub(in crate::run) fn first_rated_with(generation: usize) -> usize {
        Pool::first(generation)
    }

    /// Returns the number of lines so far.
    pub(in crate::run) fn lines(&self) -> usize {
        self.lines
    }

    /// Returns whether any generation was rated.
    pub(in crate::run) fn has_ratings(&self) -> bool {
        !self.ladder.is_empty()
    }

    /// Returns whether this generation was evaluated.
    pub(in crate::run) fn has_evaluated(&self, generation: usize) -> bool {
        self.evaluations.contains_key(&generation)
    }

    /// Returns whether this generation was rated.
    pub(in crate::run) fn has_rated(&self, generation: usize) -> bool {
        self.ladder.contains_key(&generation)
    }

    /// Returns how much stronger each generation is than the first one rated together with it, based on all their
    /// games.
    pub(in crate::run) fn ratings(&self, opponent: &str) -> Vec<RatedGeneration> {
        if self.ladder.is_empty() {
            return Vec::new();
        }
        let pool = Pool::of(self, opponent, self.rated);
        let ratings = pool.ratings();
        let above = |number: usize| {
            let Difference { elo, low, high, .. } =
                ratings.difference(pool.place(number)?, pool.place(pool.first)?)?;
            Some(RatedGeneration { generation: number, elo, low, high })
        };
        (pool.first..=pool.last).filter_map(above).collect()
    }

    /// Returns the rating of generation `number`, one of the newest, based on the games so far; `None` if it was not
    /// rated.
    pub(in crate::run) fn rating(&self, opponent: &str, number: usize) -> Option<Rating> {
        self.ladder.get(&number)?;
        let pool = Pool::of(self, opponent, number);
        let (ratings, own) = (pool.ratings(), pool.place(number)?);
        let mut earlier = vec![number / 2, pool.first];
        earlier.dedup();
        let above = |earlier: usize| Some((earlier, ratings.difference(own, pool.place(earlier)?)?));
        let above_earlier =
            earlier.into_iter().filter(|earlier| *earlier < number).filter_map(above).collect();
        let above_opponent = ratings.difference(own, OPPONENT).map(|above| (opponent.to_string(), above));
        Some(Rating {
            generation: number,
            above_earlier,
            above_opponent,
            games: self.played,
            seconds: self.seconds,
            cpu_seconds: (!self.lacks_cpu).then_some(self.cpu_seconds),
        })
    }
}

/// The games among the generations from `first` to `last`.
pub(in crate::run) struct Pool {
    pub(in crate::run) first: usize,
    last: usize,
    meetings: Vec<Meeting>,
}

impl Pool {
    /// Returns the first of the generations that are rated together with `last`.
    pub(in crate::run) fn first(last: usize) -> usize {
        last.saturating_sub(POOL - 1).max(1)
    }

    /// Collects the games that rate generation `last`, and those of the evaluation against `opponent`.
    pub(in crate::run) fn of(games: &Games, opponent: &str, last: usize) -> Pool {
        let mut pool = Pool { first: Pool::first(last), last, meetings: Vec::new() };
        for line in games.evaluations.values().filter(|line| line.opponent == opponent) {
            let Scored { pairs, draws, effective_games, .. } = &line.result;
            pool.meet(line.player, Some(OPPONENT), pairs, *draws, *effective_games);
        }
        for line in games.ladder.values() {
            for Against { generation, pairs, draws, effective_games, .. } in &line.matches {
                pool.meet(line.generation, pool.place(*generation), pairs, *draws, *effective_games);
            }
        }
        pool
    }

    /// Returns the index of a generation among the rated agents; `None` if it is not in the pool.
    pub(in crate::run) fn place(&self, generation: usize) -> Option<usize> {
        (self.first..=self.last).contains(&generation).then(|| generation - self.first + 1)
    }

    /// Counts the games of a generation, if it and its opponent are in the pool.
    fn meet(
        &mut self,
        generation: usize,
        other: Option<usize>,
        pairs: &Pentanomial,
        draws: usize,
        effective: Option<f64>,
    ) {
        if let (Some(own), Some(other)) = (self.place(generation), other)
            && own != other
        {
            self.meetings.extend(meeting([own, other], pairs, draws, effective));
        }
    }

    /// Returns the generations whose games against `generation` contradict the ratings based on all games.
    pub(in crate::run) fn contradicted(&self, generation: usize) -> Vec<usize> {
        let Some(own) = self.place(generation) else { return Vec::new() };
        let ratings = self.ratings();
        let contradicts = |other: &usize| {
            let Some(place) = self.place(*other) else { return false };
            // the games between the two, as agents 0 and 1
            let between = |meeting: &Meeting| {
                let is_of_both = [own, place].iter().all(|agent| meeting.agents.contains(agent));
                let agents = meeting.agents.map(|agent| usize::from(agent == place));
                is_of_both.then(|| Meeting { agents, ..meeting.clone() })
            };
            let games: Vec<Meeting> = self.meetings.iter().filter_map(between).collect();
            let direct = Ratings::fit(2, &games).difference(0, 1);
            let by_all = ratings.difference(own, place);
            direct.zip(by_all).is_some_and(|(direct, by_all)| {
                // all games include the direct games, so the variance of the gap is the difference of the two variances
                let error = (direct.error.powi(2) - by_all.error.powi(2)).max(0.0).sqrt();
                (direct.elo - by_all.elo).abs() > CONTRADICTION * error.max(direct.error / 2.0)
            })
        };
        (self.first..generation).filter(contradicts).collect()
    }

    /// Fits the ratings of all agents to the games.
    pub(in crate::run) fn ratings(&self) -> Ratings {
        Ratings::fit_openings(self.last + 2 - self.first, OPPONENT, &self.meetings)
    }
}

/// Returns the games between two agents in a line, if there are any; `effective` is the number of distinct games that
/// would carry as much information.
fn meeting(agents: [usize; 2], pairs: &Pentanomial, draws: usize, effective: Option<f64>) -> Option<Meeting> {
    let played: usize = pairs.iter().sum();
    let worth = effective.map_or(1.0, |games| (games / (2 * played) as f64).clamp(0.0, 1.0));
    (played > 0).then_some(Meeting { agents, pairs: *pairs, draws, worth })
}

/// How much stronger a generation is than another player.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RatedGeneration {
    /// The generation.
    pub generation: usize,
    /// The most likely difference in Elo.
    pub elo: f64,
    /// The lower 95% bound; `None` if the games give none.
    pub low: Option<f64>,
    /// The upper 95% bound; `None` if the games give none.
    pub high: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes the line with a generation's games. Each match is given as the opponent, the pairs, and whether its games
    /// are the final ones.
    fn line(number: usize, matches: &[(usize, [usize; 5], bool)]) -> LadderLine {
        let met = matches.iter().map(|&(generation, pairs, is_final)| {
            let draws = 2 * pairs.iter().sum::<usize>();
            Against {
                generation,
                draws,
                pairs,
                effective_games: Some(draws as f64),
                is_final,
                ..Against::default()
            }
        });
        LadderLine { generation: number, matches: met.collect(), ..LadderLine::default() }
    }

    fn games(lines: impl IntoIterator<Item = LadderLine>) -> Games {
        let mut games = Games::default();
        lines.into_iter().for_each(|line| games.ladder(line));
        games
    }

    /// Dropping old lines changes no rating.
    #[test]
    fn old_games_are_forgotten() {
        let of_generation = |number: usize| match number {
            1 => line(1, &[]),
            _ => line(
                number,
                &[(number - 1, [0, 1, 5, 2, number % 3], false), (number / 2, [0, 0, 1, 0, 0], false)],
            ),
        };
        let (all, newest) = (games((1..=1000).map(of_generation)), games((850..=1000).map(of_generation)));
        assert!(all.ladder.len() <= 4 * POOL + 1, "{}", all.ladder.len());
        assert_eq!(all.ratings("random"), newest.ratings("random"));
        let [all, newest] = [&all, &newest].map(|games| games.rating("random", 1000).unwrap());
        assert_eq!(all.above_earlier, newest.above_earlier);
        assert!(all.games > newest.games, "all games are counted");
    }

    /// A run that started with the weights of another run has a generation 0, against which no generation plays.
    #[test]
    fn generation_0_is_not_rated() {
        let zero = games([line(0, &[])]);
        assert!(zero.ratings("random").is_empty() && zero.rating("random", 0).is_none());
        let rated =
            games([line(0, &[]), line(1, &[]), line(2, &[(1, [0, 0, 3, 2, 5], false)])]).ratings("random");
        assert_eq!(rated.iter().map(|rated| rated.generation).collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn strange_numbers_are_no_games() {
        let strange = Against { generation: usize::MAX, pairs: [1 << 40; 5], ..Against::default() };
        let own = Against { generation: 2, pairs: [1, 0, 0, 0, 0], ..Against::default() };
        let odd = Against {
            generation: 1,
            pairs: [1 << 40; 5],
            effective_games: Some(f64::MAX),
            ..Against::default()
        };
        let last = LadderLine { generation: 2, matches: vec![strange, own, odd], ..LadderLine::default() };
        let rated = games([line(1, &[]), last]).ratings("random");
        assert!(rated.len() == 2 && rated[1].elo.abs() < 1.0, "{rated:?}");
    }

    /// The final games count toward the last generation's rating, but repeated games count less.
    #[test]
    fn the_final_games_count() {
        let rated = |finals: Option<f64>| {
            let mut last = line(3, &[(2, [0, 1, 5, 2, 2], false), (1, [0, 0, 40, 10, 0], true)]);
            match finals {
                Some(effective) => last.matches[1].effective_games = Some(effective),
                None => drop(last.matches.pop()),
            }
            let games = games([line(1, &[]), line(2, &[(1, [0, 0, 3, 2, 5], false)]), last]);
            let (rated, rating) = (games.ratings("random"), games.rating("random", 3).unwrap());
            let (_, by) = rating.above_earlier.last().unwrap();
            assert_eq!((by.elo, by.low, by.high), (rated[2].elo, rated[2].low, rated[2].high));
            by.high.unwrap() - by.low.unwrap()
        };
        let [without, copies, with] = [None, Some(2.0), Some(100.0)].map(rated);
        assert!(with < 0.6 * without && copies > 0.9 * without, "{without} {copies} {with}");
    }

    #[test]
    fn games_that_contradict_are_found() {
        let contradicted = |against_first: [usize; 5]| {
            let lines = [
                line(1, &[]),
                line(2, &[(1, [0, 0, 0, 10, 30], false)]),
                line(3, &[(2, [0, 0, 0, 10, 30], false), (1, against_first, false)]),
            ];
            Pool::of(&games(lines), "random", 3).contradicted(3)
        };
        assert!(contradicted([0, 0, 0, 1, 39]).is_empty());
        // generation 3 is as strong as generation 1, but much stronger than generation 2, which is much stronger than 1
        assert_eq!(contradicted([5, 0, 10, 0, 5]), [1, 2]);
    }

    /// Games that contradict the ratings are also found in a run of many equally strong generations.
    #[test]
    fn games_that_contradict_are_found_in_long_runs() {
        const LEVEL: [usize; 5] = [100, 200, 1000, 200, 100];
        let contradicted = |last: usize, against_first: [usize; 5]| {
            let lines = (1..=last).map(|number| match number {
                1 => line(1, &[]),
                _ if number == last => line(number, &[(number - 1, LEVEL, false), (1, against_first, false)]),
                _ => line(number, &[(number - 1, LEVEL, false)]),
            });
            Pool::of(&games(lines), "random", last).contradicted(last)
        };
        for last in [5, 40] {
            assert!(contradicted(last, [0, 0, 10, 0, 0]).is_empty(), "{last}");
            assert_eq!(contradicted(last, [0, 0, 4, 4, 12]), [1], "{last}");
        }
    }
}

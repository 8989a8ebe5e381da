//! Who has the advantage? A statistical test that continues until it has an answer.
//!
//! Input: games between equal players, for each level whose players know the game. Output: a [`Verdict`]: the game is
//! fair within some points, one side has an advantage, both are true (a slight advantage), or these games do not
//! answer the question. The games of levels that agree are pooled. But because a hundred games hardly distinguish 50 %
//! from 55 %, the games of the strongest level alone must give the same answer; otherwise, beginners could answer for
//! experts. The bounds are valid even though play ends at the first look that answers the question: there are at most
//! [`MOST_LOOKS`] looks, and each look errs in at most 1 % of all measurements. A game whose true score is ½ is
//! therefore reported to favor a side in at most 5 % of measurements, regardless of the spacing of the looks
//! (Bonferroni's inequality).

use serde::Serialize;

use super::game::Observed;
use crate::arena::elo::{Z, mean_and_bounds};
use crate::arena::repeats::Repeats;
use crate::game::Player;

/// The distance of the bounds from the mean, in standard errors: 1 % of a normal distribution lies outside such bounds.
pub const Z_OF_LOOKS: f64 = 2.576;
/// The maximum number of looks at the games.
pub const MOST_LOOKS: u32 = 5;
/// The 95 % quantile of the normal distribution, for one-sided bounds. The bounds of the strongest level's own score
/// must also be within the range that counts as fair, even if the pooled games of all levels are fair.
const Z_OF_FAIR: f64 = 1.645;

/// What games between equals show about the advantage of the player who begins.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// The first player's mean score, and bounds that are right in 95 % of all measurements, even though measurements
    /// end as soon as the answer is known.
    pub score: [f64; 3],
    /// The mean score and bounds in the games of the strongest level alone.
    pub of_strongest: [f64; 3],
    /// Half the width of the range that counts as fair, as a share of the points.
    pub within: f64,
    /// Whether the bounds of the score, and those of the strongest level alone, are within the range around ½ that
    /// counts as fair.
    pub is_fair: bool,
    /// The side that has an advantage, large or small; `None` unless ½ is outside the bounds of the score and outside
    /// those of the strongest level alone.
    pub favors: Option<Player>,
    /// The numbers, from 0, of the levels whose games count, ascending.
    pub levels: Vec<usize>,
    /// The number of games that count.
    pub games: usize,
    /// The total number of games that would probably give an answer; `None` if there already is an answer, or if more
    /// games would not help.
    pub needed: Option<usize>,
}

impl Verdict {
    /// Returns the verdict on the games of `levels`, the strongest level last. The verdict counts the strongest level
    /// and, going down, each level that agrees with the levels above it, until one does not. Every level must have
    /// games.
    pub(super) fn of(levels: &[(usize, &[Observed])], within: f64) -> Verdict {
        let (strongest, weaker) = levels.split_last().expect("there is a level");
        let mut indices = vec![strongest.0];
        let mut games: Vec<&Observed> = strongest.1.iter().collect();
        for (level, others) in weaker.iter().rev() {
            let others: Vec<&Observed> = others.iter().collect();
            if !agree(score(&games, Z), score(&others, Z)) {
                break;
            }
            indices.insert(0, *level);
            games.extend(others);
        }
        let own: Vec<&Observed> = strongest.1.iter().collect();
        let [found, of_own, near] =
            [score(&games, Z_OF_LOOKS), score(&own, Z_OF_LOOKS), score(&own, Z_OF_FAIR)];
        let favors = favored(found).filter(|side| favored(of_own) == Some(*side));
        let is_near = |[_, low, high]: [f64; 3]| low >= 0.5 - within && high <= 0.5 + within;
        let is_fair = is_near(found) && is_near(near);
        let is_known = is_fair || favors.is_some();
        // the bounds must exclude ½ or be within the limits, whichever takes fewer games if the means stay the same
        let favoring = times(found, off(found)).max(times(of_own, off(of_own)));
        let fair = times(found, within - off(found)).max(times(near, within - off(near)));
        let needed = games.len() as f64 * favoring.min(fair);
        Verdict {
            score: found,
            of_strongest: of_own,
            within,
            is_fair,
            favors,
            levels: indices,
            games: games.len(),
            needed: (!is_known && needed.is_finite()).then_some(needed.ceil() as usize),
        }
    }

    /// Returns whether the games show that the game is fair or that one side has an advantage.
    pub fn is_known(&self) -> bool {
        self.is_fair || self.favors.is_some()
    }
}

/// Returns the numbers of games of a level after which the results are looked at, from `games` to `most`. Each number
/// except the last is the same multiple of the previous one.
pub(super) fn looks(games: usize, most: usize) -> Vec<usize> {
    let reaches = |factor: &usize| games.saturating_mul(factor.saturating_pow(MOST_LOOKS - 1)) >= most;
    let factor = (2..).find(reaches).expect("no number of games is that large");
    let before_last = std::iter::successors(Some(games), |games| games.checked_mul(factor));
    before_last.take_while(|look| *look < most).chain([games.max(most)]).collect()
}

/// Counts the games by their actions.
pub(super) fn repeats<'a>(games: impl IntoIterator<Item = &'a Observed>) -> Repeats {
    let mut repeats = Repeats::default();
    games.into_iter().for_each(|game| repeats.count(0, game.actions.clone()));
    repeats
}

/// Returns the first player's mean score with its bounds. Repeated games have less weight.
pub(super) fn score(games: &[&Observed], z: f64) -> [f64; 3] {
    let scores: Vec<f64> = games.iter().map(|game| game.score(Player::First)).collect();
    mean_and_bounds(&scores, repeats(games.iter().copied()).worth(), z)
}

/// Returns the mean score of the upper of two levels with its bounds. The levels play each opening twice, once on each
/// side; such a pair of games is one observation.
pub(super) fn score_of_pairs(games: &[Observed]) -> [f64; 3] {
    let (mut repeats, mut scores) = (Repeats::default(), Vec::new());
    for pair in games.chunks(2) {
        let [first, second] = [pair.first(), pair.last()].map(|game| game.expect("a chunk has games"));
        repeats.count(0, [&*first.actions, &second.actions].concat());
        scores.push(match pair.len() {
            1 => first.score(Player::First),
            _ => (first.score(Player::First) + second.score(Player::Second)) / 2.0,
        });
    }
    mean_and_bounds(&scores, repeats.worth(), Z)
}

/// Returns the side that the bounds of the first player's score favor, if they exclude ½.
fn favored([_, low, high]: [f64; 3]) -> Option<Player> {
    match (low > 0.5, high < 0.5) {
        (true, _) => Some(Player::First),
        (_, true) => Some(Player::Second),
        _ => None,
    }
}

/// Returns the distance of a mean from ½.
fn off([mean, ..]: [f64; 3]) -> f64 {
    (mean - 0.5).abs()
}

/// Returns the factor by which the number of games must grow for these bounds to reach no farther than `room` from
/// the mean; infinite if there is no room.
fn times([_, low, high]: [f64; 3], room: f64) -> f64 {
    ((high - low) / 2.0 / room.max(0.0)).powi(2)
}

/// Returns whether two means may have the same true score, by a two-sided test at the 5 % level.
fn agree(one: [f64; 3], other: [f64; 3]) -> bool {
    let half = |[_, low, high]: [f64; 3]| (high - low) / 2.0;
    (one[0] - other[0]).abs() <= half(one).hypot(half(other))
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};

    use super::*;
    use crate::game::{Action, Outcome};
    use crate::random::Random;

    /// Returns a game that is unlike all others.
    fn game(random: &mut Random, number: &mut u64, truth: f64, draws: f64) -> Observed {
        *number += 1;
        let outcome = match random.random::<f64>() {
            drawn if drawn < draws => Outcome::Draw,
            _ if random.random::<f64>() < (truth - draws / 2.0) / (1.0 - draws) => {
                Outcome::Win(Player::First)
            }
            _ => Outcome::Win(Player::Second),
        };
        let digits = [*number & 0xffff, *number >> 16];
        let actions = digits.map(|digit| Action(digit as u16)).into();
        Observed {
            actions,
            outcome,
            ending: String::new(),
            opening: 0,
            scores: Vec::new(),
            branching: Vec::new(),
            proven_from: None,
        }
    }

    /// Measures levels with these true scores, the strongest last, with looks after 100, 200, 400, 800, and 1,000
    /// games.
    fn measured(random: &mut Random, truths: &[f64], draws: f64) -> Verdict {
        let mut number = 0;
        let mut games: Vec<Vec<Observed>> = truths.iter().map(|_| Vec::new()).collect();
        let mut playing: Vec<usize> = (0..truths.len()).collect();
        for look in looks(100, 1000) {
            for &level in &playing {
                let more = games[level].len()..look;
                games[level].extend(more.map(|_| game(random, &mut number, truths[level], draws)));
            }
            let levels: Vec<(usize, &[Observed])> =
                games.iter().enumerate().map(|(level, games)| (level, &**games)).collect();
            let verdict = Verdict::of(&levels, 0.03);
            if verdict.is_known() || look == 1000 {
                return verdict;
            }
            playing = verdict.levels;
        }
        unreachable!("the last look ends the measurement")
    }

    /// No verdict is wrong in more than 5 % of all measurements, whatever the true score is.
    #[test]
    fn sentences_are_rarely_wrong() {
        let mut random = Random::seed_from_u64(1);
        let times = 400;
        for draws in [0.0, 0.5] {
            for percent in [40, 44, 46, 48, 50, 52, 54, 56, 60] {
                let truth = f64::from(percent) / 100.0;
                let (mut wrong, mut known) = (0, 0);
                for _ in 0..times {
                    let verdict = measured(&mut random, &[truth], draws);
                    let side = match verdict.favors {
                        Some(Player::First) => truth > 0.5,
                        Some(Player::Second) => truth < 0.5,
                        None => true,
                    };
                    let fair = !verdict.is_fair || (truth - 0.5).abs() <= 0.03;
                    wrong += usize::from(!(side && fair));
                    known += usize::from(verdict.is_known());
                    assert_eq!(verdict.needed.is_some(), !verdict.is_known());
                }
                // 5 % plus three standard deviations for this number of measurements
                assert!(wrong <= 33, "{percent} %, {draws} drawn: {wrong} of {times} are wrong");
                if (truth - 0.5).abs() > 0.09 {
                    assert!(known > times * 95 / 100, "{percent} %: known in {known} of {times}");
                }
            }
        }
    }

    #[test]
    fn there_are_few_looks() {
        assert_eq!(looks(100, 1000), [100, 200, 400, 800, 1000]);
        assert_eq!(looks(100, 4000), [100, 300, 900, 2700, 4000]);
        assert_eq!([looks(100, 100), looks(100, 20), looks(50, 100)], [vec![100], vec![100], vec![50, 100]]);
        for games in [1, 7, 100, 99_999] {
            let looks = looks(games, 100_000);
            assert!(looks.len() <= MOST_LOOKS as usize && looks.is_sorted_by(|a, b| a < b), "{looks:?}");
        }
    }

    /// Beginners do not decide the verdict on experts, although a hundred games hardly distinguish the two.
    #[test]
    fn weaker_levels_do_not_answer_for_the_strongest() {
        let mut random = Random::seed_from_u64(5);
        let times = 200;
        for (truths, is_fair) in [
            ([0.5, 0.5, 0.5, 0.5], true),
            ([0.55, 0.55, 0.55, 0.5], true),
            ([0.56, 0.54, 0.52, 0.5], true),
            ([0.5, 0.5, 0.5, 0.54], false),
        ] {
            let mut wrong = 0;
            for _ in 0..times {
                let verdict = measured(&mut random, &truths, 0.0);
                wrong += usize::from(if is_fair { verdict.favors.is_some() } else { verdict.is_fair });
            }
            // 5 % plus three standard deviations for this number of measurements
            assert!(wrong <= 19, "{truths:?}: {wrong} of {times} are wrong");
        }
        // if several levels agree, each of them needs fewer games to show that the game is fair
        let alone = (0..50).filter(|_| measured(&mut random, &[0.5], 0.5).is_fair).count();
        let together = (0..50).filter(|_| measured(&mut random, &[0.5; 4], 0.5).is_fair).count();
        assert!(together > alone + 10, "{together} {alone} of 50");
    }

    /// If only a score of exactly ½ counts as fair, no number of games can prove an even game fair.
    #[test]
    fn no_number_of_games_is_needed_where_none_is_enough() {
        let mut random = Random::seed_from_u64(6);
        let mut number = 0;
        let games = [1.0, 0.0].map(|truth| game(&mut random, &mut number, truth, 0.0));
        let verdict = Verdict::of(&[(0, &games)], 0.0);
        assert_eq!((verdict.is_known(), verdict.needed), (false, None));
    }

    #[test]
    fn levels_that_agree_count_together() {
        let mut random = Random::seed_from_u64(2);
        let mut number = 0;
        let mut games =
            |truth| (0..300).map(|_| game(&mut random, &mut number, truth, 0.0)).collect::<Vec<_>>();
        let [beginners, middle, experts] = [games(0.9), games(0.65), games(0.65)];
        let verdict = Verdict::of(&[(2, &beginners), (3, &middle), (4, &experts)], 0.03);
        assert_eq!((verdict.levels, verdict.games, verdict.favors), (vec![3, 4], 600, Some(Player::First)));
        // levels below a level that disagrees do not count
        let verdict = Verdict::of(&[(1, &middle), (2, &beginners), (3, &experts)], 0.03);
        assert_eq!((verdict.levels, verdict.games), (vec![3], 300));
    }

    /// A thousand repetitions of a few games do not count as a thousand games.
    #[test]
    fn repeated_games_do_not_answer() {
        let mut random = Random::seed_from_u64(3);
        let mut number = 0;
        let few: Vec<Observed> = (0..4).map(|_| game(&mut random, &mut number, 0.99, 0.0)).collect();
        let many: Vec<Observed> = (0..1000)
            .map(|index| {
                let Observed { actions, outcome, .. } = &few[index % 4];
                let (scores, branching) = (Vec::new(), Vec::new());
                Observed {
                    actions: actions.clone(),
                    outcome: *outcome,
                    ending: String::new(),
                    opening: 0,
                    scores,
                    branching,
                    proven_from: None,
                }
            })
            .collect();
        let verdict = Verdict::of(&[(0, &many)], 0.03);
        assert!(!verdict.is_known(), "{verdict:?}");
    }

    #[test]
    fn pairs_are_one_observation() {
        let mut number = 0;
        let mut random = Random::seed_from_u64(4);
        // whoever begins wins: both levels are certainly equally strong
        let games: Vec<Observed> = (0..200).map(|_| game(&mut random, &mut number, 1.0, 0.0)).collect();
        let [mean, low, high] = score_of_pairs(&games);
        assert!(mean == 0.5 && low > 0.47 && high < 0.53, "{low} {high}");
    }
}

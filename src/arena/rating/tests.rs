use rand::{RngExt, SeedableRng};

use super::*;
use crate::arena::elo;
use crate::arena::pairing::{Pairing, Planner};
use crate::random::Random;

fn meeting(a: usize, b: usize, pairs: Pentanomial) -> Meeting {
    Meeting { agents: [a, b], pairs, draws: 0, worth: 1.0 }
}

fn elo(ratings: &Ratings, a: usize, b: usize) -> f64 {
    ratings.difference(a, b).unwrap().elo
}

/// Returns the scores of `count` pairs between two agents that differ by `logit`. The share `draws` of the games is
/// drawn, as far as the score allows; in the share `equal` of the pairs, both games end alike.
fn play(random: &mut Random, logit: f64, count: usize, draws: f64, equal: f64) -> Pentanomial {
    let chance = sigmoid(logit);
    let mut pairs = [0; 5];
    for _ in 0..count {
        let mut game = || {
            // the largest share of draws that leaves the mean unchanged is 2 * min(chance, 1 - chance)
            let drawn = draws * 2.0 * chance.min(1.0 - chance);
            let wins = chance - drawn / 2.0;
            match random.random::<f64>() {
                x if x < drawn => 1,
                x if x < drawn + wins => 2,
                _ => 0,
            }
        };
        let first = game();
        let second = game();
        let second = if random.random::<f64>() < equal { first } else { second };
        pairs[first + second] += 1;
    }
    pairs
}

/// Plays a ladder of agents with these logits; the first pairs are a chain.
fn ladder(
    random: &mut Random,
    truth: &[f64],
    pairs: usize,
    pairing: Pairing,
    draws: f64,
    equal: f64,
) -> Ratings {
    let count = truth.len();
    let candidates = pairing.candidates(count);
    let mut meetings: Vec<Meeting> = Vec::new();
    let mut planned: Vec<[usize; 2]> = candidates[..count - 1].to_vec();
    let mut played = 0;
    while played < pairs {
        for [a, b] in planned.drain(..).take(pairs - played) {
            meetings.push(meeting(a, b, play(random, truth[a] - truth[b], 1, draws, equal)));
            played += 1;
        }
        let mut planner = Planner::new(&Ratings::fit(count, &meetings));
        planned = match pairing {
            Pairing::Adaptive => (0..16).filter_map(|_| planner.choose(&candidates)).collect(),
            _ => (played..played + 16).map(|number| candidates[number % candidates.len()]).collect(),
        };
    }
    Ratings::fit(count, &meetings)
}

#[test]
fn two_agents_are_rated_as_in_a_match() {
    // for a clean sweep, the prior is the same correction as in a match
    let sweep = Ratings::fit(2, &[meeting(0, 1, [0, 0, 0, 0, 10])]);
    let match_elo = elo::estimate(&[1.0; 10], 1.0).elo;
    assert!((elo(&sweep, 0, 1) - match_elo).abs() < 1e-6, "{} {match_elo}", elo(&sweep, 0, 1));
    let Difference { low, high, .. } = sweep.difference(0, 1).unwrap();
    assert!(high.is_none() && low.unwrap() > 100.0, "{low:?}");
    let Difference { low, high, .. } = sweep.difference(1, 0).unwrap();
    assert!(low.is_none() && high.unwrap() < -100.0, "{high:?}");
    // for other results, about the same number and bounds
    for pairs in [[2, 8, 30, 40, 20], [20, 10, 20, 10, 40], [0, 0, 100, 0, 0], [30, 0, 0, 0, 70]] {
        let own = Ratings::fit(2, &[meeting(0, 1, pairs)]).difference(0, 1).unwrap();
        let scores: Vec<f64> = (0..5).flat_map(|points| vec![points as f64 / 4.0; pairs[points]]).collect();
        let known = elo::estimate(&scores, 1.0);
        assert!((own.elo - known.elo).abs() < 2.0, "{own:?} {known:?}");
        assert!((own.low.unwrap() - known.low.unwrap()).abs() < 8.0, "{own:?} {known:?}");
        assert!((own.high.unwrap() - known.high.unwrap()).abs() < 8.0, "{own:?} {known:?}");
        // a weight of 1/4 has the same effect as a quarter of the pairs
        let weighted = Meeting { worth: 0.25, ..meeting(0, 1, pairs.map(|pairs| 4 * pairs)) };
        let weighted = Ratings::fit(2, &[weighted]).difference(0, 1).unwrap();
        assert!((weighted.elo - own.elo).abs() < 1e-6 && (weighted.error - own.error).abs() < 1e-6);
    }
}

#[test]
fn a_known_ladder() {
    // 3 of 4 points in each step are 191 Elo; two steps are twice that, and the games between the ends agree (9 of 10)
    let meetings = [
        meeting(0, 1, [0, 0, 0, 4000, 0]),
        meeting(1, 2, [0, 0, 0, 4000, 0]),
        meeting(0, 2, [100, 0, 0, 0, 900]),
    ];
    let ratings = Ratings::fit(3, &meetings);
    for ((a, b), expected) in [((0, 1), 190.8), ((1, 2), 190.8), ((0, 2), 381.7)] {
        assert!((elo(&ratings, a, b) - expected).abs() < 0.2, "{a} {b}: {}", elo(&ratings, a, b));
        assert_eq!(elo(&ratings, a, b), -elo(&ratings, b, a));
    }
    assert!((ratings.expected(0, 2).unwrap() - 0.9).abs() < 1e-3);
    assert_eq!(ratings.ranking(1), [0, 1, 2]);
    assert_eq!((elo(&ratings, 1, 1), ratings.difference(1, 1).unwrap().error), (0.0, 0.0));
}

#[test]
fn order_does_not_matter() {
    let mut random = Random::seed_from_u64(3);
    let truth: Vec<f64> = (0..8).map(|_| 4.0 * random.random::<f64>()).collect();
    let mut meetings: Vec<Meeting> = (1..8)
        .flat_map(|b| (0..b).map(move |a| [a, b]))
        .map(|[a, b]| meeting(a, b, play(&mut random, truth[a] - truth[b], 6, 0.3, 0.2)))
        .collect();
    let forward = Ratings::fit(8, &meetings);
    meetings.reverse();
    let backward = Ratings::fit(8, &meetings);
    // the same games, seen from the other side and in two parts
    let halves = meetings.iter().flat_map(|whole| {
        let [a, b] = whole.agents;
        let first = whole.pairs.map(|pairs| pairs / 2);
        let mut rest: Vec<usize> =
            whole.pairs.iter().zip(first).map(|(pairs, first)| pairs - first).collect();
        rest.reverse();
        [meeting(a, b, first), meeting(b, a, rest.try_into().unwrap())]
    });
    let halves = Ratings::fit(8, &halves.collect::<Vec<_>>());
    // the same games, with the agents in another order
    let renamed: Vec<Meeting> = meetings
        .iter()
        .map(|it| Meeting { agents: it.agents.map(|agent| 7 - agent), ..it.clone() })
        .collect();
    let renamed = Ratings::fit(8, &renamed);
    for (a, b) in (0..8).flat_map(|a| (0..8).map(move |b| (a, b))) {
        let expected = forward.difference(a, b).unwrap();
        assert_eq!(backward.difference(a, b).unwrap(), expected, "the same bits");
        for other in [halves.difference(a, b).unwrap(), renamed.difference(7 - a, 7 - b).unwrap()] {
            assert!((other.elo - expected.elo).abs() < 1e-6 && (other.error - expected.error).abs() < 1e-6);
        }
    }
    assert_eq!(forward.ranking(0), backward.ranking(0));
}

#[test]
fn perfect_scores_are_finite() {
    // a chain of 100 agents, each of which loses both games against the next
    let chain: Vec<Meeting> = (1..100).map(|b| meeting(b - 1, b, [1, 0, 0, 0, 0])).collect();
    let ratings = Ratings::fit(100, &chain);
    let top = ratings.difference(99, 0).unwrap();
    assert!(top.elo.is_finite() && top.elo > 10_000.0 && top.error.is_finite(), "{top:?}");
    assert_eq!(top.high, None, "nothing limits it");
    assert_eq!(ratings.ranking(0), (0..100).rev().collect::<Vec<_>>());
    // a draw between the ends of the chain limits it
    let limits = [meeting(0, 99, [0, 1, 0, 0, 0])];
    let ratings = Ratings::fit(100, &[chain, limits.to_vec()].concat());
    assert!(ratings.difference(99, 0).unwrap().high.is_some());
    assert!(ratings.difference(0, 99).unwrap().low.is_some());
    // the largest matches
    let huge = Ratings::fit(3, &[meeting(0, 1, [0, 0, 0, 0, 500_000]), meeting(1, 2, [500_000, 0, 0, 0, 0])]);
    assert!(elo(&huge, 0, 1) > 2000.0 && elo(&huge, 0, 2).abs() < 1e-6, "{}", elo(&huge, 0, 1));
}

#[test]
fn agents_without_connection_are_not_compared() {
    let ratings = Ratings::fit(5, &[meeting(3, 0, [0, 1, 0, 1, 0]), meeting(1, 4, [1, 0, 0, 0, 1])]);
    assert_eq!(ratings.ranking(0), [0, 3]);
    assert_eq!(ratings.ranking(4), [1, 4]);
    assert_eq!(ratings.ranking(2), [2]);
    assert!(ratings.difference(0, 1).is_none() && ratings.expected(2, 0).is_none());
    assert!(ratings.difference(0, 3).is_some() && ratings.difference(4, 1).is_some());
    assert_eq!(Ratings::fit(3, &[]).ranking(1), [1]);
    assert!(Ratings::fit(0, &[]).is_empty());
}

/// The bounds cover planted differences as often as they claim, even if many games are drawn, if the two games of a
/// pair tend to end alike, or if games are chosen by the results so far.
#[test]
fn bounds_cover_planted_ratings() {
    let mut random = Random::seed_from_u64(11);
    for (pairing, pairs) in [(Pairing::Adaptive, 100), (Pairing::Adaptive, 300), (Pairing::RoundRobin, 90)] {
        for (draws, equal) in [(0.0, 0.0), (0.8, 0.0), (0.0, 0.6), (0.3, 0.3)] {
            let (mut covered, mut all, mut neighbors, mut steps) = (0, 0, 0, 0);
            let (mut product, mut square) = (0.0, 0.0);
            for _ in 0..150 {
                let mut truth: Vec<f64> = (0..10).map(|_| 5.0 * random.random::<f64>()).collect();
                truth.sort_by(f64::total_cmp);
                let ratings = ladder(&mut random, &truth, pairs, pairing, draws, equal);
                for (a, b) in (1..10).flat_map(|b| (0..b).map(move |a| (a, b))) {
                    let difference = ratings.difference(a, b).unwrap();
                    let planted = ELO * (truth[a] - truth[b]);
                    (product, square) = (product + planted * difference.elo, square + planted * planted);
                    let inside = difference.low.is_none_or(|low| low <= planted)
                        && difference.high.is_none_or(|high| planted <= high);
                    (covered, all) = (covered + inside as usize, all + 1);
                    if b == a + 1 {
                        (neighbors, steps) = (neighbors + inside as usize, steps + 1);
                    }
                }
            }
            let about = format!(
                "{pairing:?}, {pairs} pairs, draws {draws}, equal {equal}: {covered} of {all}, {neighbors} of \
                 {steps} neighbors, {:.3} times as long",
                product / square
            );
            assert!(covered as f64 > 0.93 * all as f64 && neighbors as f64 > 0.93 * steps as f64, "{about}");
            // the ladder must be neither too long nor too short; ladders whose games go only to agents that seem close
            // come out too long
            assert!((0.9..1.15).contains(&(product / square)), "{about}");
        }
    }
}

/// Games chosen where they reveal the most leave smaller errors than the same number of games in a round robin.
#[test]
fn chosen_games_tell_more() {
    let mut random = Random::seed_from_u64(5);
    let truth: Vec<f64> = (0..12).map(|agent| 0.8 * agent as f64).collect();
    let mut error = |pairing| {
        let mut squares = 0.0;
        for _ in 0..40 {
            let ratings = ladder(&mut random, &truth, 132, pairing, 0.2, 0.0);
            squares += (1..12).map(|b| (elo(&ratings, b, b - 1) - ELO * 0.8).powi(2)).sum::<f64>();
        }
        (squares / (40.0 * 11.0)).sqrt()
    };
    let (chosen, round) = (error(Pairing::Adaptive), error(Pairing::RoundRobin));
    assert!(chosen < 0.85 * round, "{chosen:.1} Elo against {round:.1}");
}

#[test]
fn a_round_connects_everybody_first() {
    for pairing in [Pairing::Adaptive, Pairing::RoundRobin, Pairing::Gauntlet(2)] {
        let candidates = pairing.candidates(5);
        let first: Vec<Meeting> =
            candidates[..4].iter().map(|[a, b]| meeting(*a, *b, [0, 0, 1, 0, 0])).collect();
        assert_eq!(Ratings::fit(5, &first).ranking(0).len(), 5, "{pairing:?}");
        let mut once = candidates.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), candidates.len());
        assert_eq!(candidates.len(), if pairing == Pairing::Gauntlet(2) { 4 } else { 10 });
    }
}

/// Plays pairs of games in which the first agent's chance of winning is `chance`. In the share `decided` of the
/// openings, the same side wins both games; the share `draws` of the other games is drawn.
fn meet(
    random: &mut Random,
    agents: [usize; 2],
    chance: f64,
    count: usize,
    decided: f64,
    draws: f64,
) -> Meeting {
    let (mut pairs, mut drawn_games) = ([0; 5], 0);
    for _ in 0..count {
        if random.random::<f64>() < decided {
            pairs[2] += 1;
            continue;
        }
        // as many draws as the score allows, or the requested share
        let drawn = draws * 2.0 * chance.min(1.0 - chance);
        let mut game = || match random.random::<f64>() {
            x if x < drawn => 1,
            x if x < drawn + chance - drawn / 2.0 => 2,
            _ => 0,
        };
        let points = [game(), game()];
        pairs[points[0] + points[1]] += 1;
        drawn_games += points.iter().filter(|points| **points == 1).count();
    }
    Meeting { draws: drawn_games, ..meeting(agents[0], agents[1], pairs) }
}

/// Plays the games of a run: each agent meets the three before it and the one half its age, and the last agent also
/// meets the first. All agents meet a yardstick, the agent after the last one, against which no opening is decided.
fn run(random: &mut Random, truth: &[f64], decided: f64, draws: f64) -> Vec<Meeting> {
    let (last, yardstick) = (truth.len() - 1, truth.len());
    let mut meetings = Vec::new();
    for own in 1..=last {
        let others = [own - 1, own.saturating_sub(2), own.saturating_sub(3), own / 2];
        let mut games: Vec<(usize, usize)> = others.map(|other| (other, 5)).into();
        if own == last {
            games.push((0, 100));
        }
        for (other, count) in games {
            let chance = sigmoid(truth[own] - truth[other]);
            meetings.push(meet(random, [own, other], chance, count, decided, draws));
        }
        let chance = sigmoid(truth[own] + 3.0);
        meetings.push(meet(random, [own, yardstick], chance, 10, 0.0, draws));
    }
    meetings
}

/// If openings are decided, a fit that accounts for them rates the last agent as a match against the first one would,
/// and the curve rises to the last agent; with a plain fit, the curve falls.
#[test]
fn decided_openings_do_not_bend_the_curve() {
    let mut random = Random::seed_from_u64(17);
    let truth: Vec<f64> = (0..12).map(|agent| 0.5 * agent as f64).collect();
    for (decided, draws) in [(0.0, 0.0), (0.4, 0.0), (0.7, 0.0), (0.3, 0.4)] {
        let planted = |agent: usize| {
            let score = decided / 2.0 + (1.0 - decided) * sigmoid(truth[agent] - truth[0]);
            ELO * (score / (1.0 - score)).ln()
        };
        let (mut covered, mut all, mut shares, mut falls, mut bent) = (0, 0, 0.0, 0, 0);
        for _ in 0..100 {
            let meetings = run(&mut random, &truth, decided, draws);
            let fits = [Ratings::fit_openings(13, 12, &meetings), Ratings::fit(13, &meetings)];
            shares += fits[0].decided();
            let [fall, plain] = fits.each_ref().map(|fit| elo(fit, 11, 0) + 10.0 < elo(fit, 9, 0));
            (falls, bent) = (falls + usize::from(fall), bent + usize::from(plain));
            for agent in [3, 6, 11] {
                let difference = fits[0].difference(agent, 0).unwrap();
                let inside = difference.low.is_none_or(|low| low <= planted(agent))
                    && difference.high.is_none_or(|high| planted(agent) <= high);
                (covered, all) = (covered + usize::from(inside), all + 1);
            }
        }
        let share = shares / 100.0;
        let about = format!(
            "{decided} decided, {draws} drawn: {covered} of {all}, {share:.2}, falls {falls} and {bent}"
        );
        assert!(covered as f64 >= 0.91 * all as f64 && (share - decided).abs() < 0.1, "{about}");
        assert!(falls <= 10 && (decided == 0.0 || bent > 3 * falls), "{about}");
    }
}

//! Formats results of runs and matches as text: scores, tests, durations.

use super::text::counted;
use crate::arena::elo::{bounds, signed};
use crate::arena::rating::Difference;
use crate::arena::sprt::{SprtResult, Verdict};
use crate::arena::{Faults, MatchResult};
use crate::run::Rating;

/// With fewer pairs than this, there is no hint about openings.
const FEWEST_PAIRS: usize = 10;

/// Formats a match result as one line.
pub(super) fn verdict(result: &MatchResult) -> String {
    let cut_short = match result.cut_short {
        0 => String::new(),
        games => {
            format!("; WARNING: {games} games were cut short by the action limit and count as draws")
        }
    };
    let counted_as = match result.effective_games {
        Some(effective) if effective.round() < result.games as f64 => format!(", counted as {effective:.0}"),
        _ => String::new(),
    };
    format!(
        "{}, {}, {} in {} games ({} distinct{counted_as}): {}{cut_short}",
        counted(result.wins, "win", "wins"),
        counted(result.draws, "draw", "draws"),
        counted(result.losses, "loss", "losses"),
        result.games,
        result.distinct_games,
        elo_text(result)
    )
}

/// Returns a hint if openings rather than agents decided many pairs: more than a third of the pairs, and clearly more
/// than if the games were independent.
pub(super) fn openings_decided(result: &MatchResult) -> Option<String> {
    let (pairs, one_sided) = (result.games / 2, result.one_sided_pairs());
    let share = |games: usize| games as f64 / result.games as f64;
    let by_chance = 2.0 * share(result.wins) * share(result.losses) * pairs as f64;
    let many = pairs >= FEWEST_PAIRS && 3 * one_sided > pairs && one_sided as f64 > 1.5 * by_chance;
    many.then(|| {
        format!(
            "in {one_sided} of {pairs} pairs the same side won both games, so the openings decided them; try fewer \
             random actions, e.g. --opening-plies 0"
        )
    })
}

/// Formats the Elo difference with its bounds; after a clean sweep, with only one bound.
fn elo_text(result: &MatchResult) -> String {
    let MatchResult { games, wins, losses, elo, elo_low, elo_high, .. } = result;
    match (elo_low, elo_high) {
        (Some(low), _) if wins == games => format!("Elo {} or more (95 %)", signed(*low)),
        (_, Some(high)) if losses == games => format!("Elo {} or less (95 %)", signed(*high)),
        (None, None) => format!("Elo {}, too few games for bounds", signed(*elo)),
        _ => format!("Elo {}, 95 % {}", signed(*elo), bounds(*elo_low, *elo_high)),
    }
}

/// Formats the games that `agent` lost by forfeit as one line.
pub(super) fn fault_line(agent: &str, faults: &Faults) -> String {
    let kinds = [
        (faults.crashed, "crashed"),
        (faults.slow, "too slow"),
        (faults.illegal, "illegal answers"),
        (faults.flooded, "wrote too much"),
    ];
    let named: Vec<String> =
        kinds.iter().filter(|(games, _)| *games > 0).map(|(games, kind)| format!("{games} {kind}")).collect();
    format!(
        "{agent} lost {} by its own fault: {}",
        counted(faults.total(), "game", "games"),
        named.join(", ")
    )
}

/// Describes how much stronger or weaker a generation is than an earlier one and than the opponent of the evaluation.
pub(super) fn rating_parts(rating: &Rating) -> Vec<String> {
    let compared = |name: &str, by: &Difference| {
        let elo = match by.elo.round() {
            0.0 => "level with".to_string(),
            elo => format!("{elo:+} Elo against"),
        };
        format!("{elo} {name}, 95 % {}", bounds(by.low, by.high))
    };
    let earlier =
        rating.above_earlier.iter().map(|(number, by)| compared(&format!("generation {number}"), by));
    earlier.chain(rating.above_opponent.iter().map(|(name, by)| compared(name, by))).collect()
}

/// Formats the likelihood ratio of a test with its bounds.
pub(super) fn sprt_standing(result: &SprtResult) -> String {
    format!("LLR {:.2} ({:.2} to {:.2})", result.llr, result.lower, result.upper)
}

/// Formats a test and its verdict as one line.
pub(super) fn sprt_verdict(result: &SprtResult, games: usize) -> String {
    let sprt = &result.sprt;
    let outcome = match result.verdict {
        Verdict::H1 => format!("H1 accepted: {:+} Elo rather than {:+}", sprt.elo1, sprt.elo0),
        Verdict::H0 => format!("H0 accepted: {:+} Elo rather than {:+}", sprt.elo0, sprt.elo1),
        Verdict::Undecided => format!("undecided after {games} games"),
    };
    format!(
        "SPRT of {:+} against {:+} Elo (alpha {}, beta {}): {}, {outcome}",
        sprt.elo0,
        sprt.elo1,
        sprt.alpha,
        sprt.beta,
        sprt_standing(result)
    )
}

/// Formats a duration: `75 s`, `3 min 20 s`, or `2 h 5 min`.
pub(super) fn duration(seconds: f64) -> String {
    let seconds = seconds.round() as u64;
    match seconds {
        0..=99 => format!("{seconds} s"),
        100..=5999 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// Formats a duration of CPU time; short durations have tenths of a second, which are meaningful in CPU time.
pub(super) fn cpu_duration(seconds: f64) -> String {
    match seconds {
        ..9.95 => format!("{seconds:.1} s"),
        _ => duration(seconds),
    }
}

/// Formats an estimated duration, rounded to about two digits.
pub(super) fn roughly(seconds: f64) -> String {
    let to = |step: f64| (seconds / step).round() as u64 * step as u64;
    match seconds {
        172_800.0.. => format!("{} days", to(86_400.0) / 86_400),
        // from 99.5 minutes on, so that no duration is shown as 100 min
        5_970.0.. => format!("{} h {} min", to(300.0) / 3600, to(300.0) % 3600 / 60),
        585.0.. => format!("{} min", to(60.0) / 60),
        115.0.. if to(10.0) % 60 > 0 => format!("{} min {} s", to(10.0) / 60, to(10.0) % 60),
        57.5.. => format!("{} min", to(60.0) / 60),
        10.0.. => format!("{} s", to(5.0)),
        _ => format!("{} s", to(1.0).max(1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::elo::estimate;

    #[test]
    fn estimates_are_rounded() {
        let texts = [0.2, 7.0, 58.0, 61.0, 272.0, 598.0, 1500.0, 7000.0, 50_000.0, 1e6].map(roughly);
        let expected = [
            "1 s",
            "7 s",
            "1 min",
            "1 min",
            "4 min 30 s",
            "10 min",
            "25 min",
            "1 h 55 min",
            "13 h 55 min",
            "12 days",
        ];
        assert_eq!(texts, expected);
    }

    /// Returns the verdict on pairs that all have the same score and are worth `worth` different games each.
    fn text(wins: usize, draws: usize, losses: usize, worth: f64) -> String {
        verdict(&result(wins, draws, losses, worth))
    }

    fn result(wins: usize, draws: usize, losses: usize, worth: f64) -> MatchResult {
        let games = wins + draws + losses;
        let score = (wins as f64 + draws as f64 / 2.0) / games as f64;
        let bounds = estimate(&vec![score; games / 2], worth);
        let (elo, elo_low, elo_high) = (bounds.elo, bounds.low, bounds.high);
        let (distinct_games, cut_short) = (games, 0);
        let (pairs, sprt, faults) = Default::default();
        MatchResult {
            games,
            distinct_games,
            effective_games: Some(worth * games as f64),
            wins,
            draws,
            losses,
            cut_short,
            pairs,
            elo,
            elo_low,
            elo_high,
            sprt,
            faults,
        }
    }

    #[test]
    fn openings_that_decide_are_mentioned() {
        let hint = |wins, draws, losses, pairs| {
            openings_decided(&MatchResult { pairs, ..result(wins, draws, losses, 1.0) })
        };
        // in 84 pairs each agent wins once, and in 16 pairs both games are drawn
        let line = hint(84, 32, 84, [0, 0, 100, 0, 0]).unwrap();
        assert!(line.starts_with("in 84 of 100 pairs the same side won both games"), "{line}");
        // half of the pairs are one-sided if each game is a coin toss
        assert_eq!(hint(100, 0, 100, [25, 0, 50, 0, 25]), None);
        assert_eq!(hint(0, 200, 0, [0, 0, 100, 0, 0]), None);
        assert_eq!(hint(30, 10, 60, [15, 5, 15, 5, 10]), None);
        assert_eq!(hint(4, 0, 4, [0, 0, 4, 0, 0]), None);
    }

    #[test]
    fn known_bounds_are_printed() {
        for ((wins, draws, losses), end) in [
            // a clean sweep has only one bound
            ((40, 0, 0), ": Elo +287 or more (95 %)"),
            ((0, 0, 40), ": Elo -287 or less (95 %)"),
            ((19, 1, 0), ": Elo +636, 95 % +431 or more"),
            ((0, 1, 19), ": Elo -636, 95 % -431 or less"),
            ((0, 20, 0), ": Elo +0, 95 % -68 to +68"),
            ((1, 1, 2), ": Elo -89, too few games for bounds"),
        ] {
            let text = text(wins, draws, losses, 1.0);
            assert!(text.ends_with(end), "{text}");
        }
        assert!(text(3, 0, 1, 1.0).starts_with("3 wins, 0 draws, 1 loss in 4 games (4 distinct): Elo"));
    }

    #[test]
    fn ratings_are_differences_with_their_sign() {
        for (elo, low, high, text) in [
            (27.4, Some(-0.3), Some(54.6), "+27 Elo against generation 5, 95 % +0 to +55"),
            (-27.4, Some(-49.0), Some(-5.2), "-27 Elo against generation 5, 95 % -49 to -5"),
            (-27.4, None, Some(0.2), "-27 Elo against generation 5, 95 % +0 or less"),
            (301.0, Some(118.0), None, "+301 Elo against generation 5, 95 % +118 or more"),
            (0.4, Some(-68.0), Some(68.0), "level with generation 5, 95 % -68 to +68"),
            (-0.4, None, None, "level with generation 5, 95 % unknown"),
        ] {
            let by = Difference { elo, error: 1.0, low, high };
            let above_opponent = Some(("random".to_string(), by));
            let rating = Rating {
                generation: 10,
                above_earlier: vec![(5, by)],
                above_opponent,
                games: 2,
                seconds: 1.0,
                cpu_seconds: None,
            };
            assert_eq!(rating_parts(&rating), [text, &text.replace("generation 5", "random")]);
        }
    }

    #[test]
    fn repeated_games_are_mentioned() {
        let text = text(30, 0, 30, 0.31);
        assert!(text.contains("in 60 games (60 distinct, counted as 19): Elo"), "{text}");
    }
}

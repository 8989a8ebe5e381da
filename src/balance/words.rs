//! The measurements of a variant in sentences, for the page and the terminal.

use super::drawn::Measured;
use super::figures::percent;
use super::openings::COST;
use super::verdict::Verdict;
use super::{Balance, Equals, Opening, Plan};
use crate::game::{Outcome, Player};
use crate::report::chart::{counted, number};

/// A first action is a blunder if it is worth at least this much less than the best one.
const BLUNDER: f64 = 0.1;

/// The number of blunders that are named.
const NAMED: usize = 8;

/// Returns how many games are played, and what an evaluation is.
pub(super) fn plan(plan: &Plan) -> String {
    format!(
        "Each level plays {} games against itself and {0} against the level below. Experts play on until the advantage \
         is known, up to {} games. The seed is {}. The evaluation of a position is the score expected by the search of \
         the player to act.",
        plan.games,
        plan.most.max(plan.games),
        plan.seed
    )
}

/// Returns how the games of a variant begin.
pub(super) fn beginnings(balance: &Balance) -> String {
    match (&balance.book, balance.plan.varied_plies) {
        (Some(book), _) => {
            let (cost, judge) = if book.is_proven {
                ("anything".into(), "perfect play".into())
            } else {
                (
                    format!("more than {} of the points", percent(f64::from(COST))),
                    format!("a search of {}", shown(balance)),
                )
            };
            format!(
                "Games begin with {} of {} in which no action costs its player {cost}, as judged by {judge}; {} of {} \
                 judged actions qualify.",
                counted(book.openings, "opening", "openings"),
                counted(book.plies, "action", "actions"),
                book.kept,
                book.judged
            )
        }
        (None, plies) => format!(
            "In the first {}, actions are drawn from the visits of the search.",
            counted(plies.unwrap_or(0), "ply", "plies")
        ),
    }
}

/// Returns the level whose games and opinions are shown, by its number on the page.
pub(super) fn shown(balance: &Balance) -> String {
    format!("level {}", balance.shown + 1)
}

/// Formats a share of the points to a tenth of a percent.
fn points(share: f64) -> String {
    format!("{:.1} %", share * 100.0 + 0.0)
}

/// Returns the first few words, followed by dots if there are more words.
fn listed(words: &[String]) -> String {
    let more = if words.len() > NAMED { " ..." } else { "" };
    format!("{}{more}", words[..words.len().min(NAMED)].join(", "))
}

/// Returns the answer to whether the game is balanced, in a few sentences; `None` if no games were played.
pub fn answer(balance: &Balance) -> Option<String> {
    let verdict = balance.verdict.as_ref()?;
    let level = &balance.levels[*verdict.levels.last()?];
    let draws = match level.draws {
        0.0 => "no game is drawn".into(),
        draws => format!("{} of games are drawn", percent(draws)),
    };
    let proven = proven(balance).map_or_else(String::new, |proven| format!("{proven} "));
    let at = if verdict.levels.len() > 1 { "At the strongest of these levels" } else { "At this level" };
    Some(format!(
        "{proven}{}{} {at}, {draws}, and a game takes {} actions on average.",
        judgment(balance, verdict),
        dissent(balance, verdict),
        number(level.character.length)
    ))
}

/// Returns the strongest expert level that does not count because its score disagrees; `None` if there is none, or if
/// the result is proved.
fn dissenting<'a>(balance: &'a Balance, verdict: &Verdict) -> Option<&'a Equals> {
    let below = balance.levels[..*verdict.levels.first()?].last();
    below.filter(|level| level.is_expert && !is_proved(balance))
}

/// Returns a warning if the scores of expert levels disagree; otherwise, an empty text.
fn dissent(balance: &Balance, verdict: &Verdict) -> String {
    let warning = |below: &Equals| {
        format!(
            " The result still depends on strength, so it may differ for stronger players: at the level below ({}), {} \
             gets {} of the points.",
            below.name,
            balance.players[0],
            percent(below.first_score[0])
        )
    };
    dissenting(balance, verdict).map_or_else(String::new, warning)
}

/// Returns the proof in words, if there is one.
fn proven(balance: &Balance) -> Option<String> {
    let proof = balance.proof.as_ref()?;
    let outcome = proof.outcome?;
    let [first, second] = &balance.players;
    let list = listed(&proof.keep);
    let keep = match (proof.keep.len(), proof.first_actions, outcome) {
        (_, _, Outcome::Win(Player::Second)) => "whatever the first action is".into(),
        (keep, all, _) if keep == all => "after any first action".into(),
        (keep, all, _) if proof.known < all => format!(
            "with at least {keep} of the {all} first actions ({list}; for {} the result is not known)",
            all - proof.known
        ),
        (keep, all, _) => format!("with {keep} of the {all} first actions ({list})"),
    };
    let result = match outcome {
        Outcome::Win(Player::First) => format!("{first}, who begins, wins"),
        Outcome::Win(Player::Second) => format!("{second}, who plays second, wins"),
        Outcome::Draw => "the game is a draw".into(),
    };
    Some(format!("Proved: with best play, {result} {keep}."))
}

fn is_proved(balance: &Balance) -> bool {
    balance.proof.as_ref().is_some_and(|proof| proof.outcome.is_some())
}

/// Returns the evidence of the games about the advantage of the player who begins.
fn judgment(balance: &Balance, verdict: &Verdict) -> String {
    let [first, second] = &balance.players;
    let [score, low, high] = verdict.score;
    let within = number(verdict.within * 100.0);
    let name = |level: &usize| balance.levels[*level].name.as_str();
    let (weakest, strongest) =
        (verdict.levels.first().map_or("", name), verdict.levels.last().map_or("", name));
    let games = format!(
        "{first} gets {} of the points ({} to {}) in {} games between {}",
        points(score),
        points(low),
        points(high),
        verdict.games,
        match verdict.levels.len() {
            1 => format!("equal players ({strongest})"),
            levels => format!("equal players of {levels} levels that agree ({weakest} to {strongest})"),
        }
    );
    let is_proved = is_proved(balance);
    let are_experts = verdict.levels.iter().all(|level| balance.levels[*level].is_expert);
    let between = match (is_proved, are_experts, dissenting(balance, verdict)) {
        (true, ..) => "Between the measured players",
        (false, true, None) => "Between players who know the game",
        (false, true, Some(_)) => "Between the strongest of these players",
        (false, false, _) => "Between players who have not learned the game",
    };
    let side = |player| match player {
        Player::First => format!("{first}, who begins,"),
        Player::Second => format!("{second}, who plays second,"),
    };
    match (verdict.favors, verdict.is_fair, verdict.needed) {
        (None, true, _) => format!("{between}, the game is fair within {within} points: {games}."),
        (Some(player), true, _) => {
            format!("{between}, {} has an advantage of less than {within} points: {games}.", side(player))
        }
        (Some(player), false, _) => format!("{between}, {} has an advantage: {games}.", side(player)),
        (None, false, _) if is_proved => format!("{between}, no advantage is apparent: {games}."),
        (None, false, needed) => {
            let (yet, more) = match needed {
                Some(games) => (" yet", format!("; about {} would", rounded_up(games))),
                None => ("", ", and more games would not".into()),
            };
            let alone = match verdict.levels.len() {
                1 => String::new(),
                _ => {
                    let [score, low, high] = verdict.of_strongest.map(points);
                    format!("; in the games of the strongest level alone, {score} ({low} to {high})")
                }
            };
            format!(
                "These games do not{yet} show whether the game is fair within {within} points{more}: {games}{alone}."
            )
        }
    }
}

/// Returns the verdicts on several variants in one sentence; `None` if there is only one variant.
pub fn in_short(variants: &[Measured]) -> Option<String> {
    let verdicts = variants.iter().filter_map(|Measured { name, balance, .. }| {
        let verdict = balance.verdict.as_ref()?;
        let side = |player: Player| &balance.players[player.index()];
        let proved = balance.proof.as_ref().and_then(|proof| proof.outcome);
        Some(match (proved, verdict.favors, verdict.is_fair) {
            (Some(Outcome::Win(player)), ..) => format!("{name} is won by {} (proved)", side(player)),
            (Some(Outcome::Draw), ..) => format!("{name} is a draw (proved)"),
            (None, None, true) => format!("{name} is fair within {} points", number(verdict.within * 100.0)),
            (None, Some(player), true) => {
                format!(
                    "{name} gives {} an advantage of less than {} points",
                    side(player),
                    number(verdict.within * 100.0)
                )
            }
            (None, Some(player), false) => format!("{name} gives {} an advantage", side(player)),
            (None, None, false) if verdict.needed.is_none() => format!("{name} has no clear answer"),
            (None, None, false) => format!("{name} has no clear answer yet"),
        })
    });
    let verdicts: Vec<String> = verdicts.collect();
    (variants.len() > 1).then(|| format!("In short: {}.", verdicts.join("; ")))
}

/// Rounds a number of games up to two digits.
fn rounded_up(games: usize) -> usize {
    let digits = games.max(1).ilog10().saturating_sub(1);
    let unit = 10usize.pow(digits);
    games.div_ceil(unit).saturating_mul(unit)
}

/// Returns what a swap rule would do, if anything is unfair.
pub(super) fn swap(balance: &Balance) -> Option<String> {
    let swap = balance.swap.as_ref()?;
    let [score, low, high] = swap.score;
    let first = &balance.players[0];
    let within = balance.plan.within;
    let verdict = match (low > 0.5 + within, high < 0.5 - within) {
        (false, false) if low >= 0.5 - within && high <= 0.5 + within => "would make the game fair",
        (false, false) => "might make the game fair",
        _ => "would not make the game fair",
    };
    Some(format!(
        "A swap rule (one player makes the first action, the other chooses a side) {verdict}: after {}, the most even \
         first action, {first} gets {} of the points ({} to {}) in {} separate games.",
        swap.action,
        points(score),
        points(low),
        points(high),
        swap.games
    ))
}

/// Returns the first actions that players who know the game do not play.
pub(super) fn blunders(balance: &Balance) -> Option<String> {
    let best = balance.openings.first()?.expected;
    let mut bad: Vec<&Opening> =
        balance.openings.iter().filter(|opening| best - opening.expected >= BLUNDER).collect();
    bad.reverse();
    let list: Vec<String> =
        bad.iter().map(|opening| format!("{} ({})", opening.action, percent(opening.expected))).collect();
    (!bad.is_empty()).then(|| {
        format!(
            "{} of the {} first actions cost at least {} of the points: {}.",
            bad.len(),
            balance.openings.len(),
            percent(BLUNDER),
            listed(&list)
        )
    })
}

/// Returns how many links the skill chain has, and how many it may have.
pub(super) fn skill(balance: &Balance) -> String {
    let levels = balance.levels.len();
    format!(
        "In {} of {} between levels, the higher level certainly scores at least two thirds of the points; in {} more, \
         it may. These steps are the links of the skill chain.",
        balance.skill_chain,
        counted(levels.saturating_sub(1), "step", "steps"),
        balance.possible_links - balance.skill_chain
    )
}

/// Returns the source of the values of first actions.
pub(super) fn judged(balance: &Balance) -> String {
    match balance.openings.iter().filter(|opening| opening.is_proven).count() {
        0 => format!("by a search of {}", shown(balance)),
        all if all == balance.openings.len() => "as proved".into(),
        some => format!("{some} of them as proved, the others by a search of {}", shown(balance)),
    }
}

//! The designer's page: the measurements in words, pictures and tables.

use std::collections::BTreeSet;

use maud::{Markup, PreEscaped, html};

pub use super::drawn::Measured;
use super::known::beside;
use super::openings::COST;
use super::swap::most_even;
use super::verdict::Verdict;
use super::{Balance, Equals, Opening, STAGES};
use crate::game::{Outcome, Player};
use crate::report::chart::{Chart, Series, counted, number};
use crate::report::page;

/// The number of openings that are listed; the JSON output has all of them.
const LISTED: usize = 24;
/// A first action that is worth so much less than the best one is a blunder.
const BLUNDER: f64 = 0.1;
/// The number of blunders that are named.
const NAMED: usize = 8;
/// The bars of a histogram of lengths, at most.
const BINS: usize = 20;

/// The page about one variant, or about several side by side.
pub fn page(title: &str, byline: &str, variants: &[Measured]) -> String {
    let is_alone = variants.len() == 1;
    let names: Vec<String> =
        variants.iter().map(|variant| format!("{}, {} board", variant.name, variant.board)).collect();
    let body = html! {
        h1 { "Is " (title) " balanced?" }
        p.facts { (title) " (" (names.join("; ")) "), " (byline) "." }
        @if let Some(short) = in_short(variants) { p { b { (short) } } }
        @for variant in variants { (verdict(variant, !is_alone)) }
        p.facts { (method(&variants[0].balance)) }
        h2 { "From beginners to experts" }
        div.charts {
            (by_level(variants, "First player's score", "Between equal players of each level, with 95 % bounds: ½ is even. \
                The question of balance, for beginners on the left and for experts on the right.", "score", first_score).figure())
            (by_level(variants, "Draws", "The share of games between equal players that are drawn.", "share", |level| [level.draws; 3]).figure())
            (by_level(variants, "Length", "Actions in a game between equal players, on average.", "actions",
                |level| [level.character.length; 3]).figure())
            (by_level(variants, "Lead changes", "How often the leading player changes in a game, where a lead is an expected \
                score of at least 0.6 (Browne 2008, 6.3).", "changes", |level| [level.character.lead_changes; 3]).figure())
        }
        (beside(variants))
        @for variant in variants { (details(variant, !is_alone)) }
        h2 { "What the numbers mean" }
        (definitions())
    };
    let names: Vec<&str> = variants.iter().map(|variant| &*variant.name).collect();
    page::page(&format!("Is {title} balanced? ({})", names.join(", ")), &body)
}

fn method(balance: &Balance) -> String {
    let plan = &balance.plan;
    let beginnings = match (&balance.book, plan.varied_plies) {
        (Some(book), _) => format!(
            "they begin with {} openings of {} in which no action costs its player {} ({} of {} actions on the way, by {})",
            book.openings,
            counted(book.plies, "action", "actions"),
            if balance.is_judged_by_proof {
                "anything".into()
            } else {
                format!("more than {} of the points", percent(f64::from(COST)))
            },
            book.kept,
            book.judged,
            judge(balance)
        ),
        (None, plies) => format!(
            "in the first {} an action is drawn from the visits of the search",
            counted(plies.unwrap_or(0), "ply", "plies")
        ),
    };
    format!(
        "{} games of each level against itself, more between experts until the advantage is known (at most {}), and {0} against \
         the level below; {beginnings}; seed {}. The evaluation of a position is the expected score of the search of whoever is to act.",
        plan.games,
        plan.most.max(plan.games),
        plan.seed
    )
}

/// Who says what actions are worth.
fn judge(balance: &Balance) -> &'static str {
    if balance.is_judged_by_proof { "perfect play" } else { "a search of the strongest level" }
}

fn first_score(level: &Equals) -> [f64; 3] {
    level.first_score
}

/// A number of each level, in the order of strength.
fn by_level(
    variants: &[Measured],
    title: &str,
    about: &str,
    unit: &str,
    of: impl Fn(&Equals) -> [f64; 3],
) -> Chart {
    let series = variants.iter().enumerate().map(|(color, variant)| {
        let values: Vec<(f64, [f64; 3])> = variant
            .balance
            .levels
            .iter()
            .enumerate()
            .map(|(at, level)| ((at + 1) as f64, of(level)))
            .collect();
        let banded = values.iter().any(|(_, [_, low, high])| low < high);
        Series {
            name: variant.name.clone(),
            color,
            line: 0,
            points: values.iter().map(|(x, [mean, ..])| (*x, *mean)).collect(),
            band: values
                .iter()
                .filter(|_| banded)
                .map(|(x, [_, low, high])| (*x, Some(*low), Some(*high)))
                .collect(),
        }
    });
    let (title, about, unit) = (title.into(), about.into(), unit.into());
    Chart { title, about, unit, over: "level".into(), series: series.collect() }
}

/// What the games say about a variant, in words.
fn verdict(variant: &Measured, named: bool) -> Markup {
    let balance = &variant.balance;
    let Some(answer) = answer(balance) else { return html! {} };
    html! {
        @if named { h2 { (variant.name) } }
        p { (variant.rules) }
        p { b { (answer) } }
        @if let Some(swap) = swap(balance) { p { (swap) } }
        p { (skill(balance)) }
    }
}

pub(super) fn percent(share: f64) -> String {
    // adding 0 takes the sign from a negative zero
    format!("{:.0} %", share * 100.0 + 0.0)
}

/// A share of the points to a tenth of a percent, where games are so many that it means something.
fn points(share: f64) -> String {
    format!("{:.1} %", share * 100.0 + 0.0)
}

/// The answer to whether the game is balanced, in a few sentences; `None` if nothing was played.
pub fn answer(balance: &Balance) -> Option<String> {
    let verdict = balance.verdict.as_ref()?;
    let level = &balance.levels[*verdict.levels.last()?];
    let draws = match level.draws {
        0.0 => "none of their games was drawn".into(),
        draws => format!("{} of their games were drawn", percent(draws)),
    };
    let proven = proven(balance).map_or_else(String::new, |proven| format!("{proven} "));
    Some(format!(
        "{proven}{} At the strongest of these levels {draws}, and a game takes {} actions.",
        judgment(balance, verdict),
        number(level.character.length)
    ))
}

/// The proof in words, if there is one.
fn proven(balance: &Balance) -> Option<String> {
    let proof = balance.proof.as_ref()?;
    let outcome = proof.outcome?;
    let [first, second] = &balance.players;
    let keep = match (proof.keep.len(), proof.first_actions, outcome) {
        (_, _, Outcome::Win(Player::Second)) => "whatever the first action is".into(),
        (keep, all, _) if keep == all => "after any first action".into(),
        (keep, all, _) => format!("with {keep} of the {all} first actions ({})", proof.keep.join(", ")),
    };
    let result = match outcome {
        Outcome::Win(Player::First) => format!("{first}, who begins, wins"),
        Outcome::Win(Player::Second) => format!("{second}, who answers, wins"),
        Outcome::Draw => "it is a draw".into(),
    };
    Some(format!("Proved: with best play {result}, {keep}."))
}

/// What the games say about the advantage of who begins.
fn judgment(balance: &Balance, verdict: &Verdict) -> String {
    let [first, second] = &balance.players;
    let [score, low, high] = verdict.score;
    let within = number(verdict.within * 100.0);
    let is_proved = balance.proof.as_ref().is_some_and(|proof| proof.outcome.is_some());
    let games = format!(
        "{first} gets {} of the points ({} to {}) in {} games between {}",
        points(score),
        points(low),
        points(high),
        verdict.games,
        match verdict.levels.len() {
            // above it is perfect play
            1 if is_proved => "players of the strongest level that searches".into(),
            1 => "players of the strongest level".into(),
            levels => format!("equal players of the {levels} strongest levels, which agree"),
        }
    );
    let between = if is_proved {
        "Between the players that were measured"
    } else {
        "Between players who know the game"
    };
    let side = |player| match player {
        Player::First => format!("{first}, who begins,"),
        Player::Second => format!("{second}, who answers,"),
    };
    match (verdict.favors, verdict.is_fair, verdict.needed) {
        (None, true, _) => format!("{between} it is fair within {within} points: {games}."),
        (Some(player), true, _) => {
            format!(
                "{between} {} has an advantage, but one of less than {within} points: {games}.",
                side(player)
            )
        }
        (Some(player), false, _) => format!("{between} {} has an advantage: {games}.", side(player)),
        (None, false, _) if is_proved => format!("{between} no advantage can be told: {games}."),
        (None, false, needed) => {
            let needed = match needed {
                Some(games) => format!("; about {} games would", rounded_up(games)),
                None => ", and more would repeat them".into(),
            };
            format!("Whether it is fair within {within} points these games do not tell yet{needed}: {games}.")
        }
    }
}

/// The verdicts on several variants in one sentence; `None` if there is only one.
pub fn in_short(variants: &[Measured]) -> Option<String> {
    let told = variants.iter().filter_map(|Measured { name, balance, .. }| {
        let verdict = balance.verdict.as_ref()?;
        let side = |player: Player| &balance.players[player.index()];
        let proved = balance.proof.as_ref().and_then(|proof| proof.outcome);
        Some(match (proved, verdict.favors, verdict.is_fair) {
            (Some(Outcome::Win(player)), ..) => format!("{name} is won by {} (proved)", side(player)),
            (Some(Outcome::Draw), ..) => format!("{name} is a draw (proved)"),
            (None, None, true) => format!("{name} is fair within {} points", number(verdict.within * 100.0)),
            (None, Some(player), true) => {
                format!("{name} gives {} less than {} points", side(player), number(verdict.within * 100.0))
            }
            (None, Some(player), false) => format!("{name} gives {} an advantage", side(player)),
            (None, None, false) => format!("{name} is not told yet"),
        })
    });
    let told: Vec<String> = told.collect();
    (variants.len() > 1).then(|| format!("In short: {}.", told.join("; ")))
}

/// A number of games to two digits, rounded up.
fn rounded_up(games: usize) -> usize {
    let digits = games.max(1).ilog10().saturating_sub(1);
    let unit = 10usize.pow(digits);
    games.div_ceil(unit) * unit
}

/// What a swap rule would do, if anything is unfair.
fn swap(balance: &Balance) -> Option<String> {
    let swap = balance.swap.as_ref()?;
    let [score, low, high] = swap.score;
    let first = &balance.players[0];
    let within = balance.plan.within;
    let verdict = match (low > 0.5 + within, high < 0.5 - within) {
        (false, false) if low >= 0.5 - within && high <= 0.5 + within => "would make it fair",
        (false, false) => "may make it fair",
        _ => "on the first action would not make it fair",
    };
    Some(format!(
        "A swap rule (one player makes the first action, the other chooses a side) {verdict}: after {}, the most even first action, \
         {first} gets {} of the points ({} to {}) in {} other games.",
        swap.action,
        points(score),
        points(low),
        points(high),
        swap.games
    ))
}

/// First actions that nobody who knows the game plays.
fn blunders(balance: &Balance) -> Option<String> {
    let best = balance.openings.first()?.expected;
    let mut bad: Vec<&Opening> =
        balance.openings.iter().filter(|opening| best - opening.expected >= BLUNDER).collect();
    bad.reverse();
    let named: Vec<String> = bad
        .iter()
        .take(NAMED)
        .map(|opening| format!("{} ({})", opening.action, percent(opening.expected)))
        .collect();
    match bad.len() {
        0 => None,
        count => Some(format!(
            "{count} of {} first actions cost at least {} of the points: {}{}.",
            balance.openings.len(),
            percent(BLUNDER),
            named.join(", "),
            if count > NAMED { " ..." } else { "" }
        )),
    }
}

fn skill(balance: &Balance) -> String {
    let levels = balance.levels.len();
    format!(
        "The skill chain has {} certain links of {}, and {} more that these games allow: so often does a level win at least two of \
         three games against the one below.",
        balance.skill_chain,
        levels.saturating_sub(1),
        balance.possible_links - balance.skill_chain
    )
}

fn details(variant: &Measured, named: bool) -> Markup {
    let balance = &variant.balance;
    let heading = |text: &str| if named { format!("{text}: {}", variant.name) } else { text.to_string() };
    html! {
        h2 { (heading("Levels")) }
        (levels(balance))
        (endings(balance))
        h2 { (heading("Openings")) }
        p { "The first player's expected score after every first action, by " (judge(balance)) ", and the games of the strongest
            level that searches that began with it. Actions that a symmetry of the board maps to each other are listed separately." }
        @if let Some(blunders) = blunders(balance) { p { (blunders) } }
        div.boards { @for (drawing, caption) in &variant.openings { (board(drawing, caption)) } }
        (openings(balance))
        h2 { (heading("What games are like")) }
        div.charts {
            (lengths(balance).figure())
            (by_stage("Choices", "Legal actions, from the beginning of a game to its end.", "actions", &balance.stages.branching).figure())
            (by_stage("Pieces", "Pieces on the board.", "pieces", &balance.stages.pieces).figure())
            (by_stage("Safe leads", "The share of games in which some player expects at least 0.9 of the points.", "share",
                &balance.stages.safe_leads).figure())
            figure { h3 { "Squares used" }
                p { "How often an action touched each square, in games of the strongest level; the initial position is drawn." }
                (PreEscaped(&variant.used)) }
            @if !variant.winning.is_empty() {
                figure { h3 { "Squares that win" }
                    p { "How much more than half of the points a player gets who touches a square in games in which the other one does not." }
                    (PreEscaped(&variant.winning)) }
            }
        }
        @for (index, (why, positions)) in variant.games.iter().enumerate() {
            p.why { (why) }
            (strip(&format!("{}-{index}", id_of(&variant.name)), positions))
        }
    }
}

fn board(drawing: &str, caption: &str) -> Markup {
    html! { figure { (PreEscaped(drawing)) figcaption { (caption) } } }
}

/// A name as part of an element's id.
fn id_of(name: &str) -> String {
    name.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' }).collect()
}

/// Positions to click through, side by side.
fn strip(name: &str, positions: &[(String, String)]) -> Markup {
    let link = |to: usize| format!("#{name}-{to}");
    html! {
        div.strip tabindex="0" role="group" aria-label="The positions of a game" {
            @for (number, (drawing, caption)) in positions.iter().enumerate() {
                figure id=(format!("{name}-{number}")) {
                    (PreEscaped(drawing))
                    figcaption {
                        @if number > 0 { a href=(link(number - 1)) aria-label="The position before" { "‹ back" } " " }
                        @if number + 1 < positions.len() { a href=(link(number + 1)) aria-label="The next position" { "next ›" } }
                        br; (caption)
                    }
                }
            }
        }
    }
}

/// A histogram of the lengths of games of the strongest level that searches, in percent.
fn lengths(balance: &Balance) -> Chart {
    let lengths = balance.levels.iter().rev().map(|level| &level.lengths).find(|lengths| !lengths.is_empty());
    let lengths = lengths.cloned().unwrap_or_default();
    let (least, most) =
        (lengths.keys().next().copied().unwrap_or(0), lengths.keys().last().copied().unwrap_or(0));
    let width = (most + 1 - least).div_ceil(BINS).max(1);
    let all: usize = lengths.values().sum();
    let bins = (least..=most).step_by(width).map(|from| {
        let games: usize = lengths.range(from..from + width).map(|(_, games)| games).sum();
        (from as f64 + (width - 1) as f64 / 2.0, games as f64 / all.max(1) as f64)
    });
    one_line(
        "Lengths",
        &format!("The share of games of each length, {} together.", counted(width, "length", "lengths")),
        "share",
        "actions",
        bins.collect(),
    )
}

fn by_stage(title: &str, about: &str, unit: &str, values: &[f64]) -> Chart {
    let share = |stage: usize| (stage as f64 + 0.5) / STAGES as f64;
    let points = values.iter().enumerate().map(|(stage, value)| (share(stage), *value));
    one_line(title, about, unit, "share of the game", points.collect())
}

fn one_line(title: &str, about: &str, unit: &str, over: &str, points: Vec<(f64, f64)>) -> Chart {
    let series = Series { name: "the strongest level".into(), color: 0, line: 0, points, band: Vec::new() };
    let [title, about, unit, over] = [title, about, unit, over].map(String::from);
    Chart { title, about, unit, over, series: vec![series] }
}

/// The headings of columns.
pub(super) fn heads(names: &[&str]) -> Markup {
    html! { @for name in names { th scope="col" { (name) } } }
}

fn levels(balance: &Balance) -> Markup {
    html! {
        div.wide { table {
            thead { tr {
                (heads(&["level", "player", "first player's score", "draws", "against the level below", "distinct games"]))
            } }
            tbody {
                @for (at, level) in balance.levels.iter().enumerate() {
                    tr {
                        th scope="row" { (at + 1) } td { (level.name) }
                        td { (scored(level.first_score)) }
                        td { (percent(level.draws)) }
                        td { @if let Some(step) = at.checked_sub(1).and_then(|below| balance.steps.get(below)) { (scored(step.score)) } }
                        td { (level.distinct) " of " (level.games) }
                    }
                }
            }
        } }
        div.wide { table {
            thead { tr {
                (heads(&["level", "length", "choices", "game tree", "drama", "comebacks", "lost leads", "decided"]))
                (heads(&["proven from"]))
                (heads(&["lead changes", "killer move", "late uncertainty"]))
            } }
            tbody {
                @for (at, level) in balance.levels.iter().enumerate() {
                    @let of = &level.character;
                    tr {
                        th scope="row" { (at + 1) }
                        td { (number(of.length)) " (" (of.lengths[0]) " to " (of.lengths[1]) ")" }
                        td { (number(of.branching)) }
                        td { "10" sup { (format!("{:.0}", of.tree)) } }
                        td { (number_of(of.drama)) }
                        td { (share_of(of.comebacks)) }
                        td { (share_of(of.lost_leads)) }
                        td { (share_of(of.decided)) }
                        td { (level.proven_from.map_or("–".into(), |ply| (ply + 1).to_string())) }
                        td { (number(of.lead_changes)) }
                        td { (number(of.killer_move)) }
                        td { (number(of.late_uncertainty)) }
                    }
                }
            }
        } }
    }
}

/// A number that there may be none of.
pub(super) fn number_of(value: Option<f64>) -> String {
    value.map_or("–".into(), number)
}

/// A share that there may be none of.
pub(super) fn share_of(value: Option<f64>) -> String {
    value.map_or("–".into(), percent)
}

fn scored([score, low, high]: [f64; 3]) -> String {
    format!("{} ({} to {})", percent(score), percent(low), percent(high))
}

fn openings(balance: &Balance) -> Markup {
    let nearest = most_even(&balance.openings).map(|opening| opening.action.as_str());
    html! {
        table {
            thead { tr { (heads(&["action", "expected", "games", "scored"])) td {} } }
            tbody {
                @for opening in balance.openings.iter().take(LISTED) { (row(opening, nearest)) }
                @if let Some(opening) = balance.openings.iter().skip(LISTED).find(|o| Some(o.action.as_str()) == nearest) {
                    (row(opening, nearest))
                }
            }
        }
        @if balance.openings.len() > LISTED { p.facts { (balance.openings.len() - LISTED) " more, worse for the first player." } }
    }
}

fn row(opening: &Opening, nearest: Option<&str>) -> Markup {
    html! {
        tr {
            th scope="row" { code { (opening.action) } }
            td { (percent(opening.expected)) }
            td { (opening.games) }
            td { (opening.score.map(percent).unwrap_or_default()) }
            td { @if nearest == Some(opening.action.as_str()) { "the most even" } }
        }
    }
}

/// How games end at each level.
fn endings(balance: &Balance) -> Markup {
    let reasons: BTreeSet<&str> =
        balance.levels.iter().flat_map(|level| level.endings.keys().map(String::as_str)).collect();
    let told = |reason: &str| if reason.is_empty() { "no reason told" } else { reason }.to_string();
    html! {
        @if reasons.iter().any(|reason| !reason.is_empty()) {
            div.wide { table {
                thead { tr { (heads(&["level"])) @for reason in &reasons { th scope="col" { (told(reason)) } } } }
                tbody {
                    @for (at, level) in balance.levels.iter().enumerate() {
                        tr {
                            th scope="row" { (at + 1) }
                            @for reason in &reasons { td { (percent(level.endings.get(*reason).copied().unwrap_or(0.0))) } }
                        }
                    }
                }
            } }
        }
    }
}

/// One sentence for each metric, with its source.
const DEFINITIONS: [(&str, &str); 16] = [
    (
        "First player's score",
        "The mean result of the player who acts first: a win counts 1, a draw ½ (Ludii: AdvantageP1).",
    ),
    (
        "Against the level below",
        "The mean score of a level against the one below, sides alternating. Two thirds make a link of the skill chain (Ai Ai's \"levels of play\").",
    ),
    ("Draws", "The share of games that are drawn (Ludii: Drawishness)."),
    (
        "Length",
        "Actions in a game, on average, and those of the shortest and the longest one (Browne 2008, duration).",
    ),
    ("Choices", "Legal actions in a position, on average (Ludii: branching factor)."),
    (
        "Game tree",
        "The product of the numbers of choices along a game, on average as a logarithm (Allis 1994, game-tree complexity).",
    ),
    (
        "Drama",
        "How far the later winner was behind, on average over the positions in which he was: the square root of the deficit (Browne 2008, 6.3).",
    ),
    (
        "Comebacks",
        "The share of decided games whose winner once expected at most 0.4 (of this page; what Browne's drama is about).",
    ),
    (
        "Lost leads",
        "The share of decided games whose loser once expected at least 0.9: a lead that looked safe was lost (of this page).",
    ),
    (
        "Decided",
        "How soon a lead is final: the share of a game that was played after it (Browne 2008, decisiveness).",
    ),
    (
        "Lead changes",
        "How often the leading player changes, where a lead is an expected score of at least 0.6 (Browne 2008, 6.3).",
    ),
    (
        "Proven from",
        "The ply from which on the search knows the result for certain, in half of the games (of this page).",
    ),
    (
        "Killer move",
        "The greatest change of the expected score by one action of a game (Browne 2008, killer moves).",
    ),
    (
        "Late uncertainty",
        "How open the last quarter of a game is: 1 if every position is level, 0 if all are decided (Browne 2008, uncertainty).",
    ),
    (
        "Distinct games",
        "Games that repeat another move by move tell nothing new; in the bounds all games count as what their clusters are worth (Kish 1965).",
    ),
    (
        "Squares used",
        "How often an action touched a square (Ludii: board coverage, which counts the squares ever used).",
    ),
];

fn definitions() -> Markup {
    html! {
        table { tbody { @for (name, text) in DEFINITIONS { tr { th scope="row" { (name) } td { (text) } } } } }
        p.facts { "C. Browne, Automatic Generation and Evaluation of Recombination Games, 2008; L. V. Allis, Searching for Solutions in Games
            and Artificial Intelligence, 1994; the metrics of the Ludii system; the reports of Ai Ai." }
    }
}

//! The designer's page: the measurements in words, pictures, and tables.

use std::collections::BTreeSet;

use maud::{Markup, PreEscaped, html};

pub use super::drawn::Measured;
use super::figures::{heads, number_of, percent, share_of};
use super::known::beside;
use super::swap::most_even;
use super::words::{answer, beginnings, blunders, in_short, judged, plan, shown, skill, swap};
use super::{Balance, Equals, Opening, STAGES};
use crate::report::chart::{Chart, Series, counted, number};
use crate::report::page;

/// The maximum number of openings in the table; the JSON output has all openings.
const LISTED: usize = 24;
/// The largest number of bars in a histogram of lengths.
const BINS: usize = 20;

/// Returns the page about one variant, or about several side by side.
pub fn page(title: &str, byline: &str, variants: &[Measured]) -> String {
    let is_alone = variants.len() == 1;
    let names: Vec<String> =
        variants.iter().map(|variant| format!("{}, {} board", variant.name, variant.board)).collect();
    let body = html! {
        h1 { "Is " (title) " balanced?" }
        p.facts { (title) " (" (names.join("; ")) "), " (byline) "." }
        @if let Some(short) = in_short(variants) { p { b { (short) } } }
        @for variant in variants { (verdict(variant, !is_alone)) }
        p.facts { (plan(&variants[0].balance.plan)) }
        h2 { "From beginners to experts" }
        div.charts {
            (by_level(variants, "First player's score", "Between equal players of each level, with 95 % bounds; ½ is \
                even. Beginners are on the left, experts on the right.", "score", first_score).figure())
            (by_level(variants, "Draws", "The share of games between equal players that are \
                drawn.", "share", |level| [level.draws; 3]).figure())
            (by_level(variants, "Length", "The mean number of actions in a game between equal players.", "actions",
                |level| [level.character.length; 3]).figure())
            (by_level(variants, "Lead changes", "How often the leading player changes in a game, where a lead is an \
                expected score of at least 0.6 (Browne 2008, \
                6.3).", "changes", |level| [level.character.lead_changes; 3]).figure())
        }
        (beside(variants))
        @for variant in variants { (details(variant, !is_alone)) }
        h2 { "What the numbers mean" }
        (definitions())
    };
    let names: Vec<&str> = variants.iter().map(|variant| &*variant.name).collect();
    page::page(&heading(title, &names), &body)
}

/// Returns the page about these variants before anything is measured. Comparing its title with that of an existing
/// file shows whether the file is the same page.
pub fn unmeasured(title: &str, names: &[&str]) -> String {
    page::page(&heading(title, names), &html! {})
}

fn heading(title: &str, names: &[&str]) -> String {
    format!("Is {title} balanced? ({})", names.join(", "))
}

fn first_score(level: &Equals) -> [f64; 3] {
    level.first_score
}

/// Returns the chart of one measure across the levels, in order of strength.
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
        let has_band = values.iter().any(|(_, [_, low, high])| low < high);
        Series {
            name: variant.name.clone(),
            color,
            line: 0,
            points: values.iter().map(|(x, [mean, ..])| (*x, *mean)).collect(),
            band: values
                .iter()
                .filter(|_| has_band)
                .map(|(x, [_, low, high])| (*x, Some(*low), Some(*high)))
                .collect(),
        }
    });
    let (title, about, unit) = (title.into(), about.into(), unit.into());
    Chart { title, about, unit, over: "level".into(), series: series.collect() }
}

/// Returns the verdict of the games on a variant, in words.
fn verdict(variant: &Measured, has_name: bool) -> Markup {
    let balance = &variant.balance;
    let Some(answer) = answer(balance) else { return html! {} };
    html! {
        @if has_name { h2 { (variant.name) } }
        p { (variant.rules) }
        p { b { (answer) } }
        @if let Some(swap) = swap(balance) { p { (swap) } }
        p { (skill(balance)) }
        p.facts { (beginnings(balance)) }
    }
}

fn details(variant: &Measured, has_name: bool) -> Markup {
    let balance = &variant.balance;
    let heading = |text: &str| if has_name { format!("{text}: {}", variant.name) } else { text.to_string() };
    html! {
        h2 { (heading("Levels")) }
        (levels(balance))
        (endings(balance))
        h2 { (heading("Openings")) }
        p { "Every first action: the first player's expected score after it, " (judged(balance)) ", and the games \
            of " (shown(balance))
            " that began with it. Actions that a symmetry of the board maps to each other are listed separately." }
        @if let Some(blunders) = blunders(balance) { p { (blunders) } }
        div.boards { @for (drawing, caption) in &variant.openings { (board(drawing, caption)) } }
        (openings(balance))
        h2 { (heading("What games are like")) }
        div.charts {
            (lengths(balance).figure())
            (by_stage(balance, "Choices", "The number of legal actions, from the beginning of a game to its end.",
                "actions", &balance.stages.branching).figure())
            (by_stage(balance, "Pieces", "The number of pieces on the \
                board.", "pieces", &balance.stages.pieces).figure())
            (by_stage(balance, "Safe leads", "The share of games in which some player expects at least 0.9 of the \
                points.", "share",
                &balance.stages.safe_leads).figure())
            figure { h3 { "Squares used" }
                p { "How often an action touched each square, in games of " (shown(balance)) "; the drawing shows the \
                    initial position." }
                (PreEscaped(&variant.used)) }
            @if !variant.winning.is_empty() {
                figure { h3 { "Squares that win" }
                    p { "How far a player's score exceeds half of the points in games in which that player touches the \
                        square and the other player does not." }
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

/// Returns a name in a form that can be part of an element's id.
fn id_of(name: &str) -> String {
    name.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' }).collect()
}

/// Returns positions to click through, side by side.
fn strip(name: &str, positions: &[(String, String)]) -> Markup {
    let link = |to: usize| format!("#{name}-{to}");
    html! {
        div.strip tabindex="0" role="group" aria-label="The positions of a game" {
            @for (number, (drawing, caption)) in positions.iter().enumerate() {
                figure id=(format!("{name}-{number}")) {
                    (PreEscaped(drawing))
                    figcaption {
                        @if number > 0 { a href=(link(number - 1)) aria-label="The previous position" { "‹ back" } " " }
                        @if number + 1 < positions.len() { a href=(link(number + 1)) aria-label="The next \
                            position" { "next ›" } }
                        br; (caption)
                    }
                }
            }
        }
    }
}

/// Returns a histogram of the lengths of the shown games.
fn lengths(balance: &Balance) -> Chart {
    let lengths = balance.levels.get(balance.shown).map(|level| level.lengths.clone()).unwrap_or_default();
    let (shortest, longest) =
        (lengths.keys().next().copied().unwrap_or(0), lengths.keys().last().copied().unwrap_or(0));
    let width = (longest + 1 - shortest).div_ceil(BINS).max(1);
    let all: usize = lengths.values().sum();
    let bins = (shortest..=longest).step_by(width).map(|from| {
        let games: usize = lengths.range(from..from + width).map(|(_, games)| games).sum();
        (from as f64 + (width - 1) as f64 / 2.0, games as f64 / all.max(1) as f64)
    });
    one_line(
        balance,
        "Lengths",
        &format!(
            "The share of games of each length; each point stands for {}.",
            counted(width, "length", "lengths")
        ),
        "share",
        "actions",
        bins.collect(),
    )
}

fn by_stage(balance: &Balance, title: &str, about: &str, unit: &str, values: &[Option<f64>]) -> Chart {
    let share = |stage: usize| (stage as f64 + 0.5) / STAGES as f64;
    let points = values.iter().enumerate().filter_map(|(stage, value)| Some((share(stage), (*value)?)));
    one_line(balance, title, about, unit, "share of the game", points.collect())
}

fn one_line(
    balance: &Balance,
    title: &str,
    about: &str,
    unit: &str,
    over: &str,
    points: Vec<(f64, f64)>,
) -> Chart {
    let series = Series { name: shown(balance), color: 0, line: 0, points, band: Vec::new() };
    let [title, about, unit, over] = [title, about, unit, over].map(String::from);
    Chart { title, about, unit, over, series: vec![series] }
}

fn levels(balance: &Balance) -> Markup {
    html! {
        div.wide { table {
            thead { tr {
                (heads(&["level", "player", "first player's score", "draws", "against the level below",
                    "distinct games"]))
            } }
            tbody {
                @for (at, level) in balance.levels.iter().enumerate() {
                    tr {
                        th scope="row" { (at + 1) } td { (level.name) }
                        td { (scored(level.first_score)) }
                        td { (percent(level.draws)) }
                        td { @if let Some(step) = at.checked_sub(1).and_then(|below| balance.steps.get(below)) {
                            (scored(step.score)) } }
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
                @if let Some(opening) = balance.openings.iter().skip(LISTED).find(|o|
                    Some(o.action.as_str()) == nearest) {
                    (row(opening, nearest))
                }
            }
        }
        @if balance.openings.len() > LISTED { p.facts { "Of the " (balance.openings.len()) " first actions, the table \
            shows the " (LISTED) " that are best for the first player, the best one first, and the most even one." } }
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

/// Returns a table of how games end at each level.
fn endings(balance: &Balance) -> Markup {
    let reasons: BTreeSet<&str> =
        balance.levels.iter().flat_map(|level| level.endings.keys().map(String::as_str)).collect();
    let label = |reason: &str| if reason.is_empty() { "no reason given" } else { reason }.to_string();
    html! {
        @if reasons.iter().any(|reason| !reason.is_empty()) {
            div.wide { table {
                thead { tr { (heads(&["level"])) @for reason in &reasons { th scope="col" { (label(reason)) } } } }
                tbody {
                    @for (at, level) in balance.levels.iter().enumerate() {
                        tr {
                            th scope="row" { (at + 1) }
                            @for reason in &reasons { td {
                                (percent(level.endings.get(*reason).copied().unwrap_or(0.0))) } }
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
        "The mean score of a level against the level below, with alternating sides. A score of at least two thirds \
            makes a link of the skill chain (Ai Ai's \"levels of play\").",
    ),
    ("Draws", "The share of games that are drawn (Ludii: Drawishness)."),
    (
        "Length",
        "The mean number of actions in a game, and the lengths of the shortest and the longest game (Browne 2008, \
            duration).",
    ),
    ("Choices", "The mean number of legal actions in a position (Ludii: branching factor)."),
    (
        "Game tree",
        "The product of the numbers of choices at all plies of a game; the table shows its geometric mean over games \
            (Allis 1994, game-tree complexity).",
    ),
    (
        "Drama",
        "How far the eventual winner was behind, on average over the positions in which this player was behind: the \
            square root of the deficit (Browne 2008, 6.3).",
    ),
    (
        "Comebacks",
        "The share of decided games whose winner once had an expected score of at most 0.4 (defined for this page, \
            after the idea of Browne's drama).",
    ),
    (
        "Lost leads",
        "The share of decided games whose loser once had an expected score of at least 0.9: a lead that looked safe \
            was lost (defined for this page).",
    ),
    (
        "Decided",
        "How soon a lead is final: the share of a game, without its opening, that was played after the winner took the \
            lead for good (Browne 2008, decisiveness).",
    ),
    (
        "Lead changes",
        "How often the leading player changes, where a lead is an expected score of at least 0.6 (Browne 2008, 6.3).",
    ),
    (
        "Proven from",
        "The ply by which the search knows the results of half of the games for certain (defined for this page).",
    ),
    (
        "Killer move",
        "The greatest change of the expected score by one action of a game (Browne 2008, killer moves).",
    ),
    (
        "Late uncertainty",
        "How open the last quarter of a game is: 1 if every position is even, 0 if every position is decided (Browne \
            2008, uncertainty).",
    ),
    (
        "Distinct games",
        "The number of different games. A game that repeats another one move by move shows nothing new, so the bounds \
            treat repeated games as clusters, in which each game has less weight (Kish 1965).",
    ),
    (
        "Squares used",
        "How often an action touched a square (Ludii: board coverage, which counts the squares ever used).",
    ),
];

fn definitions() -> Markup {
    html! {
        table { tbody { @for (name, text) in DEFINITIONS { tr { th scope="row" { (name) } td { (text) } } } } }
        p.facts { "C. Browne, Automatic Generation and Evaluation of Recombination Games, 2008; L. V. Allis, Searching \
            for Solutions in Games
            and Artificial Intelligence, 1994; the metrics of the Ludii system; the reports of Ai Ai." }
    }
}

//! The designer's page: the measurements in words, pictures and tables.

use std::collections::BTreeMap;

use maud::{Markup, PreEscaped, html};

use super::{Balance, Equals, Opening};
use crate::any::Opened;
use crate::draw::{self, Marks};
use crate::game::Game;
use crate::report::chart::{Chart, Series, number};
use crate::report::page;

/// The number of openings that are listed; the JSON output has all of them.
const LISTED: usize = 24;
/// A first player's expected score that is at most this far from ½ counts as even.
const EVEN: f64 = 0.05;

/// A measured variant: its drawing with heat, and its numbers.
#[derive(Debug)]
pub struct Measured {
    /// Its name on the page.
    pub name: String,
    /// The numbers.
    pub balance: Balance,
    /// The squares where its actions happen, as SVG.
    pub squares: String,
}

impl Measured {
    /// Draws the result of [`super::measure`].
    pub fn new(rules: &Opened, name: String, balance: Balance) -> Measured {
        let places = balance.heat.iter().enumerate().flat_map(|(y, row)| {
            row.iter()
                .enumerate()
                .filter(|(_, heat)| **heat > 0.0)
                .map(move |(x, heat)| (vec![(y, x)], *heat))
        });
        let marks = Marks { weights: places.collect(), ..Marks::default() };
        let game = &rules.game;
        let squares = draw::svg(game, &game.initial(), &marks, "how often each square was used");
        Measured { name, balance, squares }
    }
}

/// The page about one variant, or about several side by side.
pub fn page(title: &str, byline: &str, variants: &[Measured]) -> String {
    let body = html! {
        h1 { "Is " (title) " balanced?" }
        p.facts { (title) ", " (byline) ". " (method(&variants[0].balance)) }
        @for variant in variants { (verdict(variant, variants.len() > 1)) }
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
        @for variant in variants { (details(variant, variants.len() > 1)) }
        h2 { "What the numbers mean" }
        (definitions())
    };
    page::page(&format!("Is {title} balanced?"), &body)
}

fn method(balance: &Balance) -> String {
    format!(
        "{} games of each level against itself and as many against the level below; in the first {} plies an action is drawn \
         from the visits of the search, afterward the best one is played; seed {}. The evaluation of a position is the \
         expected score of the search of whoever is to act.",
        balance.plan.games, balance.plan.varied_plies, balance.plan.seed
    )
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
        p { b { (answer) } }
        p { (swap(balance)) }
        p { (skill(balance)) }
    }
}

fn percent(share: f64) -> String {
    // adding 0 takes the sign from a negative zero
    format!("{:.0} %", share * 100.0 + 0.0)
}

/// The answer to whether the game is balanced, in a sentence or two; `None` if nothing was played.
pub fn answer(balance: &Balance) -> Option<String> {
    let level = balance.levels.last()?;
    let [score, low, high] = level.first_score;
    let bounds = format!("{} ({} to {}) of the points", percent(score), percent(low), percent(high));
    let first = &balance.players[0];
    let verdict = match (low > 0.5, high < 0.5) {
        (true, _) => format!("{first}, who begins, has an advantage"),
        (_, true) => format!("{first}, who begins, is at a disadvantage"),
        _ if high - low <= 0.2 => "no advantage for either side can be seen".into(),
        _ => "these games do not tell which side has an advantage".into(),
    };
    let draws = match level.draws {
        0.0 => "None of the games was drawn".into(),
        draws => format!("{} of the games were drawn", percent(draws)),
    };
    let repeated = match level.games - level.distinct {
        0 => String::new(),
        repeated => format!(" ({repeated} of the {} games repeat another)", level.games),
    };
    Some(format!(
        "Between the strongest players, {}, {verdict}: {first} gets {bounds}. {draws}{repeated}; a game takes {} actions.",
        level.name,
        number(level.character.length)
    ))
}

fn nearest(balance: &Balance) -> Option<&Opening> {
    let distance = |opening: &&Opening| (opening.expected - 0.5).abs();
    balance.openings.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)))
}

fn swap(balance: &Balance) -> String {
    let Some(opening) = nearest(balance) else { return String::new() };
    let score = percent(opening.expected);
    match (opening.expected - 0.5).abs() <= EVEN {
        true => format!(
            "With a swap rule (one player makes the first action, the other chooses a side) the search expects an even game: after {} \
             the first player has {score}.",
            opening.action
        ),
        false => format!(
            "A swap rule on the first action would not make it fair: the most even one, {}, still gives the first player {score}.",
            opening.action
        ),
    }
}

fn skill(balance: &Balance) -> String {
    let levels = balance.levels.len();
    format!(
        "The skill chain has {} of {} possible links: so often does a level win at least two of three games against the one below.",
        balance.skill_chain,
        levels.saturating_sub(1)
    )
}

fn details(variant: &Measured, named: bool) -> Markup {
    let balance = &variant.balance;
    let heading = |text: &str| if named { format!("{text}: {}", variant.name) } else { text.to_string() };
    let strongest = balance.levels.last();
    html! {
        h2 { (heading("Levels")) }
        (levels(balance))
        h2 { (heading("Openings")) }
        p { "The first player's expected score after every first action, by a search of the strongest level, and the games of that
            level that began with it. Actions that a symmetry of the board maps to each other are listed separately." }
        (openings(balance))
        @if let Some(level) = strongest {
            h2 { (heading("What games are like")) }
            div.charts {
                figure { h3 { "Squares used" }
                    p { "How often an action touched each square, in games of the strongest level; the initial position is drawn." }
                    (PreEscaped(&variant.squares)) }
                figure { h3 { "How games end" } (endings(&level.endings)) }
            }
        }
    }
}

/// The headings of columns.
fn heads(names: &[&str]) -> Markup {
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
                (heads(&["level", "length", "choices", "game tree", "drama", "comebacks", "decided"]))
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
                        td { (of.drama.map_or("–".into(), number)) }
                        td { (of.comebacks.map_or("–".into(), percent)) }
                        td { (of.decided.map_or("–".into(), percent)) }
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
    let nearest = nearest(balance).map(|opening| opening.action.as_str());
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

fn endings(endings: &BTreeMap<String, f64>) -> Markup {
    html! {
        table { tbody {
            @for (ending, share) in endings {
                tr { th scope="row" { @if ending.is_empty() { "no reason told" } @else { (ending) } } td { (percent(*share)) } }
            }
        } }
    }
}

/// One sentence for each metric, with its source.
const DEFINITIONS: [(&str, &str); 14] = [
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
        "Decided",
        "How soon a lead is final: the share of a game that was played after it (Browne 2008, decisiveness).",
    ),
    (
        "Lead changes",
        "How often the leading player changes, where a lead is an expected score of at least 0.6 (Browne 2008, 6.3).",
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
        "Games that repeat another move by move tell nothing new; the bounds of the first player's score count them once (of this page).",
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

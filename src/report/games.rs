//! Recorded games as diagrams, with what the search thought.

use maud::{Markup, PreEscaped, html};

use super::chart::{Chart, Series};
use super::numbers::Numbers;
use crate::draw::{self, Marks};
use crate::game::{Action, Game, Outcome, Rules, outcome_text};
use crate::replay::record::Record;
use crate::replay::store;
use crate::search::tree::for_first;

/// Games of a run that are shown.
const GAMES: usize = 3;
/// Diagrams of a game.
const DIAGRAMS: usize = 4;
/// Actions of a search that are named below a diagram.
const NAMED: usize = 4;

/// What the diagrams show.
pub(super) const ABOUT: &str = "The shortest, a typical and the longest of those recorded in one shard, from the initial position if there are such. Arrows, or dots, are the \
    actions that the search visited, wider where it visited more; the squares of the last action are marked. The curve \
    is the search's expected score for the first player. A search of self-play explores: its last visits are not its advice.";

/// A ply of a game with what the search found.
struct Step<S> {
    state: S,
    /// The shares of the actions' visits, greatest first; none if the ply was not searched or not trained on.
    shares: Vec<(Action, f32)>,
    /// The first player's expected score, 0 to 1.
    score: f64,
    action: Action,
}

/// Some games of the newest generation; none if they are not there or cannot be read.
pub(super) fn shown<G: Game>(rules: &Rules<G>, run: &Numbers) -> Vec<Markup> {
    let shards = store::list(&run.folder).unwrap_or_default();
    let newest = shards.iter().rev().find(|(generation, _)| *generation == run.generations);
    let records = newest.and_then(|(_, path)| store::read_unplayed(path).ok()).unwrap_or_default();
    let mut records: Vec<Record> = records.into_iter().filter(|record| !record.actions.is_empty()).collect();
    // games from the usual start tell more than those that go on with another
    let initial = rules.game.state_text(&rules.game.initial());
    if records.iter().any(|record| record.start == initial) {
        records.retain(|record| record.start == initial);
    }
    records.sort_by_key(|record| (record.actions.len(), record.index));
    let last = records.len().saturating_sub(1);
    let mut chosen = vec![0, last / 2, last];
    chosen.dedup();
    chosen.truncate(GAMES.min(records.len()));
    chosen.into_iter().filter_map(|index| game(rules, &records[index])).collect()
}

fn game<G: Game>(rules: &Rules<G>, record: &Record) -> Option<Markup> {
    let game = &rules.game;
    let mut steps: Vec<Step<G::State>> = Vec::new();
    let last = record.replay(rules, |ply| {
        let sum: u32 = ply.policy.iter().map(|(_, weight)| weight).sum();
        let mut shares: Vec<(Action, f32)> =
            ply.policy.iter().map(|&(action, weight)| (action, weight as f32 / sum.max(1) as f32)).collect();
        shares.sort_by(|a, b| b.1.total_cmp(&a.1));
        let value = f64::from(for_first(game.to_move(ply.state), ply.wdl.value()));
        let action =
            game.parse_action(ply.state, &record.actions[steps.len()]).expect("the replay checked it");
        steps.push(Step { state: ply.state.clone(), shares, score: (value + 1.0) / 2.0, action });
    });
    let last = last.ok()?;
    let result = outcome_text(game, Outcome::from_id(&record.outcome)?);
    let ending = game.ending(&last);
    let ending = if ending.is_empty() { String::new() } else { format!(" ({ending})") };
    let chart = Chart {
        title: format!("Game {}: {result} after {} actions{ending}", record.index, steps.len()),
        about: record.actions.join(" "),
        unit: "score".into(),
        over: "ply".into(),
        series: vec![Series {
            name: format!("expected score of {}", game.players()[0]),
            color: 0,
            line: 0,
            points: steps.iter().enumerate().map(|(ply, step)| (ply as f64, step.score)).collect(),
            band: Vec::new(),
        }],
    };
    Some(html! {
        div.game {
            div.curve { (chart.figure()) }
            div.boards {
                @for ply in plies(&steps) { (diagram(game, &steps, ply)) }
                figure {
                    (PreEscaped(draw::svg(game, &last, &after(game, &steps, steps.len()), "the last position")))
                    figcaption { "The end: " (result) (ending) }
                }
            }
        }
    })
}

/// The marks of the action that led to a ply.
fn after<G: Game>(game: &G, steps: &[Step<G::State>], ply: usize) -> Marks {
    let before = ply.checked_sub(1).map(|before| &steps[before]);
    before.map_or_else(Marks::default, |step| Marks::after(game, &step.state, step.action))
}

fn diagram<G: Game>(game: &G, steps: &[Step<G::State>], ply: usize) -> Markup {
    let step = &steps[ply];
    let marks = after(game, steps, ply).with_shares(game, &step.state, &step.shares);
    let text = |action: Action| game.action_text(&step.state, action);
    let named: Vec<String> = step
        .shares
        .iter()
        .take(NAMED)
        .map(|&(a, share)| format!("{} {:.0} %", text(a), share * 100.0))
        .collect();
    let who = game.players()[game.to_move(&step.state).index()];
    html! {
        figure {
            (PreEscaped(draw::svg(game, &step.state, &marks, &format!("ply {ply}, {who} to move"))))
            figcaption {
                "Ply " (ply) ": " (who) " plays " (text(step.action)) ". Score of " (game.players()[0]) ": "
                (format!("{:.2}", step.score)) ". Visits: " (named.join(", "))
            }
        }
    }
}

/// The searched plies after which the expected score changed most, in order.
fn plies<S>(steps: &[Step<S>]) -> Vec<usize> {
    let change = |ply: usize| steps.get(ply + 1).map_or(0.0, |next| (next.score - steps[ply].score).abs());
    let mut plies: Vec<usize> = (0..steps.len()).filter(|ply| !steps[*ply].shares.is_empty()).collect();
    plies.sort_by(|a, b| change(*b).total_cmp(&change(*a)));
    plies.truncate(DIAGRAMS);
    plies.sort_unstable();
    plies
}

//! Shows recorded games as diagrams, with the results of the search.

use maud::{Markup, PreEscaped, html};

use super::chart::{Chart, Series};
use super::numbers::RunNumbers;
use crate::any::{AnyGame, AnyState, Opened};
use crate::draw::{self, Marks};
use crate::error::Error;
use crate::game::{Action, Game, Outcome, Player};
use crate::replay::record::Record;
use crate::replay::store;
use crate::search::tree::for_first;

/// The number of diagrams of a game at the turning points of its curve.
const DIAGRAMS: usize = 3;
/// The number of a search's actions that are named below a diagram.
const NAMED: usize = 4;
/// A search advises an action unless the search's best action has more than this many times the action's weight.
const ADVISED: u32 = 4;
/// The minimum room, in characters, for the small diagrams that show the whole games of a run.
const PLAYED_THROUGH: usize = 50_000;

/// The text above the diagrams.
pub(super) const ABOUT: &str = "These games are selected from the generation's games that begin at the initial \
    position, or from all of its games if none does; the text above each game says why it was selected. Arrows and \
    dots show the actions that the search visited; larger ones had more visits. The squares of the last action are \
    marked. The curve is the first player's expected score according to the search; it is a straight line across \
    actions that were drawn without a search. In self-play, the search explores, so its final visits are not a \
    recommendation.";

/// A ply of a game with the results of the search.
struct Shot {
    state: AnyState,
    /// The shares of the actions' visits, greatest first; empty if the ply was not searched or is not used for
    /// training.
    shares: Vec<(Action, f32)>,
    /// The first player's expected score, from 0 to 1; `None` if there was no search.
    score: Option<f64>,
    action: Action,
}

/// A replayed game.
struct Walkthrough {
    steps: Vec<Shot>,
    last: AnyState,
    /// The winner, and the way of winning.
    result: String,
    ending: String,
}

/// Returns some games of the newest generation, in about `room` characters, preceded by the errors of games that cannot
/// be read.
pub(super) fn shown(rules: &Opened, run: &RunNumbers, room: usize) -> Vec<Markup> {
    let (mut records, mut errors): (Vec<Record>, Vec<Markup>) = Default::default();
    let mut keep = |error: &Error| {
        errors.push(html! { p.why { "Some games cannot be read: " (error) ". For details, run " code {
        "petteia inspect" } "." } });
    };
    let shards = store::list(&run.folder).inspect_err(&mut keep).unwrap_or_default();
    for (_, path) in shards.iter().filter(|(generation, _)| *generation == run.generations) {
        records.extend(store::read_unplayed(path).inspect_err(&mut keep).unwrap_or_default());
    }
    records.retain(|record| !record.actions.is_empty());
    // games from the usual start show more than those that continue another game
    let initial = rules.game.state_text(&rules.game.initial());
    if records.iter().any(|record| record.start == initial) {
        records.retain(|record| record.start == initial);
    }
    let selection = picked(&rules.game, &records, |record| upset(rules, record));
    let mut games = Vec::new();
    for (index, reason) in selection {
        let Some(replayed) = replay(rules, &records[index]) else { continue };
        games.push((summary(&rules.game, &records[index], &replayed, &reason), replayed));
    }
    let length: usize = games.iter().map(|(summary, _)| summary.0.len()).sum();
    let (mut room, mut count) = (room.saturating_sub(length).max(PLAYED_THROUGH), games.len());
    let sections = games.into_iter().map(|(summary, replayed)| {
        // room that short games do not need is shared among the other games
        let diagrams = played_through(&rules.game, &replayed.steps, room / count);
        (room, count) = (room.saturating_sub(diagrams.0.len()), count - 1);
        html! { div.game { (summary) (diagrams) } }
    });
    errors.into_iter().chain(sections).collect()
}

/// The ply at which the loser expected the highest score.
struct Upset {
    ply: usize,
    score: f64,
    loser: Player,
}

/// Returns the expectation of a game that was furthest from the result: the loser's highest expected score; `None` if
/// that score never exceeded ½. A loss after an action against the search's advice is no surprise, so only expectations
/// after the last such action count.
fn upset(rules: &Opened, record: &Record) -> Option<Upset> {
    let Outcome::Win(winner) = Outcome::from_id(&record.outcome)? else { return None };
    let (loser, game) = (winner.other(), &rules.game);
    let (mut largest, mut index) = (None, 0);
    let values: Vec<Option<f32>> = record.values().collect();
    let replayed = record.replay(rules, |ply| {
        let own = game.to_move(ply.state) == loser;
        let action = game.parse_action(ply.state, &record.actions[index]).expect("the replay checked it");
        let score = values[index].map(|value| (f64::from(if own { value } else { -value }) + 1.0) / 2.0);
        match score {
            _ if own && !is_advised(&ply.policy, action) => largest = None,
            Some(score) if largest.is_none_or(|(_, highest)| score > highest) => {
                largest = Some((index, score));
            }
            _ => {}
        }
        index += 1;
    });
    replayed.ok().filter(|_| record.has_values())?;
    largest.filter(|(_, score)| *score > 0.5).map(|(ply, score)| Upset { ply, score, loser })
}

/// Returns whether a search with these results advises an action. Fast searches, whose results are not recorded, advise
/// no action.
fn is_advised(policy: &[(Action, u32)], action: Action) -> bool {
    let best = policy.iter().map(|(_, weight)| *weight).max().unwrap_or(0);
    policy.iter().any(|&(advised, weight)| advised == action && ADVISED * weight >= best)
}

/// Returns a varied selection of games, each with the reason why it was picked.
fn picked(
    game: &AnyGame,
    records: &[Record],
    upset: impl Fn(&Record) -> Option<Upset>,
) -> Vec<(usize, String)> {
    let mut by_length: Vec<usize> = (0..records.len()).collect();
    by_length.sort_by_key(|&index| (records[index].actions.len(), records[index].index));
    let (Some(&shortest), Some(&longest)) = (by_length.first(), by_length.last()) else { return Vec::new() };
    let mut selection: Vec<(usize, String)> = Vec::new();
    let mut pick = |index: usize, reason: String| match selection
        .iter_mut()
        .find(|(known, _)| *known == index)
    {
        Some((_, reasons)) => *reasons += &format!(" Also {}{}", reason[..1].to_lowercase(), &reason[1..]),
        None => selection.push((index, reason)),
    };
    pick(shortest, format!("The shortest of {} games.", records.len()));
    pick(by_length[by_length.len() / 2], "The game of median length.".into());
    pick(longest, "The longest.".into());
    let upsets = (0..records.len()).filter_map(|index| Some((index, upset(&records[index])?)));
    if let Some((index, upset)) = upsets.max_by(|a, b| a.1.score.total_cmp(&b.1.score)) {
        let loser = game.about().player(upset.loser);
        let (ply, score) = (upset.ply, upset.score);
        pick(
            index,
            format!(
                "The most surprising: at ply {ply}, the search expected a score of {score:.2} for {loser}, who lost."
            ),
        );
    }
    let draws: Vec<usize> = by_length.into_iter().filter(|&index| records[index].outcome == "draw").collect();
    if let Some(&draw) = draws.get(draws.len() / 2) {
        let reason =
            if draws.len() == 1 { "The only draw.".into() } else { format!("One of {} draws.", draws.len()) };
        pick(draw, reason);
    }
    selection
}

fn replay(rules: &Opened, record: &Record) -> Option<Walkthrough> {
    let game = &rules.game;
    let mut steps: Vec<Shot> = Vec::new();
    let values: Vec<Option<f32>> = record.values().collect();
    let last = record.replay(rules, |ply| {
        let sum: u32 = ply.policy.iter().map(|(_, weight)| weight).sum();
        let mut shares: Vec<(Action, f32)> =
            ply.policy.iter().map(|&(action, weight)| (action, weight as f32 / sum.max(1) as f32)).collect();
        shares.sort_by(|a, b| b.1.total_cmp(&a.1));
        let score = values[steps.len()]
            .map(|value| (f64::from(for_first(game.to_move(ply.state), value)) + 1.0) / 2.0);
        let action =
            game.parse_action(ply.state, &record.actions[steps.len()]).expect("the replay checked it");
        steps.push(Shot { state: ply.state.clone(), shares, score, action });
    });
    let last = last.ok()?;
    let result = record.result(game);
    let ending = if record.ended.is_some() { "" } else { game.ending(&last) };
    let ending = if ending.is_empty() { String::new() } else { format!(" ({ending})") };
    Some(Walkthrough { steps, last, result, ending })
}

/// Returns a game: the reason why it is shown, its curve, and diagrams where the expectations changed most.
fn summary(game: &AnyGame, record: &Record, replayed: &Walkthrough, reason: &str) -> Markup {
    let Walkthrough { steps, last, result, ending } = replayed;
    let chart = Chart {
        title: format!("Game {}: {result} after {} actions{ending}", record.index, steps.len()),
        about: record.actions.join(" "),
        unit: "score".into(),
        over: "ply".into(),
        series: vec![Series {
            name: format!("expected score of {}", game.about().player(Player::First)),
            color: 0,
            line: 0,
            points: steps
                .iter()
                .enumerate()
                .filter_map(|(ply, step)| Some((ply as f64, step.score?)))
                .collect(),
            band: Vec::new(),
        }],
    };
    html! {
        p.why { (reason) }
        div.curve { (chart.figure()) }
        div.boards {
            @for ply in plies(steps) { (diagram(game, steps, ply)) }
            figure {
                (PreEscaped(draw::svg(game, last, &after(game, steps, steps.len()), "the final position")))
                figcaption { "The end: " (result) (ending) }
            }
        }
    }
}

/// Returns the marks of the action that led to a ply.
fn after(game: &AnyGame, steps: &[Shot], ply: usize) -> Marks {
    let before = ply.checked_sub(1).map(|before| &steps[before]);
    before.map_or_else(Marks::default, |step| Marks::after(game, &step.state, step.action))
}

fn diagram(game: &AnyGame, steps: &[Shot], ply: usize) -> Markup {
    let step = &steps[ply];
    let marks = after(game, steps, ply).with_shares(game, &step.state, &step.shares);
    let text = |action: Action| game.action_text(&step.state, action);
    let visits: Vec<String> = step
        .shares
        .iter()
        .take(NAMED)
        .map(|&(a, share)| format!("{} {:.0} %", text(a), share * 100.0))
        .collect();
    let player = game.about().player(game.to_move(&step.state));
    html! {
        figure {
            (PreEscaped(draw::svg(game, &step.state, &marks, &format!("ply {ply}, {player} to move"))))
            figcaption {
                "Ply " (ply) ": " (player) " plays " (text(step.action)) ". Expected score of "
                (game.about().player(Player::First)) ": " (scored(step)) ". Visits: " (visits.join(", "))
            }
        }
    }
}

/// Returns the whole game in small diagrams, as many as fit into `room` characters: after every action or every few
/// actions.
fn played_through(game: &AnyGame, steps: &[Shot], room: usize) -> Markup {
    let drawn = |ply: usize| {
        let (step, text) = (&steps[ply], format!("ply {ply}"));
        let player = game.about().player(game.to_move(&step.state));
        html! {
            figure {
                (PreEscaped(draw::svg(game, &step.state, &after(game, steps, ply), &text)))
                figcaption { (ply) ": " (player) " \
                    plays " (game.action_text(&step.state, step.action)) ", " (scored(step)) }
            }
        }
    };
    let all: Vec<Markup> = (0..steps.len()).map(drawn).collect();
    let size = |every: usize| all.iter().step_by(every).map(|diagram| diagram.0.len()).sum::<usize>();
    let every = (1..steps.len()).find(|&every| size(every) <= room).unwrap_or(steps.len());
    let name = match every {
        1 => "The whole game, position by position".into(),
        _ => format!("The whole game, every {every} plies"),
    };
    html! {
        details.through {
            summary { (name) }
            div.boards { @for diagram in all.iter().step_by(every) { (diagram) } }
        }
    }
}

/// Returns the expected score of a ply, for a caption.
fn scored(step: &Shot) -> String {
    step.score.map_or_else(|| "not searched".into(), |score| format!("{score:.2}"))
}

/// Returns the searched plies after which the expected score changed most, in order.
fn plies(steps: &[Shot]) -> Vec<usize> {
    let change = |ply: usize| {
        let next = steps[ply + 1..].iter().find_map(|step| step.score);
        next.zip(steps[ply].score).map_or(0.0, |(next, score)| (next - score).abs())
    };
    let mut plies: Vec<usize> = (0..steps.len()).filter(|ply| !steps[*ply].shares.is_empty()).collect();
    plies.sort_by(|a, b| change(*b).total_cmp(&change(*a)));
    plies.truncate(DIAGRAMS);
    plies.sort_unstable();
    plies
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::game::{GameOptions, Rules};
    use crate::games::tic_tac_toe::TicTacToe;

    fn rules() -> Opened {
        Rules::<TicTacToe>::new(&GameOptions::default()).unwrap().opened()
    }

    /// Returns a game whose searches gave the first player these scores.
    fn record(index: usize, actions: &str, outcome: &str, scores: &[f32]) -> Record {
        let actions: Vec<String> = actions.split(' ').map(String::from).collect();
        let wdl = (0..actions.len()).map(|ply| {
            let first = scores.get(ply).copied().unwrap_or(0.5);
            let own = if ply % 2 == 0 { first } else { 1.0 - first };
            [own, 0.0, 1.0 - own]
        });
        Record {
            index,
            visits: actions.iter().map(|action| BTreeMap::from([(action.clone(), 9)])).collect(),
            wdl: wdl.collect(),
            outcome: outcome.into(),
            actions,
            ..Record::new(&rules().identity, "generation 1", ".../.../... X")
        }
    }

    fn why(records: &[Record]) -> Vec<(usize, String)> {
        let rules = rules();
        picked(&rules.game, records, |record| upset(&rules, record))
    }

    #[test]
    fn each_game_is_picked_for_a_reason() {
        let games = [
            record(0, "a1 a2 b1 b2 a3 c2", "second", &[0.5, 0.625, 0.75, 0.875, 0.5, 0.25]),
            record(1, "a1 b2 c3 a2 c2 c1 a3 b3 b1", "draw", &[]),
            record(2, "a1 a2 b1 b2 c1", "first", &[0.5, 0.375]),
            record(3, "a1 a2 b1 b2 a3 c2", "second", &[]),
            record(4, "a1 a2 b1 b2 b3 a3 c1", "first", &[]),
        ];
        assert_eq!(
            why(&games),
            [
                (2, "The shortest of 5 games.".into()),
                (3, "The game of median length.".into()),
                (1, "The longest. Also the only draw.".into()),
                (
                    0,
                    "The most surprising: at ply 3, the search expected a score of 0.88 for X, who lost."
                        .into()
                ),
            ]
        );
        // a loss after an action that the search did not advise, or did not examine, is no surprise
        let mut tried = games[0].clone();
        tried.visits[4] = BTreeMap::from([("a3".to_string(), 2), ("b3".to_string(), 9)]);
        assert_eq!(why(std::slice::from_ref(&tried)).len(), 1);
        tried.visits[4].clear();
        assert_eq!(why(std::slice::from_ref(&tried)).len(), 1);
        // a win by a player who was never behind is no surprise, and the same game is shown only once
        assert_eq!(why(&games[3..4]).len(), 1);
        assert!(why(&[]).is_empty());
    }

    #[test]
    fn a_game_is_played_through_in_as_many_diagrams_as_there_is_room_for() {
        let rules = rules();
        let record = record(1, "a1 b2 c3 a2 c2 c1 a3 b3 b1", "draw", &[]);
        let replayed = replay(&rules, &record).unwrap();
        let drawn = |room: usize| {
            let through = played_through(&rules.game, &replayed.steps, room).into_string();
            (through.len(), through.matches("<svg").count(), through.contains("position by position"))
        };
        let (all, diagrams, is_whole) = drawn(1_000_000);
        assert_eq!((diagrams, is_whole), (9, true));
        let (half, diagrams, is_whole) = drawn(all / 2);
        assert!(half <= all / 2 + 300 && (2..=4).contains(&diagrams) && !is_whole);
        // the initial position is always shown
        assert_eq!(drawn(0).1, 1);
    }
}

//! The solver compared with exhaustive search without memory, and sets of solved positions.

use std::collections::HashSet;

use petteia::any::Opened;
use petteia::arena::perfect::is_at_hand;
use petteia::conformance::random_game;
use petteia::game::{Action, Game, GameOptions, Outcome, Player, Rules, Settings, Variants};
use petteia::games::Games;
use petteia::games::connect_four::ConnectFour;
use petteia::games::phage::Phage;
use petteia::games::tic_tac_toe::TicTacToe;
use petteia::random::{Purpose, choose, stream};
use petteia::registry::Registry;
use petteia::solve::{Bounds, Limits, Solved, Solver};
use petteia::truth::endgames::{SetPlan, make};
use proptest::prelude::*;

use crate::search::tree_text;
use crate::support::command::{err, fails, json_lines, out, succeeds};
use crate::support::tree_game::TreeGame;

/// The result by definition, stopping early only at a win; `None` once the budget of positions is used up.
fn minimax<G: Game>(game: &G, state: &G::State, budget: &mut usize) -> Option<Outcome> {
    if let Some(outcome) = game.outcome(state) {
        return Some(outcome);
    }
    *budget = budget.checked_sub(1)?;
    let player = game.to_move(state);
    let mut best = Outcome::Win(player.other());
    for action in game.legal(state) {
        let outcome = minimax(game, &after(game, state, action), budget)?;
        if outcome.value_for(player) > best.value_for(player) {
            best = outcome;
        }
        if best == Outcome::Win(player) {
            break;
        }
    }
    Some(best)
}

fn after<G: Game>(game: &G, state: &G::State, action: Action) -> G::State {
    let mut next = state.clone();
    game.play(&mut next, action);
    next
}

/// The value of a position that is not over and the actions that keep it, by definition.
fn best_actions<G: Game>(game: &G, state: &G::State, budget: &mut usize) -> Option<(Outcome, Vec<Action>)> {
    let player = game.to_move(state);
    let (mut value, mut best) = (Outcome::Win(player.other()), Vec::new());
    for action in game.legal(state) {
        let outcome = minimax(game, &after(game, state, action), budget)?;
        if outcome.value_for(player) > value.value_for(player) {
            (value, best) = (outcome, Vec::new());
        }
        if outcome == value {
            best.push(action);
        }
    }
    Some((value, best))
}

#[test]
fn every_position_of_tic_tac_toe_has_the_value_of_minimax() {
    let game = TicTacToe::new(&GameOptions::default()).unwrap();
    let mut solver = Solver::new(game.clone(), Limits::default());
    let (mut left, mut seen, mut checked) = (vec![game.initial()], HashSet::new(), 0);
    while let Some(state) = left.pop() {
        if game.outcome(&state).is_some() || !seen.insert(game.key(&state)) {
            continue;
        }
        left.extend(game.legal(&state).into_iter().map(|action| after(&game, &state, action)));
        if seen.len() % 7 > 0 && game.legal(&state).len() > 7 {
            // near the start exhaustive search is slow, so take a sample; the solver's own memory covers the rest
            continue;
        }
        checked += 1;
        let (_, best) = best_actions(&game, &state, &mut usize::MAX.clone()).unwrap();
        assert_eq!(solver.best_actions(&state).unwrap(), best, "{}", game.state_text(&state));
    }
    assert_eq!(seen.len(), 4520);
    assert!(checked > 4400, "{checked}");
}

/// Positions near the end of random games; exhaustive search finds the value of each within this many positions.
const BUDGET: usize = 5_000;
const GAMES: u64 = 12;

struct Endgames;

impl Endgames {
    /// The id, and how many of the compared positions are won by the player to move, drawn and lost.
    fn on(self, rules: Opened) -> (String, [usize; 3]) {
        let game = &rules.game;
        let mut found = [0; 3];
        for number in 0..GAMES {
            let mut random = stream(5, Purpose::Endgame, &[number]);
            let mut states = vec![game.initial()];
            while let Some(state) = states.last().filter(|state| game.outcome(state).is_none()) {
                states.push(after(game, state, choose(&mut random, &game.legal(state))));
            }
            // as far from the end as exhaustive search can see
            for back in (1..states.len().min(10)).rev() {
                let state = &states[states.len() - 1 - back];
                let Some(value) = minimax(game, state, &mut BUDGET.clone()) else { continue };
                // it may be known that a position is won before the values of all its actions are known
                let best = best_actions(game, state, &mut BUDGET.clone()).map(|(_, best)| best);
                // with a small table as well as with a large one
                for table in [0, 64] {
                    let mut solver = Solver::new(game.clone(), Limits { nodes: 10_000_000, table });
                    let text = format!("{}: {}", rules.identity.id, game.state_text(state));
                    assert_eq!(solver.outcome(state).unwrap(), value, "{text}");
                    if let Some(best) = &best {
                        assert_eq!(&solver.best_actions(state).unwrap(), best, "{text}");
                    }
                }
                found[(1.0 - value.value_for(game.to_move(state))) as usize] += 1;
                break;
            }
        }
        (rules.identity.id, found)
    }
}

#[test]
fn endgames_of_every_game_have_the_value_of_minimax() {
    let found = Games::ids()
        .into_iter()
        .map(|id| Games::open(&id, &Settings::default()).map(|rules| Endgames.on(rules)).unwrap());
    let found: Vec<(String, [usize; 3])> = found.collect();
    println!("{found:?}: won, drawn, lost");
    assert!(found.iter().all(|(_, counts)| counts.iter().sum::<usize>() > 0), "{found:?}");
}

/// Asserts that everything that a solver says is true, whatever its limits: the bounds of the position, the bounds of
/// its actions, and the best actions. `values` are the values of the actions that are known.
fn is_true<G: Game>(
    game: &G,
    state: &G::State,
    solved: &Solved,
    values: &[(Action, Option<Outcome>)],
    text: &str,
) {
    let holds = |bounds: Bounds, outcome: Outcome| {
        let (low, high) = bounds.for_player(Player::First);
        (low..=high).contains(&(outcome.value_for(Player::First) as i8))
    };
    let player = game.to_move(state);
    if let Some(value) = best_value(player, values) {
        assert!(holds(solved.bounds, value), "{text}: {solved:?}, but {value:?}");
    }
    assert_eq!(solved.actions.len(), values.len());
    for ((action, bounds), (other, outcome)) in solved.actions.iter().zip(values) {
        assert_eq!(action, other);
        if let Some(outcome) = outcome {
            assert!(holds(*bounds, *outcome), "{text}: {solved:?}, but {action:?} is {outcome:?}");
        }
    }
    let wins = solved.actions.iter().any(|(_, bounds)| bounds.outcome() == Some(Outcome::Win(player)));
    assert!(!wins || solved.bounds.outcome() == Some(Outcome::Win(player)), "{text}: {solved:?}");
    if solved.bounds.outcome() == Some(Outcome::Win(player.other())) {
        assert!(solved.actions.iter().all(|(_, bounds)| *bounds == solved.bounds), "{text}: {solved:?}");
    }
    keep_the_value(player, &solved.best_actions().unwrap_or_default(), values, text);
}

/// The value of a position, from the values of its actions that are known.
fn best_value(player: Player, values: &[(Action, Option<Outcome>)]) -> Option<Outcome> {
    let known: Vec<Outcome> = values.iter().filter_map(|(_, value)| *value).collect();
    let value = *known.iter().max_by(|a, b| a.value_for(player).total_cmp(&b.value_for(player)))?;
    (value == Outcome::Win(player) || known.len() == values.len()).then_some(value)
}

fn keep_the_value(player: Player, best: &[Action], values: &[(Action, Option<Outcome>)], text: &str) {
    let value = best_value(player, values);
    let wrong = |action: &&Action| {
        let of = values.iter().find(|(other, _)| other == *action).and_then(|(_, of)| *of);
        value.is_some() && of.is_some() && of != value
    };
    assert_eq!(best.iter().find(wrong), None, "{text}: {best:?} of {values:?}");
}

struct Budgets;

impl Budgets {
    /// The number of compared answers, and the number of answers in which some but not all actions were known.
    fn on(self, rules: Opened) -> [usize; 2] {
        let game = &rules.game;
        let (mut compared, mut partly) = (0, 0);
        for number in 0..if std::env::var_os("PETTEIA_DEEP").is_some() { GAMES } else { GAMES / 3 } {
            let (states, _) = random_game(game, number);
            for back in (1..states.len().min(10)).rev() {
                let state = &states[states.len() - 1 - back];
                let value = |action| {
                    // an action that ends the game is known with any budget
                    (action, minimax(game, &after(game, state, action), &mut (BUDGET / 10).clone()))
                };
                let values: Vec<(Action, Option<Outcome>)> =
                    game.legal(state).into_iter().map(value).collect();
                if best_value(game.to_move(state), &values).is_none() {
                    continue;
                }
                let text = format!("{}: {}", rules.identity.id, game.state_text(state));
                let doubled = (0..14).map(|power| 1 << power);
                for (nodes, table) in (1..20).chain(doubled).map(|nodes| (nodes, (nodes as usize % 3) << 9)) {
                    let mut solver = Solver::new(game.clone(), Limits { nodes, table });
                    let text = format!("{text}, {nodes} nodes");
                    let solved = solver.solve(state, |_, _| true);
                    assert!(solved.nodes <= nodes, "{text}: {}", solved.nodes);
                    is_true(game, state, &solved, &values, &text);
                    // also when the solver remembers earlier results
                    is_true(game, state, &solver.solve(state, |_, _| true), &values, &text);
                    let best = solver.best_actions(state).unwrap_or_default();
                    keep_the_value(game.to_move(state), &best, &values, &text);
                    let known =
                        solved.actions.iter().filter(|(_, bounds)| bounds.outcome().is_some()).count();
                    partly += usize::from(known > 0 && known < values.len());
                    compared += 1;
                }
                break;
            }
        }
        [compared, partly]
    }
}

#[test]
fn no_number_of_nodes_makes_a_wrong_answer_in_any_game() {
    let found = Games::ids()
        .into_iter()
        .map(|id| Games::open(&id, &Settings::default()).map(|rules| Budgets.on(rules)).unwrap());
    let found: Vec<[usize; 2]> = found.collect();
    assert!(found.iter().all(|[compared, _]| *compared > 0), "{found:?}");
    assert!(found.iter().map(|[_, partly]| partly).sum::<usize>() > 50, "{found:?}");
}

/// Red wins within three plies by either of two actions; the others take millions of nodes.
#[test]
fn one_action_that_wins_decides_however_hard_the_others_are() {
    let solved = |nodes: &str, json: &[&str]| {
        let arguments = ["solve", "connect-four", "--position", "4455", "--nodes", nodes];
        succeeds(&[&arguments[..], json].concat(), "")
    };
    let text = out(&solved("1000", &[]));
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("Red wins with best play (") && lines[0].ends_with(" nodes)"), "{text}");
    assert_eq!(&lines[1..], ["win: 3 6", "unknown after 1000 nodes: 1 2 4 5 7"], "{text}");
    let json = &json_lines(&solved("1000", &["--json"]))[0];
    assert_eq!((&json["value"], &json["best_actions"]), (&1.into(), &serde_json::json!(["3", "6"])));
    assert_eq!((&json["actions"]["3"], &json["actions"]["1"]), (&1.into(), &serde_json::Value::Null));
    // finding only the value takes no more nodes
    let game = ConnectFour::new(&GameOptions::default()).unwrap();
    let mut solver = Solver::new(game.clone(), Limits { nodes: 1000, table: 1 << 20 });
    let state = game.parse_state("4455").unwrap();
    assert_eq!(solver.outcome(&state).unwrap(), Outcome::Win(Player::First));
    assert_eq!(solver.best_actions(&state).unwrap(), [Action(2), Action(5)]);
}

struct AtHand;

impl AtHand {
    fn on(self, rules: Opened) -> bool {
        is_at_hand(&rules.game)
    }
}

/// Moves of a perfect opponent take little time: a game for which the page offers one is solved within the nodes that
/// this opponent has.
#[test]
fn the_smallest_games_are_solved_at_once() {
    let at_hand = |id: &String| Games::open(id, &Settings::default()).map(|rules| AtHand.on(rules)).unwrap();
    assert_eq!(Games::ids().into_iter().filter(at_hand).collect::<Vec<_>>(), ["cage-4", "tic-tac-toe"]);
}

#[test]
fn a_position_and_its_actions_decide_each_other() {
    // no number of nodes would find the value of some action: its line leads back to the start
    let solved = |text: &str| Solver::new(TreeGame::parse(text), Limits::default()).solve(&0, |_, _| true);
    let values = |solved: &Solved| -> Vec<(i8, i8)> {
        solved.actions.iter().map(|(_, bounds)| bounds.for_player(Player::First)).collect()
    };
    let won = solved("1(2(< +) +)");
    assert_eq!(
        (won.bounds.outcome(), values(&won)),
        (Some(Outcome::Win(Player::First)), vec![(1, 1), (1, 1)])
    );
    let lost = solved("2(1(-) +)");
    assert_eq!((lost.bounds.outcome(), values(&lost)[0]), (Some(Outcome::Win(Player::Second)), (-1, -1)));
    // the second player has a winning action, which is found before asking whether the first player can win
    let hard = "2(1(2(1(2(1(+ -) +) -) +) -) -)";
    assert_eq!(solved(hard).bounds.outcome(), Some(Outcome::Win(Player::Second)));
}

/// The bounds for the first player at the start of a tree: the least and the greatest value.
fn bounds(tree: &str) -> (i8, i8) {
    let solved = Solver::new(TreeGame::parse(tree), Limits::default()).solve(&0, |_, _| true);
    solved.bounds.for_player(Player::First)
}

#[test]
fn what_depends_on_a_repetition_stays_unknown() {
    assert_eq!(bounds("1(< +)"), (1, 1), "the first player need not repeat");
    assert_eq!(bounds("1(< -)"), (-1, 1), "is a game without end better than a lost one?");
    assert_eq!(bounds("1(2(< +) =)"), (0, 1));
    assert_eq!(bounds("2(1(< -) -)"), (-1, -1));
    assert_eq!(bounds("1(2(1(< -) -) 2(+ 1(< +)))"), (1, 1));
    assert_eq!(bounds("1(2(1(< =) =) -)"), (0, 0), "neither player can do better than the draw");
}

#[test]
fn without_enough_nodes_the_value_is_unknown() {
    let game = Phage::new(&GameOptions::default()).unwrap();
    let mut solver = Solver::new(game.clone(), Limits { nodes: 1000, table: 1 });
    let error = solver.outcome(&game.initial()).unwrap_err().to_string();
    assert!(error.contains("unknown after 1000 nodes"), "{error}");
    let solved = solver.solve(&game.initial(), |_, _| true);
    assert_eq!((solved.bounds.outcome(), solved.best_actions()), (None, None));
    assert!(solved.nodes <= 1000, "{}", solved.nodes);
    // the caller can end the search, too
    let mut solver = Solver::new(game.clone(), Limits::default());
    assert!(solver.solve(&game.initial(), |nodes, _| nodes < 5000).nodes < 8000);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn trees_have_the_value_of_minimax(text in tree_text()) {
        let game = TreeGame::parse(&text);
        prop_assert_eq!(Solver::new(game.clone(), Limits { nodes: 100_000, table: 0 }).outcome(&0).unwrap(),
            game.minimax(0));
        // players may act several times in a row
        let value = |action| (action, Some(game.minimax(game.child(0, action))));
        let values: Vec<(Action, Option<Outcome>)> = game.legal(&0).into_iter().map(value).collect();
        if !values.is_empty() {
            for nodes in 1..24 {
                let solved = Solver::new(game.clone(), Limits { nodes, table: 0 }).solve(&0, |_, _| true);
                is_true(&game, &0, &solved, &values, &text);
            }
            let whole = Solver::new(game.clone(), Limits { nodes: 100_000, table: 0 }).solve(&0, |_, _| true);
            let known: Vec<Option<Outcome>> = whole.actions.iter().map(|(_, bounds)| bounds.outcome()).collect();
            prop_assert_eq!(known, values.iter().map(|(_, value)| *value).collect::<Vec<_>>());
        }
    }
}

#[test]
fn a_set_does_not_depend_on_threads_and_its_values_are_those_of_minimax() {
    let rules = Rules::<Phage>::new(&GameOptions::default()).unwrap();
    let limits = Limits { nodes: 20_000, table: 4 };
    let plan = SetPlan { count: 12, seed: 3, before_end: 4..=9, limits, made_by: "a test".into() };
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| make(&rules.clone().opened(), &plan, &|_| true).unwrap())
    };
    let (header, lines) = on(1);
    assert_eq!((&header, &lines), (&on(3).0, &on(3).1));
    assert_eq!((header.count, lines.len()), (12, 12));
    let mut compared = 0;
    for line in &lines {
        let state = rules.game.parse_state(&line.position).unwrap();
        let player = rules.game.to_move(&state);
        for (text, value) in &line.values {
            let action = rules.game.parse_action(&state, text).unwrap();
            if let Some(outcome) = minimax(&rules.game, &after(&rules.game, &state, action), &mut 300_000) {
                assert_eq!(outcome.value_for(player) as i8, *value, "{}: {text}", line.position);
                compared += 1;
            }
        }
        let choice = line.values.values().min() < line.values.values().max();
        assert!(choice || line.class == "lost", "{line:?}");
    }
    assert!(compared > 12, "{compared}");
}

#[test]
fn solve_says_what_each_action_is_worth() {
    let solved =
        json_lines(&succeeds(&["solve", "tic-tac-toe", "--position", "X.X/.O./O.. X", "--json"], ""));
    assert_eq!(
        (&solved[0]["value"], &solved[0]["best_actions"]),
        (&1.into(), &serde_json::json!(["c1", "c2", "b3"]))
    );
    assert_eq!(solved[0]["actions"].as_object().unwrap().len(), 5);
    let unknown = out(&succeeds(&["solve", "phage", "--nodes", "100"], ""));
    assert!(unknown.starts_with("unknown after 100 nodes\nunknown: "), "{unknown}");
    fails(&["solve", "phage", "--nodes", "0"], 2, &["--nodes 0"]);
    fails(&["solve", "phage", "--out", "x", "--before-end", "9..4"], 2, &["--before-end `9..4`"]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("set.jsonl.zst");
    let file = file.to_str().unwrap();
    let making =
        ["solve", "cage-4", "--count", "8", "--before-end", "4..12", "--nodes", "20000", "--out", file];
    let made = out(&succeeds(&making, ""));
    assert!(made.starts_with("saved 8 positions in "), "{made}");
    fails(&making, 2, &["already exists"]);
    let inspected = out(&succeeds(&["inspect", file], ""));
    assert!(inspected.contains("set of solved positions") && inspected.contains("cage-4"), "{inspected}");
    let measured = succeeds(&["accuracy", "cage-4", "--agent", "perfect", "--set", file, "--json"], "");
    assert_eq!(json_lines(&measured)[0]["agents"][0]["all"]["errors"], 0, "{}", err(&measured));
}

//! The solver against exhaustive search without memory, and sets of solved positions.

use std::collections::HashSet;

use petteia::game::{Action, Game, GameOptions, Outcome, Player, Rules, Settings};
use petteia::games::Games;
use petteia::games::phage::Phage;
use petteia::games::tic_tac_toe::TicTacToe;
use petteia::random::{Purpose, choose, stream};
use petteia::registry::{Job, Registry};
use petteia::solve::{Limits, Solver};
use petteia::truth::endgames::{Plan, make};
use proptest::prelude::*;

use crate::search::tree_text;
use crate::support::command::{err, fails, json_lines, out, succeeds};
use crate::support::tree_game::TreeGame;

/// The result by the definition, where nothing beats a win; `None` once the budget of positions is used up.
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

/// The value of a position that is not over and the actions that keep it, by the definition.
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
            // near the start exhaustive search is slow: a sample, and the solver's own memory covers the rest
            continue;
        }
        checked += 1;
        let (_, best) = best_actions(&game, &state, &mut usize::MAX.clone()).unwrap();
        assert_eq!(solver.best_actions(&state).unwrap(), best, "{}", game.state_text(&state));
    }
    assert_eq!(seen.len(), 4520);
    assert!(checked > 4400, "{checked}");
}

/// Positions near the end of random games whose value exhaustive search finds within this many positions.
const BUDGET: usize = 5_000;
const GAMES: u64 = 12;

struct Endgames;

impl Job for Endgames {
    /// Positions that were compared, and how many of them were won by the player to move, drawn and lost.
    type Output = (String, [usize; 3]);

    fn run<G: Game>(self, rules: Rules<G>) -> Self::Output {
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
                // that a position is won is known before all of its actions are
                let best = best_actions(game, state, &mut BUDGET.clone()).map(|(_, best)| best);
                // a small table as well as a large one
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
    let found =
        Games::ids().into_iter().map(|id| Games::with_game(&id, &Settings::default(), Endgames).unwrap());
    let found: Vec<(String, [usize; 3])> = found.collect();
    println!("{found:?}: won, drawn, lost");
    assert!(found.iter().all(|(_, counts)| counts.iter().sum::<usize>() > 0), "{found:?}");
}

/// What is known for the first player at the start of a tree, as the least and the greatest value.
fn bounds(tree: &str) -> (i8, i8) {
    let solved = Solver::new(TreeGame::parse(tree), Limits::default()).solve(&0, |_| true);
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
    let solved = solver.solve(&game.initial(), |_| true);
    assert_eq!((solved.bounds.outcome(), solved.best_actions()), (None, None));
    assert!(solved.nodes <= 1000, "{}", solved.nodes);
    // the caller can end it too
    let mut solver = Solver::new(game.clone(), Limits::default());
    assert!(solver.solve(&game.initial(), |nodes| nodes < 5000).nodes < 8000);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn trees_have_the_value_of_minimax(text in tree_text()) {
        let game = TreeGame::parse(&text);
        prop_assert_eq!(Solver::new(game.clone(), Limits { nodes: 100_000, table: 0 }).outcome(&0).unwrap(), game.minimax(0));
    }
}

#[test]
fn a_set_does_not_depend_on_threads_and_its_values_are_those_of_minimax() {
    let rules = Rules::<Phage>::new(&GameOptions::default()).unwrap();
    let limits = Limits { nodes: 20_000, table: 4 };
    let plan = Plan { count: 12, seed: 3, before_end: 4..=9, limits, made_by: "a test".into() };
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| make(&rules, &plan, &|_| true).unwrap())
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

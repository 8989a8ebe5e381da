//! The Gumbel root against numbers computed by hand, and its records.

use std::collections::BTreeSet;

use crate::support::tree_game::TreeGame;
use petteia::arena::searching::Analysis;
use petteia::config::{Config, RootKind, SearchConfig};
use petteia::error::Result;
use petteia::game::{Action, Game, GameOptions, Outcome, Rules};
use petteia::games::tic_tac_toe::TicTacToe;
use petteia::random::{Purpose, Random, stream};
use petteia::replay::record::{PLAIN_FORMAT, POLICY_FORMAT, Record};
use petteia::replay::sample::samples;
use petteia::search::Search;
use petteia::search::evaluator::{Evaluations, Evaluator, Request, Uniform, Wdl};
use petteia::search::tree::{Tree, for_first};
use petteia::selfplay::starts::Starts;
use petteia::selfplay::{Generation, Monitor, play_shard};

const PRIORS: [f32; 4] = [0.4, 0.3, 0.2, 0.1];
/// The values, for the first player, of the root and of everything behind each of its four actions.
const RAW: f32 = 0.1;
const VALUES: [f32; 4] = [0.10, 0.0, 0.12, 0.05];

/// Four actions, each followed by ten positions that are not near a result.
fn four(child: &str) -> TreeGame {
    TreeGame::parse(&format!("1({child}{child}{child}{child})"))
}

struct Table(TreeGame);

impl Evaluator<TreeGame> for Table {
    fn evaluate(&mut self, requests: &[Request<TreeGame>], out: &mut Evaluations) -> Result<()> {
        out.clear();
        for request in requests {
            let value = if *request.state == 0 { RAW } else { VALUES[(request.state - 1) / 10] };
            let wdl = Wdl::from_value(for_first(self.0.to_move(request.state), value), 0.0);
            match *request.state {
                0 => out.push(4, wdl).copy_from_slice(&PRIORS),
                _ => out.push_uniform(request.legal.len(), wdl),
            }
        }
        Ok(())
    }
}

fn gumbel() -> SearchConfig {
    SearchConfig::with(|search| search.root = RootKind::Gumbel)
}

fn random() -> Random {
    stream(1, Purpose::Agent, &[])
}

/// Evaluates the root and then makes `simulations` simulations.
fn searched(game: TreeGame, simulations: usize, noise: Option<&mut Random>) -> Search<TreeGame> {
    let mut evaluator = Table(game.clone());
    let mut search = Search::new(game, gumbel(), 0);
    search.begin(Some(simulations + 1), noise.is_some());
    search.run_while(&mut evaluator, noise.unwrap_or(&mut random()), |_| usize::MAX).unwrap();
    search
}

fn visits(tree: &Tree<TreeGame>) -> Vec<u32> {
    tree.root_edges().map(|edge| edge.visits).collect()
}

fn weights(tree: &Tree<TreeGame>) -> Vec<u32> {
    tree.policy_target().unwrap().into_iter().map(|(_, weight)| weight).collect()
}

fn close(found: &[u32], expected: [u32; 4]) {
    let near = found.iter().zip(expected).all(|(a, b)| a.abs_diff(b) <= 2);
    assert!(found.len() == 4 && near, "{found:?}, expected {expected:?}");
}

const ALTERNATING: &str = "2(1(==)1(==)1(==))";
const TWICE: &str = "1(2(==)1(==)2(==))";

#[test]
fn eight_simulations_halve_four_actions_to_two() {
    for child in [ALTERNATING, TWICE] {
        // one visit each; then ln prior + (50 + 1) (1 + q) / 2 minus 51 / 2 is 1.63, -1.20, 1.45, -1.03: actions 0
        // and 2 get two more visits; then, with (50 + 3), it is 1.73 and 1.57: action 0 wins
        let search = searched(four(child), 8, None);
        let tree = search.tree();
        assert_eq!(visits(tree), [3, 1, 3, 1]);
        assert_eq!(tree.best_action(), Some(Action(0)));
        // e^1.734, e^-1.204, e^1.571, e^-0.978 divided by their sum 11.15
        close(&weights(tree), [5079, 270, 4314, 337]);
    }
}

/// The mean of all simulations is 0.09, because the discarded actions account for a third of it.
#[test]
fn the_value_shown_is_that_of_the_improved_policy() {
    let search = searched(four(ALTERNATING), 8, None);
    // 0.5079 * 0.10 + 0.0270 * 0 + 0.4314 * 0.12 + 0.0337 * 0.05
    let value = Analysis::of(&search).value;
    assert!((value - 0.1043).abs() < 1e-3, "{value}");
}

#[test]
fn actions_without_visits_have_the_mixed_value() {
    let search = searched(four(ALTERNATING), 2, None);
    let tree = search.tree();
    assert_eq!(visits(tree), [1, 1, 0, 0]);
    // (0.1 + 2 (0.4 * 0.1 + 0.3 * 0) / 0.7) / 3 = 0.0714; e^1.6337, e^-1.2040, e^0.2120, e^-0.4812 over 7.277
    close(&weights(tree), [7040, 412, 1699, 849]);
}

#[test]
fn noise_decides_what_is_considered_and_little_what_is_taught() {
    let mut first = Vec::new();
    for seed in 0..200 {
        let search = searched(four(ALTERNATING), 1, Some(&mut stream(seed, Purpose::Selfplay, &[])));
        first.push(visits(search.tree()).iter().position(|visits| *visits == 1).unwrap());
    }
    // the action with the highest Gumbel noise + logit is a draw from the priors: 80, 60, 40, 20 of 200
    let counts = [0, 1, 2, 3].map(|action| first.iter().filter(|first| **first == action).count());
    for (count, expected) in counts.into_iter().zip([80, 60, 40, 20]) {
        assert!(count.abs_diff(expected) <= 20, "{counts:?}");
    }
}

#[test]
fn visits_kept_from_an_earlier_tree_do_not_disturb_the_halving() {
    let game = four(TWICE);
    let mut search = searched(game.clone(), 8, None);
    search.run(&mut Table(game), 8, &mut random()).unwrap();
    assert_eq!(visits(search.tree()), [6, 2, 6, 2]);
}

#[test]
fn a_proven_loss_is_neither_played_nor_taught() {
    let game = TreeGame::parse(&format!("1(-{ALTERNATING}-{ALTERNATING})"));
    let mut search = Search::new(game, gumbel(), 0);
    search.run(&mut Uniform, 9, &mut random()).unwrap();
    let tree = search.tree();
    assert_eq!(tree.best_action(), Some(Action(1)));
    let taught: Vec<Action> = tree.policy_target().unwrap().into_iter().map(|(action, _)| action).collect();
    assert_eq!(taught, [Action(1), Action(3)]);
    assert!(visits_of(tree, 0) == 1 && visits_of(tree, 2) == 1, "a proven loss is not looked at again");
}

fn visits_of(tree: &Tree<TreeGame>, action: usize) -> u32 {
    visits(tree)[action]
}

#[test]
fn a_proven_root_teaches_only_what_reaches_its_result() {
    let game = TreeGame::parse("1(2(-=) 2(==) - 2(=))");
    let mut search = Search::new(game, gumbel(), 0);
    search.run(&mut Uniform, 200, &mut random()).unwrap();
    let tree = search.tree();
    assert_eq!(tree.proven(), Some(Outcome::Draw));
    let taught = tree.policy_target().unwrap();
    assert_eq!(taught, [(Action(1), 5000), (Action(3), 5000)]);
}

fn records(sets: &[&str]) -> (Rules<TicTacToe>, Vec<Record>) {
    records_of(sets, 12, 4)
}

/// The only simulation evaluates the root and leaves none for the halving, so actions are drawn from the policy.
#[test]
fn one_simulation_draws_an_action() {
    let (_, found) = records_of(&["search.root=gumbel"], 1, 40);
    let first: std::collections::HashSet<&String> = found.iter().map(|record| &record.actions[0]).collect();
    assert!(first.len() >= 6, "{first:?}");
}

fn records_of(sets: &[&str], simulations: usize, games: usize) -> (Rules<TicTacToe>, Vec<Record>) {
    let rules = Rules::new(&GameOptions::default()).unwrap();
    let sets: Vec<String> = sets.iter().map(|set| set.to_string()).collect();
    let config = Config::parse_kept("test", "game.id = 'tic-tac-toe'", &sets).unwrap();
    let generation = Generation {
        config: &config,
        identity: &rules.identity,
        number: 1,
        games,
        simulations,
        evaluator: "test".into(),
        starts: Starts::default(),
    };
    let records =
        play_shard(&rules.game, &generation, 0..games, &mut Uniform, &Monitor::default(), &|_| true).unwrap();
    (rules, records)
}

#[test]
fn records_carry_the_improved_policy_and_old_ones_are_read() {
    let (rules, found) = records(&["search.root=gumbel", "search.gumbel_actions=4"]);
    for record in &found {
        assert_eq!(record.format, POLICY_FORMAT);
        let line = serde_json::to_string(record).unwrap();
        assert_eq!(&Record::parse(&line).unwrap(), record);
        for (ply, sample) in samples(&rules, record).unwrap().iter().enumerate() {
            let total: u32 = record.policy[ply].values().sum();
            assert!(total.abs_diff(10_000) <= 10, "{total}");
            let most = sample.policy.iter().map(|(_, share)| *share).fold(0.0, f32::max);
            let top = *record.policy[ply].values().max().unwrap();
            assert!((most - top as f32 / total as f32).abs() < 1e-6);
        }
    }
    // without the Gumbel root, records have not changed
    let (_, plain) = records(&[]);
    let line = serde_json::to_string(&plain[0]).unwrap();
    assert!(plain[0].format == PLAIN_FORMAT && !line.contains("policy"), "{line}");
    assert_eq!(Record::parse(&line).unwrap(), plain[0]);
    let newer = line.replacen("\"format\":1", "\"format\":4,\"unheard\":1", 1);
    let error = Record::parse(&newer).unwrap_err();
    assert!(matches!(error, petteia::error::Error::Mismatch(_)), "{error}");
}

/// Without noise after the first ply, games with the same beginning are identical.
#[test]
fn late_noise_is_scaled() {
    let sets = ["search.root=gumbel", "search.reuse_tree=false", "selfplay.temperature_plies=1"];
    let games = |late: &str| -> Vec<Vec<String>> {
        let (_, found) = records_of(&[&sets[..], &[late]].concat(), 12, 40);
        found.into_iter().map(|record| record.actions).collect()
    };
    let continuations = |games: &[Vec<String>]| {
        let beginnings: BTreeSet<&[String]> = games.iter().map(|actions| &actions[..1]).collect();
        let all: BTreeSet<&[String]> = games.iter().map(|actions| &actions[..]).collect();
        (beginnings.len(), all.len())
    };
    let (plain, none) = (games("selfplay.gumbel_final=1"), games("selfplay.gumbel_final=0"));
    // the first actions are the same
    assert!(plain.iter().zip(&none).all(|(a, b)| a[0] == b[0]));
    let ((beginnings, with), (same, without)) = (continuations(&plain), continuations(&none));
    assert!(beginnings == same && same <= 9, "{beginnings} {same}");
    assert!(without == same && with > same, "{without} of {same}, {with}");
}

#[test]
fn noise_of_other_roots_is_not_scaled() {
    let games = |late: &str| records(&["selfplay.temperature_plies=1", late]).1;
    assert_eq!(games("selfplay.gumbel_final=1"), games("selfplay.gumbel_final=0"));
}

//! The search on trees written as text, and on tic-tac-toe with exact values.

use crate::support::tree_game::TreeGame;
use petteia::arena::perfect::Solver;
use petteia::config::{RootKind, SearchConfig};
use petteia::error::Result;
use petteia::game::{Action, Game, GameOptions, Outcome, Player};
use petteia::games::tic_tac_toe::TicTacToe;
use petteia::random::{Purpose, Random, stream};
use petteia::search;
use petteia::search::evaluator::{Evaluations, Evaluator, Request, Rollout, Uniform, Wdl};
use petteia::search::tree::Tree;
use proptest::prelude::*;

fn random() -> Random {
    stream(1, Purpose::Agent, &[])
}

/// The plain search, the Gumbel root, and forced playouts.
fn configs() -> [SearchConfig; 3] {
    let plain = SearchConfig::default();
    [
        plain.clone(),
        SearchConfig { root: RootKind::Gumbel, ..plain.clone() },
        SearchConfig { forced_playouts: 2.0, ..plain },
    ]
}

fn searched(text: &str, simulations: usize) -> Tree<TreeGame> {
    searched_by(SearchConfig::default(), text, simulations)
}

fn searched_by(config: SearchConfig, text: &str, simulations: usize) -> Tree<TreeGame> {
    let game = TreeGame::parse(text);
    let noise = config.forced_playouts > 0.0;
    let mut tree = Tree::new(game, config, 0);
    search_all(&mut tree, &mut Uniform, simulations, noise);
    tree
}

/// With noise where the config wants it for its forced playouts.
fn search_all<G: Game>(
    tree: &mut Tree<G>,
    evaluator: &mut dyn Evaluator<G>,
    simulations: usize,
    noise: bool,
) {
    search::run(tree, evaluator, 1, &mut random()).unwrap();
    if noise && tree.has_root() {
        tree.begin(0, Some(&mut random()));
    }
    search::run(tree, evaluator, simulations - 1, &mut random()).unwrap();
}

#[test]
fn finds_a_win_at_once_and_stops() {
    let tree = searched("1(- = + 2(+ +))", 1000);
    assert_eq!(tree.proven(), Some(Outcome::Win(Player::First)));
    assert_eq!(tree.best_action(), Some(Action(2)));
    assert!(tree.visits() < 10, "a solved root ends the search, {} visits", tree.visits());
}

#[test]
fn finds_the_second_players_win() {
    let tree = searched("2(+ 1(+ =) 1(- -))", 1000);
    assert_eq!(tree.proven(), Some(Outcome::Win(Player::Second)));
    assert_eq!(tree.best_action(), Some(Action(2)));
    assert_eq!(tree.root_wdl(), Wdl { win: 1.0, draw: 0.0, loss: 0.0 });
}

#[test]
fn avoids_a_proven_loss_however_good_it_looks() {
    // action 0 wins against three of four replies and loses against the fourth
    let tree = searched("1(2(+ + + -) 2(= 1(= =)))", 1000);
    assert_eq!(tree.best_action(), Some(Action(1)));
    assert_eq!(tree.proven(), Some(Outcome::Draw));
}

#[test]
fn a_draw_is_better_than_a_loss_and_worse_than_a_win() {
    assert_eq!(searched("1(2(-) 2(=) 2(-))", 100).best_action(), Some(Action(1)));
    assert_eq!(searched("2(1(+) 1(=) 1(-))", 100).best_action(), Some(Action(2)));
}

#[test]
fn a_player_may_act_twice_in_a_row() {
    // the first player acts twice: 1 then 1 wins; alternating signs would see a loss there
    let tree = searched("1(2(- =) 1(- +))", 1000);
    assert_eq!(tree.best_action(), Some(Action(1)));
    assert_eq!(tree.proven(), Some(Outcome::Win(Player::First)));
    let tree = searched("1(2(2(+ -)) 1(1(- - =)))", 1000);
    assert_eq!(tree.proven(), Some(Outcome::Draw));
    assert_eq!(tree.best_action(), Some(Action(1)));
}

#[test]
fn a_finished_root_is_solved_and_has_no_action() {
    let tree = searched("-", 10);
    assert_eq!(tree.proven(), Some(Outcome::Win(Player::Second)));
    assert_eq!(tree.best_action(), None);
    assert_eq!(tree.visits(), 0);
}

#[test]
fn visits_add_up_and_follow_the_value() {
    let game = TicTacToe::new(&GameOptions::default()).unwrap();
    let mut tree = Tree::new(game.clone(), SearchConfig::default(), game.initial());
    search::run(&mut tree, &mut Rollout::new(game), 400, &mut random()).unwrap();
    let visits: u32 = tree.root_edges().map(|edge| edge.visits).sum();
    assert_eq!((tree.visits(), visits), (400, 399));
    assert_eq!(tree.best_action(), Some(Action(4)), "random playouts like the centre");
}

#[test]
fn the_subtree_of_the_action_played_is_kept() {
    let game = TicTacToe::new(&GameOptions::default()).unwrap();
    let mut tree = Tree::new(game.clone(), SearchConfig::default(), game.initial());
    search::run(&mut tree, &mut Uniform, 300, &mut random()).unwrap();
    let kept = tree.root_edges().nth(4).unwrap().visits;
    tree.advance(Action(4));
    assert_eq!(tree.visits(), kept);
    let visits: u32 = tree.root_edges().map(|edge| edge.visits).sum();
    assert_eq!(visits, kept - 1);
    // and without reuse nothing is kept
    let config = SearchConfig { reuse_tree: false, ..SearchConfig::default() };
    let mut tree = Tree::new(game.clone(), config, game.initial());
    search::run(&mut tree, &mut Uniform, 300, &mut random()).unwrap();
    tree.advance(Action(4));
    assert_eq!(tree.visits(), 0);
}

#[test]
fn noise_changes_the_priors_once_and_keeps_their_sum() {
    let game = TicTacToe::new(&GameOptions::default()).unwrap();
    let mut tree = Tree::new(game.clone(), SearchConfig::default(), game.initial());
    let mut random = random();
    search::run(&mut tree, &mut Uniform, 1, &mut random).unwrap();
    let priors = |tree: &Tree<TicTacToe>| tree.root_edges().map(|edge| edge.prior).collect::<Vec<_>>();
    tree.begin(1, Some(&mut random));
    let noisy = priors(&tree);
    tree.begin(1, Some(&mut random));
    assert_eq!(noisy, priors(&tree), "noise is added once a root");
    assert!(noisy.iter().any(|prior| (prior - 1.0 / 9.0).abs() > 0.01));
    assert!((noisy.iter().sum::<f32>() - 1.0).abs() < 1e-5);
    assert!(noisy.iter().all(|prior| *prior >= 0.75 / 9.0 - 1e-6));
}

/// Exact values, no hint of what to play.
struct Exact(Solver<TicTacToe>, TicTacToe);

impl Evaluator<TicTacToe> for Exact {
    fn evaluate(&mut self, requests: &[Request<TicTacToe>], out: &mut Evaluations) -> Result<()> {
        out.clear();
        for request in requests {
            let outcome = self.0.solve(request.state).unwrap();
            let wdl = Wdl::of(outcome, self.1.to_move(request.state));
            out.push_uniform(request.legal.len(), wdl);
        }
        Ok(())
    }
}

/// Plays every reply of the opponent against the search's choice, and asserts that the result of perfect
/// play is never given away.
fn never_errs(
    game: &TicTacToe,
    exact: &mut Exact,
    config: &SearchConfig,
    state: &<TicTacToe as Game>::State,
    side: Player,
    seen: &mut std::collections::HashSet<u64>,
) {
    if game.outcome(state).is_some() || !seen.insert(game.key(state)) {
        return;
    }
    if game.to_move(state) != side {
        for action in game.legal(state) {
            let mut next = *state;
            game.play(&mut next, action);
            never_errs(game, exact, config, &next, side, seen);
        }
        return;
    }
    let truth = exact.0.solve(state).unwrap();
    let mut tree = Tree::new(game.clone(), config.clone(), *state);
    // forced playouts are few only beside many others
    let noise = config.forced_playouts > 0.0;
    search_all(&mut tree, exact, if noise { 200 } else { 30 }, noise);
    let mut next = *state;
    game.play(&mut next, tree.best_action().unwrap());
    assert_eq!(exact.0.solve(&next).unwrap(), truth, "at {}", game.state_text(state));
    never_errs(game, exact, config, &next, side, seen);
}

#[test]
fn search_with_exact_values_never_loses() {
    let game = TicTacToe::new(&GameOptions::default()).unwrap();
    let mut exact = Exact(Solver::new(game.clone()), game.clone());
    for config in configs() {
        for side in [Player::First, Player::Second] {
            never_errs(&game, &mut exact, &config, &game.initial(), side, &mut Default::default());
        }
    }
}

/// Random trees with random players.
fn tree_text() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![Just("+".to_string()), Just("-".to_string()), Just("=".to_string())];
    leaf.prop_recursive(5, 60, 4, |inner| {
        (prop_oneof![Just('1'), Just('2')], prop::collection::vec(inner, 1..4))
            .prop_map(|(player, children)| format!("{player}({})", children.concat()))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Given time, the search proves exactly what minimax finds, and plays it.
    #[test]
    fn proofs_are_minimax(text in tree_text()) {
        let game = TreeGame::parse(&text);
        for config in configs() {
            let tree = searched_by(config, &text, 5000);
            prop_assert_eq!(tree.proven(), Some(game.minimax(0)));
            if let Some(action) = tree.best_action() {
                prop_assert_eq!(game.minimax(game.child(0, action)), game.minimax(0));
            }
        }
    }

    /// Nothing that an unfinished search calls proven is wrong.
    #[test]
    fn unfinished_proofs_are_true(text in tree_text(), simulations in 1usize..30) {
        let game = TreeGame::parse(&text);
        let tree = searched(&text, simulations);
        if let Some(outcome) = tree.proven() {
            prop_assert_eq!(outcome, game.minimax(0));
        }
        for edge in tree.root_edges() {
            if let Some(outcome) = edge.proven {
                prop_assert_eq!(outcome, game.minimax(game.child(0, edge.action)));
            }
        }
    }
}

//! The search on trees written as text, and on tic-tac-toe with exact values.

use crate::support::tree_game::TreeGame;
use petteia::config::{RootKind, SearchConfig};
use petteia::error::Result;
use petteia::game::{Action, Game, GameOptions, Outcome, Player, Variants};
use petteia::games::connect_four::ConnectFour;
use petteia::games::tic_tac_toe::TicTacToe;
use petteia::random::{Purpose, Random, stream};
use petteia::search::Search;
use petteia::search::evaluator::{Evaluation, Evaluations, Evaluator, Request, Rollout, Uniform, Wdl};
use petteia::search::tree::Tree;
use petteia::search::walk::{Leaf, Walk};
use petteia::solve::{Limits, Solver};
use proptest::prelude::*;

fn random() -> Random {
    stream(1, Purpose::Agent, &[])
}

/// The plain search, the Gumbel root, and forced playouts.
fn configs() -> [SearchConfig; 3] {
    [
        SearchConfig::default(),
        SearchConfig::with(|search| search.root = RootKind::Gumbel),
        SearchConfig::with(|search| search.forced_playouts = 2.0),
    ]
}

fn searched(text: &str, simulations: usize) -> Search<TreeGame> {
    searched_by(SearchConfig::default().one_by_one(), text, simulations)
}

fn searched_by(config: SearchConfig, text: &str, simulations: usize) -> Search<TreeGame> {
    let noise = config.forced_playouts > 0.0;
    let mut search = Search::new(TreeGame::parse(text), config, 0);
    search_all(&mut search, &mut Uniform, simulations, noise);
    search
}

/// Searches, with noise if the config needs it for forced playouts.
fn search_all<G: Game>(
    search: &mut Search<G>,
    evaluator: &mut dyn Evaluator<G>,
    simulations: usize,
    noise: bool,
) {
    search.begin(Some(simulations), noise);
    search.run_while(evaluator, &mut random(), |_| usize::MAX).unwrap();
}

fn tic_tac_toe(config: SearchConfig) -> (TicTacToe, Search<TicTacToe>) {
    let game = TicTacToe::new(&GameOptions::default()).unwrap();
    (game.clone(), Search::new(game.clone(), config, game.initial()))
}

#[test]
fn finds_a_win_at_once_and_stops() {
    let search = searched("1(- = + 2(+ +))", 1000);
    let tree = search.tree();
    assert_eq!(tree.proven(), Some(Outcome::Win(Player::First)));
    assert_eq!(tree.best_action(), Some(Action(2)));
    assert!(tree.visits() < 10, "a solved root ends the search, {} visits", tree.visits());
}

#[test]
fn finds_the_second_players_win() {
    let search = searched("2(+ 1(+ =) 1(- -))", 1000);
    let tree = search.tree();
    assert_eq!(tree.proven(), Some(Outcome::Win(Player::Second)));
    assert_eq!(tree.best_action(), Some(Action(2)));
    assert_eq!(tree.root_wdl(), Wdl { win: 1.0, draw: 0.0, loss: 0.0 });
}

#[test]
fn a_solver_proves_what_simulations_would_take_long_for() {
    let solving = |nodes| SearchConfig::with(|search| search.solve_nodes = nodes);
    // the first action wins against any reply, the second one draws
    let text = "1(2(1(- +) 1(+ -)) 2(1(- =)))";
    let search = searched_by(solving(100), text, 10);
    assert_eq!((search.simulations(), search.tree().proven()), (1, Some(Outcome::Win(Player::First))));
    assert_eq!(search.tree().best_action(), Some(Action(0)));
    assert!(searched_by(solving(0), text, 3).tree().proven().is_none());
    // without enough nodes, it is an ordinary search
    assert_eq!(
        searched_by(solving(1), text, 3).tree().root_wdl(),
        searched_by(solving(0), text, 3).tree().root_wdl()
    );
}

#[test]
fn a_solver_at_leaves_ends_simulations_as_a_finished_game_does() {
    let solving = |nodes| SearchConfig::with(|search| search.leaf_nodes = nodes);
    let text = "1(2(1(- +) 1(+ -)) 2(1(- =)))";
    // the root is evaluated, and the first action is proven at its leaf
    let search = searched_by(solving(20), text, 2);
    assert_eq!((search.simulations(), search.tree().proven()), (2, Some(Outcome::Win(Player::First))));
    assert_eq!(search.tree().best_action(), Some(Action(0)));
    assert_eq!(search.tree().size().0, 1, "a solved leaf takes no node");
    assert!(searched_by(solving(0), text, 3).tree().proven().is_none());
    // without enough nodes, it is an ordinary search
    let [one, none] = [1, 0].map(|nodes| searched_by(solving(nodes), text, 2));
    assert_eq!(one.tree().root_wdl(), none.tree().root_wdl());
}

#[test]
fn what_a_solver_finds_at_leaves_is_so() {
    for nodes in [4, 32, 256] {
        let (game, mut search) = tic_tac_toe(SearchConfig::with(|search| search.leaf_nodes = nodes));
        let mut solver = Solver::new(game.clone(), Limits::default());
        let mut proven = 0;
        while game.outcome(search.tree().root()).is_none() {
            search.run(&mut Uniform, 40, &mut random()).unwrap();
            for edge in search.tree().root_edges() {
                let mut next = *search.tree().root();
                game.play(&mut next, edge.action);
                if let Some(outcome) = edge.proven {
                    assert_eq!(solver.outcome(&next).unwrap(), outcome);
                    proven += 1;
                }
            }
            search.advance(search.tree().best_action().unwrap());
        }
        assert!(proven > 10, "{proven}");
    }
}

#[test]
fn avoids_a_proven_loss_however_good_it_looks() {
    // action 0 wins against three of four replies and loses against the fourth
    let search = searched("1(2(+ + + -) 2(= 1(= =)))", 1000);
    let tree = search.tree();
    assert_eq!(tree.best_action(), Some(Action(1)));
    assert_eq!(tree.proven(), Some(Outcome::Draw));
}

#[test]
fn a_draw_is_better_than_a_loss_and_worse_than_a_win() {
    assert_eq!(searched("1(2(-) 2(=) 2(-))", 100).tree().best_action(), Some(Action(1)));
    assert_eq!(searched("2(1(+) 1(=) 1(-))", 100).tree().best_action(), Some(Action(2)));
}

#[test]
fn a_lost_agent_resists_for_as_long_as_it_can() {
    // all three actions lose: at once, in three plies, in four; the second player may also waste time
    let lost = searched("1(- 2(1(-)) 1(1(1(-))))", 1000);
    let tree = lost.tree();
    assert_eq!(tree.proven(), Some(Outcome::Win(Player::Second)));
    assert_eq!(tree.root_edges().map(|edge| edge.plies).collect::<Vec<_>>(), [Some(1), Some(3), Some(4)]);
    assert_eq!(tree.agents_action(), Some(Action(2)));
    assert_eq!(tree.principal_variation(), [2, 0, 0, 0].map(Action));
    // the same holds for the second player
    assert_eq!(searched("2(+ 1(2(+)) 2(2(2(+))))", 1000).tree().agents_action(), Some(Action(2)));
}

#[test]
fn a_winning_agent_takes_the_shortest_way_that_it_knows() {
    // the solver proves both actions; only the second ends the game
    let config = SearchConfig::with(|search| search.solve_nodes = 1000);
    let search = searched_by(config, "1(2(1(+)) +)", 100);
    assert_eq!(search.tree().agents_action(), Some(Action(1)));
    // the loser plays the action whose proof takes longest
    let search = searched("2(1(1(+)) 1(+) 1(1(1(+))))", 1000);
    assert_eq!(search.tree().agents_action(), Some(Action(2)));
    let line = search.tree().principal_variation();
    assert_eq!(line.len(), 4, "{line:?}");
}

#[test]
fn a_player_may_act_twice_in_a_row() {
    // the first player acts twice: 1 and then 1 wins; with alternating signs this would look like a loss
    let search = searched("1(2(- =) 1(- +))", 1000);
    let tree = search.tree();
    assert_eq!(tree.best_action(), Some(Action(1)));
    assert_eq!(tree.proven(), Some(Outcome::Win(Player::First)));
    let search = searched("1(2(2(+ -)) 1(1(- - =)))", 1000);
    let tree = search.tree();
    assert_eq!(tree.proven(), Some(Outcome::Draw));
    assert_eq!(tree.best_action(), Some(Action(1)));
}

#[test]
fn a_finished_root_is_solved_and_has_no_action() {
    let search = searched("-", 10);
    let tree = search.tree();
    assert_eq!(tree.proven(), Some(Outcome::Win(Player::Second)));
    assert_eq!(tree.best_action(), None);
    assert_eq!(tree.visits(), 0);
}

#[test]
fn visits_add_up_and_follow_the_value() {
    let (game, mut search) = tic_tac_toe(SearchConfig::default().one_by_one());
    search.run(&mut Rollout::new(game), 400, &mut random()).unwrap();
    let tree = search.tree();
    let visits: u32 = tree.root_edges().map(|edge| edge.visits).sum();
    assert_eq!((tree.visits(), visits), (400, 399));
    assert_eq!(tree.best_action(), Some(Action(4)), "random playouts prefer the center");
}

#[test]
fn the_subtree_of_the_action_played_is_kept() {
    let (_, mut search) = tic_tac_toe(SearchConfig::default());
    search.run(&mut Uniform, 300, &mut random()).unwrap();
    let kept = search.tree().root_edges().nth(4).unwrap().visits;
    search.advance(Action(4));
    assert_eq!(search.tree().visits(), kept);
    let visits: u32 = search.tree().root_edges().map(|edge| edge.visits).sum();
    assert_eq!(visits, kept - 1);
    // the simulations of the next search are added
    search.run(&mut Uniform, 10, &mut random()).unwrap();
    assert_eq!((search.tree().visits(), search.simulations()), (kept + 10, 10));
    // without reuse no part of the tree is kept
    let (_, mut search) = tic_tac_toe(SearchConfig::with(|search| search.reuse_tree = false));
    search.run(&mut Uniform, 300, &mut random()).unwrap();
    search.advance(Action(4));
    assert_eq!(search.tree().visits(), 0);
}

/// Counts the positions that it must evaluate.
struct Counting(usize);

impl<G: Game> Evaluator<G> for Counting {
    fn evaluate(&mut self, requests: &[Request<G>], out: &mut Evaluations) -> Result<()> {
        self.0 += requests.len();
        Uniform.evaluate(requests, out)
    }
}

#[test]
fn the_evaluation_of_a_new_root_is_one_of_the_simulations() {
    for config in configs() {
        let game = ConnectFour::new(&GameOptions::default()).unwrap();
        for simulations in [1, 2, 100] {
            let mut search = Search::new(game.clone(), config.clone(), game.initial());
            let mut counting = Counting(0);
            search.run(&mut counting, simulations, &mut random()).unwrap();
            assert_eq!((counting.0, search.simulations()), (simulations, simulations));
            assert_eq!(search.tree().visits() as usize, simulations);
            assert_eq!(search.has_begun(), simulations > 1);
        }
        // without any simulations there is still an action
        let mut search = Search::new(game.clone(), config, game.initial());
        search.run(&mut Uniform, 0, &mut random()).unwrap();
        assert!(search.simulations() == 1 && search.tree().best_action().is_some());
        search.run(&mut Uniform, 0, &mut random()).unwrap();
        assert_eq!((search.simulations(), search.tree().visits()), (0, 1));
    }
}

#[test]
fn a_search_ends_when_its_caller_has_enough() {
    let game = ConnectFour::new(&GameOptions::default()).unwrap();
    let mut search = Search::new(game.clone(), SearchConfig::default(), game.initial());
    search.begin(None, false);
    let mut asked = Vec::new();
    let more = |search: &Search<ConnectFour>| {
        asked.push(search.simulations());
        5usize.saturating_sub(search.simulations())
    };
    search.run_while(&mut Uniform, &mut random(), more).unwrap();
    // the new root has already been evaluated
    assert_eq!((asked, search.tree().visits()), (vec![1, 2, 3, 4, 5], 5));
}

/// Several walks in one tree: noise that is added between the first two walks sends the second walk elsewhere.
#[test]
fn several_walks_are_under_way_in_one_tree() {
    let (game, _) = tic_tac_toe(SearchConfig::default());
    let mut tree = Tree::new(game.clone(), SearchConfig::default(), game.initial());
    let mut walks = [0, 1, 2].map(|_| Walk::new(game.initial()));
    let answer = |walk: &Walk<TicTacToe>, tree: &mut Tree<TicTacToe>| {
        let priors = vec![1.0 / walk.leaf().1.len() as f32; walk.leaf().1.len()];
        tree.apply(walk, Evaluation { priors: &priors, wdl: Wdl::from_value(0.5, 0.0) });
    };
    assert_eq!(tree.select(&mut walks[0]), Leaf::Needs);
    answer(&walks[0], &mut tree);
    assert_eq!(tree.select(&mut walks[0]), Leaf::Needs);
    tree.begin(None, Some((1.0, &mut random())));
    assert_eq!(tree.select(&mut walks[1]), Leaf::Needs);
    assert_ne!(walks[0].leaf().0, walks[1].leaf().0);
    assert_eq!(tree.visits(), 1, "walks that are under way leave nothing in the tree");
    // the walks are applied in a different order than they began
    answer(&walks[1], &mut tree);
    assert_eq!(tree.select(&mut walks[2]), Leaf::Needs);
    answer(&walks[0], &mut tree);
    answer(&walks[2], &mut tree);
    let visits: u32 = tree.root_edges().map(|edge| edge.visits).sum();
    assert_eq!((tree.visits(), visits, tree.size().0), (4, 3, 4));
}

/// Asserts that an evaluation that does not fit causes a panic whose message contains `part`.
fn refused(part: &str, work: impl FnOnce() + std::panic::UnwindSafe) {
    let panic = std::panic::catch_unwind(work).expect_err("nobody noticed");
    let text = panic.downcast_ref::<String>().cloned();
    let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string())).unwrap();
    assert!(text.contains(part), "{text}");
}

#[test]
fn a_walk_that_does_not_fit_the_tree_is_refused() {
    let begin = || {
        let (game, _) = tic_tac_toe(SearchConfig::default());
        let tree = Tree::new(game.clone(), SearchConfig::default(), game.initial());
        let (mut first, second) = (Walk::new(game.initial()), Walk::new(game.initial()));
        let mut tree = tree;
        assert_eq!(tree.select(&mut first), Leaf::Needs);
        (tree, first, second)
    };
    let wdl = Wdl::from_value(0.0, 1.0);
    let evaluation = Evaluation { priors: &[1.0 / 9.0; 9], wdl };
    refused("one prior for each legal action", || {
        let (mut tree, walk, _) = begin();
        tree.apply(&walk, Evaluation { priors: &[0.1; 8], wdl });
    });
    refused("before the root of its tree changes", || {
        let (mut tree, walk, _) = begin();
        tree.advance(Action(4));
        tree.apply(&walk, evaluation);
    });
    refused("a leaf must be applied once", || {
        let (mut tree, first, mut second) = begin();
        tree.select(&mut second);
        tree.apply(&first, evaluation);
        tree.apply(&second, evaluation);
    });
    refused("a leaf must be applied once", || {
        let (mut tree, walk, _) = begin();
        tree.apply(&walk, evaluation);
        tree.apply(&walk, evaluation);
    });
}

#[test]
fn noise_changes_the_priors_once_and_keeps_their_sum() {
    let (_, mut search) = tic_tac_toe(SearchConfig::default());
    search.run(&mut Uniform, 1, &mut random()).unwrap();
    let priors = |search: &Search<TicTacToe>| -> Vec<f32> {
        search.tree().root_edges().map(|edge| edge.prior).collect()
    };
    let plain = priors(&search);
    search_all(&mut search, &mut Uniform, 1, true);
    let noisy = priors(&search);
    search_all(&mut search, &mut Uniform, 1, true);
    assert!(plain != noisy && noisy == priors(&search), "noise is added once for each root");
    assert!(noisy.iter().any(|prior| (prior - 1.0 / 9.0).abs() > 0.01));
    assert!((noisy.iter().sum::<f32>() - 1.0).abs() < 1e-5);
    assert!(noisy.iter().all(|prior| *prior >= 0.75 / 9.0 - 1e-6));
}

/// Exact values, but no hint which action to play.
struct Exact(Solver<TicTacToe>, TicTacToe);

impl Evaluator<TicTacToe> for Exact {
    fn evaluate(&mut self, requests: &[Request<TicTacToe>], out: &mut Evaluations) -> Result<()> {
        out.clear();
        for request in requests {
            let outcome = self.0.outcome(request.state).unwrap();
            let wdl = Wdl::of(outcome, self.1.to_move(request.state));
            out.push_uniform(request.legal.len(), wdl);
        }
        Ok(())
    }
}

/// Plays every reply of the opponent against the search's choice, and asserts that the result of perfect play is
/// never given away.
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
    let truth = exact.0.outcome(state).unwrap();
    let mut search = Search::new(game.clone(), config.clone(), *state);
    // forced playouts are a small share only of many simulations
    let noise = config.forced_playouts > 0.0;
    search_all(&mut search, exact, if noise { 200 } else { 30 }, noise);
    let mut next = *state;
    game.play(&mut next, search.tree().best_action().unwrap());
    assert_eq!(exact.0.outcome(&next).unwrap(), truth, "at {}", game.state_text(state));
    never_errs(game, exact, config, &next, side, seen);
}

#[test]
fn search_with_exact_values_never_loses() {
    let game = TicTacToe::new(&GameOptions::default()).unwrap();
    let mut exact = Exact(Solver::new(game.clone(), Limits::default()), game.clone());
    for config in configs() {
        for side in [Player::First, Player::Second] {
            never_errs(&game, &mut exact, &config, &game.initial(), side, &mut Default::default());
        }
    }
}

/// Random trees with random players.
pub fn tree_text() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![Just("+".to_string()), Just("-".to_string()), Just("=".to_string())];
    leaf.prop_recursive(5, 60, 4, |inner| {
        (prop_oneof![Just('1'), Just('2')], prop::collection::vec(inner, 1..4))
            .prop_map(|(player, children)| format!("{player}({})", children.concat()))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Given enough time, the search proves exactly the value of minimax, and plays accordingly.
    #[test]
    fn proofs_are_minimax(text in tree_text()) {
        let game = TreeGame::parse(&text);
        for config in configs() {
            let search = searched_by(config, &text, 5000);
            let tree = search.tree();
            prop_assert_eq!(tree.proven(), Some(game.minimax(0)));
            if let Some(action) = tree.best_action() {
                prop_assert_eq!(game.minimax(game.child(0, action)), game.minimax(0));
            }
        }
    }

    /// Whatever an unfinished search calls proven is true.
    #[test]
    fn unfinished_proofs_are_true(text in tree_text(), simulations in 1usize..30) {
        let game = TreeGame::parse(&text);
        let search = searched(&text, simulations);
        let tree = search.tree();
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

//! KataGo's data economy (Wu 2019) against numbers computed by hand: forced playouts and their pruning, playout cap
//! randomization, policy surprise weighting.

use crate::support::tree_game::TreeGame;
use petteia::board::Symmetry;
use petteia::config::{Config, SearchConfig};
use petteia::encode::Planes;
use petteia::error::Result;
use petteia::game::{Action, Game, GameOptions, Rules};
use petteia::games::tic_tac_toe::TicTacToe;
use petteia::random::{Purpose, stream};
use petteia::replay::record::{PLAIN_FORMAT, POLICY_FORMAT, Record};
use petteia::replay::sample::{Sample, samples};
use petteia::replay::window::Window;
use petteia::search::Search;
use petteia::search::evaluator::{Evaluations, Evaluator, Request, Rollout, Wdl};
use petteia::search::tree::{Tree, for_first};
use petteia::selfplay::starts::Starts;
use petteia::selfplay::{Generation, Monitor, play_shard};
use petteia::solve::{Limits, Solver};

fn rules() -> Rules<TicTacToe> {
    Rules::new(&GameOptions::default()).unwrap()
}

fn played(sets: &[&str]) -> Vec<Record> {
    played_by(&mut Rollout::new(rules().game), 60, sets)
}

fn played_by(evaluator: &mut dyn Evaluator<TicTacToe>, simulations: usize, sets: &[&str]) -> Vec<Record> {
    let rules = rules();
    let sets: Vec<String> = sets.iter().map(|set| set.to_string()).collect();
    let config = Config::parse_kept("test", "game.id = 'tic-tac-toe'", &sets).unwrap();
    let (config, identity) = (&config, &rules.identity);
    let generation = Generation {
        config,
        identity,
        number: 1,
        games: 24,
        simulations,
        evaluator: "test".into(),
        starts: Starts::default(),
    };
    play_shard(&rules.game, &generation, 0..24, evaluator, &Monitor::default(), &|_| true).unwrap()
}

/// Priors: actions 0 and 1 have high priors, action 2 a low one. Only action 0 is good.
struct Table(TreeGame);

const PRIORS: [f32; 3] = [0.5, 0.4, 0.1];
const VALUES: [f32; 3] = [0.5, -0.5, -0.5];

impl Evaluator<TreeGame> for Table {
    fn evaluate(&mut self, requests: &[Request<TreeGame>], out: &mut Evaluations) -> Result<()> {
        out.clear();
        for request in requests {
            let value = if *request.state == 0 { 0.0 } else { VALUES[(request.state - 1) / 201] };
            let wdl = Wdl::from_value(for_first(self.0.to_move(request.state), value), 0.0);
            match *request.state {
                0 => out.push(3, wdl).copy_from_slice(&PRIORS),
                _ => out.push_uniform(request.legal.len(), wdl),
            }
        }
        Ok(())
    }
}

/// Replies are numerous and have the same value, so no reply is visited twice and none is proven. The search makes 101
/// simulations. The noise at its root is almost zero, so the priors are those above.
fn forced(forced_playouts: f32) -> Search<TreeGame> {
    let child = format!("2({})", "1(=)".repeat(100));
    let game = TreeGame::parse(&format!("1({child}{child}{child})"));
    let config = SearchConfig::with(|search| {
        search.forced_playouts = forced_playouts;
        search.noise_fraction = 1e-6;
        search.cpuct = 1.0;
        search.fpu_reduction = 0.0;
    });
    let mut search = Search::new(game.clone(), config, 0);
    search.begin(Some(101), true);
    search.run_while(&mut Table(game), &mut stream(1, Purpose::Selfplay, &[]), |_| usize::MAX).unwrap();
    search
}

fn visits(tree: &Tree<TreeGame>) -> [u32; 3] {
    let visits: Vec<u32> = tree.root_edges().map(|edge| edge.visits).collect();
    visits.try_into().unwrap()
}

#[test]
fn noise_forces_visits_and_the_target_forgets_them() {
    // without forcing, action 1 is followed while 10 * 0.4 / (1 + N) is above about 1.05: N reaches 3
    let [_, bad, rare] = visits(forced(0.0).tree());
    assert!(bad <= 4 && rare <= 2, "{bad} {rare}");
    assert_eq!(forced(0.0).tree().policy_target(), None);
    // with k = 2: sqrt(2 * 0.4 * 100) = 8.9 and sqrt(2 * 0.1 * 100) = 4.5
    let search = forced(2.0);
    let tree = search.tree();
    assert_eq!(visits(tree), [86, 9, 5]);
    // the score of action 0 is 0.5 + 10.05 * 0.5 / (1 + 86) = 0.558. Action 1 with n visits scores -0.5 + 4.02 / (1 +
    // n), which is less from n = 3 on (0.505): 9 visits are pruned to 3. Action 2 scores -0.5 + 1.005 / (1 + n),
    // which is less even without visits: 4 of 5 are removed, and a single one is not a target
    let target = tree.policy_target().unwrap();
    assert_eq!(target, [(Action(0), 86), (Action(1), 3)]);
    assert_eq!(tree.best_action(), Some(Action(0)));
}

#[test]
fn surprise_is_the_divergence_of_the_target_from_the_prior() {
    let search = forced(0.0);
    let tree = search.tree();
    // 0.75 ln(0.75 / 0.5) + 0.25 ln(0.25 / 0.4) = 0.3041 - 0.1175
    let surprise = tree.surprise(&[(Action(0), 3), (Action(1), 1)]);
    assert!((surprise - 0.1866).abs() < 1e-3, "{surprise}");
    assert!(tree.surprise(&[(Action(0), 50), (Action(1), 40), (Action(2), 10)]) < 1e-5);
}

#[test]
fn only_full_searches_are_trained_on() {
    let rules = rules();
    let (mut trained, mut plies) = (0, 0);
    for record in played(&["selfplay.fast_simulations=8", "selfplay.full_share=0.25"]) {
        assert_eq!(record.format, PLAIN_FORMAT);
        let full = record.visits.iter().filter(|visits| !visits.is_empty());
        // a solved root ends a search early, but not in the first plies
        let early = record.visits.iter().take(3).filter(|visits| !visits.is_empty());
        assert!(early.clone().all(|visits| visits.values().sum::<u32>() > 8), "the full searches are kept");
        assert_eq!(samples(&rules, &record).unwrap().len(), full.clone().count());
        trained += full.count();
        plies += record.actions.len();
    }
    let share = trained as f64 / plies as f64;
    assert!((share - 0.25).abs() < 0.1, "{trained} of {plies}");
}

#[test]
fn switched_off_nothing_changes() {
    let plain = played(&[]);
    assert_eq!(plain, played(&["selfplay.full_share=0.9", "search.gumbel_actions=3"]));
    assert!(plain.iter().all(|record| record.format == PLAIN_FORMAT));
    assert!(plain.iter().all(|record| record.visits.iter().all(|visits| !visits.is_empty())));
}

#[test]
fn surprise_weights_sum_to_the_plies_of_their_game_and_are_recorded() {
    let rules = rules();
    for record in played(&["selfplay.surprise_weight=0.5"]) {
        assert_eq!((record.format, record.weights.len()), (POLICY_FORMAT, record.actions.len()));
        let sum: f32 = record.weights.iter().sum();
        assert!((sum - record.actions.len() as f32).abs() < 0.01, "{sum}");
        assert!(record.weights.iter().all(|weight| *weight >= 0.5));
        assert_eq!(Record::parse(&serde_json::to_string(&record).unwrap()).unwrap(), record);
        let weights: Vec<f32> =
            samples(&rules, &record).unwrap().iter().map(|sample| sample.weight).collect();
        assert_eq!(weights, record.weights);
    }
}

#[test]
fn the_window_draws_by_weight() {
    let rules = rules();
    // each sample has the action with its own number as its target, so it can be recognized
    let sample = |number: u16, weight: f32| {
        let mut planes = Planes::new(rules.identity.shape);
        (0..rules.identity.shape.planes).for_each(|plane| planes.fill(plane, 0.0));
        let wdl = Wdl { win: 0.0, draw: 1.0, loss: 0.0 };
        let symmetries: &'static [Symmetry] = &[Symmetry::IDENTITY];
        Sample {
            planes,
            policy: vec![(Action(number), 1.0)],
            outcome: wdl,
            search: wdl,
            target: wdl,
            weight,
            symmetries: symmetries.to_vec(),
            auxiliary: Vec::new(),
        }
    };
    let mut window = Window::new(1000, rules.identity.shape);
    window.push_samples(&rules.game, vec![sample(0, 1.0), sample(1, 1.0)]);
    window.push_samples(&rules.game, vec![sample(2, 0.5), sample(3, 2.0), sample(4, 0.0), sample(5, 1.5)]);
    let draw = || window.draw(12_000, 0.0, &mut stream(1, Purpose::Sampling, &[0]));
    let batch = draw();
    assert_eq!(batch.policy, draw().policy, "the same stream draws the same");
    // weights 1, 1, 0.5, 2, 0, 1.5 of 6
    for (action, expected) in [2000.0, 2000.0, 1000.0, 4000.0, 0.0, 3000.0].into_iter().enumerate() {
        let drawn: f32 = batch.policy.column(action).sum();
        assert!((drawn - expected).abs() <= 150.0, "sample {action}: {drawn}, expected {expected}");
    }
}

/// An evaluator that predicts the same uncertain result everywhere.
struct Doubtful;

impl Evaluator<TicTacToe> for Doubtful {
    fn evaluate(&mut self, requests: &[Request<TicTacToe>], out: &mut Evaluations) -> Result<()> {
        out.clear();
        for request in requests {
            out.push_uniform(request.legal.len(), Wdl { win: 0.4, draw: 0.2, loss: 0.4 });
        }
        Ok(())
    }
}

/// The number of plies of records in which the search's value is exact, and the number of all plies.
fn exact(records: &[Record]) -> (usize, usize) {
    let is_exact = |wdl: &&[f32; 3]| wdl.contains(&1.0);
    let exact = records.iter().map(|record| record.wdl.iter().filter(is_exact).count()).sum();
    (exact, records.iter().map(|record| record.actions.len()).sum())
}

#[test]
fn solved_positions_are_played_and_taught_as_they_are() {
    let rules = rules();
    let played = |sets: &[&str]| played_by(&mut Doubtful, 2, sets);
    let (searched, solved) = (played(&[]), played(&["selfplay.solve_nodes=10000"]));
    // few simulations prove at most positions near the end
    let before = exact(&searched);
    assert!(before.0 < before.1 / 2, "{before:?}");
    assert_eq!(exact(&solved).0, exact(&solved).1);
    let mut solver = Solver::new(rules.game.clone(), Limits::default());
    for record in &solved {
        assert_eq!(record.outcome, "draw", "solved positions are played as solved, so none is lost");
        let mut ply = 0;
        record
            .replay(&rules, |seen| {
                let best = solver.best_actions(seen.state).unwrap();
                let taught = &record.visits[ply];
                let is_best =
                    |text: &String| best.contains(&rules.game.parse_action(seen.state, text).unwrap());
                assert!(!taught.is_empty() && taught.keys().all(is_best), "{taught:?}");
                let value = solver.outcome(seen.state).unwrap().value_for(rules.game.to_move(seen.state));
                assert_eq!(record.wdl[ply][0] - record.wdl[ply][2], value);
                ply += 1;
            })
            .unwrap();
    }
    // there are too few nodes to solve the first plies, but the table keeps partial results
    let (some, all) = exact(&played(&["selfplay.solve_nodes=100"]));
    assert!(some * before.1 > before.0 * all && some < all, "{some} of {all}, {before:?} without");
    // the switch for agents is a different one
    assert_eq!(played(&["search.solve_nodes=10000"]), searched);
}

/// How strongly a value favors one side.
fn certainty(wdl: &[f32; 3]) -> f32 {
    (wdl[0] - wdl[2]).abs()
}

#[test]
fn a_decided_game_is_played_without_temperature() {
    let played = |sets: &[&str]| played_by(&mut Doubtful, 60, sets);
    let (before, after) = (played(&[]), played(&["selfplay.decided=0.5"]));
    assert_eq!(before, played(&["selfplay.decided=0"]));
    // records are rounded, so values near the bound are not considered
    let is_decided = |wdl: &[f32; 3]| wdl.contains(&1.0) || certainty(wdl) > 0.502;
    let is_open = |wdl: &[f32; 3]| !wdl.contains(&1.0) && certainty(wdl) < 0.498;
    // counts these plies, and those in which the most visited action was not played
    let count = |records: &[Record], is_meant: &dyn Fn(&[f32; 3]) -> bool| {
        let mut found = [0, 0];
        for record in records {
            for ((action, visits), wdl) in record.actions.iter().zip(&record.visits).zip(&record.wdl) {
                let is_best = visits.get(action) == visits.values().max();
                found[0] += usize::from(is_meant(wdl));
                found[1] += usize::from(is_meant(wdl) && !is_best);
            }
        }
        found
    };
    assert!(count(&before, &is_decided)[1] > 0, "the temperature chose in decided games");
    let [decided, other] = count(&after, &is_decided);
    assert!(decided > 20 && other == 0, "{decided} {other}");
    assert!(count(&after, &is_open)[1] > 20, "the temperature still chooses in open games");
    // up to the first decided ply, the same actions were drawn
    for (plain, record) in before.iter().zip(&after) {
        let open = record.wdl.iter().take_while(|wdl| is_open(wdl)).count();
        assert!(open > 0 && plain.actions[..open] == record.actions[..open], "{open}");
    }
}

#[test]
fn every_switch_at_once_plays_on() {
    let all = [
        "selfplay.fast_simulations=8",
        "selfplay.surprise_weight=0.5",
        "search.forced_playouts=2",
        "selfplay.full_share=0.5",
    ];
    let rules = rules();
    for root in ["search.root=puct", "search.root=gumbel"] {
        for record in played(&[&all[..], &[root]].concat()) {
            record.replay(&rules, |_| {}).unwrap();
        }
    }
}

//! Checks that notice a wrong sign, mask, perspective, or symmetry: a network trained only on perfect play of
//! tic-tac-toe must learn perfect play, through the same records, window, loss, optimizer, and evaluator that self-play
//! uses.

use std::collections::{BTreeMap, HashSet};

use petteia::config::{EvaluatorKind, NetConfig, OptimizerKind, Precision, TrainConfig};
use petteia::game::{Game, GameOptions, Outcome, Rules};
use petteia::games::tic_tac_toe::TicTacToe;
use petteia::net::evaluator::SharedNet;
use petteia::net::infer::CpuNet;
use petteia::net::network::Network;
use petteia::random::{Purpose, stream};
use petteia::replay::record::{POLICY_FORMAT, Record};
use petteia::replay::window::Window;
use petteia::search::evaluator::{Evaluations, Evaluator, Request};
use petteia::solve::{Limits, Solver};
use petteia::train::Trainer;

type State = <TicTacToe as Game>::State;

fn rules() -> Rules<TicTacToe> {
    Rules::new(&GameOptions::default()).unwrap()
}

/// Every position that is not over.
fn positions(game: &TicTacToe) -> Vec<State> {
    let mut seen = HashSet::new();
    let mut open = vec![game.initial()];
    let mut found = Vec::new();
    while let Some(state) = open.pop() {
        if game.outcome(&state).is_some() || !seen.insert(game.key(&state)) {
            continue;
        }
        for action in game.legal(&state) {
            let mut next = state;
            game.play(&mut next, action);
            open.push(next);
        }
        found.push(state);
    }
    found
}

/// A record that begins at `state`, with the best actions of that position as its visits, continued with perfect
/// play.
fn perfect_record(
    rules: &Rules<TicTacToe>,
    solver: &mut Solver<TicTacToe>,
    state: &State,
    index: usize,
) -> Record {
    let Rules { game, identity, .. } = rules;
    let best = solver.best_actions(state).unwrap();
    let mut visits = vec![best.iter().map(|a| (game.action_text(state, *a), 10)).collect::<BTreeMap<_, _>>()];
    let (mut now, mut actions) = (*state, Vec::new());
    while game.outcome(&now).is_none() {
        let action = solver.best_actions(&now).unwrap()[0];
        actions.push(game.action_text(&now, action));
        game.play(&mut now, action);
    }
    visits.resize(actions.len(), BTreeMap::new());
    Record {
        format: POLICY_FORMAT,
        index,
        wdl: vec![[0.0, 1.0, 0.0]; actions.len()],
        visits,
        outcome: game.outcome(&now).unwrap().id().into(),
        actions,
        ..Record::new(identity, "perfect", game.state_text(state))
    }
}

fn trained(rules: &Rules<TicTacToe>, config: TrainConfig, steps: usize) -> (Trainer, Window, Vec<State>) {
    let positions = positions(&rules.game);
    assert_eq!(positions.len(), 4520, "positions of tic-tac-toe that are not over");
    let mut solver = Solver::new(rules.game.clone(), Limits::default());
    let records: Vec<Record> =
        positions.iter().enumerate().map(|(i, state)| perfect_record(rules, &mut solver, state, i)).collect();
    let mut window = Window::new(100_000, rules.identity.shape);
    assert_eq!(window.push(rules, &records).unwrap(), positions.len());
    let net = NetConfig::with(|net| (net.filters, net.blocks, net.value_hidden) = (32, 2, 64));
    let network = Network::new(&net, rules.identity.shape, 1);
    let mut trainer = Trainer::new(&config, &network);
    for step in 0..steps {
        let rate = petteia::train::schedule::learning_rate(&config, step, step as f64 / steps as f64);
        let mut random = stream(1, Purpose::Sampling, &[step as u64]);
        trainer.train(&window.draw(config.batch, 0.0, &mut random), rate).unwrap();
    }
    (trainer, window, positions)
}

#[test]
fn a_net_trained_on_the_truth_knows_the_truth() {
    let rules = rules();
    let config = TrainConfig::with(|train| {
        train.learning_rate = 0.004;
        train.learning_rate_final = 1e-5;
        train.weight_decay = 1e-5;
        train.batch = 256;
    });
    let (trainer, window, positions) = trained(&rules, config, 1500);
    let all: Vec<usize> = (0..positions.len()).collect();
    let quality = trainer.quality([window.rows(&all)]).unwrap();
    let (divergence, value) = (quality.surprise(), quality.value_loss);
    println!("policy divergence {divergence:.5} nats, value cross entropy {value:.5} nats");
    assert!(divergence < 0.02, "policy divergence {divergence}");
    assert!(value < 0.02, "value cross entropy {value}");

    // and the evaluator's answers for all positions agree with perfect play
    let mut solver = Solver::new(rules.game.clone(), Limits::default());
    let (fused, burn) = (EvaluatorKind::Fused, EvaluatorKind::Burn);
    for (evaluator, precision) in [(burn, Precision::F32), (fused, Precision::F32), (fused, Precision::Bf16)]
    {
        if !CpuNet::has(precision) {
            continue;
        }
        let kind = (evaluator, precision);
        let net = SharedNet::new(
            &trainer.snapshot(),
            &NetConfig::with(|net| (net.evaluator, net.precision) = kind),
        );
        let mut evaluator = net.evaluator(&rules.game);
        let legal: Vec<_> = positions.iter().map(|state| rules.game.legal(state)).collect();
        let requests: Vec<_> =
            positions.iter().zip(&legal).map(|(state, legal)| Request { state, legal, seed: 0 }).collect();
        let mut out = Evaluations::new();
        evaluator.evaluate(&requests, &mut out).unwrap();
        let (mut wrong_values, mut wrong_actions) = (0, 0);
        for ((state, legal), found) in positions.iter().zip(&legal).zip(out.rows()) {
            let truth: Outcome = solver.outcome(state).unwrap();
            let value = truth.value_for(rules.game.to_move(state));
            wrong_values += ((found.wdl.value() - value).abs() > 0.5) as usize;
            let top = (0..legal.len()).max_by(|a, b| found.priors[*a].total_cmp(&found.priors[*b])).unwrap();
            wrong_actions += !solver.best_actions(state).unwrap().contains(&legal[top]) as usize;
        }
        println!(
            "{kind:?}: {wrong_values} wrong values, {wrong_actions} wrong actions of {}",
            positions.len()
        );
        assert!(wrong_values <= 5, "{kind:?}: {wrong_values} wrong values");
        assert!(wrong_actions <= 5, "{kind:?}: {wrong_actions} wrong actions");
    }
}

#[test]
fn sgd_learns_too() {
    let rules = rules();
    let config = TrainConfig::with(|train| {
        train.optimizer = OptimizerKind::Sgd;
        train.learning_rate = 0.1;
        train.weight_decay = 0.0001;
        train.batch = 128;
        train.learning_rate_final = 0.001;
    });
    let (trainer, window, positions) = trained(&rules, config, 500);
    let all: Vec<usize> = (0..positions.len()).collect();
    let quality = trainer.quality([window.rows(&all)]).unwrap();
    let (divergence, value) = (quality.surprise(), quality.value_loss);
    println!("policy divergence {divergence:.4}, value cross entropy {value:.4}");
    assert!(divergence < 0.2);
    assert!(value < 0.2);
}

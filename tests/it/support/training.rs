//! Networks whose batch norms have seen some data, and positions to evaluate.

use petteia::config::{NetConfig, TrainConfig};
use petteia::game::{Game, Shape};
use petteia::net::network::Network;
use petteia::random::{Purpose, Random, choose, stream};
use petteia::replay::window::Batch;
use petteia::train::Trainer;
use rand::RngExt;

pub fn random(name: u64) -> Random {
    stream(3, Purpose::Sampling, &[name])
}

/// Random planes, targets, and legal actions.
pub fn batch(shape: Shape, len: usize, random: &mut Random) -> Batch {
    let mut batch = Batch::empty(len, shape);
    batch.planes.mapv_inplace(|_| random.random());
    batch.illegal.mapv_inplace(|_| random.random::<f32>() < 0.5);
    for row in 0..len {
        let action = random.random_range(0..shape.actions);
        batch.illegal[[row, action]] = false;
        batch.policy[[row, action]] = 1.0;
        batch.wdl[[row, random.random_range(0..3)]] = 1.0;
    }
    batch
}

/// A network trained for some steps on random batches.
pub fn trained(net: &NetConfig, shape: Shape, steps: u64) -> Trainer {
    let mut trainer = Trainer::new(&TrainConfig::default(), &Network::new(net, shape, 1));
    for step in 0..steps {
        trainer.train(&batch(shape, 16, &mut random(step)), 0.01).unwrap();
    }
    trainer
}

/// At least `count` positions, none of them final: all positions of as many random games as needed.
pub fn positions<G: Game>(game: &G, count: usize) -> Vec<G::State> {
    let (mut states, mut chance) = (Vec::new(), random(4));
    while states.len() < count {
        let mut state = game.initial();
        while game.outcome(&state).is_none() {
            states.push(state.clone());
            let action = choose(&mut chance, &game.legal(&state));
            game.play(&mut state, action);
        }
    }
    states
}

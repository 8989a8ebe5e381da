//! A custom training loop with a custom network: a small perceptron in burn learns Connect Four from games against
//! itself, and then plays a match of paired games against `rollout:100`.
//!
//! `cargo run --release --example own_training`

use petteia::arena::contestant::Contestant;
use petteia::arena::spec::AgentSpec;
use petteia::arena::{Match, MatchResult, play_match};
use petteia::burn;
use petteia::burn::module::Module;
use petteia::burn::nn::{Linear, LinearConfig};
use petteia::burn::optim::{AdamWConfig, GradientsParams};
use petteia::burn::tensor::{Tensor, TensorData, activation::relu};
use petteia::config::Config;
use petteia::encode::Shape;
use petteia::error::Result;
use petteia::game::{GameOptions, Rules};
use petteia::games::connect_four::ConnectFour;
use petteia::net::device::cpu;
use petteia::random::{Purpose, stream};
use petteia::replay::window::Window;
use petteia::search::evaluator::{Evaluator, Rollout};
use petteia::search::function::{FnEvaluator, Logits};
use petteia::selfplay::starts::Starts;
use petteia::selfplay::{Generation, Monitor, play_shard};
use petteia::train::loss::{data, losses};

/// A network that maps planes to the logits of the policy and of win, draw, and loss.
#[derive(Module, Debug)]
struct Perceptron {
    hidden: [Linear; 2],
    heads: [Linear; 2],
}

impl Perceptron {
    fn new(shape: Shape) -> Perceptron {
        let layer = |inputs, outputs| LinearConfig::new(inputs, outputs).init(&cpu().autodiff());
        let hidden = [shape.input_len(), 128].map(|inputs| layer(inputs, 128));
        Perceptron { hidden, heads: [shape.actions, 3].map(|outputs| layer(128, outputs)) }
    }

    fn forward(&self, planes: Tensor<2>) -> [Tensor<2>; 2] {
        let x = self.hidden.iter().fold(planes, |x, layer| relu(layer.forward(x)));
        self.heads.each_ref().map(|head| head.forward(x.clone()))
    }

    fn evaluator(&self, game: &ConnectFour) -> impl Evaluator<ConnectFour> + use<> {
        let network = self.valid();
        FnEvaluator::new(game, move |planes: Vec<f32>, n| {
            let planes = TensorData::new(planes.clone(), [n, planes.len() / n]);
            let logits = network.forward(Tensor::from_data(planes, &cpu()));
            let [policy, wdl] = logits.map(|logits| logits.into_data().try_into_vec().expect("f32"));
            Logits { policy, wdl }
        })
    }
}

/// Trains for this many generations of this many games, and returns the match against `rollout:100`.
///
/// # Errors
/// If games cannot be played, or the network returns numbers that are not finite.
pub fn train(generations: usize, games: usize) -> Result<MatchResult> {
    let rules = Rules::<ConnectFour>::new(&GameOptions::default())?;
    let (game, identity, config) = (&rules.game, &rules.identity, &Config::new("connect-four"));
    let (mut network, mut optimizer) = (Perceptron::new(identity.shape), AdamWConfig::new().init());
    let mut window = Window::new(20_000, identity.shape);
    for number in 1..=generations {
        // at first, random playouts teach more than an untrained network
        let mut evaluator: Box<dyn Evaluator<ConnectFour>> = match number {
            1 => Box::new(Rollout::new(game.clone())),
            _ => Box::new(network.evaluator(game)),
        };
        let name = format!("generation {}", number - 1);
        let generation = Generation {
            config,
            identity,
            number,
            games,
            simulations: 60,
            evaluator: name,
            starts: Starts::default(),
        };
        let records =
            play_shard(game, &generation, 0..games, &mut *evaluator, &Monitor::default(), &|_| true)?;
        for step in 0..window.push(&rules, &records)? / 16 {
            let batch = window.draw(64, 0.0, &mut stream(number as u64, Purpose::Sampling, &[step as u64]));
            let planes = Tensor::<4>::from_data(data(&batch.planes), &cpu().autodiff());
            let [policy, wdl] = network.forward(planes.flatten(1, 3));
            let (loss, _) = losses(policy, wdl, &batch, 1.0, &cpu().autodiff());
            let gradients = GradientsParams::from_grads(loss.backward(), &network);
            network = optimizer.step(0.001, network, gradients);
        }
    }
    let network = network.valid();
    let fresh = move || network.evaluator(&ConnectFour);
    let trained = Contestant::searching(game, "perceptron", &config.search, 100, fresh);
    let rollout = Contestant::new(&rules, &AgentSpec::Rollout(100))?;
    let plan = Match { games: 60, seed: 1, opening_plies: 4, book: None, sprt: None };
    play_match(game, &plan, [&trained, &rollout], None, |_| true)
}

#[allow(dead_code, clippy::print_stdout)] // a test includes this file as a module
fn main() -> Result<()> {
    train(8, 192).map(|result| println!("{result:?}"))
}

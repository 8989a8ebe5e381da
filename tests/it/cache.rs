//! The cache of evaluations returns the original evaluations and does not change games.

use petteia::config::Config;
use petteia::error::Result;
use petteia::game::{Action, Game, GameOptions, Rules};
use petteia::games::connect_four::ConnectFour;
use petteia::net::evaluator::SharedNet;
use petteia::net::network::Network;
use petteia::random::{Purpose, choose, mix, stream};
use petteia::replay::record::Record;
use petteia::search::cache::Cached;
use petteia::search::evaluator::{Evaluations, Evaluator, Request, Wdl};
use petteia::selfplay::starts::Starts;
use petteia::selfplay::{Generation, Monitor, Progress, play_shard};

type State = <ConnectFour as Game>::State;

fn rules() -> Rules<ConnectFour> {
    Rules::new(&GameOptions::default()).unwrap()
}

/// An evaluator whose answers depend on the key alone, and which counts requests.
#[derive(Default)]
struct Hashing(usize);

impl Evaluator<ConnectFour> for Hashing {
    fn evaluate(&mut self, requests: &[Request<ConnectFour>], out: &mut Evaluations) -> Result<()> {
        out.clear();
        self.0 += requests.len();
        for request in requests {
            let number = |seed: u64| (mix(ConnectFour.key(request.state) ^ seed) % 1000) as f32 / 1000.0;
            let priors = out.push(request.legal.len(), Wdl::from_value(number(99), 0.0));
            for (prior, action) in priors.iter_mut().zip(request.legal) {
                *prior = number(action.0 as u64);
            }
        }
        Ok(())
    }
}

/// Positions of random games.
fn positions(count: usize) -> Vec<(State, Vec<Action>)> {
    let mut random = stream(1, Purpose::Opening, &[]);
    let mut found = Vec::new();
    while found.len() < count {
        let mut state = ConnectFour.initial();
        while ConnectFour.outcome(&state).is_none() {
            let legal = ConnectFour.legal(&state);
            let action = choose(&mut random, &legal);
            found.push((state, legal));
            ConnectFour.play(&mut state, action);
        }
    }
    found.truncate(count);
    found
}

fn requests(positions: &[(State, Vec<Action>)]) -> Vec<Request<'_, ConnectFour>> {
    positions.iter().map(|(state, legal)| Request { state, legal, seed: 0 }).collect()
}

#[test]
fn what_a_full_cache_answers_is_what_was_evaluated() {
    // these are far more evaluations than a mebibyte holds
    let positions = positions(200_000);
    let mut cached = Cached::new(ConnectFour, Hashing::default(), 1);
    let (mut found, mut expected) = (Evaluations::new(), Evaluations::new());
    assert!(cached.bytes() <= 1 << 20);
    for batch in positions.chunks(64) {
        for part in [batch, &batch[..batch.len() / 2]] {
            cached.evaluate(&requests(part), &mut found).unwrap();
            Hashing::default().evaluate(&requests(part), &mut expected).unwrap();
            assert_eq!(found, expected);
        }
    }
    assert!(cached.bytes() <= 1 << 20);
    assert!(cached.hits() >= 90_000, "{} hits", cached.hits());
}

#[test]
fn equal_positions_of_a_batch_are_evaluated_once() {
    let one = positions(1);
    let many = vec![one[0].clone(); 10];
    let mut cached = Cached::new(ConnectFour, Hashing::default(), 1);
    let mut out = Evaluations::new();
    cached.evaluate(&requests(&many), &mut out).unwrap();
    assert_eq!((out.len(), cached.hits()), (10, 9));
    cached.evaluate(&requests(&many), &mut out).unwrap();
    assert_eq!((out.len(), cached.hits()), (10, 19));
}

fn played(cache: usize, batch: usize) -> (Vec<Record>, Progress) {
    let rules = rules();
    let mut config = Config::new("connect-four");
    (config.net.filters, config.net.blocks) = (8, 1);
    let network = Network::new(&config.net, rules.identity.shape, 1);
    let net = SharedNet::new(&network, &config.net);
    let evaluator = "test".to_string();
    let generation = Generation {
        config: &config,
        identity: &rules.identity,
        number: 1,
        games: 12,
        simulations: 40,
        evaluator,
        starts: Starts::default(),
    };
    let mut evaluator: Box<dyn Evaluator<ConnectFour>> = match cache {
        0 => Box::new(net.evaluator(&rules.game)),
        size => Box::new(Cached::new(rules.game.clone(), net.evaluator(&rules.game), size)),
    };
    let monitor = Monitor::default();
    let mut records = Vec::new();
    for first in (0..12).step_by(batch) {
        let games = first..first + batch;
        records.extend(
            play_shard(&rules.game, &generation, games, evaluator.as_mut(), &monitor, &|_| true).unwrap(),
        );
    }
    (records, monitor.progress())
}

#[test]
fn games_are_the_same_with_a_cache_and_without() {
    let (plain, without) = played(0, 12);
    assert_eq!(without.hits, 0);
    for batch in [1, 4, 12] {
        let (records, with) = played(1, batch);
        assert!(records == plain, "games in batches of {batch} differ");
        assert_eq!(with.evaluations, without.evaluations);
        assert!(with.hits > with.evaluations / 20, "{} hits of {}", with.hits, with.evaluations);
    }
}

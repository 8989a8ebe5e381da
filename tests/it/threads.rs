//! One tree, many threads: a command gives the same answer with any number of threads.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use petteia::any::AnyGame;
use petteia::any::Opened;
use petteia::arena::contestant::Contestant;
use petteia::arena::searching::Analysis;
use petteia::config::{NetConfig, RootKind, SearchConfig};
use petteia::error::{Error, Result};
use petteia::game::{Game, GameOptions, Rules, Variants};
use petteia::games::Games;
use petteia::games::connect_four::ConnectFour;
use petteia::games::phage::Phage;
use petteia::net::evaluator::SharedNet;
use petteia::net::network::Network;
use petteia::protocol::thinker::{Limits, Task, Thinker};
use petteia::protocol::ugi::Ugi;
use petteia::protocol::{Order, Protocol};
use petteia::random::{Purpose, stream};
use petteia::registry::Registry;
use petteia::search::crew::Crew;
use petteia::search::evaluator::{Evaluations, Evaluator, Request, Rollout, Uniform};
use petteia::session::Session;

const THREADS: [usize; 4] = [1, 2, 3, 16];

fn searching(leaves: usize, root: RootKind) -> SearchConfig {
    SearchConfig::with(|search| (search.leaves, search.root, search.leaf_nodes) = (leaves, root, 8))
}

fn rollouts<G: Game>(game: &G, config: &SearchConfig) -> Contestant<G> {
    let rules = game.clone();
    Contestant::searching(game, "rollouts", config, 200, move || Rollout::new(rules.clone()))
}

/// An agent's analyses of three positions of a game, which follow each other by its own actions.
fn analyses<G: Game>(game: &G, contestant: &Contestant<G>) -> Vec<String> {
    use petteia::arena::agent::Agent;
    let mut agent = contestant.search_agent(stream(1, Purpose::Agent, &[])).unwrap();
    let mut state = game.initial();
    let mut found = Vec::new();
    for _ in 0..3 {
        let Analysis { action, value, visits, priors, principal_variation, simulations, .. } =
            agent.analyze(&state).unwrap();
        found.push(format!("{action:?} {value} {visits:?} {priors:?} {principal_variation:?} {simulations}"));
        agent.played(&state, action);
        game.play(&mut state, action);
    }
    found
}

#[test]
fn every_game_is_searched_alike() {
    struct Alike;
    impl Alike {
        fn on(self, rules: Opened) {
            for root in [RootKind::Puct, RootKind::Gumbel] {
                let contestant = |threads| rollouts(&rules.game, &searching(8, root)).with_threads(threads);
                let found = THREADS.map(|threads| analyses(&rules.game, &contestant(threads)));
                assert!(found.iter().all(|other| *other == found[0]), "{}: {found:?}", rules.identity.id);
            }
        }
    }
    for id in Games::ids() {
        Games::open(&id, &Default::default()).map(|rules| Alike.on(rules)).unwrap();
    }
}

#[test]
fn a_network_is_searched_alike() {
    let rules = Rules::<Phage>::new(&GameOptions::default()).unwrap();
    let shape = rules.identity.shape;
    let config = NetConfig::with(|net| (net.filters, net.blocks) = (8, 1));
    let network = Network::new(&config, shape, 7);
    let net = SharedNet::new(&network, &config);
    for leaves in [0, 5, 32] {
        let contestant = |threads| {
            Contestant::trained(&rules.game, &searching(leaves, RootKind::Puct), net.clone(), 300)
                .with_threads(threads)
        };
        let found = THREADS.map(|threads| analyses(&rules.game, &contestant(threads)));
        assert!(found.iter().all(|other| *other == found[0]), "{leaves} leaves");
    }
}

/// Answers with the index of the request in its batch, and fails if it is asked for too many at once.
struct Numbering {
    most: usize,
}

impl<G: Game> Evaluator<G> for Numbering {
    fn evaluate(&mut self, requests: &[Request<G>], out: &mut Evaluations) -> Result<()> {
        if requests.len() > self.most {
            return Err(Error::Interrupted);
        }
        Uniform.evaluate(requests, out)
    }
}

#[test]
fn a_crew_divides_a_batch_evenly_and_says_what_fails() {
    let game = ConnectFour::new(&GameOptions::default()).unwrap();
    let states: Vec<_> = (0..7)
        .map(|column| {
            let mut state = game.initial();
            let action = game.legal(&state)[column];
            game.play(&mut state, action);
            state
        })
        .collect();
    let legal = game.legal(&states[0]);
    let requests: Vec<Request<ConnectFour>> = states
        .iter()
        .enumerate()
        .map(|(at, state)| Request { state, legal: &legal, seed: at as u64 })
        .collect();
    let (mut alone, mut together) = (Evaluations::new(), Evaluations::new());
    Rollout::new(game.clone()).evaluate(&requests, &mut alone).unwrap();
    for threads in THREADS {
        let mut crew = Crew::new(threads, || Rollout::new(game.clone()));
        for count in [7, 1, 2, 5] {
            crew.evaluate(&requests[..count], &mut together).unwrap();
            assert_eq!(together.len(), count);
            assert!(together.rows().eq(alone.rows().take(count)), "{threads} threads, {count} requests");
        }
    }
    // seven requests are cut into parts of three, three, and one
    assert!(Crew::new(3, || Numbering { most: 3 }).evaluate(&requests, &mut together).is_ok());
    let failed = Crew::new(3, || Numbering { most: 2 }).evaluate(&requests, &mut together);
    assert!(matches!(failed, Err(Error::Interrupted)));
}

#[test]
fn an_engine_takes_threads_and_keeps_to_its_nodes() {
    let game = AnyGame::of(ConnectFour::new(&GameOptions::default()).unwrap());
    let answer = |threads: usize, leaves: usize, limits: &str| {
        let agent =
            rollouts(&game, &searching(leaves, RootKind::Puct)).search_agent(stream(1, Purpose::Agent, &[]));
        let mut thinker = Thinker::new(game.clone(), agent.unwrap());
        let mut ugi = Ugi::new(game.clone(), "test");
        assert!(ugi.line(&format!("setoption name Threads value {threads}")).lines.is_empty());
        let Order::Search(task) = ugi.line(&format!("go {limits}")).order else { panic!("no search") };
        assert_eq!(task.threads, Some(threads));
        let report = thinker.search(&task, Instant::now(), &AtomicBool::new(false), &mut |_| {}).unwrap();
        (report.action, report.line, report.simulations)
    };
    for leaves in [0, 16] {
        let found = THREADS.map(|threads| answer(threads, leaves, "nodes 1000"));
        assert!(found.iter().all(|other| *other == found[0]), "{found:?}");
        assert_eq!(found[0].2, 1000);
        // a round does not exceed the permitted number, even if time is a limit as well
        assert_eq!(answer(2, leaves, "nodes 777 movetime 100000").2, 777);
    }
    let mut ugi = Ugi::new(game, "test").with_threads(2);
    let lines = ugi.line("ugi").lines;
    assert!(
        lines.contains(&"option name Threads type spin default 2 min 1 max 512".to_string()),
        "{lines:?}"
    );
    for wrong in ["0", "513", "many", ""] {
        let said = ugi.line(&format!("setoption name Threads value {wrong}")).lines;
        assert!(said[0].contains("is not a number from 1 to 512"), "{said:?}");
    }
}

#[test]
fn an_agent_of_one_evaluator_stays_on_one_thread() {
    let game = AnyGame::of(ConnectFour::new(&GameOptions::default()).unwrap());
    let agent = petteia::arena::searching::SearchAgent::new(
        game.clone(),
        SearchConfig::default(),
        50,
        Uniform,
        stream(1, Purpose::Agent, &[]),
    );
    let mut thinker = Thinker::new(game.clone(), agent);
    let mut task = Task::of(&Session::new(game), Limits { time: Some(Duration::ZERO), ..Limits::default() });
    task.threads = Some(4);
    assert!(thinker.search(&task, Instant::now(), &AtomicBool::new(false), &mut |_| {}).is_ok());
}

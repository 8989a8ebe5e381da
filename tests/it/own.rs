//! The library as used by people who bring their own evaluator, network, or agent.

#[path = "../../examples/own_evaluator.rs"]
mod own_evaluator;
#[path = "../../examples/own_training.rs"]
mod own_training;

use std::panic::{AssertUnwindSafe, catch_unwind};

use petteia::arena::agent::Agent;
use petteia::arena::contestant::Contestant;
use petteia::arena::searching::SearchAgent;
use petteia::arena::spec::AgentSpec;
use petteia::arena::{Match, play_match};
use petteia::config::{Config, SearchConfig};
use petteia::encode::Shape;
use petteia::error::Result;
use petteia::game::{Action, Game, GameOptions, Rules};
use petteia::games::connect_four::ConnectFour;
use petteia::random::{Purpose, stream};
use petteia::replay::store;
use petteia::run::{Event, Observer, train};
use petteia::search::Search;
use petteia::search::cache::Cached;
use petteia::search::evaluator::{Evaluations, Evaluator, Request, Uniform, Wdl};
use petteia::search::function::{FnEvaluator, Logits};
use petteia::selfplay::starts::Starts;
use petteia::selfplay::{Generation, Monitor, play_halves, play_shard};

fn rules() -> Rules<ConnectFour> {
    Rules::new(&GameOptions::default()).unwrap()
}

#[test]
fn the_example_plays_a_match_and_writes_a_shard() {
    let folder = tempfile::tempdir().unwrap();
    let shard = folder.path().join("00000.jsonl.zst");
    let result = own_evaluator::play(8, 60, &shard).unwrap();
    assert_eq!(result.games, 8);
    assert!(result.elo.is_finite());
    let read = store::read_shard(&shard, &rules(), None).unwrap();
    assert_eq!(read.records.len(), 8);
}

/// Three generations of a few games are enough to show that the loop runs and that it learns from records.
#[test]
fn the_training_example_runs() {
    let result = own_training::train(3, 16).unwrap();
    assert_eq!(result.games, 60);
    assert!(result.wins > 0, "{result:?}");
}

struct Silent;

impl Observer for Silent {
    fn event(&self, _: Event) {}
}

const PLAN: Match = Match { games: 8, seed: 3, opening_plies: 2, book: None, sprt: None };

/// Plays the first legal action.
struct First(ConnectFour);

impl Agent<ConnectFour> for First {
    fn choose(&mut self, state: &<ConnectFour as Game>::State) -> Result<Action> {
        Ok(self.0.legal(state)[0])
    }
}

#[test]
fn a_contestant_of_ones_own_plays_as_the_same_one_of_ours() {
    let rules = rules();
    let game = &rules.game;
    let spec = |text: &str| Contestant::new(&rules, &AgentSpec::parse(text).unwrap()).unwrap();
    let config = SearchConfig::default();
    let own = Contestant::searching(game, "mine", &config, 30, || Uniform);
    let first = Contestant::own("first", |_| Box::new(First(ConnectFour)));
    // an agent that is created from a seed
    let seeded = Contestant::own("seeded", |seed| {
        let random = stream(seed, Purpose::Agent, &[]);
        Box::new(SearchAgent::new(ConnectFour, SearchConfig::default(), 30, Uniform, random))
    });
    let play =
        |agent: &Contestant<ConnectFour>| play_match(game, &PLAN, [agent, &first], None, |_| true).unwrap();
    let result = play(&own);
    assert!(result.wins >= 6, "{result:?}");
    assert_eq!(result, play(&spec("uniform:30")));
    assert_eq!(result, play(&seeded));
    assert_eq!((own.identity(), first.identity()), ("mine", "first"));
}

/// Plays an action that is not legal once the first column is full.
struct Stubborn;

impl Agent<ConnectFour> for Stubborn {
    fn choose(&mut self, _: &<ConnectFour as Game>::State) -> Result<Action> {
        Ok(Action(0))
    }
}

#[test]
fn an_agent_that_chooses_an_illegal_action_is_an_error() {
    let stubborn = Contestant::own("stubborn", |_| Box::new(Stubborn));
    let played = play_match(&ConnectFour, &PLAN, [&stubborn, &stubborn], None, |_| true);
    let error = played.unwrap_err().to_string();
    assert!(error.contains("an agent chose action 0, which is not legal in the position"), "{error}");
}

#[test]
fn a_run_needs_the_rules_and_the_ranges_of_its_settings() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let refused = |config: &Config| train(&rules().opened(), config, &run, &Silent).unwrap_err().to_string();
    let cage = refused(&Config::new("cage"));
    assert!(
        cage.starts_with("the settings are for `cage`, but the rules are those of `connect-four`"),
        "{cage}"
    );
    let mut config = Config::new("connect-four");
    config.selfplay.batch = 0;
    let range = refused(&config);
    assert!(range.contains("selfplay.batch"), "{range}");
    assert!(!run.exists());
}

#[test]
fn a_shape_that_no_network_can_have_is_refused() {
    let possible = Shape { planes: 2, height: 20, width: 20, actions: 128 };
    assert!(possible.is_possible());
    for shape in [
        Shape { planes: 0, ..possible },
        Shape { width: 21, ..possible },
        Shape { width: 0, ..possible },
        Shape { actions: 0, ..possible },
        Shape { actions: (1 << 16) + 1, ..possible },
        Shape { height: usize::MAX, ..possible },
    ] {
        assert!(!shape.is_possible(), "{shape:?}");
    }
}

#[test]
fn an_agent_makes_as_many_simulations_as_it_is_called() {
    let rules = rules();
    let game = &rules.game;
    let contestant = Contestant::new(&rules, &AgentSpec::Uniform(30)).unwrap();
    let mut agent = contestant.search_agent(stream(1, Purpose::Agent, &[])).unwrap();
    let mut state = game.initial();
    // the first simulation evaluates the root
    let first = agent.analyze(&state).unwrap();
    let visits: u32 = first.visits.iter().map(|(_, visits)| visits).sum();
    assert_eq!((first.simulations, visits), (30, 29));
    // the simulations of the next action are added to those that are kept
    let kept = first.visits.iter().find(|(action, _)| *action == first.action).unwrap().1;
    agent.played(&state, first.action);
    game.play(&mut state, first.action);
    let second = agent.analyze(&state).unwrap();
    let visits: u32 = second.visits.iter().map(|(_, visits)| visits).sum();
    assert_eq!((second.simulations, visits), (30, 30 + kept - 1));
}

/// Writes `rows` more rows than requested, each with `priors` more priors than requested.
struct Careless {
    rows: isize,
    priors: isize,
}

impl<G: Game> Evaluator<G> for Careless {
    fn evaluate(&mut self, requests: &[Request<G>], out: &mut Evaluations) -> Result<()> {
        out.clear();
        for row in 0..(requests.len() as isize + self.rows) as usize {
            let actions = requests[row.min(requests.len() - 1)].legal.len();
            out.push_uniform((actions as isize + self.priors) as usize, Wdl::from_value(0.0, 1.0));
        }
        Ok(())
    }
}

fn panic_of(work: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(work)).expect_err("nobody noticed");
    *panic.downcast::<String>().unwrap()
}

#[test]
fn an_evaluator_with_too_few_or_too_many_numbers_is_told_what_to_do() {
    let Rules { game, identity, .. } = rules();
    let random = || stream(1, Purpose::Agent, &[]);
    let config = Config::new("connect-four");
    let (config, identity) = (&config, &identity);
    let evaluator = String::from("test");
    let generation = Generation {
        config,
        identity,
        number: 1,
        games: 4,
        simulations: 8,
        evaluator,
        starts: Starts::default(),
    };
    for (rows, priors, part) in [
        (-1, 0, "one row for each request"),
        (1, 0, "one row for each request"),
        (0, -1, "one prior for each legal action"),
        (0, 1, "one prior for each legal action"),
    ] {
        let careless = || Careless { rows, priors };
        let search = || Search::new(game.clone(), SearchConfig::default(), game.initial());
        let found = [
            panic_of(|| search().run(&mut careless(), 9, &mut random()).unwrap()),
            panic_of(|| {
                let mut cached = Cached::new(game.clone(), careless(), 1);
                search().run(&mut cached, 9, &mut random()).unwrap();
            }),
            panic_of(|| {
                let monitor = Monitor::default();
                play_shard(&game, &generation, 0..4, &mut careless(), &monitor, &|_| true).unwrap();
            }),
            panic_of(|| {
                let monitor = Monitor::default();
                play_halves(&game, &generation, 0..4, &mut careless(), &monitor, &|_| true).unwrap();
            }),
        ];
        for found in found {
            assert!(found.contains("an evaluator must") && found.contains(part), "{found}");
        }
    }
}

/// Prefers high columns; values positions by the number of the player's own men.
fn logits(planes: Vec<f32>, n: usize) -> Logits {
    assert_eq!(planes.len(), n * 3 * 42);
    let own = planes.chunks_exact(3 * 42).map(|position| position[..42].iter().sum::<f32>());
    Logits {
        policy: (0..n).flat_map(|_| (0..7).map(|column| (column as f32).ln_1p())).collect(),
        wdl: own.flat_map(|own| [own, 0.0, 0.0]).collect(),
    }
}

#[test]
fn a_function_of_planes_evaluates() {
    let game = rules().game;
    let mut full = game.initial();
    // fills a column, then puts a man elsewhere
    for column in [3, 3, 3, 3, 3, 3, 0] {
        game.play(&mut full, Action(column));
    }
    let states = [game.initial(), full];
    let legal = states.map(|state| game.legal(&state));
    let requests: Vec<Request<ConnectFour>> =
        states.iter().zip(&legal).map(|(state, legal)| Request { state, legal, seed: 0 }).collect();
    let mut out = Evaluations::new();
    FnEvaluator::new(&game, logits).evaluate(&requests, &mut out).unwrap();
    assert_eq!(out.len(), 2);
    // logits ln(1 + column): priors in the ratio 1 : 2 : ... : 7, without column 3 if it is full
    let near = |found: &[f32], sum: f32, columns: &[u16]| {
        found.iter().zip(columns).all(|(prior, column)| (prior - (column + 1) as f32 / sum).abs() < 1e-6)
    };
    assert!(near(out.row(0).priors, 28.0, &[0, 1, 2, 3, 4, 5, 6]), "{out:?}");
    assert!(near(out.row(1).priors, 24.0, &[0, 1, 2, 4, 5, 6]) && out.row(1).priors.len() == 6, "{out:?}");
    let third = 1.0f32 / 3.0;
    assert!((out.row(0).wdl.win - third).abs() < 1e-6 && (out.row(0).wdl.loss - third).abs() < 1e-6);
    let win = 3f32.exp() / (3f32.exp() + 2.0);
    assert!((out.row(1).wdl.win - win).abs() < 1e-6, "three men of the player to move: {out:?}");
}

#[test]
fn a_function_that_says_nothing_useful_is_refused() {
    let game = rules().game;
    let (state, legal) = (game.initial(), game.legal(&game.initial()));
    let requests = [Request { state: &state, legal: &legal, seed: 0 }];
    let ask = |policy: Vec<f32>, wdl: Vec<f32>| {
        let function = move |_: Vec<f32>, _| Logits { policy: policy.clone(), wdl: wdl.clone() };
        FnEvaluator::new(&game, function).evaluate(&requests, &mut Evaluations::new())
    };
    ask(vec![0.0; 7], vec![0.0; 3]).unwrap();
    for (policy, wdl) in [(f32::NAN, 0.0), (0.0, f32::INFINITY)] {
        let error = ask(vec![policy; 7], vec![wdl; 3]).unwrap_err().to_string();
        assert!(error.contains("in the position `-`"), "{error}");
    }
    let panic = panic_of(|| ask(vec![0.0; 6], vec![0.0; 3]).unwrap());
    assert!(panic.contains("must return [1, 7] policy logits"), "{panic}");
    let panic = panic_of(|| ask(vec![0.0; 7], vec![0.0; 6]).unwrap());
    assert!(panic.contains("must return [1, 3] logits of win, draw, loss"), "{panic}");
}

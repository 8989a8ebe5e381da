//! Numbers that are not finite: a network with finite weights and infinite outputs, and evaluators that fail or
//! return NaN. Every search with one of these ends with an error. It does not panic, play without evaluations, or write
//! anything.

use std::path::{Path, PathBuf};

use crate::support::command::{self, err, json_lines, out, petteia, succeeds};
use petteia::arena::contestant::Contestant;
use petteia::arena::spec::AgentSpec;
use petteia::arena::{Match, play_match};
use petteia::checkpoint;
use petteia::config::{Config, NetConfig, RootKind, SearchConfig};
use petteia::error::{Error, Result};
use petteia::game::{Action, Game, GameIdentity, GameOptions, Rules, Variants};
use petteia::games::connect_four::ConnectFour;
use petteia::games::tic_tac_toe::TicTacToe;
use petteia::net::evaluator::SharedNet;
use petteia::net::network::Network;
use petteia::random::{Purpose, Random, stream};
use petteia::replay::place::Origin;
use petteia::replay::store;
use petteia::search::Search;
use petteia::search::cache::Cached;
use petteia::search::evaluator::{Evaluations, Evaluator, Request, Uniform, Wdl};
use petteia::selfplay::starts::Starts;
use petteia::selfplay::{Generation, MakeEvaluator, Monitor, play_generation, play_halves, play_shard};
use petteia::train::Trainer;
use proptest::prelude::*;
use tempfile::TempDir;

/// Parts of every error about a network's output.
const SAID: [&str; 3] = ["the network's output is not a number", "weights are damaged", "another checkpoint"];

fn random() -> Random {
    stream(1, Purpose::Agent, &[])
}

fn config<G: Variants>(more: &str) -> Config {
    let net = "filters = 8\nblocks = 1\nvalue_hidden = 8";
    Config::parse_kept("test", &format!("game.id = '{}'\n[net]\n{net}\n{more}", G::NAME), &[]).unwrap()
}

fn rules_of<G: Variants>() -> Rules<G> {
    Rules::new(&GameOptions::default()).unwrap()
}

/// A network whose weights are all 3e38: finite, but no product of two is.
fn overflowing<G: Game>(config: &NetConfig, game: &G) -> Network {
    let mut bytes = Network::new(config, game.shape(), 1).to_safetensors("{}").unwrap();
    let header = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    bytes[header..].as_chunks_mut::<4>().0.iter_mut().for_each(|weight| *weight = 3e38f32.to_le_bytes());
    Network::from_safetensors(&bytes, "test", config, game.shape()).unwrap()
}

fn broken_net<G: Game>(config: &Config, game: &G) -> SharedNet {
    SharedNet::new(&overflowing(&config.net, game), &config.net)
}

fn is_said<T>(result: Result<T>) {
    match result {
        Err(Error::Data(text)) => {
            assert!(SAID.iter().all(|part| text.contains(part)), "{text}");
        }
        Err(error) => panic!("another error: {error}"),
        Ok(_) => panic!("nobody noticed"),
    }
}

#[test]
fn a_network_whose_output_is_no_number_ends_a_search() {
    let game = &rules_of::<ConnectFour>().game;
    for (evaluator, root) in [
        ("evaluator = 'fused'", RootKind::Puct),
        ("evaluator = 'fused'", RootKind::Gumbel),
        ("evaluator = 'burn'", RootKind::Puct),
        ("precision = 'bf16'", RootKind::Puct),
    ] {
        let config = config::<ConnectFour>(evaluator);
        let mut evaluator = broken_net(&config, game).evaluator(game);
        let search = SearchConfig::with(|search| search.root = root);
        let mut search = Search::new(game.clone(), search, game.initial());
        is_said(search.run(&mut evaluator, 10, &mut random()));
        assert!(!search.tree().has_root() && search.tree().best_action().is_none());
        // the tree is unchanged, so another evaluator can continue with it
        search.run(&mut Uniform, 10, &mut random()).unwrap();
        assert_eq!(search.tree().visits(), 10);
        is_said(search.run(&mut evaluator, 10, &mut random()));
        assert_eq!((search.tree().visits(), search.simulations()), (10, 0));
    }
}

#[test]
fn the_error_names_the_position() {
    let game = &rules_of::<ConnectFour>().game;
    let config = config::<ConnectFour>("");
    let mut state = game.initial();
    game.play(&mut state, Action(3));
    let legal = game.legal(&state);
    let requests = [Request { state: &state, legal: &legal, seed: 0 }];
    let answered =
        broken_net(&config, game).evaluator(game).evaluate(&requests, &mut Evaluations::new()).unwrap_err();
    let named = format!("in the position `{}`", game.state_text(&state));
    assert!(answered.to_string().contains(&named), "{answered}");
}

#[test]
fn a_match_ends_with_the_error() {
    let rules = rules_of::<ConnectFour>();
    let game = &rules.game;
    let config = config::<ConnectFour>("");
    let broken = Contestant::trained(game, &config.search, broken_net(&config, game), 20);
    let other = Contestant::new(&rules, &AgentSpec::Random).unwrap();
    let plan = Match { games: 8, seed: 1, opening_plies: 2, book: None, sprt: None };
    is_said(play_match(game, &plan, [&broken, &other], None, |_| true));
    is_said(play_match(game, &plan, [&other, &broken], None, |_| true));
}

fn generation<'a>(config: &'a Config, identity: &'a GameIdentity) -> Generation<'a> {
    Generation {
        config,
        identity,
        number: 1,
        games: 6,
        simulations: 8,
        evaluator: "test".into(),
        starts: Starts::default(),
    }
}

#[test]
fn self_play_ends_with_the_error_and_writes_no_shard() {
    let rules = rules_of::<ConnectFour>();
    let Rules { game, identity, .. } = &rules;
    for more in ["", "evaluator = 'burn'", "[search]\nroot = 'gumbel'"] {
        let config = config::<ConnectFour>(&format!("{more}\n[selfplay]\nbatch = 2\nrandom_plies = 4"));
        let (generation, net) = (generation(&config, identity), broken_net(&config, game));
        for play in [play_shard, play_halves] {
            let mut evaluator = net.evaluator(game);
            is_said(play(game, &generation, 0..6, &mut evaluator, &Monitor::default(), &|_| true));
        }
        let (run, origin) = (tempfile::tempdir().unwrap(), Origin::of(&config));
        is_said(play_generation(
            game,
            &generation,
            run.path(),
            &origin,
            &|| Box::new(net.evaluator(game)),
            &|_| true,
        ));
        let cached: MakeEvaluator<_> = &|| Box::new(Cached::new(game.clone(), net.evaluator(game), 1));
        is_said(play_generation(game, &generation, run.path(), &origin, cached, &|_| true));
        assert!(store::list(run.path()).unwrap().is_empty(), "a shard was written");
    }
}

/// Fails the first time, then answers.
struct Recovering(bool);

impl<G: Game> Evaluator<G> for Recovering {
    fn evaluate(&mut self, requests: &[Request<G>], out: &mut Evaluations) -> Result<()> {
        if std::mem::replace(&mut self.0, true) {
            Uniform.evaluate(requests, out)
        } else {
            Err(Error::Data("not yet".into()))
        }
    }
}

#[test]
fn a_cache_keeps_nothing_of_what_failed() {
    let game = &rules_of::<ConnectFour>().game;
    let mut cached = Cached::new(game.clone(), Recovering(false), 1);
    let (state, mut found, mut expected) = (game.initial(), Evaluations::new(), Evaluations::new());
    let legal = game.legal(&state);
    let requests = [Request { state: &state, legal: &legal, seed: 0 }];
    assert!(cached.evaluate(&requests, &mut found).is_err());
    Uniform.evaluate(&requests, &mut expected).unwrap();
    for hits in [0, 1] {
        cached.evaluate(&requests, &mut found).unwrap();
        assert_eq!((&found, Evaluator::<ConnectFour>::hits(&cached)), (&expected, hits));
    }
}

/// An evaluator that violates its contract: it returns this number everywhere.
#[derive(Clone, Copy)]
struct Always(f32);

impl<G: Game> Evaluator<G> for Always {
    fn evaluate(&mut self, requests: &[Request<G>], out: &mut Evaluations) -> Result<()> {
        out.clear();
        for request in requests {
            let wdl = Wdl { win: self.0, draw: self.0, loss: 0.0 };
            out.push(request.legal.len(), wdl).fill(self.0);
        }
        Ok(())
    }
}

#[test]
fn no_number_of_an_evaluator_breaks_the_search() {
    let rules = rules_of::<TicTacToe>();
    let Rules { game, identity, .. } = &rules;
    for number in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, f32::MIN, -0.5] {
        for more in ["", "[search]\nroot = 'gumbel'", "[search]\nforced_playouts = 2"] {
            let config = config::<TicTacToe>(&format!("{more}\n[selfplay]\nsurprise_weight = 0.5"));
            let mut search = Search::new(game.clone(), config.search.clone(), game.initial());
            for simulations in [1, 2, 50] {
                search.run(&mut Always(number), simulations, &mut random()).unwrap();
                let tree = search.tree();
                assert!(game.legal(tree.root()).contains(&tree.best_action().unwrap()));
                let target = tree.policy_target().unwrap_or_default();
                assert!(tree.root_wdl().win.is_nan() || tree.surprise(&target).is_finite());
                assert!(!tree.targets().is_empty() && !tree.principal_variation().is_empty());
            }
            for simulations in [1, 8] {
                let generation = Generation { simulations, ..generation(&config, identity) };
                let monitor = Monitor::default();
                let records = play_shard(game, &generation, 0..6, &mut Always(number), &monitor, &|_| true);
                assert_eq!(records.unwrap().len(), 6, "{number}, {more}");
            }
        }
    }
}

proptest! {
    /// Converting a value and a draw probability never panics, and does not change values in range.
    #[test]
    fn a_value_becomes_win_draw_and_loss(value in any::<f32>(), draw in any::<f32>(), fair in -1f32..=1.0) {
        Wdl::from_value(value, draw);
        for draw in [draw, f32::NAN, f32::INFINITY] {
            let wdl = Wdl::from_value(fair, draw);
            if !draw.is_nan() {
                let expected = draw.clamp(0.0, 1.0 - fair.abs());
                prop_assert_eq!(wdl.draw.to_bits(), expected.to_bits());
                prop_assert_eq!(wdl.win.to_bits(), ((1.0 - expected + fair) / 2.0).to_bits());
            }
        }
        for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1.000_001] {
            prop_assert_eq!(Wdl::from_value(value, draw).draw, 0.0);
        }
    }
}

/// Visits are summed in 64 bits. In 32 bits, the sum of these visits would be 0 or 1, and a share could be infinite.
#[test]
fn visits_of_a_target_may_be_as_many_as_they_like() {
    let game = &rules_of::<TicTacToe>().game;
    let mut search = Search::new(game.clone(), SearchConfig::default(), game.initial());
    search.run(&mut Uniform, 1, &mut random()).unwrap();
    let tree = search.tree();
    let surprise = |visits: [u32; 2]| tree.surprise(&[(Action(0), visits[0]), (Action(1), visits[1])]);
    // the divergence of all visits on one of nine actions with equal priors is ln 9, that of equal halves ln 9/2
    assert!((surprise([u32::MAX, 1]) - 9f64.ln()).abs() < 1e-6);
    assert!((surprise([u32::MAX, 2]) - 9f64.ln()).abs() < 1e-6);
    assert!((surprise([1 << 31, 1 << 31]) - 4.5f64.ln()).abs() < 1e-6);
}

/// A run of one generation whose network overflows, and its export: every weight is finite, every checksum right.
struct Broken {
    folder: TempDir,
}

impl Broken {
    fn new() -> Broken {
        let rules = rules_of::<TicTacToe>();
        let Rules { game, identity, .. } = &rules;
        let config = config::<TicTacToe>("");
        let trainer = Trainer::new(&config.train, &overflowing(&config.net, game));
        let broken = Broken { folder: tempfile::tempdir().unwrap() };
        std::fs::create_dir(broken.path("run")).unwrap();
        checkpoint::save(Path::new(&broken.path("run")), &config, identity, 1, &trainer, Default::default())
            .unwrap();
        broken
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().into()
    }

    fn export(&self, format: &str) -> PathBuf {
        let out = self.path(format);
        succeeds(&["export", &self.path("run"), "--format", format, "--out", &out], "");
        out.into()
    }
}

/// Asserts exit code 1, the error message, and no sign of a panic.
fn ends_with_it(output: &std::process::Output) {
    let error = err(output);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(SAID.iter().all(|part| error.contains(part)) && !error.contains("panicked"), "{error}");
}

#[test]
fn every_command_ends_with_the_error() {
    let broken = Broken::new();
    let run = broken.path("run");
    let export = broken.export("safetensors").display().to_string();
    for agent in [&run, &export] {
        let analyze = petteia(&["analyze", "tic-tac-toe", "--agent", agent], ".../.../... X\n");
        ends_with_it(&analyze);
        assert_eq!(out(&analyze), "");
        ends_with_it(&petteia(&["play", "tic-tac-toe", "--opponent", agent, "--side", "second"], ""));
        ends_with_it(&petteia(&["play", "tic-tac-toe", "--opponent", agent], "hint\n"));
        let arena = ["arena", "tic-tac-toe", "random", agent, "--games", "20", "--json"];
        let arena = petteia(&[&arena[..], &["--opening-plies", "0"]].concat(), "");
        ends_with_it(&arena);
        assert_eq!(out(&arena), "");
        let bench =
            ["bench", "selfplay", "--game", "tic-tac-toe", "--seconds", "0.01", "--checkpoint", agent];
        ends_with_it(&petteia(&bench, ""));
    }
    let config = broken.path("train.toml");
    let text = "[game]\nid = 'tic-tac-toe'\n[arena]\nopponent = 'OPPONENT'\ngames = 2\n\
        [selfplay]\nbootstrap_games = 2\nbootstrap_simulations = 2\n[net]\nfilters = 2\nblocks = 0\n";
    std::fs::write(&config, text.replace("OPPONENT", &export)).unwrap();
    ends_with_it(&petteia(&["train", &config, "--run", &broken.path("trained")], ""));
}

/// The error is reported in the words of each protocol, and the program ends, so that nobody waits for an answer that
/// never comes.
#[test]
fn an_engine_says_it_in_its_protocol() {
    let broken = Broken::new();
    let (run, bot) = (broken.path("run"), broken.export("bot"));
    let engine = |language: &str, input: &str| {
        let said = petteia(&["engine", "tic-tac-toe", "--agent", &run, "--protocol", language], input);
        let flags: &[&str] = match language {
            "gtp" => &["--gtp"],
            "codecup" => &["--codecup"],
            _ => &[],
        };
        let by_bot = command::run(&bot, flags, input);
        // whether an answer comes before the error depends on timing
        let without_answers = |said: String| said.replace("readyok\n", "");
        assert_eq!(without_answers(out(&said)), without_answers(out(&by_bot)), "the bot's output differs");
        ends_with_it(&by_bot);
        ends_with_it(&said);
        out(&said)
    };
    for go in ["go", "go infinite", "go movetime 100000000", "go nodes 5"] {
        let said = engine("ugi", &format!("isready\nposition startpos moves b2\n{go}\nisready\n"));
        let lines: Vec<&str> = said.lines().filter(|line| *line != "readyok").collect();
        assert_eq!(lines.len(), 1, "{said}");
        assert!(lines[0].starts_with("info string error: the network's output is not a number"), "{said}");
    }
    let said = engine("gtp", "1 version\n7 genmove b\n8 version\n");
    assert!(said.contains("=1 ") && said.ends_with("\n\n"), "{said}");
    assert!(said.contains("\n?7 the network's output is not a number"), "{said}");
    assert!(!said.contains("=8"), "{said}");
    assert_eq!(engine("codecup", "start\n"), "");
}

/// An intact network of the same size causes none of these errors.
#[test]
fn a_sound_network_answers() {
    let rules = rules_of::<TicTacToe>();
    let Rules { game, identity, .. } = &rules;
    let config = config::<TicTacToe>("");
    let folder = tempfile::tempdir().unwrap();
    let trainer = Trainer::new(&config.train, &Network::new(&config.net, game.shape(), 1));
    checkpoint::save(folder.path(), &config, identity, 1, &trainer, Default::default()).unwrap();
    let run = folder.path().to_str().unwrap();
    let lines = json_lines(&succeeds(&["analyze", "tic-tac-toe", "--agent", run], ".../.../... X\n"));
    assert!(lines[0]["action"].is_string(), "{lines:?}");
}

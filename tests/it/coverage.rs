//! The starts of games, their targets, and how the window stores them. Every switch does what it says and is off by
//! default; a run that uses all switches ends with the same bytes when it is interrupted and resumed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};

use ndarray::Axis;
use petteia::config::Config;
use petteia::error::Error;
use petteia::game::{Game, GameOptions, Outcome, Rules};
use petteia::games::connect_four::ConnectFour;
use petteia::random::{Purpose, stream};
use petteia::replay::place::Place;
use petteia::replay::record::Record;
use petteia::replay::sample::{Replayed, replayed, samples};
use petteia::replay::store::{self, Shard};
use petteia::replay::window::{Batch, Window};
use petteia::run::{Event, Observer, train};
use petteia::search::evaluator::Rollout;
use petteia::selfplay::starts::Starts;
use petteia::selfplay::{Generation, Monitor, play_shard};

use crate::support::faulty::{Faulty, Wrong};
use crate::support::runs::contents;

const GAMES: usize = 24;

fn rules() -> Rules<ConnectFour> {
    Rules::new(&GameOptions::default()).unwrap()
}

fn config(sets: &[&str]) -> Config {
    let mut all = vec![
        "net.filters=4",
        "net.blocks=1",
        "search.simulations=12",
        "selfplay.bootstrap_simulations=12",
        "selfplay.batch=8",
        "train.generations=3",
        "train.batch=16",
        "arena.games=2",
        "arena.final_games=2",
        "arena.ladder_games=2",
        "arena.opponent=random",
    ];
    all.extend(sets);
    let games = [format!("selfplay.games={GAMES}"), format!("selfplay.bootstrap_games={GAMES}")];
    let all: Vec<String> = all.iter().map(|set| set.to_string()).chain(games).collect();
    Config::parse_kept("test", "game.id = 'connect-four'", &all).unwrap()
}

/// The records of a generation played by random playouts.
fn played(config: &Config, starts: Starts) -> Vec<Record> {
    let rules = rules();
    let (identity, evaluator) = (&rules.identity, "test".into());
    let generation =
        Generation { config, identity, number: 2, games: GAMES, simulations: 12, evaluator, starts };
    let mut rollout = Rollout::new(rules.game.clone());
    play_shard(&rules.game, &generation, 0..GAMES, &mut rollout, &Monitor::default(), &|_| true).unwrap()
}

/// The records, written as a shard and read back.
fn shard(records: &[Record]) -> Shard<Replayed> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("generation-0002/shard-0000.jsonl.zst");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    store::write_shard(&path, records, None).unwrap();
    let place = Place { generation: 2, games: 0..records.len(), simulations: 12 };
    store::read_samples(&path, &rules(), Some(&place)).unwrap()
}

fn starts(sets: &[&str], games: usize, shards: &[Shard<Replayed>]) -> Vec<Option<String>> {
    let drawn = Starts::draw(&rules(), &config(sets), (7, 3, games), shards).unwrap();
    (0..games).map(|game| drawn.of(game).map(str::to_string)).collect()
}

/// A start that the rules cannot read is an error; the game does not begin somewhere else instead.
#[test]
fn a_start_that_the_rules_do_not_read_is_an_error() {
    let shards = [shard(&played(&config(&[]), Starts::default()))];
    let parse_state = |game: &ConnectFour, text: &str| match game.parse_state(text)? {
        state if state == game.initial() => Ok(state),
        _ => Err(Error::Position("no such position".into())),
    };
    let wrong = Wrong { parse_state: Some(parse_state), ..Wrong::default() };
    let rules = Rules::of(Faulty { game: rules().game, wrong }, &GameOptions::default()).unwrap();
    for kind in ["selfplay.restart_share=1", "selfplay.fork_share=1"] {
        let error = Starts::draw(&rules, &config(&[kind]), (7, 3, 20), &shards).unwrap_err().to_string();
        assert_eq!(error, "the rules cannot read their own text of a position: no such position");
    }
}

/// The positions of a game: the start, and the position after each action.
fn positions(record: &Record) -> Vec<String> {
    let game = rules().game;
    let mut state = game.parse_state(&record.start).unwrap();
    let mut texts = vec![record.start.clone()];
    for action in &record.actions {
        let action = game.parse_action(&state, action).unwrap();
        game.play(&mut state, action);
        texts.push(game.state_text(&state));
    }
    texts
}

#[test]
fn restarts_are_where_the_search_was_wrong() {
    let records = played(&config(&[]), Starts::default());
    let shards = [shard(&records)];
    let drawn = starts(&["selfplay.restart_share=1"], 2000, &shards);
    assert_eq!(drawn, starts(&["selfplay.restart_share=1"], 2000, &shards), "a function of its arguments");
    // every position with its regret
    let mut regrets: BTreeMap<String, f64> = BTreeMap::new();
    for (record, found) in shards[0].records.iter().zip(&shards[0].found) {
        for (text, sample) in positions(record).into_iter().zip(&found.samples) {
            *regrets.entry(text).or_default() +=
                f64::from((sample.outcome.value() - sample.search.value()).abs());
        }
    }
    let all: f64 = regrets.values().sum();
    let mut counts: BTreeMap<&String, f64> = BTreeMap::new();
    for text in drawn.iter().flatten() {
        assert!(regrets.contains_key(text), "{text} was in no game");
        *counts.entry(text).or_default() += 1.0;
    }
    assert!(drawn.iter().all(Option::is_some));
    // the greater half of the regrets is drawn in proportion to their sizes
    let mut sorted: Vec<f64> = regrets.values().copied().collect();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted[sorted.len() / 2];
    let great = |text: &String| regrets[text] > middle;
    let expected =
        regrets.iter().filter(|(text, _)| great(text)).map(|(_, regret)| regret).sum::<f64>() / all;
    let found = counts.iter().filter(|(text, _)| great(text)).map(|(_, count)| count).sum::<f64>() / 2000.0;
    assert!((expected - found).abs() < 0.04 && expected > 0.6, "{expected} {found}");
}

#[test]
fn forks_are_one_action_away_from_a_game() {
    let records = played(&config(&[]), Starts::default());
    let seen: BTreeSet<String> = records.iter().flat_map(positions).collect();
    let game = rules().game;
    let mut reachable = BTreeSet::new();
    for state in seen.iter().map(|text| game.parse_state(text).unwrap()) {
        for action in game.legal(&state) {
            let mut after = state;
            game.play(&mut after, action);
            reachable.insert(game.state_text(&after));
        }
    }
    let drawn = starts(&["selfplay.fork_share=1"], 500, &[shard(&records)]);
    let drawn: Vec<String> = drawn.into_iter().flatten().collect();
    assert!(drawn.len() > 450, "{}", drawn.len());
    assert!(drawn.iter().all(|text| reachable.contains(text)));
    assert!(drawn.iter().all(|text| game.outcome(&game.parse_state(text).unwrap()).is_none()));
    // most forks lead to positions that no game has reached
    let new = drawn.iter().filter(|text| !seen.contains(*text)).count();
    assert!(new * 2 > drawn.len(), "{new} of {}", drawn.len());
}

#[test]
fn the_asked_shares_of_games_begin_elsewhere() {
    let shards = [shard(&played(&config(&[]), Starts::default()))];
    let count = |sets: &[&str]| starts(sets, 1000, &shards).iter().flatten().count();
    assert_eq!(count(&[]), 0);
    assert!((420..580).contains(&count(&["selfplay.restart_share=0.2", "selfplay.fork_share=0.3"])));
    // and every game begins as usual if there is nothing to draw from
    assert_eq!(starts(&["selfplay.restart_share=0.5", "selfplay.fork_share=0.5"], 10, &[]), vec![None; 10]);
}

#[test]
fn games_do_not_restart_where_only_a_blunder_changed_the_result() {
    let wanted = ["selfplay.restart_share=1", "replay.blunder=0.1"];
    let records =
        played(&config(&["selfplay.random_plies=6", "selfplay.opening_share=1"]), Starts::default());
    let shard = shard(&records);
    // positions with a regret, from which something can be learned
    let mut open = BTreeSet::new();
    for (record, found) in shard.records.iter().zip(&shard.found) {
        let outcome = Outcome::from_id(&record.outcome).unwrap();
        let targets = found.value_targets(record, outcome, &config(&wanted).replay);
        let mut states = Vec::new();
        record.replay(&rules(), |ply| states.push(rules().game.state_text(ply.state))).unwrap();
        let regrets = targets.iter().zip(&found.samples).map(|(target, sample)| *target != sample.search);
        open.extend(states.into_iter().zip(regrets).filter(|(_, regret)| *regret).map(|(state, _)| state));
    }
    let shards = [shard];
    let drawn = |sets: &[&str]| starts(sets, 500, &shards).into_iter().flatten().collect::<BTreeSet<_>>();
    let restarts = drawn(&wanted);
    assert!(restarts.len() > 10 && restarts.is_subset(&open), "{restarts:?}");
    assert!(!drawn(&wanted[..1]).is_subset(&open), "no game had a blunder");
}

#[test]
fn a_game_that_begins_elsewhere_is_recorded_from_there() {
    let shards = [shard(&played(&config(&[]), Starts::default()))];
    let wanted =
        config(&["selfplay.restart_share=0.5", "selfplay.fork_share=0.5", "selfplay.random_plies=8"]);
    let starts = Starts::draw(&rules(), &wanted, (1, 3, GAMES), &shards).unwrap();
    for record in played(&wanted, starts.clone()) {
        record.replay(&rules(), |_| {}).unwrap();
        assert_eq!(Some(record.start.as_str()), starts.of(record.index));
        // random plies are only for the usual start
        assert!(!record.visits[0].is_empty());
    }
}

#[test]
fn policy_plies_are_drawn_from_the_priors_and_not_trained_on() {
    let (mut lengths, mut from_policy) = (BTreeSet::new(), BTreeSet::new());
    for record in played(&config(&["selfplay.policy_plies=6", "selfplay.random_plies=2"]), Starts::default())
    {
        let unsearched = record.visits.iter().take_while(|visits| visits.is_empty()).count();
        lengths.insert(unsearched);
        assert!(record.visits[unsearched..].iter().all(|visits| !visits.is_empty()));
        // random plies, which have no values of their own, come last
        let is_random = |wdl: &[f32; 3]| *wdl == [0.0, 1.0, 0.0];
        let drawn = record.wdl[..unsearched].iter().take_while(|wdl| !is_random(wdl)).count();
        assert!(record.wdl[drawn..unsearched].iter().all(is_random) && unsearched - drawn <= 2);
        from_policy.insert(drawn);
        assert_eq!(samples(&rules(), &record).unwrap().len(), record.actions.len() - unsearched);
    }
    assert!(lengths.iter().all(|length| *length <= 8) && lengths.len() > 4, "{lengths:?}");
    assert!(from_policy.iter().all(|drawn| *drawn <= 6) && from_policy.len() > 4, "{from_policy:?}");
}

#[test]
fn openings_can_be_searched_and_trained_on_and_are_drawn_all_the_same() {
    let opening = ["selfplay.policy_plies=3", "selfplay.random_plies=5"];
    let all = config(
        &[
            &opening[..],
            &["selfplay.opening_share=1", "selfplay.temperature_plies=0", "selfplay.temperature_final=0"],
        ]
        .concat(),
    );
    let (mut firsts, mut others) = (BTreeSet::new(), 0);
    for record in played(&all, Starts::default()) {
        assert_eq!(samples(&rules(), &record).unwrap().len(), record.actions.len());
        firsts.insert(record.actions[0].clone());
        let is_best = |ply: usize| {
            let visits = &record.visits[ply];
            visits.get(&record.actions[ply]) == visits.values().max()
        };
        others += (0..record.actions.len().min(8)).filter(|ply| !is_best(*ply)).count();
        // after the longest possible opening, the best action is played
        assert!((8..record.actions.len()).all(is_best));
    }
    assert!(firsts.len() > 3 && others > GAMES, "{firsts:?} {others}");
    let half = config(&[&opening[..], &["selfplay.opening_share=0.5"]].concat());
    let (mut searched, mut not) = (0, 0);
    for record in played(&half, Starts::default()) {
        record.replay(&rules(), |_| {}).unwrap();
        let count = record.visits.iter().take(8).filter(|visits| visits.is_empty()).count();
        (searched, not) = (searched + record.visits.len().min(8) - count, not + count);
    }
    assert!(searched > not && not > GAMES, "{searched} {not}");
}

#[test]
fn a_merged_window_has_each_position_once_with_the_mean_of_its_targets() {
    let rules = rules();
    let records = played(&config(&[]), Starts::default());
    let mut window = Window::new(100_000, rules.identity.shape);
    window.push(&rules, &records).unwrap();
    let merged = window.merged();
    assert_eq!((merged.len(), merged.distinct()), (window.distinct(), window.distinct()));
    assert!(merged.len() < window.len());
    // the empty board occurs in all games: its value is their mean outcome
    let is_empty = |batch: &Batch, row: usize| {
        let men = batch.planes.index_axis(Axis(0), row);
        men.index_axis(Axis(0), 0).sum() + men.index_axis(Axis(0), 1).sum() == 0.0
    };
    let empty = |window: &Window| -> Vec<[f32; 3]> {
        let rows: Vec<usize> = (0..window.len()).collect();
        let batch = window.rows(&rows);
        let wdl = |row: usize| [0, 1, 2].map(|column| batch.wdl[[row, column]]);
        rows.iter().filter(|row| is_empty(&batch, **row)).map(|row| wdl(*row)).collect()
    };
    let (all, one) = (empty(&window), empty(&merged));
    assert_eq!((all.len(), one.len()), (GAMES, 1));
    for column in 0..3 {
        let mean = all.iter().map(|wdl| wdl[column]).sum::<f32>() / GAMES as f32;
        assert!((one[0][column] - mean).abs() < 1e-5, "{one:?} {mean}");
    }
    // it is drawn 1 + log2(24) times as often as a position that occurs once
    let mut random = stream(1, Purpose::Sampling, &[]);
    let batch = merged.draw(40_000, 0.0, &mut random);
    let drawn = (0..40_000).filter(|row| is_empty(&batch, *row)).count() as f64;
    let once = 40_000.0 / merged.len() as f64;
    assert!(drawn > 3.0 * once && drawn < 5.6 * once, "{drawn} of {once}");
}

/// Stops the run after this many events.
struct StopAfter(AtomicUsize);

impl Observer for StopAfter {
    fn event(&self, _: Event) {
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
    }

    fn interrupted(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }
}

const EVERYTHING: [&str; 33] = [
    "net.value_pooling=true",
    "net.block_pooling=1",
    "net.soft_policy=2",
    "net.reply_policy=0.15",
    "net.short_value=0.5",
    "selfplay.restart_share=0.3",
    "selfplay.fork_share=0.2",
    "selfplay.policy_plies=4",
    "selfplay.policy_temperature=1.3",
    "selfplay.random_plies=2",
    "selfplay.opening_share=0.5",
    "selfplay.surprise_weight=0.5",
    "selfplay.solve_nodes=200",
    "search.solve_nodes=100",
    "search.leaves=4",
    "search.leaf_nodes=16",
    "selfplay.fast_simulations=4",
    "search.forced_playouts=2",
    "search.root_temperature=1.2",
    "search.first_simulations=6",
    "search.cpuct_growth=0.45",
    "search.cpuct_spread=0.85",
    "search.lower_bound=2",
    "selfplay.decided=0.9",
    "selfplay.gumbel_final=0.5",
    "train.average=0.9",
    "train.bias_decay=0.1",
    "replay.window=400",
    "replay.growth=0.5",
    "replay.merge=true",
    "replay.value_decay=0.1",
    "replay.blunder=0.4",
    "replay.held_out=0.1",
];

#[test]
fn with_everything_on_an_interrupted_run_goes_on_to_the_same_bytes() {
    let (rules, config) = (rules().opened(), config(&EVERYTHING));
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole");
    let never = StopAfter(AtomicUsize::new(usize::MAX));
    train(&rules, &config, &whole, &never).unwrap();
    let expected = contents(&whole);
    for (index, after) in [3, 40, 90, 150, 210, 280].into_iter().enumerate() {
        let run = folder.path().join(format!("cut-{index}"));
        match train(&rules, &config, &run, &StopAfter(AtomicUsize::new(after))) {
            Ok(_) | Err(Error::Interrupted) => {}
            Err(error) => panic!("{error}"),
        }
        train(&rules, &config, &run, &never).unwrap();
        let found = contents(&run);
        assert!(found.keys().eq(expected.keys()), "{:?} {:?}", found.keys(), expected.keys());
        for (name, bytes) in &expected {
            assert!(found[name] == *bytes, "{} differs after {after} events", name.display());
        }
    }
}

/// At a leaf, playouts cost less than the solver.
#[test]
fn games_without_a_network_ask_no_solver_at_leaves() {
    let folder = tempfile::tempdir().unwrap();
    let games = [0, 16].map(|nodes| {
        let config = config(&["train.generations=2", &format!("search.leaf_nodes={nodes}")]);
        let run = folder.path().join(nodes.to_string());
        train(&rules().opened(), &config, &run, &StopAfter(AtomicUsize::new(usize::MAX))).unwrap();
        [1, 2].map(|generation| store::read_unplayed(&store::shard_path(&run, generation, 0)).unwrap())
    });
    assert_eq!(games[0][0], games[1][0]);
    assert_ne!(games[0][1], games[1][1]);
}

#[test]
fn switched_off_none_of_it_is_written() {
    let plain = config(&[]).to_toml();
    for setting in EVERYTHING {
        let (key, _) = setting.split_once('=').unwrap();
        let name = key.split_once('.').unwrap().1;
        let old = ["random_plies", "surprise_weight", "fast_simulations", "forced_playouts", "window"];
        assert_eq!(plain.contains(&format!("\n{name} = ")), old.contains(&name), "{name}");
    }
    let records = played(&config(&[]), Starts::default());
    assert!(records.iter().all(|record| record.start == records[0].start));
}

/// In games without a network or playouts, the only information about a position's value is the outcome.
#[test]
fn values_that_nobody_knew_are_not_taught() {
    let config = config(&["replay.value_decay=0.3"]);
    for (evaluator, teaches_outcome) in [("uniform:1", true), ("rollout:8", false)] {
        let mut record = played(&config, Starts::default()).remove(0);
        record.evaluator = evaluator.into();
        let mut taught = replayed(&rules(), &record).unwrap();
        taught.teach(&rules().game, &record, &config);
        let samples = &taught.samples;
        let is_outcome = samples.iter().all(|sample| sample.target == sample.outcome);
        assert_eq!(is_outcome, teaches_outcome, "{evaluator}");
        assert_eq!(
            samples.iter().all(|sample| sample.search == sample.outcome),
            teaches_outcome,
            "{evaluator}"
        );
    }
}

//! Tests with simulated runs: their events and times follow from known paces, so the true duration is known.

use std::collections::BinaryHeap;

use super::*;
use crate::config::Config;
use crate::run::Rating;

/// A simulated run and its true costs.
struct World {
    config: Config,
    threads: usize,
    /// The true costs; the lengths of games are in `plies`.
    costs: Costs,
    /// Searched actions per game in a generation.
    plies: fn(usize) -> f64,
    /// The share of the planned simulations that searches by the network take.
    spent: f64,
    /// The run was interrupted after this generation.
    done: usize,
    /// Games of a match that are on their way on each thread.
    together: usize,
}

const COSTS: Costs = Costs {
    bootstrap: 2e-6,
    selfplay: 40e-6,
    step: 0.05,
    agent: 5e-3,
    evaluation: 4e-3,
    plies: 30.0,
    spent: [1.0; 2],
};

fn world(threads: usize, sets: &[&str]) -> World {
    let sets: Vec<String> = sets.iter().map(|set| set.to_string()).collect();
    let config = Config::parse_kept("test", "game.id = 'phage'", &sets).unwrap();
    World { config, threads, costs: COSTS, plies: |_| 30.0, spent: 1.0, done: 0, together: 32 }
}

/// The length of this game if games have `mean` plies on average.
fn length_of(game: usize, mean: f64) -> usize {
    (mean * (0.6 + 0.8 * (game as f64 * 0.618_034).fract())).round() as usize
}

/// A shard on its thread: the lengths of its unfinished games, and the plies that they have played.
struct Shard {
    lengths: Vec<f64>,
    played: f64,
}

impl Shard {
    /// One ply of every game.
    fn play(&mut self, progress: &mut Progress, simulations: f64) {
        let playing = self.lengths.len();
        self.played += 1.0;
        self.lengths.retain(|length| *length > self.played);
        let over = playing - self.lengths.len();
        progress.positions += playing;
        progress.unfinished += playing;
        progress.unfinished -= over * self.played as usize;
        progress.simulations += playing * simulations as usize;
        progress.games += over;
        progress.in_flight -= over;
    }
}

fn resumed(done: usize, generations: usize) -> Event {
    Event::Resumed { done, generations, positions: 1000 }
}

fn began(number: usize, generations: usize, games: usize) -> Event {
    Event::Generation { number, generations, games }
}

fn rated(generation: usize) -> Event {
    let (above_earlier, above_opponent, games, seconds, cpu_seconds) = Default::default();
    Event::Rated(Box::new(Rating { generation, above_earlier, above_opponent, games, seconds, cpu_seconds }))
}

impl World {
    /// The events of the run with their times.
    fn events(&self) -> Vec<(f64, Event)> {
        let mut events = Vec::new();
        let mut now = 1.0;
        if self.done > 0 {
            events.push((now, resumed(self.done, self.config.train.generations)));
        }
        let plan = Plan::new(&self.config, self.threads);
        for generation in self.done + 1..=plan.generations {
            let positions = self.play(&mut events, &mut now, &plan, generation);
            self.train(&mut events, &mut now, (positions * plan.steps_per_position) as usize);
            let last = generation == plan.generations;
            let games = if last { plan.final_evaluation } else { plan.evaluation };
            let evaluating = |standing| Event::Evaluating { standing, games };
            let plies = (self.plies)(generation) - plan.opening_plies as f64;
            self.contest(&mut events, &mut now, games, plies, self.costs.evaluation, evaluating);
            if plan.rating > 0 {
                let games = plan.rating_games(generation);
                let rating = |standing| Event::Rating { standing, games };
                self.contest(&mut events, &mut now, games, plies, self.costs.agent, rating);
                events.push((now, rated(generation)));
            }
        }
        events
    }

    /// Simulates shards on threads; each ply is an event. Returns the number of positions that are trained on.
    fn play(&self, events: &mut Vec<(f64, Event)>, now: &mut f64, plan: &Plan, generation: usize) -> f64 {
        let mut games = plan.games(generation);
        let bootstrap = plan.bootstrap.is_some() && generation == 1;
        games.simulations = (games.simulations * if bootstrap { 1.0 } else { self.spent }).round();
        events.push((*now, began(generation, plan.generations, games.games)));
        let mean = (self.plies)(generation);
        let cost = if bootstrap { self.costs.bootstrap } else { self.costs.selfplay } * games.simulations;
        let mut begun = 0;
        let shared = games.games.div_ceil(plan.shard) % plan.threads;
        // as many games are left for the last shards, which all threads share
        let last = (games.games - 1) % plan.shard + 1 + plan.shard * shared.max(1) - plan.shard;
        let last = if shared > 0 { last.min(games.games) } else { 0 };
        let mut next = |progress: &mut Progress| {
            let left = games.games - begun;
            let size = if left > last { plan.shard } else { last.div_ceil(plan.threads) }.min(left);
            let lengths = (begun..begun + size).map(|game| length_of(game, mean) as f64).collect();
            begun += size;
            progress.in_flight += size;
            Shard { lengths, played: 0.0 }
        };
        let mut progress = Progress::default();
        // the thread whose ply ends first compares as the greatest
        let mut threads: BinaryHeap<(std::cmp::Reverse<u64>, usize)> = BinaryHeap::new();
        let mut shards: Vec<Shard> = (0..plan.threads).map(|_| next(&mut progress)).collect();
        let nanoseconds = |time: f64| std::cmp::Reverse((time * 1e9) as u64);
        let ply = |shard: &Shard| {
            // a playout from the start is longer than one near the end
            let playout = if bootstrap { (2.0 - 2.0 * shard.played / mean).max(0.1) } else { 1.0 };
            shard.lengths.len() as f64 * cost * playout
        };
        threads
            .extend(shards.iter().enumerate().map(|(which, shard)| (nanoseconds(*now + ply(shard)), which)));
        while let Some((std::cmp::Reverse(time), which)) = threads.pop() {
            let shard = &mut shards[which];
            if shard.lengths.is_empty() {
                continue;
            }
            *now = time as f64 / 1e9;
            shard.play(&mut progress, games.simulations);
            if shard.lengths.is_empty() {
                *shard = next(&mut progress);
            }
            events.push((*now, Event::Selfplay(progress)));
            threads.push((nanoseconds(*now + ply(&shards[which])), which));
        }
        assert_eq!((progress.games, progress.in_flight, progress.unfinished), (games.games, 0, 0));
        progress.positions as f64 * games.trained
    }

    fn train(&self, events: &mut Vec<(f64, Event)>, now: &mut f64, steps: usize) {
        for step in 0..=steps {
            events.push((*now, Event::Step { done: step, steps }));
            *now += if step < steps { self.costs.step } else { 0.0 };
        }
        events.push((*now, Event::Saved("checkpoint".into())));
    }

    /// Simulates a match: all threads play a ply of each of their games, and another game begins when one is over.
    fn contest(
        &self,
        events: &mut Vec<(f64, Event)>,
        now: &mut f64,
        games: usize,
        plies: f64,
        action: f64,
        event: impl Fn(Standing) -> Event,
    ) {
        let most = self.threads * self.together.min(games.div_ceil(self.threads)).max(1);
        let mut standing = Standing::default();
        let mut playing: Vec<(usize, usize)> = Vec::new();
        let mut begun = 0;
        while standing.games < games {
            while begun < games && playing.len() < most {
                playing.push((0, length_of(begun, plies)));
                (begun, standing.playing) = (begun + 1, standing.playing + 1);
            }
            events.push((*now, event(standing)));
            *now += action * playing.len().div_ceil(self.threads) as f64;
            playing.iter_mut().for_each(|(played, _)| *played += 1);
            standing.actions += playing.len();
            playing.retain(|(played, length)| played < length);
            standing.unfinished = playing.iter().map(|(played, _)| played).sum();
            (standing.games, standing.playing) = (begun - playing.len(), playing.len());
        }
        events.push((*now, event(standing)));
    }

    /// The total duration predicted at this share of the run, as a multiple of the true duration. The costs measured
    /// before the run are wrong by the factor `error`.
    fn predicted(&self, share: f64, error: f64) -> f64 {
        let events = self.events();
        let (begin, end) = (events[0].0, events[events.len() - 1].0);
        let now = begin + (end - begin) * share;
        let wrong = Costs {
            bootstrap: self.costs.bootstrap * error,
            selfplay: self.costs.selfplay * error,
            step: self.costs.step * error,
            agent: self.costs.agent / error,
            evaluation: self.costs.evaluation / error,
            ..self.costs
        };
        let mut forecast = Forecast::new(Plan::new(&self.config, self.threads), wrong);
        events
            .iter()
            .take_while(|(time, _)| *time <= now)
            .for_each(|(time, event)| forecast.observe(*time, event));
        (now - begin + forecast.left(now)) / (end - begin)
    }

    /// Asserts that predictions at 5, 20 and 50% of the run are within a quarter of the truth.
    fn assert_predicted(&self, name: &str) {
        self.assert_predicted_with(name, &[0.8, 1.0, 1.25]);
    }

    /// Like [`World::assert_predicted`], with these errors of the costs.
    fn assert_predicted_with(&self, name: &str, errors: &[f64]) {
        for share in [0.05, 0.2, 0.5] {
            for &error in errors {
                let predicted = self.predicted(share, error);
                assert!((0.75..=1.25).contains(&predicted), "{name} at {share}, {error}: {predicted:.2}");
            }
        }
    }
}

#[test]
fn a_bootstrap_ten_times_as_long_as_a_generation() {
    let sets = ["selfplay.bootstrap_games=4096", "selfplay.bootstrap_simulations=8000", "selfplay.games=128"];
    world(2, &sets).assert_predicted("bootstrap");
}

#[test]
fn generations_ten_times_as_long_as_the_bootstrap() {
    let sets = ["selfplay.bootstrap_games=256", "selfplay.games=2048", "train.generations=4"];
    world(2, &sets).assert_predicted("generations");
}

#[test]
fn an_evaluation_at_the_end_that_is_most_of_the_run() {
    let sets = ["arena.final_games=20000", "arena.games=10", "train.generations=4", "selfplay.games=128"];
    world(2, &sets).assert_predicted("final evaluation");
}

#[test]
fn a_rating_that_is_most_of_the_run() {
    let sets = ["arena.ladder_games=1000", "train.generations=4", "selfplay.games=128"];
    world(2, &sets).assert_predicted("rating");
    let mut one_by_one = world(2, &sets);
    one_by_one.together = 1;
    one_by_one.assert_predicted("rating, games one by one");
    world(16, &sets).assert_predicted("rating on sixteen threads");
}

#[test]
fn training_that_is_most_of_the_run() {
    world(2, &["train.samples_per_position=40"]).assert_predicted("training");
}

#[test]
fn one_shard_of_games_that_end_together() {
    let sets =
        ["selfplay.games=64", "selfplay.batch=32", "selfplay.bootstrap_games=0", "train.generations=2"];
    let mut world =
        world(2, &[&sets[..], &["arena.final_games=0", "train.samples_per_position=0.1"]].concat());
    world.assert_predicted("two shards");
    // games longer and shorter than expected, which cannot be known before the first of them end
    for plies in [|_| 36.0, |_| 25.0] {
        world.plies = plies;
        world.assert_predicted_with("two shards", &[1.0]);
    }
}

#[test]
fn shards_that_leave_threads_idle() {
    let sets = ["selfplay.games=192", "selfplay.batch=64", "train.samples_per_position=0.5"];
    world(2, &sets).assert_predicted("three shards on two threads");
    world(16, &sets).assert_predicted("three shards on sixteen threads");
}

#[test]
fn games_whose_length_changes_with_the_network() {
    let mut world = world(2, &["train.generations=12"]);
    world.plies = |generation| if generation == 1 { 30.0 } else { 25.0 };
    world.assert_predicted_with("shorter games", &[1.0]);
    world.plies = |generation| if generation == 1 { 30.0 } else { 36.0 };
    world.assert_predicted_with("longer games", &[1.0]);
}

/// Random games predict little about those of the network: the first finished games by the network outweigh them.
#[test]
fn games_that_are_much_shorter_than_random_ones() {
    let sets =
        ["selfplay.games=128", "selfplay.batch=64", "selfplay.bootstrap=uniform", "train.generations=5"];
    let mut world = world(
        2,
        &[
            &sets[..],
            &["selfplay.bootstrap_simulations=1", "train.samples_per_position=0.02", "arena.games=0"],
        ]
        .concat(),
    );
    world.plies = |generation| if generation == 1 { 300.0 } else { 60.0 };
    world.costs.plies = 300.0;
    let predicted = [0.2, 0.3, 0.5].map(|share| world.predicted(share, 1.0));
    assert!(
        predicted[0] < 1.6 && predicted[1] < 1.25 && (0.75..1.25).contains(&predicted[2]),
        "{predicted:?}"
    );
}

#[test]
fn simulations_that_grow() {
    let sets = [
        "search.simulations=160",
        "search.first_simulations=16",
        "train.generations=12",
        "selfplay.bootstrap_games=128",
        "train.samples_per_position=1",
    ];
    let mut world = world(2, &sets);
    world.assert_predicted("growing searches");
    // and that end early, because games are solved
    world.spent = 0.7;
    world.assert_predicted_with("growing searches that end early", &[0.8, 1.0]);
}

#[test]
fn fast_searches() {
    let sets = ["selfplay.fast_simulations=16", "search.simulations=96", "selfplay.full_share=0.25"];
    world(2, &sets).assert_predicted("fast searches");
}

#[test]
fn only_the_remaining_work_counts() {
    let mut world = world(2, &["selfplay.bootstrap_games=40960", "train.generations=8"]);
    world.done = 5;
    world.assert_predicted("resumed");
    let mut forecast = Forecast::new(Plan::new(&world.config, 2), COSTS);
    let whole = forecast.left(0.0);
    forecast.observe(1.0, &resumed(7, 8));
    assert!(forecast.left(1.0) < whole / 8.0, "{} of {whole}", forecast.left(1.0));
    forecast.observe(2.0, &resumed(8, 8));
    assert_eq!((forecast.left(2.0), forecast.positions()), (0.0, 0.0));
}

/// Games that an interrupted run had already finished take no time.
#[test]
fn games_that_were_kept_take_no_time() {
    let plan = Plan::new(&world(2, &["selfplay.bootstrap_games=0"]).config, 2);
    let left = |kept: usize| {
        let mut forecast = Forecast::new(plan.clone(), COSTS);
        forecast.observe(0.0, &began(1, 10, 512));
        let progress = Progress { games: kept, kept, ..Progress::default() };
        forecast.observe(0.0, &Event::Selfplay(progress));
        forecast.left(0.0)
    };
    let game = 30.0 * 64.0 * COSTS.selfplay / 2.0;
    assert!((left(0) - left(256) - 256.0 * game).abs() < 0.01 * left(0), "{} {}", left(0), left(256));
}

#[test]
fn ten_million_games_take_hours() {
    let world = world(2, &["selfplay.games=10000000", "train.generations=2", "train.batch=128"]);
    let left = Forecast::new(Plan::new(&world.config, 2), COSTS).left(0.0);
    let play = 1e7 * 30.0 * 64.0 * COSTS.selfplay / 2.0;
    assert!(left > play && left < play * 3.0, "{left} seconds, {play} of them in self-play");
}

#[test]
fn games_in_flight_are_expected_to_end_together() {
    assert!((rest(0.0, 30.0) - 30.0).abs() < 0.1);
    assert!((rest(20.0, 30.0) - 10.5).abs() < 0.5);
    // a game that lasts longer than the others may end at any ply
    assert!(rest(60.0, 30.0) < 5.0 && rest(60.0, 30.0) > 1.0);
    assert!((0..100).all(|ply| rest(ply as f64 + 1.0, 30.0) < rest(ply as f64, 30.0)));
}

/// The generations that have not begun are summed up in closed form.
#[test]
fn later_generations_are_those_one_by_one() {
    let sets: [&[&str]; 4] = [
        &[],
        &["arena.ladder_games=30", "arena.final_games=200", "arena.games=10"],
        &["search.simulations=160", "search.first_simulations=16", "selfplay.bootstrap_games=0"],
        &["selfplay.fast_simulations=16", "selfplay.full_share=0.25", "search.first_simulations=32"],
    ];
    for set in sets {
        for generations in [1, 2, 3, 4, 50] {
            let world = world(3, &[set, &[&*format!("train.generations={generations}")]].concat());
            let mut forecast = Forecast::new(Plan::new(&world.config, 3), COSTS);
            for done in 0..=generations + 1 {
                forecast.resume(done);
                let whole = |later| forecast.seconds(later, RunWork::Bootstrap);
                let one_by_one: f64 = (done + 1..=generations).map(whole).sum();
                let later = forecast.later();
                let difference = (later - one_by_one).abs();
                assert!(
                    difference <= 1e-9 * one_by_one,
                    "{set:?}, {done} of {generations}: {later} {one_by_one}"
                );
            }
        }
    }
}

#[test]
fn a_forecast_costs_the_same_for_any_number_of_generations() {
    let computed = |generations: usize| {
        let world = world(2, &[&format!("train.generations={generations}")]);
        let mut forecast = Forecast::new(Plan::new(&world.config, 2), COSTS);
        forecast.observe(0.0, &began(1, generations, 512));
        let play = Progress {
            games: 5,
            simulations: 50_000,
            in_flight: 60,
            positions: 900,
            unfinished: 700,
            ..Progress::default()
        };
        forecast.observe(1.0, &Event::Selfplay(play));
        COMPUTED.set([0; 2]);
        assert!(forecast.left(1.0) > 0.0 && forecast.part() > 0.0 && forecast.positions() > 0.0);
        COMPUTED.get()
    };
    // the generation in progress, one like those between, and the last
    assert_eq!([300, 100_000].map(computed), [[1, 3]; 2]);
}

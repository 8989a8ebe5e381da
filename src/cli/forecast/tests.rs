//! Tests with simulated runs: their events and times follow from known costs, so the true duration is known.

use super::*;

const PACES: [f64; 5] = [30e-6, 600e-6, 1.5, 0.06, 0.075];
const COSTS: Costs = Costs { paces: PACES, plies: 30.0, position_bytes: 0.0, checkpoint_bytes: 0.0 };

/// Returns the default settings, changed by `sets`.
fn config(sets: &str) -> Config {
    let sets: Vec<String> = sets.split_whitespace().map(String::from).collect();
    Config::parse_kept("test", "game.id = 'phage'", &sets).unwrap()
}

/// A simulated run on two threads, with [`COSTS`].
struct World {
    config: Config,
    /// Searched actions per game in a generation.
    plies: fn(usize) -> f64,
    /// The generation after which the run resumes.
    done: usize,
}

/// Counts of games and actions: finished games, games in flight, actions of all of these games, and actions of games
/// in flight.
type Games = [usize; 4];

struct Events {
    now: f64,
    all: Vec<(f64, Event)>,
}

impl Events {
    fn push(&mut self, event: Event) {
        self.all.push((self.now, event));
    }

    /// Plays `games` games ply by ply, `together` at a time. The lengths of the games are spread around the mean.
    fn play(
        &mut self,
        (games, together): (usize, usize),
        plies: f64,
        action: f64,
        event: fn(Games, usize) -> Event,
    ) {
        let length = |game: usize| plies * (0.6 + 0.8 * (game as f64 * 0.618_034).fract());
        let (mut begun, mut actions, mut flying) = (0, 0, Vec::<(usize, usize)>::new());
        while begun < games || !flying.is_empty() {
            while begun < games && flying.len() < together {
                flying.push((0, length(begun).round() as usize));
                begun += 1;
            }
            self.now += action * flying.len() as f64;
            actions += flying.len();
            flying.iter_mut().for_each(|(played, _)| *played += 1);
            flying.retain(|(played, length)| played < length);
            let unfinished = flying.iter().map(|(played, _)| played).sum();
            self.push(event([begun - flying.len(), flying.len(), actions, unfinished], games));
        }
    }
}

fn standing([games, playing, actions, unfinished]: Games) -> Standing {
    Standing { games, playing, actions, unfinished, ..Standing::default() }
}

impl World {
    fn of(sets: &str) -> World {
        World { config: config(sets), plies: |_| 30.0, done: 0 }
    }

    /// Returns the events of the run with their times.
    fn events(&self) -> Vec<(f64, Event)> {
        let (config, generations) = (&self.config, self.config.train.generations);
        let [bootstrap, network, step, evaluation, rating] = COSTS.paces.map(|pace| pace / COSTS.plies);
        let mut events = Events { now: 1.0, all: Vec::new() };
        events.push(Event::Resumed { done: self.done, generations, positions: 1000 });
        for number in self.done + 1..=generations {
            let (games, plies) = (games_of(config, number).0, (self.plies)(number));
            let amounts = amounts(config, 2, number);
            events.push(Event::Generation { number, generations, games });
            let action = (amounts[BOOTSTRAP] * bootstrap + amounts[SELFPLAY] * network) / games as f64;
            let played = |[games, in_flight, positions, unfinished]: Games, _: usize| {
                Event::Selfplay(Progress { games, in_flight, positions, unfinished, ..Progress::default() })
            };
            events.play((games, 2 * config.selfplay.batch), plies, action, played);
            let steps = (amounts[TRAINING] * plies) as usize;
            for done in 0..=steps {
                events.push(Event::Step { done, steps });
                events.now += if done < steps { step } else { 0.0 };
            }
            let evaluating = |games, all| Event::Evaluating { standing: standing(games), games: all };
            events.play((amounts[EVALUATION] as usize, 64), plies, evaluation, evaluating);
            let rated = |games, all| Event::Rating { standing: standing(games), games: all };
            events.play((amounts[RATING] as usize, 64), plies, rating, rated);
        }
        events.all
    }

    /// Returns the total duration predicted when `share` of the run is done, as a multiple of the true duration. The
    /// costs of play and of training are overestimated by the factor `error`, and the costs of matches are
    /// underestimated by the same factor.
    fn predicted(&self, share: f64, error: f64, plies: f64) -> f64 {
        let events = self.events();
        let (begin, end) = (events[0].0, events[events.len() - 1].0);
        let now = begin + (end - begin) * share;
        let mut costs = COSTS.with_plies(plies);
        costs.paces[..EVALUATION].iter_mut().for_each(|pace| *pace *= error);
        costs.paces[EVALUATION..].iter_mut().for_each(|pace| *pace /= error);
        let mut forecast = Forecast::new(&self.config, 2, costs, 0);
        let past = events.iter().take_while(|(time, _)| *time <= now);
        past.for_each(|(time, event)| forecast.observe(*time, event));
        (now - begin + forecast.left(now)) / (end - begin)
    }

    /// Asserts that predictions at 5%, 20%, and 50% of the run are within a quarter of the true duration.
    fn assert_predicted(&self, name: &str, errors: &[f64]) {
        for (share, error) in
            [0.05, 0.2, 0.5].iter().flat_map(|share| errors.iter().map(move |error| (*share, *error)))
        {
            let predicted = self.predicted(share, error, COSTS.plies);
            assert!((0.75..=1.25).contains(&predicted), "{name} at {share}, {error}: {predicted:.2}");
        }
    }
}

#[test]
fn runs_are_predicted() {
    let runs = [
        ("the defaults", ""),
        ("bootstrap", "selfplay.bootstrap_games=4096 selfplay.bootstrap_simulations=8000 selfplay.games=128"),
        ("long generations", "selfplay.games=2048 train.generations=4"),
        ("much evaluation", "arena.final_games=20000 train.generations=4 selfplay.games=128"),
        ("much rating", "arena.ladder_games=1000 train.generations=4 selfplay.games=128"),
        ("much training", "train.samples_per_position=40"),
        ("two shards", "selfplay.games=64 selfplay.batch=32 selfplay.bootstrap_games=0 train.generations=2"),
        ("growing searches", "search.simulations=160 search.first_simulations=16 train.generations=12"),
        ("fast searches", "selfplay.fast_simulations=16 selfplay.full_share=0.25"),
    ];
    for (name, sets) in runs {
        World::of(sets).assert_predicted(name, &[0.8, 1.0, 1.25]);
    }
}

#[test]
fn the_length_of_games_is_learned() {
    let mut world = World::of("train.generations=12");
    for by_network in [|_| 25.0, |_| 36.0] {
        world.plies = by_network;
        world.assert_predicted("games by the network", &[1.0]);
    }
    // the games were expected to be five times as long
    world.plies = |_| 30.0;
    let predicted = [0.0, 0.05, 0.5].map(|share| world.predicted(share, 1.0, 150.0));
    assert!(
        predicted[0] > 3.0 && predicted[1] < 1.25 && (0.75..1.25).contains(&predicted[2]),
        "{predicted:?}"
    );
}

#[test]
fn only_the_remaining_work_counts() {
    let mut world = World::of("selfplay.bootstrap_games=40960 train.generations=8");
    world.done = 5;
    world.assert_predicted("resumed", &[0.8, 1.0, 1.25]);
    let left = |done: usize| Forecast::new(&world.config, 2, COSTS, done).left(0.0);
    assert!(left(7) < left(0) / 8.0 && left(7) > 0.0, "{} of {}", left(7), left(0));
    assert_eq!(left(8), 0.0);
    // games finished by an earlier, interrupted session are not played again
    let config = config("selfplay.bootstrap_games=0");
    let left = |kept: usize| {
        let mut forecast = Forecast::new(&config, 2, COSTS, 0);
        forecast.observe(0.0, &Event::Generation { number: 1, generations: 10, games: 512 });
        forecast.observe(0.0, &Event::Selfplay(Progress { games: kept, kept, ..Progress::default() }));
        forecast.left(0.0)
    };
    let games = 256.0 * 64.0 * COSTS.paces[SELFPLAY];
    assert!((left(0) - left(256) - games).abs() < 1e-6 * left(0), "{} {}", left(0), left(256));
}

/// Checks that, without a measurement, finished work determines the estimate for the remaining work.
#[test]
fn paces_are_observed_if_there_are_no_costs() {
    let mut forecast = Forecast::new(&config("train.generations=1"), 2, Costs::default(), 0);
    forecast.observe(0.0, &Event::Generation { number: 1, generations: 1, games: 512 });
    assert_eq!(forecast.left(0.0), 0.0);
    forecast.observe(10.0, &Event::Step { done: 0, steps: 40 });
    forecast.observe(14.0, &Event::Step { done: 10, steps: 40 });
    let left = [14.0, 15.0].map(|now| forecast.left(now).round());
    assert_eq!((forecast.part(), left), (0.25, [12.0, 11.0]));
}

#[test]
fn amounts_follow_from_the_settings() {
    let sets = "selfplay.bootstrap_games=100 selfplay.bootstrap_simulations=50 selfplay.games=200 \
        search.simulations=100 selfplay.fast_simulations=20 selfplay.full_share=0.25 train.generations=3 \
        train.batch=128 train.samples_per_position=2 arena.games=10 arena.final_games=50 arena.ladder_games=20";
    let found = [1, 2, 3].map(|generation| amounts(&config(sets), 4, generation));
    let steps = |games: f64| games * 2.0 / 128.0;
    let expected = [
        [5000.0, 0.0, steps(100.0), 12.0, 0.0],
        [0.0, 8000.0, steps(50.0), 12.0, 20.0],
        [0.0, 8000.0, steps(50.0), 52.0, 72.0],
    ];
    assert_eq!(found, expected);
}

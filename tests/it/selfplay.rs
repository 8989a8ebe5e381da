//! The two layouts of self-play: they differ in what runs at the same time, not in the games that are played.

use petteia::config::Config;
use petteia::error::Error;
use petteia::game::{GameOptions, Rules};
use petteia::games::connect_four::ConnectFour;
use petteia::net::evaluator::SharedNet;
use petteia::net::network::Network;
use petteia::replay::record::Record;
use petteia::selfplay::starts::Starts;
use petteia::selfplay::{Generation, Monitor, play_halves, play_shard};

/// The records of a shard, or the error, and the number of games finished; `stop_at` is the turn at which it is
/// interrupted.
fn played(halves: bool, settings: &str, games: usize, stop_at: usize) -> (Result<Vec<Record>, Error>, usize) {
    let Rules { game, identity, .. } = Rules::<ConnectFour>::new(&GameOptions::default()).unwrap();
    let text = format!("game.id = 'connect-four'\nnet = {{ filters = 8, blocks = 1, {settings} }}");
    let config = Config::parse_kept("test", &text, &[]).unwrap();
    let network = Network::new(&config.net, identity.shape, 1);
    let net = SharedNet::new(&network, &config.net);
    let generation = Generation {
        config: &config,
        identity: &identity,
        number: 1,
        games,
        simulations: 12,
        evaluator: "test".into(),
        starts: Starts::default(),
    };
    let mut evaluator = net.evaluator(&game);
    let (monitor, turns) = (Monitor::default(), std::sync::atomic::AtomicUsize::new(0));
    let tick = |_| turns.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1 < stop_at;
    let play = if halves { play_halves } else { play_shard };
    let records = play(&game, &generation, 3..3 + games, &mut evaluator, &monitor, &tick);
    (records, monitor.progress().games)
}

#[test]
fn halves_play_the_same_games_as_a_whole() {
    for games in [1, 2, 7] {
        let (whole, _) = played(false, "", games, usize::MAX);
        let (halves, finished) = played(true, "", games, usize::MAX);
        let records = whole.unwrap();
        assert_eq!((records.len(), finished), (games, games));
        assert_eq!(records, halves.unwrap(), "{games} games");
    }
}

#[test]
fn halves_of_burns_evaluator_play_whole_games() {
    let (records, _) = played(true, "evaluator = 'burn'", 5, usize::MAX);
    let records = records.unwrap();
    assert_eq!(records.iter().map(|record| record.index).collect::<Vec<_>>(), [3, 4, 5, 6, 7]);
}

#[test]
fn either_layout_stops_when_asked() {
    for halves in [false, true] {
        assert!(matches!(played(halves, "", 4, 1), (Err(Error::Interrupted), 0)));
        // the observer is asked a second time whether to stop, at the latest when the first game ends
        assert!(matches!(played(halves, "", 4, 2), (Err(Error::Interrupted), 0..4)));
    }
}

//! Every game of the registry keeps the contract; parsers never panic. `conformance_faults` has games that break it.

use std::collections::BTreeSet;

use petteia::any::Opened;
use petteia::conformance::{Statistics, Violation, check, check_while};
use petteia::encode::Planes;
use petteia::game::{Game, GameOptions, Settings, Variants};
use petteia::games::Games;
use petteia::registry::Registry;
use petteia::session::{bare, meant};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rayon::prelude::*;

/// The number of games. It is smaller than the number that once found a fault; `PETTEIA_DEEP` restores that number.
fn games() -> usize {
    if std::env::var_os("PETTEIA_DEEP").is_some() { 200 } else { 60 }
}

const SEED: u64 = 1;
/// The number of games of each id whose actions are written in other notations.
const NOTATION_GAMES: u64 = 12;

struct Conformance;

/// In random games, every notation of an action that a program or a person may use is read as that action, or is
/// rejected.
struct Notations;

impl Notations {
    fn on(self, rules: Opened) -> usize {
        let game = &rules.game;
        let mut read = 0;
        for seed in 0..NOTATION_GAMES {
            let (mut state, mut random) = (game.initial(), rand::rngs::SmallRng::seed_from_u64(seed));
            while game.outcome(&state).is_none() {
                let legal = game.legal(&state);
                let action = legal[random.random_range(0..legal.len())];
                let texts: Vec<String> =
                    legal.iter().map(|action| game.action_text(&state, *action)).collect();
                let mut readings: Vec<String> = texts.iter().map(|text| bare(text)).collect();
                readings.sort();
                readings.dedup();
                assert_eq!(
                    readings.len(),
                    legal.len(),
                    "two actions are read alike in {}",
                    game.state_text(&state)
                );
                assert!(readings.iter().all(|reading| !reading.is_empty()));
                let text = game.action_text(&state, action);
                for written in [
                    text.clone(),
                    text.to_uppercase(),
                    text.to_lowercase(),
                    bare(&text),
                    text.replace('-', "x"),
                    text.replace(['-', 'x'], ":"),
                    text.replace('-', "\u{2013}"),
                    format!("{text}x"),
                    format!("{text}+"),
                    format!("({text})"),
                ] {
                    assert_eq!(
                        meant(game, &state, &written),
                        Some(action),
                        "{written} in {}",
                        game.state_text(&state)
                    );
                    read += 1;
                }
                game.play(&mut state, action);
            }
        }
        read
    }
}

#[test]
fn no_two_legal_actions_are_read_alike() {
    for id in Games::ids() {
        assert!(Games::open(&id, &Settings::new()).map(|rules| Notations.on(rules)).unwrap() > 100, "{id}");
    }
}

/// The number of random games, enough to reach every ending.
const ENDED: u64 = 200;

/// Plays random games and lists their endings.
struct Endings;

impl Endings {
    fn on(self, rules: Opened) -> BTreeSet<String> {
        let game = &rules.game;
        let end = |seed| {
            let (mut state, mut random) = (game.initial(), rand::rngs::SmallRng::seed_from_u64(seed));
            while game.outcome(&state).is_none() {
                let legal = game.legal(&state);
                game.play(&mut state, legal[random.random_range(0..legal.len())]);
            }
            game.ending(&state).to_string()
        };
        (0..ENDED).map(end).collect()
    }
}

#[test]
fn every_game_says_why_it_is_over() {
    let endings = |id: &str| Games::open(id, &Settings::new()).map(|rules| Endings.on(rules)).unwrap();
    fn named<const N: usize>(reasons: [&str; N]) -> BTreeSet<String> {
        reasons.map(String::from).into()
    }
    for id in Games::ids() {
        assert!(!endings(&id).contains(""), "{id}");
    }
    assert_eq!(endings("tic-tac-toe"), named(["a full board", "three in a row"]));
    assert_eq!(endings("connect-four"), named(["a full board", "four in a row"]));
    assert_eq!(endings("phage"), named(["neither player can move", "one player cannot move"]));
    assert_eq!(endings("caissa"), named(["checkmate", "stalemate"]));
    assert_eq!(endings("cage-4"), named(["no checkers left"]));
    let trap = endings("custodial-trap-intro");
    assert!(trap.contains("no progress") && trap.len() > 1, "{trap:?}");
}

impl Conformance {
    fn on(self, rules: Opened) -> Result<Statistics, Violation> {
        let game = &rules.game;
        check(game, games(), SEED)
    }
}

#[test]
fn every_game_keeps_the_contract() {
    Games::ids().par_iter().for_each(|id| {
        let report = Games::open(id, &Settings::new()).map(|rules| Conformance.on(rules)).unwrap();
        let report = report.unwrap_or_else(|violation| panic!("{id}: {violation}"));
        assert_eq!((report.games, report.outcomes.iter().sum()), (games(), games()), "{id}");
        assert!(report.shortest > 0 && report.mean_branching() > 1.0, "{id}: {report}");
    });
}

#[test]
fn the_same_seed_gives_the_same_report() {
    let run =
        || Games::open("tic-tac-toe", &Settings::new()).map(|rules| Conformance.on(rules)).unwrap().unwrap();
    assert_eq!(run(), run());
    assert!(run().to_string().starts_with(&format!("{} games, ", games())), "{}", run());
}

#[test]
fn unknown_options_are_refused_by_every_game() {
    let settings = Settings::from([("no-such-option".to_string(), toml::Value::Integer(1))]);
    for id in Games::ids() {
        let refusal = Games::open(&id, &settings).map(|rules| Conformance.on(rules)).expect_err(&id);
        assert!(refusal.to_string().contains("no-such-option"), "{id}: {refusal}");
    }
}

/// Passes a text to every parser of a game. A parser that accepts the text must print it unchanged.
struct Parse<'a> {
    text: &'a str,
    /// The place where a character of `text` replaces one of a valid position, and the number of plies before that
    /// position.
    graft: (usize, usize),
}

impl Parse<'_> {
    fn on(self, rules: Opened) {
        let game = &rules.game;
        let mut random = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(self.graft.0 as u64);
        let mut state = game.initial();
        for _ in 0..self.graft.1 {
            let legal = game.legal(&state);
            if legal.is_empty() {
                break;
            }
            game.play(&mut state, legal[random.random_range(0..legal.len())]);
        }
        let text = game.state_text(&state);
        let at = self.graft.0 % (text.len() + 1);
        let behind = text.get(at + 1..).unwrap_or_default();
        for text in [self.text.to_string(), format!("{}{}{behind}", &text[..at], self.text)] {
            if let Ok(parsed) = game.parse_state(&text) {
                assert_eq!(game.state_text(&parsed), text);
                assert_eq!(game.legal(&parsed).is_empty(), game.outcome(&parsed).is_some(), "{text}");
                game.encode(&parsed, &mut Planes::new(game.shape()));
            }
        }
        if let Some(action) = game.parse_action(&state, self.text) {
            assert_eq!(game.action_text(&state, action), self.text);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn no_text_makes_a_parser_panic(text in ".{0,12}|[1-8xXOcstdCSTDwb./ -]{0,3}|[a-h0-9-]{0,5}",
                                    graft in (0usize..200, 0usize..60)) {
        for id in Games::ids() {
            Games::open(&id, &Settings::new()).map(|rules| Parse { text: &text, graft }.on(rules)).unwrap();
        }
        let known = Games::ids().contains(&text);
        prop_assert_eq!(Games::open(&text, &Settings::new()).map(|rules| Parse { text: "", graft }.on(rules)).is_ok(),
            known);
    }
}

#[test]
fn a_check_ends_when_it_is_told_to() {
    let game = petteia::games::cage::Cage::new(&GameOptions::default()).unwrap();
    let mut asked = 0;
    let seen = check_while(&game, 1000, 1, &mut |seen| {
        asked += 1;
        assert_eq!(seen.positions, asked - 1);
        asked <= 50
    });
    // less than one whole game, and no more positions than were requested
    let seen = seen.unwrap();
    assert_eq!((seen.games, seen.positions, asked), (0, 50, 51));
    assert_eq!(check_while(&game, 1, 1, &mut |_| true), check(&game, 1, 1));
}

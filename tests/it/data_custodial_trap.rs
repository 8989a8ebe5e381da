//! Custodial Trap against the data of independent slow generators: numbers of action sequences, endings,
//! repetitions and whole games, in all variants.
//!
//! Counts above 100,000 need a release build or `PETTEIA_DEEP=1`.

use std::collections::BTreeMap;

use petteia::game::{Game, GameOptions, Outcome, Player, Settings, Variants, perft, perft_played};
use petteia::games::custodial_trap::{CustodialTrap, State};
use sha2::{Digest, Sha256};

#[derive(serde::Deserialize)]
struct Data {
    header: Header,
    perft: Vec<Counts>,
    endings: Vec<Ending>,
    repetitions: Vec<Repetition>,
    games: Vec<Trace>,
}

#[derive(serde::Deserialize)]
struct Header {
    start: BTreeMap<String, String>,
    /// Keyed by variant and name of the start, joined by `-`.
    start_alternatives: BTreeMap<String, String>,
    hash_hex_digits: usize,
}

#[derive(serde::Deserialize)]
struct Counts {
    variant: String,
    name: String,
    fen: String,
    perft: BTreeMap<usize, u64>,
}

#[derive(serde::Deserialize)]
struct Ending {
    name: String,
    fen: String,
    result: Option<String>,
    n: usize,
}

#[derive(serde::Deserialize)]
struct Repetition {
    fen: String,
    actions: Vec<String>,
    /// The result after each action.
    results: Vec<Option<String>>,
}

/// One game; `n` and `h` have an entry for each ply and one for the final position.
#[derive(serde::Deserialize)]
struct Trace {
    variant: String,
    seed: u64,
    actions: Vec<String>,
    n: Vec<usize>,
    h: Vec<String>,
    fen: BTreeMap<usize, String>,
    result: String,
    reason: String,
}

fn data() -> Data {
    serde_json::from_str(include_str!("../data/custodial_trap.json")).unwrap()
}

fn game_from(variant: &str, start: &str) -> CustodialTrap {
    let settings = Settings::from([("start".to_string(), toml::Value::String(start.to_string()))]);
    CustodialTrap::new(&GameOptions { variant: variant.to_string(), settings }).unwrap()
}

/// The game that a position belongs to.
fn game_of(fen: &str) -> CustodialTrap {
    game_from(fen.split(' ').next().unwrap(), "standard")
}

/// The winner's color as the data names it. The last field of a position is the color of A, who is the first player;
/// in the variants without a set-up, the first player is White.
fn result(game: &CustodialTrap, state: &State) -> Option<String> {
    let first_is_black = game.state_text(state).ends_with(" b");
    game.outcome(state).map(|outcome| match outcome {
        Outcome::Win(player) if (player == Player::First) == first_is_black => "black".into(),
        Outcome::Win(_) => "white".into(),
        Outcome::Draw => "draw".into(),
    })
}

fn play(game: &CustodialTrap, state: &mut State, text: &str, place: &str) {
    let action = game.parse_action(state, text);
    game.play(state, action.unwrap_or_else(|| panic!("{place}: {text} is refused")));
}

fn affordable(leaves: u64) -> bool {
    leaves <= 100_000 || !cfg!(debug_assertions) || std::env::var_os("PETTEIA_DEEP").is_some()
}

#[test]
fn starts() {
    let Header { start, start_alternatives, .. } = data().header;
    assert_eq!((start.len(), start_alternatives.len()), (3, 2));
    for (variant, fen) in start {
        let game = game_from(&variant, "standard");
        assert_eq!(game.state_text(&game.initial()), fen);
    }
    for (name, fen) in start_alternatives {
        let (variant, start) = name.split_once('-').unwrap();
        let game = game_from(variant, start);
        assert_eq!(game.state_text(&game.initial()), fen);
        assert_eq!(game.parse_state(&fen).unwrap(), game.initial());
    }
}

#[test]
fn counts() {
    let perfts = data().perft;
    assert_eq!(perfts.len(), 37);
    for Counts { variant, name, fen, perft: counts } in perfts {
        let game = game_of(&fen);
        let state = game.parse_state(&fen).unwrap();
        assert!(fen.starts_with(&variant) && !counts.is_empty(), "{name}");
        for (depth, leaves) in counts {
            if affordable(leaves) {
                assert_eq!(perft(&game, &state, depth), leaves, "{name} `{fen}` depth {depth}");
            }
            if leaves < 1_000_000 && affordable(leaves) {
                assert_eq!(perft_played(&game, &state, depth), leaves, "{name} `{fen}` depth {depth}");
            }
        }
    }
}

#[test]
fn endings() {
    let endings = data().endings;
    assert_eq!(endings.len(), 18);
    for Ending { name, fen, result: expected, n } in endings {
        let game = game_of(&fen);
        let state = game.parse_state(&fen).unwrap();
        assert_eq!(result(&game, &state), expected, "{name}");
        assert_eq!(game.legal(&state).len(), n, "{name}");
    }
}

#[test]
fn repetitions() {
    let repetitions = data().repetitions;
    assert_eq!(repetitions.len(), 1);
    for Repetition { fen, actions, results } in repetitions {
        let game = game_of(&fen);
        let mut state = game.parse_state(&fen).unwrap();
        assert_eq!(actions.len(), results.len());
        for (action, expected) in actions.iter().zip(results) {
            play(&game, &mut state, action, &fen);
            assert_eq!(result(&game, &state), expected, "{action}");
        }
    }
}

#[test]
fn games() {
    let Data { games, header, .. } = data();
    assert_eq!(games.len(), 180);
    for trace in games {
        replay(&trace, header.hash_hex_digits);
    }
}

/// The hash of the sorted texts, joined by line ends.
fn digest(mut texts: Vec<String>, digits: usize) -> String {
    texts.sort_unstable();
    let hash = Sha256::digest(texts.join("\n"));
    let mut text: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    text.truncate(digits);
    text
}

fn replay(trace: &Trace, digits: usize) {
    let game = game_from(&trace.variant, "standard");
    let name = format!("{} game {} ({})", trace.variant, trace.seed, trace.reason);
    assert_eq!((trace.n.len(), trace.h.len()), (trace.actions.len() + 1, trace.actions.len() + 1));
    let mut state = game.initial();
    for ply in 0..trace.n.len() {
        let place = format!("{name} ply {ply}");
        let texts: Vec<String> =
            game.legal(&state).into_iter().map(|action| game.action_text(&state, action)).collect();
        assert_eq!(texts.len(), trace.n[ply], "{place}");
        assert_eq!(digest(texts, digits), trace.h[ply], "{place}");
        if let Some(fen) = trace.fen.get(&ply) {
            assert_eq!(&game.state_text(&state), fen, "{place}");
            assert_eq!(game.parse_state(fen).unwrap(), game.without_history(&state), "{place}");
        }
        if let Some(text) = trace.actions.get(ply) {
            assert_eq!(game.outcome(&state), None, "{place}");
            play(&game, &mut state, text, &place);
        }
    }
    assert_eq!(result(&game, &state).as_ref(), Some(&trace.result), "{name}");
}

//! Every value of data/caissa.json, made by an independent slow generator.
//!
//! Counts above 2,000,000 need a release build or `PETTEIA_DEEP=1`.

use std::collections::BTreeMap;

use petteia::game::{Game, GameOptions, Outcome, Player, Settings, Variants, perft};
use petteia::games::caissa::{Caissa, State};
use sha2::{Digest, Sha256};

#[derive(serde::Deserialize)]
struct Data {
    initial_fen: String,
    max_plies: usize,
    diagnostics: Diagnostics,
    positions: Vec<Position>,
    traces: Vec<Trace>,
}

/// Counts under the correct rules and under misreadings of them.
#[derive(serde::Deserialize)]
struct Diagnostics {
    depth: usize,
    right: BTreeMap<String, u64>,
    wrong: BTreeMap<String, BTreeMap<String, u64>>,
}

#[derive(serde::Deserialize)]
struct Position {
    name: String,
    fen: String,
    in_check: bool,
    result: Option<String>,
    end_reason: Option<String>,
    legal: Vec<String>,
    ending_actions: BTreeMap<String, Vec<String>>,
    perft: Vec<u64>,
}

#[derive(serde::Deserialize)]
struct Trace {
    seed: u64,
    policy: String,
    actions: Vec<String>,
    counts: Vec<usize>,
    sha256: Vec<String>,
    fens: BTreeMap<usize, String>,
    result: String,
    end_reason: String,
}

fn data() -> Data {
    serde_json::from_str(include_str!("../data/caissa.json")).unwrap()
}

fn rules(settings: &[(&str, bool)]) -> Caissa {
    let settings: Settings =
        settings.iter().map(|(name, value)| (name.to_string(), toml::Value::Boolean(*value))).collect();
    Caissa::new(&GameOptions { variant: String::new(), settings }).unwrap()
}

fn texts(game: &Caissa, state: &State) -> Vec<String> {
    let mut texts: Vec<String> =
        game.legal(state).into_iter().map(|action| game.action_text(state, action)).collect();
    texts.sort_unstable();
    texts
}

fn after(game: &Caissa, state: &State, text: &str) -> State {
    let mut next = *state;
    game.play(&mut next, game.parse_action(state, text).unwrap_or_else(|| panic!("{text} is refused")));
    next
}

/// The result and its reason, as the data names them.
fn ending(game: &Caissa, state: &State) -> Option<(&'static str, &'static str)> {
    match game.outcome(state)? {
        Outcome::Win(Player::First) => Some(("white", "checkmate")),
        Outcome::Win(Player::Second) => Some(("black", "checkmate")),
        Outcome::Draw => {
            // one ply earlier the limit does not apply yet, so a stalemate is recognized at that position
            let text = game.state_text(state);
            let (front, plies) = text.rsplit_once(' ').unwrap();
            let earlier = plies.parse::<usize>().unwrap() % 2 + 2;
            let stuck = game.legal(&game.parse_state(&format!("{front} {earlier}")).unwrap()).is_empty();
            Some(("draw", if stuck { "stalemate" } else { "move limit" }))
        }
    }
}

fn affordable(leaves: u64) -> bool {
    leaves <= 2_000_000 || !cfg!(debug_assertions) || std::env::var_os("PETTEIA_DEEP").is_some()
}

#[test]
fn the_initial_position_and_the_limit() {
    let (data, game) = (data(), rules(&[]));
    assert_eq!(game.state_text(&game.initial()), data.initial_fen);
    assert_eq!(game.max_plies(), data.max_plies);
}

#[test]
fn positions() {
    let game = rules(&[]);
    for position in data().positions {
        let (name, state) = (&position.name, game.parse_state(&position.fen).unwrap());
        assert_eq!(texts(&game, &state), position.legal, "{name}");
        assert_eq!(game.state_text(&state), position.fen, "{name}");
        assert_eq!(game.view(&state).note.contains("check"), position.in_check, "{name}");
        let expected = position.result.as_deref().zip(position.end_reason.as_deref());
        assert_eq!(ending(&game, &state), expected, "{name}");
        let mut endings: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for text in texts(&game, &state) {
            if let Some((_, reason)) = ending(&game, &after(&game, &state, &text)) {
                endings.entry(reason.to_string()).or_default().push(text);
            }
        }
        assert_eq!(endings, position.ending_actions, "{name}");
        for (depth, leaves) in (1..).zip(position.perft).filter(|(_, leaves)| affordable(*leaves)) {
            assert_eq!(perft(&game, &state, depth), leaves, "{name} depth {depth}");
        }
    }
}

#[test]
fn diagnostics_under_the_right_rules_and_the_switches() {
    let data = data();
    let Diagnostics { depth, right, wrong } = data.diagnostics;
    let cases = [
        (rules(&[]), &right),
        (rules(&[("queen_exchange", true)]), &wrong["own queen may be exchanged"]),
        (rules(&[("exchange_ban", false)]), &wrong["no ban on undoing an exchange"]),
    ];
    for (game, counts) in cases {
        assert_eq!(counts.len(), right.len());
        for (name, leaves) in counts {
            let position = data.positions.iter().find(|position| position.name == *name).unwrap();
            let state = game.parse_state(&position.fen).unwrap();
            assert_eq!(perft(&game, &state, depth), *leaves, "{game:?} {name}");
        }
    }
}

#[test]
fn traces() {
    let game = rules(&[]);
    for trace in data().traces {
        let name = format!("{} game {}", trace.policy, trace.seed);
        assert_eq!(
            (trace.counts.len(), trace.sha256.len()),
            (trace.actions.len() + 1, trace.actions.len() + 1)
        );
        let mut state = game.parse_state(&trace.fens[&0]).unwrap();
        for ply in 0..=trace.actions.len() {
            let texts = texts(&game, &state);
            assert_eq!(texts.len(), trace.counts[ply], "{name} ply {ply}");
            let digest = Sha256::digest(texts.join("\n"));
            let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(digest, trace.sha256[ply], "{name} ply {ply}");
            if let Some(fen) = trace.fens.get(&ply) {
                assert_eq!(&game.state_text(&state), fen, "{name} ply {ply}");
                assert_eq!(game.parse_state(fen).unwrap(), state, "{name} ply {ply}");
            }
            if let Some(text) = trace.actions.get(ply) {
                assert_eq!(game.outcome(&state), None, "{name} ply {ply}");
                state = after(&game, &state, text);
            }
        }
        assert_eq!(ending(&game, &state), Some((&trace.result[..], &trace.end_reason[..])), "{name}");
    }
}

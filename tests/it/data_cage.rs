//! Cage against the data of independent slow generators: numbers of action sequences, positions made by hand
//! and whole games, on all four sizes.
//!
//! Counts above 2,000,000 need a release build or `PETTEIA_DEEP=1`.

use std::collections::BTreeMap;

use petteia::board::{parse_square, ranks_text};
use petteia::game::{Game, GameOptions, Outcome, Player, Variants, perft, perft_played};
use petteia::games::cage::{Cage, State};
use sha2::{Digest, Sha256};

#[derive(serde::Deserialize)]
struct Data {
    cases: Vec<Case>,
    sizes: BTreeMap<usize, Size>,
}

#[derive(serde::Deserialize)]
struct Case {
    name: String,
    size: usize,
    board: String,
    to_move: String,
    legal: Vec<String>,
    then: Vec<After>,
}

/// An action and its result.
#[derive(serde::Deserialize)]
struct After {
    action: String,
    board: String,
    to_move: String,
    must_continue: Option<String>,
    legal: Vec<String>,
    result: Option<String>,
}

#[derive(serde::Deserialize)]
struct Size {
    initial_board: String,
    perft: Vec<u64>,
    midgame_perft: Vec<Midgame>,
    traces: Vec<Trace>,
}

#[derive(serde::Deserialize)]
struct Midgame {
    board: String,
    to_move: String,
    must_continue: Option<String>,
    perft: Vec<u64>,
}

#[derive(serde::Deserialize)]
struct Trace {
    policy: String,
    seed: u64,
    plies: usize,
    turns: usize,
    passes: usize,
    winner: String,
    last_mover: String,
    final_board: String,
    movers: String,
    actions: String,
    legal_counts: Vec<usize>,
    legal_sha256: Vec<String>,
}

fn data() -> Data {
    serde_json::from_str(include_str!("../data/cage.json")).unwrap()
}

fn cage(size: usize) -> Cage {
    let variant = if size == 10 { String::new() } else { size.to_string() };
    Cage::new(&GameOptions { variant, ..GameOptions::default() }).unwrap()
}

/// The text of a position whose board is given with rank 1 first. The data lacks the number of plies.
fn text(size: usize, board: &str, to_move: &str, must_continue: Option<&str>, plies: usize) -> String {
    assert_eq!(board.len(), size * size);
    let letter = |square: usize| board.chars().nth(square).filter(|letter| *letter != '.');
    let ranks = ranks_text(size, size, letter);
    format!("{ranks} {} {} {plies}", &to_move[..1], must_continue.unwrap_or("-"))
}

fn legal(game: &Cage, state: &State) -> Vec<String> {
    let mut texts: Vec<String> =
        game.legal(state).into_iter().map(|action| game.action_text(state, action)).collect();
    texts.sort_unstable();
    texts
}

fn play(game: &Cage, state: &mut State, action: &str, place: &str) {
    let parsed = game.parse_action(state, action);
    game.play(state, parsed.unwrap_or_else(|| panic!("{place}: {action} is refused")));
}

/// The player's name as the data spells it.
fn name(game: &Cage, player: Player) -> String {
    game.about().player(player).to_lowercase()
}

fn winner(game: &Cage, state: &State) -> Option<String> {
    game.outcome(state).map(|outcome| match outcome {
        Outcome::Win(player) => name(game, player),
        Outcome::Draw => "draw".to_string(),
    })
}

fn affordable(leaves: u64) -> bool {
    leaves <= 2_000_000 || !cfg!(debug_assertions) || std::env::var_os("PETTEIA_DEEP").is_some()
}

/// `counts[d - 1]`: the number of action sequences of length d.
fn expect_counts(game: &Cage, state: &State, counts: &[u64]) {
    assert!(!counts.is_empty());
    for (depth, leaves) in (1..).zip(counts) {
        let place = || format!("`{}` depth {depth}", game.state_text(state));
        if affordable(*leaves) {
            assert_eq!(perft(game, state, depth), *leaves, "{}", place());
        }
        if *leaves < 1_000_000 {
            assert_eq!(perft_played(game, state, depth), *leaves, "{}", place());
        }
    }
}

#[test]
fn initial_positions_and_counts() {
    let sizes = data().sizes;
    assert_eq!(sizes.keys().copied().collect::<Vec<_>>(), [4, 6, 8, 10]);
    for (size, Size { initial_board, perft, .. }) in sizes {
        let game = cage(size);
        assert_eq!(game.state_text(&game.initial()), text(size, &initial_board, "red", None, 0));
        expect_counts(&game, &game.initial(), &perft);
    }
}

#[test]
fn counts_from_the_middle_of_games() {
    for (size, data) in data().sizes {
        assert_eq!(data.midgame_perft.len(), 12);
        for Midgame { board, to_move, must_continue, perft } in data.midgame_perft {
            let text = text(size, &board, &to_move, must_continue.as_deref(), 100);
            expect_counts(&cage(size), &cage(size).parse_state(&text).unwrap(), &perft);
        }
    }
}

#[test]
fn cases() {
    let cases = data().cases;
    assert_eq!(cases.len(), 23);
    for case in cases {
        let Case { name, size, board, to_move, .. } = &case;
        let game = cage(*size);
        let mut state = game.parse_state(&text(*size, board, to_move, None, 100)).unwrap();
        assert_eq!(legal(&game, &state), case.legal, "{name}");
        for (plies, after) in (101..).zip(&case.then) {
            assert_eq!(game.outcome(&state), None, "{name}");
            play(&game, &mut state, &after.action, name);
            let After { board, to_move, must_continue, .. } = after;
            let text = text(*size, board, to_move, must_continue.as_deref(), plies);
            assert_eq!(game.state_text(&state), text, "{name}");
            assert_eq!(game.parse_state(&text).unwrap(), state, "{name}");
            assert_eq!(legal(&game, &state), after.legal, "{name}");
            assert_eq!(winner(&game, &state), after.result, "{name}");
        }
    }
}

#[test]
fn traces() {
    for (size, data) in data().sizes {
        assert_eq!(data.traces.len(), 40);
        for trace in &data.traces {
            replay(&cage(size), size, trace);
        }
    }
}

fn replay(game: &Cage, size: usize, trace: &Trace) {
    let Trace { policy, seed, plies, .. } = trace;
    let name_of = |ply: usize| format!("size {size}, {policy} game {seed}, ply {ply}");
    let actions: Vec<&str> = trace.actions.split(' ').collect();
    let movers: Vec<String> = trace.movers.chars().map(String::from).collect();
    let lengths = [actions.len(), movers.len(), trace.legal_counts.len(), trace.legal_sha256.len()];
    assert_eq!(lengths, [*plies; 4]);
    assert_eq!(actions.iter().filter(|action| **action == "pass").count(), trace.passes);

    let mut state = game.initial();
    let (mut turns, mut last) = (0, None);
    for (ply, action) in actions.iter().enumerate() {
        let place = name_of(ply);
        assert_eq!(game.outcome(&state), None, "{place}");
        let mover = game.to_move(&state);
        assert_eq!(name(game, mover)[..1].to_uppercase(), movers[ply], "{place}");
        let texts = legal(game, &state);
        assert_eq!(texts.len(), trace.legal_counts[ply], "{place}");
        let digest = Sha256::digest(texts.join(" "));
        let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(digest, trace.legal_sha256[ply], "{place}");
        // a chain of jumps is one turn
        let state_text = game.state_text(&state);
        let jumping = state_text.split(' ').nth(2).unwrap();
        assert_eq!(jumping != "-", parse_square(jumping, size, size).is_some(), "{place}");
        turns += (jumping == "-") as usize;
        assert_eq!(game.parse_state(&state_text).unwrap(), state, "{place}");
        last = Some(name(game, mover));
        play(game, &mut state, action, &place);
    }
    let place = name_of(*plies);
    assert_eq!((turns, last), (trace.turns, Some(trace.last_mover.clone())), "{place}");
    assert_eq!(winner(game, &state), Some(trace.winner.clone()), "{place}");
    let next = name(game, game.to_move(&state));
    assert_eq!(game.state_text(&state), text(size, &trace.final_board, &next, None, *plies), "{place}");
    assert_eq!(legal(game, &state), Vec::<String>::new(), "{place}");
}

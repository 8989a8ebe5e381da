//! Mistakes that people make in their own games, planted one at a time in correct games. `conformance::check` names
//! them, or a test here says what else reveals them.

#[path = "../../../examples/breakthrough/src/rules.rs"]
mod breakthrough;
mod amazons;
mod hex;
mod in_amazons;
mod in_breakthrough;
mod in_hex;
mod in_othello;
mod in_tic_tac_toe;
#[path = "../../../examples/breakthrough/src/othello.rs"]
mod othello;

use petteia::board::Symmetry;
use petteia::conformance::{Violation, check, playthrough, random_game};
use petteia::encode::Planes;
use petteia::game::{Action, Game, GameOptions, Outcome, Rules, Shape, Variants, perft};
use petteia::random::mix;

use crate::support::faulty::{Faulty, Wrong};
use breakthrough::Breakthrough;
use othello::{Othello, PASS};

const GAMES: usize = 100;
const SEED: u64 = 1;
const MIRRORED_ROWS: Symmetry = Symmetry::SQUARE[2];

/// A mistake: a name, the faulty functions, and a part of the message that must report it.
type Fault<G> = (&'static str, Wrong<G>, &'static str);

fn breakthrough(variant: &str) -> Breakthrough {
    Breakthrough::new(&GameOptions { variant: variant.into(), ..GameOptions::default() }).unwrap()
}

/// A game without a fault.
fn wrong<G: Game>() -> Wrong<G> {
    Wrong::default()
}

fn found<G: Game>(game: &G, wrong: &Wrong<G>) -> Option<Violation> {
    check(&Faulty { game: game.clone(), wrong: wrong.clone() }, GAMES, SEED).err()
}

/// Asserts that each of these faults is found, and that its message says where to look.
fn are_named<G: Game>(game: &G, faults: &[Fault<G>]) {
    if let Some(violation) = found(game, &Wrong::default()) {
        panic!("{} without a fault: {violation}", game.about().name);
    }
    let missing: Vec<String> = faults
        .iter()
        .filter_map(|(name, wrong, expected)| {
            let Some(violation) = found(game, wrong) else {
                return Some(format!("{}, {name}: not found", game.about().name));
            };
            let message = violation.to_string();
            // the seed reproduces the fault, unless it needs several games
            let one_game =
                !["same key", "same planes", "upside down"].iter().any(|rule| message.contains(rule));
            let again = check(&Faulty { game: game.clone(), wrong: wrong.clone() }, 1, violation.seed);
            let right = message.contains(expected) && (!one_game || again == Err(violation));
            (!right).then(|| format!("{}, {name}: {message}", game.about().name))
        })
        .collect();
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

fn encoded<G: Game>(game: &G, state: &G::State) -> Planes {
    let mut planes = Planes::new(game.shape());
    game.encode(state, &mut planes);
    planes
}

/// The squares of a plane.
fn squares(planes: &Planes, shape: Shape, plane: usize) -> u128 {
    let mut numbers = vec![f32::NAN; shape.input_len()];
    planes.expand(&mut numbers);
    let squares = numbers[plane * shape.cells()..][..shape.cells()].iter().enumerate();
    squares.filter(|(_, number)| **number == 1.0).fold(0, |set, (square, _)| set | 1 << square)
}

/// A hash of the planes: what the player to move sees.
fn seen<G: Game>(game: &G, state: &G::State) -> u64 {
    let shape = game.shape();
    let planes = encoded(game, state);
    (0..shape.planes).fold(0, |hash, plane| {
        let squares = squares(&planes, shape, plane);
        mix(mix(hash ^ squares as u64) ^ (squares >> 64) as u64)
    })
}

fn reversed<G: Game>(game: &G, state: &G::State) -> Option<Outcome> {
    game.outcome(state).map(Outcome::opposite)
}

fn upside_down<G: Game>(game: &G, before: &G::State, action: Action) -> Vec<(usize, usize)> {
    let rows = game.view(before).rows.len();
    game.touched(before, action).into_iter().map(|(row, column)| (rows - 1 - row, column)).collect()
}

/// A check of a game against itself cannot find these mistakes; the last board of `check-game --show`, or perft,
/// reveals them.
#[test]
fn what_the_check_cannot_see_is_shown() {
    let reversed_othello = Faulty { game: Othello, wrong: Wrong { outcome: Some(reversed), ..wrong() } };
    shown(&Othello, &reversed_othello);
    let five = breakthrough("5");
    let reversed_five = Faulty { game: five.clone(), wrong: Wrong { outcome: Some(reversed), ..wrong() } };
    shown(&five, &reversed_five);
    let mover_wins = Wrong {
        outcome: Some(|game: &Othello, state| game.outcome(state).map(|_| Outcome::Win(state.mover))),
        ..wrong()
    };
    shown(&Othello, &Faulty { game: Othello, wrong: mover_wins });

    // planes in a different order do no harm, if the order is always the same
    let exchanged = Wrong {
        encode: Some(|game: &Othello, state, planes| {
            game.encode(state, planes);
            let (own, other) = state.sides();
            planes.set_bits(0, [other]);
            planes.set_bits(1, [own]);
        }),
        ..wrong()
    };
    assert_eq!(found(&Othello, &exchanged), None);
    let text = |game: Faulty<Othello>| playthrough(&Rules::of(game, &GameOptions::default()).unwrap(), SEED);
    let right = text(Faulty { game: Othello, wrong: wrong() });
    assert_ne!(text(Faulty { game: Othello, wrong: exchanged }), right);

    let passing = Wrong {
        legal_actions: Some(|game: &Othello, state, out| {
            game.legal_actions(state, out);
            if out.last().is_some_and(|last| *last != PASS) {
                out.push(PASS);
            }
        }),
        max_plies: Some(|_| 10_000),
        ..wrong()
    };
    // random games do not pass forever, but games that avoid the end do
    let endless = found(&Othello, &passing).expect("the game need not end");
    assert_eq!(endless.rule, "the game is not over after max_plies = 10000 actions");
    counted(
        &five,
        &Faulty { game: five.clone(), wrong: Wrong { legal_actions: Some(straight_captures), ..wrong() } },
        6,
    );
}

/// The middle one of the three directions of an action in Breakthrough.
const STRAIGHT: usize = 1;

/// Adds straight captures to the legal actions.
fn straight_captures(game: &Breakthrough, state: &breakthrough::State, out: &mut Vec<Action>) {
    game.legal_actions(state, out);
    if out.is_empty() {
        return;
    }
    let (shape, planes) = (game.shape(), encoded(game, state));
    let [own, enemy] = [0, 1].map(|plane| squares(&planes, shape, plane));
    let capturing = (0..shape.cells()).filter(|square| (own & enemy >> shape.width) >> square & 1 == 1);
    out.extend(capturing.map(|square| Action((STRAIGHT * shape.cells() + square) as u16)));
    out.sort();
}

/// Asserts that the check passes the wrong game, and that a finished game names another winner.
fn shown<G: Game>(right: &G, wrong: &Faulty<G>) {
    assert_eq!(check(wrong, GAMES, SEED).err(), None);
    let said = (1..20).filter(|seed| {
        let (states, _) = random_game(wrong, *seed);
        let last = &states[states.len() - 1];
        wrong.outcome(last) != right.outcome(last)
    });
    assert!(said.count() > 2);
}

/// Asserts that the check passes the wrong game, and that its perft counts differ.
fn counted<G: Game>(right: &G, wrong: &Faulty<G>, depth: usize) {
    assert_eq!(check(wrong, 20, SEED).err(), None);
    let count = |depth| (perft(right, &right.initial(), depth), perft(wrong, &right.initial(), depth));
    let (right, wrong) = count(depth);
    assert!(wrong > right, "{right} {wrong}");
}

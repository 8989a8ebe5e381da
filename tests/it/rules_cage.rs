//! The rule sheet of Cage, sentence by sentence, and a slow, obvious implementation of the rules compared with the
//! fast one.

use std::collections::{BTreeSet, HashMap};

use petteia::board::Symmetry;
use petteia::conformance::check;
use petteia::encode::Planes;
use petteia::game::{Action, Game, GameOptions, Outcome, Player, Variants};
use petteia::games::cage::{Cage, State};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use slow::Slow;

mod slow;

fn cage(size: usize) -> Cage {
    let variant = if size == 10 { String::new() } else { size.to_string() };
    Cage::new(&GameOptions { variant, ..GameOptions::default() }).unwrap()
}

fn actions(game: &Cage, state: &State) -> BTreeSet<String> {
    game.legal(state).into_iter().map(|action| game.action_text(state, action)).collect()
}

/// The legal actions of a position 6 squares wide that start with `start`, in alphabetical order.
fn legal(text: &str, start: &str) -> String {
    let actions = actions(&cage(6), &cage(6).parse_state(text).unwrap());
    actions.into_iter().filter(|action| action.starts_with(start)).collect::<Vec<_>>().join(" ")
}

/// A position 6 squares wide, after these actions.
fn after(text: &str, actions: &[&str]) -> String {
    cage(6).state_text(&state_after(text, actions))
}

fn state_after(text: &str, actions: &[&str]) -> State {
    let mut state = cage(6).parse_state(text).unwrap();
    for action in actions {
        let action = cage(6).parse_action(&state, action).unwrap_or_else(|| panic!("{text}: {action}"));
        cage(6).play(&mut state, action);
    }
    state
}

fn outcome_after(text: &str, actions: &[&str]) -> Option<Outcome> {
    cage(6).outcome(&state_after(text, actions))
}

const RED_WINS: Option<Outcome> = Some(Outcome::Win(Player::First));
const BLUE_WINS: Option<Outcome> = Some(Outcome::Win(Player::Second));

/// "Two players, Red first, n x n squares with n even: 10 (the game), 8, 6 and 4 as variants. a1 is the bottom
/// left corner. The board starts full: Red on a1 and on every square of a1's colour, Blue on all others."
#[test]
fn initial_positions() {
    assert_eq!(cage(4).about().player_names(), ["Red", "Blue"]);
    assert_eq!(cage(4).state_text(&cage(4).initial()), "BRBR/RBRB/BRBR/RBRB r - 0");
    for size in [10, 8, 6, 4] {
        let game = cage(size);
        assert_eq!((game.shape().height, game.shape().width), (size, size));
        let state = game.initial();
        assert_eq!(game.to_move(&state), Player::First);
        let view = game.view(&state);
        for (row, cells) in view.cells.iter().enumerate() {
            for (column, cell) in cells.iter().enumerate() {
                let red = (size - 1 - row + column) % 2 == 0;
                assert_eq!(cell, if red { "R" } else { "B" });
            }
        }
        assert_eq!(game.state_text(&state), Slow::initial(size).text());
    }
    let odd = Cage::new(&GameOptions { variant: "7".into(), ..GameOptions::default() });
    assert!(odd.unwrap_err().to_string().contains("unknown variant `7`"));
}

/// "G1 Step. A checker goes to one of its 8 neighbour squares, which is empty"
#[test]
fn g1_neighbour_squares() {
    // at the edge there are fewer neighbors; an occupied one is no target of a step
    assert_eq!(legal("5B/6/6/6/6/R5 r - 9", ""), "a1-a2 a1-b1 a1-b2");
    assert_eq!(legal("5B/6/6/6/1B4/R5 r - 9", ""), "a1-a2 a1-b1");
    // all of these steps adjoin an enemy
    let around = "6/2B3/B3B1/B1R1B1/B3B1/2B3 r - 9";
    assert_eq!(legal(around, ""), "c3-b2 c3-b3 c3-b4 c3-c2 c3-c4 c3-d2 c3-d3 c3-d4");
}

/// "and has nb(to, own) = 0 (restriction 1)", "the moving checker itself never counted"
#[test]
fn g1_restriction_1() {
    // b2 is orthogonally adjacent to c2, b1 only diagonally
    assert_eq!(legal("5B/6/6/6/2R3/R5 r - 9", "a1"), "a1-a2 a1-b1");
    // straight ahead the checker leaves no neighbor behind, but it would become the neighbor of another checker
    assert_eq!(legal("5B/6/6/R5/6/R5 r - 9", "a1"), "a1-b1 a1-b2");
    assert_eq!(legal("5B/6/6/6/6/R1R3 r - 9", "a1"), "a1-a2 a1-b2");
}

/// "and either centering: (2x-n+1)² + (2y-n+1)² gets strictly smaller (x, y from 0),"
#[test]
fn g1_centering() {
    // a4 is as far from the center as a3; b2 is nearer, although its rank is not
    assert_eq!(legal("5B/6/6/R5/6/6 r - 9", ""), "a3-b2 a3-b3 a3-b4");
    assert_eq!(legal("5B/6/6/6/1R4/6 r - 9", ""), "b2-b3 b2-c2 b2-c3");
    assert_eq!(legal("5B/6/6/6/2R3/6 r - 9", ""), "c2-c3 c2-d3");
}

/// "or adjoining: nb(from, enemy) = 0 and nb(to, enemy) > 0, in any direction, outward too;"
#[test]
fn g1_adjoining() {
    assert_eq!(legal("6/6/6/2R3/4B1/6 r - 9", ""), "c3-d2");
    // diagonal contact with an enemy does not count
    assert_eq!(legal("6/6/6/2R3/3B2/6 r - 9", ""), "c3-c2 c3-d3");
    // from one enemy to another is not adjoining
    assert_eq!(legal("6/6/1B4/2R3/2B1B1/6 r - 9", ""), "c3xc1");
}

/// "and never when nb(from, enemy) > 0 and nb(to, enemy) = 0 (restriction 2)."
#[test]
fn g1_restriction_2() {
    // b1 is nearer to the center, but away from a2
    assert_eq!(legal("6/6/6/6/B5/R5 r - 9", ""), "a1-b2 a1xa3");
}

/// "A step is a whole turn."
#[test]
fn g1_a_step_ends_the_turn() {
    // from b2 the checker could jump
    assert_eq!(after("6/6/6/6/2B3/R5 r - 9", &["a1-b2"]), "6/6/6/6/1RB3/6 b - 10");
}

/// "G2 Jump. Over an orthogonally adjacent enemy to the square directly behind it, which must be empty with
/// nb(land, own) = 0 [...], and the enemy is removed at once."
#[test]
fn g2_jump() {
    assert_eq!(legal("5B/6/2B3/1BRB2/2B3/6 r - 9", ""), "c3xa3 c3xc1 c3xc5 c3xe3");
    assert_eq!(legal("5B/6/1B1B2/2R3/1B1B2/6 r - 9", "c3x"), "");
    assert_eq!(after("5B/6/6/2RB2/6/6 r - 9", &["c3xe3"]), "5B/6/6/4R1/6/6 b - 10");
    // the square behind it holds a friend, holds an enemy, is next to a friend
    assert_eq!(legal("5B/6/6/2RBR1/6/6 r - 9", "c3x"), "");
    assert_eq!(legal("5B/6/6/2RBB1/6/6 r - 9", "c3x"), "");
    assert_eq!(legal("5B/6/4R1/2RB2/6/6 r - 9", "c3x"), "");
    // a friend diagonally adjacent to the landing square, or an enemy next to it, does not prevent the jump
    assert_eq!(legal("5B/6/3R2/2RB2/4B1/6 r - 9", "c3x"), "c3xe3");
}

/// "(also at every intermediate landing)"
#[test]
fn g2_restriction_1_at_every_landing() {
    // c1 has no neighbor of its own color, e1 would have one: the chain ends on c1
    let text = "5B/6/6/6/4R1/RB1B2 r - 9";
    assert_eq!(after(text, &["a1xc1"]), "5B/6/6/6/4R1/2RB2 b - 10");
    // without that friend the chain goes on
    assert_eq!(after("5B/6/6/6/6/RB1B2 r - 9", &["a1xc1"]), "5B/6/6/6/6/2RB2 r c1 10");
}

/// "Vacated and captured squares count as empty; a checker may return to where its turn began."
#[test]
fn g2_round_trip() {
    let text = "5B/6/2B3/1B1B2/1RB3/6 r - 9";
    let trip = ["b2xd2", "d2xd4", "d4xb4", "b4xb2"];
    assert_eq!(after(text, &trip[..3]), "5B/6/1R4/1B4/6/6 r b4 12");
    assert_eq!(after(text, &trip), "5B/6/6/6/1R4/6 b - 13");
}

/// "G3 Edge capture. When the square behind the enemy is off the board, both checkers are removed and the
/// turn ends; restriction 1 is not tested."
#[test]
fn g3_edge_capture() {
    assert_eq!(legal("2B3/2R3/6/6/6/6 r - 9", ""), "c5xoff(c6)");
    assert_eq!(after("2B3/2R3/6/6/6/5R r - 9", &["c5xoff(c6)"]), "6/6/6/6/6/5R b - 10");
    for (text, action) in [
        ("5B/6/6/BR4/6/6 r - 9", "b3xoff(a3)"),
        ("5B/6/6/4RB/6/6 r - 9", "e3xoff(f3)"),
        ("5B/6/6/6/3R2/3B2 r - 9", "d2xoff(d1)"),
    ] {
        assert_eq!(after(text, &[action]), "5B/6/6/6/6/6 b - 10");
    }
    // friends beside the captured checker
    assert_eq!(legal("5B/6/R5/BR4/R5/6 r - 9", "b3x"), "b3xoff(a3)");
}

/// "A corner checker can be taken from either neighbour."
#[test]
fn g3_corners() {
    let corners = "B3RB/R5/6/6/5R/BR3B r - 9";
    assert_eq!(legal(corners, "a5x"), "a5xoff(a6)");
    assert_eq!(legal(corners, "b1x"), "b1xoff(a1)");
    assert_eq!(legal(corners, "e6x"), "e6xoff(f6)");
    assert_eq!(legal(corners, "f2x"), "f2xoff(f1)");
    assert_eq!(legal("6/6/6/6/R5/BR4 r - 9", ""), "a2xoff(a1) b1xoff(a1)");
}

/// "G4 After a jump the same player must go on with the same checker while it can jump (edge captures
/// included, even suicidal ones)."
#[test]
fn g4_jumps_go_on() {
    // b4 could jump as well, but must not
    let text = "6/1B4/1R4/RB1B1B/6/6 r - 9";
    assert_eq!(after(text, &["a3xc3"]), "6/1B4/1R4/2RB1B/6/6 r c3 10");
    assert_eq!(legal(&after(text, &["a3xc3"]), ""), "c3xe3");
    // the last jump takes the jumping checker with it
    assert_eq!(legal(&after(text, &["a3xc3", "c3xe3"]), ""), "e3xoff(f3)");
    assert_eq!(after(text, &["a3xc3", "c3xe3", "e3xoff(f3)"]), "6/1B4/1R4/6/6/6 b - 12");
    // at a fork, either way is permitted
    assert_eq!(legal("5B/6/6/2RB2/2B3/6 r c3 9", ""), "c3xc1 c3xe3");
}

/// "To start with a jump is never compulsory."
#[test]
fn g4_no_duty_to_begin() {
    assert_eq!(legal("5B/6/6/1RB3/6/6 r - 9", ""), "b3-c4 b3xd3");
}

/// "Restriction 2 does not apply to jumps."
#[test]
fn g4_restriction_2_is_for_steps() {
    // from a square next to a2 to one without enemies next to it
    assert_eq!(after("5B/6/6/6/B5/RB4 r - 9", &["a1xc1"]), "5B/6/6/6/B5/2R3 b - 10");
}

/// "G5 Pass only when the player to move has no step and no jump at the start of a turn, and then it is the
/// only action."
#[test]
fn g5_pass() {
    let text = "5B/6/6/2R3/6/6 r - 9";
    assert_eq!(legal(text, ""), "pass");
    assert_eq!(after(text, &["pass"]), "5B/6/6/2R3/6/6 b - 10");
    assert!(!legal("5B/6/6/2RB2/6/6 r - 9", "").contains("pass"));
    assert!(!legal("5B/6/6/6/2R3/6 r - 9", "").contains("pass"));
    assert!(!legal("5B/6/6/2RB2/6/6 r c3 9", "").contains("pass"));
    let pass = cage(6).legal(&cage(6).parse_state(text).unwrap());
    assert_eq!(pass, [Action(12 * 36)]);
}

/// "G6 A player without checkers has lost,"
#[test]
fn g6_no_checkers() {
    let jump = "6/6/6/2RB2/6/6 r - 9";
    assert_eq!(outcome_after(jump, &[]), None);
    assert_eq!(outcome_after(jump, &["c3xe3"]), RED_WINS);
    assert_eq!(legal(&after(jump, &["c3xe3"]), ""), "");
    assert_eq!(outcome_after("6/6/6/R1RB1B/6/6 r - 9", &["c3xe3", "e3xoff(f3)"]), RED_WINS);
}

/// "also when it removed its last checker itself while enemies remain."
#[test]
fn g6_suicide() {
    assert_eq!(outcome_after("B5/6/6/BR4/6/6 r - 9", &["b3xoff(a3)"]), BLUE_WINS);
    assert_eq!(outcome_after("R5/6/6/RB4/6/6 b - 9", &["b3xoff(a3)"]), RED_WINS);
}

/// "If the last checkers of both sides go together, the mover wins."
#[test]
fn g6_the_last_two() {
    assert_eq!(outcome_after("6/6/6/BR4/6/6 r - 9", &["b3xoff(a3)"]), RED_WINS);
    assert_eq!(outcome_after("6/6/6/RB4/6/6 b - 9", &["b3xoff(a3)"]), BLUE_WINS);
    // the text tells who won: the player who is not to move
    assert_eq!(after("6/6/6/BR4/6/6 r - 9", &["b3xoff(a3)"]), "6/6/6/6/6/6 b - 10");
    assert_eq!(outcome_after("6/6/6/6/6/6 b - 10", &[]), RED_WINS);
}

/// "There are no draws; a cap of 1,000 actions is a safety net only (counts as a draw, must be loud)."
#[test]
fn g6_cap() {
    assert_eq!(cage(10).max_plies(), 1000);
    let text = "6/6/6/2RB1B/6/R5 r - 999";
    assert_eq!(outcome_after(text, &[]), None);
    assert_eq!(outcome_after(text, &["a1-b2"]), Some(Outcome::Draw));
    assert_eq!(legal(&after(text, &["a1-b2"]), ""), "");
    // the cap also ends a game in the middle of a chain
    assert_eq!(outcome_after(text, &["c3xe3"]), Some(Outcome::Draw));
    assert_eq!(legal(&after(text, &["c3xe3"]), ""), "");
    // the last capture still wins
    assert_eq!(outcome_after("6/6/6/2RB2/6/6 r - 999", &["c3xe3"]), RED_WINS);
}

/// "Action = one jump or one step [...]. Text: step `c3-d4`, jump `c3xc5`, edge capture `b5xoff(a5)`, `pass`."
#[test]
fn action_texts() {
    let game = cage(6);
    let state = game.parse_state("5B/6/6/BRB3/6/6 r - 9").unwrap();
    assert_eq!(actions(&game, &state), BTreeSet::from(["b3-c4", "b3xd3", "b3xoff(a3)"].map(String::from)));
    for text in
        ["", "-", "x", "b3", "b3-", "b3-c5", "b3-a2", "B3-c4", "b3xa3", "b3xoff", "b3xoff(c3)", "b3xoff(a3) "]
    {
        assert_eq!(game.parse_action(&state, text), None, "{text}");
    }
    for text in ["pass", "c3xa3", "b03-c4", "b3-c4-", "f6-e5"] {
        assert_eq!(game.parse_action(&state, text), None, "{text}");
    }
}

/// "A natural policy layout: from-square x (8 step directions + 4 jump directions, off-board included) + pass
/// = 1,201 actions on 10x10."
#[test]
fn policy_layout() {
    assert_eq!([10, 8, 6, 4].map(|size| cage(size).shape().actions), [1201, 769, 433, 193]);
    let game = cage(6);
    let state = game.parse_state("5B/6/6/BRB3/6/6 r - 9").unwrap();
    // a step north-east from b3, then jumps to the east and to the west
    assert_eq!(game.legal(&state), [4 * 36 + 13, 9 * 36 + 13, 11 * 36 + 13].map(Action));
    assert_eq!(game.touched(&state, Action(9 * 36 + 13)), [(3, 1), (3, 2), (3, 3)]);
    assert_eq!(game.touched(&state, Action(11 * 36 + 13)), [(3, 1), (3, 0)]);
    assert_eq!(game.touched(&state, Action(4 * 36 + 13)), [(3, 1), (2, 2)]);
}

/// Swaps Red and Blue.
fn exchanged(text: &str) -> String {
    let exchange = |c: char| match c {
        'R' => 'B',
        'B' => 'R',
        other => other,
    };
    let (board, rest) = text.split_once(' ').unwrap();
    let side = if &rest[..1] == "r" { "b" } else { "r" };
    format!("{} {side}{}", board.chars().map(exchange).collect::<String>(), &rest[1..])
}

/// "Symmetry: the rules commute with all 8 symmetries of the square and the exchange of colours; the start
/// position maps to itself or to the colour-exchanged start."
#[test]
fn symmetries() {
    for size in [10, 8, 6, 4] {
        let game = cage(size);
        let start = game.initial();
        let text = game.state_text(&start);
        let board = |text: &str| text.split(' ').next().unwrap().to_string();
        assert_eq!(game.symmetries(&start), Symmetry::SQUARE);
        let images = Symmetry::SQUARE.map(|s| board(&game.state_text(&game.map_state(s, &start))));
        assert!(images.contains(&board(&exchanged(&text))));
        assert!(images.iter().all(|image| *image == board(&text) || *image == board(&exchanged(&text))));
        // the symmetries of the actions are checked by the conformance test
        check(&game, 20, 7).unwrap();
        for (_, state, _) in random_game(&game, 5) {
            let other = game.parse_state(&exchanged(&game.state_text(&state))).unwrap();
            assert_eq!(game.legal(&other), game.legal(&state));
            assert_eq!(numbers(&game, &other), numbers(&game, &state));
            let winner = game.outcome(&state).map(|outcome| outcome.value_for(Player::First));
            assert_eq!(game.outcome(&other).map(|outcome| outcome.value_for(Player::Second)), winner);
        }
    }
}

/// The positions of a random game with the player who acted last.
fn random_game(game: &Cage, seed: u64) -> Vec<(Player, State, usize)> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let (mut state, mut mover, mut legal) = (game.initial(), Player::Second, Vec::new());
    let mut game_so_far = Vec::new();
    loop {
        game.legal_actions(&state, &mut legal);
        game_so_far.push((mover, state, legal.len()));
        if legal.is_empty() {
            return game_so_far;
        }
        mover = game.to_move(&state);
        game.play(&mut state, legal[random.random_range(0..legal.len())]);
    }
}

/// "uniform random play on 10x10: 147.6 actions a game (78-210), 123 turns, branching 16.3 (max 65), longest
/// chain 16 jumps, 0.31 passes a game, Red wins 49.9 %, 0.5 % of the games end by suicide."
#[test]
fn known_quantities() {
    const GAMES: usize = 3000;
    let game = cage(10);
    let (mut plies, mut turns, mut branching, mut red, mut suicides) = (0, 0, 0.0, 0, 0);
    for seed in 0..GAMES as u64 {
        let positions = random_game(&game, seed);
        let played = positions.len() - 1;
        assert!((70..240).contains(&played), "{played}");
        plies += played;
        let jumping = |state: &State| !game.view(state).note.is_empty();
        turns += positions[..played].iter().filter(|(_, state, _)| !jumping(state)).count();
        let choices: usize = positions.iter().map(|(_, _, legal)| legal).sum();
        branching += choices as f64 / played as f64;
        let (last, end, _) = positions[played];
        let Some(Outcome::Win(winner)) = game.outcome(&end) else { panic!("a draw: seed {seed}") };
        red += (winner == Player::First) as usize;
        suicides += (winner != last) as usize;
    }
    let mean = |sum: usize| sum as f64 / GAMES as f64;
    let found = [mean(plies), mean(turns), branching / GAMES as f64, mean(red), mean(suicides)];
    for (found, (expected, tolerance)) in
        found.iter().zip([(147.6, 1.5), (123.0, 1.5), (16.3, 0.5), (0.499, 0.03), (0.005, 0.004)])
    {
        assert!((found - expected).abs() < tolerance, "{found} is not about {expected}");
    }
}

#[test]
fn a_wrong_text_is_refused_with_the_reason() {
    let game = cage(4);
    let initial = game.state_text(&game.initial());
    let cases = [
        ("", "four fields"),
        ("4/4/4/RB2 r -", "four fields"),
        ("4/4/4/RB2 r - 9 ", "four fields"),
        ("4/4/4/RB2 R - 9", "`r` or `b`, not `R`"),
        ("4/4/4/RB2 w - 9", "`r` or `b`, not `w`"),
        ("4/4/RB2 r - 9", "3 ranks, not 4"),
        ("4/4/4/RB1 r - 9", "rank 1: it has 3 squares"),
        ("4/4/x3/RB2 r - 9", "rank 2: `x` is not a square"),
        ("4/4/4/RB2 r e1 9", "a square or `-`, not `e1`"),
        ("4/4/4/RB2 r  9", "a square or `-`, not ``"),
        ("4/4/4/RB2 r c1 9", "no checker on c1"),
        ("4/4/4/RB2 r b1 9", "no checker on b1"),
        ("4/4/4/RBR1 r a1 9", "a1 cannot jump"),
        ("4/4/4/RB2 r a1 0", "no action has been played"),
        ("4/4/4/RB2 r - 1001", "a number up to 1000, not `1001`"),
        ("4/4/4/RB2 r - 99999999", "a number up to 1000"),
        ("4/4/4/RB2 r - -1", "a number up to 1000"),
        ("4/4/4/RB2 r - +1", "a number up to 1000"),
        ("4/4/4/RB2 r - 01", "a number up to 1000"),
    ];
    for (text, expected) in cases {
        let error = game.parse_state(text).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains(&initial), "{text}: {error}");
    }
}

#[test]
fn any_placement_is_a_position() {
    for text in ["RRRR/BBBB/4/4 b - 0", "4/4/4/4 r - 0", "4/4/4/R3 b - 1000", "4/4/4/RB2 r a1 1"] {
        let state = cage(4).parse_state(text).unwrap();
        assert_eq!(cage(4).state_text(&state), text);
    }
}

/// The planes as the network reads them.
fn numbers(game: &Cage, state: &State) -> Vec<f32> {
    let mut planes = Planes::new(game.shape());
    game.encode(state, &mut planes);
    let mut numbers = vec![f32::NAN; game.shape().input_len()];
    planes.expand(&mut numbers);
    numbers
}

/// For all states of the first plies on the small board, keys are equal exactly if the texts are equal, not counting
/// plies.
#[test]
fn keys_tell_positions_apart_and_nothing_else() {
    let game = cage(4);
    let (mut keys, mut texts, mut transpositions) = (HashMap::new(), HashMap::new(), 0);
    let mut layer = vec![game.initial()];
    for _ in 0..6 {
        let mut next = Vec::new();
        for state in layer {
            let (text, key) = (game.state_text(&state), game.key(&state));
            let text = text.rsplit_once(' ').unwrap().0.to_string();
            assert_eq!(*keys.entry(key).or_insert(text.clone()), text);
            if *texts.entry(text.clone()).or_insert(key) != key {
                panic!("two keys: {text}");
            }
            next.extend(game.legal(&state).into_iter().map(|action| {
                let mut after = state;
                game.play(&mut after, action);
                after
            }));
        }
        let all = next.len();
        next.sort_by_key(|state| game.state_text(state));
        next.dedup();
        transpositions += all - next.len();
        layer = next;
    }
    assert!(keys.len() > 1000 && transpositions > 1000, "{} {transpositions}", keys.len());
}

/// The key contains the side to move and the jumping square always, and the plies from 500 on.
#[test]
fn keys_hold_what_play_depends_on() {
    let game = cage(6);
    let key = |text: &str| game.key(&game.parse_state(text).unwrap());
    let board = "6/6/2B3/1B1B2/1RB3/6";
    let at = |plies: usize| key(&format!("{board} r - {plies}"));
    assert!((0..500).all(|plies| at(plies) == at(0)));
    let late: BTreeSet<u64> = (499..=1000).map(at).collect();
    assert_eq!(late.len(), 502);
    let others = ["r b2 9", "b - 9"].map(|rest| key(&format!("{board} {rest}")));
    let all = BTreeSet::from([at(9), others[0], others[1], key(&exchanged(&format!("{board} r - 9")))]);
    assert_eq!(all.len(), 4);
}

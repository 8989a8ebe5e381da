//! Tests rules that nobody would write. Reading them must give either an error with its place in the text or a game
//! that keeps the contract of [`Game`](crate::game::Game), quickly and without a deep stack.

use super::compile::tests::compare;
use super::*;
use crate::conformance;
use crate::game::Outcome;

const HEAD: &str = "game Odd by me\nboard 3 x 3\npiece man W B\nstart man: a1 | c3\n";
const TAIL: &str = "stuck: draw\nlimit 40: draw\n";

/// Reads a game that has these lines, a 3x3 board with a man for each player, and the ends in [`TAIL`].
fn odd(lines: &str) -> Result<Sized, Problem> {
    read(&format!("{HEAD}{lines}\n{TAIL}"), &Settings::new())
}

fn refused(lines: &str, what: &str) {
    match odd(lines) {
        Err(problem) => assert!(problem.what.contains(what), "{problem}"),
        Ok(_) => panic!("this is a game: {lines:.100}"),
    }
}

fn plays(text: &str) {
    let game = read(text, &Settings::new()).unwrap_or_else(|problem| panic!("{problem}\n{text}"));
    with_game!(game, game => {
        conformance::check(&game, 3, 1).unwrap_or_else(|wrong| panic!("{wrong}\n{text}"));
        compare(&game, 3);
    });
}

/// Returns the legal actions at the start of a game with these lines, in which the first player has two adjacent men.
fn actions(lines: &str) -> Vec<String> {
    let text = format!("{}{lines}\n{TAIL}", HEAD.replace("a1 |", "a1 a2 |"));
    let game = read(&text, &Settings::new()).unwrap_or_else(|problem| panic!("{problem}"));
    with_game!(game, game => {
        let start = game.initial();
        game.legal(&start).into_iter().map(|action| game.action_text(&start, action)).collect()
    })
}

#[test]
fn chains_are_bounded() {
    let work = || {
        let line = |begin: &str, link: &str, count: usize| format!("{begin}{}", link.repeat(count));
        let too_many = "too many parts";
        refused(&line("action place man to empty", " or empty", 4000), too_many);
        refused(&line("action place man to empty", " and empty", 4000), too_many);
        refused(&line("action place man to empty", " enclosed by own", 3500), too_many);
        refused(&line("action place man to empty, if any own", " and any own", 4500), too_many);
        refused(&line("action place man to empty, if any own", " or any own", 4500), too_many);
        refused(&line("action place man to empty, if count own", " + 1", 4500), too_many);
        refused(&line("action place man to empty", ", if any empty", 4000), "at most 24 clauses");
        refused(&line("action place man to ", "not ", 4000), "nested too deeply");
        refused(&line("action place man to ", "( ", 4000), "nested too deeply");
        refused(&line("action place man to empty\n", "end no own: win\n", 4000), "more than 64 ends");
        refused(&line("", "action place man to empty\n", 1500), "more than 40 actions");
        // the longest permitted line
        let longest = line("action place man to empty", " or empty", 200);
        assert!(odd(&longest).is_ok());
    };
    // the threads of a server have smaller stacks than the main thread
    std::thread::Builder::new().stack_size(1 << 20).spawn(work).unwrap().join().unwrap();
}

#[test]
fn sets_that_name_each_other_take_no_time() {
    let doubled = |count: usize| {
        let next = |at: usize| format!("set s-{at} = s-{} or s-{}\n", at - 1, at - 1);
        let sets: String = (1..count).map(next).collect();
        format!("set s-0 = own or row 1\n{sets}action place man to empty and not s-{}", count - 1)
    };
    assert!(odd(&doubled(20)).is_ok());
    refused(&doubled(30), "more than 20 sets");
}

#[test]
fn more_sets_than_are_kept_are_found_again() {
    let directions = ["north", "east", "south", "west"];
    let end = |at: usize| {
        let (row, direction) = (2 + at % 5, directions[at / 5 % 4]);
        format!("end count (group of (own and row {row}) in own {direction}) = {}: win\n", 30 + at)
    };
    let ends: String = (0..60).map(end).collect();
    let start = "game Odd by me\nboard 6 x 6\npiece man W B\nstart man: row 1 | row 6\n";
    plays(&format!("{start}action step man any direction to empty\n{ends}{TAIL}"));
}

#[test]
fn what_does_not_fit_together_is_refused() {
    refused("action place man to board, exchange", "`exchange` needs a piece that moves");
    refused("set low = row 1\nhole b2", "holes must come before the lines `start`");
    refused("state on x", "`on` is a word of the language");
    refused("state left x", "`left` is a word of the language");
    refused("action place man to empty\nend any moved: win", "`moved` has no meaning in an end");
    let no_stuck = format!(
        "{HEAD}action step man any direction to empty\naction pass, require count own = 5\nlimit 9: draw\n"
    );
    let problem = read(&no_stuck, &Settings::new()).unwrap_err();
    assert!(problem.what.contains("what happens to a player without an action"), "{problem}");
}

#[test]
fn long_steps_and_long_waits_keep_the_contract() {
    plays(&format!("{HEAD}action leap man 20 20 1 2 to empty\n{TAIL}"));
    plays(&format!("{HEAD}action place man to empty\nend line of 20 own: win\n{TAIL}"));
    plays(
        "game Odd by me\nboard 26 x 15\npiece man W B\nstart man: a1 | c3\naction leap man 20 20 1 0 to empty\nstuck: \
            draw\nlimit 20: draw\n",
    );
    plays("game Odd by me\nboard 2 x 2\npiece man W B\nstart man: a1 | b2\naction pass\nlimit 300: draw\n");
}

#[test]
fn conditions_do_not_depend_on_where_a_piece_would_go() {
    // in conditions, the man on a2 is a neighbor of a1, although it is not a neighbor of the target of the man on a1
    let to = "action step man north to empty and (next to own or board)";
    for (joined, apart) in [
        ("if from board and to board", "if from board, if to board"),
        ("if any (next to own and a2) and to board", "if any (next to own and a2), if to board"),
        ("if from next to all and to board", "if from next to all, if to board"),
    ] {
        assert_eq!(actions(&format!("{to}, {joined}")), actions(&format!("{to}, {apart}")), "{joined}");
    }
    assert_eq!(actions(&format!("{to}, if from next to own and to board")), ["a2-a3"]);
}

#[test]
fn positions_repeat_though_marks_come_and_go() {
    let lines = "state trail x\naction step man vertically to empty, mark trail at from\n\
                 action step man sideways to empty, unmark trail at board\nrepetition 2: draw";
    let game = odd(lines).unwrap();
    with_game!(game, game => {
        let mut state = game.initial();
        for action in ["a1-a2", "c3-b3", "a2-a1", "b3-c3"] {
            assert_eq!(game.outcome(&state), None);
            let action = game.parse_action(&state, action).unwrap();
            game.play(&mut state, action);
        }
        assert_eq!(game.outcome(&state), Some(Outcome::Draw));
    });
    plays(&format!("{HEAD}action step man orthogonally to empty\nrepetition 3: draw\n{TAIL}"));
    plays(&format!("{HEAD}action step man orthogonally to empty\nrepetition 2: draw\n{TAIL}"));
}

#[test]
fn explanations_are_those_of_the_rules() {
    let text = "game Again by me\nboard 5 x 5\npiece man W B\nstart man: a1 | a2 a4 e5\n\
                action hop man orthogonally over enemy to empty, capture, again\n\
                otherwise action step man orthogonally to empty\nend stuck enemy: win\nstuck: draw\nlimit 100: draw\n";
    let game = read(text, &Settings::new()).unwrap();
    let says = |position: Option<&str>| {
        let lines = game.explained(position).unwrap();
        lines.into_iter().map(|line| (line.line, line.says)).collect::<Vec<_>>()
    };
    let said = |line: usize, says: &str| (line, says.to_string());
    let superseded = said(6, "nothing: a line above already allows an action");
    assert_eq!(says(None), [said(5, "1 action"), superseded, said(7, "does not hold")]);
    let on = says(Some("4B/B4/W4/5/5 w on=a3 1"));
    assert_eq!(
        on,
        [
            said(5, "1 action"),
            said(6, "nothing: a piece must continue by another line"),
            said(7, "does not hold")
        ]
    );
}

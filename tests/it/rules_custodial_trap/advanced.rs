//! The phases of the advanced variant, sentence by sentence.

use super::*;

/// "place: A puts men of either color on inner squares in ascending order b2, c2 .. g2, b3 .. g7 (so every
/// set-up has exactly one path): `W@sq`, `B@sq`. With at least one man on the board A may end it by naming
/// who begins: `first:w`, `first:b`."
#[test]
fn advanced_place() {
    let game = advanced();
    let initial = game.initial();
    assert_eq!(actions(&game, &initial).len(), 72);
    assert_eq!((having(&game, &initial, ":"), game.to_move(&initial)), (String::new(), Player::First));
    let state = play(&game, &initial, "W@c2 B@f7");
    assert_eq!(words(&actions(&game, &state)), "B@g7 W@g7 first:b first:w");
    assert_eq!(game.to_move(&state), Player::First);
    assert_eq!(game.state_text(&state), "advanced 8/5b2/8/8/8/8/2w5/8 A 17/17 0 2 place:f7 - -");
    assert_eq!(marked(&game, &state, 24), "g7");
    // there are no more than 18 men of a color
    let all: String = (0..18).map(|at| format!("W@{}{} ", (b'b' + at % 6) as char, at / 6 + 2)).collect();
    let state = play(&game, &initial, &all);
    assert_eq!(having(&game, &state, "W@"), "");
    assert_eq!(actions(&game, &state).len(), 18 + 2);
}

/// "choose: B: `pick:w`, `pick:b`, or lift all men of one color to rearrange them: `re:w`, `re:b`. With all
/// 36 inner squares occupied B may also lift one half of the board: `re:s` (ranks 2-4), `re:n` (ranks 5-7)."
#[test]
fn advanced_choose() {
    let game = advanced();
    let state = play(&game, &game.initial(), "W@c2 B@f7 first:b");
    assert_eq!(words(&actions(&game, &state)), "pick:b pick:w re:b re:w");
    assert_eq!(game.to_move(&state), Player::Second);
    assert_eq!(game.state_text(&state), "advanced 8/5b2/8/8/8/8/2w5/8 B 17/17 0 3 choose b -");
    let lifted = play(&game, &state, "re:b");
    assert_eq!(game.state_text(&lifted), "advanced 8/8/8/8/8/8/2w5/8 B 17/18 0 4 re-b:- b -");
    let picked = play(&game, &state, "pick:w");
    assert_eq!(game.state_text(&picked), "advanced 8/5b2/8/8/8/8/2w5/8 b 17/17 0 4 play b b");
    // A has Black, which begins
    assert_eq!(game.to_move(&picked), Player::First);
    assert!(game.view(&picked).note.contains("A has Black, B has White"), "{}", game.view(&picked).note);
    let full = game.parse_state(FULL).unwrap();
    assert_eq!(words(&actions(&game, &full)), "pick:b pick:w re:b re:n re:s re:w");
    let south = play(&game, &full, "re:s");
    let text = "advanced 8/1bwbwbw1/1wbwbwb1/1bwbwbw1/8/8/8/8 B 9/9 0 38 re-s:- w -";
    assert_eq!(game.state_text(&south), text);
}

const FULL: &str = "advanced 8/1bwbwbw1/1wbwbwb1/1bwbwbw1/1wbwbwb1/1bwbwbw1/1wbwbwb1/8 B 0/0 0 37 choose w -";

/// "re-*: B puts lifted men back on empty inner squares in ascending order; `done` (at least one man on the
/// board; for s and n always) leaves the rest in reserve."
#[test]
fn advanced_rearrange() {
    let game = advanced();
    let full = game.parse_state(FULL).unwrap();
    let state = play(&game, &full, "re:n B@b5 B@e7");
    assert_eq!(words(&actions(&game, &state)), "B@f7 B@g7 W@f7 W@g7 done");
    assert_eq!(game.to_move(&state), Player::Second);
    let done = play(&game, &full, "re:s done");
    assert!(game.state_text(&done).ends_with(" A 9/9 0 39 pick w -"));
    // only one color is put back; the men that were in reserve may be put as well
    let state = play(&game, &game.initial(), "W@c2 B@f7 first:b re:w");
    assert_eq!(actions(&game, &state).len(), 35 + 1);
    assert_eq!(having(&game, &state, "B@"), "");
    let state = play(&game, &state, "W@b2 W@c2 done");
    assert_eq!(game.state_text(&state), "advanced 8/5b2/8/8/8/8/1ww5/8 A 16/17 0 7 pick b -");
    // with no man on the board, it cannot be done yet
    let state = play(&game, &game.initial(), "W@c2 first:b re:w");
    assert_eq!((having(&game, &state, "done"), actions(&game, &state).len()), (String::new(), 36));
    assert_eq!(having(&game, &play(&game, &state, "W@g7"), ""), "done");
}

/// "pick: A picks a color: `pick:w`, `pick:b`." "play: the color named by A begins. The repetition list
/// starts here."
#[test]
fn advanced_pick_and_play() {
    let game = advanced();
    let state = play(&game, &game.initial(), "W@c2 B@f7 first:b re:w W@b2 done");
    assert_eq!(words(&actions(&game, &state)), "pick:b pick:w");
    assert_eq!(game.to_move(&state), Player::First);
    for (pick, a, begins) in [("pick:w", "w", Player::Second), ("pick:b", "b", Player::First)] {
        let state = play(&game, &state, pick);
        assert!(game.state_text(&state).ends_with(&format!(" b 17/17 0 7 play b {a}")));
        assert_eq!(game.to_move(&state), begins);
        assert!(game.symmetries(&state).len() == 8 && having(&game, &state, "@").len() > 100);
        let state = play(&game, &state, "f7-f8 b2-b1 f8-f7 b1-b2 f7-f8 b2-b1 f8-f7 b1-b2");
        assert_eq!(game.outcome(&state), Some(Outcome::Draw));
    }
}

/// "outcomes are for A and B."
#[test]
fn advanced_outcomes() {
    for (a, winner) in [("w", WHITE_WINS), ("b", BLACK_WINS)] {
        let text = format!("advanced 8/8/b1bbbbbb/8/8/8/wwwwwww1/8 b 0/0 0 60 play w {a}");
        assert_eq!(outcome(&text), winner);
    }
    // a set-up can end the game: White's 18 men are one group
    let game = advanced();
    let all: String = (0..18).map(|at| format!("W@{}{} ", (b'b' + at % 6) as char, at / 6 + 2)).collect();
    let state = play(&game, &game.initial(), &format!("{all} B@g7 first:b pick:b"));
    assert_eq!(game.outcome(&state), WHITE_WINS);
}

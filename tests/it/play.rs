//! `petteia play` and `petteia replay`: games on a board, as a person or a program sees them.

use std::fs;

use crate::support::command::{err, fails, json_lines, out, petteia, succeeds};

#[test]
fn play_is_a_conversation() {
    let output = succeeds(
        &["play", "tic-tac-toe", "--opponent", "rollout:200"],
        "hint\nundo\nb2\nundo\nz9\nb2\nlegal\nquit\n",
    );
    let text = out(&output);
    for part in [
        "You are X",
        "hint: ",
        "value",
        "there is nothing to take back",
        "[X]",
        "O plays",
        "`z9` is not legal",
    ] {
        assert!(text.contains(part), "no `{part}` in:\n{text}");
    }
}

/// Whatever a person types, the program must not panic.
#[test]
fn play_goes_on_after_bytes_that_are_no_text() {
    let arguments = ["play", "tic-tac-toe", "--opponent", "rollout:20"];
    let output = succeeds(&arguments, b"\xff\x1b[2J\nb2\nquit\n");
    let text = out(&output);
    assert!(
        text.contains("is not legal here") && text.contains("O plays") && !text.contains('\u{1b}'),
        "{text}"
    );
}

#[test]
fn another_game_begins_with_the_sides_exchanged() {
    let squares = "a1 b1 c1 a2 b2 c2 a3 b3 c3".replace(' ', "\n");
    let input = format!("{squares}\n{squares}\nnonsense\nagain\nmoves\nquit\n");
    let text = out(&succeeds(&["play", "tic-tac-toe", "--opponent", "random", "--seed", "1"], input));
    assert!(
        text.contains("the game is over. Type again (a new game with sides swapped), undo, review"),
        "{text}"
    );
    let (_, again) = text.split_once("A new game. You are O.").expect("the other side");
    assert!(again.contains("X plays "), "{again}");
    // only the opponent's action in the new game is shown, no actions from the first game
    assert_eq!(again.matches(" plays ").count(), 1, "{again}");
}

#[test]
fn play_takes_names_in_any_case() {
    let play = |game: &str, more: &[&str], input: &str| {
        out(&succeeds(&[&["play", game, "--opponent", "random"], more].concat(), input))
    };
    for (side, said) in [("SECOND", "You are O."), ("x", "You are X."), ("o", "You are O.")] {
        let text = play("tic-tac-toe", &["--side", side], "Quit\n");
        assert!(text.contains(said), "{side}: {text}");
    }
    let side = ["play", "phage", "--opponent", "random", "--side", "red"];
    fails(&side, 2, &["--side red: the sides of Phage are first (White) and second (Black)"]);
    let text = play("tic-tac-toe", &[], "B2\nUNDO\nlegal\n");
    assert!(text.contains("[X]") && text.contains("back at ply 0"), "{text}");
    // the list is printed once, and not again when the next line is read
    assert!(text.ends_with("your actions: a1 b1 c1 a2 b2 c2 a3 b3 c3\n"), "{text}");
    assert_eq!(text.matches("your actions: a1 b1 c1 a2 b2 c2").count(), 3, "{text}");
}

/// Cage has no draws: "a cap of 1,000 actions is a safety net only (counts as a draw, must be loud)".
#[test]
fn a_game_cut_short_is_loud() {
    let last = ["--position", "5B/6/6/2R3/6/6 r - 999"];
    let output = succeeds(&[&["play", "cage-6", "--opponent", "random"][..], &last].concat(), "pass\nquit\n");
    assert!(
        out(&output).contains("a draw, although Cage has no draws, because the limit of 1000 actions"),
        "{}",
        out(&output)
    );
}

#[test]
fn replay_prints_every_position() {
    let lines = json_lines(&succeeds(&["replay", "tic-tac-toe"], "a1 b1\n a2\tb2 a3"));
    assert_eq!(lines.len(), 6);
    assert_eq!(lines[0]["legal"].as_array().unwrap().len(), 9);
    assert_eq!((lines[1]["ply"].as_u64(), lines[1]["to_move"].as_str()), (Some(1), Some("second")));
    assert_eq!(
        (lines[5]["outcome"].as_str(), lines[5]["legal"].as_array().unwrap().len()),
        (Some("first"), 0)
    );
    assert!(lines[..5].iter().all(|line| line["outcome"].is_null()));
    let lines = json_lines(&succeeds(&["replay", "connect-four", "--position", "4455"], "3"));
    assert_eq!(lines[1]["position"], "44553");
}

#[test]
fn replay_keeps_its_output_when_an_action_is_illegal() {
    let output = petteia(&["replay", "connect-four"], "4 4 9 4");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(json_lines(&output).len(), 3);
    assert!(err(&output).contains("ply 2") && err(&output).contains("`9`"), "{}", err(&output));
}

fn played(arguments: &[&str], input: &str) -> String {
    let ended = petteia(arguments, input);
    assert!(ended.status.success(), "{}", err(&ended));
    out(&ended)
}

#[test]
fn a_game_is_saved_and_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let [file, other] = ["game.json", "other.json"].map(|name| folder.path().join(name));
    let (file, other) = (file.to_str().unwrap(), other.to_str().unwrap());
    let arguments = ["play", "tic-tac-toe", "--opponent", "rollout:50"];
    let first = played(&arguments, &format!("b2\nposition\nmoves\nsave {file}\nsave {file}\nquit\n"));
    assert!(first.contains(&format!("saved in {file}")) && first.contains("already exists"), "{first}");
    let moves = first.lines().find(|line| line.starts_with("b2 ")).expect("two actions");
    let second = played(&arguments, &format!("load {file}\nmoves\nquit\n"));
    assert!(second.lines().any(|line| line == moves), "{second}");
    // if a file cannot be loaded, the game stays as it is
    fs::write(other, "{}").unwrap();
    let kept = played(&arguments, &format!("load {file}\nload {other}\nload nowhere\nmoves\nquit\n"));
    assert!(kept.contains("it is not a saved game") && kept.lines().any(|line| line == moves), "{kept}");
    let foreign = played(&["play", "connect-four", "--opponent", "random"], &format!("load {file}\nquit\n"));
    assert!(foreign.contains("it is a game of tic-tac-toe, not of connect-four"), "{foreign}");
    let cheated = fs::read_to_string(file).unwrap().replace("b2", "b9");
    fs::write(other, cheated).unwrap();
    assert!(played(&arguments, &format!("load {other}\nquit\n")).contains("b9"));
}

#[test]
fn who_resigns_has_lost_and_a_review_names_what_was_better() {
    let given_up = played(&["play", "phage", "--opponent", "random", "--side", "black"], "resign\n");
    assert!(given_up.contains("Black resigns: White wins"), "{given_up}");
    let review = played(&["play", "connect-four", "--opponent", "rollout:3000"], "1\n1\n1\nreview\nquit\n");
    assert!(review.contains(" goes from ") || review.contains("no action lost much"), "{review}");
    let random = played(&["play", "connect-four", "--opponent", "random"], "1\nreview\nquit\n");
    assert!(random.contains("does not search, so it cannot review"), "{random}");
}

#[test]
fn an_illegal_action_says_why_where_the_rules_know() {
    let says = |game: &str, more: &[&str], input: &str, why: &str| {
        let shown = played(&[&["play", game, "--opponent", "random"], more].concat(), input);
        assert!(shown.contains(why), "{game}: {shown}");
    };
    says("tic-tac-toe", &["--position", "..O/.X./... X"], "b2\n", "`b2` is not legal here: b2 is taken");
    says("connect-four", &["--position", "444444"], "4\n", "column 4 is full");
    says("phage", &[], "a2-a3\n", "White has no piece on a2");
    says("phage", &[], "e3-e5\n", "the square cannot slide there over open squares");
    says("phage", &[], "g4-e3\n", "e3 is not open");
    let trapped = "intro 8/1wwwwww1/8/8/2bwb3/8/1bbbbb2/8 w 0/0 0 0 play - -";
    says("custodial-trap-intro", &["--position", trapped], "d4-d5\n", "the man on d4 is trapped");
    says("custodial-trap-intro", &[], "a1-a2\n", "White has no man on a1");
    // and the terminal marks the trapped man
    let shown = played(&["replay", "custodial-trap-intro", "--board", "--position", trapped], "");
    assert!(shown.contains(" w'"), "{shown}");
}

#[test]
fn two_agents_play_before_ones_eyes() {
    let arguments = ["play", "tic-tac-toe", "--opponent", "rollout:200", "--watch", "rollout:100"];
    let seeded = |seed: &str| played(&[&arguments[..], &["--seed", seed]].concat(), "");
    let shown = seeded("1");
    assert_eq!(shown, seeded("1"), "the same seed, the same game");
    assert!((2..12).any(|seed| seeded(&seed.to_string()) != shown), "replies vary");
    assert!(played(&arguments, "").matches(" plays ").count() >= 5);
    assert!(shown.matches(" plays ").count() >= 5, "{shown}");
    let last = shown.trim_end().lines().last().unwrap();
    assert!(last.contains("wins") || last.contains("draw"), "{last}");
}

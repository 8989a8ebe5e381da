//! `petteia play` and `petteia replay`: games on a board, as a person or a program meets them.

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

/// A keyboard can send anything.
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
    assert!(text.contains("[X]") && text.contains("taken back to ply 0"), "{text}");
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
        out(&output).contains("a draw, although Cage has no draws: the limit of 1000 actions"),
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

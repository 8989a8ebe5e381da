//! Rules as a text, from a file to a trained agent that carries them.

use std::fs;
use std::path::Path;

use crate::support::command::{elsewhere, err, fails, out, run, succeeds};
use crate::support::runs::text;

/// Tic-tac-toe on four columns.
const WIDE: &str = "\
game Wide Toe by nobody
about Three in a row win, on a board of three rows and four columns.
option width = 4 from 3 to 5
board width x 3
players X, O
piece mark X O
action place mark to empty
end line of 3 own: win
stuck: draw
limit 15: draw
";

const SETTINGS: [&str; 16] = [
    "--set",
    "train.generations=1",
    "--set",
    "selfplay.games=8",
    "--set",
    "net={filters=8,blocks=1,value_hidden=16}",
    "--set",
    "search.simulations=8",
    "--set",
    "arena.final_games=2",
    "--set",
    "arena.games=2",
    "--set",
    "train.batch=16",
    "--set",
    "arena.simulations=8",
];

fn written(folder: &Path, content: &str) -> String {
    let path = folder.join("wide.game");
    fs::write(&path, content).unwrap();
    text(&path).to_string()
}

#[test]
fn a_text_is_a_game_for_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let game = written(folder.path(), WIDE);
    let checked = out(&succeeds(&["check-game", &game, "--games", "20"], ""));
    assert!(checked.contains("wide-toe"), "{checked}");
    let rules = out(&succeeds(&["rules", &game], ""));
    assert!(rules.contains("Three in a row win") && rules.contains("action place mark to empty"), "{rules}");
    let played = out(&succeeds(&["play", &game, "--opponent", "random"], "b2\nresign\n"));
    assert!(played.contains("Wide Toe"), "{played}");
    succeeds(&["arena", &game, "random", "rollout:10", "--games", "2"], "");
    succeeds(&["solve", &game], "");
    // a board of five columns is a different game
    for set in ["game.width=5", "width=5"] {
        let five = out(&succeeds(&["solve", &game, "--set", set, "--json"], ""));
        assert!(five.contains("\"value\":1"), "{five}");
    }
    fails(
        &["solve", &game, "--set", "game.width=9"],
        2,
        &["width = 9 is not permitted: use a whole number from 3 to 5"],
    );
}

#[test]
fn a_run_and_its_bot_carry_the_text() {
    let folder = tempfile::tempdir().unwrap();
    let game = written(folder.path(), WIDE);
    let at = |name: &str| text(&folder.path().join(name)).to_string();
    let (trained, bot) = (at("run"), at("bot"));
    succeeds(&[&["train", &game, "--run", &trained][..], &SETTINGS].concat(), "");
    // the file is no longer needed, and another text in its place changes nothing
    fs::write(&game, WIDE.replace("line of 3 own: win", "line of 3 own: loss")).unwrap();
    succeeds(&["inspect", &trained], "");
    succeeds(&["records", &trained, "verify"], "");
    succeeds(&["train", "--run", &trained, "--generations", "2"], "");
    succeeds(&["arena", &trained, "random", "--games", "2"], "");
    let records = out(&succeeds(&["records", &trained, "convert", "--format", "jsonl"], ""));
    let has = |part: &str| records.lines().all(|record| record.contains(part));
    assert!(
        has("sha256:") && !records.contains("place mark"),
        "records have the checksum of the text: {records}"
    );
    succeeds(&["export", &trained, "--format", "bot", "--out", &bot], "");
    let said = run(&bot, &["play", "--side", "second"], "resign\n");
    assert!(said.status.success(), "{}{}", out(&said), err(&said));
    // the other text is a different game
    let refused = ["arena", &game, &trained, "random", "--games", "2"];
    fails(&refused, 1, &["text = sha256:"]);
}

#[test]
fn what_is_wrong_with_a_text_is_said_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let cases = [
        (
            "action place",
            "action plase",
            "line 7, column 8: place, drop, step, slide, hop, leap, swap or pass is expected",
        ),
        ("to empty", "to emty", "line 7, column 22: `emty` is not a set of squares; did you mean `empty`?"),
        ("limit 15: draw\n", "", "a line that begins with `limit` is missing, so that every game ends"),
        ("stuck: draw\n", "", "what happens to a player without an action"),
        ("width x 3", "width x 300", "line 4, column 15: a whole number from 1 to 26 is expected, not `300`"),
        ("piece mark X O", "piece mark X X", "the letters must differ"),
        (
            "action place mark to empty",
            "phase one\naction place mark to empty, then two\nphase two\naction place mark to empty",
            "line 8, column 1: no action leaves the phase `two`, so the other player would begin there: add `phase \
                one`",
        ),
        (
            "action place mark to empty",
            "action step mark any direction to empty, again may",
            "a piece that may continue may also stop, so the phase needs a line `otherwise pass`",
        ),
    ];
    for (from, to, expected) in cases {
        let game = written(folder.path(), &WIDE.replace(from, to));
        fails(&["check-game", &game], 2, &["wide.game", expected]);
    }
}

#[test]
fn texts_that_come_with_the_program_have_their_names() {
    let played = out(&succeeds(&["play", "othello", "--opponent", "random"], "d3\nresign\n"));
    assert!(played.contains("Othello"), "{played}");
    for file in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("rules")).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_string();
        let checked = out(&succeeds(&["rules", text(&path)], ""));
        assert!(!checked.is_empty(), "{name}");
    }
    fails(&["play", "otello"], 2, &["did you mean `othello`?"]);
}

#[test]
fn a_new_text_plays_and_is_explained() {
    let folder = tempfile::tempdir().unwrap();
    let here = |args: &[&str]| elsewhere(folder.path(), args, "");
    let made = here(&["new", "--text", "my-game"]);
    assert!(out(&made).contains("play my-game.game"), "{}", err(&made));
    let written = fs::read_to_string(folder.path().join("my-game.game")).unwrap();
    assert_eq!((written.lines().count(), written.matches('#').count()), (14, 8));
    let again = here(&["new", "--text", "my-game"]);
    assert!(
        !again.status.success() && err(&again).contains("my-game.game already exists"),
        "{}",
        err(&again)
    );
    let checked = here(&["check-game", "my-game.game", "--games", "20"]);
    assert!(checked.status.success(), "{}", err(&checked));
    let explained = out(&here(&["explain", "my-game.game"]));
    let expected =
        "  9  action step pawn forward to empty\n     6 actions: a2-a3 b2-b3 c2-c3 d2-d3 e2-e3 f2-f3\n";
    assert!(explained.contains(expected), "{explained}");
    assert!(explained.contains("      3 *. *. *. *. *. *.\n"), "{explained}");
    assert!(
        explained
            .contains(" 10  action step pawn forward-left forward-right to enemy, capture\n     nothing\n")
    );
    // the meaning of every line about actions and endings, as JSON, in another position
    let position = "6/W5/6/5B/6/6 w 9";
    let lines = out(&here(&["explain", "my-game.game", "--position", position, "--json"]));
    let lines: Vec<serde_json::Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.iter().map(|line| line["line"].as_u64().unwrap()).collect::<Vec<_>>(), [9, 10, 11, 12]);
    assert_eq!(
        (&lines[0]["actions"], &lines[0]["squares"]),
        (&serde_json::json!(["a5-a6"]), &serde_json::json!(["a6"]))
    );
    assert_eq!(lines[2]["says"], "does not hold");
    fails(&["explain", "phage"], 2, &["phage is written in Rust"]);
}

#[test]
fn a_checksum_in_place_of_a_text_is_refused() {
    // a checksum is cut between letters, whatever they are
    let setting = "game.text=\"sha256:aéééééé\"";
    fails(
        &["play", "othello", "--set", setting],
        2,
        &["a text that this program does not have (sha256:aéééééé)"],
    );
}

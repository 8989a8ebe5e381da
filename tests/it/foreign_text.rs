//! Texts written by other programs: with a byte order mark, or in UTF-16.

use std::fs;
use std::path::Path;

use crate::support::command::{err, out, petteia};

const MARK: &str = "\u{feff}";

/// The text as Notepad and PowerShell 5 save it.
fn in_utf_16(text: &str) -> Vec<u8> {
    MARK.encode_utf16().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
}

/// A program for the arena that speaks UGI through `petteia`, with a byte order mark before its first line.
#[cfg(unix)]
fn marking_engine(folder: &Path) -> String {
    let script = folder.join("engine.sh");
    let program = crate::support::command::PETTEIA;
    let text = format!("printf '\\357\\273\\277'\nexec '{program}' engine tic-tac-toe --agent rollout:5\n");
    fs::write(&script, text).unwrap();
    format!("ugi:sh '{}'", script.display())
}

#[test]
fn a_byte_order_mark_is_skipped_in_every_text() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, format!("{MARK}{text}")).unwrap();
        path.display().to_string()
    };
    // positions and actions
    let output = petteia(&["analyze", "tic-tac-toe", "--agent", "uniform:2"], format!("{MARK}startpos\n"));
    assert!(output.status.success() && out(&output).contains("\"action\""), "{}", err(&output));
    let output = petteia(&["replay", "tic-tac-toe"], format!("{MARK}b2 a1\n{MARK}c3\n"));
    assert!(output.status.success() && out(&output).lines().count() == 4, "{}", err(&output));
    // protocols
    for (protocol, input, expected) in
        [("ugi", "isready", "readyok"), ("gtp", "protocol_version", "= 2"), ("codecup", "start", "")]
    {
        let arguments = ["engine", "tic-tac-toe", "--agent", "uniform:2", "--protocol", protocol];
        let output = petteia(&arguments, format!("{MARK}{input}\n"));
        let first = out(&output).lines().next().unwrap_or_default().to_string();
        assert!(first.starts_with(expected) && !first.is_empty(), "{protocol}: {first} {}", err(&output));
    }
    // lines that a person types, and a saved game
    let saved =
        r#"{"format":1,"game":"tic-tac-toe","options":{},"start":".../.../... X","actions":["b2","A1"]}"#;
    let input = format!("{MARK}b2\nload {}\nmoves\nquit\n", file("game.json", saved));
    let output = petteia(&["play", "tic-tac-toe", "--opponent", "random", "--side", "first"], input);
    assert!(out(&output).contains("b2 a1"), "{} {}", out(&output), err(&output));
    assert!(
        !out(&output).contains("not legal") && !out(&output).contains("not a saved game"),
        "{}",
        out(&output)
    );
    // a match
    let matched = folder.path().join("match.jsonl").display().to_string();
    let arguments = ["arena", "tic-tac-toe", "random", "random", "--games", "2", "--save", &matched];
    assert!(petteia(&arguments, "").status.success());
    file("match.jsonl", &fs::read_to_string(&matched).unwrap());
    let output = petteia(&arguments, "");
    assert!(output.status.success(), "{}", err(&output));
    // settings
    let config = file("config.toml", "game.id = 'tic-tac-toe'\ntrain.generations = 'many'\n");
    let output = petteia(&["train", &config], "");
    assert!(err(&output).contains("train.generations"), "the setting is read: {}", err(&output));
    // an engine
    #[cfg(unix)]
    {
        let engine = marking_engine(folder.path());
        let output = petteia(&["arena", "tic-tac-toe", &engine, "random", "--games", "2"], "");
        assert!(output.status.success(), "{}", err(&output));
    }
}

#[test]
fn utf_16_is_named_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, in_utf_16(text)).unwrap();
        path.display().to_string()
    };
    let config = file("config.toml", "game.id = 'tic-tac-toe'\n");
    let matched = file("match.jsonl", "{\"format\":1}\n");
    let game = file("game.json", "{\"format\":1}");
    let typed = format!("load {game}\nquit\n");
    let text = in_utf_16("startpos\n");
    for (arguments, input) in [
        (&["train", &config][..], &b""[..]),
        (&["analyze", "tic-tac-toe", "--agent", "uniform:2"], &text),
        (&["replay", "tic-tac-toe"], &text),
        (&["play", "tic-tac-toe", "--opponent", "random"], &text),
        (&["play", "tic-tac-toe", "--opponent", "random"], typed.as_bytes()),
        (&["engine", "tic-tac-toe", "--agent", "uniform:2"], &text),
        (&["engine", "tic-tac-toe", "--agent", "uniform:2", "--gtp"], &text),
        (&["engine", "tic-tac-toe", "--agent", "uniform:2", "--codecup"], &text),
        (&["arena", "tic-tac-toe", "random", "random", "--games", "2", "--save", &matched], b""),
    ] {
        let output = petteia(arguments, input);
        let said = format!("{}{}", out(&output), err(&output));
        assert!(said.contains("UTF-16: save it as UTF-8"), "{arguments:?}: {said}");
    }
}

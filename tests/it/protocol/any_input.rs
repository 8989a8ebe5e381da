//! Whatever numbers and lines a program sends, a protocol answers.

use std::time::Duration;

use petteia::games::tic_tac_toe::TicTacToe;
use petteia::protocol::Protocol;
use petteia::protocol::codecup::Codecup;
use petteia::protocol::gtp::Gtp;
use petteia::protocol::ugi::Ugi;
use proptest::prelude::*;

use super::{Talk, game, ugi};

/// Numbers as a careless program might write them, including the extremes of every type.
fn number_text() -> impl Strategy<Value = String> {
    const EXTREMES: &[&str] = &[
        "0",
        "-0",
        "-1",
        "1e19",
        "1.8446744073709552e19",
        "1.8446744073709551e19",
        "1e308",
        "1e-320",
        "1e400",
        "nan",
        "-nan",
        "inf",
        "-inf",
        "infinity",
        "9223372036854775807",
        "9223372036854775808",
        "18446744073709551615",
        "18446744073709551616",
        "-9223372036854775809",
        "4294967295",
        "4294967296",
        "4294967297",
        "0x10",
        "1_000",
        "+5",
        "1.",
        ".5",
        "",
        "a1",
    ];
    prop_oneof![
        proptest::sample::select(EXTREMES).prop_map(String::from),
        any::<i128>().prop_map(|number| number.to_string()),
        any::<f64>().prop_map(|number| number.to_string()),
        any::<u32>().prop_map(|number| number.to_string()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    /// Whatever the numbers of a clock or a limit, there is an answer and no overflow.
    #[test]
    fn no_number_breaks_a_clock(numbers in prop::array::uniform6(number_text())) {
        let game = game::<TicTacToe>("");
        let [a, b, c, d, e, f] = &numbers;
        // near the end of a game, a search is solved at once, whatever its time
        let mut gtp = Talk::new(&game, Gtp::new(game.clone(), "test"));
        for (number, vertex) in ["a1", "b2", "c3", "b1"].iter().enumerate() {
            prop_assert_eq!(&gtp.say(&format!("play {} {vertex}", ["X", "O"][number % 2]))[0], "=");
        }
        let said = gtp.all(&[&format!("time_settings {a} {b} {c}"), &format!("time_left X {d} {e}")]);
        prop_assert!(said.iter().all(|line| ["", "=", "? syntax error"].contains(&line.as_str())), "{said:?}");
        for player in ["X", "O", "X"] {
            let said = gtp.say(&format!("genmove {player}"));
            prop_assert!(said[0].starts_with("= "), "{said:?}");
            gtp.say(&format!("time_left {player} {f} {c}"));
        }
        let mut ugi = ugi(&game);
        ugi.say(&format!("setoption name MoveOverhead value {f}"));
        ugi.say(&format!("setoption name Hash value {e}"));
        ugi.say("position startpos moves a1 b2 c3 b1");
        for go in [
            format!("go p1time {a} p2time {b} p1inc {c} p2inc {d} movestogo {e}"),
            format!("go wtime {a} btime {b} winc {c} binc {d}"),
            format!("go movetime {a} depth {b}"),
            format!("go nodes {d} movetime {c}"),
            format!("go infinite movetime {e}"),
        ] {
            let said = ugi.say(&go);
            prop_assert!(said.last().unwrap().starts_with("bestmove "), "{go}: {said:?}");
        }
        let time = a.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let mut codecup = Talk::new(&game, Codecup::new(game.clone(), time));
        let said = codecup.all(&["a1", "c3"]);
        prop_assert!(!said.is_empty(), "no answer with {time:?}");
    }
}

/// A huge main time followed by a huge period does not overflow.
#[test]
fn gtp_adds_the_largest_times() {
    let game = game::<TicTacToe>("");
    let mut talk = Talk::new(&game, Gtp::new(game.clone(), "test"));
    assert_eq!(talk.all(&["time_settings 1e19 1e19 1"]), ["=", ""]);
    assert!(talk.say("genmove X")[0].starts_with("= "));
    assert_eq!(talk.searches[0].limits.clock.unwrap().left, Duration::MAX);
    // a number of stones beyond 32 bits means many stones, not few
    talk.all(&["time_settings 0 3600 4294967297", "genmove O"]);
    assert_eq!(talk.searches[1].limits.clock.unwrap().to_go, Some(4_294_967_297));
    for time in ["nan", "-nan", "inf", "1e20", "x"] {
        assert_eq!(talk.say(&format!("time_settings {time} 0 0"))[0], "? syntax error", "{time}");
    }
}

/// A number beyond 64 bits counts as the largest number, and a negative number counts as 0.
#[test]
fn ugi_takes_huge_numbers_for_the_largest() {
    let game = game::<TicTacToe>("");
    let mut talk = ugi(&game);
    talk.say("position startpos moves a1 b2 c3 b1");
    let largest = Duration::from_millis(i64::MAX as u64);
    for huge in ["9223372036854775807", "18446744073709551616", "99999999999999999999999999"] {
        assert_eq!(talk.limits(&format!("go movetime {huge}")).time, Some(largest), "{huge}");
    }
    assert_eq!(talk.limits("go movetime -99999999999999999999").time, Some(Duration::ZERO));
    assert_eq!(talk.say("go nodes 1e3")[0], "info string go: nodes `1e3` is not a number and is ignored");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Whatever is sent, nothing breaks, and the next command is understood.
    #[test]
    fn nothing_breaks_a_conversation(
        lines in prop::collection::vec(
            prop_oneof![
                any::<String>(),
                "(position|go|query|setoption|play|genmove|time_settings|time_left)( \
                    (startpos|fen|moves|name|value|a1|b2|nodes|movetime|[0-9]{1,3}|-1|p1time|x|o|\\PC{0,6})){0,6}",
            ],
            0..12,
        )
    ) {
        let game = game::<TicTacToe>("");
        // no searches are made: the test covers only what the state machines say
        let mut ugi = Ugi::new(game.clone(), "test");
        let mut gtp = Gtp::new(game.clone(), "test");
        let mut codecup = Codecup::new(game.clone(), None);
        for line in &lines {
            let one_line = |said: &[String]| said.iter().all(|line| !line.contains(['\n', '\r', '\0']));
            prop_assert!(one_line(&ugi.line(line).lines));
            prop_assert!(one_line(&gtp.line(line).lines));
            prop_assert!(codecup.line(line).lines.is_empty());
        }
        prop_assert_eq!(ugi.line("isready").lines, vec!["readyok".to_string()]);
        prop_assert_eq!(gtp.line("9 protocol_version").lines, vec!["=9 2".to_string(), String::new()]);
    }
}

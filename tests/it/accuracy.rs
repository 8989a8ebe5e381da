//! Accuracy in solved positions: the counts, the file of positions, and the same result with any number of threads.

use std::fs;
use std::path::{Path, PathBuf};

use petteia::any::{AnyGame, AnyState, Opened};
use petteia::arena::agent::Agent;
use petteia::arena::contestant::Contestant;
use petteia::arena::spec::AgentSpec;
use petteia::error::{Error, Result};
use petteia::game::{Action, Game, GameOptions, Rules, Settings};
use petteia::games::Games;
use petteia::games::connect_four::ConnectFour;
use petteia::games::tic_tac_toe::TicTacToe;
use petteia::registry::Registry;
use petteia::replay::store::write_checksum;
use petteia::storage::sha256;
use petteia::truth::accuracy::{Accuracy, Budget, measure};
use petteia::truth::set::{self, Set, SetHeader, SetLine};
use proptest::prelude::*;

use crate::support::batches;
use crate::support::command::{err, fails, json_lines, out, succeeds};

fn rules() -> Opened {
    Rules::<TicTacToe>::new(&GameOptions::default()).unwrap().opened()
}

fn header(count: usize) -> SetHeader {
    SetHeader {
        format: 1,
        game: "tic-tac-toe".into(),
        options: Settings::default(),
        made_by: "a test".into(),
        seed: 1,
        classes: vec!["won".into(), "drawn".into(), "lost".into()],
        count,
    }
}

fn line(position: &str, class: &str, values: &[(&str, i8)], scores: &[(&str, i32)]) -> SetLine {
    let plies = position.chars().filter(|c| "XO".contains(*c)).count() - 1;
    SetLine {
        position: position.into(),
        class: class.into(),
        plies,
        values: values.iter().map(|(text, value)| (text.to_string(), *value)).collect(),
        scores: scores.iter().map(|(text, score)| (text.to_string(), *score)).collect(),
    }
}

/// Three positions: X wins at once (or later, as the set says); O must block; O is lost whatever it plays.
fn lines() -> Vec<SetLine> {
    let drawn = [("a1", -1), ("a2", -1), ("b1", -1), ("b3", 0), ("c1", -1), ("c2", -1)];
    let lost = [("b1", -1), ("b3", -1), ("c1", -1), ("c2", -1)];
    vec![
        line(WON, "won", &[("b1", 1), ("b3", 1), ("c1", 0)], &[("b1", 1), ("b3", 2), ("c1", 0)]),
        line(DRAWN, "drawn", &drawn, &[]),
        line(LOST, "lost", &lost, &[]),
    ]
}

const WON: &str = "X.X/XOO/O.. X";
const DRAWN: &str = "X.X/.O./... O";
const LOST: &str = "X.X/OX./O.. O";

fn written(folder: &Path, header: &SetHeader, lines: &[SetLine]) -> PathBuf {
    let path = folder.join("set.jsonl.zst");
    set::write(&path, header, lines).unwrap();
    path
}

/// Plays a fixed action in each position.
struct Fixed(AnyGame, &'static [(&'static str, &'static str)]);

impl Agent<AnyGame> for Fixed {
    fn choose(&mut self, state: &AnyState) -> Result<Action> {
        let position = self.0.state_text(state);
        let (_, text) = self.1.iter().find(|(known, _)| *known == position).unwrap();
        Ok(self.0.parse_action(state, text).unwrap())
    }
}

fn read(folder: &Path) -> Set {
    let lines = lines();
    set::read(&written(folder, &header(lines.len()), &lines), &rules()).unwrap()
}

#[test]
fn errors_are_counted_by_class_and_ply() {
    let folder = tempfile::tempdir().unwrap();
    let set = read(folder.path());
    let of = |choices: &'static [(&'static str, &'static str)]| -> Accuracy {
        let agent = Contestant::own("fixed", move |_| Box::new(Fixed(rules().game, choices)));
        measure(&rules().game, &set, &agent, Budget::Own, 1, &|_| true).unwrap()
    };
    let accuracy = of(&[(WON, "b1"), (DRAWN, "b3"), (LOST, "c1")]);
    let all = &accuracy.all;
    assert_eq!((all.positions, all.choices, all.errors, all.scored, all.slow), (3, 2, 0, 1, 1));
    assert_eq!((all.valued, all.brier(), all.agreement()), (0, None, None), "this agent has no values");
    let accuracy = of(&[(WON, "c1"), (DRAWN, "c2"), (LOST, "c1")]);
    assert_eq!((accuracy.all.errors, accuracy.all.slow), (2, 1));
    let errors: Vec<(&str, usize)> =
        accuracy.classes.iter().map(|(class, tally)| (class.as_str(), tally.errors)).collect();
    assert_eq!(errors, [("won", 1), ("drawn", 1), ("lost", 0)]);
    let plies: Vec<(usize, usize)> =
        accuracy.plies.iter().map(|(ply, tally)| (*ply, tally.positions)).collect();
    assert_eq!(plies, [(0, 3)]);
    let rate = accuracy.all.error_rate().unwrap();
    // Wilson's interval for 2 of 3
    assert!((rate.low - 0.2077).abs() < 1e-3 && (rate.high - 0.9385).abs() < 1e-3, "{rate:?}");
}

#[test]
fn threads_and_the_number_of_agents_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let set = read(folder.path());
    let [agent, together] = ["rollout:50", "batches:50"].map(|text| batches::contestant(&rules(), text));
    let on = |agent: &Contestant<AnyGame>, threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| measure(&rules().game, &set, agent, Budget::Own, 1, &|_| true).unwrap())
    };
    let one = on(&agent, 1);
    assert_eq!(one, on(&agent, 3));
    assert_eq!(one, on(&together, 1));
    assert_eq!(one, on(&together, 3));
    assert_eq!((one.all.errors, one.all.valued, one.all.decided, one.all.agreed), (0, 3, 2, 2));
    assert!(one.all.brier().unwrap() < 0.05, "{one:?}");
    assert_eq!(one.reliability.iter().map(|bin| bin.positions).sum::<usize>(), 3);
    let stopped = measure(&rules().game, &set, &agent, Budget::Own, 1, &|done| done < 1);
    assert!(matches!(stopped, Err(Error::Interrupted)));
    // a search without knowledge has a uniform policy, which plays the first action
    let uniform = Contestant::new(&rules(), &AgentSpec::parse("uniform:1").unwrap()).unwrap();
    let policy = measure(&rules().game, &set, &uniform, Budget::Policy, 1, &|_| true).unwrap();
    assert_eq!((policy.all.errors, policy.all.slow, policy.all.brier().unwrap()), (1, 1, 1.0 / 6.0));
    let random = Contestant::new(&rules(), &AgentSpec::Random).unwrap();
    assert!(measure(&rules().game, &set, &random, Budget::Policy, 1, &|_| true).is_err());
}

#[test]
fn a_set_that_is_not_right_names_the_line() {
    let folder = tempfile::tempdir().unwrap();
    let expect = |header: &SetHeader, lines: &[SetLine], says: &str| {
        let error = set::read(&written(folder.path(), header, lines), &rules()).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
        error
    };
    let lines = lines();
    let with = |change: &dyn Fn(&mut SetLine)| {
        let mut lines = lines.clone();
        change(&mut lines[1]);
        lines
    };
    let right = header(3);
    for (change, says) in [
        (&|line: &mut SetLine| line.position = "X.X/X".to_string()) as &dyn Fn(&mut SetLine),
        &|line: &mut SetLine| line.position = "XXX/OO./... O".into(),
        &|line: &mut SetLine| line.class = "endless".into(),
        &|line: &mut SetLine| line.plies = 10,
        &|line: &mut SetLine| {
            line.values.insert("c2".into(), 2);
        },
        &|line: &mut SetLine| {
            line.values.insert("d9".into(), 0);
        },
        &|line: &mut SetLine| {
            line.values.remove("c2");
        },
        &|line: &mut SetLine| {
            line.scores.insert("c2".into(), -1);
        },
        &|line: &mut SetLine| line.scores = line.values.keys().map(|text| (text.clone(), 1)).collect(),
    ]
    .into_iter()
    .zip([
        "X.X/X",
        "the game is over in `XXX/OO./... O`",
        "class `endless`",
        "plies = 10",
        "value 2: must be -1, 0, or 1",
        "action `d9` is not legal",
        "action `c2` has no value",
        "has no score",
        "has value -1, but score 1",
    ]) {
        let error = expect(&right, &with(change), says);
        assert!(error.contains("set.jsonl.zst: line 3: "), "{error}");
    }
    expect(
        &SetHeader { game: "chess".into(), ..right.clone() },
        &lines,
        "line 1: a set of game `chess`, not of tic-tac-toe",
    );
    expect(&SetHeader { format: 9, ..right.clone() }, &lines, "line 1: format 9");
    expect(&SetHeader { count: 0, ..right.clone() }, &lines, "line 1: count = 0");
    expect(&SetHeader { count: 4, ..right.clone() }, &lines, "it has 3 positions, but its first line says 4");
    expect(
        &SetHeader { count: 2, ..right.clone() },
        &lines,
        "it has more than 2 positions, but its first line says 2",
    );
}

#[test]
fn a_damaged_set_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), &header(3), &lines());
    let expect = |says: &str| {
        let error = set::read(&path, &rules()).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    };
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 9]).unwrap();
    expect("the SHA-256 differs");
    write_checksum(&path, &sha256(&whole[..whole.len() - 9]), None).unwrap();
    expect("zstd");
    let other = zstd::encode_all(&b"{\"not\": \"a set\"}\n"[..], 1).unwrap();
    fs::write(&path, &other).unwrap();
    write_checksum(&path, &sha256(&other), None).unwrap();
    expect("line 1: it is neither a position with its value nor the header of a set of solved positions");
}

/// Three positions as another program may write them: without a header line, with either the value of the position
/// alone or the values of the actions, and with or without a class.
const OPEN: &str = r#"{"position": "X.X/XOO/O.. X", "value": 1}
{"position": "X.X/.O./... O", "values": {"a1": -1, "a2": -1, "b1": -1, "b3": 0, "c1": -1, "c2": -1}, "class": "drawn"}
{"position": "X.X/OX./O.. O", "value": -1, "plies": 5}
"#;

#[test]
fn a_set_of_anyone_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    };
    let packed = zstd::encode_all(OPEN.as_bytes(), 1).unwrap();
    let windows = format!("\u{feff}{}\r\n", OPEN.replace('\n', "\r\n"));
    let files = [file("a.jsonl", OPEN.as_bytes()), file("b.zst", &packed), file("c.txt", windows.as_bytes())];
    for path in files {
        let set: Set = set::read(&path, &rules()).unwrap();
        assert_eq!(set.header.classes, ["drawn"]);
        let known = |position: &set::Position| {
            (position.value, position.values.len(), position.class, position.plies)
        };
        let known: Vec<_> = set.positions.iter().map(known).collect();
        assert_eq!(known, [(1, 0, None, None), (0, 6, Some(0), None), (-1, 0, None, Some(5))]);
    }
    // positions with a score, as Pascal Pons writes them
    let scored = file("pons.txt", b"X.X/XOO/O.. X 3\nX.X/OX./O.. O -2\n.../.../... X\t0\n");
    let set = set::read(&scored, &rules()).unwrap();
    assert_eq!(set.positions.iter().map(|position| position.value).collect::<Vec<_>>(), [1, -1, 0]);
    // our own set, unpacked and without its checksum
    let whole = written(folder.path(), &header(3), &lines());
    let ours = file("ours.jsonl", &zstd::decode_all(fs::read(whole).unwrap().as_slice()).unwrap());
    let set = set::read(&ours, &rules()).unwrap();
    assert_eq!((set.header, set.positions.len()), (header(3), 3));
    let wrong = |lines: &str, says: &str| {
        let error = set::read(&file("wrong.jsonl", lines.as_bytes()), &rules()).unwrap_err().to_string();
        assert!(error.contains("wrong.jsonl: ") && error.contains(says), "{error}");
    };
    wrong("", "line 1: it is neither a position with its value nor");
    wrong(r#"{"position": "X.X/XOO/O.. X"}"#, "line 1: it has neither `value` nor `values`");
    wrong(r#"{"position": "X.X/XOO/O.. X", "score": 5}"#, "line 1: unknown field `score`");
    wrong(&OPEN.replace(r#""value": -1"#, r#""value": -2"#), "line 3: value -2: must be -1, 0, or 1");
    wrong(
        &OPEN.replace(r#""class""#, r#""value": 1, "class""#),
        "line 2: value 1, but the best action has 0",
    );
    wrong(
        &OPEN.replace(r#""values""#, r#""value": 0, "scores""#),
        "line 2: it has `scores`, but no `values`",
    );
    wrong(&format!("{OPEN}\n{OPEN}"), "line 4: ");
    wrong("X.X/XOO/O.. X 1\nX.X/XOO/O.. 1\n", "line 2: ");
    wrong("X.X/XOO/O.. X 1\nX.X/XOO/O.. X\n", "line 2: ");
}

/// The example in the guide is a valid set, and what the guide says about its late position is true.
#[test]
fn the_set_in_the_guide_is_right() {
    let guide = include_str!("../../docs/bots.md");
    let example = guide.split("```json\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("guide.jsonl");
    fs::write(&path, example).unwrap();
    let rules = Rules::<ConnectFour>::new(&GameOptions::default()).unwrap().opened();
    let set = set::read(&path, &rules).unwrap();
    assert_eq!((set.positions.len(), set.positions[0].value, set.positions[1].value), (2, 1, 1));
    let late = &set.positions[1];
    let limits = petteia::solve::Limits { nodes: 50_000, table: 64 << 20 };
    let solved = petteia::solve::Solver::new(rules.game.clone(), limits).solve(&late.state, |_, _| true);
    let player = rules.game.to_move(&late.state);
    let values = solved
        .actions
        .iter()
        .map(|(action, bounds)| (*action, bounds.outcome().unwrap().value_for(player) as i8));
    assert_eq!(values.collect::<Vec<_>>(), late.values);
}

/// If only the value of a position is known, no action can be called an error.
#[test]
fn errors_are_counted_where_the_values_of_actions_are_known() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("open.jsonl");
    fs::write(&path, OPEN).unwrap();
    let set = set::read(&path, &rules()).unwrap();
    let choices: &[_] = &[(WON, "c1"), (DRAWN, "c2"), (LOST, "c1")];
    let agent = Contestant::own("fixed", move |_| Box::new(Fixed(rules().game, choices)));
    let fixed = measure(&rules().game, &set, &agent, Budget::Own, 1, &|_| true).unwrap();
    assert_eq!((fixed.all.positions, fixed.all.judged, fixed.all.errors), (3, 1, 1));
    assert_eq!((fixed.classes.len(), fixed.plies[0].1.positions, fixed.plies.len()), (1, 1, 1));
    assert_eq!(fixed.plies[0].1.error_rate(), None);
    // values are compared in all positions
    let searches = Contestant::new(&rules(), &AgentSpec::parse("rollout:50").unwrap()).unwrap();
    let all = measure(&rules().game, &set, &searches, Budget::Own, 1, &|_| true).unwrap().all;
    assert_eq!((all.valued, all.decided, all.agreed), (3, 2, 2));
    let common = ["accuracy", "tic-tac-toe", "--set", path.to_str().unwrap(), "--agent", "rollout:50"];
    let table = out(&succeeds(&common, ""));
    assert!(table.starts_with("3 positions of tic-tac-toe, made by: unknown\n"), "{table}");
    let object = &json_lines(&succeeds(&[&common[..], &["--json"]].concat(), ""))[0]["agents"][0]["all"];
    assert_eq!((&object["positions"], &object["judged"]), (&3.into(), &1.into()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever the file contains, reading it ends with a set or an error.
    #[test]
    fn no_line_makes_the_reader_panic(at in 0usize..400, letter in any::<u8>()) {
        let folder = tempfile::tempdir().unwrap();
        let path = written(folder.path(), &header(3), &lines());
        let mut text = zstd::decode_all(fs::read(&path).unwrap().as_slice()).unwrap();
        let at = at % text.len();
        text[at] = letter;
        let packed = zstd::encode_all(text.as_slice(), 1).unwrap();
        fs::write(&path, &packed).unwrap();
        write_checksum(&path, &sha256(&packed), None).unwrap();
        let _ = set::read(&path, &rules());
        let mut text = OPEN.as_bytes().to_vec();
        let at = at % text.len();
        text[at] = letter;
        let open = folder.path().join("open.jsonl");
        fs::write(&open, text).unwrap();
        let _ = set::read(&open, &rules());
    }
}

#[test]
fn the_sets_that_come_with_petteia_are_right() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("sets");
    let mut found = 0;
    for id in Games::ids() {
        let path = folder.join(format!("{id}.jsonl.zst"));
        if path.exists() {
            let header = set::header(&path).unwrap();
            let rules = Games::open(&id, &header.options).unwrap();
            let positions = set::read(&path, &rules).unwrap().positions.len();
            assert_eq!(positions, if id == "connect-four" { 2000 } else { 1000 }, "{id}");
            assert!(fs::metadata(&path).unwrap().len() < 200_000, "{id}");
            found += 1;
        }
    }
    assert_eq!(found, 4);
}

/// The scores of Connect Four come from another program: near the end, our solver agrees with their signs.
#[test]
fn the_values_of_connect_four_are_those_of_the_solver() {
    let rules = Rules::<ConnectFour>::new(&GameOptions::default()).unwrap().opened();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("sets/connect-four.jsonl.zst");
    let set = set::read(&path, &rules).unwrap();
    let limits = petteia::solve::Limits { nodes: 50_000, table: 64 << 20 };
    let mut solver = petteia::solve::Solver::new(rules.game.clone(), limits);
    let late = set.positions.iter().filter(|position| position.plies.is_some_and(|plies| plies >= 28));
    let mut agreed = 0;
    for position in late {
        let player = rules.game.to_move(&position.state);
        for (found, known) in solver.solve(&position.state, |_, _| true).actions.iter().zip(&position.values)
        {
            if let Some(outcome) = found.1.outcome() {
                let text = rules.game.state_text(&position.state);
                assert_eq!(outcome.value_for(player) as i8, known.1, "{text}: {}", known.0.index() + 1);
                agreed += 1;
            }
        }
    }
    assert!(agreed > 1000, "only {agreed} values were compared");
}

#[test]
fn accuracy_reports_every_agent() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), &header(3), &lines());
    let path = path.to_str().unwrap();
    let common = ["accuracy", "tic-tac-toe", "--set", path, "--agent", "rollout:50", "--agent", "random"];
    let text = out(&succeeds(&common, ""));
    assert!(text.starts_with("3 positions of tic-tac-toe, made by: a test\n\nrollout:50\n"), "{text}");
    assert!(text.contains("\nrandom\n") && text.contains("plies 0-6"), "{text}");
    let object = &json_lines(&succeeds(&[&common[..], &["--json"]].concat(), ""))[0];
    assert_eq!((&object["positions"], &object["agents"][0]["all"]["errors"]), (&3.into(), &0.into()));
    assert_eq!(object["agents"][0]["classes"][0]["class"], "won");
    fails(&["accuracy", "phage", "--set", path, "--agent", "random"], 1, &["line 1", "not of phage"]);
    fails(&["accuracy", "tic-tac-toe", "--set", "nowhere", "--agent", "random"], 1, &["nowhere"]);
    let unnamed = succeeds(&["accuracy", "tic-tac-toe", "--set", path], "");
    assert!(
        err(&unnamed).starts_with("the agent is `shipped`, which is proved perfect"),
        "{}",
        err(&unnamed)
    );
}

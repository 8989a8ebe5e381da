//! Games played outside Petteia: records of endings that the rules do not decide, and the commands that read them.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use petteia::game::{Game, GameOptions, Outcome, Player, Rules, Settings};
use petteia::games::Games;
use petteia::games::connect_four::ConnectFour;
use petteia::registry::Catalog;
use petteia::replay::ended::Ended;
use petteia::replay::played::Played;
use petteia::replay::record::{FORMAT, PLAIN_FORMAT, Record};
use petteia::replay::sample::replayed;
use petteia::replay::store;
use serde_json::{Value, json};

use crate::support::command::{err, fails, json_lines, out, succeeds};
use crate::support::runs::{Finished, copy_folder, shard, text};

const FIRST: Outcome = Outcome::Win(Player::First);
const SECOND: Outcome = Outcome::Win(Player::Second);

fn rules() -> Rules<ConnectFour> {
    Rules::new(&GameOptions::default()).unwrap()
}

/// A game whose line has these columns.
fn played(columns: &str, outcome: Option<Outcome>, ended: Option<Ended>) -> Played {
    Played { start: None, actions: columns.chars().map(String::from).collect(), outcome, ended }
}

#[test]
fn only_what_contradicts_the_rules_is_refused() {
    let (rules, open, won) = (rules(), "4435", "1212121");
    for ended in Ended::ALL {
        for outcome in [FIRST, SECOND, Outcome::Draw].into_iter().filter(|outcome| ended.allows(*outcome)) {
            let record = played(open, Some(outcome), Some(ended)).record(&rules, 0).unwrap();
            assert_eq!((record.format, record.ended), (FORMAT, Some(ended)));
            let line = serde_json::to_string(&record).unwrap();
            assert_eq!(Record::parse(&line).unwrap(), record);
            let found = replayed(&rules, &record).unwrap();
            assert_eq!((&*found.ending, found.samples.len()), (ended.id(), 4));
            for (sample, mover) in found.samples.iter().zip([Player::First, Player::Second].iter().cycle()) {
                assert_eq!(sample.target.value(), outcome.value_for(*mover));
            }
        }
    }
    let by_rules = played(won, None, None).record(&rules, 0).unwrap();
    assert_eq!((by_rules.format, by_rules.outcome.as_str(), by_rules.ended), (PLAIN_FORMAT, "first", None));
    assert!(!serde_json::to_string(&by_rules).unwrap().contains("ended"));
    assert_eq!(played(won, Some(FIRST), None).record(&rules, 0).unwrap(), by_rules);
    let usual = |outcome| played(open, Some(outcome), None).record(&rules, 0).unwrap().ended;
    assert_eq!([usual(SECOND), usual(Outcome::Draw)], [Some(Ended::Resigned), Some(Ended::Agreed)]);
    let resigned = played(open, Some(SECOND), Some(Ended::Resigned)).record(&rules, 0).unwrap();
    let open = |outcome: &str, ended| Record { outcome: outcome.into(), ended, ..resigned.clone() };
    let won = |outcome: &str, ended| Record { outcome: outcome.into(), ended, ..by_rules.clone() };
    for (record, why) in [
        (open("second", None), "the rules say that the game is not over"),
        (open("draw", Some(Ended::Resigned)), "a resigned game has a winner"),
        (open("white", Some(Ended::Time)), "not first, second, or draw"),
        (won("second", None), "the rules say first"),
        (won("second", Some(Ended::Time)), "the rules say first"),
        (won("first", Some(Ended::Agreed)), "the rules say that it is over"),
    ] {
        let said = record.replay(&rules, |_| {}).unwrap_err().to_string();
        assert!(said.contains(why), "{said}");
    }
    for (columns, outcome, ended, why) in [
        ("4435", None, None, "the game is not over after its last action"),
        ("4435", None, Some(Ended::Time), "the game is not over after its last action"),
        ("4439", Some(FIRST), None, "ply 3: `9` is not legal"),
        ("12121211", Some(FIRST), None, "ply 7: `1` is not legal"),
    ] {
        let said = played(columns, outcome, ended).record(&rules, 0).unwrap_err().to_string();
        assert!(said.contains(why), "{said}");
    }
}

/// Games of English draughts, and how the players ended them.
const GAMES: [(&str, &str, &str); 4] = [
    ("e3-d4 d6-c5", "draw", "agreed"),
    ("e3-f4 d6-e5 f4xd6 c7xe5", "second", "resigned"),
    ("c3-d4", "first", "time"),
    ("c3-d4 d6-c5", "first", "adjudicated"),
];

/// A run of English draughts with one generation.
static DRAUGHTS: LazyLock<Finished> = LazyLock::new(|| {
    Finished::new(&[
        "game.id=english-draughts",
        "selfplay.games=2",
        "selfplay.bootstrap_games=2",
        "selfplay.bootstrap_simulations=2",
        "search.simulations=2",
        "arena.games=2",
        "arena.final_games=2",
        "train.generations=1",
    ])
});

/// A record of English draughts as another program may write it.
fn line(index: usize, actions: &str, outcome: &str, ended: Option<&str>) -> String {
    let rules = Catalog::of::<Games>().open("english-draughts", &Settings::default()).unwrap();
    let actions: Vec<&str> = actions.split(' ').collect();
    let visits: Vec<Value> = actions.iter().map(|action| json!({*action: 1})).collect();
    let mut record = json!({
        "format": 3, "game": "english-draughts", "options": rules.identity.options_of_records(),
        "encoding": rules.identity.encoding, "generation": 1, "index": index, "evaluator": "uniform:1",
        "start": rules.game.state_text(&rules.game.initial()), "actions": actions, "visits": visits,
        "wdl": vec![[0, 1, 0]; actions.len()], "outcome": outcome,
    });
    if let Some(ended) = ended {
        record["ended"] = ended.into();
    }
    record.to_string()
}

/// All [`GAMES`], in a file that an editor on Windows could have written.
fn write_games(path: &Path) {
    let lines: Vec<String> = (GAMES.iter().rev().enumerate())
        .map(|(index, (actions, outcome, ended))| line(9 - index, actions, outcome, Some(ended)))
        .collect();
    fs::write(path, format!("\u{feff}{}\r\n\r\n", lines.join("\r\n"))).unwrap();
}

#[test]
fn a_run_begins_with_games_that_people_ended() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let (people, run) = (file("people.jsonl"), file("run"));
    write_games(&people);
    let source = DRAUGHTS.run();
    let begin = |records: &Path| {
        let start = ["train", "--from", text(&source), "--with-records", text(records), "--run", text(&run)];
        start.map(String::from)
    };
    let refused = |lines: &str, why: &str| {
        let wrong = file("wrong.jsonl");
        fs::write(&wrong, lines).unwrap();
        fails(&begin(&wrong).each_ref().map(String::as_str), 1, &["wrong.jsonl: line 1: ", why]);
        assert!(!run.exists());
    };
    refused(
        &line(0, "c3-d4", "draw", None),
        "the rules say that the game is not over; if it ended outside the rules",
    );
    refused(&line(0, "c3-d4", "draw", Some("resigned")), "has a winner");
    refused(&line(0, "c3-d4", "draw", Some("mate")), "unknown variant `mate`");
    refused(&format!("\n{}", line(0, "c3-d4", "draw", Some("agreed"))), "it is blank");
    let said = err(&succeeds(&begin(&people).each_ref().map(String::as_str), ""));
    assert!(said.contains("people.jsonl"), "{said}");
    // the games are in the run, with a checksum, and everything that reads a run knows how they ended
    let taken = run.join("selfplay/inherited/shard-0000.jsonl.zst");
    let rules = Catalog::of::<Games>().open("english-draughts", &Settings::default()).unwrap();
    let shard = store::read_samples(&taken, &rules, None).unwrap();
    let endings: Vec<&str> = shard.found.iter().map(|found| &*found.ending).collect();
    assert_eq!(endings, ["adjudicated", "time", "resigned", "agreed"]);
    let values: Vec<f32> = shard.found[2].samples.iter().map(|sample| sample.target.value()).collect();
    assert_eq!(values, [-1.0, 1.0, -1.0, 1.0]);
    let counts = "(1 resigned, 1 agreed, 1 adjudicated, 1 time)";
    let listed = out(&succeeds(&["records", text(&run)], ""));
    assert!(listed.contains(counts), "{listed}");
    let verified = out(&succeeds(&["records", text(&run), "verify"], ""));
    assert!(verified.contains(counts), "{verified}");
    let inspected = out(&succeeds(&["inspect", text(&run)], ""));
    assert!(inspected.contains("resigned 1"), "{inspected}");
    // a resumed run also checks these files
    fs::remove_file(taken.with_extension("zst.sha256")).unwrap();
    fails(&["records", text(&run), "verify"], 1, &[]);
    fs::remove_file(&taken).unwrap();
    let resumed = ["train", "--run", text(&run), "--generations", "2"];
    fails(&resumed, 1, &["inherited/shard-0000.jsonl.zst"]);
}

#[test]
fn records_of_anyone_are_shown_verified_and_converted() {
    let folder = tempfile::tempdir().unwrap();
    let people = folder.path().join("people.jsonl");
    write_games(&people);
    let packed = folder.path().join("packed.jsonl.zst");
    fs::write(&packed, zstd::encode_all(fs::read(&people).unwrap().as_slice(), 1).unwrap()).unwrap();
    // a text that the program carries is recognized by its checksum
    for path in [&people, &packed] {
        let said = out(&succeeds(&["records", text(path), "verify"], ""));
        let counts = "4 games (1 resigned, 1 agreed, 1 adjudicated, 1 time) and 9 plies of english-draughts";
        assert!(said.contains(&format!("1 of 1 shard intact, with {counts}")), "{said}");
        let listed = json_lines(&succeeds(&["records", text(path), "--json"], ""));
        let ends = json!({"resigned": 1, "agreed": 1, "adjudicated": 1, "time": 1});
        assert_eq!(listed[0]["ended"], ends);
        let inspected = json_lines(&succeeds(&["inspect", text(path), "--json"], ""));
        assert_eq!(inspected[0]["kind"], "shard of records");
    }
    for (game, says) in [
        ("7", "White wins by resignation after 4 plies"),
        ("8", "Black wins on time after 1 plies"),
        ("6", "a draw by agreement after 2 plies"),
    ] {
        let shown = out(&succeeds(&["records", text(&people), "show", "--game", game], ""));
        assert!(shown.contains(says), "{shown}");
    }
    let convert =
        |format: &str| out(&succeeds(&["records", text(&people), "convert", "--format", format], ""));
    let ended = |line: &str| line.rsplit(',').next().unwrap().to_string();
    let csv: Vec<String> = convert("csv").lines().map(ended).collect();
    let plies = [
        "adjudicated",
        "adjudicated",
        "time",
        "resigned",
        "resigned",
        "resigned",
        "resigned",
        "agreed",
        "agreed",
    ];
    assert_eq!(csv, [&["ended"], &plies[..]].concat());
    let rows: Vec<Value> =
        convert("positions").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(rows.iter().map(|row| row["ended"].as_str().unwrap()).eq(plies));
    assert!(convert("text").contains("White wins by resignation after 4 plies"));
    assert_eq!(convert("jsonl").lines().count(), 4);
    // a shard of a run, alone and without its checksum
    let alone = folder.path().join("shard-0000.jsonl.zst");
    fs::copy(shard(&DRAUGHTS.run(), 1, 0), &alone).unwrap();
    let said = out(&succeeds(&["records", text(&alone), "verify"], ""));
    assert!(said.contains("1 of 1 shard intact") && !said.contains('('), "{said}");
    // inside a run, a shard is finished only if it has a checksum
    let run = folder.path().join("run");
    copy_folder(&DRAUGHTS.run(), &run);
    let path = shard(&run, 1, 0);
    fs::remove_file(path.with_extension("zst.sha256")).unwrap();
    fails(&["records", text(&path)], 1, &["1 of 1 shard damaged"]);
}

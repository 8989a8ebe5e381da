//! Converts games in other notations to records: PDN, SGF, GGF, and lines; also what is refused, and why.

use std::fmt::Write;
use std::path::Path;

use petteia::any::Opened;
use petteia::game::{Game, Settings};
use petteia::games::Games;
use petteia::notation::{Notation, Reason, Refused, Written, played, read, replay};
use petteia::registry::Catalog;
use petteia::replay::ended::Ended;
use petteia::replay::record::Record;
use petteia::replay::store::read_shard;

use crate::support::command::{err, fails, out, succeeds};

fn rules(id: &str) -> Opened {
    Catalog::of::<Games>().open(id, &Settings::new()).unwrap()
}

/// The games of a text that must be readable.
fn written(notation: Notation, text: &str) -> Vec<Written> {
    read(notation, text).collect::<Result<_, _>>().unwrap()
}

/// The record of each game.
fn records(id: &str, notation: Notation, text: &str) -> Vec<Result<Record, Refused>> {
    let rules = rules(id);
    let record = |game: Written| played(&rules.game, &game).map(|played| played.record(&rules, 0).unwrap());
    written(notation, text).into_iter().map(record).collect()
}

fn record(id: &str, notation: Notation, text: &str) -> Record {
    let record = records(id, notation, text).remove(0).unwrap_or_else(|refused| panic!("{refused:?}"));
    assert!(record.replay(&rules(id), |_| {}).is_ok());
    record
}

fn refusal(id: &str, notation: Notation, text: &str) -> Refused {
    records(id, notation, text).remove(0).unwrap_err()
}

/// The line and the reason of each part that cannot be read.
fn unread(notation: Notation, text: &str) -> Vec<(usize, String)> {
    read(notation, text).filter_map(|game| game.err().map(|unread| (unread.line, unread.what))).collect()
}

const DRAUGHTS: &str = "english-draughts";
const PDN: &str = r#"
[Event "A \"small\" game"]
[Black "A, B."]
[Result "1/2-1/2"]

1. 11-15 22-18 {taken at once; (no variation)} 2. 15x22! 25x 18 $1 (2... 26x17 (2... 1-2) {x}) 3.8-11
29-25 ; the rest of the line 1-0
4. 4-8* 25-22?! 1/2-1/2

[Event "?"] [Result "0-1"] [Termination "time forfeit"]
1. 9-14 22-18 2. 5-9 0-1
"#;

#[test]
fn pdn_is_read_by_the_numbers_of_squares() {
    let found = records(DRAUGHTS, Notation::Pdn, PDN);
    let first = found[0].as_ref().unwrap();
    assert_eq!(first.actions.join(" "), "c3-d4 f6-e5 d4xf6 g7xe5 b2-c3 h8-g7 a1-b2 g7-f6");
    assert_eq!((first.outcome.as_str(), first.ended), ("draw", Some(Ended::Agreed)));
    // 0-1 is a win of the player who acts second, who is White in this game
    let second = found[1].as_ref().unwrap();
    assert_eq!((second.outcome.as_str(), second.ended), ("second", Some(Ended::Time)));
    assert_eq!(found.len(), 2);
}

#[test]
fn several_jumps_are_one_action_of_pdn() {
    let fen = |moves: &str| format!("[FEN \"B:W18,26,25,K32:B15,1\"] [SetUp \"1\"] {moves} 1-0\n");
    let whole = record(DRAUGHTS, Notation::Pdn, &fen("1. 15x22x29"));
    assert_eq!(whole.actions.join(" "), "d4xf6 f6xh8");
    assert_eq!(whole.actions, record(DRAUGHTS, Notation::Pdn, &fen("1. 15x29")).actions);
    assert_eq!(whole.start, "1W6/4w1w1/8/4w3/3b4/8/8/6b1 b 0");
    // a jump must be completed, and only the player's own men jump
    let half = refusal(DRAUGHTS, Notation::Pdn, &fen("1. 15x22"));
    assert_eq!((half.reason, half.ply), (Reason::Illegal, Some(1)));
    assert!(half.what.contains("`15x22` is not legal here") && half.what.contains("d4-f6"), "{half:?}");
    assert_eq!(refusal(DRAUGHTS, Notation::Pdn, &fen("1. 18x11")).reason, Reason::Illegal);
}

#[test]
fn the_two_ways_of_a_jump_must_be_told_apart() {
    // a man on 3 jumps over 7 and 15, or over 8 and 16, to 19
    let fen = |moves: &str| format!("[FEN \"B:W7,8,15,16,32:B3\"] {moves} 1-0");
    let refused = refusal(DRAUGHTS, Notation::Pdn, &fen("3x19"));
    assert_eq!(refused.reason, Reason::Ambiguous, "{refused:?}");
    let one = record(DRAUGHTS, Notation::Pdn, &fen("3x10x19"));
    let other = record(DRAUGHTS, Notation::Pdn, &fen("3x12x19"));
    assert_eq!(
        (one.actions.join(" "), other.actions.join(" ")),
        ("c1xe3 e3xc5".into(), "c1xa3 a3xc5".into())
    );
}

#[test]
fn damaged_pdn_costs_the_game_and_not_the_file() {
    let text =
        format!("[Result \"1-0\"]\n1. 11-15 what 1-0\n{PDN}[Event broken]\n1. 11-15 1-0\n1. 11-15 (22-18");
    let games: Vec<_> = read(Notation::Pdn, &text).collect();
    assert_eq!((games.len(), games.iter().filter(|game| game.is_ok()).count()), (5, 2), "{games:?}");
    let unread = unread(Notation::Pdn, &text);
    assert_eq!(unread[0], (2, "`what` is not an action".into()));
    assert!(unread[1].1.contains("the tag `Event`"), "{unread:?}");
    assert_eq!(unread[2].1, "the file ends within a variation");
    for text in [
        "",
        " \n",
        "{",
        "(",
        "[",
        "[[[[",
        "}",
        "*",
        "1.",
        "\u{1d11e}",
        "[FEN \"B:W99999-1,1-999:\"] 1-0",
        "x x x",
    ] {
        assert!(read(Notation::Pdn, text).count() <= 2, "{text:?}");
    }
    assert!(unread_first(Notation::Pdn, "[FEN \"what\"] 11-15 1-0").contains("FEN"));
    let refused = refusal(DRAUGHTS, Notation::Pdn, "[FEN \"B:W99:B1\"] 1-5 1-0");
    assert_eq!((refused.reason, refused.ply), (Reason::Start, None));
}

fn unread_first(notation: Notation, text: &str) -> String {
    unread(notation, text).remove(0).1
}

#[test]
fn pgn_of_games_of_stones_has_names_of_squares() {
    let text = "[Black \"a\"] [Result \"0-1\"]\n1. F5 D6 2. C3 d3 0-1";
    let othello = record("othello", Notation::Pdn, text);
    assert_eq!((othello.actions.join(" ").as_str(), othello.outcome.as_str()), ("f5 d6 c3 d3", "second"));
    assert!(
        Notation::of(Path::new("a/thor.PGN")) == Notation::Pdn
            && Notation::of(Path::new("a")) == Notation::Lines
    );
}

#[test]
fn results_are_checked_by_the_rules() {
    let none = refusal(DRAUGHTS, Notation::Pdn, "1. 11-15 22-18 *");
    assert_eq!((none.reason, none.ply), (Reason::NoResult, None));
    assert_eq!(refusal(DRAUGHTS, Notation::Pdn, "[FEN \"B:W1:B2\"] *").reason, Reason::Empty);
    // White has no man left
    let won = "[FEN \"B:W18:B15,1\"] 1. 15x22";
    let record = record(DRAUGHTS, Notation::Pdn, &format!("{won} *"));
    assert_eq!((record.outcome.as_str(), record.ended), ("first", None));
    let refused = refusal(DRAUGHTS, Notation::Pdn, &format!("{won} 0-1"));
    assert_eq!(refused.reason, Reason::Contradiction);
    assert_eq!(refused.what, "the result in the file is `White wins`, but by the rules it is `Black wins`");
    let on = refusal(DRAUGHTS, Notation::Pdn, &format!("{won} 32-28 1-0"));
    assert_eq!((on.reason, on.ply), (Reason::Over, Some(2)));
}

#[test]
fn sgf_is_read_along_its_main_line() {
    let text = "no game (really) \u{feff}\n(;FF[4]GM[11]SZ[11]C[a \\] b; \
        (;B\\[c\\])]RE[B+Resign]\n;B[a3]BL[0]WL[0]\n;W[swap-pieces]\
                (;B[b10];W[d9](;B[k1])(;B[k2];W[k3]))(;B[a1];W[a2]))";
    let record = record("hex", Notation::Sgf, text);
    assert_eq!(record.actions.join(" "), "a3 swap b10 d9 k1");
    assert_eq!((record.outcome.as_str(), record.ended), ("first", Some(Ended::Resigned)));
    let game = &written(Notation::Sgf, text)[0];
    assert_eq!((game.line, game.board), (2, Some([11, 11])));
}

#[test]
fn sgf_of_hex_as_its_programs_write_it() {
    // LittleGolem: two letters, the first player is W, a swap without a square
    let golem =
        "(;FF[4]EV[hex.mc.2009]PB[a]PW[b]SZ[11]SO[http://www.littlegolem.com];W[ck];B[swap];W[fg];B[resign])";
    let golem = record("hex", Notation::Sgf, golem);
    assert_eq!((golem.actions.join(" ").as_str(), golem.outcome.as_str()), ("c11 swap f7", "first"));
    // the players change seats, and the stones stay: White continues in Black's place
    let seats = "(;GM[11]SZ[11]RE[W+];B[c5];W[SWAP];W[c9];B[f7])";
    let seats = record("hex", Notation::Sgf, seats);
    assert_eq!((seats.actions.join(" ").as_str(), seats.outcome.as_str()), ("c5 c9 f7", "second"));
    let other = refusal("hex", Notation::Sgf, "(;GM[11]SZ[13]RE[W+];B[c5];W[c9])");
    assert_eq!(other.reason, Reason::Board);
    assert!(other.what.contains("13 x 13") && other.what.contains("11 x 11"), "{other:?}");
    let turn = refusal("hex", Notation::Sgf, "(;GM[11]SZ[11]RE[W+];B[c5];B[c9])");
    assert_eq!((turn.ply, turn.what.as_str()), (Some(2), "Black acts, but it is Blue's turn"));
    // stones that are set up before the first action
    let setup = "(;SZ[11]AB[a1][b2:c3]AW[k11]PL[W]RE[0];W[e5])";
    let setup = record("hex", Notation::Sgf, setup);
    assert_eq!(setup.start, "10B/11/11/11/11/11/11/11/1RR8/1RR8/R10 b 6");
}

#[test]
fn sgf_with_rows_from_the_top_or_not() {
    let gomoku = record("gomoku", Notation::Sgf, "(;GM[4]SZ[15]RE[B+T];B[hh];W[ha];B[oo])");
    assert_eq!(gomoku.actions.join(" "), "h8 h15 o1");
    assert_eq!(gomoku.ended, Some(Ended::Time));
    // with rows counted from the top; only the second reading of the actions is legal
    let othello = record("othello", Notation::Sgf, "(;GM[2]SZ[8]RE[Draw];B[fe];W[df];B[cc])");
    assert_eq!(othello.actions.join(" "), "f5 d6 c3");
    let ggf = "(;GM[Othello]PC[GGS/os]PB[a]PW[b]RE[+64.0:r]TI[05:00]TY[8]BO[8 -------- -------- -------- ---O*--- \
               ---*O--- -------- -------- -------- *]B[F5//1.2]W[D6/0.1/2];)";
    let ggf = record("othello", Notation::Sgf, ggf);
    assert_eq!((ggf.actions.join(" ").as_str(), ggf.outcome.as_str()), ("f5 d6", "first"));
    assert_eq!(ggf.ended, Some(Ended::Resigned));
}

#[test]
fn damaged_sgf_costs_the_game_and_not_the_file() {
    let whole = "(;SZ[11]RE[B+];B[a1])";
    let text = format!("{whole}(;SZ[x];B[a1]){whole}(;SZ[11];B)(;B[a1];AB[a2]){whole}(;B[a1");
    let games: Vec<_> = read(Notation::Sgf, &text).collect();
    assert_eq!(games.iter().filter(|game| game.is_ok()).count(), 3, "{games:?}");
    let unread: Vec<String> = unread(Notation::Sgf, &text).into_iter().map(|(_, what)| what).collect();
    let says = [
        "SZ: `x` is not a size",
        "the property `B` has no value",
        "after the first action",
        "the file ends within the game",
    ];
    assert_eq!(unread.len(), says.len());
    assert!(unread.iter().zip(says).all(|(what, says)| what.contains(says)), "{unread:?}");
    // endless brackets and endless values take no more memory than their own size
    let deep = format!("(;B[a1]{}", "(;B[a2]".repeat(200_000));
    assert_eq!(unread_first(Notation::Sgf, &deep), "the file ends within the game");
    let long = format!("(;{}RE[B+])", ";B[a1]".repeat(10_001));
    assert_eq!(unread_first(Notation::Sgf, &long), "it has more than 10000 actions or stones");
    for text in [
        "",
        "(",
        "(;",
        "(;)",
        "(;B[",
        "(;B[\\",
        ")(;B[a1])",
        "(;B[\u{1d11e}])",
        "(;BO[8 x];B[a1])",
        "(;AB[a1:zz])",
    ] {
        let rules = rules("othello");
        for game in read(Notation::Sgf, text).flatten() {
            let _ = played(&rules.game, &game);
        }
    }
}

#[test]
fn lines_have_actions_with_spaces_or_without() {
    let text = "# a list\nF5D6C3D3C4F4 33-31\n\nf5 d6 c3 second time\nf5, D6; c3 1/2-1/2 # a comment\nF5D6C3 *\nf5d5\n";
    let found = records("othello", Notation::Lines, text);
    let first = found[0].as_ref().unwrap();
    assert_eq!((first.actions.join(" ").as_str(), first.outcome.as_str()), ("f5 d6 c3 d3 c4 f4", "first"));
    let second = found[1].as_ref().unwrap();
    assert_eq!((second.outcome.as_str(), second.ended), ("second", Some(Ended::Time)));
    assert_eq!(found[2].as_ref().unwrap().outcome, "draw");
    assert_eq!(found[3].as_ref().unwrap_err().reason, Reason::NoResult);
    let last = found[4].as_ref().unwrap_err();
    assert_eq!((last.reason, last.ply), (Reason::Illegal, Some(1)));
    let lines: Vec<usize> = written(Notation::Lines, text).iter().map(|game| game.line).collect();
    assert_eq!(lines, [2, 4, 5, 6, 7]);
    let resigned = record("othello", Notation::Lines, "f5 d6 resign first");
    assert_eq!((resigned.outcome.as_str(), resigned.ended), ("first", Some(Ended::Resigned)));
    assert_eq!(record("othello", Notation::Lines, "f5 d6 c3 resign").outcome, "first");
    let start = record("othello", Notation::Lines, "8/8/8/3XO3/3OX3/8/8/8 b 0 moves f5 d6 -12");
    assert_eq!((start.actions.len(), start.outcome.as_str()), (2, "second"));
    assert_eq!(refusal("othello", Notation::Lines, "8/8 b 0 moves f5 first").reason, Reason::Start);
}

/// Random games with passes, written the way people write them, without the passes.
#[test]
fn passes_that_nobody_can_avoid_are_put_in() {
    let rules = rules("othello");
    let (mut chance, mut with_passes) = (1_u32, 0);
    for _ in 0..40 {
        let (mut state, mut actions) = (rules.game.initial(), Vec::new());
        while rules.game.outcome(&state).is_none() {
            let legal = rules.game.legal(&state);
            chance = chance.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let action = legal[(chance >> 16) as usize % legal.len()];
            actions.push(rules.game.action_text(&state, action));
            rules.game.play(&mut state, action);
        }
        let squares: Vec<&str> = actions.iter().map(String::as_str).filter(|text| *text != "pass").collect();
        with_passes += usize::from(squares.len() < actions.len());
        let ways = [squares.concat().to_uppercase(), squares.join(" ")];
        for text in ways {
            assert_eq!(record("othello", Notation::Lines, &text).actions, actions);
        }
        // in SGF, the color of each action also shows whose turn it is
        let mut sgf = String::from("(;SZ[8]");
        let (mut state, mut colors) = (rules.game.initial(), Vec::new());
        for text in &actions {
            colors.push(["B", "W"][rules.game.to_move(&state).index()]);
            let action = rules.game.parse_action(&state, text).unwrap();
            rules.game.play(&mut state, action);
        }
        for (text, color) in actions.iter().zip(&colors).filter(|(text, _)| *text != "pass") {
            write!(sgf, ";{color}[{text}]").unwrap();
        }
        assert_eq!(record("othello", Notation::Sgf, &format!("{sgf})")).actions, actions);
    }
    assert!(with_passes > 5, "{with_passes}");
}

#[test]
fn a_game_that_goes_on_can_be_replayed() {
    let rules = rules("gomoku");
    let game = &written(Notation::Sgf, "(;SZ[15];B[hh];W[ig])")[0];
    let replayed = replay(&rules.game, game).unwrap();
    assert_eq!((replayed.session.texts().join(" ").as_str(), replayed.said), ("h8 i9", None));
}

#[test]
fn games_of_people_train_an_agent() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let (pdn, people, first, next) = (at("games.pdn"), at("people.jsonl.zst"), at("first"), at("next"));
    std::fs::write(&pdn, format!("{PDN}\n1. 11-15 11-15 1-0\n")).unwrap();
    let imported = succeeds(&["import-games", DRAUGHTS, &pdn, "--out", &people], "");
    assert!(out(&imported).contains("2 of 3 games of english-draughts, 11 actions"), "{}", out(&imported));
    assert!(out(&imported).contains("refused: 1 with an illegal action"), "{}", out(&imported));
    assert!(
        err(&imported).contains("game 3 (line 13), action 2: `11-15` is not legal here"),
        "{}",
        err(&imported)
    );
    assert_eq!(read_shard(Path::new(&people), &rules(DRAUGHTS), None).unwrap().records.len(), 2);
    let small = "net={filters=8,blocks=1,value_hidden=16}";
    let settings =
        ["selfplay.games=2", "selfplay.bootstrap_games=2", "train.generations=1", "train.batch=16"];
    let settings = settings.into_iter().chain([
        "selfplay.bootstrap_simulations=4",
        "search.simulations=4",
        "arena.games=0",
        "arena.final_games=2",
        small,
    ]);
    let settings: Vec<&str> = settings.flat_map(|setting| ["--set", setting]).collect();
    succeeds(&[&["train", DRAUGHTS, "--run", &first][..], &settings].concat(), "");
    let from = ["train", DRAUGHTS, "--run", &next, "--from", &first, "--with-records", &people];
    let trained = succeeds(&[&from[..], &settings].concat(), "");
    let said = out(&trained) + &err(&trained);
    assert!(said.contains("people.jsonl.zst"), "{said}");

    let (othello, shard) = (at("games.txt"), at("othello.jsonl.zst"));
    std::fs::write(&othello, "F5D6C3D3C4F4 33-31\n").unwrap();
    let imported = succeeds(&["import-games", "othello", &othello, "--out", &shard], "");
    assert!(out(&imported).contains("1 of 1 game of othello, 6 actions"), "{}", out(&imported));
    assert_eq!(read_shard(Path::new(&shard), &rules("othello"), None).unwrap().records[0].actions.len(), 6);
}

#[test]
fn what_cannot_be_imported_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let (games, shard) = (at("games.txt"), at("out.jsonl.zst"));
    std::fs::write(&games, "f5 d6 first\nf5 f5 first\n").unwrap();
    let import =
        |more: &[&'static str]| [&["import-games", "othello", &games, "--out", &shard][..], more].concat();
    fails(&import(&["--strict"]), 1, &["game 2 (line 2), action 2: `f5` is not legal here"]);
    assert!(!Path::new(&shard).exists());
    fails(&["import-games", "othello", &games, "--out", &at("out.json")], 2, &["must end with .jsonl.zst"]);
    fails(&["import-games", "othello", &at("none.sgf"), "--out", &shard], 1, &["none.sgf"]);
    std::fs::write(&games, "f5 f5 first\n").unwrap();
    fails(&import(&[]), 1, &["no game could be imported: refused: 1 with an illegal action"]);
    // the text is not PDN
    fails(&import(&["--notation", "pdn"]), 1, &["1 cannot be read"]);
    std::fs::write(&games, "f5 d6 first\n").unwrap();
    succeeds(&import(&[]), "");
    fails(&import(&[]), 2, &["already exists"]);
}

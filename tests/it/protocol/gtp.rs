//! GTP: colors, sizes, positions that are set up, analysis, files.

use petteia::games::phage::Phage;
use petteia::registry::{Catalog, resized};

use super::*;

/// Some runners begin with black and others with white: the first color belongs to the player who begins, in every
/// game.
#[test]
fn gtp_has_two_colors_in_every_game() {
    for id in Games::ids() {
        let game = Games::open(&id, &Default::default()).unwrap().game;
        let (names, initial) = (game.about().player_names(), game.initial());
        let begins = game.to_move(&initial);
        let first = game.action_text(&initial, game.legal(&initial)[0]);
        for [color, other] in [["b", "w"], ["WHITE", "black"]] {
            let mut gtp = Gtp::new(game.clone(), "test");
            assert_eq!(gtp.line(&format!("play {color} nonsense")).lines[0], "? illegal move", "{names:?}");
            assert_eq!(gtp.line(&format!("play {color} {first}")).lines[0], "=", "{names:?}");
            let mut next = initial.clone();
            game.play(&mut next, game.legal(&initial)[0]);
            let turn = if game.to_move(&next) == begins { color } else { other };
            assert_eq!(gtp.line(&format!("play {turn} nonsense")).lines[0], "? illegal move", "{names:?}");
            let wrong = if turn == color { other } else { color };
            assert!(gtp.line(&format!("play {wrong} nonsense")).lines[0].ends_with("'s turn"), "{names:?}");
            assert_eq!(gtp.line("undo").lines[0], "=");
        }
        // names of players keep their meaning, but Go's color names take precedence: Custodial Trap has a player B
        for (player, name) in names.into_iter().enumerate() {
            if ["b", "black", "white"].contains(&name.to_lowercase().as_str()) {
                continue;
            }
            let said = Gtp::new(game.clone(), "test").line(&format!("play {name} nonsense")).lines;
            assert_eq!(said[0] == "? illegal move", begins.index() == player, "{names:?}");
        }
    }
}

fn text_game(id: &str) -> AnyGame {
    Catalog::of::<Games>().open(id, &Default::default()).unwrap().game
}

/// Black also begins in Phage; its clock and its score are exchanged together with the colors.
#[test]
fn gtp_exchanges_colors_whole() {
    let game = game::<Phage>("");
    let mut talk = Talk::new(&game, Gtp::new(game.clone(), "test"));
    talk.all(&["time_settings 60 0 0", "time_left b 7 0"]);
    assert_eq!(talk.limits("genmove b").clock.unwrap().left, Duration::from_secs(7));
    assert!(talk.say("genmove b")[0].ends_with("white's turn"));
    assert_eq!(talk.limits("genmove w").clock.unwrap().left, Duration::from_secs(60));
    talk.say("clear_board");
    assert!(talk.say("genmove w")[0].starts_with("= "));
    let y = text_game("y");
    let mut talk = Talk::new(&y, Gtp::new(y.clone(), "test"));
    let mut side = ["b", "w"].into_iter().cycle();
    let last = loop {
        let said = talk.say(&format!("genmove {}", side.next().unwrap()));
        if said[0] == "= resign" || said[0] == "= pass" {
            break said[0] == "= resign";
        }
    };
    // the loser resigns; the other color has won
    let loser = side.next().map(|next| if next == "b" { "w" } else { "b" }).unwrap();
    let score = if (loser == "b") == last { "= W+1" } else { "= B+1" };
    assert_eq!(talk.say("final_score"), [score, ""]);
}

#[test]
fn gtp_swaps_and_sets_hex_up() {
    let game = text_game("hex");
    let mut talk = Talk::new(&game, Gtp::new(game.clone(), "test"));
    assert_eq!(talk.all(&["boardsize 11 11", "play black c2", "play white swap-pieces"]).concat(), "===");
    let swapped = talk.say("showboard");
    // as programs for Hex set up a swap: only the stone, and no second swap
    assert_eq!(talk.all(&["clear_board", "play white b3"]).concat(), "==");
    assert_eq!(talk.say("showboard")[..12], swapped[..12]);
    assert_eq!(talk.say("play black swap-pieces"), ["? illegal move", ""]);
    // stones in any order, as they are on the board
    assert_eq!(
        talk.all(&["clear_board", "play white a1", "play white b1", "play black c1", "play white d1"])
            .concat(),
        "====="
    );
    assert_eq!(talk.say("play white d1"), ["? illegal move", ""]);
    assert!(
        talk.say("showboard")
            .iter()
            .any(|line| line.split_whitespace().eq(["1", "B", "B", "R", "B"].into_iter().chain(["."; 7]))),
        "{:?}",
        talk.say("showboard")
    );
    assert!(talk.say("genmove w")[0].starts_with("= "));
    assert_eq!(talk.all(&["undo"; 5]).concat(), "=====");
    assert_eq!(talk.say("undo"), ["? cannot undo", ""]);
    // no position can be set up if stones capture, or if the text of a position does not say whose turn it is
    let othello = text_game("othello");
    let mut talk = Talk::new(&othello, Gtp::new(othello.clone(), "test"));
    assert_eq!(talk.all(&["play b d3", "play b e3"])[2..], ["? it is White's turn", ""]);
}

/// A text with an option for its size is played on a board of the requested size.
#[test]
fn gtp_takes_the_size_that_is_asked_for() {
    let rules = Catalog::of::<Games>().open("hex", &Default::default()).unwrap();
    let identity = rules.identity.clone();
    let gtp = Gtp::new(rules.game.clone(), "test")
        .with_boards(move |width, height| resized(&identity, width, height));
    let contestant = Contestant::new(&rules, &AgentSpec::Rollout(20)).unwrap();
    let mut talk = Talk::new(&rules.game, gtp);
    talk.thinker = Thinker::new(rules.game, contestant.search_agent(stream(1, Purpose::Agent, &[])).unwrap())
        .with_boards(move |game| {
            contestant.of_game(game).unwrap().search_agent(stream(1, Purpose::Agent, &[])).unwrap()
        });
    assert_eq!(talk.all(&["boardsize 13", "play b m13"]).concat(), "==");
    assert!(talk.say("genmove w")[0].starts_with("= "));
    assert_eq!(
        talk.all(&["boardsize 4 4", "play b m13", "play b d4"]),
        ["=", "", "? illegal move", "", "=", ""]
    );
    assert!(talk.say("genmove w")[0].starts_with("= "));
    assert_eq!(
        talk.all(&["boardsize 21", "boardsize 4 5"]),
        ["? unacceptable size", "", "? unacceptable size", ""]
    );
}

#[test]
fn gtp_analyzes() {
    let game = game::<TicTacToe>("");
    let mut talk = Talk::new(&game, Gtp::new(game.clone(), "test"));
    talk.all(&["play b b2", "play w a1"]);
    let said = talk.say("3 kata-analyze b 10 maxmoves 2 rootInfo true");
    assert_eq!((said[0].as_str(), said.len(), said[2].as_str()), ("=3", 3, ""));
    let parts: Vec<&str> = said[1].split("info ").skip(1).collect();
    assert_eq!(parts.len(), 2, "{said:?}");
    for (order, part) in parts.iter().enumerate() {
        let words: Vec<&str> = part.split_whitespace().collect();
        let keys: Vec<&str> = words.iter().step_by(2).take(6).copied().collect();
        assert_eq!(keys, ["move", "visits", "winrate", "prior", "order", "pv"]);
        assert_eq!((words[9], words[1]), (order.to_string().as_str(), words[11]));
        assert!((0.0..=1.0).contains(&words[5].parse::<f64>().unwrap()) && words[5].contains('.'));
    }
    let task = talk.searches.last().unwrap();
    assert_eq!((task.limits.infinite, task.analysis), (true, Some(Duration::from_millis(100))));
    let said = talk.say("lz-analyze");
    assert!(said[1].split_whitespace().nth(6).unwrap().parse::<u32>().unwrap() <= 10_000, "{said:?}");
    for generate in ["genmove_analyze", "lz-genmove_analyze", "kata-genmove_analyze"] {
        assert_eq!(talk.say(&format!("known_command {generate}")), ["= true", ""]);
        let color = if generate.starts_with('l') { "w" } else { "b" };
        let said = talk.say(&format!("5 {generate} {color} 20"));
        assert_eq!(said[0], "=5");
        assert!(said[1].starts_with("info move ") && said[2].starts_with("play ") && said[3].is_empty());
        assert!(!talk.searches.last().unwrap().limits.infinite);
    }
    assert_eq!(talk.say("lz-analyze b"), ["? it is O's turn", ""]);
    assert_eq!(
        talk.say("kata-analyze w avoid b a1 1")[0],
        "? avoid and allow are not supported: all actions are searched"
    );
    assert_eq!(talk.say("lz-analyze w fast"), ["? syntax error", ""]);
    let before = talk.say("showboard");
    let legal = talk.say("all_legal_moves")[0].clone();
    let generated = talk.say("reg_genmove w")[0].clone();
    assert!(legal.contains(generated.trim_start_matches("= ")) && legal.split(' ').count() == 5, "{legal}");
    assert_eq!(talk.say("showboard"), before);
}

#[test]
fn gtp_loads_sgf() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a game.sgf");
    let load = |talk: &mut Talk<Gtp>, text: &str, number: &str| {
        std::fs::write(&path, text).unwrap();
        talk.say(&format!("loadsgf {} {number}", path.display()))[0].clone()
    };
    let othello = text_game("othello");
    let mut talk = Talk::new(&othello, Gtp::new(othello.clone(), "test"));
    assert_eq!(load(&mut talk, "(;GM[2]SZ[8];B[fe];W[fd];B[dc])", ""), "=");
    assert_eq!(talk.all(&["play b c3", "undo", "undo", "undo", "undo"])[0], "? it is White's turn");
    assert_eq!(load(&mut talk, "(;GM[2]SZ[8];B[fe];W[fd];B[dc])", "2"), "=");
    assert_eq!(talk.say("play b c3"), ["? it is White's turn", ""]);
    assert_eq!(load(&mut talk, "(;GM[2]SZ[8]AB[ca]PL[W])", ""), "=");
    assert!(talk.say("showboard").iter().any(|line| line.contains('8') && line.contains('X')));
    let wrong = load(&mut talk, "(;GM[2]SZ[8];B[aa])", "");
    assert!(wrong.starts_with("? cannot load file: action 1: "), "{wrong}");
    let wrong = load(&mut talk, "(;GM[2]SZ[9];B[aa])", "");
    assert!(wrong.starts_with("? cannot load file: the file has a board of 9 x 9"), "{wrong}");
    assert!(talk.say("loadsgf none.sgf")[0].starts_with("? cannot load file: "));
    let tic = game::<TicTacToe>("");
    let mut talk = Talk::new(&tic, Gtp::new(tic.clone(), "test"));
    let wrong = load(&mut talk, "(;SZ[3]AB[aa]AW[bb])", "");
    assert!(wrong.contains("cannot be set up") || wrong.contains("cannot begin"), "{wrong}");
}

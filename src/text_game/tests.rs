//! Compares the texts of known games with the same games in Rust, and with published numbers.

use std::path::Path;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::compile::tests::compare;
use super::*;
use crate::any::{AnyGame, Opened};
use crate::conformance;
use crate::game::{Game, Outcome, Player};
use crate::registry::Catalog;

/// A text that comes with Petteia.
fn shipped(name: &str, settings: &[(&str, i64)]) -> AnyGame {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("rules").join(format!("{name}.game"));
    let text = std::fs::read_to_string(&path).unwrap();
    let settings = settings.iter().map(|(name, value)| (name.to_string(), (*value).into())).collect();
    match read(&text, &settings) {
        Ok(game) => with_game!(game, game => AnyGame::of(game)),
        Err(problem) => panic!("{name}: {problem}"),
    }
}

fn by_hand(id: &str) -> Opened {
    // a text cannot express that the previous action forbids an exchange, so the ban is switched off
    let settings =
        if id == "caissa" { [("exchange_ban".to_string(), false.into())].into() } else { Settings::new() };
    Catalog::of::<crate::games::Games>().open(id, &settings).unwrap()
}

/// Plays random games by the text and by the rules in Rust, and checks that the legal actions, the player to move, the
/// result, and the symmetries are always the same.
fn play_alike(name: &str, settings: &[(&str, i64)], id: &str, games: u64) {
    let (text, hand) = (shipped(name, settings), by_hand(id).game);
    let games = asked_for("PETTEIA_GAMES").unwrap_or(games);
    assert_eq!(text.shape().actions, hand.shape().actions, "{name}");
    for seed in 0..games {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let (mut one, mut other) = (text.initial(), hand.initial());
        let mut played = Vec::new();
        loop {
            let place =
                || format!("{name}, seed {seed}, after {}: {}", played.join(" "), text.state_text(&one));
            let legal = text.legal(&one);
            assert_eq!(legal, hand.legal(&other), "{}", place());
            assert_eq!(text.outcome(&one), hand.outcome(&other), "{}", place());
            assert_eq!(text.to_move(&one), hand.to_move(&other), "{}", place());
            assert_eq!(text.symmetries(&one), hand.symmetries(&other), "{}", place());
            let Some(action) = (!legal.is_empty()).then(|| legal[random.random_range(0..legal.len())]) else {
                break;
            };
            for symmetry in text.symmetries(&one) {
                let images = [text.map_action(*symmetry, action), hand.map_action(*symmetry, action)];
                assert_eq!(images[0], images[1], "{symmetry} of {action:?}, {}", place());
            }
            played.push(text.action_text(&one, action));
            text.play(&mut one, action);
            hand.play(&mut other, action);
        }
    }
}

#[test]
fn tic_tac_toe_is_the_same_by_text() {
    play_alike("tic-tac-toe", &[], "tic-tac-toe", 100);
}

#[test]
fn connect_four_is_the_same_by_text() {
    play_alike("connect-four", &[], "connect-four", 100);
}

#[test]
fn phage_is_the_same_by_text() {
    play_alike("phage", &[], "phage", 100);
}

#[test]
fn cage_is_the_same_by_text() {
    for (size, id) in [(10, "cage"), (8, "cage-8"), (6, "cage-6"), (4, "cage-4")] {
        play_alike("cage", &[("size", size)], id, 20);
    }
}

#[test]
fn custodial_trap_is_the_same_by_text() {
    play_alike("custodial-trap", &[], "custodial-trap-intro", 10);
    play_alike("custodial-trap-intermediate", &[], "custodial-trap-intermediate", 10);
}

#[test]
fn caissa_is_the_same_by_text() {
    play_alike("caissa", &[], "caissa", 50);
}

/// Checks the numbers of action sequences against published numbers.
#[test]
fn perft_is_as_published() {
    let counts = |name: &str, settings: &[(&str, i64)], depths: &[u64]| {
        let game = shipped(name, settings);
        for (depth, expected) in (1..).zip(depths) {
            assert_eq!(game.perft(&game.initial(), depth), *expected, "{name} at depth {depth}");
        }
    };
    counts("othello", &[], &[4, 12, 56, 244, 1396, 8200, 55_092, 390_216]);
    counts("breakthrough", &[], &[22, 484, 11_132, 256_036, 6_182_818]);
    // moves and shots are two actions here
    counts("amazons", &[], &[80, 2176, 168_420, 4_307_152]);
    counts("ataxx", &[], &[16, 256, 6460, 155_888]);
    counts("clobber", &[("width", 5), ("height", 6)], &[49, 2116, 80_063]);
    // these numbers come from scripts/check/text_games.py, which was written from the published rules
    counts("lines-of-action", &[], &[36, 1244, 44_952]);
    counts("hasami-shogi", &[], &[63, 3717, 254_219]);
    counts("hex", &[("size", 7)], &[49, 2401, 112_896]);
    counts("konane", &[], &[4, 12, 28, 164, 800, 5976]);
}

#[test]
fn every_shipped_text_keeps_the_contract() {
    for (name, _) in all_texts() {
        let game = shipped(&name, &[]);
        let games = if game.max_plies() > 500 { 1 } else { 3 };
        conformance::check(&game, games, 1).unwrap_or_else(|violation| panic!("{name}: {violation}"));
    }
}

/// Texts whose games once broke the contract.
const HARD: [(&str, &str); 9] = [
    (
        "a line without squares before a line with squares",
        "board 4 x 4\npiece man W w\nstart man: row 1 | row 4\naction pass\naction step man any direction to empty",
    ),
    (
        "a swap before steps",
        "board 4 x 4\npiece man W w\nstart man: row 1 | row 4\naction swap, if ply = 1\naction step man any direction \
            to empty",
    ),
    ("a drop before placing", "board 4 x 4\npiece man W w\naction drop man\naction place man to empty"),
    (
        "stopping in an earlier group",
        "board 4 x 4\npiece man W w\nstart man: a1 d1 | a4 d4\naction pass, if passes = 0 and ply > 4\notherwise step \
            man any direction to empty, again may\notherwise pass",
    ),
    (
        "goals on neighboring sides",
        "board 5 x 5\npiece man W b\nstart man: b1 c1 d1 | a2 a3 a4\nset goal = edge north | edge east\naction step \
            man any direction to empty\nend count (own and goal) > 2: win",
    ),
    (
        "goals on neighboring sides of hexagons",
        "board hex 4 x 4\npiece man W b\nset goal = edge north | edge east\naction place man to empty\nend count (own \
            and goal) > 2: win",
    ),
    (
        "a piece that is gone",
        "board 3 x 1\npiece man W w\naction place man to empty, again may, remove to\notherwise pass",
    ),
    ("two ways to pass", "board 4 x 3\npiece man W w\notherwise pass\naction pass"),
    (
        "two ways to stop",
        "board 3 x 3\npiece man W w\nstart man: row 1 | row 3\naction step man any direction to empty, again \
            may\notherwise pass, if ply < 5\notherwise pass",
    ),
];

#[test]
fn texts_that_broke_the_contract_keep_it() {
    for (what, lines) in HARD {
        let text = format!("game Hard by me\n{lines}\nstuck: draw\nlimit 20: draw\n");
        let game = read(&text, &Settings::new()).unwrap_or_else(|problem| panic!("{what}: {problem}"));
        with_game!(game, game => {
            conformance::check(&game, 30, 1).unwrap_or_else(|violation| panic!("{what}: {violation}"));
        });
    }
}

/// Checks that a symmetry maps the goals of both players to themselves. Here one player has the north and east edges,
/// the other the south and west edges. No mirroring does this for both players, even if one player's view is symmetric.
#[test]
fn a_symmetry_is_one_of_the_board_for_both_players() {
    for (what, lines) in HARD.iter().filter(|(what, _)| what.starts_with("goals")) {
        let text = format!("game Hard by me\n{lines}\nstuck: draw\nlimit 20: draw\n");
        let game = read(&text, &Settings::new()).unwrap_or_else(|problem| panic!("{what}: {problem}"));
        with_game!(game, game => {
            let start = game.initial();
            assert!(game.symmetries(&start).iter().all(|symmetry| !symmetry.mirror_columns || symmetry.transpose),
                "{what}");
        });
    }
}

#[test]
fn who_places_no_piece_has_none_that_goes_on() {
    let text = "game Wall by me\nboard 3 x 3\npiece man W w\nstate wall #\naction place wall to empty, again \
        may\notherwise pass\nlimit 9: draw";
    let Err(problem) = read(text, &Settings::new()) else { panic!("nothing goes on") };
    assert_eq!(problem.line, 5);
    assert!(problem.what.contains("`again` needs a piece"), "{problem}");
}

#[test]
fn who_captures_the_last_attacker_wins_brandubh() {
    let game = shipped("brandubh", &[]);
    let mut state = game.parse_state("7/7/7/4K2/7/2WB3/7 w 0").unwrap();
    let action = game.parse_action(&state, "e4-e2").expect("the king arrives beside the attacker");
    game.play(&mut state, action);
    assert_eq!(game.outcome(&state), Some(Outcome::Win(Player::Second)));
}

/// Returns the names and the texts of `rules/`.
pub(super) fn all_texts() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("rules");
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut texts: Vec<(String, String)> = paths
        .map(|path| {
            (path.file_stem().unwrap().to_str().unwrap().into(), std::fs::read_to_string(&path).unwrap())
        })
        .collect();
    texts.sort();
    texts
}

/// Checks that a text in which one word was left out, doubled, or replaced gives either an error with its place or a
/// game that keeps the contract.
#[test]
fn mutated_texts_are_errors_with_a_place_or_games() {
    let texts = all_texts();
    let words: Vec<&str> = texts.iter().flat_map(|(_, text)| text.split_whitespace()).collect();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
    let (mut errors, mut games) = (0, 0);
    for number in 0..asked_for("PETTEIA_MUTANTS").unwrap_or(40) as usize {
        let (name, text) = &texts[number % texts.len()];
        // each part is a word with the space after it
        let parts: Vec<&str> = text.split_inclusive([' ', '\n']).collect();
        let at = random.random_range(0..parts.len());
        let mut parts: Vec<String> = parts.iter().map(|part| part.to_string()).collect();
        match random.random_range(0..3) {
            0 => parts[at] = String::new(),
            1 => parts[at] = parts[at].repeat(2),
            _ => {
                let end = parts[at].trim_end().len();
                let word = words[random.random_range(0..words.len())];
                parts[at] = format!("{word}{}", &parts[at][end..]);
            }
        }
        let mutant: String = parts.concat();
        let judge = || match read(&mutant, &Settings::new()) {
            Err(problem) => {
                assert!(problem.line >= 1 && problem.line <= mutant.lines().count().max(1), "{problem}");
                assert!(!problem.what.is_empty());
                Err(problem)
            }
            Ok(game) => Ok(with_game!(game, game => judged(&game))),
        };
        let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(judge));
        match found {
            Ok(Err(_)) => errors += 1,
            Ok(Ok(None)) => games += 1,
            Ok(Ok(Some(violation))) => panic!("{name}, mutant {number}: {violation}\n{mutant}"),
            Err(_) => panic!("{name}, mutant {number} panics:\n{mutant}"),
        }
    }
    assert!(errors > 0 && games > 0);
}

fn asked_for(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Returns the violation that the conformance test finds in a few games, if there is one.
fn judged<M: Mask>(game: &TextGame<M>) -> Option<String> {
    compare(game, 2);
    let quick = game.max_plies() <= 130;
    conformance::check(game, if quick { 2 } else { 1 }, 3).err().map(|violation| violation.to_string())
}

#[test]
fn actions_with_the_same_words_are_numbered() {
    let text = "game Two by me\nboard 4 x 4\npiece man W w\nstart man: a1 | d4\n\
        phase one\naction step man any direction to empty\naction step man any direction to empty, phase two\n\
        phase two\naction step man any direction to empty, phase one\nstuck: draw\nlimit 9: draw\n";
    let game = read(text, &Settings::new()).unwrap_or_else(|problem| panic!("{problem}"));
    let game = with_game!(game, game => AnyGame::of(game));
    let start = game.initial();
    let legal = game.legal(&start);
    let mut texts: Vec<String> = legal.iter().map(|action| game.action_text(&start, *action)).collect();
    for (action, text) in legal.iter().zip(&texts) {
        assert_eq!(game.parse_action(&start, text), Some(*action), "{text}");
    }
    texts.sort_unstable();
    assert_eq!(texts, ["a1-a2", "a1-a2/2", "a1-b1", "a1-b1/2", "a1-b2", "a1-b2/2"]);
    for text in ["a1-a2/1", "a1-a2/02", "a1-a2/3", "a1-a2/", "a1-a3/2", "/2", ""] {
        assert_eq!(game.parse_action(&start, text), None, "{text}");
    }
}

//! Compares Breakthrough, Gomoku, and Hex with slow second implementations and Othello with published counts, and runs
//! the checks that Petteia has for any game.

use std::path::Path;

use breakthrough::Games;
use breakthrough::gomoku::Gomoku;
use breakthrough::hex::Hex;
use breakthrough::rules::Breakthrough;
use petteia::conformance::{check, playthrough, random_game, unchanged};
use petteia::game::{Game, Outcome, Player, Rules};
use petteia::options::{GameOptions, Settings};
use petteia::registry::Registry;

/// A simple implementation: squares are letters, ranks start at White's side; no reversed boards, no bitboards.
mod slow {
    pub type Board = Vec<Vec<char>>;

    pub fn initial(side: usize) -> Board {
        let rank = |row: usize| match row {
            0 | 1 => 'W',
            _ if row >= side - 2 => 'B',
            _ => '.',
        };
        (0..side).map(|row| vec![rank(row); side]).collect()
    }

    fn is_won(board: &Board) -> bool {
        let last = board.len() - 1;
        let none = |mark: char| !board.iter().flatten().any(|on| *on == mark);
        board[last].contains(&'W') || board[0].contains(&'B') || none('W') || none('B')
    }

    /// The number of sequences of `depth` actions.
    pub fn count(board: &Board, mover: char, depth: usize) -> u64 {
        if depth == 0 {
            return 1;
        }
        if is_won(board) {
            return 0;
        }
        let (forward, other) = if mover == 'W' { (1, 'B') } else { (-1, 'W') };
        let side = board.len() as i32;
        let mut sequences = 0;
        for (row, column) in (0..side).flat_map(|row| (0..side).map(move |column| (row, column))) {
            if board[row as usize][column as usize] != mover {
                continue;
            }
            for step in -1..=1 {
                let (to_row, to_column) = (row + forward, column + step);
                if !(0..side).contains(&to_row) || !(0..side).contains(&to_column) {
                    continue;
                }
                let target = board[to_row as usize][to_column as usize];
                if target == mover || (target == other && step == 0) {
                    continue;
                }
                let mut next = board.clone();
                next[row as usize][column as usize] = '.';
                next[to_row as usize][to_column as usize] = mover;
                sequences += count(&next, other, depth - 1);
            }
        }
        sequences
    }
}

/// The contents of `tests/perft.txt`: id, depth, and the number of sequences that the slow rules counted.
fn counts() -> impl Iterator<Item = (&'static str, usize, u64)> {
    include_str!("perft.txt").lines().filter(|line| !line.starts_with('#')).map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        (fields[0], fields[1].parse().unwrap(), fields[2].parse().unwrap())
    })
}

#[test]
fn perft_agrees_with_the_file() {
    assert!(counts().count() >= 10);
    for (id, depth, expected) in counts() {
        let found = {
            let game = Games::open(id, &Settings::new()).unwrap().game;
            game.perft(&game.initial(), depth)
        };
        assert_eq!(found, expected, "{id}, depth {depth}");
    }
}

/// With the slow rules, the deeper counts take minutes, so they are checked only with PETTEIA_DEEP=1.
#[test]
fn the_file_agrees_with_the_slow_rules() {
    let most = if std::env::var_os("PETTEIA_DEEP").is_some() { u64::MAX } else { 300_000 };
    for (id, depth, expected) in counts().filter(|(_, _, expected)| *expected <= most) {
        let side = if id.ends_with("-5") { 5 } else { 8 };
        assert_eq!(slow::count(&slow::initial(side), 'W', depth), expected, "{id}, depth {depth}");
    }
}

/// Runs the conformance test, and compares one game with its text, which a person has reviewed.
#[test]
fn the_rules_conform() {
    for id in Games::ids() {
        let rules = Games::open(&id, &Settings::new()).unwrap();
        let games = match id.split('-').next() {
            Some("gomoku") => 10,
            Some("hex") => 40,
            _ => 200,
        };
        if let Err(problem) = check(&rules.game, games, 1) {
            panic!("{id}: {problem}");
        }
        if ["gomoku-19", "hex", "hex-7"].contains(&&*id) {
            continue; // on the larger board, the game would be long and show nothing new
        }
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/playthrough/{id}.txt"));
        unchanged(&path, &playthrough(&rules, 7)).unwrap_or_else(|problem| panic!("{problem}"));
    }
}

/// All ranks, files, and diagonals of the board as text.
fn lines(text: &str) -> Vec<String> {
    let ranks: Vec<Vec<char>> = text.split('/').map(|rank| rank.chars().collect()).collect();
    let side = ranks.len();
    let at = |row: usize, column: usize| ranks.get(row).and_then(|rank| rank.get(column)).copied();
    let line = |next: &dyn Fn(usize) -> Option<char>| (0..side).filter_map(next).collect();
    let mut lines: Vec<String> = ranks.iter().map(|rank| rank.iter().collect()).collect();
    lines.extend((0..side).map(|column| line(&|n| at(n, column))));
    for first in 0..2 * side {
        lines.push(line(&|n| at(n, (first + n).checked_sub(side)?)));
        lines.push(line(&|n| at(n, first.checked_sub(n)?)));
    }
    lines
}

#[test]
fn gomoku_ends_when_its_text_has_five_in_a_row() {
    for id in ["gomoku", "gomoku-19"] {
        let variant = id.strip_prefix("gomoku").unwrap().trim_start_matches('-');
        let options = GameOptions { variant: variant.into(), ..GameOptions::default() };
        let Rules { game, .. } = Rules::<Gomoku>::new(&options).unwrap();
        let mut wins = [0, 0];
        for seed in 0..40 {
            for state in random_game(&game, seed).0 {
                let view = game.view(&state);
                let board: Vec<String> = view.cells.iter().map(|rank| rank.concat()).collect();
                let lines = lines(&board.join("/"));
                let has = |row: &str| lines.iter().any(|line| line.contains(row));
                let expected = match (has("BBBBB"), has("WWWWW")) {
                    (false, false) => None,
                    (black, _) => Some(Outcome::Win(if black { Player::First } else { Player::Second })),
                };
                let outcome = game.outcome(&state);
                assert_eq!(
                    outcome.filter(|outcome| *outcome != Outcome::Draw),
                    expected,
                    "{}",
                    board.join("/")
                );
                if let Some(Outcome::Win(player)) = outcome {
                    wins[player.index()] += 1;
                }
            }
        }
        assert!(wins.iter().all(|wins| *wins > 5), "{wins:?}");
    }
}

/// Plays to a position as in real games, where the points of view of both players matter.
#[test]
fn texts_of_actions_use_the_squares_of_the_board() {
    let Rules { game, .. } = Rules::<Breakthrough>::new(&Default::default()).unwrap();
    let mut state = game.initial();
    for text in ["a2-b3", "h7-g6", "b3-b4", "g6-g5", "b4-b5", "g5-g4", "b5-b6", "a7-b6"] {
        let action = game.parse_action(&state, text).unwrap_or_else(|| panic!("{text}"));
        assert_eq!(game.action_text(&state, action), text);
        game.play(&mut state, action);
    }
    assert_eq!(game.state_text(&state), "BBBBBBBB/1BBBBBB1/1B6/8/6B1/8/1WWWWWWW/WWWWWWWW W");
}

/// Many programs have counted these numbers; A. Bik was the first to publish them for this depth,
/// <https://www.aartbik.com/strategy.php>.
#[test]
fn othello_has_as_many_sequences_as_published() {
    let game = Games::open("othello", &Settings::new()).unwrap().game;
    for (depth, expected) in [4, 12, 56, 244, 1396, 8200, 55092, 390_216, 3_005_288].into_iter().enumerate() {
        assert_eq!(game.perft(&game.initial(), depth + 1), expected, "depth {}", depth + 1);
    }
}

/// The colors that connect their edges on a board of text, found by a search without bit operations. Ranks are from
/// the top.
fn connected(board: &[Vec<char>]) -> Vec<char> {
    let side = board.len() as i32;
    let is = |row: i32, column: i32, color: char| {
        let rank = usize::try_from(row).ok().and_then(|row| board.get(row));
        rank.zip(usize::try_from(column).ok()).and_then(|(rank, column)| rank.get(column)) == Some(&color)
    };
    let reaches = |color: char| {
        let edge = |(row, column): (i32, i32), last: bool| {
            let at = if color == 'R' { row } else { column };
            at == if last { side - 1 } else { 0 }
        };
        let all = (0..side).flat_map(|row| (0..side).map(move |column| (row, column)));
        let mut open: Vec<(i32, i32)> = all.filter(|at| edge(*at, false) && is(at.0, at.1, color)).collect();
        let mut seen = open.clone();
        while let Some((row, column)) = open.pop() {
            if edge((row, column), true) {
                return true;
            }
            // rows are numbered downward here
            for (down, right) in [(0, 1), (0, -1), (1, 0), (-1, 0), (1, 1), (-1, -1)] {
                let next = (row + down, column + right);
                if is(next.0, next.1, color) && !seen.contains(&next) {
                    seen.push(next);
                    open.push(next);
                }
            }
        }
        false
    };
    ['R', 'B'].into_iter().filter(|color| reaches(*color)).collect()
}

#[test]
fn hex_ends_when_its_text_has_a_chain() {
    for variant in ["", "7", "5"] {
        let options = GameOptions { variant: variant.into(), ..GameOptions::default() };
        let Rules { game, .. } = Rules::<Hex>::new(&options).unwrap();
        let mut wins = [0, 0];
        for seed in 0..40 {
            for state in random_game(&game, seed).0 {
                let view = game.view(&state);
                let board: Vec<Vec<char>> =
                    view.cells.iter().map(|rank| rank.concat().chars().collect()).collect();
                let winner = match connected(&board)[..] {
                    [] => None,
                    ['R'] => Some(Player::First),
                    ['B'] => Some(Player::Second),
                    _ => panic!("two chains in {}", game.state_text(&state)),
                };
                assert_eq!(game.outcome(&state), winner.map(Outcome::Win), "{}", game.state_text(&state));
                if let Some(player) = winner {
                    wins[player.index()] += 1;
                }
            }
        }
        assert!(wins.iter().sum::<usize>() == 40 && wins.iter().all(|wins| *wins > 5), "{wins:?}");
    }
}

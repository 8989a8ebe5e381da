//! Makes the set of solved Connect Four positions for `petteia accuracy`: `connect-four-set OUT [COUNT [SEED]]`.
//!
//! Positions are reached by random actions that do not win, and scored by `connect-four-ai`, a perfect solver. They
//! are distributed evenly over the six classes of AlphaZero.jl (after the benchmark of Pascal Pons). The stage is
//! begin up to 14 plies, middle up to 28, then end; the difficulty is easy with fewer than 14 actions to the end of
//! the game with best play, medium with fewer than 28, then hard. The set excludes positions in which the player to
//! move can win at once, and repeated positions, including mirror images. Of the positions in the beginning, three in
//! ten have up to 7 plies, one has 8 to 11 (which take the longest to solve), and six have 12 to 14. With `--quick`,
//! for large training sets, all of them have 12 to 14 plies, a third of the positions is drawn from each stage, and
//! the classes are not balanced.
//!
//! A candidate depends only on the seed and its number, so the set does not depend on threads or time. With `--check
//! FILE`, the program instead compares the solver with lines `ACTIONS SCORE`, such as those of Pascal Pons'
//! benchmark; with `--targets RUN`, it compares the solver with a run's training targets (see [`targets`]). With
//! `--ugi`, it is a perfect player (see [`player`]).

mod player;
mod targets;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use connect_four_ai::{Position, Solver};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

const CLASSES: [&str; 6] =
    ["begin-easy", "begin-medium", "begin-hard", "middle-easy", "middle-medium", "end-easy"];
/// The last ply of the beginning, and of the middle.
const STAGES: [usize; 2] = [14, 28];
const CELLS: usize = 42;
/// The number of candidates that are solved together.
const BLOCK: u64 = 64;
/// The number of attempts to reach a random position.
const ATTEMPTS: usize = 100;

thread_local! {
    /// One solver per thread, with its large table. Its answers do not depend on what it solved before.
    static SOLVER: RefCell<Solver> = RefCell::new(Solver::new());
}

/// A position that was reached at random, and its score for the player to move.
struct Candidate {
    actions: String,
    position: Position,
    score: i8,
    class: &'static str,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--check", file] => check(file),
        ["--ugi"] => player::play(std::io::stdin().lock(), std::io::stdout().lock()),
        ["--targets", run] => targets::targets(Path::new(run), 100, 1),
        ["--targets", run, count, seed] => match (count.parse(), seed.parse()) {
            (Ok(count), Ok(seed)) => targets::targets(Path::new(run), count, seed),
            _ => Err(format!("{count} and {seed} must be numbers")),
        },
        [out] => make(out, 2000, 1, false),
        [out, count, seed, ref quick @ ..] if matches!(quick, [] | ["--quick"]) => {
            match (count.parse(), seed.parse()) {
                (Ok(count), Ok(seed)) => make(out, count, seed, !quick.is_empty()),
                _ => Err(format!("{count} and {seed} must be numbers")),
            }
        }
        _ => Err("usage: connect-four-set OUT [COUNT SEED [--quick]], connect-four-set --check FILE, connect-four-set \
            --targets RUN [COUNT SEED], or connect-four-set --ugi".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn make(out: &str, count: usize, seed: u64, quick: bool) -> Result<(), String> {
    let started = Instant::now();
    let mut lines: Vec<Vec<Value>> = vec![Vec::new(); CLASSES.len()];
    // the first classes get one extra position if the count is not a multiple of the number of classes
    let quota = |class: usize| {
        if quick { usize::MAX } else { count / CLASSES.len() + usize::from(class < count % CLASSES.len()) }
    };
    let mut seen = BTreeSet::new();
    let mut block = 0;
    while lines.iter().map(Vec::len).sum::<usize>() < count {
        let open = |class: &str| {
            let class = CLASSES.iter().position(|known| *known == class).expect("it is one of them");
            (lines[class].len() < quota(class)).then_some(class)
        };
        let stages: Vec<usize> = (0..3)
            .filter(|stage| CLASSES.iter().any(|class| stage_of(class) == *stage && open(class).is_some()))
            .collect();
        let first = block * BLOCK;
        let candidates: Vec<Option<Candidate>> = (0..BLOCK as usize)
            .into_par_iter()
            .with_max_len(1)
            .map(|at| candidate(seed, first + at as u64, &stages, quick))
            .collect();
        let mut chosen: Vec<(usize, Candidate)> = Vec::new();
        let missing = count - lines.iter().map(Vec::len).sum::<usize>();
        for candidate in candidates.into_iter().flatten() {
            let Some(class) = open(candidate.class) else { continue };
            let taken = chosen.iter().filter(|(other, _)| *other == class).count();
            let wanted = chosen.len() < missing && lines[class].len() + taken < quota(class);
            if wanted && seen.insert(candidate.position.get_key()) {
                chosen.push((class, candidate));
            }
        }
        let scored: Vec<(usize, Value)> = chosen
            .into_par_iter()
            .with_max_len(1)
            .map(|(class, candidate)| (class, line(&candidate)))
            .collect();
        scored.into_iter().for_each(|(class, line)| lines[class].push(line));
        block += 1;
        let filled: Vec<usize> = lines.iter().map(Vec::len).collect();
        eprintln!("{:.0} s, {} candidates: {filled:?}", started.elapsed().as_secs_f64(), block * BLOCK);
    }
    let head = json!({
        "format": 1, "game": "connect-four", "options": {},
        "made_by": format!("connect-four-set {count} {seed}{} with connect-four-ai 1.0.0", if quick { " \
            --quick" } else { "" }),
        "seed": seed, "classes": CLASSES, "count": count,
    });
    let text: Vec<String> =
        [head].iter().chain(lines.iter().flatten()).map(|line| format!("{line}\n")).collect();
    write(Path::new(out), text.concat().as_bytes())
}

/// Writes the file, and its checksum in the format of `sha256sum`.
fn write(out: &Path, text: &[u8]) -> Result<(), String> {
    let packed = zstd::encode_all(text, 19).map_err(|error| error.to_string())?;
    let sha256: String = Sha256::digest(&packed).iter().map(|byte| format!("{byte:02x}")).collect();
    let name = out.file_name().ok_or("OUT must be the name of a file")?.to_string_lossy();
    let checksum = out.with_file_name(format!("{name}.sha256"));
    let failed = |error: std::io::Error| format!("{}: {error}", out.display());
    std::fs::write(out, packed).map_err(failed)?;
    std::fs::write(checksum, format!("{sha256}  {name}\n")).map_err(failed)
}

/// Returns a random position of one of these stages, with its score; `None` if none was found or its class is not
/// wanted.
fn candidate(seed: u64, number: u64, stages: &[usize], quick: bool) -> Option<Candidate> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed.wrapping_shl(40) ^ number);
    let stage = stages[random.random_range(0..stages.len())];
    let plies = match (stage, random.random_range(0..10)) {
        // the solver has an opening book up to 8 plies, and is fast from 12 plies
        (0, _) if quick => 12..=STAGES[0],
        (0, 0..3) => 0..=7,
        (0, 3) => 8..=11,
        (0, _) => 12..=STAGES[0],
        (1, _) => STAGES[0] + 1..=STAGES[1],
        _ => STAGES[1] + 1..=CELLS - 1,
    };
    let plies = random.random_range(plies);
    let (position, actions) = (0..ATTEMPTS).find_map(|_| random_position(&mut random, plies))?;
    let score = SOLVER.with_borrow_mut(|solver| solver.solve(&position));
    let class = class_of(plies, left(plies, score))?;
    Some(Candidate { actions, position, score, class })
}

/// Returns a position after this many random actions that do not win; `None` if there is none, or if the next action
/// can win.
fn random_position(random: &mut Xoshiro256PlusPlus, plies: usize) -> Option<(Position, String)> {
    let (mut position, mut actions) = (Position::new(), String::new());
    for _ in 0..plies {
        let quiet = |column: &usize| position.is_playable(*column) && !position.is_winning_move(*column);
        let columns: Vec<usize> = (0..Position::WIDTH).filter(quiet).collect();
        if columns.is_empty() {
            return None;
        }
        let column = columns[random.random_range(0..columns.len())];
        position.play(column);
        actions.push_str(&(column + 1).to_string());
    }
    let actions = if actions.is_empty() { "-".into() } else { actions };
    (!position.can_win_next()).then_some((position, actions))
}

/// Returns the number of actions to the end of the game with best play. A score of 1 means a win with that player's
/// last man, 2 with the one before.
fn left(plies: usize, score: i8) -> usize {
    let winner_is_second = plies.is_multiple_of(2) == (score < 0);
    let end = match score {
        0 => CELLS,
        _ => 2 * (22 - score.unsigned_abs() as usize) - usize::from(!winner_is_second),
    };
    end - plies
}

fn stage_of(class: &str) -> usize {
    ["begin", "middle", "end"].iter().position(|stage| class.starts_with(stage)).expect("classes begin so")
}

/// Returns the class; `None` for combinations that AlphaZero.jl does not have.
fn class_of(plies: usize, left: usize) -> Option<&'static str> {
    let stage = STAGES.iter().filter(|most| plies > **most).count();
    let difficulty = ["easy", "medium", "hard"][[14, 28].iter().filter(|least| left >= **least).count()];
    CLASSES.into_iter().find(|class| stage_of(class) == stage && class.ends_with(difficulty))
}

/// Returns a line of the set.
fn line(candidate: &Candidate) -> Value {
    let scores = SOLVER.with_borrow_mut(|solver| solver.get_all_move_scores(&candidate.position));
    assert_eq!(scores.iter().flatten().max(), Some(&candidate.score), "{}", candidate.actions);
    let map = |of: fn(i8) -> i8| -> Map<String, Value> {
        let known = scores.iter().enumerate().filter_map(|(column, score)| Some((column + 1, (*score)?)));
        known.map(|(column, score)| (column.to_string(), of(score).into())).collect()
    };
    json!({
        "position": candidate.actions, "class": candidate.class, "plies": candidate.position.get_moves(),
        "values": map(i8::signum), "scores": map(|score| score),
    })
}

/// Compares the solver with known scores.
fn check(file: &str) -> Result<(), String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    let known: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let wrong: Vec<String> = known
        .par_iter()
        .map(|line| {
            let (actions, score) = line.split_once(' ').ok_or(format!("{line}: not ACTIONS SCORE"))?;
            let position = Position::from_moves(actions).map_err(|error| format!("{line}: {error:?}"))?;
            let found = SOLVER.with_borrow_mut(|solver| solver.solve(&position));
            Ok((score.trim() != found.to_string()).then(|| format!("{line}: the solver says {found}")))
        })
        .filter_map(Result::transpose)
        .collect::<Result<_, String>>()?;
    println!("{} of {} scores agree", known.len() - wrong.len(), known.len());
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_say_how_long_a_game_lasts() {
        // the first player wins from the empty board with the 41st man, playing in the center
        assert_eq!((left(0, 1), left(1, -1)), (41, 40));
        // three in a row: the player to move completes them, or blocks in vain
        assert_eq!((left(6, 18), left(7, 18)), (1, 1));
        assert_eq!((left(5, -18), left(6, -18)), (2, 2));
        assert_eq!(left(10, 0), 32);
    }

    #[test]
    fn classes_are_those_of_alphazero_jl() {
        for (plies, left, class) in [
            (14, 13, Some("begin-easy")),
            (14, 14, Some("begin-medium")),
            (14, 28, Some("begin-hard")),
            (15, 27, Some("middle-medium")),
            (28, 13, Some("middle-easy")),
            (29, 13, Some("end-easy")),
        ] {
            assert_eq!(class_of(plies, left), class, "{plies} {left}");
        }
    }
}

//! Compares the training targets of a run with the solver: `connect-four-set --targets RUN [COUNT [SEED]]`.
//!
//! For each generation and stage of the game, the program draws COUNT recorded positions using the seed, and scores
//! them. *Unsafe* is the share of policy targets whose first choice gives the result away, and *mass* the share of
//! the target on actions that do so, both among positions in which an action can give the result away. *Outcome* and
//! *search* are the mean squared errors of the two possible value targets, for values from -1 to 1. *Distinct* is
//! the share of different positions among all of that stage, counting mirror images as the same position.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use connect_four_ai::Position;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;
use serde_json::Value;

use super::SOLVER;

/// The stages, in plies. Plies 7 to 11 are skipped: the solver has no opening book there and takes a minute per
/// position.
const STAGES: [RangeInclusive<usize>; 5] = [0..=6, 12..=17, 18..=23, 24..=29, 30..=41];

/// A training position.
struct Taught {
    actions: String,
    /// The policy target, by column from 0.
    policy: [f64; Position::WIDTH],
    /// The game's outcome and the search's value for the player to move.
    outcome: f64,
    search: f64,
}

/// Sums over the positions of a stage.
#[derive(Default)]
struct Sums {
    scored: f64,
    choices: f64,
    not_safe: f64,
    mass: f64,
    outcome: f64,
    search: f64,
}

/// Prints a table for the generations of a run.
pub fn targets(run: &Path, count: usize, seed: u64) -> Result<(), String> {
    println!("| generation | plies | positions | distinct | unsafe | mass | outcome | search |");
    println!("|---|---|---|---|---|---|---|---|");
    for folder in sorted(&run.join("selfplay"))?.into_iter().filter(|path| path.is_dir()) {
        let mut stages: BTreeMap<usize, Vec<Taught>> = BTreeMap::new();
        for shard in
            sorted(&folder)?.into_iter().filter(|path| path.extension().is_some_and(|end| end == "zst"))
        {
            for (ply, taught) in read(&shard)? {
                if let Some(stage) = STAGES.iter().position(|stage| stage.contains(&ply)) {
                    stages.entry(stage).or_default().push(taught);
                }
            }
        }
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        for (stage, all) in stages {
            let keys: BTreeSet<u64> = all.iter().map(|taught| key(&taught.actions)).collect();
            let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
            let picked: Vec<usize> = (0..count).map(|_| random.random_range(0..all.len())).collect();
            let scored: Vec<Sums> =
                picked.into_par_iter().with_max_len(1).map(|at| score(&all[at])).collect();
            let Sums { scored, choices, not_safe, mass, outcome, search } =
                scored.into_iter().fold(Sums::default(), Sums::and);
            println!(
                "| {} | {}-{} | {} | {:.2} | {:.1} % | {:.1} % | {:.2} | {:.2} |",
                name.trim_start_matches("generation-").trim_start_matches('0'),
                STAGES[stage].start(),
                STAGES[stage].end(),
                all.len(),
                keys.len() as f64 / all.len() as f64,
                100.0 * not_safe / choices,
                100.0 * mass / choices,
                outcome / scored,
                search / scored,
            );
        }
    }
    Ok(())
}

impl Sums {
    fn and(self, other: Sums) -> Sums {
        Sums {
            scored: self.scored + other.scored,
            choices: self.choices + other.choices,
            not_safe: self.not_safe + other.not_safe,
            mass: self.mass + other.mass,
            outcome: self.outcome + other.outcome,
            search: self.search + other.search,
        }
    }
}

fn position(actions: &str) -> Position {
    Position::from_moves(actions).expect("records were checked when they were played")
}

/// Returns the same key for a position and its mirror image.
fn key(actions: &str) -> u64 {
    let mirrored: String = actions.bytes().map(|column| char::from(b'1' + b'7' - column)).collect();
    position(actions).get_key().min(position(&mirrored).get_key())
}

fn score(taught: &Taught) -> Sums {
    let scores = SOLVER.with_borrow_mut(|solver| solver.get_all_move_scores(&position(&taught.actions)));
    let values: Vec<Option<f64>> =
        scores.iter().map(|score| score.map(|score| f64::from(score.signum()))).collect();
    let best = values.iter().flatten().copied().fold(-1.0, f64::max);
    let errs = |column: usize| values[column].is_some_and(|value| value < best);
    let choice = f64::from((0..Position::WIDTH).any(errs));
    let first = (0..Position::WIDTH).max_by(|a, b| taught.policy[*a].total_cmp(&taught.policy[*b]));
    Sums {
        scored: 1.0,
        choices: choice,
        not_safe: f64::from(first.is_some_and(errs)),
        mass: (0..Position::WIDTH).filter(|column| errs(*column)).map(|column| taught.policy[column]).sum(),
        outcome: (taught.outcome - best).powi(2),
        search: (taught.search - best).powi(2),
    }
}

/// Returns the training positions of a shard, each with its ply.
fn read(shard: &Path) -> Result<Vec<(usize, Taught)>, String> {
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", shard.display());
    let packed = std::fs::read(shard).map_err(|error| failed(&error))?;
    let text = zstd::decode_all(&packed[..]).map_err(|error| failed(&error))?;
    let mut found = Vec::new();
    for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let record: Value = serde_json::from_slice(line).map_err(|error| failed(&error))?;
        found.extend(positions(&record).ok_or_else(|| failed(&"not a record of Connect Four"))?);
    }
    Ok(found)
}

fn positions(record: &Value) -> Option<Vec<(usize, Taught)>> {
    let mut actions = record["start"].as_str()?.trim_matches('-').to_string();
    let outcome = match record["outcome"].as_str()? {
        "first" => 1.0,
        "second" => -1.0,
        _ => 0.0,
    };
    let mut found = Vec::new();
    for (ply, action) in record["actions"].as_array()?.iter().enumerate() {
        let of = |name: &str| {
            record[name].get(ply).and_then(Value::as_object).filter(|weights| !weights.is_empty())
        };
        if let Some(visits) = of("visits") {
            let mut policy = [0.0; Position::WIDTH];
            for (column, weight) in of("policy").unwrap_or(visits) {
                policy[column.parse::<usize>().ok()? - 1] = weight.as_f64()?;
            }
            let sum: f64 = policy.iter().sum();
            let wdl = record["wdl"].get(ply)?;
            let taught = Taught {
                actions: actions.clone(),
                policy: policy.map(|weight| weight / sum),
                outcome: if actions.len() % 2 == 0 { outcome } else { -outcome },
                search: wdl[0].as_f64()? - wdl[2].as_f64()?,
            };
            found.push((actions.len(), taught));
        }
        actions.push_str(action.as_str()?);
    }
    Some(found)
}

fn sorted(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let entries = std::fs::read_dir(folder).map_err(failed)?;
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>().map_err(failed)?;
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_record_is_read_from_the_side_to_move() {
        let record = json!({
            "start": "44", "actions": ["1", "7", "7"], "outcome": "second",
            "visits": [{}, {"7": 3, "1": 1}, {"7": 5}], "policy": [{}, {}, {"6": 10, "7": 30}],
            "wdl": [[0.0, 1.0, 0.0], [0.5, 0.25, 0.25], [0.0, 0.0, 1.0]],
        });
        let found = positions(&record).unwrap();
        let plies: Vec<usize> = found.iter().map(|(ply, _)| *ply).collect();
        assert_eq!(plies, [3, 4], "positions without a search are left out");
        let [(_, second), (_, first)] = &found[..] else { unreachable!() };
        assert_eq!((second.actions.as_str(), first.actions.as_str()), ("441", "4417"));
        assert_eq!((second.outcome, second.search, first.outcome, first.search), (1.0, 0.25, -1.0, -1.0));
        assert_eq!((second.policy[0], second.policy[6]), (0.25, 0.75));
        assert_eq!(
            (first.policy[5], first.policy[6]),
            (0.25, 0.75),
            "the target, where it is not the visits"
        );
        assert!(positions(&json!({"start": "-", "actions": ["x"]})).is_none());
    }

    #[test]
    fn mirrored_positions_are_one() {
        assert_eq!(key("1234"), key("7654"));
        assert_ne!(key("1234"), key("1235"));
    }

    #[test]
    fn an_action_that_gives_the_result_away_is_counted() {
        // three in a row for both sides: the first player completes its row in column 4, or loses to the other row
        let taught = |column: usize| {
            let mut policy = [0.0; Position::WIDTH];
            policy[column] = 1.0;
            score(&Taught { actions: "172737".into(), policy, outcome: 1.0, search: 0.5 })
        };
        let (safe, not_safe) = (taught(3), taught(0));
        assert_eq!((safe.choices, safe.not_safe, safe.mass), (1.0, 0.0, 0.0));
        assert_eq!((not_safe.choices, not_safe.not_safe, not_safe.mass), (1.0, 1.0, 1.0));
        assert_eq!((safe.outcome, safe.search), (0.0, 0.25));
    }
}

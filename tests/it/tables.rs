//! `petteia records convert`: tables and arrays, as they are read by programs that infer types.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use petteia::encode::Planes;
use petteia::game::{Game, GameOptions, Rules};
use petteia::games::tic_tac_toe::TicTacToe;
use petteia::replay::record::Record;
use petteia::replay::store;
use serde_json::{Value, json};

use crate::support::command::{err, fails, json_lines, out, python, succeeds};
use crate::support::runs::{Finished, text};

/// A run with random openings and fast searches, whose weights and policies differ from the visits.
static RUN: LazyLock<Finished> = LazyLock::new(|| {
    Finished::new(&[
        "search.root=gumbel",
        "selfplay.surprise_weight=0.5",
        "selfplay.random_plies=3",
        "selfplay.fast_simulations=4",
        "selfplay.full_share=0.5",
    ])
});

fn records() -> Vec<Record> {
    let shards = store::find(&RUN.run()).unwrap().paths;
    shards.iter().flat_map(|path| store::read_unplayed(path).unwrap()).collect()
}

fn rules() -> Rules<TicTacToe> {
    Rules::new(&GameOptions::default()).unwrap()
}

/// Readers treat a column as integers if its first thousands of cells look like integers.
#[test]
fn every_real_number_of_a_table_has_a_decimal_point() {
    let csv = out(&succeeds(&["records", text(&RUN.run()), "convert", "--format", "csv"], ""));
    let mut rows = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let names = rows.next().unwrap();
    let (mut whole, mut others) = (0, 0);
    for row in rows {
        for (name, cell) in names.iter().zip(row) {
            let is_real = ["value", "win", "draw", "loss", "weight"].contains(name);
            assert!(
                !is_real || cell.is_empty() || (cell.contains('.') && !cell.contains('e')),
                "{name}: {cell}"
            );
            let number: Option<f64> = cell.parse().ok().filter(|_| is_real);
            whole += usize::from(number.is_some_and(|number| number.fract() == 0.0));
            others += usize::from(number.is_some_and(|number| number.fract() != 0.0));
        }
    }
    // both kinds must occur, or the test would prove nothing
    assert!(whole > 50 && others > 50, "{whole} whole numbers, {others} others");
}

#[test]
fn positions_are_rows_with_lists() {
    let rows = json_lines(&succeeds(&["records", text(&RUN.run()), "convert", "--format", "positions"], ""));
    let (mut rows, mut unsearched, mut unlike) = (rows.iter(), 0, 0);
    for record in &records() {
        for (ply, row) in rows.by_ref().take(record.actions.len()).enumerate() {
            assert_eq!(row["ply"], ply);
            assert_eq!((&row["game"], &row["action"]), (&json!(record.index), &json!(record.actions[ply])));
            let list = |name: &str| row[name].as_array().unwrap().clone();
            let pairs = |name: &str| list("actions").into_iter().zip(list(name)).collect::<Vec<_>>();
            let visits: BTreeMap<String, u32> = pairs("visits")
                .into_iter()
                .map(|(text, visits)| (text.as_str().unwrap().to_string(), visits.as_u64().unwrap() as u32))
                .filter(|(_, visits)| *visits > 0)
                .collect();
            assert_eq!(visits, record.visits[ply]);
            assert!(list("visits").is_sorted_by(|a, b| a.as_u64() >= b.as_u64()), "{row}");
            for (text, index) in pairs("indices") {
                let (column, line) = text.as_str().unwrap().split_at(1);
                let (column, line) = (column.as_bytes()[0] - b'a', line.parse::<u8>().unwrap());
                assert_eq!(index.as_u64(), Some(u64::from((line - 1) * 3 + column)), "{row}");
            }
            let sum: f64 = list("policy").iter().map(|share| share.as_f64().unwrap()).sum();
            if record.visits[ply].is_empty() {
                unsearched += 1;
                assert!(list("actions").is_empty() && row["weight"] == 0.0, "{row}");
            } else {
                assert!((sum - 1.0).abs() < 1e-5, "{row}");
                let share = |visits: &Value| visits.as_f64().unwrap() / f64::from(visits_of(record, ply));
                let differs = |(visits, taught): (Value, Value)| {
                    (share(&visits) - taught.as_f64().unwrap()).abs() > 0.01
                };
                unlike += usize::from(list("visits").into_iter().zip(list("policy")).any(differs));
            }
            assert_eq!(row["value"].is_null(), record.value(ply).is_none());
        }
    }
    assert_eq!(rows.next(), None);
    assert!(
        unsearched > 20 && unlike > 20,
        "{unsearched} plies without a search, {unlike} policies unlike visits"
    );
}

fn visits_of(record: &Record, ply: usize) -> u32 {
    record.visits[ply].values().sum()
}

/// The header and the bytes of each array.
fn arrays(path: &Path) -> BTreeMap<String, (String, Vec<u8>)> {
    let mut file = zip::ZipArchive::new(fs::File::open(path).unwrap()).unwrap();
    let count = file.len();
    let read = |number: usize| {
        let mut entry = file.by_index(number).unwrap();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        let header = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
        let text = String::from_utf8(bytes[10..10 + header].to_vec()).unwrap();
        (entry.name().trim_end_matches(".npy").to_string(), (text, bytes.split_off(10 + header)))
    };
    (0..count).map(read).collect()
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}

#[test]
fn arrays_hold_what_a_network_reads_and_is_taught() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.npz");
    let run = RUN.run();
    let convert = ["records", text(&run), "convert", "--format", "npz"];
    fails(&convert, 2, &["npz is a binary format", "--out"]);
    succeeds(&[&convert[..], &["--out", text(&file)]].concat(), "");
    let (rules, found) = (rules(), arrays(&file));
    let [planes, values, index, share] =
        ["planes", "plane_values", "policy_index", "policy_share"].map(|name| &found[name].1);
    let [values, share, wdl, weight] =
        [values, share, &found["wdl"].1, &found["weight"].1].map(|bytes| floats(bytes));
    let ends = &found["policy_offsets"].1.as_chunks().0[1..];
    let ends: Vec<usize> = ends.iter().map(|bytes| i64::from_le_bytes(*bytes) as usize).collect();
    let (mut row, mut begin) = (0, 0);
    let shape = rules.identity.shape;
    for record in &records() {
        let mut ply = 0;
        record
            .replay(&rules, |seen| {
                ply += 1;
                if seen.policy.is_empty() {
                    return;
                }
                let mut encoded = Planes::new(shape);
                rules.game.encode(seen.state, &mut encoded);
                let mut numbers = vec![0.0; shape.input_len()];
                encoded.expand(&mut numbers);
                for (place, expected) in numbers.into_iter().enumerate() {
                    let (plane, cell) = (row * shape.planes + place / 9, place % 9);
                    let bit = planes[plane * 2 + cell / 8] >> (cell % 8) & 1;
                    assert_eq!(f32::from(bit) * values[plane], expected);
                }
                let legal: Vec<usize> = seen.legal.iter().map(|action| action.index()).collect();
                let listed = index[begin * 2..ends[row] * 2].as_chunks().0.iter();
                assert_eq!(
                    listed.map(|bytes| usize::from(u16::from_le_bytes(*bytes))).collect::<Vec<_>>(),
                    legal
                );
                let sum: u32 = seen.policy.iter().map(|(_, weight)| weight).sum();
                for (action, found) in seen.legal.iter().zip(&share[begin..ends[row]]) {
                    let weight =
                        seen.policy.iter().find(|(taught, _)| taught == action).map_or(0, |(_, n)| *n);
                    assert!((found - weight as f32 / sum as f32).abs() < 1e-6);
                }
                assert_eq!(wdl[row * 3..row * 3 + 3], record.wdl[ply - 1]);
                assert_eq!(weight[row], seen.weight);
                let won = match record.outcome.as_str() {
                    "draw" => 0,
                    winner if winner == rules.game.to_move(seen.state).id() => 1,
                    _ => -1,
                };
                assert_eq!(found["outcome"].1[row] as i8, won);
                (begin, row) = (ends[row], row + 1);
            })
            .unwrap();
    }
    assert_eq!((ends.len(), found["outcome"].1.len()), (row, row));
    assert!(found["planes"].0.contains(&format!("'|u1', 'fortran_order': False, 'shape': ({row}, 2, 2,)")));
    let about: Value = serde_json::from_slice(&found["about"].1).unwrap();
    assert_eq!((&about["game"], &about["shape"]), (&json!("tic-tac-toe"), &json!(shape)));
}

/// A Python program that loads the file as docs/python.md says, and prints its first row and a description of each
/// array.
const LOAD: &str = r#"
import json, sys
import numpy as np
data = np.load(sys.argv[1])
shape = json.loads(data["about"].item())["shape"]
planes, height, width = shape["planes"], shape["height"], shape["width"]
bits = np.unpackbits(data["planes"], axis=2, count=height * width, bitorder="little")
seen = (bits * data["plane_values"][:, :, None]).reshape(-1, planes, height, width)
print(json.dumps({"planes": seen[0].tolist(), "legal": data["policy_index"][: data["policy_offsets"][1]].tolist(),
                  "sizes": {name: [str(data[name].dtype), *data[name].shape] for name in data.files}}))
"#;

#[test]
fn numpy_reads_the_arrays() {
    let Some(python) = python("numpy_reads_the_arrays") else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.npz");
    succeeds(&["records", text(&RUN.run()), "convert", "--format", "npz", "--out", text(&file)], "");
    let loaded = Command::new(python).args(["-c", LOAD, text(&file)]).output().unwrap();
    assert!(loaded.status.success(), "{}", err(&loaded));
    let loaded: Value = serde_json::from_slice(&loaded.stdout).unwrap();
    let rows = json_lines(&succeeds(&["records", text(&RUN.run()), "convert", "--format", "positions"], ""));
    let first = rows.iter().find(|row| row["weight"] != 0.0).unwrap();
    let position = first["position"].as_str().unwrap().to_string() + "\n";
    let analyze = ["analyze", "tic-tac-toe", "--agent", "uniform:1", "--planes"];
    let analyzed = &json_lines(&succeeds(&analyze, position))[0];
    assert_eq!((&loaded["planes"], &loaded["legal"]), (&analyzed["planes"], &analyzed["legal_actions"]));
    let trained = rows.iter().filter(|row| row["weight"] != 0.0).count();
    assert_eq!(loaded["sizes"]["wdl"], json!(["float32", trained, 3]));
    assert_eq!(loaded["sizes"]["policy_offsets"], json!(["int64", trained + 1]));
}

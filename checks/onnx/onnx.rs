//! Reads exports of every game with tract and compares its outputs with the program's own.
//!
//! Petteia is used only as a program here: `PETTEIA` names it, or else it is `target/release/petteia` of this
//! workspace. For each of its games, the program trains a tiny run, so that batch norms have seen some data, exports
//! it, and prints the outputs of its forward pass at positions of random games.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tempfile::TempDir;
use tract_onnx::pb::{ModelProto, tensor_shape_proto::dimension::Value as Dim, type_proto::Value as Type};
use tract_onnx::prelude::{Framework, InferenceModelExt, IntoRunnable, Tensor, tvec};

const TOLERANCE: f32 = 1e-4;

/// A few games and steps. There are two blocks, so that swapping them would be noticed.
const CONFIG: &str = "
net = { filters = 16, blocks = 2 }
search.simulations = 2
selfplay = { games = 2, batch = 2, bootstrap_games = 4, bootstrap_simulations = 2 }
train = { generations = 1, batch = 16, warmup_steps = 1, samples_per_position = 2 }
arena = { games = 0, final_games = 0 }
";

static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/release/petteia");
    let program = std::env::var_os("PETTEIA").map_or(built, PathBuf::from);
    assert!(
        program.is_file(),
        "{} is not there: run `cargo build --release` first, or name a petteia with PETTEIA",
        program.display()
    );
    program
});

/// Returns the program's output.
fn petteia(arguments: &[&str]) -> String {
    let output = Command::new(&*PROGRAM).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn json_file(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// A game's trained network: its exports, and the program's outputs.
struct Case {
    _folder: TempDir,
    /// The checkpoint's manifest.
    manifest: Value,
    onnx: Vec<u8>,
    safetensors: Vec<u8>,
    /// `[positions, planes, height, width]`
    shape: [usize; 4],
    actions: usize,
    planes: Vec<f32>,
    /// Logits `[positions, actions]`.
    policy: Vec<f32>,
    /// Logits `[positions, 3]`.
    wdl: Vec<f32>,
}

impl Case {
    fn new(id: &str, sets: &[&str]) -> Case {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        fs::write(path("tiny.toml"), format!("config_format = 1\ngame.id = '{id}'\n{CONFIG}")).unwrap();
        petteia(&[&["train", &path("tiny.toml"), "--run", &path("run")], sets].concat());
        for format in ["onnx", "safetensors"] {
            petteia(&["export", &path("run"), "--format", format, "--out", &path(format)]);
        }
        let bench = ["bench", "net", "--game", id, "--checkpoint", &path("run"), "--batch", "1"];
        petteia(&[&bench[..], &["--seconds", "0.001", "--save", &path("outputs")]].concat());
        let outputs = json_file(&folder.path().join("outputs/outputs.json"));
        let numbers = |name: &str| -> Vec<f32> {
            let numbers = outputs[name].as_array().unwrap().iter();
            numbers.map(|number| number.as_f64().unwrap() as f32).collect()
        };
        assert_eq!((&outputs["game"], &outputs["precision"]), (&json!(id), &json!("f32")));
        Case {
            manifest: json_file(&folder.path().join("run/checkpoints/generation-0001/manifest.json")),
            onnx: fs::read(path("onnx")).unwrap(),
            safetensors: fs::read(path("safetensors")).unwrap(),
            shape: [0, 1, 2, 3].map(|at| outputs["shape"][at].as_u64().unwrap() as usize),
            actions: outputs["actions"].as_u64().unwrap() as usize,
            planes: numbers("planes"),
            policy: numbers("policy"),
            wdl: numbers("wdl"),
            _folder: folder,
        }
    }

    /// Returns the header of the safetensors file, and the tensors after it.
    fn tensors(&self) -> (Value, &[u8]) {
        let (length, rest) = self.safetensors.split_at(8);
        let length = u64::from_le_bytes(length.try_into().unwrap()) as usize;
        assert_eq!(length % 8, 0, "tensors are aligned");
        (serde_json::from_slice(&rest[..length]).unwrap(), &rest[length..])
    }

    /// Asserts that no batch norm has its initial values. With them, the test would not notice an export that omits
    /// one.
    fn expect_moved_norms(&self) {
        let (header, bytes) = self.tensors();
        let numbers = |name: &str| -> Vec<f32> {
            let offset = |end: usize| header[name]["data_offsets"][end].as_u64().unwrap() as usize;
            let (numbers, _) = bytes[offset(0)..offset(1)].as_chunks::<4>();
            numbers.iter().map(|number| f32::from_le_bytes(*number)).collect()
        };
        let names = || header.as_object().unwrap().keys().filter(|name| name.contains(".norm."));
        // stem, two in each block, policy and value: four tensors each
        assert_eq!(names().count(), 4 * 7, "{:?}", names().collect::<Vec<_>>());
        for name in names() {
            let first = if name.ends_with("gamma") || name.ends_with("running_var") { 1.0 } else { 0.0 };
            assert!(numbers(name).iter().any(|number| *number != first), "{name} has initial values");
        }
    }
}

fn probabilities(logits: &[f32]) -> Vec<f32> {
    let softmax = |row: &[f32; 3]| {
        let shares = row.map(f32::exp);
        shares.map(|share| share / shares.iter().sum::<f32>())
    };
    logits.as_chunks::<3>().0.iter().flat_map(softmax).collect()
}

fn largest_difference(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    // NaN counts as the largest difference
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).max_by(f32::total_cmp).unwrap()
}

/// Returns the largest difference between tract's outputs and the program's, in batches of these sizes.
fn differences(case: &Case, batches: &[usize]) -> Vec<f32> {
    let [rows, planes, height, width] = case.shape;
    // the batch size stays free, so one plan serves all sizes
    let plan = tract_onnx::onnx().model_for_read(&mut &case.onnx[..]).unwrap();
    let plan = plan.into_optimized().unwrap().into_runnable().unwrap();
    let (wdl, len) = (probabilities(&case.wdl), planes * height * width);
    let of_batch = |batch: usize| {
        let mut most: f32 = 0.0;
        for first in (0..=rows - batch).step_by(batch) {
            let input = &case.planes[first * len..][..batch * len];
            let input = Tensor::from_shape(&[batch, planes, height, width], input).unwrap();
            let outputs = plan.run(tvec!(input.into())).unwrap();
            for (output, (ours, len)) in outputs.iter().zip([(&case.policy, case.actions), (&wdl, 3)]) {
                assert_eq!(output.shape(), [batch, len]);
                let ours = &ours[first * len..][..batch * len];
                most = most.max(largest_difference(output.view().as_slice().unwrap(), ours));
            }
        }
        most
    };
    batches.iter().copied().map(of_batch).collect()
}

#[test]
fn tract_computes_the_same_for_every_game() {
    let games: Value = serde_json::from_str(&petteia(&["games", "--json"])).unwrap();
    let games = games.as_array().unwrap();
    assert!(!games.is_empty());
    let ids = games.iter().map(|game| game["id"].as_str().unwrap());
    let pooling: &[&str] = &["--set", "net.value_pooling=true", "--set", "net.block_pooling=1"];
    for (id, sets) in ids.map(|id| (id, &[][..])).chain([("phage", pooling), ("connect-four", pooling)]) {
        let mut case = Case::new(id, sets);
        case.expect_moved_norms();
        let most = differences(&case, &[1, 3]);
        println!("{id} {sets:?}: largest differences {most:?}");
        assert!(most.iter().all(|most| *most <= TOLERANCE), "{id} {sets:?}, batches of 1 and 3: {most:?}");
        // different outputs must be noticed
        case.policy[0] += 0.01;
        assert!(differences(&case, &[1])[0] > TOLERANCE);
    }
}

/// The model as read by another program's protobuf reader.
fn read_model(case: &Case) -> ModelProto {
    tract_onnx::onnx().proto_model_for_read(&mut &case.onnx[..]).unwrap()
}

#[test]
fn both_formats_say_what_the_network_is() {
    let case = Case::new("phage", &[]);
    let model = read_model(&case);
    let entries = model.metadata_props.iter();
    let said: BTreeMap<String, String> =
        entries.map(|entry| (entry.key.clone(), entry.value.clone())).collect();
    let (header, tensors) = case.tensors();
    assert_eq!(header["__metadata__"], json!(said));
    let manifest: Value = serde_json::from_str(&said["petteia"]).unwrap();
    assert_eq!((&manifest["generation"], &manifest["game"]["id"]), (&json!(1), &json!("phage")));
    assert_eq!(manifest["files"], json!({"tensors": said["tensors_sha256"]}));
    let sum: String = Sha256::digest(tensors).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(said["tensors_sha256"], sum);
    let (step, version) = (case.manifest["step"].to_string(), petteia(&["--version"]));
    assert_ne!(step, "0");
    for (key, value) in [
        ("game", "phage"),
        ("game_options", "{}"),
        ("encoding_version", "1"),
        ("generation", "1"),
        ("step", &step),
        ("seed", "1"),
        ("exported_by", version.trim()),
    ] {
        assert_eq!(said[key], value, "{key}");
    }
    let ([_, planes, height, width], actions) = (case.shape, case.actions);
    let expected = json!({"planes": planes, "height": height, "width": width, "actions": actions});
    assert_eq!(serde_json::from_str::<Value>(&said["shape"]).unwrap(), expected);
    assert!(said["planes"].contains(&format!("[batch, {planes}, {height}, {width}]")), "{}", said["planes"]);
    assert!(said["policy"].contains("legal") && said["wdl"].contains("player to move"));
    assert!(said["action_order"].starts_with("index = "), "{}", said["action_order"]);
    assert_eq!(
        (model.producer_name.as_str(), model.ir_version, model.opset_import[0].version),
        ("petteia", 8, 17)
    );
    assert!(model.doc_string.contains("phage"));
}

#[test]
fn the_batch_is_free_and_everything_has_a_name() {
    let case = Case::new("phage", &[]);
    let graph = read_model(&case).graph.unwrap();
    let dims = |value: &tract_onnx::pb::ValueInfoProto| {
        let Some(Type::TensorType(tensor)) = value.r#type.clone().unwrap().value else { panic!("no tensor") };
        let dim = |dim: Option<Dim>| match dim {
            Some(Dim::DimValue(number)) => number.to_string(),
            Some(Dim::DimParam(name)) => name,
            None => "unknown".into(),
        };
        let dims = tensor.shape.unwrap().dim.into_iter().map(|d| dim(d.value)).collect::<Vec<_>>();
        format!("{} [{}]", value.name, dims.join(", "))
    };
    let ([_, planes, height, width], actions) = (case.shape, case.actions);
    assert_eq!(dims(&graph.input[0]), format!("planes [batch, {planes}, {height}, {width}]"));
    assert_eq!(dims(&graph.output[0]), format!("policy [batch, {actions}]"));
    assert_eq!(dims(&graph.output[1]), "wdl [batch, 3]");
    let tensors: Vec<&str> = graph.initializer.iter().map(|tensor| tensor.name.as_str()).collect();
    assert!(tensors.starts_with(&["stem.weight", "stem.bias", "blocks.0.first.weight"]), "{tensors:?}");
    let mut nodes: Vec<&str> = graph.node.iter().map(|node| node.name.as_str()).collect();
    assert!(nodes.contains(&"blocks.1.second.conv") && nodes.contains(&"value_hidden.gemm"), "{nodes:?}");
    let count = nodes.len();
    nodes.sort_unstable();
    nodes.dedup();
    assert_eq!(nodes.len(), count, "names are unique");
}

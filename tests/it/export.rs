//! The contents of exports, and their outputs compared with our own fused forward pass. ONNX Runtime reads them if a
//! Python that has it is available; `checks/onnx` reads them with tract.
//!
//! `PETTEIA_PYTHON` names a Python with the packages of `scripts/check/requirements.txt`; `scripts/check.sh` makes one.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::support::command::python;
use crate::support::training;
use petteia::any::Opened;
use petteia::checkpoint::{self, Checkpoint, TrainingData};
use petteia::config::{Config, NetConfig, Precision};
use petteia::encode::Planes;
use petteia::export::{Format, export, onnx, safetensors};
use petteia::game::{Game, Shape};
use petteia::games::Games;
use petteia::net::infer::{CpuNet, Wanted};
use petteia::registry::Registry;
use serde_json::{Value, json};
use tempfile::TempDir;

/// The minimum number of positions of each game, from all phases of random games.
const POSITIONS: usize = 20;

/// A trained network of a game as a checkpoint, and the outputs of our forward pass for some positions.
struct Case {
    folder: TempDir,
    checkpoint: Checkpoint,
    /// The positions, one per line.
    texts: String,
    rows: usize,
    /// `[rows, planes, height, width]`
    planes: Vec<f32>,
    /// Logits `[rows, actions]`.
    policy: Vec<f32>,
    /// Logits `[rows, 3]`.
    wdl: Vec<f32>,
}

impl Case {
    fn new(id: &str) -> Case {
        Case::with(id, |_| {})
    }

    fn pooling(id: &str) -> Case {
        // pooling in the value head and after every block
        Case::with(id, |net| (net.value_pooling, net.block_pooling) = (true, 1))
    }

    fn with(id: &str, change: fn(&mut NetConfig)) -> Case {
        Games::open(id, &Default::default()).map(|rules| MakeCase { change }.on(rules)).unwrap()
    }

    fn shape(&self) -> Shape {
        self.checkpoint.manifest.game.shape
    }

    /// The export of this format in the case's folder.
    fn export(&self, format: Format) -> PathBuf {
        let out = self.folder.path().join(format!("export.{format:?}"));
        export(&self.checkpoint, format, &out).unwrap();
        out
    }
}

struct MakeCase {
    change: fn(&mut NetConfig),
}

impl MakeCase {
    fn on(self, rules: Opened) -> Case {
        let game = &rules.game;
        let (identity, shape) = (rules.identity.clone(), game.shape());
        let mut config = Config::new(&identity.id);
        config.net = NetConfig::with(|net| (net.filters, net.blocks) = (16, 2));
        (self.change)(&mut config.net);
        let trainer = training::trained(&config.net, shape, 3);
        let folder = tempfile::tempdir().unwrap();
        let checkpoint =
            checkpoint::save(folder.path(), &config, &identity, 2, &trainer, TrainingData::default())
                .unwrap();
        let states = training::positions(game, POSITIONS);
        let phases = states.len() / POSITIONS;
        let states: Vec<_> = states.into_iter().step_by(phases).collect();
        let mut planes = vec![0.0; states.len() * shape.input_len()];
        for (state, row) in states.iter().zip(planes.chunks_exact_mut(shape.input_len())) {
            let mut encoded = Planes::new(shape);
            game.encode(state, &mut encoded);
            encoded.expand(row);
        }
        let net = CpuNet::new(&trainer.snapshot().weights(), Precision::F32).expect("every CPU has f32");
        let actions: Vec<u16> = states.iter().flat_map(|_| 0..shape.actions as u16).collect();
        let ends: Vec<usize> = (1..=states.len()).map(|row| row * shape.actions).collect();
        let wanted = Wanted { actions: &actions, ends: &ends };
        let (mut policy, mut wdl) = (vec![0.0; actions.len()], vec![0.0; states.len() * 3]);
        net.forward(&mut net.scratch(), &planes, wanted, &mut policy, &mut wdl);
        let texts = states.iter().map(|state| game.state_text(state) + "\n").collect();
        Case { folder, checkpoint, texts, rows: states.len(), planes, policy, wdl }
    }
}

/// The header of a safetensors file, and its length.
fn header(bytes: &[u8]) -> (Value, usize) {
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    (serde_json::from_slice(&bytes[8..8 + length]).unwrap(), length)
}

#[test]
fn a_safetensors_file_says_what_the_network_is() {
    let case = Case::new("phage");
    let weights = safetensors::file(&case.checkpoint).unwrap();
    let (header, length) = header(&weights);
    assert_eq!(length % 8, 0, "tensors are aligned");
    let said = &header["__metadata__"];
    for (key, value) in [("game", "phage"), ("generation", "2"), ("step", "3")] {
        assert_eq!(said[key], value, "{key}");
    }
    assert_eq!(said["exported_by"], concat!("petteia ", env!("CARGO_PKG_VERSION")));
    assert_eq!(said["tensors_sha256"], petteia::storage::sha256(&weights[8 + length..]));
}

/// A flipped bit in a number of the settings would change how the agent plays and leave the weights as they are.
#[test]
fn a_damaged_setting_is_named() {
    let case = Case::new("phage");
    let weights = safetensors::file(&case.checkpoint).unwrap();
    let path = case.folder.path().join("damaged.safetensors");
    for setting in ["cpuct = ", "fpu_reduction = ", "simulations = "] {
        let at = weights.windows(setting.len()).position(|part| part == setting.as_bytes()).unwrap();
        let mut damaged = weights.clone();
        let digit = at + damaged[at..].iter().position(u8::is_ascii_digit).unwrap();
        damaged[digit] ^= 2;
        std::fs::write(&path, damaged).unwrap();
        let error = Checkpoint::find(&path).unwrap_err().to_string();
        assert!(error.contains("SHA-256 of the settings"), "{setting}: {error}");
    }
}

/// Another program can compute the network from its list of layers.
#[test]
fn an_export_lists_its_layers() {
    for (case, row) in [(Case::new("tic-tac-toe"), "flatten"), (Case::pooling("tic-tac-toe"), "pool")] {
        let file = safetensors::file(&case.checkpoint).unwrap();
        let layers: Value =
            serde_json::from_str(header(&file).0["__metadata__"]["layers"].as_str().unwrap()).unwrap();
        let network = case.checkpoint.network().unwrap();
        assert_eq!(layers, serde_json::to_value(network.layers()).unwrap());
        let kinds: Vec<_> = layers["value"].as_array().unwrap().iter().map(|layer| &layer["layer"]).collect();
        assert_eq!(kinds, ["conv", row, "linear", "linear"]);
        let globals = layers["tower"].as_array().unwrap().iter().filter(|layer| layer["layer"] == "global");
        assert_eq!(globals.count(), if row == "pool" { 2 } else { 0 });
    }
}

/// The entries next to the list of layers say everything that the list does not.
#[test]
fn an_export_says_how_its_layers_compute() {
    let case = Case::pooling("tic-tac-toe");
    let file = safetensors::file(&case.checkpoint).unwrap();
    let header = header(&file).0;
    let said = |key: &str| header["__metadata__"][key].as_str().unwrap().to_string();
    assert_eq!(said("batch_norm_epsilon").parse(), Ok(1e-5));
    let text = said("layers");
    let mut kinds: Vec<&str> =
        text.split("\"layer\":\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    assert_eq!(kinds, ["block", "conv", "flatten", "global", "linear", "ones", "pool"]);
    for kind in kinds {
        assert!(said("layer_kinds").contains(&format!(" {kind}: ")), "{kind}");
    }
    // each tensor's name ends like one of those described
    let tensors = said("tensors");
    for (name, tensor) in header.as_object().unwrap().iter().filter(|(name, _)| *name != "__metadata__") {
        let end = name.rsplit('.').next().unwrap();
        assert!(tensors.contains(&format!(".{end}")), "{name}");
        let sizes = tensor["shape"].as_array().unwrap().len();
        let described =
            ["[outputs]", "[inputs, outputs]", "", "[outputs, inputs, kernel, kernel]"][sizes - 1];
        assert!(!described.is_empty() && tensors.contains(described), "{name}");
    }
}

/// An export of an export is the same file, and all exports contain the same network.
#[test]
fn an_export_is_a_checkpoint() {
    an_export_is_the_checkpoint(Case::new("tic-tac-toe"), 1);
    an_export_is_the_checkpoint(Case::pooling("tic-tac-toe"), 2);
}

fn an_export_is_the_checkpoint(case: Case, format: u32) {
    // an older program reports that a network with pooling is too new for that program
    assert_eq!(case.checkpoint.manifest.format, format);
    let file = case.export(Format::Safetensors);
    let again = Checkpoint::find(&file).unwrap();
    assert!(fs::read(&file).unwrap() == safetensors::file(&again).unwrap());
    assert!(onnx::file(&case.checkpoint).unwrap() == onnx::file(&again).unwrap());
    let weights = |checkpoint: &Checkpoint| checkpoint.network().unwrap().weights();
    assert_eq!(weights(&case.checkpoint).of("stem").weight, weights(&again).of("stem").weight);
}

/// Auxiliary heads are not exported; the rest plays like the checkpoint.
#[test]
fn an_export_has_no_auxiliary_heads() {
    let case = Case::with("phage", |net| {
        (net.soft_policy, net.reply_policy, net.short_value) = (4.0, 0.15, 0.5);
    });
    assert_eq!(case.checkpoint.manifest.format, 2);
    let tensors = |bytes: &[u8]| {
        let header = header(bytes).0;
        let names = header.as_object().unwrap().keys().filter(|name| *name != "__metadata__");
        names.map(|name| name.split(['.', '_']).next().unwrap().to_string()).collect::<BTreeSet<String>>()
    };
    let whole = tensors(&case.checkpoint.weights().unwrap());
    assert!(["soft", "reply", "short"].iter().all(|head| whole.contains(*head)), "{whole:?}");
    let file = case.export(Format::Safetensors);
    let bytes = fs::read(&file).unwrap();
    assert!(tensors(&bytes).iter().eq(&["blocks", "policy", "stem", "value"]), "{:?}", tensors(&bytes));
    let graph = onnx::file(&case.checkpoint).unwrap();
    let has = |name: &[u8]| graph.windows(name.len()).any(|bytes| bytes == name);
    assert!(has(b"policy_planes") && !has(b"reply_planes") && !has(b"soft_planes"));
    let export = Checkpoint::find(&file).unwrap();
    let net = &export.manifest.net;
    assert_eq!((net.soft_policy, net.reply_policy, net.short_value), (0.0, 0.0, 0.0));
    let net = CpuNet::new(&export.network().unwrap().weights(), Precision::F32).unwrap();
    let actions: Vec<u16> = (0..case.rows).flat_map(|_| 0..case.shape().actions as u16).collect();
    let ends: Vec<usize> = (1..=case.rows).map(|row| row * case.shape().actions).collect();
    let wanted = Wanted { actions: &actions, ends: &ends };
    let (mut policy, mut wdl) = (vec![0.0; actions.len()], vec![0.0; case.rows * 3]);
    net.forward(&mut net.scratch(), &case.planes, wanted, &mut policy, &mut wdl);
    assert!(policy == case.policy && wdl == case.wdl);
    an_export_is_the_checkpoint(case, 2);
}

#[test]
fn a_damaged_checkpoint_is_refused() {
    let case = Case::new("tic-tac-toe");
    let exported = case.export(Format::Safetensors);
    for (place, source) in [
        (case.checkpoint.path.join("weights.safetensors"), &case.checkpoint.path),
        (exported.clone(), &exported),
    ] {
        let mut bytes = fs::read(&place).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        fs::write(&place, bytes).unwrap();
        for format in [Format::Onnx, Format::Safetensors] {
            let out = case.folder.path().join("out");
            let error = export(&Checkpoint::find(source).unwrap(), format, &out).unwrap_err().to_string();
            assert!(error.contains("SHA-256"), "{error}");
            assert!(!out.exists());
        }
    }
}

fn script(python: &Path, name: &str, arguments: &[&Path], input: &str) -> Output {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    run(Command::new(python).arg(script).args(arguments), input)
}

fn run(command: &mut Command, input: &str) -> Output {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // a program may end without reading all of its input
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn onnx_runtime_computes_the_same_for_every_game() {
    let Some(python) = python("onnx_runtime_computes_the_same_for_every_game") else { return };
    let pooling = ["tic-tac-toe", "phage"].map(|id| (id.to_string(), Case::pooling(id)));
    for (id, case) in Games::ids().into_iter().map(|id| (id.clone(), Case::new(&id))).chain(pooling) {
        let Shape { planes, height, width, .. } = case.shape();
        let told = case.folder.path().join("outputs.jsonl");
        let mut outputs = json!({
            "shape": [case.rows, planes, height, width], "planes": case.planes, "policy": case.policy,
            "wdl": case.wdl,
        });
        let model = case.export(Format::Onnx);
        let check = |outputs: &Value| {
            fs::write(&told, outputs.to_string()).unwrap();
            script(&python, "scripts/check/onnx_outputs.py", &[&model, &told], "")
        };
        let same = check(&outputs);
        assert!(same.status.success(), "{id}: {}", text(&same.stderr));
        println!("{}", text(&same.stdout).trim());
        let said: Value = serde_json::from_slice(&same.stdout).unwrap();
        assert_eq!((&said["game"], &said["positions"]), (&json!(id), &json!(case.rows)));
        // a single wrong number is noticed; a logit far below the other logits must grow a lot to change a probability
        let most = case.wdl[..3].iter().copied().fold(f32::MIN, f32::max);
        let least = (0..3).min_by(|&a, &b| case.wdl[a].total_cmp(&case.wdl[b])).unwrap();
        for (name, place, wrong) in [("policy", 1, case.policy[1] + 0.01), ("wdl", least, most + 0.01)] {
            let right = outputs[name][place].take();
            outputs[name][place] = json!(wrong);
            let different = check(&outputs);
            let error = text(&different.stderr);
            assert!(
                !different.status.success() && error.contains("outputs differ by more than"),
                "{id}, {name}: {error}"
            );
            outputs[name][place] = right;
        }
    }
}

/// The bot of docs/python.md in the arena; it plays like the network without a search.
#[test]
fn the_bot_in_python_plays() {
    let Some(python) = python("the_bot_in_python_plays") else { return };
    let case = Case::new("tic-tac-toe");
    let (model, agent) = (case.export(Format::Onnx), case.export(Format::Safetensors));
    let program = env!("CARGO_BIN_EXE_petteia");
    let bot = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/onnx_bot.py");
    let words = [python.as_path(), &bot, Path::new("tic-tac-toe"), &model, Path::new(program)];
    let command = shlex::try_join(words.iter().map(|word| word.to_str().unwrap())).unwrap();
    let mut arena = Command::new(program);
    arena.args([
        "arena",
        "tic-tac-toe",
        &format!("ugi:{command}"),
        "random",
        "--games",
        "2",
        "--threads",
        "1",
    ]);
    let played = run(arena.args(["--engine-timeout", "300", "--json"]), "");
    assert!(played.status.success(), "{}", text(&played.stderr));
    let said: Value = serde_json::from_slice(&played.stdout).unwrap();
    assert_eq!(said["games"], 2, "{said}");
    assert!(said["faults"][0].as_object().unwrap().values().all(|count| *count == 0), "{said}");
    let mut engine = Command::new(&python);
    engine.args(&words[1..]);
    let asked = run(
        &mut engine,
        "ugi\nisready\nposition fen X.X/.O./... O\ngo\nposition startpos moves b2 a1\ngo\nquit\n",
    );
    let chosen: Vec<String> = text(&asked.stdout)
        .lines()
        .filter_map(|line| line.strip_prefix("bestmove "))
        .map(String::from)
        .collect();
    let mut analyze = Command::new(program);
    analyze.args(["analyze", "tic-tac-toe", "--agent", &format!("{}:1:f32", agent.display())]);
    let analyzed = text(&run(&mut analyze, "X.X/.O./... O\n.../.X./O.. X\n").stdout);
    let best = |line: &str| -> String {
        let priors = serde_json::from_str::<Value>(line).unwrap()["priors"].as_object().unwrap().clone();
        let best = priors.iter().max_by(|a, b| a.1.as_f64().unwrap().total_cmp(&b.1.as_f64().unwrap()));
        best.unwrap().0.clone()
    };
    assert_eq!(chosen, analyzed.lines().map(best).collect::<Vec<_>>());
}

#[test]
fn the_example_picks_our_top_action() {
    let Some(python) = python("the_example_picks_our_top_action") else { return };
    for id in ["cage-4", "connect-four", "phage"] {
        let case = Case::new(id);
        let (model, agent) = (case.export(Format::Onnx), case.export(Format::Safetensors));
        let mut analyze = Command::new(env!("CARGO_BIN_EXE_petteia"));
        analyze.args(["analyze", id, "--planes", "--agent", &format!("{}:1:f32", agent.display())]);
        let analyzed = run(&mut analyze, &case.texts);
        assert!(analyzed.status.success(), "{}", text(&analyzed.stderr));
        let lines = text(&analyzed.stdout);
        let same = script(&python, "examples/onnx_example.py", &[&model], &lines);
        assert!(same.status.success(), "{id}: {}{}", text(&same.stdout), text(&same.stderr));
        assert_eq!(text(&same.stdout).matches(", same\n").count(), case.rows, "{}", text(&same.stdout));
        // a network that prefers another action is noticed
        let mut other: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
        let priors = other["priors"].as_object_mut().unwrap();
        let least = priors.iter().min_by(|a, b| a.1.as_f64().unwrap().total_cmp(&b.1.as_f64().unwrap()));
        let least = least.unwrap().0.clone();
        priors.insert(least, json!(1.0));
        let different = script(&python, "examples/onnx_example.py", &[&model], &other.to_string());
        assert_eq!(different.status.code(), Some(1), "{}", text(&different.stderr));
        assert!(text(&different.stdout).contains("different: "), "{}", text(&different.stdout));
    }
}

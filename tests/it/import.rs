//! `petteia import`: the weights of another program become a network that plays, can be exported, and can begin a
//! run; otherwise, the error names the tensor.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use petteia::checkpoint::Checkpoint;
use petteia::storage::sha256;
use safetensors::{Dtype, SafeTensors, serialize, tensor::TensorView};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::command::{fails, json_lines, out, succeeds};
use crate::support::runs::{Finished, PLAIN, text};

/// A tensor as another program holds it.
#[derive(Clone)]
struct Tensor {
    dtype: Dtype,
    sizes: Vec<usize>,
    bytes: Vec<u8>,
}

type Tensors = BTreeMap<String, Tensor>;

/// The tensors of a run's export.
fn exported(run: &Path, folder: &Path) -> (PathBuf, Tensors) {
    let file = folder.join("exported.safetensors");
    succeeds(&["export", text(run), "--format", "safetensors", "--out", text(&file)], "");
    let bytes = fs::read(&file).unwrap();
    let read = SafeTensors::deserialize(&bytes).unwrap();
    let owned = |(name, view): (String, TensorView)| {
        (name, Tensor { dtype: view.dtype(), sizes: view.shape().to_vec(), bytes: view.data().to_vec() })
    };
    let tensors = read.tensors().into_iter().map(owned).collect();
    (file, tensors)
}

/// Writes the tensors as Python does, without metadata.
fn written(folder: &Path, tensors: &Tensors) -> PathBuf {
    let path = folder.join("python.safetensors");
    let view = |tensor: &Tensor| -> TensorView {
        // leak the bytes, so that the tensor lives until the file is written
        let Tensor { dtype, sizes, bytes } = Box::leak(Box::new(tensor.clone()));
        TensorView::new(*dtype, sizes.clone(), bytes).unwrap()
    };
    let views = tensors.iter().map(|(name, tensor)| (name.clone(), view(tensor)));
    fs::write(&path, serialize(views, None).unwrap()).unwrap();
    path
}

fn floats(tensor: &mut Tensor, change: impl Fn(usize, f32) -> f32) {
    for (index, bytes) in tensor.bytes.as_chunks_mut().0.iter_mut().enumerate() {
        *bytes = change(index, f32::from_le_bytes(*bytes)).to_le_bytes();
    }
}

fn priors(agent: &Path) -> Value {
    let agent = format!("{}:1:f32", agent.display());
    json_lines(&succeeds(&["analyze", "tic-tac-toe", "--agent", &agent], "startpos\n"))[0]["priors"].clone()
}

struct Scene {
    folder: TempDir,
    file: PathBuf,
    tensors: Tensors,
}

fn scene() -> Scene {
    let folder = tempfile::tempdir().unwrap();
    let (file, tensors) = exported(&PLAIN.run(), folder.path());
    Scene { folder, file, tensors }
}

#[test]
fn imported_weights_are_a_network() {
    let Scene { folder, file, tensors } = scene();
    let (folder, run) = (folder.path(), PLAIN.run());
    // unchanged weights give the same answers as the source
    let same = folder.join("same.safetensors");
    let import = |from: &Path, to: &Path| {
        out(&succeeds(&["import", text(from), "--like", text(&run), "--out", text(to)], ""))
    };
    let said = import(&written(folder, &tensors), &same);
    assert!(said.starts_with(&format!("{}: tic-tac-toe, 8 filters, 1 block, ", same.display())), "{said}");
    assert_eq!(priors(&same), priors(&file));
    assert_eq!(priors(&same), priors(&run));
    // an export with changed numbers, so its hash is wrong; a larger bias makes the first action more probable
    let mut bytes = fs::read(&file).unwrap();
    let header = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let about: Value = serde_json::from_slice(&bytes[8..header]).unwrap();
    let at = header + about["policy_planes.bias"]["data_offsets"][0].as_u64().unwrap() as usize;
    let bias = f32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    bytes[at..at + 4].copy_from_slice(&(bias + 1.0).to_le_bytes());
    let changed = folder.join("changed.safetensors");
    fs::write(&changed, &bytes).unwrap();
    let play = ["analyze", "tic-tac-toe", "--agent", text(&changed)];
    fails(&play, 1, &["SHA-256", "import them with `petteia import`"]);
    let network = folder.join("network.safetensors");
    import(&changed, &network);
    let expected = fs::read(&network).unwrap();
    let begin = 8 + u64::from_le_bytes(expected[..8].try_into().unwrap()) as usize;
    assert!(expected[begin..] == bytes[header..], "the numbers are those of the file");
    // the network records its origin, and has the right hashes
    let inspected = &json_lines(&succeeds(&["inspect", text(&network), "--json"], ""))[0];
    assert_eq!(inspected["problems"], json!([]));
    assert_eq!((&inspected["generation"], &inspected["step"]), (&json!(0), &json!(0)));
    let like = inspected["imported"].as_str().unwrap();
    assert!(like.starts_with("as a replacement for ") && like.contains("generation 3, "), "{like}");
    assert_eq!(inspected["files"]["tensors"], sha256(&bytes[header..]));
    // it can play, be exported, and start a run
    let game =
        ["arena", "tic-tac-toe", &format!("{}:4", network.display()), "random", "--games", "2", "--json"];
    assert_eq!(json_lines(&succeeds(&game, ""))[0]["games"], 2);
    for format in ["bot", "onnx", "safetensors", "safetensors-bf16"] {
        let target = folder.join(format);
        succeeds(&["export", text(&network), "--format", format, "--out", text(&target)], "");
    }
    assert!(fs::read(folder.join("safetensors")).unwrap() == expected);
    // so can a file with weights in 16 bits, whose hash is its own, and which can be imported again
    let half = folder.join("half.safetensors");
    fs::rename(folder.join("safetensors-bf16"), &half).unwrap();
    let inspected = &json_lines(&succeeds(&["inspect", text(&half), "--json"], ""))[0];
    assert_eq!(inspected["problems"], json!([]));
    let bytes_of_half = fs::read(&half).unwrap();
    let begin = 8 + u64::from_le_bytes(bytes_of_half[..8].try_into().unwrap()) as usize;
    assert_eq!(inspected["files"]["tensors"], sha256(&bytes_of_half[begin..]));
    let game = ["arena", "tic-tac-toe", &format!("{}:4", half.display()), "random", "--games", "2", "--json"];
    assert_eq!(json_lines(&succeeds(&game, ""))[0]["games"], 2);
    import(&half, &folder.join("whole-again"));
    for format in ["bot", "onnx", "safetensors", "safetensors-bf16", "html"] {
        let target = folder.join(format!("half-{format}"));
        succeeds(&["export", text(&half), "--format", format, "--out", text(&target)], "");
    }
    assert!(fs::read(folder.join("half-safetensors-bf16")).unwrap() == bytes_of_half);
    assert_eq!(fs::read(folder.join("half-safetensors")).unwrap().len(), expected.len());
    let next = folder.join("next");
    let more = ["--threads", "1", "--set", "train.generations=1"];
    succeeds(&[&["train", "--from", text(&network), "--run", text(&next)], &more[..]].concat(), "");
    let first = Checkpoint::open_folder(&next.join("checkpoints/generation-0000")).unwrap();
    assert_eq!(first.tensors_sha256(), sha256(&bytes[header..]));
    fails(&["import", text(&changed), "--like", text(&run), "--out", text(&network)], 2, &["already exists"]);
}

#[test]
fn weights_that_do_not_fit_name_the_tensor() {
    let Scene { folder, file, tensors } = scene();
    let folder = folder.path();
    let target = folder.join("out.safetensors");
    let refused = |weights: &Path, like: &Path, parts: &[&str]| {
        fails(&["import", text(weights), "--like", text(like), "--out", text(&target)], 1, parts);
        assert!(!target.exists());
    };
    let run = PLAIN.run();
    let changed = |change: &dyn Fn(&mut Tensors), parts: &[&str]| {
        let mut tensors = tensors.clone();
        change(&mut tensors);
        refused(&written(folder, &tensors), &run, &[&["python.safetensors"], parts].concat());
    };
    let renamed = |tensors: &mut Tensors, from: &str, to: &str| {
        let tensor = tensors.remove(from).unwrap();
        tensors.insert(to.into(), tensor);
    };
    changed(
        &|tensors| renamed(tensors, "stem.norm.gamma", "stem.norm.weight"),
        &["lacks the tensor `stem.norm.gamma`, but has `stem.norm.weight`"],
    );
    changed(
        &|tensors| drop(tensors.remove("value_out.bias")),
        &[
            "lacks the tensor `value_out.bias`; name the tensors as `petteia export --format safetensors` does",
        ],
    );
    changed(
        &|tensors| {
            drop(tensors.insert("stem.norm.num_batches_tracked".into(), tensors["value_out.bias"].clone()))
        },
        &["also has `stem.norm.num_batches_tracked`"],
    );
    changed(
        &|tensors| tensors.get_mut("value_hidden.weight").unwrap().sizes.reverse(),
        &[
            "tensor `value_hidden.weight` has the shape [16, 36] instead of [36, 16]",
            "transpose of PyTorch's",
        ],
    );
    changed(
        &|tensors| tensors.get_mut("stem.conv.weight").unwrap().sizes = vec![8, 2, 9],
        &["tensor `stem.conv.weight` has the shape [8, 2, 9] instead of [8, 2, 3, 3]"],
    );
    changed(
        &|tensors| {
            let tensor = tensors.get_mut("value_out.bias").unwrap();
            (tensor.dtype, tensor.bytes) = (Dtype::F64, vec![0; 24]);
        },
        &["tensor `value_out.bias` is F64: save it as F32"],
    );
    let with = |number: f32| move |index: usize, old: f32| if index == 2 { number } else { old };
    changed(
        &|tensors| floats(tensors.get_mut("value_out.bias").unwrap(), with(f32::NAN)),
        &["number 2 of tensor `value_out.bias` is NaN, not a finite number"],
    );
    changed(
        &|tensors| floats(tensors.get_mut("stem.norm.running_var").unwrap(), with(-1.0)),
        &["number 2 of tensor `stem.norm.running_var` is -1: a variance must be at least 0"],
    );
    // all numbers are finite, but not their sums
    changed(
        &|tensors| floats(tensors.get_mut("stem.conv.weight").unwrap(), |_, _| 3e38),
        &["these weights are too large: with them, the network's output"],
    );
    // a duplicate tensor
    let bytes = fs::read(written(folder, &tensors)).unwrap();
    let length = u64::from_le_bytes(*bytes.first_chunk().unwrap()) as usize;
    let header = std::str::from_utf8(&bytes[8..8 + length]).unwrap().trim_end();
    let entry = header.split_once("\"value_out.bias\":").unwrap().1.split_once('}').unwrap().0;
    let header = format!("{},\"value_out.bias\":{entry}}}}}", header.strip_suffix('}').unwrap());
    let twice = folder.join("twice.safetensors");
    let all = [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &bytes[8 + length..]].concat();
    fs::write(&twice, all).unwrap();
    refused(&twice, &run, &["twice.safetensors", "has the entry `value_out.bias` twice"]);
    // another network
    for (set, part) in [
        ("net.blocks=2", "lacks the tensor `blocks.1.first.conv.weight`"),
        ("net.filters=4", "tensor `stem.conv.weight` has the shape [8, 2, 3, 3] instead of [4, 2, 3, 3]"),
    ] {
        let other = Finished::new(&["train.generations=1", set]);
        refused(&written(folder, &tensors), &other.run(), &[part]);
    }
    // another game: an export names its game, while the shapes of bare weights differ
    let phage = Path::new(env!("CARGO_MANIFEST_DIR")).join("agents/phage.safetensors");
    refused(&file, &phage, &["exported.safetensors", "tic-tac-toe"]);
    refused(
        &written(folder, &tensors),
        &phage,
        &["tensor `stem.conv.weight` has the shape [8, 2, 3, 3] instead of [32, 28, 3, 3]"],
    );
    fs::write(folder.join("text"), "no weights").unwrap();
    refused(&folder.join("text"), &run, &["text: it is not a safetensors file"]);
    refused(&folder.join("nowhere"), &run, &["nowhere"]);
}

/// The file may contain auxiliary heads, which are left out.
#[test]
fn auxiliary_heads_are_left_out() {
    let finished = Finished::new(&["train.generations=1", "net.soft_policy=4", "net.short_value=0.5"]);
    let run = finished.run();
    let folder = tempfile::tempdir().unwrap();
    let weights = run.join("checkpoints/generation-0001/weights.safetensors");
    let [from_weights, from_export] = ["a.safetensors", "b.safetensors"].map(|name| folder.path().join(name));
    let (export, _) = exported(&run, folder.path());
    for (from, to) in [(&weights, &from_weights), (&export, &from_export)] {
        succeeds(&["import", text(from), "--like", text(&run), "--out", text(to)], "");
    }
    assert!(fs::read(&from_weights).unwrap() == fs::read(&from_export).unwrap());
    assert_eq!(priors(&from_weights), priors(&run));
}

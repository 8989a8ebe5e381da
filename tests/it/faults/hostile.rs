//! Files made to cost a lot: small ones that unpack to gigabytes, headers that promise more than there is, absurd
//! shapes, endless nesting. They are refused with an error and cost little memory; resuming a run survives them.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use petteia::config::Config;
use petteia::storage::sha256;
use serde_json::{Map, Value, json};

use super::scene::{Ended, Folder, Petteia, RUN, Tally, contents, copy, expect_same, reset};
use super::shim;

/// Kilobytes of address space that a command may take, whatever happens: the machine is not only for these tests.
const MOST: u64 = 2 << 20;
/// The memory that a hostile file may cost, in kilobytes, beyond what the same command needs for a good file.
const COSTS: u64 = 64 << 10;
/// The peak to assume if it cannot be measured.
const UNKNOWN: u64 = 0;

/// Frames of zstd, written by hand: a bomb can be made without a compressor.
struct Frame(Vec<u8>);

impl Frame {
    /// A frame with this `window` descriptor, 0x38 for 128 kB.
    fn new(window: u8) -> Frame {
        Frame([0x28, 0xb5, 0x2f, 0xfd, 0x00, window].to_vec())
    }

    /// A frame of one segment that claims to have this many bytes.
    fn of_size(size: u64) -> Frame {
        Frame([&[0x28, 0xb5, 0x2f, 0xfd, 0b1110_0000][..], &size.to_le_bytes()].concat())
    }

    fn block(mut self, last: bool, kind: u32, size: u32, bytes: &[u8]) -> Frame {
        let header = last as u32 | kind << 1 | size << 3;
        self.0.extend_from_slice(&header.to_le_bytes()[..3]);
        self.0.extend_from_slice(bytes);
        self
    }

    /// Appends uncompressed bytes.
    fn raw(mut self, bytes: &[u8]) -> Frame {
        for part in bytes.chunks(1 << 17) {
            self = self.block(false, 0, part.len() as u32, part);
        }
        self
    }

    /// Appends one byte repeated, in blocks of 128 kB that take four bytes each.
    fn repeat(mut self, byte: u8, blocks: usize) -> Frame {
        for _ in 0..blocks {
            self = self.block(false, 1, 1 << 17, &[byte]);
        }
        self
    }

    fn end(self) -> Vec<u8> {
        self.block(true, 0, 0, &[]).0
    }
}

const TEN_GIB: usize = 81_920;

fn bombs() -> Vec<(&'static str, Vec<u8>)> {
    let shard = fs::read(shard_of(&RUN.path)).unwrap();
    let lines = zstd::decode_all(shard.as_slice()).unwrap();
    let first = [lines.split(|byte| *byte == b'\n').next().unwrap(), b"\n"].concat();
    let cut = &first[..first.len() / 2];
    vec![
        ("10 GiB of zeros", Frame::new(0x38).repeat(0, TEN_GIB).end()),
        ("10 GiB of empty lines", Frame::new(0x38).raw(&lines).repeat(b'\n', TEN_GIB).end()),
        ("10 GiB of spaces in a record", Frame::new(0x38).raw(cut).repeat(b' ', TEN_GIB).end()),
        ("10 GiB in a second frame", [shard.clone(), Frame::new(0x38).repeat(b' ', TEN_GIB).end()].concat()),
        ("1 GiB of brackets", Frame::new(0x38).repeat(b'[', TEN_GIB / 10).end()),
        ("a window of 2 TiB", Frame::new(0xf8).raw(&lines).end()),
        ("a window of 1 GiB", Frame::new(0xa0).raw(&lines).end()),
        ("a size of 2^60", Frame::of_size(1 << 60).raw(&lines).end()),
        ("a size of 4 GiB", Frame::of_size(4 << 30).raw(&lines).end()),
        (
            "a skippable frame of 4 GiB",
            [&[0x50, 0x2a, 0x4d, 0x18, 0xff, 0xff, 0xff, 0xff][..], &shard].concat(),
        ),
        ("a million frames", Frame::new(0x38).end().repeat(1_000_000)),
        ("a game of a million games", first.repeat(100_000)),
    ]
}

/// The first shard of the last generation.
fn shard_of(run: &Path) -> PathBuf {
    run.join("selfplay/generation-0003/shard-0000.jsonl.zst")
}

fn place_shard(run: &Path, bytes: &[u8]) {
    fs::write(shard_of(run), bytes).unwrap();
    let sum = format!("{}  shard-0000.jsonl.zst\n", sha256(bytes));
    fs::write(shard_of(run).with_extension("zst.sha256"), sum).unwrap();
}

/// Sets up the run in the state that it has while it plays its last generation.
fn under_way(to: &Path) {
    reset(Some(&RUN.path), to);
    fs::remove_dir_all(to.join("checkpoints/generation-0003")).unwrap();
    fs::remove_file(to.join("selfplay/generation-0003/shard-0001.jsonl.zst")).unwrap();
    fs::remove_file(to.join("selfplay/generation-0003/shard-0001.jsonl.zst.sha256")).unwrap();
}

/// Runs a command, which must end in an orderly way and take no more memory than `usual` plus the permitted amount.
fn costs_little(what: &str, program: Petteia, usual: u64) -> Ended {
    let (ended, peak) = shim::peak(program.within(MOST));
    ended.in_words(what);
    if let (Some(peak), true) = (peak, usual != UNKNOWN) {
        println!("{what}: {} MB beyond the usual", peak.saturating_sub(usual) >> 10);
        assert!(peak < usual + COSTS, "{what}: {peak} kB where {usual} are usual: {ended:?}");
    }
    ended
}

fn usual(program: Petteia) -> u64 {
    let (ended, peak) = shim::peak(program.within(MOST));
    ended.succeeds();
    peak.unwrap_or(UNKNOWN)
}

#[test]
fn shards_that_unpack_to_gigabytes() {
    let (folder, mut tally) = (Folder::new(), Tally::default());
    let path = folder.path.join("run");
    let run = path.display().to_string();
    let commands: [&[&str]; 3] =
        [&["records", &run, "verify"], &["inspect", &run], &["records", &run, "convert", "--format", "csv"]];
    copy(&RUN.path, &path);
    let usuals = commands.map(|command| usual(Petteia::new(command)));
    let usual_finished = usual(RUN.training(&path));
    under_way(&path);
    let usual_training = usual(RUN.training(&path));
    for (what, bytes) in bombs() {
        for (command, usual) in commands.iter().zip(usuals) {
            tally.check(|| {
                reset(Some(&RUN.path), &path);
                place_shard(&path, &bytes);
                let ended = costs_little(&format!("{what}, {}", command[0]), Petteia::new(command), usual);
                // a wide window alone does no harm, and neither do frames without content
                assert!(
                    ended.code == Some(1) || what.starts_with("a window"),
                    "{what}: {command:?}: {ended:?}"
                );
            });
        }
        // in a generation in progress, the shard is set aside and played again
        tally.check(|| {
            under_way(&path);
            place_shard(&path, &bytes);
            let ended = costs_little(&format!("{what}, train"), RUN.training(&path), usual_training);
            assert_eq!(ended.code, Some(0), "{what}: {ended:?}");
            let again = RUN.train(&path);
            assert_eq!(again.code, Some(0), "{what}: {again:?}");
            let mut found = contents(&path);
            found.retain(|path, _| path.extension().is_none_or(|extension| extension != "bad"));
            let mut expected = contents(&RUN.path);
            if what.starts_with("a window") {
                // the games are the same, but in another frame
                for shards in [&mut found, &mut expected] {
                    shards.retain(|path, _| !path.to_string_lossy().contains("generation-0003/"));
                }
            }
            expect_same(what, &found, &expected);
        });
        // in a finished generation, the shard is named, and nothing is trained
        tally.check(|| {
            reset(Some(&RUN.path), &path);
            place_shard(&path, &bytes);
            costs_little(&format!("{what}, finished"), RUN.training(&path), usual_finished);
        });
    }
    tally.report("bombs");
}

/// A compressed shard or set with these lines, and its checksum.
fn packed(folder: &Folder, name: &str, lines: impl Iterator<Item = String>) -> String {
    let mut packer = zstd::Encoder::new(Vec::new(), 1).unwrap();
    lines.for_each(|line| packer.write_all(line.as_bytes()).unwrap());
    let bytes = packer.finish().unwrap();
    folder.write(&format!("{name}.sha256"), format!("{}  {name}\n", sha256(&bytes)));
    folder.write(name, bytes)
}

/// Each line is valid, but there are too many.
#[test]
fn good_lines_without_end() {
    let (folder, mut tally) = (Folder::new(), Tally::default());
    let lines = zstd::decode_all(fs::read(shard_of(&RUN.path)).unwrap().as_slice()).unwrap();
    let record: Value = serde_json::from_slice(lines.split(|byte| *byte == b'\n').next().unwrap()).unwrap();
    let first = record["index"].as_u64().unwrap();
    let records = (first..first + 400_000).map(|index| {
        let mut record = record.clone();
        record["index"] = index.into();
        format!("{record}\n")
    });
    let bomb = packed(&folder, "shard-0000.jsonl.zst", records);
    println!("{} bytes of records", fs::metadata(&bomb).unwrap().len());
    // on its own, the file could be a shard of a run with the largest batches
    for command in [&["records", &bomb, "verify"][..], &["inspect", &bomb]] {
        tally.check(|| {
            let ended = Petteia::new(command).within(MOST).run();
            ended.names("many records", "it holds more than a shard's limit of 65536 games");
        });
    }
    // in a run, the expected number of games in a shard is known
    let run = folder.path.join("run");
    copy(&RUN.path, &run);
    let usual = usual(RUN.training(&run));
    place_shard(&run, &fs::read(&bomb).unwrap());
    tally.check(|| {
        let ended = costs_little("many records, finished", RUN.training(&run), usual);
        ended.names("many records, finished", "it holds more than the 2 games that belong there");
    });
    let header = json!({
        "format": 1, "game": "tic-tac-toe", "options": {}, "made_by": "a test", "seed": 1, "classes": ["easy"],
        "count": 1_000_000
    });
    let bad = format!("{{\"position\":\"{}\"}}\n", "X".repeat(1 << 20));
    let set = (0..2000).map(|_| bad.clone());
    let long = packed(&folder, "long.jsonl.zst", [format!("{header}\n")].into_iter().chain(set));
    let line = "{\"position\":\"...X/.../... O\",\"class\":\"easy\",\"plies\":1,\"values\":{}}\n";
    let set = (0..1_000_001).map(|_| line.to_string());
    let wrong = packed(&folder, "wrong.jsonl.zst", [format!("{header}\n")].into_iter().chain(set));
    for (set, says) in [(&long, "a line is longer than the"), (&wrong, "line 2: ")] {
        for command in
            [&["inspect", set][..], &["accuracy", "tic-tac-toe", "--agent", "random", "--set", set]]
        {
            tally.check(|| {
                let ended = costs_little(set, Petteia::new(command), usual);
                ended.names(set, says);
            });
        }
    }
    tally.report("good lines");
}

/// An exported file, taken apart.
struct Export {
    header: Map<String, Value>,
    tensors: Vec<u8>,
}

impl Export {
    fn read(path: &str) -> Export {
        let bytes = fs::read(path).unwrap();
        let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
        let header = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
        Export { header, tensors: bytes[8 + length..].to_vec() }
    }

    /// The bytes of the file, with the correct checksums.
    fn bytes(&self) -> Vec<u8> {
        let mut header = self.header.clone();
        let metadata = header["__metadata__"].as_object_mut().unwrap();
        let sum = sha256(&self.tensors);
        let mut manifest: Value = serde_json::from_str(metadata["petteia"].as_str().unwrap()).unwrap();
        manifest["files"]["tensors"] = json!(sum);
        let about = manifest.to_string();
        metadata.insert("petteia_sha256".into(), json!(sha256(about.as_bytes())));
        metadata.insert("petteia".into(), json!(about));
        metadata.insert("tensors_sha256".into(), json!(sum));
        let mut text = Value::Object(header).to_string();
        text.extend(std::iter::repeat_n(' ', text.len().next_multiple_of(8) - text.len()));
        [&(text.len() as u64).to_le_bytes()[..], text.as_bytes(), &self.tensors].concat()
    }

    fn with_manifest(mut self, change: impl FnOnce(&mut Value)) -> Export {
        let metadata = self.header["__metadata__"].as_object_mut().unwrap();
        let mut manifest: Value = serde_json::from_str(metadata["petteia"].as_str().unwrap()).unwrap();
        change(&mut manifest);
        metadata.insert("petteia".into(), json!(manifest.to_string()));
        self
    }

    /// Sets the network in its settings.
    fn with_net(self, sets: &[&str]) -> Export {
        self.with_manifest(|manifest| {
            let sets: Vec<String> = sets.iter().map(|set| set.to_string()).collect();
            let config = Config::parse_kept("a", manifest["config"].as_str().unwrap(), &sets).unwrap();
            manifest["config"] = json!(config.to_toml());
            manifest["net"] = serde_json::to_value(&config.net).unwrap();
        })
    }

    fn with_tensor(mut self, name: &str, about: Value) -> Export {
        self.header.insert(name.into(), about);
        self
    }

    /// Changes the header's entry of the first tensor.
    fn with_first(mut self, change: impl FnOnce(&mut Value)) -> Export {
        let name = self.header.keys().find(|name| *name != "__metadata__").unwrap().clone();
        change(&mut self.header[&name]);
        self
    }
}

/// The header's entry of a tensor.
fn tensor(from: u64, to: u64) -> Value {
    json!({ "dtype": "F32", "shape": [1], "data_offsets": [from, to] })
}

fn hostile_exports(path: &str) -> Vec<(String, Vec<u8>)> {
    [lengths(path), sizes(path), metadata(path), entries(path), nesting(path)].concat()
}

/// Files whose header has a wrong length.
fn lengths(path: &str) -> Vec<(String, Vec<u8>)> {
    let whole = Export::read(path).bytes();
    let all = whole.len() as u64 - 8;
    let lengths = [0, 1, 7, 1 << 31, 1 << 32, 1 << 62, 1 << 63, u64::MAX, u64::MAX - 7, all];
    let file = |length: u64| [&length.to_le_bytes()[..], &whole[8..]].concat();
    lengths.map(|length| (format!("a header of {length} bytes"), file(length))).to_vec()
}

/// Files in which the shapes of the game and the network do not match the tensors.
fn sizes(path: &str) -> Vec<(String, Vec<u8>)> {
    let shape = |name: &str, value: Value| {
        let changed =
            Export::read(path).with_manifest(|manifest| manifest["game"]["shape"][name] = value.clone());
        (format!("{value} {name}"), changed.bytes())
    };
    let mut files = vec![shape("height", json!(40)), shape("width", json!(u64::MAX))];
    for power in [12, 22, 40, 62] {
        files.push(shape("planes", json!(1_u64 << power)));
        files.push(shape("actions", json!(1_u64 << power)));
    }
    for net in [["net.filters=512", "net.blocks=40"], ["net.value_hidden=1024", "net.value_planes=64"]] {
        files.push((net.join(" "), Export::read(path).with_net(&net).bytes()));
    }
    files
}

/// Files with headers that are long, because of many tensors or of long texts.
fn metadata(path: &str) -> Vec<(String, Vec<u8>)> {
    let read = || Export::read(path);
    let mut files = vec![("a tensor too many".into(), read().with_tensor("x", tensor(0, 4)).bytes())];
    for many in [10_000, 1_000_000] {
        let mut export = read();
        (0..many).for_each(|i| drop(export.header.insert(format!("x{i}"), tensor(0, 4))));
        files.push((format!("{many} tensors"), export.bytes()));
    }
    let huge = Map::from_iter([("a".to_string(), json!("x".repeat(50 << 20)))]);
    let many = (0..1_000_000).map(|i| (i.to_string(), json!(""))).collect();
    for (what, more) in [("50 MB of metadata", huge), ("a million entries of metadata", many)] {
        let mut export = read();
        export.header["__metadata__"].as_object_mut().unwrap().extend(more);
        files.push((what.into(), export.bytes()));
    }
    files.push(("an entry that is a list".into(), read().with_tensor("x", json!([1])).bytes()));
    let mut gap = read();
    gap.tensors.extend([0; 64]);
    files.push(("bytes behind the tensors".into(), gap.bytes()));
    files
}

/// Files whose header entries do not match their tensors.
fn entries(path: &str) -> Vec<(String, Vec<u8>)> {
    let with = |what: String, key: &str, value: Value| {
        (what, Export::read(path).with_first(|first| first[key] = value).bytes())
    };
    let mut files = Vec::new();
    for (what, about) in [
        ("an offset of 2^63", json!([0, 1_u64 << 63])),
        ("offsets that overlap", json!([4, 12])),
        ("offsets the wrong way", json!([8, 4])),
        ("negative offsets", json!([-8, 0])),
        ("three offsets", json!([0, 4, 8])),
    ] {
        files.push(with(what.into(), "data_offsets", about));
    }
    let wide = json!([1_u64 << 32, 1_u64 << 32]);
    for shape in [wide, json!([u64::MAX]), json!([0]), json!([]), json!(vec![1; 100_000]), json!("x")] {
        files.push(with(format!("a tensor of shape {:.40}", shape.to_string()), "shape", shape));
    }
    for kind in ["F64", "BF16", "I8", "BOOL", "", "F32\0"] {
        files.push(with(format!("numbers of type {kind:?}"), "dtype", json!(kind)));
    }
    files
}

fn nesting(path: &str) -> Vec<(String, Vec<u8>)> {
    let whole = Export::read(path).bytes();
    let nested = |(what, text): (&str, &str)| {
        let nested = text.repeat(2 << 20);
        let bytes = [&(nested.len() as u64).to_le_bytes()[..], nested.as_bytes(), &whole[8..]].concat();
        (format!("nested {what}"), bytes)
    };
    [("brackets", "["), ("braces", "{\"a\":")].map(nested).to_vec()
}

#[test]
fn networks_beyond_reason() {
    let folder = Folder::new();
    let run = RUN.path.display().to_string();
    let (good, bad) = (folder.at("good.safetensors"), folder.at("bad.safetensors"));
    Petteia::new(&["export", &run, "--format", "safetensors", "--out", &good]).run().succeeds();
    let commands = |file: &str| {
        let agent = format!("{file}:2");
        let (onnx, bot) = (folder.at("x.onnx"), folder.at("x.bot"));
        [
            Petteia::new(&["inspect", file]),
            Petteia::new(&["analyze", "tic-tac-toe", "--agent", &agent]).hearing(".../.../... X\n"),
            Petteia::new(&["export", file, "--format", "onnx", "--out", &onnx]),
            Petteia::new(&["export", file, "--format", "bot", "--out", &bot]),
        ]
    };
    // the helper writes a good file as long as nothing was changed
    fs::write(&good, Export::read(&good).bytes()).unwrap();
    let usuals = commands(&good).map(usual);
    fs::remove_file(folder.path.join("x.onnx")).unwrap();
    fs::remove_file(folder.path.join("x.bot")).unwrap();
    let mut tally = Tally::default();
    for (what, bytes) in hostile_exports(&good) {
        fs::write(&bad, bytes).unwrap();
        for (program, usual) in commands(&bad).into_iter().zip(usuals) {
            let what = format!("{what}, {}", program.arguments[0]);
            tally.check(|| {
                let ended = costs_little(&what, program, usual);
                assert_eq!(ended.code, Some(1), "{what}: {ended:?}");
                assert!(ended.err.len() < 4_000, "{what}: {} bytes of error", ended.err.len());
            });
        }
        assert_eq!(fs::read_dir(&folder.path).unwrap().count(), 2, "{what}: an export was written");
    }
    tally.report("hostile networks");
}

/// Small files that make false claims about themselves.
#[test]
fn texts_without_end_in_the_files_of_a_run() {
    let (folder, mut tally) = (Folder::new(), Tally::default());
    let path = folder.path.join("run");
    let run = path.display().to_string();
    under_way(&path);
    let usual_inspect = usual(Petteia::new(&["inspect", &run]));
    // the command that plays and learns
    let usual_training = usual(RUN.training(&path));
    let checkpoint = "checkpoints/generation-0002";
    for name in [&format!("{checkpoint}/manifest.json"), "config.toml", "metrics.jsonl"] {
        for (what, text) in [("brackets", "["), ("braces", "{\"a\":"), ("digits", "9"), ("quotes", "\"")] {
            tally.check(|| {
                under_way(&path);
                fs::write(path.join(name), text.repeat((8 << 20) / text.len())).unwrap();
                let what = format!("{name} of {what}");
                let ended = costs_little(&what, Petteia::new(&["inspect", &run]), usual_inspect);
                assert_eq!(ended.code, Some(1), "{what}: {:.300}", ended.err);
                assert!(ended.err.len() + ended.out.len() < 16_000, "{what}: much is said");
                let ended = costs_little(&what, RUN.training(&path), usual_training);
                assert!(ended.err.len() < 16_000, "{what}: {} bytes of error", ended.err.len());
                assert!(ended.code != Some(0) || name == "metrics.jsonl", "{what}: {:.300}", ended.err);
            });
        }
    }
    tally.report("texts without end");
}

//! Small finished runs that several tests use, and copies of them for tests that change something.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::LazyLock;

use petteia::replay::store;
use serde_json::Value;
use tempfile::TempDir;

use super::command::{err, petteia};

/// Settings for a run of three generations that takes less than a second.
pub const CONFIG: &str = "\
config_format = 1
game.id = 'tic-tac-toe'
net = { filters = 8, blocks = 1, value_hidden = 16 }
search.simulations = 16
selfplay = { games = 16, batch = 4, bootstrap_games = 16, bootstrap_simulations = 16 }
train = { generations = 3, batch = 32, warmup_steps = 10 }
arena = { opponent = 'random', opening_plies = 2, games = 4, final_games = 4, simulations = 8 }
";

/// The keys of metrics whose values come from a clock.
const CLOCK: [&str; 5] = ["seconds", "cpu_seconds", "window_seconds", "window_cpu_seconds", "time"];

/// A run of [`CONFIG`] that nobody changes.
pub static PLAIN: LazyLock<Finished> = LazyLock::new(|| Finished::new(&[]));

/// A finished run in its own folder, and the settings that it was trained with.
pub struct Finished {
    folder: TempDir,
    sets: Vec<&'static str>,
}

impl Finished {
    /// Trains a run of [`CONFIG`] with these settings changed.
    pub fn new(sets: &[&'static str]) -> Finished {
        let folder = tempfile::tempdir().unwrap();
        write_config(folder.path());
        let run = Finished { folder, sets: sets.to_vec() };
        let trained = run.train(&run.run(), &[]);
        assert!(trained.status.success(), "{}", err(&trained));
        run
    }

    /// The run's folder.
    pub fn run(&self) -> PathBuf {
        self.folder.path().join("run")
    }

    /// Trains or resumes a run with the same settings in the folder `run`.
    pub fn train(&self, run: &Path, more: &[&str]) -> Output {
        let config = self.folder.path().join(CONFIG_NAME);
        let mut arguments = vec!["train", text(&config), "--run", text(run), "--threads", "1"];
        self.sets.iter().for_each(|set| arguments.extend(["--set", set]));
        arguments.extend(more);
        petteia(&arguments, "")
    }

    /// A copy of the run as it was after `generations`.
    pub fn copy(&self, generations: usize) -> (TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("run");
        copy_folder(&self.run(), &run);
        for generation in generations + 1..=3 {
            fs::remove_dir_all(checkpoint(&run, generation)).unwrap();
            fs::remove_dir_all(run.join(format!("selfplay/generation-{generation:04}"))).unwrap();
        }
        (folder, run)
    }
}

const CONFIG_NAME: &str = "run.toml";

/// Writes [`CONFIG`] to a file in `folder`.
pub fn write_config(folder: &Path) -> PathBuf {
    let path = folder.join(CONFIG_NAME);
    fs::write(&path, CONFIG).unwrap();
    path
}

/// The folder of a checkpoint of a run.
pub fn checkpoint(run: &Path, generation: usize) -> PathBuf {
    run.join(format!("checkpoints/generation-{generation:04}"))
}

/// The file of a shard of a run.
pub fn shard(run: &Path, generation: usize, number: usize) -> PathBuf {
    store::shard_path(run, generation, number)
}

/// A path as an argument.
pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Copies everything in `from` to `to`, which is created if necessary.
pub fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Every file below `folder`, by its relative path, in order.
pub fn paths(folder: &Path) -> Vec<PathBuf> {
    let (mut found, mut open) = (Vec::new(), vec![folder.to_path_buf()]);
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()))
        } else {
            found.push(path.strip_prefix(folder).unwrap().to_path_buf())
        }
    }
    found.sort();
    found
}

/// Every file below `folder` with its bytes.
pub fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let read = |path: PathBuf| (path.clone(), fs::read(folder.join(path)).unwrap());
    paths(folder).into_iter().map(read).collect()
}

/// Every file below `folder` with its bytes, without the times in metrics, and without the log.
pub fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = files(folder);
    found.retain(|path, _| !path.ends_with("train.log"));
    for (_, bytes) in found.iter_mut().filter(|(path, _)| path.ends_with("metrics.jsonl")) {
        let lines = without_times(std::str::from_utf8(bytes).unwrap());
        *bytes = lines.iter().map(|line| format!("{line}\n")).collect::<String>().into_bytes();
    }
    found
}

/// The lines of metrics without entries that come from a clock.
pub fn without_times(metrics: &str) -> Vec<Value> {
    let mut lines: Vec<Value> = metrics.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for line in &mut lines {
        line.as_object_mut().unwrap().retain(|key, _| !CLOCK.contains(&key.as_str()));
    }
    lines
}

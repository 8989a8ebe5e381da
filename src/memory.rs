//! Checks whether settings fit into the memory of this machine. It computes a lower bound on the bytes that they need
//! and returns an error if the machine has less.
//!
//! Only memory that is certain to be needed is counted, and an eighth of the machine's memory is reserved for
//! everything else.

use std::path::Path;

use crate::config::{Config, TrainDevice};
use crate::encode::Shape;
use crate::error::{Error, Input, Result};
use crate::storage;

const MEBIBYTE: u64 = 1 << 20;

/// The number of bytes of each number in the network.
const NUMBER: u64 = 4;

/// Rejects settings that, in a run with this many threads, need more memory than is available.
pub fn check_run(config: &Config, shape: Shape, threads: usize) -> Result<()> {
    let settings = &config.selfplay;
    // in bulk mode, shards are played one after another
    let at_once = if config.net.in_bulk() { 1 } else { settings.games.div_ceil(settings.batch).min(threads) };
    check_cache("selfplay.cache", settings.cache, at_once)?;
    // the memory of a GPU is not known
    if config.train.device != TrainDevice::Cpu {
        return Ok(());
    }
    fits(training(config, shape), "a smaller train.batch or net.filters", || {
        format!(
            "train.batch = {}: the gradient of that many positions in a network of {} filters and {} blocks",
            config.train.batch, config.net.filters, config.net.blocks
        )
    })
}

/// Rejects evaluation caches of `mebibytes` each for `shards` shards in flight if they exceed the memory. `name` is the
/// name of the setting.
pub fn check_cache(name: &str, mebibytes: usize, shards: usize) -> Result<()> {
    let need = (mebibytes as u64).saturating_mul(MEBIBYTE).saturating_mul(shards as u64);
    let fitting = fits(need, &format!("a smaller {name} or fewer threads"), || {
        let counted = if shards == 1 { "shard" } else { "shards" };
        format!("{name} = {mebibytes}: {shards} {counted} in flight x {mebibytes} MiB")
    });
    fitting.map_err(|error| error.about(Input::Threads))
}

/// Rejects a batch of `games` games of `bytes` bytes each if they exceed the memory.
pub fn check_batch(games: usize, bytes: usize) -> Result<()> {
    let need = (games as u64).saturating_mul(bytes as u64);
    fits(need, "fewer games", || format!("a batch of {games} games"))
}

/// Returns a lower bound on the bytes that a training step needs. It counts the output of every layer of the tower,
/// which is kept for the gradient, and the weights with their gradients, two moments, and their average, if there is
/// one.
fn training(config: &Config, shape: Shape) -> u64 {
    let [batch, filters, blocks] = [config.train.batch, config.net.filters, config.net.blocks];
    let layers = 2 * blocks as u64 + 1;
    let outputs = (batch * shape.cells()) as u64 * filters as u64 * layers;
    let weights = 9 * (filters * filters) as u64 * 2 * blocks as u64;
    let copies = if config.train.average > 0.0 { 5 } else { 4 };
    NUMBER * (outputs + copies * weights)
}

/// Fails if `need` bytes exceed the memory. `what` describes what needs them, and `remedy` describes what would need
/// less.
fn fits(need: u64, remedy: &str, what: impl Fn() -> String) -> Result<()> {
    match limit() {
        Some(limit) if need > limit - limit / 8 => Err(Error::Config(format!(
            "{} needs {}, but only {} of memory is available: use {remedy}",
            what(),
            gibibytes(need),
            gibibytes(limit)
        ))),
        _ => Ok(()),
    }
}

fn gibibytes(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / (1u64 << 30) as f64)
}

/// Returns the largest amount of memory that this process can have, in bytes, if the system reports it (Linux). It is
/// the minimum of the machine's memory, the limit of the process's container, and the process's own limit.
fn limit() -> Option<u64> {
    let text = |path: &str| storage::read_text(Path::new(path), "a table of the kernel").ok();
    let machine =
        text("/proc/meminfo").and_then(|text| row(&text, "MemTotal:")).map(|kib| kib.saturating_mul(1024));
    let own = text("/proc/self/limits").and_then(|text| row(&text, "Max address space"));
    let group = text("/proc/self/cgroup").and_then(|text| group_limit(&text, Path::new("/sys/fs/cgroup")));
    [machine, own, group].into_iter().flatten().min()
}

/// Returns the number after `name` in one of the kernel's tables; `None` for `unlimited`.
fn row(table: &str, name: &str) -> Option<u64> {
    table.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()?.parse().ok()
}

/// Returns the lowest limit of the process's control group and its parents, in the tree at `root`.
fn group_limit(groups: &str, root: &Path) -> Option<u64> {
    let own = groups.lines().find_map(|line| line.strip_prefix("0::/"));
    let text = |folder: &Path| storage::read_text(&folder.join("memory.max"), "a limit").ok();
    let limit = |folder: &Path| text(folder)?.trim().parse().ok();
    let folder = root.join(own.unwrap_or_default());
    folder.ancestors().take_while(|folder| folder.starts_with(root)).filter_map(limit).min()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const LIMITS: &str = "\
Limit                     Soft Limit           Hard Limit           Units     
Max cpu time              unlimited            unlimited            seconds   
Max address space         10240000000          unlimited            bytes     
";

    #[test]
    fn the_kernels_tables_are_read() {
        assert_eq!(row("MemTotal:       24596652 kB\nMemFree: 1 kB\n", "MemTotal:"), Some(24_596_652));
        assert_eq!(row(LIMITS, "Max address space"), Some(10_240_000_000));
        assert_eq!([row(LIMITS, "Max cpu time"), row(LIMITS, "Max data size")], [None, None]);
    }

    #[test]
    fn the_tightest_group_counts() {
        let root = tempfile::tempdir().unwrap();
        let inner = root.path().join("slice/task");
        fs::create_dir_all(&inner).unwrap();
        assert_eq!(group_limit("0::/slice/task\n", root.path()), None);
        fs::write(inner.join("memory.max"), "max\n").unwrap();
        fs::write(root.path().join("slice/memory.max"), "5000\n").unwrap();
        fs::write(root.path().join("memory.max"), "7000\n").unwrap();
        assert_eq!(group_limit("12:cpu:/\n0::/slice/task\n", root.path()), Some(5000));
        assert_eq!(group_limit("0::/\n", root.path()), Some(7000));
        assert_eq!(group_limit("", root.path()), Some(7000));
    }

    #[test]
    fn what_does_not_fit_is_computed() {
        let config = |more: &str| Config::parse_kept("test", &format!("game.id = 'x'\n{more}"), &[]).unwrap();
        let shape = Shape { planes: 2, height: 10, width: 10, actions: 100 };
        check_run(&config(""), shape, 512).unwrap();
        // computed by hand: 65536 positions x 100 squares x 512 filters x 81 layers x 4 bytes
        let large = config("[net]\nfilters = 512\nblocks = 40\n[train]\nbatch = 65536");
        let weights = 4 * 4 * 9 * 512 * 512 * 80;
        assert_eq!(training(&large, shape), 65536 * 100 * 512 * 81 * 4 + weights);
        assert!(check_run(&large, shape, 1).unwrap_err().to_string().contains("train.batch = 65536"));
        let error = check_cache("selfplay.cache", usize::MAX, 512).unwrap_err().to_string();
        assert!(error.contains("512 shards in flight x") && error.contains("GiB of memory"), "{error}");
        check_cache("selfplay.cache", 0, 512).unwrap();
    }
}

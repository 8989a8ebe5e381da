//! Checkpoints, their optimizer states, single-file networks, and bots.
//!
//! Each of these has a manifest with a description and hashes. Checkpoints, networks, and bots are intact if a resumed
//! run or an agent could load them.

use std::path::Path;

use serde_json::json;

use super::Findings;
use crate::checkpoint::lineage::{Ancestor, Change, Chapter, Lineage};
use crate::checkpoint::{Checkpoint, MANIFEST, OPTIMIZER, TrainingData};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::export::onnx;
use crate::net::network::Network;
use crate::registry::Catalog;
use crate::storage;
use crate::storage::attachment;

/// The largest ONNX file, in bytes; the format allows no larger files.
const LARGEST_ONNX: u64 = 2 << 30;

pub(super) fn is_checkpoint(path: &Path) -> bool {
    storage::has_folder(path) && storage::has_file(&path.join(MANIFEST))
}

pub(super) fn is_file(path: &Path) -> bool {
    storage::has_file(path) && path.extension().is_some_and(|extension| extension == "safetensors")
}

pub(super) fn is_optimizer(path: &Path) -> bool {
    storage::has_file(path) && path.ends_with(OPTIMIZER)
}

/// Reports a checkpoint folder, which is loaded as a resumed run would load it.
pub(super) fn checkpoint(path: &Path, report: &mut Findings, games: Catalog) -> Result<()> {
    let Some(checkpoint) = report.checked(Checkpoint::open_folder(path)) else { return Ok(()) };
    about(&checkpoint, path, report, games);
    if let Some(network) = report.checked(load(&checkpoint)) {
        channels(&network, report);
        report.fact("checked", CHECKED);
    }
    Ok(())
}

/// The checks that an intact checkpoint has passed.
const CHECKED: &str = if cfg!(feature = "train") {
    "the SHA-256 of weights and optimizer; they can be loaded"
} else {
    "the SHA-256 of the weights; they can be loaded"
};

fn channels(network: &Network, report: &mut Findings) {
    let (dead, all) = network.weights().dead_channels();
    report.fact("dead channels", format!("{dead} of {all}"));
}

/// Loads network and optimizer, which verifies their hashes; a program that cannot train omits the optimizer.
pub(super) fn load(checkpoint: &Checkpoint) -> Result<Network> {
    #[cfg(feature = "train")]
    checkpoint.trainer(&checkpoint.reading()?.config, &crate::net::device::cpu().autodiff())?;
    checkpoint.network()
}

/// Reports an exported network, or the weights of a checkpoint, which have the same manifest.
pub(super) fn file(path: &Path, report: &mut Findings, games: Catalog) -> Result<()> {
    let checkpoint = Checkpoint::find(path)?;
    about(&checkpoint, path, report, games);
    if let Some(network) = report.checked(checkpoint.network()) {
        channels(&network, report);
        report.fact("checked", "the SHA-256 of the weights; they can be loaded");
    }
    Ok(())
}

pub(super) fn is_onnx(path: &Path) -> bool {
    storage::has_file(path) && path.extension().is_some_and(|extension| extension == "onnx")
}

/// Reports the metadata of an exported ONNX file; there is no checksum to verify.
pub(super) fn onnx(path: &Path, report: &mut Findings) -> Result<()> {
    let bytes = storage::read_at_most(path, LARGEST_ONNX, "an ONNX file")?;
    let entries = onnx::read_metadata(&bytes).ok_or_else(|| {
        Error::Data(format!("{} is damaged or is not an ONNX file from `petteia export`", path.display()))
    })?;
    let names = [
        "game",
        "game_options",
        "encoding_version",
        "shape",
        "generation",
        "step",
        "seed",
        "trained_by",
        "exported_by",
        "tensors_sha256",
    ];
    for name in names {
        report.fact(name, entries.get(name).cloned());
    }
    report.fact("checked", "only that it is readable");
    Ok(())
}

pub(super) fn is_bot(path: &Path) -> bool {
    storage::has_file(path) && !matches!(attachment::find(path), Ok(None))
}

/// Reports a program with an attached network.
pub(super) fn bot(path: &Path, report: &mut Findings, games: Catalog) -> Result<()> {
    if report.checked(attachment::find(path)).is_none() {
        return Ok(());
    }
    let model = Checkpoint::find(path)?.weights()?;
    report.fact("model bytes", model.len());
    report.fact("model SHA-256", storage::sha256(&model));
    file(path, report, games)
}

/// Reports an optimizer state, which only the manifest in the same folder describes.
pub(super) fn optimizer(path: &Path, report: &mut Findings, games: Catalog) -> Result<()> {
    let folder = path.parent().filter(|folder| is_checkpoint(folder)).ok_or_else(|| {
        Error::Data(format!(
            "{} has no {MANIFEST} in its folder, so its checkpoint is unknown",
            path.display()
        ))
    })?;
    checkpoint(folder, report, games)
}

/// Adds the earlier changes of a run that now has the settings `now`, if there are any.
pub(super) fn past(lineage: &Lineage, now: &Config, report: &mut Findings) {
    let line = |(chapter, changes): (&Chapter, Vec<[String; 3]>)| {
        let from = chapter.from.as_ref().map_or(String::new(), |from| {
            format!("{} (generation {}, {} steps)", from.path, from.generation, from.step)
        });
        let event = match chapter.change {
            Change::Extended => format!("extended after generation {}", chapter.generation),
            Change::Forked => format!("forked at generation {} from {from}", chapter.generation),
            Change::Started => format!("started with the weights of {from}"),
        };
        let changes: Vec<String> =
            changes.into_iter().map(|[key, before, after]| format!("{key} {before} -> {after}")).collect();
        if changes.is_empty() { event } else { format!("{event}: {}", changes.join(", ")) }
    };
    let lines: Vec<String> = lineage.changes(now).into_iter().map(line).collect();
    if !lines.is_empty() {
        report.fact("lineage", lines);
    }
}

fn about(checkpoint: &Checkpoint, path: &Path, report: &mut Findings, games: Catalog) {
    let manifest = &checkpoint.manifest;
    report.game(&manifest.game, path, games);
    report.fact("network", json!(manifest.net));
    report.fact("generation", manifest.generation);
    report.fact("step", manifest.step);
    report.fact("seed", manifest.seed);
    report.fact("written by", manifest.program.as_str());
    if let Some(like) = &manifest.imported {
        let Ancestor { path, generation, step, .. } = like;
        let like = format!("as a replacement for {path} (generation {generation}, {step} steps)");
        report.fact("imported", like);
    }
    if let Some(settings) = report.checked(checkpoint.reading()) {
        report.ignored(&settings);
    }
    report.fact("files", json!(manifest.files));
    if let Some(data) = &manifest.data {
        let TrainingData { window_shards, window_positions, new_positions, new_steps, .. } = data;
        let window = json!({"shards": window_shards, "positions": window_positions});
        report.fact("window", window);
        report.fact("since the checkpoint before", json!({"positions": new_positions, "steps": new_steps}));
        if !data.given_up.is_empty() {
            report.fact("trained without", json!(data.given_up));
        }
        if let Some(lineage) = report.checked(Lineage::new(data.lineage.clone(), path))
            && let Ok(settings) = checkpoint.reading()
        {
            past(&lineage, &settings.config, report);
        }
    }
}

//! Run folders: settings, records, checkpoints, and metrics together.
//!
//! The game comes from `config.toml`. Every checkpoint and every shard is checked as if it were inspected alone. All
//! checkpoints and shards must also belong to the run, and everything that the checkpoints list must exist. An active
//! run can be inspected safely.

use std::path::Path;

use serde_json::json;

use super::{Findings, identity_here, network, plain, records};
use crate::checkpoint::lineage::Lineage;
use crate::checkpoint::{self, Checkpoint};
use crate::cli::records::FoundRecords;
use crate::cli::records::verify::verify;
use crate::error::Result;
use crate::registry::Catalog;
use crate::replay::store::generation_of;
use crate::run::{self, METRICS, SETTINGS};
use crate::storage;

pub(super) fn is(path: &Path) -> bool {
    storage::has_folder(path) && storage::has(&path.join(SETTINGS))
}

/// Checks everything in the folder, and reports the results.
pub(super) fn report(path: &Path, report: &mut Findings, games: Catalog) -> Result<()> {
    let settings = plain::read_settings(&path.join(SETTINGS))?;
    let config = &settings.config;
    let game = identity_here(&config.game.id, &config.game.options, games)?;
    report.game(&game, path, games);
    report.fact("network", json!(config.net));
    report.fact("seed", config.seed);
    report.ignored(&settings);
    // settings that this version does not know are only mentioned; a value that is not permitted is a problem, because
    // `train` refuses it
    if settings.ignored.iter().any(|ignored| !ignored.is_unknown()) {
        report.checked(run::settings_of(path));
    }
    let checkpoints = checkpoint::list(path)?;
    // generation 0 has the weights that the run began with
    report.fact("generations", checkpoints.iter().filter(|path| generation_of(path) > Some(0)).count());
    report.fact("generations planned", config.train.generations);
    if let Some(lineage) = report.checked(Lineage::of(path)) {
        network::past(&lineage, config, report);
    }
    let mut loaded = 0;
    for folder in &checkpoints {
        // problems of a manifest are reported with the records
        let Ok(checkpoint) = Checkpoint::open_folder(folder) else { continue };
        let step = checkpoint.manifest.step;
        if report.checked(network::load(&checkpoint)).is_some() {
            loaded += 1;
            if Some(folder) == checkpoints.last() {
                report.fact("step", step);
            }
        }
    }
    if loaded > 0 {
        report.fact(
            "checked checkpoints",
            format!("{loaded}: their SHA-256; network and optimizer can be loaded"),
        );
    }
    let source = FoundRecords::of(path)?;
    if let Some(verified) = report.checked(verify(&source, games)) {
        records::counts(&source, verified, report);
    }
    let metrics = path.join(METRICS);
    if storage::has(&metrics) {
        let read = plain::metrics(&metrics, report);
        report.checked(read);
    }
    Ok(())
}

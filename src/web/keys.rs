//! The agents that a page can name, by keys that never become paths.

use std::path::PathBuf;

use super::runs::ShownRuns;
use crate::arena::spec::{AgentSpec, DEFAULT_SIMULATIONS};
use crate::checkpoint;
use crate::error::Result;
use crate::page::players;

/// Returns the key of a generation of a run.
pub(super) fn key_of(run: usize, generation: usize) -> String {
    format!("run-{run}-{generation}")
}

/// Returns the agent with this key, which comes from the program, from a run, or from a file. `simulations` applies to
/// agents that search.
pub(super) fn spec(runs: &ShownRuns, key: &str, simulations: Option<usize>) -> Result<AgentSpec> {
    if let Some(spec) = players::agent_of(key, simulations)? {
        return Ok(spec);
    }
    let unknown = || players::unknown(key);
    let trained = |path: PathBuf| {
        AgentSpec::Trained(path, simulations.unwrap_or(DEFAULT_SIMULATIONS), None).at_full_speed()
    };
    let numbers = |text: &str| text.split('-').map(|part| part.parse().ok()).collect::<Option<Vec<usize>>>();
    if let Some(numbers) = key.strip_prefix("run-").and_then(numbers) {
        let [run, generation] = numbers[..] else { return Err(unknown()) };
        return Ok(trained(checkpoint::path_of(&runs.folder(run)?, generation)));
    }
    let file = key.strip_prefix("file-").and_then(numbers).ok_or_else(unknown)?;
    match file[..] {
        [file] => runs.files().get(file).map(|file| trained(file.clone())).ok_or_else(unknown),
        _ => Err(unknown()),
    }
}

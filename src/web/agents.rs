//! Agents that are loaded, kept for the next request.
//!
//! What is kept is told apart by what its files are, not only where: a run that was trained anew in the same folder and
//! an export that was replaced in place are other agents, and the ones they replaced are dropped.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use super::{Means, locked};
use crate::any::{AnyGame, Opened};
use crate::arena::agent::{AgentSpec, Contestant};
use crate::checkpoint::{Checkpoint, MANIFEST};
use crate::error::{Error, Result};
use crate::storage;

/// Agents that are kept.
const MOST: usize = 8;

/// The agents of a game, the last used at the end.
pub(super) struct Agents(Mutex<Vec<Kept>>);

struct Kept {
    name: String,
    path: Option<PathBuf>,
    network: Option<String>,
    contestant: Arc<Contestant<AnyGame>>,
}

/// An agent, and what its network is: equal texts are the same network.
pub(super) struct LoadedAgent {
    pub(super) contestant: Arc<Contestant<AnyGame>>,
    pub(super) network: Option<String>,
}

impl Agents {
    pub(super) fn new() -> Agents {
        Agents(Mutex::default())
    }

    /// The agent as its files are now. Nobody else waits while it is loaded.
    pub(super) fn get(&self, rules: &Opened, spec: &AgentSpec, means: &Means) -> Result<LoadedAgent> {
        let name = spec.to_string();
        let path = match spec {
            AgentSpec::Trained(path, ..) => Some(path.clone()),
            _ => None,
        };
        // before it is loaded: what changes meanwhile is loaded again the next time
        let network = path.as_deref().map(network_at).transpose()?;
        if let Some(contestant) = self.find(&name, network.as_deref()) {
            return Ok(LoadedAgent { contestant, network });
        }
        let Means { threads, processor } = means;
        let contestant = Arc::new(Contestant::on(rules, spec, processor)?.with_threads(*threads));
        let mut kept = locked(&self.0);
        kept.retain(|other| other.name != name && (other.path != path || other.network == network));
        if kept.len() >= MOST {
            kept.remove(0);
        }
        kept.push(Kept { name, path, network: network.clone(), contestant: contestant.clone() });
        Ok(LoadedAgent { contestant, network })
    }

    fn find(&self, name: &str, network: Option<&str>) -> Option<Arc<Contestant<AnyGame>>> {
        let mut kept = locked(&self.0);
        let at = kept.iter().position(|kept| kept.name == name && kept.network.as_deref() == network)?;
        let found = kept.remove(at);
        let contestant = found.contestant.clone();
        kept.push(found);
        Some(contestant)
    }
}

/// What network is at `path`, without reading its weights: the SHA-256 of a checkpoint's manifest, which has that of
/// the weights; of a file, which file it is on its disk, how long, and when it was changed.
fn network_at(path: &Path) -> Result<String> {
    let path = Checkpoint::find(path)?.path;
    let about = fs::metadata(&path).map_err(Error::io(&path))?;
    if about.is_dir() {
        let manifest = storage::read_at_most(&path.join(MANIFEST), storage::LARGEST_TEXT, "a manifest")?;
        return Ok(storage::sha256(&manifest));
    }
    let changed = about.modified().unwrap_or(SystemTime::UNIX_EPOCH);
    let changed = changed.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
    Ok(format!("{:x}-{changed:x}-{}", about.len(), place_of(&about)))
}

/// The file on its disk, and when anything about it was changed, which no program can set.
#[cfg(unix)]
fn place_of(about: &fs::Metadata) -> String {
    use std::os::unix::fs::MetadataExt;
    format!("{:x}-{:x}-{:x}-{:x}", about.dev(), about.ino(), about.ctime(), about.ctime_nsec())
}

/// Other systems do not tell.
#[cfg(not(unix))]
fn place_of(_about: &fs::Metadata) -> String {
    String::new()
}

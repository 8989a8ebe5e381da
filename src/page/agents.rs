//! Loaded agents, kept for later requests.
//!
//! An agent is identified by the contents of its files, not only by their path: if a run is trained again in the same
//! folder or an export is replaced in place, the result is another agent, and the old agent is dropped.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use super::{Means, locked};
use crate::any::{AnyGame, Opened};
use crate::arena::contestant::Contestant;
use crate::arena::spec::{AgentSpec, SHIPPED};
use crate::checkpoint::{Checkpoint, MANIFEST};
use crate::error::{Error, Result};
use crate::storage;

/// The maximum number of agents that are kept.
const MOST: usize = 8;

/// The loaded agents of a game, the most recently used last.
pub(crate) struct Agents(Mutex<Vec<Kept>>);

struct Kept {
    name: String,
    path: Option<PathBuf>,
    network: Option<String>,
    contestant: Arc<Contestant<AnyGame>>,
}

/// An agent and the identity of its network: equal texts mean the same network.
pub(crate) struct LoadedAgent {
    pub(crate) contestant: Arc<Contestant<AnyGame>>,
    pub(crate) network: Option<String>,
}

impl Agents {
    pub(crate) fn new() -> Agents {
        Agents(Mutex::default())
    }

    /// Returns the agent in its files' current state. Other requests do not wait while it is being loaded.
    pub(crate) fn get(&self, rules: &Opened, spec: &AgentSpec, means: &Means) -> Result<LoadedAgent> {
        let name = spec.to_string();
        let path = match spec {
            AgentSpec::Trained(path, ..) => Some(path.clone()),
            _ => None,
        };
        // the identity is determined before loading, so that files that change in the meantime are loaded again the
        // next time
        let network = match spec {
            // the network of a shipped agent never changes, and a program carries one for each game
            AgentSpec::Shipped(..) | AgentSpec::Level(_) => Some(SHIPPED.into()),
            _ => path.as_deref().map(network_at).transpose()?,
        };
        if let Some(contestant) = self.find(&name, network.as_deref()) {
            return Ok(LoadedAgent { contestant, network });
        }
        let Means { threads, processor } = means;
        let contestant = Arc::new(Contestant::on(rules, spec, processor)?.with_threads(*threads));
        let mut agents = locked(&self.0);
        agents.retain(|other| other.name != name && (other.path != path || other.network == network));
        if agents.len() >= MOST {
            agents.remove(0);
        }
        agents.push(Kept { name, path, network: network.clone(), contestant: contestant.clone() });
        Ok(LoadedAgent { contestant, network })
    }

    fn find(&self, name: &str, network: Option<&str>) -> Option<Arc<Contestant<AnyGame>>> {
        let mut agents = locked(&self.0);
        let at = agents.iter().position(|kept| kept.name == name && kept.network.as_deref() == network)?;
        let agent = agents.remove(at);
        let contestant = agent.contestant.clone();
        agents.push(agent);
        Some(contestant)
    }
}

/// Returns the identity of the network at `path`, without reading its weights: for a checkpoint, the SHA-256 of its
/// manifest, which has the hash of the weights; for a file, its size, modification time, and place on the disk.
fn network_at(path: &Path) -> Result<String> {
    let path = Checkpoint::find(path)?.path;
    if storage::is_folder(&path)? {
        let manifest = storage::read_at_most(&path.join(MANIFEST), storage::LARGEST_TEXT, "a manifest")?;
        return Ok(storage::sha256(&manifest));
    }
    if storage::is_remote(&path) {
        return storage::sha256_of(&path);
    }
    let about = fs::metadata(&path).map_err(Error::io(&path))?;
    let changed = about.modified().unwrap_or(SystemTime::UNIX_EPOCH);
    let changed = changed.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
    Ok(format!("{:x}-{changed:x}-{}", about.len(), place_of(&about)))
}

/// Returns the file's device and inode and the time of its last change of any kind, which no program can set.
#[cfg(unix)]
fn place_of(about: &fs::Metadata) -> String {
    use std::os::unix::fs::MetadataExt;
    format!("{:x}-{:x}-{:x}-{:x}", about.dev(), about.ino(), about.ctime(), about.ctime_nsec())
}

/// Returns an empty text, because systems other than Unix do not provide these numbers.
#[cfg(not(unix))]
fn place_of(_about: &fs::Metadata) -> String {
    String::new()
}

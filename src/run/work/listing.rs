//! What is known about the shards of a generation from the names of its files in `work/`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::replay::store;
use crate::run::files::shared::folder_of;
use crate::storage;

/// The files about a shard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Offers {
    /// The number of the newest commit, from 1; 0 if there is none.
    pub commits: usize,
    /// The number of the newest commit that the learner rejected; 0 if there is none.
    pub rejected: usize,
    /// The notes of workers that could not play the shard.
    pub failed: Vec<PathBuf>,
    /// Whether the shard was put aside.
    pub is_aside: bool,
    /// The files with the shard's games.
    pub files: Vec<PathBuf>,
}

impl Offers {
    /// Returns the number of the commit that counts, if there is one.
    pub(crate) fn committed(&self) -> Option<usize> {
        (self.commits > self.rejected).then_some(self.commits)
    }

    /// Returns whether a worker should play the shard.
    pub(crate) fn is_open(&self) -> bool {
        self.committed().is_none() && !self.is_aside
    }
}

/// The files of a generation.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    folder: PathBuf,
    shards: BTreeMap<usize, Offers>,
    /// Whether a judge has committed its games with this generation.
    pub is_judged: bool,
    /// Whether the learner has created the list of shards that this generation was trained on.
    pub is_consumed: bool,
    /// Files with other names.
    pub unknown: Vec<PathBuf>,
}

/// The kinds of files of a shard.
enum ShardFileKind {
    Commit(usize),
    Rejected(usize),
    Failed,
    Aside,
    Games,
}

impl Listing {
    /// Reads the names of a generation's files; there may be no files.
    pub(crate) fn of(run: &Path, generation: usize) -> Result<Listing> {
        let folder = folder_of(run, generation);
        let mut listing = Listing { folder: folder.clone(), ..Listing::default() };
        for path in storage::list(&folder)? {
            listing.add(path);
        }
        Ok(listing)
    }

    fn add(&mut self, path: PathBuf) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match (&*name, kind_of(&name)) {
            ("judged.json", _) => self.is_judged = true,
            ("consumed.json", _) => self.is_consumed = true,
            (_, Some((shard, kind))) => {
                let offers = self.shards.entry(shard).or_default();
                match kind {
                    ShardFileKind::Commit(number) => offers.commits = offers.commits.max(number),
                    ShardFileKind::Rejected(number) => offers.rejected = offers.rejected.max(number),
                    ShardFileKind::Failed => offers.failed.push(path),
                    ShardFileKind::Aside => offers.is_aside = true,
                    ShardFileKind::Games => offers.files.push(path),
                }
            }
            _ if storage::is_temporary(name.as_ref()) => {}
            _ => self.unknown.push(path),
        }
    }

    /// Returns the files about a shard.
    pub(crate) fn shard(&self, shard: usize) -> Offers {
        self.shards.get(&shard).cloned().unwrap_or_default()
    }

    /// Returns all shards that have files here.
    pub(crate) fn shards(&self) -> impl Iterator<Item = (usize, &Offers)> {
        self.shards.iter().map(|(shard, offers)| (*shard, offers))
    }

    /// Returns whether there are no files at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.shards.is_empty() && !self.is_judged && !self.is_consumed && self.unknown.is_empty()
    }

    /// Returns the path of a shard's file with this ending.
    pub(crate) fn path(&self, shard: usize, ending: &str) -> PathBuf {
        self.folder.join(format!("shard-{shard:04}{ending}"))
    }
}

fn kind_of(name: &str) -> Option<(usize, ShardFileKind)> {
    let rest = name.strip_prefix("shard-")?;
    let end = rest.find(|letter: char| !letter.is_ascii_digit())?;
    let (number, rest) = (rest[..end].parse().ok()?, &rest[end..]);
    if rest.starts_with('-') && rest.ends_with(store::SUFFIX) {
        return Some((number, ShardFileKind::Games));
    }
    let rest = rest.strip_suffix(".json")?;
    let numbered = |prefix: &str| rest.strip_prefix(prefix)?.parse().ok();
    let kind = if let Some(number) = numbered(".commit-") {
        ShardFileKind::Commit(number)
    } else if let Some(number) = numbered(".rejected-") {
        ShardFileKind::Rejected(number)
    } else if rest.starts_with(".failed-") {
        ShardFileKind::Failed
    } else if rest == ".aside" {
        ShardFileKind::Aside
    } else {
        return None;
    };
    Some((number, kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_is_open() {
        let mut listing = Listing::default();
        let names = [
            "shard-0000.commit-1.json",
            "shard-0001.commit-1.json",
            "shard-0001.rejected-1.json",
            "shard-0001-1-ab.jsonl.zst",
            "shard-0002.commit-1.json",
            "shard-0002.rejected-1.json",
            "shard-0002.commit-2.json",
            "shard-0003.failed-ab-1.json",
            "shard-0004.failed-ab-1.json",
            "shard-0004.aside.json",
            "shard-10000.commit-1.json",
            "consumed.json",
            ".tmp-consumed.json",
            "shard-x.commit-1.json",
            "shard-0005.commit-x.json",
        ];
        names.iter().for_each(|name| listing.add(Path::new("work").join(name)));
        let committed: Vec<Option<usize>> = (0..5).map(|shard| listing.shard(shard).committed()).collect();
        assert_eq!(committed, [Some(1), None, Some(2), None, None]);
        let open: Vec<usize> = (0..6).filter(|shard| listing.shard(*shard).is_open()).collect();
        assert_eq!(open, [1, 3, 5]);
        assert_eq!(listing.shard(10_000).committed(), Some(1));
        assert!(listing.is_consumed && !listing.is_judged);
        assert_eq!(listing.unknown.len(), 2, "{:?}", listing.unknown);
        assert_eq!((listing.shard(1).files.len(), listing.shard(3).failed.len()), (1, 1));
    }
}

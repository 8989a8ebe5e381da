//! Sets of solved positions: intact if the checksum is right and every position fits the rules.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::Findings;
use crate::error::Result;
use crate::game::{Game, Rules};
use crate::registry::{Job, Registry};
use crate::replay::store;
use crate::truth::set;

pub fn is_set(path: &Path) -> bool {
    path.is_file() && (store::is_packed(path) || is_plain(path)) && set::header(path).is_ok()
}

/// Whether a file's name is that of JSON lines without compression.
fn is_plain(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "jsonl")
}

/// Reads everything.
pub fn report<R: Registry>(path: &Path, report: &mut Findings) -> Result<()> {
    let header = set::header(path)?;
    report.fact("game", header.game.as_str());
    report.fact("options", json!(header.options));
    report.fact("made by", header.made_by.as_str());
    report.fact("seed", header.seed);
    report.fact("positions", header.count);
    let read = R::with_game(&header.game, &header.options, Read(path.to_path_buf()));
    if let Some(counts) = report.checked(read.and_then(|counts| counts)) {
        let classes: Vec<String> = counts.iter().map(|(class, count)| format!("{count} {class}")).collect();
        report.fact("classes", classes);
    }
    Ok(())
}

/// Reads a set and counts the positions of each class.
struct Read(PathBuf);

impl Job for Read {
    type Output = Result<Vec<(String, usize)>>;

    fn run<G: Game>(self, rules: Rules<G>) -> Self::Output {
        let set = set::read(&self.0, &rules)?;
        let of = |class: usize| set.positions.iter().filter(|position| position.class == Some(class)).count();
        let classes = set.header.classes.iter().enumerate();
        Ok(classes.map(|(class, name)| (name.clone(), of(class))).collect())
    }
}

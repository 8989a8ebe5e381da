//! Sets of solved positions. A set is intact if the checksum is correct and every position fits the rules.

use std::path::Path;

use serde_json::json;

use super::Findings;
use crate::any::Opened;
use crate::error::Result;
use crate::registry::Catalog;
use crate::replay::store;
use crate::storage;
use crate::truth::set;

pub(super) fn is_set(path: &Path) -> bool {
    storage::has_file(path) && (store::is_packed(path) || store::is_plain(path)) && set::header(path).is_ok()
}

/// Reports a set, which is read completely.
pub(super) fn report(path: &Path, report: &mut Findings, games: Catalog) -> Result<()> {
    let header = set::header(path)?;
    report.fact("game", header.game.as_str());
    report.fact("options", json!(header.options));
    report.fact("made by", header.made_by.as_str());
    report.fact("seed", header.seed);
    report.fact("positions", header.count);
    let rules = games.open(&header.game, &header.options);
    if let Some(counts) = report.checked(rules.and_then(|rules| classes(path, &rules))) {
        let classes: Vec<String> = counts.iter().map(|(class, count)| format!("{count} {class}")).collect();
        report.fact("classes", classes);
    }
    Ok(())
}

/// Returns the classes of the set's positions, each with the number of positions.
fn classes(path: &Path, rules: &Opened) -> Result<Vec<(String, usize)>> {
    let set = set::read(path, rules)?;
    let count = |class: usize| set.positions.iter().filter(|position| position.class == Some(class)).count();
    let classes = set.header.classes.iter().enumerate();
    Ok(classes.map(|(class, name)| (name.clone(), count(class))).collect())
}

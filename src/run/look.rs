//! What another process can see of a run: what it is doing, and how long it will take.

use std::path::Path;

use serde_json::Value;

use crate::replay::store;

/// What `petteia train` said, over all sessions: a file in the run's folder.
pub const LOG: &str = "train.log";

/// What the run in `folder` is doing, by its [metrics](super::metrics_of) and the games that are there.
pub fn doing(folder: &Path, lines: &[Value]) -> String {
    let last = |kind: &str| lines.iter().rfind(|line| line["kind"] == kind);
    let number = |line: Option<&Value>, key: &str| line.and_then(|line| line[key].as_u64()).unwrap_or(0);
    let [played, trained] = ["selfplay", "train"].map(|kind| number(last(kind), "generation"));
    let next = played + 1;
    let shards = store::list(folder).unwrap_or_default();
    let shards = shards.iter().filter(|(generation, _)| *generation as u64 == next).count();
    match (trained < played, shards) {
        (true, _) => format!("generation {played}: training"),
        (false, _) if lines.last().is_some_and(|line| line["kind"] == "train") => {
            format!("generation {played}: training, step {}", number(last("train"), "step"))
        }
        (false, 0) => format!("generation {next}: self-play"),
        (false, shards) => format!("generation {next}: self-play, {shards} shards of games are finished"),
    }
}

/// Seconds until the last of `planned` generations, if those to come take as long as the newest one, whose time is the sum
/// of its parts in `lines`; `None` before the first one that was not played by random playouts is complete.
pub fn seconds_left(lines: &[Value], planned: usize) -> Option<f64> {
    let of = |line: &Value| line["generation"].as_u64().unwrap_or(0);
    let is_trained = |line: &&Value| line["kind"] == "train";
    let newest = lines.iter().filter(is_trained).map(of).max().filter(|newest| *newest > 1)?;
    // nobody knows how long its games took if it was resumed after the line that said so was lost
    let is_timed =
        |line: &Value| line["kind"] == "selfplay" && of(line) == newest && line["seconds"].is_number();
    if !lines.iter().any(is_timed) {
        return None;
    }
    let parts = lines.iter().filter(|line| of(line) == newest).filter_map(|line| line["seconds"].as_f64());
    Some(parts.sum::<f64>() * (planned as f64 - newest as f64).max(0.0))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_left_takes_as_long_as_the_newest_generation() {
        let line = |kind: &str, generation: u64, seconds: f64| json!({"kind": kind, "generation": generation, "seconds": seconds});
        let mut lines = vec![line("selfplay", 1, 100.0), line("train", 1, 50.0)];
        assert_eq!(seconds_left(&lines, 5), None);
        lines.extend([line("selfplay", 2, 20.0), line("train", 2, 10.0), line("selfplay", 3, 25.0)]);
        assert_eq!(seconds_left(&lines, 5), Some(90.0));
        assert_eq!(seconds_left(&lines, 2), Some(0.0));
        lines.extend([line("selfplay", 3, 25.0), line("train", 3, 5.0)]);
        assert!(seconds_left(&lines, 5).is_some());
        lines
            .iter_mut()
            .filter(|line| line["kind"] == "selfplay")
            .for_each(|line| line["seconds"] = json!(null));
        assert_eq!(seconds_left(&lines, 5), None);
    }
}

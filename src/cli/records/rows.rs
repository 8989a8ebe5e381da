//! Recorded positions as rows of a table: text for CSV, lists for JSON.
//!
//! A real number always has a decimal point, because readers infer the type of a column from its first rows: a column
//! that begins with thousands of `1` and continues with `0.512` would be rounded or refused.

use serde::Serialize;

use super::greatest_first;
use crate::any::Opened;
use crate::error::Result;
use crate::game::{Action, Game};
use crate::replay::ended::Ended;
use crate::replay::record::Record;

/// The header of a CSV file.
pub(super) const COLUMNS: &str =
    "generation,game,ply,to_move,position,action,value,win,draw,loss,visits,weight,outcome,evaluator,ended";

/// A recorded position.
#[derive(Debug, Serialize)]
pub(super) struct PositionRow {
    generation: usize,
    game: usize,
    ply: usize,
    to_move: &'static str,
    position: String,
    /// The action that was played.
    action: String,
    /// The policy index of the played action.
    index: usize,
    /// Win minus loss; `None`, as in the next three fields, if neither a search nor a network evaluated the position.
    value: Option<f64>,
    win: Option<f32>,
    draw: Option<f32>,
    loss: Option<f32>,
    /// The actions that the search considered, the most visited first.
    actions: Vec<String>,
    /// The policy index of each considered action.
    indices: Vec<usize>,
    /// The visits of each considered action.
    visits: Vec<u32>,
    /// The share of each considered action in the policy target; the shares sum to 1.
    policy: Vec<f32>,
    /// How often training samples the position, relative to 1; 0 if the ply is not trained on.
    weight: f32,
    outcome: String,
    evaluator: String,
    /// How the game ended, such as `rules` or `resigned`. Every row has a text, because a column that is empty in the
    /// first rows has no type.
    ended: &'static str,
}

impl PositionRow {
    /// Returns the positions of a game, which is replayed.
    ///
    /// # Errors
    /// If the record contradicts the rules.
    pub(super) fn of(rules: &Opened, record: &Record) -> Result<Vec<PositionRow>> {
        let (game, mut rows) = (&rules.game, Vec::with_capacity(record.actions.len()));
        record.replay(rules, |replayed| {
            let ply = rows.len();
            let action = |text: &str| -> Action {
                game.parse_action(replayed.state, text).expect("the replay checked the actions")
            };
            let (visits, target) = (&record.visits[ply], record.policy.get(ply));
            let target = target.filter(|policy| !policy.is_empty()).unwrap_or(visits);
            let sum: u64 = target.values().map(|&weight| u64::from(weight)).sum();
            // the policy target may also have actions without visits
            let unvisited =
                greatest_first(target).into_iter().filter(|(text, _)| !visits.contains_key(*text));
            let considered = greatest_first(visits).into_iter().map(|(text, _)| text);
            let considered: Vec<&String> = considered.chain(unvisited.map(|(text, _)| text)).collect();
            let share = |text: &&String| {
                let weight = target.get(*text).copied().unwrap_or(0);
                (f64::from(weight) / sum as f64) as f32
            };
            let [win, draw, loss] = record.wdl[ply];
            let value = record.value(ply);
            rows.push(PositionRow {
                generation: record.generation,
                game: record.index,
                ply,
                to_move: game.to_move(replayed.state).id(),
                position: game.state_text(replayed.state),
                action: record.actions[ply].clone(),
                index: action(&record.actions[ply]).index(),
                value: value.map(|value| (f64::from(value) * 1e4).round() / 1e4),
                win: value.map(|_| win),
                draw: value.map(|_| draw),
                loss: value.map(|_| loss),
                indices: considered.iter().map(|text| action(text).index()).collect(),
                visits: considered.iter().map(|&text| visits.get(text).copied().unwrap_or(0)).collect(),
                policy: considered.iter().map(share).collect(),
                actions: considered.into_iter().cloned().collect(),
                weight: if visits.is_empty() { 0.0 } else { replayed.weight },
                outcome: record.outcome.clone(),
                evaluator: record.evaluator.clone(),
                ended: record.ended.map_or("rules", Ended::id),
            });
        })?;
        Ok(rows)
    }

    /// Returns a line of CSV with the [`COLUMNS`].
    pub(super) fn csv(&self) -> String {
        let number = |number: Option<f32>| number.map_or(String::new(), real);
        let visits = self.actions.iter().zip(&self.visits).filter(|(_, visits)| **visits > 0);
        let visits: Vec<String> = visits.map(|(text, visits)| format!("{text}:{visits}")).collect();
        let fields = [
            self.generation.to_string(),
            self.game.to_string(),
            self.ply.to_string(),
            self.to_move.to_string(),
            self.position.clone(),
            self.action.clone(),
            self.value.map_or(String::new(), |value| format!("{value:.4}")),
            number(self.win),
            number(self.draw),
            number(self.loss),
            visits.join(" "),
            real(self.weight),
            self.outcome.clone(),
            self.evaluator.clone(),
            self.ended.into(),
        ];
        fields.map(quoted).join(",")
    }

    /// Returns a JSON object.
    pub(super) fn json(&self) -> String {
        serde_json::to_string(self).expect("rows are valid JSON")
    }
}

/// Formats a number with as few digits as possible, always with a decimal point and without an exponent.
fn real(number: f32) -> String {
    let text = number.to_string();
    if text.contains('.') { text } else { text + ".0" }
}

/// Quotes a CSV field as RFC 4180 requires.
fn quoted(field: String) -> String {
    if field.contains([',', '"', '\n', '\r']) { format!("\"{}\"", field.replace('"', "\"\"")) } else { field }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_numbers_have_a_decimal_point() {
        let numbers = [0.0, 1.0, 0.512, 1e-9, 1e6, -1.0, f32::MIN_POSITIVE];
        for number in numbers {
            let text = real(number);
            assert!(text.contains('.') && !text.contains('e'), "{text}");
            assert_eq!(text.parse(), Ok(number), "{text}");
        }
        assert_eq!(
            numbers[..3].iter().map(|&number| real(number)).collect::<Vec<_>>(),
            ["0.0", "1.0", "0.512"]
        );
    }
}

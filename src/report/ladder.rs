//! The page's section about a ladder: the strength of the run's generations, compared with each other and with other
//! agents.
//!
//! Input: the output of `petteia ladder --json`, as a file. Output: a chart of the generations in the ladder, and a
//! table of all agents.

use std::collections::BTreeMap;
use std::path::Path;

use maud::{Markup, html};
use serde::Deserialize;

use super::chart::{Chart, Series, counted};
use crate::arena::elo::{bounds, signed};
use crate::error::{Error, Result};
use crate::game::{GameIdentity, Settings, option_differences};
use crate::storage;

/// An agent's rating. A bound is omitted from the table if the games do not determine it.
#[derive(Debug, Deserialize)]
struct Rated {
    elo: f64,
    low: Option<f64>,
    high: Option<f64>,
}

#[derive(Debug, Deserialize)]
struct LadderAgent {
    agent: String,
    games: usize,
    score: f64,
    rating: Option<Rated>,
}

/// A finished ladder.
#[derive(Debug, Deserialize)]
pub struct LadderReport {
    game: String,
    #[serde(default)]
    options: Settings,
    games: usize,
    zero: String,
    agents: Vec<LadderAgent>,
}

impl LadderReport {
    /// Reads the file at `path`, whose ladder must be of this game with these options.
    ///
    /// # Errors
    /// If the file cannot be read, is not a ladder, or is a ladder of another game.
    pub fn read(path: &Path, game: &GameIdentity) -> Result<LadderReport> {
        let text = storage::read_text(path, "a ladder")?;
        let place = path.display();
        let ladder: LadderReport = serde_json::from_str(&text).map_err(|_| {
            Error::Config(format!(
                "{place} is not the result of a ladder; write one with `petteia ladder RUN ... --json > FILE`"
            ))
        })?;
        if ladder.game != game.id {
            return Err(Error::Config(format!("{place} is a ladder of {}, not of {}", ladder.game, game.id)));
        }
        let differences = option_differences(&ladder.options, &game.options);
        if !differences.is_empty() {
            return Err(Error::Config(format!(
                "{place} is a ladder with different game options (in the ladder / in the run): {differences}"
            )));
        }
        Ok(ladder)
    }

    /// Returns the section of the page about the ladder.
    pub(super) fn shown(&self) -> Markup {
        let mut ranked: Vec<&LadderAgent> = self.agents.iter().collect();
        let elo = |agent: &LadderAgent| agent.rating.as_ref().map_or(f64::NEG_INFINITY, |rated| rated.elo);
        ranked.sort_by(|a, b| elo(b).total_cmp(&elo(a)));
        let chart = self.chart();
        html! {
            h2 { "Ladder" }
            p { (counted(self.games, "game", "games")) " between these agents, played by the pairs whose results \
                reveal the most. "
                (self.zero) " has the rating 0; bounds are 95 %." }
            @if !chart.series.is_empty() { div.charts { (chart.figure()) } }
            div.wide { table {
                thead { tr { @for head in ["agent", "Elo", "95 %", "games", "score"] { th scope="col" { (head) } } } }
                tbody { @for agent in ranked { (row(agent)) } }
            } }
        }
    }

    /// Returns the chart of the generations of each run in the ladder.
    fn chart(&self) -> Chart {
        let mut runs: BTreeMap<&str, Vec<(f64, &Rated)>> = BTreeMap::new();
        for LadderAgent { agent, rating, .. } in &self.agents {
            if let Some((run, generation)) = agent.rsplit_once("generation ")
                && let (Ok(generation), Some(rating)) = (generation.parse(), rating)
            {
                runs.entry(run.trim_end()).or_default().push((generation, rating));
            }
        }
        let series = runs.into_iter().enumerate().map(|(color, (run, rated))| Series {
            name: if run.is_empty() { "generations of the ladder".into() } else { run.into() },
            color,
            line: 0,
            points: rated.iter().map(|(generation, rated)| (*generation, rated.elo)).collect(),
            band: rated.iter().map(|(generation, rated)| (*generation, rated.low, rated.high)).collect(),
        });
        let about =
            format!("Elo above {} according to the games of the ladder, with 95 % bounds.", self.zero);
        Chart::by_generation("Strength in the ladder", &about, "Elo", series.collect())
    }
}

fn row(agent: &LadderAgent) -> Markup {
    html! {
        tr {
            th scope="row" { (agent.agent) }
            @if let Some(rated) = &agent.rating {
                td { (signed(rated.elo)) }
                td { (bounds(rated.low, rated.high)) }
            } @else {
                td { "–" } td { "not connected" }
            }
            td { (agent.games) }
            td { (format!("{:.0} %", 100.0 * agent.score)) }
        }
    }
}

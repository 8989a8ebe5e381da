//! Compares the variants on a page with games that designers know, which are measured in the same way.
//!
//! Input: the variants of a page. Output: a table with one row for each variant and for each known game. The known
//! games are in `known.json`, which `scripts/study/known_games.py` makes from the output of `petteia balance --json`.

use std::sync::LazyLock;

use maud::{Markup, html};
use serde::Deserialize;

use super::Character;
use super::drawn::Measured;
use super::figures::{heads, number_of, percent, share_of};
use crate::report::chart::number;

/// The figures of a known game, from games between equal players of the strongest level that was measured.
#[derive(Debug, Deserialize)]
struct Known {
    /// The game's id.
    id: String,
    /// The game's title and board.
    name: String,
    /// The players.
    players: String,
    games: usize,
    first_score: f64,
    draws: f64,
    character: Character,
}

static KNOWN: LazyLock<Vec<Known>> =
    LazyLock::new(|| serde_json::from_str(include_str!("known.json")).expect("the file is tested"));

/// Returns the table of the variants and the known games, with the figures of the strongest level of each.
pub(super) fn beside(variants: &[Measured]) -> Markup {
    let others =
        || KNOWN.iter().filter(|known| variants.iter().all(|variant| variant.balance.game != known.id));
    let players: Vec<String> =
        others().map(|known| format!("{}: {} ({} games)", known.name, known.players, known.games)).collect();
    html! {
        h2 { "Compared with games that you know" }
        p { "The same figures for other games, played between equal players. No figure is good or bad in itself; the \
            comparison shows what is usual and what is not." }
        div.wide { table {
            thead { tr {
                (heads(&["game", "length", "choices", "first player's score", "draws", "drama", "comebacks",
                    "lost leads"]))
                (heads(&["decided", "lead changes", "killer move", "late uncertainty"]))
            } }
            tbody {
                @for variant in variants {
                    @if let Some(level) = variant.balance.levels.last() {
                        (row(&variant.name, true, (level.first_score[0], level.draws), &level.character))
                    }
                }
                @for known in others() { (row(&known.name, false, (known.first_score, known.draws), &known.character)) }
            }
        } }
        p.facts { (players.join("; ")) "." }
    }
}

fn row(name: &str, is_own: bool, (score, draws): (f64, f64), of: &Character) -> Markup {
    html! {
        tr {
            th scope="row" { @if is_own { b { (name) } } @else { (name) } }
            td { (number(of.length)) }
            td { (number(of.branching)) }
            td { (percent(score)) }
            td { (percent(draws)) }
            td { (number_of(of.drama)) }
            td { (share_of(of.comebacks)) }
            td { (share_of(of.lost_leads)) }
            td { (share_of(of.decided)) }
            td { (number(of.lead_changes)) }
            td { (number(of.killer_move)) }
            td { (number(of.late_uncertainty)) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The file consists of measurements: shares are between 0 and 1, and nothing is missing.
    #[test]
    fn the_known_games_are_measured() {
        let ids: Vec<&str> = KNOWN.iter().map(|known| &*known.id).collect();
        for id in ["tic-tac-toe", "connect-four", "breakthrough", "hex-7", "othello", "phage", "cage"] {
            assert!(ids.contains(&id), "{id} is missing in {ids:?}");
        }
        for known in KNOWN.iter() {
            let of = &known.character;
            let shares =
                [Some(known.first_score), Some(known.draws), of.comebacks, of.lost_leads, of.decided];
            assert!(shares.iter().flatten().all(|share| (0.0..=1.0).contains(share)), "{known:?}");
            assert!(known.games >= 100 && of.length > 4.0 && of.branching > 1.0, "{known:?}");
            assert!(!known.players.is_empty() && !known.name.is_empty());
            // a game that nobody ever wins has no drama
            assert_eq!(of.drama.is_some(), known.draws < 1.0, "{known:?}");
        }
    }
}

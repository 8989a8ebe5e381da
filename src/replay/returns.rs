//! The value targets of positions: the game's outcome, or a mean of the outcome and the search's own values.
//!
//! Input: the results of the searches in a game, and its outcome. Output: for each ply, win, draw, and loss for the
//! player to move. Outcomes are unbiased but noisy, above all while actions are drawn by temperature; the search's
//! values are biased but less noisy.

use crate::config::ReplayConfig;
use crate::game::{Outcome, Player};
use crate::search::evaluator::Wdl;

/// What one ply of a game contributes to the value targets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlyTarget {
    /// The player to move.
    pub mover: Player,
    /// The search's result for the mover; `None` if the ply was not searched.
    pub search: Option<Wdl>,
    /// Whether the action played is the one that the search preferred.
    pub best: bool,
}

/// Returns the value target of each ply.
///
/// With `replay.value_decay` d, the target is a weighted mean of the outcome and of the search's values from this ply
/// on, whose weights fall by the factor 1 - d with each ply. This is TD(lambda) with lambda = 1 - d (Sutton 1988). With
/// `replay.blunder`, an action that the search did not prefer and that lost at least that much value is a blunder. All
/// earlier plies are treated as if the game ended at the blunder: their outcome is the value that the search found
/// before the blunder.
pub(crate) fn value_targets(plies: &[PlyTarget], outcome: Outcome, settings: &ReplayConfig) -> Vec<Wdl> {
    let decay = settings.value_decay;
    let mut targets = vec![Wdl::of(outcome, Player::First); plies.len()];
    // for the first player: the result expected from later plies, and the value of the next ply
    let mut to_come = Wdl::of(outcome, Player::First);
    let mut next = to_come;
    for (ply, target) in plies.iter().zip(&mut targets).rev() {
        if let Some(search) = ply.search {
            let here = for_first(search, ply.mover);
            let next_value = for_first(next, ply.mover).value();
            let loss = search.value() - next_value;
            let is_blunder = settings.blunder > 0.0 && !ply.best && loss >= settings.blunder;
            to_come = if is_blunder { here } else { mixed(here, to_come, decay) };
            next = here;
        }
        *target = for_first(to_come, ply.mover);
    }
    targets
}

/// Converts a result between the points of view of `mover` and of the first player.
fn for_first(wdl: Wdl, mover: Player) -> Wdl {
    match mover {
        Player::First => wdl,
        Player::Second => Wdl { win: wdl.loss, draw: wdl.draw, loss: wdl.win },
    }
}

fn mixed(here: Wdl, to_come: Wdl, share: f32) -> Wdl {
    let mix = |here: f32, to_come: f32| share * here + (1.0 - share) * to_come;
    Wdl {
        win: mix(here.win, to_come.win),
        draw: mix(here.draw, to_come.draw),
        loss: mix(here.loss, to_come.loss),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(value_decay: f32, blunder: f32) -> ReplayConfig {
        ReplayConfig::with(|replay| (replay.value_decay, replay.blunder) = (value_decay, blunder))
    }

    fn ply(mover: Player, value: f32, best: bool) -> PlyTarget {
        PlyTarget { mover, search: Some(Wdl::from_value(value, 0.0)), best }
    }

    const FIRST: Player = Player::First;
    const SECOND: Player = Player::Second;

    fn values(plies: &[PlyTarget], outcome: Outcome, settings: &ReplayConfig) -> Vec<f32> {
        value_targets(plies, outcome, settings).into_iter().map(Wdl::value).collect()
    }

    #[test]
    fn without_settings_it_is_the_outcome_for_the_mover() {
        let plies = [ply(FIRST, 0.9, true), ply(FIRST, 0.1, false), ply(SECOND, 0.3, true)];
        let won = Outcome::Win(SECOND);
        assert_eq!(values(&plies, won, &settings(0.0, 0.0)), [-1.0, -1.0, 1.0]);
        assert_eq!(values(&plies, Outcome::Draw, &settings(0.0, 0.0)), [0.0; 3]);
    }

    #[test]
    fn values_of_later_plies_count_less_and_less() {
        // the first player's values: 0.5, 0.2 (the second player's -0.2), and then a win
        let plies = [ply(FIRST, 0.5, true), ply(SECOND, -0.2, true)];
        let found = values(&plies, Outcome::Win(FIRST), &settings(0.25, 0.0));
        let last = 0.25 * 0.2 + 0.75;
        let first = 0.25 * 0.5 + 0.75 * last;
        assert!((found[0] - first).abs() < 1e-6 && (found[1] + last).abs() < 1e-6, "{found:?}");
        // a ply that was not searched passes the later result on unchanged
        let unsearched = PlyTarget { search: None, ..plies[1] };
        let found = values(&[plies[0], unsearched], Outcome::Win(FIRST), &settings(0.25, 0.0));
        assert!((found[0] - (0.25 * 0.5 + 0.75)).abs() < 1e-6 && (found[1] + 1.0).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn a_blunder_does_not_count_for_what_was_before() {
        // the first player is winning, and then draws an action that loses
        let plies = |best| [ply(SECOND, -0.7, true), ply(FIRST, 0.75, best), ply(SECOND, 0.9, true)];
        let lost = Outcome::Win(SECOND);
        assert_eq!(values(&plies(false), lost, &settings(0.0, 1.0)), [-0.75, 0.75, 1.0]);
        // no blunder: the action was the best one, or did not lose enough
        assert_eq!(values(&plies(true), lost, &settings(0.0, 1.0)), [1.0, -1.0, 1.0]);
        assert_eq!(values(&plies(false), lost, &settings(0.0, 1.8)), [1.0, -1.0, 1.0]);
    }
}

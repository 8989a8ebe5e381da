//! Exchanged players ([`Game::exchanged`]): what is seen by the player to move stays, and who has won changes.

use crate::game::{Game, Player};

use super::{Checked, Checker, Encoded, Position, require};

/// Plies at the start of a game at which every legal action is played, and the distance of those later on.
const ALL_PLIES: usize = 16;
const SOME_PLIES: usize = 5;

/// By plane, whether it only says who is to move: the numbers that fill it for the first player and the second. Known
/// from the first position on.
#[derive(Default)]
pub(super) struct MoverPlanes(Option<Vec<Option<[f32; 2]>>>);

impl MoverPlanes {
    /// The first plane that differs between a position and the exchanged one, except those of the player to move.
    fn differing(&mut self, planes: Vec<Option<[f32; 2]>>, same: impl Fn(usize) -> bool) -> Option<usize> {
        let known = self.0.get_or_insert_with(|| planes.clone());
        (0..planes.len())
            .find(|&plane| planes[plane] != known[plane] || planes[plane].is_none() && !same(plane))
    }
}

impl<G: Game> Checker<'_, G> {
    pub(super) fn exchange(&mut self, position: &Position<G::State>, ply: usize) -> Checked {
        let Some(other) = self.game.exchanged(&position.state) else { return Ok(()) };
        let what = format!("after the players are exchanged (`{}`)", self.game.state_text(&other));
        self.exchanged_position(position, &other).map_err(|rule| format!("{what} {rule}"))?;
        // the rest costs as much as everything else together
        if ply >= ALL_PLIES && !ply.is_multiple_of(SOME_PLIES) {
            return Ok(());
        }
        self.exchanged_play(position, &other)
    }

    fn exchanged_position(&mut self, position: &Position<G::State>, other: &G::State) -> Checked {
        let (game, state) = (self.game, &position.state);
        require(game.to_move(other) != game.to_move(state), || "the same player is to move".into())?;
        require(game.exchanged(other).as_ref() == Some(state), || {
            "exchanging them again does not give back the position: look at exchanged".into()
        })?;
        let legal = self.legal_actions(other)?;
        let encoded = self.encoded(other)?;
        let plane = self.exchanged_planes(position, &encoded);
        if legal != position.legal {
            let difference = self.difference(other, &legal, &position.legal);
            let look = match plane {
                None => {
                    "the planes are right: look at legal_actions, which must number actions as the player to move sees them"
                }
                Some(_) => {
                    "so are the planes: look at exchanged, and whether actions and planes are turned alike"
                }
            };
            return Err(format!("the legal actions are different, {difference}; {look}"));
        }
        if let Some(plane) = plane {
            return Err(format!(
                "the planes differ (plane {plane}), and the legal actions do not: look at encode, which must write what \
                 the player to move sees"
            ));
        }
        let (expected, outcome) =
            (game.outcome(state).map(|outcome| outcome.opposite()), game.outcome(other));
        require(outcome == expected, || {
            format!("the outcome is {outcome:?}, not {expected:?}: look at outcome")
        })?;
        let different = game.key(other) != game.key(state);
        require(different, || "the key is the same: the player to move must be part of it".into())?;
        let text = game.state_text(other);
        self.same_key(other, &text, &legal, &encoded)
    }

    /// The first plane that should be the same and is not.
    fn exchanged_planes(&mut self, position: &Position<G::State>, other: &Encoded) -> Option<usize> {
        let cells = self.shape.cells();
        let both = |plane: usize| [&position.encoded, other].map(|of| &of.numbers[plane * cells..][..cells]);
        let uniform = |numbers: &[f32]| numbers.iter().all(|number| *number == numbers[0]);
        let first = self.game.to_move(&position.state) == Player::First;
        let pair = |plane: usize| {
            let [one, two] = both(plane);
            let differ = uniform(one) && uniform(two) && one[0] != two[0];
            differ.then(|| if first { [one[0], two[0]] } else { [two[0], one[0]] })
        };
        let pairs = (0..self.shape.planes).map(pair).collect();
        let same = |plane: usize| {
            let [one, two] = both(plane);
            one == two
        };
        self.mover_planes.differing(pairs, same)
    }

    /// Playing an action and exchanging the players is the same as exchanging them and playing it.
    fn exchanged_play(&self, position: &Position<G::State>, other: &G::State) -> Checked {
        for &action in &position.legal {
            let after = self.after(&position.state, action);
            let same = self.game.exchanged(&after).is_none_or(|after| after == self.after(other, action));
            require(same, || {
                let (action, text) = (self.named(&position.state, action), self.game.state_text(other));
                format!(
                    "{action} has another effect after the players are exchanged (`{text}`): look at play and \
                     exchanged"
                )
            })?;
        }
        Ok(())
    }
}

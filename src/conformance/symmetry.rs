//! Checks symmetries: mapping must commute with planes, legal actions, and play. A message names the function at fault.

use crate::board::Symmetry;
use crate::game::{Action, Game};

use super::{Checked, Checker, ExaminedPosition, Pair, require};

impl<G: Game> Checker<'_, G> {
    pub(super) fn symmetries(&self, position: &ExaminedPosition<G::State>, ply: usize) -> Checked {
        let symmetries = self.game.symmetries(&position.state);
        let is_first = symmetries.first() == Some(&Symmetry::IDENTITY);
        require(is_first, || "the first symmetry is not the identity".into())?;
        // test all symmetries at the start, then one per ply in turn: a long game has enough positions for each
        // symmetry
        let is_due = |index: &usize| ply < 2 * symmetries.len() || ply % symmetries.len() == *index;
        for symmetry in (0..symmetries.len()).filter(is_due).map(|index| symmetries[index]) {
            self.symmetry(position, symmetry, ply)
                .map_err(|rule| format!("symmetry `{symmetry}`: {rule}"))?;
        }
        Ok(())
    }

    fn symmetry(&self, position: &ExaminedPosition<G::State>, symmetry: Symmetry, ply: usize) -> Checked {
        let ExaminedPosition { state, legal, encoded, .. } = position;
        let mapped = self.game.map_state(symmetry, state);
        let identity = symmetry != Symmetry::IDENTITY || mapped == *state;
        require(identity, || "map_state changes the position".into())?;
        let image = self.image(position, symmetry)?;
        let mut sorted = image.clone();
        sorted.sort_unstable();
        let same = self.game.to_move(&mapped) == self.game.to_move(state);
        require(same, || "map_state changes the player to move".into())?;
        let same = self.game.outcome(&mapped) == self.game.outcome(state);
        require(same, || {
            "the mapped position has a different outcome: look at map_state, or leave this symmetry out"
                .into()
        })?;
        let found = self.game.legal(&mapped);
        let expected = self.expand(&encoded.planes.mapped(symmetry));
        let plane = self.differing_plane(&self.encoded(&mapped)?.numbers, &expected);
        let difference = || self.difference(&mapped, &found, &sorted);
        match (found == sorted, plane) {
            (true, None) => {}
            (true, Some(plane)) => {
                return Err(format!(
                    "the mapped position's planes are not the mapped planes (plane {plane}), while its legal \
                     actions are right: look at encode"
                ));
            }
            (false, None) => {
                return Err(format!(
                    "the mapped position's legal actions are not the mapped ones ({}), while its planes are right: \
                     look at map_action and legal_actions",
                    difference()
                ));
            }
            (false, Some(plane)) => {
                return Err(format!(
                    "neither the mapped position's legal actions ({}) nor its planes (plane {plane}) are the \
                     mapped ones: look at map_state and legal_actions, or leave this symmetry out if the rules do not \
                     have it",
                    difference()
                ));
            }
        }
        let pair = Pair::new(self.game, [state, &mapped], ply, legal.len());
        for (index, (&action, &image)) in legal.iter().zip(&image).enumerate() {
            let [state, mapped] = pair.at(index);
            let expected = self.game.map_state(symmetry, &self.after(state, action));
            if self.after(mapped, image) != expected {
                return Err(self.not_commuting(state, mapped, (action, image), &sorted, &expected));
            }
        }
        Ok(())
    }

    /// Returns the mapped legal actions, in the order of the original ones.
    fn image(
        &self,
        position: &ExaminedPosition<G::State>,
        symmetry: Symmetry,
    ) -> Result<Vec<Action>, String> {
        let ExaminedPosition { state, legal, .. } = position;
        let mut image: Vec<Action> = Vec::with_capacity(legal.len());
        let mut is_taken = vec![false; self.shape.actions];
        for &action in legal {
            let to = self.game.map_action(symmetry, action);
            let named = || self.named(state, action);
            require(to.index() < self.shape.actions, || {
                format!("map_action maps {} to {}, which is not below shape.actions", named(), to.0)
            })?;
            if std::mem::replace(&mut is_taken[to.index()], true) {
                let other = image.iter().position(|other| *other == to).unwrap_or_default();
                let other = self.named(state, legal[other]);
                return Err(format!("map_action maps {other} and {} to the same action {}", named(), to.0));
            }
            let identity = symmetry != Symmetry::IDENTITY || to == action;
            require(identity, || format!("map_action changes {} to {}", named(), to.0))?;
            image.push(to);
        }
        Ok(image)
    }

    fn not_commuting(
        &self,
        state: &G::State,
        mapped: &G::State,
        (action, image): (Action, Action),
        legal: &[Action],
        expected: &G::State,
    ) -> String {
        let substitute = legal.iter().find(|other| self.after(mapped, **other) == *expected);
        let (action, image) = (self.named(state, action), self.named(mapped, image));
        match substitute {
            Some(substitute) => {
                let substitute = self.named(mapped, *substitute);
                format!(
                    "map_action maps {action} to {image}, but {substitute} leads to the position that map_state \
                     returns: one of the two functions is wrong"
                )
            }
            None => format!(
                "playing {action} and then mapping is not the same as mapping and then playing {image}: look at play \
                 and map_state"
            ),
        }
    }
}

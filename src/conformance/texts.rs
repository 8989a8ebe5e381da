//! Checks that the texts of actions and positions are parsed as the values from which they were written.

use crate::game::{Action, Game};

use super::{Checked, Checker, ExaminedPosition, require};

impl<G: Game> Checker<'_, G> {
    /// Returns the texts of the legal actions and checks that they are parsed as the same actions.
    pub(super) fn action_texts(&self, state: &G::State, legal: &[Action]) -> Result<Vec<String>, String> {
        // each text is parsed as a single action, so texts that round-trip are distinct
        let mut texts = Vec::with_capacity(legal.len());
        for &action in legal {
            let text = self.game.action_text(state, action);
            let is_word = !text.is_empty() && !text.contains(char::is_whitespace);
            require(is_word, || {
                format!("the text `{text}` of action {} must not be empty or contain spaces", action.0)
            })?;
            let parsed = self.game.parse_action(state, &text);
            require(parsed == Some(action), || {
                let parsed = parsed.map_or("nothing".into(), |parsed| self.named(state, parsed));
                format!("the text `{text}` of action {} is parsed as {parsed}", action.0)
            })?;
            let mut played = state.clone();
            let result = self.game.try_play(&mut played, action);
            require(result.is_ok(), || format!("try_play rejects the legal action `{text}`"))?;
            let same = played == self.after(state, action);
            require(same, || format!("try_play and play differ for the action `{text}`"))?;
            texts.push(text);
        }
        Ok(texts)
    }

    /// Checks that the text of a position is parsed as the same position.
    pub(super) fn state_text(&self, position: &ExaminedPosition<G::State>) -> Checked {
        let ExaminedPosition { state, text, .. } = position;
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        require(!text.is_empty() && words == *text, || {
            format!("the position's text must be one line of words with single spaces between them: {text:?}")
        })?;
        let parsed = self.game.parse_state(text);
        let parsed = parsed.map_err(|error| format!("the position's own text is rejected: {error}"))?;
        let written = self.game.without_history(state);
        require(parsed == written, || {
            let how = match self.game.state_text(&parsed) {
                again if again == *text => "its text does not describe everything".into(),
                again => format!("its text is `{again}`"),
            };
            format!("the position parsed from its own text is different: {how}")
        })?;
        let same = self.game.without_history(&written) == written;
        require(same, || "the position without history still has a history".into())?;
        let again = self.game.state_text(&parsed);
        require(again == *text, || format!("the parsed position's text is `{again}`"))?;
        let legal = self.game.legal(&written);
        self.behaves_like(&parsed, &written, &legal)?;
        let same = self.game.key(&parsed) == self.game.key(&written);
        require(same, || "equal positions have different keys".into())?;
        // the earlier positions may end the game, but have no other effect
        require(legal == position.legal || position.legal.is_empty(), || {
            let difference = self.difference(state, &legal, &position.legal);
            format!("the position without history has different legal actions: {difference}")
        })
    }

    /// Checks that a parsed position has the same player to move, outcome, and legal actions as the original.
    fn behaves_like(&self, parsed: &G::State, state: &G::State, legal: &[Action]) -> Checked {
        const WHAT: &str = "the position parsed from its own text";
        let same = self.game.to_move(parsed) == self.game.to_move(state);
        require(same, || format!("{WHAT} has a different player to move"))?;
        let same = self.game.outcome(parsed) == self.game.outcome(state);
        require(same, || format!("{WHAT} has a different outcome"))?;
        let found = self.game.legal(parsed);
        require(found == legal, || {
            format!("{WHAT} has different legal actions: {}", self.difference(state, &found, legal))
        })
    }
}

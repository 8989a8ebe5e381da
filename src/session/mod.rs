//! A game in progress: its start, the actions since, and the current position.
//!
//! Everything that follows a game uses a session: play in the terminal, protocols, external programs, and displayed
//! records. A session accepts only legal actions, so its position is always valid.

pub(crate) mod saved;

use crate::error::{Error, Result, quoted};
use crate::game::{Action, Game};

/// Returns the legal action that a text from another source stands for: the action with exactly this text, or else the
/// only one whose text differs just in letter case, or else the only one whose text has the same [letters and
/// digits](bare). For example, `B2-C4`, `b2c4`, `b2xc4`, `b2-c4x`, and `b2:c4` all stand for `b2-c4` in a game where
/// this is unambiguous.
pub fn meant<G: Game>(game: &G, state: &G::State, text: &str) -> Option<Action> {
    let legal = game.legal(state);
    let written = game.parse_action(state, text).filter(|action| legal.binary_search(action).is_ok());
    written.or_else(|| {
        let texts: Vec<String> = legal.iter().map(|action| game.action_text(state, *action)).collect();
        let only = |alike: &dyn Fn(&str) -> bool| {
            let mut alike = legal.iter().zip(&texts).filter(|(_, text)| alike(text));
            alike.next().filter(|_| alike.next().is_none()).map(|(action, _)| *action)
        };
        let letters = bare(text);
        only(&|written| written.eq_ignore_ascii_case(text))
            .or_else(|| only(&|written| !letters.is_empty() && bare(written) == letters))
    })
}

/// Returns the letters and digits of an action's text in lowercase, without the `x` of a capture. The result is the
/// same even if programs and rule sheets use different dashes, colons, brackets, and signs for captures and checks.
pub fn bare(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).filter(|c| *c != 'x').collect()
}

/// Returns the error for a text that does not name a legal action. The error gives the reason, if the rules know one.
/// If the rules know no reason and the text is not written like an action, the error gives an example.
pub fn illegal<G: Game>(game: &G, state: &G::State, text: &str) -> Error {
    let example = || match game.parse_action(state, text) {
        Some(_) => None,
        None => game.legal(state).first().map(|action| game.action_text(state, *action)),
    };
    let reason = match game.why_illegal(state, text) {
        Some(reason) => format!(": {reason}"),
        None => example().map_or(String::new(), |example| format!("; write it like `{example}`")),
    };
    Error::Illegal(format!("{} is not legal here{reason}", quoted(text)))
}

/// A game in progress.
///
/// ```
/// use petteia::game::Game;
/// use petteia::games::connect_four::ConnectFour;
/// use petteia::session::Session;
///
/// let mut session = Session::new(ConnectFour);
/// for text in ["4", "4", "3"] {
///     session.play_text(text)?;
/// }
/// assert!(session.play_text("8").is_err());
/// assert_eq!(session.texts(), ["4", "4", "3"]);
/// assert!(session.undo());
/// assert_eq!(ConnectFour.state_text(session.state()), "44");
/// # Ok::<(), petteia::error::Error>(())
/// ```
#[derive(Clone)]
pub struct Session<G: Game> {
    game: G,
    start: G::State,
    actions: Vec<Action>,
    state: G::State,
}

debug_fields!(Session<G: Game>, start, actions, state);

impl<G: Game> Session<G> {
    /// Returns a game that starts at the initial position.
    pub fn new(game: G) -> Session<G> {
        let start = game.initial();
        Session::from(game, start)
    }

    /// Returns a game that starts at `start`.
    pub fn from(game: G, start: G::State) -> Session<G> {
        Session { game, state: start.clone(), start, actions: Vec::new() }
    }

    /// Returns the rules.
    pub fn game(&self) -> &G {
        &self.game
    }

    /// Returns the position where the game started.
    pub fn start(&self) -> &G::State {
        &self.start
    }

    /// Returns the actions since the start.
    pub fn actions(&self) -> &[Action] {
        &self.actions
    }

    /// Returns the current position.
    pub fn state(&self) -> &G::State {
        &self.state
    }

    /// Returns whether the game is over.
    pub fn is_over(&self) -> bool {
        self.game.outcome(&self.state).is_some()
    }

    /// Starts again at `start`.
    pub fn restart(&mut self, start: G::State) {
        self.state.clone_from(&start);
        self.start = start;
        self.actions.clear();
    }

    /// Plays a legal action (unchecked in release builds, like [`Game::play`]).
    pub fn play(&mut self, action: Action) {
        self.game.play(&mut self.state, action);
        self.actions.push(action);
    }

    /// Plays an action if it is legal.
    ///
    /// # Errors
    /// If the action is not legal; the game then stays unchanged.
    pub fn try_play(&mut self, action: Action) -> Result<()> {
        self.game.try_play(&mut self.state, action)?;
        self.actions.push(action);
        Ok(())
    }

    /// Plays the action that this text [names](meant).
    ///
    /// # Errors
    /// If the text does not name a legal action; the game then stays unchanged.
    pub fn play_text(&mut self, text: &str) -> Result<Action> {
        let action =
            meant(&self.game, &self.state, text).ok_or_else(|| illegal(&self.game, &self.state, text))?;
        self.play(action);
        Ok(action)
    }

    /// Takes back the last action, and returns false if there is none.
    pub fn undo(&mut self) -> bool {
        let is_undone = self.actions.pop().is_some();
        self.state = self.state_after(self.actions.len());
        is_undone
    }

    /// Returns the position after the first `plies` actions.
    ///
    /// # Panics
    /// If fewer actions were played.
    pub fn state_after(&self, plies: usize) -> G::State {
        let mut state = self.start.clone();
        self.actions[..plies].iter().for_each(|action| self.game.play(&mut state, *action));
        state
    }

    /// Returns every earlier position with the action played there, oldest first, without the current position.
    pub fn plies(&self) -> impl Iterator<Item = (G::State, Action)> {
        let mut state = self.start.clone();
        self.actions.iter().map(move |&action| {
            let before = state.clone();
            self.game.play(&mut state, action);
            (before, action)
        })
    }

    /// Returns the actions played, as texts.
    pub fn texts(&self) -> Vec<String> {
        self.plies().map(|(state, action)| self.game.action_text(&state, action)).collect()
    }

    /// Returns the squares (row, column) of the view that the last action touched, or none if there is no last action.
    pub fn touched(&self) -> Vec<(usize, usize)> {
        match self.actions.split_last() {
            Some((last, before)) => self.game.touched(&self.state_after(before.len()), *last),
            None => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::{GameOptions, Variants};
    use crate::games::tic_tac_toe::TicTacToe;

    #[test]
    fn an_undone_action_was_never_played() {
        let mut session = Session::new(TicTacToe::new(&GameOptions::default()).unwrap());
        assert!(session.touched().is_empty() && !session.undo());
        for text in ["b2", "a1", "c3"] {
            session.play_text(text).unwrap();
        }
        assert!(session.play_text("c3").is_err() && session.try_play(Action(4)).is_err());
        assert_eq!((session.texts().join(" ").as_str(), session.touched()), ("b2 a1 c3", vec![(0, 2)]));
        assert!(session.undo());
        assert_eq!(session.game().state_text(session.state()), ".../.X./O.. X");
        assert_eq!(session.plies().count(), 2);
    }
}

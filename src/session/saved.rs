//! Games in progress as text, for saving and loading.
//!
//! The text is one JSON object with the game, its options, the start, and the actions. When the text is read, the rules
//! check all of it.

use serde::{Deserialize, Serialize};

use super::Session;
use crate::error::{Error, Result};
use crate::game::{Game, GameIdentity, Player, Rules, Settings, option_differences};

/// The version of the format.
const FORMAT: u32 = 1;
/// The maximum size of a saved game in bytes, enough for 100,000 actions.
pub(crate) const LARGEST: u64 = 4 << 20;

/// A saved game as text, not yet checked by the rules.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Saved {
    format: u32,
    /// The id in the registry.
    pub game: String,
    /// The game's options.
    pub options: Settings,
    /// The position in which the game started.
    pub start: String,
    /// The actions since the start.
    pub actions: Vec<String>,
    /// The player who resigned after the last action, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resigned: Option<Player>,
}

/// Returns the text of a game; `resigned` is the player who resigned, if any.
pub(crate) fn text<G: Game>(
    identity: &GameIdentity,
    session: &Session<G>,
    resigned: Option<Player>,
) -> String {
    let saved = Saved {
        format: FORMAT,
        game: identity.id.clone(),
        options: identity.options.clone(),
        start: session.game().state_text(session.start()),
        actions: session.texts(),
        resigned,
    };
    let text = serde_json::to_string_pretty(&saved).expect("plain data");
    format!("{text}\n")
}

impl Saved {
    /// Parses a text that came from `place`.
    ///
    /// # Errors
    /// If the text is not a saved game, or if it has another format.
    pub(crate) fn parse(text: &str, place: &str) -> Result<Saved> {
        let fault = |what: String| Error::Data(format!("{place}: {what}"));
        let saved: Saved =
            serde_json::from_str(text).map_err(|error| fault(format!("it is not a saved game: {error}")))?;
        if saved.format != FORMAT {
            return Err(fault(format!(
                "it has format {}, but this program reads format {FORMAT}",
                saved.format
            )));
        }
        Ok(saved)
    }
}

/// Checks that nobody has resigned in a game that is over.
///
/// # Errors
/// If somebody resigned in a game that is over by its rules.
pub(crate) fn check_resigned<G: Game>(session: &Session<G>, resigned: Option<Player>) -> Result<()> {
    match resigned {
        Some(_) if session.is_over() => {
            Err(Error::Data("the game is over by its rules, so no player can have resigned".into()))
        }
        _ => Ok(()),
    }
}

/// Parses a game of these rules from a text that came from `place`, and replays it. Also returns the player who
/// resigned, if any.
///
/// # Errors
/// If the text is not a saved game, if it belongs to another game, or if it contradicts the rules.
pub(crate) fn parse<G: Game>(
    rules: &Rules<G>,
    text: &str,
    place: &str,
) -> Result<(Session<G>, Option<Player>)> {
    let fault = |what: String| Error::Data(format!("{place}: {what}"));
    let saved = Saved::parse(text, place)?;
    if saved.game != rules.identity.id {
        return Err(fault(format!("it is a game of {}, not of {}", saved.game, rules.identity.id)));
    }
    if saved.options != rules.identity.options {
        let differences = option_differences(&saved.options, &rules.identity.options);
        return Err(fault(format!("it has different game options (there / here): {differences}")));
    }
    let start = rules.game.parse_state(&saved.start)?;
    let mut session = Session::from(rules.game.clone(), start);
    for action in &saved.actions {
        session.play_text(action).map_err(|error| fault(error.to_string()))?;
    }
    check_resigned(&session, saved.resigned).map_err(|error| fault(error.to_string()))?;
    Ok((session, saved.resigned))
}

//! A game in progress as a file: what `play` saves and loads.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::game::{Game, GameIdentity, Rules, Settings, option_differences};
use crate::session::Session;
use crate::storage;

/// The version of the format.
const FORMAT: u32 = 1;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Saved {
    format: u32,
    /// The registry id and the game's switches.
    game: String,
    options: Settings,
    /// The position in which the game started, and the actions since.
    start: String,
    actions: Vec<String>,
}

/// Writes the game as one JSON object.
pub fn write<G: Game>(identity: &GameIdentity, session: &Session<G>, path: &Path) -> Result<()> {
    let saved = Saved {
        format: FORMAT,
        game: identity.id.clone(),
        options: identity.options.clone(),
        start: session.game().state_text(session.start()),
        actions: session.texts(),
    };
    let text = serde_json::to_string_pretty(&saved).expect("plain data");
    storage::write_whole(path, format!("{text}\n").as_bytes())
}

/// Reads a game, and plays it by the rules.
pub fn read<G: Game>(rules: &Rules<G>, path: &Path) -> Result<Session<G>> {
    let wrong = |what: String| Error::Data(format!("{}: {what}", path.display()));
    let text = storage::read_text(path, "a saved game")?;
    let saved: Saved =
        serde_json::from_str(&text).map_err(|error| wrong(format!("it is not a saved game: {error}")))?;
    if saved.format != FORMAT {
        return Err(wrong(format!("it has format {}, and this program reads {FORMAT}", saved.format)));
    }
    if saved.game != rules.identity.id {
        return Err(wrong(format!("it is a game of {}, not of {}", saved.game, rules.identity.id)));
    }
    if saved.options != rules.identity.options {
        let differences = option_differences(&saved.options, &rules.identity.options);
        return Err(wrong(format!("it has other game options (there / here): {differences}")));
    }
    let start = rules.game.parse_state(&saved.start)?;
    let mut session = Session::from(rules.game.clone(), start);
    for action in &saved.actions {
        session.play_text(action).map_err(|error| wrong(error.to_string()))?;
    }
    Ok(session)
}

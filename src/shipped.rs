//! The files that are compiled into a program for its games: configs to train with and trained agents to play against.
//!
//! Input: files of the program's source, which its registry ([`games!`](crate::games!)) lists. Output: a config, found
//! by its name, and the agent of a game, found by the game's id.

use std::borrow::Cow;
use std::fmt::{self, Debug, Formatter};

/// A file that is compiled into a program.
///
/// A config has the extension `toml` and any name. If the name is the id of a game, the file is the config of this
/// game. A trained agent, as written by `petteia export`, has the extension `safetensors` and is named after the id of
/// its game. The [levels](crate::arena::levels) of a game have the extension `levels` and are named in the same way.
///
/// ```
/// use petteia::shipped::Shipped;
///
/// let config = Shipped::new("../configs/nim.toml", b"[game]\nid = 'nim'\n");
/// assert_eq!((config.name(), config.config()), ("nim", Some("[game]\nid = 'nim'\n")));
/// assert!(!config.is_agent());
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Shipped {
    /// The path of the file in the program's source.
    pub path: Cow<'static, str>,
    /// The contents of the file.
    pub bytes: Cow<'static, [u8]>,
}

impl Shipped {
    /// Makes a shipped file from its path and contents.
    pub const fn new(path: &'static str, bytes: &'static [u8]) -> Shipped {
        Shipped { path: Cow::Borrowed(path), bytes: Cow::Borrowed(bytes) }
    }

    /// Returns the name of the file without its extension.
    pub fn name(&self) -> &str {
        let file = self.path.rsplit(['/', '\\']).next().unwrap_or(&self.path);
        file.rsplit_once('.').map_or(file, |(name, _)| name)
    }

    /// Returns the text, if the file is a config.
    pub fn config(&self) -> Option<&str> {
        std::str::from_utf8(&self.bytes).ok().filter(|_| self.path.ends_with(".toml"))
    }

    /// Returns the text, if the file contains the rules of a [text game](crate::text_game).
    pub fn rules(&self) -> Option<&str> {
        std::str::from_utf8(&self.bytes).ok().filter(|_| self.path.ends_with(".game"))
    }

    /// Returns whether the file is a trained agent.
    pub fn is_agent(&self) -> bool {
        self.path.ends_with(".safetensors")
    }

    /// Returns whether the file contains the levels of a game.
    pub fn is_levels(&self) -> bool {
        self.path.ends_with(".levels")
    }
}

/// The files that a program carries for one game.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShippedForGame {
    /// The trained agent.
    pub agent: Option<Shipped>,
    /// The agents for the levels of the game.
    pub levels: Option<Shipped>,
}

impl Debug for Shipped {
    fn fmt(&self, out: &mut Formatter) -> fmt::Result {
        write!(out, "Shipped({}, {} bytes)", self.path, self.bytes.len())
    }
}

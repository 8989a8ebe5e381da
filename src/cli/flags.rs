//! The flags of the command line in errors of the library, which knows of [`Input`]s only.

use crate::error::{Error, Input};

/// The error as whoever typed the command reads it.
pub fn named(error: Error) -> Error {
    let Error::About { input, error } = error else { return error };
    let before = |flag: &str| format!("{flag} {error}");
    let behind = |hint: &str| format!("{error}{hint}");
    let text = match input {
        Input::Setting => before("--set"),
        Input::EngineLimit => before("--go"),
        Input::EngineTimeout => before("--engine-timeout"),
        Input::RunFolder => behind(" with --run DIR"),
        Input::MatchFile => behind(" with --save FILE"),
        Input::GameOptions => behind("; options are given as --set game.NAME=VALUE"),
        Input::AcceptMissing => behind("; --accept-missing accepts that"),
        Input::Threads => behind(" (--threads N)"),
    };
    error.reworded(text)
}

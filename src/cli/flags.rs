//! Adds the command-line flags to errors of the library, which knows only [`Input`]s.

use crate::error::{Error, Input};

/// The error with the flag that it is about.
pub fn named(error: Error) -> Error {
    let Error::About { input, error } = error else { return error };
    let prefixed = |flag: &str| format!("{flag} {error}");
    let followed = |hint: &str| format!("{error}{hint}");
    let text = match input {
        Input::Setting => prefixed("--set"),
        Input::EngineLimit => prefixed("--go"),
        Input::EngineTimeout => prefixed("--engine-timeout"),
        Input::RunFolder => followed(" with --run DIR"),
        Input::RunSettings => followed(
            " with --run DIR; --run without a CONFIG resumes it as it is, and --fork continues a copy with other settings",
        ),
        Input::MatchFile => followed(" with --save FILE"),
        Input::GameOptions => followed("; set options with --set game.NAME=VALUE"),
        Input::AcceptMissing => followed("; use --accept-missing to accept that"),
        Input::Threads => followed(" (--threads N)"),
    };
    error.reworded(text)
}

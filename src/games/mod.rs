//! The registry: the one place that names the games.
//!
//! One line of `games!` a game. [`with_game`] is the only step from a name to a type; everything
//! below it is generic over [`Game`]. A new game is one file here plus one line.

use crate::error::{Error, Result, quoted};
use crate::game::{Game, GameOptions, Settings, id_of};

/// Work on some game, chosen by its id at run time.
pub trait Job {
    /// What the work returns.
    type Output;
    /// Does the work; `options` are those that made `game`.
    fn run<G: Game>(self, game: G, options: GameOptions) -> Self::Output;
}

macro_rules! games {
    ($($module:ident :: $game:ident),* $(,)?) => {
        $(pub mod $module;)*

        /// Every id, in the order of the registry.
        pub fn ids() -> Vec<String> {
            let mut ids = Vec::new();
            $(for variant in $module::$game::VARIANTS {
                ids.push(id_of::<$module::$game>(variant));
            })*
            ids
        }

        /// Runs `job` on the game `id` with these switches.
        pub fn with_game<J: Job>(id: &str, settings: &Settings, job: J) -> Result<J::Output> {
            $(for variant in $module::$game::VARIANTS {
                if id == id_of::<$module::$game>(variant) {
                    let options = GameOptions { variant: variant.to_string(), settings: settings.clone() };
                    let game = $module::$game::new(&options)?;
                    return Ok(job.run(game, options));
                }
            })*
            Err(unknown(id))
        }
    };
}

games! {
    cage::Cage,
    caissa::Caissa,
    custodial_trap::CustodialTrap,
    phage::Phage,
    connect_four::ConnectFour,
    tic_tac_toe::TicTacToe,
}

fn unknown(id: &str) -> Error {
    let ids = ids();
    let near = ids.iter().find(|known| {
        let plain = |text: &str| text.to_lowercase().replace(['-', '_', ' '], "");
        plain(known) == plain(id) || (!id.is_empty() && plain(known).starts_with(&plain(id)))
    });
    let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    Error::Config(format!("unknown game {}{hint} (games here: {})", quoted(id), ids.join(", ")))
}

//! `petteia bench rules`: measures the speed of the rules on one thread.

use std::hint::black_box;

use clap::Args;

use super::measure::Measuring;
use crate::cli::{GameArgs, print};
use crate::config::game_settings;
use crate::encode::Planes;
use crate::error::Result;
use crate::game::{Action, Game, Rules, perft, perft_played};
use crate::random::{Purpose, Random, choose, stream};
use crate::registry::{Job, Registry};

const SEED: u64 = 1;
/// The number of leaves at which a depth is deep enough for perft.
const LEAVES: u64 = 2_000_000;
/// The number of positions of random games to encode.
const POSITIONS: usize = 1000;

/// Measure the speed of the rules on one thread.
#[derive(Args)]
#[command(after_help = "\
Measures random playouts, perft with the last ply counted and with every leaf \
played (both from the initial position), and the encoding of positions of random \
games. perft uses the first depth with two million leaves, or the depth with the \
most. Prints the median, minimum and maximum of the repetitions by wall-clock time, \
and the median by CPU time; with --json, wall and cpu are [minimum, median, maximum] \
in units per second.")]
pub struct RulesBench {
    /// Game id (see `petteia games`) [default: all games]
    game: Option<String>,
    /// Game option, e.g. game.start=blocks; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE", requires = "game")]
    set: Vec<String>,
    #[command(flatten)]
    measuring: Measuring,
}

impl RulesBench {
    /// Measures, and prints each line as soon as it is known.
    pub fn run<R: Registry>(self) -> Result<()> {
        self.measuring.check()?;
        let games = match self.game {
            Some(id) => vec![GameArgs { id, set: self.set }],
            None => R::ids().into_iter().map(|id| GameArgs { id, set: Vec::new() }).collect(),
        };
        for game in games {
            let job = Measure { id: &game.id, measuring: &self.measuring };
            R::with_game(&game.id, &game_settings(&game.set)?, job)??;
        }
        Ok(())
    }
}

struct Measure<'a> {
    id: &'a str,
    measuring: &'a Measuring,
}

impl Job for Measure<'_> {
    type Output = Result<()>;

    fn run<G: Game>(self, rules: Rules<G>) -> Result<()> {
        let game = &rules.game;
        let line = |bench, unit, work: &mut dyn FnMut() -> u64| {
            print(self.measuring.line(&self.measuring.measure(bench, self.id, unit, work)))
        };
        let (mut random, mut legal) = (stream(SEED, Purpose::Opening, &[]), Vec::new());
        line("rules/playouts", "actions/s", &mut || play_out(game, &mut random, &mut legal, |_| ()))?;
        let initial = game.initial();
        let depth = depth(game, &initial);
        line("rules/perft-bulk", "leaves/s", &mut || perft(game, &initial, depth))?;
        line("rules/perft", "leaves/s", &mut || perft_played(game, &initial, depth))?;
        let positions = positions(game);
        let mut planes = Planes::new(game.shape());
        line("rules/encode", "positions/s", &mut || {
            for state in &positions {
                game.encode(state, &mut planes);
                black_box(&planes);
            }
            positions.len() as u64
        })
    }
}

/// The first depth with [`LEAVES`], or the one with the most leaves if games end earlier.
fn depth<G: Game>(game: &G, initial: &G::State) -> usize {
    let (mut deepest, mut most) = (1, 0);
    for depth in 1..=game.max_plies() {
        let leaves = perft(game, initial, depth);
        if leaves > most {
            (deepest, most) = (depth, leaves);
        }
        if leaves == 0 || most >= LEAVES {
            break;
        }
    }
    deepest
}

/// Plays one random game, passes every non-final position to `visit`, and returns the number of actions.
fn play_out<G: Game>(
    game: &G,
    random: &mut Random,
    legal: &mut Vec<Action>,
    mut visit: impl FnMut(&G::State),
) -> u64 {
    let mut state = game.initial();
    let mut actions = 0;
    loop {
        game.legal_actions(&state, legal);
        if legal.is_empty() {
            black_box(game.outcome(&state));
            return actions;
        }
        visit(&state);
        game.play(&mut state, choose(random, legal));
        actions += 1;
    }
}

fn positions<G: Game>(game: &G) -> Vec<G::State> {
    let (mut random, mut legal) = (stream(SEED, Purpose::Opening, &[1]), Vec::new());
    let mut positions = Vec::new();
    while positions.len() < POSITIONS {
        play_out(game, &mut random, &mut legal, |state| positions.push(state.clone()));
    }
    positions.truncate(POSITIONS);
    positions
}

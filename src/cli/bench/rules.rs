//! `petteia bench rules`: how fast the rules are, on one thread.

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
/// Leaves from which on a depth is deep enough for perft.
const LEAVES: u64 = 2_000_000;
/// Positions of random games that are encoded in turn.
const POSITIONS: usize = 1000;

/// Measure the rules of games, on one thread.
#[derive(Args)]
#[command(after_help = "\
Measured are random playouts, perft with the last ply counted and with every leaf \
played (both from the initial position), and the encoding of positions of random \
games. perft goes to the first depth with two million leaves, or to that with the \
most. Shown are the median, minimum and maximum of the repetitions by the clock, \
and the median by CPU time; with --json, wall and cpu are [minimum, median, \
maximum] in units a second.")]
pub struct RulesBench {
    /// Game id (see `petteia games`) [default: all of them]
    game: Option<String>,
    /// An option of the game, e.g. game.start=blocks; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE", requires = "game")]
    set: Vec<String>,
    #[command(flatten)]
    measuring: Measuring,
}

impl RulesBench {
    /// Measures and prints each line as soon as it is known.
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

/// The first depth with [`LEAVES`], or that with the most where games end before.
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

/// Plays one random game, shows every position that is not final, and returns its actions.
fn play_out<G: Game>(
    game: &G,
    random: &mut Random,
    legal: &mut Vec<Action>,
    mut see: impl FnMut(&G::State),
) -> u64 {
    let mut state = game.initial();
    let mut actions = 0;
    loop {
        game.legal_actions(&state, legal);
        if legal.is_empty() {
            black_box(game.outcome(&state));
            return actions;
        }
        see(&state);
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

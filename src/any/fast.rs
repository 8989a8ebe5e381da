//! Work that must be fast: one call through the pointer does all of it, so it runs with the game's own type.
//!
//! Input: settings, agents, and sources that do not depend on the type of a game. Output: the same bytes that the
//! generic functions with the same names produce.

use std::hint::black_box;
use std::ops::Range;

use super::batch::{GameBlock, block};
use super::{AnyGame, AnyState, Behind};
use crate::arena::contestant::Contestant;
use crate::arena::journal::Journal;
use crate::arena::ladder::{Ladder, LadderResult, play_ladder};
use crate::arena::positions::{Plan, analyze};
use crate::arena::searching::Analysis;
use crate::arena::{Match, MatchResult, Standing, play_while};
use crate::config::SearchConfig;
use crate::encode::Planes;
use crate::error::{Error, Result};
use crate::game::{Action, Game, perft, perft_played};
use crate::net::source::Source;
use crate::random::{Purpose, Random, choose, stream};
use crate::replay::record::Record;
use crate::search::Search;
use crate::search::evaluator::Evaluator;
use crate::selfplay::{Generation, Monitor, Shards, Tick, play_halves, play_shard, play_shards};

/// Receives the progress of a match or ladder and returns whether to continue.
type ShowStanding<'a> = &'a (dyn Fn(&Standing) -> bool + Sync);
/// The results of a match or ladder so far, and whether it is complete.
type SoFar<T> = Result<(T, bool)>;
/// Receives the number of finished searches and returns whether to continue.
type ShowSearched<'a> = &'a (dyn Fn(usize) -> bool + Sync);
/// The results of searches of positions; `None` for a position in which the game is over.
type Found = Result<Vec<Option<Analysis>>>;

/// Plays games of a generation with an evaluator that it keeps from call to call.
pub trait ShardPlayer: Send {
    /// Plays like [`play_shard`], or like [`play_halves`] if its evaluator wants batches.
    ///
    /// # Errors
    /// As for [`play_shard`] and [`play_halves`].
    fn play(
        &mut self,
        generation: &Generation,
        games: Range<usize>,
        monitor: &Monitor,
        tick: Tick,
    ) -> Result<Vec<Record>>;
}

/// A kind of work that the rules do and whose speed is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RulesWork {
    /// Plays one random game; counts its actions.
    Playouts,
    /// Runs [`perft`] to the first depth with at least two million leaves or, if there is none, to the depth with the
    /// most leaves. Counts leaves.
    Counted,
    /// Runs [`perft_played`] to the same depth as [`RulesWork::Counted`]; counts leaves.
    Played,
    /// Encodes a thousand positions from random games; counts positions.
    Encode,
}

/// Declares the work that every game behind a pointer does with its own type. Each signature is written once and
/// becomes both a method of [`AnyGame`] and its counterpart behind the pointer.
///
/// `own` is the work with the game's own type; `behind` is the same work with the game behind the pointer. `behind`
/// runs if the condition after `where` does not hold. It always runs in WebAssembly, because a page in a file only
/// searches, and compiling this work for each type would make up most of its program.
macro_rules! work {
    ($(
        $(#[$about:meta])*
        $visibility:vis fn $name:ident($game:ident $(, $argument:ident: $type:ty)*) -> $result:ty
        $(where ($is_known:expr))? { own $own:block behind $behind:block }
    )*) => {
        pub(super) trait Fast: Send + Sync {
            $(#[cfg(not(target_family = "wasm"))]
            fn $name(&self $(, $argument: $type)*) -> $result;)*
        }

        impl<G: Game> Fast for Behind<G> {
            $(#[cfg(not(target_family = "wasm"))]
            fn $name(&self $(, $argument: $type)*) -> $result {
                let $game = &self.0;
                $own
            })*
        }

        impl AnyGame {
            $($(#[$about])*
            $visibility fn $name(&self $(, $argument: $type)*) -> $result {
                #[cfg(not(target_family = "wasm"))]
                {
                    $(if !$is_known {
                        let $game = self;
                        return $behind;
                    })?
                    self.0.$name($($argument),*)
                }
                #[cfg(target_family = "wasm")]
                {
                    let $game = self;
                    $behind
                }
            })*
        }
    };
}

work! {
    /// Runs [`play_shards`] with evaluators from a source, each with a cache of this many mebibytes.
    ///
    /// # Errors
    /// As for [`play_shards`].
    pub fn play_shards(
        game,
        generation: &Generation,
        shards: &dyn Shards,
        source: (&Source, usize),
        tick: Tick
    ) -> Result<()> {
        own { play_sourced(game, generation, shards, source, tick) }
        behind { play_sourced(game, generation, shards, source, tick) }
    }

    /// Returns a player of a generation's games for one thread, with an evaluator from `source` and a cache of this
    /// many mebibytes.
    pub fn player(game, source: &Source, cache: usize) -> Box<dyn ShardPlayer> {
        own { player(game, source, cache) }
        behind { player(game, source, cache) }
    }

    /// Runs [`play_while`]. If an agent has its own evaluator, or its own way to choose actions, for states behind a
    /// pointer, then both agents play behind the pointer.
    ///
    /// # Errors
    /// As for [`play_while`].
    pub fn play_while(
        game,
        plan: &Match,
        agents: [&Contestant<AnyGame>; 2],
        journal: Option<Journal>,
        tick: ShowStanding
    ) -> SoFar<MatchResult> where (agents.iter().all(|agent| agent.is_known())) {
        own {
            let agents = agents.map(|agent| agent.of_game(game).expect(KNOWN));
            play_while(game, plan, agents.each_ref(), journal, tick)
        }
        behind { play_while(game, plan, agents, journal, tick) }
    }

    /// Runs [`play_ladder`], with agents as in [`AnyGame::play_while`].
    ///
    /// # Errors
    /// As for [`play_ladder`].
    pub fn play_ladder(
        game,
        plan: &Ladder,
        agents: &[&Contestant<AnyGame>],
        journal: Option<Journal>,
        tick: ShowStanding
    ) -> SoFar<LadderResult> where (agents.iter().all(|agent| agent.is_known())) {
        own {
            let agents: Vec<Contestant<G>> =
                agents.iter().map(|agent| agent.of_game(game).expect(KNOWN)).collect();
            play_ladder(game, plan, &agents.iter().collect::<Vec<_>>(), journal, tick)
        }
        behind { play_ladder(game, plan, agents, journal, tick) }
    }

    /// Runs [`perft`].
    pub fn perft(game, state: &AnyState, depth: usize) -> u64 {
        own { perft(game, state.state(), depth) }
        behind { perft(game, state, depth) }
    }

    /// Searches every position of random games with this many simulations; the tree keeps the subtree of each action
    /// played. `more` receives the number of simulations of each search and returns whether to continue.
    ///
    /// # Errors
    /// If the evaluator fails.
    pub fn search_games(
        game,
        source: &Source,
        simulations: usize,
        seed: u64,
        more: &mut dyn FnMut(usize) -> bool
    ) -> Result<()> {
        own { search_games(game, source, simulations, seed, more) }
        behind { search_games(game, source, simulations, seed, more) }
    }

    /// Runs [`analyze`].
    ///
    /// # Errors
    /// As for [`analyze`].
    pub fn analyze(game, states: &[AnyState], plan: &Plan, source: &Source, tick: ShowSearched) -> Found {
        own {
            let states: Vec<G::State> = states.iter().map(|state| state.state::<G::State>().clone()).collect();
            analyze(game, &states, plan, source, tick)
        }
        behind { analyze(game, states, plan, source, tick) }
    }

    /// Returns a closure that does the work once per call and returns the count.
    pub fn rules_work(game, work: RulesWork) -> Box<dyn FnMut() -> u64 + '_> {
        own { rules_work(game, work) }
        behind { rules_work(game, work) }
    }

    /// Returns a block of games for a [`Batch`](super::batch::Batch).
    pub(super) fn block(game, len: usize, restarts: bool) -> Box<dyn GameBlock> {
        own { block(game, len, restarts) }
        behind { block(game, len, restarts) }
    }
}

impl AnyGame {
    /// Runs [`AnyGame::play_while`] to the end.
    ///
    /// # Errors
    /// As for [`AnyGame::play_while`], and [`Error::Interrupted`] if `tick` stops the match.
    pub fn play_match(
        &self,
        plan: &Match,
        agents: [&Contestant<AnyGame>; 2],
        journal: Option<Journal>,
        tick: impl Fn(&Standing) -> bool + Sync,
    ) -> Result<MatchResult> {
        match self.play_while(plan, agents, journal, &tick)? {
            (_, false) => Err(Error::Interrupted),
            (result, true) => Ok(result),
        }
    }
}

/// The panic message if an agent depends on the game's type; the callers above have checked that it does not.
#[cfg(not(target_family = "wasm"))]
const KNOWN: &str = "an agent of the rules' own type";

fn play_sourced<G: Game>(
    game: &G,
    generation: &Generation,
    shards: &dyn Shards,
    (source, cache): (&Source, usize),
    tick: Tick,
) -> Result<()> {
    play_shards(game, generation, shards, &|| source.evaluator(game, cache), tick)
}

fn player<G: Game>(game: &G, source: &Source, cache: usize) -> Box<dyn ShardPlayer> {
    Box::new(KeptEvaluator { game: game.clone(), evaluator: source.evaluator(game, cache) })
}

fn search_games<G: Game>(
    game: &G,
    source: &Source,
    simulations: usize,
    seed: u64,
    more: &mut dyn FnMut(usize) -> bool,
) -> Result<()> {
    let mut random = stream(1, Purpose::Agent, &[seed]);
    let mut evaluator = source.evaluator(game, 0);
    let mut search = Search::new(game.clone(), SearchConfig::default(), game.initial());
    let mut goes_on = true;
    while goes_on {
        let legal = game.legal(search.tree().root());
        if legal.is_empty() {
            search.restart(game.initial());
            continue;
        }
        search.run(&mut *evaluator, simulations, &mut random)?;
        goes_on = more(search.simulations());
        search.advance(choose(&mut random, &legal));
    }
    Ok(())
}

fn rules_work<G: Game>(game: &G, work: RulesWork) -> Box<dyn FnMut() -> u64 + '_> {
    let (mut random, mut legal) = (stream(SEED, Purpose::Opening, &[]), Vec::new());
    let initial = game.initial();
    match work {
        RulesWork::Playouts => Box::new(move || play_out(game, &mut random, &mut legal, |_| ())),
        RulesWork::Counted => {
            let depth = depth(game, &initial);
            Box::new(move || perft(game, &initial, depth))
        }
        RulesWork::Played => {
            let depth = depth(game, &initial);
            Box::new(move || perft_played(game, &initial, depth))
        }
        RulesWork::Encode => {
            let (positions, mut planes) = (positions(game), Planes::new(game.shape()));
            Box::new(move || {
                for state in &positions {
                    game.encode(state, &mut planes);
                    black_box(&planes);
                }
                positions.len() as u64
            })
        }
    }
}

struct KeptEvaluator<G: Game> {
    game: G,
    evaluator: Box<dyn Evaluator<G>>,
}

impl<G: Game> ShardPlayer for KeptEvaluator<G> {
    fn play(
        &mut self,
        generation: &Generation,
        games: Range<usize>,
        monitor: &Monitor,
        tick: Tick,
    ) -> Result<Vec<Record>> {
        let play = if self.evaluator.batch() > 1 { play_halves } else { play_shard };
        play(&self.game, generation, games, &mut *self.evaluator, monitor, tick)
    }
}

const SEED: u64 = 1;
/// The number of leaves that a perft depth must have to be deep enough.
const LEAVES: u64 = 2_000_000;
/// The number of positions of random games to encode.
const POSITIONS: usize = 1000;

/// Returns the first depth with at least [`LEAVES`] leaves, or the one with the most leaves if games end earlier.
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

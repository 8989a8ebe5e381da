//! Work that crosses the pointer as a whole because it must be fast: on the other side, everything has its own type.
//!
//! Input: settings, agents and sources that do not depend on the type of a game. Output: the same bytes that the
//! generic functions with the same names produce.

use std::hint::black_box;
use std::ops::Range;

#[cfg(not(target_family = "wasm"))]
use super::batch::{Block, block};
use super::{AnyGame, AnyState, Behind};
use crate::arena::agent::Contestant;
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

/// Receives the progress of a match or ladder and returns whether to go on.
type ShowStanding<'a> = &'a (dyn Fn(&Standing) -> bool + Sync);
/// The results of a match or ladder so far, and whether it is complete.
type SoFar<T> = Result<(T, bool)>;
/// Receives the number of finished searches and returns whether to go on.
type ShowSearched<'a> = &'a (dyn Fn(usize) -> bool + Sync);
/// What searches of positions found; `None` where the game is over.
type Found = Result<Vec<Option<Analysis>>>;

/// Plays games of a generation with an evaluator that it keeps from call to call.
pub trait Player: Send {
    /// Like [`play_shard`], or [`play_halves`] if its evaluator wants batches.
    ///
    /// # Errors
    /// Those of the two functions.
    fn play(
        &mut self,
        generation: &Generation,
        games: Range<usize>,
        monitor: &Monitor,
        tick: Tick,
    ) -> Result<Vec<Record>>;
}

/// A kind of work that the rules do, for measuring its speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RulesWork {
    /// One random game; counts its actions.
    Playouts,
    /// [`perft`] to the first depth with at least two million leaves, or to the depth with the most; counts leaves.
    Counted,
    /// [`perft_played`] to the same depth.
    Played,
    /// The encoding of a thousand positions from random games; counts positions.
    Encode,
}

/// Does work with the game's own types or, in WebAssembly, behind the pointer: a page in a file only searches, and this
/// work for each type would be most of its program.
macro_rules! by_own_type {
    ($own:expr, $behind:expr) => {{
        #[cfg(not(target_family = "wasm"))]
        {
            $own
        }
        #[cfg(target_family = "wasm")]
        {
            $behind
        }
    }};
}

/// Nothing is done with a game's own types.
#[cfg(target_family = "wasm")]
pub(super) trait Fast: Send + Sync {}

#[cfg(target_family = "wasm")]
impl<G: Game> Fast for Behind<G> {}

/// The work that every game behind a pointer does with its own types.
#[cfg(not(target_family = "wasm"))]
pub(super) trait Fast: Send + Sync {
    fn play_shards(&self, _: &Generation, _: &dyn Shards, _: (&Source, usize), _: Tick) -> Result<()>;
    fn player(&self, source: &Source, cache: usize) -> Box<dyn Player>;
    fn play_while(
        &self,
        plan: &Match,
        agents: [&Contestant<AnyGame>; 2],
        journal: Option<Journal>,
        tick: ShowStanding,
    ) -> SoFar<MatchResult>;
    fn play_ladder(
        &self,
        plan: &Ladder,
        agents: &[&Contestant<AnyGame>],
        journal: Option<Journal>,
        tick: ShowStanding,
    ) -> SoFar<LadderResult>;
    fn perft(&self, state: &AnyState, depth: usize) -> u64;
    fn search_games(
        &self,
        _: &Source,
        simulations: usize,
        seed: u64,
        more: &mut dyn FnMut(usize) -> bool,
    ) -> Result<()>;
    fn rules_work(&self, work: RulesWork) -> Box<dyn FnMut() -> u64 + '_>;
    fn block(&self, len: usize, restarts: bool) -> Box<dyn Block>;
    fn analyze(&self, _: &[AnyState], _: &Plan, _: &Source, _: ShowSearched) -> Found;
}

impl AnyGame {
    /// [`play_shards`] with evaluators from a source, each with a cache of this many mebibytes.
    ///
    /// # Errors
    /// Those of [`play_shards`].
    pub fn play_shards(
        &self,
        generation: &Generation,
        shards: &dyn Shards,
        source: (&Source, usize),
        tick: Tick,
    ) -> Result<()> {
        by_own_type!(self.0.play_shards(generation, shards, source, tick), {
            let (source, cache) = source;
            play_shards(self, generation, shards, &|| source.evaluator(self, cache), tick)
        })
    }

    /// A player of a generation's games for one thread, with an evaluator from `source` and a cache of this many
    /// mebibytes.
    pub fn player(&self, source: &Source, cache: usize) -> Box<dyn Player> {
        by_own_type!(self.0.player(source, cache), player(self, source, cache))
    }

    /// [`play_while`]. If an agent has an evaluator or a choice of its own for states behind a pointer, both agents
    /// play behind the pointer.
    ///
    /// # Errors
    /// Those of [`play_while`].
    pub fn play_while(
        &self,
        plan: &Match,
        agents: [&Contestant<AnyGame>; 2],
        journal: Option<Journal>,
        tick: ShowStanding,
    ) -> SoFar<MatchResult> {
        by_own_type!(
            if agents.iter().all(|agent| agent.is_known()) {
                self.0.play_while(plan, agents, journal, tick)
            } else {
                play_while(self, plan, agents, journal, tick)
            },
            play_while(self, plan, agents, journal, tick)
        )
    }

    /// [`AnyGame::play_while`] to the end.
    ///
    /// # Errors
    /// Those of [`AnyGame::play_while`], and [`Error::Interrupted`] if `tick` stops the match.
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

    /// [`play_ladder`], with agents as in [`AnyGame::play_while`].
    ///
    /// # Errors
    /// Those of [`play_ladder`].
    pub fn play_ladder(
        &self,
        plan: &Ladder,
        agents: &[&Contestant<AnyGame>],
        journal: Option<Journal>,
        tick: ShowStanding,
    ) -> SoFar<LadderResult> {
        by_own_type!(
            if agents.iter().all(|agent| agent.is_known()) {
                self.0.play_ladder(plan, agents, journal, tick)
            } else {
                play_ladder(self, plan, agents, journal, tick)
            },
            play_ladder(self, plan, agents, journal, tick)
        )
    }

    /// [`perft`].
    pub fn perft(&self, state: &AnyState, depth: usize) -> u64 {
        by_own_type!(self.0.perft(state, depth), perft(self, state, depth))
    }

    /// Searches every position of random games with this many simulations; the tree keeps the subtree of each action
    /// played. `more` gets the number of simulations of each search and returns whether to go on.
    ///
    /// # Errors
    /// The error of the evaluator.
    pub fn search_games(
        &self,
        source: &Source,
        simulations: usize,
        seed: u64,
        more: &mut dyn FnMut(usize) -> bool,
    ) -> Result<()> {
        by_own_type!(
            self.0.search_games(source, simulations, seed, more),
            search_games(self, source, simulations, seed, more)
        )
    }

    /// [`analyze`].
    ///
    /// # Errors
    /// As for [`analyze`].
    pub fn analyze(&self, states: &[AnyState], plan: &Plan, source: &Source, tick: ShowSearched) -> Found {
        by_own_type!(self.0.analyze(states, plan, source, tick), analyze(self, states, plan, source, tick))
    }

    /// A block of games for a [`Batch`](super::batch::Batch).
    #[cfg(not(target_family = "wasm"))]
    pub(super) fn block(&self, len: usize, restarts: bool) -> Box<dyn Block> {
        self.0.block(len, restarts)
    }

    /// A closure that does the work once per call and returns its count.
    pub fn rules_work(&self, work: RulesWork) -> Box<dyn FnMut() -> u64 + '_> {
        by_own_type!(self.0.rules_work(work), rules_work(self, work))
    }
}

/// The panic message if an agent is not known; the callers above have checked that it is.
#[cfg(not(target_family = "wasm"))]
const KNOWN: &str = "an agent of the rules' own type";

#[cfg(not(target_family = "wasm"))]
impl<G: Game> Fast for Behind<G> {
    fn play_shards(
        &self,
        generation: &Generation,
        shards: &dyn Shards,
        (source, cache): (&Source, usize),
        tick: Tick,
    ) -> Result<()> {
        play_shards(&self.0, generation, shards, &|| source.evaluator(&self.0, cache), tick)
    }

    fn player(&self, source: &Source, cache: usize) -> Box<dyn Player> {
        player(&self.0, source, cache)
    }

    fn play_while(
        &self,
        plan: &Match,
        agents: [&Contestant<AnyGame>; 2],
        journal: Option<Journal>,
        tick: ShowStanding,
    ) -> SoFar<MatchResult> {
        let agents = agents.map(|agent| agent.of_game(&self.0).expect(KNOWN));
        play_while(&self.0, plan, agents.each_ref(), journal, tick)
    }

    fn play_ladder(
        &self,
        plan: &Ladder,
        agents: &[&Contestant<AnyGame>],
        journal: Option<Journal>,
        tick: ShowStanding,
    ) -> SoFar<LadderResult> {
        let agents: Vec<Contestant<G>> =
            agents.iter().map(|agent| agent.of_game(&self.0).expect(KNOWN)).collect();
        play_ladder(&self.0, plan, &agents.iter().collect::<Vec<_>>(), journal, tick)
    }

    fn perft(&self, state: &AnyState, depth: usize) -> u64 {
        perft(&self.0, state.state(), depth)
    }

    fn search_games(
        &self,
        source: &Source,
        simulations: usize,
        seed: u64,
        more: &mut dyn FnMut(usize) -> bool,
    ) -> Result<()> {
        search_games(&self.0, source, simulations, seed, more)
    }

    fn rules_work(&self, work: RulesWork) -> Box<dyn FnMut() -> u64 + '_> {
        rules_work(&self.0, work)
    }

    fn block(&self, len: usize, restarts: bool) -> Box<dyn Block> {
        block(&self.0, len, restarts)
    }

    fn analyze(&self, states: &[AnyState], plan: &Plan, source: &Source, tick: ShowSearched) -> Found {
        let states: Vec<G::State> = states.iter().map(|state| state.state::<G::State>().clone()).collect();
        analyze(&self.0, &states, plan, source, tick)
    }
}

fn player<G: Game>(game: &G, source: &Source, cache: usize) -> Box<dyn Player> {
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

impl<G: Game> Player for KeptEvaluator<G> {
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
/// The number of leaves that makes a depth deep enough for perft.
const LEAVES: u64 = 2_000_000;
/// The number of positions of random games to encode.
const POSITIONS: usize = 1000;

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

//! Plays many games at once, each at its own position, for programs that step all of them together.
//!
//! Input: an action for each game. Output, as rows of plain slices: for each game, the player to move, the legal
//! actions, the planes, and, when it ends, the result. The games are divided into blocks, which are spread over the
//! cores. One call through the pointer handles a whole block, which then runs with the game's own type.

use rand::Rng;
use rayon::prelude::*;

use super::{AnyGame, AnyState};
use crate::encode::{Planes, Shape};
use crate::error::{Error, Result};
use crate::game::{Action, Game, Outcome, Player};
use crate::memory;
use crate::random::{Purpose, Random, stream};

/// The number of games in a block.
const BLOCK: usize = 256;

/// Games of one kind that are stepped together.
///
/// ```
/// use petteia::any::batch::Batch;
/// use petteia::games::Games;
/// use petteia::registry::Catalog;
///
/// let rules = Catalog::of::<Games>().open("connect-four", &Default::default())?;
/// let mut batch = Batch::new(&rules.game, 1000, true)?;
/// let (mut actions, mut rewards, mut ended) = (vec![0; 1000], vec![[0.0; 2]; 1000], vec![false; 1000]);
/// for step in 0..50 {
///     batch.sample(1, step, &mut actions);
///     batch.play(&actions, &mut rewards, &mut ended)?;
///     let mut pairs = rewards.iter().zip(&ended);
///     assert!(pairs.all(|(reward, ended)| reward[0] == -reward[1] && (*ended || reward[0] == 0.0)));
/// }
/// # Ok::<(), petteia::error::Error>(())
/// ```
pub struct Batch {
    blocks: Vec<Box<dyn GameBlock>>,
    len: usize,
    shape: Shape,
}

debug_fields!(Batch, len, shape);

impl Batch {
    /// Returns `len` games at the start position. With `restarts`, a game that has ended begins again at once.
    ///
    /// # Errors
    /// If the games need more memory than is available.
    pub fn new(game: &AnyGame, len: usize, restarts: bool) -> Result<Batch> {
        memory::check_batch(len, game.block(1, restarts).bytes())?;
        let mut blocks = Vec::new();
        blocks.try_reserve_exact(len.div_ceil(BLOCK)).map_err(|_| {
            Error::Config(format!("a batch of {len} games does not fit into memory: use fewer games"))
        })?;
        blocks.extend((0..len).step_by(BLOCK).map(|first| game.block(BLOCK.min(len - first), restarts)));
        Ok(Batch { blocks, len, shape: game.shape() })
    }

    /// Returns the number of games.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are no games.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns whether the games are spread over the cores. A batch too small to benefit from this is stepped on the
    /// calling thread.
    pub fn uses_threads(&self) -> bool {
        self.blocks.len() > 1
    }

    /// Returns the sizes of the planes and of the policy.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Writes the planes, `[len, planes, height, width]`, each from the point of view of the player to move.
    ///
    /// # Panics
    /// If `out` has another length.
    pub fn observe(&mut self, out: &mut [f32]) {
        self.write_rows(out, self.shape.input_len(), |block, out| block.observe(out));
    }

    /// Writes the planes as words, `[len, planes, words]`, as [`Planes::words`] has them. This takes a small part of
    /// the time and the memory of [`Batch::observe`]; [`Shape::expand`] makes the same floats of them.
    ///
    /// # Panics
    /// If `out` has another length.
    pub fn observe_words(&mut self, out: &mut [u64]) {
        self.write_rows(out, self.shape.words(), |block, out| block.observe_words(out));
    }

    /// Calls `write` with each block and the part of `out` with its rows, each of which has `each` numbers.
    fn write_rows<T: Send>(
        &mut self,
        out: &mut [T],
        each: usize,
        write: impl Fn(&mut dyn GameBlock, &mut [T]) + Sync,
    ) {
        assert_eq!(out.len(), self.len * each, "planes for each game");
        let blocks = self.blocks.par_iter_mut().zip(out.par_chunks_mut(BLOCK * each));
        blocks.with_min_len(blocks_at_once()).for_each(|(block, out)| write(&mut **block, out));
    }

    /// Writes which actions are legal, `[len, actions]`; none is legal in a game that is over.
    ///
    /// # Panics
    /// If `out` has another length.
    pub fn mask(&self, out: &mut [bool]) {
        let each = self.shape.actions;
        assert_eq!(out.len(), self.len * each, "a mask for each game");
        let blocks = self.blocks.par_iter().zip(out.par_chunks_mut(BLOCK * each));
        blocks.with_min_len(blocks_at_once()).for_each(|(block, out)| block.mask(out));
    }

    /// Writes the player to move in each game: 0 for the first player, 1 for the second.
    ///
    /// # Panics
    /// If `out` has another length.
    pub fn movers(&self, out: &mut [i8]) {
        assert_eq!(out.len(), self.len, "a player for each game");
        for (index, out) in out.iter_mut().enumerate() {
            *out = self.at(index).0.mover(index % BLOCK).index() as i8;
        }
    }

    /// Draws a legal action for each game, with equal probabilities, and writes 0 for a game that is over. The actions
    /// depend only on the positions, the seed, and the number of the draw.
    ///
    /// # Panics
    /// If `out` has another length.
    pub fn sample(&self, seed: u64, draw: u64, out: &mut [u16]) {
        assert_eq!(out.len(), self.len, "an action for each game");
        let random = |block: usize| stream(seed, Purpose::Stepping, &[draw, block as u64]);
        let blocks = self.blocks.par_iter().zip(out.par_chunks_mut(BLOCK)).enumerate();
        let blocks = blocks.with_min_len(blocks_at_once());
        blocks.for_each(|(index, (block, out))| block.sample(random(index), out));
    }

    /// Plays an action in each game that is not over; for a game that is over, the action is ignored. `rewards` has the
    /// rewards of the first and the second player: 1 and -1 if the first player has just won, -1 and 1 if the second
    /// has, and 0 otherwise. `ended` marks the games that are over or that this call has restarted.
    ///
    /// # Errors
    /// If an action is not legal. In this case, no game has changed.
    ///
    /// # Panics
    /// If a slice has another length.
    pub fn play(&mut self, actions: &[u16], rewards: &mut [[f32; 2]], ended: &mut [bool]) -> Result<()> {
        assert_eq!(
            (actions.len(), rewards.len(), ended.len()),
            (self.len, self.len, self.len),
            "an action, rewards, and an end for each game"
        );
        let mut blocks = self.blocks.iter().zip(actions.chunks(BLOCK)).enumerate();
        let illegal =
            blocks.find_map(|(block, (games, actions))| Some(block * BLOCK + games.illegal(actions)?));
        if let Some(index) = illegal {
            return Err(Error::Illegal(format!(
                "game {index}: action {} is not legal there",
                actions[index]
            )));
        }
        let results = rewards.par_chunks_mut(BLOCK).zip(ended.par_chunks_mut(BLOCK));
        let blocks = self.blocks.par_iter_mut().zip(actions.par_chunks(BLOCK)).zip(results);
        let blocks = blocks.with_min_len(blocks_at_once());
        blocks.for_each(|((block, actions), (rewards, ended))| block.play(actions, rewards, ended));
        Ok(())
    }

    /// Returns the legal actions of a game in ascending order. There are none if the game is over.
    ///
    /// # Panics
    /// If there is no game with this index.
    pub fn legal(&self, index: usize) -> &[Action] {
        let (block, row) = self.at(index);
        block.legal(row)
    }

    /// Returns the position of a game.
    ///
    /// # Panics
    /// If there is no game with this index.
    pub fn state(&self, index: usize) -> AnyState {
        let (block, row) = self.at(index);
        block.state(row)
    }

    /// Sets a game to a position of the same rules.
    ///
    /// # Panics
    /// If there is no such game, or the position belongs to another kind of game.
    pub fn set(&mut self, index: usize, state: &AnyState) {
        self.blocks[index / BLOCK].set(index % BLOCK, Some(state));
    }

    /// Sets a game to the start position.
    ///
    /// # Panics
    /// If there is no game with this index.
    pub fn restart(&mut self, index: usize) {
        self.blocks[index / BLOCK].set(index % BLOCK, None);
    }

    fn at(&self, index: usize) -> (&dyn GameBlock, usize) {
        (&*self.blocks[index / BLOCK], index % BLOCK)
    }
}

/// Returns how many blocks a thread takes at least. If there is only one thread, the calling thread takes all blocks
/// itself, since rayon does not split them.
fn blocks_at_once() -> usize {
    if rayon::current_num_threads() == 1 { usize::MAX } else { 1 }
}

/// A block of games behind the pointer. The slices that its methods take have one row for each game.
pub(super) trait GameBlock: Send + Sync {
    /// Returns the bytes of memory that the block's games take, not including the memory that their positions point to.
    fn bytes(&self) -> usize;
    fn observe(&mut self, out: &mut [f32]);
    fn observe_words(&mut self, out: &mut [u64]);
    fn mask(&self, out: &mut [bool]);
    fn mover(&self, row: usize) -> Player;
    fn sample(&self, random: Random, out: &mut [u16]);
    /// Returns the first row whose action is not legal.
    fn illegal(&self, actions: &[u16]) -> Option<usize>;
    fn play(&mut self, actions: &[u16], rewards: &mut [[f32; 2]], ended: &mut [bool]);
    fn legal(&self, row: usize) -> &[Action];
    fn state(&self, row: usize) -> AnyState;
    /// Sets a game to this position or, if there is none, to the start position.
    fn set(&mut self, row: usize, state: Option<&AnyState>);
}

/// Returns a block of games of this kind at the start position.
pub(super) fn block<G: Game>(game: &G, len: usize, restarts: bool) -> Box<dyn GameBlock> {
    let initial = game.initial();
    let first = GameRow { legal: game.legal(&initial), state: initial };
    Box::new(TypedBlock {
        game: game.clone(),
        rows: vec![first.clone(); len],
        first,
        planes: Planes::new(game.shape()),
        restarts,
    })
}

struct TypedBlock<G: Game> {
    game: G,
    rows: Vec<GameRow<G::State>>,
    /// The row of a new game: the start position and its legal actions.
    first: GameRow<G::State>,
    planes: Planes,
    restarts: bool,
}

/// A position and its legal actions.
#[derive(Clone)]
struct GameRow<S> {
    state: S,
    legal: Vec<Action>,
}

impl<S: Clone> GameRow<S> {
    fn begin(&mut self, first: &GameRow<S>) {
        self.state.clone_from(&first.state);
        self.legal.clone_from(&first.legal);
    }
}

impl<G: Game> GameBlock for TypedBlock<G> {
    fn bytes(&self) -> usize {
        let legal: usize = self.rows.iter().map(|row| size_of_val(&*row.legal)).sum();
        size_of_val(&*self.rows) + legal
    }

    fn observe(&mut self, out: &mut [f32]) {
        let each = self.game.shape().input_len();
        for (row, out) in self.rows.iter().zip(out.chunks_exact_mut(each)) {
            self.game.encode(&row.state, &mut self.planes);
            self.planes.expand(out);
        }
    }

    fn observe_words(&mut self, out: &mut [u64]) {
        for (row, out) in self.rows.iter().zip(out.chunks_exact_mut(self.game.shape().words())) {
            self.game.encode(&row.state, &mut self.planes);
            out.copy_from_slice(self.planes.words());
        }
    }

    fn mask(&self, out: &mut [bool]) {
        out.fill(false);
        for (row, out) in self.rows.iter().zip(out.chunks_exact_mut(self.game.shape().actions)) {
            row.legal.iter().for_each(|action| out[action.index()] = true);
        }
    }

    fn mover(&self, row: usize) -> Player {
        self.game.to_move(&self.rows[row].state)
    }

    fn sample(&self, mut random: Random, out: &mut [u16]) {
        for (row, out) in self.rows.iter().zip(out) {
            // the high part of the product is uniform below the length
            let drawn = (u128::from(random.next_u64()) * row.legal.len() as u128) >> 64;
            *out = row.legal.get(drawn as usize).map_or(0, |action| action.0);
        }
    }

    fn illegal(&self, actions: &[u16]) -> Option<usize> {
        let is_legal = |row: &GameRow<G::State>, action: u16| {
            row.legal.is_empty() || row.legal.contains(&Action(action))
        };
        self.rows.iter().zip(actions).position(|(row, action)| !is_legal(row, *action))
    }

    fn play(&mut self, actions: &[u16], rewards: &mut [[f32; 2]], ended: &mut [bool]) {
        let games = self.rows.iter_mut().zip(actions);
        for ((row, action), (rewards, ended)) in games.zip(rewards.iter_mut().zip(ended)) {
            *rewards = [0.0; 2];
            *ended = true;
            if row.legal.is_empty() {
                continue;
            }
            self.game.play(&mut row.state, Action(*action));
            self.game.legal_actions(&row.state, &mut row.legal);
            *ended = row.legal.is_empty();
            if *ended {
                let outcome = self.game.outcome(&row.state).unwrap_or(Outcome::Draw);
                *rewards = [Player::First, Player::Second].map(|player| outcome.value_for(player));
                if self.restarts {
                    row.begin(&self.first);
                }
            }
        }
    }

    fn legal(&self, row: usize) -> &[Action] {
        &self.rows[row].legal
    }

    fn state(&self, row: usize) -> AnyState {
        AnyState::new(self.rows[row].state.clone())
    }

    fn set(&mut self, row: usize, state: Option<&AnyState>) {
        let row = &mut self.rows[row];
        match state {
            Some(state) => {
                row.state.clone_from(state.state());
                self.game.legal_actions(&row.state, &mut row.legal);
            }
            None => row.begin(&self.first),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::games::Games;
    use crate::options::Settings;
    use crate::registry::Catalog;

    /// Steps a batch and single games side by side and compares them.
    fn check(id: &str, len: usize, restarts: bool) {
        let game = Catalog::of::<Games>().open(id, &Settings::new()).unwrap().game;
        let shape = game.shape();
        let mut batch = Batch::new(&game, len, restarts).unwrap();
        let mut states = vec![game.initial(); len];
        let (mut actions, mut rewards, mut ended) = (vec![0; len], vec![[9.0; 2]; len], vec![false; len]);
        let (mut mask, mut movers) = (vec![true; len * shape.actions], vec![9; len]);
        let (mut planes, mut one) = (vec![f32::NAN; len * shape.input_len()], Planes::new(shape));
        let mut words = vec![7; len * shape.words()];
        let mut finished = 0;
        for step in 0..60 {
            batch.observe(&mut planes);
            batch.observe_words(&mut words);
            batch.mask(&mut mask);
            batch.movers(&mut movers);
            batch.sample(1, step, &mut actions);
            for (index, state) in states.iter().enumerate() {
                assert_eq!(batch.state(index), *state);
                let legal = game.legal(state);
                assert_eq!(batch.legal(index), legal);
                let mask = &mask[index * shape.actions..][..shape.actions];
                assert!(Action::all(shape).all(|action| mask[action.index()] == legal.contains(&action)));
                assert!(legal.is_empty() || legal.contains(&Action(actions[index])));
                assert_eq!(movers[index], game.to_move(state).index() as i8);
                let mut expected = vec![0.0; shape.input_len()];
                game.encode(state, &mut one);
                one.expand(&mut expected);
                assert_eq!(planes[index * expected.len()..][..expected.len()], expected);
                assert_eq!(words[index * shape.words()..][..shape.words()], *one.words());
            }
            batch.play(&actions, &mut rewards, &mut ended).unwrap();
            for (index, state) in states.iter_mut().enumerate() {
                if game.outcome(state).is_some() {
                    assert_eq!((rewards[index], ended[index]), ([0.0; 2], true));
                    continue;
                }
                game.play(state, Action(actions[index]));
                let outcome = game.outcome(state);
                assert_eq!(ended[index], outcome.is_some());
                let reward = outcome.map_or(0.0, |outcome| outcome.value_for(Player::First));
                assert_eq!(rewards[index], [reward, 0.0 - reward]);
                finished += usize::from(outcome.is_some());
                if restarts && outcome.is_some() {
                    *state = game.initial();
                }
            }
        }
        assert!(finished >= len / 2, "{id}: only {finished} games have ended");
    }

    #[test]
    fn a_batch_plays_what_single_games_play() {
        check("tic-tac-toe", 3, false);
        check("tic-tac-toe", 700, true);
        check("cage-4", 5, true);
        check("connect-four", 5, false);
    }

    #[test]
    fn an_illegal_action_changes_nothing() {
        let game = Catalog::of::<Games>().open("tic-tac-toe", &Settings::new()).unwrap().game;
        let mut batch = Batch::new(&game, 600, false).unwrap();
        let (mut rewards, mut ended) = (vec![[0.0; 2]; 600], vec![false; 600]);
        batch.play(&[4; 600], &mut rewards, &mut ended).unwrap();
        let before = batch.state(599);
        let mut actions = [0; 600];
        (actions[520], actions[599]) = (4, 400);
        let error = batch.play(&actions, &mut rewards, &mut ended).unwrap_err().to_string();
        assert_eq!(error, "game 520: action 4 is not legal there");
        assert_eq!(batch.state(599), before);
        batch.restart(599);
        assert_eq!(batch.state(599), game.initial());
        batch.set(599, &before);
        assert_eq!((batch.state(599), batch.legal(599).len()), (before, 8));
    }

    #[test]
    fn a_batch_that_no_memory_holds_is_refused() {
        let game = Catalog::of::<Games>().open("tic-tac-toe", &Settings::new()).unwrap().game;
        for len in [10_usize.pow(12), usize::MAX / 2, usize::MAX] {
            let error = Batch::new(&game, len, true).unwrap_err().to_string();
            assert!(
                error.contains(&format!("a batch of {len} games")) && error.contains("fewer games"),
                "{error}"
            );
        }
        assert!(Batch::new(&game, 0, true).unwrap().is_empty());
    }
}

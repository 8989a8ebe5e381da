//! The newest positions of a run, and batches drawn from them.
//!
//! Samples are drawn uniformly, or by their weights if these differ, each with a random symmetry of its position.
//! Whole shards enter and leave, so the window is the same after a restart.

use std::collections::{BTreeMap, HashMap, VecDeque};

use ndarray::{Array2, Array4, Axis};
use rand::RngExt;

use super::auxiliary::{self, AuxiliaryTarget};
use super::record::Record;
use super::sample::{Sample, samples};
use crate::board::Symmetry;
use crate::error::Result;
use crate::game::{Action, Game, Rules, Shape};
use crate::net::auxiliary::HeadKind;
use crate::random::{Random, choose};
use crate::search::evaluator::Wdl;

/// The replay window.
///
/// With `records` from [`play_shard`](crate::selfplay::play_shard):
///
/// ```
/// use petteia::random::{Purpose, stream};
/// use petteia::replay::window::Window;
///
/// # use petteia::{config::Config, game::{GameOptions, Rules}, games::tic_tac_toe::TicTacToe};
/// # use petteia::{search::evaluator::Rollout, selfplay::{Generation, Monitor, play_shard}};
/// # let rules = Rules::<TicTacToe>::new(&GameOptions::default())?;
/// # let (config, identity) = (&Config::new("tic-tac-toe"), &rules.identity);
/// # let (simulations, evaluator, starts) = (8, "rollout:8".to_string(), Default::default());
/// # let generation = Generation { config, identity, number: 1, games: 4, simulations, evaluator, starts };
/// # let (mut rollout, monitor) = (Rollout::new(rules.game.clone()), Monitor::default());
/// # let records = play_shard(&rules.game, &generation, 0..4, &mut rollout, &monitor, &|_| true)?;
/// let mut window = Window::new(1000, rules.identity.shape);
/// let added = window.push(&rules, &records)?;
/// assert_eq!(window.len(), added);
/// let batch = window.draw(16, 0.0, &mut stream(1, Purpose::Sampling, &[0]));
/// assert_eq!((batch.planes.shape(), batch.policy.shape()), (&[16, 2, 3, 3][..], &[16, 9][..]));
/// # Ok::<(), petteia::error::Error>(())
/// ```
pub struct Window {
    capacity: usize,
    shape: Shape,
    shards: VecDeque<WindowShard>,
    positions: usize,
    /// For each symmetry seen so far, the image of every action.
    action_maps: Vec<(Symmetry, Vec<u16>)>,
}

debug_fields!(Window, capacity, shape, positions);

struct WindowShard {
    samples: Vec<Sample>,
    /// Cumulative weights of the samples; empty if all weights are 1.
    sums: Vec<f64>,
}

impl WindowShard {
    fn new(samples: Vec<Sample>) -> WindowShard {
        let mut sum = 0.0;
        let mut add = |sample: &Sample| {
            sum += sample.weight as f64;
            sum
        };
        let is_plain = samples.iter().all(|sample| sample.weight == 1.0);
        WindowShard {
            sums: if is_plain { Vec::new() } else { samples.iter().map(&mut add).collect() },
            samples,
        }
    }

    fn weight(&self) -> f64 {
        self.sums.last().copied().unwrap_or(self.samples.len() as f64)
    }

    /// Returns the sample at `place` in the cumulative weights.
    fn at(&self, place: f64) -> &Sample {
        let index = if self.sums.is_empty() {
            place as usize
        } else {
            self.sums.partition_point(|sum| *sum <= place)
        };
        // rounding may put the place at the very end
        &self.samples[index.min(self.samples.len() - 1)]
    }
}

/// The merged samples of one position: the weighted mean of their targets, their number, and their total weight.
struct Merged {
    sample: Sample,
    count: usize,
    weight: f32,
}

impl Merged {
    fn of(sample: &Sample) -> Merged {
        Merged { sample: sample.clone(), count: 1, weight: sample.weight }
    }

    fn add(&mut self, other: &Sample) {
        let weight = self.weight + other.weight;
        // a sample of weight 0 is never drawn, so it changes nothing
        let share = if weight > 0.0 { other.weight / weight } else { 0.0 };
        let mix = |sum: &mut f32, other: f32| *sum += share * (other - *sum);
        let mix_wdl = |sum: &mut Wdl, other: Wdl| {
            mix(&mut sum.win, other.win);
            mix(&mut sum.draw, other.draw);
            mix(&mut sum.loss, other.loss);
        };
        for ((_, sum), (_, other)) in self.sample.policy.iter_mut().zip(&other.policy) {
            mix(sum, *other);
        }
        mix_wdl(&mut self.sample.outcome, other.outcome);
        mix_wdl(&mut self.sample.target, other.target);
        mix_wdl(&mut self.sample.search, other.search);
        auxiliary::mix(&mut self.sample.auxiliary, &other.auxiliary, share);
        (self.count, self.weight) = (self.count + 1, weight);
    }

    fn sample(self) -> Sample {
        let count = self.count as f32;
        Sample { weight: (1.0 + count.log2()) * self.weight / count, ..self.sample }
    }
}

/// A batch of training rows.
#[derive(Clone, Debug)]
pub struct Batch {
    /// `[rows, planes, h, w]`: the planes of each position.
    pub planes: Array4<f32>,
    /// `[rows, actions]`: the shares of the policy target, 0 for illegal actions.
    pub policy: Array2<f32>,
    /// `[rows, actions]`: whether the action is illegal.
    pub illegal: Array2<bool>,
    /// `[rows, 3]`: win, draw, and loss for the player to move.
    pub wdl: Array2<f32>,
    /// `[rows, outputs]` for each auxiliary head with a target in at least one row. In the loss of a head, each
    /// row is weighted by the sum of its targets for that head.
    pub auxiliary: BTreeMap<HeadKind, Array2<f32>>,
}

impl Batch {
    /// Returns rows without a legal action, to be filled in.
    pub fn empty(rows: usize, shape: Shape) -> Batch {
        Batch {
            planes: Array4::zeros((rows, shape.planes, shape.height, shape.width)),
            policy: Array2::zeros((rows, shape.actions)),
            illegal: Array2::from_elem((rows, shape.actions), true),
            wdl: Array2::zeros((rows, 3)),
            auxiliary: BTreeMap::new(),
        }
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.wdl.nrows()
    }

    /// Returns whether every number is finite.
    pub fn is_finite(&self) -> bool {
        let auxiliary = self.auxiliary.values().flatten();
        self.planes
            .iter()
            .chain(&self.policy)
            .chain(&self.wdl)
            .chain(auxiliary)
            .all(|number| number.is_finite())
    }
}

impl Window {
    /// Returns an empty window for `capacity` positions.
    pub fn new(capacity: usize, shape: Shape) -> Window {
        Window { capacity, shape, shards: VecDeque::new(), positions: 0, action_maps: Vec::new() }
    }

    /// Returns the number of positions that the window may hold.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Sets the number of positions that the window may hold.
    pub fn set_capacity(&mut self, capacity: usize) {
        self.capacity = capacity;
    }

    /// Returns a window that has each position only once. A position with n samples gets the weighted mean of their
    /// targets, and 1 + log2(n) times their mean weight.
    pub fn merged(&self) -> Window {
        let mut places: HashMap<u64, usize> = HashMap::with_capacity(self.positions);
        let mut merged: Vec<Merged> = Vec::new();
        for sample in self.shards.iter().flat_map(|shard| &shard.samples) {
            let place = *places.entry(sample.planes.hash()).or_insert(merged.len());
            match merged.get_mut(place) {
                Some(merged) => merged.add(sample),
                None => merged.push(Merged::of(sample)),
            }
        }
        let samples: Vec<Sample> = merged.into_iter().map(Merged::sample).collect();
        let (shape, action_maps) = (self.shape, self.action_maps.clone());
        let positions = samples.len();
        Window {
            capacity: positions,
            shape,
            shards: [WindowShard::new(samples)].into(),
            positions,
            action_maps,
        }
    }

    /// Returns the number of positions in the window.
    pub fn len(&self) -> usize {
        self.positions
    }

    /// Returns the number of shards in the window, which are the newest shards added.
    pub fn shards(&self) -> usize {
        self.shards.len()
    }

    /// Returns whether the window has no positions.
    pub fn is_empty(&self) -> bool {
        self.positions == 0
    }

    /// Adds the samples of a shard's records and returns their number.
    ///
    /// # Errors
    /// If a record does not match the game; see [`Record::replay`].
    pub fn push<G: Game>(&mut self, rules: &Rules<G>, records: &[Record]) -> Result<usize> {
        let mut shard = Vec::new();
        for record in records {
            shard.extend(samples(rules, record)?);
        }
        Ok(self.push_samples(&rules.game, shard))
    }

    /// Adds a shard, drops the oldest shards that are not needed to reach the capacity, and returns the number of
    /// samples added.
    pub fn push_samples<G: Game>(&mut self, game: &G, shard: Vec<Sample>) -> usize {
        for symmetry in shard.iter().flat_map(|sample| &sample.symmetries) {
            if !self.action_maps.iter().any(|(known, _)| known == symmetry) {
                let map = Action::all(self.shape).map(|action| game.map_action(*symmetry, action).0);
                self.action_maps.push((*symmetry, map.collect()));
            }
        }
        let count = shard.len();
        self.positions += count;
        self.shards.push_back(WindowShard::new(shard));
        while let Some(oldest) = self.shards.front()
            && self.positions - oldest.samples.len() >= self.capacity
        {
            self.drop_oldest();
        }
        count
    }

    /// Drops the oldest shards until `shards` are left.
    pub fn keep_newest(&mut self, shards: usize) {
        while self.shards.len() > shards {
            self.drop_oldest();
        }
    }

    fn drop_oldest(&mut self) {
        self.positions -= self.shards.pop_front().map_or(0, |oldest| oldest.samples.len());
    }

    /// Draws `len` samples with replacement, each under a random symmetry. The share `search_share` of the value
    /// target comes from the search's own value, the rest from [`Sample::target`].
    ///
    /// # Panics
    /// If the window is empty.
    pub fn draw(&self, len: usize, search_share: f32, random: &mut Random) -> Batch {
        assert!(!self.is_empty(), "nothing can be drawn from an empty window");
        let mut batch = Batch::empty(len, self.shape);
        let weight: f64 = self.shards.iter().map(WindowShard::weight).sum();
        let is_weighted = weight > 0.0 && self.shards.iter().any(|shard| !shard.sums.is_empty());
        for row in 0..len {
            let sample = if is_weighted {
                self.sample_at(random.random::<f64>() * weight)
            } else {
                self.sample(random.random_range(0..self.positions))
            };
            let symmetry = choose(random, &sample.symmetries);
            self.write(&mut batch, row, sample, symmetry, (sample.target, search_share));
        }
        batch
    }

    /// Returns a batch of the samples at `indices`, without symmetries and with the outcomes as value targets.
    ///
    /// # Panics
    /// If an index in `indices` is not below [`Window::len`].
    pub fn rows(&self, indices: &[usize]) -> Batch {
        let mut batch = Batch::empty(indices.len(), self.shape);
        for (row, &index) in indices.iter().enumerate() {
            let sample = self.sample(index);
            self.write(&mut batch, row, sample, Symmetry::IDENTITY, (sample.outcome, 0.0));
        }
        batch
    }

    /// Returns the number of distinct positions in the window, as the network sees them (by 64-bit hashes).
    pub fn distinct(&self) -> usize {
        let samples = self.shards.iter().flat_map(|shard| &shard.samples);
        let mut hashes: Vec<u64> = samples.map(|sample| sample.planes.hash()).collect();
        hashes.sort_unstable();
        hashes.dedup();
        hashes.len()
    }

    fn sample(&self, mut index: usize) -> &Sample {
        for shard in &self.shards {
            match shard.samples.get(index) {
                Some(sample) => return sample,
                None => index -= shard.samples.len(),
            }
        }
        unreachable!("the index is below the number of positions")
    }

    fn sample_at(&self, mut place: f64) -> &Sample {
        let mut sample = None;
        for shard in self.shards.iter().filter(|shard| shard.weight() > 0.0) {
            sample = Some(shard.at(place));
            if place < shard.weight() {
                break;
            }
            place -= shard.weight();
        }
        sample.expect("the weights do not sum to 0")
    }

    /// Writes a row. The value target of the row is a mean of the search's value, with the weight `search_share`, and
    /// `target`.
    fn write(
        &self,
        batch: &mut Batch,
        row: usize,
        sample: &Sample,
        symmetry: Symmetry,
        (target, search_share): (Wdl, f32),
    ) {
        let mut planes = batch.planes.index_axis_mut(Axis(0), row);
        sample.planes.mapped(symmetry).expand(planes.as_slice_mut().expect("rows are contiguous"));
        let map = self.action_maps.iter().find(|(known, _)| *known == symmetry).map(|(_, map)| map);
        let mapped = |action: u16| map.map_or(action, |map| map[action as usize]) as usize;
        for (action, share) in &sample.policy {
            let index = mapped(action.0);
            batch.policy[[row, index]] = *share;
            batch.illegal[[row, index]] = false;
        }
        let mix = |target: f32, search: f32| (1.0 - search_share) * target + search_share * search;
        let search = sample.search;
        let parts = [(target.win, search.win), (target.draw, search.draw), (target.loss, search.loss)];
        for (column, (target, search)) in parts.into_iter().enumerate() {
            batch.wdl[[row, column]] = mix(target, search);
        }
        let rows = batch.rows();
        for AuxiliaryTarget { head, shares } in &sample.auxiliary {
            let zeros = || Array2::zeros((rows, head.outputs(self.shape)));
            let targets = batch.auxiliary.entry(*head).or_insert_with(zeros);
            for (output, share) in shares {
                let index = if head.is_policy() { mapped(*output) } else { *output as usize };
                targets[[row, index]] = *share;
            }
        }
    }
}

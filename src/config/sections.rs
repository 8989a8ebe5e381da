//! The sections of a run's own work. Each is a table with the documentation, field, default, and range of every
//! setting.

use super::limits::{
    MAX_BATCH, MAX_CACHE, MAX_FAST_SIMULATIONS, MAX_GAMES, MAX_GENERATIONS, MAX_LEAF_NODES, MAX_LEAVES,
    MAX_OPENING_PLIES, MAX_SIMULATIONS, MAX_SOLVE_NODES,
};
use super::table::{choice, is_off, is_one, section};

section! {
    /// `[net]`: a residual tower (AlphaZero: 256 filters, 19 blocks).
    ///
    /// The ranges of the sizes may grow but not shrink: any network ever trained must remain readable.
    pub struct NetConfig, "net" {
        /// Channels of the tower.
        filters: usize = 32 => 32 => 16, 1..=512;
        /// Residual blocks of two 3x3 convolutions.
        blocks: usize = 4 => 4 => 3, 0..=40;
        /// Planes of the value head (AlphaZero: 1).
        value_planes: usize = 4, 1..=64;
        /// Hidden units of the value head (AlphaZero: 256).
        value_hidden: usize = 64, 1..=1024;
        /// Whether the value head sees the mean and the maximum of each plane over the board instead of every square,
        /// and the input has a plane of ones, which shows where the board ends (both as in KataGo). The network's
        /// weights then do not depend on the size of the board. Combine this setting with more `value_planes`.
        #[serde(skip_serializing_if = "is_off")]
        value_pooling: bool = false;
        /// Number of residual blocks before each pooling step. In such a step, each channel gets, on all squares, the
        /// output of a linear layer over the mean and the maximum of every channel on the board, so that each square
        /// learns about the whole board (after KataGo's global pooling; 0: no pooling).
        #[serde(skip_serializing_if = "is_off")]
        block_pooling: usize = 0, 0..=40, experimental;
        /// Weight of the loss of a second policy head, which exists only in training: it learns the policy target at
        /// temperature 4, and thus which actions come next after the best (0: no such head; KataGo: 8).
        #[serde(skip_serializing_if = "is_off")]
        soft_policy: f32 = 0.0, 0.0..=100.0, experimental;
        /// Weight of the loss of another policy head in training: it learns the policy target of the other player's
        /// next ply (0: no such head; KataGo: 0.15).
        #[serde(skip_serializing_if = "is_off")]
        reply_policy: f32 = 0.0, 0.0..=100.0, experimental;
        /// Weight of the loss of a second value head in training: it learns a mean of the search's values from this
        /// ply on, in which every further ply counts 1/6 less, so that about 6 plies matter (0: no such head).
        #[serde(skip_serializing_if = "is_off")]
        short_value: f32 = 0.0, 0.0..=100.0, experimental;
        /// How positions are evaluated outside training.
        evaluator: EvaluatorKind = EvaluatorKind::Fused, experimental;
        /// Precision of products in the fused forward pass: `f32`, `bf16`, or `auto`. `bf16` is 4 to 7 times as fast on
        /// a CPU with AMX, and up to 1.8 times as fast on AMD CPUs with AVX-512 BF16, but half as fast on Intel CPUs
        /// without AMX. On a CPU with neither AMX nor AVX-512 BF16, agents of a run trained in bf16 play in f32. With
        /// `auto`, a new run measures which precision is the fastest on this machine, and keeps it.
        precision: Precision = Precision::F32;
        /// What computes the network in self-play and in the run's matches: `cpu`, `cuda` (an NVIDIA GPU; only its
        /// driver is needed), `vulkan` (any GPU, with a program built for that), or `auto`: a new run uses an NVIDIA
        /// GPU if it finds one, and keeps that choice. `train.device` is the device for training.
        #[serde(skip_serializing_if = "DeviceKind::is_cpu")]
        device: DeviceKind = DeviceKind::Cpu;
    }
}

choice! {
    /// `net.device`
    pub enum DeviceKind {
        /// This CPU.
        Cpu = "cpu",
        /// An NVIDIA GPU, with Petteia's own kernels.
        Cuda = "cuda",
        /// A GPU of any vendor, by burn's operations through Vulkan.
        Vulkan = "vulkan",
        /// An NVIDIA GPU if there is one, otherwise the CPU.
        Auto = "auto",
    }
}

impl DeviceKind {
    fn is_cpu(&self) -> bool {
        *self == DeviceKind::Cpu
    }
}

choice! {
    /// `net.precision` and `train.precision`
    pub enum Precision {
        /// 32 bits.
        F32 = "f32",
        /// Factors of 16 bits (8 of them exponent) in the tower, 32 bits for everything else.
        Bf16 = "bf16",
        /// The fastest precision on this CPU whose answers are close to those of f32.
        Auto = "auto",
    }
}

impl Precision {
    fn is_f32(&self) -> bool {
        *self == Precision::F32
    }
}

choice! {
    /// `net.evaluator`
    pub enum EvaluatorKind {
        /// The fused forward pass of `net/infer`.
        Fused = "fused",
        /// burn's own forward pass: the reference.
        Burn = "burn",
    }
}

impl NetConfig {
    /// Returns whether the network's device wants large batches and leaves the cores free while it computes, in which
    /// case all games share one evaluator; [`Forward::batch`](crate::net::forward::Forward::batch) determines the
    /// size of the batches.
    pub(crate) fn in_bulk(&self) -> bool {
        self.evaluator == EvaluatorKind::Burn || self.device != DeviceKind::Cpu
    }
}

section! {
    /// `[search]`: PUCT (Silver et al. 2017, Rosin 2011), optionally Gumbel at the root (Danihelka et al. 2022).
    pub struct SearchConfig, "search" {
        /// New simulations per action (AlphaZero: 800).
        simulations: usize = 64 => 32, 1..=MAX_SIMULATIONS;
        /// How the root is searched: `gumbel` considers few actions, repeatedly discards half of them ("Policy
        /// improvement by planning with Gumbel", ICLR 2022), plays the winner, and makes the improved policy the target
        /// instead of the visits. Dirichlet noise and temperatures are then not used. The Gumbel root suits small
        /// numbers of simulations.
        root: RootKind = RootKind::Puct => RootKind::Gumbel;
        /// Actions that the Gumbel root considers (the paper: 16).
        gumbel_actions: usize = 16, 1..=65_536;
        /// The paper's c_visit: how much values count before there are visits.
        gumbel_visit: f32 = 50.0, 0.0..=1e4, experimental;
        /// The paper's c_scale, for values of 0 to 1: how much values count relative to logits.
        gumbel_scale: f32 = 1.0 => 0.3, 0.001..=100.0;
        /// Exploration constant (AlphaZero: 1.25).
        cpuct: f32 = 1.5, 0.01..=100.0;
        /// Growth of exploration with a position's visits: this times ln((visits + 500) / 500) is added to `cpuct`
        /// (0: off; KataGo: 0.45).
        #[serde(skip_serializing_if = "is_off")]
        cpuct_growth: f32 = 0.0, 0.0..=10.0, experimental;
        /// Scaling of exploration with the standard deviation of the values below a position: `cpuct` is multiplied
        /// by 1 + this times (deviation / 0.4 - 1), for values from -1 to 1 (0: off; KataGo: 0.85).
        #[serde(skip_serializing_if = "is_off")]
        cpuct_spread: f32 = 0.0, 0.0..=1.0, experimental;
        /// First-play urgency: an unvisited action counts as the parent's value minus this times the square root of
        /// the prior mass already visited (KataGo: 0.2).
        fpu_reduction: f32 = 0.2, 0.0..=2.0;
        /// First-play urgency at a root with noise (KataGo: 0).
        fpu_reduction_root: f32 = 0.0, 0.0..=2.0;
        /// Total concentration of the Dirichlet noise, divided among the legal actions: alpha = this / actions
        /// (KataGo: 10.83).
        noise_concentration: f32 = 10.83, 0.1..=1000.0;
        /// Share of the noise in the root's priors during self-play (AlphaZero: 0.25).
        noise_fraction: f32 = 0.25, 0.0..=1.0;
        /// Temperature of the root's priors during self-play, before noise: above 1, unlikely actions are tried more
        /// often (KataGo: 1.25 at the start of a game, later 1.1).
        #[serde(skip_serializing_if = "is_one")]
        root_temperature: f32 = 1.0, 0.1..=10.0, experimental;
        /// Simulations in the first generation that the network plays; they grow evenly to `search.simulations` in the
        /// last (MiniZero's progressive simulation, arXiv:2310.11305; 0: off).
        #[serde(skip_serializing_if = "is_off")]
        first_simulations: usize = 0, 0..=MAX_SIMULATIONS;
        /// Nodes that a solver (proof-number search) may visit at each root outside self-play, in addition to the
        /// simulations; agents play what it proves (0: no solver).
        #[serde(skip_serializing_if = "is_off")]
        solve_nodes: usize = 0, 0..=MAX_SOLVE_NODES;
        /// Nodes that the solver may visit at each leaf, also in self-play, before the network is asked. If the solver
        /// finds the result, the leaf counts exactly like a finished game and needs no evaluation (0: off). Not used in
        /// games without a network, whose playouts are cheaper.
        #[serde(skip_serializing_if = "is_off")]
        leaf_nodes: usize = 0 => 16, 0..=MAX_LEAF_NODES;
        /// Number of standard errors in the lower bound that agents use to choose an action: of the actions with at
        /// least 15 % as many simulations as the most visited action, they play the one whose mean value minus this
        /// many standard errors is greatest (0: the most visited action; KataGo: 5).
        #[serde(skip_serializing_if = "is_off")]
        lower_bound: f32 = 0.0, 0.0..=20.0;
        /// Leaves that a search outside self-play gathers before they are evaluated together; until then, each counts
        /// as a loss when the next leaves are chosen (virtual loss). With 0, the search gathers one leaf for every 64
        /// visits of the root, up to 16. This setting determines which simulations are made; the number of threads does
        /// not.
        #[serde(skip_serializing_if = "is_off")]
        leaves: usize = 0, 0..=MAX_LEAVES;
        /// Whether to keep the subtree of the action played.
        reuse_tree: bool = true;
        /// Forced playouts and policy target pruning (Wu 2019, arXiv:1902.10565): at a PUCT root with noise, each
        /// visited action gets at least sqrt(this * prior * simulations) simulations, and those that its score does
        /// not justify are removed from the policy target (0: off; KataGo: 2).
        forced_playouts: f32 = 0.0, 0.0..=100.0;
    }
}

impl SearchConfig {
    /// Returns these settings with one leaf at a time, unless they name a number of leaves, for results that must not
    /// depend on the machine.
    pub fn one_by_one(&self) -> SearchConfig {
        SearchConfig { leaves: self.leaves.max(1), ..self.clone() }
    }
}

choice! {
    /// `search.root`
    pub enum RootKind {
        /// PUCT as in the rest of the tree, with Dirichlet noise in self-play.
        Puct = "puct",
        /// Gumbel noise and sequential halving.
        Gumbel = "gumbel",
    }
}

section! {
    /// `[selfplay]`
    pub struct SelfplayConfig, "selfplay" {
        /// Games per generation.
        games: usize = 512, 1..=MAX_GAMES;
        /// Games in flight together on one thread. Their leaves form one batch, and their records one shard. With
        /// `net.evaluator = "burn"`, the leaves of half of the games form a batch, and all cores work on the other half
        /// in the meantime. The games of the last shards of a generation are shared by all threads.
        batch: usize = 128 => 64, 1..=MAX_BATCH;
        /// Temperature for the first `temperature_plies` plies.
        temperature: f32 = 1.0, 0.0..=10.0;
        /// Plies at `temperature` (AlphaZero: 30 in chess).
        temperature_plies: usize = 16, 0..=10_000;
        /// Temperature after `temperature_plies`.
        temperature_final: f32 = 0.2, 0.0..=10.0;
        /// Factor of the Gumbel root's noise after `temperature_plies`; until then, the noise has its full strength (1:
        /// full strength in all plies, as in the paper; 0: the search's own winner is played). At full strength, noise
        /// alone would decide between actions of similar value.
        #[serde(skip_serializing_if = "is_one")]
        gumbel_final: f32 = 1.0 => 0.2, 0.0..=1.0;
        /// A game counts as decided when win minus loss, for either player, reaches this value, or when the position is
        /// proven. From then on, the best action is played, without a temperature (0: never; a cautious value is 0.95).
        #[serde(skip_serializing_if = "is_off")]
        decided: f32 = 0.0, 0.0..=1.0, experimental;
        /// Maximum number of uniformly random actions at the start of a game, after `policy_plies`. They are not
        /// trained on.
        random_plies: usize = 0, 0..=MAX_OPENING_PLIES;
        /// Maximum number of actions at the start of a game that are drawn from the network's policy without a search,
        /// at `policy_temperature`; they are not trained on (KataGo's policy initialization). If random actions follow
        /// them, games leave the lines of self-play at any of these plies.
        #[serde(skip_serializing_if = "is_off")]
        policy_plies: usize = 0, 0..=MAX_OPENING_PLIES;
        /// The temperature of `policy_plies`.
        #[serde(skip_serializing_if = "is_one")]
        policy_temperature: f32 = 1.0, 0.1..=10.0;
        /// Share of the plies of `random_plies` and `policy_plies` that are searched and trained on after all, so that
        /// training sees as many positions of the first plies of a game as of later ones (0: none of them). Actions in
        /// these plies can lose games that need not be lost, so set `replay.blunder`, too.
        #[serde(skip_serializing_if = "is_off")]
        opening_share: f32 = 0.0, 0.0..=1.0;
        /// `search.solve_nodes` for self-play: solved endgames are played and taught exactly, and need no
        /// simulations.
        #[serde(skip_serializing_if = "is_off")]
        solve_nodes: usize = 0 => 1000, 0..=MAX_SOLVE_NODES;
        /// Share of the games that begin at a position of the previous generation, drawn in proportion to the
        /// difference between the search's value there and the result (regret-guided search control,
        /// arXiv:2602.20809).
        #[serde(skip_serializing_if = "is_off")]
        restart_share: f32 = 0.0, 0.0..=1.0;
        /// Share of the games that branch off from a game of the previous generation: at a random ply, another action
        /// is played (KataGo's side positions).
        #[serde(skip_serializing_if = "is_off")]
        fork_share: f32 = 0.0, 0.0..=1.0, experimental;
        /// Playout cap randomization (Wu 2019, arXiv:1902.10565): simulations of a fast search, which has no noise
        /// and whose policy and value are not trained on (0: off; KataGo: 100 of 600). Must be fewer
        /// than `search.simulations`.
        fast_simulations: usize = 0, 0..=MAX_FAST_SIMULATIONS, experimental;
        /// Share of full searches, which have noise and are trained on, if there are fast ones (KataGo: 0.25).
        full_share: f32 = 0.25, 0.01..=1.0, experimental;
        /// Policy surprise weighting (KataGo's methods, after Wu 2019): this share of a game's training weight is
        /// distributed among its positions in proportion to the distance of the policy target from the prior, and the
        /// rest equally (0: off; KataGo: 0.5).
        surprise_weight: f32 = 0.0 => 0.5, 0.0..=1.0;
        /// How many generations self-play may be ahead of training. A generation is played by the newest network that
        /// exists, which is at most this many generations older than the network of the previous generation. Playing
        /// and training then run side by side, and games depend on timing. With 0, each generation is played by the
        /// network of the previous generation, and a run's bytes follow from its settings.
        #[serde(skip_serializing_if = "is_off")]
        ahead: usize = 0, 0..=16;
        /// Mebibytes of evaluations that each shard in flight remembers (0: none): games that reach the same position
        /// ask the network once. With the fused evaluator, this changes no game, only the time.
        cache: usize = 0, 0..=MAX_CACHE;
        /// Games of the first generation, played before there is a network.
        bootstrap_games: usize = 512, 0..=MAX_GAMES;
        /// The evaluator of the games of the first generation.
        bootstrap: Bootstrap = Bootstrap::Rollout;
        /// Simulations per action of the games of the first generation.
        bootstrap_simulations: usize = 200 => 100, 1..=MAX_SIMULATIONS;
    }
}

choice! {
    /// `selfplay.bootstrap`
    pub enum Bootstrap {
        /// Random playouts to the end of the game, without root noise.
        Rollout = "rollout",
        /// Equal priors and value 0: only the ends of games that the tree reaches give information.
        Uniform = "uniform",
    }
}

section! {
    /// `[replay]`
    pub struct ReplayConfig, "replay" {
        /// Newest positions that training samples from (AlphaZero: the last million games). Whole shards are kept, so
        /// the window may hold slightly more.
        window: usize = 100_000, 1..=100_000_000;
        /// Power of the generation with which the window grows: in generation n it holds `window * n ^ growth`
        /// positions (0: constant; KataGo's grows with about the power 0.75 of its data).
        #[serde(skip_serializing_if = "is_off")]
        growth: f32 = 0.0, 0.0..=1.0;
        /// Whether a position that occurs n times in the window is trained on as one, with the mean of its targets, and
        /// 1 + log2(n) times as often as a position that occurs once (as in AlphaZero.jl).
        #[serde(skip_serializing_if = "is_off")]
        merge: bool = false, experimental;
        /// How much less each further ply counts in the value target, which is then a mean of the search's values
        /// and, at the end, the outcome: TD(lambda) with lambda = 1 - this (0: the outcome alone).
        #[serde(skip_serializing_if = "is_off")]
        value_decay: f32 = 0.0 => 0.03, 0.0..=1.0;
        /// An action counts as a blunder if it loses at least this much of the search's value (out of 2) and was not
        /// preferred by the search, but drawn by the temperature or the opening. A blunder does not change the value of
        /// the positions before it (0: no action counts as a blunder).
        #[serde(skip_serializing_if = "is_off")]
        blunder: f32 = 0.0, 0.0..=2.0;
        /// Share of the games that are never trained on. The metrics report how well the network predicts them
        /// (`held_out`), and how well it predicts each generation's games before it is trained on them (`fresh`).
        #[serde(skip_serializing_if = "is_off")]
        held_out: f32 = 0.0, 0.0..=0.5;
    }
}

section! {
    /// `[train]`
    pub struct TrainConfig, "train" {
        /// Number of generations, each with self-play, training, and evaluation.
        generations: usize = 10 => 10 => 20, 1..=MAX_GENERATIONS;
        /// Samples per step (AlphaZero: 4096). Short runs learn more from many small steps.
        batch: usize = 64, 1..=MAX_BATCH;
        /// How often a new position is sampled on average: a generation takes
        /// `new positions * samples_per_position / batch` steps.
        samples_per_position: f32 = 4.0 => 3.0, 0.01..=1000.0;
        /// How gradients become steps (AlphaZero: SGD with momentum 0.9). The other defaults are made for AdamW: SGD
        /// needs its own rate and weight decay, such as 0.1 and 0.0001.
        optimizer: OptimizerKind = OptimizerKind::Adamw, experimental;
        /// Highest learning rate.
        learning_rate: f64 = 0.008, 1e-9..=1.0;
        /// Learning rate at the end of the cosine schedule.
        learning_rate_final: f64 = 0.0001, 0.0..=1.0;
        /// Steps over which the rate rises from 0.
        warmup_steps: usize = 100, 0..=1_000_000;
        /// Decoupled (AdamW) or L2 (SGD) weight decay; does not apply to norms and biases (see `bias_decay`). With
        /// AdamW, each step shrinks the weights by this share times the learning rate, so useful values are far larger
        /// than with SGD (AlphaZero: 0.0001).
        weight_decay: f64 = 0.3 => 0.1, 0.0..=1.0;
        /// Weight decay of the biases of norms and layers, which otherwise wander far in long runs at a high rate.
        #[serde(skip_serializing_if = "is_off")]
        bias_decay: f64 = 0.0, 0.0..=1.0, experimental;
        /// Momentum of SGD.
        momentum: f64 = 0.9, 0.0..=0.999, experimental;
        /// Largest norm of the whole gradient.
        clip_norm: f32 = 5.0, 1e-6..=1e6;
        /// Weight of the value loss relative to the policy loss.
        value_weight: f32 = 1.0, 0.0..=100.0;
        /// Share of the search's own root value in the value target; the rest is the game's outcome.
        search_value_share: f32 = 0.0, 0.0..=1.0, experimental;
        /// Decay per step of a moving average of the weights, including batch norm's statistics: the average plays, is
        /// evaluated, and is exported, while training continues with the weights themselves (0: off; 0.999 averages
        /// about the last thousand steps). Step t keeps at most (1 + t) / (10 + t) of the average, so that the first
        /// weights are soon forgotten.
        #[serde(skip_serializing_if = "is_off")]
        average: f32 = 0.0 => 0.99, 0.0..=0.99999;
        /// Whether to write the metrics also as an event file for TensorBoard. The event file changes no game and no
        /// weight.
        #[serde(skip_serializing_if = "is_off")]
        tensorboard: bool = false;
        /// Precision of the convolutions' products in forward and backward pass: `f32`, `bf16` (if the CPU has AMX or
        /// AVX-512 BF16; sums, weights, and everything else stay in 32 bits), or `auto`: a new run uses bf16 where it
        /// is faster, and keeps that choice.
        #[serde(skip_serializing_if = "Precision::is_f32")]
        precision: Precision = Precision::F32;
        /// What trains the network: `cpu`, or `vulkan` (any GPU, in 32 bits, with a program built for that). The
        /// bytes of a run on a GPU depend on that GPU.
        #[serde(skip_serializing_if = "TrainDevice::is_cpu")]
        device: TrainDevice = TrainDevice::Cpu;
    }
}

choice! {
    /// `train.device`
    pub enum TrainDevice {
        /// This CPU, with Petteia's own kernels.
        Cpu = "cpu",
        /// A GPU of any vendor, by burn's operations through Vulkan.
        Vulkan = "vulkan",
    }
}

impl TrainDevice {
    fn is_cpu(&self) -> bool {
        *self == TrainDevice::Cpu
    }
}

choice! {
    /// `train.optimizer`
    pub enum OptimizerKind {
        /// Adam with decoupled weight decay (Loshchilov and Hutter 2019).
        Adamw = "adamw",
        /// Stochastic gradient descent with momentum.
        Sgd = "sgd",
    }
}

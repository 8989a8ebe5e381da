//! A training run: generations of self-play, training, checkpoint, gate and evaluation, in one folder.
//!
//! The run folder holds `config.toml` (the resolved settings), `selfplay/` (shards of records),
//! `checkpoints/`, `metrics.jsonl` and `lock`. Killed at any point, [`train`] goes on: finished shards of the
//! generation under way are kept, the window is read back from the shards, network and optimizer from the
//! newest checkpoint. A resumed run plays the same games and
//! finds the same weights, byte for byte, as an uninterrupted one; when it lacks what that takes (see
//! [`audit`](mod@crate::audit)), it trains nothing until the user decides.

mod folder;
mod metrics;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use serde_json::json;

use self::folder::Folder;
pub use self::metrics::METRICS;
use self::metrics::Metrics;

use crate::arena::agent::{AgentSpec, Contestant};
use crate::arena::{self, Match, MatchResult, play_match};
use crate::audit::{self, Audit, Depth};
use crate::checkpoint::{self, Checkpoint, TrainingData};
use crate::config::{Bootstrap, Config, EvaluatorKind, GateKind, RootKind};
use crate::error::{Error, Result};
use crate::game::{Game, GameIdentity, Outcome};
use crate::gate::{self, Decision};
use crate::net::cpu::CpuNet;
use crate::net::evaluator::SharedNet;
use crate::net::model::{self, Network};
use crate::random::{Purpose, stream};
use crate::replay::place::{self, Origin, Place, shards_of};
use crate::replay::record::Record;
use crate::replay::store::{self, ShardInfo};
use crate::replay::window::{Batch, Window};
use crate::search::cache::Cached;
use crate::search::evaluator::{Evaluator, Rollout, Uniform};
use crate::selfplay::{Generation, Progress, play_generation};
use crate::train::Trainer;
use crate::train::loss::Losses;
use crate::train::schedule::learning_rate;

/// The resolved settings, in the run folder.
pub const SETTINGS: &str = "config.toml";
/// Training lines in `metrics.jsonl` a generation, about.
const LOSS_LINES: usize = 20;

/// What happens in a run, for whoever shows it.
#[derive(Clone, Debug)]
pub enum Event {
    /// The run goes on: generations done, generations in all, positions in the window.
    Resumed(usize, usize, usize),
    /// A generation begins: its number, how many there are, its games.
    Generation(usize, usize, usize),
    /// Self-play goes on.
    Selfplay(Progress),
    /// A generation's games are played, and were read again for training.
    Played(Played),
    /// An optimizer step begins: steps done, steps in all; once more behind the last.
    Step(usize, usize),
    /// Training goes on: steps done, steps in all, losses averaged since the last event.
    Training(usize, usize, Losses),
    /// A checkpoint was saved.
    Saved(PathBuf),
    /// Evaluation goes on: games done, games in all.
    Evaluating(usize, usize),
    /// The evaluation of a generation against the named opponent.
    Evaluated(usize, String, Box<MatchResult>),
    /// The gate goes on: how far its match is, and the most games that it has.
    Gating(arena::Progress, usize),
    /// What the gate said of a generation.
    Gated(usize, Box<Decision>),
    /// Something is wrong but the run goes on.
    Warning(String),
}

/// The self-play games of a generation, or of several together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Played {
    /// How many there are.
    pub games: usize,
    /// Positions that are trained on.
    pub positions: usize,
    /// Actions, those that are not trained on as well.
    pub plies: usize,
    /// Won by the first player.
    pub first: usize,
    /// Won by the second player.
    pub second: usize,
    /// Drawn.
    pub draw: usize,
}

/// Hears of events, from any thread, and says when to stop.
pub trait Observer: Sync {
    /// Something happened.
    fn event(&self, event: Event);
    /// Whether the user wants to stop.
    fn interrupted(&self) -> bool {
        false
    }
    /// Whether the user wants to resume a run without those of its records and checkpoints that are missing or wrong.
    /// Asked only when some are; if not, nothing is trained.
    fn accepts_missing(&self) -> bool {
        false
    }
}

/// What a finished run says of its agent.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The run folder.
    pub run: PathBuf,
    /// Generations trained.
    pub generations: usize,
    /// Optimizer steps.
    pub steps: usize,
    /// The generation whose network stands for the run: the champion where there is a gate, else the last.
    pub champion: usize,
    /// The last evaluation: opponent and result.
    pub evaluation: Option<(String, MatchResult)>,
    /// The self-play games of each generation, as far as the metrics know them.
    pub played: Vec<Played>,
}

struct Run<'a, G: Game> {
    game: &'a G,
    identity: &'a GameIdentity,
    config: &'a Config,
    folder: &'a Path,
    held: &'a Folder,
    observer: &'a dyn Observer,
    metrics: Metrics,
    /// The shards that the next checkpoint lists, oldest first.
    shards: Vec<ShardInfo>,
    /// Shards that are lost, and that the user goes without.
    given_up: BTreeSet<String>,
}

/// Trains in `folder`, which is made if it does not exist, resumed if it has the same settings, and
/// refused otherwise.
pub fn train<G: Game>(
    game: &G,
    identity: &GameIdentity,
    config: &Config,
    folder: &Path,
    observer: &dyn Observer,
) -> Result<Summary> {
    if !CpuNet::has(config.net.precision) {
        return Err(Error::Config(
            "net.precision = \"bf16\" needs a CPU with AVX-512 BF16 instructions, which this one lacks: \
             begin a run with \"f32\" (one that was begun in bf16 can only be resumed where they are)"
                .into(),
        ));
    }
    let opponent = AgentSpec::parse(&config.arena.opponent)
        .and_then(|spec| Contestant::new(game, identity, &spec))
        .map_err(|e| Error::Config(format!("arena.opponent: {e}")))?;
    let held = Folder::open(config, folder)?;
    let given_up = settle(game, identity, config, folder, observer)?;
    let start = checkpoint::latest(folder)?;
    let done = start.as_ref().map_or(0, |checkpoint| checkpoint.manifest.generation);
    let mut trainer = match &start {
        Some(checkpoint) => checkpoint.trainer(config, &model::training_device())?,
        None => {
            let network = Network::new(&config.net, identity.shape, config.seed, &model::training_device());
            Trainer::new(&config.train, network)
        }
    };
    // only now: nothing of a run that was refused above has been touched
    let (metrics, lost) = Metrics::open(folder, done)?;
    lost.into_iter().for_each(|what| observer.event(Event::Warning(what)));
    let held = &held;
    let mut run =
        Run { game, identity, config, folder, held, observer, metrics, shards: Vec::new(), given_up };
    let mut window = Window::new(config.replay.window, identity.shape);
    if let Some(checkpoint) = &start {
        run.restore(&mut window, checkpoint)?;
        run.observer.event(Event::Resumed(done, config.train.generations, window.len()));
        held.explain(run.judge(checkpoint, &trainer, &opponent))?;
    }
    for number in done + 1..=config.train.generations {
        held.explain(run.turn(&mut trainer, &mut window, &opponent, number))?;
    }
    let evaluation = run.metrics.evaluation_of(config.train.generations);
    Ok(Summary {
        run: folder.to_path_buf(),
        generations: config.train.generations,
        steps: trainer.step,
        champion: checkpoint::champion(folder)?.map_or(0, |champion| champion.manifest.generation),
        evaluation,
        played: run.metrics.played().collect(),
    })
}

/// Holds the run against what its checkpoints list, and returns the shards that the user goes without.
fn settle<G: Game>(
    game: &G,
    identity: &GameIdentity,
    config: &Config,
    folder: &Path,
    observer: &dyn Observer,
) -> Result<BTreeSet<String>> {
    let mut given_up = BTreeSet::new();
    loop {
        let mut read =
            |path: &Path, place: &Place| store::read_shard(path, game, identity, Some(place)).map(|_| ());
        let mut found = audit::audit(folder, config, identity, &given_up, Depth::Window, &mut read)?;
        let accepts = !found.problems.is_empty() && observer.accepts_missing();
        let gone = audit::settle(&mut found, folder, config, accepts)?;
        warn(&found, observer);
        if gone.is_empty() {
            return Ok(given_up);
        }
        // without these another checkpoint may be the newest
        given_up.extend(gone);
    }
}

/// Says what was found, also what the user went without.
fn warn(audit: &Audit, observer: &dyn Observer) {
    let say = |what: String| observer.event(Event::Warning(what));
    for problem in &audit.problems {
        say(format!("{problem}; the run goes on without it"));
    }
    if !audit.problems.is_empty() {
        // the next look says the rest
        return;
    }
    for path in &audit.set_aside {
        say(format!("{} was set aside before and is not trained on", path.display()));
    }
    for (path, _) in &audit.without_checksum {
        say(format!("{} is whole, but the checksum beside it was not: it was written anew", path.display()));
    }
    audit.unchecked.iter().for_each(|what| say(what.clone()));
}

impl<G: Game> Run<'_, G> {
    /// One generation: self-play, training, checkpoint, and what follows it.
    fn turn(
        &mut self,
        trainer: &mut Trainer,
        window: &mut Window,
        opponent: &Contestant<G>,
        number: usize,
    ) -> Result<()> {
        let before = trainer.step;
        let new_positions = self.play(trainer, window, number)?;
        self.train(trainer, window, number, new_positions)?;
        let data = self.data(window, number, new_positions, trainer.step - before);
        // a checkpoint speaks of what is on disk
        self.metrics.sync()?;
        self.held.check()?;
        let saved = checkpoint::save(self.folder, self.config, self.identity, number, trainer, data)?;
        self.observer.event(Event::Saved(saved.path.clone()));
        self.judge(&saved, trainer, opponent)
    }

    /// What the checkpoint of generation `number` says of its records.
    fn data(
        &mut self,
        window: &Window,
        number: usize,
        new_positions: usize,
        new_steps: usize,
    ) -> TrainingData {
        let own = self.shards.iter().filter(|shard| shard.generation == number).count();
        let kept = window.shards().max(own).min(self.shards.len());
        self.shards.drain(..self.shards.len() - kept);
        let is_listed = |path: &String| self.shards.iter().any(|shard| path.ends_with(&shard.name));
        TrainingData {
            shards: self.shards.clone(),
            window_shards: window.shards(),
            window_positions: window.len(),
            new_positions,
            new_steps,
            given_up: self.given_up.iter().filter(|path| !is_listed(path)).cloned().collect(),
        }
    }

    /// Reads the shards of the window of a checkpoint back: those that it lists, or, when it lists none, the newest.
    fn restore(&mut self, window: &mut Window, checkpoint: &Checkpoint) -> Result<()> {
        let names: Vec<(usize, usize)> = match &checkpoint.manifest.data {
            Some(data) => {
                self.given_up.extend(data.given_up.iter().cloned());
                let listed = data.window().iter().map(|shard| store::place_of(Path::new(&shard.name)));
                listed.collect::<Option<_>>().ok_or_else(|| {
                    let place = checkpoint.path.display();
                    Error::Data(format!("{place}: its manifest lists a file that is not named as a shard is"))
                })?
            }
            None => (1..=checkpoint.manifest.generation)
                .flat_map(|of| (0..shards_of(self.config, of)).map(move |shard| (of, shard)))
                .collect(),
        };
        let (mut newest, mut positions) = (Vec::new(), 0);
        for (generation, shard) in names.into_iter().rev() {
            let name = format!("{}/{}", store::FOLDER, store::shard_name(generation, shard));
            if self.given_up.contains(&name) {
                continue;
            }
            if positions >= self.config.replay.window {
                break;
            }
            let (records, info) = self.read(generation, shard)?;
            positions += info.positions;
            newest.push((records, info));
        }
        for (records, info) in newest.into_iter().rev() {
            window.push(self.game, self.identity, &records)?;
            self.shards.push(info);
        }
        Ok(())
    }

    /// Reads a shard of this run.
    fn read(&self, generation: usize, shard: usize) -> Result<(Vec<Record>, ShardInfo)> {
        let path = store::shard_path(self.folder, generation, shard);
        let place = Place::of(self.config, generation, shard);
        let read = store::read_shard(&path, self.game, self.identity, place.as_ref())?;
        let info = read.info(generation, shard);
        Ok((read.records, info))
    }

    fn set_aside(&self, path: &Path, error: &Error) -> Result<()> {
        let bad = store::set_aside(path)?;
        self.observer
            .event(Event::Warning(format!("{error}; set aside as {}, not trained on", bad.display())));
        Ok(())
    }

    /// Plays a generation and adds it to the window; returns its positions.
    fn play(&mut self, trainer: &Trainer, window: &mut Window, number: usize) -> Result<usize> {
        let settings = &self.config.selfplay;
        let bootstrap = place::is_bootstrap(self.config, number);
        let (games, simulations) = place::games_of(self.config, number);
        let (newest, network) = self.player(trainer, number - 1)?;
        let name = match (bootstrap, settings.bootstrap) {
            (false, _) => format!("generation {newest}"),
            (true, Bootstrap::Rollout) => format!("rollout:{simulations}"),
            (true, Bootstrap::Uniform) => format!("uniform:{simulations}"),
        };
        let (mut config, identity) = (self.config.clone(), self.identity);
        if bootstrap {
            // these simulations are cheap, and their priors know nothing that could be surprised
            config.selfplay.fast_simulations = 0;
            config.selfplay.surprise_weight = 0.0;
            // and without a network there is no value that a Gumbel root could rely on
            config.search.root = RootKind::Puct;
            // one evaluator for each core
            config.net.evaluator = EvaluatorKind::Fused;
        }
        if bootstrap && settings.bootstrap == Bootstrap::Rollout {
            // with equal priors and noisy playouts, root noise would drown the targets
            config.search.noise_fraction = 0.0;
        }
        let config = &config;
        let generation = Generation { config, identity, number, games, simulations, evaluator: name };
        self.observer.event(Event::Generation(number, self.config.train.generations, games));
        let started = Instant::now();
        match (bootstrap, settings.bootstrap) {
            (true, Bootstrap::Rollout) => self.fill(&generation, || Rollout::new(self.game.clone()))?,
            (true, Bootstrap::Uniform) => self.fill(&generation, || Uniform)?,
            (false, _) => {
                let net = SharedNet::new(&network, self.identity.shape, &self.config.net);
                match settings.cache {
                    0 => self.fill(&generation, || net.evaluator(self.game))?,
                    size => self.fill(&generation, || {
                        Cached::new(self.game.clone(), net.evaluator(self.game), size)
                    })?,
                }
            }
        }
        let mut positions = 0;
        let mut plies = 0;
        let mut outcomes = [0usize; 3];
        let mut cut_short = 0;
        for shard in 0..shards_of(self.config, number) {
            let (records, info) = self.read(number, shard)?;
            for record in &records {
                plies += record.actions.len();
                cut_short += (G::DRAWLESS && record.outcome == Outcome::Draw.id()) as usize;
                outcomes
                    [["first", "second", "draw"].iter().position(|id| *id == record.outcome).unwrap_or(2)] +=
                    1;
            }
            positions += window.push(self.game, self.identity, &records)?;
            self.shards.push(info);
        }
        if cut_short > 0 {
            self.observer.event(Event::Warning(format!(
                "{cut_short} of {games} games of generation {number} were cut short after {} actions and count \
                 as draws: this should not happen, look at their records",
                self.game.max_plies()
            )));
        }
        self.metrics.write(json!({
            "kind": "selfplay", "generation": number, "games": games, "positions": positions, "plies": plies,
            "first": outcomes[0], "second": outcomes[1], "draw": outcomes[2], "window": window.len(),
            "seconds": rounded(started.elapsed().as_secs_f64()),
        }))?;
        self.metrics
            .played()
            .last()
            .into_iter()
            .for_each(|played| self.observer.event(Event::Played(played)));
        Ok(positions)
    }

    /// Plays what is missing of a generation. A shard of an interrupted run that is damaged, or that another run
    /// played, is played again, with the games that belong there.
    fn fill<E: Evaluator<G>>(&self, generation: &Generation, evaluator: impl Fn() -> E + Sync) -> Result<()> {
        let number = generation.number;
        let origin = Origin::of(self.config);
        for shard in 0..shards_of(self.config, number) {
            let path = store::shard_path(self.folder, number, shard);
            if !store::is_finished(&path)? {
                continue;
            }
            let found = self.read(number, shard).and_then(|_| match store::origin(&path)? {
                Some(other) if other != origin => {
                    let place = path.display();
                    Err(Error::Foreign(format!(
                        "{place}: it was played by another run ({other}), not by this one ({origin})"
                    )))
                }
                _ => Ok(()),
            });
            match found {
                Ok(()) => {}
                Err(error @ (Error::Data(_) | Error::Foreign(_))) => self.set_aside(&path, &error)?,
                Err(error) => return Err(error),
            }
        }
        self.held.check()?;
        play_generation(self.game, generation, self.folder, &origin, evaluator, |progress| {
            self.observer.event(Event::Selfplay(progress));
            !self.observer.interrupted()
        })
    }

    fn train(
        &mut self,
        trainer: &mut Trainer,
        window: &Window,
        number: usize,
        new_positions: usize,
    ) -> Result<()> {
        let settings = &self.config.train;
        if window.is_empty() {
            return Err(Error::Data("self-play wrote no position to train on".into()));
        }
        let samples = new_positions as f64 * settings.samples_per_position as f64;
        let steps = ((samples / settings.batch as f64).round() as usize).max(1);
        let every = steps.div_ceil(LOSS_LINES);
        let started = Instant::now();
        let mut mean = Mean::default();
        for step in 0..steps {
            if self.observer.interrupted() {
                return Err(Error::Interrupted);
            }
            self.observer.event(Event::Step(step, steps));
            let progress = (number as f64 - 1.0 + step as f64 / steps as f64) / settings.generations as f64;
            let rate = learning_rate(settings, trainer.step, progress);
            let mut random = stream(self.config.seed, Purpose::Sampling, &[trainer.step as u64]);
            let batch = window.draw(settings.batch, settings.search_value_share, &mut random);
            mean.add(trainer.train(&batch, rate));
            if (step + 1) % every == 0 || step + 1 == steps {
                let losses = mean.take();
                self.observer.event(Event::Training(step + 1, steps, losses));
                self.metrics.write(json!({
                    "kind": "train", "generation": number, "step": trainer.step, "learning_rate": rate,
                    "policy_loss": losses.policy, "policy_floor": losses.policy_floor, "value_loss": losses.value,
                    "seconds": rounded(started.elapsed().as_secs_f64()),
                }))?;
                // at the end the weights themselves: the losses above were computed before each step
                let after = if step + 1 == steps { trainer.evaluate(&batch) } else { losses };
                if !(losses.policy + losses.value + after.policy + after.value).is_finite() {
                    return Err(diverged(&batch, trainer.step));
                }
            }
        }
        self.observer.event(Event::Step(steps, steps));
        Ok(())
    }

    /// The network that plays, and its generation: the champion where there is a gate, else the `newest`.
    fn player(&self, trainer: &Trainer, newest: usize) -> Result<(usize, Network)> {
        let champion = match self.config.arena.gate {
            GateKind::None => None,
            GateKind::Sprt => checkpoint::champion(self.folder)?,
        };
        match champion {
            Some(champion) => Ok((champion.manifest.generation, champion.network(&model::device())?)),
            None => Ok((newest, trainer.snapshot())),
        }
    }

    /// What follows a checkpoint: the gate, then the evaluation of whoever stands for the run.
    fn judge(&mut self, checkpoint: &Checkpoint, trainer: &Trainer, opponent: &Contestant<G>) -> Result<()> {
        let number = checkpoint.manifest.generation;
        let changed = match self.config.arena.gate {
            GateKind::None => true,
            GateKind::Sprt => self.gate(checkpoint)?,
        };
        // the same agent would play the same games again
        if changed || number == self.config.train.generations {
            self.evaluate(trainer, opponent, number)?;
        }
        Ok(())
    }

    /// Returns whether the checkpoint is the champion now.
    fn gate(&mut self, checkpoint: &Checkpoint) -> Result<bool> {
        let number = checkpoint.manifest.generation;
        let games = self.config.arena.gate_games;
        let (game, identity, config) = (self.game, self.identity, self.config);
        let decision = gate::decide(game, identity, config, self.folder, checkpoint, |progress| {
            self.observer.event(Event::Gating(*progress, games));
            !self.observer.interrupted()
        })?;
        let promoted = decision.promoted;
        if self.metrics.line_of("gate", number).is_none() {
            self.metrics.write(json!({
                "kind": "gate", "generation": number, "promoted": promoted, "champion": decision.champion,
                "result": decision.result,
            }))?;
            self.observer.event(Event::Gated(number, Box::new(decision)));
        }
        Ok(promoted)
    }

    /// Plays the evaluation games of a generation unless they were played before.
    fn evaluate(&mut self, trainer: &Trainer, opponent: &Contestant<G>, number: usize) -> Result<()> {
        let settings = &self.config.arena;
        let last = number == self.config.train.generations;
        let games = if last { settings.final_games } else { settings.games };
        if games == 0 || self.metrics.evaluation_of(number).is_some() {
            return Ok(());
        }
        let (player, network) = self.player(trainer, number)?;
        let net = SharedNet::new(&network, self.identity.shape, &self.config.net);
        let agent = Contestant::trained(self.game, &self.config.search, net, settings.simulations);
        let plan = Match { games, seed: self.config.seed, opening_plies: settings.opening_plies, sprt: None };
        let result = play_match(self.game, &plan, [&agent, opponent], None, |progress| {
            self.observer.event(Event::Evaluating(progress.games, games));
            !self.observer.interrupted()
        })?;
        self.metrics.write(json!({
            "kind": "evaluation", "generation": number, "player": player, "opponent": settings.opponent,
            "simulations": settings.simulations, "result": result,
        }))?;
        self.observer.event(Event::Evaluated(player, settings.opponent.clone(), Box::new(result)));
        Ok(())
    }
}

/// Why the losses are no numbers any more.
fn diverged(batch: &Batch, step: usize) -> Error {
    Error::Data(match batch.is_finite() {
        true => format!(
            "training diverged: after step {step} the losses are not numbers any more, though the records that \
             were trained on are sound; begin another run with a lower train.learning_rate"
        ),
        false => format!(
            "at step {step} a record that was trained on held a number that is not one: check the records with \
             `petteia records RUN verify`"
        ),
    })
}

#[derive(Default)]
struct Mean {
    sum: Losses,
    count: usize,
}

impl Mean {
    fn add(&mut self, losses: Losses) {
        self.sum.policy += losses.policy;
        self.sum.policy_floor += losses.policy_floor;
        self.sum.value += losses.value;
        self.count += 1;
    }

    fn take(&mut self) -> Losses {
        let Mean { sum, count } = std::mem::take(self);
        let n = count.max(1) as f32;
        Losses { policy: sum.policy / n, policy_floor: sum.policy_floor / n, value: sum.value / n }
    }
}

fn rounded(seconds: f64) -> f64 {
    (seconds * 10.0).round() / 10.0
}

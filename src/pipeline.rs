//! A training run: generations of self-play, training, checkpoint, gate and evaluation, in one folder.
//!
//! The run folder holds `config.toml` (the resolved settings), `selfplay/` (shards of records),
//! `checkpoints/`, `metrics.jsonl` and `lock`. Killed at any point, [`train`] goes on: finished shards of the
//! generation under way are kept, the window is read back from the shards, network and optimizer from the
//! newest checkpoint. A resumed run plays the same games and
//! finds the same weights, byte for byte, as an uninterrupted one.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::arena::agent::{AgentSpec, Contestant};
use crate::arena::{self, Match, MatchResult, play_match};
use crate::checkpoint::{self, Checkpoint};
use crate::config::{Bootstrap, Config, EvaluatorKind, GateKind, RootKind};
use crate::error::{Error, Result};
use crate::game::{Game, GameIdentity, Outcome};
use crate::gate::{self, Decision};
use crate::net::cpu::CpuNet;
use crate::net::evaluator::SharedNet;
use crate::net::model::{self, Network};
use crate::random::{Purpose, stream};
use crate::replay::store;
use crate::replay::window::Window;
use crate::search::cache::Cached;
use crate::search::evaluator::{Evaluator, Rollout, Uniform};
use crate::selfplay::{Generation, Progress, play_generation};
use crate::storage;
use crate::train::Trainer;
use crate::train::loss::Losses;
use crate::train::schedule::learning_rate;

/// The resolved settings, in the run folder.
pub const SETTINGS: &str = "config.toml";
/// One JSON object a line, in the run folder.
pub const METRICS: &str = "metrics.jsonl";
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
    observer: &'a dyn Observer,
    metrics: Metrics,
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
    let _lock = open_folder(config, folder)?;
    let start = checkpoint::latest(folder)?;
    let done = start.as_ref().map_or(0, |checkpoint| checkpoint.manifest.generation);
    let mut trainer = match &start {
        Some(checkpoint) => {
            checkpoint.manifest.game.expect(identity, &checkpoint.path.display().to_string())?;
            checkpoint.trainer(config, &model::training_device())?
        }
        None => {
            let network = Network::new(&config.net, identity.shape, config.seed, &model::training_device());
            Trainer::new(&config.train, network)
        }
    };
    // only now: nothing of a run that was refused above has been touched
    let metrics = Metrics::open(folder, done)?;
    let mut run = Run { game, identity, config, folder, observer, metrics };
    let mut window = Window::new(config.replay.window, identity.shape);
    if let Some(checkpoint) = &start {
        run.restore(&mut window, done)?;
        run.observer.event(Event::Resumed(done, config.train.generations, window.len()));
        run.judge(checkpoint, &trainer, &opponent)?;
    }
    for number in done + 1..=config.train.generations {
        let new = run.play(&trainer, &mut window, number)?;
        run.train(&mut trainer, &window, number, new)?;
        let saved = checkpoint::save(folder, config, identity, number, &trainer)?;
        run.observer.event(Event::Saved(saved.path.clone()));
        run.judge(&saved, &trainer, &opponent)?;
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

/// Makes or checks the run folder and takes its lock, which lasts as long as the file returned.
fn open_folder(config: &Config, folder: &Path) -> Result<File> {
    let settings = folder.join(SETTINGS);
    check_settings(config, folder, &settings)?;
    fs::create_dir_all(folder).map_err(Error::io(folder))?;
    let path = folder.join("lock");
    let lock = File::create(&path).map_err(Error::io(&path))?;
    storage::lock(&lock, folder, "petteia train")?;
    // another process may have made the run while we waited for the lock
    check_settings(config, folder, &settings)?;
    storage::remove_temporaries(folder)?;
    checkpoint::clean(folder)?;
    if !settings.exists() {
        storage::write_whole(&settings, config.to_toml().as_bytes())?;
    }
    Ok(lock)
}

/// Refuses a folder of a run with other settings, and one that holds anything else.
fn check_settings(config: &Config, folder: &Path, settings: &Path) -> Result<()> {
    if settings.exists() {
        let text = String::from_utf8_lossy(&storage::read(settings)?).into_owned();
        let theirs = Config::parse(&settings.display().to_string(), &text, &[])?;
        let differences: Vec<String> = theirs
            .differences(config)
            .into_iter()
            .map(|[key, there, asked]| format!("{key}: {there} / {asked}"))
            .collect();
        if differences.is_empty() {
            return Ok(());
        }
        return Err(Error::Config(format!(
            "{} exists with other settings (there / asked for):\n  {}\n\
             give the same settings to resume it, or another folder with --run DIR",
            folder.display(),
            differences.join("\n  ")
        )));
    }
    if !folder.exists() {
        return Ok(());
    }
    // what a run killed at its very start may have left is no reason to refuse
    let ours = |name: &str| name == "lock" || storage::is_temporary(name);
    let mut entries = fs::read_dir(folder).map_err(Error::io(folder))?.flatten();
    match entries.any(|entry| !ours(&entry.file_name().to_string_lossy())) {
        false => Ok(()),
        true => Err(Error::Config(format!(
            "{} exists and is no run folder (it has no config.toml): give another folder with --run DIR",
            folder.display()
        ))),
    }
}

impl<G: Game> Run<'_, G> {
    /// Reads the newest shards of the generations up to `done` back into the window.
    fn restore(&self, window: &mut Window, done: usize) -> Result<()> {
        let mut newest = Vec::new();
        let mut positions = 0;
        for (_, path) in
            store::list(self.folder)?.into_iter().rev().filter(|(generation, _)| *generation <= done)
        {
            if positions >= self.config.replay.window {
                break;
            }
            match store::read_shard(&path, self.game, self.identity) {
                Ok(records) => {
                    positions +=
                        records.iter().flat_map(|record| &record.visits).filter(|v| !v.is_empty()).count();
                    newest.push(records);
                }
                Err(error @ Error::Data(_)) => self.set_aside(&path, &error)?,
                Err(error) => return Err(error),
            }
        }
        for records in newest.iter().rev() {
            window.push(self.game, self.identity, records)?;
        }
        Ok(())
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
        let bootstrap = number == 1 && settings.bootstrap_games > 0;
        let (games, simulations) = match bootstrap {
            true => (settings.bootstrap_games, settings.bootstrap_simulations),
            false => (settings.games, self.config.search.simulations),
        };
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
        for (_, path) in store::list(self.folder)?.into_iter().filter(|(generation, _)| *generation == number)
        {
            let records = store::read_shard(&path, self.game, self.identity)?;
            for record in &records {
                plies += record.actions.len();
                cut_short += (G::DRAWLESS && record.outcome == Outcome::Draw.id()) as usize;
                outcomes
                    [["first", "second", "draw"].iter().position(|id| *id == record.outcome).unwrap_or(2)] +=
                    1;
            }
            positions += window.push(self.game, self.identity, &records)?;
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

    /// Plays what is missing of a generation; a damaged shard of an interrupted run is played again.
    fn fill<E: Evaluator<G>>(&self, generation: &Generation, evaluator: impl Fn() -> E + Sync) -> Result<()> {
        for (_, path) in store::list(self.folder)?.into_iter().filter(|(of, _)| *of == generation.number) {
            if !store::is_finished(&path) {
                continue;
            }
            match store::read_shard(&path, self.game, self.identity) {
                Ok(_) => {}
                Err(error @ Error::Data(_)) => self.set_aside(&path, &error)?,
                Err(error) => return Err(error),
            }
        }
        play_generation(self.game, generation, self.folder, evaluator, |progress| {
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
                    return Err(Error::Data(format!(
                        "the losses are no numbers any more (step {}): lower train.learning_rate",
                        trainer.step
                    )));
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

/// `metrics.jsonl`: one JSON object a line, appended whole.
struct Metrics {
    path: PathBuf,
    lines: Vec<Value>,
}

impl Metrics {
    /// Opens the file and drops what belongs to generations after `done`, which will be done again.
    fn open(folder: &Path, done: usize) -> Result<Metrics> {
        let path = folder.join(METRICS);
        let mut lines = Vec::new();
        if path.exists() {
            let text = String::from_utf8_lossy(&storage::read(&path)?).into_owned();
            lines.extend(text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()));
            lines.retain(|line| {
                line["generation"].as_u64().is_some_and(|generation| generation as usize <= done)
            });
        }
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        storage::write_whole(&path, text.as_bytes())?;
        Ok(Metrics { path, lines })
    }

    fn write(&mut self, line: Value) -> Result<()> {
        let mut file = File::options().append(true).open(&self.path).map_err(Error::io(&self.path))?;
        file.write_all(format!("{line}\n").as_bytes()).map_err(Error::io(&self.path))?;
        self.lines.push(line);
        Ok(())
    }

    fn line_of(&self, kind: &str, generation: usize) -> Option<&Value> {
        self.lines.iter().rev().find(|line| line["kind"] == kind && line["generation"] == generation)
    }

    /// The self-play games of every generation, the oldest first.
    fn played(&self) -> impl Iterator<Item = Played> {
        let lines = self.lines.iter().filter(|line| line["kind"] == "selfplay");
        lines.filter_map(|line| Played::deserialize(line).ok())
    }

    fn evaluation_of(&self, generation: usize) -> Option<(String, MatchResult)> {
        let line = self.line_of("evaluation", generation)?;
        let result = serde_json::from_value(line["result"].clone()).ok()?;
        Some((line["opponent"].as_str()?.to_string(), result))
    }
}

fn rounded(seconds: f64) -> f64 {
    (seconds * 10.0).round() / 10.0
}

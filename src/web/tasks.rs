//! Work that the editor begins and that takes about a minute: training an agent, or measuring balance. One task runs
//! at a time, on a separate thread; a page asks for its progress and can end it.
//!
//! Only a page for this machine has tasks, because training writes a run. A run whose task is ended is saved as it is
//! and can be continued with `petteia train --run`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Instant;

use super::api::{BalanceInShort, LevelInShort, TaskKind, TaskShown};
use crate::any::{AnyGame, Opened};
use crate::arena::contestant::Contestant;
use crate::arena::spec::AgentSpec;
use crate::balance::words::answer;
use crate::balance::{BalanceProgress, Level, Plan, measure};
use crate::error::{Error, Result};
use crate::game::Game;
use crate::page::{Means, locked};
use crate::random::{Purpose, choose, stream};

/// The most and the fewest simulations of the strongest level in a measurement, which uses random playouts. Each
/// weaker level has 1 / PART of the simulations of the next stronger one.
const STRONGEST: (f64, f64) = (320.0, 8.0);
const PART: usize = 4;
const LEVELS: usize = 3;
/// How long a game of the strongest level may take, in seconds. A canceled task ends only after the games in progress.
const GAME: f64 = 2.0;
/// How long random games are played to find the number of simulations, in seconds.
const TRIAL: f64 = 0.3;
/// How balance is measured: a first look, for a game that is still being written.
const PLAN: Plan =
    Plan { games: 30, most: 120, within: 0.05, varied_plies: None, solver: 1_000_000, seed: 1 };

/// The newest task.
#[derive(Default)]
pub(super) struct WebTasks {
    newest: Mutex<Option<TaskThread>>,
}

/// A task and its thread.
struct TaskThread {
    task: Arc<Task>,
    thread: JoinHandle<()>,
}

/// A task that may be running.
pub(super) struct Task {
    begun: Instant,
    stop: AtomicBool,
    shown: Mutex<TaskShown>,
}

impl WebTasks {
    /// Begins a task about a game, unless one is already running.
    pub(super) fn begin(
        &self,
        kind: TaskKind,
        rules: Opened,
        work: impl FnOnce(&Opened, &Task) -> Result<()> + Send + 'static,
    ) -> Result<TaskShown> {
        let mut newest = locked(&self.newest);
        if let Some(TaskThread { task, .. }) = newest.as_ref().filter(|newest| newest.task.is_at_work()) {
            let title = locked(&task.shown).title.clone();
            return Err(Error::Config(format!(
                "a task for {title} is still running: wait until it ends, or cancel it"
            )));
        }
        let shown = TaskShown {
            kind,
            game: rules.identity.id.clone(),
            title: rules.game.about().title.to_string(),
            state: RUNNING,
            doing: "starting".into(),
            progress: 0.0,
            seconds: 0.0,
            run: None,
            generation: 0,
            agent: None,
            error: None,
            balance: None,
        };
        let task = Task { begun: Instant::now(), stop: AtomicBool::new(false), shown: Mutex::new(shown) };
        let task = Arc::new(task);
        let own = task.clone();
        let thread = std::thread::Builder::new()
            .name("task".into())
            .spawn(move || own.work(|task| work(&rules, task)))
            .map_err(Error::io("a thread"))?;
        let shown = task.shown();
        *newest = Some(TaskThread { task, thread });
        Ok(shown)
    }

    /// Returns the newest task in its present state.
    pub(super) fn newest(&self) -> Option<TaskShown> {
        locked(&self.newest).as_ref().map(|newest| newest.task.shown())
    }

    /// Ends the newest task.
    pub(super) fn cancel(&self) {
        if let Some(TaskThread { task, .. }) = locked(&self.newest).as_ref() {
            task.stop.store(true, Ordering::Relaxed);
        }
    }

    /// Ends the newest task and waits until its results are saved.
    pub(super) fn finish(&self) {
        self.cancel();
        let newest = locked(&self.newest).take();
        // if the task panicked, it has already recorded the panic
        let _ = newest.map(|newest| newest.thread.join());
    }
}

const RUNNING: &str = "running";

impl Task {
    fn is_at_work(&self) -> bool {
        locked(&self.shown).state == RUNNING
    }

    /// Returns whether the task was canceled.
    pub(super) fn is_canceled(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub(super) fn seconds(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }

    /// Changes what is shown of the task.
    pub(super) fn show(&self, change: impl FnOnce(&mut TaskShown)) {
        change(&mut locked(&self.shown));
    }

    fn shown(&self) -> TaskShown {
        let mut shown = locked(&self.shown);
        if shown.state == RUNNING {
            shown.seconds = self.seconds();
        }
        shown.clone()
    }

    fn work(&self, work: impl FnOnce(&Task) -> Result<()>) {
        let result = catch_unwind(AssertUnwindSafe(|| work(self)))
            .unwrap_or_else(|_| Err(Error::Data("the program failed; its terminal shows the reason".into())));
        self.show(|shown| {
            shown.seconds = self.seconds();
            (shown.state, shown.error) = match result {
                Ok(()) => ("finished", None),
                Err(Error::Interrupted) => ("canceled", None),
                Err(error) => ("failed", Some(error.to_string())),
            };
        });
    }
}

/// Returns the number of simulations of each level, for as many levels as there is time for in this game, the weakest
/// level first.
fn levels(game: &AnyGame) -> Vec<usize> {
    let (start, mut random, mut playouts, mut plies) = (Instant::now(), stream(0, Purpose::Start, &[]), 0, 0);
    let mut legal = Vec::new();
    while playouts == 0 || start.elapsed().as_secs_f64() < TRIAL {
        let mut state = game.initial();
        loop {
            game.legal_actions(&state, &mut legal);
            if legal.is_empty() {
                break;
            }
            game.play(&mut state, choose(&mut random, &legal));
            plies += 1;
        }
        playouts += 1;
    }
    let (playouts, seconds) = (f64::from(playouts), start.elapsed().as_secs_f64());
    // playouts take less time as the game proceeds
    let of_simulation = seconds / playouts / 2.0 * (f64::from(plies) / playouts);
    let (maximum, minimum) = STRONGEST;
    let strongest = (GAME / of_simulation.max(1e-9)).clamp(minimum, maximum) as usize;
    let mut levels: Vec<usize> =
        (0..LEVELS as u32).rev().map(|below| (strongest / PART.pow(below)).max(1)).collect();
    levels.dedup();
    levels
}

/// Measures balance with a small budget.
pub(super) fn balance(rules: &Opened, means: &Means, task: &Task) -> Result<()> {
    let level = |simulations: usize| {
        let spec = AgentSpec::Rollout(simulations);
        let contestant = Contestant::on(rules, &spec, &means.processor)?;
        Ok(Level { name: spec.to_string(), is_expert: false, contestant })
    };
    let levels = levels(&rules.game).into_iter().map(level).collect::<Result<Vec<_>>>()?;
    let tick = |BalanceProgress { what, done, all }: BalanceProgress| {
        task.show(|shown| {
            shown.progress = done as f64 / all.max(1) as f64;
            shown.doing = if all > 1 { format!("{what}: {done} of {all}") } else { what.into() };
        });
        !task.is_canceled()
    };
    let balance = measure(rules, &levels, &PLAN, &tick)?;
    let levels = balance.levels.iter().map(|level| LevelInShort {
        name: level.name.clone(),
        games: level.games,
        score: level.first_score,
        draws: level.draws,
        length: level.character.length,
    });
    let answer = answer(&balance).ok_or_else(|| Error::Data("no games were played".into()))?;
    let short = BalanceInShort { answer, levels: levels.collect() };
    task.show(|shown| shown.balance = Some(short));
    Ok(())
}

#[cfg(feature = "train")]
pub(super) mod training {
    //! Training an agent for a minute.

    use std::path::Path;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::Task;
    use crate::any::Opened;
    use crate::config::Config;
    use crate::error::{Error, Result};
    use crate::game::Game;
    use crate::memory;
    use crate::page::Means;
    use crate::run::{self, Event, Observer};
    use crate::web::keys::key_of;
    use crate::web::runs::ShownRuns;

    /// How long training may take, in seconds, and how long it may take until the first checkpoint.
    const MINUTE: f64 = 60.0;
    const LONGEST: f64 = 600.0;
    /// The approximate number of positions in a generation: a few seconds of play on any computer.
    const POSITIONS: f64 = 1500.0;
    const FEWEST_GAMES: usize = 16;
    const GENERATIONS: usize = 60;
    const SIMULATIONS: usize = 32;

    /// Returns the settings of a one-minute run: those that suit the game, with a small network and short generations.
    fn settings(rules: &Opened, means: &Means) -> Config {
        let (mut config, nature) = run::suited(rules);
        let games = ((POSITIONS / nature.plies.max(1.0)) as usize / 2 * 2).max(FEWEST_GAMES);
        (config.net.filters, config.net.blocks) = (16, 2);
        config.net.device = means.processor.kind();
        config.search.simulations = config.search.simulations.min(SIMULATIONS);
        config.selfplay.games = games.min(config.selfplay.games);
        config.selfplay.bootstrap_games = games.min(config.selfplay.bootstrap_games);
        config.train.generations = GENERATIONS;
        config.train.warmup_steps = 20;
        // the user finds out how strong the agent is
        (config.arena.games, config.arena.final_games, config.arena.ladder_games) = (0, 0, 0);
        config
    }

    /// Trains an agent in `folder`.
    pub(in crate::web) fn train(
        rules: &Opened,
        folder: &Path,
        runs: &ShownRuns,
        means: &Means,
        task: &Task,
    ) -> Result<()> {
        let config = settings(rules, means);
        memory::check_run(&config, rules.game.shape(), rayon::current_num_threads())?;
        let watching = Watching { task, runs, folder, saved: AtomicUsize::new(0) };
        match run::train(rules, &config, folder, &watching) {
            Err(Error::Interrupted) if !task.is_canceled() => Ok(()),
            result => result.map(|_| ()),
        }
    }

    /// Shows the run's progress, and ends it after a minute.
    struct Watching<'a> {
        task: &'a Task,
        runs: &'a ShownRuns,
        folder: &'a Path,
        /// The newest generation with a checkpoint.
        saved: AtomicUsize,
    }

    impl Watching<'_> {
        fn doing(&self, what: &str) {
            let generation = self.saved.load(Ordering::Relaxed) + 1;
            self.task.show(|shown| {
                shown.doing = format!("generation {generation}: {what}");
                shown.progress = (self.task.seconds() / MINUTE).min(1.0);
            });
        }
    }

    impl Observer for Watching<'_> {
        fn event(&self, event: Event) {
            match event {
                Event::Generation { .. } | Event::Selfplay(_) => self.doing("playing"),
                Event::Step { .. } | Event::Training { .. } => self.doing("learning"),
                Event::Saved(_) => {
                    let generation = self.saved.fetch_add(1, Ordering::Relaxed) + 1;
                    self.task.show(|shown| {
                        shown.generation = generation;
                        shown.agent = shown.run.map(|run| key_of(run, generation));
                    });
                }
                _ => {}
            }
            if run::is_run(self.folder) {
                let run = self.runs.number_of(self.folder);
                self.task.show(|shown| shown.run = Some(run));
            }
        }

        fn interrupted(&self) -> bool {
            let seconds = self.task.seconds();
            let is_over = seconds > MINUTE && self.saved.load(Ordering::Relaxed) > 0;
            is_over || seconds > LONGEST || self.task.is_canceled()
        }
    }
}

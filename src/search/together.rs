//! Runs many searches whose leaves are evaluated in common batches: self-play games, match games, positions to judge.
//!
//! A [`Task`] needs searches, one after another. [`work_off`] keeps many tasks in flight, arranged to suit the
//! evaluator ([`InFlight`]). With an evaluator that computes on the calling thread, each thread has its own tasks and
//! its own evaluator: the tasks advance in turn until each waits for an evaluation, and these evaluations are then
//! requested together. A GPU gets larger batches and leaves the threads free in the meantime: one half of the tasks is
//! evaluated while all threads advance the other half. If there are many tasks, there are two pairs of halves, so that
//! the next batch is ready when a batch is done. Evaluators give a request the same answer in every batch, so each task
//! ends as it would alone.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rayon::prelude::*;

use super::Search;
use super::evaluator::{Evaluations, Evaluator, Request, evaluate, recycle};
use crate::error::{Error, Result};
use crate::game::Game;
use crate::parallel;

/// The maximum number of tasks in flight on one thread. A batch has the leaves of all tasks that wait for the same
/// evaluator.
const MOST: usize = 32;
/// The maximum number of simulations of all searches in flight on one thread. If the trees did not fit into the
/// processor's cache, they would cost more time than batches save.
const SIMULATIONS: usize = 4096;
/// The maximum number of simulations of all searches in flight for a GPU; their trees take less than a gigabyte.
const SIMULATIONS_IN_HALVES: usize = 1 << 20;

/// The longest time between two checks of whether to go on. The end of a task also leads to a check.
const PATIENCE: Duration = Duration::from_millis(5);

/// The number of tasks in flight, and their arrangement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InFlight {
    /// This many tasks on each thread, at least 1.
    OnEachThread(usize),
    /// Two halves of this many tasks each, at least 1: one half is evaluated while all threads advance the other.
    InHalves(usize),
    /// Two pairs of halves of this many tasks each, and an evaluator for each pair: the next batch is ready when a
    /// batch is done.
    InPairs(usize),
}

impl InFlight {
    /// Returns the arrangement for `tasks` tasks whose searches have `simulations` simulations each, with evaluators
    /// that [want](Evaluator::batch) `batch` positions in one batch.
    pub fn of(tasks: usize, simulations: usize, batch: usize) -> InFlight {
        let simulations = simulations.max(1);
        match batch {
            0 | 1 => {
                let a_thread = tasks.div_ceil(rayon::current_num_threads());
                InFlight::OnEachThread(a_thread.min(MOST).min(SIMULATIONS / simulations).max(1))
            }
            _ => {
                let room = SIMULATIONS_IN_HALVES / simulations;
                // two threads may wait for evaluations, and a third one goes on
                if tasks.min(room) / 4 >= batch && rayon::current_num_threads() > 2 {
                    InFlight::InPairs(batch)
                } else {
                    InFlight::InHalves(tasks.div_ceil(2).min(batch).min(room / 2).max(1))
                }
            }
        }
    }

    /// Returns whether each thread has a single task, which gains nothing by being in flight.
    pub(crate) fn is_single(self) -> bool {
        self == InFlight::OnEachThread(1)
    }
}

/// Something that needs searches.
pub(crate) trait Task<G: Game>: Send {
    /// Advances until the task's [search](Task::search) has [requests](Search::requests), and returns the number of the
    /// evaluator that they are for. Returns `None` once the task is finished.
    ///
    /// # Errors
    /// If the task cannot advance.
    fn advance(&mut self) -> Result<Option<usize>>;

    /// Returns the search that has the requests.
    fn search(&self) -> &Search<G>;

    /// Returns the search so that it can take the evaluations.
    fn search_mut(&mut self) -> &mut Search<G>;
}

/// The source of all tasks; any thread may call its methods at any time.
pub(crate) trait Tasks<G: Game>: Sync {
    /// The kind of the tasks.
    type Task: Task<G>;

    /// Returns the next task, or `None` if no more should begin.
    ///
    /// # Errors
    /// If the task cannot begin.
    fn next(&self) -> Result<Option<Self::Task>>;

    /// Takes back a finished task.
    ///
    /// # Errors
    /// If the result cannot be kept.
    fn finished(&self, task: Self::Task) -> Result<()>;

    /// Returns whether to go on; if not, the tasks in flight are dropped.
    ///
    /// # Errors
    /// If no thread should go on; the error is the reason.
    fn goes_on(&self) -> Result<bool>;

    /// Makes evaluator `number` for one thread.
    fn evaluator(&self, number: usize) -> Box<dyn Evaluator<G> + '_>;

    /// Receives the tasks that wait for a batch, before it is evaluated, to count what they did.
    fn advanced<'t>(&self, _waiting: impl Iterator<Item = &'t mut Self::Task>)
    where
        Self::Task: 't,
    {
    }

    /// Receives each batch that was evaluated.
    fn evaluated(&self, _batch: Batch) {}
}

/// A batch that an evaluator has answered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Batch {
    /// The requests.
    pub requests: usize,
    /// The number of requests answered from a cache.
    pub hits: usize,
    /// The number of requests that the evaluator [wants](Evaluator::batch) together.
    pub wanted: usize,
    /// The time that the evaluator took.
    pub busy: Duration,
}

/// Works on the tasks on all threads until all are finished or [`Tasks::goes_on`] returns false.
///
/// # Errors
/// If a task, an evaluator, or `tasks` fails. After an error, no thread continues.
pub(crate) fn work_off<G: Game>(tasks: &impl Tasks<G>, in_flight: InFlight) -> Result<()> {
    let failed = AtomicBool::new(false);
    let ended = |result: Result<()>| result.inspect_err(|_| failed.store(true, Ordering::Relaxed));
    let halves = |limit| ended(in_halves(tasks, limit, &mut Evaluators(Vec::new()), &failed));
    match in_flight {
        InFlight::OnEachThread(limit) => parallel::each(rayon::current_num_threads(), &|_| {
            ended(on_one_thread(tasks, limit, &mut Evaluators(Vec::new()), &failed))
        }),
        InFlight::InHalves(limit) => halves(limit),
        InFlight::InPairs(limit) => parallel::each(2, &|_| halves(limit)),
    }
}

/// Does the same as [`work_off`] with tasks that ask only for evaluator 0, which exists already. The tasks run on this
/// thread or, if in halves, on all threads.
///
/// # Errors
/// As for [`work_off`].
pub(crate) fn work_off_with<'e, G: Game, T: Tasks<G>>(
    tasks: &'e T,
    in_flight: InFlight,
    evaluator: Box<dyn Evaluator<G> + 'e>,
) -> Result<()> {
    let (mut evaluators, failed) = (Evaluators(vec![Some(evaluator)]), AtomicBool::new(false));
    match in_flight {
        InFlight::OnEachThread(limit) => on_one_thread(tasks, limit, &mut evaluators, &failed),
        InFlight::InHalves(limit) | InFlight::InPairs(limit) => {
            in_halves(tasks, limit, &mut evaluators, &failed)
        }
    }
}

fn on_one_thread<'e, G: Game, T: Tasks<G>>(
    tasks: &'e T,
    limit: usize,
    evaluators: &mut Evaluators<'e, G>,
    failed: &AtomicBool,
) -> Result<()> {
    let mut group = Group::new();
    let mut last_check: Option<Instant> = None;
    loop {
        if last_check.is_none_or(|last_check| last_check.elapsed() >= PATIENCE) {
            if failed.load(Ordering::Relaxed) || !tasks.goes_on()? {
                return Ok(());
            }
            last_check = Some(Instant::now());
        }
        if group.begin(tasks, limit, false)? > 0 {
            last_check = None;
            continue;
        }
        if group.waiting.is_empty() {
            return Ok(());
        }
        group.evaluate(tasks, evaluators)?;
        if group.go_on(tasks, false)? > 0 {
            last_check = None;
        }
    }
}

fn in_halves<'e, G: Game, T: Tasks<G>>(
    tasks: &'e T,
    limit: usize,
    evaluators: &mut Evaluators<'e, G>,
    failed: &AtomicBool,
) -> Result<()> {
    let [mut waiting, mut moving] = [Group::new(), Group::new()];
    while !failed.load(Ordering::Relaxed) && tasks.goes_on()? {
        if waiting.is_done() && moving.is_done() {
            return Ok(());
        }
        let (mut evaluated, mut moved) = (Ok(()), Ok(0));
        parallel::both(&mut || evaluated = waiting.evaluate(tasks, evaluators), &mut || {
            moved = moving.go_on(tasks, true).and_then(|_| moving.begin(tasks, limit, true));
        });
        evaluated?;
        moved?;
        std::mem::swap(&mut waiting, &mut moving);
    }
    Ok(())
}

/// Works off tasks that are numbered from 0 to `count` - 1: `begin` makes a task, and `end` returns its result. The
/// results are in the order of the tasks. `tick` gets the number of finished tasks and returns whether to go on.
///
/// # Errors
/// If a task or an evaluator fails, or, with [`Error::Interrupted`], if `tick` returns false.
pub(crate) fn map<G: Game, T: Task<G> + Send, R: Send>(
    count: usize,
    in_flight: InFlight,
    begin: impl Fn(usize) -> Result<T> + Sync,
    end: impl Fn(T) -> R + Sync,
    evaluator: impl Fn(usize) -> Box<dyn Evaluator<G>> + Sync,
    tick: &(dyn Fn(usize) -> bool + Sync),
) -> Result<Vec<R>> {
    let (begun, results) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(count)));
    let tasks = Numbered { count, begun, begin, end, evaluator, tick, results };
    work_off(&tasks, in_flight)?;
    let mut results = tasks.results.into_inner().expect("no panic while working");
    results.sort_unstable_by_key(|(number, _)| *number);
    Ok(results.into_iter().map(|(_, result)| result).collect())
}

/// The tasks of [`map`].
struct Numbered<'a, B, D, E, R> {
    count: usize,
    begun: AtomicUsize,
    begin: B,
    end: D,
    evaluator: E,
    tick: &'a (dyn Fn(usize) -> bool + Sync),
    results: Mutex<Vec<(usize, R)>>,
}

impl<G, T, R, B, D, E> Tasks<G> for Numbered<'_, B, D, E, R>
where
    G: Game,
    T: Task<G>,
    R: Send,
    B: Fn(usize) -> Result<T> + Sync,
    D: Fn(T) -> R + Sync,
    E: Fn(usize) -> Box<dyn Evaluator<G>> + Sync,
{
    type Task = (usize, T);

    fn next(&self) -> Result<Option<(usize, T)>> {
        let number = self.begun.fetch_add(1, Ordering::Relaxed);
        let task = (number < self.count).then(|| (self.begin)(number)).transpose()?;
        Ok(task.map(|task| (number, task)))
    }

    fn finished(&self, (number, task): (usize, T)) -> Result<()> {
        let result = (self.end)(task);
        self.results.lock().expect("no panic while working").push((number, result));
        Ok(())
    }

    fn goes_on(&self) -> Result<bool> {
        let finished = self.results.lock().expect("no panic while working").len();
        if (self.tick)(finished) { Ok(true) } else { Err(Error::Interrupted) }
    }

    fn evaluator(&self, number: usize) -> Box<dyn Evaluator<G> + '_> {
        (self.evaluator)(number)
    }
}

impl<G: Game, T: Task<G>> Task<G> for (usize, T) {
    fn advance(&mut self) -> Result<Option<usize>> {
        self.1.advance()
    }

    fn search(&self) -> &Search<G> {
        self.1.search()
    }

    fn search_mut(&mut self) -> &mut Search<G> {
        self.1.search_mut()
    }
}

/// The evaluators of one thread, by number; each is made when it is first needed.
struct Evaluators<'e, G: Game>(Vec<Option<Box<dyn Evaluator<G> + 'e>>>);

impl<'e, G: Game> Evaluators<'e, G> {
    fn get(&mut self, number: usize, tasks: &'e impl Tasks<G>) -> &mut (dyn Evaluator<G> + 'e) {
        if self.0.len() <= number {
            self.0.resize_with(number + 1, || None);
        }
        &mut **self.0[number].get_or_insert_with(|| tasks.evaluator(number))
    }
}

/// Tasks whose leaves are evaluated together.
struct Group<G: Game, T> {
    /// The waiting tasks, each with the number of the evaluator that it waits for.
    waiting: Vec<(T, usize)>,
    /// Whether there may be tasks that have not begun.
    more: bool,
    /// Reused memory.
    going: Vec<(T, usize)>,
    needs: Vec<Result<Option<usize>>>,
    answers: Evaluations,
    spare: Vec<Request<'static, G>>,
}

impl<G: Game, T: Task<G>> Group<G, T> {
    fn new() -> Group<G, T> {
        Group {
            waiting: Vec::new(),
            more: true,
            going: Vec::new(),
            needs: Vec::new(),
            answers: Evaluations::new(),
            spare: Vec::new(),
        }
    }

    /// Returns whether no task waits and none is left to begin.
    fn is_done(&self) -> bool {
        self.waiting.is_empty() && !self.more
    }

    /// Begins tasks until `limit` of them wait, or none is left; returns how many were finished at once.
    fn begin(
        &mut self,
        tasks: &impl Tasks<G, Task = T>,
        limit: usize,
        on_all_threads: bool,
    ) -> Result<usize> {
        while self.more && self.waiting.len() + self.going.len() < limit {
            match tasks.next()? {
                Some(task) => self.going.push((task, 0)),
                None => self.more = false,
            }
        }
        self.advance(tasks, on_all_threads)
    }

    /// Advances each task until it waits again or is finished; returns how many were finished.
    fn go_on(&mut self, tasks: &impl Tasks<G, Task = T>, on_all_threads: bool) -> Result<usize> {
        std::mem::swap(&mut self.waiting, &mut self.going);
        self.advance(tasks, on_all_threads)
    }

    /// Advances each task in `going` until it waits or ends; returns how many were finished.
    fn advance(&mut self, tasks: &impl Tasks<G, Task = T>, on_all_threads: bool) -> Result<usize> {
        if on_all_threads {
            self.going.par_iter_mut().map(|(task, _)| task.advance()).collect_into_vec(&mut self.needs);
        } else {
            self.needs.extend(self.going.iter_mut().map(|(task, _)| task.advance()))
        }
        let before = self.waiting.len() + self.going.len();
        for ((task, _), need) in self.going.drain(..).zip(self.needs.drain(..)) {
            match need? {
                Some(evaluator) => self.waiting.push((task, evaluator)),
                None => tasks.finished(task)?,
            }
        }
        Ok(before - self.waiting.len())
    }

    /// Evaluates the leaves that the tasks wait for: a batch for each evaluator.
    fn evaluate<'e, S: Tasks<G, Task = T>>(
        &mut self,
        tasks: &'e S,
        evaluators: &mut Evaluators<'e, G>,
    ) -> Result<()> {
        tasks.advanced(self.waiting.iter_mut().map(|(task, _)| task));
        let count = self.waiting.iter().map(|(_, evaluator)| evaluator + 1).max().unwrap_or(0);
        (0..count).try_for_each(|number| self.evaluate_by(number, tasks, evaluators))
    }

    /// Evaluates the leaves of the tasks that wait for evaluator `number`.
    fn evaluate_by<'e, S: Tasks<G, Task = T>>(
        &mut self,
        number: usize,
        tasks: &'e S,
        evaluators: &mut Evaluators<'e, G>,
    ) -> Result<()> {
        let mut requests = recycle(std::mem::take(&mut self.spare));
        let asking = self.waiting.iter().filter(|(_, evaluator)| *evaluator == number);
        requests.extend(asking.flat_map(|(task, _)| task.search().requests()));
        if !requests.is_empty() {
            let evaluator = evaluators.get(number, tasks);
            let (hits, start) = (evaluator.hits(), Instant::now());
            evaluate(evaluator, &requests, &mut self.answers)?;
            tasks.evaluated(Batch {
                requests: requests.len(),
                hits: evaluator.hits() - hits,
                wanted: evaluator.batch(),
                busy: start.elapsed(),
            });
            self.spare = recycle(requests);
            let mut answers = self.answers.rows();
            let asking = self.waiting.iter_mut().filter(|(_, evaluator)| *evaluator == number);
            asking.for_each(|(task, _)| task.search_mut().apply_round(&mut answers));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_searches_are_made_one_by_one() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let on_each_thread = |tasks, simulations| match InFlight::of(tasks, simulations, 1) {
            InFlight::OnEachThread(limit) => limit,
            InFlight::InHalves(_) | InFlight::InPairs(_) => panic!("nothing wants batches"),
        };
        pool.install(|| {
            let searching = [1, 100, 128, 400, 1600, 4096, 5000, 1_000_000];
            let limits = searching.map(|simulations| on_each_thread(200, simulations));
            assert_eq!(limits, [32, 32, 32, 10, 2, 1, 1, 1]);
            // no thread is left without work
            assert_eq!([0, 1, 2, 3, 20].map(|tasks| on_each_thread(tasks, 100)), [1, 1, 1, 2, 10]);
        });
    }

    #[test]
    fn halves_fill_the_batches_of_a_gpu() {
        let halves = |tasks, simulations| InFlight::of(tasks, simulations, 1024);
        let threads = |number| rayon::ThreadPoolBuilder::new().num_threads(number).build().unwrap();
        threads(2).install(|| {
            assert_eq!(halves(5000, 100), InFlight::InHalves(1024));
            assert_eq!(halves(200, 100), InFlight::InHalves(100), "no half is left without work");
            assert_eq!(halves(5000, 5000), InFlight::InHalves(104), "and trees have their limit");
            assert_eq!([halves(0, 0), halves(1, 10_000_000)], [InFlight::InHalves(1); 2]);
        });
        threads(3).install(|| {
            assert_eq!([halves(4096, 100), halves(4096, 256)], [InFlight::InPairs(1024); 2]);
            assert_eq!([halves(4095, 100), halves(4096, 257)], [InFlight::InHalves(1024); 2]);
            assert_eq!(halves(5000, 5000), InFlight::InHalves(104));
        });
    }
}

//! Many searches whose leaves are evaluated in common batches.
//!
//! A [`Task`] is what needs searches, one after the other: a game between agents, or a position to judge. [`work_off`]
//! has many of them on their way on each thread. They go on in turn until each waits for evaluations, and these are
//! asked for together, one batch for each evaluator. Evaluators answer a request alike in every batch, so each task
//! ends as it would on its own.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::Search;
use super::evaluator::{Evaluations, Evaluator, Request, evaluate, recycle};
use crate::error::{Error, Result};
use crate::game::Game;
use crate::parallel;

/// The most tasks on their way on one thread; a batch has the leaves of those that wait for the same evaluator.
const MOST: usize = 32;
/// Simulations of all searches that are on their way on one thread. More trees than the processor's cache holds cost
/// more than batches gain, and large trees need memory.
const SIMULATIONS: usize = 4096;

/// The longest time between two questions whether to go on; the end of a task is another occasion.
const PATIENCE: Duration = Duration::from_millis(5);

/// How many of `tasks` to have on their way on one thread if each searches this many simulations.
pub fn at_once(tasks: usize, simulations: usize) -> usize {
    let a_thread = tasks.div_ceil(rayon::current_num_threads());
    a_thread.min(MOST).min(SIMULATIONS / simulations.max(1)).max(1)
}

/// Something that needs searches.
pub trait Task<G: Game> {
    /// Goes on until its [search](Task::search) has a [round](Search::next_round) of leaves for the evaluator of this
    /// number; `None` once the task is finished.
    ///
    /// # Errors
    /// The task cannot go on.
    fn advance(&mut self) -> Result<Option<usize>>;

    /// The search that has the round.
    fn search(&self) -> &Search<G>;

    /// The search, to give it the evaluations.
    fn search_mut(&mut self) -> &mut Search<G>;
}

/// All tasks; any thread may call it at any time.
pub trait Tasks<G: Game>: Sync {
    /// The kind of the tasks.
    type Task: Task<G>;

    /// The next task; `None` if no more is to begin.
    ///
    /// # Errors
    /// The task cannot begin.
    fn next(&self) -> Result<Option<Self::Task>>;

    /// Takes a finished task back.
    ///
    /// # Errors
    /// The result cannot be kept.
    fn finished(&self, task: Self::Task) -> Result<()>;

    /// Whether to go on, or to drop the tasks on their way.
    ///
    /// # Errors
    /// The reason why no thread goes on.
    fn goes_on(&self) -> Result<bool>;

    /// Makes the evaluator of this number for one thread.
    fn evaluator(&self, number: usize) -> Box<dyn Evaluator<G>>;
}

/// Works on all threads until all tasks are finished, or are no longer to go on. At most `most`, at least 1, are on
/// their way on a thread.
///
/// # Errors
/// The error of a task, of an evaluator, or of `tasks`; then no thread goes on.
pub fn work_off<G: Game>(tasks: &impl Tasks<G>, most: usize) -> Result<()> {
    let failed = AtomicBool::new(false);
    let on_one_thread = || -> Result<()> {
        let (mut together, mut finished) = (Together::new(), Vec::new());
        let (mut more, mut asked): (bool, Option<Instant>) = (true, None);
        loop {
            if asked.is_none_or(|asked| asked.elapsed() >= PATIENCE) {
                if failed.load(Ordering::Relaxed) || !tasks.goes_on()? {
                    return Ok(());
                }
                asked = Some(Instant::now());
            }
            // a task that needs no evaluation is finished as soon as it begins
            while more && together.waiting.len() + finished.len() < most {
                match tasks.next()? {
                    Some(task) => together.go_on(task, &mut finished)?,
                    None => more = false,
                }
            }
            if together.waiting.is_empty() && finished.is_empty() {
                return Ok(());
            }
            together.step(tasks, &mut finished)?;
            if !finished.is_empty() {
                finished.drain(..).try_for_each(|task| tasks.finished(task))?;
                asked = None;
            }
        }
    };
    parallel::each(rayon::current_num_threads(), &|_| {
        on_one_thread().inspect_err(|_| failed.store(true, Ordering::Relaxed))
    })
}

/// Works off tasks that have numbers, from 0 to `count` - 1: `begin` makes one, `end` says what came out. The results
/// are in their order. `tick` gets the number of finished tasks and says whether to go on.
///
/// # Errors
/// The error of a task or an evaluator; [`Error::Interrupted`] if `tick` says so.
pub fn map<G: Game, T: Task<G> + Send, R: Send>(
    count: usize,
    most: usize,
    begin: impl Fn(usize) -> Result<T> + Sync,
    end: impl Fn(T) -> R + Sync,
    evaluator: impl Fn(usize) -> Box<dyn Evaluator<G>> + Sync,
    tick: &(dyn Fn(usize) -> bool + Sync),
) -> Result<Vec<R>> {
    let (begun, results) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(count)));
    let tasks = Numbered { count, begun, begin, end, evaluator, tick, results };
    work_off(&tasks, most)?;
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

    fn evaluator(&self, number: usize) -> Box<dyn Evaluator<G>> {
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

/// The tasks of one thread.
struct Together<G: Game, T> {
    /// By their numbers, made when they are first asked.
    evaluators: Vec<Option<Box<dyn Evaluator<G>>>>,
    /// Each with the number of the evaluator that it waits for.
    waiting: Vec<(T, usize)>,
    /// Reused memory.
    waited: Vec<(T, usize)>,
    answers: Evaluations,
    spare: Vec<Request<'static, G>>,
}

impl<G: Game, T: Task<G>> Together<G, T> {
    fn new() -> Together<G, T> {
        Together {
            evaluators: Vec::new(),
            waiting: Vec::new(),
            waited: Vec::new(),
            answers: Evaluations::new(),
            spare: Vec::new(),
        }
    }

    /// Goes on with a task, which then waits or is finished.
    fn go_on(&mut self, mut task: T, finished: &mut Vec<T>) -> Result<()> {
        match task.advance()? {
            None => finished.push(task),
            Some(evaluator) => self.waiting.push((task, evaluator)),
        }
        Ok(())
    }

    /// Evaluates the leaves that the tasks wait for, and goes on with each of them.
    fn step(&mut self, tasks: &impl Tasks<G, Task = T>, finished: &mut Vec<T>) -> Result<()> {
        let evaluators = self.waiting.iter().map(|(_, evaluator)| evaluator + 1).max().unwrap_or(0);
        if self.evaluators.len() < evaluators {
            self.evaluators.resize_with(evaluators, || None);
        }
        for number in 0..evaluators {
            self.evaluate(number, tasks)?;
        }
        let mut waited = std::mem::take(&mut self.waited);
        std::mem::swap(&mut waited, &mut self.waiting);
        waited.drain(..).try_for_each(|(task, _)| self.go_on(task, finished))?;
        self.waited = waited;
        Ok(())
    }

    /// Evaluates what waits for evaluator `number`.
    fn evaluate(&mut self, number: usize, tasks: &impl Tasks<G, Task = T>) -> Result<()> {
        let mut requests = recycle(std::mem::take(&mut self.spare));
        let asking = self.waiting.iter().filter(|(_, evaluator)| *evaluator == number);
        requests.extend(asking.flat_map(|(task, _)| task.search().requests()));
        if !requests.is_empty() {
            let evaluator = self.evaluators[number].get_or_insert_with(|| tasks.evaluator(number));
            evaluate(evaluator, &requests, &mut self.answers)?;
        }
        self.spare = recycle(requests);
        let mut answers = self.answers.rows();
        let asking = self.waiting.iter_mut().filter(|(_, evaluator)| *evaluator == number);
        asking.for_each(|(task, _)| task.search_mut().apply_round(&mut answers));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_searches_are_made_one_by_one() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        pool.install(|| {
            assert_eq!([1, 100, 128, 400, 1600, 4096].map(|size| at_once(200, size)), [32, 32, 32, 10, 2, 1]);
            assert_eq!([5000, 1_000_000].map(|size| at_once(200, size)), [1, 1]);
            // no thread is left without work
            assert_eq!([0, 1, 2, 3, 20].map(|tasks| at_once(tasks, 100)), [1, 1, 1, 2, 10]);
        });
    }
}

//! Many searches whose leaves are evaluated in common batches.
//!
//! A [`Task`] is what needs searches, one after the other: a game between agents, or a position to judge. [`work_off`] has
//! many of them on their way on each thread. They go on in turn until each waits for evaluations, and these are asked for
//! together, one batch for each evaluator. Evaluators answer a request alike in every batch, so each task ends as it would
//! on its own.

use std::sync::atomic::{AtomicBool, Ordering};

use super::Search;
use super::evaluator::{Evaluations, Evaluator, Request, evaluate, recycle};
use crate::error::Result;
use crate::game::Game;
use crate::parallel;

/// The most tasks on their way on one thread; a batch has the leaves of those that wait for the same evaluator.
pub const MOST: usize = 32;

/// Something that needs searches.
pub trait Task<G: Game> {
    /// Goes on until its [search](Task::search) has a [round](Search::next_round) of leaves for the evaluator of this
    /// number; `None` once the task is finished.
    ///
    /// # Errors
    /// The task cannot go on.
    fn advance(&mut self) -> Result<Option<usize>>;

    /// The search that has the round.
    fn search(&mut self) -> &mut Search<G>;
}

/// All tasks; any thread may call it at any time.
pub trait Tasks<G: Game>: Sync {
    /// What is to be done.
    type Task: Task<G>;

    /// The next task; `None` if no more is to begin.
    ///
    /// # Errors
    /// The task cannot begin.
    fn next(&self) -> Result<Option<Self::Task>>;

    /// Takes a finished task back.
    ///
    /// # Errors
    /// What came out cannot be kept.
    fn finished(&self, task: Self::Task) -> Result<()>;

    /// Whether to go on, or to drop the tasks on their way.
    ///
    /// # Errors
    /// What happened in the meantime.
    fn goes_on(&self) -> Result<bool>;

    /// Makes the evaluator of this number for one thread.
    fn evaluator(&self, number: usize) -> Box<dyn Evaluator<G>>;
}

/// Works on all threads until all tasks are finished, or are no longer to go on. At most `most` are on their way on a thread.
///
/// # Errors
/// That of a task, of an evaluator, or of `tasks`; then no thread goes on.
pub fn work_off<G: Game>(tasks: &impl Tasks<G>, most: usize) -> Result<()> {
    let failed = AtomicBool::new(false);
    let on_one_thread = || -> Result<()> {
        let (mut together, mut finished) = (Together::new(), Vec::new());
        while !failed.load(Ordering::Relaxed) && tasks.goes_on()? {
            // a task that needs no evaluation is finished as soon as it begins
            while together.waiting.len() + finished.len() < most.max(1)
                && let Some(task) = tasks.next()?
            {
                together.go_on(task, &mut finished)?;
            }
            if together.waiting.is_empty() && finished.is_empty() {
                return Ok(());
            }
            together.step(tasks, &mut finished)?;
            finished.drain(..).try_for_each(|task| tasks.finished(task))?;
        }
        Ok(())
    };
    parallel::each(rayon::current_num_threads(), &|_| {
        on_one_thread().inspect_err(|_| failed.store(true, Ordering::Relaxed))
    })
}

/// The tasks of one thread.
struct Together<G: Game, T> {
    /// By their numbers, made when they are first asked.
    evaluators: Vec<Option<Box<dyn Evaluator<G>>>>,
    /// Each with the number of the evaluator that it waits for.
    waiting: Vec<(T, usize)>,
    answers: Evaluations,
    spare: Vec<Request<'static, G>>,
}

impl<G: Game, T: Task<G>> Together<G, T> {
    fn new() -> Together<G, T> {
        Together {
            evaluators: Vec::new(),
            waiting: Vec::new(),
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
        let waited = std::mem::take(&mut self.waiting);
        waited.into_iter().try_for_each(|(task, _)| self.go_on(task, finished))
    }

    /// Evaluates what waits for evaluator `number`.
    fn evaluate(&mut self, number: usize, tasks: &impl Tasks<G, Task = T>) -> Result<()> {
        let asking = self.waiting.iter_mut().filter(|(_, evaluator)| *evaluator == number);
        let mut searches: Vec<&mut Search<G>> = asking.map(|(task, _)| task.search()).collect();
        if searches.is_empty() {
            return Ok(());
        }
        let mut requests = recycle(std::mem::take(&mut self.spare));
        requests.extend(searches.iter().flat_map(|search| search.requests()));
        let evaluator = self.evaluators[number].get_or_insert_with(|| tasks.evaluator(number));
        evaluate(evaluator, &requests, &mut self.answers)?;
        self.spare = recycle(requests);
        let mut answers = self.answers.rows();
        searches.iter_mut().for_each(|search| search.apply_round(&mut answers));
        Ok(())
    }
}

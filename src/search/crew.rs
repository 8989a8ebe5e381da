//! Several threads that evaluate the leaves of one round together.
//!
//! In: one evaluator for each thread. A batch is cut into parts of nearly the same size, one for each, and the answers
//! come in the order of the requests. Evaluators answer a request alike in every batch, so no answer depends on the number
//! of threads.

use std::sync::Mutex;

use rayon::{ThreadPool, ThreadPoolBuilder};

use super::evaluator::{Evaluations, Evaluator, Request, evaluate};
use crate::error::Result;
use crate::game::Game;
use crate::parallel;

/// An evaluator that is several, with a thread for each.
pub struct Crew<E> {
    /// `None` for a crew of one, which works on the caller's thread.
    pool: Option<ThreadPool>,
    members: Vec<Mutex<Member<E>>>,
}

struct Member<E> {
    evaluator: E,
    answers: Evaluations,
}

impl<E> std::fmt::Debug for Crew<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.debug_struct("Crew").field("members", &self.members.len()).finish_non_exhaustive()
    }
}

impl<E> Crew<E> {
    /// A crew of `threads`, at least 1, with an evaluator that `make` creates for each.
    pub fn new(threads: usize, make: impl Fn() -> E) -> Crew<E> {
        let member = || Mutex::new(Member { evaluator: make(), answers: Evaluations::new() });
        let pool = || ThreadPoolBuilder::new().num_threads(threads).build().expect("threads for a search");
        Crew { pool: (threads > 1).then(pool), members: (0..threads.max(1)).map(|_| member()).collect() }
    }
}

impl<G: Game, E: Evaluator<G>> Evaluator<G> for Crew<E> {
    fn evaluate(&mut self, requests: &[Request<G>], out: &mut Evaluations) -> Result<()> {
        let part = requests.len().div_ceil(self.members.len()).max(1);
        let Some(pool) = self.pool.as_ref().filter(|_| requests.len() > part) else {
            return self.members[0].get_mut().expect("nobody panicked").evaluator.evaluate(requests, out);
        };
        let busy = requests.len().div_ceil(part);
        let work = |index: usize| {
            let Member { evaluator, answers } = &mut *self.members[index].lock().expect("nobody panicked");
            let end = requests.len().min((index + 1) * part);
            evaluate(evaluator, &requests[index * part..end], answers)
        };
        pool.install(|| parallel::each(busy, &work))?;
        out.clear();
        for member in &mut self.members[..busy] {
            for row in member.get_mut().expect("nobody panicked").answers.rows() {
                out.push(row.priors.len(), row.wdl).copy_from_slice(row.priors);
            }
        }
        Ok(())
    }

    fn hits(&self) -> usize {
        self.members.iter().map(|member| member.lock().expect("nobody panicked").evaluator.hits()).sum()
    }
}

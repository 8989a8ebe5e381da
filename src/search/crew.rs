//! Several threads that evaluate the leaves of one round together.
//!
//! Each thread has an evaluator. A batch is cut into equal parts (the last may be smaller), at most one for each
//! thread, and the answers come in the order of the requests. An evaluator gives a request the same answer in every
//! batch, so no answer depends on the number of threads. The calling thread computes the first part, and helpers
//! compute the others. Helpers poll for work for a moment before they sleep, because rounds follow each other within
//! microseconds and waking a thread takes longer than the work.

use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::evaluator::{Evaluations, Evaluator, Request, evaluate};
use crate::error::Result;
use crate::game::{Action, Game};

/// How long a thread polls before it sleeps.
const AWAKE: Duration = Duration::from_micros(200);

/// A group of evaluators with one thread each; the first works on the calling thread.
pub struct Crew<G: Game, E> {
    own: E,
    helpers: Vec<Helper<G>>,
}

/// A thread with its own evaluator.
struct Helper<G: Game> {
    /// `None` only while the helper is dropped.
    jobs: Option<Sender<CrewJob<G>>>,
    done: Receiver<CrewJob<G>>,
    thread: Option<JoinHandle<()>>,
    /// The buffers for the next job, if they are not in use.
    spare: Option<CrewJob<G>>,
    /// Cache hits of the helper's evaluator so far.
    hits: usize,
}

/// A part of a batch and its answers.
struct CrewJob<G: Game> {
    states: Vec<G::State>,
    /// The legal actions of all states, concatenated; `ends` has the end of each state's actions.
    actions: Vec<Action>,
    ends: Vec<usize>,
    seeds: Vec<u64>,
    answers: Evaluations,
    outcome: Result<()>,
    hits: usize,
}

impl<G: Game, E> std::fmt::Debug for Crew<G, E> {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.debug_struct("Crew").field("members", &(1 + self.helpers.len())).finish_non_exhaustive()
    }
}

impl<G: Game, E: Evaluator<G> + 'static> Crew<G, E> {
    /// Returns a crew of `threads` threads (at least 1); `make` creates an evaluator for each of them.
    pub fn new(threads: usize, make: impl Fn() -> E) -> Crew<G, E> {
        Crew { own: make(), helpers: (1..threads).map(|_| Helper::new(make())).collect() }
    }
}

impl<G: Game> Helper<G> {
    fn new(mut evaluator: impl Evaluator<G> + 'static) -> Helper<G> {
        let ((jobs, to_do), (finished, done)) = (channel::<CrewJob<G>>(), channel());
        let thread = std::thread::spawn(move || {
            while let Some(mut job) = next(&to_do) {
                job.work(&mut evaluator);
                if finished.send(job).is_err() {
                    return;
                }
            }
        });
        Helper { jobs: Some(jobs), done, thread: Some(thread), spare: Some(CrewJob::new()), hits: 0 }
    }

    /// Hands a part of a batch to the helper.
    fn begin(&mut self, requests: &[Request<G>]) {
        let mut job = self.spare.take().unwrap_or_else(CrewJob::new);
        job.fill(requests);
        let jobs = self.jobs.as_ref().expect("the helper is not being dropped");
        jobs.send(job).expect("an evaluator has panicked");
    }

    /// Waits for the part handed over by [`Helper::begin`] and appends its answers to `out`.
    fn end(&mut self, out: &mut Evaluations) -> Result<()> {
        let mut job = next(&self.done).expect("an evaluator has panicked");
        for row in job.answers.rows() {
            out.push(row.priors.len(), row.wdl).copy_from_slice(row.priors);
        }
        self.hits = job.hits;
        let outcome = std::mem::replace(&mut job.outcome, Ok(()));
        self.spare = Some(job);
        outcome
    }
}

impl<G: Game> Drop for Helper<G> {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // a thread that panicked has already reported its panic
            let _ = thread.join();
        }
    }
}

/// Receives the next item from a channel, polling first; `None` if the channel is closed.
fn next<T>(from: &Receiver<T>) -> Option<T> {
    let start = Instant::now();
    loop {
        match from.try_recv() {
            Ok(next) => return Some(next),
            Err(TryRecvError::Disconnected) => return None,
            Err(TryRecvError::Empty) if start.elapsed() < AWAKE => std::hint::spin_loop(),
            Err(TryRecvError::Empty) => return from.recv().ok(),
        }
    }
}

impl<G: Game> CrewJob<G> {
    fn new() -> CrewJob<G> {
        CrewJob {
            states: Vec::new(),
            actions: Vec::new(),
            ends: Vec::new(),
            seeds: Vec::new(),
            answers: Evaluations::new(),
            outcome: Ok(()),
            hits: 0,
        }
    }

    fn fill(&mut self, requests: &[Request<G>]) {
        self.states.clear();
        self.actions.clear();
        self.ends.clear();
        self.seeds.clear();
        for request in requests {
            self.states.push(request.state.clone());
            self.actions.extend_from_slice(request.legal);
            self.ends.push(self.actions.len());
            self.seeds.push(request.seed);
        }
    }

    fn work(&mut self, evaluator: &mut impl Evaluator<G>) {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        let legal = begins.zip(&self.ends).map(|(begin, &end)| &self.actions[begin..end]);
        let requests = self.states.iter().zip(legal).zip(&self.seeds);
        let requests: Vec<Request<G>> =
            requests.map(|((state, legal), &seed)| Request { state, legal, seed }).collect();
        self.outcome = evaluate(evaluator, &requests, &mut self.answers);
        self.hits = evaluator.hits();
    }
}

impl<G: Game, E: Evaluator<G>> Evaluator<G> for Crew<G, E> {
    fn evaluate(&mut self, requests: &[Request<G>], out: &mut Evaluations) -> Result<()> {
        let part = requests.len().div_ceil(1 + self.helpers.len()).max(1);
        let (own, others) = requests.split_at(part.min(requests.len()));
        let parts = others.chunks(part);
        let busy = &mut self.helpers[..parts.len()];
        busy.iter_mut().zip(parts).for_each(|(helper, part)| helper.begin(part));
        let mut outcome = self.own.evaluate(own, out);
        for helper in busy {
            // wait for every helper even after an error; otherwise, the next round would receive the old answers
            outcome = outcome.and(helper.end(out));
        }
        outcome
    }

    fn hits(&self) -> usize {
        self.own.hits() + self.helpers.iter().map(|helper| helper.hits).sum::<usize>()
    }

    fn batch(&self) -> usize {
        self.own.batch()
    }
}

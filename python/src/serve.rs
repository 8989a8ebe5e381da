//! Work on another thread, for which the calling thread runs Python code.
//!
//! Input: work, and a Python function that evaluates batches of positions. The work runs on all cores without the
//! interpreter's lock; when it needs evaluations, it sends a batch and waits. The calling thread answers. Only that
//! thread runs Python, so an exception ends the work and surfaces unchanged, and so does Ctrl-C.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use numpy::{PyArray1, PyArrayDyn, PyArrayMethods, PyUntypedArrayMethods};
use petteia::encode::Shape;
use petteia::error::Error;
use petteia::net::evaluator::SharedNet;
use petteia::net::forward::{Batch, Forward, Pass};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::convert;
use crate::ending;
use crate::threads::{answering, expect_threads};
use crate::written::WrittenGame;

/// The longest time between two checks for Ctrl-C.
const PATIENCE: Duration = Duration::from_millis(100);
/// The least probability. Smaller probabilities become this one, because a network could not output the logarithm of 0.
const LEAST: f32 = 1e-30;
/// The least logit, which replaces the minus infinity that masks produce.
const LEAST_LOGIT: f32 = -1e9;

/// The kind of numbers that an evaluator returns.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Says {
    Probabilities,
    Logits,
}

/// A Python function that evaluates batches: it maps planes, float32 [n, planes, height, width], to (policy, value).
pub struct Callable {
    pub function: Py<PyAny>,
    pub says: Says,
    /// The number of positions that the function wants in one call.
    pub batch: usize,
    pub shape: Shape,
}

/// What the work sees of its caller: whether to continue, and where evaluations come from.
pub struct Running {
    stopped: Arc<AtomicBool>,
    jobs: Sender<Job>,
    written: Option<WrittenGame>,
}

impl Running {
    /// Returns whether the work should continue: true until something asks the work to stop.
    pub fn goes_on(&self) -> bool {
        !self.stopped.load(Ordering::Relaxed)
            && !ending::is_near()
            && !self.written.as_ref().is_some_and(WrittenGame::has_raised)
    }

    /// Returns the network that calls the function with this number.
    pub fn net(&self, callables: &[Callable], number: usize) -> SharedNet {
        let Callable { batch, shape, .. } = callables[number];
        let (stopped, jobs) = (self.stopped.clone(), self.jobs.clone());
        SharedNet::from_forward(Arc::new(Asked { number, batch, shape, stopped, jobs }))
    }
}

/// Positions to evaluate.
struct Job {
    /// The number of the function to call.
    number: usize,
    /// The planes, `[n, planes, height, width]`.
    planes: Vec<f32>,
    reply: Sender<Answer>,
}

/// Logits: `[n, actions]` of the policy, and `[n, 3]` for win, draw, and loss.
struct Answer {
    policy: Vec<f32>,
    wdl: Vec<f32>,
}

/// Does work that calls no Python evaluator; `written` is the game if it is written in Python.
pub fn work<T: Send>(
    py: Python,
    written: Option<&WrittenGame>,
    task: impl FnOnce(&Running) -> petteia::error::Result<T> + Send,
) -> PyResult<T> {
    serve(py, written, &[], task)
}

/// Returns the threads for work that calls functions. One or two of them wait for answers most of the time, so there
/// are two more threads than cores.
fn pool() -> &'static ThreadPool {
    static POOL: OnceLock<ThreadPool> = OnceLock::new();
    POOL.get_or_init(|| {
        let threads = rayon::current_num_threads() + 2;
        ThreadPoolBuilder::new().num_threads(threads).build().expect("threads can be started")
    })
}

/// Does work that may call these functions; `written` is the game if it is written in Python.
pub fn serve<T: Send>(
    py: Python,
    written: Option<&WrittenGame>,
    callables: &[Callable],
    task: impl FnOnce(&Running) -> petteia::error::Result<T> + Send,
) -> PyResult<T> {
    expect_threads()?;
    let asks_python = !callables.is_empty() || written.is_some();
    let _at_work = asks_python.then(ending::at_work).transpose()?;
    let stopped = Arc::new(AtomicBool::new(false));
    let (jobs, mut requests) = channel();
    let raised = || written.and_then(WrittenGame::raised);
    raised();
    let running = Running { stopped: stopped.clone(), jobs, written: written.cloned() };
    let mut failure: Option<Failure> = None;
    let mut looked = Instant::now();
    let result = std::thread::scope(|scope| {
        // when the worker ends, its sender is dropped, which ends the loop below
        let worker = scope.spawn(move || match callables {
            [] => task(&running),
            _ => pool().install(|| task(&running)),
        });
        while let Some(next) = next(py, &mut requests) {
            if failure.is_none() && ending::is_near() {
                failure = Some(Failure::Raised(ending::refusal()));
                stopped.store(true, Ordering::Relaxed);
            }
            // after a failure, jobs are dropped together with the senders of the replies that the work waits for
            if failure.is_some() {
                continue;
            }
            if let Some(job) = next {
                match asked_safely(py, &callables[job.number], job.planes) {
                    // if the work has ended, no one is waiting for the answer
                    Ok(answer) => drop(job.reply.send(answer)),
                    Err(failed) => failure = Some(failed),
                }
            }
            if failure.is_none() && looked.elapsed() >= PATIENCE {
                looked = Instant::now();
                failure = py.check_signals().err().map(Failure::Raised);
            }
            if failure.is_some() {
                stopped.store(true, Ordering::Relaxed);
            }
        }
        py.detach(move || worker.join())
    });
    match (failure, result) {
        (Some(Failure::Raised(error)), _) => Err(error),
        // the work noticed the end of the interpreter before this thread did
        (None, Ok(Err(_)) | Err(_)) if ending::is_near() => Err(ending::refusal()),
        (Some(Failure::Panicked(panic)), _) | (None, Err(panic)) => {
            Err(raised().unwrap_or_else(|| resume_unwind(panic)))
        }
        // work that was asked to stop may have ended before its own panic
        (None, Ok(result)) => result.map_err(|error| raised().unwrap_or_else(|| convert::raised(error))),
    }
}

/// The reason why a function gave no answer.
enum Failure {
    Raised(PyErr),
    Panicked(Box<dyn std::any::Any + Send>),
}

/// Calls a function and catches a panic.
fn asked_safely(py: Python, callable: &Callable, planes: Vec<f32>) -> Result<Answer, Failure> {
    catch_unwind(AssertUnwindSafe(|| answering(|| answer(py, callable, planes))))
        .map_err(Failure::Panicked)?
        .map_err(Failure::Raised)
}

/// Waits for a job. Returns `Some(None)` if none has come for a while, and `None` if none can come anymore.
fn next(py: Python, requests: &mut Receiver<Job>) -> Option<Option<Job>> {
    match py.detach(move || requests.recv_timeout(PATIENCE)) {
        Ok(job) => Some(Some(job)),
        Err(RecvTimeoutError::Timeout) => Some(None),
        Err(RecvTimeoutError::Disconnected) => None,
    }
}

/// Calls a function and checks its answer.
fn answer(py: Python, callable: &Callable, planes: Vec<f32>) -> PyResult<Answer> {
    let Shape { planes: count, height, width, actions } = callable.shape;
    let n = planes.len() / callable.shape.input_len();
    let input = PyArray1::from_vec(py, planes).reshape([n, count, height, width])?;
    let result = callable.function.call1(py, (input,))?;
    let (policy, value): (Bound<PyAny>, Bound<PyAny>) = result.extract(py).map_err(|_| {
        PyTypeError::new_err(
            "an evaluator returns (policy, value): arrays [n, actions] and [n, 3], or [n] for values \
            of -1 to 1",
        )
    })?;
    let mut policy = floats(&policy, &[&[n, actions]], "the policy")?;
    logs(&mut policy, callable.says, "the policy")?;
    let mut wdl = floats(&value, &[&[n, 3], &[n]], "the value")?;
    if wdl.len() == n {
        if let Some(wrong) = wdl.iter().find(|value| !(-1.0..=1.0).contains(*value)) {
            return Err(PyValueError::new_err(format!(
                "the value of an evaluator is {wrong}, but -1 to 1 was expected"
            )));
        }
        wdl = wdl.iter().flat_map(|value| [(1.0 + value) / 2.0, 0.0, (1.0 - value) / 2.0]).collect();
        logs(&mut wdl, Says::Probabilities, "the value")?;
    } else {
        logs(&mut wdl, callable.says, "the value")?;
    }
    Ok(Answer { policy, wdl })
}

/// Converts the numbers that the function returned to logits.
fn logs(numbers: &mut [f32], says: Says, what: &str) -> PyResult<()> {
    let is_wrong = |number: &f32| match says {
        Says::Probabilities => !(number.is_finite() && *number >= 0.0),
        Says::Logits => number.is_nan() || *number == f32::INFINITY,
    };
    if let Some(wrong) = numbers.iter().find(|number| is_wrong(number)) {
        let hint = if says == Says::Probabilities { "; for logits, pass logits=True" } else { "" };
        return Err(PyValueError::new_err(format!("{what} of an evaluator has the number {wrong}{hint}")));
    }
    match says {
        Says::Probabilities => numbers.iter_mut().for_each(|number| *number = number.max(LEAST).ln()),
        Says::Logits => numbers.iter_mut().for_each(|number| *number = number.max(LEAST_LOGIT)),
    }
    Ok(())
}

/// Returns the numbers in `value`, which is anything that numpy can read and must have one of these shapes.
fn floats(value: &Bound<PyAny>, shapes: &[&[usize]], what: &str) -> PyResult<Vec<f32>> {
    let array = match value.cast::<PyArrayDyn<f32>>() {
        Ok(array) => array.clone(),
        Err(_) => {
            let named = PyDict::new(value.py());
            named.set_item("dtype", "float32")?;
            let read = value.py().import("numpy")?.call_method("asarray", (value,), Some(&named))?;
            read.cast_into::<PyArrayDyn<f32>>()?
        }
    };
    if !shapes.contains(&array.shape()) {
        let wanted: Vec<String> = shapes.iter().map(|shape| format!("{shape:?}")).collect();
        return Err(PyValueError::new_err(format!(
            "{what} of an evaluator has the shape {:?}, but {} was expected",
            array.shape(),
            wanted.join(" or ")
        )));
    }
    let busy = |error| PyValueError::new_err(format!("{what} of an evaluator: {error}"));
    let read = array.try_readonly().map_err(busy)?;
    // the numbers are in row order, whatever the memory layout of the array is
    Ok(read.as_array().iter().copied().collect())
}

/// The network that a Python function stands for.
struct Asked {
    number: usize,
    batch: usize,
    shape: Shape,
    stopped: Arc<AtomicBool>,
    jobs: Sender<Job>,
}

impl Forward for Asked {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn batch(&self) -> usize {
        // for batches of a single position, each thread would call the function separately
        self.batch.max(2)
    }

    fn pass(self: Arc<Self>) -> Box<dyn Pass> {
        Box::new(AskingPass(self))
    }
}

struct AskingPass(Arc<Asked>);

impl Pass for AskingPass {
    fn run(&mut self, batch: Batch) -> petteia::error::Result<()> {
        let Batch { planes: words, wanted, logits, wdl } = batch;
        let Asked { number, shape, stopped, jobs, .. } = &*self.0;
        if stopped.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        let mut planes = vec![0.0; wanted.ends.len() * shape.input_len()];
        shape.expand(words, &mut planes);
        // the job takes the only sender along, so if the job is dropped, receiving fails
        let (reply, replies) = channel();
        let sent = jobs.send(Job { number: *number, planes, reply });
        let Some(answer) = sent.ok().and_then(|()| replies.recv().ok()) else {
            return Err(Error::Interrupted);
        };
        wdl.copy_from_slice(&answer.wdl);
        let mut begin = 0;
        for (end, policy) in wanted.ends.iter().zip(answer.policy.chunks_exact(shape.actions)) {
            for at in begin..*end {
                logits[at] = policy[usize::from(wanted.actions[at])];
            }
            begin = *end;
        }
        Ok(())
    }
}

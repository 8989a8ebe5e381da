//! Work on another thread, for which the calling thread runs Python.
//!
//! Input: work, and a function in Python that evaluates batches of positions. The work runs without the interpreter's lock, on
//! all cores; where it needs evaluations, it sends a batch and waits. The calling thread answers: it alone runs Python, so an
//! exception ends the work and surfaces unchanged, and so does Ctrl-C.

use std::cell::Cell;
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
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::convert;
use crate::ending;
use crate::game::Game;
use crate::written::WrittenGame;

/// The longest time between two looks at Ctrl-C.
const PATIENCE: Duration = Duration::from_millis(100);
/// The least probability: the logarithm of 0 is not a number that a network could say.
const LEAST: f32 = 1e-30;
/// The least logit, for those that are minus infinity, as masks make them.
const LEAST_LOGIT: f32 = -1e9;

/// The process whose threads do the work.
static OWNER: OnceLock<u32> = OnceLock::new();

thread_local! {
    /// Whether this thread is inside an evaluator or rules in Python, for which other threads wait.
    static ANSWERS: Cell<bool> = const { Cell::new(false) };
}

/// Refuses to wait for threads that cannot work: those of a process from which this one was forked, and those that wait for
/// the evaluator that asks.
pub fn expect_threads() -> PyResult<()> {
    let me = std::process::id();
    if *OWNER.get_or_init(|| me) != me {
        return Err(PyRuntimeError::new_err(
            "this process was forked from one in which petteia had already worked, and the threads of that one are not here: \
             use multiprocessing.get_context(\"spawn\")",
        ));
    }
    if ANSWERS.get() {
        return Err(PyRuntimeError::new_err(
            "evaluators and rules cannot search, play or step large batches themselves: the threads wait for their answer",
        ));
    }
    Ok(())
}

/// What the numbers of an evaluator are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Says {
    Probabilities,
    Logits,
}

/// A function in Python that evaluates batches: planes, float32 [n, planes, height, width], to (policy, value).
pub struct Callable {
    pub function: Py<PyAny>,
    pub says: Says,
    /// The positions that it wants together.
    pub batch: usize,
    pub shape: Shape,
}

/// Runs Python of a user, which must not ask the threads that wait for it to work.
pub fn answering<T>(python: impl FnOnce() -> T) -> T {
    /// Says again what was said before, also when a panic passes.
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            ANSWERS.set(self.0);
        }
    }
    let _before = Before(ANSWERS.replace(true));
    python()
}

/// The side of the work: whether it is to go on, and where evaluations come from.
pub struct Running {
    stopped: Arc<AtomicBool>,
    jobs: Sender<Job>,
    written: Option<WrittenGame>,
}

impl Running {
    /// Whether nobody has asked for an end.
    pub fn goes_on(&self) -> bool {
        !self.stopped.load(Ordering::Relaxed)
            && !ending::is_near()
            && !self.written.as_ref().is_some_and(WrittenGame::has_raised)
    }

    /// The network that asks the function of this number.
    pub fn net(&self, callables: &[Callable], number: usize) -> SharedNet {
        let Callable { batch, shape, .. } = callables[number];
        let (stopped, jobs) = (self.stopped.clone(), self.jobs.clone());
        SharedNet::from_forward(Arc::new(Asked { number, batch, shape, stopped, jobs }))
    }
}

/// Positions to evaluate.
struct Job {
    /// Whose function is asked.
    number: usize,
    /// `[n, planes, height, width]`
    planes: Vec<f32>,
    reply: Sender<Answer>,
}

/// Logits: `[n, actions]`, and `[n, 3]` for win, draw and loss.
struct Answer {
    policy: Vec<f32>,
    wdl: Vec<f32>,
}

/// Does work with this game that asks no evaluator in Python.
pub fn work<T: Send>(
    py: Python,
    game: &Game,
    task: impl FnOnce(&Running) -> petteia::error::Result<T> + Send,
) -> PyResult<T> {
    serve(py, game, &[], task)
}

/// The threads for work that asks functions: one or two of them wait for answers most of the time, so there are two more.
fn pool() -> &'static ThreadPool {
    static POOL: OnceLock<ThreadPool> = OnceLock::new();
    POOL.get_or_init(|| {
        let threads = rayon::current_num_threads() + 2;
        ThreadPoolBuilder::new().num_threads(threads).build().expect("threads can be started")
    })
}

/// Does work with this game that may ask these functions.
pub fn serve<T: Send>(
    py: Python,
    game: &Game,
    callables: &[Callable],
    task: impl FnOnce(&Running) -> petteia::error::Result<T> + Send,
) -> PyResult<T> {
    expect_threads()?;
    let asks_python = !callables.is_empty() || game.written.is_some();
    let _at_work = asks_python.then(ending::at_work).transpose()?;
    let stopped = Arc::new(AtomicBool::new(false));
    let (jobs, mut asked) = channel();
    let written = game.written.clone();
    let raised = || written.as_ref().and_then(WrittenGame::raised);
    raised();
    let running = Running { stopped: stopped.clone(), jobs, written: written.clone() };
    let mut failure: Option<Failure> = None;
    let mut looked = Instant::now();
    let result = std::thread::scope(|scope| {
        // what it sends by is dropped when it ends, which ends the loop
        let worker = scope.spawn(move || match callables {
            [] => task(&running),
            _ => pool().install(|| task(&running)),
        });
        while let Some(next) = next(py, &mut asked) {
            if failure.is_none() && ending::is_near() {
                failure = Some(Failure::Raised(ending::refusal()));
                stopped.store(true, Ordering::Relaxed);
            }
            // after a failure, a job is dropped, and with it the sender for whose answer it waits
            if failure.is_some() {
                continue;
            }
            if let Some(job) = next {
                match asked_safely(py, &callables[job.number], job.planes) {
                    // nobody waits if the work has ended
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
        // the work has seen it first
        (None, Ok(Err(_)) | Err(_)) if ending::is_near() => Err(ending::refusal()),
        (Some(Failure::Panicked(panic)), _) | (None, Err(panic)) => {
            Err(raised().unwrap_or_else(|| resume_unwind(panic)))
        }
        // work that was told to stop may have ended before its own panic
        (None, Ok(result)) => result.map_err(|error| raised().unwrap_or_else(|| convert::raised(error))),
    }
}

/// Why a function gave no answer.
enum Failure {
    Raised(PyErr),
    Panicked(Box<dyn std::any::Any + Send>),
}

/// Asks a function, whatever it does.
fn asked_safely(py: Python, callable: &Callable, planes: Vec<f32>) -> Result<Answer, Failure> {
    catch_unwind(AssertUnwindSafe(|| answering(|| answer(py, callable, planes))))
        .map_err(Failure::Panicked)?
        .map_err(Failure::Raised)
}

/// Waits for a job; nothing if none has come for a while, and the end if none can come.
fn next(py: Python, asked: &mut Receiver<Job>) -> Option<Option<Job>> {
    match py.detach(move || asked.recv_timeout(PATIENCE)) {
        Ok(job) => Some(Some(job)),
        Err(RecvTimeoutError::Timeout) => Some(None),
        Err(RecvTimeoutError::Disconnected) => None,
    }
}

/// Asks a function.
fn answer(py: Python, callable: &Callable, planes: Vec<f32>) -> PyResult<Answer> {
    let Shape { planes: count, height, width, actions } = callable.shape;
    let n = planes.len() / callable.shape.input_len();
    let input = PyArray1::from_vec(py, planes).reshape([n, count, height, width])?;
    let said = callable.function.call1(py, (input,))?;
    let (policy, value): (Bound<PyAny>, Bound<PyAny>) = said.extract(py).map_err(|_| {
        PyTypeError::new_err("an evaluator returns (policy, value): arrays [n, actions] and [n, 3], or [n] for values of -1 to 1")
    })?;
    let mut policy = floats(&policy, &[&[n, actions]], "the policy")?;
    logs(&mut policy, callable.says, "the policy")?;
    let mut wdl = floats(&value, &[&[n, 3], &[n]], "the value")?;
    if wdl.len() == n {
        if let Some(wrong) = wdl.iter().find(|value| !(-1.0..=1.0).contains(*value)) {
            return Err(PyValueError::new_err(format!(
                "the value of an evaluator is {wrong}, and -1 to 1 was expected"
            )));
        }
        wdl = wdl.iter().flat_map(|value| [(1.0 + value) / 2.0, 0.0, (1.0 - value) / 2.0]).collect();
        logs(&mut wdl, Says::Probabilities, "the value")?;
    } else {
        logs(&mut wdl, callable.says, "the value")?;
    }
    Ok(Answer { policy, wdl })
}

/// Makes logits of what the function has said.
fn logs(numbers: &mut [f32], says: Says, what: &str) -> PyResult<()> {
    let is_wrong = |number: &f32| match says {
        Says::Probabilities => !(number.is_finite() && *number >= 0.0),
        Says::Logits => number.is_nan() || *number == f32::INFINITY,
    };
    if let Some(wrong) = numbers.iter().find(|number| is_wrong(number)) {
        let hint = if says == Says::Probabilities { "; for logits say logits=True" } else { "" };
        return Err(PyValueError::new_err(format!("{what} of an evaluator has the number {wrong}{hint}")));
    }
    match says {
        Says::Probabilities => numbers.iter_mut().for_each(|number| *number = number.max(LEAST).ln()),
        Says::Logits => numbers.iter_mut().for_each(|number| *number = number.max(LEAST_LOGIT)),
    }
    Ok(())
}

/// The numbers of anything that numpy can read, which must have one of these shapes.
fn floats(given: &Bound<PyAny>, shapes: &[&[usize]], what: &str) -> PyResult<Vec<f32>> {
    let array = match given.cast::<PyArrayDyn<f32>>() {
        Ok(array) => array.clone(),
        Err(_) => {
            let named = PyDict::new(given.py());
            named.set_item("dtype", "float32")?;
            let read = given.py().import("numpy")?.call_method("asarray", (given,), Some(&named))?;
            read.cast_into::<PyArrayDyn<f32>>()?
        }
    };
    if !shapes.contains(&array.shape()) {
        let wanted: Vec<String> = shapes.iter().map(|shape| format!("{shape:?}")).collect();
        return Err(PyValueError::new_err(format!(
            "{what} of an evaluator has the shape {:?}, and {} was expected",
            array.shape(),
            wanted.join(" or ")
        )));
    }
    let busy = |error| PyValueError::new_err(format!("{what} of an evaluator: {error}"));
    let read = array.try_readonly().map_err(busy)?;
    // in the order of its rows, whatever that of its memory is
    Ok(read.as_array().iter().copied().collect())
}

/// The network that a function in Python stands for.
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
        // one that wants single positions would be asked by each thread for itself
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
        // the only sender goes with the job: if that is dropped, there is no answer
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

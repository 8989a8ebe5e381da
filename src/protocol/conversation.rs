//! Runs a conversation: reads lines from any reader, searches on a thread, and writes lines to any writer.
//!
//! There are three threads: one reads, one searches, and the caller's thread handles the events of the other two in
//! order. Only the caller's thread writes. Memory is limited: a line has a maximum length, and the reader pauses while
//! too many lines are waiting.

use std::collections::VecDeque;
use std::io::{BufRead, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, TryRecvError, channel, sync_channel};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Instant;

use super::thinker::{Report, Task, Thinker};
use super::{Order, Protocol, Reply, Urgency};
use crate::error::{Error, Result};
use crate::game::Action;
use crate::storage::text;

/// The maximum length of a line; longer lines are refused. The limit is many times the length of the longest legal
/// game.
const LONGEST_LINE: usize = 1 << 20;
/// The largest number of bytes in lines that have been read but not yet handled. The reader pauses while there are
/// more.
const MOST_WAITING: usize = 4 << 20;
/// The largest number of events on their way to the driver.
const EVENTS: usize = 8;

#[derive(Debug)]
enum Signal {
    Read(InputLine),
    End,
    /// The searching thread has its thinker, or has reached the position that it was sent to.
    Ready,
    Progress(Report),
    Found(Result<Report>),
    /// The searching thread has ended.
    Gone,
    /// The conversation must end.
    Interrupted,
}

/// A line of input, if it could be read.
#[derive(Debug)]
enum InputLine {
    Line(String),
    /// The reason why a line cannot be read.
    Refused(String),
}

impl InputLine {
    fn bytes(&self) -> usize {
        match self {
            InputLine::Line(text) | InputLine::Refused(text) => size_of::<InputLine>() + text.len(),
        }
    }
}

/// An order to the searching thread.
enum ThreadOrder {
    /// A search, with the time at which it was ordered.
    Search(Task, Instant),
    Follow(Task),
}

/// The state of the searching thread.
#[derive(Clone, Copy, PartialEq)]
enum Busy {
    /// The thread moves to a position; no line is handled during this time.
    Moving,
    Searching {
        infinite: bool,
    },
}

/// The streams of a conversation.
pub struct Streams<'a> {
    /// Makes the reader, on the thread that reads. The reader may wait for a line that never comes.
    pub input: Box<dyn FnOnce() -> Box<dyn BufRead> + Send>,
    /// Receives the lines of the protocol.
    pub output: &'a mut dyn Write,
    /// Receives lines for people; its errors are ignored.
    pub aside: &'a mut dyn Write,
}

impl std::fmt::Debug for Streams<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str("Streams")
    }
}

/// Ends a conversation from another thread: a search in progress is stopped and answered.
#[derive(Clone, Debug)]
pub struct Interrupter(SyncSender<Signal>);

impl Interrupter {
    /// Ends the conversation; does nothing if it is already over.
    pub fn interrupt(&self) {
        let _ = self.0.send(Signal::Interrupted);
    }
}

/// Converses until the other side ends the conversation. The searching thread first makes the `thinker`;
/// `interrupter` receives a handle that can end the conversation from outside.
///
/// # Errors
/// If the thinker cannot be made, its search fails, or `output` cannot be written.
pub fn converse(
    protocol: &mut dyn Protocol,
    streams: Streams,
    thinker: Box<dyn FnOnce() -> Result<Thinker> + Send + '_>,
    interrupter: Box<dyn FnOnce(Interrupter) + '_>,
) -> Result<()> {
    let Streams { input, output, aside } = streams;
    let (events, incoming) = sync_channel(EVENTS);
    let (work, orders) = channel();
    let stop = Arc::new(AtomicBool::new(false));
    let backlog = Arc::new(Backlog::default());
    interrupter(Interrupter(events.clone()));
    thread::scope(|scope| {
        // the receiver is moved in here so that a panic drops it: the searching thread may be waiting for room among
        // the events
        let incoming = incoming;
        let _stops = StopsAtEnd(stop.clone());
        let (to_driver, room) = (events.clone(), backlog.clone());
        // the reading thread is spawned outside the scope, because the scope would wait for it, but the thread may wait
        // for a line that never comes
        let reading: Box<dyn FnOnce() + Send> = Box::new(move || read(&mut *input(), &to_driver, &room));
        thread::spawn(reading);
        let flag = stop.clone();
        let searching: Box<dyn FnOnce() + Send> = Box::new(move || search(thinker, &orders, &events, &flag));
        let searching = scope.spawn(searching);
        let mut driver = Responder {
            protocol,
            output,
            aside,
            work: Some(work),
            stop,
            backlog,
            busy: Some(Busy::Moving),
            waiting: VecDeque::new(),
            stopped: 0,
            ended: false,
            deadline: None,
            interrupted: false,
            alone: false,
        };
        let result = driver.run(&incoming);
        // a panic of that thread has already been reported, and the driver has returned an error
        let _ = searching.join();
        result
    })
}

/// Stops a search in progress when the conversation ends, even by a panic, so the searching thread ends, too.
struct StopsAtEnd(Arc<AtomicBool>);

impl Drop for StopsAtEnd {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The side of the conversation that handles events and writes.
struct Responder<'a> {
    protocol: &'a mut dyn Protocol,
    output: &'a mut dyn Write,
    aside: &'a mut dyn Write,
    /// The channel for ordering searches; `None` once no more will be ordered.
    work: Option<Sender<ThreadOrder>>,
    stop: Arc<AtomicBool>,
    backlog: Arc<Backlog>,
    busy: Option<Busy>,
    waiting: VecDeque<InputLine>,
    /// The number of waiting lines that came before the last `stop`, which applies to their searches, too.
    stopped: usize,
    /// Whether no more lines are handled. Ordered searches are still finished, but not after the deadline, if there is
    /// one.
    ended: bool,
    deadline: Option<Instant>,
    /// Whether the conversation was interrupted, in which case an ordered search is stopped at once.
    interrupted: bool,
    /// Whether the searching thread has ended.
    alone: bool,
}

impl Responder<'_> {
    fn run(&mut self, incoming: &Receiver<Signal>) -> Result<()> {
        let result = self.talk(incoming);
        // however the conversation ended, the searching thread must end, too
        self.stop.store(true, Ordering::Relaxed);
        self.work = None;
        // the searching thread may be waiting for room among the events
        while !self.alone && !matches!(incoming.recv(), Ok(Signal::Gone) | Err(_)) {}
        result
    }

    fn talk(&mut self, incoming: &Receiver<Signal>) -> Result<()> {
        while !(self.ended && self.busy.is_none() && self.waiting.is_empty()) {
            match self.next_event(incoming) {
                Ok(Signal::Read(line)) => self.handle(line)?,
                Ok(Signal::End) => {
                    self.ended = true;
                    self.end_infinite();
                }
                Ok(Signal::Progress(report)) => self.say(self.protocol.progress(&report).as_slice())?,
                Ok(Signal::Ready) => {
                    self.busy = None;
                    self.handle_waiting()?;
                }
                Ok(Signal::Found(report)) => {
                    self.busy = None;
                    let report = match report {
                        Ok(report) => report,
                        Err(error) => {
                            let last = self.protocol.failed(&error.to_string());
                            self.say(&last)?;
                            return Err(error);
                        }
                    };
                    let reply = self.protocol.found(&report);
                    self.carry_out(reply, 0, self.interrupted)?;
                    self.handle_waiting()?;
                }
                Ok(Signal::Interrupted) => {
                    self.ended = true;
                    self.interrupted = true;
                    self.stop_all();
                }
                Err(RecvTimeoutError::Timeout) => {
                    self.deadline = None;
                    self.waiting.clear();
                    self.stop.store(true, Ordering::Relaxed);
                }
                Ok(Signal::Gone) | Err(RecvTimeoutError::Disconnected) => {
                    self.alone = true;
                    return Err(Error::Data(
                        "the search ended because of a bug in the program: please report it".into(),
                    ));
                }
            }
        }
        Ok(())
    }

    fn next_event(&self, incoming: &Receiver<Signal>) -> Result<Signal, RecvTimeoutError> {
        match self.deadline {
            Some(deadline) => incoming.recv_timeout(deadline.saturating_duration_since(Instant::now())),
            None => incoming.recv().map_err(|_| RecvTimeoutError::Disconnected),
        }
    }

    fn handle(&mut self, line: InputLine) -> Result<()> {
        if self.ended {
            return Ok(());
        }
        self.waiting.push_back(line);
        // the earlier lines are known to have to wait, so only the new line is checked
        if self.may_be_handled(self.waiting.len() - 1) {
            self.handle_waiting()
        } else {
            self.end_infinite();
            Ok(())
        }
    }

    /// Handles every waiting line that may be handled now.
    fn handle_waiting(&mut self) -> Result<()> {
        while let Some(place) = (0..self.waiting.len()).find(|place| self.may_be_handled(*place)) {
            let line = self.waiting.remove(place).expect("it was found there");
            self.backlog.take(line.bytes());
            let stopped = place < self.stopped;
            self.stopped -= stopped as usize;
            match line {
                InputLine::Line(line) => {
                    let reply = self.protocol.line(&line);
                    self.carry_out(reply, place, stopped)?;
                }
                InputLine::Refused(problem) => {
                    let reply = self.protocol.refuse(&problem);
                    self.carry_out(reply, place, stopped)?;
                }
            }
        }
        if self.ended || !self.waiting.is_empty() {
            self.end_infinite();
        }
        Ok(())
    }

    fn may_be_handled(&self, place: usize) -> bool {
        let urgency = || match &self.waiting[place] {
            InputLine::Line(line) => self.protocol.urgency(line),
            InputLine::Refused(_) => Urgency::InTurn,
        };
        match self.busy {
            None => true,
            Some(Busy::Moving) => false,
            Some(Busy::Searching { .. }) => match urgency() {
                Urgency::Now => true,
                Urgency::InTurn => place == 0,
                Urgency::AfterSearch => false,
            },
        }
    }

    /// Stops the current search and the searches of waiting lines. Each search is still answered.
    fn stop_all(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.stopped = self.waiting.len();
    }

    /// Ends a search without limits if lines are waiting, or if no more lines will come.
    fn end_infinite(&self) {
        if self.busy == Some(Busy::Searching { infinite: true }) {
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    /// Writes the lines of a reply and carries out its order. The line that the reply answers was at `place` among the
    /// waiting lines. If `stopped`, the search was stopped before it began.
    fn carry_out(&mut self, reply: Reply, place: usize, stopped: bool) -> Result<()> {
        self.say(&reply.lines)?;
        if let Some(aside) = reply.aside {
            // it is possible that nobody reads this stream anymore
            let _ = writeln!(self.aside, "{aside}");
        }
        match reply.order {
            Order::Nothing => {}
            Order::Search(task) => {
                self.stop.store(stopped, Ordering::Relaxed);
                let infinite = task.limits.infinite;
                self.order(ThreadOrder::Search(task, Instant::now()), Busy::Searching { infinite });
            }
            Order::Follow(task) => self.order(ThreadOrder::Follow(task), Busy::Moving),
            Order::Stop => {
                self.stop.store(true, Ordering::Relaxed);
                self.stopped = place;
            }
            Order::Quit(grace) => {
                self.ended = true;
                self.waiting.truncate(place);
                self.deadline = Some(Instant::now() + grace);
                self.end_infinite();
            }
        }
        Ok(())
    }

    fn order(&mut self, work: ThreadOrder, busy: Busy) {
        self.busy = Some(busy);
        // if the searching thread has ended, it has already reported that
        if let Some(to_search) = &self.work {
            let _ = to_search.send(work);
        }
    }

    fn say(&mut self, lines: &[impl AsRef<str>]) -> Result<()> {
        let text: String = lines.iter().flat_map(|line| [line.as_ref(), "\n"]).collect();
        let out = &mut self.output;
        out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Error::io("standard output"))
    }
}

/// The number of bytes that have been read but not handled yet.
#[derive(Default)]
struct Backlog {
    bytes: Mutex<usize>,
    fewer: Condvar,
}

impl Backlog {
    /// Waits until there is room for `bytes` bytes.
    fn put(&self, bytes: usize) {
        let backlog = self.bytes.lock().expect("no thread panics while it holds the lock");
        let full = |backlog: &mut usize| *backlog > 0 && *backlog + bytes > MOST_WAITING;
        *self.fewer.wait_while(backlog, full).expect("no thread panics while it holds the lock") += bytes;
    }

    fn take(&self, bytes: usize) {
        *self.bytes.lock().expect("no thread panics while it holds the lock") -= bytes;
        self.fewer.notify_one();
    }
}

/// Reads lines of at most [`LONGEST_LINE`] bytes until the input ends. Bytes that are not UTF-8 are replaced. The
/// input may begin with a byte order mark.
fn read(input: &mut dyn BufRead, events: &SyncSender<Signal>, backlog: &Backlog) {
    let (mut line, mut is_first) = (Vec::new(), true);
    loop {
        line.clear();
        let input_line = match read_line(input, &mut line) {
            Ok(Some(true)) if is_first => match text::readable(&line) {
                Ok(text) => InputLine::Line(text.into_owned()),
                Err(problem) => InputLine::Refused(problem),
            },
            Ok(Some(true)) => InputLine::Line(String::from_utf8_lossy(&line).into_owned()),
            Ok(Some(false)) => InputLine::Refused(format!("a line of over {LONGEST_LINE} bytes is ignored")),
            Ok(None) | Err(_) => {
                // the driver may have ended already
                let _ = events.send(Signal::End);
                return;
            }
        };
        is_first = false;
        backlog.put(input_line.bytes());
        if events.send(Signal::Read(input_line)).is_err() {
            return;
        }
    }
}

/// Reads the next line without its end. Returns `false` if the line was too long and was dropped, `None` at the end
/// of the input.
fn read_line(input: &mut dyn BufRead, line: &mut Vec<u8>) -> std::io::Result<Option<bool>> {
    let (mut has_bytes, mut fits) = (false, true);
    loop {
        let bytes = match input.fill_buf() {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if bytes.is_empty() {
            return Ok(has_bytes.then_some(fits));
        }
        has_bytes = true;
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let part = &bytes[..end.unwrap_or(bytes.len())];
        fits &= line.len() + part.len() <= LONGEST_LINE;
        if fits {
            line.extend_from_slice(part);
        }
        let used = part.len() + end.is_some() as usize;
        input.consume(used);
        if end.is_some() {
            return Ok(Some(fits));
        }
    }
}

/// Sends [`Signal::Gone`] when its thread ends, even by a panic.
struct GoneOnDrop<'a>(&'a SyncSender<Signal>);

impl Drop for GoneOnDrop<'_> {
    fn drop(&mut self) {
        let _ = self.0.send(Signal::Gone);
    }
}

/// Carries out ordered searches until no more orders can come.
fn search(
    thinker: Box<dyn FnOnce() -> Result<Thinker> + Send + '_>,
    orders: &Receiver<ThreadOrder>,
    events: &SyncSender<Signal>,
    stop: &AtomicBool,
) {
    let _gone = GoneOnDrop(events);
    // if the driver has ended, no more orders come
    let send = |event| {
        let _ = events.send(event);
    };
    let mut thinker = match thinker() {
        Ok(thinker) => thinker,
        Err(error) => return send(Signal::Found(Err(error))),
    };
    send(Signal::Ready);
    let mut next = orders.recv().ok();
    while let Some(work) = next.take() {
        match work {
            ThreadOrder::Follow(task) => {
                thinker.follow(&task);
                send(Signal::Ready);
            }
            ThreadOrder::Search(task, start) => {
                let found =
                    thinker.search(&task, start, stop, &mut |report| send(Signal::Progress(report.clone())));
                let action = found.as_ref().ok().map(|report| report.action);
                send(Signal::Found(found));
                if let Some(action) = action.filter(|_| task.ponder) {
                    next = match ponder(&mut thinker, action, task.memory, orders, stop) {
                        Ok(next) => next,
                        Err(error) => return send(Signal::Found(Err(error))),
                    };
                }
            }
        }
        next = next.or_else(|| orders.recv().ok());
    }
}

/// Keeps thinking until it is stopped or a new order comes; returns that order.
fn ponder(
    thinker: &mut Thinker,
    action: Action,
    memory: usize,
    orders: &Receiver<ThreadOrder>,
    stop: &AtomicBool,
) -> Result<Option<ThreadOrder>> {
    let mut next = None;
    thinker.ponder(action, memory, || match orders.try_recv() {
        Ok(work) => {
            next = Some(work);
            false
        }
        Err(TryRecvError::Empty) => !stop.load(Ordering::Relaxed),
        Err(TryRecvError::Disconnected) => false,
    })?;
    Ok(next)
}

#[cfg(test)]
mod tests;

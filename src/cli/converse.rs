//! The streams around a protocol: standard input to lines, a thread that searches, lines to standard output.
//!
//! Three threads: one reads, one searches, and this one hears both in the order of their events and is the only one that
//! prints. Memory is bounded: a line has a longest length, and the reader waits while too much is read and not heard.

use std::collections::VecDeque;
use std::io::{BufRead, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, TryRecvError, channel, sync_channel};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Instant;

use super::signals::tell_of_interrupts;
use crate::error::{Error, Result};
use crate::game::{Action, Game};
use crate::protocol::thinker::{Report, Task, Thinker};
use crate::protocol::{Order, Protocol, Reply, Urgency};

/// A longer line is refused; every legal game of ours fits many times.
const LONGEST_LINE: usize = 1 << 20;
/// Bytes of lines that were read and not heard yet; the reader waits when there are more.
const MOST_UNHEARD: usize = 4 << 20;
/// Events on their way to the thread that prints.
const EVENTS: usize = 8;

enum Event {
    Heard(Heard),
    End,
    /// The searching thread has its thinker, or has gone where it was told to.
    Ready,
    Progress(Report),
    Found(Result<Report>),
    /// The searching thread is gone.
    Gone,
    /// A signal: the talk shall end.
    Interrupted,
}

/// What was read.
enum Heard {
    Line(String),
    TooLong,
}

impl Heard {
    fn bytes(&self) -> usize {
        match self {
            Heard::Line(line) => size_of::<Heard>() + line.len(),
            Heard::TooLong => size_of::<Heard>(),
        }
    }
}

/// What the searching thread is told.
enum Work<G: Game> {
    /// With the time of the order.
    Search(Task<G>, Instant),
    Follow(Task<G>),
}

/// What the searching thread does.
#[derive(Clone, Copy, PartialEq)]
enum Busy {
    /// Nothing is heard until it is ready.
    Moving,
    Searching {
        infinite: bool,
    },
}

/// Talks on the standard streams until the other side has enough. `thinker` is made first, on the searching thread.
pub fn converse<G: Game, P: Protocol<G>>(
    protocol: P,
    thinker: impl FnOnce() -> Result<Thinker<G>> + Send,
) -> Result<()> {
    let (events, heard) = sync_channel(EVENTS);
    let (work, ordered) = channel();
    let stop = Arc::new(AtomicBool::new(false));
    let unheard = Arc::new(Unheard::default());
    thread::scope(|scope| {
        let to_desk = events.clone();
        tell_of_interrupts(move || {
            // a desk that is gone has ended anyway
            let _ = to_desk.send(Event::Interrupted);
        });
        let (to_reader, room) = (events.clone(), unheard.clone());
        // not of the scope: it may wait for a line that never comes
        thread::spawn(move || read(&to_reader, &room));
        let flag = stop.clone();
        let searching = scope.spawn(move || search(thinker, &ordered, &events, &flag));
        let mut desk = Desk {
            protocol,
            work: Some(work),
            stop,
            unheard,
            busy: Some(Busy::Moving),
            waiting: VecDeque::new(),
            stopped: 0,
            ended: false,
            deadline: None,
            interrupted: false,
            alone: false,
        };
        let result = desk.run(&heard);
        // a panic there has been told of: by itself, and by what the desk returned
        let _ = searching.join();
        result
    })
}

/// The thread that hears and prints.
struct Desk<G: Game, P> {
    protocol: P,
    /// Gone when no more is to be searched.
    work: Option<Sender<Work<G>>>,
    stop: Arc<AtomicBool>,
    unheard: Arc<Unheard>,
    busy: Option<Busy>,
    waiting: VecDeque<Heard>,
    /// So many of the waiting lines were there when the last `stop` was heard: it is meant for their searches too.
    stopped: usize,
    /// Nothing more will be heard: what is ordered is finished, until the deadline if there is one.
    ended: bool,
    deadline: Option<Instant>,
    /// A signal came: a search that is still ordered is stopped at once.
    interrupted: bool,
    /// The searching thread is gone.
    alone: bool,
}

impl<G: Game, P: Protocol<G>> Desk<G, P> {
    fn run(&mut self, heard: &Receiver<Event>) -> Result<()> {
        let result = self.talk(heard);
        // whatever ended the talk, the searching thread shall end too
        self.stop.store(true, Ordering::Relaxed);
        self.work = None;
        // it may be waiting to be heard
        while !self.alone && !matches!(heard.recv(), Ok(Event::Gone) | Err(_)) {}
        result
    }

    fn talk(&mut self, heard: &Receiver<Event>) -> Result<()> {
        while !(self.ended && self.busy.is_none() && self.waiting.is_empty()) {
            match self.next_event(heard) {
                Ok(Event::Heard(line)) => self.hear(line)?,
                Ok(Event::End) => {
                    self.ended = true;
                    self.end_infinite();
                }
                Ok(Event::Progress(report)) => self.say(self.protocol.progress(&report).as_slice())?,
                Ok(Event::Ready) => {
                    self.busy = None;
                    self.hear_waiting()?;
                }
                Ok(Event::Found(report)) => {
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
                    self.hear_waiting()?;
                }
                Ok(Event::Interrupted) => {
                    self.ended = true;
                    self.interrupted = true;
                    self.stop_all();
                }
                Err(RecvTimeoutError::Timeout) => {
                    self.deadline = None;
                    self.waiting.clear();
                    self.stop.store(true, Ordering::Relaxed);
                }
                Ok(Event::Gone) | Err(RecvTimeoutError::Disconnected) => {
                    self.alone = true;
                    return Err(Error::Data(
                        "the search ended by a bug of the program: please report it".into(),
                    ));
                }
            }
        }
        Ok(())
    }

    fn next_event(&self, heard: &Receiver<Event>) -> Result<Event, RecvTimeoutError> {
        match self.deadline {
            Some(deadline) => heard.recv_timeout(deadline.saturating_duration_since(Instant::now())),
            None => heard.recv().map_err(|_| RecvTimeoutError::Disconnected),
        }
    }

    fn hear(&mut self, line: Heard) -> Result<()> {
        if self.ended {
            return Ok(());
        }
        self.waiting.push_back(line);
        // those before it have waited already
        match self.may_be_heard(self.waiting.len() - 1) {
            true => self.hear_waiting(),
            false => {
                self.end_infinite();
                Ok(())
            }
        }
    }

    /// Hears every waiting line that may be heard now.
    fn hear_waiting(&mut self) -> Result<()> {
        while let Some(place) = (0..self.waiting.len()).find(|place| self.may_be_heard(*place)) {
            let line = self.waiting.remove(place).expect("it was found there");
            self.unheard.take(line.bytes());
            let stopped = place < self.stopped;
            self.stopped -= stopped as usize;
            match line {
                Heard::Line(line) => {
                    let reply = self.protocol.line(&line);
                    self.carry_out(reply, place, stopped)?;
                }
                Heard::TooLong => {
                    let problem = format!("a line of over {LONGEST_LINE} bytes is ignored");
                    self.say(&self.protocol.refuse(&problem))?;
                }
            }
        }
        if self.ended || !self.waiting.is_empty() {
            self.end_infinite();
        }
        Ok(())
    }

    fn may_be_heard(&self, place: usize) -> bool {
        let urgency = || match &self.waiting[place] {
            Heard::Line(line) => self.protocol.urgency(line),
            Heard::TooLong => Urgency::InTurn,
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

    /// Stops the search under way and those that wait; each is answered all the same.
    fn stop_all(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.stopped = self.waiting.len();
    }

    /// Lines that wait, or no more lines, end a search that would go on for ever.
    fn end_infinite(&self) {
        if self.busy == Some(Busy::Searching { infinite: true }) {
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    /// Prints and does what a reply to the line at `place` of those that waited says; `stopped`: its search was stopped
    /// before it began.
    fn carry_out(&mut self, reply: Reply<G>, place: usize, stopped: bool) -> Result<()> {
        self.say(&reply.lines)?;
        if let Some(aside) = reply.aside {
            // nobody may be left to read it
            let _ = writeln!(std::io::stderr(), "{aside}");
        }
        match reply.order {
            Order::Nothing => {}
            Order::Search(task) => {
                self.stop.store(stopped, Ordering::Relaxed);
                let infinite = task.limits.infinite;
                self.order(Work::Search(task, Instant::now()), Busy::Searching { infinite });
            }
            Order::Follow(task) => self.order(Work::Follow(task), Busy::Moving),
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

    fn order(&mut self, work: Work<G>, busy: Busy) {
        self.busy = Some(busy);
        // a thread that is gone has said so
        if let Some(to_search) = &self.work {
            let _ = to_search.send(work);
        }
    }

    fn say(&self, lines: &[impl AsRef<str>]) -> Result<()> {
        let mut out = std::io::stdout().lock();
        let text: String = lines.iter().flat_map(|line| [line.as_ref(), "\n"]).collect();
        out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Error::io("standard output"))
    }
}

/// Bytes that were read and not heard yet.
#[derive(Default)]
struct Unheard {
    bytes: Mutex<usize>,
    fewer: Condvar,
}

impl Unheard {
    /// Waits until there is room for so many.
    fn put(&self, bytes: usize) {
        let unheard = self.bytes.lock().expect("nobody panics with it");
        let full = |unheard: &mut usize| *unheard > 0 && *unheard + bytes > MOST_UNHEARD;
        *self.fewer.wait_while(unheard, full).expect("nobody panics with it") += bytes;
    }

    fn take(&self, bytes: usize) {
        *self.bytes.lock().expect("nobody panics with it") -= bytes;
        self.fewer.notify_one();
    }
}

/// Reads lines until the input ends, each at most [`LONGEST_LINE`] long; bytes that are no UTF-8 are replaced.
fn read(events: &SyncSender<Event>, unheard: &Unheard) {
    let mut input = std::io::stdin().lock();
    let mut line = Vec::new();
    loop {
        line.clear();
        let heard = match read_line(&mut input, &mut line) {
            Ok(Some(true)) => Heard::Line(String::from_utf8_lossy(&line).into_owned()),
            Ok(Some(false)) => Heard::TooLong,
            Ok(None) | Err(_) => {
                // whoever would hear it may be gone
                let _ = events.send(Event::End);
                return;
            }
        };
        unheard.put(heard.bytes());
        if events.send(Event::Heard(heard)).is_err() {
            return;
        }
    }
}

/// The next line without its end, `false` when it was too long and is dropped, `None` at the end of the input.
fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> std::io::Result<Option<bool>> {
    let (mut any, mut fits) = (false, true);
    loop {
        let bytes = match input.fill_buf() {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if bytes.is_empty() {
            return Ok(any.then_some(fits));
        }
        any = true;
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

/// Tells of the end of its thread, however it came.
struct Farewell<'a>(&'a SyncSender<Event>);

impl Drop for Farewell<'_> {
    fn drop(&mut self) {
        let _ = self.0.send(Event::Gone);
    }
}

/// Searches what is ordered until no more orders can come.
fn search<G: Game>(
    thinker: impl FnOnce() -> Result<Thinker<G>>,
    ordered: &Receiver<Work<G>>,
    events: &SyncSender<Event>,
    stop: &AtomicBool,
) {
    let _farewell = Farewell(events);
    // whoever would hear it may be gone: then no more orders come
    let tell = |event| {
        let _ = events.send(event);
    };
    let mut thinker = match thinker() {
        Ok(thinker) => thinker,
        Err(error) => return tell(Event::Found(Err(error))),
    };
    tell(Event::Ready);
    let mut next = ordered.recv().ok();
    while let Some(work) = next.take() {
        match work {
            Work::Follow(task) => {
                thinker.follow(&task);
                tell(Event::Ready);
            }
            Work::Search(task, begun) => {
                let found =
                    thinker.search(&task, begun, stop, &mut |report| tell(Event::Progress(report.clone())));
                let action = found.as_ref().ok().map(|report| report.action);
                tell(Event::Found(found));
                if let Some(action) = action.filter(|_| task.ponder) {
                    next = match ponder(&mut thinker, action, task.memory, ordered, stop) {
                        Ok(next) => next,
                        Err(error) => return tell(Event::Found(Err(error))),
                    };
                }
            }
        }
        next = next.or_else(|| ordered.recv().ok());
    }
}

/// Thinks on until there is something else to do, which it returns, or it is stopped.
fn ponder<G: Game>(
    thinker: &mut Thinker<G>,
    action: Action,
    memory: usize,
    ordered: &Receiver<Work<G>>,
    stop: &AtomicBool,
) -> Result<Option<Work<G>>> {
    let mut next = None;
    thinker.ponder(action, memory, || match ordered.try_recv() {
        Ok(work) => {
            next = Some(work);
            false
        }
        Err(TryRecvError::Empty) => !stop.load(Ordering::Relaxed),
        Err(TryRecvError::Disconnected) => false,
    })?;
    Ok(next)
}

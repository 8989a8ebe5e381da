//! The streams around a protocol: standard input to lines, a thread that searches, lines to standard output.
//!
//! Three threads: one reads, one searches, and this one hears both in the order of their events and is the only one that
//! prints. Memory is bounded: lines, waiting lines and the queue between the threads all have limits.

use std::collections::VecDeque;
use std::io::{BufRead, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, TryRecvError, channel, sync_channel};
use std::thread;
use std::time::Instant;

use crate::error::{Error, Result};
use crate::game::Game;
use crate::protocol::engine::{Engine, Report, Task};
use crate::protocol::{Hearing, Order, Protocol, Reply};

/// A longer line is refused; every legal game of ours fits many times.
const LONGEST_LINE: usize = 1 << 20;
/// Lines that may wait for a search to end.
const MOST_WAITING: usize = 256;
/// Events on their way to the thread that prints.
const EVENTS: usize = 8;

enum Event {
    Line(String),
    TooLong,
    End,
    Progress(Report),
    Found(Result<Report>),
    /// The searching thread is gone, by a bug of ours.
    Broken,
}

/// Talks on the standard streams until the other side has enough. `engine` is made on the searching thread, so that the
/// first answers need not wait for it.
pub fn converse<G: Game, P: Protocol<G>>(
    protocol: P,
    engine: impl FnOnce() -> Result<Engine<G>> + Send,
) -> Result<()> {
    let (events, heard) = sync_channel(EVENTS);
    let (tasks, ordered) = channel();
    let stop = Arc::new(AtomicBool::new(false));
    thread::scope(|scope| {
        let (to_reader, flag) = (events.clone(), stop.clone());
        // not of the scope: it may wait for a line that never comes
        thread::spawn(move || read(&to_reader));
        scope.spawn(move || work(engine, &ordered, &events, &flag));
        let mut desk = Desk {
            protocol,
            tasks: Some(tasks),
            stop,
            searching: None,
            waiting: VecDeque::new(),
            stopped: 0,
            ended: false,
            deadline: None,
        };
        desk.run(&heard)
    })
}

/// The thread that hears and prints.
struct Desk<G: Game, P> {
    protocol: P,
    /// Gone when no more is to be searched.
    tasks: Option<Sender<Task<G>>>,
    stop: Arc<AtomicBool>,
    /// Whether the search under way, if any, has no end of its own.
    searching: Option<bool>,
    waiting: VecDeque<String>,
    /// So many of the waiting lines were there when the last `stop` was heard: it is meant for their searches too.
    stopped: usize,
    /// Nothing more will be heard: what is ordered is finished, until the deadline if there is one.
    ended: bool,
    deadline: Option<Instant>,
}

impl<G: Game, P: Protocol<G>> Desk<G, P> {
    fn run(&mut self, heard: &Receiver<Event>) -> Result<()> {
        let result = self.talk(heard);
        // whatever ended the talk, the searching thread shall end too
        self.stop.store(true, Ordering::Relaxed);
        self.tasks = None;
        // it may be waiting to be heard
        while !matches!(heard.recv(), Ok(Event::Broken) | Err(_)) {}
        result
    }

    fn talk(&mut self, heard: &Receiver<Event>) -> Result<()> {
        while !(self.ended && self.searching.is_none() && self.waiting.is_empty()) {
            match self.next_event(heard) {
                Ok(Event::Line(line)) => self.hear(line)?,
                Ok(Event::TooLong) => self
                    .say(&self.protocol.refuse(&format!("a line of over {LONGEST_LINE} bytes is ignored")))?,
                Ok(Event::End) => {
                    self.ended = true;
                    self.end_infinite();
                }
                Ok(Event::Progress(report)) => self.say(self.protocol.progress(&report).as_slice())?,
                Ok(Event::Found(report)) => {
                    self.searching = None;
                    let reply = self.protocol.found(&report?);
                    self.carry_out(reply, false)?;
                    self.hear_waiting()?;
                }
                Err(RecvTimeoutError::Timeout) => {
                    self.deadline = None;
                    self.waiting.clear();
                    self.stop.store(true, Ordering::Relaxed);
                }
                Ok(Event::Broken) | Err(RecvTimeoutError::Disconnected) => {
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

    fn hear(&mut self, line: String) -> Result<()> {
        if self.ended {
            return Ok(());
        }
        let at_once = self.searching.is_none()
            || match self.protocol.hearing(&line) {
                Hearing::Now => true,
                Hearing::InTurn => self.waiting.is_empty(),
                Hearing::AfterSearch => false,
            };
        if at_once {
            let reply = self.protocol.line(&line);
            return self.carry_out(reply, false);
        }
        if self.waiting.len() == MOST_WAITING {
            let problem = format!("{MOST_WAITING} lines wait for the search to end: this one is ignored");
            return self.say(&self.protocol.refuse(&problem));
        }
        self.waiting.push_back(line);
        self.end_infinite();
        Ok(())
    }

    /// Lines that wait, or no more lines, end a search that would go on for ever.
    fn end_infinite(&self) {
        if self.searching == Some(true) {
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    fn hear_waiting(&mut self) -> Result<()> {
        while self.searching.is_none()
            && let Some(line) = self.waiting.pop_front()
        {
            let stopped = self.stopped > 0;
            self.stopped = self.stopped.saturating_sub(1);
            let reply = self.protocol.line(&line);
            self.carry_out(reply, stopped)?;
        }
        if self.ended || !self.waiting.is_empty() {
            self.end_infinite();
        }
        Ok(())
    }

    /// Prints and does what a reply says; `stopped`: its search was stopped before it began.
    fn carry_out(&mut self, reply: Reply<G>, stopped: bool) -> Result<()> {
        self.say(&reply.lines)?;
        match reply.order {
            Order::Nothing => {}
            Order::Search(task) => {
                self.stop.store(stopped, Ordering::Relaxed);
                self.searching = Some(task.limits.infinite);
                // a thread that is gone has said so
                if let Some(tasks) = &self.tasks {
                    let _ = tasks.send(task);
                }
            }
            Order::Stop => {
                self.stop.store(true, Ordering::Relaxed);
                self.stopped = self.waiting.len();
            }
            Order::Quit(grace) => {
                self.ended = true;
                self.deadline = Some(Instant::now() + grace);
                self.end_infinite();
            }
        }
        Ok(())
    }

    fn say(&self, lines: &[impl AsRef<str>]) -> Result<()> {
        let mut out = std::io::stdout().lock();
        let text: String = lines.iter().flat_map(|line| [line.as_ref(), "\n"]).collect();
        out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Error::io("standard output"))
    }
}

/// Reads lines until the input ends, each at most [`LONGEST_LINE`] long; bytes that are no UTF-8 are replaced.
fn read(events: &SyncSender<Event>) {
    let mut input = std::io::stdin().lock();
    let mut line = Vec::new();
    loop {
        line.clear();
        let event = match read_line(&mut input, &mut line) {
            Ok(Some(true)) => Event::Line(String::from_utf8_lossy(&line).into_owned()),
            Ok(Some(false)) => Event::TooLong,
            Ok(None) | Err(_) => Event::End,
        };
        let last = matches!(event, Event::End);
        if events.send(event).is_err() || last {
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
        let _ = self.0.send(Event::Broken);
    }
}

/// Searches what is ordered until no more orders can come.
fn work<G: Game>(
    engine: impl FnOnce() -> Result<Engine<G>>,
    ordered: &Receiver<Task<G>>,
    events: &SyncSender<Event>,
    stop: &AtomicBool,
) {
    let _farewell = Farewell(events);
    let mut engine = match engine() {
        Ok(engine) => engine,
        Err(error) => {
            let _ = events.send(Event::Found(Err(error)));
            return;
        }
    };
    let mut next = ordered.recv().ok();
    while let Some(task) = next {
        let found = engine.search(&task, stop, &mut |report| {
            let _ = events.send(Event::Progress(report.clone()));
        });
        let action = found.as_ref().ok().map(|report| report.action);
        if events.send(Event::Found(found)).is_err() {
            return;
        }
        let mut early = None;
        if let Some(action) = action.filter(|_| task.ponder) {
            engine.ponder(action, task.memory, || match ordered.try_recv() {
                Ok(task) => {
                    early = Some(task);
                    false
                }
                Err(TryRecvError::Empty) => true,
                Err(TryRecvError::Disconnected) => false,
            });
        }
        next = early.or_else(|| ordered.recv().ok());
    }
}

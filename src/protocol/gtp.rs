//! GTP 2, the Go Text Protocol (G. Farnebäck, draft 2), for games other than Go.
//!
//! A vertex is an action in the game's own text (`b2-c4`, `pass`, `4`), in upper or lower case. The colors are `black`
//! and `white`, or `b` and `w`: the players of these names, otherwise the first and the second player, as in Go. The
//! names of the game's players and their first letters are understood, too. GTP's rules about handicaps, komi and
//! stones do not apply; `boardsize` accepts the size of the game's board.
//!
//! Match runners do not know when a game is over. In that case, as in Go, the loser resigns, and everybody else
//! passes; a `pass` that was played is in effect until it is taken back. The score is `B+1`, `W+1` or `0`.

use std::time::Duration;

use super::clock::Clock;
use super::thinker::{DEFAULT_MEMORY, Limits, Report, Task};
use super::{MEBIBYTE, OVERHEAD, Order, Protocol, Reply, Urgency};
use crate::any::AnyGame;
use crate::error::quoted;
use crate::game::{Game, Outcome, Player};
use crate::program::Program;
use crate::session::Session;

const COMMANDS: [&str; 16] = [
    "protocol_version",
    "name",
    "version",
    "known_command",
    "list_commands",
    "quit",
    "boardsize",
    "clear_board",
    "komi",
    "play",
    "genmove",
    "undo",
    "showboard",
    "final_score",
    "time_settings",
    "time_left",
];

/// The outcome of a command: its text, or what was wrong.
type GtpAnswer = Result<String, String>;

/// A conversation in GTP.
#[derive(Debug)]
pub struct Gtp {
    name: String,
    session: Session<AnyGame>,
    /// The number of passes played since the game was over.
    passes: usize,
    memory: usize,
    /// The main time of the game, and the time of an extra period with its number of stones, once they are set.
    settings: Option<(Duration, Duration, usize)>,
    /// For each player: the time left, and the number of actions to play in it (0: all).
    clocks: [(Duration, usize); 2],
    /// The number of the command that the current search will answer.
    asked: Option<String>,
    fresh: bool,
}

impl Gtp {
    /// A conversation with an engine of this name.
    pub fn new(game: AnyGame, name: impl Into<String>) -> Gtp {
        let clocks = [(Duration::ZERO, 0); 2];
        let session = Session::new(game);
        let name = name.into();
        let (passes, memory) = (0, DEFAULT_MEMORY);
        Gtp { name, session, passes, memory, settings: None, clocks, asked: None, fresh: true }
    }

    /// Sets the memory of the tree, in MiB.
    pub fn with_hash(mut self, mebibytes: usize) -> Gtp {
        self.memory = mebibytes * MEBIBYTE;
        self
    }

    fn answer(&mut self, command: &str, words: &[&str]) -> GtpAnswer {
        match (command, words) {
            ("protocol_version", []) => Ok("2".into()),
            ("name", []) => Ok(self.name.clone()),
            ("version", []) => Ok(Program::current().version.into()),
            ("known_command", [name]) => Ok(COMMANDS.contains(name).to_string()),
            ("list_commands", []) => Ok(COMMANDS.join("\n")),
            ("boardsize", [size]) => self.board_size(size, size),
            ("boardsize", [width, height]) => self.board_size(width, height),
            ("clear_board", []) => {
                self.session = Session::new(self.session.game().clone());
                (self.passes, self.fresh) = (0, true);
                self.refill();
                Ok(String::new())
            }
            ("komi", [number]) => {
                number.parse::<f64>().map(|_| String::new()).map_err(|_| "syntax error".into())
            }
            ("play", [color, rest @ ..]) if !rest.is_empty() => self.play(color, &rest.join(" ")),
            ("undo", []) => self.undo(),
            ("showboard", []) => Ok(format!("\n{}", self.board())),
            ("final_score", []) => self.final_score(),
            ("time_settings", [main, extra, stones]) => self.time_settings(main, extra, stones),
            ("time_left", [color, time, stones]) => self.time_left(color, time, stones),
            (known, _) if COMMANDS.contains(&known) => Err("syntax error".into()),
            _ => Err("unknown command".into()),
        }
    }

    fn board_size(&self, width: &str, height: &str) -> GtpAnswer {
        let shape = self.session.game().shape();
        match (width.parse::<usize>(), height.parse::<usize>()) {
            (Ok(width), Ok(height)) if (width, height) == (shape.width, shape.height) => Ok(String::new()),
            (Ok(_), Ok(_)) => Err("unacceptable size".into()),
            _ => Err("syntax error".into()),
        }
    }

    fn player(&self, color: &str) -> Result<Player, String> {
        let names = self.session.game().players();
        let is = |name: &str| color.eq_ignore_ascii_case(name);
        let begins = |name: &str| color.len() == 1 && name.to_lowercase().starts_with(&color.to_lowercase());
        let by = |test: &dyn Fn(&str) -> bool| match (test(names[0]), test(names[1])) {
            (true, false) => Some(Player::First),
            (false, true) => Some(Player::Second),
            _ => None,
        };
        // this comes first: a runner's `b` and `w` are the two players, even if one of them is called Blue or B
        let as_in_go = || match color.to_ascii_lowercase().as_str() {
            "black" | "b" => Some(self.black()),
            "white" | "w" => Some(self.black().other()),
            _ => None,
        };
        as_in_go()
            .or_else(|| by(&is))
            .or_else(|| by(&begins))
            .ok_or_else(|| format!("unknown color {}: {} or {}", quoted(color), names[0], names[1]))
    }

    /// The player that GTP calls black.
    fn black(&self) -> Player {
        let [first, second] = self.session.game().players();
        match first.eq_ignore_ascii_case("white") || second.eq_ignore_ascii_case("black") {
            true => Player::Second,
            false => Player::First,
        }
    }

    /// The player of this color; an error if it is not that player's turn.
    fn to_move(&self, color: &str) -> Result<Player, String> {
        let (game, state) = (self.session.game(), self.session.state());
        let player = self.player(color)?;
        if game.outcome(state).is_some() {
            return Err("the game is over".into());
        }
        match game.to_move(state) {
            now if now == player => Ok(player),
            now => Err(format!("it is {}'s turn", game.players()[now.index()])),
        }
    }

    fn play(&mut self, color: &str, text: &str) -> GtpAnswer {
        if self.session.is_over() && text.eq_ignore_ascii_case("pass") {
            self.player(color)?;
            self.passes += 1;
            return Ok(String::new());
        }
        self.to_move(color)?;
        // as programs for Hex call it
        let text = if text.eq_ignore_ascii_case("swap-pieces") { "swap" } else { text };
        match self.session.play_text(text).is_ok() {
            true => Ok(String::new()),
            false => Err("illegal move".into()),
        }
    }

    fn undo(&mut self) -> GtpAnswer {
        match self.passes.checked_sub(1) {
            Some(fewer) => self.passes = fewer,
            None if self.session.undo() => {}
            None => return Err("cannot undo".into()),
        }
        Ok(String::new())
    }

    fn board(&self) -> String {
        let view = self.session.game().view(self.session.state());
        let rows = view.rows.iter().zip(&view.cells).map(|(label, cells)| {
            let cells: String = cells.iter().map(|cell| format!(" {cell:<2}")).collect();
            format!("{label:>3}{}", cells.trim_end())
        });
        let columns: String = view.columns.iter().map(|label| format!(" {label:<2}")).collect();
        let note = (!view.note.is_empty()).then_some(view.note);
        rows.chain([format!("   {}", columns.trim_end())]).chain(note).collect::<Vec<_>>().join("\n")
    }

    /// As in Go, the score names the winner.
    fn final_score(&self) -> GtpAnswer {
        match self.session.game().outcome(self.session.state()) {
            None => Err("cannot score: the game is not over".into()),
            Some(Outcome::Draw) => Ok("0".into()),
            Some(Outcome::Win(winner)) if winner == self.black() => Ok("B+1".into()),
            Some(Outcome::Win(_)) => Ok("W+1".into()),
        }
    }

    fn time_settings(&mut self, main: &str, extra: &str, stones: &str) -> GtpAnswer {
        let (main, extra) = (seconds(main)?, seconds(extra)?);
        let stones = stones.parse().map_err(|_| "syntax error")?;
        // an extra period without stones is how the protocol says that there is no limit
        let unlimited = !extra.is_zero() && stones == 0;
        self.settings = (!unlimited).then_some((main, extra, stones));
        self.refill();
        Ok(String::new())
    }

    fn time_left(&mut self, color: &str, time: &str, stones: &str) -> GtpAnswer {
        let player = self.player(color)?;
        let (time, stones) = (seconds(time)?, stones.parse().map_err(|_| "syntax error")?);
        self.settings.get_or_insert((time, Duration::ZERO, 0));
        self.clocks[player.index()] = (time, stones);
        Ok(String::new())
    }

    fn refill(&mut self) {
        let start = match self.settings {
            Some((main, extra, stones)) if main.is_zero() => (extra, stones),
            Some((main, ..)) => (main, 0),
            None => (Duration::ZERO, 0),
        };
        self.clocks = [start; 2];
    }

    fn generate(&mut self, number: &str, color: &str) -> Reply {
        let outcome = self.session.game().outcome(self.session.state());
        if let (Some(outcome), Ok(player)) = (outcome, self.player(color)) {
            let lost = outcome == Outcome::Win(player.other());
            // a pass that is generated is played, as in Go
            self.passes += usize::from(!lost);
            return reply(number, Ok(if lost { "resign" } else { "pass" }.into()));
        }
        let player = match self.to_move(color) {
            Ok(player) => player,
            Err(what) => return reply(number, Err(what)),
        };
        let mut task = Task::of(&self.session, Limits { clock: self.clock(player), ..Limits::default() });
        (task.fresh, task.memory) = (std::mem::take(&mut self.fresh), self.memory);
        self.asked = Some(number.into());
        Reply::order(Order::Search(task))
    }

    /// The clock for one action. During the main time, the time per action of the period that follows counts as an
    /// increment; the last moments of the main time count as part of that period.
    fn clock(&self, player: Player) -> Option<Clock> {
        let (_, extra, stones) = self.settings?;
        let (left, to_go) = self.clocks[player.index()];
        let each = extra.checked_div(u32::try_from(stones).unwrap_or(u32::MAX)).unwrap_or_default();
        let clock = |left, increment, to_go| Some(Clock { left, increment, to_go, overhead: OVERHEAD });
        match to_go {
            0 if stones > 0 && left <= each => {
                clock(left.saturating_add(extra), Duration::ZERO, Some(stones))
            }
            0 => clock(left, each, None),
            _ => clock(left, Duration::ZERO, Some(to_go)),
        }
    }

    /// Subtracts the time of an action from its player's clock.
    fn spend(&mut self, player: Player, time: Duration) {
        let Some((_, extra, stones)) = self.settings else { return };
        let (left, to_go) = &mut self.clocks[player.index()];
        let overrun = time.saturating_sub(*left);
        *left = left.saturating_sub(time);
        if *to_go > 0 {
            *to_go -= 1;
        } else if left.is_zero() && stones > 0 {
            (*left, *to_go) = (extra.saturating_sub(overrun), stones - 1);
        } else {
            return;
        }
        if *to_go == 0 {
            (*left, *to_go) = (extra, stones);
        }
    }
}

impl Protocol for Gtp {
    fn line(&mut self, line: &str) -> Reply {
        let line: String = line.split('#').next().unwrap_or_default().replace('\t', " ");
        let line: String = line.chars().filter(|c| !c.is_control()).collect();
        let mut words: Vec<&str> = line.split_whitespace().collect();
        let number = match words.first() {
            Some(first) if first.bytes().all(|c| c.is_ascii_digit()) => words.remove(0).to_string(),
            _ => String::new(),
        };
        let Some((&command, words)) = words.split_first() else {
            return if number.is_empty() {
                Reply::nothing()
            } else {
                reply(&number, Err("unknown command".into()))
            };
        };
        match (command, words) {
            ("quit", []) => Reply { order: Order::Quit(Duration::ZERO), ..reply(&number, Ok(String::new())) },
            ("genmove", [color]) => self.generate(&number, color),
            _ => {
                let answer = self.answer(command, words);
                reply(&number, answer)
            }
        }
    }

    fn urgency(&self, _line: &str) -> Urgency {
        Urgency::AfterSearch
    }

    fn found(&mut self, report: &Report) -> Reply {
        let number = self.asked.take().unwrap_or_default();
        self.spend(self.session.game().to_move(self.session.state()), report.elapsed);
        self.session.play(report.action);
        reply(&number, Ok(report.line.first().cloned().unwrap_or_default()))
    }

    fn failed(&mut self, problem: &str) -> Vec<String> {
        // only a command that is waiting gets an answer
        let answer = |number: String| answered(&number, Err(problem.into()));
        self.asked.take().map(answer).unwrap_or_default()
    }

    fn refuse(&mut self, problem: &str) -> Reply {
        reply("", Err(problem.into()))
    }
}

fn reply(number: &str, answer: GtpAnswer) -> Reply {
    Reply::new(answered(number, answer), Order::Nothing)
}

/// The lines of an answer, which ends with an empty line.
fn answered(number: &str, answer: GtpAnswer) -> Vec<String> {
    let (sign, text) = match answer {
        Ok(text) => ('=', text),
        Err(text) => ('?', text),
    };
    let gap = if text.is_empty() || text.starts_with('\n') { "" } else { " " };
    let whole = format!("{sign}{number}{gap}{text}");
    whole.lines().map(String::from).chain([String::new()]).collect()
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "syntax error")?;
    // a clock that has run out is at zero; NaN and infinity are not times
    let seconds = if seconds < 0.0 { 0.0 } else { seconds };
    Duration::try_from_secs_f64(seconds).map_err(|_| "syntax error".into())
}

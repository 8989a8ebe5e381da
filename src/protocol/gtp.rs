//! GTP 2, the Go Text Protocol (G. Farnebäck, draft 2), for games other than Go.
//!
//! A vertex is an action in the game's own text (`b2-c4`, `pass`, `4`), in uppercase or lowercase. The colors are
//! `black` and `white`, or `b` and `w`. They mean the players with these names or, if there are none, the first and the
//! second player, as in Go. The names of the game's players and their first letters are also valid. If the first
//! command with a color does not name the color of the player who begins, the two names are exchanged until the board
//! is cleared, because match runners begin with black in every game. In a game that only places stones, stones of both
//! colors may instead come in any order. GTP's rules about handicaps, komi, and stones do not apply. `boardsize`
//! accepts the size of the game's board, and other sizes if the game and the agent [support them](Gtp::with_boards).
//!
//! Match runners do not know when a game is over. After its end, `genmove` answers as in Go: `resign` for the loser and
//! `pass` for the winner, or `pass` for both players after a draw. `undo` first takes back the passes that were played
//! after the end. The score is `B+1`, `W+1`, or `0`.

mod analysis;
mod turn;

use std::path::Path;
use std::time::Duration;

use self::analysis::{ANALYZE, AnalysisManner, GENERATE};
use super::clock::Clock;
use super::thinker::{DEFAULT_MEMORY, Limits, Report, Task};
use super::{MEBIBYTE, OVERHEAD, Order, Protocol, Reply, Urgency};
use crate::any::AnyGame;
use crate::error::quoted;
use crate::game::{Game, Outcome, Player};
use crate::notation::{self, Color, MOST_BYTES, Notation};
use crate::program::Program;
use crate::session::Session;
use crate::storage::read_at_most;

const COMMANDS: [&str; 19] = [
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
    "reg_genmove",
    "all_legal_moves",
    "loadsgf",
];

/// The answer to a command: its text, or the error.
type GtpAnswer = Result<String, String>;

/// Opens the game on a board of the given width and height; `None` if the game has no such board.
type Boards = Box<dyn Fn(usize, usize) -> Option<AnyGame>>;

/// A command that awaits the result of a search.
#[derive(Debug)]
struct Asked {
    number: String,
    /// Whether the action is played.
    plays: bool,
    /// How the search is reported, if at all. If it is reported, the answer to the command has already begun.
    analysis: Option<AnalysisManner>,
}

/// A conversation in GTP.
pub struct Gtp {
    name: String,
    session: Session<AnyGame>,
    /// The number of passes played since the game was over.
    passes: usize,
    memory: usize,
    /// The main time of the game, the time of an extra period, and the number of stones in such a period, once they are
    /// set.
    settings: Option<(Duration, Duration, usize)>,
    /// For black and for white, the time left and the number of actions to play in that time (0 for all remaining
    /// actions).
    clocks: [(Duration, usize); 2],
    /// The command that the current search will answer.
    asked: Option<Asked>,
    fresh: bool,
    /// Whether black and white are exchanged in this game.
    exchanged: bool,
    /// The games that were set aside when a stone was played out of turn. `session` contains only what follows the last
    /// change of turn.
    before: Vec<Session<AnyGame>>,
    boards: Option<Boards>,
    /// The game on another board, until a search receives it.
    changed: Option<AnyGame>,
}

debug_fields!(Gtp, name, session, passes, settings, clocks, asked, exchanged);

impl Gtp {
    /// Returns a conversation with an engine named `name`.
    pub fn new(game: AnyGame, name: impl Into<String>) -> Gtp {
        let clocks = [(Duration::ZERO, 0); 2];
        let session = Session::new(game);
        let name = name.into();
        let (passes, memory) = (0, DEFAULT_MEMORY);
        Gtp {
            name,
            session,
            passes,
            memory,
            settings: None,
            clocks,
            asked: None,
            fresh: true,
            exchanged: false,
            before: Vec::new(),
            boards: None,
            changed: None,
        }
    }

    /// Sets how `boardsize` opens the game on a board of another width and height. The
    /// [thinker](super::thinker::Thinker::with_boards) must be able to play on that board, too.
    pub fn with_boards(mut self, open: impl Fn(usize, usize) -> Option<AnyGame> + 'static) -> Gtp {
        self.boards = Some(Box::new(open));
        self
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
            ("known_command", [name]) => Ok(is_known(name).to_string()),
            ("list_commands", []) => Ok([&COMMANDS[..], &ANALYZE, &GENERATE].concat().join("\n")),
            ("boardsize", [size]) => self.board_size(size, size),
            ("boardsize", [width, height]) => self.board_size(width, height),
            ("clear_board", []) => {
                self.begin(Session::new(self.session.game().clone()));
                self.fresh = true;
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
            ("all_legal_moves", []) => Ok(self.legal().join(" ")),
            ("loadsgf", [path @ .., number]) if !path.is_empty() && number.parse::<usize>().is_ok() => {
                self.load(&path.join(" "), number.parse().ok())
            }
            ("loadsgf", path) if !path.is_empty() => self.load(&path.join(" "), None),
            (known, _) if is_known(known) => Err("syntax error".into()),
            _ => Err("unknown command".into()),
        }
    }

    /// Continues with another game.
    fn begin(&mut self, session: Session<AnyGame>) {
        self.session = session;
        (self.passes, self.exchanged) = (0, false);
        self.before.clear();
    }

    fn board_size(&mut self, width: &str, height: &str) -> GtpAnswer {
        let shape = self.session.game().shape();
        let (Ok(width), Ok(height)) = (width.parse::<usize>(), height.parse::<usize>()) else {
            return Err("syntax error".into());
        };
        if (width, height) != (shape.width, shape.height) {
            let game =
                self.boards.as_ref().and_then(|open| open(width, height)).ok_or("unacceptable size")?;
            self.begin(Session::new(game.clone()));
            self.changed = Some(game);
            self.refill();
        }
        Ok(String::new())
    }

    fn legal(&self) -> Vec<String> {
        let (game, state) = (self.session.game(), self.session.state());
        game.legal(state).iter().map(|action| game.action_text(state, *action)).collect()
    }

    /// Goes to the end of the first game of an SGF file, or to the position before action `number`.
    fn load(&mut self, path: &str, number: Option<usize>) -> GtpAnswer {
        let failure = |why: &dyn std::fmt::Display| format!("cannot load file: {why}");
        let bytes =
            read_at_most(Path::new(path), MOST_BYTES, "a file of games").map_err(|error| failure(&error))?;
        let text = String::from_utf8_lossy(&bytes);
        let first = notation::read(Notation::Sgf, &text).next();
        let mut record = first
            .ok_or_else(|| failure(&"it contains no game"))?
            .map_err(|unread| failure(&format!("line {}: {}", unread.line, unread.what)))?;
        // the color that acts first or, in a game without actions, would act first
        let by = record.moves.first().and_then(|action| action.by).or(record.setup.to_move);
        if let Some(number) = number {
            record.moves.truncate(number.saturating_sub(1));
        }
        if record.moves.is_empty() && !record.setup.stones.is_empty() {
            record.setup.to_move = record.setup.to_move.or(by);
        }
        let replayed =
            notation::replay(self.session.game(), &record).map_err(|refused| match refused.ply {
                Some(ply) => failure(&format!("action {ply}: {}", refused.what)),
                None => failure(&refused.what),
            })?;
        self.begin(replayed.session);
        let begins = self.session.game().to_move(self.session.start());
        self.exchanged = by.is_some_and(|color| (begins == self.black()) != (color == Color::Black));
        Ok(String::new())
    }

    fn player(&self, color: &str) -> Result<Player, String> {
        let names = self.session.game().about().player_names();
        let is = |name: &str| color.eq_ignore_ascii_case(name);
        let begins = |name: &str| color.len() == 1 && name.to_lowercase().starts_with(&color.to_lowercase());
        let by = |test: &dyn Fn(&str) -> bool| match (test(names[0]), test(names[1])) {
            (true, false) => Some(Player::First),
            (false, true) => Some(Player::Second),
            _ => None,
        };
        // tested first, because a runner's `b` and `w` are the two players even if one of them is called Blue or B
        let as_in_go = || match color.to_ascii_lowercase().as_str() {
            "black" | "b" => Some(self.black()),
            "white" | "w" => Some(self.black().other()),
            _ => None,
        };
        as_in_go()
            .or_else(|| by(&is))
            .or_else(|| by(&begins))
            .ok_or_else(|| format!("unknown color {}: use {} or {}", quoted(color), names[0], names[1]))
    }

    /// Returns the player that GTP calls black.
    fn black(&self) -> Player {
        let [first, second] = self.session.game().about().player_names();
        let is_second = first.eq_ignore_ascii_case("white") || second.eq_ignore_ascii_case("black");
        if is_second == self.exchanged { Player::First } else { Player::Second }
    }

    /// Returns the index of this player's clock: 0 for black, 1 for white.
    fn clock_of(&self, player: Player) -> usize {
        usize::from(player != self.black())
    }

    /// Returns the game in which this color is to move: `None` if it is to move in the current game, or else a game
    /// with the [same stones](turn::with_turn) and the other player to move.
    fn turn_of(&mut self, color: &str, is_stone: bool) -> Result<Option<Session<AnyGame>>, String> {
        let player = self.player(color)?;
        if self.session.is_over() {
            return Err("the game is over".into());
        }
        let (game, state) = (self.session.game(), self.session.state());
        let now = game.to_move(state);
        if now == player {
            return Ok(None);
        }
        let is_of_go = ["b", "w", "black", "white"].contains(&color.to_ascii_lowercase().as_str());
        let begins = self.session.actions().is_empty() && self.before.is_empty() && *state == game.initial();
        // stones before the first action may set up a position; then the colors cannot be exchanged, because each color
        // has its own goal
        let places = turn::can_set_up(game);
        let is_named =
            |name: &str| game.about().player_names().iter().any(|player| player.eq_ignore_ascii_case(name));
        if begins && is_of_go && (!places || is_named("black") || is_named("white")) {
            self.exchanged = !self.exchanged;
            return Ok(None);
        }
        let is_set_up = is_stone || begins || !self.before.is_empty();
        let other = turn::with_turn(game, state, player).filter(|_| places && is_set_up);
        let name = match self.exchanged {
            true if now == self.black() => "black",
            true => "white",
            false => game.about().player(now),
        };
        let other = other.ok_or_else(|| format!("it is {name}'s turn"))?;
        Ok(Some(Session::from(game.clone(), other)))
    }

    fn play(&mut self, color: &str, text: &str) -> GtpAnswer {
        if self.session.is_over() && text.eq_ignore_ascii_case("pass") {
            self.player(color)?;
            self.passes += 1;
            return Ok(String::new());
        }
        // programs for Hex use the name `swap-pieces`
        let text = if text.eq_ignore_ascii_case("swap-pieces") { "swap" } else { text };
        let Some(mut other) = self.turn_of(color, true)? else {
            return if self.session.play_text(text).is_ok() {
                Ok(String::new())
            } else {
                Err("illegal move".into())
            };
        };
        let is_legal = other.play_text(text).is_ok();
        if is_legal && turn::adds_one(other.game(), other.start(), other.state()) {
            self.before.push(std::mem::replace(&mut self.session, other))
        } else {
            return Err("illegal move".into());
        }
        Ok(String::new())
    }

    fn undo(&mut self) -> GtpAnswer {
        match self.passes.checked_sub(1) {
            Some(fewer) => self.passes = fewer,
            None if self.session.undo() => {
                // the turn may have been changed only for this action
                if self.session.actions().is_empty()
                    && let Some(before) = self.before.pop()
                {
                    self.session = before;
                }
            }
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

    /// Answers with the score, which names the winner as in Go.
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
        // in the protocol, an extra period without stones means that there is no limit
        let unlimited = !extra.is_zero() && stones == 0;
        self.settings = (!unlimited).then_some((main, extra, stones));
        self.refill();
        Ok(String::new())
    }

    fn time_left(&mut self, color: &str, time: &str, stones: &str) -> GtpAnswer {
        let player = self.player(color)?;
        let (time, stones) = (seconds(time)?, stones.parse().map_err(|_| "syntax error")?);
        self.settings.get_or_insert((time, Duration::ZERO, 0));
        let clock = self.clock_of(player);
        self.clocks[clock] = (time, stones);
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

    fn generate(&mut self, number: &str, command: &str, words: &[&str]) -> Reply {
        self.search(number, command, words).unwrap_or_else(|what| reply(number, Err(what)))
    }

    /// Orders the search for a command.
    fn search(&mut self, number: &str, command: &str, words: &[&str]) -> Result<Reply, String> {
        let plays = command == "genmove" || GENERATE.contains(&command);
        let endless = ANALYZE.contains(&command);
        let (color, analysis) = match (command, words) {
            ("genmove" | "reg_genmove", [color]) => (Some(*color), None),
            ("genmove" | "reg_genmove", _) => return Err("syntax error".into()),
            _ => AnalysisManner::read(command, words).map(|(color, manner)| (color, Some(manner)))?,
        };
        if color.is_none() && !endless {
            return Err("syntax error".into());
        }
        let outcome = self.session.game().outcome(self.session.state());
        if let (Some(outcome), Some(color), false) = (outcome, color, endless) {
            let player = self.player(color)?;
            let lost = outcome == Outcome::Win(player.other());
            // a generated pass is played, as in Go
            self.passes += usize::from(plays && !lost);
            let word = if lost { "resign" } else { "pass" };
            return Ok(match analysis {
                Some(_) => Reply::new(
                    vec![format!("={number}"), format!("play {word}"), String::new()],
                    Order::Nothing,
                ),
                None => reply(number, Ok(word.into())),
            });
        }
        let other = match color {
            Some(color) => self.turn_of(color, false)?,
            None if outcome.is_some() => return Err("the game is over".into()),
            None => None,
        };
        let session = other.as_ref().unwrap_or(&self.session);
        let player = session.game().to_move(session.state());
        let clock = if plays { self.clock(player) } else { None };
        let limits = Limits { clock, infinite: endless, ..Limits::default() };
        let mut task = Task::of(session, limits);
        (task.fresh, task.memory) = (std::mem::take(&mut self.fresh), self.memory);
        (task.game, task.analysis) = (self.changed.take(), analysis.as_ref().map(|manner| manner.interval));
        if let Some(other) = other.filter(|_| plays) {
            self.before.push(std::mem::replace(&mut self.session, other));
        }
        // the reports of a search are part of the answer
        let first_line = analysis.iter().map(|_| format!("={number}")).collect();
        self.asked = Some(Asked { number: number.into(), plays, analysis });
        Ok(Reply::new(first_line, Order::Search(task)))
    }

    /// Returns the clock for one action. During the main time, the time per action in the following period counts as an
    /// increment. When little main time is left, the main time counts as part of the following period.
    fn clock(&self, player: Player) -> Option<Clock> {
        let (_, extra, stones) = self.settings?;
        let (left, to_go) = self.clocks[self.clock_of(player)];
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
        let clock = self.clock_of(player);
        let (left, to_go) = &mut self.clocks[clock];
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
            ("genmove" | "reg_genmove", words) => self.generate(&number, command, words),
            _ if ANALYZE.contains(&command) || GENERATE.contains(&command) => {
                self.generate(&number, command, words)
            }
            _ => {
                let answer = self.answer(command, words);
                reply(&number, answer)
            }
        }
    }

    fn urgency(&self, _line: &str) -> Urgency {
        Urgency::AfterSearch
    }

    fn progress(&self, report: &Report) -> Option<String> {
        self.asked.as_ref().and_then(|asked| asked.analysis.as_ref()).map(|manner| manner.line(report))
    }

    fn found(&mut self, report: &Report) -> Reply {
        let last = self.progress(report);
        let Some(Asked { number, plays, analysis }) = self.asked.take() else { return Reply::nothing() };
        if plays {
            self.spend(self.session.game().to_move(self.session.state()), report.elapsed);
            self.session.play(report.action);
        }
        let action = report.line.first().cloned().unwrap_or_default();
        match analysis {
            None => reply(&number, Ok(action)),
            Some(_) => {
                let played = plays.then(|| format!("play {action}"));
                Reply::new(last.into_iter().chain(played).chain([String::new()]).collect(), Order::Nothing)
            }
        }
    }

    fn failed(&mut self, problem: &str) -> Vec<String> {
        // only a waiting command gets an answer
        match self.asked.take() {
            Some(Asked { analysis: Some(_), .. }) => vec![format!("error {problem}"), String::new()],
            Some(Asked { number, .. }) => answered(&number, Err(problem.into())),
            None => Vec::new(),
        }
    }

    fn refuse(&mut self, problem: &str) -> Reply {
        reply("", Err(problem.into()))
    }
}

fn is_known(command: &str) -> bool {
    COMMANDS.contains(&command) || ANALYZE.contains(&command) || GENERATE.contains(&command)
}

fn reply(number: &str, answer: GtpAnswer) -> Reply {
    Reply::new(answered(number, answer), Order::Nothing)
}

/// Returns the lines of an answer. The last line is empty.
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
    // a negative time means that the clock has run out; NaN and infinity are not times
    let seconds = if seconds < 0.0 { 0.0 } else { seconds };
    Duration::try_from_secs_f64(seconds).map_err(|_| "syntax error".into())
}

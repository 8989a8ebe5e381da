//! Plays a written game by the rules.
//!
//! Input: a [`Written`] game. Output: what was played, as actions of the game, or the [reason](Refused) why it is not a
//! game of these rules. One action in a file, such as a chain of jumps, can be several actions of the game. A pass that
//! the rules force need not be written.

use super::board::{Rows, WrittenBoard, name_of, squares_in};
use super::lines;
use super::pdn::SEPARATORS;
use super::{Color, Move, Notation, Said, Winner, Written};
use crate::error::quoted;
use crate::game::{Action, Game, Outcome, Player};
use crate::replay::ended::Ended;
use crate::replay::played::Played;
use crate::session::{Session, meant};

/// The largest number of positions that are examined to find the game's actions for one action in a file.
const MOST_POSITIONS: usize = 10_000;

/// The kind of reason why a game is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The text is damaged.
    Unread,
    /// The game was played on another board.
    Board,
    /// The game cannot begin in its start position.
    Start,
    /// An action is not legal, or is by the wrong player.
    Illegal,
    /// An action can be understood in several ways.
    Ambiguous,
    /// The game continues after its end.
    Over,
    /// There are no actions.
    Empty,
    /// The game is not over, and there is no result.
    NoResult,
    /// The result contradicts the rules.
    Contradiction,
}

impl Reason {
    /// Returns the reason in words that fit after a number of games.
    pub fn words(self) -> &'static str {
        match self {
            Reason::Unread => "cannot be read",
            Reason::Board => "on a different board",
            Reason::Start => "with an invalid start position",
            Reason::Illegal => "with an illegal action",
            Reason::Ambiguous => "with an ambiguous action",
            Reason::Over => "that continue after their end",
            Reason::Empty => "without actions",
            Reason::NoResult => "not over and without a result",
            Reason::Contradiction => "with a result that contradicts the rules",
        }
    }
}

/// Why a game is refused, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The kind of reason.
    pub reason: Reason,
    /// The number of the action in the file, from 1; `None` if the fault is not in an action.
    pub ply: Option<usize>,
    /// What is wrong, in words.
    pub what: String,
}

fn refused<T>(reason: Reason, ply: Option<usize>, what: impl Into<String>) -> Result<T, Refused> {
    Err(Refused { reason, ply, what: what.into() })
}

/// A written game after it was played by the rules.
#[derive(Clone, Debug)]
pub struct Replayed<G: Game> {
    /// The start position and the actions.
    pub session: Session<G>,
    /// The result that the file gives, in terms of the game's players.
    pub said: Option<(Outcome, Option<Ended>)>,
}

/// Plays a written game, which need not be over.
///
/// # Errors
/// If it is not a game of these rules.
pub fn replay<G: Game>(game: &G, written: &Written) -> Result<Replayed<G>, Refused> {
    let board = WrittenBoard::of(game);
    if let Some([columns, rows]) = written.board.filter(|size| *size != [board.width, board.height]) {
        let (width, height) = (board.width, board.height);
        return refused(
            Reason::Board,
            None,
            format!("the file has a board of {columns} x {rows}, but the game has one of {width} x {height}"),
        );
    }
    let letters = |text: &str| text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_alphabetic());
    let in_letters = written.moves.iter().any(|action| letters(&action.text));
    let play = |rows: Rows| Playing::begin(game, written, &board, rows).and_then(Playing::play);
    match play(Rows::Down) {
        // some programs count the rows from the bottom
        Err(down) if in_letters && board.has_two_ways() => match play(Rows::Up) {
            Err(up) if up.ply <= down.ply => Err(down),
            up => up,
        },
        down => down,
    }
}

/// Plays a written game to its end, and returns what a record of it needs.
///
/// # Errors
/// If it is not a game of these rules, or has no result.
///
/// ```
/// use petteia::game::{GameOptions, Outcome, Player, Rules};
/// use petteia::games::connect_four::ConnectFour;
/// use petteia::notation::{Notation, played, read};
/// use petteia::replay::ended::Ended;
///
/// let rules = Rules::<ConnectFour>::new(&GameOptions::default())?;
/// let mut games = read(Notation::Lines, "4 4 3 second time\n4 4 3\n");
/// let game = games.next().expect("a line").expect("it can be read");
/// let record = played(&rules.game, &game).expect("legal actions").record(&rules, 0)?;
/// assert_eq!((record.outcome.as_str(), record.ended), ("second", Some(Ended::Time)));
/// let game = games.next().expect("a line").expect("it can be read");
/// assert_eq!(played(&rules.game, &game).unwrap_err().what, "the game is not over, and the file gives no result");
/// # Ok::<(), petteia::error::Error>(())
/// ```
pub fn played<G: Game>(game: &G, written: &Written) -> Result<Played, Refused> {
    if written.moves.is_empty() {
        return refused(Reason::Empty, None, "there are no actions");
    }
    let Replayed { session, said: verdict } = replay(game, written)?;
    if session.actions().is_empty() {
        return refused(Reason::Empty, None, "there are no actions");
    }
    let words = |outcome: Outcome| crate::game::outcome_text(game, outcome);
    let (outcome, ended) = match (game.outcome(session.state()), verdict) {
        (Some(found), Some((outcome, _))) if found != outcome => {
            let (claim, result) = (words(outcome), words(found));
            return refused(
                Reason::Contradiction,
                None,
                format!("the result in the file is `{claim}`, but by the rules it is `{result}`"),
            );
        }
        (Some(found), _) => (found, None),
        (None, Some((outcome, ended))) => {
            let ended = ended.filter(|ended| ended.allows(outcome));
            (outcome, Some(ended.unwrap_or(Ended::usual(outcome))))
        }
        (None, None) => {
            return refused(Reason::NoResult, None, "the game is not over, and the file gives no result");
        }
    };
    Ok(Played {
        start: Some(game.state_text(session.start())),
        actions: session.texts(),
        outcome: Some(outcome),
        ended,
    })
}

/// A game in progress.
struct Playing<'a, G: Game> {
    session: Session<G>,
    written: &'a Written,
    board: &'a WrittenBoard,
    rows: Rows,
    /// The player whom the file calls Black.
    black: Player,
    said: Option<(Outcome, Option<Ended>)>,
}

impl<'a, G: Game> Playing<'a, G> {
    fn begin(game: &G, written: &'a Written, board: &'a WrittenBoard, rows: Rows) -> Result<Self, Refused> {
        let black = black(game, written);
        let start = |what: String| Refused { reason: Reason::Start, ply: None, what };
        let setup = &written.setup;
        let state = match &written.start {
            Some(text) => {
                let state = game.parse_state(text).map_err(|error| start(error.to_string()))?;
                if game.outcome(&state).is_some() {
                    return Err(start("the game is already over in its start position".into()));
                }
                state
            }
            None if setup.stones.is_empty() && !setup.is_whole => game.initial(),
            None => {
                let first = written.moves.first().and_then(|action| action.by);
                let to_move = match setup.to_move.or(first) {
                    Some(Color::Black) => black,
                    Some(Color::White) => black.other(),
                    None => Player::First,
                };
                let text = board.position(game, setup, to_move, rows, black).map_err(start)?;
                game.parse_state(&text).map_err(|error| start(error.to_string()))?
            }
        };
        let session = Session::from(game.clone(), state);
        Ok(Playing { session, written, board, rows, black, said: None })
    }

    fn play(mut self) -> Result<Replayed<G>, Refused> {
        self.said = self.written.said.map(|verdict| self.outcome_of(verdict));
        let moves = &self.written.moves;
        for (index, written) in moves.iter().enumerate() {
            let ply = Some(index + 1);
            if self.is_end(written, &moves[index + 1..]) {
                return Ok(Replayed { session: self.session, said: self.said });
            }
            if is_change_of_seats(written, moves.get(index + 1)) {
                continue;
            }
            if self.session.is_over() {
                let what = format!("the game is over, but {} follows", quoted(&written.text));
                return refused(Reason::Over, ply, what);
            }
            self.check_turn(written, ply)?;
            let found = match self.find(&written.text) {
                // a pass that cannot be avoided is usually not written
                Err(_) if self.passes() => self.find(&written.text),
                found => found,
            };
            match found {
                Ok(actions) => actions.into_iter().for_each(|action| self.session.play(action)),
                Err((reason, what)) => return refused(reason, ply, what),
            }
        }
        Ok(Replayed { session: self.session, said: self.said })
    }

    /// Returns whether `written` and `rest` are not actions but the end of the game: a resignation or, in a list of
    /// actions, a result. If so, stores the result.
    fn is_end(&mut self, written: &Move, rest: &[Move]) -> bool {
        let text = written.text.to_lowercase();
        let given_up = match text.as_str() {
            "resign" | "resigns" => Some(Ended::Resigned),
            "forfeit" => Some(Ended::Adjudicated),
            "timeout" => Some(Ended::Time),
            _ => None,
        };
        let result = |word: &Move| lines::result(&word.text, self.session.game().about().player_names());
        match (given_up, rest) {
            (Some(_), []) => {
                let by = written.by.map_or_else(|| self.to_move(), |color| self.player(color));
                self.said.get_or_insert((Outcome::Win(by.other()), given_up));
                return true;
            }
            // a list that also names the winner; the loser need not be the player who was to move
            (Some(_), [word]) if self.written.notation == Notation::Lines => {
                let verdict = result(word);
                self.said = verdict.map(|verdict| self.outcome_of(Said { ended: given_up, ..verdict }));
                return verdict.is_some();
            }
            _ => {}
        }
        if self.written.notation != Notation::Lines || rest.len() > 1 {
            return false;
        }
        let verdict = result(written);
        let ended = rest.first().map(|word| lines::ended(&word.text));
        // a word that is a legal action is not taken as a result: in a game whose actions are numbers, `1` could be
        // either
        let is_action = || !self.session.is_over() && self.find(&written.text).is_ok();
        match (verdict, ended) {
            (Some(verdict), None | Some(Some(_))) if !is_action() => {
                self.said = Some(self.outcome_of(Said { ended: ended.flatten(), ..verdict }));
                true
            }
            // the result is not known
            (None, None) => text == "*" || text == "?",
            _ => false,
        }
    }

    /// Refuses an action by the player who is not to move, unless the player to move can only pass. In that case, plays
    /// the pass.
    fn check_turn(&mut self, written: &Move, ply: Option<usize>) -> Result<(), Refused> {
        let Some(color) = written.by else { return Ok(()) };
        let is_turn = |this: &Self| this.player(color) == this.to_move();
        if is_turn(self) || (self.passes() && is_turn(self)) {
            return Ok(());
        }
        let (name, players) = (color.name(), self.session.game().about().player_names());
        let turn = players[self.to_move().index()];
        refused(Reason::Illegal, ply, format!("{name} acts, but it is {turn}'s turn"))
    }

    /// Plays a pass if that is the only legal action, and returns whether it did.
    fn passes(&mut self) -> bool {
        let (game, state) = (self.session.game(), self.session.state());
        let legal = game.legal(state);
        let [only] = legal[..] else { return false };
        let is_pass = squares_in(&game.action_text(state, only), self.board).is_empty()
            && game.touched(state, only).is_empty();
        if is_pass {
            self.session.play(only);
        }
        is_pass
    }

    fn to_move(&self) -> Player {
        self.session.game().to_move(self.session.state())
    }

    fn player(&self, color: Color) -> Player {
        match color {
            Color::Black => self.black,
            Color::White => self.black.other(),
        }
    }

    fn outcome_of(&self, verdict: Said) -> (Outcome, Option<Ended>) {
        let outcome = match verdict.winner {
            Winner::Of(color) => Outcome::Win(self.player(color)),
            Winner::First => Outcome::Win(Player::First),
            Winner::Second => Outcome::Win(Player::Second),
            Winner::Nobody => Outcome::Draw,
        };
        (outcome, verdict.ended)
    }

    /// Returns the actions that a text stands for in the current position.
    fn find(&self, text: &str) -> Result<Vec<Action>, (Reason, String)> {
        let (game, state) = (self.session.game(), self.session.state());
        match self.written.notation {
            Notation::Pdn if text.contains(SEPARATORS) => self.chain(text),
            Notation::Sgf => self.point(text).map(|action| vec![action]).ok_or_else(|| self.illegal(text)),
            Notation::Pdn | Notation::Lines => {
                actions_of(game, state, text).ok_or_else(|| self.illegal(text))
            }
        }
    }

    fn illegal(&self, text: &str) -> (Reason, String) {
        let error = crate::session::illegal(self.session.game(), self.session.state(), text);
        (Reason::Illegal, error.to_string())
    }

    /// Returns the action that SGF writes as a point (`hg`, `a3`, or nothing for a pass) or as a word.
    fn point(&self, text: &str) -> Option<Action> {
        let (game, state) = (self.session.game(), self.session.state());
        let text = match text.to_ascii_lowercase().as_str() {
            "" | "pa" | "pass" => "pass".into(),
            "swap-pieces" | "swap" => "swap".into(),
            _ => match self.board.of_letters(text, self.rows) {
                Some(square) => name_of(square, self.board),
                // in old files, `tt` is a pass on boards that have no such square
                None if text == "tt" => "pass".into(),
                None => text.to_string(),
            },
        };
        meant(game, state, &text)
    }

    /// Returns the actions that PDN writes as squares (`1-5`, `1x10x19`, `1x19`): successive actions of the same
    /// player.
    fn chain(&self, text: &str) -> Result<Vec<Action>, (Reason, String)> {
        let square = |text: &str| match text.parse::<usize>() {
            Ok(number) => self.board.of_number(number, self.black),
            Err(_) => crate::board::parse_square(text, self.board.height, self.board.width),
        };
        let path: Option<Vec<usize>> = text.split(SEPARATORS).map(square).collect();
        let path = path.filter(|path| path.len() > 1);
        let Some(path) = path else {
            return Err((
                Reason::Illegal,
                format!("{} names squares that the board does not have", quoted(text)),
            ));
        };
        let found = chains(self.session.game(), self.session.state(), &path, self.board);
        let mut ends: Vec<(Vec<Action>, G::State)> = Vec::new();
        for (actions, end) in found {
            if ends.iter().all(|(_, known)| *known != end) {
                ends.push((actions, end));
            }
        }
        // if the whole path is written, only that path is meant
        let is_whole = |actions: &Vec<Action>| actions.len() + 1 == path.len();
        match ends.iter().filter(|(actions, _)| is_whole(actions)).count() {
            1 => ends.retain(|(actions, _)| is_whole(actions)),
            _ if ends.len() > 1 => {
                let what = format!(
                    "{} can be played in {} ways: the file names too few squares",
                    quoted(text),
                    ends.len()
                );
                return Err((Reason::Ambiguous, what));
            }
            _ => {}
        }
        let names: Vec<String> = path.iter().map(|square| name_of(*square, self.board)).collect();
        let (reason, why) = self.illegal(text);
        ends.pop().map(|(actions, _)| actions).ok_or_else(|| {
            let why = why.split(';').next().unwrap_or_default();
            (reason, format!("{why} (read as {})", names.join("-")))
        })
    }
}

/// Returns the player whom a file calls Black: the player with this name or, if there is none, the player who begins.
fn black<G: Game>(game: &G, written: &Written) -> Player {
    let index_of =
        |name: &str| game.about().player_names().iter().position(|player| player.eq_ignore_ascii_case(name));
    let players = [Player::First, Player::Second];
    match (index_of("Black"), index_of("White")) {
        (Some(player), _) => players[player],
        (None, Some(player)) => players[player].other(),
        (None, None) => {
            let first = written.moves.first().and_then(|action| action.by);
            let is_setup = !written.setup.stones.is_empty();
            let begins = written.begins.or(first.filter(|_| !is_setup));
            let first = game.to_move(&game.initial());
            if begins == Some(Color::White) { first.other() } else { first }
        }
    }
}

/// Returns whether a swap only exchanges seats. In that case, the same color acts again, nothing changes on the board,
/// and the colors in the file remain correct.
fn is_change_of_seats(written: &Move, next: Option<&Move>) -> bool {
    let is_swap = written.text.to_ascii_lowercase().starts_with("swap");
    is_swap && written.by.is_some() && next.is_some_and(|next| next.by == written.by)
}

/// Returns the actions that a word stands for: one action, or several without spaces between them (`F5D6C3`). A pass
/// that the rules force need not be written.
pub fn actions_of<G: Game>(game: &G, state: &G::State, word: &str) -> Option<Vec<Action>> {
    if let Some(action) = meant(game, state, word) {
        return Some(vec![action]);
    }
    let (mut state, mut actions, mut rest) = (state.clone(), Vec::new(), word);
    while !rest.is_empty() {
        let legal = game.legal(&state);
        let texts = legal.iter().map(|action| (game.action_text(&state, *action), *action));
        let begins =
            |text: &str| rest.get(..text.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(text));
        let longest = texts.filter(|(text, _)| begins(text)).max_by_key(|(text, _)| text.len());
        let action = match longest {
            Some((text, action)) => {
                rest = &rest[text.len()..];
                action
            }
            None => match legal[..] {
                [only] if game.touched(&state, only).is_empty() => only,
                _ => return None,
            },
        };
        game.play(&mut state, action);
        actions.push(action);
    }
    Some(actions)
}

/// Returns all sequences of actions by which a player can, in one turn, move a piece along the squares of `path`, from
/// the first to the last. Each sequence comes with the position after it.
fn chains<G: Game>(
    game: &G,
    state: &G::State,
    path: &[usize],
    board: &WrittenBoard,
) -> Vec<(Vec<Action>, G::State)> {
    let player = game.to_move(state);
    let mut found = Vec::new();
    // positions along the path, each with the actions so far, the square of the piece, and the number of path squares
    // reached
    let mut open = vec![(state.clone(), Vec::new(), path[0], 1)];
    let mut positions = 0;
    while let Some((state, actions, at, reached)) = open.pop() {
        positions += 1;
        if positions > MOST_POSITIONS {
            break;
        }
        // in reverse, so the actions come off the stack in order
        for action in game.legal(&state).into_iter().rev() {
            let squares = squares_in(&game.action_text(&state, action), board);
            let &[from, .., to] = &squares[..] else { continue };
            if from != at {
                continue;
            }
            let reached = reached + usize::from(path.get(reached) == Some(&to));
            let mut next = state.clone();
            game.play(&mut next, action);
            let mut actions: Vec<Action> = actions.clone();
            actions.push(action);
            let goes_on = game.outcome(&next).is_none() && game.to_move(&next) == player;
            match goes_on {
                true => open.push((next, actions, to, reached)),
                false if reached == path.len() && path.last() == Some(&to) => found.push((actions, next)),
                false => {}
            }
        }
    }
    found
}

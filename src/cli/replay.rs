//! `petteia replay`: plays actions from standard input and prints every position.

use std::io::BufRead;
use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::board::{Marks, drawn, player_text};
use super::play::result_text;
use super::text::{counted, terminal_width};
use super::{GameArgs, print};
use crate::any::{AnyGame, AnyState, Opened};
use crate::draw;
use crate::error::{Error, Result, quoted};
use crate::game::{Game, Outcome};
use crate::session::meant;
use crate::storage::{self, text};

/// The number of legal actions listed in an error.
const SHOWN_ACTIONS: usize = 8;

/// Play actions from standard input and print every position.
#[derive(Args)]
#[command(after_help = "\
Actions are separated by spaces or newlines. Each position is printed as one JSON \
object: ply, to_move, position, legal actions, and outcome. An illegal action stops \
the command with an error that names it.

Examples:
  echo 'b2 a1 c3' | petteia replay tic-tac-toe --board
  echo '4 4 3' | petteia replay connect-four
  echo '4 4 3' | petteia replay connect-four --svg position.svg")]
pub(super) struct Replay {
    #[command(flatten)]
    pub game: GameArgs,
    /// Position to start from [default: the initial position]
    #[arg(long, value_name = "TEXT")]
    position: Option<String>,
    /// Draw each position instead of printing JSON
    #[arg(long)]
    board: bool,
    /// Draw only the last position, as an SVG file
    #[arg(long, value_name = "FILE", conflicts_with = "board")]
    svg: Option<PathBuf>,
}

impl Replay {
    /// Runs the command on a game.
    pub(super) fn on(self, rules: Opened) -> Result<()> {
        let game = &rules.game;
        let mut state = match &self.position {
            Some(text) => game.parse_state(text)?,
            None => game.initial(),
        };
        let (mut ply, mut last) = (0, Vec::new());
        self.show(game, &state, ply, Marks::default())?;
        // input is read line by line, so that a program at the other end of a pipe gets its answers at once
        for line in std::io::stdin().lock().split(b'\n') {
            let line = line.map_err(Error::io("standard input"))?;
            let line = text::readable(&line).map_err(|why| Error::Data(format!("standard input: {why}")))?;
            for text in line.split_whitespace() {
                let action = meant(game, &state, text).ok_or_else(|| illegal(game, &state, ply, text))?;
                let before = state.clone();
                game.play(&mut state, action);
                ply += 1;
                last = game.touched(&before, action);
                self.show(game, &state, ply, Marks { last: last.clone(), hint: Vec::new() })?;
            }
        }
        if let Some(path) = &self.svg {
            let title = format!("{}, {}", game.about().title, position_title(game, &state, ply));
            let marks = draw::Marks { last, ..draw::Marks::default() };
            storage::write_whole(path, draw::file(game, &state, &marks, &title).as_bytes())?;
        }
        Ok(())
    }
}

impl Replay {
    fn show(&self, game: &AnyGame, state: &AnyState, ply: usize, marks: Marks) -> Result<()> {
        if self.svg.is_some() {
            return Ok(());
        }
        if !self.board {
            return print_position(game, state, ply);
        }
        let status = match game.outcome(state) {
            Some(outcome) => result_text(game, outcome),
            None => format!("{} to move", player_text(game, game.to_move(state))),
        };
        print(format_args!("ply {ply}: {status}\n\n{}\n", drawn(game, state, &marks, terminal_width())))
    }
}

/// Describes a position without colors, as `after 3 actions: White to move`.
fn position_title(game: &AnyGame, state: &AnyState, ply: usize) -> String {
    let status = match game.outcome(state) {
        Some(Outcome::Win(player)) => format!("{} has won", game.about().player(player)),
        Some(Outcome::Draw) => "a draw".into(),
        None => format!("{} to move", game.about().player(game.to_move(state))),
    };
    match ply {
        0 => status,
        _ => format!("after {}: {status}", counted(ply, "action", "actions")),
    }
}

fn illegal(game: &AnyGame, state: &AnyState, ply: usize, text: &str) -> Error {
    let legal = game.legal(state);
    let shown: Vec<String> =
        legal.iter().take(SHOWN_ACTIONS).map(|action| game.action_text(state, *action)).collect();
    let why = match legal.len() {
        0 => "the game is over".to_string(),
        1..=SHOWN_ACTIONS => format!("legal here: {}", shown.join(" ")),
        more => format!("legal here: {} ..., {more} in all", shown.join(" ")),
    };
    let (text, position) = (quoted(text), game.state_text(state));
    Error::Illegal(format!("ply {ply}: action {text} is not legal in `{position}` ({why})"))
}

fn print_position(game: &AnyGame, state: &AnyState, ply: usize) -> Result<()> {
    let legal: Vec<String> =
        game.legal(state).iter().map(|action| game.action_text(state, *action)).collect();
    print(json!({
        "ply": ply, "to_move": game.to_move(state).id(), "position": game.state_text(state),
        "legal": legal, "outcome": game.outcome(state).map(|outcome| outcome.id()),
    }))
}

//! `petteia explain`: shows what the sets, actions, and ends in a game's text mean in a position.

use clap::Args;
use serde_json::json;

use super::print;
use super::subject::GameArgs;
use crate::any::Opened;
use crate::board::square_text;
use crate::error::{Error, Result};
use crate::game::{BoardView, Game};
use crate::options::TEXT;
use crate::text_game::{self, Explained};

/// The maximum number of actions listed for a line.
const LISTED: usize = 12;

/// Show what the sets, actions, and ends in a game's text mean in a position.
#[derive(Args)]
#[command(after_help = "\
Examples:
  petteia explain my.game
  petteia explain othello --position '8/8/8/3XO3/3OX3/8/8/8 b 0'

Sets and actions are shown on the board: * marks a square that a line refers to.")]
pub(super) struct Explain {
    #[command(flatten)]
    pub game: GameArgs,
    /// Position to explain [default: the initial position]
    #[arg(long, value_name = "TEXT")]
    position: Option<String>,
    /// Print one JSON object per line of the text
    #[arg(long)]
    json: bool,
}

impl Explain {
    /// Runs the command on a game.
    pub(super) fn on(self, rules: Opened) -> Result<()> {
        let mut options = rules.identity.options.clone();
        let text = options.remove(TEXT);
        let Some(text) = text.as_ref().and_then(toml::Value::as_str) else {
            return Err(Error::Config(format!(
                "`petteia explain` works on games written as text; {} is written in Rust; try `petteia explain \
                 othello`, or a .game file",
                rules.identity.id
            )));
        };
        let game = text_game::read(text, &options).map_err(|problem| Error::Config(problem.to_string()))?;
        let lines = game.explained(self.position.as_deref())?;
        let state = match &self.position {
            Some(text) => rules.game.parse_state(text)?,
            None => rules.game.initial(),
        };
        let (view, width) = (rules.game.view(&state), rules.identity.shape.width);
        for line in lines {
            if self.json {
                let squares: Vec<String> =
                    line.squares.iter().map(|square| square_text(*square, width)).collect();
                print(json!({
                    "line": line.line, "words": line.words, "says": line.says, "squares": squares,
                        "actions": line.actions,
                }))?;
                continue;
            }
            show(&rules, &view, &line)?;
        }
        Ok(())
    }
}

fn show(rules: &Opened, view: &BoardView, line: &Explained) -> Result<()> {
    print(format_args!("{:>3}  {}", line.line, line.words))?;
    let listed = line.actions.iter().take(LISTED).cloned().collect::<Vec<_>>().join(" ");
    let more = if line.actions.len() > LISTED { " ..." } else { "" };
    let colon = if line.actions.is_empty() { "" } else { ": " };
    print(format_args!("     {}{colon}{listed}{more}", line.says))?;
    if line.squares.is_empty() {
        return Ok(());
    }
    let shape = rules.identity.shape;
    for (row, cells) in view.cells.iter().enumerate() {
        let cell = |(column, cell): (usize, &String)| {
            let square = (shape.height - 1 - row) * shape.width + column;
            format!("{}{cell}", if line.squares.contains(&square) { "*" } else { " " })
        };
        let cells: String = cells.iter().enumerate().map(cell).collect::<Vec<_>>().join(" ");
        print(format_args!("     {:>2} {}", view.rows[row], cells.trim_end()))?;
    }
    print(format_args!("         {}", view.columns.join("  ")))
}

//! `petteia rules`: explains how a game is played.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use super::board::{Marks, drawn};
use super::text::{ACCENT, hanging, painted, paragraph, terminal_width};
use super::{GameArgs, print};
use crate::any::Opened;
use crate::draw;
use crate::error::Result;
use crate::game::Game;
use crate::manual::{Block, blocks};
use crate::storage;

/// Print the rules of a game, with drawn examples.
#[derive(Args)]
#[command(after_help = "\
In each example, the squares of the last action are in brackets. --markdown writes the \
same text as ID.md, with an SVG drawing for each example.

Examples:
  petteia rules custodial-trap-advanced
  petteia rules phage --markdown docs/games")]
pub(super) struct RulesCommand {
    #[command(flatten)]
    pub game: GameArgs,
    /// Instead of printing, write a page and its drawings to this folder
    #[arg(long, value_name = "FOLDER")]
    markdown: Option<PathBuf>,
}

impl RulesCommand {
    /// Runs the command on a game.
    pub(super) fn on(self, rules: Opened) -> Result<()> {
        match &self.markdown {
            Some(folder) => write_page(&rules, folder),
            None => print_manual(&rules),
        }
    }
}

fn print_manual(rules: &Opened) -> Result<()> {
    print(title(rules))?;
    for block in blocks(&rules.game)? {
        print("")?;
        match block {
            Block::Heading(text) => print(painted(text, ACCENT.bold()))?,
            Block::Text(text) => print(paragraph(&text))?,
            Block::List(items) => {
                let width = Some(terminal_width().map_or(80, |width| width.min(80)));
                items.iter().try_for_each(|item| print(hanging(&format!("- {item}"), 2, width)))?;
            }
            Block::Example { state, last, caption } => {
                let marks = Marks { last, hint: Vec::new() };
                print(drawn(&rules.game, &state, &marks, terminal_width()))?;
                print(paragraph(&caption))?;
            }
        }
    }
    Ok(())
}

fn title(rules: &Opened) -> String {
    let about = rules.game.about();
    format!("{} ({}), {}", about.title, rules.identity.id, about.byline())
}

fn write_page(rules: &Opened, folder: &Path) -> Result<()> {
    storage::create_folder(folder)?;
    let id = &rules.identity.id;
    let mut page = format!("# {}\n\n", title(rules));
    let mut drawings = 0;
    for block in blocks(&rules.game)? {
        let _ = match block {
            Block::Heading(text) => writeln!(page, "## {text}\n"),
            Block::Text(text) => writeln!(page, "{text}\n"),
            Block::List(items) => {
                items.iter().for_each(|item| page += &format!("- {item}\n"));
                writeln!(page)
            }
            Block::Example { state, last, caption } => {
                drawings += 1;
                let name = format!("{id}-{drawings}.svg");
                let marks = draw::Marks { last, ..draw::Marks::default() };
                let drawing = draw::file(&rules.game, &state, &marks, &caption);
                storage::write_whole(&folder.join(&name), drawing.as_bytes())?;
                writeln!(page, "![{caption}]({name})\n\n*{caption}*\n")
            }
        };
    }
    let _ = writeln!(
        page,
        "In the terminal: `petteia rules {id}` shows this text, and `petteia play {id} --opponent rollout:400` plays."
    );
    storage::write_whole(&folder.join(format!("{id}.md")), page.as_bytes())
}

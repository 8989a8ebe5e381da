//! Positions and running text for the terminal, for `play`, `replay --board` and `records show`.
//!
//! Input: a [`BoardView`] and the squares to mark. Output: colored text; the streams of `anstream` remove the colors if
//! the output does not support them. Brackets and parentheses mark squares even without colors. A board that is wider
//! than the terminal is drawn without spaces and then marks squares by color only.

use std::fmt::Display;

use anstyle::{AnsiColor, Color, Style};
use terminal_size::{Width, terminal_size_of};
use textwrap::WordSplitter;

use crate::game::{BoardView, Game, Player};

/// The style of text that should stand out.
pub const ACCENT: Style = Style::new().bold().fg_color(Some(Color::Ansi(AnsiColor::Green)));
/// The maximum width of a paragraph, in columns.
const MAX_WIDTH: usize = 80;
/// The width of the row labels of a spaced board, in columns.
const MARGIN: usize = 4;

/// Squares `(row, column)` of a [`BoardView`].
type Squares = Vec<(usize, usize)>;

/// The squares to mark on a board.
#[derive(Default)]
pub struct Marks {
    /// The squares of the last action, in brackets.
    pub last: Squares,
    /// The squares of a suggested action, in parentheses.
    pub hint: Squares,
}

/// The width of the terminal on standard output, in columns; `None` if it is not a terminal.
pub fn terminal_width() -> Option<usize> {
    terminal_size_of(std::io::stdout()).map(|(Width(columns), _)| columns as usize)
}

/// `text` in a style.
pub fn painted(text: impl Display, style: Style) -> String {
    format!("{style}{text}{style:#}")
}

/// The name of a player in the player's color.
pub fn player_text<G: Game>(game: &G, player: Player) -> String {
    let names = game.players();
    painted(names[player.index()], style_of(names, player))
}

/// `text` in lines of at most `width` columns, with indented continuation lines; unchanged if there is no width.
pub fn wrapped(text: &str, width: Option<usize>) -> String {
    hanging(text, 2, width)
}

/// Like [`wrapped`], with continuation lines in column `indent`, but never more than two thirds of the width.
pub fn hanging(text: &str, indent: usize, width: Option<usize>) -> String {
    let Some(width) = width else { return text.to_string() };
    let indent = " ".repeat(indent.min(width * 2 / 3));
    let fill = |line| textwrap::fill(line, whole_words(width).subsequent_indent(&indent));
    // line by line: textwrap treats every line after the first as a continuation
    text.lines().map(fill).collect::<Vec<_>>().join("\n")
}

/// A number with its noun: `1 draw`, `2 draws`.
pub fn counted(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// `text` as a paragraph of readable width, on a terminal or not.
pub fn paragraph(text: &str) -> String {
    textwrap::fill(text, whole_words(terminal_width().map_or(MAX_WIDTH, |width| width.min(MAX_WIDTH))))
}

/// Options that do not split an action such as a1-b2.
fn whole_words<'a>(width: usize) -> textwrap::Options<'a> {
    textwrap::Options::new(width).break_words(false).word_splitter(WordSplitter::NoHyphenation)
}

/// The board of `state` with its column labels and its note, without a final line break.
pub fn drawn<G: Game>(game: &G, state: &G::State, marks: &Marks, width: Option<usize>) -> String {
    let view = game.view(state);
    let texts = view.cells.iter().flatten().chain(&view.columns);
    let cell = texts.map(|text| text.chars().count()).max().unwrap_or(1);
    let spaced = width.is_none_or(|width| MARGIN + view.columns.len() * (cell + 2) <= width);
    let margin = match spaced {
        true => MARGIN,
        false => view.rows.iter().map(String::len).max().unwrap_or(0) + 1,
    };
    let gap = if spaced { " " } else { "" };
    let mut lines = Vec::new();
    for (row, label) in view.rows.iter().enumerate() {
        let squares = (0..view.columns.len())
            .map(|column| square(&view, (row, column), game.players(), marks, spaced, cell));
        let line = format!("{label:>0$} {1}", margin - 1, squares.collect::<String>());
        lines.push(line.trim_end().to_string());
    }
    let columns: String = view.columns.iter().map(|label| format!("{gap}{label:^cell$}{gap}")).collect();
    lines.push(format!("{:margin$}{}", "", columns.trim_end()));
    if !view.note.is_empty() {
        lines.push(wrapped(&view.note, width));
    }
    lines.join("\n")
}

/// One square, `cell` characters wide, with its marks.
fn square(
    view: &BoardView,
    at: (usize, usize),
    players: [&str; 2],
    marks: &Marks,
    spaced: bool,
    cell: usize,
) -> String {
    let text = format!("{:^cell$}", view.cells[at.0][at.1]);
    let style = match view.owner(at.0, at.1) {
        Some(player) => style_of(players, player),
        None => Style::new().dimmed(),
    };
    let enclosed =
        |open: &str, close: &str| if spaced { format!("{open}{text}{close}") } else { text.clone() };
    if marks.hint.contains(&at) {
        painted(enclosed("(", ")"), ACCENT.underline())
    } else if marks.last.contains(&at) {
        painted(enclosed("[", "]"), style.invert())
    } else {
        let gap = if spaced { " " } else { "" };
        format!("{gap}{}{gap}", painted(text, style))
    }
}

/// The color in a player's name, otherwise one that is readable on dark and light backgrounds.
fn style_of(players: [&str; 2], player: Player) -> Style {
    let color = match (players[player.index()], player) {
        ("Red", _) => AnsiColor::Red,
        ("Yellow", _) => AnsiColor::Yellow,
        ("Blue", _) => AnsiColor::BrightBlue,
        (_, Player::First) => AnsiColor::Cyan,
        (_, Player::Second) => AnsiColor::Magenta,
    };
    Style::new().bold().fg_color(Some(color.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Result;
    use crate::game::{Rules, Settings};
    use crate::games::Games;
    use crate::random::{Purpose, choose, stream};
    use crate::registry::{Job, Registry};

    /// Text without its escape sequences.
    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    /// Plays a random game to its end and passes `visit` each position with the squares of the last action.
    struct Random<F>(F);

    impl<F: FnMut(Vec<String>, usize)> Job for Random<F> {
        type Output = Result<()>;
        fn run<G: Game>(mut self, rules: Rules<G>) -> Result<()> {
            let game = &rules.game;
            let (mut state, mut marks) = (game.initial(), Marks::default());
            let mut random = stream(1, Purpose::Agent, &[]);
            for _ in 0..60 {
                let drawings = [None, Some(20), Some(80)].map(|width| drawn(game, &state, &marks, width));
                (self.0)(drawings.to_vec(), marks.last.len());
                let legal = game.legal(&state);
                if legal.is_empty() {
                    break;
                }
                let action = choose(&mut random, &legal);
                marks.last = game.touched(&state, action);
                game.play(&mut state, action);
            }
            Ok(())
        }
    }

    #[test]
    fn every_game_is_drawn_wide_and_narrow_in_two_colors() {
        for id in Games::ids() {
            let mut styles = Vec::new();
            let visit = |drawings: Vec<String>, marked: usize| {
                let [free, narrow, wide] = &drawings[..] else { panic!("three drawings") };
                assert_eq!(plain(free).matches('[').count(), marked, "{free}");
                let longest =
                    |text: &str| plain(text).lines().map(|line| line.chars().count()).max().unwrap();
                assert!(longest(narrow) <= 20 && longest(wide) <= 80, "{id}:\n{narrow}\n{wide}");
                let bold = free.split("\u{1b}[1m\u{1b}[").skip(1).map(|rest| rest[..2].to_string());
                styles.extend(bold.filter(|code| code != "7m"));
            };
            Games::with_game(&id, &Settings::new(), Random(visit)).unwrap().unwrap();
            styles.sort();
            styles.dedup();
            assert_eq!(styles.len(), 2, "{id}: {styles:?}");
        }
    }

    #[test]
    fn lines_are_wrapped_between_actions() {
        assert_eq!(wrapped("your actions: a1-b2 c3-d4", Some(20)), "your actions: a1-b2\n  c3-d4");
        assert_eq!(wrapped("your actions: a1-b2 c3-d4", None), "your actions: a1-b2 c3-d4");
        // the lines of a table keep their indentation
        assert_eq!(wrapped("  a  one\n  b  two", Some(20)), "  a  one\n  b  two");
        assert_eq!(hanging("  key  a value of words", 7, Some(15)), "  key  a value\n       of words");
        assert_eq!(hanging("  key  a be", 40, Some(9)), "  key  a\n      be");
        // color codes have no width
        let painted = painted("b2-b3", ACCENT);
        assert_eq!(plain(&wrapped(&format!("hint {painted} (+0.5)"), Some(17))), "hint b2-b3 (+0.5)");
    }
}

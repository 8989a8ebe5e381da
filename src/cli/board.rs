//! Draws positions on the terminal, for `play`, `replay --board`, and `records show`.
//!
//! Input: a [`BoardView`] and the squares to mark. Output: colored text; the streams of `anstream` remove the colors if
//! the output does not support them. Brackets and parentheses mark squares even without colors, and an apostrophe marks
//! pieces that may not act. A board that is wider than the terminal is drawn without spaces, and its squares are marked
//! by color only.

use anstyle::{AnsiColor, Style};

use super::text::{ACCENT, painted, wrapped};
use crate::any::{AnyGame, AnyState};
use crate::game::{BoardView, Game, Player};

/// The width of the row labels of a spaced board, in columns.
const MARGIN: usize = 4;

/// Squares `(row, column)` of a [`BoardView`].
type DrawnSquares = Vec<(usize, usize)>;

/// The squares to mark on a board.
#[derive(Default)]
pub(super) struct Marks {
    /// The squares of the last action, in brackets.
    pub last: DrawnSquares,
    /// The squares of a suggested action, in parentheses.
    pub hint: DrawnSquares,
}

/// Returns the name of a player in the player's color.
pub(super) fn player_text(game: &AnyGame, player: Player) -> String {
    let names = game.about().player_names();
    painted(names[player.index()], style_of(names, player))
}

/// Draws the board of `state` with its column labels and its note, without a final line break.
pub(super) fn drawn(game: &AnyGame, state: &AnyState, marks: &Marks, width: Option<usize>) -> String {
    let view = game.view(state);
    let texts = view.cells.iter().flatten().chain(&view.columns);
    let cell = texts.map(|text| text.chars().count()).max().unwrap_or(1);
    let spaced = width.is_none_or(|width| MARGIN + view.columns.len() * (cell + 2) <= width);
    let margin = if spaced { MARGIN } else { view.rows.iter().map(String::len).max().unwrap_or(0) + 1 };
    let gap = if spaced { " " } else { "" };
    let (stuck, names) = (game.stuck(state), game.about().player_names());
    let mut lines = Vec::new();
    for (row, label) in view.rows.iter().enumerate() {
        let squares = (0..view.columns.len()).map(|column| {
            let is_stuck = stuck.contains(&(row, column));
            square(&view, (row, column), names, marks, spaced.then_some(is_stuck), cell)
        });
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

/// Draws one square, `cell` characters wide, with its marks. On a spaced board, `spaced` says whether the square's
/// piece is stuck.
fn square(
    view: &BoardView,
    at: (usize, usize),
    players: [&str; 2],
    marks: &Marks,
    spaced: Option<bool>,
    cell: usize,
) -> String {
    let text = format!("{:^cell$}", view.cells[at.0][at.1]);
    let style = match view.owner(at.0, at.1) {
        Some(player) => style_of(players, player),
        None => Style::new().dimmed(),
    };
    let enclosed = |open: &str, close: &str| {
        if spaced.is_some() { format!("{open}{text}{close}") } else { text.clone() }
    };
    if marks.hint.contains(&at) {
        painted(enclosed("(", ")"), ACCENT.underline())
    } else if marks.last.contains(&at) {
        painted(enclosed("[", "]"), style.invert())
    } else {
        let (before, after) = match spaced {
            None => ("", ""),
            Some(false) => (" ", " "),
            Some(true) => (" ", "'"),
        };
        format!("{before}{}{after}", painted(text, style))
    }
}

/// Returns the color that a player's name states, or, if the name is not a color, one that is readable on dark and
/// light backgrounds.
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
    use crate::cli::text::tests::plain;
    use crate::game::Settings;
    use crate::games::Games;
    use crate::random::{Purpose, choose, stream};
    use crate::registry::{Catalog, Registry};

    /// Plays a random game and passes `visit` each position with the squares of the last action.
    fn play_out(game: &AnyGame, mut visit: impl FnMut(Vec<String>, usize)) {
        let (mut state, mut marks) = (game.initial(), Marks::default());
        let mut random = stream(1, Purpose::Agent, &[]);
        for _ in 0..60 {
            let drawings = [None, Some(20), Some(80)].map(|width| drawn(game, &state, &marks, width));
            visit(drawings.to_vec(), marks.last.len());
            let legal = game.legal(&state);
            if legal.is_empty() {
                break;
            }
            let action = choose(&mut random, &legal);
            marks.last = game.touched(&state, action);
            game.play(&mut state, action);
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
            play_out(&Catalog::of::<Games>().open(&id, &Settings::new()).unwrap().game, visit);
            styles.sort();
            styles.dedup();
            assert_eq!(styles.len(), 2, "{id}: {styles:?}");
        }
    }
}

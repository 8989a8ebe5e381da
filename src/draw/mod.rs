//! Draws positions. Commands, reports, and pages share the same drawing of a board.
//!
//! Input: a position of any [`Game`], and [`Marks`]: the last action, squares that can be chosen, and weights of
//! actions. Output: an SVG element as text. Colors are CSS classes of [`STYLE`], for light and dark pages; no script,
//! font, or other file is needed. The game says which [`Look`] a square has for each text in its [`BoardView`]; the
//! number of squares, their labels, and their owners come from the view itself.

mod cells;
mod names;
mod shapes;
#[cfg(test)]
mod tests;
mod weights;

use std::fmt::Write;

use self::cells::Extent;
pub use self::names::names;
use crate::game::{Action, BoardStyle, BoardView, Game, Look, Player};

/// The side of a square in the drawing's units.
pub const SQUARE: usize = 40;
/// The room for labels, on the left and below.
const LEFT: usize = 24;
const BELOW: usize = 24;
/// The margin at the top and on the right.
const AROUND: usize = 6;
/// The number of characters of a caption that fit above a square.
const CHARACTERS: usize = 6;
const LINE: usize = 16;
/// The size of the square around a piece beside the board, and the largest distance between such pieces.
const SMALL: usize = 18;
/// The weight of the arrows of an expected line.
const LINE_WEIGHT: f32 = 0.35;

/// The colors of all drawings on a page. A drawing in a separate file contains its colors itself.
pub const STYLE: &str = concat!(include_str!("board.css"), include_str!("weights.css"));
/// The part of [`STYLE`] that a drawing without priors and numbers needs.
const PLAIN_STYLE: &str = include_str!("board.css");

/// The row and column on a [`BoardView`].
pub type Place = (usize, usize);

/// Marks on a board, in addition to its pieces.
#[derive(Clone, Debug, Default)]
pub struct Marks {
    /// The squares of the last action.
    pub last: Vec<Place>,
    /// Squares that can be chosen.
    pub targets: Vec<Place>,
    /// Actions with a weight from 0 to 1, drawn as heat on a square or as an arrow from one square to another.
    pub weights: Vec<(Vec<Place>, f32)>,
    /// Weights of a second kind, drawn in another color for comparison.
    pub priors: Vec<(Vec<Place>, f32)>,
    /// Whether the largest weights are also written as numbers, in percent.
    pub numbered: bool,
    /// The actions of an expected line, numbered from 1.
    pub line: Vec<Vec<Place>>,
    /// Whether the board is seen from the other side. The drawing is then turned by 180 degrees, unless the board stays
    /// upright in this game ([`About::upright`](crate::game::About::upright)).
    pub turned: bool,
}

impl Marks {
    /// Returns marks on the squares of `action`, which was played in `before`.
    pub fn after<G: Game>(game: &G, before: &G::State, action: Action) -> Marks {
        Marks { last: game.touched(before, action), ..Marks::default() }
    }

    /// Adds the shares of a search's actions as weights; shares below a hundredth are left out.
    #[must_use]
    pub fn with_shares<G: Game>(mut self, game: &G, state: &G::State, shares: &[(Action, f32)]) -> Marks {
        let weights = shares.iter().filter(|(_, share)| *share >= 0.01);
        self.weights.extend(weights.map(|&(action, share)| (game.touched(state, action), share)));
        self
    }
}

/// Returns the position as an element for a page that has [`STYLE`]. `title` is for readers who cannot see the drawing.
pub fn svg<G: Game>(game: &G, state: &G::State, marks: &Marks, title: &str) -> String {
    Drawing::of(game, state, marks).element(title, "")
}

/// Returns the position as the contents of a file. The file contains [`STYLE`] and has a caption for what the board
/// does not show (reserves, moves left).
///
/// ```
/// use petteia::draw::{Marks, file};
/// use petteia::game::{Action, Game};
/// use petteia::games::tic_tac_toe::TicTacToe;
///
/// let (before, action) = (TicTacToe.initial(), Action(4));
/// let mut state = before.clone();
/// TicTacToe.play(&mut state, action);
/// let marks = Marks::after(&TicTacToe, &before, action);
/// let drawing = file(&TicTacToe, &state, &marks, "X in the center");
/// assert!(drawing.starts_with("<svg") && drawing.contains("<title>X in the center</title>"));
/// // the square of the last action is marked
/// assert_eq!(drawing.matches("class=\"b-last\"").count(), 1);
/// ```
pub fn file<G: Game>(game: &G, state: &G::State, marks: &Marks, title: &str) -> String {
    let mut drawing = Drawing::of(game, state, marks);
    drawing.caption();
    let is_plain = marks.priors.is_empty() && !marks.numbered;
    let mut text = drawing.element(title, if is_plain { PLAIN_STYLE } else { STYLE });
    text.push('\n');
    text
}

/// Returns whether the players sit opposite each other, the first player at the bottom: in the initial position, all
/// pieces of the first player are in the lower half of the board, and all pieces of the second player in the upper
/// half. If the pieces are mixed, or are placed later, no side of the board belongs to a player.
pub fn sit_opposite<G: Game>(game: &G) -> bool {
    let view = game.view(&game.initial());
    let (height, width) = (view.rows.len(), view.columns.len());
    let mut has_pieces = [false; 2];
    for (y, x) in (0..height).flat_map(|y| (0..width).map(move |x| (y, x))) {
        let Some(owner) = view.owner(y, x) else { continue };
        let is_at_home = match owner {
            Player::First => 2 * y >= height,
            Player::Second => 2 * (y + 1) <= height,
        };
        if !is_at_home {
            return false;
        }
        has_pieces[owner.index()] = true;
    }
    has_pieces == [true; 2]
}

struct Drawing {
    view: BoardView,
    style: BoardStyle,
    looks: Vec<Vec<Look>>,
    /// The CSS class for the pieces of each player.
    colors: [String; 2],
    stuck: Vec<Place>,
    /// A square is dark if the sum of its row, its column, and this number is odd.
    dark: usize,
    marks: Marks,
    /// A piece of each player to draw beside the board, and the number of such pieces.
    reserves: Option<[(String, usize); 2]>,
    caption: Vec<String>,
}

impl Drawing {
    fn of<G: Game>(game: &G, state: &G::State, marks: &Marks) -> Drawing {
        let mut view = game.view(state);
        view.note = view.caption(game.about().player_names()).to_string();
        let look = |text: &String| game.look(&view, text);
        let looks = view.cells.iter().map(|row| row.iter().map(look).collect()).collect();
        let mut drawing = Drawing {
            style: game.about().board,
            looks,
            colors: [0, 1].map(|player| color(&game.about().colors[player], player)),
            stuck: game.stuck(state),
            dark: view.rows.len(),
            reserves: view.reserves.map(|counts| {
                [0, 1].map(|player| {
                    let letter = view.pieces[player].chars().next().map(String::from).unwrap_or_default();
                    match game.look(&view, &letter) {
                        Look::Piece(shape) => (shapes::drawn(shape, &escaped(&letter)), counts[player]),
                        _ => (String::new(), 0),
                    }
                })
            }),
            view,
            marks: marks.clone(),
            caption: Vec::new(),
        };
        if marks.turned && !game.about().upright {
            drawing.turn();
        }
        drawing
    }

    /// Turns the drawing by 180 degrees; texts and pieces stay upright.
    fn turn(&mut self) {
        let (height, width) = (self.height(), self.width());
        self.dark = width;
        let BoardView { rows, columns, cells, .. } = &mut self.view;
        rows.reverse();
        columns.reverse();
        cells.reverse();
        cells.iter_mut().for_each(|row| row.reverse());
        self.looks.reverse();
        self.looks.iter_mut().for_each(|row| row.reverse());
        let Marks { last, targets, weights, priors, line, .. } = &mut self.marks;
        let lists = weights.iter_mut().chain(priors).map(|(places, _)| places).chain(line);
        for place in [&mut self.stuck, last, targets].into_iter().chain(lists).flatten() {
            *place = (height - 1 - place.0, width - 1 - place.1);
        }
    }

    fn height(&self) -> usize {
        self.view.rows.len()
    }

    fn width(&self) -> usize {
        self.view.columns.len()
    }

    /// Breaks the note into lines.
    fn caption(&mut self) {
        let limit = CHARACTERS * self.width();
        for word in self.view.note.split_whitespace() {
            match self.caption.last_mut() {
                Some(line) if line.len() + 1 + word.len() <= limit => {
                    line.push(' ');
                    line.push_str(word);
                }
                _ => self.caption.push(word.into()),
            }
        }
    }

    fn element(&self, title: &str, style: &str) -> String {
        let Extent { left, width, height } = self.extent();
        let below = BELOW + self.beside() + LINE * self.caption.len();
        let (all_width, all_height) = (LEFT + width + AROUND, AROUND + height + below);
        let kind = if self.has_hexagons() { " data-cells=\"hexagons\"" } else { "" };
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"board\" viewBox=\"{} -{AROUND} {all_width} \
             {all_height}\" width=\"{all_width}\" height=\"{all_height}\" role=\"img\"{kind}><title>{}</title>",
            left as i32 - LEFT as i32,
            escaped(title)
        );
        if !style.is_empty() {
            let _ = write!(out, "<style>{style}</style>");
        }
        if !self.has_hexagons() {
            let _ = write!(
                out,
                "<rect class=\"b-board b-{}\" x=\"-2\" y=\"-2\" width=\"{}\" height=\"{}\" rx=\"4\"/>",
                class(self.style),
                width + 4,
                height + 4
            );
        }
        self.draw_squares(&mut out);
        self.draw_marks(&mut out);
        self.draw_pieces(&mut out);
        self.draw_weights(&mut out);
        self.draw_line(&mut out);
        self.draw_labels(&mut out, height);
        self.draw_reserves(&mut out);
        out += "</svg>";
        out
    }

    fn places(&self) -> impl Iterator<Item = (Place, Look)> + '_ {
        let row = |(y, row): (usize, &'_ Vec<Look>)| {
            row.iter().enumerate().map(move |(x, look)| ((y, x), *look)).collect::<Vec<_>>()
        };
        self.looks.iter().enumerate().flat_map(row)
    }

    fn draw_squares(&self, out: &mut String) {
        let (mut light, mut dark, mut holes) = (String::new(), String::new(), String::new());
        for ((y, x), look) in self.places() {
            let [left, top] = self.corner((y, x));
            match (self.style, look) {
                (_, Look::Hole) => {}
                (BoardStyle::Hexagons, _) => light += &cells::hexagon([left, top]),
                (BoardStyle::Tiles, _) => {
                    let _ = write!(light, "M{} {}h34v34h-34z", left + 3, top + 3);
                }
                (BoardStyle::Round, _) => {
                    let [x, y] = self.middle((y, x));
                    let _ = write!(holes, "<circle class=\"b-round\" cx=\"{x}\" cy=\"{y}\" r=\"16.5\"/>");
                }
                (BoardStyle::Checkered, _) if (y + x + self.dark) % 2 == 1 => {
                    let _ = write!(dark, "M{left} {top}h40v40h-40z");
                }
                _ => {
                    let _ = write!(light, "M{left} {top}h40v40h-40z");
                }
            }
        }
        for (part, path) in [("b-light", light), ("b-dark", dark)] {
            if !path.is_empty() {
                let _ = write!(out, "<path class=\"{part} b-{}\" d=\"{path}\"/>", class(self.style));
            }
        }
        *out += &holes;
    }

    /// Draws the marks of the last action below the pieces.
    fn draw_marks(&self, out: &mut String) {
        for &place in &self.marks.last {
            let [left, top] = self.corner(place);
            let _ = match self.style {
                BoardStyle::Round => {
                    let [x, y] = self.middle(place);
                    write!(out, "<circle class=\"b-last\" cx=\"{x}\" cy=\"{y}\" r=\"19\"/>")
                }
                BoardStyle::Hexagons => {
                    write!(out, "<path class=\"b-last\" d=\"{}\"/>", cells::hexagon([left, top]))
                }
                _ => {
                    let (left, top) = (left + 1, top + 1);
                    let size = "width=\"38\" height=\"38\" rx=\"3\"";
                    write!(out, "<rect class=\"b-last\" x=\"{left}\" y=\"{top}\" {size}/>")
                }
            };
        }
    }

    fn draw_pieces(&self, out: &mut String) {
        for ((y, x), look) in self.places() {
            let [left, top] = self.corner((y, x));
            let shape = match look {
                Look::Empty | Look::Hole => continue,
                Look::Closed if self.has_hexagons() => {
                    format!("<path class=\"b-closed\" d=\"{}\"/>", cells::hexagon([0, 0]))
                }
                Look::Closed => shapes::CLOSED.to_string(),
                Look::Text => {
                    let text = escaped(&self.view.cells[y][x]);
                    format!("<text class=\"b-text\" x=\"20\" y=\"25\">{text}</text>")
                }
                Look::Piece(shape) => {
                    let owner = self.view.owner(y, x);
                    let class = owner.map_or("b-nobody", |owner| &self.colors[owner.index()]);
                    let letter = &self.view.cells[y][x];
                    format!("<g class=\"{class}\">{}</g>", shapes::drawn(shape, &escaped(letter)))
                }
            };
            let _ = write!(out, "<g transform=\"translate({left} {top})\">{shape}");
            if self.stuck.contains(&(y, x)) {
                *out += shapes::STUCK;
            }
            *out += "</g>";
        }
        for &place in &self.marks.targets {
            let [x, y] = self.middle(place);
            let _ = write!(out, "<circle class=\"b-target\" cx=\"{x}\" cy=\"{y}\" r=\"7\"/>");
        }
    }

    /// Draws the expected line as arrows with numbers; an action with one square gets only a number. The first action
    /// is drawn last, on top of the others.
    fn draw_line(&self, out: &mut String) {
        for (index, places) in self.marks.line.iter().enumerate().rev() {
            let (Some(&from), Some(&to)) = (places.first(), places.last()) else { continue };
            let [begin, end] = [from, to].map(|place| self.middle_of(place));
            let mut at = end;
            if from != to {
                *out += &shapes::arrow("b-line", begin, end, LINE_WEIGHT);
                at = [0, 1].map(|axis| begin[axis] + 0.55 * (end[axis] - begin[axis]));
            }
            let [x, y] = at;
            let _ = write!(
                out,
                "<circle class=\"b-step\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"8\"/>\
                 <text class=\"b-number\" x=\"{x:.1}\" y=\"{:.1}\">{}</text>",
                y + 4.0,
                index + 1
            );
        }
    }

    /// Returns the height of the two rows of pieces beside the board, one row for each player.
    fn beside(&self) -> usize {
        self.reserves.as_ref().map_or(0, |_| 2 * SMALL + 4)
    }

    /// Draws a row of small pieces for each player, below the labels.
    fn draw_reserves(&self, out: &mut String) {
        let Extent { left: begin, width, height } = self.extent();
        let scale = SMALL as f32 / SQUARE as f32;
        for (player, (piece, count)) in self.reserves.iter().flatten().enumerate() {
            let top = height + BELOW + 2 + SMALL * player;
            let step = SMALL.min(width / count.max(&1));
            let class = &self.colors[player];
            for index in 0..*count {
                let left = begin + index * step;
                let _ = write!(
                    out,
                    "<g transform=\"translate({left} {top}) scale({scale})\" class=\"{class}\">{piece}</g>"
                );
            }
        }
    }

    fn draw_labels(&self, out: &mut String, height: usize) {
        if self.has_hexagons() {
            self.draw_labels_of_hexagons(out);
        } else {
            self.draw_labels_of_squares(out, height);
        }
        let begin = self.extent().left;
        for (line, text) in self.caption.iter().enumerate() {
            let top = height + 20 + self.beside() + LINE * (line + 1);
            let _ = write!(out, "<text class=\"b-note\" x=\"{begin}\" y=\"{top}\">{}</text>", escaped(text));
        }
    }
}

impl Drawing {
    fn draw_labels_of_squares(&self, out: &mut String, height: usize) {
        for (y, label) in self.view.rows.iter().enumerate().filter(|(_, label)| !label.is_empty()) {
            let top = y * SQUARE + 25;
            let _ = write!(out, "<text class=\"b-label\" x=\"-13\" y=\"{top}\">{}</text>", escaped(label));
        }
        for (x, label) in self.view.columns.iter().enumerate() {
            let left = x * SQUARE + SQUARE / 2;
            let _ = write!(
                out,
                "<text class=\"b-label\" x=\"{left}\" y=\"{}\">{}</text>",
                height + 18,
                escaped(label)
            );
        }
    }
}

fn class(style: BoardStyle) -> &'static str {
    match style {
        BoardStyle::Plain => "plain",
        BoardStyle::Checkered => "checkered",
        BoardStyle::Tiles => "tiles",
        BoardStyle::Round => "holes",
        BoardStyle::Hexagons => "hexagons",
    }
}

/// Returns the CSS class for the pieces of a player, chosen by the color in the player's name if there is one.
pub fn color(name: &str, player: usize) -> String {
    match name {
        "Red" | "Blue" | "Yellow" | "White" | "Black" => format!("b-{}", name.to_lowercase()),
        _ => format!("b-{}", ["first", "second"][player]),
    }
}

/// Escapes text for an SVG or HTML element or attribute.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            // characters that XML does not permit
            '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => {}
            other => out.push(other),
        }
    }
    out
}

//! Shapes in a square of 40 units, and arrows.

use std::fmt::Write;

use super::SQUARE;
use crate::game::PieceShape;

/// A square that can no longer be entered.
pub(super) const CLOSED: &str =
    "<path class=\"b-closed\" d=\"M4 4h32v32h-32z\"/><path class=\"b-cross\" d=\"M9 9l22 22M31 9l-22 22\"/>";
/// A mark over a piece that may not act.
pub(super) const STUCK: &str = "<circle class=\"b-stuck\" cx=\"20\" cy=\"20\" r=\"11\"/><path class=\"b-stuck\" \
    d=\"M12.2 12.2l15.6 15.6\"/>";

/// Returns the element of a piece. Only [`PieceShape::Letter`] shows the letter.
pub(super) fn drawn(shape: PieceShape, letter: &str) -> String {
    let path = |d: &str| format!("<path d=\"{d}\"/>");
    match shape {
        PieceShape::Disc => "<circle cx=\"20\" cy=\"20\" r=\"15\"/>".into(),
        PieceShape::Checker => {
            "<circle cx=\"20\" cy=\"20\" r=\"15\"/><circle class=\"b-inner\" cx=\"20\" cy=\"20\" r=\"9.5\"/>"
                .into()
        }
        PieceShape::Letter => format!(
            "<circle cx=\"20\" cy=\"20\" r=\"15\"/><text class=\"b-letter\" x=\"20\" y=\"26\">{letter}</text>"
        ),
        PieceShape::Circle => "<circle cx=\"20\" cy=\"20\" r=\"13\"/>".into(),
        PieceShape::Square => path("M8 8h24v24h-24z"),
        PieceShape::Triangle => path("M20 6L34 31H6z"),
        PieceShape::Diamond => path("M20 4L36 20L20 36L4 20z"),
        PieceShape::Cross => "<path class=\"b-stroke\" d=\"M10 10l20 20M30 10l-20 20\"/>".into(),
        PieceShape::Nought => "<circle class=\"b-stroke\" cx=\"20\" cy=\"20\" r=\"11.5\"/>".into(),
        PieceShape::Queen => path(
            "M10 33h20v-4h-20zM10.5 28L6.5 13.5L13.5 21.5L15 8.5L20 20L25 8.5L26.5 21.5L33.5 13.5L29.5 28z\
             M6.5 13.5m-2 0a2 2 0 1 0 4 0a2 2 0 1 0-4 0M15 8.5m-2 0a2 2 0 1 0 4 0a2 2 0 1 0-4 0\
             M25 8.5m-2 0a2 2 0 1 0 4 0a2 2 0 1 0-4 0M33.5 13.5m-2 0a2 2 0 1 0 4 0a2 2 0 1 0-4 0",
        ),
        PieceShape::Rook => {
            path("M10 33h20v-4h-20zM12.5 28L13.5 16H10V8H14.5V11H17.5V8H22.5V11H25.5V8H30V16H26.5L27.5 28z")
        }
        PieceShape::Bishop => path(
            "M10 33h20v-4h-20zM14.5 28C10 20 15.5 13.5 20 9.5C24.5 13.5 30 20 25.5 28zM20 9.5m-2.5-1.5a2.5 2.5 0 1 0 5 \
                0a2.5 2.5 0 1 0-5 0\
             M19 15h2v3h3v2h-3v4h-2v-4h-3v-2h3z",
        ),
        PieceShape::Knight => path(
            "M10 33h20v-4h-20zM13 28C13 23 18 21.5 18.5 18C16.5 20 13.5 20 11.5 22.5L8 20C9.5 15 11.5 12 15 9.5L15.5 \
                6L18.5 8.5\
             C26 9 30.5 15 29 28z",
        ),
    }
}

/// Returns an arrow of a CSS class from the middle of one square to another. The width and opacity of the arrow follow
/// `weight`.
pub(super) fn arrow(class: &str, [x0, y0]: [f32; 2], [x1, y1]: [f32; 2], weight: f32) -> String {
    let (dx, dy) = (x1 - x0, y1 - y0);
    let length = (dx * dx + dy * dy).sqrt();
    let (dx, dy) = (dx / length, dy / length);
    // the arrow begins at the edge of the piece on the first square
    let (x0, y0) = (x0 + dx * 9.0, y0 + dy * 9.0);
    let half = 1.2 + 2.8 * weight.sqrt();
    let head = (half * 3.6).min(SQUARE as f32 / 3.0);
    let (x2, y2) = (x1 - dx * head, y1 - dy * head);
    let points = [
        (x0 - dy * half, y0 + dx * half),
        (x2 - dy * half, y2 + dx * half),
        (x2 - dy * head * 0.62, y2 + dx * head * 0.62),
        (x1, y1),
        (x2 + dy * head * 0.62, y2 - dx * head * 0.62),
        (x2 + dy * half, y2 - dx * half),
        (x0 + dy * half, y0 - dx * half),
    ];
    let mut d = String::new();
    for (index, (x, y)) in points.into_iter().enumerate() {
        let _ = write!(d, "{}{x:.1} {y:.1}", if index == 0 { 'M' } else { 'L' });
    }
    format!("<path class=\"{class}\" opacity=\"{:.2}\" d=\"{d}z\"/>", 0.35 + 0.55 * weight)
}

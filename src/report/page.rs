//! The frame of pages that stand alone: head, style, what made them.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::draw;
use crate::program::Program;

/// The style of pages and charts, without the colors of boards.
pub const STYLE: &str = include_str!("page.css");

/// A page that needs nothing else.
pub fn page(title: &str, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(STYLE)) (PreEscaped(draw::STYLE)) }
            }
            body { main { (body) footer { "Made by " (Program::current().title()) "." } } }
        }
    };
    page.into_string()
}

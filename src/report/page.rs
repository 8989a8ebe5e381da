//! The frame of self-contained pages: the head, the style, and a footer that names the program.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::ascii;
use crate::draw;
use crate::program::Program;

/// The style of pages and charts, without the colors of boards.
pub const STYLE: &str = include_str!("page.css");

/// The generator named in all pages.
pub const GENERATOR: &str = "Petteia";

/// Returns the title of a page that [`page`] made; `None` for anything else. `text` is the beginning of the page.
pub fn title_of(text: &str) -> Option<&str> {
    let head = text.split_once("</head>")?.0;
    let mark = format!("<meta name=\"generator\" content=\"{GENERATOR}\">");
    let (_, rest) = head.split_once(&mark)?.1.split_once("<title>")?;
    Some(rest.split_once("</title>")?.0)
}

/// Returns a self-contained page in ASCII.
pub fn page(title: &str, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="generator" content=(GENERATOR);
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(STYLE)) (PreEscaped(draw::STYLE)) }
            }
            body { main { (body) footer { "Made by " (Program::current().title()) "." } } }
        }
    };
    // the styles are ASCII, and the page has no scripts
    ascii::markup(&page.into_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_ascii() {
        let made = page("K\u{14d}nane", &html! { p { "\u{bd} \u{b7} \u{2026}" } });
        assert!(made.is_ascii() && made.contains("<p>&#189; &#183; &#8230;</p>"), "{made}");
    }

    #[test]
    fn pages_are_known_by_their_mark() {
        let made = page("Phage: a < b", &html! { p { "text" } });
        assert_eq!(title_of(&made), Some("Phage: a &lt; b"));
        for other in ["", "<html><head><title>mine</title></head>", &made.replace("generator", "author")] {
            assert_eq!(title_of(other), None, "{other}");
        }
        assert_eq!(title_of(&page("\u{c9}", &html! { p { "\u{bd}" } })), Some("&#201;"));
        // only a title in the head counts
        assert_eq!(title_of(&format!("<html><head></head>{made}")), None);
    }
}

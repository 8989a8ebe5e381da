//! The files of the page, inside the program.

use crate::draw;
use crate::report::page;

const HTML: &str = "text/html; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// The page itself, with a placeholder for its token.
pub(crate) const INDEX: (&str, &str) = (HTML, include_str!("assets/index.html"));

/// A list of the scripts with these names and their texts.
macro_rules! scripts {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("assets/", $name)))),*]
    };
}

static SCRIPTS: [(&str, &str); 27] = scripts![
    "analysis.js",
    "api.js",
    "app.js",
    "board.js",
    "choices.js",
    "compare.js",
    "controls.js",
    "dom.js",
    "editor.js",
    "first.js",
    "games.js",
    "graph.js",
    "how.js",
    "options.js",
    "pick.js",
    "picker.js",
    "play.js",
    "record.js",
    "review.js",
    "setup.js",
    "shelf.js",
    "store.js",
    "task.js",
    "told.js",
    "view.js",
    "watch.js",
    "words.js",
];

/// The content type and the text of an asset.
pub(crate) fn asset(name: &str) -> Option<(&'static str, &'static str)> {
    match name {
        "style.css" => Some((STYLE, include_str!("assets/style.css"))),
        "report.css" => Some((STYLE, page::STYLE)),
        "board.css" => Some((STYLE, draw::STYLE)),
        _ => SCRIPTS.iter().find(|(known, _)| *known == name).map(|(_, text)| (SCRIPT, *text)),
    }
}

//! The files of the page, inside the program.

use std::sync::LazyLock;

use serde_json::json;

use super::bundle::bundle;
use crate::draw;
use crate::report::{ascii, page};
use crate::text_game;

const HTML: &str = "text/html; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// The page itself, with placeholders for the token and the icon.
pub(crate) const INDEX: (&str, &str) = (HTML, include_str!("assets/index.html"));

/// The page in a file, with placeholders for everything that the file carries.
pub(crate) const FILE_PAGE: &str = include_str!("file/index.html");
/// Returns the script through which the program in a file answers.
pub(crate) fn file_answering() -> String {
    ascii::script(include_str!("file/answering.js"))
}

/// The icon of every page.
pub(crate) const ICON: &str = "data:image/svg+xml,%3Csvg%20xmlns='http://www.w3.org/2000/svg'%20viewBox='0%200%2016%2016'%3E%3Ccircle%20cx='8'%20cy='8'%20r='7'%20fill='%230a7d55'/%3E%3Ccircle%20cx='8'%20cy='8'%20r='3.5'%20fill='none'%20stroke='%23fff'%20stroke-width='1.5'/%3E%3C/svg%3E";

/// Lists the scripts with these names, and their texts.
macro_rules! scripts {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("assets/", $name)))),*]
    };
}

static SCRIPTS: [(&str, &str); 30] = scripts![
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
    "links.js",
    "options.js",
    "pick.js",
    "picker.js",
    "play.js",
    "record.js",
    "review.js",
    "setup.js",
    "shelf.js",
    "shell.js",
    "source.js",
    "store.js",
    "task.js",
    "told.js",
    "view.js",
    "watch.js",
    "words.js",
];

/// The words of the language of rules, which the editor shows.
static VOCABULARY: LazyLock<String> = LazyLock::new(|| {
    let section = |section: &text_game::Section| {
        let rows: Vec<_> = section.rows().map(|row| json!([row.form, row.meaning])).collect();
        json!({ "title": section.title, "rows": rows })
    };
    let sections: Vec<_> = text_game::SECTIONS.iter().map(section).collect();
    format!("export const SECTIONS = {}\n", json!(sections))
});

/// Returns the script with this name.
fn script(name: &str) -> Option<&'static str> {
    match name {
        "vocabulary.js" => Some(&VOCABULARY),
        _ => SCRIPTS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text),
    }
}

/// Returns the script of a page in a file: the same modules, but with another source of answers and another entry
/// point.
pub(crate) fn file_script() -> String {
    let script = bundle("main.js", |name| match name {
        "main.js" => Some(include_str!("file/main.js")),
        "source.js" => Some(include_str!("file/source.js")),
        _ => script(name),
    });
    ascii::script(&script)
}

/// Returns all styles of a page.
pub(crate) fn style() -> String {
    ascii::style(&[page::STYLE, draw::STYLE, include_str!("assets/style.css")].concat())
}

/// Returns the content type and the text of an asset.
pub(crate) fn asset(name: &str) -> Option<(&'static str, &'static str)> {
    match name {
        "style.css" => Some((STYLE, include_str!("assets/style.css"))),
        "report.css" => Some((STYLE, page::STYLE)),
        "board.css" => Some((STYLE, draw::STYLE)),
        _ => script(name).map(|text| (SCRIPT, text)),
    }
}

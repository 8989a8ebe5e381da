//! Combines the scripts of a page into one, because a page that is opened from disk cannot load modules.
//!
//! Input: scripts by name, each a module in the style of this page: imports of names from other scripts at the top,
//! `export` before declarations. Output: one script in which each module is a function that returns its exports,
//! ordered so that each module comes after those that it needs.

use std::fmt::Write;

/// Combines the script `entry` and the modules that it imports into one script; `find` returns the text of a script.
///
/// # Panics
/// If a script imports something that does not exist, or imports itself through other scripts; both would be bugs in
/// this program's files.
pub(crate) fn bundle<'a>(entry: &'a str, find: impl Fn(&str) -> Option<&'a str>) -> String {
    let mut order = Vec::new();
    add(entry, &find, &mut order, &mut Vec::new());
    let mut script = String::from("'use strict'\nconst modules = {}\n");
    for name in order {
        let text = find(&name).expect("it was found before");
        let body: String = text.lines().map(|line| format!("{}\n", plain_line(line))).collect();
        let exports = exports(text).collect::<Vec<_>>().join(", ");
        let _ = write!(script, "modules['{name}'] = (() => {{\n{body}return {{ {exports} }}\n}})()\n");
    }
    script
}

fn add<'a>(
    name: &str,
    find: &impl Fn(&str) -> Option<&'a str>,
    order: &mut Vec<String>,
    open: &mut Vec<String>,
) {
    if order.iter().any(|known| known == name) {
        return;
    }
    assert!(!open.iter().any(|other| other == name), "{name} imports itself by way of {open:?}");
    open.push(name.into());
    let text = find(name).unwrap_or_else(|| panic!("there is no script {name}, which {open:?} import"));
    for other in text.lines().filter_map(import).map(|(_, other)| other) {
        add(other, find, order, open);
    }
    open.pop();
    order.push(name.into());
}

/// Returns the names and the script of a line `import { a, b } from './script.js'`.
fn import(line: &str) -> Option<(&str, &str)> {
    let (names, from) = line.strip_prefix("import ")?.split_once(" from ")?;
    Some((names, from.trim_matches('\'').strip_prefix("./")?))
}

/// Returns a line of a module, rewritten as a line of a function.
fn plain_line(line: &str) -> String {
    match import(line) {
        Some((names, from)) => format!("const {names} = modules['{from}']"),
        None => line.strip_prefix("export ").unwrap_or(line).to_string(),
    }
}

/// Returns the names that a module exports.
fn exports(text: &str) -> impl Iterator<Item = &str> {
    let declared = text.lines().filter_map(|line| line.strip_prefix("export "));
    declared.map(|declaration| {
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '$';
        let words = declaration.split(|letter: char| !is_part(letter));
        words
            .filter(|word| !["const", "async", "function", "class"].contains(word))
            .find(|word| !word.is_empty())
            .unwrap_or_default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_come_after_those_that_they_import() {
        let scripts = [
            (
                "main.js",
                "import { twice } from './math.js'\nimport { show, Box } from './dom.js'\nshow(twice(2))\n",
            ),
            (
                "math.js",
                "export const twice = x => 2 * x\nconst hidden = 1\nexport async function later() {}\n",
            ),
            (
                "dom.js",
                "import { twice } from './math.js'\n\nexport function show(x) {}\nexport class Box {}\n",
            ),
        ];
        let find = |name: &str| scripts.iter().find(|(known, _)| *known == name).map(|(_, text)| *text);
        assert_eq!(
            bundle("main.js", find),
            "'use strict'\nconst modules = {}\n\
             modules['math.js'] = (() => {\nconst twice = x => 2 * x\nconst hidden = 1\nasync function later() {}\n\
             return { twice, later }\n})()\n\
             modules['dom.js'] = (() => {\nconst { twice } = modules['math.js']\n\nfunction show(x) {}\nclass Box {}\n\
             return { show, Box }\n})()\n\
             modules['main.js'] = (() => {\nconst { twice } = modules['math.js']\nconst { show, Box } = \
             modules['dom.js']\n\
             show(twice(2))\nreturn {  }\n})()\n"
        );
    }
}

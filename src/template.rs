//! Templates: files of the program with placeholders, `{{name}}`.

/// Returns the template with its placeholders filled in. Placeholders in the inserted parts are left unchanged.
///
/// # Panics
/// If a placeholder is not closed or has no part, which would be a bug in this program's templates.
pub(crate) fn filled(template: &str, parts: &[(&str, impl AsRef<str>)]) -> String {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, place)) = rest.split_once("{{") {
        let (name, after) = place.split_once("}}").expect("placeholders of a template end");
        let part = parts.iter().find(|(known, _)| *known == name);
        let (_, part) = part
            .unwrap_or_else(|| panic!("a template has the placeholder {name}, but no part has this name"));
        text += before;
        text += part.as_ref();
        rest = after;
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_filled_in_is_not_filled_again() {
        assert_eq!(filled("{{a}}, {{b}}{{a}}.", &[("a", "{{b}}"), ("b", "2")]), "{{b}}, 2{{b}}.");
        assert_eq!(filled("plain", &[("a", "1")]), "plain");
    }
}

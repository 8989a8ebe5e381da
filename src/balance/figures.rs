//! Formats the figures for the tables and sentences of the page.

use maud::{Markup, html};

use crate::report::chart::number;

/// Returns a share as a whole number of percent.
pub(super) fn percent(share: f64) -> String {
    // adding 0 removes the sign of a negative zero
    format!("{:.0} %", share * 100.0 + 0.0)
}

/// Returns a number, or a dash if it is missing.
pub(super) fn number_of(value: Option<f64>) -> String {
    value.map_or("–".into(), number)
}

/// Returns a share, or a dash if it is missing.
pub(super) fn share_of(value: Option<f64>) -> String {
    value.map_or("–".into(), percent)
}

/// Returns the headings of columns.
pub(super) fn heads(names: &[&str]) -> Markup {
    html! { @for name in names { th scope="col" { (name) } } }
}

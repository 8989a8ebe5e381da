//! Figures as the page and its sentences write them.

use maud::{Markup, html};

use crate::report::chart::number;

/// A share as a whole number of percent.
pub(super) fn percent(share: f64) -> String {
    // adding 0 takes the sign from a negative zero
    format!("{:.0} %", share * 100.0 + 0.0)
}

/// A number that there may be none of.
pub(super) fn number_of(value: Option<f64>) -> String {
    value.map_or("–".into(), number)
}

/// A share that there may be none of.
pub(super) fn share_of(value: Option<f64>) -> String {
    value.map_or("–".into(), percent)
}

/// The headings of columns.
pub(super) fn heads(names: &[&str]) -> Markup {
    html! { @for name in names { th scope="col" { (name) } } }
}

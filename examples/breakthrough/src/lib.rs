//! Breakthrough, a game for [Petteia](petteia).

pub mod rules;

petteia::games! {
    /// The games of this program.
    pub struct Games: rules::Breakthrough
}

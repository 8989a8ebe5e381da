//! Breakthrough and Gomoku, two games for [Petteia](petteia).

pub mod gomoku;
pub mod rules;

petteia::games! {
    /// The games of this program.
    pub struct Games: rules::Breakthrough, gomoku::Gomoku;
    ships "../configs/breakthrough.toml", "../configs/breakthrough-5.toml"
}

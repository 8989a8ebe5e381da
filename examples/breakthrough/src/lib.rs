//! Breakthrough, Gomoku, Hex and Othello, four games for [Petteia](petteia).

pub mod gomoku;
pub mod hex;
pub mod othello;
pub mod rules;

petteia::games! {
    /// The games of this program.
    pub struct Games: rules::Breakthrough, gomoku::Gomoku, hex::Hex, othello::Othello;
    ships "../configs/breakthrough.toml", "../configs/breakthrough-5.toml"
}

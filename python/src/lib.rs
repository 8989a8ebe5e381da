//! The Python module: rules, search, and agents of the library, with numpy arrays at the boundary.
//!
//! Input and output: Python values. Other threads do long work without the interpreter's lock; only the calling thread
//! runs Python ([`serve`]).

mod agents;
mod batch;
mod convert;
mod data;
mod ending;
mod game;
mod measures;
mod methods;
mod serve;
mod threads;
mod weights;
mod written;

use pyo3::prelude::*;

/// The native part of `petteia`; people import `petteia/__init__.py`.
#[pymodule]
mod _petteia {
    #[pymodule_export]
    use super::agents::{analyze, evaluate, play_match, selfplay};
    #[pymodule_export]
    use super::batch::Batch;
    #[pymodule_export]
    use super::data::{records, write_lines, write_records};
    #[pymodule_export]
    use super::ending::end;
    #[pymodule_export]
    use super::game::{Game, Position};
    #[pymodule_export]
    use super::measures::{accuracy, balance, check_game, ladder, solve};
    #[pymodule_export]
    use super::methods::{games, reopened};
    #[pymodule_export]
    use super::weights::{new_network, weights, write_weights};
}

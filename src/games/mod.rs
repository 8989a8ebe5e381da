//! The games that come with Petteia, one file each, and the registry that names them.

pub mod cage;
pub mod caissa;
pub mod connect_four;
pub mod custodial_trap;
mod manuals;
pub mod phage;
pub mod tic_tac_toe;

crate::games! {
    /// Petteia's own registry.
    pub struct Games:
        cage::Cage,
        caissa::Caissa,
        custodial_trap::CustodialTrap,
        phage::Phage,
        connect_four::ConnectFour,
        tic_tac_toe::TicTacToe,
}

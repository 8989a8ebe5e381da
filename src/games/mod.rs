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
        tic_tac_toe::TicTacToe;
    ships
        "../../configs/cage.toml",
        "../../configs/cage-8.toml",
        "../../configs/cage-6.toml",
        "../../configs/cage-4.toml",
        "../../configs/caissa.toml",
        "../../configs/custodial-trap-intro.toml",
        "../../configs/custodial-trap-intermediate.toml",
        "../../configs/custodial-trap-advanced.toml",
        "../../configs/phage.toml",
        "../../configs/connect-four.toml",
        "../../configs/connect-four-64x5.toml",
        "../../configs/connect-four-16x2.toml",
        "../../configs/tic-tac-toe.toml",
        "../../agents/cage.safetensors",
        "../../agents/cage-8.safetensors",
        "../../agents/cage-6.safetensors",
        "../../agents/caissa.safetensors",
        "../../agents/custodial-trap-intro.safetensors",
        "../../agents/custodial-trap-intermediate.safetensors",
        "../../agents/custodial-trap-advanced.safetensors",
        "../../agents/phage.safetensors",
        "../../agents/connect-four.safetensors",
        "../../agents/cage.levels",
        "../../agents/cage-8.levels",
        "../../agents/cage-6.levels",
        "../../agents/cage-4.levels",
        "../../agents/caissa.levels",
        "../../agents/custodial-trap-intro.levels",
        "../../agents/custodial-trap-intermediate.levels",
        "../../agents/custodial-trap-advanced.levels",
        "../../agents/phage.levels",
        "../../agents/connect-four.levels",
        "../../agents/tic-tac-toe.levels",
        "../../rules/othello.game",
        "../../rules/brandubh.game",
        "../../rules/breakthrough.game",
        "../../rules/amazons.game",
        "../../rules/ataxx.game",
        "../../rules/clobber.game",
        "../../rules/english-draughts.game",
        "../../rules/gomoku.game",
        "../../rules/hasami-shogi.game",
        "../../rules/hex.game",
        "../../rules/konane.game",
        "../../rules/lines-of-action.game",
        "../../rules/y.game",
        "../../rules/yavalath.game",
}

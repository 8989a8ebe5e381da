//! `src/net/infer` with its own tests and nothing else. Input: the same source files. Output: a test binary for
//! sanitizers.
//!
//! `config` and `encode` stand in for the modules of those names, with only what the forward pass needs of them.
#![allow(dead_code)]

pub mod config {
    //! `petteia::config`.

    /// Sizes of a network.
    #[derive(Clone, Default)]
    pub struct NetConfig {
        /// Channels of the tower.
        pub filters: usize,
        /// Residual blocks.
        pub blocks: usize,
        /// Planes of the value head.
        pub value_planes: usize,
        /// Hidden units of the value head.
        pub value_hidden: usize,
        /// Global pooling in the value head.
        pub value_pooling: bool,
        /// Global pooling after every group of this many blocks.
        pub block_pooling: usize,
        /// Weight of an auxiliary head.
        pub soft_policy: f32,
        /// Weight of an auxiliary head.
        pub reply_policy: f32,
        /// Weight of an auxiliary head.
        pub short_value: f32,
        /// Stands for the other settings in `petteia::config`.
        pub more: (),
    }

    /// The precision of the products of the forward pass.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Precision {
        /// 32 bits.
        F32,
        /// 16-bit factors.
        Bf16,
        /// Never used for a forward pass.
        Auto,
    }
}

pub mod encode {
    //! `petteia::encode`.

    /// Sizes of a network's input and policy.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
    pub struct Shape {
        /// Input planes.
        pub planes: usize,
        /// Rows.
        pub height: usize,
        /// Columns.
        pub width: usize,
        /// Policy size.
        pub actions: usize,
    }

    impl Shape {
        /// Squares of the board.
        pub fn cells(&self) -> usize {
            self.height * self.width
        }

        /// Numbers of one encoded position.
        pub fn input_len(&self) -> usize {
            self.planes * self.cells()
        }
    }
}

macro_rules! debug_fields {
    ($Type:ident, $($field:ident),*) => {};
}

pub mod net;

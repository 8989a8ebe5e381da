//! The division of a batch among the blocks of a GPU. Input: a program, the limits of a GPU and a number of positions.
//! Output: a launch. The division affects only the time, never a result.
//!
//! Activations must fit into shared memory, so each block takes a group of positions. In a small batch, the groups are
//! smaller, so that every multiprocessor gets some positions. The size of a group, the number of tiles that a warp
//! multiplies at a time, and the number of warps are those with the least estimated time. The estimate was fitted to
//! the times of 3,450 launches on an H200, where the launch that it chooses takes 0.7 % longer than the best launch on
//! average, and 6.4 % at most.

use super::gpu::GpuLimits;
use super::program::{self, NetProgram};

/// For each kernel: the tiles of 16 rows and the tiles of 8 outputs that a warp multiplies at a time.
pub(super) const TILES: [[usize; 2]; 3] = [[2, 4], [2, 8], [4, 4]];
/// The numbers of warps that a block may have.
pub(super) const WARPS: std::ops::RangeInclusive<usize> = 4..=16;
/// The number of registers of a thread in any kernel, and of a multiprocessor.
const REGISTERS: [usize; 2] = [128, 65_536];
/// Bytes of shared memory that the driver reserves in each block.
const KEPT: usize = 1024;
/// The maximum number of positions in a block; more positions would only take more rounds.
const MOST_GROUP: usize = 64;

/// The bytes of all banks of shared memory together; a row of zeros may begin in any bank.
const BANKS: usize = 128;

/// The shared memory of a block, in bytes: a row of zeros, the two buffers, and the other numbers of its positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// The offset of each buffer.
    pub(super) at: [usize; 2],
    /// The offset of the positions' other numbers.
    pub(super) numbers_at: usize,
    /// The total number of bytes.
    pub(super) bytes: usize,
}

/// The parameters of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Launch {
    /// The index of the launch's kernel in [`TILES`].
    pub(super) tiles: usize,
    /// The number of positions in a block.
    pub(super) group: usize,
    pub(super) blocks: usize,
    pub(super) threads: usize,
    pub(super) layout: Layout,
}

impl Layout {
    pub(super) fn new(program: &NetProgram, group: usize) -> Layout {
        let rows = group * program.shape.cells();
        let [first, second] = program.strides.map(|stride| stride * 2);
        let zeros = first.max(second) + BANKS;
        let at = [zeros, zeros + rows * first];
        let numbers_at = at[1] + rows * second;
        Layout { at, numbers_at, bytes: numbers_at + group * program.numbers_each * 4 }
    }
}

impl Launch {
    /// Returns the launch for this many positions, or `None` if not even one position fits into a block.
    pub(super) fn new(program: &NetProgram, limits: &GpuLimits, positions: usize) -> Option<Launch> {
        let mut best: Option<(f64, Launch)> = None;
        for group in 1..=positions.clamp(1, MOST_GROUP) {
            let layout = Layout::new(program, group);
            if layout.bytes > limits.shared[0] {
                break;
            }
            for (tiles, [_, columns]) in TILES.into_iter().enumerate() {
                if !program.unit.is_multiple_of(8 * columns) {
                    continue;
                }
                for warps in WARPS {
                    let blocks = positions.max(1).div_ceil(group);
                    let launch = Launch { tiles, group, blocks, threads: 32 * warps, layout };
                    let time = launch.time(program, limits);
                    if best.is_none_or(|(best_time, _)| time < best_time) {
                        best = Some((time, launch));
                    }
                }
            }
        }
        best.map(|(_, launch)| launch)
    }

    /// Estimates the time of the launch, in microseconds.
    fn time(&self, program: &NetProgram, limits: &GpuLimits) -> f64 {
        let warps = self.threads / 32;
        let by_registers = REGISTERS[1] / (REGISTERS[0] * self.threads);
        let resident = (limits.shared[1] / (self.layout.bytes + KEPT)).min(by_registers).max(1);
        let each = self.blocks.div_ceil(limits.multiprocessors);
        let waves = [(each / resident, resident), (1, each % resident)];
        let times = waves.map(|(waves, blocks)| waves as f64 * self.wave(program, warps, blocks));
        times.iter().sum()
    }

    /// Estimates the time of `blocks` blocks that share a multiprocessor, in microseconds.
    fn wave(&self, program: &NetProgram, warps: usize, blocks: usize) -> f64 {
        if blocks == 0 {
            return 0.0;
        }
        let [rows, columns] = TILES[self.tiles];
        let row_groups = (self.group * program.shape.cells()).div_ceil(16 * rows);
        let tasks = row_groups * (program.width / (8 * columns));
        // one step of a task: its products and the rows that it loads
        let step = 0.003 * (rows * columns) as f64 + 0.008 * rows as f64;
        let steps = 9.0 * program.width as f64 / 16.0;
        // four warps compute at a time, and each waits in every step
        let busy = (blocks * tasks) as f64 * steps * step / 4.0;
        let alone = tasks.div_ceil(warps) as f64 * steps * (0.12 + step);
        let convolutions = program.steps.iter().filter(|step| step.kind == program::CONV && step.taps == 9);
        let convolution = busy.hypot(alone) + 2.0;
        // the last two terms are the input and the heads of each position, and the barriers between them
        convolutions.count() as f64 * convolution + 6.0 * (self.group * blocks) as f64 + 10.0
    }
}

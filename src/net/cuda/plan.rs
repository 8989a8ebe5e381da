//! The division of a batch among the blocks of a GPU. Input: a program, the limits of a GPU and a number of
//! positions. Output: a launch. It affects only the time, never a result.
//!
//! Activations must fit into shared memory, so each block takes a group of positions. In a small batch the groups are
//! smaller, so that every multiprocessor has some. The tiles that a warp multiplies at a time are chosen by an
//! estimate, not by measurements.

use super::gpu::GpuLimits;
use super::program::Program;

/// For each kernel: how many tiles of 16 rows and how many tiles of 8 outputs a warp multiplies at a time, and the
/// maximum number of warps in a block.
pub(super) const TILES: [[usize; 3]; 4] = [[2, 4, 16], [2, 8, 12], [4, 4, 12], [4, 8, 8]];
/// The minimum number of warps in a block, because products are not its only work.
const LEAST_WARPS: usize = 4;
/// The number of warps that keep a multiprocessor busy; more of them share its time.
const BUSY_WARPS: usize = 8;
/// Bytes of shared memory that the driver reserves in each block.
const KEPT: usize = 1024;
/// The maximum number of positions in a block; with more, it would only take more rounds.
const MOST_GROUP: usize = 64;

/// The shared memory of a block, in bytes: a row of zeros, the two buffers, and the other numbers of its positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// The offset of each buffer.
    pub(super) at: [usize; 2],
    /// The offset of the other numbers.
    pub(super) numbers_at: usize,
    /// The total number of bytes.
    pub(super) bytes: usize,
}

/// The parameters of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Launch {
    /// The index of its kernel in [`TILES`].
    pub(super) tiles: usize,
    /// The number of positions in a block.
    pub(super) group: usize,
    pub(super) blocks: usize,
    pub(super) threads: usize,
    pub(super) layout: Layout,
}

impl Layout {
    pub(super) fn new(program: &Program, group: usize) -> Layout {
        let rows = group * program.shape.cells();
        let [first, second] = program.strides.map(|stride| stride * 2);
        let zeros = first.max(second);
        let at = [zeros, zeros + rows * first];
        let numbers_at = at[1] + rows * second;
        Layout { at, numbers_at, bytes: numbers_at + group * program.numbers_each * 4 }
    }
}

impl Launch {
    /// The launch for this many positions; `None` if not even one position fits into a block.
    pub(super) fn new(program: &Program, limits: &GpuLimits, positions: usize) -> Option<Launch> {
        let mut best: Option<(f64, Launch)> = None;
        for group in 1..=positions.clamp(1, MOST_GROUP) {
            let layout = Layout::new(program, group);
            if layout.bytes > limits.shared[0] {
                break;
            }
            for (tiles, [_, columns, _]) in TILES.into_iter().enumerate() {
                if !program.unit.is_multiple_of(8 * columns) {
                    continue;
                }
                let (time, threads) = time(program, limits, positions, (group, layout.bytes), tiles);
                if best.is_none_or(|(least, _)| time < least) {
                    let blocks = positions.max(1).div_ceil(group);
                    best = Some((time, Launch { tiles, group, blocks, threads, layout }));
                }
            }
        }
        best.map(|(_, launch)| launch)
    }
}

/// An estimate of the time of a batch, in units of one product of tiles, and the best number of threads in a block.
fn time(
    program: &Program,
    limits: &GpuLimits,
    positions: usize,
    (group, bytes): (usize, usize),
    tiles: usize,
) -> (f64, usize) {
    let [rows, columns, most_warps] = TILES[tiles];
    let row_groups = (group * program.shape.cells()).div_ceil(16 * rows);
    let tasks = row_groups * (program.width / (8 * columns));
    let rounds = tasks.div_ceil(most_warps);
    let warps = tasks.div_ceil(rounds).max(LEAST_WARPS);
    // the cost of a task: its products, and the fragments of rows and weights that it loads
    let task = (rows * columns + 2 * rows + columns) as f64;
    let blocks = positions.max(1).div_ceil(group);
    let together = blocks.div_ceil(limits.multiprocessors).min(most_warps / warps);
    let resident = (limits.shared[1] / (bytes + KEPT)).min(together).max(1);
    let share = ((warps * resident) as f64 / BUSY_WARPS as f64).max(1.0);
    let waves = blocks.div_ceil(limits.multiprocessors * resident);
    // input, heads and barriers, whose cost depends only on the size of the group
    let beside = 4.0 + group as f64;
    ((rounds as f64 * task * share + beside) * waves as f64, warps * 32)
}

//! How a batch is shared out among the blocks of a GPU: in go a program, the limits of a GPU and a number of positions,
//! out comes a launch. It changes times only, never a result.
//!
//! Activations must fit into shared memory, so a block takes a group of positions; a small batch takes smaller groups,
//! so that every multiprocessor has some. Which tiles a warp multiplies at a time follows from an estimate, not from
//! measurements.

use super::gpu::GpuLimits;
use super::program::Program;

/// Tiles of 16 rows and of 8 outputs that a warp multiplies at a time, and the warps of a block at most: one kernel for
/// each.
pub(super) const TILES: [[usize; 3]; 4] = [[2, 4, 16], [2, 8, 12], [4, 4, 12], [4, 8, 8]];
/// Warps of a block at least: there is more to do than products.
const LEAST_WARPS: usize = 4;
/// Warps that keep a multiprocessor busy; more share its time.
const BUSY_WARPS: usize = 8;
/// Bytes of shared memory that the driver keeps of each block.
const KEPT: usize = 1024;
/// More positions of a block would only be more rounds.
const MOST_GROUP: usize = 64;

/// Bytes of a block's shared memory: a row of zeros, the two buffers, the other numbers of its positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// Bytes before each buffer.
    pub(super) at: [usize; 2],
    /// Bytes before the other numbers.
    pub(super) numbers_at: usize,
    /// Bytes of all.
    pub(super) bytes: usize,
}

/// A launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Launch {
    /// The index of its [`TILES`].
    pub(super) tiles: usize,
    /// Positions of a block.
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
    /// The launch for so many positions; `None` if not even one fits into a block.
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

/// About how long a batch takes, in products of tiles one after the other, and the best number of threads.
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
    // of a task: products, rows and fragments that are loaded
    let task = (rows * columns + 2 * rows + columns) as f64;
    let blocks = positions.max(1).div_ceil(group);
    let together = blocks.div_ceil(limits.multiprocessors).min(most_warps / warps);
    let resident = (limits.shared[1] / (bytes + KEPT)).min(together).max(1);
    let share = ((warps * resident) as f64 / BUSY_WARPS as f64).max(1.0);
    let waves = blocks.div_ceil(limits.multiprocessors * resident);
    // input, heads and barriers, which take as long for every group
    let beside = 4.0 + group as f64;
    ((rounds as f64 * task * share + beside) * waves as f64, warps * 32)
}

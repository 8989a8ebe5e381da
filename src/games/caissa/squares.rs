//! Sets of squares on 7x7: the lines of the pieces (R1) and groups of tiles (R4). Each bit is a square, rank * 7 +
//! file.

/// The number of squares per side of the board.
pub(super) const SIDE: usize = 7;
/// The number of squares of the board.
pub(super) const CELLS: usize = SIDE * SIDE;
/// All squares.
pub(super) const ALL: u64 = (1 << CELLS) - 1;

/// Steps (file, rank) along the lines: first the rook's steps that raise the square's index, then the bishop's, and
/// then the opposites of all four.
const LINES: [(i32, i32); 8] = [(1, 0), (0, 1), (-1, 1), (1, 1), (-1, 0), (0, -1), (1, -1), (-1, -1)];
const LEAPS: [(i32, i32); 8] = [(1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2)];

/// `RAYS[direction][square]` is the set of squares in that direction, up to the edge.
static RAYS: [[u64; 64]; 8] = {
    let mut rays = [[0; 64]; 8];
    let mut index = 0;
    while index < 8 * CELLS {
        let (direction, square) = (index / CELLS, index % CELLS);
        rays[direction][square] = walk(square, LINES[direction], SIDE);
        index += 1;
    }
    rays
};
/// The squares adjacent to each square, and those a knight's leap away.
pub(super) static AROUND: [u64; 64] = near(LINES);
pub(super) static LEAP: [u64; 64] = near(LEAPS);

/// Returns the squares reached from `square` in at most `steps` steps.
const fn walk(square: usize, (dx, dy): (i32, i32), steps: usize) -> u64 {
    let (mut x, mut y) = ((square % SIDE) as i32 + dx, (square / SIDE) as i32 + dy);
    let (mut squares, mut step) = (0, 0);
    while step < steps && x >= 0 && x < SIDE as i32 && y >= 0 && y < SIDE as i32 {
        squares |= 1 << (y as usize * SIDE + x as usize);
        (x, y, step) = (x + dx, y + dy, step + 1);
    }
    squares
}

const fn near(steps: [(i32, i32); 8]) -> [u64; 64] {
    let mut table = [0; 64];
    let mut index = 0;
    while index < 8 * CELLS {
        table[index / 8] |= walk(index / 8, steps[index % 8], 1);
        index += 1;
    }
    table
}

/// Returns the line in one direction, up to and including the first piece of `occupied` (R1).
#[inline(always)]
fn ray(direction: usize, square: usize, occupied: u64) -> u64 {
    let ray = RAYS[direction][square];
    let blocked = ray & occupied;
    if direction < 4 {
        ray & (blocked ^ blocked.wrapping_sub(1))
    } else {
        ray & (!0 << (63 - (blocked | 1).leading_zeros()))
    }
}

/// Returns the rook's lines (R1).
#[inline(always)]
pub(super) fn rook(square: usize, occupied: u64) -> u64 {
    let ray = |direction| ray(direction, square, occupied);
    ray(0) | ray(1) | ray(4) | ray(5)
}

/// Returns the bishop's lines (R1).
#[inline(always)]
pub(super) fn bishop(square: usize, occupied: u64) -> u64 {
    let ray = |direction| ray(direction, square, occupied);
    ray(2) | ray(3) | ray(6) | ray(7)
}

/// Returns `squares` and all squares around them.
#[inline(always)]
fn grow(squares: u64) -> u64 {
    const LEFT: u64 = 0x0408_1020_4081; // file a
    const RIGHT: u64 = LEFT << (SIDE - 1);
    let wide = squares | (squares & !RIGHT) << 1 | (squares & !LEFT) >> 1;
    (wide | wide << SIDE | wide >> SIDE) & ALL
}

/// Returns the group of `tiles` that contains `seed`.
#[inline(always)]
pub(super) fn group(seed: u64, tiles: u64) -> u64 {
    let mut group = seed;
    loop {
        let grown = grow(group) & tiles;
        if grown == group {
            return group;
        }
        group = grown;
    }
}

/// Returns the lowest square of a set.
pub(super) fn lowest(set: u64) -> u64 {
    set & set.wrapping_neg()
}

/// Returns where the tile of `square`, removed from the connected `tiles`, can be placed so that all tiles are
/// connected again (R4), including `square` itself.
#[inline(always)]
pub(super) fn reconnecting(tiles: u64, square: usize) -> u64 {
    let rest = tiles & !(1 << square);
    let adjacent = AROUND[square] & tiles;
    // usually the adjacent tiles stay connected without this tile
    if group(lowest(adjacent), adjacent) == adjacent {
        return grow(rest);
    }
    let (mut left, mut squares) = (rest, ALL);
    while left != 0 {
        let part = group(lowest(left), rest);
        squares &= grow(part);
        left &= !part;
    }
    squares
}

/// Returns whether the connected `tiles` stay connected without the tile of `square`.
pub(super) fn removable(tiles: u64, square: usize) -> bool {
    let (rest, adjacent) = (tiles & !(1 << square), AROUND[square] & tiles);
    group(lowest(adjacent), adjacent) == adjacent || group(lowest(rest), rest) == rest
}

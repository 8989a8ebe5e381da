//! Sets of squares: runs of men and what they trap, slides, captures, and groups (rulings C1, C2, C3, C5b).
//!
//! Each bit is a square, rank * 8 + file. All men are processed together: runs are followed by shifting whole sets, so
//! the cost does not depend on the number of men.

use crate::board::Symmetry;

/// Steps (file, rank), north first and then clockwise: `d` and `(d + 4) % 8` are opposite, odd ones are diagonal.
pub(super) const STEPS: [(i32, i32); 8] =
    [(0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1)];
/// The longest slide, in squares.
pub(super) const DISTANCES: usize = 7;
/// The number of sets of [`slides`], indexed by direction * 7 + distance - 1.
pub(super) const SLIDES: usize = 8 * DISTANCES;
/// The squares b2..g7.
pub(super) const INNER: u64 = 0x007e_7e7e_7e7e_7e00;
/// Ranks 1-4 and 5-8; without their edge squares, these are the halves that can be lifted.
pub(super) const HALVES: [u64; 2] = [0xffff_ffff, 0xffff_ffff << 32];

const FILE_A: u64 = 0x0101_0101_0101_0101;
const FILE_H: u64 = FILE_A << 7;
/// The squares from which a step in that direction stays on the board.
const INSIDE: [u64; 8] = inside();

const fn inside() -> [u64; 8] {
    let mut inside = [!0; 8];
    let mut direction = 0;
    while direction < 8 {
        let (dx, dy) = STEPS[direction];
        if dx != 0 {
            inside[direction] &= if dx > 0 { !FILE_H } else { !FILE_A };
        }
        if dy != 0 {
            inside[direction] &= if dy > 0 { !0 >> 8 } else { !0 << 8 };
        }
        direction += 1;
    }
    inside
}

/// Returns the change in a square's index for a step in a direction.
pub(super) const fn offset(direction: usize) -> i32 {
    STEPS[direction].1 * 8 + STEPS[direction].0
}

/// Returns the squares from which `steps` steps in a direction lead into `set`, plus some false squares from which they
/// leave the board.
#[inline(always)]
fn before(set: u64, direction: usize, steps: i32) -> u64 {
    let offset = steps * offset(direction);
    if offset > 0 { set >> offset } else { set << -offset }
}

/// Returns the `men` whose unbroken run in a direction is followed directly by one of `ends`. A run consists of `men`
/// only.
#[inline(always)]
fn bounded(men: u64, ends: u64, direction: usize) -> u64 {
    // runs of at most 1, 2, 4, and 8 men
    let mut run = men & INSIDE[direction];
    let mut closed = run & before(ends, direction, 1);
    closed |= run & before(closed, direction, 1);
    run &= before(run, direction, 1);
    closed |= run & before(closed, direction, 2);
    run &= before(run, direction, 2);
    closed | run & before(closed, direction, 4)
}

/// Returns the `men` that are trapped by `enemies` (C1).
#[inline(always)]
pub(super) fn trapped(men: u64, enemies: u64) -> u64 {
    // written out here and below because calls through `map` are not inlined
    let axis = |there, back| bounded(men, enemies, there) & bounded(men, enemies, back);
    axis(0, 4) | axis(1, 5) | axis(2, 6) | axis(3, 7)
}

/// Returns the `movers` that can capture, by direction (C3); `own` is all men of their color.
#[inline(always)]
pub(super) fn captures(movers: u64, own: u64, enemies: u64, diagonal: bool) -> [u64; 8] {
    let capture =
        |direction| movers & INSIDE[direction] & before(bounded(enemies, own, direction), direction, 1);
    let [n, e, s, w] = [capture(0), capture(2), capture(4), capture(6)];
    if diagonal {
        [n, capture(1), e, capture(3), s, capture(5), w, capture(7)]
    } else {
        [n, 0, e, 0, s, 0, w, 0]
    }
}

/// Returns the men that [`captures`] remove.
pub(super) fn captured(captures: [u64; 8]) -> u64 {
    (0..8).fold(0, |all, direction| all | before(captures[direction], (direction + 4) % 8, 1))
}

/// Finds the `movers` that can slide, by direction and distance (C2); see [`SLIDES`].
#[inline(always)]
pub(super) fn slides(movers: u64, empty: u64, sets: &mut [u64; SLIDES]) {
    slide(movers, empty, 0, sets);
    slide(movers, empty, 1, sets);
    slide(movers, empty, 2, sets);
    slide(movers, empty, 3, sets);
    slide(movers, empty, 4, sets);
    slide(movers, empty, 5, sets);
    slide(movers, empty, 6, sets);
    slide(movers, empty, 7, sets);
}

#[inline(always)]
fn slide(movers: u64, empty: u64, direction: usize, sets: &mut [u64; SLIDES]) {
    // the movers whose next square is empty, then the movers whose next two squares are empty, and so on
    let open = INSIDE[direction] & before(empty, direction, 1);
    let mut ahead = open;
    for set in &mut sets[direction * DISTANCES..][..DISTANCES] {
        *set = movers & ahead;
        ahead = open & before(ahead, direction, 1);
    }
}

/// Returns whether any of `movers` has an empty square next to it.
#[inline(always)]
pub(super) fn can_slide(movers: u64, empty: u64) -> bool {
    let level = empty | (empty & !FILE_H) << 1 | (empty & !FILE_A) >> 1;
    movers & (level | level << 8 | level >> 8) != 0
}

/// Returns whether the men form one orthogonal group (C5b).
pub(super) fn one_group(men: u64) -> bool {
    let adjacent = |set: u64| (set & !FILE_H) << 1 | (set & !FILE_A) >> 1 | set << 8 | set >> 8;
    // usually at least one man has no neighbor at all
    if men & !adjacent(men) != 0 {
        return men.is_power_of_two();
    }
    let mut group = men & men.wrapping_neg();
    loop {
        let grown = group | adjacent(group) & men;
        if grown == group {
            return men != 0 && group == men;
        }
        group = grown;
    }
}

/// Maps a set by a symmetry.
pub(super) fn map(symmetry: Symmetry, mut set: u64) -> u64 {
    if symmetry.transpose {
        // swaps blocks of 4x4 squares across the diagonal, then of 2x2, then single squares
        for (shift, mask) in [(28, 0xf0f0_f0f0), (14, 0xcccc_0000_cccc), (7, 0x00aa_00aa_00aa_00aa)] {
            let differing = (set ^ set >> shift) & mask;
            set ^= differing | differing << shift;
        }
    }
    if symmetry.mirror_columns {
        set = set.reverse_bits().swap_bytes();
    }
    if symmetry.mirror_rows { set.swap_bytes() } else { set }
}

/// Maps a square by a symmetry; like [`Symmetry::square`], but faster.
pub(super) fn map_square(symmetry: Symmetry, square: u16) -> u16 {
    let square = if symmetry.transpose { square >> 3 | (square & 7) << 3 } else { square };
    square ^ (symmetry.mirror_columns as u16 * 7) ^ (symmetry.mirror_rows as u16 * 56)
}

/// Maps a direction by a symmetry.
pub(super) fn map_direction(symmetry: Symmetry, direction: usize) -> usize {
    let step = symmetry.step(STEPS[direction]);
    STEPS.iter().position(|other| *other == step).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_and_squares_are_mapped_like_the_board() {
        for symmetry in Symmetry::SQUARE {
            for square in 0..64 {
                let expected = symmetry.square(square, 8, 8);
                assert_eq!(map_square(symmetry, square as u16) as usize, expected);
                assert_eq!(map(symmetry, 1 << square), 1 << expected);
            }
            assert_eq!(
                map(symmetry, !0 ^ 0b1011),
                !(0..4)
                    .filter(|s| 0b1011 >> s & 1 == 1)
                    .fold(0, |set, s| { set | 1 << symmetry.square(s, 8, 8) })
            );
        }
    }

    #[test]
    fn directions_are_mapped_like_the_board() {
        for symmetry in Symmetry::SQUARE {
            for direction in 0..8 {
                let step = map_square(symmetry, (27 + offset(direction)) as u16) as i32;
                let mapped = map_direction(symmetry, direction);
                assert_eq!(step - map_square(symmetry, 27) as i32, offset(mapped));
            }
        }
    }
}

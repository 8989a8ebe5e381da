//! The upload of a batch to the GPU. Input: positions and wanted actions. Output: a sequence of 32-bit words.
//!
//! First, for each position, comes the index of its first action, and one final index; then the actions; then the
//! planes. A plane of a game is usually a set of squares times one number, which takes five words. If any plane of a
//! batch is not, or if the board has more squares than fit, all planes are sent as 16-bit numbers.

use super::fragments::Format;
use crate::encode::Shape;
use crate::net::infer::Wanted;

/// The words of a plane that is a set of squares: the number, and four words of 32 squares each.
const PLANE: usize = 5;
/// The maximum number of squares of such a plane.
const SQUARES: usize = 32 * (PLANE - 1);

/// Where the sections begin, in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sections {
    pub(super) actions: usize,
    pub(super) planes: usize,
    /// The total number of words.
    pub(super) words: usize,
    /// Whether planes are sent as 16-bit numbers.
    pub(super) dense: bool,
}

/// The maximum number of words that a batch may need.
pub(super) fn most_words(shape: Shape, positions: usize, actions: usize) -> usize {
    let planes = (positions * shape.planes * PLANE).max((positions * shape.input_len()).div_ceil(2));
    positions + 1 + actions.div_ceil(2) + planes
}

/// Writes a batch; `first` is the number of actions that `wanted.ends` counts before those of this batch.
pub(super) fn write(
    shape: Shape,
    format: Format,
    planes: &[f32],
    (wanted, first): (Wanted, usize),
    words: &mut [u32],
) -> Sections {
    let (positions, count) = (wanted.ends.len(), wanted.actions.len());
    let actions = positions + 1;
    let at = actions + count.div_ceil(2);
    words[0] = 0;
    for (word, end) in words[1..actions].iter_mut().zip(wanted.ends) {
        *word = (end - first) as u32;
    }
    for (word, two) in words[actions..at].iter_mut().zip(wanted.actions.chunks(2)) {
        *word = u32::from(two[0]) | u32::from(*two.get(1).unwrap_or(&0)) << 16;
    }
    let mut sets = words[at..].as_chunks_mut::<PLANE>().0.iter_mut();
    let all = planes.chunks_exact(shape.cells());
    let are_sets = shape.cells() <= SQUARES
        && all.zip(&mut sets).all(|(plane, set)| {
            let found = set_of(plane);
            *set = found.unwrap_or_default();
            found.is_some()
        });
    if are_sets {
        let words = at + positions * shape.planes * PLANE;
        return Sections { actions, planes: at, words, dense: false };
    }
    let bits = |number: &f32| u32::from(format.bits(*number));
    for (word, two) in words[at..].iter_mut().zip(planes.chunks(2)) {
        *word = bits(&two[0]) | two.get(1).map_or(0, bits) << 16;
    }
    Sections { actions, planes: at, words: at + planes.len().div_ceil(2), dense: true }
}

/// A plane as one number and the set of squares that have it, if all others are 0.
fn set_of(plane: &[f32]) -> Option<[u32; PLANE]> {
    let value = plane.iter().copied().find(|x| *x != 0.0).unwrap_or(0.0);
    let mut set = [0; PLANE];
    set[0] = value.to_bits();
    for (word, squares) in set[1..].iter_mut().zip(plane.chunks(32)) {
        let mut fits = true;
        for (square, &x) in squares.iter().enumerate() {
            *word |= u32::from(x == value) << square;
            fits &= x == value || x == 0.0;
        }
        if !fits {
            return None;
        }
    }
    Some(set)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planes_are_sets_or_numbers() {
        let shape = Shape { planes: 2, height: 1, width: 3, actions: 3 };
        let wanted = Wanted { actions: &[2, 0, 1], ends: &[12, 13] };
        let mut words = vec![u32::MAX; most_words(shape, 2, 3)];
        let mut planes = [0.0, 0.5, 0.5, 0.0, 0.0, 0.0, -1.0, 0.0, 0.0, 1.0, 1.0, 1.0];
        let at = write(shape, Format::Bf16, &planes, (wanted, 10), &mut words);
        assert_eq!(at, Sections { actions: 3, planes: 5, words: 25, dense: false });
        assert_eq!(words[..5], [0, 2, 3, 2, 1]);
        let half = 0.5_f32.to_bits();
        assert_eq!(words[5..10], [half, 0b110, 0, 0, 0]);
        // a plane without any number is written as a plane of zeros on all squares
        assert_eq!(words[10..15], [0, 0b111, 0, 0, 0]);
        assert_eq!(words[15..17], [(-1.0_f32).to_bits(), 0b1]);
        assert_eq!(words[20..22], [1.0_f32.to_bits(), 0b111]);
        for odd in [2.0, f32::NAN] {
            planes[1] = odd;
            let at = write(shape, Format::F16, &planes, (wanted, 10), &mut words);
            assert_eq!(at, Sections { actions: 3, planes: 5, words: 11, dense: true });
            assert_eq!(words[6], 0x3800);
        }
        let large = Shape { planes: 1, height: 10, width: 13, ..shape };
        let mut planes = [0.0; 130];
        planes[129] = 1.0;
        let mut words = vec![0; most_words(large, 1, 3)];
        let wanted = Wanted { actions: &[2, 0, 1], ends: &[3] };
        let at = write(large, Format::Bf16, &planes, (wanted, 0), &mut words);
        assert_eq!(
            at,
            Sections { actions: 2, planes: 4, words: 69, dense: true },
            "its sets would have six words"
        );
        assert_eq!(words[68], 0x3f80_0000, "the last square");
        assert_eq!(set_of(&[0.0, -0.0]), Some([0, 0b11, 0, 0, 0]));
        assert_eq!(set_of(&[f32::INFINITY; 128]), Some([0x7f80_0000, !0, !0, !0, !0]));
    }
}

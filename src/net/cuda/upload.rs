//! The upload of a batch to the GPU. Input: encoded positions and wanted actions. Output: a sequence of 32-bit words.
//!
//! The words are, in this order: the index of each position's first action, and one final index; the actions; and the
//! encoded planes. Each 64-bit word of the planes becomes two words, the lower half first.

use crate::encode::Shape;
use crate::net::infer::Wanted;

/// Where the sections begin, in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sections {
    pub(super) actions: usize,
    pub(super) planes: usize,
    /// The total number of words.
    pub(super) words: usize,
}

impl Sections {
    /// Returns where the sections begin for a batch of `positions` positions that needs the logits of `actions` actions
    /// in all.
    pub(super) fn new(shape: Shape, positions: usize, actions: usize) -> Sections {
        let planes = positions + 1 + actions.div_ceil(2);
        Sections { actions: positions + 1, planes, words: planes + 2 * positions * shape.words() }
    }
}

/// Writes a batch; `first` is the number of actions that `wanted.ends` counts before those of this batch.
pub(super) fn write(
    shape: Shape,
    planes: &[u64],
    (wanted, first): (Wanted, usize),
    words: &mut [u32],
) -> Sections {
    let sections = Sections::new(shape, wanted.ends.len(), wanted.actions.len());
    words[0] = 0;
    for (word, end) in words[1..sections.actions].iter_mut().zip(wanted.ends) {
        *word = (end - first) as u32;
    }
    for (word, two) in words[sections.actions..sections.planes].iter_mut().zip(wanted.actions.chunks(2)) {
        *word = u32::from(two[0]) | u32::from(*two.get(1).unwrap_or(&0)) << 16;
    }
    let halves = words[sections.planes..sections.words].as_chunks_mut::<2>().0;
    for (halves, word) in halves.iter_mut().zip(planes) {
        *halves = [*word as u32, (word >> 32) as u32];
    }
    sections
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::Planes;

    #[test]
    fn a_batch_is_sent_in_sections() {
        let shape = Shape { planes: 2, height: 10, width: 7, actions: 3 };
        let mut planes = Planes::new(shape);
        planes.set_bits(0, 1_u128 << 33 | 1_u128 << 69);
        planes.fill(1, 0.5);
        let two = [planes.words(), planes.words()].concat();
        let mut words = vec![7; 60];
        let sections = write(shape, &two, (Wanted { actions: &[2, 0, 1], ends: &[12, 13] }, 10), &mut words);
        assert_eq!(sections, Sections { actions: 3, planes: 5, words: 29 });
        assert_eq!(words[..5], [0, 2, 3, 2, 1]);
        let encoded = [0, 2, 32, 0, 1.0_f32.to_bits(), 0, !0, !0, !0, !0, 0.5_f32.to_bits(), 0];
        assert_eq!((&words[5..17], &words[17..29], words[29]), (&encoded[..], &encoded[..], 7));
    }
}

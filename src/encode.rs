//! Encoded positions: a few words that expand into the network's input.
//!
//! A plane is a bit set of up to 128 squares times one number, so a record's position stays small in the replay
//! window and its symmetries are bit permutations. [`Planes::expand`] writes the `[planes, height, width]` floats
//! that the network reads. Planes are from the point of view of the player to move.

use crate::board::Symmetry;
use crate::random::mix;

/// The sizes of a game that a network needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Shape {
    /// Input planes.
    pub planes: usize,
    /// Rows of a plane.
    pub height: usize,
    /// Columns of a plane.
    pub width: usize,
    /// Policy logits: first as many whole planes of `height * width` as fit (action = plane * cells + cell), then
    /// extras that belong to no square.
    pub actions: usize,
}

impl Shape {
    /// Squares of one plane.
    pub fn cells(&self) -> usize {
        self.height * self.width
    }

    /// Whether a network can have this shape: at least one plane, square and action, and no more than
    /// [`MAX_PLANES`], [`MAX_CELLS`] and [`MAX_ACTIONS`].
    pub fn is_possible(&self) -> bool {
        (1..=MAX_PLANES).contains(&self.planes)
            && (1..=MAX_ACTIONS).contains(&self.actions)
            && (1..=MAX_CELLS).contains(&self.height.saturating_mul(self.width))
    }

    /// Numbers per encoded position, `[planes, height, width]`.
    pub fn input_len(&self) -> usize {
        self.planes * self.cells()
    }
}

/// One plane in 24 bytes: `value` on the squares of the two halves of a bit set, 0 elsewhere.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Plane {
    low: u64,
    high: u64,
    value: f32,
}

impl Plane {
    fn new(bits: u128, value: f32) -> Plane {
        Plane { low: bits as u64, high: (bits >> 64) as u64, value }
    }

    fn bits(self) -> u128 {
        (self.high as u128) << 64 | self.low as u128
    }
}

/// Maximum number of squares of a plane.
pub const MAX_CELLS: usize = 128;
/// Maximum number of planes; far more than any game has, and few enough for memory.
pub const MAX_PLANES: usize = 4096;
/// Maximum number of actions: an action is a `u16`, from 0 to 65,535.
pub const MAX_ACTIONS: usize = 1 << 16;

/// The planes of one position.
#[derive(Clone, Debug, PartialEq)]
pub struct Planes {
    planes: Vec<Plane>,
    height: usize,
    width: usize,
}

impl Planes {
    /// Planes that hold NaN until they are written, so that a forgotten one is noticed.
    ///
    /// # Panics
    /// The board has more than [`MAX_CELLS`] squares.
    pub fn new(shape: Shape) -> Planes {
        assert!(shape.cells() <= MAX_CELLS, "a board has at most {MAX_CELLS} squares");
        let unset = Plane::new(u128::MAX, f32::NAN);
        Planes { planes: vec![unset; shape.planes], height: shape.height, width: shape.width }
    }

    /// Sets a plane to 1 on the squares of `bits` and to 0 elsewhere.
    ///
    /// # Panics
    /// There is no such plane.
    pub fn set_bits(&mut self, plane: usize, bits: u128) {
        self.planes[plane] = Plane::new(bits, 1.0);
    }

    /// Sets every square of a plane to the same number.
    ///
    /// # Panics
    /// There is no such plane.
    pub fn fill(&mut self, plane: usize, value: f32) {
        self.planes[plane] = Plane::new(u128::MAX, value);
    }

    /// A hash of the planes.
    pub fn hash(&self) -> u64 {
        let words = |plane: &Plane| [plane.low, plane.high, plane.value.to_bits().into()];
        self.planes.iter().flat_map(words).fold(0, |hash, word| mix(hash.rotate_left(1) ^ word))
    }

    /// Writes `[planes, height, width]` floats.
    ///
    /// # Panics
    /// The length of `out` is not planes x squares.
    pub fn expand(&self, out: &mut [f32]) {
        let cells = self.height * self.width;
        assert_eq!(out.len(), self.planes.len() * cells);
        for (plane, out) in self.planes.iter().zip(out.chunks_exact_mut(cells)) {
            let mut bits = plane.bits();
            if bits == u128::MAX {
                out.fill(plane.value);
                continue;
            }
            out.fill(0.0);
            while bits != 0 {
                out[bits.trailing_zeros() as usize] = plane.value;
                bits &= bits - 1;
            }
        }
    }

    /// The planes of the position that `symmetry` maps this one to.
    pub fn mapped(&self, symmetry: Symmetry) -> Planes {
        let mut mapped = self.clone();
        if symmetry == Symmetry::IDENTITY {
            return mapped;
        }
        let cells = self.height * self.width;
        for plane in mapped.planes.iter_mut().filter(|plane| plane.bits() != u128::MAX) {
            let mut bits = 0;
            for cell in (0..cells).filter(|cell| plane.bits() >> cell & 1 == 1) {
                bits |= 1 << symmetry.square(cell, self.height, self.width);
            }
            *plane = Plane::new(bits, plane.value);
        }
        mapped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planes_expand_and_map() {
        let shape = Shape { planes: 2, height: 2, width: 3, actions: 6 };
        let mut planes = Planes::new(shape);
        let mut out = vec![0.0; 12];
        planes.expand(&mut out);
        assert!(out.iter().all(|x| x.is_nan()));
        planes.set_bits(0, 0b000_001);
        planes.fill(1, 0.25);
        planes.mapped(Symmetry::COLUMN_MIRROR[1]).expand(&mut out);
        assert_eq!(out[..6], [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]);
        assert_eq!(out[6..], [0.25; 6]);
    }
}

//! Weights in the order in which the lanes of a warp multiply them. Input: a matrix. Output: 16-bit numbers.
//!
//! A step multiplies 16 inputs by pairs of tiles of 8 outputs each. The order is `[tap, step, pair, lane, number]`, so
//! each lane reads its eight numbers of a pair at once. PTX's `mma.m16n8k16` defines the place of a number in its
//! second factor.

use crate::net::kernels::bf16;

/// The number of inputs of a step, and of outputs of a pair of tiles.
pub(super) const STEP: usize = 16;
pub(super) const PAIR: usize = 16;
/// The number of weights in a pair: eight for each of 32 lanes.
pub(super) const NUMBERS: usize = 32 * LANE;
const LANE: usize = 8;

/// The format of 16-bit numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HalfFormat {
    /// The range of f32, with 8 bits of precision.
    Bf16,
    /// At most 65,504, with 11 bits of precision.
    F16,
}

impl HalfFormat {
    /// Returns the bits of the number of this format that is nearest to `number`, ties to even. In f16, a number that
    /// is too large becomes the largest f16.
    pub(super) fn bits(self, number: f32) -> u16 {
        match self {
            HalfFormat::Bf16 => bf16(number),
            HalfFormat::F16 => f16(number),
        }
    }
}

/// Returns the bits of the f16 that is nearest to `number`.
fn f16(number: f32) -> u16 {
    let sign = (number.to_bits() >> 16 & 0x8000) as u16;
    if number.is_nan() {
        return 0x7e00;
    }
    let size = number.abs().min(65_504.0);
    if size < 2.0_f32.powi(-14) {
        // a subnormal number counts steps of 2^-24: the product is exact, and ties round to even; 1024 steps are the
        // smallest normal number
        return sign | (size * 2.0_f32.powi(24)).round_ties_even() as u16;
    }
    let bits = size.to_bits();
    let rounded = (bits + 0xfff + (bits >> 13 & 1)) >> 13;
    sign | (rounded - ((127 - 15) << 10)) as u16
}

/// Returns the input and the output of the weight at a place of a pair, `place < NUMBERS`.
pub(super) fn place(place: usize) -> (usize, usize) {
    let (lane, number) = (place / LANE, place % LANE);
    let (register, half) = (number / 2, number % 2);
    (lane % 4 * 2 + register % 2 * 8 + half, lane / 4 + register / 2 * 8)
}

/// Packs a matrix of `taps` x `inputs` x `outputs` weights, zero where it is padded, and appends it to `packed`.
pub(super) fn pack(
    packed: &mut Vec<u16>,
    format: HalfFormat,
    [taps, inputs, outputs]: [usize; 3],
    weight: impl Fn(usize, usize, usize) -> f32,
) {
    assert_eq!((inputs % STEP, outputs % PAIR), (0, 0), "whole tiles");
    for (tap, step) in (0..taps).flat_map(|tap| (0..inputs / STEP).map(move |step| (tap, step))) {
        for pair in 0..outputs / PAIR {
            packed.extend((0..NUMBERS).map(|at| {
                let (input, output) = place(at);
                format.bits(weight(tap, step * STEP + input, pair * PAIR + output))
            }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_weight_of_a_pair_has_one_place() {
        let mut places: Vec<_> = (0..NUMBERS).map(place).collect();
        // the documentation's example of a lane: T5 has b0..b3 in the rows 2, 3, 10, 11 of column 1
        let lane_5: Vec<_> = (5 * LANE..5 * LANE + 4).map(place).collect();
        assert_eq!(lane_5, [(2, 1), (3, 1), (10, 1), (11, 1)]);
        places.sort_unstable();
        let all: Vec<_> = (0..STEP).flat_map(|input| (0..PAIR).map(move |output| (input, output))).collect();
        assert_eq!(places, all);
    }

    #[test]
    fn f16_rounds_to_the_nearest_ties_to_even() {
        for (number, bits) in [
            (0.0, 0),
            (-0.0, 0x8000),
            (1.0, 0x3c00),
            (-2.0, 0xc000),
            (1.0 + 1.0 / 2048.0, 0x3c00),
            (1.0 + 3.0 / 2048.0, 0x3c02),
            (1.0 + 1.01 / 2048.0, 0x3c01),
            (65_504.0, 0x7bff),
            (1e9, 0x7bff),
            (f32::NEG_INFINITY, 0xfbff),
            (2.0_f32.powi(-14), 0x0400),
            (2.0_f32.powi(-24), 1),
            (2.0_f32.powi(-25), 0),
            (3.0 * 2.0_f32.powi(-25), 2),
            (2.0_f32.powi(-14) - 2.0_f32.powi(-26), 0x0400),
            (f32::NAN, 0x7e00),
        ] {
            assert_eq!(f16(number), bits, "{number}");
        }
    }
}

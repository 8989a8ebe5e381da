//! Convolutions of bytes: how weights and activations become whole numbers, and what their sums are worth.
//!
//! A channel of an activation has a step of its own. That of an input is part of the weights that read it, before these
//! are rounded in steps of their output; so sums need one scale for each output, whatever the inputs are worth.

use super::Tiles;
use super::direct::{Direct, Operands};
use crate::net::infer::tiling::Board;
use crate::net::kernels::vector::Aligned;

/// The scales of a convolution in bytes, channel by channel.
#[derive(Clone, Copy)]
pub(in crate::net) struct Steps<'a> {
    /// A step of each input.
    pub(in crate::net) input: &'a [f32],
    /// The mean of each input.
    pub(in crate::net) mean: &'a [f32],
    /// The inputs come twice, for weights of more than 8 bits: behind all of them, each again, in steps [`FINER`] times
    /// as large.
    pub(in crate::net) twice: bool,
    /// A step of what is skipped, if something is.
    pub(in crate::net) skipped: Option<&'a [f32]>,
    /// A step of each output, if it is written in bytes.
    pub(in crate::net) output: Option<&'a [f32]>,
}

/// How much finer the weights of inputs that come twice are. As 255 is a multiple of it, an input that is either zero
/// or the largest is exact both times.
pub(in crate::net) const FINER: f32 = 15.0;

/// The byte of a number of steps.
#[inline(always)]
pub(in crate::net) fn byte(steps: f32) -> u8 {
    // the last bit of numbers of this size is worth 1
    const WHOLE: f32 = 8_388_608.0;
    // a NaN becomes 0, too
    let steps = if steps > 0.0 { steps } else { 0.0 };
    (steps.min(255.0) + WHOLE).to_bits() as u8
}

impl Direct {
    /// [`Direct::new`] in bytes. Each output has a step of its own, 127 of which are its largest weight.
    /// The mean that the rounding of weights adds to an output is subtracted from its bias.
    pub(in crate::net) fn in_bytes(
        [inputs, outputs, kernel]: [usize; 3],
        (weight, bias): (&[f32], &[f32]),
        board: Board,
        tiles: Tiles,
        steps: Steps,
    ) -> Direct {
        let taps = kernel * kernel;
        assert_eq!(weight.len(), outputs * inputs * taps, "weights of a convolution");
        assert_eq!([steps.input.len(), steps.mean.len()], [inputs; 2], "steps of the inputs");
        let input = |i: usize| i / taps % inputs;
        // for inputs in bytes
        let weight: Vec<f32> = weight.iter().enumerate().map(|(i, w)| w * steps.input[input(i)]).collect();
        let rows = weight.chunks_exact(inputs * taps);
        let largest = rows.map(|row| row.iter().fold(0.0, |most: f32, weight| most.max(weight.abs())));
        let step: Vec<f32> = largest.map(|largest| largest / 127.0).collect();
        let whole = |(i, weight): (usize, &f32)| {
            let exact = weight / step[i / (inputs * taps)];
            let coarse = exact.round_ties_even() as i8;
            [coarse, ((exact - f32::from(coarse)) * FINER).round_ties_even() as i8]
        };
        let whole: Vec<[i8; 2]> = weight.iter().enumerate().map(whole).collect();
        let number = |[tap, input, output]: [usize; 3]| {
            let i = (output * inputs + input % inputs) * taps + tap;
            u32::from(whole[i][input / inputs] as u8)
        };
        let packed = [inputs * (1 + usize::from(steps.twice)), outputs, kernel];
        let mut conv = Direct::packed(packed, bias, (board, tiles, Operands::Bytes), number);
        let mut bias = bias.to_vec();
        let seen = (0..taps).map(|tap| seen(tap, kernel, board)).collect::<Vec<_>>();
        for (i, weight) in weight.iter().enumerate() {
            let (output, [coarse, fine]) = (i / (inputs * taps), whole[i].map(f32::from));
            let rounded = if steps.twice { coarse + fine / FINER } else { coarse };
            let mean = steps.mean[input(i)] / steps.input[input(i)] * seen[i % taps];
            bias[output] += (weight - rounded * step[output]) * mean;
        }
        let [scales, skipped] = [(); 2].map(|()| Aligned::new(conv.bias.as_ref().len()));
        (conv.scale, conv.skipped) = (scales, skipped);
        for (output, (bias, step)) in bias.into_iter().zip(step).enumerate() {
            let written = steps.output.map_or(1.0, |steps| steps[output]);
            conv.bias.as_mut()[output] = bias / written;
            conv.scale.as_mut()[output] = step / written;
            conv.skipped.as_mut()[output] = steps.skipped.map_or(0.0, |steps| steps[output] / written);
        }
        conv
    }
}

/// The share of squares at which a tap is on the board.
fn seen(tap: usize, kernel: usize, board: Board) -> f32 {
    let along = |length: usize, offset: usize| match offset == kernel / 2 {
        true => 1.0,
        false => (length - 1) as f32 / length as f32,
    };
    along(board.height, tap / kernel) * along(board.width, tap % kernel)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::infer::matrix::Finish;
    use crate::net::kernels::direct::{Interleaved, Written};
    use crate::net::kernels::vector::padded;

    const BOARD: Board = Board { height: 3, width: 4 };
    const INPUTS: usize = 5;
    const OUTPUTS: usize = 7;
    /// Of the inputs.
    const STEPS: [f32; INPUTS] = [0.5 / 255.0, 1.0 / 255.0, 3.0 / 255.0, 0.25 / 255.0, 1.0 / 255.0];

    /// Whole numbers from -`most` to `most`, divided by it.
    fn numbers(count: usize, most: usize) -> Vec<f32> {
        (0..count).map(|i| (i * 7919 % (2 * most + 1)) as f32 / most as f32 - 1.0).collect()
    }

    /// A convolution in bytes of inputs with these means, and its outputs `[square, output]` where each square has such
    /// bytes.
    fn outputs(kernel: usize, mean: &[f32], twice: bool, bytes: impl Fn(usize) -> [u8; INPUTS]) -> Vec<f32> {
        let (weight, bias) = (numbers(OUTPUTS * INPUTS * kernel * kernel, 1009), numbers(OUTPUTS, 5));
        let steps = Steps { input: &STEPS, mean, twice, skipped: None, output: None };
        let sizes = [INPUTS, OUTPUTS, kernel];
        let conv = Direct::in_bytes(sizes, (&weight, &bias), BOARD, Tiles::Emulated, steps);
        let layout = Interleaved { board: BOARD, positions: 1 };
        let [words, _] = conv.words();
        let mut from = Aligned::new(layout.rows() * words);
        let squares = (0..BOARD.height).flat_map(|row| (0..BOARD.width).map(move |column| (row, column)));
        for (square, (row, column)) in squares.enumerate() {
            let bytes = bytes(square);
            let mut twice = [0; 2 * INPUTS];
            twice[..INPUTS].copy_from_slice(&bytes);
            twice[INPUTS..].copy_from_slice(&bytes.map(|byte| byte / FINER as u8));
            let used = &twice[..if conv.used_words() * 4 < 2 * INPUTS { INPUTS } else { 2 * INPUTS }];
            for (word, bytes) in used.chunks(4).enumerate() {
                let mut filled = [0; 4];
                filled[..bytes.len()].copy_from_slice(bytes);
                from.as_mut()[layout.row(row, column) * words + word] =
                    f32::from_bits(u32::from_le_bytes(filled));
            }
        }
        let stride = padded(OUTPUTS);
        let mut to = Aligned::new(BOARD.height * BOARD.width * stride);
        let configured = layout.configure(Tiles::Emulated);
        conv.apply(layout, &configured, from.as_ref(), to.as_mut(), Written::Rows, Finish::Plain);
        to.as_ref().chunks_exact(stride).flat_map(|row| row[..OUTPUTS].to_vec()).collect()
    }

    /// The reference in f32.
    fn exact(kernel: usize, bytes: impl Fn(usize) -> [u8; INPUTS]) -> Vec<f32> {
        let (weight, bias) = (numbers(OUTPUTS * INPUTS * kernel * kernel, 1009), numbers(OUTPUTS, 5));
        let (Board { height, width }, half) = (BOARD, kernel / 2);
        let output = |square: usize, output: usize| {
            let mut sum = bias[output];
            for (input, tap) in
                (0..INPUTS).flat_map(|input| (0..kernel * kernel).map(move |tap| (input, tap)))
            {
                let row = (square / width + tap / kernel).wrapping_sub(half);
                let column = (square % width + tap % kernel).wrapping_sub(half);
                if row < height && column < width {
                    let x = f32::from(bytes(row * width + column)[input]) * STEPS[input];
                    sum += weight[(output * INPUTS + input) * kernel * kernel + tap] * x;
                }
            }
            sum
        };
        (0..height * width)
            .flat_map(|square| (0..OUTPUTS).map(move |o| (square, o)))
            .map(|(s, o)| output(s, o))
            .collect()
    }

    fn largest_difference(a: &[f32], b: &[f32]) -> f32 {
        assert_eq!(a.len(), b.len());
        a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
    }

    #[test]
    fn bytes_are_rounded_to_even_and_end_at_both_ends() {
        let numbers = [-3.0, 0.5, 1.5, 2.4, 254.6, 255.0, 1e9, f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
        assert_eq!(numbers.map(byte), [0, 0, 2, 2, 255, 255, 255, 255, 0, 0]);
    }

    /// Rounding changes outputs, but not their means over the board.
    #[test]
    fn what_rounding_adds_on_average_is_taken_away() {
        let bytes = [200, 3, 77, 255, 130];
        let mean: Vec<f32> = bytes.iter().zip(STEPS).map(|(byte, step)| f32::from(*byte) * step).collect();
        let means = |outputs: &[f32]| -> Vec<f32> {
            let squares = outputs.len() / OUTPUTS;
            (0..OUTPUTS)
                .map(|o| outputs.iter().skip(o).step_by(OUTPUTS).sum::<f32>() / squares as f32)
                .collect()
        };
        for kernel in [1, 3] {
            let exact = means(&exact(kernel, |_| bytes));
            let with = means(&outputs(kernel, &mean, false, |_| bytes));
            let without = means(&outputs(kernel, &[0.0; INPUTS], false, |_| bytes));
            assert!(largest_difference(&with, &exact) < 1e-4, "{kernel}");
            assert!(largest_difference(&without, &exact) > 5e-4, "{kernel}");
        }
    }

    /// Inputs that are zero or the largest have weights of 12 bits if they come twice.
    #[test]
    fn inputs_that_come_twice_have_finer_weights() {
        let bytes =
            |square: usize| std::array::from_fn(|i| if (square * 5 + i * 3) % 7 < 3 { 255 } else { 0 });
        for kernel in [1, 3] {
            let exact = exact(kernel, bytes);
            let [once, twice] = [false, true]
                .map(|twice| largest_difference(&outputs(kernel, &[0.0; INPUTS], twice, bytes), &exact));
            assert!(once > 1e-3 && twice < once / 6.0, "{kernel}: {once}, {twice}");
        }
    }

    /// A channel in larger numbers with smaller weights is the same convolution.
    #[test]
    fn units_of_channels_change_nothing() {
        let (weight, bias) = (numbers(OUTPUTS * INPUTS * 9, 1009), numbers(OUTPUTS, 5));
        let (mean, written) = ([0.1, 0.0, 0.7, 0.02, 0.3], [0.03; OUTPUTS]);
        let factor = |channel: usize| [1.0, 4.0, 0.125][channel % 3];
        let sizes = [INPUTS, OUTPUTS, 3];
        let pack = |weight: &[f32], bias: &[f32], steps| {
            Direct::in_bytes(sizes, (weight, bias), BOARD, Tiles::Emulated, steps)
        };
        let steps = Steps {
            input: &STEPS,
            mean: &mean,
            twice: false,
            skipped: Some(&written),
            output: Some(&written),
        };
        let one = pack(&weight, &bias, steps);
        let scaled = |numbers: &[f32]| -> Vec<f32> {
            numbers.iter().enumerate().map(|(i, number)| number * factor(i)).collect()
        };
        let unit = |i: usize| factor(i / (INPUTS * 9)) / factor(i / 9 % INPUTS);
        let weight: Vec<f32> = weight.iter().enumerate().map(|(i, weight)| weight * unit(i)).collect();
        let (input, mean, written) = (scaled(&STEPS), scaled(&mean), scaled(&written));
        let steps = Steps {
            input: &input,
            mean: &mean,
            twice: false,
            skipped: Some(&written),
            output: Some(&written),
        };
        let other = pack(&weight, &scaled(&bias), steps);
        assert!(
            one.weights.as_ref().iter().zip(other.weights.as_ref()).all(|(a, b)| a.to_bits() == b.to_bits())
        );
        assert_eq!(one.scale.as_ref(), other.scale.as_ref());
        assert_eq!(one.bias.as_ref(), other.bias.as_ref());
        assert_eq!(one.skipped.as_ref(), other.skipped.as_ref());
    }
}

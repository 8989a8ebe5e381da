//! Transforms the weights of a convolution for the products, and transforms their gradients back.
//!
//! A layer has weights `[outputs, inputs, kernel, kernel]`; the products need `[frequency, inputs, outputs]` or, for
//! the gradient of the images, `[frequency, outputs, inputs]`, padded to whole blocks. Kernels are transformed a
//! block at a time.

use rayon::prelude::*;

use super::geometry::Conv;
use super::winograd::{kernel_gradient, kernel_transform};
use crate::net::kernels::vector::{Aligned, BLOCK, Kernel, Vector, padded, vectors_mut};

impl Conv {
    /// Returns the transformed kernel: `[frequency, inputs, outputs]` or, transposed, `[frequency, outputs, inputs]`,
    /// padded.
    pub(super) fn transformed(&self, weight: &[f32], transposed: bool) -> Aligned {
        let mut to = Aligned::new(self.frequencies() * padded(self.outputs) * padded(self.inputs));
        self.isa.run(TransformKernel { conv: self, weight, transposed, to: to.as_mut() });
        to
    }

    /// Adds up the gradients `[tap, input, output]` of all groups, in order, and rearranges them as `[output, input,
    /// tap]`.
    pub(super) fn sum_of_groups(&self, mut gradients: Vec<Aligned>) -> Vec<f32> {
        let (taps, plane) = (self.kernel * self.kernel, padded(self.inputs) * padded(self.outputs));
        let (total, others) = gradients.split_first_mut().expect("a batch has images");
        total.as_mut().par_chunks_mut(plane).enumerate().for_each(|(tap, total)| {
            self.isa.run(AddUp { total, others, first: tap * plane });
        });
        let total = total.as_ref();
        let mut all = vec![0.0; self.outputs * self.inputs * taps];
        for (input, first) in
            (0..self.inputs).flat_map(|i| (0..self.outputs).step_by(BLOCK).map(move |output| (i, output)))
        {
            let from = &total[input * padded(self.outputs) + first..];
            for tap in 0..taps {
                let outputs = &from[tap * plane..][..BLOCK.min(self.outputs - first)];
                for (output, value) in outputs.iter().enumerate() {
                    all[((first + output) * self.inputs + input) * taps + tap] = *value;
                }
            }
        }
        all
    }

    /// Returns zeros for a gradient `[tap, input, output]`, padded.
    pub(super) fn empty_gradient(&self) -> Aligned {
        Aligned::new(self.kernel * self.kernel * padded(self.inputs) * padded(self.outputs))
    }

    /// Transforms the gradient of transformed weights, `[frequency, input, output]`, back to `[tap, input, output]`.
    pub(super) fn transform_back(&self, from: &[f32], to: &mut [f32]) {
        self.isa.run(TransformBack { conv: self, from, to });
    }
}

struct TransformKernel<'a> {
    conv: &'a Conv,
    weight: &'a [f32],
    transposed: bool,
    to: &'a mut [f32],
}

impl Kernel for TransformKernel<'_> {
    #[inline(always)]
    fn run<S: Vector>(self) {
        let TransformKernel { conv, weight, transposed, to } = self;
        // `steps` are the distances, in kernels, from one row to the next and from one lane to the next
        let (rows, lanes, steps) = if transposed {
            (conv.outputs, conv.inputs, [conv.inputs, 1])
        } else {
            (conv.inputs, conv.outputs, [1, conv.inputs])
        };
        let (wide, plane) = (padded(lanes), padded(lanes) * padded(rows));
        let (kernels, [high, across]) = (weight.as_chunks::<9>().0, conv.tiling().frequencies());
        for (row, first) in (0..rows).flat_map(|row| (0..lanes).step_by(BLOCK).map(move |lane| (row, lane))) {
            let (at, count) = (row * steps[0] + first * steps[1], BLOCK.min(lanes - first));
            let to = &mut to[row * wide + first..];
            if conv.kernel == 1 {
                for lane in 0..count {
                    to[lane] = weight[at + lane * steps[1]];
                }
                continue;
            }
            let mut block = [[0.0; BLOCK]; 9];
            for lane in 0..count {
                let kernel = &kernels[at + lane * steps[1]];
                for i in 0..9 {
                    block[i][lane] = kernel[i];
                }
            }
            for (r, line) in kernel_transform(&block)[..high].iter().enumerate() {
                for (c, values) in line[..across].iter().enumerate() {
                    to[(r * across + c) * plane..][..BLOCK].copy_from_slice(values);
                }
            }
        }
    }
}

/// Adds the numbers of `others`, starting at `first`, to `total`, one array after the other.
struct AddUp<'a> {
    total: &'a mut [f32],
    others: &'a [Aligned],
    first: usize,
}

impl Kernel for AddUp<'_> {
    #[inline(always)]
    fn run<S: Vector>(self) {
        let AddUp { total, others, first } = self;
        for (index, total) in vectors_mut::<S>(total).iter_mut().enumerate() {
            for other in others {
                *total = total.add(S::load(&other.as_ref()[first + index * S::LANES..]));
            }
        }
    }
}

/// Computes `G^T m G` of all kernels.
struct TransformBack<'a> {
    conv: &'a Conv,
    from: &'a [f32],
    to: &'a mut [f32],
}

impl Kernel for TransformBack<'_> {
    #[inline(always)]
    fn run<S: Vector>(self) {
        let TransformBack { conv, from, to } = self;
        let plane = padded(conv.outputs) * padded(conv.inputs);
        if conv.kernel == 1 {
            to.copy_from_slice(&from[..plane]);
            return;
        }
        let size = conv.tiling().frequencies();
        for first in (0..plane).step_by(S::LANES) {
            kernel_gradient::<S>(size, &from[first..], plane, &mut to[first..]);
        }
    }
}

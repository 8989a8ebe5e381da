//! Transforms the weights of a convolution for the products, and transforms their gradients back.
//!
//! A layer has weights `[outputs, inputs, kernel, kernel]`; the products need `[frequency, inputs, outputs]` or, for
//! the gradient of the images, `[frequency, outputs, inputs]`, padded to whole blocks. Kernels are transformed a
//! block at a time.

use std::array::from_fn;

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

    /// Sums the gradients of the groups, in order, and transforms the result back.
    pub(super) fn weight_gradient(&self, mut sums: Vec<Aligned>) -> Vec<f32> {
        let plane = padded(self.outputs) * padded(self.inputs);
        let (total, others) = sums.split_first_mut().expect("a batch has images");
        total.as_mut().par_chunks_mut(plane).enumerate().for_each(|(frequency, total)| {
            self.isa.run(AddUp { total, others, first: frequency * plane });
        });
        let mut to = vec![0.0; self.outputs * self.inputs * self.kernel * self.kernel];
        self.isa.run(TransformBack { conv: self, total: total.as_ref(), to: &mut to });
        to
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
        let kernels = weight.as_chunks::<9>().0;
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
            for (frequency, values) in kernel_transform(&block).iter().enumerate() {
                to[frequency * plane..][..BLOCK].copy_from_slice(values);
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

/// Computes the gradient `[outputs, inputs, kernel, kernel]` from `[frequency, inputs, outputs]`, padded.
struct TransformBack<'a> {
    conv: &'a Conv,
    total: &'a [f32],
    to: &'a mut [f32],
}

impl Kernel for TransformBack<'_> {
    #[inline(always)]
    fn run<S: Vector>(self) {
        let TransformBack { conv, total, to } = self;
        let (wide, size) = (padded(conv.outputs), conv.kernel * conv.kernel);
        let plane = wide * padded(conv.inputs);
        for (input, first) in
            (0..conv.inputs).flat_map(|i| (0..conv.outputs).step_by(BLOCK).map(move |output| (i, output)))
        {
            let from = &total[input * wide + first..];
            let count = BLOCK.min(conv.outputs - first);
            let mut block = [[0.0; BLOCK]; 16];
            for (frequency, block) in block.iter_mut().enumerate().take(conv.frequencies()) {
                block.copy_from_slice(&from[frequency * plane..][..BLOCK]);
            }
            let gradient = match conv.kernel {
                3 => kernel_gradient(&block),
                _ => from_fn(|i| block[i]),
            };
            for lane in 0..count {
                let to = &mut to[((first + lane) * conv.inputs + input) * size..][..size];
                for (i, to) in to.iter_mut().enumerate() {
                    *to = gradient[i][lane];
                }
            }
        }
    }
}

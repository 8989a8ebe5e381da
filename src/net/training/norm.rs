//! Batch norm with the batch's own statistics, skip connection and ReLU in one pass; their gradient in another.
//!
//! Arrays are `[pixel, channel]` with channels padded to whole blocks. Groups of pixels are processed in parallel;
//! their sums are added in double precision and in order, whatever the number of threads.

use rayon::prelude::*;

use crate::net::vector::{BLOCK, Isa, Kernel, Vector};

/// Pixels per group, and pixels that are summed in single precision before they join the double-precision sum.
const GROUP: usize = 1024;
const RUN: usize = 64;

/// Mean and biased variance of every channel.
#[derive(Clone, Debug)]
pub(super) struct Moments {
    pub(super) mean: Vec<f32>,
    pub(super) variance: Vec<f32>,
}

/// Computes the moments of `z`.
pub(super) fn moments(isa: Isa, z: &[f32], channels: usize) -> Moments {
    let groups: Vec<[Vec<f64>; 2]> = z
        .par_chunks(GROUP * channels)
        .map(|z| {
            let mut mean = vec![0.0; channels];
            let mut squares = vec![0.0; channels];
            let zero = vec![0.0; channels];
            isa.run(Sums { z, mean: &zero, sums: &mut mean, squares: false });
            let pixels = (z.len() / channels) as f64;
            mean.iter_mut().for_each(|mean| *mean /= pixels);
            let center: Vec<f32> = mean.iter().map(|mean| *mean as f32).collect();
            isa.run(Sums { z, mean: &center, sums: &mut squares, squares: true });
            // correct the squares, which were taken about the rounded mean
            for ((square, mean), center) in squares.iter_mut().zip(&mean).zip(&center) {
                *square -= pixels * (mean - f64::from(*center)).powi(2);
            }
            [mean, squares]
        })
        .collect();
    let (mut pixels, mut mean, mut squares) = (0.0, vec![0.0; channels], vec![0.0; channels]);
    for (group, z) in groups.iter().zip(z.chunks(GROUP * channels)) {
        // pairwise update of Chan, Golub and LeVeque (1979)
        let more = (z.len() / channels) as f64;
        let share = more / (pixels + more);
        for channel in 0..channels {
            let delta = group[0][channel] - mean[channel];
            mean[channel] += delta * share;
            squares[channel] += group[1][channel] + delta * delta * pixels * share;
        }
        pixels += more;
    }
    Moments {
        mean: mean.iter().map(|mean| *mean as f32).collect(),
        variance: squares.iter().map(|square| (square / pixels) as f32).collect(),
    }
}

/// Writes `relu((z - mean) * scale + shift + skip)` into `y`.
pub(super) fn normalize(
    isa: Isa,
    z: &[f32],
    [mean, scale, shift]: [&[f32]; 3],
    skip: Option<&[f32]>,
    y: &mut [f32],
) {
    let group = GROUP * mean.len();
    y.par_chunks_mut(group).zip(z.par_chunks(group)).enumerate().for_each(|(i, (y, z))| {
        let skip = skip.map(|skip| &skip[i * group..][..z.len()]);
        isa.run(Normalize { z, mean, scale, shift, skip, y });
    });
}

/// Clears the gradient `g` of `y` where ReLU was inactive, and sums `g` and `g * (z - mean)` for every channel.
pub(super) fn relu_gradient(isa: Isa, g: &mut [f32], y: &[f32], z: &[f32], mean: &[f32]) -> [Vec<f64>; 2] {
    let channels = mean.len();
    let group = GROUP * channels;
    let groups: Vec<[Vec<f64>; 2]> = g
        .par_chunks_mut(group)
        .zip(y.par_chunks(group).zip(z.par_chunks(group)))
        .map(|(g, (y, z))| {
            let mut sums = [vec![0.0; channels], vec![0.0; channels]];
            isa.run(ReluGradient { g, y, z, mean, sums: &mut sums });
            sums
        })
        .collect();
    let mut total = [vec![0.0; channels], vec![0.0; channels]];
    for sums in &groups {
        total.iter_mut().flatten().zip(sums.iter().flatten()).for_each(|(total, sum)| *total += sum);
    }
    total
}

struct Sums<'a> {
    z: &'a [f32],
    mean: &'a [f32],
    sums: &'a mut [f64],
    /// Sum squares, `(z - mean)^2`, instead of values, `z - mean`.
    squares: bool,
}

impl Kernel for Sums<'_> {
    #[inline(always)]
    fn run<S: Vector>(self) {
        let channels = self.mean.len();
        for z in self.z.chunks(RUN * channels) {
            for channel in (0..channels).step_by(S::LANES) {
                let mean = S::load(&self.mean[channel..]);
                let mut sum = S::splat(0.0);
                for z in z.chunks_exact(channels) {
                    let z = S::load(&z[channel..]).sub(mean);
                    sum = if self.squares { sum.add_products(z, z) } else { sum.add(z) };
                }
                add_to(sum, &mut self.sums[channel..]);
            }
        }
    }
}

struct Normalize<'a> {
    z: &'a [f32],
    mean: &'a [f32],
    scale: &'a [f32],
    shift: &'a [f32],
    skip: Option<&'a [f32]>,
    y: &'a mut [f32],
}

impl Kernel for Normalize<'_> {
    #[inline(always)]
    fn run<S: Vector>(self) {
        let channels = self.mean.len();
        for (pixel, y) in self.y.chunks_exact_mut(channels).enumerate() {
            let z = &self.z[pixel * channels..][..channels];
            let skip = self.skip.map(|skip| &skip[pixel * channels..][..channels]);
            for channel in (0..channels).step_by(S::LANES) {
                let shift = S::load(&self.shift[channel..]);
                let centered = S::load(&z[channel..]).sub(S::load(&self.mean[channel..]));
                let mut value = shift.add_products(S::load(&self.scale[channel..]), centered);
                if let Some(skip) = skip {
                    value = value.add(S::load(&skip[channel..]));
                }
                value.relu().store(&mut y[channel..]);
            }
        }
    }
}

struct ReluGradient<'a> {
    g: &'a mut [f32],
    y: &'a [f32],
    z: &'a [f32],
    mean: &'a [f32],
    sums: &'a mut [Vec<f64>; 2],
}

impl Kernel for ReluGradient<'_> {
    #[inline(always)]
    fn run<S: Vector>(self) {
        let channels = self.mean.len();
        let run = RUN * channels;
        for (g, (y, z)) in self.g.chunks_mut(run).zip(self.y.chunks(run).zip(self.z.chunks(run))) {
            for channel in (0..channels).step_by(S::LANES) {
                let mean = S::load(&self.mean[channel..]);
                let (mut sum, mut product) = (S::splat(0.0), S::splat(0.0));
                let pixels = g.chunks_exact_mut(channels);
                for (g, (y, z)) in pixels.zip(y.chunks_exact(channels).zip(z.chunks_exact(channels))) {
                    let kept = S::load(&g[channel..]).where_positive(S::load(&y[channel..]));
                    kept.store(&mut g[channel..]);
                    sum = sum.add(kept);
                    product = product.add_products(kept, S::load(&z[channel..]).sub(mean));
                }
                add_to(sum, &mut self.sums[0][channel..]);
                add_to(product, &mut self.sums[1][channel..]);
            }
        }
    }
}

#[inline(always)]
fn add_to<S: Vector>(sum: S, total: &mut [f64]) {
    let mut lanes = [0.0; BLOCK];
    sum.store(&mut lanes);
    lanes[..S::LANES].iter().zip(total).for_each(|(lane, total)| *total += f64::from(*lane));
}

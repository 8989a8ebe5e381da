//! Batch norm with the batch's own statistics, skip connection, and ReLU in one pass, and their gradient in another.
//!
//! Arrays are `[pixel, channel]` with channels padded to whole blocks. Runs of pixels are summed in single precision,
//! on all threads. The sums of the runs are added in double precision and in order, run by run and group by group,
//! whatever the number of threads.

use rayon::prelude::*;

use crate::net::kernels::vector::{Isa, Kernel, Vector};

/// The number of pixels in a run, which is summed in single precision.
const RUN: usize = 64;
/// The number of runs in a group. The sums of a group's runs are added up before they are added to those of other
/// groups.
const GROUP: usize = 16;
/// The number of runs that a thread takes at a time: part of a group, so that small batches occupy all threads.
const TASK: usize = 4;

/// Mean and biased variance of every channel.
#[derive(Clone, Debug)]
pub(super) struct Moments {
    pub(super) mean: Vec<f32>,
    pub(super) variance: Vec<f32>,
}

/// Computes the moments of `z`.
pub(super) fn moments(isa: Isa, z: &[f32], channels: usize) -> Moments {
    // group by group, so that the second pass finds the pixels in the cache
    let group = GROUP * RUN * channels;
    let groups: Vec<[Vec<f64>; 2]> =
        z.par_chunks(group).map(|z| moments_of_group(isa, z, channels)).collect();
    let (mut pixels, mut mean, mut squares) = (0.0, vec![0.0; channels], vec![0.0; channels]);
    for (of_group, z) in groups.iter().zip(z.chunks(group)) {
        // pairwise update of Chan, Golub and LeVeque (1979)
        let more = (z.len() / channels) as f64;
        let share = more / (pixels + more);
        for channel in 0..channels {
            let delta = of_group[0][channel] - mean[channel];
            mean[channel] += delta * share;
            squares[channel] += of_group[1][channel] + delta * delta * pixels * share;
        }
        pixels += more;
    }
    Moments {
        mean: mean.iter().map(|mean| *mean as f32).collect(),
        variance: squares.iter().map(|square| (square / pixels) as f32).collect(),
    }
}

/// Returns the mean of every channel, and the sum of the squared deviations from the mean.
fn moments_of_group(isa: Isa, z: &[f32], channels: usize) -> [Vec<f64>; 2] {
    let sums = |mean: &[f32], squares: bool| {
        let mut sums = vec![0.0; z.len().div_ceil(RUN * channels) * channels];
        let tasks = z.par_chunks(TASK * RUN * channels).zip(sums.par_chunks_mut(TASK * channels));
        tasks.for_each(|(z, sums)| isa.run(ChannelSums { z, mean, sums, squares }));
        added(&sums, channels)
    };
    let pixels = (z.len() / channels) as f64;
    let mut mean = sums(&vec![0.0; channels], false);
    mean.iter_mut().for_each(|mean| *mean /= pixels);
    let center: Vec<f32> = mean.iter().map(|mean| *mean as f32).collect();
    let mut squares = sums(&center, true);
    // correct the squares, which were taken about the mean rounded to single precision
    for ((square, mean), center) in squares.iter_mut().zip(&mean).zip(&center) {
        *square -= pixels * (mean - f64::from(*center)).powi(2);
    }
    [mean, squares]
}

/// Adds up the sums of a group in order, from the sums of its runs, which have `width` numbers each.
fn added(runs: &[f32], width: usize) -> Vec<f64> {
    let mut total = vec![0.0; width];
    for run in runs.chunks_exact(width) {
        total.iter_mut().zip(run).for_each(|(total, sum)| *total += f64::from(*sum));
    }
    total
}

/// Writes `relu((z - mean) * scale + shift + skip)` into `y`.
pub(super) fn normalize(
    isa: Isa,
    z: &[f32],
    [mean, scale, shift]: [&[f32]; 3],
    skip: Option<&[f32]>,
    y: &mut [f32],
) {
    let group = TASK * RUN * mean.len();
    y.par_chunks_mut(group).zip(z.par_chunks(group)).enumerate().for_each(|(i, (y, z))| {
        let skip = skip.map(|skip| &skip[i * group..][..z.len()]);
        isa.run(Normalize { z, mean, scale, shift, skip, y });
    });
}

/// Clears the gradient `g` of `y` where ReLU was inactive, and sums `g` and `g * (z - mean)` for every channel.
pub(super) fn relu_gradient(isa: Isa, g: &mut [f32], y: &[f32], z: &[f32], mean: &[f32]) -> [Vec<f64>; 2] {
    let channels = mean.len();
    let task = TASK * RUN * channels;
    // for each run, the sums of g, then the sums of the products
    let mut sums = vec![0.0; z.len().div_ceil(RUN * channels) * 2 * channels];
    g.par_chunks_mut(task)
        .zip(y.par_chunks(task).zip(z.par_chunks(task)))
        .zip(sums.par_chunks_mut(TASK * 2 * channels))
        .for_each(|((g, (y, z)), sums)| isa.run(ReluGradient { g, y, z, mean, sums }));
    let mut total = vec![0.0; 2 * channels];
    for runs in sums.chunks(GROUP * 2 * channels) {
        total.iter_mut().zip(added(runs, 2 * channels)).for_each(|(total, sum)| *total += sum);
    }
    let products = total.split_off(channels);
    [total, products]
}

struct ChannelSums<'a> {
    z: &'a [f32],
    mean: &'a [f32],
    /// `[run, channel]`
    sums: &'a mut [f32],
    /// Whether to sum squares, `(z - mean)^2`, instead of values, `z - mean`.
    squares: bool,
}

impl Kernel for ChannelSums<'_> {
    #[inline(always)]
    fn run<S: Vector>(self) {
        let channels = self.mean.len();
        for (z, sums) in self.z.chunks(RUN * channels).zip(self.sums.chunks_exact_mut(channels)) {
            for channel in (0..channels).step_by(S::LANES) {
                let mean = S::load(&self.mean[channel..]);
                let mut sum = S::splat(0.0);
                for z in z.chunks_exact(channels) {
                    let z = S::load(&z[channel..]).sub(mean);
                    sum = if self.squares { sum.add_products(z, z) } else { sum.add(z) };
                }
                sum.store(&mut sums[channel..]);
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
    /// `[run, 2, channel]`
    sums: &'a mut [f32],
}

impl Kernel for ReluGradient<'_> {
    #[inline(always)]
    fn run<S: Vector>(self) {
        let channels = self.mean.len();
        let run = RUN * channels;
        let runs = self.g.chunks_mut(run).zip(self.y.chunks(run).zip(self.z.chunks(run)));
        for ((g, (y, z)), sums) in runs.zip(self.sums.chunks_exact_mut(2 * channels)) {
            for channel in (0..channels).step_by(S::LANES) {
                let mean = S::load(&self.mean[channel..]);
                let (mut sum, mut product) = (S::splat(0.0), S::splat(0.0));
                let pixels = g.chunks_exact_mut(channels);
                for (g, (y, z)) in pixels.zip(y.chunks_exact(channels).zip(z.chunks_exact(channels))) {
                    let gradient = S::load(&g[channel..]).where_positive(S::load(&y[channel..]));
                    gradient.store(&mut g[channel..]);
                    sum = sum.add(gradient);
                    product = product.add_products(gradient, S::load(&z[channel..]).sub(mean));
                }
                sum.store(&mut sums[channel..]);
                product.store(&mut sums[channels + channel..]);
            }
        }
    }
}

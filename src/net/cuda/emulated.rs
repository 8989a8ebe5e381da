//! The kernel in plain Rust, for tests on every machine. Input: a program and one position. Output: all its logits.
//!
//! The emulation reads the same packed numbers as the kernel, rounds where the kernel rounds, and adds in the same
//! order. If a test can run the kernel's source, the results must therefore agree to the last bit.

use super::fragments::{HalfFormat, NUMBERS, PAIR, STEP, place};
use super::program::{self, NetProgram, Step};

impl HalfFormat {
    /// Returns the number that these bits represent.
    pub(super) fn number(self, bits: u16) -> f32 {
        let (sign, exponent, digits) = (u32::from(bits >> 15), bits >> 10 & 31, bits & 1023);
        match self {
            HalfFormat::Bf16 => f32::from_bits(u32::from(bits) << 16),
            HalfFormat::F16 if exponent == 0 => {
                f32::from(digits) * 2.0_f32.powi(-24) * [1.0, -1.0][sign as usize]
            }
            HalfFormat::F16 if exponent == 31 => f32::NAN,
            HalfFormat::F16 => {
                f32::from_bits(sign << 31 | (u32::from(exponent) + 112) << 23 | u32::from(digits) << 13)
            }
        }
    }

    fn rounded(self, number: f32) -> f32 {
        self.number(self.bits(number))
    }
}

struct Emulation<'a> {
    program: &'a NetProgram,
    format: HalfFormat,
    buffers: [Vec<f32>; 2],
    numbers: Vec<f32>,
}

/// Returns the logits of all actions, and the logits of win, draw, and loss.
pub(super) fn forward(program: &NetProgram, format: HalfFormat, planes: &[f32]) -> [Vec<f32>; 2] {
    // filled with NaN, so that reading a number that was never written is noticed
    let buffers = program.strides.map(|stride| vec![f32::NAN; stride * program.shape.cells()]);
    let numbers = vec![f32::NAN; program.numbers_each];
    let mut emulation = Emulation { program, format, buffers, numbers };
    let (mut logits, mut wdl) = (Vec::new(), Vec::new());
    for step in &program.steps {
        match step.kind {
            program::INPUT => emulation.input(step, planes),
            program::CONV => emulation.convolution(step),
            program::POOL => emulation.pool(step),
            program::LINEAR if step.target < 0 => wdl = emulation.linear(step),
            program::LINEAR => {
                let row = emulation.linear(step);
                emulation.numbers[step.target as usize..][..row.len()].copy_from_slice(&row);
            }
            program::ADD => emulation.add(step),
            program::LOGITS => logits = emulation.logits(step),
            other => panic!("unknown kind of step: {other}"),
        }
    }
    [logits, wdl]
}

fn finish(x: f32, relu: bool) -> f32 {
    if relu && x < 0.0 { 0.0 } else { x }
}

impl Emulation<'_> {
    fn cells(&self) -> usize {
        self.program.shape.cells()
    }

    fn row(&self, buffer: i32, square: usize) -> &[f32] {
        let stride = self.program.strides[buffer as usize];
        &self.buffers[buffer as usize][square * stride..][..stride]
    }

    fn row_mut(&mut self, buffer: i32, square: usize) -> &mut [f32] {
        let stride = self.program.strides[buffer as usize];
        &mut self.buffers[buffer as usize][square * stride..][..stride]
    }

    fn input(&mut self, step: &Step, planes: &[f32]) {
        let (cells, count, format) = (self.cells(), self.program.shape.planes, self.format);
        let ones = self.program.ones;
        for square in 0..cells {
            for channel in 0..step.inputs as usize {
                let number = match channel {
                    plane if plane < count => planes[plane * cells + square],
                    plane => f32::from(ones && plane == count),
                };
                self.row_mut(step.to, square)[channel] = format.rounded(number);
            }
        }
    }

    fn convolution(&mut self, step: &Step) {
        let [taps, inputs, outputs] = [step.taps, step.inputs, step.outputs].map(|size| size as usize);
        let (height, width) = (self.program.shape.height, self.program.shape.width);
        let packed = &self.program.fragments[step.fragments as usize * 8..][..taps * inputs * outputs];
        let mut weights = vec![f32::NAN; taps * inputs * outputs];
        for (at, bits) in packed.iter().enumerate() {
            let (input, output) = place(at % NUMBERS);
            let (rest, pair) = (at / NUMBERS / (outputs / PAIR), at / NUMBERS % (outputs / PAIR));
            // `[tap, input, output]`: the steps of a tap follow each other
            weights[(rest * STEP + input) * outputs + pair * PAIR + output] = self.format.number(*bits);
        }
        for square in 0..height * width {
            let mut sums = vec![0.0; outputs];
            for tap in 0..taps {
                let (down, right) = if taps == 1 { (1, 1) } else { (tap / 3, tap % 3) };
                let (row, column) = (square / width + down, square % width + right);
                if !(1..=height).contains(&row) || !(1..=width).contains(&column) {
                    continue;
                }
                let from = &self.row(step.from, (row - 1) * width + column - 1)[..inputs];
                for (x, weights) in from.iter().zip(weights[tap * inputs * outputs..].chunks_exact(outputs)) {
                    sums.iter_mut().zip(weights).for_each(|(sum, weight)| *sum += x * weight);
                }
            }
            for (output, sum) in sums.into_iter().enumerate() {
                let (format, mut x) = (self.format, sum + self.program.numbers[step.bias as usize + output]);
                let to = &mut self.row_mut(step.to, square)[output];
                if step.skip != 0 {
                    x += *to;
                }
                *to = format.rounded(finish(x, step.relu != 0));
            }
        }
    }

    fn pool(&mut self, step: &Step) {
        let (cells, channels) = (self.cells(), step.inputs as usize);
        for channel in 0..channels {
            let plane = || (0..cells).map(|square| self.row(step.from, square)[channel]);
            let sum = plane().fold(0.0, |sum, x| sum + x);
            let largest = plane().fold(f32::NEG_INFINITY, |largest, x| if x > largest { x } else { largest });
            let target = step.target as usize + channel;
            self.numbers[target] = sum / cells as f32;
            self.numbers[target + channels] = if sum.is_nan() { sum } else { largest };
        }
    }

    fn linear(&self, step: &Step) -> Vec<f32> {
        let (inputs, channels) = (step.inputs as usize, step.taps as usize);
        let output = |output: usize| {
            let mut lanes = vec![0.0_f32; step.lanes as usize];
            for k in 0..inputs {
                let x = match step.from {
                    -1 => self.numbers[step.source as usize + k],
                    buffer => self.row(buffer, k / channels)[k % channels],
                };
                lanes[k % step.lanes as usize] +=
                    x * self.program.numbers[step.weights as usize + output * inputs + k];
            }
            while lanes.len() > 1 {
                let upper = lanes.split_off(lanes.len() / 2);
                lanes.iter_mut().zip(upper).for_each(|(sum, other)| *sum += other);
            }
            finish(lanes[0] + self.program.numbers[step.bias as usize + output], step.relu != 0)
        };
        (0..step.outputs as usize).map(output).collect()
    }

    fn add(&mut self, step: &Step) {
        for (square, channel) in (0..self.cells())
            .flat_map(|square| (0..step.outputs as usize).map(move |channel| (square, channel)))
        {
            let (format, added) = (self.format, self.numbers[step.source as usize + channel]);
            let to = &mut self.row_mut(step.to, square)[channel];
            *to = format.rounded(finish(*to + added, true));
        }
    }

    fn logits(&self, step: &Step) -> Vec<f32> {
        let logit = |action: usize| {
            if action >= step.outputs as usize {
                return self.numbers[step.source as usize + action - step.outputs as usize];
            }
            let (plane, square) = (action / self.cells(), action % self.cells());
            let weights = &self.program.numbers[step.weights as usize + plane * step.inputs as usize..];
            let row = &self.row(step.from, square)[..step.inputs as usize];
            let mut sum = 0.0;
            for (x, weight) in row.as_chunks::<4>().0.iter().zip(weights.as_chunks::<4>().0) {
                sum += x[0] * weight[0] + x[1] * weight[1] + x[2] * weight[2] + x[3] * weight[3];
            }
            sum + self.program.numbers[step.bias as usize + plane]
        };
        (0..self.program.shape.actions).map(logit).collect()
    }
}

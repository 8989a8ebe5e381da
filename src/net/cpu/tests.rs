//! Compares the forward pass with the formula, written naively in f64.

use super::*;

/// A linear congruential generator.
struct Random(u64);

impl Random {
    fn floats(&mut self, len: usize, scale: f32) -> Vec<f32> {
        (0..len).map(|_| (self.next() as f32 / (1 << 23) as f32 - 1.0) * scale).collect()
    }

    /// The next 24 random bits.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        self.0 >> 40
    }

    fn conv(&mut self, inputs: usize, outputs: usize, kernel: usize) -> Conv {
        let Linear { weight, bias, .. } = self.linear(inputs * kernel * kernel, outputs);
        Conv { inputs, outputs, kernel, weight, bias }
    }

    fn linear(&mut self, inputs: usize, outputs: usize) -> Linear {
        let weight = self.floats(inputs * outputs, (3.0 / inputs as f32).sqrt());
        Linear { inputs, outputs, weight, bias: self.floats(outputs, 0.3) }
    }

    fn weights(&mut self, [planes, height, width, actions, filters, blocks]: [usize; 6]) -> Weights {
        let shape = Shape { planes, height, width, actions };
        let (cells, f) = (shape.cells(), filters);
        let (whole, extras) = (actions / cells, actions % cells);
        Weights {
            shape,
            stem: self.conv(planes, f, 3),
            blocks: (0..blocks).map(|_| [self.conv(f, f, 3), self.conv(f, f, 3)]).collect(),
            policy_hidden: self.conv(f, f, 1),
            policy_planes: (whole > 0).then(|| self.conv(f, whole, 1)),
            policy_extras: (extras > 0).then(|| (self.conv(f, 2, 1), self.linear(2 * cells, extras))),
            value_conv: self.conv(f, 4, 1),
            value_hidden: self.linear(4 * cells, 70),
            value_out: self.linear(70, 3),
        }
    }
}

/// Positions of a batch: several whole groups and a partial one.
const BATCH: usize = 37;

/// `[planes, height, width, actions, filters, blocks]`.
const NETS: &[[usize; 6]] = &[
    [2, 3, 3, 9, 16, 1],
    [3, 6, 7, 7, 24, 1],
    [18, 8, 8, 256, 32, 1],
    [18, 10, 10, 1201, 24, 3],
    [17, 9, 9, 82, 5, 0],
    [2, 4, 3, 24, 70, 1],
    [2, 3, 23, 69, 40, 1],
    [2, 11, 11, 122, 8, 1],
    [2, 6, 2, 6, 100, 1],
    [3, 2, 1, 2, 8, 1],
];

fn naive_conv(conv: &Conv, shape: Shape, x: &[f64]) -> Vec<f64> {
    let (h, w, k) = (shape.height, shape.width, conv.kernel);
    let output = |(o, row, column): (usize, usize, usize)| {
        let mut sum = f64::from(conv.bias[o]);
        for (i, down, right) in (0..conv.inputs * k * k).map(|i| (i / (k * k), i / k % k, i % k)) {
            let (row, column) = ((row + down).wrapping_sub(k / 2), (column + right).wrapping_sub(k / 2));
            if row < h && column < w {
                let weight = conv.weight[((o * conv.inputs + i) * k + down) * k + right];
                sum += f64::from(weight) * x[(i * h + row) * w + column];
            }
        }
        sum
    };
    (0..conv.outputs * h * w).map(|i| (i / (h * w), i / w % h, i % w)).map(output).collect()
}

fn naive_linear(linear: &Linear, x: &[f64]) -> Vec<f64> {
    let weight = |i: usize, o: usize| f64::from(linear.weight[i * linear.outputs + o]);
    let sum = |o: usize| x.iter().enumerate().map(|(i, x)| x * weight(i, o)).sum::<f64>();
    (0..linear.outputs).map(|o| f64::from(linear.bias[o]) + sum(o)).collect()
}

/// Policy and value logits.
fn naive_net(weights: &Weights, planes: &[f32]) -> [Vec<f64>; 2] {
    let relu = |x: Vec<f64>| x.into_iter().map(|x| x.max(0.0)).collect::<Vec<_>>();
    let conv = |conv: &Conv, x: &[f64]| naive_conv(conv, weights.shape, x);
    let planes: Vec<f64> = planes.iter().copied().map(f64::from).collect();
    let mut x = relu(conv(&weights.stem, &planes));
    for [a, b] in &weights.blocks {
        let y = conv(b, &relu(conv(a, &x)));
        x = relu(x.iter().zip(&y).map(|(x, y)| x + y).collect());
    }
    let p = relu(conv(&weights.policy_hidden, &x));
    let mut policy = weights.policy_planes.as_ref().map_or(Vec::new(), |layer| conv(layer, &p));
    if let Some((layer, linear)) = &weights.policy_extras {
        policy.extend(naive_linear(linear, &relu(conv(layer, &p))));
    }
    let hidden = relu(naive_linear(&weights.value_hidden, &relu(conv(&weights.value_conv, &x))));
    [policy, naive_linear(&weights.value_out, &hidden)]
}

/// The largest absolute difference, relative to the largest number if that is above 1.
fn difference(got: &[f32], want: &[f64]) -> f64 {
    assert_eq!(got.len(), want.len());
    let scale = want.iter().fold(1.0, |most: f64, x| most.max(x.abs()));
    got.iter().zip(want).map(|(&x, y)| (f64::from(x) - y).abs() / scale).fold(0.0, f64::max)
}

fn forward(net: &CpuNet, scratch: &mut Scratch, planes: &[f32], wanted: Wanted) -> [Vec<f32>; 2] {
    let (mut logits, mut wdl) = (vec![0.0; wanted.actions.len()], vec![0.0; wanted.ends.len() * 3]);
    net.forward(scratch, planes, wanted, &mut logits, &mut wdl);
    [logits, wdl]
}

#[test]
fn a_result_follows_the_formula_whatever_the_vectors_and_the_batch() {
    fn shared_between_threads<T: Send + Sync>(_: &T) {}
    for (seed, &net) in NETS.iter().enumerate() {
        let random = &mut Random(seed as u64);
        let weights = random.weights(net);
        let (len, actions) = (weights.shape.input_len(), weights.shape.actions);
        let planes = random.floats(BATCH * len, 1.5);
        let expected: Vec<_> = planes.chunks(len).map(|row| naive_net(&weights, row)).collect();
        let every: Vec<u16> = (0..BATCH * actions).map(|i| (i % actions) as u16).collect();
        let ends: Vec<usize> = (1..=BATCH).map(|row| row * actions).collect();
        let one = Wanted { actions: &every[..actions], ends: &ends[..1] };
        for (precision, tolerance) in [(Precision::F32, 1e-4), (Precision::Bf16, 0.03)] {
            for isa in
                Isa::here().take(if precision == Precision::F32 { 3 } else { Isa::has_bf16() as usize })
            {
                let what = format!("{net:?} with vectors of {} {precision:?}", isa.sizes()[0]);
                let cpu = CpuNet::with_isa(&weights, isa, precision);
                shared_between_threads(&cpu);
                let scratch = &mut cpu.scratch();
                let [policy, wdl] = forward(&cpu, scratch, &planes, Wanted { actions: &every, ends: &ends });
                // A broken input is noticed and leaves nothing behind.
                let broken = forward(&cpu, scratch, &vec![f32::NAN; len], one);
                assert!(broken.iter().flatten().all(|x| x.is_nan()), "{what}");
                for (i, (row, [naive_policy, naive_wdl])) in planes.chunks(len).zip(&expected).enumerate() {
                    let [p, v] = forward(&cpu, scratch, row, one);
                    let differences = [difference(&p, naive_policy), difference(&v, naive_wdl)];
                    assert!(differences.iter().all(|d| *d <= tolerance), "{what}: {differences:?}");
                    assert!(p == policy[i * actions..][..actions] && v == wdl[i * 3..][..3], "{what}");
                }
            }
        }
    }
}

/// Random sizes; with `PETTEIA_DEEP` many of them, for a build that checks memory accesses (`tests/sanitizer`).
#[test]
fn networks_of_any_sizes_follow_the_formula() {
    let count = if std::env::var_os("PETTEIA_DEEP").is_some() { 500 } else { 20 };
    let random = &mut Random(11);
    for _ in 0..count {
        let mut any = |least: usize, most: usize| least + random.next() as usize % (most - least + 1);
        let (height, width) = (any(1, 11), any(1, 11));
        let actions = any(1, 3 * height * width + 5);
        let net = [any(1, 9), height, width, actions, any(1, 40), any(0, 2)];
        let batch = any(1, BATCH);
        let weights = random.weights(net);
        let len = weights.shape.input_len();
        let planes = random.floats(batch * len, 1.5);
        let every: Vec<u16> = (0..batch * actions).map(|i| (i % actions) as u16).collect();
        let ends: Vec<usize> = (1..=batch).map(|row| row * actions).collect();
        let [naive_policy, naive_wdl] = naive_net(&weights, &planes[..len]);
        for (precision, tolerance) in [(Precision::F32, 1e-4), (Precision::Bf16, 0.06)] {
            for isa in
                Isa::here().take(if precision == Precision::F32 { 3 } else { Isa::has_bf16() as usize })
            {
                let what = format!("{net:?} with vectors of {} {precision:?}", isa.sizes()[0]);
                let cpu = CpuNet::with_isa(&weights, isa, precision);
                let scratch = &mut cpu.scratch();
                let [policy, wdl] = forward(&cpu, scratch, &planes, Wanted { actions: &every, ends: &ends });
                let differences =
                    [difference(&policy[..actions], &naive_policy), difference(&wdl[..3], &naive_wdl)];
                assert!(differences.iter().all(|d| *d <= tolerance), "{what}: {differences:?}");
            }
        }
    }
}

#[test]
fn only_the_logits_asked_for_are_computed_in_their_order() {
    let random = &mut Random(7);
    let weights = random.weights([4, 5, 4, 43, 16, 1]);
    let planes = random.floats(3 * weights.shape.input_len(), 1.0);
    let cpu = CpuNet::new(&weights, Precision::F32).expect("every CPU has f32");
    let scratch = &mut cpu.scratch();
    let every: Vec<u16> = (0..3 * 43).map(|i| i % 43).collect();
    let [all, _] = forward(&cpu, scratch, &planes, Wanted { actions: &every, ends: &[43, 86, 129] });
    let wanted = Wanted { actions: &[42, 0, 7, 41, 20], ends: &[2, 2, 5] };
    let [some, _] = forward(&cpu, scratch, &planes, wanted);
    assert_eq!(some, [all[42], all[0], all[86 + 7], all[86 + 41], all[86 + 20]]);
}

#[test]
#[should_panic(expected = "a scratch of another network")]
fn a_scratch_of_another_network_is_rejected() {
    let weights = |value_planes: usize| {
        let random = &mut Random(3);
        let mut weights = random.weights([2, 1, 4, 4, 16, 0]);
        weights.value_conv = random.conv(16, value_planes, 1);
        weights.value_hidden = random.linear(value_planes * 4, 70);
        CpuNet::new(&weights, Precision::F32).expect("every CPU has f32")
    };
    let ends: Vec<usize> = (1..=MAX_GROUP).collect();
    let wanted = Wanted { actions: &[0; MAX_GROUP], ends: &ends };
    forward(&weights(64), &mut weights(4).scratch(), &[0.0; 8 * MAX_GROUP], wanted);
}

#[test]
#[should_panic(expected = "a linear layer")]
fn layers_that_do_not_fit_are_rejected() {
    let random = &mut Random(4);
    let mut weights = random.weights([2, 3, 3, 9, 16, 1]);
    weights.value_hidden = random.linear(100, 70);
    CpuNet::new(&weights, Precision::F32);
}

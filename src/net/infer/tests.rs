//! Compares the forward pass with the formulas of the layers, written naively in f64.

use super::*;
use crate::config::NetConfig;
use crate::net::layers::{Conv, Layers, Linear, Weighted};
use crate::net::weights::Numbers;

/// A linear congruential generator.
struct Random(u64);

impl Random {
    fn floats(&mut self, len: usize, scale: f32) -> Vec<f32> {
        (0..len).map(|_| (self.next() as f32 / (1 << 23) as f32 - 1.0) * scale).collect()
    }

    /// Returns the next 24 random bits.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        self.0 >> 40
    }

    fn numbers(&mut self, layer: Weighted) -> Numbers {
        let sizes = layer.sizes();
        let inputs = sizes.iter().product::<usize>() / layer.outputs();
        let weight = self.floats(inputs * layer.outputs(), (3.0 / inputs as f32).sqrt());
        Numbers { weight, bias: self.floats(layer.outputs(), 0.3) }
    }

    /// Makes weights of these sizes. Half of these networks pool in their heads, and a third of them in their blocks.
    fn weights(&mut self, [planes, height, width, actions, filters, blocks]: [usize; 6]) -> Weights {
        let (value_planes, value_pooling) = ([4, 21][blocks % 2], (height + actions) % 2 == 1);
        let net = NetConfig {
            filters,
            blocks,
            value_planes,
            value_hidden: 70,
            value_pooling,
            block_pooling: usize::from((filters + actions) % 3 == 0),
            ..NetConfig::default()
        };
        self.weights_of(&net, Shape { planes, height, width, actions })
    }

    fn weights_of(&mut self, net: &NetConfig, shape: Shape) -> Weights {
        let layers = Layers::new(net, shape);
        let numbers =
            layers.weighted().map(|layer| (layer.name().to_string(), self.numbers(layer))).collect();
        Weights { layers, numbers }
    }
}

/// Returns every engine that this CPU has; tiles are always emulated as well.
fn engines() -> impl Iterator<Item = TowerInstructions> {
    let vectors = Isa::here().map(|isa| TowerInstructions::Vectors(isa, Precision::F32));
    let bf16 = Isa::has_bf16().then(|| TowerInstructions::Vectors(Isa::widest(), Precision::Bf16));
    let tiles = [Some(Tiles::Emulated), Tiles::here()].into_iter().flatten().map(TowerInstructions::Tiles);
    vectors.chain(bf16).chain(tiles)
}

/// Returns the largest permitted difference of a logit from the formula.
fn tolerance(engine: TowerInstructions) -> f64 {
    match engine {
        TowerInstructions::Vectors(_, Precision::F32) => 1e-4,
        TowerInstructions::Vectors(..) | TowerInstructions::Tiles(_) => 0.03,
    }
}

/// The positions of a batch: several whole groups and a partial one.
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
    [3, 15, 15, 225, 33, 1],
    [2, 20, 20, 401, 16, 1],
];

fn relu(x: Vec<f64>, wanted: bool) -> Vec<f64> {
    if wanted { x.into_iter().map(|x| x.max(0.0)).collect() } else { x }
}

fn naive_conv(conv: &Conv, weights: &Weights, x: &[f64]) -> Vec<f64> {
    let Shape { height: h, width: w, .. } = weights.layers.shape;
    let (&Conv { inputs, outputs, kernel: k, .. }, numbers) = (conv, weights.of(&conv.name));
    let output = |(o, row, column): (usize, usize, usize)| {
        let mut sum = f64::from(numbers.bias[o]);
        for (i, down, right) in (0..inputs * k * k).map(|i| (i / (k * k), i / k % k, i % k)) {
            let (row, column) = ((row + down).wrapping_sub(k / 2), (column + right).wrapping_sub(k / 2));
            if row < h && column < w {
                let weight = numbers.weight[((o * inputs + i) * k + down) * k + right];
                sum += f64::from(weight) * x[(i * h + row) * w + column];
            }
        }
        sum
    };
    let y = (0..outputs * h * w).map(|i| (i / (h * w), i / w % h, i % w)).map(output).collect();
    relu(y, conv.relu)
}

fn naive_linear(linear: &Linear, weights: &Weights, x: &[f64]) -> Vec<f64> {
    let numbers = weights.of(&linear.name);
    let weight = |i: usize, o: usize| f64::from(numbers.weight[i * linear.outputs + o]);
    let sum = |o: usize| x.iter().enumerate().map(|(i, x)| x * weight(i, o)).sum::<f64>();
    relu((0..linear.outputs).map(|o| f64::from(numbers.bias[o]) + sum(o)).collect(), linear.relu)
}

fn naive_pool(weights: &Weights, x: &[f64]) -> Vec<f64> {
    let planes = x.chunks(weights.layers.shape.cells());
    let means = planes.clone().map(|plane| plane.iter().sum::<f64>() / plane.len() as f64);
    means.chain(planes.map(|plane| plane.iter().copied().fold(f64::MIN, f64::max))).collect()
}

/// Applies `layers` to planes in the order `[plane, row, column]`.
fn naive_layers(layers: &[Layer], weights: &Weights, x: &[f64]) -> Vec<f64> {
    layers.iter().fold(x.to_vec(), |x, layer| match layer {
        Layer::Conv(conv) => naive_conv(conv, weights, &x),
        Layer::Block { first, second, .. } => {
            let y = naive_conv(second, weights, &naive_conv(first, weights, &x));
            relu(x.iter().zip(&y).map(|(x, y)| x + y).collect(), true)
        }
        Layer::Global(linear) => {
            let added = naive_linear(linear, weights, &naive_pool(weights, &x));
            let planes = x.chunks(weights.layers.shape.cells()).zip(added);
            relu(planes.flat_map(|(plane, added)| plane.iter().map(move |x| x + added)).collect(), true)
        }
        Layer::Ones => [x, vec![1.0; weights.layers.shape.cells()]].concat(),
        Layer::Flatten => x,
        Layer::Pool => naive_pool(weights, &x),
        Layer::Linear(linear) => naive_linear(linear, weights, &x),
    })
}

/// Returns policy and value logits.
fn naive_net(weights: &Weights, planes: &[f32]) -> [Vec<f64>; 2] {
    let planes: Vec<f64> = planes.iter().copied().map(f64::from).collect();
    let Layers { tower, policy, logits, value, .. } = &weights.layers;
    let x = naive_layers(tower, weights, &planes);
    let p = naive_layers(policy, weights, &x);
    let logits = logits.iter().flat_map(|part| naive_layers(part, weights, &p)).collect();
    [logits, naive_layers(value, weights, &x)]
}

/// Returns the largest absolute difference, relative to the largest number if that is above 1.
fn difference(got: &[f32], want: &[f64]) -> f64 {
    assert_eq!(got.len(), want.len());
    let scale = want.iter().fold(1.0, |largest: f64, x| largest.max(x.abs()));
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
        let (len, actions) = (weights.layers.shape.input_len(), weights.layers.shape.actions);
        let planes = random.floats(BATCH * len, 1.5);
        let expected: Vec<_> = planes.chunks(len).map(|row| naive_net(&weights, row)).collect();
        let every: Vec<u16> = (0..BATCH * actions).map(|i| (i % actions) as u16).collect();
        let ends: Vec<usize> = (1..=BATCH).map(|row| row * actions).collect();
        let one = Wanted { actions: &every[..actions], ends: &ends[..1] };
        for engine in engines() {
            let (what, tolerance) = (format!("{net:?} with {engine:?}"), tolerance(engine));
            let cpu = CpuNet::with(&weights, engine);
            shared_between_threads(&cpu);
            let scratch = &mut cpu.scratch();
            let [policy, wdl] = forward(&cpu, scratch, &planes, Wanted { actions: &every, ends: &ends });
            // NaN in the input reaches the output and does not affect later batches.
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

/// Uses networks like trained ones, on boards of all games and some others, with tiles of all sizes. The largest
/// difference from the formula is 3e-6.
#[test]
fn no_logit_is_wrong_by_more_than_its_last_digits() {
    let boards = [[3, 3], [4, 4], [5, 5], [6, 6], [6, 7], [8, 8], [9, 9], [10, 10], [1, 7], [2, 11], [7, 5]];
    for (seed, [height, width]) in boards.into_iter().enumerate() {
        let random = &mut Random(100 + seed as u64);
        let net = NetConfig {
            filters: 32,
            blocks: 4,
            value_planes: 16,
            value_hidden: 64,
            value_pooling: true,
            ..NetConfig::default()
        };
        let actions = 2 * height * width;
        let weights = random.weights_of(&net, Shape { planes: 18, height, width, actions });
        let planes: Vec<f32> =
            (0..weights.layers.shape.input_len()).map(|_| (random.next() % 2) as f32).collect();
        let every: Vec<u16> = (0..actions as u16).collect();
        let expected = naive_net(&weights, &planes);
        for isa in Isa::here() {
            let cpu = CpuNet::with(&weights, TowerInstructions::Vectors(isa, Precision::F32));
            let got =
                forward(&cpu, &mut cpu.scratch(), &planes, Wanted { actions: &every, ends: &[actions] });
            let worst = [0, 1].map(|part| difference(&got[part], &expected[part]));
            assert!(worst.iter().all(|worst| *worst < 1e-5), "{height} x {width} with {isa:?}: {worst:?}");
        }
    }
}

/// Uses random sizes; with `PETTEIA_DEEP`, many of them, for a build that checks memory accesses (`tests/sanitizer`).
#[test]
fn networks_of_any_sizes_follow_the_formula() {
    let count = if std::env::var_os("PETTEIA_DEEP").is_some() { 500 } else { 20 };
    let random = &mut Random(11);
    for _ in 0..count {
        let mut any = |min: usize, max: usize| min + random.next() as usize % (max - min + 1);
        let (height, width) = (any(1, 11), any(1, 11));
        let actions = any(1, 3 * height * width + 5);
        let net = [any(1, 9), height, width, actions, any(1, 40), any(0, 2)];
        let batch = any(1, BATCH);
        let weights = random.weights(net);
        let len = weights.layers.shape.input_len();
        let planes = random.floats(batch * len, 1.5);
        let every: Vec<u16> = (0..batch * actions).map(|i| (i % actions) as u16).collect();
        let ends: Vec<usize> = (1..=batch).map(|row| row * actions).collect();
        let [naive_policy, naive_wdl] = naive_net(&weights, &planes[..len]);
        for engine in engines() {
            let (what, tolerance) = (format!("{net:?} with {engine:?}"), 2.0 * tolerance(engine));
            let cpu = CpuNet::with(&weights, engine);
            let scratch = &mut cpu.scratch();
            let [policy, wdl] = forward(&cpu, scratch, &planes, Wanted { actions: &every, ends: &ends });
            let differences =
                [difference(&policy[..actions], &naive_policy), difference(&wdl[..3], &naive_wdl)];
            assert!(differences.iter().all(|d| *d <= tolerance), "{what}: {differences:?}");
        }
    }
}

/// The CPU's instructions compute the same as the emulation, to the last bit.
#[test]
fn tiles_are_emulated_exactly() {
    let Some(tiles) = Tiles::here() else { return };
    let random = &mut Random(23);
    for net in [[3, 6, 7, 7, 24, 1], [5, 4, 5, 41, 70, 1], [40, 3, 1, 6, 40, 2]] {
        let weights = random.weights(net);
        let [_, height, width, actions, ..] = net;
        let every: Vec<u16> = (0..BATCH * actions).map(|i| (i % actions) as u16).collect();
        let ends: Vec<usize> = (1..=BATCH).map(|row| row * actions).collect();
        let planes = random.floats(BATCH * weights.layers.shape.input_len(), 1.5);
        let [emulated, real] = [Tiles::Emulated, tiles].map(|tiles| {
            let cpu = CpuNet::with(&weights, TowerInstructions::Tiles(tiles));
            forward(&cpu, &mut cpu.scratch(), &planes, Wanted { actions: &every, ends: &ends })
        });
        assert!(emulated == real, "{height} x {width}");
    }
}

#[test]
fn only_the_logits_asked_for_are_computed_in_their_order() {
    let random = &mut Random(7);
    let weights = random.weights([4, 5, 4, 43, 16, 1]);
    let planes = random.floats(3 * weights.layers.shape.input_len(), 1.0);
    let cpu = CpuNet::new(&weights, Precision::F32).expect("every CPU has f32");
    let scratch = &mut cpu.scratch();
    let every: Vec<u16> = (0..3 * 43).map(|i| i % 43).collect();
    let [all, _] = forward(&cpu, scratch, &planes, Wanted { actions: &every, ends: &[43, 86, 129] });
    let wanted = Wanted { actions: &[42, 0, 7, 41, 20], ends: &[2, 2, 5] };
    let [some, _] = forward(&cpu, scratch, &planes, wanted);
    assert_eq!(some, [all[42], all[0], all[86 + 7], all[86 + 41], all[86 + 20]]);
}

#[test]
#[should_panic(expected = "the scratch belongs to another network")]
fn a_scratch_of_another_network_is_rejected() {
    let weights = |value_planes: usize| {
        let net =
            NetConfig { filters: 16, blocks: 0, value_planes, value_hidden: 70, ..NetConfig::default() };
        let weights = Random(3).weights_of(&net, Shape { planes: 2, height: 1, width: 4, actions: 4 });
        CpuNet::new(&weights, Precision::F32).expect("every CPU has f32")
    };
    let ends: Vec<usize> = (1..=tower::MAX_GROUP).collect();
    let wanted = Wanted { actions: &[0; tower::MAX_GROUP], ends: &ends };
    forward(&weights(64), &mut weights(4).scratch(), &[0.0; 8 * tower::MAX_GROUP], wanted);
}

#[test]
#[should_panic(expected = "a linear layer")]
fn layers_that_do_not_fit_are_rejected() {
    let mut weights = Random(4).weights([2, 3, 3, 9, 16, 1]);
    let hidden = weights.layers.value.iter_mut().find_map(|layer| match layer {
        Layer::Linear(linear) => Some(linear),
        _ => None,
    });
    hidden.expect("a linear layer").inputs = 100;
    CpuNet::new(&weights, Precision::F32);
}

#[test]
#[should_panic(expected = "the numbers of stem")]
fn numbers_that_do_not_fit_are_rejected() {
    let mut weights = Random(4).weights([2, 3, 3, 9, 16, 1]);
    weights.numbers.get_mut("stem").expect("it has one").weight.pop();
    CpuNet::new(&weights, Precision::F32);
}

//! Tests for a machine with a GPU. They check that the GPU computes the same as the emulation and, with
//! `cargo test --release --lib net::cuda::on_gpu::time -- --ignored --nocapture`, measure how fast the GPU is.

#![allow(clippy::print_stdout)]

use std::sync::Arc;
use std::time::Instant;

use super::memory::Stream;
use super::pass::Work;
use super::plan::{Launch, Layout, TILES, WARPS};
use super::tests::{Random, difference, emulated, every, odd_cases, on_cpu, run, shipped_cases};
use super::upload::{self, Sections};
use super::*;
use crate::config::NetConfig;
use crate::net::forward::Batch;
use crate::net::infer::Wanted;

/// `[filters, blocks, height, width, actions]`
const NETS: [[usize; 5]; 4] =
    [[32, 4, 10, 10, 400], [64, 6, 10, 10, 400], [128, 10, 10, 10, 400], [64, 5, 6, 7, 7]];

/// Returns a network with random weights, and its name.
fn network(gpu: &Gpu, [filters, blocks, height, width, actions]: [usize; 5]) -> (CudaNet, String) {
    let config = NetConfig { filters, blocks, value_pooling: true, value_planes: 16, ..NetConfig::default() };
    let weights = Random(1).weights(&config, Shape { planes: 18, height, width, actions });
    (CudaNet::new(gpu, &weights).unwrap(), format!("{filters}x{blocks} on {height}x{width}"))
}

/// Returns encoded positions with 40 wanted actions each.
fn positions(shape: Shape, count: usize) -> (Vec<u64>, Vec<u16>, Vec<usize>) {
    let actions = (0..40 * count).map(|i| (i * 7 % shape.actions) as u16).collect();
    (Random(3).planes(shape, count), actions, (1..=count).map(|i| 40 * i).collect())
}

/// A GPU, if there is one, computes the same as the emulation except for the order of sums, and gives the same bits
/// in a batch of any size and from several threads at once.
#[test]
fn a_gpu_computes_what_the_emulation_does() {
    let Ok(gpu) = gpu() else { return };
    let format = if gpu.limits().compute >= (8, 0) { HalfFormat::Bf16 } else { HalfFormat::F16 };
    for case in odd_cases().into_iter().chain(shipped_cases()) {
        let net = Arc::new(CudaNet::new(&gpu, &case.weights).unwrap());
        let (emulated, exact) = (emulated(&case, format), on_cpu(&case));
        let (actions, ends) = every(case.shape(), case.positions());
        let answers = run(&net, &case.planes, (&actions, &ends)).unwrap();
        for (answer, (emulated, exact)) in answers.iter().zip(emulated.iter().zip(&exact)) {
            let differences = [difference(answer, emulated), difference(answer, exact)];
            assert!(differences[0] < 0.02 && differences[1] < 0.04, "{}: {differences:?}", case.what);
        }
        std::thread::scope(|scope| {
            for copies in [7, 50, 400, 3000] {
                let (net, case, answers) = (&net, &case, &answers);
                scope.spawn(move || {
                    let (actions, ends) = every(case.shape(), copies * case.positions());
                    let many = run(net, &case.planes.repeat(copies), (&actions, &ends)).unwrap();
                    for (many, answer) in many.iter().zip(answers) {
                        let is_same = many.chunks_exact(answer.len()).all(|many| many == answer);
                        assert!(is_same, "{copies} copies of {}", case.what);
                    }
                });
            }
        });
    }
}

/// Evaluates a few positions of each network, for tools that watch every access to memory.
#[test]
#[ignore = "a part of `a_gpu_computes_what_the_emulation_does`, for slow tools on a machine with a GPU"]
fn a_gpu_computes_a_few_positions() {
    let gpu = gpu().unwrap();
    for case in odd_cases().into_iter().chain(shipped_cases()) {
        let net = Arc::new(CudaNet::new(&gpu, &case.weights).unwrap());
        let (actions, ends) = every(case.shape(), 3 * case.positions());
        let answers = run(&net, &case.planes.repeat(3), (&actions, &ends)).unwrap();
        let exact = on_cpu(&case);
        for (answer, exact) in answers.iter().zip(&exact) {
            for answer in answer.chunks_exact(exact.len()) {
                assert!(difference(answer, exact) < 0.04, "{}", case.what);
            }
        }
    }
}

/// Prints how many evaluations per second, from encoded positions to logits, one thread and two threads make; each
/// figure is the best of ten.
#[test]
#[ignore = "a measurement, for a machine with a GPU"]
fn time_of_batches() {
    let gpu = gpu().unwrap();
    println!("{} with {}", gpu.name(), gpu.driver());
    for (net, name) in NETS.map(|net| network(&gpu, net)) {
        let net = Arc::new(net);
        for batch in [64, 256, 1024, 4096] {
            let (planes, actions, ends) = positions(net.program.shape, batch);
            let measure = || {
                let (mut pass, mut best) = (net.clone().pass(), f64::MAX);
                let (mut logits, mut wdl) = (vec![0.0; actions.len()], vec![0.0; 3 * batch]);
                for _ in 0..10 {
                    let start = Instant::now();
                    for _ in 0..10 {
                        let wanted = Wanted { actions: &actions, ends: &ends };
                        let batch = Batch { planes: &planes, wanted, logits: &mut logits, wdl: &mut wdl };
                        pass.run(batch).unwrap();
                    }
                    best = best.min(start.elapsed().as_secs_f64() / 10.0);
                }
                batch as f64 / best
            };
            let alone = measure();
            let both: f64 = std::thread::scope(|scope| {
                let threads = [scope.spawn(measure), scope.spawn(measure)];
                threads.map(|thread| thread.join().unwrap()).iter().sum()
            });
            println!("{name}, batch {batch}: {alone:.0}/s, two at once {both:.0}/s");
        }
    }
}

/// Prints the time of every possible launch, and of the launch that the estimate of [`plan`] chooses, in microseconds.
#[test]
#[ignore = "a measurement, for a machine with a GPU"]
fn time_of_launches() {
    let gpu = gpu().unwrap();
    for (net, name) in NETS.map(|net| network(&gpu, net)) {
        for count in [64, 256, 1024, 4096] {
            let mut trials = Vec::new();
            for group in 1..=count.min(32) {
                let layout = Layout::new(&net.program, group);
                let fits = layout.bytes <= gpu.limits().shared[0];
                for (tiles, [rows, columns]) in TILES.into_iter().enumerate() {
                    if !fits || !net.program.unit.is_multiple_of(8 * columns) {
                        continue;
                    }
                    for warps in WARPS {
                        let blocks = count.div_ceil(group);
                        let launch = Launch { tiles, group, blocks, threads: 32 * warps, layout };
                        let time = mean_time(&net, &launch, count);
                        println!(
                            "{name}, batch {count}, {group} a block, {warps} warps, {rows}x{columns}: {time:.1} us"
                        );
                        trials.push((time, launch));
                    }
                }
            }
            let choice = Launch::new(&net.program, &gpu.limits(), count).unwrap();
            let (best_time, best) = trials.iter().min_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
            println!(
                "{name}, batch {count}: {:.1} us by {choice:?}, {best_time:.1} us by {best:?}",
                mean_time(&net, &choice, count)
            );
        }
    }
}

/// Measures the mean time of this launch three times, and returns the lowest mean in microseconds.
fn mean_time(net: &CudaNet, launch: &Launch, count: usize) -> f64 {
    let (planes, actions, ends) = positions(net.program.shape, count);
    let mut words = vec![0; Sections::new(net.program.shape, count, actions.len()).words];
    let wanted = Wanted { actions: &actions, ends: &ends };
    let sections = upload::write(net.program.shape, &planes, (wanted, 0), &mut words);
    let up = Remote::of(&net.gpu, &words).unwrap();
    let down = Remote::new(&net.gpu, 4 * (actions.len() + 3 * count)).unwrap();
    let network = [&net.steps, &net.fragments, &net.numbers].map(Remote::address);
    let (up, down_at) = ((up.address(), sections), (down.address(), actions.len()));
    let mut work = Work::new(&net.program, launch, count, network, up, down_at);
    let stream = Stream::new(&net.gpu).unwrap();
    let mut queue = |times: usize| {
        let start = Instant::now();
        for _ in 0..times {
            // SAFETY: what `work` describes lives until the stream has been waited for.
            unsafe { launch.queue(&net.gpu, &mut work, &stream) }.unwrap();
        }
        stream.wait().unwrap();
        start.elapsed().as_secs_f64() / times as f64
    };
    let times = if queue(1) > 2e-3 { 1 } else { 4 };
    (0..3).map(|_| queue(times)).fold(f64::MAX, f64::min) * 1e6
}

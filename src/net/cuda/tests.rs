//! Tests of the program for GPUs on machines without one. The kernel in plain Rust is compared with `CpuNet`. If
//! there is a C++ compiler, the kernel's own source, behind a fake driver that computes on this CPU (`tests/cuda`),
//! is compared with both.

use std::ffi::c_int;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use libloading::Library;

use super::emulated;
use super::fragments::HalfFormat;
use super::gpu::{Gpu, GpuLimits};
use super::pass::Work;
use super::plan::{Launch, Layout, TILES, WARPS};
use super::program::{NetProgram, Step};
use super::upload::Sections;
use super::*;
use crate::any::Opened;
use crate::config::{Config, NetConfig, Precision};
use crate::conformance::random_positions;
use crate::encode::Planes;
use crate::game::Game;
use crate::games::Games;
use crate::net::device::trusted;
use crate::net::forward::Batch;
use crate::net::infer::{CpuNet, Wanted};
use crate::net::layers::{Layer, Layers, Weighted};
use crate::net::weights::Numbers;
use crate::registry::Registry;

/// A linear congruential generator.
pub(super) struct Random(pub(super) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        self.0 >> 40
    }

    fn floats(&mut self, len: usize, scale: f32) -> Vec<f32> {
        (0..len).map(|_| (self.next() as f32 / (1 << 23) as f32 - 1.0) * scale).collect()
    }

    /// Returns encoded positions whose planes have numbers of all kinds on random squares or on all squares.
    pub(super) fn planes(&mut self, shape: Shape, positions: usize) -> Vec<u64> {
        let mut words = Vec::new();
        for _ in 0..positions * shape.planes {
            let number = self.floats(1, 1.5)[0];
            let is_filled = self.next().is_multiple_of(4);
            let beyond = shape.plane_words() * 64 - 64 - shape.cells();
            words.extend((1..shape.plane_words()).map(|_| {
                if is_filled { u64::MAX } else { self.next() << 40 ^ self.next() << 20 ^ self.next() }
            }));
            if !is_filled {
                *words.last_mut().unwrap() &= u64::MAX >> beyond;
            }
            words.push(number.to_bits().into());
        }
        words
    }

    pub(super) fn weights(&mut self, net: &NetConfig, shape: Shape) -> Weights {
        let layers = Layers::new(net, shape);
        let numbers = |layer: Weighted| {
            let sizes = layer.sizes();
            let inputs = sizes.iter().product::<usize>() / layer.outputs();
            let weight = self.floats(inputs * layer.outputs(), (3.0 / inputs as f32).sqrt());
            Numbers { weight, bias: self.floats(layer.outputs(), 0.3) }
        };
        let weighted: Vec<_> = layers.weighted().map(|layer| layer.name().to_string()).collect();
        let numbers = weighted.into_iter().zip(layers.weighted().map(numbers)).collect();
        Weights { layers, numbers }
    }
}

/// A network, and some positions to evaluate with it.
pub(super) struct Case {
    pub(super) what: String,
    pub(super) weights: Weights,
    /// `[n, words]`
    pub(super) planes: Vec<u64>,
}

impl Case {
    pub(super) fn positions(&self) -> usize {
        self.planes.len() / self.shape().words()
    }

    pub(super) fn shape(&self) -> Shape {
        self.weights.layers.shape
    }

    /// Returns the input as `[n, planes, height, width]`.
    fn numbers(&self) -> Vec<f32> {
        let mut numbers = vec![0.0; self.positions() * self.shape().input_len()];
        self.shape().expand(&self.planes, &mut numbers);
        numbers
    }
}

/// `[planes, height, width, actions, filters, blocks, value planes, value pooling, block pooling]`
const NETS: &[[usize; 9]] = &[
    [2, 3, 3, 9, 16, 1, 4, 0, 0],
    [3, 6, 7, 7, 64, 1, 21, 1, 1],
    [17, 9, 9, 82, 5, 0, 4, 0, 0],
    [40, 4, 3, 26, 33, 2, 40, 1, 2],
    [2, 3, 23, 69, 24, 1, 1, 1, 1],
    [2, 11, 11, 122, 8, 1, 4, 0, 1],
    [9, 6, 2, 6, 100, 1, 2, 1, 1],
    [3, 2, 1, 5, 128, 1, 4, 0, 0],
    [70, 10, 10, 200, 32, 1, 16, 1, 0],
    [3, 1, 1, 1, 8, 1, 4, 1, 1],
    [3, 15, 15, 226, 32, 1, 4, 0, 0],
    [2, 20, 20, 400, 16, 1, 4, 1, 1],
];

/// Returns networks of odd sizes, with input numbers of all kinds.
pub(super) fn odd_cases() -> Vec<Case> {
    let random = &mut Random(5);
    let case = |net: &[usize; 9]| {
        let &[planes, height, width, actions, filters, blocks, value_planes, pooling, block_pooling] = net;
        let config = NetConfig {
            filters,
            blocks,
            value_planes,
            value_hidden: 35,
            value_pooling: pooling == 1,
            block_pooling,
            ..NetConfig::default()
        };
        let weights = random.weights(&config, Shape { planes, height, width, actions });
        let planes = random.planes(weights.layers.shape, 3);
        Case { what: format!("{net:?}"), weights, planes }
    };
    NETS.iter().map(case).collect()
}

/// Returns the root of the repository or, if the tests were carried to a machine with a GPU, the current folder.
fn root() -> PathBuf {
    let built = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    if built.join("configs").is_dir() { built } else { ".".into() }
}

/// Returns the networks of all configs, on positions of random games.
pub(super) fn shipped_cases() -> Vec<Case> {
    struct Positions(usize);
    impl Positions {
        fn on(self, rules: Opened) -> (Shape, Vec<u64>) {
            let shape = rules.game.shape();
            let (mut planes, mut words) = (Planes::new(shape), Vec::new());
            let states = random_positions(&rules.game, self.0, 1);
            for state in &states {
                rules.game.encode(state, &mut planes);
                words.extend_from_slice(planes.words());
            }
            (shape, words)
        }
    }
    let mut paths: Vec<_> =
        std::fs::read_dir(root().join("configs")).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() > 10);
    let case = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        let config = Config::parse_kept("a config", &text, &[]).unwrap();
        let (shape, planes) =
            Games::open(&config.game.id, &config.game.options).map(|rules| Positions(2).on(rules)).unwrap();
        let what = path.file_name().unwrap().to_string_lossy().into_owned();
        Case { what, weights: Random(9).weights(&config.net, shape), planes }
    };
    paths.into_iter().map(case).collect()
}

/// Returns all actions of all positions.
pub(super) fn every(shape: Shape, positions: usize) -> (Vec<u16>, Vec<usize>) {
    let actions = (0..positions * shape.actions).map(|i| (i % shape.actions) as u16).collect();
    (actions, (1..=positions).map(|position| position * shape.actions).collect())
}

/// Returns the logits of all actions, and the logits of win, draw, and loss.
pub(super) fn on_cpu(case: &Case) -> [Vec<f32>; 2] {
    let net = CpuNet::new(&case.weights, Precision::F32).unwrap();
    let (actions, ends) = every(case.shape(), case.positions());
    let (mut logits, mut wdl) = (vec![0.0; actions.len()], vec![0.0; 3 * ends.len()]);
    let wanted = Wanted { actions: &actions, ends: &ends };
    net.forward(&mut net.scratch(), &case.numbers(), wanted, &mut logits, &mut wdl);
    [logits, wdl]
}

pub(super) fn emulated(case: &Case, format: HalfFormat) -> [Vec<f32>; 2] {
    let program = NetProgram::new(&case.weights, format).unwrap();
    let numbers = case.numbers();
    let rows = numbers.chunks_exact(case.shape().input_len());
    let answers: Vec<_> = rows.map(|planes| emulated::forward(&program, format, planes)).collect();
    [0, 1].map(|part| answers.iter().flat_map(|answer| answer[part].iter().copied()).collect())
}

/// Returns the largest difference, relative to the largest number if that is above 1.
pub(super) fn difference(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    let scale = b.iter().fold(1.0, |largest: f32, x| largest.max(x.abs()));
    // NaN counts as a difference
    a.iter().zip(b).map(|(a, b)| (a - b).abs() / scale).fold(0.0, |max, d| if d <= max { max } else { d })
}

#[test]
fn packed_networks_follow_the_formula() {
    for case in odd_cases().into_iter().chain(shipped_cases()) {
        let exact = on_cpu(&case);
        for (format, limit) in [(HalfFormat::Bf16, 0.04), (HalfFormat::F16, 0.005)] {
            let answers = emulated(&case, format);
            for (answer, exact) in answers.iter().zip(&exact) {
                let difference = difference(answer, exact);
                assert!(difference <= limit, "{} in {format:?}: {difference}", case.what);
            }
        }
    }
}

#[test]
fn what_the_program_does_not_know_is_refused_by_name() {
    let case = &mut odd_cases()[0];
    let refused = |weights: &Weights| NetProgram::new(weights, HalfFormat::Bf16).unwrap_err().to_string();
    case.weights.layers.tower.insert(1, Layer::Ones);
    assert!(refused(&case.weights).ends_with("the layer ones in its tower"), "{}", refused(&case.weights));
    case.weights.layers.tower.remove(1);
    let block = case.weights.layers.tower[1].clone();
    case.weights.layers.policy.push(block);
    let error = refused(&case.weights);
    assert!(error.ends_with("the layer \"blocks.0.first\" (block) in its policy"), "{error}");
}

#[test]
fn launches_fit_into_every_gpu() {
    let gpus = [
        (64 << 10, 64 << 10, 40),
        (99 << 10, 100 << 10, 68),
        (163 << 10, 164 << 10, 108),
        (227 << 10, 228 << 10, 132),
    ];
    for case in odd_cases().into_iter().chain(shipped_cases()) {
        let program = NetProgram::new(&case.weights, HalfFormat::Bf16).unwrap();
        for (block, all, multiprocessors) in gpus {
            let limits = GpuLimits { compute: (8, 0), multiprocessors, shared: [block, all] };
            for positions in [1, 2, 64, 256, 1000, 4096] {
                let what = format!("{positions} positions of {} in {block} bytes", case.what);
                let Some(launch) = Launch::new(&program, &limits, positions) else { panic!("{what}") };
                let Launch { tiles, group, blocks, threads, layout } = launch;
                assert!(layout.bytes <= block && layout == Layout::new(&program, group), "{what}");
                assert!(group * blocks >= positions && group * (blocks - 1) < positions, "{what}");
                assert!(threads % 32 == 0 && WARPS.contains(&(threads / 32)), "{what}");
                let columns = TILES[tiles][1] * 8;
                let convs = program.steps.iter().filter(|step| step.kind == program::CONV);
                assert!(convs.clone().all(|step| (step.outputs as usize).is_multiple_of(columns)), "{what}");
                // whole `uint4`s
                assert!(layout.at.iter().all(|at| at % 16 == 0) && layout.numbers_at % 16 == 0, "{what}");
            }
            // every multiprocessor gets some positions
            let some = Launch::new(&program, &limits, multiprocessors).unwrap();
            assert_eq!(some.group, 1, "{}", case.what);
        }
    }
}

/// Compiles a file of `tests/cuda` as a library; prints a conspicuous message if that is not possible.
fn library(source: &str, name: &str, flags: &[&str]) -> Option<(tempfile::TempDir, PathBuf)> {
    let folder = tempfile::tempdir().unwrap();
    let (source, library) = (root().join("tests/cuda").join(source), folder.path().join(name));
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "g++".into());
    let mut command = Command::new(&compiler);
    command
        .args([
            "-O2",
            "-U_FORTIFY_SOURCE",
            "-std=c++17",
            "-Wall",
            "-Wno-unknown-pragmas",
            "-Werror",
            "-shared",
            "-fPIC",
        ])
        .args(flags);
    let can = cfg!(target_os = "linux") && source.is_file();
    let compiled = can.then(|| command.arg(&source).arg("-o").arg(&library).output());
    match compiled {
        Some(Ok(output)) if output.status.success() => Some((folder, library)),
        Some(Ok(output)) => panic!("{}", String::from_utf8_lossy(&output.stderr)),
        _ => {
            notice(&compiler);
            None
        }
    }
}

#[allow(clippy::print_stderr)]
fn notice(compiler: &str) {
    eprintln!(
        "!! NOTICE: {compiler}, tests/cuda or Linux is missing, so THE SOURCE OF THE KERNEL FOR GPUS WAS NOT RUN."
    );
}

/// A fake driver whose GPU is this CPU, with variables that can be read and written.
struct Fake {
    path: String,
    library: Library,
    _folder: tempfile::TempDir,
}

impl Fake {
    fn new(format: HalfFormat) -> Option<Fake> {
        let flags: &[&str] = if format == HalfFormat::F16 { &["-DPETTEIA_F16"] } else { &[] };
        let (folder, path) = library("emulated.cpp", "libfake.so", flags)?;
        // SAFETY: it is our own library, which does nothing when it is loaded.
        let library = unsafe { Library::new(&path) }.unwrap();
        let fake = Fake { path: path.to_str().unwrap().into(), library, _folder: folder };
        if format == HalfFormat::F16 {
            fake.set("gpu_compute", 75);
            fake.set("gpu_shared", 64 << 10);
        }
        Some(fake)
    }

    fn get(&self, name: &str) -> c_int {
        // SAFETY: all of these variables are `int`, and only one thread at a time uses this library.
        unsafe { **self.library.get::<*mut c_int>(name).unwrap() }
    }

    fn set(&self, name: &str, value: c_int) {
        // SAFETY: as above.
        unsafe { **self.library.get::<*mut c_int>(name).unwrap() = value };
    }

    fn size(&self, name: &str) -> usize {
        // SAFETY: both are functions without an argument that return an `int`.
        unsafe { self.library.get::<unsafe extern "C" fn() -> c_int>(name).unwrap()() as usize }
    }

    fn gpu(&self) -> Result<Gpu> {
        Gpu::of(&[&self.path])
    }

    /// Returns the answer of this launch, without going through the driver's functions.
    fn launch(&self, program: &NetProgram, launch: &Launch, case: &Case) -> [Vec<f32>; 2] {
        type Emulate = unsafe extern "C" fn(c_int, c_int, c_int, c_int, *const Work) -> c_int;
        let (actions, ends) = every(case.shape(), case.positions());
        let wanted = Wanted { actions: &actions, ends: &ends };
        let mut up = vec![0; Sections::new(case.shape(), ends.len(), actions.len()).words];
        let sections = upload::write(case.shape(), &case.planes, (wanted, 0), &mut up);
        let mut down = vec![f32::NAN; actions.len() + 3 * ends.len()];
        // fragments are read 16 bytes at a time
        let fragments: Vec<u128> = program.fragments.chunks_exact(8).map(bits_of).collect();
        let numbers: Vec<u128> = program.numbers.chunks(4).map(bits_of).collect();
        let network = [program.steps.as_ptr().addr(), fragments.as_ptr().addr(), numbers.as_ptr().addr()];
        let up = (up.as_ptr().addr() as u64, sections);
        let down_at = (down.as_mut_ptr().addr() as u64, actions.len());
        let work = Work::new(program, launch, ends.len(), network.map(|at| at as u64), up, down_at);
        let sizes =
            [launch.tiles, launch.blocks, launch.threads, launch.layout.bytes].map(|size| size as c_int);
        // SAFETY: the sizes are those of the buffers, which live until the end.
        let is_intact = unsafe {
            let emulate = self.library.get::<Emulate>("emulate").unwrap();
            emulate(sizes[0], sizes[1], sizes[2], sizes[3], &work)
        };
        assert_eq!(is_intact, 1, "{}: something was written past the end of shared memory", case.what);
        let wdl = down.split_off(actions.len());
        [down, wdl]
    }
}

/// Returns numbers of 16 bytes or fewer in total, as an integer.
fn bits_of<T: Copy>(numbers: &[T]) -> u128 {
    assert!(size_of_val(numbers) <= 16);
    let mut bits = 0_u128;
    // SAFETY: that many bytes exist, and any bits are a valid number.
    unsafe {
        std::ptr::copy_nonoverlapping(
            numbers.as_ptr().cast::<u8>(),
            (&raw mut bits).cast(),
            size_of_val(numbers),
        )
    };
    bits
}

pub(super) fn run(
    net: &Arc<CudaNet>,
    planes: &[u64],
    (actions, ends): (&[u16], &[usize]),
) -> Result<[Vec<f32>; 2]> {
    let (mut logits, mut wdl) = (vec![0.0; actions.len()], vec![0.0; 3 * ends.len()]);
    let wanted = Wanted { actions, ends };
    net.clone().pass().run(Batch { planes, wanted, logits: &mut logits, wdl: &mut wdl })?;
    Ok([logits, wdl])
}

/// The source of the kernel, run on this CPU through all functions of the driver, computes the same as the emulation
/// in Rust, to the last bit.
#[test]
fn the_kernel_computes_what_the_emulation_does() {
    for format in [HalfFormat::Bf16, HalfFormat::F16] {
        let Some(fake) = Fake::new(format) else { return };
        assert_eq!(fake.size("size_of_step"), size_of::<Step>());
        assert_eq!(fake.size("size_of_work"), size_of::<Work>());
        let gpu = fake.gpu().unwrap();
        assert_eq!((gpu.name(), &*gpu.driver()), ("Emulated", "CUDA 12.4"));
        for case in odd_cases().into_iter().chain(shipped_cases()) {
            let net = Arc::new(CudaNet::new(&gpu, &case.weights).unwrap());
            let (actions, ends) = every(case.shape(), case.positions());
            let answers = run(&net, &case.planes, (&actions, &ends)).unwrap();
            assert!(answers == emulated(&case, format), "{} in {format:?}", case.what);
        }
        assert!(fake.get("launches") > 0 && fake.get("is_intact") == 1);
        drop(gpu);
        assert_eq!(fake.get("living"), 0, "what was not freed");
    }
}

#[test]
fn answers_do_not_depend_on_the_launch() {
    let Some(fake) = Fake::new(HalfFormat::Bf16) else { return };
    for case in odd_cases().into_iter().filter(|case| case.shape().cells() < 50) {
        let program = NetProgram::new(&case.weights, HalfFormat::Bf16).unwrap();
        let expected = emulated(&case, HalfFormat::Bf16);
        for (tiles, [_, columns]) in TILES.into_iter().enumerate() {
            for (group, threads) in [(1, 128), (2, 512), (3, 160)] {
                if program.unit.is_multiple_of(8 * columns) {
                    let (layout, blocks) = (Layout::new(&program, group), case.positions().div_ceil(group));
                    let launch = Launch { tiles, group, blocks, threads, layout };
                    let answers = fake.launch(&program, &launch, &case);
                    assert!(answers == expected, "{} with {launch:?}", case.what);
                }
            }
        }
    }
}

#[test]
fn wanted_logits_come_in_their_order_and_a_broken_position_stays_alone() {
    let Some(fake) = Fake::new(HalfFormat::Bf16) else { return };
    let case = &mut odd_cases()[3];
    let net = Arc::new(CudaNet::new(&fake.gpu().unwrap(), &case.weights).unwrap());
    let [logits, wdl] = emulated(case, HalfFormat::Bf16);
    let row = |position: usize, action: u16| logits[position * case.shape().actions + usize::from(action)];
    let (actions, ends) = ([25, 0, 11, 13, 24, 3], [2, 2, 6]);
    let [some, values] = run(&net, &case.planes, (&actions, &ends)).unwrap();
    assert_eq!(some, [row(0, 25), row(0, 0), row(2, 11), row(2, 13), row(2, 24), row(2, 3)]);
    assert_eq!(values, wdl);
    // more positions than a launch takes, and the same buffers for batches of different sizes
    let mut pass = CudaPass::new(net.clone());
    pass.most = 2;
    for ends in [&ends[..1], &ends, &ends[..2]] {
        let planes = &case.planes[..ends.len() * case.shape().words()];
        let actions = &actions[..ends[ends.len() - 1]];
        let (mut logits, mut values) = (vec![0.0; actions.len()], vec![0.0; 3 * ends.len()]);
        let wanted = Wanted { actions, ends };
        pass.run(Batch { planes, wanted, logits: &mut logits, wdl: &mut values }).unwrap();
        assert_eq!((&logits[..], &values[..]), (&some[..logits.len()], &wdl[..values.len()]));
    }
    assert_eq!(run(&net, &[], (&[], &[])).unwrap(), [const { Vec::<f32>::new() }; 2]);
    let (len, each) = (case.shape().words(), case.shape().plane_words());
    for plane in case.planes[len..2 * len].chunks_exact_mut(each) {
        plane.fill(u64::MAX);
        plane[each - 1] = f32::NAN.to_bits().into();
    }
    let [_, values] = run(&net, &case.planes, (&[], &[0; 3])).unwrap();
    assert_eq!([&values[..3], &values[6..]], [&wdl[..3], &wdl[6..]]);
    assert!(values[3..6].iter().all(|x| x.is_nan()), "{values:?}");
}

/// If any call of the driver fails, the result is a one-sentence error, and everything is freed.
#[test]
fn a_driver_may_fail_at_every_call() {
    let Some(fake) = Fake::new(HalfFormat::Bf16) else { return };
    let case = &odd_cases()[0];
    let (actions, ends) = every(case.shape(), case.positions());
    let work = || -> Result<[Vec<f32>; 2]> {
        run(&Arc::new(CudaNet::new(&fake.gpu()?, &case.weights)?), &case.planes, (&actions, &ends))
    };
    let right = work().unwrap();
    let calls = fake.get("calls");
    assert!(calls > 40, "{calls} calls");
    let mut errors = 0;
    for call in 0..calls {
        fake.set("calls", 0);
        fake.set("fails_at", call);
        match work() {
            Ok(answers) => assert!(answers == right, "call {call}"),
            Err(error) => {
                errors += 1;
                let error = error.to_string();
                assert!(error.starts_with("the GPU: cu") && error.contains("error 999"), "{error}");
                assert!(!error.contains('\n'), "{error}");
            }
        }
        // if a context could not be made current, its resource could not be freed
        assert!(fake.get("living") <= 1, "call {call}: {} are left", fake.get("living"));
        fake.set("living", 0);
    }
    assert!(errors > 40, "{errors} errors of {calls} calls");
}

/// A driver that reports success is believed only if the results are those of the CPU.
#[test]
fn a_driver_that_answers_nonsense_is_not_believed() {
    for format in [HalfFormat::Bf16, HalfFormat::F16] {
        let Some(fake) = Fake::new(format) else { return };
        trusted(fake.gpu().unwrap()).unwrap();
        for lie in [1, 2] {
            fake.set("lies", lie);
            let error = trusted(fake.gpu().unwrap()).unwrap_err().to_string();
            assert!(error.starts_with("the GPU Emulated gives different results from the CPU ("), "{error}");
            assert!(!error.contains("weights") && !error.contains('\n'), "{error}");
        }
    }
}

#[test]
fn a_network_too_wide_for_the_gpu_is_refused_with_numbers() {
    let Some(fake) = Fake::new(HalfFormat::Bf16) else { return };
    fake.set("gpu_shared", 48 << 10);
    let config = NetConfig { filters: 256, blocks: 0, ..NetConfig::default() };
    let weights = Random(1).weights(&config, Shape { planes: 3, height: 10, width: 10, actions: 100 });
    let error = CudaNet::new(&fake.gpu().unwrap(), &weights).unwrap_err().to_string();
    let expected = "the network is too wide for the GPU Emulated: a position of 10 x 10 squares with 256 channels \
                    needs 105 kB of shared memory, but a block has only 48";
    assert_eq!(error, expected);
    fake.set("gpu_compute", 70);
    let error = fake.gpu().unwrap_err().to_string();
    assert!(error.starts_with("the GPU Emulated is too old: its compute capability is 7.0"), "{error}");
}

/// Libraries that are not a driver each give a one-sentence error, not a crash.
#[test]
fn a_lying_driver_is_an_error() {
    let error = |flags: &[&str]| {
        let (_folder, path) = library("liar.cpp", "liar.so", flags)?;
        Some(Gpu::of(&[path.to_str().unwrap()]).unwrap_err().to_string())
    };
    for (flags, expected) in [
        (&["-DFEW"][..], "the NVIDIA driver is too old or damaged: it lacks the function cuDriverGetVersion"),
        (
            &["-DANSWER=0", "-DVERSION=10020"],
            "the NVIDIA driver is too old: it supports CUDA 10.2, but at least 11.0 is required",
        ),
        (&["-DANSWER=0", "-DVERSION=13000"], "the NVIDIA driver finds no GPU"),
        (&["-DANSWER=100", "-DVERSION=13000"], "the GPU: cuInit failed with error 100: there is no GPU"),
        (
            &["-DANSWER=-77777", "-DVERSION=13000"],
            "the GPU: cuInit failed with error -77777: see CUresult in NVIDIA's documentation",
        ),
    ] {
        let Some(message) = error(flags) else { return };
        assert_eq!(message, expected);
    }
}

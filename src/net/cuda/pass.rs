//! One thread's forward pass. Input: a batch. Output: its logits. The batch is copied to the GPU, computed, and
//! copied back, on a separate stream.
//!
//! Results are set to NaN before the launch, both on the GPU and here. So if a kernel or a copy leaves out some
//! results, the evaluator reports an error instead of the answer of an earlier batch.

use std::collections::HashMap;
use std::ffi::{c_uint, c_void};
use std::ptr::null_mut;
use std::sync::Arc;

use super::CudaNet;
use super::driver::{Address, check};
use super::gpu::Gpu;
use super::memory::{Pinned, Remote, Stream};
use super::plan::{Launch, Layout};
use super::program::NetProgram;
use super::upload::{self, Sections};
use crate::error::Result;
use crate::net::forward::{Batch, Pass};
use crate::net::infer::Wanted;

/// The maximum number of positions in a launch; a larger batch takes several launches in turn.
const MOST_POSITIONS: usize = 8192;
/// The maximum number of words that the planes of a launch may take; it is limited because the kernel's indices are
/// 32-bit numbers.
const MOST_WORDS: usize = 1 << 28;
/// The bits of NaN.
const POISON: u32 = 0x7fc0_0000;

/// `Work` in `kernel.cu`: addresses on the GPU, then sizes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    pub(super) steps: Address,
    pub(super) fragments: Address,
    pub(super) numbers: Address,
    pub(super) planes: Address,
    pub(super) begins: Address,
    pub(super) actions: Address,
    pub(super) logits: Address,
    pub(super) wdl: Address,
    count: i32,
    positions: i32,
    group: i32,
    height: i32,
    width: i32,
    channels: i32,
    ones: i32,
    plane_words: i32,
    stride: [i32; 2],
    at: [i32; 2],
    numbers_at: i32,
    numbers_each: i32,
}

impl Work {
    /// Describes the work for this many positions. Steps, fragments, and numbers are at `network`, the uploaded words
    /// with these `sections` are at `up`, and the results are at `down`, beginning with the `logits` logits of the
    /// policy.
    pub(super) fn new(
        program: &NetProgram,
        launch: &Launch,
        positions: usize,
        network: [Address; 3],
        (up, sections): (Address, Sections),
        (down, logits): (Address, usize),
    ) -> Work {
        let ([steps, fragments, numbers], word) = (network, |words: usize| 4 * words as Address);
        let Layout { at, numbers_at, .. } = launch.layout;
        Work {
            steps,
            fragments,
            numbers,
            planes: up + word(sections.planes),
            begins: up,
            actions: up + word(sections.actions),
            logits: down,
            wdl: down + word(logits),
            count: program.steps.len() as i32,
            positions: positions as i32,
            group: launch.group as i32,
            height: program.shape.height as i32,
            width: program.shape.width as i32,
            channels: program.shape.planes as i32,
            ones: program.ones.into(),
            plane_words: 2 * program.shape.plane_words() as i32,
            stride: program.strides.map(|stride| stride as i32),
            at: at.map(|at| at as i32),
            numbers_at: numbers_at as i32,
            numbers_each: program.numbers_each as i32,
        }
    }
}

pub(super) struct CudaPass {
    net: Arc<CudaNet>,
    /// The stream and its buffers, created by the first batch.
    place: Option<StreamPlace>,
    /// The launches so far, by their number of positions.
    launches: HashMap<usize, Launch>,
    /// The maximum number of positions in a launch.
    pub(super) most: usize,
}

/// A stream and its buffers. The stream is dropped first, so nothing uses the buffers when they are freed.
struct StreamPlace {
    stream: Stream,
    up: Both,
    down: Both,
}

/// Words in this machine's memory, and the same number of words on the GPU.
struct Both {
    here: Pinned,
    there: Remote,
}

impl Both {
    fn new(gpu: &Gpu, words: usize) -> Result<Both> {
        let words = words.next_power_of_two();
        Ok(Both { here: Pinned::new(gpu, words)?, there: Remote::new(gpu, 4 * words)? })
    }

    /// Makes room for this many words.
    fn hold(&mut self, gpu: &Gpu, words: usize) -> Result<()> {
        if self.here.words().len() < words {
            *self = Both::new(gpu, words)?;
        }
        Ok(())
    }
}

/// The positions of one launch.
struct LaunchPart<'a> {
    planes: &'a [u64],
    /// The wanted actions. Their `ends` count the actions of the whole batch, `first` of which come before this part.
    wanted: Wanted<'a>,
    first: usize,
    logits: &'a mut [f32],
    wdl: &'a mut [f32],
}

impl CudaPass {
    pub(super) fn new(net: Arc<CudaNet>) -> CudaPass {
        let words = Sections::new(net.program.shape, 1, 0).words;
        CudaPass {
            net,
            place: None,
            launches: HashMap::new(),
            most: (MOST_WORDS / words).clamp(1, MOST_POSITIONS),
        }
    }

    fn part(&mut self, part: LaunchPart) -> Result<()> {
        let CudaNet { program, gpu, .. } = &*self.net;
        let (positions, logits) = (part.wanted.ends.len(), part.logits.len());
        let up = Sections::new(program.shape, positions, logits).words;
        let down = logits + 3 * positions;
        let place = match &mut self.place {
            Some(place) => place,
            none => none.insert(StreamPlace {
                stream: Stream::new(gpu)?,
                up: Both::new(gpu, up)?,
                down: Both::new(gpu, down)?,
            }),
        };
        place.up.hold(gpu, up)?;
        place.down.hold(gpu, down)?;
        let (wanted, words) = ((part.wanted, part.first), place.up.here.words_mut());
        let sections = upload::write(program.shape, part.planes, wanted, words);
        let launch = self.launches.entry(positions);
        let launch = launch
            .or_insert_with(|| Launch::new(program, &gpu.limits(), positions).expect("one position fits"));
        let result = place.compute(&self.net, launch, logits, (positions, sections));
        // wait even after a failure: work that has begun must not write later
        let wait = place.stream.wait();
        result.and(wait)?;
        let words = place.down.here.words().iter().map(|word| f32::from_bits(*word));
        part.logits.iter_mut().chain(part.wdl).zip(words).for_each(|(slot, number)| *slot = number);
        Ok(())
    }
}

impl Pass for CudaPass {
    /// # Panics
    /// If the lengths do not match, or if an action is outside the network's shape.
    fn run(&mut self, batch: Batch) -> Result<()> {
        let Batch { planes, wanted: Wanted { actions, ends }, logits, wdl } = batch;
        let (shape, limit) = (self.net.program.shape, self.most);
        let (positions, count) = (ends.len(), ends.last().copied().unwrap_or(0));
        let lengths = [planes.len(), wdl.len(), actions.len(), logits.len()];
        let expected = [positions * shape.words(), positions * 3, count, count];
        assert_eq!(lengths, expected, "the lengths of planes, wdl, actions, and logits");
        assert!(ends.is_sorted(), "the ends must be in order");
        let outside = actions.iter().find(|action| usize::from(**action) >= shape.actions);
        assert_eq!(outside, None, "an action is outside the {} of this network", shape.actions);
        let mut first = 0;
        for (part, ends) in ends.chunks(limit).enumerate() {
            let (end, begin) = (ends[ends.len() - 1], part * limit);
            let part = LaunchPart {
                planes: &planes[begin * shape.words()..][..ends.len() * shape.words()],
                wanted: Wanted { actions: &actions[first..end], ends },
                first,
                logits: &mut logits[first..end],
                wdl: &mut wdl[3 * begin..][..3 * ends.len()],
            };
            self.part(part)?;
            first = end;
        }
        Ok(())
    }
}

impl StreamPlace {
    /// Queues everything that a launch needs, in the order of the stream.
    fn compute(
        &mut self,
        net: &CudaNet,
        launch: &Launch,
        logits: usize,
        (positions, sections): (usize, Sections),
    ) -> Result<()> {
        let (up, down, results) =
            (self.up.there.address(), self.down.there.address(), logits + 3 * positions);
        let network = [&net.steps, &net.fragments, &net.numbers].map(Remote::address);
        let mut work = Work::new(&net.program, launch, positions, network, (up, sections), (down, logits));
        self.down.here.words_mut()[..results].fill(POISON);
        let (driver, stream) = (net.gpu.current()?, self.stream.stream);
        let (here, bytes) = (self.up.here.words().as_ptr().cast(), 4 * sections.words);
        // SAFETY: both sides of each copy have room for it; they, and what the kernel's `Work` describes, live until
        // the stream has been waited for.
        unsafe {
            check("cuMemcpyHtoDAsync", (driver.cuMemcpyHtoDAsync_v2)(up, here, bytes, stream))?;
            check("cuMemsetD32Async", (driver.cuMemsetD32Async)(down, POISON, results, stream))?;
            launch.queue(&net.gpu, &mut work, &self.stream)?;
            let here = self.down.here.words_mut().as_mut_ptr().cast();
            check("cuMemcpyDtoHAsync", (driver.cuMemcpyDtoHAsync_v2)(here, down, 4 * results, stream))
        }
    }
}

impl Launch {
    /// Queues the kernel.
    ///
    /// # Safety
    ///
    /// What `work` describes is on this GPU and lives until the stream has been waited for; `work` itself is copied
    /// before this returns.
    pub(super) unsafe fn queue(&self, gpu: &Gpu, work: &mut Work, stream: &Stream) -> Result<()> {
        let (driver, mut parameters) = (gpu.current()?, [(&raw mut *work).cast::<c_void>()]);
        let [blocks, threads, shared] =
            [self.blocks, self.threads, self.layout.bytes].map(|number| number as c_uint);
        let (kernel, parameters) = (gpu.kernel(self.tiles), parameters.as_mut_ptr());
        // SAFETY: as above.
        let code = unsafe {
            (driver.cuLaunchKernel)(
                kernel,
                blocks,
                1,
                1,
                threads,
                1,
                1,
                shared,
                stream.stream,
                parameters,
                null_mut(),
            )
        };
        check("cuLaunchKernel", code)
    }
}

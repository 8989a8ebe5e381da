//! Resources of the GPU, each freed when it is dropped: its own memory, memory of this machine that it can read, and
//! a stream.

use std::ffi::c_uint;
use std::ptr::null_mut;

use super::driver::{Address, Handle, check, failure, handle};
use super::gpu::Gpu;
use crate::error::Result;

/// `CU_STREAM_NON_BLOCKING`: the stream does not wait for the default stream.
const NON_BLOCKING: c_uint = 1;

/// Memory on the GPU.
pub(super) struct Remote {
    gpu: Gpu,
    address: Address,
    bytes: usize,
}

impl Remote {
    pub(super) fn new(gpu: &Gpu, bytes: usize) -> Result<Remote> {
        let (driver, mut address) = (gpu.current()?, 0);
        // SAFETY: `address` takes an address.
        check("cuMemAlloc", unsafe { (driver.cuMemAlloc_v2)(&mut address, bytes.max(1)) })?;
        match address {
            0 => Err(failure("cuMemAlloc reported success but returned nothing")),
            _ => Ok(Remote { gpu: gpu.clone(), address, bytes }),
        }
    }

    /// Copies plain numbers to the GPU.
    pub(super) fn of<T: Copy>(gpu: &Gpu, numbers: &[T]) -> Result<Remote> {
        let remote = Remote::new(gpu, size_of_val(numbers))?;
        let driver = gpu.current()?;
        // SAFETY: both sides have `remote.bytes` bytes.
        let code = unsafe { (driver.cuMemcpyHtoD_v2)(remote.address, numbers.as_ptr().cast(), remote.bytes) };
        check("cuMemcpyHtoD", code)?;
        // cuMemcpyHtoD may return while the copy is still in progress, and no `Stream` would wait for it
        // SAFETY: null is the default stream, in which the copy runs.
        check("cuStreamSynchronize", unsafe { (driver.cuStreamSynchronize)(null_mut()) })?;
        Ok(remote)
    }

    pub(super) fn address(&self) -> Address {
        self.address
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        if let Ok(driver) = self.gpu.current() {
            // SAFETY: the memory was allocated once.
            unsafe { (driver.cuMemFree_v2)(self.address) };
        }
    }
}

/// 32-bit words in this machine's memory that the GPU copies without help from the processor.
pub(super) struct Pinned {
    gpu: Gpu,
    start: *mut u32,
    len: usize,
}

// SAFETY: pinned memory is like any other memory and is not tied to a thread.
unsafe impl Send for Pinned {}

impl Pinned {
    pub(super) fn new(gpu: &Gpu, len: usize) -> Result<Pinned> {
        let (driver, mut start, bytes) = (gpu.current()?, null_mut(), (4 * len).max(4));
        // SAFETY: `start` takes an address.
        let code = unsafe { (driver.cuMemHostAlloc)(&mut start, bytes, 0) };
        let start: *mut u32 = handle("cuMemHostAlloc", code, start)?.cast();
        if !start.is_aligned() {
            return Err(failure("cuMemHostAlloc returned an unaligned address"));
        }
        // SAFETY: `len` words were just allocated.
        unsafe { start.write_bytes(0, len) };
        Ok(Pinned { gpu: gpu.clone(), start, len })
    }

    pub(super) fn words(&self) -> &[u32] {
        // SAFETY: allocated and written; this is not called while the GPU writes (`CudaPass::run`).
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }

    pub(super) fn words_mut(&mut self) -> &mut [u32] {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.len) }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if let Ok(driver) = self.gpu.current() {
            // SAFETY: the memory was allocated once.
            unsafe { (driver.cuMemFreeHost)(self.start.cast()) };
        }
    }
}

/// A stream: a queue of work that the GPU does in order.
pub(super) struct Stream {
    gpu: Gpu,
    pub(super) stream: Handle,
}

// SAFETY: a stream may be used by any thread.
unsafe impl Send for Stream {}

impl Stream {
    pub(super) fn new(gpu: &Gpu) -> Result<Stream> {
        let (driver, mut stream) = (gpu.current()?, null_mut());
        // SAFETY: `stream` takes a handle.
        let code = unsafe { (driver.cuStreamCreate)(&mut stream, NON_BLOCKING) };
        Ok(Stream { gpu: gpu.clone(), stream: handle("cuStreamCreate", code, stream)? })
    }

    /// Waits until all work in the stream is done.
    pub(super) fn wait(&self) -> Result<()> {
        let driver = self.gpu.current()?;
        // SAFETY: the stream lives.
        check("cuStreamSynchronize", unsafe { (driver.cuStreamSynchronize)(self.stream) })
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Ok(driver) = self.gpu.current() {
            // SAFETY: the stream was created once; its work must be over before the memory that it uses is freed.
            unsafe {
                (driver.cuStreamSynchronize)(self.stream);
                (driver.cuStreamDestroy_v2)(self.stream);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_cudarc() {
        use cudarc::driver::sys::CUstream_flags;
        assert_eq!(NON_BLOCKING, CUstream_flags::CU_STREAM_NON_BLOCKING as c_uint);
    }
}

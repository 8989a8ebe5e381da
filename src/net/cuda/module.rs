//! The program on the GPU. Input: a GPU. Output: its kernels, which `scripts/release/build_cuda.sh` compiled from
//! `kernel.cu` and packed.

use std::ffi::{CStr, c_int};
use std::ptr::null_mut;
use std::sync::Arc;

use super::driver::{Handle, check, handle};
use super::gpu::CudaDevice;
use crate::error::Result;
use crate::storage::packed::unpack;

/// The kernels, in the order of [`TILES`](super::plan::TILES).
const KERNELS: [&CStr; 3] = [c"forward_2x4", c"forward_2x8", c"forward_4x4"];
/// The images for Turing, for newer GPUs, and for Hopper alone: two PTX texts and a cubin, compressed by zstd.
const PTX_75: &[u8] = include_bytes!("../../../assets/cuda/kernel_75.ptx.zst");
const PTX_80: &[u8] = include_bytes!("../../../assets/cuda/kernel_80.ptx.zst");
const CUBIN_90A: &[u8] = include_bytes!("../../../assets/cuda/kernel_90a.cubin.zst");

/// `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`
const MOST_SHARED: c_int = 8;

/// The program, loaded on a GPU.
pub(super) struct Module {
    device: Arc<CudaDevice>,
    module: Handle,
    kernels: Vec<Handle>,
}

// SAFETY: modules and functions may be used by any thread, and do not change.
unsafe impl Send for Module {}
// SAFETY: as above.
unsafe impl Sync for Module {}

impl Module {
    /// Loads the program for this GPU. A driver that is too old for the cubin compiles the PTX text instead and keeps
    /// the result for later runs.
    pub(super) fn new(device: &Arc<CudaDevice>) -> Result<Module> {
        let compute = device.limits.compute;
        if compute == (9, 0)
            && let Ok(module) = Module::load(device, &unpacked(CUBIN_90A))
        {
            return Ok(module);
        }
        let text = if compute >= (8, 0) { PTX_80 } else { PTX_75 };
        Module::load(device, &unpacked(text))
    }

    /// Loads an image, which the driver copies, and lets its kernels use all the shared memory that the GPU has for a
    /// block.
    fn load(device: &Arc<CudaDevice>, image: &[u8]) -> Result<Module> {
        let (driver, mut module) = (device.current()?, null_mut());
        // SAFETY: the image marks its own end: a cubin in its header, a text by a final 0 byte.
        let code = unsafe { (driver.cuModuleLoadData)(&mut module, image.as_ptr().cast()) };
        let module = handle("cuModuleLoadData", code, module)?;
        let mut module = Module { device: device.clone(), module, kernels: Vec::new() };
        let shared = c_int::try_from(device.limits.shared[0]).unwrap_or(c_int::MAX);
        for name in KERNELS {
            let mut kernel = null_mut();
            // SAFETY: the name ends with a 0, and the kernel lives as long as the module.
            unsafe {
                let code = (driver.cuModuleGetFunction)(&mut kernel, module.module, name.as_ptr());
                kernel = handle("cuModuleGetFunction", code, kernel)?;
                check("cuFuncSetAttribute", (driver.cuFuncSetAttribute)(kernel, MOST_SHARED, shared))?;
            }
            module.kernels.push(kernel);
        }
        Ok(module)
    }

    pub(super) fn kernel(&self, tiles: usize) -> Handle {
        self.kernels[tiles]
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        if let Ok(driver) = self.device.current() {
            // SAFETY: the module was loaded once, and nothing else refers to it.
            unsafe { (driver.cuModuleUnload)(self.module) };
        }
    }
}

/// Unpacks an image of the program and appends a 0 byte, which marks the end of a PTX text.
fn unpacked(image: &[u8]) -> Vec<u8> {
    let mut bytes = unpack(image).expect("it is a part of this program");
    bytes.push(0);
    bytes
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;

    use super::*;

    #[test]
    fn images_are_whole() {
        for (image, target) in [(PTX_75, "sm_75"), (PTX_80, "sm_80")] {
            let text = CString::from_vec_with_nul(unpacked(image)).unwrap().into_string().unwrap();
            assert!(text.contains(&format!(".target {target}")), "{target}");
            for kernel in KERNELS {
                assert!(
                    text.contains(&format!(".entry {}", kernel.to_str().unwrap())),
                    "{target}: {kernel:?}"
                );
            }
        }
        assert!(unpacked(CUBIN_90A).starts_with(b"\x7fELF"));
    }

    #[test]
    fn numbers_are_those_of_cudarc() {
        use cudarc::driver::sys::CUfunction_attribute as Attribute;
        let attribute = Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        assert_eq!(MOST_SHARED, attribute as c_int);
    }
}

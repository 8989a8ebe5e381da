//! The GPU of this machine: the first one that the driver reports, and its properties.

use std::ffi::c_int;
use std::sync::Arc;

use super::driver::{Driver, Handle, LIBRARIES, check, handle};
use super::module::Module;
use crate::error::{Error, Result, shown};

/// The oldest supported driver: that of CUDA 11.0, which reads PTX 7.0.
const OLDEST: c_int = 11_000;
/// The oldest supported GPU generation: Turing, which has the instructions to load fragments and multiply them.
const LEAST_COMPUTE: (c_int, c_int) = (7, 5);

/// Values of `CUdevice_attribute`.
const MULTIPROCESSORS: c_int = 16;
const COMPUTE_MAJOR: c_int = 75;
const COMPUTE_MINOR: c_int = 76;
const SHARED_PER_MULTIPROCESSOR: c_int = 81;
const SHARED_PER_BLOCK: c_int = 97;

/// A GPU that can be used, with the program loaded on it; clones refer to the same GPU.
#[derive(Clone)]
pub struct Gpu {
    module: Arc<Module>,
    device: Arc<CudaDevice>,
}

impl std::fmt::Debug for Gpu {
    fn fmt(&self, out: &mut std::fmt::Formatter) -> std::fmt::Result {
        let CudaDevice { name, limits, .. } = &*self.device;
        out.debug_struct("Gpu").field("name", name).field("limits", limits).finish_non_exhaustive()
    }
}

pub(super) struct CudaDevice {
    driver: Arc<Driver>,
    number: c_int,
    context: Handle,
    name: String,
    version: c_int,
    pub(super) limits: GpuLimits,
}

// SAFETY: a context may be used by any thread; each makes it current before it calls the driver.
unsafe impl Send for CudaDevice {}
// SAFETY: as above; the driver locks what its calls share.
unsafe impl Sync for CudaDevice {}

/// Properties of the GPU that a launch depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GpuLimits {
    /// Compute capability.
    pub(super) compute: (i32, i32),
    /// The number of multiprocessors.
    pub(super) multiprocessors: usize,
    /// Bytes of shared memory available to a block, and to a multiprocessor.
    pub(super) shared: [usize; 2],
}

/// Finds the first GPU of this machine and loads the program onto it. If the driver must compile the program (on
/// every GPU but Hopper), the first call takes longer; the driver keeps the result for later runs.
///
/// # Errors
/// If there is no driver or no GPU, or if the driver or the GPU is too old or fails; the message is one sentence.
pub(crate) fn gpu() -> Result<Gpu> {
    Gpu::of(LIBRARIES)
}

impl Gpu {
    /// Finds the first GPU that the driver reports; the driver is the first of these libraries that loads.
    pub(super) fn of(libraries: &[&str]) -> Result<Gpu> {
        let driver = Driver::load(libraries)?;
        // SAFETY: the arguments are numbers, or addresses of numbers that live long enough.
        let (version, number) = unsafe {
            let [mut version, mut count, mut number] = [0; 3];
            check("cuDriverGetVersion", (driver.cuDriverGetVersion)(&mut version))?;
            if version < OLDEST {
                let (version, minimum) = (cuda_version(version), cuda_version(OLDEST));
                return Err(Error::Missing(format!(
                    "the NVIDIA driver is too old: it supports CUDA {version}, but at least {minimum} is required"
                )));
            }
            check("cuInit", (driver.cuInit)(0))?;
            check("cuDeviceGetCount", (driver.cuDeviceGetCount)(&mut count))?;
            if count < 1 {
                return Err(Error::Missing("the NVIDIA driver finds no GPU".into()));
            }
            check("cuDeviceGet", (driver.cuDeviceGet)(&mut number, 0))?;
            (version, number)
        };
        let (name, limits) = (name(&driver, number)?, limits(&driver, number)?);
        if limits.compute < LEAST_COMPUTE {
            let (major, minor) = limits.compute;
            return Err(Error::Missing(format!(
                "the GPU {name} is too old: its compute capability is {major}.{minor}, but at least 7.5 (Turing) \
                 is required"
            )));
        }
        let mut context = std::ptr::null_mut();
        // SAFETY: `context` takes a handle.
        let code = unsafe { (driver.cuDevicePrimaryCtxRetain)(&mut context, number) };
        let context = handle("cuDevicePrimaryCtxRetain", code, context)?;
        let device = Arc::new(CudaDevice { driver, number, context, name, version, limits });
        Ok(Gpu { module: Arc::new(Module::new(&device)?), device })
    }

    /// Returns the GPU's name, as the driver reports it.
    pub fn name(&self) -> &str {
        &self.device.name
    }

    /// Returns the newest CUDA version that the GPU's driver supports, for example `CUDA 13.0`.
    pub fn driver(&self) -> String {
        format!("CUDA {}", cuda_version(self.device.version))
    }

    pub(super) fn limits(&self) -> GpuLimits {
        self.device.limits
    }

    pub(super) fn kernel(&self, tiles: usize) -> Handle {
        self.module.kernel(tiles)
    }

    /// Makes this GPU current for this thread, and returns the driver's functions.
    pub(super) fn current(&self) -> Result<&Driver> {
        self.device.current()
    }
}

impl CudaDevice {
    /// Makes this GPU current for this thread, and returns the driver's functions.
    pub(super) fn current(&self) -> Result<&Driver> {
        // SAFETY: the context lives as long as the device.
        check("cuCtxSetCurrent", unsafe { (self.driver.cuCtxSetCurrent)(self.context) })?;
        Ok(&self.driver)
    }
}

impl Drop for CudaDevice {
    fn drop(&mut self) {
        // SAFETY: the context was retained once, and everything in the context keeps this device alive.
        unsafe { (self.driver.cuDevicePrimaryCtxRelease_v2)(self.number) };
    }
}

fn cuda_version(version: c_int) -> String {
    format!("{}.{}", version / 1000, version % 1000 / 10)
}

fn name(driver: &Driver, number: c_int) -> Result<String> {
    let mut bytes = [0_u8; 256];
    // SAFETY: the driver receives the length of the buffer.
    let code = unsafe { (driver.cuDeviceGetName)(bytes.as_mut_ptr().cast(), bytes.len() as c_int, number) };
    check("cuDeviceGetName", code)?;
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    Ok(shown(&String::from_utf8_lossy(&bytes[..end])))
}

fn limits(driver: &Driver, number: c_int) -> Result<GpuLimits> {
    let attribute = |attribute: c_int| -> Result<c_int> {
        let mut value = 0;
        // SAFETY: `value` takes a number.
        let code = unsafe { (driver.cuDeviceGetAttribute)(&mut value, attribute, number) };
        check("cuDeviceGetAttribute", code)?;
        Ok(value)
    };
    let size = |number: c_int| attribute(number).map(|value| usize::try_from(value).unwrap_or(0));
    Ok(GpuLimits {
        compute: (attribute(COMPUTE_MAJOR)?, attribute(COMPUTE_MINOR)?),
        multiprocessors: size(MULTIPROCESSORS)?.max(1),
        shared: [size(SHARED_PER_BLOCK)?, size(SHARED_PER_MULTIPROCESSOR)?],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_cudarc() {
        use cudarc::driver::sys::CUdevice_attribute as Attribute;
        for (number, attribute) in [
            (MULTIPROCESSORS, Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
            (COMPUTE_MAJOR, Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
            (COMPUTE_MINOR, Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR),
            (SHARED_PER_MULTIPROCESSOR, Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
            (SHARED_PER_BLOCK, Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
        ] {
            assert_eq!(number, attribute as c_int, "{attribute:?}");
        }
    }

    /// A machine with a GPU reports the GPU's name; a machine without one returns a one-sentence error and does not
    /// panic.
    #[test]
    fn a_machine_has_a_gpu_or_says_why_not() {
        match gpu() {
            Ok(gpu) => assert!(!gpu.name().is_empty() && gpu.driver().starts_with("CUDA ")),
            Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
        }
    }
}

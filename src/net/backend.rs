//! burn's devices, on which burn's own operations compute: this CPU and, in programs built with the feature `vulkan`,
//! a GPU of any vendor.
//!
//! The devices are the CPU and the best GPU that this machine's drivers report; if there is no GPU, an error says in
//! one sentence what is missing. A software driver counts as a GPU and ranks last. burn's results on a GPU agree with
//! those on the CPU within rounding errors, but their bytes depend on the GPU and may depend on which positions share a
//! batch. If a GPU fails after it was found, burn panics during training; during play, the failure is an error if burn
//! reports it.
//!
//! burn's GPU programs are compiled to WGSL. burn's own SPIR-V, which its feature `vulkan` would use, crashes Mesa's
//! software driver (22.3) and gives wrong numbers in SwiftShader.

use std::sync::Once;

use burn::BurnConfig;
use burn::tensor::Device;
use burn_std::config::RuntimeConfig;

use crate::error::{Error, Result};

/// The number of positions that a GPU wants in one batch. Large batches are faster because burn starts dozens of
/// programs for a forward pass, whatever the size of the batch.
const BATCH: usize = 256;

/// The number of positions that burn wants in one batch on the CPU. Small batches are faster because burn computes a
/// network operation by operation, each on all cores.
const BATCH_ON_CPU: usize = 16;

/// Returns this CPU, without gradients. Never use `Device::default()`: it picks a GPU if a backend for one is
/// compiled in.
pub fn cpu() -> Device {
    configure();
    Device::flex()
}

/// Returns the number of positions that burn wants in one batch on this device.
pub(super) fn batch(device: &Device) -> usize {
    if *device == cpu() { BATCH_ON_CPU } else { BATCH }
}

/// Keeps burn from reading a `burn.toml` or `cubecl.toml` in or above the working folder when burn is first used:
/// such a file is not meant for this program and may name files to write. A configuration that the program set
/// earlier is kept.
fn configure() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        BurnConfig::try_set(BurnConfig::default());
        #[cfg(feature = "vulkan")]
        configure_cubecl();
    });
}

/// Returns burn's device for the GPU, without autodiff.
///
/// # Errors
/// If no driver reports a GPU, or if the GPU does not answer.
#[cfg(feature = "vulkan")]
pub(super) fn vulkan() -> Result<Device> {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use burn::tensor::Tensor;
    use burn_dispatch::devices::{CubeDevice, WgpuBackend, WgpuDevice, WgpuDeviceKind};

    configure();
    let kinds = [
        WgpuDeviceKind::DiscreteGpu(0),
        WgpuDeviceKind::IntegratedGpu(0),
        WgpuDeviceKind::VirtualGpu(0),
        WgpuDeviceKind::Other(0),
        // a software driver
        WgpuDeviceKind::Cpu,
    ];
    let first = |kind: WgpuDeviceKind| {
        let of_kind = CubeDevice::Wgpu(WgpuDevice::new(kind).on(WgpuBackend::Vulkan));
        CubeDevice::enumerate(of_kind.to_id()).into_iter().next()
    };
    let gpu = kinds.into_iter().find_map(first).map(|id| Device::new(CubeDevice::from_id(id)));
    let device = gpu.ok_or_else(|| {
        Error::Missing(
            "no GPU with a Vulkan driver was found (on Debian, install libvulkan1 and the vendor's driver, or \
             mesa-vulkan-drivers)"
                .into(),
        )
    })?;
    // a driver may report a GPU that cannot be used; burn then panics
    let answers = || Tensor::<1>::ones([1], &device).try_into_data().is_ok();
    match catch_unwind(AssertUnwindSafe(answers)) {
        Ok(true) => Ok(device),
        _ => Err(Error::Missing("the Vulkan driver reports a GPU, but the GPU does not answer".into())),
    }
}

/// Returns an error, because this program was not built for a GPU through Vulkan.
///
/// # Errors
/// Always.
#[cfg(not(feature = "vulkan"))]
pub(super) fn vulkan() -> Result<Device> {
    Err(Error::Missing(
        "this program was built without Vulkan: build it with `cargo build --release --features vulkan`"
            .into(),
    ))
}

/// Keeps the library below burn from reading a configuration, and makes all threads share one queue of the GPU,
/// because each queue has its own memory.
#[cfg(feature = "vulkan")]
fn configure_cubecl() {
    use cubecl_runtime::config::CubeClRuntimeConfig;
    use cubecl_runtime::config::streaming::StreamingConfig;

    let streaming = StreamingConfig { max_streams: 1, ..StreamingConfig::default() };
    CubeClRuntimeConfig::try_set(CubeClRuntimeConfig { streaming, ..CubeClRuntimeConfig::default() });
}

/// Returns the GPU's name, as its driver reports it.
#[cfg(feature = "vulkan")]
pub(super) fn name(device: &Device) -> String {
    device.identity().map_or("vulkan".into(), |identity| identity.name)
}

/// Returns the device's name.
#[cfg(not(feature = "vulkan"))]
pub(super) fn name(device: &Device) -> String {
    format!("{device:?}")
}

//! A GPU of any vendor through Vulkan, where burn's own operations compute: in programs built with the feature
//! `vulkan`.
//!
//! In goes nothing, out comes burn's device for the best GPU that the drivers of this machine show, or an error that
//! says what is missing in one sentence. A driver in software counts as a GPU, the last one. What burn computes there
//! agrees with the CPU within rounding, but its bytes depend on the GPU, and may depend on which positions share a
//! batch. A GPU that fails later is a panic of burn in training, and an error in play where burn says so.
//!
//! burn has its programs compiled as WGSL. Its own SPIR-V, which its feature `vulkan` would use, crashes Mesa's driver
//! in software (22.3), and the numbers are wrong in SwiftShader.

use burn::tensor::Device;

use crate::error::{Error, Result};

/// The positions that a GPU wants together: burn starts dozens of programs for a forward pass, whatever the batch.
pub(super) const BATCH: usize = 256;

/// burn's device for the GPU, without gradients.
///
/// # Errors
/// No driver shows a GPU, or it does not answer.
#[cfg(feature = "vulkan")]
pub fn device() -> Result<Device> {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use burn::tensor::Tensor;
    use burn_dispatch::devices::{CubeDevice, WgpuBackend, WgpuDevice, WgpuDeviceKind};

    super::model::configure_burn();
    let kinds = [
        WgpuDeviceKind::DiscreteGpu(0),
        WgpuDeviceKind::IntegratedGpu(0),
        WgpuDeviceKind::VirtualGpu(0),
        WgpuDeviceKind::Other(0),
        // in software
        WgpuDeviceKind::Cpu,
    ];
    let first = |kind: WgpuDeviceKind| {
        let of_kind = CubeDevice::Wgpu(WgpuDevice::new(kind).on(WgpuBackend::Vulkan));
        CubeDevice::enumerate(of_kind.to_id()).into_iter().next()
    };
    let found = kinds.into_iter().find_map(first).map(|id| Device::new(CubeDevice::from_id(id)));
    let device = found.ok_or_else(|| {
        Error::Missing(
            "no GPU with a Vulkan driver was found (Debian: libvulkan1 and the vendor's driver, or mesa-vulkan-drivers)"
                .into(),
        )
    })?;
    // a driver may show what cannot be used, and burn panics then
    let answers = || Tensor::<1>::ones([1], &device).try_into_data().is_ok();
    match catch_unwind(AssertUnwindSafe(answers)) {
        Ok(true) => Ok(device),
        _ => Err(Error::Missing("the Vulkan driver shows a GPU, which does not answer".into())),
    }
}

/// burn's device for the GPU, which this program was not built for.
///
/// # Errors
/// Always.
#[cfg(not(feature = "vulkan"))]
pub fn device() -> Result<Device> {
    Err(Error::Missing(
        "this program was built without Vulkan (`cargo build --release --features vulkan` builds one with it)".into(),
    ))
}

/// Keeps the library below burn from reading a configuration. All threads share one queue of the GPU, since each queue
/// has its own memory.
#[cfg(feature = "vulkan")]
pub(super) fn configure() {
    use burn_std::config::RuntimeConfig;
    use cubecl_runtime::config::CubeClRuntimeConfig;
    use cubecl_runtime::config::streaming::StreamingConfig;

    let streaming = StreamingConfig { max_streams: 1, ..StreamingConfig::default() };
    CubeClRuntimeConfig::try_set(CubeClRuntimeConfig { streaming, ..CubeClRuntimeConfig::default() });
}

/// The GPU's name, from its driver.
#[cfg(feature = "vulkan")]
pub(super) fn name(device: &Device) -> String {
    device.identity().map_or("vulkan".into(), |identity| identity.name)
}

/// The device's name, from its driver.
#[cfg(not(feature = "vulkan"))]
pub(super) fn name(device: &Device) -> String {
    format!("{device:?}")
}

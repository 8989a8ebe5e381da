//! The processor of a network: this CPU, or a GPU that is found at run time.
//!
//! [`Processor::of`] turns `net.device` or `--device` into a [`Processor`] for
//! [`SharedNet::on`](super::evaluator::SharedNet::on), and `for_training` turns `train.device` into burn's device for a
//! [`Trainer`](crate::train::Trainer). No other module opens a device. Weights, checkpoints, and exports do not depend
//! on the device.

use std::sync::Arc;

#[cfg(feature = "train")]
use burn::tensor::Device;

#[cfg(feature = "train")]
use super::backend;
#[cfg(feature = "train")]
pub use super::backend::cpu;
#[cfg(feature = "train")]
use super::compared::WITH_32_BITS;
use super::compared::{WITH_16_BITS, expect_same, sample};
use super::cuda::{self, CudaNet, Gpu};
#[cfg(feature = "train")]
use super::forward::BurnNet;
use crate::config::DeviceKind;
#[cfg(feature = "train")]
use crate::config::TrainDevice;
use crate::error::{Error, Input, Result};

/// The processor of the forward pass.
#[derive(Clone, Debug, Default)]
pub enum Processor {
    /// This CPU.
    #[default]
    Cpu,
    /// An NVIDIA GPU.
    Cuda(Gpu),
    /// burn's device, for a GPU on which burn computes.
    #[cfg(feature = "train")]
    Vulkan(Device),
}

impl Processor {
    /// Finds the processor of this kind. A GPU is returned only after it has computed a small network as the CPU
    /// does. `auto` finds an NVIDIA GPU if there is one, and otherwise the CPU, with a sentence that says why.
    ///
    /// # Errors
    /// If the setting names a kind of processor that this machine lacks or whose results differ from the CPU's.
    pub fn of(kind: DeviceKind) -> Result<(Processor, Option<String>)> {
        Processor::found(kind, || cuda::gpu().and_then(trusted))
    }

    /// Does the work of [`Processor::of`] with the search for a GPU as an argument, for tests.
    fn found(kind: DeviceKind, gpu: impl FnOnce() -> Result<Gpu>) -> Result<(Processor, Option<String>)> {
        match kind {
            DeviceKind::Cpu => Ok((Processor::Cpu, None)),
            DeviceKind::Cuda => match gpu() {
                Ok(gpu) => Ok((Processor::Cuda(gpu), None)),
                Err(error) => {
                    let auto = "\"auto\" uses an NVIDIA GPU only if there is one";
                    Err(Error::Config(format!("{}, and {auto}", unusable(kind, &error))))
                }
            },
            #[cfg(not(feature = "train"))]
            DeviceKind::Vulkan => {
                let error =
                    Error::Missing("this program was built without training, and so without burn".into());
                Err(Error::Config(unusable(kind, &error)).about(Input::RunDevice))
            }
            #[cfg(feature = "train")]
            DeviceKind::Vulkan => match trusted_vulkan() {
                Ok(device) => Ok((Processor::Vulkan(device), None)),
                Err(error) => Err(Error::Config(unusable(kind, &error)).about(Input::RunDevice)),
            },
            DeviceKind::Auto => Ok(match gpu() {
                Ok(gpu) => (Processor::Cuda(gpu), None),
                Err(error) => (Processor::Cpu, Some(format!("the CPU computes the network: {error}"))),
            }),
        }
    }

    /// Returns the `net.device` setting that selects this processor.
    pub fn kind(&self) -> DeviceKind {
        match self {
            Processor::Cpu => DeviceKind::Cpu,
            Processor::Cuda(_) => DeviceKind::Cuda,
            #[cfg(feature = "train")]
            Processor::Vulkan(_) => DeviceKind::Vulkan,
        }
    }

    /// Returns a GPU's name, from its driver, or `None` for the CPU.
    pub fn name(&self) -> Option<String> {
        match self {
            Processor::Cpu => None,
            Processor::Cuda(gpu) => Some(format!("{}, {}", gpu.name(), gpu.driver())),
            #[cfg(feature = "train")]
            Processor::Vulkan(device) => Some(backend::name(device)),
        }
    }
}

/// Returns the device with gradients on which networks are trained.
///
/// # Errors
/// If this machine or this program lacks the device.
#[cfg(feature = "train")]
pub fn for_training(kind: TrainDevice) -> Result<Device> {
    match kind {
        TrainDevice::Cpu => Ok(cpu().autodiff()),
        TrainDevice::Vulkan => match trusted_vulkan() {
            Ok(device) => Ok(device.autodiff()),
            Err(error) => {
                let message = format!(
                    "networks cannot be trained on \"vulkan\" here: {error}; \"cpu\" trains without a GPU"
                );
                Err(Error::Config(message).about(Input::RunDevice))
            }
        },
    }
}

/// Returns the GPU if it computes a small network as the CPU does.
pub(super) fn trusted(gpu: Gpu) -> Result<Gpu> {
    let weights = sample().weights();
    let net = CudaNet::new(&gpu, &weights)?;
    expect_same(Arc::new(net), &weights, WITH_16_BITS, gpu.name())?;
    Ok(gpu)
}

/// Returns burn's device for any GPU, once it has computed a small network as the CPU does.
#[cfg(feature = "train")]
fn trusted_vulkan() -> Result<Device> {
    let (device, sample) = (backend::vulkan()?, sample());
    let net = BurnNet::new(&sample, &device);
    expect_same(Arc::new(net), &sample.weights(), WITH_32_BITS, &backend::name(&device))?;
    Ok(device)
}

fn unusable(kind: DeviceKind, error: &Error) -> String {
    format!("the device \"{kind}\" cannot be used here: {error}; \"cpu\" computes without a GPU")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(kind: DeviceKind) -> Result<(Processor, Option<String>)> {
        Processor::found(kind, || Err(Error::Missing("there is no driver".into())))
    }

    #[test]
    fn without_a_gpu_there_is_the_cpu_or_an_error_if_it_was_named() {
        let (processor, reason) = found(DeviceKind::Auto).expect("the CPU is always there");
        assert_eq!(processor.kind(), DeviceKind::Cpu);
        assert_eq!(reason.as_deref(), Some("the CPU computes the network: there is no driver"));
        let error = found(DeviceKind::Cuda).expect_err("no GPU");
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().contains("there is no driver; \"cpu\" computes without a GPU"), "{error}");
    }

    #[test]
    fn the_cpu_looks_for_no_gpu() {
        let (processor, reason) = Processor::found(DeviceKind::Cpu, || panic!("it looked")).expect("the CPU");
        assert_eq!((processor.kind(), reason), (DeviceKind::Cpu, None));
    }
}

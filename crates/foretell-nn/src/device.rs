//! What networks are trained on.

use crate::error::Error;
use crate::tensor::Device;
use std::fmt;
use std::str::FromStr;

/// What networks are trained on: `cpu`, `gpu`, or `gpu:1`.
///
/// ```
/// use foretell_nn::Accelerator;
/// assert_eq!("gpu:1".parse::<Accelerator>()?, Accelerator::Gpu(Some(1)));
/// assert!("tpu".parse::<Accelerator>().is_err());
/// # Ok::<(), foretell_nn::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Accelerator {
    /// The processor.
    #[default]
    Cpu,
    /// A graphics processor: that of this number, from 0, among those with memory of their own, or the best there is.
    Gpu(Option<usize>),
}

impl Accelerator {
    /// Whether it is there.
    ///
    /// # Errors
    /// [`Error::NoGpu`] if the program was built without GPUs, or there is none.
    pub fn check(self) -> Result<(), Error> {
        self.device().map(drop)
    }

    /// The device.
    ///
    /// # Errors
    /// [`Error::NoGpu`] if the program was built without GPUs, or there is none.
    pub(crate) fn device(self) -> Result<Device, Error> {
        match self {
            Self::Cpu => Ok(Device::Processor),
            Self::Gpu(number) => gpu(number),
        }
    }
}

#[cfg(feature = "gpu")]
fn gpu(number: Option<usize>) -> Result<Device, Error> {
    use burn::tensor::{DeviceKind, Tensor};
    let kind = number.map_or(DeviceKind::DefaultDevice, DeviceKind::DiscreteGpu);
    // burn finds out at the first tensor that there is no such device, and panics
    let found = std::panic::catch_unwind(|| {
        let device = burn::tensor::Device::vulkan(kind);
        Tensor::<1>::zeros([1], &device).into_data();
        Device::Gpu(device)
    });
    found.map_err(|_| Error::NoGpu {
        device: Accelerator::Gpu(number).to_string(),
        reason: "Vulkan finds none; install the GPU's driver with its Vulkan part, or train with --device cpu",
    })
}

#[cfg(not(feature = "gpu"))]
fn gpu(number: Option<usize>) -> Result<Device, Error> {
    Err(Error::NoGpu {
        device: Accelerator::Gpu(number).to_string(),
        reason: "this program was built without GPUs; build it with --features gpu",
    })
}

impl fmt::Display for Accelerator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu => write!(f, "cpu"),
            Self::Gpu(None) => write!(f, "gpu"),
            Self::Gpu(Some(number)) => write!(f, "gpu:{number}"),
        }
    }
}

impl FromStr for Accelerator {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let unknown = || Error::UnknownDevice { name: text.to_owned() };
        match text.split_once(':') {
            None if text == "cpu" => Ok(Self::Cpu),
            None if text == "gpu" => Ok(Self::Gpu(None)),
            Some(("gpu", number)) => {
                number.parse().map(|number| Self::Gpu(Some(number))).map_err(|_| unknown())
            }
            _ => Err(unknown()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_written() {
        for name in ["cpu", "gpu", "gpu:0", "gpu:12"] {
            assert_eq!(name.parse::<Accelerator>().unwrap().to_string(), name);
        }
        for name in ["", "cuda", "gpu:", "gpu:-1", "cpu:0"] {
            let error = name.parse::<Accelerator>().unwrap_err().to_string();
            assert!(error.contains("known are cpu, gpu and gpu:N"), "{error}");
        }
    }

    #[cfg(not(feature = "gpu"))]
    #[test]
    fn a_program_without_gpus_says_how_to_build_one() {
        let error = Accelerator::Gpu(None).device().unwrap_err().to_string();
        assert_eq!(error, "no device gpu: this program was built without GPUs; build it with --features gpu");
    }
}

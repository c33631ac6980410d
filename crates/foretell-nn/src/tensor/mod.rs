//! Tensors: what networks compute with, on the processor or, with the feature `gpu`, on a graphics processor through burn.
//!
//! A network is described once, by operations that look where their tensors are. On the processor they are of this crate.

pub(crate) mod elementwise;
pub(crate) mod graph;
pub(crate) mod product;

#[cfg(feature = "gpu")]
use burn::tensor as burning;
use graph::Array;

/// Where tensors are.
#[derive(Clone, Debug)]
pub(crate) enum Device {
    /// On the processor.
    Processor,
    /// On a graphics processor.
    #[cfg(feature = "gpu")]
    Gpu(burning::Device),
}

/// Values in row-major order, in as many dimensions as `D` says.
#[derive(Clone)]
pub(crate) enum Tensor<const D: usize> {
    /// On the processor.
    Processor(Array<D>),
    /// On a graphics processor.
    #[cfg(feature = "gpu")]
    Gpu(burning::Tensor<D>),
}

/// The same for a tensor wherever it is.
macro_rules! wherever {
    ($tensor:expr, $on_processor:pat => $processor:expr, $on_gpu:pat => $gpu:expr) => {
        match $tensor {
            $crate::tensor::Tensor::Processor($on_processor) => $processor,
            #[cfg(feature = "gpu")]
            $crate::tensor::Tensor::Gpu($on_gpu) => $gpu,
        }
    };
}
pub(crate) use wherever;

impl<const D: usize> Tensor<D> {
    /// A constant.
    pub(crate) fn constant(values: Vec<f32>, shape: [usize; D], device: &Device) -> Self {
        match device {
            Device::Processor => Self::Processor(Array::constant(values, shape)),
            #[cfg(feature = "gpu")]
            Device::Gpu(device) => {
                Self::Gpu(burning::Tensor::from_data(burning::TensorData::new(values, shape), device))
            }
        }
    }

    /// The same values as a parameter.
    pub(crate) fn into_parameter(self) -> Self {
        wherever!(self, x => Self::Processor(x.into_parameter()), x => Self::Gpu(x.inner().autodiff().require_grad()))
    }

    /// The same values as a constant: gradients stop here.
    pub(crate) fn detach(self) -> Self {
        wherever!(self, x => Self::Processor(x.detach()), x => Self::Gpu(x.inner()))
    }

    /// Zeros.
    pub(crate) fn zeros(shape: [usize; D], device: &Device) -> Self {
        Self::constant(vec![0.0; shape.iter().product()], shape, device)
    }

    /// Where it is.
    pub(crate) fn device(&self) -> Device {
        wherever!(self, _ => Device::Processor, x => Device::Gpu(x.device().inner()))
    }

    /// The shape.
    pub(crate) fn dims(&self) -> [usize; D] {
        wherever!(self, x => x.shape(), x => x.dims())
    }

    /// The values.
    pub(crate) fn into_values(self) -> Vec<f32> {
        wherever!(self, x => x.into_values(), x => read(x))
    }

    /// It, on the processor.
    pub(crate) fn array(self) -> Array<D> {
        wherever!(self, x => x, _ => panic!("all of a network is in one place"))
    }

    /// It, on a graphics processor.
    #[cfg(feature = "gpu")]
    pub(crate) fn burning(self) -> burning::Tensor<D> {
        match self {
            Self::Processor(_) => panic!("all of a network is in one place"),
            Self::Gpu(x) => x,
        }
    }

    /// The same values in another shape.
    pub(crate) fn reshape<const E: usize>(self, shape: [usize; E]) -> Tensor<E> {
        wherever!(self, x => Tensor::Processor(x.reshape(shape)), x => Tensor::Gpu(x.reshape(shape)))
    }
}

impl Tensor<4> {
    /// A vector for each image: shape (images, channels · height · width).
    pub(crate) fn flatten(self) -> Tensor<2> {
        let [images, rest @ ..] = self.dims();
        self.reshape([images, rest.iter().product()])
    }
}

impl Tensor<1> {
    /// The only value.
    pub(crate) fn value(&self) -> f64 {
        f64::from(self.clone().into_values()[0])
    }

    /// The gradients of the only value, for every parameter. It uses the operations up.
    pub(crate) fn backward(self) -> Gradients {
        wherever!(self, x => Gradients::Processor(x.backward(vec![1.0])), x => Gradients::Gpu(x.backward()))
    }
}

/// The gradients of an outcome.
pub(crate) enum Gradients {
    /// On the processor.
    Processor(graph::Gradients),
    /// On a graphics processor.
    #[cfg(feature = "gpu")]
    Gpu(burning::Gradients),
}

impl Gradients {
    /// Takes the gradient of a parameter out; none if it had no part in the outcome.
    pub(crate) fn take<const D: usize>(&mut self, parameter: &Tensor<D>) -> Option<Tensor<D>> {
        match (self, parameter) {
            (Self::Processor(gradients), Tensor::Processor(x)) => {
                let gradient = gradients.take(&x.source())?;
                Some(Tensor::Processor(Array::constant(gradient, x.shape())))
            }
            #[cfg(feature = "gpu")]
            (Self::Gpu(gradients), Tensor::Gpu(x)) => x.grad_remove(gradients).map(Tensor::Gpu),
            #[cfg(feature = "gpu")]
            _ => None,
        }
    }
}

#[cfg(feature = "gpu")]
fn read<const D: usize>(tensor: burning::Tensor<D>) -> Vec<f32> {
    tensor.into_data().try_into_vec().expect("tensors are of 32-bit floats")
}

//! Convolution with SAME padding.

use crate::layers::parameter::{Param, module};
use crate::layers::patches::{ConvolutionWindow, convolve};
use crate::layers::weights::WeightInitializer;
use crate::tensor::Tensor;

/// Convolution; its output is ⌈size/stride⌉ large.
#[derive(Clone)]
pub(crate) struct ConvolutionLayer {
    /// Shape (filters, channels, kernel height, kernel width).
    pub(crate) weight: Param<4>,
    /// Shape (filters); none where batch normalization follows.
    pub(crate) bias: Option<Param<1>>,
    stride: usize,
}
module!(ConvolutionLayer { weight, bias });

impl ConvolutionLayer {
    /// A convolution with these weights.
    pub(crate) fn new(weight: Param<4>, bias: Option<Param<1>>, stride: usize) -> Self {
        Self { weight, bias, stride }
    }

    /// A convolution before batch normalization: no bias, weights of He's N(0, 2/fan-in). `shape` is that of the weights.
    ///
    /// Source: K. He et al., *Delving deep into rectifiers* (2015).
    pub(crate) fn with_he_weights(shape: [usize; 4], stride: usize, weights: &mut WeightInitializer) -> Self {
        let fan_in = shape[1] * shape[2] * shape[3];
        Self { weight: weights.normal(shape, (2.0 / fan_in as f64).sqrt()), bias: None, stride }
    }

    /// Maps of shape (images, filters, ⌈height/stride⌉, ⌈width/stride⌉).
    pub(crate) fn forward(&self, images: Tensor<4>) -> Tensor<4> {
        let [_, _, height, width] = images.dims();
        let [_, _, kernel_height, kernel_width] = self.weight.dims();
        let [vertical, horizontal] = [(height, kernel_height), (width, kernel_width)]
            .map(|(size, kernel)| same_padding(size, kernel, self.stride));
        let (weight, bias) = (self.weight.val(), self.bias.as_ref().map(Param::val));
        let window = ConvolutionWindow { stride: self.stride, vertical, horizontal };
        convolve(&images, &weight, bias.as_ref(), window)
    }
}

/// Padding (before, after) that makes the output of a convolution ⌈size/stride⌉ large; the odd one comes after.
fn same_padding(size: usize, kernel: usize, stride: usize) -> (usize, usize) {
    let total = ((size.div_ceil(stride) - 1) * stride + kernel).saturating_sub(size);
    (total / 2, total - total / 2)
}

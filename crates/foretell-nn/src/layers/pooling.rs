//! Pooling.

use burn::tensor::Tensor;
use burn::tensor::module::{avg_pool2d, max_pool2d};
use burn::tensor::ops::{AvgPoolOptions, MaxPoolOptions};

/// Maxima over windows of `kernel` × `kernel`, without padding; windows that do not fit are left out.
pub(crate) fn max_pool(images: Tensor<4>, kernel: usize, stride: usize) -> Tensor<4> {
    let mut options = MaxPoolOptions::new([kernel; 2]);
    options.stride = [stride; 2];
    max_pool2d(images, options)
}

/// Maxima over windows that may reach over the border: the output is ⌈(size − kernel)/stride⌉ + 1 large.
pub(crate) fn max_pool_ceiling(images: Tensor<4>, kernel: usize, stride: usize) -> Tensor<4> {
    let mut options = MaxPoolOptions::new([kernel; 2]);
    (options.stride, options.ceil_mode) = ([stride; 2], true);
    max_pool2d(images, options)
}

/// Means over windows that may reach over the border; only values inside count.
pub(crate) fn mean_pool_ceiling(images: Tensor<4>, kernel: usize, stride: usize) -> Tensor<4> {
    let mut options = AvgPoolOptions::new([kernel; 2]);
    (options.stride, options.ceil_mode, options.count_include_pad) = ([stride; 2], true, false);
    avg_pool2d(images, options)
}

/// Means over windows of `size` × `size` (odd) around each value; what lies over the border counts as 0.
pub(crate) fn mean_around(images: Tensor<4>, size: usize) -> Tensor<4> {
    let mut options = AvgPoolOptions::new([size; 2]);
    (options.stride, options.padding) = ([1; 2], [(size / 2, size / 2); 2]);
    avg_pool2d(images, options)
}

/// The mean of each map: shape (images, channels).
pub(crate) fn global_mean(images: Tensor<4>) -> Tensor<2> {
    let maps: Tensor<3> = images.flatten(2, 3);
    maps.mean_dim(2).squeeze_dim(2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::tensor::Device;

    fn pooled(pool: fn(Tensor<4>, usize, usize) -> Tensor<4>) -> Vec<f32> {
        let image = [[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [9.0, 8.0, 7.0, 6.0], [5.0, 4.0, 3.0, 2.0]];
        let image: Tensor<2> = Tensor::from_floats(image, &Device::flex());
        pool(image.unsqueeze(), 3, 2).into_data().try_into_vec().unwrap()
    }

    #[test]
    fn windows_over_the_border_count_what_is_inside() {
        assert_eq!(pooled(max_pool), [9.0]);
        assert_eq!(pooled(max_pool_ceiling), [9.0, 8.0, 9.0, 7.0]);
        // 3 × 3: 48/9; 3 × 2 at the right: (3+4+7+8+7+6)/6; 2 × 3 below: (9+8+7+5+4+3)/6; 2 × 2: (7+6+3+2)/4
        for (found, expected) in pooled(mean_pool_ceiling).iter().zip([48.0 / 9.0, 35.0 / 6.0, 6.0, 4.5]) {
            assert!((found - expected).abs() < 1e-5, "{found} instead of {expected}");
        }
    }
}

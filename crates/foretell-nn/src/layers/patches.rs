//! Convolution on the processor as matrix products: the patches that a kernel sees, as the columns of a matrix.

use crate::tensor::Tensor;
use crate::tensor::graph::sum;
use crate::tensor::product::{MatrixView, multiply};
use std::borrow::Cow;
use std::ops::Range;

/// Columns of a matrix product at least, where there are so many: smaller maps are joined.
const MIN_COLUMNS: usize = 512;

/// Strides and paddings of a convolution.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConvolutionWindow {
    /// Pixels from one patch to the next.
    pub(crate) stride: usize,
    /// Zeros above and below.
    pub(crate) vertical: (usize, usize),
    /// Zeros left and right.
    pub(crate) horizontal: (usize, usize),
}

/// The convolution of `images`, shape (images, channels, height, width), with `weight`, shape (filters, channels, kernel height, kernel
/// width), plus `bias`, shape (filters).
///
/// Complexity: time of the matrix products, memory of a few images' patches.
pub(crate) fn convolve(
    images: &Tensor<4>,
    weight: &Tensor<4>,
    bias: Option<&Tensor<1>>,
    window: ConvolutionWindow,
) -> Tensor<4> {
    let sizes = ConvolutionSizes::new(images.dims(), weight.dims(), window);
    let maps = convolve_forward(&sizes, images.values(), weight.values(), bias.map(Tensor::values));
    let sources = [images.source(), weight.source(), bias.and_then(Tensor::source)];
    let (images, weight) = (images.share_values(), weight.share_values());
    Tensor::made(maps, sizes.maps(), sources, move |above, [to_images, to_weight, to_bias], gradients| {
        let (for_images, for_weight) = backward(&sizes, &images, &weight, &above, to_images.is_some());
        if let Some(gradient) = for_images {
            gradients.add(&to_images, gradient);
        }
        gradients.add(&to_weight, for_weight);
        if to_bias.is_some() {
            gradients.add(&to_bias, sizes.bias_gradient(&above));
        }
    })
}

/// The sizes of a convolution.
#[derive(Clone, Copy, Debug)]
struct ConvolutionSizes {
    images: usize,
    channels: usize,
    /// Height and width of a map, before and after.
    before: [usize; 2],
    after: [usize; 2],
    filters: usize,
    kernel: [usize; 2],
    stride: usize,
    /// Zeros above and left.
    padding: [usize; 2],
}

impl ConvolutionSizes {
    fn new(images: [usize; 4], weight: [usize; 4], window: ConvolutionWindow) -> Self {
        let ConvolutionWindow { stride, vertical, horizontal } = window;
        let [count, channels, height, width] = images;
        let [filters, _, kernel_height, kernel_width] = weight;
        let after = [(height, vertical, kernel_height), (width, horizontal, kernel_width)]
            .map(|(size, (first, last), kernel)| (size + first + last - kernel) / stride + 1);
        Self {
            images: count,
            channels,
            before: [height, width],
            after,
            filters,
            kernel: [kernel_height, kernel_width],
            stride,
            padding: [vertical.0, horizontal.0],
        }
    }

    /// The shape of the maps.
    fn maps(&self) -> [usize; 4] {
        [self.images, self.filters, self.after[0], self.after[1]]
    }

    /// Values of a patch.
    fn patch(&self) -> usize {
        self.channels * self.kernel[0] * self.kernel[1]
    }

    /// Patches of an image.
    fn patches(&self) -> usize {
        self.after[0] * self.after[1]
    }

    /// Values of an image.
    fn image(&self) -> usize {
        self.channels * self.before[0] * self.before[1]
    }

    /// The images whose patches are multiplied together, group after group.
    fn groups(&self) -> impl Iterator<Item = Range<usize>> {
        let together = (MIN_COLUMNS / self.patches()).max(1);
        let (images, starts) = (self.images, (0..self.images).step_by(together));
        starts.map(move |start| start..(start + together).min(images))
    }

    /// Calls `row(row of the matrix, first column, first value in the image, values, step in the image)` for each row of pixels that some
    /// value of a patch sees, over all patches of an image.
    fn rows(&self, mut row: impl FnMut(usize, usize, usize, usize, usize)) {
        let ([height, width], [rows, columns]) = (self.before, self.after);
        let mut number = 0;
        for channel in 0..self.channels {
            for y in 0..self.kernel[0] {
                for x in 0..self.kernel[1] {
                    let inside = visible_range(x, self.padding[1], self.stride, width, columns);
                    let lines = visible_range(y, self.padding[0], self.stride, height, rows);
                    for to in lines.filter(|_| !inside.is_empty()) {
                        let line = to * self.stride + y - self.padding[0];
                        let first = inside.start * self.stride + x - self.padding[1];
                        let from = (channel * height + line) * width + first;
                        row(number, to * columns + inside.start, from, inside.len(), self.stride);
                    }
                    number += 1;
                }
            }
        }
    }

    /// The patches of a group of images, shape (values of a patch, images · patches). `matrix` may hold those of another group.
    fn fill(&self, matrix: &mut Vec<f32>, images: &[f32], group: &Range<usize>) {
        let columns = group.len() * self.patches();
        // what lies over the border is 0, in every group of as many images
        if matrix.len() != self.patch() * columns {
            matrix.clear();
            matrix.resize(self.patch() * columns, 0.0);
        }
        for (place, image) in group.clone().enumerate() {
            let image = &images[image * self.image()..][..self.image()];
            self.rows(|row, column, from, count, step| {
                let to = &mut matrix[row * columns + place * self.patches() + column..][..count];
                if step == 1 {
                    to.copy_from_slice(&image[from..from + count]);
                } else {
                    to.iter_mut()
                        .zip(image[from..].iter().step_by(step))
                        .for_each(|(to, &value)| *to = value);
                }
            });
        }
    }

    /// Adds the values of a matrix of patches to the pixels that they were of.
    fn add_to(&self, images: &mut [f32], group: &Range<usize>, matrix: &[f32]) {
        let columns = group.len() * self.patches();
        for (place, image) in group.clone().enumerate() {
            let image = &mut images[image * self.image()..][..self.image()];
            self.rows(|row, column, to, count, step| {
                let from = &matrix[row * columns + place * self.patches() + column..][..count];
                if step == 1 {
                    image[to..to + count].iter_mut().zip(from).for_each(|(pixel, value)| *pixel += value);
                } else {
                    let pixels = image[to..].iter_mut().step_by(step);
                    pixels.zip(from).for_each(|(pixel, value)| *pixel += value);
                }
            });
        }
    }

    /// The values from above for a group of images, shape (filters, images · patches).
    fn above<'a>(&self, above: &'a [f32], group: &Range<usize>) -> Cow<'a, [f32]> {
        let patches = self.patches();
        let of_map =
            |image: usize, filter: usize| &above[(image * self.filters + filter) * patches..][..patches];
        // of a single image the values are already in this order, so no copy is needed
        if group.len() == 1 {
            return above[group.start * self.filters * patches..][..self.filters * patches].into();
        }
        let filters = 0..self.filters;
        filters
            .flat_map(|filter| group.clone().flat_map(move |image| of_map(image, filter)))
            .copied()
            .collect()
    }

    fn bias_gradient(&self, above: &[f32]) -> Vec<f32> {
        let mut sums = vec![0.0_f32; self.filters];
        for (place, map) in above.chunks_exact(self.patches()).enumerate() {
            sums[place % self.filters] += sum(map);
        }
        sums
    }
}

/// The columns (or rows) of patches whose value `at` of the kernel lies inside of a line of `size` pixels.
fn visible_range(at: usize, padding: usize, stride: usize, size: usize, columns: usize) -> Range<usize> {
    let first = padding.saturating_sub(at).div_ceil(stride);
    let end = (size + padding).saturating_sub(at).div_ceil(stride).min(columns);
    first.min(end)..end
}

/// The maps, shape (images, filters, height, width).
fn convolve_forward(
    sizes: &ConvolutionSizes,
    images: &[f32],
    weight: &[f32],
    bias: Option<&[f32]>,
) -> Vec<f32> {
    let (patches, of_image) = (sizes.patches(), sizes.filters * sizes.patches());
    let weight = MatrixView::new(weight, [sizes.filters, sizes.patch()]);
    let mut maps = vec![0.0_f32; sizes.images * of_image];
    let (mut matrix, mut made) = (Vec::new(), Vec::new());
    for group in sizes.groups() {
        sizes.fill(&mut matrix, images, &group);
        let columns = group.len() * patches;
        let matrix = MatrixView::new(&matrix, [sizes.patch(), columns]);
        if group.len() == 1 {
            // the product of a single image is its maps already, so no copy is needed
            multiply(weight, matrix, 0.0, &mut maps[group.start * of_image..][..of_image]);
            continue;
        }
        made.resize(sizes.filters * columns, 0.0);
        multiply(weight, matrix, 0.0, &mut made);
        for (filter, row) in made.chunks_exact(columns).enumerate() {
            for (image, map) in group.clone().zip(row.chunks_exact(patches)) {
                maps[image * of_image + filter * patches..][..patches].copy_from_slice(map);
            }
        }
    }
    if let Some(bias) = bias {
        for (map, bias) in maps.chunks_exact_mut(patches).zip(bias.iter().cycle()) {
            map.iter_mut().for_each(|value| *value += bias);
        }
    }
    maps
}

/// The gradients of the images, if they are wanted, and of the weights.
fn backward(
    sizes: &ConvolutionSizes,
    images: &[f32],
    weight: &[f32],
    above: &[f32],
    wants_images: bool,
) -> (Option<Vec<f32>>, Vec<f32>) {
    let (patch, filters) = (sizes.patch(), sizes.filters);
    let transposed = MatrixView::new(weight, [filters, patch]).transpose();
    let mut to_images = wants_images.then(|| vec![0.0_f32; sizes.images * sizes.image()]);
    let mut to_weight = vec![0.0_f32; patch * filters];
    let (mut matrix, mut slopes) = (Vec::new(), Vec::new());
    for group in sizes.groups() {
        let columns = group.len() * sizes.patches();
        let from_above = sizes.above(above, &group);
        let from_above = MatrixView::new(&from_above, [filters, columns]);
        sizes.fill(&mut matrix, images, &group);
        // patches times maps and not maps times patches: the smaller of the two matrices is the one that is packed across its rows
        multiply(MatrixView::new(&matrix, [patch, columns]), from_above.transpose(), 1.0, &mut to_weight);
        if let Some(to_images) = &mut to_images {
            slopes.resize(patch * columns, 0.0);
            multiply(transposed, from_above, 0.0, &mut slopes);
            sizes.add_to(to_images, &group, &slopes);
        }
    }
    let turned = (0..filters).flat_map(|filter| to_weight[filter..].iter().step_by(filters));
    (to_images, turned.copied().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn values<const D: usize>(shape: [usize; D], seed: f32) -> Tensor<D> {
        let count: usize = shape.iter().product();
        let values: Vec<f32> = (0..count).map(|i| (i as f32 * 0.7 + seed).sin()).collect();
        Tensor::constant(values, shape).into_parameter()
    }

    /// The maps and, for maps weighted by `above`, the gradients of images, weights and bias: the sums written out.
    fn written_out(
        sizes: &ConvolutionSizes,
        images: &[f32],
        weight: &[f32],
        bias: &[f32],
        above: &[f32],
    ) -> [Vec<f32>; 4] {
        let ([height, width], [rows, columns], [tall, wide]) = (sizes.before, sizes.after, sizes.kernel);
        let mut made = [vec![], vec![0.0; images.len()], vec![0.0; weight.len()], vec![0.0; bias.len()]];
        for (place, &above) in above.iter().enumerate() {
            let (image, filter) =
                (place / (rows * columns) / sizes.filters, place / (rows * columns) % sizes.filters);
            let (row, column) = (place / columns % rows, place % columns);
            let mut sum = bias[filter];
            made[3][filter] += above;
            for k in 0..sizes.patch() {
                let (channel, y, x) = (k / (tall * wide), k / wide % tall, k % wide);
                let (y, x) = (row * sizes.stride + y, column * sizes.stride + x);
                let inside = (sizes.padding[0]..height + sizes.padding[0]).contains(&y)
                    && (sizes.padding[1]..width + sizes.padding[1]).contains(&x);
                if inside {
                    let map = image * sizes.channels + channel;
                    let from = (map * height + y - sizes.padding[0]) * width + x - sizes.padding[1];
                    let to = filter * sizes.patch() + k;
                    sum += weight[to] * images[from];
                    made[1][from] += weight[to] * above;
                    made[2][to] += images[from] * above;
                }
            }
            made[0].push(sum);
        }
        made
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn maps_and_gradients_are_the_sums_written_out(
            (count, channels, filters) in (1_usize..4, 1_usize..4, 1_usize..5),
            (height, width) in (5_usize..12, 5_usize..12),
            (tall, wide, stride) in (1_usize..6, 1_usize..6, 1_usize..4),
            (above, below, left, right) in (0_usize..3, 0_usize..3, 0_usize..3, 0_usize..3),
            with_bias in any::<bool>(),
        ) {
            let window = ConvolutionWindow { stride, vertical: (above, below), horizontal: (left, right) };
            let images = values([count, channels, height, width], 0.1);
            let (weight, bias) = (values([filters, channels, tall, wide], 0.4), values([filters], 0.9));
            let maps = convolve(&images, &weight, with_bias.then_some(&bias), window);
            let sizes = ConvolutionSizes::new(images.dims(), weight.dims(), window);
            prop_assert_eq!(maps.dims(), sizes.maps());
            let none = vec![0.0; filters];
            let used = if with_bias { bias.values() } else { &none };
            let weights = values(maps.dims(), 0.3);
            let expected = written_out(&sizes, images.values(), weight.values(), used, weights.values());
            let mut found = vec![maps.values().to_vec()];
            let mut gradients = maps.backward(weights.into_values());
            found.extend([images.source(), weight.source(), bias.source()].iter().filter_map(|source| gradients.take(source)));
            prop_assert_eq!(found.len(), if with_bias { 4 } else { 3 });
            for (found, expected) in found.iter().zip(&expected) {
                prop_assert_eq!(found.len(), expected.len());
                for (a, b) in found.iter().zip(expected) {
                    prop_assert!((a - b).abs() < 1e-4 * (1.0 + b.abs()), "{} instead of {}", a, b);
                }
            }
        }
    }
}

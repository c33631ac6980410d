//! Convolution on the processor as matrix products: the patches that a kernel sees, as the columns of a matrix.
//!
//! burn's own convolution is right everywhere and stays for GPUs, and as the oracle of the tests. This one is for
//! [`Flex`](burn::backend::Flex) alone: its gradient of the weights multiplies matrices of patches instead of convolving with maps.

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::NoCheckpointing;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::ops::FloatTensorOps;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Flex};
use burn::tensor::{Tensor, TensorData};
use std::ops::Range;

/// Columns of a matrix product at least, where there are so many: smaller maps are joined.
const FEWEST_COLUMNS: usize = 512;

type Learning = Autodiff<Flex>;
type Plain = FloatTensor<Flex>;

/// Strides and paddings of a convolution.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    /// Pixels from one patch to the next.
    pub(crate) stride: usize,
    /// Zeros above and below.
    pub(crate) vertical: (usize, usize),
    /// Zeros left and right.
    pub(crate) horizontal: (usize, usize),
}

/// The convolution of `images`, shape (images, channels, height, width), with `weight`, shape (filters, channels, kernel height, kernel
/// width), plus `bias`, shape (filters); none if the tensors are not on the processor.
///
/// Complexity: time of the matrix products, memory of a few images' patches.
pub(crate) fn convolve(
    images: &Tensor<4>,
    weight: &Tensor<4>,
    bias: Option<&Tensor<1>>,
    window: Window,
) -> Option<Tensor<4>> {
    let sizes = Sizes::new(images.dims(), weight.dims(), window);
    if let (Ok(images), Ok(weight)) =
        (images.clone().try_into_primitive::<Flex>(), weight.clone().try_into_primitive::<Flex>())
    {
        let bias = match bias {
            Some(bias) => Some(bias.clone().try_into_primitive::<Flex>().ok()?),
            None => None,
        };
        return Some(Tensor::from_primitive::<Flex>(forward(&sizes, images, weight, bias)));
    }
    let images = images.clone().try_into_primitive::<Learning>().ok()?;
    let weight = weight.clone().try_into_primitive::<Learning>().ok()?;
    let (images_node, weight_node) = (images.node(), weight.node());
    let (images, weight) = (images.into_primitive(), weight.into_primitive());
    let Some(bias) = bias else {
        let made = forward(&sizes, images.clone(), weight.clone(), None);
        let operation =
            Convolution.prepare::<NoCheckpointing>([images_node, weight_node]).compute_bound().stateful();
        return Some(Tensor::from_primitive::<Learning>(match operation {
            OpsKind::Tracked(prepared) => prepared.finish((images, weight, sizes), made),
            OpsKind::UnTracked(prepared) => prepared.finish(made),
        }));
    };
    let bias = bias.clone().try_into_primitive::<Learning>().ok()?;
    let nodes = [images_node, weight_node, bias.node()];
    let made = forward(&sizes, images.clone(), weight.clone(), Some(bias.into_primitive()));
    let operation = Convolution.prepare::<NoCheckpointing>(nodes).compute_bound().stateful();
    Some(Tensor::from_primitive::<Learning>(match operation {
        OpsKind::Tracked(prepared) => prepared.finish((images, weight, sizes), made),
        OpsKind::UnTracked(prepared) => prepared.finish(made),
    }))
}

/// The gradients of a convolution: of the images, the weights and, with three parents, the bias.
#[derive(Debug)]
struct Convolution;

impl<const PARENTS: usize> Backward<Flex, PARENTS> for Convolution {
    type State = (Plain, Plain, Sizes);

    fn backward(
        self,
        operation: Ops<Self::State, PARENTS>,
        gradients: &mut Gradients,
        _checkpointer: &mut Checkpointer,
    ) {
        let above = gradients.consume::<Flex>(&operation.node).to_contiguous();
        let (images, weight, sizes) = operation.state;
        let mut parents = operation.parents.into_iter();
        let (for_images, for_weight) = (parents.next().flatten(), parents.next().flatten());
        let (to_images, to_weight) = backward(&sizes, images, weight, &above, for_images.is_some());
        if let (Some(parent), Some(gradient)) = (for_images, to_images) {
            gradients.register::<Flex>(parent.id, gradient);
        }
        if let Some(parent) = for_weight {
            gradients.register::<Flex>(parent.id, to_weight);
        }
        if let Some(parent) = parents.next().flatten() {
            gradients.register::<Flex>(parent.id, sizes.bias_gradient(&above));
        }
    }
}

/// The sizes of a convolution.
#[derive(Clone, Copy, Debug)]
struct Sizes {
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

impl Sizes {
    fn new(images: [usize; 4], weight: [usize; 4], window: Window) -> Self {
        let Window { stride, vertical, horizontal } = window;
        let after = |size: usize, (first, last): (usize, usize), kernel: usize| {
            (size + first + last - kernel) / stride + 1
        };
        let [count, channels, height, width] = images;
        let [filters, _, kernel_height, kernel_width] = weight;
        Self {
            images: count,
            channels,
            before: [height, width],
            after: [after(height, vertical, kernel_height), after(width, horizontal, kernel_width)],
            filters,
            kernel: [kernel_height, kernel_width],
            stride,
            padding: [vertical.0, horizontal.0],
        }
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
        let together = (FEWEST_COLUMNS / self.patches()).max(1);
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
                    let inside = seen(x, self.padding[1], self.stride, width, columns);
                    let lines = seen(y, self.padding[0], self.stride, height, rows);
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

    /// The patches of a group of images, shape (values of a patch, images · patches).
    fn matrix(&self, images: &[f32], group: &Range<usize>) -> Plain {
        let columns = group.len() * self.patches();
        let mut matrix = vec![0.0_f32; self.patch() * columns];
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
        tensor(matrix, [self.patch(), columns])
    }

    /// Adds the values of a matrix of patches to the pixels that they were of.
    fn add_to(&self, images: &mut [f32], group: &Range<usize>, matrix: &[f32]) {
        let columns = group.len() * self.patches();
        for (place, image) in group.clone().enumerate() {
            let image = &mut images[image * self.image()..][..self.image()];
            self.rows(|row, column, to, count, step| {
                let from = &matrix[row * columns + place * self.patches() + column..][..count];
                let add = |(pixel, &value): (&mut f32, &f32)| *pixel += value;
                if step == 1 {
                    image[to..to + count].iter_mut().zip(from).for_each(add);
                } else {
                    image[to..].iter_mut().step_by(step).zip(from).for_each(add);
                }
            });
        }
    }

    /// What comes from above for a group of images, shape (filters, images · patches).
    fn above(&self, above: &[f32], group: &Range<usize>) -> Plain {
        let (patches, columns) = (self.patches(), group.len() * self.patches());
        let mut matrix = Vec::with_capacity(self.filters * columns);
        for filter in 0..self.filters {
            for image in group.clone() {
                matrix.extend_from_slice(&above[(image * self.filters + filter) * patches..][..patches]);
            }
        }
        tensor(matrix, [self.filters, columns])
    }

    fn bias_gradient(&self, above: &Plain) -> Plain {
        let mut sums = vec![0.0_f32; self.filters];
        for (place, map) in above.storage::<f32>().chunks_exact(self.patches()).enumerate() {
            sums[place % self.filters] += map.iter().sum::<f32>();
        }
        tensor(sums, [self.filters])
    }
}

/// The columns (or rows) of patches whose value `at` of the kernel lies inside of a line of `size` pixels.
fn seen(at: usize, padding: usize, stride: usize, size: usize, columns: usize) -> Range<usize> {
    let first = padding.saturating_sub(at).div_ceil(stride);
    let end = (size + padding).saturating_sub(at).div_ceil(stride).min(columns);
    first.min(end)..end
}

fn tensor<const D: usize>(values: Vec<f32>, shape: [usize; D]) -> Plain {
    Plain::from_data(TensorData::new(values, shape))
}

/// The maps, shape (images, filters, height, width).
fn forward(sizes: &Sizes, images: Plain, weight: Plain, bias: Option<Plain>) -> Plain {
    let (images, bias) = (images.to_contiguous(), bias.map(|bias| bias.to_contiguous()));
    let weight = Flex::float_reshape(weight, [sizes.filters, sizes.patch()].into());
    let patches = sizes.patches();
    let mut maps = vec![0.0_f32; sizes.images * sizes.filters * patches];
    for group in sizes.groups() {
        let made = Flex::float_matmul(weight.clone(), sizes.matrix(images.storage(), &group)).to_contiguous();
        for (filter, row) in made.storage::<f32>().chunks_exact(group.len() * patches).enumerate() {
            let bias = bias.as_ref().map_or(0.0, |bias| bias.storage::<f32>()[filter]);
            for (image, map) in group.clone().zip(row.chunks_exact(patches)) {
                let to = &mut maps[(image * sizes.filters + filter) * patches..][..patches];
                to.iter_mut().zip(map).for_each(|(to, &value)| *to = value + bias);
            }
        }
    }
    tensor(maps, [sizes.images, sizes.filters, sizes.after[0], sizes.after[1]])
}

/// The gradients of the images, if they are wanted, and of the weights.
fn backward(
    sizes: &Sizes,
    images: Plain,
    weight: Plain,
    above: &Plain,
    wants_images: bool,
) -> (Option<Plain>, Plain) {
    let (images, patch) = (images.to_contiguous(), sizes.patch());
    let transposed = Flex::float_swap_dims(Flex::float_reshape(weight, [sizes.filters, patch].into()), 0, 1);
    let mut to_images = wants_images.then(|| vec![0.0_f32; sizes.images * sizes.image()]);
    let mut to_weight = vec![0.0_f32; patch * sizes.filters];
    for group in sizes.groups() {
        let from_above = sizes.above(above.storage(), &group);
        // patches times maps and not maps times patches: the smaller of the two matrices is the one that is packed across its rows
        let across = Flex::float_swap_dims(from_above.clone(), 0, 1);
        let part = Flex::float_matmul(sizes.matrix(images.storage(), &group), across).to_contiguous();
        to_weight.iter_mut().zip(part.storage::<f32>()).for_each(|(sum, &value)| *sum += value);
        if let Some(to_images) = &mut to_images {
            let matrix = Flex::float_matmul(transposed.clone(), from_above).to_contiguous();
            sizes.add_to(to_images, &group, matrix.storage());
        }
    }
    let [height, width] = sizes.before;
    let [kernel_height, kernel_width] = sizes.kernel;
    let to_weight = Flex::float_swap_dims(tensor(to_weight, [patch, sizes.filters]), 0, 1).to_contiguous();
    let shape = [sizes.filters, sizes.channels, kernel_height, kernel_width];
    (
        to_images.map(|values| tensor(values, [sizes.images, sizes.channels, height, width])),
        Flex::float_reshape(to_weight, shape.into()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::tensor::Device;
    use burn::tensor::module::conv2d;
    use burn::tensor::ops::ConvOptions;
    use proptest::prelude::*;

    fn values<const D: usize>(shape: [usize; D], seed: f32) -> Tensor<D> {
        let count: usize = shape.iter().product();
        let values: Vec<f32> = (0..count).map(|i| (i as f32 * 0.7 + seed).sin()).collect();
        Tensor::from_data(TensorData::new(values, shape), &Device::flex().autodiff()).require_grad()
    }

    /// The maps and all gradients of a weighted sum of them.
    fn outcome(
        window: Window,
        images: [usize; 4],
        weight: [usize; 4],
        with_bias: bool,
        ours: bool,
    ) -> Vec<Vec<f32>> {
        let (images, weight, bias) = (values(images, 0.1), values(weight, 0.4), values([weight[0]], 0.9));
        let used = with_bias.then_some(&bias);
        let maps = if ours {
            convolve(&images, &weight, used, window).expect("the tensors are on the processor")
        } else {
            let padding = [window.vertical, window.horizontal];
            let options = ConvOptions::new_with_padding([window.stride; 2], padding, [1, 1], 1);
            conv2d(images.clone(), weight.clone(), used.cloned(), options)
        };
        let gradients = (maps.clone() * values(maps.dims(), 0.3).detach()).sum().backward();
        let list = |data: TensorData| data.try_into_vec::<f32>().unwrap();
        let mut all = vec![list(maps.into_data())];
        all.push(list(images.grad(&gradients).unwrap().into_data()));
        all.push(list(weight.grad(&gradients).unwrap().into_data()));
        all.extend(with_bias.then(|| list(bias.grad(&gradients).unwrap().into_data())));
        all
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn maps_and_gradients_are_those_of_burn(
            (count, channels, filters) in (1_usize..4, 1_usize..4, 1_usize..5),
            (height, width) in (5_usize..12, 5_usize..12),
            (tall, wide, stride) in (1_usize..6, 1_usize..6, 1_usize..4),
            (above, below, left, right) in (0_usize..3, 0_usize..3, 0_usize..3, 0_usize..3),
            bias in any::<bool>(),
        ) {
            let window = Window { stride, vertical: (above, below), horizontal: (left, right) };
            let (images, weight) = ([count, channels, height, width], [filters, channels, tall, wide]);
            let ours = outcome(window, images, weight, bias, true);
            let burns = outcome(window, images, weight, bias, false);
            prop_assert_eq!(ours.len(), burns.len());
            for (ours, burns) in ours.iter().zip(&burns) {
                prop_assert_eq!(ours.len(), burns.len());
                for (a, b) in ours.iter().zip(burns) {
                    prop_assert!((a - b).abs() < 1e-4 * (1.0 + b.abs()), "{} instead of {}", a, b);
                }
            }
        }
    }
}

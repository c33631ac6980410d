//! `resnet-tiny`: residual networks of 6n + 2 layers with few filters, as in the paper's TinyImageNet experiments.
//!
//! Source: K. He, X. Zhang, S. Ren, J. Sun, *Deep residual learning for image recognition* (2016), §4.2.

use crate::error::Error;
use crate::image_lessons::ImageNetwork;
use crate::layers::batch_norm::BatchNorm;
use crate::layers::convolution::Convolution;
use crate::layers::dense::Dense;
use crate::layers::parameter::module;
use crate::layers::pooling::global_mean;
use crate::layers::weights::Weights;
use crate::optimizer::{Optimizer, Rule};
use crate::plan::{TrainOutcome, TrainSpec};
use crate::schedule::even_falls;
use crate::space::{Material, Plan, Report, Searched, Size, Small, Space};
use crate::tensor::Tensor;
use crate::tensor::elementwise::{joined, relu, sum_of};
use crate::training::{Recipe, run};
use rand_chacha::ChaCha8Rng;

/// Blocks in each of the three stages, at most.
const MOST_BLOCKS: usize = 18;
/// The smallest side of an image: its size is halved twice.
const SMALLEST: usize = 4;
/// How often the rate falls: after each quarter of the plan, as in the paper's released curves.
const FALLS: usize = 3;

/// The space.
pub(crate) struct ResnetTiny;

impl Space for ResnetTiny {
    fn name(&self) -> &'static str {
        "resnet-tiny"
    }

    fn about(&self) -> &'static str {
        "residual networks of 6n + 2 layers"
    }

    fn plan(&self) -> Plan {
        let size = Size { width: 0.5, max_layers: Some(20) };
        let small = Small { size, batch_size: 16 };
        Plan { material: Material::Images, epochs: 140, batch_size: 100, free_rate: true, small }
    }

    /// `blocks` is n, the residual blocks of a stage; `filters` are those of the first stage.
    fn searched(&self, size: &Size) -> Searched {
        let most = size.max_layers.map_or(MOST_BLOCKS, |layers| layers.saturating_sub(2) / 6);
        let most = most.clamp(1, MOST_BLOCKS);
        let filters = size.scale(2)..=size.scale(22);
        Searched::Parameters(vec![
            format!("blocks=int:{}:{most}", 2.min(most)),
            format!("filters=int:{}:{}", filters.start(), filters.end()),
            "kernel=choice:3,5,7".to_owned(),
        ])
    }

    fn train(&self, spec: &TrainSpec, report: &mut Report<'_>) -> Result<TrainOutcome, Error> {
        let shape = Nesterov {
            blocks: spec.count("blocks", 1..=MOST_BLOCKS)?,
            filters: spec.count("filters", 1..=10_000)?,
            kernel: spec.count("kernel", 1..=99)?,
            channels: 0,
            classes: 0,
        };
        let data = spec.images()?;
        spec.check_side(&data, SMALLEST)?;
        let recipe = Nesterov { channels: data.train.shape.channels, classes: data.train.classes, ..shape };
        run(spec, &recipe, &data, report)
    }
}

/// Gradient descent with Nesterov momentum 0.9, L2 of 10⁻⁴, starting rate 0.1, a tenth of it after each quarter of the plan.
struct Nesterov {
    blocks: usize,
    filters: usize,
    kernel: usize,
    channels: usize,
    classes: usize,
}

impl Recipe for Nesterov {
    type Network = Network;

    fn network(&self, weights: &mut Weights) -> Network {
        Network::new(self, weights)
    }

    fn optimizer(&self) -> Optimizer {
        Optimizer::new(Rule::Nesterov { momentum: 0.9 }).with_penalty(1e-4)
    }

    fn starts(&self) -> Vec<f64> {
        vec![0.1]
    }

    fn schedule(&self, epoch: usize, epochs: usize) -> f64 {
        even_falls(FALLS, epoch, epochs)
    }
}

/// A convolution, three stages of n residual blocks, the means of the maps, a fully connected layer: 6n + 2 layers.
#[derive(Clone)]
struct Network {
    first: Convolution,
    norm: BatchNorm,
    blocks: Vec<Block>,
    last: Dense,
}
module!(Network { first, norm, blocks, last });

/// Two convolutions with batch normalisation, added to what goes in.
#[derive(Clone)]
struct Block {
    first: Convolution,
    first_norm: BatchNorm,
    second: Convolution,
    second_norm: BatchNorm,
    stride: usize,
}
module!(Block { first, first_norm, second, second_norm });

impl Network {
    /// Stages have 1, 2 and 4 times the filters; the second and the third begin with stride 2.
    fn new(recipe: &Nesterov, weights: &mut Weights) -> Self {
        let kernel = recipe.kernel;
        let mut channels = recipe.filters;
        let first = Convolution::he([channels, recipe.channels, kernel, kernel], 1, weights);
        let norm = BatchNorm::new(channels, weights);
        let mut blocks = Vec::new();
        for (stage, block) in (0..3).flat_map(|stage| (0..recipe.blocks).map(move |block| (stage, block))) {
            let filters = recipe.filters << stage;
            let stride = if stage > 0 && block == 0 { 2 } else { 1 };
            blocks.push(Block::new([filters, channels, kernel, kernel], stride, weights));
            channels = filters;
        }
        let bound = (1.0 / channels as f64).sqrt();
        let weight = weights.uniform([channels, recipe.classes], bound);
        let last = Dense { weight, bias: weights.constant(recipe.classes, 0.0) };
        Self { first, norm, blocks, last }
    }
}

impl Block {
    fn new(shape: [usize; 4], stride: usize, weights: &mut Weights) -> Self {
        let [filters, _, kernel, _] = shape;
        Self {
            first: Convolution::he(shape, stride, weights),
            first_norm: BatchNorm::new(filters, weights),
            second: Convolution::he([filters, filters, kernel, kernel], 1, weights),
            second_norm: BatchNorm::new(filters, weights),
            stride,
        }
    }

    fn forward(&mut self, x: Tensor<4>, training: bool) -> Tensor<4> {
        let y = relu(self.first_norm.forward(self.first.forward(x.clone()), training));
        let y = self.second_norm.forward(self.second.forward(y), training);
        let filters = y.dims()[1];
        relu(sum_of(y, shortcut(x, self.stride, filters)))
    }
}

/// What goes around a block: every `stride`-th value, and maps of zeros where the block has more maps (He's option A).
fn shortcut(x: Tensor<4>, stride: usize, filters: usize) -> Tensor<4> {
    let x = if stride > 1 { crate::layers::pooling::max_pool(x, 1, stride) } else { x };
    let [images, channels, height, width] = x.dims();
    if channels == filters {
        return x;
    }
    let zeros = Tensor::zeros([images, filters - channels, height, width], &x.device());
    joined(vec![x, zeros])
}

impl ImageNetwork for Network {
    fn logits(&mut self, images: Tensor<4>, training: Option<&mut ChaCha8Rng>) -> Tensor<2> {
        let training = training.is_some();
        let x = relu(self.norm.forward(self.first.forward(images), training));
        let x = self.blocks.iter_mut().fold(x, |x, block| block.forward(x, training));
        self.last.forward(global_mean(x))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layers::parameter::Module;
    use crate::tensor::Device;

    #[test]
    fn stages_double_their_filters_and_halve_their_maps() {
        let recipe = Nesterov { blocks: 2, filters: 4, kernel: 3, channels: 3, classes: 5 };
        let device = Device::Processor;
        let mut network = recipe.network(&mut Weights::new(0, 0, &device));
        // convolutions 3→4, four of 4→4, 4→8, three of 8→8, 8→16, three of 16→16; a normalisation has 4 numbers a map
        let kernels = 3 * 4 + 4 * 16 + 32 + 3 * 64 + 128 + 3 * 256;
        let norms = 4 * (5 * 4 + 4 * 8 + 4 * 16);
        assert_eq!(network.num_params(), 9 * kernels + norms + 16 * 5 + 5);
        let images = Tensor::zeros([2, 3, 9, 7], &device);
        assert_eq!(network.logits(images.clone(), None).dims(), [2, 5]);
        assert_eq!(network.blocks.len(), 6);
        let halved = network.blocks[2].forward(Tensor::zeros([2, 4, 9, 7], &device), false);
        assert_eq!(halved.dims(), [2, 8, 5, 4]);
    }

    #[test]
    fn fifty_steps_agree_with_pytorch() {
        let classes = crate::torch::CLASSES;
        let recipe = Nesterov { blocks: 2, filters: 4, kernel: 3, channels: 3, classes };
        crate::torch::check_images("resnet-tiny", &recipe, 0.001, 1.0);
    }
}

//! `resnet-tiny` and `resnet-tiny-3`: residual networks of 6n + 2 layers with few filters, as in the paper's TinyImageNet experiments.
//!
//! The paper says that a block has three convolutions, that there are 2 to 18 blocks, and 14 to 110 layers. The last two fit He et al.'s
//! networks, three stages of n blocks of two convolutions: `resnet-tiny`. All three fit 2n blocks of three convolutions: `resnet-tiny-3`.
//!
//! Source: K. He, X. Zhang, S. Ren, J. Sun, *Deep residual learning for image recognition* (2016), §4.2.

use crate::cost::NetworkCost;
use crate::error::Error;
use crate::image_lessons::ImageNetwork;
use crate::layers::batch_norm::BatchNorm;
use crate::layers::convolution::ConvolutionLayer;
use crate::layers::dense::DenseLayer;
use crate::layers::parameter::module;
use crate::layers::pooling::global_mean;
use crate::layers::weights::WeightInitializer;
use crate::optimizer::{Optimizer, UpdateRule};
use crate::plan::{TrainOutcome, TrainSpec};
use crate::schedule::even_falls;
use crate::space::{EpochCallback, NetworkSize, SearchedSpace, SmallSizes, Space, TrainingPlan, telling};
use crate::tensor::Tensor;
use crate::tensor::elementwise::{join_maps, relu, sum_of};
use crate::training::{TrainingRecipe, run};
use rand_chacha::ChaCha8Rng;

/// The largest n.
const MAX_BLOCKS: usize = 18;
/// The smallest side of an image: its size is halved twice.
const MIN_SIDE: usize = 4;
/// The number of falls of the rate: after each quarter of the plan, as in the paper's released curves.
const RATE_FALL_COUNT: usize = 3;

/// Three stages.
const STAGE_COUNT: usize = 3;

/// A space of residual networks.
pub(crate) struct ResnetTinySpace {
    name: &'static str,
    about: &'static str,
    /// Convolutions of a block: 2 or 3.
    convolutions: usize,
}

/// Blocks of two convolutions.
pub(crate) static RESNET_TINY_SPACE: ResnetTinySpace =
    ResnetTinySpace { name: "resnet-tiny", about: "residual networks of 6n + 2 layers", convolutions: 2 };

/// Blocks of three convolutions.
pub(crate) static RESNET_TINY_3_SPACE: ResnetTinySpace = ResnetTinySpace {
    name: "resnet-tiny-3",
    about: "residual networks of 6n + 2 layers in blocks of three",
    convolutions: 3,
};

impl Space for ResnetTinySpace {
    fn name(&self) -> &'static str {
        self.name
    }

    fn short_description(&self) -> &'static str {
        self.about
    }

    fn plan(&self) -> TrainingPlan {
        let size = NetworkSize { width: 0.5, max_layers: Some(20) };
        let small = SmallSizes { size, batch_size: 16 };
        TrainingPlan { smallest: MIN_SIDE, ..TrainingPlan::images(140, 100, small) }
    }

    /// `blocks` is n, a sixth of the convolutions in blocks; `filters` are those of the first stage.
    fn search_space(&self, size: &NetworkSize) -> SearchedSpace {
        let most = size.max_layers.map_or(MAX_BLOCKS, |layers| layers.saturating_sub(2) / 6);
        let most = most.clamp(1, MAX_BLOCKS);
        let filters = size.scale(2)..=size.scale(22);
        SearchedSpace::Parameters(vec![
            format!("blocks=int:{}:{most}", 2.min(most)),
            format!("filters=int:{}:{}", filters.start(), filters.end()),
            "kernel=choice:3,5,7".to_owned(),
        ])
    }

    fn train(&self, spec: &TrainSpec, report: &mut EpochCallback<'_>) -> Result<TrainOutcome, Error> {
        let shape = ResnetTinyRecipe {
            blocks: spec.count("blocks", 1..=MAX_BLOCKS)?,
            filters: spec.count("filters", 1..=10_000)?,
            kernel: spec.count("kernel", 1..=99)?,
            convolutions: self.convolutions,
            channels: 0,
            classes: 0,
        };
        let data = spec.images()?;
        self.plan().check_side(&spec.space, &spec.data, data.train.shape)?;
        let recipe =
            ResnetTinyRecipe { channels: data.train.shape.channels, classes: data.train.classes, ..shape };
        let cost = recipe.cost(data.train.shape.height, data.train.shape.width);
        run(spec, &recipe, &data, &mut telling(cost, report))
    }
}

/// Gradient descent with Nesterov momentum 0.9, L2 of 10⁻⁴, starting rate 0.1, a tenth of it after each quarter of the plan.
struct ResnetTinyRecipe {
    blocks: usize,
    filters: usize,
    kernel: usize,
    /// Convolutions of a block.
    convolutions: usize,
    channels: usize,
    classes: usize,
}

impl ResnetTinyRecipe {
    /// Filters, maps that go in, and stride of the first convolution of each block.
    fn blocks(&self) -> impl Iterator<Item = [usize; 3]> {
        let count = 2 * STAGE_COUNT * self.blocks / self.convolutions;
        (0..count).map(move |block| {
            let [own, before] =
                [block, block.saturating_sub(1)].map(|block| self.filters << (STAGE_COUNT * block / count));
            [own, before, if own > before { 2 } else { 1 }]
        })
    }

    /// Filters of the last block, which is of the second stage where there are two blocks.
    fn last(&self) -> usize {
        self.blocks().last().map_or(self.filters, |[filters, ..]| filters)
    }

    /// On images of `rows` × `columns`.
    fn cost(&self, mut rows: usize, mut columns: usize) -> NetworkCost {
        let (filters, window) = (self.filters, self.kernel * self.kernel);
        let mut cost = NetworkCost::default().with(&[filters, self.channels, window], rows * columns);
        for [filters, maps, stride] in self.blocks() {
            (rows, columns) = (rows.div_ceil(stride), columns.div_ceil(stride));
            for index in 0..self.convolutions {
                let maps = if index == 0 { maps } else { filters };
                cost = cost.with(&[filters, maps, window], rows * columns);
            }
        }
        cost.with(&[self.last(), self.classes], 1)
    }
}

impl TrainingRecipe for ResnetTinyRecipe {
    type Network = ResnetTinyNetwork;

    fn network(&self, weights: &mut WeightInitializer) -> ResnetTinyNetwork {
        ResnetTinyNetwork::new(self, weights)
    }

    fn optimizer(&self) -> Optimizer {
        Optimizer::new(UpdateRule::Nesterov { momentum: 0.9 }).with_penalty(1e-4)
    }

    fn starts(&self) -> Vec<f64> {
        vec![0.1]
    }

    fn schedule(&self, epoch: usize, epochs: usize) -> f64 {
        even_falls(RATE_FALL_COUNT, epoch, epochs)
    }
}

/// A convolution, three stages of residual blocks, the means of the maps, a fully connected layer: 6n + 2 layers.
#[derive(Clone)]
struct ResnetTinyNetwork {
    first: ConvolutionLayer,
    norm: BatchNorm,
    blocks: Vec<ResidualBlock>,
    last: DenseLayer,
}
module!(ResnetTinyNetwork { first, norm, blocks, last });

/// Convolutions with batch normalization, added to what goes in.
#[derive(Clone)]
struct ResidualBlock {
    convolutions: Vec<ConvolutionLayer>,
    norms: Vec<BatchNorm>,
    stride: usize,
}
module!(ResidualBlock { convolutions, norms });

impl ResnetTinyNetwork {
    /// Stages are a third of the convolutions each and have 1, 2 and 4 times the filters; the second and the third begin with stride 2.
    fn new(recipe: &ResnetTinyRecipe, weights: &mut WeightInitializer) -> Self {
        let kernel = recipe.kernel;
        let filters = recipe.filters;
        let first = ConvolutionLayer::with_he_weights([filters, recipe.channels, kernel, kernel], 1, weights);
        let norm = BatchNorm::new(filters, weights);
        let blocks = recipe.blocks().map(|[filters, maps, stride]| {
            ResidualBlock::new([filters, maps, kernel, kernel], recipe.convolutions, stride, weights)
        });
        let blocks = blocks.collect();
        let channels = recipe.last();
        let bound = (1.0 / channels as f64).sqrt();
        let weight = weights.uniform([channels, recipe.classes], bound);
        let last = DenseLayer { weight, bias: weights.constant(recipe.classes, 0.0) };
        Self { first, norm, blocks, last }
    }
}

impl ResidualBlock {
    /// `shape` is that of the first convolution's weights.
    fn new(shape: [usize; 4], convolutions: usize, stride: usize, weights: &mut WeightInitializer) -> Self {
        let [filters, _, kernel, _] = shape;
        let mut block = Self { convolutions: Vec::new(), norms: Vec::new(), stride };
        for index in 0..convolutions {
            let (shape, stride) =
                if index == 0 { (shape, stride) } else { ([filters, filters, kernel, kernel], 1) };
            block.convolutions.push(ConvolutionLayer::with_he_weights(shape, stride, weights));
            block.norms.push(BatchNorm::new(filters, weights));
        }
        block
    }

    fn forward(&mut self, x: Tensor<4>, training: bool) -> Tensor<4> {
        let mut y = x.clone();
        for (index, (layer, norm)) in self.convolutions.iter().zip(&mut self.norms).enumerate() {
            let input = if index == 0 { y } else { relu(y) };
            y = norm.forward(layer.forward(input), training);
        }
        let filters = y.dims()[1];
        relu(sum_of(y, apply_shortcut(x, self.stride, filters)))
    }
}

/// The shortcut around a block: every `stride`-th value, and maps of zeros where the block has more maps (He's option A).
fn apply_shortcut(x: Tensor<4>, stride: usize, filters: usize) -> Tensor<4> {
    let x = if stride > 1 { crate::layers::pooling::max_pool(x, 1, stride) } else { x };
    let [images, channels, height, width] = x.dims();
    if channels == filters {
        return x;
    }
    let zeros = Tensor::zeros([images, filters - channels, height, width]);
    join_maps(vec![x, zeros])
}

impl ImageNetwork for ResnetTinyNetwork {
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

    #[test]
    fn stages_double_their_filters_and_halve_their_maps() {
        let recipe =
            ResnetTinyRecipe { blocks: 2, filters: 4, kernel: 3, convolutions: 2, channels: 3, classes: 5 };
        let mut network = recipe.network(&mut WeightInitializer::new(0, 0));
        // convolutions 3→4, four of 4→4, 4→8, three of 8→8, 8→16, three of 16→16; a normalization has 4 numbers a map
        let kernels = 3 * 4 + 4 * 16 + 32 + 3 * 64 + 128 + 3 * 256;
        let norms = 4 * (5 * 4 + 4 * 8 + 4 * 16);
        assert_eq!(network.parameter_value_count(), 9 * kernels + norms + 16 * 5 + 5);
        let cost = recipe.cost(9, 7);
        assert_eq!(cost.weights as usize, 9 * kernels + 16 * 5);
        // maps of 9 × 7, 5 × 4 and 3 × 2
        let places = (3 * 4 + 4 * 16) * 63 + (32 + 3 * 64) * 20 + (128 + 3 * 256) * 6;
        assert_eq!(cost.multiply_adds, 9 * places + 80);
        let images = Tensor::zeros([2, 3, 9, 7]);
        assert_eq!(network.logits(images.clone(), None).dims(), [2, 5]);
        assert_eq!(network.blocks.len(), 6);
        let halved = network.blocks[2].forward(Tensor::zeros([2, 4, 9, 7]), false);
        assert_eq!(halved.dims(), [2, 8, 5, 4]);
    }

    #[test]
    fn blocks_of_three_convolutions_make_as_many_layers_in_two_thirds_of_the_blocks() {
        for n in [2, 5, 18] {
            let build = |convolutions| {
                let recipe = ResnetTinyRecipe {
                    blocks: n,
                    filters: 2,
                    kernel: 3,
                    convolutions,
                    channels: 3,
                    classes: 5,
                };
                let network = recipe.network(&mut WeightInitializer::new(0, 0));
                let layers: usize = network.blocks.iter().map(|block| block.convolutions.len()).sum();
                let strided = network.blocks.iter().filter(|block| block.stride == 2).count();
                (layers + 2, network.blocks.len(), strided)
            };
            assert_eq!(build(2), (6 * n + 2, 3 * n, 2));
            assert_eq!(build(3), (6 * n + 2, 2 * n, 2));
        }
        let recipe =
            ResnetTinyRecipe { blocks: 2, filters: 4, kernel: 3, convolutions: 3, channels: 3, classes: 5 };
        let mut network = recipe.network(&mut WeightInitializer::new(0, 0));
        // a normalization after the first convolution, three in each of the blocks of 4, 4, 8 and 16 maps; it has 4 numbers a map
        let maps = 4 + 3 * (4 + 4 + 8 + 16);
        assert_eq!(recipe.cost(9, 7).weights as usize, network.parameter_value_count() - 4 * maps - 5);
        assert_eq!(network.logits(Tensor::zeros([2, 3, 9, 7]), None).dims(), [2, 5]);
    }

    #[test]
    fn fifty_steps_agree_with_pytorch() {
        use crate::torch::{CLASSES, Images, check_images};
        for space in [&RESNET_TINY_SPACE, &RESNET_TINY_3_SPACE] {
            let convolutions = space.convolutions;
            let recipe = ResnetTinyRecipe {
                blocks: 2,
                filters: 4,
                kernel: 3,
                convolutions,
                channels: 3,
                classes: CLASSES,
            };
            check_images(space.name, &recipe, 0.001, Images::default());
        }
    }
}

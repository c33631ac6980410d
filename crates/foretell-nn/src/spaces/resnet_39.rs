//! `resnet-39`: networks of 39 layers in twelve blocks with random links, as in the paper's CIFAR-10 experiments.
//!
//! The paper leaves open how the links between blocks are drawn and merged. Here each block is linked with each block that is not just
//! before it with a probability of ½, and the maps of all of them are appended to those of the block before (as in B. Zoph, Q. Le,
//! *Neural architecture search with reinforcement learning*, 2017).

use crate::cost::NetworkCost;
use crate::error::Error;
use crate::image_lessons::ImageNetwork;
use crate::layers::batch_norm::BatchNorm;
use crate::layers::convolution::ConvolutionLayer;
use crate::layers::dense::DenseLayer;
use crate::layers::parameter::module;
use crate::layers::pooling::max_pool;
use crate::layers::weights::WeightInitializer;
use crate::optimizer::{Optimizer, UpdateRule};
use crate::plan::{TrainOutcome, TrainSpec};
use crate::space::{EpochCallback, NetworkSize, SearchedSpace, SmallSizes, Space, TrainingPlan, telling};
use crate::tensor::Tensor;
use crate::tensor::elementwise::{join_maps, relu, sum_of};
use crate::training::{TrainingRecipe, run};
use rand_chacha::ChaCha8Rng;

/// The names of a parameter of the twelve blocks.
macro_rules! names {
    ($name:literal) => {
        [
            concat!($name, "1"),
            concat!($name, "2"),
            concat!($name, "3"),
            concat!($name, "4"),
            concat!($name, "5"),
            concat!($name, "6"),
            concat!($name, "7"),
            concat!($name, "8"),
            concat!($name, "9"),
            concat!($name, "10"),
            concat!($name, "11"),
            concat!($name, "12"),
        ]
    };
}
const BLOCK_COUNT: usize = 12;
const CONVOLUTIONS_PER_BLOCK: usize = 3;
/// The blocks after which maps are halved: 12 convolutions, 9, 15.
const HALVED_AFTER: [usize; 2] = [4, 7];
/// The smallest side of an image: its size is halved twice.
const MIN_SIDE: usize = 4;

const HEIGHT_NAMES: [&str; BLOCK_COUNT] = names!("height");
const WIDTH_NAMES: [&str; BLOCK_COUNT] = names!("width");
const FILTER_NAMES: [&str; BLOCK_COUNT] = names!("filters");
const LINK_NAMES: [&str; BLOCK_COUNT] = names!("links");

/// The space.
pub(crate) struct Resnet39Space;

impl Space for Resnet39Space {
    fn name(&self) -> &'static str {
        "resnet-39"
    }

    fn short_description(&self) -> &'static str {
        "networks of 39 layers with random links"
    }

    fn plan(&self) -> TrainingPlan {
        let size = NetworkSize { width: 0.25, max_layers: None };
        let small = SmallSizes { size, batch_size: 16 };
        TrainingPlan { smallest: MIN_SIDE, ..TrainingPlan::images(50, 100, small) }
    }

    /// `height`, `width` are those of the kernels of a block, `filters` its filters, `links` the blocks that it is linked with: the sum of
    /// 2ⁱ⁻¹ over their numbers i. A number drawn evenly has each link with a probability of ½.
    fn search_space(&self, size: &NetworkSize) -> SearchedSpace {
        let mut texts = Vec::new();
        for block in 0..BLOCK_COUNT {
            let sides = [HEIGHT_NAMES[block], WIDTH_NAMES[block]];
            texts.extend(sides.map(|name| format!("{name}=choice:1,3,5,7")));
            texts.push(size.choice(FILTER_NAMES[block], [6, 12, 24, 36].into_iter()));
            if block >= 2 {
                texts.push(format!("{}=int:0:{}", LINK_NAMES[block], max_links(block)));
            }
        }
        SearchedSpace::Parameters(texts)
    }

    fn train(&self, spec: &TrainSpec, report: &mut EpochCallback<'_>) -> Result<TrainOutcome, Error> {
        let mut blocks = Vec::with_capacity(BLOCK_COUNT);
        for block in 0..BLOCK_COUNT {
            blocks.push(BlockShape {
                height: spec.count(HEIGHT_NAMES[block], 1..=99)?,
                width: spec.count(WIDTH_NAMES[block], 1..=99)?,
                filters: spec.count(FILTER_NAMES[block], 1..=10_000)?,
                links: if block >= 2 { spec.count(LINK_NAMES[block], 0..=max_links(block))? } else { 0 },
            });
        }
        let data = spec.images()?;
        self.plan().check_side(&spec.space, &spec.data, data.train.shape)?;
        let shape = data.train.shape;
        let pixels = (shape.height / 2 / 2) * (shape.width / 2 / 2);
        let (channels, classes) = (shape.channels, data.train.classes);
        let recipe = Resnet39Recipe { blocks, channels, pixels, classes };
        run(spec, &recipe, &data, &mut telling(recipe.cost(shape.height, shape.width), report))
    }
}

/// All links of block `block` (from 0): one with each block but the one before it.
fn max_links(block: usize) -> usize {
    (1 << (block - 1)) - 1
}

/// The blocks (from 0) of `links`.
fn linked_blocks(links: usize) -> impl Iterator<Item = usize> {
    (0..BLOCK_COUNT).filter(move |block| links >> block & 1 == 1)
}

/// The searched part of a block.
#[derive(Clone, Copy, Debug)]
struct BlockShape {
    height: usize,
    width: usize,
    filters: usize,
    /// The blocks that it is linked with, a bit each.
    links: usize,
}

/// RMSProp (α = 0.99, ε = 10⁻⁸, no momentum) with L2 of 10⁻⁴ and a rate of 10⁻³, which falls to 10⁻⁵ after three fifths of the
/// plan: at epoch 30 of the paper's 50.
struct Resnet39Recipe {
    blocks: Vec<BlockShape>,
    channels: usize,
    /// Values of a map at the end.
    pixels: usize,
    classes: usize,
}

impl Resnet39Recipe {
    /// The maps that block `index` gets, those of the block that it is linked with included.
    fn maps_into(&self, index: usize) -> usize {
        let before = index.checked_sub(1).map_or(self.channels, |before| self.blocks[before].filters);
        let linked: usize =
            linked_blocks(self.blocks[index].links).map(|block| self.blocks[block].filters).sum();
        before + linked
    }

    /// On images of `rows` × `columns`.
    fn cost(&self, mut rows: usize, mut columns: usize) -> NetworkCost {
        let mut cost = NetworkCost::default();
        for (index, &BlockShape { height, width, filters, .. }) in self.blocks.iter().enumerate() {
            if HALVED_AFTER.contains(&index) {
                (rows, columns) = (rows / 2, columns / 2);
            }
            for maps in [self.maps_into(index), filters, filters] {
                cost = cost.with(&[filters, maps, height, width], rows * columns);
            }
        }
        let last = self.blocks.last().map_or(self.channels, |block| block.filters);
        cost.with(&[last, rows, columns, self.classes], 1)
    }
}

impl TrainingRecipe for Resnet39Recipe {
    type Network = Resnet39Network;

    fn network(&self, weights: &mut WeightInitializer) -> Resnet39Network {
        Resnet39Network::new(self, weights)
    }

    fn optimizer(&self) -> Optimizer {
        Optimizer::new(UpdateRule::RmsProp { alpha: 0.99 }).with_penalty(1e-4)
    }

    fn starts(&self) -> Vec<f64> {
        vec![1e-3]
    }

    fn schedule(&self, epoch: usize, epochs: usize) -> f64 {
        if 5 * (epoch - 1) >= 3 * epochs { 0.01 } else { 1.0 }
    }
}

/// Twelve blocks, halved maps after the fourth and the seventh, and a fully connected layer.
#[derive(Clone)]
struct Resnet39Network {
    blocks: Vec<LinkedBlock>,
    last: DenseLayer,
}
module!(Resnet39Network { blocks, last });

/// Three convolutions, each with batch normalization and ReLU; each sees the sum of all before it in the block.
#[derive(Clone)]
struct LinkedBlock {
    convolutions: Vec<ConvolutionLayer>,
    norms: Vec<BatchNorm>,
    links: usize,
}
module!(LinkedBlock { convolutions, norms });

impl Resnet39Network {
    fn new(recipe: &Resnet39Recipe, weights: &mut WeightInitializer) -> Self {
        let mut blocks = Vec::with_capacity(BLOCK_COUNT);
        let mut before = recipe.channels;
        for (index, shape) in recipe.blocks.iter().enumerate() {
            blocks.push(LinkedBlock::new(*shape, recipe.maps_into(index), weights));
            before = shape.filters;
        }
        let inputs = before * recipe.pixels;
        let weight = weights.uniform([inputs, recipe.classes], (1.0 / inputs as f64).sqrt());
        Self { blocks, last: DenseLayer { weight, bias: weights.constant(recipe.classes, 0.0) } }
    }
}

impl LinkedBlock {
    fn new(shape: BlockShape, channels: usize, weights: &mut WeightInitializer) -> Self {
        let BlockShape { height, width, filters, links } = shape;
        let sizes = [channels, filters, filters];
        let convolution =
            |channels| ConvolutionLayer::with_he_weights([filters, channels, height, width], 1, weights);
        let convolutions = sizes.map(convolution).into();
        let norms = (0..CONVOLUTIONS_PER_BLOCK).map(|_| BatchNorm::new(filters, weights)).collect();
        Self { convolutions, norms, links }
    }

    fn forward(&mut self, x: Tensor<4>, training: bool) -> Tensor<4> {
        let mut layers = self.convolutions.iter().zip(&mut self.norms);
        let mut next = |x| layers.next().map(|(layer, norm)| relu(norm.forward(layer.forward(x), training)));
        let mut sum = next(x).expect("a block has three convolutions");
        while let Some(y) = next(sum.clone()) {
            sum = sum_of(sum, y);
        }
        sum
    }
}

impl ImageNetwork for Resnet39Network {
    fn logits(&mut self, images: Tensor<4>, training: Option<&mut ChaCha8Rng>) -> Tensor<2> {
        let training = training.is_some();
        // the outputs of the blocks so far, halved whenever the maps are
        let mut outputs: Vec<Tensor<4>> = Vec::with_capacity(BLOCK_COUNT);
        for (index, block) in self.blocks.iter_mut().enumerate() {
            if HALVED_AFTER.contains(&index) {
                outputs = outputs.into_iter().map(|maps| max_pool(maps, 2, 2)).collect();
            }
            let mut inputs = vec![outputs.last().unwrap_or(&images).clone()];
            inputs.extend(linked_blocks(block.links).map(|block| outputs[block].clone()));
            outputs.push(block.forward(join_maps(inputs), training));
        }
        let last = outputs.pop().expect("there are twelve blocks");
        self.last.forward(last.flatten())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layers::parameter::Module;

    #[test]
    fn linked_maps_are_appended_and_two_poolings_leave_a_sixteenth_of_the_pixels() {
        let mut blocks = vec![BlockShape { height: 1, width: 3, filters: 6, links: 0 }; BLOCK_COUNT];
        blocks[1].filters = 12;
        // with the second block and the fourth
        blocks[8] = BlockShape { height: 5, width: 1, filters: 24, links: 0b1010 };
        let recipe = Resnet39Recipe { blocks, channels: 3, pixels: 6, classes: 10 };
        let mut network = recipe.network(&mut WeightInitializer::new(0, 0));
        let weight = network.blocks[8].convolutions[0].weight.dims();
        assert_eq!(weight, [24, 6 + 12 + 6, 5, 1]);
        let cost = recipe.cost(9, 13);
        // a normalization has 4 numbers a map
        let maps: usize = recipe.blocks.iter().map(|block| CONVOLUTIONS_PER_BLOCK * block.filters).sum();
        assert_eq!(cost.weights as usize, network.parameter_value_count() - 4 * maps - 10);
        // blocks 1 to 4 on 9 × 13, 5 to 7 on 4 × 6, 8 to 12 on 2 × 3; the first, the second, the third and the ninth get other maps than
        // they make, the tenth too
        let sums = [
            3 * 6 * (3 + 6 + 6) + 3 * 12 * (6 + 12 + 12) + 3 * 6 * (12 + 6 + 6) + 3 * 6 * 18,
            3 * 3 * 6 * 18,
            3 * 6 * 18 + 5 * 24 * (24 + 24 + 24) + 3 * 6 * (24 + 6 + 6) + 2 * 3 * 6 * 18,
        ];
        let places = sums[0] * 9 * 13 + sums[1] * 4 * 6 + sums[2] * 2 * 3;
        assert_eq!(cost.multiply_adds, places as u64 + 6 * 6 * 10);
        let convolutions: usize = network.blocks.iter().map(|block| block.convolutions.len()).sum();
        assert_eq!(convolutions, 36);
        assert_eq!(network.logits(Tensor::zeros([2, 3, 9, 13]), None).dims(), [2, 10]);
    }

    #[test]
    fn fifty_steps_agree_with_pytorch() {
        let mut blocks = vec![BlockShape { height: 3, width: 1, filters: 6, links: 0 }; BLOCK_COUNT];
        // with the second block, and with the seventh
        (blocks[4].links, blocks[11].links) = (1 << 1, 1 << 6);
        let recipe = Resnet39Recipe { blocks, channels: 3, pixels: 16, classes: crate::torch::CLASSES };
        crate::torch::check_images("resnet-39", &recipe, 1e-5, crate::torch::Images::default());
    }
}

//! `alexnet`: learning rate and step size of AlexNet, as in the paper's ImageNet experiments, on images of any size from 64 pixels on.
//!
//! Source: A. Krizhevsky, I. Sutskever, G. Hinton, *ImageNet classification with deep convolutional neural networks* (2012), by Caffe's
//! `bvlc_alexnet`; ranges of the paper's appendix.
//!
//! The available layers make three differences: convolutions see all maps (the original halves them between two GPUs), the response
//! normalization is within channels, and images are not cropped at random.

use crate::cost::NetworkCost;
use crate::error::Error;
use crate::image_lessons::ImageNetwork;
use crate::layers::convolution::ConvolutionLayer;
use crate::layers::dense::DenseLayer;
use crate::layers::dropout::DropoutLayer;
use crate::layers::parameter::module;
use crate::layers::pooling::{max_pool_ceiling, pooled_side};
use crate::layers::response_norm::response_norm;
use crate::layers::weights::WeightInitializer;
use crate::optimizer::Optimizer;
use crate::plan::{TrainOutcome, TrainSpec};
use crate::schedule::even_falls;
use crate::space::{EpochCallback, NetworkSize, SearchedSpace, SmallSizes, Space, TrainingPlan, telling};
use crate::spaces::descent::{bias, descent};
use crate::tensor::Tensor;
use crate::tensor::elementwise::relu;
use crate::training::{TrainingRecipe, run};
use foretell::ImageShape;
use rand_chacha::ChaCha8Rng;

/// The smallest side of an image: of 64 pixels the first convolution leaves 16 and three poolings 8, 4 and 2.
const MIN_SIDE: usize = 64;
/// Scale and power of the response normalization.
const RESPONSE_NORM: (f64, f64) = (1e-4, 0.75);
/// L2 penalty of all weights.
const L2_PENALTY: f64 = 5e-4;

/// The space.
pub(crate) struct AlexnetSpace;

impl Space for AlexnetSpace {
    fn name(&self) -> &'static str {
        "alexnet"
    }

    fn short_description(&self) -> &'static str {
        "learning rate and step size of AlexNet"
    }

    /// 90 epochs: the 450,000 steps of 256 images of Caffe's plan.
    fn plan(&self) -> TrainingPlan {
        let small = SmallSizes { size: NetworkSize { width: 0.125, max_layers: None }, batch_size: 16 };
        TrainingPlan {
            drawn: "shapes:64",
            smallest: MIN_SIDE,
            free_rate: false,
            ..TrainingPlan::images(90, 256, small)
        }
    }

    /// The rate falls to a tenth after each step; `learning_rate_reductions` falls make steps of plan/(reductions + 1) epochs.
    fn search_space(&self, _size: &NetworkSize) -> SearchedSpace {
        let texts = ["learning_rate=log:5e-5:5", "learning_rate_reductions=int:0:3"];
        SearchedSpace::Parameters(texts.map(str::to_owned).into())
    }

    fn train(&self, spec: &TrainSpec, report: &mut EpochCallback<'_>) -> Result<TrainOutcome, Error> {
        let learning_rate = spec.number("learning_rate", f64::MIN_POSITIVE..=f64::MAX)?;
        let reductions = spec.count("learning_rate_reductions", 0..=1000)?;
        let data = spec.images()?.subtract_mean_image(true);
        self.plan().check_side(&spec.space, &spec.data, data.train.shape)?;
        let (input, classes) = (data.train.shape, data.train.classes);
        let recipe = AlexnetRecipe { learning_rate, reductions, width: spec.width, input, classes };
        run(spec, &recipe, &data, &mut telling(recipe.cost(), report))
    }
}

/// [`descent`] with the same penalty for all weights; the rate falls to a tenth in even steps, which depend on the whole plan.
struct AlexnetRecipe {
    learning_rate: f64,
    reductions: usize,
    width: f64,
    input: ImageShape,
    classes: usize,
}

impl AlexnetRecipe {
    /// The filters of the convolutions, then the units.
    fn sizes(&self) -> [usize; 6] {
        let size = NetworkSize { width: self.width, max_layers: None };
        [96, 256, 384, 384, 256, 4096].map(|maps| size.scale(maps))
    }

    fn cost(&self) -> NetworkCost {
        let [f1, f2, f3, f4, f5, units] = self.sizes();
        let ImageShape { channels, height, width } = self.input;
        let first = [height, width].map(|size| size.div_ceil(4));
        let [second, third, last] = [1, 2, 3].map(|poolings| first.map(|size| pooled_side(size, poolings)));
        let layers = [
            ([f1, channels, 11, 11], first),
            ([f2, f1, 5, 5], second),
            ([f3, f2, 3, 3], third),
            ([f4, f3, 3, 3], third),
            ([f5, f4, 3, 3], third),
            ([units, f5, last[0], last[1]], [1, 1]),
            ([units, units, 1, 1], [1, 1]),
            ([self.classes, units, 1, 1], [1, 1]),
        ];
        layers
            .into_iter()
            .fold(NetworkCost::default(), |cost, (shape, [rows, columns])| cost.with(&shape, rows * columns))
    }
}

impl TrainingRecipe for AlexnetRecipe {
    type Network = AlexnetNetwork;

    fn network(&self, weights: &mut WeightInitializer) -> AlexnetNetwork {
        AlexnetNetwork::new(self, weights)
    }

    fn optimizer(&self) -> Optimizer {
        descent()
    }

    fn starts(&self) -> Vec<f64> {
        vec![self.learning_rate]
    }

    fn schedule(&self, epoch: usize, epochs: usize) -> f64 {
        even_falls(self.reductions, epoch, epochs)
    }
}

/// Five convolutions, three of them with pooling, the first two with response normalization; two fully connected layers with dropout,
/// and the last one.
#[derive(Clone)]
struct AlexnetNetwork {
    conv1: ConvolutionLayer,
    conv2: ConvolutionLayer,
    conv3: ConvolutionLayer,
    conv4: ConvolutionLayer,
    conv5: ConvolutionLayer,
    fc6: DenseLayer,
    fc7: DenseLayer,
    fc8: DenseLayer,
    dropout: DropoutLayer,
}
module!(AlexnetNetwork { conv1, conv2, conv3, conv4, conv5, fc6, fc7, fc8 });

impl AlexnetNetwork {
    /// 96, 256, 384, 384 and 256 filters and 4096 units, times the width. Weights start in N(0, 0.01²), those of the first two fully
    /// connected layers in N(0, 0.005²), biases at 0 or 0.1. Where a layer sees fewer maps because of the width, its weights start
    /// wider by 1/√width, so that its values are as large as at the paper's width.
    fn new(recipe: &AlexnetRecipe, weights: &mut WeightInitializer) -> Self {
        let [f1, f2, f3, f4, f5, units] = recipe.sizes();
        let wider = 1.0 / recipe.width.sqrt();
        let mut convolution = |shape: [usize; 4], sd: f64, start: f32, stride| {
            let weight = weights.normal(shape, sd).with_penalty(L2_PENALTY);
            ConvolutionLayer::new(weight, Some(bias(shape[0], start, weights)), stride)
        };
        let conv1 = convolution([f1, recipe.input.channels, 11, 11], 0.01, 0.0, 4);
        let conv2 = convolution([f2, f1, 5, 5], 0.01 * wider, 0.1, 1);
        let conv3 = convolution([f3, f2, 3, 3], 0.01 * wider, 0.0, 1);
        let conv4 = convolution([f4, f3, 3, 3], 0.01 * wider, 0.1, 1);
        let conv5 = convolution([f5, f4, 3, 3], 0.01 * wider, 0.1, 1);
        let [rows, columns] =
            [recipe.input.height, recipe.input.width].map(|size| pooled_side(size.div_ceil(4), 3));
        let inputs = f5 * rows * columns;
        let mut dense = |inputs, outputs, sd: f64, start| {
            let weight = weights.normal([inputs, outputs], sd * wider).with_penalty(L2_PENALTY);
            DenseLayer { weight, bias: bias(outputs, start, weights) }
        };
        let (fc6, fc7) = (dense(inputs, units, 0.005, 0.1), dense(units, units, 0.005, 0.1));
        let fc8 = dense(units, recipe.classes, 0.01, 0.0);
        Self { conv1, conv2, conv3, conv4, conv5, fc6, fc7, fc8, dropout: DropoutLayer::new(0.5) }
    }
}

impl ImageNetwork for AlexnetNetwork {
    fn logits(&mut self, images: Tensor<4>, mut training: Option<&mut ChaCha8Rng>) -> Tensor<2> {
        let (scale, power) = RESPONSE_NORM;
        let x = response_norm(relu(self.conv1.forward(images)), scale, power);
        let x = max_pool_ceiling(x, 3, 2);
        let x = response_norm(relu(self.conv2.forward(x)), scale, power);
        let x = max_pool_ceiling(x, 3, 2);
        let x = relu(self.conv3.forward(x));
        let x = relu(self.conv4.forward(x));
        let x = max_pool_ceiling(relu(self.conv5.forward(x)), 3, 2);
        let x = self.dropout.forward(relu(self.fc6.forward(x.flatten())), training.as_deref_mut());
        let x = self.dropout.forward(relu(self.fc7.forward(x)), training);
        self.fc8.forward(x)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layers::parameter::Module;

    #[test]
    fn at_the_paper_s_width_a_network_has_alexnet_s_parameters_without_its_halves() {
        let recipe = |width, side| {
            let input = ImageShape { channels: 3, height: side, width: side };
            AlexnetRecipe { learning_rate: 0.01, reductions: 2, width, input, classes: 1000 }
        };
        let build = |width, side| recipe(width, side).network(&mut WeightInitializer::new(0, 0));
        // weights of the convolutions, then biases; 64 pixels leave 2 × 2 maps
        let kernels = 96 * 363 + 256 * 96 * 25 + 384 * 256 * 9 + 384 * 384 * 9 + 256 * 384 * 9;
        let matrices = 1024 * 4096 + 4096 * 4096 + 4096 * 1000;
        let biases = 96 + 256 + 384 + 384 + 256 + 4096 + 4096 + 1000;
        assert_eq!(build(1.0, 64).parameter_value_count(), kernels + matrices + biases);
        let cost = recipe(1.0, 64).cost();
        assert_eq!(cost.weights as usize, kernels + matrices);
        // convolutions on 16 × 16, 8 × 8 and three times 4 × 4
        let thirds = kernels - 96 * 363 - 256 * 96 * 25;
        let places = 96 * 363 * 256 + 256 * 96 * 25 * 64 + thirds * 16 + matrices;
        assert_eq!(cost.multiply_adds as usize, places);
        let mut small = build(0.05, 75);
        let images = Tensor::zeros([2, 3, 75, 75]);
        assert_eq!(small.logits(images, None).dims(), [2, 1000]);
    }

    #[test]
    fn fifty_steps_agree_with_pytorch() {
        use crate::torch::{CLASSES, Images, check_images};
        let input = ImageShape { channels: 3, height: MIN_SIDE, width: MIN_SIDE };
        let recipe =
            AlexnetRecipe { learning_rate: 0.001, reductions: 0, width: 0.0625, input, classes: CLASSES };
        check_images(
            "alexnet",
            &recipe,
            0.001,
            Images { side: MIN_SIDE, is_training: false, ..Images::default() },
        );
    }
}

//! `cuda-convnet`: eight hyperparameters of the "18 %" network, as in the paper's Hyperband experiments.
//!
//! Source: A. Krizhevsky, cuda-convnet, `layers-18pct`; ranges of L. Li et al., *Hyperband* (2018), and its published code.

use crate::cost::NetworkCost;
use crate::data_spec::DataSpec;
use crate::error::Error;
use crate::image_lessons::ImageNetwork;
use crate::layers::convolution::ConvolutionLayer;
use crate::layers::dense::DenseLayer;
use crate::layers::parameter::module;
use crate::layers::pooling::{max_pool_ceiling, mean_pool_ceiling, pooled_side};
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

/// The smallest side of an image: of 12 pixels three poolings leave 6, 3 and 1.
const MIN_SIDE: usize = 12;

/// The space.
pub(crate) struct CudaConvnetSpace;

impl Space for CudaConvnetSpace {
    fn name(&self) -> &'static str {
        "cuda-convnet"
    }

    fn short_description(&self) -> &'static str {
        "hyperparameters of the cuda-convnet 18 % network"
    }

    fn plan(&self) -> TrainingPlan {
        let size = NetworkSize { width: 0.25, max_layers: None };
        let small = SmallSizes { size, batch_size: 16 };
        TrainingPlan { smallest: MIN_SIDE, free_rate: false, ..TrainingPlan::images(60, 100, small) }
    }

    /// 12 epochs on SVHN, which has twelve times the images of CIFAR-10.
    fn plan_on(&self, data: &DataSpec) -> TrainingPlan {
        let plan = self.plan();
        let epochs = if matches!(data, DataSpec::Svhn { .. }) { 12 } else { plan.epochs };
        TrainingPlan { epochs, ..plan }
    }

    /// The paper's ranges. The released Hyperband code draws the last penalty from 5e-3 to 500 instead; λ = 1 of the original
    /// network is in both.
    fn search_space(&self, _size: &NetworkSize) -> SearchedSpace {
        let texts = [
            "learning_rate=log:5e-5:5",
            "learning_rate_reductions=int:0:3",
            "conv1_l2=log:5e-5:5",
            "conv2_l2=log:5e-5:5",
            "conv3_l2=log:5e-5:5",
            "fc_l2=log:5e-5:5",
            "lrn_scale=log:5e-6:5",
            "lrn_power=float:0.01:3",
        ];
        SearchedSpace::Parameters(texts.map(str::to_owned).into())
    }

    fn train(&self, spec: &TrainSpec, report: &mut EpochCallback<'_>) -> Result<TrainOutcome, Error> {
        let any = 0.0..=f64::MAX;
        let momentum = CudaConvnetRecipe {
            learning_rate: spec.number("learning_rate", f64::MIN_POSITIVE..=f64::MAX)?,
            reductions: spec.count("learning_rate_reductions", 0..=1000)?,
            penalties: [
                spec.number("conv1_l2", any.clone())?,
                spec.number("conv2_l2", any.clone())?,
                spec.number("conv3_l2", any.clone())?,
                spec.number("fc_l2", any.clone())?,
            ],
            norm: (spec.number("lrn_scale", any.clone())?, spec.number("lrn_power", any)?),
            width: NetworkSize { width: spec.width, max_layers: None },
            input: ImageShape { channels: 0, height: 0, width: 0 },
            classes: 0,
        };
        let data = spec.images()?.subtract_mean_image(false);
        self.plan().check_side(&spec.space, &spec.data, data.train.shape)?;
        let momentum = CudaConvnetRecipe { input: data.train.shape, classes: data.train.classes, ..momentum };
        run(spec, &momentum, &data, &mut telling(momentum.cost(), report))
    }
}

/// [`descent`], each layer with its own L2 penalty; the rate falls to a tenth in even steps, which depend on the whole plan R.
struct CudaConvnetRecipe {
    learning_rate: f64,
    reductions: usize,
    penalties: [f64; 4],
    norm: (f64, f64),
    width: NetworkSize,
    input: ImageShape,
    classes: usize,
}

impl CudaConvnetRecipe {
    fn filters(&self) -> [usize; 2] {
        [32, 64].map(|filters| self.width.scale(filters))
    }

    fn cost(&self) -> NetworkCost {
        let ([narrow, wide], ImageShape { channels, height, width }) = (self.filters(), self.input);
        let convolutions = [[narrow, channels], [narrow, narrow], [wide, narrow]];
        let (mut cost, mut height, mut width) = (NetworkCost::default(), height, width);
        for [filters, channels] in convolutions {
            cost = cost.with(&[filters, channels, 5, 5], height * width);
            (height, width) = (pooled_side(height, 1), pooled_side(width, 1));
        }
        cost.with(&[wide, height, width, self.classes], 1)
    }
}

impl TrainingRecipe for CudaConvnetRecipe {
    type Network = CudaConvnetNetwork;

    fn network(&self, weights: &mut WeightInitializer) -> CudaConvnetNetwork {
        CudaConvnetNetwork::new(self, weights)
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

/// Three convolutions of 5 × 5 with pooling, the first two with response normalization, and a fully connected layer.
#[derive(Clone)]
struct CudaConvnetNetwork {
    conv1: ConvolutionLayer,
    conv2: ConvolutionLayer,
    conv3: ConvolutionLayer,
    fc: DenseLayer,
    scale: f64,
    power: f64,
}
module!(CudaConvnetNetwork { conv1, conv2, conv3, fc });

impl CudaConvnetNetwork {
    /// 32, 32 and 64 filters times the width; weights of N(0, 10⁻⁸) in the first layer, N(0, 10⁻⁴) in the others, biases 0.
    fn new(recipe: &CudaConvnetRecipe, weights: &mut WeightInitializer) -> Self {
        let [narrow, wide] = recipe.filters();
        let [penalty1, penalty2, penalty3, penalty] = recipe.penalties;
        let mut convolution = |filters, channels, sd, penalty| {
            let weight = weights.normal([filters, channels, 5, 5], sd).with_penalty(penalty);
            ConvolutionLayer::new(weight, Some(bias(filters, 0.0, weights)), 1)
        };
        let conv1 = convolution(narrow, recipe.input.channels, 1e-4, penalty1);
        let conv2 = convolution(narrow, narrow, 0.01, penalty2);
        let conv3 = convolution(wide, narrow, 0.01, penalty3);
        let inputs = wide * pooled_side(recipe.input.height, 3) * pooled_side(recipe.input.width, 3);
        let weight = weights.normal([inputs, recipe.classes], 0.01).with_penalty(penalty);
        let fc = DenseLayer { weight, bias: bias(recipe.classes, 0.0, weights) };
        Self { conv1, conv2, conv3, fc, scale: recipe.norm.0, power: recipe.norm.1 }
    }
}

impl ImageNetwork for CudaConvnetNetwork {
    fn logits(&mut self, images: Tensor<4>, _training: Option<&mut ChaCha8Rng>) -> Tensor<2> {
        let x = relu(max_pool_ceiling(self.conv1.forward(images), 3, 2));
        let x = response_norm(x, self.scale, self.power);
        let x = mean_pool_ceiling(relu(self.conv2.forward(x)), 3, 2);
        let x = response_norm(x, self.scale, self.power);
        let x = mean_pool_ceiling(relu(self.conv3.forward(x)), 3, 2);
        self.fc.forward(x.flatten())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layers::parameter::Module;

    #[test]
    fn the_network_of_the_paper_has_89578_parameters() {
        let recipe = CudaConvnetRecipe {
            learning_rate: 0.001,
            reductions: 0,
            penalties: [0.004, 0.004, 0.004, 1.0],
            norm: (5e-5, 0.75),
            width: NetworkSize { width: 1.0, max_layers: None },
            input: ImageShape { channels: 3, height: 32, width: 32 },
            classes: 10,
        };
        let mut network = recipe.network(&mut WeightInitializer::new(0, 0));
        assert_eq!(network.parameter_value_count(), 89_578);
        // biases: 32 + 32 + 64 + 10
        let cost = recipe.cost();
        assert_eq!(cost.weights, 89_578 - 138);
        // images of 32 × 32, pooled to 16 × 16 and 8 × 8
        assert_eq!(cost.multiply_adds, 2_400 * 1_024 + 25_600 * 256 + 51_200 * 64 + 10_240);
        let images = Tensor::zeros([2, 3, 32, 32]);
        assert_eq!(network.logits(images, None).dims(), [2, 10]);
    }

    #[test]
    fn fifty_steps_agree_with_pytorch() {
        use crate::torch::{CLASSES, Images, SIDE, check_images};
        let recipe = CudaConvnetRecipe {
            learning_rate: 0.001,
            reductions: 0,
            penalties: [0.004, 0.02, 0.003, 1.0],
            norm: (0.05, 0.75),
            width: NetworkSize { width: 0.25, max_layers: None },
            input: ImageShape { channels: 3, height: SIDE, width: SIDE },
            classes: CLASSES,
        };
        check_images("cuda-convnet", &recipe, 0.001, Images { scale: 10.0, ..Images::default() });
    }
}

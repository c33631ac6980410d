//! `metaqnn`: convolutional networks as layer sequences, trained as MetaQNN trained them.
//!
//! Source: B. Baker, O. Gupta, N. Naik, R. Raskar, *Designing neural network architectures using reinforcement learning*
//! (2017), and its published code.

use crate::data_spec::DataSpec;
use crate::error::Error;
use crate::image_lessons::ImageNetwork;
use crate::layers::convolution::ConvolutionLayer;
use crate::layers::dense::DenseLayer;
use crate::layers::dropout::DropoutLayer;
use crate::layers::parameter::{Module, Parameter, module};
use crate::layers::pooling::{global_mean, max_pool};
use crate::layers::weights::WeightInitializer;
use crate::optimizer::{Optimizer, UpdateRule};
use crate::plan::{TrainOutcome, TrainSpec};
use crate::schedule::{MAX_ATTEMPTS, attempt_rate, learning_rate};
use crate::space::{EpochCallback, NetworkSize, SearchedSpace, SmallSizes, Space, TrainingPlan, telling};
use crate::tensor::Tensor;
use crate::tensor::elementwise::relu;
use crate::training::{TrainingRecipe, run};
use foretell::{ImageShape, LayerSequence, NETWORK_KEY};
use rand_chacha::ChaCha8Rng;

/// The space.
pub(crate) struct MetaqnnSpace;

impl Space for MetaqnnSpace {
    fn name(&self) -> &'static str {
        "metaqnn"
    }

    fn short_description(&self) -> &'static str {
        "MetaQNN networks"
    }

    fn plan(&self) -> TrainingPlan {
        let size = NetworkSize { width: 0.125, max_layers: Some(8) };
        let small = SmallSizes { size, batch_size: 16 };
        TrainingPlan::images(20, 128, small)
    }

    /// Digits have shallower networks: at most 12 layers on SVHN and MNIST.
    fn plan_on(&self, data: &DataSpec) -> TrainingPlan {
        let max_layers = matches!(data, DataSpec::Svhn { .. } | DataSpec::Mnist { .. }).then_some(12);
        TrainingPlan { max_layers, ..self.plan() }
    }

    fn search_space(&self, _size: &NetworkSize) -> SearchedSpace {
        SearchedSpace::Layers
    }

    fn train(&self, spec: &TrainSpec, report: &mut EpochCallback<'_>) -> Result<TrainOutcome, Error> {
        let net = spec.configuration.get(NETWORK_KEY).and_then(|value| value.as_text());
        let net = net.ok_or_else(|| spec.parameter_error(NETWORK_KEY, "a network in layer notation"))?;
        let layers =
            net.parse().map_err(|error| spec.parameter_error(NETWORK_KEY, &format!("a network: {error}")))?;
        let data = spec.images()?;
        check_classes(&layers, &spec.data.to_string(), data.train.classes)?;
        let cost = layers.network_counts(data.train.shape)?.into();
        let recipe = MetaqnnRecipe { layers, input: data.train.shape };
        run(spec, &recipe, &data, &mut telling(cost, report))
    }
}

fn check_classes(layers: &LayerSequence, data: &str, expected: usize) -> Result<(), Error> {
    for layer in &layers.0 {
        match *layer {
            foretell::Layer::Softmax { classes } | foretell::Layer::GlobalAveragePooling { classes }
                if classes != expected =>
            {
                let (layer, data) = (layer.to_string(), data.to_owned());
                return Err(Error::Classes { layer, found: classes, data, expected });
            }
            _ => {}
        }
    }
    Ok(())
}

/// Adam with β₁ = 0.9, β₂ = 0.999, ε = 10⁻⁸ and 5·10⁻⁴ times the weights added to the gradient (L2); the rate falls to a fifth
/// at each quarter of the plan. Weights start in Caffe's Xavier range, U(−√(3/fan-in), √(3/fan-in)), biases at 0.
struct MetaqnnRecipe {
    layers: LayerSequence,
    input: ImageShape,
}

impl TrainingRecipe for MetaqnnRecipe {
    type Network = MetaqnnNetwork;

    fn network(&self, weights: &mut WeightInitializer) -> MetaqnnNetwork {
        MetaqnnNetwork::new(&self.layers, self.input, weights)
    }

    fn optimizer(&self) -> Optimizer {
        Optimizer::new(UpdateRule::Adam).with_penalty(5e-4)
    }

    fn starts(&self) -> Vec<f64> {
        (0..MAX_ATTEMPTS).map(attempt_rate).collect()
    }

    fn schedule(&self, epoch: usize, epochs: usize) -> f64 {
        learning_rate(1.0, epoch, epochs)
    }
}

/// A network: its layers, first to last.
#[derive(Clone)]
struct MetaqnnNetwork {
    layers: Vec<NetworkLayer>,
}
module!(MetaqnnNetwork { layers });

#[derive(Clone)]
enum NetworkLayer {
    /// With ReLU.
    Convolution(ConvolutionLayer),
    Pooling(MaxPooling),
    Dropout(DropoutLayer),
    /// With ReLU.
    Dense(DenseLayer),
    /// The layer before the softmax.
    Last(DenseLayer),
    /// A convolution with ReLU to a map a class, then the mean of each map.
    Average(ConvolutionLayer),
}

impl Module for NetworkLayer {
    fn visit(&mut self, visit: &mut dyn FnMut(&mut Parameter)) {
        match self {
            Self::Convolution(layer) | Self::Average(layer) => layer.visit(visit),
            Self::Dense(layer) | Self::Last(layer) => layer.visit(visit),
            Self::Pooling(_) | Self::Dropout(_) => {}
        }
    }
}

/// Max-pooling without padding.
#[derive(Clone)]
struct MaxPooling {
    kernel: usize,
    stride: usize,
}

/// The signal between layers: a batch of images or of vectors.
enum LayerSignal {
    /// Shape (images, channels, height, width).
    Image(Tensor<4>),
    /// Shape (images, values).
    Vector(Tensor<2>),
}

impl MetaqnnNetwork {
    /// Builds `sequence`, which fits images of shape `input`.
    fn new(sequence: &LayerSequence, input: ImageShape, weights: &mut WeightInitializer) -> Self {
        let mut builder = LayerBuilder { shape: input, averaged: false, weights };
        Self { layers: sequence.0.iter().filter_map(|layer| builder.layer(layer)).collect() }
    }
}

impl ImageNetwork for MetaqnnNetwork {
    fn logits(&mut self, images: Tensor<4>, mut training: Option<&mut ChaCha8Rng>) -> Tensor<2> {
        let signal = self.layers.iter().fold(LayerSignal::Image(images), |signal, layer| match layer {
            NetworkLayer::Convolution(layer) => LayerSignal::Image(relu(layer.forward(signal.image()))),
            NetworkLayer::Pooling(layer) => {
                LayerSignal::Image(max_pool(signal.image(), layer.kernel, layer.stride))
            }
            NetworkLayer::Dropout(layer) => match signal {
                LayerSignal::Image(image) => {
                    LayerSignal::Image(layer.forward(image, training.as_deref_mut()))
                }
                LayerSignal::Vector(vector) => {
                    LayerSignal::Vector(layer.forward(vector, training.as_deref_mut()))
                }
            },
            NetworkLayer::Dense(layer) => LayerSignal::Vector(relu(layer.forward(signal.vector()))),
            NetworkLayer::Last(layer) => LayerSignal::Vector(layer.forward(signal.vector())),
            NetworkLayer::Average(layer) => {
                LayerSignal::Vector(global_mean(relu(layer.forward(signal.image()))))
            }
        });
        signal.vector()
    }
}

/// Builds layer after layer and tracks the shape of the input of each.
struct LayerBuilder<'a> {
    shape: ImageShape,
    averaged: bool,
    weights: &'a mut WeightInitializer,
}

impl LayerBuilder<'_> {
    /// The next layer; none for the softmax that ends a network with global average pooling.
    fn layer(&mut self, layer: &foretell::Layer) -> Option<NetworkLayer> {
        Some(match *layer {
            foretell::Layer::Convolution { filters, kernel, stride } => {
                NetworkLayer::Convolution(self.convolution(filters, kernel, stride))
            }
            foretell::Layer::Pooling { kernel, stride } => {
                self.shape.height = (self.shape.height - kernel) / stride + 1;
                self.shape.width = (self.shape.width - kernel) / stride + 1;
                NetworkLayer::Pooling(MaxPooling { kernel, stride })
            }
            foretell::Layer::Dropout { index, of } => {
                NetworkLayer::Dropout(DropoutLayer::new(0.5 * index as f64 / of as f64))
            }
            foretell::Layer::FullyConnected { units } => NetworkLayer::Dense(self.dense(units)),
            foretell::Layer::GlobalAveragePooling { classes } => {
                self.averaged = true;
                NetworkLayer::Average(self.convolution(classes, 1, 1))
            }
            foretell::Layer::Softmax { classes } if !self.averaged => NetworkLayer::Last(self.dense(classes)),
            // the average pooling before has made a value for each class, so the softmax adds no layer
            foretell::Layer::Softmax { .. } => return None,
        })
    }

    fn convolution(&mut self, filters: usize, kernel: usize, stride: usize) -> ConvolutionLayer {
        let channels = self.shape.channels;
        let weight = self
            .weights
            .uniform([filters, channels, kernel, kernel], xavier_bound(channels * kernel * kernel));
        let (height, width) = (self.shape.height.div_ceil(stride), self.shape.width.div_ceil(stride));
        self.shape = ImageShape { channels: filters, height, width };
        ConvolutionLayer::new(weight, Some(self.weights.constant(filters, 0.0)), stride)
    }

    fn dense(&mut self, units: usize) -> DenseLayer {
        let inputs = self.shape.channels * self.shape.height * self.shape.width;
        let weight = self.weights.uniform([inputs, units], xavier_bound(inputs));
        self.shape = ImageShape { channels: units, height: 1, width: 1 };
        DenseLayer { weight, bias: self.weights.constant(units, 0.0) }
    }
}

/// The bound of Caffe's Xavier weights, √(3/fan-in): variance 1/fan-in.
fn xavier_bound(fan_in: usize) -> f64 {
    (3.0 / fan_in as f64).sqrt()
}

impl LayerSignal {
    fn image(self) -> Tensor<4> {
        match self {
            Self::Image(image) => image,
            Self::Vector(vector) => {
                let [images, values] = vector.dims();
                vector.reshape([images, values, 1, 1])
            }
        }
    }

    fn vector(self) -> Tensor<2> {
        match self {
            Self::Image(image) => image.flatten(),
            Self::Vector(vector) => vector,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foretell::Layer as Kind;
    use proptest::prelude::*;

    const SHAPE: ImageShape = ImageShape { channels: 3, height: 9, width: 11 };

    fn build(sequence: &LayerSequence) -> MetaqnnNetwork {
        MetaqnnNetwork::new(sequence, SHAPE, &mut WeightInitializer::new(1, 0))
    }

    fn images(count: usize) -> Tensor<4> {
        let values: Vec<f32> = (0..count * 3 * 9 * 11).map(|i| (i as f32 * 0.7).sin()).collect();
        Tensor::constant(values, [count, 3, 9, 11])
    }

    fn image_layer() -> impl Strategy<Value = Kind> {
        prop_oneof![
            (1_usize..6, 1_usize..6, 1_usize..3).prop_map(|(filters, kernel, stride)| Kind::Convolution {
                filters,
                kernel,
                stride
            }),
            (1_usize..4, 1_usize..3).prop_map(|(kernel, stride)| Kind::Pooling { kernel, stride }),
            (1_usize..4).prop_map(|index| Kind::Dropout { index, of: 3 }),
        ]
    }

    fn sequence() -> impl Strategy<Value = LayerSequence> {
        let ending = prop_oneof![
            Just(vec![Kind::GlobalAveragePooling { classes: 4 }]),
            prop::collection::vec((1_usize..9).prop_map(|units| Kind::FullyConnected { units }), 0..3),
        ];
        (prop::collection::vec(image_layer(), 0..6), ending).prop_map(|(mut layers, ending)| {
            layers.extend(ending);
            layers.push(Kind::Softmax { classes: 4 });
            LayerSequence(layers)
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn a_network_has_the_parameters_and_the_output_that_its_sequence_promises(sequence in sequence()) {
            if let Ok(counts) = sequence.network_counts(SHAPE) {
                let mut network = build(&sequence);
                prop_assert_eq!(network.parameter_value_count() as u64, counts.parameters);
                prop_assert_eq!(network.logits(images(2), None).dims(), [2, 4]);
            }
        }
    }

    #[test]
    fn starting_weights_fill_the_xavier_range_and_differ_by_attempt() {
        let sequence = "[C(64,3,1), GAP(10), SM(10)]".parse().unwrap();
        let weights = |attempt| {
            let network = MetaqnnNetwork::new(&sequence, SHAPE, &mut WeightInitializer::new(1, attempt));
            let NetworkLayer::Convolution(first) = &network.layers[0] else {
                panic!("a convolution comes first")
            };
            first.weight.val().into_values()
        };
        let bound = (3.0_f32 / 27.0).sqrt();
        let largest = weights(0).iter().fold(0.0_f32, |m, w| m.max(w.abs()));
        assert!(largest < bound && largest > 0.98 * bound);
        let mean = weights(0).iter().sum::<f32>() / 1728.0;
        assert!(mean.abs() < 3.0 * bound / (3.0_f32 * 1728.0).sqrt(), "mean {mean}");
        assert_ne!(weights(0), weights(1));
    }

    #[test]
    fn convolution_agrees_with_the_sum_written_out() {
        let network = build(&"[C(2,3,2), SM(4)]".parse().unwrap());
        let NetworkLayer::Convolution(layer) = &network.layers[0] else {
            panic!("a convolution comes first")
        };
        let output = layer.forward(images(1));
        assert_eq!(output.dims(), [1, 2, 5, 6]);
        let output = output.into_values();
        let weight = layer.weight.val().into_values();
        let image = images(1).into_values();
        // rows: (5 − 1)·2 + 3 − 9 = 2 lines of padding, one before; columns: (6 − 1)·2 + 3 − 11 = 2, one before
        for (at, value) in output.iter().enumerate() {
            let (filter, row, column) = (at / 30, at / 6 % 5, at % 6);
            let mut sum = 0.0;
            for k in 0..27 {
                let (channel, y, x) = (k / 9, 2 * row + k / 3 % 3, 2 * column + k % 3);
                if (1..=9).contains(&y) && (1..=11).contains(&x) {
                    sum += weight[filter * 27 + k] * image[channel * 99 + (y - 1) * 11 + x - 1];
                }
            }
            assert!((value - sum).abs() < 1e-5, "at {at}: {value} instead of {sum}");
        }
    }

    /// Σ of the logits weighted by 1, 2, … and its gradient with respect to the first parameter.
    fn weighted_logits(network: &MetaqnnNetwork) -> (f64, Vec<f32>) {
        let logits = network.clone().logits(images(2), None);
        let weights: Vec<f32> = (1..=logits.values().len()).map(|i| i as f32).collect();
        let sum = logits.values().iter().zip(&weights).map(|(logit, weight)| f64::from(logit * weight)).sum();
        let NetworkLayer::Convolution(first) = &network.layers[0] else {
            panic!("a convolution comes first")
        };
        let source = first.weight.values.clone().source();
        (sum, logits.backward(weights).take(&source).unwrap())
    }

    fn shift_parameter(network: &MetaqnnNetwork, at: usize, by: f32) -> MetaqnnNetwork {
        let mut network = network.clone();
        let NetworkLayer::Convolution(first) = &mut network.layers[0] else {
            panic!("a convolution comes first")
        };
        let mut values = first.weight.val().into_values();
        values[at] += by;
        first.weight.set_value_list(values);
        network
    }

    #[test]
    fn gradients_through_every_kind_of_layer_agree_with_finite_differences() {
        for text in [
            "[C(2,3,1), P(2,2), SM(4)]",
            "[C(2,5,1), P(3,2), FC(5), SM(4)]",
            "[C(2,3,2), C(3,2,1), SM(4)]",
            "[C(2,2,1), C(3,4,2), P(3,1), GAP(4), SM(4)]",
        ] {
            let network = build(&text.parse().unwrap());
            let (_, gradient) = weighted_logits(&network);
            let size = gradient.iter().fold(0.0_f32, |m, g| m.max(g.abs()));
            for at in [0, 5, gradient.len() - 1] {
                let step = 2e-3;
                let rise = weighted_logits(&shift_parameter(&network, at, step)).0
                    - weighted_logits(&shift_parameter(&network, at, -step)).0;
                let slope = rise as f32 / (2.0 * step);
                // 32-bit sums, and a kink (ReLU, maximum) may lie within the step
                assert!(
                    (slope - gradient[at]).abs() < 0.03 * size,
                    "{text} at {at}: {slope}, not {}",
                    gradient[at]
                );
            }
        }
    }

    #[test]
    fn fifty_steps_agree_with_pytorch() {
        use crate::torch::{Images, SIDE, check_images};
        let layers = "[C(6,3,1), P(2,2), C(8,5,1), P(3,2), FC(12), SM(10)]".parse().unwrap();
        let recipe = MetaqnnRecipe { layers, input: ImageShape { channels: 3, height: SIDE, width: SIDE } };
        check_images("metaqnn", &recipe, 0.001, Images::default());
    }
}

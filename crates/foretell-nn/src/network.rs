//! Convolutional networks built at run time from a layer sequence.

use crate::error::Error;
use crate::stream::{Purpose, stream};
use burn::module::{Module, Param, ParamId};
use burn::tensor::module::{conv2d, linear, max_pool2d};
use burn::tensor::ops::{ConvOptions, MaxPoolOptions};
use burn::tensor::{Device, Tensor, TensorData, activation::relu};
use foretell::{ImageShape, LayerSequence};
use rand::{Rng, RngExt};
use rand_chacha::ChaCha8Rng;

/// A network: its layers, first to last.
#[derive(Module, Debug)]
pub(crate) struct Network {
    layers: Vec<Layer>,
}

#[derive(Module, Debug)]
enum Layer {
    Convolution(Convolution),
    Pooling(Pooling),
    Dropout(Dropout),
    Dense(Dense),
    Average(Convolution),
}

/// Convolution with SAME padding, then ReLU.
#[derive(Module, Debug)]
struct Convolution {
    /// Shape (filters, channels, kernel, kernel).
    weight: Param<Tensor<4>>,
    /// Shape (filters).
    bias: Param<Tensor<1>>,
    stride: usize,
}

/// Max-pooling without padding.
#[derive(Module, Debug)]
struct Pooling {
    kernel: usize,
    stride: usize,
}

/// Inverted dropout: in training a value is zero with probability `rate`, else divided by 1 − `rate`.
#[derive(Module, Debug)]
struct Dropout {
    rate: f64,
}

/// A fully connected layer, then ReLU except at the end.
#[derive(Module, Debug)]
struct Dense {
    /// Shape (inputs, outputs).
    weight: Param<Tensor<2>>,
    /// Shape (outputs).
    bias: Param<Tensor<1>>,
    last: bool,
}

/// What flows between layers: a batch of images or of vectors.
enum Signal {
    /// Shape (images, channels, height, width).
    Image(Tensor<4>),
    /// Shape (images, values).
    Vector(Tensor<2>),
}

impl Network {
    /// Builds `sequence` for images of shape `input` on `device`, with starting weights drawn from `seed` and `attempt`.
    ///
    /// Weights are Xavier uniform, U(−a, a) with a = √(6/(fan-in + fan-out)), fans counted with the kernel's area;
    /// biases start at 0.
    ///
    /// # Errors
    /// [`Error::Architecture`] if the sequence is no network for such images.
    pub(crate) fn new(
        sequence: &LayerSequence,
        input: ImageShape,
        seed: u64,
        attempt: u64,
        device: &Device,
    ) -> Result<Self, Error> {
        sequence.counts(input)?;
        let mut builder = Builder {
            shape: input,
            averaged: false,
            parameters: 0,
            rng: stream(seed, Purpose::Weights, attempt),
            device: device.clone(),
        };
        let layers = sequence.0.iter().filter_map(|layer| builder.layer(layer)).collect();
        Ok(Self { layers })
    }

    /// Logits, shape (images, classes), of `images`, shape (images, channels, height, width).
    ///
    /// Values drop out by the random numbers of `dropout`; none do if there are none (to judge, not to train).
    pub(crate) fn forward(&self, images: Tensor<4>, mut dropout: Option<&mut ChaCha8Rng>) -> Tensor<2> {
        let signal = self.layers.iter().fold(Signal::Image(images), |signal, layer| match layer {
            Layer::Convolution(layer) => Signal::Image(layer.forward(signal.image())),
            Layer::Pooling(layer) => Signal::Image(layer.forward(signal.image())),
            Layer::Dropout(layer) => layer.forward(signal, dropout.as_deref_mut()),
            Layer::Dense(layer) => Signal::Vector(layer.forward(signal.vector())),
            Layer::Average(layer) => {
                let maps: Tensor<3> = layer.forward(signal.image()).flatten(2, 3);
                Signal::Vector(maps.mean_dim(2).squeeze_dim(2))
            }
        });
        signal.vector()
    }
}

/// Builds layer after layer and tracks the shape of the input of each.
struct Builder {
    shape: ImageShape,
    averaged: bool,
    parameters: u64,
    rng: ChaCha8Rng,
    device: Device,
}

impl Builder {
    /// The next layer; none for the softmax that ends a network with global average pooling.
    fn layer(&mut self, layer: &foretell::Layer) -> Option<Layer> {
        Some(match *layer {
            foretell::Layer::Convolution { filters, kernel, stride } => {
                Layer::Convolution(self.convolution(filters, kernel, stride))
            }
            foretell::Layer::Pooling { kernel, stride } => {
                self.shape.height = (self.shape.height - kernel) / stride + 1;
                self.shape.width = (self.shape.width - kernel) / stride + 1;
                Layer::Pooling(Pooling { kernel, stride })
            }
            foretell::Layer::Dropout { index, of } => {
                Layer::Dropout(Dropout { rate: 0.5 * index as f64 / of as f64 })
            }
            foretell::Layer::FullyConnected { units } => Layer::Dense(self.dense(units, false)),
            foretell::Layer::GlobalAveragePooling { classes } => {
                self.averaged = true;
                Layer::Average(self.convolution(classes, 1, 1))
            }
            foretell::Layer::Softmax { classes } if !self.averaged => Layer::Dense(self.dense(classes, true)),
            foretell::Layer::Softmax { .. } => return None,
        })
    }

    fn convolution(&mut self, filters: usize, kernel: usize, stride: usize) -> Convolution {
        let channels = self.shape.channels;
        let fans = (channels + filters) * kernel * kernel;
        let weight = self.xavier([filters, channels, kernel, kernel], fans);
        let (height, width) = (self.shape.height.div_ceil(stride), self.shape.width.div_ceil(stride));
        self.shape = ImageShape { channels: filters, height, width };
        Convolution { weight, bias: self.zeros(filters), stride }
    }

    fn dense(&mut self, units: usize, last: bool) -> Dense {
        let inputs = self.shape.channels * self.shape.height * self.shape.width;
        let weight = self.xavier([inputs, units], inputs + units);
        self.shape = ImageShape { channels: units, height: 1, width: 1 };
        Dense { weight, bias: self.zeros(units), last }
    }

    fn xavier<const D: usize>(&mut self, shape: [usize; D], fans: usize) -> Param<Tensor<D>> {
        let bound = (6.0 / fans as f64).sqrt() as f32;
        let count = shape.iter().product();
        let values = (0..count).map(|_| self.rng.random_range(-bound..bound)).collect();
        self.parameter(values, shape)
    }

    fn zeros(&mut self, count: usize) -> Param<Tensor<1>> {
        self.parameter(vec![0.0; count], [count])
    }

    /// Parameters are numbered in the order of the layers, so that optimizer states find theirs in any process.
    fn parameter<const D: usize>(&mut self, values: Vec<f32>, shape: [usize; D]) -> Param<Tensor<D>> {
        self.parameters += 1;
        let tensor = Tensor::from_data(TensorData::new(values, shape), &self.device);
        Param::initialized(ParamId::from(self.parameters), tensor.require_grad())
    }
}

impl Signal {
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
            Self::Image(image) => image.flatten(1, 3),
            Self::Vector(vector) => vector,
        }
    }
}

/// Padding (before, after) that makes the output of a convolution ⌈size/stride⌉ large; the odd one comes after.
fn same_padding(size: usize, kernel: usize, stride: usize) -> (usize, usize) {
    let total = ((size.div_ceil(stride) - 1) * stride + kernel).saturating_sub(size);
    (total / 2, total - total / 2)
}

impl Convolution {
    fn forward(&self, images: Tensor<4>) -> Tensor<4> {
        let [_, _, height, width] = images.dims();
        let [_, _, kernel, _] = self.weight.dims();
        let padding = [height, width].map(|size| same_padding(size, kernel, self.stride));
        let options = ConvOptions::new_with_padding([self.stride; 2], padding, [1, 1], 1);
        relu(conv2d(images, self.weight.val(), Some(self.bias.val()), options))
    }
}

impl Pooling {
    fn forward(&self, images: Tensor<4>) -> Tensor<4> {
        let mut options = MaxPoolOptions::new([self.kernel; 2]);
        options.stride = [self.stride; 2];
        max_pool2d(images, options)
    }
}

impl Dropout {
    fn forward(&self, signal: Signal, rng: Option<&mut ChaCha8Rng>) -> Signal {
        let Some(rng) = rng else { return signal };
        match signal {
            Signal::Image(image) => Signal::Image(self.drop_out(image, rng)),
            Signal::Vector(vector) => Signal::Vector(self.drop_out(vector, rng)),
        }
    }

    fn drop_out<const D: usize>(&self, values: Tensor<D>, rng: &mut ChaCha8Rng) -> Tensor<D> {
        let shape = values.dims();
        let mut bytes = vec![0; 2 * shape.iter().product::<usize>()];
        rng.fill_bytes(&mut bytes);
        let dropped = (self.rate * 65_536.0) as u32;
        let kept = (1.0 / (1.0 - self.rate)) as f32;
        let factor = |pair: &[u8]| {
            let drawn = u32::from(u16::from_le_bytes([pair[0], pair[1]]));
            if drawn < dropped { 0.0 } else { kept }
        };
        let mask: Vec<f32> = bytes.chunks_exact(2).map(factor).collect();
        let mask = Tensor::from_data(TensorData::new(mask, shape), &values.device());
        values * mask
    }
}

impl Dense {
    fn forward(&self, vectors: Tensor<2>) -> Tensor<2> {
        let outputs = linear(vectors, self.weight.val(), Some(self.bias.val()));
        if self.last { outputs } else { relu(outputs) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foretell::Layer as Kind;
    use proptest::prelude::*;

    const SHAPE: ImageShape = ImageShape { channels: 3, height: 9, width: 11 };

    fn device() -> Device {
        Device::flex().autodiff()
    }

    fn build(sequence: &LayerSequence) -> Result<Network, Error> {
        Network::new(sequence, SHAPE, 1, 0, &device())
    }

    fn images(count: usize) -> Tensor<4> {
        let values: Vec<f32> = (0..count * 3 * 9 * 11).map(|i| (i as f32 * 0.7).sin()).collect();
        Tensor::from_data(TensorData::new(values, [count, 3, 9, 11]), &device())
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
            match (sequence.counts(SHAPE), build(&sequence)) {
                (Ok(counts), Ok(network)) => {
                    prop_assert_eq!(network.num_params() as u64, counts.parameters);
                    prop_assert_eq!(network.forward(images(2), None).dims(), [2, 4]);
                }
                (counts, network) => prop_assert!(counts.is_err() && network.is_err()),
            }
        }
    }

    #[test]
    fn starting_weights_fill_the_xavier_range_and_differ_by_attempt() {
        let sequence = "[C(64,3,1), GAP(10), SM(10)]".parse().unwrap();
        let weights = |attempt| {
            let network = Network::new(&sequence, SHAPE, 1, attempt, &device()).unwrap();
            let Layer::Convolution(first) = &network.layers[0] else { panic!("a convolution comes first") };
            first.weight.val().into_data().try_into_vec::<f32>().unwrap()
        };
        let bound = (6.0_f32 / (9.0 * 67.0)).sqrt();
        let largest = weights(0).iter().fold(0.0_f32, |m, w| m.max(w.abs()));
        assert!(largest < bound && largest > 0.98 * bound);
        let mean = weights(0).iter().sum::<f32>() / 1728.0;
        assert!(mean.abs() < 3.0 * bound / (3.0_f32 * 1728.0).sqrt(), "mean {mean}");
        assert_ne!(weights(0), weights(1));
    }

    #[test]
    fn dropout_drops_its_rate_keeps_the_mean_and_rests_when_judging() {
        let network = build(&"[D(2,2), SM(4)]".parse().unwrap()).unwrap();
        let Layer::Dropout(dropout) = &network.layers[0] else { panic!("dropout comes first") };
        let ones = Tensor::<2>::ones([100, 100], &device());
        let mut rng = stream(1, Purpose::Dropout, 0);
        let dropped: Vec<f32> = dropout.drop_out(ones, &mut rng).into_data().try_into_vec().unwrap();
        let zeros = dropped.iter().filter(|v| **v == 0.0).count();
        // rate 0.5 · 2/2; four standard deviations of a binomial count of 10 000
        assert!((zeros as f64 - 5000.0).abs() < 200.0, "{zeros}");
        assert!(dropped.iter().all(|v| *v == 0.0 || (*v - 2.0).abs() < 1e-6));
        let logits = |rng| network.forward(images(2), rng).into_data();
        assert_eq!(logits(None), logits(None));
        assert_ne!(logits(Some(&mut rng)), logits(None));
    }

    #[test]
    fn convolution_agrees_with_the_sum_written_out() {
        let network = build(&"[C(2,3,2), SM(4)]".parse().unwrap()).unwrap();
        let Layer::Convolution(layer) = &network.layers[0] else { panic!("a convolution comes first") };
        let output = layer.forward(images(1));
        assert_eq!(output.dims(), [1, 2, 5, 6]);
        let output: Vec<f32> = output.into_data().try_into_vec().unwrap();
        let weight: Vec<f32> = layer.weight.val().into_data().try_into_vec().unwrap();
        let image: Vec<f32> = images(1).into_data().try_into_vec().unwrap();
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
            assert!((value - sum.max(0.0)).abs() < 1e-5, "at {at}: {value} instead of {sum}");
        }
    }

    #[test]
    fn a_network_that_does_not_fit_its_images_is_refused() {
        assert!(build(&"[P(5,3), P(5,3), SM(4)]".parse().unwrap()).is_err());
    }

    /// Σ of the logits weighted by 1, 2, … and its gradient with respect to the first parameter.
    fn weighted_logits(network: &Network) -> (f64, Vec<f32>) {
        let logits = network.forward(images(2), None);
        let [rows, columns] = logits.dims();
        let weights: Vec<f32> = (1..=rows * columns).map(|i| i as f32).collect();
        let weights = Tensor::from_data(TensorData::new(weights, [rows, columns]), &device());
        let sum = (logits * weights).sum();
        let gradients = sum.backward();
        let Layer::Convolution(first) = &network.layers[0] else { panic!("a convolution comes first") };
        let gradient = first.weight.val().grad(&gradients).unwrap().into_data().try_into_vec().unwrap();
        (f64::from(sum.into_scalar::<f32>()), gradient)
    }

    fn nudged(network: &Network, at: usize, by: f32) -> Network {
        let mut network = network.clone();
        let Layer::Convolution(first) = &mut network.layers[0] else { panic!("a convolution comes first") };
        let shape = first.weight.dims();
        let mut values: Vec<f32> = first.weight.val().into_data().try_into_vec().unwrap();
        values[at] += by;
        let tensor = Tensor::from_data(TensorData::new(values, shape), &device()).require_grad();
        first.weight = Param::initialized(first.weight.id, tensor);
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
            let network = build(&text.parse().unwrap()).unwrap();
            let (_, gradient) = weighted_logits(&network);
            let size = gradient.iter().fold(0.0_f32, |m, g| m.max(g.abs()));
            for at in [0, 5, gradient.len() - 1] {
                let step = 2e-3;
                let rise = weighted_logits(&nudged(&network, at, step)).0
                    - weighted_logits(&nudged(&network, at, -step)).0;
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
}

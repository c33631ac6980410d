//! `lstm` and `lstm-400`: language models of layers of long short-term memory, as in the paper's Penn Treebank experiments.
//!
//! The paper names neither the learning rate nor the clipping. `lstm` uses those of PyTorch's example of a language model, after
//! W. Zaremba, I. Sutskever, O. Vinyals, *Recurrent neural network regularization* (2014). `lstm-400` follows the paper's description
//! (a dictionary of 400 words) and its released curves (2 to 5 layers, a base rate of 0.1, which falls every 15,000 steps).

use crate::cost::NetworkCost;
use crate::error::Error;
use crate::layers::dense::DenseLayer;
use crate::layers::dropout::DropoutLayer;
use crate::layers::embedding::{TokenBatch, embedding};
use crate::layers::lstm::{LstmLayer, LstmState};
use crate::layers::parameter::{Param, module};
use crate::layers::weights::WeightInitializer;
use crate::optimizer::{Optimizer, UpdateRule};
use crate::plan::{TrainOutcome, TrainSpec};
use crate::space::{EpochCallback, NetworkSize, SearchedSpace, SmallSizes, Space, TrainingPlan, telling};
use crate::tensor::Tensor;
use crate::text_lessons::{TextNetwork, UNROLLED_STEPS};
use crate::training::{TrainingRecipe, run};
use rand_chacha::ChaCha8Rng;

/// A space of language models.
pub(crate) struct LstmSpace {
    name: &'static str,
    about: &'static str,
    /// The fewest and the most layers.
    layers: [usize; 2],
    vocabulary: Option<usize>,
    rate: f64,
    /// The factor on the rate in an epoch (from 1) of a plan.
    schedule: fn(usize, usize) -> f64,
}

/// A rate of 20, a tenth of it after two thirds of the plan.
pub(crate) static LSTM_SPACE: LstmSpace = LstmSpace {
    name: "lstm",
    about: "LSTM language models",
    layers: [1, 2],
    vocabulary: None,
    rate: 20.0,
    schedule: |epoch, epochs| if 3 * (epoch - 1) >= 2 * epochs { 0.1 } else { 1.0 },
};

/// As the paper and its released curves say. The base rate of 0.1 is read as that of a loss summed over the steps that gradients go
/// back, as Zaremba et al. sum it: of the mean loss, which is used here, it is 0.1 · 35.
pub(crate) static LSTM_400_SPACE: LstmSpace = LstmSpace {
    name: "lstm-400",
    about: "LSTM language models of 400 words",
    layers: [2, 5],
    vocabulary: Some(400),
    rate: 0.1 * UNROLLED_STEPS as f64,
    schedule: falls_by_steps,
};

/// Steps of the released plan between two falls of the rate to a tenth.
const STEPS_PER_RATE: usize = 15_000;
/// Steps of the released plan: 60 epochs of the Penn Treebank's 929,589 words in 50 parts.
const PLANNED_STEPS: usize = 60 * (929_589_usize / 50).div_ceil(UNROLLED_STEPS);

/// Other plans keep the proportion of the released one.
fn falls_by_steps(epoch: usize, epochs: usize) -> f64 {
    0.1_f64.powi(((epoch - 1) * PLANNED_STEPS / (epochs * STEPS_PER_RATE)) as i32)
}

impl Space for LstmSpace {
    fn name(&self) -> &'static str {
        self.name
    }

    fn short_description(&self) -> &'static str {
        self.about
    }

    fn plan(&self) -> TrainingPlan {
        let size = NetworkSize { width: 0.1, max_layers: None };
        let small = SmallSizes { size, batch_size: 20 };
        TrainingPlan { vocabulary: self.vocabulary, ..TrainingPlan::text(60, 50, small) }
    }

    /// `cells` are those of a layer, `inputs` the length of a word's vector.
    fn search_space(&self, size: &NetworkSize) -> SearchedSpace {
        let sizes = (10..1400).step_by(20);
        let [fewest, most] = self.layers;
        let most = most.min(size.max_layers.unwrap_or(most)).max(1);
        SearchedSpace::Parameters(vec![
            format!("layers=int:{}:{most}", fewest.min(most)),
            size.choice("cells", sizes.clone()),
            size.choice("inputs", sizes),
        ])
    }

    fn train(&self, spec: &TrainSpec, report: &mut EpochCallback<'_>) -> Result<TrainOutcome, Error> {
        let layers = spec.count("layers", 1..=100)?;
        let cells = spec.count("cells", 1..=100_000)?;
        let inputs = spec.count("inputs", 1..=100_000)?;
        let data = spec.text()?.limit_vocabulary(self.vocabulary.unwrap_or(usize::MAX));
        let words = data.words.len();
        let recipe = LstmRecipe { layers, cells, inputs, words, rate: self.rate, schedule: self.schedule };
        run(spec, &recipe, &data, &mut telling(recipe.cost(), report))
    }
}

/// Gradient descent; gradients longer than 0.25 are shortened to that; half of the values between layers drop out. All weights
/// start in U(−0.1, 0.1), biases at 0.
struct LstmRecipe {
    layers: usize,
    cells: usize,
    inputs: usize,
    words: usize,
    rate: f64,
    schedule: fn(usize, usize) -> f64,
}

impl LstmRecipe {
    fn cost(&self) -> NetworkCost {
        let words = NetworkCost::default().with(&[self.words, self.inputs], 0);
        let layers = (0..self.layers).fold(words, |cost, layer| {
            let inputs = if layer == 0 { self.inputs } else { self.cells };
            cost.with(&[inputs + self.cells, 4 * self.cells], 1)
        });
        layers.with(&[self.cells, self.words], 1)
    }
}

impl TrainingRecipe for LstmRecipe {
    type Network = LstmNetwork;

    fn network(&self, weights: &mut WeightInitializer) -> LstmNetwork {
        let words = weights.uniform([self.words, self.inputs], 0.1);
        let layers = (0..self.layers).map(|layer| {
            let inputs = if layer == 0 { self.inputs } else { self.cells };
            LstmLayer {
                input: weights.uniform([inputs, 4 * self.cells], 0.1),
                recurrent: weights.uniform([self.cells, 4 * self.cells], 0.1),
                bias: weights.constant(4 * self.cells, 0.0),
            }
        });
        let layers = layers.collect();
        let weight = weights.uniform([self.cells, self.words], 0.1);
        let last = DenseLayer { weight, bias: weights.constant(self.words, 0.0) };
        LstmNetwork { words, layers, last, dropout: DropoutLayer::new(0.5) }
    }

    fn optimizer(&self) -> Optimizer {
        Optimizer::new(UpdateRule::Descent)
    }

    fn starts(&self) -> Vec<f64> {
        vec![self.rate]
    }

    fn schedule(&self, epoch: usize, epochs: usize) -> f64 {
        (self.schedule)(epoch, epochs)
    }

    fn clip(&self) -> Option<f64> {
        Some(0.25)
    }
}

/// Vectors of words, layers of cells, and a fully connected layer to the next word.
#[derive(Clone)]
struct LstmNetwork {
    /// Shape (words, inputs).
    words: Param<2>,
    layers: Vec<LstmLayer>,
    last: DenseLayer,
    dropout: DropoutLayer,
}
module!(LstmNetwork { words, layers, last });

impl TextNetwork for LstmNetwork {
    fn start(&self, sequences: usize) -> Vec<LstmState> {
        let shapes = self.layers.iter().map(|layer| [sequences, layer.recurrent.dims()[0]]);
        shapes.map(|shape| LstmState { hidden: Tensor::zeros(shape), cell: Tensor::zeros(shape) }).collect()
    }

    fn logits(
        &self,
        tokens: TokenBatch,
        states: Vec<LstmState>,
        mut training: Option<&mut ChaCha8Rng>,
    ) -> (Tensor<2>, Vec<LstmState>) {
        let [steps, sequences] = tokens.shape;
        let mut x = self.dropout.forward(embedding(self.words.val(), tokens), training.as_deref_mut());
        let mut last = Vec::with_capacity(states.len());
        for (layer, state) in self.layers.iter().zip(states) {
            let (outputs, state) = layer.forward(x, state);
            x = self.dropout.forward(outputs, training.as_deref_mut());
            last.push(state);
        }
        let [_, _, cells] = x.dims();
        (self.last.forward(x.reshape([steps * sequences, cells])), last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layers::parameter::Module;

    fn descent(layers: usize, cells: usize, inputs: usize, words: usize) -> LstmRecipe {
        LstmRecipe { layers, cells, inputs, words, rate: LSTM_SPACE.rate, schedule: LSTM_SPACE.schedule }
    }

    #[test]
    fn rates_fall_after_two_thirds_and_as_in_the_released_plan_after_28_of_60_epochs() {
        let falls = |space: &LstmSpace, epoch| (space.schedule)(epoch, 60).log10().round() as i32;
        assert_eq!([1, 40, 41, 60].map(|epoch| falls(&LSTM_SPACE, epoch)), [0, 0, -1, -1]);
        // 532 steps an epoch: step 15,000 is in epoch 29, step 30,000 in epoch 57
        assert_eq!(
            [1, 29, 30, 57, 58, 60].map(|epoch| falls(&LSTM_400_SPACE, epoch)),
            [0, 0, -1, -1, -2, -2]
        );
    }

    #[test]
    fn a_network_has_its_parameters_and_predicts_from_the_words_before() {
        let recipe = descent(2, 5, 3, 7);
        let network = recipe.network(&mut WeightInitializer::new(0, 0));
        assert_eq!(network.parameter_value_count(), 7 * 3 + (3 + 5 + 1) * 20 + (5 + 5 + 1) * 20 + 5 * 7 + 7);
        let cost = recipe.cost();
        // biases: 20 a layer and 7
        assert_eq!(cost.weights as usize, network.parameter_value_count() - 2 * 20 - 7);
        assert_eq!(cost.multiply_adds, cost.weights - 7 * 3);
        let logits = |tokens: [[usize; 2]; 3]| -> Vec<f32> {
            let tokens = TokenBatch { shape: [3, 2], values: tokens.concat() };
            let (logits, states) = network.logits(tokens, network.start(2), None);
            assert_eq!((logits.dims(), states.len()), ([6, 7], 2));
            logits.into_values()
        };
        let (one, other) = (logits([[1, 2], [3, 4], [5, 6]]), logits([[0, 2], [3, 4], [5, 6]]));
        // the first word of the first part differs: its predictions differ in all steps, the second part's in none
        for (step, (one, other)) in one.chunks(14).zip(other.chunks(14)).enumerate() {
            assert!(one[..7].iter().zip(&other[..7]).any(|(a, b)| (a - b).abs() > 1e-7), "step {step}");
            assert!(one[7..].iter().zip(&other[7..]).all(|(a, b)| (a - b).abs() < 1e-9), "step {step}");
        }
    }

    #[test]
    fn fifty_steps_agree_with_pytorch() {
        use crate::torch::{WORDS, check_text};
        check_text("lstm", &descent(2, 7, 5, WORDS), LSTM_SPACE.rate / 10.0);
        check_text("lstm-400", &descent(4, 7, 5, WORDS), LSTM_400_SPACE.rate);
    }
}

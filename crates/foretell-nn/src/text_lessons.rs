//! Learning from text: truncated back-propagation through parallel parts of the text, and the judgement by perplexity.

use crate::image_lessons::{cross_entropy, most_likely};
use crate::layers::lstm::State;
use crate::lessons::{Judgement, Lessons, Steps};
use crate::stream::Purpose;
use crate::text::Corpus;
use burn::module::Module;
use burn::optim::ModuleOptimizer;
use burn::tensor::activation::log_softmax;
use burn::tensor::{Device, Int, Tensor, TensorData};
use rand_chacha::ChaCha8Rng;

/// Steps in time that gradients go back.
pub(crate) const UNROLLED: usize = 35;
/// Parts of the validation text that are read side by side, at most.
const JUDGED_SIDE_BY_SIDE: usize = 10;

/// A network that predicts the next token.
pub(crate) trait TextNetwork: Module {
    /// The states of its layers before any token.
    fn start(&self, sequences: usize, device: &Device) -> Vec<State>;

    /// Logits of the next tokens, shape (steps · sequences, words), for `tokens` of shape (steps, sequences), and the last states.
    ///
    /// It is training if there are random numbers for its dropout, and is judged without.
    fn logits(
        &self,
        tokens: Tensor<2, Int>,
        states: Vec<State>,
        training: Option<&mut ChaCha8Rng>,
    ) -> (Tensor<2>, Vec<State>);
}

/// Tokens cut into equal parts that are read side by side.
struct Parts<'a> {
    tokens: &'a [u16],
    sequences: usize,
    length: usize,
}

impl<'a> Parts<'a> {
    /// As many parts as asked, fewer if a part would have under two tokens.
    fn new(tokens: &'a [u16], sequences: usize) -> Self {
        let sequences = sequences.min(tokens.len() / 2).max(1);
        Self { tokens, sequences, length: tokens.len() / sequences }
    }

    /// The (first step, number of steps) of each stretch; each step has a next token.
    fn stretches(&self) -> impl Iterator<Item = (usize, usize)> {
        let steps = self.length - 1;
        (0..steps).step_by(UNROLLED).map(move |from| (from, UNROLLED.min(steps - from)))
    }

    /// The tokens from step `from`, step by step.
    fn window(&self, from: usize, steps: usize) -> Vec<i32> {
        let at = |step: usize, part: usize| i32::from(self.tokens[part * self.length + step]);
        (from..from + steps).flat_map(|step| (0..self.sequences).map(move |part| at(step, part))).collect()
    }

    fn inputs(&self, (from, steps): (usize, usize), device: &Device) -> Tensor<2, Int> {
        Tensor::from_data(TensorData::new(self.window(from, steps), [steps, self.sequences]), device)
    }
}

impl<N: TextNetwork> Lessons<N> for Corpus {
    fn steps(&self, batch_size: usize) -> usize {
        Parts::new(&self.train, batch_size).stretches().count()
    }

    fn guessing(&self) -> f64 {
        1.0 / self.words.len() as f64
    }

    fn epoch(&self, mut network: N, optimizer: &mut ModuleOptimizer, steps: &Steps<'_>) -> (N, f64) {
        let parts = Parts::new(&self.train, steps.batch_size);
        let mut dropout = steps.chance.stream(Purpose::Dropout);
        let mut states = network.start(parts.sequences, steps.device);
        let (mut total, mut count) = (0.0, 0.0);
        for (from, length) in parts.stretches() {
            let tokens = parts.inputs((from, length), steps.device);
            let (logits, last) = network.logits(tokens, states, Some(&mut dropout));
            states = last.into_iter().map(State::detached).collect();
            let targets = parts.window(from + 1, length);
            let shape = [targets.len(), 1];
            let targets: Tensor<2, Int> = Tensor::from_data(TensorData::new(targets, shape), steps.device);
            let loss = log_softmax(logits, 1).gather(1, targets).mean().neg();
            let value = f64::from(loss.clone().into_scalar::<f32>());
            if !value.is_finite() {
                return (network, value);
            }
            total += value * shape[0] as f64;
            count += shape[0] as f64;
            network = steps.step(network, optimizer, &loss);
        }
        (network, total / count)
    }

    fn judge(&self, network: &N, device: &Device) -> Judgement {
        let network = network.valid();
        let device = device.clone().inner();
        let parts = Parts::new(&self.validation, JUDGED_SIDE_BY_SIDE);
        let mut states = network.start(parts.sequences, &device);
        let (mut right, mut total, mut count) = (0_usize, 0.0, 0_usize);
        for (from, length) in parts.stretches() {
            let (logits, last) = network.logits(parts.inputs((from, length), &device), states, None);
            states = last;
            let logits = logits.into_data();
            let logits = logits.as_slice::<f32>().expect("logits are 32-bit floats in row-major order");
            for (row, next) in logits.chunks_exact(self.words.len()).zip(parts.window(from + 1, length)) {
                right += usize::from(most_likely(row) == Some(next as usize));
                total += cross_entropy(row, next as usize);
                count += 1;
            }
        }
        Judgement { accuracy: right as f64 / count as f64, loss: total / count as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_token_but_the_first_of_each_part_is_predicted_once() {
        let tokens: Vec<u16> = (0..230).collect();
        let parts = Parts::new(&tokens, 3);
        let stretches: Vec<_> = parts.stretches().collect();
        assert_eq!(stretches, [(0, 35), (35, 35), (70, 5)]);
        let mut predicted: Vec<i32> =
            stretches.iter().flat_map(|&(from, steps)| parts.window(from + 1, steps)).collect();
        predicted.sort_unstable();
        let expected: Vec<i32> = (0..228).filter(|token| token % 76 != 0).collect();
        assert_eq!(predicted, expected);
        assert_eq!(Parts::new(&tokens[..3], 50).sequences, 1);
    }
}

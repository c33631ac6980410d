//! Learning from text: truncated back-propagation through parallel parts of the text, and the judgment by perplexity.

use crate::image_lessons::{cross_entropy, most_likely};
use crate::layers::embedding::TokenBatch;
use crate::layers::loss::mean_cross_entropy;
use crate::layers::lstm::LstmState;
use crate::layers::parameter::Module;
use crate::lessons::{EpochSteps, LessonData, ValidationScores};
use crate::optimizer::Optimizer;
use crate::stream::StreamPurpose;
use crate::tensor::Tensor;
use crate::text::TextCorpus;
use rand_chacha::ChaCha8Rng;

/// Steps in time that gradients go back.
pub(crate) const UNROLLED_STEPS: usize = 35;
/// Parts of the validation text that are read side by side, at most.
const MAX_EVALUATION_PARTS: usize = 10;

/// A network that predicts the next token.
pub(crate) trait TextNetwork: Module {
    /// The states of its layers before any token.
    fn start(&self, sequences: usize) -> Vec<LstmState>;

    /// Logits of the next tokens, shape (steps · sequences, words), for `tokens`, and the last states.
    ///
    /// The network is training if there are random numbers for its dropout, and is judged without.
    fn logits(
        &self,
        tokens: TokenBatch,
        states: Vec<LstmState>,
        training: Option<&mut ChaCha8Rng>,
    ) -> (Tensor<2>, Vec<LstmState>);
}

/// Tokens cut into equal parts that are read side by side.
struct TextParts<'a> {
    tokens: &'a [u16],
    sequences: usize,
    length: usize,
}

impl<'a> TextParts<'a> {
    /// As many parts as asked, fewer if a part would have under two tokens.
    fn new(tokens: &'a [u16], sequences: usize) -> Self {
        let sequences = sequences.min(tokens.len() / 2).max(1);
        Self { tokens, sequences, length: tokens.len() / sequences }
    }

    /// The (first step, number of steps) of each stretch; each step has a next token.
    fn stretches(&self) -> impl Iterator<Item = (usize, usize)> {
        let steps = self.length - 1;
        (0..steps).step_by(UNROLLED_STEPS).map(move |from| (from, UNROLLED_STEPS.min(steps - from)))
    }

    /// The tokens from step `from`, step by step.
    fn window(&self, from: usize, steps: usize) -> Vec<usize> {
        let places = (from..from + steps)
            .flat_map(|step| (0..self.sequences).map(move |part| part * self.length + step));
        places.map(|place| usize::from(self.tokens[place])).collect()
    }

    fn inputs(&self, (from, steps): (usize, usize)) -> TokenBatch {
        TokenBatch { shape: [steps, self.sequences], values: self.window(from, steps) }
    }
}

impl<N: TextNetwork> LessonData<N> for TextCorpus {
    fn steps(&self, batch_size: usize) -> usize {
        TextParts::new(&self.train, batch_size).stretches().count()
    }

    fn guessing_accuracy(&self) -> f64 {
        1.0 / self.words.len() as f64
    }

    fn epoch(&self, network: &mut N, optimizer: &mut Optimizer, steps: &EpochSteps) -> f64 {
        let parts = TextParts::new(&self.train, steps.batch_size);
        let mut dropout = steps.chance.stream(StreamPurpose::Dropout);
        let mut states = network.start(parts.sequences);
        let (mut total, mut count) = (0.0, 0.0);
        for (from, length) in parts.stretches() {
            let (logits, last) = network.logits(parts.inputs((from, length)), states, Some(&mut dropout));
            states = last;
            let targets = parts.window(from + 1, length);
            let predicted = targets.len() as f64;
            let loss = mean_cross_entropy(logits, targets);
            let value = loss.value();
            if !value.is_finite() {
                return value;
            }
            total += value * predicted;
            count += predicted;
            steps.step(network, optimizer, loss);
        }
        total / count
    }

    fn evaluate_network(&self, network: &N) -> ValidationScores {
        let network = network.frozen_copy();
        let parts = TextParts::new(&self.validation, MAX_EVALUATION_PARTS);
        let mut states = network.start(parts.sequences);
        let (mut right, mut total, mut count) = (0_usize, 0.0, 0_usize);
        for (from, length) in parts.stretches() {
            let (logits, last) = network.logits(parts.inputs((from, length)), states, None);
            states = last;
            for (row, next) in
                logits.into_values().chunks_exact(self.words.len()).zip(parts.window(from + 1, length))
            {
                right += usize::from(most_likely(row) == Some(next));
                total += cross_entropy(row, next);
                count += 1;
            }
        }
        ValidationScores { accuracy: right as f64 / count as f64, loss: total / count as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_token_but_the_first_of_each_part_is_predicted_once() {
        let tokens: Vec<u16> = (0..230).collect();
        let parts = TextParts::new(&tokens, 3);
        let stretches: Vec<_> = parts.stretches().collect();
        assert_eq!(stretches, [(0, 35), (35, 35), (70, 5)]);
        let mut predicted: Vec<usize> =
            stretches.iter().flat_map(|&(from, steps)| parts.window(from + 1, steps)).collect();
        predicted.sort_unstable();
        let expected: Vec<usize> = (0..228).filter(|token| token % 76 != 0).collect();
        assert_eq!(predicted, expected);
        assert_eq!(TextParts::new(&tokens[..3], 50).sequences, 1);
    }
}

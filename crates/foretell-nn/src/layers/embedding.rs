//! Vectors of words.

use crate::tensor::Tensor;

/// Tokens of several sequences, step by step.
#[derive(Clone, Debug)]
pub(crate) struct TokenBatch {
    /// Steps and sequences.
    pub(crate) shape: [usize; 2],
    /// The tokens, all sequences of a step after each other.
    pub(crate) values: Vec<usize>,
}

/// The rows of `words`, shape (words, inputs), that `tokens` name: shape (steps, sequences, inputs).
pub(crate) fn embedding(words: Tensor<2>, tokens: TokenBatch) -> Tensor<3> {
    let ([count, inputs], [steps, sequences]) = (words.dims(), tokens.shape);
    let made: Vec<f32> = tokens
        .values
        .iter()
        .flat_map(|&token| &words.values()[token * inputs..][..inputs])
        .copied()
        .collect();
    let shape = [steps, sequences, inputs];
    Tensor::made(made, shape, [words.source()], move |above, [source], gradients| {
        let mut sums = vec![0.0_f32; count * inputs];
        for (&token, above) in tokens.values.iter().zip(above.chunks_exact(inputs)) {
            sums[token * inputs..][..inputs].iter_mut().zip(above).for_each(|(sum, value)| *sum += value);
        }
        gradients.add(&source, sums);
    })
}

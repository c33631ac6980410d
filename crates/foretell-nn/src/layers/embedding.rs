//! Vectors of words.

use crate::tensor::graph::{Array, Gradients, Source};
use crate::tensor::{Tensor, wherever};

/// Tokens of several sequences, step by step.
#[derive(Clone, Debug)]
pub(crate) struct Tokens {
    /// Steps and sequences.
    pub(crate) shape: [usize; 2],
    /// The tokens, all sequences of a step after each other.
    pub(crate) values: Vec<usize>,
}

/// The rows of `words`, shape (words, inputs), that `tokens` name: shape (steps, sequences, inputs).
pub(crate) fn embedding(words: Tensor<2>, tokens: Tokens) -> Tensor<3> {
    wherever!(words, words => Tensor::Processor(embedding_array(&words, tokens)), words => {
        Tensor::Gpu(burn::tensor::module::embedding(words.clone(), on_gpu(&tokens, &words.device().inner())))
    })
}

fn embedding_array(words: &Array<2>, tokens: Tokens) -> Array<3> {
    let ([count, inputs], [steps, sequences]) = (words.shape(), tokens.shape);
    let made: Vec<f32> = tokens
        .values
        .iter()
        .flat_map(|&token| &words.values()[token * inputs..][..inputs])
        .copied()
        .collect();
    let backward = move |above: Vec<f32>, [source]: [Source; 1], gradients: &mut Gradients| {
        let mut sums = vec![0.0_f32; count * inputs];
        for (&token, above) in tokens.values.iter().zip(above.chunks_exact(inputs)) {
            sums[token * inputs..][..inputs].iter_mut().zip(above).for_each(|(sum, value)| *sum += value);
        }
        gradients.add(&source, sums);
    };
    Array::made(made, [steps, sequences, inputs], [words.source()], backward)
}

#[cfg(feature = "gpu")]
fn on_gpu(tokens: &Tokens, device: &burn::tensor::Device) -> burn::tensor::Tensor<2, burn::tensor::Int> {
    let values: Vec<i32> = tokens.values.iter().map(|&token| token as i32).collect();
    burn::tensor::Tensor::from_data(burn::tensor::TensorData::new(values, tokens.shape), device)
}

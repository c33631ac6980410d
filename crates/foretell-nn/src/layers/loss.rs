//! The loss of a classification.

use crate::tensor::graph::{Array, Gradients, Source};
use crate::tensor::{Tensor, wherever};

/// The mean of −ln softmax(logits)\[label\], of logits of shape (examples, classes) and a label for each example.
pub(crate) fn mean_cross_entropy(logits: Tensor<2>, labels: Vec<usize>) -> Tensor<1> {
    wherever!(logits, logits => Tensor::Processor(mean_cross_entropy_array(logits, labels)), logits => {
        use burn::tensor::{Int, Tensor as Burning, TensorData, activation::log_softmax};
        let (rows, device) = ([labels.len(), 1], logits.device().inner());
        let labels: Vec<i32> = labels.into_iter().map(|label| label as i32).collect();
        let labels = Burning::<2, Int>::from_data(TensorData::new(labels, rows), &device);
        Tensor::Gpu(log_softmax(logits, 1).gather(1, labels).mean().neg())
    })
}

fn mean_cross_entropy_array(logits: Array<2>, labels: Vec<usize>) -> Array<1> {
    let ([_, classes], source) = (logits.shape(), logits.source());
    let mut shares = logits.into_values();
    let mut total = 0.0_f64;
    for (row, &label) in shares.chunks_exact_mut(classes).zip(&labels) {
        // the largest logit is taken off, so that nothing overflows
        let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let own = row[label] - largest;
        row.iter_mut().for_each(|logit| *logit = (*logit - largest).exp());
        let sum: f64 = row.iter().copied().map(f64::from).sum();
        total += sum.ln() - f64::from(own);
        row.iter_mut().for_each(|share| *share /= sum as f32);
    }
    let loss = (total / labels.len() as f64) as f32;
    let backward = move |above: Vec<f32>, [source]: [Source; 1], gradients: &mut Gradients| {
        let weight = above[0] / labels.len() as f32;
        for (row, &label) in shares.chunks_exact_mut(classes).zip(&labels) {
            row[label] -= 1.0;
            row.iter_mut().for_each(|share| *share *= weight);
        }
        gradients.add(&source, shares);
    };
    Array::made(vec![loss], [1], [source], backward)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loss_and_its_gradient_agree_with_the_formula_however_large_the_logits_are() {
        for by in [0.0, 1e4, -1e4] {
            let logits = [0.0_f32, 1.0, -0.5, 2.0, 0.25, 0.75].map(|logit| logit + by);
            let array = Array::constant(logits.to_vec(), [2, 3]).into_parameter();
            let loss = mean_cross_entropy(Tensor::Processor(array.clone()), vec![1, 0]);
            let exps = logits.map(|logit| f64::from(logit - by).exp());
            let sums = [exps[..3].iter().sum::<f64>(), exps[3..].iter().sum::<f64>()];
            let expected = ((sums[0] / exps[1]).ln() + (sums[1] / exps[3]).ln()) / 2.0;
            assert!((loss.value() - expected).abs() < 1e-6);
            let gradient = loss.array().backward(vec![2.0]).take(&array.source()).unwrap();
            for (at, gradient) in gradient.into_iter().enumerate() {
                let expected = exps[at] / sums[at / 3] - f64::from(u8::from(at == 1 || at == 3));
                assert!((f64::from(gradient) - expected).abs() < 1e-6, "{at}: {gradient}, not {expected}");
            }
        }
    }
}

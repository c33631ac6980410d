//! The loss of a classification.

use crate::tensor::Tensor;

/// The mean of −ln softmax(logits)\[label\], of logits of shape (examples, classes) and a label for each example.
pub(crate) fn mean_cross_entropy(logits: Tensor<2>, labels: Vec<usize>) -> Tensor<1> {
    let ([_, classes], source) = (logits.dims(), logits.source());
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
    Tensor::made(vec![loss], [1], [source], move |above, [source], gradients| {
        let weight = above[0] / labels.len() as f32;
        for (row, &label) in shares.chunks_exact_mut(classes).zip(&labels) {
            row[label] -= 1.0;
            row.iter_mut().for_each(|share| *share *= weight);
        }
        gradients.add(&source, shares);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loss_and_its_gradient_agree_with_the_formula_however_large_the_logits_are() {
        for by in [0.0, 1e4, -1e4] {
            let logits = [0.0_f32, 1.0, -0.5, 2.0, 0.25, 0.75].map(|logit| logit + by);
            let array = Tensor::constant(logits.to_vec(), [2, 3]).into_parameter();
            let loss = mean_cross_entropy(array.clone(), vec![1, 0]);
            let exps = logits.map(|logit| f64::from(logit - by).exp());
            let sums = [exps[..3].iter().sum::<f64>(), exps[3..].iter().sum::<f64>()];
            let expected = ((sums[0] / exps[1]).ln() + (sums[1] / exps[3]).ln()) / 2.0;
            assert!((loss.value() - expected).abs() < 1e-6);
            let gradient = loss.backward(vec![2.0]).take(&array.source()).unwrap();
            for (at, gradient) in gradient.into_iter().enumerate() {
                let expected = exps[at] / sums[at / 3] - f64::from(u8::from(at == 1 || at == 3));
                assert!((f64::from(gradient) - expected).abs() < 1e-6, "{at}: {gradient}, not {expected}");
            }
        }
    }
}

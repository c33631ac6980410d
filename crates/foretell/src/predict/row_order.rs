//! An order of training runs that depends on their contents, not on the order in which they were listed.

use crate::curves::training::TrainingSet;
use crate::linalg::matrix::Matrix;
use std::cmp::Ordering;

/// The rows of `x` with `targets`, sorted by content: first column first, then the next, then the target.
///
/// Fitting in this order makes a model the same, bit for bit, in whatever order its runs were listed; rows that compare
/// equal are interchangeable.
pub(crate) fn by_content(x: &Matrix, targets: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..targets.len()).collect();
    order.sort_by(|&a, &b| {
        let columns = x.row(a).iter().zip(x.row(b)).map(|(p, q)| p.total_cmp(q));
        let first = columns.chain([targets[a].total_cmp(&targets[b])]).find(|order| order.is_ne());
        first.unwrap_or(Ordering::Equal)
    });
    order
}

/// `values` listed by `order`, put back: entry `order[k]` of the result is `values[k]`.
pub(crate) fn put_back<T: Clone>(values: &[T], order: &[usize]) -> Vec<T> {
    let mut pairs: Vec<(usize, T)> = order.iter().copied().zip(values.iter().cloned()).collect();
    pairs.sort_by_key(|pair| pair.0);
    pairs.into_iter().map(|pair| pair.1).collect()
}

/// A design matrix and its targets with the rows sorted by content, and the order they were put in.
pub(crate) fn sort_by_content(x: &Matrix, training: &TrainingSet) -> (Matrix, Vec<f64>, Vec<usize>) {
    let order = by_content(x, &training.targets);
    let targets = order.iter().map(|&i| training.targets[i]).collect();
    (x.select_rows(&order), targets, order)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorting_and_putting_back_are_inverse() {
        let x = Matrix::from_rows(&[[2.0, 1.0], [1.0, 9.0], [2.0, 0.5], [1.0, 9.0]]);
        let targets = [0.1, 0.3, 0.2, 0.0];
        let order = by_content(&x, &targets);
        assert_eq!(order, [3, 1, 2, 0]);
        let listed: Vec<f64> = order.iter().map(|&i| targets[i]).collect();
        assert_eq!(put_back(&listed, &order), targets);
    }
}

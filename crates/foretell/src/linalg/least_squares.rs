//! Minimum-norm least squares by a complete orthogonal decomposition, with leave-one-out forecasts in closed form.

use crate::linalg::matrix::Matrix;
use crate::linalg::simd::{dispatched, dot_body};

/// The least-squares fit of targets on centered columns: of all coefficients that fit best, the shortest.
///
/// X·P = Q·(L·Zᵀ) with Q (n × r) and Z (d × r) orthonormal, L (r × r) lower triangular, r the numerical rank:
/// w = Z·L⁻¹·Qᵀ·y. The first factor is a Householder QR with column pivoting; r is where its diagonal falls below
/// [`LeastSquares::TOLERANCE`] times its first entry.
///
/// | symbol | meaning | shape |
/// |---|---|---|
/// | X | standardized design, constant column implied by centering | (n, d) |
/// | h_ii | leverage, 1/n + ‖q_i‖² with q_i row i of Q | n |
/// | e | residuals, y − ȳ − Q·Qᵀ·y | n |
///
/// Leave-one-out residual: e_i/(1 − h_ii). Where the leverage is 1 (run i alone decides a direction) both are 0, and the
/// limit of a vanishing ridge takes their place: (K⁺y)_i/(K⁺)_ii with K⁺ = Q·L⁻ᵀ·L⁻¹·Qᵀ. O(n·d·r).
///
/// Source: Golub & Van Loan, *Matrix computations*, §5.4–5.5; normal equations would square a condition number that
/// redundant columns (differences of others) make infinite.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LeastSquares {
    /// The coefficients of the d columns.
    pub(crate) weights: Vec<f64>,
    /// The leave-one-out residual of each row.
    pub(crate) left_out: Vec<f64>,
    /// The numerical rank r.
    pub(crate) rank: usize,
}

impl LeastSquares {
    /// Directions shorter than this share of the longest are rounding: differences of numbers of six digits around a
    /// mean of 1e6 carry relative errors of about 1e-10.
    pub(crate) const RANK_TOLERANCE: f64 = 1e-9;

    /// Leverage closer to 1 than this counts as 1.
    const LEVERAGE_TOLERANCE: f64 = 1e-9;

    /// Fits `targets`, centered, on the rows of `x`, whose columns are centered.
    pub(crate) fn fit(x: &Matrix, targets: &[f64]) -> Self {
        let (n, d) = (x.row_count(), x.column_count());
        let columns: Vec<Vec<f64>> = (0..d).map(|j| x.column(j)).collect();
        let left = HouseholderQr::new(columns, true);
        let r = left.rank();
        // the transpose of R·Pᵀ: its QR is Z·Lᵀ
        let upper: Vec<Vec<f64>> = (0..r)
            .map(|k| {
                let mut row = vec![0.0; d];
                for (position, &j) in left.order.iter().enumerate().skip(k) {
                    row[j] = left.columns[position][k];
                }
                row
            })
            .collect();
        let right = HouseholderQr::new(upper, false);
        let q: Vec<Vec<f64>> = (0..r).map(|k| left.basis(k, n)).collect();
        let projected: Vec<f64> = q.iter().map(|basis| crate::linalg::simd::dot(basis, targets)).collect();
        let mut weights = right.solve_transposed(&projected);
        weights.resize(d, 0.0);
        right.reflect_back(&mut weights);
        Self { left_out: left_out(&q, &projected, &right, targets), weights, rank: r }
    }
}

/// Leave-one-out residuals from the basis `q` of the columns and Qᵀy.
fn left_out(q: &[Vec<f64>], projected: &[f64], right: &HouseholderQr, targets: &[f64]) -> Vec<f64> {
    let n = targets.len();
    let b = right.solve_transposed(projected);
    let residuals = (0..n).map(|i| {
        let row: Vec<f64> = q.iter().map(|basis| basis[i]).collect();
        let fitted: f64 = crate::linalg::simd::dot(&row, projected);
        let freedom = 1.0 - 1.0 / n as f64 - squared_norm(&row);
        if freedom > LeastSquares::LEVERAGE_TOLERANCE {
            return (targets[i] - fitted) / freedom;
        }
        let a = right.solve_transposed(&row);
        let own = squared_norm(&a);
        if own > 0.0 { crate::linalg::simd::dot(&a, &b) / own } else { targets[i] - fitted }
    });
    residuals.collect()
}

fn squared_norm(values: &[f64]) -> f64 {
    crate::linalg::simd::dot(values, values)
}

/// A Householder QR of columns: column k holds R above and on the diagonal, `reflectors[k]` the k-th reflector.
struct HouseholderQr {
    columns: Vec<Vec<f64>>,
    reflectors: Vec<Vec<f64>>,
    /// The original column at each position.
    order: Vec<usize>,
}

impl HouseholderQr {
    /// Factors `columns`; with `pivot`, the longest remaining column comes next, until it is negligible.
    fn new(mut columns: Vec<Vec<f64>>, pivot: bool) -> Self {
        let mut order: Vec<usize> = (0..columns.len()).collect();
        let mut reflectors: Vec<Vec<f64>> = Vec::new();
        let steps = columns.len().min(columns.first().map_or(0, Vec::len));
        let mut longest_of_all = 0.0;
        for k in 0..steps {
            if pivot {
                let lengths = columns[k..].iter().map(|column| squared_norm(&column[k..])).enumerate();
                // of equal columns the first, whatever rounding says
                let best = lengths.fold((0, 0.0), |b, l| if l.1 > b.1 * (1.0 + 1e-9) { l } else { b });
                columns.swap(k, k + best.0);
                order.swap(k, k + best.0);
            }
            let norm = squared_norm(&columns[k][k..]).sqrt();
            if k == 0 {
                longest_of_all = norm;
            }
            if norm <= if pivot { LeastSquares::RANK_TOLERANCE * longest_of_all } else { 0.0 } {
                break;
            }
            let mut reflector = columns[k][k..].to_vec();
            // with the sign of the entry, because a difference would cancel
            reflector[0] += if reflector[0] > 0.0 { norm } else { -norm };
            // scaled so that the reflection is 1 − v·vᵀ
            let scale = (2.0 / squared_norm(&reflector)).sqrt();
            reflector.iter_mut().for_each(|value| *value *= scale);
            for column in &mut columns[k..] {
                reflect(&reflector, &mut column[k..]);
            }
            reflectors.push(reflector);
        }
        Self { columns, reflectors, order }
    }

    fn rank(&self) -> usize {
        self.reflectors.len()
    }

    /// Q·`vector`, in place.
    fn reflect_back(&self, vector: &mut [f64]) {
        for (k, reflector) in self.reflectors.iter().enumerate().rev() {
            reflect(reflector, &mut vector[k..]);
        }
    }

    /// Column `k` of Q, of length `n`.
    fn basis(&self, k: usize, n: usize) -> Vec<f64> {
        let mut column = vec![0.0; n];
        column[k] = 1.0;
        self.reflect_back(&mut column);
        column
    }

    /// The solution of Rᵀ·x = b.
    fn solve_transposed(&self, b: &[f64]) -> Vec<f64> {
        let mut x: Vec<f64> = Vec::with_capacity(b.len());
        for (k, column) in self.columns.iter().enumerate().take(b.len()) {
            let known = crate::linalg::simd::dot(&column[..k], &x);
            x.push((b[k] - known) / column[k]);
        }
        x
    }
}

dispatched! {
    /// vector −= (vᵀ·vector)·v: a reflection, if ‖v‖² = 2.
    pub(crate) fn reflect(v: &[f64], vector: &mut [f64]) {
        let product = dot_body(v, vector);
        for (cell, value) in vector.iter_mut().zip(v) {
            *cell -= product * value;
        }
    }
}

dispatched! {
    /// target += factor·row.
    pub(crate) fn add_scaled(target: &mut [f64], factor: f64, row: &[f64]) {
        for (t, r) in target.iter_mut().zip(row) {
            *t += factor * r;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::paper::FeatureScaler;

    fn centered_matrix(rows: &[Vec<f64>]) -> Matrix {
        let x = Matrix::from_rows(rows);
        let all: Vec<usize> = (0..x.row_count()).collect();
        FeatureScaler::fit(&x, 0..x.row_count()).transform(&x, &all)
    }

    fn centered_targets(y: &[f64]) -> Vec<f64> {
        let mean = crate::statistics::mean(y);
        y.iter().map(|y| y - mean).collect()
    }

    fn sample(n: usize, d: usize) -> (Matrix, Vec<f64>) {
        let rows: Vec<Vec<f64>> = (0..n)
            .map(|i| (0..d).map(|j| ((i * i + 3) as f64 * (0.37 + j as f64)).sin()).collect())
            .collect();
        let y: Vec<f64> = (0..n).map(|i| (i as f64 * 0.9).cos()).collect();
        (centered_matrix(&rows), centered_targets(&y))
    }

    #[test]
    fn residuals_are_orthogonal_to_every_column_and_weights_lie_in_the_row_space() {
        let (x, y) = sample(12, 5);
        // a column twice, and the sum of two: rank stays 5
        let wide: Vec<Vec<f64>> = (0..12)
            .map(|i| {
                let r = x.row(i);
                [r, &[r[0], r[1] + r[2]]].concat()
            })
            .collect();
        let x = Matrix::from_rows(&wide);
        let fit = LeastSquares::fit(&x, &y);
        assert_eq!(fit.rank, 5);
        let residual: Vec<f64> =
            (0..12).map(|i| y[i] - crate::linalg::simd::dot(x.row(i), &fit.weights)).collect();
        for j in 0..7 {
            assert!(crate::linalg::simd::dot(&x.column(j), &residual).abs() < 1e-10, "column {j}");
        }
        // orthogonal to the null space, whose basis is (1,0,0,0,0,−1,0) and (0,1,1,0,0,0,−1)
        let w = &fit.weights;
        assert!((w[0] - w[5]).abs() < 1e-10 && (w[1] + w[2] - w[6]).abs() < 1e-10);
    }

    #[test]
    fn leave_one_out_is_what_refitting_gives() {
        let (x, y) = sample(14, 4);
        let fit = LeastSquares::fit(&x, &y);
        for i in 0..14 {
            let keep: Vec<usize> = (0..14).filter(|&k| k != i).collect();
            let rest = x.select_rows(&keep);
            let means: Vec<f64> = (0..4).map(|j| crate::statistics::mean(&rest.column(j))).collect();
            let moved = Matrix::from_fn(13, 4, |k, j| rest.row(k)[j] - means[j]);
            let targets: Vec<f64> = keep.iter().map(|&k| y[k]).collect();
            let weights = LeastSquares::fit(&moved, &centered_targets(&targets)).weights;
            let row: Vec<f64> = x.row(i).iter().zip(&means).map(|(v, m)| v - m).collect();
            let forecast = crate::statistics::mean(&targets) + crate::linalg::simd::dot(&row, &weights);
            assert!((y[i] - forecast - fit.left_out[i]).abs() < 1e-9, "row {i}");
        }
    }

    #[test]
    fn full_leverage_takes_the_limit_of_a_vanishing_ridge() {
        let (x, y) = sample(6, 9); // interpolates: every leverage is 1
        let fit = LeastSquares::fit(&x, &y);
        assert_eq!(fit.rank, 5);
        for i in 0..6 {
            assert!((y[i] - crate::linalg::simd::dot(x.row(i), &fit.weights)).abs() < 1e-10);
            let keep: Vec<usize> = (0..6).filter(|&k| k != i).collect();
            let rest = x.select_rows(&keep);
            let means: Vec<f64> = (0..9).map(|j| crate::statistics::mean(&rest.column(j))).collect();
            let moved = Matrix::from_fn(5, 9, |k, j| rest.row(k)[j] - means[j]);
            let targets: Vec<f64> = keep.iter().map(|&k| y[k]).collect();
            let weights = LeastSquares::fit(&moved, &centered_targets(&targets)).weights;
            let row: Vec<f64> = x.row(i).iter().zip(&means).map(|(v, m)| v - m).collect();
            let forecast = crate::statistics::mean(&targets) + crate::linalg::simd::dot(&row, &weights);
            assert!((y[i] - forecast - fit.left_out[i]).abs() < 1e-8, "row {i}");
        }
    }

    #[test]
    fn nothing_to_learn_from_gives_the_mean() {
        for x in [Matrix::zeros(5, 0), Matrix::zeros(5, 3)] {
            let fit = LeastSquares::fit(&x, &[1.0, -1.0, 0.5, -0.5, 0.0]);
            assert_eq!(fit.rank, 0);
            assert!((fit.left_out[0] - 1.25).abs() < 1e-12, "{}", fit.left_out[0]);
        }
    }
}

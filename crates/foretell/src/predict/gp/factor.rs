//! A triangular factor in single precision: the deviation of a forecast waits for its memory.

use crate::linalg::inverse::SymmetricMatrix;
use crate::linalg::simd::{VECTOR_LANES, dispatched, dot_body, four_entries};

/// L of A = L·Lᵀ in single precision, half the memory that a forecast waits for. Rounding L, whose singular values are the
/// roots of those of A, moves kᵀAk = ‖Lᵀk‖² far less than rounding A would: on recorded curves, with 100 and 250 runs, predictive
/// deviations by 1e-5 in the mean and by 3e-4 at most.
pub(crate) struct TriangularFactor {
    /// Four rows after four rows, each padded with zeros to the end of the block of eight columns on the diagonal.
    rows: Vec<f32>,
}

impl TriangularFactor {
    /// Of a symmetric positive definite matrix, none of whose eigenvalues is below `least` but for rounding.
    pub(crate) fn new(mut matrix: SymmetricMatrix, least: f64) -> Self {
        matrix.factorize(least);
        let n = matrix.n;
        let mut rows = Vec::with_capacity(
            n.next_multiple_of(VECTOR_LANES) * (n.next_multiple_of(VECTOR_LANES) + VECTOR_LANES) / 2,
        );
        for i in 0..n.next_multiple_of(4) {
            let row = if i < n { &matrix.data[i * matrix.stride..=i * matrix.stride + i] } else { &[] };
            let width = (i + 1).next_multiple_of(VECTOR_LANES);
            rows.extend(row.iter().map(|&value| value as f32).chain(std::iter::repeat(0.0)).take(width));
        }
        Self { rows }
    }

    /// ‖Lᵀk‖², `k` being padded with zeros to whole lanes and `sums` zeros of the same length.
    pub(crate) fn quadratic(&self, k: &[f64], sums: &mut [f64]) -> f64 {
        squared_norm_of_product(&self.rows, k, sums)
    }
}

dispatched! {
    /// ‖Lᵀk‖² for the rows of a [`TriangularFactor`]; `k` is padded with zeros to a multiple of eight, and `sums` has its length.
    pub(crate) fn squared_norm_of_product(rows: &[f32], k: &[f64], sums: &mut [f64]) -> f64 {
        let mut rest = rows;
        for i in (0..k.len()).step_by(4) {
            let width = (i + 4).next_multiple_of(VECTOR_LANES);
            let Some((four, after)) = rest.split_at_checked(4 * width) else { break };
            rest = after;
            let [row_0, row_1, row_2, row_3] = [0, 1, 2, 3].map(|r| &four[r * width..(r + 1) * width]);
            let rows = row_0.iter().zip(row_1).zip(row_2).zip(row_3);
            let [c0, c1, c2, c3] = four_entries(k, i).map(|c| c as f32);
            for (sum, (((x0, x1), x2), x3)) in sums[..width].iter_mut().zip(rows) {
                *sum += f64::from(c0.mul_add(*x0, c1.mul_add(*x1, c2.mul_add(*x2, c3 * x3))));
            }
        }
        dot_body(sums, sums)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::simd::with_each_instruction_set;

    #[test]
    fn the_quadratic_form_is_that_of_the_plain_loops() {
        for n in [1_usize, 3, 4, 7, 8, 21, 40] {
            let entry = |i: usize, j: usize| {
                let apart = i.abs_diff(j) as f64;
                (-0.1 * apart * apart).exp() + if i == j { 0.05 } else { 0.0 }
            };
            let mut matrix = SymmetricMatrix::zeros(n);
            for i in 0..n {
                for j in 0..=i {
                    matrix.data[i * matrix.stride + j] = entry(i, j);
                }
            }
            let k: Vec<f64> = (0..n).map(|i| (i as f64 * 0.6).cos()).collect();
            let plain: f64 = (0..n * n).map(|at| k[at / n] * entry(at / n, at % n) * k[at % n]).sum();
            let mut padded = k.clone();
            padded.resize(n.next_multiple_of(VECTOR_LANES), 0.0);
            let all = with_each_instruction_set(|| {
                TriangularFactor::new(matrix.clone(), 0.05).quadratic(&padded, &mut vec![0.0; padded.len()])
            });
            assert!(
                all.iter().all(|found| found.total_cmp(&all[0]).is_eq()),
                "n = {n}: instruction sets differ"
            );
            assert!((all[0] / plain - 1.0).abs() < 1e-6, "n = {n}: {} {plain}", all[0]);
        }
    }
}

//! The inverse and the log determinant of a symmetric positive definite matrix, by block sweeps.

use crate::linalg::simd::{VECTOR_LANES, dispatched, dot_body};

/// A symmetric matrix of order n, stored as its lower triangle in rows padded to blocks of eight: `data[i·stride + j]` for
/// j ≤ i. What stands above the diagonal is arbitrary.
#[derive(Clone, Debug, Default)]
pub struct SymmetricMatrix {
    /// The order.
    pub(crate) n: usize,
    /// The order rounded up to a multiple of eight: length of a row.
    pub(crate) stride: usize,
    /// `stride` rows of `stride` numbers.
    pub(crate) data: Vec<f64>,
}

impl SymmetricMatrix {
    /// A matrix of zeros of order `n`.
    pub fn zeros(n: usize) -> Self {
        let stride = n.next_multiple_of(VECTOR_LANES);
        Self { n, stride, data: vec![0.0; stride * stride] }
    }

    /// Makes room for order `n`; the numbers are whatever was there.
    pub(crate) fn shape(&mut self, n: usize) {
        self.n = n;
        self.stride = n.next_multiple_of(VECTOR_LANES);
        self.data.resize(self.stride * self.stride, 0.0);
    }

    /// Entry (i, i).
    ///
    /// # Panics
    /// If i ≥ n.
    pub fn diagonal_entry(&self, i: usize) -> f64 {
        self.row(i)[i]
    }

    /// Entries (i, 0) to (i, i).
    ///
    /// # Panics
    /// If i ≥ n.
    pub fn row(&self, i: usize) -> &[f64] {
        &self.data[i * self.stride..=i * self.stride + i]
    }

    /// Entries (i, 0) to (i, i), to be filled.
    ///
    /// # Panics
    /// If i ≥ n.
    pub fn row_mut(&mut self, i: usize) -> &mut [f64] {
        &mut self.data[i * self.stride..=i * self.stride + i]
    }

    /// Replaces the matrix A by A⁻¹ and gives ln det A; `None`, with the matrix spoilt, if A is not positive definite.
    ///
    /// Sweeps eight pivots P at a time: with Q = A_PP⁻¹, A_PP ← −Q, A_RP ← A_RP·Q, A_RR ← A_RR − A_RP·Q·A_PR; after all
    /// pivots the matrix is −A⁻¹. n³/2 multiply-adds, all in rank-eight updates.
    ///
    /// Source: Goodnight, *A tutorial on the sweep operator*, 1979, in blocks.
    pub fn invert(&mut self) -> Option<f64> {
        // an identity in the padding changes neither the inverse nor the determinant, so whole blocks can be swept
        for i in self.n..self.stride {
            self.data[i * self.stride..(i + 1) * self.stride].fill(0.0);
            self.data[i * self.stride + i] = 1.0;
        }
        let mut log_determinant = [0.0];
        sweep_blocks(&mut self.data, self.stride, &mut log_determinant);
        log_determinant[0].is_finite().then_some(log_determinant[0])
    }

    /// out = A·x, both of length n. O(n²).
    ///
    /// # Panics
    /// If `x` or `out` is longer than n, or `out` is shorter than `x`.
    pub fn multiply_vector(&self, x: &[f64], out: &mut [f64]) {
        multiply_symmetric(&self.data, self.stride, x, out);
    }

    /// Writes the whole matrix into the leading rows of `out`, which are `stride` apart; zeros pad rows and columns to
    /// whole blocks of eight, as far as `out` goes.
    pub(crate) fn expand(&self, stride: usize, out: &mut [f64]) {
        let n = self.n;
        for i in 0..n {
            let row = &self.data[i * self.stride..][..=i];
            out[i * stride..][..=i].copy_from_slice(row);
            out[i * stride + n..i * stride + self.stride].fill(0.0);
            for (j, value) in row.iter().enumerate() {
                out[j * stride + i] = *value;
            }
        }
        for row in out.chunks_mut(stride.max(1)).take(self.stride).skip(n) {
            row[..self.stride].fill(0.0);
        }
    }

    /// Replaces the matrix A by the factor L of A = L·Lᵀ, L a lower triangle; a pivot that rounding leaves below `least`
    /// is taken for that. O(n³/6).
    pub(crate) fn factorize(&mut self, least: f64) {
        factorize(&mut self.data, self.stride, self.n, least);
    }
}

/// The inverse of a symmetric positive definite block and the log of its determinant (NaN or infinite if it is not positive
/// definite), by Cholesky's factor.
#[inline(always)]
fn invert_block(block: &[[f64; VECTOR_LANES]; VECTOR_LANES]) -> ([[f64; VECTOR_LANES]; VECTOR_LANES], f64) {
    let mut factor = [[0.0_f64; VECTOR_LANES]; VECTOR_LANES];
    let mut inverse_factor = [[0.0; VECTOR_LANES]; VECTOR_LANES];
    let mut determinant = 1.0;
    for i in 0..VECTOR_LANES {
        for j in 0..i {
            let mut sum = block[i][j];
            for (a, b) in factor[i][..j].iter().zip(&factor[j][..j]) {
                sum = (-*a).mul_add(*b, sum);
            }
            factor[i][j] = sum * inverse_factor[j][j];
        }
        let mut pivot = block[i][i];
        for value in &factor[i][..i] {
            pivot = (-value).mul_add(*value, pivot);
        }
        // a pivot that is not positive gives NaN or −∞ in the end, which the caller sees
        determinant *= if pivot > 0.0 { pivot } else { f64::NAN };
        inverse_factor[i][i] = 1.0 / pivot.sqrt();
        for j in 0..i {
            let mut sum = 0.0;
            for k in j..i {
                sum = (-factor[i][k]).mul_add(inverse_factor[k][j], sum);
            }
            inverse_factor[i][j] = sum * inverse_factor[i][i];
        }
    }
    let mut inverse = [[0.0; VECTOR_LANES]; VECTOR_LANES];
    for row in &inverse_factor {
        for i in 0..VECTOR_LANES {
            for j in 0..VECTOR_LANES {
                inverse[i][j] = row[i].mul_add(row[j], inverse[i][j]);
            }
        }
    }
    (inverse, determinant.ln())
}

/// One block of eight rows, as many as there are of eight columns.
type MatrixBlock = [[f64; VECTOR_LANES]; VECTOR_LANES];

/// The eight columns of the pivot block at `first`: columns[c][b] holds A[first + b][8c..8c + 8].
#[inline(always)]
fn gather_pivot_columns(data: &[f64], stride: usize, first: usize, columns: &mut [MatrixBlock]) {
    for b in 0..VECTOR_LANES {
        let row = &data[(first + b) * stride..(first + b) * stride + first];
        for (column, chunk) in columns.iter_mut().zip(row.as_chunks::<VECTOR_LANES>().0) {
            column[b] = *chunk;
        }
    }
    for i in first..stride {
        for (b, column) in columns[i / VECTOR_LANES].iter_mut().enumerate() {
            // inside the pivot block what stands above the diagonal is arbitrary
            let (row, at) = if first + b > i { (first + b, i) } else { (i, first + b) };
            column[i % VECTOR_LANES] = data[row * stride + at];
        }
    }
}

/// scaled = Q·columns with Q the inverse of the pivot block.
#[inline(always)]
fn scale_columns(inverse: &MatrixBlock, columns: &[MatrixBlock], scaled: &mut [MatrixBlock]) {
    for (rows, column) in scaled.iter_mut().zip(columns) {
        for (c, row) in rows.iter_mut().enumerate() {
            let mut sum = [0.0; VECTOR_LANES];
            for b in 0..VECTOR_LANES {
                for l in 0..VECTOR_LANES {
                    sum[l] = inverse[b][c].mul_add(column[b][l], sum[l]);
                }
            }
            *row = sum;
        }
    }
}

/// rows −= factorsᵀ·columns, for four rows, `half` of a block.
#[inline(always)]
fn update_four(rows: &mut [f64], stride: usize, factors: &MatrixBlock, half: usize, columns: &[MatrixBlock]) {
    let (a, rest) = rows.split_at_mut(stride);
    let (b, rest) = rest.split_at_mut(stride);
    let (c, d) = rest.split_at_mut(stride);
    let chunks = a.as_chunks_mut::<VECTOR_LANES>().0.iter_mut().zip(b.as_chunks_mut::<VECTOR_LANES>().0);
    let chunks = chunks.zip(c.as_chunks_mut::<VECTOR_LANES>().0).zip(d.as_chunks_mut::<VECTOR_LANES>().0);
    for ((((a, b), c), d), column) in chunks.zip(columns) {
        let mut sums = [*a, *b, *c, *d];
        for k in 0..VECTOR_LANES {
            for (sum, factor) in sums.iter_mut().zip(&factors[k][half..half + 4]) {
                for l in 0..VECTOR_LANES {
                    sum[l] = (-factor).mul_add(column[k][l], sum[l]);
                }
            }
        }
        [*a, *b, *c, *d] = sums;
    }
}

/// Puts the swept rows and columns of the pivot block at `first` back: `scaled`, and −`inverse` in the block itself.
#[inline(always)]
fn scatter_pivot(
    data: &mut [f64],
    stride: usize,
    first: usize,
    inverse: &MatrixBlock,
    scaled: &[MatrixBlock],
) {
    for b in 0..VECTOR_LANES {
        let row = &mut data[(first + b) * stride..(first + b) * stride + first];
        for (chunk, block) in row.as_chunks_mut::<VECTOR_LANES>().0.iter_mut().zip(scaled) {
            *chunk = block[b];
        }
    }
    for (b, row) in inverse.iter().enumerate() {
        for (cell, value) in data[(first + b) * stride + first..].iter_mut().zip(row) {
            *cell = -value;
        }
    }
    for i in first + VECTOR_LANES..stride {
        for (b, cell) in data[i * stride + first..i * stride + first + VECTOR_LANES].iter_mut().enumerate() {
            *cell = scaled[i / VECTOR_LANES][b][i % VECTOR_LANES];
        }
    }
}

dispatched! {
    /// Sweeps every block of a padded symmetric matrix: see [`Symmetric::invert`].
    pub(crate) fn sweep_blocks(data: &mut [f64], stride: usize, log_determinant: &mut [f64; 1]) {
        let blocks = stride / VECTOR_LANES;
        let mut columns = vec![[[0.0; VECTOR_LANES]; VECTOR_LANES]; blocks];
        let mut scaled = vec![[[0.0; VECTOR_LANES]; VECTOR_LANES]; blocks];
        for p in 0..blocks {
            gather_pivot_columns(data, stride, p * VECTOR_LANES, &mut columns);
            let (inverse, log) = invert_block(&columns[p]);
            log_determinant[0] += log;
            scale_columns(&inverse, &columns, &mut scaled);
            for r in (0..blocks).filter(|&r| r != p) {
                for half in [0, 4] {
                    let top = r * VECTOR_LANES + half;
                    let rows = &mut data[top * stride..(top + 4) * stride];
                    update_four(rows, stride, &scaled[r], half, &columns[..=r]);
                }
            }
            scatter_pivot(data, stride, p * VECTOR_LANES, &inverse, &scaled);
        }
        for value in data.iter_mut() {
            *value = -*value;
        }
    }
}

dispatched! {
    /// [`Symmetric::factorize`] of the leading n × n block: row after row, by products of earlier rows.
    pub(crate) fn factorize(data: &mut [f64], stride: usize, n: usize, least: f64) {
        for i in 0..n {
            let (above, row) = data.split_at_mut(i * stride);
            for j in 0..i {
                let other = &above[j * stride..=j * stride + j];
                row[j] = (row[j] - dot_body(&row[..j], &other[..j])) / other[j];
            }
            let pivot = row[i] - dot_body(&row[..i], &row[..i]);
            row[i] = if pivot > least { pivot } else { least }.sqrt();
        }
    }
}

dispatched! {
    /// out = A·x for a symmetric A whose rows hold the lower triangle.
    pub(crate) fn multiply_symmetric(data: &[f64], stride: usize, x: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        for i in 0..x.len() {
            let row = &data[i * stride..i * stride + i];
            let own = dot_body(row, &x[..i]) + data[i * stride + i] * x[i];
            for (value, a) in out[..i].iter_mut().zip(row) {
                *value = a.mul_add(x[i], *value);
            }
            out[i] += own;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::simd::with_each_instruction_set;

    fn sample(n: usize) -> SymmetricMatrix {
        let mut a = SymmetricMatrix::zeros(n);
        for i in 0..n {
            for j in 0..=i {
                let distance = (i as f64 - j as f64) / 7.0;
                a.data[i * a.stride + j] = (-distance * distance).exp() + 0.3 * ((i * j) as f64).sin() / 10.0;
            }
            a.data[i * a.stride + i] += 2.0;
        }
        a
    }

    #[test]
    fn the_inverse_times_the_matrix_is_the_identity_for_every_order() {
        for n in [1, 2, 7, 8, 9, 16, 33, 64] {
            let a = sample(n);
            let mut inverse = a.clone();
            inverse.invert().expect("positive definite");
            for j in 0..n {
                let mut unit = vec![0.0; n];
                unit[j] = 1.0;
                let (mut column, mut back) = (vec![0.0; n], vec![0.0; n]);
                inverse.multiply_vector(&unit, &mut column);
                a.multiply_vector(&column, &mut back);
                for (i, value) in back.iter().enumerate() {
                    assert!((value - unit[i]).abs() < 1e-10, "n = {n}: ({i}, {j}) is {value}");
                }
            }
        }
    }

    #[test]
    fn the_log_determinant_is_that_of_elimination() {
        let mut diagonal = SymmetricMatrix::zeros(11);
        for i in 0..11 {
            diagonal.data[i * 16 + i] = (i + 1) as f64;
        }
        let expected: f64 = (1..=11).map(|i| f64::from(i).ln()).sum();
        assert!((diagonal.invert().unwrap() - expected).abs() < 1e-12);
        let (a, b) = (3.0_f64, 1.5);
        let mut pair = SymmetricMatrix::zeros(2);
        (pair.data[0], pair.data[8], pair.data[9]) = (a, b, a);
        assert!((pair.invert().unwrap() - (a * a - b * b).ln()).abs() < 1e-12);
    }

    #[test]
    fn an_expanded_matrix_is_symmetric_and_its_padding_empty() {
        for n in [3, 8, 13] {
            let (a, stride) = (sample(n), 24);
            let mut out = vec![f64::NAN; stride * stride];
            a.expand(stride, &mut out);
            for i in 0..a.stride {
                for j in 0..a.stride {
                    let inside = i < n && j < n;
                    let expected = if inside { a.data[i.max(j) * a.stride + i.min(j)] } else { 0.0 };
                    assert!(out[i * stride + j].total_cmp(&expected).is_eq(), "n = {n}: ({i}, {j})");
                }
            }
        }
    }

    #[test]
    fn a_matrix_that_is_not_positive_definite_is_refused() {
        for (a, b, c) in [(1.0, 2.0, 1.0), (0.0, 0.0, 1.0), (-1.0, 0.0, 1.0), (f64::NAN, 0.0, 1.0)] {
            let mut pair = SymmetricMatrix::zeros(2);
            (pair.data[0], pair.data[8], pair.data[9]) = (a, b, c);
            assert_eq!(pair.invert(), None, "{a} {b} {c}");
        }
    }

    #[test]
    fn all_instruction_sets_give_the_same_bits() {
        let all = with_each_instruction_set(|| {
            let mut a = sample(37);
            let log = a.invert();
            (a.data, log)
        });
        assert!(all.iter().all(|one| one == &all[0]));
    }
}

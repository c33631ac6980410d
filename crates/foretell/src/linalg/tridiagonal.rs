//! Symmetric matrices brought to tridiagonal form, in which every penalty λ of a ridge costs O(n²) instead of O(n³).

use crate::linalg::matrix::Matrix;
use crate::linalg::simd::{VECTOR_LANES, dispatched, dot_body};

/// A = Q·T·Qᵀ with orthogonal Q and tridiagonal T.
///
/// Q is m × m, kept transposed with rows padded to whole vectors. Householder's reduction (Golub & Van Loan, *Matrix
/// computations*, §8.3.1), 10/3·m³ operations, once for all penalties: it spares the iterations of a full eigendecomposition.
#[derive(Clone, Debug)]
pub(crate) struct TridiagonalForm {
    diagonal: Vec<f64>,
    /// The entries next to the diagonal, length m − 1 (padded by one 0).
    beside: Vec<f64>,
    /// Qᵀ, row after row.
    rotation: Vec<f64>,
    stride: usize,
}

impl TridiagonalForm {
    /// Reduces the symmetric `matrix`; all its entries are read.
    pub(crate) fn new(matrix: &Matrix) -> Self {
        let m = matrix.row_count();
        let stride = m.next_multiple_of(VECTOR_LANES);
        let mut work = pad_rows(matrix, stride);
        let mut reflectors = vec![0.0; m * stride];
        let mut factors = vec![0.0; m];
        let (mut diagonal, mut beside) = (vec![0.0; m], vec![0.0; m]);
        reduce(m, stride, &mut work, &mut reflectors, &mut factors, &mut beside);
        for (k, entry) in diagonal.iter_mut().enumerate() {
            *entry = work[k * stride + k];
        }
        accumulate(m, stride, &reflectors, &factors, &mut work, &mut vec![0.0; stride]);
        let mut rotation = reflectors;
        for i in 0..m {
            for k in 0..m {
                rotation[k * stride + i] = work[i * stride + k];
            }
        }
        Self { diagonal, beside, rotation, stride }
    }

    /// m, the size of the matrix.
    fn size(&self) -> usize {
        self.diagonal.len()
    }

    /// Qᵀ·`vector`.
    pub(crate) fn rotate(&self, vector: &[f64]) -> Vec<f64> {
        let rows = self.rotation.chunks_exact(self.stride.max(1)).take(self.size());
        rows.map(|row| crate::linalg::simd::dot(&row[..self.size()], vector)).collect()
    }

    /// Qᵀ·`columns`ᵀ: the rows of `columns`, shape (n, m), rotated, as the columns of the result.
    pub(crate) fn rotate_rows(&self, columns: &Matrix) -> RotatedPoints {
        let stride = columns.row_count().next_multiple_of(VECTOR_LANES);
        let mut data = vec![0.0; self.size() * stride];
        for (i, row) in (0..columns.row_count()).map(|i| (i, columns.row(i))) {
            for (k, value) in self.rotate(row).into_iter().enumerate() {
                data[k * stride + i] = value;
            }
        }
        RotatedPoints { data, stride, count: columns.row_count() }
    }

    /// The unit vectors, rotated: Qᵀ itself.
    pub(crate) fn unit_points(&self) -> RotatedPoints {
        RotatedPoints { data: self.rotation.clone(), stride: self.stride, count: self.size() }
    }

    /// With B = (A + λI)⁻¹: for each of the rotated `points` p its quadratic form pᵀBp and its product pᵀBc with the
    /// rotated vector `c`; O(m·points). A + λI must be positive definite.
    pub(crate) fn resolve(&self, lambda: f64, points: &RotatedPoints, c: &[f64], out: &mut ResolvedPoints) {
        let m = self.size();
        out.forms.clear();
        out.forms.resize(points.stride, 0.0);
        out.products.clear();
        out.products.resize(points.stride, 0.0);
        // T + λ = L·D·Lᵀ with unit lower bidiagonal L; u = L⁻¹c
        let mut steps = Vec::with_capacity(m);
        let (mut pivot, mut u) = (1.0, 0.0);
        for (k, &moment) in c.iter().enumerate().take(m) {
            let beside = if k == 0 { 0.0 } else { self.beside[k - 1] };
            let carry = beside / pivot;
            // rounding must not turn a pivot of a positive definite matrix over
            pivot = (self.diagonal[k] + lambda - carry * beside).max(lambda * 0.5);
            u = moment - carry * u;
            steps.push([carry, 1.0 / pivot, u / pivot]);
        }
        substitute(&points.data, points.stride, &steps, &mut out.forms, &mut out.products);
        out.forms.truncate(points.count);
        out.products.truncate(points.count);
    }

    /// Q·T'⁻¹·c with T' = T + λ: the solution of (A + λI)·x = b for c = Qᵀb.
    pub(crate) fn solve(&self, lambda: f64, c: &[f64]) -> Vec<f64> {
        let mut out = ResolvedPoints::default();
        self.resolve(lambda, &self.unit_points(), c, &mut out);
        out.products
    }
}

/// Rotated points, as columns; rows are padded to whole vectors.
#[derive(Clone, Debug)]
pub(crate) struct RotatedPoints {
    data: Vec<f64>,
    stride: usize,
    count: usize,
}

/// The result of [`TridiagonalForm::resolve`], one entry per point.
#[derive(Clone, Debug, Default)]
pub(crate) struct ResolvedPoints {
    /// pᵀ(A + λI)⁻¹p.
    pub(crate) forms: Vec<f64>,
    /// pᵀ(A + λI)⁻¹c.
    pub(crate) products: Vec<f64>,
}

fn pad_rows(matrix: &Matrix, stride: usize) -> Vec<f64> {
    let mut data = vec![0.0; matrix.row_count() * stride];
    for (i, row) in data.chunks_exact_mut(stride.max(1)).enumerate() {
        row[..matrix.column_count()].copy_from_slice(matrix.row(i));
    }
    data
}

/// target += factor · row.
#[inline(always)]
fn add_scaled(target: &mut [f64], factor: f64, row: &[f64]) {
    let n = target.len().min(row.len());
    for (t, r) in target[..n].iter_mut().zip(&row[..n]) {
        *t += factor * r;
    }
}

dispatched! {
    /// Householder reflections from both sides; leaves the diagonal in `a`, the reflectors in the rows of `v`.
    pub(crate) fn reduce(
        m: usize,
        stride: usize,
        a: &mut [f64],
        v: &mut [f64],
        factors: &mut [f64],
        beside: &mut [f64],
    ) {
        let mut w = vec![0.0; stride];
        for k in 0..m.saturating_sub(1) {
            // whole vectors from here on: entries up to k of the reflector are zero
            let from = (k + 1) / VECTOR_LANES * VECTOR_LANES;
            let reflector = &mut v[k * stride..(k + 1) * stride];
            reflector[k + 1..m].copy_from_slice(&a[k * stride + k + 1..k * stride + m]);
            let tail = dot_body(&reflector[k + 2..m], &reflector[k + 2..m]);
            let head = reflector[k + 1];
            if tail <= 0.0 {
                beside[k] = head;
                factors[k] = 0.0;
                continue;
            }
            let length = (head * head + tail).sqrt();
            // on the other side of 0, so that the difference from the head does not cancel
            let image = if head > 0.0 { -length } else { length };
            beside[k] = image;
            reflector[k + 1] = head - image;
            let factor = 2.0 / (tail + (head - image) * (head - image));
            factors[k] = factor;
            let reflector = &v[k * stride + from..(k + 1) * stride];
            // w = factor·A·v − (factor²/2·vᵀAv)·v
            w.fill(0.0);
            for i in k + 1..m {
                w[i] = factor * dot_body(&a[i * stride + from..(i + 1) * stride], reflector);
            }
            let half = 0.5 * factor * dot_body(&w[from..], reflector);
            add_scaled(&mut w[from..], -half, reflector);
            // A −= v·wᵀ + w·vᵀ
            for i in k + 1..m {
                let (v_i, w_i) = (reflector[i - from], w[i]);
                let row = &mut a[i * stride + from..(i + 1) * stride];
                let n = row.len();
                let (w_row, v_row) = (&w[from..from + n], &reflector[..n]);
                for ((cell, x), y) in row.iter_mut().zip(w_row).zip(v_row) {
                    *cell -= v_i * x + w_i * y;
                }
            }
        }
    }
}

dispatched! {
    /// The product of the reflections, in `q`, row after row.
    pub(crate) fn accumulate(m: usize, stride: usize, v: &[f64], factors: &[f64], q: &mut [f64], t: &mut [f64]) {
        q.fill(0.0);
        for i in 0..m {
            q[i * stride + i] = 1.0;
        }
        for k in (0..m.saturating_sub(1)).rev() {
            if factors[k] <= 0.0 {
                continue;
            }
            let from = (k + 1) / VECTOR_LANES * VECTOR_LANES;
            let reflector = &v[k * stride..(k + 1) * stride];
            t.fill(0.0);
            for i in k + 1..m {
                add_scaled(&mut t[from..], reflector[i], &q[i * stride + from..(i + 1) * stride]);
            }
            for i in k + 1..m {
                add_scaled(&mut q[i * stride + from..(i + 1) * stride], -factors[k] * reflector[i], &t[from..]);
            }
        }
    }
}

/// One column per point: z = L⁻¹·points, with Σ z²/pivot and Σ z·weight, for `W` points from `at` on, which stay in registers.
#[inline(always)]
fn substitute_block<const W: usize>(
    points: &[f64],
    stride: usize,
    at: usize,
    steps: &[[f64; 3]],
    forms: &mut [f64],
    products: &mut [f64],
) {
    let (mut z, mut form, mut product) = ([0.0; W], [0.0; W], [0.0; W]);
    for (row, &[carry, inverse, weight]) in points.chunks_exact(stride).zip(steps) {
        let row = &row[at..at + W];
        for l in 0..W {
            let value = row[l] - carry * z[l];
            z[l] = value;
            form[l] += value * value * inverse;
            product[l] += value * weight;
        }
    }
    forms[at..at + W].copy_from_slice(&form);
    products[at..at + W].copy_from_slice(&product);
}

dispatched! {
    /// z = L⁻¹·points, row by row, with Σ z²/pivot into `forms` and Σ z·u/pivot into `products`; `steps` holds (entry of L
    /// next to the diagonal, 1/pivot, u/pivot) for each row.
    pub(crate) fn substitute(
        points: &[f64],
        stride: usize,
        steps: &[[f64; 3]],
        forms: &mut [f64],
        products: &mut [f64],
    ) {
        let mut at = 0;
        while at + 4 * VECTOR_LANES <= stride {
            substitute_block::<{ 4 * VECTOR_LANES }>(points, stride, at, steps, forms, products);
            at += 4 * VECTOR_LANES;
        }
        while at < stride {
            substitute_block::<VECTOR_LANES>(points, stride, at, steps, forms, products);
            at += VECTOR_LANES;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::simd::with_each_instruction_set;

    fn sample(m: usize) -> Matrix {
        let point = |i: usize| [(i as f64 * 0.7).sin(), (i as f64 * 1.3).cos()];
        Matrix::from_fn(m, m, |i, j| {
            let (p, q) = (point(i), point(j));
            (-(p[0] - q[0]).powi(2) - (p[1] - q[1]).powi(2)).exp()
        })
    }

    #[test]
    fn solves_every_shifted_system() {
        for m in [1, 2, 3, 7, 8, 9, 30] {
            let a = sample(m);
            let tridiagonal = TridiagonalForm::new(&a);
            let b: Vec<f64> = (0..m).map(|i| (i as f64).cos()).collect();
            for lambda in [1e-3, 0.1, 10.0] {
                let x = tridiagonal.solve(lambda, &tridiagonal.rotate(&b));
                for i in 0..m {
                    let image = crate::linalg::simd::dot(a.row(i), &x) + lambda * x[i];
                    assert!(
                        (image - b[i]).abs() < 1e-9,
                        "m = {m}, λ = {lambda}, row {i}: {image} for {}",
                        b[i]
                    );
                }
            }
        }
    }

    #[test]
    fn quadratic_forms_are_those_of_the_inverse() {
        let (m, lambda) = (13, 0.05);
        let tridiagonal = TridiagonalForm::new(&sample(m));
        let mut out = ResolvedPoints::default();
        tridiagonal.resolve(lambda, &tridiagonal.unit_points(), &vec![0.0; m], &mut out);
        for i in 0..m {
            let mut unit = vec![0.0; m];
            unit[i] = 1.0;
            let column = tridiagonal.solve(lambda, &tridiagonal.rotate(&unit));
            assert!((out.forms[i] - column[i]).abs() < 1e-10);
        }
    }

    #[test]
    fn every_instruction_set_gives_the_same_bits() {
        let a = sample(21);
        let all = with_each_instruction_set(|| {
            let t = TridiagonalForm::new(&a);
            (t.solve(0.1, &t.rotate(&[0.5; 21])), t.diagonal, t.beside)
        });
        assert!(all.iter().all(|result| result == &all[0]));
    }
}

//! Pairwise sums over features for many weightings at once: what every kernel matrix of a fit is made from.
//!
//! Standardising on a subset of the runs (a fold, all but one) only rescales columns, so with z standardised on all runs
//! the squared distance under any such scaling is Σ_f w_f·(z_if − z_jf)², and the linear kernel Σ_f w_f·z_if·z_jf but for a
//! translation, which the bias takes up. One pass forms (z_if − z_jf)² once for eight weightings. The sums grow feature by
//! feature, so a longer curve only adds its new columns.

use super::search::Kernel;
use super::solver::KernelMatrix;
use crate::simd::{LANES, dispatched, exp2_body};

/// Pairwise sums of n points for several weightings of their features.
///
/// Only blocks of eight columns up to the diagonal's are kept. O(weightings · n²/2) memory.
#[derive(Clone, Debug)]
pub(crate) struct Geometry {
    pub(crate) n: usize,
    pub(crate) stride: usize,
    kernel: Kernel,
    /// How many weightings go through memory together: 4 or 8.
    group: usize,
    /// One n × stride matrix a weighting, rounded up to whole groups.
    sums: Vec<f64>,
}

impl Geometry {
    /// Sums of no features yet.
    pub(crate) fn new(n: usize, kernel: Kernel, weightings: usize) -> Self {
        let stride = n.next_multiple_of(LANES);
        let group = if weightings <= 4 { 4 } else { 8 };
        let sums = vec![0.0; weightings.next_multiple_of(group) * n * stride];
        Self { n, stride, kernel, group, sums }
    }

    /// Adds features: `z`, feature after feature, each a padded vector over the points; `weights`, feature after feature,
    /// each one number a weighting. O(features · weightings · n²/2).
    pub(crate) fn add(&mut self, z: &[f64], weights: &[f64]) {
        self.add_from(z, weights, 0);
    }

    /// [`Geometry::add`] where `weights` has more numbers a feature than there are weightings, those from `first` on being
    /// meant.
    pub(crate) fn add_from(&mut self, z: &[f64], weights: &[f64], first: usize) {
        let features = z.len() / self.stride.max(1);
        let size = self.n * self.stride;
        if features == 0 || size == 0 {
            return;
        }
        let width = weights.len() / features;
        let mut packed = vec![0.0; features * self.group];
        for (g, sums) in self.sums.chunks_mut(size * self.group).enumerate() {
            for (cells, row) in packed.chunks_mut(self.group).zip(weights.chunks(width)) {
                for (u, cell) in cells.iter_mut().enumerate() {
                    *cell = row.get(first + g * self.group + u).copied().unwrap_or(0.0);
                }
            }
            let product = self.kernel == Kernel::Linear;
            accumulate(sums, self.n, self.stride, z, &packed, self.group, product);
        }
    }

    /// Back to sums of no features.
    pub(crate) fn clear(&mut self) {
        self.sums.fill(0.0);
    }

    fn of(&self, weighting: usize) -> &[f64] {
        let size = self.n * self.stride;
        &self.sums[weighting * size..(weighting + 1) * size]
    }

    /// The sum for points `i` and `j` under a weighting.
    pub(crate) fn at(&self, weighting: usize, i: usize, j: usize) -> f64 {
        self.of(weighting)[i.max(j) * self.stride + i.min(j)]
    }

    /// The kernel matrix of all points under a weighting; γ is unused by the linear kernel.
    pub(crate) fn kernel_matrix(&self, weighting: usize, gamma: f64, out: &mut KernelMatrix) {
        out.shape(self.n);
        match self.kernel {
            Kernel::Rbf => mirror_exp(self.of(weighting), self.n, self.stride, gamma, &mut out.data),
            Kernel::Linear => mirror(self.of(weighting), self.n, self.stride, &mut out.data),
        }
    }

    /// Copies the sums between `rows` and `columns` under a weighting, row-major, rows padded to `stride` with zeros.
    pub(crate) fn gather(
        &self,
        weighting: usize,
        rows: &[usize],
        columns: &[usize],
        stride: usize,
    ) -> Vec<f64> {
        let mut out = vec![0.0; rows.len() * stride];
        for (cells, &i) in out.chunks_mut(stride.max(1)).zip(rows) {
            for (cell, &j) in cells.iter_mut().zip(columns) {
                *cell = self.at(weighting, i, j);
            }
        }
        out
    }
}

/// One block of eight columns for `G` weightings: sums over all features, kept in registers.
#[inline(always)]
fn accumulate_body<const G: usize, const PRODUCT: bool>(
    sums: &mut [f64],
    n: usize,
    stride: usize,
    z: &[f64],
    weights: &[f64],
) {
    let size = n * stride;
    for j in 0..n {
        for k in (0..=j).step_by(LANES) {
            let mut lanes = [[0.0; LANES]; G];
            for (u, lane) in lanes.iter_mut().enumerate() {
                let at = u * size + j * stride + k;
                lane.copy_from_slice(&sums[at..at + LANES]);
            }
            for (column, weight) in z.chunks_exact(stride).zip(weights.as_chunks::<G>().0) {
                let zj = column[j];
                let block: &[f64; LANES] =
                    column[k..].first_chunk().expect("columns are padded to whole blocks");
                let mut term = [0.0; LANES];
                for l in 0..LANES {
                    term[l] = if PRODUCT { block[l] * zj } else { (block[l] - zj) * (block[l] - zj) };
                }
                for (lane, w) in lanes.iter_mut().zip(weight) {
                    for l in 0..LANES {
                        lane[l] += w * term[l];
                    }
                }
            }
            for (u, lane) in lanes.iter().enumerate() {
                let at = u * size + j * stride + k;
                sums[at..at + LANES].copy_from_slice(lane);
            }
        }
    }
}

dispatched! {
    /// Adds features to the sums of `group` (4 or 8) weightings.
    pub(crate) fn accumulate(sums: &mut [f64], n: usize, stride: usize, z: &[f64], weights: &[f64], group: usize, product: bool) {
        match (group, product) {
            (4, false) => accumulate_body::<4, false>(sums, n, stride, z, weights),
            (4, true) => accumulate_body::<4, true>(sums, n, stride, z, weights),
            (_, false) => accumulate_body::<8, false>(sums, n, stride, z, weights),
            (_, true) => accumulate_body::<8, true>(sums, n, stride, z, weights),
        }
    }
}

/// Copies the lower triangle to the upper one, block of eight by eight after block, and clears the padding.
#[inline(always)]
fn reflect(out: &mut [f64], n: usize, stride: usize) {
    for top in (0..n).step_by(LANES) {
        let rows = top..n.min(top + LANES);
        for left in (0..=top).step_by(LANES) {
            let mut block = [[0.0; LANES]; LANES];
            for j in rows.clone() {
                block[j - top].copy_from_slice(&out[j * stride + left..j * stride + left + LANES]);
            }
            for k in left..n.min(left + LANES) {
                let from = if left == top { k + 1 } else { top };
                for j in from..rows.end {
                    out[k * stride + j] = block[j - top][k - left];
                }
            }
        }
    }
    for row in out.chunks_mut(stride.max(1)).take(n) {
        row[n..].fill(0.0);
    }
}

dispatched! {
    /// The symmetric matrix e^(−γ·sums) of the lower triangle of `sums`, padding 0.
    pub(crate) fn mirror_exp(sums: &[f64], n: usize, stride: usize, gamma: f64, out: &mut [f64]) {
        let rate = gamma * std::f64::consts::LOG2_E;
        for j in 0..n {
            let end = j / LANES * LANES + LANES;
            let row = j * stride..j * stride + end;
            for (cell, d) in out[row.clone()].iter_mut().zip(&sums[row]) {
                *cell = exp2_body(-rate * d);
            }
        }
        reflect(out, n, stride);
    }
}

dispatched! {
    /// The symmetric matrix of the lower triangle of `sums`, padding 0.
    pub(crate) fn mirror(sums: &[f64], n: usize, stride: usize, out: &mut [f64]) {
        out.copy_from_slice(sums);
        reflect(out, n, stride);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::with_each_instruction_set;

    /// 11 points, 7 features, 5 weightings from a smooth sequence.
    fn sample() -> (Vec<f64>, Vec<f64>) {
        let z = (0..7 * 16).map(|i| if i % 16 < 11 { (f64::from(i) * 0.7).sin() } else { 0.0 });
        (z.collect(), (0..7 * 5).map(|i| 0.5 + f64::from(i % 4)).collect())
    }

    #[test]
    fn sums_are_those_of_the_plain_loop_however_the_features_arrive() {
        let (z, weights) = sample();
        for kernel in [Kernel::Rbf, Kernel::Linear] {
            let all = with_each_instruction_set(|| {
                let (mut at_once, mut split) = (Geometry::new(11, kernel, 5), Geometry::new(11, kernel, 5));
                at_once.add(&z, &weights);
                split.add(&z[..3 * 16], &weights[..3 * 5]);
                split.add(&z[3 * 16..], &weights[3 * 5..]);
                (at_once, split)
            });
            for (at_once, split) in &all {
                for (w, i, j) in [(0, 0, 0), (4, 10, 3), (2, 5, 9), (3, 8, 7)] {
                    let term = |f: usize| {
                        let (a, b) = (z[f * 16 + i], z[f * 16 + j]);
                        weights[f * 5 + w] * if kernel == Kernel::Rbf { (a - b).powi(2) } else { a * b }
                    };
                    let plain: f64 = (0..7).map(term).sum();
                    assert!((at_once.at(w, i, j) - plain).abs() < 1e-12, "{kernel:?} {w} {i} {j}");
                    assert!(at_once.at(w, i, j).total_cmp(&all[0].1.at(w, i, j)).is_eq());
                    assert!(split.at(w, i, j).total_cmp(&at_once.at(w, i, j)).is_eq());
                }
            }
        }
    }

    #[test]
    fn kernel_matrices_are_symmetric_with_empty_padding() {
        let (z, weights) = sample();
        let mut geometry = Geometry::new(11, Kernel::Rbf, 5);
        geometry.add(&z, &weights);
        let mut matrix = KernelMatrix::default();
        geometry.kernel_matrix(3, 0.4, &mut matrix);
        for i in 0..11 {
            for j in 0..11 {
                let expected = (-0.4 * geometry.at(3, i, j)).exp();
                assert!((matrix.row(i)[j] - expected).abs() < 1e-14, "{i} {j}");
            }
            assert!(matrix.row(i)[11..].iter().all(|&v| v.abs() <= 0.0));
        }
    }
}

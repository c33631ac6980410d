//! Pairwise sums over features for many weightings at once: the basis of every kernel matrix of a fit.
//!
//! Standardizing on a subset of the runs (a fold, all but one) only rescales columns, so with z standardized on all runs
//! the squared distance under any such scaling is Σ_f w_f·(z_if − z_jf)², and the linear kernel Σ_f w_f·z_if·z_jf but for a
//! translation, which the bias takes up. One pass forms (z_if − z_jf)² once for eight weightings. The sums grow feature by
//! feature, so a longer curve only adds its new columns.

use super::parameters::Kernel;
use super::program::KernelMatrix;
use crate::linalg::simd::{VECTOR_LANES, dispatched, exp_scaled, exp2_body};
use crate::predict::points::BlockedPoints;
use std::ops::Range;

/// Pairwise sums of n points for several weightings of their features; `f32` where the sums are small changes to others.
///
/// O(weightings · n²/2) memory: each weighting's sums are a packed triangle ([`row_start`]).
#[derive(Clone, Debug)]
pub(crate) struct PairwiseSums<T = f64> {
    n: usize,
    kernel: Kernel,
    /// The number of weightings that go through memory together: 1, 4 or 8.
    group: usize,
    /// One packed triangle per weighting, rounded up to whole groups.
    sums: Vec<T>,
}

/// Where row `i` of a packed triangle begins: rows are padded to the end of the diagonal's block of eight columns and
/// follow one another, so that one loop without remainders goes over all of them.
fn row_start(i: usize) -> usize {
    let block = i / VECTOR_LANES;
    (VECTOR_LANES * block / 2 * VECTOR_LANES + i % VECTOR_LANES * VECTOR_LANES) * (block + 1)
}

/// The number type in which sums are kept.
pub(crate) trait Term:
    Copy + Default + std::ops::Sub<Output = Self> + std::ops::Mul<Output = Self>
{
    /// self·b + c, rounded once.
    fn times_plus(self, b: Self, c: Self) -> Self;

    /// The nearest number.
    fn from_f64(value: f64) -> Self;

    /// Adds features of n [`Points`] to the sums of `group` (1, 4 or 8) weightings, as many as have weights; `from` is n,
    /// how many features there are, and the first of those added; `product` for the linear kernel.
    fn accumulate(
        sums: &mut [Self],
        points: &[Self],
        from: [usize; 3],
        weights: &[Self],
        group: usize,
        product: bool,
    );
}

impl<T: Term> PairwiseSums<T> {
    /// Sums of no features yet.
    pub(crate) fn new(n: usize, kernel: Kernel, weightings: usize) -> Self {
        let group = match weightings {
            ..=1 => 1,
            2..=4 => 4,
            _ => 8,
        };
        let sums = vec![T::default(); weightings.next_multiple_of(group) * row_start(n)];
        Self { n, kernel, group, sums }
    }

    /// Adds the features `which` of `points`; `weights`, feature after feature, has one number a weighting.
    /// O(features · weightings · n²/2).
    pub(crate) fn add(&mut self, points: &BlockedPoints<T>, which: Range<usize>, weights: &[f64]) {
        self.add_features_from(points, which, weights, 0);
    }

    /// [`PairwiseSums::add`] where `weights` has more numbers per feature than there are weightings, those from `first` on being meant.
    pub(crate) fn add_features_from(
        &mut self,
        points: &BlockedPoints<T>,
        which: Range<usize>,
        weights: &[f64],
        first: usize,
    ) {
        let size = row_start(self.n);
        if which.is_empty() || size == 0 {
            return;
        }
        let width = weights.len() / which.len();
        let mut packed = vec![T::default(); which.len() * self.group];
        for (g, sums) in self.sums.chunks_mut(size * self.group).enumerate() {
            for (cells, row) in packed.chunks_mut(self.group).zip(weights.chunks(width)) {
                for (u, cell) in cells.iter_mut().enumerate() {
                    // the last group is filled up with weightings of 0, which nobody reads
                    *cell = T::from_f64(row.get(first + g * self.group + u).copied().unwrap_or(0.0));
                }
            }
            let from = [self.n, points.features, which.start];
            T::accumulate(sums, &points.values, from, &packed, self.group, self.kernel == Kernel::Linear);
        }
    }

    /// Back to sums of no features.
    pub(crate) fn clear(&mut self) {
        self.sums.fill(T::default());
    }

    fn weighting_sums(&self, weighting: usize) -> &[T] {
        let size = row_start(self.n);
        &self.sums[weighting * size..(weighting + 1) * size]
    }
}

impl PairwiseSums {
    /// The sum for points `i` and `j` under a weighting.
    pub(crate) fn entry(&self, weighting: usize, i: usize, j: usize) -> f64 {
        self.weighting_sums(weighting)[row_start(i.max(j)) + i.min(j)]
    }

    /// The kernel matrix of all points under a weighting; γ is unused by the linear kernel.
    pub(crate) fn kernel_matrix(&self, weighting: usize, gamma: f64, out: &mut KernelMatrix) {
        out.fill_from(self.kernel, self.weighting_sums(weighting), self.n, gamma);
    }

    /// The kernel matrix of the sums under weighting `from` with the sums of `changes` under weighting `to` added.
    pub(crate) fn changed_kernel_matrix(
        &self,
        from: usize,
        changes: &PairwiseSums<f32>,
        to: usize,
        gamma: f64,
        out: &mut KernelMatrix,
    ) {
        out.shape(self.n);
        out.packed.resize(row_start(self.n), 0.0);
        match self.kernel {
            Kernel::Rbf => {
                exp_changed(self.weighting_sums(from), changes.weighting_sums(to), gamma, &mut out.packed)
            }
            Kernel::Linear => {
                for ((cell, sum), change) in
                    out.packed.iter_mut().zip(self.weighting_sums(from)).zip(changes.weighting_sums(to))
                {
                    *cell = sum + f64::from(*change);
                }
            }
        }
        unpack(&out.packed, self.n, out.stride, &mut out.data);
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
                *cell = self.entry(weighting, i, j);
            }
        }
        out
    }

    /// The packed triangle of the sums between the points `among` under a weighting.
    pub(crate) fn gather_triangle(&self, weighting: usize, among: &[usize]) -> Vec<f64> {
        let mut out = vec![0.0; row_start(among.len())];
        for (a, &i) in among.iter().enumerate() {
            for (cell, &j) in out[row_start(a)..].iter_mut().zip(&among[..=a]) {
                *cell = self.entry(weighting, i, j);
            }
        }
        out
    }
}

impl KernelMatrix {
    /// The kernel matrix of n points whose sums are a packed triangle.
    pub(crate) fn fill_from(&mut self, kernel: Kernel, sums: &[f64], n: usize, gamma: f64) {
        self.shape(n);
        if kernel == Kernel::Linear {
            return unpack(sums, n, self.stride, &mut self.data);
        }
        self.packed.resize(sums.len(), 0.0);
        exp_scaled(sums, gamma, &mut self.packed);
        unpack(&self.packed, n, self.stride, &mut self.data);
    }
}

/// One block of eight columns of one row for `G` weightings: sums over all features, kept in registers.
#[inline(always)]
fn accumulate_block<T: Term, const G: usize, const PRODUCT: bool>(
    sums: &mut [T],
    size: usize,
    columns: &[[T; VECTOR_LANES]],
    (row, lane_of_row): (&[[T; VECTOR_LANES]], usize),
    weights: &[[T; G]],
) {
    let mut lanes = [[T::default(); VECTOR_LANES]; G];
    for (u, lane) in lanes.iter_mut().enumerate() {
        lane.copy_from_slice(&sums[u * size..u * size + VECTOR_LANES]);
    }
    for ((block, others), weight) in columns.iter().zip(row).zip(weights) {
        let zj = others[lane_of_row];
        let mut term = [T::default(); VECTOR_LANES];
        for l in 0..VECTOR_LANES {
            term[l] = if PRODUCT { block[l] * zj } else { (block[l] - zj) * (block[l] - zj) };
        }
        for (lane, w) in lanes.iter_mut().zip(weight) {
            for l in 0..VECTOR_LANES {
                lane[l] = w.times_plus(term[l], lane[l]);
            }
        }
    }
    for (u, lane) in lanes.iter().enumerate() {
        sums[u * size..u * size + VECTOR_LANES].copy_from_slice(lane);
    }
}

/// Block of rows after block of rows, so that what is read stays in the nearest cache.
#[inline(always)]
fn accumulate_body<T: Term, const G: usize, const PRODUCT: bool>(
    sums: &mut [T],
    points: &[T],
    [n, features, first]: [usize; 3],
    weights: &[T],
) {
    let (size, weights) = (row_start(n), weights.as_chunks::<G>().0);
    let points = points.as_chunks::<VECTOR_LANES>().0;
    for top in (0..n).step_by(VECTOR_LANES) {
        let row = &points[top / VECTOR_LANES * features + first..][..weights.len()];
        for left in (0..=top).step_by(VECTOR_LANES) {
            let columns = &points[left / VECTOR_LANES * features + first..][..weights.len()];
            for j in top..n.min(top + VECTOR_LANES) {
                let sums = &mut sums[row_start(j) + left..];
                accumulate_block::<T, G, PRODUCT>(sums, size, columns, (row, j - top), weights);
            }
        }
    }
}

/// Sums kept in `$number`, and [`Term::accumulate`] in them, called `$accumulate`.
macro_rules! term {
    ($number:ident, $accumulate:ident) => {
        impl Term for $number {
            #[inline(always)]
            fn times_plus(self, b: Self, c: Self) -> Self {
                self.mul_add(b, c)
            }

            fn from_f64(value: f64) -> Self {
                value as Self
            }

            fn accumulate(
                sums: &mut [Self],
                points: &[Self],
                from: [usize; 3],
                weights: &[Self],
                group: usize,
                product: bool,
            ) {
                $accumulate(sums, points, from, weights, group, product);
            }
        }

        dispatched! {
            /// [`Term::accumulate`].
            pub(crate) fn $accumulate(sums: &mut [$number], points: &[$number], from: [usize; 3], weights: &[$number], group: usize, product: bool) {
                match (group, product) {
                    (1, false) => accumulate_body::<$number, 1, false>(sums, points, from, weights),
                    (1, true) => accumulate_body::<$number, 1, true>(sums, points, from, weights),
                    (4, false) => accumulate_body::<$number, 4, false>(sums, points, from, weights),
                    (4, true) => accumulate_body::<$number, 4, true>(sums, points, from, weights),
                    (_, false) => accumulate_body::<$number, 8, false>(sums, points, from, weights),
                    (_, true) => accumulate_body::<$number, 8, true>(sums, points, from, weights),
                }
            }
        }
    };
}

term!(f64, accumulate);
term!(f32, accumulate_changes);

dispatched! {
    /// out_i = e^(−γ·(sum_i + change_i)).
    pub(crate) fn exp_changed(sums: &[f64], changes: &[f32], gamma: f64, out: &mut [f64]) {
        let rate = gamma * std::f64::consts::LOG2_E;
        for ((value, sum), change) in out.iter_mut().zip(sums).zip(changes) {
            *value = exp2_body(-rate * (sum + f64::from(*change)));
        }
    }
}

dispatched! {
    /// The symmetric matrix of a packed triangle, rows padded to `stride` with zeros.
    pub(crate) fn unpack(packed: &[f64], n: usize, stride: usize, out: &mut [f64]) {
        for top in (0..n).step_by(VECTOR_LANES) {
            let rows = VECTOR_LANES.min(n - top);
            for left in (0..=top).step_by(VECTOR_LANES) {
                let mut block = [[0.0; VECTOR_LANES]; VECTOR_LANES];
                for (a, row) in block.iter_mut().take(rows).enumerate() {
                    row.copy_from_slice(&packed[row_start(top + a) + left..][..VECTOR_LANES]);
                }
                let mut turned = [[0.0; VECTOR_LANES]; VECTOR_LANES];
                for a in 0..VECTOR_LANES {
                    for b in 0..VECTOR_LANES {
                        turned[b][a] = block[a][b];
                    }
                }
                if left == top {
                    for a in 0..VECTOR_LANES {
                        for b in 0..VECTOR_LANES {
                            block[a][b] = if b <= a { block[a][b] } else { turned[a][b] };
                        }
                    }
                } else {
                    for (b, row) in turned.iter().enumerate() {
                        out[(left + b) * stride + top..][..VECTOR_LANES].copy_from_slice(row);
                    }
                }
                for (a, row) in block.iter().take(rows).enumerate() {
                    out[(top + a) * stride + left..][..VECTOR_LANES].copy_from_slice(row);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::simd::with_each_instruction_set;

    /// 11 points, 7 features, 5 weightings from a smooth sequence.
    fn sample() -> (Vec<f64>, Vec<f64>) {
        let z = (0..7 * 16).map(|i| if i % 16 < 11 { (f64::from(i) * 0.7).sin() } else { 0.0 });
        (z.collect(), (0..7 * 5).map(|i| 0.5 + f64::from(i % 4)).collect())
    }

    #[test]
    fn sums_are_those_of_the_plain_loop_however_the_features_arrive() {
        let (z, weights) = sample();
        let points = BlockedPoints::new(&z, 16, |z| z);
        for kernel in [Kernel::Rbf, Kernel::Linear] {
            let all = with_each_instruction_set(|| {
                let (mut at_once, mut split) =
                    (PairwiseSums::new(11, kernel, 5), PairwiseSums::new(11, kernel, 5));
                at_once.add(&points, 0..7, &weights);
                split.add(&points, 0..3, &weights[..3 * 5]);
                split.add(&points, 3..7, &weights[3 * 5..]);
                (at_once, split)
            });
            for (at_once, split) in &all {
                for (w, i, j) in [(0, 0, 0), (4, 10, 3), (2, 5, 9), (3, 8, 7)] {
                    let term = |f: usize| {
                        let (a, b) = (z[f * 16 + i], z[f * 16 + j]);
                        weights[f * 5 + w] * if kernel == Kernel::Rbf { (a - b).powi(2) } else { a * b }
                    };
                    let plain: f64 = (0..7).map(term).sum();
                    assert!((at_once.entry(w, i, j) - plain).abs() < 1e-12, "{kernel:?} {w} {i} {j}");
                    assert!(at_once.entry(w, i, j).total_cmp(&all[0].1.entry(w, i, j)).is_eq());
                    assert!(split.entry(w, i, j).total_cmp(&at_once.entry(w, i, j)).is_eq());
                }
            }
        }
    }

    #[test]
    fn changed_kernels_are_those_of_the_changed_weights() {
        let (z, weights) = sample();
        let points = BlockedPoints::new(&z, 16, |z| z);
        let changes: Vec<f64> = weights.iter().map(|w| 0.1 * w - 0.05).collect();
        let changed: Vec<f64> = weights.iter().zip(&changes).map(|(w, change)| w + change).collect();
        for kernel in [Kernel::Rbf, Kernel::Linear] {
            let all = with_each_instruction_set(|| {
                let (mut before, mut after) =
                    (PairwiseSums::new(11, kernel, 5), PairwiseSums::new(11, kernel, 5));
                before.add(&points, 0..7, &weights);
                after.add(&points, 0..7, &changed);
                let mut by = PairwiseSums::<f32>::new(11, kernel, 5);
                by.add(&BlockedPoints::new(&z, 16, |z| z as f32), 0..7, &changes);
                let (mut found, mut expected) = (KernelMatrix::default(), KernelMatrix::default());
                before.changed_kernel_matrix(4, &by, 4, 0.4, &mut found);
                after.kernel_matrix(4, 0.4, &mut expected);
                (found.data, expected.data)
            });
            for (found, expected) in &all {
                assert!(found == &all[0].0, "{kernel:?}: instruction sets differ");
                let apart = found.iter().zip(expected).map(|(a, b)| (a - b).abs());
                assert!(apart.fold(0.0, f64::max) < 1e-6, "{kernel:?}");
            }
        }
    }

    #[test]
    fn kernel_matrices_are_symmetric_with_empty_padding() {
        let (z, weights) = sample();
        let mut geometry = PairwiseSums::new(11, Kernel::Rbf, 5);
        geometry.add(&BlockedPoints::new(&z, 16, |z| z), 0..7, &weights);
        let mut matrix = KernelMatrix::default();
        geometry.kernel_matrix(3, 0.4, &mut matrix);
        for i in 0..11 {
            for j in 0..11 {
                let expected = (-0.4 * geometry.entry(3, i, j)).exp();
                assert!((matrix.row(i)[j] - expected).abs() < 1e-14, "{i} {j}");
            }
            assert!(matrix.row(i)[11..].iter().all(|&v| v.abs() <= 0.0));
        }
    }
}

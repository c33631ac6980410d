//! Pairs of runs, as kernels need them: by groups of features, over whole lanes.

use crate::linalg::simd::VECTOR_LANES;

/// Groups of features: level, shape, configuration.
pub(crate) const GROUP_COUNT: usize = 3;

/// D_g and L_g of each group g for pairs of runs: `stride` numbers a run, or one row for a new run.
#[derive(Clone, Copy)]
pub(crate) struct KernelPairs<'a> {
    pub(super) distances: [&'a [f64]; GROUP_COUNT],
    pub(super) products: [&'a [f64]; GROUP_COUNT],
    pub(super) stride: usize,
}

impl<'a> KernelPairs<'a> {
    /// The numbers of run `i` with runs 0 to i, in whole lanes.
    #[inline(always)]
    pub(super) fn row(&self, i: usize) -> Self {
        let row = row_of(i, self.stride);
        Self {
            distances: self.distances.map(|all| &all[row.clone()]),
            products: self.products.map(|all| &all[row.clone()]),
            stride: row.len(),
        }
    }

    /// The first `n` numbers of each group.
    #[inline(always)]
    pub(super) fn first(&self, n: usize) -> [&'a [f64]; 2 * GROUP_COUNT] {
        let ([d0, d1, d2], [l0, l1, l2]) = (self.distances, self.products);
        [&d0[..n], &d1[..n], &d2[..n], &l0[..n], &l1[..n], &l2[..n]]
    }
}

/// Where run `i` stands in a matrix padded to `stride`: up to the diagonal, in whole lanes.
#[inline(always)]
pub(super) fn row_of(i: usize, stride: usize) -> std::ops::Range<usize> {
    i * stride..i * stride + (i / VECTOR_LANES + 1) * VECTOR_LANES
}

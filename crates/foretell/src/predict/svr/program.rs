//! The ν-SVR quadratic program as data: kernel matrix, targets and penalty.

use crate::linalg::simd::{VECTOR_LANES, dispatched, sum_lanes};

/// A symmetric kernel matrix whose rows are padded to whole vectors; the padding is zero.
#[derive(Clone, Debug, Default)]
pub(crate) struct KernelMatrix {
    pub(crate) n: usize,
    pub(crate) stride: usize,
    pub(crate) data: Vec<f64>,
    /// Room for a packed triangle.
    pub(crate) packed: Vec<f64>,
}

impl KernelMatrix {
    /// The matrix of zeros of size n × n, reusing the memory of `self`.
    #[cfg(test)]
    pub(crate) fn reset(&mut self, n: usize) {
        self.n = n;
        self.stride = n.next_multiple_of(VECTOR_LANES);
        self.data.clear();
        self.data.resize(n * self.stride, 0.0);
    }

    pub(crate) fn row(&self, i: usize) -> &[f64] {
        &self.data[i * self.stride..(i + 1) * self.stride]
    }

    #[cfg(test)]
    pub(crate) fn row_mut(&mut self, i: usize) -> &mut [f64] {
        &mut self.data[i * self.stride..(i + 1) * self.stride]
    }

    /// Makes room for size n × n; the numbers are whatever was there.
    pub(crate) fn shape(&mut self, n: usize) {
        self.n = n;
        self.stride = n.next_multiple_of(VECTOR_LANES);
        self.data.resize(n * self.stride, 0.0);
    }
}

/// Box constraint and tube: what the solver needs besides kernel and targets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct NuPenalty {
    /// C > 0, the bound of each dual coefficient.
    pub(crate) c: f64,
    /// ν in (0, 1]: at most this share of the points lies outside the tube, at least this share are support vectors.
    pub(crate) nu: f64,
}

/// One quadratic program: kernel, targets and penalty, perhaps with one point left out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QuadraticProgram<'a> {
    /// K of all points.
    pub(crate) kernel: &'a KernelMatrix,
    /// y of all points.
    pub(crate) targets: &'a [f64],
    /// C and ν.
    pub(crate) penalty: NuPenalty,
    /// A point that takes no part; its residual is still kept.
    pub(crate) left_out: Option<usize>,
}

impl QuadraticProgram<'_> {
    /// C·ν·n/2 with n the points that take part: what α and α* each sum to.
    pub(crate) fn half(&self) -> f64 {
        let count = self.kernel.n - usize::from(self.left_out.is_some());
        self.penalty.c * self.penalty.nu * count as f64 / 2.0
    }

    /// A guess whether the solution goes through all targets: whether Kβ = y − b has a β within the bounds, were all
    /// points as near to one another as they are in the mean, β = (y − ȳ)/(k_ii − k̄).
    pub(crate) fn is_likely_interpolated(&self) -> bool {
        let (n, NuPenalty { c, nu }) = (self.kernel.n as f64, self.penalty);
        let mean = crate::statistics::mean(self.targets);
        let furthest = self.targets.iter().fold(0.0, |most: f64, y| most.max((y - mean).abs()));
        let spread = self.targets.iter().map(|y| (y - mean).abs()).sum::<f64>() / n;
        let diagonal = (0..self.kernel.n).map(|i| self.kernel.row(i)[i]).sum::<f64>() / n;
        let others = (sum(&self.kernel.data) / n - diagonal) / (n - 1.0);
        furthest < c * (diagonal - others) && spread < c * nu * (diagonal - others)
    }

    /// Whether point `i` takes part.
    pub(crate) fn has(&self, i: usize) -> bool {
        self.left_out != Some(i)
    }
}

dispatched! {
    /// The sum of whole blocks of eight values.
    pub(crate) fn sum(values: &[f64]) -> f64 {
        let mut lanes = [0.0; VECTOR_LANES];
        for block in values.as_chunks::<VECTOR_LANES>().0 {
            for l in 0..VECTOR_LANES {
                lanes[l] += block[l];
            }
        }
        sum_lanes(lanes)
    }
}

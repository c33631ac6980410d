//! The kernel of a process, over whole lanes.

use crate::linalg::simd::{VECTOR_LANES, dispatched, exp_body, sum_lanes};
use crate::predict::gp::design::KernelDesign;
use crate::predict::gp::pairs::{GROUP_COUNT, KernelPairs, row_of};

const CONSTANT_VARIANCE: f64 = 0.5;
/// The least noise variance.
pub(super) const MIN_NOISE_VARIANCE: f64 = 1e-6;

/// Hyperparameters of a process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KernelParameters {
    /// Inverse squared length of each group.
    pub(super) w: [f64; GROUP_COUNT],
    /// Linear variance of each group.
    pub(super) v: [f64; GROUP_COUNT],
    /// Variance of the nonlinear part.
    pub(super) s: f64,
    /// Noise variance.
    pub(super) e: f64,
}

impl KernelParameters {
    pub(super) fn from_logs(theta: &[f64]) -> Self {
        Self {
            w: [0, 1, 2].map(|k| theta[k].exp()),
            v: [3, 4, 5].map(|k| theta[k].exp()),
            s: theta[6].exp(),
            e: theta[7].exp() + MIN_NOISE_VARIANCE,
        }
    }

    /// The variance of a run's target, noise included, `own` being its L_g with itself.
    pub(super) fn variance(&self, own: [f64; GROUP_COUNT]) -> f64 {
        self.s + CONSTANT_VARIANCE + self.e + self.v.iter().zip(own).map(|(v, own)| v * own).sum::<f64>()
    }

    /// The trace of K.
    pub(super) fn trace(&self, design: &KernelDesign) -> f64 {
        let diagonal = (0..design.n).map(|i| i * design.stride + i);
        diagonal.map(|i| self.variance(design.products.each_ref().map(|products| products[i]))).sum()
    }
}

dispatched! {
    /// Fills the lower triangles of the nonlinear part and of K without noise, for the first `n` rows.
    pub(crate) fn fill_kernel(
        pairs: &KernelPairs<'_>,
        parameters: &KernelParameters,
        n: usize,
        nonlinear: &mut [f64],
        kernel: &mut [f64],
    ) {
        let KernelParameters { w, v, s, .. } = *parameters;
        for i in 0..n {
            let row = row_of(i, pairs.stride);
            let (r, k) = (&mut nonlinear[row.clone()], &mut kernel[row]);
            let length = r.len();
            let k = &mut k[..length];
            let [d0, d1, d2, l0, l1, l2] = pairs.row(i).first(length);
            for j in 0..length {
                let value = s * exp_body(-(w[0] * d0[j] + w[1] * d1[j] + w[2] * d2[j]));
                r[j] = value;
                k[j] = value + (v[0] * l0[j] + v[1] * l1[j] + v[2] * l2[j]) + CONSTANT_VARIANCE;
            }
        }
    }
}

dispatched! {
    /// K between a new run and every run.
    pub(crate) fn cross_kernel(pairs: &KernelPairs<'_>, parameters: &KernelParameters, k: &mut [f64]) {
        let KernelParameters { w, v, s, .. } = *parameters;
        let [d0, d1, d2, l0, l1, l2] = pairs.first(k.len());
        for j in 0..k.len() {
            let value = s * exp_body(-(w[0] * d0[j] + w[1] * d1[j] + w[2] * d2[j]));
            k[j] = value + (v[0] * l0[j] + v[1] * l1[j] + v[2] * l2[j]) + CONSTANT_VARIANCE;
        }
    }
}

/// The lanes of a row.
#[inline(always)]
fn chunks(values: &[f64]) -> &[[f64; VECTOR_LANES]] {
    values.as_chunks::<VECTOR_LANES>().0
}

dispatched! {
    /// With M = K⁻¹ − ααᵀ and R the nonlinear part, the sums over pairs i > j of M·R·D_g, of M·L_g, and of M·R.
    pub(crate) fn gradient_sums(
        pairs: &KernelPairs<'_>,
        inverse: &[f64],
        nonlinear: &[f64],
        alpha: &[f64],
        sums: &mut [f64; 7],
    ) {
        let mut lanes = [[0.0; VECTOR_LANES]; 7];
        let mut padded = vec![0.0; pairs.stride];
        padded[..alpha.len()].copy_from_slice(alpha);
        for (i, &own) in alpha.iter().enumerate() {
            let row = row_of(i, pairs.stride);
            let of_row = pairs.row(i);
            let [d0, d1, d2, l0, l1, l2] = of_row.first(of_row.stride).map(chunks);
            let (k, r, alphas) = (chunks(&inverse[row.clone()]), chunks(&nonlinear[row]), chunks(&padded));
            for c in 0..k.len() {
                let inside = i - c * VECTOR_LANES;
                for l in 0..VECTOR_LANES {
                    let m = if l < inside { k[c][l] - own * alphas[c][l] } else { 0.0 };
                    let mr = m * r[c][l];
                    lanes[0][l] += mr * d0[c][l];
                    lanes[1][l] += mr * d1[c][l];
                    lanes[2][l] += mr * d2[c][l];
                    lanes[3][l] += m * l0[c][l];
                    lanes[4][l] += m * l1[c][l];
                    lanes[5][l] += m * l2[c][l];
                    lanes[6][l] += mr;
                }
            }
        }
        for (sum, lane) in sums.iter_mut().zip(lanes) {
            *sum = sum_lanes(lane);
        }
    }
}

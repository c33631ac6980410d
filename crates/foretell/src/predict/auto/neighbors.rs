//! Kernel-weighted neighbors: runs that looked alike so far gain alike from here.

use crate::linalg::simd::{dot, exp_scaled, sum};
use crate::predict::gp::design::{KernelDesign, RunRelation};

/// Weights ω of the configuration's distance relative to the curve's.
const CONFIGURATION_WEIGHTS: [f64; 4] = [0.0, 0.3, 1.0, 3.0];
/// The kernel's width is the distance to the k-th neighbor.
const NEIGHBOR_COUNTS: [usize; 5] = [3, 5, 8, 15, 30];

/// ŷ_T = y_τ + Σ W Δ / Σ W over completed runs, with Δ = y_T − y_τ, W = exp(−2M/h), M = the mean squared distance over level
/// and shape features + ω × that over configuration features, h = M of the k-th neighbor; (ω, k) of least squared
/// leave-one-out error. O(n² log n) to fit, O(n) to forecast.
///
/// Source: Nadaraya 1964 and Watson 1964, with a width that follows the density.
pub(crate) struct KernelNeighbors {
    gains: Vec<f64>,
    dimensions: (f64, f64),
    omega: f64,
    k: usize,
    /// The gain of each run, forecast without it.
    pub(crate) left_out: Vec<f64>,
}

impl KernelNeighbors {
    /// Fits on gains Δ; needs 2 runs.
    pub(crate) fn fit(design: &KernelDesign, gains: &[f64]) -> Self {
        let dimensions = (design.dimension(0) as f64, design.dimension(1) as f64);
        let mut best = (f64::INFINITY, 0.0, NEIGHBOR_COUNTS[0], vec![0.0; gains.len()]);
        for &omega in configuration_weights(design) {
            for (k, left_out) in
                NEIGHBOR_COUNTS.iter().zip(leave_one_out_gains(design, gains, dimensions, omega))
            {
                let squares: f64 = left_out.iter().zip(gains).map(|(f, y)| (y - f).powi(2)).sum();
                if squares < best.0 {
                    best = (squares, omega, *k, left_out);
                }
            }
        }
        Self { gains: gains.to_vec(), dimensions, omega: best.1, k: best.2, left_out: best.3 }
    }

    /// The gain of a new run.
    pub(crate) fn forecast(&self, relation: &RunRelation) -> f64 {
        let [level, shape, configuration] = relation.distances();
        let curve = level.iter().zip(shape).map(|(&a, &b)| curve_distance(a, b, self.dimensions));
        let mut distances: Vec<f64> = curve.zip(configuration).map(|(m, c)| m + self.omega * c).collect();
        let mut weights = distances.clone();
        let kth = self.k.min(weights.len()) - 1;
        let (nearer, width, _) = weights.select_nth_unstable_by(kth, f64::total_cmp);
        let (nearest, width) = (nearer.iter().copied().fold(*width, f64::min), *width);
        distances.iter_mut().for_each(|distance| *distance -= nearest);
        weighted_mean(&distances, width, &self.gains, &mut weights)
    }
}

/// The weights to try: only the first where there is no configuration to weigh.
fn configuration_weights(design: &KernelDesign) -> &'static [f64] {
    if design.dimension(2) > 0 { &CONFIGURATION_WEIGHTS } else { &CONFIGURATION_WEIGHTS[..1] }
}

/// The mean squared distance over level and shape features, `dimensions` in number.
fn curve_distance(level: f64, shape: f64, dimensions: (f64, f64)) -> f64 {
    (level * dimensions.0 + shape * dimensions.1) / (dimensions.0 + dimensions.1).max(1.0)
}

/// Σ W·gain / Σ W, W = e^(−2·farther/width), `farther` being how much farther each run is than the nearest: the largest weight
/// is 1, so that far away the nearest run decides. `weights` takes the W.
fn weighted_mean(farther: &[f64], width: f64, gains: &[f64], weights: &mut [f64]) -> f64 {
    exp_scaled(farther, 2.0 / width.max(1e-12), weights);
    dot(weights, gains) / sum(weights)
}

/// For each of [`NEIGHBOR_COUNTS`] the gain of each run, forecast from the others.
fn leave_one_out_gains(
    design: &KernelDesign,
    gains: &[f64],
    dimensions: (f64, f64),
    omega: f64,
) -> Vec<Vec<f64>> {
    let n = design.len();
    let mut forecasts = vec![vec![0.0; n]; NEIGHBOR_COUNTS.len()];
    let (mut weights, mut others, mut theirs) = (vec![0.0; n - 1], vec![0.0; n - 1], vec![0.0; n - 1]);
    for i in 0..n {
        for (slot, j) in (0..n).filter(|&j| j != i).enumerate() {
            let curve = curve_distance(design.distance(0, i, j), design.distance(1, i, j), dimensions);
            others[slot] = curve + omega * design.distance(2, i, j);
            theirs[slot] = gains[j];
        }
        let mut sorted = others.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        others.iter_mut().for_each(|distance| *distance -= sorted[0]);
        for (k, forecasts) in NEIGHBOR_COUNTS.iter().zip(&mut forecasts) {
            let width = sorted[k.min(&sorted.len()) - 1];
            forecasts[i] = weighted_mean(&others, width, &theirs, &mut weights);
        }
    }
    forecasts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::matrix::Matrix;

    #[test]
    fn two_kinds_of_runs_are_told_apart_by_their_neighbors() {
        let rows =
            Matrix::from_fn(20, 3, |i, j| if i % 2 == 0 { 1.0 } else { -1.0 } + 0.01 * (i * (j + 1)) as f64);
        let gains: Vec<f64> = (0..20).map(|i| if i % 2 == 0 { 0.5 } else { 0.1 }).collect();
        let design = KernelDesign::new(&rows, &[0..1, 1..2, 2..3]);
        let model = KernelNeighbors::fit(&design, &gains);
        assert!(model.left_out.iter().zip(&gains).all(|(f, y)| (f - y).abs() < 1e-3), "{:?}", model.left_out);
        assert!((model.forecast(&design.relate(&[1.1, 1.1, 1.2])) - 0.5).abs() < 1e-3);
    }

    #[test]
    fn equal_runs_and_strangers_get_a_mean_not_a_nan() {
        let design = KernelDesign::new(&Matrix::from_fn(4, 2, |_, _| 0.0), &[0..1, 1..2, 2..2]);
        let model = KernelNeighbors::fit(&design, &[0.1, 0.2, 0.3, 0.4]);
        assert!((model.forecast(&design.relate(&[0.0, 0.0])) - 0.25).abs() < 1e-12);
        assert!(model.forecast(&design.relate(&[1e9, -1e9])).is_finite());
    }
}

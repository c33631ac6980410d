//! A Gaussian process with one kernel for each group of features.

use crate::features::paper::TargetScaler;
use crate::linalg::simd::dot;
use crate::predict::gp::design::{KernelDesign, RunRelation};
use crate::predict::gp::factor::TriangularFactor;
use crate::predict::gp::kernel::{KernelParameters, cross_kernel};
use crate::predict::gp::posterior::{PosteriorBuffers, tune};
use crate::predict::gp::warp::{TargetWarp, WarpPrior};

/// A Gaussian process fitted on a [`KernelDesign`] and targets.
///
/// K = s²·exp(−Σ_g w_g D_g) + Σ_g v_g L_g + ½ + (e + 10⁻⁶)·I on warped and standardized targets, the eight hyperparameters at their
/// maximum a posteriori. O(n³) for each of at most 40 iterations; O(n²) to forecast.
///
/// Source: Rasmussen & Williams, *Gaussian Processes for Machine Learning*, chapters 2 and 5 (leave-one-out: 5.4.2).
pub(crate) struct FittedProcess {
    parameters: KernelParameters,
    /// `None`: targets as they are.
    warp: Option<TargetWarp>,
    target: TargetScaler,
    /// L of K⁻¹ = L·Lᵀ, which gives kᵀK⁻¹k = ‖Lᵀk‖².
    factor: TriangularFactor,
    /// K⁻¹·y.
    alpha: Vec<f64>,
    /// For each run: (its forecast without it, the standard deviation of that).
    pub(crate) left_out: Vec<(f64, f64)>,
}

/// A process whose hyperparameters are found.
pub(super) struct TunedProcess {
    /// The hyperparameters, as logs.
    pub(super) theta: Vec<f64>,
    warp: Option<TargetWarp>,
    target: TargetScaler,
    /// Warped and standardized targets.
    y: Vec<f64>,
    /// K⁻¹, and α = K⁻¹·y.
    work: PosteriorBuffers,
}

impl TunedProcess {
    /// Finds the hyperparameters for warped `targets`, from `start` on; `None` if the numbers allow none.
    pub(super) fn new(
        design: &KernelDesign,
        targets: &[f64],
        warp: Option<TargetWarp>,
        start: &[f64],
    ) -> Option<Self> {
        let mut y = targets.to_vec();
        if let Some(warp) = warp {
            y.iter_mut().for_each(|y| *y = warp.apply(*y));
        }
        let target = TargetScaler::fit(y.iter().copied());
        y.iter_mut().for_each(|y| *y = target.apply(*y));
        let mut work = PosteriorBuffers::new(design);
        let theta = work.invert_with_noise(design, &tune(design, &y, start))?;
        work.kernel.multiply_vector(&y, &mut work.alpha);
        Some(Self { theta, warp, target, y, work })
    }

    /// The likeliest warp of `targets`, the hyperparameters being what they are.
    fn likeliest_warp(&self, prior: WarpPrior, targets: &[f64]) -> Option<TargetWarp> {
        let mut product = vec![0.0; targets.len()];
        TargetWarp::likeliest(prior, targets, |z| {
            self.work.kernel.multiply_vector(z, &mut product);
            dot(z, &product)
        })
    }

    /// A process tuned from these hyperparameters for the likeliest warp of `targets`.
    pub(super) fn retune_with_warp(
        &self,
        design: &KernelDesign,
        prior: WarpPrior,
        targets: &[f64],
    ) -> Option<Self> {
        Self::new(design, targets, self.likeliest_warp(prior, targets), &self.theta)
    }

    /// For each column j of group `g`, the slope of the log marginal likelihood in ln c_j², c_j its weight:
    /// Σ_{i ≥ k} m_ik·(v_g x_ij x_kj − w_g R_ik (x_ij − x_kj)²)/d, R the nonlinear part of K, M = ααᵀ − K⁻¹, m_ik = M_ik but half
    /// of it for i = k. O(n²·d).
    pub(super) fn column_slopes(&self, design: &KernelDesign, g: usize) -> Vec<f64> {
        let KernelParameters { w, v, .. } = KernelParameters::from_logs(&self.theta);
        let (x, alpha) = (&design.features[g], &self.work.alpha);
        let share = 1.0 / x.column_count().max(1) as f64;
        let mut slopes = vec![0.0; x.column_count()];
        for i in 0..design.n {
            let row = i * design.stride;
            for k in 0..=i {
                let half = if k == i { 0.5 } else { 1.0 };
                let m = half * share * (alpha[i] * alpha[k] - self.work.kernel.data[row + k]);
                let (linear, apart) = (m * v[g], m * w[g] * self.work.nonlinear[row + k]);
                for ((slope, a), b) in slopes.iter_mut().zip(x.row(i)).zip(x.row(k)) {
                    *slope += linear * a * b - apart * (a - b) * (a - b);
                }
            }
        }
        slopes
    }

    pub(super) fn process(self, design: &KernelDesign) -> FittedProcess {
        let Self { theta, warp, target, y, work } = self;
        let parameters = KernelParameters::from_logs(&theta);
        let left_out = (0..design.n)
            .map(|i| {
                let precision = work.kernel.diagonal_entry(i);
                let mean = target.invert(y[i] - work.alpha[i] / precision);
                unwarp_moments(warp, (mean, target.scale / precision.sqrt()))
            })
            .collect();
        let factor = TriangularFactor::new(work.kernel, 1.0 / parameters.trace(design));
        FittedProcess { parameters, warp, target, factor, alpha: work.alpha, left_out }
    }
}

impl FittedProcess {
    /// The mean and standard deviation (noise included) of the target of a new run.
    pub(crate) fn forecast(&self, relation: &RunRelation) -> (f64, f64) {
        let n = self.alpha.len();
        let mut buffers = vec![0.0; 2 * relation.stride];
        let (k, sums) = buffers.split_at_mut(relation.stride);
        cross_kernel(&relation.pairs(), &self.parameters, &mut k[..n]);
        // rounding can take away more than there is, so the variance is held to that of the noise below
        let variance = self.parameters.variance(relation.own) - self.factor.quadratic(k, sums);
        let mean = self.target.invert(dot(&k[..n], &self.alpha));
        unwarp_moments(self.warp, (mean, self.target.scale * variance.max(self.parameters.e).sqrt()))
    }
}

/// A mean and standard deviation of warped targets as those of targets.
fn unwarp_moments(warp: Option<TargetWarp>, normal: (f64, f64)) -> (f64, f64) {
    warp.map_or(normal, |warp| warp.invert(normal))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::matrix::Matrix;
    use crate::predict::gp::design::CONFIGURATION_GROUP;
    use crate::predict::gp::posterior::tests::wave;
    use crate::predict::gp::posterior::{PARAMETER_COUNT, prior_means, priors};

    fn tune_process(design: &KernelDesign, y: &[f64]) -> TunedProcess {
        TunedProcess::new(design, y, None, &prior_means()).unwrap()
    }

    fn process(design: &KernelDesign, y: &[f64]) -> FittedProcess {
        tune_process(design, y).process(design)
    }

    #[test]
    fn the_slope_of_a_columns_weight_is_that_of_finite_differences() {
        let (n, groups) = (12, [0..2, 2..3, 3..5]);
        let (design, y) = wave(n);
        let found = tune_process(&design, &y);
        let prior: f64 =
            found.theta.iter().zip(priors()).map(|(at, (mean, sd))| ((at - mean) / sd).powi(2) / 2.0).sum();
        for j in 0..2 {
            let likelihood = |shift: f64| {
                let column = |c: usize| if c == 3 + j { (shift / 2.0).exp() } else { 1.0 };
                let all = |i: usize, c: usize| {
                    column(c) * design.features.iter().flat_map(|x| x.row(i)).nth(c).unwrap()
                };
                let moved = KernelDesign::new(&Matrix::from_fn(n, 5, all), &groups);
                let mut unused = [0.0; PARAMETER_COUNT];
                prior
                    - PosteriorBuffers::new(&moved)
                        .evaluate(&moved, &found.y, &found.theta, &mut unused)
                        .unwrap()
            };
            let difference = (likelihood(1e-5) - likelihood(-1e-5)) / 2e-5;
            let slope = found.column_slopes(&design, CONFIGURATION_GROUP)[j];
            assert!(
                (difference - slope).abs() < 1e-5 * (1.0 + slope.abs()),
                "column {j}: {difference} {slope}"
            );
        }
    }

    #[test]
    fn closed_form_leave_one_out_is_that_of_leaving_out() {
        let (design, y) = wave(24);
        let whole = process(&design, &y);
        let parameters = whole.parameters;
        for left in [0, 7, 23] {
            let keep: Vec<usize> = (0..24).filter(|&i| i != left).collect();
            let part = design.select(&keep);
            let mut work = PosteriorBuffers::new(&part);
            work.invert_kernel(&part, &parameters).unwrap();
            let z: Vec<f64> = keep.iter().map(|&i| whole.target.apply(y[i])).collect();
            let mut alpha = vec![0.0; 23];
            work.kernel.multiply_vector(&z, &mut alpha);
            let model = FittedProcess {
                parameters,
                warp: whole.warp,
                target: whole.target,
                factor: TriangularFactor::new(work.kernel, 1.0 / parameters.trace(&part)),
                alpha,
                left_out: Vec::new(),
            };
            let row: Vec<f64> = design.features.iter().flat_map(|x| x.row(left).to_vec()).collect();
            let (mean, sd) = model.forecast(&part.relate(&row));
            let expected = whole.left_out[left];
            // the deviation of a new run comes from single precision
            assert!((mean - expected.0).abs() < 1e-8 && (sd / expected.1 - 1.0).abs() < 1e-5, "run {left}");
        }
    }

    #[test]
    fn a_smooth_function_is_learned() {
        let (design, y) = wave(60);
        let process = process(&design, &y);
        let left_out: Vec<f64> = process.left_out.iter().map(|l| l.0).collect();
        let r2 = crate::statistics::r_squared(&left_out, &y);
        assert!(r2 > 0.95, "R² {r2}");
    }

    #[test]
    fn scores_that_crowd_below_a_ceiling_are_forecast_better_warped() {
        let (design, y) = wave(60);
        let scores: Vec<f64> = y.iter().map(|y| 0.9 - 0.1 * (-y).exp()).collect();
        let plain = tune_process(&design, &scores);
        let warp = plain.likeliest_warp(WarpPrior::SCORES, &scores);
        assert!(warp.is_some());
        let warped = TunedProcess::new(&design, &scores, warp, &plain.theta).unwrap();
        let [plain, warped] = [plain, warped].map(|tuned| {
            let left_out = tuned.process(&design).left_out;
            left_out.iter().zip(&scores).map(|(left_out, y)| (left_out.0 - y).powi(2)).sum::<f64>()
        });
        assert!(warped < 0.5 * plain, "{warped} {plain}");
    }
}

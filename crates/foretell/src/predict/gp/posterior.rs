//! The posterior of a process's hyperparameters, with its gradient.

use crate::linalg::inverse::SymmetricMatrix;
use crate::linalg::lbfgs::{LbfgsLimits, minimize};
use crate::linalg::simd::dot;
use crate::predict::gp::design::KernelDesign;
use crate::predict::gp::kernel::{KernelParameters, MIN_NOISE_VARIANCE, fill_kernel, gradient_sums};
use crate::predict::gp::pairs::GROUP_COUNT;

/// Hyperparameters, as logs: w of each group, v of each group, s², e.
pub(super) const PARAMETER_COUNT: usize = 2 * GROUP_COUNT + 2;
/// The place of e among them.
pub(super) const NOISE_INDEX: usize = PARAMETER_COUNT - 1;
/// ln 10: the step in which ln e is raised where K cannot be inverted, until it is above `MAX_LOG_NOISE`.
pub(super) const LOG_NOISE_STEP: f64 = std::f64::consts::LN_10;
const MAX_LOG_NOISE: f64 = 60.0;
/// With more runs than this the hyperparameters are found on this many of them; the process itself is fitted on all.
const MAX_TUNED_RUNS: usize = 160;
const TUNING_LIMITS: LbfgsLimits = LbfgsLimits { iterations: 40, gradient: 0.02, decrease: 0.02 };

/// Normal priors (mean, standard deviation) on the logs of the hyperparameters. Those of s² and e are tight: many runs that
/// end alike would otherwise be taken for a process of large variance without noise.
pub(super) fn priors() -> [(f64, f64); PARAMETER_COUNT] {
    let w = ((0.15_f64 / 3.0_f64.sqrt()).ln(), 1.5);
    let v = (0.1_f64.ln(), 2.0);
    [w, w, w, v, v, v, (0.5_f64.ln(), 0.7), (0.05_f64.ln(), 1.0)]
}

/// The means of the priors: where the search starts.
pub(super) fn prior_means() -> [f64; PARAMETER_COUNT] {
    priors().map(|prior| prior.0)
}

/// The hyperparameters (logs) of largest posterior, searched from `start` on, on at most [`MOST_TUNED`] runs, evenly spread in
/// order of target so that the order of runs does not matter.
pub(super) fn tune(design: &KernelDesign, y: &[f64], start: &[f64]) -> Vec<f64> {
    if design.n <= MAX_TUNED_RUNS {
        let mut work = PosteriorBuffers::new(design);
        return minimize(start, TUNING_LIMITS, |theta, gradient| work.evaluate(design, y, theta, gradient));
    }
    let mut order: Vec<usize> = (0..design.n).collect();
    order.sort_by(|&a, &b| y[a].total_cmp(&y[b]));
    let used: Vec<usize> = (0..MAX_TUNED_RUNS).map(|k| order[k * design.n / MAX_TUNED_RUNS]).collect();
    let part = design.select(&used);
    let targets: Vec<f64> = used.iter().map(|&i| y[i]).collect();
    let mut work = PosteriorBuffers::new(&part);
    minimize(start, TUNING_LIMITS, |theta, gradient| work.evaluate(&part, &targets, theta, gradient))
}

/// The buffers of one evaluation of the posterior.
pub(super) struct PosteriorBuffers {
    /// s²·exp(−Σ w_g D_g), lower triangle.
    pub(super) nonlinear: Vec<f64>,
    /// K, then K⁻¹.
    pub(super) kernel: SymmetricMatrix,
    pub(super) alpha: Vec<f64>,
}

impl PosteriorBuffers {
    pub(super) fn new(design: &KernelDesign) -> Self {
        let nonlinear = vec![0.0; design.stride * design.stride];
        Self { nonlinear, kernel: SymmetricMatrix::zeros(design.n), alpha: vec![0.0; design.n] }
    }

    /// K⁻¹ into `kernel`; gives ln det K.
    pub(super) fn invert_kernel(
        &mut self,
        design: &KernelDesign,
        parameters: &KernelParameters,
    ) -> Option<f64> {
        fill_kernel(&design.pairs(), parameters, design.n, &mut self.nonlinear, &mut self.kernel.data);
        for i in 0..design.n {
            self.kernel.data[i * design.stride + i] += parameters.e;
        }
        self.kernel.invert()
    }

    /// K⁻¹ into `kernel`, with ten times the noise, and again, until K can be inverted: runs without noise leave it near to singular,
    /// most of all where `theta` was found on a part of them or with other features. Gives `theta` with that noise; `None`
    /// where noise does not help.
    pub(super) fn invert_with_noise(&mut self, design: &KernelDesign, theta: &[f64]) -> Option<Vec<f64>> {
        let mut theta = theta.to_vec();
        while self.invert_kernel(design, &KernelParameters::from_logs(&theta)).is_none() {
            if theta[NOISE_INDEX] > MAX_LOG_NOISE {
                return None;
            }
            theta[NOISE_INDEX] += LOG_NOISE_STEP;
        }
        Some(theta)
    }

    /// −ln posterior at `theta` and its gradient, up to a constant: ½ yᵀK⁻¹y + ½ ln det K + Σ (θ − μ)²/(2 sd²), with
    /// ∂/∂θ = ½ Σ_ij (K⁻¹ − ααᵀ)_ij ∂K_ij/∂θ + (θ − μ)/sd².
    pub(super) fn evaluate(
        &mut self,
        design: &KernelDesign,
        y: &[f64],
        theta: &[f64],
        gradient: &mut [f64],
    ) -> Option<f64> {
        let parameters = KernelParameters::from_logs(theta);
        let log_determinant = self.invert_kernel(design, &parameters)?;
        self.kernel.multiply_vector(y, &mut self.alpha);
        let mut value = 0.5 * (dot(y, &self.alpha) + log_determinant);
        let mut sums = [0.0; 2 * GROUP_COUNT + 1];
        let (n, stride) = (design.n, design.stride);
        gradient_sums(&design.pairs(), &self.kernel.data, &self.nonlinear, &self.alpha, &mut sums);
        let mut trace = 0.0;
        for i in 0..n {
            let weight = 0.5 * (self.kernel.diagonal_entry(i) - self.alpha[i] * self.alpha[i]);
            trace += weight;
            for g in 0..GROUP_COUNT {
                sums[GROUP_COUNT + g] += weight * design.products[g][i * stride + i];
            }
            sums[2 * GROUP_COUNT] += weight * parameters.s;
        }
        for g in 0..GROUP_COUNT {
            gradient[g] = -parameters.w[g] * sums[g];
            gradient[GROUP_COUNT + g] = parameters.v[g] * sums[GROUP_COUNT + g];
        }
        gradient[2 * GROUP_COUNT] = sums[2 * GROUP_COUNT];
        gradient[2 * GROUP_COUNT + 1] = (parameters.e - MIN_NOISE_VARIANCE) * trace;
        for ((slope, &at), (mean, sd)) in gradient.iter_mut().zip(theta).zip(priors()) {
            value += ((at - mean) / sd).powi(2) / 2.0;
            *slope += (at - mean) / (sd * sd);
        }
        value.is_finite().then_some(value)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::linalg::matrix::Matrix;

    pub(crate) fn wave(n: usize) -> (KernelDesign, Vec<f64>) {
        let rows = Matrix::from_fn(n, 5, |i, j| ((i * (j + 1)) as f64 * 0.7).sin() * 1.4);
        let y = (0..n).map(|i| rows.row(i)[0] + 0.5 * (2.0 * rows.row(i)[3]).sin()).collect();
        (KernelDesign::new(&rows, &[0..2, 2..3, 3..5]), y)
    }

    #[test]
    fn the_gradient_is_that_of_finite_differences() {
        for n in [3, 8, 21] {
            let (design, y) = wave(n);
            let mut work = PosteriorBuffers::new(&design);
            let theta: Vec<f64> =
                priors().iter().enumerate().map(|(k, p)| p.0 + 0.3 * (k as f64).sin()).collect();
            let (mut gradient, mut unused) = ([0.0; PARAMETER_COUNT], [0.0; PARAMETER_COUNT]);
            work.evaluate(&design, &y, &theta, &mut gradient).unwrap();
            for k in 0..PARAMETER_COUNT {
                let mut moved_by = |shift: f64| {
                    let mut moved = theta.clone();
                    moved[k] += shift;
                    work.evaluate(&design, &y, &moved, &mut unused).unwrap()
                };
                let difference = (moved_by(1e-5) - moved_by(-1e-5)) / 2e-5;
                assert!((difference - gradient[k]).abs() < 1e-5 * (1.0 + difference.abs()), "n = {n}, θ_{k}");
            }
        }
    }

    #[test]
    fn a_kernel_that_cannot_be_inverted_is_given_as_much_noise_as_it_needs() {
        let (design, _) = wave(40);
        let mut work = PosteriorBuffers::new(&design);
        let mut theta = priors().map(|prior| prior.0);
        theta[3..6].fill(40.0);
        theta[NOISE_INDEX] = -20.0;
        assert!(
            work.invert_kernel(&design, &KernelParameters::from_logs(&theta)).is_none(),
            "there is something to do"
        );
        let found = work.invert_with_noise(&design, &theta).unwrap();
        assert!(found[NOISE_INDEX] > theta[NOISE_INDEX] && found[..NOISE_INDEX] == theta[..NOISE_INDEX]);
        let least = KernelParameters::from_logs(
            &[&found[..NOISE_INDEX], &[found[NOISE_INDEX] - LOG_NOISE_STEP]].concat(),
        );
        assert!(work.invert_kernel(&design, &least).is_none(), "a tenth of it is too little");
        theta[0] = f64::NAN;
        assert!(work.invert_with_noise(&design, &theta).is_none());
    }
}

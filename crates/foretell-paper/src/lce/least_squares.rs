//! The least-squares fit of one curve family: Levenberg–Marquardt, with a bounded quasi-Newton search where that fails.

use super::families::{CurveFamily, EpochColumns, MAX_PARAMETERS};
use foretell::linalg::cholesky::{cholesky, solve_lower};
use foretell::linalg::lbfgs::{LbfgsLimits, minimize};

/// One observed curve: scores at epochs, each with the weight of its squared residual.
#[derive(Clone, Debug)]
pub(super) struct ObservedCurve {
    pub(super) epochs: EpochColumns,
    pub(super) scores: Vec<f64>,
    pub(super) weights: Vec<f64>,
}

/// A fitted family.
#[derive(Clone, Debug)]
pub(super) struct FittedFamily {
    pub(super) family: CurveFamily,
    pub(super) parameters: Vec<f64>,
    /// Σ ω_t·(y_t − f(x_t))².
    pub(super) squares: f64,
    /// JᵀJ at the parameters, J the weighted derivatives: shape (p, p) in the leading corner.
    pub(super) curvature: [[f64; MAX_PARAMETERS]; MAX_PARAMETERS],
}

/// Recency weights: ω_i = 10^(i/n) for i = 0 … n − 1, so that the last of many points weighs ten times the first.
pub(super) fn recency_weights(n: usize) -> Vec<f64> {
    (0..n).map(|i| 10_f64.powf(i as f64 / n as f64)).collect()
}

/// Iterations of Levenberg–Marquardt at most.
const MAX_ITERATIONS: usize = 200;
/// A relative decrease of the squares below this has converged (MINPACK's default).
const MIN_RELATIVE_DECREASE: f64 = 1.5e-8;
/// Squares below this share of Σ ω·y² are rounding.
const ROUNDING_FRACTION: f64 = 1e-30;

impl ObservedCurve {
    /// Σ ω_t·(y_t − f(x_t))², `None` where it is not finite.
    pub(super) fn sum_of_squares(&self, family: CurveFamily, parameters: &[f64]) -> Option<f64> {
        let terms = self.scores.iter().zip(&self.weights).enumerate();
        let sum: f64 = terms
            .map(|(t, (y, weight))| weight * (y - family.value_at(parameters, self.epochs.epoch(t))).powi(2))
            .sum();
        sum.is_finite().then_some(sum)
    }

    /// The squares, Jᵀr and JᵀJ at `parameters`; `None` where one is not finite.
    fn linearize_squares(&self, family: CurveFamily, parameters: &[f64]) -> Option<LinearizedSquares> {
        let mut at = LinearizedSquares::default();
        for (t, (y, weight)) in self.scores.iter().zip(&self.weights).enumerate() {
            let epoch = self.epochs.epoch(t);
            let residual = y - family.value_at(parameters, epoch);
            let gradient = family.gradient(parameters, epoch);
            at.squares += weight * residual * residual;
            for (i, gi) in gradient.iter().enumerate() {
                at.slope[i] += weight * gi * residual;
                for (j, gj) in gradient.iter().enumerate() {
                    at.curvature[i][j] += weight * gi * gj;
                }
            }
        }
        let mut all = at.curvature.iter().flatten().chain(&at.slope).chain([&at.squares]);
        all.all(|value| value.is_finite()).then_some(at)
    }

    /// The fit of `family` from `start`, inside `bounds` if there are any; `None` where neither search converges.
    ///
    /// Levenberg–Marquardt with Marquardt's scaling: (JᵀJ + λ·diag(JᵀJ))·δ = Jᵀr, λ ÷ 3 after a step that is better and
    /// × 4 after one that is not. O(n·p² + p³) an iteration.
    pub(super) fn fit_family(
        &self,
        family: CurveFamily,
        start: &[f64],
        bounds: Option<&[(f64, f64)]>,
    ) -> Option<FittedFamily> {
        self.levenberg_marquardt(family, start, bounds).or_else(|| self.quasi_newton(family, start, bounds))
    }

    fn levenberg_marquardt(
        &self,
        family: CurveFamily,
        start: &[f64],
        bounds: Option<&[(f64, f64)]>,
    ) -> Option<FittedFamily> {
        let p = start.len();
        let zero: f64 =
            ROUNDING_FRACTION * self.scores.iter().zip(&self.weights).map(|(y, w)| w * y * y).sum::<f64>();
        let mut parameters = start.to_vec();
        let mut at = self.linearize_squares(family, &parameters)?;
        let mut damping = 1e-3;
        let mut converged = false;
        for _ in 0..MAX_ITERATIONS {
            let Some(mut moved) = at.damped_step(p, damping) else {
                damping *= 4.0;
                continue;
            };
            moved.iter_mut().zip(&parameters).for_each(|(step, value)| *step += value);
            if let Some(bounds) = bounds {
                moved
                    .iter_mut()
                    .zip(bounds)
                    .for_each(|(value, (low, high))| *value = value.clamp(*low, *high));
            }
            match self.linearize_squares(family, &moved).filter(|new| new.squares <= at.squares) {
                Some(new) => {
                    converged =
                        at.squares - new.squares <= MIN_RELATIVE_DECREASE * at.squares || new.squares <= zero;
                    (parameters, at) = (moved, new);
                    damping = (damping / 3.0).max(1e-12);
                    if converged {
                        break;
                    }
                }
                None if damping > 1e12 => {
                    // no step, however short, is better: a minimum, to rounding
                    converged = true;
                    break;
                }
                None => damping *= 4.0,
            }
        }
        converged.then_some(FittedFamily { family, parameters, squares: at.squares, curvature: at.curvature })
    }

    /// L-BFGS on the squares; outside `bounds` there are none.
    fn quasi_newton(
        &self,
        family: CurveFamily,
        start: &[f64],
        bounds: Option<&[(f64, f64)]>,
    ) -> Option<FittedFamily> {
        let limits = LbfgsLimits { iterations: MAX_ITERATIONS, gradient: 1e-8, decrease: 1e-12 };
        let parameters = minimize(start, limits, |parameters, gradient| {
            let at = self
                .linearize_squares(family, parameters)
                .filter(|_| is_within_bounds(parameters, bounds))?;
            gradient.iter_mut().zip(at.slope).for_each(|(g, slope)| *g = -2.0 * slope);
            Some(at.squares)
        });
        let at =
            self.linearize_squares(family, &parameters).filter(|_| is_within_bounds(&parameters, bounds))?;
        Some(FittedFamily { family, parameters, squares: at.squares, curvature: at.curvature })
    }
}

fn is_within_bounds(parameters: &[f64], bounds: Option<&[(f64, f64)]>) -> bool {
    bounds.is_none_or(|bounds| {
        parameters.iter().zip(bounds).all(|(value, (low, high))| (low..=high).contains(&value))
    })
}

/// The squares, linearized around some parameters.
#[derive(Clone, Copy, Debug, Default)]
struct LinearizedSquares {
    squares: f64,
    slope: [f64; MAX_PARAMETERS],
    curvature: [[f64; MAX_PARAMETERS]; MAX_PARAMETERS],
}

impl LinearizedSquares {
    /// (JᵀJ + λ·diag(JᵀJ))⁻¹·Jᵀr, for the first `p` parameters; `None` if that is singular.
    fn damped_step(&self, p: usize, damping: f64) -> Option<Vec<f64>> {
        let mut matrix = self.curvature;
        for (i, row) in matrix.iter_mut().enumerate().take(p) {
            // a parameter that the curve says nothing of would otherwise leave the matrix singular
            row[i] += damping * row[i].max(1e-12);
        }
        cholesky(&mut matrix[..p])?;
        let mut x = self.slope[..p].to_vec();
        solve_lower(&matrix, &mut x);
        solve_transposed(&matrix, &mut x);
        x.iter().all(|value| value.is_finite()).then_some(x)
    }
}

/// x ← L⁻ᵀ·x.
pub(super) fn solve_transposed(factor: &[[f64; MAX_PARAMETERS]; MAX_PARAMETERS], x: &mut [f64]) {
    for i in (0..x.len()).rev() {
        let known: f64 = (i + 1..x.len()).map(|j| factor[j][i] * x[j]).sum();
        x[i] = (x[i] - known) / factor[i][i];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// y = 0.85 − 0.6·exp(−x/12) at epochs 1 to 15.
    fn saturating() -> ObservedCurve {
        let epochs: Vec<f64> = (1..=15).map(f64::from).collect();
        let scores = epochs.iter().map(|x| 0.85 - 0.6 * (-x / 12.0).exp()).collect();
        ObservedCurve { epochs: EpochColumns::new(&epochs), scores, weights: vec![1.0; 15] }
    }

    #[test]
    fn fits_from_the_published_starts_are_those_of_minpack() {
        let cases = [
            (CurveFamily::Exp4, 0.8460, 0.0),
            (CurveFamily::Janoschek, 0.8460, 0.0),
            (CurveFamily::Weibull, 0.8460, 0.0),
            (CurveFamily::VaporPressure, 1.1736, 8.62e-5),
            (CurveFamily::LogLogLinear, 0.7945, 1.454e-2),
            (CurveFamily::Ilog2, 0.6379, 5.289e-2),
        ];
        for (family, at_60, squares) in cases {
            let fitted =
                saturating().fit_family(family, family.initial_parameters(), None).expect("converges");
            let value = family.value(&fitted.parameters, 60.0);
            assert!((value - at_60).abs() < 1e-3, "{}: {value} for {at_60}", family.name());
            assert!((fitted.squares - squares).abs() < 1e-3 * squares + 1e-9, "{}", family.name());
        }
        let fitted =
            saturating().fit_family(CurveFamily::LogLogLinear, &[1.0, 1.0], None).expect("converges");
        for (got, expected) in fitted.parameters.iter().zip([0.2321, 1.2629]) {
            assert!((got - expected).abs() < 1e-3);
        }
    }

    #[test]
    fn bounds_are_kept() {
        let bounds = [(0.0, 0.7), (0.0, 0.3)];
        let fitted =
            saturating().fit_family(CurveFamily::Ilog2, &[0.5, 0.2], Some(&bounds)).expect("converges");
        for (value, (low, high)) in fitted.parameters.iter().zip(bounds) {
            assert!((low..=high).contains(value), "{:?}", fitted.parameters);
        }
    }

    #[test]
    fn recency_weights_rise_from_one_towards_ten() {
        let weights = recency_weights(10);
        assert!((weights[0] - 1.0).abs() < 1e-15 && (weights[9] - 10_f64.powf(0.9)).abs() < 1e-12);
        assert_eq!(recency_weights(1), [1.0]);
    }

    #[test]
    fn points_of_more_weight_are_fitted_better() {
        let mut observed = saturating();
        observed.weights = recency_weights(15);
        let weighted = observed.fit_family(CurveFamily::Ilog2, &[0.5, 0.2], None).expect("converges");
        let plain = saturating().fit_family(CurveFamily::Ilog2, &[0.5, 0.2], None).expect("converges");
        let last = |fitted: &FittedFamily| {
            let value = CurveFamily::Ilog2.value(&fitted.parameters, 15.0);
            (value - saturating().scores[14]).abs()
        };
        assert!(last(&weighted) < last(&plain));
    }
}

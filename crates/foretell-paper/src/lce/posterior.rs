//! The posterior of a weighted combination of curve families, given one observed curve.

use super::families::{CurveFamily, EpochColumns};
use super::least_squares::ObservedCurve;
use super::sampler::TargetDensity;
use foretell::dispatched;

/// The condition under which a rising curve is believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MonotonicityRule {
    /// Each family k on its own: f_k(2) ≤ f_k(T). The termination criterion of Domhan et al.
    Soft,
    /// Each family on its own never falls on 100 epochs from 2 to T.
    Hard,
    /// The combination: f(1) < f(T). As Domhan et al. state it.
    Combination,
    /// Nothing.
    Free,
}

/// Epochs at which [`MonotonicityRule::Hard`] looks.
const HARD_EPOCHS: usize = 100;

/// The prior of parameters, noise and weights.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CombinationPrior {
    /// Values of each family at the horizon that are believed: (least, largest).
    pub(super) end: (f64, f64),
    pub(super) monotonicity: MonotonicityRule,
    /// The boxes and the range of σ of a proper prior; `None`: flat and improper, as published.
    pub(super) proper: Option<ProperPrior>,
}

/// Uniform parameters in a box, ln σ uniform, weights uniform on the simplex.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ProperPrior {
    /// The box of each family's parameters.
    pub(super) boxes: Vec<Vec<(f64, f64)>>,
    /// The range of ln σ.
    pub(super) log_noise: (f64, f64),
}

/// p(θ_1 … θ_K, σ, w | y): f(x) = Σ_k w_k/(Σ_j w_j)·f_k(x; θ_k), y_t ~ N(f(x_t), σ²/ω_t).
///
/// A point is (θ_1, …, θ_K, σ, w_1, …, w_K), all on the real line with the published prior: 0 outside w_k ≥ 0, σ > 0, f_k(T)
/// within [0, 100] and the monotonicity, else 1. With a proper prior it is (θ, ln σ, ln w), w_k ~ Exp(1), so that the
/// normalized weights are uniform on the simplex and their sum does not drift away.
///
/// ln L = Σ_t ω_t·(−½·(y_t − f(x_t))²/σ² − ln σ), up to a constant. O(K·n) an evaluation, O(n) of it for one family.
///
/// Source: Domhan et al. 2015, §3; `MCMCCurveModelCombination` of their code.
pub(super) struct CombinationPosterior<'a> {
    observed: &'a ObservedCurve,
    families: &'a [CurveFamily],
    prior: &'a CombinationPrior,
    /// The observed epochs, those of the monotonicity, and the horizon at `horizon` and after it.
    epochs: EpochColumns,
    /// The number of observed points, and the place of the horizon.
    observed_count: usize,
    horizon: usize,
    /// Σ ω_t.
    mass: f64,
    /// Where each family's parameters begin, and σ.
    offsets: Vec<usize>,
}

impl<'a> CombinationPosterior<'a> {
    pub(super) fn new(
        observed: &'a ObservedCurve,
        observed_epochs: &[f64],
        horizon: f64,
        families: &'a [CurveFamily],
        prior: &'a CombinationPrior,
    ) -> Self {
        let seen = observed_epochs.len();
        let mut epochs = observed_epochs.to_vec();
        match prior.monotonicity {
            MonotonicityRule::Soft => epochs.push(horizon.min(2.0)),
            MonotonicityRule::Combination => epochs.push(1.0),
            MonotonicityRule::Hard => epochs.extend((0..HARD_EPOCHS).map(|i| {
                let from = horizon.min(2.0);
                from + (horizon - from) * i as f64 / HARD_EPOCHS as f64
            })),
            MonotonicityRule::Free => {}
        }
        epochs.push(horizon);
        let mass = observed.weights.iter().sum();
        let horizon = epochs.len() - 1;
        let mut offsets = vec![0];
        for (k, family) in families.iter().enumerate() {
            offsets.push(offsets[k] + family.parameter_count());
        }
        Self {
            observed,
            families,
            prior,
            epochs: EpochColumns::new(&epochs),
            observed_count: seen,
            horizon,
            mass,
            offsets,
        }
    }

    /// d = Σ_k p_k + 1 + K.
    pub(super) fn dimension(&self) -> usize {
        self.noise_index() + 1 + self.families.len()
    }

    /// Where σ is.
    fn noise_index(&self) -> usize {
        self.offsets[self.families.len()]
    }

    /// Whether the values of one family satisfy the prior.
    fn is_believed(&self, values: &[f64]) -> bool {
        let end = values[self.horizon];
        let (least, largest) = self.prior.end;
        // written so that NaN is not believed
        let inside = end >= least && end <= largest;
        inside
            && match self.prior.monotonicity {
                MonotonicityRule::Soft => values[self.observed_count] <= end,
                MonotonicityRule::Hard => {
                    values[self.observed_count..=self.horizon].windows(2).all(|pair| pair[0] <= pair[1])
                }
                MonotonicityRule::Combination | MonotonicityRule::Free => true,
            }
    }

    /// Whether family `k` with `parameters` has a place in the prior.
    pub(super) fn is_admitted(&self, k: usize, parameters: &[f64]) -> bool {
        let mut values = vec![0.0; self.epochs.len()];
        self.is_in_box(k, parameters) && self.evaluate_family(k, parameters, &mut values)
    }

    fn is_in_box(&self, k: usize, parameters: &[f64]) -> bool {
        self.prior.proper.as_ref().is_none_or(|proper| {
            parameters.iter().zip(&proper.boxes[k]).all(|(value, (low, high))| value >= low && value <= high)
        })
    }

    /// The values of family `k`, and whether the prior believes them.
    fn evaluate_family(&self, k: usize, parameters: &[f64], values: &mut [f64]) -> bool {
        self.families[k].fill_values(parameters, &self.epochs, values);
        self.is_believed(values)
    }

    fn family_parameters<'x>(&self, x: &'x [f64], k: usize) -> &'x [f64] {
        &x[self.offsets[k]..self.offsets[k + 1]]
    }

    /// σ, and ln of the prior of σ and of the weights, whose values are brought up to date; `None` outside the support.
    fn noise_and_weights(&self, x: &[f64], block: Option<usize>, weights: &mut [f64]) -> Option<(f64, f64)> {
        let (noise, given) = (x[self.noise_index()], &x[self.noise_index() + 1..]);
        let Some(proper) = &self.prior.proper else {
            weights.copy_from_slice(given);
            let inside = noise > 0.0 && given.iter().all(|w| *w >= 0.0);
            return inside.then_some((noise, 0.0));
        };
        if !(noise >= proper.log_noise.0 && noise <= proper.log_noise.1) {
            return None;
        }
        match block.filter(|&block| block < weights.len()) {
            Some(k) => weights[k] = given[k].exp(),
            None => weights.iter_mut().zip(given).for_each(|(weight, v)| *weight = v.exp()),
        }
        let density = given.iter().zip(weights).map(|(v, weight)| v - *weight).sum();
        Some((noise.exp(), density))
    }
}

dispatched! {
    /// Σ_k w_k·f_k / Σ_k w_k, values of one family after the other, into `combined`.
    pub(crate) fn combine(values: &[f64], weights: &[f64], combined: &mut [f64]) {
        let inverse = 1.0 / weights.iter().sum::<f64>();
        combined.fill(0.0);
        for (values, weight) in values.chunks_exact(combined.len()).zip(weights) {
            let share = weight * inverse;
            for (sum, value) in combined.iter_mut().zip(values) {
                *sum = share.mul_add(*value, *sum);
            }
        }
    }
}

dispatched! {
    /// Σ ω_t·(y_t − f_t)².
    pub(crate) fn weighted_squares(scores: &[f64], recency: &[f64], combined: &[f64]) -> f64 {
        let mut sum = 0.0;
        for ((y, weight), f) in scores.iter().zip(recency).zip(combined) {
            sum = (weight * (y - f)).mul_add(y - f, sum);
        }
        sum
    }
}

const OUTSIDE_SUPPORT: (f64, [f64; 2]) = (f64::NEG_INFINITY, [0.0; 2]);

impl TargetDensity for CombinationPosterior<'_> {
    /// The values of each family, of the combination, and the weights.
    fn cache_size(&self) -> usize {
        (self.families.len() + 1) * self.epochs.len() + self.families.len()
    }

    /// Each family's parameters with its weight; σ with all weights.
    fn coordinate_blocks(&self) -> Vec<Vec<usize>> {
        let noise = self.noise_index();
        (0..self.families.len())
            .map(|k| (self.offsets[k]..self.offsets[k + 1]).chain([noise + 1 + k]).collect())
            .chain([(noise..self.dimension()).collect()])
            .collect()
    }

    /// The quantities are f(T) and σ.
    fn evaluate(&self, x: &[f64], block: Option<usize>, kept: &mut [f64]) -> (f64, [f64; 2]) {
        let points = self.epochs.len();
        let families = self.families.len();
        let (values, rest) = kept.split_at_mut(families * points);
        let (combined, weights) = rest.split_at_mut(points);
        let Some((noise, prior)) = self.noise_and_weights(x, block, weights) else {
            return OUTSIDE_SUPPORT;
        };
        let changed = block.map_or(0..families, |block| block..families.min(block + 1));
        let mut inside = changed.clone().all(|k| self.is_in_box(k, self.family_parameters(x, k)));
        for k in changed {
            let values = &mut values[k * points..(k + 1) * points];
            inside = inside && self.evaluate_family(k, self.family_parameters(x, k), values);
        }
        if !inside {
            return OUTSIDE_SUPPORT;
        }
        combine(values, weights, combined);
        let end = combined[self.horizon];
        if self.prior.monotonicity == MonotonicityRule::Combination && combined[self.observed_count] >= end {
            return OUTSIDE_SUPPORT;
        }
        let squares = weighted_squares(&self.observed.scores, &self.observed.weights, combined);
        let density = prior - 0.5 * squares / (noise * noise) - self.mass * noise.ln();
        if density.is_finite() { (density, [end, noise]) } else { OUTSIDE_SUPPORT }
    }
}

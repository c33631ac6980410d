//! Four experts on the same runs and their blend, weighted by held-out error.

use crate::compact::Compact;
use crate::dual_ridge::DualRidge;
use crate::forest::{ExtraTrees, Forest};
use crate::gp::{Design, Pair, Relation, last_score, last_scores};
use crate::matrix::Matrix;
use crate::neighbours::Neighbours;
use crate::training::{Query, TrainingSet};

/// Weights fall with this power of the mean squared error.
const SHARPNESS: i32 = 3;

/// ŷ = Σ_e a_e ŷ_e over experts e, a_e ∝ (mse_min / mse_e)³ from held-out errors; the scale of a forecast is that of the
/// pair of Gaussian processes.
pub(crate) struct Blend {
    compact: Compact,
    design: Design,
    pair: Pair,
    pair_weight: f64,
    /// The other experts with their weights.
    others: Vec<(f64, Expert)>,
    /// For each run: (its forecast without it, its scale).
    pub(crate) left_out: Vec<(f64, f64)>,
}

/// What experts know of a run.
struct Known<'a> {
    row: &'a [f64],
    relation: &'a Relation,
    query: &'a Query<'a>,
    last: f64,
}

/// A fitted expert beside the pair.
enum Expert {
    Trees(Forest),
    Neighbours(Neighbours),
    Ridge(DualRidge),
}

impl Expert {
    fn forecast(&self, known: &Known<'_>) -> f64 {
        match self {
            Self::Trees(forest) => forest.predict(known.row),
            Self::Neighbours(neighbours) => known.last + neighbours.forecast(known.relation),
            Self::Ridge(ridge) => known.last + ridge.forecast(linear_row(known.query)),
        }
    }
}

/// The features of the ridge: every point and the configuration.
fn linear_row(query: &Query<'_>) -> Vec<f64> {
    query.prefix.iter().chain(query.configuration).copied().collect()
}

impl Blend {
    /// Fits all experts; only the pair where `alone`. `None` if the numbers allow no fit.
    pub(crate) fn fit(training: &TrainingSet, alone: bool, seed: u64) -> Option<Self> {
        let (compact, rows) = Compact::fit(training);
        let design = Design::new(&rows, compact.groups());
        let last = last_scores(training);
        let pair = Pair::fit(&design, &training.targets, &last)?;
        let experts = if alone { Vec::new() } else { fit_others(training, &rows, &design, &last, seed) };
        let own: Vec<f64> = pair.left_out.iter().map(|left_out| left_out.0).collect();
        let held_out: Vec<&[f64]> = std::iter::once(own.as_slice())
            .chain(experts.iter().map(|(held_out, _)| held_out.as_slice()))
            .collect();
        let weights = weights(&held_out, &training.targets);
        let mix =
            |i: usize| weights.iter().zip(&held_out).map(|(weight, forecasts)| weight * forecasts[i]).sum();
        let reach = pair.reach();
        let left_out =
            (0..training.len()).map(|i| (reach.clip(mix(i), last[i]), pair.left_out[i].1)).collect();
        let others =
            weights[1..].iter().copied().zip(experts.into_iter().map(|(_, expert)| expert)).collect();
        Some(Self { compact, design, pair_weight: weights[0], pair, others, left_out })
    }

    /// The mean and scale of the final score of a new run.
    pub(crate) fn forecast(&self, query: &Query<'_>) -> (f64, f64) {
        let mut row = Vec::new();
        self.compact.row(query, &mut row);
        let relation = self.design.relate(&row);
        let last = last_score(query);
        let known = Known { row: &row, relation: &relation, query, last };
        let (own, scale) = self.pair.forecast(&relation, last);
        let others = self.others.iter().map(|(weight, expert)| weight * expert.forecast(&known));
        let mean = self.pair_weight * own + others.sum::<f64>();
        (self.pair.reach().clip(mean, last), scale)
    }
}

/// Trees, neighbours and ridge, each with its held-out forecasts of y_T.
fn fit_others(
    training: &TrainingSet,
    rows: &Matrix,
    design: &Design,
    last: &[f64],
    seed: u64,
) -> Vec<(Vec<f64>, Expert)> {
    let gains: Vec<f64> = training.targets.iter().zip(last).map(|(y, last)| y - last).collect();
    let from_here =
        |gains: &[f64]| gains.iter().zip(last).map(|(gain, last)| last + gain).collect::<Vec<f64>>();
    let forest = ExtraTrees { seed, ..ExtraTrees::default() }.fit(rows, &training.targets);
    let neighbours = Neighbours::fit(design, &gains);
    let linear: Vec<Vec<f64>> = (0..training.len()).map(|i| linear_row(&training.query(i))).collect();
    let mut experts = vec![
        (forest.out_of_bag().to_vec(), Expert::Trees(forest)),
        (from_here(&neighbours.left_out), Expert::Neighbours(neighbours)),
    ];
    if let Some(ridge) = DualRidge::fit(&Matrix::from_rows(&linear), &gains) {
        experts.push((from_here(&ridge.left_out), Expert::Ridge(ridge)));
    }
    experts
}

/// Weights ∝ (mse_min / mse)³ that sum to 1; equal ones where nothing errs.
fn weights(held_out: &[&[f64]], targets: &[f64]) -> Vec<f64> {
    let error = |forecasts: &&[f64]| forecasts.iter().zip(targets).map(|(f, y)| (y - f).powi(2)).sum::<f64>();
    let errors: Vec<f64> = held_out.iter().map(error).collect();
    let least = errors.iter().copied().fold(f64::INFINITY, f64::min);
    let raw: Vec<f64> =
        errors.iter().map(|&e| if e > 0.0 { (least / e).powi(SHARPNESS) } else { 1.0 }).collect();
    let total: f64 = raw.iter().sum();
    raw.iter().map(|weight| weight / total).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_expert_with_half_the_squared_error_weighs_eight_times_as_much() {
        let found = weights(&[&[1.0, -1.0], &[2.0_f64.sqrt(), -(2.0_f64.sqrt())]], &[0.0, 0.0]);
        assert!((found[0] / found[1] - 8.0).abs() < 1e-9 && (found[0] + found[1] - 1.0).abs() < 1e-12);
        assert_eq!(weights(&[&[1.0], &[1.0]], &[1.0]), [0.5, 0.5]);
    }
}

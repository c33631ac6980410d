//! The default predictor: a blend of Gaussian processes, extremely randomised trees, neighbours and ridge regression.

use crate::compact::Compact;
use crate::dual_ridge::DualRidge;
use crate::forecast::Forecast;
use crate::forest::{ExtraTrees, Forest};
use crate::gp::{Design, Pair, Reach, Relation, last_score, last_scores};
use crate::matrix::Matrix;
use crate::neighbours::Neighbours;
use crate::predictor::{FitError, Model, Predictor, check_training};
use crate::training::{Query, TrainingSet};

/// With at most this many runs the Gaussian processes stand alone.
const FEW: usize = 20;
/// Weights fall with this power of the mean squared error.
const SHARPNESS: i32 = 4;

/// The blend behind `auto`: ŷ = Σ_e a_e ŷ_e over four experts, a_e ∝ (mse_min / mse_e)⁴ from held-out errors.
///
/// | expert | what it is | held out by |
/// |---|---|---|
/// | pair | [`GaussianProcess`](crate::GaussianProcess) | leave-one-out, closed form |
/// | trees | 100 extremely randomised trees on the same features | out-of-bag |
/// | neighbours | kernel-weighted mean gain of like runs | leave-one-out |
/// | ridge | linear in all points and the configuration | leave-one-out, closed form |
///
/// With 20 runs or fewer the pair stands alone. The scale of a forecast is the pair's. Needs 3 runs. O(n³) to fit.
#[derive(Clone, Copy, Debug, Default)]
pub struct Blend {
    /// The seed of the trees.
    pub seed: u64,
}

/// What experts know of a run.
struct Known<'a> {
    row: &'a [f64],
    relation: &'a Relation,
    query: &'a Query<'a>,
    last: f64,
}

/// A fitted expert.
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

struct BlendModel {
    compact: Compact,
    design: Design,
    reach: Reach,
    /// Experts with their weights; the pair first.
    pair: Pair,
    others: Vec<(f64, Expert)>,
    pair_weight: f64,
    held_out: Vec<Forecast>,
}

fn linear_row(query: &Query<'_>) -> Vec<f64> {
    query.prefix.iter().chain(query.configuration).copied().collect()
}

impl Predictor for Blend {
    fn name(&self) -> &'static str {
        "auto"
    }

    fn fit(&self, training: &TrainingSet) -> Result<Box<dyn Model>, FitError> {
        check_training(self.name(), 3, training)?;
        let (compact, rows) = Compact::fit(training);
        let design = Design::new(&rows, compact.groups());
        let last = last_scores(training);
        let y = &training.targets;
        let gains: Vec<f64> = y.iter().zip(&last).map(|(y, l)| y - l).collect();
        let pair = Pair::fit(&design, y, &last).ok_or(FitError::NotFinite { run: 0, what: "kernel" })?;
        let mut experts: Vec<(Vec<f64>, Expert)> = Vec::new();
        if training.len() > FEW {
            let forest = ExtraTrees { seed: self.seed, ..ExtraTrees::default() }.fit(&rows, y);
            experts.push((forest.out_of_bag().to_vec(), Expert::Trees(forest)));
            let n = Neighbours::fit(&design, &gains);
            experts.push((n.left_out.iter().zip(&last).map(|(g, l)| g + l).collect(), Expert::Neighbours(n)));
            let x =
                Matrix::from_rows(&(0..y.len()).map(|i| linear_row(&training.query(i))).collect::<Vec<_>>());
            if let Some(r) = DualRidge::fit(&x, &gains) {
                experts.push((r.left_out.iter().zip(&last).map(|(g, l)| g + l).collect(), Expert::Ridge(r)));
            }
        }
        let mse = |f: &[f64]| f.iter().zip(y).map(|(f, y)| (y - f).powi(2)).sum::<f64>();
        let pair_mean: Vec<f64> = pair.left_out.iter().map(|l| l.0).collect();
        let errors: Vec<f64> =
            std::iter::once(mse(&pair_mean)).chain(experts.iter().map(|e| mse(&e.0))).collect();
        let least = errors.iter().copied().fold(f64::INFINITY, f64::min).max(1e-300);
        let raw: Vec<f64> = errors.iter().map(|e| (least / e.max(1e-300)).powi(SHARPNESS)).collect();
        let total: f64 = raw.iter().sum();
        let weights: Vec<f64> = raw.iter().map(|w| w / total).collect();
        let reach = pair.reach();
        let held_out = (0..y.len())
            .map(|i| {
                let mut mean = weights[0] * pair_mean[i];
                for (w, e) in weights[1..].iter().zip(&experts) {
                    mean += w * e.0[i];
                }
                Forecast::gaussian(reach.clip(mean, last[i]), pair.left_out[i].1)
            })
            .collect();
        let others = weights[1..].iter().copied().zip(experts.into_iter().map(|e| e.1)).collect();
        Ok(Box::new(BlendModel { compact, design, reach, pair, others, pair_weight: weights[0], held_out }))
    }
}

impl Model for BlendModel {
    fn forecast(&self, query: &Query<'_>) -> Forecast {
        let mut row = Vec::new();
        self.compact.row(query, &mut row);
        let relation = self.design.relate(&row);
        let last = last_score(query);
        let known = Known { row: &row, relation: &relation, query, last };
        let (mut mean, sd) = self.pair.forecast(&relation, last);
        mean *= self.pair_weight;
        for (weight, expert) in &self.others {
            mean += weight * expert.forecast(&known);
        }
        Forecast::gaussian(self.reach.clip(mean, last), sd)
    }

    fn held_out(&self) -> &[Forecast] {
        &self.held_out
    }
}

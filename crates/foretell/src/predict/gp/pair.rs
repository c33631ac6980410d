//! The pair of Gaussian processes: one on final scores, one on gains.

use crate::curves::training::TrainingSet;
use crate::features::compact::{CompactFeatures, RANGE_MARGIN};
use crate::linalg::matrix::Matrix;
use crate::predict::gp::design::{CONFIGURATION_GROUP, KernelDesign, RunRelation};
use crate::predict::gp::posterior::prior_means;
use crate::predict::gp::process::{FittedProcess, TunedProcess};
use crate::predict::gp::reach::ForecastRange;
use crate::predict::gp::warp::{TargetWarp, WarpPrior};
use crate::statistics::{min_and_max, widen_range};

/// The prior variance of the log of a configuration column's squared weight.
const RELEVANCE_VARIANCE: f64 = 0.3;
/// The loss of certainty of a forecast per unit that y_τ is [`Pair::beyond`]: the standard deviation of a slope near 1.
const BEYOND_SLOPE_SD: f64 = 0.3;

/// The mean of a process on y_T and of y_τ + a process on y_T − y_τ, clipped to the runs' [`Reach`].
///
/// Features stay near those of the training runs, so that a process on y_T says the same of every run below them; y_T of
/// such a run is taken to be lower by as much as its y_τ is, as the process on y_T − y_τ takes it anyway.
pub(crate) struct ProcessPair {
    direct: FittedProcess,
    gain: FittedProcess,
    reach: ForecastRange,
    /// The least and the largest y_τ that features tell from others.
    lasts: (f64, f64),
    /// For each run: (its forecast without it, its spread).
    pub(crate) left_out: Vec<(f64, f64)>,
}

impl ProcessPair {
    /// Both processes on `design`; `last` holds y_τ of each run, `gains` y_T − y_τ.
    fn new(
        design: &KernelDesign,
        tuned: (TunedProcess, TunedProcess),
        training: &TrainingSet,
        gains: &[f64],
        last: &[f64],
    ) -> Self {
        let (direct, gain) = rayon::join(|| tuned.0.process(design), || tuned.1.process(design));
        let reach = ForecastRange::new(training, gains);
        let lasts = widen_range(min_and_max(last.iter().copied()), RANGE_MARGIN);
        let left_out = direct.left_out.iter().zip(&gain.left_out).zip(last);
        let left_out =
            left_out.map(|((&a, &b), &last)| Self::combine_forecasts(a, b, last, &reach)).collect();
        Self { direct, gain, reach, lasts, left_out }
    }

    fn combine_forecasts(
        direct: (f64, f64),
        gain: (f64, f64),
        last: f64,
        reach: &ForecastRange,
    ) -> (f64, f64) {
        (reach.clip((direct.0 + last + gain.0) / 2.0, last), (direct.1 + gain.1) / 2.0)
    }

    /// The mean and spread of the final score of a new run with last score `last`.
    pub(crate) fn forecast(&self, relation: &RunRelation, last: f64) -> (f64, f64) {
        let beyond = self.beyond(last);
        let (direct, sd) = self.direct.forecast(relation);
        let gain = self.gain.forecast(relation);
        let (mean, sd) = Self::combine_forecasts((direct + beyond, sd), gain, last, &self.reach);
        (mean, sd.hypot(BEYOND_SLOPE_SD * beyond))
    }

    /// The distance of `last` above (or, negative, below) the range that features tell from others.
    pub(crate) fn beyond(&self, last: f64) -> f64 {
        last - last.clamp(self.lasts.0, self.lasts.1)
    }

    /// The range that completed runs covered from here.
    pub(crate) fn reach(&self) -> ForecastRange {
        self.reach
    }
}

/// A [`Pair`] with the features it was fitted on.
pub(crate) struct PairFit {
    pub(crate) compact: CompactFeatures,
    /// The features of the training runs, shape (n, features).
    pub(crate) rows: Matrix,
    pub(crate) design: KernelDesign,
    pub(crate) pair: ProcessPair,
}

impl PairFit {
    /// Fits features, their weights, warps and both processes; `last` holds y_τ of each run. `None` if the numbers allow no fit.
    ///
    /// Both processes are tuned with the warps their priors think likeliest. The weights c_j of the configuration's columns then
    /// take one step of automatic relevance determination: ln c_j² moves by 0.3 times its slope, summed over both log marginal
    /// likelihoods (there a straight line of that slope and a prior N(0, 0.3) are largest together), by 1 at most; each process
    /// takes the warp that is likeliest with its kernel as it is; and both are tuned again.
    pub(crate) fn new(training: &TrainingSet, last: &[f64]) -> Option<Self> {
        let (mut compact, mut rows) = CompactFeatures::fit(training);
        let mut design = KernelDesign::new(&rows, compact.groups());
        let targets = &training.targets;
        let gains: Vec<f64> = targets.iter().zip(last).map(|(y, last)| y - last).collect();
        let start = prior_means();
        let (direct, gain) = rayon::join(
            || TunedProcess::new(&design, targets, TargetWarp::first(WarpPrior::SCORES, targets), &start),
            || TunedProcess::new(&design, &gains, TargetWarp::first(WarpPrior::GAINS, &gains), &start),
        );
        let (direct, gain) = direct.zip(gain)?;
        let configuration = compact.groups()[CONFIGURATION_GROUP].clone();
        if configuration.len() > 1 {
            let slopes = [&direct, &gain].map(|tuned| tuned.column_slopes(&design, CONFIGURATION_GROUP));
            let mut factors = vec![1.0; rows.column_count()];
            for (k, j) in configuration.enumerate() {
                let step = RELEVANCE_VARIANCE * (slopes[0][k] + slopes[1][k]);
                factors[j] = (step.clamp(-1.0, 1.0) / 2.0).exp();
            }
            compact.multiply_weights(&factors);
            rows = Matrix::from_fn(rows.row_count(), rows.column_count(), |i, j| rows.row(i)[j] * factors[j]);
            design = KernelDesign::new(&rows, compact.groups());
        }
        let (direct, gain) = rayon::join(
            || direct.retune_with_warp(&design, WarpPrior::SCORES, targets),
            || gain.retune_with_warp(&design, WarpPrior::GAINS, &gains),
        );
        let tuned = direct.zip(gain)?;
        let pair = ProcessPair::new(&design, tuned, training, &gains, last);
        Some(Self { compact, rows, design, pair })
    }
}

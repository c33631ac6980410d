//! Seven experts on the same runs and their blend, weighted by held-out error.

use crate::compact::Compact;
use crate::dual_ridge::DualRidge;
use crate::features::time_series_features;
use crate::forest::{Forest, MixedTrees};
use crate::gp::{Design, Pair, PairFit, Relation};
use crate::kernel_ridge::KernelFit;
use crate::matrix::Matrix;
use crate::neighbours::Neighbours;
use crate::statistics::{mean, standard_deviation};
use crate::training::{Query, TrainingSet};

/// How large squared errors on new runs are beside held-out ones: out-of-bag forecasts come from 37 % of the trees.
const TREES: f64 = 0.8;
/// How much the ridge and the kernel ridge weigh beside others before any error is seen: on new runs they are at times far worse
/// than their held-out errors say.
const REGRESSION_PRIOR: f64 = 0.2;
/// With so many runs every expert but the pair weighs half as much as with endless ones: it has priors that hold for most curves,
/// while from few runs the others know little.
const RUNS_TO_LEARN: f64 = 10.0;
/// With so many runs trees on y_T weigh half of that: they forecast no value that no run had.
const RUNS_FOR_TREES: f64 = 30.0;
/// So many runs until weights follow the ratio of errors in full: from few runs ratios say little.
const RUNS_FOR_RATIOS: f64 = 150.0;
/// How many times the t-statistic of an expert's larger errors counts: from few runs, and from [`RUNS_FOR_RATIOS`].
const DOUBT: (f64, f64) = (0.3, 0.9);
/// So many points until the steps of finished runs tell how large a step can be: training begins with leaps.
const POINTS_TO_KNOW_STEPS: usize = 10;

/// ŷ = Σ_e a_e ŷ_e over experts e, a_e their [`weights`]; every ŷ_e is clipped to the runs' [`Reach`](crate::gp::Reach). The scale of a
/// forecast is √(s² + (ŷ_pair − ŷ)² + Σ_e a_e (ŷ_e − ŷ)²), s the deviation of the pair of Gaussian processes.
///
/// A run whose last step rises by more than the largest step of any finished run so far is forecast as if it had risen by that,
/// and what is left out adds its square to that of the scale.
pub(crate) struct Blend {
    compact: Compact,
    design: Design,
    pair: Pair,
    pair_weight: f64,
    floor: Option<f64>,
    /// The other experts with their weights.
    others: Vec<(f64, Expert)>,
    /// The largest |y_t − y_{t−1}| of any run.
    largest_step: f64,
    /// For each run: (its forecast without it, its scale).
    pub(crate) left_out: Vec<(f64, f64)>,
}

/// What experts know of a run.
struct Known<'a> {
    row: &'a [f64],
    relation: &'a Relation,
    query: &'a Query<'a>,
    last: f64,
    /// [`Pair::beyond`].
    beyond: f64,
}

/// A fitted expert beside the pair. All but the first forecast the gain y_T − y_τ.
enum Expert {
    Trees(Forest),
    GainTrees(Forest),
    Neighbours(Neighbours),
    Ridge(DualRidge),
    KernelRidge(KernelFit),
    MeanGain(f64),
}

impl Expert {
    /// The final score it forecasts.
    fn forecast(&self, known: &Known<'_>) -> f64 {
        let gain = match self {
            Self::Trees(forest) => return forest.predict(known.row) + known.beyond,
            Self::GainTrees(forest) => forest.predict(known.row),
            Self::Neighbours(neighbours) => neighbours.forecast(known.relation),
            Self::Ridge(ridge) => ridge.forecast(point_row(known.query)),
            Self::KernelRidge(ridge) => ridge.predict(&mut curve_row(known.query)),
            Self::MeanGain(gain) => *gain,
        };
        known.last + gain
    }
}

/// The features of the ridge: every point and the configuration.
fn point_row(query: &Query<'_>) -> Vec<f64> {
    query.prefix.iter().chain(query.configuration).copied().collect()
}

/// The features of the kernel ridge, which are the paper's: every point, differences and the configuration.
fn curve_row(query: &Query<'_>) -> Vec<f64> {
    let mut row = Vec::with_capacity(3 * query.prefix.len() + query.configuration.len());
    time_series_features(query.prefix, &mut row);
    row.extend_from_slice(query.configuration);
    row
}

impl Blend {
    /// Fits all experts. `None` if the numbers allow no fit.
    pub(crate) fn fit(training: &TrainingSet, seed: u64) -> Option<Self> {
        let last = training.last_scores();
        let PairFit { compact, rows, design, pair } = PairFit::new(training, &last)?;
        let fitted = fit_others(training, &rows, &design, &last, seed);
        let clip = |forecasts: &[f64]| -> Vec<f64> {
            forecasts.iter().zip(&last).map(|(&forecast, &last)| pair.reach().clip(forecast, last)).collect()
        };
        let own: Vec<f64> = pair.left_out.iter().map(|left_out| left_out.0).collect();
        let mut held_out = vec![own];
        held_out.extend(fitted.iter().map(|fitted| clip(&fitted.held_out)));
        let trust: Vec<Trust> =
            std::iter::once(Trust::FULL).chain(fitted.iter().map(|fitted| fitted.trust)).collect();
        // squared errors over s² would let runs that are hard to forecast say nothing, squared errors as they are little else
        let noisiness: Vec<f64> =
            pair.left_out.iter().map(|(_, s)| s.sqrt().max(f64::MIN_POSITIVE)).collect();
        let grasp = Grasp::of(&held_out[0], &held_out[1], &training.targets, training.prefixes.columns());
        let weights = weights(&held_out, &trust, grasp, &training.targets, &noisiness);
        let left_out = (0..training.len()).map(|i| {
            let forecasts = weights.iter().zip(&held_out).map(|(&weight, forecasts)| (weight, forecasts[i]));
            mixture(&forecasts.collect::<Vec<_>>(), pair.left_out[i].1)
        });
        let left_out = left_out.collect();
        let others =
            weights[1..].iter().copied().zip(fitted.into_iter().map(|fitted| fitted.expert)).collect();
        let largest_step = largest_step(training);
        let (floor, pair_weight) = (training.floor, weights[0]);
        Some(Self { compact, design, pair, pair_weight, floor, others, largest_step, left_out })
    }

    /// The mean and scale of the final score of a new run.
    pub(crate) fn forecast(&self, query: &Query<'_>) -> (f64, f64) {
        if let [earlier @ .., before, last] = query.prefix {
            let leap = last - before - self.largest_step;
            if leap > 0.0 && leap.is_finite() {
                let prefix = [earlier, &[*before, before + self.largest_step]].concat();
                let (mean, scale) = self.blended(&Query { prefix: &prefix, ..*query });
                return (mean, scale.hypot(leap));
            }
        }
        self.blended(query)
    }

    /// The mean of the experts' forecasts, and its scale.
    fn blended(&self, query: &Query<'_>) -> (f64, f64) {
        let mut row = Vec::new();
        self.compact.row(query, &mut row);
        let relation = self.design.relate(&row);
        let last = query.last_score(self.floor);
        let known = Known { row: &row, relation: &relation, query, last, beyond: self.pair.beyond(last) };
        let (own, scale) = self.pair.forecast(&relation, last);
        let reach = self.pair.reach();
        let others =
            self.others.iter().map(|(weight, expert)| (*weight, reach.clip(expert.forecast(&known), last)));
        mixture(&std::iter::once((self.pair_weight, own)).chain(others).collect::<Vec<_>>(), scale)
    }
}

/// The largest |y_t − y_{t−1}| of any run; ∞ before there are [`POINTS_TO_KNOW_STEPS`].
fn largest_step(training: &TrainingSet) -> f64 {
    if training.prefixes.columns() < POINTS_TO_KNOW_STEPS {
        return f64::INFINITY;
    }
    let steps = (0..training.len()).flat_map(|i| training.prefixes.row(i).windows(2));
    steps.map(|pair| (pair[1] - pair[0]).abs()).fold(0.0, f64::max)
}

/// The mean ŷ of weighted `forecasts`, and √(scale² + (ŷ_0 − ŷ)² + Σ a_e (ŷ_e − ŷ)²), `scale` being the standard deviation of
/// the first: how far, in the mean, it takes the truth to be from ŷ, and how far the others are. Experts that disagree make
/// a forecast less sure, most of all where others overrule the one that says how sure it is.
fn mixture(forecasts: &[(f64, f64)], scale: f64) -> (f64, f64) {
    let mean: f64 = forecasts.iter().map(|(weight, forecast)| weight * forecast).sum();
    let between: f64 = forecasts.iter().map(|(weight, forecast)| weight * (forecast - mean).powi(2)).sum();
    let overruled = forecasts.first().map_or(0.0, |(_, first)| first - mean);
    (mean, (scale * scale + overruled * overruled + between).sqrt())
}

/// What is known of an expert before its errors are.
#[derive(Clone, Copy)]
struct Trust {
    /// How much it weighs.
    prior: f64,
    /// How large its squared errors on new runs are beside held-out ones.
    error_ratio: f64,
    /// How fast it gives way to the pair the more that one explains; `None` for the pair, which gives way to none.
    yields: Option<f64>,
}

impl Trust {
    const FULL: Self = Self { prior: 1.0, error_ratio: 1.0, yields: None };
}

/// How well the pair knows these runs, from its held-out squared errors and those of the mean gain. Which of seven experts is the
/// best cannot be told from ten errors each, but it can be told whether there is structure that only the pair has.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Grasp {
    /// ln(variance of y_T / mse_pair) − 1.5, at least −2 and at most 0.5: 0 where the pair explains 78 % of y_T.
    explained: f64,
    /// 2·min(t − 0.9, 3·ln(mse_gain / mse_pair) − 2.4, ln(variance of y_T / mse_pair) − 1, 1), at least 0, t the t-statistic of
    /// how much larger the mean gain's errors are: the pair is surely better, by a lot, and knows y_T at all. Times (τ − 2)/8, at least
    /// 0 and at most 1: when all runs have just begun, it takes little to be ahead of their last value.
    surely: f64,
}

impl Grasp {
    /// From the held-out forecasts of y_T (`targets`) by the pair and by the mean gain after `tau` points. O(n).
    fn of(pair: &[f64], gain: &[f64], targets: &[f64], tau: usize) -> Self {
        let squares = |forecasts: &[f64]| -> Vec<f64> {
            forecasts.iter().zip(targets).map(|(f, y)| (y - f).powi(2)).collect()
        };
        let (pair, gain) = (squares(pair), squares(gain));
        let log = |value: f64| value.max(f64::MIN_POSITIVE).ln();
        let left = log(mean(&pair));
        let known = log(standard_deviation(targets).powi(2)) - left;
        let ahead = 3.0 * (log(mean(&gain)) - left) - 2.4;
        let surely = (excess(&gain, &pair) - 0.9).min(ahead).min(known - 1.0).clamp(0.0, 1.0);
        let seen = ((tau as f64 - 2.0) / 8.0).clamp(0.0, 1.0);
        Self { explained: (known - 1.5).clamp(-2.0, 0.5), surely: 2.0 * surely * seen }
    }
}

/// An expert, its held-out forecasts of y_T, and how far those are to be trusted.
struct Fitted {
    expert: Expert,
    held_out: Vec<f64>,
    trust: Trust,
}

/// All experts but the pair, the mean gain first.
fn fit_others(
    training: &TrainingSet,
    rows: &Matrix,
    design: &Design,
    last: &[f64],
    seed: u64,
) -> Vec<Fitted> {
    let gains: Vec<f64> = training.targets.iter().zip(last).map(|(y, last)| y - last).collect();
    let from_here = |gains: &[f64]| gains.iter().zip(last).map(|(gain, last)| last + gain).collect();
    let matrix = |row: fn(&Query<'_>) -> Vec<f64>| {
        Matrix::from_rows(&(0..training.len()).map(|i| row(&training.query(i))).collect::<Vec<_>>())
    };
    let recipe = MixedTrees { seed, ..MixedTrees::default() };
    let trees = recipe.fit(rows, &training.targets);
    let gain_trees = MixedTrees { seed: seed.wrapping_add(1), ..recipe }.fit(rows, &gains);
    let neighbours = Neighbours::fit(design, &gains);
    let kernel = KernelFit::of_few_widths(&matrix(curve_row), &gains);
    let (mean_gain, without) = mean_gain(&gains);
    let n = training.len() as f64;
    let learnt = n / (n + RUNS_TO_LEARN);
    let on_scores = Trust { prior: learnt * n / (n + RUNS_FOR_TREES), error_ratio: TREES, yields: Some(0.0) };
    let on_gains = Trust { prior: learnt, error_ratio: TREES, yields: Some(0.5) };
    let of_like_runs = Trust { prior: learnt, error_ratio: 1.0, yields: Some(1.0) };
    let regression = Trust { prior: REGRESSION_PRIOR * learnt, error_ratio: 1.0, yields: Some(0.5) };
    let fitted = |held_out, trust, expert| Fitted { expert, held_out, trust };
    let mut all = vec![
        fitted(from_here(&without), of_like_runs, Expert::MeanGain(mean_gain)),
        fitted(trees.out_of_bag().to_vec(), on_scores, Expert::Trees(trees)),
        fitted(from_here(gain_trees.out_of_bag()), on_gains, Expert::GainTrees(gain_trees)),
        fitted(from_here(&neighbours.left_out), of_like_runs, Expert::Neighbours(neighbours)),
        fitted(from_here(&kernel.held_out), regression, Expert::KernelRidge(kernel)),
    ];
    if let Some(ridge) = DualRidge::fit(&matrix(point_row), &gains) {
        all.push(fitted(from_here(&ridge.left_out), regression, Expert::Ridge(ridge)));
    }
    all
}

/// The mean gain, shrunk as if one more run had gained nothing, and the same without each run.
fn mean_gain(gains: &[f64]) -> (f64, Vec<f64>) {
    let (total, n) = (gains.iter().sum::<f64>(), gains.len() as f64);
    (total / (n + 1.0), gains.iter().map(|gain| (total - gain) / n).collect())
}

/// Weights ∝ q_e·(mse_min / mse_e)^p·exp(−(0.3 + 0.6·p)·t_e − (1 − p)·g_e) that sum to 1, p = min(1, n/150), mse_e the mean over runs of
/// expert e's squared error over the run's `noisiness`, t_e = (mean of d) / (standard error of that mean), d = how much larger
/// those of e are than those of the expert with the least mean; q_e is `trust[e].prior`, and squared errors of e count
/// `trust[e].error_ratio` times. g_e = `trust[e].yields`·`grasp.explained` + `grasp.surely`, and 0 for the pair.
/// O(n·experts). The weights are Foretell's own.
fn weights(
    held_out: &[Vec<f64>],
    trust: &[Trust],
    grasp: Grasp,
    targets: &[f64],
    noisiness: &[f64],
) -> Vec<f64> {
    let squares = |(forecasts, trust): (&Vec<f64>, &Trust)| -> Vec<f64> {
        let runs = forecasts.iter().zip(targets).zip(noisiness);
        runs.map(|((f, y), noisiness)| trust.error_ratio * (y - f).powi(2) / noisiness).collect()
    };
    let errors: Vec<Vec<f64>> = held_out.iter().zip(trust).map(squares).collect();
    let means: Vec<f64> = errors.iter().map(|errors| mean(errors)).collect();
    let best = (0..means.len()).min_by(|&a, &b| means[a].total_cmp(&means[b])).unwrap_or(0);
    let power = (targets.len() as f64 / RUNS_FOR_RATIOS).min(1.0);
    let doubt = DOUBT.0 + (DOUBT.1 - DOUBT.0) * power;
    let raw: Vec<f64> = (0..means.len())
        .map(|e| {
            let ratio = if means[e] > 0.0 { means[best] / means[e] } else { 1.0 };
            let worse = excess(&errors[e], &errors[best]);
            let gives_way = trust[e].yields.map_or(0.0, |yields| yields * grasp.explained + grasp.surely);
            trust[e].prior * ratio.powf(power) * (-doubt * worse - (1.0 - power) * gives_way).exp()
        })
        .collect();
    let total: f64 = raw.iter().sum();
    raw.iter().map(|weight| weight / total).collect()
}

/// The mean of `errors` − `least` over its standard error; 0 where they are the same.
fn excess(errors: &[f64], least: &[f64]) -> f64 {
    let more: Vec<f64> = errors.iter().zip(least).map(|(a, b)| a - b).collect();
    let (mean, deviation) = (mean(&more), standard_deviation(&more));
    if mean > 0.0 { mean * (more.len() as f64).sqrt() / deviation.max(f64::MIN_POSITIVE) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn experts_that_disagree_make_a_forecast_less_sure() {
        // 0.8·1 + 0.2·2 = 1.2; 0.09 + 0.04 + 0.8·0.04 + 0.2·0.64
        let (mean, scale) = mixture(&[(0.8, 1.0), (0.2, 2.0)], 0.3);
        assert!((mean - 1.2).abs() < 1e-12 && (scale - 0.29_f64.sqrt()).abs() < 1e-12);
        let (mean, scale) = mixture(&[(0.5, 1.0), (0.5, 1.0)], 0.3);
        assert!((mean - 1.0).abs() < 1e-12 && (scale - 0.3).abs() < 1e-12);
    }

    #[test]
    #[allow(clippy::float_cmp, reason = "the same forecast")]
    fn a_leap_beyond_every_step_of_finished_runs_is_believed_as_far_as_the_largest() {
        let at = |i: usize, t: usize| 0.02 * i as f64 + 0.03 * t as f64;
        let training = |points: usize| TrainingSet {
            steps: (0..points).map(|t| t as f64).collect(),
            target_step: 20.0,
            prefixes: Matrix::from_fn(20, points, at),
            targets: (0..20).map(|i| at(i, 20)).collect(),
            ..TrainingSet::default()
        };
        let last_step_of = |step: f64, points: usize| {
            let mut prefix: Vec<f64> = (0..points).map(|t| at(5, t)).collect();
            prefix[points - 1] = prefix[points - 2] + step;
            prefix
        };
        let fitted = |points: usize| Blend::fit(&training(points), 0).unwrap();
        let (ten, nine) = (fitted(10), fitted(9));
        assert!((ten.largest_step - 0.03).abs() < 1e-12 && nine.largest_step == f64::INFINITY);
        let forecast = |blend: &Blend, step, points| {
            blend.forecast(&Query { prefix: &last_step_of(step, points), configuration: &[] })
        };
        let blended = |blend: &Blend, step, points| {
            blend.blended(&Query { prefix: &last_step_of(step, points), configuration: &[] })
        };
        let (largest, leap) = (blended(&ten, 0.03, 10), forecast(&ten, 0.13, 10));
        assert!((leap.0 - largest.0).abs() < 1e-9 && (leap.1 - largest.1.hypot(0.1)).abs() < 1e-9);
        for step in [0.02, -0.5] {
            assert_eq!(forecast(&ten, step, 10), blended(&ten, step, 10), "no leap: {step}");
        }
        assert_eq!(forecast(&nine, 0.13, 9), blended(&nine, 0.13, 9), "few points");
    }

    #[test]
    fn an_expert_surely_worse_weighs_little_and_one_worse_by_chance_almost_as_much_as_the_best() {
        let targets = [0.0; 4];
        let best = vec![1.0, -1.0, 1.0, -1.0];
        // d = 1, 3, 1, 3: mean 2, deviation 1, t = 2·√4/1
        let surely = vec![2.0_f64.sqrt(), 2.0, 2.0_f64.sqrt(), 2.0];
        // d = 8, −1, −1, −1: mean 1.25, deviation 3.897
        let once = vec![3.0, 0.0, 0.0, 0.0];
        let experts = [best.clone(), surely, once, best];
        let found = weights(&experts, &[Trust::FULL; 4], Grasp::default(), &targets, &[1.0; 4]);
        let beside_best = |ratio: f64, t: f64| ratio.powf(-4.0 / 150.0) * (-0.316 * t).exp();
        assert!((found[1] / found[0] - beside_best(3.0, 4.0)).abs() < 1e-12, "{found:?}");
        assert!((found[2] / found[0] - beside_best(2.25, 2.5 / 3.897_114_317)).abs() < 1e-9, "{found:?}");
        assert!((found[0] - found[3]).abs() < 1e-12 && (found.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn held_out_errors_count_as_often_as_told() {
        let forecasts = vec![vec![1.0, 2.0, 3.0], vec![1.0, 2.0, 3.0]];
        let trust = [Trust::FULL, Trust { error_ratio: 0.5, ..Trust::FULL }];
        let found = weights(&forecasts, &trust, Grasp::default(), &[0.0; 3], &[1.0; 3]);
        assert!(found[1] > found[0], "{found:?}");
    }

    #[test]
    fn errors_count_less_on_runs_that_are_noisy() {
        // the first errs by 2 on a run four times as noisy as the other, on which the second errs by 1.5
        let forecasts = vec![vec![2.0, 1.0], vec![1.0, 1.5]];
        let weigh =
            |noisiness| weights(&forecasts, &[Trust::FULL; 2], Grasp::default(), &[0.0; 2], noisiness);
        assert!(weigh(&[1.0, 1.0])[0] < 0.5);
        assert!(weigh(&[4.0, 1.0])[0] > 0.5);
    }

    #[test]
    fn an_expert_of_less_prior_weight_weighs_less_by_as_much() {
        let forecasts = vec![vec![1.0, 2.0, 3.0], vec![1.0, 2.0, 3.0]];
        let trust = [Trust::FULL, Trust { prior: 0.25, ..Trust::FULL }];
        let found = weights(&forecasts, &trust, Grasp::default(), &[0.0; 3], &[1.0; 3]);
        assert!((found[0] - 0.8).abs() < 1e-12 && (found[1] - 0.2).abs() < 1e-12, "{found:?}");
    }

    #[test]
    #[allow(clippy::float_cmp, reason = "ends of ranges are exact")]
    fn the_pairs_grasp_is_that_by_hand() {
        // y_T = 0, 2, 4, 6: variance 5; the pair errs by 1 everywhere: ln 5 = 1.6094
        let targets = [0.0, 2.0, 4.0, 6.0];
        let pair = [1.0, 3.0, 5.0, 7.0];
        let gain_that_errs_by = |squares: [f64; 4]| -> Vec<f64> {
            targets.iter().zip(squares).map(|(y, square)| y + square.sqrt()).collect()
        };
        let after = |tau, squares| Grasp::of(&pair, &gain_that_errs_by(squares), &targets, tau);
        let grasp = |squares| after(10, squares);
        // 2 and 3 more, mean 2.5 with deviation 0.5: t = 10; 3·ln 3.5 − 2.4 = 1.3583
        let known = grasp([3.0, 4.0, 3.0, 4.0]);
        assert!((known.explained - 0.109_437_912_434).abs() < 1e-9, "{known:?}");
        assert!((known.surely - 2.0 * 0.609_437_912_434).abs() < 1e-9, "what is known of y_T: {known:?}");
        // 1.4 and 1.6 more: t = 30; 3·ln 2.5 − 2.4 = 0.3489
        let by_little = grasp([2.4, 2.6, 2.4, 2.6]);
        assert!((by_little.surely - 2.0 * 0.348_872_195_622).abs() < 1e-9, "how far ahead: {by_little:?}");
        // 0, 0, 0 and 12 more: mean 3 with deviation √27: t = 1.1547
        let by_chance = grasp([1.0, 1.0, 1.0, 13.0]);
        assert!((by_chance.surely - 2.0 * 0.254_700_538_379).abs() < 1e-9, "how surely: {by_chance:?}");
        let early = after(4, [3.0, 4.0, 3.0, 4.0]);
        assert!((early.surely - known.surely / 4.0).abs() < 1e-12, "few points: {early:?}");
        assert_eq!(after(1, [3.0, 4.0, 3.0, 4.0]).surely, 0.0, "a point");
        assert_eq!(Grasp::of(&pair, &pair, &targets, 10).surely, 0.0, "no better than the mean gain");
        let knows_nothing = Grasp::of(&[9.0; 4], &pair, &targets, 10);
        assert_eq!(knows_nothing, Grasp { explained: -2.0, surely: 0.0 });
        let knows_all = Grasp::of(&[0.01, 2.01, 4.01, 6.01], &[1.0, 3.1, 5.0, 7.1], &targets, 99);
        assert_eq!(knows_all, Grasp { explained: 0.5, surely: 2.0 });
    }

    #[test]
    fn a_pair_that_errs_nowhere_or_runs_that_end_alike_give_finite_weights() {
        for (pair, targets) in [([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]), ([1.0, 1.0, 1.0], [1.0, 1.0, 1.0])] {
            let grasp = Grasp::of(&pair, &[0.0; 3], &targets, 10);
            assert!(grasp.explained.is_finite() && (0.0..=2.0).contains(&grasp.surely), "{grasp:?}");
            let experts = [pair.to_vec(), vec![0.0; 3]];
            let trust = [Trust::FULL, Trust { yields: Some(1.0), ..Trust::FULL }];
            let found = weights(&experts, &trust, grasp, &targets, &[1.0; 3]);
            assert!(found.iter().all(|weight| weight.is_finite()), "{found:?}");
        }
    }

    #[test]
    fn experts_give_way_to_a_pair_that_knows_the_runs_less_the_more_runs_there_are() {
        let experts = |n: usize| [vec![0.0; n], vec![0.0; n]];
        let trust = [Trust::FULL, Trust { yields: Some(0.5), ..Trust::FULL }];
        let grasp = Grasp { explained: 1.0, surely: 0.3 };
        let beside_pair = |n: usize| {
            let found = weights(&experts(n), &trust, grasp, &vec![0.0; n], &vec![1.0; n]);
            found[1] / found[0]
        };
        assert!((beside_pair(30) - (-0.8 * 0.8_f64).exp()).abs() < 1e-12, "0.8·(0.5·1 + 0.3)");
        assert!((beside_pair(150) - 1.0).abs() < 1e-12);
    }
}

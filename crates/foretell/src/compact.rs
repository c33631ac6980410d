//! Compact features: a few numbers that say where a curve stands (level) and how it moves (shape), beside the configuration.

use crate::features::Scaler;
use crate::matrix::Matrix;
use crate::statistics::{range, standard_deviation, widened};
use crate::training::{Query, TrainingSet};
use std::ops::Range;

/// A feature outside the range of the training runs is moved to within this share of the range beyond it.
pub(crate) const MARGIN: f64 = 0.1;
/// Exponents c of the power laws m + b·t^(−c) that extrapolate a curve; 0 stands for m + b·ln t.
const EXPONENTS: [f64; 5] = [0.25, 0.5, 1.0, 2.0, 0.0];
/// Level features come first.
const LEVELS: usize = 3;

/// Turns what is known of a run into standardised features in three groups.
///
/// * level: y_τ; the mean of the last max(1, τ/8) points (of the last two when that is one); the best so far.
/// * shape: y_τ − y_{τ−ℓ} for ℓ = 1, 2, 4, 8 … < τ and for ℓ = τ − 1; best − y_τ; mean − y_τ; for τ ≥ 6 the slope of a
///   line through the last h = max(4, τ/2) points and the log of its residual spread; p − y_τ, p the power-law
///   extrapolation to the target step.
/// * configuration: its encoded columns.
///
/// Each is standardised by the training runs, kept within their range ± 10 %, and left out if it never varies.
#[derive(Clone, Debug)]
pub(crate) struct Compact {
    curve: CurveFeatures,
    scaler: Scaler,
    /// Per kept column: its place among the raw ones, and its allowed range after standardisation.
    kept: Vec<(usize, f64, f64)>,
    /// Where each group stands among the kept columns: level, shape, configuration.
    groups: [Range<usize>; 3],
    /// Raw columns.
    width: usize,
}

impl Compact {
    /// Fits the features on a training set; gives them and the training runs' rows, shape (n, kept columns).
    pub(crate) fn fit(training: &TrainingSet) -> (Self, Matrix) {
        let curve = CurveFeatures::new(training);
        let rows: Vec<Vec<f64>> = (0..training.len())
            .map(|i| {
                let mut row = Vec::new();
                curve.append(training.query(i).prefix, &mut row);
                row.extend_from_slice(training.query(i).configuration);
                row
            })
            .collect();
        let raw = Matrix::from_rows(&rows);
        let scaler = Scaler::fit(&raw, 0..raw.rows());
        let all: Vec<usize> = (0..raw.rows()).collect();
        let scaled = scaler.transform(&raw, &all);
        let kept: Vec<(usize, f64, f64)> = (0..raw.columns())
            .map(|j| {
                let (low, high) = widened(range(scaled.column(j).into_iter()), MARGIN);
                (j, low, high)
            })
            .filter(|&(_, low, high)| high > low)
            .collect();
        let before = |limit: usize| kept.iter().filter(|column| column.0 < limit).count();
        let (level, shape) = (before(LEVELS), before(curve.width()));
        let groups = [0..level, level..shape, shape..kept.len()];
        let rows = Matrix::from_fn(raw.rows(), kept.len(), |i, j| scaled.row(i)[kept[j].0]);
        (Self { width: raw.columns(), curve, scaler, kept, groups }, rows)
    }

    /// The features of `query`, into `row`.
    pub(crate) fn row(&self, query: &Query<'_>, row: &mut Vec<f64>) {
        let mut raw = Vec::with_capacity(self.width);
        self.curve.append(query.prefix, &mut raw);
        raw.extend_from_slice(query.configuration);
        self.scaler.apply(&mut raw);
        row.clear();
        row.extend(self.kept.iter().map(|&(j, low, high)| raw[j].clamp(low, high)));
    }

    /// Where level, shape and configuration stand in a row.
    pub(crate) fn groups(&self) -> &[Range<usize>; 3] {
        &self.groups
    }
}

/// The level and shape features of a curve seen for τ steps.
#[derive(Clone, Debug)]
struct CurveFeatures {
    tau: usize,
    /// How many last points the mean is over.
    recent: usize,
    /// Lags of the differences.
    lags: Vec<usize>,
    /// The line through the last points, where τ ≥ 6.
    line: Option<Line>,
    power_laws: Vec<Line>,
    /// The smallest spread that is told from none.
    resolution: f64,
}

impl CurveFeatures {
    fn new(training: &TrainingSet) -> Self {
        let tau = training.steps.len();
        let mut lags: Vec<usize> =
            std::iter::successors(Some(1), |lag| Some(2 * lag)).take_while(|&lag| lag < tau).collect();
        if tau > 1 && lags.last() != Some(&(tau - 1)) {
            lags.push(tau - 1);
        }
        let times = positive_times(&training.steps, training.target_step);
        let last = (tau / 2).max(4).min(tau);
        let spread = standard_deviation(&training.targets);
        Self {
            tau,
            recent: if tau / 8 > 1 { tau / 8 } else { tau.min(2) },
            line: (tau >= 6).then(|| Line::new(&times[tau - last..tau], times[tau])),
            power_laws: power_laws(&times),
            lags,
            resolution: 1e-3 * if spread > 0.0 { spread } else { 1.0 },
        }
    }

    fn width(&self) -> usize {
        LEVELS + self.lags.len() + 2 + 2 * usize::from(self.line.is_some()) + 1
    }

    fn append(&self, y: &[f64], row: &mut Vec<f64>) {
        let y = &y[..self.tau.min(y.len())];
        let Some(&last) = y.last() else {
            row.extend(std::iter::repeat_n(0.0, self.width()));
            return;
        };
        let recent = &y[y.len().saturating_sub(self.recent)..];
        let mean = recent.iter().sum::<f64>() / recent.len() as f64;
        let best = y.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        row.extend([last, mean, best]);
        row.extend(self.lags.iter().map(|lag| last - y[y.len().saturating_sub(lag + 1)]));
        row.extend([best - last, mean - last]);
        if let Some(line) = &self.line {
            let (slope, squares) = line.fit(y);
            row.extend([slope, ((squares / line.len() as f64).sqrt() + self.resolution).ln()]);
        }
        row.push(self.extrapolate(y, last, best) - last);
    }

    /// The best of the rising power laws, at the target, within the range seen widened by itself on each side.
    fn extrapolate(&self, y: &[f64], last: f64, best: f64) -> f64 {
        let worst = y.iter().copied().fold(f64::INFINITY, f64::min);
        let mut found = (f64::INFINITY, last);
        for law in &self.power_laws {
            let (at_target, squares) = law.rising(y);
            if squares < found.0 {
                found = (squares, at_target);
            }
        }
        found.1.clamp(worst - (best - worst), best + (best - worst))
    }
}

/// Steps and the target as positive times: as they are, or counted from one step before the first.
fn positive_times(steps: &[f64], target: f64) -> Vec<f64> {
    let all: Vec<f64> = steps.iter().copied().chain([target]).collect();
    let first = all[0];
    let shift = if first > 0.0 { 0.0 } else { all.get(1).map_or(1.0, |second| second - first) - first };
    all.into_iter().map(|t| t + shift).collect()
}

/// The power laws fitted to what came after the first quarter, where τ ≥ 8; none for less than two points.
fn power_laws(times: &[f64]) -> Vec<Line> {
    let tau = times.len() - 1;
    let from = if tau >= 8 { tau / 4 } else { 0 };
    if tau < 2 {
        return Vec::new();
    }
    // times relative to the target keep powers near 1, whatever the unit of the resource
    let basis = |c: f64, t: f64| if c > 0.0 { -(t / times[tau]).powf(-c) } else { (t / times[tau]).ln() };
    let law = |&c: &f64| {
        let x: Vec<f64> = times[from..tau].iter().map(|&t| basis(c, t)).collect();
        Line::new(&x, basis(c, times[tau]))
    };
    EXPONENTS.iter().map(law).collect()
}

/// Least squares of y on one fixed regressor x, prepared so that a fit is two passes over y's last points.
#[derive(Clone, Debug)]
struct Line {
    /// x − x̄.
    centred: Vec<f64>,
    /// 1 / Σ(x − x̄)², 0 if x does not vary.
    inverse: f64,
    /// x − x̄ at the target.
    target: f64,
}

impl Line {
    fn new(x: &[f64], target: f64) -> Self {
        let mean = x.iter().sum::<f64>() / x.len() as f64;
        let centred: Vec<f64> = x.iter().map(|x| x - mean).collect();
        let squares: f64 = centred.iter().map(|x| x * x).sum();
        Self { inverse: if squares > 0.0 { 1.0 / squares } else { 0.0 }, target: target - mean, centred }
    }

    fn len(&self) -> usize {
        self.centred.len()
    }

    /// (mean, slope) of the last points of `y`.
    fn coefficients(&self, y: &[f64]) -> (f64, f64) {
        let points = &y[y.len().saturating_sub(self.len())..];
        let mean = points.iter().sum::<f64>() / points.len() as f64;
        let product: f64 = self.centred.iter().zip(points).map(|(x, y)| x * (y - mean)).sum();
        (mean, product * self.inverse)
    }

    /// Σ (y − mean − slope·x)² over the last points of `y`.
    fn squares(&self, y: &[f64], mean: f64, slope: f64) -> f64 {
        let points = &y[y.len().saturating_sub(self.len())..];
        self.centred.iter().zip(points).map(|(x, y)| (y - mean - slope * x).powi(2)).sum()
    }

    /// (slope, squared error) of the line.
    fn fit(&self, y: &[f64]) -> (f64, f64) {
        let (mean, slope) = self.coefficients(y);
        (slope, self.squares(y, mean, slope))
    }

    /// (value at the target, squared error) of the line with a slope that is not negative.
    fn rising(&self, y: &[f64]) -> (f64, f64) {
        let (mean, slope) = self.coefficients(y);
        let slope = slope.max(0.0);
        (mean + slope * self.target, self.squares(y, mean, slope))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::configuration::FeatureGroup;

    fn training(curves: &[Vec<f64>], tau: usize) -> TrainingSet {
        TrainingSet {
            steps: (1..=tau).map(|t| t as f64).collect(),
            target_step: curves[0].len() as f64,
            prefixes: Matrix::from_rows(&curves.iter().map(|c| &c[..tau]).collect::<Vec<_>>()),
            configurations: Matrix::from_fn(curves.len(), 1, |i, _| i as f64),
            groups: vec![FeatureGroup::Hyperparameter],
            targets: curves.iter().map(|c| c[c.len() - 1]).collect(),
            floor: None,
        }
    }

    fn power_law(m: f64, b: f64, c: f64) -> Vec<f64> {
        (1..=40).map(|t| m - b * f64::from(t).powf(-c)).collect()
    }

    #[test]
    fn a_power_law_is_extrapolated_to_its_end() {
        for (c, tau) in [(0.25, 12), (0.5, 10), (1.0, 6), (2.0, 20)] {
            let curve = power_law(0.9, 0.5, c);
            let set = training(&[curve.clone(), power_law(0.5, 0.2, c)], tau);
            let features = CurveFeatures::new(&set);
            let seen = &curve[..tau];
            let p = features.extrapolate(seen, seen[tau - 1], seen[tau - 1]);
            assert!((p - curve[39]).abs() < 1e-9, "c = {c}: {p} for {}", curve[39]);
        }
    }

    #[test]
    fn level_and_shape_are_what_their_definitions_say() {
        let y: Vec<f64> = vec![0.1, 0.5, 0.4, 0.6, 0.55];
        let features = CurveFeatures::new(&training(&[y.clone(), y.clone()], 5));
        let mut row = Vec::new();
        features.append(&y, &mut row);
        let expected = [0.55, 0.575, 0.6, -0.05, 0.15, 0.45, 0.05, 0.025];
        for (k, (got, want)) in row.iter().zip(expected).enumerate() {
            assert!((got - want).abs() < 1e-12, "feature {k}: {got} for {want}");
        }
        assert_eq!(row.len(), features.width());
    }

    #[test]
    fn one_point_and_constant_curves_leave_only_what_varies() {
        let curves: Vec<Vec<f64>> = (0..4).map(|i| vec![f64::from(i); 40]).collect();
        let (one, rows) = Compact::fit(&training(&curves, 1));
        assert_eq!((one.groups().clone(), rows.columns()), ([0..3, 3..3, 3..4], 4));
        let (many, _) = Compact::fit(&training(&vec![vec![0.5; 40]; 4], 10));
        assert_eq!(many.groups().clone(), [0..0, 0..0, 0..1]);
    }

    #[test]
    fn training_rows_come_back_as_they_are_and_strangers_stay_near() {
        let curves: Vec<Vec<f64>> = (1..9).map(|i| power_law(0.1 * f64::from(i), 0.1, 0.5)).collect();
        let set = training(&curves, 9);
        let (compact, rows) = Compact::fit(&set);
        let mut row = Vec::new();
        compact.row(&set.query(3), &mut row);
        assert!(row.iter().zip(rows.row(3)).all(|(a, b)| (a - b).abs() < 1e-12));
        compact.row(&Query { prefix: &[1e9; 9], configuration: &[-1e9] }, &mut row);
        assert!(row.iter().all(|v| v.abs() < 5.0), "{row:?}");
    }
}

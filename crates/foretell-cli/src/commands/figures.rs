//! From measured evaluations to figures: accuracy, forecast against truth, calibration.

use crate::plot::{
    AccuracyFigure, AccuracyPanel, AccuracyPoint, AccuracySeries, CalibrationFigure, CalibrationSeries,
    ScatterFigure, ScatterPoint,
};
use foretell::Scale;
use foretell::evaluate::{Evaluation, TestOutcome};
use foretell::statistics::mean;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The central interval that a scatter shows.
const WHISKER_INTERVAL: f64 = 0.9;

/// The nominal coverages that a calibration figure shows.
const NOMINAL_COVERAGES: [f64; 11] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99];

/// The result of one predictor on one set of curves after one fraction of them, and the place of the measurement.
pub(crate) struct PredictorEvaluation {
    /// The name of the set.
    pub(crate) curves: String,
    /// The name of the metric.
    pub(crate) metric: String,
    /// The name of the predictor.
    pub(crate) predictor: String,
    /// The fraction observed, as asked for.
    pub(crate) observed: f64,
    /// The result.
    pub(crate) result: Evaluation,
}

/// The set, the predictor and its accuracy after a fraction of the curves.
pub(crate) type AccuracyCell<'a> = (&'a str, &'a str, AccuracyPoint);

/// R² against the fraction observed: one panel per set, one line per predictor, bands of one standard error.
pub(crate) fn accuracy(cells: &[AccuracyCell<'_>], subtitle: String) -> AccuracyFigure {
    let sets = distinct(cells.iter().map(|cell| cell.0));
    AccuracyFigure {
        title: "forecast accuracy against the fraction observed".to_owned(),
        subtitle,
        panels: sets.into_iter().map(|curves| accuracy_panel(cells, curves)).collect(),
    }
}

fn accuracy_panel(cells: &[AccuracyCell<'_>], curves: &str) -> AccuracyPanel {
    let predictors = distinct(cells.iter().filter(|cell| cell.0 == curves).map(|cell| cell.1));
    let series = predictors.into_iter().map(|predictor| {
        let here = cells.iter().filter(|cell| cell.0 == curves && cell.1 == predictor);
        let mut points: Vec<AccuracyPoint> = here.map(|cell| cell.2).collect();
        points.sort_by(|a, b| a.observed.total_cmp(&b.observed));
        AccuracySeries { predictor: predictor.to_owned(), points }
    });
    AccuracyPanel { curves: curves.to_owned(), series: series.collect() }
}

impl PredictorEvaluation {
    /// The point in the figure of accuracy.
    pub(crate) fn accuracy(&self) -> AccuracyCell<'_> {
        let (r2_mean, r2_stderr) = self.result.r2_summary();
        let r2_stderr = if self.result.r2.len() > 1 { r2_stderr } else { f64::NAN };
        (&self.curves, &self.predictor, AccuracyPoint { observed: self.observed, r2_mean, r2_stderr })
    }
}

/// The median forecasts of the first split against the truth, with their 90 % intervals, in the metric's unit.
pub(crate) fn scatter(measured: &PredictorEvaluation) -> ScatterFigure {
    let first = measured.result.outcomes.iter().filter(|outcome| outcome.repeat == 0);
    let (r2, _) = measured.result.r2_summary();
    let of = if measured.result.history.scale() == Scale::Log { " of the logarithm" } else { "" };
    ScatterFigure {
        title: format!("{}: forecast against truth by {}", measured.curves, measured.predictor),
        subtitle: format!(
            "{:.0} % of each curve observed (τ = {}); the first of {} splits, mean R²{of} over them {r2:.3}",
            measured.observed * 100.0,
            measured.result.tau,
            measured.result.r2.len(),
        ),
        metric: measured.metric.clone(),
        level: WHISKER_INTERVAL,
        points: first.map(|outcome| scatter_point(&measured.result, outcome)).collect(),
    }
}

/// An outcome of the first split.
fn scatter_point(result: &Evaluation, outcome: &TestOutcome) -> ScatterPoint {
    let history = &result.history;
    let [a, forecast, b] = [(1.0 - WHISKER_INTERVAL) / 2.0, 0.5, (1.0 + WHISKER_INTERVAL) / 2.0]
        .map(|p| history.possible_value(outcome.forecast.quantile(p), outcome.now));
    ScatterPoint { truth: outcome.end, forecast, low: a.min(b), high: a.max(b) }
}

/// How often each predictor's intervals hold the truth, averaged over sets and fractions.
pub(crate) fn calibration(measured: &[PredictorEvaluation], subtitle: String) -> CalibrationFigure {
    let predictors = distinct(measured.iter().map(|m| m.predictor.as_str()));
    let series = predictors.into_iter().map(|predictor| {
        let mine: Vec<&PredictorEvaluation> = measured.iter().filter(|m| m.predictor == predictor).collect();
        let points = NOMINAL_COVERAGES.map(|level| {
            (level, mean(&mine.iter().map(|m| m.result.interval_coverage(level)).collect::<Vec<_>>()))
        });
        CalibrationSeries { predictor: predictor.to_owned(), points: points.to_vec() }
    });
    CalibrationFigure {
        title: "how often do the forecast intervals contain the truth?".to_owned(),
        subtitle,
        series: series.collect(),
    }
}

/// `path` with `-suffix` before its extension.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let extension = path.extension().map(|e| format!(".{}", e.to_string_lossy())).unwrap_or_default();
    path.with_file_name(format!("{stem}-{suffix}{extension}"))
}

/// The different names, in the order in which they appear.
pub(crate) fn distinct<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = BTreeSet::new();
    names.into_iter().filter(|name| seen.insert(*name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use foretell::evaluate::{CutPoint, EvaluationOptions, draw_splits, evaluate_predictor, make_folds};
    use foretell::{Configuration, Curve, Direction, History, HistoryOptions, LastValue, Predictor, Run};
    use std::sync::Arc;

    fn measure_accuracy(curves: &str, observed: f64, tau: usize) -> PredictorEvaluation {
        let direction = Direction::Minimize;
        let run = |i: i32| {
            let end = 1.0 + f64::from(i) / 10.0;
            let curve = Curve::from_epoch_values(&[8.0 * end, 4.0 * end, 2.0 * end, end], direction);
            Run { id: i.to_string(), configuration: Configuration::new(), curve }
        };
        let runs: Vec<Run> = (0..20).map(run).collect();
        let laid = HistoryOptions::default();
        let history = History::new(&runs, &laid).expect("the runs are finished");
        let options = EvaluationOptions { train: 8, repeats: 3, seed: 0 };
        let splits = draw_splits(&history, &(0..20).collect::<Vec<_>>(), &options).expect("enough runs");
        let folds = make_folds(&runs, &laid, &splits).expect("each split makes a history");
        let last_value: Arc<dyn Predictor> = Arc::new(LastValue);
        let cut = CutPoint { tau, step: tau as f64 };
        PredictorEvaluation {
            curves: curves.to_owned(),
            metric: "loss".to_owned(),
            predictor: "last-value".to_owned(),
            observed,
            result: evaluate_predictor(&folds, &last_value, cut).expect("last-value fits anything"),
        }
    }

    #[test]
    fn accuracy_has_a_panel_a_set_and_points_by_rising_fraction() {
        let all =
            [measure_accuracy("b", 0.75, 3), measure_accuracy("a", 0.5, 2), measure_accuracy("b", 0.25, 1)];
        let figure = accuracy(&all.each_ref().map(PredictorEvaluation::accuracy), String::new());
        assert_eq!(figure.panels.iter().map(|p| p.curves.as_str()).collect::<Vec<_>>(), ["b", "a"]);
        let points = &figure.panels[0].series[0].points;
        assert_eq!(points.iter().map(|p| p.observed).collect::<Vec<_>>(), [0.25, 0.75]);
        assert!(points[0].r2_mean < points[1].r2_mean);
    }

    #[test]
    fn a_scatter_shows_one_split_in_the_users_unit() {
        let figure = scatter(&measure_accuracy("a", 0.75, 3));
        assert_eq!(figure.points.len(), 12);
        for point in &figure.points {
            // the last value, one halving before the end
            assert!((point.forecast - 2.0 * point.truth).abs() < 1e-9);
            assert!(point.low < point.forecast && point.forecast < point.high);
        }
    }

    #[test]
    fn calibration_averages_over_sets() {
        let figure =
            calibration(&[measure_accuracy("a", 0.75, 3), measure_accuracy("b", 0.75, 3)], String::new());
        assert_eq!(figure.series.len(), 1);
        // every truth lies one σ from its forecast: inside exactly the intervals wider than 68 %
        let inside: Vec<f64> = figure.series[0].points.iter().map(|p| p.1).collect();
        assert_eq!(inside, [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
    }

    #[test]
    fn figures_beside_a_file_keep_its_folder_and_extension() {
        assert_eq!(beside(Path::new("out/a.b.png"), "scatter"), Path::new("out/a.b-scatter.png"));
    }
}

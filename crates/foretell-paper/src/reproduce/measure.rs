//! One cell of a table: a predictor on a prepared file, by the paper's protocol, next to the published number.

use super::failed::ReproductionError;
use super::kept::{KeptRows, StaticName, interned};
use super::published::PublishedValue;
use super::released::PreparedFile;
use crate::catalogue::full_catalogue;
use foretell::evaluate::{
    CutPoint, Evaluation, EvaluationOptions, RunSplit, TestOutcome, draw_splits, draw_splits_between,
    evaluate_predictor, make_folds,
};
use foretell::statistics::{mean, r_squared, standard_error};
use foretell::{FeatureGroup, FeatureSet, History, PredictorOptions, PredictorPurpose, Scale};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Said of a part that none of the files fills.
pub(super) const NOT_APPLICABLE: &str = "none of the files is of this part";

/// The most seeds that R² by the fraction observed is measured with.
const OBSERVED_SEEDS: u64 = 2;

/// The part of the paper that a row belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PaperPart {
    /// Table 1: regressors.
    #[serde(rename = "table-1")]
    Table1,
    /// Table 2: parts of the features.
    #[serde(rename = "table-2")]
    Table2,
    /// Generalization from shallow to deep networks.
    Depth,
    /// R² by observed fraction.
    Observed,
    /// Speed-up of simulated architecture searches.
    Stopping,
    /// Hyperband against f-Hyperband.
    Hyperband,
    /// Seconds of a fit and of a forecast.
    Times,
    /// The paper's sentences, judged by the measurements that are kept with the program.
    Claims,
}

impl PaperPart {
    /// Heading of the part in the report.
    pub(super) fn section_heading(self) -> &'static str {
        match self {
            Self::Table1 => "table 1, regressors",
            Self::Table2 => "table 2, parts of the features",
            Self::Depth => "generalization from shallow networks to deep ones",
            Self::Observed => "accuracy against the fraction observed",
            Self::Stopping => "simulated early stopping",
            Self::Hyperband => "Hyperband and f-Hyperband, 40 runs in a row, η = 3, Δ = 0.95",
            Self::Times => "seconds of the processor in one thread",
            Self::Claims => "the paper's sentences",
        }
    }
}

/// A row of the result.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ResultRow {
    pub(super) part: PaperPart,
    #[serde(deserialize_with = "interned")]
    pub(super) curves: StaticName,
    #[serde(deserialize_with = "interned")]
    pub(super) preparation: StaticName,
    pub(super) predictor: String,
    pub(super) features: String,
    pub(super) observed: f64,
    /// Of the part `depth`: the depth that training networks are below and tested ones above.
    pub(super) depth: Option<f64>,
    pub(super) tau: Option<usize>,
    pub(super) train: usize,
    /// Splits of all seeds together.
    pub(super) repeats: usize,
    /// R² with each seed by itself.
    pub(super) by_seed: Vec<SeedResult>,
    /// Whether scores below the floor were compressed, which the paper does not do.
    pub(super) compressed: bool,
    pub(super) tested_mean: Option<f64>,
    pub(super) r2_mean: Option<f64>,
    pub(super) r2_stderr: Option<f64>,
    pub(super) r2_natural_mean: Option<f64>,
    /// R² without the forecasts outside the range of a fraction, where there are any: the paper left such outliers of LCE out.
    pub(super) r2_inside_mean: Option<f64>,
    pub(super) r2_inside_stderr: Option<f64>,
    pub(super) published_mean: Option<f64>,
    pub(super) published_stderr: Option<f64>,
    /// (ours − published) / √(s² + s'²), s and s' the two standard errors.
    pub(super) difference_in_standard_errors: Option<f64>,
    /// Mean wall-clock seconds of a fit, search included, and of a forecast.
    pub(super) fit_seconds: Option<f64>,
    pub(super) predict_seconds: Option<f64>,
    pub(super) note: String,
}

/// R² of the splits of one seed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct SeedResult {
    pub(super) seed: u64,
    pub(super) r2_mean: f64,
    pub(super) r2_stderr: f64,
    /// As that of the row, for this seed alone.
    pub(super) difference_in_standard_errors: Option<f64>,
}

/// The numbers of a cell: all splits of all seeds, seed by seed.
struct CellNumbers {
    tau: usize,
    tested_mean: f64,
    r2: Vec<Vec<f64>>,
    r2_natural: Vec<f64>,
    fit_seconds: f64,
    predict_seconds: f64,
    outliers: Option<ForecastOutliers>,
}

/// Forecasts outside the range of a fraction.
struct ForecastOutliers {
    outside: usize,
    all: usize,
    ceiling: f64,
    /// R² of each split without them.
    r2: Vec<f64>,
}

/// The measurement of a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct TableCell<'a> {
    pub(super) part: PaperPart,
    pub(super) predictor: &'a str,
    pub(super) features: FeatureSet,
    pub(super) observed: f64,
    pub(super) depth: Option<f64>,
    pub(super) published: Option<PublishedValue>,
    pub(super) remark: Option<&'static str>,
}

/// The protocol, and all that was measured by it.
pub(super) struct MeasurementBench {
    /// The splits of the first seed.
    pub(super) options: EvaluationOptions,
    /// The number of seeds that the cells with published numbers are measured with.
    pub(super) seeds: u64,
    /// Draws of the random searches.
    pub(super) draws: Option<usize>,
    /// The measurements of an earlier run of the same command.
    pub(super) kept: KeptRows,
    known: BTreeMap<String, Arc<Evaluation>>,
}

impl MeasurementBench {
    /// A bench that has measured nothing yet.
    pub(super) fn new(options: EvaluationOptions, seeds: u64, draws: Option<usize>, kept: KeptRows) -> Self {
        Self { options, seeds, draws, kept, known: BTreeMap::new() }
    }

    /// Measures `cell` on `prepared`. A cell that cannot be measured becomes a row without a number that says why.
    ///
    /// # Errors
    /// When the file of kept rows cannot be written.
    pub(super) fn measure_row(
        &mut self,
        prepared: &PreparedFile,
        cell: &TableCell<'_>,
    ) -> Result<ResultRow, ReproductionError> {
        let seeds =
            if cell.part == PaperPart::Observed { self.seeds.min(OBSERVED_SEEDS) } else { self.seeds };
        let EvaluationOptions { train, repeats, seed } = self.options;
        let key = measurement_key(prepared, cell, seed);
        let key = format!("{key} train {train} repeats {repeats} seeds {seeds} draws {:?}", self.draws);
        if let Some(row) = self.kept.find_numbers(&key) {
            return Ok(row);
        }
        let row = self.compute_row(prepared, cell, seeds);
        // a row without a number is not kept, so that the next run tries it again
        if row.r2_mean.is_some() {
            self.kept.keep_numbers(&key, &row)?;
        }
        Ok(row)
    }

    fn compute_row(&mut self, prepared: &PreparedFile, cell: &TableCell<'_>, seeds: u64) -> ResultRow {
        let measured: Result<Vec<Arc<Evaluation>>, String> =
            (0..seeds).map(|more| self.evaluate_cell(prepared, cell, self.options.seed + more)).collect();
        let measured = measured.map(|evaluations| pool_evaluations(prepared, &evaluations));
        let mut notes: Vec<String> = missing_groups(prepared, cell.features);
        notes.extend(cell.depth.map(|depth| describe_depth_sides(prepared, depth)));
        notes.extend(cell.remark.map(str::to_owned));
        notes.extend(measured.as_ref().err().cloned());
        let measured = measured.ok();
        let outliers = measured.as_ref().and_then(|measured| measured.outliers.as_ref());
        notes.extend(outliers.map(ForecastOutliers::describe_outliers));
        let inside = outliers.map(|outliers| mean_and_stderr(&outliers.r2));
        let r2 = measured.as_ref().map(|m| mean_and_stderr(&m.r2.concat()));
        if r2.is_some_and(|(mean, _)| mean < 0.05) && !cell.features.time_series {
            notes.push("the released columns tell next to nothing of the end".to_owned());
        }
        let natural = measured.as_ref().map(|m| mean(&m.r2_natural));
        if let Some(natural) = natural.filter(|_| prepared.history.scale() == Scale::Log) {
            notes.push(format!("R² of the logarithm; of the value itself {:.2}", 100.0 * natural));
        }
        let by_seed = measured.as_ref().map_or(&[][..], |m| &m.r2[..]).iter().zip(self.options.seed..);
        let by_seed = by_seed.map(|(splits, seed)| {
            let r2 @ (r2_mean, r2_stderr) = mean_and_stderr(splits);
            let difference_in_standard_errors =
                cell.published.map(|published| distance_in_standard_errors(r2, published));
            SeedResult { seed, r2_mean, r2_stderr, difference_in_standard_errors }
        });
        ResultRow {
            part: cell.part,
            curves: prepared.stem,
            preparation: prepared.preparation,
            predictor: cell.predictor.to_owned(),
            features: cell.features.to_string(),
            observed: cell.observed,
            depth: cell.depth,
            tau: measured.as_ref().map(|m| m.tau),
            train: self.options.train,
            repeats: measured.as_ref().map_or(0, |m| m.r2.concat().len()),
            by_seed: by_seed.collect(),
            compressed: prepared.compressed,
            tested_mean: measured.as_ref().map(|m| m.tested_mean),
            r2_mean: r2.map(|r2| r2.0),
            r2_stderr: r2.map(|r2| r2.1),
            r2_natural_mean: natural,
            r2_inside_mean: inside.map(|inside| inside.0),
            r2_inside_stderr: inside.map(|inside| inside.1),
            published_mean: cell.published.map(|p| round_percent(p.mean)),
            published_stderr: cell.published.map(|p| round_percent(p.stderr)),
            difference_in_standard_errors: r2
                .zip(cell.published)
                .map(|(r2, published)| distance_in_standard_errors(r2, published)),
            fit_seconds: measured.as_ref().map(|m| m.fit_seconds),
            predict_seconds: measured.as_ref().map(|m| m.predict_seconds),
            note: notes.join("; "),
        }
    }

    /// The evaluation of `cell` on `prepared` with the splits of `seed`, made once however often it is asked for.
    pub(super) fn evaluate_cell(
        &mut self,
        prepared: &PreparedFile,
        cell: &TableCell<'_>,
        seed: u64,
    ) -> Result<Arc<Evaluation>, String> {
        let key = measurement_key(prepared, cell, seed);
        if let Some(known) = self.known.get(&key) {
            return Ok(Arc::clone(known));
        }
        let options = EvaluationOptions { seed, ..self.options };
        let measured = Arc::new(run_evaluation(prepared, cell, &options, self.draws)?);
        self.known.insert(key, Arc::clone(&measured));
        Ok(measured)
    }
}

/// The name of a measurement.
fn measurement_key(prepared: &PreparedFile, cell: &TableCell<'_>, seed: u64) -> String {
    format!(
        "{:?} {} {:08x} {} {} {} {:?} seed {seed}",
        cell.part,
        prepared.display_name(),
        prepared.fingerprint,
        cell.predictor,
        cell.features,
        cell.observed,
        cell.depth
    )
}

/// The mean and its standard error.
fn mean_and_stderr(values: &[f64]) -> (f64, f64) {
    (mean(values), standard_error(values))
}

fn pool_evaluations(prepared: &PreparedFile, evaluations: &[Arc<Evaluation>]) -> CellNumbers {
    CellNumbers {
        tau: evaluations.first().map_or(0, |evaluation| evaluation.tau),
        tested_mean: mean_over(evaluations, |m| m.outcomes.len() as f64 / m.r2.len().max(1) as f64),
        r2: evaluations.iter().map(|evaluation| evaluation.r2.clone()).collect(),
        r2_natural: evaluations.iter().flat_map(|evaluation| evaluation.r2_natural.clone()).collect(),
        fit_seconds: mean_over(evaluations, |m| m.fit_seconds),
        predict_seconds: mean_over(evaluations, |m| m.predict_seconds),
        outliers: find_outliers(&prepared.history, evaluations),
    }
}

fn mean_over(evaluations: &[Arc<Evaluation>], value: fn(&Evaluation) -> f64) -> f64 {
    mean(&evaluations.iter().map(|evaluation| value(evaluation)).collect::<Vec<_>>())
}

fn run_evaluation(
    prepared: &PreparedFile,
    cell: &TableCell<'_>,
    options: &EvaluationOptions,
    draws: Option<usize>,
) -> Result<Evaluation, String> {
    if !full_catalogue().predictors().predictor_names().contains(&cell.predictor) {
        return Err(format!("`{}` is not built into this foretell", cell.predictor));
    }
    if !has_any_feature(prepared, cell.features) {
        return Err("nothing to fit on".to_owned());
    }
    let fitted = PredictorOptions {
        features: cell.features,
        seed: options.seed,
        draws,
        purpose: PredictorPurpose::Recorded,
    };
    let predictor = full_catalogue().predictors().make_predictor(cell.predictor, &fitted).map(Arc::from);
    let predictor = predictor.map_err(|error| error.to_string())?;
    let cut = CutPoint::after_fraction(cell.observed, prepared.history.grid())
        .map_err(|error| error.to_string())?;
    let splits = splits_of(prepared, cell.depth, options)?;
    let measured = make_folds(&prepared.runs, &prepared.options, &splits)
        .and_then(|folds| evaluate_predictor(&folds, &predictor, cut));
    measured.map_err(|error| error.to_string())
}

fn splits_of(
    prepared: &PreparedFile,
    depth: Option<f64>,
    options: &EvaluationOptions,
) -> Result<Vec<RunSplit>, String> {
    let history = &prepared.history;
    let alone: Vec<usize> = (0..history.len()).collect();
    let Some(depth) = depth else {
        return draw_splits(history, &alone, options).map_err(|error| error.to_string());
    };
    let splits = draw_splits_between(
        history,
        &alone,
        &|i| prepared.depths[i].is_some_and(|layers| layers < depth),
        &|i| prepared.depths[i].is_some_and(|layers| layers > depth),
        options,
    );
    splits.map_err(|_| "too few to learn from or to test".to_owned())
}

/// The forecasts outside a fraction's range, if there are any.
fn find_outliers(history: &History, evaluations: &[Arc<Evaluation>]) -> Option<ForecastOutliers> {
    let ceiling = history.score_ceiling().filter(|&ceiling| ceiling > 0.0)?;
    let outcomes: Vec<&TestOutcome> = evaluations.iter().flat_map(|measured| &measured.outcomes).collect();
    let outside = outcomes.iter().filter(|outcome| !is_in_range(outcome, ceiling)).count();
    (outside > 0).then(|| ForecastOutliers {
        outside,
        all: outcomes.len(),
        ceiling,
        r2: evaluations.iter().flat_map(|measured| r2_without_outliers(measured, ceiling)).collect(),
    })
}

fn is_in_range(outcome: &TestOutcome, ceiling: f64) -> bool {
    (0.0..=ceiling).contains(&outcome.forecast.mean)
}

/// R² of each split, by the forecasts in the range.
fn r2_without_outliers(measured: &Evaluation, ceiling: f64) -> Vec<f64> {
    let splits = (0..measured.r2.len()).map(|repeat| {
        let of_split = measured.outcomes.iter().filter(|o| o.repeat == repeat && is_in_range(o, ceiling));
        let (forecasts, truths): (Vec<f64>, Vec<f64>) = of_split.map(|o| (o.forecast.mean, o.truth)).unzip();
        r_squared(&forecasts, &truths)
    });
    splits.collect()
}

impl ForecastOutliers {
    fn describe_outliers(&self) -> String {
        let Self { outside, all, ceiling, r2 } = self;
        format!(
            "{outside} of {all} forecasts are outside [0, {ceiling}]; without them {:.2}",
            100.0 * mean(r2)
        )
    }
}

/// The number of networks on both sides of `depth`.
fn describe_depth_sides(prepared: &PreparedFile, depth: f64) -> String {
    let layers = prepared.depths.iter().flatten();
    let below = layers.clone().filter(|&&layers| layers < depth).count();
    let above = layers.filter(|&&layers| layers > depth).count();
    format!("{below} shallower and {above} deeper networks are left")
}

/// R² × 100 with two decimals, as R².
fn round_percent(hundredfold: f64) -> f64 {
    (100.0 * hundredfold).round() / 10_000.0
}

/// The distance of ours from the published, in standard errors of the difference.
fn distance_in_standard_errors((mean, stderr): (f64, f64), published: PublishedValue) -> f64 {
    // splits that are all equal have no error, and 0 would otherwise be the divisor
    (100.0 * mean - published.mean) / (100.0 * stderr).hypot(published.stderr).max(f64::MIN_POSITIVE)
}

/// The configuration groups of `features` that have no column.
fn missing_groups(prepared: &PreparedFile, features: FeatureSet) -> Vec<String> {
    let groups = [(FeatureGroup::Architecture, "AP"), (FeatureGroup::Hyperparameter, "HP")];
    let missing = groups
        .into_iter()
        .filter(|&(group, _)| features.contains(group) && !prepared.has_varying_column(group));
    missing.map(|(_, name)| format!("no {name} column varies among these runs")).collect()
}

/// Whether any feature is left.
fn has_any_feature(prepared: &PreparedFile, features: FeatureSet) -> bool {
    let groups = [FeatureGroup::Architecture, FeatureGroup::Hyperparameter];
    features.time_series
        || groups.into_iter().any(|group| features.contains(group) && prepared.has_varying_column(group))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_measured_in_standard_errors_of_both_sides() {
        let published = PublishedValue { mean: 90.0, stderr: 3.0 };
        assert!((distance_in_standard_errors((0.95, 0.04), published) - 1.0).abs() < 1e-12);
        assert!(distance_in_standard_errors((0.80, 0.0), published) < -3.0);
        assert!(
            distance_in_standard_errors((0.90, 0.0), PublishedValue { mean: 90.0, stderr: 0.0 }).abs() < 1.0
        );
    }
}

//! `foretell evaluate`: forecast accuracy against what happened.

use crate::curves::CurveFlags;
use crate::failure::{Failure, Outcome};
use crate::output::{Format, print, print_json, table};
use foretell::evaluate::{Evaluation, EvaluationOptions, INTERVALS, evaluate, observed_points, splits};
use foretell::statistics::{mean, standard_error};
use foretell::{FeatureSet, PredictorOptions, Scale, predictor};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The arguments of `foretell evaluate`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Recorded curves: wide or long CSV, JSON lines, plain or gzip, or a folder with such a file.
    #[arg(required = true, value_name = "CURVES")]
    curves: Vec<PathBuf>,
    /// The predictors to compare.
    #[arg(long, value_delimiter = ',', default_value = "last-value,svr-rbf")]
    predictor: Vec<String>,
    /// The feature groups they use: ts (curve), ap (architecture), hp (hyperparameters).
    #[arg(long, default_value = "ts,ap,hp")]
    features: FeatureSet,
    /// The fractions of the curve that are observed.
    #[arg(long, value_delimiter = ',', default_value = "0.25")]
    observed: Vec<f64>,
    /// How many finished runs to fit on.
    #[arg(long, default_value_t = 100)]
    train: usize,
    /// How many random splits.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    repeats: u32,
    /// The seed of the splits and of the predictors.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Draws of the random searches (default: 1000 for ν-SVR).
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    draws: Option<u32>,
    /// The form of the result.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    reading: CurveFlags,
}

#[derive(Serialize)]
struct Document {
    schema: &'static str,
    seed: u64,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    curves: String,
    predictor: String,
    features: String,
    observed: f64,
    tau: usize,
    train: usize,
    repeats: usize,
    r2_mean: f64,
    r2_stderr: f64,
    spearman_mean: f64,
    mae_mean: f64,
    coverage: BTreeMap<String, f64>,
    fit_seconds: f64,
    predict_seconds: f64,
    scale: Scale,
    r2_natural_mean: f64,
    r2_natural_stderr: f64,
    upper_coverage_top_decile: BTreeMap<String, f64>,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let options = EvaluationOptions {
        train: arguments.train,
        repeats: arguments.repeats as usize,
        seed: arguments.seed,
    };
    let predictor_options = PredictorOptions {
        features: arguments.features,
        seed: arguments.seed,
        draws: arguments.draws.map(|draws| draws as usize),
    };
    let predictors: Vec<_> = arguments
        .predictor
        .iter()
        .map(|name| predictor(name, &predictor_options))
        .collect::<Result<_, _>>()
        .map_err(Failure::input)?;
    let mut rows = Vec::new();
    for path in &arguments.curves {
        let recorded = arguments.reading.read(path)?;
        let history = arguments.reading.history(&recorded)?;
        let in_file = |error: &dyn std::fmt::Display| Failure::input(format!("{}: {error}", recorded.name));
        let splits = splits(&history, &recorded.repeats, &options).map_err(|e| in_file(&e))?;
        for &observed in &arguments.observed {
            let tau = observed_points(observed, history.grid().len()).map_err(|e| in_file(&e))?;
            for predictor in &predictors {
                let result = evaluate(&history, predictor.as_ref(), tau, &splits).map_err(|e| in_file(&e))?;
                let features = arguments.features.to_string();
                rows.push(row(
                    &recorded.name,
                    predictor.name(),
                    features,
                    observed,
                    &options,
                    history.scale(),
                    &result,
                ));
            }
        }
    }
    match arguments.format {
        Format::Json => print_json(&Document { schema: "foretell.evaluate/1", seed: arguments.seed, rows }),
        Format::Table => print(&as_table(&rows)),
    }
}

fn row(
    curves: &str,
    predictor: &str,
    features: String,
    observed: f64,
    options: &EvaluationOptions,
    scale: Scale,
    result: &Evaluation,
) -> Row {
    let (r2_mean, r2_stderr) = result.r2_summary();
    Row {
        curves: curves.to_owned(),
        predictor: predictor.to_owned(),
        features,
        observed,
        tau: result.tau,
        train: options.train,
        repeats: options.repeats,
        r2_mean,
        r2_stderr,
        spearman_mean: mean(&result.spearman),
        mae_mean: mean(&result.mae),
        coverage: INTERVALS.iter().map(|&level| (level.to_string(), result.coverage(level))).collect(),
        fit_seconds: result.fit_seconds,
        predict_seconds: result.predict_seconds,
        scale,
        r2_natural_mean: mean(&result.r2_natural),
        r2_natural_stderr: standard_error(&result.r2_natural),
        upper_coverage_top_decile: [0.95, 0.99]
            .iter()
            .map(|&level: &f64| (level.to_string(), result.upper_coverage(level, 0.1)))
            .collect(),
    }
}

fn as_table(rows: &[Row]) -> String {
    let cells = |row: &Row| {
        let covered = |level: &str| format!("{:.3}", row.coverage[level]);
        vec![
            row.curves.clone(),
            row.predictor.clone(),
            format!("{:.0} %", row.observed * 100.0),
            row.tau.to_string(),
            format!("{:.4} ± {:.4}", row.r2_mean, row.r2_stderr),
            format!("{:.3}", row.spearman_mean),
            format!("{:.4}", row.mae_mean),
            covered("0.5"),
            covered("0.8"),
            covered("0.9"),
            covered("0.95"),
            format!("{:.3}", row.upper_coverage_top_decile["0.95"]),
            format!("{:.1} ms", row.fit_seconds * 1e3),
        ]
    };
    let headings = [
        "curves",
        "predictor",
        "observed",
        "tau",
        "R²",
        "Spearman",
        "MAE",
        "in 50 %",
        "in 80 %",
        "in 90 %",
        "in 95 %",
        "top decile ≤ 95 %",
        "fit",
    ];
    table(&headings, &rows.iter().map(cells).collect::<Vec<_>>())
}

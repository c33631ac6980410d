//! `foretell evaluate`: forecast accuracy against recorded final values.

use super::figures::{self, PredictorEvaluation};
use crate::curves::{CurveFlags, last_step, predictor_of_recorded};
use crate::failure::{CommandResult, Failure};
use crate::output::{self, OutputFormat, metric_difference, note, print, print_json, table_without};
use crate::plot;
use crate::progress::ProgressSteps;
use crate::scheduling::measure_name;
use foretell::evaluate::{
    COVERAGE_LEVELS, CutPoint, EvaluationError, EvaluationFold, EvaluationOptions, RunSplit,
    draw_splits_between, evaluate_predictor,
};
use foretell::statistics::{mean, standard_error};
use foretell::{FeatureSet, HistoryOptions, Predictor, PredictorOptions, RunScore, Scale, Value};
use foretell_logs::RecordedSet;
use foretell_search::limits;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The arguments of `foretell evaluate`.
#[derive(clap::Args)]
pub(crate) struct EvaluateArguments {
    /// Recorded curves: wide or long CSV or JSON lines, plain or gzip, or a folder with such a file.
    #[arg(required = true, value_name = "CURVES")]
    curves: Vec<PathBuf>,
    /// Predictors to compare.
    #[arg(long, value_delimiter = ',', default_value = "last-value,svr-rbf,auto")]
    predictor: Vec<String>,
    /// Features that forecasts may use: ts (curve), ap (architecture), hp (hyperparameters).
    #[arg(long, default_value = "ts,ap,hp")]
    features: FeatureSet,
    /// Fractions of each curve that are observed before the forecast.
    #[arg(long, value_delimiter = ',', default_value = "0.25", value_parser = fraction)]
    observed: Vec<f64>,
    /// Fit on this many completed runs, and forecast the others.
    #[arg(long, default_value_t = 100, value_parser = runs)]
    train: usize,
    /// Fit only on runs with this setting, for example schedule=step.
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting)]
    train_where: Option<(String, Value)>,
    /// Forecast only runs with this setting, for example schedule=exponential.
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting)]
    test_where: Option<(String, Value)>,
    /// Repeat with this many random splits.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=limits::MAX_REPEATS as i64))]
    repeats: u32,
    /// Seed for the splits and the predictors.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Samples per random search of a predictor (default: 1000 for ν-SVR).
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=limits::MAX_SAMPLES as i64))]
    draws: Option<u32>,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    format: OutputFormat,
    /// Plot R² by observed fraction to this file (.svg or .png). Two more plots are written next to it. `-scatter` shows the forecasts of
    /// the best predictor against the true values at the first fraction (one file per set of curves), and `-calibration` how often the
    /// intervals contain the true value. With one fraction and one set of curves, this file is the scatter plot.
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Size of the plot in a paper, such as 3.3x2.5in (also cm, mm or px). Text is then 8 points high, and the title is left out.
    #[arg(long, value_name = "SIZE")]
    plot_size: Option<plot::FigureSize>,
    #[command(flatten)]
    reading: CurveFlags,
}

#[derive(Serialize)]
struct EvaluateDocument {
    schema: &'static str,
    seed: u64,
    rows: Vec<EvaluationRow>,
}

#[derive(Serialize)]
struct EvaluationRow {
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
    score: RunScore,
    r2_natural_mean: f64,
    r2_natural_stderr: f64,
    upper_coverage_top_decile: BTreeMap<String, f64>,
    /// How many forecasts were made and scored, all splits together.
    forecasts: usize,
    /// Of these, how many end beyond the floor of their split's history.
    below_floor: usize,
    r2_floored_mean: f64,
    r2_floored_stderr: f64,
    ended_by_tau: usize,
    ended_later: usize,
    diverged_by_tau: usize,
    diverged_later: usize,
    no_forecast: usize,
    /// The largest final value forecast, as a measure of errors.
    #[serde(skip)]
    largest: f64,
}

/// Runs the command.
pub(crate) fn run(arguments: &EvaluateArguments) -> CommandResult {
    plot::FigureSize::apply(arguments.plot_size);
    if let Some(path) = &arguments.plot {
        plot::check_place(path, None).map_err(Failure::input)?;
    }
    let measured = measure_all(arguments)?;
    let document = EvaluateDocument::new(arguments, &measured);
    match arguments.format {
        OutputFormat::Json => print_json(&document)?,
        OutputFormat::Table => print(&as_table(&document.rows))?,
    }
    arguments.plot.as_ref().map_or(Ok(()), |path| draw(path, arguments, &measured))
}

/// The JSON document that the command prints.
pub(crate) fn json(arguments: &EvaluateArguments) -> Result<String, Failure> {
    output::json(&EvaluateDocument::new(arguments, &measure_all(arguments)?))
}

impl EvaluateDocument {
    fn new(arguments: &EvaluateArguments, measured: &[PredictorEvaluation]) -> Self {
        let rows = measured.iter().map(|one| row(arguments, one)).collect();
        Self { schema: "foretell.evaluate/1", seed: arguments.seed, rows }
    }
}

/// All fractions and predictors on all curves.
fn measure_all(arguments: &EvaluateArguments) -> Result<Vec<PredictorEvaluation>, Failure> {
    let predictors = predictors(arguments)?;
    let each = arguments.observed.len() * predictors.len();
    let steps = ProgressSteps::new(
        "evaluating {bar:30} {pos} of {len} settings",
        (each * arguments.curves.len()) as u64,
    );
    let mut measured = Vec::new();
    for path in &arguments.curves {
        measured.extend(measure_curves(arguments, &predictors, path, &steps)?);
    }
    Ok(measured)
}

fn predictors(arguments: &EvaluateArguments) -> Result<Vec<Arc<dyn Predictor>>, Failure> {
    let options = PredictorOptions {
        features: arguments.features,
        seed: arguments.seed,
        draws: arguments.draws.map(|draws| draws as usize),
        ..PredictorOptions::default()
    };
    let named = arguments.predictor.iter().map(|name| predictor_of_recorded(name, &options));
    named.collect::<Result<_, _>>().map_err(Failure::input)
}

/// All fractions and predictors on the curves at `path`.
fn measure_curves(
    arguments: &EvaluateArguments,
    predictors: &[Arc<dyn Predictor>],
    path: &Path,
    steps: &ProgressSteps,
) -> Result<Vec<PredictorEvaluation>, Failure> {
    let options = EvaluationOptions {
        train: arguments.train,
        repeats: arguments.repeats as usize,
        seed: arguments.seed,
    };
    let recorded = arguments.reading.read(path)?;
    let history = arguments.reading.history(&recorded, path)?;
    let in_file = |error: EvaluationError| {
        let remedy = match error {
            EvaluationError::Observed { .. } => {
                format!(" (up to step {}). Change --observed or --target", last_step(&history))
            }
            // with fewer than three runs no value of --train would help
            EvaluationError::TooFewRuns { got: 3.., .. } => ", with --train".to_owned(),
            _ => String::new(),
        };
        Failure::input(format!("{}: {error}{remedy}", path.display()))
    };
    let train = runs_with_setting(&recorded, arguments.train_where.as_ref(), "--train-where")?;
    let test = runs_with_setting(&recorded, arguments.test_where.as_ref(), "--test-where")?;
    let splits = draw_splits_between(&history, &recorded.repeats, &|at| train[at], &|at| test[at], &options);
    let splits = splits.map_err(in_file)?;
    // all splits forecast the step that the whole file determines
    let laid =
        HistoryOptions { target: Some(last_step(&history)), ..arguments.reading.history_options(&recorded) };
    let folds = folds(&recorded, &laid, &splits).map_err(in_file)?;
    let mut measured = Vec::new();
    for &observed in &arguments.observed {
        let cut = CutPoint::after_fraction(observed, history.grid()).map_err(in_file)?;
        for predictor in predictors {
            measured.push(PredictorEvaluation {
                curves: recorded.name.clone(),
                metric: measure_name(history.run_score(), &recorded.metric.name),
                predictor: predictor.name().to_owned(),
                observed,
                result: evaluate_predictor(&folds, predictor, cut).map_err(in_file)?,
            });
            steps.step();
        }
    }
    Ok(measured)
}

/// A setting that runs may have, `NAME=VALUE`.
fn setting(text: &str) -> Result<(String, Value), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), Value::from_cell(value))),
        _ => Err("expected NAME=VALUE, such as schedule=step".to_owned()),
    }
}

/// The runs with the setting that `flag` asks for; all without the flag.
fn runs_with_setting(
    recorded: &RecordedSet,
    asked: Option<&(String, Value)>,
    flag: &str,
) -> Result<Vec<bool>, Failure> {
    let Some((name, value)) = asked else { return Ok(vec![true; recorded.runs.len()]) };
    let found: Vec<Option<Value>> = (0..recorded.runs.len())
        .map(|at| recorded.run_with_all_columns(at).configuration.get(name).cloned())
        .collect();
    // a setting that no run has is refused, because an empty side of the split would only fail later, without naming the flag
    let held: Vec<bool> = found.iter().map(|found| found.as_ref() == Some(value)).collect();
    if held.contains(&true) {
        return Ok(held);
    }
    let known: BTreeSet<String> = found.iter().flatten().map(ToString::to_string).collect();
    let known = match known.is_empty() {
        true => format!("No run contains a setting {name}"),
        false => format!("Known values are {}", Vec::from_iter(known).join(", ")),
    };
    Err(Failure::input(format!("{flag} {name}={value}: no such run in {}. {known}", recorded.name)))
}

/// The splits of `recorded`, see [`Recorded::fold`].
fn folds(
    recorded: &RecordedSet,
    laid: &HistoryOptions,
    splits: &[RunSplit],
) -> Result<Vec<EvaluationFold>, EvaluationError> {
    let folds = splits.iter().zip(1..).map(|(split, number)| {
        let fold = recorded.fold_for_split(split, laid);
        fold.map_err(|source| EvaluationError::Split { split: number, runs: split.train.len(), source })
    });
    folds.collect()
}

/// Draws the figures that `--plot` promises.
fn draw(path: &Path, arguments: &EvaluateArguments, measured: &[PredictorEvaluation]) -> CommandResult {
    let protocol = format!("{} runs to learn from, {} random splits", arguments.train, arguments.repeats);
    let best = best_of_each_set(measured, arguments.observed[0]);
    let several =
        arguments.observed.iter().any(|observed| observed.total_cmp(&arguments.observed[0]).is_ne());
    if several || best.len() > 1 {
        let bands = format!("{protocol}; bands are ± one standard error");
        let cells: Vec<_> = measured.iter().map(PredictorEvaluation::accuracy).collect();
        save(path, &figures::accuracy(&cells, bands).draw())?;
    }
    for one in &best {
        let file = match (several, best.len()) {
            (false, 1) => path.to_owned(),
            (true, 1) => figures::beside(path, "scatter"),
            _ => figures::beside(path, &format!("scatter-{}", one.curves)),
        };
        save(&file, &figures::scatter(one).draw())?;
    }
    let pooled = format!("{protocol}; mean over sets of curves and fractions observed");
    save(&figures::beside(path, "calibration"), &figures::calibration(measured, pooled).draw())
}

fn save(path: &Path, figure: &plot::Figure) -> CommandResult {
    plot::save(path, figure).map_err(Failure::midway)?;
    note(&format!("drew {}", path.display()));
    Ok(())
}

/// The most accurate predictor of each set of curves at the fraction `observed`.
fn best_of_each_set(measured: &[PredictorEvaluation], observed: f64) -> Vec<&PredictorEvaluation> {
    let sets = figures::distinct(measured.iter().map(|m| m.curves.as_str()));
    let best = sets.into_iter().filter_map(|set| {
        let here = measured.iter().filter(|m| m.curves == set && m.observed.total_cmp(&observed).is_eq());
        here.max_by(|a, b| a.result.r2_summary().0.total_cmp(&b.result.r2_summary().0))
    });
    best.collect()
}

/// A number of runs to learn from.
pub(super) fn runs(text: &str) -> Result<usize, String> {
    let runs = text.trim().parse::<usize>().ok().filter(|&runs| runs > 0);
    runs.ok_or_else(|| "must be a whole number of runs, 1 or more".to_owned())
}

/// A fraction of a curve: some of it seen, some left to forecast.
pub(super) fn fraction(text: &str) -> Result<f64, String> {
    let value = text.trim().parse::<f64>().map_err(|_| "not a number. Use a fraction such as 0.25")?;
    if value > 0.0 && value < 1.0 {
        Ok(value)
    } else {
        Err("a fraction of the curve must be between 0 and 1, for example 0.25".to_owned())
    }
}

fn row(arguments: &EvaluateArguments, measured: &PredictorEvaluation) -> EvaluationRow {
    let result = &measured.result;
    let (r2_mean, r2_stderr) = result.r2_summary();

    let first_split = result.outcomes.iter().filter(|o| o.repeat == 0);
    EvaluationRow {
        curves: measured.curves.clone(),
        predictor: measured.predictor.clone(),
        features: arguments.features.to_string(),
        observed: measured.observed,
        tau: result.tau,
        train: arguments.train,
        repeats: result.r2.len(),
        r2_mean,
        r2_stderr,
        spearman_mean: mean(&result.spearman),
        mae_mean: mean(&result.mae),
        coverage: COVERAGE_LEVELS
            .iter()
            .map(|&level| (level.to_string(), result.interval_coverage(level)))
            .collect(),
        fit_seconds: result.fit_seconds,
        predict_seconds: result.predict_seconds,
        scale: result.history.scale(),
        score: result.history.run_score(),
        r2_natural_mean: mean(&result.r2_natural),
        r2_natural_stderr: standard_error(&result.r2_natural),
        upper_coverage_top_decile: [0.95, 0.99]
            .map(|level: f64| (level.to_string(), result.upper_coverage(level, 0.1)))
            .into(),
        forecasts: result.outcomes.len(),
        below_floor: result.outcomes.iter().filter(|o| o.below_floor).count(),
        r2_floored_mean: mean(&result.r2_floored),
        r2_floored_stderr: standard_error(&result.r2_floored),
        ended_by_tau: result.apart.ended_by_tau,
        ended_later: result.apart.ended_later,
        diverged_by_tau: result.apart.diverged_by_tau,
        diverged_later: result.apart.diverged_later,
        no_forecast: result.apart.no_forecast,
        largest: first_split.map(|o| result.history.to_value(o.truth).abs()).fold(0.0, f64::max),
    }
}

/// The runs that are counted apart and those that end beyond the floor, in words.
fn apart(row: &EvaluationRow) -> String {
    let counts = [
        (row.ended_by_tau, "ended by tau"),
        (row.ended_later, "ended later"),
        (row.diverged_by_tau, "diverged by tau"),
        (row.diverged_later, "diverged later"),
        (row.no_forecast, "no forecast"),
        (row.below_floor, "end beyond the floor"),
    ];
    let said = counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
    said.collect::<Vec<_>>().join(", ")
}

/// A heading and its cell.
type TableColumn = (&'static str, fn(&EvaluationRow) -> String);

const TABLE_COLUMNS: [TableColumn; 16] = [
    ("curves", |row| row.curves.clone()),
    ("predictor", |row| row.predictor.clone()),
    ("observed", |row| format!("{:.0} %", row.observed * 100.0)),
    ("tau", |row| row.tau.to_string()),
    ("R²", |row| format!("{:.4} ± {:.4}", row.r2_mean, row.r2_stderr)),
    ("R² to the floor", |row| format!("{:.4}", row.r2_floored_mean)),
    ("Spearman", |row| format!("{:.3}", row.spearman_mean)),
    ("MAE", |row| metric_difference(row.mae_mean, row.largest, 4)),
    ("in 50 %", |row| format!("{:.3}", row.coverage["0.5"])),
    ("in 80 %", |row| format!("{:.3}", row.coverage["0.8"])),
    ("in 90 %", |row| format!("{:.3}", row.coverage["0.9"])),
    ("in 95 %", |row| format!("{:.3}", row.coverage["0.95"])),
    ("top decile ≤ 95 %", |row| format!("{:.3}", row.upper_coverage_top_decile["0.95"])),
    ("fit", |row| format!("{:.1} ms", row.fit_seconds * 1e3)),
    ("forecasts", |row| row.forecasts.to_string()),
    ("of note", apart),
];

/// The columns that a narrow terminal leaves out, the first ones first.
const NARROW_OMITTED_COLUMNS: [&str; 10] = [
    "fit",
    "top decile ≤ 95 %",
    "in 50 %",
    "in 95 %",
    "forecasts",
    "of note",
    "in 80 %",
    "R² to the floor",
    "tau",
    "curves",
];

fn as_table(rows: &[EvaluationRow]) -> String {
    let rows: Vec<_> =
        rows.iter().map(|row| TABLE_COLUMNS.iter().map(|(_, cell)| cell(row)).collect()).collect();
    table_without(&TABLE_COLUMNS.map(|(name, _)| name), &rows, &NARROW_OMITTED_COLUMNS)
}

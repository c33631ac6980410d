//! `foretell forecast`: where each unfinished run will end.

use crate::catalogue::catalogue;
use crate::curves::{CurveFlags, last_step, not_laid};
use crate::failure::{CommandResult, Failure};
use crate::output::{
    OutputFormat, metric_difference, metric_value, note, print, print_json, table, with_deviation,
};
use crate::plot;
use crate::scheduling::measure_name;
use foretell::{
    Configuration, Direction, Forecast, ForecastError, Forecaster, History, PredictorOptions, Run, RunScore,
    RunStanding, StopCriterion, Value,
};
use foretell_logs::RecordedSet;
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The arguments of `foretell forecast`.
#[derive(clap::Args)]
pub(crate) struct ForecastArguments {
    /// Unfinished runs.
    #[arg(value_name = "RUNNING")]
    running: PathBuf,
    /// Completed runs to learn from.
    #[arg(long, value_name = "CURVES")]
    history: PathBuf,
    /// Predictor.
    #[arg(long, default_value = crate::curves::DEFAULT_PREDICTOR)]
    predictor: String,
    /// Seed for the predictor.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    format: OutputFormat,
    /// Write a fan chart per unfinished run (.svg or .png).
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Size of the plot in a paper, such as 3.3x2.5in (also cm, mm or px). Text is then 8 points high, and the title is left out.
    #[arg(long, value_name = "SIZE")]
    plot_size: Option<plot::FigureSize>,
    #[command(flatten)]
    reading: CurveFlags,
}

#[derive(Serialize)]
struct ForecastDocument {
    schema: &'static str,
    history: String,
    predictor: String,
    target_step: f64,
    score: RunScore,
    best: f64,
    rows: Vec<ForecastRow>,
    #[serde(skip)]
    direction: Direction,
}

#[derive(Serialize)]
struct ForecastRow {
    run: String,
    step: Option<f64>,
    value: Option<f64>,
    forecast: Option<f64>,
    sd: Option<f64>,
    interval_90: Option<(f64, f64)>,
    /// Whether the worse end of `interval_90` is the worst value of any completed run, to be read as "that or worse".
    or_worse: bool,
    probability_to_beat_best: Option<f64>,
    /// The probability that the run diverges or ends below the floor of the completed runs.
    lost_probability: Option<f64>,
    /// Whether the forecast is the recorded value: the run is at the target already, or beyond.
    recorded: bool,
    /// The reason why there is no forecast, or the fate of the run.
    problem: Option<String>,
    /// Settings of its configuration that lie far from those of the completed runs.
    extrapolated: Vec<String>,
    /// Why the predictor gave no forecast of a run that needed one.
    #[serde(skip)]
    failure: Option<String>,
    #[serde(skip)]
    distribution: Option<Forecast>,
}

/// Runs the command.
pub(crate) fn run(arguments: &ForecastArguments) -> CommandResult {
    plot::FigureSize::apply(arguments.plot_size);
    if let Some(path) = &arguments.plot {
        plot::check_place(path, None).map_err(Failure::input)?;
    }
    let options = PredictorOptions { seed: arguments.seed, ..PredictorOptions::default() };
    let chosen =
        catalogue().predictors().make_predictor(&arguments.predictor, &options).map_err(Failure::input)?;
    let recorded = arguments.reading.read(&arguments.history)?;
    let running = arguments.reading.read_running(&arguments.running, &recorded)?;
    arguments.reading.check_scale(&recorded, &arguments.history)?;
    let history_options = arguments.reading.history_options(&recorded);
    let measure = measure_name(history_options.run_score, &recorded.metric.name);
    let forecaster = Forecaster::new(&recorded.runs, &history_options, chosen)
        .map_err(|error| not_laid(&arguments.history, error))?;
    let history = forecaster.history();
    arguments.reading.say_target(&recorded, history);
    say_running(&running, history);
    say_columns(&running, &recorded);
    let finals = (0..history.len()).filter_map(|i| history.final_score(i));
    let best =
        StopCriterion::default().incumbent(finals).ok_or_else(|| no_finished_run(&arguments.history))?;
    let constants = recorded.constant_columns();
    let document = ForecastDocument {
        schema: "foretell.forecast/1",
        history: recorded.name.clone(),
        predictor: arguments.predictor.clone(),
        target_step: last_step(history),
        score: history.run_score(),
        best: recorded_value(&recorded.runs, history, best),
        rows: running.runs.iter().map(|run| row(&forecaster, run, best, &constants)).collect(),
        direction: history.direction(),
    };
    say_extrapolated(&document.rows, &running);
    match arguments.format {
        OutputFormat::Json => print_json(&document)?,
        OutputFormat::Table => print(&as_table(&document))?,
    }
    if let Some(failure) = no_forecast_at_all(&document.rows) {
        return Err(Failure::midway(format!(
            "{}: no run could be forecast: {failure}",
            arguments.history.display()
        )));
    }
    if let Some(path) = &arguments.plot {
        let figure = fans(history, &running.runs, &document, &measure).draw();
        plot::save(path, &figure).map_err(Failure::midway)?;
    }
    Ok(())
}

/// Notes the running runs that need no forecast, and those whose points lie between those of the completed ones.
fn say_running(running: &RecordedSet, history: &History) {
    let target = last_step(history);
    let (all, name) = (running.runs.len(), &running.name);
    let there = running.runs.iter().filter(|run| history.end_of(&run.curve).is_some()).count();
    if there > 0 {
        note(&format!(
            "{name}: {there} of {all} runs have reached step {target}, so their recorded values are shown. To forecast them, choose a later --target"
        ));
    }
    let apart = running.runs.iter().filter(|run| {
        let mut steps = run.curve.steps().iter().filter(|step| **step < target);
        steps.any(|step| history.grid().iter().all(|point| point.total_cmp(step).is_ne()))
    });
    let apart = apart.count();
    if apart > 0 {
        note(&format!(
            "{name}: {apart} of {all} runs have other steps than the completed runs, so their values are interpolated"
        ));
    }
}

/// Notes the columns that the completed runs contain and the running ones lack.
fn say_columns(running: &RecordedSet, finished: &RecordedSet) {
    let (here, there) = (column_names(running), column_names(finished));
    let missing: Vec<&str> = there.difference(&here).map(String::as_str).collect();
    if !missing.is_empty() && !running.runs.is_empty() {
        note(&format!(
            "{}: column {} is missing, although the completed runs contain it. Its values are treated as missing",
            running.name,
            missing.join(", ")
        ));
    }
}

fn column_names(recorded: &RecordedSet) -> BTreeSet<String> {
    recorded.runs.iter().flat_map(|run| run.configuration.keys().cloned()).collect()
}

/// The value that made a run's final score `score`, as it was recorded: a way through logarithms would give 65.18999999999998
/// for 65.19. Of a run that diverged no recorded value tells.
fn recorded_value(runs: &[Run], history: &History, score: f64) -> f64 {
    let target = history.grid().last().copied();
    let run = (0..history.len())
        .find(|i| history.final_score(*i).is_some_and(|own| own.total_cmp(&score).is_eq()))
        .map(|i| &runs[i]);
    let recorded = run
        .zip(target)
        .and_then(|(run, target)| history.run_score().score_curve(&run.curve).interpolate_at(target));
    // a diverged run counts with the lowest score, which no value of its curve made
    let recorded = recorded.filter(|_| score > history.lowest_score());
    recorded.map_or(history.to_value(score), |score| history.direction().to_value(score))
}

/// Notes the runs that lie far from all runs learned from.
fn say_extrapolated(rows: &[ForecastRow], running: &RecordedSet) {
    let far: Vec<&ForecastRow> = rows.iter().filter(|row| !row.extrapolated.is_empty()).collect();
    if let Some(first) = far.first() {
        note(&format!(
            "{}: {} of {} runs are extrapolated, because their settings are far from those of the completed ones: `{}` has {}{}",
            running.name,
            far.len(),
            rows.len(),
            first.run,
            first.extrapolated.join("; "),
            if far.len() > 1 { "; and more" } else { "" }
        ));
    }
}

/// Why no run that needed a forecast got one, if that is so.
fn no_forecast_at_all(rows: &[ForecastRow]) -> Option<&str> {
    let first = rows.iter().find_map(|row| row.failure.as_deref())?;
    rows.iter().all(|row| row.distribution.is_none() || row.recorded).then_some(first)
}

/// Settings of `run` that lie far from those of the completed runs, among those that vary and those that they all share.
fn extrapolated_settings(forecaster: &Forecaster, run: &Run, constants: &Configuration) -> Vec<String> {
    let shared = constants.iter().filter_map(|(name, value)| {
        let own = run.configuration.get(name).filter(|own| **own != Value::Missing && *own != value)?;
        let all = if *value == Value::Missing { "none".to_owned() } else { value.to_string() };
        Some(format!("{name} = {own}, where all completed runs have {all}"))
    });
    forecaster.describe_far_values(&run.configuration).into_iter().chain(shared).collect()
}

fn no_finished_run(path: &Path) -> Failure {
    Failure::input(format!(
        "{}: no run reaches the target, so there is nothing to learn from or to beat. Choose an earlier --target",
        path.display()
    ))
}

fn row(forecaster: &Forecaster, run: &Run, best: f64, constants: &Configuration) -> ForecastRow {
    let history = forecaster.history();
    let now = current_score(history, run);
    let recorded = history.recorded_end(&run.curve);
    let problem = problem(history, run);
    let mut failure = None;
    let forecast = match (recorded, &problem) {
        (None, Some(problem)) => Err(problem.clone()),
        _ => forecaster.forecast(&run.configuration, &run.curve).map_err(|error| {
            failure =
                Some(error.to_string()).filter(|_| !matches!(error, ForecastError::NothingObserved { .. }));
            error.to_string()
        }),
    };
    let problem = problem.or_else(|| forecast.as_ref().err().cloned());
    let forecast = forecast.ok();
    ForecastRow {
        run: run.id.clone(),
        step: run.curve.last_point().map(|(step, _)| step),
        value: run.curve.last_point().map(|(_, score)| history.direction().to_value(score)),
        forecast: forecast.as_ref().map(|f| recorded.unwrap_or_else(|| possible(history, f.mean, now))),
        sd: forecast.as_ref().map(|f| match recorded {
            Some(_) => 0.0,
            None => {
                let upper = possible(history, f.quantile(0.841_344_746), now);
                let lower = possible(history, f.quantile(0.158_655_254), now);
                // halved before the difference, because the difference of two values near the largest number would be infinite
                (upper / 2.0 - lower / 2.0).abs()
            }
        }),
        interval_90: forecast.as_ref().map(|f| match recorded {
            Some(value) => (value, value),
            None => quantile_pair(history, f, (0.05, 0.95), now),
        }),
        or_worse: recorded.is_none()
            && forecast.as_ref().is_some_and(|f| history.is_beyond_worst(f.quantile(0.05))),
        probability_to_beat_best: forecast.as_ref().map(|f| 1.0 - f.probability_at_most(best)),
        lost_probability: forecast.as_ref().map(|f| forecaster.lost_probability(f)),
        recorded: recorded.is_some(),
        extrapolated: if forecast.is_some() && recorded.is_none() {
            extrapolated_settings(forecaster, run, constants)
        } else {
            Vec::new()
        },
        problem,
        failure,
        distribution: forecast,
    }
}

/// The problem that keeps `run` from the target, if there is one.
fn problem(history: &History, run: &Run) -> Option<String> {
    match history.run_standing(&run.curve) {
        RunStanding::Running | RunStanding::Arrived => None,
        RunStanding::Late { first } => Some(format!("starts at step {first}, after the target")),
        RunStanding::Diverged { at } => Some(format!("diverged at step {at}")),
        RunStanding::NoLogarithm { step, value } => {
            Some(format!("{value} at step {step} has no logarithm. Add --linear-scale"))
        }
        RunStanding::OutOfBounds { step, value } => {
            let (low, high) = history.metric_bounds();
            Some(format!(
                "{value} at step {step} is not between {low} and {high}, unlike in all completed runs. Check its unit"
            ))
        }
    }
}

/// The value of `run` so far, as a score of `history`.
fn current_score(history: &History, run: &Run) -> f64 {
    history.prefix_of(&run.curve).last().copied().unwrap_or(f64::NEG_INFINITY)
}

/// [`History::possible_value`], clamped to finite numbers: the exponential of a quantile may be beyond these.
fn possible(history: &History, score: f64, now: f64) -> f64 {
    history.possible_value(score, now).clamp(f64::MIN, f64::MAX)
}

/// The smaller and the larger of the values at two `levels` of the forecast: where smaller values are better, the quantiles descend.
fn quantile_pair(history: &History, forecast: &Forecast, levels: (f64, f64), now: f64) -> (f64, f64) {
    let one = possible(history, forecast.quantile(levels.0), now);
    let other = possible(history, forecast.quantile(levels.1), now);
    (one.min(other), one.max(other))
}

fn fans(history: &History, runs: &[Run], document: &ForecastDocument, metric: &str) -> plot::FanFigure {
    let (direction, target) = (history.direction(), document.target_step);
    let drawn = runs.iter().zip(&document.rows).filter_map(|(run, row)| fan_run(history, run, row));
    let drawn: Vec<plot::FanRun> = drawn.collect();
    let missing = runs.len() - drawn.len();
    let not_drawn =
        if missing > 0 { format!("; without a forecast, and not drawn: {missing}") } else { String::new() };
    plot::FanFigure {
        title: "where the unfinished runs will end".to_owned(),
        subtitle: format!("forecast of {metric} at step {target}, bands of 50, 80 and 95 %{not_drawn}"),
        metric: metric.to_owned(),
        maximize: direction == foretell::Direction::Maximize,
        resource: "steps".to_owned(),
        max_resource: target,
        incumbent: Some(document.best),
        runs: drawn,
    }
}

/// The curve of `run` and its forecast, if it has one.
fn fan_run(history: &History, run: &Run, row: &ForecastRow) -> Option<plot::FanRun> {
    let forecast = row.distribution.as_ref()?;
    let now = current_score(history, run);
    let bands = [0.5, 0.8, 0.95].map(|level| {
        let tail = (1.0 - level) / 2.0;
        let (low, high) = quantile_pair(history, forecast, (tail, 1.0 - tail), now);
        (level, low, high)
    });
    let curve = history.run_score().score_curve(&run.curve);
    let scores = curve.steps().iter().zip(curve.scores());
    let recorded = row.forecast.filter(|_| row.recorded);
    Some(plot::FanRun {
        name: run.id.clone(),
        points: scores.map(|(&step, &score)| (step, history.direction().to_value(score))).collect(),
        median: recorded.unwrap_or_else(|| possible(history, forecast.quantile(0.5), now)),
        intervals: if recorded.is_some() { Vec::new() } else { bands.to_vec() },
        chance: row.probability_to_beat_best,
    })
}

fn as_table(document: &ForecastDocument) -> String {
    let rows = document.rows.iter().map(|row| {
        vec![
            row.run.clone(),
            row.step.map_or("–".to_owned(), |step| step.to_string()),
            row.value.map_or("–".to_owned(), metric_value),
            forecast_cell(row),
            interval_cell(row, document.direction),
            row.probability_to_beat_best.map_or(String::new(), |p| format!("{:.1} %", p * 100.0)),
        ]
    });
    let head = format!(
        "forecast at step {} by {}, learned from {}; best completed {}\n",
        document.target_step,
        document.predictor,
        document.history,
        metric_value(document.best)
    );
    let headings = ["run", "step", "value", "forecast", "90 % interval", "beats best"];
    head + &table(&headings, &rows.collect::<Vec<_>>())
}

fn forecast_cell(row: &ForecastRow) -> String {
    match (row.forecast.filter(|_| row.recorded), &row.problem) {
        (Some(end), None) => format!("{} (recorded)", metric_value(end)),
        (Some(end), Some(problem)) => format!("{} ({problem})", metric_value(end)),
        (None, Some(problem)) => problem.clone(),
        (None, None) => with_deviation(row.forecast.unwrap_or(f64::NAN), row.sd.unwrap_or(f64::NAN)),
    }
}

fn interval_cell(row: &ForecastRow, direction: Direction) -> String {
    let Some((low, high)) = row.interval_90.filter(|_| !row.recorded) else { return String::new() };
    let size = low.abs().max(high.abs());
    let (low, high) = (metric_difference(low, size, 4), metric_difference(high, size, 4));
    match (row.or_worse, direction) {
        (false, _) => format!("{low} … {high}"),
        (true, Direction::Minimize) => format!("{low} … {high} or worse"),
        (true, Direction::Maximize) => format!("{low} or worse … {high}"),
    }
}

//! `foretell forecast`: where each unfinished run will end.

use crate::curves::CurveFlags;
use crate::failure::{Failure, Outcome};
use crate::output::{Format, print, print_json, table};
use crate::plot;
use crate::scheduling::measure_name;
use foretell::{
    Forecast, ForecastError, Forecaster, History, PredictorOptions, Run, RunScore, StopRule, predictor,
};
use serde::Serialize;
use std::path::PathBuf;

/// The arguments of `foretell forecast`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The unfinished runs.
    #[arg(value_name = "RUNNING")]
    running: PathBuf,
    /// The finished runs to learn from.
    #[arg(long, value_name = "CURVES")]
    history: PathBuf,
    /// The predictor.
    #[arg(long, default_value = crate::curves::DEFAULT_PREDICTOR)]
    predictor: String,
    /// The seed of the predictor.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// The form of the result.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Draw a fan chart for each running curve into this file (.svg or .png).
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    #[command(flatten)]
    reading: CurveFlags,
}

#[derive(Serialize)]
struct Document {
    schema: &'static str,
    history: String,
    predictor: String,
    target_step: f64,
    score: RunScore,
    best: f64,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    run: String,
    step: Option<f64>,
    value: Option<f64>,
    forecast: Option<f64>,
    sd: Option<f64>,
    interval_90: Option<(f64, f64)>,
    probability_to_beat_best: Option<f64>,
    /// Why there is no forecast.
    problem: Option<String>,
    #[serde(skip)]
    distribution: Option<Forecast>,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    if let Some(path) = &arguments.plot {
        plot::check(path).map_err(Failure::input)?;
    }
    let options = PredictorOptions { seed: arguments.seed, ..PredictorOptions::default() };
    let chosen = predictor(&arguments.predictor, &options).map_err(Failure::input)?;
    let recorded = arguments.reading.read(&arguments.history)?;
    let running = arguments.reading.read_running(&arguments.running, &recorded)?;
    let history_options = arguments.reading.history_options(&recorded);
    let measure = measure_name(history_options.run_score, &recorded.metric);
    let forecaster = Forecaster::new(&recorded.runs, &history_options, chosen)
        .map_err(|error| Failure::input(format!("{}: {error}", recorded.name)))?;
    let history = forecaster.history();
    arguments.reading.say_target(&recorded, history);
    let finals = (0..history.len()).filter_map(|i| history.final_score(i));
    let best = StopRule::default().incumbent(finals).ok_or_else(|| no_finished_run(&recorded.name))?;
    let rows: Vec<Row> = running.runs.iter().map(|run| row(&forecaster, run, best)).collect();
    if let Some(path) = &arguments.plot {
        plot::save(path, &fans(history, &running.runs, &rows, best, &measure).draw())
            .map_err(Failure::midway)?;
    }
    let document = Document {
        schema: "foretell.forecast/1",
        history: recorded.name.clone(),
        predictor: arguments.predictor.clone(),
        target_step: history.grid().last().copied().unwrap_or(0.0),
        score: history.run_score(),
        best: recorded_value(&recorded.runs, history, best),
        rows,
    };
    match arguments.format {
        Format::Json => print_json(&document),
        Format::Table => print(&as_table(&document)),
    }
}

/// The value that made a run's final score `score`, as it was recorded: a way through logarithms would give 65.18999999999998
/// for 65.19. A score at the floor is that of failed runs, of which no recorded value tells.
fn recorded_value(runs: &[Run], history: &History, score: f64) -> f64 {
    let made_it = |i: &usize| history.final_score(*i).is_some_and(|own| own.total_cmp(&score).is_eq());
    let target = history.grid().last().copied();
    let run = (0..history.len()).find(made_it).map(|i| &runs[i]);
    let recorded =
        run.zip(target).and_then(|(run, target)| history.run_score().curve(&run.curve).interpolate(target));
    let recorded = recorded.filter(|_| score > history.floor());
    recorded.map_or(history.value(score), |score| history.direction().value(score))
}

fn no_finished_run(name: &str) -> Failure {
    Failure::input(format!(
        "{name}: no run is finished: nothing to learn from or to beat; choose an earlier --target"
    ))
}

fn row(forecaster: &Forecaster, run: &Run, best: f64) -> Row {
    let history = forecaster.history();
    let now = worth_now(history, run);
    let value = |score: f64| history.possible_value(score, now);
    let forecast = forecaster.forecast(&run.configuration, &run.curve);
    let problem = forecast.as_ref().err().map(ForecastError::to_string);
    let forecast = forecast.ok();
    let interval = |f: &Forecast| {
        let (low, high) = (value(f.quantile(0.05)), value(f.quantile(0.95)));
        (low.min(high), low.max(high))
    };
    let sd = |f: &Forecast| (value(f.quantile(0.841_344_746)) - value(f.quantile(0.158_655_254))).abs() / 2.0;
    Row {
        run: run.id.clone(),
        step: run.curve.last().map(|(step, _)| step),
        value: run.curve.last().map(|(_, score)| history.direction().value(score)),
        forecast: forecast.as_ref().map(|f| value(f.mean)),
        sd: forecast.as_ref().map(sd),
        interval_90: forecast.as_ref().map(interval),
        probability_to_beat_best: forecast.as_ref().map(|f| 1.0 - f.probability_at_most(best)),
        problem,
        distribution: forecast,
    }
}

/// What `run` is worth so far, as a score of `history`.
fn worth_now(history: &History, run: &Run) -> f64 {
    history.prefix_of(&run.curve).last().copied().unwrap_or(f64::NEG_INFINITY)
}

fn fans(history: &History, runs: &[Run], rows: &[Row], best: f64, metric: &str) -> plot::Fan {
    let direction = history.direction();
    let target = history.grid().last().copied().unwrap_or(0.0);
    let fan = |(run, row): (&Run, &Row)| {
        let forecast = row.distribution.as_ref()?;
        let now = worth_now(history, run);
        let value = |score: f64| history.possible_value(score, now);
        let band = |level: f64| {
            let tail = (1.0 - level) / 2.0;
            let (a, b) = (value(forecast.quantile(tail)), value(forecast.quantile(1.0 - tail)));
            (level, a.min(b), a.max(b))
        };
        let curve = history.run_score().curve(&run.curve);
        let scores = curve.steps().iter().zip(curve.scores());
        Some(plot::FanRun {
            name: run.id.clone(),
            points: scores.map(|(&step, &score)| (step, direction.value(score))).collect(),
            median: value(forecast.quantile(0.5)),
            intervals: [0.5, 0.8, 0.95].map(band).to_vec(),
            chance: row.probability_to_beat_best,
        })
    };
    plot::Fan {
        title: "where the running trainings will end".to_owned(),
        subtitle: format!("forecast of {metric} at step {target}, bands of 50, 80 and 95 %"),
        metric: metric.to_owned(),
        maximize: direction == foretell::Direction::Maximize,
        resource: "steps".to_owned(),
        max_resource: target,
        incumbent: Some(history.value(best)),
        runs: runs.iter().zip(rows).filter_map(fan).collect(),
    }
}

fn as_table(document: &Document) -> String {
    let number = |value: Option<f64>| value.map_or("–".to_owned(), |v| format!("{v:.4}"));
    let cells = |row: &Row| {
        vec![
            row.run.clone(),
            row.step.map_or("–".to_owned(), |step| step.to_string()),
            number(row.value),
            row.problem.clone().unwrap_or_else(|| format!("{} ± {}", number(row.forecast), number(row.sd))),
            row.interval_90.map_or(String::new(), |(low, high)| format!("{low:.4} … {high:.4}")),
            row.probability_to_beat_best.map_or(String::new(), |p| format!("{:.1} %", p * 100.0)),
        ]
    };
    let head = format!(
        "forecast at step {} by {}, learnt from {}; best finished {:.4}\n",
        document.target_step, document.predictor, document.history, document.best
    );
    let headings = ["run", "step", "value", "forecast", "90 % interval", "beats best"];
    head + &table(&headings, &document.rows.iter().map(cells).collect::<Vec<_>>())
}

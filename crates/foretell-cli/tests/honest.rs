//! `evaluate` measures the forecasts of `forecast`: they are the same, bit for bit, if the runs of a split are in files of their own.

#[path = "../../../tests/needed.rs"]
mod needed;

use foretell::evaluate::{CutPoint, EvaluationOptions, draw_splits, evaluate_predictor};
use foretell::{
    Configuration, Curve, Forecast, Forecaster, History, HistoryOptions, Predictor, PredictorOptions, Run,
    RunStanding, Value, make_predictor,
};
use foretell_logs::{ReadOptions, RecordedSet, read_runs, write_json_lines};
use std::collections::BTreeSet;
use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

type Tested = Result<(), Box<dyn Error>>;

/// The recorded sets of the repository, and those next to the checkout if they exist.
fn sets() -> Vec<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let own = ["cifar10-random", "cifar10-q-learning", "shapes-q-learning"];
    let mut sets: Vec<PathBuf> =
        own.map(|name| here.join(format!("../../benches/curves/{name}.jsonl.gz"))).into();
    for folder in ["others", "paper"] {
        let Some(folder) = needed::recorded(&format!("curves/{folder}")) else { continue };
        let paths = fs::read_dir(folder).expect("a folder").filter_map(|entry| Some(entry.ok()?.path()));
        sets.extend(paths.filter(|path| path.is_dir() || path.extension().is_some_and(|e| e == "csv")));
    }
    sets.sort();
    sets
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Format {
    Wide,
    Long,
    JsonLines,
}

const ID: &str = "run_of_this_test";

fn cell(value: &Value) -> String {
    format!("\"{}\"", value.to_string().replace('"', "\"\""))
}

/// The points of a curve in the metric's own unit, with `nan` where it was not finite.
fn points(curve: &Curve, recorded: &RecordedSet) -> Vec<(f64, String)> {
    let values = curve.scores().iter().map(|&score| recorded.metric.direction.to_value(score).to_string());
    let lost = curve.gap_starts().iter().copied().chain(curve.diverged_at());
    let mut points: Vec<(f64, String)> = curve.steps().iter().copied().zip(values).collect();
    points.extend(lost.map(|step| (step, "nan".to_owned())));
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}

fn names(runs: &[Run]) -> Vec<String> {
    let all: BTreeSet<&String> = runs.iter().flat_map(|run| run.configuration.keys()).collect();
    all.into_iter().cloned().collect()
}

fn configuration(run: &Run, names: &[String]) -> String {
    let cell_of = |name: &String| format!(",{}", run.configuration.get(name).map_or(String::new(), cell));
    names.iter().map(cell_of).collect()
}

/// Writes `runs` in a format; a wide file has a column for each of `steps`.
fn write(path: &Path, runs: &[Run], steps: &[f64], recorded: &RecordedSet, format: Format) -> Tested {
    let names = names(runs);
    let header: String = names.iter().map(|name| format!(",\"{name}\"")).collect();
    let metric = &recorded.metric.name;
    let mut text = String::new();
    match format {
        Format::JsonLines => {
            write_json_lines(fs::File::create(path)?, runs, &recorded.metric)?;
            return Ok(());
        }
        Format::Wide => {
            let epochs: String = steps.iter().map(|step| format!(",{metric}_{step}")).collect();
            writeln!(text, "{ID}{header}{epochs}")?;
            for run in runs {
                let points = points(&run.curve, recorded);
                let point = |step: &f64| points.iter().find(|(s, _)| s.total_cmp(step).is_eq());
                let cell = |step| format!(",{}", point(step).map_or("", |(_, value)| value));
                let cells: String = steps.iter().map(cell).collect();
                writeln!(text, "{}{}{cells}", run.id, configuration(run, &names))?;
            }
        }
        Format::Long => {
            writeln!(text, "{ID},epoch,{metric}{header}")?;
            for run in runs {
                for (step, value) in points(&run.curve, recorded) {
                    writeln!(text, "{},{step},{value}{}", run.id, configuration(run, &names))?;
                }
            }
        }
    }
    fs::write(path, text)?;
    Ok(())
}

fn laid(recorded: &RecordedSet, target: Option<f64>) -> HistoryOptions {
    HistoryOptions {
        metric: Some(recorded.metric.clone()),
        target,
        columns: recorded.columns.clone(),
        ..HistoryOptions::default()
    }
}

fn predictor_named(name: &str) -> Result<Arc<dyn Predictor>, Box<dyn Error>> {
    Ok(Arc::from(make_predictor(name, &PredictorOptions::default())?))
}

fn bits(forecast: &Forecast) -> [u64; 5] {
    [forecast.mean, forecast.scale, forecast.quantile(0.05), forecast.quantile(0.5), forecast.quantile(0.99)]
        .map(f64::to_bits)
}

/// One split of a set, and the files that it is written into.
struct Cell {
    recorded: RecordedSet,
    history: History,
    split: foretell::evaluate::RunSplit,
}

impl Cell {
    fn read(path: &Path) -> Result<Self, Box<dyn Error>> {
        let recorded = read_runs(path, &ReadOptions { deduplicate: true, ..ReadOptions::default() })?;
        let history = History::new(&recorded.runs, &laid(&recorded, None))?;
        let finished = (0..history.len()).filter(|&i| history.final_score(i).is_some()).count();
        let options = EvaluationOptions { train: (finished / 2).min(100), repeats: 1, seed: 5 };
        let split = draw_splits(&history, &recorded.repeats, &options)?.remove(0);
        Ok(Self { recorded, history, split })
    }

    fn target(&self) -> Option<f64> {
        self.history.grid().last().copied()
    }

    /// Whether the set can be written so: the columns of a wide file are whole steps.
    fn fits(&self, format: Format) -> bool {
        let steps = self.recorded.runs.iter().flat_map(|run| run.curve.steps());
        format != Format::Wide || steps.copied().all(|step| step >= 0.0 && step.fract().abs() <= 0.0)
    }

    /// Writes the training runs into one file, and the others, cut off, into another.
    fn write(
        &self,
        folder: &Path,
        cut: CutPoint,
        format: Format,
    ) -> Result<(PathBuf, PathBuf), Box<dyn Error>> {
        let extension = if format == Format::JsonLines { "jsonl" } else { "csv" };
        let [finished, running] =
            ["finished", "running"].map(|name| folder.join(format!("{name}.{extension}")));
        let train: Vec<Run> =
            self.split.train.iter().map(|&at| self.recorded.run_with_all_columns(at)).collect();
        let cut_off = |&at: &usize| {
            let run = self.recorded.run_with_all_columns(at);
            Run { curve: run.curve.prefix_until(cut.step), ..run }
        };
        let test: Vec<Run> = self.split.test.iter().map(cut_off).collect();
        let of_all = |runs: &[Run]| {
            let steps = runs.iter().flat_map(|run| points(&run.curve, &self.recorded)).map(|point| point.0);
            let mut steps: Vec<f64> = steps.collect();
            steps.sort_by(f64::total_cmp);
            steps.dedup();
            steps
        };
        write(&finished, &train, &of_all(&train), &self.recorded, format)?;
        write(&running, &test, &of_all(&test), &self.recorded, format)?;
        Ok((finished, running))
    }

    fn read_options(&self, format: Format) -> ReadOptions {
        ReadOptions {
            metric: Some(self.recorded.metric.name.clone()),
            direction: Some(self.recorded.metric.direction),
            id_column: (format != Format::JsonLines).then(|| ID.to_owned()),
            ..ReadOptions::default()
        }
    }

    /// The forecasts of `forecast --history FINISHED RUNNING` for the two files: one per running run.
    fn by_files(
        &self,
        (finished, running): (&Path, &Path),
        predictor: &Arc<dyn Predictor>,
        format: Format,
    ) -> Result<Vec<(String, Forecast)>, Box<dyn Error>> {
        let options = self.read_options(format);
        let finished = read_runs(finished, &ReadOptions { deduplicate: true, ..options.clone() })?;
        assert_eq!(finished.runs.len(), self.split.train.len());
        let whole = ReadOptions {
            keep_all_columns: true,
            running: true,
            empty_between: finished.empty_between,
            ..options
        };
        let running = read_runs(running, &whole)?;
        let history = History::new(&finished.runs, &laid(&finished, self.target()))?;
        let forecaster = Forecaster::with_history(history, Arc::clone(predictor));
        let mut forecasts = Vec::new();
        for run in &running.runs {
            if forecaster.history().run_standing(&run.curve) == RunStanding::Running {
                let forecast = forecaster.forecast(&run.configuration, &run.curve);
                forecasts.extend(forecast.ok().map(|forecast| (run.id.clone(), forecast)));
            }
        }
        Ok(forecasts)
    }

    fn by_evaluate(
        &self,
        predictor: &Arc<dyn Predictor>,
        cut: CutPoint,
    ) -> Result<Vec<(String, Forecast)>, Box<dyn Error>> {
        let fold = self.recorded.fold_for_split(&self.split, &laid(&self.recorded, self.target()))?;
        let measured = evaluate_predictor(&[fold], predictor, cut)?;
        let id = |at: usize| self.recorded.runs[at].id.clone();
        Ok(measured.outcomes.into_iter().map(|outcome| (id(outcome.run), outcome.forecast)).collect())
    }
}

#[test]
fn evaluate_gives_the_forecasts_of_separate_files_bit_for_bit() -> Tested {
    let folder = tempfile::tempdir()?;
    let mut compared = 0;
    for path in sets() {
        let cell = Cell::read(&path)?;
        for (observed, name) in [(0.1, "ridge"), (0.25, "ridge"), (0.25, "auto"), (0.5, "ridge")] {
            let Ok(cut) = CutPoint::after_fraction(observed, cell.history.grid()) else { continue };
            let predictor = predictor_named(name)?;
            let expected = cell.by_evaluate(&predictor, cut)?;
            for format in [Format::Wide, Format::Long, Format::JsonLines] {
                if !cell.fits(format) {
                    continue;
                }
                let place = format!("{} {name} {observed} {format:?}", path.display());
                let (finished, running) = cell.write(folder.path(), cut, format)?;
                let got = cell.by_files((&finished, &running), &predictor, format)?;
                assert_eq!(got.len(), expected.len(), "{place}");
                for ((id, forecast), (own_id, own)) in got.iter().zip(&expected) {
                    assert_eq!((id, bits(forecast)), (own_id, bits(own)), "{place}");
                }
                compared += got.len();
            }
        }
    }
    // so many in the repository's own sets alone
    assert!(compared >= 700, "only {compared} forecasts were compared");
    Ok(())
}

#[test]
fn the_command_gives_them_too() -> Tested {
    let folder = tempfile::tempdir()?;
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benches/curves/cifar10-random.jsonl.gz");
    let cell = Cell::read(&own)?;
    let cut = CutPoint::after_fraction(0.3, cell.history.grid())?;
    let expected = cell.by_evaluate(&predictor_named("auto")?, cut)?;
    for format in [Format::Long, Format::JsonLines] {
        let (finished, running) = cell.write(folder.path(), cut, format)?;
        let target = cell.target().ok_or("no target")?.to_string();
        let mut command = Command::new(env!("CARGO_BIN_EXE_foretell"));
        command.args(["forecast", "--format", "json", "--target", &target, "--history"]);
        command.arg(&finished).arg(&running);
        if format == Format::Long {
            command.args(["--id", ID]);
        }
        let output = command.output()?;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let document: serde_json::Value = serde_json::from_slice(&output.stdout)?;
        let rows = document["rows"].as_array().ok_or("no rows")?;
        assert_eq!(rows.len(), expected.len());
        let history = cell.recorded.fold_for_split(&cell.split, &laid(&cell.recorded, cell.target()))?;
        for (row, (id, forecast)) in rows.iter().zip(&expected) {
            assert_eq!(row["run"], id.as_str());
            let mean = history.history().possible_value(forecast.mean, f64::NEG_INFINITY);
            let shown = row["forecast"].as_f64().ok_or_else(|| row.to_string())?;
            assert!((shown - mean).abs() <= f64::EPSILON * mean.abs(), "{format:?} {id}: {shown} for {mean}");
        }
    }
    Ok(())
}

#[test]
fn columns_are_judged_by_the_training_runs_alone() -> Tested {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("runs.csv");
    // `depth` varies among the first eight runs only, `opt` among the last eight
    let row = |i: u32| {
        let (depth, opt) = (if i < 8 { i % 3 } else { 2 }, if i < 8 { 0 } else { i % 2 });
        format!("{depth},o{opt},0.3,0.{},0.{}\n", 40 + i, 50 + 2 * i)
    };
    let text = "depth,opt,acc_1,acc_2,acc_3\n".to_owned() + &(0..16).map(row).collect::<String>();
    fs::write(&path, text)?;
    let recorded = read_runs(&path, &ReadOptions::default())?;
    let features = |runs: &[usize]| -> Vec<String> {
        let (runs, columns) = recorded.only(runs);
        assert!(runs.iter().all(|run| run.configuration.keys().eq(columns.groups.keys())));
        columns.groups.keys().cloned().collect()
    };
    assert_eq!(features(&(0..16).collect::<Vec<_>>()), ["depth", "opt"]);
    assert_eq!(features(&(0..8).collect::<Vec<_>>()), ["depth"]);
    assert_eq!(features(&(8..16).collect::<Vec<_>>()), ["opt"]);
    let whole: Configuration = recorded.run_with_all_columns(12).configuration;
    assert_eq!(
        whole.keys().collect::<Vec<_>>(),
        ["depth", "opt"],
        "a running run is asked about all of them"
    );
    Ok(())
}

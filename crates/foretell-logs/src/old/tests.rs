//! Every format against files that the real tool wrote, value by value, and against damage. `scripts/make-old-logs` makes the files.

use super::gather::{GatheredRuns, gather};
use super::series::{LogSeries, RunLog, SeriesFilter};
use crate::{Error, ReadOptions, RecordedSet, read_runs};
use flate2::read::GzDecoder;
use foretell::Value;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

type Tested = Result<(), Box<dyn std::error::Error>>;

/// A run's id, its metrics and their values at steps.
type Told = BTreeMap<String, BTreeMap<String, Vec<(f64, f64)>>>;

fn cases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/old")
}

/// Copies the logs of a case, decompressed.
fn unpack(name: &str, to: &Path) -> std::io::Result<()> {
    fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default();
            if path.is_dir() {
                copy(&path, &to.join(name))?;
            } else if path.extension().is_some_and(|ending| ending == "gz") {
                let mut plain = Vec::new();
                GzDecoder::new(fs::File::open(&path)?).read_to_end(&mut plain)?;
                fs::write(to.join(path.file_stem().unwrap_or_default()), plain)?;
            } else {
                fs::copy(&path, to.join(name))?;
            }
        }
        Ok(())
    }
    copy(&cases().join(name).join("logs"), to)
}

fn read_expected(name: &str) -> Result<Json, Box<dyn std::error::Error>> {
    Ok(serde_json::from_str(&fs::read_to_string(cases().join(name).join("expected.json"))?)?)
}

fn number(value: &Json) -> f64 {
    value.as_f64().or_else(|| value.as_str()?.parse().ok()).unwrap_or(0.123)
}

/// The result of the tool's own reader.
fn series_of_tool(expected: &Json) -> Told {
    let mut told = Told::new();
    for (id, run) in expected["runs"].as_object().into_iter().flatten() {
        let series = told.entry(id.clone()).or_default();
        for (name, points) in run["series"].as_object().into_iter().flatten() {
            let points = points.as_array().into_iter().flatten().map(|p| (number(&p[0]), number(&p[1])));
            series.insert(name.clone(), points.collect());
        }
    }
    told
}

fn all(folder: &Path) -> Result<GatheredRuns, Error> {
    gather(
        &[folder.to_owned()],
        &ReadOptions::default(),
        &SeriesFilter { all: true, ..SeriesFilter::default() },
        None,
        &mut |_| {},
    )
}

fn series_points(run: &RunLog) -> BTreeMap<String, Vec<(f64, f64)>> {
    let pairs = |series: &LogSeries| series.points.iter().map(|point| (point.step, point.value)).collect();
    run.series.iter().map(|(name, series)| (name.clone(), pairs(series))).collect()
}

fn alike(a: &[(f64, f64)], b: &[(f64, f64)]) -> bool {
    let same = |x: f64, y: f64| x.total_cmp(&y).is_eq() || (x.is_nan() && y.is_nan());
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a.0, b.0) && same(a.1, b.1))
}

/// Compares our reading of the logs of `name` with that of their tool.
fn check(name: &str) -> Tested {
    let folder = tempfile::tempdir()?;
    unpack(name, folder.path())?;
    let gathered = all(folder.path())?;
    let expected = read_expected(name)?;
    let told = series_of_tool(&expected);
    let ids: Vec<&String> = gathered.runs.iter().map(|run| &run.id).collect();
    assert_eq!(gathered.runs.len(), told.len(), "{name}: {ids:?}, left out {:?}", gathered.left_out);
    for run in &gathered.runs {
        let (own, theirs) =
            (series_points(run), told.get(&run.id).ok_or_else(|| format!("{name}: no run {}", run.id))?);
        for (metric, points) in theirs {
            let found =
                own.get(metric).ok_or_else(|| format!("{name}: {} has no {metric}: {own:?}", run.id))?;
            assert!(alike(found, points), "{name}: {} {metric}: {found:?} for {points:?}", run.id);
        }
        let expected = &expected["runs"][&run.id];
        for (setting, value) in expected["configuration"].as_object().into_iter().flatten() {
            let found = run.configuration.get(setting);
            let same = match value {
                Json::Number(number) => found.and_then(Value::as_number) == number.as_f64(),
                other => found.and_then(Value::as_text) == other.as_str(),
            };
            assert!(same, "{name}: {} {setting}: {found:?} for {value}", run.id);
        }
        assert_eq!(serde_json::to_value(run.ended)?, expected["ended"], "{name}: how {} ended", run.id);
    }
    Ok(())
}

#[test]
fn tensorboard_is_read_as_its_event_accumulator_reads_it() -> Tested {
    check("tensorboard-old")?;
    check("tensorboard-new")?;
    check("tensorboard-resumed")?;
    check("lightning-tensorboard")
}

#[test]
fn offline_runs_of_wandb_are_read_as_its_records_say() -> Tested {
    check("wandb")
}

#[test]
fn mlflow_is_read_as_its_client_reads_it() -> Tested {
    check("mlflow-files")?;
    if cfg!(feature = "sqlite") { check("mlflow-sqlite") } else { Ok(()) }
}

#[test]
fn optuna_is_read_as_its_storages_read_it() -> Tested {
    check("optuna-journal")?;
    if cfg!(feature = "sqlite") { check("optuna-sqlite") } else { Ok(()) }
}

#[test]
fn keras_lightning_ray_and_transformers_are_read_as_they_were_written() -> Tested {
    ["keras", "lightning-csv", "ray", "transformers"].into_iter().try_for_each(check)
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_is_read_as_pandas_reads_it() -> Tested {
    for kind in ["snappy", "zstd", "gzip", "plain", "v2", "delta"] {
        let name = format!("parquet-{kind}");
        let folder = tempfile::tempdir()?;
        unpack(&name, folder.path())?;
        let options = ReadOptions { keep_all_columns: true, ..ReadOptions::default() };
        let recorded = read_runs(&folder.path().join("runs.parquet"), &options)?;
        let expected = read_expected(&name)?;
        assert_eq!(recorded.runs.len(), series_of_tool(&expected).len(), "{name}");
        for run in &recorded.runs {
            let theirs = &series_of_tool(&expected)[&run.id]["val_acc"];
            let finite: Vec<(f64, f64)> =
                theirs.iter().copied().filter(|(_, value)| value.is_finite()).collect();
            let own: Vec<(f64, f64)> =
                run.curve.steps().iter().copied().zip(run.curve.scores().iter().copied()).collect();
            assert!(alike(&own, &finite), "{name} {}: {own:?} for {finite:?}", run.id);
            assert_eq!(run.curve.diverged_at().is_some(), finite.len() < theirs.len(), "{name} {}", run.id);
            let lr = expected["runs"][&run.id]["configuration"]["lr"].as_f64();
            assert_eq!(run.configuration["lr"].as_number(), lr, "{name} {}", run.id);
        }
    }
    Ok(())
}

fn read_case(name: &str, metric: Option<&str>) -> Result<RecordedSet, Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    unpack(name, folder.path())?;
    let options = ReadOptions { metric: metric.map(str::to_owned), ..ReadOptions::default() };
    Ok(read_runs(folder.path(), &options)?)
}

#[test]
fn pruned_and_failed_runs_are_never_finished() -> Tested {
    let recorded = read_case("optuna-journal", None)?;
    assert_eq!(recorded.metric.direction, foretell::Direction::Maximize);
    assert_eq!(recorded.target, Some(5.0));
    let early = recorded.ended.iter().filter(|ended| ended.is_early()).count();
    assert!(early > 1, "{:?}", recorded.ended);
    let options = foretell::HistoryOptions { target: recorded.target, ..foretell::HistoryOptions::default() };
    let history = foretell::History::new(&recorded.runs, &options)?;
    for (at, run) in recorded.runs.iter().enumerate() {
        let reached =
            run.curve.last_point().is_some_and(|(step, _)| step >= 5.0) || run.curve.diverged_at().is_some();
        assert_eq!(history.final_score(at).is_some(), reached, "run {}", run.id);
    }
    Ok(())
}

#[test]
fn metrics_are_laid_on_epochs_where_the_log_has_them() -> Tested {
    for (name, metric, steps) in [
        ("keras", "val_loss", vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
        ("lightning-csv", "val_acc", vec![1.0, 2.0, 3.0, 4.0]),
        ("transformers", "eval_loss", vec![1.0, 2.0, 3.0, 4.0]),
        ("wandb", "val_loss", vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
        ("ray", "val_acc", vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
    ] {
        let recorded = read_case(name, Some(metric))?;
        assert_eq!(recorded.runs[0].curve.steps(), steps, "{name}: {:?}", recorded.notes);
    }
    Ok(())
}

#[test]
fn what_is_left_out_is_counted_first() -> Tested {
    let recorded = read_case("mlflow-files", None)?;
    let first = &recorded.notes[0].text;
    assert!(first.starts_with("3 runs (3 of MLflow)"), "{first}");
    assert!(first.contains("1 left out: deleted in its tool"), "{first}");
    assert!(first.contains("1 failed") && first.contains("1 of 2 metrics"), "{first}");
    Ok(())
}

/// Pseudo-random numbers, the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit.max(1)
    }
}

/// One change to a file: bytes overwritten, cut off, taken out or doubled.
fn mutate(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let mut changed = bytes.to_vec();
    for _ in 0..=random.below(3) {
        let at = random.below(changed.len());
        let length = 1 + random.below(16).min(changed.len().saturating_sub(at + 1));
        match random.below(5) {
            0 => changed.truncate(at),
            1 => drop(changed.drain(at..at + length.min(changed.len() - at))),
            2 => {
                let part = changed[at..(at + length).min(changed.len())].to_vec();
                changed.splice(at..at, part);
            }
            3 => changed[at] ^= 1 << random.below(8),
            _ => {
                let byte = [0, 0xff, b'0', b'"', b'{', b',', b'\n', 0x7f][random.below(8)];
                changed[at] = byte;
            }
        }
        if changed.is_empty() {
            break;
        }
    }
    changed
}

/// Damaged files give an error or fewer runs; where checksums protect the values, never another value.
fn fuzz(name: &str, protected: bool) -> Tested {
    let folder = tempfile::tempdir()?;
    unpack(name, folder.path())?;
    let mut files = Vec::new();
    let mut folders = vec![folder.path().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    let told = series_of_tool(&read_expected(name)?);
    let mut random = Random(36);
    for round in 0..500 {
        let file = &files[random.below(files.len())];
        let sound = fs::read(file)?;
        fs::write(file, mutate(&sound, &mut random))?;
        let _ = read_runs(folder.path(), &ReadOptions::default());
        if protected && let Ok(gathered) = all(folder.path()) {
            for run in &gathered.runs {
                let Some(theirs) = told.get(&run.id) else { continue };
                for (metric, points) in series_points(run) {
                    let known = |point: &(f64, f64)| {
                        theirs.get(&metric).is_some_and(|all| all.iter().any(|own| alike(&[*own], &[*point])))
                    };
                    // settings that `add_hparams` keeps in a folder of its own are not in the run's
                    let wrong = points.iter().find(|point| !known(point) && !metric.starts_with("hparam/"));
                    assert!(wrong.is_none(), "{name}, round {round}: {metric} of {} has {wrong:?}", run.id);
                }
            }
        }
        fs::write(file, sound)?;
    }
    Ok(())
}

#[test]
fn damaged_event_files_give_fewer_values_and_never_others() -> Tested {
    fuzz("tensorboard-old", true)?;
    fuzz("tensorboard-new", true)
}

#[test]
fn damaged_runs_of_wandb_give_fewer_values_and_never_others() -> Tested {
    fuzz("wandb", true)
}

#[test]
fn damaged_databases_and_journals_do_not_panic() -> Tested {
    fuzz("optuna-journal", false)?;
    fuzz("mlflow-files", false)?;
    if cfg!(feature = "sqlite") {
        fuzz("optuna-sqlite", false)?;
        fuzz("mlflow-sqlite", false)?;
    }
    Ok(())
}

#[test]
fn damaged_tables_and_json_do_not_panic() -> Tested {
    ["keras", "lightning-csv", "ray", "transformers"].into_iter().try_for_each(|name| fuzz(name, false))
}

#[cfg(feature = "parquet")]
#[test]
fn damaged_parquet_files_do_not_panic() -> Tested {
    for kind in ["snappy", "zstd", "gzip", "plain", "v2", "delta"] {
        fuzz(&format!("parquet-{kind}"), false)?;
    }
    Ok(())
}

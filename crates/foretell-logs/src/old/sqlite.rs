//! The SQLite databases of MLflow and Optuna, opened read-only.

use super::lines::parameter;
use super::point::LoggedPoint;
use super::series::{RunEnd, RunLog, SeriesFilter};
use super::{LogFormat, json, mlflow};
use crate::error::Error;
use foretell::Direction;
use rusqlite::{Connection, OpenFlags, params};
use std::collections::HashSet;
use std::path::Path;

/// Opens a database that nothing is written to.
fn open_read_only(file: &Path) -> Result<Connection, Error> {
    Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        .map_err(database_error(file))
}

/// For `map_err`.
fn database_error(file: &Path) -> impl Fn(rusqlite::Error) -> Error + Copy {
    move |error| Error::Old {
        file: file.to_owned(),
        problem: format!("the database cannot be read ({error})"),
    }
}

/// The tool that wrote the database; `None` for another one.
pub(crate) fn format_of(file: &Path) -> Result<Option<LogFormat>, Error> {
    let database = open_read_only(file)?;
    let mut named = database
        .prepare("SELECT name FROM sqlite_master WHERE type = 'table'")
        .map_err(database_error(file))?;
    let names: HashSet<String> =
        named.query_map([], |row| row.get(0)).and_then(Iterator::collect).map_err(database_error(file))?;
    Ok(if ["trials", "studies", "trial_intermediate_values"].iter().all(|name| names.contains(*name)) {
        Some(LogFormat::Optuna)
    } else if ["runs", "metrics", "params"].iter().all(|name| names.contains(*name)) {
        Some(LogFormat::Mlflow)
    } else {
        None
    })
}

/// Takes a run; `None` stands for one that is marked as deleted.
type RunSink<'a> = dyn FnMut(Option<RunLog>) -> Result<(), Error> + 'a;

/// Hands on the runs of the database one by one.
pub(crate) fn read(file: &Path, wanted: &SeriesFilter, take: &mut RunSink<'_>) -> Result<(), Error> {
    let database = open_read_only(file)?;
    match format_of(file)? {
        Some(LogFormat::Optuna) => read_optuna_trials(&database, wanted, take, file),
        _ => read_mlflow_runs(&database, wanted, take, file),
    }
}

type QueryRows = Result<Vec<(String, Option<String>, String)>, rusqlite::Error>;

fn read_mlflow_runs(
    database: &Connection,
    wanted: &SeriesFilter,
    take: &mut RunSink<'_>,
    file: &Path,
) -> Result<(), Error> {
    let fail = database_error(file);
    let deleted: u32 = database
        .query_row("SELECT COUNT(*) FROM runs WHERE lifecycle_stage = 'deleted'", [], |row| row.get(0))
        .map_err(fail)?;
    for _ in 0..deleted {
        take(None)?;
    }
    let text = "SELECT run_uuid, name, status FROM runs WHERE lifecycle_stage IS NOT 'deleted' ORDER BY start_time, run_uuid";
    let mut all = database.prepare(text).map_err(fail)?;
    let found: QueryRows = all
        .query_map([], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get::<_, Option<String>>(2)?.unwrap_or_default()))
        })
        .and_then(Iterator::collect);
    let mut settings = database.prepare("SELECT key, value FROM params WHERE run_uuid = ?1").map_err(fail)?;
    let mut values = database
        .prepare(
            "SELECT key, value, timestamp, step, is_nan FROM metrics WHERE run_uuid = ?1 ORDER BY key, timestamp, step, value",
        )
        .map_err(fail)?;
    for (id, name, status) in found.map_err(fail)? {
        let mut run = RunLog::new(
            name.filter(|name| !name.is_empty()).unwrap_or_else(|| id.clone()),
            LogFormat::Mlflow,
        );
        run.ended = mlflow::status(&status);
        let mut rows = settings.query(params![id]).map_err(fail)?;
        while let Some(row) = rows.next().map_err(fail)? {
            let (name, value): (String, String) = (row.get(0).map_err(fail)?, row.get(1).map_err(fail)?);
            run.configure(&name, json::setting(&value));
        }
        let mut rows = values.query(params![id]).map_err(fail)?;
        while let Some(row) = rows.next().map_err(fail)? {
            let name = row.get_ref(0).map_err(fail)?;
            let name = name.as_str().map_err(|_| fail(rusqlite::Error::InvalidQuery))?;
            let is_nan: bool = row.get::<_, Option<bool>>(4).map_err(fail)?.unwrap_or(false);
            let value: f64 = row.get(1).map_err(fail)?;
            // the database takes no infinity: MLflow writes the largest number for it
            let value = match value {
                _ if is_nan => f64::NAN,
                f64::MAX => f64::INFINITY,
                f64::MIN => f64::NEG_INFINITY,
                value => value,
            };
            let time: Option<f64> =
                row.get::<_, Option<i64>>(2).map_err(fail)?.map(|time| time as f64 / 1000.0);
            let step = row.get::<_, i64>(3).map_err(fail)? as f64;
            run.push(name, LoggedPoint { step, epoch: None, time, value }, wanted);
        }
        take(Some(run))?;
    }
    Ok(())
}

fn read_optuna_trials(
    database: &Connection,
    wanted: &SeriesFilter,
    take: &mut RunSink<'_>,
    file: &Path,
) -> Result<(), Error> {
    let fail = database_error(file);
    let text = "SELECT s.study_name, d.direction, t.trial_id, t.number, t.state FROM trials t \
        JOIN studies s ON s.study_id = t.study_id JOIN study_directions d ON d.study_id = t.study_id \
        WHERE (SELECT COUNT(*) FROM study_directions o WHERE o.study_id = t.study_id) = 1 ORDER BY t.study_id, t.number";
    let mut all = database.prepare(text).map_err(fail)?;
    let studies: u32 =
        database.query_row("SELECT COUNT(*) FROM studies", [], |row| row.get(0)).map_err(fail)?;
    let mut settings = database
        .prepare("SELECT param_name, param_value, distribution_json FROM trial_params WHERE trial_id = ?1")
        .map_err(fail)?;
    let mut values = database
        .prepare(
            "SELECT step, intermediate_value, intermediate_value_type FROM trial_intermediate_values WHERE trial_id = ?1 \
             ORDER BY step",
        )
        .map_err(fail)?;
    let mut trials = all.query([]).map_err(fail)?;
    while let Some(trial) = trials.next().map_err(fail)? {
        let (name, direction, trial_id, number, state): (String, String, i64, i64, String) =
            trial.try_into().map_err(fail)?;
        let id = if studies > 1 { format!("{name}/{number}") } else { number.to_string() };
        let mut run = RunLog::new(id, LogFormat::Optuna);
        (run.direction, run.ended) = parse_optuna_state(&direction, &state);
        let mut rows = settings.query(params![trial_id]).map_err(fail)?;
        while let Some(row) = rows.next().map_err(fail)? {
            let (name, kind): (String, String) = (row.get(0).map_err(fail)?, row.get(2).map_err(fail)?);
            let value: Option<f64> = row.get(1).map_err(fail)?;
            run.configure(&name, parameter(value.unwrap_or(f64::NAN), &kind));
        }
        let mut rows = values.query(params![trial_id]).map_err(fail)?;
        while let Some(row) = rows.next().map_err(fail)? {
            let kind: Option<String> = row.get(2).map_err(fail)?;
            let value = match (kind.as_deref(), row.get::<_, Option<f64>>(1).map_err(fail)?) {
                (Some("INF_POS"), _) => f64::INFINITY,
                (Some("INF_NEG"), _) => f64::NEG_INFINITY,
                (Some("FINITE") | None, Some(value)) => value,
                _ => f64::NAN,
            };
            let step = row.get::<_, i64>(0).map_err(fail)? as f64;
            run.push("value", LoggedPoint { step, epoch: None, time: None, value }, wanted);
        }
        take(Some(run))?;
    }
    Ok(())
}

/// Optuna's words for the direction of a study and the state of a trial.
fn parse_optuna_state(direction: &str, state: &str) -> (Option<Direction>, RunEnd) {
    let direction = match direction {
        "MINIMIZE" => Some(Direction::Minimize),
        "MAXIMIZE" => Some(Direction::Maximize),
        _ => None,
    };
    let ended = match state {
        "COMPLETE" => RunEnd::Finished,
        "PRUNED" => RunEnd::Pruned,
        "FAIL" => RunEnd::Failed,
        _ => RunEnd::Running,
    };
    (direction, ended)
}

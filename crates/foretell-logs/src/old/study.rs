//! The log of a Foretell study: a trial is a run.

use super::point::LoggedPoint;
use super::series::{RunEnd, RunLog, SeriesFilter};
use super::{LogFormat, json};
use crate::error::Error;
use foretell::Direction;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// Whether this is the first line of a study's log.
pub(crate) fn is_log(line: &str) -> bool {
    line.starts_with("{\"v\":") && line.contains("\"event\":\"created\"")
}

/// The record of a line, if its checksum is right, and when it was written.
fn record(line: &str) -> Option<(Json, Option<f64>)> {
    let (head, rest) = line.split_once("\"crc\":\"")?;
    let (sum, rest) = rest.split_at_checked(8)?;
    let body = rest.strip_prefix("\",")?.strip_suffix('}')?;
    head.strip_prefix("{\"v\":")?;
    // checked here once more, because the crate that writes the log depends on this one
    if u32::from_str_radix(sum, 16).ok()? != crc32fast::hash(body.as_bytes()) {
        return None;
    }
    let whole: Json = serde_json::from_str(line).ok()?;
    let time = whole.get("time").and_then(Json::as_f64).map(|time| time / 1000.0);
    Some((whole.get("record")?.clone(), time))
}

/// The trials of the study in `file`. What stands before a damaged line counts.
pub(crate) fn read(file: &Path, prefix: &str, wanted: &SeriesFilter) -> Result<Vec<RunLog>, Error> {
    let mut study =
        StudyReader { prefix, metric: "value".to_owned(), direction: None, trials: BTreeMap::new() };
    let mut damage = None;
    for (at, line) in
        BufReader::new(std::fs::File::open(file).map_err(Error::io_at(file))?).split(b'\n').enumerate()
    {
        let bytes = line.map_err(Error::io_at(file))?;
        let text = String::from_utf8_lossy(&bytes);
        let Some((record, time)) = record(text.trim_end()) else {
            if !text.trim().is_empty() {
                damage = Some(format!(
                    "{}:{}: the line is damaged, so the rest of the file is ignored",
                    file.display(),
                    at + 1
                ));
                break;
            }
            continue;
        };
        study.add(&record, time, wanted);
    }
    let mut runs: Vec<RunLog> = study.trials.into_values().collect();
    if let Some(last) = runs.last_mut() {
        last.damage = damage;
    }
    Ok(runs)
}

struct StudyReader<'a> {
    prefix: &'a str,
    metric: String,
    direction: Option<Direction>,
    trials: BTreeMap<u64, RunLog>,
}

impl StudyReader<'_> {
    fn add(&mut self, record: &Json, time: Option<f64>, wanted: &SeriesFilter) {
        let event = record.get("event").and_then(Json::as_str);
        if event == Some("created") {
            let study = record.get("study").unwrap_or(&Json::Null);
            self.metric = study.get("metric").and_then(Json::as_str).unwrap_or("value").to_owned();
            self.direction =
                study.get("direction").and_then(|word| serde_json::from_value(word.clone()).ok());
        }
        let Some(number) = record.get("trial").and_then(Json::as_u64) else { return };
        let direction = self.direction;
        let prefix = self.prefix;
        let trial = self.trials.entry(number).or_insert_with(|| {
            let id = if prefix.is_empty() { number.to_string() } else { format!("{prefix}/{number}") };
            RunLog { direction, ended: RunEnd::Running, ..RunLog::new(id, LogFormat::Foretell) }
        });
        match event {
            Some("started") => {
                trial.ended = RunEnd::Running;
                if let Some(Json::Object(values)) = record.get("configuration") {
                    trial.configuration = json::settings(values);
                }
            }
            Some("reported") => {
                let Some(step) = record.get("step").and_then(Json::as_f64) else { return };
                let value = record.get("value").and_then(Json::as_f64).unwrap_or(f64::NAN);
                trial.push(&self.metric, LoggedPoint { step, epoch: Some(step), time, value }, wanted);
                let others = record.get("metrics").and_then(Json::as_object);
                for (name, value) in others.into_iter().flatten().filter(|(name, _)| **name != self.metric) {
                    if let Some(value) = value.as_f64() {
                        trial.push(name, LoggedPoint { step, epoch: Some(step), time, value }, wanted);
                    }
                }
            }
            Some("completed") => trial.ended = RunEnd::Finished,
            Some("failed") => trial.ended = RunEnd::Failed,
            Some("paused") => trial.ended = RunEnd::Pruned,
            Some("decided") => {
                let shadow = record.get("shadow").and_then(Json::as_bool).unwrap_or(false);
                let action = record.get("action").and_then(Json::as_str).unwrap_or_default();
                let stops = action.eq_ignore_ascii_case("stop");
                if stops && !shadow {
                    trial.ended = RunEnd::Pruned;
                }
            }
            _ => {}
        }
    }
}

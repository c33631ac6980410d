//! What is worked out from a study's log: its progress, and which parameters matter.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use foretell_run::{LogReader, Position};
use foretell_search::{Parts, Record, Study, Summary, relevances};
use serde_json::{Value, json};

use crate::problem::Problem;

/// Points of the line of the best score so far, at most.
const POINTS: usize = 1_000;

/// Works something out of the log of the study called so.
type View = fn(&str, &Path) -> Result<Value, Problem>;

/// By study and kind: the length of the log, and what was worked out.
type Known = BTreeMap<(String, &'static str), (u64, Value)>;

/// What was worked out, with the length of the log that it is of: worked out again only once the log has grown.
#[derive(Default)]
pub(crate) struct Views(Mutex<Known>);

impl Views {
    pub(crate) fn of(
        &self,
        kind: &'static str,
        name: &str,
        log: &Path,
        view: View,
    ) -> Result<Value, Problem> {
        let length = std::fs::metadata(log).map_or(0, |data| data.len());
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (name.to_owned(), kind);
        if let Some((_, value)) = known().get(&key).filter(|(of, _)| *of == length) {
            return Ok(value.clone());
        }
        let value = view(name, log)?;
        known().insert(key, (length, value.clone()));
        Ok(value)
    }
}

/// The study in `log`, as it stands.
pub(crate) fn study(name: &str, log: &Path) -> Result<Study, Problem> {
    watched(name, log, &mut |_, _| ())
}

fn watched(name: &str, log: &Path, watch: &mut dyn FnMut(&Study, &Record)) -> Result<Study, Problem> {
    let wrong = |error: &dyn std::fmt::Display| Problem::conflict(format!("{name}: {error}"));
    let reader = || LogReader::<Record>::open(log, Position::START).map_err(|error| wrong(&error));
    let mut spec = None;
    let mut trials = 0;
    for record in reader()? {
        let record = record.map_err(|error| wrong(&error))?;
        trials = trials.max(record.trials_started());
        if let Record::Created { study } = record {
            spec = Some(*study);
        }
    }
    let spec = spec.ok_or_else(|| wrong(&"nothing is recorded yet"))?.covering(trials);
    // records that were appended meanwhile may start more trials: those are for the next look
    let records = reader()?
        .take_while(|record| record.as_ref().is_ok_and(|record| record.trials_started() <= trials.max(1)));
    let records = records.map(|record| record.map_err(|error| error.to_string()));
    Study::restore_watching(spec, Parts::default(), records, watch).map_err(|error| wrong(&error))
}

/// The best score so far against the epochs spent, and the totals.
pub(crate) fn progress(name: &str, log: &Path) -> Result<Value, Problem> {
    let mut line: Vec<(u64, f64)> = Vec::new();
    let study = watched(name, log, &mut |study, record| {
        if record.ends().is_none() {
            return;
        }
        let best = study.best().map(|best| best.score);
        if let Some(best) =
            best.filter(|best| line.last().is_none_or(|(_, before)| before.total_cmp(best).is_ne()))
        {
            line.push((study.progress().spent, best));
        }
    })?;
    let summary = Summary::of(&study);
    let spec = study.spec();
    Ok(json!({
        "schema": "foretell.progress/1", "study": name, "metric": spec.metric, "direction": spec.direction,
        "epochs_per_trial": spec.max_resource, "planned": spec.trials, "done": study.is_done(),
        "best": summary.best, "trials": summary.trials, "epochs": summary.epochs, "speedup": summary.speedup,
        "best_so_far": thinned(line),
    }))
}

/// At most so many points, first and last kept.
fn thinned(line: Vec<(u64, f64)>) -> Vec<(u64, f64)> {
    if line.len() <= POINTS {
        return line;
    }
    (0..POINTS).map(|i| line[i * (line.len() - 1) / (POINTS - 1)]).collect()
}

/// Which parameters matter.
pub(crate) fn importance(name: &str, log: &Path) -> Result<Value, Problem> {
    let found = relevances(&study(name, log)?);
    Ok(json!({
        "schema": "foretell.importance/1", "study": name, "trials": found.trials, "needed": found.needed, "used": found.used,
        "explained": found.explained, "parameters": found.parameters,
    }))
}

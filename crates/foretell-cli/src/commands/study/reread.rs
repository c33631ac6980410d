//! `foretell study reread`: the kept output of all trials is read again with another metric, as a new study.

use crate::catalogue::catalogue;
use crate::failure::{CommandResult, Failure};
use crate::output::{metric_value, print, table};
use foretell::{Direction, direction_of};
use foretell_logs::printed::{MetricSource, Report, ReportReader, metric_name_in};
use foretell_run::{EventStore, StoredStudy, log_path, trial_directory};
use foretell_search::{ManualOrder, Session, StudySpec, TrainingEnd, Trial, TrialState};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The file with the output of a trial, in its folder.
const OUTPUT_FILE: &str = "output.log";
/// The most rows that are shown.
const MAX_ROWS: usize = 20;

/// The metric to read.
pub(super) struct RereadRequest<'a> {
    /// A name, a line template or a pattern.
    pub(super) metric: &'a str,
    /// The line that contains the epoch.
    pub(super) step: Option<&'a str>,
    /// The direction, if it was given.
    pub(super) direction: Option<Direction>,
    /// The folder of the new study.
    pub(super) out: Option<&'a Path>,
}

/// Reads the output of each trial in `stored` again, and keeps the values as a new study. Nothing is trained.
pub(super) fn run(stored: &StoredStudy, wanted: &RereadRequest<'_>) -> CommandResult {
    let source = MetricSource::parse_with(wanted.metric, wanted.step).map_err(Failure::input)?;
    let spec = reread_spec(stored.study.spec(), wanted)?;
    let folder = wanted.out.map_or_else(|| default_folder(&stored.directory), Path::to_path_buf);
    if log_path(&folder).exists() {
        return Err(Failure::input(format!(
            "{}: there is a study already. Choose another folder with --out",
            folder.display()
        )));
    }
    let mut read: Vec<(u64, &Trial, Vec<Report>)> = Vec::new();
    for (number, trial) in (0_u64..).zip(stored.study.trials()) {
        let path = trial_directory(&stored.directory, number).join(OUTPUT_FILE);
        let bytes = std::fs::read(&path).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        // reports of a file or of the hook are copies in the output
        let is_printed = stored.study.spec().workload.contains_key("source");
        let text: Vec<&str> =
            text.lines().filter(|line| !is_printed || !line.starts_with("{\"foretell\"")).collect();
        let reader = ReportReader::new(source.clone(), 0).with_resource(spec.given_resource());
        read.push((number, trial, reader.read_all(&text.join("\n")).reports));
    }
    if read.iter().all(|(.., reports)| reports.is_empty()) {
        return Err(Failure::input(format!(
            "no trial printed {}. `foretell study show {} TRIAL` shows the output",
            wanted.metric,
            stored.directory.display()
        )));
    }
    std::fs::create_dir_all(&folder).map_err(Failure::midway)?;
    let (store, _) = EventStore::open(log_path(&folder)).map_err(Failure::input)?;
    let mut session = Session::open(spec, catalogue().into(), store).map_err(Failure::midway)?;
    for (_, trial, reports) in &read {
        keep_trial(&mut session, trial, reports)?;
    }
    session.store_mut().sync().map_err(Failure::midway)?;
    print_rows(stored, &session, &read, &folder)
}

/// The description of the new study.
fn reread_spec(old: &StudySpec, wanted: &RereadRequest<'_>) -> Result<StudySpec, Failure> {
    let name = metric_name_in(wanted.metric);
    let direction = wanted.direction.or_else(|| direction_of(&name)).ok_or_else(|| {
        Failure::input(format!("is a larger or a smaller {name} better? Add --maximize or --minimize"))
    })?;
    let mut workload = old.workload.clone();
    workload.remove("source");
    workload.insert("metric".to_owned(), wanted.metric.to_owned());
    match wanted.step {
        Some(step) => workload.insert("step".to_owned(), step.to_owned()),
        None => workload.remove("step"),
    };
    Ok(StudySpec { metric: name, direction, workload, ..old.clone() })
}

/// `study-reread`, next to the study.
fn default_folder(study: &Path) -> PathBuf {
    let name = study.file_name().unwrap_or_default().to_string_lossy();
    study.with_file_name(format!("{name}-reread"))
}

/// Keeps the values of a trial, with the end that it had.
fn keep_trial(session: &mut Session<EventStore>, trial: &Trial, reports: &[Report]) -> CommandResult {
    session.enqueue(trial.configuration.clone(), None).map_err(Failure::midway)?.map_err(Failure::midway)?;
    let Some(start) = session.ask().map_err(Failure::midway)? else { return Ok(()) };
    for report in reports {
        session
            .report_late(start.trial, report.step, report.value, BTreeMap::new())
            .map_err(Failure::midway)?;
    }
    if matches!(trial.state, TrialState::Stopped { .. }) {
        session.by_hand(start.trial, ManualOrder::Stop).map_err(Failure::midway)?;
    }
    let ending = match &trial.state {
        _ if reports.is_empty() => {
            TrainingEnd::Failed("its output contains no value of the metric".to_owned())
        }
        TrialState::Failed { .. } => TrainingEnd::Failed("as in the study that was read again".to_owned()),
        _ => TrainingEnd::Finished,
    };
    session.tell(start.trial, ending).map_err(Failure::midway)
}

fn print_rows(
    stored: &StoredStudy,
    session: &Session<EventStore>,
    read: &[(u64, &Trial, Vec<Report>)],
    folder: &Path,
) -> CommandResult {
    let rows = read.iter().take(MAX_ROWS).map(|(number, trial, reports)| {
        let old = trial.curve.last_point().map(|(_, score)| stored.study.spec().direction.to_value(score));
        let new = reports.last().and_then(|report| report.value);
        let [old, new] = [old, new].map(|value| value.map_or("–".to_owned(), metric_value));
        vec![number.to_string(), old, reports.len().to_string(), new]
    });
    let last_old = format!("last {}", stored.study.spec().metric);
    let last_new = format!("last {}", session.study().spec().metric);
    let headings = ["trial", &last_old, "values", &last_new];
    let best = session.best().map_or(String::new(), |best| format!("\nbest: trial {}", best.trial));
    print(&format!(
        "{}{best}\nkept in {}; `foretell study show {}` lists all trials",
        table(&headings, &rows.collect::<Vec<_>>()),
        folder.display(),
        folder.display()
    ))
}

//! `foretell study doctor`: checks a study's log, and keeps what is sound of a damaged one.

use crate::failure::{Failure, Outcome};
use crate::output::{Format, print, print_json};
use crate::stored::{self, Stored};
use foretell_run::{Salvage, Salvaged};
use foretell_search::{Record, Study};
use serde::Serialize;
use std::path::{Path, PathBuf};

const SCHEMA: &str = "foretell.study/1";
/// So many problems are printed one by one.
const PRINTED: usize = 20;

/// The result of checking a log.
#[derive(Serialize)]
struct Diagnosis {
    schema: &'static str,
    study: String,
    sound: bool,
    records: usize,
    trials: usize,
    /// Bytes of a torn last line, which was never acknowledged.
    torn_bytes: u64,
    /// Trials that run or were interrupted: the study's next start continues them.
    open: Vec<u64>,
    done: bool,
    /// What was wrong before the log was repaired.
    #[serde(skip_serializing_if = "Option::is_none")]
    repair: Option<Damage>,
}

/// What is wrong with a log.
#[derive(Serialize)]
struct Damage {
    /// Records that can be kept, or were.
    kept: usize,
    problems: Vec<Problem>,
    /// Where the damaged log is, once it was repaired.
    #[serde(skip_serializing_if = "Option::is_none")]
    damaged: Option<PathBuf>,
}

/// One thing that is wrong.
#[derive(Serialize)]
struct Problem {
    line: usize,
    problem: String,
    /// Whether its record is kept all the same.
    kept: bool,
}

/// A damaged log as JSON.
#[derive(Serialize)]
struct Damaged<'a> {
    schema: &'static str,
    study: String,
    sound: bool,
    #[serde(flatten)]
    damage: &'a Damage,
}

/// Runs the command.
pub(super) fn run(directory: &Path, repair: bool, format: Format) -> Outcome {
    let log = stored::log(directory);
    if !log.is_file() {
        return Stored::read(directory).map(drop); // it says that there is no study
    }
    let salvage = if repair { Salvage::<Record>::locked(&log) } else { Salvage::<Record>::look(&log) };
    let salvage = salvage.map_err(Failure::input)?;
    let (keep, problems) = examine(&salvage).map_err(|why| {
        Failure::input(format!(
            "{}: {why}; nothing of the log can be kept: restore it from a copy",
            log.display()
        ))
    })?;
    let mut damage = Damage { kept: keep.len(), problems, damaged: None };
    if damage.problems.is_empty() {
        return say_sound(directory, None, format);
    }
    if repair {
        damage.damaged = Some(salvage.write(&keep).map_err(Failure::midway)?);
        drop(salvage);
        return say_sound(directory, Some(damage), format);
    }
    let said = format!(
        "the log is damaged: {} problems; {} records are sound, and `foretell study doctor {} --repair` keeps them",
        damage.problems.len(),
        damage.kept,
        directory.display()
    );
    match format {
        Format::Json => {
            let study = directory.display().to_string();
            print_json(&Damaged { schema: SCHEMA, study, sound: false, damage: &damage })?;
        }
        Format::Table => print(&problems_text(&damage.problems))?,
    }
    let first = damage.problems.first().map_or(1, |problem| problem.line);
    Err(Failure::input(format!("{}, line {first}: {said}", log.display())))
}

/// The records that are sound and follow from each other, and all that is wrong. A torn last line is nothing wrong.
fn examine(salvage: &Salvage<Record>) -> Result<(Vec<Salvaged<Record>>, Vec<Problem>), String> {
    let records: Vec<Record> = salvage.records.iter().map(|salvaged| salvaged.record.clone()).collect();
    let verdicts = Study::check_records(&records).map_err(|error| error.to_string())?;
    let last = salvage.unsound.iter().map(|it| it.line).chain(salvage.records.iter().map(|it| it.line)).max();
    let is_torn = |line: usize, kept: bool, is_damage: bool| !kept && is_damage && Some(line) == last;
    let unsound = salvage.unsound.iter().filter(|it| !is_torn(it.line, it.kept, it.problem.may_be_torn()));
    let mut problems: Vec<Problem> =
        unsound.map(|it| Problem { line: it.line, problem: it.problem.to_string(), kept: it.kept }).collect();
    let mut keep = Vec::new();
    for (salvaged, verdict) in salvage.records.iter().zip(verdicts) {
        match verdict {
            None => keep.push(salvaged.clone()),
            Some(why) => {
                problems.push(Problem { line: salvaged.line, problem: why.to_string(), kept: false });
            }
        }
    }
    problems.sort_by_key(|problem| problem.line);
    Ok((keep, problems))
}

fn say_sound(directory: &Path, repair: Option<Damage>, format: Format) -> Outcome {
    let stored = Stored::read(directory)?;
    let trials = stored.study.trials();
    let diagnosis = Diagnosis {
        schema: SCHEMA,
        study: stored.directory.display().to_string(),
        sound: true,
        records: stored.records.len(),
        trials: trials.len(),
        torn_bytes: stored.dropped.as_ref().map_or(0, |dropped| dropped.bytes),
        open: (0..trials.len() as u64).filter(|&trial| trials[trial as usize].is_open()).collect(),
        done: stored.study.is_done(),
        repair,
    };
    match format {
        Format::Json => print_json(&diagnosis),
        Format::Table => print(&text(&diagnosis)),
    }
}

fn text(diagnosis: &Diagnosis) -> String {
    let Diagnosis { study, records, trials, torn_bytes, open, done, .. } = diagnosis;
    let mut lines = Vec::new();
    if let Some(Damage { problems, damaged: Some(damaged), .. }) = &diagnosis.repair {
        lines.push(problems_text(problems));
        lines.push(format!("repaired; the damaged log is kept in {}", damaged.display()));
    }
    lines.push(format!(
        "{study}: the log is sound: {records} records of {trials} trials, all checksums, sequence numbers and transitions are valid"
    ));
    if *torn_bytes > 0 {
        lines.push(format!(
            "its last line is incomplete ({torn_bytes} bytes, never acknowledged); the next start drops it"
        ));
    }
    if !open.is_empty() {
        let numbers: Vec<String> = open.iter().map(u64::to_string).collect();
        lines.push(format!(
            "running or interrupted: trials {}; if the search has ended, the same command continues them",
            numbers.join(", ")
        ));
    }
    let end = if *done { "the study is done" } else { "the study is unfinished" };
    lines.push(end.to_owned());
    lines.join("\n")
}

fn problems_text(problems: &[Problem]) -> String {
    let line = |problem: &Problem| {
        let fate = if problem.kept { "its record is kept, in its place" } else { "left out" };
        format!("line {}: {}: {fate}", problem.line, problem.problem)
    };
    let mut lines: Vec<String> = problems.iter().take(PRINTED).map(line).collect();
    if problems.len() > PRINTED {
        lines.push(format!("and {} more", problems.len() - PRINTED));
    }
    lines.join("\n")
}

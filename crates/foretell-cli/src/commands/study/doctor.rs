//! `foretell study doctor`: checks a study's log, and keeps the sound records of a damaged one.

use crate::catalogue::catalogue;
use crate::failure::{CommandResult, Failure};
use crate::output::{OutputFormat, print, print_json};
use foretell::Configuration;
use foretell_run::{
    EventLogError, LineTreatment, LogRepair, LogSalvage, StoredStudy, log_path, trial_directory,
};
use foretell_search::{LogLosses, MendedRecord, Record, Study};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const STUDY_SCHEMA: &str = "foretell.study/1";
/// The most problems that are printed one by one, and the most computed records.
const MAX_PRINTED_PROBLEMS: usize = 20;
/// How often records are put together again for one of them that does not follow; after that, all of these are left out at once.
const MAX_CAREFUL_PASSES: u32 = 40;

/// The result of checking a log.
#[derive(Serialize)]
struct Diagnosis {
    schema: &'static str,
    study: String,
    sound: bool,
    records: u64,
    trials: usize,
    /// Bytes of a torn last line, which was never acknowledged.
    torn_bytes: u64,
    /// Trials that run or were interrupted: the study's next start continues them.
    open: Vec<u64>,
    /// Trials that went on, and ended before their last epoch without another report.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    in_doubt: Vec<u64>,
    done: bool,
    /// The damage before the log was repaired.
    #[serde(skip_serializing_if = "Option::is_none")]
    repair: Option<LogDamage>,
}

/// The damage of a log.
#[derive(Default, Serialize)]
struct LogDamage {
    /// Records that can be kept, or were.
    kept: usize,
    /// Records that are lost, and can be computed from the others, or were.
    computed: Vec<ComputedRecord>,
    /// Records that are lost for good.
    lost: u64,
    problems: Vec<LogProblem>,
    /// Where the damaged log is, once it was repaired.
    #[serde(skip_serializing_if = "Option::is_none")]
    damaged: Option<PathBuf>,
}

/// One thing that is wrong.
#[derive(Serialize)]
struct LogProblem {
    line: usize,
    problem: String,
    /// Whether its record is kept all the same.
    kept: bool,
    /// What becomes of the line.
    #[serde(skip)]
    fate: &'static str,
}

/// A record that is computed.
#[derive(Serialize)]
struct ComputedRecord {
    /// The line of the damaged log that it is put before.
    line: usize,
    /// `start`, `end` or `decision`.
    what: &'static str,
    trial: u64,
    /// Whether it certainly equals the lost record.
    certain: bool,
    /// Whether it is the start of a trial whose configuration is lost.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    unknown_configuration: bool,
}

/// A damaged log as JSON.
#[derive(Serialize)]
struct DamagedDocument<'a> {
    schema: &'static str,
    study: String,
    sound: bool,
    #[serde(flatten)]
    damage: &'a LogDamage,
}

/// Runs the command.
pub(super) fn run(directory: &Path, repair: bool, format: OutputFormat) -> CommandResult {
    let log = log_path(directory);
    if !log.is_file() || std::fs::metadata(&log).is_ok_and(|about| about.len() == 0) {
        return StoredStudy::read(directory, catalogue()).map(drop).map_err(Failure::input); // the error names the missing study
    }
    if !repair
        && let Ok(stored) = StoredStudy::read(directory, catalogue())
        && stored.dropped.is_none()
    {
        return print_sound(&stored, None, format);
    }
    let salvage = if repair {
        // a repair replaces the log, so no search may write to it meanwhile
        LogSalvage::<Record>::open_locked(&log)
    } else {
        LogSalvage::<Record>::open_unlocked(&log)
    };
    let salvage = salvage.map_err(Failure::input)?;
    let (keep, mut damage) = examine(&salvage, &log, StoredStudy::read(directory, catalogue()).is_ok())?;
    if damage.problems.is_empty() {
        return print_sound(&StoredStudy::read(directory, catalogue())?, None, format);
    }
    if repair {
        damage.damaged = Some(salvage.write_repaired(&keep).map_err(Failure::midway)?);
        // releases the lock before the repaired log is read
        drop(salvage);
        return print_sound(&StoredStudy::read(directory, catalogue())?, Some(damage), format);
    }
    let said = format!(
        "the log is damaged: {} problems. {} records are intact; to keep them, run `foretell study doctor {} --repair`",
        damage.problems.len(),
        damage.kept,
        foretell_run::quote_for_shell(&[directory.display().to_string()])
    );
    match format {
        OutputFormat::Json => {
            let study = directory.display().to_string();
            print_json(&DamagedDocument { schema: STUDY_SCHEMA, study, sound: false, damage: &damage })?;
        }
        OutputFormat::Table => print(&damage_text(&damage))?,
    }
    let first = damage.problems.first().map_or(1, |problem| problem.line);
    Err(Failure::input(format!("{}, line {first}: {said}", log.display())))
}

/// All damage, and the records of a repaired log. `is_read`: whether the log can be read as it is, except for a torn last line.
///
/// A record that does not follow from those before it counts as lost, and the others are put together again without it: it may have
/// changed the next steps of the study's plan.
fn examine(
    salvage: &LogSalvage<Record>,
    log: &Path,
    is_read: bool,
) -> Result<(LogRepair<Record>, LogDamage), Failure> {
    let mut damage = LogDamage { problems: list_unsound_lines(salvage, is_read), ..LogDamage::default() };
    let mut left_out = BTreeSet::new();
    let mut passes = 0..MAX_CAREFUL_PASSES;
    let mended = loop {
        let mended = mend(salvage, log, &left_out)?;
        if mended.refused.is_empty() {
            break mended;
        }
        // the first one may be the reason of all others
        let most = passes.next().map_or(usize::MAX, |_| 1);
        for RefusedRecord { place, line, why } in mended.refused.into_iter().take(most) {
            left_out.insert(place);
            damage.problems.push(LogProblem { line, problem: why, kept: false, fate: "left out" });
        }
    };
    damage.computed = mended.computed;
    damage.kept = mended.kept;
    damage.lost = mended.missing.saturating_sub(damage.computed.len() as u64);
    damage.problems.sort_by_key(|problem| problem.line);
    Ok((LogRepair { inserted: mended.inserted, left_out }, damage))
}

/// The sound records put together.
#[derive(Default)]
struct MendedRecords {
    inserted: BTreeMap<usize, Vec<Record>>,
    refused: Vec<RefusedRecord>,
    computed: Vec<ComputedRecord>,
    kept: usize,
    missing: u64,
}

/// A sound record that does not follow from those before it.
struct RefusedRecord {
    place: usize,
    line: usize,
    why: String,
}

/// Puts the sound records together, without those `left_out`.
fn mend(
    salvage: &LogSalvage<Record>,
    log: &Path,
    left_out: &BTreeSet<usize>,
) -> Result<MendedRecords, Failure> {
    let mut together = MendedRecords::default();
    let mut losses = LogLosses::default();
    let (mut places, mut hole) = (Vec::new(), 0);
    for (place, salvaged) in salvage.records().map_err(Failure::input)?.enumerate() {
        let salvaged = salvaged.map_err(Failure::input)?;
        together.missing += salvaged.missing;
        hole += salvaged.missing;
        if left_out.contains(&place) {
            hole += 1;
            continue;
        }
        losses.see(std::mem::take(&mut hole), &salvaged.record);
        places.push((place, salvaged.line));
    }
    // a second pass over the file instead of a list, so that not all records are in memory at once
    let records = salvage.records().map_err(Failure::input)?.enumerate();
    let records = records.filter(|(place, _)| !left_out.contains(place));
    let records = records.map(|(_, salvaged)| salvaged.map(|salvaged| salvaged.record));
    let mut next = places.iter();
    let mended: Result<Result<(), EventLogError>, _> =
        Study::mend(&losses, records, &|trial| configuration_of(log, trial), &mut |mended: MendedRecord| {
            let Some(&(place, line)) = next.next() else { return };
            together.computed.extend(list_computed_records(line, &mended.inserted, mended.certain));
            if !mended.inserted.is_empty() {
                together.inserted.insert(place, mended.inserted);
            }
            if let Some(why) = mended.refused {
                together.refused.push(RefusedRecord { place, line, why: why.to_string() });
            }
        });
    mended.map_err(|why| refuse_repair(log, &why))?.map_err(Failure::input)?;
    together.kept = places.len();
    Ok(together)
}

fn refuse_repair(log: &Path, why: &foretell_search::StudyError) -> Failure {
    Failure::input(format!(
        "{}: {why}. Neither its first line nor the copy in {}.first is intact, so the log cannot be repaired. Restore it from a backup",
        log.display(),
        log.display()
    ))
}

/// The lines that are not sound. A torn last line is nothing wrong, where the log `is_read` up to it.
fn list_unsound_lines(salvage: &LogSalvage<Record>, is_read: bool) -> Vec<LogProblem> {
    let last = salvage.last_line();
    let copied = salvage.first_record_source().is_some();
    let unsound = salvage.unsound_lines().iter().filter(|unsound| {
        // also one that lacks only its newline: a search that starts removes it
        !(is_read && unsound.line == last && last > 1)
    });
    let mut problems: Vec<LogProblem> = unsound
        .map(|unsound| {
            let fate = match unsound.treatment {
                _ if copied && unsound.line == 1 => "replaced by its copy in events.jsonl.first",
                LineTreatment::Kept => "kept, in its right place",
                LineTreatment::Corrected => "repaired",
                LineTreatment::LeftOut => "left out",
            };
            let kept = fate != "left out";
            LogProblem { line: unsound.line, problem: unsound.problem.to_string(), kept, fate }
        })
        .collect();
    if copied && problems.iter().all(|problem| problem.line > 1) {
        problems.push(LogProblem {
            line: 1,
            problem: "the study's description is missing".to_owned(),
            kept: true,
            fate: "replaced by its copy in events.jsonl.first",
        });
    }
    problems
}

/// The configuration that a trial was started with, from its own folder next to the `log`.
fn configuration_of(log: &Path, trial: u64) -> Option<Configuration> {
    let folder = trial_directory(log.parent()?, trial);
    serde_json::from_slice(&std::fs::read(folder.join("params.json")).ok()?).ok()
}

/// The records that were `inserted` before `line`.
fn list_computed_records(line: usize, inserted: &[Record], certain: bool) -> Vec<ComputedRecord> {
    let mut computed = Vec::new();
    let mut lost = None;
    for record in inserted {
        let (what, trial) = match record {
            Record::Unknown { trial } => {
                lost = Some(*trial);
                continue;
            }
            Record::Started { trial, .. } => ("start", *trial),
            Record::Decided(decision) => ("decision", decision.trial),
            _ => ("end", record.ended_trial().unwrap_or_default()),
        };
        let unknown_configuration = what == "start" && lost == Some(trial);
        let certain = certain && !unknown_configuration;
        computed.push(ComputedRecord { line, what, trial, certain, unknown_configuration });
    }
    computed
}

fn print_sound(stored: &StoredStudy, repair: Option<LogDamage>, format: OutputFormat) -> CommandResult {
    let trials = stored.study.trials();
    let diagnosis = Diagnosis {
        schema: STUDY_SCHEMA,
        study: stored.directory.display().to_string(),
        sound: true,
        records: stored.records,
        trials: trials.len(),
        torn_bytes: stored.dropped.as_ref().map_or(0, |dropped| dropped.bytes),
        open: (0..trials.len() as u64).filter(|&trial| trials[trial as usize].is_open()).collect(),
        in_doubt: (0..trials.len() as u64).filter(|&trial| trials[trial as usize].is_in_doubt()).collect(),
        done: stored.study.is_done(),
        repair,
    };
    match format {
        OutputFormat::Json => print_json(&diagnosis),
        OutputFormat::Table => print(&text(&diagnosis)),
    }
}

fn text(diagnosis: &Diagnosis) -> String {
    let Diagnosis { study, records, trials, torn_bytes, open, done, .. } = diagnosis;
    let mut lines = Vec::new();
    if let Some(damage @ LogDamage { damaged: Some(damaged), .. }) = &diagnosis.repair {
        lines.push(damage_text(damage));
        lines.push(format!("repaired; the damaged log is kept in {}", damaged.display()));
    }
    lines.push(format!(
        "{study}: the log is intact: {records} records of {trials} trials, all checksums, sequence numbers and transitions are valid"
    ));
    if *torn_bytes > 0 {
        lines.push(format!(
            "its last line is incomplete ({torn_bytes} bytes, never acknowledged); the next start removes it"
        ));
    }
    if !open.is_empty() {
        let numbers: Vec<String> = open.iter().map(u64::to_string).collect();
        lines.push(format!(
            "running or interrupted: trials {}; if the search has ended, the same command continues them",
            numbers.join(", ")
        ));
    }
    if !diagnosis.in_doubt.is_empty() {
        let numbers: Vec<String> = diagnosis.in_doubt.iter().map(u64::to_string).collect();
        lines.push(format!(
            "final value uncertain: trials {} continued after an interruption, and ended before their last epoch without another report",
            numbers.join(", ")
        ));
    }
    let end = if *done { "the study is done" } else { "the study is unfinished" };
    lines.push(end.to_owned());
    lines.join("\n")
}

/// The problems, the records computed, and those lost.
fn damage_text(damage: &LogDamage) -> String {
    let mut lines = format_first_lines(&damage.problems, |problem| {
        format!("line {}: {}: {}", problem.line, problem.problem, problem.fate)
    });
    lines.extend(format_first_lines(&damage.computed, |computed| {
        let ComputedRecord { line, what, trial, certain, unknown_configuration } = computed;
        let doubt = match (certain, unknown_configuration) {
            (true, _) => "",
            (_, true) => "; its configuration is lost, so the trial is ignored",
            _ => "; because of other lost records, it may have been another",
        };
        format!("before line {line}: the {what} of trial {trial} is computed from the other records{doubt}")
    }));
    if damage.lost > 0 {
        lines.push(format!(
            "{} records are lost: reports, or decisions to continue, which other records do not show",
            damage.lost
        ));
    }
    lines.join("\n")
}

fn format_first_lines<T>(all: &[T], line: impl Fn(&T) -> String) -> Vec<String> {
    let mut lines: Vec<String> = all.iter().take(MAX_PRINTED_PROBLEMS).map(line).collect();
    if all.len() > MAX_PRINTED_PROBLEMS {
        lines.push(format!("and {} more", all.len() - MAX_PRINTED_PROBLEMS));
    }
    lines
}

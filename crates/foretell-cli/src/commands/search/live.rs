//! The shell around a study: its log, its trial processes, and the loop that feeds it.

use super::flags::Arguments;
use super::workload::Workload;
use crate::failure::{Failure, Outcome};
use crate::output::note;
use crate::stored;
use foretell::{Action, Direction, Run, is_share};
use foretell_logs::direction_of;
use foretell_run::{EventLog, Executor, MessageKind, Opened, Report, Status, TrialSpec, kill_leftover};
use foretell_search::{Input, Record, Study, StudySpec, Summary, Trial, TrialState};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

/// How long a stopped trial may take to end before it is killed.
const GRACE: Duration = Duration::from_secs(5);
/// How often an interruption is looked for.
const TICK: Duration = Duration::from_millis(100);
/// So many trials failing before any has reported mean that the command does not work.
const HOPELESS: usize = 3;

/// A study that runs.
pub(crate) struct Live {
    directory: PathBuf,
    study: Study,
    log: EventLog<Record>,
    executor: Executor,
    workload: Workload,
    workers: usize,
    /// The trials that run, each with its worker's number, from 0.
    active: BTreeMap<u64, usize>,
    /// Starts of trials that were promoted while their stopped processes still end.
    waiting: BTreeMap<u64, Record>,
    /// Trials that are ended because they train on past the last step asked for, each with the step that told it.
    overrun: BTreeMap<u64, u64>,
    interrupted: Arc<AtomicBool>,
    /// Trials that were there when the study was opened.
    found: usize,
    /// Whether it was said that promoted trials are trained again.
    retrained_said: bool,
    /// Whether it was said that a trial prints much, but reports nothing.
    silence_said: bool,
    /// Whether it was said that trials that go on are ended.
    overrun_said: bool,
    /// Whether it was said that the runs handed in seem to be in another unit.
    unit_said: bool,
}

impl Live {
    /// Opens the study of `spec` in `directory`, or begins it there with `handed_in` to learn from.
    pub(super) fn open(
        directory: &Path,
        mut spec: StudySpec,
        arguments: &Arguments,
        workload: &Workload,
        handed_in: &[Run],
    ) -> Result<Self, Failure> {
        let Opened { mut log, mut records, dropped } =
            EventLog::<Record>::open(stored::log(directory)).map_err(Failure::input)?;
        if let Some(dropped) = dropped {
            note(&format!(
                "{}: dropped a torn last line of {} bytes, which was never acknowledged",
                directory.display(),
                dropped.bytes
            ));
        }
        for trial in 0..Study::trials_started(&records) {
            kill_leftover(&trial_directory(directory, trial), GRACE).map_err(Failure::midway)?;
        }
        if !records.is_empty() && !records.iter().any(|record| matches!(record, Record::Reported { .. })) {
            note(&format!("{}: nothing was reported there yet: the study begins anew", directory.display()));
            log.clear().map_err(Failure::midway)?;
            records.clear();
        }
        if let Some(Record::Created { study }) = records.first() {
            arguments.take_over(&mut spec, study);
        }
        let mut study = match records.first() {
            None => {
                log.append(&Record::Created { study: Box::new(spec.clone()) }).map_err(Failure::midway)?;
                Study::new(spec).map_err(Failure::input)?
            }
            Some(Record::Created { study }) if study.continues(&spec) => {
                Study::resume(spec, &records).map_err(|error| in_directory(directory, &error))?
            }
            Some(Record::Created { study }) => return Err(another_study(directory, study, &spec)),
            Some(_) => {
                return Err(in_directory(directory, &"its log does not begin with a study's description"));
            }
        };
        let trials = study.spec().trials.max(study.trials().len() as u64);
        StudySpec { trials, ..study.spec().clone() }
            .check_burn_in(handed_in.len().max(study.handed_in().len()))
            .map_err(|error| in_directory(directory, &error))?;
        // a study that was interrupted while runs were handed in gets the rest of them
        let missing = handed_in.get(study.handed_in().len()..).unwrap_or_default();
        for record in study.hand_in(missing) {
            log.append(&record).map_err(Failure::midway)?;
        }
        Ok(Self {
            found: study.trials().len(),
            directory: directory.to_owned(),
            study,
            log,
            executor: Executor::new(GRACE),
            workload: workload.clone(),
            workers: arguments.workers(),
            retrained_said: false,
            silence_said: false,
            overrun_said: false,
            unit_said: false,
            active: BTreeMap::new(),
            waiting: BTreeMap::new(),
            overrun: BTreeMap::new(),
            interrupted: Arc::default(),
        })
    }

    /// The study as it stands.
    pub(super) fn study(&self) -> &Study {
        &self.study
    }

    /// Where it is kept.
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// How many trials the study had when it was opened.
    pub(super) fn found(&self) -> usize {
        self.found
    }

    /// How many trials run at a time.
    pub(super) fn workers(&self) -> usize {
        self.workers
    }

    /// What runs a trial.
    pub(super) fn workload(&self) -> &Workload {
        &self.workload
    }

    /// Runs the study to its end, or until it is interrupted; `observe` sees every record once it is in the log.
    pub(super) fn run(&mut self, observe: &mut dyn FnMut(&Study, &Record)) -> Outcome {
        let flag = Arc::clone(&self.interrupted);
        ctrlc::set_handler(move || flag.store(true, Ordering::SeqCst)).map_err(Failure::midway)?;
        let ran = self.turn(observe);
        self.stop_all();
        ran?;
        self.log.sync().map_err(Failure::midway)?;
        self.keep_q_table()?;
        if self.study.is_done() {
            return Ok(());
        }
        let all = if self.interrupted.load(Ordering::SeqCst) { "interrupted" } else { "not finished" };
        Err(Failure::midway(format!(
            "{all}; all reported epochs are kept in {}: the same command goes on from there",
            self.directory.display()
        )))
    }

    fn turn(&mut self, observe: &mut dyn FnMut(&Study, &Record)) -> Outcome {
        while !self.interrupted.load(Ordering::SeqCst) {
            while self.active.len() < self.workers && self.feed(&Input::WorkerIdle, observe)? {}
            if self.active.is_empty() {
                return Ok(());
            }
            let message = match self.executor.messages().recv_timeout(TICK) {
                Ok(message) => message,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Failure::midway("the trial processes can no longer be watched"));
                }
            };
            let trial = message.trial;
            match message.kind {
                // it was stopped, and what it prints until it has ended is not the promoted trial's
                MessageKind::Report(_) if self.waiting.contains_key(&trial) => {}
                MessageKind::Report(report) => {
                    self.check_direction(&report)?;
                    self.check_unit(&report)?;
                    self.feed(&reported(trial, &report), observe)?;
                    self.hold_back(trial, report.step);
                }
                MessageKind::Unusable { line, problem } => {
                    note(&format!("trial {trial}: unusable report `{line}`: {problem}"))
                }
                MessageKind::Silent { lines, line } if !std::mem::replace(&mut self.silence_said, true) => {
                    note(&format!(
                        "trial {trial} has printed {lines} lines, `{line}` the last, but no report yet: {}",
                        self.workload.what_is_missed()
                    ));
                }
                MessageKind::Ended { status, tail, .. } => {
                    self.active.remove(&trial);
                    if let Some(start) = self.waiting.remove(&trial) {
                        self.launch(trial, &start)?;
                        continue;
                    }
                    let failure = self.failure_of(trial, status, &tail);
                    self.feed(&Input::Ended { trial, failure }, observe)?;
                    self.tidy();
                    self.check_hope()?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Tells the study, writes what it answers to the log, and carries it out. Whether there was an answer.
    fn feed(&mut self, input: &Input, observe: &mut dyn FnMut(&Study, &Record)) -> Result<bool, Failure> {
        let records = self.study.step(input);
        for record in &records {
            self.log.append(record).map_err(Failure::midway)?;
            self.carry_out(record)?;
            observe(&self.study, record);
        }
        Ok(!records.is_empty())
    }

    /// Ends the process of a trial that trains on past the step after which it was to pause. One that knows
    /// `FORETELL_UNTIL` ends by itself, its checkpoint written.
    fn hold_back(&mut self, trial: u64, step: u64) {
        let beyond = |trial: &&Trial| step > trial.until;
        let Some(until) = self.study.trials().get(trial as usize).filter(beyond).map(|trial| trial.until)
        else {
            return;
        };
        self.executor.stop(trial);
        self.overrun.entry(trial).or_insert(step);
        let whole = until == self.study.spec().max_resource;
        let reported = self.study.trials()[trial as usize].has_reported();
        if whole && reported && !std::mem::replace(&mut self.overrun_said, true) {
            note(&format!(
                "trial {trial} goes on after epoch {until}, the last that --epochs allows: it, and others like it, are ended there; if it reports more often than once an epoch, raise --epochs or let the pattern find the epoch, as in (?P<step>\\d+)"
            ));
        }
    }

    fn carry_out(&mut self, record: &Record) -> Outcome {
        match record {
            // a promoted trial may have been stopped where it stood
            Record::Started { trial, .. } if self.runs(*trial) => {
                if self.active.contains_key(trial) {
                    self.waiting.insert(*trial, record.clone());
                } else {
                    self.launch(*trial, record)?;
                }
            }
            Record::Decided(decision) if decision.action == Action::Stop && !decision.shadow => {
                self.executor.stop(decision.trial);
                self.log.sync().map_err(Failure::midway)?;
            }
            Record::Paused { .. } | Record::Completed { .. } | Record::Failed { .. } => {
                self.log.sync().map_err(Failure::midway)?
            }
            _ => {}
        }
        Ok(())
    }

    /// Starts the process of `start`, on the first worker that is free.
    fn launch(&mut self, trial: u64, start: &Record) -> Outcome {
        let worker = (0..).find(|worker| !self.active.values().any(|busy| busy == worker)).unwrap_or(0);
        let spec = self.trial_spec(start, worker);
        if let Record::Started { from, .. } = start
            && *from > 0
            && spec.resume_from.is_none()
        {
            self.say_retrained(trial, *from);
        }
        self.executor.start(&spec).map_err(Failure::midway)?;
        self.active.insert(trial, worker);
        Ok(())
    }

    fn runs(&self, trial: u64) -> bool {
        self.study.trials().get(trial as usize).is_some_and(|trial| trial.state == TrialState::Running)
    }

    fn say_retrained(&mut self, trial: u64, from: u64) {
        if !std::mem::replace(&mut self.retrained_said, true) {
            note(&format!(
                "trial {trial} goes on from {from}, but wrote no checkpoint into FORETELL_CHECKPOINT_DIR: it, and others like it, are trained again from their beginning"
            ));
        }
    }

    /// What is started by `record` on the worker of that number.
    fn trial_spec(&self, record: &Record, worker: usize) -> TrialSpec {
        let Record::Started { trial, configuration, seed, from, until } = record else {
            unreachable!("only a start is launched")
        };
        let directory = self.trial_directory(*trial);
        let checkpoint_dir = directory.join("checkpoints");
        let has_checkpoint =
            *from > 0 && std::fs::read_dir(&checkpoint_dir).is_ok_and(|mut files| files.next().is_some());
        let parameters: Map<String, serde_json::Value> = configuration
            .iter()
            .map(|(name, value)| (name.clone(), serde_json::to_value(value).unwrap_or_default()))
            .collect();
        TrialSpec {
            trial: *trial,
            command: self.workload.command.clone(),
            parameters,
            seed: u64::from(*seed),
            max_resource: self.study.spec().max_resource,
            until: *until,
            directory,
            resume_from: has_checkpoint.then(|| checkpoint_dir.clone()),
            checkpoint_dir,
            resumed_at: if has_checkpoint { *from } else { 0 },
            working_dir: None,
            environment: self.environment(worker),
            metric: self.workload.metric.clone(),
        }
    }

    fn trial_directory(&self, trial: u64) -> PathBuf {
        trial_directory(&self.directory, trial)
    }

    /// Each worker has its share of the cores, the built-in networks one: what they come to depends on it, and several trials at a
    /// time use the cores better than several threads a trial.
    fn environment(&self, worker: usize) -> BTreeMap<String, String> {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let threads = if self.workload.is_built_in() { 1 } else { (cores / self.workers).max(1) };
        let names = ["OMP_NUM_THREADS", "RAYON_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"];
        let unset = names.into_iter().filter(|name| std::env::var_os(name).is_none());
        let threads = unset.map(|name| (name.to_owned(), threads.to_string()));
        threads.chain([("FORETELL_WORKER".to_owned(), worker.to_string())]).collect()
    }

    fn failure_of(&mut self, trial: u64, status: Status, tail: &[String]) -> Option<String> {
        let silent = !self.study.trials().get(trial as usize).is_some_and(Trial::has_reported);
        let last = self.study.spec().max_resource;
        let until = self.study.trials().get(trial as usize).map_or(last, |trial| trial.until);
        let overrun = self.overrun.remove(&trial);
        let what = match status {
            // one that overran was ended by us, and not because anything went wrong
            _ if !silent && (overrun.is_some() || status == Status::Exited(0)) => return None,
            _ if let Some(step) = overrun => format!(
                "its first report is of step {step}, beyond the last that --epochs {last} allows, and it was ended: raise --epochs to the steps of a whole training, or let it report epochs"
            ),
            Status::Exited(0) => {
                let pause = if until < last {
                    format!(" (it was to pause after epoch {until}, and must have reported until then)")
                } else {
                    String::new()
                };
                format!("ended without a report{pause}: {}", self.workload.what_is_missed())
            }
            Status::Exited(code) => format!("exit code {code}"),
            Status::Signalled(signal) => format!("ended by signal {signal}"),
            Status::Unknown => "ended in an unknown way".to_owned(),
        };
        let said =
            if tail.is_empty() { String::new() } else { format!("; it last said:\n  {}", tail.join("\n  ")) };
        Some(what + &said)
    }

    /// Removes the checkpoints of trials that have ended for good, but for the best.
    fn tidy(&self) {
        let best = Summary::of(&self.study).best.map(|best| best.trial);
        let promotes = !self.study.spec().schedule.is_full() && !self.study.is_done();
        let may_go_on = |state: &TrialState| {
            promotes && matches!(state, TrialState::Paused { .. } | TrialState::Stopped { .. })
        };
        for (index, trial) in self.study.trials().iter().enumerate() {
            let ended = !trial.is_open() && !may_go_on(&trial.state);
            let index = index as u64;
            if ended && !self.active.contains_key(&index) && best != Some(index) {
                // what cannot be removed only takes room
                let _ = std::fs::remove_dir_all(self.trial_directory(index).join("checkpoints"));
            }
        }
    }

    /// A metric that was not named is taken for one that is to be large; its first report may know better.
    fn check_direction(&self, report: &Report) -> Outcome {
        let small = |name: &&String| direction_of(name) == Some(Direction::Minimize);
        if self.workload.unnamed
            && let Some(name) = report.metrics.keys().find(small)
        {
            return Err(Failure::input(format!(
                "the command reports `{name}`, of which smaller is better by its name: say so by --metric {name}, or --maximize if it is not"
            )));
        }
        Ok(())
    }

    /// Shares teach nothing about per cent, nor per cent about shares.
    fn check_unit(&mut self, report: &Report) -> Outcome {
        let spec = self.study.spec();
        let Some(value) = report.value.filter(|_| is_share(&spec.metric)) else { return Ok(()) };
        let scores = self.study.handed_in().iter().flat_map(|run| run.curve.scores());
        let learnt = scores.map(|&score| spec.direction.value(score)).filter(|value| value.is_finite());
        let (low, high) = learnt.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        if value > 1.0 && high <= 1.0 && low <= high {
            return Err(Failure::input(format!(
                "the command reports {} {value}, but the runs of --learn-from lie between {low} and {high}: bring both into one unit, per cent or shares of 1",
                spec.metric
            )));
        }
        if value > 0.0
            && value <= 1.0
            && low > 1.0
            && low <= high
            && !std::mem::replace(&mut self.unit_said, true)
        {
            note(&format!(
                "the command reports {} {value}, but the runs of --learn-from lie between {low} and {high}: if these are per cent and that is a share of 1, forecasts will be wrong",
                self.study.spec().metric
            ));
        }
        Ok(())
    }

    /// Ends the study when the first trials all fail without one report: it is the command that does not work.
    fn check_hope(&self) -> Outcome {
        let trials = self.study.trials();
        let reason = |state: &TrialState| match state {
            TrialState::Failed { reason } => Some(reason.clone()),
            _ => None,
        };
        if trials.iter().any(Trial::has_reported)
            || trials.iter().filter_map(|t| reason(&t.state)).count() < HOPELESS
        {
            return Ok(());
        }
        let last = trials.iter().rev().find_map(|t| reason(&t.state)).unwrap_or_default();
        Err(Failure::midway(format!(
            "the first {HOPELESS} trials failed without reporting anything; mend the command and search again. The last one {last}"
        )))
    }

    /// Writes what Q-learning has learnt beside the log, to be looked at; a study goes on from its log.
    fn keep_q_table(&self) -> Outcome {
        let Some(learner) = self.study.learner() else { return Ok(()) };
        let path = self.directory.join("q_table.json");
        let text = serde_json::to_string_pretty(learner).map_err(Failure::midway)?;
        std::fs::write(&path, text)
            .map_err(|error| Failure::midway(format!("cannot write {}: {error}", path.display())))
    }

    fn stop_all(&mut self) {
        self.waiting.clear();
        for trial in self.active.keys() {
            self.executor.stop(*trial);
        }
        while !self.active.is_empty() {
            match self.executor.messages().recv_timeout(GRACE * 3) {
                Ok(message) if matches!(message.kind, MessageKind::Ended { .. }) => {
                    self.active.remove(&message.trial);
                }
                Ok(_) => {}
                Err(_) => break,
            }
        }
    }
}

/// The folder of a trial of the study in `directory`.
fn trial_directory(directory: &Path, trial: u64) -> PathBuf {
    directory.join("trials").join(format!("{trial:04}"))
}

fn reported(trial: u64, report: &Report) -> Input {
    let number = |(name, value): (&String, &Value)| value.as_f64().map(|v| (name.clone(), v));
    let metrics: BTreeMap<String, f64> = report.metrics.iter().filter_map(number).collect();
    Input::Reported { trial, step: report.step, value: report.value, metrics }
}

fn in_directory(directory: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::input(format!("{}: {error}", directory.display()))
}

/// Names the settings in which the study in `directory` differs from the one that was asked for.
fn another_study(directory: &Path, there: &StudySpec, asked: &StudySpec) -> Failure {
    let fields = |spec: &StudySpec| match serde_json::to_value(spec) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    let (there, asked) = (fields(&there.regardless_of_length()), fields(&asked.regardless_of_length()));
    let names: BTreeSet<&String> = there.keys().chain(asked.keys()).collect();
    let differing = names.into_iter().filter(|&name| there.get(name) != asked.get(name));
    let shown = |value: Option<&Value>| value.map_or("the default".to_owned(), Value::to_string);
    let differing: Vec<String> = differing
        .map(|name| {
            let (there, asked) = (shown(there.get(name)), shown(asked.get(name)));
            format!("{name}{} is {there} there and {asked} here", flag_of(name))
        })
        .collect();
    in_directory(
        directory,
        &format!(
            "holds another study: {}; choose another --out, or give that study's own flags",
            differing.join(", ")
        ),
    )
}

/// The flag that sets a field of a study's description, in brackets, where it is named otherwise.
fn flag_of(field: &str) -> &'static str {
    match field {
        "max_resource" => " (--epochs)",
        "run_score" => " (--score)",
        "stopping" => " (--no-stopping, --shadow, --policy none)",
        "policy" => " (--policy)",
        "rule" => " (--stop-probability, --offset, --nth-best)",
        "budget" => " (--error-budget)",
        "schedule" => " (--scheduler and its settings)",
        "space" => " (--param, or --space, --width, --max-layers)",
        "workload" => " (the command, or --data and its sizes)",
        _ => "",
    }
}

//! A trainer: runs the trainings of one worker, whoever hands them out, with their retries, failures and words.
//!
//! The study is behind a [`Link`]: for a local search the host in this process, for a worker elsewhere its server.

mod further;
pub(crate) mod link;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use foretell_search::{TrainingStart, UNKNOWN_RESOURCE, known_resource};

use crate::fleet::executor::{Executor, ExecutorError, StartPoint};
use crate::host::hosted::{MetricReading, describe_silent_end};
use crate::process::message::{MessageKind, ProcessStatus, TrialMessage, TrialNotice};
use crate::process::trial::fold_count;
use foretell_logs::printed::{FOLD_FIELD, Report, final_value};
use further::FurtherTrainings;
pub(crate) use link::{AskAnswer, GivenTraining, StudyAnswer, StudyLink, TrainingFailure, TrainingMessage};

/// A signal reaches all processes of a job within this time.
const SIGNAL_SPREAD_TIME: Duration = Duration::from_millis(500);
/// The time that the trainer waits to see whether it was asked to end, too.
const SIGNAL_WAIT: Duration = Duration::from_millis(50);

/// A message about a training.
#[derive(Debug)]
pub(crate) enum TrainingEvent {
    /// The study is to hear of it.
    Heard(TrainingMessage),
    /// A message for people who watch.
    Noticed(TrialNotice),
    /// The output has shown which of its series is the metric: the trials after it are read alike.
    Chosen(String),
    /// The training has ended well, and printed this value last.
    PrintedLast(f64),
}

/// A training that runs.
struct RunningTraining {
    given: GivenTraining,
    slot: usize,
    /// The start of its present attempt.
    start: TrainingStart,
    /// The last step that it reported.
    step: Option<u64>,
    /// Whether its present attempt has reported.
    has_reported: bool,
    /// Whether its present attempt found checkpoints, which may be ahead of what was reported.
    is_resumed: bool,
    /// The number of retries after a failure.
    retried: u32,
    /// The number of attempts.
    attempts: u64,
    /// Whether its present attempt begins from the beginning because the one before reported nothing.
    is_anew: bool,
    is_stopped: bool,
    is_handed_back: bool,
    /// The problem with it, if it is ended for that.
    fault: Option<TrainingFailure>,
    further: FurtherTrainings,
}

/// The trainings of one worker.
pub(crate) struct Trainer<E> {
    executor: E,
    running: BTreeMap<u64, RunningTraining>,
    /// The number of retries of a training that failed.
    pub(crate) retries: u32,
    /// The resource of a whole training; unknown where trials show it, and each start has it.
    max_resource: u64,
    /// The output that is expected of a training that reports nothing.
    expected_report: String,
    waiting: Vec<(GivenTraining, TrainingEvent)>,
}

impl<E: Executor> Trainer<E> {
    pub(crate) fn new(executor: E, max_resource: u64, expected: String) -> Self {
        Self {
            executor,
            running: BTreeMap::new(),
            retries: 0,
            max_resource,
            expected_report: expected,
            waiting: Vec::new(),
        }
    }

    /// The numbers of the trials that are trained.
    pub(crate) fn running_trials(&self) -> impl Iterator<Item = u64> {
        self.running.keys().copied()
    }

    pub(crate) fn is_running(&self, trial: u64) -> bool {
        self.running.contains_key(&trial)
    }

    /// The first slot without a training.
    pub(crate) fn free_slot(&self) -> usize {
        (0..).find(|slot| self.running.values().all(|running| running.slot != *slot)).unwrap_or(0)
    }

    /// Starts a training in `slot`.
    ///
    /// # Errors
    /// The executor's.
    pub(crate) fn start_training(&mut self, slot: usize, given: GivenTraining) -> Result<(), ExecutorError> {
        let start = given.start.clone();
        self.start_attempt(RunningTraining {
            given,
            slot,
            start,
            step: None,
            has_reported: false,
            is_resumed: false,
            retried: 0,
            attempts: 0,
            is_anew: false,
            is_stopped: false,
            is_handed_back: false,
            fault: None,
            further: FurtherTrainings::default(),
        })
    }

    fn start_attempt(&mut self, mut running: RunningTraining) -> Result<(), ExecutorError> {
        let trial = running.start.trial;
        if self.take_unread(&mut running)? {
            self.waiting.push((running.given, TrainingEvent::Heard(TrainingMessage::Finished)));
            return Ok(());
        }
        let from = running.start.from;
        let begun = self.executor.start(&running.start, running.slot)?;
        running.attempts += 1;
        running.has_reported = false;
        running.is_resumed = begun == StartPoint::Resumed && !running.is_anew;
        if begun == StartPoint::Anew && from > 0 {
            running.start.from = 0;
            self.waiting.push((running.given.clone(), began_event(0, running.attempts)));
            self.waiting
                .push((running.given.clone(), TrainingEvent::Noticed(TrialNotice::Retrained { from })));
        }
        self.running.insert(trial, running);
        Ok(())
    }

    /// Takes the reports of an earlier training that nobody has read, at their own steps. Answers if they are all that was to be trained.
    fn take_unread(&mut self, running: &mut RunningTraining) -> Result<bool, ExecutorError> {
        let unread = self.executor.unread_reports(&running.start)?;
        let start = &mut running.start;
        let reports = unread.reports.into_iter().filter(|report| report.step <= self.max_resource);
        for report in reports {
            let is_from_zero = match start.reported {
                Some(last) => last < start.from,
                None => report.step == 0,
            };
            // a script that counts from 0 has trained one epoch more than its step says
            start.from = report.step + u64::from(is_from_zero);
            (start.reported, running.step) = (Some(report.step), Some(report.step));
            let heard = TrainingMessage::Report(to_reading(&report, false));
            self.waiting.push((running.given.clone(), TrainingEvent::Heard(heard)));
        }
        let lost = unread.lost.map(|note| TrainingEvent::Noticed(TrialNotice::Noted { note }));
        self.waiting.extend(lost.map(|lost| (running.given.clone(), lost)));
        Ok(running.step.is_some() && running.start.from >= running.start.until && running.attempts == 0)
    }

    /// Stops the training of `trial`: the study wants no more of it.
    pub(crate) fn stop(&mut self, trial: u64) {
        if let Some(running) = self.running.get_mut(&trial)
            && !std::mem::replace(&mut running.is_stopped, true)
        {
            self.executor.stop(trial);
        }
    }

    /// Asks all trainings to end, to be handed back.
    pub(crate) fn hand_back_all(&mut self) {
        for (&trial, running) in &mut self.running {
            running.is_handed_back = true;
            self.executor.stop(trial);
        }
    }

    /// `trial` has ended for good: its checkpoints can be removed.
    pub(crate) fn discard(&mut self, trial: u64) {
        self.executor.discard_checkpoints(trial);
    }

    /// The messages since the last call, each with its training. Waits up to `wait` for the first. `leaves`
    /// shows whether this process is asked to end, where a training that a signal ends is handed back then.
    pub(crate) fn receive_events(
        &mut self,
        wait: Duration,
        leaves: Option<&AtomicBool>,
    ) -> Vec<(GivenTraining, TrainingEvent)> {
        let wait = if self.waiting.is_empty() { wait } else { Duration::ZERO };
        for TrialMessage { trial, kind } in self.executor.take_messages(wait) {
            self.take_message(trial, kind, leaves);
        }
        std::mem::take(&mut self.waiting)
    }

    fn push_event(&mut self, trial: u64, happening: TrainingEvent) {
        if let Some(running) = self.running.get(&trial) {
            self.waiting.push((running.given.clone(), happening));
        }
    }

    fn take_message(&mut self, trial: u64, kind: MessageKind, leaves: Option<&AtomicBool>) {
        match kind {
            MessageKind::Report(report) => self.take_report(trial, &report, false),
            MessageKind::Settled(reports) => {
                reports.iter().for_each(|report| self.take_report(trial, report, true));
            }
            MessageKind::Read(position) => {
                if let Some(running) = self.running.get_mut(&trial) {
                    running.start.read = Some(position);
                }
                // the report of the last epoch may be held back until the end
                let is_held = self.running.get(&trial).is_none_or(|running| running.further.is_holding());
                if !is_held {
                    self.push_event(trial, TrainingEvent::Heard(TrainingMessage::Read(position)));
                }
            }
            MessageKind::Chosen(series) => self.push_event(trial, TrainingEvent::Chosen(series)),
            MessageKind::Noticed(notice) => match notice.command_fault() {
                Some(why) => self.give_up(trial, why),
                None => self.push_event(trial, TrainingEvent::Noticed(notice)),
            },
            MessageKind::Ended { status, tail, seen, fault, .. } => {
                self.finish_attempt(trial, status, (&tail, &seen), fault, leaves);
            }
        }
    }

    fn take_report(&mut self, trial: u64, report: &Report, late: bool) {
        let max_resource = self.max_resource;
        let Some(running) = self.running.get_mut(&trial) else { return };
        if running.fault.is_some() {
            return; // it is ended, and what it reports until then is in doubt
        }
        let mut report = with_fold_as_training(report.clone());
        // where the study knows of folds, the trial is planned for all their epochs
        if fold_count(running.given.start.until, max_resource).is_some() {
            report.step += std::mem::take(&mut report.training) * max_resource;
        }
        if report.training > 0 {
            return running.further.take_report(&report);
        }
        let is_first = !std::mem::replace(&mut running.has_reported, true);
        running.step = running.step.max(Some(report.step));
        if is_first && running.start.from > 0 && report.step <= running.start.from {
            // it did not continue from where it was to
            let begun = (running.given.clone(), began_event(report.step.saturating_sub(1), running.attempts));
            self.waiting.push(begun);
        }
        let reading = to_reading(&report, late);
        // while R is unknown each report may be the last, and none is decided on
        let until = running.start.until;
        let last = known_resource(self.max_resource).unwrap_or(until);
        let is_last = until == UNKNOWN_RESOURCE || (reading.step == last && until == last);
        // folds or further stages may follow, and then the score is theirs, too: the report of the last epoch waits for the end
        let before = if is_last {
            running.further.hold_report(reading.clone())
        } else {
            running.further.release_report()
        };
        let passed = before.into_iter().chain((!is_last).then_some(reading));
        passed.for_each(|reading| {
            self.push_event(trial, TrainingEvent::Heard(TrainingMessage::Report(reading)))
        });
    }

    /// The output expected of a training, and its actual output.
    fn describe_missing_report(&self, seen: &str) -> String {
        let expected = &self.expected_report;
        if seen.is_empty() { expected.clone() } else { format!("{expected}; it printed {seen}") }
    }

    /// Ends a training of a command with which something is wrong.
    fn give_up(&mut self, trial: u64, why: String) {
        if let Some(running) = self.running.get_mut(&trial) {
            running.fault.get_or_insert(TrainingFailure { why, is_of_the_command: true });
            self.executor.stop(trial);
        }
    }

    fn finish_attempt(
        &mut self,
        trial: u64,
        status: ProcessStatus,
        (tail, seen): (&[String], &str),
        fault: Option<String>,
        leaves: Option<&AtomicBool>,
    ) {
        let Some(mut running) = self.running.remove(&trial) else { return };
        let given = running.given.clone();
        let (heard, further) =
            running.further.final_messages(tail, running.attempts, running.step.unwrap_or(0));
        let notice = further.map(|(trainings, score)| TrialNotice::SeveralTrainings { trainings, score });
        let heard = heard.into_iter().map(TrainingEvent::Heard).chain(notice.map(TrainingEvent::Noticed));
        self.waiting.extend(heard.map(|happening| (given.clone(), happening)));
        let is_whole = running.step.is_some_and(|step| step >= running.start.until);
        let is_handed_back = running.is_handed_back || was_ended_by_shared_signal(&running, status, leaves);
        let fault = fault.map(|why| TrainingFailure { why, is_of_the_command: false });
        let failure = fault
            .or_else(|| running.fault.clone())
            .or_else(|| self.find_failure(&running, status, tail, seen));
        if let (Some(failure), true, false) = (&failure, is_whole, running.is_stopped || is_handed_back) {
            // it may crash in its teardown, when its network is complete
            let notice = TrialNotice::FailedAtEnd { why: failure.why.clone() };
            self.waiting.push((given.clone(), TrainingEvent::Noticed(notice)));
        }
        let heard = match failure {
            _ if running.is_stopped || is_whole => TrainingMessage::Finished,
            // before the failures, because the signal that ends the worker ends its training, too
            _ if is_handed_back => TrainingMessage::HandedBack,
            None if (running.start.from > 0 || running.is_resumed) && !running.has_reported => {
                return self.restart_from_beginning(running);
            }
            None if running.is_anew && !running.has_reported => {
                let why = describe_silent_end(running.given.start.from);
                TrainingMessage::Failed(TrainingFailure { why, is_of_the_command: false })
            }
            None => TrainingMessage::Finished,
            // a fault of the command would come again, so that a retry is a waste
            Some(failure) if running.retried < self.retries && !failure.is_of_the_command => {
                return self.retry_after_failure(running, failure);
            }
            Some(failure) => TrainingMessage::Failed(failure),
        };
        if let (TrainingMessage::Finished, false, Some(value)) =
            (&heard, running.is_stopped, final_value(tail))
        {
            self.waiting.push((given.clone(), TrainingEvent::PrintedLast(value)));
        }
        self.waiting.push((given, TrainingEvent::Heard(heard)));
    }

    /// The failure of a training that ended so, if it is one.
    fn find_failure(
        &self,
        running: &RunningTraining,
        status: ProcessStatus,
        tail: &[String],
        seen: &str,
    ) -> Option<TrainingFailure> {
        let is_silent = running.step.is_none() && running.given.start.from == 0;
        let until = running.start.until;
        let last = known_resource(self.max_resource).unwrap_or(until);
        let what = match (status, running.step) {
            (ProcessStatus::Exited(0), None) if is_silent && !running.is_resumed => {
                let pause = if until < last {
                    format!(" (it was to pause after epoch {until}, and must have reported until then)")
                } else {
                    String::new()
                };
                let why = format!("ended without a report{pause}: {}", self.describe_missing_report(seen));
                return Some(TrainingFailure { why, is_of_the_command: true });
            }
            (ProcessStatus::Exited(0), _) => return None,
            (ProcessStatus::Exited(code), _) => format!("exit code {code}"),
            (ProcessStatus::Signaled(signal), _) => format!("ended by signal {signal}"),
            (ProcessStatus::Unknown, _) => "ended in an unknown way".to_owned(),
        };
        let why =
            if tail.is_empty() { what } else { format!("{what}; last output:\n  {}", tail.join("\n  ")) };
        Some(TrainingFailure { why, is_of_the_command: false })
    }

    /// Trains again from the beginning what went on and ended without a report: its checkpoint may be of a later epoch than the last
    /// one that was reported.
    fn restart_from_beginning(&mut self, running: RunningTraining) {
        let (given, from) = (running.given.clone(), running.start.from);
        self.executor.forget_checkpoints(running.start.trial);
        let start = TrainingStart { from: 0, ..running.start.clone() };
        if from > 0 {
            self.waiting.push((given.clone(), began_event(0, running.attempts + 1)));
            self.waiting.push((given.clone(), TrainingEvent::Noticed(TrialNotice::Retrained { from })));
        }
        if self.start_attempt(RunningTraining { start, is_anew: true, ..running }).is_err() {
            let failure = TrainingFailure { why: describe_silent_end(from), is_of_the_command: false };
            self.waiting.push((given, TrainingEvent::Heard(TrainingMessage::Failed(failure))));
        }
    }

    /// Starts a training that failed again, from its last checkpoint.
    fn retry_after_failure(&mut self, running: RunningTraining, failure: TrainingFailure) {
        let given = running.given.clone();
        let retried = running.retried + 1;
        let from = running.step.map_or(running.given.start.from, |step| step.max(running.given.start.from));
        let from = from.min(running.start.until);
        let start = TrainingStart {
            from,
            reported: running.start.reported.max(running.step),
            ..running.start.clone()
        };
        let notice = TrialNotice::Retried { attempt: retried, why: failure.why };
        self.waiting.push((given.clone(), TrainingEvent::Noticed(notice)));
        if let Err(error) = self.start_attempt(RunningTraining { start, retried, fault: None, ..running }) {
            let failure = TrainingFailure { why: error.to_string(), is_of_the_command: false };
            self.waiting.push((given, TrainingEvent::Heard(TrainingMessage::Failed(failure))));
        }
    }
}

fn to_reading(report: &Report, late: bool) -> MetricReading {
    let Report { step, value, metrics, .. } = report.clone();
    MetricReading { step, value, metrics, late, made_under: None }
}

/// The report with the fold that its line names, counted from 1, as the number of its training, which is counted from 0.
fn with_fold_as_training(mut report: Report) -> Report {
    let fold = report.metrics.get(FOLD_FIELD).filter(|fold| fold.fract() == 0.0 && **fold >= 1.0).copied();
    if let Some(fold) = fold {
        report.metrics.remove(FOLD_FIELD);
        report.training = fold as u64 - 1;
    }
    report
}

/// The present attempt continues after so many epochs.
fn began_event(after: u64, attempt: u64) -> TrainingEvent {
    TrainingEvent::Heard(TrainingMessage::Began { after, attempt })
}

/// Whether a signal has ended the training that asks this process to end, too: clusters send it to all processes of a job.
fn was_ended_by_shared_signal(
    running: &RunningTraining,
    status: ProcessStatus,
    leaves: Option<&AtomicBool>,
) -> bool {
    let Some(leaves) = leaves else { return false };
    if running.is_stopped || running.fault.is_some() || !matches!(status, ProcessStatus::Signaled(_)) {
        return false;
    }
    // the training's end may be seen before the signal to this process
    let until = Instant::now() + SIGNAL_SPREAD_TIME;
    while !leaves.load(Ordering::SeqCst) && Instant::now() < until {
        thread::sleep(SIGNAL_WAIT);
    }
    leaves.load(Ordering::SeqCst)
}

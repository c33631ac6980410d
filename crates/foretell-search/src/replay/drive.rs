//! Virtual workers on a virtual clock: a study's jobs, looked up in a table instead of trained.

use super::nearest::TakenRuns;
use super::table::RunTable;
use crate::record::{Decision, Reason, Record, StudyInput};
use crate::study::Study;
use foretell::Action;
use std::collections::BTreeMap;
use std::sync::PoisonError;

/// The course of one trial in a replay.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TrialTrace {
    /// The recorded run behind the trial.
    pub run: usize,
    /// The most resource it has had.
    pub trained: u64,
    /// Whether it was trained to the largest resource.
    pub finished: bool,
    /// Where it was last stopped. With rungs a trial that was stopped may be promoted by its forecast, and stopped again.
    pub stopped_at: Option<u64>,
    /// Whether it was once stopped by what it would have ended above.
    pub stopped_wrongly: bool,
    /// Whether it was exempt from stopping, and would have been stopped.
    pub spared: bool,
}

/// The course of one replay.
#[derive(Clone, Debug, Default)]
pub struct ReplayTrace {
    /// Points trained if every job starts from the beginning.
    pub scratch: u64,
    /// Points trained if jobs continue from where the trial was.
    pub resume: u64,
    /// The virtual time, in points, until everything had ended.
    pub elapsed: u64,
    /// By number.
    pub trials: Vec<TrialTrace>,
    /// (points spent, best final score) at each improvement.
    pub best_so_far: Vec<(u64, f64)>,
    /// Of each Hyperband run: points spent and the best final score.
    pub by_run: Vec<(u64, Option<f64>)>,
}

impl ReplayTrace {
    /// Points spent, with promoted trials trained again from the beginning (`retrain`) or resumed.
    pub fn spent_points(&self, retrain: bool) -> u64 {
        if retrain { self.scratch } else { self.resume }
    }
}

/// A replay under way: a study, and a table in the place of trainings.
pub(super) struct ReplayDriver<'a> {
    pub(super) table: &'a RunTable,
    /// The recorded run behind each trial.
    pub(super) taken: TakenRuns,
    pub(super) workers: usize,
    /// Whether promoted trials are charged as if they were trained again from the beginning.
    pub(super) retrain: bool,
    /// Trials of one Hyperband run; 0 if there are no such.
    pub(super) trials_a_run: u64,
    pub(super) study: Study,
    pub(super) trace: ReplayTrace,
    /// The study's records, if they are kept.
    pub(super) log: Option<Vec<Record>>,
}

impl ReplayDriver<'_> {
    /// Lets the workers work until the study has nothing left. Each tick, every busy worker trains one point further, in turn;
    /// then idle ones ask for work.
    pub(super) fn run(&mut self) {
        let mut workers: Vec<Option<u64>> = vec![None; self.workers.max(1)];
        loop {
            for worker in &mut workers {
                if worker.is_none() {
                    *worker = self.start_next_trial();
                }
            }
            if workers.iter().all(Option::is_none) {
                return;
            }
            self.trace.elapsed += 1;
            for worker in &mut workers {
                *worker = worker.take().filter(|&trial| self.advance_trial(trial));
            }
        }
    }

    fn step(&mut self, input: &StudyInput) -> Vec<Record> {
        let records = self.study.step(input);
        if let Some(log) = &mut self.log {
            log.extend_from_slice(&records);
        }
        records
    }

    /// The next trial that needs training; those that end at once are dealt with.
    fn start_next_trial(&mut self) -> Option<u64> {
        loop {
            let records = self.step(&StudyInput::WorkerIdle);
            let Some(&Record::Started { trial, from, .. }) = records.first() else { return None };
            if trial as usize == self.trace.trials.len() {
                let run = self.taken.lock().unwrap_or_else(PoisonError::into_inner)[trial as usize];
                self.trace.trials.push(TrialTrace { run, ..TrialTrace::default() });
            }
            // from the beginning, the points that the trial has already would be trained again first
            self.trace.scratch += from;
            if self.retrain {
                self.charge_run(trial, from);
            }
            if !self.note_records(trial, &records) {
                return Some(trial);
            }
        }
    }

    /// Trains `trial` one point further; whether it continues.
    fn advance_trial(&mut self, trial: u64) -> bool {
        let known = &mut self.trace.trials[trial as usize];
        known.trained += 1;
        let (run, at) = (known.run, known.trained);
        self.trace.scratch += 1;
        self.trace.resume += 1;
        self.charge_run(trial, 1);
        let value = Some(self.table.value(run, at)).filter(|value| value.is_finite());
        let records = self.step(&StudyInput::Reported { trial, step: at, value, metrics: BTreeMap::new() });
        if self.note_records(trial, &records) {
            return false;
        }
        if at < self.study.trials()[trial as usize].until {
            return true;
        }
        let records = self.step(&StudyInput::Ended { trial, failure: None });
        self.note_records(trial, &records);
        false
    }

    /// Charges the Hyperband run of `trial` with `points`.
    fn charge_run(&mut self, trial: u64, points: u64) {
        if let Some(run) = self.hyperband_run(trial) {
            self.trace.by_run[run].0 += points;
        }
    }

    /// The place in `by_run` of `trial`.
    fn hyperband_run(&mut self, trial: u64) -> Option<usize> {
        let run = trial.checked_div(self.trials_a_run)? as usize;
        if self.trace.by_run.len() <= run {
            self.trace.by_run.resize(run + 1, (0, None));
        }
        Some(run)
    }

    /// Notes what `records` say of `trial`; whether its job has ended.
    fn note_records(&mut self, trial: u64, records: &[Record]) -> bool {
        let mut ended = false;
        for record in records {
            match record {
                Record::Decided(decision) if decision.action == Action::Stop => {
                    self.note_stop(decision);
                    ended = true;
                }
                Record::Decided(decision) if decision.reason == Reason::Exempt => {
                    self.trace.trials[trial as usize].spared = true;
                }
                Record::Completed { .. } => {
                    self.note_finish(trial);
                    ended = true;
                }
                Record::Paused { .. } | Record::Failed { .. } => ended = true,
                _ => {}
            }
        }
        ended
    }

    /// The stop of `decision` is wrong if the run ends above what the decision names as to be beaten, or else the study. One that ends above
    /// all that were trained to the end is wrong, too, as the outcome knows.
    fn note_stop(&mut self, decision: &Decision) {
        let reference = self.study.reference(decision.trial);
        let direction = self.study.spec().direction;
        let until = self.study.trials()[decision.trial as usize].until;
        let trial = &mut self.trace.trials[decision.trial as usize];
        trial.stopped_at = Some(decision.step);
        let criterion = &self.study.spec().criterion;
        let beaten = decision.incumbent.map(|value| direction.to_score(value)).or(reference);
        let beaten = beaten.map(|score| score - criterion.offset);
        let truth = self.table.truth(trial.run, until);
        let wrong = beaten.is_some_and(|beaten| truth > beaten);
        trial.stopped_wrongly |= wrong;
    }

    fn note_finish(&mut self, trial: u64) {
        let known = &mut self.trace.trials[trial as usize];
        known.finished = true;
        let score = self.table.score(known.run, self.study.spec().max_resource);
        if self.trace.best_so_far.last().is_none_or(|(_, best)| score > *best) {
            self.trace.best_so_far.push((self.trace.spent_points(self.retrain), score));
        }
        if let Some(run) = self.hyperband_run(trial) {
            let best = &mut self.trace.by_run[run].1;
            *best = Some(best.map_or(score, |best| best.max(score)));
        }
    }
}

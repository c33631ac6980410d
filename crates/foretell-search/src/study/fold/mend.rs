//! A study from a log that has lost some of its records: the consequences of the others are computed again.

use super::restore::study_error;
use super::step::AppendRecord;
use crate::record::Record;
use crate::samplers::random::trial_seed;
use crate::schedulers::TrainingJob;
use crate::study::{Study, StudyError, StudyParts, StudySpec};
use foretell::Configuration;
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

/// The treatment of one record of a damaged log.
#[derive(Clone, Debug, PartialEq)]
pub struct MendedRecord {
    /// Records that were computed, to be put before it.
    pub inserted: Vec<Record>,
    /// Why it does not follow from those before it, if it does not.
    pub refused: Option<StudyError>,
    /// Whether the records that were computed are certainly those that were lost: nothing else was lost before them, or they are no
    /// decisions.
    pub certain: bool,
}

/// The losses of a damaged log, as far as the remaining records show them.
///
/// The losses are [shown](Self::see) all records in order first, and these are then [put](Study::mend) into a study in the same order.
#[derive(Clone, Debug, Default)]
pub struct LogLosses {
    seen: usize,
    /// The places before which records are missing, and how many.
    holes: BTreeMap<usize, u64>,
    missing: u64,
    /// The holes that follow a record after which a worker is idle.
    idle: BTreeSet<usize>,
    /// Whether a worker is idle after the last record.
    is_idle: bool,
    /// The course of each trial.
    trials: Vec<Vec<TrialStretch>>,
    /// The trials that were started in a hole.
    started: BTreeMap<usize, Vec<u64>>,
    /// Configurations that later records tell.
    known: BTreeMap<u64, Configuration>,
    /// The description of the study, and its total of trials.
    spec: Option<Box<StudySpec>>,
}

/// A trial's records from a start on.
#[derive(Clone, Copy, Debug)]
struct TrialStretch {
    /// Where it is known to have been started: after so many records; of a start that is lost, its hole.
    first: usize,
    /// The number of records up to its last one.
    last: usize,
    /// Whether the last of them ends the trial, for good or for now.
    ended: bool,
}

impl LogLosses {
    /// Takes in the next record, before which `missing` are missing.
    pub fn see(&mut self, missing: u64, record: &Record) {
        let here = self.seen;
        if missing > 0 {
            self.holes.insert(here, missing);
            self.missing += missing;
            if self.is_idle {
                self.idle.insert(here);
            }
        }
        match record {
            Record::Created { study } => {
                self.spec.get_or_insert_with(|| study.clone());
            }
            Record::Changed { settings } => {
                self.spec = self.spec.take().map(|spec| Box::new(spec.with_settings(settings)));
            }
            Record::Resource { max_resource, .. } => {
                self.spec.iter_mut().for_each(|spec| spec.max_resource = *max_resource);
            }
            Record::WarmStart { .. }
            | Record::Enqueued { .. }
            | Record::Chosen { .. }
            | Record::Unknown { .. } => {}
            Record::Started { trial, configuration, .. } => self.see_start(*trial, configuration),
            Record::Repeated { .. } | Record::Late { .. } | Record::Read { .. } | Record::Returned { .. } => {
            }
            Record::Reported { trial, .. } if self.is_late(*trial) => {}
            Record::Reported { trial, .. }
            | Record::Paused { trial }
            | Record::Completed { trial }
            | Record::Failed { trial, .. } => self.see_trial(*trial, record.ended_trial().is_some()),
            Record::Decided(decision) => self.see_trial(decision.trial, record.ended_trial().is_some()),
        }
        self.is_idle = record.ended_trial().is_some()
            || !matches!(
                record,
                Record::Reported { .. }
                    | Record::Repeated { .. }
                    | Record::Late { .. }
                    | Record::Read { .. }
                    | Record::Returned { .. }
                    | Record::Decided(_)
            );
        self.seen += 1;
    }

    fn see_start(&mut self, trial: u64, configuration: &Configuration) {
        self.start_lost_before(trial);
        let here = self.seen + 1;
        let stretch = TrialStretch { first: here, last: here, ended: false };
        let is_next = trial == self.trials.len() as u64;
        match self.trials.get_mut(trial as usize) {
            None if is_next => self.trials.push(vec![stretch]),
            None => {} // more trials are missing than records
            Some(stretches) => {
                stretches.push(stretch);
                self.known.entry(trial).or_insert_with(|| configuration.clone());
            }
        }
    }

    /// A record about `trial` that is no start.
    fn see_trial(&mut self, trial: u64, ended: bool) {
        self.start_lost_before(trial.saturating_add(1));
        let last = self.trials.get(trial as usize).and_then(|stretches| stretches.last());
        if last.is_some_and(|stretch| stretch.ended) {
            self.start_lost(trial);
        }
        let here = self.seen + 1;
        if let Some(stretch) = self.trials.get_mut(trial as usize).and_then(|stretches| stretches.last_mut())
        {
            (stretch.last, stretch.ended) = (here, ended);
        }
    }

    /// Whether a report of `trial` is of a training that was stopped and ran on: no record is missing since, or none that would have
    /// started it again.
    fn is_late(&self, trial: u64) -> bool {
        let last = self.trials.get(trial as usize).and_then(|stretches| stretches.last());
        let promotes = self.spec.as_ref().is_some_and(|spec| !spec.schedule.is_full());
        last.filter(|stretch| stretch.ended)
            .is_some_and(|stretch| !promotes || self.holes.range(stretch.last..).next().is_none())
    }

    /// The starts of all trials before `next` are known or lost, unless more are missing than records.
    fn start_lost_before(&mut self, next: u64) {
        let known = self.trials.len() as u64;
        if next.saturating_sub(known) <= self.missing {
            (known..next).for_each(|trial| self.start_lost(trial));
        }
    }

    /// The start of `trial` is lost: it was in the last hole in which a worker was idle, or else in the last one, since the trial's
    /// last record, or the start of the trial before.
    fn start_lost(&mut self, trial: u64) {
        let own = self.trials.get(trial as usize).and_then(|stretches| stretches.last());
        let since = own.map(|stretch| stretch.last).or_else(|| Some(self.trials.last()?.first()?.first));
        let mut holes = self.holes.range(since.unwrap_or(0)..).map(|(&hole, _)| hole);
        let idle = holes.clone().rfind(|hole| self.idle.contains(hole));
        let hole = idle.or_else(|| holes.next_back());
        let first = hole.unwrap_or(self.seen);
        if let Some(hole) = hole {
            self.started.entry(hole).or_default().push(trial);
        }
        let stretch = TrialStretch { first, last: first, ended: false };
        match self.trials.get_mut(trial as usize) {
            None => self.trials.push(vec![stretch]),
            Some(stretches) => stretches.push(stretch),
        }
    }

    /// Whether `trial` has no record between `hole` and its next start, and no end before.
    fn is_over(&self, trial: u64, hole: usize) -> bool {
        let mut stretches = self.trials.get(trial as usize).into_iter().flatten();
        let there = stretches.rfind(|stretch| stretch.first <= hole);
        there.is_some_and(|stretch| !stretch.ended && stretch.last <= hole)
    }
}

impl Study {
    /// Puts the records of a damaged log into the study that they describe, and what is lost of starts, ends and decisions, as far
    /// as it follows from the others: the study is asked what it did there. Each record is handed back with that.
    ///
    /// Starts and ends are found by the records that are left about their trials. Reports that are lost are lost. The configuration of a
    /// trial whose start is lost is that of its later starts, or the one that is `found` elsewhere; else it stays
    /// [unknown](crate::Trial::is_unknown). It is never drawn again.
    ///
    /// # Errors
    /// [`StudyError`] if the records have no study's description, or it is not valid; or an error of `records`.
    pub fn mend<E>(
        losses: &LogLosses,
        records: impl Iterator<Item = Result<Record, E>>,
        found: &dyn Fn(u64) -> Option<Configuration>,
        each: &mut dyn FnMut(MendedRecord),
    ) -> Result<Result<(), E>, StudyError> {
        let Some(spec) = &losses.spec else { return Err(StudyError::NoHeader) };
        let study =
            Self::of_log(spec.as_ref().clone().covering(losses.trials.len() as u64), StudyParts::default())?;
        let mut mender = StudyMender { study, losses, found, missing: 0, computed: 0 };
        for (place, record) in records.enumerate() {
            match record {
                Ok(record) => each(mender.take(place, &record)),
                Err(error) => return Ok(Err(error)),
            }
        }
        Ok(Ok(()))
    }
}

/// A study while it is put together.
struct StudyMender<'a> {
    study: Study,
    losses: &'a LogLosses,
    /// The configurations of trials that something else than the log tells.
    found: &'a dyn Fn(u64) -> Option<Configuration>,
    /// The number of records missing until here, and the number computed.
    missing: u64,
    computed: u64,
}

impl StudyMender<'_> {
    fn take(&mut self, place: usize, record: &Record) -> MendedRecord {
        let mut inserted = Vec::new();
        if let Some(&missing) = self.losses.holes.get(&place) {
            self.missing += missing;
            self.fill(place, missing, record, &mut inserted);
        }
        self.start_before(record, &mut inserted);
        let certain = self.computed == self.missing
            || !inserted.iter().any(|record| matches!(record, Record::Decided(_)));
        let refused = match record {
            Record::Created { .. } if place > 0 => Some(StudyError::NoHeader),
            _ if place == 0 && !matches!(record, Record::Created { .. }) => Some(StudyError::NoHeader),
            _ => self.study.apply(record).err().map(|misfit| study_error(misfit, place + 1)),
        };
        MendedRecord { inserted, refused, certain }
    }

    /// Computes what was lost in the hole before `next`: ends and decisions of trials that are over, and starts.
    fn fill(&mut self, hole: usize, missing: u64, next: &Record, inserted: &mut Vec<Record>) {
        let open: Vec<u64> = self.study.running.iter().map(|&index| index as u64).collect();
        for trial in open {
            // no more is computed than is missing: the rest would be invented
            if inserted.len() as u64 >= missing {
                return;
            }
            if self.losses.is_over(trial, hole) && !is_start_of(next, trial) {
                self.compute_end(trial, inserted);
            }
        }
        let mut due: BTreeSet<u64> = self.losses.started.get(&hole).into_iter().flatten().copied().collect();
        while !due.is_empty() && (inserted.len() as u64) < missing {
            match self.compute_start(inserted) {
                Some(trial) => drop(due.remove(&trial)),
                None => return,
            }
        }
    }

    /// Computes how `trial` ended, if it did: it was trained as far as it was to be, or its last report stopped it.
    fn compute_end(&mut self, trial: u64, inserted: &mut Vec<Record>) {
        let Some(there) = self.study.trial(trial) else { return };
        let (is_trained, step) = (there.trained_epochs() >= there.until, there.step);
        let Ok(()) = self.emit(inserted, |study, append| match is_trained {
            true => study.close(trial, None, append),
            false => {
                // a decision to continue ends nothing: the end of the trial came with reports that are lost
                let decision = Some(trial).filter(|&trial| study.is_undecided(trial));
                let decision = decision.and_then(|trial| study.judge(trial, step)).map(Record::Decided);
                decision
                    .filter(|record| record.ended_trial().is_some())
                    .map_or(Ok(()), |record| study.emit(record, append))
            }
        });
    }

    /// Computes the starts that come before one that the plan has not there yet, as far as records are missing.
    fn start_before(&mut self, record: &Record, inserted: &mut Vec<Record>) {
        let Record::Started { trial, until, .. } = record else { return };
        let job = TrainingJob { trial: *trial, until: *until };
        while self.computed < self.missing
            && !self.study.trial(job.trial).is_some_and(crate::Trial::is_open)
            && self.study.next_job() != Some(job)
        {
            if self.compute_start(inserted).is_none() {
                return;
            }
        }
    }

    /// Computes the start of the next job, and answers whose it is.
    fn compute_start(&mut self, inserted: &mut Vec<Record>) -> Option<u64> {
        let job = self.study.next_job()?;
        let own = self.study.trial(job.trial).map(|trial| trial.configuration.clone());
        let configuration = own.or_else(|| self.losses.known.get(&job.trial).cloned());
        let configuration = configuration.or_else(|| {
            let found = (self.found)(job.trial);
            found.filter(|found| self.study.spec.space.contains(found))
        });
        if configuration.is_none() {
            let record = Record::Unknown { trial: job.trial };
            let Ok(()) = self.emit(inserted, |study, append| study.emit(record, append));
            self.computed -= 1; // it is not one of those that are missing
        }
        let configuration = configuration.unwrap_or_default();
        let from = self.study.trial(job.trial).map_or(0, crate::Trial::trained_epochs);
        let seed = trial_seed(self.study.spec.seed, job.trial);
        let record = Record::Started { trial: job.trial, configuration, seed, from, until: job.until };
        let Ok(()) = self.emit(inserted, |study, append| study.emit(record, append));
        Some(job.trial)
    }

    /// Lets the study do something, and notes the records.
    fn emit(
        &mut self,
        inserted: &mut Vec<Record>,
        act: impl FnOnce(&mut Study, &mut AppendRecord<'_, Infallible>) -> Result<(), Infallible>,
    ) -> Result<(), Infallible> {
        let before = inserted.len();
        act(&mut self.study, &mut |record| {
            inserted.push(record.clone());
            Ok(())
        })?;
        self.computed += (inserted.len() - before) as u64;
        Ok(())
    }
}

fn is_start_of(record: &Record, started: u64) -> bool {
    matches!(record, Record::Started { trial, .. } if *trial == started)
}

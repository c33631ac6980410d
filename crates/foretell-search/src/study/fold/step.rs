//! From events to the records that follow: each record is stored first and applied then.

use crate::record::{Decision, Record, StudyInput};
use crate::resource::known_resource;
use crate::samplers::random::trial_seed;
use crate::schedulers::{NextAction, TrainingJob};
use crate::study::{JobProposal, Study, StudySettings, Trial};
use foretell::{Configuration, Run, RunScore};
use std::convert::Infallible;

/// Stores a record; a record that it refuses is not applied.
pub(super) type AppendRecord<'a, E> = dyn FnMut(&Record) -> Result<(), E> + 'a;

/// The action that an idle worker caused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerTurn {
    /// Nothing: there is no job now.
    Nothing,
    /// This trial was started, or started again. If it [is undecided](Study::is_undecided), decide before launching it.
    Started(u64),
    /// This interrupted trial must be [decided](Study::decide) on before it can start again. Nothing was recorded.
    Undecided(u64),
    /// This trial needed no more training, and was closed.
    Closed(u64),
}

impl Study {
    /// Takes in what happened, and gives the records that follow, in order. They are applied already; the caller
    /// writes them to the log and then carries them out: it launches started trials that still run after all records,
    /// and ends those that were stopped, or have reached the step they were to be trained to.
    ///
    /// To write each record before it is applied, use [`step_into`](Self::step_into).
    pub fn step(&mut self, input: &StudyInput) -> Vec<Record> {
        collect_records(|append| self.step_into(input, append))
    }

    /// As [`step`](Self::step), but gives each record to `append` first and applies it only once that returns `Ok`.
    ///
    /// # Errors
    /// The error of `append`. The study then is the fold of the records that were appended. The same input may be tried
    /// again: what was recorded is not recorded twice, and what is missing follows.
    pub fn step_into<E>(&mut self, input: &StudyInput, append: &mut AppendRecord<'_, E>) -> Result<(), E> {
        match input {
            StudyInput::WorkerIdle => match self.start_next(|_| false, append)? {
                WorkerTurn::Nothing | WorkerTurn::Closed(_) => Ok(()),
                WorkerTurn::Started(trial) | WorkerTurn::Undecided(trial) => {
                    self.decide(trial, append).map(drop)
                }
            },
            StudyInput::Reported { trial, .. } => {
                self.take_report(input, append)?;
                self.decide(*trial, append).map(drop)
            }
            StudyInput::Ended { trial, failure } => {
                self.retry_start(append)?;
                self.close(*trial, failure.as_deref(), append)
            }
        }
    }

    /// From here on `settings` hold.
    ///
    /// # Errors
    /// The error of `append`; the study is as it was then.
    pub(crate) fn change_settings<E>(
        &mut self,
        settings: StudySettings,
        append: &mut AppendRecord<'_, E>,
    ) -> Result<(), E> {
        let trials = settings.trials;
        self.emit(Record::Changed { settings: Box::new(settings) }, append)?;
        if trials > self.spec.trials && self.spec.schedule.takes_more_trials() {
            self.spec.trials = trials;
            self.scheduler.raise(trials);
        }
        Ok(())
    }

    /// Notes which series of the trials' output is the metric, unless one is known.
    ///
    /// # Errors
    /// The error of `append`.
    pub(crate) fn choose_series<E>(
        &mut self,
        series: &str,
        append: &mut AppendRecord<'_, E>,
    ) -> Result<(), E> {
        match self.series {
            Some(_) => Ok(()),
            None => self.emit(Record::Chosen { series: series.to_owned() }, append),
        }
    }

    /// Gives the study runs of an earlier search to learn from (a warm start), and returns the records. Runs count at
    /// every level that they reached. Only before the first trial: later there is nothing to do, and no record.
    pub fn warm_start(&mut self, runs: &[Run]) -> Vec<Record> {
        collect_records(|append| self.warm_start_into(runs, append))
    }

    /// As [`warm_start`](Self::warm_start), each record appended before it is applied.
    ///
    /// # Errors
    /// The error of `append`; the runs before it are taken in.
    pub fn warm_start_into<E>(&mut self, runs: &[Run], append: &mut AppendRecord<'_, E>) -> Result<(), E> {
        if !self.trials.is_empty() {
            return Ok(());
        }
        let direction = self.spec.direction;
        runs.iter().try_for_each(|run| {
            let values = run.curve.scores().iter().map(|&score| direction.to_value(score));
            let record = Record::WarmStart {
                id: run.id.clone(),
                configuration: run.configuration.clone(),
                points: run.curve.steps().iter().copied().zip(values).collect(),
            };
            self.emit(record, append)
        })
    }

    /// The first half of a worker's turn: starts what is to run next, and leaves the decision on it to
    /// [`decide`](Self::decide). Interrupted trials come first, but for those to `skip`.
    ///
    /// # Errors
    /// The error of `append`.
    pub fn start_next<E>(
        &mut self,
        skip: impl Fn(u64) -> bool,
        append: &mut AppendRecord<'_, E>,
    ) -> Result<WorkerTurn, E> {
        let waiting = self.interrupted.iter().copied().find(|&index| !skip(index as u64));
        match waiting {
            Some(index) => self.take_up(index, append),
            None => self.start_job(append),
        }
    }

    /// The first half of a report: records it, if it counts, and leaves the decision on it to [`decide`](Self::decide). What a
    /// trial reports after its end, or again after it began again, counts as trained, and for nothing else. Returns whether it counts.
    ///
    /// # Errors
    /// The error of `append`.
    pub fn take_report<E>(
        &mut self,
        input: &StudyInput,
        append: &mut AppendRecord<'_, E>,
    ) -> Result<bool, E> {
        let StudyInput::Reported { trial, step, value, metrics } = input else { return Ok(false) };
        self.retry_start(append)?;
        let epochs = self.trial(*trial).map_or(0, |trial| trial.repeated_epochs(*step));
        if epochs > 0 {
            let (trial, step) = (*trial, *step);
            self.emit(Record::Repeated { trial, step, epochs, elsewhere: false }, append)?;
            return Ok(false);
        }
        let whole = self.spec.whole_resource();
        let is_beyond = self.trial(*trial).is_some_and(|trial| trial.is_beyond(*step, whole));
        if !is_beyond && !self.accepts_report(*trial, *step) {
            return Ok(false);
        }
        let (trial, step) = (*trial, *step);
        // what is not finite could be written, but not read back
        let finite = metrics.iter().filter(|(_, metric)| metric.is_finite());
        let metrics = finite.map(|(name, &metric)| (name.clone(), metric)).collect();
        let value = value.filter(|value| value.is_finite());
        self.emit(Record::Reported { trial, step, value, metrics }, append)?;
        Ok(true)
    }

    /// The second half of a report or a start: judges `trial` at its last step, unless that was done. Returns the new decision.
    ///
    /// # Errors
    /// The error of `append`.
    pub fn decide<E>(&mut self, trial: u64, append: &mut AppendRecord<'_, E>) -> Result<Option<Decision>, E> {
        if !self.is_undecided(trial) {
            return Ok(None);
        }
        let decision = self.judge(trial, self.trials[trial as usize].step);
        if let Some(decision) = &decision {
            self.emit(Record::Decided(decision.clone()), append)?;
        }
        Ok(decision)
    }

    /// Stores and applies a record.
    ///
    /// # Errors
    /// The error of `append`.
    pub(crate) fn emit<E>(&mut self, record: Record, append: &mut AppendRecord<'_, E>) -> Result<(), E> {
        // stored first: a record that the store refuses must not have changed the study
        append(&record)?;
        assert!(self.apply(&record).is_ok(), "a study's own records are about its own trials");
        Ok(())
    }

    /// A report counts if its trial runs, it is a new step, and the trial is not already where it was to be trained to:
    /// after a restart a trial repeats steps that were recorded before, and a trial may train too far.
    fn accepts_report(&self, trial: u64, step: u64) -> bool {
        if !self.is_running(trial) {
            return false;
        }
        let trial = &self.trials[trial as usize];
        let is_within = trial.step < trial.until && step <= self.spec.whole_resource();
        match trial.has_reported() {
            true => step > trial.step && (is_within || self.spec.is_open_ended || trial.is_unlimited()),
            // the first report of a trial also counts beyond R: it is in another unit
            false => true,
        }
    }

    /// A start that could not be stored comes before anything else: sampler and scheduler have moved on already, and in
    /// the log their next move must come at the same place.
    pub(super) fn retry_start<E>(&mut self, append: &mut AppendRecord<'_, E>) -> Result<(), E> {
        if matches!(self.pending, Some((_, JobProposal::Of(_)))) {
            self.start_job(append)?;
        }
        Ok(())
    }

    /// Starts the scheduler's next job.
    fn start_job<E>(&mut self, append: &mut AppendRecord<'_, E>) -> Result<WorkerTurn, E> {
        self.try_earlier(append)?;
        let Some((job, configuration)) = self.next_affordable_job() else { return Ok(WorkerTurn::Nothing) };
        let from = self.trial(job.trial).map_or(0, Trial::reached_epochs);
        self.emit(self.start_record(job, configuration, from), append)?;
        if from >= job.until {
            // its reports come in larger steps than the rungs
            self.close(job.trial, None, append)?;
            return Ok(WorkerTurn::Closed(job.trial));
        }
        Ok(WorkerTurn::Started(job.trial))
    }

    /// The scheduler's next job; asked for once and kept until it is started.
    pub(in crate::study) fn next_job(&mut self) -> Option<TrainingJob> {
        if self.pending.is_none() {
            let NextAction::Run(job) = self.scheduler.next() else { return None };
            self.pending = Some((job, JobProposal::Open));
        }
        self.pending.as_ref().map(|(job, _)| *job)
    }

    /// The next job and its configuration, if the budget pays for it.
    fn next_affordable_job(&mut self) -> Option<(TrainingJob, Configuration)> {
        let job = self.next_job().filter(|job| self.may_start(*job))?;
        Some((job, self.propose(job)?))
    }

    /// The configuration of the next `job`; asked for once and kept until it is started.
    pub(super) fn propose(&mut self, job: TrainingJob) -> Option<Configuration> {
        if let Some((_, JobProposal::Open)) = &self.pending {
            let known = self.trials.get(job.trial as usize).map(|trial| trial.configuration.clone());
            let known = known.or_else(|| self.enqueued_for(job.trial)).or_else(|| self.repeated_next());
            if known.is_none() && self.awaits_repeats(job) {
                return None;
            }
            let configuration = known.or_else(|| self.propose_configuration(job.trial));
            let proposal = configuration.map_or(JobProposal::Spent, JobProposal::Of);
            self.pending = Some((job, proposal));
        }
        match &self.pending {
            Some((_, JobProposal::Of(configuration))) => Some(configuration.clone()),
            _ => None,
        }
    }

    /// The configuration that is to be trained with a further seed.
    fn repeated_next(&self) -> Option<Configuration> {
        let trial = (self.spec.repeats() > 1).then(|| self.progress.repeat_due(&self.spec)).flatten()?;
        Some(self.trials[trial].configuration.clone())
    }

    /// Whether the places that are left may be needed for repeats of what runs.
    fn awaits_repeats(&self, job: TrainingJob) -> bool {
        let left = self.spec.trials.saturating_sub(job.trial);
        self.spec.repeats() > 1 && left <= self.progress.repeats().owed_trials(self.spec.repeats())
    }

    /// Whether `job` may start: the budget pays for it, the best still improves, and the target is not reached.
    pub(in crate::study) fn may_start(&self, job: TrainingJob) -> bool {
        self.can_pay(job) && !self.is_without_improvement() && !self.is_at_target()
    }

    /// Whether a completed trial reaches the target, so that no further one is started, and nobody has enqueued one.
    pub fn is_at_target(&self) -> bool {
        let target = self.spec.target.map(|target| self.spec.direction.to_score(target));
        let leader = self.progress.leader().zip(target);
        leader.is_some_and(|((_, score), target)| score >= target) && self.queue.waiting().is_empty()
    }

    /// Whether so many trials in a row have ended without a new best that no further one is started, and nobody has enqueued one.
    pub fn is_without_improvement(&self) -> bool {
        let most = self.spec.until_no_improvement;
        most.is_some_and(|most| self.progress.without_improvement() >= most)
            && self.queue.waiting().is_empty()
    }

    /// Whether the budget pays for `job`, once all that runs is trained as far as it is to be.
    pub(in crate::study) fn can_pay(&self, job: TrainingJob) -> bool {
        let Some(budget) = self.spec.budget_epochs else { return true };
        // what runs is charged to its end, because trials that start together would otherwise overdraw the budget
        let promised = self.running.iter().map(|&index| {
            let trial = &self.trials[index];
            // while R is unknown, a trial costs an epoch at least
            known_resource(trial.until).unwrap_or(1).saturating_sub(trial.reached_now())
        });
        let from = self.trial(job.trial).filter(|_| self.keeps_checkpoints).map_or(0, Trial::trained_epochs);
        self.progress.spent
            + promised.sum::<u64>()
            + known_resource(job.until).map_or(1, |until| until.saturating_sub(from))
            <= budget
    }

    /// Takes up an interrupted trial: makes up for an end or a decision that was no longer recorded, or continues.
    fn take_up<E>(&mut self, index: usize, append: &mut AppendRecord<'_, E>) -> Result<WorkerTurn, E> {
        let (trial, until, from) =
            (index as u64, self.trials[index].until, self.trials[index].trained_epochs());
        if from >= until {
            self.close(trial, None, append)?;
            return Ok(WorkerTurn::Closed(trial));
        }
        if self.is_undecided(trial) {
            return Ok(WorkerTurn::Undecided(trial));
        }
        let configuration = self.trials[index].configuration.clone();
        self.emit(self.start_record(TrainingJob { trial, until }, configuration, from), append)?;
        Ok(WorkerTurn::Started(trial))
    }

    /// The training of `trial`, which was to continue, starts after only `from` epochs: it has no later checkpoint.
    ///
    /// # Errors
    /// The error of `append`.
    pub(crate) fn began_after<E>(
        &mut self,
        trial: u64,
        from: u64,
        append: &mut AppendRecord<'_, E>,
    ) -> Result<(), E> {
        let Some(begun) = self.trial(trial) else { return Ok(()) };
        if !begun.is_open() || from >= begun.trained_epochs() || begun.repeating == Some(from) {
            return Ok(());
        }
        let (until, configuration) = (begun.until, begun.configuration.clone());
        self.emit(self.start_record(TrainingJob { trial, until }, configuration, from), append)
    }

    /// The training of `trial` reports `step` first of all since it was started, though that step is recorded: it has begun after
    /// the recorded step before.
    ///
    /// # Errors
    /// The error of `append`.
    pub(crate) fn repeats_from<E>(
        &mut self,
        trial: u64,
        step: u64,
        append: &mut AppendRecord<'_, E>,
    ) -> Result<(), E> {
        let recorded = self.trial(trial).filter(|trial| trial.has_reported() && step <= trial.step);
        match recorded
            .filter(|trial| trial.repeated_epochs(step) == 0)
            .map(|trial| trial.trained_before(step))
        {
            Some(from) => self.began_after(trial, from, append),
            None => Ok(()),
        }
    }

    /// The training of `trial` continues with another worker, after all that is recorded.
    ///
    /// # Errors
    /// The error of `append`.
    pub(crate) fn record_worker_change<E>(
        &mut self,
        trial: u64,
        append: &mut AppendRecord<'_, E>,
    ) -> Result<(), E> {
        let Some(moved) = self.trial(trial).filter(|moved| moved.is_open() && moved.has_reported()) else {
            return Ok(());
        };
        let (until, configuration, from) = (moved.until, moved.configuration.clone(), moved.trained_epochs());
        self.emit(self.start_record(TrainingJob { trial, until }, configuration, from), append)
    }

    fn start_record(
        &self,
        TrainingJob { trial, until }: TrainingJob,
        configuration: Configuration,
        from: u64,
    ) -> Record {
        Record::Started { trial, configuration, seed: trial_seed(self.spec.seed, trial), from, until }
    }

    pub(super) fn close<E>(
        &mut self,
        trial: u64,
        failure: Option<&str>,
        append: &mut AppendRecord<'_, E>,
    ) -> Result<(), E> {
        match self.end_record(trial, failure) {
            Some(record) => {
                self.emit(record, append)?;
                self.measure_resource(Some(trial), append)
            }
            None => Ok(()),
        }
    }

    fn end_record(&self, trial: u64, failure: Option<&str>) -> Option<Record> {
        let ended = self.trial(trial).filter(|trial| trial.is_open())?;
        let whole = ended.trained_epochs() >= ended.until;
        let counts = self.spec.run_score == RunScore::Best || !ended.is_diverged();
        let finite = counts && !ended.curve.is_empty();
        Some(match failure {
            _ if !finite && ended.has_reported() => {
                Record::Failed { trial, reason: "diverged: its last values are not finite".to_owned() }
            }
            _ if !finite => {
                let why = failure.unwrap_or("it ended without reporting the metric");
                Record::Failed { trial, reason: why.to_owned() }
            }
            // a program may crash in its teardown, when its network is complete; code that says that it failed knows better
            Some(reason) if !whole || self.spec.workload.is_empty() => {
                Record::Failed { trial, reason: reason.to_owned() }
            }
            // where reports come in larger steps than the rungs, none comes at the rung itself: without this case such a trial would
            // count as completed instead of paused
            _ if ended.until < self.spec.whole_resource() && (whole || ended.next_report() > ended.until) => {
                Record::Paused { trial }
            }
            _ => Record::Completed { trial },
        })
    }
}

/// The records that `step` appends, where nothing can fail.
fn collect_records(
    step: impl FnOnce(&mut AppendRecord<'_, Infallible>) -> Result<(), Infallible>,
) -> Vec<Record> {
    let mut records = Vec::new();
    let stepped = step(&mut |record| {
        records.push(record.clone());
        Ok(())
    });
    match stepped {
        Ok(()) => records,
        Err(never) => match never {},
    }
}

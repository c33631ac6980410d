//! The times that trainings took, by a study's log. They never decide anything.

use crate::lengths::CompletedLengths;
use crate::record::Record;
use crate::resource::known_resource;
use crate::study::Study;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// How many of a trial's first reports may be recorded together, because a printed value is certain once the second follows, and three at once
/// are held back. The time between these is no epoch's: a trial stopped right after them would seem to save nothing.
const OPENING_REPORTS: u64 = 3;
/// The most time between two reports that are recorded together.
const OPENING_MILLISECONDS: u64 = 5;

/// The time of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordTime {
    /// The run of the search that wrote it: 1, 2, 3, … Between two runs nothing was trained.
    pub run: u32,
    /// Milliseconds since any fixed time.
    pub time: u64,
}

impl RecordTime {
    /// Milliseconds since `earlier`; 0 where the clock was turned back, or another run began.
    fn since(self, earlier: Self) -> u64 {
        if self.run == earlier.run { self.time.saturating_sub(earlier.time) } else { 0 }
    }
}

/// The durations of a study and its trials, record by record.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StudyTimes {
    last: Option<RecordTime>,
    elapsed: u64,
    trials: BTreeMap<u64, TrialTime>,
    /// Milliseconds from start or report to report, and how many such pauses.
    pauses: (u64, u64),
    totals: TimeTotals,
    /// The trials that run.
    running: BTreeSet<u64>,
}

/// Sums over all trials, kept in step with them: how long a search will take is asked for at each record.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct TimeTotals {
    /// Milliseconds of training.
    spent: u64,
    /// Those of trials that run.
    running: u64,
    /// Those of trials that have ended, and how many they are.
    ended: (u64, u64),
    /// The pace.
    pace: EpochPace,
}

/// Milliseconds and epochs, by which an epoch's time is known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct EpochPace {
    /// From start to the first report, and those recorded with it: with the time that the program takes to start, which stopping doesn't save.
    first: (u64, u64),
    /// From report to report.
    later: (u64, u64),
}

impl EpochPace {
    /// Milliseconds per epoch; with the start only where no report came after the first ones.
    fn per_epoch(self) -> Option<f64> {
        let known = [self.later, self.first].into_iter().find(|(_, epochs)| *epochs > 0);
        known.map(|(time, epochs)| time as f64 / epochs as f64)
    }

    /// `self` with the numbers of `other`, each changed by `change`.
    fn combine_with(self, other: Self, change: fn(u64, u64) -> u64) -> Self {
        let [first, later] = [(self.first, other.first), (self.later, other.later)]
            .map(|(a, b)| (change(a.0, b.0), change(a.1, b.1)));
        Self { first, later }
    }
}

impl TimeTotals {
    fn add(&mut self, time: &TrialTime) {
        let (running, ended) = time.parts();
        self.spent += time.spent;
        self.running += running;
        self.ended = (self.ended.0 + ended.0, self.ended.1 + ended.1);
        self.pace = self.pace.combine_with(time.pace, |a, b| a + b);
    }

    fn remove(&mut self, time: &TrialTime) {
        let (running, ended) = time.parts();
        self.spent -= time.spent;
        self.running -= running;
        self.ended = (self.ended.0 - ended.0, self.ended.1 - ended.1);
        self.pace = self.pace.combine_with(time.pace, |a, b| a - b);
    }
}

/// The time a trial has been trained.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct TrialTime {
    /// When it was first begun.
    began: u64,
    /// Milliseconds of training.
    spent: u64,
    /// Since when it runs.
    since: Option<RecordTime>,
    /// The last step; from there epochs are counted.
    step: u64,
    /// The number of reports since the last start.
    reports: u64,
    pace: EpochPace,
}

/// The durations of a study, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StudyTiming {
    /// While the search ran, pauses between its runs not counted.
    pub elapsed_seconds: f64,
    /// Of all trainings together.
    pub training_seconds: f64,
    /// The further training time of the stopped trials, each at its own pace from the second report on, or from the first one that was not
    /// recorded together with it.
    pub saved_seconds: f64,
    /// Until the search ends, at the pace so far; absent while nothing has ended, and where the schedule is one of rungs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_seconds: Option<f64>,
}

impl StudyTimes {
    /// Takes in the next record, written at `when`; a log of earlier versions does not record it.
    pub fn see(&mut self, record: &Record, when: Option<RecordTime>) {
        let Some(now) = when else { return };
        self.elapsed += self.last.map_or(0, |last| now.since(last));
        self.last = Some(now);
        match record {
            Record::Started { trial, from, .. } => self.change(*trial, |time| {
                time.pass(now);
                (time.since, time.step, time.reports) = (Some(now), *from, 0);
                time.began = if time.began == 0 { now.time } else { time.began };
            }),
            // what is reported after the end takes no time of the trial's
            Record::Reported { trial, step, .. } | Record::Repeated { trial, step, .. }
                if self.is_timed(*trial) =>
            {
                let mut pause = None;
                self.change(*trial, |time| {
                    pause = time.pass(now);
                    if let (Some(passed), Some(epochs)) = (pause, step.checked_sub(time.step)) {
                        let is_opening = time.reports == 0
                            || time.reports < OPENING_REPORTS && passed <= OPENING_MILLISECONDS;
                        let part = if is_opening { &mut time.pace.first } else { &mut time.pace.later };
                        *part = (part.0 + passed, part.1 + epochs);
                    }
                    (time.since, time.step, time.reports) = (Some(now), *step, time.reports + 1);
                });
                if let Some(passed) = pause {
                    self.pauses = (self.pauses.0 + passed, self.pauses.1 + 1);
                }
            }
            _ => {}
        }
        if let Some(trial) = record.ended_trial().filter(|trial| self.trials.contains_key(trial)) {
            self.change(trial, |time| {
                time.pass(now);
                time.since = None;
            });
        }
    }

    /// Changes the time of `trial` and keeps the totals in step. O(log trials).
    fn change(&mut self, trial: u64, change: impl FnOnce(&mut TrialTime)) {
        let time = self.trials.entry(trial).or_default();
        self.totals.remove(time);
        change(time);
        self.totals.add(time);
        match time.since {
            Some(_) => self.running.insert(trial),
            None => self.running.remove(&trial),
        };
    }

    fn is_timed(&self, trial: u64) -> bool {
        self.trials.get(&trial).is_none_or(|time| time.since.is_some())
    }

    /// While the search ran so far, in milliseconds.
    pub fn elapsed_millis(&self) -> u64 {
        self.elapsed
    }

    /// The silence of trainings between two reports so far, or before the first: milliseconds in all, and how often.
    pub fn pauses(&self) -> (u64, u64) {
        self.pauses
    }

    /// When `trial` was first begun, in milliseconds, and how many seconds it was trained for; `None` if no record had a time.
    pub fn of_trial(&self, trial: u64) -> Option<(u64, f64)> {
        let time = self.trials.get(&trial)?;
        Some((time.began, seconds(time.spent as f64)))
    }

    /// The time that `study`, whose records were seen, has taken; `None` if no record had a time.
    pub fn timing(&self, study: &Study) -> Option<StudyTiming> {
        self.last?;
        Some(StudyTiming {
            elapsed_seconds: seconds(self.elapsed as f64),
            training_seconds: seconds(self.totals.spent as f64),
            saved_seconds: seconds(self.saved_millis(study)),
            left_seconds: self.left_seconds(study),
        })
    }

    /// The time that `study` will still take, in seconds: see [`StudyTiming::left_seconds`]. O(1), other than [`timing`](Self::timing).
    pub fn left_seconds(&self, study: &Study) -> Option<f64> {
        self.last?;
        self.remaining_millis(study).map(seconds)
    }

    /// Milliseconds of training that stopping has saved.
    fn saved_millis(&self, study: &Study) -> f64 {
        let lengths = CompletedLengths::of_trials(study.trials());
        let saved = (0..).zip(study.trials()).map(|(number, trial)| {
            let epochs = lengths.cost(trial).saturating_sub(trial.cost()) as f64;
            // one that was stopped at its first report shows how long a start and an epoch take together, the others an epoch alone
            let own = self.trials.get(&number).filter(|time| time.pace.later.1 > 0);
            let own = own.and_then(|time| time.pace.per_epoch());
            epochs * own.or_else(|| self.totals.pace.per_epoch()).unwrap_or(0.0)
        });
        saved.sum()
    }

    /// Milliseconds until the study ends, where each trial takes as long as those that ended have, as many at a time.
    fn remaining_millis(&self, study: &Study) -> Option<f64> {
        let training = self.totals.spent as f64;
        let (spec, trials) = (study.spec(), study.progress().trials);
        if study.is_done() {
            return Some(0.0);
        }
        let at_a_time = (training / self.elapsed as f64).max(1.0);
        if let Some(budget) = spec.budget_epochs {
            let spent = study.progress().spent;
            let left = budget.saturating_sub(spent) as f64;
            return (spent > 0 && self.elapsed > 0).then(|| left * training / spent as f64 / at_a_time);
        }
        let TimeTotals { ended: (sum, count), .. } = self.totals;
        if !spec.schedule.is_full() || count == 0 || self.elapsed == 0 {
            return None;
        }
        let each = sum as f64 / count as f64;
        let running: Vec<f64> =
            self.running.iter().map(|&trial| self.remaining_trial_millis(trial, each, study)).collect();
        let open = running.len() as u64;
        let new = spec.trials.saturating_sub(trials.ended_count()).saturating_sub(open) as f64;
        let longest = running.iter().copied().fold(0.0, f64::max);
        let left = (each * new + running.iter().sum::<f64>()) / at_a_time;
        Some(left.max(longest))
    }

    /// Milliseconds until `trial`, which runs, ends: after as many epochs as those that ended have taken, at its own pace; where it has
    /// taken more already, after its last one.
    fn remaining_trial_millis(&self, trial: u64, each: f64, study: &Study) -> f64 {
        let (Some(time), Some(known)) = (self.trials.get(&trial), study.trial(trial)) else { return each };
        let since = time.since.zip(self.last).map_or(0, |(since, last)| last.since(since)) as f64;
        let spent = time.spent as f64 + since;
        let (Some(own), Some(usual)) = (time.pace.per_epoch(), self.totals.pace.per_epoch()) else {
            return (each - spent).max(0.0);
        };
        let left = own * (each / usual) - spent;
        if left > 0.0 {
            left
        } else {
            let left =
                known_resource(known.until).map_or(0, |until| until.saturating_sub(known.trained_epochs()));
            (own * left as f64 - since).max(0.0)
        }
    }
}

/// Milliseconds as seconds.
fn seconds(milliseconds: f64) -> f64 {
    (milliseconds.round() / 1e3).max(0.0)
}

impl TrialTime {
    /// The trial's milliseconds if it runs; those and 1 if it has ended.
    fn parts(&self) -> (u64, (u64, u64)) {
        match self.since {
            Some(_) => (self.spent, (0, 0)),
            None => (0, (self.spent, u64::from(self.spent > 0))),
        }
    }

    /// Counts the time until `now`, if it runs; answers how long that was, if no other run began meanwhile.
    fn pass(&mut self, now: RecordTime) -> Option<u64> {
        let since = self.since?;
        let passed = now.since(since);
        self.spent += passed;
        self.since = Some(now);
        // between two runs of the search nothing was trained, so the pause says nothing of an epoch's time
        (since.run == now.run).then_some(passed)
    }
}

#[cfg(test)]
mod tests {
    use super::{RecordTime, StudyTimes};
    use crate::{Decision, ParameterSpace, Reason, Record, Space, Study, StudySpec};
    use foretell::{Action, Configuration, Direction, Value};

    fn spec() -> StudySpec {
        let space = Space::Parameters(ParameterSpace::parse(&["lr=log:1e-4:1"]).expect("a space"));
        StudySpec { trials: 4, max_resource: 10, ..StudySpec::new(space, "acc", Direction::Maximize) }
    }

    /// Two trials at a time, an epoch a second: one is trained to its end, one stopped at epoch 4, after an interruption at
    /// epoch 2 that lasted for an hour.
    fn records() -> Vec<(Record, u32, u64)> {
        let study = Box::new(spec());
        let start = |trial, from| Record::Started {
            trial,
            configuration: Configuration::from([("lr".to_owned(), Value::Number(0.1 + trial as f64 / 10.0))]),
            seed: 1,
            from,
            until: 10,
        };
        let report =
            |trial, step| Record::Reported { trial, step, value: Some(0.5), metrics: Default::default() };
        let mut records = vec![(Record::Created { study }, 1, 0), (start(0, 0), 1, 0), (start(1, 0), 1, 0)];
        for epoch in 1..=2 {
            records.extend((0..2).map(|trial| (report(trial, epoch), 1, 1000 * epoch)));
        }
        let hour = 3_600_000;
        records.extend((0..2).map(|trial| (start(trial, 2), 2, hour)));
        for epoch in 3..=10 {
            let now = hour + 1000 * (epoch - 2);
            records.push((report(0, epoch), 2, now));
            if epoch <= 4 {
                records.push((report(1, epoch), 2, now));
            }
            if epoch == 4 {
                records.push((Record::Decided(stop(1)), 2, now));
            }
        }
        records.push((Record::Completed { trial: 0 }, 2, hour + 8000));
        records
    }

    fn stop(trial: u64) -> Decision {
        Decision {
            trial,
            step: 4,
            action: Action::Stop,
            reason: Reason::WillNotWin,
            forecast: None,
            value: Some(0.5),
            incumbent: Some(0.9),
            probability: Some(1.0),
            chance: None,
            shadow: false,
        }
    }

    #[test]
    fn pauses_do_not_count_and_each_trial_saves_at_its_own_pace() {
        let mut times = StudyTimes::default();
        let all = records();
        all.iter()
            .for_each(|(record, run, time)| times.see(record, Some(RecordTime { run: *run, time: *time })));
        let plain: Vec<Record> = all.into_iter().map(|(record, ..)| record).collect();
        let study = Study::resume(spec(), &plain).expect("a study");
        let timing = times.timing(&study).expect("there are times");
        let found = [timing.elapsed_seconds, timing.training_seconds, timing.saved_seconds];
        // 2 + 8 seconds; 10 + 4 epochs trained; 6 epochs left out
        for (found, expected) in found.into_iter().zip([10.0, 14.0, 6.0]) {
            assert!((found - expected).abs() < 1e-9, "{found}, not {expected}");
        }
        // 1 second before each of 4 and 10 reports
        assert_eq!(times.pauses(), (14_000, 14));
        // the totals that are kept are those of the trials
        let mut summed = super::TimeTotals::default();
        times.trials.values().for_each(|time| summed.add(time));
        assert_eq!(times.totals, summed);
        assert_eq!((summed.spent, summed.running, summed.ended), (14_000, 0, (14_000, 2)));
        // two more of 7 seconds, 1.4 at a time
        assert_eq!(timing.left_seconds, Some(10.0));
    }

    #[test]
    fn reports_that_are_recorded_together_at_first_show_no_pace() {
        let mut times = StudyTimes::default();
        let start = |trial| Record::Started {
            trial,
            configuration: Configuration::from([("lr".to_owned(), Value::Number(0.1))]),
            seed: 1,
            from: 0,
            until: 10,
        };
        let report =
            |trial, step| Record::Reported { trial, step, value: Some(0.5), metrics: Default::default() };
        // two seconds to start, an epoch in 150 ms; the first two reports are recorded with the second
        let report_time = |step: u64| 2000 + 150 * step.max(2);
        let mut records = vec![(Record::Created { study: Box::new(spec()) }, 0)];
        for (trial, epochs) in [(0, 10), (1, 2)] {
            let began = 10_000 * trial;
            records.push((start(trial), began));
            records.extend((1..=epochs).map(|step| (report(trial, step), began + report_time(step))));
        }
        records.push((Record::Decided(Decision { step: 2, ..stop(1) }), 10_000 + report_time(2)));
        for (record, time) in &records {
            times.see(record, Some(RecordTime { run: 1, time: *time }));
        }
        let plain: Vec<Record> = records.into_iter().map(|(record, _)| record).collect();
        let study = Study::resume(spec(), &plain).expect("a study");
        let saved = times.timing(&study).expect("there are times").saved_seconds;
        assert!((saved - 8.0 * 0.15).abs() < 1e-9, "{saved}");
    }

    #[test]
    fn a_running_trial_that_is_slower_than_the_finished_ones_takes_its_own_time() {
        let mut times = StudyTimes::default();
        let mut records = records();
        // the next one takes 20 seconds an epoch, and has trained 3 of 10
        let configuration = Configuration::from([("lr".to_owned(), Value::Number(0.5))]);
        let now = 3_608_000;
        records.push((Record::Started { trial: 2, configuration, seed: 1, from: 0, until: 10 }, 2, now));
        for step in 1..=3 {
            let report = Record::Reported { trial: 2, step, value: Some(0.5), metrics: Default::default() };
            records.push((report, 2, now + 20_000 * step));
        }
        records
            .iter()
            .for_each(|(record, run, time)| times.see(record, Some(RecordTime { run: *run, time: *time })));
        let plain: Vec<Record> = records.into_iter().map(|(record, ..)| record).collect();
        let study = Study::resume(spec(), &plain).expect("a study");
        let left = times.left_seconds(&study).expect("there are times");
        assert!((80.0..=150.0).contains(&left), "{left}: seven epochs of 20 s, and another trial");
    }

    #[test]
    fn a_log_without_times_has_none_and_a_clock_that_is_turned_back_counts_nothing() {
        let all = records();
        let plain: Vec<Record> = all.iter().map(|(record, ..)| record.clone()).collect();
        let study = Study::resume(spec(), &plain).expect("a study");
        let mut none = StudyTimes::default();
        all.iter().for_each(|(record, ..)| none.see(record, None));
        assert_eq!(none.timing(&study), None);
        let mut back = StudyTimes::default();
        all.iter().for_each(|(record, _, time)| {
            back.see(record, Some(RecordTime { run: 1, time: 9_000_000 - time }))
        });
        assert_eq!(back.elapsed_millis(), 0);
    }
}

//! A study that this server owns: its session, and who runs which trial.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use foretell_run::EventStore;
use foretell_search::{
    Decision, Ending, Order, Record, Session, Start, StoreError, Study, Trial, TrialState,
};
use serde::Serialize;

use crate::problem::Problem;

/// A study that this server owns.
pub(crate) struct Owned {
    session: Session<EventStore>,
    leases: BTreeMap<u64, Lease>,
    /// How long a trial may be silent before it is given out again.
    patience: Duration,
    /// Tells the leases of this server from those of the one before.
    stamp: String,
    given: u64,
}

/// Who runs a trial.
struct Lease {
    start: Start,
    /// What its worker names itself by; unknown after the server was started anew.
    key: Option<String>,
    worker: Option<String>,
    heard: Instant,
}

/// A training to do.
#[derive(Debug, Serialize)]
pub(crate) struct Task {
    trial: u64,
    configuration: foretell::Configuration,
    seed: u32,
    /// The step that it has reached already.
    from: u64,
    /// The step to train to.
    until: u64,
    lease: String,
}

/// What a training does next.
#[derive(Debug, Serialize)]
pub(crate) struct Next {
    pub(crate) trial: u64,
    pub(crate) stop: bool,
    /// Whether the study took the report in: not if it was there already, and not if the trial has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) recorded: Option<bool>,
    pub(crate) decision: Option<Decision>,
}

/// One report.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) step: u64,
    pub(crate) value: Option<f64>,
    pub(crate) metrics: BTreeMap<String, f64>,
}

/// A report that is there already, or cannot follow.
enum Known {
    New,
    Same,
    Refused(Problem),
}

impl Owned {
    /// Takes over the study of `session`. Its trials that ran when it was left are taken to run still: whoever reports on one of
    /// them first has it.
    pub(crate) fn new(session: Session<EventStore>, patience: Duration) -> Result<Self, StoreError> {
        let since = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        let stamp = format!("{:x}", since.as_nanos());
        let mut owned = Self { session, leases: BTreeMap::new(), patience, stamp, given: 0 };
        let open = |(number, trial): (usize, &Trial)| trial.is_open().then_some(number as u64);
        let open: Vec<u64> = owned.session.study().trials().iter().enumerate().filter_map(open).collect();
        for trial in open {
            if let Some(start) = owned.session.take_up(trial)? {
                let lease = Lease { start, key: None, worker: None, heard: Instant::now() };
                owned.leases.insert(trial, lease);
            }
        }
        Ok(owned)
    }

    pub(crate) fn session(&self) -> &Session<EventStore> {
        &self.session
    }

    /// The next training to do: the one that `worker` has already, one whose worker is silent, or a new one.
    pub(crate) fn ask(&mut self, worker: Option<String>) -> Result<Option<Task>, Problem> {
        let own = worker.as_ref().and_then(|worker| {
            self.leases
                .iter()
                .find(|(_, lease)| lease.worker.as_ref() == Some(worker))
                .map(|(trial, _)| *trial)
        });
        if let Some(trial) = own {
            return Ok(self.task(trial));
        }
        let silent = |(trial, lease): (&u64, &Lease)| {
            (lease.heard.elapsed() >= self.patience && self.is_running(*trial)).then_some(*trial)
        };
        let start = match self.leases.iter().find_map(silent) {
            Some(trial) => self.leases.remove(&trial).map(|lease| lease.start),
            None => self.session.ask().map_err(|error| Problem::midway(&error))?,
        };
        let Some(start) = start else { return Ok(None) };
        let (trial, key) = (start.trial, format!("{}-{}", self.stamp, self.given));
        self.given += 1;
        self.leases.insert(trial, Lease { start, key: Some(key), worker, heard: Instant::now() });
        Ok(self.task(trial))
    }

    /// The training of `trial` as it stands.
    fn task(&mut self, trial: u64) -> Option<Task> {
        let known = self.session.study().trial(trial)?;
        let (from, until) = (known.trained(), known.until);
        let lease = self.leases.get_mut(&trial)?;
        lease.heard = Instant::now();
        let Start { configuration, seed, .. } = lease.start.clone();
        Some(Task { trial, configuration, seed, from, until, lease: lease.key.clone().unwrap_or_default() })
    }

    /// A training reports.
    pub(crate) fn report(&mut self, trial: u64, report: Report, key: Option<&str>) -> Result<Next, Problem> {
        self.check_lease(trial, key)?;
        match self.known(trial, &report) {
            Known::New => {}
            Known::Same => return Ok(Next { recorded: Some(false), ..self.next(trial)? }),
            Known::Refused(problem) => return Err(problem),
        }
        if !self.session.running().any(|running| running == trial) {
            return Err(Problem::conflict(format!("trial {trial} has ended: {}", self.state(trial)?)));
        }
        let Report { step, value, metrics } = report;
        let answer = self.session.report(trial, step, value.unwrap_or(f64::NAN), metrics);
        let answer = answer.map_err(|error| Problem::midway(&error))?;
        let is_it = |record: &Record| matches!(record, Record::Reported { trial: of, step: at, .. } if (*of, *at) == (trial, step));
        let recorded = Some(self.session.news().iter().any(is_it));
        // one that was stopped before is told why again
        let stop = answer.stops();
        let before = || self.trial(trial).ok().filter(|_| stop).and_then(|trial| trial.decision.clone());
        Ok(Next { trial, stop, recorded, decision: answer.decision.or_else(before) })
    }

    /// What the study knows of a report.
    fn known(&self, trial: u64, report: &Report) -> Known {
        let study = self.session.study();
        let Some(known) = study.trial(trial).filter(|known| known.has_reported()) else { return Known::New };
        let (curve, step) = (&known.curve, report.step);
        let there = curve.steps().iter().position(|at| at.total_cmp(&(step as f64)).is_eq());
        let value = there.map(|place| study.spec().direction.value(curve.scores()[place]));
        match (value, report.value) {
            (Some(value), Some(given)) if value.total_cmp(&given).is_eq() => Known::Same,
            (None, None) if step <= known.step && curve.diverged_at().is_some() => Known::Same,
            (Some(value), _) => {
                let text = format!(
                    "trial {trial} has reported {value} at step {step} already; a report is never changed"
                );
                Known::Refused(Problem::conflict(text).at("value"))
            }
            (None, _) if step <= known.step => {
                let text =
                    format!("trial {trial} has reported step {} already; steps only increase", known.step);
                Known::Refused(Problem::conflict(text).at("step"))
            }
            _ => Known::New,
        }
    }

    /// A training has ended. Told twice, it changes nothing.
    pub(crate) fn tell(
        &mut self,
        trial: u64,
        failure: Option<String>,
        key: Option<&str>,
    ) -> Result<String, Problem> {
        self.check_lease(trial, key)?;
        if self.session.running().any(|running| running == trial) {
            let ending = failure.map_or(Ending::Finished, Ending::Failed);
            self.session.tell(trial, ending).map_err(|error| Problem::midway(&error))?;
            self.leases.remove(&trial);
            return self.state(trial);
        }
        let known = self.trial(trial)?;
        let agrees = match &known.state {
            TrialState::Completed { .. } | TrialState::Paused { .. } => failure.is_none(),
            _ => true,
        };
        let state = self.state(trial)?;
        if agrees {
            Ok(state)
        } else {
            Err(Problem::conflict(format!("trial {trial} has ended: {state}")).at("failure"))
        }
    }

    /// Whether the training of `trial` is to stop now, and the last decision about it.
    pub(crate) fn should_stop(&mut self, trial: u64, key: Option<&str>) -> Result<Next, Problem> {
        self.check_lease(trial, key)?;
        self.next(trial)
    }

    /// Carries out what a person orders.
    pub(crate) fn by_hand(&mut self, trial: u64, order: Order) -> Result<Next, Problem> {
        by_hand(&mut self.session, trial, order)
    }

    fn next(&self, trial: u64) -> Result<Next, Problem> {
        let decision = self.trial(trial)?.decision.clone();
        let stop = !self.is_running(trial) || self.session.overran(trial).is_some();
        Ok(Next { trial, stop, recorded: None, decision })
    }

    fn is_running(&self, trial: u64) -> bool {
        self.session.study().is_running(trial)
    }

    fn trial(&self, trial: u64) -> Result<&Trial, Problem> {
        self.session.study().trial(trial).ok_or_else(|| Problem::no_trial(trial))
    }

    fn state(&self, trial: u64) -> Result<String, Problem> {
        Ok(state(self.trial(trial)?).to_owned())
    }

    /// Refuses a worker whose trial was given to another one meanwhile.
    fn check_lease(&mut self, trial: u64, key: Option<&str>) -> Result<(), Problem> {
        self.trial(trial)?;
        let Some(lease) = self.leases.get_mut(&trial) else { return Ok(()) };
        match (&lease.key, key) {
            (Some(there), Some(given)) if there != given => {
                let text =
                    format!("trial {trial} was silent for too long and runs elsewhere now; ask for another");
                return Err(Problem::conflict(text).at("lease"));
            }
            (None, Some(given)) => lease.key = Some(given.to_owned()),
            _ => {}
        }
        lease.heard = Instant::now();
        Ok(())
    }
}

/// Carries out in `session` what a person orders about `trial`.
pub(crate) fn by_hand(session: &mut Session<EventStore>, trial: u64, order: Order) -> Result<Next, Problem> {
    check_open(session.study(), trial)?;
    let answer = session.by_hand(trial, order).map_err(|error| Problem::midway(&error))?;
    let stop = answer.as_ref().is_none_or(foretell_search::Answer::stops);
    let decision = answer.and_then(|answer| answer.decision);
    Ok(Next { trial, stop, recorded: Some(decision.is_some()), decision })
}

/// Refuses what is ordered about a trial that does not run.
pub(crate) fn check_open(study: &Study, trial: u64) -> Result<(), Problem> {
    match study.trial(trial) {
        None => Err(Problem::no_trial(trial)),
        Some(known) if known.is_open() => Ok(()),
        Some(known) => {
            Err(Problem::conflict(format!("trial {trial} does not run: {}", state(known))).at("trial"))
        }
    }
}

/// Where a trial stands, in a word.
fn state(trial: &Trial) -> &'static str {
    match &trial.state {
        TrialState::Running => "running",
        TrialState::Interrupted => "interrupted",
        TrialState::Paused { .. } => "paused",
        TrialState::Completed { .. } => "completed",
        TrialState::Stopped { .. } => "stopped",
        TrialState::Failed { .. } => "failed",
        _ => "ended",
    }
}

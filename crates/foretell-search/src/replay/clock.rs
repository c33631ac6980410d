//! Virtual workers on a virtual clock: a scheduler's jobs, looked up in a table instead of trained.

use super::models::ModelBank;
use super::table::Table;
use crate::f_hyperband::LevelData;
use crate::random::is_exempt;
use crate::scheduler::{End, Job, Next, Scheduler};
use crate::stopper::{Evidence, Look, Stopper, Watch};
use foretell::{FitError, Forecast};
use std::collections::BTreeMap;

/// What happens in one replay, besides the scheduler.
pub(super) struct Scene<'a> {
    pub(super) table: &'a Table,
    /// The recorded run behind each trial.
    pub(super) runs: &'a [usize],
    pub(super) workers: usize,
    pub(super) stopper: Stopper,
    /// δ, in the metric's unit.
    pub(super) offset: f64,
    /// Points before the first look, and between looks.
    pub(super) first_look: u64,
    pub(super) look_every: u64,
    /// Whether a promoted trial is trained anew, from its first point.
    pub(super) retrain: bool,
    /// The share of trials that is never stopped.
    pub(super) exempt: f64,
    pub(super) seed: u64,
    /// Trials of one Hyperband run; 0 if there are no such.
    pub(super) trials_a_run: u64,
}

/// What became of one trial.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TrialTrace {
    /// Its recorded run.
    pub run: usize,
    /// The most resource it has had.
    pub trained: u64,
    /// Whether it was trained to the largest resource.
    pub finished: bool,
    /// Where it was last stopped.
    pub stopped_at: Option<u64>,
    /// Whether it was exempt from stopping, and would have been stopped.
    pub spared: bool,
}

/// What happened in one replay.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// Points trained if every job starts anew.
    pub scratch: u64,
    /// Points trained if jobs go on from where the trial was.
    pub resume: u64,
    /// The virtual time, in points, until everything had ended.
    pub elapsed: u64,
    /// Jobs that were stopped.
    pub stops: u64,
    /// Of those, the jobs that would have ended above the reference they were stopped for.
    pub wrong_stops: u64,
    /// By number.
    pub trials: Vec<TrialTrace>,
    /// (points spent, best final score) at each improvement.
    pub best_so_far: Vec<(u64, f64)>,
    /// Of each Hyperband run: points spent and the best final score.
    pub by_run: Vec<(u64, Option<f64>)>,
}

impl Trace {
    /// Points spent, in the way of the scene.
    pub fn spent(&self, retrain: bool) -> u64 {
        if retrain { self.scratch } else { self.resume }
    }
}

struct Running {
    job: Job,
    at: u64,
    watch: Watch,
}

/// A replay under way.
pub(super) struct Clock<'a, 'b> {
    scene: &'a Scene<'a>,
    scheduler: &'a mut dyn Scheduler,
    data: LevelData,
    bank: Option<&'a mut ModelBank<'b>>,
    /// For each level, how many trials its models were learnt from, and where they are.
    places: BTreeMap<u64, (usize, usize)>,
    peers: Peers,
    max_resource: u64,
    trace: Trace,
}

impl<'a, 'b> Clock<'a, 'b> {
    pub(super) fn new(
        scene: &'a Scene<'a>,
        scheduler: &'a mut dyn Scheduler,
        data: LevelData,
        bank: Option<&'a mut ModelBank<'b>>,
        max_resource: u64,
    ) -> Self {
        let (places, peers) = (BTreeMap::new(), Peers::default());
        Self { scene, scheduler, data, bank, places, peers, max_resource, trace: Trace::default() }
    }

    /// Lets the workers work until the scheduler has nothing left.
    pub(super) fn run(mut self) -> Result<Trace, FitError> {
        let mut workers: Vec<Option<Running>> = (0..self.scene.workers.max(1)).map(|_| None).collect();
        loop {
            for worker in &mut workers {
                if worker.is_none() {
                    *worker = self.start()?;
                }
            }
            if workers.iter().all(Option::is_none) {
                return Ok(self.trace);
            }
            self.trace.elapsed += 1;
            for worker in &mut workers {
                if let Some(mut running) = worker.take() {
                    *worker = if self.advance(&mut running)? { Some(running) } else { None };
                }
            }
        }
    }

    /// The next job that needs training; those that end at once are dealt with.
    fn start(&mut self) -> Result<Option<Running>, FitError> {
        while let Next::Run(job) = self.scheduler.next() {
            let known = self.trace.trials.len();
            let new = (known..=job.trial as usize)
                .map(|trial| TrialTrace { run: self.scene.runs[trial], ..TrialTrace::default() });
            self.trace.trials.extend(new);
            let saved = self.trace.trials[job.trial as usize].trained.min(job.until);
            let at = if self.scene.retrain { 0 } else { saved };
            self.trace.scratch += at;
            let mut running = Running { job, at, watch: Watch::default() };
            if at == job.until {
                self.reached(&running);
            } else if at == 0 || !self.look(&mut running)? {
                return Ok(Some(running));
            }
        }
        Ok(None)
    }

    /// Trains one point further; whether the job goes on.
    fn advance(&mut self, running: &mut Running) -> Result<bool, FitError> {
        running.at += 1;
        self.pay(running);
        if running.at == running.job.until {
            self.reached(running);
            return Ok(false);
        }
        Ok(!self.look(running)?)
    }

    fn pay(&mut self, running: &Running) {
        let trial = &mut self.trace.trials[running.job.trial as usize];
        let new = u64::from(running.at > trial.trained);
        trial.trained = trial.trained.max(running.at);
        self.trace.scratch += 1;
        self.trace.resume += new;
        let paid = if self.scene.retrain { 1 } else { new };
        if let Some(run) = self.hyperband_run(running.job.trial) {
            self.trace.by_run[run].0 += paid;
        }
    }

    /// The place in `by_run` of `trial`.
    fn hyperband_run(&mut self, trial: u64) -> Option<usize> {
        let run = trial.checked_div(self.scene.trials_a_run)? as usize;
        if self.trace.by_run.len() <= run {
            self.trace.by_run.resize(run + 1, (0, None));
        }
        Some(run)
    }

    /// The job was trained to its level.
    fn reached(&mut self, running: &Running) {
        let Job { trial, until } = running.job;
        let run = self.scene.runs[trial as usize];
        let score = self.scene.table.score(run, until);
        self.data.push(until, run);
        if until == self.max_resource {
            self.trace.trials[trial as usize].finished = true;
            self.note_final(trial, score);
        }
        if matches!(self.scene.stopper, Stopper::Median) {
            self.peers.add(until, self.scene.table.scores(run));
        }
        self.scheduler.ended(trial, End { score, stopped: false });
    }

    fn note_final(&mut self, trial: u64, score: f64) {
        if self.trace.best_so_far.last().is_none_or(|(_, best)| score > *best) {
            self.trace.best_so_far.push((self.trace.spent(self.scene.retrain), score));
        }
        if let Some(run) = self.hyperband_run(trial) {
            let best = &mut self.trace.by_run[run].1;
            *best = Some(best.map_or(score, |b| b.max(score)));
        }
    }

    /// Whether the job is stopped at its current point.
    fn look(&mut self, running: &mut Running) -> Result<bool, FitError> {
        let Job { trial, until } = running.job;
        let scene = self.scene;
        let due = running.at >= scene.first_look
            && (running.at - scene.first_look).is_multiple_of(scene.look_every);
        if !due || matches!(scene.stopper, Stopper::None) || self.data.learnt(until).is_none() {
            return Ok(false);
        }
        let run = scene.runs[trial as usize];
        let reference = self.scheduler.reference(trial).map(|score| scene.table.lowered(score, scene.offset));
        let place = self.models(until);
        let mut evidence = Recorded {
            table: scene.table,
            bank: self.bank.as_deref_mut(),
            place,
            peers: &self.peers,
            run,
            tau: running.at as usize,
            level: until,
        };
        let scores = &scene.table.scores(run)[..running.at as usize];
        let number_at = |at: u64| (at - scene.first_look) as usize / scene.look_every as usize + 1;
        let (number, looks) = (number_at(running.at), number_at(until - 1));
        let mut look = Look { scores, number, looks, reference, evidence: &mut evidence };
        let Some(score) = scene.stopper.judge(&mut running.watch, &mut look)? else { return Ok(false) };
        if is_exempt(scene.seed, trial, scene.exempt) {
            self.trace.trials[trial as usize].spared = true;
            return Ok(false);
        }
        self.trace.trials[trial as usize].stopped_at = Some(running.at);
        self.trace.stops += 1;
        let truth = scene.table.score(run, until);
        self.trace.wrong_stops += u64::from(reference.is_some_and(|reference| truth > reference));
        self.scheduler.ended(trial, End { score, stopped: true });
        Ok(true)
    }

    /// Where the models of `level` are, if a predictor is used.
    fn models(&mut self, level: u64) -> Option<usize> {
        let learnt = self.data.learnt(level)?;
        let bank = self.bank.as_mut()?;
        let place = self.places.entry(level).or_insert((0, 0));
        if place.0 != learnt.len() {
            *place = (learnt.len(), bank.place(level, learnt));
        }
        Some(place.1)
    }
}

/// Running means of those trained to each level, for the median rule.
#[derive(Default)]
struct Peers {
    /// By level, then by point: running means, sorted.
    levels: BTreeMap<u64, Vec<Vec<f64>>>,
}

impl Peers {
    fn add(&mut self, level: u64, scores: &[f64]) {
        let points = self.levels.entry(level).or_insert_with(|| vec![Vec::new(); level as usize]);
        let mut sum = 0.0;
        for (i, (sorted, score)) in points.iter_mut().zip(scores).enumerate() {
            sum += score;
            let mean = sum / (i + 1) as f64;
            let place = sorted.partition_point(|m| m.total_cmp(&mean).is_lt());
            sorted.insert(place, mean);
        }
    }

    fn median(&self, level: u64, tau: usize) -> Option<f64> {
        let sorted = self.levels.get(&level)?.get(tau - 1).filter(|sorted| !sorted.is_empty())?;
        Some(foretell::statistics::quantile_of_sorted(sorted, 0.5))
    }
}

/// What a recorded run can tell.
struct Recorded<'a, 'b> {
    table: &'a Table,
    bank: Option<&'a mut ModelBank<'b>>,
    place: Option<usize>,
    peers: &'a Peers,
    run: usize,
    tau: usize,
    level: u64,
}

impl Evidence for Recorded<'_, '_> {
    fn forecast(&mut self) -> Result<Option<Forecast>, FitError> {
        let Some((bank, place)) = self.bank.as_deref_mut().zip(self.place) else { return Ok(None) };
        bank.forecast(place, self.run, self.tau).map(Some)
    }

    fn median_of_peers(&mut self) -> Option<f64> {
        self.peers.median(self.level, self.tau)
    }

    fn truth(&self) -> Option<f64> {
        Some(self.table.score(self.run, self.level))
    }
}

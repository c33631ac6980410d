//! A judge for other tools: finished and running trainings that somebody else starts, stopped as a study stops its own.

#[cfg(feature = "schema")]
mod settings;

use crate::catalogue::Catalogue;
use crate::length_watch::{LengthMismatch, LengthWatch};
use crate::parameter::{Parameter, ParameterKind};
use crate::parameter_space::ParameterSpace;
use crate::record::{Decision, StudyInput};
use crate::returned::{ReturnRelation, ReturnedTrial};
use crate::samplers::Sampler;
use crate::samplers::worth::Worth;
use crate::space::Space;
use crate::stopping::ForecastRule;
use crate::stopping::policy::StopPolicy;
use crate::study::{Study, StudyError, StudyParts, StudySpec, WorkerTurn};
use foretell::{Configuration, Curve, Direction, Run};
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

/// More trials than any tool runs.
const UNLIMITED_TRIALS: u64 = u32::MAX as u64;

/// Steps that are parts of an epoch are counted in these parts.
const PARTS_PER_EPOCH: f64 = 1e6;

/// Decides whether to stop running trainings, based on completed ones. It is for tools with their own trials: Optuna, Ray, a training loop.
///
/// A judge is a [`Study`] with full training whose trials come from outside. So it decides by the study's code and has the study's
/// defaults, those of [`StudySpec::new`]. A whole training takes as many steps as the longest one that has finished; one that ended
/// before, for example by its own early stopping, counts with its last value.
///
/// ```
/// use foretell::{Curve, Direction, Run};
/// use foretell_search::Judge;
///
/// let mut judge = Judge::new(Judge::default_spec("accuracy", Direction::Maximize))?;
/// let curve = |end: f64, epochs: i32| {
///     let values: Vec<f64> = (1..=epochs).map(|epoch| end * (1.0 - 0.6_f64.powi(epoch))).collect();
///     Curve::from_epoch_values(&values, Direction::Maximize)
/// };
/// for (i, end) in [0.3, 0.5, 0.7, 0.9].into_iter().enumerate() {
///     judge.finish(Run { id: i.to_string(), configuration: Default::default(), curve: curve(end, 10) });
/// }
/// let reports: Vec<(f64, f64)> = (1..5).map(|epoch| (f64::from(epoch), 0.4 * (1.0 - 0.6_f64.powi(epoch)))).collect();
/// let decision = judge.decide("4", &Default::default(), &reports);
/// assert!(decision.is_some_and(|decision| decision.action == foretell::Action::Stop));
/// # Ok::<(), foretell_search::StudyError>(())
/// ```
pub struct Judge {
    spec: StudySpec,
    /// Trainings that have ended by themselves, in that order.
    finished: Vec<Run>,
    /// Their ids.
    ended: BTreeSet<String>,
    /// The step at which the first of them begins.
    first: f64,
    /// The step after which a whole training ends.
    last: f64,
    /// The number of the study's steps per step of a curve.
    parts: f64,
    study: Study,
    /// The configuration of the trial that starts next.
    next: Arc<Mutex<Configuration>>,
    /// The trainings that run, by their ids.
    running: BTreeMap<String, RunningTraining>,
    /// The values that completed trainings returned, and their relation to the reports.
    returned: Vec<ReturnedTrial>,
    relation: ReturnRelation,
    /// Compares the length of a whole training with the reports.
    lengths: LengthWatch,
    mismatch: Option<LengthMismatch>,
}

/// A running training.
#[derive(Clone, Copy)]
struct RunningTraining {
    trial: u64,
    /// The number of its points that the study has received.
    points: usize,
    /// The last of them.
    last: (f64, f64),
}

/// Whether `policy` compares trials at levels, whose places depend on the length of a complete trial.
fn awaits_length(policy: &StopPolicy) -> bool {
    policy.learns_from_curves()
}

impl Judge {
    /// The usual settings for trainings that report `metric`: those of a study with full training. Change the fields as you need; trials,
    /// epochs and sampler are the judge's.
    pub fn default_spec(metric: &str, direction: Direction) -> StudySpec {
        StudySpec::new(space(&BTreeSet::new()), metric, direction)
    }

    /// A judge that has seen nothing yet.
    ///
    /// # Errors
    /// [`StudyError`] if a setting is out of range.
    pub fn new(spec: StudySpec) -> Result<Self, StudyError> {
        // how long a whole training is, and where its rungs are, is known from the first that has finished
        let spec = spec.made(&Catalogue::default())?;
        let policy = match awaits_length(&spec.policy) {
            true => ForecastRule.into(),
            false => spec.policy.clone(),
        };
        let spec = StudySpec { trials: UNLIMITED_TRIALS, policy, ..spec };
        spec.validate()?;
        let next = Arc::default();
        let study = study(&spec, &next)?;
        Ok(Self {
            spec,
            finished: Vec::new(),
            ended: BTreeSet::new(),
            first: f64::INFINITY,
            last: 0.0,
            parts: 1.0,
            study,
            next,
            running: BTreeMap::new(),
            returned: Vec::new(),
            relation: ReturnRelation::Nothing,
            lengths: LengthWatch::default(),
            mismatch: None,
        })
    }

    /// The number of completed trainings.
    pub fn completed_count(&self) -> usize {
        self.finished.len()
    }

    /// The trainings that have finished, in that order: given to another judge of the same settings, they make it decide alike.
    pub fn finished_runs(&self) -> &[Run] {
        &self.finished
    }

    /// The number of trainings that must have completed before any is stopped.
    pub fn burn_in(&self) -> u64 {
        self.spec.burn_in
    }

    /// Old runs to learn from. Those that half of them outlast were stopped, or still run, and teach nothing.
    pub fn learn_from(&mut self, runs: Vec<Run>) {
        let mut ends: Vec<f64> = runs.iter().filter_map(|run| trained_steps(&run.curve)).collect();
        ends.sort_by(|a, b| b.total_cmp(a));
        let Some(&end) = ends.get(ends.len().saturating_sub(1) / 2) else { return };
        let whole = runs.into_iter().filter(|run| trained_steps(&run.curve).is_some_and(|last| last >= end));
        // they have names of their own: a tool numbers its trials from 0, too
        let named = whole.map(|run| Run { id: format!("history {}", run.id), ..run });
        self.take(named.collect(), end);
    }

    /// A training has ended by itself: it was trained to its end, gave up, or diverged. Said once of each.
    pub fn finish(&mut self, run: Run) {
        if let Some(end) = trained_steps(&run.curve) {
            self.take(vec![run], end);
        }
    }

    /// The training `id`, which has finished, returned `value`. If trainings return the best of their reports, the best counts from then
    /// on. If returned values and reports do not go together, no training is stopped. Returns how they relate.
    pub fn record_returned(&mut self, id: &str, value: f64) -> ReturnRelation {
        let run = self.finished.iter().rfind(|run| run.id == id);
        self.returned.extend(run.and_then(|run| ReturnedTrial::new(&run.curve, value, self.spec.direction)));
        self.relation = ReturnRelation::between(&self.returned);
        let score = self.relation.score().unwrap_or(self.spec.run_score);
        if score != self.spec.run_score {
            self.spec.run_score = score;
            self.rebuild_study();
        }
        self.relation
    }

    /// The parameters that are searched on a logarithmic scale.
    pub fn search_by_logarithm(&mut self, names: &BTreeSet<String>) {
        let space = space(names);
        if space != self.spec.space {
            self.spec.space = space;
            self.rebuild_study();
        }
    }

    /// The decision on a running training. It is `None` if nothing has completed, if the training has not reached the first step of
    /// the completed runs or has reached the end, if the last of its points was decided on before, or if the values that trainings
    /// [return](Self::record_returned) do not match their reports. Points of a training that is asked about again continue the first ones.
    pub fn decide(
        &mut self,
        id: &str,
        configuration: &Configuration,
        points: &[(f64, f64)],
    ) -> Option<Decision> {
        let &last = points.last()?;
        self.watch_length(id, (points[0].0, last.0));
        // where steps count from 0, the last one is one less than the number of epochs, so the end would otherwise never be reached
        let begun = if points[0].0 == 0.0 { 1.0 } else { 0.0 };
        let is_outside = last.0 + begun >= self.last || last.0 < self.first;
        if self.finished.is_empty() || is_outside || !self.relation.allows_stopping() {
            return None;
        }
        if self.is_finer(points.iter().map(|point| point.0)) {
            self.parts = PARTS_PER_EPOCH;
            self.rebuild_study();
        }
        let open = self.open(id, configuration, points);
        let mut latest = None;
        for &(step, value) in &points[open.points..] {
            let reported = self.make_report(open.trial, step, value);
            let Ok(_) = self.study.take_report::<Infallible>(&reported, &mut |_| Ok(()));
            let Ok(decision) = self.study.decide::<Infallible>(open.trial, &mut |_| Ok(()));
            latest = decision;
        }
        self.running.insert(id.to_owned(), RunningTraining { points: points.len(), last, ..open });
        let trial = self.study.trial(open.trial)?;
        // once it was stopped, later points change nothing
        latest.or_else(|| trial.decision.clone().filter(|_| !trial.is_open()))
    }

    /// The first difference between the length of the completed trainings and the steps that others report, once.
    pub fn take_mismatch(&mut self) -> Option<LengthMismatch> {
        self.mismatch.take()
    }

    /// Compares the steps of a running training with the length of the completed ones. One that is somewhat longer is no news: trainings may end early.
    fn watch_length(&mut self, id: &str, (first, step): (f64, f64)) {
        let resource = self.last.ceil() as u64;
        let is_far = first > self.last || step >= 2.0 * self.last;
        if resource > 0 && is_far && !self.finished.is_empty() {
            let trial = id.rsplit(' ').next().and_then(|number| number.parse().ok()).unwrap_or(0);
            let mismatch = self.lengths.check_report(resource, trial, first as u64, step as u64);
            self.mismatch = self.mismatch.or(mismatch);
        }
    }

    /// A training failed, or somebody else stopped it: it teaches nothing.
    pub fn forget_training(&mut self, id: &str) {
        if let Some(RunningTraining { trial, .. }) = self.running.remove(id) {
            let failure = Some("it was ended from outside".to_owned());
            self.study.step(&StudyInput::Ended { trial, failure });
        }
    }

    /// Takes in completed runs; the longest ends at `end`.
    fn take(&mut self, runs: Vec<Run>, end: f64) {
        let finer = runs.iter().any(|run| self.is_finer(run.curve.steps().iter().copied()));
        self.parts = if finer { PARTS_PER_EPOCH } else { self.parts };
        let begins = runs.iter().filter_map(|run| run.curve.steps().first().copied());
        self.first = begins.fold(self.first, f64::min);
        // a run that is handed in a second time would otherwise teach twice
        let new: Vec<Run> = runs.into_iter().filter(|run| self.ended.insert(run.id.clone())).collect();
        let from = self.finished.len();
        self.finished.extend(new);
        if finer || end > self.last {
            self.last = self.last.max(end);
            self.rebuild_study();
        } else {
            (from..self.finished.len()).for_each(|at| self.teach_study(at));
        }
    }

    /// The study again, from the completed trainings: the length of a whole training has changed. Those that run are taken in again, and
    /// all their points decided on, when they next report.
    fn rebuild_study(&mut self) {
        let spec = StudySpec { max_resource: self.to_epoch_parts(self.last).max(1), ..self.spec.clone() };
        // the settings were checked; the number of steps is the only other one
        let Ok(study) = study(&spec, &self.next) else { return };
        self.study = study;
        self.running.clear();
        (0..self.finished.len()).for_each(|at| self.teach_study(at));
    }

    /// The study learns from finished training `at`.
    fn teach_study(&mut self, at: usize) {
        let run = self.finished[at].clone();
        // one that was trained to its end although it was to be stopped is a trial of its own
        if self.running.get(&run.id).is_some_and(|open| !self.study.is_running(open.trial)) {
            self.running.remove(&run.id);
        }
        let points = points(&run.curve, self.spec.direction);
        let open = self.open(&run.id, &run.configuration, &points);
        for &(step, value) in points.get(open.points..).unwrap_or_default() {
            let reported = self.make_report(open.trial, step, value);
            // recorded without a decision, because a training that has ended cannot be stopped any more
            let Ok(_) = self.study.take_report::<Infallible>(&reported, &mut |_| Ok(()));
        }
        self.running.remove(&run.id);
        self.study.step(&StudyInput::Ended { trial: open.trial, failure: None });
    }

    /// The study's trial of a training: the known one, if that was the beginning of this curve; else a new one.
    fn open(&mut self, id: &str, configuration: &Configuration, points: &[(f64, f64)]) -> RunningTraining {
        if let Some(&open) = self.running.get(id) {
            let same = |&(step, value): &(f64, f64)| {
                step.total_cmp(&open.last.0).is_eq() && same_value(value, open.last.1)
            };
            if points.get(open.points - 1).is_some_and(same) {
                return open;
            }
            // the tool has started this training again: the reports so far are of another attempt, which teaches nothing
            self.forget_training(id);
        }
        *self.next.lock().unwrap_or_else(PoisonError::into_inner) = configuration.clone();
        let Ok(turn) = self.study.start_next::<Infallible>(|_| false, &mut |_| Ok(()));
        // there are always more trials
        let trial = if let WorkerTurn::Started(trial) = turn { trial } else { UNLIMITED_TRIALS };
        RunningTraining { trial, points: 0, last: (0.0, 0.0) }
    }

    fn make_report(&self, trial: u64, step: f64, value: f64) -> StudyInput {
        let value = Some(value).filter(|value| value.is_finite());
        StudyInput::Reported { trial, step: self.to_epoch_parts(step), value, metrics: BTreeMap::new() }
    }

    fn to_epoch_parts(&self, step: f64) -> u64 {
        (step * self.parts).round() as u64
    }

    /// Whether one of `steps` falls between two of the study's.
    fn is_finer(&self, mut steps: impl Iterator<Item = f64>) -> bool {
        self.parts < PARTS_PER_EPOCH && steps.any(|step| step.fract() != 0.0)
    }
}

/// Whether two reports have one value; those that are not finite are alike.
fn same_value(a: f64, b: f64) -> bool {
    // the study stores no value that is not finite, so NaN and an infinity cannot be told apart
    a.total_cmp(&b).is_eq() || (!a.is_finite() && !b.is_finite())
}

/// The steps and values of a curve in the metric's unit, in order; where it has none, a value that is not finite.
fn points(curve: &Curve, direction: Direction) -> Vec<(f64, f64)> {
    let finite = curve.steps().iter().zip(curve.scores());
    let mut points: Vec<_> = finite.map(|(&step, &score)| (step, direction.to_value(score))).collect();
    points.extend(curve.gap_starts().iter().copied().chain(curve.diverged_at()).map(|step| (step, f64::NAN)));
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points.dedup_by(|b, a| a.0.total_cmp(&b.0).is_eq());
    points
}

/// After how many steps a curve ends: its last, or one more where they count from 0.
fn trained_steps(curve: &Curve) -> Option<f64> {
    let last = curve.last_point()?.0.max(curve.diverged_at().unwrap_or(0.0));
    Some(last + f64::from(u8::from(curve.steps().first() == Some(&0.0))))
}

/// A study whose trials have the configurations that are put into `next`.
fn study(spec: &StudySpec, next: &Arc<Mutex<Configuration>>) -> Result<Study, StudyError> {
    let sampler = Box::new(ExternalSampler(Arc::clone(next)));
    Study::with(spec.clone(), StudyParts { sampler: Some(sampler), ..StudyParts::default() })
}

/// A space in which the parameters `names` have a logarithmic scale. Nothing is sampled from it.
fn space(names: &BTreeSet<String>) -> Space {
    let kind = || ParameterKind::Log { lo: f64::MIN_POSITIVE, hi: f64::MAX, step: None };
    let parameter = |name: &String| {
        ParameterSpace::new(vec![Parameter { name: name.clone(), kind: kind(), active_if: None }]).ok()
    };
    let parameters = names.iter().filter_map(parameter).flat_map(|space| space.parameters().to_vec());
    let nothing = || ParameterSpace::parse(&["none=int:0:0"]);
    let space = ParameterSpace::new(parameters.collect()).or_else(|_| nothing());
    Space::Parameters(space.expect("a parameter of one value is a space"))
}

/// Gives each trial the configuration that the tool has chosen.
struct ExternalSampler(Arc<Mutex<Configuration>>);

impl Sampler for ExternalSampler {
    fn propose(&mut self, _trial: u64) -> Option<Configuration> {
        Some(self.0.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    fn observe_start(&mut self, _trial: u64, _configuration: &Configuration) {}

    fn learn(&mut self, _trial: u64, _configuration: &Configuration, _worth: Worth) {}

    fn observe_failure(&mut self, _trial: u64, _configuration: &Configuration) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Session, TrainingEnd};
    use foretell::Action;

    /// A metric that rises to `end`.
    fn value(end: f64, epoch: u64) -> f64 {
        end * (1.0 - 0.7_f64.powi(epoch as i32))
    }

    fn run(id: u64, configuration: &Configuration, values: &[f64], first: u64) -> Run {
        let steps: Vec<f64> = (first..).take(values.len()).map(|step| step as f64).collect();
        let curve = Curve::new(&steps, values, Direction::Maximize).expect("a curve");
        Run { id: id.to_string(), configuration: configuration.clone(), curve }
    }

    fn ask(judge: &mut Judge, run: &Run) -> Option<Decision> {
        let points = points(&run.curve, judge.spec.direction);
        judge.decide(&run.id, &run.configuration, &points)
    }

    /// Each training of a study, next to the decision of a judge at each of its reports.
    #[test]
    fn a_judge_decides_as_a_study_does_at_each_step() {
        let space = ParameterSpace::parse(&["lr=log:1e-4:1"]).expect("a space");
        let spec = StudySpec {
            trials: 40,
            max_resource: 12,
            policy: ForecastRule.into(),
            seed: 3,
            ..StudySpec::new(Space::Parameters(space), "acc", Direction::Maximize)
        };
        let judged = StudySpec {
            space: spec.space.clone(),
            seed: 3,
            ..Judge::default_spec("acc", Direction::Maximize)
        };
        let mut judge = Judge::new(judged).expect("a judge");
        let mut session = Session::new(spec).expect("a session");
        let (mut stopped, mut decided) = (0, 0);
        while let Some(start) = session.ask().expect("it is kept in memory") {
            let lr = start.configuration["lr"].as_number().expect("a number");
            let mut values = Vec::new();
            for epoch in 1..=12 {
                values.push(value(0.9 - 0.2 * (lr.log10() + 2.0).abs(), epoch));
                let last = values[values.len() - 1];
                let answer = session.report(start.trial, epoch, last, BTreeMap::new()).expect("in memory");
                let said = ask(&mut judge, &run(start.trial, &start.configuration, &values, 1));
                if let (Some(decision), Some(said)) = (&answer.decision, &said) {
                    decided += 1;
                    let numbers =
                        |d: &Decision| (d.action, d.reason.clone(), d.forecast, d.incumbent, d.probability);
                    assert_eq!(numbers(said), numbers(decision), "trial {} at {epoch}", start.trial);
                }
                assert_eq!(answer.stop, said.is_some_and(|said| said.action == Action::Stop));
                if answer.stop {
                    stopped += 1;
                    break;
                }
            }
            if values.len() == 12 {
                judge.finish(run(start.trial, &start.configuration, &values, 1));
            }
            session.tell(start.trial, TrainingEnd::Finished).expect("in memory");
        }
        assert!(stopped >= 20 && decided >= 50, "{stopped} stopped, {decided} decisions");
    }

    fn taught(lengths: impl Fn(u64) -> u64, first: u64) -> Judge {
        let mut judge = Judge::new(Judge::default_spec("acc", Direction::Maximize)).expect("a judge");
        for trial in 0..10 {
            let values: Vec<f64> =
                (1..=lengths(trial)).map(|epoch| value(0.3 + 0.06 * trial as f64, epoch)).collect();
            judge.finish(run(trial, &Configuration::new(), &values, first));
        }
        judge
    }

    fn stops(judge: &mut Judge, id: u64, end: f64, epochs: u64, first: u64) -> bool {
        let values: Vec<f64> = (1..=epochs).map(|epoch| value(end, epoch)).collect();
        let said = ask(judge, &run(id, &Configuration::new(), &values, first));
        said.is_some_and(|said| said.action == Action::Stop)
    }

    #[test]
    fn trainings_of_any_length_and_steps_from_0_teach() {
        for first in [0, 1] {
            for lengths in [|_| 12, |trial| 9 + trial % 4] {
                let mut judge = taught(lengths, first);
                assert_eq!(judge.completed_count(), 10);
                assert!(stops(&mut judge, 20, 0.3, 6, first), "from {first}");
                assert!(!stops(&mut judge, 21, 0.9, 6, first), "from {first}");
                assert!(!stops(&mut judge, 22, 0.1, 12, first), "it has come to its end");
            }
        }
    }

    #[test]
    fn a_curve_that_begins_again_is_another_trial() {
        let mut judge = taught(|_| 12, 1);
        assert!(!stops(&mut judge, 20, 0.9, 5, 1));
        assert!(stops(&mut judge, 20, 0.3, 6, 1));
        assert!(stops(&mut judge, 20, 0.3, 7, 1), "what was stopped stays so");
        assert!(!stops(&mut judge, 20, 0.9, 7, 1), "what was stopped was another");
    }

    #[test]
    fn a_training_that_goes_on_although_it_was_to_be_stopped_teaches() {
        let mut judge = taught(|_| 12, 1);
        assert!(stops(&mut judge, 20, 0.3, 6, 1));
        let values: Vec<f64> =
            (1..=12).map(|epoch| if epoch > 6 { 0.99 } else { value(0.3, epoch) }).collect();
        judge.finish(run(20, &Configuration::new(), &values, 1));
        assert_eq!(judge.completed_count(), 11);
        let said = ask(&mut judge, &run(21, &Configuration::new(), &[0.3, 0.4], 1)).expect("a decision");
        assert_eq!(said.incumbent, Some(0.99));
    }

    #[test]
    fn parts_of_epochs_are_steps() {
        let mut judge = Judge::new(Judge::default_spec("loss", Direction::Minimize)).expect("a judge");
        let curve = |end: f64, points: i32| {
            let steps: Vec<f64> = (1..=points).map(|at| f64::from(at) / 4.0).collect();
            let values: Vec<f64> = (1..=points).map(|at| end + 0.8_f64.powi(at)).collect();
            Curve::new(&steps, &values, Direction::Minimize).expect("a curve")
        };
        let run = |id: &str, curve| Run { id: id.to_owned(), configuration: Configuration::new(), curve };
        judge.learn_from((0..8).map(|i| run(&i.to_string(), curve(0.1 + 0.1 * f64::from(i), 12))).collect());
        let said = ask(&mut judge, &run("bad", curve(0.9, 6))).expect("a decision");
        assert_eq!(said.action, Action::Stop, "{said:?}");
        let said = ask(&mut judge, &run("good", curve(0.05, 6))).expect("a decision");
        assert_eq!(said.action, Action::Continue, "{said:?}");
    }

    #[test]
    fn a_training_whose_values_are_lost_is_stopped() {
        let mut judge = taught(|_| 12, 1);
        let reports = [(1.0, f64::NAN), (2.0, f64::NAN)];
        let said = judge.decide("20", &Configuration::new(), &reports[..1]);
        assert!(said.is_none_or(|said| said.action == Action::Continue), "one may come back");
        let said = judge.decide("20", &Configuration::new(), &reports).expect("a decision");
        assert_eq!((said.action, said.reason), (Action::Stop, crate::Reason::Diverged));
    }

    #[test]
    fn where_trainings_return_their_best_report_a_late_fall_stops_none() {
        let mut judge = taught(|_| 12, 1);
        // it has the best value of all, and then falls below that of most
        let falling = [0.5, 0.8, 0.95, 0.6, 0.5, 0.45, 0.4, 0.35];
        let lesser = run(21, &Configuration::new(), &falling.map(|value| 0.9 * value), 1);
        let run = run(20, &Configuration::new(), &falling, 1);
        assert_eq!(ask(&mut judge, &run).expect("a decision").action, Action::Stop);
        for trial in 0..10 {
            let best = value(0.3 + 0.06 * trial as f64, 12);
            assert!(judge.record_returned(&trial.to_string(), best).allows_stopping());
        }
        judge.finish(lesser);
        assert_eq!(judge.record_returned("21", 0.9 * 0.95).score(), Some(foretell::RunScore::Best));
        assert_ne!(ask(&mut judge, &run).map(|said| said.action), Some(Action::Stop));
    }

    #[test]
    fn where_what_is_returned_is_another_metric_nothing_is_stopped() {
        let mut judge = taught(|_| 12, 1);
        for trial in 0..10 {
            judge.record_returned(&trial.to_string(), 1.0 - value(0.3 + 0.06 * trial as f64, 12));
        }
        assert!(!stops(&mut judge, 20, 0.3, 6, 1));
    }

    #[test]
    fn old_runs_that_were_stopped_teach_nothing() {
        let mut judge = Judge::new(Judge::default_spec("acc", Direction::Maximize)).expect("a judge");
        let runs = (0..9).map(|i| {
            let epochs = if i < 5 { 12 } else { 3 };
            let values: Vec<f64> = (1..=epochs).map(|epoch| value(0.4 + 0.05 * i as f64, epoch)).collect();
            run(i, &Configuration::new(), &values, 1)
        });
        judge.learn_from(runs.collect());
        assert_eq!(judge.completed_count(), 5);
    }
}

//! Replays decide as live studies do: a recorded table is fed to a live study and to a replay, and their logs are compared
//! record by record.

#[path = "../../../tests/needed.rs"]
mod needed;

use foretell::{
    Action, ColumnDeclarations, Configuration, Curve, Direction, ErrorBudget, HistoryOptions, Metric,
    Predictor, PredictorOptions, Run, RunScore, Scale, StopCriterion, make_predictor,
};
use foretell_logs::{ReadOptions, read_runs};
use foretell_search::{
    AshaRule, Catalogue, Caution, Decision, ForecastRule, Kappa, KappaOf, MemoryStore, NamedRule,
    ParameterSpace, PredictorChoice, PredictorTeacher, RandomSampling, Rank, Reason, Record, Reference,
    ReplaySetting, RuleLearner, RuleNeeds, Ruling, RunTable, SamplerSpec, Schedule, Session, Space,
    StopPolicy, StopRule, Study, StudyInput, StudyPlan, StudyRequest, StudySpec, TrainingEnd, TrialOutcome,
    TrialState, WatchedTrial, replay, replay_log, trial_stream,
};
use rand::RngExt;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The case on which a live study and a replay are compared.
#[derive(Clone)]
struct Case {
    spec: StudySpec,
    /// The reports of the recorded runs, by run and epoch.
    values: Vec<Vec<f64>>,
    workers: usize,
}

fn spec(metric: &str, direction: Direction, trials: u64, epochs: u64) -> StudySpec {
    let space = Space::Parameters(ParameterSpace::parse(&["lr=log:1e-4:1", "size=int:1:900"]).unwrap());
    StudySpec {
        sampler: SamplerSpec::from(RandomSampling),
        max_resource: epochs,
        trials,
        burn_in: 8,
        policy: StopPolicy::from(ForecastRule),
        predictor: "ridge".into(),
        criterion: StopCriterion { stop_probability: 0.8, ..StopCriterion::default() },
        refit: None,
        seed: 5,
        ..StudySpec::new(space, metric, direction)
    }
}

/// The records of a live study in which trial i reports the values of run `order[i]` of the table.
fn live(case: &Case, order: &[usize]) -> Vec<Record> {
    live_after(case, order, &[])
}

/// As [`live`], by a study that learns from the runs of an `earlier` search.
fn live_after(case: &Case, order: &[usize], earlier: &[Run]) -> Vec<Record> {
    // a stop rule may go by the number of planned trials, which a replay takes from its plan
    let spec = StudySpec { trials: order.len() as u64, ..case.spec.clone() };
    let mut study = Study::with(spec, (&catalogue()).into()).unwrap();
    let mut log = study.warm_start(earlier);
    let mut workers: Vec<Option<u64>> = vec![None; case.workers];
    loop {
        for worker in workers.iter_mut().filter(|worker| worker.is_none()) {
            loop {
                let records = study.step(&StudyInput::WorkerIdle);
                let Some(Record::Started { trial, .. }) = records.first() else { break };
                let trial = *trial;
                log.extend(records);
                if study.trials()[trial as usize].state == TrialState::Running {
                    *worker = Some(trial);
                    break;
                }
            }
        }
        if workers.iter().all(Option::is_none) {
            assert!(study.is_done());
            return log;
        }
        for worker in &mut workers {
            let Some(trial) = *worker else { continue };
            let step = study.trials()[trial as usize].step + 1;
            let value = Some(case.values[order[trial as usize]][step as usize - 1]);
            log.extend(study.step(&StudyInput::Reported { trial, step, value, metrics: BTreeMap::new() }));
            if step == study.trials()[trial as usize].until {
                log.extend(study.step(&StudyInput::Ended { trial, failure: None }));
            }
            if study.trials()[trial as usize].state != TrialState::Running {
                *worker = None;
            }
        }
    }
}

/// The configurations that a live study draws, whatever its trials report.
fn configurations(case: &Case, trials: usize) -> Vec<Configuration> {
    let trials_of = trials as u64;
    let spec =
        StudySpec { schedule: Schedule::Full, rank: Rank::Value, trials: trials_of, ..case.spec.clone() };
    let mut study = Study::with(spec, (&catalogue()).into()).unwrap();
    for _ in 0..trials {
        study.step(&StudyInput::WorkerIdle);
    }
    study.trials().iter().map(|trial| trial.configuration.clone()).collect()
}

fn table(case: &Case, configurations: &[Configuration]) -> Arc<RunTable> {
    let spec = &case.spec;
    let run = |(number, values): (usize, &Vec<f64>)| Run {
        id: number.to_string(),
        configuration: configurations.get(number).cloned().unwrap_or_default(),
        curve: Curve::from_epoch_values(values, spec.direction),
    };
    let runs: Vec<Run> = case.values.iter().enumerate().map(run).collect();
    let scales = BTreeMap::from([("lr".to_owned(), Scale::Log)]);
    let options = HistoryOptions {
        metric: Some(Metric::new(&spec.metric, spec.direction)),
        target: Some(spec.max_resource as f64),
        columns: ColumnDeclarations { scales, ..ColumnDeclarations::default() },
        run_score: spec.run_score,
        ..HistoryOptions::default()
    };
    Arc::new(RunTable::new(&runs, &options, 1).unwrap())
}

/// Compares both logs; the decisions of the live study.
fn compare(case: &Case, what: &str) -> Vec<Decision> {
    let spec = &case.spec;
    let options = PredictorOptions { seed: spec.seed, ..PredictorOptions::default() };
    let chosen: Arc<dyn Predictor> =
        catalogue().make_predictor(&spec.policy, &spec.predictor, &options).unwrap();
    let unmeasured = table(case, &[]);
    let replayed = ReplaySetting {
        workers: case.workers,
        orderings: 1,
        ..ReplaySetting::new(
            StudySpec {
                schedule: spec.schedule,
                rank: spec.rank,
                policy: spec.policy.clone(),
                criterion: spec.criterion,
                burn_in: spec.burn_in,
                refit: spec.refit,
                exempt: spec.exempt,
                seed: spec.seed,
                ..unmeasured.study()
            },
            Some(chosen),
        )
    };
    // the order in which runs are drawn depends on their number alone
    let unstopped = StudySpec { policy: StopPolicy::none(), rank: Rank::Value, ..replayed.study.clone() };
    let unstopped = ReplaySetting { study: unstopped, ..replayed.clone() };
    let first = replay(&unmeasured, &[unstopped]).unwrap().remove(0);
    let order: Vec<usize> = first.orderings[0].trace.trials.iter().map(|trial| trial.run).collect();
    let mut by_run = vec![Configuration::new(); case.values.len()];
    for (configuration, &run) in configurations(case, order.len()).into_iter().zip(&order) {
        by_run[run] = configuration;
    }
    let replayed = replay_log(&table(case, &by_run), &replayed, 0).unwrap();
    let live = live(case, &order);
    for (number, (live, replayed)) in live.iter().zip(&replayed).enumerate() {
        assert_eq!(live, replayed, "{what}: record {number}");
        let line = serde_json::to_string(live).unwrap();
        assert_eq!(&serde_json::from_str::<Record>(&line).unwrap(), live, "{what}: {line}");
    }
    assert_eq!(live.len(), replayed.len(), "{what}");
    let decided = |record: Record| if let Record::Decided(decision) = record { Some(decision) } else { None };
    live.into_iter().filter_map(decided).collect()
}

/// Curves made from a seed: most saturate, a fifth diverges, and some losses jump far and come back, or not.
fn made_up_curves(runs: u64, epochs: usize, direction: Direction) -> Vec<Vec<f64>> {
    let curve = |number: u64| {
        let mut random = trial_stream(11, number);
        let (top, speed): (f64, f64) =
            (0.3 + 0.6 * random.random::<f64>(), 1.0 + 4.0 * random.random::<f64>());
        let fate: f64 = random.random();
        let at = random.random_range(1..epochs);
        let point = |t: usize, noise: f64| {
            let value = top * (1.0 - (-(t as f64) / speed).exp()) + 0.02 * (noise - 0.5);
            let value =
                if direction == Direction::Maximize { value.clamp(0.0, 1.0) } else { 3.0 - 2.9 * value };
            match direction {
                _ if fate < 0.15 && t > at => f64::NAN,
                Direction::Minimize if fate < 0.3 && t == at => 1e6 * value,
                Direction::Minimize if fate < 0.4 && t >= at => 1e3 * value,
                Direction::Maximize if fate < 0.3 && t == at => 0.0,
                _ => value,
            }
        };
        (1..=epochs).map(|t| point(t, random.random())).collect()
    };
    (0..runs).map(curve).collect()
}

fn schedules() -> [Schedule; 5] {
    let kappa = Kappa { kappa: 0.5, of: KappaOf::Next };
    let hyperband = |reference| Schedule::Hyperband { eta: 3, runs: 2, kappa, reference };
    [
        Schedule::Full,
        Schedule::SuccessiveHalving { eta: 3 },
        hyperband(Reference::Rung),
        hyperband(Reference::Level),
        Schedule::Asha { eta: 3, rungs: None },
    ]
}

/// The parts of this crate and of the laboratory, and the rule [`Crowd`].
fn catalogue() -> Catalogue {
    foretell_paper::full_catalogue().with_rule::<Crowd>()
}

/// Stops a trial below the mean of all scores that trials of this study and earlier runs had so early, with a little patience.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Crowd;

impl NamedRule for Crowd {
    const NAME: &'static str = "crowd";
    const ABOUT: &'static str = "Stop trials below the mean of all so far.";
}

/// By epoch: all scores, in their order. A score counts less the later it comes, so that the order of the reports matters.
#[derive(Default)]
struct Scores {
    at: BTreeMap<u64, f64>,
    last: BTreeMap<u64, (u64, f64)>,
    running: BTreeSet<u64>,
}

impl RuleLearner for Scores {
    fn earlier(&mut self, run: &Run) {
        for (&step, &score) in run.curve.steps().iter().zip(run.curve.scores()) {
            self.at.insert(step as u64, score);
        }
    }

    fn learn_report(&mut self, trial: u64, epochs: u64, score: Option<f64>) {
        self.running.insert(trial);
        let Some(score) = score else { return };
        let mean = self.at.entry(epochs).or_insert(score);
        *mean += 0.3 * (score - *mean);
        self.last.insert(trial, (epochs, score));
    }

    fn learn_end(&mut self, trial: u64, fate: TrialOutcome) {
        self.running.remove(&trial);
        if fate == TrialOutcome::Failed {
            self.last.remove(&trial);
        }
    }
}

impl StopRule for Crowd {
    fn needs(&self, _max_resource: u64) -> RuleNeeds {
        RuleNeeds { metric_alone: true, ..RuleNeeds::default() }
    }

    fn learner(&self, _plan: &StudyPlan) -> Option<Box<dyn RuleLearner>> {
        Some(Box::<Scores>::default())
    }

    fn rule(&self, trial: &mut dyn WatchedTrial) -> Ruling {
        let number = trial.trial();
        let seen = trial.learner().and_then(|learner| learner.downcast_ref::<Scores>()).expect("its learner");
        match seen.last.get(&number) {
            Some(&(epochs, score)) if epochs > 2 && score < seen.at[&epochs] - 0.1 / epochs as f64 => {
                Ruling::stop(Reason::Own(format!("below the crowd of {}", seen.running.len())), score)
            }
            _ => Ruling::default(),
        }
    }
}

/// The rules of `catalogue` by name, those that only replays offer included.
fn every_rule(catalogue: &Catalogue) -> Vec<StopPolicy> {
    let fields = serde_json::Map::from_iter([("patience".to_owned(), 2.into())]);
    let policies =
        catalogue.list_replay_policies().map(|(name, _)| catalogue.resolve_policy(&name.into(), &fields));
    policies.map(|policy| policy.expect("its usual settings")).collect()
}

/// Those that a study offers.
fn policies() -> Vec<StopPolicy> {
    every_rule(&catalogue()).into_iter().filter(|policy| !policy.needs(9).truth).collect()
}

/// The predictor of a study by `policy`: one that extrapolates, where each curve is forecast alone.
fn predictor_of(policy: &StopPolicy) -> String {
    policy.usual().filter(|_| policy.is_by_curve_alone()).map_or("ridge".into(), |usual| usual.predictor)
}

/// Every policy, schedule and error budget, with what else there is to choose spread over them.
fn all(spec: &StudySpec, values: &[Vec<f64>], what: &str) {
    let budgets = [ErrorBudget::PerCheck, ErrorBudget::PerRun, ErrorBudget::PerRunEvenly];
    let mut stopped: BTreeMap<String, usize> = BTreeMap::new();
    let mut turn = 0;
    // those that forecast each curve alone take long, and have a test of their own
    for policy in policies().into_iter().filter(|policy| !policy.is_by_curve_alone()) {
        for schedule in schedules() {
            for error_budget in budgets {
                turn += 1;
                let criterion = StopCriterion {
                    agreeing_checks: 1 + turn % 2,
                    offset: if turn % 5 == 0 { 0.01 } else { 0.0 },
                    nth_best: 1 + usize::from(turn % 7 == 0),
                    error_budget,
                    ..spec.criterion
                };
                let case = Case {
                    spec: StudySpec {
                        policy: policy.clone(),
                        schedule,
                        criterion,
                        refit: (turn % 3 == 0).then_some(1.3),
                        exempt: if turn % 4 == 0 { 0.3 } else { 0.0 },
                        run_score: if turn % 6 == 5 { RunScore::Best } else { RunScore::Last },
                        ..spec.clone()
                    },
                    values: values.to_vec(),
                    workers: 1 + turn % 3,
                };
                let decisions =
                    compare(&case, &format!("{what}, {policy:?}, {schedule:?}, {error_budget:?}"));
                let judged = |decision: &&Decision| {
                    decision.action == Action::Stop && decision.reason != Reason::Diverged
                };
                *stopped.entry(policy.name().to_owned()).or_default() +=
                    decisions.iter().filter(judged).count();
            }
        }
    }
    assert_eq!(stopped.remove("none"), Some(0), "{what}");
    assert!(stopped.values().all(|&stops| stops > 4), "{what}: {stopped:?}");
}

#[test]
fn replays_of_made_accuracies_decide_as_live_studies() {
    let up = Direction::Maximize;
    all(&spec("val_acc", up, 60, 9), &made_up_curves(60, 9, up), "accuracies");
}

#[test]
fn replays_of_losses_that_jump_and_diverge_decide_as_live_studies() {
    let down = Direction::Minimize;
    let values = made_up_curves(60, 9, down);
    assert!(values.iter().filter(|curve| curve[8].is_nan()).count() > 3);
    all(&spec("val_loss", down, 60, 9), &values, "losses");
}

#[test]
fn replays_of_both_modes_of_curve_extrapolation_decide_as_live_studies() {
    let up = Direction::Maximize;
    for name in ["lce", "lce-optimistic"] {
        let policy = catalogue().resolve_policy(&name.into(), &Default::default()).unwrap();
        let usual = spec("val_acc", up, 16, 9);
        let criterion = StopCriterion { stop_probability: 0.95, ..usual.criterion };
        let spec = StudySpec { policy, criterion, predictor: "lce".into(), burn_in: 1, ..usual };
        let case = Case { spec, values: made_up_curves(16, 9, up), workers: 2 };
        let stops = compare(&case, name).into_iter().filter(|d| d.action == Action::Stop);
        assert!(stops.filter(|stop| stop.reason == Reason::WillNotWin).count() > 2, "{name}");
    }
}

/// The rankings by forecasts: at the rungs of each scheduler, and at those of the policy that stops.
fn ranked_by_forecasts() -> Vec<(Schedule, StopPolicy)> {
    let at_rungs = schedules().into_iter().filter(|schedule| *schedule != Schedule::Full);
    let stopping = (Schedule::Full, StopPolicy::from(AshaRule { eta: 3 }));
    at_rungs.map(|schedule| (schedule, StopPolicy::none())).chain([stopping]).collect()
}

#[test]
fn replays_that_rank_by_forecasts_decide_as_live_studies() {
    for (direction, score) in [(Direction::Maximize, RunScore::Last), (Direction::Minimize, RunScore::Best)] {
        let values = made_up_curves(60, 9, direction);
        for (turn, (schedule, policy)) in ranked_by_forecasts().into_iter().enumerate() {
            let case = |rank, predictor: &str| Case {
                spec: StudySpec {
                    schedule,
                    policy: policy.clone(),
                    rank,
                    predictor: predictor.to_owned(),
                    burn_in: 3,
                    refit: Some(1.2),
                    run_score: score,
                    ..spec("val", direction, 60, 9)
                },
                values: values.clone(),
                workers: 1 + turn % 3,
            };
            for (rank, predictor) in [(Rank::Mean, "ridge"), (Rank::Upper, "auto")] {
                compare(&case(rank, predictor), &format!("{rank:?}, {policy:?}, {schedule:?}"));
            }
        }
    }
}

#[test]
fn the_default_predictor_decides_alike_too() {
    let down = Direction::Minimize;
    let case = Case {
        spec: StudySpec { predictor: "auto".into(), refit: Some(1.5), ..spec("val_loss", down, 40, 9) },
        values: made_up_curves(40, 9, down),
        workers: 2,
    };
    let decisions = compare(&case, "auto");
    assert!(decisions.iter().any(|decision| decision.reason == Reason::WillNotWin));
}

/// The run that a record of a replay holds back, with its whole curve.
fn held_back(record: &Record, case: &Case) -> Option<Run> {
    let Record::WarmStart { id, configuration, .. } = record else { return None };
    let values = &case.values[id.parse::<usize>().unwrap()];
    let curve = Curve::from_epoch_values(values, Direction::Maximize);
    Some(Run { id: id.clone(), configuration: configuration.clone(), curve })
}

/// The settings that a search chooses from earlier runs are chosen again by a replay that holds these runs back.
#[test]
fn a_replay_with_a_warm_start_decides_as_a_search_that_learns_from_these_runs() {
    let request = StudyRequest {
        space: Some(spec("val_acc", Direction::Maximize, 1, 1).space),
        metric: Some("val_acc".to_owned()),
        sampler: Some("random".into()),
        epochs: Some(9),
        trials: Some(30),
        learn_from: Some(vec!["earlier".to_owned()]),
        ..StudyRequest::default()
    };
    let spec = request.clone().resolve(None).unwrap();
    let case = Case { spec, values: made_up_curves(90, 9, Direction::Maximize), workers: 2 };
    let teacher: PredictorTeacher = Arc::new(|runs, spec, options| {
        let taught =
            PredictorChoice::new(runs, spec, options, Some(Caution::default()))?.apply_to(spec.clone());
        let predictor = catalogue()
            .make_predictor(&taught.policy, &taught.predictor, &PredictorOptions::default())
            .ok()?;
        Some((predictor, taught.criterion.stop_probability))
    });
    let unmeasured = table(&case, &[]);
    let usual = Arc::from(make_predictor("mean-gain", &PredictorOptions::default()).unwrap());
    let replayed = ReplaySetting {
        warm_start: 60,
        workers: case.workers,
        orderings: 1,
        ..ReplaySetting::new(
            StudySpec {
                policy: case.spec.policy.clone(),
                criterion: case.spec.criterion,
                burn_in: case.spec.burn_in,
                refit: case.spec.refit,
                trials: 30,
                ..unmeasured.study()
            },
            Some(usual),
        )
    };
    let unstopped = StudySpec { policy: StopPolicy::none(), ..replayed.study.clone() };
    let first =
        replay(&unmeasured, &[ReplaySetting { study: unstopped, ..replayed.clone() }]).unwrap().remove(0);
    let order: Vec<usize> = first.orderings[0].trace.trials.iter().map(|trial| trial.run).collect();
    let others = (0..case.values.len()).filter(|run| !order.contains(run));
    let mut by_run = vec![Configuration::new(); case.values.len()];
    let drawn = configurations(&case, case.values.len());
    for (configuration, run) in drawn.into_iter().zip(order.iter().copied().chain(others)) {
        by_run[run] = configuration;
    }
    let setting = ReplaySetting { teacher: Some(teacher), ..replayed };
    let replayed = replay_log(&table(&case, &by_run), &setting, 0).unwrap();
    let earlier: Vec<Run> = replayed.iter().filter_map(|record| held_back(record, &case)).collect();
    assert_eq!(earlier.len(), 60);
    let lessons = request.lessons(&case.spec, &earlier).expect("enough runs to learn from");
    assert!(lessons.sure.is_some(), "{lessons}");
    let taught = Case { spec: lessons.apply_to(case.spec.clone()), ..case };
    assert_eq!(live_after(&taught, &order, &earlier), replayed);
    let stops =
        |record: &Record| matches!(record, Record::Decided(decision) if decision.action == Action::Stop);
    assert!(replayed.iter().any(stops));
}

#[test]
fn what_runs_do_later_changes_no_decision_before() {
    let up = Direction::Maximize;
    let spec = spec("val_acc", up, 40, 9);
    let before = Case { spec, values: made_up_curves(40, 9, up), workers: 1 };
    let mut after = before.clone();
    // the last run that is drawn is recorded as far worse, and no share any more
    let table = table(&before, &[]);
    let setting =
        ReplaySetting { orderings: 1, ..ReplaySetting::new(StudySpec { seed: 5, ..table.study() }, None) };
    let order = replay(&table, &[setting]).unwrap().remove(0);
    let last = order.orderings[0].trace.trials[39].run;
    after.values[last] = (0..9).map(|t| -1e4 * f64::from(t)).collect();
    let [before, after] = [before, after].map(|case| compare(&case, "later"));
    let earlier = |decisions: &[Decision]| {
        decisions.iter().filter(|decision| decision.trial < 39).cloned().collect::<Vec<_>>()
    };
    assert_eq!(earlier(&before), earlier(&after));
}

#[test]
fn replays_of_recorded_sets_decide_as_live_studies() {
    for (name, metric, direction) in [
        ("metaqnn_cifar10.csv", "val_acc", Direction::Maximize),
        ("lstm_ptb.csv", "perplexity", Direction::Minimize),
    ] {
        let Some(path) = needed::recorded(&format!("curves/paper/{name}")) else { continue };
        let options = ReadOptions { direction: Some(direction), ..ReadOptions::default() };
        let recorded = read_runs(&path, &options).unwrap();
        let whole = |run: &Run| {
            let scores = run.curve.scores();
            let values = (0..18).map(|t| scores.get(t).map_or(f64::NAN, |&score| direction.to_value(score)));
            values.collect::<Vec<f64>>()
        };
        let values: Vec<Vec<f64>> =
            recorded.runs.iter().filter(|run| run.curve.len() > 2).take(90).map(whole).collect();
        all(&spec(metric, direction, values.len() as u64, 18), &values, name);
    }
}

/// Runs of two kinds: some are good at once and stay so, others come late and are better.
fn crossing(runs: u64, epochs: usize) -> Vec<Vec<f64>> {
    let curve = |number: u64| {
        let mut random = trial_stream(3, number);
        let (top, is_late): (f64, bool) = (0.2 * random.random::<f64>(), number.is_multiple_of(3));
        let value = |t: usize| {
            let passed = t as f64 / epochs as f64;
            if is_late { (0.7 + top) * passed.powi(3) } else { (0.4 + top) * (1.0 - (-8.0 * passed).exp()) }
        };
        (1..=epochs).map(value).collect()
    };
    (0..runs).map(curve).collect()
}

#[test]
fn every_rule_has_wrong_stops_wherever_it_loses_the_best_run() {
    let case = |runs, epochs| {
        let spec = spec("acc", Direction::Maximize, runs, epochs as u64);
        Case { spec, values: crossing(runs, epochs), workers: 1 }
    };
    // curves that are forecast alone take long
    let (many, few) = (table(&case(27, 18), &[]), table(&case(12, 8), &[]));
    let mut losers = 0;
    let rules = every_rule(&catalogue());
    for policy in &rules {
        let (table, orderings) = if policy.is_by_curve_alone() { (&few, 2) } else { (&many, 8) };
        for (workers, caution) in [(1, 0.6), (1, 0.99), (9, 0.6)] {
            let predictor = predictor_of(policy);
            let predictor =
                catalogue().make_predictor(policy, &predictor, &PredictorOptions::default()).unwrap();
            let study = StudySpec {
                policy: policy.clone(),
                criterion: StopCriterion { stop_probability: caution, ..StopCriterion::default() },
                burn_in: 3,
                ..table.study()
            };
            let replayed = ReplaySetting { workers, orderings, ..ReplaySetting::new(study, Some(predictor)) };
            let outcome = replay(table, &[replayed]).unwrap().remove(0);
            let lost: Vec<_> = outcome.orderings.iter().filter(|ordering| !ordering.best_kept).collect();
            losers += usize::from(!lost.is_empty());
            for ordering in lost {
                let best = ordering.trace.trials.iter().find(|trial| trial.run == ordering.best).unwrap();
                assert!(best.stopped_wrongly && ordering.stopped_wrongly.contains(&best.run), "{policy:?}");
                assert!(outcome.mean_wrong_stops() > 0.0, "{policy:?}");
            }
        }
    }
    assert!(losers >= rules.len(), "{losers} of {} settings lose the best run", 3 * rules.len());
}

#[test]
fn every_rule_decides_alike_live_replayed_in_a_session_and_after_a_restart() {
    for policy in policies() {
        let name = policy.name().to_owned();
        // curves that are forecast alone take long
        let (trials, epochs) = if policy.is_by_curve_alone() { (8, 6) } else { (27, 18) };
        let predictor = predictor_of(&policy);
        let usual = spec("acc", Direction::Maximize, trials, epochs as u64);
        let spec = StudySpec { policy, burn_in: 3, predictor, ..usual };
        let case = Case { spec, values: made_up_curves(trials, epochs, Direction::Maximize), workers: 1 };
        let replayed = compare(&case, &name);
        let order: Vec<usize> = (0..trials as usize).collect();
        let log = live(&case, &order);
        let decided = |records: &[Record]| -> Vec<Record> {
            records.iter().filter(|record| matches!(record, Record::Decided(_))).cloned().collect()
        };
        assert_eq!(replayed.is_empty(), name == "none", "{name}");
        let mut session =
            Session::open(case.spec.clone(), (&catalogue()).into(), MemoryStore::default()).unwrap();
        while let Some(start) = session.ask().unwrap() {
            for step in start.from + 1..=start.until {
                let value = case.values[start.trial as usize][step as usize - 1];
                if session.report(start.trial, step, value, BTreeMap::new()).unwrap().stop {
                    break;
                }
            }
            session.tell(start.trial, TrainingEnd::Finished).unwrap();
        }
        assert_eq!(decided(session.store().records()), decided(&log), "{name} in a session");
        let starts = |at: &usize| matches!(log[*at], Record::Started { .. });
        for at in (0..log.len()).filter(starts).step_by(5) {
            let before = session.store().records();
            let cut = before.iter().position(|record| *record == log[at]).expect("the same start");
            let restored = Study::restore(
                case.spec.clone(),
                (&catalogue()).into(),
                before[..cut].iter().cloned().map(Ok::<_, std::convert::Infallible>),
            );
            let mut restored = restored.unwrap();
            for record in &log[at..] {
                let input = match record {
                    Record::Started { .. } => StudyInput::WorkerIdle,
                    Record::Reported { trial, step, value, metrics } => StudyInput::Reported {
                        trial: *trial,
                        step: *step,
                        value: *value,
                        metrics: metrics.clone(),
                    },
                    Record::Completed { trial } | Record::Failed { trial, .. } => {
                        StudyInput::Ended { trial: *trial, failure: None }
                    }
                    _ => continue,
                };
                let says = restored.step(&input);
                assert!(
                    says.contains(record),
                    "{name}, restarted before record {at}: {says:?} without {record:?}"
                );
            }
        }
    }
}

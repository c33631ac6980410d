//! Studies with several objectives and limits, driven by made-up trainings.

use foretell::{Configuration, Direction};
use foretell_search::{
    Decision, ForecastRule, FrontStep, GpSampling, Kappa, Limit, MemoryStore, Objective, ParameterSpace,
    ParetoFront, RandomSampling, Reason, Record, Reference, SamplerSpec, Schedule, Session, Space,
    StopPolicy, Study, StudyParts, StudyRequest, StudySpec, TpeGpSampling, TpeSampling, TrainingEnd,
    TrialState, plan,
};
use std::collections::BTreeMap;

const EPOCHS: u64 = 10;
const NAMES: [&str; 2] = ["lr", "width"];

fn spec(objectives: &[&str], limits: &[&str]) -> StudySpec {
    let space = Space::Parameters(ParameterSpace::parse(&["lr=log:1e-4:1", "width=int:1:64"]).unwrap());
    StudySpec {
        sampler: SamplerSpec::from(RandomSampling),
        max_resource: EPOCHS,
        seed: 3,
        objectives: objectives
            .iter()
            .map(|text| Objective::parse_with_names(text, &NAMES).unwrap())
            .collect(),
        limits: limits.iter().map(|text| Limit::parse_with_names(text, &NAMES).unwrap()).collect(),
        ..StudySpec::new(space, "val_acc", Direction::Maximize)
    }
}

fn number(configuration: &Configuration, name: &str) -> f64 {
    configuration[name].as_number().unwrap()
}

/// Wider networks end better, at a learning rate near 0.01.
fn accuracy(configuration: &Configuration, step: u64) -> f64 {
    let (lr, width) = (number(configuration, "lr"), number(configuration, "width"));
    let top = 0.5 + 0.06 * width.log2() - 0.1 * (lr.log10() + 2.0).abs();
    top * (1.0 - 0.6_f64.powi(step as i32)) + 0.002 * (lr * 1e5 + step as f64).sin()
}

/// The values that are reported in addition to the accuracy after a step.
type Beside = fn(&Configuration, u64) -> Vec<(&'static str, f64)>;

fn run_in(spec: StudySpec, beside: Beside) -> Session {
    let mut session = Session::open(spec, StudyParts::default(), MemoryStore::default()).unwrap();
    while let Some(start) = session.ask().unwrap() {
        for step in start.from + 1..=start.until {
            let metrics: BTreeMap<String, f64> = beside(&start.configuration, step)
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect();
            if session.report(start.trial, step, accuracy(&start.configuration, step), metrics).unwrap().stop
            {
                break;
            }
        }
        session.tell(start.trial, TrainingEnd::Finished).unwrap();
    }
    session
}

fn nothing(_: &Configuration, _: u64) -> Vec<(&'static str, f64)> {
    Vec::new()
}

fn records(session: &Session) -> Vec<Record> {
    use foretell_search::Store;
    session.store().read_from(0).unwrap().map(Result::unwrap).collect()
}

fn decisions(session: &Session) -> Vec<Decision> {
    let decided = |record| match record {
        Record::Decided(decision) => Some(decision),
        _ => None,
    };
    records(session).into_iter().filter_map(decided).collect()
}

/// The trials that no other is better than, were all trained to their end.
fn front(study: &Study, costs: impl Fn(&Configuration) -> Vec<f64>) -> Vec<usize> {
    let all: Vec<(f64, Vec<f64>)> = study
        .trials()
        .iter()
        .map(|trial| (accuracy(&trial.configuration, EPOCHS), costs(&trial.configuration)))
        .collect();
    let dominates = |a: &(f64, Vec<f64>), b: &(f64, Vec<f64>)| {
        a.0 >= b.0 && a.1.iter().zip(&b.1).all(|(a, b)| a <= b) && a != b
    };
    (0..all.len()).filter(|&i| !all.iter().any(|other| dominates(other, &all[i]))).collect()
}

fn is_completed(study: &Study, trial: usize) -> bool {
    matches!(study.trials()[trial].state, TrialState::Completed { .. })
}

#[test]
fn objectives_in_which_all_trials_are_alike_change_no_bit() {
    for nth_best in [1, 2] {
        let mut alone = StudySpec { policy: ForecastRule.into(), ..spec(&[], &[]) };
        alone.criterion.nth_best = nth_best;
        let mut alike = spec(&["0*width:min", "lr^0:max"], &["lr<=1", "width>=0"]);
        alike.criterion.nth_best = nth_best;
        let (alone, alike) = (run_in(alone, nothing), run_in(alike, nothing));
        assert!(decisions(&alone).iter().any(|decision| decision.reason == Reason::WillNotWin));
        assert_eq!(records(&alone)[1..], records(&alike)[1..]);
    }
}

#[test]
fn the_front_is_kept_and_what_is_dominated_is_stopped() {
    let costs = |configuration: &Configuration| vec![number(configuration, "width")];
    let session = run_in(spec(&["width:min"], &[]), nothing);
    let (study, front) = (session.study(), front(session.study(), costs));
    let kept = front.iter().filter(|&&trial| is_completed(study, trial)).count();
    let stopped = study.progress().trials.stopped;
    assert!(front.len() >= 5 && kept == front.len(), "{kept} of {} kept", front.len());
    assert!(stopped >= 10, "{stopped} stopped");
    for decision in decisions(&session).iter().filter(|decision| decision.reason == Reason::WillNotWin) {
        let width = |trial: usize| number(&study.trials()[trial].configuration, "width");
        let beaten = (0..study.trials().len()).any(|other| {
            let same = |value: f64| decision.incumbent == Some(value);
            matches!(study.trials()[other].state, TrialState::Completed { value } if same(value))
                && width(other) <= width(decision.trial as usize)
        });
        assert!(beaten, "{decision:?}");
    }
    let alone = run_in(spec(&[], &[]), nothing);
    let kept_alone = front.iter().filter(|&&trial| is_completed(alone.study(), trial)).count();
    assert!(kept_alone < kept, "one objective loses the front: {kept_alone} of {}", front.len());
}

#[test]
fn the_hypervolume_grows_with_each_trial_that_joins_the_front() {
    for objectives in [&["width:min"][..], &["width:min", "lr:min"]] {
        let session = run_in(spec(objectives, &[]), nothing);
        let front = ParetoFront::new(session.study()).unwrap();
        let grows = |pair: &[FrontStep]| {
            pair[0].epochs < pair[1].epochs && pair[0].hypervolume <= pair[1].hypervolume
        };
        assert!(front.growth.windows(2).all(grows), "{:?}", front.growth);
        let (first, last) = (&front.growth[0], front.growth.last().unwrap());
        assert_eq!((first.epochs, last.hypervolume), (EPOCHS, front.hypervolume));
        assert!(0.0 < front.hypervolume && front.hypervolume <= 1.0);
        let joined = |trial: u64| front.growth.iter().any(|step| step.trial == trial);
        assert!(front.trials.iter().all(|trial| joined(trial.trial)));
        let of_log = Study::resume(session.study().spec().clone(), &records(&session)).unwrap();
        assert_eq!(ParetoFront::new(&of_log), Some(front));
    }
}

#[test]
fn three_objectives_and_a_formula_work() {
    let costs = |configuration: &Configuration| {
        let (lr, width) = (number(configuration, "lr"), number(configuration, "width"));
        vec![width.powi(2), lr]
    };
    let session = run_in(spec(&["width^2:min", "lr:min"], &[]), nothing);
    let front = front(session.study(), costs);
    assert!(front.iter().all(|&trial| is_completed(session.study(), trial)));
    assert!(session.study().progress().trials.stopped >= 3);
}

#[test]
fn rungs_promote_the_trials_that_are_on_the_front_there() {
    let hyperband =
        Schedule::Hyperband { eta: 3, runs: 2, kappa: Kappa::default(), reference: Reference::Level };
    let costs = |configuration: &Configuration| vec![number(configuration, "width")];
    let mut sums = (0, 0);
    for schedule in
        [Schedule::Asha { eta: 3, rungs: None }, Schedule::SuccessiveHalving { eta: 3 }, hyperband]
    {
        let kept = |objectives: &[&str], limits: &[&str], beside: Beside| {
            let trials = 2 * plan(9, 3).unwrap().totals().configurations;
            let spec = spec(objectives, limits);
            let session = run_in(
                StudySpec { schedule, trials, max_resource: 9, policy: StopPolicy::none(), ..spec },
                beside,
            );
            let study = session.study();
            let kept = front(study, costs).iter().filter(|&&trial| is_completed(study, trial)).count();
            let widest = study.trials().iter().filter(|trial| trial.trained_epochs() == 9);
            (kept, widest.map(|trial| number(&trial.configuration, "width")).fold(0.0, f64::max))
        };
        let printed: Beside = |configuration, _| vec![("cost", number(configuration, "width"))];
        let last: Beside = |configuration, step| match step {
            9 => vec![("cost", number(configuration, "width"))],
            _ => Vec::new(),
        };
        let (alone, known) = (kept(&[], &[], nothing), kept(&["width:min"], &[], nothing));
        sums = (sums.0 + known.0, sums.1 + alone.0);
        assert_eq!(kept(&["cost:min"], &[], printed), known, "{schedule:?}");
        assert_eq!(kept(&["cost:min"], &[], last), alone, "{schedule:?}: it is not known at any rung");
        kept(&["lr:min", "width:min"], &[], nothing);
        // the last bracket of Hyperband has one rung, the end
        let widest = kept(&[], &["width<=20"], nothing).1;
        assert!(widest <= 20.0 || schedule == hyperband, "{schedule:?}: {widest}");
    }
    assert!(sums.0 > sums.1, "{} of the fronts by rank, {} by the metric alone", sums.0, sums.1);
}

#[test]
fn proposals_go_on_where_all_trials_are_paused_or_break_a_limit() {
    let printed: Beside = |configuration, _| vec![("cost", number(configuration, "width"))];
    let rungs = StudySpec {
        schedule: Schedule::SuccessiveHalving { eta: 3 },
        policy: StopPolicy::none(),
        max_resource: 9,
        trials: 40,
        ..spec(&["cost:min"], &[])
    };
    let broken = StudySpec { trials: 40, ..spec(&["cost:min"], &["cost<=0.5"]) };
    for sampler in
        [SamplerSpec::from(TpeSampling), SamplerSpec::from(GpSampling), SamplerSpec::from(TpeGpSampling)]
    {
        for spec in [&rungs, &broken] {
            let session = run_in(StudySpec { sampler: sampler.clone(), ..spec.clone() }, printed);
            assert_eq!(session.study().trials().len(), 40);
        }
    }
}

#[test]
fn what_is_reported_once_counts_from_then_on() {
    let early: Beside = |configuration, step| {
        if step == 1 { vec![("latency", number(configuration, "width"))] } else { Vec::new() }
    };
    let late: Beside = |configuration, step| {
        if step == EPOCHS { vec![("latency", number(configuration, "width"))] } else { Vec::new() }
    };
    let known = run_in(spec(&["width:min"], &[]), nothing);
    let states = |session: &Session| {
        session.study().trials().iter().map(|trial| trial.state.name()).collect::<Vec<_>>()
    };
    assert_eq!(states(&run_in(spec(&["latency:min"], &[]), early)), states(&known));
    let session = run_in(spec(&["latency:min"], &[]), late);
    assert_eq!(session.study().progress().trials.stopped, 0, "nothing is dominated in what is not known");
    assert!(
        decisions(&session)
            .iter()
            .any(|decision| matches!(&decision.reason, Reason::NoForecast(why) if why.contains("latency")))
    );
}

#[test]
fn a_trial_that_breaks_a_limit_is_stopped_and_beats_nobody() {
    let measured: Beside = |configuration, _| vec![("latency", number(configuration, "width"))];
    let watching = run_in(StudySpec { shadow: true, ..spec(&[], &["latency<=32"]) }, measured);
    assert_eq!(watching.study().progress().trials.stopped, 0);
    assert!(
        number(&watching.best().unwrap().configuration, "width") <= 32.0,
        "it was trained, and does not count"
    );
    let after_one = run_in(spec(&[], &["latency<=32"]), measured);
    assert!(after_one.study().trials().iter().all(|trial| !trial.breaks_limit || trial.cost() == 1));
}

#[test]
fn a_limit_of_the_metric_is_to_be_beaten() {
    let session = run_in(spec(&["width:min"], &["val_acc>=0.6"]), nothing);
    let wide = run_in(spec(&["width:min"], &[]), nothing);
    assert!(session.study().progress().trials.stopped > wide.study().progress().trials.stopped);
    assert!(decisions(&session).iter().any(|decision| decision.incumbent == Some(0.6)));
}

#[test]
fn a_log_told_again_is_the_same_study() {
    let measured: Beside = |configuration, _| vec![("latency", number(configuration, "width"))];
    let session = run_in(spec(&["latency:min", "lr:min"], &["latency<=50"]), measured);
    let log = records(&session);
    for cut in [1, log.len() / 3, log.len()] {
        let study = Study::resume(session.study().spec().clone(), &log[..cut]).unwrap();
        let again = Study::resume(study.spec().clone(), &log[..cut]).unwrap();
        assert_eq!(format!("{:?}", study.trials()), format!("{:?}", again.trials()));
    }
    let again = Study::resume(session.study().spec().clone(), &log).unwrap();
    assert_eq!(format!("{:?}", again.trials()), format!("{:?}", session.study().trials()));
    assert_eq!(again.best(), session.best());
}

#[test]
fn weights_and_multiply_adds_of_networks_are_known_beforehand() {
    let written: Vec<String> = ["val_acc", "weights:min", "flops:min"].map(str::to_owned).into();
    let request = StudyRequest {
        space: Some(foretell_paper::LayerSpace::default().into()),
        objective: Some(written),
        limit: Some(vec!["flops<=1e9".to_owned()]),
        ..StudyRequest::default()
    };
    let mut session = Session::new(request.resolve(None).unwrap()).unwrap();
    let start = session.ask().unwrap().unwrap();
    let study = session.study();
    let values = study.objective_values(study.trial(start.trial).unwrap());
    assert_eq!(values[0], start.configuration["weights"].as_number());
    assert!(values[1].unwrap() > values[0].unwrap(), "a weight of a convolution is used at many places");
}

#[test]
fn what_is_wrong_is_said_after_the_first_trials() {
    let mut session = Session::new(spec(&["latency:min"], &["memory<=2"])).unwrap();
    for number in 0..3 {
        assert_eq!(session.study().objective_problems(), [""; 0], "{number} have finished");
        let start = session.ask().unwrap().unwrap();
        for step in 1..=EPOCHS {
            let metrics = BTreeMap::from([("memory".to_owned(), 3.0 + number as f64)]);
            session.report(start.trial, step, accuracy(&start.configuration, step), metrics).unwrap();
        }
        session.tell(start.trial, TrainingEnd::Finished).unwrap();
    }
    let problems = session.study().objective_problems();
    assert!(
        problems
            .iter()
            .any(|problem| problem
                .starts_with("memory<=2: all 3 trials so far break it (the nearest value is 3)")),
        "{problems:?}"
    );
}

#[test]
fn what_cannot_be_a_study_is_refused_by_its_field() {
    let refused = |text: &str| {
        let fields = serde_json::from_str(text).unwrap();
        let request = StudyRequest::from_fields(&fields);
        let refusal = request.and_then(|request| request.resolve(None).map(drop)).unwrap_err();
        format!("{}: {}", refusal.field, refusal.reason)
    };
    let with =
        |rest: &str| refused(&format!(r#"{{"space": {{"lr": "log:1e-4:1", "width": "int:1:64"}}, {rest}}}"#));
    for (rest, said) in [
        (
            r#""objective": ["val_acc", "weights"]"#,
            "objective: the name weights does not show which way is better. Write weights:min or weights:max",
        ),
        (
            r#""objective": ["val_acc", "2*wide:min"]"#,
            "objective: 2*wide: unknown name wide. A formula can use lr, width",
        ),
        (r#""objective": ["val_acc", "lr:min", "lr:max"]"#, "objective: the objective lr is given twice"),
        (r#""objective": ["quality", "lr:min"]"#, "direction: the metric's name \"quality\" does not show"),
        (r#""metric": "width", "objective": ["width:min", "val_acc"]"#, "objective: width is a parameter"),
        (r#""objective": ["width:min", "val_acc"]"#, "objective: width is a parameter"),
        (
            r#""objective": ["val_acc:min"], "direction": "maximize""#,
            "objective: smaller values of val_acc are better here",
        ),
        (r#""objectives": {"val_acc": "up"}"#, "objectives: val_acc: expected \"min\" or \"max\""),
        (
            r#""limit": "latency<20""#,
            "limit: latency<20 is not a limit. Write a name or a formula, then <= or >=, then a number",
        ),
        (
            r#""objective": ["val_acc", "lr:min"], "scheduler": "asha", "epochs": 9, "policy": "srm""#,
            "policy: a policy at rungs compares trials by val_acc alone",
        ),
        (
            r#""objective": ["val_acc", "lr:min"], "scheduler": "asha", "epochs": 9, "rank": "mean""#,
            "rank: ranking by forecasts compares trials by val_acc alone",
        ),
        (
            r#""objective": ["val_acc", "lr:min"], "policy": "median""#,
            "policy: the policy median compares trials by val_acc alone",
        ),
    ] {
        let found = with(rest);
        assert!(found.starts_with(said), "{rest}: {found}");
    }
}

#[test]
fn a_request_has_objectives_in_all_its_forms() {
    let study = |rest: &str| {
        let text = format!(r#"{{"space": {{"lr": "log:1e-4:1"}}, {rest}}}"#);
        StudyRequest::from_fields(&serde_json::from_str(&text).unwrap()).unwrap().resolve(None).unwrap()
    };
    let list = study(r#""objective": ["val_loss", "weights:min"], "limit": ["weights<=1e6"]"#);
    assert_eq!(
        (list.metric.as_str(), list.direction, list.schedule),
        ("val_loss", Direction::Minimize, Schedule::Full)
    );
    assert_eq!(
        study(r#""objectives": {"val_loss": "min", "weights": "min"}, "limits": "weights<=1e6""#),
        list
    );
    assert_eq!(
        study(r#""metric": "val_loss", "objective": "weights:min", "limit": "weights <= 1000000""#),
        list
    );
    let written = serde_json::to_string(&list).unwrap();
    assert!(
        written.contains(
            r#""objectives":[{"of":"weights","direction":"minimize"}],"limits":["weights<=1000000"]"#
        ),
        "{written}"
    );
    assert_eq!(serde_json::from_str::<StudySpec>(&written).unwrap(), list);
    let there = StudyRequest { trials: Some(50), ..StudyRequest::default() }.resolve(Some(&list)).unwrap();
    assert_eq!((&there.objectives, &there.limits), (&list.objectives, &list.limits));
    let budget = study(r#""objective": ["val_acc", "lr:min"], "budget_epochs": 200"#);
    assert_eq!((budget.schedule, budget.policy), (Schedule::Full, StopPolicy::from(ForecastRule)));
}

#[test]
fn proposals_look_for_all_parts_of_the_front() {
    let found = |sampler: SamplerSpec| -> f64 {
        let volume = |seed| {
            let spec = StudySpec {
                trials: 60,
                policy: StopPolicy::none(),
                seed,
                sampler: sampler.clone(),
                ..spec(&["width:min"], &[])
            };
            let session = run_in(spec, nothing);
            let all: Vec<(f64, f64)> = session
                .study()
                .trials()
                .iter()
                .map(|trial| (accuracy(&trial.configuration, EPOCHS), number(&trial.configuration, "width")))
                .collect();
            // the mean over widths of the best accuracy of what is no wider
            (1..=64)
                .map(|width| {
                    all.iter()
                        .filter(|trial| trial.1 <= f64::from(width))
                        .map(|trial| trial.0)
                        .fold(0.0, f64::max)
                })
                .sum::<f64>()
                / 64.0
        };
        (0..4).map(volume).sum::<f64>() / 4.0
    };
    let (random, tpe_gp) =
        (found(SamplerSpec::from(RandomSampling)), found(SamplerSpec::from(TpeGpSampling)));
    assert!(tpe_gp > random, "{tpe_gp} against {random}");
}

#[test]
fn a_study_that_goes_on_proposes_the_same() {
    let spec =
        StudySpec { trials: 24, sampler: SamplerSpec::from(TpeGpSampling), ..spec(&["width:min"], &[]) };
    let whole = run_in(spec.clone(), nothing);
    let log = records(&whole);
    let half: Vec<Record> = log.iter().take_while(|record| record.trials_started() < 15).cloned().collect();
    let mut study = Study::resume(spec, &half).unwrap();
    let next = study.step(&foretell_search::StudyInput::WorkerIdle);
    let started = |records: &[Record]| {
        records.iter().find_map(|record| match record {
            Record::Started { trial: 14, configuration, .. } => Some(configuration.clone()),
            _ => None,
        })
    };
    assert!(started(&next).is_some());
    assert_eq!(started(&next), started(&log));
}

#[test]
fn q_learning_learns_from_its_reward() {
    let request = |reward: &str| StudyRequest {
        space: Some(foretell_paper::LayerSpace::default().into()),
        sampler: Some("q-learning".into()),
        metric: Some("val_acc".to_owned()),
        trials: Some(3),
        epochs: Some(2),
        reward: Some(reward.to_owned()),
        ..StudyRequest::default()
    };
    let resolved = |request: StudyRequest| request.resolve_with(None, &foretell_paper::full_catalogue());
    let mut session = Session::new(resolved(request("val_acc - 1e-9*weights")).unwrap()).unwrap();
    let start = session.ask().unwrap().unwrap();
    session.report(start.trial, 1, 0.4, BTreeMap::new()).unwrap();
    session.report(start.trial, 2, 0.5, BTreeMap::new()).unwrap();
    session.tell(start.trial, TrainingEnd::Finished).unwrap();
    let weights = number(&start.configuration, "weights");
    let told = session.study().learned_state().unwrap().to_string();
    assert!(told.contains(&format!("{}", 0.5 - 1e-9 * weights)), "{told}");
    let refused = |request: StudyRequest| resolved(request).unwrap_err().to_string();
    assert_eq!(
        refused(request("val_acc - weight")),
        "reward: val_acc - weight: unknown name weight. A formula can use net, weights, layers, flops, val_acc"
    );
    let random = StudyRequest { sampler: None, ..request("val_acc") };
    assert!(refused(random).starts_with("reward: only q-learning learns from a reward"));
}

#[test]
fn an_objective_that_is_a_curve_is_forecast_too() {
    let falling: Beside = |configuration, step| {
        let width = number(configuration, "width");
        vec![("latency", width * (1.0 + 0.5_f64.powi(step as i32)))]
    };
    let costs = |configuration: &Configuration| vec![number(configuration, "width")];
    let session = run_in(spec(&["latency:min"], &[]), falling);
    let (study, front) = (session.study(), front(session.study(), costs));
    assert!(study.progress().trials.stopped >= 8, "{:?}", study.progress().trials);
    let kept = front.iter().filter(|&&trial| is_completed(study, trial)).count();
    assert!(kept == front.len(), "{kept} of {} kept", front.len());
    let log = records(&session);
    let again = Study::resume(study.spec().clone(), &log).unwrap();
    assert_eq!(again.best(), session.best());
}

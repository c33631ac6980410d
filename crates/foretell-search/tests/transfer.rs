//! Where a second search starts: the configurations of an earlier study that are tried again.

use foretell::{Configuration, Curve, Direction, Run, Value};
use foretell_search::{
    GridSampling, ParameterSpace, Record, SamplerSpec, Space, Study, StudyInput, StudyRequest, StudySpec,
};
use std::collections::BTreeMap;

const EPOCHS: u64 = 5;

fn configuration(lr: f64) -> Configuration {
    [("lr".to_owned(), Value::Number(lr)), ("gone".to_owned(), Value::Number(1.0))].into()
}

/// The trials of a study called `name`: their learning rates and final accuracies.
fn earlier(name: &str, trials: &[(f64, f64)]) -> Vec<Run> {
    let run = |(number, &(lr, end)): (usize, &(f64, f64))| {
        let values: Vec<f64> = (1..=EPOCHS).map(|epoch| end * epoch as f64 / EPOCHS as f64).collect();
        Run {
            id: format!("foretell-out/{name} trial {number}"),
            configuration: configuration(lr),
            curve: Curve::from_epoch_values(&values, Direction::Maximize),
        }
    };
    trials.iter().enumerate().map(run).collect()
}

fn spec(parameters: &[&str]) -> StudySpec {
    let request = StudyRequest {
        space: Some(Space::Parameters(ParameterSpace::parse(parameters).unwrap())),
        metric: Some("val_acc".to_owned()),
        epochs: Some(EPOCHS),
        trials: Some(30),
        stopping: Some(false),
        ..StudyRequest::default()
    };
    request.resolve(None).unwrap()
}

/// Runs the study to its end, one trial at a time; a trial ends with `value` of its number and configuration. All records.
fn run(study: &mut Study, value: impl Fn(u64, &Configuration) -> f64) -> Vec<Record> {
    let mut records = Vec::new();
    while !study.is_done() {
        let started = study.step(&StudyInput::WorkerIdle);
        let Some(Record::Started { trial, configuration, .. }) =
            started.iter().find(|record| matches!(record, Record::Started { .. }))
        else {
            break;
        };
        let (trial, end) = (*trial, value(*trial, configuration));
        records.extend(started.clone());
        for step in 1..=EPOCHS {
            let metrics = BTreeMap::new();
            records.extend(study.step(&StudyInput::Reported { trial, step, value: Some(end), metrics }));
        }
        records.extend(study.step(&StudyInput::Ended { trial, failure: None }));
    }
    records
}

fn repeated_trials(study: &Study) -> Vec<usize> {
    let is_repeated =
        |(number, trial): (usize, &foretell_search::Trial)| trial.earlier.as_ref().map(|_| number);
    study.trials().iter().enumerate().filter_map(is_repeated).collect()
}

#[test]
fn the_best_earlier_trial_follows_the_scripts_own_and_fits_the_space() {
    let own: Configuration =
        [("lr".to_owned(), Value::Number(0.1)), ("new".to_owned(), Value::Number(7.0))].into();
    let mut asked = spec(&["lr=log:1e-3:0.5", "new=int:1:9"]);
    asked.queue = vec![own.clone()];
    let mut study = Study::new(asked).unwrap();
    study.warm_start(&earlier("first", &[(0.02, 0.6), (3.0, 0.9), (0.3, 0.7)]));
    run(&mut study, |trial, _| 0.5 + 0.01 * trial as f64);
    let trials = study.trials();
    assert_eq!(trials[0].configuration, own);
    assert_eq!(
        trials[1].configuration["lr"],
        Value::Number(0.5),
        "a value outside its range is clipped to it"
    );
    assert_eq!(
        trials[1].configuration["new"],
        Value::Number(7.0),
        "a new parameter has the script's own value"
    );
    assert_eq!(trials[1].configuration.len(), 2, "one that is gone is dropped");
    assert_eq!(trials[1].earlier.as_ref().unwrap().to_string(), "the best trial of first (0.9000)");
    assert_eq!(repeated_trials(&study), [1], "it doesn't lead, so no other one follows");
}

#[test]
fn further_ones_follow_every_second_time_while_they_lead_and_the_log_restores_them() {
    let runs: Vec<(f64, f64)> =
        (0..20).map(|i| (10_f64.powf(-4.0 + 0.2 * f64::from(i)), 0.5 + 0.01 * f64::from(i))).collect();
    let asked = spec(&["lr=log:1e-4:1"]);
    let mut study = Study::new(asked.clone()).unwrap();
    let mut records = vec![Record::Created { study: Box::new(asked.clone()) }];
    records.extend(study.warm_start(&earlier("first", &runs)));
    // whatever is repeated is the best of this search
    let first = earlier("first", &runs);
    let is_earlier = |configuration: &Configuration| {
        first.iter().any(|run| run.configuration["lr"] == configuration["lr"])
    };
    records.extend(run(&mut study, |_, configuration| if is_earlier(configuration) { 0.9 } else { 0.4 }));
    let many = repeated_trials(&study).len();
    assert!((3..=8).contains(&many), "{many}: as many as are far from all trials, and eight at most");
    assert_eq!(repeated_trials(&study), (0..many).map(|i| 2 * i).collect::<Vec<_>>(), "every second one");
    let rates: Vec<f64> = repeated_trials(&study)
        .iter()
        .map(|&i| study.trials()[i].configuration["lr"].as_number().unwrap())
        .collect();
    for (i, a) in rates.iter().enumerate() {
        let is_far = |b: &f64| ((a / b).log10() / 4.0).abs() > 0.099;
        assert!(rates[..i].iter().all(is_far), "{rates:?}");
    }
    let again = Study::restore(
        asked,
        foretell_search::StudyParts::default(),
        records.iter().cloned().map(Ok::<_, std::convert::Infallible>),
    )
    .unwrap();
    assert_eq!(repeated_trials(&again), repeated_trials(&study));
}

#[test]
fn nothing_is_repeated_where_it_would_mislead() {
    let good = earlier("first", &[(0.02, 0.6), (0.1, 0.9)]);
    let flat = earlier("flat", &[(0.02, 0.5), (0.1, 0.5)]);
    let with = |spec: StudySpec, runs: &[Run]| {
        let mut study = Study::new(spec).unwrap();
        study.warm_start(runs);
        run(&mut study, |trial, _| 0.5 + 0.01 * trial as f64);
        repeated_trials(&study)
    };
    let usual = || spec(&["lr=log:1e-3:0.5"]);
    assert_eq!(with(usual(), &good), [0]);
    assert_eq!(with(usual(), &flat), [0; 0], "values that don't differ say nothing");
    assert_eq!(
        with(usual(), &[good.clone(), flat].concat()),
        [0],
        "an earlier study that says something counts"
    );
    assert_eq!(with(spec(&["other=float:0:1"]), &good), [0; 0], "no parameter is left");
    let grid =
        StudySpec { sampler: SamplerSpec::from(GridSampling), trials: 4, ..spec(&["lr=float:0.1:0.4:0.1"]) };
    assert_eq!(with(grid, &good), [0; 0], "a grid is complete without it");
    let own = |lr| -> Configuration { [("lr".to_owned(), Value::Number(lr))].into() };
    let planned = StudySpec { queue: vec![own(0.1), own(0.2)], ..usual() };
    assert_eq!(with(planned, &good), [0; 0], "somebody has a plan of his own");
}

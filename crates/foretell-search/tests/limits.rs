//! Limits on parameters and trials that run out of memory: samplers draw again.

use foretell::{Configuration, Direction, Value};
use foretell_search::{
    GpSampling, GridSampling, ParameterSpace, RandomSampling, SamplerSpec, Schedule, Session, Space,
    StopPolicy, StudySpec, TpeGpSampling, TpeSampling, TrainingEnd, TrialState,
};
use std::collections::BTreeMap;

fn spec(texts: &[&str], limits: &[&str], sampler: SamplerSpec) -> StudySpec {
    let space = Space::Parameters(ParameterSpace::parse(texts).unwrap());
    let known = space.known_names();
    let limits =
        limits.iter().map(|text| foretell_search::Limit::parse_with_names(text, &known).unwrap()).collect();
    StudySpec {
        limits,
        sampler,
        trials: 30,
        max_resource: 1,
        policy: StopPolicy::none(),
        ..StudySpec::new(space.clone(), "val_acc", Direction::Maximize)
    }
}

fn number(configuration: &Configuration, name: &str) -> f64 {
    configuration[name].as_number().unwrap()
}

/// Runs the study of `spec`; a trial whose configuration `fails` so ends so, and the others report their `a`.
fn run(spec: StudySpec, fails: impl Fn(&Configuration) -> Option<&'static str>) -> Session {
    let mut session = Session::new(spec).unwrap();
    while let Some(start) = session.ask().unwrap() {
        if let Some(why) = fails(&start.configuration) {
            session.tell(start.trial, TrainingEnd::Failed(why.to_owned())).unwrap();
            continue;
        }
        let value = start.configuration.get("a").and_then(Value::as_number).unwrap_or(0.5);
        session.report(start.trial, start.until, value, BTreeMap::new()).unwrap();
        session.tell(start.trial, TrainingEnd::Finished).unwrap();
    }
    session
}

fn samplers() -> [SamplerSpec; 4] {
    [RandomSampling.into(), TpeSampling.into(), GpSampling.into(), TpeGpSampling.into()]
}

#[test]
fn every_sampler_draws_from_the_allowed_region_and_all_trials_are_trained() {
    for sampler in samplers() {
        let name = sampler.name().to_owned();
        let spec = spec(&["a=int:1:512", "b=int:1:512", "lr=log:1e-4:1"], &["a*b<=4096"], sampler);
        let session = run(spec, |_| None);
        let trials = session.study().trials();
        assert_eq!(trials.len(), 30, "{name}");
        for trial in trials {
            assert!(
                number(&trial.configuration, "a") * number(&trial.configuration, "b") <= 4096.0,
                "{name}"
            );
            assert!(matches!(trial.state, TrialState::Completed { .. }), "{name}: {:?}", trial.state);
        }
    }
    let grid = spec(&["a=int:1:8", "b=int:1:8"], &["a*b<=3"], GridSampling.into());
    let session = run(grid, |_| None);
    assert_eq!(session.study().trials().len(), 5, "1·1, 1·2, 1·3, 2·1 and 3·1");
    assert!(session.study().is_space_spent());
}

#[test]
fn a_restored_study_proposes_what_it_would_have_proposed() {
    let spec = spec(&["a=int:1:512", "b=int:1:512"], &["a*b<=4096"], TpeGpSampling.into());
    let session = run(spec.clone(), |c| (number(c, "a") > 100.0).then_some("exit code 137"));
    let whole = session.store().records().to_vec();
    let full = foretell_search::Study::resume(spec.clone(), &whole).unwrap();
    for cut in [whole.len() / 3, whole.len() / 2] {
        let until =
            whole[..cut].iter().rposition(|r| matches!(r, foretell_search::Record::Started { .. })).unwrap();
        let mut study = foretell_search::Study::resume(spec.clone(), &whole[..until]).unwrap();
        let next = study.trials().len();
        study.step(&foretell_search::StudyInput::WorkerIdle);
        assert_eq!(study.trials()[next].configuration, full.trials()[next].configuration);
    }
}

#[test]
fn limits_that_allow_hardly_anything_are_refused_before_the_first_trial() {
    let texts = ["a=int:1:1000", "b=int:1:1000"];
    let tight = spec(&texts, &["a*b<=5"], RandomSampling.into());
    let said = Session::new(tight).map(drop).unwrap_err().to_string();
    assert!(said.contains("a*b<=5: fewer than 1 in 1000 configurations of the space keep this"), "{said}");
    assert!(said.contains("Change the limit"), "{said}");
    let impossible = spec(&texts, &["a<=0", "latency<=3"], TpeSampling.into());
    let said = Session::new(impossible).map(drop).unwrap_err().to_string();
    assert!(said.contains("a<=0: fewer than") && said.contains("(0 of 10000"), "{said}");
    // what trials report is not known, and a grid finds a single one
    assert!(Session::new(spec(&texts, &["latency<=0"], RandomSampling.into())).is_ok());
    assert!(Session::new(spec(&["a=int:1:1000", "b=int:1:1000"], &["a*b<=1"], GridSampling.into())).is_ok());
}

#[test]
fn a_queued_trial_that_breaks_a_limit_is_refused_and_one_in_part_is_completed_within() {
    let mut queued = spec(&["a=int:1:100", "b=int:1:100"], &["a*b<=200"], RandomSampling.into());
    let Space::Parameters(space) = queued.space.clone() else { unreachable!() };
    queued.queue = vec![space.read_configuration("a=50,b=50").unwrap()];
    let said = Session::new(queued.clone()).map(drop).unwrap_err().to_string();
    assert!(said.contains("breaks the limit a*b<=200, because it has 2500"), "{said}");
    queued.queue = vec![space.read_configuration("a=50").unwrap()];
    let session = run(queued, |_| None);
    let first = &session.study().trials()[0].configuration;
    assert!((number(first, "a") - 50.0).abs() < 1e-9 && number(first, "b") <= 4.0, "{first:?}");
}

#[test]
fn a_configuration_that_ran_out_of_memory_is_not_proposed_again_nor_near_it_a_larger_batch() {
    for sampler in samplers() {
        let name = sampler.name().to_owned();
        let spec = spec(&["batch=choice:16,32,64,128,256,512", "a=float:0:1"], &[], sampler);
        let session = run(spec, |c| (number(c, "batch") >= 128.0).then_some("exit code 137"));
        let trials = session.study().trials();
        let failed: Vec<usize> = (0..trials.len()).filter(|&i| trials[i].state.is_out_of_memory()).collect();
        let tally = session.study().progress().trials;
        assert_eq!((tally.out_of_memory, tally.failed), (failed.len() as u64, failed.len() as u64), "{name}");
        assert!(!failed.is_empty() && failed.len() < 20, "{name}: {failed:?}");
        for &first in &failed {
            for later in &trials[first + 1..] {
                let (before, after) = (&trials[first].configuration, &later.configuration);
                assert_ne!(before, after, "{name}");
                let is_near = (number(before, "a") - number(after, "a")).abs() <= 0.25;
                let is_larger = number(after, "batch") > number(before, "batch");
                assert!(!(is_near && is_larger), "{name}: {before:?} and then {after:?}");
            }
        }
    }
}

#[test]
fn a_space_in_which_nothing_else_fits_is_spent_and_a_search_whose_first_trials_do_not_fit_goes_on() {
    let texts = ["batch=choice:16,32,64,128"];
    let ten = spec(&texts, &[], RandomSampling.into());
    let session = run(ten, |c| (number(c, "batch") >= 32.0).then_some("CUDA out of memory"));
    let trials = session.study().trials();
    assert!(session.study().is_space_spent() && trials.len() <= 4, "{}", trials.len());
    assert!(trials.iter().any(|trial| matches!(trial.state, TrialState::Completed { .. })));
    // rungs need their trials: a configuration is trained once more, but none that did not fit
    let rungs = StudySpec {
        schedule: Schedule::Asha { eta: 3, rungs: None },
        max_resource: 9,
        ..spec(&texts, &[], RandomSampling.into())
    };
    let session = run(rungs, |c| (number(c, "batch") >= 128.0).then_some("MemoryError"));
    assert_eq!(session.study().progress().trials.out_of_memory, 1);
}

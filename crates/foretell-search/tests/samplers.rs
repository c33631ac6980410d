//! The samplers that learn: on functions with a known best, after restarts, with several workers and in spaces that are spent.

use foretell::{Configuration, Direction, Value};
use foretell_search::{
    AshaRule, GpSampling, GridSampling, ParameterSpace, RandomSampling, Rank, Record, Sampler, SamplerSpec,
    Schedule, Space, StopPolicy, Study, StudyInput, StudyParts, StudySpec, TpeGpSampling, TpeSampling,
    TrialState, Worth, trial_stream,
};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

type Function = fn(&Configuration) -> f64;

fn number(configuration: &Configuration, name: &str) -> f64 {
    configuration[name].as_number().unwrap_or(0.0)
}

fn spec(texts: &[&str], sampler: SamplerSpec, seed: u64) -> StudySpec {
    StudySpec {
        sampler,
        trials: 60,
        max_resource: 1,
        burn_in: 1,
        policy: StopPolicy::none(),
        seed,
        ..StudySpec::new(
            Space::Parameters(ParameterSpace::parse(texts).unwrap()),
            "score",
            Direction::Maximize,
        )
    }
}

fn report(trial: u64, step: u64, value: f64) -> StudyInput {
    StudyInput::Reported { trial, step, value: Some(value), metrics: BTreeMap::new() }
}

/// Runs a study to its end with one worker; the value of a trial after `step` is `value`.
fn driven(study: &mut Study, value: impl Fn(&Configuration, u64) -> f64) -> Vec<Record> {
    let mut log = Vec::new();
    loop {
        let records = study.step(&StudyInput::WorkerIdle);
        let Some(first) = records.first().cloned() else { return log };
        log.extend(records);
        // a trial that a restart found trained as far as wanted is closed, and not started
        let Record::Started { trial, configuration, from, until, .. } = first else { continue };
        for step in from + 1..=until {
            log.extend(study.step(&report(trial, step, value(&configuration, step))));
            if !study.is_running(trial) {
                break;
            }
        }
        log.extend(study.step(&StudyInput::Ended { trial, failure: None }));
    }
}

/// The best after all trials, averaged over twelve seeds.
fn mean_best(texts: &[&str], sampler: &SamplerSpec, function: Function) -> f64 {
    let best = |seed| {
        let mut study = Study::new(spec(texts, sampler.clone(), seed)).unwrap();
        driven(&mut study, |configuration, _| function(configuration));
        study.best().unwrap().score
    };
    (0..12).map(best).sum::<f64>() / 12.0
}

const MIXED: [&str; 5] =
    ["lr=log:1e-5:1", "n=int:1:8", "o=choice:a,b,c", "m=float:0:1 if o=b", "w=logint:8:512"];

/// Best, 0, at lr = 1e-3, n = 6, o = b, m = 0.9, w = 128.
fn mixed_space_score(configuration: &Configuration) -> f64 {
    let lr = (number(configuration, "lr").log10() + 3.0).powi(2) / 4.0;
    let n = (number(configuration, "n") - 6.0).abs() / 7.0;
    let w = ((number(configuration, "w") / 128.0).log2() / 4.0).powi(2);
    let o = match configuration["o"].as_text() {
        Some("b") => (number(configuration, "m") - 0.9).powi(2),
        Some("a") => 0.5,
        _ => 1.0,
    };
    -(lr + n + w + o)
}

#[test]
fn all_find_more_than_random_draws_do() {
    let branin: Function = |c| {
        let (x, y) = (number(c, "x"), number(c, "y"));
        let pi = std::f64::consts::PI;
        let a = y - 5.1 / (4.0 * pi * pi) * x * x + 5.0 / pi * x - 6.0;
        -(a * a + 10.0 * (1.0 - 1.0 / (8.0 * pi)) * x.cos() + 10.0) + 0.397_887
    };
    let spaces: [(&[&str], Function); 2] =
        [(&["x=float:-5:10", "y=float:0:15"], branin), (&MIXED, mixed_space_score)];
    for (texts, function) in spaces {
        let random = mean_best(texts, &SamplerSpec::from(RandomSampling), function);
        for sampler in
            [SamplerSpec::from(TpeSampling), SamplerSpec::from(GpSampling), SamplerSpec::from(TpeGpSampling)]
        {
            let found = mean_best(texts, &sampler, function);
            assert!(
                found > 0.6 * random,
                "{sampler:?} {found} against {random} of random draws on {texts:?}"
            );
        }
    }
}

/// A curve of 9 epochs that rises to the score of the mixed space plus 2.
fn rising(configuration: &Configuration, step: u64) -> f64 {
    (mixed_space_score(configuration) + 2.0) * (1.0 - 0.5_f64.powi(step as i32))
}

#[test]
fn a_restart_at_any_record_proposes_the_same() {
    let asha = |rungs| Schedule::Asha { eta: 3, rungs };
    for sampler in
        [SamplerSpec::from(TpeSampling), SamplerSpec::from(GpSampling), SamplerSpec::from(TpeGpSampling)]
    {
        for (schedule, policy, rank) in [
            (asha(None), StopPolicy::none(), Rank::Value),
            (asha(Some(2)), StopPolicy::none(), Rank::Mean),
            (Schedule::Full, StopPolicy::from(AshaRule { eta: 3 }), Rank::Value),
        ] {
            let spec = StudySpec {
                trials: 40,
                max_resource: 9,
                schedule,
                policy,
                rank,
                burn_in: 3,
                predictor: "ridge".to_owned(),
                ..spec(&MIXED, sampler.clone(), 3)
            };
            let mut study = Study::new(spec.clone()).unwrap();
            let mut log = vec![Record::Created { study: Box::new(spec.clone()) }];
            log.extend(driven(&mut study, rising));
            let starts = (1..log.len()).filter(|&i| matches!(log[i], Record::Started { .. }));
            for at in starts.step_by(3) {
                let mut restored = Study::resume(spec.clone(), &log[..at]).unwrap();
                assert_eq!(restored.step(&StudyInput::WorkerIdle)[0], log[at], "record {at}, {schedule:?}");
            }
        }
    }
}

#[test]
fn a_restart_in_the_middle_of_a_trial_goes_on_with_it_and_then_proposes_the_same() {
    for sampler in
        [SamplerSpec::from(TpeSampling), SamplerSpec::from(GpSampling), SamplerSpec::from(TpeGpSampling)]
    {
        let schedule = Schedule::Asha { eta: 3, rungs: Some(2) };
        let spec = StudySpec { trials: 25, max_resource: 9, schedule, ..spec(&MIXED, sampler, 4) };
        let mut study = Study::new(spec.clone()).unwrap();
        let mut log = vec![Record::Created { study: Box::new(spec.clone()) }];
        log.extend(driven(&mut study, rising));
        let proposals = |log: &[Record]| -> Vec<Configuration> {
            let new = |record: &Record| match record {
                Record::Started { from: 0, configuration, .. } => Some(configuration.clone()),
                _ => None,
            };
            log.iter().filter_map(new).collect()
        };
        let reports = (1..log.len()).filter(|&i| matches!(log[i], Record::Reported { .. }));
        for at in reports.step_by(11) {
            let mut restored = Study::resume(spec.clone(), &log[..=at]).unwrap();
            driven(&mut restored, rising);
            let all: Vec<Configuration> =
                restored.trials().iter().map(|trial| trial.configuration.clone()).collect();
            assert_eq!(all, proposals(&log), "record {at}");
        }
    }
}

#[test]
fn eight_workers_propose_no_configuration_twice_and_end_when_all_were_tried() {
    for sampler in [
        SamplerSpec::from(RandomSampling),
        SamplerSpec::from(GridSampling),
        SamplerSpec::from(TpeSampling),
        SamplerSpec::from(GpSampling),
        SamplerSpec::from(TpeGpSampling),
    ] {
        let texts = ["o=choice:a,b,c,d,e", "n=int:1:8", "m=choice:0,1 if o=b"];
        let count = 4 * 8 + 8 * 2;
        let spec = StudySpec { trials: count + 4, ..spec(&texts, sampler, 1) };
        let mut study = Study::new(spec).unwrap();
        let mut running = Vec::new();
        let mut proposed = Vec::new();
        while let Some(Record::Started { trial, configuration, .. }) =
            study.step(&StudyInput::WorkerIdle).first()
        {
            proposed.push(configuration.clone());
            running.push((*trial, number(configuration, "n")));
            if running.len() == 8 {
                let (trial, value) = running.remove((proposed.len() * 5) % 8);
                study.step(&report(trial, 1, value));
                study.step(&StudyInput::Ended { trial, failure: None });
            }
        }
        let all = proposed.len();
        let distinct = |of: &[Configuration]| {
            of.iter().map(|c| format!("{c:?}")).collect::<std::collections::BTreeSet<_>>().len()
        };
        assert_eq!((all as u64, distinct(&proposed) as u64), (count, count), "each of them once");
        assert!(study.is_space_spent());
    }
}

#[test]
fn failures_and_equal_scores_stop_nobody() {
    for sampler in
        [SamplerSpec::from(TpeSampling), SamplerSpec::from(GpSampling), SamplerSpec::from(TpeGpSampling)]
    {
        let mut study = Study::new(spec(&MIXED, sampler, 2)).unwrap();
        for trial in 0..30 {
            assert!(!study.step(&StudyInput::WorkerIdle).is_empty());
            if trial % 3 > 0 {
                study.step(&report(trial, 1, 0.5));
            }
            study.step(&StudyInput::Ended { trial, failure: None });
        }
        let failed = |trial: &&foretell_search::Trial| matches!(trial.state, TrialState::Failed { .. });
        assert_eq!(study.trials().iter().filter(failed).count(), 10);
        assert!(study.trials().iter().all(|trial| trial.configuration["lr"] != Value::Missing));
    }
}

/// Draws at random and notes what it is told.
struct Listening {
    space: ParameterSpace,
    told: Arc<Mutex<BTreeMap<u64, Worth>>>,
}

impl Sampler for Listening {
    fn propose(&mut self, trial: u64) -> Option<Configuration> {
        Some(self.space.sample(&mut trial_stream(1, trial)))
    }

    fn observe_start(&mut self, _: u64, _: &Configuration) {}

    fn learn(&mut self, trial: u64, _: &Configuration, worth: Worth) {
        self.told.lock().unwrap().insert(trial, worth);
    }

    fn observe_failure(&mut self, _: u64, _: &Configuration) {}
}

#[test]
fn paused_and_stopped_trials_count_with_how_they_may_end_and_its_spread() {
    let asha = Schedule::Asha { eta: 3, rungs: None };
    for (schedule, policy) in
        [(asha, StopPolicy::none()), (Schedule::Full, StopPolicy::from(AshaRule { eta: 3 }))]
    {
        let spec = StudySpec {
            schedule,
            policy: policy.clone(),
            max_resource: 9,
            ..spec(&MIXED, SamplerSpec::from(TpeSampling), 0)
        };
        let told = Arc::new(Mutex::new(BTreeMap::new()));
        let space = ParameterSpace::parse(&MIXED).unwrap();
        let sampler: Box<dyn Sampler> = Box::new(Listening { space, told: Arc::clone(&told) });
        let mut study =
            Study::with(spec, StudyParts { sampler: Some(sampler), ..StudyParts::default() }).unwrap();
        // ends lie at about twice the score after the first epoch, give or take what the configuration says
        driven(&mut study, |c, step| (number(c, "w") / 512.0 + 0.1) * (1.0 - 0.5_f64.powi(step as i32)));
        let told = told.lock().unwrap();
        let early = study.trials().iter().enumerate().filter(|(_, trial)| trial.step < 9);
        let mut count = 0;
        for (number, trial) in early {
            let (worth, last) = (told[&(number as u64)], trial.curve.last_point().unwrap().1);
            assert!(
                !worth.measured && worth.score > last && worth.sd > 0.0,
                "{number}: {worth:?} after {last}"
            );
            count += 1;
        }
        assert!(count > 10, "{count} trials of {policy:?} did not reach their end");
        assert!(told.values().filter(|worth| worth.measured).all(|worth| worth.sd == 0.0));
    }
}

#[test]
fn trials_that_all_fail_leave_nothing_to_learn_from_and_the_search_goes_on() {
    for sampler in
        [SamplerSpec::from(TpeSampling), SamplerSpec::from(GpSampling), SamplerSpec::from(TpeGpSampling)]
    {
        let mut study = Study::new(spec(&["lr=log:1e-4:1"], sampler.clone(), 3)).unwrap();
        for number in 0..20 {
            let records = study.step(&StudyInput::WorkerIdle);
            let Some(Record::Started { trial, .. }) = records.first() else {
                panic!("{sampler:?} proposes no trial {number}")
            };
            let failure = (number < 12).then(|| "out of memory".to_owned());
            if failure.is_none() {
                study.step(&report(*trial, 1, 0.5));
            }
            study.step(&StudyInput::Ended { trial: *trial, failure });
        }
        assert!(study.best().is_some(), "{sampler:?}");
    }
}

//! Requests of studies that use the laboratory's parts, by name as users write them.

use foretell_paper::{LayerSpace, QLearning, full_catalogue};
use foretell_search::{RandomSampling, Refusal, SamplerSpec, Space, Study, StudyRequest, StudySpec};

const STUDY: &str = r#"{"space": {"lr": "log:1e-4:1"}, "metric": "val_acc", "trials": 12}"#;

fn request(text: &str) -> StudyRequest {
    let fields: serde_json::Map<String, serde_json::Value> = serde_json::from_str(text).expect("JSON");
    StudyRequest::from_fields(&fields).unwrap_or_else(|refusal| panic!("{text}: {refusal}"))
}

fn resolve(request: StudyRequest, there: Option<&StudySpec>) -> Result<StudySpec, Refusal> {
    request.resolve_with(there, &full_catalogue())
}

#[test]
fn extrapolation_of_each_curve_begins_with_the_first_trial_to_beat() {
    for name in ["lce", "lce-optimistic"] {
        let asked = format!(r#"{{"policy": "{name}"}}"#);
        // as a new study, and as a change of one that stops by forecasts of another kind
        let first = resolve(request(STUDY), None).expect("a study");
        let new = resolve(request(STUDY).with_overrides(&request(&asked)), None).expect("a study");
        let changed = resolve(request(&asked), Some(&first)).expect("the same study");
        assert_eq!(new, changed);
        assert_eq!((new.policy.name(), new.burn_in, new.predictor.as_str()), (name, 1, "lce"));
        assert!((new.criterion.stop_probability - 0.95).abs() < 1e-12);
        assert_eq!(resolve(request("{}"), Some(&new)).as_ref(), Ok(&new), "it goes on as it is");
        let back = resolve(request(r#"{"policy": "srm"}"#), Some(&new)).expect("the same study");
        assert_eq!((back.burn_in, back.predictor.as_str()), (3, "mean-gain"));
    }
}

#[test]
fn settings_of_other_methods_are_refused() {
    let cases = [
        (r#"{"policy": "lce", "caution": "safe"}"#, "caution", "policies other than lce"),
        (r#"{"policy": "lce", "paper": true}"#, "paper", "another method"),
        (r#"{"policy": "lce-optimistic", "predictor": "auto"}"#, "predictor", "lce or lce-domhan2015"),
    ];
    for (text, field, words) in cases {
        let refusal = resolve(request(STUDY).with_overrides(&request(text)), None).expect_err(text);
        assert_eq!(refusal.field, field, "{text}: {refusal}");
        assert!(refusal.reason.contains(words), "{text}: {refusal}");
    }
}

#[test]
fn a_study_by_extrapolation_names_all_its_settings() {
    let spec = resolve(request(STUDY).with_overrides(&request(r#"{"policy": "lce-optimistic"}"#)), None)
        .expect("a study");
    // who names every setting has chosen the score, too
    let chosen = StudySpec { score_chosen: true, ..spec.clone() };
    assert_eq!(resolve(spec.request(), None).as_ref(), Ok(&chosen));
}

const LEARNING: &str =
    r#"{"space": "metaqnn", "sampler": "q-learning", "alpha": 0.1, "reward": "val_acc - 1e-8*weights"}"#;

#[test]
fn a_study_by_q_learning_names_all_its_settings_and_keeps_its_schedule() {
    let asked = request(STUDY).with_overrides(&request(LEARNING));
    let spec = resolve(asked.clone(), None).expect("a study");
    let named = spec.request();
    assert_eq!(named.sampler, Some("q-learning".into()));
    assert_eq!((named.epsilon_trials, named.alpha, named.replay), (Some(12), Some(0.1), Some(128)));
    assert_eq!(StudyRequest::from_fields(&named.fields()).as_ref(), Ok(&named));
    let chosen = StudySpec { score_chosen: true, ..spec.clone() };
    assert_eq!(resolve(named, None).as_ref(), Ok(&chosen));
    let longer =
        resolve(asked.with_overrides(&request(r#"{"trials": 40}"#)), Some(&spec)).expect("the same study");
    assert_eq!((longer.trials, &longer.sampler), (40, &spec.sampler));
}

#[test]
fn a_space_of_networks_is_stored_in_full_and_searched_at_random() {
    let spec =
        resolve(request(STUDY).with_overrides(&request(r#"{"space": "metaqnn"}"#)), None).expect("a study");
    assert_eq!(
        (&spec.space, &spec.sampler),
        (&Space::from(LayerSpace::default()), &SamplerSpec::from(RandomSampling))
    );
    assert_eq!(serde_json::to_value(&spec).expect("JSON")["space"]["metaqnn"]["max_depth"], 18);
}

#[test]
fn what_q_learning_cannot_do_is_refused() {
    let cases = [
        (r#"{"space": {"lr": "log:1e-4:1"}, "reward": null}"#, "sampler", "layer by layer"),
        (r#"{"scheduler": "asha", "epochs": 9}"#, "sampler", "Choose the scheduler full"),
        (r#"{"enqueue": ["[SM(10)]"]}"#, "enqueue", "Queue none"),
        (r#"{"alpha": 0}"#, "sampler", "learning_rate = 0"),
        (r#"{"space": {"metaqnn": {"max_deep": 3}}}"#, "space", "max_deep"),
        (r#"{"sampler": "random", "enqueue": ["[C(64,99,1), SM(10)]"]}"#, "reward", "only q-learning"),
    ];
    for (text, field, words) in cases {
        let mut fields = request(STUDY).with_overrides(&request(LEARNING)).fields();
        fields.extend(serde_json::from_str::<serde_json::Map<_, _>>(text).expect("JSON"));
        let read = StudyRequest::from_fields(&fields);
        let refusal = read.and_then(|request| resolve(request, None)).expect_err(text);
        assert_eq!(refusal.field, field, "{text}: {refusal}");
        assert!(refusal.reason.contains(words), "{text}: {refusal}");
    }
    let fields = r#"{"space": "metaqnn", "enqueue": ["[C(64,3,1), C(64,2)]"]}"#;
    let refusal = resolve(request(STUDY).with_overrides(&request(fields)), None).expect_err("no network");
    assert!(refusal.field == "enqueue" && refusal.reason.contains("a queued network"), "{refusal}");
}

#[test]
fn the_documented_defaults_of_q_learning_are_its_own() {
    let catalogue = full_catalogue();
    let sampler = catalogue.resolve_sampler(&"q-learning".into(), &serde_json::Map::new(), 2700, None);
    assert_eq!(sampler, Ok(QLearning::default().into()));
    let schema = StudyRequest::schema(&catalogue);
    let documented =
        ["alpha", "gamma", "initial_value", "replay"].map(|name| schema[name]["default"].as_f64());
    let QLearning { learning_rate, discount, initial_value, replay_number, .. } = QLearning::default();
    let own = [learning_rate, discount, initial_value, replay_number as f64];
    assert_eq!(documented, own.map(Some));
}

#[test]
fn a_program_without_the_laboratory_tells_where_its_parts_are() {
    let cases = [
        (r#"{"policy": "lce"}"#, "`lce`"),
        (r#"{"policy": "srm", "predictor": "bnn-plain"}"#, "`bnn-plain`"),
        (r#"{"sampler": "q-learning"}"#, "`q-learning`"),
        (r#"{"space": "metaqnn"}"#, "`metaqnn`"),
    ];
    for (text, name) in cases {
        let refusal = request(STUDY).with_overrides(&request(text)).resolve(None).expect_err(text);
        let told = format!("{name} is part of foretell-paper, and this build was made without it");
        assert!(refusal.to_string().contains(&told), "{refusal}");
    }
}

#[test]
fn a_recorded_study_by_extrapolation_is_refused_without_the_laboratory_and_restored_with_it() {
    let spec =
        resolve(request(STUDY).with_overrides(&request(r#"{"policy": "lce"}"#)), None).expect("a study");
    let stored = || serde_json::from_value(serde_json::to_value(&spec).expect("JSON")).expect("a study");
    assert!(Study::with(stored(), (&full_catalogue()).into()).is_ok());
    let error = Study::new(stored()).err().expect("no such policy");
    assert!(error.to_string().contains("`lce` is part of foretell-paper"), "{error}");
}

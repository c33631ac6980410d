//! Requests of studies that use the laboratory's parts, by name as users write them.

use foretell_paper::catalogue;
use foretell_search::{Refusal, Study, StudyRequest, StudySpec};

const STUDY: &str = r#"{"space": {"lr": "log:1e-4:1"}, "metric": "val_acc", "trials": 12}"#;

fn request(text: &str) -> StudyRequest {
    let fields: serde_json::Map<String, serde_json::Value> = serde_json::from_str(text).expect("JSON");
    StudyRequest::from_fields(&fields).unwrap_or_else(|refusal| panic!("{text}: {refusal}"))
}

fn resolve(request: StudyRequest, there: Option<&StudySpec>) -> Result<StudySpec, Refusal> {
    request.resolve_with(there, &catalogue())
}

#[test]
fn extrapolation_of_each_curve_begins_with_the_first_trial_to_beat() {
    for name in ["lce", "lce-optimistic"] {
        let asked = format!(r#"{{"policy": "{name}"}}"#);
        // as a new study, and as a change of one that stops by forecasts of another kind
        let first = resolve(request(STUDY), None).expect("a study");
        let new = resolve(request(STUDY).overlaid(&request(&asked)), None).expect("a study");
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
        let refusal = resolve(request(STUDY).overlaid(&request(text)), None).expect_err(text);
        assert_eq!(refusal.field, field, "{text}: {refusal}");
        assert!(refusal.reason.contains(words), "{text}: {refusal}");
    }
}

#[test]
fn a_study_by_extrapolation_names_all_its_settings() {
    let spec =
        resolve(request(STUDY).overlaid(&request(r#"{"policy": "lce-optimistic"}"#)), None).expect("a study");
    assert_eq!(resolve(spec.request(), None).as_ref(), Ok(&spec));
}

#[test]
fn a_program_without_the_laboratory_tells_where_its_parts_are() {
    for (text, name) in [(r#"{"policy": "lce"}"#, "`lce`"), (r#"{"predictor": "bnn-plain"}"#, "`bnn-plain`")]
    {
        let refusal = request(STUDY).overlaid(&request(text)).resolve(None).expect_err(text);
        let told = format!("{name} is part of foretell-paper, and this build was made without it");
        assert!(refusal.to_string().contains(&told), "{refusal}");
    }
}

#[test]
fn a_recorded_study_by_extrapolation_is_refused_without_the_laboratory_and_restored_with_it() {
    let spec = resolve(request(STUDY).overlaid(&request(r#"{"policy": "lce"}"#)), None).expect("a study");
    let stored = || serde_json::from_value(serde_json::to_value(&spec).expect("JSON")).expect("a study");
    assert!(Study::with(stored(), (&catalogue()).into()).is_ok());
    let error = Study::new(stored()).err().expect("no such policy");
    assert!(error.to_string().contains("`lce` is part of foretell-paper"), "{error}");
}

//! Requests as users write them, and the studies that they become.

use super::*;
#[cfg(feature = "schema")]
use crate::defaults::DEFAULT_TRIALS;
use crate::resource::UNKNOWN_RESOURCE;
use crate::samplers::{RandomSampling, SamplerSpec, TpeGpSampling};
use crate::stopping::ChainRule;
use crate::study::StudySpec;
use foretell::Direction;

fn fields(text: &str) -> Map<String, Value> {
    match serde_json::from_str(text) {
        Ok(Value::Object(fields)) => fields,
        other => panic!("{text}: {other:?}"),
    }
}

fn request(text: &str) -> StudyRequest {
    StudyRequest::from_fields(&fields(text)).unwrap_or_else(|refusal| panic!("{text}: {refusal}"))
}

fn study(text: &str) -> StudySpec {
    request(text).resolve(None).unwrap_or_else(|refusal| panic!("{text}: {refusal}"))
}

const SPACE: &str = r#"{"space": {"lr": "log:1e-4:1"}, "metric": "val_acc"}"#;

#[test]
fn with_no_words_a_study_is_the_default_one() {
    let space = study(SPACE).space;
    let usual = StudySpec::new(space, "val_acc", Direction::Maximize);
    let open_ended = StudySpec { max_resource: UNKNOWN_RESOURCE, is_open_ended: true, ..usual.clone() };
    assert_eq!(study(SPACE), open_ended);
    assert_eq!((usual.trials, usual.burn_in, usual.refit), (40, 3, Some(1.05)));
    assert_eq!(usual.sampler, SamplerSpec::from(TpeGpSampling));
}

#[test]
fn a_study_that_draws_at_random_goes_on_so() {
    let random = r#"{"space": {"lr": "log:1e-4:1"}, "metric": "val_acc", "sampler": "random"}"#;
    let there = study(random);
    for text in [SPACE, "{}", r#"{"trials": 60}"#, r#"{"budget_epochs": 100}"#] {
        assert_eq!(
            request(text).resolve(Some(&there)).map(|spec| spec.sampler),
            Ok(SamplerSpec::from(RandomSampling))
        );
    }
}

#[test]
fn a_space_is_written_as_text_or_with_types() {
    let ways = [
        r#"{"space": {"lr": "log:1e-4:1", "opt": "choice:a,b", "m": "float:0:1 if opt=a"}}"#,
        r#"{"param": {"lr": "log:1e-4:1", "opt": "choice:a,b", "m": "float:0:1 if opt=a"}}"#,
        r#"{"space": ["lr=log:1e-4:1", "opt=choice:a,b", "m=float:0:1 if opt=a"]}"#,
        r#"{"space": {"lr": {"kind": "log", "lo": 1e-4, "hi": 1}, "opt": {"kind": "choice", "options": ["a", "b"]},
            "m": {"kind": "float", "lo": 0, "hi": 1, "active_if": {"name": "opt", "equals": "a"}}}}"#,
    ];
    let first = study(ways[0]);
    for way in ways {
        assert_eq!(study(way), first, "{way}");
    }
    let stored = Map::from_iter([("space".to_owned(), serde_json::to_value(&first.space).expect("JSON"))]);
    assert_eq!(StudyRequest::from_fields(&stored).expect("a space").space, Some(first.space));
}

#[test]
fn names_are_written_with_hyphens_or_underscores_and_turned_off_with_no() {
    let one = request(
        r#"{"burn-in": 5, "no-stopping": true, "no_checkpoints": true, "refit": "once", "seed": null}"#,
    );
    let other = request(r#"{"burn_in": 5, "stopping": false, "checkpoints": false, "refit": "once"}"#);
    assert_eq!(one, other);
    let fields = one.fields();
    assert_eq!(StudyRequest::from_fields(&fields).expect("its own fields"), one);
}

#[test]
fn a_study_goes_on_with_what_is_left_open_as_it_is_there() {
    let there = study(
        r#"{"space": {"lr": "log:1e-4:1"}, "metric": "val_acc", "epochs": 30, "trials": 12, "burn_in": 4, "policy": "median",
            "sampler": "tpe", "seed": 7, "enqueue": [{"lr": 0.5}]}"#,
    );
    let again = |text: &str| request(text).resolve(Some(&there));
    assert_eq!(again("{}").as_ref(), Ok(&there));
    assert_eq!(again(r#"{"trials": 30}"#).map(|spec| spec.trials), Ok(30));
    assert_eq!(again(r#"{"burn_in": 9}"#).map(|spec| spec.burn_in), Ok(9));
    assert_eq!(
        again(r#"{"policy": "srm", "stop_probability": 0.9}"#).map(|spec| spec.criterion.stop_probability),
        Ok(0.9)
    );
    let by_second =
        request(r#"{"policy": "srm", "nth_best": 2}"#).resolve(Some(&there)).expect("another rule");
    let by_chance = request(r#"{"policy": "chain", "nth_best": 1}"#).resolve(Some(&by_second));
    assert_eq!(by_chance.map(|spec| spec.policy), Ok(ChainRule.into()));
    let refusal = again(r#"{"epochs": 9}"#).expect_err("other epochs");
    assert_eq!(refusal.field, "epochs");
    assert!(refusal.reason.contains("trains for 30 epochs"), "{refusal}");
}

#[test]
fn another_caution_is_another_rule() {
    let there = study(r#"{"space": {"lr": "log:1e-4:1"}, "metric": "val_acc", "caution": "fast"}"#);
    assert_eq!(request("{}").resolve(Some(&there)).as_ref(), Ok(&there));
    let again = request(r#"{"caution": "safe"}"#).resolve(Some(&there)).expect("a valid change");
    assert_eq!(
        (again.policy, again.caution, again.criterion.stop_probability),
        (ChainRule.into(), Caution::Safe, 0.999)
    );
}

#[test]
fn what_is_wrong_is_named_by_its_field() {
    let cases = [
        (r#"{"policy": "srm", "burn_in": 99}"#, "burn_in", "burn-in of 99"),
        (r#"{"metric": "thing"}"#, "direction", "maximize or minimize"),
        (r#"{"space": {"lr": "cubic:1:2"}}"#, "space", "cubic"),
        (r#"{"space": "resnet"}"#, "space", "resnet"),
        (r#"{"epochs": 0}"#, "epochs", "at least 1"),
        (r#"{"budget_epochs": 3}"#, "budget_epochs", "at least 20"),
        (r#"{"budget_epochs": 19, "score": "best"}"#, "budget_epochs", "at least 20"),
        (
            r#"{"budget_epochs": 1, "score": "best", "scheduler": "asha", "rungs": 2}"#,
            "budget_epochs",
            "at least 2",
        ),
        (r#"{"epochs": "many"}"#, "epochs", "expected a whole number"),
        (r#"{"epochs": 1.5}"#, "epochs", "expected a whole number"),
        (r#"{"policy": "srm", "predictor": "oracle"}"#, "predictor", "oracle"),
        (r#"{"policy": "srm", "stop_probability": 2}"#, "stop_probability", "outside"),
        (r#"{"sampler": "q-learning"}"#, "sampler", "foretell-paper"),
        (r#"{"space": "metaqnn"}"#, "space", "foretell-paper"),
        (r#"{"sampler": "sobol"}"#, "sampler", "unknown"),
        (r#"{"enqueue": ["lr=7"]}"#, "enqueue", "lr"),
        (r#"{"enqueue": [{"lr": 7}]}"#, "enqueue", "lr"),
        (r#"{"scheduler": "hyperband", "trials": 7}"#, "trials", "`runs`"),
        (r#"{"scheduler": "asha", "caution": "safe"}"#, "caution", "rungs"),
        (r#"{"policy": "lce"}"#, "policy", "foretell-paper"),
        (r#"{"policy": "srm", "predictor": "bnn+gaussian"}"#, "predictor", "foretell-paper"),
        (r#"{"policy": "none", "shadow": true}"#, "shadow", "Remove one of them"),
        (r#"{"policy": "srm", "refit": "never"}"#, "refit", "once"),
        (r#"{"repeats": 2, "scheduler": "asha"}"#, "repeats", "the scheduler full"),
        (
            r#"{"scheduler": "hyperband", "epochs": 100000000000}"#,
            "scheduler",
            "the maximum is 1000000. Set fewer",
        ),
        (r#"{"scheduler": "hyperband", "epochs": 81, "runs": 18446744073709551615}"#, "scheduler", "maximum"),
        (r#"{"scheduler": "successive-halving", "trials": 100000000000}"#, "scheduler", "maximum"),
        (r#"{"trials": 18446744073709551615}"#, "trials", "too large. The maximum is 1000000000000"),
        (r#"{"repeats": 18446744073709551615}"#, "repeats", "too large"),
        (r#"{"until_no_improvement": 18446744073709551615}"#, "until_no_improvement", "too large"),
        (r#"{"budget_epochs": 18446744073709551615}"#, "budget_epochs", "too large"),
        (r#"{"policy": "srm", "nth_best": 18446744073709551615}"#, "nth_best", "too large"),
        (r#"{"policy": "srm", "agreeing_checks": 18446744073709551615}"#, "agreeing_checks", "too large"),
        (r#"{"policy": "patience", "patience": 18446744073709551615}"#, "patience", "too large"),
        (r#"{"trails": 7}"#, "trails", "Choose one of"),
        (r#"{"scheduler": "asha", "epochs": null}"#, "epochs", "the rungs of this scheduler"),
        (r#"{"space": null}"#, "space", "a new study needs a search space"),
    ];
    check_refusals(&cases);
}

#[test]
fn a_setting_of_another_policy_is_refused_with_its_name() {
    check_refusals(&[
        (
            r#"{"nth_best": 2}"#,
            "nth_best",
            "policy srm, but the policy of this study is chain. Set `policy` or",
        ),
        (r#"{"burn_in": 4}"#, "burn_in", "policy srm or median or patience"),
        (
            r#"{"patience": 4, "policy": "median"}"#,
            "patience",
            "policy patience, but the policy of this study is",
        ),
        (r#"{"eta": 4}"#, "eta", "policy asha"),
        (r#"{"caution": "safe", "policy": "median"}"#, "caution", "policy srm or chain"),
        (r#"{"offset": 0.1, "policy": "none"}"#, "offset", "this study is none"),
        (r#"{"limit": ["lr<=0.1"], "nth_best": 2}"#, "nth_best", "policy srm"),
    ]);
}

/// Checks that each request is refused at its field, by a reason with these words.
fn check_refusals(cases: &[(&str, &str, &str)]) {
    for &(text, field, words) in cases {
        let mut asked = fields(SPACE);
        asked.insert("epochs".to_owned(), 20.into());
        asked.extend(fields(text));
        let refused = StudyRequest::from_fields(&asked).and_then(|request| request.resolve(None));
        let refusal = refused.expect_err(text);
        assert_eq!(refusal.field, field, "{text}: {refusal}");
        assert!(refusal.reason.contains(words), "{text}: {refusal}");
        assert!(!refusal.reason.contains("--"), "{refusal} names a flag");
    }
}

#[test]
fn a_study_names_all_its_settings_and_they_make_the_same_study() {
    let ways = [
        "{}",
        r#"{"caution": "safe", "shadow": true, "exempt": 0.1, "enqueue": ["lr=0.01"], "until_no_improvement": 9, "target": 0.95}"#,
        r#"{"paper": true, "trials": 120, "nth_best": 2, "offset": 0.01, "error_budget": "per-run"}"#,
        r#"{"scheduler": "hyperband", "epochs": 27, "runs": 2}"#,
        r#"{"scheduler": "f-hyperband", "epochs": 9, "kappa": 0.25, "kappa_of": "rung", "reference": "rung"}"#,
        r#"{"scheduler": "asha", "rungs": 2, "rank": "mean", "budget_epochs": 200, "epochs": 27}"#,
        r#"{"scheduler": "successive-halving", "eta": 2, "epochs": 8}"#,
        r#"{"policy": "patience", "patience": 4, "score": "best", "seed": 8}"#,
        r#"{"policy": "asha", "eta": 4}"#,
        r#"{"stopping": false, "sampler": "gp"}"#,
        r#"{"objective": ["val_acc", "lr:min", "latency:min"], "limit": "latency<=20"}"#,
        r#"{"policy": "srm", "direction": "maximize", "repeats": 2, "burn_in": 5, "stop_probability": 0.9, "agreeing_checks": 3, "refit": 1.3, "predictor": "ridge"}"#,
    ];
    let all = serde_json::to_value(StudyRequest::default()).expect("JSON");
    let mut open: Vec<String> = all.as_object().expect("fields").keys().cloned().collect();
    for way in ways {
        let mut asked = fields(SPACE);
        asked.extend(fields(way));
        open.retain(|field| !asked.contains_key(field));
        let spec = StudyRequest::from_fields(&asked).and_then(|request| request.resolve(None)).expect(way);
        let named = spec.request();
        // who names every setting has chosen the score, too
        let chosen = StudySpec { score_chosen: true, ..spec };
        assert_eq!(named.clone().resolve(None).as_ref(), Ok(&chosen), "{way}");
        // also as it is written down
        assert_eq!(StudyRequest::from_fields(&named.fields()).expect(way), named, "{way}");
    }
    // those of a sampler of another crate, and who continues trials and which runs are learned from: no study keeps these
    let others = "alpha checkpoints epsilon_trials folds gamma initial_value learn_from replay reward";
    open.sort();
    assert_eq!(open.join(" "), others, "fields that no way sets");
}

#[test]
fn a_default_that_is_named_changes_no_study() {
    // somebody who names the score excludes the one that returned values would choose
    let excluded = ["score"];
    let bases = [
        r#"{}"#,
        r#"{"caution": "safe"}"#,
        r#"{"caution": "fast"}"#,
        r#"{"policy": "srm"}"#,
        r#"{"policy": "median"}"#,
        r#"{"paper": true, "trials": 200}"#,
        r#"{"scheduler": "asha"}"#,
        r#"{"scheduler": "asha", "rank": "mean"}"#,
        r#"{"scheduler": "f-hyperband"}"#,
        r#"{"objective": ["val_acc", "latency:min"]}"#,
        r#"{"limit": ["latency<=20"]}"#,
        r#"{"stopping": false}"#,
    ];
    let mut compared = 0;
    for base in bases {
        let base =
            request(SPACE).with_overrides(&request(r#"{"epochs": 20}"#)).with_overrides(&request(base));
        let usual = base.clone().resolve(None).unwrap();
        for (name, value) in usual.request().fields() {
            if excluded.contains(&name.as_str()) {
                continue;
            }
            let named = StudyRequest::from_fields(&Map::from_iter([(name.clone(), value.clone())])).unwrap();
            // a refusal names the setting; what must not happen is another study without a word
            if let Ok(study) = base.with_overrides(&named).resolve(None) {
                assert_eq!(study, usual, "{base:?} with {name} = {value}");
                compared += 1;
            }
        }
    }
    assert!(compared > 200, "only {compared} settings were compared");
}

#[test]
fn one_request_lies_over_another() {
    let file = request(r#"{"trials": 30, "seed": 4}"#);
    let flags = request(r#"{"trials": 20, "metric": "val_acc"}"#);
    assert_eq!(file.with_overrides(&flags), request(r#"{"trials": 20, "seed": 4, "metric": "val_acc"}"#));
}

#[cfg(feature = "schema")]
#[test]
fn the_schema_has_every_field_with_its_choices_and_default() {
    let schema = StudyRequest::schema(&crate::catalogue::Catalogue::default());
    let fields = serde_json::to_value(StudyRequest::default()).expect("JSON");
    assert_eq!(
        schema.keys().collect::<Vec<_>>(),
        fields.as_object().expect("fields").keys().collect::<Vec<_>>()
    );
    assert_eq!(schema["trials"]["default"], DEFAULT_TRIALS);
    assert_eq!(schema["trials"]["type"], "integer");
    assert_eq!(schema["caution"]["oneOf"][0]["const"], "safe");
    assert_eq!(schema["caution"]["default"], "balanced");
    let text = serde_json::to_string(&schema).expect("JSON");
    assert!(!text.contains("$ref") && !text.contains("null") && !text.contains("uint"), "{text}");
}

//! The settings of a study that have an effect on a judge.

use super::{Judge, awaits_length};
use crate::catalogue::Catalogue;
use crate::request::{Refusal, StudyRequest};
use crate::stopping::policy::StopPolicy;
use crate::stopping::{ForecastRule, NamedRule};
use serde_json::Map;

impl Judge {
    /// The settings that have an effect on a judge; a tool runs the trials and decides everything else.
    pub fn effective_settings() -> Vec<String> {
        let catalogue = Catalogue::default();
        let fields = StudyRequest::schema(&catalogue).into_iter();
        let effective = fields
            .filter(|(name, field)| field["x-judged"] == true || !catalogue.policies_with(name).is_empty());
        effective.map(|(name, _)| name).collect()
    }

    /// Checks that each setting of `request` has an effect on a judge.
    ///
    /// # Errors
    /// The [`Refusal`] of the first that has none, with the reason.
    pub fn check_request(request: &StudyRequest) -> Result<(), Refusal> {
        let fields = request.fields();
        let unused = fields.keys().find_map(|field| Some((field, Self::unused_reason(field, request)?)));
        unused.map_or(Ok(()), |(field, reason)| Err(Refusal::new(field, reason)))
    }

    /// The reason why the setting `field` of `request` has no effect on a judge; `None` if it has one.
    pub fn unused_reason(field: &str, request: &StudyRequest) -> Option<String> {
        let catalogue = Catalogue::default();
        let named = request.policy.as_ref().map_or(ForecastRule::NAME, |policy| &policy.name);
        let policy = catalogue.resolve_policy(&named.into(), &Map::new()).ok();
        let stops = request.stopping != Some(false) && policy.as_ref().is_none_or(StopPolicy::stops);
        let is_by_forecasts = policy.as_ref().is_some_and(StopPolicy::is_by_forecasts) && stops;
        let owner = catalogue.policies_with(field).first().copied();
        let reason = match field {
            "policy" if policy.as_ref().is_some_and(awaits_length) => {
                "this policy needs the length of a complete trial in advance. Choose `srm`, the default here"
            }
            "objective" | "limit" => {
                "trials are judged by one metric, and no other metrics are reported here"
            }
            "burn_in" | "exempt" if stops => return None,
            _ if stops && policy.as_ref().is_some_and(|policy| policy.uses(field)) => return None,
            _ if owner.is_some() => {
                return owner.map(|name| format!("this setting works only with the policy `{name}`"));
            }
            "paper" | "exempt" if !is_by_forecasts => {
                "it is not used, because no trial is stopped by a forecast with this policy"
            }
            "shadow" | "stopping" => return None,
            _ if Self::effective_settings().iter().any(|name| name == field) => return None,
            _ => {
                "it is not used here, because another program chooses the configurations and runs the trials"
            }
        };
        Some(reason.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_without_effect_is_refused_with_the_reason() {
        let check = |fields: &str| {
            let fields = serde_json::from_str(fields).expect("JSON");
            Judge::check_request(&StudyRequest::from_fields(&fields).expect("a request"))
        };
        for (fields, field) in [
            (r#"{"sampler": "gp"}"#, "sampler"),
            (r#"{"trials": 5}"#, "trials"),
            (r#"{"epochs": 40}"#, "epochs"),
            (r#"{"budget_epochs": 40}"#, "budget_epochs"),
            (r#"{"limit": ["latency<3"]}"#, "limit"),
            (r#"{"eta": 4}"#, "eta"),
            (r#"{"patience": 4}"#, "patience"),
            (r#"{"policy": "median", "predictor": "gp"}"#, "predictor"),
            (r#"{"policy": "chain"}"#, "policy"),
        ] {
            assert_eq!(check(fields).expect_err(fields).field, field);
        }
        for fields in [
            r#"{"policy": "patience", "patience": 3}"#,
            r#"{"policy": "asha", "eta": 4, "score": "best"}"#,
            r#"{"caution": "fast", "exempt": 0.1, "error_budget": "per-run", "burn_in": 5, "seed": 1}"#,
            r#"{"paper": true}"#,
        ] {
            assert_eq!(check(fields), Ok(()), "{fields}");
        }
    }
}

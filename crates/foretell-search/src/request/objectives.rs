//! The notation of the objectives and limits of a request, and the study that they make.

use super::{Refusal, StudyRequest};
use crate::defaults::DEFAULT_METRIC;
use crate::objective::{Formula, Limit, Objective, parts};
use crate::space::Space;
use crate::study::StudySpec;
use foretell::Direction;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Reads objectives: a text, a list of texts such as `weights:min`, or a table of directions by name.
pub(super) fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<String>>, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::Object(table) => {
            let written = |(of, way): (String, Value)| match &way {
                Value::String(way) if ["min", "max", "minimize", "maximize"].contains(&way.as_str()) => {
                    Ok(format!("{of}:{way}"))
                }
                _ => Err(D::Error::custom(format!("{of}: expected \"min\" or \"max\", found {way}"))),
            };
            table.into_iter().map(written).collect::<Result<_, _>>().map(Some)
        }
        written => read_texts(written, "val_acc").map_err(D::Error::custom),
    }
}

/// Reads limits: a text, or a list of texts such as `latency<=20`.
pub(super) fn read_limits<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Vec<String>>, D::Error> {
    read_texts(Value::deserialize(deserializer)?, "latency<=20").map_err(D::Error::custom)
}

fn read_texts(written: Value, example: &str) -> Result<Option<Vec<String>>, String> {
    let text = |value: Value| match value {
        Value::String(text) => Ok(text),
        other => Err(format!("expected a string such as {example:?}, found {other}")),
    };
    match written {
        Value::Null => Ok(None),
        Value::Array(all) => all.into_iter().map(text).collect::<Result<_, _>>().map(Some),
        one => text(one).map(|text| Some(vec![text])),
    }
}

impl StudyRequest {
    /// The metric that the objectives name, as far as they do: the first of them. With a direction, if it is written there.
    pub fn first_objective(&self) -> Option<(&str, Option<Direction>)> {
        self.objective.as_ref()?.first().map(|written| parts(written))
    }

    /// The metric: as told, the first objective, or the one that is `there`.
    pub(super) fn metric_or(&self, there: Option<&String>) -> String {
        let first = self.first_objective().map(|(of, _)| of.to_owned());
        let told = self.metric.clone().or(first);
        told.or_else(|| there.cloned()).unwrap_or_else(|| DEFAULT_METRIC.to_owned())
    }

    /// The better direction for `metric` according to the objectives.
    ///
    /// # Errors
    /// The [`Refusal`] of a direction that `direction` contradicts.
    pub(super) fn objective_direction(&self, metric: &str) -> Result<Option<Direction>, Refusal> {
        let named =
            self.objective.iter().flatten().map(|written| parts(written)).find(|(of, _)| *of == metric);
        let said = named.and_then(|(_, direction)| direction);
        match self.direction.filter(|direction| said.is_some_and(|said| said != *direction)) {
            Some(other) => Err(Refusal::new(
                "objective",
                format!(
                    "{} values of {metric} are better here, but {} ones by `direction`. Leave one of them out",
                    said.unwrap_or(other).better_word(),
                    other.better_word()
                ),
            )),
            None => Ok(said),
        }
    }

    /// The objectives besides `metric`: as they are there, unless others are asked for.
    pub(super) fn objectives(
        &self,
        metric: &str,
        space: &Space,
        there: Option<&StudySpec>,
    ) -> Result<Vec<Objective>, Refusal> {
        let Some(written) = &self.objective else {
            return Ok(there.map(|there| there.objectives.clone()).unwrap_or_default());
        };
        let others = written.iter().filter(|written| parts(written).0 != metric);
        let names = space.known_names();
        if names.contains(&metric) && self.first_objective().is_some_and(|(of, _)| of == metric) {
            let reported = "but the first objective is forecast, so it must be a metric that trials report. Name that metric first";
            return Err(Refusal::new("objective", format!("{metric} is a parameter, {reported}")));
        }
        others
            .map(|written| {
                Objective::parse_with_names(written, &names).map_err(|error| Refusal::new("objective", error))
            })
            .collect()
    }

    /// The reward: as it is there, unless another is asked for.
    pub(super) fn reward(
        &self,
        metric: &str,
        space: &Space,
        there: Option<&StudySpec>,
    ) -> Result<Option<Formula>, Refusal> {
        let Some(text) = &self.reward else { return Ok(there.and_then(|there| there.reward.clone())) };
        let mut known = space.known_names();
        known.push(metric);
        let read = Formula::parse(text).and_then(|formula| formula.check(&known).map(|()| formula));
        read.map(Some).map_err(|error| Refusal::new("reward", error))
    }

    /// The limits: as they are there, unless others are asked for.
    pub(super) fn limits(&self, space: &Space, there: Option<&StudySpec>) -> Result<Vec<Limit>, Refusal> {
        let Some(written) = &self.limit else {
            return Ok(there.map(|there| there.limits.clone()).unwrap_or_default());
        };
        let names = space.known_names();
        written
            .iter()
            .map(|written| {
                Limit::parse_with_names(written, &names).map_err(|error| Refusal::new("limit", error))
            })
            .collect()
    }
}

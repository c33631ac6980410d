//! Configurations that name only some parameters, as a person enqueues them; the sampler chooses the rest.

use super::conditions::{passing_value, tests_by_name};
use super::{ParameterSpace, ParameterSpaceError, unknown_name};
use crate::condition::{ValueTest, passes_all};
use foretell::{Configuration, Value};
use rand::Rng;
use std::collections::BTreeMap;

impl ParameterSpace {
    /// The tests that other parameters have to pass because those in `given`, which may name only some, apply only then.
    fn required_tests(&self, given: &Configuration) -> BTreeMap<&str, Vec<&ValueTest>> {
        let mut required: BTreeMap<&str, Vec<&ValueTest>> = BTreeMap::new();
        // a condition names earlier parameters, which may have conditions themselves
        for parameter in self.parameters.iter().rev() {
            let is_given = given.get(&parameter.name).is_some_and(|value| *value != Value::Missing);
            if let Some(condition) = parameter.active_if.as_ref()
                && (is_given || required.contains_key(parameter.name.as_str()))
            {
                for (name, tests) in tests_by_name(condition.clauses()) {
                    required.entry(name).or_default().extend(tests);
                }
            }
        }
        required
    }

    /// `given`, with values that its conditions need: `momentum=0.9`, which applies only if `opt` is sgd, makes `opt` sgd.
    pub(crate) fn with_implied_values(&self, given: &Configuration) -> Configuration {
        let named = given.iter().filter(|(_, value)| **value != Value::Missing);
        let mut whole: Configuration = named.map(|(name, value)| (name.clone(), value.clone())).collect();
        for (name, tests) in self.required_tests(given) {
            let parameter = self.parameters.iter().find(|parameter| parameter.name == name);
            let value = parameter.and_then(|parameter| passing_value(&parameter.kind, &tests));
            if let Some(value) = value.filter(|_| !whole.contains_key(name)) {
                whole.insert(name.to_owned(), value);
            }
        }
        whole
    }

    /// Checks that a point of this space can have the values of `given`, which may name only some parameters.
    ///
    /// # Errors
    /// [`ParameterSpaceError::Outside`], `Inactive`, `Unknown`.
    ///
    /// ```
    /// # use foretell_search::ParameterSpace;
    /// let space = ParameterSpace::parse(&["lr=log:1e-4:1", "opt=choice:sgd,adam"])?;
    /// assert!(space.check_part(&space.read_configuration("lr=0.1")?).is_ok());
    /// # Ok::<(), foretell_search::ParameterSpaceError>(())
    /// ```
    pub fn check_part(&self, given: &Configuration) -> Result<(), ParameterSpaceError> {
        let whole = self.with_implied_values(given);
        if let Some(error) = unknown_name(&self.parameters, &whole) {
            return Err(error);
        }
        for parameter in &self.parameters {
            let Some(value) = whole.get(&parameter.name) else { continue };
            let (name, value_text) = (parameter.name.clone(), value.to_string());
            if let Some(condition) = parameter.active_if.as_ref().filter(|_| !parameter.applies_in(&whole)) {
                let condition = condition.to_string();
                return Err(ParameterSpaceError::Inactive { name, value: value_text, condition });
            }
            if !parameter.kind.contains(value) {
                let kind = parameter.kind.to_string();
                return Err(ParameterSpaceError::Outside { name, value: value_text, kind });
            }
        }
        Ok(())
    }

    /// A point of this space with the values of `given`, or else those of `proposed`; one that applies here and not there is sampled.
    pub(crate) fn complete_configuration(
        &self,
        given: &Configuration,
        proposed: &Configuration,
        rng: &mut impl Rng,
    ) -> Configuration {
        let (required, implied) = (self.required_tests(given), self.with_implied_values(given));
        let mut whole = Configuration::new();
        for parameter in &self.parameters {
            let drawn = parameter.kind.sample(rng);
            let tests = required.get(parameter.name.as_str()).map_or(&[][..], Vec::as_slice);
            // of several values that a condition allows, the one that the sampler prefers
            let known =
                [given, proposed, &implied].into_iter().filter_map(|values| values.get(&parameter.name));
            let mut fitting =
                known.filter(|value| parameter.kind.contains(value) && passes_all(value, tests));
            let known = fitting.next().cloned();
            let value = if parameter.applies_in(&whole) { known.unwrap_or(drawn) } else { Value::Missing };
            whole.insert(parameter.name.clone(), value);
        }
        whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samplers::random::trial_stream;

    fn space() -> ParameterSpace {
        ParameterSpace::parse(&[
            "lr=log:1e-4:1",
            "opt=choice:sgd,adam",
            "nesterov=choice:0,1 if opt=sgd",
            "momentum=float:0.5:1 if nesterov=1",
        ])
        .expect("a space")
    }

    #[test]
    fn a_part_is_completed_to_a_point_of_the_space_that_has_it() {
        let space = space();
        for (text, also) in [
            ("lr=0.1", None),
            ("momentum=0.9", Some(("opt", "sgd"))),
            ("opt=adam", None),
            ("nesterov=0", Some(("opt", "sgd"))),
        ] {
            let given = space.read_configuration(text).expect(text);
            for trial in 0..50 {
                let mut rng = trial_stream(3, trial);
                let proposed = space.sample(&mut rng);
                let whole = space.complete_configuration(&given, &proposed, &mut rng);
                space.check_configuration(&whole).expect(text);
                assert!(given.iter().all(|(name, value)| whole[name] == *value), "{text}: {whole:?}");
                if let Some((name, value)) = also {
                    assert_eq!(whole[name].as_text(), Some(value), "{text}");
                }
            }
        }
    }

    #[test]
    fn a_part_that_no_point_has_is_refused_by_name() {
        let space = space();
        for (text, expected) in [
            ("lr=7", "lr is `7`, which is outside log:"),
            ("depth=3", "no parameter depth"),
            ("opt=adam,momentum=0.9", "nesterov is `1`, but it applies only if opt=sgd"),
        ] {
            let error = space.read_configuration(text).expect_err(text).to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}

//! Configurations that name only some parameters, as a person enqueues them; the sampler chooses the rest.

use super::{ParameterSpace, ParameterSpaceError, applies, unknown_name};
use foretell::{Configuration, Value};
use rand::Rng;

impl ParameterSpace {
    /// `given`, with the values that its conditions need: `momentum=0.9`, which applies only if `opt` is sgd, makes `opt` sgd.
    pub(crate) fn implied(&self, given: &Configuration) -> Configuration {
        let named = given.iter().filter(|(_, value)| **value != Value::Missing);
        let mut whole: Configuration = named.map(|(name, value)| (name.clone(), value.clone())).collect();
        // a condition names an earlier parameter, which may have a condition itself
        for parameter in self.parameters.iter().rev() {
            if let Some(condition) = &parameter.active_if
                && whole.contains_key(&parameter.name)
            {
                whole.entry(condition.name.clone()).or_insert_with(|| condition.equals.clone());
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
    /// assert!(space.check_part(&space.read("lr=0.1")?).is_ok());
    /// # Ok::<(), foretell_search::ParameterSpaceError>(())
    /// ```
    pub fn check_part(&self, given: &Configuration) -> Result<(), ParameterSpaceError> {
        let whole = self.implied(given);
        if let Some(error) = unknown_name(&self.parameters, &whole) {
            return Err(error);
        }
        for parameter in &self.parameters {
            let Some(value) = whole.get(&parameter.name) else { continue };
            let (name, value_text) = (parameter.name.clone(), value.to_string());
            if let Some(condition) = parameter.active_if.as_ref().filter(|_| !applies(parameter, &whole)) {
                let (parent, equals) = (condition.name.clone(), condition.equals.to_string());
                return Err(ParameterSpaceError::Inactive { name, value: value_text, parent, equals });
            }
            if !parameter.kind.contains(value) {
                let kind = parameter.kind.to_string();
                return Err(ParameterSpaceError::Outside { name, value: value_text, kind });
            }
        }
        Ok(())
    }

    /// A point of this space with the values of `given`, or else those of `proposed`; one that applies here and not there is sampled.
    pub(crate) fn completed(
        &self,
        given: &Configuration,
        proposed: &Configuration,
        rng: &mut impl Rng,
    ) -> Configuration {
        let given = self.implied(given);
        let mut whole = Configuration::new();
        for parameter in &self.parameters {
            let drawn = parameter.kind.sample(rng);
            let mut known = [&given, proposed].into_iter().filter_map(|values| values.get(&parameter.name));
            let known = known.find(|value| parameter.kind.contains(value)).cloned();
            let value = if applies(parameter, &whole) { known.unwrap_or(drawn) } else { Value::Missing };
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
            let given = space.read(text).expect(text);
            for trial in 0..50 {
                let mut rng = trial_stream(3, trial);
                let proposed = space.sample(&mut rng);
                let whole = space.completed(&given, &proposed, &mut rng);
                space.check(&whole).expect(text);
                assert!(given.iter().all(|(name, value)| whole[name] == *value), "{text}: {whole:?}");
                if let Some((name, value)) = also {
                    assert_eq!(whole[name].text(), Some(value), "{text}");
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
            ("opt=adam,momentum=0.9", "nesterov is `1`, but it applies only if opt is `sgd`"),
        ] {
            let error = space.read(text).expect_err(text).to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}

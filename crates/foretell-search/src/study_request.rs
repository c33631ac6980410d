//! A study's settings as any program gives them: by name, each of them optional but the space.

use crate::parameter_space::{ParameterSpace, ParameterSpaceError};
use crate::policy::Policy;
use crate::space::Space;
use crate::study::{StudyError, StudySpec};
use foretell::{Direction, RunScore, StopCriterion};
use thiserror::Error;

/// The settings of a study that is driven by its four verbs, from Python or over HTTP. What is absent has its default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StudyRequest {
    /// One text a parameter: `lr=log:1e-4:1`. See [`Parameter`](crate::Parameter).
    pub space: Option<Vec<String>>,
    /// The metric's name; `score` by default.
    pub metric: Option<String>,
    /// Which way is better; by default what the metric's name says.
    pub direction: Option<Direction>,
    /// R, the steps of a whole training.
    pub epochs: Option<u64>,
    /// How many trials in all.
    pub trials: Option<u64>,
    /// How many trials are trained to their end before any is stopped; by default a third of them, from 3 to 100.
    pub burn_in: Option<u64>,
    /// Whether trials are stopped.
    pub stopping: Option<bool>,
    /// Δ: how sure a stop must be.
    pub stop_probability: Option<f64>,
    /// δ: how much worse than the incumbent is good enough.
    pub offset: Option<f64>,
    /// The n-th best is the incumbent.
    pub nth_best: Option<usize>,
    /// How many checks in a row must agree.
    pub agreeing_checks: Option<usize>,
    /// The predictor's name.
    pub predictor: Option<String>,
    /// Learn again when this many times as many trials are finished.
    pub refit: Option<f64>,
    /// What a trial is worth.
    pub score: Option<RunScore>,
    /// The seed.
    pub seed: Option<u64>,
    /// Whether decisions are only recorded.
    pub shadow: Option<bool>,
}

/// Why settings are no study.
#[derive(Debug, Error, Clone, PartialEq)]
#[non_exhaustive]
pub enum StudyRequestError {
    /// A new study has no space.
    #[error("a new study needs a space, such as {{\"lr\": \"log:1e-4:1\"}}")]
    NoSpace,
    /// The space.
    #[error(transparent)]
    Space(#[from] ParameterSpaceError),
    /// The direction is unknown.
    #[error("metric {metric:?}: its name does not say which way is better; give direction=")]
    NoDirection {
        /// The metric's name.
        metric: String,
    },
    /// A setting is out of range.
    #[error(transparent)]
    Study(#[from] StudyError),
    /// The folder has another study.
    #[error("another study is there")]
    Another,
}

impl StudyRequest {
    /// The description of a new study.
    ///
    /// # Errors
    /// [`StudyRequestError`] of the first setting that is wrong.
    pub fn new_study(&self) -> Result<StudySpec, StudyRequestError> {
        let space = self.space.as_ref().ok_or(StudyRequestError::NoSpace)?;
        let space = Space::Parameters(ParameterSpace::parse(space)?);
        let metric = self.metric.clone().unwrap_or_else(|| "score".to_owned());
        let direction = self.direction.or_else(|| foretell::direction_of(&metric));
        let direction = direction.ok_or_else(|| StudyRequestError::NoDirection { metric: metric.clone() })?;
        let usual = StudySpec::new(space, metric, direction);
        let trials = self.trials.unwrap_or(usual.trials);
        let criterion = StopCriterion {
            stop_probability: self.stop_probability.unwrap_or(usual.criterion.stop_probability),
            offset: self.offset.unwrap_or(usual.criterion.offset),
            nth_best: self.nth_best.unwrap_or(usual.criterion.nth_best),
            agreeing_checks: self.agreeing_checks.unwrap_or(usual.criterion.agreeing_checks),
            ..usual.criterion
        };
        let spec = StudySpec {
            max_resource: self.epochs.unwrap_or(usual.max_resource),
            burn_in: self.burn_in.unwrap_or((trials / 3).clamp(3.min(trials.max(1)), 100)),
            predictor: self.predictor.clone().unwrap_or(usual.predictor),
            refit: self.refit,
            seed: self.seed.unwrap_or(0),
            shadow: self.shadow.unwrap_or(false),
            run_score: self.score.unwrap_or(RunScore::Last),
            policy: if self.stopping == Some(false) { Policy::None } else { usual.policy },
            trials,
            criterion,
            ..usual
        };
        spec.check_burn_in(0)?;
        spec.validate()?;
        Ok(spec)
    }

    /// The study that is `there`, with more trials if so many are asked for. StudyRequest that are given with a space must be
    /// those that it has.
    ///
    /// # Errors
    /// [`StudyRequestError::Another`] where they are not.
    pub fn continued(&self, there: StudySpec) -> Result<StudySpec, StudyRequestError> {
        let trials = self.trials.unwrap_or(there.trials);
        if self.space.is_some() {
            let burn_in = self.burn_in.unwrap_or(there.burn_in);
            let asked = StudySpec { trials, burn_in, ..self.new_study()? };
            let same = StudySpec { workload: asked.workload.clone(), ..there.clone() };
            if !same.continues(&asked) {
                return Err(StudyRequestError::Another);
            }
            let spec = there.with_settings(&asked.settings());
            spec.validate()?;
            return Ok(spec);
        }
        let spec = StudySpec { trials, ..there };
        spec.validate()?;
        Ok(spec)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> StudyRequest {
        let space = Some(vec!["lr=log:1e-4:1".to_owned()]);
        StudyRequest { space, metric: Some("val_acc".to_owned()), ..StudyRequest::default() }
    }

    #[test]
    fn a_study_continues_with_more_trials_and_with_nothing_else_changed() {
        let there = settings().new_study().expect("a study");
        assert_eq!((there.trials, there.burn_in, there.direction), (24, 8, Direction::Maximize));
        let more = StudyRequest { trials: Some(30), ..StudyRequest::default() };
        assert_eq!(more.continued(there.clone()).expect("it goes on").trials, 30);
        let more = StudyRequest { trials: Some(30), ..settings() };
        assert_eq!(more.continued(there.clone()).expect("it goes on").trials, 30);
        let other = StudyRequest { epochs: Some(9), ..settings() };
        assert_eq!(other.continued(there), Err(StudyRequestError::Another));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let cases = [
            (StudyRequest::default(), "needs a space"),
            (StudyRequest { metric: Some("thing".to_owned()), ..settings() }, "give direction="),
            (StudyRequest { space: Some(vec!["lr=cubic:1:2".to_owned()]), ..settings() }, "cubic"),
            (StudyRequest { burn_in: Some(99), ..settings() }, "burn-in of 99"),
            (StudyRequest { epochs: Some(0), ..settings() }, "epochs"),
            (StudyRequest { predictor: Some("oracle".to_owned()), ..settings() }, "oracle"),
        ];
        for (settings, words) in cases {
            let error = settings.new_study().expect_err(words).to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}

//! Parameter importance: fractions of the variance of a Gaussian process over a study's configurations.

use super::cube::UnitCube;
use super::process::SurrogateProcess;
use super::surface::{MIN_SURFACE_TRIALS, ResponseSurface};
use crate::samplers::random::trial_stream;
use crate::study::Study;
use foretell::statistics::mean;
use rand::RngExt;
use serde::Serialize;

/// Configurations at which each parameter is drawn again.
const RELEVANCE_DRAWS: usize = 256;

/// The fractions of a study's results that the parameters explain.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Relevances {
    /// The number of trials they rest on: those with a result, and those that failed.
    pub trials: usize,
    /// The number they need.
    pub needed: usize,
    /// The number of trials that the process is made from.
    pub used: usize,
    /// R² of the process at trials that were left out: 1 if it knows the results, 0 or less if it knows nothing.
    pub explained: Option<f64>,
    /// The parameters, the most relevant first; empty if there are too few trials, or no parameters.
    pub parameters: Vec<Relevance>,
}

/// The fraction of a study's results that one parameter explains.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Relevance {
    /// Its name.
    pub name: String,
    /// Its part of the importance, from 0 to 1; all parts together are 1. It is the fraction of the process's variance that is left if
    /// all other parameters are known, over the sum of these fractions, which is above 1 where parameters work together.
    pub share: f64,
    /// The standard error of the share over the choice of trials; null where it cannot be computed.
    pub share_sd: Option<f64>,
    /// ℓ, the process's length, over the parameter's whole range: a short one means that results change fast along it.
    pub length: f64,
}

/// The relevances of the parameters of `study`.
///
/// A Gaussian process over configurations, the one of the sampler `gp`, is fitted to the trials' results. The share of parameter j is
/// Sobol's total effect under its mean f, with the estimator of Jansen: Σᵢ (f(xᵢ) − f(xᵢ with coordinate j drawn again))² /
/// (2·n·Var f), over n = 256 random configurations.
///
/// Sources: Sobol' 2001; Jansen 1999.
///
/// O(n³) in at most 150 trials; of more, 150 are taken evenly from the worst to the best.
pub fn relevances(study: &Study) -> Relevances {
    relevances_of(&ResponseSurface::new(study))
}

/// The relevances according to an existing surface.
pub fn relevances_of(surface: &ResponseSurface) -> Relevances {
    let ResponseSurface { trials, used, .. } = *surface;
    let mut found = Relevances { trials, needed: MIN_SURFACE_TRIALS, used, ..Relevances::default() };
    let Some(fitted) = &surface.fitted else { return found };
    found.explained = fitted.explained;
    let left_out: Vec<_> = fitted.parts.iter().map(|part| effect_shares(&fitted.cube, part)).collect();
    let shares = effect_shares(&fitted.cube, &fitted.process);
    let all = fitted.names.iter().cloned().zip(shares).zip(fitted.lengths.iter().copied());
    let relevances = all.enumerate().map(|(j, ((name, share), length))| {
        let left_out: Vec<f64> = left_out.iter().map(|shares| shares[j]).collect();
        Relevance { name, share, share_sd: standard_error(&left_out), length }
    });
    found.parameters = relevances.collect();
    found.parameters.sort_by(|a, b| b.share.total_cmp(&a.share));
    found
}

/// The total effect of each coordinate as a part of their sum; all 0 if nothing has an effect.
fn effect_shares(cube: &UnitCube, process: &SurrogateProcess) -> Vec<f64> {
    let effects = total_effects(cube, process);
    let sum: f64 = effects.iter().sum();
    effects.into_iter().map(|effect| if sum > 0.0 { effect / sum } else { 0.0 }).collect()
}

/// The standard error of an estimate, by its values with each part of the data left out in turn: the jackknife of Tukey 1958.
fn standard_error(left_out: &[f64]) -> Option<f64> {
    let n = left_out.len() as f64;
    let center = mean(left_out);
    let spread: f64 = left_out.iter().map(|value| (value - center).powi(2)).sum();
    (n >= 2.0).then(|| ((n - 1.0) / n * spread).sqrt())
}

/// The total effect of each coordinate on the mean of `process`.
fn total_effects(cube: &UnitCube, process: &SurrogateProcess) -> Vec<f64> {
    // always the same draws, so that the importances of a study differ only if its trials do
    let mut rng = trial_stream(0, 0);
    let dimensions = cube.dimensions();
    let (mut values, mut changes) = (Vec::with_capacity(RELEVANCE_DRAWS), vec![0.0; dimensions]);
    for _ in 0..RELEVANCE_DRAWS {
        let mut coordinates: Vec<f64> = (0..dimensions).map(|_| rng.random()).collect();
        let value = process.mean(cube, &cube.point_at_coordinates(&coordinates));
        for (j, change) in changes.iter_mut().enumerate() {
            let kept = std::mem::replace(&mut coordinates[j], rng.random());
            let changed = process.mean(cube, &cube.point_at_coordinates(&coordinates));
            *change += (changed - value).powi(2) / (2 * RELEVANCE_DRAWS) as f64;
            coordinates[j] = kept;
        }
        values.push(value);
    }
    let center = mean(&values);
    let variance = mean(&values.iter().map(|value| (value - center).powi(2)).collect::<Vec<_>>());
    changes.into_iter().map(|change| if variance > 1e-12 { change / variance } else { 0.0 }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StopPolicy;
    use crate::parameter_space::ParameterSpace;
    use crate::record::StudyInput;
    use crate::samplers::{RandomSampling, SamplerSpec};
    use crate::space::Space;
    use crate::study::StudySpec;
    use foretell::{Configuration, Direction};
    use std::collections::BTreeMap;

    /// A study of `trials` trials of one step each.
    fn study(trials: u64, direction: Direction, result: impl Fn(&Configuration) -> Option<f64>) -> Study {
        let texts = ["lr=log:1e-4:1", "width=int:8:64", "act=choice:relu,tanh"];
        let space = Space::Parameters(ParameterSpace::parse(&texts).expect("a space"));
        let usual = StudySpec::new(space, "acc", direction);
        let mut study = Study::new(StudySpec {
            trials,
            max_resource: 1,
            policy: StopPolicy::none(),
            sampler: SamplerSpec::from(RandomSampling),
            ..usual
        })
        .expect("a study");
        for trial in 0..trials {
            study.step(&StudyInput::WorkerIdle);
            let value = result(&study.trials()[trial as usize].configuration);
            study.step(&StudyInput::Reported { trial, step: 1, value, metrics: BTreeMap::new() });
            study.step(&StudyInput::Ended { trial, failure: None });
        }
        study
    }

    fn of_rate(configuration: &Configuration) -> Option<f64> {
        configuration["lr"].as_number().map(|lr| 0.9 - 0.1 * (lr.log10() + 2.0).powi(2))
    }

    #[test]
    fn the_parameter_that_decides_has_all_and_the_others_nothing() {
        for direction in [Direction::Maximize, Direction::Minimize] {
            let found = relevances(&study(30, direction, of_rate));
            assert_eq!((found.trials, found.used, found.parameters[0].name.as_str()), (30, 30, "lr"));
            assert!(found.explained.expect("it is known") > 0.9, "{found:?}");
            assert!(found.parameters[0].share > 0.9, "{found:?}");
            assert!(found.parameters[1..].iter().all(|other| other.share < 0.1), "{found:?}");
        }
    }

    #[test]
    fn of_many_trials_some_are_taken_evenly() {
        let found = relevances(&study(400, Direction::Maximize, of_rate));
        assert_eq!((found.trials, found.used), (400, 150));
        assert!(found.parameters[0].share > 0.9 && found.explained.is_some_and(|it| it > 0.9), "{found:?}");
    }

    #[test]
    fn two_parameters_share() {
        let of_two = |c: &Configuration| {
            Some(of_rate(c)? / 4.0 + if c["act"].as_text() == Some("tanh") { 0.2 } else { 0.0 })
        };
        let found = relevances(&study(40, Direction::Maximize, of_two));
        let share = |name: &str| found.parameters.iter().find(|p| p.name == name).expect("it is there").share;
        // by hand: lr alone has the variance (0.1/4)²·(16/5 − 16/9), act alone 0.1², together 0.0109
        for (name, expected) in [("lr", 0.08), ("act", 0.92), ("width", 0.0)] {
            assert!((share(name) - expected).abs() < 0.07, "{name}: {found:?}");
        }
        let of_both = |c: &Configuration| {
            Some(of_rate(c)? * if c["act"].as_text() == Some("tanh") { 1.0 } else { -1.0 })
        };
        for study in [study(40, Direction::Maximize, of_two), study(40, Direction::Maximize, of_both)] {
            let found = relevances(&study);
            let sum: f64 = found.parameters.iter().map(|parameter| parameter.share).sum();
            assert!((sum - 1.0).abs() < 1e-9, "{found:?}");
            let sds =
                found.parameters.iter().map(|parameter| parameter.share_sd.expect("there are enough trials"));
            assert!(sds.clone().all(|sd| (0.0..0.5).contains(&sd)) && sds.sum::<f64>() > 0.0, "{found:?}");
        }
    }

    #[test]
    fn few_trials_say_nothing_and_noise_explains_nothing() {
        let few = relevances(&study(9, Direction::Maximize, of_rate));
        assert_eq!((few.trials, few.needed, few.parameters.len()), (9, 10, 0));
        let noise = |c: &Configuration| c["lr"].as_number().map(|lr| (lr * 1e7).sin());
        let found = relevances(&study(40, Direction::Maximize, noise));
        assert!(found.explained.is_none_or(|explained| explained < 0.3), "{found:?}");
        let constant = relevances(&study(20, Direction::Maximize, |_| Some(0.5)));
        assert!(constant.parameters.iter().all(|parameter| parameter.share.is_finite()), "{constant:?}");
    }
}

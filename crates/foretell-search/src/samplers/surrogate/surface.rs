//! A study's results as a surface over its parameters: slices and contours of a Gaussian process, with its spread.

use super::cube::UnitCube;
use super::evidence::{SeenTrial, TrialEvidence};
use super::gp::ScaledObservations;
use super::process::{Hyperparameters, SurrogateProcess};
use crate::samplers::worth::Worth;
use crate::space::Space;
use crate::study::{Study, Trial, TrialState};
use foretell::statistics::mean;
use foretell::{Direction, Value};
use serde::Serialize;

/// Trials with a result that a surface rests on, at least.
pub(super) const MIN_SURFACE_TRIALS: usize = 10;
/// Trials that the process is made from, at most.
const MAX_SURFACE_TRIALS: usize = 150;
/// Parts of the trials that are left out in turn.
const LEFT_OUT_PARTS: usize = 5;
/// Places along a slice, at most.
const MAX_SLICE_PLACES: usize = 41;
/// Places along each side of a contour, at most.
const MAX_CONTOUR_PLACES: usize = 25;

/// A study's results as a surface: the process of the sampler `gp`, fitted to the results of its trials. Of stopped trials the results
/// are their forecasts, with their spread; trials that failed count as the worst. As for the sampler, what lies further below the median
/// than twice the best lies above it counts as lying there: the surface is true where results are good.
#[derive(Clone, Debug, Default)]
pub struct ResponseSurface {
    /// Trials with a result, and those that failed.
    pub(super) trials: usize,
    /// Those that the process is made from.
    pub(super) used: usize,
    /// The process; none below ten trials, and where the numbers allow none.
    pub(super) fitted: Option<FittedSurface>,
}

#[derive(Clone, Debug)]
pub(super) struct FittedSurface {
    pub(super) cube: UnitCube,
    pub(super) process: SurrogateProcess,
    /// The processes with one of [`PARTS`] parts of the trials left out each: how much the trials decide.
    pub(super) parts: Vec<SurrogateProcess>,
    pub(super) names: Vec<String>,
    pub(super) lengths: Vec<f64>,
    pub(super) explained: Option<f64>,
    direction: Direction,
    /// The score that is 0 for the process, and how much of a score is 1.
    center: f64,
    unit: f64,
    /// The best trial, through which slices and contours go, and its coordinates.
    through: u64,
    at: Vec<f64>,
}

/// The surface along one parameter. The others are those of the best trial.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Slice {
    /// The parameter.
    pub name: String,
    /// Its values.
    pub values: Vec<Value>,
    /// The result expected at each, in the metric's unit.
    pub means: Vec<f32>,
    /// Its standard deviation.
    pub sds: Vec<f32>,
}

/// The surface over two parameters. The others are those of the best trial.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Contour {
    /// The parameter along each row.
    pub x: String,
    /// The parameter along each column.
    pub y: String,
    /// The values of x.
    pub x_values: Vec<Value>,
    /// The values of y.
    pub y_values: Vec<Value>,
    /// The results expected, a row for each value of y.
    pub means: Vec<Vec<f32>>,
    /// Their standard deviations.
    pub sds: Vec<Vec<f32>>,
}

impl ResponseSurface {
    /// The surface of `study`. O(n³) in at most 150 trials; of more, 150 are taken evenly from the worst to the best.
    pub fn new(study: &Study) -> Self {
        let Space::Parameters(space) = &study.spec().space else { return Self::default() };
        let evidence = evidence(study, UnitCube::new(space.clone()));
        let seen = evenly_spaced_trials(evidence.seen(), MAX_SURFACE_TRIALS);
        let (trials, used) = (evidence.len(), seen.len());
        if used < MIN_SURFACE_TRIALS {
            return Self { trials, ..Self::default() };
        }
        let names = space.parameters().iter().map(|parameter| parameter.name.clone()).collect();
        Self { trials, used, fitted: FittedSurface::new(study, evidence.cube, names, &seen) }
    }

    /// The trial that slices and contours go through.
    pub fn through(&self) -> Option<u64> {
        self.fitted.as_ref().map(|fitted| fitted.through)
    }

    /// A slice along each parameter that applies.
    pub fn slices(&self) -> Vec<Slice> {
        let Some(fitted) = &self.fitted else { return Vec::new() };
        (0..fitted.names.len()).filter_map(|j| fitted.slice(j)).collect()
    }

    /// The contour over the parameters `x` and `y`; `None` if there is no process, no such parameter, or one does not apply.
    pub fn contour(&self, x: &str, y: &str) -> Option<Contour> {
        let fitted = self.fitted.as_ref()?;
        let [x, y] = [x, y].map(|name| fitted.names.iter().position(|known| known == name));
        fitted.contour(x?, y?)
    }
}

impl FittedSurface {
    fn new(study: &Study, cube: UnitCube, names: Vec<String>, seen: &[SeenTrial]) -> Option<Self> {
        let ScaledObservations { points, targets, noise, center, unit } = ScaledObservations::new(seen);
        let known = Hyperparameters::likeliest(&cube, &points, &targets, &noise);
        let parts = (0..LEFT_OUT_PARTS).filter_map(|part| {
            let rest = (0..points.len()).filter(|i| i % LEFT_OUT_PARTS != part);
            let (targets, noise): (Vec<_>, Vec<_>) = rest.clone().map(|i| (targets[i], noise[i])).unzip();
            SurrogateProcess::new(&cube, &known, rest.map(|i| points[i].clone()).collect(), &targets, &noise)
        });
        let parts = parts.collect();
        let process = SurrogateProcess::new(&cube, &known, points, &targets, &noise)?;
        let left = mean(&process.held_out_errors().iter().map(|error| error * error).collect::<Vec<_>>());
        let spread = mean(&targets.iter().map(|target| target * target).collect::<Vec<_>>());
        let explained = (spread > 0.0).then(|| 1.0 - left / spread).filter(|share| share.is_finite());
        let best = study.best();
        let through = best.as_ref().map_or(0, |best| best.trial);
        let configuration = &study.trial(through)?.configuration;
        let at = cube.point(configuration).into_iter().map(|u| u.unwrap_or(0.5)).collect();
        let direction = study.spec().direction;
        Some(Self {
            lengths: known.lengths(),
            cube,
            process,
            parts,
            names,
            explained,
            direction,
            center,
            unit,
            through,
            at,
        })
    }

    /// The values of parameter `j` at `most` places of its scale at most, each with its coordinate; none if it does not apply.
    fn along(&self, j: usize, most: usize) -> Vec<(Value, f64)> {
        let mut found: Vec<(Value, f64)> = Vec::new();
        for i in 0..most {
            let mut coordinates = self.at.clone();
            coordinates[j] = i as f64 / (most - 1) as f64;
            let value = self.cube.configuration(&coordinates).remove(&self.names[j]);
            let Some(value) = value.filter(|value| *value != Value::Missing) else { return Vec::new() };
            if found.last().is_none_or(|(last, _)| *last != value) {
                found.push((value, coordinates[j]));
            }
        }
        found
    }

    /// Mean and standard deviation, in the metric's unit, where the best trial's coordinates are replaced by `changes`.
    fn result_with(&self, changes: &[(usize, f64)]) -> (f32, f32) {
        let mut coordinates = self.at.clone();
        for &(j, u) in changes {
            coordinates[j] = u;
        }
        let point = self.cube.point_at_coordinates(&coordinates);
        let (mean, sd) = self.process.forecast(&self.cube, &point);
        (self.direction.to_value(self.center + self.unit * mean) as f32, (self.unit * sd) as f32)
    }

    fn slice(&self, j: usize) -> Option<Slice> {
        let places = self.along(j, MAX_SLICE_PLACES);
        let (means, sds) = places.iter().map(|&(_, u)| self.result_with(&[(j, u)])).unzip();
        let values: Vec<Value> = places.into_iter().map(|(value, _)| value).collect();
        (!values.is_empty()).then(|| Slice { name: self.names[j].clone(), values, means, sds })
    }

    fn contour(&self, x: usize, y: usize) -> Option<Contour> {
        // either parameter may not apply to the best trial, whose values the others have
        let (along, up) = (self.along(x, MAX_CONTOUR_PLACES), self.along(y, MAX_CONTOUR_PLACES));
        if along.is_empty() || up.is_empty() || x == y {
            return None;
        }
        let rows =
            up.iter().map(|&(_, v)| along.iter().map(|&(_, u)| self.result_with(&[(x, u), (y, v)])).unzip());
        let (means, sds) = rows.unzip();
        let [x_values, y_values] =
            [along, up].map(|places| places.into_iter().map(|(value, _)| value).collect());
        let (x, y) = (self.names[x].clone(), self.names[y].clone());
        Some(Contour { x, y, x_values, y_values, means, sds })
    }
}

/// At most `most` of the trials, evenly from the worst to the best.
fn evenly_spaced_trials(mut seen: Vec<SeenTrial>, most: usize) -> Vec<SeenTrial> {
    if seen.len() <= most {
        return seen;
    }
    seen.sort_by(|a, b| a.worth.score.total_cmp(&b.worth.score));
    (0..most).map(|i| seen[i * (seen.len() - 1) / (most - 1)].clone()).collect()
}

/// The outcomes of the trials of `study`.
fn evidence(study: &Study, cube: UnitCube) -> TrialEvidence {
    let (mut evidence, direction) = (TrialEvidence::new(cube), study.spec().direction);
    for (number, trial) in (0..).zip(study.trials()).filter(|(_, trial)| !trial.is_unknown()) {
        match (&trial.state, trial.result()) {
            (TrialState::Failed { .. }, _) => evidence.observe_failure(number, &trial.configuration),
            (_, Some(result)) => {
                let score = direction.to_score(result);
                evidence.learn(number, &trial.configuration, worth(trial, score));
            }
            _ => {}
        }
    }
    evidence
}

fn worth(trial: &Trial, score: f64) -> Worth {
    match &trial.state {
        TrialState::Stopped { forecast, .. } => Worth::forecast(score, forecast.map_or(0.0, |f| f.sd)),
        _ => Worth::from_measurement(score),
    }
}

#[cfg(test)]
mod tests {
    use super::ResponseSurface;
    use crate::parameter_space::ParameterSpace;
    use crate::record::StudyInput;
    use crate::samplers::{RandomSampling, SamplerSpec};
    use crate::space::Space;
    use crate::study::{Study, StudySpec};
    use crate::{Queued, StopPolicy};
    use foretell::{Direction, Value};
    use std::collections::BTreeMap;

    /// A study whose loss is (log₁₀ lr + 2)²; half of it counts where act is tanh.
    fn study(trials: u64) -> Study {
        let texts = ["lr=log:1e-4:1", "act=choice:relu,tanh", "momentum=float:0:1 if act=tanh"];
        let space = Space::Parameters(ParameterSpace::parse(&texts).expect("a space"));
        let usual = StudySpec::new(space.clone(), "loss", Direction::Minimize);
        let best = Queued::Text("lr=0.01,act=relu".to_owned()).read(&space).expect("a configuration");
        let mut study = Study::new(StudySpec {
            trials,
            max_resource: 1,
            policy: StopPolicy::none(),
            sampler: SamplerSpec::from(RandomSampling),
            queue: vec![best],
            ..usual
        })
        .expect("a study");
        for trial in 0..trials {
            study.step(&StudyInput::WorkerIdle);
            let configuration = &study.trials()[trial as usize].configuration;
            let lr = configuration["lr"].as_number().expect("a number");
            let half = if configuration["act"].as_text() == Some("tanh") { 0.5 } else { 1.0 };
            let value = Some(0.1 * f64::from(u8::from(half < 1.0)) + half * (lr.log10() + 2.0).powi(2));
            study.step(&StudyInput::Reported { trial, step: 1, value, metrics: BTreeMap::new() });
            study.step(&StudyInput::Ended { trial, failure: None });
        }
        study
    }

    #[test]
    fn a_slice_goes_through_the_best_trial_and_knows_where_it_is_unsure() {
        let surface = ResponseSurface::new(&study(60));
        assert_eq!(surface.through(), Some(0));
        let slices = surface.slices();
        let names: Vec<&str> = slices.iter().map(|slice| slice.name.as_str()).collect();
        assert_eq!(names, ["lr", "act"], "momentum does not apply to the best");
        for (value, (mean, sd)) in slices[0].values.iter().zip(slices[0].means.iter().zip(&slices[0].sds)) {
            let off = value.as_number().expect("a number").log10() + 2.0;
            assert!(*sd > 0.0, "{value:?}: {mean} ± {sd}");
            match off.abs() {
                // far off, results count as no worse than twice as far from the median as the best
                off if off > 1.5 => assert!(*mean > 1.0, "{value:?}: {mean} ± {sd}"),
                off if off < 1.0 => {
                    assert!((f64::from(*mean) - off * off).abs() < 0.3, "{value:?}: {mean} ± {sd}")
                }
                _ => {}
            }
        }
        assert_eq!(slices[1].values, ["relu", "tanh"].map(|text| Value::Text(text.to_owned())));
    }

    #[test]
    fn a_contour_has_the_slices_as_its_rows_and_few_trials_have_none() {
        let surface = ResponseSurface::new(&study(60));
        let contour = surface.contour("lr", "act").expect("a contour");
        assert_eq!((contour.x_values.len(), contour.y_values.len()), (25, 2));
        assert!(contour.means.iter().chain(&contour.sds).all(|row| row.len() == 25));
        assert!(contour.means[0][0] > contour.means[1][0], "off the best rate, tanh halves the loss");
        for (x, y) in [("lr", "lr"), ("lr", "momentum"), ("lr", "other")] {
            assert!(surface.contour(x, y).is_none(), "{x} {y}");
        }
        let few = ResponseSurface::new(&study(9));
        assert!(few.slices().is_empty() && few.contour("lr", "act").is_none());
    }
}

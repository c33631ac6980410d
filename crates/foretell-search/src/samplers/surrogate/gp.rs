//! Gaussian-process search: expected improvement under a process over configurations.

use super::cube::CubePoint;
use super::evidence::{SeenTrial, TrialEvidence};
use super::process::{Hyperparameters, SurrogateProcess};
use foretell::Configuration;
use foretell::statistics::normal_cdf;
use rand::{Rng, RngExt};

/// Observations that the process is conditioned on, at most.
pub(super) const MAX_OBSERVATIONS: usize = 200;
/// Observations that hyperparameters are found from, at most.
pub(super) const MAX_FITTED_OBSERVATIONS: usize = 100;
/// Hyperparameters are found again when there are this many times as many results: at once up to 20, so that a new best is not left out.
const REFIT_GROWTH: f64 = 1.05;
/// Random points among the candidates.
const RANDOM_CANDIDATES: usize = 200;
/// Points near the best among the candidates.
const NEARBY_CANDIDATES: usize = 100;
/// Steps from the best candidate.
const LOCAL_SEARCH_STEPS: usize = 60;

/// Search by expected improvement.
///
/// The process has a Matérn-5/2 kernel with a length for each parameter; options differ by 1, and so do a value and a
/// parameter that does not apply. Scores are standardized; what lies further below the median than twice the best lies above
/// it is raised to there. A forecast N(m, s²) is an observation of m with the noise s². Running trials count with the
/// process's own mean there, so that workers keep apart (Ginsbourger et al. 2010, "kriging believer").
///
/// The best of 200 random points, 100 near the four best trials and 60 steps from the best of those is proposed. The process
/// is conditioned on at most 200 trials: the best 100 and every other so many-th of the rest. Hyperparameters are found from
/// at most 100, and again when there are 1.05 times as many results.
///
/// Sources: Jones, Schonlau & Welch 1998; Snoek, Larochelle & Adams 2012 (kernel).
#[derive(Clone, Debug, Default)]
pub(crate) struct GpSearch {
    /// The trials from which hyperparameters are to be found.
    lesson: Vec<SeenTrial>,
    /// With how many results it was taken.
    taken_at: usize,
    /// Those of the lesson, once found.
    known: Option<Hyperparameters>,
}

/// The observations, on a standardized scale.
pub(super) struct ScaledObservations {
    pub(super) points: Vec<CubePoint>,
    pub(super) targets: Vec<f64>,
    pub(super) noise: Vec<f64>,
    /// The score that is 0 on that scale.
    pub(super) center: f64,
    /// The amount of a score that is 1 on it.
    pub(super) unit: f64,
}

impl ScaledObservations {
    pub(super) fn new(seen: &[SeenTrial]) -> Self {
        let mut scores: Vec<f64> = seen.iter().map(|seen| seen.worth.score).collect();
        scores.sort_by(f64::total_cmp);
        let median = foretell::statistics::quantile_of_sorted(&scores, 0.5);
        let best = scores.last().copied().unwrap_or(median);
        let least = median - 2.0 * (best - median);
        let raised: Vec<f64> = seen.iter().map(|seen| seen.worth.score.max(least)).collect();
        let mean = foretell::statistics::mean(&raised);
        let variance =
            foretell::statistics::mean(&raised.iter().map(|y| (y - mean).powi(2)).collect::<Vec<_>>());
        let unit = if variance > 0.0 { variance.sqrt() } else { 1.0 };
        Self {
            points: seen.iter().map(|seen| seen.point.clone()).collect(),
            targets: raised.iter().map(|y| (y - mean) / unit).collect(),
            // a spread beyond ten standard deviations says nothing more
            noise: seen.iter().map(|seen| (seen.worth.sd / unit).min(10.0).powi(2)).collect(),
            center: mean,
            unit,
        }
    }
}

impl GpSearch {
    /// A result came in: takes what hyperparameters are found from, if it is time.
    pub(crate) fn learn(&mut self, evidence: &TrialEvidence) {
        if evidence.len() as f64 >= REFIT_GROWTH * self.taken_at as f64 {
            self.taken_at = evidence.len();
            (self.lesson, self.known) =
                (best_and_even_trials(evidence.seen(), MAX_FITTED_OBSERVATIONS), None);
        }
    }

    /// Candidates for the next trial, the best first; none if the numbers allow no process.
    pub(crate) fn draws(&mut self, evidence: &TrialEvidence, rng: &mut impl Rng) -> Vec<Vec<f64>> {
        let (cube, lesson) = (&evidence.cube, &self.lesson);
        let hyperparameters = self.known.get_or_insert_with(|| {
            let known = ScaledObservations::new(lesson);
            Hyperparameters::likeliest(cube, &known.points, &known.targets, &known.noise)
        });
        let seen = best_and_even_trials(evidence.seen(), MAX_OBSERVATIONS);
        let Some(process) = believing(evidence, hyperparameters, &ScaledObservations::new(&seen)) else {
            return Vec::new();
        };
        let mut by_mean: Vec<(f64, &CubePoint)> =
            seen.iter().map(|seen| (process.mean(cube, &seen.point), &seen.point)).collect();
        by_mean.sort_by(|a, b| b.0.total_cmp(&a.0));
        let best = by_mean.first().map_or(0.0, |(mean, _)| *mean);
        let leaders = by_mean.into_iter().take(4).map(|(_, point)| point).collect();
        let search = CandidateSearch {
            evidence,
            leaders,
            value: &|_, point| {
                let (mean, sd) = process.forecast(cube, point);
                ln_expected_improvement((mean - best) / sd) + sd.ln()
            },
        };
        search.candidates(rng)
    }
}

/// The process of what is `known`, in which running trials count with its own mean.
pub(super) fn believing(
    evidence: &TrialEvidence,
    hyperparameters: &Hyperparameters,
    known: &ScaledObservations,
) -> Option<SurrogateProcess> {
    let (cube, running) = (&evidence.cube, evidence.running());
    let ScaledObservations { points, targets, noise, .. } = known;
    let process = SurrogateProcess::new(cube, hyperparameters, points.clone(), targets, noise)?;
    if running.is_empty() {
        return Some(process);
    }
    let believed = running.iter().map(|point| process.mean(cube, point));
    let targets: Vec<f64> = targets.iter().copied().chain(believed).collect();
    let noise: Vec<f64> = noise.iter().copied().chain(running.iter().map(|_| 0.0)).collect();
    let points = points.iter().cloned().chain(running).collect();
    SurrogateProcess::new(cube, hyperparameters, points, &targets, &noise)
}

/// At most `most` of the trials: the better half of those the best, the others evenly from the rest.
fn best_and_even_trials(seen: Vec<SeenTrial>, most: usize) -> Vec<SeenTrial> {
    if seen.len() <= most {
        return seen;
    }
    let mut order: Vec<usize> = (0..seen.len()).collect();
    order.sort_by(|&a, &b| seen[b].worth.score.total_cmp(&seen[a].worth.score));
    best_and_evenly(&order, most).into_iter().map(|index| seen[index].clone()).collect()
}

/// At most `most` of `order`: the first half of those from its beginning, the others evenly from the rest.
pub(super) fn best_and_evenly(order: &[usize], most: usize) -> Vec<usize> {
    if order.len() <= most {
        return order.to_vec();
    }
    let (best, rest) = order.split_at(most / 2);
    let others = most - best.len();
    let even = (0..others).map(|i| rest[i * rest.len() / others]);
    best.iter().copied().chain(even).collect()
}

/// The search for the configuration that promises the most.
pub(super) struct CandidateSearch<'a> {
    pub(super) evidence: &'a TrialEvidence,
    /// The best trials, the best first; one at least.
    pub(super) leaders: Vec<&'a CubePoint>,
    /// The value that a configuration promises.
    pub(super) value: &'a dyn Fn(&Configuration, &CubePoint) -> f64,
}

impl CandidateSearch<'_> {
    /// The value that the configuration at `coordinates` promises.
    fn value(&self, coordinates: &[f64]) -> f64 {
        let cube = &self.evidence.cube;
        let configuration = cube.configuration(coordinates);
        (self.value)(&configuration, &cube.point(&configuration))
    }

    /// Candidates, the best first.
    pub(super) fn candidates(&self, rng: &mut impl Rng) -> Vec<Vec<f64>> {
        let dimensions = self.evidence.cube.dimensions();
        let mut drawn: Vec<(f64, Vec<f64>)> = Vec::new();
        for number in 0..RANDOM_CANDIDATES + NEARBY_CANDIDATES {
            let coordinates = match number.checked_sub(RANDOM_CANDIDATES) {
                None => (0..dimensions).map(|_| rng.random()).collect(),
                Some(near) => {
                    let leader = self.leaders[near % self.leaders.len()];
                    let whole = leader.iter().map(|u| u.unwrap_or_else(|| rng.random())).collect();
                    self.perturb_coordinates(whole, if near % 2 == 0 { 0.1 } else { 0.02 }, rng)
                }
            };
            drawn.push((self.value(&coordinates), coordinates));
        }
        drawn.sort_by(|a, b| b.0.total_cmp(&a.0));
        let (mut value, mut at) = drawn[0].clone();
        for step in 0..LOCAL_SEARCH_STEPS {
            let sd = 0.1 * 0.02_f64.powf(step as f64 / LOCAL_SEARCH_STEPS as f64);
            let moved = self.perturb_coordinates(at.clone(), sd, rng);
            let there = self.value(&moved);
            if there > value {
                (value, at) = (there, moved);
            }
        }
        std::iter::once(at).chain(drawn.into_iter().map(|(_, coordinates)| coordinates)).collect()
    }

    /// `coordinates` with each moved by about `sd`, or a choice sampled again, with a probability of 1/d + ¼, one of them for sure.
    fn perturb_coordinates(&self, mut coordinates: Vec<f64>, sd: f64, rng: &mut impl Rng) -> Vec<f64> {
        let dimensions = coordinates.len();
        let sure = rng.random_range(0..dimensions);
        let share = 0.25 + 1.0 / dimensions as f64;
        for (j, u) in coordinates.iter_mut().enumerate() {
            if j != sure && rng.random::<f64>() > share {
                continue;
            }
            if self.evidence.cube.options(j).is_some() {
                *u = rng.random();
                continue;
            }
            // about normal: the sum of twelve uniform draws has the variance 1
            let normal: f64 = (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
            // a parameter of few values would otherwise hardly ever change: smaller steps round to the same value
            let step = self.evidence.cube.values(j).map_or(sd, |values| sd.max(0.7 / values as f64));
            *u = (*u + step * normal).clamp(0.0, 1.0);
        }
        coordinates
    }
}

/// By how much a score of `mean` ± `sd` is expected to exceed `bar`: s·(z·Φ(z) + φ(z)), z = (m − bar)/s.
pub(super) fn improvement(mean: f64, sd: f64, bar: f64) -> f64 {
    sd * ln_expected_improvement((mean - bar) / sd).exp()
}

/// ln(z·Φ(z) + φ(z)).
fn ln_expected_improvement(z: f64) -> f64 {
    let ln_density = -0.5 * z * z - 0.5 * std::f64::consts::TAU.ln();
    // far below, by the first term of the asymptotic series, φ(z)/z²
    if z < -25.0 {
        return ln_density - 2.0 * (-z).ln();
    }
    let improvement = z * normal_cdf(z) + ln_density.exp();
    if improvement > 0.0 { improvement.ln() } else { ln_density - 2.0 * (-z).ln() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_logarithm_of_the_improvement_falls_without_a_jump() {
        assert!((ln_expected_improvement(0.0) - (1.0 / std::f64::consts::TAU.sqrt()).ln()).abs() < 1e-9);
        let mut before = f64::INFINITY;
        for i in 0..600 {
            let value = ln_expected_improvement(5.0 - f64::from(i) * 0.1);
            assert!(
                value < before && value.is_finite() && (before.is_infinite() || before - value < 7.0),
                "{i}"
            );
            before = value;
        }
    }
}

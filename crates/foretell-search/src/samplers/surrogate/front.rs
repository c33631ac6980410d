//! Search for a front: a Gaussian process for each objective, and how much the volume that the front dominates is expected to grow.

use super::cube::CubePoint;
use super::evidence::{SeenTrial, TrialEvidence};
use super::gp::{
    CandidateSearch, MAX_FITTED_OBSERVATIONS, MAX_OBSERVATIONS, ScaledObservations, believing,
    best_and_evenly, improvement,
};
use super::process::{Hyperparameters, SurrogateProcess};
use crate::objective::{front_of, hypervolume, places};
use crate::samplers::worth::Worth;
use foretell::Configuration;
use foretell::statistics::quantile_of_sorted;
use rand::Rng;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// The scores of a configuration in the objectives besides the metric, larger being better, as far as they are known before training.
pub(crate) type KnownCosts = Arc<dyn Fn(&Configuration) -> Vec<Option<f64>> + Send + Sync>;

/// The quantile of the metric below which a front is worth nothing.
const WORTHLESS_QUANTILE: f64 = 0.05;

/// Search by expected hypervolume improvement.
///
/// Each objective has a process of its own, as [`GpSearch`](super::GpSearch) has one. The metric of a candidate is normally distributed, m ± s; its other objectives
/// c are their formulas' values, where these are known before it is trained, else the means of their processes. With the front's metrics
/// f₁ ≥ f₂ ≥ …, f₀ = ∞, and the reference r as the last one, the volume grows by
///
/// Σ_k (V(c) − V(c ∧ those with metrics f₁ … f_k)) · (EI(f_k₊₁) − EI(f_k)),  EI(f) = s·(z·Φ(z) + φ(z)), z = (m − f)/s
///
/// where V is the volume of what is dominated in the other objectives, and c ∧ p is the smaller of both in each. Costs, which are minimized and positive,
/// are compared by their logarithms. The reference is the worst seen of each other objective, and the 5 % quantile of the metric.
///
/// Source: Emmerich, Giannakoglou & Naujoks 2006; that other objectives are taken at their means is Foretell's own.
/// O(n³) for each objective, and O(front^d) for each candidate.
#[derive(Clone)]
pub(crate) struct FrontSearch {
    /// The scores of each trial besides the metric, larger being better.
    others: BTreeMap<u64, Vec<f64>>,
    known: KnownCosts,
}

impl fmt::Debug for FrontSearch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FrontSearch").field("others", &self.others).finish_non_exhaustive()
    }
}

impl FrontSearch {
    pub(crate) fn new(others: BTreeMap<u64, Vec<f64>>, known: KnownCosts) -> Self {
        Self { others, known }
    }

    /// Candidates for the next trial, the best first; none if the numbers allow no process.
    pub(crate) fn draws(&self, evidence: &TrialEvidence, rng: &mut impl Rng) -> Vec<Vec<f64>> {
        let seen = evidence.seen();
        // who failed comes last, and is the worst in everything
        let mut others: Vec<Vec<f64>> = self.others.values().cloned().collect();
        let worst = others.iter().cloned().reduce(|a, b| a.iter().zip(&b).map(|(a, b)| a.min(*b)).collect());
        let Some(worst) = worst else { return Vec::new() };
        others.resize(seen.len(), worst);
        let Some(models) = ObjectiveModels::new(evidence, &seen, &others) else { return Vec::new() };
        let growth = models.growth(evidence, &seen);
        let search = CandidateSearch {
            evidence,
            leaders: growth.leaders.iter().collect(),
            value: &|configuration, point| {
                let (mean, sd) = models.metric.forecast(&evidence.cube, point);
                let costs = models.costs_of(evidence, point, &(self.known)(configuration));
                growth.expected_growth(mean, sd, &costs)
            },
        };
        search.candidates(rng)
    }
}

/// A scale on which an objective's values are compared: logarithms, where they are all costs.
#[derive(Clone, Copy, Debug)]
struct ObjectiveScale {
    by_logarithm: bool,
}

impl ObjectiveScale {
    fn new(mut values: impl Iterator<Item = f64>) -> Self {
        Self { by_logarithm: values.all(|value| value < 0.0) }
    }

    fn apply(self, value: f64) -> f64 {
        if self.by_logarithm { -(-value).max(f64::MIN_POSITIVE).ln() } else { value }
    }
}

/// One objective besides the metric.
struct CostModel {
    turned: ObjectiveScale,
    process: SurrogateProcess,
    center: f64,
    unit: f64,
    /// The scores of each trial, standardized.
    seen: Vec<f64>,
}

/// The processes of all objectives.
struct ObjectiveModels {
    metric: SurrogateProcess,
    costs: Vec<CostModel>,
}

impl ObjectiveModels {
    fn new(evidence: &TrialEvidence, seen: &[SeenTrial], others: &[Vec<f64>]) -> Option<Self> {
        let all: Vec<Vec<f64>> = seen
            .iter()
            .zip(others)
            .map(|(seen, others)| std::iter::once(seen.worth.score).chain(others.iter().copied()).collect())
            .collect();
        let mut order: Vec<usize> = (0..all.len()).collect();
        let places = places(&all);
        order.sort_by_key(|&index| places[index]);
        let mut costs = Vec::new();
        for objective in 0..others.first()?.len() {
            let scores: Vec<f64> = others.iter().map(|values| values[objective]).collect();
            costs.push(CostModel::new(evidence, seen, &scores, &order)?);
        }
        Some(Self { metric: fit_process(evidence, seen, &order)?.0, costs })
    }

    /// The other objectives of a candidate: as they are `known`, or are expected.
    fn costs_of(&self, evidence: &TrialEvidence, point: &CubePoint, known: &[Option<f64>]) -> Vec<f64> {
        let values = self.costs.iter().zip(known).map(|(cost, known)| match known {
            Some(value) => (cost.turned.apply(*value) - cost.center) / cost.unit,
            None => cost.process.mean(&evidence.cube, point),
        });
        values.collect()
    }

    fn growth(&self, evidence: &TrialEvidence, seen: &[SeenTrial]) -> FrontGrowth {
        let mut metrics: Vec<f64> =
            seen.iter().map(|seen| self.metric.mean(&evidence.cube, &seen.point)).collect();
        let points = metrics.iter().enumerate().map(|(index, &metric)| {
            std::iter::once(metric).chain(self.costs.iter().map(|cost| cost.seen[index])).collect()
        });
        let points: Vec<Vec<f64>> = points.collect();
        metrics.sort_by(f64::total_cmp);
        let least = self.costs.iter().map(|cost| cost.seen.iter().copied().fold(f64::INFINITY, f64::min));
        let reference = (quantile_of_sorted(&metrics, WORTHLESS_QUANTILE), least.collect());
        let on_front = front_of(&points);
        let leaders = on_front.iter().map(|&index| seen[index].point.clone()).collect();
        let front = on_front.into_iter().map(|index| points[index].clone()).collect();
        FrontGrowth::new(front, reference, leaders)
    }
}

impl CostModel {
    /// Fits the model of one objective to the `scores` of the trials `seen`. `order` lists the trials, best first.
    fn new(evidence: &TrialEvidence, seen: &[SeenTrial], scores: &[f64], order: &[usize]) -> Option<Self> {
        let turned = ObjectiveScale::new(scores.iter().copied());
        let scored = seen.iter().zip(scores).map(|(seen, &score)| SeenTrial {
            worth: Worth::from_measurement(turned.apply(score)),
            ..seen.clone()
        });
        let scored: Vec<SeenTrial> = scored.collect();
        let (process, center, unit) = fit_process(evidence, &scored, order)?;
        let seen = scored.iter().map(|scored| (scored.worth.score - center) / unit).collect();
        Some(Self { turned, process, center, unit, seen })
    }
}

/// Fits the process to the trials `seen`, which `order` lists best first. Also returns the center and the unit of its scaled scores:
/// scaled = (score − center) / unit.
fn fit_process(
    evidence: &TrialEvidence,
    seen: &[SeenTrial],
    order: &[usize],
) -> Option<(SurrogateProcess, f64, f64)> {
    let [lesson, observations] = [MAX_FITTED_OBSERVATIONS, MAX_OBSERVATIONS].map(|most| {
        let chosen = best_and_evenly(order, most).into_iter().map(|index| seen[index].clone());
        ScaledObservations::new(&chosen.collect::<Vec<_>>())
    });
    let hyperparameters =
        Hyperparameters::likeliest(&evidence.cube, &lesson.points, &lesson.targets, &lesson.noise);
    let process = believing(evidence, &hyperparameters, &observations)?;
    Some((process, observations.center, observations.unit))
}

/// The growth of the volume that a front dominates.
struct FrontGrowth {
    /// The metric and the other objectives of its points, the largest metric first.
    front: Vec<(f64, Vec<f64>)>,
    reference: (f64, Vec<f64>),
    /// Where its points are.
    leaders: Vec<CubePoint>,
}

impl FrontGrowth {
    fn new(front: Vec<Vec<f64>>, reference: (f64, Vec<f64>), leaders: Vec<CubePoint>) -> Self {
        let mut front: Vec<(f64, Vec<f64>)> =
            front.into_iter().map(|point| (point[0], point[1..].to_vec())).collect();
        front.sort_by(|a, b| b.0.total_cmp(&a.0));
        Self { front, reference, leaders }
    }

    /// The volume expected to be added by a point with the metric `mean` ± `sd` and these `costs`.
    fn expected_growth(&self, mean: f64, sd: f64, costs: &[f64]) -> f64 {
        let (least, worst) = (self.reference.0, &self.reference.1);
        let own = hypervolume(&[costs.to_vec()], worst);
        if own <= 0.0 {
            return 0.0;
        }
        let (mut above, mut sum, mut before) = (Vec::new(), 0.0, 0.0);
        let last = (least, Vec::new());
        for (metric, others) in self.front.iter().chain([&last]) {
            let now = improvement(mean, sd, metric.max(least));
            sum += (own - hypervolume(&above, worst)).max(0.0) * (now - before);
            above.push(others.iter().zip(costs).map(|(other, cost)| other.min(*cost)).collect());
            before = now;
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Where the metric is certain, the volume grows by what the point adds to it.
        #[test]
        fn the_growth_of_a_certain_point_is_what_it_adds(
            front in prop::collection::vec((0.0..1.0_f64, 0.0..1.0_f64, 0.0..1.0_f64), 0..7),
            point in (0.0..1.0_f64, 0.0..1.0_f64, 0.0..1.0_f64),
        ) {
            let points: Vec<Vec<f64>> = front.iter().map(|&(a, b, c)| vec![a, b, c]).collect();
            let kept: Vec<Vec<f64>> = front_of(&points).into_iter().map(|at| points[at].clone()).collect();
            let growth = FrontGrowth::new(kept.clone(), (0.0, vec![0.0, 0.0]), Vec::new());
            let expected = growth.expected_growth(point.0, 1e-9, &[point.1, point.2]);
            let with: Vec<Vec<f64>> = kept.iter().cloned().chain([vec![point.0, point.1, point.2]]).collect();
            let added = hypervolume(&with, &[0.0; 3]) - hypervolume(&kept, &[0.0; 3]);
            prop_assert!((expected - added).abs() < 1e-6, "{} {}", expected, added);
        }
    }

    #[test]
    fn what_is_unsure_may_still_grow_the_front() {
        let growth = FrontGrowth::new(vec![vec![0.5, 0.5]], (0.0, vec![0.0]), Vec::new());
        let dominated = |sd: f64| growth.expected_growth(0.4, sd, &[0.4]);
        assert!(dominated(1e-9).abs() < 1e-9);
        assert!(dominated(0.2) > 0.001 && dominated(0.4) > dominated(0.2));
        assert!(growth.expected_growth(0.4, 0.1, &[0.0]).abs() < 1e-12, "it costs as much as the reference");
    }

    #[test]
    fn costs_are_compared_by_their_logarithms() {
        let turned = ObjectiveScale::new([-1.0, -100.0].into_iter());
        assert!((turned.apply(-10.0) - turned.apply(-100.0) - 10_f64.ln()).abs() < 1e-12);
        assert!((ObjectiveScale::new([-1.0, 0.5].into_iter()).apply(0.5) - 0.5).abs() < 1e-12);
    }
}

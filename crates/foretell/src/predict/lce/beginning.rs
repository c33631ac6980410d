//! Where learning begins: points before that say nothing of the end, and are cut off.

use super::extrapolate::PartialCurve;

/// How leading points are cut off, before a curve is extrapolated for the termination criterion.
///
/// Points are cut until `look_ahead` points in a row exceed the first by more than `threshold`; if that never happens, none are. The first
/// point kept becomes the first epoch, and the target moves by as much (the published code leaves it where it was; `literal`).
///
/// Source: `terminationcriterion.py` of the code of Domhan et al. 2015.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Beginning {
    /// How much better than the first point a run that learns is, in units of the range.
    pub threshold: f64,
    /// How many points in a row have to be.
    pub look_ahead: usize,
    /// Whether the target stays where it was when points are cut off.
    pub literal: bool,
}

impl Default for Beginning {
    /// The published constants: 5 points above by 0.05.
    fn default() -> Self {
        Self { threshold: 0.05, look_ahead: 5, literal: false }
    }
}

impl Beginning {
    /// How many leading points of `curve` are cut off.
    fn cut(&self, curve: &PartialCurve<'_>) -> usize {
        let Some(first) = curve.scores.first() else { return 0 };
        let above = first + self.threshold * (curve.range.1 - curve.range.0);
        let learns = |points: &[f64]| points.iter().all(|score| *score > above);
        curve.scores.windows(self.look_ahead.max(1)).position(learns).unwrap_or(0)
    }

    /// What is left of `curve`: its steps, counted from the first step on, its scores, and the target.
    pub(super) fn left<'a>(&self, curve: &PartialCurve<'a>) -> (Vec<f64>, &'a [f64], f64) {
        let cut = self.cut(curve);
        let by = curve.steps.get(cut).zip(curve.steps.first()).map_or(0.0, |(step, first)| step - first);
        let steps = curve.steps.iter().skip(cut).map(|step| step - by).collect();
        let target = if self.literal { curve.target } else { curve.target - by };
        (steps, &curve.scores[cut..], target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_before_learning_begins_are_cut_off() {
        let learning = (1..=15).map(|x| 0.6 - 0.4 * (-f64::from(x) / 2.0).exp());
        let scores: Vec<f64> = [0.1, 0.1, 0.12, 0.11].into_iter().chain(learning).collect();
        let steps: Vec<f64> = (1..=19).map(f64::from).collect();
        let curve = PartialCurve { steps: &steps, scores: &scores, target: 40.0, range: (0.0, 1.0) };
        let beginning = Beginning::default();
        let (left, kept, target) = beginning.left(&curve);
        assert_eq!((left[0], left.len(), kept.len()), (1.0, 15, 15));
        assert!((target - 36.0).abs() < 1e-12);
        let (.., target) = Beginning { literal: true, ..beginning }.left(&curve);
        assert!((target - 40.0).abs() < 1e-12);
        let flat = PartialCurve { scores: &[0.1; 19], ..curve };
        assert_eq!(beginning.cut(&flat), 0, "nothing learns");
    }
}

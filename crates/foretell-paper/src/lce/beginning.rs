//! Where learning begins: points before that say nothing of the end, and are cut off.

/// The cutting of leading points before a curve is extrapolated for the termination criterion.
///
/// Points are cut until `look_ahead` points in a row exceed the first by more than `threshold`; if that never happens, none are. The first
/// point kept becomes the first epoch, and the target moves by as much (the published code leaves it where it was; `literal`).
///
/// Source: `terminationcriterion.py` of the code of Domhan et al. 2015.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LeadingCut {
    /// The amount by which a run that learns is better than the first point, in units of the range.
    pub threshold: f64,
    /// The number of points in a row that must be so much better.
    pub look_ahead: usize,
    /// Whether the target stays where it was when points are cut off.
    pub literal: bool,
}

impl Default for LeadingCut {
    /// The published constants: 5 points above by 0.05.
    fn default() -> Self {
        Self { threshold: 0.05, look_ahead: 5, literal: false }
    }
}

impl LeadingCut {
    /// The number of leading points cut off of a curve with these `scores`, whose metric ranges over `width`.
    pub(super) fn count_leading_points(&self, scores: &[f64], width: f64) -> usize {
        let Some(first) = scores.first() else { return 0 };
        let above = first + self.threshold * width;
        let mut windows = scores.windows(self.look_ahead.max(1));
        windows.position(|points| points.iter().all(|score| *score > above)).unwrap_or(0)
    }

    /// The steps after the first `cut`, counted from the first step on, and the target.
    pub(super) fn shift_steps(&self, steps: &[f64], cut: usize, target: f64) -> (Vec<f64>, f64) {
        let by = steps.get(cut).zip(steps.first()).map_or(0.0, |(step, first)| step - first);
        let left = steps.iter().skip(cut).map(|step| step - by).collect();
        (left, if self.literal { target } else { target - by })
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
        let beginning = LeadingCut::default();
        assert_eq!(beginning.count_leading_points(&scores, 1.0), 4);
        let (left, target) = beginning.shift_steps(&steps, 4, 40.0);
        assert_eq!((left[0], left.len()), (1.0, 15));
        assert!((target - 36.0).abs() < 1e-12);
        let (_, target) = LeadingCut { literal: true, ..beginning }.shift_steps(&steps, 4, 40.0);
        assert!((target - 40.0).abs() < 1e-12);
        assert_eq!(beginning.count_leading_points(&[0.1; 19], 1.0), 0, "nothing learns");
    }
}

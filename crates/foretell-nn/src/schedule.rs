//! Learning rates of MetaQNN's training: the starting rate, the schedule, and when a start has failed.

/// How many starting rates the retry rule tries.
pub(crate) const ATTEMPTS: usize = 5;

/// The steps of the optimizer within which a starting rate must prove better than guessing: an epoch of 45 000 images in batches of 128.
///
/// Source: MetaQNN's training settings (B. Baker et al. 2017), where they are one epoch.
pub const PROBATION: usize = 351;

/// The starting learning rate of attempt `attempt` (from 0): 0.001 · 0.4^attempt.
///
/// Source: MetaQNN's training settings (B. Baker et al. 2017).
pub fn attempt_rate(attempt: usize) -> f64 {
    0.001 * 0.4_f64.powi(attempt as i32)
}

/// The learning rate in epoch `epoch` (from 1) of `epochs` planned, starting at `initial`.
///
/// It falls to a fifth every max(1, ⌊`epochs`/4⌋) epochs: η = η₀ · 0.2^⌊(epoch − 1)/step⌋. MetaQNN's plan is 20 epochs
/// and a step of 5; other plans keep the proportion. Because the step depends on the whole plan, a training that is
/// paused early equals the beginning of the full one.
///
/// ```
/// use foretell_nn::learning_rate;
/// assert_eq!(learning_rate(0.001, 5, 20), 0.001);
/// assert!((learning_rate(0.001, 6, 20) - 0.0002).abs() < 1e-15);
/// ```
pub fn learning_rate(initial: f64, epoch: usize, epochs: usize) -> f64 {
    let step = (epochs / 4).max(1);
    initial * 0.2_f64.powi((epoch.saturating_sub(1) / step) as i32)
}

/// The factor on the rate after `reductions` falls to a tenth that are spread evenly over the plan:
/// 0.1^⌊(`reductions` + 1) · (epoch − 1)/`epochs`⌋.
pub(crate) fn even_falls(reductions: usize, epoch: usize, epochs: usize) -> f64 {
    0.1_f64.powi(((reductions + 1) * (epoch - 1) / epochs) as i32)
}

/// The validation accuracy that an attempt must exceed where guessing reaches `guessing`: one and a half times as much, 0.15
/// for ten classes.
pub fn least_accuracy(guessing: f64) -> f64 {
    1.5 * guessing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_fall_to_a_fifth_at_every_quarter_of_the_plan() {
        for (epoch, epochs, expected) in [
            (1, 20, 1.0),
            (5, 20, 1.0),
            (6, 20, 0.2),
            (20, 20, 0.008),
            (3, 8, 0.2),
            (2, 1, 0.2),
            (4, 3, 0.008),
        ] {
            let rate = learning_rate(1.0, epoch, epochs);
            assert!((rate - expected).abs() < 1e-12, "epoch {epoch} of {epochs}: {rate}");
        }
    }

    #[test]
    fn even_falls_divide_the_plan_into_equal_parts() {
        let falls = |reductions| -> Vec<i32> {
            (1..=6).map(|epoch| -even_falls(reductions, epoch, 6).log10().round() as i32).collect()
        };
        assert_eq!(falls(0), [0, 0, 0, 0, 0, 0]);
        assert_eq!(falls(1), [0, 0, 0, 1, 1, 1]);
        assert_eq!(falls(2), [0, 0, 1, 1, 2, 2]);
        assert_eq!(falls(3), [0, 0, 1, 2, 2, 3]);
    }

    #[test]
    fn attempts_start_at_a_thousandth_and_fall_by_two_fifths() {
        assert!((attempt_rate(0) - 1e-3).abs() < 1e-15);
        assert!((attempt_rate(ATTEMPTS - 1) - 2.56e-5).abs() < 1e-15);
        assert!((least_accuracy(0.1) - 0.15).abs() < 1e-15);
    }
}

//! Learning rates: schedules of any space, and those of MetaQNN's training, where a start can fail.

use crate::error::Error;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The number of starting rates the retry rule tries.
pub(crate) const MAX_ATTEMPTS: usize = 5;

/// The steps of the optimizer within which a starting rate must prove better than guessing: an epoch of 45 000 images in batches of 128.
///
/// Source: MetaQNN's training settings (B. Baker et al. 2017), where they are one epoch.
pub const PROBATION_STEPS: usize = 351;

/// The starting learning rate of attempt `attempt` (from 0): 0.001 · 0.4^attempt.
///
/// Source: MetaQNN's training settings (B. Baker et al. 2017).
pub fn attempt_rate(attempt: usize) -> f64 {
    0.001 * 0.4_f64.powi(attempt as i32)
}

/// The learning rate in epoch `epoch` (from 1) of `epochs` planned, starting at `initial`.
///
/// The rate falls to a fifth at each quarter of the plan: η = η₀ · 0.2^⌊4·(epoch − 1)/`epochs`⌋, so three times in all. MetaQNN's plan
/// is 20 epochs with a step of 5; other plans keep the proportion. Because the rate depends on the whole plan, a training that
/// is paused early equals the start of the full one.
///
/// ```
/// use foretell_nn::learning_rate;
/// assert_eq!(learning_rate(0.001, 5, 20), 0.001);
/// assert!((learning_rate(0.001, 6, 20) - 0.0002).abs() < 1e-15);
/// ```
pub fn learning_rate(initial: f64, epoch: usize, epochs: usize) -> f64 {
    initial * 0.2_f64.powi((4 * epoch.saturating_sub(1) / epochs.max(1)) as i32)
}

/// The decay of the learning rate over a plan of T epochs, instead of the space's own.
///
/// | schedule      | factor on the starting rate in epoch t, from 1              |
/// |---------------|-------------------------------------------------------------|
/// | `Step`        | MetaQNN's: 0.2^⌊4(t − 1)/T⌋                                 |
/// | `Exponential` | as much, evenly: 0.2^(4(t − 1)/T)                           |
/// | `Cosine`      | ½ + ½ cos(π(t − 1)/T)                                       |
/// | `Constant`    | 1                                                           |
///
/// ```
/// use foretell_nn::RateSchedule;
/// let schedule: RateSchedule = "exponential".parse()?;
/// assert!((schedule.rate_factor(6, 20) - 0.2).abs() < 1e-12);
/// # Ok::<(), foretell_nn::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RateSchedule {
    /// To a fifth at each quarter of the plan.
    Step,
    /// By the same factor after every epoch.
    Exponential,
    /// Along a half wave of the cosine to almost 0.
    Cosine,
    /// Not at all.
    Constant,
}

impl RateSchedule {
    const ALL_SCHEDULES: [(&str, Self); 4] = [
        ("step", Self::Step),
        ("exponential", Self::Exponential),
        ("cosine", Self::Cosine),
        ("constant", Self::Constant),
    ];

    /// The factor on the starting rate in epoch `epoch` (from 1) of `epochs` planned.
    pub fn rate_factor(self, epoch: usize, epochs: usize) -> f64 {
        let passed = epoch.saturating_sub(1) as f64 / epochs as f64;
        match self {
            Self::Step => learning_rate(1.0, epoch, epochs),
            Self::Exponential => 0.2_f64.powf(4.0 * passed),
            Self::Cosine => 0.5 + 0.5 * (std::f64::consts::PI * passed).cos(),
            Self::Constant => 1.0,
        }
    }
}

impl FromStr for RateSchedule {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let known = Self::ALL_SCHEDULES.iter().find(|(name, _)| *name == text);
        known.map(|&(_, schedule)| schedule).ok_or_else(|| Error::UnknownSchedule {
            name: text.to_owned(),
            known: Self::ALL_SCHEDULES.map(|(name, _)| name).join(", "),
        })
    }
}

impl fmt::Display for RateSchedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            Self::ALL_SCHEDULES.iter().find(|(_, schedule)| schedule == self).map_or("", |(name, _)| name),
        )
    }
}

/// The factor on the rate after `reductions` falls to a tenth that are spread evenly over the plan:
/// 0.1^⌊(`reductions` + 1) · (epoch − 1)/`epochs`⌋.
pub(crate) fn even_falls(reductions: usize, epoch: usize, epochs: usize) -> f64 {
    0.1_f64.powi(((reductions + 1) * (epoch - 1) / epochs) as i32)
}

/// The validation accuracy that an attempt must exceed where guessing reaches `guessing`: one and a half times as much, 0.15
/// for ten classes.
pub fn min_accuracy(guessing: f64) -> f64 {
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
            (1, 1, 1.0),
            (3, 10, 1.0),
            (4, 10, 0.2),
            (10, 10, 0.008),
            (7, 7, 0.008),
        ] {
            let rate = learning_rate(1.0, epoch, epochs);
            assert!((rate - expected).abs() < 1e-12, "epoch {epoch} of {epochs}: {rate}");
        }
    }

    #[test]
    fn every_schedule_begins_at_the_starting_rate_and_two_fall_alike_by_the_end_of_a_quarter() {
        for (name, schedule) in RateSchedule::ALL_SCHEDULES {
            assert_eq!(
                (name.parse::<RateSchedule>().unwrap(), schedule.to_string().as_str()),
                (schedule, name)
            );
            assert!((schedule.rate_factor(1, 20) - 1.0).abs() < 1e-12, "{name}");
        }
        for epoch in [6, 11, 16] {
            let [step, even] =
                [RateSchedule::Step, RateSchedule::Exponential].map(|s| s.rate_factor(epoch, 20));
            assert!((step - even).abs() < 1e-12, "epoch {epoch}: {step} and {even}");
        }
        assert!((RateSchedule::Cosine.rate_factor(11, 20) - 0.5).abs() < 1e-12);
        assert!((RateSchedule::Constant.rate_factor(20, 20) - 1.0).abs() < 1e-12);
        let error = "linear".parse::<RateSchedule>().unwrap_err().to_string();
        assert!(
            error.contains("unknown schedule `linear`. Choose one of step, exponential, cosine"),
            "{error}"
        );
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
        assert!((attempt_rate(MAX_ATTEMPTS - 1) - 2.56e-5).abs() < 1e-15);
        assert!((min_accuracy(0.1) - 0.15).abs() < 1e-15);
    }
}

//! The worth of a trial to a sampler.

/// A trial's final score (larger is better), measured or forecast.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Worth {
    /// The score, or the mean of its forecast.
    pub score: f64,
    /// The standard deviation of the forecast; 0 where it is measured, and where nobody can tell.
    pub sd: f64,
    /// Whether it was trained to its end.
    pub measured: bool,
}

impl Worth {
    /// A score that was measured at the end of the training.
    pub fn from_measurement(score: f64) -> Self {
        Self { score, sd: 0.0, measured: true }
    }

    /// A forecast of the end.
    pub fn forecast(score: f64, sd: f64) -> Self {
        Self { score, sd, measured: false }
    }
}

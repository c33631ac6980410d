//! CPU time of the thread.

use nix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// CPU time of this thread.
fn cpu() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}

/// A started clock.
pub struct Clock(Duration);

impl Clock {
    pub fn start() -> Self {
        Self(cpu())
    }

    /// CPU seconds of this thread since the start.
    pub fn seconds(&self) -> f64 {
        (cpu() - self.0).as_secs_f64()
    }
}

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

/// The least time of `repeats` runs, and the last result.
pub fn best_of<T>(repeats: usize, mut work: impl FnMut() -> T) -> (f64, T) {
    let mut once = || {
        let clock = Clock::start();
        let result = std::hint::black_box(work());
        (clock.seconds(), result)
    };
    let (mut least, mut result) = once();
    for _ in 1..repeats {
        let (seconds, next) = once();
        least = least.min(seconds);
        result = next;
    }
    (least, result)
}

//! The least time of several runs.

use crate::clock::Clock;

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

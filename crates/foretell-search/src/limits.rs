//! The largest sizes that a study, a replay or an evaluation may ask for. A larger one is refused with the name of its setting: it
//! would only fill the memory, or run for years.

/// The most trials and epochs that are only counted: sums and products of them stay far from the largest number there is.
pub const MAX_COUNT: u64 = 1_000_000_000_000;
/// The most trials of a plan, which the schedulers with fixed rungs hold in memory, and of a search with a time budget.
pub const MAX_PLANNED_TRIALS: u64 = 1_000_000;
/// The most random orders of a replay, whose results are all held in memory.
pub const MAX_ORDERINGS: u64 = 10_000;
/// The most trials at a time, as many as one command starts for a search.
pub const MAX_WORKERS: u64 = u16::MAX as u64;
/// The most samples of a random search of a predictor, a thousand times those of the paper.
pub const MAX_SAMPLES: u64 = 1_000_000;
/// The most random splits of an evaluation, and the most seeds of a published value.
pub const MAX_REPEATS: u64 = 10_000;

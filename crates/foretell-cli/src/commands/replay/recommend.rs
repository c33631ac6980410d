//! The recommended setting: chosen on half of the orders and measured on the other half, so that no figure flatters.

use super::replayed::ReplayedFile;
use foretell_search::{OrderingOutcome, ReplayOutcome, Saving};
use std::ops::Range;

/// A setting is safe if it kept the best run in at least this fraction of the orders.
const MIN_KEPT_FRACTION: f64 = 0.95;
/// The default isn't recommended where it kept the best run in a smaller fraction of the orders: its promise is 0.93, which ten orders miss
/// by this much in one case of fifty.
const MIN_KEPT_BY_DEFAULT: f64 = 0.75;
/// Orders without which a recommendation would be chance: five to choose on, and five to measure on.
const MIN_ORDERS: usize = 10;

/// Results of a setting in some of the orders.
#[derive(Clone, Copy, Debug)]
pub(super) struct MeasuredResult {
    pub(super) speedup: f64,
    pub(super) kept: usize,
    pub(super) orders: usize,
    regret: f64,
}

impl MeasuredResult {
    fn new(outcome: &ReplayOutcome, orders: Range<usize>) -> Self {
        let orders = &outcome.orderings[orders];
        let mean = |sum: f64| sum / orders.len().max(1) as f64;
        Self {
            speedup: Saving::total(&orders.iter().map(OrderingOutcome::saving).collect::<Vec<_>>()).0,
            kept: orders.iter().filter(|order| order.best_kept).count(),
            orders: orders.len(),
            regret: mean(orders.iter().map(|order| order.regret).sum()),
        }
    }

    /// Whether it kept the best run often enough for the default of a search.
    pub(super) fn suits_as_default(&self) -> bool {
        self.kept as f64 >= MIN_KEPT_BY_DEFAULT * self.orders as f64
    }

    fn is_safe(&self) -> bool {
        self.kept as f64 >= MIN_KEPT_FRACTION * self.orders as f64
    }

    /// Whether it saves more than `other` and keeps the best no less often.
    pub(super) fn beats(&self, other: &Self) -> bool {
        self.speedup > other.speedup && self.kept >= other.kept
    }
}

/// The setting to use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Recommendation {
    /// Row of the setting.
    pub(super) row: usize,
    /// Results of the setting in the orders that it was not chosen on.
    pub(super) elsewhere: MeasuredResult,
    /// Results of the default settings of `foretell search` in the same orders.
    pub(super) usual: MeasuredResult,
}

/// The fastest setting that stops the trials of a search and is safe on the first half of the orders; else the one that kept the best run
/// most often there, and among these the one that lost least. `None` without the default to compare with, or with too few orders.
pub(super) fn recommend_setting(file: &ReplayedFile) -> Option<Recommendation> {
    let usual = file.usual()?;
    let orders = file.outcomes[usual].orderings.len();
    if orders < MIN_ORDERS {
        return None;
    }
    let (chosen_by, others) = (0..orders.div_ceil(2), orders.div_ceil(2)..orders);
    let tried = |i: &usize| file.rows[*i].variant.is_for_searches();
    let seen: Vec<(usize, MeasuredResult)> = (0..file.rows.len())
        .filter(tried)
        .map(|i| (i, MeasuredResult::new(&file.outcomes[i], chosen_by.clone())))
        .collect();
    let faster =
        |a: &&(usize, MeasuredResult), b: &&(usize, MeasuredResult)| a.1.speedup.total_cmp(&b.1.speedup);
    let safer = |a: &&(usize, MeasuredResult), b: &&(usize, MeasuredResult)| {
        a.1.kept.cmp(&b.1.kept).then(b.1.regret.total_cmp(&a.1.regret))
    };
    let safe = seen.iter().filter(|(_, measured)| measured.is_safe()).max_by(faster);
    let &(row, _) = safe.or_else(|| seen.iter().max_by(safer))?;
    let elsewhere = |i: usize| MeasuredResult::new(&file.outcomes[i], others.clone());
    Some(Recommendation { row, elsewhere: elsewhere(row), usual: elsewhere(usual) })
}

//! The settings of learning-curve extrapolation: the published ones, and ours.

use super::beginning::LeadingCut;
use super::families::CurveFamily;
use super::posterior::MonotonicityRule;
use super::sampler::{ConvergenceCriterion, EnsembleOptions, WalkerMove};

/// The options by which [`extrapolate`](super::extrapolate) fits and samples. [`LceOptions::default`] is ours,
/// [`LceOptions::domhan2015`] theirs:
///
/// | | default | `domhan2015` |
/// |---|---|---|
/// | families | eight: all but log power, exp4 and Weibull, which repeat Hill3 and Janoschek | all 11 |
/// | starts of the fit | the best of 64 in the prior's box and the published ones | the published ones |
/// | prior of parameters | uniform in a box | flat on the real line |
/// | prior of the weights | uniform on the simplex | flat on w ≥ 0 |
/// | prior of σ | ln σ uniform, 10⁻³ to ½ of the range | flat on σ > 0 |
/// | f_k(T) | within the range of the metric | within [0, 100] |
/// | monotonicity | f_k(2) ≤ f_k(T) | the same |
/// | families left out | those that the prior does not believe, or that leave nine tenths of the variance | those that the prior does not believe |
/// | recency weights | no | 10^(i/n) |
/// | walkers, steps, burn-in | 60, until convergence (at most 400), half | 100, 2500, 500 |
/// | start of the walkers | a short chain of each family alone | the fit ± 10⁻⁶ |
/// | moves | differential evolution, one family at a time | stretch, a = 2, all at once |
#[derive(Clone, Debug, PartialEq)]
pub struct LceOptions {
    /// The families to combine, those that fit.
    pub families: Vec<CurveFamily>,
    /// Starts of each family's fit in the prior's box, besides the published one; 0: the published one alone, unbounded.
    pub starts: usize,
    /// Whether the prior is proper: see the table.
    pub proper_prior: bool,
    /// The values that a family may end at, in units of the range: (least, largest).
    pub end: (f64, f64),
    /// The condition under which a curve is believed.
    pub monotonicity: MonotonicityRule,
    /// Whether families are left out: see the table.
    pub screening: bool,
    /// Whether later points weigh more, 10^(i/n), in fits and likelihood.
    pub recency: bool,
    /// The leading points that are cut off; `None` cuts none. The termination criterion cuts those before learning begins.
    pub beginning: Option<LeadingCut>,
    /// The fewest points that are extrapolated.
    pub least_points: usize,
    /// Whether walkers start from chains of each family alone (a proper prior given), or within 10⁻⁶ of the fit.
    pub spread_start: bool,
    /// The sampler.
    pub ensemble: EnsembleOptions,
}

impl Default for LceOptions {
    fn default() -> Self {
        use CurveFamily::{Hill3, Ilog2, Janoschek, LogLogLinear, Mmf, Pow3, Pow4, VaporPressure};
        Self {
            families: vec![VaporPressure, Pow3, LogLogLinear, Hill3, Pow4, Mmf, Janoschek, Ilog2],
            starts: 64,
            proper_prior: true,
            end: (0.0, 1.0),
            monotonicity: MonotonicityRule::Soft,
            screening: true,
            recency: false,
            beginning: None,
            least_points: 2,
            spread_start: true,
            ensemble: EnsembleOptions {
                walkers: 60,
                steps: 400,
                burn_in: 200,
                moves: WalkerMove::Differential,
                blocks: true,
                stop: Some(ConvergenceCriterion::default()),
                parallel: false,
            },
        }
    }
}

impl LceOptions {
    /// The settings of Domhan et al.'s termination script.
    #[must_use]
    pub fn domhan2015() -> Self {
        Self {
            families: CurveFamily::ALL.to_vec(),
            starts: 0,
            proper_prior: false,
            end: (0.0, 100.0),
            monotonicity: MonotonicityRule::Soft,
            screening: true,
            recency: true,
            beginning: None,
            least_points: 5,
            spread_start: false,
            ensemble: EnsembleOptions {
                walkers: 100,
                steps: 2500,
                burn_in: 500,
                moves: WalkerMove::Stretch { scale: 2.0 },
                blocks: false,
                stop: None,
                parallel: false,
            },
        }
    }
}

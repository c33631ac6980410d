//! An affine-invariant ensemble sampler, and the diagnostics of its chain.

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

/// A density to draw from, known up to a constant factor, and two quantities of each draw that are recorded.
pub(crate) trait TargetDensity: Sync {
    /// The number of values that a walker keeps from one evaluation for the next.
    fn cache_size(&self) -> usize;

    /// The coordinates that each block moves; together all of them.
    fn coordinate_blocks(&self) -> Vec<Vec<usize>>;

    /// (ln density, quantities) at `x`; −∞ outside the support. `kept` is what the evaluation at a point that differs from
    /// `x` in `block` alone has left, and is brought up to date; without `block`, it says nothing.
    fn evaluate(&self, x: &[f64], block: Option<usize>, kept: &mut [f64]) -> (f64, [f64; 2]);
}

/// The move of a walker X, given walkers of the other half of the ensemble, in d dimensions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WalkerMove {
    /// The stretch move: X' = X_j + z·(X − X_j), z on [1/a, a] with density ∝ 1/√z, accepted with probability
    /// min(1, z^(d−1)·p(X')/p(X)). Source: Goodman & Weare 2010.
    Stretch {
        /// a > 1; 2 is usual.
        scale: f64,
    },
    /// Differential evolution: X' = X + γ·(X_i − X_j), accepted with probability min(1, p(X')/p(X)). γ is 1 in one move of
    /// ten, else 2.38/√(2d)·10^(−u), u uniform on [0, 1): where a block's spread given the others is less than its spread
    /// in the ensemble, long moves fail. Source: ter Braak 2006, with the shorter moves added.
    Differential,
}

/// When a chain is long enough: every [`Self::CHECK_INTERVAL`] steps, the first half is taken as burn-in and the rest is judged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConvergenceCriterion {
    /// The largest split R̂ of the recorded quantity, over the halves of the ensemble's walks.
    pub split_r_hat: f64,
    /// The fewest independent draws, walkers × kept steps over the autocorrelation time.
    pub draws: f64,
}

impl ConvergenceCriterion {
    /// Steps between two looks.
    pub const CHECK_INTERVAL: usize = 50;
}

/// The options of sampling.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EnsembleOptions {
    /// Walkers, even; raised to twice the dimension of what moves at once where that is more.
    pub walkers: usize,
    /// Steps at most, burn-in included.
    pub steps: usize,
    /// Steps that are discarded; with `stop`, half of all are.
    pub burn_in: usize,
    /// The moves of walkers.
    pub moves: WalkerMove,
    /// Whether a step moves one block of coordinates after the other (each family's parameters with its weight; σ with all
    /// weights), or all at once. A move in few dimensions is accepted more often, and costs one family.
    pub blocks: bool,
    /// When to stop before `steps`; `None`: never.
    pub stop: Option<ConvergenceCriterion>,
    /// Whether the density is evaluated in parallel: the same chain, sooner where one evaluation is dear.
    pub parallel: bool,
}

/// The diagnostics of the chain after burn-in.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ChainDiagnostics {
    /// Steps taken, burn-in included.
    pub steps: usize,
    /// Walkers.
    pub walkers: usize,
    /// The share of moves that were accepted, 0–1.
    pub acceptance: f64,
    /// Integrated autocorrelation time of the first quantity, in steps.
    pub autocorrelation_time: f64,
    /// Split R̂ of the first quantity: near 1 where the walkers and the halves of their walks agree.
    pub split_r_hat: f64,
    /// Whether [`EnsembleOptions::stop`] held at the end; without it, whether its defaults would have.
    pub converged: bool,
}

/// The recorded quantities of a chain.
#[derive(Clone, Debug)]
pub(crate) struct SampledChain {
    /// After burn-in, step after step, all walkers of a step together.
    pub(crate) kept: Vec<[f64; 2]>,
    pub(crate) diagnostics: ChainDiagnostics,
    /// Where the walkers ended, shape (walkers, d).
    pub(crate) last: Vec<Vec<f64>>,
}

/// The walkers, and the space for a half's proposals.
struct WalkerEnsemble<'a, T> {
    target: &'a T,
    options: EnsembleOptions,
    blocks: Vec<Vec<usize>>,
    walkers: Vec<WalkerState>,
    proposals: Vec<MoveProposal>,
    random: ChaCha8Rng,
    accepted: usize,
}

/// A point, its density and quantities, and what its evaluation left.
#[derive(Clone, Debug, Default)]
struct WalkerState {
    x: Vec<f64>,
    density: f64,
    quantities: [f64; 2],
    kept: Vec<f64>,
}

#[derive(Clone, Debug, Default)]
struct MoveProposal {
    to: WalkerState,
    /// ln of the factor of the move, and of the uniform draw it has to beat.
    factor: f64,
    threshold: f64,
}

/// Samples `target` from the walkers `start` (shape (walkers, d), an even number of rows, all inside the support).
///
/// Half of the walkers move given the other half, then the other way round, so that a half's densities can be evaluated at
/// the same time; proposals are drawn before that, in order, so that the chain does not depend on threads.
/// O(steps · walkers) evaluations.
pub(crate) fn sample_ensemble<T: TargetDensity>(
    target: &T,
    start: &[Vec<f64>],
    options: EnsembleOptions,
    seed: u64,
) -> SampledChain {
    let mut ensemble = WalkerEnsemble::new(target, start, options, seed);
    let walkers = start.len();
    let mut recorded: Vec<[f64; 2]> = Vec::with_capacity(options.steps * walkers);
    let mut converged = false;
    let mut steps = 0;
    while steps < options.steps && !converged {
        ensemble.move_all_walkers();
        recorded.extend(ensemble.walkers.iter().map(|walker| walker.quantities));
        steps += 1;
        if let Some(stop) = options.stop
            && steps.is_multiple_of(ConvergenceCriterion::CHECK_INTERVAL)
        {
            converged = stop.is_met(&recorded[steps / 2 * walkers..], walkers);
        }
    }
    let burn_in = if options.stop.is_some() { steps / 2 } else { options.burn_in.min(steps / 2) };
    let kept = recorded.split_off(burn_in * walkers);
    let (autocorrelation_time, split_r_hat) =
        (autocorrelation_time(&kept, walkers), split_r_hat(&kept, walkers));
    let converged = converged || options.stop.unwrap_or_default().is_met(&kept, walkers);
    let moves = steps * walkers * ensemble.moves_per_step();
    let acceptance = ensemble.accepted as f64 / moves.max(1) as f64;
    let diagnostics =
        ChainDiagnostics { steps, walkers, acceptance, autocorrelation_time, split_r_hat, converged };
    SampledChain { kept, diagnostics, last: ensemble.walkers.into_iter().map(|walker| walker.x).collect() }
}

impl<'a, T: TargetDensity> WalkerEnsemble<'a, T> {
    fn new(target: &'a T, start: &[Vec<f64>], options: EnsembleOptions, seed: u64) -> Self {
        let dimension = start.first().map_or(0, Vec::len);
        let blocks = if options.blocks { target.coordinate_blocks() } else { vec![(0..dimension).collect()] };
        let walkers = start.iter().map(|x| {
            let mut kept = vec![0.0; target.cache_size()];
            let (density, quantities) = target.evaluate(x, None, &mut kept);
            WalkerState { x: x.clone(), density, quantities, kept }
        });
        let walkers: Vec<WalkerState> = walkers.collect();
        let proposals = walkers[..walkers.len() / 2].iter();
        let proposals =
            proposals.map(|walker| MoveProposal { to: walker.clone(), ..MoveProposal::default() }).collect();
        let random = ChaCha8Rng::seed_from_u64(seed);
        Self { target, options, blocks, walkers, proposals, random, accepted: 0 }
    }

    /// Moves of a walker in one step.
    fn moves_per_step(&self) -> usize {
        self.blocks.len()
    }

    /// Moves every walker once in each block.
    fn move_all_walkers(&mut self) {
        let half = self.walkers.len() / 2;
        for block in 0..self.blocks.len() {
            for (own, other) in [(0, half), (half, 0)] {
                for k in 0..half {
                    self.draw_proposal(k, own + k, other, block);
                }
                self.evaluate_proposals(block);
                for k in 0..half {
                    self.accept_or_reject(k, own + k);
                }
            }
        }
    }

    /// Draws proposal `k`, of `walker`, given the half that starts at `other`.
    fn draw_proposal(&mut self, k: usize, walker: usize, other: usize, block: usize) {
        let (random, half) = (&mut self.random, self.walkers.len() / 2);
        let others = &self.walkers[other..other + half];
        let (own, coordinates) = (&self.walkers[walker], &self.blocks[block]);
        let proposal = &mut self.proposals[k];
        let d = coordinates.len() as f64;
        proposal.to.x.copy_from_slice(&own.x);
        // a move of one block leaves the values of the others, which would otherwise be computed again
        if self.blocks.len() > 1 {
            proposal.to.kept.copy_from_slice(&own.kept);
        }
        match self.options.moves {
            WalkerMove::Stretch { scale } => {
                let u: f64 = random.random();
                let z = ((scale - 1.0) * u + 1.0).powi(2) / scale;
                let pivot = &others[random.random_range(0..half)].x;
                for &i in coordinates {
                    proposal.to.x[i] = pivot[i] + z * (own.x[i] - pivot[i]);
                }
                proposal.factor = (d - 1.0) * z.ln();
            }
            WalkerMove::Differential => {
                let shorter = 10_f64.powf(-random.random::<f64>());
                let gamma =
                    if random.random::<f64>() < 0.1 { 1.0 } else { shorter * 2.38 / (2.0 * d).sqrt() };
                let a = &others[random.random_range(0..half)].x;
                let b = &others[random.random_range(0..half)].x;
                for &i in coordinates {
                    proposal.to.x[i] += gamma * (a[i] - b[i]);
                }
                proposal.factor = 0.0;
            }
        }
        // 1 − u instead of u, because u may be 0, which has no logarithm
        proposal.threshold = (1.0 - random.random::<f64>()).ln();
    }

    /// The densities of all proposals.
    fn evaluate_proposals(&mut self, block: usize) {
        let target = self.target;
        let block = (self.blocks.len() > 1).then_some(block);
        if self.options.parallel {
            let proposals = self.proposals.par_iter_mut().with_min_len(8);
            proposals.for_each(|proposal| proposal.to.evaluate_density(target, block));
        } else {
            self.proposals.iter_mut().for_each(|proposal| proposal.to.evaluate_density(target, block));
        }
    }

    fn accept_or_reject(&mut self, k: usize, walker: usize) {
        let proposal = &mut self.proposals[k];
        // not accepted if anything is NaN
        if proposal.threshold < proposal.factor + proposal.to.density - self.walkers[walker].density {
            std::mem::swap(&mut self.walkers[walker], &mut proposal.to);
            self.accepted += 1;
        }
    }
}

impl WalkerState {
    fn evaluate_density(&mut self, target: &impl TargetDensity, block: Option<usize>) {
        (self.density, self.quantities) = target.evaluate(&self.x, block, &mut self.kept);
    }
}

impl Default for ConvergenceCriterion {
    fn default() -> Self {
        Self { split_r_hat: 1.1, draws: 200.0 }
    }
}

impl ConvergenceCriterion {
    fn is_met(&self, kept: &[[f64; 2]], walkers: usize) -> bool {
        split_r_hat(kept, walkers) <= self.split_r_hat
            && kept.len() as f64 / autocorrelation_time(kept, walkers) >= self.draws
    }
}

/// Split R̂ of the first quantity: each walker's walk is cut into halves; R̂ = √((n − 1)/n + B/(n·W)) with W the mean
/// variance within halves of n steps and B/n the variance between their means. 1 where nothing varies.
///
/// Source: Gelman et al., *Bayesian Data Analysis*, third edition, §11.4. Walkers of an ensemble are not independent, which
/// makes R̂ a little too small; halves of different times are compared too.
pub(crate) fn split_r_hat(kept: &[[f64; 2]], walkers: usize) -> f64 {
    let n = kept.len() / walkers.max(1) / 2;
    if n < 2 {
        return f64::INFINITY;
    }
    let halves = (0..2 * walkers).map(|chain| {
        let (walker, from) = (chain % walkers, chain / walkers * n);
        let walk = (from..from + n).map(|step| kept[step * walkers + walker][0]);
        let mean = walk.clone().sum::<f64>() / n as f64;
        (mean, walk.map(|q| (q - mean).powi(2)).sum::<f64>() / (n as f64 - 1.0))
    });
    let halves: Vec<(f64, f64)> = halves.collect();
    let m = halves.len() as f64;
    let within = halves.iter().map(|half| half.1).sum::<f64>() / m;
    let mean = halves.iter().map(|half| half.0).sum::<f64>() / m;
    let between = halves.iter().map(|half| (half.0 - mean).powi(2)).sum::<f64>() / (m - 1.0);
    if between <= 0.0 { 1.0 } else { ((n as f64 - 1.0) / n as f64 + between / within).sqrt() }
}

/// The integrated autocorrelation time of the first quantity, 1 + 2·Σ ρ_t, from the autocovariance averaged over walkers
/// and cut off at the first lag t ≥ 5 times the sum so far (Sokal's window), at a fourth of the chain at the latest: then it is
/// a lower bound. In steps; 1 where nothing varies.
pub(crate) fn autocorrelation_time(kept: &[[f64; 2]], walkers: usize) -> f64 {
    let n = kept.len() / walkers.max(1);
    let mean = kept.iter().map(|q| q[0]).sum::<f64>() / kept.len().max(1) as f64;
    let centered: Vec<f64> = kept.iter().map(|q| q[0] - mean).collect();
    let variance = if n > 1 { lagged_covariance(&centered, walkers, 0) } else { 0.0 };
    if variance <= 0.0 {
        return 1.0;
    }
    let mut time = 1.0;
    for lag in 1..n.div_ceil(4).max(2).min(n) {
        time += 2.0 * lagged_covariance(&centered, walkers, lag) / variance;
        if lag as f64 >= 5.0 * time {
            break;
        }
    }
    time.max(1.0)
}

/// The autocovariance of walks around 0, averaged over walkers.
fn lagged_covariance(centered: &[f64], walkers: usize, lag: usize) -> f64 {
    let n = centered.len() / walkers;
    foretell::linalg::simd::dot(&centered[..(n - lag) * walkers], &centered[lag * walkers..]) / n as f64
}

/// A standard normal draw.
pub(crate) fn standard_normal(random: &mut impl Rng) -> f64 {
    // 1 − u instead of u, because u may be 0, and the draw would be infinite
    let radius = (-2.0 * (1.0 - random.random::<f64>()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.random::<f64>()).cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A Gaussian in d dimensions: x_0 ~ N(1, 4), x_i = x_{i−1}/2 + N(0, 1).
    struct Gaussian;

    impl TargetDensity for Gaussian {
        fn cache_size(&self) -> usize {
            0
        }

        fn coordinate_blocks(&self) -> Vec<Vec<usize>> {
            vec![vec![0, 1], vec![2, 3, 4]]
        }

        fn evaluate(&self, x: &[f64], _: Option<usize>, _: &mut [f64]) -> (f64, [f64; 2]) {
            let first = (x[0] - 1.0).powi(2) / 4.0;
            let rest: f64 = x.windows(2).map(|pair| (pair[1] - pair[0] / 2.0).powi(2)).sum();
            (-0.5 * (first + rest), [x[0], x[1]])
        }
    }

    fn options(moves: WalkerMove, steps: usize) -> EnsembleOptions {
        EnsembleOptions {
            walkers: 40,
            steps,
            burn_in: steps / 5,
            moves,
            blocks: false,
            stop: None,
            parallel: false,
        }
    }

    fn start(d: usize) -> Vec<Vec<f64>> {
        let mut random = ChaCha8Rng::seed_from_u64(9);
        (0..40).map(|_| (0..d).map(|_| standard_normal(&mut random)).collect()).collect()
    }

    #[test]
    fn both_moves_give_the_moments_of_a_gaussian() {
        let all = [WalkerMove::Stretch { scale: 2.0 }, WalkerMove::Differential];
        for (moves, blocks) in all.into_iter().flat_map(|moves| [(moves, false), (moves, true)]) {
            let options = EnsembleOptions { blocks, ..options(moves, 10_000) };
            let chain = sample_ensemble(&Gaussian, &start(5), options, 1);
            let n = chain.kept.len() as f64;
            for (k, mean, variance) in [(0, 1.0, 4.0), (1, 0.5, 2.0)] {
                let got = chain.kept.iter().map(|q| q[k]).sum::<f64>() / n;
                let spread = chain.kept.iter().map(|q| (q[k] - got).powi(2)).sum::<f64>() / n;
                assert!((got - mean).abs() < 0.06, "{moves:?}: mean {k} is {got}");
                assert!((spread / variance - 1.0).abs() < 0.06, "{moves:?}: variance {k} is {spread}");
            }
            let covariance = chain.kept.iter().map(|q| (q[0] - 1.0) * (q[1] - 0.5)).sum::<f64>() / n;
            assert!((covariance - 2.0).abs() < 0.15, "{moves:?}: covariance {covariance}");
            assert!(chain.diagnostics.converged, "{moves:?}: {:?}", chain.diagnostics);
            assert!((0.2..0.8).contains(&chain.diagnostics.acceptance), "{moves:?}");
        }
    }

    #[test]
    fn threads_do_not_change_the_chain() {
        let plain = options(WalkerMove::Differential, 200);
        let one = sample_ensemble(&Gaussian, &start(4), plain, 3);
        let other = sample_ensemble(&Gaussian, &start(4), EnsembleOptions { parallel: true, ..plain }, 3);
        assert_eq!(one.kept, other.kept);
        assert_ne!(
            one.kept,
            sample_ensemble(&Gaussian, &start(4), plain, 4).kept,
            "another seed is another chain"
        );
    }

    #[test]
    fn a_chain_that_may_stop_stops_once_it_has_converged() {
        let stop = Some(ConvergenceCriterion::default());
        let chain = sample_ensemble(
            &Gaussian,
            &start(3),
            EnsembleOptions { stop, ..options(WalkerMove::Stretch { scale: 2.0 }, 100_000) },
            5,
        );
        let diagnostics = chain.diagnostics;
        assert!(diagnostics.converged && diagnostics.steps < 5_000, "{diagnostics:?}");
        assert_eq!(chain.kept.len(), diagnostics.steps.div_ceil(2) * 40, "half is burn-in");
    }

    /// An autoregressive walk y_t = r·y_{t−1} + noise for each of `walkers`, each around its own level.
    fn walks(r: f64, steps: usize, levels: &[f64]) -> Vec<[f64; 2]> {
        let mut random = ChaCha8Rng::seed_from_u64(2);
        let mut at = vec![0.0; levels.len()];
        let mut kept = Vec::new();
        for _ in 0..steps {
            for (y, level) in at.iter_mut().zip(levels) {
                *y = r * *y + (1.0 - r * r).sqrt() * standard_normal(&mut random);
                kept.push([*y + level, 0.0]);
            }
        }
        kept
    }

    #[test]
    fn the_autocorrelation_time_of_an_autoregression_is_known() {
        for r in [0.0_f64, 0.5, 0.9] {
            let expected = (1.0 + r) / (1.0 - r);
            let got = autocorrelation_time(&walks(r, 4000, &[0.0; 8]), 8);
            assert!((got / expected - 1.0).abs() < 0.15, "r = {r}: {got} for {expected}");
        }
    }

    #[test]
    fn r_hat_is_near_one_only_where_walks_agree() {
        assert!((split_r_hat(&walks(0.3, 1000, &[0.0; 4]), 4) - 1.0).abs() < 0.01);
        // means 0 and 2 of walks with variance 1: between 8/7, within 1
        let apart = split_r_hat(&walks(0.0, 4000, &[0.0, 2.0, 0.0, 2.0]), 4);
        assert!((apart - (1.0 + 8.0_f64 / 7.0).sqrt()).abs() < 0.02, "{apart}");
        assert!((split_r_hat(&[[0.5, 0.0]; 40], 4) - 1.0).abs() < 1e-12, "nothing varies");
        assert!(split_r_hat(&[[0.5, 0.0]; 4], 4).is_infinite(), "too short to judge");
    }
}

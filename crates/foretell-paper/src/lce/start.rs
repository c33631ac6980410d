//! Where the sampler starts: each family's fit, which families are kept, and the first walkers.

use super::families::CurveFamily;
use super::least_squares::{FittedFamily, ObservedCurve, solve_transposed};
use super::options::LceOptions;
use super::posterior::{CombinationPosterior, CombinationPrior, ProperPrior};
use super::sampler::{EnsembleOptions, sample_ensemble, standard_normal};
use foretell::linalg::cholesky::cholesky;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Starts that are followed to the end, of all that are tried.
const FOLLOWED_STARTS: usize = 3;
/// Draws around a fit, or from the box, until one is believed.
const MAX_DRAW_ATTEMPTS: usize = 30;
/// Steps of each family's own chain.
const FAMILY_CHAIN_STEPS: usize = 60;
/// The published initial weight of each family.
const FIRST_WEIGHT: f64 = 10.0;
/// The published radius of the first ball of walkers.
const WALKER_BALL_RADIUS: f64 = 1e-6;

/// The least-squares fit of `family`: from the published start, or from the best of many in its box.
pub(super) fn fit_from_starts(
    observed: &ObservedCurve,
    family: CurveFamily,
    bounds: &[(f64, f64)],
    options: &LceOptions,
    seed: u64,
) -> Option<FittedFamily> {
    if options.starts == 0 {
        return observed.fit_family(family, family.initial_parameters(), None);
    }
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    // a stream for each family, so that leaving one out does not change the draws of the others
    random.set_stream(family as u64 + 1);
    let published = family.initial_parameters().iter().zip(bounds);
    let published = published.map(|(value, (low, high))| value.clamp(*low, *high)).collect();
    let drawn = (0..options.starts).map(|_| draw_from_box(bounds, &mut random)).chain([published]);
    let mut starts: Vec<(f64, Vec<f64>)> =
        drawn.filter_map(|start| Some((observed.sum_of_squares(family, &start)?, start))).collect();
    starts.sort_by(|a, b| a.0.total_cmp(&b.0));
    let fits = starts
        .iter()
        .take(FOLLOWED_STARTS)
        .filter_map(|(_, start)| observed.fit_family(family, start, Some(bounds)));
    fits.min_by(|a, b| a.squares.total_cmp(&b.squares))
}

/// A point of a box.
fn draw_from_box(bounds: &[(f64, f64)], random: &mut ChaCha8Rng) -> Vec<f64> {
    bounds.iter().map(|(low, high)| low + (high - low) * random.random::<f64>()).collect()
}

/// The first walkers, shape (walkers, d): all have a place in the prior.
pub(super) fn first_walkers(
    problem: &ExtrapolationProblem<'_>,
    fits: &[FittedFamily],
    prior: &CombinationPrior,
    options: &LceOptions,
    seed: u64,
) -> Vec<Vec<f64>> {
    let dimension = fits.iter().map(|fit| fit.parameters.len() + 1).sum::<usize>() + 1;
    let moved = if options.ensemble.blocks { fits.len() + 1 } else { dimension };
    // even, because one half of the walkers moves along the other half
    let count = options.ensemble.walkers.max(2 * moved).next_multiple_of(2);
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    if let Some(proper) = prior.proper.as_ref().filter(|_| options.spread_start) {
        return sample_families_alone(problem, fits, prior, proper, options, &WalkerDraws { count, seed });
    }
    let mut center: Vec<f64> = fits.iter().flat_map(|fit| fit.parameters.clone()).collect();
    center.push(combined_noise(fits, problem.epochs.len()));
    center.extend(vec![FIRST_WEIGHT; fits.len()]);
    (0..count)
        .map(|_| {
            center.iter().map(|value| value + WALKER_BALL_RADIUS * standard_normal(&mut random)).collect()
        })
        .collect()
}

/// One curve to extrapolate, in epochs and scaled scores.
pub(super) struct ExtrapolationProblem<'a> {
    pub(super) observed: &'a ObservedCurve,
    pub(super) epochs: &'a [f64],
    pub(super) horizon: f64,
}

/// The number of walkers, and the seed of their draws.
struct WalkerDraws {
    count: usize,
    seed: u64,
}

/// Walkers of all families from chains of one family each, with a K-th of the likelihood: a family that has a K-th of the
/// weight may stray further from the points than one that is alone. Such chains are short, and leave the best fit, which says
/// nothing of how many worse ones there are.
fn sample_families_alone(
    problem: &ExtrapolationProblem<'_>,
    fits: &[FittedFamily],
    prior: &CombinationPrior,
    proper: &ProperPrior,
    options: &LceOptions,
    draws: &WalkerDraws,
) -> Vec<Vec<f64>> {
    let WalkerDraws { count, seed } = *draws;
    let mut tempered = problem.observed.clone();
    tempered.weights.iter_mut().for_each(|weight| *weight /= fits.len() as f64);
    let short = EnsembleOptions {
        steps: FAMILY_CHAIN_STEPS,
        burn_in: FAMILY_CHAIN_STEPS,
        stop: None,
        blocks: true,
        ..options.ensemble
    };
    let chains = fits.iter().enumerate().map(|(k, fit)| {
        let family = [fit.family];
        let boxes = vec![proper.boxes[k].clone()];
        let prior = CombinationPrior { proper: Some(ProperPrior { boxes, ..*proper }), ..*prior };
        let posterior =
            CombinationPosterior::new(&tempered, problem.epochs, problem.horizon, &family, &prior);
        let spread = FitSpread {
            posterior: &posterior,
            fit,
            bounds: &proper.boxes[k],
            points: problem.epochs.len() as f64,
        };
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        // other streams than those of the fits, so that walkers do not repeat the draws of the starts
        random.set_stream(fit.family as u64 + 101);
        let first: Vec<Vec<f64>> = (0..count).map(|_| spread.draw_walker(&mut random)).collect();
        sample_ensemble(&posterior, &first, short, seed).last
    });
    let chains: Vec<Vec<Vec<f64>>> = chains.collect();
    // in another order for each family: walker i of one has nothing to do with walker i of another
    (0..count)
        .map(|i| {
            let (mut walker, mut noise, mut weights) = (Vec::new(), f64::INFINITY, Vec::new());
            for (k, (chain, fit)) in chains.iter().zip(fits).enumerate() {
                let state = &chain[(i + k * (count / 2 + 1)) % count];
                let p = fit.parameters.len();
                walker.extend_from_slice(&state[..p]);
                noise = noise.min(state[p]);
                weights.push(state[p + 1]);
            }
            walker.push(noise);
            walker.extend(weights);
            walker
        })
        .collect()
}

/// σ at the start: the root mean square residual of the families, at least twice the ball's radius.
fn combined_noise(fits: &[FittedFamily], points: usize) -> f64 {
    let mean = fits.iter().map(|fit| fit.squares).sum::<f64>() / fits.len() as f64;
    (mean / points as f64).sqrt().max(10.0 * WALKER_BALL_RADIUS)
}

/// Walkers of one family spread as its fit is uncertain.
struct FitSpread<'a> {
    posterior: &'a CombinationPosterior<'a>,
    fit: &'a FittedFamily,
    bounds: &'a [(f64, f64)],
    points: f64,
}

impl FitSpread<'_> {
    /// Parameters from the fit's Gaussian approximation, ln σ around that of the fit, a weight from its prior.
    fn draw_walker(&self, random: &mut ChaCha8Rng) -> Vec<f64> {
        let noise = (self.fit.squares / self.points).sqrt().clamp(2e-3, 0.3);
        let mut walker = self.draw_parameters(noise, random);
        walker.push((noise.ln() + 0.3 * standard_normal(random)).clamp(1.01e-3_f64.ln(), 0.49_f64.ln()));
        walker.push((-(1.0 - random.random::<f64>()).ln()).max(1e-9).ln());
        walker
    }

    /// θ + s·L⁻ᵀ·z, z standard normal, L·Lᵀ = JᵀJ with a little of its diagonal: nearer to θ until the prior admits it;
    /// where it does not admit θ either, a draw from the box that it admits.
    fn draw_parameters(&self, noise: f64, random: &mut ChaCha8Rng) -> Vec<f64> {
        let p = self.fit.parameters.len();
        let mut matrix = self.fit.curvature;
        for (i, row) in matrix.iter_mut().enumerate().take(p) {
            // what the box says of a parameter that the curve says nothing of
            let width = self.bounds[i].1 - self.bounds[i].0;
            row[i] = row[i] * (1.0 + 1e-9) + 12.0 * (noise / width).powi(2);
        }
        let mut reach = noise;
        if cholesky(&mut matrix[..p]).is_some() {
            for _ in 0..MAX_DRAW_ATTEMPTS {
                let mut z: Vec<f64> = (0..p).map(|_| reach * standard_normal(random)).collect();
                solve_transposed(&matrix, &mut z);
                z.iter_mut().zip(&self.fit.parameters).for_each(|(z, theta)| *z += theta);
                if self.posterior.is_admitted(0, &z) {
                    return z;
                }
                reach *= 0.8;
            }
        }
        if !self.posterior.is_admitted(0, &self.fit.parameters) {
            let mut drawn = (0..100 * MAX_DRAW_ATTEMPTS).map(|_| draw_from_box(self.bounds, random));
            if let Some(drawn) = drawn.find(|drawn| self.posterior.is_admitted(0, drawn)) {
                return drawn;
            }
        }
        self.fit.parameters.clone()
    }
}

//! Tree-structured Parzen estimators: draw where good trials are dense and others are not.

use super::cube::{CubePoint, UnitCube};
use super::evidence::{SeenTrial, TrialEvidence};
use foretell::statistics::{normal_cdf, normal_quantile};
use rand::{Rng, RngExt};

/// Points sampled from the density of the good; the best of them is proposed.
const CANDIDATE_DRAWS: usize = 24;
/// The largest number of good trials.
const MAX_GOOD_TRIALS: f64 = 25.0;
/// The share of good trials.
const GOOD_SHARE: f64 = 0.1;
/// The bandwidth of a single observation.
const SINGLE_BANDWIDTH: f64 = 0.2;

/// Candidates for the next trial, the best first.
///
/// Trials are split into the good, k = min(⌈n/10⌉, 25) of n, and the others; with a density of each, l and g, those of
/// 24 draws from l come first for which l/g is largest. A trial whose result is a forecast N(m, s²) belongs to the good
/// with the weight Φ((m − θ)/s), θ such that the weights add up to k, and to the others with the rest. Running trials count
/// with the others, so that workers keep apart.
///
/// A density is a mixture of the uniform density, with the weight of one trial, and a product of kernels around each
/// trial: a normal density truncated to \[0, 1\] with standard deviation 0.2·n^(−1/(d+4)), at least 1/min(100, n + 1), for a
/// number; a share of (1 + 1/n)/(1 + k/n) on its own option of k for a choice; uniform for a parameter that did not apply.
///
/// Sources: Bergstra et al. 2011, "Algorithms for hyper-parameter optimization"; joint kernels, bandwidths and numbers:
/// Falkner, Klein & Hutter 2018 (BOHB) and Optuna's multivariate TPE; weights of forecasts are ours. O(n·d) for each candidate.
pub(crate) fn parzen_draws(evidence: &TrialEvidence, rng: &mut impl Rng) -> Vec<Vec<f64>> {
    let seen = evidence.seen();
    let weights = weights_of_good(&seen);
    let (mut good, mut others): (Vec<WeightedPoint>, Vec<WeightedPoint>) = (Vec::new(), Vec::new());
    for (seen, &weight) in seen.iter().zip(&weights) {
        good.push((weight, &seen.point));
        others.push((1.0 - weight, &seen.point));
    }
    let running = evidence.running();
    others.extend(running.iter().map(|point| (1.0, point)));
    let [good, others] = [good, others].map(|of| KernelMixture::new(&evidence.cube, &of));
    let mut drawn: Vec<(f64, Vec<f64>)> = Vec::new();
    for _ in 0..CANDIDATE_DRAWS {
        let coordinates = good.draw(rng);
        let point = evidence.cube.point_at_coordinates(&coordinates);
        drawn.push((good.ln(&point) - others.ln(&point), coordinates));
    }
    drawn.sort_by(|a, b| b.0.total_cmp(&a.0));
    drawn.into_iter().map(|(_, coordinates)| coordinates).collect()
}

/// A trial's weight in a density, and where it is.
type WeightedPoint<'a> = (f64, &'a CubePoint);

/// The weight of each trial in the good: Φ((m − θ)/s).
fn weights_of_good(seen: &[SeenTrial]) -> Vec<f64> {
    let wanted = (GOOD_SHARE * seen.len() as f64).ceil().min(MAX_GOOD_TRIALS);
    let scores = seen.iter().map(|seen| seen.worth.score);
    let (low, high) =
        (scores.clone().fold(f64::INFINITY, f64::min), scores.fold(f64::NEG_INFINITY, f64::max));
    let most = seen.iter().map(|seen| seen.worth.sd).fold(0.0, f64::max);
    let (mut low, mut high) = (low - 9.0 * most - 1e-12, high + 9.0 * most + 1e-12);
    // what was measured has a spread too small to matter, so that equal scores share their weight
    let least = 1e-6 * (high - low);
    for _ in 0..50 {
        let middle = f64::midpoint(low, high);
        let sum: f64 = weights_above(seen, middle, least).sum();
        if sum > wanted { low = middle } else { high = middle }
    }
    weights_above(seen, high, least).collect()
}

/// The probability of each trial's result to lie above `threshold`, with a spread of `min_sd` or more.
fn weights_above(seen: &[SeenTrial], threshold: f64, min_sd: f64) -> impl Iterator<Item = f64> {
    seen.iter().map(move |seen| normal_cdf((seen.worth.score - threshold) / seen.worth.sd.max(min_sd)))
}

/// The kernel of one trial for one parameter.
#[derive(Clone, Copy, Debug)]
enum TrialKernel {
    Uniform,
    /// Mean, standard deviation, the logarithm of its normalization.
    Normal(f64, f64, f64),
    /// The coordinate of its option, the logarithms of the densities at it and at others.
    Choice(f64, f64, f64),
}

impl TrialKernel {
    /// A kernel on the option at `u` of so many `options`, where trials have the weight `n` together.
    fn around_option(u: f64, options: usize, n: f64) -> Self {
        let k = options as f64;
        let [own, beside] = [1.0, 0.0].map(|weight| ((weight + 1.0 / n) / (1.0 + k / n) * k).ln());
        Self::Choice(u, own, beside)
    }

    /// A normal density around `u`, cut off at 0 and 1.
    fn around_number(u: f64, sd: f64) -> Self {
        let inside = normal_cdf((1.0 - u) / sd) - normal_cdf(-u / sd);
        Self::Normal(u, sd, (inside * sd * std::f64::consts::TAU.sqrt()).ln())
    }

    fn ln(self, u: f64) -> f64 {
        match self {
            Self::Uniform => 0.0,
            Self::Normal(mean, sd, norm) => {
                let z = (u - mean) / sd;
                -0.5 * z * z - norm
            }
            Self::Choice(own, at, beside) => {
                if (u - own).abs() < 1e-9 {
                    at
                } else {
                    beside
                }
            }
        }
    }

    fn draw(self, rng: &mut impl Rng) -> f64 {
        let u: f64 = rng.random();
        match self {
            Self::Uniform => u,
            Self::Normal(mean, sd, _) => {
                let (low, high) = (normal_cdf(-mean / sd), normal_cdf((1.0 - mean) / sd));
                (mean + sd * normal_quantile(low + u * (high - low))).clamp(0.0, 1.0)
            }
            // the option's own share beyond that of each, then any option
            Self::Choice(own, at, beside) => {
                let own_share = 1.0 - beside.exp();
                if at > beside && u < own_share { own } else { rng.random() }
            }
        }
    }
}

struct KernelMixture {
    /// One kernel for each trial and parameter; the first is uniform.
    kernels: Vec<Vec<TrialKernel>>,
    /// The share of each trial, added up.
    shares: Vec<f64>,
    ln_shares: Vec<f64>,
}

impl KernelMixture {
    fn new(cube: &UnitCube, trials: &[WeightedPoint]) -> Self {
        let dimensions = cube.dimensions();
        let trials: Vec<_> = trials.iter().filter(|(weight, _)| *weight > 1e-3).collect();
        let total: f64 = trials.iter().map(|(weight, _)| weight).sum();
        let n = total.max(1.0);
        let narrow = SINGLE_BANDWIDTH * n.powf(-1.0 / (dimensions as f64 + 4.0));
        let sd = narrow.max(1.0 / (n + 1.0).min(100.0));
        let mut kernels: Vec<Vec<TrialKernel>> = vec![vec![TrialKernel::Uniform; dimensions]];
        for (_, point) in &trials {
            let of_trial = point.iter().enumerate().map(|(j, &u)| match (u, cube.options(j)) {
                (None, _) => TrialKernel::Uniform,
                (Some(u), Some(options)) => TrialKernel::around_option(u, options, n),
                (Some(u), None) => {
                    // at least half of the part of the scale that a value has: a much narrower kernel would draw that value only
                    let sd = cube.values(j).map_or(sd, |values| sd.max(0.5 / values as f64));
                    TrialKernel::around_number(u, sd)
                }
            });
            kernels.push(of_trial.collect());
        }
        let weights = std::iter::once(1.0).chain(trials.iter().map(|(weight, _)| *weight));
        let shares: Vec<f64> = weights.map(|weight| weight / (total + 1.0)).collect();
        let ln_shares = shares.iter().map(|share| share.ln()).collect();
        let sums = shares.iter().scan(0.0, |sum, share| {
            *sum += share;
            Some(*sum)
        });
        Self { kernels, shares: sums.collect(), ln_shares }
    }

    fn draw(&self, rng: &mut impl Rng) -> Vec<f64> {
        let u: f64 = rng.random();
        let trial = self.shares.partition_point(|&share| share <= u).min(self.kernels.len() - 1);
        self.kernels[trial].iter().map(|kernel| kernel.draw(rng)).collect()
    }

    /// The logarithm of the density at `point`.
    fn ln(&self, point: &CubePoint) -> f64 {
        let (mut largest, mut sum) = (f64::NEG_INFINITY, 0.0);
        for (kernels, share) in self.kernels.iter().zip(&self.ln_shares) {
            let ln_densities = kernels.iter().zip(point).map(|(kernel, u)| u.map_or(0.0, |u| kernel.ln(u)));
            let term = share + ln_densities.sum::<f64>();
            // a running sum of exponentials, scaled by the largest
            if term > largest {
                sum = sum * (largest - term).exp() + 1.0;
                largest = term;
            } else {
                sum += (term - largest).exp();
            }
        }
        largest + sum.ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameter_space::ParameterSpace;
    use crate::samplers::random::trial_stream;
    use crate::samplers::worth::Worth;

    fn trials_with_worths(results: &[(f64, f64)]) -> Vec<SeenTrial> {
        results
            .iter()
            .map(|&(score, sd)| SeenTrial { point: Vec::new(), worth: Worth::forecast(score, sd) })
            .collect()
    }

    #[test]
    fn weights_of_good_add_up_and_follow_the_spread() {
        let measured: Vec<(f64, f64)> = (0..30).map(|i| (f64::from(i), 0.0)).collect();
        let weights = weights_of_good(&trials_with_worths(&measured));
        assert!((weights.iter().sum::<f64>() - 3.0).abs() < 1e-6);
        assert!(weights[27..].iter().all(|&weight| weight > 0.99), "{weights:?}");
        let mut forecast = measured;
        forecast[15].1 = 20.0;
        let weights = weights_of_good(&trials_with_worths(&forecast));
        assert!(weights[15] > 0.2 && weights[16] < 0.01, "it may be among the good: {weights:?}");
        assert_eq!(weights_of_good(&trials_with_worths(&[(1.0, 0.0), (1.0, 0.0)])).len(), 2);
    }

    #[test]
    fn densities_integrate_to_one() {
        let space = ParameterSpace::parse(&["x=float:0:1", "o=choice:a,b,c", "y=float:0:1 if o=b"]).unwrap();
        let cube = UnitCube::new(space);
        let points = [vec![Some(0.05), Some(0.5), Some(0.9)], vec![Some(0.4), Some(1.0 / 6.0), None]];
        let density = KernelMixture::new(&cube, &[(1.0, &points[0]), (0.4, &points[1])]);
        let (n, mut sum) = (60, 0.0);
        for x in 0..n {
            for option in 0..3 {
                let middle = |i: usize| (i as f64 + 0.5) / n as f64;
                let o = Some((f64::from(option) + 0.5) / 3.0);
                if option == 1 {
                    sum += (0..n)
                        .map(|y| density.ln(&vec![Some(middle(x)), o, Some(middle(y))]).exp())
                        .sum::<f64>()
                        / n as f64;
                } else {
                    sum += density.ln(&vec![Some(middle(x)), o, None]).exp();
                }
            }
        }
        assert!((sum / (3 * n) as f64 - 1.0).abs() < 0.01, "{sum}");
        let mut rng = trial_stream(0, 0);
        let near = (0..2000).filter(|_| (density.draw(&mut rng)[1] * 3.0) as usize == 1).count();
        assert!((700..1300).contains(&near), "{near}");
    }
}

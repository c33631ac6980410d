//! Stochastic-gradient samplers of posteriors over many parameters: scale-adapted SGHMC, and SGLD.

use foretell::linalg::simd::{dispatched, ln_body};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The dynamics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SamplerDynamics {
    /// Stochastic-gradient Hamiltonian Monte Carlo with scales adapted in burn-in. Source: Springenberg et al. 2016.
    Sghmc,
    /// Stochastic-gradient Langevin dynamics with the same scales. Source: Welling & Teh 2011.
    Sgld,
}

/// The options of sampling.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DynamicsOptions {
    /// The dynamics.
    pub dynamics: SamplerDynamics,
    /// ε. SGHMC is biased above 0.03.
    pub step_size: f64,
    /// The friction of SGHMC, 0–1.
    pub friction: f64,
    /// Steps before the first sample, in which the scales adapt.
    pub burn_in: usize,
    /// Samples that are kept.
    pub samples: usize,
    /// Steps from one sample to the next.
    pub keep_every: usize,
}

impl Default for DynamicsOptions {
    /// SGHMC, ε = 10⁻², friction 0.05, burn-in 3000, 100 samples, each 100 steps.
    fn default() -> Self {
        Self {
            dynamics: SamplerDynamics::Sghmc,
            step_size: 1e-2,
            friction: 0.05,
            burn_in: 3000,
            samples: 100,
            keep_every: 100,
        }
    }
}

/// The state of each parameter: the smoothed gradient and its square, the length of their window, the momentum.
struct SamplerState {
    window: Vec<f64>,
    gradient: Vec<f64>,
    square: Vec<f64>,
    momentum: Vec<f64>,
}

/// Samples of exp(−N·U), U the loss a row of N, from `start`. `gradient` writes an unbiased estimate of ∂U into its last
/// argument, for instance from a mini-batch drawn with its second.
///
/// With r = 1/(τ + 1), in burn-in: τ ← 1 + τ·(1 − g²/v), g ← (1 − r)·g + r·∂U, v ← (1 − r)·v + r·(∂U)²; M⁻¹ = 1/√v.
///
/// * SGHMC: p ← p − ε²·M⁻¹·∂U − α·p + N(0, 2·(ε²/N)·α·M⁻¹ − ε⁴), θ ← θ + p; ε⁴ is the noise that mini-batches bring by themselves.
/// * SGLD: θ ← θ − ε·M⁻¹·∂U + N(0, 2·ε·M⁻¹/N).
///
/// O((burn-in + samples·every)·(parameters + one gradient)).
pub(super) fn sample_parameters(
    start: Vec<f64>,
    rows: usize,
    options: DynamicsOptions,
    seed: u64,
    mut gradient: impl FnMut(&[f64], &mut ChaCha8Rng, &mut [f64]),
) -> Vec<Vec<f64>> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let n = start.len();
    let mut theta = start;
    let mut state = SamplerState {
        window: vec![1.0; n],
        gradient: vec![1.0; n],
        square: vec![1.0; n],
        momentum: vec![0.0; n],
    };
    let (mut slope, mut noise) = (vec![0.0; n], NormalDraws::new(n));
    let mut samples = Vec::with_capacity(options.samples);
    for step in 1..=options.burn_in + options.samples * options.keep_every {
        slope.fill(0.0);
        gradient(&theta, &mut random, &mut slope);
        noise.draw_values(&mut random);
        // only in burn-in, because scales that go on adapting would change the distribution that is sampled
        if step <= options.burn_in {
            adapt(&slope, &mut state.window, &mut state.gradient, &mut state.square);
        }
        let (eps, rows) = (options.step_size, rows as f64);
        match options.dynamics {
            SamplerDynamics::Sghmc => {
                let step = HamiltonianStep {
                    kept: 1.0 - options.friction,
                    eps_squared: eps * eps,
                    variance: 2.0 * eps * eps / rows * options.friction,
                };
                hamiltonian(&mut theta, &mut state.momentum, &slope, &state.square, &noise.values, &step);
            }
            SamplerDynamics::Sgld => {
                let spread = (2.0 * eps / rows).sqrt();
                langevin(&mut theta, &slope, &state.square, &noise.values, eps, spread);
            }
        }
        if step > options.burn_in && (step - options.burn_in).is_multiple_of(options.keep_every) {
            samples.push(theta.clone());
        }
    }
    samples
}

dispatched! {
    /// One step of the adaption of scales.
    pub(crate) fn adapt(slope: &[f64], window: &mut [f64], gradient: &mut [f64], square: &mut [f64]) {
        for (((s, tau), g), v) in slope.iter().zip(window).zip(gradient).zip(square) {
            let rate = 1.0 / (*tau + 1.0);
            *tau = 1.0 + *tau * (1.0 - *g * *g / (*v + 1e-16));
            *g += rate * (*s - *g);
            *v += rate * (*s * *s - *v);
        }
    }
}

/// The numbers of one step of SGHMC.
#[derive(Clone, Copy)]
pub(crate) struct HamiltonianStep {
    /// The share of the momentum that is kept.
    kept: f64,
    /// ε².
    eps_squared: f64,
    /// The noise's variance at unit mass, that of mini-batches included.
    variance: f64,
}

dispatched! {
    /// One step of SGHMC.
    pub(crate) fn hamiltonian(
        theta: &mut [f64], momentum: &mut [f64], slope: &[f64], square: &[f64], noise: &[f64],
        step: &HamiltonianStep,
    ) {
        let HamiltonianStep { kept, eps_squared, variance } = *step;
        let of_batches = eps_squared * eps_squared;
        for ((((x, p), s), v), z) in theta.iter_mut().zip(momentum).zip(slope).zip(square).zip(noise) {
            let inverse_mass = 1.0 / (v.sqrt() + 1e-16);
            let spread = (variance * inverse_mass - of_batches).max(0.0).sqrt();
            *p = kept * *p - eps_squared * inverse_mass * *s + spread * *z;
            *x += *p;
        }
    }
}

dispatched! {
    /// One step of SGLD.
    pub(crate) fn langevin(
        theta: &mut [f64], slope: &[f64], square: &[f64], noise: &[f64], eps: f64, spread: f64,
    ) {
        for (((x, s), v), z) in theta.iter_mut().zip(slope).zip(square).zip(noise) {
            let inverse_mass = 1.0 / (v.sqrt() + 1e-16);
            *x += spread * inverse_mass.sqrt() * *z - eps * inverse_mass * *s;
        }
    }
}

/// Standard normal draws by the thousand: two from each 64 random bits (Box and Muller).
pub(super) struct NormalDraws {
    bytes: Vec<u8>,
    pub(super) values: Vec<f64>,
}

impl NormalDraws {
    pub(super) fn new(n: usize) -> Self {
        let even = n.next_multiple_of(16);
        Self { bytes: vec![0; even * 4], values: vec![0.0; even] }
    }

    pub(super) fn draw_values(&mut self, random: &mut ChaCha8Rng) {
        random.fill_bytes(&mut self.bytes);
        box_muller(&self.bytes, &mut self.values);
    }
}

/// sin and cos of 2π·u for |u| ≤ ½, absolute error below 1e-9: to a quarter turn, then Taylor.
#[inline(always)]
fn sin_cos_turn(u: f64) -> (f64, f64) {
    const ROUND: f64 = 6_755_399_441_055_744.0; // 1.5·2^52
    // this rounds without a call or a branch, so that the loop over the draws can be vectorized
    let quarters = (4.0 * u + ROUND) - ROUND;
    let x = (u - quarters / 4.0) * std::f64::consts::TAU; // |x| ≤ π/4
    let y = x * x;
    let sin = x * (y * (y * (y * (y * (1.0 / 362_880.0) - 1.0 / 5040.0) + 1.0 / 120.0) - 1.0 / 6.0) + 1.0);
    let cos = y
        * (y * (y * (y * (y * (-1.0 / 3_628_800.0) + 1.0 / 40_320.0) - 1.0 / 720.0) + 1.0 / 24.0) - 0.5)
        + 1.0;
    // quarters is −2, −1, 0, 1 or 2
    let odd = quarters.abs() > 0.5 && quarters.abs() < 1.5;
    let (s, c) = if odd { (cos, sin) } else { (sin, cos) };
    let sin_sign = if (-0.5..=1.5).contains(&quarters) { 1.0 } else { -1.0 };
    let cos_sign = if (-1.5..=0.5).contains(&quarters) { 1.0 } else { -1.0 };
    (s * sin_sign, c * cos_sign)
}

dispatched! {
    /// Two draws from each 8 of `bytes`: the first half and the second half of `out`.
    pub(crate) fn box_muller(bytes: &[u8], out: &mut [f64]) {
        let (first, second) = out.split_at_mut(bytes.len() / 8);
        let (words, _) = bytes.as_chunks::<8>();
        for ((word, a), b) in words.iter().zip(first).zip(second) {
            let bits = u64::from_le_bytes(*word);
            let unit = 1.0 / 4_294_967_296.0;
            // the middle of each cell, so that u is never 0, whose logarithm is infinite
            let (u, turn) = (((bits >> 32) as f64 + 0.5) * unit, ((bits & 0xffff_ffff) as f64 + 0.5) * unit - 0.5);
            let radius = (-2.0 * ln_body(u)).sqrt();
            let (sin, cos) = sin_cos_turn(turn);
            *a = radius * cos;
            *b = radius * sin;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;

    #[test]
    fn turns_have_their_sines_and_cosines() {
        for i in -500..=500 {
            let u = f64::from(i) / 1000.0;
            let (sin, cos) = sin_cos_turn(u);
            let angle = std::f64::consts::TAU * u;
            assert!((sin - angle.sin()).abs() < 1e-8 && (cos - angle.cos()).abs() < 1e-8, "{u}");
        }
    }

    #[test]
    fn normals_have_the_moments_and_tails_of_the_normal_distribution() {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let mut normals = NormalDraws::new(400_000);
        normals.draw_values(&mut random);
        for (k, expected, room) in [(1, 0.0, 0.006), (2, 1.0, 0.01), (3, 0.0, 0.025), (4, 3.0, 0.06)] {
            let moment = normals.values.iter().map(|z| z.powi(k)).sum::<f64>() / 400_000.0;
            assert!((moment - expected).abs() < room, "moment {k}: {moment}");
        }
        let beyond = normals.values.iter().filter(|z| z.abs() > 3.0).count() as f64 / 400_000.0;
        assert!((beyond / 0.0027 - 1.0).abs() < 0.1, "{beyond}");
    }

    /// The posterior of a mean: N = 200 numbers with noise 1, mini-batches of 20; standard deviation 1/√200.
    #[test]
    fn both_dynamics_sample_the_posterior_of_a_mean() {
        let mut random = ChaCha8Rng::seed_from_u64(8);
        let mut normals = NormalDraws::new(208);
        normals.draw_values(&mut random);
        let data: Vec<f64> = normals.values[..200].iter().map(|z| 0.5 + z).collect();
        let truth = data.iter().sum::<f64>() / 200.0;
        for (dynamics, step_size) in [(SamplerDynamics::Sghmc, 0.01), (SamplerDynamics::Sgld, 0.01)] {
            let options = DynamicsOptions {
                dynamics,
                step_size,
                samples: 20_000,
                keep_every: 20,
                ..DynamicsOptions::default()
            };
            let samples = sample_parameters(vec![0.0], 200, options, 3, |theta, random, slope| {
                let batch = (0..20).map(|_| data[random.random_range(0..200)]);
                slope[0] = batch.map(|y| theta[0] - y).sum::<f64>() / 20.0;
            });
            let mean = samples.iter().map(|s| s[0]).sum::<f64>() / samples.len() as f64;
            let spread =
                (samples.iter().map(|s| (s[0] - mean).powi(2)).sum::<f64>() / samples.len() as f64).sqrt();
            assert!((mean - truth).abs() < 0.02, "{dynamics:?}: mean {mean} for {truth}");
            let expected = 1.0 / 200_f64.sqrt();
            assert!((spread / expected - 1.0).abs() < 0.2, "{dynamics:?}: spread {spread} for {expected}");
        }
    }
}

//! Curve families that approach their end as an exponential of a power of the epoch: exp4, Janoschek and Weibull.
//!
//! All three are one shape (c = α, b = ln(α − β), κ_Janoschek = κ_Weibull^δ) in three parametrizations.

use foretell::linalg::simd::{exp_any_body as exp, ln_body as ln};

/// exp4: c − exp(−a·x^α + b).
#[inline(always)]
pub(super) fn exp4([c, a, b, alpha]: [f64; 4], ln_x: f64) -> f64 {
    c - exp(b - a * exp(alpha * ln_x))
}

/// ∂/∂(c, a, b, α) of [`exp4`].
pub(super) fn exp4_gradient([_, a, b, alpha]: [f64; 4], ln_x: f64) -> [f64; 4] {
    let power = exp(alpha * ln_x);
    let decay = exp(b - a * power);
    [1.0, decay * power, -decay, decay * a * power * ln_x]
}

/// Janoschek: α − (α − β)·exp(−κ·x^δ).
#[inline(always)]
pub(super) fn janoschek([alpha, beta, kappa, delta]: [f64; 4], ln_x: f64) -> f64 {
    alpha - (alpha - beta) * exp(-kappa * exp(delta * ln_x))
}

/// ∂/∂(α, β, κ, δ) of [`janoschek`].
pub(super) fn janoschek_gradient([alpha, beta, kappa, delta]: [f64; 4], ln_x: f64) -> [f64; 4] {
    let power = exp(delta * ln_x);
    let decay = exp(-kappa * power);
    let slope = (alpha - beta) * decay * power;
    [1.0 - decay, decay, slope, slope * kappa * ln_x]
}

/// Weibull: α − (α − β)·exp(−(κ·x)^δ); NaN for κ ≤ 0.
#[inline(always)]
pub(super) fn weibull([alpha, beta, kappa, delta]: [f64; 4], ln_x: f64) -> f64 {
    alpha - (alpha - beta) * exp(-exp(delta * (ln(kappa) + ln_x)))
}

/// ∂/∂(α, β, κ, δ) of [`weibull`].
pub(super) fn weibull_gradient([alpha, beta, kappa, delta]: [f64; 4], ln_x: f64) -> [f64; 4] {
    let ln_kx = ln(kappa) + ln_x;
    let power = exp(delta * ln_kx);
    let decay = exp(-power);
    let slope = (alpha - beta) * decay * power;
    [1.0 - decay, decay, slope * delta / kappa, slope * ln_kx]
}

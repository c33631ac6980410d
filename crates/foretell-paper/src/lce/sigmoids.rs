//! Curve families that saturate as a power of the epoch over itself plus a constant: Hill3, log power and MMF.
//!
//! Each is written with s = 1/(1 + q), so that q = ∞ gives the limit and not ∞/∞. Hill3 and log power are one family in two
//! parametrizations; MMF with β = 0 is Hill3.

use foretell::linalg::simd::{exp_any_body as exp, ln_body as ln};

/// Hill3: θ·x^η / (κ^η + x^η) = θ/(1 + (κ/x)^η); NaN for κ ≤ 0.
#[inline(always)]
pub(super) fn hill3([theta, eta, kappa]: [f64; 3], ln_x: f64) -> f64 {
    theta / (1.0 + exp(eta * (ln(kappa) - ln_x)))
}

/// ∂/∂(θ, η, κ) of [`hill3`].
pub(super) fn hill3_gradient([theta, eta, kappa]: [f64; 3], ln_x: f64) -> [f64; 3] {
    let distance = ln(kappa) - ln_x;
    let s = 1.0 / (1.0 + exp(eta * distance));
    let slope = theta * s * (1.0 - s);
    [s, -slope * distance, -slope * eta / kappa]
}

/// Log power: a / (1 + (x/e^b)^c).
#[inline(always)]
pub(super) fn log_power([a, b, c]: [f64; 3], ln_x: f64) -> f64 {
    a / (1.0 + exp(c * (ln_x - b)))
}

/// ∂/∂(a, b, c) of [`log_power`].
pub(super) fn log_power_gradient([a, b, c]: [f64; 3], ln_x: f64) -> [f64; 3] {
    let s = 1.0 / (1.0 + exp(c * (ln_x - b)));
    let slope = a * s * (1.0 - s);
    [s, slope * c, -slope * (ln_x - b)]
}

/// MMF (Morgan, Mercer and Flodin): α − (α − β)/(1 + (κ·x)^δ); NaN for κ ≤ 0.
#[inline(always)]
pub(super) fn mmf([alpha, beta, kappa, delta]: [f64; 4], ln_x: f64) -> f64 {
    alpha - (alpha - beta) / (1.0 + exp(delta * (ln(kappa) + ln_x)))
}

/// ∂/∂(α, β, κ, δ) of [`mmf`].
pub(super) fn mmf_gradient([alpha, beta, kappa, delta]: [f64; 4], ln_x: f64) -> [f64; 4] {
    let ln_kx = ln(kappa) + ln_x;
    let s = 1.0 / (1.0 + exp(delta * ln_kx));
    let slope = (alpha - beta) * s * (1.0 - s);
    [1.0 - s, s, slope * delta / kappa, slope * ln_kx]
}

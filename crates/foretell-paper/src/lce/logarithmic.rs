//! Curve families made of the logarithm of the epoch: vapor pressure, log-log linear and ilog2.

use foretell::linalg::simd::{exp_any_body as exp, ln_body as ln};

/// Vapor pressure: exp(a + b/x + c·ln x).
#[inline(always)]
pub(super) fn vapor_pressure([a, b, c]: [f64; 3], x: f64, ln_x: f64) -> f64 {
    exp(c.mul_add(ln_x, a + b / x))
}

/// ∂/∂(a, b, c) of [`vapor_pressure`].
pub(super) fn vapor_pressure_gradient(parameters: [f64; 3], x: f64, ln_x: f64) -> [f64; 3] {
    let value = vapor_pressure(parameters, x, ln_x);
    [value, value / x, value * ln_x]
}

/// Log-log linear: ln(a·ln x + b); NaN where a·ln x + b ≤ 0.
#[inline(always)]
pub(super) fn log_log_linear([a, b]: [f64; 2], ln_x: f64) -> f64 {
    ln(a * ln_x + b)
}

/// ∂/∂(a, b) of [`log_log_linear`].
pub(super) fn log_log_linear_gradient([a, b]: [f64; 2], ln_x: f64) -> [f64; 2] {
    let inner = a * ln_x + b;
    [ln_x / inner, 1.0 / inner]
}

/// ilog2: c − a/ln(1 + x), with r = 1/ln(1 + x).
#[inline(always)]
pub(super) fn ilog2([c, a]: [f64; 2], r: f64) -> f64 {
    c - a * r
}

/// ∂/∂(c, a) of [`ilog2`].
pub(super) fn ilog2_gradient(r: f64) -> [f64; 2] {
    [1.0, -r]
}

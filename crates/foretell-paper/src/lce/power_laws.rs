//! Curve families that approach their end as a power of the epoch: pow3 and pow4.

use foretell::linalg::simd::{exp_any_body as exp, ln_body as ln};

/// pow3: c − a·x^(−α).
#[inline(always)]
pub(super) fn pow3([c, a, alpha]: [f64; 3], ln_x: f64) -> f64 {
    c - a * exp(-alpha * ln_x)
}

/// ∂/∂(c, a, α) of [`pow3`].
pub(super) fn pow3_gradient([_, a, alpha]: [f64; 3], ln_x: f64) -> [f64; 3] {
    let power = exp(-alpha * ln_x);
    [1.0, -power, a * power * ln_x]
}

/// pow4: c − (a·x + b)^(−α); NaN where a·x + b ≤ 0.
#[inline(always)]
pub(super) fn pow4([c, a, b, alpha]: [f64; 4], x: f64) -> f64 {
    c - exp(-alpha * ln(a * x + b))
}

/// ∂/∂(c, a, b, α) of [`pow4`].
pub(super) fn pow4_gradient([_, a, b, alpha]: [f64; 4], x: f64) -> [f64; 4] {
    let base = a * x + b;
    let power = exp(-alpha * ln(base));
    let slope = alpha * power / base;
    [1.0, slope * x, slope, power * ln(base)]
}

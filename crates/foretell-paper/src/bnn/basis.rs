//! The five basis functions of LC-Net: curves over t in (0, 1] that end at 0, with a, b, c in (0, 1).

/// The number of basis functions.
pub(super) const BASIS_COUNT: usize = 5;
/// The number of their parameters together: 3 + 2 + 3 + 2 + 3.
pub(super) const BASIS_PARAMETERS: usize = 13;
/// Where each one's parameters begin, and the end of the last.
pub(super) const PARAMETER_OFFSETS: [usize; BASIS_COUNT + 1] = [0, 3, 5, 8, 10, 13];

/// A time t in (0, 1] with its logarithm and inverse.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimeTerms {
    t: f64,
    ln_t: f64,
    inverse: f64,
}

impl TimeTerms {
    pub(super) fn new(t: f64) -> Self {
        Self { t, ln_t: t.ln(), inverse: 1.0 / t }
    }
}

/// 1/(1 + e^(−x)).
pub(super) fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// φ_1(t) … φ_5(t) for the parameters θ (13 in (0, 1)):
///
/// | basis | φ(t), 0 at t = 1 |
/// |---|---|
/// | vapor pressure | exp(−a − (b/10)/t − (c/10)·ln t) − exp(−a − b/10) |
/// | power | a·(t^b − 1) |
/// | log power | 2a·(1/(1 + e^(−b'c)) − 1/(1 + e^(c·ln t − b'c))), b' = b/10 |
/// | exponential | a·(e^(−10b) − e^(−10bt)) |
/// | Hill3 | a·(1/(c^b·t^(−b) + 1) − 1/(c^b + 1)) |
///
/// Source: Klein et al. 2017; log power and Hill3 are corrected so that φ(1) = 0, which the published code misses.
pub(super) fn basis_values(theta: &[f64], time: TimeTerms) -> [f64; BASIS_COUNT] {
    let TimeTerms { t, ln_t, inverse } = time;
    let vapor = (-theta[0] - theta[1] / 10.0 * inverse - theta[2] / 10.0 * ln_t).exp()
        - (-theta[0] - theta[1] / 10.0).exp();
    let power = theta[3] * ((theta[4] * ln_t).exp() - 1.0);
    let b = theta[6] / 10.0;
    let log_power = 2.0 * theta[5] * (sigmoid(b * theta[7]) - sigmoid(theta[7] * (b - ln_t)));
    let exponential = theta[8] * ((-10.0 * theta[9]).exp() - (-10.0 * theta[9] * t).exp());
    let q = (theta[11] * theta[12].ln()).exp();
    let hill = theta[10] * (1.0 / (q * (-theta[11] * ln_t).exp() + 1.0) - 1.0 / (q + 1.0));
    [vapor, power, log_power, exponential, hill]
}

/// ∂φ_k/∂θ_j of the basis k that θ_j belongs to.
pub(super) fn basis_gradients(theta: &[f64], time: TimeTerms) -> [f64; BASIS_PARAMETERS] {
    let TimeTerms { t, ln_t, inverse } = time;
    let (a, b, c) = (theta[0], theta[1], theta[2]);
    let (now, end) = ((-a - b / 10.0 * inverse - c / 10.0 * ln_t).exp(), (-a - b / 10.0).exp());
    let vapor = [end - now, (end - now * inverse) / 10.0, -now * ln_t / 10.0];

    let raised = (theta[4] * ln_t).exp();
    let power = [raised - 1.0, theta[3] * raised * ln_t];

    let (a, b, c) = (theta[5], theta[6] / 10.0, theta[7]);
    let (end, now) = (sigmoid(b * c), sigmoid(c * (b - ln_t)));
    let (end_slope, now_slope) = (end * (1.0 - end), now * (1.0 - now));
    let log_power = [
        2.0 * (end - now),
        2.0 * a * (end_slope - now_slope) * c / 10.0,
        2.0 * a * (end_slope * b - now_slope * (b - ln_t)),
    ];

    let (end, now) = ((-10.0 * theta[9]).exp(), (-10.0 * theta[9] * t).exp());
    let exponential = [end - now, 10.0 * theta[8] * (t * now - end)];

    let (a, b, c) = (theta[10], theta[11], theta[12]);
    let q = (b * c.ln()).exp();
    let (end, now) = (1.0 / (q + 1.0), 1.0 / (q * (-b * ln_t).exp() + 1.0));
    let (end_slope, now_slope) = (end * (1.0 - end), now * (1.0 - now));
    let hill = [
        now - end,
        a * (end_slope * c.ln() - now_slope * (c.ln() - ln_t)),
        a * (end_slope - now_slope) * b / c,
    ];
    let mut all = [0.0; BASIS_PARAMETERS];
    for (place, value) in
        all.iter_mut().zip(vapor.into_iter().chain(power).chain(log_power).chain(exponential).chain(hill))
    {
        *place = value;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    const THETA: [f64; BASIS_PARAMETERS] = [0.7, 0.3, 0.6, 0.7, 0.3, 0.7, 0.3, 0.6, 0.7, 0.3, 0.7, 0.3, 0.6];

    #[test]
    fn bases_have_the_published_values_and_end_at_zero() {
        let expected = [
            [-0.4493, -0.0595, 0.0056, 0.0],
            [-0.5242, -0.3492, -0.1314, 0.0],
            [-0.6120, -0.4167, -0.1432, 0.0],
            [-0.6445, -0.4837, -0.1213, 0.0],
            [-0.2182, -0.1186, -0.0363, 0.0],
        ];
        for (i, t) in [0.01, 0.1, 0.5, 1.0].into_iter().enumerate() {
            let values = basis_values(&THETA, TimeTerms::new(t));
            for (k, row) in expected.iter().enumerate() {
                assert!((values[k] - row[i]).abs() < 6e-5, "basis {k} at {t}: {} for {}", values[k], row[i]);
            }
        }
    }

    #[test]
    fn derivatives_are_those_of_finite_differences() {
        for t in [0.01, 0.2, 0.7, 1.0] {
            let time = TimeTerms::new(t);
            let gradients = basis_gradients(&THETA, time);
            for basis in 0..BASIS_COUNT {
                for j in PARAMETER_OFFSETS[basis]..PARAMETER_OFFSETS[basis + 1] {
                    let [above, below] = [1e-6, -1e-6].map(|by| {
                        let mut theta = THETA;
                        theta[j] += by;
                        basis_values(&theta, time)[basis]
                    });
                    let difference = (above - below) / 2e-6;
                    assert!((difference - gradients[j]).abs() < 1e-7, "θ_{j} at {t}: {}", gradients[j]);
                }
            }
        }
    }
}

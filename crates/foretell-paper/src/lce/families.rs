//! The eleven curve families of Domhan et al.: names, parameters, values and derivatives.

use super::exponentials::{exp4, exp4_gradient, janoschek, janoschek_gradient, weibull, weibull_gradient};
use super::logarithmic::{
    ilog2, ilog2_gradient, log_log_linear, log_log_linear_gradient, vapor_pressure, vapor_pressure_gradient,
};
use super::power_laws::{pow3, pow3_gradient, pow4, pow4_gradient};
use super::sigmoids::{hill3, hill3_gradient, log_power, log_power_gradient, mmf, mmf_gradient};
use foretell::linalg::simd::{VECTOR_LANES, dispatched};

/// The most parameters that a family has.
pub(super) const MAX_PARAMETERS: usize = 4;

/// A family of learning curves, f(x) for an epoch x ≥ 1.
///
/// | family | f(x) | parameters, in order |
/// |---|---|---|
/// | vapor pressure | exp(a + b/x + c·ln x) | a, b, c |
/// | pow3 | c − a·x^(−α) | c, a, α |
/// | log-log linear | ln(a·ln x + b) | a, b |
/// | Hill3 | θ·x^η/(κ^η + x^η) | θ, η, κ |
/// | log power | a/(1 + (x/e^b)^c) | a, b, c |
/// | pow4 | c − (a·x + b)^(−α) | c, a, b, α |
/// | MMF | α − (α − β)/(1 + (κ·x)^δ) | α, β, κ, δ |
/// | exp4 | c − exp(−a·x^α + b) | c, a, b, α |
/// | Janoschek | α − (α − β)·exp(−κ·x^δ) | α, β, κ, δ |
/// | Weibull | α − (α − β)·exp(−(κ·x)^δ) | α, β, κ, δ |
/// | ilog2 | c − a/ln(1 + x) | c, a |
///
/// Source: Domhan, Springenberg & Hutter 2015, table 1; parameter order and starts as in their `pylearningcurvepredictor`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CurveFamily {
    /// exp(a + b/x + c·ln x).
    VaporPressure,
    /// c − a·x^(−α).
    Pow3,
    /// ln(a·ln x + b).
    LogLogLinear,
    /// θ·x^η/(κ^η + x^η).
    Hill3,
    /// a/(1 + (x/e^b)^c).
    LogPower,
    /// c − (a·x + b)^(−α).
    Pow4,
    /// α − (α − β)/(1 + (κ·x)^δ).
    Mmf,
    /// c − exp(−a·x^α + b).
    Exp4,
    /// α − (α − β)·exp(−κ·x^δ).
    Janoschek,
    /// α − (α − β)·exp(−(κ·x)^δ).
    Weibull,
    /// c − a/ln(1 + x).
    Ilog2,
}

/// An epoch with the functions of it that families need.
#[derive(Clone, Copy, Debug)]
pub(super) struct EpochTerms {
    /// x ≥ 1.
    pub(super) x: f64,
    /// ln x.
    pub(super) ln_x: f64,
    /// 1/ln(1 + x).
    pub(super) inverse_log: f64,
}

impl EpochTerms {
    pub(super) fn new(x: f64) -> Self {
        Self { x, ln_x: x.ln(), inverse_log: 1.0 / x.ln_1p() }
    }
}

/// Many epochs, column by column, filled up with the last one to a whole number of vectors.
#[derive(Clone, Debug, Default)]
pub(super) struct EpochColumns {
    x: Vec<f64>,
    ln_x: Vec<f64>,
    inverse_log: Vec<f64>,
}

impl EpochColumns {
    /// The columns of `epochs`.
    pub(super) fn new(epochs: &[f64]) -> Self {
        let filled = epochs.len().next_multiple_of(VECTOR_LANES);
        let all: Vec<EpochTerms> =
            (0..filled).map(|i| EpochTerms::new(epochs[i.min(epochs.len() - 1)])).collect();
        Self {
            x: all.iter().map(|e| e.x).collect(),
            ln_x: all.iter().map(|e| e.ln_x).collect(),
            inverse_log: all.iter().map(|e| e.inverse_log).collect(),
        }
    }

    /// The number of epochs, filled up.
    pub(super) fn len(&self) -> usize {
        self.x.len()
    }

    /// Epoch number `i`.
    pub(super) fn epoch(&self, i: usize) -> EpochTerms {
        EpochTerms { x: self.x[i], ln_x: self.ln_x[i], inverse_log: self.inverse_log[i] }
    }
}

/// The first N parameters.
#[inline(always)]
fn first_parameters<const N: usize>(parameters: &[f64]) -> [f64; N] {
    let mut taken = [0.0; N];
    taken.copy_from_slice(&parameters[..N]);
    taken
}

impl CurveFamily {
    /// All eleven: the set of the termination criterion.
    pub const ALL: [Self; 11] = [
        Self::VaporPressure,
        Self::Pow3,
        Self::LogLogLinear,
        Self::Hill3,
        Self::LogPower,
        Self::Pow4,
        Self::Mmf,
        Self::Exp4,
        Self::Janoschek,
        Self::Weibull,
        Self::Ilog2,
    ];

    /// Name of the family.
    pub fn name(self) -> &'static str {
        match self {
            Self::VaporPressure => "vapor pressure",
            Self::Pow3 => "pow3",
            Self::LogLogLinear => "log-log linear",
            Self::Hill3 => "Hill3",
            Self::LogPower => "log power",
            Self::Pow4 => "pow4",
            Self::Mmf => "MMF",
            Self::Exp4 => "exp4",
            Self::Janoschek => "Janoschek",
            Self::Weibull => "Weibull",
            Self::Ilog2 => "ilog2",
        }
    }

    /// The number of its parameters.
    pub fn parameter_count(self) -> usize {
        self.initial_parameters().len()
    }

    /// The published initial parameters.
    pub fn initial_parameters(self) -> &'static [f64] {
        match self {
            Self::VaporPressure => &[-0.622_028, -0.470_050, 0.042_322],
            Self::Pow3 => &[0.84, 0.52, 0.01],
            Self::LogLogLinear => &[1.0, 1.0],
            Self::Hill3 => &[0.772_320, 0.586_449, 2.460_843],
            Self::LogPower => &[0.77, 2.98, -0.51],
            Self::Pow4 => &[0.8, 200.0, 0.0, 0.1],
            Self::Mmf => &[0.7, 0.1, 0.01, 5.0],
            Self::Exp4 => &[0.7, 0.8, -0.8, 0.3],
            Self::Janoschek => &[0.73, 0.07, 0.355, 0.46],
            Self::Weibull => &[0.7, 0.1, 0.01, 1.0],
            Self::Ilog2 => &[0.78, 0.43],
        }
    }

    /// The box that parameters lie in where the prior is proper, for scores scaled to about [0, 1] and a forecast at epoch
    /// `horizon`: (least, largest) of each parameter.
    pub fn parameter_bounds(self, horizon: f64) -> Vec<(f64, f64)> {
        let (level, gain, power) = ((-0.5, 2.0), (-0.5, 2.0), (0.02, 3.0));
        let rate = (0.2 / horizon, 3.0);
        match self {
            Self::VaporPressure => vec![(-5.0, 1.0), (-8.0, 1.0), (-0.5, 0.5)],
            Self::Pow3 => vec![level, gain, power],
            Self::LogLogLinear => vec![(-0.5, 1.5), (0.3, 3.0)],
            Self::Hill3 => vec![(0.0, 2.0), (0.05, 5.0), (0.02, 2.0 * horizon)],
            Self::LogPower => vec![(0.0, 2.0), (-4.0, (2.0 * horizon).ln()), (-5.0, -0.05)],
            Self::Pow4 => vec![level, (0.01, 20.0), (0.0, 20.0), power],
            Self::Mmf => vec![level, level, rate, (0.05, 5.0)],
            Self::Exp4 => vec![level, (0.001, 5.0), (-5.0, 2.0), (0.05, 2.0)],
            Self::Janoschek => vec![level, level, (0.001, 5.0), (0.05, 2.0)],
            Self::Weibull => vec![level, level, rate, (0.05, 2.5)],
            Self::Ilog2 => vec![level, gain],
        }
    }

    /// f(`epoch`): may be infinite, or NaN where the family is not defined.
    ///
    /// ```
    /// use foretell_paper::lce::CurveFamily;
    /// assert_eq!(CurveFamily::Pow3.value(&[0.9, 0.4, 1.0], 4.0), 0.8); // 0.9 − 0.4/4
    /// ```
    pub fn value(self, parameters: &[f64], epoch: f64) -> f64 {
        self.value_at(parameters, EpochTerms::new(epoch))
    }

    /// [`Self::value`] at an epoch whose logarithms are known.
    #[inline(always)]
    pub(super) fn value_at(self, p: &[f64], EpochTerms { x, ln_x, inverse_log }: EpochTerms) -> f64 {
        match self {
            Self::VaporPressure => vapor_pressure(first_parameters(p), x, ln_x),
            Self::Pow3 => pow3(first_parameters(p), ln_x),
            Self::LogLogLinear => log_log_linear(first_parameters(p), ln_x),
            Self::Hill3 => hill3(first_parameters(p), ln_x),
            Self::LogPower => log_power(first_parameters(p), ln_x),
            Self::Pow4 => pow4(first_parameters(p), x),
            Self::Mmf => mmf(first_parameters(p), ln_x),
            Self::Exp4 => exp4(first_parameters(p), ln_x),
            Self::Janoschek => janoschek(first_parameters(p), ln_x),
            Self::Weibull => weibull(first_parameters(p), ln_x),
            Self::Ilog2 => ilog2(first_parameters(p), inverse_log),
        }
    }

    /// The derivatives of f at `epoch` with respect to each parameter; zeros behind the last.
    pub(super) fn gradient(
        self,
        p: &[f64],
        EpochTerms { x, ln_x, inverse_log }: EpochTerms,
    ) -> [f64; MAX_PARAMETERS] {
        fn wide<const N: usize>(gradient: [f64; N]) -> [f64; MAX_PARAMETERS] {
            let mut all = [0.0; MAX_PARAMETERS];
            all[..N].copy_from_slice(&gradient);
            all
        }
        match self {
            Self::VaporPressure => wide(vapor_pressure_gradient(first_parameters(p), x, ln_x)),
            Self::Pow3 => wide(pow3_gradient(first_parameters(p), ln_x)),
            Self::LogLogLinear => wide(log_log_linear_gradient(first_parameters(p), ln_x)),
            Self::Hill3 => wide(hill3_gradient(first_parameters(p), ln_x)),
            Self::LogPower => wide(log_power_gradient(first_parameters(p), ln_x)),
            Self::Pow4 => pow4_gradient(first_parameters(p), x),
            Self::Mmf => mmf_gradient(first_parameters(p), ln_x),
            Self::Exp4 => exp4_gradient(first_parameters(p), ln_x),
            Self::Janoschek => janoschek_gradient(first_parameters(p), ln_x),
            Self::Weibull => weibull_gradient(first_parameters(p), ln_x),
            Self::Ilog2 => wide(ilog2_gradient(inverse_log)),
        }
    }

    /// f at all of `epochs` into `out`, of the same length.
    pub(super) fn fill_values(self, parameters: &[f64], epochs: &EpochColumns, out: &mut [f64]) {
        all_values(self, parameters, &epochs.x, &epochs.ln_x, &epochs.inverse_log, out);
    }
}

dispatched! {
    /// f at epochs given column by column.
    pub(crate) fn all_values(
        family: CurveFamily, p: &[f64], x: &[f64], ln_x: &[f64], inverse_log: &[f64], out: &mut [f64],
    ) {
        // one loop a family, so that each vectorizes
        macro_rules! each {
            ($f:expr, $column:expr) => {
                for (value, &at) in out.iter_mut().zip($column) { *value = $f(at); }
            };
        }
        match family {
            CurveFamily::VaporPressure => {
                let p = first_parameters(p);
                for ((value, &x), &ln_x) in out.iter_mut().zip(x).zip(ln_x) {
                    *value = vapor_pressure(p, x, ln_x);
                }
            }
            CurveFamily::Pow3 => { let p = first_parameters(p); each!(|at| pow3(p, at), ln_x) }
            CurveFamily::LogLogLinear => { let p = first_parameters(p); each!(|at| log_log_linear(p, at), ln_x) }
            CurveFamily::Hill3 => { let p = first_parameters(p); each!(|at| hill3(p, at), ln_x) }
            CurveFamily::LogPower => { let p = first_parameters(p); each!(|at| log_power(p, at), ln_x) }
            CurveFamily::Pow4 => { let p = first_parameters(p); each!(|at| pow4(p, at), x) }
            CurveFamily::Mmf => { let p = first_parameters(p); each!(|at| mmf(p, at), ln_x) }
            CurveFamily::Exp4 => { let p = first_parameters(p); each!(|at| exp4(p, at), ln_x) }
            CurveFamily::Janoschek => { let p = first_parameters(p); each!(|at| janoschek(p, at), ln_x) }
            CurveFamily::Weibull => { let p = first_parameters(p); each!(|at| weibull(p, at), ln_x) }
            CurveFamily::Ilog2 => { let p = first_parameters(p); each!(|at| ilog2(p, at), inverse_log) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_have_the_published_values_at_their_starts() {
        let expected = [
            [0.3355, 0.5646, 0.6493],
            [0.3200, 0.3318, 0.3434],
            [0.0000, 1.1947, 1.7237],
            [0.2865, 0.5365, 0.6934],
            [0.1382, 0.3191, 0.5360],
            [0.2113, 0.3324, 0.4286],
            [0.1000, 0.1000, 0.4000],
            [0.4981, 0.6089, 0.6814],
            [0.2672, 0.4929, 0.6956],
            [0.1060, 0.1571, 0.4793],
            [0.1596, 0.6007, 0.6868],
        ];
        for (family, expected) in CurveFamily::ALL.into_iter().zip(expected) {
            for (x, expected) in [1.0, 10.0, 100.0].into_iter().zip(expected) {
                let got = family.value(family.initial_parameters(), x);
                assert!((got - expected).abs() < 6e-5, "{} at {x}: {got} for {expected}", family.name());
            }
        }
    }

    #[test]
    fn derivatives_are_those_of_finite_differences() {
        for family in CurveFamily::ALL {
            for shift in [0.0, 0.05, 0.1] {
                let p: Vec<f64> = family.initial_parameters().iter().map(|p| p + shift).collect();
                for x in [1.0, 2.0, 7.5, 60.0] {
                    let epoch = EpochTerms::new(x);
                    let gradient = family.gradient(&p, epoch);
                    for k in 0..p.len() {
                        let step = 1e-5 * p[k].abs().max(0.01);
                        let [above, below] = [step, -step].map(|by| {
                            let mut q = p.clone();
                            q[k] += by;
                            family.value_at(&q, epoch)
                        });
                        let difference = (above - below) / (2.0 * step);
                        let room = 1e-6 * gradient[k].abs().max(1e-3);
                        assert!(
                            (difference - gradient[k]).abs() < room,
                            "{} at {x}, parameter {k}: {} for {difference}",
                            family.name(),
                            gradient[k]
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn many_epochs_at_once_give_the_same_bits_on_every_processor() {
        let epochs = EpochColumns::new(&(1..=19).map(f64::from).collect::<Vec<_>>());
        for family in CurveFamily::ALL {
            let versions = foretell::linalg::simd::with_each_instruction_set(|| {
                let mut values = vec![0.0; epochs.len()];
                family.fill_values(family.initial_parameters(), &epochs, &mut values);
                values
            });
            for values in &versions {
                assert_eq!(values, &versions[0], "{}", family.name());
                for (i, value) in values.iter().enumerate() {
                    let alone = family.value_at(family.initial_parameters(), epochs.epoch(i));
                    assert!((value - alone).abs() < 1e-15, "{}: {value} for {alone}", family.name());
                }
            }
        }
    }

    #[test]
    fn families_that_are_not_defined_are_not_numbers() {
        for (family, parameters) in [
            (CurveFamily::LogLogLinear, vec![-1.0, 1.0]),
            (CurveFamily::Pow4, vec![0.8, -1.0, 0.5, 0.5]),
            (CurveFamily::Hill3, vec![0.8, 0.5, -2.0]),
            (CurveFamily::Mmf, vec![0.8, 0.1, -2.0, 0.5]),
            (CurveFamily::Weibull, vec![0.8, 0.1, -2.0, 0.5]),
        ] {
            assert!(family.value(&parameters, 10.0).is_nan(), "{}", family.name());
        }
    }
}

//! Learning-curve extrapolation: it is calibrated on its own prior, and no curve gives nonsense.

use foretell::Model;
use foretell_paper::lce::{
    CurveFamily, EnsembleOptions, LceOptions, MonotonicityRule, NoExtrapolation, PartialCurve, WalkerMove,
    extrapolate,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn steps(n: usize) -> Vec<f64> {
    (1..=n).map(|x| x as f64).collect()
}

fn end_of(
    scores: &[f64],
    target: f64,
    options: &LceOptions,
) -> Result<foretell_paper::lce::Extrapolation, NoExtrapolation> {
    let steps = steps(scores.len());
    extrapolate(&PartialCurve { steps: &steps, scores, target, range: (0.0, 1.0) }, options, 1)
}

/// y_t = f(x_t) + σ·z for parameters, weights and σ drawn from the prior of `families`.
struct Drawn {
    scores: Vec<f64>,
    end: f64,
}

fn normal(random: &mut ChaCha8Rng) -> f64 {
    (-2.0 * (1.0 - random.random::<f64>()).ln()).sqrt()
        * (std::f64::consts::TAU * random.random::<f64>()).cos()
}

/// A draw from the prior that `LceOptions::default` states, by rejection.
fn draw(families: &[CurveFamily], points: usize, horizon: f64, random: &mut ChaCha8Rng) -> Drawn {
    let curves: Vec<(CurveFamily, Vec<f64>)> = families
        .iter()
        .map(|&family| {
            loop {
                let bounds = family.parameter_bounds(horizon);
                let theta: Vec<f64> =
                    bounds.iter().map(|(low, high)| low + (high - low) * random.random::<f64>()).collect();
                let (start, end) = (family.value(&theta, 2.0), family.value(&theta, horizon));
                if (0.0..=1.0).contains(&end) && start <= end {
                    return (family, theta);
                }
            }
        })
        .collect();
    let weights: Vec<f64> = families.iter().map(|_| -(1.0 - random.random::<f64>()).ln()).collect();
    let total: f64 = weights.iter().sum();
    let f = |x: f64| -> f64 {
        curves.iter().zip(&weights).map(|((family, theta), w)| w / total * family.value(theta, x)).sum()
    };
    let (low, high) = (1e-3_f64.ln(), 0.5_f64.ln());
    let noise = (low + (high - low) * random.random::<f64>()).exp();
    let scores = steps(points).into_iter().map(|x| f(x) + noise * normal(random)).collect();
    Drawn { scores, end: f(horizon) }
}

/// Simulation-based calibration (Talts et al. 2018): the rank of the truth among posterior samples is uniform where the
/// sampler is right. `FORETELL_CALIBRATIONS` draws more curves than the ordinary run.
#[test]
fn ranks_of_ends_drawn_from_the_prior_are_uniform() {
    let count: usize =
        std::env::var("FORETELL_CALIBRATIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(100);
    let families = [CurveFamily::Pow3, CurveFamily::Janoschek, CurveFamily::Ilog2];
    let defaults = LceOptions::default();
    let options = LceOptions {
        families: families.to_vec(),
        screening: false,
        ensemble: EnsembleOptions { walkers: 40, steps: 1200, burn_in: 400, stop: None, ..defaults.ensemble },
        ..defaults
    };
    let mut random = ChaCha8Rng::seed_from_u64(5);
    let mut bins = [0_usize; 8];
    for _ in 0..count {
        let drawn = draw(&families, 8, 30.0, &mut random);
        let posterior = end_of(&drawn.scores, 30.0, &options).expect("a curve of its own prior");
        bins[((posterior.rank_of(drawn.end) * 8.0) as usize).min(7)] += 1;
    }
    // each bin is binomial: 99.9 % bands for eight bins together are 3.7 standard deviations wide
    let (n, p) = (count as f64, 1.0 / 8.0);
    let band = 3.7 * (n * p * (1.0 - p)).sqrt();
    for (bin, held) in bins.iter().enumerate() {
        assert!(
            (*held as f64 - n * p).abs() < band,
            "bin {bin} of {bins:?}: {held} for {} ± {band:.1}",
            n * p
        );
    }
}

#[test]
fn ordinary_curves_end_where_they_do() {
    let scores: Vec<f64> = steps(15).iter().map(|x| 0.85 - 0.6 * (-x / 6.0).exp()).collect();
    let end = end_of(&scores, 60.0, &LceOptions::default()).expect("a saturating curve");
    assert!(
        (end.mean - 0.85).abs() < 0.03 && end.standard_deviation < 0.06,
        "{} {}",
        end.mean,
        end.standard_deviation
    );
    assert!(end.probability_above(0.5) > 0.99 && end.probability_above(0.99) < 0.05);
    assert!(!end.outlier && end.rank_of(2.0) >= 1.0);
}

#[test]
fn any_curve_has_a_finite_forecast_or_a_named_reason() {
    let wave = |x: f64| 0.5 + 0.3 * (2.0 * x).sin();
    let curves: Vec<(&str, Vec<f64>)> = vec![
        ("flat", vec![0.1; 12]),
        ("zero", vec![0.0; 12]),
        ("two points", vec![0.1, 0.4]),
        ("rising straight", (0..12).map(|i| 0.05 * f64::from(i)).collect()),
        ("falling", (0..12).map(|i| 0.9 - 0.05 * f64::from(i)).collect()),
        ("collapsed", [vec![0.7; 6], vec![0.1; 6]].concat()),
        ("a step up", [vec![0.1; 6], vec![0.7; 6]].concat()),
        ("waves", (0..12).map(|i| wave(f64::from(i))).collect()),
        ("far above the range", vec![1e9; 6]),
        ("far below the range", vec![-1e9; 6]),
        ("both", vec![-1e300, 1e300, -1e300, 1e300, 0.0, 1.0]),
    ];
    for options in [LceOptions::default(), LceOptions::domhan2015()] {
        let options = LceOptions { ensemble: EnsembleOptions { steps: 200, ..options.ensemble }, ..options };
        for (name, scores) in &curves {
            match end_of(scores, 40.0, &options) {
                Ok(end) => {
                    let numbers = [end.mean, end.median, end.standard_deviation, end.noise];
                    assert!(numbers.iter().all(|value| value.is_finite()), "{name}: {numbers:?}");
                    assert!(end.forecast().scale.is_finite() && !end.families.is_empty(), "{name}");
                    let above = end.probability_above(0.5);
                    assert!((0.0..=1.0).contains(&above), "{name}: {above}");
                }
                Err(reason) => assert!(reason.to_string().len() > 20, "{name}: {reason}"),
            }
        }
    }
}

#[test]
fn what_cannot_be_extrapolated_says_why() {
    let refusal = |scores: &[f64], steps: &[f64], target, range| {
        let curve = PartialCurve { steps, scores, target, range };
        extrapolate(&curve, &LceOptions::default(), 0).map(|end| end.mean).unwrap_err()
    };
    let (up, unit) = ([0.1, 0.2, 0.3], (0.0, 1.0));
    assert_eq!(refusal(&[0.1], &[1.0], 9.0, unit), NoExtrapolation::TooShort { needed: 2, got: 1 });
    assert!(matches!(
        refusal(&[0.1, f64::NAN, 0.2], &[1.0, 2.0, 3.0], 9.0, unit),
        NoExtrapolation::NotFinite { point: 1, .. }
    ));
    assert!(matches!(refusal(&up, &[1.0, 3.0, 2.0], 9.0, unit), NoExtrapolation::Steps { point: 1, .. }));
    assert!(matches!(refusal(&up, &[1.0, 2.0, 3.0], 3.0, unit), NoExtrapolation::Steps { point: 2, .. }));
    assert!(matches!(refusal(&up, &[1.0, 2.0, 3.0], 9.0, (1.0, 1.0)), NoExtrapolation::NoRange { .. }));
    let falling: Vec<f64> = (0..12).map(|i| 0.9 - 0.05 * f64::from(i)).collect();
    let error = refusal(&falling, &steps(12), 40.0, unit);
    assert!(matches!(error, NoExtrapolation::NoFamily { .. }), "{error}");
}

#[test]
fn every_monotonicity_and_move_samples() {
    let scores: Vec<f64> = steps(10).iter().map(|x| 0.8 - 0.5 / x).collect();
    for monotonicity in [
        MonotonicityRule::Soft,
        MonotonicityRule::Hard,
        MonotonicityRule::Combination,
        MonotonicityRule::Free,
    ] {
        for moves in [WalkerMove::Stretch { scale: 2.0 }, WalkerMove::Differential] {
            let defaults = LceOptions::default();
            let options = LceOptions {
                monotonicity,
                ensemble: EnsembleOptions { moves, ..defaults.ensemble },
                ..defaults
            };
            let end = end_of(&scores, 40.0, &options).expect("a saturating curve");
            assert!((end.mean - 0.78).abs() < 0.06, "{monotonicity:?} {moves:?}: {}", end.mean);
            let diagnostics = end.diagnostics;
            assert!((0.02..0.9).contains(&diagnostics.acceptance), "{diagnostics:?}");
        }
    }
}

#[test]
fn a_range_scales_the_forecast_with_the_scores() {
    let scores: Vec<f64> = steps(10).iter().map(|x| 0.8 - 0.5 / x).collect();
    let percent: Vec<f64> = scores.iter().map(|y| 100.0 * y).collect();
    let one = end_of(&scores, 40.0, &LceOptions::default()).expect("a saturating curve");
    let curve = PartialCurve { steps: &steps(10), scores: &percent, target: 40.0, range: (0.0, 100.0) };
    let other = extrapolate(&curve, &LceOptions::default(), 1).expect("the same curve");
    assert!((100.0 * one.mean - other.mean).abs() < 1e-6 && (100.0 * one.noise - other.noise).abs() < 1e-6);
}

#[test]
fn held_out_forecasts_of_lce_are_its_ordinary_ones() {
    use foretell::{Matrix, Predictor, TrainingSet};
    use foretell_paper::Lce;
    let training = TrainingSet {
        steps: steps(5),
        target_step: 20.0,
        prefixes: Matrix::from_fn(4, 5, |i, t| 0.5 + 0.1 * i as f64 - 0.3 / (t + 1) as f64),
        configurations: Matrix::zeros(4, 0),
        targets: vec![0.5, 0.6, 0.7, 0.8],
        ..TrainingSet::default()
    };
    let model: Box<dyn Model> = Lce::default().fit(&training).expect("fits");
    for i in 0..4 {
        assert_eq!(model.held_out()[i], model.forecast(&training.query(i)));
    }
}

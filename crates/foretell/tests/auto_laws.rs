//! Laws that the default predictor and its parts keep on any curves.

use foretell::{
    AutoPredictor, FeatureGroup, GaussianProcess, LastValue, Matrix, Predictor, RunQuery, TrainingSet,
};
use proptest::prelude::*;

/// Runs of n curves over τ steps with noise, levels and speeds drawn from `draws`.
fn training(n: usize, tau: usize, draws: &[f64]) -> TrainingSet {
    let draw = |i: usize, k: usize| draws[(i * 31 + k * 17) % draws.len()];
    let score = |i: usize, t: usize| {
        let speed = 0.05 + 0.5 * draw(i, 1);
        (0.3 + 0.6 * draw(i, 0)) * (1.0 - (-speed * (t + 1) as f64).exp()) + 0.02 * draw(i, 2 + t)
    };
    TrainingSet {
        steps: (1..=tau).map(|t| t as f64).collect(),
        target_step: 30.0,
        prefixes: Matrix::from_fn(n, tau, score),
        configurations: Matrix::from_fn(n, 1, |i, _| draw(i, 0) + 0.2 * draw(i, 5)),
        groups: vec![FeatureGroup::Hyperparameter],
        targets: (0..n).map(|i| score(i, 29)).collect(),
        ..TrainingSet::default()
    }
}

fn draws() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(0.0..1.0_f64, 97)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn the_order_of_runs_leaves_the_default_s_forecasts_as_they_are_to_the_last_bit(draws in draws(), n in 8_usize..40) {
        let set = training(n, 7, &draws);
        let order: Vec<usize> = (0..n).rev().collect();
        let (one, other) = (AutoPredictor::default().fit(&set)?, AutoPredictor::default().fit(&set.select_runs(&order))?);
        for i in 0..n {
            prop_assert_eq!(one.forecast(&set.query(i)), other.forecast(&set.query(i)));
            prop_assert_eq!(&one.held_out()[i], &other.held_out()[n - 1 - i]);
        }
    }

    #[test]
    fn another_unit_and_origin_turn_forecasts_alike(draws in draws(), scale in 1e-3..1e3_f64, shift in -10.0..10.0_f64) {
        let set = TrainingSet { ceiling: Some(1.0), ..training(25, 7, &draws) };
        let mut turned = TrainingSet { ceiling: Some(scale + shift), ..set.clone() };
        turned.prefixes.as_mut_slice().iter_mut().chain(&mut turned.targets).for_each(|y| *y = scale * *y + shift);
        for predictor in [&AutoPredictor::default() as &dyn Predictor, &GaussianProcess] {
            let (one, other) = (predictor.fit(&set)?, predictor.fit(&turned)?);
            for i in 0..25 {
                let (a, b) = (one.forecast(&set.query(i)), other.forecast(&turned.query(i)));
                let tolerance = 1e-4 * scale;
                prop_assert!((scale * a.mean + shift - b.mean).abs() < tolerance, "{} {}", scale * a.mean + shift, b.mean);
                prop_assert!((scale * a.quantile(0.9) + shift - b.quantile(0.9)).abs() < 10.0 * tolerance);
            }
        }
    }

    #[test]
    fn a_better_curve_never_lowers_the_forecast_of_the_last_value(draws in draws(), gain in 0.0..1.0_f64) {
        let set = training(10, 5, &draws);
        let model = LastValue.fit(&set)?;
        let better: Vec<f64> = set.query(0).prefix.iter().map(|y| y + gain).collect();
        let lifted = model.forecast(&RunQuery { prefix: &better, configuration: &[] });
        prop_assert!(lifted.mean >= model.forecast(&set.query(0)).mean);
        prop_assert!(lifted.probability_at_most(0.5) <= model.forecast(&set.query(0)).probability_at_most(0.5));
    }

    #[test]
    fn any_finite_numbers_give_a_finite_forecast_or_an_error(
        numbers in prop::collection::vec(prop_oneof![-1.0..1.0_f64, Just(0.0), -1e9..1e9_f64, -1e-9..1e-9_f64], 60),
        n in 3_usize..12,
        tau in 1_usize..6,
    ) {
        let number = |i: usize, t: usize| numbers[(i * 7 + t * 3) % 60];
        let set = TrainingSet {
            steps: (0..tau).map(|t| t as f64).collect(),
            target_step: tau as f64,
            prefixes: Matrix::from_fn(n, tau, number),
            configurations: Matrix::from_fn(n, 2, |i, j| number(j, i)),
            groups: vec![FeatureGroup::Hyperparameter; 2],
            targets: (0..n).map(|i| number(i, 9)).collect(),
            ..TrainingSet::default()
        };
        for predictor in [&AutoPredictor::default() as &dyn Predictor, &GaussianProcess] {
            if let Ok(model) = predictor.fit(&set) {
                for i in 0..n {
                    let forecast = model.forecast(&set.query(i));
                    prop_assert!(forecast.mean.is_finite() && forecast.quantile(0.99).is_finite());
                }
            }
        }
    }
}

#[test]
fn no_forecast_lies_above_the_best_score_that_there_can_be() -> Result<(), foretell::FitError> {
    // all runs gain 0.6 from near chance, and one that starts at 0.95 is asked for
    let start = |i: usize| 0.2 + 0.01 * i as f64;
    let set = |ceiling| TrainingSet {
        steps: vec![1.0],
        target_step: 30.0,
        prefixes: Matrix::from_fn(12, 1, |i, _| start(i)),
        targets: (0..12).map(|i| start(i) + 0.6).collect(),
        ceiling,
        ..TrainingSet::default()
    };
    for predictor in [&AutoPredictor::default() as &dyn Predictor, &GaussianProcess] {
        let mean = |ceiling| -> Result<f64, foretell::FitError> {
            let good = RunQuery { prefix: &[0.95], configuration: &[] };
            Ok(predictor.fit(&set(ceiling))?.forecast(&good).mean)
        };
        let (unbounded, bounded) = (mean(None)?, mean(Some(1.0))?);
        assert!(unbounded > 1.05, "{}: {unbounded}", predictor.name());
        assert!((0.95..=1.0).contains(&bounded), "{}: {bounded}", predictor.name());
    }
    Ok(())
}

#[test]
fn intervals_of_the_default_hold_what_they_say_on_curves_of_another_draw() {
    // 40 sets of 60 runs to fit on and 60 to test; levels, speeds and noise are sampled again for each
    let mut inside = [0_usize; 3];
    let mut below = 0;
    let mut tested = 0;
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    for _ in 0..40 {
        let numbers: Vec<f64> = (0..120 * 40).map(|_| next()).collect();
        let draw = |i: usize, k: usize| numbers[i * 40 + k];
        let score = |i: usize, t: usize| {
            (0.3 + 0.6 * draw(i, 0)) * (1.0 - (-(0.05 + 0.5 * draw(i, 1)) * (t + 1) as f64).exp())
                + 0.05 * draw(i, 2 + t)
        };
        let set = TrainingSet {
            steps: (1..=4).map(f64::from).collect(),
            target_step: 30.0,
            prefixes: Matrix::from_fn(120, 4, score),
            targets: (0..120).map(|i| score(i, 29)).collect(),
            ..TrainingSet::default()
        };
        let set = TrainingSet { configurations: Matrix::zeros(120, 0), ..set };
        let model = AutoPredictor::default().fit(&set.select_runs(&(0..60).collect::<Vec<_>>())).unwrap();
        for i in 60..120 {
            let forecast = model.forecast(&set.query(i));
            let p = forecast.probability_at_most(set.targets[i]);
            for (count, level) in inside.iter_mut().zip([0.5, 0.8, 0.9]) {
                *count += usize::from((p - 0.5).abs() <= level / 2.0);
            }
            below += usize::from(p <= 0.95);
            tested += 1;
        }
    }
    let share = |count: usize| count as f64 / tested as f64;
    for (count, level) in inside.into_iter().zip([0.5, 0.8, 0.9]) {
        assert!((share(count) - level).abs() < 0.05, "the {level} interval holds {}", share(count));
    }
    // wider than 95 % on purpose: see `WithSpread`
    assert!((0.94..0.995).contains(&share(below)), "the upper 95 % bound holds {}", share(below));
}

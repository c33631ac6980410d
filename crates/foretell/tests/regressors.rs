//! Laws that the forest and the linear predictors keep, and their agreement with numpy.

use foretell::{
    FeatureGroup, Matrix, Model, OlsRegression, Predictor, PredictorOptions, RunQuery, TrainingSet,
    make_predictor,
};
use proptest::prelude::*;

const NAMES: [&str; 3] = ["random-forest", "ols", "ridge"];

fn predictor_named(name: &str) -> Box<dyn Predictor> {
    make_predictor(name, &PredictorOptions { draws: Some(3), ..PredictorOptions::default() })
        .expect("it is registered")
}

/// `n` made-up runs seen up to step `tau`, with noise drawn from `seed`.
fn runs(n: usize, tau: usize, seed: u64) -> TrainingSet {
    let mut state = seed;
    let mut noise = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
    };
    let shape: Vec<[f64; 3]> = (0..n).map(|_| [0.7 + 0.4 * noise(), 0.7 + 0.8 * noise(), noise()]).collect();
    let level = |[top, rate, tilt]: [f64; 3], t: f64| top - 0.5 * t.powf(-rate) + 0.05 * tilt;
    let mut prefixes = Matrix::zeros(n, tau);
    for (i, &shape) in shape.iter().enumerate() {
        for (t, cell) in prefixes.row_mut(i).iter_mut().enumerate() {
            *cell = level(shape, t as f64 + 1.0) + 0.01 * noise();
        }
    }
    TrainingSet {
        steps: (1..=tau).map(|t| t as f64).collect(),
        target_step: 50.0,
        prefixes,
        configurations: Matrix::from_fn(n, 2, |i, j| shape[i][j + 1]),
        groups: vec![FeatureGroup::Hyperparameter, FeatureGroup::Architecture],
        targets: shape.iter().map(|&shape| level(shape, 50.0)).collect(),
        ..TrainingSet::default()
    }
}

fn map_values(training: &TrainingSet, map: impl Fn(f64) -> f64) -> TrainingSet {
    let mut training = training.clone();
    training.prefixes.as_mut_slice().iter_mut().for_each(|value| *value = map(*value));
    training.targets.iter_mut().for_each(|value| *value = map(*value));
    training
}

fn forecasts(model: &dyn Model, training: &TrainingSet) -> Vec<f64> {
    (0..training.len()).map(|i| model.forecast(&training.query(i)).mean).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn the_order_of_training_runs_does_not_matter(seed in 0_u64..1000, turn in 1_usize..29, tau in 1_usize..9) {
        let training = runs(30, tau, seed);
        let order: Vec<usize> = (0..30).map(|i| (i * 7 + turn) % 30).collect();
        let turned = training.select_runs(&order);
        let queries = runs(10, tau, seed + 5000);
        for name in NAMES {
            let (a, b) = (predictor_named(name).fit(&training).unwrap(), predictor_named(name).fit(&turned).unwrap());
            prop_assert_eq!(forecasts(a.as_ref(), &queries), forecasts(b.as_ref(), &queries), "{}", name);
            for (place, &i) in order.iter().enumerate() {
                prop_assert_eq!(&a.held_out()[i], &b.held_out()[place], "{}", name);
            }
        }
    }

    #[test]
    fn an_affine_change_of_the_metric_changes_forecasts_accordingly(
        seed in 0_u64..1000, tau in 1_usize..9, factor in 0.01_f64..100.0, offset in -3.0_f64..3.0,
    ) {
        let (training, queries) = (runs(30, tau, seed), runs(10, tau, seed + 5000));
        let change = |value: f64| factor * value + offset;
        for name in NAMES {
            let plain = predictor_named(name).fit(&training).unwrap();
            let changed = predictor_named(name).fit(&map_values(&training, change)).unwrap();
            let pairs = forecasts(plain.as_ref(), &queries)
                .into_iter()
                .zip(forecasts(changed.as_ref(), &map_values(&queries, change)));
            for (before, after) in pairs {
                let error = (change(before) - after).abs();
                prop_assert!(error < 1e-6 * factor, "{name}: {before} became {after}");
            }
            let (before, after) = (&plain.held_out()[3], &changed.held_out()[3]);
            prop_assert!((factor * before.scale - after.scale).abs() < 1e-6 * factor, "{name}: σ {before:?} {after:?}");
        }
    }

    #[test]
    fn a_forest_never_forecasts_outside_what_it_has_seen(seed in 0_u64..1000, shift in -5.0_f64..5.0) {
        let training = runs(30, 4, seed);
        let model = predictor_named("random-forest").fit(&training).unwrap();
        let (low, high) = training.targets.iter().fold((f64::MAX, f64::MIN), |(l, h), &y| (l.min(y), h.max(y)));
        for forecast in forecasts(model.as_ref(), &map_values(&runs(10, 4, seed + 1), |y| y + shift)) {
            prop_assert!((low - 1e-12..=high + 1e-12).contains(&forecast));
        }
    }
}

#[test]
fn strange_curves_give_finite_forecasts() {
    let ordinary = runs(12, 5, 1);
    let cases = [
        ("constant", map_values(&ordinary, |_| 0.5)),
        ("zero", map_values(&ordinary, |_| 0.0)),
        ("a million", map_values(&ordinary, |y| 1e6 * y)),
        ("around a million", map_values(&ordinary, |y| 1e6 + y)),
        ("a millionth", map_values(&ordinary, |y| 1e-6 * y)),
        ("negative", map_values(&ordinary, |y| -y)),
        ("one point", runs(12, 1, 1)),
        ("two points", runs(12, 2, 1)),
        ("more features than runs", runs(7, 40, 1)),
        ("one run, again and again", ordinary.select_runs(&[3; 9])),
        ("the fewest runs", runs(6, 3, 1)),
    ];
    for (what, training) in &cases {
        for name in NAMES {
            let model = predictor_named(name).fit(training).unwrap();
            for i in 0..training.len() {
                for forecast in [model.forecast(&training.query(i)), model.held_out()[i].clone()] {
                    let numbers =
                        forecast.mean.is_finite() && forecast.scale.is_finite() && forecast.scale >= 0.0;
                    assert!(numbers, "{name} on {what}: {forecast:?}");
                }
            }
        }
    }
}

#[test]
fn too_few_runs_and_numbers_that_are_not_finite_are_refused() {
    for name in NAMES {
        assert!(predictor_named(name).fit(&runs(2, 3, 1)).is_err(), "{name}");
        let mut training = runs(12, 3, 1);
        training.targets[4] = f64::NAN;
        let error = predictor_named(name).fit(&training).err().map(|error| error.to_string());
        assert!(error.is_some_and(|text| text.contains("run 4")), "{name}");
    }
}

#[test]
fn the_same_seed_gives_the_same_forecasts_whatever_the_number_of_threads() {
    let (training, queries) = (runs(40, 6, 3), runs(10, 6, 4));
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            forecasts(predictor_named("random-forest").fit(&training).unwrap().as_ref(), &queries)
        })
    };
    assert_eq!(with(1), with(4));
}

#[test]
fn every_regressor_learns_what_the_curves_tell() {
    let (training, queries) = (runs(80, 12, 8), runs(200, 12, 9));
    // a forest averages neighbors, the others follow the trend
    for (name, least) in [("random-forest", 0.9), ("ols", 0.97), ("ridge", 0.97)] {
        let model = predictor_named(name).fit(&training).unwrap();
        let r2 = foretell::statistics::r_squared(&forecasts(model.as_ref(), &queries), &queries.targets);
        assert!(r2 > least, "{name}: R² {r2}");
    }
}

#[test]
fn least_squares_agrees_with_numpy() {
    let document: serde_json::Value =
        serde_json::from_str(include_str!("data/least_squares.json")).expect("it is JSON");
    let numbers = |value: &serde_json::Value| -> Vec<f64> {
        value.as_array().expect("a list").iter().map(|v| v.as_f64().expect("a number")).collect()
    };
    let rows = |name: &str| -> Vec<Vec<f64>> {
        document[name].as_array().expect("a list").iter().map(numbers).collect()
    };
    let (prefixes, configurations) = (rows("prefixes"), rows("configurations"));
    let targets = numbers(&document["targets"]);
    let n = targets.len();
    let training = TrainingSet {
        steps: (1..=prefixes[0].len()).map(|t| t as f64).collect(),
        target_step: 50.0,
        prefixes: Matrix::from_rows(&prefixes[..n]),
        configurations: Matrix::from_rows(&configurations[..n]),
        groups: vec![FeatureGroup::Hyperparameter; 3],
        targets,
        ..TrainingSet::default()
    };
    let model = OlsRegression::default().fit(&training).unwrap();
    let expected = numbers(&document["forecasts"]);
    for ((prefix, configuration), expected) in prefixes[n..].iter().zip(&configurations[n..]).zip(expected) {
        let forecast = model.forecast(&RunQuery { prefix, configuration }).mean;
        assert!((forecast - expected).abs() < 1e-9, "{forecast} for {expected}");
    }
    for (forecast, expected) in model.held_out().iter().zip(numbers(&document["held_out"])) {
        assert!((forecast.mean - expected).abs() < 1e-9, "{} for {expected} left out", forecast.mean);
    }
}

//! The promises of every predictor, as a check that anybody can run on their own.

use crate::curves::configuration::FeatureGroup;
use crate::curves::training::{RunQuery, TrainingSet};
use crate::linalg::matrix::Matrix;
use crate::predict::forecast::Forecast;
use crate::predict::predictor::{Model, Predictor};

/// Checks the properties of `predictor` that the stop rule and the search rely on. The error describes the violated one.
///
/// * It fits ordinary curves from ten runs on, and forecasts are finite.
/// * `held_out` has one finite forecast for each training run, in order.
/// * A held-out forecast is made without its run's result: when that changes, the forecast follows by less than half.
/// * Quantiles increase with p, and `probability_at_most` increases with the score, from 0 to 1.
/// * The same runs give the same model: forecasts are equal bit for bit.
/// * The order of runs does not matter, to 10⁻³ of the spread of final scores.
/// * Turning the metric's unit and origin (y → 3y + 2) turns forecasts alike, to 10⁻³ of the spread of final scores.
/// * Curves that are constant, of one point, scaled by 10⁶ or 10⁻⁶, negative, or repeated give finite forecasts or an
///   error, never a panic; scores that are not finite are refused; too few runs are an error, not a panic.
///
/// # Errors
/// A sentence that names the promise that was broken and the numbers that show it.
///
/// ```
/// foretell::check_predictor(&foretell::LastValue)?;
/// # Ok::<(), String>(())
/// ```
pub fn check_predictor(predictor: &dyn Predictor) -> Result<(), String> {
    for n in [10, 40] {
        check_ordinary_runs(predictor, n)?;
    }
    held_out_results_are_not_known(predictor)?;
    order_does_not_matter(predictor)?;
    units_do_not_matter(predictor)?;
    check_odd_curves(predictor)?;
    bad_runs_are_refused(predictor)
}

/// n runs of saturating curves seen for τ steps of 20: they differ in level, speed and noise, and the configuration tells a part of it.
fn sample_training_set(n: usize, tau: usize) -> TrainingSet {
    TrainingSet {
        steps: (1..=tau).map(|t| t as f64).collect(),
        target_step: 20.0,
        prefixes: Matrix::from_fn(n, tau, sample_score),
        configurations: Matrix::from_fn(n, 2, |i, j| sample_share(i, j + 1) + 0.1 * sample_share(i, j + 40)),
        groups: vec![FeatureGroup::Architecture, FeatureGroup::Hyperparameter],
        targets: (0..n).map(|i| sample_score(i, 19)).collect(),
        ..TrainingSet::default()
    }
}

/// Score of run `i` at step `t`: a saturating curve with a little noise.
fn sample_score(i: usize, t: usize) -> f64 {
    let (level, speed) = (0.4 + 0.5 * sample_share(i, 1), 0.1 + 0.4 * sample_share(i, 2));
    level * (1.0 - (-speed * (t + 1) as f64).exp()) + 0.01 * (sample_share(i, 3 + t) - 0.5)
}

/// The `k`-th number of run `i`, between 0 and 1 as if drawn.
fn sample_share(i: usize, k: usize) -> f64 {
    ((i * 7919 + k * 104_729) % 1009) as f64 / 1009.0
}

/// `training` with every score changed.
fn with_scores(training: &TrainingSet, change: impl Fn(f64) -> f64) -> TrainingSet {
    let mut changed = training.clone();
    changed.prefixes.as_mut_slice().iter_mut().chain(&mut changed.targets).for_each(|y| *y = change(*y));
    changed
}

fn fit(predictor: &dyn Predictor, training: &TrainingSet, what: &str) -> Result<Box<dyn Model>, String> {
    predictor.fit(training).map_err(|error| format!("{what}: not fitted: {error}"))
}

fn check_ordinary_runs(predictor: &dyn Predictor, n: usize) -> Result<(), String> {
    let (training, new) = (sample_training_set(n, 6), sample_training_set(n + 9, 6));
    let what = format!("{n} ordinary runs");
    let (model, again) = (fit(predictor, &training, &what)?, fit(predictor, &training, &what)?);
    if model.held_out().len() != n {
        return Err(format!("{what}: {} held-out forecasts for {n} runs", model.held_out().len()));
    }
    for forecast in model.held_out() {
        check_forecast(forecast, &what)?;
    }
    for i in n..n + 9 {
        let forecast = model.forecast(&new.query(i));
        check_forecast(&forecast, &what)?;
        if forecast != again.forecast(&new.query(i)) {
            return Err(format!("{what}: two fits on the same runs forecast differently"));
        }
    }
    Ok(())
}

/// Finite, with quantiles that increase and probabilities that rise from 0 to 1.
fn check_forecast(forecast: &Forecast, what: &str) -> Result<(), String> {
    if !forecast.mean.is_finite() || !forecast.scale.is_finite() || forecast.scale < 0.0 {
        return Err(format!("{what}: a forecast with mean {} and scale {}", forecast.mean, forecast.scale));
    }
    let levels = [0.001, 0.05, 0.25, 0.5, 0.75, 0.95, 0.999];
    let quantiles = levels.map(|p| forecast.quantile(p));
    if quantiles.iter().any(|q| q.is_nan()) || quantiles.windows(2).any(|pair| pair[0] > pair[1]) {
        return Err(format!("{what}: quantiles do not increase: {quantiles:?}"));
    }
    let probabilities = quantiles.map(|q| forecast.probability_at_most(q));
    let rising = probabilities.windows(2).all(|pair| pair[0] <= pair[1] + 1e-12);
    if !rising || probabilities.iter().any(|p| !(0.0..=1.0).contains(p)) {
        return Err(format!("{what}: probabilities do not rise from 0 to 1: {probabilities:?}"));
    }
    Ok(())
}

/// A few final scores are moved by one spread, one at a time.
fn held_out_results_are_not_known(predictor: &dyn Predictor) -> Result<(), String> {
    let training = sample_training_set(40, 6);
    let spread = crate::statistics::standard_deviation(&training.targets);
    let before = fit(predictor, &training, "40 runs")?;
    let moved = [3, 11, 19, 27, 35].map(|i| {
        let mut changed = training.clone();
        changed.targets[i] += spread;
        let after = fit(predictor, &changed, "40 runs, one of them with another end")?;
        Ok::<f64, String>((after.held_out()[i].mean - before.held_out()[i].mean) / spread)
    });
    let mut moved = moved.into_iter().collect::<Result<Vec<f64>, String>>()?;
    moved.sort_by(f64::total_cmp);
    if moved[moved.len() / 2] < 0.5 {
        return Ok(());
    }
    Err(format!(
        "held-out forecasts know the results they are to forecast: results that moved by 1 spread moved theirs by {moved:.2?}"
    ))
}

fn order_does_not_matter(predictor: &dyn Predictor) -> Result<(), String> {
    let training = sample_training_set(40, 6);
    let order: Vec<usize> = (0..40).map(|i| (i * 17 + 5) % 40).collect();
    let (one, other) =
        (fit(predictor, &training, "40 runs")?, fit(predictor, &training.select_runs(&order), "40 runs")?);
    let new = sample_training_set(49, 6);
    for i in 40..49 {
        let (a, b) = (one.forecast(&new.query(i)), other.forecast(&new.query(i)));
        check_near(a.mean, b.mean, &training, "the order of runs changes a forecast")?;
        check_near(a.quantile(0.9), b.quantile(0.9), &training, "the order of runs changes a spread")?;
    }
    for (k, &i) in order.iter().enumerate() {
        check_near(
            one.held_out()[i].mean,
            other.held_out()[k].mean,
            &training,
            "held-out forecasts are out of order",
        )?;
    }
    Ok(())
}

fn units_do_not_matter(predictor: &dyn Predictor) -> Result<(), String> {
    let (training, new) = (sample_training_set(40, 6), sample_training_set(49, 6));
    let turned = with_scores(&new, |y| 3.0 * y + 2.0);
    let one = fit(predictor, &training, "40 runs")?;
    let other = fit(predictor, &with_scores(&training, |y| 3.0 * y + 2.0), "40 runs in another unit")?;
    for i in 40..49 {
        let (a, b) = (one.forecast(&new.query(i)), other.forecast(&turned.query(i)));
        check_near(a.mean, (b.mean - 2.0) / 3.0, &training, "another unit changes a forecast")?;
        check_near(
            a.quantile(0.9),
            (b.quantile(0.9) - 2.0) / 3.0,
            &training,
            "another unit changes a spread",
        )?;
    }
    Ok(())
}

/// Equal to 10⁻³ of the spread of final scores.
fn check_near(a: f64, b: f64, training: &TrainingSet, what: &str) -> Result<(), String> {
    let unit = crate::statistics::standard_deviation(&training.targets);
    if (a - b).abs() <= 1e-3 * unit { Ok(()) } else { Err(format!("{what}: {a} became {b}")) }
}

fn check_odd_curves(predictor: &dyn Predictor) -> Result<(), String> {
    let plain = sample_training_set(12, 6);
    let mut repeated = plain.select_runs(&[0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2]);
    repeated.groups.clear();
    repeated.configurations = Matrix::zeros(12, 0);
    let sets = [
        ("constant curves", with_scores(&plain, |_| 0.5)),
        ("curves of zeros", with_scores(&plain, |_| 0.0)),
        ("curves of one point", sample_training_set(12, 1)),
        ("curves of two points", sample_training_set(12, 2)),
        ("scores times 10⁶", with_scores(&plain, |y| y * 1e6)),
        ("scores times 10⁻⁶", with_scores(&plain, |y| y * 1e-6)),
        ("negative scores", with_scores(&plain, |y| -y)),
        ("scores far from 0", with_scores(&plain, |y| y + 1e6)),
        ("one wild run", with_wild_run(&plain)),
        ("repeated runs", repeated),
    ];
    for (what, training) in &sets {
        // a predictor may refuse such curves, but must not panic
        let Ok(model) = predictor.fit(training) else { continue };
        for i in 0..training.len() {
            check_forecast(&model.forecast(&training.query(i)), what)?;
        }
        let far = vec![1e9; training.steps.len()];
        let stranger = RunQuery { prefix: &far, configuration: &vec![-1e9; training.groups.len()] };
        check_forecast(&model.forecast(&stranger), &format!("{what}, asked about a stranger"))?;
    }
    Ok(())
}

/// One run whose scores are 10⁹.
fn with_wild_run(plain: &TrainingSet) -> TrainingSet {
    let mut changed = plain.clone();
    changed.prefixes.row_mut(3).fill(-1e9);
    changed.targets[3] = 1e9;
    changed
}

fn bad_runs_are_refused(predictor: &dyn Predictor) -> Result<(), String> {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let mut training = sample_training_set(12, 6);
        training.prefixes.row_mut(5)[2] = bad;
        if predictor.fit(&training).is_ok() {
            return Err(format!("a score of {bad} was not refused"));
        }
        let mut training = sample_training_set(12, 6);
        training.targets[5] = bad;
        if predictor.fit(&training).is_ok() {
            return Err(format!("a final score of {bad} was not refused"));
        }
    }
    if predictor.fit(&TrainingSet::default()).is_ok() {
        return Err("a fit on no run was not refused".to_owned());
    }
    for n in 1..10 {
        if let Ok(model) = predictor.fit(&sample_training_set(n, 3)) {
            check_forecast(&model.forecast(&sample_training_set(11, 3).query(10)), &format!("{n} runs"))?;
        }
    }
    Ok(())
}

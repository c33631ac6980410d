//! What Foretell is timed at.

use crate::arrays::{Arrays, Outcome};
use crate::best_of::best_of;
use crate::clock::Clock;
use foretell::Model;
use foretell::forest::search_forests;
use foretell::svr::{Kernel, NuSvr, SvrModel, solve_nu_svr};
use rayon::prelude::*;
use serde_json::{Value, json};
use std::hint::black_box;

/// Search, refit and leave-one-out for one τ, by kernel.
pub fn one_tau(arrays: &Arrays) -> Outcome<Value> {
    let training = arrays.training(arrays.tau);
    let mut out = json!({});
    for (name, kernel) in [("rbf", Kernel::Rbf), ("linear", Kernel::Linear)] {
        let svr = NuSvr { kernel, ..NuSvr::default() };
        let repeats = if kernel == Kernel::Rbf { 10 } else { 3 };
        let (seconds, model) = best_of(repeats, || svr.fit_drawn(&training, &arrays.draws, &arrays.folds));
        let model = model?;
        let tests = 0..arrays.test_curves.row_count();
        let forecasts: Vec<f64> = tests.map(|i| model.forecast(&arrays.query(i, arrays.tau)).mean).collect();
        out[name] = json!({
            "seconds": seconds, "index": model.choice().index, "score": model.choice().score,
            "fits_solved": model.choice().solved, "sigma": model.sigma(), "forecasts": forecasts,
            "held_out": model.held_out().iter().map(|f| f.mean).collect::<Vec<_>>(),
            "forecast_seconds": stateless(arrays, &model),
        });
    }
    Ok(out)
}

/// Seconds of one stateless forecast.
fn stateless(arrays: &Arrays, model: &impl Model) -> f64 {
    let tests = arrays.test_curves.row_count();
    let all = || (0..tests).map(|i| model.forecast(&arrays.query(i, arrays.tau)).mean).sum::<f64>();
    best_of(20, all).0 / tests as f64
}

/// All τ, and the decisions of all test runs through every one of them.
pub fn all_taus(arrays: &Arrays) -> Outcome<Value> {
    let last = arrays.curves.column_count() - 1;
    let fit = |tau| NuSvr::default().fit_drawn(&arrays.training(tau), &arrays.draws, &arrays.folds);
    let all = || (1..=last).into_par_iter().map(fit).collect::<Result<Vec<SvrModel>, _>>();
    let (seconds, models) = best_of(2, all);
    let models = models?;
    let (decisions, _) = best_of(10, || decide(arrays, &models));
    let indices: Vec<usize> = models.iter().map(|model| model.choice().index).collect();
    let count = arrays.test_curves.row_count() * last;
    Ok(json!({
        "seconds": seconds, "indices": indices, "decisions": count, "decisions_seconds": decisions,
        "streaming_seconds": decisions / count as f64,
    }))
}

/// Every test run reports every epoch and is judged against a fixed incumbent; how many verdicts were to stop.
fn decide(arrays: &Arrays, models: &[SvrModel]) -> usize {
    let (incumbent, z) = (0.8, 1.644_853_626_951_472_2);
    let mut stops = 0;
    for i in 0..arrays.test_curves.row_count() {
        for (at, model) in models.iter().enumerate() {
            let forecast = model.forecast(&arrays.query(i, at + 1));
            stops += usize::from(forecast.mean + z * forecast.scale <= incumbent);
        }
    }
    black_box(stops)
}

/// Single fits at n = 67 on the sampled draws, and of the chosen configuration at n = 100.
pub fn one_fit(arrays: &Arrays) -> Outcome<Value> {
    let inside: Vec<usize> = (0..arrays.folds.len()).filter(|&i| arrays.folds[i] != 0).collect();
    let (x, y) = arrays.standardised(arrays.tau, &inside);
    let mut out = json!({});
    for (name, kernel) in [("rbf", Kernel::Rbf), ("linear", Kernel::Linear)] {
        let clock = Clock::start();
        for &draw in &arrays.sample {
            black_box(solve_nu_svr(&x, &y, kernel, arrays.draws[draw], 1e-3)?);
        }
        out[name] = json!({ "mean_seconds": clock.seconds() / arrays.sample.len() as f64 });
    }
    let all: Vec<usize> = (0..arrays.folds.len()).collect();
    let (x, y) = arrays.standardised(arrays.tau, &all);
    let model = NuSvr::default().fit_drawn(&arrays.training(arrays.tau), &arrays.draws, &arrays.folds)?;
    let chosen = best_of(20, || solve_nu_svr(&x, &y, Kernel::Rbf, model.parameters(), 1e-3));
    out["chosen"] = json!({ "seconds": chosen.0, "bias": chosen.1?.bias });
    Ok(out)
}

/// A random-forest search.
pub fn forest_search(arrays: &Arrays) -> Outcome<Value> {
    let (x, y) = arrays.standardised(arrays.tau, &(0..arrays.folds.len()).collect::<Vec<_>>());
    let (seconds, choice) = best_of(2, || search_forests(&x, &y, &arrays.forest_draws, &arrays.folds, 0));
    let choice = choice.ok_or("no forest draws")?;
    Ok(json!({ "seconds": seconds, "index": choice.index, "score": choice.score }))
}

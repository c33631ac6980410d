//! What the Rust peers are timed at.

use crate::arrays::{Arrays, Outcome};
use crate::best_of::best_of;
use crate::clock::Clock;
use foretell::Matrix;
use foretell::svr::{Kernel, NuSvr, SvrParameters, solve_nu_svr};
use libsvm_rs::predict::predict;
use libsvm_rs::train::svm_train;
use libsvm_rs::{KernelType, SvmNode, SvmParameter, SvmProblem, SvmType};
use serde_json::{Value, json};
use smartcore::ensemble::random_forest_regressor::{RandomForestRegressor, RandomForestRegressorParameters};
use smartcore::linalg::basic::matrix::DenseMatrix;
use std::hint::black_box;

fn nodes(row: &[f64]) -> Vec<SvmNode> {
    row.iter().enumerate().map(|(j, &value)| SvmNode { index: j as i32 + 1, value }).collect()
}

fn problem(x: &Matrix, y: &[f64]) -> SvmProblem {
    SvmProblem { labels: y.to_vec(), instances: (0..x.row_count()).map(|i| nodes(x.row(i))).collect() }
}

fn parameters(kernel: Kernel, draw: SvrParameters, eps: f64) -> SvmParameter {
    SvmParameter {
        svm_type: SvmType::NuSvr,
        kernel_type: if kernel == Kernel::Rbf { KernelType::Rbf } else { KernelType::Linear },
        gamma: draw.gamma,
        c: draw.c,
        nu: draw.nu,
        eps,
        ..SvmParameter::default()
    }
}

/// Single fits as [`crate::ours::one_fit`], and how far its predictions are from ours at tolerance 1e-8.
pub fn libsvm(arrays: &Arrays) -> Outcome<Value> {
    let inside: Vec<usize> = (0..arrays.folds.len()).filter(|&i| arrays.folds[i] != 0).collect();
    let (x, y) = arrays.standardised(arrays.tau, &inside);
    let peer = problem(&x, &y);
    let clock = Clock::start();
    for &draw in &arrays.sample {
        black_box(svm_train(&peer, &parameters(Kernel::Rbf, arrays.draws[draw], 1e-3)));
    }
    let mean_seconds = clock.seconds() / arrays.sample.len() as f64;
    let mut furthest = 0.0_f64;
    for &draw in arrays.sample.iter().take(20) {
        let model = svm_train(&peer, &parameters(Kernel::Rbf, arrays.draws[draw], 1e-8));
        let ours = solve_nu_svr(&x, &y, Kernel::Rbf, arrays.draws[draw], 1e-8)?;
        for i in 0..x.row_count() {
            furthest = furthest.max((predict(&model, &nodes(x.row(i))) - ours.value_at(x.row(i))).abs());
        }
    }
    let (x, y) = arrays.standardised(arrays.tau, &(0..arrays.folds.len()).collect::<Vec<_>>());
    let ours = NuSvr::default().fit_drawn(&arrays.training(arrays.tau), &arrays.draws, &arrays.folds)?;
    let (whole, chosen) = (problem(&x, &y), parameters(Kernel::Rbf, ours.parameters(), 1e-3));
    let (chosen_seconds, _) = best_of(5, || svm_train(&whole, &chosen));
    Ok(json!({
        "mean_seconds": mean_seconds, "chosen_seconds": chosen_seconds,
        "furthest_prediction": furthest,
    }))
}

/// The same forests as [`crate::ours::forest_search`], grown by smartcore; the first five draws, extrapolated by trees.
pub fn smartcore_forest(arrays: &Arrays) -> Outcome<Value> {
    let trees =
        |draws: &[foretell::forest::ForestParameters]| draws.iter().map(|d| d.trees).sum::<usize>() as f64;
    let part = &arrays.forest_draws[..arrays.forest_draws.len().min(5)];
    let count = arrays.folds.iter().max().map_or(0, |last| last + 1);
    let clock = Clock::start();
    for draw in part {
        for fold in 0..count {
            let inside: Vec<usize> = (0..arrays.folds.len()).filter(|&i| arrays.folds[i] != fold).collect();
            let (x, y) = arrays.standardised(arrays.tau, &inside);
            let rows: Vec<Vec<f64>> = (0..x.row_count()).map(|i| x.row(i).to_vec()).collect();
            let m = ((draw.share * x.column_count() as f64) as usize).max(1);
            let settings = RandomForestRegressorParameters::default().with_n_trees(draw.trees).with_m(m);
            black_box(RandomForestRegressor::fit(&DenseMatrix::from_2d_vec(&rows)?, &y, settings)?);
        }
    }
    let seconds = clock.seconds();
    Ok(
        json!({ "seconds": seconds * trees(&arrays.forest_draws) / trees(part), "measured_draws": part.len() }),
    )
}

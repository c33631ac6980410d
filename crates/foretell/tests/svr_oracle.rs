//! The ν-SVR solver and search against libsvm (its port `libsvm-rs`), against the optimality certificate, and at the edges.

use foretell::Matrix;
use foretell::svr::{
    Kernel, SvrError, SvrParameters, draw_folds, draw_parameters, search_parameters, solve_nu_svr,
};
use libsvm_rs::predict::predict;
use libsvm_rs::train::svm_train;
use libsvm_rs::{KernelType, SvmNode, SvmParameter, SvmProblem, SvmType};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const KERNELS: [Kernel; 2] = [Kernel::Rbf, Kernel::Linear];

fn nodes(row: &[f64]) -> Vec<SvmNode> {
    row.iter().enumerate().map(|(j, &value)| SvmNode { index: j as i32 + 1, value }).collect()
}

/// libsvm's forecasts of the rows of `others` at tolerance `eps`.
fn libsvm(x: &Matrix, y: &[f64], kernel: Kernel, p: SvrParameters, eps: f64, others: &Matrix) -> Vec<f64> {
    libsvm_rs::set_quiet(true);
    let problem =
        SvmProblem { labels: y.to_vec(), instances: (0..x.row_count()).map(|i| nodes(x.row(i))).collect() };
    let kernel_type = if kernel == Kernel::Rbf { KernelType::Rbf } else { KernelType::Linear };
    let (svm_type, base) = (SvmType::NuSvr, SvmParameter::default());
    let parameters = SvmParameter { svm_type, kernel_type, gamma: p.gamma, c: p.c, nu: p.nu, eps, ..base };
    let model = svm_train(&problem, &parameters);
    (0..others.row_count()).map(|i| predict(&model, &nodes(others.row(i)))).collect()
}

/// Rows and targets: a smooth function of the row and noise.
fn sample(n: usize, d: usize, seed: u64) -> (Matrix, Vec<f64>) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let x = Matrix::from_fn(n, d, |_, _| 2.0 * random.random::<f64>() - 1.0);
    let target = |i: usize| (2.0 * x.row(i)[0]).sin() + x.row(i)[d - 1] * x.row(i)[0];
    let y = (0..n).map(|i| target(i) + 0.2 * random.random::<f64>()).collect();
    (x, y)
}

#[test]
fn forecasts_are_libsvms_within_its_tolerance() {
    for seed in 0..12 {
        let (x, y) = sample(20 + 4 * seed as usize, 1 + seed as usize % 5, seed);
        let (others, _) = sample(15, x.column_count(), 100 + seed);
        for draw in draw_parameters(12, &mut ChaCha8Rng::seed_from_u64(seed)) {
            for kernel in KERNELS {
                let expected = libsvm(&x, &y, kernel, draw, 1e-7, &others);
                let ours = solve_nu_svr(&x, &y, kernel, draw, 1e-7).unwrap();
                for (i, expected) in expected.iter().enumerate() {
                    let value = ours.value_at(others.row(i));
                    let room = 1e-4 * (1.0 + expected.abs());
                    assert!(
                        (value - expected).abs() < room,
                        "{seed} {kernel:?} {draw:?}: {value} {expected}"
                    );
                }
            }
        }
    }
}

#[test]
fn the_search_chooses_what_libsvm_on_every_draw_and_fold_would() {
    for seed in 0..3 {
        let (x, y) = sample(36, 4, seed);
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let (draws, folds) = (draw_parameters(60, &mut random), draw_folds(36, 3, &mut random));
        let choice = search_parameters(&x, &y, Kernel::Rbf, &draws, &folds, false);
        let scores: Vec<f64> = draws.iter().map(|&draw| cross_validated(&x, &y, draw, &folds)).collect();
        let best = (0..60).max_by(|&a, &b| scores[a].total_cmp(&scores[b])).unwrap();
        assert_eq!(choice.index, best, "seed {seed}: {} {}", scores[choice.index], scores[best]);
        assert!((choice.score - scores[best]).abs() < 1e-5, "{} {}", choice.score, scores[best]);
        assert!(choice.solved < 180, "nothing was pruned");
    }
}

/// Mean R² over three folds, by libsvm.
fn cross_validated(x: &Matrix, y: &[f64], draw: SvrParameters, folds: &[usize]) -> f64 {
    let fold = |f: usize| {
        let (inside, outside): (Vec<usize>, Vec<usize>) = (0..y.len()).partition(|&i| folds[i] != f);
        let pick = |indices: &[usize]| indices.iter().map(|&i| y[i]).collect::<Vec<f64>>();
        let forecasts = libsvm(
            &x.select_rows(&inside),
            &pick(&inside),
            Kernel::Rbf,
            draw,
            1e-7,
            &x.select_rows(&outside),
        );
        foretell::statistics::r_squared(&forecasts, &pick(&outside))
    };
    (0..3).map(fold).sum::<f64>() / 3.0
}

#[test]
fn pruning_never_changes_the_winner() {
    for seed in 0..40 {
        let mut random = ChaCha8Rng::seed_from_u64(1000 + seed);
        let n = random.random_range(9..50);
        let (x, y) = sample(n, random.random_range(1..7), seed);
        let (draws, folds) = (draw_parameters(30, &mut random), draw_folds(n, 3, &mut random));
        for kernel in KERNELS {
            let together = search_parameters(&x, &y, kernel, &draws, &folds, true);
            // a search over one draw has nothing to prune against
            let alone = |draw: &SvrParameters| search_parameters(&x, &y, kernel, &[*draw], &folds, true);
            let scores: Vec<f64> = draws.iter().map(|draw| alone(draw).score).collect();
            let best = scores.iter().fold(f64::NEG_INFINITY, |m, &s| m.max(s));
            let first = scores.iter().position(|&s| s >= best).unwrap();
            assert_eq!(together.index, first, "seed {seed} {kernel:?} n = {n}");
            assert!(together.score.total_cmp(&best).is_eq(), "seed {seed} {kernel:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_solution_is_feasible_and_closes_the_duality_gap(
        seed in 0u64..1_000_000, n in 2usize..70, d in 1usize..9, c in -5.0..1.0f64, nu in 0.001..1.0f64, gamma in -5.0..1.0f64,
    ) {
        let (x, y) = sample(n, d, seed);
        let parameters = SvrParameters { c: 10f64.powf(c), nu, gamma: 10f64.powf(gamma) };
        for kernel in KERNELS {
            let found = solve_nu_svr(&x, &y, kernel, parameters, 1e-7).unwrap();
            let SvrParameters { c, .. } = parameters;
            let total: f64 = found.coefficients.iter().map(|b| b.abs()).sum();
            prop_assert!(found.coefficients.iter().all(|b| b.abs() <= c * (1.0 + 1e-9)));
            prop_assert!(found.coefficients.iter().sum::<f64>().abs() <= 1e-7 * c * n as f64);
            prop_assert!(total <= c * nu * n as f64 * (1.0 + 1e-6));
            prop_assert!(found.violation <= 1e-7, "{kernel:?} violation {}", found.violation);
            // an ε and b within the tolerance leave the primal this much above the dual
            prop_assert!(found.duality_gap.abs() <= 4e-7 * c * n as f64 + 1e-9, "{kernel:?} gap {}", found.duality_gap);
        }
    }
}

#[test]
fn odd_problems_are_solved_without_panic_or_endless_loop() {
    let corner = |c, nu, gamma| SvrParameters { c, nu, gamma };
    let settings = [
        corner(1e-300, 0.5, 1.0),
        corner(1e-5, 1e-6, 1e-5),
        corner(10.0, 1.0, 1e-5),
        corner(10.0, 1.0, 10.0),
        corner(10.0, 0.999_999, 0.1),
        corner(1e6, 0.5, 1e-5),
        corner(1.0, 0.5, 1e3),
    ];
    for n in [1, 2, 3, 4, 5, 9, 16] {
        let (x, y) = sample(n, 3, n as u64);
        let constant = vec![0.7; n];
        let twins = Matrix::from_fn(n, 3, |i, j| x.row(i / 2)[j]);
        let huge = Matrix::from_fn(n, 3, |i, j| 1e6 * x.row(i)[j]);
        let flat = Matrix::zeros(n, 3);
        let far: Vec<f64> = y.iter().map(|y| 1e6 * y - 3e6).collect();
        for parameters in settings {
            for kernel in KERNELS {
                for (x, y) in [(&x, &y), (&x, &constant), (&twins, &y), (&huge, &y), (&flat, &y), (&x, &far)]
                {
                    let found = solve_nu_svr(x, y, kernel, parameters, 1e-6).unwrap();
                    let value = found.value_at(x.row(0));
                    assert!(value.is_finite(), "n = {n}, {kernel:?}, {parameters:?}: {value}");
                }
            }
        }
    }
}

#[test]
fn constant_targets_are_forecast_as_they_are() {
    let (x, _) = sample(12, 3, 5);
    for kernel in KERNELS {
        let parameters = SvrParameters { c: 1.0, nu: 0.5, gamma: 0.5 };
        let found = solve_nu_svr(&x, &[0.7; 12], kernel, parameters, 1e-9).unwrap();
        assert!((found.value_at(&[0.1, 0.2, 0.3]) - 0.7).abs() < 1e-7, "{kernel:?}");
    }
}

#[test]
fn problems_that_make_no_sense_are_refused_with_a_reason() {
    let x = Matrix::from_rows(&[[0.0], [1.0]]);
    let good = SvrParameters { c: 1.0, nu: 0.5, gamma: 1.0 };
    let refused = |x: &Matrix, y: &[f64], p| solve_nu_svr(x, y, Kernel::Rbf, p, 1e-6).unwrap_err();
    assert_eq!(refused(&x, &[1.0], good), SvrError::Shape { rows: 2, targets: 1 });
    assert_eq!(refused(&x, &[1.0, f64::NAN], good), SvrError::NotFinite("targets"));
    for (parameters, name) in [
        (SvrParameters { c: 0.0, ..good }, "C"),
        (SvrParameters { nu: 1.5, ..good }, "ν"),
        (SvrParameters { gamma: f64::NAN, ..good }, "γ"),
    ] {
        assert!(refused(&x, &[1.0, 2.0], parameters).to_string().starts_with(name));
    }
}

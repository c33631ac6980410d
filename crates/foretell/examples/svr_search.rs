//! One ν-SVR fit at n = 100, τ = 20: search, refit and leave-one-out. What the instruction count guards.
//!
//! `svr_search [rbf|linear] [draws]` prints the choice; `benches/instructions/guard.py` runs it under callgrind.

use foretell::svr::{Kernel, NuSvr, draw_folds, draw_parameters};
use foretell::{FeatureGroup, Matrix, TrainingSet};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// A smooth sequence that looks random: the fractional part of a multiple of the golden ratio, in [−1, 1).
fn wobble(i: usize, j: usize) -> f64 {
    let x = (i as f64 + 1.0) * 0.618_033_988_749_895 + (j as f64 + 1.0) * 0.754_877_666_246_693;
    2.0 * (x * (1.0 + (i * 7 + j * 3) as f64 / 11.0)).fract() - 1.0
}

/// Power laws whose end, gap and rate depend on the configuration.
fn curve(run: usize, epoch: usize) -> f64 {
    let z = |j| wobble(run, j);
    let end = 0.75 + 0.06 * z(0) + 0.05 * (1.5 * z(1)).sin() + 0.03 * z(2) * z(3) + 0.02 * z(8);
    let rate = 0.5 * (0.3 * z(4)).exp();
    end - (0.45 + 0.1 * z(5)) * (epoch as f64 + 1.0).powf(-rate) + 0.008 * wobble(run * 64 + epoch, 17)
}

fn training(runs: usize, tau: usize) -> TrainingSet {
    TrainingSet {
        steps: (1..=tau).map(|t| t as f64).collect(),
        target_step: 60.0,
        prefixes: Matrix::from_fn(runs, tau, curve),
        configurations: Matrix::from_fn(runs, 8, wobble),
        groups: vec![FeatureGroup::Hyperparameter; 8],
        targets: (0..runs).map(|i| curve(i, 59)).collect(),
        ..TrainingSet::default()
    }
}

#[allow(clippy::print_stdout, reason = "an example prints")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let linear = std::env::args().nth(1).is_some_and(|name| name == "linear");
    let kernel = if linear { Kernel::Linear } else { Kernel::Rbf };
    let count = std::env::args().nth(2).map_or(Ok(1000), |text| text.parse())?;
    let mut random = ChaCha8Rng::seed_from_u64(0);
    let (draws, folds) = (draw_parameters(count, &mut random), draw_folds(100, 3, &mut random));
    let model = NuSvr { kernel, ..NuSvr::default() }.fit_drawn(&training(100, 20), &draws, &folds)?;
    println!("{:?} sigma {:.6}", model.choice(), model.sigma());
    Ok(())
}

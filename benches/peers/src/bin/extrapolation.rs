//! Times Foretell's learning-curve extrapolation and Bayesian network on the arrays that `extrapolation.py` wrote, and prints JSON.

#[path = "../clock.rs"]
mod clock;

use clock::Clock;
use foretell_paper::lce::{LceOptions, PartialCurve, extrapolate};
use foretell::{FeatureGroup, Matrix, Predictor, RunQuery, TrainingSet};
use foretell_paper::Bnn;
use serde_json::json;
use std::path::Path;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// Runs to learn from; the rest are extrapolated.
const RUNS: usize = 100;
/// Points observed.
const SEEN: usize = 15;

fn read(directory: &Path, name: &str) -> Outcome<Vec<Vec<f64>>> {
    let text = std::fs::read_to_string(directory.join(name))?;
    let row = |line: &str| line.split(',').map(|cell| cell.trim().parse()).collect::<Result<Vec<f64>, _>>();
    Ok(text.lines().map(row).collect::<Result<_, _>>()?)
}

fn main() -> Outcome<()> {
    let directory = std::env::args().nth(1).ok_or("usage: extrapolation DIR")?;
    rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global()?;
    let curves = read(directory.as_ref(), "curves.csv")?;
    let configurations = read(directory.as_ref(), "configurations.csv")?;
    let tested = &curves[RUNS..];
    let (default_seconds, default_means) = lce(&LceOptions::default(), tested)?;
    let (literal_seconds, literal_means) = lce(&LceOptions::domhan2015(), tested)?;
    let epochs = curves[0].len();
    let training = TrainingSet {
        steps: (1..=SEEN).map(|t| t as f64).collect(),
        target_step: epochs as f64,
        prefixes: Matrix::from_fn(RUNS, SEEN, |i, t| curves[i][t]),
        configurations: Matrix::from_rows(&configurations[..RUNS]),
        groups: vec![FeatureGroup::Hyperparameter; configurations[0].len()],
        targets: curves[..RUNS].iter().map(|curve| curve[epochs - 1]).collect(),
        later_steps: (SEEN + 1..epochs).map(|t| t as f64).collect(),
        later_scores: Matrix::from_fn(RUNS, epochs - 1 - SEEN, |i, t| curves[i][SEEN + t]),
        ceiling: Some(1.0),
        ..TrainingSet::default()
    };
    let clock = Clock::start();
    let model = Bnn::default().fit(&training)?;
    let fit_seconds = clock.seconds();
    let forecast = |seen: usize| {
        let clock = Clock::start();
        for _ in 0..1000 {
            let query = RunQuery { prefix: &curves[RUNS][..seen], configuration: &configurations[RUNS] };
            std::hint::black_box(model.forecast(std::hint::black_box(&query)));
        }
        clock.seconds() / 1000.0
    };
    let document = json!({
        "lce_seconds": default_seconds,
        "lce_means": default_means,
        "lce_domhan2015_seconds": literal_seconds,
        "lce_domhan2015_means": literal_means,
        "bnn_fit_seconds": fit_seconds,
        "bnn_forecast_seconds": forecast(0),
        "bnn_conditioned_seconds": forecast(SEEN),
    });
    println!("{document}");
    Ok(())
}

/// CPU seconds a curve, the median over `tested`, and the means forecast.
fn lce(options: &LceOptions, tested: &[Vec<f64>]) -> Outcome<(f64, Vec<f64>)> {
    let steps: Vec<f64> = (1..=SEEN).map(|t| t as f64).collect();
    let (mut seconds, mut means) = (Vec::new(), Vec::new());
    for curve in tested {
        let partial = PartialCurve {
            steps: &steps,
            scores: &curve[..SEEN],
            target: curve.len() as f64,
            range: (0.0, 1.0),
        };
        let clock = Clock::start();
        means.push(extrapolate(&partial, options, 0)?.mean);
        seconds.push(clock.seconds());
    }
    seconds.sort_by(f64::total_cmp);
    Ok((seconds[seconds.len() / 2], means))
}

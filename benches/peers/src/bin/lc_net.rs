//! LC-Net on recorded curves, for `benches/peers/lc_net.py`.
//!
//! Usage: `lc_net FOLDER FINISHED SEEN SEED share|any`. The folder has `configurations.csv` and `curves.csv`, a line a run. The first FINISHED runs
//! have finished; of the others the first SEEN points are known. Prints their forecasts and the samples of the
//! noise as JSON.

use foretell::{FeatureGroup, Matrix, Predictor, RunQuery, TrainingSet};
use foretell_paper::Bnn;
use std::path::Path;
use std::time::Instant;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn read(folder: &Path, name: &str) -> Outcome<Vec<Vec<f64>>> {
    let text = std::fs::read_to_string(folder.join(name))?;
    let row = |line: &str| line.split(',').map(|cell| cell.trim().parse()).collect::<Result<Vec<f64>, _>>();
    Ok(text.lines().map(row).collect::<Result<_, _>>()?)
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, finished, seen, seed, unit] = &arguments[..] else {
        return Err("usage: lc_net FOLDER FINISHED SEEN SEED share|any".into());
    };
    let configurations = read(folder.as_ref(), "configurations.csv")?;
    let curves = read(folder.as_ref(), "curves.csv")?;
    let (finished, seen): (usize, usize) = (finished.parse()?, seen.parse()?);
    let (running, last) = (curves.len() - finished, curves[0].len() - 1);
    let training = TrainingSet {
        steps: (1..=seen).map(|t| t as f64).collect(),
        target_step: (last + 1) as f64,
        prefixes: Matrix::from_fn(finished, seen, |i, t| curves[i][t]),
        configurations: Matrix::from_rows(&configurations[..finished]),
        groups: vec![FeatureGroup::Hyperparameter; configurations[0].len()],
        targets: curves[..finished].iter().map(|curve| curve[last]).collect(),
        later_steps: (seen + 1..=last).map(|t| t as f64).collect(),
        later_scores: Matrix::from_fn(finished, last - seen, |i, t| curves[i][seen + t]),
        ceiling: (unit == "share").then_some(1.0),
        unfinished_prefixes: Matrix::from_fn(running, seen, |i, t| curves[finished + i][t]),
        unfinished_configurations: Matrix::from_rows(&configurations[finished..]),
        ..TrainingSet::default()
    };
    let bnn = Bnn { seed: seed.parse()?, ..Bnn::default() };
    let begun = Instant::now();
    let model = bnn.fit(&training)?;
    let fit_seconds = begun.elapsed().as_secs_f64();
    let forecast =
        |i: usize| model.forecast(&RunQuery { prefix: &curves[i][..seen], configuration: &configurations[i] });
    let forecasts: Vec<_> = (finished..curves.len()).map(forecast).collect();
    let means: Vec<f64> = forecasts.iter().map(|forecast| forecast.mean).collect();
    let deviations: Vec<f64> = forecasts.iter().map(|forecast| forecast.standard_deviation()).collect();
    let noise = bnn.sample_noise(&training)?;
    println!(
        "{{\"means\": {means:?}, \"deviations\": {deviations:?}, \"noise\": {noise:?}, \"fit_seconds\": {fit_seconds}}}"
    );
    Ok(())
}

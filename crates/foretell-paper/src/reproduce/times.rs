//! Seconds of a fit and of a forecast: of the processor, in one thread.

use super::evidence::MeasuredFigure;
use super::failed::ReproductionError;
use super::measure::MeasurementBench;
use super::released::PreparedFile;
use crate::catalogue::full_catalogue;
use foretell::evaluate::{CutPoint, draw_splits};
use foretell::statistics::{mean, standard_error};
use foretell::{Forecaster, History, Predictor, PredictorOptions, PredictorPurpose, Run};
use rustix::time::{ClockId, clock_gettime};
use std::sync::Arc;

/// The file on which times are measured, and the part of its curves that is seen.
const TIMED_CURVES: (&str, f64) = ("metaqnn_cifar10", 0.25);
/// The methods whose times the paper prints, and ours of the same kinds.
const TIMED_METHODS: [&str; 4] = ["svr-rbf", "bnn", "lce-domhan2015", "lce"];
/// Fits, each on the runs of another split, and forecasts after each.
const FITS_PER_METHOD: usize = 5;
const FORECASTS_PER_FIT: usize = 10;

/// The times of all methods on the file of `sets` that they are measured on, each noted when it is ready.
pub(super) fn measure_times(
    sets: &[PreparedFile],
    bench: &mut MeasurementBench,
) -> Result<Vec<MeasuredFigure>, ReproductionError> {
    let Some(prepared) = sets.iter().find(|prepared| prepared.stem == TIMED_CURVES.0 && prepared.is_first())
    else {
        return Ok(Vec::new());
    };
    let mut all = Vec::new();
    for method in TIMED_METHODS {
        let key = format!("times {method} {:08x} seed {}", prepared.fingerprint, bench.options.seed);
        let measured = match bench.kept.find_numbers::<Vec<MeasuredFigure>>(&key) {
            Some(known) => known,
            None => {
                let measured = in_one_thread(prepared, method, bench)?;
                bench.kept.keep_numbers(&key, &measured)?;
                measured
            }
        };
        all.extend(measured);
    }
    Ok(all)
}

/// In a pool of one thread, the clock of this thread counts all of the work.
fn in_one_thread(
    prepared: &PreparedFile,
    method: &str,
    bench: &MeasurementBench,
) -> Result<Vec<MeasuredFigure>, ReproductionError> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().map_err(ReproductionError::midway)?;
    let (fits, forecasts) = pool.install(|| time_fits(prepared, method, bench))?;
    let figures = [("fit", fits), ("forecast", forecasts)].map(|(timed, seconds)| MeasuredFigure {
        figure: format!("seconds of a {timed}, {method}"),
        mean: mean(&seconds),
        stderr: Some(standard_error(&seconds)),
        runs: bench.options.train,
        repeats: seconds.len(),
        seeds: 1,
    });
    Ok(figures.into())
}

/// Seconds of each fit, and of a forecast after it. Each split has a predictor of its own, because some remember what they have computed.
fn time_fits(
    prepared: &PreparedFile,
    method: &str,
    bench: &MeasurementBench,
) -> Result<(Vec<f64>, Vec<f64>), ReproductionError> {
    let options = PredictorOptions {
        seed: bench.options.seed,
        draws: bench.draws,
        purpose: PredictorPurpose::Recorded,
        ..PredictorOptions::default()
    };
    let alone: Vec<usize> = (0..prepared.history.len()).collect();
    let splits = draw_splits(&prepared.history, &alone, &bench.options).map_err(ReproductionError::input)?;
    let CutPoint { tau, step } = CutPoint::after_fraction(TIMED_CURVES.1, prepared.history.grid())
        .map_err(ReproductionError::input)?;
    let (mut fits, mut forecasts) = (Vec::new(), Vec::new());
    for split in splits.iter().take(FITS_PER_METHOD) {
        let predictor: Arc<dyn Predictor> = Arc::from(
            full_catalogue()
                .predictors()
                .make_predictor(method, &options)
                .map_err(ReproductionError::input)?,
        );
        let learned: Vec<Run> = split.train.iter().map(|&run| prepared.runs[run].clone()).collect();
        let history = History::new(&learned, &prepared.options).map_err(ReproductionError::input)?;
        let asked: Vec<(&Run, foretell::Curve)> = split
            .test
            .iter()
            .take(FORECASTS_PER_FIT)
            .map(|&run| (&prepared.runs[run], prepared.runs[run].curve.prefix_until(step)))
            .collect();
        let forecaster = Forecaster::with_history(history, predictor)
            .with_running(asked.iter().map(|(run, seen)| (&run.configuration, seen)));
        let started = thread_seconds();
        forecaster.fit_model(tau).map_err(ReproductionError::midway)?;
        fits.push(thread_seconds() - started);
        let started = thread_seconds();
        for (run, seen) in &asked {
            forecaster.forecast(&run.configuration, seen).map_err(ReproductionError::midway)?;
        }
        forecasts.push((thread_seconds() - started) / asked.len().max(1) as f64);
    }
    Ok((fits, forecasts))
}

/// Seconds that the processor has spent on this thread.
fn thread_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + 1e-9 * time.tv_nsec as f64
}

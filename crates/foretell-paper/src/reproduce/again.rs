//! The cheapest of the recorded cells, computed again and compared.

use super::evidence::Evidence;
use super::failed::ReproductionError;
use super::kept::KeptRows;
use super::measure::{MeasurementBench, PaperPart, ResultRow, TableCell};
use super::released::PreparedFile;
use super::replayed::{ReplayNumbers, ReplayRow, format_speedup};
use super::show::DisplayOptions;
use super::stopping::{self, SimulationOptions};
use foretell::FeatureSet;
use foretell::evaluate::EvaluationOptions;

/// Seconds of fits and forecasts that are spent on each part.
const SECONDS_PER_PART: f64 = 5.0;
/// R² of the same code on the same data; another processor may round otherwise, in the last printed digit.
const R2_TOLERANCE: f64 = 1e-4;

/// The recorded measurements, after the cheapest cells on `sets` were computed again.
///
/// # Errors
/// [`Failed`] where a cell differs.
pub(super) fn check_recorded(
    sets: &[PreparedFile],
    show: DisplayOptions,
) -> Result<Evidence, ReproductionError> {
    let evidence = Evidence::read_recorded()?;
    let (mut count, mut differing) = find_differing_cells(&evidence, sets, SECONDS_PER_PART)?;
    for part in [PaperPart::Stopping, PaperPart::Hyperband] {
        let (replays, different) = find_differing_replays(&evidence, part, sets, show)?;
        count += replays;
        differing.extend(different);
    }
    (show.note)(&format!("{count} recorded cells computed again"));
    match differing.as_slice() {
        [] => Ok(evidence),
        cells => Err(ReproductionError::midway(format!(
            "recorded cells differ from those of this program, or of these files: {}",
            cells.join("; ")
        ))),
    }
}

/// The number of cells that were computed again, and those that differ.
pub(super) fn find_differing_cells(
    evidence: &Evidence,
    sets: &[PreparedFile],
    seconds: f64,
) -> Result<(usize, Vec<String>), ReproductionError> {
    let (mut count, mut differing) = (0, Vec::new());
    for part in [PaperPart::Table1, PaperPart::Table2, PaperPart::Depth, PaperPart::Observed] {
        for (prepared, row) in cheapest_rows(&evidence.rows, part, sets, seconds) {
            let options = EvaluationOptions {
                train: row.train,
                repeats: row.repeats / row.by_seed.len().max(1),
                seed: row.by_seed.first().map_or(0, |first| first.seed),
            };
            let mut bench =
                MeasurementBench::new(options, row.by_seed.len() as u64, None, KeptRows::default());
            let Ok(features) = row.features.parse::<FeatureSet>() else { continue };
            let cell = TableCell {
                part,
                predictor: &row.predictor,
                features,
                observed: row.observed,
                depth: row.depth,
                published: None,
                remark: None,
            };
            let ours = bench.measure_row(prepared, &cell)?;
            count += 1;
            let difference = ours.r2_mean.zip(row.r2_mean).map_or(f64::INFINITY, |(a, b)| (a - b).abs());
            if difference > R2_TOLERANCE * row.r2_mean.unwrap_or(1.0).abs().max(1.0) {
                let [recorded, now] = [row.r2_mean, ours.r2_mean]
                    .map(|r2| r2.map_or("–".to_owned(), |r2| format!("{:.2}", 100.0 * r2)));
                differing.push(format!(
                    "{}, {} of {} at {:.0} %: {recorded} recorded, {now} now",
                    prepared.display_name(),
                    row.predictor,
                    row.features,
                    100.0 * row.observed
                ));
            }
        }
    }
    Ok((count, differing))
}

/// The number of searches that were replayed again, and those that differ.
pub(super) fn find_differing_replays(
    evidence: &Evidence,
    part: PaperPart,
    sets: &[PreparedFile],
    show: DisplayOptions,
) -> Result<(usize, Vec<String>), ReproductionError> {
    let of_part = evidence.select_replays(|row| row.part == part);
    let Some(orderings) = of_part.iter().map(|row| row.numbers.orderings).max() else {
        return Ok((0, Vec::new()));
    };
    let how = SimulationOptions { orderings, draws: None, seed: 0, show };
    let (mut count, mut differing) = (0, Vec::new());
    for row in stopping::replay_cheapest_rows(part, sets, how)? {
        let wanted = serialize_setting(&row)?;
        for known in &of_part {
            if serialize_setting(known)? != wanted {
                continue;
            }
            count += 1;
            let numbers = [&known.numbers, &row.numbers];
            let [recorded, now] = numbers
                .map(|n| [n.speedup_mean, n.best_kept.unwrap_or(0.0), n.best_of_run_mean.unwrap_or(0.0)]);
            let mut pairs = recorded.iter().zip(now);
            if !pairs.all(|(known, now)| (known - now).abs() <= R2_TOLERANCE * known.abs().max(1.0)) {
                let [recorded, now] = numbers.map(|n| format_speedup(n.speedup_mean, n.speedup_stderr));
                differing.push(format!("{wanted}: {recorded} recorded, {now} now"));
            }
        }
    }
    Ok((count, differing))
}

fn serialize_setting(row: &ReplayRow) -> Result<String, ReproductionError> {
    // without the numbers, because rows are found by their settings, and the numbers are what may differ
    let numbers = ReplayNumbers::default();
    serde_json::to_string(&ReplayRow { numbers, ..row.clone() }).map_err(ReproductionError::midway)
}

/// The rows of `part` on `sets` that cost least, as many as take `seconds` together.
fn cheapest_rows<'a>(
    rows: &'a [ResultRow],
    part: PaperPart,
    sets: &'a [PreparedFile],
    seconds: f64,
) -> Vec<(&'a PreparedFile, &'a ResultRow)> {
    let measured = rows.iter().filter(|row| row.part == part && row.fit_seconds.is_some());
    let of_part = measured.filter_map(|row| {
        let prepared = sets.iter().find(|prepared| {
            prepared.stem == row.curves
                && prepared.preparation == row.preparation
                && prepared.compressed == row.compressed
        });
        Some((prepared?, row))
    });
    let mut of_part: Vec<_> = of_part.collect();
    of_part.sort_by(|(_, a), (_, b)| cost_in_seconds(a).total_cmp(&cost_in_seconds(b)));
    let mut spent = 0.0;
    of_part
        .into_iter()
        .take_while(|(_, row)| {
            spent += cost_in_seconds(row);
            spent < seconds
        })
        .collect()
}

fn cost_in_seconds(row: &ResultRow) -> f64 {
    let tested = row.tested_mean.unwrap_or(0.0);
    row.repeats as f64 * (row.fit_seconds.unwrap_or(0.0) + tested * row.predict_seconds.unwrap_or(0.0))
}

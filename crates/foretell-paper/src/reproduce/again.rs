//! The cheapest of the recorded cells, computed again and compared.

use super::evidence::Evidence;
use super::failed::Failed;
use super::kept::Kept;
use super::measure::{Bench, Cell, Part, Row};
use super::released::Prepared;
use super::replayed::{Numbers, Replayed, times};
use super::show::Show;
use super::stopping::{self, Simulated};
use foretell::FeatureSet;
use foretell::evaluate::EvaluationOptions;

/// Seconds of fits and forecasts that are spent on each part.
const SECONDS: f64 = 5.0;
/// R² of the same code on the same data; another processor may round otherwise, in the last printed digit.
const SAME: f64 = 1e-4;

/// The recorded measurements, after the cheapest cells on `sets` were computed again.
///
/// # Errors
/// [`Failed`] where a cell differs.
pub(super) fn checked(sets: &[Prepared], show: Show) -> Result<Evidence, Failed> {
    let evidence = Evidence::recorded()?;
    let (mut count, mut differing) = differing(&evidence, sets, SECONDS)?;
    for part in [Part::Stopping, Part::Hyperband] {
        let (replays, different) = differing_replays(&evidence, part, sets, show)?;
        count += replays;
        differing.extend(different);
    }
    (show.note)(&format!("{count} recorded cells computed again"));
    match differing.as_slice() {
        [] => Ok(evidence),
        cells => Err(Failed::midway(format!(
            "recorded cells differ from those of this program, or of these files: {}",
            cells.join("; ")
        ))),
    }
}

/// The number of cells that were computed again, and those that differ.
pub(super) fn differing(
    evidence: &Evidence,
    sets: &[Prepared],
    seconds: f64,
) -> Result<(usize, Vec<String>), Failed> {
    let (mut count, mut differing) = (0, Vec::new());
    for part in [Part::Table1, Part::Table2, Part::Depth, Part::Observed] {
        for (prepared, row) in cheapest(&evidence.rows, part, sets, seconds) {
            let options = EvaluationOptions {
                train: row.train,
                repeats: row.repeats / row.by_seed.len().max(1),
                seed: row.by_seed.first().map_or(0, |first| first.seed),
            };
            let mut bench = Bench::new(options, row.by_seed.len() as u64, None, Kept::default());
            let Ok(features) = row.features.parse::<FeatureSet>() else { continue };
            let cell = Cell {
                part,
                predictor: &row.predictor,
                features,
                observed: row.observed,
                depth: row.depth,
                published: None,
                remark: None,
            };
            let ours = bench.row(prepared, &cell)?;
            count += 1;
            let difference = ours.r2_mean.zip(row.r2_mean).map_or(f64::INFINITY, |(a, b)| (a - b).abs());
            if difference > SAME * row.r2_mean.unwrap_or(1.0).abs().max(1.0) {
                let value =
                    |row: &Row| row.r2_mean.map_or("–".to_owned(), |r2| format!("{:.2}", 100.0 * r2));
                differing.push(format!(
                    "{}, {} of {} at {:.0} %: {} recorded, {} now",
                    prepared.name(),
                    row.predictor,
                    row.features,
                    100.0 * row.observed,
                    value(row),
                    value(&ours)
                ));
            }
        }
    }
    Ok((count, differing))
}

/// The number of searches that were replayed again, and those that differ.
pub(super) fn differing_replays(
    evidence: &Evidence,
    part: Part,
    sets: &[Prepared],
    show: Show,
) -> Result<(usize, Vec<String>), Failed> {
    let of_part = evidence.replays(|row| row.part == part);
    let Some(orderings) = of_part.iter().map(|row| row.numbers.orderings).max() else {
        return Ok((0, Vec::new()));
    };
    let how = Simulated { orderings, draws: None, seed: 0, show };
    let setting = |row: &Replayed| {
        let numbers = Numbers::default();
        serde_json::to_string(&Replayed { numbers, ..row.clone() }).map_err(Failed::midway)
    };
    let (mut count, mut differing) = (0, Vec::new());
    for row in stopping::cheapest(part, sets, how)? {
        let wanted = setting(&row)?;
        for known in &of_part {
            if setting(known)? != wanted {
                continue;
            }
            count += 1;
            let same = |number: fn(&Numbers) -> f64| {
                (number(&known.numbers) - number(&row.numbers)).abs()
                    <= SAME * number(&known.numbers).abs().max(1.0)
            };
            let kept = |numbers: &Numbers| numbers.best_kept.unwrap_or(0.0);
            let best = |numbers: &Numbers| numbers.best_of_run_mean.unwrap_or(0.0);
            if !(same(|numbers| numbers.speedup_mean) && same(kept) && same(best)) {
                let numbers = [&known.numbers, &row.numbers].map(|n| times(n.speedup_mean, n.speedup_stderr));
                let [recorded, now] = numbers;
                differing.push(format!("{wanted}: {recorded} recorded, {now} now"));
            }
        }
    }
    Ok((count, differing))
}

/// The rows of `part` on `sets` that cost least, as many as take `seconds` together.
fn cheapest<'a>(
    rows: &'a [Row],
    part: Part,
    sets: &'a [Prepared],
    seconds: f64,
) -> Vec<(&'a Prepared, &'a Row)> {
    let of_row = |row: &'a Row| {
        let is_of_row = |prepared: &&Prepared| {
            prepared.stem == row.curves
                && prepared.preparation == row.preparation
                && prepared.compressed == row.compressed
        };
        sets.iter().find(is_of_row).map(|prepared| (prepared, row))
    };
    let cost = |row: &Row| {
        let tested = row.tested_mean.unwrap_or(0.0);
        row.repeats as f64 * (row.fit_seconds.unwrap_or(0.0) + tested * row.predict_seconds.unwrap_or(0.0))
    };
    let mut of_part: Vec<_> =
        rows.iter().filter(|row| row.part == part && row.fit_seconds.is_some()).filter_map(of_row).collect();
    of_part.sort_by(|(_, a), (_, b)| cost(a).total_cmp(&cost(b)));
    let mut spent = 0.0;
    of_part
        .into_iter()
        .take_while(|(_, row)| {
            spent += cost(row);
            spent < seconds
        })
        .collect()
}

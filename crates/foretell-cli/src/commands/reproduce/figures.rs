//! Figures of the simulated speed-ups.

use crate::commands::figures::{accuracy, distinct};
use crate::plot;
use foretell_paper::reproduce::{
    EXTRAPOLATION_PREDICTORS, PaperPart, PredictorAccuracy, ReplayRow, describe_stop_rule,
};
use foretell_search::Reference;

/// Speed-up against Δ over whole files, a figure for each.
fn speedup_figures(rows: &[ReplayRow]) -> Vec<(String, plot::Figure)> {
    let whole: Vec<&ReplayRow> = rows
        .iter()
        .filter(|row| row.part == PaperPart::Stopping && row.study_size.is_none() && !row.compressed)
        .collect();
    let files = distinct(whole.iter().map(|row| row.curves));
    files.into_iter().map(|curves| (format!("speedup-{curves}"), speedup_figure(&whole, curves))).collect()
}

fn speedup_figure(rows: &[&ReplayRow], curves: &str) -> plot::Figure {
    let mine = rows.iter().filter(|row| row.curves == curves);
    let mut series: Vec<plot::SpeedupSeries> = Vec::new();
    for row in mine.clone() {
        let name = series_name(row);
        let point = plot::SpeedupPoint {
            stop_probability: row.stop_probability.unwrap_or(f64::NAN),
            speedup: row.numbers.speedup_mean,
            stderr: row.numbers.speedup_stderr,
            best_kept: row.numbers.best_kept.unwrap_or(f64::NAN),
        };
        match series.iter_mut().find(|known| known.name == name) {
            Some(known) => known.points.push(point),
            None => series.push(plot::SpeedupSeries { name, points: vec![point] }),
        }
    }
    let (orderings, runs) =
        mine.clone().next().map_or((0, 0), |row| (row.numbers.orderings, row.numbers.runs));
    plot::SpeedupFigure {
        title: format!("simulated early stopping: {curves}"),
        subtitle: format!("mean ± standard error over {orderings} random orders of {runs} runs"),
        series,
    }
    .draw()
}

/// R² against the fraction observed, a panel for each file; none without cells.
pub(super) fn accuracy_figure(cells: &[PredictorAccuracy<'_>]) -> Option<plot::Figure> {
    let splits = cells.iter().map(|cell| cell.splits);
    let splits = match (splits.clone().min()?, splits.max()?) {
        (least, most) if least < most => format!("{least} to {most}"),
        (_, most) => most.to_string(),
    };
    let points = cells.iter().map(|cell| {
        let &PredictorAccuracy { observed, r2_mean, .. } = cell;
        let r2_stderr = if cell.splits > 1 { cell.r2_stderr } else { f64::NAN };
        (cell.curves, cell.predictor, plot::AccuracyPoint { observed, r2_mean, r2_stderr })
    });
    let subtitle = format!("{splits} random splits; bands are ± one standard error");
    Some(accuracy(&points.collect::<Vec<_>>(), subtitle).draw())
}

fn series_name(row: &ReplayRow) -> String {
    let predictor = row.predictor.unwrap_or("–");
    match row.policy.as_deref() {
        _ if !EXTRAPOLATION_PREDICTORS.contains(&predictor) => format!("{predictor}, {}", row.variant),
        Some("srm") => format!("{predictor}, from run {}", row.burn_in + 1),
        _ => format!("{predictor}, {}, from run {}", describe_stop_rule(row), row.burn_in + 1),
    }
}

/// Figures for each file: speed-up against Δ of the searches; for Hyperband, speed-up by iteration and the best so far by the epochs
/// spent.
pub(super) fn figures(rows: &[ReplayRow]) -> Vec<(String, plot::Figure)> {
    let mut all = speedup_figures(rows);
    let rows = rows.iter().filter(|row| row.part == PaperPart::Hyperband);
    for curves in distinct(rows.clone().map(|row| row.curves)) {
        let mine = rows.clone().filter(|row| {
            row.curves == curves
                && row.reference.is_none_or(|r| r == Reference::Rung)
                && row.kappa.is_none_or(|k| k >= 1.0)
        });
        let mine: Vec<&ReplayRow> = mine.collect();
        let draws = mine.first().map_or(0, |row| row.numbers.orderings);
        all.push((format!("iterations-{curves}"), iterations(curves, &mine, draws)));
        all.push((format!("trajectory-{curves}"), trajectory(curves, &mine, draws)));
    }
    all
}

fn variant_name(row: &ReplayRow) -> String {
    row.predictor.map_or(row.variant.to_owned(), |predictor| format!("{predictor}, {}", row.variant))
}

/// Speed-up against the iteration of Hyperband, without the plain one, which has none.
fn iterations(curves: &str, rows: &[&ReplayRow], draws: usize) -> plot::Figure {
    let stopped = rows.iter().filter(|row| row.variant != "none");
    let series = stopped
        .map(|row| plot::HyperbandSeries { name: variant_name(row), points: row.course.iterations.clone() });
    plot::HyperbandFigure {
        title: format!("f-Hyperband, speed-up by iteration: {curves}"),
        subtitle: format!(
            "training of plain Hyperband over training spent so far, {draws} draws, κ = 1, rung"
        ),
        series: series.collect(),
    }
    .draw()
}

/// The best so far against the epochs spent.
fn trajectory(curves: &str, rows: &[&ReplayRow], draws: usize) -> plot::Figure {
    let series = rows
        .iter()
        .map(|row| plot::BestSoFarSeries { name: variant_name(row), points: row.course.trajectory.clone() });
    plot::BestSoFarFigure {
        title: format!("Hyperband and f-Hyperband, the best so far: {curves}"),
        subtitle: format!("median and 10–90 % band over {draws} draws, κ = 1, rung"),
        metric: "score".to_owned(),
        resource: "points trained".to_owned(),
        log_resource: true,
        series: series.collect(),
    }
    .draw()
}

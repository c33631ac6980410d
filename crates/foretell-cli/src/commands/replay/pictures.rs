//! The pictures of a replay.

use super::flags::{FigureKind, ReplayArguments};
use super::recommend::recommend_setting;
use super::replayed::ReplayedFile;
use super::report::SettingRow;
use super::settings::ReplayVariant;
use crate::plot;
use foretell::ErrorBudget;
use foretell_search::{ForecastRule, NamedRule, Reference, TrialTrace, best_so_far_moments};

/// Draws the picture asked for.
pub(super) fn draw(kind: FigureKind, file: &ReplayedFile, arguments: &ReplayArguments) -> plot::Figure {
    match kind {
        FigureKind::Speedup => speedup(file).draw(),
        FigureKind::BestSoFar => best_so_far(file, arguments).draw(),
        FigureKind::Fates => fates(file).draw(),
        FigureKind::Iterations => iterations(file).draw(),
    }
}

fn orderings(file: &ReplayedFile) -> usize {
    file.outcomes.first().map_or(0, |outcome| outcome.orderings.len())
}

/// The variant's policy or predictor, with the settings that distinguish it from others of its policy, without Δ.
fn name(file: &ReplayedFile, variant: &ReplayVariant) -> String {
    let mut name = match variant.predictor() {
        Some(predictor) if variant.way == ForecastRule::NAME => predictor.to_owned(),
        _ => variant.way.clone(),
    };
    let own = particulars(variant);
    let all = file.rows.iter().map(|row| &row.variant);
    let others: Vec<[String; 7]> = all.filter(|other| other.way == variant.way).map(particulars).collect();
    for (i, text) in own.iter().enumerate() {
        if others.iter().any(|other| other[i] != *text) {
            name = format!("{name}, {text}");
        }
    }
    name
}

/// The settings that may distinguish variants of one policy.
fn particulars(variant: &ReplayVariant) -> [String; 7] {
    let budget = match variant.criterion().map(|criterion| criterion.error_budget) {
        Some(ErrorBudget::PerRun) => "Δ a run",
        Some(ErrorBudget::PerRunEvenly) => "Δ a run, evenly",
        Some(ErrorBudget::PerCheck) | None => "Δ a check",
    };
    let study = variant.study();
    [
        budget.to_owned(),
        format!("{} agree", variant.criterion().map_or(1, |criterion| criterion.agreeing_checks)),
        format!("burn-in {}", study.burn_in),
        format!("δ {}", study.criterion.offset),
        format!("best {}", study.criterion.nth_best),
        reference(variant),
        study.sampler.name().to_owned(),
    ]
}

fn reference(variant: &ReplayVariant) -> String {
    variant.reference().map_or(String::new(), |(reference, kappa)| {
        let reference = if reference == Reference::Level { "level" } else { "rung" };
        format!("{reference} κ {}", kappa.kappa)
    })
}

/// Speed-up against Δ; policies without a Δ are level lines through all that were tried.
fn speedup(file: &ReplayedFile) -> plot::SpeedupFigure {
    let criteria = file.rows.iter().filter_map(|row| row.variant.criterion());
    let mut tried: Vec<f64> = criteria.map(|criterion| criterion.stop_probability).collect();
    tried.sort_by(f64::total_cmp);
    tried.dedup();
    let mut series: Vec<plot::SpeedupSeries> = Vec::new();
    for (SettingRow { variant, .. }, outcome) in file.rows.iter().zip(&file.outcomes) {
        // none saves nothing, and i-epoch saves so much, at any loss, that it would flatten the rest
        if !variant.has_rule() {
            continue;
        }
        let (saved, stderr) = outcome.saving_factor();
        let point = |stop_probability| plot::SpeedupPoint {
            stop_probability,
            speedup: saved,
            stderr,
            best_kept: outcome.best_kept(),
        };
        let points: Vec<plot::SpeedupPoint> = match variant.criterion() {
            Some(criterion) => vec![point(criterion.stop_probability)],
            None => tried.iter().map(|&probability| point(probability)).collect(),
        };
        let name = name(file, variant);
        match series.iter_mut().find(|s| s.name == name) {
            Some(known) => known.points.extend(points),
            None => series.push(plot::SpeedupSeries { name, points }),
        }
    }
    plot::SpeedupFigure {
        title: format!("savings of early stopping: {}", file.curves),
        subtitle: format!("all epochs ± standard error over {} random orders of the runs", orderings(file)),
        series,
    }
}

fn best_so_far(file: &ReplayedFile, arguments: &ReplayArguments) -> plot::BestSoFarFigure {
    let finer = f64::from(arguments.finer);
    let moments = best_so_far_moments(&file.outcomes);
    let series = (0..file.rows.len()).map(|i| plot::BestSoFarSeries {
        name: name_with_delta(file, i),
        points: file.outcomes[i].best_so_far(&file.table, &moments, finer),
    });
    plot::BestSoFarFigure {
        title: format!("the best so far against training spent: {}", file.curves),
        subtitle: format!("median and 10–90 % band over {} random orders", orderings(file)),
        metric: file.metric.clone(),
        resource: "epochs".to_owned(),
        log_resource: true,
        series: series.collect(),
    }
}

/// The variant's name with its Δ.
fn name_with_delta(file: &ReplayedFile, i: usize) -> String {
    let variant = &file.rows[i].variant;
    let delta =
        variant.criterion().map_or(String::new(), |criterion| format!(", Δ {}", criterion.stop_probability));
    name(file, variant) + &delta
}

/// The fate of each run in the first ordering of the setting that one would look at first.
fn fates(file: &ReplayedFile) -> plot::FatesFigure {
    let shown = row_to_show(file).unwrap_or(0);
    let first = file.outcomes[shown].orderings.first();
    let trials: &[TrialTrace] = first.map_or(&[], |o| o.trace.trials.as_slice());
    let wrong = first.map_or(&[][..], |o| o.stopped_wrongly.as_slice());
    let run = |trial: &TrialTrace| recorded_run(file, trial, wrong.contains(&trial.run));
    plot::FatesFigure {
        title: format!("your runs under early stopping: {}", file.curves),
        subtitle: format!("{}, one random order", name_with_delta(file, shown)),
        metric: file.metric.clone(),
        maximize: file.table.history().direction() == foretell::Direction::Maximize,
        resource: "step".to_owned(),
        runs: trials.iter().map(run).collect(),
    }
}

fn recorded_run(file: &ReplayedFile, trial: &TrialTrace, wrong: bool) -> plot::RecordedRun {
    let table = &file.table;
    let value = |score: f64| table.history().to_value(score);
    let points = table.grid().iter().zip(table.scores(trial.run)).map(|(&step, &score)| (step, value(score)));
    let fate = match (trial.stopped_at.filter(|_| !trial.finished), wrong) {
        (None, _) => plot::RecordedFate::Kept,
        (Some(_), false) => plot::RecordedFate::Stopped,
        (Some(_), true) => plot::RecordedFate::StoppedWrongly,
    };
    plot::RecordedRun {
        name: file.names[table.index(trial.run)].clone(),
        points: points.collect(),
        fate,
        stopped_at: trial.stopped_at.filter(|_| !trial.finished).map(|at| table.grid()[at as usize - 1]),
    }
}

/// Speed-up of all Hyperband runs so far against plain Hyperband, which spends the same on each.
fn iterations(file: &ReplayedFile) -> plot::HyperbandFigure {
    let mut series = Vec::new();
    for (i, (row, outcome)) in file.rows.iter().zip(&file.outcomes).enumerate() {
        let points = outcome.speedup_by_iteration();
        if row.variant.has_rule() && !points.is_empty() {
            series.push(plot::HyperbandSeries { name: name_with_delta(file, i), points });
        }
    }
    plot::HyperbandFigure {
        title: format!("Hyperband with early stopping: {}", file.curves),
        subtitle: format!(
            "training of plain Hyperband over training spent so far, {} draws",
            orderings(file)
        ),
        series,
    }
}

/// The setting that a person would look at first: the recommended one, else the first that stops.
fn row_to_show(file: &ReplayedFile) -> Option<usize> {
    let recommended = || recommend_setting(file).map(|chosen| chosen.row);
    file.usual().or_else(recommended).or_else(|| file.rows.iter().position(|row| row.variant.stops()))
}

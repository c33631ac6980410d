//! The pictures of a replay.

use super::flags::{Arguments, FigureKind};
use super::settings::{Policy, Variant};
use super::{Replayed, shown};
use crate::plot;
use foretell::statistics::{mean, quantile_of_sorted, standard_error};
use foretell_search::{ErrorBudget, Outcome, Reference, TrialTrace};

/// Draws the picture asked for.
pub(super) fn draw(kind: FigureKind, file: &Replayed, arguments: &Arguments) -> plot::Figure {
    match kind {
        FigureKind::Speedup => speedup(file).draw(),
        FigureKind::BestSoFar => best_so_far(file, arguments).draw(),
        FigureKind::Fates => fates(file).draw(),
        FigureKind::Iterations => iterations(file).draw(),
    }
}

fn orderings(file: &Replayed) -> usize {
    file.outcomes.first().map_or(0, |outcome| outcome.orderings.len())
}

/// The variant's policy or predictor, and what tells it from others of its policy, without Δ.
fn name(file: &Replayed, variant: &Variant) -> String {
    let mut name = match (&variant.predictor, variant.policy) {
        (Some(predictor), Policy::Srm) => predictor.clone(),
        _ => variant.policy.name().to_owned(),
    };
    let own = particulars(variant);
    let others: Vec<[String; 6]> =
        file.variants.iter().filter(|v| v.policy == variant.policy).map(particulars).collect();
    for (i, text) in own.iter().enumerate() {
        if others.iter().any(|other| other[i] != *text) {
            name = format!("{name}, {text}");
        }
    }
    name
}

/// What may tell one variant from another of its policy.
fn particulars(variant: &Variant) -> [String; 6] {
    let budget = match variant.rule.map(|rule| rule.budget) {
        Some(ErrorBudget::PerRun) => "Δ a run",
        Some(ErrorBudget::PerRunEvenly) => "Δ a run, evenly",
        _ => "Δ a check",
    };
    let spec = &variant.spec;
    [
        budget.to_owned(),
        format!("{} agree", variant.rule.map_or(1, |rule| rule.agreeing_looks)),
        format!("burn-in {}", spec.burn_in),
        format!("δ {}", spec.offset),
        format!("best {}", spec.nth_best),
        reference(variant),
    ]
}

fn reference(variant: &Variant) -> String {
    variant.reference.map_or(String::new(), |(reference, kappa)| {
        let reference = if reference == Reference::Level { "level" } else { "rung" };
        format!("{reference} κ {}", kappa.kappa)
    })
}

/// Speed-up against Δ; policies without a Δ are level lines through all that were tried.
fn speedup(file: &Replayed) -> plot::Speedup {
    let mut tried: Vec<f64> =
        file.variants.iter().filter_map(|v| v.rule.map(|rule| rule.stop_probability)).collect();
    tried.sort_by(f64::total_cmp);
    tried.dedup();
    let mut series: Vec<plot::SpeedupSeries> = Vec::new();
    for (variant, outcome) in file.variants.iter().zip(&file.outcomes) {
        // none saves nothing, and i-epoch saves so much, at any loss, that it would flatten the rest
        if matches!(variant.policy, Policy::None | Policy::IEpoch) {
            continue;
        }
        let (mean, stderr) = outcome.speedup();
        let point = |stop_probability| plot::SpeedupPoint {
            stop_probability,
            speedup: mean,
            stderr,
            best_kept: outcome.best_kept(),
        };
        let points: Vec<plot::SpeedupPoint> = match variant.rule {
            Some(rule) => vec![point(rule.stop_probability)],
            None => tried.iter().map(|&probability| point(probability)).collect(),
        };
        let name = name(file, variant);
        match series.iter_mut().find(|s| s.name == name) {
            Some(known) => known.points.extend(points),
            None => series.push(plot::SpeedupSeries { name, points }),
        }
    }
    plot::Speedup {
        title: format!("what early stopping would have saved: {}", file.curves),
        subtitle: format!("mean ± standard error over {} random orders of the runs", orderings(file)),
        series,
    }
}

/// Moments at which the best so far is drawn.
const MOMENTS: usize = 120;

fn best_so_far(file: &Replayed, arguments: &Arguments) -> plot::BestSoFar {
    let finer = f64::from(arguments.finer);
    let longest = file.outcomes.iter().flat_map(|o| &o.orderings).map(|o| o.spent).max().unwrap_or(1).max(2);
    let ratio = (longest as f64).ln() / MOMENTS as f64;
    let moments: Vec<u64> = (0..=MOMENTS).map(|i| (ratio * i as f64).exp().round() as u64).collect();
    let series = (0..file.variants.len()).map(|i| plot::BestSoFarSeries {
        name: full_name(file, i),
        points: banded(file, &file.outcomes[i], &moments, finer),
    });
    plot::BestSoFar {
        title: format!("the best so far against training spent: {}", file.curves),
        subtitle: format!("median and 10–90 % band over {} random orders", orderings(file)),
        metric: file.metric.clone(),
        resource: "epochs".to_owned(),
        log_resource: true,
        series: series.collect(),
    }
}

/// The variant's name with its Δ.
fn full_name(file: &Replayed, i: usize) -> String {
    let variant = &file.variants[i];
    let delta = variant.rule.map_or(String::new(), |rule| format!(", Δ {}", rule.stop_probability));
    name(file, variant) + &delta
}

/// Quantiles over orderings of the best so far, at the moments when every ordering has one.
fn banded(file: &Replayed, outcome: &Outcome, moments: &[u64], finer: f64) -> Vec<plot::BestSoFarPoint> {
    let end = outcome.orderings.iter().map(|o| o.spent).max().unwrap_or(0);
    let at = |moment: u64| {
        let best =
            |steps: &[(u64, f64)]| steps.iter().take_while(|step| step.0 <= moment).last().map(|s| s.1);
        let mut scores: Vec<f64> =
            outcome.orderings.iter().map(|o| best(&o.trace.best_so_far)).collect::<Option<_>>()?;
        scores.sort_by(f64::total_cmp);
        let value = |p: f64| file.table.history().value(quantile_of_sorted(&scores, p));
        let (a, b) = (value(0.1), value(0.9));
        let resource = moment as f64 / finer;
        Some(plot::BestSoFarPoint { resource, middle: value(0.5), low: a.min(b), high: a.max(b) })
    };
    moments.iter().filter(|&&moment| moment <= end).filter_map(|&moment| at(moment)).collect()
}

/// The fate of each run in the first ordering of the setting that one would look at first.
fn fates(file: &Replayed) -> plot::Fates {
    let shown = shown(file).unwrap_or(0);
    let first = file.outcomes[shown].orderings.first();
    let trials: &[TrialTrace] = first.map_or(&[], |o| o.trace.trials.as_slice());
    let wrong = first.map_or(&[][..], |o| o.stopped_wrongly.as_slice());
    let run = |trial: &TrialTrace| recorded_run(file, trial, wrong.contains(&trial.run));
    plot::Fates {
        title: format!("your runs under early stopping: {}", file.curves),
        subtitle: format!("{}, one random order", full_name(file, shown)),
        metric: file.metric.clone(),
        maximize: file.table.history().direction() == foretell::Direction::Maximize,
        resource: "step".to_owned(),
        runs: trials.iter().map(run).collect(),
    }
}

fn recorded_run(file: &Replayed, trial: &TrialTrace, wrong: bool) -> plot::RecordedRun {
    let table = &file.table;
    let value = |score: f64| table.history().value(score);
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
fn iterations(file: &Replayed) -> plot::Hyperband {
    let mut series = Vec::new();
    for (i, (variant, outcome)) in file.variants.iter().zip(&file.outcomes).enumerate() {
        let runs = outcome.orderings.first().map_or(0, |o| o.trace.by_run.len());
        if variant.policy == Policy::None || runs == 0 {
            continue;
        }
        let point = |run: usize| {
            let speedups: Vec<f64> = outcome
                .orderings
                .iter()
                .map(|o| {
                    let spent: u64 = o.trace.by_run[..=run].iter().map(|r| r.0).sum();
                    o.full as f64 * (run + 1) as f64 / runs as f64 / spent.max(1) as f64
                })
                .collect();
            ((run + 1) as f64, mean(&speedups), standard_error(&speedups))
        };
        series
            .push(plot::HyperbandSeries { name: full_name(file, i), points: (0..runs).map(point).collect() });
    }
    plot::Hyperband {
        title: format!("Hyperband with early stopping: {}", file.curves),
        subtitle: format!(
            "training of plain Hyperband over training spent so far, {} draws",
            orderings(file)
        ),
        series,
    }
}

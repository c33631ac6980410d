//! The paper's early stopping, simulated on its released curves: speed-ups in architecture search and in Hyperband.

use super::failed::Failed;
use super::kept::Kept;
use super::measure::{NOT_APPLICABLE, Part};
use super::released::Prepared;
use super::replayed::{BURN_IN, Course, Numbers, PREDICTORS, Replayed, Wanted, blank, times};
use super::searches;
use super::show::{Layout, Show};
use crate::catalogue;
use foretell::{Predictor, PredictorOptions, Purpose, StopCriterion};
use foretell_search::{
    ForecastRule, Kappa, Oracle, Outcome, Policy, Reference, Schedule, Setting, StudySpec, Table, moments,
    replay,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The curves of the simulated architecture searches.
const SEARCHED: [&str; 4] =
    ["metaqnn_cifar10", "metaqnn_svhn", "deep_resnets_cifar10", "deep_resnets_tinyimagenet"];
/// The curves that Hyperband draws from, each in the preparation whose scores can be compared.
const DRAWN: [(&str, &str); 5] = [
    ("cudaconvnet_cifar10", "as released"),
    ("own_cudaconvnet_cifar10", "as released"),
    ("cudaconvnet_svhn", "as released"),
    ("lstm_ptb", "log perplexity"),
    ("deep_resnets_tinyimagenet", "weights, depth"),
];
/// The values of κ that f-Hyperband is tried with.
const KAPPAS: [f64; 2] = [1.0, 0.25];
/// Runs of Hyperband in a row, and its η and Δ.
pub(super) const HYPERBAND_RUNS: u64 = 40;
pub(super) const ETA: u64 = 3;
const HYPERBAND_DELTA: f64 = 0.95;
/// Draws of the 40 runs at most: their standard error is that over 40 · 3 runs.
const HYPERBAND_DRAWS: usize = 3;

/// The simulation of a part.
#[derive(Clone, Copy, Debug)]
pub(super) struct Simulated {
    /// Only the first so many orderings.
    pub(super) orderings: usize,
    /// Draws of the random searches.
    pub(super) draws: Option<usize>,
    /// The seed of the orderings and of the predictors.
    pub(super) seed: u64,
    /// The display of the rows.
    pub(super) show: Show,
}

/// The rows of `part` on `sets`, each printed on standard error when it is ready.
pub(super) fn rows(
    part: Part,
    sets: &[Prepared],
    how: Simulated,
    kept: &mut Kept,
) -> Result<Vec<Replayed>, Failed> {
    let mut rows = Vec::new();
    for prepared in sets.iter().filter(|prepared| is_used(part, prepared)) {
        (how.show.note)(&format!("{}: {}", part.heading(), prepared.name()));
        let table = table(prepared)?;
        if table.len() <= BURN_IN {
            (how.show.note)(&format!(
                "{}: {} finished runs are too few for a burn-in of {BURN_IN}",
                prepared.stem,
                table.len()
            ));
            continue;
        }
        let wanted = wanted(part, prepared, &table, how);
        let made = predictors(how.draws, how.seed)?;
        // one predictor at a time: its settings share their fits
        let mut open = wanted;
        while let Some(first) = open.first() {
            let predictor = first.row.predictor;
            let (mine, others) = open.into_iter().partition(|wanted| wanted.row.predictor == predictor);
            open = others;
            let filled = replayed(&table, prepared, mine, &made, how.draws, kept)?;
            filled.iter().for_each(|row| (how.show.note)(&as_text(part, &[row], false, how.show.table)));
            rows.extend(filled);
        }
    }
    if rows.is_empty() {
        (how.show.note)(&format!("{}: {NOT_APPLICABLE}", part.heading()));
    }
    Ok(rows)
}

/// The rows of `part` that cost least, replayed now: of Hyperband those without forecasts, and of the searches those of the SRM over
/// all runs of the file with the shortest curves.
pub(super) fn cheapest(part: Part, sets: &[Prepared], how: Simulated) -> Result<Vec<Replayed>, Failed> {
    let mut used: Vec<&Prepared> =
        sets.iter().filter(|prepared| !prepared.compressed && is_used(part, prepared)).collect();
    if part != Part::Hyperband {
        used.sort_by_key(|prepared| prepared.history.grid().len());
        used.truncate(1);
    }
    let is_cheap = |row: &Replayed| match part {
        Part::Hyperband => row.predictor.is_none(),
        _ => row.predictor == Some(PREDICTORS[0]) && row.study_size.is_none(),
    };
    let mut rows = Vec::new();
    for prepared in used {
        let table = table(prepared)?;
        let mut wanted = wanted(part, prepared, &table, how);
        wanted.retain(|wanted| is_cheap(&wanted.row));
        let made = predictors(how.draws, how.seed)?;
        rows.extend(replayed(&table, prepared, wanted, &made, how.draws, &mut Kept::default())?);
    }
    Ok(rows)
}

fn table(prepared: &Prepared) -> Result<Arc<Table>, Failed> {
    let table = Table::new(&prepared.runs, &prepared.options, 1);
    table.map(Arc::new).map_err(|error| in_file(prepared, &error))
}

fn in_file(prepared: &Prepared, error: &dyn std::fmt::Display) -> Failed {
    Failed::input(format!("{}: {error}", prepared.stem))
}

/// All rows of `part` on the runs of a file, without their numbers.
fn wanted(part: Part, prepared: &Prepared, table: &Table, how: Simulated) -> Vec<Wanted> {
    match part {
        Part::Hyperband => hyperband(prepared, table, how.orderings.min(HYPERBAND_DRAWS), how.seed),
        _ => searches::wanted(prepared, table, how.orderings, how.seed),
    }
}

/// `wanted` with their numbers: those that an earlier run of the command has measured, and the others by a replay.
fn replayed(
    table: &Arc<Table>,
    prepared: &Prepared,
    wanted: Vec<Wanted>,
    made: &ByName,
    draws: Option<usize>,
    kept: &mut Kept,
) -> Result<Vec<Replayed>, Failed> {
    // a blank row names all of its setting
    let key = |wanted: &Wanted| {
        let fingerprint = prepared.fingerprint;
        let row = serde_json::to_string(&wanted.row).expect("a row is JSON");
        let Setting { orderings, study: StudySpec { seed, .. }, .. } = wanted.setting;
        format!("{fingerprint:08x} orderings {orderings} seed {seed} draws {draws:?} {row}")
    };
    let (mut rows, mut open) = (Vec::new(), Vec::new());
    for wanted in wanted {
        match kept.get::<(Replayed, Course)>(&key(&wanted)) {
            Some((row, course)) => rows.push(Replayed { course, ..row }),
            None => open.push(wanted),
        }
    }
    let predictor = |wanted: &Wanted| {
        let alone = wanted.setting.study.policy.is_by_curve_alone();
        wanted.row.predictor.and_then(|name| made.get(&(alone, name))).cloned()
    };
    let setting = |wanted: &Wanted| Setting { predictor: predictor(wanted), ..wanted.setting.clone() };
    let settings: Vec<Setting> = open.iter().map(setting).collect();
    let outcomes = replay(table, &settings).map_err(|error| in_file(prepared, &error))?;
    let moments = moments(&outcomes);
    for (wanted, outcome) in open.into_iter().zip(&outcomes) {
        let row = filled(wanted.row.clone(), table, outcome, &moments);
        kept.add(&key(&wanted), &(&row, &row.course))?;
        rows.push(row);
    }
    Ok(rows)
}

fn is_used(part: Part, prepared: &Prepared) -> bool {
    match part {
        Part::Hyperband => DRAWN.contains(&(prepared.stem, prepared.preparation)),
        _ => SEARCHED.contains(&prepared.stem) && prepared.is_of_first(),
    }
}

/// By whether it is for a policy that extrapolates each curve alone, and by name.
type ByName = BTreeMap<(bool, &'static str), Arc<dyn Predictor>>;

fn predictors(draws: Option<usize>, seed: u64) -> Result<ByName, Failed> {
    let options = PredictorOptions { seed, draws, purpose: Purpose::Recorded, ..PredictorOptions::default() };
    let named = |name| {
        let predictor = catalogue().predictors().predictor(name, &options).map_err(Failed::input)?;
        Ok(((false, name), Arc::from(predictor)))
    };
    let mut made: ByName =
        PREDICTORS.into_iter().chain(searches::EXTRAPOLATIONS).map(named).collect::<Result<_, Failed>>()?;
    let options = PredictorOptions { purpose: Purpose::Termination, ..options };
    for name in searches::EXTRAPOLATIONS {
        let alone = catalogue().predictors().predictor(name, &options).map_err(Failed::input)?;
        made.insert((true, name), Arc::from(alone));
    }
    Ok(made)
}

/// Hyperband, f-Hyperband cold and with models of earlier runs, and perfect foresight.
fn hyperband(prepared: &Prepared, table: &Table, orderings: usize, seed: u64) -> Vec<Wanted> {
    let criterion = StopCriterion { stop_probability: HYPERBAND_DELTA, ..StopCriterion::default() };
    let setting = |policy, reference, kappa, warm_start| {
        let kappa = Kappa { kappa, ..Kappa::default() };
        let schedule = Schedule::Hyperband { eta: ETA, runs: HYPERBAND_RUNS, kappa, reference };
        let burn_in = BURN_IN as u64;
        let study = StudySpec { schedule, policy, criterion, burn_in, seed, ..table.study() };
        Setting { warm_start, orderings, ..Setting::new(study, None) }
    };
    let row = |variant| blank(Part::Hyperband, prepared, variant);
    let plain = setting(Policy::none(), Reference::Rung, 1.0, 0);
    let mut wanted = vec![Wanted { row: row("none"), setting: plain }];
    for reference in [Reference::Rung, Reference::Level] {
        for kappa in KAPPAS {
            for (variant, warm) in [("cold", 0), ("warm", BURN_IN)] {
                for predictor in PREDICTORS {
                    let row = Replayed {
                        predictor: Some(predictor),
                        stop_probability: Some(HYPERBAND_DELTA),
                        reference: Some(reference),
                        kappa: Some(kappa),
                        ..row(variant)
                    };
                    let setting = setting(Policy::from(ForecastRule), reference, kappa, warm);
                    wanted.push(Wanted { row, setting });
                }
            }
            let row = Replayed { reference: Some(reference), kappa: Some(kappa), ..row("oracle") };
            wanted.push(Wanted { row, setting: setting(Policy::from(Oracle), reference, kappa, 0) });
        }
    }
    wanted
}

fn filled(row: Replayed, table: &Table, outcome: &Outcome, moments: &[u64]) -> Replayed {
    let (speedup_mean, speedup_stderr) = outcome.speedup();
    let best = outcome.best_of_runs(table);
    let hyperband = row.part == Part::Hyperband;
    let numbers = Numbers {
        orderings: outcome.orderings.len(),
        runs: outcome.orderings.first().map_or(0, |order| order.trace.trials.len()),
        speedup_mean,
        speedup_stderr,
        best_kept: (!hyperband).then(|| outcome.best_kept()),
        best_of_run_mean: hyperband.then(|| foretell::statistics::mean(&best)),
        best_of_run_stderr: hyperband.then(|| foretell::statistics::standard_error(&best)),
        regret_sd_mean: outcome.regret_sd(),
    };
    let trajectory = if hyperband { outcome.best_so_far(table, moments, 1.0) } else { Vec::new() };
    let course = Course { iterations: outcome.speedup_by_iteration(), trajectory };
    Replayed { numbers, course, ..row }
}

/// The rows of `part` as a table, with or without the remarks below it.
pub(super) fn as_text(part: Part, rows: &[&Replayed], remarks: bool, table: Layout) -> String {
    let (text, remark) = if part == Part::Hyperband {
        (hyperband_text(rows, table), HYPERBAND_REMARK)
    } else {
        (searches::as_text(rows, table), searches::REMARK)
    };
    if remarks { format!("{text}\n{remark}") } else { text }
}

const HYPERBAND_REMARK: &str = "(published on cuda-convnet: 2 times, up to 7 with reused models; `oracle` is perfect foresight, the most that any forecast could save)";

fn hyperband_text(rows: &[&Replayed], table: Layout) -> String {
    let cells = |row: &&Replayed| {
        let reference = row.reference.map_or("–", |reference| match reference {
            Reference::Rung => "rung",
            Reference::Level => "level",
        });
        let best = row.numbers.best_of_run_mean.zip(row.numbers.best_of_run_stderr);
        vec![
            row.name(),
            row.variant.to_owned(),
            row.predictor.unwrap_or("–").to_owned(),
            reference.to_owned(),
            row.kappa.map_or("–".to_owned(), |kappa| kappa.to_string()),
            times(row.numbers.speedup_mean, row.numbers.speedup_stderr),
            best.map_or("–".to_owned(), |(mean, stderr)| format!("{mean:.4} ± {stderr:.4}")),
        ]
    };
    let headings = ["curves", "models", "predictor", "reference", "κ", "speed-up", "best of a run"];
    table(&headings, &rows.iter().map(cells).collect::<Vec<_>>())
}

//! The paper's early stopping, simulated on its released curves: speed-ups in architecture search and in Hyperband.

use super::failed::ReproductionError;
use super::kept::KeptRows;
use super::measure::{NOT_APPLICABLE, PaperPart};
use super::released::PreparedFile;
use super::replayed::{
    BURN_IN, HyperbandCourse, PlannedReplay, ReplayNumbers, ReplayRow, STOPPING_PREDICTORS, blank_row,
    format_speedup,
};
use super::searches;
use super::show::{DisplayOptions, TableLayout};
use crate::catalogue::full_catalogue;
use foretell::{Predictor, PredictorOptions, PredictorPurpose, StopCriterion};
use foretell_search::{
    ForecastRule, Kappa, OracleRule, Reference, ReplayOutcome, ReplaySetting, RunTable, Schedule, StopPolicy,
    StudySpec, best_so_far_moments, replay,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The curves of the simulated architecture searches.
const SEARCH_CURVES: [&str; 4] =
    ["metaqnn_cifar10", "metaqnn_svhn", "deep_resnets_cifar10", "deep_resnets_tinyimagenet"];
/// The curves that Hyperband draws from, each in the preparation whose scores can be compared.
const HYPERBAND_CURVES: [(&str, &str); 5] = [
    ("cudaconvnet_cifar10", "as released"),
    ("own_cudaconvnet_cifar10", "as released"),
    ("cudaconvnet_svhn", "as released"),
    ("lstm_ptb", "log perplexity"),
    ("deep_resnets_tinyimagenet", "weights, depth"),
];
/// The values of κ that f-Hyperband is tried with.
const KAPPA_VALUES: [f64; 2] = [1.0, 0.25];
/// Runs of Hyperband in a row, and its η and Δ.
pub(super) const HYPERBAND_RUNS: u64 = 40;
pub(super) const HYPERBAND_ETA: u64 = 3;
const HYPERBAND_DELTA: f64 = 0.95;
/// Draws of the 40 runs at most: their standard error is that over 40 · 3 runs.
const HYPERBAND_DRAWS: usize = 3;

/// The simulation of a part.
#[derive(Clone, Copy, Debug)]
pub(super) struct SimulationOptions {
    /// Only the first so many orderings.
    pub(super) orderings: usize,
    /// Draws of the random searches.
    pub(super) draws: Option<usize>,
    /// The seed of the orderings and of the predictors.
    pub(super) seed: u64,
    /// The display of the rows.
    pub(super) show: DisplayOptions,
}

/// The rows of `part` on `sets`, each printed on standard error when it is ready.
pub(super) fn replay_rows(
    part: PaperPart,
    sets: &[PreparedFile],
    how: SimulationOptions,
    kept: &mut KeptRows,
) -> Result<Vec<ReplayRow>, ReproductionError> {
    let mut rows = Vec::new();
    for prepared in sets.iter().filter(|prepared| is_used(part, prepared)) {
        (how.show.note)(&format!("{}: {}", part.section_heading(), prepared.display_name()));
        let table = build_table(prepared)?;
        if table.len() <= BURN_IN {
            (how.show.note)(&format!(
                "{}: {} finished runs are too few for a burn-in of {BURN_IN}",
                prepared.stem,
                table.len()
            ));
            continue;
        }
        let wanted = planned_rows(part, prepared, &table, how);
        let made = build_predictors(how.draws, how.seed)?;
        // one predictor at a time: its settings share their fits
        let mut open = wanted;
        while let Some(first) = open.first() {
            let predictor = first.row.predictor;
            let (mine, others) = open.into_iter().partition(|wanted| wanted.row.predictor == predictor);
            open = others;
            let filled = reuse_or_replay(&table, prepared, mine, &made, how.draws, kept)?;
            filled.iter().for_each(|row| (how.show.note)(&as_text(part, &[row], false, how.show.table)));
            rows.extend(filled);
        }
    }
    if rows.is_empty() {
        (how.show.note)(&format!("{}: {NOT_APPLICABLE}", part.section_heading()));
    }
    Ok(rows)
}

/// The rows of `part` that cost least, replayed now: of Hyperband those without forecasts, and of the searches those of the SRM over
/// all runs of the file with the shortest curves.
pub(super) fn replay_cheapest_rows(
    part: PaperPart,
    sets: &[PreparedFile],
    how: SimulationOptions,
) -> Result<Vec<ReplayRow>, ReproductionError> {
    let mut used: Vec<&PreparedFile> =
        sets.iter().filter(|prepared| !prepared.compressed && is_used(part, prepared)).collect();
    if part != PaperPart::Hyperband {
        used.sort_by_key(|prepared| prepared.history.grid().len());
        used.truncate(1);
    }
    let mut rows = Vec::new();
    for prepared in used {
        let table = build_table(prepared)?;
        let mut wanted = planned_rows(part, prepared, &table, how);
        wanted.retain(|PlannedReplay { row, .. }| match part {
            PaperPart::Hyperband => row.predictor.is_none(),
            _ => row.predictor == Some(STOPPING_PREDICTORS[0]) && row.study_size.is_none(),
        });
        let made = build_predictors(how.draws, how.seed)?;
        rows.extend(reuse_or_replay(&table, prepared, wanted, &made, how.draws, &mut KeptRows::default())?);
    }
    Ok(rows)
}

fn build_table(prepared: &PreparedFile) -> Result<Arc<RunTable>, ReproductionError> {
    let table = RunTable::new(&prepared.runs, &prepared.options, 1);
    table.map(Arc::new).map_err(|error| file_error(prepared, &error))
}

fn file_error(prepared: &PreparedFile, error: &dyn std::fmt::Display) -> ReproductionError {
    ReproductionError::input(format!("{}: {error}", prepared.stem))
}

/// All rows of `part` on the runs of a file, without their numbers.
fn planned_rows(
    part: PaperPart,
    prepared: &PreparedFile,
    table: &RunTable,
    how: SimulationOptions,
) -> Vec<PlannedReplay> {
    match part {
        PaperPart::Hyperband => {
            planned_hyperband_rows(prepared, table, how.orderings.min(HYPERBAND_DRAWS), how.seed)
        }
        _ => searches::planned_searches(prepared, table, how.orderings, how.seed),
    }
}

/// `wanted` with their numbers: those that an earlier run of the command has measured, and the others by a replay.
fn reuse_or_replay(
    table: &Arc<RunTable>,
    prepared: &PreparedFile,
    wanted: Vec<PlannedReplay>,
    made: &PredictorsByName,
    draws: Option<usize>,
    kept: &mut KeptRows,
) -> Result<Vec<ReplayRow>, ReproductionError> {
    let (mut rows, mut open) = (Vec::new(), Vec::new());
    for wanted in wanted {
        match kept.find_numbers::<(ReplayRow, HyperbandCourse)>(&replay_key(&wanted, prepared, draws)) {
            Some((row, course)) => rows.push(ReplayRow { course, ..row }),
            None => open.push(wanted),
        }
    }
    let settings = open.iter().map(|PlannedReplay { row, setting }| {
        let alone = setting.study.policy.is_by_curve_alone();
        let predictor = row.predictor.and_then(|name| made.get(&(alone, name))).cloned();
        ReplaySetting { predictor, ..setting.clone() }
    });
    let outcomes =
        replay(table, &settings.collect::<Vec<_>>()).map_err(|error| file_error(prepared, &error))?;
    let moments = best_so_far_moments(&outcomes);
    for (wanted, outcome) in open.into_iter().zip(&outcomes) {
        let row = fill_row(wanted.row.clone(), table, outcome, &moments);
        kept.keep_numbers(&replay_key(&wanted, prepared, draws), &(&row, &row.course))?;
        rows.push(row);
    }
    Ok(rows)
}

/// The name of a replay; the blank row names all of its setting.
fn replay_key(wanted: &PlannedReplay, prepared: &PreparedFile, draws: Option<usize>) -> String {
    let fingerprint = prepared.fingerprint;
    let row = serde_json::to_string(&wanted.row).expect("a row is JSON");
    let ReplaySetting { orderings, study: StudySpec { seed, .. }, .. } = wanted.setting;
    format!("{fingerprint:08x} orderings {orderings} seed {seed} draws {draws:?} {row}")
}

fn is_used(part: PaperPart, prepared: &PreparedFile) -> bool {
    match part {
        PaperPart::Hyperband => HYPERBAND_CURVES.contains(&(prepared.stem, prepared.preparation)),
        _ => SEARCH_CURVES.contains(&prepared.stem) && prepared.is_of_first(),
    }
}

/// By whether it is for a policy that extrapolates each curve alone, and by name.
type PredictorsByName = BTreeMap<(bool, &'static str), Arc<dyn Predictor>>;

fn build_predictors(draws: Option<usize>, seed: u64) -> Result<PredictorsByName, ReproductionError> {
    let options =
        PredictorOptions { seed, draws, purpose: PredictorPurpose::Recorded, ..PredictorOptions::default() };
    let mut made = PredictorsByName::new();
    for name in STOPPING_PREDICTORS.into_iter().chain(searches::EXTRAPOLATION_PREDICTORS) {
        made.insert((false, name), build_predictor(name, &options)?);
    }
    let options = PredictorOptions { purpose: PredictorPurpose::Termination, ..options };
    for name in searches::EXTRAPOLATION_PREDICTORS {
        made.insert((true, name), build_predictor(name, &options)?);
    }
    Ok(made)
}

fn build_predictor(name: &str, options: &PredictorOptions) -> Result<Arc<dyn Predictor>, ReproductionError> {
    let predictor = full_catalogue().predictors().make_predictor(name, options);
    predictor.map(Arc::from).map_err(ReproductionError::input)
}

/// Hyperband, f-Hyperband cold and with models of earlier runs, and perfect foresight.
fn planned_hyperband_rows(
    prepared: &PreparedFile,
    table: &RunTable,
    orderings: usize,
    seed: u64,
) -> Vec<PlannedReplay> {
    let criterion = StopCriterion { stop_probability: HYPERBAND_DELTA, ..StopCriterion::default() };
    let study = StudySpec { criterion, burn_in: BURN_IN as u64, seed, ..table.study() };
    let usual = ReplaySetting { orderings, ..ReplaySetting::new(study, None) };
    let row = blank_row(PaperPart::Hyperband, prepared, "none");
    let plain = hyperband_setting(&usual, StopPolicy::none(), Reference::Rung, 1.0);
    let mut wanted = vec![PlannedReplay { row, setting: plain }];
    for reference in [Reference::Rung, Reference::Level] {
        for kappa in KAPPA_VALUES {
            for (variant, warm_start) in [("cold", 0), ("warm", BURN_IN)] {
                for predictor in STOPPING_PREDICTORS {
                    let row = ReplayRow {
                        predictor: Some(predictor),
                        stop_probability: Some(HYPERBAND_DELTA),
                        reference: Some(reference),
                        kappa: Some(kappa),
                        ..blank_row(PaperPart::Hyperband, prepared, variant)
                    };
                    let setting = hyperband_setting(&usual, ForecastRule.into(), reference, kappa);
                    wanted.push(PlannedReplay { row, setting: ReplaySetting { warm_start, ..setting } });
                }
            }
            let row = blank_row(PaperPart::Hyperband, prepared, "oracle");
            let row = ReplayRow { reference: Some(reference), kappa: Some(kappa), ..row };
            let setting = hyperband_setting(&usual, OracleRule.into(), reference, kappa);
            wanted.push(PlannedReplay { row, setting });
        }
    }
    wanted
}

/// `usual` with a search by Hyperband.
fn hyperband_setting(
    usual: &ReplaySetting,
    policy: StopPolicy,
    reference: Reference,
    kappa: f64,
) -> ReplaySetting {
    let kappa = Kappa { kappa, ..Kappa::default() };
    let schedule = Schedule::Hyperband { eta: HYPERBAND_ETA, runs: HYPERBAND_RUNS, kappa, reference };
    ReplaySetting { study: StudySpec { schedule, policy, ..usual.study.clone() }, ..usual.clone() }
}

fn fill_row(row: ReplayRow, table: &RunTable, outcome: &ReplayOutcome, moments: &[u64]) -> ReplayRow {
    let (speedup_mean, speedup_stderr) = outcome.mean_speedup();
    let best = outcome.best_of_runs(table);
    let hyperband = row.part == PaperPart::Hyperband;
    let numbers = ReplayNumbers {
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
    let course = HyperbandCourse { iterations: outcome.speedup_by_iteration(), trajectory };
    ReplayRow { numbers, course, ..row }
}

/// The rows of `part` as a table, with or without the remarks below it.
pub(super) fn as_text(part: PaperPart, rows: &[&ReplayRow], remarks: bool, table: TableLayout) -> String {
    let (text, remark) = if part == PaperPart::Hyperband {
        (hyperband_text(rows, table), HYPERBAND_REMARK)
    } else {
        (searches::as_text(rows, table), searches::SEARCHES_REMARK)
    };
    if remarks { format!("{text}\n{remark}") } else { text }
}

const HYPERBAND_REMARK: &str = "(published on cuda-convnet: 2 times, up to 7 with reused models; `oracle` is perfect foresight, the most that any forecast could save)";

fn hyperband_text(rows: &[&ReplayRow], table: TableLayout) -> String {
    let lines = rows.iter().map(|row| {
        let reference = row.reference.map_or("–", |reference| match reference {
            Reference::Rung => "rung",
            Reference::Level => "level",
        });
        let best = row.numbers.best_of_run_mean.zip(row.numbers.best_of_run_stderr);
        vec![
            row.display_name(),
            row.variant.to_owned(),
            row.predictor.unwrap_or("–").to_owned(),
            reference.to_owned(),
            row.kappa.map_or("–".to_owned(), |kappa| kappa.to_string()),
            format_speedup(row.numbers.speedup_mean, row.numbers.speedup_stderr),
            best.map_or("–".to_owned(), |(mean, stderr)| format!("{mean:.4} ± {stderr:.4}")),
        ]
    });
    let headings = ["curves", "models", "predictor", "reference", "κ", "speed-up", "best of a run"];
    table(&headings, &lines.collect::<Vec<_>>())
}

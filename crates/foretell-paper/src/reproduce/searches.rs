//! Simulated architecture searches: the stop rule, the epoch from which it stops runs, and the size of the study.

use super::measure::PaperPart;
use super::released::PreparedFile;
use super::replayed::{BURN_IN, PlannedReplay, ReplayRow, STOPPING_PREDICTORS, blank_row, format_speedup};
use super::show::TableLayout;
use crate::catalogue::full_catalogue;
use foretell::StopCriterion;
use foretell_search::{ForecastRule, NamedSettings, ReplaySetting, RunTable, StudySpec};
use serde_json::Map;

/// The predictors that extrapolate curves.
pub const EXTRAPOLATION_PREDICTORS: [&str; 2] = [OWN_EXTRAPOLATION, PUBLISHED_EXTRAPOLATION];
const OWN_EXTRAPOLATION: &str = "lce";
/// The published one takes longer, so it stops runs in one order only.
const PUBLISHED_EXTRAPOLATION: &str = "lce-domhan2015";
/// The stop probabilities tried.
const STOP_PROBABILITIES: [f64; 4] = [0.5, 0.9, 0.95, 0.99];
/// Those of extrapolation: Domhan et al.'s P < 0.05, and the paper's most careful one.
const EXTRAPOLATION_PROBABILITIES: [f64; 2] = [0.95, 0.99];
/// Extrapolation learns only the range of the metric from completed runs, again when there are 5 % more.
const EXTRAPOLATION_REFIT: f64 = 1.05;
/// δ of the variant with an offset and n of the one with the n-th best: the paper has them in a figure, without numbers.
const SCORE_OFFSET: f64 = 0.01;
const NTH_BEST: usize = 10;
/// The runs of a search that people can pay for; the whole of a file comes besides.
const SMALL_STUDY: usize = 200;

/// All searches on the runs of a file, in studies of 200 and of all: the SRM and `auto` after a burn-in of 100, in three variants,
/// and extrapolation, which learns from no other run, from the second run on and after the same burn-in.
pub(super) fn planned_searches(
    prepared: &PreparedFile,
    table: &RunTable,
    orderings: usize,
    seed: u64,
) -> Vec<PlannedReplay> {
    let small = (table.len() > SMALL_STUDY).then_some(Some(SMALL_STUDY));
    let mut all: Vec<PlannedReplay> = Vec::new();
    for study_size in small.into_iter().chain([None]) {
        let trials = study_size.unwrap_or(table.len()) as u64;
        let study = StudySpec { trials, seed, burn_in: BURN_IN as u64, ..table.study() };
        let usual = ReplaySetting { orderings, ..ReplaySetting::new(study, None) };
        for predictor in STOPPING_PREDICTORS {
            all.extend(model_searches(prepared, predictor, study_size, &usual));
        }
        all.extend(extrapolation_searches(prepared, study_size, &usual));
    }
    all
}

/// The three variants of the paper's simulated search, with each stop probability.
fn model_searches(
    prepared: &PreparedFile,
    predictor: &'static str,
    study_size: Option<usize>,
    usual: &ReplaySetting,
) -> Vec<PlannedReplay> {
    let variants = [("delta", 0.0, 1), ("delta and offset", SCORE_OFFSET, 1), ("nth best", 0.0, NTH_BEST)];
    let mut wanted = Vec::new();
    for (variant, offset, nth_best) in variants {
        for stop_probability in STOP_PROBABILITIES {
            let is_published = prepared.stem == "deep_resnets_cifar10"
                && study_size.is_none()
                && variant == "delta"
                && stop_probability > 0.98;
            let criterion = StopCriterion { stop_probability, offset, nth_best, ..StopCriterion::default() };
            let study = StudySpec { policy: ForecastRule.into(), criterion, ..usual.study.clone() };
            let row = search_row(prepared, variant, predictor, (study_size, &study));
            let row = ReplayRow { published: is_published.then_some(3.4), ..row };
            wanted.push(PlannedReplay { row, setting: ReplaySetting { study, ..usual.clone() } });
        }
    }
    wanted
}

/// Extrapolation by the spread of its forecast, as the SRM, and by both of Domhan et al.'s criteria; the published one by these alone, from
/// the second run on, in one order of all runs of MetaQNN.
fn extrapolation_searches(
    prepared: &PreparedFile,
    study_size: Option<usize>,
    usual: &ReplaySetting,
) -> Vec<PlannedReplay> {
    let mut wanted = Vec::new();
    for (policy, is_published) in [("srm", false), ("lce", true), ("lce-optimistic", true)] {
        let Ok(policy) = full_catalogue().resolve_policy(&NamedSettings::from(policy), &Map::new()) else {
            continue;
        };
        for (burn_in, stop_probability) in [1, BURN_IN as u64]
            .into_iter()
            .flat_map(|burn_in| EXTRAPOLATION_PROBABILITIES.map(|p| (burn_in, p)))
        {
            let criterion = StopCriterion { stop_probability, ..StopCriterion::default() };
            let study = StudySpec {
                policy: policy.clone(),
                criterion,
                burn_in,
                refit: Some(EXTRAPOLATION_REFIT),
                ..usual.study.clone()
            };
            let is_searched =
                is_published && burn_in == 1 && study_size.is_none() && prepared.stem == "metaqnn_cifar10";
            let row = search_row(prepared, "delta", OWN_EXTRAPOLATION, (study_size, &study));
            let setting = ReplaySetting { study: study.clone(), ..usual.clone() };
            wanted.push(PlannedReplay { row, setting: setting.clone() });
            if is_searched {
                let row = search_row(prepared, "delta", PUBLISHED_EXTRAPOLATION, (study_size, &study));
                wanted.push(PlannedReplay { row, setting: ReplaySetting { orderings: 1, ..setting } });
            }
        }
    }
    wanted
}

fn search_row(
    prepared: &PreparedFile,
    variant: &'static str,
    predictor: &'static str,
    (study_size, study): (Option<usize>, &StudySpec),
) -> ReplayRow {
    ReplayRow {
        predictor: Some(predictor),
        policy: Some(study.policy.name().to_owned()),
        study_size,
        burn_in: study.burn_in as usize,
        stop_probability: Some(study.criterion.stop_probability),
        offset: study.criterion.offset,
        nth_best: study.criterion.nth_best,
        ..blank_row(PaperPart::Stopping, prepared, variant)
    }
}

/// The rule that stops runs, in words.
pub fn describe_stop_rule(row: &ReplayRow) -> &'static str {
    match row.policy.as_deref() {
        Some("lce") => "Domhan, conservative",
        Some("lce-optimistic") => "Domhan, optimistic",
        _ => "forecast and σ",
    }
}

/// The figures that the paper prints of these searches.
pub(super) const SEARCHES_REMARK: &str = "(published: a figure without numbers, up to 6 times in the MetaQNN space; 3.4 on ResNets on CIFAR-10, where only Δ = 0.99 reliably kept the best; learning-curve extrapolation \"can begin early termination immediately\")";

/// The rows as a table.
pub(super) fn as_text(rows: &[&ReplayRow], table: TableLayout) -> String {
    let lines = rows.iter().map(|row| {
        let particulars = match row.variant {
            "delta and offset" => format!("Δ and δ = {}", row.offset),
            "nth best" => format!("Δ and the {}th best", row.nth_best),
            _ => "Δ".to_owned(),
        };
        vec![
            row.display_name(),
            row.numbers.runs.to_string(),
            row.predictor.unwrap_or("–").to_owned(),
            describe_stop_rule(row).to_owned(),
            row.burn_in.to_string(),
            particulars,
            row.stop_probability.map_or("–".to_owned(), |p| p.to_string()),
            format_speedup(row.numbers.speedup_mean, row.numbers.speedup_stderr),
            row.published.map_or("–".to_owned(), |published| published.to_string()),
            row.numbers.best_kept.map_or("–".to_owned(), |kept| {
                format!("{:.0} of {}", kept * row.numbers.orderings as f64, row.numbers.orderings)
            }),
            format!("{:.4}", row.numbers.regret_sd_mean),
        ]
    });
    let headings = [
        "curves",
        "runs",
        "predictor",
        "rule",
        "burn-in",
        "variant",
        "Δ",
        "speed-up",
        "published",
        "best kept",
        "regret (sd)",
    ];
    table(&headings, &lines.collect::<Vec<_>>())
}

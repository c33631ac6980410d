//! The comparisons that each sentence of the paper claims.

use super::evidence::{
    Evidence, SRM_PREDICTORS, STOPPING_SRM, best_kept_fraction, best_of_run, short_name, speedup_of,
};
use super::judgment::{ClaimComparison, ClaimedRelation, ReportedValue, SampleSize};
use super::measure::PaperPart;
use super::published::{TABLE_1, TABLE_COLUMNS};
use super::released::{is_own, metric_direction};
use super::replayed::ReplayRow;
use super::searches::EXTRAPOLATION_PREDICTORS;
use super::stopping::{HYPERBAND_ETA, HYPERBAND_RUNS};
use foretell_search::plan;

/// Nothing that is measured here.
pub(super) fn no_comparisons(_: &Evidence) -> Vec<ClaimComparison> {
    Vec::new()
}

/// R² of each regressor of table 1 above 0.
pub(super) fn regressors_predict(evidence: &Evidence) -> Vec<ClaimComparison> {
    let cells = evidence.file_names(PaperPart::Table1).into_iter();
    let cells = cells.flat_map(|curves| TABLE_1.iter().map(move |(name, _)| (curves, *name)));
    cells
        .filter_map(|(curves, name)| Some(above_zero_comparison(curves, evidence.table_1(curves, name)?)))
        .collect()
}

/// R² of the better ν-SVR above BNN and LCE at each fraction, and a fit in less time than BNN's.
pub(super) fn better_and_faster_than_bayesian(evidence: &Evidence) -> Vec<ClaimComparison> {
    let mut all = compare_srm_with_rivals(evidence, &BAYESIAN_METHODS, |_, _| true);
    all.extend(compare_seconds(evidence, "fit", "bnn"));
    all
}

/// R² of the better ν-SVR above BNN and LCE at each fraction, and a forecast in less time than theirs.
pub(super) fn more_accurate_and_efficient(evidence: &Evidence) -> Vec<ClaimComparison> {
    let mut all = compare_srm_with_rivals(evidence, &BAYESIAN_METHODS, |_, _| true);
    all.extend(forecasts_are_fast(evidence));
    all
}

/// R² of the better ν-SVR above BNN at each fraction, and a fit in less time than BNN's.
pub(super) fn more_precise_than_bnn(evidence: &Evidence) -> Vec<ClaimComparison> {
    let mut all = compare_srm_with_rivals(evidence, &["bnn"], |_, _| true);
    all.extend(compare_seconds(evidence, "fit", "bnn"));
    all
}

/// R² of the better ν-SVR above 0, on each file and between depths.
pub(super) fn predicts_everywhere(evidence: &Evidence) -> Vec<ClaimComparison> {
    let on_files = evidence.file_names(PaperPart::Table1).into_iter().filter_map(|curves| {
        Some(above_zero_comparison(curves, better_srm(|name| evidence.table_1(curves, name))?))
    });
    let mut all: Vec<ClaimComparison> = on_files.collect();
    let depths = evidence.compare_cells(PaperPart::Depth, |_| true).into_iter();
    // the sentence claims a forecast and no number, so each depth is compared with 0 instead of the published R²
    all.extend(depths.map(|cell| ClaimComparison {
        other: ReportedValue::from_published(0.0, 0.0),
        relation: ClaimedRelation::Larger,
        ..cell
    }));
    all
}

/// A speed-up of 6 in the MetaQNN space, by a setting that keeps the best, and in Hyperband.
pub(super) fn saves_six_times(evidence: &Evidence) -> Vec<ClaimComparison> {
    let mut all: Vec<ClaimComparison> = most_that_keeps_the_best(evidence, 6.0).into_iter().collect();
    for curves in evidence.hyperband_curves() {
        let rows = evidence.select_replays(|row| {
            row.part == PaperPart::Hyperband && row.curves == curves && row.predictor == Some(STOPPING_SRM)
        });
        all.extend(fastest_row(&rows).map(|row| compare_speedup(row, "most of ν-SVR in Hyperband", 6.0)));
    }
    all
}

/// R² above the other methods at 25 %, more saved than by extrapolation at Δ = 0.99, and the best kept.
pub(super) fn is_ahead_in_all(evidence: &Evidence) -> Vec<ClaimComparison> {
    let mut all =
        compare_srm_with_rivals(evidence, &RIVAL_METHODS, |_, fraction| (fraction - 0.25).abs() < 1e-9);
    all.extend(faster_than_extrapolation(evidence, &[0.99]));
    all.extend(keeps_the_best(evidence, |row| is_delta(row, 0.99)));
    all
}

/// The better ν-SVR above the better of random forest and least squares, on average over the files of table 1.
pub(super) fn svr_is_best_on_average(evidence: &Evidence) -> Vec<ClaimComparison> {
    let ours = better_srm(|name| table_1_mean(evidence, name));
    let other = best_value(["random-forest", "ols"].map(|name| table_1_mean(evidence, name)));
    ours.zip(other)
        .map(|(ours, other)| larger_comparison("three files".to_owned(), false, ours, other))
        .into_iter()
        .collect()
}

fn table_1_mean(evidence: &Evidence, name: &str) -> Option<ReportedValue> {
    // without the fourth column, because table 1 has only the first three
    let cells = TABLE_COLUMNS[..3].iter().map(|curves| evidence.table_1(curves, name));
    mean_value(&cells.collect::<Option<Vec<_>>>()?)
}

/// The better ν-SVR above the better of random forest and least squares, on each file.
pub(super) fn svr_is_best(evidence: &Evidence) -> Vec<ClaimComparison> {
    let best = evidence.file_names(PaperPart::Table1).into_iter().filter_map(|curves| {
        let other = best_value(["random-forest", "ols"].map(|name| evidence.table_1(curves, name)))?;
        let ours = better_srm(|name| evidence.table_1(curves, name))?;
        Some(larger_comparison(short_name(curves), is_own(curves), ours, other))
    });
    best.collect()
}

/// TS above AP and HP in each column of table 2.
pub(super) fn series_explain_most(evidence: &Evidence) -> Vec<ClaimComparison> {
    let pairs = evidence.file_names(PaperPart::Table2).into_iter();
    let pairs = pairs.flat_map(|curves| ["ap", "hp"].map(|other| (curves, other)));
    pairs.filter_map(|(curves, other)| table_2_larger(evidence, curves, "ts", other)).collect()
}

/// AP above HP where architectures vary; HP above nothing on our own `cuda-convnet`, whose AP do not vary.
pub(super) fn varied_parameters_matter(evidence: &Evidence) -> Vec<ClaimComparison> {
    let (own, released): (Vec<_>, Vec<_>) =
        evidence.file_names(PaperPart::Table2).into_iter().partition(|curves| is_own(curves));
    let mut all: Vec<ClaimComparison> =
        released.into_iter().filter_map(|curves| table_2_larger(evidence, curves, "ap", "hp")).collect();
    let nothing = ReportedValue { name: "AP".to_owned(), ..ReportedValue::from_published(0.0, 0.0) };
    all.extend(own.into_iter().filter_map(|curves| {
        Some(larger_comparison(short_name(curves), true, evidence.table_2(curves, "hp")?, nothing.clone()))
    }));
    all
}

/// The distance of AP from TS on TinyImageNet, against the published one.
pub(super) fn architecture_matches_series(evidence: &Evidence) -> Vec<ClaimComparison> {
    let ours = evidence.table_2(RESNET_CURVES, "ap").zip(evidence.table_2(RESNET_CURVES, "ts"));
    let ours = ours.and_then(|(parameters, series)| value_difference(parameters, &series));
    let other = value_difference(
        ReportedValue::from_published(84.33, 1.7),
        &ReportedValue::from_published(86.52, 1.85),
    );
    let compared = ours.zip(other).map(|(ours, other)| ClaimComparison {
        case: short_name(RESNET_CURVES),
        own: false,
        ours: ReportedValue { name: "AP − TS".to_owned(), ..ours },
        relation: ClaimedRelation::Equal,
        other,
    });
    compared.into_iter().collect()
}

pub(super) fn generalizes_to_depths(evidence: &Evidence) -> Vec<ClaimComparison> {
    evidence.compare_cells(PaperPart::Depth, |_| true)
}

/// The better ν-SVR above all other methods at each fraction of each file.
pub(super) fn srms_outperform(evidence: &Evidence) -> Vec<ClaimComparison> {
    compare_srm_with_rivals(evidence, &RIVAL_METHODS, |_, _| true)
}

/// The last value behind up to half of the curve, and at each fraction on the deep ResNets.
pub(super) fn last_value_is_late(evidence: &Evidence) -> Vec<ClaimComparison> {
    compare_srm_with_rivals(evidence, &["last-value"], |curves, fraction| {
        fraction < 0.51 || curves == RESNET_CURVES
    })
}

/// LCE behind the better ν-SVR at each fraction, without its forecasts outside the range of a fraction.
pub(super) fn lce_is_behind_without_outliers(evidence: &Evidence) -> Vec<ClaimComparison> {
    compare_with_rivals(
        evidence,
        |_| true,
        &["lce", "lce-domhan2015"],
        &|curves, fraction| better_srm(|name| evidence.observed_r2(curves, name, fraction)),
        &|curves, name, fraction| evidence.observed_r2_inside(curves, name, fraction),
    )
}

/// BNN behind the better ν-SVR at each fraction, and above the last value and LCE at the first ones.
pub(super) fn bnn_is_good_early(evidence: &Evidence) -> Vec<ClaimComparison> {
    let mut all = compare_srm_with_rivals(evidence, &["bnn"], |_, _| true);
    all.extend(compare_with_rivals(
        evidence,
        |fraction| fraction < 0.26,
        &["last-value", "lce-domhan2015", "lce"],
        &|curves, fraction| evidence.observed_r2(curves, "bnn", fraction),
        &|curves, name, fraction| evidence.observed_r2(curves, name, fraction),
    ));
    all
}

/// The better ν-SVR above BNN and LCE at each fraction, on the deep ResNets and the language models.
pub(super) fn outperforms_bayesian_on_deep_models(evidence: &Evidence) -> Vec<ClaimComparison> {
    compare_srm_with_rivals(evidence, &BAYESIAN_METHODS, |curves, _| {
        [RESNET_CURVES, LSTM_CURVES].contains(&curves)
    })
}

/// ν-SVR above LCE and BNN, and LCE above BNN, on a schedule that was never seen.
pub(super) fn order_on_another_schedule(evidence: &Evidence) -> Vec<ClaimComparison> {
    let order = [(STOPPING_SRM, "lce-domhan2015"), (STOPPING_SRM, "bnn"), ("lce-domhan2015", "bnn")];
    let compared = order.into_iter().filter_map(|(ours, other)| {
        let [ours, other] = [ours, other]
            .map(|name| evidence.find_figure(&format!("schedules 25 % {name} exponential"), name));
        Some(larger_comparison("own networks at 25 %".to_owned(), true, ours?, other?))
    });
    compared.collect()
}

/// A forecast of the other methods takes longer than one of ν-SVR.
pub(super) fn forecasts_are_fast(evidence: &Evidence) -> Vec<ClaimComparison> {
    BAYESIAN_METHODS.into_iter().filter_map(|name| compare_seconds(evidence, "forecast", name)).collect()
}

/// A fit and a forecast of the other methods take longer than those of ν-SVR.
pub(super) fn much_faster_than_bayesian(evidence: &Evidence) -> Vec<ClaimComparison> {
    compare_seconds(evidence, "fit", "bnn").into_iter().chain(forecasts_are_fast(evidence)).collect()
}

/// A forecast of LCE takes at least 100 times as long as one of ν-SVR.
pub(super) fn faster_by_orders_of_magnitude(evidence: &Evidence) -> Vec<ClaimComparison> {
    let compared = compare_seconds(evidence, "forecast", "lce-domhan2015");
    let compared = compared.map(|known| ClaimComparison {
        relation: ClaimedRelation::Reaches,
        other: ReportedValue {
            name: format!("100 · {}", known.other.name),
            mean: 100.0 * known.other.mean,
            stderr: known.other.stderr.map(|stderr| 100.0 * stderr),
            ..known.other
        },
        ..known
    });
    compared.into_iter().collect()
}

pub(super) fn saves_more_than_extrapolation(evidence: &Evidence) -> Vec<ClaimComparison> {
    faster_than_extrapolation(evidence, &[0.95, 0.99])
}

/// 3.4 times at Δ = 0.99, which keeps the best in more than half of the orders; the other Δ lose it in more than half.
pub(super) fn only_the_most_careful_is_reliable(evidence: &Evidence) -> Vec<ClaimComparison> {
    let careful = evidence.select_replays(|row| is_resnet_srm(row) && is_delta(row, 0.99));
    let mut all: Vec<ClaimComparison> =
        careful.iter().map(|row| compare_speedup(row, "speed-up at Δ = 0.99", 3.4)).collect();
    all.extend(keeps_the_best(evidence, |row| is_resnet_srm(row) && is_delta(row, 0.99)));
    let others = keeps_the_best(evidence, |row| is_resnet_srm(row) && !is_delta(row, 0.99));
    // the half is the larger
    all.extend(others.into_iter().map(|known| ClaimComparison {
        ours: known.other,
        other: known.ours,
        ..known
    }));
    all
}

fn is_resnet_srm(row: &ReplayRow) -> bool {
    row.curves == "deep_resnets_cifar10" && is_plain_srm(row)
}

pub(super) fn search_is_faster(evidence: &Evidence) -> Vec<ClaimComparison> {
    q_learning_reaches(evidence, 3.8).into_iter().collect()
}

/// A speed-up of 3 in the MetaQNN space and by Q-learning, and of 2 by f-Hyperband as printed.
pub(super) fn saves_three_times_and_two(evidence: &Evidence) -> Vec<ClaimComparison> {
    let mut all: Vec<ClaimComparison> = most_that_keeps_the_best(evidence, 3.0).into_iter().collect();
    all.extend(q_learning_reaches(evidence, 3.0));
    for curves in evidence.hyperband_curves() {
        let cold = evidence.find_hyperband_row(curves, "cold", Some(STOPPING_SRM));
        all.extend(cold.map(|row| compare_speedup(row, "speed-up of f-Hyperband", 2.0)));
    }
    all
}

/// The better ν-SVR above all other methods at each fraction, faster than the Bayesian ones, and saving more than extrapolation.
pub(super) fn outperforms_all(evidence: &Evidence) -> Vec<ClaimComparison> {
    let mut all = compare_srm_with_rivals(evidence, &RIVAL_METHODS, |_, _| true);
    all.extend(much_faster_than_bayesian(evidence));
    all.extend(saves_more_than_extrapolation(evidence));
    all
}

/// A speed-up of 2, and the best final values of the runs of the brackets as those of Hyperband.
pub(super) fn halves_hyperband(evidence: &Evidence) -> Vec<ClaimComparison> {
    let mut all = Vec::new();
    for curves in evidence.hyperband_curves() {
        let cold = evidence.find_hyperband_row(curves, "cold", Some(STOPPING_SRM));
        all.extend(cold.map(|row| compare_speedup(row, "speed-up", 2.0)));
        all.extend(best_against_hyperband(evidence, curves, ClaimedRelation::Equal));
    }
    all
}

/// A speed-up of at least 1 after each run of the brackets.
pub(super) fn is_never_slower(evidence: &Evidence) -> Vec<ClaimComparison> {
    let mut all = Vec::new();
    for curves in evidence.hyperband_curves() {
        let Some(row) = evidence.find_hyperband_row(curves, "cold", Some(STOPPING_SRM)) else { continue };
        all.extend(row.course.iterations.iter().map(|&(iteration, mean, stderr)| ClaimComparison {
            case: format!("{} after run {iteration:.0}", short_name(curves)),
            ours: ReportedValue { mean, stderr: Some(stderr), ..speedup_of(row, "speed-up") },
            other: ReportedValue { name: "Hyperband".to_owned(), ..ReportedValue::from_published(1.0, 0.0) },
            ..compare_speedup(row, "speed-up", 1.0)
        }));
    }
    all
}

/// More saved with earlier runs than without, and 7 times by some setting.
pub(super) fn earlier_runs_help(evidence: &Evidence) -> Vec<ClaimComparison> {
    let mut all = Vec::new();
    for curves in evidence.hyperband_curves() {
        let [warm, cold] =
            ["warm", "cold"].map(|variant| evidence.find_hyperband_row(curves, variant, Some(STOPPING_SRM)));
        all.extend(warm.zip(cold).map(|(warm, cold)| {
            let (ours, other) = (speedup_of(warm, "with earlier runs"), speedup_of(cold, "without"));
            larger_comparison(short_name(curves), is_own(curves), ours, other)
        }));
        let rows = evidence.select_replays(|row| {
            row.curves == curves && row.variant == "warm" && row.predictor == Some(STOPPING_SRM)
        });
        all.extend(fastest_row(&rows).map(|row| compare_speedup(row, "most with earlier runs", 7.0)));
    }
    all
}

/// The best so far above that of Hyperband at each moment, and with κ = 1 the best of a run not below it.
pub(super) fn is_above_hyperband(evidence: &Evidence) -> Vec<ClaimComparison> {
    let mut all = Vec::new();
    for curves in evidence.hyperband_curves() {
        all.extend(above_at_all_moments(evidence, curves));
        all.extend(best_against_hyperband(evidence, curves, ClaimedRelation::Reaches));
    }
    all
}

pub(super) fn hundred_models_after_ten(evidence: &Evidence) -> Vec<ClaimComparison> {
    evidence.hyperband_curves().into_iter().filter_map(|curves| trained_after_ten(evidence, curves)).collect()
}

const METAQNN_CURVES: &str = "metaqnn_cifar10";
const RESNET_CURVES: &str = "deep_resnets_tinyimagenet";
const LSTM_CURVES: &str = "lstm_ptb";

/// The methods that the paper compares its SRMs with; `lce` is our variant of the published one.
const RIVAL_METHODS: [&str; 4] = ["last-value", "lce-domhan2015", "lce", "bnn"];

/// Those of them that are Bayesian.
const BAYESIAN_METHODS: [&str; 2] = ["lce-domhan2015", "bnn"];

fn larger_comparison(case: String, own: bool, ours: ReportedValue, other: ReportedValue) -> ClaimComparison {
    ClaimComparison { case, own, ours, relation: ClaimedRelation::Larger, other }
}

fn observed_label(curves: &str, fraction: f64) -> String {
    format!("{} at {:.0} %", short_name(curves), 100.0 * fraction)
}

fn best_value(values: impl IntoIterator<Item = Option<ReportedValue>>) -> Option<ReportedValue> {
    values.into_iter().flatten().max_by(|a, b| a.mean.total_cmp(&b.mean))
}

/// The better of both ν-SVR: "either one or both SRMs".
fn better_srm(value: impl Fn(&str) -> Option<ReportedValue>) -> Option<ReportedValue> {
    best_value(SRM_PREDICTORS.map(value))
}

/// The mean of independent values.
fn mean_value(values: &[ReportedValue]) -> Option<ReportedValue> {
    let count = values.len() as f64;
    let square: Option<f64> = values.iter().map(|value| value.stderr.map(|stderr| stderr * stderr)).sum();
    Some(ReportedValue {
        mean: values.iter().map(|value| value.mean).sum::<f64>() / count,
        stderr: square.map(|square| square.sqrt() / count),
        ..values.first()?.clone()
    })
}

fn above_zero_comparison(curves: &str, ours: ReportedValue) -> ClaimComparison {
    larger_comparison(
        short_name(curves),
        is_own(curves),
        ours,
        ReportedValue { name: "nothing".to_owned(), ..ReportedValue::from_published(0.0, 0.0) },
    )
}

/// The better ν-SVR against each rival, on each file at the fractions that are `is_wanted`.
fn compare_srm_with_rivals(
    evidence: &Evidence,
    rivals: &[&str],
    is_wanted: fn(&str, f64) -> bool,
) -> Vec<ClaimComparison> {
    compare_with_rivals(
        evidence,
        |_| true,
        rivals,
        &|curves, fraction| {
            better_srm(|name| evidence.observed_r2(curves, name, fraction))
                .filter(|_| is_wanted(curves, fraction))
        },
        &|curves, name, fraction| evidence.observed_r2(curves, name, fraction),
    )
}

/// Ours against each rival, on each file at the fractions that are `is_wanted`.
fn compare_with_rivals(
    evidence: &Evidence,
    is_wanted: fn(f64) -> bool,
    rivals: &[&str],
    ours: &dyn Fn(&str, f64) -> Option<ReportedValue>,
    cell: &dyn Fn(&str, &str, f64) -> Option<ReportedValue>,
) -> Vec<ClaimComparison> {
    let mut all = Vec::new();
    for curves in evidence.file_names(PaperPart::Observed) {
        for fraction in
            evidence.observed_fractions(curves).into_iter().filter(|&fraction| is_wanted(fraction))
        {
            let Some(own) = ours(curves, fraction) else { continue };
            let rivals = rivals.iter().filter_map(|name| cell(curves, name, fraction));
            all.extend(rivals.map(|rival| {
                larger_comparison(observed_label(curves, fraction), is_own(curves), own.clone(), rival)
            }));
        }
    }
    all
}

fn table_2_larger(evidence: &Evidence, curves: &str, ours: &str, other: &str) -> Option<ClaimComparison> {
    let (ours, other) = (evidence.table_2(curves, ours)?, evidence.table_2(curves, other)?);
    Some(larger_comparison(short_name(curves), is_own(curves), ours, other))
}

/// a − b with its standard error.
fn value_difference(a: ReportedValue, b: &ReportedValue) -> Option<ReportedValue> {
    Some(ReportedValue { mean: a.mean - b.mean, stderr: Some(a.stderr?.hypot(b.stderr?)), ..a })
}

/// Seconds of a fit or a forecast of another method, against those of ν-SVR with RBF.
fn compare_seconds(evidence: &Evidence, of: &str, other: &str) -> Option<ClaimComparison> {
    let [other, ours] = [other, "svr-rbf"].map(|name| {
        evidence.find_figure(&format!("seconds of a {of}, {name}"), &format!("seconds of {name}"))
    });
    // the other method's seconds stand first, because they are claimed to be the larger ones
    Some(larger_comparison(format!("MetaQNN at 25 %, a {of}"), false, other?, ours?))
}

/// Whether a row is of the paper's plain rule: the SRM, without an offset, against the best so far.
fn is_plain_srm(row: &ReplayRow) -> bool {
    row.part == PaperPart::Stopping && row.predictor == Some(STOPPING_SRM) && row.variant == "delta"
}

fn is_delta(row: &ReplayRow, delta: f64) -> bool {
    row.stop_probability.is_some_and(|own| (own - delta).abs() < 1e-9)
}

fn fastest_row<'a>(rows: &[&'a ReplayRow]) -> Option<&'a ReplayRow> {
    rows.iter().copied().max_by(|a, b| a.numbers.speedup_mean.total_cmp(&b.numbers.speedup_mean))
}

fn compare_speedup(row: &ReplayRow, name: &str, published: f64) -> ClaimComparison {
    ClaimComparison {
        case: short_name(row.curves),
        own: is_own(row.curves),
        ours: speedup_of(row, name),
        relation: ClaimedRelation::Reaches,
        other: ReportedValue::from_published(published, 0.0),
    }
}

/// The most that ν-SVR saves in the MetaQNN space while it keeps the best in more than half of the orders.
fn most_that_keeps_the_best(evidence: &Evidence, published: f64) -> Option<ClaimComparison> {
    let rows = evidence.select_replays(|row| {
        row.part == PaperPart::Stopping
            && row.curves == METAQNN_CURVES
            && row.predictor == Some(STOPPING_SRM)
            && keeps_best_run(row)
    });
    Some(compare_speedup(fastest_row(&rows)?, "most of ν-SVR that keeps the best", published))
}

/// Whether the best run is kept in more than half of the orders.
fn keeps_best_run(row: &ReplayRow) -> bool {
    row.numbers.best_kept.is_some_and(|kept| kept > 0.5)
}

fn q_learning_reaches(evidence: &Evidence, published: f64) -> Option<ClaimComparison> {
    Some(ClaimComparison {
        case: "own networks".to_owned(),
        own: true,
        ours: evidence.find_figure("q-learning speed-up", "speed-up")?,
        relation: ClaimedRelation::Reaches,
        other: ReportedValue::from_published(published, 0.0),
    })
}

/// The best of a run of f-Hyperband as printed, against that of Hyperband.
fn best_against_hyperband(
    evidence: &Evidence,
    curves: &str,
    relation: ClaimedRelation,
) -> Option<ClaimComparison> {
    let ours = evidence.find_hyperband_row(curves, "cold", Some(STOPPING_SRM))?;
    let ours = best_score_of_run(ours, "best of a run of f-Hyperband")?;
    let other = best_score_of_run(evidence.find_hyperband_row(curves, "none", None)?, "of Hyperband")?;
    Some(ClaimComparison { relation, ..larger_comparison(short_name(curves), is_own(curves), ours, other) })
}

fn best_score_of_run(row: &ReplayRow, name: &str) -> Option<ReportedValue> {
    let value = best_of_run(row, name)?;
    // as a score, because a perplexity that is larger is worse
    Some(ReportedValue { mean: metric_direction(row.curves).to_score(value.mean), ..value })
}

/// Compares the savings of the SRM with those of extrapolation from the second run on, as published and ours, each by the fastest rule that keeps the
/// best in more than half of the orders, in the MetaQNN space.
fn faster_than_extrapolation(evidence: &Evidence, deltas: &[f64]) -> Vec<ClaimComparison> {
    let pairs = deltas.iter().flat_map(|&delta| EXTRAPOLATION_PREDICTORS.map(|name| (delta, name)));
    let compared = pairs.filter_map(|(delta, extrapolation)| {
        let here = evidence.select_replays(|row| row.curves == METAQNN_CURVES && is_delta(row, delta));
        let ours = speedup_of(here.iter().find(|row| is_plain_srm(row))?, "ν-SVR");
        let mut others = here;
        others.retain(|row| row.predictor == Some(extrapolation) && row.burn_in == 1 && keeps_best_run(row));
        let other = speedup_of(fastest_row(&others)?, extrapolation);
        Some(larger_comparison(format!("MetaQNN, Δ = {delta}"), false, ours, other))
    });
    compared.collect()
}

/// Compares the fraction of orders in which the SRM keeps the best run with a half.
fn keeps_the_best(evidence: &Evidence, is_wanted: impl Fn(&ReplayRow) -> bool) -> Vec<ClaimComparison> {
    let rows = evidence.select_replays(|row| is_plain_srm(row) && is_wanted(row));
    let half = ReportedValue { name: "half".to_owned(), ..ReportedValue::from_published(0.5, 0.0) };
    let compared = rows.iter().filter_map(|row| {
        let case = format!("{}, Δ = {}", short_name(row.curves), row.stop_probability?);
        Some(larger_comparison(case, is_own(row.curves), best_kept_fraction(row)?, half.clone()))
    });
    compared.collect()
}

/// The 10 % to 90 % band of a normal distribution, in standard deviations.
const BAND_STANDARD_DEVIATIONS: f64 = 2.563;

/// The best so far of f-Hyperband against that of Hyperband at each moment that both have; the standard error follows from the band.
fn above_at_all_moments(evidence: &Evidence, curves: &str) -> Vec<ClaimComparison> {
    let rows = (
        evidence.find_hyperband_row(curves, "cold", Some(STOPPING_SRM)),
        evidence.find_hyperband_row(curves, "none", None),
    );
    let (Some(ours), Some(plain)) = rows else { return Vec::new() };
    let moments = ours.course.trajectory.len().min(plain.course.trajectory.len());
    let compared = (0..moments).filter_map(|index| {
        let (resource, ours) = best_so_far_score(ours, "f-Hyperband", index)?;
        let (_, other) = best_so_far_score(plain, "Hyperband", index)?;
        Some(larger_comparison(
            format!("{} after {resource:.0} epochs", short_name(curves)),
            is_own(curves),
            ours,
            other,
        ))
    });
    compared.collect()
}

/// The best so far at a moment of a row, by the epochs that were spent.
fn best_so_far_score(row: &ReplayRow, name: &str, index: usize) -> Option<(f64, ReportedValue)> {
    let point = row.course.trajectory.get(index)?;
    let stderr = (point.high - point.low) / BAND_STANDARD_DEVIATIONS / (row.numbers.orderings as f64).sqrt();
    let sample = Some(SampleSize { runs: row.numbers.runs, repeats: row.numbers.orderings, seeds: 1 });
    let mean = metric_direction(row.curves).to_score(point.middle);
    let value = ReportedValue { name: name.to_owned(), mean, stderr: Some(stderr), sample };
    stderr.is_finite().then_some((point.resource, value))
}

/// The models that ten runs of the brackets have trained to R, against 100.
fn trained_after_ten(evidence: &Evidence, curves: &str) -> Option<ClaimComparison> {
    let row = evidence.find_hyperband_row(curves, "none", None)?;
    let per_run = row.numbers.runs as u64 / HYPERBAND_RUNS;
    // the configurations of a run tell the number of brackets, and these the models that reach R
    let totals = (2..9).find_map(|power| {
        plan(HYPERBAND_ETA.pow(power), HYPERBAND_ETA)
            .ok()
            .map(|plan| plan.totals())
            .filter(|totals| totals.configurations == per_run)
    })?;
    let sample = Some(SampleSize { runs: row.numbers.runs, repeats: row.numbers.orderings, seeds: 1 });
    Some(ClaimComparison {
        case: short_name(curves),
        own: is_own(curves),
        ours: ReportedValue {
            name: "models at R after ten runs".to_owned(),
            mean: 10.0 * totals.full as f64,
            stderr: Some(0.0),
            sample,
        },
        relation: ClaimedRelation::Reaches,
        other: ReportedValue::from_published(100.0, 0.0),
    })
}

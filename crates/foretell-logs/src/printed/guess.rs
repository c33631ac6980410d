//! Guesses the metric among the numbers that a training prints, if nobody names it.

use super::collector::{MetricFilter, SeriesCollector};
use super::pattern::MetricPattern;
use super::protocol::MetricSource;
use super::reader::{OutputReports, ReportReader};
use super::report::Report;
use super::series::{ChosenSeries, CollectedSeries, SeriesUnit};
use super::template::of_line;
use super::words::{Stage, split_stage};
use crate::names::{is_of_agent, prominence};
use foretell::{Direction, direction_of};
use std::cmp::Reverse;

/// A guess of the metric.
#[derive(Clone, Debug)]
pub struct MetricGuess {
    /// The value for `--metric`: a name, or a template of its line.
    pub source: String,
    /// The label.
    pub name: String,
    /// The reports.
    pub whole: OutputReports,
    /// Other names that were printed with a known direction.
    pub others: Vec<String>,
}

/// The most likely metric in `text`, a whole output or the beginning of one; `None` if no printed name is known for a metric's.
pub fn guess_metric(text: &str) -> Option<MetricGuess> {
    let collector = collect_series(text);
    let ranked = rank_series(&collector.series);
    // a series that no name and no template finds again leaves its place to the next one
    let (best, (source, whole)) =
        ranked.iter().find_map(|series| Some((*series, find_metric_source(series, &collector, text)?)))?;
    let label = best.key.label.clone();
    let mut others: Vec<String> =
        ranked.iter().map(|series| series.key.label.clone()).filter(|other| *other != label).collect();
    others.sort();
    others.dedup();
    Some(MetricGuess { source, name: label, whole, others })
}

/// All series of `text`.
pub(crate) fn collect_series(text: &str) -> SeriesCollector {
    let mut collector = SeriesCollector::new(MetricFilter::All);
    for line in text.split(['\n', '\r']).filter(|line| !line.is_empty()) {
        collector.take(line.as_bytes(), false, &mut []);
    }
    collector.finish();
    collector
}

/// The series whose labels are known for a metric's, the likeliest first.
pub(crate) fn rank_series(series: &[CollectedSeries]) -> Vec<&CollectedSeries> {
    let mut known: Vec<&CollectedSeries> =
        series.iter().filter(|series| direction_of(&series.key.label).is_some()).collect();
    // a script may print its final value alone
    let has_current = known.iter().any(|series| !series.key.is_past);
    known.retain(|series| !(series.key.is_past && has_current));
    let most = series.iter().map(|series| series.count).max().unwrap_or_default();
    let of_training: Vec<bool> = known.iter().map(|series| is_of_training(series, &known)).collect();
    let mut places: Vec<usize> = (0..known.len()).collect();
    places.sort_by_key(|&at| Reverse((series_rank(known[at], most, of_training[at]), known[at].count)));
    known = places.into_iter().map(|at| known[at]).collect();
    known
}

/// The labels that nothing but their numbers of values distinguishes from the likeliest one, which is the first.
pub(crate) fn tied_labels(ranked: &[&CollectedSeries]) -> Vec<String> {
    let most = ranked.iter().map(|series| series.count).max().unwrap_or_default();
    let ranks = ranked.iter().map(|series| series_rank(series, most, is_of_training(series, ranked)));
    let best = ranks.clone().next();
    let mut labels: Vec<String> = ranked
        .iter()
        .zip(ranks)
        .filter(|(_, rank)| Some(rank) == best.as_ref())
        .map(|(series, _)| series.key.label.clone())
        .collect();
    labels.dedup();
    labels
}

/// Whether a series without a stage is that of the training: its line or the output also has a held-out value.
fn is_of_training(series: &CollectedSeries, known: &[&CollectedSeries]) -> bool {
    let (core, _) = split_stage(&series.key.label);
    let is_loss = direction_of(&series.key.label) == Some(Direction::Minimize);
    let is_often = series.key.is_batched || series.is_many();
    series.key.stage == Stage::Unsaid
        && known.iter().filter(|other| is_held_out(other)).any(|other| {
            // in a line with `Validation Loss`, `Accuracy` is of held-out data, too
            is_often
                || other.key.shape == series.key.shape && (is_loss || split_stage(&other.key.label).0 == core)
        })
}

pub(crate) fn is_held_out(series: &CollectedSeries) -> bool {
    matches!(series.key.stage, Stage::Validation | Stage::Test)
}

/// The value for `--metric` that finds a series again, in the whole output as line by line, and its reports.
fn find_metric_source(
    series: &CollectedSeries,
    collector: &SeriesCollector,
    text: &str,
) -> Option<(String, OutputReports)> {
    let label = &series.key.label;
    let mut chosen = ChosenSeries::new(&series.key, SeriesUnit::Epoch);
    collector.describe(&mut chosen);
    let named = MetricSource::Json { field: Some(label.clone()) };
    let wanted = comparable_values(
        &ReportReader::new(named, 0).with_chosen_series(Some(chosen)).read_all(text).reports,
    );
    sources(series).into_iter().find_map(|source| {
        let parsed = MetricSource::parse(&source).ok()?;
        let whole = ReportReader::new(parsed.clone(), 0).read_all(text);
        let is_same = comparable_values(&whole.reports) == wanted
            // a search reads line by line, so that a metric that only the whole output shows is of no use. Of several
            // trainings it reads the first one, and cannot be compared
            && (whole.trainings.len() > 1
                || whole.goes_back
                || comparable_values(&ReportReader::new(parsed, 0).read_lines(text)) == wanted);
        is_same.then_some((source, whole))
    })
}

fn comparable_values(reports: &[Report]) -> Vec<(u64, Option<u64>)> {
    reports.iter().map(|report| (report.step, report.value.map(f64::to_bits))).collect()
}

/// Values of `--metric` that may name the series, the simplest first.
fn sources(series: &CollectedSeries) -> Vec<String> {
    let label = &series.key.label;
    let is_name = matches!(MetricSource::parse(label), Ok(MetricSource::Json { .. }));
    let template = of_line(&series.example, label);
    let mut sources = if is_name { vec![label.clone()] } else { Vec::new() };
    if MetricPattern::from_template(&template).is_ok() {
        sources.push(template);
    }
    sources.extend(super::template::whole_line_template(&series.example, label));
    sources
}

/// The rank of a series, by its properties in their order.
type SeriesRank = (bool, bool, u8, bool, u8, bool, (bool, bool, bool, bool));

/// The rank of a series: best is repeated, held out, a score rather than a loss, the most telling by itself, one value per epoch.
fn series_rank(series: &CollectedSeries, most: u64, is_of_training: bool) -> SeriesRank {
    let CollectedSeries { key, count, varies, .. } = series;
    let is_whole = (!series.is_many(), !key.is_batched, key.group.is_empty(), key.nth == 0);
    let is_score = direction_of(&key.label) == Some(Direction::Maximize);
    let held_out = match key.stage {
        Stage::Unsaid if is_of_training => 0,
        Stage::Validation | Stage::Unsaid => 2,
        Stage::Test => 1,
        Stage::Training => 0,
    };
    // an agent may earn the same for long before it learns
    let changes = *varies || *count < 3 || is_of_agent(&key.label);
    (
        *count > 1 || most == 1,
        changes,
        held_out,
        is_score,
        prominence(&key.label),
        key.stage == Stage::Validation,
        is_whole,
    )
}

#[cfg(test)]
mod tests {
    use super::guess_metric;

    #[test]
    fn the_held_out_score_is_found() {
        let cases: [(&[&str], &str); 12] = [
            (&["Epoch 1/10 loss: 0.9 acc: 0.5 val_loss: 0.8 val_acc: 0.6"], "val_acc"),
            (&["{'eval_loss': '0.5', 'epoch': '1.0'}"], "eval_loss"),
            (&["epoch,loss,val_acc", "1,0.9,0.5"], "val_acc"),
            (&["step 10: train_loss 2.0", "step 20: train_loss 1.0"], "train_loss"),
            (
                &[
                    "epoch 1: train accuracy: 0.9, val accuracy: 0.7",
                    "epoch 2: train accuracy: 0.9, val accuracy: 0.8",
                ],
                "val accuracy",
            ),
            (&["lr=0.1 seed=3 val/acc=0.5"], "val/acc"),
            (&["epoch 1 of 5: perplexity 30.5"], "perplexity"),
            (
                &[
                    "epoch 1 mAP50 0.6 mAP50-95 0.4 box_loss 1.2",
                    "epoch 2 mAP50 0.7 mAP50-95 0.5 box_loss 1.1",
                ],
                "mAP50-95",
            ),
            (&["Epoch 1 Acc@5 90.1 Acc@1 70.2", "Epoch 2 Acc@5 91.1 Acc@1 71.2"], "Acc@1"),
            (&["epoch 1 val Acc 0.5 Best val Acc 0.5", "epoch 2 val Acc 0.4 Best val Acc 0.5"], "val Acc"),
            (&["target_acc 0.99", "epoch 1 train_loss 0.5", "epoch 2 train_loss 0.4"], "train_loss"),
            (
                &[
                    "epoch 1",
                    "[train] loss 0.5",
                    "[val] loss 0.4",
                    "epoch 2",
                    "[train] loss 0.4",
                    "[val] loss 0.3",
                ],
                "loss",
            ),
        ];
        for (lines, expected) in cases {
            let found = guess_metric(&lines.join("\n")).unwrap_or_else(|| panic!("{lines:?}"));
            assert_eq!(found.source, expected, "{lines:?}");
        }
        let boosting: String =
            (1..=6).map(|round| format!("[{round}]\tvalid_0's l2: {}\n", 2.0 / f64::from(round))).collect();
        let boosting = format!("[LightGBM] [Info] Start training from score -0.035752\n{boosting}");
        assert_eq!(guess_metric(&boosting).expect("the loss").name, "valid_0's l2");
        assert!(guess_metric("hello 3").is_none() && guess_metric("epoch 3").is_none());
    }
}

//! Guesses the metric among the numbers that a training prints, if nobody names it.

use super::collector::{Collector, Wanted};
use super::pattern::MetricPattern;
use super::protocol::MetricSource;
use super::reader::{ReportReader, Whole};
use super::series::{Chosen, Series, Unit};
use super::template::of_line;
use super::text::plain;
use super::words::Stage;
use crate::names::prominence;
use foretell::{Direction, direction_of};

/// A guess of the metric.
#[derive(Clone, Debug)]
pub struct Guess {
    /// The value for `--metric`: a name, or a template of its line.
    pub source: String,
    /// Its label.
    pub name: String,
    /// Its reports.
    pub whole: Whole,
    /// Other names that were printed with a known direction.
    pub others: Vec<String>,
}

/// The most likely metric in `text`, a whole output or the beginning of one; `None` if no printed name is known for a metric's.
pub fn guess(text: &str) -> Option<Guess> {
    let mut collector = Collector::new(Wanted::All);
    for line in text.split(['\n', '\r']).filter(|line| !line.is_empty()) {
        collector.take(&plain(line.as_bytes()).text, false);
    }
    collector.finish();
    let series = &collector.series;
    let most = series.iter().map(|series| series.count).max()?;
    let is_known = |series: &Series| direction_of(&series.key.label).is_some();
    // a script may print its final value alone
    let has_current = series.iter().any(|series| is_known(series) && !series.key.is_past);
    let known = |series: &&Series| is_known(series) && !(series.key.is_past && has_current);
    let best = series.iter().rev().filter(known).max_by_key(|series| rank(series, most))?;
    let label = best.key.label.clone();
    let mut others: Vec<String> = series
        .iter()
        .filter(known)
        .map(|series| series.key.label.clone())
        .filter(|other| *other != label)
        .collect();
    others.sort();
    others.dedup();
    let mut chosen = Chosen::new(&best.key, Unit::Epoch);
    chosen.below = collector.is_below == Some(true);
    let named = MetricSource::Json { field: Some(label.clone()) };
    let wanted = ReportReader::new(named.clone(), 0).with_chosen(Some(chosen)).read_all(text);
    let (source, whole) = sources(best).into_iter().find_map(|source| {
        let parsed = MetricSource::parse(&source).ok()?;
        let read = ReportReader::new(parsed, 0).read_all(text);
        let same = read.reports.len() == wanted.reports.len()
            && read
                .reports
                .iter()
                .zip(&wanted.reports)
                .all(|(one, other)| (one.step, one.value) == (other.step, other.value));
        same.then_some((source, read))
    })?;
    Some(Guess { source, name: label, whole, others })
}

/// Values of `--metric` that may name the series, the simplest first.
fn sources(series: &Series) -> Vec<String> {
    let label = &series.key.label;
    let is_name = matches!(MetricSource::parse(label), Ok(MetricSource::Json { .. }));
    let template = of_line(&series.example, label);
    let mut sources = if is_name { vec![label.clone()] } else { Vec::new() };
    if MetricPattern::template(&template).is_ok() {
        sources.push(template);
    }
    sources.extend(super::template::of_whole_line(&series.example, label));
    sources
}

/// The rank of a series: best is repeated, held out, a score rather than a loss, the most telling by itself, one value per epoch.
fn rank(series: &Series, most: u64) -> impl Ord + use<> {
    let Series { key, count, varies, .. } = series;
    let is_score = direction_of(&key.label) == Some(Direction::Maximize);
    let held_out = match key.stage {
        Stage::Validation | Stage::Unsaid => 2,
        Stage::Test => 1,
        Stage::Training => 0,
    };
    (
        *count > 1 || most == 1,
        *varies || *count < 3,
        held_out,
        is_score,
        prominence(&key.label),
        key.stage == Stage::Validation,
        (!series.is_many(), !key.is_batched, key.group.is_empty(), key.nth == 0),
        *count,
    )
}

#[cfg(test)]
mod tests {
    use super::guess;

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
            let found = guess(&lines.join("\n")).unwrap_or_else(|| panic!("{lines:?}"));
            assert_eq!(found.source, expected, "{lines:?}");
        }
        let boosting: String =
            (1..=6).map(|round| format!("[{round}]\tvalid_0's l2: {}\n", 2.0 / f64::from(round))).collect();
        let boosting = format!("[LightGBM] [Info] Start training from score -0.035752\n{boosting}");
        assert_eq!(guess(&boosting).expect("the loss").name, "valid_0's l2");
        assert!(guess("hello 3").is_none() && guess("epoch 3").is_none());
    }
}

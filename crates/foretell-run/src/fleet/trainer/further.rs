//! Trials that train several times, one after the other: folds, stages, repeats.

use std::collections::BTreeMap;

use super::link::TrainingMessage;
use crate::host::hosted::MetricReading;
use crate::process::message::FurtherScore;
use foretell_logs::printed::{Report, final_value};

/// The trainings of a trial after its first one. The report of the last epoch waits for them: it is the score.
#[derive(Debug, Default)]
pub(super) struct FurtherTrainings {
    held: Option<MetricReading>,
    /// The reports of each training so far: how many, the last step, and its value.
    trainings: BTreeMap<u64, (u64, u64, Option<f64>)>,
}

impl FurtherTrainings {
    /// Takes a report of a training after the first one.
    pub(super) fn take_report(&mut self, report: &Report) {
        let training = self.trainings.entry(report.training).or_default();
        *training = (training.0 + 1, training.1.max(report.step), report.value);
    }

    /// Holds the report of the last epoch, and returns the one that was held.
    pub(super) fn hold_report(&mut self, reading: MetricReading) -> Option<MetricReading> {
        self.held.replace(reading)
    }

    /// Whether a report is held.
    pub(super) fn is_holding(&self) -> bool {
        self.held.is_some()
    }

    /// The report that was held.
    pub(super) fn release_report(&mut self) -> Option<MetricReading> {
        self.held.take()
    }

    /// The messages at the end of attempt number `attempt`: the report of the last epoch with the score, and the epochs of the further trainings.
    /// With them, how often it trained and what it counts with, if that was more than once.
    ///
    /// The first training has `reached` a step: epochs beyond it are not added, because they would continue its curve without a value.
    pub(super) fn final_messages(
        &mut self,
        tail: &[String],
        attempt: u64,
        reached: u64,
    ) -> (Vec<TrainingMessage>, Option<(u64, FurtherScore)>) {
        let Self { held, trainings } = std::mem::take(self);
        // a single value is that of a test or of the best model
        let trainings: Vec<(u64, Option<f64>)> = trainings
            .into_values()
            .filter(|(reports, ..)| *reports > 1)
            .map(|(_, step, value)| (step, value))
            .collect();
        if trainings.is_empty() {
            return (held.into_iter().map(TrainingMessage::Report).collect(), None);
        }
        let (mut heard, mut score) = (Vec::new(), FurtherScore::First);
        if let Some(last) = held {
            let ends: Vec<f64> =
                std::iter::once(last.value).chain(trainings.iter().map(|it| it.1)).flatten().collect();
            let (value, of) = choose_score(&ends, final_value(tail));
            score = of;
            heard.push(TrainingMessage::Report(MetricReading { value, ..last }));
        }
        // their epochs were trained in addition to those of the first one
        for &(step, _) in &trainings {
            heard.push(TrainingMessage::Began { after: 0, attempt });
            heard.push(TrainingMessage::Report(MetricReading {
                step: step.min(reached),
                ..MetricReading::default()
            }));
        }
        (heard, Some((trainings.len() as u64 + 1, score)))
    }
}

/// The score of trainings that ended at `ends`: the number that was `printed` last, if it lies among them.
fn choose_score(ends: &[f64], printed: Option<f64>) -> (Option<f64>, FurtherScore) {
    let (least, most) = ends
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), end| (least.min(*end), most.max(*end)));
    // a summary is rounded
    let margin = 0.01 * (most - least).abs() + 1e-6 * most.abs();
    match printed.filter(|value| (least - margin..=most + margin).contains(value)) {
        Some(printed) => (Some(printed), FurtherScore::Printed),
        None => {
            let mean = ends.iter().sum::<f64>() / ends.len() as f64;
            (Some(mean).filter(|mean| mean.is_finite()), FurtherScore::Mean)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BTreeMap, FurtherScore, FurtherTrainings, MetricReading, Report, TrainingMessage};

    fn report(training: u64, step: u64, value: f64) -> Report {
        Report { step, value: Some(value), training, metrics: BTreeMap::new() }
    }

    /// Steps and values, how often a training began, and the notice.
    type Ended = (Vec<(u64, Option<f64>)>, u64, Option<(u64, FurtherScore)>);

    fn folds(tail: &[&str]) -> Ended {
        let mut further = FurtherTrainings::default();
        assert!(
            further
                .hold_report(MetricReading { step: 5, value: Some(0.8), ..MetricReading::default() })
                .is_none()
        );
        for (training, end) in [(1, 0.7), (2, 0.9)] {
            (1..=5)
                .for_each(|step| further.take_report(&report(training, step, end - 0.1 * (5 - step) as f64)));
        }
        further.take_report(&report(3, 1, 0.5)); // a test
        let tail: Vec<String> = tail.iter().map(|line| (*line).to_owned()).collect();
        let (heard, notice) = further.final_messages(&tail, 1, 5);
        let begun =
            heard.iter().filter(|heard| matches!(heard, TrainingMessage::Began { after: 0, .. })).count()
                as u64;
        let reports = heard.into_iter().filter_map(|heard| match heard {
            TrainingMessage::Report(reading) => Some((reading.step, reading.value)),
            _ => None,
        });
        (reports.collect(), begun, notice)
    }

    #[test]
    fn folds_count_with_the_printed_summary_or_the_mean_and_all_their_epochs_are_counted() {
        let (reports, begun, notice) = folds(&["epoch 5 acc 0.9", "mean: 0.81"]);
        assert_eq!((reports, begun), (vec![(5, Some(0.81)), (5, None), (5, None)], 2));
        assert_eq!(notice, Some((3, FurtherScore::Printed)));
        let (reports, _, notice) = folds(&["took 12.5 s"]);
        assert!(reports[0].1.is_some_and(|mean| (mean - 0.8).abs() < 1e-12), "{reports:?}");
        assert_eq!(notice, Some((3, FurtherScore::Mean)));
    }

    #[test]
    fn a_longer_training_after_a_short_one_leaves_no_value_without_a_number() {
        let mut further = FurtherTrainings::default();
        (1..=8).for_each(|step| further.take_report(&report(1, step, 0.1)));
        let (heard, _) = further.final_messages(&[], 1, 3);
        let steps = heard.iter().filter_map(|heard| match heard {
            TrainingMessage::Report(reading) => Some(reading.step),
            _ => None,
        });
        assert_eq!(steps.collect::<Vec<_>>(), [3], "the first training has recorded this step");
    }

    #[test]
    fn a_trial_of_one_training_ends_with_the_report_that_was_held() {
        let mut further = FurtherTrainings::default();
        let last = MetricReading { step: 5, value: Some(0.8), ..MetricReading::default() };
        further.hold_report(last.clone());
        let (heard, notice) = further.final_messages(&[], 1, 5);
        assert!(
            matches!(heard.as_slice(), [TrainingMessage::Report(reading)] if *reading == last)
                && notice.is_none()
        );
    }
}

//! The metric of a script, chosen from the values that it logs and the numbers that it prints, and the values read of it.

use super::doubt::{Doubt, LineChoice};
use super::logged::{self, LoggedSeries};
use super::loops;
use super::probe::OutputSample;
use super::values::{may_be_metric, short};
use foretell::Direction;
use foretell_logs::printed::{
    DataRole, FirstTrial, MetricChoice, MetricSource, OutputReports, PrintedSeries, Report, ReportReader,
    TrainingSequence, is_rival, metric_name_in, settle_first_trial,
};
use foretell_logs::{direction_of, prominence};
use foretell_run::PRINTED_SOURCE;
use std::path::PathBuf;

/// How many values are shown.
const MAX_SHOWN_VALUES: usize = 4;

/// The metric, as far as it can be recognized.
#[derive(Clone, Debug)]
pub(super) struct FoundMetric {
    /// The value of `--metric`.
    pub(super) source: String,
    /// The library that logs it; `None` for a number in the output.
    pub(super) library: Option<String>,
    /// Name of the metric.
    pub(super) name: String,
    pub(super) minimize: bool,
    /// The other metrics, with their sources.
    pub(super) others: Vec<String>,
    /// The table that contains it.
    pub(super) table: Option<PathBuf>,
    /// Whether it is reported only once, at the end.
    pub(super) once: bool,
    /// The values that will be read of the output.
    pub(super) whole: OutputReports,
    /// The data that it is measured on.
    stage: DataRole,
    /// Whether the script itself selects by it.
    pub(super) is_watched: bool,
    /// The reasons why a person should confirm it.
    pub(super) doubts: Vec<Doubt>,
    /// Whether the direction of the metric is unknown.
    pub(super) is_direction_unknown: bool,
    /// The number of values of a whole training, by the length that the library was asked for, or by the loop that prints them.
    pub(super) expected: Option<u64>,
    /// The number of trainings in the run, if they are several.
    pub(super) trainings: Option<u64>,
    /// The number of folds, where the output announces them.
    pub(super) folds: Option<u64>,
}

impl FoundMetric {
    /// The metric that the user named: a series of a library, or a number in the output.
    pub(super) fn from_user_choice(source: &str, guessed: Option<&Self>, sample: &OutputSample) -> Self {
        let mut logged = logged::series(&sample.records, None).into_iter();
        if let Some(logged) = logged
            .find(|logged| logged.name == source || format!("{}:{}", logged.source, logged.name) == source)
        {
            return Self::from_logged_series(&logged, sample);
        }
        let is_table = guessed.is_some_and(|found| found.table.is_some());
        // a metric that the user names is looked for in the script's table if the guess was read from there, because a search would follow it
        let text = if is_table { &sample.written.0 } else { &sample.text };
        let parsed = MetricSource::parse(source).ok();
        let whole = parsed.map(|parsed| ReportReader::new(parsed, 0).read_all(text)).unwrap_or_default();
        let name = metric_name_in(source);
        let (others, table) =
            guessed.map(|found| (found.others.clone(), found.table.clone())).unwrap_or_default();
        let minimize = direction_of(&name) == Some(Direction::Minimize);
        let is_direction_unknown = direction_of(&name).is_none();
        Self { others, table, whole, is_direction_unknown, ..Self::bare(source, &name, minimize) }
    }

    fn bare(source: &str, name: &str, minimize: bool) -> Self {
        Self {
            source: source.to_owned(),
            library: None,
            name: name.to_owned(),
            minimize,
            others: Vec::new(),
            table: None,
            once: false,
            whole: OutputReports::default(),
            stage: DataRole::from_name(name),
            is_watched: false,
            doubts: Vec::new(),
            is_direction_unknown: false,
            expected: None,
            trainings: None,
            folds: None,
        }
    }

    /// The metric that an output settles.
    fn from_printed_output(first: &FirstTrial, sample: &OutputSample) -> Option<Self> {
        let (source, name) = match &first.metric {
            MetricChoice::None => return None,
            MetricChoice::One { source, name, .. } | MetricChoice::InDoubt { source, name, .. } => {
                (source, name)
            }
        };
        let minimize = direction_of(name) == Some(Direction::Minimize);
        let mut found = Self::bare(source, name, minimize);
        found.whole = first.whole.clone();
        found.once = sample.ended && found.whole.reports.len() == 1;
        let own = first.series.iter().find(|series| series.name == *name);
        found.stage = own.map_or(found.stage, |series| series.role);
        let others = first.series.iter().filter(|series| series.name != *name && !series.is_past);
        let known = others.filter(|series| series.is_metric).map(|series| series.name.clone());
        found.others = known.collect();
        found.others.sort();
        found.others.dedup();
        found.doubts.extend(first.doubts.iter().map(|doubt| match &doubt.between[..] {
            [] => doubt_training_only(name),
            between => Doubt {
                what: doubt.what.clone(),
                line: "metric",
                choices: between.iter().map(|name| choice_of_series(&first.series, name)).collect(),
                advice: String::new(),
            },
        }));
        // a line per fold is one value per training
        if let Some(TrainingSequence { values, .. }) = &first.trainings
            && values.iter().any(|&values| values > 1)
        {
            let count = values.len() as u64;
            found.trainings = Some(count);
            // a run that was ended early may have more of them, and pretraining is no fold
            let are_folds = sample.ended && sample.text.to_lowercase().contains("fold");
            match are_folds {
                true => found.folds = Some(count),
                false => found.doubts.push(doubt_several_trainings(format!(
                    "the run trains {count} times, for example in folds"
                ))),
            }
        }
        Some(found)
    }

    /// The metric that a library logs.
    fn from_logged_series(logged: &LoggedSeries, sample: &OutputSample) -> Self {
        let mut whole = OutputReports::default();
        // between epochs, values are counted: the hook does the same in a search
        let is_between = logged.is_between_epochs();
        for (at, value) in logged.values.iter().enumerate() {
            let epoch = value.epoch.filter(|epoch| !is_between && *epoch >= 0.0);
            let step = epoch.map_or(at as u64 + 1, |epoch| epoch as u64);
            whole.reports.push(Report {
                step,
                value: value.value,
                metrics: std::collections::BTreeMap::new(),
                training: 1,
            });
        }
        let mut found = Self {
            library: Some(logged.source.clone()),
            once: sample.ended && logged.values.len() == 1,
            stage: logged.stage,
            is_watched: logged.is_watched,
            expected: logged::expected_value_count(logged, &sample.records),
            trainings: Some(logged.trainings as u64).filter(|&trainings| trainings > 1),
            whole,
            ..Self::bare(&logged.name, &logged.name, logged.minimizes())
        };
        if logged.trainings > 1 {
            let LoggedSeries { trainings, source, .. } = logged;
            let mean = format!("{source}=mean");
            let choices = [
                (source, None, "the first training is read"),
                (source, Some(format!("folds = {trainings}")), "all are read as folds of a trial"),
                (&mean, Some(format!("epochs = {trainings}")), "the mean over all"),
            ];
            let choices = choices.map(|(source, more, meaning)| {
                let source = format!("source = {}", toml::Value::String(source.clone()));
                LineChoice {
                    lines: std::iter::once(source).chain(more).collect(),
                    meaning: meaning.to_owned(),
                }
            });
            found.doubts.push(Doubt {
                what: format!("the run trains {trainings} times, for example in folds"),
                line: "source",
                choices: choices.into(),
                advice: String::new(),
            });
        }
        found.is_direction_unknown = logged.direction().is_none();
        if found.is_direction_unknown {
            found.offer_both_directions();
        }
        found
    }

    /// The direction is unknown: the study file offers both lines.
    fn offer_both_directions(&mut self) {
        let ways = [
            ("minimize = true", "a smaller value is better"),
            ("maximize = true", "a larger value is better"),
        ];
        let ways = ways
            .map(|(line, meaning)| LineChoice { lines: vec![line.to_owned()], meaning: meaning.to_owned() });
        self.is_direction_unknown = true;
        self.doubts.push(Doubt {
            what: format!(
                "the name {} does not say which way is better (values {})",
                self.name,
                format_reports(&self.whole.reports)
            ),
            line: "minimize or maximize",
            choices: ways.into(),
            advice: String::new(),
        });
    }

    /// Where it comes from: `keras`, `printed`.
    pub(super) fn origin(&self) -> String {
        match (&self.library, &self.table) {
            (Some(library), _) => library.clone(),
            (None, Some(table)) => table.display().to_string(),
            (None, None) => PRINTED_SOURCE.to_owned(),
        }
    }

    /// The values that will be read, in a sentence: `val_acc (keras) 0.203, 0.665, 0.767 … as epochs 1, 2, 3 …`.
    pub(super) fn read(&self) -> String {
        let values = format_reports(&self.whole.reports);
        if values.is_empty() {
            return format!("no value of {} ({}) was seen so far", self.name, self.origin());
        }
        let watched = if self.is_watched { ", by which the script itself selects" } else { "" };
        let folds = self.folds.map_or(String::new(), |folds| format!(", in each of {folds} folds"));
        format!("I will read {} ({}{watched}) {values}{folds}", self.name, self.origin())
    }
}

/// `0.203, 0.665, 0.767 … as epochs 1, 2, 3 …`; empty without reports.
pub(super) fn format_reports(reports: &[Report]) -> String {
    if reports.is_empty() {
        return String::new();
    }
    let more = if reports.len() > MAX_SHOWN_VALUES { " …" } else { "" };
    let shown = reports.iter().take(MAX_SHOWN_VALUES);
    let values = shown.clone().map(|report| report.value.map_or("not a number".to_owned(), short));
    let steps = shown.map(|report| report.step.to_string());
    let [values, steps] = [values.collect::<Vec<_>>(), steps.collect()].map(|list| list.join(", "));
    format!("{values}{more} as epochs {steps}{more}")
}

/// The most likely metric of a sample, whose options name so many `epochs`: of held-out data whenever there is one.
pub(super) fn find(sample: &OutputSample, epochs: Option<u64>) -> Option<FoundMetric> {
    let known = find_known_metric(sample, epochs);
    if known.as_ref().is_some_and(|known| known.stage.is_held_out()) {
        return known;
    }
    let Some(mut unknown) = find_unknown_metric(sample, epochs) else { return known };
    if let Some(known) = known {
        unknown.others.push(format!("{} ({})", known.name, known.origin()));
        unknown.others.extend(known.others);
    }
    Some(unknown)
}

/// The most likely metric of a known name.
fn find_known_metric(sample: &OutputSample, epochs: Option<u64>) -> Option<FoundMetric> {
    let printed = find_printed_metric(sample, epochs).or_else(|| {
        let mut found =
            FoundMetric::from_printed_output(&settle_first_trial(&sample.written.0, None, epochs), sample)?;
        found.table.clone_from(&sample.table);
        Some(found)
    });
    let logged = logged::series(&sample.records, epochs);
    let best = logged.first().filter(|best| printed.as_ref().is_none_or(|printed| is_better(best, printed)));
    let mut found = match (best, printed) {
        (Some(best), printed) => {
            let mut found = FoundMetric::from_logged_series(best, sample);
            let other = printed.filter(|printed| !is_copy(best, &printed.whole.reports));
            found.others.extend(other.map(|printed| format!("{} (printed)", printed.name)));
            found
        }
        (None, printed) => printed?,
    };
    let others = logged.iter().filter(|other| best.is_none_or(|best| !std::ptr::eq(*other, best)));
    found.others.extend(others.map(|other| format!("{} ({})", other.name, other.source)));
    let rivals: Vec<&LoggedSeries> = match best {
        // an F1 next to an accuracy is listed, but does not make the choice doubtful
        Some(best) => logged
            .iter()
            .skip(1)
            .filter(|other| best.rank() == other.rank() && is_rival(&best.name, &other.name))
            .collect(),
        None => Vec::new(),
    };
    if let Some(best) = best.filter(|_| !rivals.is_empty()) {
        let names: Vec<String> =
            rivals.iter().map(|other| format!("{} ({})", other.name, other.source)).collect();
        let all = std::iter::once(best).chain(rivals);
        found.doubts.push(Doubt {
            what: format!("{} could be the metric, too", names.join(", ")),
            line: "metric",
            choices: all.map(LoggedSeries::to_metric_choice).collect(),
            advice: String::new(),
        });
    }
    if best.is_some_and(|best| best.stage == DataRole::Training) {
        found.doubts.push(doubt_training_only(&found.name));
    }
    Some(found)
}

/// A series of held-out data whose direction its name does not say, if there is one: it comes before one of training data that has a more usual name.
fn find_unknown_metric(sample: &OutputSample, epochs: Option<u64>) -> Option<FoundMetric> {
    if let Some(logged) = logged::find_unknown_direction(&sample.records, epochs) {
        return Some(FoundMetric::from_logged_series(&logged, sample));
    }
    let (text, table) = match sample.text.trim().is_empty() {
        true => (&sample.written.0, sample.table.clone()),
        false => (&sample.text, None),
    };
    let first = settle_first_trial(text, None, epochs);
    let series = first.series.iter().find(|series| may_be_unknown_metric(series))?;
    let parsed = MetricSource::parse(&series.name).ok()?;
    let whole = ReportReader::new(parsed, 0).read_all(text);
    let mut found = FoundMetric {
        whole,
        table,
        stage: series.role,
        ..FoundMetric::bare(&series.name, &series.name, false)
    };
    found.once = sample.ended && found.whole.reports.len() == 1;
    if found.whole.reports.is_empty() {
        return None;
    }
    found.offer_both_directions();
    Some(found)
}

fn may_be_unknown_metric(series: &PrintedSeries) -> bool {
    let is_held_out = series.role.is_held_out() && !series.is_past && !series.is_within_epochs;
    is_held_out && !series.is_metric && may_be_metric(&series.name, &series.first)
}

/// The choice of the printed series `name`.
fn choice_of_series(all: &[PrintedSeries], name: &str) -> LineChoice {
    let first =
        all.iter().find(|series| series.name == name).map(|series| &series.first[..]).unwrap_or_default();
    let values: Vec<String> = first.iter().map(|&value| short(value)).collect();
    let minimize = direction_of(name).map(|way| way == Direction::Minimize);
    LineChoice::of_series(name, None, minimize, values.join(", "))
}

/// Only values of the training data were seen.
fn doubt_training_only(name: &str) -> Doubt {
    Doubt::with_advice(
        format!("only values of the training data were seen, such as {name}"),
        "metric",
        "If the script measures held-out data later, write the name or the line of that metric, for example metric = \"val acc: {value}\". Otherwise, keep the line".to_owned(),
    )
}

/// A script that trains several times.
fn doubt_several_trainings(what: String) -> Doubt {
    Doubt::with_advice(
        what,
        "metric",
        "The first training is read, and the score is the summary that the script prints last, or the mean. Keep the line if that is right".to_owned(),
    )
}

/// The likeliest printed metric. A line of batches gives way to one that is printed once per epoch.
fn find_printed_metric(sample: &OutputSample, epochs: Option<u64>) -> Option<FoundMetric> {
    let mut found =
        FoundMetric::from_printed_output(&settle_first_trial(&sample.text, None, epochs), sample)?;
    let Some(loops) = loops::around(&sample.records, &found.whole.reports, epochs) else {
        return Some(found);
    };
    let is_settled = found.folds.is_some() || !found.doubts.is_empty();
    if let Some(trainings) = loops.trainings.filter(|_| !is_settled) {
        let name = &found.name;
        found.doubts.push(doubt_several_trainings(format!(
            "the loop that prints {name} runs {trainings} times, for example for folds"
        )));
    }
    if !loops.in_batches {
        // an option may name more epochs than a training that stops early has
        found.expected = loops.epochs.filter(|_| epochs.is_none());
        return Some(found);
    }
    let rest = loops::without(&sample.records, &sample.text, &loops.site);
    let other = FoundMetric::from_printed_output(&settle_first_trial(&rest, None, epochs), sample).and_then(
        |other| {
            let parsed = MetricSource::parse(&other.source).ok()?;
            let whole = ReportReader::new(parsed, 0).read_all(&sample.text);
            let is_read = whole.reports.len() == other.whole.reports.len()
                && whole.reports.iter().zip(&other.whole.reports).all(|(one, two)| one.value == two.value);
            is_read.then_some(FoundMetric { whole, ..other })
        },
    );
    Some(other.unwrap_or_else(|| {
        let name = &found.name;
        found.doubts.push(Doubt::with_advice(
            format!("{name} is printed inside a loop over batches, so it is no value of an epoch"),
            "metric",
            "If the script also prints a value per epoch, write its line, for example metric = \"val acc: {value}\". Otherwise, keep the line: trials are then compared by these values".to_owned(),
        ));
        found
    }))
}

/// The length of the loop that prints the likeliest metric.
pub(super) fn loop_length(sample: &OutputSample) -> Option<u64> {
    let found = FoundMetric::from_printed_output(&settle_first_trial(&sample.text, None, None), sample)?;
    loops::around(&sample.records, &found.whole.reports, None)?.epochs
}

/// Whether a logged series comes before a printed one: also where it holds the same values, which it does not round.
fn is_better(logged: &LoggedSeries, printed: &FoundMetric) -> bool {
    let rank = (logged.stage, !logged.minimizes(), prominence(&logged.name));
    let printed_rank = (printed.stage, !printed.minimize, prominence(&printed.name));
    // a single logged value must not replace a printed curve, which trials can be stopped by
    let several = logged.values.len() > 1 || printed.whole.reports.len() <= 1;
    several && (logged.is_watched || rank >= printed_rank || is_copy(logged, &printed.whole.reports))
}

/// Whether printed values are those of a series, rounded or in percent.
fn is_copy(logged: &LoggedSeries, printed: &[Report]) -> bool {
    let mut pairs = logged.values.iter().zip(printed);
    pairs.len() > 1
        && pairs.all(|(value, report)| match (value.value, report.value) {
            (Some(exact), Some(printed)) => {
                is_rounded_from(exact, printed) || is_rounded_from(100.0 * exact, printed)
            }
            (exact, printed) => exact == printed,
        })
}

fn is_rounded_from(exact: f64, printed: f64) -> bool {
    let text = printed.to_string();
    let decimals = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    // rounding moves a value by half of its last digit, and a little more is allowed because decimals are not exact in binary
    (exact - printed).abs() <= 0.51 * 10_f64.powi(-i32::try_from(decimals).unwrap_or(0))
}

/// How many epochs a training that was watched to its end has reported.
pub(super) fn completed_epochs(sample: &OutputSample, found: &FoundMetric) -> Option<u64> {
    let is_of_this_run = found.table.is_none() || sample.written.1;
    let is_watched = sample.ended && !sample.failed && !sample.is_cut && is_of_this_run;
    let first = found.whole.reports.first().filter(|_| is_watched)?;
    let last = found.whole.reports.last()?;
    // steps that count from 0 end one below the number of epochs, unlike steps that count from 1
    Some(last.step + u64::from(first.step == 0))
}

/// Whether a validation or test series has two values: enough to see its form.
pub(super) fn is_enough(sample: &OutputSample) -> bool {
    let is_logged = logged::series(&sample.records, None)
        .iter()
        .any(|logged| logged.stage.is_held_out() && logged.values.len() > 1);
    is_logged
        || logged::find_unknown_direction(&sample.records, None).is_some()
        || settle_first_trial(&sample.text, None, None).series.iter().any(|series| {
            let is_usable = series.is_metric || may_be_unknown_metric(series);
            series.values > 1 && series.role.is_held_out() && is_usable
        })
}

#[cfg(test)]
mod tests {
    use super::{FoundMetric, completed_epochs, find};
    use crate::commands::init::probe::OutputSample;

    fn sample(lines: &[&str]) -> OutputSample {
        let text = lines.join("\n");
        OutputSample { ended: true, text, ..OutputSample::default() }
    }

    #[test]
    fn a_training_that_was_watched_to_its_end_shows_how_many_epochs_it_has() {
        let epochs = |lines: &[&str]| {
            let sample = sample(lines);
            completed_epochs(&sample, &FoundMetric::from_user_choice("acc", None, &sample))
        };
        assert_eq!(epochs(&["Namespace(epochs=40)", "acc=0.1", "acc=0.2", "acc=0.3"]), Some(3));
        assert_eq!(epochs(&["epoch 0 acc=0.1", "epoch 1 acc=0.2"]), Some(2));
        assert_eq!(epochs(&["epoch 5 acc=0.1", "epoch 10 acc=0.2"]), Some(10));
        assert_eq!(epochs(&["loss=0.1"]), None);
        let cut = OutputSample { ended: false, ..sample(&["acc=0.1"]) };
        assert_eq!(completed_epochs(&cut, &FoundMetric::from_user_choice("acc", None, &cut)), None);
    }

    #[test]
    fn what_will_be_read_is_said_with_its_epochs() {
        let found =
            find(&sample(&["epoch 1 val_acc 0.203", "epoch 2 val_acc 0.665"]), None).expect("a metric");
        assert_eq!(found.read(), "I will read val_acc (printed) 0.203, 0.665 as epochs 1, 2");
    }

    #[test]
    fn a_printed_series_with_the_same_rounded_values_is_shown_once() {
        let record = |series: &str, epoch: f64, value: f64| {
            foretell_run::HookRecord::Value(foretell_run::HookValue {
                source: "keras".to_owned(),
                series: series.to_owned(),
                epoch: Some(epoch),
                value: Some(value),
                training: 1,
                ..Default::default()
            })
        };
        let mut both = sample(&["Epoch 1/2", "val_acc: 0.203", "Epoch 2/2", "val_acc: 0.665"]);
        both.records = vec![record("val_acc", 1.0, 0.203_41), record("val_acc", 2.0, 0.664_77)];
        let found = find(&both, None).expect("a metric");
        assert_eq!((found.library.as_deref(), &found.others[..]), (Some("keras"), &[][..]));
        both.records = vec![record("train_acc", 1.0, 0.3), record("train_acc", 2.0, 0.4)];
        let found = find(&both, None).expect("a metric");
        assert_eq!(
            (found.origin(), &found.others[..]),
            ("printed".to_owned(), &["train_acc (keras)".to_owned()][..])
        );
        both.text.clear();
        let doubts = find(&both, None).expect("a metric").doubts;
        assert!(doubts[0].in_words().contains("only values of the training data"), "{doubts:?}");
    }
}

//! What a finished first trial printed: the metric, the unit of its steps, and how long a training is.

use super::guess::{collect_series, guess_metric, is_held_out, rank_series, tied_labels};
use super::last::final_value;
use super::protocol::MetricSource;
use super::reader::{OutputReports, ReportReader, StepUnit};
use super::series::CollectedSeries;
use super::words::{Stage, stage};
use crate::names::prominence;
use foretell::direction_of;

/// The most series that are listed.
const MAX_LISTED_SERIES: usize = 30;
/// Why a metric that was asked for is read.
const NAMED_METRIC_REASON: &str = "it is named";
/// The lines at the end of an output that may have its summary.
const SUMMARY_SCAN_LINES: usize = 200;

/// The data that a series was measured on, if its lines name it, in the order of preference: the last is preferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DataRole {
    /// Training data.
    Training,
    /// The lines do not say.
    Unknown,
    /// Test data.
    Test,
    /// Validation data.
    Validation,
}

impl DataRole {
    /// The data that a series with this `name` is measured on: `val_acc`, `eval/loss`, `validation_1-merror`.
    pub fn from_name(name: &str) -> Self {
        stage(name).map_or(Self::Unknown, Self::from)
    }

    /// Whether the data is held out.
    pub fn is_held_out(self) -> bool {
        self >= Self::Test
    }
}

impl From<Stage> for DataRole {
    fn from(stage: Stage) -> Self {
        match stage {
            Stage::Training => Self::Training,
            Stage::Validation => Self::Validation,
            Stage::Test => Self::Test,
            Stage::Unsaid => Self::Unknown,
        }
    }
}

/// A series that was printed.
#[derive(Clone, Debug, PartialEq)]
pub struct PrintedSeries {
    /// The label, as it is printed.
    pub name: String,
    /// The number of its values.
    pub values: u64,
    /// The first values, three at most.
    pub first: Vec<f64>,
    /// The data it was measured on.
    pub role: DataRole,
    /// Whether it is not the value of now: the best so far, a target, a spread.
    pub is_past: bool,
    /// Whether its lines count batches, or most epochs have several values.
    pub is_within_epochs: bool,
    /// Whether its name is known for a metric's.
    pub is_metric: bool,
    /// Whether it has several values, all of them the same.
    pub is_steady: bool,
}

/// The metric that an output settles.
#[derive(Clone, Debug, PartialEq)]
pub enum MetricChoice {
    /// No series is the one asked for, or, if none was, none has the name of a metric.
    None,
    /// One series.
    One {
        /// The value for `--metric` that finds it.
        source: String,
        /// The label of the series.
        name: String,
        /// Why it was chosen, as a part of a sentence: `it is named`, `held-out before training data`.
        why: &'static str,
    },
    /// Nothing decides between several, or only the training's values were printed: the person is to be asked. The likeliest comes first.
    InDoubt {
        /// The value for `--metric` that finds the likeliest.
        source: String,
        /// The label of the series.
        name: String,
        /// The labels that it may be, the likeliest first.
        between: Vec<String>,
    },
}

/// Where the length of a training comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LengthOrigin {
    /// The study or the script's option declares it.
    Declared,
    /// The output announces it: `Epoch 3/12`.
    Announced,
    /// The last value stands there.
    LastValue,
}

/// How long a training is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrainingLength {
    /// The number of steps: 8 for epochs 0 to 7.
    pub steps: u64,
    /// What they count.
    pub unit: StepUnit,
    /// Where it comes from.
    pub origin: LengthOrigin,
}

/// Several trainings in one output: folds, stages, repetitions.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainingSequence {
    /// The number of values of each, in order.
    pub values: Vec<u64>,
    /// The last value of each.
    pub ends: Vec<Option<f64>>,
    /// The result that is printed behind the last one, such as a mean over the folds.
    pub summary: Option<f64>,
}

impl TrainingSequence {
    /// The score of all of them: the printed summary, or else the mean of their ends.
    pub fn score(&self) -> Option<f64> {
        let ends: Option<Vec<f64>> = self.ends.iter().copied().collect();
        let mean =
            ends.filter(|ends| !ends.is_empty()).map(|ends| ends.iter().sum::<f64>() / ends.len() as f64);
        self.summary.or(mean)
    }
}

/// A reason why a person should confirm the metric.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricDoubt {
    /// What is in doubt, as a clause.
    pub what: String,
    /// The labels that it may be, the chosen one first; empty if there is no other.
    pub between: Vec<String>,
}

/// What the output of a finished first trial settles.
#[derive(Clone, Debug)]
pub struct FirstTrial {
    /// The series that were printed, the likeliest metric first, 30 at most.
    pub series: Vec<PrintedSeries>,
    /// The metric.
    pub metric: MetricChoice,
    /// Why a person should confirm the metric; empty if nothing is in doubt.
    pub doubts: Vec<MetricDoubt>,
    /// The reports of it, and notes on their reading; empty without a metric.
    pub whole: OutputReports,
    /// How long a training is; `None` without a value and a declaration.
    pub length: Option<TrainingLength>,
    /// Trainings in sequence; `None` if there is one.
    pub trainings: Option<TrainingSequence>,
    /// What a person should know, one sentence each; the notes of `whole` are among them.
    pub notes: Vec<String>,
}

/// Settles metric, step and length from `text`, the whole output of a first trial that has ended.
///
/// `wanted` is the study's metric (`None`: the likeliest is taken), `declared` the number of epochs that the study or an option of the script
/// declares. It is kept, unless the output counts something else than epochs: then a note names both units.
///
/// ```
/// use foretell_logs::printed::{LengthOrigin, MetricChoice, StepUnit, settle_first_trial};
/// let printed: String = (0..8).map(|epoch| format!("Epoch {epoch}/7\nval acc: 0.{epoch}\n")).collect();
/// let first = settle_first_trial(&printed, None, None);
/// assert!(matches!(first.metric, MetricChoice::One { ref source, .. } if source == "val acc"));
/// let length = first.length.expect("it is announced");
/// assert_eq!((length.steps, length.unit, length.origin), (8, StepUnit::Epoch, LengthOrigin::Announced));
/// assert_eq!(first.series[0].first, [0.0, 0.1, 0.2]);
/// ```
pub fn settle_first_trial(text: &str, wanted: Option<&MetricSource>, declared: Option<u64>) -> FirstTrial {
    let collector = collect_series(text);
    let ranked = rank_series(&collector.series);
    let (metric, whole) = match wanted {
        Some(source) => read_named_metric(text, source),
        None => find_likeliest_metric(text, &ranked),
    };
    let length = length(&whole, declared);
    let trainings = trainings(&whole, text);
    let mut notes = whole.notes.clone();
    notes.extend(length_note(&whole, declared));
    notes.extend(trainings.as_ref().map(note_of_trainings));
    let series = list_series(&ranked, &collector.series);
    let doubts = doubts(&metric, &series);
    FirstTrial { series, metric, doubts, whole, length, trainings, notes }
}

/// The reasons why a person should confirm the metric.
fn doubts(metric: &MetricChoice, series: &[PrintedSeries]) -> Vec<MetricDoubt> {
    let (name, between) = match metric {
        MetricChoice::None | MetricChoice::One { why: NAMED_METRIC_REASON, .. } => return Vec::new(),
        MetricChoice::One { name, .. } => (name, &[][..]),
        MetricChoice::InDoubt { name, between, .. } => (name, &between[..]),
    };
    let role =
        series.iter().find(|series| series.name == *name).map_or(DataRole::Unknown, |series| series.role);
    let others: Vec<&PrintedSeries> =
        series.iter().filter(|series| series.name != *name && !series.is_past && series.is_metric).collect();
    let rivals: Vec<String> = between.iter().filter(|other| is_rival(name, other)).cloned().collect();
    let unsaid = distinct_names(others.iter().filter(|series| {
        series.role == DataRole::Unknown
            && is_rival(name, &series.name)
            && prominence(name) == prominence(&series.name)
            // a script that labels its training values means other data by a name without a stage
            && others
                .iter()
                .any(|other| other.role == DataRole::Training && is_rival(&series.name, &other.name))
    }));
    let steady = distinct_names(others.iter().filter(|series| series.is_steady && series.role.is_held_out()));
    let (what, mut between) = match role {
        _ if !rivals.is_empty() => {
            (format!("nothing decides between {name} and {}", rivals.join(", ")), rivals)
        }
        DataRole::Training => {
            (format!("only values of the training data were seen, such as {name}"), Vec::new())
        }
        DataRole::Test if !unsaid.is_empty() => {
            let unsaid_names = unsaid.join(", ");
            (format!("{name} is of test data, and the data behind {unsaid_names} are not named"), unsaid)
        }
        DataRole::Unknown | DataRole::Test if !steady.is_empty() => {
            (format!("{name} was taken because {} does not change", steady.join(", ")), steady)
        }
        DataRole::Unknown | DataRole::Test | DataRole::Validation => return Vec::new(),
    };
    if !between.is_empty() {
        between.insert(0, name.clone());
    }
    vec![MetricDoubt { what, between }]
}

fn distinct_names<'a>(series: impl Iterator<Item = &'a &'a PrintedSeries>) -> Vec<String> {
    let mut names: Vec<String> = series.map(|series| series.name.clone()).collect();
    names.dedup();
    names
}

/// Whether two labels name the same quantity of different data: `val_a/acc` and `val_b/acc`.
pub fn is_rival(one: &str, other: &str) -> bool {
    let quantity =
        |name: &str| name.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_lowercase();
    one != other && quantity(one) == quantity(other)
}

fn list_series(ranked: &[&CollectedSeries], all: &[CollectedSeries]) -> Vec<PrintedSeries> {
    let others = all.iter().filter(|series| !ranked.iter().any(|known| std::ptr::eq(*known, *series)));
    let shown = ranked.iter().copied().chain(others).take(MAX_LISTED_SERIES).map(|series| PrintedSeries {
        name: series.key.label.clone(),
        values: series.count,
        first: series.head.clone(),
        role: series.key.stage.into(),
        is_past: series.key.is_past,
        is_within_epochs: series.key.is_batched || series.is_many(),
        is_metric: direction_of(&series.key.label).is_some(),
        is_steady: series.count > 2 && !series.varies,
    });
    shown.collect()
}

/// The metric that a study names.
fn read_named_metric(text: &str, source: &MetricSource) -> (MetricChoice, OutputReports) {
    let whole = ReportReader::new(source.clone(), 0).read_all(text);
    let Some(report) = whole.reports.first() else { return (MetricChoice::None, whole) };
    let source = source.text();
    let name = match source.is_empty() {
        true => report.metrics.keys().next().cloned().unwrap_or_default(),
        false => source.clone(),
    };
    (MetricChoice::One { source, name, why: NAMED_METRIC_REASON }, whole)
}

/// The likeliest metric.
fn find_likeliest_metric(text: &str, ranked: &[&CollectedSeries]) -> (MetricChoice, OutputReports) {
    let Some(guess) = guess_metric(text) else { return (MetricChoice::None, OutputReports::default()) };
    let named = ranked.iter().find(|series| series.key.label == guess.name);
    let stage = named.map(|series| series.key.stage);
    let is_training = stage == Some(Stage::Training);
    let why = match stage {
        Some(Stage::Validation | Stage::Test) => "it is of held-out data",
        _ if ranked.iter().any(|series| is_held_out(series)) => {
            "no other series can be found by a name or a template"
        }
        _ => "its name is that of a metric",
    };
    let (source, name) = (guess.source, guess.name);
    let mut between = tied_labels(ranked);
    if is_training {
        between.extend(guess.others);
    }
    let is_clear = between.len() < 2 && !is_training || !between.contains(&name);
    let metric = if is_clear {
        MetricChoice::One { source, name, why }
    } else {
        MetricChoice::InDoubt { source, name, between }
    };
    (metric, guess.whole)
}

fn length(whole: &OutputReports, declared: Option<u64>) -> Option<TrainingLength> {
    let last = whole.trainings.first().and_then(|reports| reports.last()).map(|report| report.step);
    let from_zero = whole.reports.first().is_some_and(|report| report.step == 0);
    let (steps, unit, origin) = match (declared, whole.epochs, last) {
        (Some(declared), _, _) => (declared, StepUnit::Epoch, LengthOrigin::Declared),
        (None, Some(epochs), _) if whole.unit == StepUnit::Epoch => {
            (epochs, StepUnit::Epoch, LengthOrigin::Announced)
        }
        (None, _, Some(last)) => (last + u64::from(from_zero), whole.unit, LengthOrigin::LastValue),
        (None, _, None) => return None,
    };
    Some(TrainingLength { steps, unit, origin })
}

/// The note if a declared number of epochs is not what the steps of the output count.
fn length_note(whole: &OutputReports, declared: Option<u64>) -> Option<String> {
    let (declared, last) = (declared?, whole.reports.last()?.step);
    (whole.unit == StepUnit::Step && last > declared).then(|| {
        format!("{declared} epochs are declared, but the values stand at steps (the last one at {last}). Set the number of steps")
    })
}

fn trainings(whole: &OutputReports, text: &str) -> Option<TrainingSequence> {
    if whole.trainings.len() < 2 {
        return None;
    }
    let last: Vec<&str> =
        text.lines().rev().filter(|line| !line.trim().is_empty()).take(SUMMARY_SCAN_LINES).collect();
    let last: Vec<&str> = last.into_iter().rev().collect();
    Some(TrainingSequence {
        values: whole.trainings.iter().map(|reports| reports.len() as u64).collect(),
        ends: whole.trainings.iter().map(|reports| reports.last()?.value).collect(),
        summary: final_value(&last),
    })
}

fn note_of_trainings(trainings: &TrainingSequence) -> String {
    let (count, all) = (trainings.values.len(), trainings.values.iter().sum::<u64>());
    let alike = trainings.values.iter().all(|values| *values == trainings.values[0]);
    let length =
        if alike { format!("{} values each", trainings.values[0]) } else { format!("{all} values together") };
    let score = match (trainings.summary, trainings.score()) {
        (Some(summary), _) => format!("its score is the printed summary, {summary}"),
        (None, Some(mean)) => format!("its score is the mean of their last values, {mean}"),
        (None, None) => "there is no score, because one of them diverged".to_owned(),
    };
    format!("this trial trains {count} times ({length}): {score}")
}

#[cfg(test)]
mod tests {
    use super::{DataRole, LengthOrigin, MetricChoice, MetricSource, StepUnit, settle_first_trial};

    fn source(metric: &MetricChoice) -> &str {
        match metric {
            MetricChoice::None => "",
            MetricChoice::One { source, .. } | MetricChoice::InDoubt { source, .. } => source,
        }
    }

    #[test]
    fn folds_are_trainings_with_the_printed_summary_as_score() {
        let fold = |fold: usize| {
            let epochs: String =
                (1..=5).map(|epoch| format!("epoch {epoch}/5 val_acc 0.{fold}{epoch}\n")).collect();
            format!("--- fold {fold} of 3 ---\n{epochs}")
        };
        let printed = (1..=3).map(fold).collect::<String>();
        let first =
            settle_first_trial(&(printed.clone() + "mean val_acc over 3 folds: 0.2500\n"), None, None);
        let trainings = first.trainings.expect("there are three");
        assert_eq!((trainings.values.as_slice(), trainings.summary), (&[5, 5, 5][..], Some(0.25)));
        assert_eq!(trainings.ends, [Some(0.15), Some(0.25), Some(0.35)]);
        assert_eq!(first.length.map(|length| length.steps), Some(5));
        assert!(
            first.notes.iter().any(|note| note.contains("trains 3 times (5 values each)")),
            "{:?}",
            first.notes
        );
        let unsaid = settle_first_trial(&printed, None, None).trainings.expect("there are three");
        assert_eq!((unsaid.summary, unsaid.score().map(|score| (score * 1e4).round())), (None, Some(2500.0)));
    }

    #[test]
    fn the_held_out_series_is_taken_and_all_are_listed() {
        let step = |step: usize| {
            format!(
                "[train] step: {}, loss: 0.{step}, accuracy: 0.7{step}\n[test] step: {}, loss: 0.5, accuracy: 0.6{step}\n",
                step * 40,
                step * 40
            )
        };
        let first = settle_first_trial(&(1..=6).map(step).collect::<String>(), None, None);
        assert_eq!((first.series[0].name.as_str(), first.series[0].role), ("accuracy", DataRole::Test));
        assert_eq!(first.series[0].first, [0.61, 0.62, 0.63]);
        assert!(matches!(first.metric, MetricChoice::One { .. }), "{:?}", first.metric);
        assert_eq!(first.whole.reports.last().and_then(|report| report.value), Some(0.66));
        let length = first.length.expect("it is known");
        assert_eq!(
            (length.steps, length.unit, length.origin),
            (240, StepUnit::Step, LengthOrigin::LastValue)
        );
        let declared = settle_first_trial(&(1..=6).map(step).collect::<String>(), None, Some(12));
        assert!(
            declared.notes.iter().any(|note| note.contains("12 epochs are declared")),
            "{:?}",
            declared.notes
        );
    }

    #[test]
    fn the_test_line_comes_before_the_lines_of_batches() {
        let epoch = |epoch: usize| {
            let batch = |batch: usize| {
                format!(
                    "Epoch: [{epoch}]  [{batch}/30]  lr: 0.1  loss: 2.0 (2.1)  acc1: 6{batch} (61.0)  time: 0.1\n"
                )
            };
            format!(
                "{}Epoch: [{epoch}] Total time: 0:00:04\nTest:   [0/9]  eta: 0:00:01  loss: 1.9 (1.9)  acc1: 7{epoch} (7{epoch})\nTest:  Total time: 0:00:01\nTest:  Acc@1 5{epoch}.5 Acc@5 90.1\n",
                [0, 10, 20].map(batch).concat()
            )
        };
        let first = settle_first_trial(&(0..6).map(epoch).collect::<String>(), None, None);
        assert_eq!(source(&first.metric), "Acc@1", "{:?}", first.metric);
        let steps: Vec<_> = first.whole.reports.iter().map(|report| (report.step, report.value)).collect();
        assert_eq!((steps.len(), steps[1]), (6, (1, Some(51.5))));
        assert_eq!(first.length.map(|length| length.steps), Some(6));
    }

    #[test]
    fn a_name_that_was_not_printed_settles_nothing_and_only_training_values_are_in_doubt() {
        let printed = "epoch 1 train_loss 0.5 train_acc 0.6\nepoch 2 train_loss 0.4 train_acc 0.7\n";
        let wanted = MetricSource::parse("val_acc").expect("a name");
        let first = settle_first_trial(printed, Some(&wanted), Some(2));
        assert_eq!((first.metric, first.series.len()), (MetricChoice::None, 2));
        let MetricChoice::InDoubt { between, .. } = settle_first_trial(printed, None, None).metric else {
            panic!("only values of the training")
        };
        assert_eq!(between, ["train_acc", "train_loss"]);
    }
}

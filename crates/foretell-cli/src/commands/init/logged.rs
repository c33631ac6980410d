//! The series that a script passed to its libraries, as the hook recorded them.

use super::doubt::LineChoice;
use super::values::{may_be_metric, short};
use foretell::Direction;
use foretell_logs::printed::DataRole;
use foretell_logs::{direction_of, prominence};
use foretell_run::{HookRecord, HookValue};

/// A series of values, with its source.
#[derive(Clone, Debug)]
pub(super) struct LoggedSeries {
    /// The value of `--source`.
    pub(super) source: String,
    pub(super) name: String,
    pub(super) stage: DataRole,
    /// The values of the first training.
    pub(super) values: Vec<HookValue>,
    /// The number of trainings in the run, such as folds.
    pub(super) trainings: usize,
    /// Whether the script itself selects a checkpoint or stops by it.
    pub(super) is_watched: bool,
    /// The direction, if the script or the library declares it.
    pub(super) better: Option<Direction>,
    /// Whether it has as many values as the longest, up to one: a run is cut at any moment.
    has_several: bool,
}

impl LoggedSeries {
    /// The better direction, if the script, the library or the name says it.
    pub(super) fn direction(&self) -> Option<Direction> {
        self.better.or_else(|| direction_of(&self.name))
    }

    pub(super) fn minimizes(&self) -> bool {
        self.direction() == Some(Direction::Minimize)
    }

    /// The series as a choice of the metric.
    pub(super) fn to_metric_choice(&self) -> LineChoice {
        let values: Vec<String> =
            self.values.iter().take(3).filter_map(|value| value.value).map(short).collect();
        let minimize = self.direction().map(|way| way == Direction::Minimize);
        LineChoice::of_series(&self.name, Some(&self.source), minimize, values.join(", "))
    }

    /// The rank: the series that the script watches, then validation before test before training, a score before a loss, and the most telling name.
    pub(super) fn rank(&self) -> (bool, bool, DataRole, bool, u8) {
        let several = self.has_several;
        (several, self.is_watched, self.stage, !self.minimizes(), prominence(&self.name))
    }

    /// Whether its values come between epochs.
    pub(super) fn is_between_epochs(&self) -> bool {
        self.values.iter().any(|value| value.epoch.is_some_and(|epoch| epoch.fract() != 0.0))
    }

    /// The library, without the stage.
    pub(super) fn library(&self) -> &str {
        self.source.split('/').next().unwrap_or_default()
    }
}

/// The series that may be a metric, the best first. `epochs` is the length of a training, if an option names it.
pub(super) fn series(records: &[HookRecord], epochs: Option<u64>) -> Vec<LoggedSeries> {
    let mut all = gather_series(records, epochs);
    all.retain(|logged| logged.is_watched || direction_of(&logged.name).is_some());
    all.sort_by_key(|logged| std::cmp::Reverse(logged.rank()));
    all
}

/// The first series of held-out data that may be a metric, though its name does not show the direction.
pub(super) fn find_unknown_direction(records: &[HookRecord], epochs: Option<u64>) -> Option<LoggedSeries> {
    gather_series(records, epochs).into_iter().find(|logged| {
        let values: Vec<f64> = logged.values.iter().filter_map(|value| value.value).collect();
        logged.stage.is_held_out() && logged.direction().is_none() && may_be_metric(&logged.name, &values)
    })
}

/// All series, each once, the most exact source first.
fn gather_series(records: &[HookRecord], epochs: Option<u64>) -> Vec<LoggedSeries> {
    let mut found: Vec<(LoggedSeries, Vec<(u64, u64)>)> = Vec::new();
    for value in records.iter().filter_map(value_of) {
        // a bar over batches shows running values
        if value.after || value.source == "tqdm" && value.of != epochs.map(|epochs| epochs as f64) {
            continue;
        }
        let training = (value.pid, value.training);
        let known = found.iter_mut().find(|(logged, _)| {
            let stage = logged.values.first().and_then(|first| first.stage.as_ref());
            logged.source == value.source && logged.name == value.series && stage == value.stage.as_ref()
        });
        match known {
            Some((logged, trainings)) => {
                if trainings[0] == training {
                    logged.values.push(value.clone());
                } else if !trainings.contains(&training) {
                    trainings.push(training);
                    logged.trainings += 1;
                }
            }
            None => found.push((first(value), vec![training])),
        }
    }
    let mut all: Vec<LoggedSeries> = found.into_iter().map(|(logged, _)| logged).collect();
    mark_watched(&mut all, records);
    tell_stages_apart(&mut all);
    let most = all.iter().map(|logged| logged.values.len()).max().unwrap_or(0);
    all.iter_mut().for_each(|logged| logged.has_several = logged.values.len() > 1 || most == 2);
    // which library comes first depends on the moment: of the same values, those of the most exact report are kept
    all.sort_by_cached_key(|logged| {
        (exactness_rank(&logged.source), logged.name.clone(), logged.source.clone())
    });
    let mut kept: Vec<LoggedSeries> = Vec::new();
    for logged in all {
        if !kept.iter().any(|other| is_copy(other, &logged)) {
            kept.push(logged);
        }
    }
    kept
}

/// How exactly a source reports: the library's own report first, then the logs that it writes for people.
fn exactness_rank(source: &str) -> u8 {
    match source.split('/').next().unwrap_or_default() {
        "tensorboard" | "wandb" | "mlflow" => 1,
        "csv" => 2,
        "tqdm" => 3,
        _ => 0,
    }
}

fn value_of(record: &HookRecord) -> Option<&HookValue> {
    match record {
        HookRecord::Value(value) => Some(value),
        _ => None,
    }
}

fn first(value: &HookValue) -> LoggedSeries {
    LoggedSeries {
        source: value.source.clone(),
        name: value.series.clone(),
        stage: DataRole::from_name(value.stage.as_ref().unwrap_or(&value.series)),
        values: vec![value.clone()],
        trainings: 1,
        is_watched: false,
        better: direction(value.better.as_deref()),
        has_several: false,
    }
}

fn direction(better: Option<&str>) -> Option<Direction> {
    match better {
        Some("min") => Some(Direction::Minimize),
        Some("max") => Some(Direction::Maximize),
        _ => None,
    }
}

/// Marks the series by which the script itself selects. It may name them without the prefix of its library, as transformers allows.
fn mark_watched(all: &mut [LoggedSeries], records: &[HookRecord]) {
    for record in records {
        let HookRecord::Monitor { source, series, better } = record else { continue };
        let names = [series.clone(), format!("eval_{series}")];
        for logged in all.iter_mut().filter(|logged| logged.source == *source && names.contains(&logged.name))
        {
            logged.is_watched = logged.stage != DataRole::Training;
            logged.better = direction(better.as_deref()).or(logged.better);
        }
    }
}

/// A name that is logged in two stages is read in one.
fn tell_stages_apart(all: &mut [LoggedSeries]) {
    let names: Vec<(String, String)> =
        all.iter().map(|logged| (logged.source.clone(), logged.name.clone())).collect();
    for (at, logged) in all.iter_mut().enumerate() {
        let is_double = names.iter().enumerate().any(|(other, name)| other != at && *name == names[at]);
        if let Some(stage) = logged.values.first().and_then(|first| first.stage.clone()).filter(|_| is_double)
        {
            logged.source = format!("{}/{stage}", logged.source);
        }
    }
}

fn is_copy(one: &LoggedSeries, other: &LoggedSeries) -> bool {
    // one of them may lack the last value when the run is cut
    let (few, many) = (one.values.len().min(other.values.len()), one.values.len().max(other.values.len()));
    let are_as_long = many - few <= 1 && (few > 1 || few == many && one.name == other.name);
    let mut pairs = one.values.iter().zip(&other.values);
    one.source != other.source && few > 0 && are_as_long && pairs.all(|(a, b)| a.value == b.value)
}

/// The number of values that a whole training will have, by the length that its library was asked for.
pub(super) fn expected_value_count(logged: &LoggedSeries, records: &[HookRecord]) -> Option<u64> {
    let (unit, of) = records.iter().find_map(|record| match record {
        HookRecord::Length { source, unit, of } if source == logged.library() => Some((unit.as_str(), *of)),
        _ => None,
    })?;
    let places = logged.values.iter().filter_map(|value| match unit {
        "step" => value.step,
        _ => value.epoch,
    });
    let places: Vec<f64> = places.collect();
    if unit == "epoch" && places.iter().all(|place| place.fract() == 0.0) {
        return Some(of as u64); // reported at its epoch
    }
    let between = match places[..] {
        [first, second, ..] => second - first,
        [first] => first,
        [] => return None,
    };
    let last = places.last().copied().unwrap_or(between);
    let mean = last / places.len() as f64;
    // where the first value comes after as long as the others, the mean is more exact; epochs such as 0.38 are rounded to two digits, and the last
    // of eight evaluations must not get lost by that
    let is_even = (places[0] - between).abs() <= 0.02 && unit == "epoch";
    let (between, slack) = if is_even { (mean, 0.006 / last) } else { (between, 0.0) };
    (between > 0.0).then(|| (of / between * (1.0 + slack) + 1e-6).floor() as u64).filter(|&count| count > 0)
}

/// Whether the likeliest metric comes once in so many batches of a training whose length is set in epochs: then the batch size changes how
/// many values it has.
pub(super) fn counts_batches(records: &[HookRecord]) -> bool {
    let all = series(records, None);
    let Some(best) = all.first().filter(|best| best.is_between_epochs()) else { return false };
    records.iter().any(|record| matches!(record, HookRecord::Length { source, unit, .. } if source == best.library() && unit == "epoch"))
}

/// The length that a library was asked for, in epochs or in steps.
pub(super) fn length(records: &[HookRecord]) -> Option<u64> {
    records.iter().find_map(|record| match record {
        HookRecord::Length { of, .. } if of.fract() == 0.0 => Some(*of as u64),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::{DataRole, counts_batches, expected_value_count, series};
    use foretell_run::{HookRecord, HookValue};

    fn value(source: &str, name: &str, stage: Option<&str>, epoch: f64, held: f64) -> HookRecord {
        HookRecord::Value(HookValue {
            source: source.to_owned(),
            series: name.to_owned(),
            stage: stage.map(str::to_owned),
            epoch: Some(epoch),
            value: Some(held),
            training: 1,
            ..HookValue::default()
        })
    }

    fn of_length(source: &str, unit: &str, of: f64) -> HookRecord {
        HookRecord::Length { source: source.to_owned(), unit: unit.to_owned(), of }
    }

    #[test]
    fn the_watched_series_is_first_then_validation() {
        let mut records = Vec::new();
        for epoch in [1.0, 2.0] {
            records.push(value("keras", "accuracy", Some("train"), epoch, 0.9));
            records.push(value("keras", "val_accuracy", Some("val"), epoch, 0.5 * epoch));
            records.push(value("keras", "val_loss", Some("val"), epoch, 0.3 * epoch));
            records.push(value("csv", "val_accuracy", None, epoch, 0.5 * epoch));
        }
        let names = |records: &[HookRecord]| {
            series(records, None).iter().map(|one| one.name.clone()).collect::<Vec<_>>()
        };
        assert_eq!(
            names(&records),
            ["val_accuracy", "val_loss", "accuracy"],
            "the table holds the same values"
        );
        let monitor =
            HookRecord::Monitor { source: "keras".to_owned(), series: "val_loss".to_owned(), better: None };
        records.push(monitor);
        assert_eq!(names(&records)[0], "val_loss");
        assert_eq!(DataRole::from_name("validation_1-merror"), DataRole::Validation);
    }

    #[test]
    fn one_name_in_two_stages_is_read_in_one_and_trainings_are_counted() {
        let mut records = Vec::new();
        for epoch in [1.0, 2.0] {
            records.push(value("lightning", "acc", Some("val"), epoch, 0.5));
            records.push(value("lightning", "acc", Some("train"), epoch, 0.6));
        }
        if let HookRecord::Value(second) = value("lightning", "acc", Some("val"), 1.0, 0.1) {
            records.push(HookRecord::Value(HookValue { training: 2, ..second }));
        }
        let all = series(&records, None);
        assert_eq!((all[0].source.as_str(), all[0].values.len(), all[0].trainings), ("lightning/val", 2, 2));
    }

    #[test]
    fn the_length_of_a_training_is_counted_in_values() {
        let evaluated = |places: &[f64]| -> Vec<HookRecord> {
            places
                .iter()
                .map(|&epoch| value("transformers", "eval_loss", Some("val"), epoch, 1.0 / epoch))
                .collect()
        };
        let count = |places: &[f64], of: f64| {
            let mut records = evaluated(places);
            records.push(of_length("transformers", "epoch", of));
            assert_eq!(counts_batches(&records), places.iter().any(|place| place.fract() != 0.0));
            expected_value_count(&series(&records, None)[0], &records)
        };
        assert_eq!(count(&[0.38, 0.75], 3.0), Some(8), "rounded to two digits");
        assert_eq!(
            (count(&[1.0, 2.0], 3.0), count(&[0.5, 1.0], 3.0), count(&[2.0, 4.0], 6.0)),
            (Some(3), Some(6), Some(6))
        );
    }
}

//! One row a trial, for notebooks and spreadsheets.

use crate::record::Record;
use crate::study::{Study, StudySpec, Trial, TrialState};
use crate::times::StudyTimes;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The columns of every row, in this order. Those of parameters and metrics follow.
pub const TRIAL_COLUMNS: [&str; 12] = [
    "trial",
    "state",
    "score",
    "epochs",
    "last",
    "began",
    "seconds",
    "forecast",
    "forecast_sd",
    "probability",
    "reason",
    "error",
];

/// The last reported metrics of each trial, by name.
pub type LastMetrics = BTreeMap<u64, BTreeMap<String, f64>>;

/// Adds the metrics of `record`.
pub fn see_metrics(metrics: &mut LastMetrics, record: Record) {
    if let Record::Reported { trial, metrics: reported, .. } = record {
        metrics.entry(trial).or_default().extend(reported);
    }
}

/// One row per trial of `study`: [`TRIAL_COLUMNS`], `param.NAME` for each parameter, and `metric.NAME` for the last value of each metric.
pub fn trial_rows(study: &Study, times: &StudyTimes, metrics: &LastMetrics) -> Vec<Map<String, Value>> {
    let row = |(number, trial): (usize, &Trial)| {
        let mut row = own_columns(study.spec(), number, trial, times.of_trial(number as u64));
        let value = |value| serde_json::to_value(value).unwrap_or_default();
        row.extend(trial.configuration.iter().map(|(name, given)| (format!("param.{name}"), value(given))));
        let printed = metrics.get(&(number as u64)).into_iter().flatten();
        row.extend(printed.map(|(name, &last)| (format!("metric.{name}"), Value::from(last))));
        row
    };
    study.trials().iter().enumerate().map(row).collect()
}

fn own_columns(
    spec: &StudySpec,
    number: usize,
    trial: &Trial,
    time: Option<(u64, f64)>,
) -> Map<String, Value> {
    let decision = trial.decision.as_ref();
    let forecast = decision.and_then(|decision| decision.forecast);
    let last = trial.curve.last_point().map(|(_, score)| spec.direction.to_value(score));
    let has_failed = matches!(trial.state, TrialState::Failed { .. });
    let (error, reason) = if has_failed { (trial.state.why(), None) } else { (None, trial.state.why()) };
    let values: [Value; TRIAL_COLUMNS.len()] = [
        number.into(),
        trial.state.name().into(),
        trial.achieved_result(spec).into(),
        trial.trained_epochs().into(),
        last.into(),
        time.map(|(began, _)| format!("{}:{:02}", date(began), began / 1000 % 60)).into(),
        time.map(|(_, seconds)| seconds).into(),
        forecast.map(|forecast| forecast.mean).into(),
        forecast.map(|forecast| forecast.sd).into(),
        decision.and_then(|decision| decision.probability).into(),
        reason.into(),
        error.into(),
    ];
    TRIAL_COLUMNS.map(str::to_owned).into_iter().zip(values).collect()
}

/// `time`, in milliseconds since the beginning of 1970, as a date in UTC: civil days by Howard Hinnant's algorithm.
pub fn date(time: u64) -> String {
    let (days, minutes) = ((time / 86_400_000) as i64, time / 60_000 % 1440);
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}", minutes / 60, minutes % 60)
}

#[cfg(test)]
mod tests {
    use super::date;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let cases = [
            (0, "1970-01-01 00:00"),
            (951_827_700_000, "2000-02-29 12:35"),
            (1_795_507_200_000, "2026-11-24 08:00"),
            (4_107_542_340_000, "2100-02-28 23:59"),
        ];
        for (time, expected) in cases {
            assert_eq!(date(time), expected);
        }
    }
}

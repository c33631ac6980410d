//! What the paper claims of its methods, held against what was measured on its own data.

use super::measure::{Part, Row};
use super::replayed::Replayed;
use super::stopping_claims::{self, AHEAD};
use crate::commands::figures::distinct;
use crate::output::table;

/// The regression models of the paper.
const REGRESSORS: [&str; 4] = ["svr-rbf", "svr-linear", "random-forest", "ols"];
/// What it compares them with.
const OTHERS: [&str; 5] = ["last-value", "lce", "lce-domhan2015", "bnn", "bnn-plain"];

/// Sentences on claims that `rows` and `replays` do not bear out.
pub(super) fn refuted(rows: &[Row], replays: &[Replayed]) -> Vec<String> {
    let mut sentences = of_accuracy(rows);
    sentences.extend(stopping_claims::refuted(replays));
    sentences
}

/// That regression models are ahead of the last value, of LCE and of BNN at every fraction, and that ν-SVR is at least as good as a
/// random forest and least squares.
fn of_accuracy(rows: &[Row]) -> Vec<String> {
    let observed: Vec<&Row> = rows.iter().filter(|row| row.part == Part::Observed).collect();
    let mut sentences = Vec::new();
    for curves in distinct(observed.iter().map(|row| row.curves)) {
        let here: Vec<&Row> = observed.iter().copied().filter(|row| row.curves == curves).collect();
        for other in OTHERS {
            let percents = where_ahead(&here, &[other], &REGRESSORS);
            if !percents.is_empty() {
                let of_all = "every regression model";
                sentences.push(format!("{curves}: `{other}` is ahead of {of_all} at {percents} observed"));
            }
        }
        for other in ["random-forest", "ols"] {
            let percents = where_ahead(&here, &[other], &["svr-rbf", "svr-linear"]);
            if !percents.is_empty() {
                sentences.push(format!("{curves}: `{other}` is ahead of both ν-SVR at {percents} observed"));
            }
        }
    }
    sentences
}

/// The fractions, as text, at which the best of `ahead` is ahead of all of `behind` that were measured.
fn where_ahead(rows: &[&Row], ahead: &[&str], behind: &[&str]) -> String {
    let mut fractions: Vec<f64> = rows.iter().map(|row| row.observed).collect();
    fractions.sort_by(f64::total_cmp);
    fractions.dedup();
    let best = |fraction: f64, names: &[&str]| {
        let here = rows.iter().filter(|row| row.observed.total_cmp(&fraction).is_eq());
        let named = here.filter(|row| names.contains(&row.predictor.as_str()));
        named.filter_map(|row| row.r2_mean.zip(row.r2_stderr)).max_by(|a, b| a.0.total_cmp(&b.0))
    };
    let holds = |fraction: &&f64| {
        let pair = best(**fraction, ahead).zip(best(**fraction, behind));
        pair.is_some_and(|((a, s), (b, t))| a - b > AHEAD * s.hypot(t))
    };
    let percents: Vec<String> =
        fractions.iter().filter(holds).map(|f| format!("{:.0} %", 100.0 * f)).collect();
    percents.join(", ")
}

/// Seconds of a fit and a forecast of each predictor, and the forecast's ratio to that of `svr-rbf`, beside the paper's.
pub(super) fn times(rows: &[&Row]) -> String {
    let mean = |name: &str, of: fn(&Row) -> Option<f64>| {
        let known: Vec<f64> =
            rows.iter().filter(|row| row.predictor == name).filter_map(|row| of(row)).collect();
        (!known.is_empty()).then(|| foretell::statistics::mean(&known))
    };
    let forecast = |name: &str| mean(name, |row| row.predict_seconds);
    let svr = forecast("svr-rbf");
    let published = |name: &str| match name {
        "svr-rbf" => "0.006 s, 60 µs",
        "bnn" => "–, 0.024 s",
        "lce-domhan2015" => "–, 60 s",
        _ => "–",
    };
    let line = |name: &str| {
        let seconds = |value: Option<f64>| value.map_or("–".to_owned(), |s| format!("{s:.2e} s"));
        let ratio =
            forecast(name).zip(svr).map_or("–".to_owned(), |(own, svr)| format!("{:.3} ×", own / svr));
        let fit = seconds(mean(name, |row| row.fit_seconds));
        vec![name.to_owned(), fit, seconds(forecast(name)), ratio, published(name).to_owned()]
    };
    let names = distinct(rows.iter().map(|row| row.predictor.as_str()));
    let lines: Vec<Vec<String>> = names.into_iter().map(line).collect();
    "seconds of a fit (search included) and of a forecast, means over files and fractions; splits run at the same time\n".to_owned()
        + &table(&["predictor", "fit", "forecast", "to svr-rbf", "published fit, forecast"], &lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(predictor: &str, observed: f64, r2: f64) -> Row {
        Row {
            part: Part::Observed,
            curves: "set",
            preparation: "as released",
            predictor: predictor.to_owned(),
            features: "ts".to_owned(),
            observed,
            depth: None,
            tau: Some(5),
            train: 100,
            repeats: 10,
            tested_mean: Some(9.0),
            r2_mean: Some(r2),
            r2_stderr: Some(0.01),
            r2_natural_mean: None,
            published_mean: None,
            published_stderr: None,
            difference_in_standard_errors: None,
            fit_seconds: Some(0.1),
            predict_seconds: Some(if predictor == "lce-domhan2015" { 0.02 } else { 1e-4 }),
            note: String::new(),
        }
    }

    #[test]
    fn claims_that_do_not_hold_are_named_with_their_fractions() {
        let rows = [
            row("svr-rbf", 0.25, 0.9),
            row("last-value", 0.25, 0.5),
            row("svr-rbf", 0.75, 0.9),
            row("last-value", 0.75, 0.97),
            row("random-forest", 0.25, 0.96),
            row("lce", 0.25, 0.91),
        ];
        let expected = [
            "set: `last-value` is ahead of every regression model at 75 % observed",
            "set: `random-forest` is ahead of both ν-SVR at 25 % observed",
        ];
        assert_eq!(refuted(&rows, &[]), expected);
        assert!(refuted(&rows[..2], &[]).is_empty());
    }

    #[test]
    fn times_stand_beside_the_published_ones_with_their_ratio() {
        let rows = [row("svr-rbf", 0.25, 0.9), row("lce-domhan2015", 0.25, 0.5)];
        let text = times(&rows.iter().collect::<Vec<_>>());
        assert!(text.contains("200.000 ×") && text.contains("60 s"), "{text}");
    }
}

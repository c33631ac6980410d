//! The paper's claims about its methods, compared with measurements on its own data.

use super::measure::{Part, Row};
use super::named::distinct;
use super::replayed::Replayed;
use super::show::Layout;
use super::stopping_claims::{self, AHEAD};
use serde::Serialize;
use std::fmt;

/// The predictors that the paper compares ν-SVR with.
const RIVALS: [&str; 7] = ["last-value", "lce", "lce-domhan2015", "bnn", "bnn-plain", "random-forest", "ols"];
/// The paper's two kernels of ν-SVR.
const SVRS: [&str; 2] = ["svr-rbf", "svr-linear"];

/// A sentence of the paper, and whether its own data bear it out as measured here.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Verdict {
    claim: &'static str,
    curves: String,
    judgment: Judgment,
    evidence: String,
}

/// The comparison of a claim with its standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Judgment {
    /// By more than two standard errors.
    Holds,
    /// Within two standard errors.
    Undecided,
    /// The opposite, by more than two standard errors.
    DoesNotHold,
}

impl Judgment {
    /// Whether `a` is larger than `b`, each a mean with its standard error.
    fn larger((a, s): (f64, f64), (b, t): (f64, f64)) -> Self {
        let error = AHEAD * s.hypot(t);
        match a - b {
            ahead if ahead > error => Self::Holds,
            ahead if ahead < -error => Self::DoesNotHold,
            _ => Self::Undecided,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let judgment = match self.judgment {
            Judgment::Holds => "holds",
            Judgment::Undecided => "undecided",
            Judgment::DoesNotHold => "does not hold",
        };
        write!(f, "{}, {}: {judgment} ({})", self.claim, self.curves, self.evidence)
    }
}

/// The paper's sentences on accuracy, judged by the first preparation of each file.
pub(super) fn verdicts(rows: &[Row]) -> Vec<Verdict> {
    let mut verdicts: Vec<Verdict> = best_regressor(rows).into_iter().collect();
    let table_2: Vec<&Row> = first_prepared(rows, Part::Table2);
    for curves in distinct(table_2.iter().map(|row| row.curves)) {
        let measured = |features: &str| {
            let row = table_2.iter().find(|row| row.curves == curves && row.features == features)?;
            row.r2_mean.zip(row.r2_stderr)
        };
        let (series, architecture, hyper) = (measured("ts"), measured("ap"), measured("hp"));
        let compared = [("AP", architecture), ("HP", hyper)];
        verdicts.extend(compared.into_iter().filter_map(|(name, other)| {
            compare(
                "TS explain the largest fraction of the variance",
                curves,
                ("TS", series?),
                (name, other?),
            )
        }));
        verdicts.extend(architecture.zip(hyper).and_then(|(architecture, hyper)| {
            compare(
                "AP matter more than HP where architectures vary",
                curves,
                ("AP", architecture),
                ("HP", hyper),
            )
        }));
    }
    verdicts.extend(first_prepared(rows, Part::Depth).into_iter().filter_map(generalizes));
    verdicts
}

/// The rows of `part` with the first preparation of each file.
fn first_prepared(rows: &[Row], part: Part) -> Vec<&Row> {
    let of_part: Vec<&Row> = rows.iter().filter(|row| row.part == part && !row.compressed).collect();
    let first =
        |row: &Row| of_part.iter().find(|other| other.curves == row.curves).map(|other| other.preparation);
    of_part.iter().copied().filter(|row| first(row) == Some(row.preparation)).collect()
}

fn compare(
    claim: &'static str,
    curves: &str,
    (name, a): (&str, (f64, f64)),
    (other, b): (&str, (f64, f64)),
) -> Option<Verdict> {
    let number = |(mean, error): (f64, f64)| format!("{:.2} ± {:.2}", 100.0 * mean, 100.0 * error);
    Some(Verdict {
        claim,
        curves: curves.to_owned(),
        judgment: Judgment::larger(a, b),
        evidence: format!("{name} {}, {other} {}", number(a), number(b)),
    })
}

/// "ν-SVR works best on average": the better kernel against the best other regressor, over the files of table 1.
fn best_regressor(rows: &[Row]) -> Option<Verdict> {
    let table_1 = first_prepared(rows, Part::Table1);
    let files = distinct(table_1.iter().map(|row| row.curves));
    let on_average = |name: &str| {
        let of_name: Vec<(f64, f64)> = table_1
            .iter()
            .filter(|row| row.predictor == name)
            .filter_map(|row| row.r2_mean.zip(row.r2_stderr))
            .collect();
        let count = of_name.len() as f64;
        let mean = of_name.iter().map(|(mean, _)| mean).sum::<f64>() / count;
        let error = of_name.iter().map(|(_, error)| error * error).sum::<f64>().sqrt() / count;
        (of_name.len() == files.len() && !files.is_empty()).then_some((mean, error))
    };
    let best = |names: &[&'static str]| {
        let known = names.iter().filter_map(|&name| Some((name, on_average(name)?)));
        known.max_by(|a, b| a.1.0.total_cmp(&b.1.0))
    };
    let of_files = format!("on average over {}", files.join(", "));
    compare("ν-SVR works best on average", &of_files, best(&SVRS)?, best(&["random-forest", "ols"])?)
}

/// "generalizes to deeper networks": as well as published, or better.
fn generalizes(row: &Row) -> Option<Verdict> {
    let ours = row.r2_mean.zip(row.r2_stderr)?;
    let published = row.published_mean.zip(row.published_stderr)?;
    let judgment = match Judgment::larger(ours, published) {
        Judgment::Undecided => Judgment::Holds,
        other => other,
    };
    let verdict =
        compare("generalizes to deeper networks", row.curves, ("ours", ours), ("published", published))?;
    let evidence = format!("{} layers: {}", row.depth.unwrap_or_default(), verdict.evidence);
    Some(Verdict { judgment, evidence, ..verdict })
}

/// Sentences on claims that `rows` and `replays` do not bear out.
pub(super) fn refuted(rows: &[Row], replays: &[Replayed]) -> Vec<String> {
    let mut sentences = of_accuracy(rows);
    sentences.extend(stopping_claims::refuted(replays));
    sentences
}

/// That each ν-SVR, as in the paper's figure, is ahead of the last value, of LCE and of BNN at every fraction, and at least as good as a
/// random forest and least squares.
fn of_accuracy(rows: &[Row]) -> Vec<String> {
    let observed = first_prepared(rows, Part::Observed);
    let mut sentences = Vec::new();
    for curves in distinct(observed.iter().map(|row| row.curves)) {
        let here: Vec<&Row> = observed.iter().copied().filter(|row| row.curves == curves).collect();
        for (svr, other) in SVRS.iter().flat_map(|svr| RIVALS.map(move |other| (*svr, other))) {
            let percents = where_ahead(&here, &[other], &[svr]);
            if !percents.is_empty() {
                sentences.push(format!("{curves}: `{other}` is ahead of `{svr}` at {percents} observed"));
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

/// Seconds of a fit and a forecast of each predictor, and the forecast's ratio to that of `svr-rbf`, next to the paper's.
pub(super) fn times(rows: &[&Row], table: Layout) -> String {
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
    use crate::reproduce::show::Show;

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
            by_seed: Vec::new(),
            compressed: false,
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
            "set: `last-value` is ahead of `svr-rbf` at 75 % observed",
            "set: `random-forest` is ahead of `svr-rbf` at 25 % observed",
        ];
        assert_eq!(refuted(&rows, &[]), expected);
        assert!(refuted(&rows[..2], &[]).is_empty());
    }

    #[test]
    fn a_sentence_holds_only_beyond_two_standard_errors() {
        let measured = |part, features: &str, mean| Row {
            part,
            features: features.to_owned(),
            ..row("svr-rbf", 0.25, mean)
        };
        let table_2 = |ap| {
            [
                measured(Part::Table2, "ts", 0.83),
                measured(Part::Table2, "ap", ap),
                measured(Part::Table2, "hp", 0.1),
            ]
        };
        let judged = |ap| verdicts(&table_2(ap)).iter().map(|verdict| verdict.judgment).collect::<Vec<_>>();
        assert_eq!(judged(0.5), [Judgment::Holds, Judgment::Holds, Judgment::Holds]);
        assert_eq!(judged(0.84), [Judgment::Undecided, Judgment::Holds, Judgment::Holds]);
        assert_eq!(judged(0.95), [Judgment::DoesNotHold, Judgment::Holds, Judgment::Holds]);
        let table_1 = |name, mean| Row { part: Part::Table1, ..row(name, 0.25, mean) };
        let best = |ols| verdicts(&[table_1("svr-linear", 0.9), table_1("ols", ols)])[0].judgment;
        assert_eq!((best(0.8), best(0.95)), (Judgment::Holds, Judgment::DoesNotHold));
        let deep = |mean| Row {
            depth: Some(32.0),
            published_mean: Some(0.8),
            published_stderr: Some(0.01),
            ..measured(Part::Depth, "ts", mean)
        };
        let generalizes = |mean| verdicts(&[deep(mean)])[0].judgment;
        assert_eq!((generalizes(0.79), generalizes(0.4)), (Judgment::Holds, Judgment::DoesNotHold));
    }

    #[test]
    fn times_stand_beside_the_published_ones_with_their_ratio() {
        let rows = [row("svr-rbf", 0.25, 0.9), row("lce-domhan2015", 0.25, 0.5)];
        let text = times(&rows.iter().collect::<Vec<_>>(), Show::SILENT.table);
        assert!(text.contains("200.000 ×") && text.contains("60 s"), "{text}");
    }
}

//! The result of `foretell reproduce`, as JSON and as tables.

use super::claims::{self, JudgedClaim};
use super::evidence::{Evidence, MeasuredFigure};
use super::judgment::{ClaimVerdict, JUDGMENT_RULE};
use super::measure::{NOT_APPLICABLE, PaperPart, ResultRow};
use super::released::PreparedFile;
use super::replayed::ReplayRow;
use super::show::TableLayout;
use super::stopping;
use serde::Serialize;

/// Further apart than this many standard errors, ours is not the published number.
const AGREEMENT_STANDARD_ERRORS: f64 = 2.0;

/// The result.
#[derive(Serialize)]
pub struct ReproductionReport {
    schema: &'static str,
    seed: u64,
    /// The released files that were not there.
    missing: Vec<String>,
    /// The released files that could not be read, each with the reason.
    unreadable: Vec<String>,
    sets: Vec<FileSummary>,
    summary: ReachedSummary,
    /// The parts that none of the files fills.
    not_applicable: Vec<PaperPart>,
    /// The paper's sentences, each with its verdict: all of them in the part `claims`, otherwise those that were measured.
    claims: Vec<JudgedClaim>,
    /// Seconds of fits and forecasts.
    figures: Vec<MeasuredFigure>,
    rows: Vec<ResultRow>,
    /// Simulated speed-ups.
    replays: Vec<ReplayRow>,
}

/// A file as it was prepared.
#[derive(Serialize)]
struct FileSummary {
    curves: &'static str,
    preparation: &'static str,
    compressed: bool,
    runs: usize,
    points: usize,
    preprocessing: String,
}

/// The numbers of published cells that were reached: by all splits of all seeds together, and with each seed.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct ReachedSummary {
    #[serde(flatten)]
    pub(super) pooled: ReachedCounts,
    pub(super) by_seed: Vec<ReachedCounts>,
}

/// The number of published cells that were reached.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct ReachedCounts {
    /// Published cells of the files that were there.
    pub(super) published_cells: usize,
    /// Those within two standard errors with the file's first preparation.
    pub(super) reached_faithfully: usize,
    /// Those within two standard errors with one preparation for each file: the one that reaches most of its cells.
    pub(super) reached: usize,
    /// Those within two standard errors with any preparation, another one for each cell if need be.
    pub(super) reached_by_any: usize,
    /// Those that no preparation reaches, with the nearest of ours.
    pub(super) unreached: Vec<String>,
}

/// The released files that took no part.
pub(super) struct AbsentFiles {
    /// Those that are not there.
    pub(super) missing: Vec<String>,
    /// Those that cannot be read, with the reason.
    pub(super) unreadable: Vec<String>,
}

impl ReproductionReport {
    /// The result for people.
    pub fn as_text(&self, table: TableLayout) -> String {
        as_text(self, table)
    }

    /// The result of `measured`, on `sets`. Claims are judged by the `recorded` measurements, where these are asked for.
    pub(super) fn new(
        seed: u64,
        absent: AbsentFiles,
        parts: &[PaperPart],
        sets: &[PreparedFile],
        measured: Evidence,
        recorded: Option<Evidence>,
    ) -> Self {
        let judged = claims::judge_claims(recorded.as_ref().unwrap_or(&measured))
            .into_iter()
            .filter(|known| recorded.is_some() || !known.comparisons.is_empty())
            .collect();
        let Evidence { rows, replays, figures } = measured;
        let sets = sets.iter().map(|prepared| FileSummary {
            curves: prepared.stem,
            preparation: prepared.preparation,
            compressed: prepared.compressed,
            runs: prepared.history.len(),
            points: prepared.history.grid().len(),
            preprocessing: prepared.description.clone(),
        });
        Self {
            schema: "foretell.reproduce/1",
            seed,
            missing: absent.missing,
            unreadable: absent.unreadable,
            sets: sets.collect(),
            summary: summarize_cells(&rows),
            not_applicable: parts
                .iter()
                .copied()
                .filter(|&part| match part {
                    PaperPart::Claims => false,
                    PaperPart::Times => figures.is_empty(),
                    _ => {
                        rows.iter().all(|row| row.part != part) && replays.iter().all(|row| row.part != part)
                    }
                })
                .collect(),
            claims: judged,
            figures,
            rows,
            replays,
        }
    }
}

pub(super) fn summarize_cells(rows: &[ResultRow]) -> ReachedSummary {
    let seeds = rows.iter().map(|row| row.by_seed.len()).max().unwrap_or(0);
    let by_seed = (0..seeds).map(|index| {
        count_cells(rows, &|row| row.by_seed.get(index).and_then(|seed| seed.difference_in_standard_errors))
    });
    ReachedSummary {
        pooled: count_cells(rows, &|row| row.difference_in_standard_errors),
        by_seed: by_seed.collect(),
    }
}

/// Counts published cells by the `difference` of their rows. The rows of one cell differ in their preparation alone, and the first is
/// the faithful one.
fn count_cells(rows: &[ResultRow], difference: &dyn Fn(&ResultRow) -> Option<f64>) -> ReachedCounts {
    let published: Vec<&ResultRow> =
        rows.iter().filter(|row| row.published_mean.is_some() && !row.compressed).collect();
    let mut summary = ReachedCounts::default();
    for curves in super::named::distinct(published.iter().map(|row| row.curves)) {
        let mut reached: Vec<(&str, usize)> = Vec::new();
        let mut cells: Vec<(String, Vec<&ResultRow>)> = Vec::new();
        for &row in published.iter().filter(|row| row.curves == curves) {
            let cell = format!("{:?} {} {} {:?}", row.part, row.predictor, row.features, row.depth);
            match cells.iter_mut().find(|(known, _)| *known == cell) {
                Some((_, rows)) => rows.push(row),
                None => cells.push((cell, vec![row])),
            }
            match reached.iter_mut().find(|(known, _)| *known == row.preparation) {
                Some((_, count)) => *count += usize::from(is_agreement(difference(row))),
                None => reached.push((row.preparation, usize::from(is_agreement(difference(row))))),
            }
        }
        summary.published_cells += cells.len();
        for (_, rows) in &cells {
            match rows.iter().any(|row| is_agreement(difference(row))) {
                true => summary.reached_by_any += 1,
                false => summary.unreached.extend(describe_nearest(rows)),
            }
        }
        summary.reached_faithfully += reached.first().map_or(0, |(_, count)| *count);
        summary.reached += reached.iter().map(|(_, count)| *count).max().unwrap_or(0);
    }
    summary
}

fn is_agreement(difference: Option<f64>) -> bool {
    difference.is_some_and(|d| d.abs() <= AGREEMENT_STANDARD_ERRORS)
}

/// The row that is nearest to what was published, of `rows` on one cell, in words; the first where none has a number.
fn describe_nearest(rows: &[&ResultRow]) -> Option<String> {
    let row = rows.iter().min_by(|a, b| {
        let [a, b] = [a, b].map(|row| row.difference_in_standard_errors.map_or(f64::INFINITY, f64::abs));
        a.total_cmp(&b)
    })?;
    let away = row.difference_in_standard_errors.map_or(String::new(), |d| format!(", {d:+.1} s.e."));
    Some(format!(
        "{}, {}: {} ({}), published {}{away}{}{}",
        row.curves,
        describe_row(row),
        hundredths(row.r2_mean, row.r2_stderr),
        row.preparation,
        hundredths(row.published_mean, row.published_stderr),
        if row.note.is_empty() { "" } else { "; " },
        row.note
    ))
}

/// Describes what a row measures: the predictor, with its depth or features.
fn describe_row(row: &ResultRow) -> String {
    match (row.part, row.depth) {
        (PaperPart::Depth, Some(depth)) => format!("{} at {depth} layers", row.predictor),
        (PaperPart::Table2, _) => format!("{} of {}", row.predictor, row.features),
        _ => row.predictor.clone(),
    }
}

/// The result for people.
pub(super) fn as_text(document: &ReproductionReport, table: TableLayout) -> String {
    let mut parts: Vec<String> = Vec::new();
    for part in [PaperPart::Table1, PaperPart::Table2, PaperPart::Depth, PaperPart::Observed] {
        let rows: Vec<&ResultRow> = document.rows.iter().filter(|row| row.part == part).collect();
        if let Some(first) = rows.first() {
            let most = rows.iter().map(|row| row.repeats).max().unwrap_or(0);
            let seeds = first.by_seed.len();
            let protocol = format!("{} runs to learn from, {most} splits over {seeds} seeds", first.train);
            let body = if part == PaperPart::Observed {
                observed_table(&rows, table)
            } else {
                cell_table(&rows, table)
            };
            parts.push(format!("{} (R² × 100; {protocol})\n{body}", part.section_heading()));
        }
    }
    for part in [PaperPart::Stopping, PaperPart::Hyperband] {
        let rows: Vec<&ReplayRow> = document.replays.iter().filter(|row| row.part == part).collect();
        if !rows.is_empty() {
            parts.push(format!(
                "{}\n{}",
                part.section_heading(),
                stopping::as_text(part, &rows, true, table)
            ));
        }
    }
    parts.extend(
        document.not_applicable.iter().map(|part| format!("{}: {NOT_APPLICABLE}", part.section_heading())),
    );
    if !document.figures.is_empty() {
        parts.push(format!(
            "{}\n{}",
            PaperPart::Times.section_heading(),
            times_table(&document.figures, table)
        ));
    }
    if !document.claims.is_empty() {
        let lines: Vec<String> = document.claims.iter().map(claim_text).collect();
        parts.push(format!(
            "the paper's sentences, each with its verdict\n{JUDGMENT_RULE}\n\n{}",
            lines.join("\n")
        ));
    }
    if !document.summary.pooled.unreached.is_empty() {
        let cells = document.summary.pooled.unreached.join("\n  ");
        parts.push(format!(
            "published numbers that no preparation reaches, with the nearest of ours\n  {cells}"
        ));
    }
    parts.push(prepared_text(document));
    parts.push(closing_text(document));
    parts.join("\n\n")
}

/// A sentence, its verdict, and the measurements behind it.
fn claim_text(known: &JudgedClaim) -> String {
    let own = match known.own {
        ClaimVerdict::NotShown => String::new(),
        own => format!(" (own recordings: {own})"),
    };
    let mut lines = vec![format!("{}{own}: {} ({})", known.released, known.format_sentence(), known.section)];
    lines.push(format!("published {}; here {}", known.published, known.describe_ours()));
    lines.extend((!known.reason.is_empty()).then(|| known.reason.to_owned()));
    let [runs, repeats, seeds] = [
        known.format_size_range(|sample| sample.runs),
        known.format_size_range(|sample| sample.repeats),
        known.format_size_range(|sample| sample.seeds),
    ];
    lines.push(format!("runs {runs}, splits or orders {repeats}, seeds {seeds}: {}", known.command));
    lines.join("\n    ")
}

fn times_table(figures: &[MeasuredFigure], table: TableLayout) -> String {
    let lines = figures.iter().map(|figure| {
        let error = figure.stderr.map_or("–".to_owned(), |error| format!("{error:.1e}"));
        vec![figure.figure.clone(), format!("{:.2e}", figure.mean), error, figure.repeats.to_string()]
    });
    table(&["", "mean", "±", "repetitions"], &lines.collect::<Vec<_>>())
}

fn cell_table(rows: &[&ResultRow], table: TableLayout) -> String {
    let lines = rows.iter().map(|row| {
        let difference = row.difference_in_standard_errors;
        vec![
            row.curves.to_owned(),
            format!("{}{}", row.preparation, if row.compressed { ", compressed" } else { "" }),
            describe_row(row),
            hundredths(row.r2_mean, row.r2_stderr),
            hundredths(row.published_mean, row.published_stderr),
            difference.map_or("–".to_owned(), |d| format!("{d:+.1} s.e.")),
            row.tested_mean.map_or("–".to_owned(), |tested| format!("{tested:.0}")),
            row.note.clone(),
        ]
    });
    let headings = ["curves", "prepared", "regressor", "ours", "published", "difference", "tested", "note"];
    table(&headings, &lines.collect::<Vec<_>>())
}

/// One line per file and regressor, one column per fraction.
fn observed_table(rows: &[&ResultRow], table: TableLayout) -> String {
    let mut fractions: Vec<f64> = rows.iter().map(|row| row.observed).collect();
    fractions.sort_by(f64::total_cmp);
    fractions.dedup();
    let names = super::named::distinct(rows.iter().map(|row| row.predictor.as_str()));
    let curves = super::named::distinct(rows.iter().map(|row| row.curves));
    let mut lines = Vec::new();
    for (&curves, &name) in curves.iter().flat_map(|curves| names.iter().map(move |name| (curves, name))) {
        let scores = fractions.iter().map(|fraction| {
            let row = rows.iter().find(|row| {
                row.curves == curves && row.predictor == name && row.observed.total_cmp(fraction).is_eq()
            });
            row.map_or("–".to_owned(), |row| hundredths(row.r2_mean, row.r2_stderr))
        });
        lines.push([curves.to_owned(), name.to_owned()].into_iter().chain(scores).collect::<Vec<_>>());
    }
    let percents: Vec<String> = fractions.iter().map(|f| format!("{:.0} %", f * 100.0)).collect();
    let headings: Vec<&str> =
        ["curves", "regressor"].into_iter().chain(percents.iter().map(String::as_str)).collect();
    table(&headings, &lines) + "\n(published as a figure, without numbers)"
}

fn hundredths(mean: Option<f64>, stderr: Option<f64>) -> String {
    let pair = mean.zip(stderr);
    pair.map_or("–".to_owned(), |(m, s)| format!("{:.2} ± {:.2}", 100.0 * m, 100.0 * s))
}

fn prepared_text(document: &ReproductionReport) -> String {
    let lines = document.sets.iter().map(|set| {
        let FileSummary { curves, preparation, compressed, runs, points, preprocessing } = set;
        let compressed = if *compressed { ", compressed" } else { "" };
        format!("  {curves}, {preparation}{compressed} ({runs} runs × {points} points): {preprocessing}")
    });
    format!("how the files were prepared\n{}", lines.collect::<Vec<_>>().join("\n"))
}

fn closing_text(document: &ReproductionReport) -> String {
    let ReachedSummary { pooled, by_seed } = &document.summary;
    let mut missing = match document.missing.as_slice() {
        [] => "all released files are there".to_owned(),
        names => format!("not there: {}", names.join(", ")),
    };
    for reason in &document.unreadable {
        missing += &format!("; left out: {reason}");
    }
    if pooled.published_cells == 0 {
        return missing;
    }
    format!(
        "of {} published numbers, over all splits of {} seeds, {} are within {AGREEMENT_STANDARD_ERRORS} standard errors as first prepared, \
         {} with the preparation of each file that reaches most, {} with one or another; {missing}",
        pooled.published_cells,
        by_seed.len(),
        document.summary.format_count(|counts| counts.reached_faithfully),
        document.summary.format_count(|counts| counts.reached),
        document.summary.format_count(|counts| counts.reached_by_any)
    )
}

impl ReachedSummary {
    /// A count over all seeds, and its mean and range with one seed.
    fn format_count(&self, count: fn(&ReachedCounts) -> usize) -> String {
        let all: Vec<usize> = self.by_seed.iter().map(count).collect();
        let (least, most) = (all.iter().min().unwrap_or(&0), all.iter().max().unwrap_or(&0));
        let mean = all.iter().sum::<usize>() as f64 / all.len().max(1) as f64;
        format!("{} ({mean:.1} with one seed, {least} to {most})", count(&self.pooled))
    }
}

/// The measurement of a row, for the progress on standard error.
pub(super) fn row_line(row: &ResultRow) -> String {
    let published = match row.published_mean {
        Some(_) => format!(", published {}", hundredths(row.published_mean, row.published_stderr)),
        None => String::new(),
    };
    let at = if row.part == PaperPart::Observed {
        format!(" at {:.0} %", 100.0 * row.observed)
    } else {
        String::new()
    };
    format!("{}{at} {}{published}", describe_row(row), hundredths(row.r2_mean, row.r2_stderr))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::show::DisplayOptions;

    fn row(preparation: &'static str, predictor: &str, difference: Option<f64>) -> ResultRow {
        ResultRow {
            part: PaperPart::Table1,
            curves: "lstm_ptb",
            preparation,
            predictor: predictor.to_owned(),
            features: "ts,ap,hp".to_owned(),
            observed: 0.25,
            depth: None,
            tau: Some(15),
            train: 100,
            repeats: 10,
            by_seed: Vec::new(),
            compressed: false,
            tested_mean: Some(180.0),
            r2_mean: difference.map(|_| 0.9),
            r2_stderr: difference.map(|_| 0.01),
            r2_natural_mean: None,
            r2_inside_mean: None,
            r2_inside_stderr: None,
            published_mean: Some(0.85),
            published_stderr: Some(0.02),
            difference_in_standard_errors: difference,
            fit_seconds: None,
            predict_seconds: None,
            note: String::new(),
        }
    }

    #[test]
    fn a_file_counts_with_one_preparation_not_with_the_best_of_each_cell() {
        let rows = [
            row("raw", "svr-rbf", Some(-9.0)),
            row("log", "svr-rbf", Some(1.9)),
            row("raw", "ols", Some(-1.0)),
            row("log", "ols", Some(5.0)),
            row("raw", "random-forest", None),
        ];
        let counts = |rows: &[ResultRow]| {
            let ReachedCounts { published_cells, reached_faithfully, reached, reached_by_any, unreached } =
                summarize_cells(rows).pooled;
            (published_cells, reached_faithfully, reached, reached_by_any, unreached.len())
        };
        assert_eq!(counts(&rows), (3, 1, 1, 2, 1));
        let left = summarize_cells(&rows).pooled.unreached;
        assert_eq!(left, ["lstm_ptb, random-forest: – (raw), published 85.00 ± 2.00"]);
        let with_log = [&rows[..], &[row("log", "random-forest", Some(0.1))]].concat();
        assert_eq!(counts(&with_log), (3, 1, 2, 3, 0));
    }

    #[test]
    fn tables_show_hundredths_and_a_dash_for_what_is_not_there() {
        let rows = [row("raw", "svr-rbf", Some(2.24)), row("raw", "ols", None)];
        let text = cell_table(&rows.iter().collect::<Vec<_>>(), DisplayOptions::SILENT.table);
        assert!(text.contains("90.00 ± 1.00") && text.contains("85.00 ± 2.00") && text.contains("+2.2 s.e."));
        assert!(text.lines().last().is_some_and(|line| line.contains('–')), "{text}");
    }
}

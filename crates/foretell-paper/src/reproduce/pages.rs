//! The tables about the paper in the docs, made of the recorded measurements. A test fails where one is stale, and writes it again with
//! `FORETELL_WRITE_DOCS=1`.

use super::again;
use super::claims::{JudgedClaim, judge_claims};
use super::evidence::{Evidence, short_name};
use super::judgment::{ClaimVerdict, JUDGMENT_RULE};
use super::measure::{PaperPart, ResultRow};
use super::named::distinct;
use super::published::{PUBLISHED_DEPTHS, TABLE_1, TABLE_2};
use super::read_released;
use super::released::{first_preparation, is_own};
use super::replayed::ReplayRow;
use super::report::{ReachedCounts, ReachedSummary, summarize_cells};
use super::searches::describe_stop_rule;
use super::show::DisplayOptions;
use std::collections::BTreeSet;
use std::path::Path;

const WRITE: &str = "FORETELL_WRITE_DOCS=1 cargo test --release -p foretell-paper pages";

fn path(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}

fn table(headings: &[&str], rows: &[Vec<String>]) -> String {
    let rule = vec!["---"; headings.len()];
    let cells = [headings, &rule].into_iter().map(|cells| cells.join(" | "));
    let lines = cells.chain(rows.iter().map(|cells| cells.join(" | ")));
    lines.map(|cells| format!("| {cells} |\n")).collect()
}

fn verdict(judgment: ClaimVerdict) -> String {
    if judgment == ClaimVerdict::NotShown { "–".to_owned() } else { judgment.to_string() }
}

/// All columns of the claims, for the page on the reproduction.
fn long(all: &[JudgedClaim]) -> String {
    let lines = all.iter().enumerate().map(|(index, known)| {
        let reason = if known.reason.is_empty() { String::new() } else { format!(" {}", known.reason) };
        vec![
            (index + 1).to_string(),
            format!("{} ({})", known.format_sentence(), known.section),
            known.published.to_string(),
            known.describe_ours() + &reason,
            known.format_size_range(|sample| sample.runs),
            known.format_size_range(|sample| sample.repeats),
            known.format_size_range(|sample| sample.seeds),
            known.released.to_string(),
            verdict(known.own),
            format!("`{}`", known.command),
        ]
    });
    let headings = [
        "",
        "sentence (section)",
        "published",
        "ours, and a reason",
        "runs",
        "splits or orders",
        "seeds",
        "released data",
        "own recordings",
        "command",
    ];
    format!("{JUDGMENT_RULE}\n\n{}", table(&headings, &lines.collect::<Vec<_>>()))
}

/// The verdicts of the claims, for the page that compares with the paper.
fn brief(all: &[JudgedClaim]) -> String {
    let lines = all.iter().enumerate().map(|(index, known)| {
        vec![
            (index + 1).to_string(),
            known.format_sentence(),
            known.describe_ours(),
            known.released.to_string(),
            verdict(known.own),
        ]
    });
    table(&["", "sentence", "ours", "released data", "own recordings"], &lines.collect::<Vec<_>>())
}

/// The numbers of sentences by their verdict.
fn counts(all: &[JudgedClaim]) -> String {
    let [hold, contradicted, undecided, not_shown] =
        [ClaimVerdict::Holds, ClaimVerdict::Contradicted, ClaimVerdict::Undecided, ClaimVerdict::NotShown]
            .map(|verdict| all.iter().filter(|known| known.released == verdict).count());
    format!(
        "Of {} sentences and table rows of the paper, {hold} hold by the released data, {contradicted} are contradicted, {undecided} are undecided and {not_shown} are not shown.\n",
        all.len()
    )
}

fn hundredths(mean: Option<f64>, stderr: Option<f64>) -> String {
    let pair = mean.zip(stderr);
    pair.map_or("–".to_owned(), |(m, s)| format!("{:.2} ± {:.2}", 100.0 * m, 100.0 * s).replace('-', "−"))
}

/// R² of a row; bold where the published cell agrees.
fn ours(row: Option<&&ResultRow>) -> String {
    let Some(row) = row else { return "–".to_owned() };
    let number = hundredths(row.r2_mean, row.r2_stderr);
    if row
        .difference_in_standard_errors
        .is_some_and(|d| d.abs() <= super::judgment::DIFFERENCE_STANDARD_ERRORS)
    {
        format!("**{number}**")
    } else {
        number
    }
}

/// A heading, and whether a row is of its column.
type Column<'a> = (&'a str, &'a dyn Fn(&ResultRow) -> bool);

/// The cells of `part`, a line for the published ones and one for each preparation of each file.
fn cells(
    evidence: &Evidence,
    part: PaperPart,
    columns: &[Column<'_>],
    only: &dyn Fn(&ResultRow) -> bool,
) -> Vec<Vec<String>> {
    let rows: Vec<&ResultRow> =
        evidence.rows.iter().filter(|row| row.part == part && !row.compressed && only(row)).collect();
    let mut lines = Vec::new();
    let mut files = distinct(rows.iter().map(|row| row.curves));
    files.sort_by_key(|file| {
        super::released::RELEASED_FILES.iter().position(|released| released.stem == *file)
    });
    for file in files {
        let of_file: Vec<&ResultRow> = rows.iter().copied().filter(|row| row.curves == file).collect();
        let mut preparations = distinct(of_file.iter().map(|row| row.preparation));
        preparations.sort_by_key(|name| *name != first_preparation(file));
        let published: Vec<String> = columns
            .iter()
            .map(|(_, is_here)| {
                let cell = of_file.iter().find(|row| is_here(row) && row.published_mean.is_some());
                cell.map_or(String::new(), |row| hundredths(row.published_mean, row.published_stderr))
            })
            .collect();
        if published.iter().any(|cell| !cell.is_empty()) {
            lines.push([vec![short_name(file), "published".to_owned()], published].concat());
        }
        for preparation in preparations {
            let line = columns.iter().map(|(_, is_here)| {
                ours(of_file.iter().find(|row| row.preparation == preparation && is_here(row)))
            });
            lines.push([vec![short_name(file), preparation.to_owned()], line.collect()].concat());
        }
    }
    lines
}

/// The rows of `parts` on released files, those of the first preparation first.
fn released_rows(evidence: &Evidence, parts: &[PaperPart]) -> Vec<ResultRow> {
    let here = evidence.rows.iter().filter(|row| parts.contains(&row.part) && !is_own(row.curves));
    let mut rows: Vec<ResultRow> = here.cloned().collect();
    rows.sort_by_key(|row| row.preparation != first_preparation(row.curves));
    rows
}

/// The numbers of published cells that are reached: with the splits of all seeds together, and with those of each seed.
fn reached_cells(evidence: &Evidence) -> String {
    let groups = [
        ("tables 1 and 2", &[PaperPart::Table1, PaperPart::Table2][..]),
        ("table 1", &[PaperPart::Table1]),
        ("tables 1 and 2, and depths", &[PaperPart::Table1, PaperPart::Table2, PaperPart::Depth]),
    ];
    let counted: [fn(&ReachedCounts) -> usize; 3] =
        [|counts| counts.reached_faithfully, |counts| counts.reached, |counts| counts.reached_by_any];
    let mut lines = Vec::new();
    for (name, parts) in groups {
        let ReachedSummary { pooled, by_seed } = summarize_cells(&released_rows(evidence, parts));
        let together = counted.map(|count| count(&pooled).to_string());
        let each = counted.map(|count| {
            let all: Vec<usize> = by_seed.iter().map(count).collect();
            let (least, most) = (all.iter().min().unwrap_or(&0), all.iter().max().unwrap_or(&0));
            let mean = all.iter().sum::<usize>() as f64 / all.len().max(1) as f64;
            format!("{mean:.1}, {least} to {most}")
        });
        let cells = format!("{} of {name}", pooled.published_cells);
        let seeds = format!("{} seeds together", by_seed.len());
        lines.push([vec![cells, seeds], together.to_vec()].concat());
        lines.push([vec!["the same".to_owned(), "one seed: mean, range".to_owned()], each.to_vec()].concat());
    }
    let headings =
        ["cells", "splits of", "first preparation", "best preparation of each file", "any preparation"];
    table(&headings, &lines)
}

/// The cells of tables 1 and 2 that no preparation reaches, a line for each.
fn unreached_cells(evidence: &Evidence) -> String {
    let cells =
        summarize_cells(&released_rows(evidence, &[PaperPart::Table1, PaperPart::Table2])).pooled.unreached;
    cells.iter().map(|cell| format!("- {}\n", cell.replace(" -", " −"))).collect()
}

fn column_names(columns: &[Column<'_>]) -> Vec<String> {
    ["file", "preparation"]
        .into_iter()
        .chain(columns.iter().map(|column| column.0))
        .map(str::to_owned)
        .collect()
}

fn table_of_columns(columns: &[Column<'_>], lines: &[Vec<String>]) -> String {
    let headings = column_names(columns);
    table(&headings.iter().map(String::as_str).collect::<Vec<_>>(), lines)
}

fn table_1(evidence: &Evidence) -> String {
    let is: Vec<_> = TABLE_1.iter().map(|(name, _)| move |row: &ResultRow| row.predictor == *name).collect();
    let columns: Vec<Column<'_>> =
        TABLE_1.iter().zip(&is).map(|((name, _), is)| (*name, is as &dyn Fn(&ResultRow) -> bool)).collect();
    table_of_columns(&columns, &cells(evidence, PaperPart::Table1, &columns, &|_| true))
}

fn table_2(evidence: &Evidence) -> String {
    let names: Vec<String> = TABLE_2.iter().map(|row| row.features.to_string()).collect();
    let is: Vec<_> = names.iter().map(|name| move |row: &ResultRow| row.features == *name).collect();
    let headings: Vec<String> = names.iter().map(|name| name.to_uppercase().replace(',', "+")).collect();
    let columns: Vec<Column<'_>> = headings
        .iter()
        .zip(&is)
        .map(|(name, is)| (name.as_str(), is as &dyn Fn(&ResultRow) -> bool))
        .collect();
    table_of_columns(&columns, &cells(evidence, PaperPart::Table2, &columns, &|_| true))
}

fn depths(evidence: &Evidence) -> String {
    let is: Vec<_> = TABLE_1.iter().map(|(name, _)| move |row: &ResultRow| row.predictor == *name).collect();
    let columns: Vec<Column<'_>> =
        TABLE_1.iter().zip(&is).map(|((name, _), is)| (*name, is as &dyn Fn(&ResultRow) -> bool)).collect();
    let mut lines = Vec::new();
    for (depth, _) in PUBLISHED_DEPTHS {
        let of_depth = cells(evidence, PaperPart::Depth, &columns, &|row| {
            row.depth.is_some_and(|own| (own - depth).abs() < 0.5)
        });
        lines.extend(of_depth.into_iter().map(|mut line| {
            line[0] = format!("{depth} layers");
            line
        }));
    }
    table_of_columns(&columns, &lines)
}

/// R² against the fraction observed: the row with most splits of each cell.
fn observed_fractions_table(evidence: &Evidence) -> String {
    let rows: Vec<&ResultRow> = evidence.first_preparation_rows(PaperPart::Observed).collect();
    let mut fractions: Vec<f64> = rows.iter().map(|row| row.observed).collect();
    fractions.sort_by(f64::total_cmp);
    fractions.dedup();
    let mut lines = Vec::new();
    for file in evidence.file_names(PaperPart::Observed) {
        for name in distinct(rows.iter().filter(|row| row.curves == file).map(|row| row.predictor.as_str())) {
            let cells = fractions.iter().map(|fraction| {
                let here = rows.iter().filter(|row| {
                    row.curves == file && row.predictor == name && row.observed.total_cmp(fraction).is_eq()
                });
                here.max_by_key(|row| row.repeats)
                    .map_or("–".to_owned(), |row| hundredths(row.r2_mean, row.r2_stderr))
            });
            let here = rows.iter().filter(|row| row.curves == file && row.predictor == name);
            let splits: BTreeSet<usize> = here.map(|row| row.repeats).collect();
            let splits = splits.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or ");
            lines.push([vec![short_name(file), format!("`{name}`"), splits], cells.collect()].concat());
        }
    }
    let percents: Vec<String> =
        fractions.iter().map(|fraction| format!("{:.0} %", 100.0 * fraction)).collect();
    let headings: Vec<&str> =
        ["file", "predictor", "splits"].into_iter().chain(percents.iter().map(String::as_str)).collect();
    table(&headings, &lines)
}

fn times(row: &ReplayRow) -> String {
    match row.numbers.orderings {
        1 => format!("{:.2}", row.numbers.speedup_mean),
        _ => format!("{:.2} ± {:.2}", row.numbers.speedup_mean, row.numbers.speedup_stderr),
    }
}

fn kept_orders(row: &ReplayRow) -> String {
    row.numbers.best_kept.map_or("–".to_owned(), |kept| {
        format!("{:.0} of {}", kept * row.numbers.orderings as f64, row.numbers.orderings)
    })
}

/// Searches over whole files, a line for each predictor, rule and first run that may stop.
fn stopping(evidence: &Evidence) -> String {
    let mut rows = evidence.select_replays(|row| row.part == PaperPart::Stopping);
    rows.sort_by(|a, b| {
        (a.curves, a.predictor, describe_stop_rule(a), a.burn_in, a.variant)
            .cmp(&(b.curves, b.predictor, describe_stop_rule(b), b.burn_in, b.variant))
            .then(a.stop_probability.unwrap_or(0.0).total_cmp(&b.stop_probability.unwrap_or(0.0)))
    });
    let lines = rows.iter().map(|row| {
        let variant = match row.variant {
            "delta" => "Δ".to_owned(),
            "nth best" => format!("Δ, {}th best", row.nth_best),
            _ => format!("Δ, δ = {}", row.offset),
        };
        vec![
            format!("{}, {}", short_name(row.curves), row.numbers.runs),
            format!("`{}`", row.predictor.unwrap_or("–")),
            describe_stop_rule(row).to_owned(),
            (row.burn_in + 1).to_string(),
            variant,
            row.stop_probability.unwrap_or(0.0).to_string(),
            times(row),
            kept_orders(row),
        ]
    });
    let headings =
        ["runs", "predictor", "rule", "first run that may stop", "variant", "Δ", "speed-up", "best kept"];
    table(&headings, &lines.collect::<Vec<_>>())
}

/// f-Hyperband without and with models of earlier runs, and perfect foresight.
fn hyperband(evidence: &Evidence) -> String {
    let mut lines = Vec::new();
    for curves in evidence.hyperband_curves() {
        let rows = evidence.select_replays(|row| row.part == PaperPart::Hyperband && row.curves == curves);
        for cold in rows.iter().filter(|row| row.variant == "cold") {
            let [warm, oracle] = [("warm", cold.predictor), ("oracle", None)].map(|(variant, predictor)| {
                let row = rows.iter().find(|row| {
                    (row.variant, row.predictor, row.reference) == (variant, predictor, cold.reference)
                        && row.kappa.map(f64::to_bits) == cold.kappa.map(f64::to_bits)
                });
                row.map_or("–".to_owned(), |row| times(row))
            });
            let reference =
                cold.reference.map_or(String::new(), |reference| format!("{reference:?}").to_lowercase());
            lines.push(vec![
                short_name(curves),
                format!("`{}`", cold.predictor.unwrap_or("–")),
                reference,
                cold.kappa.map_or(String::new(), |kappa| kappa.to_string()),
                times(cold),
                warm,
                oracle,
            ]);
        }
    }
    table(
        &[
            "curves",
            "predictor",
            "`reference`",
            "κ",
            "without earlier runs",
            "with earlier runs",
            "perfect foresight",
        ],
        &lines,
    )
}

/// Seconds of fits and forecasts.
fn seconds(evidence: &Evidence) -> String {
    let svr = evidence.find_figure("seconds of a forecast, svr-rbf", "").map_or(f64::NAN, |value| value.mean);
    let lines = ["svr-rbf", "bnn", "lce-domhan2015", "lce"].into_iter().filter_map(|name| {
        let fit = evidence.find_figure(&format!("seconds of a fit, {name}"), "")?;
        let forecast = evidence.find_figure(&format!("seconds of a forecast, {name}"), "")?;
        let times = format!("{:.0}", forecast.mean / svr);
        Some(vec![format!("`{name}`"), fit.to_string(), forecast.to_string(), times])
    });
    let headings = ["method", "seconds of a fit", "of a forecast", "forecasts of `svr-rbf` in this time"];
    table(&headings, &lines.collect::<Vec<_>>())
}

/// `text` with the part between the markers of `name` replaced by `made`.
fn replace_section(text: &str, name: &str, made: &str) -> String {
    let (begin, end) = (
        format!("<!-- {name}: begin, made of the recorded measurements -->"),
        format!("<!-- {name}: end -->"),
    );
    let (before, rest) = text.split_once(&begin).unwrap_or_else(|| panic!("no markers of {name:?}"));
    let (_, after) = rest.split_once(&end).expect("an end");
    format!("{before}{begin}\n\n{made}\n{end}{after}")
}

fn check(page: &str, blocks: &[(&str, String)]) {
    let path = path(page);
    let there = std::fs::read_to_string(&path).expect("the page is there");
    let made = blocks.iter().fold(there.clone(), |text, (name, made)| replace_section(&text, name, made));
    if made != there {
        assert!(std::env::var_os("FORETELL_WRITE_DOCS").is_some(), "{page} is stale: run {WRITE}");
        std::fs::write(path, made).expect("the page is written");
    }
}

#[test]
fn the_tables_about_the_paper_are_those_of_the_recorded_measurements() {
    pages_of(&Evidence::read_recorded().expect("it is whole"));
}

fn pages_of(evidence: &Evidence) {
    let all = judge_claims(evidence);
    check("README.md", &[("claims", counts(&all))]);
    check("docs/explanation/reference.md", &[("claims", counts(&all) + "\n" + &brief(&all))]);
    check(
        "docs/research/reproduction.md",
        &[
            ("claims", long(&all)),
            ("table 1", table_1(evidence)),
            ("table 2", table_2(evidence)),
            ("depth", depths(evidence)),
            ("reached", reached_cells(evidence)),
            ("unreached", unreached_cells(evidence)),
            ("observed", observed_fractions_table(evidence)),
            ("stopping", stopping(evidence)),
            ("hyperband", hyperband(evidence)),
            ("times", seconds(evidence)),
        ],
    );
}

#[test]
fn each_sentence_stands_once_and_no_row_lacks_a_value_without_a_reason() {
    let all = judge_claims(&Evidence::read_recorded().expect("it is whole"));
    let sentences: BTreeSet<&str> = all.iter().map(|known| &*known.sentence).collect();
    assert_eq!(sentences.len(), all.len(), "a sentence stands twice");
    for known in &all {
        let JudgedClaim { sentence, published, command, reason, comparisons, .. } = known;
        assert!(!sentence.is_empty() && !published.is_empty() && !command.is_empty(), "{sentence}");
        let is_measured = known.released != ClaimVerdict::NotShown;
        assert!(is_measured || !reason.is_empty(), "{sentence}: no value and no reason");
        assert_eq!(comparisons.is_empty(), known.describe_ours() == "–", "{sentence}");
    }
    for page in ["README.md", "docs/explanation/reference.md", "docs/research/reproduction.md"] {
        let text = std::fs::read_to_string(path(page)).expect("the page is there");
        let outside = replace_section(&text, "claims", "");
        for word in ["does not hold", "in part |", "| holds"] {
            assert!(!outside.contains(word), "{page} contains its own verdict: {word}");
        }
    }
}

/// Without the paper's data, only our own recording is computed again.
#[test]
fn the_cheapest_recorded_cells_are_computed_again() {
    let evidence = Evidence::read_recorded().expect("it is whole");
    let mut count = 0;
    for folder in [Some(path("data/convnet")), crate::needed::recorded("curves/paper")].into_iter().flatten()
    {
        let (sets, _) = read_released(&folder, DisplayOptions::SILENT).expect("it is read");
        let (cells, differing) =
            again::find_differing_cells(&evidence, &sets, 0.5).expect("they are computed");
        assert!(differing.is_empty(), "{differing:?}");
        count += cells;
    }
    assert!(count >= 6, "{count}");
}

/// Without the paper's data, only Hyperband on our own recording is replayed again.
#[test]
fn the_cheapest_recorded_searches_are_replayed_again() {
    let evidence = Evidence::read_recorded().expect("it is whole");
    let paper = crate::needed::recorded("curves/paper");
    let mut counts = [0, 0];
    for folder in [Some(path("data/convnet")), paper.clone()].into_iter().flatten() {
        let (sets, _) = read_released(&folder, DisplayOptions::SILENT).expect("it is read");
        for (count, part) in counts.iter_mut().zip([PaperPart::Stopping, PaperPart::Hyperband]) {
            let replayed = again::find_differing_replays(&evidence, part, &sets, DisplayOptions::SILENT);
            let (replays, differing) = replayed.expect("they are replayed");
            assert!(differing.is_empty(), "{differing:?}");
            *count += replays;
        }
    }
    let [stopping, hyperband] = counts;
    assert!(hyperband >= 5 && (paper.is_none() || stopping >= 12), "{counts:?}");
}

//! The output of commands: tables for people, JSON for scripts, both on standard output alone.

use crate::failure::Failure;
pub(crate) use crate::terminal::note;
use crate::terminal::{harmless, visible};
use clap::ValueEnum;
use serde::Serialize;
use std::io::{BufRead, Write};

/// The form of the result on standard output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// Table for people.
    #[default]
    Table,
    /// JSON for scripts.
    Json,
}

/// Writes `text`, made [harmless], and a line end to standard output. A closed pipe ends the output, not the command in error.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    print_raw(&harmless(text))
}

/// Asks on the terminal; an empty answer is `default`.
pub(crate) fn ask(question: &str, default: &str) -> Result<String, Failure> {
    let mut terminal = std::io::stderr();
    write!(terminal, "{question} [{default}]: ").and_then(|()| terminal.flush()).map_err(Failure::midway)?;
    let mut answer = String::new();
    if std::io::stdin().lock().read_line(&mut answer).map_err(Failure::midway)? == 0 {
        return Err(Failure::midway("there is no answer: --yes asks nothing"));
    }
    let answer = answer.trim();
    Ok(if answer.is_empty() { default } else { answer }.to_owned())
}

fn print_raw(text: &str) -> Result<(), Failure> {
    match writeln!(std::io::stdout(), "{text}") {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::midway(format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// `document` as JSON.
pub(crate) fn json(document: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string_pretty(document).map_err(Failure::midway)
}

/// Writes `document` as JSON to standard output.
pub(crate) fn print_json(document: &impl Serialize) -> Result<(), Failure> {
    print_raw(&json(document)?)
}

/// A value of a metric for a table: four decimals, as suits an accuracy or a perplexity; about four significant digits where these would
/// hide it or pretend to know more.
pub(crate) fn metric_value(value: f64) -> String {
    metric_difference(value, value, 4)
}

/// A difference between values about as large as `near`, such as a standard deviation, written as these are, with so many `decimals` where
/// they have decimals.
pub(crate) fn metric_difference(difference: f64, near: f64, decimals: usize) -> String {
    let text = format_rounded(difference, near, decimals);
    // what is rounded to 0 has no sign
    match text.strip_prefix('-') {
        Some(digits) if digits.chars().all(|c| "0.".contains(c)) => digits.to_owned(),
        _ => text,
    }
}

fn format_rounded(difference: f64, near: f64, decimals: usize) -> String {
    let size = if near.is_finite() { near.abs() } else { 0.0 }.max(difference.abs());
    if !difference.is_finite() {
        "–".to_owned()
    } else if difference.abs() > 0.0 && !(1e-3..1e6).contains(&size) {
        let text = format!("{difference:.3e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        format!("{}e{exponent}", digits.trim_end_matches('0').trim_end_matches('.'))
    } else if size >= 1e4 {
        format!("{difference:.0}")
    } else {
        format!("{difference:.decimals$}")
    }
}

/// A number as people write it: three significant digits.
pub(crate) fn short_number(value: f64) -> String {
    let size = value.abs();
    if value.fract() == 0.0 && size < 1e6 {
        format!("{value:.0}")
    } else if (1e-4..1e6).contains(&size) {
        let decimals = (2 - size.log10().floor() as i32).clamp(0, 6) as usize;
        let text = format!("{value:.decimals$}");
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
    } else {
        let text = format!("{value:.2e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        format!("{}e{exponent}", digits.trim_end_matches('0').trim_end_matches('.'))
    }
}

/// A value and its standard deviation.
pub(crate) fn with_deviation(value: f64, deviation: f64) -> String {
    format!("{} ± {}", metric_value(value), metric_difference(deviation, value, 4))
}

/// A probability in percent, with so many digits. No forecast is certain, so the highest ones are not rounded up to 100 %.
pub(crate) fn percent(probability: f64, digits: usize) -> String {
    match probability {
        0.9995.. => "> 99.9 %".to_owned(),
        _ => format!("{:.digits$} %", 100.0 * probability),
    }
}

/// A duration as people say it: two units at most.
pub(crate) fn human_duration(seconds: f64) -> String {
    let whole = seconds.round().max(0.0) as u64;
    let (days, hours, minutes) = (whole / 86_400, whole / 3600 % 24, whole / 60 % 60);
    match whole {
        0..10 => format!("{seconds:.1} s"),
        10..60 => format!("{whole} s"),
        60..3600 => format!("{minutes} min {} s", whole % 60),
        3600..86_400 => format!("{hours} h {minutes} min"),
        _ => format!("{days} d {hours} h"),
    }
}

/// An aligned table without borders, its first row the headings.
pub(crate) fn table(headings: &[&str], rows: &[Vec<String>]) -> String {
    let mut table = comfy_table::Table::new();
    table
        .load_style(comfy_table::presets::NOTHING)
        .set_header(headings.iter().map(|heading| visible(heading)));
    // no wider than a terminal; in a file or a pipe each row is one line
    if let Some((_, width)) = console::Term::stdout().size_checked() {
        table.set_content_arrangement(comfy_table::ContentArrangement::Dynamic).set_width(width);
    }
    for row in rows {
        table.add_row(row.iter().map(|cell| visible(cell)));
    }
    let text = table.to_string();
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

/// As [`table`], but a terminal that is too narrow shows it without the columns of the headings `spare`, as many as needed, the first ones first.
/// A last line names them.
pub(crate) fn table_without(headings: &[&str], rows: &[Vec<String>], spare: &[&str]) -> String {
    let width = console::Term::stdout().size_checked().map(|(_, width)| usize::from(width));
    let left_out = left_out(headings, rows, spare, width.unwrap_or(usize::MAX));
    let kept: Vec<usize> = (0..headings.len()).filter(|&at| !left_out.contains(&headings[at])).collect();
    let shown: Vec<&str> = kept.iter().map(|&at| headings[at]).collect();
    let rows: Vec<_> = rows.iter().map(|row| kept.iter().map(|&at| row[at].clone()).collect()).collect();
    let text = table(&shown, &rows);
    match left_out.is_empty() {
        true => text,
        false => format!("{text}\n\nleft out to fit the terminal: {}", left_out.join(", ")),
    }
}

/// The first of the columns `spare` that a table of `width` columns of text has no room for.
fn left_out<'a>(headings: &[&str], rows: &[Vec<String>], spare: &[&'a str], width: usize) -> Vec<&'a str> {
    let mut needed: usize = (0..headings.len()).map(|at| column_width(headings, rows, at)).sum();
    let mut left_out = Vec::new();
    for &name in spare {
        if needed <= width {
            break;
        }
        if let Some(at) = headings.iter().position(|heading| *heading == name) {
            needed -= column_width(headings, rows, at);
            left_out.push(name);
        }
    }
    left_out
}

fn column_width(headings: &[&str], rows: &[Vec<String>], at: usize) -> usize {
    let cells = rows.iter().map(|row| console::measure_text_width(&row[at]));
    // each column has a blank on both sides
    cells.chain([console::measure_text_width(headings[at])]).max().unwrap_or(0) + 2
}

/// FNV-1a, folded to 32 bits: a short name for a long text.
pub(crate) fn fingerprint(text: &str) -> u32 {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash >> 32) as u32 ^ hash as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_values_have_four_decimals_and_others_four_digits() {
        let cases = [
            (0.91234, "0.9123"),
            (0.0, "0.0000"),
            (1.0, "1.0000"),
            (0.001, "0.0010"),
            (-0.25, "-0.2500"),
            (87.0149, "87.0149"),
            (65.19, "65.1900"),
            (12345.6, "12346"),
            (1.2e-6, "1.2e-6"),
            (-0.000_812_34, "-8.123e-4"),
            (1.234_56e12, "1.235e12"),
            (2e7, "2e7"),
            (f64::NAN, "–"),
        ];
        for (value, expected) in cases {
            assert_eq!(metric_value(value), expected, "{value}");
        }
    }

    #[test]
    fn settings_have_three_significant_digits() {
        let cases = [
            (64.0, "64"),
            (0.570_776_1, "0.571"),
            (0.000_638_26, "0.000638"),
            (0.1, "0.1"),
            (-12.345, "-12.3"),
            (123_456.7, "123457"),
            (3.2e-5, "3.2e-5"),
            (1.0e9, "1e9"),
        ];
        for (value, expected) in cases {
            assert_eq!(short_number(value), expected);
        }
    }

    #[test]
    fn durations_have_two_units_at_most() {
        let cases = [
            (0.0, "0.0 s"),
            (3.12, "3.1 s"),
            (59.4, "59 s"),
            (61.0, "1 min 1 s"),
            (3_725.0, "1 h 2 min"),
            (90_000.0, "1 d 1 h"),
        ];
        for (seconds, expected) in cases {
            assert_eq!(human_duration(seconds), expected);
        }
    }

    #[test]
    fn a_narrow_table_leaves_out_the_columns_that_it_can_spare() {
        let headings = ["study", "begun", "best"];
        let rows = [["abcdefgh", "2026-11-26", "0.9"].map(str::to_owned).to_vec()];
        let cases: [(usize, &[&str]); 4] = [(80, &[]), (28, &[]), (27, &["begun"]), (10, &["begun", "best"])];
        for (width, expected) in cases {
            assert_eq!(left_out(&headings, &rows, &["begun", "best"], width), expected, "{width}");
        }
    }

    #[test]
    fn a_difference_is_written_as_the_values_that_differ() {
        let cases = [
            (0.0004, 0.9, 4, "0.0004"),
            (0.000_04, 0.9, 5, "0.00004"),
            (3e-7, 1.2e-6, 4, "3e-7"),
            (0.3, 1.2e-6, 4, "0.3000"),
            (0.0, 1.2e-6, 4, "0.0000"),
            (12.3, 2.5e9, 4, "1.23e1"),
            (0.25, f64::NAN, 4, "0.2500"),
        ];
        for (difference, near, decimals, expected) in cases {
            assert_eq!(metric_difference(difference, near, decimals), expected, "{difference} near {near}");
        }
    }
}

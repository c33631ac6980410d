//! Notation of the cells of a table: headings, and the commas of numbers.

/// The meaning of a comma inside a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommaMeaning {
    /// `0,532` is 0.532.
    Decimal,
    /// `12,106` is 12106.
    Thousands,
}

impl CommaMeaning {
    /// The meaning that one cell leaves no doubt of; `None` for `12,106`, which can be both, and for cells without a comma.
    pub(crate) fn in_cell(cell: &str) -> Option<Self> {
        let cell = cell.strip_suffix('%').map_or(cell, str::trim_end);
        let digits = cell.trim_start_matches(['+', '-']);
        let (whole, rest) = digits.split_once(',')?;
        if !is_all_digits(whole) {
            return None;
        }
        let mantissa = rest.split(['e', 'E']).next().unwrap_or(rest);
        if is_all_digits(mantissa) && (mantissa.len() != 3 || whole == "0" || whole.len() > 3) {
            return Some(Self::Decimal);
        }
        let (groups, point) = rest.split_once('.').map_or((rest, false), |(groups, _)| (groups, true));
        let grouped = groups.split(',').all(|group| group.len() == 3 && is_all_digits(group));
        (grouped && (point || groups.contains(','))).then_some(Self::Thousands)
    }
}

/// The number that `text` writes.
pub(crate) fn number_of(text: &str, comma: CommaMeaning) -> Option<f64> {
    match comma {
        CommaMeaning::Decimal => text.replacen(',', ".", 1).parse().ok(),
        CommaMeaning::Thousands => text.replace(',', "").parse().ok(),
    }
}

/// Whether the first row of a table can name its columns.
///
/// - A decimal number, a clock time, the line of a log (`loss 0.9`) and a list (`Metrics: loss, acc`) name no column.
/// - Whole numbers name the steps of a wide table. Whether they do where nothing else is named, the rows below tell: see [`is_doubtful`].
pub(crate) fn is_heading(names: &[&str]) -> bool {
    !names.iter().any(|name| {
        // pandas' `Unnamed: 0` is a name
        let is_list = name.split_once(": ").is_some_and(|(_, rest)| rest.starts_with(char::is_alphabetic));
        let is_text = name.contains(['{', '}']) || is_list;
        is_decimal(name) || has_clock_time(name) || has_decimal_word(name) || is_text
    })
}

/// Whether a heading of whole numbers may be a row of a table without one: nothing but numbers, which do not count evenly as in `0,5,10`.
pub(crate) fn is_doubtful(names: &[&str]) -> bool {
    let numbers: Vec<i64> = names.iter().filter_map(|name| name.parse().ok()).collect();
    let named = names.iter().filter(|name| !name.is_empty()).count();
    let distances: Vec<i64> = numbers.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect();
    let are_even = distances.iter().all(|&distance| distance > 0 && distance == distances[0]);
    !numbers.is_empty() && named == numbers.len() && !are_even
}

/// Whether the text is a number with a point, a decimal comma or an exponent.
pub(crate) fn is_decimal(text: &str) -> bool {
    let is_number =
        text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)) && text.parse::<f64>().is_ok();
    is_number && text.contains(['.', 'e', 'E']) || CommaMeaning::in_cell(text) == Some(CommaMeaning::Decimal)
}

/// Whether a decimal number is one of the words of a longer text. W&B's names of runs may have some.
fn has_decimal_word(text: &str) -> bool {
    !text.contains(" - ") && text.split_whitespace().any(is_decimal)
}

/// Whether a text has a time such as `10:00:01`, as the lines of logs do.
fn has_clock_time(text: &str) -> bool {
    text.as_bytes()
        .windows(5)
        .any(|window| window[2] == b':' && [0, 1, 3, 4].iter().all(|&at| window[at].is_ascii_digit()))
}

/// False for the empty text.
pub(crate) fn is_all_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::{CommaMeaning, is_doubtful, is_heading, number_of};

    #[test]
    fn a_comma_is_decimal_or_of_thousands_where_one_cell_tells() {
        let cases = [
            ("0,532", Some(CommaMeaning::Decimal)),
            ("12,5", Some(CommaMeaning::Decimal)),
            ("51,06 %", Some(CommaMeaning::Decimal)),
            ("1,5e-3", Some(CommaMeaning::Decimal)),
            ("1234,567", Some(CommaMeaning::Decimal)),
            ("1,234.5", Some(CommaMeaning::Thousands)),
            ("1,234,567", Some(CommaMeaning::Thousands)),
            ("12,106", None), // either
            ("12106", None),
            ("a,b", None),
            ("[1,2]", None),
        ];
        for (cell, expected) in cases {
            assert_eq!(CommaMeaning::in_cell(cell), expected, "{cell}");
        }
        assert_eq!(number_of("-0,532", CommaMeaning::Decimal), Some(-0.532));
        assert_eq!(number_of("1,234,567.5", CommaMeaning::Thousands), Some(1_234_567.5));
    }

    #[test]
    fn rows_of_numbers_and_lines_of_logs_are_no_headings() {
        for names in [&["epoch", "val_acc"][..], &["", "0", "1", "2"], &["id", "acc_0.5"], &["0", "10", "20"]]
        {
            assert!(is_heading(names), "{names:?}");
        }
        let log = ["2031-05-06 10:00:01", "101 - INFO - Epoch 1/9 val_acc 0.5106"];
        let line = ["Epoch 1", "loss 0.9", "val_acc 0.5"];
        let map = ["epoch=1 metrics={'acc': np.float32(0.5)", "'loss': np.float64(0.7)}"];
        for names in
            [&["0.408275", "0.0"][..], &["1", "0.5"], &["run1", "1e-3"], &["0,4", "0,3"], &log, &line, &map]
        {
            assert!(!is_heading(names), "{names:?}");
        }
        assert!(is_doubtful(&["1", "51", "60"]) && is_doubtful(&["", "2", "10", "1"]));
        assert!(!is_doubtful(&["0", "5", "10"]) && !is_doubtful(&["lr", "1", "2", "9"]));
    }
}

//! Values of a series, as people see them, and names of series that count or time something.

/// Words of names that count or time something.
const NON_METRIC_WORDS: &str = "time sec secs seconds minutes lr step steps epoch epochs iter iters iteration iterations sample samples size speed n num count total best \
    eta ms s it loader batch batches memory mem gpu progress throughput images examples tokens elapsed duration seed fold";

/// Whether a held-out series of an unknown name may be a metric: it is no count and no time.
pub(super) fn may_be_metric(name: &str, values: &[f64]) -> bool {
    let mut words = name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let is_count =
        words.any(|word| NON_METRIC_WORDS.split_whitespace().any(|other| other == word.to_lowercase()));
    let varies = values.windows(2).any(|pair| pair[0].to_bits() != pair[1].to_bits());
    let is_fractional = values.iter().any(|value| value.fract() != 0.0);
    !is_count && varies && is_fractional
}

/// A number to six digits, without the errors of rounding such as 0.42000000000000004.
pub(super) fn short(value: f64) -> String {
    format!("{value:.5e}").parse::<f64>().unwrap_or(value).to_string()
}

#[cfg(test)]
mod tests {
    use super::{may_be_metric, short};

    #[test]
    fn counts_times_and_settings_are_no_metrics() {
        assert!(may_be_metric("val/mpjpe", &[80.5, 60.2]));
        for (name, values) in
            [("val time", [0.5, 0.6]), ("val_n", [1.5, 2.5]), ("val x", [0.5, 0.5]), ("val x", [10.0, 20.0])]
        {
            assert!(!may_be_metric(name, &values), "{name}");
        }
        assert_eq!(short(0.420_000_000_000_000_04), "0.42");
    }
}

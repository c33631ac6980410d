//! Scales: from values to pixels, linear or logarithmic, with round ticks and ranges that resist outliers.

/// The values that an axis shows, `low < high`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct AxisRange {
    /// Smallest value shown.
    pub low: f64,
    /// Largest value shown.
    pub high: f64,
}

impl AxisRange {
    /// All finite values; 0–1 when there are none, and a little room around a single one.
    pub(crate) fn covering(values: impl IntoIterator<Item = f64>) -> Self {
        let (low, high) = values
            .into_iter()
            .filter(|v| v.is_finite())
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
        if low > high { Self { low: 0.0, high: 1.0 } } else { Self { low, high }.with_room() }
    }

    /// The range of most values: beyond the 2 % and 98 % quantiles half of the distance between them is added, not
    /// more, so that a few diverged runs do not flatten all the others.
    pub(crate) fn from_most_values(values: impl IntoIterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = values.into_iter().filter(|v| v.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        let all = Self::covering(sorted.iter().copied());
        let (Some(low), Some(high)) = (quantile(&sorted, 0.02), quantile(&sorted, 0.98)) else { return all };
        let room = 0.5 * (high - low);
        Self { low: all.low.max(low - room), high: all.high.min(high + room) }.with_room()
    }

    /// The range that also holds `value`, if that is finite.
    pub(crate) fn with(self, value: f64) -> Self {
        if value.is_finite() { Self { low: self.low.min(value), high: self.high.max(value) } } else { self }
    }

    /// The range with a fraction of its length added below and above.
    pub(crate) fn with_padding(self, below: f64, above: f64) -> Self {
        let length = self.high - self.low;
        Self { low: self.low - below * length, high: self.high + above * length }
    }

    fn with_room(self) -> Self {
        // only an exact tie has no length
        if self.low < self.high {
            return self;
        }
        let room = if self.low.abs() > 0.0 { 0.05 * self.low.abs() } else { 0.5 };
        Self { low: self.low - room, high: self.high + room }
    }
}

/// The value above a fraction `p` of the sorted values (the nearest one).
fn quantile(sorted: &[f64], p: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    sorted.get((p * last as f64).round() as usize).copied()
}

/// From values to pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct AxisScale {
    /// The values shown.
    pub range: AxisRange,
    /// Pixel of the lowest value.
    pub from: f64,
    /// Pixel of the highest value.
    pub to: f64,
    /// Equal factors instead of equal steps have equal lengths; then `range.low > 0`.
    pub log: bool,
}

impl AxisScale {
    /// Equal steps are equally long.
    pub(crate) fn linear(range: AxisRange, from: f64, to: f64) -> Self {
        Self { range, from, to, log: false }
    }

    /// Equal factors are equally long; linear when the range is not positive.
    pub(crate) fn log(range: AxisRange, from: f64, to: f64) -> Self {
        Self { range, from, to, log: range.low > 0.0 }
    }

    /// The pixel of a value; values beyond the range lie beyond the pixels. Not finite for a value that is not.
    pub(crate) fn pixel(&self, value: f64) -> f64 {
        let (low, high, value) = if self.log {
            // a value without a logarithm lies far below
            (
                self.range.low.ln(),
                self.range.high.ln(),
                if value > 0.0 { value.ln() } else { value.min(-700.0) },
            )
        } else {
            (self.range.low, self.range.high, value)
        };
        let share = ((value - low) / (high - low)).clamp(-50.0, 50.0);
        self.from + share * (self.to - self.from)
    }

    /// Whether the range holds the value.
    pub(crate) fn holds(&self, value: f64) -> bool {
        value >= self.range.low && value <= self.range.high
    }

    /// About `count` round values in the range, with their labels.
    pub(crate) fn ticks(&self, count: usize) -> Vec<(f64, String)> {
        if self.log { log_ticks(self.range, count) } else { linear_ticks(self.range, count) }
    }
}

fn linear_ticks(range: AxisRange, count: usize) -> Vec<(f64, String)> {
    // the widest round step that gives nearly as many ticks as wished
    let enough = (0.7 * count as f64).ceil().max(2.0);
    let decade = 10f64.powf((range.high - range.low).log10().floor());
    let steps = [1.0, 0.5, 0.2, 0.1, 0.05, 0.02].map(|factor| factor * decade);
    let wide_enough = steps.into_iter().find_map(|step| {
        let (first, last) = multiples_within(range, step)?;
        (last - first + 1.0 >= enough).then_some((step, first, last))
    });
    let Some((step, first, last)) = wide_enough else { return Vec::new() };
    let values: Vec<f64> =
        (0..=(last - first).max(0.0) as usize).map(|i| (first + i as f64) * step).collect();
    let labels = labels(&values, step);
    values.into_iter().zip(labels).collect()
}

/// The labels of round values a `step` apart, all different.
fn labels(values: &[f64], step: f64) -> Vec<String> {
    let place = step.log10().floor();
    let largest = values.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
    let decimals = (-place).clamp(0.0, 17.0) as usize;
    let plain: Vec<String> = values.iter().map(|value| tick_label(*value, decimals)).collect();
    if (1e-4..1e5).contains(&largest) {
        return plain;
    }
    // as few digits as tell neighbors apart
    let digits = (largest.log10().floor() - place).clamp(0.0, 17.0) as usize;
    let powers: Vec<String> = values.iter().map(|value| format_power(*value, step, digits)).collect();
    if longest_label(&plain) <= longest_label(&powers).max(6) { plain } else { powers }
}

fn longest_label(labels: &[String]) -> usize {
    labels.iter().map(String::len).max().unwrap_or(0)
}

/// A number in powers of ten, with `digits` digits after the point; values below a `step` become 0.
fn format_power(value: f64, step: f64, digits: usize) -> String {
    if value.abs() < 0.5 * step { "0".to_owned() } else { format!("{value:.digits$e}") }
}

/// The first and the last multiple of `step` in the range, in steps; `None` if there is no such multiple.
fn multiples_within(range: AxisRange, step: f64) -> Option<(f64, f64)> {
    // with a little room, because an end that is a multiple of the step would otherwise be lost by rounding
    let (first, last) = ((range.low / step - 1e-9).ceil(), (range.high / step + 1e-9).floor());
    (first.is_finite() && first <= last).then_some((first, last))
}

fn log_ticks(range: AxisRange, count: usize) -> Vec<(f64, String)> {
    let decades = (range.high / range.low).log10();
    if decades < 0.7 {
        return linear_ticks(range, count);
    }
    let steps: &[f64] = match decades {
        d if d < 1.3 => &[1.0, 1.5, 2.0, 3.0, 5.0, 7.0],
        d if d < 2.2 => &[1.0, 2.0, 5.0],
        _ => &[1.0],
    };
    let every = (decades / count.max(1) as f64).round().max(1.0) as i32;
    let (first, last) = (range.low.log10().floor() as i32, range.high.log10().ceil() as i32);
    (first..=last)
        .filter(|exponent| exponent.rem_euclid(every) == 0)
        .flat_map(|exponent| steps.iter().map(move |step| step * 10f64.powi(exponent)))
        .filter(|value| *value >= range.low * 0.999 && *value <= range.high * 1.001)
        .map(|value| (value, short(value)))
        .collect()
}

fn tick_label(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    if text.trim_start_matches('-').chars().all(|c| c == '0' || c == '.') {
        return text.trim_start_matches('-').to_owned();
    }
    text
}

/// How many there are, in full, large numbers in groups of three digits.
pub(crate) fn count(value: f64) -> String {
    if !value.is_finite() || value.abs() < 1e4 {
        return short(value.round());
    }
    let digits = format!("{:.0}", value.abs());
    let mut text = if value < 0.0 { "-".to_owned() } else { String::new() };
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number with about four significant digits, as a person would write it.
pub(crate) fn short(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() {
        return "–".to_owned();
    }
    if size >= 1e5 || (size > 0.0 && size < 1e-4) {
        return format!("{value:.2e}").replace(".00e", "e").replace("0e", "e");
    }
    let decimals = if size >= 1.0 { (3.0 - size.log10().floor()).max(0.0) as usize } else { 4 };
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        let labels = |low, high| -> Vec<String> {
            AxisScale::linear(AxisRange { low, high }, 0.0, 1.0).ticks(5).into_iter().map(|t| t.1).collect()
        };
        assert_eq!(labels(0.0, 1.0), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(labels(0.0, 20.0), ["0", "5", "10", "15", "20"]);
        assert_eq!(labels(-0.05, 0.05), ["-0.04", "-0.02", "0.00", "0.02", "0.04"]);
    }

    #[test]
    fn no_two_ticks_have_the_same_label() {
        let ranges = [
            (0.9991, 0.9994),
            (0.999_912, 0.999_913),
            (1e5, 1.003e5),
            (123_456.0, 123_461.0),
            (-1.0002e6, -1e6),
            (1.2e-6, 1.9e-6),
            (-3e-9, 2e-9),
            (3.000_000_000_000_1, 3.000_000_000_000_9),
            (1e12, 1e12 + 40.0),
            (0.0, 3e15),
            (2e-5, 9e-2),
            (0.0011, 0.0013),
        ];
        for (low, high) in ranges {
            for log in [false, true] {
                for count in 3..=10 {
                    let range = AxisRange { low, high };
                    let scale = if log {
                        AxisScale::log(range, 0.0, 1.0)
                    } else {
                        AxisScale::linear(range, 0.0, 1.0)
                    };
                    let labels: Vec<String> = scale.ticks(count).into_iter().map(|tick| tick.1).collect();
                    let different: std::collections::BTreeSet<&String> = labels.iter().collect();
                    assert_eq!(different.len(), labels.len(), "{low} to {high}: {labels:?}");
                    assert!(labels.len() > 1, "{low} to {high}: {labels:?}");
                }
            }
        }
        let labels = |low, high| -> Vec<String> {
            AxisScale::linear(AxisRange { low, high }, 0.0, 1.0)
                .ticks(5)
                .into_iter()
                .map(|tick| tick.1)
                .collect()
        };
        assert_eq!(labels(0.9991, 0.9994), ["0.9991", "0.9992", "0.9993", "0.9994"]);
        assert_eq!(labels(0.0, 3e6), ["0", "1e6", "2e6", "3e6"]);
        assert_eq!(labels(1e-6, 2.1e-6), ["1.0e-6", "1.2e-6", "1.4e-6", "1.6e-6", "1.8e-6", "2.0e-6"]);
        assert_eq!(labels(100_000.0, 100_300.0), ["100000", "100100", "100200", "100300"]);
    }

    #[test]
    fn log_ticks_are_decades_when_there_are_many() {
        let scale = AxisScale::log(AxisRange { low: 0.5, high: 2e4 }, 0.0, 1.0);
        let values: Vec<f64> = scale.ticks(8).into_iter().map(|t| t.0).collect();
        assert_eq!(values, [1.0, 10.0, 100.0, 1000.0, 10000.0]);
    }

    #[test]
    fn a_diverged_run_does_not_flatten_the_others() {
        let values = (0..100).map(|i| f64::from(i) / 100.0).chain([1e12, f64::NAN]);
        assert!(AxisRange::from_most_values(values).high < 2.0);
    }

    #[test]
    fn empty_and_constant_values_have_a_range() {
        for values in [vec![], vec![f64::NAN], vec![3.0], vec![0.0, 0.0]] {
            let range = AxisRange::from_most_values(values.clone());
            assert!(range.low < range.high, "{values:?}");
        }
    }

    #[test]
    fn writes_numbers_as_a_person_would() {
        assert_eq!(short(0.91234), "0.9123");
        assert_eq!(short(87.01), "87.01");
        assert_eq!(short(12345.6), "12346");
        assert_eq!(short(2e7), "2e7");
        assert_eq!([900.0, 9999.0, 12_345.6, 2e7].map(count), ["900", "9999", "12,346", "20,000,000"]);
    }
}

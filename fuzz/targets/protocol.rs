//! What a trial prints, under each way of finding its metric: every value is finite or missing. The first line is a metric, too.
#![no_main]

use foretell_run::{MetricSource, ReportReader};
use libfuzzer_sys::fuzz_target;

const METRICS: [&str; 3] = ["val_acc", "loss", r"accuracy[ =:]+([\d.eE+-]+)"];
/// Pieces of output that readers of lines stumble over, one per line. `crates/foretell-logs/tests/properties.rs` draws from them, too.
const ALPHABET: &str = include_str!("../alphabet.txt");

/// The text that `input` stands for: each byte from 128 on is a piece of the alphabet.
fn text(input: &[u8]) -> String {
    let alphabet: Vec<&str> = ALPHABET.lines().collect();
    let piece = |&byte: &u8| match byte.checked_sub(128) {
        Some(piece) => alphabet[usize::from(piece) % alphabet.len()].to_owned(),
        None => char::from(byte).to_string(),
    };
    input.iter().map(piece).collect()
}

fuzz_target!(|input: &[u8]| {
    let text = text(input);
    let (own, output) = text.split_once('\n').unwrap_or(("", &text));
    let metrics = METRICS.iter().copied().chain([own]).filter_map(|metric| MetricSource::parse(metric).ok());
    for source in std::iter::once(MetricSource::default()).chain(metrics) {
        for report in ReportReader::new(source, 0).read_all(output).reports {
            assert!(report.value.is_none_or(f64::is_finite), "{report:?}");
        }
    }
});

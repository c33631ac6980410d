//! How fast printed lines are read: floods of lines without the metric next to lines with it, in one run.
//!
//! ```text
//! cargo bench -p foretell-logs --bench printed
//! ```
//!
//! Prints lines per second for each kind, and the time of a line relative to one with the metric.

use foretell_logs::printed::{MetricSource, ReportReader};
use std::io::Write;
use std::time::Instant;

/// The number of lines of each kind.
const LINES: usize = 200_000;

type Line = fn(usize) -> String;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let kinds: [(&str, Line); 5] = [
        ("with the metric", |line| format!("epoch {line} loss 0.{line} val_acc 0.5{line}")),
        ("without a word that tells", |line| {
            format!("loading shard {line} of the data took {line}.5 s from disk")
        }),
        ("warnings", |line| {
            format!("UserWarning: argument {line} is deprecated since 0.13, use weights instead")
        }),
        ("with counters", |line| format!("Epoch: [3][{line}/200000] loss 0.{line} lr 0.01 grad 1.25")),
        ("with a logger's prefix", |line| {
            format!("2031-05-06 10:00:01,123 - INFO - step {line} loss 0.{line} lr 0.01")
        }),
    ];
    let mut base = None;
    for (name, line) in kinds {
        let mut reader = ReportReader::new(MetricSource::parse("val_acc")?, 0);
        // the series is chosen before the flood
        for epoch in 1..=4 {
            reader.read(format!("epoch {epoch} loss 0.5 val_acc 0.{epoch}").as_bytes());
        }
        let lines: Vec<String> = (5..LINES).map(line).collect();
        let started = Instant::now();
        let reports: usize = lines.iter().map(|line| reader.read(line.as_bytes()).len()).sum();
        let seconds = started.elapsed().as_secs_f64();
        let base = *base.get_or_insert(seconds);
        writeln!(
            std::io::stdout(),
            "{name:28} {:10.0} lines/s {:6.3} of a line with the metric ({reports} reports)",
            lines.len() as f64 / seconds,
            seconds / base
        )?;
    }
    Ok(())
}

//! How fast printed output is read, and what is held of it: `cargo bench -p foretell-logs --bench printed`.

use foretell_logs::printed::{MetricSource, ReportReader, guess};
use std::io::Write;
use std::time::Instant;

/// How many lines are read.
const LINES: usize = 1_000_000;

fn main() -> std::io::Result<()> {
    let kinds: [(&str, &[&str]); 4] = [
        (
            "text without numbers",
            &["INFO loading the next shard of the training set", "warning: the cache is cold"],
        ),
        (
            "numbers without the metric",
            &["2031-05-06 10:00:01 INFO loaded shard 12 of 4096 in 0.25 s", "gpu memory 2.38G, queue 17"],
        ),
        ("lines of batches", &["Epoch 1/12, step 10/40, loss = 2.0401, lr = 0.01"]),
        ("the metric in each line", &["Epoch 1/12, step 10/40, loss = 2.0401, val_acc = 0.5106"]),
    ];
    let mut out = std::io::stdout();
    for (name, lines) in kinds {
        let source = MetricSource::parse("val_acc").map_err(std::io::Error::other)?;
        let mut reader = ReportReader::new(source, 0);
        let begin = Instant::now();
        for at in 0..LINES {
            drop(reader.read(lines[at % lines.len()].as_bytes()));
        }
        let rate = LINES as f64 / begin.elapsed().as_secs_f64();
        writeln!(out, "{name}: {:.2} million lines/s, {} KiB held", rate / 1e6, reader.held_bytes() / 1024)?;
    }
    let log: String = (0..100_000)
        .map(|at| {
            format!("epoch {at} train_loss {:.4} val_acc 0.{:04}\n", 1.0 / (at + 1) as f64, at % 10_000)
        })
        .collect();
    let begin = Instant::now();
    let found = guess(&log).map_or(0, |found| found.whole.reports.len());
    writeln!(out, "a guess in 100,000 lines: {:.2} s, {found} reports", begin.elapsed().as_secs_f64())
}

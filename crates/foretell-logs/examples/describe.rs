//! Describes the content of a file of curves: `cargo run -p foretell-logs --example describe -- FILE_OR_FOLDER…`

use foretell_logs::{ReadOptions, read_runs};
use std::io::Write;
use std::path::Path;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::stdout().lock();
    for path in std::env::args().skip(1) {
        let start = Instant::now();
        let recorded = read_runs(Path::new(&path), &ReadOptions::default())?;
        let (runs, elapsed) = (recorded.runs.len(), start.elapsed());
        writeln!(out, "{}: {runs} runs, metric {} ({elapsed:.1?})", recorded.name, recorded.metric.name)?;
        for (column, group) in &recorded.columns.groups {
            writeln!(out, "  feature {column} ({group:?})")?;
        }
        for note in &recorded.notes {
            writeln!(out, "  {note}")?;
        }
    }
    Ok(())
}

//! What is in a training's printed output? `read_printed LOG [METRIC]` prints the metric, its values with their epochs, and notes.

use foretell_logs::printed::{MetricSource, ReportReader, guess};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [log, metric @ ..] = &arguments[..] else {
        return Err("name a log, and if you like a metric".into());
    };
    let text = String::from_utf8_lossy(&std::fs::read(log)?).into_owned();
    let (metric, whole) = match metric {
        [metric, ..] => (metric.clone(), ReportReader::new(MetricSource::parse(metric)?, 0).read_all(&text)),
        [] => guess(&text).map(|guess| (guess.source, guess.whole)).ok_or("no metric was found: name it")?,
    };
    let mut out = String::new();
    for report in &whole.reports {
        let value = report.value.map_or("null".to_owned(), |value| value.to_string());
        out.push_str(&format!("{}\t{value}\n", report.step));
    }
    for note in whole.notes.iter().cloned().chain(whole.problems.iter().map(ToString::to_string)) {
        out.push_str(&format!("# {note}\n"));
    }
    std::io::Write::write_all(&mut std::io::stdout(), format!("# {metric}\n{out}").as_bytes())?;
    Ok(())
}

//! Reads the printed output of a training run. `read_printed [LOG [METRIC]]` prints the metric, its values with their epochs, and notes.
//! Without a log, it reads a short sample.

use foretell_logs::printed::{MetricSource, ReportReader, guess_metric};

const SAMPLE: &str = "Epoch 1/3\n loss 1.91 val_acc 0.31\nEpoch 2/3\n loss 1.42 val_acc 0.44\nEpoch 3/3\n loss 1.17 val_acc 0.52\n";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let text = match arguments.first() {
        Some(log) => String::from_utf8_lossy(&std::fs::read(log)?).into_owned(),
        None => SAMPLE.to_owned(),
    };
    let (metric, whole) = match arguments.get(1) {
        Some(metric) => (metric.clone(), ReportReader::new(MetricSource::parse(metric)?, 0).read_all(&text)),
        None => guess_metric(&text)
            .map(|guess| (guess.source, guess.whole))
            .ok_or("no metric was found. Pass its name after the log")?,
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

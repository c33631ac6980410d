//! What a trial prints, under each way of finding its metric: every value is finite or missing.
#![no_main]

use foretell_run::{MetricSource, ReportReader};
use libfuzzer_sys::fuzz_target;

const METRICS: [&str; 3] = ["val_acc", "loss", r"accuracy[ =:]+([\d.eE+-]+)"];

fuzz_target!(|output: &str| {
    let named = METRICS.iter().map(|metric| MetricSource::parse(metric).expect("they are sound"));
    for source in std::iter::once(MetricSource::default()).chain(named) {
        for report in ReportReader::new(source, 0).read_all(output).reports {
            assert!(report.value.is_none_or(f64::is_finite), "{report:?}");
        }
    }
});

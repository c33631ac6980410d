//! How fast the event log is: records a second of append, group append and sync, and the streaming read of a large study.
//!
//! `cargo bench -p foretell-run --bench event_log -- [TRIALS]`: without a number, 1,000 trials of 60 reports; 100,000 for
//! the 6 million reports of the largest study that Foretell is made for (0.9 GB on disk, in the folder of `TMPDIR`).

#![allow(clippy::print_stdout)] // printing is what it is for

use foretell_run::{EventLog, EventLogError, LogReader, Opened, Position};
use foretell_search::Record;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

const REPORTS: u64 = 60;

fn report(trial: u64, step: u64) -> Record {
    let value = 0.9 - 0.5 * (-(step as f64) / 7.0).exp() + 1e-6 * trial as f64;
    let metrics = BTreeMap::from([("loss".to_owned(), 1.0 - value)]);
    Record::Reported { trial, step, value: Some(value), metrics }
}

fn trial(trial: u64) -> Vec<Record> {
    (1..=REPORTS).map(|step| report(trial, step)).collect()
}

fn open(path: &Path) -> Result<EventLog<Record>, EventLogError> {
    EventLog::open(path).map(|Opened { log, .. }| log)
}

/// The most memory that this process has held so far, in MiB (Linux).
fn peak_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib: Option<f64> = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
    kib.map_or(f64::NAN, |kib| kib / 1024.0)
}

fn say(what: &str, records: u64, since: Instant) {
    let seconds = since.elapsed().as_secs_f64();
    println!("{what:<44} {records:>9} records {seconds:>8.2} s {:>10.0} records/s", records as f64 / seconds);
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let trials: u64 = std::env::args().skip(1).find_map(|text| text.parse().ok()).unwrap_or(1000);
    let folder = tempfile::tempdir()?;

    let mut log = open(&folder.path().join("single.jsonl"))?;
    let records: Vec<Record> = (0..200).flat_map(trial).collect();
    let start = Instant::now();
    records.iter().try_for_each(|record| log.append(record))?;
    say("append, one record a write", log.len(), start);

    let mut log = open(&folder.path().join("pairs.jsonl"))?;
    let start = Instant::now();
    records.chunks(2).try_for_each(|records| log.append_all(records))?;
    say("append, two records a write", log.len(), start);

    let mut log = open(&folder.path().join("synced.jsonl"))?;
    let start = Instant::now();
    records[..500].iter().try_for_each(|record| log.append(record).and_then(|()| log.sync()))?;
    say("append and sync, one record each", log.len(), start);

    let path = folder.path().join("large.jsonl");
    let mut log = open(&path)?;
    let start = Instant::now();
    (0..trials).try_for_each(|number| log.append_all(&trial(number)))?;
    log.sync()?;
    say("append, 60 records a write", log.len(), start);
    let (end, before) = (log.end(), peak_mib());
    drop((log, records));

    let start = Instant::now();
    let (mut read, mut sum) = (0, 0.0);
    for record in LogReader::<Record>::open(&path, Position::START)? {
        if let Record::Reported { value: Some(value), .. } = record? {
            read += 1;
            sum += value;
        }
    }
    say("streaming read", read, start);
    let start = Instant::now();
    let mut seen = 0;
    let (log, _) = EventLog::<Record>::open_each(&path, |_, _| seen += 1)?;
    say("open for writing", seen, start);
    println!(
        "{} bytes, {} records, mean value {:.4}; peak memory {before:.1} MiB before reading, {:.1} MiB after it",
        end.bytes,
        log.len(),
        sum / read as f64,
        peak_mib()
    );
    Ok(())
}

//! Reports that wait on disk while the server is away: whoever takes the trial up next sends them.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::host::hosted::MetricReading;
use crate::log::no_links;
use crate::regular;
use crate::wire::Report;

/// The file, in a trial's folder.
const UNSENT_FILE: &str = "unsent.jsonl";

/// The reports of one trial that wait on disk.
pub(crate) struct UnsentReports {
    path: PathBuf,
    is_there: bool,
}

impl UnsentReports {
    /// Those of the trial in `directory`, and what another worker left there.
    pub(crate) fn in_folder(directory: &Path) -> (Self, Vec<MetricReading>) {
        let path = directory.join(UNSENT_FILE);
        let text = regular::read_regular_text(&path).unwrap_or_default();
        // the last line may be torn: that report is lost, as the training's checkpoint may be, and made again
        let reports = text.lines().filter_map(|line| serde_json::from_str::<Report>(line).ok());
        // they are another worker's: made under its lease
        let left = reports.map(|report| {
            let made_under = report.lease.clone();
            MetricReading { made_under, ..MetricReading::from(report) }
        });
        let left = left.collect();
        (Self { is_there: path.is_file(), path }, left)
    }

    /// Keeps `reading` until the server is back. That it cannot be written costs nothing as long as this worker lives.
    pub(crate) fn keep(&mut self, reading: &MetricReading, lease: &str) {
        let Ok(line) = serde_json::to_string(&Report::new(reading, Some(lease))) else { return };
        let opened = no_links::open(OpenOptions::new().append(true).create(true), &self.path);
        self.is_there |= opened.is_ok();
        let _ = opened.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
    }

    /// All of them are sent.
    pub(crate) fn clear(&mut self) {
        if std::mem::take(&mut self.is_there) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::UnsentReports;
    use crate::host::hosted::MetricReading;

    #[test]
    fn what_one_worker_could_not_send_the_next_finds() {
        let folder = tempfile::tempdir().expect("a folder");
        let (mut unsent, left) = UnsentReports::in_folder(folder.path());
        assert!(left.is_empty());
        let made_under = Some("a-0".to_owned());
        let reading = |step| MetricReading {
            step,
            value: Some(0.5),
            made_under: made_under.clone(),
            ..MetricReading::default()
        };
        let readings = [3, 4].map(reading);
        readings.iter().for_each(|reading| unsent.keep(reading, "a-0"));
        let file = folder.path().join(super::UNSENT_FILE);
        let torn = std::fs::read_to_string(&file).expect("it is there") + "{\"step\": 5, \"va";
        std::fs::write(&file, torn).expect("it is written");
        let (mut next, left) = UnsentReports::in_folder(folder.path());
        assert_eq!(left, readings);
        next.clear();
        assert!(UnsentReports::in_folder(folder.path()).1.is_empty() && !file.exists());
    }
}

//! The log of a study: read whole, and salvaged when it is not; what is salvaged is read again.
#![no_main]

use foretell_run::{LogReader, LogSalvage};
use foretell_search::Record;
use libfuzzer_sys::fuzz_target;
use std::io::Write;

fuzz_target!(|log: &[u8]| {
    for record in LogReader::<Record, _>::from_reader("fuzzed", log) {
        if record.is_err() {
            break;
        }
    }
    let mut file = tempfile::NamedTempFile::new().expect("there is room");
    file.write_all(log).expect("there is room");
    let Ok(salvage) = LogSalvage::<Record>::open_unlocked(file.path()) else { return };
    let lines = salvage.last_line();
    assert!(salvage.unsound_lines().iter().all(|unsound| unsound.line <= lines));
    for record in salvage.records().expect("it was opened before") {
        let _ = record.expect("it was sound before");
    }
});

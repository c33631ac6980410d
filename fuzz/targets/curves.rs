//! Files of curves and the logs of tools. The first byte names the kind of file; steps of what is read rise, and values are numbers.
#![no_main]

use foretell_logs::{ReadOptions, read_runs};
use libfuzzer_sys::fuzz_target;

const NAMES: [&str; 6] =
    ["curves.csv", "curves.jsonl", "curves.parquet", "events.out.tfevents.1", "trainer_state.json", "progress.csv"];

fuzz_target!(|input: &[u8]| {
    let Some((&kind, bytes)) = input.split_first() else { return };
    let folder = tempfile::tempdir().expect("there is room");
    let file = folder.path().join(NAMES[usize::from(kind) % NAMES.len()]);
    std::fs::write(&file, bytes).expect("there is room");
    for path in [file.as_path(), folder.path()] {
        let Ok(recorded) = read_runs(path, &ReadOptions::default()) else { continue };
        for run in &recorded.runs {
            assert!(run.curve.steps().windows(2).all(|pair| pair[0] < pair[1]));
            assert!(run.curve.scores().iter().all(|score| !score.is_nan()));
        }
    }
});

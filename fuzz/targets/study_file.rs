//! Study files: `foretell search FILE --explain` describes the study or says what is wrong, and runs nothing.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let folder = tempfile::tempdir().expect("there is room");
    let (file, out) = (folder.path().join("study.toml"), folder.path().join("out"));
    std::fs::write(&file, text).expect("there is room");
    let words = ["foretell".into(), "search".into(), file.into(), "--explain".into(), "--out".into(), out.clone().into()];
    let code = foretell_cli::run(&words);
    assert!(code <= 2, "exit code {code}");
    assert!(!out.exists(), "--explain has made {}", out.display());
});

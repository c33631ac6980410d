//! The PyTorch script of `examples/networks` builds the networks that are built in: the same parameters, the same losses.

#[path = "../../../tests/needed.rs"]
mod needed;

use foretell::{ImageShape, LayerSequence};
use std::path::Path;
use std::process::Command;

const NETWORKS: [&str; 4] = [
    "[C(32,3,1), C(32,3,1), P(2,2), D(1,2), C(64,5,1), P(3,2), FC(128), D(2,2), SM(10)]",
    "[C(64,1,1), C(128,1,1), D(1,3), P(2,2), C(64,1,1), D(2,3), C(128,5,1), C(128,3,1), D(3,3), GAP(10), SM(10)]",
    "[P(5,3), C(256,3,2), FC(512), FC(256), SM(10)]",
    "[SM(10)]",
];

/// The output of the script; none, with a note, where there is no Python with torch.
fn script_output(words: &[&str]) -> Option<String> {
    let has_torch = Command::new("python3").args(["-c", "import torch"]).output();
    if !has_torch.is_ok_and(|output| output.status.success()) {
        // five gigabytes, which no check of a change fetches
        needed::skipped("python3 has no torch", false);
        return None;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/networks/net.py");
    let output = Command::new("python3").arg(script).args(words).output().expect("python3 starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).expect("it prints text"))
}

#[test]
fn its_networks_have_as_many_parameters_as_the_notation_counts() {
    for net in NETWORKS {
        let Some(found) = script_output(&[net, "--count"]) else { return };
        let cifar = ImageShape { channels: 3, height: 32, width: 32 };
        let counts = net.parse::<LayerSequence>().unwrap().network_counts(cifar).unwrap();
        assert_eq!(found.trim(), counts.parameters.to_string(), "{net}");
    }
}

/// `src/torch.rs` compares the built-in networks with the same file.
#[test]
fn its_losses_are_those_that_the_built_in_networks_are_compared_with() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/torch_losses.json");
    let Some(found) = script_output(&["--check", &file.to_string_lossy()]) else { return };
    let rows: Vec<serde_json::Value> =
        found.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len(), 2);
    for row in rows {
        assert!(row["largest_gap"].as_f64().unwrap() < 1e-3, "{row}");
    }
}

#[test]
fn it_trains_a_network_and_continues_from_its_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    let train = |until: &str, resume: bool| {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/networks/net.py");
        let mut command = Command::new("python3");
        command.arg(script).args(["[C(8,3,1), P(2,2), SM(10)]", "--epochs", "4", "--lr", "0.003"]);
        command.env("FORETELL_CHECKPOINT_DIR", folder.path()).env("FORETELL_UNTIL", until);
        if resume {
            command.env("FORETELL_RESUME_FROM", folder.path());
        }
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    if script_output(&["[SM(10)]", "--count"]).is_none() {
        return;
    }
    let whole = train("4", false);
    let parts = train("2", false) + &train("4", true);
    assert_eq!(whole.lines().count(), 4, "{whole}");
    assert_eq!(whole, parts);
}

//! A training of one epoch on the GPU before a search begins: a driver that crashes takes its whole process with it.

use crate::failure::Failure;
use foretell_nn::Accelerator;
use std::process::{Command, Stdio};

/// A small network with the layers that every space has.
const NETWORK: &str = "[C(4,3,1), P(2,2), D(1,2), FC(8), D(2,2), SM(10)]";
/// What the trial protocol sets, which is not meant for this training.
const PROTOCOL: [&str; 4] =
    ["FORETELL_PARAMS", "FORETELL_UNTIL", "FORETELL_CHECKPOINT_DIR", "FORETELL_RESUME_FROM"];

/// Trains on `device` in a process of its own.
///
/// # Errors
/// If the training fails, or its process crashes.
pub(super) fn check(device: Accelerator) -> Result<(), Failure> {
    if device == Accelerator::Cpu {
        return Ok(());
    }
    let mut command = Command::new(std::env::current_exe().map_err(Failure::midway)?);
    command.args(["train", "--net", NETWORK, "--data", "shapes:8", "--epochs", "1", "--batch-size", "8"]);
    command.args(["--train-size", "16", "--validation-size", "8", "--learning-rate", "0.001", "--device"]);
    command.arg(device.to_string());
    for name in PROTOCOL {
        command.env_remove(name);
    }
    ended(command, device)
}

fn ended(mut command: Command, device: Accelerator) -> Result<(), Failure> {
    let output = command.stdin(Stdio::null()).output().map_err(Failure::midway)?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it printed nothing");
    Err(Failure::input(format!(
        "--device {device}: a training of one epoch failed there ({}): {said}; train with --device cpu, or install another driver",
        output.status
    )))
}

#[cfg(test)]
mod tests {
    #[cfg(unix)]
    use super::*;

    #[cfg(unix)]
    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[cfg(unix)]
    #[test]
    fn a_driver_that_crashes_is_said_with_the_signal_and_a_failure_with_its_last_words() {
        let gpu = Accelerator::Gpu(None);
        assert!(ended(shell("exit 0"), gpu).is_ok());
        let crashed = ended(shell("kill -SEGV $$"), gpu).unwrap_err().message().to_owned();
        assert!(crashed.contains("--device gpu") && crashed.contains("signal: 11"), "{crashed}");
        let failed = ended(shell("echo out of memory >&2; exit 3"), gpu).unwrap_err().message().to_owned();
        assert!(failed.contains("exit status: 3): out of memory; train with --device cpu"), "{failed}");
    }
}

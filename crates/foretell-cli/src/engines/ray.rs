//! Workers in actors of Ray: a program in Python starts them, and ends with the search.

use super::{EngineError, WorkerEngine};
use crate::failure::Failure;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

/// The program.
const RAY_PROGRAM: &str = include_str!("ray_workers.py");
/// How long actors may take to end.
const ACTOR_END_TIMEOUT: Duration = Duration::from_secs(30);

/// The actors of one search.
pub(crate) struct RayActors {
    program: PathBuf,
    child: Child,
    wishes: Option<ChildStdin>,
}

impl RayActors {
    /// Starts the program for the study in `directory`; `options` are `address=ray://HOST:10001`, `cpus=2` and `gpus=1`.
    pub(crate) fn start(directory: &Path, options: &[String]) -> Result<Self, Failure> {
        let folder = directory.join("ray");
        let program = folder.join("workers.py");
        std::fs::create_dir_all(&folder)
            .and_then(|()| foretell_run::write_atomically(&program, RAY_PROGRAM.as_bytes()))
            .map_err(|error| Failure::midway(format!("{}: {error}", folder.display())))?;
        let python = std::env::var_os("FORETELL_PYTHON").unwrap_or_else(|| "python3".into());
        let study = std::path::absolute(directory).map_err(Failure::midway)?;
        let foretell = std::env::current_exe().map_err(Failure::midway)?;
        let mut command = Command::new(&python);
        command.arg(&program).arg(foretell).arg(study);
        for option in options {
            let Some((name @ ("address" | "cpus" | "gpus"), value)) = option.split_once('=') else {
                return Err(Failure::input(format!(
                    "[ray] {option}: unknown option. Choose address, cpus or gpus"
                )));
            };
            command.arg(format!("--{name}={value}"));
        }
        let child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
        let mut child = child.map_err(|error| {
            Failure::input(format!(
                "{}: {error}. --on ray needs Python with Ray. Set the interpreter with FORETELL_PYTHON",
                python.display()
            ))
        })?;
        let wishes = child.stdin.take();
        Ok(Self { program, child, wishes })
    }
}

impl WorkerEngine for RayActors {
    fn tend(&mut self, wanted: usize, _hears: bool) -> Result<String, EngineError> {
        if let Ok(Some(status)) = self.child.try_wait() {
            let why = format!("{} ended ({status}). See its message above", self.program.display());
            return Err(EngineError::Ever(why));
        }
        if let Some(wishes) = &mut self.wishes {
            // that it has ended is seen next time
            let _ = writeln!(wishes, "{wanted}").and_then(|()| wishes.flush());
        }
        Ok(format!("ray: {wanted} workers wanted"))
    }

    fn end(&mut self) {
        self.wishes = None;
        let begun = Instant::now();
        while begun.elapsed() < ACTOR_END_TIMEOUT {
            if self.child.try_wait().is_ok_and(|status| status.is_some()) {
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

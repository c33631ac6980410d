//! `foretell worker`: runs trials of a study that another machine owns.

use super::search::{duration, no_gpu_twice, threads};
use crate::failure::{CommandResult, Failure};
use crate::interrupt::Interrupt;
use crate::output::note;
use foretell_run::{Guardian, ServerAccess, Worker, WorkerError, WorkerSettings, adopt_orphans};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// How long an interrupted worker may take to end: to stop its trials, and to hand them back.
const INTERRUPT_TIMEOUT: Duration = Duration::from_secs(20);

/// The arguments of `foretell worker`.
#[derive(Clone, clap::Args)]
pub(crate) struct WorkerArguments {
    /// Where the study is: `http://HOST:8675`, or the folder of a study whose search runs with --on or --serve. For an address, the token
    /// is read from FORETELL_TOKEN.
    address: String,
    /// Name of the study (default: the only study on the server).
    study: Option<String>,
    /// How many trials to run in parallel (default: 1; with --gpus one per GPU).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    slots: Option<u16>,
    /// Train on these GPUs, for example 0,1. Each slot gets one of them, through CUDA_VISIBLE_DEVICES.
    #[arg(long, value_delimiter = ',', value_name = "IDS")]
    gpus: Vec<String>,
    /// Exit after this time without a trial or a server.
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "10m")]
    idle_exit: Duration,
    /// Run the command in this directory (default: that of the search).
    #[arg(long, value_name = "DIR")]
    workdir: Option<PathBuf>,
    /// Set this environment variable for the trials. Can be repeated.
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    env: Vec<(String, String)>,
    /// Keep the trials in this folder, unless this machine shares the study's folder.
    #[arg(long, value_name = "DIR", default_value = "foretell-work")]
    folder: PathBuf,
    /// Print a manifest that starts such workers, and exit.
    #[arg(long, value_name = "KIND")]
    manifest: Option<super::manifest::ManifestKind>,
    /// Image that the manifest uses, with Foretell and the command installed.
    #[arg(long, value_name = "IMAGE", requires = "manifest")]
    image: Option<String>,
    /// Number of workers in the manifest.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..))]
    workers: u16,
}

fn variable(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    if name.is_empty() { Err("write NAME=VALUE".to_owned()) } else { Ok((name.to_owned(), value.to_owned())) }
}

/// Runs trials until there are no more.
pub(crate) fn run(arguments: &WorkerArguments) -> CommandResult {
    if let Some(kind) = arguments.manifest {
        let WorkerArguments { address, study, image, workers, .. } = arguments;
        return super::manifest::print_manifest(kind, address, study.as_deref(), image.as_deref(), *workers);
    }
    no_gpu_twice(&arguments.gpus)?;
    let settings = settings(arguments)?;
    let interrupt = Interrupt::default();
    interrupt.install(INTERRUPT_TIMEOUT)?;
    interrupt.install_warning()?;
    let worker = Worker::join_study(settings, &interrupt.flag, &note).map_err(failure)?;
    note(&format!(
        "worker of study {}; trials are kept in {}{}",
        worker.study_name(),
        worker.directory().display(),
        if worker.is_shared() { ", which the search shares" } else { "" }
    ));
    adopt_orphans(false);
    let _guardian = start_guardian(&worker);
    worker.run(&interrupt.flag, &note).map_err(failure)
}

fn settings(arguments: &WorkerArguments) -> Result<WorkerSettings, Failure> {
    let token = std::env::var("FORETELL_TOKEN").ok().filter(|token| !token.is_empty());
    let access = ServerAccess::parse(&arguments.address, token).map_err(Failure::input)?;
    let slots = arguments.slots.map_or(arguments.gpus.len().max(1), usize::from);
    let mut environment: BTreeMap<String, String> = threads(slots, false);
    // last, so that a variable that the user sets overrides the limits of threads
    environment.extend(arguments.env.iter().cloned());
    Ok(WorkerSettings {
        access,
        study: arguments.study.clone(),
        name: name(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        program: std::env::current_exe().map_err(Failure::midway)?,
        slots,
        gpus: arguments.gpus.clone(),
        idle_exit: Some(arguments.idle_exit),
        workdir: arguments.workdir.clone(),
        folder: std::path::absolute(&arguments.folder).map_err(Failure::midway)?,
        environment,
    })
}

/// A unique name of this worker, which shows its machine.
fn name() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = if host.trim().is_empty() { "host" } else { host.trim() };
    let job = match ["SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID"].map(std::env::var) {
        [Ok(job), Ok(task)] => format!("/{job}_{task}"),
        _ => String::new(),
    };
    let since = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    format!("{host}{job}/{}-{:x}", std::process::id(), since.as_millis())
}

fn start_guardian(worker: &Worker) -> Option<Guardian> {
    let program = std::env::current_exe().ok()?;
    Guardian::start(&[program.into(), "guard".into()], worker.directory(), note).ok()
}

fn failure(error: WorkerError) -> Failure {
    match error {
        WorkerError::ServerAway(_) | WorkerError::System(_) => Failure::midway(error),
        _ => Failure::input(error),
    }
}

//! Trials of a search on other machines: the server that their workers reach, and the engine that starts those workers.

use super::control::{OwnerPlace, RemoteEngine};
use super::flags::SearchArguments;
use super::study_run::StudyRun;
use crate::asked::RecordedCommand;
use crate::commands::serve::{self, ServedSearch};
use crate::engines::ray::RayActors;
use crate::engines::slurm::SlurmJobs;
use crate::engines::{EngineError, EngineThread, WorkerEngine};
use crate::failure::{CommandResult, Failure};
use crate::interrupt::{Interrupt, no_thread};
use crate::output::note;
use foretell_run::{EventStore, HostDoor, RemoteTrainings, ServerAccess, keep_secrets};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The default address for workers that somebody starts; --serve changes it.
const DEFAULT_ADDRESS: ([u8; 4], u16) = ([127, 0, 0, 1], 8675);
/// How long jobs that are ended have to hand back their trials.
pub(super) const JOB_END_TIMEOUT: Duration = Duration::from_secs(15);

/// The access of other machines to a search.
pub(super) struct Fleet {
    access: ServerAccess,
    directory: PathBuf,
    tended: Option<EngineThread>,
    interrupt: Interrupt,
}

impl Fleet {
    /// Opens `search` to trials elsewhere, if its flags say so, and serves it.
    pub(super) fn open(
        search: StudyRun,
        arguments: &SearchArguments,
        interrupt: &Interrupt,
    ) -> Result<(StudyRun, Option<Self>), Failure> {
        let on = arguments.control.on;
        let directory = search.directory().to_owned();
        let in_folder = |error| Failure::midway(format!("{}: {error}", directory.display()));
        // also for a server that owns the study later
        search.work(arguments)?.write(&directory).map_err(in_folder)?;
        let Some(address) = address(arguments) else { return Ok((search, None)) };
        let mut engine = engine(arguments, &directory)?;
        let (door, calls) = HostDoor::<EventStore>::new();
        let own_workers = if on.is_some() { 0 } else { search.workers() };
        let warned = interrupt.clone();
        let ends_jobs = matches!(on, Some(RemoteEngine::Slurm | RemoteEngine::Ray));
        let patience =
            move || if ends_jobs && !warned.is_warned() { JOB_END_TIMEOUT } else { Duration::ZERO };
        let limit = (on == Some(RemoteEngine::Slurm)).then(|| SlurmJobs::limit(&arguments.control.slurm));
        let leases = search.leases(arguments.control.lease).with_limit(limit);
        let search =
            search.open_to(RemoteTrainings { calls, leases, own_workers, patience: Box::new(patience) })?;
        let token = serve::token(&address, ends_jobs, &directory)?;
        let workers = arguments.workers().max(256);
        let served = ServedSearch { token: token.clone(), door: door.clone(), workers };
        let served = serve::beside(&directory, address, served, interrupt)?;
        // written only now, because the port may have been left to the system
        let access = ServerAccess { addresses: advertised_addresses(served), token, file: None };
        access.write(&directory).map_err(in_folder)?;
        print_worker_commands(&directory, on, served);
        if let Some(engine) = &mut engine {
            let trials = usize::try_from(search.study().spec().trials).unwrap_or(usize::MAX);
            start_workers(engine.as_mut(), arguments.workers().min(trials), &directory)?;
        }
        let tend = |engine| EngineThread::start(engine, door, arguments.workers(), interrupt);
        let tended = engine.map(tend).transpose().map_err(no_thread)?;
        Ok((search, Some(Self { access, directory, tended, interrupt: interrupt.clone() })))
    }

    /// The input of an engine, for --explain.
    pub(super) fn explain_engine(
        arguments: &SearchArguments,
        directory: &Path,
    ) -> Result<Option<String>, Failure> {
        match arguments.control.on {
            Some(RemoteEngine::Slurm) => {
                SlurmJobs::new(directory, &arguments.control.slurm, arguments.workers())?
                    .explain_submission()
                    .map(Some)
            }
            Some(RemoteEngine::Workers | RemoteEngine::Ray) | None => Ok(None),
        }
    }

    /// Hands the search that was `asked` for to a job that owns it, if its flags say so; answers whether they do.
    pub(super) fn hand_over(
        arguments: &SearchArguments,
        asked: &RecordedCommand,
        directory: &Path,
    ) -> Result<bool, Failure> {
        if arguments.control.owner != OwnerPlace::Job {
            return Ok(false);
        }
        let slurm = SlurmJobs::new(directory, &arguments.control.slurm, arguments.workers())?;
        let in_folder = |error| Failure::midway(format!("{}: {error}", directory.display()));
        std::fs::create_dir_all(directory).map_err(in_folder)?;
        let [line] = keep_secrets(directory, [&asked.line]).map_err(in_folder)?;
        let job = slurm.submit_owner(&owner_command(&line)?)?;
        note(&format!(
            "job {job} owns the study in {0}. Show the study with `foretell study show {0}`, and end it with `scancel {job}`. Its messages are in {0}/slurm/owner-{job}.log",
            foretell_run::quote_for_shell(&[directory.display().to_string()])
        ));
        Ok(true)
    }

    /// Ends the processes started for the search. An engine or a server that ended the search is an error.
    pub(super) fn end(mut self) -> CommandResult {
        if let Some(tended) = self.tended.take() {
            tended.end();
        }
        // another search of the study may have taken its place
        if ServerAccess::read_in_study(&self.directory)
            .is_some_and(|there| there.addresses == self.access.addresses)
        {
            ServerAccess::remove(&self.directory);
        }
        self.interrupt.take_failure().map_or(Ok(()), Err)
    }
}

/// The engine that starts the workers, if there is one.
fn engine(arguments: &SearchArguments, directory: &Path) -> Result<Option<Box<dyn WorkerEngine>>, Failure> {
    let control = &arguments.control;
    Ok(match control.on {
        Some(RemoteEngine::Slurm) => {
            Some(Box::new(SlurmJobs::new(directory, &control.slurm, arguments.workers())?))
        }
        Some(RemoteEngine::Ray) => Some(Box::new(RayActors::start(directory, &control.ray)?)),
        Some(RemoteEngine::Workers) | None => None,
    })
}

/// Starts the first workers, so that a refusal is reported at once.
fn start_workers(engine: &mut dyn WorkerEngine, workers: usize, directory: &Path) -> CommandResult {
    match engine.tend(workers, false) {
        Ok(_) => Ok(()),
        Err(EngineError::Now(why) | EngineError::Ever(why)) => {
            engine.end();
            ServerAccess::remove(directory);
            Err(Failure::input(why))
        }
    }
}

/// The command line `line` for the owner's job.
fn owner_command(line: &[String]) -> Result<Vec<String>, Failure> {
    let program = std::env::current_exe().map_err(Failure::midway)?.to_string_lossy().into_owned();
    let end = line.iter().position(|word| word == "--").unwrap_or(line.len());
    let (flags, command) = line.split_at(end);
    let mut words = vec![program];
    let mut flags = flags.iter().skip(1);
    while let Some(word) = flags.next() {
        if word == "--owner" {
            flags.next();
        } else if !word.starts_with("--owner=") {
            words.push(word.clone());
        }
    }
    // the job owns the study itself; with the flag as it was typed, it would submit another job
    words.push("--owner=here".to_owned());
    words.extend_from_slice(command);
    Ok(words)
}

/// Prints how to start workers of a search that listens at `address`.
fn print_worker_commands(directory: &Path, on: Option<RemoteEngine>, address: SocketAddr) {
    if on != Some(RemoteEngine::Workers) {
        return;
    }
    let folder = foretell_run::quote_for_shell(&[directory.display().to_string()]);
    note(&match address.ip().is_loopback() {
        true => format!(
            "waiting for workers of this machine: foretell worker {folder}. To let others in, set --serve=0.0.0.0:{0}, or forward port {0} with ssh",
            address.port()
        ),
        false => format!(
            "waiting for workers: foretell worker {folder} on machines that share this folder, foretell worker http://HOST:{} on others",
            address.port()
        ),
    });
}

/// Where the search listens, if anywhere.
fn address(arguments: &SearchArguments) -> Option<SocketAddr> {
    let control = &arguments.control;
    control.serve.or_else(|| {
        control.on.map(|on| match on {
            RemoteEngine::Workers => SocketAddr::from(DEFAULT_ADDRESS),
            RemoteEngine::Slurm | RemoteEngine::Ray => SocketAddr::from(([0, 0, 0, 0], 0)),
        })
    })
}

/// The addresses by which other machines reach `address`: the host's name, and the one by which it reaches others.
fn advertised_addresses(address: SocketAddr) -> Vec<String> {
    if !address.ip().is_unspecified() {
        return vec![address.to_string()];
    }
    let port = address.port();
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = Some(name.trim().to_owned()).filter(|name| !name.is_empty());
    let own =
        outward_address().filter(|ip| !ip.is_loopback()).map(|ip| SocketAddr::new(ip, port).to_string());
    let mut addresses: Vec<String> =
        name.map(|name| format!("{name}:{port}")).into_iter().chain(own).collect();
    if addresses.is_empty() {
        addresses.push(format!("127.0.0.1:{port}"));
    }
    addresses
}

/// The address by which this machine reaches others; nothing is sent.
fn outward_address() -> Option<IpAddr> {
    let socket = UdpSocket::bind(("0.0.0.0", 0)).ok()?;
    socket.connect(("192.0.2.1", 9)).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

//! `foretell serve` and `foretell report`: studies in the browser.

use super::search::duration;
use crate::catalogue::catalogue;
use crate::failure::{CommandResult, Failure};
use crate::interrupt::{Interrupt, no_thread};
use crate::output::note;
use foretell_run::{EventStore, HostDoor, ServerAccess, log_path, spawn_supervised};
use foretell_serve::{ServeError, ServeOptions, Server};
use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The arguments of `foretell serve`.
#[derive(clap::Args)]
pub(crate) struct ServeArguments {
    /// Folder of the studies, or of one study.
    #[arg(default_value = crate::commands::search::DEFAULT_STUDIES_FOLDER)]
    folder: PathBuf,
    /// Listen on this address. Port 0 selects a free one.
    #[arg(long, default_value = "127.0.0.1:8675")]
    address: SocketAddr,
    /// Token that clients must send (default: none for an address of this machine; otherwise a generated one in the file access.json of the
    /// folder, which only you can read).
    #[arg(long, env = "FORETELL_TOKEN", hide_env_values = true)]
    token: Option<String>,
    /// Give a trial to another worker once its own has been silent for this long, for example 30s or 5m. A trial that only reports over
    /// HTTP may be silent for ten times the study's mean interval between reports, at least this time and at most an hour.
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "1m")]
    lease: Duration,
}

/// The arguments of `foretell report`.
#[derive(clap::Args)]
pub(crate) struct ReportArguments {
    /// Folder of the study.
    study: PathBuf,
    /// HTML file to write (default: report.html in the study's folder).
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

fn failure(error: ServeError) -> Failure {
    match error {
        ServeError::System(_) => Failure::midway(error),
        ServeError::Open { .. } | ServeError::Token | ServeError::Bind { .. } | ServeError::Study { .. } => {
            Failure::input(error)
        }
    }
}

/// Serves until it is ended.
pub(crate) fn serve(arguments: &ServeArguments) -> CommandResult {
    let ServeArguments { folder, address, token, lease } = arguments;
    if !folder.is_dir() {
        return Err(Failure::input(format!(
            "{}: no such folder. Pass the folder that contains the studies",
            folder.display()
        )));
    }
    let usual = ServeOptions::new(folder, *address);
    let is_made = token.is_none() && !address.ip().is_loopback();
    let token = if is_made { self::token(address, true, folder)? } else { token.clone() };
    let options =
        ServeOptions { token: token.clone(), lease: *lease, catalogue: catalogue().clone(), ..usual };
    let server = Server::bind(options).map_err(failure)?;
    if is_made {
        let access = ServerAccess { addresses: vec![server.address().to_string()], token, file: None };
        access.write(folder).map_err(|error| Failure::midway_at(folder, error))?;
    }
    note(&format!("open {} (Ctrl-C ends it)", browser_address(&server, folder)));
    server.run().map_err(failure)
}

/// The parts of a search that its server needs.
pub(crate) struct ServedSearch {
    /// The token that readers and workers must know.
    pub(crate) token: Option<String>,
    /// The way to the search's driver.
    pub(crate) door: HostDoor<EventStore>,
    /// How many workers there may be.
    pub(crate) workers: usize,
}

/// The token of a server at `address`: that of FORETELL_TOKEN; where others can reach it, or it `must` have one, that of the access
/// file in `folder`, or a new one.
pub(crate) fn token(address: &SocketAddr, must: bool, folder: &Path) -> Result<Option<String>, Failure> {
    if let Some(token) = std::env::var("FORETELL_TOKEN").ok().filter(|token| !token.is_empty()) {
        return Ok(Some(token));
    }
    if address.ip().is_loopback() && !must {
        return Ok(None);
    }
    match ServerAccess::read_in_study(folder).and_then(|access| access.token) {
        Some(token) => Ok(Some(token)),
        None => ServerAccess::new_token().map(Some).map_err(Failure::midway),
    }
}

/// The address to open in a browser; with its token only on a terminal, since other output is kept.
fn browser_address(server: &Server, folder: &Path) -> String {
    let url = server.url();
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let url = match host.trim() {
        "" => url,
        host => url.replacen("//0.0.0.0:", &format!("//{host}:"), 1),
    };
    match url.split_once('?').filter(|_| !std::io::stderr().is_terminal()) {
        None => url,
        Some((place, _)) => {
            format!(
                "{place} (its token is in FORETELL_TOKEN or {})",
                ServerAccess::file_path(folder).display()
            )
        }
    }
}

/// Serves the study in `directory` on a thread of its own, for as long as the program runs. Answers where. A panic
/// of the server ends the search, as nobody would hear the workers.
pub(crate) fn beside(
    directory: &Path,
    address: SocketAddr,
    served: ServedSearch,
    interrupt: &Interrupt,
) -> Result<SocketAddr, Failure> {
    let ServedSearch { token, door, workers } = served;
    let usual = ServeOptions::new(directory, address);
    let limits = usual.limits.for_workers(workers);
    let server = Server::bind(ServeOptions {
        token,
        limits,
        door: Some(door),
        catalogue: catalogue().clone(),
        ..usual
    })
    .map_err(failure)?;
    note(&format!("live in the browser: {}", browser_address(&server, directory)));
    let address = server.address();
    let interrupt = interrupt.clone();
    spawn_supervised(
        "page",
        move || {
            if let Err(error) = server.run() {
                note(&format!("the page has ended: {error}"));
            }
        },
        move |why| {
            interrupt.end_with(Failure::midway(format!(
                "the server of the study panicked: {why}. This is a bug: please report it"
            )));
        },
    )
    .map_err(no_thread)?;
    Ok(address)
}

/// Writes the page of a study as one file.
pub(crate) fn report(arguments: &ReportArguments) -> CommandResult {
    let stored = foretell_run::StoredStudy::read(&arguments.study, catalogue())?;
    let out = arguments.out.clone().unwrap_or_else(|| arguments.study.join("report.html"));
    let folder = std::path::absolute(&stored.directory).map_err(Failure::midway)?;
    let name = folder.file_name().map_or_else(|| "study".into(), |name| name.to_string_lossy().into_owned());
    let page = foretell_serve::page(&name, &log_path(&stored.directory), catalogue()).map_err(failure)?;
    foretell_run::write_output(&out, page).map_err(|error| Failure::midway_at(&out, error))?;
    note(&format!("written: {}", out.display()));
    Ok(())
}

//! Whether a trial opens its `params.json`.

use std::path::Path;

#[cfg(target_os = "linux")]
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};

/// The file that holds a trial's parameters.
#[cfg(target_os = "linux")]
const PARAMS_FILE_NAME: &str = "params.json";

/// Watches one trial's folder.
#[derive(Debug)]
pub(crate) struct ParamsWatch {
    pub(crate) trial: u64,
    #[cfg(target_os = "linux")]
    inotify: Inotify,
}

/// Only Linux tells it.
#[cfg(not(target_os = "linux"))]
impl ParamsWatch {
    pub(crate) fn new(_: u64, _: &Path) -> Option<Self> {
        None
    }

    pub(crate) fn was_opened(&self) -> bool {
        false
    }
}

#[cfg(target_os = "linux")]
impl ParamsWatch {
    /// Watches the folder of `trial`, which is made if it is missing; `None` where the system does not tell.
    pub(crate) fn new(trial: u64, directory: &Path) -> Option<Self> {
        std::fs::create_dir_all(directory).ok()?;
        let inotify = Inotify::init(InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC).ok()?;
        inotify.add_watch(directory, AddWatchFlags::IN_OPEN).ok()?;
        Some(Self { trial, inotify })
    }

    /// Whether the file was opened since.
    pub(crate) fn was_opened(&self) -> bool {
        let events = self.inotify.read_events().unwrap_or_default();
        events.iter().any(|event| event.name.as_deref().is_some_and(|name| name == PARAMS_FILE_NAME))
    }
}

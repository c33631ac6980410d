//! A file is flushed to its device by a thread of its own, so that nobody waits for it.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

/// Flushes when asked. However often it is asked during a flush, one more serves all (*group commit*).
#[derive(Debug)]
pub(crate) struct Flusher {
    /// `None` only while it is dropped.
    asked: Option<SyncSender<()>>,
    failure: Arc<Mutex<Option<io::Error>>>,
    thread: Option<JoinHandle<()>>,
}

impl Flusher {
    /// A flusher of the file at `path`.
    pub(crate) fn start(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let (asked, requests) = sync_channel(1);
        let failure = Arc::new(Mutex::new(None));
        let shared = Arc::clone(&failure);
        let flush = move || {
            while requests.recv().is_ok() {
                if let Err(error) = file.sync_data() {
                    *shared.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                }
            }
        };
        let thread = thread::Builder::new().name("flusher".to_owned()).spawn(flush)?;
        Ok(Self { asked: Some(asked), failure, thread: Some(thread) })
    }

    /// Asks for a flush of all that was written until now.
    pub(crate) fn ask(&self) {
        if let Some(asked) = &self.asked {
            // where there is no room, a flush that has not begun yet was asked for
            let _ = asked.try_send(());
        }
    }

    /// Why a flush failed since this was last asked.
    pub(crate) fn failure(&self) -> Option<io::Error> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Drop for Flusher {
    fn drop(&mut self) {
        self.asked = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

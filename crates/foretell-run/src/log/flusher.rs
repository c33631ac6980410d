//! A file is flushed to its device by a thread of its own, so that nobody waits for it.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use crate::supervised::{may_panic, spawn_supervised};

/// Flushes when asked. However often it is asked during a flush, one more serves all (*group commit*).
#[derive(Debug)]
pub(crate) struct Flusher {
    /// `None` only while it is dropped.
    asked: Option<SyncSender<()>>,
    failure: Arc<Mutex<Option<io::Error>>>,
    thread: Option<JoinHandle<Option<()>>>,
}

impl Flusher {
    /// A flusher of the file at `path`.
    pub(crate) fn start(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        // room for one request, so that all trials that end during a flush share the next one (decision 38)
        let (asked, requests) = sync_channel(1);
        let failure = Arc::new(Mutex::new(None));
        let (shared, dead) = (Arc::clone(&failure), Arc::clone(&failure));
        let thread = spawn_supervised(
            "flusher",
            move || {
                while requests.recv().is_ok() {
                    may_panic("flusher");
                    if let Err(error) = file.sync_data() {
                        *shared.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                    }
                }
            },
            move |why| {
                let error = io::Error::other(format!("the thread that flushes it panicked: {why}"));
                *dead.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            },
        )?;
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

#[cfg(test)]
mod tests {
    use super::Flusher;
    use crate::supervised::faults::arm;
    use std::time::{Duration, Instant};

    #[test]
    fn a_flusher_that_panics_is_a_failed_flush() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        arm("flusher", 0);
        let flusher = Flusher::start(file.path()).expect("a thread");
        flusher.ask();
        let until = Instant::now() + Duration::from_secs(60);
        let failure = loop {
            match flusher.failure() {
                Some(failure) => break failure.to_string(),
                None => assert!(Instant::now() < until, "the panic is told"),
            }
        };
        assert!(failure.contains("an injected panic in flusher"), "{failure}");
    }
}

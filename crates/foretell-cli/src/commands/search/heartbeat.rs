//! A line now and then about a search that has no terminal to show itself on.

use crate::output::note;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A thread that says where the search stands. It ends when this is dropped.
pub(super) struct Heartbeat {
    text: Arc<Mutex<String>>,
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Heartbeat {
    /// Says something each `interval`.
    pub(super) fn start(interval: Duration) -> Self {
        let (end, ended) = channel::<()>();
        let text = Arc::new(Mutex::new(String::new()));
        let shared = Arc::clone(&text);
        let beat = move || {
            while ended.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                let text = shared.lock().unwrap_or_else(PoisonError::into_inner).clone();
                note(&format!("searching: {text}"));
            }
        };
        // without a thread nothing is said, and the search goes on
        let thread = thread::Builder::new().name("heartbeat".to_owned()).spawn(beat).ok();
        Self { text, end: Some(end), thread }
    }

    /// What the next beat says.
    pub(super) fn will_say(&self, text: String) {
        *self.text.lock().unwrap_or_else(PoisonError::into_inner) = text;
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.end = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

//! A door to a study that a driver runs: other threads, for example a server's, call its host between the driver's own steps.

use std::fmt;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::time::Duration;

use foretell_search::Store;

use crate::host::hosted::StudyHost;

/// The function that is called.
type HostCall<S> = Box<dyn FnOnce(&mut StudyHost<S>) + Send>;

/// The outer side of a door: calls wait until the driver carries them out.
pub struct HostDoor<S: Store> {
    calls: Sender<HostCall<S>>,
}

/// The inner side: what the driver answers.
pub struct HostCalls<S: Store> {
    calls: Receiver<HostCall<S>>,
}

impl<S: Store> HostDoor<S> {
    /// A door, and its inner side for a [driver](crate::Driver::with_remote_trainings).
    pub fn new() -> (Self, HostCalls<S>) {
        let (sender, receiver) = channel();
        (Self { calls: sender }, HostCalls { calls: receiver })
    }

    /// Calls the study's host, and waits for the answer; `None` if no driver runs the study any more.
    pub fn call_host<T: Send + 'static>(
        &self,
        call: impl FnOnce(&mut StudyHost<S>) -> T + Send + 'static,
    ) -> Option<T> {
        let (sender, receiver) = sync_channel(1);
        let answered = Box::new(move |host: &mut StudyHost<S>| {
            // whoever asked may have gone
            let _ = sender.send(call(host));
        });
        self.calls.send(answered).ok()?;
        receiver.recv().ok()
    }
}

impl<S: Store> HostCalls<S> {
    /// The calls that wait. Waits up to `wait` for the first.
    pub(crate) fn waiting(&self, wait: Duration) -> Vec<HostCall<S>> {
        let first = match self.calls.recv_timeout(wait) {
            Ok(call) => call,
            Err(RecvTimeoutError::Timeout) => return Vec::new(),
            Err(RecvTimeoutError::Disconnected) => {
                std::thread::sleep(wait);
                return Vec::new();
            }
        };
        std::iter::once(first).chain(self.calls.try_iter()).collect()
    }
}

impl<S: Store> Clone for HostDoor<S> {
    fn clone(&self) -> Self {
        Self { calls: self.calls.clone() }
    }
}

impl<S: Store> fmt::Debug for HostDoor<S> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Door").finish_non_exhaustive()
    }
}

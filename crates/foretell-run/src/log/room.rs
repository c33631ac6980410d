//! Waiting for room on a full disk.

use std::error::Error;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// The time between two tries on a full disk.
const RETRY_INTERVAL: Duration = Duration::from_millis(200);

/// Waits while the disk is full, and retries the write until space is free. Meanwhile, trials continue and their reports are kept.
///
/// The default does not wait: a full disk is an error like any other.
#[derive(Clone, Default)]
pub struct FullDiskWait {
    waits: Option<WaitState>,
}

#[derive(Clone)]
struct WaitState {
    cancel: Arc<AtomicBool>,
    /// The number of waits now: the search for its log or a start, trials for their output.
    waiting: Arc<AtomicUsize>,
    say: Arc<dyn Fn(&str) + Send + Sync>,
}

impl FullDiskWait {
    /// Waits until `cancel` is set, and `say`s once that it waits, and once that it continues.
    pub fn until_canceled(cancel: Arc<AtomicBool>, say: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self { waits: Some(WaitState { cancel, waiting: Arc::default(), say: Arc::new(say) }) }
    }

    /// Does `write`, again and again as long as a full disk refuses it, by its error as `cause` sees it.
    ///
    /// # Errors
    /// That of `write`, where it is another, or where waiting was canceled.
    pub(crate) fn retry_while_full<T, E>(
        &self,
        cause: impl Fn(&E) -> &(dyn Error + 'static),
        mut write: impl FnMut() -> Result<T, E>,
    ) -> Result<T, E> {
        let mut waiting = None;
        loop {
            let written = write();
            let Some(waits) = &self.waits else { return written };
            match &written {
                Err(error) if is_disk_full(cause(error)) && !waits.cancel.load(Ordering::SeqCst) => {
                    waiting.get_or_insert_with(|| self.begin_wait(cause(error)));
                    thread::sleep(RETRY_INTERVAL);
                }
                _ => {
                    if let Some(waiting) = waiting.filter(|_| written.is_ok()) {
                        waiting.announce_free_space();
                    }
                    return written;
                }
            }
        }
    }

    /// Says something about what cannot be written.
    pub(crate) fn say(&self, text: &str) {
        if let Some(waits) = &self.waits {
            (waits.say)(text);
        }
    }

    /// Begins to wait because of `cause`, which is said unless somebody waits already.
    pub(crate) fn begin_wait(&self, cause: impl fmt::Display) -> WaitingGuard {
        if let Some(waits) = &self.waits
            && waits.waiting.fetch_add(1, Ordering::SeqCst) == 0
        {
            (waits.say)(&format!("the search and its trials wait until disk space is free: {cause}"));
        }
        WaitingGuard { waits: self.waits.clone() }
    }
}

/// One that waits for room.
pub(crate) struct WaitingGuard {
    waits: Option<WaitState>,
}

impl WaitingGuard {
    /// There is room, which is said if nobody else waits.
    pub(crate) fn announce_free_space(self) {
        if let Some(waits) = &self.waits
            && waits.waiting.load(Ordering::SeqCst) == 1
        {
            (waits.say)("disk space is free again: the search continues");
        }
    }
}

impl Drop for WaitingGuard {
    fn drop(&mut self) {
        if let Some(waits) = &self.waits {
            waits.waiting.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

impl fmt::Debug for WaitingGuard {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Waiting").finish_non_exhaustive()
    }
}

impl fmt::Debug for FullDiskWait {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Room").field("waits", &self.waits.is_some()).finish()
    }
}

/// Whether a full disk, or a used-up quota, is behind `error`.
pub(crate) fn is_disk_full(error: &(dyn Error + 'static)) -> bool {
    let mut causes = std::iter::successors(Some(error), |&error| error.source());
    causes.any(|cause| {
        let kind = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        matches!(kind, Some(io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded))
    })
}

#[cfg(test)]
mod tests {
    use super::FullDiskWait;
    use foretell_search::StoreError;
    use std::error::Error;
    use std::io::{Error as IoError, ErrorKind};
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::sync::{Arc, Mutex};

    /// A room that waits, what it says, and what cancels it.
    fn room() -> (FullDiskWait, Arc<Mutex<Vec<String>>>, Arc<AtomicBool>) {
        let (said, cancel) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let shared = Arc::clone(&said);
        let say = move |text: &str| shared.lock().expect("no panic").push(text.to_owned());
        (FullDiskWait::until_canceled(Arc::clone(&cancel), say), said, cancel)
    }

    fn store_error(kind: ErrorKind) -> StoreError {
        StoreError::new(IoError::from(kind))
    }

    fn cause(error: &StoreError) -> &(dyn Error + 'static) {
        error
    }

    #[test]
    fn what_a_full_disk_refuses_is_written_once_there_is_room_and_both_are_said_once() {
        let (room, said, _) = room();
        let full = [ErrorKind::StorageFull, ErrorKind::StorageFull, ErrorKind::QuotaExceeded];
        let mut refusals = full.map(store_error).into_iter();
        let written = room.retry_while_full(cause, || refusals.next().map_or(Ok("written"), Err));
        assert_eq!(written.expect("there is room in the end"), "written");
        let said = said.lock().expect("no panic");
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(said[0].contains("wait until") && said[1].contains("continues"), "{said:?}");
    }

    #[test]
    fn of_several_that_wait_the_first_and_the_last_are_heard() {
        let (room, said, _) = room();
        let (first, second) = (room.begin_wait("no room"), room.begin_wait("no room either"));
        first.announce_free_space();
        second.announce_free_space();
        drop(room.begin_wait("no room once more"));
        let said = said.lock().expect("no panic");
        assert_eq!(said.len(), 3, "{said:?}");
        assert!(said[0].ends_with(": no room") && said[1].contains("continues"), "{said:?}");
    }

    #[test]
    fn other_errors_are_not_waited_out_and_waiting_can_be_canceled() {
        let (room, said, cancel) = room();
        let tries = AtomicUsize::new(0);
        let write = |kind| {
            tries.fetch_add(1, Ordering::SeqCst);
            Err::<(), _>(store_error(kind))
        };
        assert!(room.retry_while_full(cause, || write(ErrorKind::PermissionDenied)).is_err());
        assert!(FullDiskWait::default().retry_while_full(cause, || write(ErrorKind::StorageFull)).is_err());
        assert_eq!((tries.load(Ordering::SeqCst), said.lock().expect("no panic").len()), (2, 0));
        cancel.store(true, Ordering::SeqCst);
        assert!(room.retry_while_full(cause, || write(ErrorKind::StorageFull)).is_err());
        assert_eq!(tries.load(Ordering::SeqCst), 3);
    }
}

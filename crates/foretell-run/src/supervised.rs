//! Threads whose panic is heard: nothing waits for a thread that has died.

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::{Builder, JoinHandle};

/// Starts `work` on a thread called `name`, the only way that this program starts one. If it panics, `died` hears why, on that thread;
/// joining it then answers `None`.
///
/// ```
/// use std::sync::mpsc::channel;
/// let (sender, died) = channel();
/// let work = || assert_eq!(1 + 1, 3, "the sum");
/// foretell_run::spawn_supervised("sums", work, move |why| sender.send(why.to_owned()).expect("it is heard"))?;
/// assert!(died.recv().expect("it died").contains("the sum"));
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// When the system has no thread to give.
pub fn spawn_supervised<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
    died: impl FnOnce(&str) + Send + 'static,
) -> io::Result<JoinHandle<Option<T>>> {
    #[cfg(test)]
    let armed = faults::armed_fault();
    #[allow(clippy::disallowed_methods, reason = "this is the supervised spawn")]
    let thread = Builder::new().name(name.to_owned()).spawn(move || {
        #[cfg(test)]
        faults::inherit(armed);
        catch_panic(work).map_err(|why| died(&why)).ok()
    });
    thread
}

/// The result of `work`, or why it panicked.
pub(crate) fn catch_panic<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    // whoever catches a panic drops or ends what `work` left half done
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| text(panic.as_ref()))
}

fn text(panic: &(dyn Any + Send)) -> String {
    let plain = panic.downcast_ref::<&str>().map(|&text| text.to_owned());
    plain.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}

/// A place where a test can let a thread panic.
#[cfg(not(test))]
pub(crate) fn may_panic(_place: &str) {}

#[cfg(test)]
pub(crate) use faults::may_panic;

/// Panics on purpose. A thread inherits those that are armed where it is started, so tests do not disturb each other.
#[cfg(test)]
pub(crate) mod faults {
    use std::cell::RefCell;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicI64, Ordering};

    /// One place, and the visits to it until it panics.
    pub(crate) struct Fault {
        place: &'static str,
        left: AtomicI64,
    }

    thread_local!(static ARMED: RefCell<Option<Arc<Fault>>> = const { RefCell::new(None) });

    /// The visit of `place` after so many others panics, on this thread and those that it starts.
    pub(crate) fn arm(place: &'static str, after: i64) {
        inherit(Some(Arc::new(Fault { place, left: AtomicI64::new(after) })));
    }

    /// Nothing panics any more.
    pub(crate) fn disarm() {
        inherit(None);
    }

    pub(super) fn armed_fault() -> Option<Arc<Fault>> {
        ARMED.with_borrow(Clone::clone)
    }

    pub(super) fn inherit(fault: Option<Arc<Fault>>) {
        ARMED.set(fault);
    }

    pub(crate) fn may_panic(place: &str) {
        let armed = armed_fault().filter(|fault| fault.place == place);
        if armed.is_some_and(|fault| fault.left.fetch_sub(1, Ordering::SeqCst) == 0) {
            panic!("an injected panic in {place}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{catch_panic, spawn_supervised};

    #[test]
    fn a_thread_that_panics_says_why_and_joins_without_a_result() {
        let (sender, died) = std::sync::mpsc::channel();
        let work = || {
            if std::env::args().count() > 0 {
                panic!("number {}", 7)
            }
        };
        let thread = spawn_supervised("one", work, move |why| sender.send(why.to_owned()).expect("heard"));
        assert_eq!(thread.expect("a thread").join().expect("its panic was caught"), None);
        assert_eq!(died.recv().as_deref(), Ok("number 7"));
        let thread = spawn_supervised("two", || 2, |why| panic!("{why}")).expect("a thread");
        assert_eq!(thread.join().expect("no panic"), Some(2));
        assert_eq!(catch_panic(|| std::panic::panic_any(3_u8)), Err::<(), _>("no message".to_owned()));
    }
}

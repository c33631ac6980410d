//! Long work without the interpreter: other Python threads continue, Ctrl-C ends the wait, and a forked child gets its own threads.

use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The longest time until a Ctrl-C is noticed.
const INTERRUPT_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The threads of a process. A forked child inherits none of its parent's threads, but the state of all locks, those that a thread of the
/// parent held included: it makes its own.
struct WorkerPool {
    process: u32,
    pool: ThreadPool,
    /// One piece of work at a time. A worker of the pool that waits for its own pieces may otherwise take up a second fit of the
    /// same model, which waits for the first.
    turn: Mutex<()>,
}

/// Those of this process. Locked by threads that hold the interpreter alone, so that no fork finds it locked.
static PROCESS_WORKERS: Mutex<Option<Arc<WorkerPool>>> = Mutex::new(None);

/// Runs `work` on threads of its own and returns its result. A signal's exception, such as `KeyboardInterrupt`, is returned at once; the
/// work then completes in the background and is forgotten.
pub(crate) fn run<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let workers = workers().map_err(pyo3::exceptions::PyRuntimeError::new_err)?;
    let (done, result) = channel();
    let started = foretell_run::spawn_supervised(
        "calculation",
        move || {
            let _turn = workers.turn.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = done.send(workers.pool.install(work));
        },
        // a panic takes the sender with it
        |_| (),
    );
    started.map_err(|error| {
        pyo3::exceptions::PyRuntimeError::new_err(format!("cannot start a thread: {error}"))
    })?;
    let result = Mutex::new(result);
    loop {
        let waited = py.detach(|| {
            let result = result.lock().unwrap_or_else(PoisonError::into_inner);
            result.recv_timeout(INTERRUPT_POLL_INTERVAL)
        });
        match waited {
            Ok(result) => return Ok(result),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => {
                let text = "a calculation panicked. Its message is on standard error; please report it";
                return Err(pyo3::exceptions::PyRuntimeError::new_err(text));
            }
        }
    }
}

fn workers() -> Result<Arc<WorkerPool>, String> {
    let mut kept = PROCESS_WORKERS.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if let Some(workers) = kept.as_ref().filter(|workers| workers.process == process) {
        return Ok(Arc::clone(workers));
    }
    let pool = ThreadPoolBuilder::new().build().map_err(|error| format!("cannot start threads: {error}"))?;
    let workers = Arc::new(WorkerPool { process, pool, turn: Mutex::new(()) });
    // the parent's pool cannot be ended here: its threads are not in this process
    std::mem::forget(kept.replace(Arc::clone(&workers)));
    Ok(workers)
}

/// How many threads of a process work with something. A forked child that finds it worked with cannot use it: locks in it may be held by
/// threads that are not in the child.
#[derive(Clone)]
pub(crate) struct ProcessUsage {
    process: u32,
    count: Arc<AtomicUsize>,
}

/// Work with something, until this is dropped.
pub(crate) struct UsageGuard(Arc<AtomicUsize>);

impl ProcessUsage {
    pub(crate) fn new() -> Self {
        Self { process: std::process::id(), count: Arc::default() }
    }

    /// Work begins.
    pub(crate) fn begin(&self) -> UsageGuard {
        self.count.fetch_add(1, Ordering::SeqCst);
        UsageGuard(Arc::clone(&self.count))
    }

    /// Whether this is a forked child, and its parent worked with it at the fork.
    pub(crate) fn is_broken(&self) -> bool {
        self.is_of_another_process() && self.count.load(Ordering::SeqCst) > 0
    }

    /// Whether this is a forked child.
    pub(crate) fn is_of_another_process(&self) -> bool {
        self.process != std::process::id()
    }

    /// The process that made it.
    pub(crate) fn process(&self) -> u32 {
        self.process
    }
}

impl Drop for UsageGuard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

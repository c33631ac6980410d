//! Long work without the interpreter: other Python threads go on, Ctrl-C ends the wait, and a forked child has its own threads.

use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// How long a Ctrl-C may wait to be noticed.
const PATIENCE: Duration = Duration::from_millis(50);

/// The threads of this process, and which process that is: a forked child inherits none of its parent's threads.
static POOL: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// One piece of work at a time. A worker of the pool that waits for its own pieces may otherwise take up a second fit of the same
/// model, which waits for the first.
static TURN: Mutex<()> = Mutex::new(());

/// Runs `work` on threads of its own and returns what it gives. A signal's exception, such as `KeyboardInterrupt`, is returned at
/// once; the work is then finished in the background and forgotten.
pub(crate) fn run<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let pool = pool().map_err(pyo3::exceptions::PyRuntimeError::new_err)?;
    let (done, result) = channel();
    thread::spawn(move || {
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = done.send(pool.install(work));
    });
    let result = Mutex::new(result);
    loop {
        let waited = py.detach(|| {
            let result = result.lock().unwrap_or_else(PoisonError::into_inner);
            result.recv_timeout(PATIENCE)
        });
        match waited {
            Ok(result) => return Ok(result),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => {
                let text = "a calculation panicked; its message is on standard error: please report it";
                return Err(pyo3::exceptions::PyRuntimeError::new_err(text));
            }
        }
    }
}

fn pool() -> Result<Arc<ThreadPool>, String> {
    let mut kept = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if let Some((owner, pool)) = &*kept
        && *owner == process
    {
        return Ok(Arc::clone(pool));
    }
    let pool = ThreadPoolBuilder::new().build().map_err(|error| format!("cannot start threads: {error}"))?;
    let pool = Arc::new(pool);
    // the parent's pool cannot be ended here: its threads are not in this process
    std::mem::forget(kept.replace((process, Arc::clone(&pool))));
    Ok(pool)
}

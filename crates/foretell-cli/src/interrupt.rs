//! Ctrl-C and the system's request to end, as a flag: the one place of the program that installs signal handlers.

use crate::failure::Failure;
use crate::output::note;
use foretell_run::spawn_supervised;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGXFSZ};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The time between two looks for a signal.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Whether the program is to end: by a signal, or since one of its threads cannot go on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interrupt {
    pub(crate) flag: Arc<AtomicBool>,
    signal: Arc<AtomicUsize>,
    #[cfg(feature = "serve")]
    failure: Arc<std::sync::Mutex<Option<Failure>>>,
}

impl Interrupt {
    /// From now on set once the user interrupts the program, or the system asks it to end. The program has `patience` to end by itself
    /// then: a thread that is stuck, for example in a file system that does not answer, may not hold it.
    pub(crate) fn install(&self, patience: Duration) -> Result<(), Failure> {
        // a file that grows beyond `ulimit -f` is an error of its write then, and does not kill this process
        flag::register(SIGXFSZ, Arc::default()).map_err(Failure::midway)?;
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            let number = usize::try_from(signal).map_err(Failure::midway)?;
            flag::register_usize(signal, Arc::clone(&self.signal), number).map_err(Failure::midway)?;
            flag::register(signal, Arc::clone(&self.flag)).map_err(Failure::midway)?;
        }
        let this = self.clone();
        let died =
            |why: &str| note(&format!("signals may not end this program any more, because of a bug: {why}"));
        spawn_supervised("signals", move || this.end_after_patience(patience), died).map_err(no_thread)?;
        Ok(())
    }

    /// Waits for a signal, and then ends the program once the time for its own end is over.
    fn end_after_patience(&self, patience: Duration) {
        while self.signal.load(Ordering::SeqCst) == 0 {
            thread::sleep(POLL_INTERVAL);
        }
        let until = Instant::now() + patience;
        while Instant::now() < until {
            thread::sleep(POLL_INTERVAL);
        }
        note(&format!(
            "ended without waiting any longer: after {} s, a thread was still busy. What was recorded is kept",
            patience.as_secs()
        ));
        // no destructor: one of them may wait for the thread that is stuck
        signal_hook::low_level::exit(i32::from(self.exit_code()));
    }

    /// Ends the program as if it was interrupted, with this error.
    #[cfg(feature = "serve")]
    pub(crate) fn end_with(&self, failure: Failure) {
        self.failure().get_or_insert(failure);
        self.flag.store(true, Ordering::SeqCst);
    }

    /// The error that [ended](Self::end_with) the program, if one did.
    #[cfg(feature = "serve")]
    pub(crate) fn take_failure(&self) -> Option<Failure> {
        self.failure().take()
    }

    #[cfg(feature = "serve")]
    fn failure(&self) -> std::sync::MutexGuard<'_, Option<Failure>> {
        self.failure.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Installs the handler for SIGUSR1, by which a cluster warns that a job's time is over soon.
    pub(crate) fn install_warning(&self) -> Result<(), Failure> {
        let number = usize::try_from(SIGUSR1).map_err(Failure::midway)?;
        flag::register_usize(SIGUSR1, Arc::clone(&self.signal), number).map_err(Failure::midway)?;
        flag::register(SIGUSR1, Arc::clone(&self.flag)).map_err(Failure::midway)?;
        Ok(())
    }

    /// Whether that warning came.
    #[cfg(feature = "serve")]
    pub(crate) fn is_warned(&self) -> bool {
        i32::try_from(self.signal.load(Ordering::SeqCst)) == Ok(SIGUSR1)
    }

    /// The exit code of a program that ended so: 130 after Ctrl-C, 143 after SIGTERM.
    pub(crate) fn exit_code(&self) -> u8 {
        u8::try_from(128 + self.signal.load(Ordering::SeqCst)).unwrap_or(1)
    }
}

/// Starts the threads that calculations share: where the system has none to give, this is an error, and their first use a panic.
pub(crate) fn start_calculators() -> Result<(), Failure> {
    use std::error::Error;
    match rayon::ThreadPoolBuilder::new().build_global() {
        // without a source, they run already
        Err(error) if error.source().is_some() => Err(no_thread(&error)),
        _ => Ok(()),
    }
}

/// The error where the system has no thread to give.
pub(crate) fn no_thread(error: impl std::fmt::Display) -> Failure {
    Failure::midway(format!(
        "cannot start a thread: {error}. Raise the limits of memory and processes (ulimit -v, ulimit -u), or end other programs"
    ))
}

//! Ctrl-C and the system's request to end, as a flag: the one place of the program that installs signal handlers.

use crate::failure::Failure;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGXFSZ};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Whether the program was asked to end, and by which signal.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interrupt {
    pub(crate) flag: Arc<AtomicBool>,
    signal: Arc<AtomicUsize>,
}

impl Interrupt {
    /// From now on set once the user interrupts the program, or the system asks it to end.
    pub(crate) fn install(&self) -> Result<(), Failure> {
        // a file that grows beyond `ulimit -f` is an error of its write then, and does not kill this process
        flag::register(SIGXFSZ, Arc::default()).map_err(Failure::midway)?;
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            let number = usize::try_from(signal).map_err(Failure::midway)?;
            flag::register_usize(signal, Arc::clone(&self.signal), number).map_err(Failure::midway)?;
            flag::register(signal, Arc::clone(&self.flag)).map_err(Failure::midway)?;
        }
        Ok(())
    }

    /// The same for the warning of a cluster that a job's time is over soon, SIGUSR1.
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

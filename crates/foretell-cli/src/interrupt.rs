//! Ctrl-C as a flag: the one place of the program that installs a signal handler.

use crate::failure::Failure;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag that is set once the user interrupts the program, or the system asks it to end.
pub(crate) fn flag() -> Result<Arc<AtomicBool>, Failure> {
    let flag = Arc::new(AtomicBool::new(false));
    let shared = Arc::clone(&flag);
    ctrlc::set_handler(move || shared.store(true, Ordering::SeqCst)).map_err(Failure::midway)?;
    Ok(flag)
}

//! One thread that fits a model while the driver continues.

use std::any::Any;
use std::thread::{self, JoinHandle};

use foretell_search::{Fit, Fitted};

/// Fits one model at a time.
#[derive(Default)]
pub(super) struct Fitter {
    thread: Option<JoinHandle<Fitted>>,
}

impl Fitter {
    /// Begins to fit a model; none may be under way.
    pub(super) fn start(&mut self, fit: Fit) {
        self.thread = Some(thread::spawn(move || fit.run()));
    }

    /// Whether a model is being fitted, or waits to be taken.
    pub(super) fn is_busy(&self) -> bool {
        self.thread.is_some()
    }

    /// The fitted model, once it is there; an error says how the predictor panicked.
    pub(super) fn take(&mut self) -> Result<Option<Fitted>, String> {
        match self.thread.take_if(|thread| thread.is_finished()) {
            None => Ok(None),
            Some(thread) => thread.join().map(Some).map_err(|panic| text(panic.as_ref())),
        }
    }
}

fn text(panic: &(dyn Any + Send)) -> String {
    let plain = panic.downcast_ref::<&str>().map(|&text| text.to_owned());
    plain.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}

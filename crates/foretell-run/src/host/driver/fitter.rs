//! One thread that fits a model while the driver continues.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use foretell_search::{FittedModel, ModelFit};

use crate::supervised::{may_panic, spawn_supervised};

/// Fits one model at a time.
#[derive(Default)]
pub(super) struct ModelFitter {
    thread: Option<JoinHandle<Option<FittedModel>>>,
    panic: Arc<Mutex<String>>,
}

impl ModelFitter {
    /// Begins to fit a model; none may be under way.
    pub(super) fn start(&mut self, fit: ModelFit) -> io::Result<()> {
        let panic = Arc::clone(&self.panic);
        let thread = spawn_supervised(
            "fitter",
            move || {
                may_panic("fitter");
                fit.run()
            },
            move |why| why.clone_into(&mut panic.lock().unwrap_or_else(PoisonError::into_inner)),
        );
        self.thread = Some(thread?);
        Ok(())
    }

    /// Whether a model is being fitted, or waits to be taken.
    pub(super) fn is_busy(&self) -> bool {
        self.thread.is_some()
    }

    /// The fitted model, once it is there; an error says how the predictor panicked.
    pub(super) fn take(&mut self) -> Result<Option<FittedModel>, String> {
        let Some(thread) = self.thread.take_if(|thread| thread.is_finished()) else { return Ok(None) };
        match thread.join() {
            Ok(Some(fitted)) => Ok(Some(fitted)),
            _ => Err(self.panic.lock().unwrap_or_else(PoisonError::into_inner).clone()),
        }
    }
}

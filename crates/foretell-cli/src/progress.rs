//! Progress of a long command: a bar on a terminal, shown if the command takes longer than a moment.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// The bar of a shorter command is not shown.
const MIN_SHOWN_DURATION: Duration = Duration::from_millis(500);

/// A bar on standard error, which is gone when it is dropped.
pub(crate) struct ProgressSteps {
    /// `None` where nobody would see it.
    bar: Option<ProgressBar>,
    started: Instant,
}

impl ProgressSteps {
    /// A bar of the form `template`, such as `replaying {bar:30} {pos} of {len} orders`; of so many steps.
    pub(crate) fn new(template: &str, steps: u64) -> Self {
        let bar = std::io::stderr().is_terminal().then(ProgressBar::hidden);
        if let (Some(bar), Ok(style)) = (&bar, ProgressStyle::with_template(template)) {
            bar.set_style(style);
            bar.set_length(steps);
        }
        Self { bar, started: Instant::now() }
    }

    /// One step more is done.
    pub(crate) fn step(&self) {
        self.update_bar(|bar| bar.inc(1));
    }

    /// So many of so many steps are done; `message` goes into the template.
    pub(crate) fn set(&self, done: u64, total: u64, message: String) {
        self.update_bar(|bar| {
            bar.set_length(total);
            bar.set_position(done);
            bar.set_message(message);
        });
    }

    fn update_bar(&self, change: impl FnOnce(&ProgressBar)) {
        let Some(bar) = &self.bar else { return };
        if bar.is_hidden() && self.started.elapsed() > MIN_SHOWN_DURATION {
            bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(5));
        }
        change(bar);
    }
}

impl Drop for ProgressSteps {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

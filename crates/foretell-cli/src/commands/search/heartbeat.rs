//! A line now and then about a search that has no terminal to show itself on.

use crate::output::{human_duration, note};
use foretell_run::spawn_supervised;
use std::collections::BTreeMap;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A thread that prints the progress of the search. It ends when this is dropped.
pub(super) struct Heartbeat {
    said: Arc<Mutex<BeatText>>,
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<Option<()>>>,
}

/// The text of a beat.
#[derive(Default)]
struct BeatText {
    text: String,
    /// The trials that have reported nothing for long, and since when.
    quiet: BTreeMap<u64, Instant>,
}

impl BeatText {
    fn line(&self, now: Instant) -> String {
        let silence = |since: &Instant| human_duration(now.saturating_duration_since(*since).as_secs_f64());
        let quiet = self.quiet.iter();
        let quiet: String = quiet
            .map(|(trial, since)| format!("; trial {trial} has reported nothing for {}", silence(since)))
            .collect();
        format!("searching: {}{quiet}", self.text)
    }
}

impl Heartbeat {
    /// Prints a beat each `interval`.
    pub(super) fn start(interval: Duration) -> Self {
        let (end, ended) = channel::<()>();
        let said = Arc::<Mutex<BeatText>>::default();
        let shared = Arc::clone(&said);
        let beat = move || {
            while ended.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                let line = shared.lock().unwrap_or_else(PoisonError::into_inner).line(Instant::now());
                note(&line);
            }
        };
        // without a thread nothing is printed, and the search continues
        let died = |why: &str| note(&format!("progress is not printed from now on, because of a bug: {why}"));
        let thread = spawn_supervised("heartbeat", beat, died).ok();
        Self { said, end: Some(end), thread }
    }

    /// Sets the text of the next beat.
    pub(super) fn set_text(&self, text: String) {
        self.lock().text = text;
    }

    /// Trial `trial` has reported nothing for `silence`: each beat mentions it, until it is [heard](Self::heard) again.
    pub(super) fn quiet(&self, trial: u64, silence: Duration) {
        let now = Instant::now();
        self.lock().quiet.insert(trial, now.checked_sub(silence).unwrap_or(now));
    }

    /// Trial `trial` has reported, or ended.
    pub(super) fn clear_quiet(&self, trial: u64) {
        self.lock().quiet.remove(&trial);
    }

    fn lock(&self) -> MutexGuard<'_, BeatText> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.end = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Heartbeat;
    use std::time::{Duration, Instant};

    #[test]
    fn a_trial_that_is_silent_is_named_until_it_is_heard_again() {
        let heartbeat = Heartbeat::start(Duration::from_secs(3600));
        heartbeat.set_text("3 of 9 trials ended".to_owned());
        let line = || heartbeat.lock().line(Instant::now());
        assert_eq!(line(), "searching: 3 of 9 trials ended");
        heartbeat.quiet(4, Duration::from_secs(720));
        assert_eq!(line(), "searching: 3 of 9 trials ended; trial 4 has reported nothing for 12 min 0 s");
        heartbeat.clear_quiet(4);
        assert_eq!(line(), "searching: 3 of 9 trials ended");
    }
}

//! Trainings that report in turn, without processes.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use foretell_run::{Executor, ExecutorError, MessageKind, ProcessStatus, Report, StartPoint, TrialMessage};
use foretell_search::TrainingStart;

/// Simulated trainings. The running ones report in turn.
pub(crate) struct Simulated {
    pub(crate) value: fn(&TrainingStart, u64) -> f64,
    pub(crate) running: VecDeque<(TrainingStart, u64)>,
    /// The trials whose checkpoints were discarded.
    pub(crate) discarded: Arc<Mutex<Vec<u64>>>,
    /// Whether no training can be started.
    pub(crate) fails: bool,
}

impl Simulated {
    /// Trainings that report `value` after each step.
    pub(crate) fn new(value: fn(&TrainingStart, u64) -> f64) -> Self {
        Self { value, running: VecDeque::new(), discarded: Arc::default(), fails: false }
    }
}

impl Executor for Simulated {
    fn start(&mut self, start: &TrainingStart, _worker: usize) -> Result<StartPoint, ExecutorError> {
        if self.fails {
            return Err("no such program".into());
        }
        self.running.push_back((start.clone(), start.from));
        Ok(StartPoint::Resumed)
    }

    fn stop(&mut self, trial: u64) {
        for (start, _) in self.running.iter_mut().filter(|(start, _)| start.trial == trial) {
            start.until = 0;
        }
    }

    fn take_messages(&mut self, _wait: Duration) -> Vec<TrialMessage> {
        let Some((start, step)) = self.running.pop_front() else { return Vec::new() };
        let trial = start.trial;
        if step >= start.until {
            let (tail, seen) = (Vec::new(), String::new());
            let status = ProcessStatus::Exited(0);
            let kind = MessageKind::Ended { status, stopped_by_us: false, tail, seen, fault: None };
            return vec![TrialMessage { trial, kind }];
        }
        let (step, metrics) = (step + 1, std::collections::BTreeMap::new());
        let value = Some((self.value)(&start, step));
        self.running.push_back((start, step));
        vec![TrialMessage { trial, kind: MessageKind::Report(Report { step, value, training: 0, metrics }) }]
    }

    fn discard_checkpoints(&mut self, trial: u64) {
        self.discarded.lock().expect("nobody panics").push(trial);
    }
}

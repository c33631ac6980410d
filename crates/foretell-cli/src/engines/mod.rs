//! Engines start the workers of a search. A thread has the engine keep as many workers as there are trials to do.

pub(crate) mod ray;
pub(crate) mod slurm;

use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output::note;
use foretell_run::{EventStore, HostDoor, WorkerView, spawn_supervised};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How often an engine looks after its workers.
const TEND_INTERVAL: Duration = Duration::from_secs(5);
/// A worker that was not heard for so long is not counted.
const WORKER_TIMEOUT: Duration = Duration::from_secs(60);

/// Starts and ends workers.
pub(crate) trait WorkerEngine: Send {
    /// Keeps `wanted` workers; the search hears some of them if it `hears`. Answers where they are, in one line.
    fn tend(&mut self, wanted: usize, hears: bool) -> Result<String, EngineError>;

    /// Ends all workers, and waits until they are gone.
    fn end(&mut self);
}

/// Why an engine starts no workers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EngineError {
    /// The engine may start some later.
    Now(String),
    /// The engine never will.
    Ever(String),
}

/// The number of trials to do, and the workers.
struct RemainingWork {
    to_do: u64,
    workers: Vec<WorkerView>,
}

fn remaining_work(door: &HostDoor<EventStore>) -> Option<RemainingWork> {
    door.call_host(|host| {
        let study = host.session().study();
        let to_do = study.spec().trials.saturating_sub(study.progress().trials.ended_count());
        let to_do = if host.session().is_done() { 0 } else { to_do.max(1) };
        RemainingWork { to_do, workers: host.recent_workers(WORKER_TIMEOUT) }
    })
}

/// An engine at work, on a thread of its own.
pub(crate) struct EngineThread {
    thread: Option<JoinHandle<Option<()>>>,
    over: Arc<AtomicBool>,
}

/// The state of the thread.
struct EngineLoop {
    engine: Box<dyn WorkerEngine>,
    door: HostDoor<EventStore>,
    most: usize,
    interrupt: Interrupt,
    over: Arc<AtomicBool>,
}

impl EngineThread {
    /// Has `engine` keep up to `most` workers for the study behind `door`, until the search is over, or `interrupt` comes.
    pub(crate) fn start(
        engine: Box<dyn WorkerEngine>,
        door: HostDoor<EventStore>,
        most: usize,
        interrupt: &Interrupt,
    ) -> std::io::Result<Self> {
        let over = Arc::<AtomicBool>::default();
        let tending =
            EngineLoop { engine, door, most, interrupt: interrupt.clone(), over: Arc::clone(&over) };
        let ends = interrupt.clone();
        let thread = spawn_supervised(
            "engine",
            move || tending.run(),
            move |why| {
                ends.end_with(Failure::midway(format!(
                    "the thread that starts workers panicked: {why}. This is a bug: please report it"
                )));
            },
        );
        Ok(Self { thread: Some(thread?), over })
    }

    /// Ends the workers.
    pub(crate) fn end(mut self) {
        self.over.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl EngineLoop {
    fn run(mut self) {
        // not at once, because the first workers were started before this thread
        let (mut said, mut next) = (String::new(), Instant::now() + TEND_INTERVAL);
        loop {
            if self.is_over() {
                break;
            }
            if Instant::now() < next {
                thread::sleep(Duration::from_millis(100));
                continue;
            }
            next = Instant::now() + TEND_INTERVAL;
            let Some(RemainingWork { to_do, workers }) = remaining_work(&self.door) else { break };
            let wanted = usize::try_from(to_do).unwrap_or(usize::MAX).min(self.most);
            match self.engine.tend(wanted, !workers.is_empty()) {
                Ok(line) => print_if_new(&mut said, line),
                Err(EngineError::Now(why)) => print_if_new(&mut said, why),
                Err(EngineError::Ever(why)) => self.interrupt.end_with(Failure::input(why)),
            }
        }
        // a job's own warning that its time is over ends this search, and not its workers
        if !self.interrupt.is_warned() {
            self.engine.end();
        }
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::SeqCst) || self.interrupt.flag.load(Ordering::SeqCst)
    }
}

/// Prints `line` if it is new.
fn print_if_new(said: &mut String, line: String) {
    if *said != line {
        note(&line);
        *said = line;
    }
}

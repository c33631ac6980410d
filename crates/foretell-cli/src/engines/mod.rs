//! Engines start the workers of a search. A thread has the engine keep as many workers as there are trials to do.

pub(crate) mod ray;
pub(crate) mod slurm;

use crate::interrupt::Interrupt;
use crate::output::note;
use foretell_run::{Door, EventStore, WorkerView};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How often an engine looks after its workers.
const INTERVAL: Duration = Duration::from_secs(5);
/// A worker that was not heard for so long is not counted.
const HEARD: Duration = Duration::from_secs(60);

/// Starts and ends workers.
pub(crate) trait Engine: Send {
    /// Keeps `wanted` workers; the search hears some of them if it `hears`. Answers where they are, in one line.
    fn tend(&mut self, wanted: usize, hears: bool) -> Result<String, EngineError>;

    /// Ends all workers, and waits until they are gone.
    fn end(&mut self);
}

/// Why an engine starts no workers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EngineError {
    /// It may later.
    Now(String),
    /// It never will.
    Ever(String),
}

/// The number of trials to do, and the workers.
struct Work {
    to_do: u64,
    workers: Vec<WorkerView>,
}

fn work(door: &Door<EventStore>) -> Option<Work> {
    door.call(|host| {
        let study = host.session().study();
        let to_do = study.spec().trials.saturating_sub(study.progress().trials.ended());
        let to_do = if host.session().is_done() { 0 } else { to_do.max(1) };
        Work { to_do, workers: host.workers(HEARD) }
    })
}

/// An engine at work, on a thread of its own.
pub(crate) struct Tended {
    thread: Option<JoinHandle<()>>,
    over: Arc<AtomicBool>,
    failure: Arc<Mutex<Option<String>>>,
}

/// The state of the thread.
struct Tending {
    engine: Box<dyn Engine>,
    door: Door<EventStore>,
    most: usize,
    interrupt: Interrupt,
    over: Arc<AtomicBool>,
    failure: Arc<Mutex<Option<String>>>,
}

impl Tended {
    /// Has `engine` keep up to `most` workers for the study behind `door`, until the search is over, or `interrupt` comes.
    pub(crate) fn start(
        engine: Box<dyn Engine>,
        door: Door<EventStore>,
        most: usize,
        interrupt: &Interrupt,
    ) -> std::io::Result<Self> {
        let (over, failure) = (Arc::<AtomicBool>::default(), Arc::<Mutex<Option<String>>>::default());
        let tending = Tending {
            engine,
            door,
            most,
            interrupt: interrupt.clone(),
            over: Arc::clone(&over),
            failure: Arc::clone(&failure),
        };
        let thread = thread::Builder::new().name("engine".to_owned()).spawn(move || tending.run())?;
        Ok(Self { thread: Some(thread), over, failure })
    }

    /// Ends the workers; the text is the reason why the engine ended the search, if it did.
    pub(crate) fn end(mut self) -> Option<String> {
        self.over.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Tending {
    fn run(mut self) {
        let (mut said, mut next) = (String::new(), Instant::now() + INTERVAL);
        loop {
            if self.is_over() {
                break;
            }
            if Instant::now() < next {
                thread::sleep(Duration::from_millis(100));
                continue;
            }
            next = Instant::now() + INTERVAL;
            let Some(Work { to_do, workers }) = work(&self.door) else { break };
            let wanted = usize::try_from(to_do).unwrap_or(usize::MAX).min(self.most);
            match self.engine.tend(wanted, !workers.is_empty()) {
                Ok(line) => say(&mut said, line),
                Err(EngineError::Now(why)) => say(&mut said, why),
                Err(EngineError::Ever(why)) => {
                    *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
                    self.interrupt.flag.store(true, Ordering::SeqCst);
                }
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
fn say(said: &mut String, line: String) {
    if *said != line {
        note(&line);
        *said = line;
    }
}

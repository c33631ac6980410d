//! One thread that watches the processes of all trials: it reads their output, and stops and reaps them.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::io;
use std::sync::mpsc::{Receiver, Sender, SyncSender, TryRecvError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::Signal;

use crate::group::signal_process;
use crate::message::Message;
use crate::outbox::Outbox;
use crate::process::life::{Pace, Process};
use crate::strays::nameless;

/// The time between two looks after processes, and the longest that a new trial or a stop waits.
const LOOK_MILLISECONDS: u8 = 20;
const LOOK: Duration = Duration::from_millis(LOOK_MILLISECONDS as u64);
/// The time between two looks for processes that left their trial.
const STRAYS: Duration = Duration::from_millis(100);
/// The time after which a full channel is tried again.
const RETRY: Duration = Duration::from_millis(1);
/// The number of bytes read from one pipe before the next one has its turn.
const READ_BYTES: usize = 64 * 1024;

enum Command {
    Watch(Box<Process>, Starting),
    Stop(u64),
}

/// The numbers of the trials that are watched.
#[derive(Clone, Debug, Default)]
pub(crate) struct Running {
    trials: Arc<Mutex<BTreeSet<u64>>>,
    /// The number being started: their processes may be there, and are not watched yet.
    starting: Arc<Mutex<usize>>,
}

/// A trial that is being started, from before there is a process until it is watched.
pub(crate) struct Starting(Arc<Mutex<usize>>);

impl Drop for Starting {
    fn drop(&mut self) {
        *locked(&self.0) -= 1;
    }
}

impl Running {
    pub(crate) fn lock(&self) -> MutexGuard<'_, BTreeSet<u64>> {
        locked(&self.trials)
    }

    /// Counts one that is being started, once nobody looks for strays.
    pub(crate) fn starting(&self) -> Starting {
        *locked(&self.starting) += 1;
        Starting(Arc::clone(&self.starting))
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The thread's handle. Dropping it stops all trials and waits until they are gone.
#[derive(Debug)]
pub(crate) struct Watcher {
    /// `None` only while it is dropped.
    commands: Option<Sender<Command>>,
    thread: Option<JoinHandle<()>>,
}

impl Watcher {
    /// Starts the thread; it takes ended trials out of `running`.
    pub(crate) fn start(messages: SyncSender<Message>, running: Running) -> io::Result<Self> {
        let (sender, commands) = channel();
        let watch = move || {
            let outbox = Outbox::new(messages);
            let (processes, buffer) = (Vec::new(), vec![0; READ_BYTES]);
            let (turn, next_look, next_strays, pace) = (0, Instant::now(), Instant::now(), Pace::default());
            Loop { commands, running, outbox, processes, buffer, turn, next_look, next_strays, pace }.run();
        };
        let thread = thread::Builder::new().name("trials".to_owned()).spawn(watch)?;
        Ok(Self { commands: Some(sender), thread: Some(thread) })
    }

    /// Watches `process` from now on; kills it and answers `false` if the thread has ended.
    pub(crate) fn watch(&self, process: Process, starting: Starting) -> bool {
        match self.send(Command::Watch(Box::new(process), starting)) {
            Err(Command::Watch(process, _)) => {
                process.kill();
                false
            }
            _ => true,
        }
    }

    /// Stops a trial; a number that is not watched is passed over.
    pub(crate) fn stop(&self, trial: u64) -> bool {
        self.send(Command::Stop(trial)).is_ok()
    }

    fn send(&self, command: Command) -> Result<(), Command> {
        match &self.commands {
            Some(commands) => commands.send(command).map_err(|unsent| unsent.0),
            None => Err(command),
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.commands = None;
        // A thread that panicked has nothing left to wait for.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// The state that the thread works on.
struct Loop {
    commands: Receiver<Command>,
    running: Running,
    outbox: Outbox,
    processes: Vec<Process>,
    buffer: Vec<u8>,
    /// Whose pipe is read first: each in turn, so that no trial waits for another that prints without end.
    turn: usize,
    next_look: Instant,
    next_strays: Instant,
    pace: Pace,
}

impl Loop {
    fn run(mut self) {
        while self.take_commands() {
            self.outbox.flush();
            if self.outbox.is_full() {
                // The consumer lags behind: trials wait in their next print. Stopping them continues.
                thread::sleep(RETRY);
            } else {
                self.read_pipes();
            }
            self.look_after();
            self.finish();
        }
    }

    /// Carries out all commands there are, and waits for one if there is nothing else to do. Answers `false` once there
    /// will be no more commands and nothing is left to watch.
    fn take_commands(&mut self) -> bool {
        loop {
            let is_idle = self.processes.is_empty() && !self.outbox.is_full();
            let command = match self.commands.try_recv() {
                Err(TryRecvError::Empty) if is_idle => self.commands.recv().ok(),
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => None,
                Ok(command) => Some(command),
            };
            match command {
                Some(Command::Watch(process, starting)) => {
                    self.processes.push(*process);
                    drop(starting);
                }
                Some(Command::Stop(trial)) => {
                    self.processes.iter_mut().filter(|it| it.trial() == trial).for_each(Process::stop);
                }
                None => {
                    self.processes.iter_mut().for_each(Process::stop);
                    return !is_idle;
                }
            }
        }
    }

    /// Waits for output, at most until the next look, and reads each pipe that has some once.
    fn read_pipes(&mut self) {
        let mut polled = self.poll_pipes();
        self.turn += 1;
        let first = self.turn.checked_rem(polled.len()).unwrap_or(0);
        polled.rotate_left(first);
        for (process, pipe, is_ready) in polled {
            let process = &mut self.processes[process];
            if is_ready && !self.outbox.is_full() {
                process.read(pipe, &mut self.buffer, &mut self.outbox);
            } else if !is_ready {
                process.found_empty(pipe);
            }
        }
    }

    /// All open pipes, as numbers of process and pipe, and whether there is something to read, the pipe's end included.
    fn poll_pipes(&self) -> Vec<(usize, usize, bool)> {
        let pipes = self.processes.iter().enumerate();
        let pipes =
            pipes.flat_map(|(process, it)| it.open_pipes().map(move |(pipe, fd)| (process, pipe, fd)));
        let (numbers, mut fds): (Vec<_>, Vec<_>) =
            pipes.map(|(process, pipe, fd)| ((process, pipe), PollFd::new(fd, PollFlags::POLLIN))).unzip();
        let is_urgent = self.processes.iter().any(Process::is_gone);
        let now = Instant::now();
        let is_soon = self.processes.iter().any(|process| process.is_ending(now));
        let wait = PollTimeout::from(match (is_urgent, is_soon) {
            (true, _) => 0,
            (_, true) => 1,
            _ => LOOK_MILLISECONDS,
        });
        if poll(&mut fds, wait).is_err() {
            // Interrupted, or out of memory: the next round tries again.
            thread::sleep(RETRY);
            return Vec::new();
        }
        let ready = fds.iter().map(|fd| fd.any().unwrap_or(true));
        numbers.into_iter().zip(ready).map(|((process, pipe), ready)| (process, pipe, ready)).collect()
    }

    fn look_after(&mut self) {
        let now = Instant::now();
        let is_soon = self.processes.iter().any(|process| process.is_ending(now));
        if now < self.next_look && !is_soon {
            return;
        }
        if self.processes.iter_mut().any(Process::has_ended) || now >= self.next_strays {
            let starting = Arc::clone(&self.running.starting);
            let starting = locked(&starting);
            if *starting > 0 {
                return; // a process that is not watched yet would be taken for a stray: the next round is soon
            }
            self.find_strays(); // nothing is started meanwhile
            self.next_strays = now + STRAYS;
        }
        let census = OnceCell::new();
        self.pace = self.processes.iter().fold(self.pace, |pace, process| process.pace(pace));
        for process in &mut self.processes {
            if !self.outbox.is_full() {
                process.read_followed(&mut self.buffer, &mut self.outbox);
            }
            process.look_after(now, self.pace, &census, &mut self.outbox);
        }
        self.next_look = now + LOOK;
    }

    /// Finds nameless strays. Each belongs to one of the trials that ran when it started, and ends with the last of them.
    fn find_strays(&mut self) {
        let leaders = self.processes.iter().map(Process::leader).collect();
        for stray in nameless(&leaders) {
            let elders = self
                .processes
                .iter_mut()
                .filter_map(|process| process.may_have_started(stray).then_some(process));
            let elders: Vec<&mut Process> = elders.collect();
            let mut elders = elders;
            if elders.iter_mut().any(|process| !process.has_ended()) {
                continue;
            }
            match elders.into_iter().next_back() {
                Some(last) => last.answer_for(stray),
                None => signal_process(stray.pid, Signal::SIGKILL),
            }
        }
    }

    /// Takes the processes out that have ended and are read to the end.
    fn finish(&mut self) {
        let (outbox, running, buffer) = (&mut self.outbox, &self.running, &mut self.buffer);
        for process in self.processes.extract_if(.., |process| process.is_finished()) {
            let trial = process.trial();
            process.finish(buffer, outbox, || {
                running.lock().remove(&trial);
            });
        }
    }
}

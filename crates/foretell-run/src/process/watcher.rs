//! One thread that watches the processes of all trials: it reads their output, and stops and reaps them.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender, SyncSender, TryRecvError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::Signal;

use crate::process::group::signal_process;
use crate::process::life::TrialProcess;
use crate::process::message::TrialMessage;
use crate::process::outbox::Outbox;
use crate::process::reading::ReportPace;
use crate::process::strays::nameless;
use crate::supervised::{catch_panic, may_panic, spawn_supervised};

/// The time between two looks after processes: how soon their end is seen, if nothing else happens.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// The time between two looks for processes that left their trial.
const STRAY_POLL_INTERVAL: Duration = Duration::from_millis(100);
/// The time after which a full channel is tried again.
const RETRY_INTERVAL: Duration = Duration::from_millis(1);
/// After so many panics of its own the thread ends: a loop that dies at each turn watches nothing.
const MAX_PANICS: usize = 10;
/// The most buffers read from a followed file at a time.
const FOLLOWED_BUFFERS: usize = 16;
/// The number of bytes read from one trial before the next one has its turn.
const READ_BYTES: usize = 64 * 1024;

enum WatcherCommand {
    Watch(Box<TrialProcess>, StartingGuard),
    Stop(u64),
}

/// The numbers of the trials that are watched.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunningTrials {
    trials: Arc<Mutex<BTreeSet<u64>>>,
    /// The number being started: their processes may be there, and are not watched yet.
    starting: Arc<Mutex<usize>>,
}

/// A trial that is being started, from before there is a process until it is watched.
pub(crate) struct StartingGuard(Arc<Mutex<usize>>);

impl Drop for StartingGuard {
    fn drop(&mut self) {
        *lock_unpoisoned(&self.0) -= 1;
    }
}

impl RunningTrials {
    pub(crate) fn lock_trials(&self) -> MutexGuard<'_, BTreeSet<u64>> {
        lock_unpoisoned(&self.trials)
    }

    /// Counts one that is being started, once nobody looks for strays.
    pub(crate) fn count_starting(&self) -> StartingGuard {
        *lock_unpoisoned(&self.starting) += 1;
        StartingGuard(Arc::clone(&self.starting))
    }
}

fn lock_unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The thread's handle. Dropping it stops all trials and waits until they are gone.
#[derive(Debug)]
pub(crate) struct Watcher {
    /// `None` only while it is dropped.
    commands: Option<Sender<WatcherCommand>>,
    /// A byte here ends the thread's wait for output: otherwise a stop would wait for the next look, twice, and a fast trial train on.
    waker: UnixStream,
    thread: Option<JoinHandle<Option<()>>>,
}

impl Watcher {
    /// Starts the thread; it takes ended trials out of `running`.
    pub(crate) fn start(messages: SyncSender<TrialMessage>, running: RunningTrials) -> io::Result<Self> {
        let (sender, commands) = channel();
        let (waker, wakes) = UnixStream::pair()?;
        waker.set_nonblocking(true)?;
        wakes.set_nonblocking(true)?;
        let state = WatchLoop {
            commands,
            wakes,
            running,
            outbox: Outbox::new(messages),
            processes: Vec::new(),
            buffer: vec![0; READ_BYTES],
            turn: 0,
            next_look: Instant::now(),
            next_strays: Instant::now(),
            pace: ReportPace::default(),
        };
        // a loop that dies takes the messages' sender with it: whoever waits for them sees that
        let thread = spawn_supervised("trials", move || state.run(), |_| ())?;
        Ok(Self { commands: Some(sender), waker, thread: Some(thread) })
    }

    /// Watches `process` from now on; kills it and answers `false` if the thread has ended.
    pub(crate) fn watch_process(&self, process: TrialProcess, starting: StartingGuard) -> bool {
        match self.send_command(WatcherCommand::Watch(Box::new(process), starting)) {
            Err(WatcherCommand::Watch(mut process, _)) => {
                process.kill();
                false
            }
            _ => true,
        }
    }

    /// Stops a trial; a number that is not watched is passed over.
    pub(crate) fn stop(&self, trial: u64) -> bool {
        self.send_command(WatcherCommand::Stop(trial)).is_ok()
    }

    fn send_command(&self, command: WatcherCommand) -> Result<(), WatcherCommand> {
        match &self.commands {
            Some(commands) => commands.send(command).map_err(|unsent| unsent.0)?,
            None => return Err(command),
        }
        // if there is no room for it, the thread has bytes enough to wake up
        let _ = (&self.waker).write(&[0]);
        Ok(())
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.commands = None;
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// The state that the thread works on.
struct WatchLoop {
    commands: Receiver<WatcherCommand>,
    /// The other end of the handle's waker.
    wakes: UnixStream,
    running: RunningTrials,
    outbox: Outbox,
    processes: Vec<TrialProcess>,
    buffer: Vec<u8>,
    /// Whose output is read first: each in turn, so that no trial waits for another that prints without end.
    turn: usize,
    next_look: Instant,
    next_strays: Instant,
    pace: ReportPace,
}

impl WatchLoop {
    fn run(mut self) {
        for _ in 0..MAX_PANICS {
            let Err(why) = catch_panic(|| while self.run_turn() {}) else { return };
            self.processes.iter_mut().for_each(|process| process.give_up(&why));
        }
        // it dies at each turn: trials that are started from here on are refused
        let _ = catch_panic(|| self.finish_ended_trials());
    }

    /// Looks after all trials once; `false` once there is nothing more to do.
    fn run_turn(&mut self) -> bool {
        if !self.take_commands() {
            return false;
        }
        may_panic("trials");
        self.outbox.flush();
        if self.outbox.is_full() {
            // The consumer lags behind: trials wait in their next print. Stopping them continues.
            thread::sleep(RETRY_INTERVAL);
        } else {
            self.read_output();
        }
        self.look_after_trials();
        self.finish_ended_trials();
        true
    }

    /// Carries out all commands there are, and waits for one if there is nothing else to do. Answers `false` once there
    /// will be no more commands and nothing is left to watch.
    fn take_commands(&mut self) -> bool {
        // before the commands are looked at, so that none is left behind without a byte
        while (&self.wakes).read(&mut [0; 64]).is_ok_and(|count| count > 0) {}
        loop {
            let is_idle = self.processes.is_empty() && !self.outbox.is_full();
            let command = match self.commands.try_recv() {
                Err(TryRecvError::Empty) if is_idle => self.commands.recv().ok(),
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => None,
                Ok(command) => Some(command),
            };
            match command {
                Some(WatcherCommand::Watch(process, starting)) => {
                    self.processes.push(*process);
                    // only now: before it is watched, a look for strays would take it for one
                    drop(starting);
                }
                Some(WatcherCommand::Stop(trial)) => {
                    self.processes.iter_mut().filter(|it| it.trial() == trial).for_each(TrialProcess::stop);
                    // the signal goes out in this turn, because a fast trial would train on until the next look
                    self.next_look = Instant::now();
                }
                None => {
                    self.processes.iter_mut().for_each(TrialProcess::stop);
                    return !is_idle;
                }
            }
        }
    }

    /// Waits for output, at most until the next look, and reads what each trial with some has printed once.
    fn read_output(&mut self) {
        let mut polled = self.poll_output();
        self.turn += 1;
        let first = self.turn.checked_rem(polled.len()).unwrap_or(0);
        polled.rotate_left(first);
        for (process, is_ready) in polled {
            let process = &mut self.processes[process];
            if is_ready && !self.outbox.is_full() {
                process.run_guarded(|process| process.read_output(&mut self.buffer, &mut self.outbox));
            } else if !is_ready {
                process.note_no_output();
            }
        }
    }

    /// The processes that may print more, by number, and whether there is something to read, the end included.
    fn poll_output(&self) -> Vec<(usize, bool)> {
        let open =
            self.processes.iter().enumerate().filter_map(|(number, it)| Some((number, it.open_stream()?)));
        let (numbers, mut fds): (Vec<_>, Vec<_>) =
            open.map(|(number, fd)| (number, PollFd::new(fd, PollFlags::POLLIN))).unzip();
        fds.push(PollFd::new(self.wakes.as_fd(), PollFlags::POLLIN));
        let is_urgent = self.processes.iter().any(TrialProcess::is_gone);
        let now = Instant::now();
        let is_soon = self.processes.iter().any(|process| process.is_ending(now));
        // A stop brings the next look forward, so the wait ends with it: its byte was read with the command, and wakes no poll. Never 0,
        // because a look that a starting process puts off would spin.
        let until_look = self.next_look.saturating_duration_since(now).min(POLL_INTERVAL - RETRY_INTERVAL)
            + RETRY_INTERVAL;
        let wait = match (is_urgent, is_soon) {
            (true, _) => Duration::ZERO,
            // a process ends soon after its output, and the next trial would wait for a whole interval
            (_, true) => RETRY_INTERVAL,
            _ => until_look,
        };
        let wait = PollTimeout::try_from(wait).unwrap_or(PollTimeout::ZERO);
        if poll(&mut fds, wait).is_err() {
            // Interrupted, or out of memory: the next round tries again.
            thread::sleep(RETRY_INTERVAL);
            return Vec::new();
        }
        let ready = fds.iter().map(|fd| fd.any().unwrap_or(true));
        numbers.into_iter().zip(ready).collect()
    }

    fn look_after_trials(&mut self) {
        let now = Instant::now();
        let is_soon = self.processes.iter().any(|process| process.is_ending(now));
        if now < self.next_look && !is_soon {
            return;
        }
        if self.processes.iter_mut().any(TrialProcess::has_ended) || now >= self.next_strays {
            let starting = Arc::clone(&self.running.starting);
            let starting = lock_unpoisoned(&starting);
            if *starting > 0 {
                return; // a process that is not watched yet would be taken for a stray: the next round is soon
            }
            self.find_strays(); // nothing is started meanwhile
            self.next_strays = now + STRAY_POLL_INTERVAL;
        }
        let census = OnceCell::new();
        self.pace = self.processes.iter().fold(self.pace, |pace, process| process.merge_pace(pace));
        for process in &mut self.processes {
            let is_full = self.outbox.is_full();
            process.run_guarded(|process| {
                if !is_full {
                    process.read_followed(FOLLOWED_BUFFERS, false, &mut self.buffer, &mut self.outbox);
                }
                process.look_after(now, self.pace, &census, &mut self.outbox);
            });
        }
        self.next_look = now + POLL_INTERVAL;
    }

    /// Finds nameless strays. Each belongs to one of the trials that ran when it started, and ends with the last of them.
    fn find_strays(&mut self) {
        let leaders = self.processes.iter().map(TrialProcess::leader_pid).collect();
        for stray in nameless(&leaders) {
            let elders = self
                .processes
                .iter_mut()
                .filter_map(|process| process.may_have_started(stray).then_some(process));
            let elders: Vec<&mut TrialProcess> = elders.collect();
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

    /// Takes the processes out that have ended and are read to the end, and those that were given up.
    fn finish_ended_trials(&mut self) {
        let (outbox, running, buffer) = (&mut self.outbox, &self.running, &mut self.buffer);
        for mut process in self.processes.extract_if(.., |process| process.is_finished()) {
            process.run_guarded(|process| process.hand_over_last(buffer, outbox));
            let trial = process.trial();
            process.finish(outbox, || {
                running.lock_trials().remove(&trial);
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::process::executor::LocalProcesses;
    use crate::process::message::{MessageKind, TrialMessage};
    use crate::process::trial::{TrialSpec, WatchSettings};
    use crate::process::watcher::POLL_INTERVAL;
    use crate::supervised::faults::arm;
    use foretell_logs::printed::MetricSource;
    use std::collections::BTreeMap;
    use std::path::Path;
    use std::time::{Duration, Instant};

    fn spec(folder: &Path, trial: u64, script: &str) -> TrialSpec {
        let directory = folder.join(format!("trial-{trial}"));
        TrialSpec {
            trial,
            command: ["sh", "-c", script].map(String::from).to_vec(),
            parameters: serde_json::Map::new(),
            seed: 7,
            max_resource: 30,
            until: 30,
            checkpoint_dir: directory.join("checkpoints"),
            directory,
            resume_from: None,
            resumed_at: 0,
            working_dir: None,
            environment: BTreeMap::new(),
            metric: MetricSource::parse("acc").expect("a name"),
            watch: WatchSettings::default(),
        }
    }

    /// How each of `trials` trials ends: the values it reported, and why it was ended.
    fn ends(executor: &LocalProcesses, trials: usize) -> BTreeMap<u64, (usize, Option<String>)> {
        let (mut ends, mut values) = (BTreeMap::new(), BTreeMap::<u64, usize>::new());
        while ends.len() < trials {
            let TrialMessage { trial, kind } =
                executor.messages().recv_timeout(Duration::from_secs(60)).expect("each trial ends");
            match kind {
                MessageKind::Report(_) => *values.entry(trial).or_default() += 1,
                MessageKind::Settled(reports) => {
                    *values.entry(trial).or_default() += reports.len();
                }
                MessageKind::Ended { fault, .. } => {
                    drop(ends.insert(trial, (values.remove(&trial).unwrap_or(0), fault)))
                }
                _ => {}
            }
        }
        ends
    }

    #[test]
    fn a_stop_does_not_wait_for_the_next_look() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut executor = LocalProcesses::default();
        // on a busy machine most take longer, so the shortest of ten counts
        let shortest = (0..10).map(|trial| {
            executor.start(&spec(folder.path(), trial, "exec sleep 60")).expect("it starts");
            std::thread::sleep(Duration::from_millis(60));
            let asked = Instant::now();
            executor.stop(trial);
            assert_eq!(ends(&executor, 1)[&trial], (0, None));
            asked.elapsed()
        });
        let shortest = shortest.min().expect("ten trials");
        assert!(shortest < POLL_INTERVAL, "{shortest:?}");
    }

    const SCRIPT: &str = "for e in 1 2 3 4 5 6; do echo epoch $e acc 0.$e; sleep 0.05; done";

    #[test]
    fn a_panic_about_one_trial_fails_that_one_alone_and_says_why() {
        for place in ["read", "follow", "look", "last"] {
            let folder = tempfile::tempdir().expect("a folder");
            arm(place, 0);
            let mut executor = LocalProcesses::default();
            for trial in 0..3 {
                executor.start(&spec(folder.path(), trial, SCRIPT)).expect("it starts");
            }
            let ends = ends(&executor, 3);
            let failed: Vec<&String> = ends.values().filter_map(|(_, fault)| fault.as_ref()).collect();
            assert_eq!(failed.len(), 1, "{place}: {ends:?}");
            assert!(failed[0].contains(&format!("an injected panic in {place}")), "{place}: {failed:?}");
            let whole = ends.values().filter(|end| **end == (6, None)).count();
            assert_eq!(whole, 2, "{place}: {ends:?}");
            assert!(executor.running_trials().is_empty());
        }
    }

    #[test]
    fn a_panic_of_the_loop_fails_what_runs_and_later_trials_are_watched() {
        let folder = tempfile::tempdir().expect("a folder");
        arm("trials", 3);
        let mut executor = LocalProcesses::default();
        for trial in 0..2 {
            executor.start(&spec(folder.path(), trial, "sleep 60")).expect("it starts");
        }
        let first = ends(&executor, 2);
        let is_said = |(_, fault): &(usize, Option<String>)| {
            fault.as_ref().is_some_and(|fault| fault.contains("an injected panic in trials"))
        };
        assert!(first.values().any(is_said), "{first:?}");
        executor.start(&spec(folder.path(), 2, SCRIPT)).expect("it starts");
        assert_eq!(ends(&executor, 1)[&2], (6, None));
    }
}

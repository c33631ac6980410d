//! The life of one trial's process: started, read, if need be stopped, reaped, and nothing of it left.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::Signal;

use crate::executor::{Message, MessageKind, Status};
use crate::group::{is_empty, signal_group};
use crate::leftover::forget;
use crate::output::{Line, LineSplitter, OutputLog, Tail, shown};
use crate::protocol::ReportReader;

/// How often a process is looked after.
const POLL: Duration = Duration::from_millis(20);
/// How long a reader waits for output before it asks whether anybody is left to write some.
const READ_POLL_MILLISECONDS: u8 = 100;
/// How long orphans of an ended trial may take to vanish once killed, before they are left to the operating system.
const VANISH: Duration = Duration::from_secs(10);
/// So many lines without a report are worth a word: perhaps the metric is looked for in the wrong way.
const SILENT_LINES: usize = 100;
/// The most that a pipe can hold (Linux: `pipe-max-size`): what a process wrote before its end is within this.
const PIPE_BYTES: usize = 1024 * 1024;

/// Asks a trial's process to stop.
pub(crate) struct Stop;

/// What a trial's output goes through; the readers of both pipes share it, so that reports stay in order.
pub(crate) struct Output {
    trial: u64,
    reports: ReportReader,
    log: OutputLog,
    tail: Tail,
    messages: SyncSender<Message>,
    /// Lines so far, as long as none was a report.
    silent: Option<usize>,
}

impl Output {
    pub(crate) fn new(
        trial: u64,
        reports: ReportReader,
        log: OutputLog,
        messages: SyncSender<Message>,
    ) -> Self {
        Self { trial, reports, log, tail: Tail::default(), messages, silent: Some(0) }
    }

    /// Keeps a line, and hands its reports over. Waits while the channel is full: reports are never lost.
    fn take(&mut self, line: Line<'_>, is_report: bool) {
        self.tail.push(line.bytes);
        if is_report && !line.cut {
            self.take_reports(line);
        }
        if let Some(lines) = &mut self.silent {
            *lines += 1;
            if *lines == SILENT_LINES {
                self.send(MessageKind::Silent { lines: SILENT_LINES, line: shown(line.bytes) });
            }
        }
    }

    fn take_reports(&mut self, line: Line<'_>) {
        for report in self.reports.read(line.bytes) {
            let kind = match report {
                Ok(report) => {
                    self.silent = None;
                    MessageKind::Report(report)
                }
                Err(problem) => MessageKind::Unusable { line: shown(line.bytes), problem },
            };
            self.send(kind);
        }
    }

    fn send(&self, kind: MessageKind) {
        // Nobody receives any more when the executor is being dropped, which ends the trial.
        let _ = self.messages.send(Message { trial: self.trial, kind });
    }
}

/// One of a trial's two pipes, read by its own thread.
struct Reader {
    thread: JoinHandle<Vec<u8>>,
    is_stdout: bool,
}

/// Starts the reader of a pipe; it ends at the pipe's end, or when `gone` is set and the pipe is empty.
fn read_in_thread<P>(
    pipe: Option<P>,
    is_stdout: bool,
    output: &Arc<Mutex<Output>>,
    gone: &Arc<AtomicBool>,
) -> io::Result<Reader>
where
    P: Read + AsFd + Send + 'static,
{
    let pipe = pipe.ok_or(io::ErrorKind::BrokenPipe)?;
    let (output, gone) = (output.clone(), gone.clone());
    let read = move || read_all(pipe, is_stdout, &output, &gone);
    let thread = thread::Builder::new().name("trial-output".to_owned()).spawn(read)?;
    Ok(Reader { thread, is_stdout })
}

/// Reads all of a pipe; answers what stands after the last line's end.
fn read_all<P: Read + AsFd>(
    mut pipe: P,
    is_stdout: bool,
    output: &Mutex<Output>,
    gone: &AtomicBool,
) -> Vec<u8> {
    let mut splitter = LineSplitter::default();
    let mut buffer = vec![0; 64 * 1024];
    let mut read_since_gone = 0;
    while read_since_gone <= PIPE_BYTES {
        let was_gone = gone.load(Ordering::Acquire);
        if !is_ready(&pipe) {
            if was_gone {
                break; // a process that left the group holds the pipe open; what the group wrote is read
            }
            continue;
        }
        match pipe.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => {
                take_all(&mut splitter, &buffer[..count], is_stdout, &mut lock(output));
                read_since_gone += if was_gone { count } else { 0 };
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    splitter.rest()
}

/// Whether the pipe has something to read, its end included.
fn is_ready<P: AsFd>(pipe: &P) -> bool {
    let mut pipes = [PollFd::new(pipe.as_fd(), PollFlags::POLLIN)];
    !matches!(poll(&mut pipes, PollTimeout::from(READ_POLL_MILLISECONDS)), Ok(0) | Err(Errno::EINTR))
}

fn take_all(splitter: &mut LineSplitter, bytes: &[u8], is_stdout: bool, output: &mut Output) {
    let is_report = is_stdout || output.reports.reads_stderr();
    let mut copy = Vec::with_capacity(bytes.len() + 1);
    splitter.push(bytes, |line| {
        copy.extend_from_slice(line.bytes);
        copy.push(b'\n');
        output.take(line, is_report);
    });
    output.log.write(&copy);
}

/// A started trial, and all that is needed to see it through.
pub(crate) struct Process {
    child: Child,
    directory: PathBuf,
    readers: Vec<Reader>,
    output: Arc<Mutex<Output>>,
    gone: Arc<AtomicBool>,
    stops: Receiver<Stop>,
    grace: Duration,
}

impl Process {
    /// Takes over a child that leads its process group, and starts to read what it prints.
    ///
    /// # Errors
    /// When a thread cannot be started; the child is killed then.
    pub(crate) fn attach(
        mut child: Child,
        directory: PathBuf,
        output: Output,
        stops: Receiver<Stop>,
        grace: Duration,
    ) -> io::Result<Self> {
        let output = Arc::new(Mutex::new(output));
        let gone = Arc::new(AtomicBool::new(false));
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let readers = read_in_thread(stdout, true, &output, &gone)
            .and_then(|reader| Ok(vec![reader, read_in_thread(stderr, false, &output, &gone)?]));
        match readers {
            Ok(readers) => Ok(Self { child, directory, readers, output, gone, stops, grace }),
            Err(error) => {
                signal_group(child.id(), Signal::SIGKILL);
                child.wait()?;
                Err(error)
            }
        }
    }

    /// Sees the process to its end, then `forgotten`, then the `Ended` message, which is its last.
    pub(crate) fn supervise(mut self, forgotten: impl FnOnce()) {
        let stopped_by_us = self.wait_for_group();
        let status = status(self.child.wait());
        self.gone.store(true, Ordering::Release);
        for reader in self.readers {
            let rest = reader.thread.join().unwrap_or_default();
            take_rest(&mut lock(&self.output), &rest, reader.is_stdout, status);
        }
        forget(&self.directory);
        forgotten();
        let mut output = lock(&self.output);
        let tail = std::mem::take(&mut output.tail).into_lines();
        output.send(MessageKind::Ended { status, stopped_by_us, tail });
    }

    /// Returns once the trial's process has ended and its group is empty; says whether it was stopped.
    ///
    /// The process is not reaped before: until then its id, which is the group's, belongs to nobody else, so that no
    /// signal can hit a stranger. Orphans of a trial that ended by itself are stopped, too.
    fn wait_for_group(&mut self) -> bool {
        let leader = self.child.id();
        let (mut stopped_by_us, mut kill_at) = (false, None);
        loop {
            let stop = self.wait_for_stop();
            let ended = has_ended(&mut self.child);
            if ended && is_empty(leader) {
                return stopped_by_us;
            }
            stopped_by_us |= stop && !ended;
            match kill_at {
                None if stop || ended => {
                    signal_group(leader, Signal::SIGTERM);
                    kill_at = Some(Instant::now() + self.grace);
                }
                Some(at) if ended && Instant::now() >= at + VANISH => return stopped_by_us,
                Some(at) if Instant::now() >= at => signal_group(leader, Signal::SIGKILL),
                _ => {}
            }
        }
    }

    /// Waits for a moment; says whether the trial shall stop.
    fn wait_for_stop(&self) -> bool {
        match self.stops.recv_timeout(POLL) {
            Ok(Stop) => true,
            Err(RecvTimeoutError::Timeout) => false,
            Err(RecvTimeoutError::Disconnected) => {
                thread::sleep(POLL);
                true
            }
        }
    }
}

/// What stands after the last newline: a report if the process ended by itself; if a signal cut its writing short,
/// only a JSON report is surely whole.
fn take_rest(output: &mut Output, rest: &[u8], is_stdout: bool, status: Status) {
    if rest.is_empty() {
        return;
    }
    output.log.write(&[rest, b"\n"].concat());
    let whole = matches!(status, Status::Exited(_)) && (is_stdout || output.reports.reads_stderr());
    let closed = rest.trim_ascii_end().ends_with(b"}") && !output.reports.reads_stderr() && is_stdout;
    output.take(Line { bytes: rest, cut: false }, whole || closed);
}

/// Whether the process has ended; it is not reaped by asking.
#[cfg(target_os = "linux")]
fn has_ended(child: &mut Child) -> bool {
    use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
    let Ok(pid) = i32::try_from(child.id()) else { return false };
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    !matches!(
        waitid(Id::Pid(nix::unistd::Pid::from_raw(pid)), flags),
        Ok(WaitStatus::StillAlive) | Err(Errno::EINTR)
    )
}

/// Whether the process has ended; here asking reaps it, which leaves its id free for a moment while its group is ended.
#[cfg(not(target_os = "linux"))]
fn has_ended(child: &mut Child) -> bool {
    !matches!(child.try_wait(), Ok(None))
}

fn status(waited: io::Result<ExitStatus>) -> Status {
    match waited.map(|status| (status.code(), status.signal())) {
        Ok((Some(code), _)) => Status::Exited(code),
        Ok((None, Some(signal))) => Status::Signalled(signal),
        // Somebody else reaped our child (SIGCHLD ignored): it is gone, how is not known.
        Ok((None, None)) | Err(_) => Status::Unknown,
    }
}

fn lock(output: &Mutex<Output>) -> MutexGuard<'_, Output> {
    output.lock().unwrap_or_else(PoisonError::into_inner)
}

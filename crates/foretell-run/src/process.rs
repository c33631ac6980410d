//! The life of one trial's process: read, if need be stopped, reaped, and nothing of it left. It never waits.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use crate::abandoned::{bears, forget};
use crate::followed::Followed;
use crate::group::{Census, reap, signal_group, signal_process};
use crate::message::{Message, MessageKind, Status};
use crate::outbox::Outbox;
use crate::output::{Line, LineSplitter, OutputLog, Tail, shown};
use crate::reader::{ReportReader, Seen};
use crate::report::ReportProblem;
use crate::trial::Watch;

/// How long orphans of an ended trial may take to vanish once killed, before they are left to the operating system.
const VANISH: Duration = Duration::from_secs(10);
/// So long after its output a process is expected to end.
const ENDING: Duration = Duration::from_millis(100);
/// So many lines without a report are worth a word: perhaps the metric is looked for in the wrong way.
const SILENT_LINES: usize = 100;
/// A shorter silence is no stall.
const SHORTEST_STALL: Duration = Duration::from_secs(1);
/// The most that a pipe can hold (Linux: `pipe-max-size`): what a process wrote before its end is within this.
const PIPE_BYTES: usize = 1024 * 1024;

/// What a trial's output goes through; both pipes share it, so that reports stay in order.
pub(crate) struct Output {
    trial: u64,
    reports: ReportReader,
    log: OutputLog,
    tail: Tail,
    /// Lines so far, as long as none was a report.
    silent: Option<usize>,
    /// After how many epochs that it named without a report this is said.
    missed_after: u64,
    long_line_said: bool,
    /// When it reported first and last, and how often.
    heard: Option<(Instant, Instant, u32)>,
}

impl Output {
    /// Output of trial `trial`, whose metric should have come before `missed_after` epochs.
    pub(crate) fn new(trial: u64, reports: ReportReader, log: OutputLog, missed_after: u64) -> Self {
        Self {
            trial,
            reports,
            log,
            tail: Tail::default(),
            silent: Some(0),
            missed_after,
            long_line_said: false,
            heard: None,
        }
    }

    /// Keeps a line, and hands its reports over.
    fn take(&mut self, line: Line<'_>, is_report: bool, outbox: &mut Outbox) {
        if !line.bytes.is_empty() {
            self.tail.push(line.bytes);
        }
        if is_report && !line.cut {
            self.take_reports(line, outbox);
        } else if is_report && line.cut && !std::mem::replace(&mut self.long_line_said, true) {
            let kind = MessageKind::Unusable { line: shown(line.bytes), problem: ReportProblem::Long };
            self.send(kind, outbox);
        }
        if let Some(lines) = &mut self.silent {
            *lines += 1;
            if *lines == SILENT_LINES {
                let kind = MessageKind::Silent { lines: SILENT_LINES, line: shown(line.bytes) };
                self.send(kind, outbox);
            }
        }
    }

    /// How long it has been silent, if that is more than so many `times` its mean interval, and more than a second.
    fn stalled(&self, times: f64, now: Instant) -> Option<Duration> {
        let (first, last, reports) = self.heard.filter(|(.., reports)| *reports >= 2)?;
        let usual = (last - first) / (reports - 1);
        let silence = now.saturating_duration_since(last);
        (silence > usual.mul_f64(times).max(SHORTEST_STALL)).then_some(silence)
    }

    fn take_reports(&mut self, line: Line<'_>, outbox: &mut Outbox) {
        let read = if line.transient { ReportReader::read_transient } else { ReportReader::read };
        for report in read(&mut self.reports, line.bytes) {
            let kind = match report {
                Ok(report) => {
                    self.silent = None;
                    let now = Instant::now();
                    let (first, _, reports) = self.heard.unwrap_or((now, now, 0));
                    self.heard = Some((first, now, reports + 1));
                    MessageKind::Report(report)
                }
                Err(problem) => MessageKind::Unusable { line: shown(line.bytes), problem },
            };
            self.send(kind, outbox);
        }
        let misses = |seen: &&Seen| seen.epochs >= self.missed_after;
        if let Some(seen) = self.reports.seen().filter(misses) {
            let kind = MessageKind::Missed { epochs: seen.epochs, seen: seen.text() };
            self.missed_after = u64::MAX;
            self.send(kind, outbox);
        }
    }

    /// Takes all whole lines that `bytes` complete.
    fn take_bytes(&mut self, bytes: &[u8], pipe: &mut LineSplitter, is_stdout: bool, outbox: &mut Outbox) {
        let is_report = is_stdout || self.reports.reads_stderr();
        self.reports.turn_to(is_stdout);
        let mut copy = Vec::with_capacity(bytes.len() + 1);
        pipe.push(bytes, |line| {
            copy.extend_from_slice(line.bytes);
            copy.push(b'\n');
            self.take(line, is_report, outbox);
        });
        self.log.write(&copy);
    }

    /// What stands after the last newline: a report if the process ended by itself; if a signal cut its writing short,
    /// only a JSON report is surely whole.
    fn take_rest(&mut self, rest: &[u8], is_stdout: bool, status: Status, outbox: &mut Outbox) {
        if rest.is_empty() {
            return;
        }
        self.log.write(&[rest, b"\n"].concat());
        let whole = matches!(status, Status::Exited(_)) && (is_stdout || self.reports.reads_stderr());
        let closed = rest.trim_ascii_end().ends_with(b"}") && !self.reports.reads_stderr() && is_stdout;
        self.reports.turn_to(is_stdout);
        self.take(Line { bytes: rest, cut: false, transient: false }, whole || closed, outbox);
    }

    fn send(&self, kind: MessageKind, outbox: &mut Outbox) {
        outbox.send(Message { trial: self.trial, kind });
    }
}

/// One of a trial's two pipes.
struct Pipe {
    /// `None` once all of it is read.
    file: Option<File>,
    is_stdout: bool,
    lines: LineSplitter,
    /// How much was read since nothing of the trial runs any more.
    read_since_gone: usize,
}

impl Pipe {
    fn new(file: Option<OwnedFd>, is_stdout: bool) -> Self {
        Self { file: file.map(File::from), is_stdout, lines: LineSplitter::default(), read_since_gone: 0 }
    }
}

/// A started trial, and all that is needed to see it through.
pub(crate) struct Process {
    child: Child,
    /// What its environment, and that of all it starts, holds; empty if it is not known.
    token: String,
    directory: PathBuf,
    pipes: [Pipe; 2],
    output: Output,
    grace: Duration,
    /// Whether it shall stop.
    stop: bool,
    stopped_by_us: bool,
    /// When SIGKILL follows the SIGTERM that was sent.
    kill_at: Option<Instant>,
    /// Whether its process has ended, its group is empty, and nothing else of it is left.
    gone: bool,
    /// When the last of its pipes ended.
    closed: Option<Instant>,
    /// Processes of it that were found outside its group.
    strays_seen: BTreeSet<u32>,
    watch: Watch,
    followed: Option<Followed>,
    begun: Instant,
    /// Why it was ended for its own part: it took too long, or nothing was heard of it.
    fault: Option<String>,
}

impl Process {
    /// Takes over a child that leads its process group.
    pub(crate) fn new(mut child: Child, directory: PathBuf, output: Output, grace: Duration) -> Self {
        let stdout = Pipe::new(child.stdout.take().map(OwnedFd::from), true);
        let stderr = Pipe::new(child.stderr.take().map(OwnedFd::from), false);
        let pipes = [stdout, stderr];
        Self {
            child,
            token: String::new(),
            directory,
            pipes,
            output,
            grace,
            stop: false,
            stopped_by_us: false,
            kill_at: None,
            gone: false,
            closed: None,
            strays_seen: BTreeSet::new(),
            watch: Watch::default(),
            followed: None,
            begun: Instant::now(),
            fault: None,
        }
    }

    /// The same, with `watch` kept and the file at `path` followed.
    pub(crate) fn watched(mut self, watch: Watch, path: Option<PathBuf>) -> Self {
        self.followed = path.map(Followed::new);
        if let Some(header) = self.followed.as_ref().and_then(Followed::header) {
            let _ = self.output.reports.read(&header); // it was written before: no report
        }
        self.watch = watch;
        self
    }

    /// The same, known by `token` in its environment: processes that left its group are found by it.
    pub(crate) fn bearing(self, token: String) -> Self {
        Self { token, ..self }
    }

    /// What runs of it outside its group, adopted by this process when their parents ended: see
    /// [`adopt_orphans`](crate::adopt_orphans).
    fn strays(&self, census: &Census) -> Vec<u32> {
        let leader = self.child.id();
        let adopted = census.children_beside(leader).filter(|&pid| bears(pid, &self.token));
        adopted.flat_map(|pid| census.tree(pid)).collect()
    }

    /// Reads the file that it appends its metrics to.
    pub(crate) fn read_followed(&mut self, buffer: &mut [u8], outbox: &mut Outbox) {
        let Some(followed) = &mut self.followed else { return };
        loop {
            let count = followed.read(buffer);
            if count == 0 {
                return;
            }
            self.output.take_bytes(&buffer[..count], &mut followed.lines, true, outbox);
        }
    }

    /// Notes that it takes too long, or that nothing is heard of it, and asks for its end.
    fn check_limits(&mut self, now: Instant) {
        if self.stop || self.fault.is_some() {
            return;
        }
        let over = self.watch.timeout.filter(|&timeout| now >= self.begun + timeout);
        let stalled = self.watch.stall.and_then(|times| self.output.stalled(times, now));
        self.fault = match (over, stalled) {
            (Some(timeout), _) => {
                Some(format!("it ran for longer than --trial-timeout {} s", timeout.as_secs_f64()))
            }
            (None, Some(silence)) => Some(format!(
                "it has reported nothing for {:.0} s, --stall times its usual interval",
                silence.as_secs_f64()
            )),
            (None, None) => None,
        };
        self.stop |= self.fault.is_some();
    }

    /// The trial's number.
    pub(crate) fn trial(&self) -> u64 {
        self.output.trial
    }

    /// Asks for its end; [`look_after`](Self::look_after) sees to it.
    pub(crate) fn stop(&mut self) {
        self.stop = true;
    }

    /// Kills it at once, where nobody can watch it.
    pub(crate) fn kill(mut self) {
        signal_group(self.child.id(), Signal::SIGKILL);
        let _ = self.child.wait();
    }

    /// Its pipes that may have more to read, by number.
    pub(crate) fn open_pipes(&self) -> impl Iterator<Item = (usize, BorrowedFd<'_>)> {
        self.pipes.iter().enumerate().filter_map(|(pipe, it)| Some((pipe, it.file.as_ref()?.as_fd())))
    }

    /// Reads a pipe that has something to read, its end included; at most one `buffer`.
    pub(crate) fn read(&mut self, pipe: usize, buffer: &mut [u8], outbox: &mut Outbox) {
        let Pipe { file, is_stdout, lines, read_since_gone } = &mut self.pipes[pipe];
        let Some(open) = file else { return };
        match open.read(buffer) {
            Ok(count) if count > 0 => {
                self.output.take_bytes(&buffer[..count], lines, *is_stdout, outbox);
                *read_since_gone += if self.gone { count } else { 0 };
                if *read_since_gone > PIPE_BYTES {
                    *file = None; // a process that left the group goes on printing
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(_) | Err(_) => *file = None,
        }
        if self.open_pipes().next().is_none() {
            self.closed.get_or_insert_with(Instant::now);
        }
    }

    /// Notes that a pipe has nothing to read: once the trial is gone, that is its end. A process that left the group may
    /// hold the pipe open, but what the group wrote is read.
    pub(crate) fn found_empty(&mut self, pipe: usize) {
        if self.gone {
            self.pipes[pipe].file = None;
        }
    }

    /// Whether nothing of it runs any more.
    pub(crate) fn is_gone(&self) -> bool {
        self.gone
    }

    /// Whether its output ended a moment ago: then its process ends soon, and a look is worth while.
    pub(crate) fn is_ending(&self, now: Instant) -> bool {
        !self.gone && self.closed.is_some_and(|closed| now < closed + ENDING)
    }

    /// Whether nothing of it runs any more, and all that it printed was read.
    pub(crate) fn is_finished(&self) -> bool {
        self.gone && self.pipes.iter().all(|pipe| pipe.file.is_none())
    }

    /// Looks whether it has ended, and sends the signal that is due. The `census` is taken at most once, and only if the
    /// process has ended.
    ///
    /// The process is not reaped before its group is empty: until then its id, which is the group's, belongs to nobody
    /// else, so that no signal can hit a stranger. Orphans of a trial that ended by itself are stopped, too.
    pub(crate) fn look_after(&mut self, now: Instant, census: &OnceCell<Census>) {
        self.check_limits(now);
        if self.gone {
            return;
        }
        let leader = self.child.id();
        let ended = has_ended(&self.child);
        let mut strays = Vec::new();
        if ended {
            let census = census.get_or_init(Census::take);
            census.ended_orphans(leader).for_each(reap);
            strays = self.strays(census);
            self.strays_seen.extend(&strays);
            self.gone = !census.lives(leader) && strays.is_empty();
        }
        if self.gone {
            self.strays_seen.iter().copied().for_each(reap);
            return;
        }
        let signal_all = |signal| {
            signal_group(leader, signal);
            strays.iter().for_each(|&pid| signal_process(pid, signal));
        };
        self.stopped_by_us |= self.stop && !ended;
        match self.kill_at {
            None if self.stop || ended => {
                signal_all(Signal::SIGTERM);
                self.kill_at = Some(now + self.grace);
            }
            Some(at) if ended && now >= at + VANISH => self.gone = true,
            Some(at) if now >= at => signal_all(Signal::SIGKILL),
            _ => {}
        }
    }

    /// Reaps the finished process, hands over what it printed last, then its `Ended` message. `forgotten` is called just
    /// before that message.
    pub(crate) fn finish(mut self, buffer: &mut [u8], outbox: &mut Outbox, forgotten: impl FnOnce()) {
        let status = status(self.child.wait());
        self.read_followed(buffer, outbox);
        for Pipe { lines, is_stdout, .. } in self.pipes {
            self.output.take_rest(&lines.rest(), is_stdout, status, outbox);
        }
        if let Some(report) = self.output.reports.flush() {
            self.output.send(MessageKind::Report(report), outbox);
        }
        let seen = self.output.reports.seen().map(Seen::text).unwrap_or_default();
        forget(&self.directory);
        forgotten();
        let tail = std::mem::take(&mut self.output.tail).into_lines();
        let kind =
            MessageKind::Ended { status, stopped_by_us: self.stopped_by_us, tail, seen, fault: self.fault };
        self.output.send(kind, outbox);
    }
}

/// Whether the process has ended; it is not reaped by asking.
#[cfg(target_os = "linux")]
fn has_ended(child: &Child) -> bool {
    use nix::errno::Errno;
    use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
    let Ok(pid) = i32::try_from(child.id()) else { return false };
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    !matches!(
        waitid(Id::Pid(nix::unistd::Pid::from_raw(pid)), flags),
        Ok(WaitStatus::StillAlive) | Err(Errno::EINTR)
    )
}

/// Only Linux can tell this without reaping; on other systems no trial is ever started.
#[cfg(not(target_os = "linux"))]
fn has_ended(_: &Child) -> bool {
    false
}

fn status(waited: io::Result<ExitStatus>) -> Status {
    match waited.map(|status| (status.code(), status.signal())) {
        Ok((Some(code), _)) => Status::Exited(code),
        Ok((None, Some(signal))) => Status::Signalled(signal),
        // Somebody else reaped our child (SIGCHLD ignored): it is gone, how is not known.
        Ok((None, None)) | Err(_) => Status::Unknown,
    }
}

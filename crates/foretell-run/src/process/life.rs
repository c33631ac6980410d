//! The life of one trial's process: read, if need be stopped, reaped, and nothing of it left. It never waits.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, ExitStatus};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use crate::abandoned::{ProcessRecord, bears, forget};
use crate::control_group::ControlGroup;
use crate::followed::Followed;
use crate::group::{Census, ProcessIdentity, is_portable, reap, signal_group, signal_process};
use crate::message::{Message, MessageKind, Status};
use crate::outbox::Outbox;
use crate::output::{Line, LineSplitter, OutputLog, Tail, shown};
use crate::trial::Watch;
use foretell_logs::printed::{Chosen, Report, ReportProblem, ReportReader, Seen};

/// The time that orphans of an ended trial may take to vanish once killed, before they are left to the operating system.
const VANISH: Duration = Duration::from_secs(10);
/// So long after its output a process is expected to end.
const ENDING: Duration = Duration::from_millis(100);
/// A notice appears after this many lines without a report: the metric may be looked for in the wrong way.
const SILENT_LINES: usize = 100;
/// A shorter silence is no stall.
const SHORTEST_STALL: Duration = Duration::from_secs(1);
/// A notice appears after a silence of this many times the usual interval, if it is longer than [`SHORTEST_QUIET`].
const QUIET: u32 = 10;
const SHORTEST_QUIET: Duration = Duration::from_secs(60);
/// The interval that is assumed while no trial has shown any.
const UNKNOWN_INTERVAL: Duration = Duration::from_secs(600);
/// If the first read that brings reports brings at least this many, they may be all there are, written at the end.
const MANY: usize = 3;
/// The time that they are held back to see whether the end follows.
const HOLD: Duration = Duration::from_millis(100);
/// The most that a pipe can hold (Linux: `pipe-max-size`): what a process wrote before its end is within this.
const PIPE_BYTES: usize = 1024 * 1024;

/// The stages that a trial's output goes through; both pipes share it, so that reports stay in order.
pub(crate) struct Output {
    trial: u64,
    reports: ReportReader,
    /// The series that an earlier trial's output showed to be the metric.
    chosen: Arc<Mutex<Option<Chosen>>>,
    log: OutputLog,
    tail: Tail,
    /// Lines so far, as long as none was a report.
    silent: Option<usize>,
    /// After how many epochs that it named without a report this is said.
    missed_after: u64,
    long_line_said: bool,
    /// When something was read that held reports first and last, and how often.
    heard: Option<(Instant, Instant, u32)>,
    /// The messages about the bytes being read.
    batch: Vec<MessageKind>,
    /// Many reports that came at once, as the first ones, and when: the end may follow.
    held: Option<(Vec<MessageKind>, Instant)>,
    /// Whether the program is known to write each report at once.
    flushes: bool,
}

/// The longest time that the trials so far took to their first report, and from that to the second.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pace {
    first: Option<Duration>,
    second: Option<Duration>,
}

impl Output {
    /// Output of trial `trial`, whose metric should have come before `missed_after` epochs.
    pub(crate) fn new(trial: u64, reports: ReportReader, log: OutputLog, missed_after: u64) -> Self {
        Self {
            trial,
            reports,
            chosen: Arc::default(),
            log,
            tail: Tail::default(),
            silent: Some(0),
            missed_after,
            long_line_said: false,
            heard: None,
            batch: Vec::new(),
            held: None,
            flushes: false,
        }
    }

    /// The same, which reads the series that was `chosen` for other trials, and chooses one for them if none was.
    pub(crate) fn sharing(self, chosen: Arc<Mutex<Option<Chosen>>>) -> Self {
        Self { chosen, ..self }
    }

    /// Takes over what other trials have shown, or shows them what this one has.
    fn share_choice(&mut self) {
        let mut chosen = self.chosen.lock().unwrap_or_else(PoisonError::into_inner);
        match (chosen.as_ref(), self.reports.chosen()) {
            (Some(chosen), None) => self.reports.follow(chosen),
            (None, Some(own)) => {
                *chosen = Some(own.clone());
                let series = serde_json::to_string(own).unwrap_or_default();
                self.batch.push(MessageKind::Chosen { series });
            }
            _ => {}
        }
    }

    /// Keeps a line, and hands its reports over.
    fn take(&mut self, line: Line<'_>, is_report: bool) {
        if !line.bytes.is_empty() {
            self.tail.push(line.bytes);
        }
        if is_report && !line.cut {
            self.take_reports(line);
        } else if is_report && line.cut && !std::mem::replace(&mut self.long_line_said, true) {
            let kind = MessageKind::Unusable { line: shown(line.bytes), problem: ReportProblem::Long };
            self.batch.push(kind);
        }
        if let Some(lines) = &mut self.silent {
            *lines += 1;
            if *lines == SILENT_LINES {
                self.batch.push(MessageKind::Silent { lines: SILENT_LINES, line: shown(line.bytes) });
            }
        }
    }

    /// The time that it has been silent, and the usual interval, if one is known: its own, or where it has none the longest of other
    /// trials.
    fn silence(&self, begun: Instant, now: Instant, others: Pace) -> (Duration, Option<Duration>) {
        let (since, usual) = match self.heard {
            None => (begun, others.first),
            Some((first, _, 1)) => (first, others.second),
            Some((first, last, times)) => (last, Some((last - first) / (times - 1))),
        };
        (now.saturating_duration_since(since), usual)
    }

    fn take_reports(&mut self, line: Line<'_>) {
        let read = if line.transient { ReportReader::read_transient } else { ReportReader::read };
        for report in read(&mut self.reports, line.bytes) {
            self.batch.push(match report {
                Ok(report) => {
                    self.silent = None;
                    MessageKind::Report(report)
                }
                Err(problem) => MessageKind::Unusable { line: shown(line.bytes), problem },
            });
        }
        if self.reports.has_candidate() {
            self.silent = None;
        }
        let notes = self.reports.take_notes().into_iter();
        self.batch.extend(notes.map(|note| MessageKind::Noted { note }));
        let misses = |seen: &&Seen| seen.epochs >= self.missed_after;
        if let Some(seen) = self.reports.seen().filter(misses) {
            self.missed_after = u64::MAX;
            self.batch.push(MessageKind::Missed { epochs: seen.epochs, seen: seen.text() });
        }
    }

    /// Takes all whole lines that `bytes` complete.
    fn take_bytes(&mut self, bytes: &[u8], pipe: &mut LineSplitter, is_stdout: bool, outbox: &mut Outbox) {
        let is_report = is_stdout || self.reports.reads_stderr();
        let mut copy = Vec::with_capacity(bytes.len() + 1);
        pipe.push(bytes, |line| {
            copy.extend_from_slice(line.bytes);
            copy.push(if line.transient { b'\r' } else { b'\n' });
            self.take(line, is_report);
        });
        self.log.write(&copy);
        self.share_choice();
        self.hand_over(Instant::now(), outbox);
    }

    /// Sends what was read, or holds it back where the end may follow.
    fn hand_over(&mut self, now: Instant, outbox: &mut Outbox) {
        let is_report = |kind: &&MessageKind| matches!(kind, MessageKind::Report(_));
        let reports = self.batch.iter().filter(is_report).count();
        let is_first = self.heard.is_none();
        if self.reports.take_news() {
            let (first, _, times) = self.heard.unwrap_or((now, now, 0));
            self.heard = Some((first, now, times + 1));
        }
        if is_first && reports >= MANY && !self.flushes {
            self.held = Some((std::mem::take(&mut self.batch), now));
        } else if !self.batch.is_empty() {
            self.release(outbox);
        }
    }

    /// Sends what was held back, and what was read since.
    fn release(&mut self, outbox: &mut Outbox) {
        let held = self.held.take().map(|(kinds, _)| kinds).unwrap_or_default();
        for kind in held.into_iter().chain(std::mem::take(&mut self.batch)) {
            self.send(kind, outbox);
        }
    }

    /// Sends the last of it: as late reports, if all that there are came with an end that was its own.
    fn finish(&mut self, is_own_end: bool, outbox: &mut Outbox) {
        self.take_last();
        let Some((held, _)) = self.held.take_if(|_| is_own_end) else { return self.release(outbox) };
        let mut reports = Vec::new();
        for kind in held.into_iter().chain(std::mem::take(&mut self.batch)) {
            match kind {
                MessageKind::Report(report) => reports.push(report),
                kind => self.send(kind, outbox),
            }
        }
        self.send(MessageKind::Late { reports }, outbox);
    }

    /// Takes what was not certain before the end.
    fn take_last(&mut self) {
        let (reports, problems): (Vec<_>, Vec<_>) = self.reports.flush().into_iter().partition(Result::is_ok);
        let problems = problems.into_iter().filter_map(Result::err);
        self.batch.extend(problems.map(|problem| MessageKind::Unusable { line: String::new(), problem }));
        self.batch.extend(self.reports.take_notes().into_iter().map(|note| MessageKind::Noted { note }));
        let reports: Vec<Report> = reports.into_iter().filter_map(Result::ok).collect();
        if self.held.is_some() || reports.len() == 1 {
            self.batch.extend(reports.into_iter().map(MessageKind::Report));
        } else if !reports.is_empty() {
            self.batch.push(MessageKind::Settled { reports });
        }
        self.share_choice();
    }

    /// Takes the rest after the last newline: a report if the process ended by itself; if a signal cut its writing short,
    /// only a JSON report is surely complete.
    fn take_rest(&mut self, rest: &[u8], is_stdout: bool, status: Status) {
        if rest.is_empty() {
            return;
        }
        self.log.write(&[rest, b"\n"].concat());
        let whole = matches!(status, Status::Exited(_)) && (is_stdout || self.reports.reads_stderr());
        let closed = rest.trim_ascii_end().ends_with(b"}") && !self.reports.reads_stderr() && is_stdout;
        self.take(Line { bytes: rest, cut: false, transient: false }, whole || closed);
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
    /// The number of bytes read since nothing of the trial runs any more.
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
    /// Its record in its folder: its name in its environment, its control group.
    record: Option<ProcessRecord>,
    /// The processes that have left it without a name, and are to end with it.
    nameless: Vec<ProcessIdentity>,
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
    /// The number of times it had been heard when its silence was last reported.
    quiet_after: Option<u32>,
}

impl Process {
    /// Takes over a child that leads its process group, and the `terminal` that it prints to, if it has one.
    pub(crate) fn new(
        mut child: Child,
        terminal: Option<OwnedFd>,
        directory: PathBuf,
        output: Output,
        grace: Duration,
    ) -> Self {
        let stdout = Pipe::new(terminal.or(child.stdout.take().map(OwnedFd::from)), true);
        let stderr = Pipe::new(child.stderr.take().map(OwnedFd::from), false);
        let pipes = [stdout, stderr];
        Self {
            child,
            record: None,
            nameless: Vec::new(),
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
            quiet_after: None,
        }
    }

    /// The same, with `watch` kept and the file at `path` followed.
    pub(crate) fn watched(mut self, watch: Watch, path: Option<PathBuf>) -> Self {
        self.followed = path.map(Followed::new);
        if let Some(header) = self.followed.as_ref().and_then(Followed::header) {
            let _ = self.output.reports.read(&header); // it was written before: no report
        }
        self.output.flushes = watch.flushes;
        self.watch = watch;
        self
    }

    /// The same, which its folder remembers by `record`: processes that left its group are found by it.
    pub(crate) fn remembered(self, record: ProcessRecord) -> Self {
        Self { record: Some(record), ..self }
    }

    /// Its processes outside its group: members of its control group, and those that this process has adopted when their parents
    /// ended, see [`adopt_orphans`](crate::adopt_orphans).
    fn strays(&self, census: &Census) -> Vec<u32> {
        let leader = self.child.id();
        let Some(record) = &self.record else { return Vec::new() };
        let adopted = census.children_beside(leader).filter(|&pid| bears(pid, &record.token));
        let nameless = self.nameless.iter().filter(|it| it.is_alive()).map(|it| it.pid);
        let members = record.control_group.iter().flat_map(ControlGroup::processes);
        adopted
            .chain(nameless)
            .flat_map(|pid| census.tree(pid))
            .chain(members.filter(|&pid| pid != leader))
            .collect()
    }

    /// The id of its first process.
    pub(crate) fn leader(&self) -> u32 {
        self.child.id()
    }

    /// Whether its first process has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        has_ended(&mut self.child)
    }

    /// Whether it may have started `stray`: it ran already when that began, and something of it still does. Then it is
    /// remembered, should this process be killed.
    pub(crate) fn may_have_started(&mut self, stray: ProcessIdentity) -> bool {
        let is_elder = |leader: ProcessIdentity| leader.start <= stray.start;
        let Some(record) = self.record.as_mut().filter(|it| it.leader.is_some_and(is_elder)) else {
            return false;
        };
        if self.gone {
            return false;
        }
        if !record.strays.contains(&stray) {
            record.strays.push(stray);
            // without it, what is left of a killed search's trials is found less surely
            let _ = record.write(&self.directory);
        }
        true
    }

    /// It answers for `stray`, which ends with it.
    pub(crate) fn answer_for(&mut self, stray: ProcessIdentity) {
        if !self.nameless.contains(&stray) {
            self.nameless.push(stray);
        }
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
    fn check_limits(&mut self, now: Instant, others: Pace, outbox: &mut Outbox) {
        if self.stop || self.fault.is_some() {
            return;
        }
        let (silence, usual) = self.output.silence(self.begun, now, others);
        let over = self.watch.timeout.filter(|&timeout| now >= self.begun + timeout);
        let stalled = self
            .watch
            .stall
            .filter(|&times| silence > usual.unwrap_or(UNKNOWN_INTERVAL).mul_f64(times).max(SHORTEST_STALL));
        let usually =
            if usual.is_some() { "its usual interval" } else { "10 min, as no interval is known yet" };
        self.fault = match (over, stalled) {
            (Some(timeout), _) => {
                Some(format!("it exceeded the limit of {} s per trial", timeout.as_secs_f64()))
            }
            (None, Some(times)) => Some(format!(
                "it has reported nothing for {:.0} s, longer than {times} times {usually}",
                silence.as_secs_f64(),
            )),
            (None, None) => None,
        };
        self.stop |= self.fault.is_some();
        let quiet = usual.map_or(UNKNOWN_INTERVAL, |usual| (usual * QUIET).max(SHORTEST_QUIET));
        let heard = self.output.heard.map_or(0, |(.., times)| times);
        if silence > quiet && self.fault.is_none() && self.quiet_after != Some(heard) {
            self.quiet_after = Some(heard);
            self.output.send(MessageKind::Quiet { silence }, outbox);
        }
    }

    /// `others`, with how long this one took.
    pub(crate) fn pace(&self, others: Pace) -> Pace {
        let Some((first, last, times)) = self.output.heard else { return others };
        let second = (times == 2).then(|| last - first);
        Pace { first: others.first.max(Some(first - self.begun)), second: others.second.max(second) }
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

    /// Whether nothing of it runs any more, and all that it printed was read, and written unless it shall stop.
    pub(crate) fn is_finished(&mut self) -> bool {
        let is_read = self.gone && self.pipes.iter().all(|pipe| pipe.file.is_none());
        is_read && (self.stop || !self.output.log.is_waiting())
    }

    /// Looks whether it has ended, and sends the signal that is due. The `census` is taken at most once, and only if the process has ended.
    ///
    /// The process is not reaped before its group is empty: until then its id, which is the group's, belongs to nobody
    /// else, so that no signal can hit a stranger. Orphans of a trial that ended by itself are stopped, too.
    pub(crate) fn look_after(
        &mut self,
        now: Instant,
        others: Pace,
        census: &OnceCell<Census>,
        outbox: &mut Outbox,
    ) {
        self.check_limits(now, others, outbox);
        if self.gone {
            return;
        }
        let leader = self.child.id();
        let ended = has_ended(&mut self.child);
        if !ended && self.output.held.as_ref().is_some_and(|(_, since)| now >= *since + HOLD) {
            self.output.release(outbox);
        }
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
            self.output.take_rest(&lines.rest(), is_stdout, status);
        }
        self.output.finish(matches!(status, Status::Exited(_)) && !self.stopped_by_us, outbox);
        let seen = self.output.reports.seen().map(Seen::text).unwrap_or_default();
        let token = self.record.as_ref().map_or("", |record| record.token.as_str());
        forget(&self.directory, token);
        self.record.iter().filter_map(|it| it.control_group.as_ref()).for_each(ControlGroup::remove);
        forgotten();
        let tail = std::mem::take(&mut self.output.tail).into_lines();
        let kind =
            MessageKind::Ended { status, stopped_by_us: self.stopped_by_us, tail, seen, fault: self.fault };
        self.output.send(kind, outbox);
    }
}

/// Whether the process has ended. On Linux it is not reaped by asking; elsewhere its id stays that of its group as long as that has
/// members, and is not signaled afterwards.
fn has_ended(child: &mut Child) -> bool {
    if is_portable() {
        return !matches!(child.try_wait(), Ok(None));
    }
    #[cfg(target_os = "linux")]
    {
        use nix::errno::Errno;
        use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
        let Ok(pid) = i32::try_from(child.id()) else { return false };
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        !matches!(
            waitid(Id::Pid(nix::unistd::Pid::from_raw(pid)), flags),
            Ok(WaitStatus::StillAlive) | Err(Errno::EINTR)
        )
    }
    #[cfg(not(target_os = "linux"))]
    {
        false
    }
}

fn status(waited: io::Result<ExitStatus>) -> Status {
    match waited.map(|status| (status.code(), status.signal())) {
        Ok((Some(code), _)) => Status::Exited(code),
        Ok((None, Some(signal))) => Status::Signaled(signal),
        // Somebody else reaped our child (SIGCHLD ignored): it is gone, how is not known.
        Ok((None, None)) | Err(_) => Status::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::{Output, Pace, Process};
    use crate::message::MessageKind;
    use crate::outbox::Outbox;
    use crate::output::OutputLog;
    use crate::room::Room;
    use crate::trial::Watch;
    use foretell_logs::printed::{MetricSource, ReportReader};
    use std::os::unix::process::CommandExt;
    use std::path::Path;
    use std::process::Command;
    use std::sync::mpsc::sync_channel;
    use std::time::{Duration, Instant};

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn output(folder: &Path) -> Output {
        let log = OutputLog::open(&folder.join("output.log"), Room::default()).expect("the log opens");
        Output::new(4, ReportReader::new(MetricSource::default(), 0), log, 10)
    }

    #[test]
    fn until_its_second_report_the_silence_of_other_trials_is_usual() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut output = output(folder.path());
        let begun = Instant::now();
        let others = Pace { first: Some(seconds(30)), second: None };
        assert_eq!(output.silence(begun, begun + seconds(90), others), (seconds(90), Some(seconds(30))));
        let heard = begun + seconds(90);
        output.heard = Some((heard, heard, 1));
        assert_eq!(output.silence(begun, heard + seconds(10), others), (seconds(10), None));
        output.heard = Some((heard, heard + seconds(20), 3));
        assert_eq!(output.silence(begun, heard + seconds(25), others), (seconds(5), Some(seconds(10))));
    }

    #[test]
    fn a_trial_that_never_reports_is_told_of_once_and_ended_by_a_stall() {
        let folder = tempfile::tempdir().expect("a folder");
        let child = Command::new("sleep").arg("60").process_group(0).spawn().expect("a process");
        let mut process =
            Process::new(child, None, folder.path().to_owned(), output(folder.path()), seconds(1));
        let (sender, messages) = sync_channel(10);
        let mut outbox = Outbox::new(sender);
        let begun = process.begun;
        let mut after = |process: &mut Process, minutes: u64, others: Pace| {
            process.check_limits(begun + seconds(60 * minutes), others, &mut outbox);
            messages.try_iter().map(|message| message.kind).collect::<Vec<_>>()
        };
        assert_eq!(after(&mut process, 9, Pace::default()), []);
        let quick = Pace { first: Some(seconds(1)), second: None };
        assert_eq!(after(&mut process, 1, quick), [], "a minute is not long");
        let silence = seconds(11 * 60);
        assert_eq!(after(&mut process, 11, Pace::default()), [MessageKind::Quiet { silence }]);
        assert_eq!(after(&mut process, 12, Pace::default()), [], "it was said");
        process.watch = Watch { stall: Some(2.0), ..Watch::default() };
        assert_eq!(after(&mut process, 19, Pace::default()), []);
        assert!(process.fault.is_none());
        after(&mut process, 21, Pace::default());
        let fault = process.fault.clone().unwrap_or_default();
        assert!(fault.contains("longer than 2 times 10 min") && process.stop, "{fault}");
        process.kill();
    }
}

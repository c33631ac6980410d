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

use crate::process::abandoned::{ProcessRecord, forget_ended_processes, has_token};
use crate::process::control_group::ControlGroup;
use crate::process::followed::FollowedFile;
use crate::process::group::{
    ProcessCensus, ProcessIdentity, is_portable, reap_child, signal_group, signal_process,
};
use crate::process::message::{MessageKind, ProcessStatus, TrialNotice};
use crate::process::outbox::Outbox;
use crate::process::output::LineSplitter;
use crate::process::reading::{ReportPace, TrialOutput};
use crate::process::trial::WatchSettings;
use crate::supervised::{catch_panic, may_panic};

/// The time that orphans of an ended trial may take to vanish once killed, before they are left to the operating system.
const VANISH_TIMEOUT: Duration = Duration::from_secs(10);
/// So long after its output a process is expected to end.
const EXPECTED_END_DELAY: Duration = Duration::from_millis(100);
/// A shorter silence is no stall.
const SHORTEST_STALL: Duration = Duration::from_secs(1);
/// A notice appears after a silence of this many times the usual interval, if it is longer than [`SHORTEST_QUIET`].
const QUIET_FACTOR: u32 = 10;
const SHORTEST_QUIET: Duration = Duration::from_secs(60);
/// The interval that is assumed while no trial has shown any.
const UNKNOWN_INTERVAL: Duration = Duration::from_secs(600);
/// The most that a pipe can hold (Linux: `pipe-max-size`): what a process wrote before its end is within this.
const PIPE_BYTES: usize = 1024 * 1024;

/// The most buffers of a followed file that are read once its trial has ended: another process may append to it without end.
const MAX_LAST_BUFFERS: usize = 16 * 1024;

/// What a trial prints to.
struct OutputStream {
    /// `None` once all of it is read.
    file: Option<File>,
    lines: LineSplitter,
    /// The number of bytes read since nothing of the trial runs any more.
    read_since_gone: usize,
}

/// A started trial, and all that is needed to see it through.
pub(crate) struct TrialProcess {
    child: Child,
    /// The record in the trial's folder: the trial's name in the environment, and its control group.
    record: Option<ProcessRecord>,
    /// The processes that have left it without a name, and are to end with it.
    nameless: Vec<ProcessIdentity>,
    directory: PathBuf,
    stream: OutputStream,
    output: TrialOutput,
    grace: Duration,
    /// Whether it shall stop.
    stop: bool,
    stopped_by_us: bool,
    /// When SIGKILL follows the SIGTERM that was sent.
    kill_at: Option<Instant>,
    /// Whether its process has ended, its group is empty, and nothing else of it is left.
    gone: bool,
    /// How its process ended, once it is reaped: its id may belong to another then.
    status: Option<ProcessStatus>,
    /// When its output ended.
    closed: Option<Instant>,
    /// Processes of it that were found outside its group.
    strays_seen: BTreeSet<u32>,
    watch: WatchSettings,
    followed: Option<FollowedFile>,
    begun: Instant,
    /// Why it was ended: it took too long, nothing was heard of it, or this program failed to look after it.
    fault: Option<String>,
    /// Whether it is killed and looked after no more.
    given_up: bool,
    /// The number of times it had been heard when its silence was last reported.
    quiet_after: Option<u32>,
}

impl TrialProcess {
    /// Takes over a child that leads its process group, and whose output is read from `reads`.
    pub(crate) fn new(
        child: Child,
        reads: OwnedFd,
        directory: PathBuf,
        output: TrialOutput,
        grace: Duration,
    ) -> Self {
        let stream = OutputStream {
            file: Some(File::from(reads)),
            lines: LineSplitter::default(),
            read_since_gone: 0,
        };
        Self {
            child,
            record: None,
            nameless: Vec::new(),
            directory,
            stream,
            output,
            grace,
            stop: false,
            stopped_by_us: false,
            kill_at: None,
            gone: false,
            status: None,
            closed: None,
            strays_seen: BTreeSet::new(),
            watch: WatchSettings::default(),
            followed: None,
            begun: Instant::now(),
            fault: None,
            given_up: false,
            quiet_after: None,
        }
    }

    /// Keeps the `watch` settings, and reads the file `followed`.
    pub(crate) fn with_watch(mut self, watch: WatchSettings, followed: Option<FollowedFile>) -> Self {
        self.followed = followed;
        self.output.is_followed = self.followed.is_some();
        if let Some(followed) = &self.followed {
            followed.read_header().iter().for_each(|header| self.output.take_header(header));
            // what it writes is found from here on, should this program be killed
            self.output.note_source_position(followed.source_position(0, self.output.last_step()));
        }
        self.output.flushes = watch.flushes;
        self.watch = watch;
        self
    }

    /// Keeps the `record` of the trial's folder, by which processes that left the group are found.
    pub(crate) fn with_record(self, record: ProcessRecord) -> Self {
        Self { record: Some(record), ..self }
    }

    /// The trial's processes outside its group: members of its control group, and those that this process has adopted when their parents
    /// ended, see [`adopt_orphans`](crate::adopt_orphans).
    fn find_strays(&self, census: &ProcessCensus) -> Vec<u32> {
        let leader = self.child.id();
        let Some(record) = &self.record else { return Vec::new() };
        let adopted = census.children_except(leader).filter(|&pid| has_token(pid, &record.token));
        // an id may belong to a stranger once its process has ended
        let nameless = self.nameless.iter().filter(|it| it.is_alive()).map(|it| it.pid);
        let members = record.control_group.iter().flat_map(ControlGroup::process_ids);
        adopted
            .chain(nameless)
            .flat_map(|pid| census.process_tree(pid))
            .chain(members.filter(|&pid| pid != leader))
            .collect()
    }

    /// The id of the trial's first process.
    pub(crate) fn leader_pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether the trial's first process has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        has_ended(&mut self.child)
    }

    /// Whether it may have started `stray`: it ran already when that began, and something of it still does. Then it is
    /// remembered, should this process be killed.
    pub(crate) fn may_have_started(&mut self, stray: ProcessIdentity) -> bool {
        let record = self.record.as_mut();
        let elder = record.filter(|it| it.leader.is_some_and(|leader| leader.start <= stray.start));
        let Some(record) = elder else { return false };
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

    /// Takes on `stray`, which ends with the trial.
    pub(crate) fn answer_for(&mut self, stray: ProcessIdentity) {
        if !self.nameless.contains(&stray) {
            self.nameless.push(stray);
        }
    }

    /// Reads the file that the trial appends its metrics to, `most` buffers of it.
    pub(crate) fn read_followed(
        &mut self,
        most: usize,
        is_last: bool,
        buffer: &mut [u8],
        outbox: &mut Outbox,
    ) {
        may_panic("follow");
        let Some(followed) = &mut self.followed else { return };
        for _ in 0..most {
            match followed.read_new_bytes(buffer, is_last) {
                Ok(0) => return self.output.hand_over(Instant::now(), outbox),
                Ok(count) => {
                    let settled = self.output.take_bytes(&buffer[..count], &mut followed.lines, true);
                    if let Some((end, step)) = settled {
                        self.output.note_source_position(followed.source_position(count - end, step));
                    }
                    self.output.hand_over(Instant::now(), outbox);
                }
                Err(why) => {
                    self.fault.get_or_insert(why);
                    (self.stop, self.followed) = (true, None);
                    return;
                }
            }
        }
    }

    /// Notes that the trial takes too long, or that nothing is heard of it, and asks for its end.
    fn check_limits(&mut self, now: Instant, others: ReportPace, outbox: &mut Outbox) {
        // a trial that is ending is silent, and must not get a second reason for its end
        if self.stop || self.fault.is_some() {
            return;
        }
        let (silence, usual) = self.output.silence_and_interval(self.begun, now, others);
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
        let quiet = usual.map_or(UNKNOWN_INTERVAL, |usual| (usual * QUIET_FACTOR).max(SHORTEST_QUIET));
        let heard = self.output.heard.map_or(0, |(.., times)| times);
        if silence > quiet && self.fault.is_none() && self.quiet_after != Some(heard) {
            self.quiet_after = Some(heard);
            self.output.send_message(MessageKind::Noticed(TrialNotice::Quiet { silence }), outbox);
        }
    }

    /// `others`, with how long this one took.
    pub(crate) fn merge_pace(&self, others: ReportPace) -> ReportPace {
        let Some((first, last, times)) = self.output.heard else { return others };
        let second = (times == 2).then(|| last - first);
        ReportPace { first: others.first.max(Some(first - self.begun)), second: others.second.max(second) }
    }

    /// The trial's number.
    pub(crate) fn trial(&self) -> u64 {
        self.output.trial
    }

    /// Asks for the trial's end; [`look_after`](Self::look_after) sees to it.
    pub(crate) fn stop(&mut self) {
        self.stop = true;
    }

    /// Kills the trial at once, where nobody can watch it, and what has left its group.
    pub(crate) fn kill(&mut self) -> ProcessStatus {
        signal_group(self.child.id(), Signal::SIGKILL);
        // the census shows what a panic may have left out
        let strays = catch_panic(|| self.find_strays(&ProcessCensus::take())).unwrap_or_default();
        strays.into_iter().for_each(|pid| signal_process(pid, Signal::SIGKILL));
        status_from_wait(self.child.wait())
    }

    /// Does `work` for the trial; a panic fails this trial, and no other.
    pub(crate) fn run_guarded(&mut self, work: impl FnOnce(&mut Self)) {
        if !self.given_up
            && let Err(why) = catch_panic(|| work(self))
        {
            self.give_up(&why);
        }
    }

    /// Kills the trial: `why` says how this program panicked while it looked after the trial.
    pub(crate) fn give_up(&mut self, why: &str) {
        if !self.given_up {
            (self.given_up, self.stop) = (true, true);
            self.fault = Some(format!(
                "Foretell panicked while it read the output of this trial ({why}). This is a bug: please report it"
            ));
        }
    }

    /// The stream that the trial prints to, as long as there may be more to read.
    pub(crate) fn open_stream(&self) -> Option<BorrowedFd<'_>> {
        self.stream.file.as_ref().map(AsFd::as_fd).filter(|_| !self.given_up)
    }

    /// Reads the stream that the trial prints to, which has something to read, its end included; at most one `buffer`.
    pub(crate) fn read_output(&mut self, buffer: &mut [u8], outbox: &mut Outbox) {
        may_panic("read");
        let OutputStream { file, lines, read_since_gone } = &mut self.stream;
        let Some(open) = file else { return };
        match open.read(buffer) {
            Ok(count) if count > 0 => {
                let is_source = !self.output.is_followed;
                self.output.take_bytes(&buffer[..count], lines, is_source);
                self.output.hand_over(Instant::now(), outbox);
                *read_since_gone += if self.gone { count } else { 0 };
                if *read_since_gone > PIPE_BYTES {
                    *file = None; // a process that left the group goes on printing
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(_) | Err(_) => *file = None,
        }
        if file.is_none() {
            self.closed.get_or_insert_with(Instant::now);
        }
    }

    /// Notes that there is nothing to read: once the trial is gone, that is the end. A process that left the group may
    /// hold the stream open, but what the group wrote is read.
    pub(crate) fn note_no_output(&mut self) {
        // a process that left the group may hold the stream open for ever, so its end is not waited for
        if self.gone {
            self.stream.file = None;
        }
    }

    /// Whether nothing of the trial runs any more.
    pub(crate) fn is_gone(&self) -> bool {
        self.gone
    }

    /// Whether the trial's output ended a moment ago: then the process ends soon, and a look is worth while.
    pub(crate) fn is_ending(&self, now: Instant) -> bool {
        !self.gone && self.closed.is_some_and(|closed| now < closed + EXPECTED_END_DELAY)
    }

    /// Whether nothing of it runs any more, and all that it printed was read, and written unless it shall stop; or it was given up.
    pub(crate) fn is_finished(&mut self) -> bool {
        if self.given_up {
            return true;
        }
        let is_read = self.gone && self.stream.file.is_none();
        is_read && (self.stop || !self.output.is_waiting())
    }

    /// Looks whether it has ended, and sends the signal that is due. The `census` is taken at most once, and only if the process has ended.
    ///
    /// The process is not reaped before its group is empty: until then its id, which is the group's, belongs to nobody
    /// else, so that no signal can hit a stranger. Orphans of a trial that ended by itself are stopped, too.
    pub(crate) fn look_after(
        &mut self,
        now: Instant,
        others: ReportPace,
        census: &OnceCell<ProcessCensus>,
        outbox: &mut Outbox,
    ) {
        may_panic("look");
        self.check_limits(now, others, outbox);
        if self.gone {
            return;
        }
        let leader = self.child.id();
        let ended = has_ended(&mut self.child);
        if !ended {
            self.output.release_held(now, outbox);
        }
        let mut strays = Vec::new();
        if ended {
            let census = census.get_or_init(ProcessCensus::take);
            census.ended_orphans(leader).for_each(reap_child);
            strays = self.find_strays(census);
            self.strays_seen.extend(&strays);
            self.gone = !census.is_group_running(leader) && strays.is_empty();
        }
        if self.gone {
            self.strays_seen.iter().copied().for_each(reap_child);
            return;
        }
        self.stopped_by_us |= self.stop && !ended;
        match self.kill_at {
            None if self.stop || ended => {
                signal_group_and_strays(leader, &strays, Signal::SIGTERM);
                self.kill_at = Some(now + self.grace);
            }
            // before the arm below: a process that hangs in the operating system would otherwise be killed again and again, and
            // hold up the search
            Some(at) if ended && now >= at + VANISH_TIMEOUT => self.gone = true,
            Some(at) if now >= at => signal_group_and_strays(leader, &strays, Signal::SIGKILL),
            _ => {}
        }
    }

    /// Reaps the finished process, and hands over what it printed last.
    pub(crate) fn hand_over_last(&mut self, buffer: &mut [u8], outbox: &mut Outbox) {
        may_panic("last");
        let status = *self.status.insert(status_from_wait(self.child.wait()));
        self.read_followed(MAX_LAST_BUFFERS, true, buffer, outbox);
        let rest = std::mem::take(&mut self.stream.lines).into_rest();
        self.output.take_rest(rest, self.followed.is_none(), status);
        let rest = self.followed.as_mut().map(|followed| std::mem::take(&mut followed.lines).into_rest());
        rest.into_iter().for_each(|rest| self.output.take_rest(rest, true, status));
        self.output.finish(matches!(status, ProcessStatus::Exited(_)) && !self.stopped_by_us, outbox);
        // after the reports up to this position: a search that resumes reads on from here, and would pass over any that are not
        // recorded
        if let Some(followed) = &self.followed {
            self.output.send_message(
                MessageKind::Read(followed.source_position(0, self.output.last_step())),
                outbox,
            );
        }
    }

    /// Hands over its `Ended` message; `forgotten` is called just before it. A process that was given up is killed first.
    pub(crate) fn finish(mut self, outbox: &mut Outbox, forgotten: impl FnOnce()) {
        let status = match self.status {
            Some(status) => status,
            None => self.kill(),
        };
        let seen = if self.given_up { String::new() } else { self.output.printed_numbers() };
        let token = self.record.as_ref().map_or("", |record| record.token.as_str());
        forget_ended_processes(&self.directory, token);
        self.record.iter().filter_map(|it| it.control_group.as_ref()).for_each(ControlGroup::remove);
        forgotten();
        let (tail, fault) = (self.output.take_tail(), self.fault.take());
        let kind = MessageKind::Ended { status, stopped_by_us: self.stopped_by_us, tail, seen, fault };
        self.output.send_message(kind, outbox);
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

fn status_from_wait(waited: io::Result<ExitStatus>) -> ProcessStatus {
    match waited.map(|status| (status.code(), status.signal())) {
        Ok((Some(code), _)) => ProcessStatus::Exited(code),
        Ok((None, Some(signal))) => ProcessStatus::Signaled(signal),
        // Somebody else reaped our child (SIGCHLD ignored): it is gone, how is not known.
        Ok((None, None)) | Err(_) => ProcessStatus::Unknown,
    }
}

fn signal_group_and_strays(leader: u32, strays: &[u32], signal: Signal) {
    signal_group(leader, signal);
    strays.iter().for_each(|&pid| signal_process(pid, signal));
}

#[cfg(test)]
mod tests {
    use super::{ReportPace, TrialOutput, TrialProcess};
    use crate::log::room::FullDiskWait;
    use crate::process::message::{MessageKind, TrialNotice};
    use crate::process::outbox::Outbox;
    use crate::process::output::OutputLog;
    use crate::process::terminal::Terminal;
    use crate::process::trial::WatchSettings;
    use foretell_logs::printed::{MetricSource, ReportReader};
    use std::os::unix::process::CommandExt;
    use std::process::Command;
    use std::sync::mpsc::sync_channel;
    use std::time::Duration;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_trial_that_never_reports_is_told_of_once_and_ended_by_a_stall() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = Command::new("sleep");
        let reads =
            Terminal::open().and_then(|terminal| terminal.attach_to(&mut command)).expect("a terminal");
        let child = command.arg("60").process_group(0).spawn().expect("a process");
        let log = OutputLog::open(&folder.path().join("output.log"), FullDiskWait::default())
            .expect("the log opens");
        let output = TrialOutput::new(4, ReportReader::new(MetricSource::default(), 0), log);
        let mut process = TrialProcess::new(child, reads, folder.path().to_owned(), output, seconds(1));
        let (sender, messages) = sync_channel(10);
        let mut outbox = Outbox::new(sender);
        let begun = process.begun;
        let mut after = |process: &mut TrialProcess, minutes: u64, others: ReportPace| {
            process.check_limits(begun + seconds(60 * minutes), others, &mut outbox);
            messages.try_iter().map(|message| message.kind).collect::<Vec<_>>()
        };
        assert_eq!(after(&mut process, 9, ReportPace::default()), []);
        let quick = ReportPace { first: Some(seconds(1)), second: None };
        assert_eq!(after(&mut process, 1, quick), [], "a minute is not long");
        let silence = seconds(11 * 60);
        assert_eq!(
            after(&mut process, 11, ReportPace::default()),
            [MessageKind::Noticed(TrialNotice::Quiet { silence })]
        );
        assert_eq!(after(&mut process, 12, ReportPace::default()), [], "it was said");
        process.watch = WatchSettings { stall: Some(2.0), ..WatchSettings::default() };
        assert_eq!(after(&mut process, 19, ReportPace::default()), []);
        assert!(process.fault.is_none());
        after(&mut process, 21, ReportPace::default());
        let fault = process.fault.clone().unwrap_or_default();
        assert!(fault.contains("longer than 2 times 10 min") && process.stop, "{fault}");
        process.kill();
    }
}

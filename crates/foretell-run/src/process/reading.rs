//! What a trial prints, on its way from bytes to messages: lines, reports, the copy in `output.log`, and the last lines.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::process::message::{MessageKind, ProcessStatus, TrialMessage, TrialNotice};
use crate::process::outbox::Outbox;
use crate::process::output::{LineSplitter, OutputLine, OutputLog, OutputTail, printable_start};
use foretell_logs::printed::{ChosenSeries, MetricCandidates, Report, ReportProblem, ReportReader};
use foretell_search::SourcePosition;

/// A notice appears after this many lines without a report, and after twice as many each time: the metric may be looked for in the wrong way.
const SILENT_LINES: usize = 100;
/// If the first read that brings reports brings at least this many, they may be all there are, written at the end.
const HELD_BACK_REPORTS: usize = 3;
/// The time that they are held back to see whether the end follows.
const HOLD_BACK_TIME: Duration = Duration::from_millis(100);

/// The stages that a trial's output goes through; the file that it follows shares them, so that reports stay in order.
pub(crate) struct TrialOutput {
    pub(crate) trial: u64,
    reports: ReportReader,
    /// The series that an earlier trial's output showed to be the metric.
    chosen: Arc<Mutex<Option<ChosenSeries>>>,
    log: OutputLog,
    tail: OutputTail,
    /// Lines so far, as long as none was a report, and after how many this is said.
    silent: Option<(usize, usize)>,
    long_line_said: bool,
    /// When something was read that held reports first and last, and how often.
    pub(crate) heard: Option<(Instant, Instant, u32)>,
    /// The messages about the bytes being read.
    batch: Vec<MessageKind>,
    /// Many reports that came at once, as the first ones, and when: the end may follow.
    held: Option<(Vec<MessageKind>, Instant)>,
    /// Whether the program is known to write each report at once.
    pub(crate) flushes: bool,
    /// Whether reports are read from a file, and nothing printed is one.
    pub(crate) is_followed: bool,
}

/// The longest time that the trials so far took to their first report, and from that to the second.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReportPace {
    pub(crate) first: Option<Duration>,
    pub(crate) second: Option<Duration>,
}

impl TrialOutput {
    /// Output of trial `trial`.
    pub(crate) fn new(trial: u64, reports: ReportReader, log: OutputLog) -> Self {
        Self {
            trial,
            reports,
            chosen: Arc::default(),
            log,
            tail: OutputTail::default(),
            silent: Some((0, SILENT_LINES)),
            long_line_said: false,
            heard: None,
            batch: Vec::new(),
            held: None,
            flushes: false,
            is_followed: false,
        }
    }

    /// Reads the series that was `chosen` for other trials, and chooses one for them if none was.
    pub(crate) fn with_shared_choice(self, chosen: Arc<Mutex<Option<ChosenSeries>>>) -> Self {
        Self { chosen, ..self }
    }

    /// Takes over what other trials have shown, or shows them what this one has.
    fn share_choice(&mut self) {
        let mut chosen = self.chosen.lock().unwrap_or_else(PoisonError::into_inner);
        match (chosen.as_ref(), self.reports.chosen_series()) {
            (Some(chosen), None) => self.reports.follow_series(chosen),
            (None, Some(own)) => {
                *chosen = Some(own.clone());
                let series = serde_json::to_string(own).unwrap_or_default();
                self.batch.push(MessageKind::Chosen(series));
            }
            _ => {}
        }
    }

    /// Takes the first line of the file that it follows, which was written before: the header of a table, and no report.
    pub(crate) fn take_header(&mut self, header: &[u8]) {
        self.reports.read_header(header);
    }

    /// The last step that the trial reported, or that it continues from.
    pub(crate) fn last_step(&self) -> u64 {
        self.reports.last_step()
    }

    /// Notes that the followed file was read up to `position`.
    pub(crate) fn note_source_position(&mut self, position: SourcePosition) {
        self.batch.push(MessageKind::Read(position));
    }

    /// Keeps a line, and hands its reports over if it is `whole`.
    fn take_line(&mut self, line: OutputLine<'_>, whole: bool) {
        if !line.bytes.is_empty() {
            self.tail.push(line.bytes);
        }
        let is_source = whole || !self.is_followed;
        if line.cut && is_source && !std::mem::replace(&mut self.long_line_said, true) {
            self.push_notice(TrialNotice::Unusable {
                line: printable_start(line.bytes),
                problem: ReportProblem::Long,
            });
        } else if whole && !line.cut {
            self.take_reports(line);
        }
        if let Some((lines, next)) = self.silent.as_mut().filter(|_| is_source) {
            *lines += 1;
            if lines == next {
                *next *= 2;
                let (lines, seen) = (*lines, self.printed_numbers());
                self.push_notice(TrialNotice::Silent { lines, line: printable_start(line.bytes), seen });
            }
        }
    }

    /// The names and numbers that the trial printed, if it has not reported.
    pub(crate) fn printed_numbers(&self) -> String {
        self.reports.candidates().map(MetricCandidates::format_for_message).unwrap_or_default()
    }

    /// The time that it has been silent, and the usual interval, if one is known: its own, or where it has none the longest of other
    /// trials.
    pub(crate) fn silence_and_interval(
        &self,
        begun: Instant,
        now: Instant,
        others: ReportPace,
    ) -> (Duration, Option<Duration>) {
        let (since, usual) = match self.heard {
            None => (begun, others.first),
            Some((first, _, 1)) => (first, others.second),
            Some((first, last, times)) => (last, Some((last - first) / (times - 1))),
        };
        (now.saturating_duration_since(since), usual)
    }

    fn take_reports(&mut self, line: OutputLine<'_>) {
        let read = if line.transient { ReportReader::read_transient } else { ReportReader::read };
        for report in read(&mut self.reports, line.bytes) {
            self.batch.push(match report {
                Ok(report) => {
                    self.silent = None;
                    MessageKind::Report(report)
                }
                Err(problem) => {
                    MessageKind::Noticed(TrialNotice::Unusable { line: printable_start(line.bytes), problem })
                }
            });
        }
        if self.reports.has_candidate() {
            self.silent = None;
        }
        self.take_notes();
    }

    /// Takes the notes about how its output is read.
    fn take_notes(&mut self) {
        self.reports.take_notes().into_iter().for_each(|note| self.push_notice(TrialNotice::Noted { note }));
    }

    fn push_notice(&mut self, notice: TrialNotice) {
        self.batch.push(MessageKind::Noticed(notice));
    }

    /// Takes all whole lines that `bytes` complete; they hold no report unless they are of the `source`. Answers with the end of the last
    /// report after which another reader could go on, in `bytes`, and with its step.
    pub(crate) fn take_bytes(
        &mut self,
        bytes: &[u8],
        lines: &mut LineSplitter,
        is_source: bool,
    ) -> Option<(usize, u64)> {
        let mut copy = Vec::with_capacity(bytes.len() + 1);
        let mut settled = None;
        lines.push(bytes, |line| {
            copy.extend_from_slice(line.bytes);
            copy.push(if line.transient { b'\r' } else { b'\n' });
            let before = self.batch.len();
            self.take_line(line, is_source);
            if is_source && self.batch.len() > before && self.reports.is_resumable() && !line.transient {
                settled = Some((line.end, self.reports.last_step()));
            }
        });
        self.log.write(&copy);
        self.share_choice();
        settled
    }

    /// Sends what was read, or holds it back where the end may follow.
    pub(crate) fn hand_over(&mut self, now: Instant, outbox: &mut Outbox) {
        let reports = self.batch.iter().filter(|kind| matches!(kind, MessageKind::Report(_))).count();
        let is_first = self.heard.is_none();
        if self.reports.poll_new_value() {
            let (first, _, times) = self.heard.unwrap_or((now, now, 0));
            self.heard = Some((first, now, times + 1));
        }
        // a program that writes all reports at its end looks like this, and must not get decisions about epochs that are over
        if is_first && reports >= HELD_BACK_REPORTS && !self.flushes {
            self.held = Some((std::mem::take(&mut self.batch), now));
        } else if !self.batch.is_empty() {
            self.release_reports(outbox);
        }
    }

    /// Sends what was held back, and what was read since.
    fn release_reports(&mut self, outbox: &mut Outbox) {
        let held = self.held.take().map(|(kinds, _)| kinds).unwrap_or_default();
        for kind in held.into_iter().chain(std::mem::take(&mut self.batch)) {
            self.send_message(kind, outbox);
        }
    }

    /// Sends what was held back for long enough, as the end has not followed.
    pub(crate) fn release_held(&mut self, now: Instant, outbox: &mut Outbox) {
        if self.held.as_ref().is_some_and(|(_, since)| now >= *since + HOLD_BACK_TIME) {
            self.release_reports(outbox);
        }
    }

    /// Sends the last of it: as late reports, if all that there are came with an end that was its own.
    pub(crate) fn finish(&mut self, is_own_end: bool, outbox: &mut Outbox) {
        self.take_settled_reports();
        let Some((held, _)) = self.held.take_if(|_| is_own_end) else { return self.release_reports(outbox) };
        let (mut reports, mut read) = (Vec::new(), None);
        for kind in held.into_iter().chain(std::mem::take(&mut self.batch)) {
            match kind {
                MessageKind::Report(report) => reports.push(report),
                MessageKind::Read(position) => read = Some(position),
                kind => self.send_message(kind, outbox),
            }
        }
        let late = TrialNotice::Late { reports: reports.len() };
        self.send_message(MessageKind::Settled(reports), outbox);
        // after the reports up to this position, because a search that is resumed reads on from there
        read.into_iter().for_each(|position| self.send_message(MessageKind::Read(position), outbox));
        self.send_message(MessageKind::Noticed(late), outbox);
    }

    /// Takes what was not certain before the end.
    fn take_settled_reports(&mut self) {
        let (reports, problems): (Vec<_>, Vec<_>) = self.reports.flush().into_iter().partition(Result::is_ok);
        let problems = problems.into_iter().filter_map(Result::err);
        problems.for_each(|problem| self.push_notice(TrialNotice::Unusable { line: String::new(), problem }));
        self.take_notes();
        let reports: Vec<Report> = reports.into_iter().filter_map(Result::ok).collect();
        if self.held.is_some() || reports.len() == 1 {
            self.batch.extend(reports.into_iter().map(MessageKind::Report));
        } else if !reports.is_empty() {
            self.batch.push(MessageKind::Settled(reports));
        }
        self.share_choice();
    }

    /// Takes the rest after the last newline, of the `source` or not: a report if the process ended by itself; if a signal cut its writing short,
    /// only a JSON report is surely complete.
    pub(crate) fn take_rest(
        &mut self,
        (rest, transient): (Vec<u8>, bool),
        is_source: bool,
        status: ProcessStatus,
    ) {
        if rest.is_empty() {
            return;
        }
        self.log.write(&[&rest[..], b"\n"].concat());
        // a plain number that was cut short still looks like one: of 0.912, 0.9 may be left
        let closed = rest.trim_ascii_end().ends_with(b"}") && !self.reports.reads_any_line();
        let whole = (transient || closed || matches!(status, ProcessStatus::Exited(_))) && is_source;
        self.take_line(OutputLine { bytes: &rest, cut: false, transient, end: 0 }, whole);
    }

    /// The last lines, oldest first.
    pub(crate) fn take_tail(&mut self) -> Vec<String> {
        std::mem::take(&mut self.tail).into_lines()
    }

    /// Whether output waits for room on a full disk; tries to write it again.
    pub(crate) fn is_waiting(&mut self) -> bool {
        self.log.is_waiting()
    }

    pub(crate) fn send_message(&self, kind: MessageKind, outbox: &mut Outbox) {
        outbox.send(TrialMessage { trial: self.trial, kind });
    }
}

#[cfg(test)]
mod tests {
    use super::{ReportPace, SILENT_LINES, TrialOutput};
    use crate::log::room::FullDiskWait;
    use crate::process::message::{MessageKind, TrialNotice};
    use crate::process::outbox::Outbox;
    use crate::process::output::{LineSplitter, OutputLog};
    use foretell_logs::printed::{MetricSource, ReportReader};
    use std::path::Path;
    use std::sync::mpsc::sync_channel;
    use std::time::{Duration, Instant};

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn output(folder: &Path, metric: MetricSource) -> TrialOutput {
        let log =
            OutputLog::open(&folder.join("output.log"), FullDiskWait::default()).expect("the log opens");
        TrialOutput::new(4, ReportReader::new(metric, 0), log)
    }

    #[test]
    fn until_its_second_report_the_silence_of_other_trials_is_usual() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut output = output(folder.path(), MetricSource::default());
        let begun = Instant::now();
        let others = ReportPace { first: Some(seconds(30)), second: None };
        assert_eq!(
            output.silence_and_interval(begun, begun + seconds(90), others),
            (seconds(90), Some(seconds(30)))
        );
        let heard = begun + seconds(90);
        output.heard = Some((heard, heard, 1));
        assert_eq!(output.silence_and_interval(begun, heard + seconds(10), others), (seconds(10), None));
        output.heard = Some((heard, heard + seconds(20), 3));
        assert_eq!(
            output.silence_and_interval(begun, heard + seconds(25), others),
            (seconds(5), Some(seconds(10)))
        );
    }

    #[test]
    fn lines_without_the_metric_are_told_seldom_and_with_the_numbers_that_were_seen() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut output = output(folder.path(), MetricSource::parse("val_acc").expect("a metric"));
        let (sender, messages) = sync_channel(100);
        let (mut outbox, mut lines) = (Outbox::new(sender), LineSplitter::default());
        for epoch in 0..5 * SILENT_LINES {
            let line = format!("epoch {epoch}: loss 0.25\n");
            output.take_bytes(line.as_bytes(), &mut lines, true);
            output.hand_over(Instant::now(), &mut outbox);
        }
        let said = messages.try_iter().map(|message| match message.kind {
            MessageKind::Noticed(TrialNotice::Silent { lines, seen, .. }) => (lines, seen),
            other => panic!("{other:?}"),
        });
        let said: Vec<(usize, String)> = said.collect();
        let counts: Vec<usize> = said.iter().map(|(lines, _)| *lines).collect();
        assert_eq!(counts, [SILENT_LINES, 2 * SILENT_LINES, 4 * SILENT_LINES]);
        assert!(said.iter().all(|(_, seen)| seen.contains("loss 0.25")), "{said:?}");
    }
}

//! Reads a trial's reports from its output, line by line.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::once::Once;
use crate::pattern::Found;
use crate::protocol::{MetricSource, finite, read_json};
use crate::report::{Report, ReportProblem};
use crate::scan::{self, Pair};

/// How many names are kept to be suggested.
const SEEN: usize = 30;

/// Reads one trial's output, line by line; counts the steps that the trial does not name.
#[derive(Clone, Debug)]
pub struct ReportReader {
    source: MetricSource,
    /// The last step that was reported.
    step: u64,
    /// The resource of a whole training: a progress bar of so many steps counts epochs.
    whole: Option<u64>,
    /// Whether the trial writes report lines; then nothing else is a report.
    enveloped: bool,
    /// The columns of comma-separated values.
    columns: Option<Vec<String>>,
    /// The step that it went on from.
    from: u64,
    /// The epoch that was named since the last report.
    heading: Option<Heading>,
    /// The last number of each word for an epoch or a step that stood in a line without a report.
    headings: BTreeMap<String, u64>,
    /// A report below a number that may be no epoch.
    doubted: Option<Doubted>,
    /// What was reported last within an epoch that is not over: its last value counts.
    within: Option<Report>,
    /// What a progress bar shows that is drawn again and again: its last value counts.
    pending: Option<Report>,
    /// Whether that bar, and whether the line being read, is on standard output.
    pending_on_stdout: bool,
    on_stdout: bool,
    seen: Option<Seen>,
    /// Values that the trial prints once, in lines without the metric.
    once: Once,
}

/// A number that was named as an epoch or a step, in a line without a report.
#[derive(Clone, Debug)]
struct Heading {
    word: String,
    number: u64,
    /// Whether it surely counts: `epoch: 10` may as well say how many there are.
    counts: bool,
}

/// A report below such a number. If the number has grown when it comes again, it was the report's epoch.
#[derive(Clone, Debug)]
struct Doubted {
    report: Report,
    word: String,
    number: u64,
}

/// What a trial has printed that could be its metric.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    /// Names with the last number beside each.
    pub numbers: BTreeMap<String, f64>,
    /// How many epochs, or steps, were named.
    pub epochs: u64,
    last_epoch: Option<u64>,
}

impl Seen {
    fn take(&mut self, pairs: &[Pair<'_>]) {
        for pair in pairs {
            if let Some(value) = pair.value.filter(|_| !scan::names_step(pair.name))
                && (self.numbers.len() < SEEN || self.numbers.contains_key(pair.name))
            {
                self.numbers.insert(pair.name.to_owned(), value);
            }
        }
        if let Some(epoch) = scan::step(pairs).filter(|&epoch| self.last_epoch != Some(epoch)) {
            self.last_epoch = Some(epoch);
            self.epochs += 1;
        }
    }

    /// The names and numbers, for a message; empty if there are none.
    pub fn text(&self) -> String {
        let shown: Vec<String> = self.numbers.iter().map(|(name, value)| format!("{name} {value}")).collect();
        shown.join(", ")
    }
}

/// A report, or why a line that should be one cannot be used.
pub type Read = Result<Report, ReportProblem>;

impl ReportReader {
    /// A reader for a trial that goes on after step `resumed_at` (0 for one that starts afresh).
    pub fn new(source: MetricSource, resumed_at: u64) -> Self {
        Self {
            source,
            step: resumed_at,
            whole: None,
            enveloped: false,
            columns: None,
            from: resumed_at,
            heading: None,
            headings: BTreeMap::new(),
            doubted: None,
            within: None,
            pending: None,
            pending_on_stdout: true,
            on_stdout: true,
            seen: Some(Seen::default()),
            once: Once::default(),
        }
    }

    /// The same for a whole training of `resource` epochs: a progress bar `3/resource` counts them.
    #[must_use]
    pub fn with_resource(self, resource: u64) -> Self {
        Self { whole: Some(resource), ..self }
    }

    /// Also reads the values `names` from lines without the metric, once each: the next report has them. The report of the last epoch waits
    /// for values that are missing until the output ends.
    #[must_use]
    pub fn with_once(self, names: &[String]) -> Self {
        Self { once: Once::of(names), ..self }
    }

    /// Whether a line on standard error can be a report.
    pub(crate) fn reads_stderr(&self) -> bool {
        !matches!(self.source, MetricSource::Json { field: None })
    }

    /// The lines that follow are on standard output, or on standard error.
    pub(crate) fn turn_to(&mut self, stdout: bool) {
        self.on_stdout = stdout;
    }

    /// What the trial has printed instead of a report; `None` once it has reported.
    pub fn seen(&self) -> Option<&Seen> {
        self.seen.as_ref()
    }

    /// The reports in `line`, without its newline: none in most lines, one in a report line, one for each match of a pattern.
    pub fn read(&mut self, line: &[u8]) -> Vec<Read> {
        let read = self.read_line(line);
        self.pass(read, line)
    }

    /// Adds to the reports that were `read` from `line` the values that the trial prints once.
    fn pass(&mut self, read: Vec<Read>, line: &[u8]) -> Vec<Read> {
        if read.is_empty() && self.once.is_waiting() {
            let text = scan::plain(line);
            let waited = self.once.see(&scan::pairs(&String::from_utf8_lossy(&text)));
            return waited.into_iter().map(Ok).collect();
        }
        let passed = read.into_iter().flat_map(|read| match read {
            Ok(report) => self.once.pass(report, self.whole).into_iter().map(Ok).collect(),
            Err(problem) => vec![Err(problem)],
        });
        passed.collect()
    }

    fn read_line(&mut self, line: &[u8]) -> Vec<Read> {
        let line = scan::plain(line);
        let text = String::from_utf8_lossy(&line);
        let pairs = if self.needs_pairs() { scan::pairs(&text) } else { Vec::new() };
        let mut reports = self.settle(&pairs);
        let is_doubted = self.doubted.is_some();
        let mut found = self.found(&text, &line, &pairs);
        if !found.is_empty()
            && let Some(doubted) = self.doubted.take_if(|_| is_doubted)
        {
            // two reports below one number: it was no epoch
            reports.push(self.count(Ok(doubted.report)));
            if matches!(found.first(), Some(Ok(next)) if next.step <= self.step) {
                found = self.found(&text, &line, &pairs);
            }
        }
        self.note(&text, &pairs, !found.is_empty());
        if self.pending_on_stdout == self.on_stdout
            && let Some(before) = self.pending.take()
        {
            let is_same = |first: &Read| matches!(first, Ok(first) if first.step == before.step);
            if !found.first().is_some_and(is_same) {
                reports.push(self.count(Ok(before)));
            }
        }
        for report in found {
            reports.extend(self.take(report, &pairs));
        }
        reports
    }

    /// The report that is certain now, if there is one: within an epoch the last value counts.
    fn take(&mut self, report: Read, pairs: &[Pair<'_>]) -> Vec<Read> {
        let under_way = scan::epoch_under_way(pairs).filter(|_| !self.enveloped && self.reads_names());
        let step = under_way.or(report.as_ref().ok().map(|report| report.step));
        let before = self.within.take_if(|before| Some(before.step) != step);
        let mut certain: Vec<Read> = before.into_iter().map(|before| self.count(Ok(before))).collect();
        match (report, under_way) {
            (Ok(report), Some(step)) => self.within = Some(Report { step, ..report }),
            (report, _) => {
                self.within = None;
                certain.push(self.count(report));
            }
        }
        certain
    }

    /// The reports in `text`, a whole output as it was recorded, carriage returns included.
    pub fn read_all(mut self, text: &str) -> (Vec<Read>, Option<Seen>) {
        let mut reports = Vec::new();
        for line in text.split('\n') {
            let (drawn, last) = line.trim_end_matches('\r').rsplit_once('\r').unwrap_or(("", line));
            for part in drawn.split('\r').filter(|part| !part.is_empty()) {
                reports.extend(self.read_transient(part.as_bytes()));
            }
            reports.extend(self.read(last.as_bytes()));
        }
        reports.extend(self.flush().into_iter().map(Ok));
        (reports, self.seen)
    }

    /// The reports that are certain once a line is drawn that the next one will replace, as progress bars do.
    pub fn read_transient(&mut self, line: &[u8]) -> Vec<Read> {
        let read = self.read_drawn(line);
        self.pass(read, line)
    }

    fn read_drawn(&mut self, line: &[u8]) -> Vec<Read> {
        let line = scan::plain(line);
        let text = String::from_utf8_lossy(&line);
        let pairs = scan::pairs(&text);
        let mut settled = self.settle(&pairs);
        // what is drawn again and again waits for its last value anyway
        self.heading = self.heading.take().filter(|heading| heading.counts);
        let mut found = self.found(&text, &line, &pairs);
        if self.enveloped {
            return found.into_iter().map(|report| self.count(report)).collect();
        }
        self.note(&text, &pairs, !found.is_empty());
        let epochs = scan::bar(&text).filter(|(_, of)| Some(*of) == self.whole).map(|(at, _)| at);
        let Some(mut last) = found.pop() else { return settled };
        settled.extend(match (&mut last, epochs.filter(|_| scan::step(&pairs).is_none())) {
            // a bar of epochs: the first value that it shows at each
            (Ok(report), Some(at)) if at > self.step => {
                report.step = at;
                vec![self.count(last)]
            }
            (_, Some(_)) => Vec::new(),
            (Ok(report), None) => {
                let report = report.clone();
                let before = self.pending.replace(report.clone());
                let before = before.filter(|before| before.step != report.step);
                self.pending_on_stdout = self.on_stdout;
                before.into_iter().map(|before| self.count(Ok(before))).collect()
            }
            (Err(_), None) => vec![last],
        });
        settled
    }

    /// What was not certain before the end: what a progress bar showed last, say.
    pub fn flush(&mut self) -> Vec<Report> {
        let doubted = self.doubted.take().map(|doubted| doubted.report);
        let mut last = Vec::new();
        if let Some(report) = self.pending.take().or(self.within.take()).or(doubted) {
            self.step = report.step;
            last = self.once.pass(report, None);
        }
        last.splice(0..0, self.once.release());
        last
    }

    /// The doubted report, once the number above it has grown: it was its epoch.
    fn settle(&mut self, pairs: &[Pair<'_>]) -> Vec<Read> {
        let Some((pair, number)) = scan::named_step(pairs) else { return Vec::new() };
        let grown = |doubted: &mut Doubted| doubted.word == pair.name && doubted.number < number;
        let settled = self.doubted.take_if(grown);
        let report = |doubted: Doubted| Report { step: doubted.number, ..doubted.report };
        settled.map(|doubted| self.count(Ok(report(doubted)))).into_iter().collect()
    }

    /// Whether the metric is a name that may stand in any line.
    fn reads_names(&self) -> bool {
        matches!(self.source, MetricSource::Json { field: Some(_) })
    }

    /// Names are looked for where they may be the metric, or to be suggested.
    fn needs_pairs(&self) -> bool {
        !self.enveloped && (self.seen.is_some() || self.reads_stderr())
    }

    fn note(&mut self, text: &str, pairs: &[Pair<'_>], reports: bool) {
        if let Some(seen) = self.seen.as_mut().filter(|_| !reports) {
            seen.take(pairs);
        }
        if reports {
            self.heading = None;
        } else if let Some((pair, number)) = scan::named_step(pairs) {
            let before = self.headings.insert(pair.name.to_owned(), number);
            let of_many = ["/", " /", " of "].iter().any(|sign| text[pair.end..].starts_with(sign));
            let counts = of_many || number <= self.from + 1 || before.is_some_and(|before| before < number);
            self.heading = Some(Heading { word: pair.name.to_owned(), number, counts });
        }
    }

    fn count(&mut self, report: Read) -> Read {
        if let Ok(report) = &report {
            self.step = report.step;
            self.seen = None;
        }
        report
    }

    fn found(&mut self, text: &str, line: &[u8], pairs: &[Pair<'_>]) -> Vec<Read> {
        match &self.source {
            MetricSource::Json { field } => {
                if let Some(report) = read_json(line, field.as_deref(), self.step) {
                    self.enveloped = true;
                    return vec![report];
                }
                match field.clone() {
                    Some(field) if !self.enveloped => self.named(&field, text, pairs).into_iter().collect(),
                    _ => Vec::new(),
                }
            }
            MetricSource::Pattern(pattern) => {
                let (mut step, metrics) = (self.step, metrics(pairs));
                let mut report = |found: Found| {
                    step = found.step.unwrap_or(step.saturating_add(1));
                    Report { step, value: finite(found.value), metrics: metrics.clone() }
                };
                pattern.find(line).into_iter().map(|found| found.map(&mut report)).collect()
            }
        }
    }

    /// The value beside the name `field`, the last one in the line, or in the column of that name.
    fn named(&mut self, field: &str, text: &str, pairs: &[Pair<'_>]) -> Option<Read> {
        if let Some(pair) = pairs.iter().rfind(|pair| pair.name == field && !pair.is_past) {
            let heading = self.heading.take_if(|_| scan::step(pairs).is_none());
            let (counts, doubtful) = match heading {
                Some(heading) if heading.counts => (Some(heading.number), None),
                heading => (None, heading),
            };
            let report = self.report(scan::step(pairs).or(counts), pair.value, metrics(pairs));
            return match doubtful {
                Some(Heading { word, number, .. }) if self.doubted.is_none() => {
                    self.doubted = Some(Doubted { report, word, number });
                    None
                }
                _ => Some(Ok(report)),
            };
        }
        let cells: Vec<&str> =
            text.split([',', ';', '\t']).map(|cell| cell.trim().trim_matches('"')).collect();
        if cells.len() > 1 && cells.contains(&field) {
            self.columns = Some(cells.into_iter().map(str::to_owned).collect());
            return None;
        }
        let columns = self.columns.as_ref().filter(|columns| columns.len() == cells.len())?;
        let row: Vec<Pair<'_>> =
            columns.iter().zip(&cells).filter_map(|(name, cell)| cell_pair(name, cell)).collect();
        let value = row.iter().find(|pair| pair.name == field)?.value;
        let (step, metrics) = (scan::step(&row), metrics(&row));
        Some(Ok(self.report(step, value, metrics)))
    }

    fn report(&self, step: Option<u64>, value: Option<f64>, metrics: Map<String, Value>) -> Report {
        let step = step.unwrap_or(self.step.saturating_add(1));
        Report { step, value, metrics }
    }
}

fn cell_pair<'a>(name: &'a str, cell: &str) -> Option<Pair<'a>> {
    let number: f64 = cell.parse().ok()?;
    Some(Pair { name, value: finite(number), at: 0, value_at: 0, end: 0, is_past: false })
}

fn metrics(pairs: &[Pair<'_>]) -> Map<String, Value> {
    let kept = pairs.iter().filter(|pair| !pair.is_past && !scan::names_step(pair.name));
    kept.map(|pair| (pair.name.to_owned(), pair.value.map_or(Value::Null, Value::from))).collect()
}

#[cfg(test)]
mod tests {
    use super::ReportReader;
    use crate::protocol::MetricSource;
    use crate::report::ReportProblem;

    fn read(metric: Option<&str>, lines: &[&str]) -> Vec<Result<(u64, Option<f64>), ReportProblem>> {
        let source =
            metric.map_or_else(MetricSource::default, |text| MetricSource::parse(text).expect("a metric"));
        let mut reader = ReportReader::new(source, 0);
        let reports = lines.iter().flat_map(|line| reader.read(line.as_bytes()));
        reports.map(|report| report.map(|report| (report.step, report.value))).collect()
    }

    #[test]
    fn what_is_printed_once_goes_with_the_next_report_or_with_the_last() {
        let names = ["latency".to_owned(), "size".to_owned()];
        let latencies = |lines: &[&str]| {
            let source = MetricSource::parse("acc").expect("a name");
            let reader = ReportReader::new(source, 0).with_resource(2).with_once(&names);
            let (reports, _) = reader.read_all(&lines.join("\n"));
            let number = serde_json::Value::as_f64;
            let of = |report: super::Read| {
                let report = report.expect("it is a report");
                (
                    report.step,
                    report.metrics.get("latency").and_then(number),
                    report.metrics.get("size").and_then(number),
                )
            };
            reports.into_iter().map(of).collect::<Vec<_>>()
        };
        let epochs = ["epoch 1 acc=0.5", "epoch 2 acc=0.6"];
        assert_eq!(
            latencies(&["latency: 12.5 ms", epochs[0], "size=7", epochs[1]]),
            [(1, Some(12.5), None), (2, None, Some(7.0))]
        );
        assert_eq!(
            latencies(&[epochs[0], epochs[1], "saved", "latency=3 size=7", "latency=9"]),
            [(1, None, None), (2, Some(3.0), Some(7.0))]
        );
        // epochs that count from 0
        assert_eq!(
            latencies(&["epoch 0 acc=0.5", "epoch 1 acc=0.6", "latency=3 size=7"]),
            [(0, None, None), (1, Some(3.0), Some(7.0))]
        );
        // one never comes: the end releases what waited for it
        assert_eq!(latencies(&[epochs[0], epochs[1], "size=7"]), [(1, None, None), (2, None, Some(7.0))]);
        // beside the metric, nothing waits
        assert_eq!(
            latencies(&["acc=0.5 latency=3 size=7", "acc=0.6"]),
            [(1, Some(3.0), Some(7.0)), (2, None, None)]
        );
    }

    #[test]
    fn reads_the_reports_and_nothing_else() {
        let cases = [
            (r#"{"foretell":{"step":3,"val_acc":0.71}}"#, Some((3, Some(0.71)))),
            (r#"{ "foretell" : {"val_acc": 0.71, "step": 3.0}}"#, Some((3, Some(0.71)))),
            (r#"12:30 INFO {"foretell":{"step":3,"val_acc":0.71}} done"#, Some((3, Some(0.71)))),
            (r#"{"time":5,"foretell":{"step":3,"val_acc":0.71}}"#, Some((3, Some(0.71)))),
            (r#"{"foretell":{"val_acc":0.71}}"#, Some((1, Some(0.71)))),
            (r#"{"foretell":{"step":3,"val_acc":null}}"#, Some((3, None))),
            (r#"{"foretell":{"step":3,"val_acc":"NaN"}}"#, Some((3, None))),
            (r#"{"foretell":{"step":3,"val_acc":"-Infinity"}}"#, Some((3, None))),
            (r#"{"foretell":{"step":3,"val_acc":NaN}}"#, Some((3, None))), // as Python's json prints it
            (r#"{"foretell":{"step":3,"val_acc":-Infinity}}"#, Some((3, None))),
            (r#"{"foretell":{"step":3,"val_acc":0.5,"note":"a \" NaN","loss":NaN}}"#, Some((3, Some(0.5)))),
            ("", None),
            ("val_acc=0.71", Some((1, Some(0.71)))),
            (r#"the word "foretell": no report"#, None),
            (r#"{"foretells":{"loss":1}}"#, None),
            (r#"{"inner":{"a":"foretell"}}"#, None),
        ];
        for (line, expected) in cases {
            let expected: Vec<_> = expected.into_iter().map(Ok).collect();
            assert_eq!(read(Some("val_acc"), &[line]), expected, "{line}");
        }
    }

    #[test]
    fn keeps_the_other_metrics() {
        let mut reader = ReportReader::new(MetricSource::parse("acc").expect("a name"), 0);
        let line = br#"{"foretell":{"step":1,"acc":0.5,"loss":1.25,"note":"a NaN in quotes","lr":NaN}}"#;
        let report = reader.read(line).remove(0).expect("a report");
        let expected = serde_json::json!({"acc":0.5,"loss":1.25,"note":"a NaN in quotes","lr":null});
        assert_eq!(serde_json::Value::Object(report.metrics), expected);
    }

    #[test]
    fn a_line_that_should_be_a_report_is_never_passed_over_in_silence() {
        let cases = [
            (Some("acc"), r#"{"foretell":{"step":3,"acc":0.7"#, "not JSON"),
            (Some("acc"), r#"{"foretell":0.7}"#, "no object"),
            (Some("acc"), r#"{"foretell":{"step":3,"loss":0.7,"lr":1}}"#, "no field `acc`, it has loss, lr"),
            (Some("acc"), r#"{"foretell":{"step":3}}"#, "none besides the step"),
            (Some("acc"), r#"{"foretell":{"step":-1,"acc":0.7}}"#, "step `-1`"),
            (Some("acc"), r#"{"foretell":{"step":1.5,"acc":0.7}}"#, "step `1.5`"),
            (Some("acc"), r#"{"foretell":{"step":1,"acc":true}}"#, "`true` is no number"),
            (Some("acc"), r#"{"foretell":{"step":1,"acc":"high"}}"#, "no number"),
            (None, r#"{"foretell":{"step":1,"acc":0.5,"loss":1}}"#, "any of acc, loss"),
        ];
        for (metric, line, expected) in cases {
            let reports = read(metric, &[line]);
            let [Err(problem)] = &reports[..] else { panic!("{line} gave {reports:?}") };
            assert!(problem.to_string().contains(expected), "{line} gave {problem}");
        }
    }

    #[test]
    fn steps_that_are_not_named_count_up_from_the_last() {
        let lines =
            [r#"{"foretell":{"acc":1}}"#, r#"{"foretell":{"acc":2,"step":7}}"#, r#"{"foretell":{"acc":3}}"#];
        let steps: Vec<_> =
            read(None, &lines).into_iter().map(|report| report.expect("a report").0).collect();
        assert_eq!(steps, [1, 7, 8]);
        let reports = read(Some(r"acc=(\d+)"), &["acc=1", "nothing", "acc=2 acc=3"]);
        let steps: Vec<_> = reports.into_iter().map(|report| report.expect("a report").0).collect();
        assert_eq!(steps, [1, 2, 3]);
        let mut resumed = ReportReader::new(MetricSource::default(), 10);
        assert_eq!(resumed.read(lines[0].as_bytes()).remove(0).expect("a report").step, 11);
    }

    /// Lines with their ends, as (step, value).
    fn reports(metric: &str, whole: u64, output: &str) -> Vec<(u64, Option<f64>)> {
        let source = MetricSource::parse(metric).expect("a metric");
        let (reports, _) = ReportReader::new(source, 0).with_resource(whole).read_all(output);
        reports
            .into_iter()
            .map(|report| report.expect("a report"))
            .map(|report| (report.step, report.value))
            .collect()
    }

    #[test]
    fn a_named_metric_is_found_wherever_its_name_stands_beside_a_number() {
        let cases: [(&str, &[(u64, f64)]); 9] = [
            ("val_acc=0.5\nval_acc=0.6\n", &[(1, 0.5), (2, 0.6)]),
            ("{\"epoch\": 3, \"val_acc\": 0.71}\n", &[(3, 0.71)]),
            ("{'val_acc': '0.5', 'epoch': '2.0'}\n", &[(2, 0.5)]),
            (
                "Epoch 1/3\n9/9 - loss: 1.0 - val_acc: 0.5\nEpoch 2/3\n9/9 - val_acc: 0.6\n",
                &[(1, 0.5), (2, 0.6)],
            ),
            ("\x1b[32mepoch 1 val_acc 0.5\x1b[0m\n", &[(1, 0.5)]),
            ("epoch,loss,val_acc\n1,0.9,0.5\n2,0.8,0.6\n", &[(1, 0.5), (2, 0.6)]),
            ("epoch 1 val_acc 0.5\nbest val_acc: 0.5\n", &[(1, 0.5)]),
            ("train_val_acc=0.3\nval_acc_top5=0.9\n", &[]),
            // a report line silences the rest
            ("{\"foretell\":{\"step\":1,\"val_acc\":0.5}}\nval_acc=0.6\n", &[(1, 0.5)]),
        ];
        for (output, expected) in cases {
            let expected: Vec<_> = expected.iter().map(|&(step, value)| (step, Some(value))).collect();
            assert_eq!(reports("val_acc", 3, output), expected, "{output}");
        }
    }

    #[test]
    fn a_number_above_the_reports_is_their_epoch_only_if_it_grows_with_them() {
        let settings = ["Namespace(lr=0.1, epochs=4)", "Namespace(lr=0.1, epoch=4)", "epoch: 4\nstep: 400"];
        for first in settings {
            let output = format!("{first}\nval_acc=0.5\nval_acc=0.6\n");
            assert_eq!(reports("val_acc", 4, &output), [(1, Some(0.5)), (2, Some(0.6))], "{first}");
            let alone = format!("{first}\nval_acc=0.5\n");
            assert_eq!(reports("val_acc", 4, &alone), [(1, Some(0.5))], "{first}");
        }
        let every_fifth = "epoch 5\nval_acc=0.5\nepoch 10\nval_acc=0.6\nval_acc=0.7\n";
        assert_eq!(reports("val_acc", 20, every_fifth), [(5, Some(0.5)), (10, Some(0.6)), (11, Some(0.7))]);
        let after_settings = "Namespace(epoch=9)\nepoch 1\nval_acc=0.5\nepoch 2\nval_acc=0.6\n";
        assert_eq!(reports("val_acc", 9, after_settings), [(1, Some(0.5)), (2, Some(0.6))]);
        let resumed = "Epoch 31/40\nval_acc=0.5\nEpoch 32/40\nval_acc=0.6\n";
        assert_eq!(reports("val_acc", 40, resumed), [(31, Some(0.5)), (32, Some(0.6))]);
    }

    #[test]
    fn of_an_epoch_named_in_parts_the_last_value_counts() {
        let lines = "{'loss': 3.0, 'epoch': 0.5}\n{'loss': 2.0, 'epoch': 0.9}\n{'eval': 1, 'epoch': 1.0}\n{'loss': 1.0, 'epoch': 1.5}\n{'loss': 0.5, 'epoch': 2.0}\n{'loss': 0.4, 'epoch': 2.5}\n";
        assert_eq!(reports("loss", 3, lines), [(1, Some(2.0)), (2, Some(0.5)), (3, Some(0.4))]);
    }

    #[test]
    fn maps_of_yaml_and_names_with_capitals_are_read() {
        assert_eq!(reports("val_acc", 3, "{epoch: 3, val_acc: 0.7}\n"), [(3, Some(0.7))]);
        assert_eq!(
            reports("mIoU", 3, "Epoch 1: mIoU: 0.5\nEpoch 2: mIoU: 0.61\n"),
            [(1, Some(0.5)), (2, Some(0.61))]
        );
    }

    #[test]
    fn of_a_bar_within_an_epoch_the_last_value_counts() {
        let lightning = "Epoch 0:  50%|# | 1/2 [0:1, acc=0.1]\rEpoch 0: 100%|##| 2/2 [0:1, acc=0.2]\rEpoch 1:  50%|# | 1/2 [acc=0.3]\rEpoch 1: 100%|##| 2/2 [acc=0.4]\n";
        assert_eq!(reports("acc", 10, lightning), [(0, Some(0.2)), (1, Some(0.4))]);
        let keras =
            "Epoch 1/2\n1/2 acc: 0.1\r2/2 acc: 0.2 - val_acc: 0.3\n\nEpoch 2/2\n1/2 acc: 0.4\r2/2 acc: 0.5\n";
        assert_eq!(reports("acc", 2, keras), [(1, Some(0.2)), (2, Some(0.5))]);
        let epochs = "\r  0%|  | 0/3 [0:0]\r 33%|# | 1/3 [0:1, acc=0.1]\r 33%|# | 1/3 [0:1, acc=0.2]\r 67%|# | 2/3 [0:2, acc=0.2]\r100%|##| 3/3 [0:3, acc=0.3]\n";
        assert_eq!(reports("acc", 3, epochs), [(1, Some(0.1)), (2, Some(0.2)), (3, Some(0.3))]);
        let pattern = r"acc=([\d.]+)";
        assert_eq!(reports(pattern, 3, "acc=0.1\racc=0.2\n"), [(1, Some(0.2))]);
    }

    #[test]
    fn several_metrics_of_a_line_are_kept() {
        for metric in ["acc", r"acc=([\d.]+)"] {
            let mut reader = ReportReader::new(MetricSource::parse(metric).expect("a metric"), 0);
            let report = reader.read(b"epoch=1 acc=0.5 loss=1.25").remove(0).expect("a report");
            assert_eq!(serde_json::Value::Object(report.metrics), serde_json::json!({"acc":0.5,"loss":1.25}));
        }
    }

    #[test]
    fn what_was_printed_instead_of_the_metric_is_remembered() {
        let mut reader = ReportReader::new(MetricSource::parse("accuracy").expect("a name"), 0);
        for epoch in 1..=3 {
            assert!(reader.read(format!("epoch {epoch}: loss 0.{epoch} acc 0.7").as_bytes()).is_empty());
        }
        let seen = reader.seen().expect("no report yet");
        assert_eq!((seen.epochs, seen.text().as_str()), (3, "acc 0.7, loss 0.3"));
    }
}

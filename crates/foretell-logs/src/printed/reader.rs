//! Reads a training's reports from its output: line by line while it runs, or all of it at once.

use super::collector::{MetricFilter, SeriesCollector};
use super::line::LabeledNumber;
use super::number::DecimalNotation;
use super::once::OneTimeValues;
use super::protocol::{MetricSource, read_json};
use super::report::{Report, ReportProblem};
use super::series::{ChosenSeries, CollectedSeries, MetricName, SeriesChoice, SeriesRecord, SeriesUnit};
use super::settle::{ReportSettler, SettleEvent, copies, is_late, notation, unit};
use super::traceback::TracebackTracker;
use std::collections::{BTreeMap, BTreeSet};

/// How many names are kept to be suggested.
const MAX_CANDIDATE_NAMES: usize = 30;
/// How many numbers of each name are kept.
const NUMBERS_PER_NAME: usize = 3;
/// The most records that are held back until a series is chosen.
const MAX_HELD_RECORDS: usize = 1_000;
/// So many values that are counted show that they are not printed twice.
const MIN_COUNTED_VALUES: usize = 4;

/// So few values of so many epochs are noted.
const MAX_SPARSE_VALUES: usize = 2;
const MIN_SPARSE_EPOCHS: u64 = 10;

/// The note on a value after that of the last epoch.
const TRAILING_VALUE_NOTE: &str = "the last epoch is followed by another value, for example that of a test or of the best model, which is left out";

/// A report, or why a line that should be one cannot be used.
pub type ReportResult = Result<Report, ReportProblem>;

/// Printed values that could be the metric.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MetricCandidates {
    /// Names with the first two numbers and the last one next to each.
    pub numbers: BTreeMap<String, Vec<f64>>,
    /// How many epochs, or steps, were named.
    pub epochs: u64,
    last_epoch: Option<f64>,
}

impl MetricCandidates {
    fn take(&mut self, fields: &[LabeledNumber], epoch: Option<f64>) {
        for field in fields.iter().filter(|field| !field.is_past) {
            let (name, value) = (field.name(), field.reading.value(DecimalNotation::Point));
            if value.is_finite()
                && (self.numbers.len() < MAX_CANDIDATE_NAMES || self.numbers.contains_key(name))
            {
                let numbers = self.numbers.entry(name.to_owned()).or_default();
                numbers.truncate(NUMBERS_PER_NAME - 1);
                numbers.push(value);
            }
        }
        // a part of an epoch is none
        let epoch = epoch.filter(|epoch| epoch.fract() == 0.0);
        if epoch.is_some() && epoch != self.last_epoch {
            (self.last_epoch, self.epochs) = (epoch, self.epochs + 1);
        }
    }

    /// The names, each with up to three of its numbers, for a message; empty if there are none.
    pub fn format_for_message(&self) -> String {
        let series = self.numbers.iter().map(|(name, numbers)| {
            let numbers: Vec<String> = numbers.iter().map(f64::to_string).collect();
            match numbers.as_slice() {
                [first, second, last] => format!("{name} {first}, {second} … {last}"),
                few => format!("{name} {}", few.join(", ")),
            }
        });
        series.collect::<Vec<_>>().join("; ")
    }
}

/// The reports of a complete output.
#[derive(Clone, Debug, Default)]
pub struct OutputReports {
    /// The reports, by ascending steps.
    pub reports: Vec<Report>,
    /// Lines that should be reports and cannot be used.
    pub problems: Vec<ReportProblem>,
    /// Notes about them, one sentence each.
    pub notes: Vec<String>,
    /// The printed values, if there is no report.
    pub seen: MetricCandidates,
    /// The number of epochs that the program announced: 8 for `Epoch 0/7` to `Epoch 7/7`.
    pub epochs: Option<u64>,
    /// What the steps of the reports count.
    pub unit: StepUnit,
    /// The series that is read, for the trials that follow; `None` for report lines and patterns.
    pub chosen: Option<ChosenSeries>,
    /// Whether the steps go back, as in a resumed training. Here the later values count; a search keeps the ones that it has recorded.
    pub goes_back: bool,
    /// Each training in the output, in order: folds, stages and restarts. `reports` are those of the last one.
    pub trainings: Vec<Vec<Report>>,
}

/// What the steps of reports count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StepUnit {
    /// Epochs that the output names.
    #[default]
    Epoch,
    /// Updates, iterations or timesteps that it names.
    Step,
    /// The reports themselves: it names neither.
    Report,
}

impl StepUnit {
    fn new(unit: SeriesUnit) -> Self {
        match unit {
            SeriesUnit::Epoch | SeriesUnit::Bar | SeriesUnit::Tick => Self::Epoch,
            SeriesUnit::Step => Self::Step,
            SeriesUnit::Count => Self::Report,
        }
    }
}

/// Reads one trial's output, line by line; chooses the series that its metric's name means, and settles its epochs.
#[derive(Clone, Debug)]
pub struct ReportReader {
    source: MetricSource,
    /// The last step that was reported.
    step: u64,
    /// The step of the last report line.
    reported: Option<u64>,
    /// The step that it resumed from.
    from: u64,
    /// The resource of a whole training.
    whole: Option<u64>,
    /// Whether the trial writes report lines; then nothing else is a report.
    enveloped: bool,
    collector: SeriesCollector,
    /// Records that may be the metric, until its series is chosen.
    held: Vec<SeriesRecord>,
    /// The series of an earlier trial.
    earlier: Option<ChosenSeries>,
    choice: Option<SeriesChoice>,
    chosen: Option<ChosenSeries>,
    settler: Option<ReportSettler>,
    /// How many trainings came before the present one, in the same output: folds, stages or repeats.
    training: u64,
    seen: Option<MetricCandidates>,
    /// Values that the trial prints once, in lines without the metric.
    once: OneTimeValues,
    notes: Vec<String>,
    goes_back: bool,
    has_news: bool,
    traceback: TracebackTracker,
}

impl ReportReader {
    /// A reader for a trial that resumes after step `resumed_at` (0 for one that starts from the beginning).
    pub fn new(source: MetricSource, resumed_at: u64) -> Self {
        let wanted = match &source {
            MetricSource::Json { field: None } => MetricFilter::All,
            MetricSource::Json { field: Some(name) } => MetricFilter::Name(MetricName::new(name)),
            MetricSource::Pattern(pattern) => MetricFilter::Pattern(pattern.clone()),
        };
        Self {
            source,
            step: resumed_at,
            reported: None,
            from: resumed_at,
            whole: None,
            enveloped: false,
            collector: SeriesCollector::new(wanted),
            held: Vec::new(),
            earlier: None,
            choice: None,
            chosen: None,
            settler: None,
            training: 0,
            seen: Some(MetricCandidates::default()),
            once: OneTimeValues::default(),
            notes: Vec::new(),
            goes_back: false,
            has_news: false,
            traceback: TracebackTracker::default(),
        }
    }

    /// Removes the filter: the reader reads every line.
    #[cfg(test)]
    pub(crate) fn with_every_line(mut self) -> Self {
        self.collector.read_every_line();
        self
    }

    /// Sets the length of a whole training, `resource` epochs.
    #[must_use]
    pub fn with_resource(self, resource: u64) -> Self {
        Self { whole: Some(resource), ..self }
    }

    /// Reads the series that was `chosen` for an earlier trial, as far as there is one like it.
    #[must_use]
    pub fn with_chosen_series(mut self, chosen: Option<ChosenSeries>) -> Self {
        chosen.iter().for_each(|chosen| self.follow_series(chosen));
        self
    }

    /// Reads the series that was `chosen` for another trial from here on, unless one is read already.
    pub fn follow_series(&mut self, chosen: &ChosenSeries) {
        if self.earlier.is_none() {
            self.collector.expect(chosen);
            self.earlier = Some(chosen.clone());
        }
    }

    /// Also reads the values `names` from lines without the metric, once each: the next report has them. The report of the last epoch waits
    /// for values that are missing until the output ends.
    #[must_use]
    pub fn with_one_time_values(self, names: &[String]) -> Self {
        Self { once: OneTimeValues::new(names), ..self }
    }

    /// The last step that was reported, or that it resumed from.
    pub fn last_step(&self) -> u64 {
        self.step
    }

    /// Whether nothing that was read waits for later lines: another reader that resumes after this step would go on alike.
    pub fn is_resumable(&self) -> bool {
        let is_read = self.enveloped || self.settler.as_ref().is_some_and(ReportSettler::is_settled);
        is_read && self.held.is_empty() && !self.collector.is_open() && !self.once.is_holding()
    }

    /// Reads the first line of a file whose later lines are read: the header of a table. A line with a value is left out, because it was
    /// reported.
    pub fn read_header(&mut self, line: &[u8]) {
        // on a copy, so that a line that turns out to be a report leaves no trace
        let mut tried = self.clone();
        let mut read = tried.read(line);
        // a value in a line of its own waits for the lines below
        read.extend(tried.flush());
        if read.is_empty() && !tried.has_candidate() {
            self.read(line);
        }
    }

    /// Whether any line can be a report, and not only one of the trial protocol.
    pub fn reads_any_line(&self) -> bool {
        !matches!(self.source, MetricSource::Json { field: None })
    }

    /// The printed values, if the trial has not reported; otherwise `None`.
    pub fn candidates(&self) -> Option<&MetricCandidates> {
        self.seen.as_ref().filter(|_| !self.has_candidate())
    }

    /// Whether a value that is or may be the metric has come.
    pub fn has_candidate(&self) -> bool {
        self.enveloped || self.settler.is_some() || !self.held.is_empty()
    }

    /// The series that is read, for the trials that follow; `None` while it is not chosen, and if a pattern defines it.
    pub fn chosen_series(&self) -> Option<&ChosenSeries> {
        self.chosen.as_ref().filter(|_| matches!(self.source, MetricSource::Json { .. }))
    }

    /// New notes, one sentence each. Each note is returned once.
    pub fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    /// Whether a value of the metric has come since this was asked last, be it certain or not.
    pub fn poll_new_value(&mut self) -> bool {
        std::mem::take(&mut self.has_news)
    }

    /// The reports that are certain once `line`, without its newline, is read.
    pub fn read(&mut self, line: &[u8]) -> Vec<ReportResult> {
        self.read_line(line, false)
    }

    /// Reads a line that the next one is drawn over, as progress bars are.
    pub fn read_transient(&mut self, line: &[u8]) -> Vec<ReportResult> {
        self.read_line(line, true)
    }

    fn read_line(&mut self, line: &[u8], is_transient: bool) -> Vec<ReportResult> {
        let settled = match self.consume_line(line, is_transient) {
            Some(report) => {
                report.iter().for_each(|report| self.note_step_decrease(report));
                vec![report]
            }
            None => self.settle(),
        };
        let is_report = !settled.is_empty();
        let mut read = self.pass(settled);
        if !is_report && self.once.is_waiting() {
            read.extend(self.once.see(&self.collector.last).map(Ok));
        }
        read
    }

    /// Reads a line of a stream or of a whole output: returns the report of the trial protocol in it, or collects its records.
    fn consume_line(&mut self, line: &[u8], is_transient: bool) -> Option<ReportResult> {
        let report = self.parse_report_line(line);
        // a trial with report lines may print its metric for people, too, which must not count twice
        if self.enveloped {
            return report;
        }
        if self.traceback.contains(line) {
            return None;
        }
        self.collector.is_watched = self.once.is_waiting() || (self.seen.is_some() && !self.has_candidate());
        self.collector.take(line, is_transient, &mut self.held);
        if let Some(seen) = &mut self.seen {
            let place = self.collector.last_place;
            seen.take(&self.collector.last, place.epoch.or(place.step));
        }
        None
    }

    /// The report in a line of the trial protocol.
    fn parse_report_line(&mut self, line: &[u8]) -> Option<ReportResult> {
        const REPORT_MARK: &[u8] = b"\"foretell\"";
        let MetricSource::Json { field } = &self.source else { return None };
        if !line.contains(&b'{') || !line.windows(REPORT_MARK.len()).any(|part| part == REPORT_MARK) {
            return None;
        }
        let report = read_json(line, field.as_deref(), self.step)?;
        self.enveloped = true;
        self.has_news = true;
        Some(report)
    }

    /// Takes the records that the collector holds ready, and returns the reports that they make certain.
    fn settle(&mut self) -> Vec<ReportResult> {
        let mut read: Vec<ReportResult> = self.collector.problems.drain(..).map(Err).collect();
        let ready = std::mem::take(&mut self.collector.ready);
        if matches!(self.source, MetricSource::Json { field: None }) {
            return read;
        }
        let is_new = !ready.is_empty();
        self.has_news |= is_new;
        if self.settler.is_some() {
            read.extend(ready.iter().flat_map(|record| self.take(record)));
            return read;
        }
        self.held.extend(ready);
        if is_new && self.is_choice_clear() {
            read.extend(self.choose());
        }
        read
    }

    /// Adds to reports the values that the trial prints once, and keeps count of the steps.
    fn pass(&mut self, read: Vec<ReportResult>) -> Vec<ReportResult> {
        let mut passed = Vec::with_capacity(read.len());
        for read in read {
            match read {
                // a further training has steps of its own, which must not move the trial's
                Ok(report) if report.training > 0 => passed.push(Ok(report)),
                Ok(report) => {
                    (self.step, self.seen) = (report.step, None);
                    passed.extend(self.once.pass(report, self.whole).into_iter().map(Ok));
                }
                Err(problem) => passed.push(Err(problem)),
            }
        }
        passed
    }

    /// The series to read, and the records of it that are held.
    fn best_choice(&self) -> Option<SeriesChoice> {
        let series = &self.collector.series;
        if let Some(earlier) = &self.earlier {
            let fits: Vec<u8> =
                (0..series.len()).map(|index| self.collector.chosen(earlier, index)).collect();
            if let Some(primary) = [2, 1].iter().find_map(|fit| fits.iter().position(|own| own == fit)) {
                let secondary = (0..fits.len()).filter(|&index| fits[index] == 1 && index != primary);
                return Some(SeriesChoice { primary, secondary: secondary.collect(), others: Vec::new() });
            }
        }
        match &self.source {
            MetricSource::Json { field: Some(name) } => MetricName::new(name).choose(series),
            MetricSource::Pattern(_) => (!series.is_empty()).then(|| SeriesChoice {
                primary: 0,
                secondary: Vec::new(),
                others: Vec::new(),
            }),
            MetricSource::Json { field: None } => None,
        }
    }

    /// The series of an earlier trial, if `choice` is that one.
    fn matching_earlier_series(&self, choice: &SeriesChoice) -> Option<&ChosenSeries> {
        let key = &self.collector.series[choice.primary].key;
        self.earlier.as_ref().filter(|earlier| earlier.fit(key) > 0)
    }

    fn records_of_series(&self, index: usize) -> Vec<&SeriesRecord> {
        self.held.iter().filter(|record| record.series == index).collect()
    }

    /// Whether the output so far shows which series to read, and the unit of its steps.
    fn is_choice_clear(&self) -> bool {
        let Some(choice) = self.best_choice() else { return false };
        let records = self.records_of_series(choice.primary);
        let Some(first) = records.first() else { return false };
        if self.matching_earlier_series(&choice).is_some() || self.held.len() >= MAX_HELD_RECORDS {
            return true;
        }
        if self.collector.series[choice.primary].key.is_batched
            || records.iter().all(|record| record.is_transient)
        {
            // the line of the epoch may be still to come: the whole output shows it
            return false;
        }
        let is_alone = choice.others.is_empty();
        let series = &self.collector.series;
        if let MetricSource::Json { field: Some(name) } = &self.source
            && MetricName::new(name).has_rival(series, &series[choice.primary])
        {
            return false;
        }
        let is_pattern = matches!(self.source, MetricSource::Pattern(_));
        let enough = 3;
        match unit(&records, self.from) {
            SeriesUnit::Epoch => {
                // a pattern has one series, so that its first value with an epoch cannot be of another one
                (is_pattern && first.is_own && first.place.batch.is_none())
                    || self.count_held_places(|record| record.place.epoch) >= enough
            }
            SeriesUnit::Step => {
                let goes_back = records.windows(2).any(|pair| pair[0].place.step > pair[1].place.step);
                // the numbers of ranks look like steps
                let may_be_ranks = goes_back || records.iter().all(|record| record.reading == first.reading);
                self.count_held_places(|record| record.place.step) >= enough
                    && series[choice.primary].places >= 2
                    && !may_be_ranks
            }
            SeriesUnit::Bar | SeriesUnit::Tick => {
                self.count_held_places(|record| record.place.batch) >= enough
            }
            // a heading may come late, and a value may come from several ranks
            SeriesUnit::Count => {
                // the first parts of an epoch may be those of the only one
                if records.iter().any(|record| record.place.epoch.is_some_and(|epoch| epoch.fract() != 0.0)) {
                    return false;
                }
                let copies = records.iter().take_while(|record| record.reading == first.reading).count();
                is_pattern
                    || (copies == 1 && records.len() >= if is_alone { 2 } else { MIN_COUNTED_VALUES })
                    || (copies > 1 && records.len() > MIN_COUNTED_VALUES.max(2 * copies))
            }
        }
    }

    /// The number of different places, such as epochs, of the held records.
    fn count_held_places(&self, place: fn(&SeriesRecord) -> Option<f64>) -> usize {
        let places: BTreeSet<u64> =
            self.held.iter().filter_map(place).map(|place| place.ceil() as u64).collect();
        places.len()
    }

    /// Chooses the series and settles the held records.
    fn choose(&mut self) -> Vec<ReportResult> {
        if let Err(problem) = self.select_series(true) {
            return vec![Err(problem)];
        }
        let held = std::mem::take(&mut self.held);
        held.iter().flat_map(|record| self.take(record)).collect()
    }

    /// Chooses the series, by the held records.
    fn select_series(&mut self, live: bool) -> Result<(), ReportProblem> {
        let Some(choice) = self.best_choice() else { return Ok(()) };
        let records = self.records_of_series(choice.primary);
        let series = &self.collector.series[choice.primary];
        let earlier = self.matching_earlier_series(&choice).filter(|_| live);
        let unit = earlier.map_or_else(|| unit(&records, self.from), |earlier| earlier.unit);
        let mut chosen = ChosenSeries::new(&series.key, unit);
        match notation(&records, self.collector.notations) {
            Ok(notation) => chosen.comma = notation == DecimalNotation::Comma,
            Err(_) if earlier.is_some() => {}
            Err(problem) => return Err(problem),
        }
        chosen.copies = if unit == SeriesUnit::Count { copies(&records, MIN_COUNTED_VALUES) } else { 1 };
        chosen.late = earlier.map_or_else(|| is_late(&records), |earlier| earlier.late);
        chosen.single = !unit.is_bar_tick()
            && series.repeats == 0
            && series.places >= 3
            && !series.key.is_batched
            && !records.iter().any(|record| record.is_transient);
        if let Some(earlier) = earlier {
            chosen.single |= earlier.single;
            (chosen.comma, chosen.copies) = (chosen.comma || earlier.comma, earlier.copies);
        }
        // where lines name their steps themselves, a line above them without one is no report: code, a setting
        let takes_first = records.iter().any(|record| record.place.is_named() && !record.is_placed);
        let is_within = unit == SeriesUnit::Count
            && records.len() > 1
            && (records.iter().any(|record| record.place.epoch.is_some_and(|epoch| epoch.fract() != 0.0))
                || records.iter().all(|record| record.place.epochs == Some(1.0)));
        self.notes.extend(self.choice_note(&choice));
        if is_within {
            self.notes.push("all values lie within one epoch, so they are counted: 1, 2, 3".to_owned());
        }
        if chosen.copies > 1 {
            let times =
                if chosen.copies == 2 { "twice".to_owned() } else { format!("{} times", chosen.copies) };
            self.notes.push(format!(
                "each value is printed {times}, for example by several log handlers or ranks. Duplicates are ignored"
            ));
        }
        if chosen.late {
            self.notes.push("the progress bar shows each value in the line of the next epoch, so it counts for the epoch before".to_owned());
        }
        self.collector.describe(&mut chosen);
        let mut read = chosen.clone();
        // in a whole output all values of an epoch are known, so that none is taken before the last
        read.single &= live;
        let mut settler = ReportSettler::new(read, self.from, live);
        settler.takes_first = takes_first;
        self.settler = Some(settler);
        (self.chosen, self.choice) = (Some(chosen), Some(choice));
        Ok(())
    }

    /// The note on a choice among several.
    fn choice_note(&self, choice: &SeriesChoice) -> Option<String> {
        let series = &self.collector.series;
        let MetricSource::Json { field: Some(name) } = &self.source else { return None };
        let read = &series[choice.primary];
        let mut others: Vec<&CollectedSeries> = choice.others.iter().map(|&other| &series[other]).collect();
        others.retain(|other| other.title() != read.title());
        let mut titles: Vec<String> = others.iter().map(|other| other.title()).collect();
        titles.dedup();
        titles.truncate(5);
        let other = others.first()?;
        Some(format!(
            "more than one series is named `{name}`: {} is read, not {}. To read another, set a template of its line, for example --metric '{}'",
            read.title(),
            titles.join(", "),
            super::template::distinguishing_template(&other.example, &other.key.label)
        ))
    }

    /// The results of one more record, if it is of the chosen series, or of one that differs in the form of its lines alone.
    fn settle_record(&mut self, record: &SeriesRecord) -> Vec<SettleEvent> {
        let (Some(settler), Some(choice), Some(chosen)) = (&mut self.settler, &self.choice, &self.chosen)
        else {
            return Vec::new();
        };
        let is_primary = record.series == choice.primary;
        let series = &self.collector.series;
        let (key, own) = (&series[record.series].key, &series[choice.primary].key);
        if is_primary || chosen.fit(key) > 0 && key.is_past == own.is_past {
            settler.take(record, is_primary)
        } else {
            Vec::new()
        }
    }

    /// The reports that are certain by one more record.
    fn take(&mut self, record: &SeriesRecord) -> Vec<ReportResult> {
        let mut read = Vec::new();
        for settled in self.settle_record(record) {
            match settled {
                SettleEvent::Report(report) => read.push(Ok(Report { training: self.training, ..report })),
                SettleEvent::Back { restarts: true, .. } => self.training += 1,
                SettleEvent::Back { at, after, .. } => self.note(steps_back_note(at, after)),
                SettleEvent::Again { at } => self.note(format!(
                    "step {at} was reported again with another value, and only the first is kept. Set a template of the correct line, for example --metric 'val acc: {{value}}'"
                )),
                SettleEvent::NotDoubled => self.note("values that seemed to be printed more than once now differ, so each one counts".to_owned()),
            }
        }
        read
    }

    /// Notes report lines whose steps do not rise.
    fn note_step_decrease(&mut self, report: &Report) {
        if report.metrics.contains_key(super::protocol::FOLD_FIELD) {
            return; // each fold counts its own steps
        }
        if self.reported.replace(report.step).is_some_and(|last| report.step <= last) {
            self.note("the steps of report lines go back or repeat, and each step counts only once. Print a step that rises with each report".to_owned());
        }
    }

    /// Notes it if nearly all epochs of the output have no value.
    fn note_sparse_values(&mut self, values: usize) {
        let named = self.collector.named;
        if (1..=MAX_SPARSE_VALUES).contains(&values) && named >= MIN_SPARSE_EPOCHS {
            self.note(format!("only {values} of {named} epochs contain a value: the lines of the others may stand under other headings"));
        }
    }

    fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// The reports that were not certain before the end.
    pub fn flush(&mut self) -> Vec<ReportResult> {
        self.collector.finish();
        let mut read = self.settle();
        if self.settler.is_none() && !self.held.is_empty() {
            read.extend(self.choose());
        }
        let (last, left_out) = self.settler.as_mut().map(ReportSettler::end).unwrap_or_default();
        self.check_choice(left_out);
        if left_out {
            self.note(TRAILING_VALUE_NOTE.to_owned());
        }
        read.extend(last.map(|last| Ok(Report { training: self.training, ..last })));
        let mut passed = self.pass(read);
        passed.extend(self.once.release().map(Ok));
        passed
    }

    /// Notes it if the whole output would have another series read than its start.
    fn check_choice(&mut self, left_out: bool) {
        let (Some(choice), None, MetricSource::Json { field: Some(name) }) =
            (&self.choice, &self.earlier, &self.source)
        else {
            return;
        };
        let series = &self.collector.series;
        let again = MetricName::new(name).choose(series);
        let repeats = self.repeats(choice).filter(|_| !left_out);
        let late = again.as_ref().filter(|again| choice.others.is_empty() && again.primary == choice.primary);
        let late = late.and_then(|again| self.choice_note(again));
        repeats.into_iter().chain(late).for_each(|note| self.note(note));
        let (series, Some(choice)) = (&self.collector.series, &self.choice) else { return };
        if let (Some(again), Some(chosen)) = (again, &self.chosen)
            && chosen.fit(&series[again.primary].key) == 0
        {
            let (read, other) = (&series[choice.primary], &series[again.primary]);
            self.note(format!(
                "{} was read from the first epochs on, but the whole output also contains {}. If that is the metric, search again with --metric '{}'",
                read.title(),
                other.title(),
                super::template::distinguishing_template(&other.example, &other.key.label)
            ));
        }
    }

    /// The note if some epochs have a second value.
    fn repeats(&self, choice: &SeriesChoice) -> Option<String> {
        let series = &self.collector.series[choice.primary];
        let few = series.repeats > 0 && !series.is_many() && !series.key.is_batched;
        if series.is_many()
            && !series.key.is_batched
            && self.chosen.as_ref().is_some_and(|chosen| chosen.unit == SeriesUnit::Epoch)
        {
            return Some(
                "most epochs contain several values, and the last one of each epoch counts".to_owned(),
            );
        }
        few.then(|| "an epoch is reported more than once, for example after a restart. The later value replaces the earlier, unless that was already used".to_owned())
    }

    /// The reports of the first training of a complete output that is read line by line, as a search reads it.
    pub fn read_lines(mut self, text: &str) -> Vec<Report> {
        let mut read = Vec::new();
        for (line, is_transient) in parts(text) {
            read.extend(self.read_line(line.as_bytes(), is_transient));
        }
        read.extend(self.flush());
        read.into_iter().flatten().filter(|report| report.training == 0).collect()
    }

    /// Reads `text`, a complete recorded output, including carriage returns: of several trainings the last one, of a resumed one the
    /// later values.
    pub fn read_all(mut self, text: &str) -> OutputReports {
        let mut whole = OutputReports::default();
        let mut runs: Vec<BTreeMap<u64, Report>> = vec![BTreeMap::new()];
        for (line, is_transient) in parts(text) {
            match self.consume_line(line.as_bytes(), is_transient) {
                Some(Ok(report)) => {
                    self.note_step_decrease(&report);
                    self.step = report.step;
                    runs[0].insert(report.step, report);
                }
                Some(Err(problem)) => whole.problems.push(problem),
                None => self.held.append(&mut self.collector.ready),
            }
        }
        self.collector.finish();
        whole.problems.append(&mut self.collector.problems);
        let left_out = if self.enveloped { false } else { self.settle_all(&mut whole.problems, &mut runs) };
        let repeats = self.choice.as_ref().and_then(|choice| self.repeats(choice));
        self.notes.extend(repeats.filter(|_| runs.len() == 1 && !left_out));
        self.notes.extend(left_out.then(|| TRAILING_VALUE_NOTE.to_owned()));
        let is_stray = matches!(&runs[..], [.., before, last] if last.len() == 1 && before.len() > 2);
        // a single value behind a training is that of a test or of the best model: it would otherwise be read instead of the
        // training
        if is_stray {
            runs.pop();
        }
        if runs.len() > 1 {
            self.notes.push(format!(
                "the steps start again: the output contains {} training runs in sequence (folds, stages or restarts), and the last one is read",
                runs.len()
            ));
        }
        whole.trainings = runs.into_iter().map(|run| run.into_values().collect()).collect();
        whole.reports = whole.trainings.last().cloned().unwrap_or_default();
        self.note_sparse_values(whole.reports.len());
        whole.goes_back = self.goes_back;
        whole.chosen = self.chosen_series().cloned();
        whole.unit = self.chosen.as_ref().map_or(StepUnit::default(), |chosen| StepUnit::new(chosen.unit));
        whole.seen = self.seen.filter(|_| whole.reports.is_empty()).unwrap_or_default();
        (whole.notes, whole.epochs) = (self.notes, self.collector.announced_epochs());
        whole
    }

    /// Chooses the series of a whole output and settles it; returns whether a last value was left out.
    fn settle_all(
        &mut self,
        problems: &mut Vec<ReportProblem>,
        runs: &mut Vec<BTreeMap<u64, Report>>,
    ) -> bool {
        self.held.append(&mut self.collector.ready);
        problems.extend(self.select_series(false).err());
        let held = std::mem::take(&mut self.held);
        let mut settled: Vec<SettleEvent> =
            held.iter().flat_map(|record| self.settle_record(record)).collect();
        let (last, left_out) = self.settler.as_mut().map(ReportSettler::end).unwrap_or_default();
        settled.extend(last.map(SettleEvent::Report));
        for settled in settled {
            match (settled, runs.last_mut()) {
                (SettleEvent::Report(report), Some(run)) => drop(run.insert(report.step, report)),
                (SettleEvent::Back { restarts: true, .. }, _) => runs.push(BTreeMap::new()),
                (SettleEvent::Back { at, after, .. }, Some(run)) => {
                    run.retain(|&step, _| step < at);
                    self.goes_back = true;
                    self.notes.push(steps_back_note(at, after));
                }
                _ => {}
            }
        }
        left_out
    }
}

/// The lines of an output, and whether the next one is drawn over each.
fn parts(text: &str) -> impl Iterator<Item = (&str, bool)> {
    text.split('\n').flat_map(|line| {
        let mut parts = line.trim_end_matches('\r').split('\r').peekable();
        std::iter::from_fn(move || parts.next().map(|part| (part, parts.peek().is_some())))
            .filter(|(part, is_transient)| !(*is_transient && part.is_empty()))
    })
}

/// The note if steps go back.
fn steps_back_note(at: u64, after: u64) -> String {
    format!(
        "the steps go back to {at} after {after}, as in a resumed training. Later values count where none was recorded"
    )
}

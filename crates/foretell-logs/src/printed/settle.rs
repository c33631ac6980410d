//! From the records of one series to reports: the last value of each epoch, once it is certain.

use super::number::{DecimalNotation, PrintedNumber};
use super::report::{Report, ReportProblem, whole_step};
use super::series::{ChosenSeries, SeriesRecord, SeriesUnit};

/// A result of the records of a series.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SettleEvent {
    Report(Report),
    /// The steps return to `at`, after they had reached `after`. A return to the first step `restarts` the run.
    Back {
        at: u64,
        after: u64,
        restarts: bool,
    },
    /// An epoch whose value was reported has another one.
    Again {
        at: u64,
    },
    /// Two values that should be the same one printed twice differ.
    NotDoubled,
}

/// The unit of the steps of `records`, for a training that continues after step `from`.
pub(crate) fn unit(records: &[&SeriesRecord], from: u64) -> SeriesUnit {
    let (epochs, different_epochs) = count_places(records, |record| record.place.epoch);
    let (steps, different_steps) = count_places(records, |record| record.place.step);
    let (batches, different_batches) = count_places(records, |record| record.place.batch);
    // a heading that never changes may be a setting
    let has_epoch = records.iter().any(|record| {
        record.is_own
            || record.place.epochs.is_some()
            || record.place.epoch.is_some_and(|epoch| epoch <= from as f64 + 1.0)
    });
    let is_unsure = records.iter().any(|record| record.place.is_unsure);
    let ascend = records.windows(2).all(|pair| pair[0].place.step <= pair[1].place.step);
    let counts_steps = steps * 2 >= records.len()
        // a number that may be an amount, as in `Steps: 1000`, counts as a step only if it never falls
        && (!is_unsure || ascend)
        && (different_steps > 1 || (records.len() == 1 && epochs == 0 && !records[0].place.is_unsure));
    let are_batches =
        records.iter().any(|record| record.place.batch.is_some() || record.place.batches.is_some());
    if epochs * 2 >= records.len() && (different_epochs > 1 || has_epoch) {
        return unit_below_epochs(records, different_epochs, are_batches);
    }
    if counts_steps && counts_ranks(records) {
        return SeriesUnit::Count;
    }
    if counts_steps {
        return SeriesUnit::Step;
    }
    let rises = records.windows(2).all(|pair| pair[0].place.batch <= pair[1].place.batch);
    match batches == records.len() && different_batches > 1 && rises {
        true if is_redrawn(records) => SeriesUnit::Tick,
        true => SeriesUnit::Bar,
        false => SeriesUnit::Count,
    }
}

/// Whether a bar is drawn at each tick with the value of the tick before, and then again with its own.
fn is_redrawn(records: &[&SeriesRecord]) -> bool {
    let mut ticks = records.chunk_by(|a, b| a.place.batch == b.place.batch);
    match (ticks.next(), ticks.next()) {
        (Some([first]), Some([stale, .., own])) => {
            first.place.batch > Some(0.0) && stale.reading == first.reading && own.reading != stale.reading
        }
        _ => false,
    }
}

/// The unit of records with epochs: the finer count where an epoch has several values and each has a step of its own.
fn unit_below_epochs(records: &[&SeriesRecord], epochs: usize, are_batches: bool) -> SeriesUnit {
    let is_one = epochs == 1 && records.iter().all(|record| record.place.epochs.is_none_or(|all| all <= 1.0));
    let steps_rise = places_rise(records, |record| record.place.step);
    if epochs < records.len() && steps_rise && (!are_batches || is_one) {
        return SeriesUnit::Step;
    }
    // a training of one epoch that names parts of it
    let is_only = records.len() > 2 && records.iter().all(|record| record.place.epochs == Some(1.0));
    let in_parts = is_one && !are_batches && (is_only || places_rise(records, |record| record.place.epoch));
    if in_parts { SeriesUnit::Count } else { SeriesUnit::Epoch }
}

/// Whether each of at least three records is at a later place than the one before.
fn places_rise(records: &[&SeriesRecord], place: fn(&SeriesRecord) -> Option<f64>) -> bool {
    records.len() > 2
        && records.windows(2).all(|pair| place(pair[0]).zip(place(pair[1])).is_some_and(|(a, b)| a < b))
}

/// The number of records with a place, and the number of different places.
fn count_places(records: &[&SeriesRecord], place: fn(&SeriesRecord) -> Option<f64>) -> (usize, usize) {
    let mut places: Vec<u64> =
        records.iter().filter_map(|record| place(record)).map(|place| place.ceil() as u64).collect();
    let named = places.len();
    places.sort_unstable();
    places.dedup();
    (named, places.len())
}

/// Whether the steps number the ranks that print the same value each: 0, 1, 2, 0, 1, 2.
fn counts_ranks(records: &[&SeriesRecord]) -> bool {
    let copies = copies(records, 2);
    let steps = records.iter().map(|record| record.place.step.map(f64::to_bits));
    copies > 1 && steps.clone().skip(copies).zip(steps).all(|(later, first)| later == first)
}

/// The notation of the numbers of `records`, if need be from other numbers of the output.
pub(crate) fn notation(records: &[&SeriesRecord], all: [u32; 2]) -> Result<DecimalNotation, ReportProblem> {
    let [shows_point, shows_comma] = [DecimalNotation::Point, DecimalNotation::Comma]
        .map(|notation| records.iter().any(|record| record.reading.evidence() == Some(notation)));
    let mut readings = records.iter().map(|record| record.reading);
    match (shows_point, shows_comma, all) {
        (true, _, _) => Ok(DecimalNotation::Point),
        (_, true, _) => Ok(DecimalNotation::Comma),
        (_, _, [0, commas]) if commas > 0 => Ok(DecimalNotation::Comma),
        (_, _, [0, 0]) => match readings.find(|read| read.is_ambiguous() && read.point > read.comma) {
            None => Ok(DecimalNotation::Point),
            Some(PrintedNumber { point, comma }) => {
                let [point, comma] =
                    [point, comma].map(|value| value.map_or(String::new(), |value| value.to_string()));
                Err(ReportProblem::Notation { found: comma.replace('.', ","), point, comma })
            }
        },
        _ => Ok(DecimalNotation::Point),
    }
}

/// The most handlers or ranks that print each value.
const MAX_COPIES: usize = 16;

/// How often each value is printed, as by several handlers or ranks: 1 unless all values come in equal groups, at least `least` values in all.
pub(crate) fn copies(records: &[&SeriesRecord], least: usize) -> usize {
    let bits: Vec<u64> = records.iter().map(|record| value_bits(record)).collect();
    if bits.iter().all(|own| *own == bits[0]) {
        return 1;
    }
    let most = MAX_COPIES.min(records.len() / 2);
    // the largest group first, because six copies would pass for three pairs
    let largest = (2..=most).rev().find(|&copies| {
        records.len() >= least.max(2 * copies)
            && bits.chunks_exact(copies).all(|group| group.iter().all(|own| *own == group[0]))
    });
    largest.unwrap_or(1)
}

fn value_bits(record: &SeriesRecord) -> u64 {
    record.reading.value(DecimalNotation::Point).to_bits()
}

fn report_bits(report: &Report) -> u64 {
    report.value.map_or(0, f64::to_bits)
}

/// Whether a bar shows each value in the next epoch, from its first tick on, and seldom before.
pub(crate) fn is_late(records: &[&SeriesRecord]) -> bool {
    if !records.iter().all(|record| record.place.epoch.is_some() && record.place.batch.is_some())
        || !records.iter().any(|record| record.is_transient)
    {
        return false;
    }
    let epochs: Vec<&[&SeriesRecord]> = records.chunk_by(|a, b| a.place.epoch == b.place.epoch).collect();
    let over = &epochs[..epochs.len().saturating_sub(1)];
    over.len() >= 2
        // a bar may be drawn once more before its epoch ends: the next epoch begins with the same value then
        && epochs.windows(2).all(|pair| match (count_changes(pair[0]), pair[0].last(), pair[1].first()) {
            (0, ..) => true,
            (1, Some(last), Some(next)) => value_bits(last) == value_bits(next),
            _ => false,
        })
        // the first epoch may show the value of a test before it, and once only
        && over.iter().any(|epoch| epoch.len() > 1 && count_changes(epoch) == 0)
        && epochs.iter().all(|epoch| epoch[0].place.batch < epoch[0].place.batches)
        && over.iter().any(|epoch| value_bits(epoch[0]) != value_bits(over[0][0]))
}

fn count_changes(records: &[&SeriesRecord]) -> usize {
    records.windows(2).filter(|pair| value_bits(pair[0]) != value_bits(pair[1])).count()
}

/// The last epoch of a bar that shows values late.
#[derive(Clone, Debug)]
struct LateEpoch {
    at: u64,
    first: Option<f64>,
    last: Report,
    /// Whether all batches are done.
    is_full: bool,
}

/// The values so far of an epoch that is not over.
#[derive(Clone, Debug)]
struct PendingEpoch {
    at: u64,
    report: Report,
    /// The first value of the epoch, where it has more than one.
    first: Option<Report>,
    is_primary: bool,
    is_transient: bool,
    is_reported: bool,
    /// The number of records it has.
    records: u64,
}

impl PendingEpoch {
    /// A value in a line that the next one may be drawn over.
    fn drawn(at: u64, report: Report) -> Self {
        let (is_primary, is_transient, is_reported) = (true, true, false);
        Self { at, report, first: None, is_primary, is_transient, is_reported, records: 1 }
    }
}

/// So many epochs with one value each show that the next one has no other either.
const MIN_SINGLE_EPOCHS: u64 = 2;

/// Turns records into reports.
#[derive(Clone, Debug)]
pub(crate) struct ReportSettler {
    chosen: ChosenSeries,
    /// The step that counting continues from, and where it began.
    counted: u64,
    from: u64,
    /// The training that counted values belong to, among several in sequence.
    training: Option<u64>,
    pending: Option<PendingEpoch>,
    /// The first step of this training.
    first: Option<u64>,
    /// A value that is printed more than once, and how often it came so far.
    group: Option<(u64, usize)>,
    /// The last tick of a progress bar and its report; `given` is the value that its last epoch got.
    bar: Option<(u64, Report)>,
    /// Whether a bar shows values before it moves on to their epoch; `None` before its first one.
    is_ahead: Option<bool>,
    shown: Option<LateEpoch>,
    given: Option<u64>,
    /// How many epochs had one value; `None` once one had more.
    singles: Option<u64>,
    /// Whether a value is reported as soon as it is certain.
    live: bool,
    /// Whether a value above the first step counts: headings name the steps.
    pub(crate) takes_first: bool,
}

impl ReportSettler {
    /// A settler of the `chosen` series, which continues counting from a step. If it is `live`, a value is reported once it is certain.
    pub(crate) fn new(chosen: ChosenSeries, from: u64, live: bool) -> Self {
        Self {
            chosen,
            counted: from,
            from,
            training: None,
            pending: None,
            first: None,
            group: None,
            bar: None,
            is_ahead: None,
            shown: None,
            given: None,
            singles: Some(0),
            live,
            takes_first: false,
        }
    }

    /// Whether all values were reported.
    pub(crate) fn is_settled(&self) -> bool {
        self.pending.as_ref().is_none_or(|pending| pending.is_reported)
            && (self.shown.is_none() && self.bar.is_none() && self.chosen.copies <= 1)
    }

    /// Learns from an epoch that is over.
    fn learn_from_epoch(&mut self) {
        let Some(pending) = &self.pending else { return };
        let is_single = pending.records == 1 && !pending.is_transient;
        self.singles = self.singles.filter(|_| is_single).map(|singles| singles + 1);
        self.chosen.single |= self.live && self.has_single_values();
    }

    fn has_single_values(&self) -> bool {
        self.singles.is_some_and(|singles| singles >= MIN_SINGLE_EPOCHS)
    }

    /// Takes the next record: of the series itself, or of one that differs in the form of its lines alone.
    pub(crate) fn take(&mut self, record: &SeriesRecord, is_primary: bool) -> Vec<SettleEvent> {
        let place = &record.place;
        let number = match self.chosen.unit {
            SeriesUnit::Epoch if self.chosen.late => return self.take_late(record),
            SeriesUnit::Epoch => place.epoch.map(f64::ceil),
            SeriesUnit::Step => place.step,
            SeriesUnit::Tick => place.batch,
            SeriesUnit::Bar => return self.tick(record),
            SeriesUnit::Count => return self.count(record),
        };
        // a value before the first step is that of the untrained model
        let is_before = self.takes_first
            && self.from == 0
            && self.first.is_none_or(|first| first == 0)
            && place.batch.is_none();
        let number = number.or_else(|| Some(0.0).filter(|_| is_before && !place.is_named()));
        let Some(at) = number.and_then(whole_step) else { return Vec::new() };
        let mut settled = Vec::new();
        match &self.pending {
            Some(pending) if pending.at == at => {
                if pending.is_reported && is_primary {
                    settled.push(SettleEvent::Again { at });
                    // its epochs have several values after all, so that from here on each waits for the last one
                    (self.chosen.single, self.singles) = (false, None);
                }
                if pending.is_primary && !is_primary {
                    return settled;
                }
            }
            Some(pending) if pending.at > at => {
                let (after, restarts) = (pending.at, self.first.is_none_or(|first| at <= first));
                settled.extend(self.finish().map(SettleEvent::Report));
                settled.push(SettleEvent::Back { at, after, restarts });
                // a second resume from the same step is a resume, too
                self.first = self.first.filter(|_| !restarts);
            }
            _ => {
                self.learn_from_epoch();
                settled.extend(self.finish().map(SettleEvent::Report));
            }
        }
        self.first.get_or_insert(at);
        let same = self.pending.as_ref().filter(|pending| pending.at == at);
        let was_reported = same.is_some_and(|pending| pending.is_reported);
        let records = 1 + same.map_or(0, |pending| pending.records);
        let first = same.map(|pending| pending.first.as_ref().unwrap_or(&pending.report).clone());
        let report = self.report(at, record);
        let is_reported = was_reported || (self.chosen.single && is_primary && !record.is_transient);
        if is_reported && !was_reported {
            settled.push(SettleEvent::Report(report.clone()));
        }
        let is_transient = record.is_transient;
        self.pending =
            Some(PendingEpoch { at, report, first, is_primary, is_transient, is_reported, records });
        settled
    }

    /// A bar whose values are those of the previous epoch, except those drawn once the last epoch is done.
    fn take_late(&mut self, record: &SeriesRecord) -> Vec<SettleEvent> {
        let Some(at) = record.place.epoch.and_then(whole_step) else { return Vec::new() };
        let last = self.report(at, record);
        let is_full = record.place.batch >= record.place.batches;
        if let Some(shown) = self.shown.as_mut().filter(|shown| shown.at >= at) {
            (shown.last, shown.is_full) = (Report { step: shown.at, ..last }, is_full);
            return Vec::new();
        }
        let before = at.checked_sub(1).map(|step| SettleEvent::Report(Report { step, ..last.clone() }));
        self.shown = Some(LateEpoch { at, first: last.value, last, is_full });
        before.into_iter().collect()
    }

    /// The value of the last epoch, at the end of the output, and whether others were left out: where each other epoch has one value, a second
    /// one at the very end is that of a test or of the best model.
    pub(crate) fn end(&mut self) -> (Option<Report>, bool) {
        if let Some(shown) = self.shown.take() {
            let is_own = shown.is_full || shown.last.value != shown.first;
            return (Some(shown.last).filter(|_| is_own), false);
        }
        if self.has_single_values()
            && let Some(pending) = self.pending.as_mut().filter(|pending| !pending.is_transient)
            && let Some(first) = pending.first.take()
        {
            pending.report = first;
            return (self.finish(), true);
        }
        (self.finish(), false)
    }

    /// The value of the epoch that is not over, at the end of the output or of the epoch.
    pub(crate) fn finish(&mut self) -> Option<Report> {
        let pending = self.pending.take().filter(|pending| !pending.is_reported);
        pending.map(|pending| pending.report)
    }

    fn count(&mut self, record: &SeriesRecord) -> Vec<SettleEvent> {
        let before = self.training.replace(record.training);
        if before.is_some_and(|before| before != record.training) && self.counted > self.from {
            let mut settled: Vec<SettleEvent> = self.finish().map(SettleEvent::Report).into_iter().collect();
            let after = std::mem::replace(&mut self.counted, self.from);
            settled.push(SettleEvent::Back { at: self.from + 1, after, restarts: true });
            self.group = None;
            settled.extend(self.count(record));
            return settled;
        }
        let bits = record.reading.value(DecimalNotation::Point).to_bits();
        let copies = self.chosen.copies;
        if let Some((first, seen)) = self.group.filter(|&(_, seen)| seen < copies) {
            if first == bits {
                self.group = Some((first, seen + 1));
                return Vec::new();
            }
            self.chosen.copies = 1;
            let mut settled = vec![SettleEvent::NotDoubled];
            settled.extend(self.count_value(record));
            return settled;
        }
        self.group = Some((bits, 1));
        self.count_value(record)
    }

    fn count_value(&mut self, record: &SeriesRecord) -> Vec<SettleEvent> {
        // a line that is drawn over is the same report once more
        let settled = if self.pending.as_ref().is_some_and(|pending| pending.is_transient) {
            self.pending = None;
            Vec::new()
        } else {
            let settled = self.finish().map(SettleEvent::Report).into_iter().collect();
            self.counted += 1;
            settled
        };
        let at = self.counted;
        let report = self.report(at, record);
        if record.is_transient {
            self.pending = Some(PendingEpoch::drawn(at, report));
            return settled;
        }
        settled.into_iter().chain([SettleEvent::Report(report)]).collect()
    }

    /// A bar whose ticks are epochs. A value is shown before the bar moves on to its epoch, and then stands at this tick or, if it was drawn
    /// at once, still at the one before; or afterwards, and then the first drawing of a tick may repeat the value of the tick before.
    fn tick(&mut self, record: &SeriesRecord) -> Vec<SettleEvent> {
        let Some(tick) = record.place.batch.and_then(whole_step) else { return Vec::new() };
        let report = self.report(tick, record);
        let is_ahead = *self.is_ahead.get_or_insert(tick <= self.from);
        let before = self.bar.replace((tick, report.clone()));
        if before.as_ref().is_some_and(|(at, _)| *at > tick) || (before.is_none() && tick == 0) {
            return Vec::new();
        }
        let is_redrawn = before.as_ref().is_some_and(|(at, _)| *at == tick);
        if is_ahead {
            if is_redrawn {
                return Vec::new();
            }
            let drawn_at_once =
                before.map(|(_, last)| last).filter(|last| self.given != Some(report_bits(last)));
            return self.emit_report(Report { step: tick, ..drawn_at_once.unwrap_or(report) });
        }
        // the value of the tick before: this tick has it, too, if no other is drawn
        let is_stale = self.given == Some(report_bits(&report));
        if is_redrawn && (is_stale || self.pending.is_none()) {
            return Vec::new();
        }
        let settled = if is_redrawn {
            Vec::new()
        } else {
            self.finish().map(SettleEvent::Report).into_iter().collect()
        };
        if is_stale {
            self.pending = Some(PendingEpoch::drawn(tick, report));
            return settled;
        }
        self.pending = None;
        settled.into_iter().chain(self.emit_report(report)).collect()
    }

    fn emit_report(&mut self, report: Report) -> Vec<SettleEvent> {
        self.given = Some(report_bits(&report));
        vec![SettleEvent::Report(report)]
    }

    fn report(&self, step: u64, record: &SeriesRecord) -> Report {
        let notation = if self.chosen.comma { DecimalNotation::Comma } else { DecimalNotation::Point };
        let value = Some(record.reading.value(notation)).filter(|value| value.is_finite());
        let others = record.others.iter().map(|(name, reading)| (name.clone(), reading.value(notation)));
        Report { step, value, training: 0, metrics: others.filter(|(_, value)| value.is_finite()).collect() }
    }
}

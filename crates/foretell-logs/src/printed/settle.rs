//! From the records of one series to reports: the last value of each epoch, once it is certain.

use super::number::Notation;
use super::report::{Report, ReportProblem, whole_step};
use super::series::{Chosen, Record, Unit};
use serde_json::{Map, Value};

/// What the records of a series come to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Settled {
    Report(Report),
    /// The steps go back to `at`, after they had come to `after`; `anew` if to the beginning.
    Back {
        at: u64,
        after: u64,
        anew: bool,
    },
    /// An epoch whose value was reported has another one.
    Again {
        at: u64,
    },
    /// Two values that should be the same one printed twice differ.
    NotDoubled,
}

/// What the steps of `records` are, for a training that goes on after step `from`.
pub(crate) fn unit(records: &[&Record], from: u64) -> Unit {
    let half = |number: usize| number * 2 >= records.len();
    let distinct = |of: fn(&Record) -> Option<f64>| {
        let mut all: Vec<u64> =
            records.iter().filter_map(|record| of(record)).map(|at| at.ceil() as u64).collect();
        let named = all.len();
        all.sort_unstable();
        all.dedup();
        (named, all.len())
    };
    let (epochs, different_epochs) = distinct(|record| record.place.epoch);
    let (steps, different_steps) = distinct(|record| record.place.step);
    let (batches, different_batches) = distinct(|record| record.place.batch);
    // a heading that never changes may be a setting
    let is_epoch = |record: &&Record| {
        record.is_own
            || record.place.epochs.is_some()
            || record.place.epoch.is_some_and(|epoch| epoch <= from as f64 + 1.0)
    };
    let counts_steps = half(steps)
        && (different_steps > 1 || (records.len() == 1 && epochs == 0 && !records[0].place.is_plural));
    let are_batches =
        records.iter().any(|record| record.place.batch.is_some() || record.place.batches.is_some());
    if half(epochs) && (different_epochs > 1 || records.iter().copied().any(|record| is_epoch(&record))) {
        let one_epoch =
            different_epochs == 1 && different_steps == records.len() && records.len() > 2 && !are_batches;
        return if one_epoch { Unit::Step } else { Unit::Epoch };
    }
    if counts_steps {
        return Unit::Step;
    }
    let rises = records.windows(2).all(|pair| pair[0].place.batch <= pair[1].place.batch);
    if batches == records.len() && different_batches > 1 && rises { Unit::Bar } else { Unit::Count }
}

/// How the numbers of `records` are written, if need be by what other numbers of the output show.
pub(crate) fn notation(records: &[&Record], all: [u32; 2]) -> Result<Notation, ReportProblem> {
    let shows = |notation| records.iter().any(|record| record.reading.evidence() == Some(notation));
    let is_comma =
        |record: &&&Record| record.reading.is_ambiguous() && record.reading.point > record.reading.comma;
    match (shows(Notation::Point), shows(Notation::Comma), all) {
        (true, _, _) => Ok(Notation::Point),
        (_, true, _) => Ok(Notation::Comma),
        (_, _, [0, commas]) if commas > 0 => Ok(Notation::Comma),
        (_, _, [0, 0]) => match records.iter().find(is_comma) {
            None => Ok(Notation::Point),
            Some(record) => {
                let show = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
                let (point, comma) = (show(record.reading.point), show(record.reading.comma));
                Err(ReportProblem::Notation { found: comma.replace('.', ","), point, comma })
            }
        },
        _ => Ok(Notation::Point),
    }
}

/// Whether the values come in equal pairs, as two handlers or two ranks print them.
pub(crate) fn is_doubled(records: &[&Record], least: usize) -> bool {
    let bits = |record: &Record| record.reading.value(Notation::Point).to_bits();
    let varies = records.iter().any(|record| bits(record) != bits(records[0]));
    records.len() >= least && varies && records.chunks_exact(2).all(|pair| bits(pair[0]) == bits(pair[1]))
}

/// What is shown of an epoch that is not over.
#[derive(Clone, Debug)]
struct Pending {
    at: u64,
    report: Report,
    is_primary: bool,
    is_transient: bool,
    is_reported: bool,
    /// How many records it has.
    records: u64,
}

/// So many epochs with one value each show that the next one has no other either.
const SINGLE: u64 = 2;

/// Turns records into reports.
#[derive(Clone, Debug)]
pub(crate) struct Settler {
    chosen: Chosen,
    /// The step that counting goes on from.
    counted: u64,
    pending: Option<Pending>,
    /// The first step of this training.
    first: Option<u64>,
    /// The first of a pair of equal values.
    half: Option<u64>,
    /// What a progress bar showed at its last tick, and what its last epoch was given.
    bar: Option<(u64, Report)>,
    given: Option<u64>,
    /// How many epochs had one value; `None` once one had more, and where all is known before anything is reported.
    singles: Option<u64>,
}

impl Settler {
    /// A settler of the `chosen` series, whose counting goes on from a step; if it is `live`, a value is reported as soon as it is certain.
    pub(crate) fn new(chosen: Chosen, from: u64, live: bool) -> Self {
        let singles = live.then_some(0);
        Self {
            chosen,
            counted: from,
            pending: None,
            first: None,
            half: None,
            bar: None,
            given: None,
            singles,
        }
    }

    /// Learns from an epoch that is over.
    fn learn(&mut self) {
        let Some(pending) = &self.pending else { return };
        let is_single = pending.records == 1 && !pending.is_transient;
        self.singles = self.singles.filter(|_| is_single).map(|singles| singles + 1);
        self.chosen.single |= self.singles.is_some_and(|singles| singles >= SINGLE);
    }

    /// Takes the next record: of the series itself, or of one that differs in the form of its lines alone.
    pub(crate) fn take(&mut self, record: &Record, is_primary: bool) -> Vec<Settled> {
        let place = &record.place;
        let number = match self.chosen.unit {
            Unit::Epoch => place.epoch.map(f64::ceil),
            Unit::Step => place.step,
            Unit::Bar => return self.tick(record),
            Unit::Count => return self.count(record),
        };
        let Some(at) = number.and_then(whole_step) else { return Vec::new() };
        let mut settled = Vec::new();
        match &self.pending {
            Some(pending) if pending.at == at => {
                if pending.is_reported && is_primary {
                    settled.push(Settled::Again { at });
                }
                if pending.is_primary && !is_primary {
                    return settled;
                }
            }
            Some(pending) if pending.at > at => {
                let (after, anew) = (pending.at, self.first.is_none_or(|first| at <= first));
                settled.extend(self.finish().map(Settled::Report));
                settled.push(Settled::Back { at, after, anew });
                self.first = None;
            }
            _ => {
                self.learn();
                settled.extend(self.finish().map(Settled::Report));
            }
        }
        self.first.get_or_insert(at);
        let same = self.pending.as_ref().filter(|pending| pending.at == at);
        let was_reported = same.is_some_and(|pending| pending.is_reported);
        let records = 1 + same.map_or(0, |pending| pending.records);
        let report = self.report(at, record);
        let is_reported = was_reported || (self.chosen.single && is_primary && !record.is_transient);
        if is_reported && !was_reported {
            settled.push(Settled::Report(report.clone()));
        }
        let is_transient = record.is_transient;
        self.pending = Some(Pending { at, report, is_primary, is_transient, is_reported, records });
        settled
    }

    /// The value of the epoch that is not over, at the end of the output or of the epoch.
    pub(crate) fn finish(&mut self) -> Option<Report> {
        let pending = self.pending.take().filter(|pending| !pending.is_reported);
        pending.map(|pending| pending.report)
    }

    fn count(&mut self, record: &Record) -> Vec<Settled> {
        let bits = record.reading.value(Notation::Point).to_bits();
        if self.chosen.doubled
            && let Some(half) = self.half.take()
        {
            let is_same = half == bits;
            self.chosen.doubled = is_same;
            if is_same {
                return Vec::new();
            }
            let mut settled = vec![Settled::NotDoubled];
            settled.extend(self.count_one(record));
            return settled;
        }
        self.half = Some(bits);
        self.count_one(record)
    }

    fn count_one(&mut self, record: &Record) -> Vec<Settled> {
        // what is drawn over is the same report once more
        let settled = if self.pending.as_ref().is_some_and(|pending| pending.is_transient) {
            self.pending = None;
            Vec::new()
        } else {
            let settled = self.finish().map(Settled::Report).into_iter().collect();
            self.counted += 1;
            settled
        };
        let at = self.counted;
        let report = self.report(at, record);
        if record.is_transient {
            let (is_primary, is_transient, is_reported) = (true, true, false);
            self.pending = Some(Pending { at, report, is_primary, is_transient, is_reported, records: 1 });
            return settled;
        }
        settled.into_iter().chain([Settled::Report(report)]).collect()
    }

    /// A bar whose ticks are epochs: a value stands at the tick after its epoch, or, if it was drawn at once, still at the one before.
    fn tick(&mut self, record: &Record) -> Vec<Settled> {
        let Some(tick) = record.place.batch.and_then(whole_step) else { return Vec::new() };
        let report = self.report(tick, record);
        let bits = |report: &Report| report.value.map_or(0, f64::to_bits);
        let before = self.bar.replace((tick, report.clone()));
        if before.as_ref().is_some_and(|(at, _)| *at >= tick) || (before.is_none() && tick == 0) {
            return Vec::new();
        }
        let drawn_at_once = before.filter(|(_, last)| self.given != Some(bits(last))).map(|(_, last)| last);
        let report = Report { step: tick, ..drawn_at_once.unwrap_or(report) };
        self.given = Some(bits(&report));
        vec![Settled::Report(report)]
    }

    fn report(&self, step: u64, record: &Record) -> Report {
        let notation = if self.chosen.comma { Notation::Comma } else { Notation::Point };
        let finite = |value: f64| Some(value).filter(|value| value.is_finite());
        let others = record.others.iter();
        let metrics: Map<String, Value> = others
            .map(|(name, reading)| {
                (name.clone(), finite(reading.value(notation)).map_or(Value::Null, Value::from))
            })
            .collect();
        Report { step, value: finite(record.reading.value(notation)), metrics }
    }
}

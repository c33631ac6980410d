//! A study built from its log and kept in step with it, shown to all readers. It needs no lock and hinders no writer.

use std::cell::{RefCell, RefMut};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use foretell_run::{EventLogError, EventLogSurvey, LineStamp, LogPosition, LogReader};
use foretell_search::{
    Catalogue, Decision, Record, RecordTime, ResponseSurface, Study, StudyError, StudyTimes,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::snapshot::SnapshotCache;

/// A study built from its log.
pub(crate) struct StudyFold {
    log: PathBuf,
    catalogue: Catalogue,
    looked: Option<FileState>,
    study: Option<Study>,
    /// Up to where the log was read.
    position: LogPosition,
    /// The number of records whose changes of the total were known before the first was folded.
    surveyed: u64,
    trials: Vec<TrialFacts>,
    best_so_far: Vec<(u64, f64)>,
    times: StudyTimes,
    /// How many logs were read: another one exists after the first was removed, or started from the beginning.
    life: u64,
    /// The reason why it cannot be read further.
    trouble: Option<String>,
    /// The number of the last record that ended a trial.
    ended: u64,
    /// The surface of the study's results as it was at that number.
    surface: RefCell<Option<(u64, Arc<ResponseSurface>)>>,
    snapshots: RefCell<SnapshotCache>,
}

/// Facts about a trial that the study itself does not keep.
#[derive(Default)]
pub(crate) struct TrialFacts {
    /// The number of the last record about it.
    pub(crate) changed: u64,
    pub(crate) decisions: Vec<Decision>,
    /// The trial's other metrics, without the study's, by name.
    pub(crate) metrics: BTreeMap<String, Series>,
    /// The progress of the study when the trial ended last.
    pub(crate) ended: Option<StudyProgress>,
}

/// The progress of a study.
#[derive(Clone, Copy, Serialize)]
pub(crate) struct StudyProgress {
    /// Epochs spent by all trials together.
    epochs: u64,
    /// Seconds that the search ran, if its log records them.
    seconds: Option<f64>,
}

/// The values of one metric of a trial.
#[derive(Clone, Default, Serialize, JsonSchema)]
pub(crate) struct Series {
    pub(crate) steps: Vec<u64>,
    pub(crate) values: Vec<f64>,
}

/// A log's file when it was looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
struct FileState {
    file: (u64, u64),
    length: u64,
    changed: Option<SystemTime>,
}

/// Why reading ends before the log does.
enum ReadHalt {
    /// The study has more trials, or another budget, than it was begun with.
    Raised,
    /// The log has no more that could be read.
    Trouble(String),
}

impl From<EventLogError> for ReadHalt {
    fn from(error: EventLogError) -> Self {
        Self::Trouble(error.to_string())
    }
}

impl TrialFacts {
    /// Keeps the parts of a `record` about this trial that the study of `metric` does not keep.
    fn take(&mut self, record: &Record, metric: &str) {
        match record {
            Record::Decided(decision) => self.decisions.push(decision.clone()),
            Record::Reported { step, metrics, .. } => {
                for (name, &value) in metrics.iter().filter(|(name, _)| *name != metric) {
                    let series = self.metrics.entry(name.clone()).or_default();
                    // a trial that went on from a checkpoint repeats steps
                    if series.steps.last().is_none_or(|last| last < step) {
                        series.steps.push(*step);
                        series.values.push(value);
                    }
                }
            }
            _ => {}
        }
    }
}

impl StudyFold {
    pub(crate) fn new(log: &Path, catalogue: &Catalogue) -> Self {
        Self {
            log: log.to_owned(),
            catalogue: catalogue.clone(),
            looked: None,
            study: None,
            position: LogPosition::START,
            surveyed: 0,
            trials: Vec::new(),
            best_so_far: Vec::new(),
            times: StudyTimes::default(),
            life: 0,
            trouble: None,
            ended: 0,
            surface: RefCell::default(),
            snapshots: RefCell::default(),
        }
    }

    /// The study; none while nothing of it could be read.
    pub(crate) fn study(&self) -> Option<&Study> {
        self.study.as_ref()
    }

    /// The number of the last record.
    pub(crate) fn records(&self) -> u64 {
        self.position.records
    }

    pub(crate) fn life(&self) -> u64 {
        self.life
    }

    pub(crate) fn trials(&self) -> &[TrialFacts] {
        &self.trials
    }

    pub(crate) fn times(&self) -> &StudyTimes {
        &self.times
    }

    /// The best score, with the epochs spent, whenever a better one was reached.
    pub(crate) fn best_so_far(&self) -> &[(u64, f64)] {
        &self.best_so_far
    }

    /// The number of the last record that ended a trial.
    pub(crate) fn last_end_record(&self) -> u64 {
        self.ended
    }

    /// The surface of the results of `study`. Computing it takes a while, so it is computed again only after a trial has ended.
    pub(crate) fn surface(&self, study: &Study) -> Arc<ResponseSurface> {
        let known = self.surface.borrow().clone();
        match known.filter(|(ended, _)| *ended == self.ended) {
            Some((_, surface)) => surface,
            None => {
                let surface = Arc::new(ResponseSurface::new(study));
                self.surface.replace(Some((self.ended, Arc::clone(&surface))));
                surface
            }
        }
    }

    /// The large answers that somebody is reading.
    pub(crate) fn snapshots(&self) -> RefMut<'_, SnapshotCache> {
        self.snapshots.borrow_mut()
    }

    /// Reads the new records of the log. An error gives the reason why it could not be read to its end; records read before it are kept.
    pub(crate) fn update(&mut self) -> Result<(), String> {
        match file_state(&self.log) {
            Err(error) => {
                (self.looked, self.trouble) = (None, Some(format!("{}: {error}", self.log.display())));
            }
            Ok(now) if self.looked == Some(now) => {}
            Ok(now) => {
                let goes_on = self.looked.is_some_and(|before| before.file == now.file)
                    && self.trouble.is_none()
                    // a file that became shorter cannot be continued: it was replaced, repaired or begun again
                    && now.length >= self.position.bytes;
                self.looked = Some(now);
                self.trouble = self.follow(goes_on).err();
            }
        }
        self.trouble.clone().map_or(Ok(()), Err)
    }

    fn follow(&mut self, goes_on: bool) -> Result<(), String> {
        if goes_on && self.study.is_some() {
            match self.read_records() {
                Ok(()) => return Ok(()),
                // a line that is not due may be that of another log in the place of this one
                Err(ReadHalt::Raised | ReadHalt::Trouble(_)) => {}
            }
        }
        loop {
            self.start_over()?;
            match self.read_records() {
                Ok(()) => return Ok(()),
                Err(ReadHalt::Raised) => {}
                Err(ReadHalt::Trouble(why)) => return Err(why),
            }
        }
    }

    /// Begins at the log's first record, by the study's last total.
    fn start_over(&mut self) -> Result<(), String> {
        let (survey, trouble) = EventLogSurvey::read(&self.log);
        let Some(spec) = survey.study else {
            return Err(
                trouble.map_or_else(|| "nothing is recorded yet".to_owned(), |error| error.to_string())
            );
        };
        let study = Study::of_log(spec.covering(survey.trials), (&self.catalogue).into())
            .map_err(|error| error.to_string())?;
        let is_another = self.study.as_ref().is_none_or(|before| !before.spec().continues(study.spec()))
            || survey.records < self.position.records;
        self.life += u64::from(is_another);
        self.surface.take();
        self.ended = 0;
        (self.position, self.surveyed) = (LogPosition::START, survey.records);
        self.trials.clear();
        self.best_so_far.clear();
        self.times = StudyTimes::default();
        self.study = Some(study);
        Ok(())
    }

    fn read_records(&mut self) -> Result<(), ReadHalt> {
        let mut reader = LogReader::<Record>::open(&self.log, self.position)?;
        while let Some(record) = reader.next() {
            self.take(&record?, reader.position(), reader.last_stamp())?;
        }
        self.study.iter_mut().for_each(Study::look_ahead);
        Ok(())
    }

    fn take(
        &mut self,
        record: &Record,
        position: LogPosition,
        stamp: Option<LineStamp>,
    ) -> Result<(), ReadHalt> {
        let number = position.records;
        let Some(study) = &mut self.study else { return Ok(()) };
        if let Record::Changed { settings } = record
            && number > self.surveyed
            && (settings.trials, settings.budget_epochs) != (study.spec().trials, study.spec().budget_epochs)
        {
            return Err(ReadHalt::Raised);
        }
        match study.follow(record, usize::try_from(number).unwrap_or(usize::MAX)) {
            Ok(()) => {}
            Err(StudyError::MoreTrials { .. }) if number > self.surveyed => return Err(ReadHalt::Raised),
            Err(error) => return Err(ReadHalt::Trouble(format!("{}: {error}", self.log.display()))),
        }
        // only once the record was followed, so that one that is refused is read again
        self.position = position;
        self.times.see(record, stamp.map(RecordTime::from));
        self.trials.resize_with(study.trials().len(), TrialFacts::default);
        let about = record.trial().and_then(|trial| self.trials.get_mut(usize::try_from(trial).ok()?));
        if let Some(seen) = about {
            seen.changed = number;
            seen.take(record, &study.spec().metric);
        }
        if let Some(seen) =
            record.ended_trial().and_then(|trial| self.trials.get_mut(usize::try_from(trial).ok()?))
        {
            let elapsed = self.times.elapsed_millis();
            let seconds = (elapsed > 0).then_some(elapsed as f64 / 1e3);
            self.ended = number;
            seen.ended = Some(StudyProgress { epochs: study.progress().spent, seconds });
        }
        let best = record.ended_trial().and_then(|_| study.best()).map(|best| best.score);
        if let Some(best) =
            best.filter(|best| self.best_so_far.last().is_none_or(|(_, last)| last.total_cmp(best).is_ne()))
        {
            self.best_so_far.push((study.progress().spent, best));
        }
        Ok(())
    }
}

fn file_state(log: &Path) -> std::io::Result<FileState> {
    let data = std::fs::metadata(log)?;
    Ok(FileState { file: (data.dev(), data.ino()), length: data.len(), changed: data.modified().ok() })
}

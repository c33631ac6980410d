//! The display of a running study: one line per trial and a progress bar on a terminal, plain lines elsewhere.

use super::heartbeat::Heartbeat;
use crate::output::{metric_value, note};
use crate::terminal::{keep_unsaid, speak_above};
use crate::view::report;
use crate::view::rows::{line, parameters};
use foretell_search::{Decision, LessonStatus, Reason, Record, RecordTime, Study, StudyTimes};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use std::collections::{BTreeMap, BTreeSet};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// With more running trials, each one's row is a single line.
const MAX_WRAPPED_ROWS: u64 = 4;

/// The view of a running study.
pub(crate) struct StudyDisplay {
    live: Option<ProgressBars>,
    /// Prints the progress now and then, without a terminal.
    heartbeat: Option<Heartbeat>,
    /// How long it has taken, the run that is shown counted.
    times: StudyTimes,
    begun: Instant,
    /// Levels for which the start of forecasts was announced.
    learning_said: BTreeMap<u64, usize>,
    /// What was said last of each earlier study.
    lessons_said: BTreeMap<String, LessonStatus>,
    /// The reasons printed so far why there was no forecast.
    lacks_said: BTreeSet<String>,
    /// The other metrics that rows show, and their last values in each trial.
    watch: Vec<String>,
    watched: BTreeMap<u64, BTreeMap<String, f64>>,
    /// The numbers that trials without a report have printed, if they ran for long.
    seen: BTreeMap<u64, String>,
}

struct ProgressBars {
    all: MultiProgress,
    total: ProgressBar,
    trials: BTreeMap<u64, ProgressBar>,
}

impl StudyDisplay {
    /// A view of `study`, which has taken `times` so far: live if standard error is a terminal, else with a line each
    /// `heartbeat`.
    pub(super) fn new(study: &Study, times: &StudyTimes, heartbeat: Duration) -> Self {
        let live = std::io::stderr().is_terminal().then(|| ProgressBars::new(study));
        let mut this = Self {
            heartbeat: live.is_none().then(|| Heartbeat::start(heartbeat)),
            live,
            times: times.clone(),
            begun: Instant::now(),
            learning_said: study.learning_from(),
            lessons_said: study
                .lessons()
                .into_iter()
                .map(|earlier| (earlier.study, earlier.status))
                .collect(),
            lacks_said: BTreeSet::new(),
            watch: Vec::new(),
            watched: BTreeMap::new(),
            seen: BTreeMap::new(),
        };
        this.beat(study);
        this
    }

    /// Shows the metrics `watch` in each row, too.
    pub(super) fn with_watched_metrics(self, watch: &[String]) -> Self {
        Self { watch: watch.to_vec(), ..self }
    }

    /// The last values of the watched metrics in trial `trial`, as `loss 0.31`.
    fn watched_values(&self, trial: u64) -> String {
        let Some(last) = self.watched.get(&trial) else { return String::new() };
        let known = self.watch.iter().filter_map(|name| Some((name, last.get(name)?)));
        let shown = known.map(|(name, value)| format!("{name} {}", metric_value(*value)));
        shown.collect::<Vec<_>>().join(", ")
    }

    /// Says of each earlier study when it begins to count, and when it no longer does.
    fn tell_lessons(&mut self, study: &Study) {
        for earlier in study.lessons() {
            let before = self.lessons_said.insert(earlier.study.clone(), earlier.status);
            if before.unwrap_or(LessonStatus::Open) != earlier.status {
                note(&earlier.to_string());
            }
        }
    }

    /// Shows one more record.
    pub(super) fn show(&mut self, study: &Study, record: &Record) {
        let time = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.times.see(record, Some(RecordTime { run: u32::MAX, time }));
        let trial = match record {
            Record::Created { .. }
            | Record::Changed { .. }
            | Record::WarmStart { .. }
            | Record::Enqueued { .. }
            | Record::Unknown { .. }
            | Record::Chosen { .. }
            | Record::Read { .. } => return,
            Record::Decided(decision) => decision.trial,
            Record::Started { trial, .. }
            | Record::Resource { trial, .. }
            | Record::Reported { trial, .. }
            | Record::Repeated { trial, .. }
            | Record::Late { trial, .. }
            | Record::Returned { trial, .. }
            | Record::Paused { trial }
            | Record::Completed { trial }
            | Record::Failed { trial, .. } => *trial,
        };
        if let Some(heartbeat) = &self.heartbeat {
            heartbeat.clear_quiet(trial);
        }
        if matches!(record, Record::Reported { .. }) || record.ended_trial().is_some() {
            self.seen.remove(&trial);
        }
        if let Record::Reported { metrics, .. } = record {
            let watched = metrics.iter().filter(|(name, _)| self.watch.contains(name));
            let watched = watched.map(|(name, value)| (name.clone(), *value));
            self.watched.entry(trial).or_default().extend(watched);
        }
        self.tell_lessons(study);
        let Some(state) = study.trials().get(trial as usize) else { return };
        // a report and the decision on it come together: the record that ends the trial shows its end
        let ended = record.ended_trial().is_some() && !state.is_open();
        if let (Record::Started { from: 0, .. }, Some(earlier)) = (record, &state.earlier) {
            note(&format!("trial {trial} repeats {earlier}"));
        }
        let watched = self.watched_values(trial);
        match &mut self.live {
            Some(bars) if ended || state.is_open() => {
                bars.update(study, trial, &watched, ended);
                bars.total.set_message(progress(study, &self.times, &self.seen));
            }
            None if ended => note(&line(study, trial, &watched, &parameters(study), None)),
            _ => {}
        }
        self.beat(study);
        if let Record::Decided(Decision { step, reason: Reason::NoForecast(why), .. }) = record
            && self.lacks_said.insert(why.clone())
        {
            note(&format!("trial {trial} continues without a forecast after {step}: {why}"));
        }
        for (level, runs) in study.learning_from() {
            let needs = study.spec().policy.needs(study.spec().max_resource);
            if (needs.burn_in || needs.forecasts) && self.learning_said.insert(level, runs).is_none() {
                note(&learning_notice(study, level, runs));
            }
        }
    }

    /// Trial `trial` has reported nothing for `silence`.
    pub(super) fn quiet(&self, trial: u64, silence: Duration) {
        if let Some(heartbeat) = &self.heartbeat {
            heartbeat.quiet(trial, silence);
        }
    }

    /// Trial `trial` has printed many lines and no report, but these numbers.
    pub(super) fn seen(&mut self, study: &Study, trial: u64, seen: &str) {
        self.seen.insert(trial, seen.to_owned());
        if let Some(bars) = &self.live {
            bars.total.set_message(progress(study, &self.times, &self.seen));
        }
        self.beat(study);
    }

    /// Gives the heartbeat its next text.
    fn beat(&mut self, study: &Study) {
        if let Some(heartbeat) = &self.heartbeat {
            let trials = study.progress().trials;
            let (total, ended) = (study.spec().trials, trials.ended_count());
            let said = progress(study, &self.times, &self.seen);
            heartbeat
                .set_text(format!("{ended} of {total} trials ended, {} running; {said}", trials.running));
        }
    }

    /// Ends the view.
    pub(super) fn finish(&mut self) {
        self.heartbeat = None;
        speak_above(None);
        if let Some(bars) = &self.live {
            bars.trials.values().for_each(ProgressBar::finish_and_clear);
            bars.total.finish_and_clear();
        }
    }
}

/// The best so far, the epochs spent, the time left, and the numbers that the first trial without a report has printed.
fn progress(study: &Study, times: &StudyTimes, seen: &BTreeMap<u64, String>) -> String {
    let progress = study.progress();
    let best = study
        .best()
        .map_or("–".to_owned(), |best| format!("{} (trial {})", metric_value(best.score), best.trial));
    let failed = match progress.trials.failed {
        0 => String::new(),
        _ => format!(", {}", progress.trials.describe_failed()),
    };
    let left = report::remaining_time(study, times.left_seconds(study));
    let left = left.map_or(String::new(), |left| format!("{left}, "));
    let seen = seen.first_key_value().map_or(String::new(), |(trial, seen)| match seen.as_str() {
        "" => format!("; trial {trial} has printed no number yet"),
        seen => format!("; trial {trial} printed no value yet, but {seen}"),
    });
    format!("{left}best {best}, {} epochs, {} stopped{failed}{seen}", progress.spent, progress.trials.stopped)
}

fn learning_notice(study: &Study, level: u64, runs: usize) -> String {
    let by_forecast = study.spec().policy.is_by_forecasts();
    match (study.spec().schedule.is_full(), by_forecast) {
        (true, true) if study.spec().policy.is_by_curve_alone() => {
            "burn-in completed: there is a trial to beat; from now on, curves are extrapolated".to_owned()
        }
        (true, true) => format!("burn-in completed: forecasts start, learning from {runs} trials"),
        // rungs may have stopped trials before
        (true, false) if study.progress().trials.stopped > 0 => {
            format!("burn-in completed: from now on, trials are also compared with {runs} completed ones")
        }
        (true, false) => format!("burn-in completed: stopping starts, comparing with {runs} trials"),
        (false, true) => {
            format!("{runs} trials reached {level}: forecasts for it start")
        }
        (false, false) => {
            format!("{runs} trials reached {level}: stopping before it starts")
        }
    }
}

impl ProgressBars {
    fn new(study: &Study) -> Self {
        let all = MultiProgress::new();
        speak_above(Some(all.clone()));
        let total = all.add(ProgressBar::new(study.spec().trials));
        let style = ProgressStyle::with_template("{bar:20} {pos}/{len} trials  {elapsed}  {wide_msg}");
        total.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self { all, total, trials: BTreeMap::new() }
    }

    /// Shows a line above the bars.
    fn print_above(&self, text: &str) {
        if let Err(error) = self.all.println(text) {
            keep_unsaid(&format!("{text}\n"), &error);
        }
    }

    fn update(&mut self, study: &Study, trial: u64, watched: &str, ended: bool) {
        // asked for each time: the window may have been resized
        let width = usize::from(console::Term::stderr().size().1);
        let text = line(study, trial, watched, &parameters(study), Some(width));
        if ended {
            if let Some(bar) = self.trials.remove(&trial) {
                bar.finish_and_clear();
            }
            self.print_above(&text);
        } else {
            // with many rows, each takes one line: indicatif leaves out those that do not fit the screen
            let text = match study.progress().trials.running {
                0..=MAX_WRAPPED_ROWS => text,
                _ => text.lines().next().unwrap_or_default().to_owned(),
            };
            let before = &self.total;
            let all = &self.all;
            let bar = self.trials.entry(trial).or_insert_with(|| {
                let bar = all.insert_before(before, ProgressBar::new_spinner());
                bar.set_style(
                    ProgressStyle::with_template("{msg}")
                        .unwrap_or_else(|_| ProgressStyle::default_spinner()),
                );
                bar
            });
            bar.set_message(text);
        }
        self.total.set_position(study.progress().trials.ended_count());
    }
}

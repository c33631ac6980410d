//! What a running study shows: a line a trial and a progress bar on a terminal, plain lines elsewhere.

use crate::output::{metric_value, note, with_deviation};
use foretell_search::{Decision, Policy, Reason, Record, Study, Trial, TrialState};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use std::collections::{BTreeMap, BTreeSet};
use std::io::IsTerminal;

/// The view of a running study.
pub(crate) struct Display {
    live: Option<Bars>,
    /// Levels of which it was said that forecasts begin.
    learning_said: BTreeMap<u64, usize>,
    /// Why there was no forecast, as far as it was said.
    lacks_said: BTreeSet<String>,
}

struct Bars {
    all: MultiProgress,
    total: ProgressBar,
    trials: BTreeMap<u64, ProgressBar>,
}

impl Display {
    /// A view of `study`: live if standard error is a terminal.
    pub(super) fn new(study: &Study) -> Self {
        Self {
            live: std::io::stderr().is_terminal().then(|| Bars::new(study)),
            learning_said: study.learning_from(),
            lacks_said: BTreeSet::new(),
        }
    }

    /// Shows one more record.
    pub(super) fn show(&mut self, study: &Study, record: &Record) {
        let trial = match record {
            Record::Created { .. } | Record::WarmStart { .. } => return,
            Record::Decided(decision) => decision.trial,
            Record::Started { trial, .. }
            | Record::Reported { trial, .. }
            | Record::Paused { trial }
            | Record::Completed { trial }
            | Record::Failed { trial, .. } => *trial,
        };
        let Some(state) = study.trials().get(trial as usize) else { return };
        // a report and the decision on it come together: the trial's end is told by the record that ends it
        let ended = record.ends().is_some() && !state.is_open();
        match &mut self.live {
            Some(bars) if ended || state.is_open() => bars.update(study, trial, state, ended),
            None if ended => note(&line(study, trial, state)),
            _ => {}
        }
        if let Record::Decided(Decision { step, reason: Reason::NoForecast(why), .. }) = record
            && self.lacks_said.insert(why.clone())
        {
            self.say(&format!("trial {trial} goes on without a forecast after {step}: {why}"));
        }
        for (level, runs) in study.learning_from() {
            if study.spec().policy != Policy::None && self.learning_said.insert(level, runs).is_none() {
                self.say(&learning(study, level, runs));
            }
        }
    }

    fn say(&self, text: &str) {
        match &self.live {
            // a line that cannot be shown is no reason to end a search
            Some(bars) => drop(bars.all.println(text)),
            None => note(text),
        }
    }

    /// Ends the view.
    pub(super) fn finish(&mut self) {
        if let Some(bars) = &self.live {
            bars.trials.values().for_each(ProgressBar::finish_and_clear);
            bars.total.finish_and_clear();
        }
    }
}

fn learning(study: &Study, level: u64, runs: usize) -> String {
    let by_forecast = study.spec().policy == Policy::Forecast;
    match (study.spec().schedule.is_full(), by_forecast) {
        (true, true) => format!("burn-in over: {runs} finished trials to learn from; forecasts begin"),
        (true, false) => format!("burn-in over: {runs} finished trials to compare with; stopping begins"),
        (false, true) => {
            format!("{runs} trials trained to {level} to learn from; forecasts of the result there begin")
        }
        (false, false) => {
            format!("{runs} trials trained to {level} to compare with; stopping before it begins")
        }
    }
}

impl Bars {
    fn new(study: &Study) -> Self {
        let all = MultiProgress::new();
        let total = all.add(ProgressBar::new(study.spec().trials));
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len} trials  {elapsed}  {msg}");
        total.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self { all, total, trials: BTreeMap::new() }
    }

    fn update(&mut self, study: &Study, trial: u64, state: &Trial, ended: bool) {
        let text = line(study, trial, state);
        if ended {
            if let Some(bar) = self.trials.remove(&trial) {
                bar.finish_and_clear();
            }
            // a line that cannot be shown is no reason to end a search
            let _ = self.all.println(text);
        } else {
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
        let progress = study.progress();
        self.total.set_position(progress.trials.ended());
        let best = study
            .best()
            .map_or("–".to_owned(), |best| format!("{} (trial {})", metric_value(best.score), best.trial));
        self.total.set_message(format!(
            "best {best}  {} epochs, {} stopped",
            progress.spent, progress.trials.stopped
        ));
    }
}

/// One line about a trial: its curve so far, what it is worth, its forecast, its state.
fn line(study: &Study, number: u64, trial: &Trial) -> String {
    let spec = study.spec();
    let direction = spec.direction;
    let worth = spec.run_score.of(&trial.curve);
    let worth = worth.map_or("–".to_owned(), |score| metric_value(direction.value(score)));
    let forecast = trial.decision.as_ref().and_then(|d| d.forecast);
    let forecast = forecast.map_or(String::new(), |f| format!("→ {}", with_deviation(f.mean, f.sd)));
    let width = spec.max_resource.min(20) as usize;
    format!(
        "trial {number:>3}  {:<width$}  {:>3}/{} {worth:>7}  {forecast:<18}  {}",
        sparkline(trial, study),
        trial.step,
        trial.until,
        state_text(trial),
    )
}

fn state_text(trial: &Trial) -> String {
    let chance = trial.decision.as_ref().and_then(|d| d.probability);
    let chance = chance.map_or(String::new(), |p| format!(", {:.1} % sure", p * 100.0));
    match &trial.state {
        TrialState::Running => match trial.decision.as_ref().map(|d| &d.reason) {
            Some(Reason::BurnIn) => "running (burn-in)".to_owned(),
            Some(Reason::AlreadyStopped) => "running (would be stopped)".to_owned(),
            _ if trial.kept => "running (kept by hand)".to_owned(),
            Some(Reason::Exempt) => "running (would be stopped, but is exempt)".to_owned(),
            _ => "running".to_owned(),
        },
        TrialState::Interrupted => "interrupted".to_owned(),
        TrialState::Paused { .. } => "paused at its rung".to_owned(),
        TrialState::Completed { .. } => match &trial.shadow {
            Some(decision) => format!("done (would have been stopped after {})", decision.step),
            None => "done".to_owned(),
        },
        TrialState::Stopped { step, reason: Reason::Diverged, .. } => {
            format!("stopped after {step}: diverged")
        }
        TrialState::Stopped { step, reason: Reason::ByHand, .. } => {
            format!("stopped by hand after {step} of {}", trial.until)
        }
        TrialState::Stopped { step, .. } => format!("stopped after {step} of {}{chance}", trial.until),
        TrialState::Failed { reason } => format!("failed: {reason}"),
        _ => String::new(),
    }
}

const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The curve in blocks, on the scale of all the study's scores, at most 20 wide.
fn sparkline(trial: &Trial, study: &Study) -> String {
    let scores = study.trials().iter().flat_map(|t| t.curve.scores());
    let (low, high) = scores.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), &s| (l.min(s), h.max(s)));
    let all = trial.curve.scores();
    let shown = all.iter().skip(all.len().saturating_sub(20));
    let level =
        |score: &f64| if high > low { ((score - low) / (high - low) * 7.0).round() as usize } else { 0 };
    shown.map(|score| BLOCKS[level(score).min(7)]).collect()
}

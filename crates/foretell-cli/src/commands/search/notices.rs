//! What a search says while it runs, and which reports it refuses.

use super::display::Display;
use super::workload::Workload;
use crate::output::note;
use foretell::{Direction, is_share};
use foretell_logs::direction_of;
use foretell_run::{Event, Report};
use foretell_search::{Record, Study, Trial, TrialState};

/// So many trainings show how long one is.
const FIRST_FINISHED: usize = 2;

/// Says each thing once, and passes records on to the display.
pub(super) struct Notices<'a> {
    workload: &'a Workload,
    /// The smallest and the largest value of the runs of --learn-from.
    learnt_range: Option<(f64, f64)>,
    display: &'a mut Display,
    retrained_said: bool,
    silence_said: bool,
    overrun_said: bool,
    unit_said: bool,
    short_said: bool,
}

impl<'a> Notices<'a> {
    /// Nothing was said yet.
    pub(super) fn new(
        workload: &'a Workload,
        learnt_range: Option<(f64, f64)>,
        display: &'a mut Display,
    ) -> Self {
        Self {
            workload,
            learnt_range,
            display,
            retrained_said: false,
            silence_said: false,
            overrun_said: false,
            unit_said: false,
            short_said: false,
        }
    }

    /// Shows an event; an error refuses it.
    pub(super) fn observe(&mut self, study: &Study, event: &Event<'_>) -> Result<(), String> {
        match *event {
            Event::Recorded(record) => {
                self.display.show(study, record);
                if matches!(record, Record::Completed { .. }) {
                    self.say_short(study);
                }
            }
            Event::Report { report, .. } => {
                self.check_direction(report)?;
                self.check_unit(study, report)?;
            }
            Event::Unusable { trial, line, problem } => {
                note(&format!("trial {trial}: unusable report `{line}`: {problem}"));
            }
            Event::Silent { trial, lines, line } if first(&mut self.silence_said) => {
                note(&format!(
                    "trial {trial} has printed {lines} lines, `{line}` the last, but no report yet: {}",
                    self.workload.what_is_missed()
                ));
            }
            Event::Retried { trial, attempt, why } => {
                let why = why.lines().next().unwrap_or_default();
                note(&format!(
                    "trial {trial} failed ({why}); attempt {attempt} of those that --retries allows"
                ));
            }
            Event::Overran { trial } => self.say_overrun(study, trial),
            Event::Retrained { trial, from } if first(&mut self.retrained_said) => {
                note(&format!(
                    "trial {trial} goes on from {from}, but wrote no checkpoint into FORETELL_CHECKPOINT_DIR: it, and others like it, are trained again from their beginning, {from} epochs here; --policy asha with --scheduler full pauses no trial"
                ));
            }
            _ => {}
        }
        Ok(())
    }

    /// Says that trainings are shorter than --epochs, once the first ones that were trained to their end have all ended by
    /// themselves at the same earlier epoch.
    fn say_short(&mut self, study: &Study) {
        let last = study.spec().max_resource;
        let ends = study.trials().iter().filter(|trial| matches!(trial.state, TrialState::Completed { .. }));
        let ends: Vec<u64> = ends.map(Trial::trained).take(FIRST_FINISHED + 1).collect();
        let Some(&end) = ends.first() else { return };
        let is_due = ends.len() == FIRST_FINISHED || (ends.len() < FIRST_FINISHED && study.is_done());
        if is_due && end < last && ends.iter().all(|&other| other == end) && first(&mut self.short_said) {
            note(&format!(
                "the first {} trainings ended by themselves after epoch {end}, before --epochs {last}: write --epochs {end}, or let the command train for {last}; forecasts are of epoch {last} until then",
                ends.len()
            ));
        }
    }

    fn say_overrun(&mut self, study: &Study, number: u64) {
        let whole = |trial: &&Trial| trial.until == study.spec().max_resource && trial.has_reported();
        if let Some(trial) = study.trial(number).filter(whole)
            && first(&mut self.overrun_said)
        {
            note(&format!(
                "trial {number} goes on after epoch {}, the last that --epochs allows: it, and others like it, are ended there; if it reports more often than once an epoch, raise --epochs or let the pattern find the epoch, as in (?P<step>\\d+)",
                trial.until
            ));
        }
    }

    /// A metric that was not named is taken for one that is to be large; its first report may know better.
    fn check_direction(&self, report: &Report) -> Result<(), String> {
        let small = |name: &&String| direction_of(name) == Some(Direction::Minimize);
        if self.workload.unnamed
            && let Some(name) = report.metrics.keys().find(small)
        {
            return Err(format!(
                "the command reports `{name}`, of which smaller is better by its name: say so by --metric {name}, or --maximize if it is not"
            ));
        }
        Ok(())
    }

    /// Shares teach nothing about per cent, nor per cent about shares.
    fn check_unit(&mut self, study: &Study, report: &Report) -> Result<(), String> {
        let metric = &study.spec().metric;
        let value = report.value.filter(|_| is_share(metric));
        let Some((value, (low, high))) = value.zip(self.learnt_range) else { return Ok(()) };
        let said = format!(
            "the command reports {metric} {value}, but the runs of --learn-from lie between {low} and {high}: "
        );
        if value > 1.0 && high <= 1.0 {
            return Err(said + "bring both into one unit, per cent or shares of 1");
        }
        if value > 0.0 && value <= 1.0 && low > 1.0 && first(&mut self.unit_said) {
            note(&(said + "if these are per cent and that is a share of 1, forecasts will be wrong"));
        }
        Ok(())
    }
}

/// Whether this is the first time.
fn first(said: &mut bool) -> bool {
    !std::mem::replace(said, true)
}

//! Notices that a search prints while it runs, and the reports that it refuses.

use super::display::StudyDisplay;
use super::workload::Workload;
use crate::output::{human_duration, note};
use crate::view::rows::in_one_line;
use foretell::{Direction, is_share};
use foretell_logs::direction_of;
use foretell_run::{DriverEvent, FurtherScore, MetricReading, TrialNotice};
use foretell_search::{Schedule, Study, Trial};
use std::collections::BTreeSet;
use std::time::Duration;

/// So many trials with the same curve show that their parameters do not matter.
const MIN_IDENTICAL_TRIALS: usize = 3;
/// Notices about objectives and limits end after this many trials.
const LAST_NOTICE_TRIAL: u64 = 50;

/// Prints each notice once, and passes records on to the display.
pub(super) struct NoticePrinter<'a> {
    workload: &'a Workload,
    /// The smallest and the largest value of the runs of --learn-from.
    learned_range: Option<(f64, f64)>,
    display: &'a mut StudyDisplay,
    retrained_said: bool,
    silence_said: bool,
    unit_said: bool,
    late_said: bool,
    whole_said: bool,
    constant_said: bool,
    identical_said: bool,
    further_said: bool,
    /// The objectives and limits that a notice named.
    objectives_said: BTreeSet<String>,
}

impl<'a> NoticePrinter<'a> {
    /// No notice was printed yet.
    pub(super) fn new(
        workload: &'a Workload,
        learned_range: Option<(f64, f64)>,
        display: &'a mut StudyDisplay,
    ) -> Self {
        Self {
            workload,
            learned_range,
            display,
            retrained_said: false,
            silence_said: false,
            unit_said: false,
            late_said: false,
            whole_said: false,
            constant_said: false,
            identical_said: false,
            further_said: false,
            objectives_said: BTreeSet::new(),
        }
    }

    /// Shows an event; an error refuses it.
    pub(super) fn observe(&mut self, study: &Study, event: &DriverEvent<'_>) -> Result<(), String> {
        match *event {
            DriverEvent::Recorded(record) => {
                self.display.show(study, record);
                if record.ended_trial().is_some() {
                    self.say_objectives(study);
                    self.doubt_constant(study);
                    self.doubt_parameters(study);
                }
            }
            DriverEvent::Report { trial, reading } => {
                self.doubt_whole(study, trial, reading);
                self.check_direction(reading)?;
                self.check_unit(study, reading)?;
            }
            DriverEvent::Noticed { trial, notice } => self.notice(study, trial, notice),
            DriverEvent::FewerWorkers { workers, why } => note(&format!(
                "{why}. From now on, {workers} trials run in parallel. To run more, raise the limit, for example with `ulimit -n 4096`"
            )),
            DriverEvent::BestCounts => note(
                "each trial prints the best of its reports last, so the best report is its score. To use the last report, add --score last",
            ),
            DriverEvent::StudyNotice { text } => note(text),
            DriverEvent::NotEnqueued { why } => note(&format!("skipped an enqueued configuration: {why}")),
        }
        Ok(())
    }

    /// Prints a notice about a trial.
    fn notice(&mut self, study: &Study, trial: u64, notice: &TrialNotice) {
        match notice {
            TrialNotice::Late { reports } if is_first_time(&mut self.late_said) => {
                note(&late(trial, *reports))
            }
            TrialNotice::SeveralTrainings { trainings, score } if is_first_time(&mut self.further_said) => {
                note(&repeated_training_notice(*trainings, *score));
            }
            TrialNotice::Quiet { silence } => {
                self.display.quiet(trial, *silence);
                note(&quiet(trial, *silence));
            }
            TrialNotice::Silent { lines, line, seen } => {
                self.display.seen(study, trial, seen);
                if is_first_time(&mut self.silence_said) {
                    note(&format!(
                        "trial {trial} has printed {lines} lines (the last one is `{line}`), but no report yet: {}",
                        self.workload.what_is_missed()
                    ));
                }
            }
            TrialNotice::Retried { attempt, why } => {
                let why = in_one_line(why);
                note(&format!("trial {trial} failed ({why}). Starting attempt {attempt} (--retries)"));
            }
            TrialNotice::Retrained { from } if is_first_time(&mut self.retrained_said) => {
                let rest = match study.spec().schedule {
                    Schedule::Asha { .. } if !study.keeps_checkpoints() => {
                        "from now on, no trial is paused, and trials below the best of a rung are stopped"
                    }
                    Schedule::Full => "the same applies to every interrupted trial",
                    _ => {
                        "the same applies to every promoted trial; `--scheduler full --policy asha` does not pause any trials"
                    }
                };
                note(&format!(
                    "trial {trial} found no checkpoint of {from} epochs in FORETELL_CHECKPOINT_DIR. It trains these epochs again, and they are added to the epochs spent; {rest}"
                ));
            }
            TrialNotice::Late { .. }
            | TrialNotice::Retrained { .. }
            | TrialNotice::SeveralTrainings { .. } => {}
            TrialNotice::Noted { .. }
            | TrialNotice::Unusable { .. }
            | TrialNotice::Unread { .. }
            | TrialNotice::FailedAtEnd { .. } => {
                note(&format!("trial {trial}: {notice}"));
            }
        }
    }

    /// A metric that is the same in all reports may be a setting.
    fn doubt_constant(&mut self, study: &Study) {
        if let Some(value) = study.constant()
            && is_first_time(&mut self.constant_said)
        {
            let name = &study.spec().metric;
            note(&format!(
                "{name} is {value} in every report of every trial, so no trial is stopped. If this is a setting, set the metric's line, for example --metric '{name}: {{value}}'"
            ));
        }
    }

    /// Trials with other parameters that all report the same values show that the parameters do not reach the script.
    fn doubt_parameters(&mut self, study: &Study) {
        if study.progress().trials.ended_count() == MIN_IDENTICAL_TRIALS as u64
            && let Some(said) = unreached_parameters_notice(study)
            && is_first_time(&mut self.identical_said)
        {
            note(&said);
        }
    }

    /// A training whose first report is of the last epoch may have printed its settings.
    fn doubt_whole(&mut self, study: &Study, trial: u64, reading: &MetricReading) {
        let Some(whole) = study.spec().resource() else { return };
        let is_first = study.trial(trial).is_some_and(|trial| !trial.has_reported());
        if is_first && whole > 1 && reading.step == whole && is_first_time(&mut self.whole_said) {
            let name = &study.spec().metric;
            note(&format!(
                "the first report of trial {trial} is for epoch {whole}, the last one. If the trial has not trained that long, {whole} is a setting, not an epoch. Set a pattern for its lines, for example --metric 'epoch (?P<step>\\d+).*{name}=([\\d.]+)'"
            ));
        }
    }

    /// Prints the problems with objectives and limits, each once.
    fn say_objectives(&mut self, study: &Study) {
        // later there would be nothing new to say
        if study.progress().trials.ended_count() > LAST_NOTICE_TRIAL {
            return;
        }
        for problem in study.objective_problems() {
            let name = problem.split(':').next().unwrap_or_default().to_owned();
            if self.objectives_said.insert(name) {
                note(&problem);
            }
        }
    }

    /// A metric that was not named is taken for one that is to be large; its first report may know better.
    fn check_direction(&self, reading: &MetricReading) -> Result<(), String> {
        let small = |name: &&String| direction_of(name) == Some(Direction::Minimize);
        if self.workload.unnamed
            && let Some(name) = reading.metrics.keys().find(small)
        {
            return Err(format!(
                "the command reports `{name}`, and the name suggests that smaller is better. Confirm this with --metric {name}, or set --maximize"
            ));
        }
        Ok(())
    }

    /// Fractions teach nothing about percentages, nor percentages about fractions.
    fn check_unit(&mut self, study: &Study, reading: &MetricReading) -> Result<(), String> {
        let metric = &study.spec().metric;
        let value = reading.value.filter(|_| is_share(metric));
        let Some((value, (low, high))) = value.zip(self.learned_range) else { return Ok(()) };
        let said = format!(
            "the command reports {metric} {value}, but the runs of --learn-from are between {low} and {high}. "
        );
        // above 1 it cannot be a fraction; up to 1 it may be a small percentage, so that is only noted
        if value > 1.0 && high <= 1.0 {
            return Err(said + "Convert both to the same unit, percent or fractions");
        }
        if value > 0.0 && value <= 1.0 && low > 1.0 && is_first_time(&mut self.unit_said) {
            note(&(said + "If these are percentages and that is a fraction, forecasts will be wrong"));
        }
        Ok(())
    }
}

/// The notice if the first trials that ended have the same curves, but other parameters.
fn unreached_parameters_notice(study: &Study) -> Option<String> {
    let ended: Vec<&Trial> = study.trials().iter().filter(|trial| !trial.is_open()).collect();
    let (head, others) = ended.split_first()?;
    let curve = |trial: &Trial| {
        let bits = |value: &f64| value.to_bits();
        trial.curve.steps().iter().map(bits).zip(trial.curve.scores().iter().map(bits)).collect::<Vec<_>>()
    };
    let own = curve(head);
    let alike = |other: &&Trial| {
        let other_curve = curve(other);
        let common = own.len().min(other_curve.len());
        common > 1 && own[..common] == other_curve[..common] && head.configuration != other.configuration
    };
    // values that never change have a notice of their own, which would be the better advice
    let varies = own.iter().any(|(_, value)| *value != own[0].1);
    if others.len() + 1 < MIN_IDENTICAL_TRIALS || !varies || !others.iter().all(alike) {
        return None;
    }
    let names: Vec<&str> = head.configuration.keys().map(String::as_str).collect();
    Some(format!(
        "the first {MIN_IDENTICAL_TRIALS} trials have different parameters, but report exactly the same values, so the parameters may not reach the script. Check that it reads {} from its command line, its configuration file or FORETELL_PARAMS",
        names.join(", ")
    ))
}

fn late(trial: u64, reports: usize) -> String {
    format!(
        "trial {trial} wrote all its {reports} reports when it ended, so it could not be stopped. Flush each line of the program: fflush(stdout) in C, flush=True in Python, fflush() in awk"
    )
}

fn repeated_training_notice(trainings: u64, score: FurtherScore) -> String {
    format!(
        "each trial trains {trainings} times (folds, stages or repeats). Its score is {score}. All epochs are counted, and stopping compares the first training of each trial. If these are folds, --folds {trainings} also stops trials between and within later folds"
    )
}

fn quiet(trial: u64, silence: Duration) -> String {
    format!(
        "trial {trial} has reported nothing for {}; it may hang. --stall 10 ends trials that are silent for ten times their mean interval",
        human_duration(silence.as_secs_f64())
    )
}

/// Whether this is the first time.
fn is_first_time(said: &mut bool) -> bool {
    !std::mem::replace(said, true)
}

#[cfg(test)]
mod tests {
    use super::{late, quiet};
    use std::time::Duration;

    #[test]
    fn what_to_do_is_said_in_one_sentence() {
        assert!(late(3, 10).contains("all its 10 reports") && late(3, 10).contains("fflush(stdout)"));
        let said = quiet(3, Duration::from_secs(720));
        assert!(said.contains("nothing for 12 min") && said.contains("--stall 10"), "{said}");
    }
}

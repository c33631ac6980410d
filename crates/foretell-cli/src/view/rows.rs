//! A trial in one line: its curve so far, its value, its forecast, its state, its parameters.

use crate::output::{metric_value, percent, short_number, with_deviation};
use crate::terminal::{harmless, visible, wrap_lines};
use console::style;
use foretell::{Configuration, Value};
use foretell_search::{Reason, Space, Study, Trial, TrialState, known_resource};

/// Below so many columns, a row leaves out facts that are shown elsewhere.
const MIN_WIDE_COLUMNS: usize = 110;
const SPARKLINE_BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Trials whose scores the curves of all rows are scaled by: the last ones.
const SCALING_TRIALS: usize = 200;

/// The names of the parameters that can vary. Networks are too long for a row.
pub(crate) fn parameters(study: &Study) -> Vec<String> {
    let Space::Parameters(space) = &study.spec().space else { return Vec::new() };
    let varying = space.parameters().iter().filter(|parameter| parameter.kind.value_count() != Some(1));
    varying.map(|parameter| parameter.name.clone()).collect()
}

/// The cell of a table for the value of a parameter.
pub(super) fn setting(value: Option<&Value>) -> String {
    match value {
        Some(Value::Number(number)) => short_number(*number),
        Some(Value::Text(text)) => text.clone(),
        Some(Value::Missing) | None => "–".to_owned(),
    }
}

/// The values of `names`, as `lr 0.013, depth 4`.
pub(crate) fn settings(configuration: &Configuration, names: &[String]) -> String {
    let known = names.iter().filter_map(|name| Some((name, configuration.get(name)?)));
    let shown = known.filter_map(|(name, value)| match value {
        Value::Number(number) => Some(format!("{name} {}", short_number(*number))),
        Value::Text(text) => Some(format!("{name} {text}")),
        Value::Missing => None,
    });
    shown.collect::<Vec<_>>().join(", ")
}

/// A line about trial `number` with the text `watched` and the values of `names`. If the line is wider than `width` columns, it continues
/// below.
pub(crate) fn line(
    study: &Study,
    number: u64,
    watched: &str,
    names: &[String],
    width: Option<usize>,
) -> String {
    let Some(trial) = study.trial(number) else { return String::new() };
    let spec = study.spec();
    let direction = spec.direction;
    let is_narrow = width.is_some_and(|width| width < MIN_WIDE_COLUMNS);
    let worth = spec.run_score.value_of(&trial.curve);
    let worth = worth.map_or("–".to_owned(), |score| metric_value(direction.to_value(score)));
    let forecast = trial.decision.as_ref().and_then(|d| d.forecast);
    let forecast = forecast.map_or(String::new(), |f| match is_narrow {
        true => format!("→ {}", metric_value(f.mean)),
        false => format!("→ {}", with_deviation(f.mean, f.sd)),
    });
    let (blocks, room) = if is_narrow { (8, 9) } else { (20, 18) };
    let curve = spec
        .resource()
        .map_or(blocks, |whole| usize::try_from(whole).map_or(blocks, |whole| whole.min(blocks)));
    let yours = if number == 0 && spec.queue.len() == 1 { " (yours)" } else { "" };
    let state = color_state(trial, &(state_text(trial, is_narrow) + yours), width.is_some());
    let line = format!(
        "trial {number:>3}  {:<curve$}  {:>3}/{} {worth:>7}  {forecast:<room$}  {state}  {}{}{}",
        sparkline(trial, study, curve),
        trial.trained_epochs(),
        until_text(trial),
        visible(watched),
        if watched.is_empty() { "" } else { "  " },
        visible(&settings(&trial.configuration, names)),
    );
    let line = line.trim_end();
    width.map_or_else(|| line.to_owned(), |width| wrap_lines(line, width.saturating_sub(1)))
}

/// The epochs to which `trial` is trained, as text; a question mark while nobody knows them.
pub(crate) fn until_text(trial: &Trial) -> String {
    known_resource(trial.until).map_or("?".to_owned(), |until| until.to_string())
}

/// The reason why a trial failed, in one line: the problem, and the last line that it printed.
pub(crate) fn in_one_line(reason: &str) -> String {
    let mut lines = reason.lines().map(str::trim).filter(|line| !line.is_empty());
    let what = lines.next().unwrap_or_default();
    let told = lines.next_back().map(|last| format!("{what} {last}"));
    harmless(&told.unwrap_or_else(|| what.to_owned())).into_owned()
}

/// The state in its color, on a terminal that shows colors.
fn color_state(trial: &Trial, text: &str, is_terminal: bool) -> String {
    if !is_terminal {
        return text.to_owned();
    }
    let text = style(text).for_stderr();
    match &trial.state {
        TrialState::Completed { .. } => text.green().to_string(),
        TrialState::Stopped { .. } => text.yellow().to_string(),
        TrialState::Failed { .. } => text.red().to_string(),
        TrialState::Paused { .. } | TrialState::Interrupted => text.dim().to_string(),
        TrialState::Running => text.to_string(),
    }
}

fn state_text(trial: &Trial, is_narrow: bool) -> String {
    let decision = trial.decision.as_ref().filter(|_| !is_narrow);
    let odds = decision.and_then(|decision| match decision.chance {
        Some(chance) => Some(format!(", chance to be the best {}", percent(chance, 1))),
        None => decision.probability.map(|p| format!(", {} sure", percent(p, 1))),
    });
    let odds = odds.unwrap_or_default();
    match &trial.state {
        TrialState::Running => match trial.decision.as_ref().map(|d| &d.reason) {
            _ if is_narrow => "running".to_owned(),
            Some(Reason::BurnIn) => "running (burn-in)".to_owned(),
            Some(Reason::AlreadyStopped) => "running (would be stopped)".to_owned(),
            _ if trial.kept => "running (kept manually)".to_owned(),
            Some(Reason::Exempt) => "running (would be stopped, but is exempt)".to_owned(),
            _ => "running".to_owned(),
        },
        TrialState::Interrupted => "interrupted".to_owned(),
        TrialState::Paused { .. } if is_narrow => "paused".to_owned(),
        TrialState::Paused { .. } => "paused at its rung".to_owned(),
        TrialState::Completed { .. } => match &trial.shadow {
            Some(decision) => {
                format!("done (would have been stopped after {})", trial.trained_at(decision.step))
            }
            None => "done".to_owned(),
        },
        TrialState::Stopped { step, reason: Reason::Diverged, .. } => {
            format!("stopped after {}: diverged", trial.trained_at(*step))
        }
        TrialState::Stopped { .. } if is_narrow => "stopped".to_owned(),
        TrialState::Stopped { step, reason: Reason::ByHand, .. } => {
            format!("stopped manually after {} of {}", trial.trained_at(*step), until_text(trial))
        }
        TrialState::Stopped { step, .. } => {
            format!("stopped after {} of {}{odds}", trial.trained_at(*step), until_text(trial))
        }
        TrialState::Failed { reason } => format!("failed: {}", in_one_line(reason)),
    }
}

/// The curve in blocks, on the scale of the scores of the study's last trials, at most `most` wide.
fn sparkline(trial: &Trial, study: &Study, most: usize) -> String {
    let trials = study.trials();
    let recent = &trials[trials.len().saturating_sub(SCALING_TRIALS)..];
    let scores = recent.iter().chain([trial]).flat_map(|t| t.curve.scores());
    let (low, high) = scores.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), &s| (l.min(s), h.max(s)));
    let all = trial.curve.scores();
    // a curve longer than its place is shown whole, in equal parts, each by its last score
    let places = all.len().min(most);
    let shown = (1..=places).map(|place| &all[place * all.len() / places - 1]);
    let blocks = shown.map(|score| {
        let level = if high > low { ((score - low) / (high - low) * 7.0).round() as usize } else { 0 };
        SPARKLINE_BLOCKS[level.min(7)]
    });
    blocks.collect()
}

#[cfg(test)]
mod tests {
    use super::{line, parameters};
    use foretell_search::{ParameterSpace, Space, Study, StudyInput, StudySpec};

    fn study(epochs: u64) -> Study {
        let space =
            ParameterSpace::parse(&["learning_rate=log:1e-4:1", "optimizer=choice:sgd,adam", "same=int:3:3"]);
        let space = Space::Parameters(space.expect("a space"));
        let usual = StudySpec::new(space, "val_acc", foretell::Direction::Maximize);
        let policy = foretell_search::StopPolicy::none();
        let mut study = Study::new(StudySpec { max_resource: epochs, policy, ..usual }).expect("a study");
        for trial in 0..3 {
            study.step(&StudyInput::WorkerIdle);
            for step in 1..=epochs / 2 {
                let value = Some(0.5 + step as f64 / 100.0);
                study.step(&StudyInput::Reported { trial, step, value, metrics: Default::default() });
            }
        }
        let failure = Some("exit code 1; last output:\n  Traceback\n  ValueError: \u{1b}[31mlr\n".to_owned());
        study.step(&StudyInput::Ended { trial: 2, failure });
        study
    }

    #[test]
    fn rows_fit_the_width_and_show_the_parameters_that_vary() {
        let study = study(60);
        let names = parameters(&study);
        assert_eq!(names, ["learning_rate", "optimizer"]);
        for width in [40, 80, 120, 200] {
            for number in 0..study.trials().len() as u64 {
                let row = line(&study, number, "", &names, Some(width));
                assert!(row.lines().all(|line| console::measure_text_width(line) < width), "{width}: {row}");
                assert!(names.iter().all(|name| row.contains(name)), "{width}: {row}");
                assert!(width < 200 || !row.contains('\n'), "{row}");
            }
        }
        let wide = line(&study, 0, "loss 0.5000", &names, Some(200));
        assert!(wide.contains("loss 0.5000  learning_rate 0.") && wide.contains("optimizer "), "{wide}");
        let narrow = line(&study, 0, "", &names, Some(80));
        assert!(narrow.contains("running  learning_rate 0."), "{narrow}");
        let plain = line(&study, 2, "", &names, None);
        let expected = "failed: exit code 1; last output: ValueError: lr";
        assert!(plain.contains(expected) && !plain.contains(['\u{1b}', '\n']), "{plain}");
    }

    #[test]
    fn a_curve_longer_than_its_place_is_shown_whole() {
        let study = study(60);
        let row = line(&study, 0, "", &[], Some(80));
        assert!(row.contains("▁▂") || row.contains("▁▁") && row.contains('█'), "{row}");
    }

    #[test]
    fn a_training_whose_epochs_count_from_0_ends_at_all_of_them() {
        let mut study = study(8);
        for step in 0..8 {
            study.step(&StudyInput::WorkerIdle);
            let value = Some(0.5);
            study.step(&StudyInput::Reported { trial: 3, step, value, metrics: Default::default() });
        }
        let done = line(&study, 3, "", &[], None);
        assert!(done.contains(" 8/8 "), "{done}");
    }
}

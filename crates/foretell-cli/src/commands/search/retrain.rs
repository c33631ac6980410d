//! The best networks of a search trained anew for longer: a study of their configurations, in a folder of the first.

use super::display::Display;
use super::flags::{Arguments, FigureKind};
use super::report::Document;
use super::study_picture;
use super::study_run::{Described, StudyRun};
use crate::failure::{Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::output::{metric_value, note, table};
use crate::plot;
use foretell_search::{Policy, SamplerSpec, Schedule, Study, StudySpec};
use std::path::Path;

/// The folder, in that of the search.
const FOLDER: &str = "retrained";

/// Whether the flags agree.
pub(super) fn check(arguments: &Arguments) -> Outcome {
    let missing = |given, other| {
        Failure::input(format!("{given} needs {other}: how many of the best are trained anew, and how long"))
    };
    match (arguments.retrain_best, arguments.retrain_epochs) {
        (Some(_), None) => Err(missing("--retrain-best", "--retrain-epochs")),
        (None, Some(_)) => Err(missing("--retrain-epochs", "--retrain-best")),
        _ => Ok(()),
    }
}

/// Trains the best of `search` anew, if that is asked for and the search has ended.
pub(super) fn best(
    search: &StudyRun,
    arguments: &Arguments,
    interrupt: &Interrupt,
) -> Result<Option<StudyRun>, Failure> {
    let (Some(count), Some(epochs)) = (arguments.retrain_best, arguments.retrain_epochs) else {
        return Ok(None);
    };
    let first = search.study();
    let best = ranked(first, count);
    if !first.is_done() || best.is_empty() {
        return Ok(None);
    }
    let queue = best.iter().map(|&trial| first.trials()[trial].configuration.clone()).collect::<Vec<_>>();
    let spec = StudySpec {
        sampler: SamplerSpec::Random,
        schedule: Schedule::Full,
        policy: Policy::None,
        shadow: false,
        max_resource: epochs,
        trials: queue.len() as u64,
        budget_epochs: None,
        queue,
        ..first.spec().clone()
    };
    let directory = search.directory().join(FOLDER);
    let described = Described { spec, request: None };
    let mut again = StudyRun::open(&directory, described, arguments, search.workload(), &[], interrupt)?;
    let trials: Vec<String> = best.iter().map(ToString::to_string).collect();
    note(&format!(
        "training the best anew for {epochs} epochs, trials {}; kept in {}",
        trials.join(", "),
        directory.display()
    ));
    let mut display = Display::new(again.study(), again.times(), arguments.control.heartbeat);
    let ran = again.run(interrupt, &mut display);
    display.finish();
    ran.map(|()| Some(again))
}

/// The numbers of the best trials, the best first: by their results, which of stopped ones are forecasts.
fn ranked(study: &Study, count: u64) -> Vec<usize> {
    let direction = study.spec().direction;
    let results = study.trials().iter().enumerate();
    let mut results: Vec<(usize, f64)> =
        results.filter_map(|(trial, state)| state.result().map(|result| (trial, result))).collect();
    results.sort_by(|a, b| direction.score(b.1).total_cmp(&direction.score(a.1)));
    results.iter().take(usize::try_from(count).unwrap_or(usize::MAX)).map(|&(trial, _)| trial).collect()
}

/// What came of it as JSON.
pub(super) fn document(again: &StudyRun) -> Document {
    Document::new("foretell.search/1", again.study(), again.times(), again.directory())
}

/// What came of it for people: each network before and after.
pub(super) fn text(first: &Study, again: &StudyRun) -> String {
    let study = again.study();
    let number = |value: Option<f64>| value.map_or("–".to_owned(), metric_value);
    let row = |(place, before): (usize, usize)| {
        let after = study.trials().get(place).and_then(|trial| trial.result());
        vec![place.to_string(), before.to_string(), number(first.trials()[before].result()), number(after)]
    };
    let rows: Vec<_> = ranked(first, study.spec().trials).into_iter().enumerate().map(row).collect();
    let metric = &study.spec().metric;
    let headings = ["trial", "was", &format!("{metric} then"), &format!("{metric} now")];
    format!(
        "\nthe best trained anew for {} epochs, kept in {}\n{}",
        study.spec().max_resource,
        again.directory().display(),
        table(&headings, &rows)
    )
}

/// Draws their curves beside the picture at `path`: `NAME-retrained.svg` beside `NAME.svg`.
pub(super) fn draw(again: &StudyRun, path: &Path) -> Outcome {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    let beside = path.with_file_name(format!("{stem}-{FOLDER}.{extension}"));
    let study = again.directory().parent().unwrap_or(again.directory());
    let title = format!("{}, the best trained anew", study_picture::name(study));
    let figure = study_picture::of(again.study(), &title, FigureKind::Curves, Vec::new());
    plot::save(&beside, &figure).map_err(Failure::midway)?;
    note(&format!("drawn into {}", beside.display()));
    Ok(())
}

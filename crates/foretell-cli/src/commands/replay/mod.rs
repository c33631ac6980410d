//! `foretell replay`: effects that early stopping would have had on recorded runs.

mod answer;
mod document;
mod families;
mod flags;
mod orders;
mod page;
mod pictures;
mod recommend;
mod replayed;
mod report;
mod settings;
mod way;

pub(crate) use flags::ReplayArguments;

use crate::catalogue::catalogue;
use crate::commands::search::study_request;
use crate::curves::{last_step, predictor_of_recorded};
use crate::failure::{CommandResult, Failure};
use crate::output::{self, OutputFormat, note, print, print_json};
use crate::plot;
use crate::progress::ProgressSteps;
use crate::scheduling::measure_name;
use document::ReplayDocument;
use families::FamilyComparison;
use flags::{FigureKind, MIN_LEARNED_RUNS};
use foretell::{Predictor, PredictorOptions, PredictorPurpose};
use foretell_logs::{NoteTopic, RecordedSet};
use foretell_search::{
    Caution, PredictorChoice, PredictorTeacher, ReplayError, ReplaySetting, RunTable, StudyRequest,
    replay_with_callback,
};
use replayed::ReplayedFile;
use settings::ReplayVariant;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Runs the command.
pub(crate) fn run(arguments: &ReplayArguments) -> CommandResult {
    plot::FigureSize::apply(arguments.plot_size);
    if let Some(path) = &arguments.plot {
        // refused now, because a long replay would otherwise end without its picture
        plot::check_place(path, None).map_err(Failure::input)?;
        if arguments.files().len() > 1 {
            return Err(Failure::input("--plot shows one set of curves. Pass a single file"));
        }
    }
    if arguments.report.is_some() && arguments.files().len() > 1 {
        return Err(Failure::input("--report describes one set of curves. Pass a single file or folder"));
    }
    let replayed = replay_files(arguments)?;
    match arguments.format {
        OutputFormat::Json => print_json(&document(arguments, &replayed))?,
        OutputFormat::Table => {
            let texts = replayed.iter().map(|file| answer::text(file, arguments));
            let together = FamilyComparison::compare(&replayed).map(|families| families.text());
            print(&texts.chain(together).collect::<Vec<_>>().join("\n\n"))?;
        }
    }
    if let Some(path) = &arguments.write_orders {
        orders::write(path, &replayed)?;
    }
    let Some(first) = replayed.first() else { return Ok(()) };
    if let Some(path) = &arguments.plot {
        plot::save(path, &pictures::draw(arguments.figure(), first, arguments)).map_err(Failure::midway)?;
    }
    plot::FigureSize::apply(None); // a page is no paper
    if let Some(path) = &arguments.report {
        write_report(path, first, arguments)?;
    }
    if first.of_tool && arguments.draws_by_default() {
        let (picture, report) = (Path::new("savings.svg"), Path::new("savings.html"));
        plot::save(picture, &pictures::draw(FigureKind::Fates, first, arguments)).map_err(Failure::midway)?;
        write_report(report, first, arguments)?;
        note(
            "wrote the picture savings.svg and the report savings.html. To choose other names, use --plot and --report",
        );
    }
    Ok(())
}

fn write_report(path: &Path, file: &ReplayedFile, arguments: &ReplayArguments) -> CommandResult {
    let failed = |error| Failure::midway(format!("{}: {error}", path.display()));
    foretell_run::write_output(path, page::page_html(file, arguments)).map_err(failed)
}

/// The JSON document that the command prints.
pub(crate) fn json(arguments: &ReplayArguments) -> Result<String, Failure> {
    output::json(&document(arguments, &replay_files(arguments)?))
}

fn document<'a>(arguments: &ReplayArguments, replayed: &'a [ReplayedFile]) -> ReplayDocument<'a> {
    ReplayDocument {
        schema: "foretell.replay/1",
        seed: arguments.seed,
        scheduler: arguments.scheduler().name(),
        rows: replayed.iter().flat_map(|file| &file.rows).collect(),
        families: FamilyComparison::compare(replayed),
    }
}

/// All files, replayed.
fn replay_files(arguments: &ReplayArguments) -> Result<Vec<ReplayedFile>, Failure> {
    arguments.check()?;
    let study = arguments.study_file().map(study_request).transpose()?;
    let study = study.map(|study| study.with_overrides(&arguments.asked.request()));
    let orders = (arguments.orderings * arguments.files().len()) as u64;
    let steps = ProgressSteps::new("replaying {bar:30} {pos} of {len} orders", orders);
    arguments.files().iter().map(|path| replay_file(arguments, study.as_ref(), path, &steps)).collect()
}

/// The predictor of a variant, made once for all that share it: by name, and whether for a policy that extrapolates each curve alone.
type PredictorMap = BTreeMap<(bool, String), Arc<dyn Predictor>>;

/// The predictors of `variants`, each made once.
fn predictors(arguments: &ReplayArguments, variants: &[ReplayVariant]) -> Result<PredictorMap, Failure> {
    let options = PredictorOptions {
        seed: arguments.seed,
        draws: arguments.draws.map(|draws| draws as usize),
        ..PredictorOptions::default()
    };
    let mut made: PredictorMap = BTreeMap::new();
    for (alone, name) in variants.iter().filter_map(ReplayVariant::forecasts_by) {
        if made.contains_key(&(alone, name.clone())) {
            continue;
        }
        let predictor = match alone {
            false => predictor_of_recorded(&name, &options).map_err(Failure::input)?,
            true => {
                let options = PredictorOptions { purpose: PredictorPurpose::Termination, ..options };
                catalogue().predictors().make_predictor(&name, &options).map_err(Failure::input)?.into()
            }
        };
        made.insert((alone, name), predictor);
    }
    Ok(made)
}

/// The advice if fewer runs reach `target` than a replay needs: a step that enough of them reach, if there is one.
fn advise_earlier_target(recorded: &RecordedSet, target: f64) -> String {
    let mut ends: Vec<f64> =
        recorded.runs.iter().filter_map(|run| run.curve.last_point()).map(|(step, _)| step).collect();
    ends.sort_by(|a, b| b.total_cmp(a));
    let reach = |target: f64| ends.iter().filter(|&&end| end >= target).count();
    let needed = MIN_LEARNED_RUNS + 1;
    let first = format!(
        "{} of {} runs reach step {target}, but a replay needs at least {needed}: {MIN_LEARNED_RUNS} to learn from, and one to stop",
        reach(target),
        recorded.runs.len()
    );
    match ends.get(needed - 1).filter(|end| **end < target) {
        Some(&end) => format!("{first}. Use --target {end}, which {} runs reach", reach(end)),
        None => format!("{first}. Train more runs, or add more logs"),
    }
}

/// Chooses predictor and Δ by earlier runs, as `foretell search --learn-from` does.
fn teacher(arguments: &ReplayArguments, caution: Caution) -> PredictorTeacher {
    let options = PredictorOptions { seed: arguments.seed, ..PredictorOptions::default() };
    Arc::new(move |runs, spec, read| {
        let lessons = PredictorChoice::new(runs, spec, read, Some(caution))?;
        let predictor = predictor_of_recorded(&lessons.predictor, &options).ok()?;
        Some((predictor, lessons.apply_to(spec.clone()).criterion.stop_probability))
    })
}

/// The runs that earlier searches take theirs from.
fn read_earlier_table(
    arguments: &ReplayArguments,
    path: &Path,
    replayed: &RecordedSet,
) -> Result<Arc<RunTable>, Failure> {
    let mut reading = arguments.reading.clone();
    reading.metric = arguments.earlier_metric.clone().or(reading.metric);
    let recorded = reading.read(path)?;
    if recorded.metric.direction != replayed.metric.direction {
        return Err(Failure::input(format!(
            "--earlier-from {}: its metric {} has the opposite direction. Choose other curves",
            path.display(),
            recorded.metric.name
        )));
    }
    let options = reading.history_options(&recorded);
    let table = RunTable::new(&recorded.runs, &options, arguments.finer as usize);
    table.map(Arc::new).map_err(|error| Failure::input(format!("{}: {error}", path.display())))
}

fn replay_file(
    arguments: &ReplayArguments,
    study: Option<&StudyRequest>,
    path: &Path,
    steps: &ProgressSteps,
) -> Result<ReplayedFile, Failure> {
    let recorded = arguments.reading.read(path)?;
    let in_file = |error: &dyn std::fmt::Display| Failure::input(format!("{}: {error}", path.display()));
    let history = arguments.reading.history(&recorded, path)?;
    let target = last_step(&history);
    let options = arguments.reading.history_options(&recorded);
    let table =
        RunTable::new(&recorded.runs, &options, arguments.finer as usize).map_err(|error| match error {
            ReplayError::OnePoint => {
                in_file(&format!("{error} (up to step {target}). Choose a later --target"))
            }
            ReplayError::TooFewRuns { .. } => in_file(&advise_earlier_target(&recorded, target)),
            _ => in_file(&error),
        })?;
    let table = table.with_objectives(&arguments.objective).map_err(|error| in_file(&error))?;
    let is_small = table.len() <= MIN_LEARNED_RUNS;
    if is_small && arguments.is_short() {
        return Err(in_file(&advise_earlier_target(&recorded, target)));
    }
    let table = Arc::new(table);
    let mut variants = settings::variants(arguments, study, &table)?;
    let predictors = predictors(arguments, &variants)?;
    let earlier = arguments
        .earlier_from
        .as_deref()
        .map(|path| read_earlier_table(arguments, path, &recorded))
        .transpose()?;
    for variant in &mut variants {
        let predictor = variant.forecasts_by().and_then(|name| predictors.get(&name).cloned());
        let teacher = variant.teaching_caution().map(|caution| teacher(arguments, caution));
        variant.setting =
            ReplaySetting { predictor, teacher, earlier: earlier.clone(), ..variant.setting.clone() };
    }
    let settings: Vec<ReplaySetting> = variants.iter().map(|variant| variant.setting.clone()).collect();
    let outcomes =
        replay_with_callback(&table, &settings, &|| steps.step()).map_err(|error| match error {
            ReplayError::Fit(_) if is_small => in_file(&advise_earlier_target(&recorded, target)),
            _ => in_file(&error),
        })?;
    let mut rows = report::rows(&recorded.name, &table, variants, &outcomes, arguments);
    if arguments.writes_best_so_far() {
        report::add_best_so_far(&mut rows, &table, &outcomes, arguments.finer);
    }
    let metric = measure_name(table.history().run_score(), &recorded.metric.name);
    let names = recorded.runs.into_iter().map(|run| run.id).collect();
    let (curves, seconds) = (recorded.name, recorded.seconds);
    let of_tool = recorded.notes.iter().any(|note| note.topic == NoteTopic::Found);
    let notes = recorded.notes.iter().map(ToString::to_string).collect();
    Ok(ReplayedFile { curves, metric, of_tool, seconds, notes, names, table, outcomes, rows })
}

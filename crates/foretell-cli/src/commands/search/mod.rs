//! `foretell search`: runs, or finishes, a study.

pub(crate) mod again;
#[cfg(feature = "nn")]
mod built_in;
mod changes;
mod conflict;
mod control;
mod described_study;
mod display;
mod explain;
mod flags;
#[cfg(feature = "serve")]
mod fleet;
#[cfg(not(feature = "serve"))]
#[path = "no_fleet.rs"]
mod fleet;
mod heartbeat;
mod lengths;
mod notices;
mod opening;
mod study_file;
mod study_run;
mod warm_start;
mod workload;

use crate::asked::RecordedCommand;
use crate::catalogue::catalogue;
use crate::commands::study::note_file;
use crate::failure::{CommandResult, Failure};
use crate::output::{OutputFormat, note, print, print_json};
use crate::terminal::fit_to_terminal;
use crate::view::{picture, report};
use crate::{interrupt, plot};
use clap::ArgMatches;
pub(crate) use control::{duration, no_gpu_twice};
pub(crate) use described_study::DEFAULT_STUDIES_FOLDER;
use display::StudyDisplay;
pub(crate) use flags::SearchArguments;
use fleet::Fleet;
use foretell::Run;
use foretell_run::restore_secrets;
use foretell_search::{LastMetrics, Refusal, Study, StudyRequest, StudySpec};
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;
pub(crate) use study_file::{STUDY_FILE_NAME, study_request};
pub(crate) use study_run::threads;
use study_run::{DescribedStudy, INTERRUPT_TIMEOUT, StudyRun};
use workload::Workload;
pub(crate) use workload::metric_name_in;

/// Runs the command that the command line `words` gave; `matches` are its flags.
pub(crate) fn run(given: &SearchArguments, words: &[OsString], matches: &ArgMatches) -> CommandResult {
    match &given.study {
        None => {
            if given.command.is_empty() && given.space.is_none() && Path::new(STUDY_FILE_NAME).exists() {
                note(&format!(
                    "{STUDY_FILE_NAME} is not read here: to search it, run foretell search {STUDY_FILE_NAME}"
                ));
            }
            search(given, &RecordedCommand::by(words))
        }
        Some(path) => {
            let (arguments, asked) = study_file::together(path, words, matches)?;
            search(&arguments, &asked)
        }
    }
}

fn search(arguments: &SearchArguments, asked: &RecordedCommand) -> CommandResult {
    let mut workload = Workload::from_arguments(arguments)?;
    arguments.control.check(arguments.workers())?;
    let request = arguments.request(&workload);
    let first = StudyRequest { epochs: request.epochs.or(workload.epochs), ..request.clone() };
    let learn_from = arguments.learn_from();
    let spec = first.resolve_regardless_of_queue(catalogue())?;
    let warm_start = warm_start::runs(&learn_from, &spec)?;
    spec.check_burn_in(warm_start.len()).map_err(Refusal::from)?;
    let directory = arguments.directory(&spec);
    let spec = warm_start::apply_lessons(spec, &first, &warm_start, !directory.exists());
    plot::FigureSize::apply(arguments.plot_size);
    if let Some(path) = &arguments.plot {
        plot::check_place(path, Some(&directory)).map_err(Failure::input)?;
    }
    if arguments.explain {
        return print_plan(arguments, &spec, &workload, &directory);
    }
    if Fleet::hand_over(arguments, asked, &directory)? {
        return Ok(());
    }
    // a command that was copied from a report or written for a job has *** in place of its secrets
    workload.command = restore_secrets(&directory, &workload.command).map_err(Failure::input)?;
    let lessons = match arguments.no_lessons {
        true => None,
        false => warm_start::lessons(&directory, &spec, &learn_from),
    };
    if let Some(lessons) = &lessons {
        note(&lessons.to_string());
    } else if learn_from.is_empty() && !arguments.no_lessons {
        warm_start::offer_earlier_study(&directory, &spec).iter().for_each(|offer| note(offer));
    }
    // those that somebody names come last: the latest lessons are kept
    let warm_start: Vec<Run> =
        lessons.into_iter().flat_map(|lessons| lessons.runs).chain(warm_start).collect();
    let interrupt = interrupt::Interrupt::default();
    let described = DescribedStudy {
        spec,
        request: Some(request),
        new_study: Some(conflict::new_study(asked, arguments, &directory)),
    };
    let mut search = StudyRun::open(&directory, described, arguments, &workload, &warm_start, &interrupt)?;
    let config = workload.config.as_ref().map(|config| config.copy_file_name());
    // only once the study is open: a command that it refuses must not replace the one that continues it
    asked.keep(search.directory(), &workload.command, config);
    if let Some(text) = &arguments.note {
        note_file::add(search.directory(), text)?;
    }
    note(&opening::opening(&search, arguments));
    // jobs that are ended hand their trials back first
    let jobs = if arguments.control.on.is_some() { fleet::JOB_END_TIMEOUT } else { Duration::ZERO };
    interrupt.install(INTERRUPT_TIMEOUT + jobs)?;
    if std::env::var_os("SLURM_JOB_ID").is_some() {
        interrupt.install_warning()?;
    }
    let (opened, fleet) = Fleet::open(search, arguments, &interrupt)?;
    search = opened;
    let mut display = StudyDisplay::new(search.study(), search.times(), arguments.control.heartbeat)
        .with_watched_metrics(&arguments.watch);
    let ran = search.run(&interrupt, &mut display);
    display.finish();
    // the engine's reason for ending the search tells more than the fact
    fleet.map_or(Ok(()), Fleet::end)?;
    ran?;
    tell(&search, arguments)?;
    check_has_best(search.study())
}

/// Refuses to end well without a best trial.
fn check_has_best(study: &Study) -> CommandResult {
    if study.best().is_some() {
        return Ok(());
    }
    Err(Failure::midway(match study.is_done() {
        true if study.progress().trials.completed > 0 => {
            "no completed trial keeps the limits. Change a limit or the search space"
        }
        true => "no trial was completed. `foretell study show` shows the reasons",
        false => {
            "the limit was reached before any trial was completed, so there is no result yet. To continue, run the same command with a larger limit"
        }
    }))
}

/// Prints the plan of the search, and the jobs that it would submit.
fn print_plan(
    arguments: &SearchArguments,
    spec: &StudySpec,
    workload: &Workload,
    directory: &Path,
) -> CommandResult {
    let plan = explain::plan_search(spec, arguments.workers()).map_err(Failure::input)?;
    match arguments.format {
        OutputFormat::Json => print_json(&explain::PlanDocument::new(directory, plan)),
        OutputFormat::Table => {
            let text = explain::text(spec, workload, &plan, directory, arguments.budget_line());
            print(&fit_to_terminal(&text, &console::Term::stdout()))?;
            Fleet::explain_engine(arguments, directory)?.map_or(Ok(()), |text| print(&format!("\n{text}")))
        }
    }
}

/// The result on standard output, and in a picture if one is asked for.
fn tell(search: &StudyRun, arguments: &SearchArguments) -> CommandResult {
    let document =
        report::StudyDocument::new("foretell.search/1", search.study(), search.times(), search.directory());
    match arguments.format {
        OutputFormat::Json => print_json(&document),
        OutputFormat::Table => print(&report::text(search.study(), &document, &LastMetrics::new(), false)),
    }?;
    if arguments.control.serve.is_some() {
        let folder = search.directory().display();
        note(&format!("the page ended with the search. To show it again: foretell serve {folder}"));
    }
    if let Some(path) = &arguments.plot {
        let name = picture::name(search.directory());
        let watched = picture::read_watched_curves(search.directory(), &arguments.watch)?;
        let figure = picture::draw(search.study(), &name, arguments.figure(), watched);
        plot::save(path, &figure).map_err(Failure::midway)?;
        note(&format!("wrote the plot {}", path.display()));
    }
    Ok(())
}

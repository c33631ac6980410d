//! `foretell search`: runs, or finishes, a study.

#[cfg(feature = "nn")]
mod built_in;
mod described_study;
mod display;
mod explain;
mod flags;
mod notices;
pub(crate) mod report;
mod study_file;
mod study_picture;
mod study_run;
mod warm_start;
mod workload;

use crate::failure::{Failure, Outcome};
use crate::output::{Format, note, print, print_json};
use crate::{interrupt, plot};
use display::Display;
pub(crate) use flags::Arguments;
use std::ffi::OsString;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use study_run::StudyRun;
use workload::Workload;

/// Runs the command that the command line `words` gave.
pub(crate) fn run(given: &Arguments, words: &[OsString]) -> Outcome {
    match &given.study {
        None => search(given),
        Some(path) => search(&study_file::together(path, words)?),
    }
}

/// Sets `interrupted` after `time`; the flag returned says whether it was this that set it.
fn stop_after(time: Duration, interrupted: &Arc<AtomicBool>) -> Arc<AtomicBool> {
    let (interrupted, spent) = (Arc::clone(interrupted), Arc::new(AtomicBool::new(false)));
    let by_time = Arc::clone(&spent);
    std::thread::spawn(move || {
        std::thread::sleep(time);
        by_time.store(!interrupted.swap(true, Ordering::SeqCst), Ordering::SeqCst);
    });
    spent
}

fn search(arguments: &Arguments) -> Outcome {
    let workload = Workload::of(arguments)?;
    let spec = arguments.spec(&workload)?;
    spec.validate().map_err(Failure::input)?;
    let warm_start = warm_start::runs(&arguments.learn_from, &spec)?;
    spec.check_burn_in(warm_start.len()).map_err(Failure::input)?;
    let directory = arguments.directory(&spec);
    if let Some(path) = &arguments.plot {
        plot::check_place(path, Some(&directory)).map_err(Failure::input)?;
    }
    if arguments.explain {
        let plan = explain::planned(&spec, arguments.workers()).map_err(Failure::input)?;
        return match arguments.format {
            Format::Json => print_json(&explain::Document::new(&directory, plan)),
            Format::Table => {
                print(&explain::text(&spec, &workload, &plan, &directory, arguments.budget_line(&spec)))
            }
        };
    }
    let offered =
        if arguments.learn_from.is_empty() { warm_start::offered(&directory, &spec) } else { Vec::new() };
    for path in offered {
        note(&format!(
            "an earlier study of this command is there; to learn from it, too: --learn-from {}",
            path.display()
        ));
    }
    let mut search = StudyRun::open(&directory, spec, arguments, &workload, &warm_start)?;
    note(&report::opening(&search, arguments));
    let interrupted = interrupt::flag()?;
    let time_is_spent = arguments.budget_time.map(|time| stop_after(time, &interrupted));
    let mut display = Display::new(search.study());
    let ran = search.run(&interrupted, &mut display);
    display.finish();
    let ended_by_time = time_is_spent.is_some_and(|spent| spent.load(Ordering::SeqCst));
    match ran {
        Err(_) if ended_by_time => note("the time is spent; the same command goes on from here"),
        ran => ran?,
    }
    let document = report::Document::new("foretell.search/1", search.study(), search.directory());
    match arguments.format {
        Format::Json => print_json(&document),
        Format::Table => print(&report::text(search.study(), &document)),
    }?;
    if let Some(path) = &arguments.plot {
        let figure = study_picture::of(search.study(), &search.workload().title, arguments.figure());
        plot::save(path, &figure).map_err(Failure::midway)?;
        note(&format!("drawn into {}", path.display()));
    }
    Ok(())
}

//! `foretell search`: runs, or finishes, a study.

mod describe;
mod display;
mod explain;
mod file;
mod flags;
mod learn;
mod live;
mod picture;
pub(crate) mod report;
mod workload;

use crate::failure::{Failure, Outcome};
use crate::output::{Format, note, print, print_json};
use crate::plot;
use display::Display;
pub(crate) use flags::Arguments;
use live::Live;

/// Runs the command.
pub(crate) fn run(given: &Arguments) -> Outcome {
    match &given.study {
        None => search(given),
        Some(path) => search(&file::together(path, &std::env::args_os().collect::<Vec<_>>())?),
    }
}

fn search(arguments: &Arguments) -> Outcome {
    let workload = arguments.workload()?;
    let spec = arguments.spec(&workload)?;
    spec.validate().map_err(Failure::input)?;
    let handed_in = learn::runs(&arguments.learn_from, &spec)?;
    spec.check_burn_in(handed_in.len()).map_err(Failure::input)?;
    let directory = arguments.directory(&spec);
    if let Some(path) = &arguments.plot {
        plot::check_place(path, Some(&directory)).map_err(Failure::input)?;
    }
    if arguments.explain {
        let plan = explain::planned(&spec, arguments.workers()).map_err(Failure::input)?;
        return match arguments.format {
            Format::Json => print_json(&explain::Document::new(&directory, plan)),
            Format::Table => print(&explain::text(&spec, &workload, &plan, &directory)),
        };
    }
    let mut live = Live::open(&directory, spec, arguments, &workload, &handed_in)?;
    note(&report::opening(&live, arguments));
    let mut display = Display::new(live.study());
    let ran = live.run(&mut |study, record| display.show(study, record));
    display.finish();
    ran?;
    let document = report::Document::new("foretell.search/1", live.study(), live.directory());
    match arguments.format {
        Format::Json => print_json(&document),
        Format::Table => print(&report::text(live.study(), &document)),
    }?;
    if let Some(path) = &arguments.plot {
        let figure = picture::of(live.study(), &live.workload().title, arguments.figure());
        plot::save(path, &figure).map_err(Failure::midway)?;
        note(&format!("drawn into {}", path.display()));
    }
    Ok(())
}

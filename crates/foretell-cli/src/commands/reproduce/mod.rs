//! `foretell reproduce`: the paper's tables and figures that its released data allow, ours beside the published.
//!
//! The paper does not say how it prepared the columns, or whether it removed repeats. Several preparations of the LSTMs are shown, and the
//! ResNets once with their repeats: any single preparation misses published cells that another one reaches.

mod claims;
mod kept;
mod measure;
mod published;
mod released;
mod replayed;
mod report;
mod searches;
mod stopping;
mod stopping_claims;

use super::figures::{self, Measured};
use crate::catalogue::catalogue;
use crate::failure::{Failure, Outcome};
use crate::output::{Format, note, print, print_json};
use crate::plot;
use foretell::FeatureSet;
use foretell::evaluate::EvaluationOptions;
use kept::Kept;
use measure::{Bench, Cell, NOT_APPLICABLE, Part, Row};
use published::{COLUMNS, DEPTHS, TABLE_1, TABLE_2, ablation_remark, cell};
use released::{Prepared, RELEASED};
use report::{Absent, Document, as_text, in_a_line};
use std::path::{Path, PathBuf};
use stopping::Simulated;

/// The part of the curve that the paper's tables observe.
const QUARTER: f64 = 0.25;

/// The arguments of `foretell reproduce`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Folder with the paper's released files (github.com/MITAutoML/accelerating_nas). Some of them may be missing.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Parts to reproduce.
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "table-1,table-2,depth,observed,stopping,hyperband"
    )]
    only: Vec<Part>,
    /// Number of finished runs to fit on.
    #[arg(long, default_value_t = 100, value_parser = super::evaluate::runs)]
    train: usize,
    /// Number of random splits per seed, or of orders of the runs.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    repeats: u32,
    /// Number of seeds for the published values, starting at `--seed`.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
    /// File of finished rows, to continue after an interruption.
    #[arg(long, value_name = "FILE")]
    resume: Option<PathBuf>,
    /// Samples per random search of a predictor (default: 1000 for ν-SVR, as in the paper).
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    draws: Option<u32>,
    /// Fractions of the curve in the part `observed`.
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "0.1,0.25,0.5,0.75,0.9",
        value_parser = super::evaluate::fraction
    )]
    observed: Vec<f64>,
    /// Predictors in the part `observed`. The default contains those of the paper's figure, and `lce`. For a quick result, leave out
    /// `lce-domhan2015` (tenths of a second per forecast), `bnn` (seconds per fit) and `lce` (milliseconds per forecast).
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "last-value,svr-rbf,svr-linear,random-forest,ols,lce-domhan2015,bnn,lce",
        value_parser = known_predictor
    )]
    predictor: Vec<&'static str>,
    /// Seed for the splits and the predictors.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Write the figures to this folder: forecast against true value, R² by observed fraction.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Format of the figures.
    #[arg(long, value_enum, default_value_t, requires = "out")]
    picture: Picture,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// The form of a figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum Picture {
    /// Vector graphics.
    #[default]
    Svg,
    /// Pixels.
    Png,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let (sets, unreadable) = read(&arguments.folder)?;
    if let Some(folder) = &arguments.out {
        let failed = |error| Failure::input(format!("cannot make the folder {}: {error}", folder.display()));
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    let options = EvaluationOptions {
        train: arguments.train,
        repeats: arguments.repeats as usize,
        seed: arguments.seed,
    };
    let draws = arguments.draws.map(|draws| draws as usize);
    let kept = Kept::open(arguments.resume.as_deref())?;
    let mut bench = Bench::new(options, arguments.seeds, draws, kept);
    let (mut rows, mut replayed) = (Vec::new(), Vec::new());
    for part in parts(arguments) {
        if matches!(part, Part::Stopping | Part::Hyperband) {
            let how = Simulated { orderings: arguments.repeats as usize, draws, seed: arguments.seed };
            replayed.extend(stopping::rows(part, &sets, how, &mut bench.kept)?);
        } else {
            rows.extend(measured_rows(part, &sets, arguments, &mut bench)?);
        }
    }
    let timed: Vec<&Row> = rows.iter().filter(|row| row.part == Part::Observed).collect();
    if !timed.is_empty() {
        note(&claims::times(&timed));
    }
    let stopped = arguments.out.as_ref().map(|_| stopping::figures(&replayed)).unwrap_or_default();
    let absent = Absent { missing: missing(&arguments.folder), unreadable };
    let document = Document::new(arguments.seed, absent, &parts(arguments), &sets, rows, replayed);
    match arguments.format {
        Format::Json => print_json(&document)?,
        Format::Table => print(&as_text(&document))?,
    }
    if let Some(folder) = &arguments.out {
        draw(folder, arguments, &mut bench, &sets)?;
        for (name, figure) in stopped {
            save(folder, arguments.picture, &name, &figure)?;
        }
    }
    Ok(())
}

/// The rows of `part` on all sets, each printed on standard error when it is ready.
fn measured_rows(
    part: Part,
    sets: &[Prepared],
    arguments: &Arguments,
    bench: &mut Bench,
) -> Result<Vec<Row>, Failure> {
    let mut rows = Vec::new();
    for prepared in sets {
        for cell in cells(part, prepared, arguments) {
            let row = bench.row(prepared, &cell)?;
            note(&format!("{}: {}: {}", part.heading(), prepared.name(), in_a_line(&row)));
            rows.push(row);
        }
    }
    if rows.is_empty() {
        note(&format!("{}: {NOT_APPLICABLE}", part.heading()));
    }
    Ok(rows)
}

fn parts(arguments: &Arguments) -> Vec<Part> {
    let mut parts = arguments.only.clone();
    parts.sort();
    parts.dedup();
    parts
}

/// Reads whichever released files `folder` has, and says which could not be read. One that cannot does not end the others.
fn read(folder: &Path) -> Result<(Vec<Prepared>, Vec<String>), Failure> {
    if !folder.is_dir() {
        return Err(Failure::input(format!(
            "{}: there is no such folder; name the one that holds the paper's released files",
            folder.display()
        )));
    }
    let (mut sets, mut unreadable) = (Vec::new(), Vec::new());
    for released in &RELEASED {
        let Some(path) = released.find(folder) else { continue };
        match released.prepare(&path) {
            Ok(prepared) => sets.extend(prepared),
            Err(failure) => {
                note(&format!("left out: {}", failure.message()));
                unreadable.push(failure.message().to_owned());
            }
        }
    }
    if !sets.is_empty() {
        return Ok((sets, unreadable));
    }
    let reason = match unreadable.as_slice() {
        [] => format!("none of the paper's released files was found; expected {}", missing(folder).join(", ")),
        reasons => format!("none of the paper's released files can be read: {}", reasons.join("; ")),
    };
    Err(Failure::input(format!("{}: {reason}", folder.display())))
}

/// A predictor by its name.
fn known_predictor(name: &str) -> Result<&'static str, String> {
    let all = catalogue().predictors().names();
    let known = all.iter().copied().find(|known| *known == name.trim());
    known.ok_or_else(|| format!("no predictor has this name; known are {}", all.join(", ")))
}

/// The released files that `folder` does not have.
fn missing(folder: &Path) -> Vec<String> {
    let gone = RELEASED.iter().filter(|released| released.find(folder).is_none());
    gone.map(|released| format!("{}.csv", released.stem)).collect()
}

/// The cells of `part` that `prepared` can fill.
fn cells(part: Part, prepared: &Prepared, arguments: &Arguments) -> Vec<Cell<'static>> {
    let plain = |predictor| Cell {
        part,
        predictor,
        features: FeatureSet::default(),
        observed: QUARTER,
        depth: None,
        published: None,
        remark: None,
    };
    let tabled = COLUMNS.contains(&prepared.stem);
    match part {
        Part::Table1 => TABLE_1
            .iter()
            .map(|(predictor, cells)| Cell { published: cell(cells, prepared.stem), ..plain(predictor) })
            .collect(),
        Part::Table2 if tabled => TABLE_2
            .iter()
            .map(|row| Cell {
                features: row.features,
                published: cell(&row.cells, prepared.stem),
                remark: ablation_remark(prepared.stem, row.features),
                ..plain("svr-rbf")
            })
            .collect(),
        Part::Depth if prepared.stem == "deep_resnets_tinyimagenet" => DEPTHS
            .iter()
            .flat_map(|&(depth, published)| {
                let published = |predictor| published.filter(|_| predictor == "svr-rbf");
                TABLE_1.map(|(predictor, _)| Cell {
                    depth: Some(depth),
                    published: published(predictor),
                    ..plain(predictor)
                })
            })
            .collect(),
        Part::Observed if prepared.is_first() => arguments
            .observed
            .iter()
            .flat_map(|&observed| arguments.predictor.iter().map(move |&name| (observed, name)))
            .map(|(observed, name)| Cell { observed, ..plain(name) })
            .collect(),
        _ => Vec::new(),
    }
}

/// Draws forecasts against the truth for each file, and R² against the fraction observed for all of them.
fn draw(folder: &Path, arguments: &Arguments, bench: &mut Bench, sets: &[Prepared]) -> Outcome {
    let mut accuracy = Vec::new();
    for prepared in sets.iter().filter(|prepared| prepared.is_first()) {
        if parts(arguments).contains(&Part::Observed) {
            let cells = cells(Part::Observed, prepared, arguments);
            accuracy.extend(cells.iter().filter_map(|cell| measured(bench, prepared, cell)));
        }
        let scatters = parts(arguments).iter().any(|part| *part < Part::Stopping);
        let svr = |cell: &&Cell<'_>| scatters && cell.predictor == "svr-rbf";
        for cell in cells(Part::Table1, prepared, arguments).iter().filter(svr) {
            if let Some(one) = measured(bench, prepared, cell) {
                save(
                    folder,
                    arguments.picture,
                    &format!("scatter-{}", one.curves),
                    &figures::scatter(&one).draw(),
                )?;
            }
        }
    }
    if accuracy.is_empty() {
        return Ok(());
    }
    let subtitle = format!(
        "{} runs to learn from, {} random splits; bands are ± one standard error",
        arguments.train, arguments.repeats
    );
    save(folder, arguments.picture, "observed", &figures::accuracy(&accuracy, subtitle).draw())
}

fn measured(bench: &mut Bench, prepared: &Prepared, cell: &Cell<'_>) -> Option<Measured> {
    let result = bench.measure(prepared, cell, bench.options.seed).ok()?;
    Some(Measured {
        curves: prepared.stem.to_owned(),
        metric: prepared.metric.clone(),
        predictor: cell.predictor.to_owned(),
        observed: cell.observed,
        result: (*result).clone(),
    })
}

fn save(folder: &Path, picture: Picture, name: &str, figure: &plot::Figure) -> Outcome {
    let extension = if picture == Picture::Png { "png" } else { "svg" };
    let path = folder.join(format!("{name}.{extension}"));
    plot::save(&path, figure).map_err(Failure::midway)?;
    note(&format!("drew {}", path.display()));
    Ok(())
}

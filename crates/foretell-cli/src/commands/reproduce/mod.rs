//! `foretell reproduce` prints and draws the tables and figures that `foretell-paper` measures, next to the published values.

mod figures;

use crate::catalogue::catalogue;
use crate::commands::figures::{PredictorEvaluation, scatter};
use crate::failure::{CommandResult, Failure};
use crate::output::{OutputFormat, note, print, print_json, table};
use crate::plot;
use foretell::evaluate::EvaluationOptions;
use foretell_paper::reproduce::{
    DisplayOptions, PaperPart, ReproductionError, ReproductionRequest, ReproductionResult,
};
use foretell_search::limits;
use std::path::{Path, PathBuf};

/// The arguments of `foretell reproduce`.
#[derive(clap::Args)]
pub(crate) struct ReproduceArguments {
    /// Folder with the files that the paper's authors released (github.com/MITAutoML/accelerating_nas). Some of them may be missing.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Parts to reproduce.
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "table-1,table-2,depth,observed,stopping,hyperband,times"
    )]
    only: Vec<PartName>,
    /// Fit on this many completed runs.
    #[arg(long, default_value_t = 100, value_parser = crate::commands::evaluate::runs)]
    train: usize,
    /// Repeat with this many random splits per seed, or orders of the runs.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=limits::MAX_REPEATS as i64))]
    repeats: u32,
    /// Use this many seeds for the published values, starting at `--seed`. The part `observed` uses two at most.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=limits::MAX_REPEATS))]
    seeds: u64,
    /// Keep finished rows in this file, to continue after an interruption. It is compressed if its name ends in `.gz`.
    #[arg(long, value_name = "FILE")]
    resume: Option<PathBuf>,
    /// Samples per random search of a predictor (default: 1000 for ν-SVR, as in the paper).
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=limits::MAX_SAMPLES as i64))]
    draws: Option<u32>,
    /// Fractions of the curve in the part `observed`.
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "0.1,0.25,0.5,0.75,0.9",
        value_parser = crate::commands::evaluate::fraction
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
    picture: PictureFormat,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    format: OutputFormat,
}

/// The form of a figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum PictureFormat {
    /// Vector graphics.
    #[default]
    Svg,
    /// Pixels.
    Png,
}

/// A part of the paper, as the command line names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum PartName {
    /// Table 1: regressors.
    #[value(name = "table-1")]
    Table1,
    /// Table 2: parts of the features.
    #[value(name = "table-2")]
    Table2,
    /// Generalization from shallow to deep networks.
    Depth,
    /// R² by observed fraction.
    Observed,
    /// Speed-up of simulated architecture searches.
    Stopping,
    /// Hyperband against f-Hyperband.
    Hyperband,
    /// Seconds of a fit and of a forecast, in one thread.
    Times,
    /// Every sentence of the paper with a verdict, by recorded measurements. The cheapest of these are computed again.
    Claims,
}

impl From<PartName> for PaperPart {
    fn from(name: PartName) -> Self {
        match name {
            PartName::Table1 => Self::Table1,
            PartName::Table2 => Self::Table2,
            PartName::Depth => Self::Depth,
            PartName::Observed => Self::Observed,
            PartName::Stopping => Self::Stopping,
            PartName::Hyperband => Self::Hyperband,
            PartName::Times => Self::Times,
            PartName::Claims => Self::Claims,
        }
    }
}

impl From<ReproductionError> for Failure {
    fn from(failed: ReproductionError) -> Self {
        match failed {
            ReproductionError::Input(message) => Self::Input(message),
            ReproductionError::Midway(message) => Self::Midway(message),
        }
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &ReproduceArguments) -> CommandResult {
    if let Some(folder) = &arguments.out {
        std::fs::create_dir_all(folder).map_err(|error| {
            Failure::input(format!("cannot make the folder {}: {error}", folder.display()))
        })?;
    }
    let asked = ReproductionRequest {
        folder: arguments.folder.clone(),
        only: arguments.only.iter().copied().map(PaperPart::from).collect(),
        options: EvaluationOptions {
            train: arguments.train,
            repeats: arguments.repeats as usize,
            seed: arguments.seed,
        },
        seeds: arguments.seeds,
        draws: arguments.draws.map(|draws| draws as usize),
        resume: arguments.resume.clone(),
        observed: arguments.observed.clone(),
        predictors: arguments.predictor.clone(),
        show: DisplayOptions { note, table },
    };
    let mut reproduced = asked.reproduce()?;
    match arguments.format {
        OutputFormat::Json => print_json(&reproduced.document)?,
        OutputFormat::Table => print(&reproduced.document.as_text(table))?,
    }
    match &arguments.out {
        Some(folder) => draw(folder, arguments, &mut reproduced),
        None => Ok(()),
    }
}

/// A predictor by its name.
fn known_predictor(name: &str) -> Result<&'static str, String> {
    let all = catalogue().predictors().predictor_names();
    let known = all.iter().copied().find(|known| *known == name.trim());
    known.ok_or_else(|| format!("no predictor has this name; known are {}", all.join(", ")))
}

/// Draws forecasts against the truth for each file, R² against the fraction observed for all of them, and the speed-ups.
fn draw(folder: &Path, arguments: &ReproduceArguments, reproduced: &mut ReproductionResult) -> CommandResult {
    for measured in reproduced.scatter_evaluations() {
        let name = format!("scatter-{}", measured.curves);
        save(folder, arguments.picture, &name, &scatter(&measured.into()).draw())?;
    }
    if let Some(figure) = figures::accuracy_figure(&reproduced.observed_accuracies()) {
        save(folder, arguments.picture, "observed", &figure)?;
    }
    for (name, figure) in figures::figures(reproduced.speedup_rows()) {
        save(folder, arguments.picture, &name, &figure)?;
    }
    Ok(())
}

impl From<foretell_paper::reproduce::PredictorEvaluation> for PredictorEvaluation {
    fn from(measured: foretell_paper::reproduce::PredictorEvaluation) -> Self {
        let foretell_paper::reproduce::PredictorEvaluation { curves, metric, predictor, observed, result } =
            measured;
        Self { curves, metric, predictor, observed, result }
    }
}

fn save(folder: &Path, picture: PictureFormat, name: &str, figure: &plot::Figure) -> CommandResult {
    let extension = if picture == PictureFormat::Png { "png" } else { "svg" };
    let path = folder.join(format!("{name}.{extension}"));
    plot::save(&path, figure).map_err(Failure::midway)?;
    note(&format!("drew {}", path.display()));
    Ok(())
}

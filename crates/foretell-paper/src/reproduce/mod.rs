//! Measures the tables and figures of the paper that the released data allow, next to the published values.
//!
//! The paper does not say how it prepared the columns, or whether it removed repeats. Several preparations of the LSTMs are shown, and the
//! ResNets once with their repeats: any single preparation misses published cells that another one reaches.

mod again;
mod claims;
mod compared;
mod evidence;
mod failed;
mod judgment;
mod kept;
mod measure;
mod named;
mod published;
mod released;
mod replayed;
mod report;
mod searches;
mod show;
mod stopping;
mod times;

#[cfg(test)]
mod pages;

pub use failed::ReproductionError;
pub use measure::PaperPart;
pub use replayed::{HyperbandCourse, ReplayNumbers, ReplayRow};
pub use report::ReproductionReport;
pub use searches::{EXTRAPOLATION_PREDICTORS, describe_stop_rule};
pub use show::{DisplayOptions, TableLayout};

use evidence::Evidence;
use foretell::FeatureSet;
use foretell::evaluate::{Evaluation, EvaluationOptions};
use kept::KeptRows;
use measure::{MeasurementBench, NOT_APPLICABLE, ResultRow, TableCell};
use published::{PUBLISHED_DEPTHS, TABLE_1, TABLE_2, TABLE_COLUMNS, ablation_remark, find_cell};
use released::{PreparedFile, RELEASED_FILES, is_own, released_stem};
use report::{AbsentFiles, row_line};
use std::path::{Path, PathBuf};
use stopping::SimulationOptions;

/// The part of the curve that the paper's tables observe.
const OBSERVED_FRACTION: f64 = 0.25;

/// The parts to reproduce, and the way to do so.
#[derive(Clone, Debug)]
pub struct ReproductionRequest {
    /// The folder with the paper's released files; some of them may be missing.
    pub folder: PathBuf,
    /// The parts of the paper.
    pub only: Vec<PaperPart>,
    /// Runs to learn from, splits for each seed or orders of the runs, and the first seed.
    pub options: EvaluationOptions,
    /// Seeds for the cells with published numbers.
    pub seeds: u64,
    /// Draws of the random searches of predictors; `None`: their own.
    pub draws: Option<usize>,
    /// The file of finished rows.
    pub resume: Option<PathBuf>,
    /// Fractions of the curve in the part [`PaperPart::Observed`].
    pub observed: Vec<f64>,
    /// Predictors in that part.
    pub predictors: Vec<&'static str>,
    /// The display of measurements by the program.
    pub show: DisplayOptions,
}

/// The result of a predictor on one file after one fraction of its curves.
#[derive(Clone, Debug)]
pub struct PredictorEvaluation {
    /// The name of the file.
    pub curves: String,
    /// The name of the metric.
    pub metric: String,
    /// The name of the predictor.
    pub predictor: String,
    /// The fraction observed.
    pub observed: f64,
    /// Result at this fraction.
    pub result: Evaluation,
}

/// R² of a predictor on one file after one fraction of its curves.
#[derive(Clone, Copy, Debug)]
pub struct PredictorAccuracy<'a> {
    /// The name of the file.
    pub curves: &'a str,
    /// The name of the predictor.
    pub predictor: &'a str,
    /// The fraction observed.
    pub observed: f64,
    /// The mean over splits.
    pub r2_mean: f64,
    /// Standard error of that mean.
    pub r2_stderr: f64,
    /// The number of splits.
    pub splits: usize,
}

/// The result, and what its figures are drawn from.
pub struct ReproductionResult {
    /// The result.
    pub document: ReproductionReport,
    /// The measurements of this run, or with the part [`Part::Claims`] the recorded ones.
    figure_evidence: Evidence,
    asked: ReproductionRequest,
    bench: MeasurementBench,
    sets: Vec<PreparedFile>,
}

impl ReproductionRequest {
    /// Measures all that was asked for. Each row is noted when it is ready.
    ///
    /// # Errors
    /// [`ReproductionError`] where no released file can be read, or the file of finished rows cannot be read or written.
    pub fn reproduce(self) -> Result<ReproductionResult, ReproductionError> {
        let (sets, unreadable) = read_released(&self.folder, self.show)?;
        let kept = KeptRows::open(self.resume.as_deref(), self.show)?;
        let EvaluationOptions { seed, repeats: orderings, .. } = self.options;
        let mut bench = MeasurementBench::new(self.options, self.seeds, self.draws, kept);
        let (mut rows, mut replayed, mut figures) = (Vec::new(), Vec::new(), Vec::new());
        for part in requested_parts(&self) {
            match part {
                PaperPart::Stopping | PaperPart::Hyperband => {
                    let how = SimulationOptions { orderings, draws: self.draws, seed, show: self.show };
                    replayed.extend(stopping::replay_rows(part, &sets, how, &mut bench.kept)?);
                }
                PaperPart::Times => figures.extend(times::measure_times(&sets, &mut bench)?),
                PaperPart::Claims => {}
                _ => rows.extend(measure_rows(part, &sets, &self, &mut bench)?),
            }
        }
        let absent = AbsentFiles { missing: missing_files(&self.folder), unreadable };
        let measured = Evidence { rows, replays: replayed, figures };
        let recorded = self
            .only
            .contains(&PaperPart::Claims)
            .then(|| again::check_recorded(&sets, self.show))
            .transpose()?;
        let drawn = recorded.as_ref().unwrap_or(&measured).clone();
        let document =
            ReproductionReport::new(seed, absent, &requested_parts(&self), &sets, measured, recorded);
        Ok(ReproductionResult { document, figure_evidence: drawn, asked: self, bench, sets })
    }
}

impl ReproductionResult {
    /// The rows of the simulated speed-ups.
    pub fn speedup_rows(&self) -> &[ReplayRow] {
        &self.figure_evidence.replays
    }

    /// The cells of [`PaperPart::Observed`], each file in its first preparation.
    pub fn observed_accuracies(&self) -> Vec<PredictorAccuracy<'_>> {
        let rows = self.figure_evidence.first_preparation_rows(PaperPart::Observed);
        rows.filter_map(|row| {
            let (r2_mean, r2_stderr) = row.r2_mean.zip(row.r2_stderr)?;
            let ResultRow { curves, observed, repeats: splits, .. } = *row;
            Some(PredictorAccuracy {
                curves,
                predictor: &row.predictor,
                observed,
                r2_mean,
                r2_stderr,
                splits,
            })
        })
        .collect()
    }

    /// The ν-SVR of table 1 on each file, for forecasts against the truth; none where only speed-ups were asked for.
    pub fn scatter_evaluations(&mut self) -> Vec<PredictorEvaluation> {
        if !self.asked.only.iter().any(|part| *part < PaperPart::Stopping) {
            return Vec::new();
        }
        let mut all = Vec::new();
        for prepared in self.sets.iter().filter(|prepared| prepared.is_first()) {
            let cells = planned_cells(PaperPart::Table1, prepared, &self.asked);
            for cell in cells.iter().filter(|cell| cell.predictor == "svr-rbf") {
                let Ok(result) = self.bench.evaluate_cell(prepared, cell, self.asked.options.seed) else {
                    continue;
                };
                all.push(PredictorEvaluation {
                    curves: prepared.stem.to_owned(),
                    metric: prepared.metric.clone(),
                    predictor: cell.predictor.to_owned(),
                    observed: cell.observed,
                    result: (*result).clone(),
                });
            }
        }
        all
    }
}

/// The rows of `part` on all sets, each printed on standard error when it is ready.
fn measure_rows(
    part: PaperPart,
    sets: &[PreparedFile],
    asked: &ReproductionRequest,
    bench: &mut MeasurementBench,
) -> Result<Vec<ResultRow>, ReproductionError> {
    let mut rows = Vec::new();
    for prepared in sets {
        for cell in planned_cells(part, prepared, asked) {
            let row = bench.measure_row(prepared, &cell)?;
            (asked.show.note)(&format!(
                "{}: {}: {}",
                part.section_heading(),
                prepared.display_name(),
                row_line(&row)
            ));
            rows.push(row);
        }
    }
    if rows.is_empty() {
        (asked.show.note)(&format!("{}: {NOT_APPLICABLE}", part.section_heading()));
    }
    Ok(rows)
}

fn requested_parts(asked: &ReproductionRequest) -> Vec<PaperPart> {
    let mut parts = asked.only.clone();
    // in the paper's order, so that the report is the same in whatever order the parts are asked for
    parts.sort();
    parts.dedup();
    parts
}

/// Reads whichever released files `folder` has, and says which could not be read. One that cannot does not end the others.
fn read_released(
    folder: &Path,
    show: DisplayOptions,
) -> Result<(Vec<PreparedFile>, Vec<String>), ReproductionError> {
    if !folder.is_dir() {
        return Err(ReproductionError::input(format!(
            "{}: there is no such folder; name the one that holds the paper's released files",
            folder.display()
        )));
    }
    let (mut sets, mut unreadable) = (Vec::new(), Vec::new());
    for released in &RELEASED_FILES {
        let Some(path) = released.find_in(folder) else { continue };
        match released.prepare_all(&path) {
            Ok(prepared) => sets.extend(prepared),
            Err(failed) => {
                (show.note)(&format!("left out: {failed}"));
                unreadable.push(failed.to_string());
            }
        }
    }
    if !sets.is_empty() {
        return Ok((sets, unreadable));
    }
    let reason = match unreadable.as_slice() {
        [] => {
            format!(
                "none of the paper's released files was found; expected {}",
                missing_files(folder).join(", ")
            )
        }
        reasons => format!("none of the paper's released files can be read: {}", reasons.join("; ")),
    };
    Err(ReproductionError::input(format!("{}: {reason}", folder.display())))
}

/// The released files that `folder` does not have.
fn missing_files(folder: &Path) -> Vec<String> {
    let gone =
        RELEASED_FILES.iter().filter(|released| !is_own(released.stem) && released.find_in(folder).is_none());
    gone.map(|released| format!("{}.csv", released.stem)).collect()
}

/// The cells of `part` that `prepared` can fill.
fn planned_cells(
    part: PaperPart,
    prepared: &PreparedFile,
    asked: &ReproductionRequest,
) -> Vec<TableCell<'static>> {
    let column = released_stem(prepared.stem);
    let tabled = TABLE_COLUMNS.contains(&column);
    match part {
        PaperPart::Table1 => TABLE_1
            .iter()
            .map(|(predictor, cells)| TableCell {
                published: find_cell(cells, column),
                ..plain_cell(part, predictor)
            })
            .collect(),
        PaperPart::Table2 if tabled => TABLE_2
            .iter()
            .map(|row| TableCell {
                features: row.features,
                published: find_cell(&row.cells, column),
                remark: ablation_remark(column, row.features),
                ..plain_cell(part, "svr-rbf")
            })
            .collect(),
        PaperPart::Depth if prepared.stem == "deep_resnets_tinyimagenet" => PUBLISHED_DEPTHS
            .iter()
            .flat_map(|&(depth, published)| {
                TABLE_1.map(|(predictor, _)| TableCell {
                    depth: Some(depth),
                    published: published.filter(|_| predictor == "svr-rbf"),
                    ..plain_cell(part, predictor)
                })
            })
            .collect(),
        PaperPart::Observed if prepared.is_first() => asked
            .observed
            .iter()
            .flat_map(|&observed| asked.predictors.iter().map(move |&name| (observed, name)))
            .map(|(observed, name)| TableCell { observed, ..plain_cell(part, name) })
            .collect(),
        _ => Vec::new(),
    }
}

/// A cell on all features after the paper's fraction of the curve, without a published value.
fn plain_cell(part: PaperPart, predictor: &'static str) -> TableCell<'static> {
    TableCell {
        part,
        predictor,
        features: FeatureSet::default(),
        observed: OBSERVED_FRACTION,
        depth: None,
        published: None,
        remark: None,
    }
}

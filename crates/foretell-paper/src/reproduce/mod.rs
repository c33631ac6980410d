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

pub use failed::Failed;
pub use measure::Part;
pub use replayed::{Course, Numbers, Replayed};
pub use report::Document;
pub use searches::{EXTRAPOLATIONS, rule};
pub use show::{Layout, Show};

use evidence::Evidence;
use foretell::FeatureSet;
use foretell::evaluate::{Evaluation, EvaluationOptions};
use kept::Kept;
use measure::{Bench, Cell, NOT_APPLICABLE, Row};
use published::{COLUMNS, DEPTHS, TABLE_1, TABLE_2, ablation_remark, cell};
use released::{Prepared, RELEASED, is_own, stands_for};
use report::{Absent, in_a_line};
use std::path::{Path, PathBuf};
use stopping::Simulated;

/// The part of the curve that the paper's tables observe.
const QUARTER: f64 = 0.25;

/// The parts to reproduce, and the way to do so.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The folder with the paper's released files; some of them may be missing.
    pub folder: PathBuf,
    /// The parts of the paper.
    pub only: Vec<Part>,
    /// Runs to learn from, splits for each seed or orders of the runs, and the first seed.
    pub options: EvaluationOptions,
    /// Seeds for the cells with published numbers.
    pub seeds: u64,
    /// Draws of the random searches of predictors; `None`: their own.
    pub draws: Option<usize>,
    /// The file of finished rows.
    pub resume: Option<PathBuf>,
    /// Fractions of the curve in the part [`Part::Observed`].
    pub observed: Vec<f64>,
    /// Predictors in that part.
    pub predictors: Vec<&'static str>,
    /// The display of measurements by the program.
    pub show: Show,
}

/// The result of a predictor on one file after one fraction of its curves.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The name of the file.
    pub curves: String,
    /// The name of the metric.
    pub metric: String,
    /// The name of the predictor.
    pub predictor: String,
    /// The fraction observed.
    pub observed: f64,
    /// Its result.
    pub result: Evaluation,
}

/// R² of a predictor on one file after one fraction of its curves.
#[derive(Clone, Copy, Debug)]
pub struct Accuracy<'a> {
    /// The name of the file.
    pub curves: &'a str,
    /// The name of the predictor.
    pub predictor: &'a str,
    /// The fraction observed.
    pub observed: f64,
    /// The mean over splits.
    pub r2_mean: f64,
    /// Its standard error.
    pub r2_stderr: f64,
    /// The number of splits.
    pub splits: usize,
}

/// The result, and what its figures are drawn from.
pub struct Reproduced {
    /// The result.
    pub document: Document,
    /// The measurements of this run, or with the part [`Part::Claims`] the recorded ones.
    drawn: Evidence,
    asked: Asked,
    bench: Bench,
    sets: Vec<Prepared>,
}

impl Asked {
    /// Measures all that was asked for. Each row is noted when it is ready.
    ///
    /// # Errors
    /// [`Failed`] where no released file can be read, or the file of finished rows cannot be read or written.
    pub fn reproduce(self) -> Result<Reproduced, Failed> {
        let (sets, unreadable) = read(&self.folder, self.show)?;
        let kept = Kept::open(self.resume.as_deref(), self.show)?;
        let EvaluationOptions { seed, repeats: orderings, .. } = self.options;
        let mut bench = Bench::new(self.options, self.seeds, self.draws, kept);
        let (mut rows, mut replayed, mut figures) = (Vec::new(), Vec::new(), Vec::new());
        for part in parts(&self) {
            match part {
                Part::Stopping | Part::Hyperband => {
                    let how = Simulated { orderings, draws: self.draws, seed, show: self.show };
                    replayed.extend(stopping::rows(part, &sets, how, &mut bench.kept)?);
                }
                Part::Times => figures.extend(times::figures(&sets, &mut bench)?),
                Part::Claims => {}
                _ => rows.extend(measured_rows(part, &sets, &self, &mut bench)?),
            }
        }
        let absent = Absent { missing: missing(&self.folder), unreadable };
        let measured = Evidence { rows, replays: replayed, figures };
        let recorded =
            self.only.contains(&Part::Claims).then(|| again::checked(&sets, self.show)).transpose()?;
        let drawn = recorded.as_ref().unwrap_or(&measured).clone();
        let document = Document::new(seed, absent, &parts(&self), &sets, measured, recorded);
        Ok(Reproduced { document, drawn, asked: self, bench, sets })
    }
}

impl Reproduced {
    /// The rows of the simulated speed-ups.
    pub fn replays(&self) -> &[Replayed] {
        &self.drawn.replays
    }

    /// The cells of [`Part::Observed`], each file in its first preparation.
    pub fn observed(&self) -> Vec<Accuracy<'_>> {
        let rows = self.drawn.firsts(Part::Observed);
        rows.filter_map(|row| {
            let (r2_mean, r2_stderr) = row.r2_mean.zip(row.r2_stderr)?;
            let Row { curves, observed, repeats: splits, .. } = *row;
            Some(Accuracy { curves, predictor: &row.predictor, observed, r2_mean, r2_stderr, splits })
        })
        .collect()
    }

    /// The ν-SVR of table 1 on each file, for forecasts against the truth; none where only speed-ups were asked for.
    pub fn scatters(&mut self) -> Vec<Measured> {
        if !self.asked.only.iter().any(|part| *part < Part::Stopping) {
            return Vec::new();
        }
        let mut all = Vec::new();
        for prepared in self.sets.iter().filter(|prepared| prepared.is_first()) {
            let cells = cells(Part::Table1, prepared, &self.asked);
            for cell in cells.iter().filter(|cell| cell.predictor == "svr-rbf") {
                let Ok(result) = self.bench.measure(prepared, cell, self.asked.options.seed) else {
                    continue;
                };
                all.push(Measured {
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
fn measured_rows(
    part: Part,
    sets: &[Prepared],
    asked: &Asked,
    bench: &mut Bench,
) -> Result<Vec<Row>, Failed> {
    let mut rows = Vec::new();
    for prepared in sets {
        for cell in cells(part, prepared, asked) {
            let row = bench.row(prepared, &cell)?;
            (asked.show.note)(&format!("{}: {}: {}", part.heading(), prepared.name(), in_a_line(&row)));
            rows.push(row);
        }
    }
    if rows.is_empty() {
        (asked.show.note)(&format!("{}: {NOT_APPLICABLE}", part.heading()));
    }
    Ok(rows)
}

fn parts(asked: &Asked) -> Vec<Part> {
    let mut parts = asked.only.clone();
    parts.sort();
    parts.dedup();
    parts
}

/// Reads whichever released files `folder` has, and says which could not be read. One that cannot does not end the others.
fn read(folder: &Path, show: Show) -> Result<(Vec<Prepared>, Vec<String>), Failed> {
    if !folder.is_dir() {
        return Err(Failed::input(format!(
            "{}: there is no such folder; name the one that holds the paper's released files",
            folder.display()
        )));
    }
    let (mut sets, mut unreadable) = (Vec::new(), Vec::new());
    for released in &RELEASED {
        let Some(path) = released.find(folder) else { continue };
        match released.prepare(&path) {
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
            format!("none of the paper's released files was found; expected {}", missing(folder).join(", "))
        }
        reasons => format!("none of the paper's released files can be read: {}", reasons.join("; ")),
    };
    Err(Failed::input(format!("{}: {reason}", folder.display())))
}

/// The released files that `folder` does not have.
fn missing(folder: &Path) -> Vec<String> {
    let gone = RELEASED.iter().filter(|released| !is_own(released.stem) && released.find(folder).is_none());
    gone.map(|released| format!("{}.csv", released.stem)).collect()
}

/// The cells of `part` that `prepared` can fill.
fn cells(part: Part, prepared: &Prepared, asked: &Asked) -> Vec<Cell<'static>> {
    let plain = |predictor| Cell {
        part,
        predictor,
        features: FeatureSet::default(),
        observed: QUARTER,
        depth: None,
        published: None,
        remark: None,
    };
    let column = stands_for(prepared.stem);
    let tabled = COLUMNS.contains(&column);
    match part {
        Part::Table1 => TABLE_1
            .iter()
            .map(|(predictor, cells)| Cell { published: cell(cells, column), ..plain(predictor) })
            .collect(),
        Part::Table2 if tabled => TABLE_2
            .iter()
            .map(|row| Cell {
                features: row.features,
                published: cell(&row.cells, column),
                remark: ablation_remark(column, row.features),
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
        Part::Observed if prepared.is_first() => asked
            .observed
            .iter()
            .flat_map(|&observed| asked.predictors.iter().map(move |&name| (observed, name)))
            .map(|(observed, name)| Cell { observed, ..plain(name) })
            .collect(),
        _ => Vec::new(),
    }
}

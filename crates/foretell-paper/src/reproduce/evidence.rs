//! The measurements that claims are judged by.

use super::failed::ReproductionError;
use super::judgment::{ClaimComparison, ClaimedRelation, ReportedValue, SampleSize};
use super::kept::KeptRows;
use super::measure::{PaperPart, ResultRow};
use super::named::distinct;
use super::released::{first_preparation, is_own};
use super::replayed::{HyperbandCourse, ReplayRow};
use foretell_search::Reference;
use serde::{Deserialize, Serialize};

/// The measurements of this project, as files that `--resume` reads.
const RECORDED_FILES: [&[u8]; 5] = [
    include_bytes!("../../recorded/tables.jsonl.gz"),
    include_bytes!("../../recorded/observed.jsonl.gz"),
    include_bytes!("../../recorded/stopping.jsonl.gz"),
    include_bytes!("../../recorded/hyperband.jsonl.gz"),
    include_bytes!("../../recorded/figures.jsonl.gz"),
];

/// The paper's two kernels of ν-SVR, its SRMs.
pub(super) const SRM_PREDICTORS: [&str; 2] = ["svr-rbf", "svr-linear"];
/// The paper's predictor for stopping: ν-SVR with its one σ(τ).
pub(super) const STOPPING_SRM: &str = "svr-rbf+gaussian";

/// A number that a program of `benches` has printed, or seconds of a fit or a forecast.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct MeasuredFigure {
    pub(super) figure: String,
    pub(super) mean: f64,
    pub(super) stderr: Option<f64>,
    pub(super) runs: usize,
    pub(super) repeats: usize,
    pub(super) seeds: usize,
}

/// The measurements that claims are judged by.
#[derive(Clone, Debug, Default)]
pub(super) struct Evidence {
    pub(super) rows: Vec<ResultRow>,
    pub(super) replays: Vec<ReplayRow>,
    pub(super) figures: Vec<MeasuredFigure>,
}

impl Evidence {
    /// The measurements that are kept with the program.
    ///
    /// # Errors
    /// [`Failed`] where a file of them is damaged.
    pub(super) fn read_recorded() -> Result<Self, ReproductionError> {
        let mut evidence = Self::default();
        for file in RECORDED_FILES {
            let kept = KeptRows::from_gzip(file)?;
            evidence.rows.extend(kept.rows_of_type::<ResultRow>());
            let replays = kept.rows_of_type::<(ReplayRow, HyperbandCourse)>();
            evidence.replays.extend(replays.into_iter().map(|(row, course)| ReplayRow { course, ..row }));
            evidence.figures.extend(kept.rows_of_type::<Vec<MeasuredFigure>>().into_iter().flatten());
        }
        Ok(evidence)
    }

    /// The files with rows of `part`, in their first preparation; ours last.
    pub(super) fn file_names(&self, part: PaperPart) -> Vec<&'static str> {
        let mut names = distinct(self.first_preparation_rows(part).map(|row| row.curves));
        names.sort_by_key(|name| is_own(name));
        names
    }

    /// The rows of `part` with each file in its first preparation, and scores as they are.
    pub(super) fn first_preparation_rows(&self, part: PaperPart) -> impl Iterator<Item = &ResultRow> {
        self.rows.iter().filter(move |row| {
            row.part == part && !row.compressed && row.preparation == first_preparation(row.curves)
        })
    }

    /// R² × 100 of a cell, from the row with most splits.
    fn r2(
        &self,
        part: PaperPart,
        name: &str,
        is_wanted: impl Fn(&ResultRow) -> bool,
    ) -> Option<ReportedValue> {
        let rows = self.first_preparation_rows(part).filter(|row| row.r2_mean.is_some() && is_wanted(row));
        rows.max_by_key(|row| row.repeats).and_then(|row| value_of(row, name))
    }

    /// R² × 100 of table 1.
    pub(super) fn table_1(&self, curves: &str, predictor: &str) -> Option<ReportedValue> {
        self.r2(PaperPart::Table1, predictor, |row| row.curves == curves && row.predictor == predictor)
    }

    /// R² × 100 of table 2.
    pub(super) fn table_2(&self, curves: &str, features: &str) -> Option<ReportedValue> {
        let name = features.to_uppercase().replace(',', "+");
        self.r2(PaperPart::Table2, &name, |row| row.curves == curves && row.features == features)
    }

    /// R² × 100 after a fraction of the curve.
    pub(super) fn observed_r2(&self, curves: &str, predictor: &str, fraction: f64) -> Option<ReportedValue> {
        self.r2(PaperPart::Observed, predictor, |row| {
            row.curves == curves && row.predictor == predictor && row.observed.total_cmp(&fraction).is_eq()
        })
    }

    /// As [`Self::observed`], without forecasts outside the range of a fraction.
    pub(super) fn observed_r2_inside(
        &self,
        curves: &str,
        predictor: &str,
        fraction: f64,
    ) -> Option<ReportedValue> {
        let all = self.observed_r2(curves, predictor, fraction)?;
        let here = self.first_preparation_rows(PaperPart::Observed).filter(|row| {
            row.curves == curves && row.predictor == predictor && row.observed.total_cmp(&fraction).is_eq()
        });
        let row = here.max_by_key(|row| row.repeats)?;
        let inside = row.r2_inside_mean.zip(row.r2_inside_stderr);
        Some(match inside {
            Some((mean, stderr)) => ReportedValue {
                name: format!("{predictor} without outliers"),
                mean: 100.0 * mean,
                stderr: Some(100.0 * stderr),
                ..all
            },
            None => all,
        })
    }

    /// The fractions at which `curves` were measured.
    pub(super) fn observed_fractions(&self, curves: &str) -> Vec<f64> {
        let mut all: Vec<f64> = self
            .first_preparation_rows(PaperPart::Observed)
            .filter(|row| row.curves == curves)
            .map(|row| row.observed)
            .collect();
        all.sort_by(f64::total_cmp);
        all.dedup();
        all
    }

    /// Each cell of `part` that the paper printed, against the published value.
    pub(super) fn compare_cells(
        &self,
        part: PaperPart,
        is_wanted: impl Fn(&ResultRow) -> bool,
    ) -> Vec<ClaimComparison> {
        let published =
            self.first_preparation_rows(part).filter(|row| row.published_mean.is_some() && is_wanted(row));
        let compared = published.filter_map(|row| {
            let other = row.published_mean.zip(row.published_stderr)?;
            Some(ClaimComparison {
                case: row.depth.map_or(short_name(row.curves), |depth| format!("{depth} layers")),
                own: is_own(row.curves),
                ours: value_of(row, "ours")?,
                relation: ClaimedRelation::Equal,
                other: ReportedValue::from_published(100.0 * other.0, 100.0 * other.1),
            })
        });
        let mut all: Vec<ClaimComparison> = compared.collect();
        all.sort_by_key(|comparison| comparison.own);
        all
    }

    /// The rows of searches or of Hyperband that are `is_wanted`, over whole files and with scores as they are.
    pub(super) fn select_replays(&self, is_wanted: impl Fn(&ReplayRow) -> bool) -> Vec<&ReplayRow> {
        self.replays
            .iter()
            .filter(|row| !row.compressed && row.study_size.is_none() && is_wanted(row))
            .collect()
    }

    /// f-Hyperband as printed (rung, κ = 1), by its `variant` and predictor.
    pub(super) fn find_hyperband_row(
        &self,
        curves: &str,
        variant: &str,
        predictor: Option<&str>,
    ) -> Option<&ReplayRow> {
        let rows = self.select_replays(|row| {
            row.part == PaperPart::Hyperband
                && row.curves == curves
                && row.variant == variant
                && row.predictor == predictor
                && row.reference.is_none_or(|reference| reference == Reference::Rung)
                && row.kappa.is_none_or(|kappa| kappa >= 1.0)
        });
        rows.first().copied()
    }

    /// The files that Hyperband was replayed on; ours last.
    pub(super) fn hyperband_curves(&self) -> Vec<&'static str> {
        let mut names = distinct(
            self.select_replays(|row| row.part == PaperPart::Hyperband).iter().map(|row| row.curves),
        );
        names.sort_by_key(|name| is_own(name));
        names
    }

    /// The figure of this name.
    pub(super) fn find_figure(&self, figure: &str, name: &str) -> Option<ReportedValue> {
        let found = self.figures.iter().find(|known| known.figure == figure)?;
        let MeasuredFigure { mean, stderr, runs, repeats, seeds, .. } = *found;
        Some(ReportedValue {
            name: name.to_owned(),
            mean,
            stderr,
            sample: Some(SampleSize { runs, repeats, seeds }),
        })
    }
}

fn value_of(row: &ResultRow, name: &str) -> Option<ReportedValue> {
    Some(ReportedValue {
        name: name.to_owned(),
        mean: 100.0 * row.r2_mean?,
        stderr: row.r2_stderr.map(|stderr| 100.0 * stderr),
        sample: Some(SampleSize {
            runs: row.tested_mean.map_or(0, |tested| tested.round() as usize),
            repeats: row.repeats,
            seeds: row.by_seed.len(),
        }),
    })
}

fn orders_of(row: &ReplayRow) -> SampleSize {
    SampleSize { runs: row.numbers.runs, repeats: row.numbers.orderings, seeds: 1 }
}

/// The speed-up of a row.
pub(super) fn speedup_of(row: &ReplayRow, name: &str) -> ReportedValue {
    let ReplayRow { numbers, .. } = row;
    ReportedValue {
        name: name.to_owned(),
        mean: numbers.speedup_mean,
        stderr: (numbers.orderings > 1).then_some(numbers.speedup_stderr),
        sample: Some(orders_of(row)),
    }
}

/// The fraction of orders in which the best run was kept, with the standard error of a proportion.
pub(super) fn best_kept_fraction(row: &ReplayRow) -> Option<ReportedValue> {
    let kept = row.numbers.best_kept?;
    Some(ReportedValue {
        name: "best kept in a fraction of".to_owned(),
        mean: kept,
        stderr: (row.numbers.orderings > 1)
            .then_some((kept * (1.0 - kept) / row.numbers.orderings as f64).sqrt()),
        sample: Some(orders_of(row)),
    })
}

/// The mean of the best final values of the runs of Hyperband.
pub(super) fn best_of_run(row: &ReplayRow, name: &str) -> Option<ReportedValue> {
    Some(ReportedValue {
        name: name.to_owned(),
        mean: row.numbers.best_of_run_mean?,
        stderr: row.numbers.best_of_run_stderr,
        sample: Some(orders_of(row)),
    })
}

/// The name of a file for people.
pub(super) fn short_name(curves: &str) -> String {
    let name = match curves {
        "metaqnn_cifar10" => "MetaQNN",
        "metaqnn_svhn" => "MetaQNN on SVHN",
        "deep_resnets_tinyimagenet" => "TinyImageNet",
        "deep_resnets_cifar10" => "ResNets on CIFAR-10",
        "lstm_ptb" => "LSTM",
        "cudaconvnet_cifar10" => "`cuda-convnet`",
        "own_cudaconvnet_cifar10" => "own `cuda-convnet`",
        other => other,
    };
    name.to_owned()
}

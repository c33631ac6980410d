//! Logs as tools left them: which tool wrote them, their runs and metrics, and how the runs ended.
//!
//! | files | content |
//! |---|---|
//! | `recognize` | which tool wrote a file, and which files are one run |
//! | `tensorboard`, `wandb`, `mlflow`, `sqlite`, `lines`, `tables`, `study` | one reader per tool or kind of file |
//! | `series`, `packed`, `align`, `survey` | a run as it was logged; its values in little memory; its curve on one resource; a summary |
//! | `doubles` | runs that two tools logged |
//! | `protobuf`, `json`, `yaml`, `nearby` | code that the readers share |

mod align;
mod doubles;
mod gather;
mod json;
mod lines;
mod mlflow;
mod nearby;
mod packed;
mod point;
mod protobuf;
mod recognize;
mod series;
#[cfg(feature = "sqlite")]
mod sqlite;
mod study;
mod survey;
mod tables;
mod tensorboard;
#[cfg(test)]
mod tests;
mod update;
mod wandb;
mod yaml;

pub use gather::{ReadProgress, survey_logs};
pub use nearby::find_configuration as configuration_nearby;
pub use series::RunEnd;
pub use survey::{LeftOut, LogSurvey, MetricFound, RunFound};
pub use update::ImportManifest;

pub(crate) use align::common_end;
pub(crate) use gather::{EarlierImport, holds_logs, is_old, is_table, read};

use serde::Serialize;
use std::fmt;

/// Folders that are parts of a run: its training, and its tests.
pub(crate) const RUN_PART_FOLDERS: [&str; 8] =
    ["train", "training", "validation", "valid", "val", "eval", "evaluation", "test"];

/// The tool that wrote a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// Event files of TensorBoard: TensorFlow, Keras, PyTorch, tensorboardX, Lightning.
    TensorBoard,
    /// Offline runs of W&B.
    Wandb,
    /// A table that W&B's page exports.
    WandbTable,
    /// A table of one metric that TensorBoard's page downloads.
    TensorBoardTable,
    /// MLflow's file store and its SQLite database.
    Mlflow,
    /// Optuna's SQLite database and its journal.
    Optuna,
    /// Folders of Ray Tune.
    Ray,
    /// Lightning's `CSVLogger`.
    Lightning,
    /// Keras's `CSVLogger`.
    Keras,
    /// Any table with a row per epoch or step of one run.
    Table,
    /// `trainer_state.json` of transformers.
    Transformers,
    /// The folder of a study of Foretell.
    Foretell,
}

impl LogFormat {
    /// All formats that can be named.
    pub const ALL: [Self; 9] = [
        Self::TensorBoard,
        Self::Wandb,
        Self::Mlflow,
        Self::Optuna,
        Self::Ray,
        Self::Lightning,
        Self::Keras,
        Self::Transformers,
        Self::Foretell,
    ];

    /// The format's name: `tensorboard`.
    pub fn name(self) -> &'static str {
        match self {
            Self::TensorBoard | Self::TensorBoardTable => "tensorboard",
            Self::Wandb | Self::WandbTable => "wandb",
            Self::Mlflow => "mlflow",
            Self::Optuna => "optuna",
            Self::Ray => "ray",
            Self::Lightning => "lightning",
            Self::Keras => "keras",
            Self::Table => "table",
            Self::Transformers => "transformers",
            Self::Foretell => "foretell",
        }
    }

    /// The format with this name.
    ///
    /// ```
    /// use foretell_logs::LogFormat;
    /// assert_eq!(LogFormat::from_name("mlflow"), Some(LogFormat::Mlflow));
    /// assert_eq!(LogFormat::from_name("ml"), None);
    /// ```
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// Whether files of this format are text tables.
    fn is_table(self) -> bool {
        matches!(
            self,
            Self::WandbTable
                | Self::TensorBoardTable
                | Self::Lightning
                | Self::Keras
                | Self::Table
                | Self::Ray
        )
    }

    /// Whether a file of the format `other` is meant by this name.
    fn takes(self, other: Self) -> bool {
        self.name() == other.name()
    }
}

impl fmt::Display for LogFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TensorBoard => "TensorBoard",
            Self::TensorBoardTable => "TensorBoard's download",
            Self::Wandb => "W&B",
            Self::WandbTable => "W&B's export",
            Self::Mlflow => "MLflow",
            Self::Optuna => "Optuna",
            Self::Ray => "Ray Tune",
            Self::Lightning => "Lightning",
            Self::Keras => "Keras",
            Self::Table => "plain tables",
            Self::Transformers => "transformers",
            Self::Foretell => "Foretell",
        })
    }
}

#![doc = include_str!("../README.md")]
//!
//! [`DataSpec`] names a data set and loads it as a [`DataSet`] or a [`TextCorpus`]. A [`Space`] builds a network from a configuration and defines how to train
//! it. [`train_network`] runs epochs of a [`TrainSpec`] and reports each as an [`EpochReport`]. Checkpoints let it continue after a pause or a crash.

mod checkpoint;
mod cifar10;
mod cost;
mod data_spec;
mod error;
mod fetch;
mod folders;
mod identity;
mod image_lessons;
mod images;
mod layers;
mod lessons;
mod mat;
mod mnist;
mod optimizer;
mod pictures;
mod plan;
mod report;
mod schedule;
mod shapes;
mod space;
mod spaces;
mod split;
mod stream;
mod svhn;
mod tensor;
mod text;
mod text_lessons;
#[cfg(test)]
mod torch;
mod training;

pub use cost::NetworkCost;
pub use data_spec::{DataOptions, DataSpec};
pub use error::Error;
pub use fetch::{ArchiveFiles, DataFetcher, DataSetDownload, RemoteFile, list_downloads};
pub use images::{DataSet, LabeledImages, PixelNormalization};
pub use plan::{TrainOutcome, TrainSpec};
pub use report::EpochReport;
pub use schedule::{PROBATION_STEPS, RateSchedule, attempt_rate, learning_rate, min_accuracy};
pub use space::{DataKind, EpochCallback, NetworkSize, SearchedSpace, SmallSizes, Space, TrainingPlan};
pub use spaces::{BUILT_IN_SPACES, find_space, train_network};
pub use text::TextCorpus;

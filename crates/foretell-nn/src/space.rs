//! Spaces of networks: the parameters, and the training of one of the networks.

use crate::cost::NetworkCost;
use crate::data_spec::DataSpec;
use crate::error::Error;
use crate::plan::{TrainOutcome, TrainSpec};
use crate::report::EpochReport;
use foretell::ImageShape;
use std::ops::ControlFlow;

/// A callback after each epoch. The training continues until it returns [`ControlFlow::Break`].
pub type EpochCallback<'a> = dyn FnMut(&EpochReport) -> ControlFlow<()> + 'a;

/// Wraps `report` so that the report of the first epoch includes the network's `cost`.
pub(crate) fn telling<'a>(
    cost: NetworkCost,
    report: &'a mut EpochCallback<'_>,
) -> impl FnMut(&EpochReport) -> ControlFlow<()> + 'a {
    move |epoch| {
        let cost = (epoch.epoch == 1).then_some(cost);
        report(&EpochReport { cost, ..epoch.clone() })
    }
}

/// A family of networks: parameters, network and training recipe.
pub trait Space: Sync {
    /// Name of the space, such as `cuda-convnet`.
    fn name(&self) -> &'static str;

    /// The space in a few words.
    fn short_description(&self) -> &'static str;

    /// The paper's training of these networks.
    fn plan(&self) -> TrainingPlan;

    /// The paper's training of these networks on `data`, where that differs from one set to another.
    fn plan_on(&self, _data: &DataSpec) -> TrainingPlan {
        self.plan()
    }

    /// The space searched at `size`.
    fn search_space(&self, size: &NetworkSize) -> SearchedSpace;

    /// Trains the network of `spec`: see [`train_network`](crate::train_network).
    ///
    /// # Errors
    /// As [`train_network`](crate::train_network).
    fn train(&self, spec: &TrainSpec, report: &mut EpochCallback<'_>) -> Result<TrainOutcome, Error>;
}

/// The paper's training of the networks of a space.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrainingPlan {
    /// The data that the networks learn from.
    pub material: DataKind,
    /// The data set that needs no file.
    pub drawn: &'static str,
    /// The largest vocabulary, in words; `None` for all words of the text.
    pub vocabulary: Option<usize>,
    /// The largest number of layers; `None` for the space's own limit.
    pub max_layers: Option<usize>,
    /// The smallest side of an image, in pixels.
    pub smallest: usize,
    /// Epochs of a whole training.
    pub epochs: usize,
    /// Examples a step of the optimizer.
    pub batch_size: usize,
    /// The learning rate may be given and is not searched.
    pub free_rate: bool,
    /// The sizes for drawn data, at which a processor trains in seconds.
    pub small: SmallSizes,
}

/// Sizes at which a processor trains in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SmallSizes {
    /// Of the networks.
    pub size: NetworkSize,
    /// Examples a step of the optimizer.
    pub batch_size: usize,
}

impl TrainingPlan {
    /// A plan for images; `shapes` are the default data.
    pub(crate) fn images(epochs: usize, batch_size: usize, small: SmallSizes) -> Self {
        Self {
            material: DataKind::Images,
            drawn: "shapes",
            vocabulary: None,
            max_layers: None,
            smallest: 1,
            epochs,
            batch_size,
            free_rate: true,
            small,
        }
    }

    /// A plan for texts; `words` are the default data.
    pub(crate) fn text(epochs: usize, batch_size: usize, small: SmallSizes) -> Self {
        Self { material: DataKind::Text, drawn: "words", ..Self::images(epochs, batch_size, small) }
    }

    /// Whether images of `shape`, which are those of `data`, are large enough for the networks of `space`.
    ///
    /// # Errors
    /// [`Error::SmallImages`] if not.
    pub fn check_side(&self, space: &str, data: &DataSpec, shape: ImageShape) -> Result<(), Error> {
        let ImageShape { height, width, .. } = shape;
        if height.min(width) >= self.smallest {
            return Ok(());
        }
        let (space, data) = (space.to_owned(), data.to_string());
        Err(Error::SmallImages { space, data, needed: self.smallest, height, width })
    }
}

impl DataKind {
    /// The metric's name.
    pub fn metric_name(self) -> &'static str {
        match self {
            Self::Images => "val_acc",
            Self::Text => "val_ppl",
        }
    }
}

/// The training and validation data of networks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataKind {
    /// Labeled images: accuracy.
    Images,
    /// A text: perplexity.
    Text,
}

/// The size of the networks of a space.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NetworkSize {
    /// Factor on filters, cells and units; 1 is the paper's width.
    pub width: f64,
    /// The most layers; `None` is the paper's limit.
    pub max_layers: Option<usize>,
}

/// The search space of a space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SearchedSpace {
    /// Layer sequences, in the parameter `net`.
    Layers,
    /// Named parameters, each as `name=kind:…`.
    Parameters(Vec<String>),
}

impl NetworkSize {
    /// `size` at this width: rounded, at least 1.
    pub(crate) fn scale(&self, size: usize) -> usize {
        ((size as f64 * self.width).round() as usize).max(1)
    }

    /// Sizes at this width as a choice `name=choice:a,b,…`; sizes that become equal are merged.
    pub(crate) fn choice(&self, name: &str, sizes: impl Iterator<Item = usize>) -> String {
        let mut scaled: Vec<usize> = sizes.map(|size| self.scale(size)).collect();
        scaled.dedup();
        let texts: Vec<String> = scaled.iter().map(ToString::to_string).collect();
        format!("{name}=choice:{}", texts.join(","))
    }
}

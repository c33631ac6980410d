//! The built-in spaces, one file each: parameters, network, training recipe.

pub(crate) mod alexnet;
pub(crate) mod cuda_convnet;
mod descent;
pub(crate) mod lstm;
pub(crate) mod metaqnn;
pub(crate) mod resnet_39;
pub(crate) mod resnet_tiny;

use crate::error::Error;
use crate::plan::{TrainOutcome, TrainSpec};
use crate::space::{EpochCallback, Space};

/// All spaces. To add one, add a file here and a line to this list.
pub static BUILT_IN_SPACES: &[&dyn Space] = &[
    &metaqnn::MetaqnnSpace,
    &cuda_convnet::CudaConvnetSpace,
    &lstm::LSTM_SPACE,
    &lstm::LSTM_400_SPACE,
    &resnet_tiny::RESNET_TINY_SPACE,
    &resnet_tiny::RESNET_TINY_3_SPACE,
    &resnet_39::Resnet39Space,
    &alexnet::AlexnetSpace,
];

/// Returns the space called `name`.
///
/// # Errors
/// [`Error::UnknownSpace`] with the known names.
pub fn find_space(name: &str) -> Result<&'static dyn Space, Error> {
    BUILT_IN_SPACES.iter().find(|space| space.name() == name).copied().ok_or_else(|| {
        let known: Vec<_> = BUILT_IN_SPACES.iter().map(|space| space.name()).collect();
        Error::UnknownSpace { name: name.to_owned(), known: known.join(", ") }
    })
}

/// Trains the network of `spec`, and calls `report` after each epoch until it returns [`ControlFlow::Break`](std::ops::ControlFlow::Break).
///
/// The space of the spec has the recipe: starting weights, optimizer, schedule of the learning rate. MetaQNN's has a retry
/// rule: where no starting rate is given, there are up to five attempts with falling rates and fresh weights, each of at most
/// [`PROBATION_STEPS`](crate::PROBATION_STEPS) steps in whole epochs, until one passes [`min_accuracy`](crate::min_accuracy) and is
/// continued. Only the continued attempt is reported; epochs of failed ones are counted in `failed_epochs`. If all fail, the
/// accuracy of guessing is reported for each epoch and nothing more is computed.
///
/// An epoch is reported after its checkpoint is on the disk. A resumed training first reports the epochs it read from the
/// checkpoint again, marked `recovered`, so that no report is lost; from there on its numbers equal those of an unbroken
/// one. Equal specs give equal numbers: all randomness comes from the spec's seeds.
///
/// # Errors
/// Bad plans and parameters, data sets that cannot be read, networks that do not fit them, and checkpoints that are damaged,
/// foreign or cannot be written: see [`Error`].
pub fn train_network(spec: &TrainSpec, report: &mut EpochCallback<'_>) -> Result<TrainOutcome, Error> {
    let space = find_space(&spec.space)?;
    spec.validate()?;
    space.train(spec, report)
}

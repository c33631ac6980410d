//! The plan of a training (network, data, length) and its outcome.

use crate::data_spec::{DataOptions, DataSpec};
use crate::error::Error;
use crate::identity::TrainingIdentity;
use crate::images::DataSet;
use crate::report::EpochReport;
use crate::schedule::RateSchedule;
use crate::text::TextCorpus;
use foretell::{Configuration, LayerSequence, NETWORK_KEY, Value};
use std::path::PathBuf;

/// The network, data and length of a training.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainSpec {
    /// The name of the space, such as `metaqnn`.
    pub space: String,
    /// The parameters of the network; more than the space has do no harm.
    pub configuration: Configuration,
    /// Factor on the sizes of spaces whose width is no parameter (`cuda-convnet`); 1 is the paper's.
    pub width: f64,
    /// The images or the text.
    pub data: DataSpec,
    /// The number of training images or tokens; `None`: see [`DataOptions::train_size`].
    pub train_size: Option<usize>,
    /// The number of validation images or tokens; `None`: see [`DataOptions::validation_size`].
    pub validation_size: Option<usize>,
    /// The seed of the data: the same for all trials of a study.
    pub data_seed: u64,
    /// Epochs of the whole plan, at least 1: the learning rate falls by it, also where training pauses earlier.
    pub epochs: usize,
    /// The epoch after which to pause, 1 to `epochs`.
    pub until: usize,
    /// Images, or parts of the text, a step of the optimizer, at least 1.
    pub batch_size: usize,
    /// The starting learning rate, positive. `None`: the space's own. MetaQNN's is the first of 0.001 · 0.4ⁱ, i = 0 to 4,
    /// which learns within [`PROBATION_STEPS`](crate::PROBATION_STEPS) steps.
    pub learning_rate: Option<f64>,
    /// The fall of the learning rate. `None`: the space's own.
    pub schedule: Option<RateSchedule>,
    /// Seed of starting weights, order, mirroring and dropout.
    pub seed: u64,
    /// Where to keep checkpoints; none are kept if `None`.
    pub checkpoint_dir: Option<PathBuf>,
    /// Whether to continue from the newest checkpoint, if there is one; otherwise old checkpoints are deleted.
    pub resume: bool,
}

impl TrainSpec {
    /// MetaQNN's training of `network` on `data`: 20 epochs, steps of 128 images, starting rates by the retry rule; seeds
    /// 0, no checkpoints.
    pub fn new(network: &LayerSequence, data: DataSpec) -> Self {
        let net = Value::Text(network.to_string());
        Self {
            space: "metaqnn".to_owned(),
            configuration: Configuration::from([(NETWORK_KEY.to_owned(), net)]),
            width: 1.0,
            data,
            train_size: None,
            validation_size: None,
            data_seed: 0,
            epochs: 20,
            until: 20,
            batch_size: 128,
            learning_rate: None,
            schedule: None,
            seed: 0,
            checkpoint_dir: None,
            resume: false,
        }
    }

    /// The part of the data that this training uses.
    pub fn data_options(&self) -> DataOptions {
        DataOptions {
            train_size: self.train_size,
            validation_size: self.validation_size,
            seed: self.data_seed,
        }
    }

    /// The images.
    ///
    /// # Errors
    /// [`Error::Material`] if the data are a text; otherwise see [`DataSpec::load`].
    pub(crate) fn images(&self) -> Result<DataSet, Error> {
        if self.data.is_text() {
            return Err(self.material_error("images", "a text"));
        }
        self.data.load_images(&self.data_options())
    }

    /// The text.
    ///
    /// # Errors
    /// [`Error::Material`] if the data are images; otherwise see [`DataSpec::read_text`].
    pub(crate) fn text(&self) -> Result<TextCorpus, Error> {
        if !self.data.is_text() {
            return Err(self.material_error("a text", "images"));
        }
        self.data.load_text(&self.data_options())
    }

    fn material_error(&self, needed: &'static str, found: &'static str) -> Error {
        Error::Material { space: self.space.clone(), needed, data: self.data.to_string(), found }
    }

    /// The number `name` of the configuration.
    ///
    /// # Errors
    /// [`Error::Parameter`] if there is none, or it is outside of `range`.
    pub(crate) fn number(
        &self,
        name: &'static str,
        range: std::ops::RangeInclusive<f64>,
    ) -> Result<f64, Error> {
        let value = self.configuration.get(name);
        match value.and_then(Value::as_number).filter(|number| range.contains(number)) {
            Some(number) => Ok(number),
            None => {
                let expected = match (*range.start(), *range.end()) {
                    (f64::MIN_POSITIVE, f64::MAX) => "a number above 0".to_owned(),
                    (low, f64::MAX) => format!("a number of at least {low}"),
                    (low, high) => format!("a number from {low} to {high}"),
                };
                Err(self.parameter_error(name, &expected))
            }
        }
    }

    /// The whole number `name` of the configuration.
    ///
    /// # Errors
    /// [`Error::Parameter`] if there is none, it is not whole, or it is outside of `range`.
    pub(crate) fn count(
        &self,
        name: &'static str,
        range: std::ops::RangeInclusive<usize>,
    ) -> Result<usize, Error> {
        let value = self.configuration.get(name).and_then(Value::as_number);
        match value.filter(|number| number.fract() == 0.0 && *number >= 0.0).map(|number| number as usize) {
            Some(count) if range.contains(&count) => Ok(count),
            _ => {
                let expected = format!("a whole number from {} to {}", range.start(), range.end());
                Err(self.parameter_error(name, &expected))
            }
        }
    }

    /// The error of the parameter `name`, which must be as `expected`.
    pub(crate) fn parameter_error(&self, name: &'static str, expected: &str) -> Error {
        let found = self.configuration.get(name).map_or_else(|| "missing".to_owned(), |v| format!("`{v}`"));
        Error::Parameter { space: self.space.clone(), name, found, expected: expected.to_owned() }
    }

    /// Checks the numbers of the plan.
    ///
    /// # Errors
    /// [`Error::Plan`] naming the first that is out of its range.
    pub(crate) fn validate(&self) -> Result<(), Error> {
        let (field, found, expected) = if self.epochs == 0 {
            ("epochs", self.epochs.to_string(), "at least 1".to_owned())
        } else if !(1..=self.epochs).contains(&self.until) {
            ("until", self.until.to_string(), format!("1 to the {} epochs of the plan", self.epochs))
        } else if self.batch_size == 0 {
            ("batch_size", self.batch_size.to_string(), "at least 1".to_owned())
        } else if !(self.width.is_finite() && self.width > 0.0) {
            ("width", self.width.to_string(), "a finite number above 0".to_owned())
        } else if let Some(rate) = self.learning_rate.filter(|rate| !(rate.is_finite() && *rate > 0.0)) {
            ("learning_rate", rate.to_string(), "positive and finite".to_owned())
        } else {
            return Ok(());
        };
        Err(Error::Plan { field, found, expected })
    }

    /// The identity that a checkpoint must have.
    pub(crate) fn identity(&self) -> TrainingIdentity {
        TrainingIdentity {
            space: self.space.clone(),
            configuration: self.configuration.clone(),
            width: self.width,
            data: self.data.to_string(),
            train_size: self.train_size,
            validation_size: self.validation_size,
            data_seed: self.data_seed,
            epochs: self.epochs,
            batch_size: self.batch_size,
            learning_rate: self.learning_rate,
            schedule: self.schedule,
            seed: self.seed,
        }
    }
}

/// The outcome of a training that ended or paused.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainOutcome {
    /// One report an epoch, from epoch 1.
    pub reports: Vec<EpochReport>,
    /// The starting learning rate of the attempt that succeeded; none if all failed.
    pub initial_learning_rate: Option<f64>,
    /// Epochs spent on attempts that failed.
    pub failed_epochs: usize,
    /// Whether the caller stopped it before `until`.
    pub stopped: bool,
    /// Damaged checkpoints that were passed over for an older one.
    pub damaged_checkpoints: Vec<PathBuf>,
}

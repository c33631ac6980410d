//! Trains one network: attempts, epochs, reports and checkpoints.

use crate::checkpoint::{self, Header, Learner, Restored};
use crate::data_spec::{DataOptions, DataSpec};
use crate::epoch::{Chance, Steps, judge, optimizer, train_epoch};
use crate::error::Error;
use crate::identity::Identity;
use crate::images::DataSet;
use crate::network::Network;
use crate::report::EpochReport;
use crate::schedule::{ATTEMPTS, attempt_rate, learning_rate, least_accuracy};
use burn::tensor::Device;
use foretell::{Layer, LayerSequence};
use std::ops::ControlFlow;
use std::path::PathBuf;

/// What to train, on what, and how long.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainSpec {
    /// The network.
    pub network: LayerSequence,
    /// The images.
    pub data: DataSpec,
    /// How many training images; `None`: see [`DataOptions::train_size`].
    pub train_size: Option<usize>,
    /// How many validation images; `None`: see [`DataOptions::validation_size`].
    pub validation_size: Option<usize>,
    /// Which images these are: the same for all trials of a study.
    pub data_seed: u64,
    /// Epochs of the whole plan, at least 1: the learning rate falls by it, also where training pauses earlier.
    pub epochs: usize,
    /// The epoch after which to pause, 1 to `epochs`.
    pub until: usize,
    /// Images a step of the optimizer, at least 1.
    pub batch_size: usize,
    /// The starting learning rate, positive. `None`: the first of 0.001 · 0.4ⁱ, i = 0 to 4, with which one epoch
    /// reaches [`least_accuracy`].
    pub learning_rate: Option<f64>,
    /// Seed of starting weights, order, mirroring and dropout.
    pub seed: u64,
    /// Where to keep checkpoints; none are kept if `None`.
    pub checkpoint_dir: Option<PathBuf>,
    /// Whether to go on from the newest checkpoint, if there is one; otherwise old checkpoints are deleted.
    pub resume: bool,
}

impl TrainSpec {
    /// MetaQNN's training of `network` on `data`: 20 epochs, steps of 128 images, starting rates by the retry rule; seeds
    /// 0, no checkpoints.
    pub fn new(network: LayerSequence, data: DataSpec) -> Self {
        Self {
            network,
            data,
            train_size: None,
            validation_size: None,
            data_seed: 0,
            epochs: 20,
            until: 20,
            batch_size: 128,
            learning_rate: None,
            seed: 0,
            checkpoint_dir: None,
            resume: false,
        }
    }

    /// Which part of the data this training uses.
    pub fn data_options(&self) -> DataOptions {
        DataOptions {
            train_size: self.train_size,
            validation_size: self.validation_size,
            seed: self.data_seed,
        }
    }

    fn validate(&self) -> Result<(), Error> {
        let wrong = |field, found: &dyn ToString, expected: String| {
            Err(Error::Plan { field, found: found.to_string(), expected })
        };
        if self.epochs == 0 {
            return wrong("epochs", &self.epochs, "at least 1".to_owned());
        }
        if !(1..=self.epochs).contains(&self.until) {
            return wrong("until", &self.until, format!("1 to the {} epochs of the plan", self.epochs));
        }
        if self.batch_size == 0 {
            return wrong("batch_size", &self.batch_size, "at least 1".to_owned());
        }
        match self.learning_rate {
            Some(rate) if !(rate.is_finite() && rate > 0.0) => {
                wrong("learning_rate", &rate, "positive and finite".to_owned())
            }
            _ => Ok(()),
        }
    }

    fn identity(&self) -> Identity {
        Identity {
            network: self.network.to_string(),
            data: self.data.to_string(),
            train_size: self.train_size,
            validation_size: self.validation_size,
            data_seed: self.data_seed,
            epochs: self.epochs,
            batch_size: self.batch_size,
            learning_rate: self.learning_rate,
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

/// Trains by `spec`, calling `report` after each epoch until it says [`ControlFlow::Break`].
///
/// The plan is MetaQNN's: cross-entropy, Adam with L2, Xavier weights, a learning rate that falls stepwise
/// ([`learning_rate`]), and where no starting rate is given the retry rule: up to five attempts of one epoch each, with
/// falling starting rates and fresh weights, until one passes [`least_accuracy`] and is continued. Only the continued
/// attempt is reported; epochs of failed ones are counted in `failed_epochs`. If all fail, the accuracy of guessing is
/// reported for each epoch and nothing more is computed.
///
/// An epoch is reported after its checkpoint is on the disk. A resumed training first reports the epochs it read from the
/// checkpoint again, marked `recovered`, so that no report is lost; from there on its numbers equal those of an unbroken
/// one. Equal specs give equal numbers: all randomness comes from the spec's seeds.
///
/// # Errors
/// Bad plans, data sets that cannot be read, networks that do not fit them, and checkpoints that are damaged, foreign or
/// cannot be written: see [`Error`].
pub fn train(
    spec: &TrainSpec,
    report: &mut dyn FnMut(&EpochReport) -> ControlFlow<()>,
) -> Result<TrainOutcome, Error> {
    spec.validate()?;
    let data = spec.data.load(&spec.data_options())?;
    check_classes(spec, data.train.classes)?;
    Training::start(spec, &data)?.run(report)
}

fn check_classes(spec: &TrainSpec, expected: usize) -> Result<(), Error> {
    for layer in &spec.network.0 {
        match *layer {
            Layer::Softmax { classes } | Layer::GlobalAveragePooling { classes } if classes != expected => {
                let (layer, data) = (layer.to_string(), spec.data.to_string());
                return Err(Error::Classes { layer, found: classes, data, expected });
            }
            _ => {}
        }
    }
    Ok(())
}

/// A training under way.
struct Training<'a> {
    spec: &'a TrainSpec,
    data: &'a DataSet,
    device: Device,
    header: Header,
    learner: Option<Learner>,
    damaged: Vec<PathBuf>,
}

impl<'a> Training<'a> {
    fn start(spec: &'a TrainSpec, data: &'a DataSet) -> Result<Self, Error> {
        let device = Device::flex().autodiff();
        let fresh = |attempt| Network::new(&spec.network, data.train.shape, spec.seed, attempt, &device);
        let network = fresh(0)?;
        let restored = match &spec.checkpoint_dir {
            Some(directory) if spec.resume => checkpoint::load(directory, &spec.identity(), || fresh(0))?,
            Some(directory) => checkpoint::clear(directory).map(|()| None)?,
            None => None,
        };
        let restored = restored.unwrap_or_else(|| Restored {
            header: Header {
                identity: spec.identity(),
                attempt: Some(0),
                failed_epochs: 0,
                reports: Vec::new(),
            },
            learner: Some((network, optimizer())),
            damaged: Vec::new(),
        });
        let Restored { header, learner, damaged } = restored;
        Ok(Self { spec, data, device, header, learner, damaged })
    }

    fn run(mut self, report: &mut dyn FnMut(&EpochReport) -> ControlFlow<()>) -> Result<TrainOutcome, Error> {
        for past in &mut self.header.reports {
            past.recovered = true;
        }
        let mut stopped = self.header.reports.iter().any(|past| report(past).is_break());
        while !stopped && self.header.reports.len() < self.spec.until {
            let next = self.epoch()?;
            self.header.reports.push(next);
            if let Some(directory) = &self.spec.checkpoint_dir {
                checkpoint::save(directory, &self.header, self.learner.as_ref())?;
            }
            stopped = self.header.reports.last().is_some_and(|last| report(last).is_break());
        }
        Ok(TrainOutcome {
            initial_learning_rate: self.header.attempt.map(|attempt| self.initial_rate(attempt)),
            failed_epochs: self.header.failed_epochs,
            reports: self.header.reports,
            stopped,
            damaged_checkpoints: self.damaged,
        })
    }

    fn initial_rate(&self, attempt: usize) -> f64 {
        self.spec.learning_rate.unwrap_or_else(|| attempt_rate(attempt))
    }

    /// The next epoch; in the first, attempt after attempt.
    fn epoch(&mut self) -> Result<EpochReport, Error> {
        while let (Some(attempt), Some(learner)) = (self.header.attempt, self.learner.take()) {
            let next = self.trained_epoch(attempt, learner);
            let retry = self.spec.learning_rate.is_none() && next.epoch == 1;
            if !retry || next.validation_accuracy > least_accuracy(self.data.train.classes) {
                return Ok(next);
            }
            self.header.failed_epochs += 1;
            self.next_attempt(attempt + 1)?;
        }
        Ok(self.guessed_epoch())
    }

    fn trained_epoch(&mut self, attempt: usize, (network, mut optimizer): Learner) -> EpochReport {
        let epoch = self.header.reports.len() + 1;
        let learning_rate = learning_rate(self.initial_rate(attempt), epoch, self.spec.epochs);
        let steps = Steps { batch_size: self.spec.batch_size, learning_rate };
        let chance = Chance { seed: self.spec.seed, attempt, epoch };
        let (network, loss) = train_epoch(network, &mut optimizer, self.data, steps, chance, &self.device);
        let (validation_accuracy, validation_loss) = judge(&network, self.data, &self.device);
        self.learner = Some((network, optimizer));
        EpochReport {
            epoch,
            validation_accuracy,
            validation_loss: Some(validation_loss).filter(|loss| loss.is_finite()),
            train_loss: Some(loss).filter(|loss| loss.is_finite()),
            learning_rate: Some(learning_rate),
            failed_epochs: self.header.failed_epochs,
            recovered: false,
        }
    }

    fn next_attempt(&mut self, attempt: usize) -> Result<(), Error> {
        self.header.attempt = Some(attempt).filter(|&attempt| attempt < ATTEMPTS);
        self.learner = match self.header.attempt {
            Some(attempt) => {
                let Self { spec, data, device, .. } = self;
                let network =
                    Network::new(&spec.network, data.train.shape, spec.seed, attempt as u64, device)?;
                Some((network, optimizer()))
            }
            None => None,
        };
        Ok(())
    }

    fn guessed_epoch(&self) -> EpochReport {
        EpochReport {
            epoch: self.header.reports.len() + 1,
            validation_accuracy: 1.0 / self.data.train.classes as f64,
            validation_loss: None,
            train_loss: None,
            learning_rate: None,
            failed_epochs: self.header.failed_epochs,
            recovered: false,
        }
    }
}

//! Trains one network by a recipe: attempts, epochs, reports and checkpoints.

use crate::checkpoint::{self, CheckpointHeader, LearnerState, RestoredCheckpoint};
use crate::error::Error;
use crate::layers::parameter::Module;
use crate::layers::weights::WeightInitializer;
use crate::lessons::{EpochSeeds, EpochSteps, LessonData, ValidationScores};
use crate::optimizer::Optimizer;
use crate::plan::{TrainOutcome, TrainSpec};
use crate::report::EpochReport;
use crate::schedule::{PROBATION_STEPS, min_accuracy};
use crate::space::EpochCallback;
use std::path::PathBuf;

/// The recipe by which the networks of a space are made and trained.
pub(crate) trait TrainingRecipe {
    /// The network.
    type Network: Module;

    /// The network with its starting weights.
    fn network(&self, weights: &mut WeightInitializer) -> Self::Network;

    /// The optimizer, at its start.
    fn optimizer(&self) -> Optimizer;

    /// The starting learning rates that are tried in turn; one means that it is not judged.
    fn starts(&self) -> Vec<f64>;

    /// The factor on the starting rate in epoch `epoch` (from 1) of `epochs` planned.
    fn schedule(&self, epoch: usize, epochs: usize) -> f64;

    /// The largest norm of the gradient; a larger one is shortened to it.
    fn clip(&self) -> Option<f64> {
        None
    }
}

/// Trains by `recipe` on `data`, as `spec` says.
pub(crate) fn run<R: TrainingRecipe, L: LessonData<R::Network>>(
    spec: &TrainSpec,
    recipe: &R,
    data: &L,
    report: &mut EpochCallback<'_>,
) -> Result<TrainOutcome, Error> {
    TrainingState::start(spec, recipe, data)?.run(report)
}

/// A training under way.
struct TrainingState<'a, R: TrainingRecipe, L> {
    spec: &'a TrainSpec,
    recipe: &'a R,
    data: &'a L,
    starts: Vec<f64>,
    header: CheckpointHeader,
    learner: Option<LearnerState<R::Network>>,
    damaged: Vec<PathBuf>,
}

impl<'a, R: TrainingRecipe, L: LessonData<R::Network>> TrainingState<'a, R, L> {
    fn start(spec: &'a TrainSpec, recipe: &'a R, data: &'a L) -> Result<Self, Error> {
        let restored = match &spec.checkpoint_dir {
            Some(directory) if spec.resume => {
                checkpoint::load(directory, &spec.identity(), || new_learner(spec, recipe))?
            }
            Some(directory) => checkpoint::clear(directory).map(|()| None)?,
            None => None,
        };
        let restored = restored.unwrap_or_else(|| RestoredCheckpoint {
            header: CheckpointHeader {
                identity: spec.identity(),
                attempt: Some(0),
                failed_epochs: 0,
                reports: Vec::new(),
            },
            learner: Some(new_learner(spec, recipe)),
            damaged: Vec::new(),
        });
        let starts = spec.learning_rate.map_or_else(|| recipe.starts(), |rate| vec![rate]);
        let RestoredCheckpoint { header, learner, damaged } = restored;
        Ok(Self { spec, recipe, data, starts, header, learner, damaged })
    }

    fn run(mut self, report: &mut EpochCallback<'_>) -> Result<TrainOutcome, Error> {
        for past in &mut self.header.reports {
            past.recovered = true;
        }
        let (mut reported, mut stopped) = (0, false);
        while !stopped && reported < self.spec.until {
            if reported == self.header.reports.len() {
                self.advance_epoch();
                if let Some(directory) = &self.spec.checkpoint_dir {
                    // before the report, so that no epoch that was reported is lost
                    checkpoint::save(directory, &self.header, self.learner.as_ref())?;
                }
            }
            stopped = report(&self.header.reports[reported]).is_break();
            reported += 1;
        }
        self.header.reports.truncate(reported);
        Ok(TrainOutcome {
            initial_learning_rate: self.header.attempt.map(|attempt| self.starts[attempt]),
            failed_epochs: self.header.failed_epochs,
            reports: self.header.reports,
            stopped,
            damaged_checkpoints: self.damaged,
        })
    }

    /// Trains the next epoch; at the start, attempt after attempt until one learns.
    fn advance_epoch(&mut self) {
        // a single start is not judged, because there is no other to take its place
        let judged = self.header.reports.is_empty() && self.starts.len() > 1;
        while let (Some(attempt), Some(learner)) = (self.header.attempt, self.learner.take()) {
            if !judged {
                self.epoch(attempt, learner);
                return;
            }
            if self.try_attempt(attempt, learner) {
                return;
            }
            self.header.failed_epochs += self.header.reports.len();
            self.header.reports.clear();
            self.next_attempt(attempt + 1);
        }
        let guessed = self.guessing_report();
        self.header.reports.push(guessed);
    }

    /// Trains an attempt until it is better than guessing, or its steps are used up.
    fn try_attempt(&mut self, attempt: usize, mut learner: LearnerState<R::Network>) -> bool {
        let most = PROBATION_STEPS.div_ceil(self.data.steps(self.spec.batch_size)).min(self.spec.epochs);
        for _ in 0..most {
            self.epoch(attempt, learner);
            let accuracy = self.header.reports.last().map(|report| report.validation_accuracy);
            if accuracy.is_some_and(|accuracy| accuracy > min_accuracy(self.data.guessing_accuracy())) {
                return true;
            }
            let Some(next) = self.learner.take() else { return false };
            learner = next;
        }
        false
    }

    fn epoch(&mut self, attempt: usize, (mut network, mut optimizer): LearnerState<R::Network>) {
        let epoch = self.header.reports.len() + 1;
        let epochs = self.spec.epochs;
        let factor = match self.spec.schedule {
            Some(schedule) => schedule.rate_factor(epoch, epochs),
            None => self.recipe.schedule(epoch, epochs),
        };
        let learning_rate = self.starts[attempt] * factor;
        let steps = EpochSteps {
            batch_size: self.spec.batch_size,
            rate: learning_rate,
            clip: self.recipe.clip(),
            chance: EpochSeeds { seed: self.spec.seed, attempt, epoch },
        };
        let loss = self.data.epoch(&mut network, &mut optimizer, &steps);
        let ValidationScores { accuracy, loss: validation_loss } = self.data.evaluate_network(&network);
        self.learner = Some((network, optimizer));
        self.header.reports.push(EpochReport {
            epoch,
            validation_accuracy: accuracy,
            validation_loss: Some(validation_loss).filter(|loss| loss.is_finite()),
            train_loss: Some(loss).filter(|loss| loss.is_finite()),
            learning_rate: Some(learning_rate),
            failed_epochs: self.header.failed_epochs,
            cost: None,
            recovered: false,
        });
    }

    fn next_attempt(&mut self, attempt: usize) {
        self.header.attempt = Some(attempt).filter(|&attempt| attempt < self.starts.len());
        self.learner = self.header.attempt.map(|attempt| {
            let mut weights = WeightInitializer::new(self.spec.seed, attempt);
            (self.recipe.network(&mut weights), self.recipe.optimizer())
        });
    }

    fn guessing_report(&self) -> EpochReport {
        EpochReport {
            epoch: self.header.reports.len() + 1,
            validation_accuracy: self.data.guessing_accuracy(),
            validation_loss: None,
            train_loss: None,
            learning_rate: None,
            failed_epochs: self.header.failed_epochs,
            cost: None,
            recovered: false,
        }
    }
}

fn new_learner<R: TrainingRecipe>(spec: &TrainSpec, recipe: &R) -> LearnerState<R::Network> {
    (recipe.network(&mut WeightInitializer::new(spec.seed, 0)), recipe.optimizer())
}

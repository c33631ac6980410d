//! The identity of a training, by which a checkpoint is accepted or refused.

use crate::schedule::RateSchedule;
use foretell::Configuration;
use serde::{Deserialize, Serialize};

/// The part of a [`TrainSpec`](crate::TrainSpec) that determines the results. A checkpoint of another identity is refused.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct TrainingIdentity {
    pub(crate) space: String,
    pub(crate) configuration: Configuration,
    pub(crate) width: f64,
    pub(crate) data: String,
    pub(crate) train_size: Option<usize>,
    pub(crate) validation_size: Option<usize>,
    pub(crate) data_seed: u64,
    pub(crate) epochs: usize,
    pub(crate) batch_size: usize,
    pub(crate) learning_rate: Option<f64>,
    // checkpoints from before there was a choice of schedules lack it, and would otherwise be refused
    #[serde(default)]
    pub(crate) schedule: Option<RateSchedule>,
    pub(crate) seed: u64,
}

impl TrainingIdentity {
    /// The first field in which two identities differ, with its value in `self` and in `other`.
    pub(crate) fn first_difference(&self, other: &Self) -> Option<(String, String, String)> {
        let [ours, theirs] = [self, other].map(|identity| serde_json::to_value(identity).unwrap_or_default());
        let ours = ours.as_object()?;
        let (field, found) = ours.iter().find(|(field, value)| theirs.get(field.as_str()) != Some(value))?;
        Some((
            field.clone(),
            found.to_string(),
            theirs.get(field).map(ToString::to_string).unwrap_or_default(),
        ))
    }
}

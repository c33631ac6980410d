//! The parts of a study that a caller may bring.

use crate::catalogue::Catalogue;
use crate::samplers::Sampler;
use crate::schedulers::Scheduler;
use crate::stopping::StopRule;
use foretell::Predictor;
use std::sync::Arc;

/// A caller's own sampler, scheduler, predictor or stop rule; `None` selects the one in the study's description.
///
/// To continue a stored study, bring the same parts in the state they had when it started: the study repeats
/// the calls that it made then, except for [`Sampler::propose`]; instead, it reports what was started.
#[derive(Default)]
pub struct StudyParts {
    /// The catalogue that defines the names in the study's description.
    pub catalogue: Catalogue,
    /// The sampler that chooses the next configuration.
    pub sampler: Option<Box<dyn Sampler>>,
    /// The scheduler that chooses the next trial to train, and its length.
    pub scheduler: Option<Box<dyn Scheduler>>,
    /// The predictor.
    pub predictor: Option<Arc<dyn Predictor>>,
    /// The stop rule.
    pub stop_rule: Option<Arc<dyn StopRule>>,
}

impl From<&Catalogue> for StudyParts {
    fn from(catalogue: &Catalogue) -> Self {
        Self { catalogue: catalogue.clone(), ..Self::default() }
    }
}

impl StudyParts {
    /// Whether the caller brings none.
    pub(crate) fn is_empty(&self) -> bool {
        self.sampler.is_none()
            && self.scheduler.is_none()
            && self.predictor.is_none()
            && self.stop_rule.is_none()
    }
}

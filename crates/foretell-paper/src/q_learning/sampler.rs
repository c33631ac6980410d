//! Q-learning as a sampler of studies.

use super::{EpsilonSchedule, QLearner, QLearning, Reward};
use crate::layer_space::{LayerSpace, SPACE_NAME, network_of};
use foretell::Configuration;
use foretell_search::{
    IsAllowed, NamedSettings, Sampler, SamplerFamily, SamplerSpec, Space, StudyPart, Worth, trial_stream,
};
use rand_chacha::ChaCha8Rng;
use serde_json::{Map, Value as Json, json};
use std::sync::Arc;

/// The name by which requests ask for it.
const SAMPLER_NAME: &str = "q-learning";

/// The random stream from which the replay after the result of trial number `trial` is drawn (see [`QLearner::tell`]): the trial's stream
/// number with the second highest bit flipped, which no other stream of a study has.
pub(super) fn replay_stream(study_seed: u64, trial: u64) -> ChaCha8Rng {
    trial_stream(study_seed, trial ^ (1 << 62))
}

impl QLearning {
    /// The settings of `sampler`, if it is Q-learning.
    pub fn settings_of(sampler: &SamplerSpec) -> Option<Self> {
        let settings = (sampler.name() == SAMPLER_NAME).then(|| sampler.settings().clone())?;
        serde_json::from_value(settings).ok()
    }
}

impl From<QLearning> for SamplerSpec {
    fn from(settings: QLearning) -> Self {
        let named = NamedSettings { name: SAMPLER_NAME.to_owned(), settings: json!(settings) };
        let family: Arc<dyn SamplerFamily> = Arc::new(QLearningFamily);
        StudyPart::new(named, family).into()
    }
}

/// The samplers by Q-learning.
pub(crate) struct QLearningFamily;

impl SamplerFamily for QLearningFamily {
    fn settings(&self, asked: &Map<String, Json>, trials: u64, there: Option<&Json>) -> Json {
        let usual = QLearning::default();
        let [alpha, gamma, initial_value] =
            ["alpha", "gamma", "initial_value"].map(|name| asked.get(name).and_then(Json::as_f64));
        let [epsilon_trials, replay] =
            ["epsilon_trials", "replay"].map(|name| asked.get(name).and_then(Json::as_u64));
        // the ε schedule stays as it was made, also where there are more trials now
        let made = there.and_then(|there| serde_json::from_value::<QLearning>(there.clone()).ok());
        let made = made.map(|made| made.schedule).filter(|_| epsilon_trials.is_none());
        json!(QLearning {
            learning_rate: alpha.unwrap_or(usual.learning_rate),
            discount: gamma.unwrap_or(usual.discount),
            initial_value: initial_value.unwrap_or(usual.initial_value),
            replay_number: replay.map_or(usual.replay_number, |count| count as usize),
            schedule: made
                .unwrap_or_else(|| EpsilonSchedule::default().scale_to(epsilon_trials.unwrap_or(trials))),
            ..usual
        })
    }

    fn fields(&self, settings: &Json) -> Map<String, Json> {
        let settings: QLearning = serde_json::from_value(settings.clone()).unwrap_or_default();
        let fields = json!({
            "epsilon_trials": settings.schedule.total_models(),
            "alpha": settings.learning_rate,
            "gamma": settings.discount,
            "initial_value": settings.initial_value,
            "replay": settings.replay_number,
        });
        fields.as_object().cloned().unwrap_or_default()
    }

    fn is_rewarded(&self) -> bool {
        true
    }

    fn in_words(&self, settings: &Json) -> Option<String> {
        let settings: QLearning = serde_json::from_value(settings.clone()).ok()?;
        let stages = settings.schedule.stages.iter().filter(|stage| stage.models > 0);
        let rows: String = stages.map(|stage| format!("\n {:<5}{}", stage.epsilon, stage.models)).collect();
        Some(format!(
            "Q-learning: α = {}, γ = {}, Q₀ = {}, {} networks replayed after each result; the paper's ε schedule of 2700 networks, scaled to {}:\n ε    networks{rows}",
            settings.learning_rate,
            settings.discount,
            settings.initial_value,
            settings.replay_number,
            settings.schedule.total_models(),
        ))
    }

    fn sampler(&self, settings: &Json, space: &Space, seed: u64) -> Result<Box<dyn Sampler>, String> {
        let layers = match space {
            Space::Own(part) if part.name() == SPACE_NAME => LayerSpace::from_settings(part.settings())?,
            _ => {
                return Err(format!(
                    "it searches networks layer by layer, not parameters of a command. Choose another sampler, or the space {SPACE_NAME}"
                ));
            }
        };
        let settings: QLearning =
            serde_json::from_value(settings.clone()).map_err(|error| error.to_string())?;
        let learner = QLearner::new(layers, settings).map_err(|error| error.to_string())?;
        Ok(Box::new(QLearningSampler { learner, seed, proposed: None }))
    }
}

/// Q-learning, driven by a study.
struct QLearningSampler {
    learner: QLearner,
    seed: u64,
    /// The trial that was last proposed for.
    proposed: Option<u64>,
}

impl Sampler for QLearningSampler {
    fn propose(&mut self, trial: u64) -> Option<Configuration> {
        self.propose_allowed(trial, &|_| true)
    }

    fn propose_allowed(&mut self, trial: u64, is_allowed: &IsAllowed<'_>) -> Option<Configuration> {
        self.proposed = Some(trial);
        let mut rng = trial_stream(self.seed, trial);
        loop {
            // it draws no network twice, so the loop ends
            let network = self.learner.propose(&mut rng).ok()?;
            let configuration = self.learner.space().configuration_of(&network);
            if is_allowed(&configuration) {
                return Some(configuration);
            }
            // it was proposed a moment ago, and waits for a result
            let _ = self.learner.discard_proposal(&network);
        }
    }

    fn observe_start(&mut self, trial: u64, configuration: &Configuration) {
        // a trial of a log: the learner draws what it drew then, with those that were not allowed
        if self.proposed != Some(trial) {
            self.propose_allowed(trial, &|drawn| drawn == configuration);
        }
    }

    fn learn(&mut self, trial: u64, configuration: &Configuration, worth: Worth) {
        let Some(network) = network_of(configuration) else { return };
        let reward = if worth.measured {
            Reward::from_measured(worth.score)
        } else {
            Reward::from_forecast(worth.score)
        };
        // a network from outside the space can only be in a log that was edited: there is nothing to learn from it
        let _ = self.learner.tell(&network, reward, &mut replay_stream(self.seed, trial));
    }

    fn observe_failure(&mut self, _trial: u64, configuration: &Configuration) {
        if let Some(network) = network_of(configuration) {
            // not waiting for a result: then it has one, which stands
            let _ = self.learner.discard_proposal(&network);
        }
    }

    fn learned_state(&self) -> Option<Json> {
        Some(json!(self.learner))
    }
}

//! MetaQNN's Q-learning: networks sampled layer by layer, ever more often by the rewards of trained networks.

use super::error::QLearningError;
use super::reward::{ReplayEntry, Reward};
use super::settings::QLearning;
use crate::layer_space::{Action, LayerSpace, State, StateKey, Trajectory};
use rand::{Rng, RngExt};
use serde::Serialize;
use std::collections::BTreeMap;

/// The fate of a network that was proposed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
enum ProposalOutcome {
    /// Waits for a result.
    Open,
    /// Could not be trained and does not count.
    Discarded,
    /// Has a result.
    Told(Reward),
}

/// Q(state, action) where it was updated.
type QTable = BTreeMap<StateKey, BTreeMap<Action, f64>>;

/// Q-learning over a [`LayerSpace`]: `propose` a network, train it, `tell` what it was worth.
///
/// A network is drawn layer by layer: with probability ε uniformly from the actions, otherwise one of those with the
/// largest Q, ties broken at random. After each result, `replay_number` entries of the replay list, drawn uniformly
/// with replacement, are updated *backwards*: first the step into the softmax, then the steps before it,
///
/// Q(s,a) ← Q(s,a) + α·(r − Q(s,a)) for the last step,  Q(s,a) ← Q(s,a) + α·(γ·max_b Q(s′,b) − Q(s,a)) before it.
///
/// A network drawn again is not trained again: its known result is appended to the replay list once more, the replay
/// runs, and another one is drawn. One that is still waiting for its result, or was discarded, is just drawn again.
/// The reward may be measured or forecast; each entry of the replay list says which. In a small space at low ε such
/// repeats crowd the replay list and slow the learning of what is new; that is the published procedure.
///
/// A state knows its depth, its last layer and the bucket of its image side, not the layers before: the value of a step
/// is an average over the networks that share it.
///
/// ε counts networks when they are proposed, so that its schedule does not depend on how many train at a time.
///
/// Cost of a result: `replay_number` × layers × actions, a few thousand table look-ups each; memory grows by one trajectory per result.
///
/// Source: Baker, Gupta, Naik & Raskar, ICLR 2017, algorithms 1 to 3, and its released `q_learner.py`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(into = "Stored")]
pub(crate) struct QLearner {
    space: LayerSpace,
    settings: QLearning,
    table: QTable,
    replay: Vec<ReplayEntry>,
    fates: BTreeMap<Trajectory, ProposalOutcome>,
}

impl QLearner {
    /// A learner that knows nothing.
    ///
    /// # Errors
    /// [`QLearningError::Space`] and [`QLearningError::Setting`], from the two descriptions' `validate`.
    pub(crate) fn new(space: LayerSpace, settings: QLearning) -> Result<Self, QLearningError> {
        space.validate()?;
        settings.validate()?;
        Ok(Self { space, settings, table: QTable::new(), replay: Vec::new(), fates: BTreeMap::new() })
    }

    /// The space of networks.
    pub(crate) fn space(&self) -> &LayerSpace {
        &self.space
    }

    /// The number of unique networks that were proposed or reported, discarded ones not counted.
    pub(crate) fn count_models(&self) -> u64 {
        self.fates.values().filter(|&&fate| fate != ProposalOutcome::Discarded).count() as u64
    }

    /// ε of the next proposal.
    pub(crate) fn epsilon(&self) -> f64 {
        self.settings.schedule.epsilon_after(self.count_models())
    }

    /// Q(state, action).
    pub(crate) fn q_value(&self, state: &State, action: &Action) -> f64 {
        let row = self.table.get(&self.space.state_key(state));
        row.and_then(|row| row.get(action)).copied().unwrap_or(self.settings.initial_value)
    }

    /// The next network to train: one that was never proposed before.
    ///
    /// # Errors
    /// [`QLearningError::Exhausted`] after 1 + `redraws` networks that were proposed before.
    pub(crate) fn propose(&mut self, rng: &mut impl Rng) -> Result<Trajectory, QLearningError> {
        let epsilon = self.epsilon();
        for _ in 0..=self.settings.redraws {
            let trajectory = self.draw_network(epsilon, rng);
            match self.fates.get(&trajectory) {
                None => {
                    self.fates.insert(trajectory.clone(), ProposalOutcome::Open);
                    return Ok(trajectory);
                }
                Some(&ProposalOutcome::Told(reward)) => {
                    self.append_and_replay(ReplayEntry { trajectory, reward }, rng)
                }
                Some(ProposalOutcome::Open | ProposalOutcome::Discarded) => {}
            }
        }
        Err(QLearningError::Exhausted { draws: self.settings.redraws + 1 })
    }

    /// Takes the result of a network and replays. Networks that were never proposed are welcome (results of an
    /// earlier study) and count as models; a second result replaces the first as the one known.
    ///
    /// # Errors
    /// [`QLearningError::Reward`] if it is not finite, [`QLearningError::Space`] if the network is not in the space.
    pub(crate) fn tell(
        &mut self,
        trajectory: &Trajectory,
        reward: Reward,
        rng: &mut impl Rng,
    ) -> Result<(), QLearningError> {
        if !reward.value.is_finite() {
            return Err(QLearningError::Reward { network: trajectory.to_string(), value: reward.value });
        }
        self.space.states_along(trajectory)?;
        self.fates.insert(trajectory.clone(), ProposalOutcome::Told(reward));
        self.append_and_replay(ReplayEntry { trajectory: trajectory.clone(), reward }, rng);
        Ok(())
    }

    /// Gives up a proposed network that cannot be trained (for example out of memory): it is neither a model nor proposed again.
    ///
    /// # Errors
    /// [`QLearningError::NotOpen`] if it is not waiting for a result.
    pub(crate) fn discard_proposal(&mut self, trajectory: &Trajectory) -> Result<(), QLearningError> {
        match self.fates.get_mut(trajectory) {
            Some(fate @ ProposalOutcome::Open) => *fate = ProposalOutcome::Discarded,
            _ => return Err(QLearningError::NotOpen { network: trajectory.to_string() }),
        }
        Ok(())
    }

    /// Draws a network ε-greedily.
    fn draw_network(&self, epsilon: f64, rng: &mut impl Rng) -> Trajectory {
        self.space.walk_to_softmax(|state, actions| {
            if rng.random::<f64>() < epsilon {
                return rng.random_range(0..actions.len());
            }
            let best = self.best_q_value(state, actions);
            let ties: Vec<usize> = (0..actions.len())
                .filter(|&index| self.q_value(state, &actions[index]).total_cmp(&best).is_eq())
                .collect();
            ties[rng.random_range(0..ties.len())]
        })
    }

    /// max over `actions` of Q(state, action).
    fn best_q_value(&self, state: &State, actions: &[Action]) -> f64 {
        let row = self.table.get(&self.space.state_key(state));
        let values = actions.iter().map(|action| row.and_then(|row| row.get(action)).copied());
        values.map(|value| value.unwrap_or(self.settings.initial_value)).fold(f64::NEG_INFINITY, f64::max)
    }

    /// Appends `entry` to the replay list, and replays.
    fn append_and_replay(&mut self, entry: ReplayEntry, rng: &mut impl Rng) {
        self.replay.push(entry);
        for _ in 0..self.settings.replay_number {
            let ReplayEntry { trajectory, reward } =
                self.replay[rng.random_range(0..self.replay.len())].clone();
            self.update_values(&trajectory, reward.value);
        }
    }

    /// Updates the values along `trajectory`, which lies in the space, from its end to its start.
    fn update_values(&mut self, trajectory: &Trajectory, reward: f64) {
        let states = self.space.known_states_along(trajectory);
        let QLearning { learning_rate, discount, initial_value, .. } = self.settings;
        let mut target = reward;
        for (state, &action) in states.iter().zip(trajectory.layers()).rev() {
            let row = self.table.entry(self.space.state_key(state)).or_default();
            let value = row.entry(action).or_insert(initial_value);
            *value += learning_rate * (target - *value);
            // after the update, so that the layer before learns from the new value of this state
            target = discount * self.best_q_value(state, &self.space.actions_after(state));
        }
    }
}

/// A [`QLearner`] as it is written down: the table by texts.
#[derive(Serialize)]
struct Stored {
    space: LayerSpace,
    settings: QLearning,
    table: BTreeMap<String, BTreeMap<String, f64>>,
    replay: Vec<ReplayEntry>,
    fates: BTreeMap<Trajectory, ProposalOutcome>,
}

impl From<QLearner> for Stored {
    fn from(learner: QLearner) -> Self {
        let QLearner { space, settings, table, replay, fates } = learner;
        let table = table.into_iter().map(|(key, values)| {
            (key.to_string(), values.iter().map(|(action, q)| (action.to_string(), *q)).collect())
        });
        Self { space, settings, table: table.collect(), replay, fates }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::q_learning::sampler::replay_stream;
    use crate::q_learning::{EpsilonSchedule, EpsilonStage};
    use foretell::Layer;
    use foretell_search::trial_stream;

    fn trajectory(text: &str) -> Trajectory {
        text.parse().unwrap()
    }

    /// Image 4×4 and at most two layers before the softmax.
    fn small_space() -> LayerSpace {
        LayerSpace {
            height: 4,
            width: 4,
            filters: vec![4, 8],
            kernels: vec![1, 3],
            fully_connected: vec![8],
            max_depth: 2,
            ..LayerSpace::default()
        }
    }

    /// SM; GAP, SM; FC, SM.
    fn three_networks() -> LayerSpace {
        LayerSpace { filters: vec![], max_fully_connected: 1, ..small_space() }
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-12
    }

    #[test]
    fn values_along_a_trajectory_are_those_computed_by_hand() {
        let settings = QLearning { learning_rate: 0.5, replay_number: 1, ..QLearning::default() };
        let mut learner = QLearner::new(small_space(), settings).unwrap();
        let network = trajectory("[C(4,3,1), C(8,1,1), SM(10)]");
        let states = learner.space.states_along(&network).unwrap();
        let values = |learner: &QLearner| -> Vec<f64> {
            states
                .iter()
                .zip(network.layers())
                .map(|(state, action)| learner.q_value(state, action))
                .collect()
        };
        let mut tell = |reward, expected: [f64; 3]| {
            // one entry replayed of a list whose entries are alike, or of one
            learner.replay.clear();
            learner.tell(&network, Reward::from_measured(reward), &mut trial_stream(0, 0)).unwrap();
            let found = values(&learner);
            assert!(found.iter().zip(expected).all(|(a, b)| close(*a, b)), "{reward}: {found:?}");
        };
        // backwards: ½ + ½(1 − ½) = ¾; ½ + ½(¾ − ½) = ⅝; ½ + ½(⅝ − ½) = 9/16
        tell(1.0, [0.5625, 0.625, 0.75]);
        // ¾ + ½(1 − ¾) = ⅞; ⅝ + ½(⅞ − ⅝) = ¾; 9/16 + ½(¾ − 9/16) = 21/32
        tell(1.0, [0.65625, 0.75, 0.875]);
        // ⅞ + ½(−1 − ⅞) = −1/16; at the depth limit only the softmax may follow, so ¾ + ½(−1/16 − ¾) = 11/32;
        // but other second layers are still worth ½: 21/32 + ½(½ − 21/32) = 37/64
        tell(-1.0, [0.578125, 0.34375, -0.0625]);
    }

    #[test]
    fn the_papers_learning_rate_moves_by_a_hundredth() {
        let settings = QLearning { replay_number: 1, ..QLearning::default() };
        let mut learner = QLearner::new(small_space(), settings).unwrap();
        let network = trajectory("[SM(10)]");
        learner.tell(&network, Reward::from_measured(0.9), &mut trial_stream(0, 0)).unwrap();
        let value = learner.q_value(&learner.space.start_state(), &network.layers()[0]);
        assert!(close(value, 0.504), "0.5 + 0.01·(0.9 − 0.5), but {value}");
    }

    #[test]
    fn a_known_network_is_replayed_instead_of_proposed() {
        let settings = QLearning { redraws: 50, replay_number: 2, ..QLearning::default() };
        let mut learner = QLearner::new(three_networks(), settings).unwrap();
        let proposed: Vec<Trajectory> =
            (0..3).map(|trial| learner.propose(&mut trial_stream(1, trial)).unwrap()).collect();
        let unique: std::collections::BTreeSet<_> = proposed.iter().collect();
        assert_eq!((unique.len(), learner.count_models()), (3, 3));
        // all three wait for their results: nothing to replay
        assert_eq!(learner.propose(&mut trial_stream(1, 3)), Err(QLearningError::Exhausted { draws: 51 }));
        assert!(learner.replay.is_empty());
        learner.tell(&proposed[0], Reward::from_measured(0.7), &mut replay_stream(1, 0)).unwrap();
        learner.tell(&proposed[1], Reward::from_forecast(0.6), &mut replay_stream(1, 1)).unwrap();
        learner.discard_proposal(&proposed[2]).unwrap();
        assert_eq!(learner.count_models(), 2);
        assert!(learner.discard_proposal(&proposed[0]).is_err());
        // now each draw of the first two appends its result once more, with its kind
        assert!(learner.propose(&mut trial_stream(1, 3)).is_err());
        assert!(learner.replay.len() > 10, "{}", learner.replay.len());
        for entry in &learner.replay {
            let measured = entry.trajectory == proposed[0];
            let expected = if measured { Reward::from_measured(0.7) } else { Reward::from_forecast(0.6) };
            assert_eq!(entry.reward, expected);
            assert_ne!(entry.trajectory, proposed[2]);
        }
    }

    /// 0.5 + 0.1 for each 3×3 convolution of 8 filters, + 0.05 for a fully connected layer.
    fn worth(trajectory: &Trajectory) -> f64 {
        let worths = trajectory.layers().iter().map(|layer| match layer {
            Layer::Convolution { filters: 8, kernel: 3, .. } => 0.1,
            Layer::FullyConnected { .. } => 0.05,
            _ => 0.0,
        });
        0.5 + worths.sum::<f64>()
    }

    /// 0.4 + 0.1 a layer, and 0.1 more if the softmax follows a 3×3 convolution of 8 filters: known from the last
    /// state alone, so that the values can be exact. The best are worth 0.8 in the small space.
    fn last_worth(trajectory: &Trajectory) -> f64 {
        let layers = trajectory.layers();
        let before = layers.iter().rev().nth(1);
        let liked = matches!(before, Some(Layer::Convolution { filters: 8, kernel: 3, .. }));
        0.4 + 0.1 * (layers.len() + usize::from(liked)) as f64
    }

    #[test]
    fn the_best_network_of_a_small_space_is_found_and_believed_in() {
        // at ε = 1 until the space is spent; the replays of the repeated draws let the values settle
        let settings = QLearning { learning_rate: 0.1, redraws: 200, ..QLearning::default() };
        for seed in 0..5 {
            let mut learner = QLearner::new(small_space(), settings.clone()).unwrap();
            let mut trial = 0;
            while let Ok(network) = learner.propose(&mut trial_stream(seed, trial)) {
                let reward = Reward::from_measured(last_worth(&network));
                learner.tell(&network, reward, &mut replay_stream(seed, trial)).unwrap();
                trial += 1;
            }
            assert_eq!(trial, 40, "4·(4 C, GAP, 2 P, FC or nothing before SM) + SM, GAP, FC, FC FC");
            let believed = learner.draw_network(0.0, &mut trial_stream(seed, trial));
            assert!(close(last_worth(&believed), 0.8), "seed {seed}: {believed}");
            let start = learner.space.start_state();
            let value = learner.q_value(&start, &believed.layers()[0]);
            assert!((value - 0.8).abs() < 0.01, "seed {seed}: {value}");
        }
    }

    #[test]
    fn proposals_get_better_as_epsilon_falls() {
        // deep enough that networks hardly repeat; 10 seeds, the share at ε ≤ 0.4 against the one at ε = 1
        let space = LayerSpace { height: 8, width: 8, max_depth: 5, ..small_space() };
        let schedule = EpsilonSchedule::default().scale_to(100);
        let settings = QLearning { learning_rate: 0.1, schedule, replay_number: 64, ..QLearning::default() };
        let gains = (0..10).map(|seed| {
            let mut learner = QLearner::new(space.clone(), settings.clone()).unwrap();
            let mut worths = Vec::new();
            for trial in 0..100 {
                let network = learner.propose(&mut trial_stream(seed, trial)).unwrap();
                let reward = Reward::from_measured(worth(&network));
                worths.push(reward.value);
                learner.tell(&network, reward, &mut replay_stream(seed, trial)).unwrap();
            }
            let [late, early] =
                [&worths[80..], &worths[..55]].map(|worths| worths.iter().sum::<f64>() / worths.len() as f64);
            late - early
        });
        let gains: Vec<f64> = gains.collect();
        let mean = gains.iter().sum::<f64>() / 10.0;
        let variance = gains.iter().map(|gain| (gain - mean).powi(2)).sum::<f64>() / 9.0;
        assert!(mean > 3.0 * (variance / 10.0).sqrt() && mean > 0.02, "{gains:?}");
    }

    #[test]
    fn mistakes_are_refused_with_their_reason() {
        let with = |settings| QLearner::new(small_space(), settings).unwrap_err().to_string();
        let default = QLearning::default();
        assert!(with(QLearning { learning_rate: 0.0, ..default.clone() }).contains("learning_rate = 0"));
        assert!(with(QLearning { discount: f64::NAN, ..default.clone() }).contains("discount = NaN"));
        let stages = vec![EpsilonStage { epsilon: 1.5, models: 3 }];
        assert!(
            with(QLearning { schedule: EpsilonSchedule { stages }, ..default }).contains("epsilon = 1.5")
        );
        let mut learner = QLearner::new(small_space(), QLearning::default()).unwrap();
        let untouched = learner.clone();
        let mut rng = trial_stream(0, 0);
        for (network, value, expected) in [
            ("[SM(10)]", f64::NAN, "the reward of [SM(10)] is NaN"),
            ("[C(64,3,1), SM(10)]", 0.5, "layer 1, C(64,3,1), cannot follow state 0:start@4"),
            ("[SM(3)]", 0.5, "layer 1, SM(3), cannot follow"),
        ] {
            let error =
                learner.tell(&trajectory(network), Reward::from_measured(value), &mut rng).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
        }
        assert_eq!(learner, untouched);
    }
}

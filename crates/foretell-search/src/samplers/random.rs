//! Random search, and the random streams that every sampler draws from.

use crate::layer_space::{LayerSpace, Trajectory};
use crate::parameter_space::ParameterSpace;
use foretell::Configuration;
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The random stream of trial number `trial`: ChaCha8 with the study's seed as key and the trial's own stream number. The values
/// of a trial depend neither on other trials nor on the timing of workers.
///
/// ```
/// # use foretell_search::trial_stream;
/// # use rand::RngExt;
/// let draw = |seed, trial| trial_stream(seed, trial).random::<u64>();
/// assert_eq!(draw(1, 5), draw(1, 5));
/// assert_ne!(draw(1, 5), draw(1, 6));
/// ```
pub fn trial_stream(study_seed: u64, trial: u64) -> ChaCha8Rng {
    let mut stream = ChaCha8Rng::seed_from_u64(study_seed);
    stream.set_stream(trial);
    stream
}

/// The seed that the training process of trial number `trial` is given: from a stream of its own (the trial's stream
/// number with the highest bit flipped), so that it is independent of the configuration drawn.
///
/// 32 bits, because that is what the common training libraries take.
pub(crate) fn trial_seed(study_seed: u64, trial: u64) -> u32 {
    trial_stream(study_seed, trial ^ (1 << 63)).next_u32()
}

/// The random stream from which the replay after the result of trial number `trial` is drawn (see
/// [`QLearner::tell`](crate::QLearner::tell)): the trial's stream number with the second highest bit flipped.
pub fn replay_stream(study_seed: u64, trial: u64) -> ChaCha8Rng {
    trial_stream(study_seed, trial ^ (1 << 62))
}

/// Whether trial number `trial` is one of the `share` of trials that is never stopped: from a stream of its own (the
/// trial's stream number with the third highest bit flipped), whatever else is drawn.
pub(crate) fn is_exempt(study_seed: u64, trial: u64, share: f64) -> bool {
    share > 0.0 && trial_stream(study_seed, trial ^ (1 << 61)).random::<f64>() < share
}

/// Random search: each configuration is sampled independently.
///
/// | field           | meaning                                                            | default |
/// |-----------------|--------------------------------------------------------------------|---------|
/// | `seed`          | the study's seed                                                   | 0       |
/// | `minimum_depth` | layers before the softmax that a drawn network has, if possible    | 2       |
/// | `redraws`       | how often what was proposed before is drawn again                  | 100     |
///
/// MetaQNN's own exploration (and the paper's random networks) is `minimum_depth: 0`. The default spares a small
/// search the one-layer networks: see [`LayerSpace::sample`] for what it excludes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RandomSampler {
    /// The study's seed.
    pub seed: u64,
    /// Layers before the softmax that a drawn network has, as far as the space allows.
    pub minimum_depth: usize,
    /// How often what was proposed before is drawn again.
    pub redraws: usize,
}

impl Default for RandomSampler {
    fn default() -> Self {
        Self { seed: 0, minimum_depth: 2, redraws: 100 }
    }
}

/// A network drawn at random.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RandomNetwork {
    /// The network.
    pub trajectory: Trajectory,
    /// Whether it was proposed before: then the space has hardly a network left that was not.
    pub repeated: bool,
}

impl RandomSampler {
    /// The configuration of trial number `trial`, drawn until `is_new` holds for it, at most 1 + `redraws` times; after that the last
    /// one drawn: a space of few choices is spent, and a repeat has a seed of its own.
    ///
    /// It depends on the seed, the trial's number and `is_new`; in a space with a real number in it on the first two alone.
    pub fn configuration(
        &self,
        space: &ParameterSpace,
        trial: u64,
        is_new: impl Fn(&Configuration) -> bool,
    ) -> Configuration {
        let mut rng = trial_stream(self.seed, trial);
        self.draw(|| space.sample(&mut rng), is_new)
    }

    /// The network of trial number `trial`, drawn until it is none of those `proposed` before, at most
    /// 1 + `redraws` times; after that the last one drawn, marked as repeated.
    ///
    /// It depends on the seed, the trial's number and `proposed`; with trials proposed in the order of their numbers,
    /// on the seed alone.
    pub fn network(&self, space: &LayerSpace, trial: u64, proposed: &BTreeSet<Trajectory>) -> RandomNetwork {
        let mut rng = trial_stream(self.seed, trial);
        let trajectory =
            self.draw(|| space.sample(self.minimum_depth, &mut rng), |drawn| !proposed.contains(drawn));
        let repeated = proposed.contains(&trajectory);
        RandomNetwork { trajectory, repeated }
    }

    pub(super) fn draw<T>(&self, mut draw: impl FnMut() -> T, is_new: impl Fn(&T) -> bool) -> T {
        let mut drawn = draw();
        for _ in 0..self.redraws {
            if is_new(&drawn) {
                break;
            }
            drawn = draw();
        }
        drawn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_seed_and_by_trial() {
        let mut draws = BTreeSet::new();
        for seed in 0..20 {
            for trial in 0..20 {
                draws.insert(trial_stream(seed, trial).random::<u64>());
                draws.insert(replay_stream(seed, trial).random::<u64>());
                draws.insert(u64::from(trial_seed(seed, trial)));
            }
        }
        assert_eq!(draws.len(), 1200);
    }

    #[test]
    fn the_streams_are_those_of_the_published_cipher() {
        // computed by another implementation of ChaCha8 (and of the PCG32 that expands the seed) from its definition
        for (seed, trial, draw, process) in [
            (0, 0, 13_080_132_717_333_068_652, 2_093_696_942),
            (7, 3, 3_348_856_302_973_006_449, 3_170_340_551),
        ] {
            assert_eq!(trial_stream(seed, trial).random::<u64>(), draw, "seed {seed}, trial {trial}");
            assert_eq!(trial_seed(seed, trial), process, "seed {seed}, trial {trial}");
        }
    }

    #[test]
    fn configurations_do_not_depend_on_the_order_they_are_asked_in() {
        let space = ParameterSpace::parse(&["lr=log:1e-4:1", "n=int:1:9"]).unwrap();
        let sampler = RandomSampler { seed: 4, ..RandomSampler::default() };
        let draw = |trial| sampler.configuration(&space, trial, |_| true);
        let forwards: Vec<_> = (0..10).map(draw).collect();
        let mut backwards: Vec<_> = (0..10).rev().map(draw).collect();
        backwards.reverse();
        assert_eq!(forwards, backwards);
    }

    #[test]
    fn networks_do_not_repeat_until_the_space_is_spent() {
        // a start, then SM; GAP and SM; FC and SM: three networks
        let space = LayerSpace {
            height: 4,
            width: 4,
            filters: vec![],
            fully_connected: vec![8],
            max_fully_connected: 1,
            ..LayerSpace::default()
        };
        let sampler = RandomSampler { minimum_depth: 0, ..RandomSampler::default() };
        let mut proposed = BTreeSet::new();
        for trial in 0..3 {
            let network = sampler.network(&space, trial, &proposed);
            assert!(!network.repeated, "trial {trial}");
            proposed.insert(network.trajectory);
        }
        assert_eq!(proposed.len(), 3);
        assert!(sampler.network(&space, 3, &proposed).repeated);
    }
}

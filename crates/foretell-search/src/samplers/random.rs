//! Random search, and the random streams that every sampler draws from.

use super::known::{text, untried};
use super::worth::Worth;
use super::{NamedSampler, Sampler, SamplerFamily};
use crate::parameter_space::ParameterSpace;
use crate::space::Space;
use foretell::Configuration;
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::Value as Json;
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

/// Whether trial number `trial` is one of the `share` of trials that is never stopped: from a stream of its own (the
/// trial's stream number with the third highest bit flipped), whatever else is drawn.
pub(crate) fn is_exempt(study_seed: u64, trial: u64, share: f64) -> bool {
    share > 0.0 && trial_stream(study_seed, trial ^ (1 << 61)).random::<f64>() < share
}

/// The maximum number of redraws if a configuration was proposed before.
const REDRAWS: usize = 100;

/// Random search: each configuration is sampled independently.
#[derive(Clone, Copy, Debug)]
pub(super) struct RandomSampler {
    /// The study's seed.
    pub(super) seed: u64,
}

impl RandomSampler {
    /// The configuration of trial number `trial`, drawn until `is_new` holds for it, at most 1 + [`REDRAWS`] times; after that the last
    /// one drawn: a space of few choices is spent, and a repeat has a seed of its own.
    ///
    /// It depends on the seed, the trial's number and `is_new`; in a space with a real number in it on the first two alone.
    pub(super) fn configuration(
        &self,
        space: &ParameterSpace,
        trial: u64,
        is_new: impl Fn(&Configuration) -> bool,
    ) -> Configuration {
        let mut rng = trial_stream(self.seed, trial);
        self.draw(|| space.sample(&mut rng), is_new)
    }

    pub(super) fn draw<T>(&self, mut draw: impl FnMut() -> T, is_new: impl Fn(&T) -> bool) -> T {
        let mut drawn = draw();
        for _ in 0..REDRAWS {
            if is_new(&drawn) {
                break;
            }
            drawn = draw();
        }
        drawn
    }
}

/// Every configuration independently.
#[derive(Clone, Copy, Debug, Default)]
pub struct RandomSampling;

impl NamedSampler for RandomSampling {
    const NAME: &'static str = "random";
    const ABOUT: &'static str = "Sample each configuration independently.";
}

impl SamplerFamily for RandomSampling {
    fn sampler(&self, _: &Json, space: &Space, seed: u64) -> Result<Box<dyn Sampler>, String> {
        Ok(Box::new(RandomSearch::new(space.clone(), seed)))
    }
}

/// Random search in any [`Space`].
#[derive(Clone, Debug)]
struct RandomSearch {
    space: Space,
    sampler: RandomSampler,
    /// The configurations proposed, each as a text.
    proposed: BTreeSet<String>,
}

impl RandomSearch {
    fn new(space: Space, seed: u64) -> Self {
        Self { space, sampler: RandomSampler { seed }, proposed: BTreeSet::new() }
    }
}

impl Sampler for RandomSearch {
    fn propose(&mut self, trial: u64) -> Option<Configuration> {
        match &self.space {
            Space::Parameters(space) => {
                let is_new =
                    |drawn: &Configuration| text(drawn).is_none_or(|text| !self.proposed.contains(&text));
                let drawn = self.sampler.configuration(space, trial, is_new);
                if is_new(&drawn) { Some(drawn) } else { untried(space, is_new, drawn) }
            }
            Space::Own(part) => {
                let space = part.made()?;
                let is_new = |drawn: &Configuration| {
                    space.identity(drawn).is_none_or(|text| !self.proposed.contains(&text))
                };
                let mut rng = trial_stream(self.sampler.seed, trial);
                Some(self.sampler.draw(|| space.sample(&mut rng), is_new))
            }
        }
    }

    fn started(&mut self, _trial: u64, configuration: &Configuration) {
        self.proposed.extend(match &self.space {
            Space::Parameters(_) => text(configuration),
            Space::Own(part) => part.made().and_then(|space| space.identity(configuration)),
        });
    }

    fn learn(&mut self, _trial: u64, _configuration: &Configuration, _worth: Worth) {}

    fn failed(&mut self, _trial: u64, _configuration: &Configuration) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn streams_differ_by_seed_and_by_trial() {
        let mut draws = BTreeSet::new();
        for seed in 0..20 {
            for trial in 0..20 {
                draws.insert(trial_stream(seed, trial).random::<u64>());
                draws.insert(trial_stream(seed, trial ^ (1 << 62)).random::<u64>());
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
        let sampler = RandomSampler { seed: 4 };
        let draw = |trial| sampler.configuration(&space, trial, |_| true);
        let forwards: Vec<_> = (0..10).map(draw).collect();
        let mut backwards: Vec<_> = (0..10).rev().map(draw).collect();
        backwards.reverse();
        assert_eq!(forwards, backwards);
    }
}

//! Random search, and the random streams that every sampler draws from.

use super::known::{find_untried, text};
use super::worth::Worth;
use super::{IsAllowed, NamedSampler, Sampler, SamplerFamily};
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
const MAX_REDRAWS: usize = 100;
/// The maximum number of draws until one is allowed. A study whose limits allow fewer than one in 1,000 is refused, so as many fail with
/// a probability of e⁻²⁰.
const MAX_DRAWS: usize = 20_000;

/// The first of what `draw` draws that `is_allowed` and `is_new`. If the first 1 + [`MAX_REDRAWS`] allowed ones were drawn before, the last of
/// them: a space of few choices is spent, and a repeat has a seed of its own. `None` if none is allowed.
pub(crate) fn draw_allowed<T>(
    mut draw: impl FnMut() -> T,
    is_allowed: impl Fn(&T) -> bool,
    is_new: impl Fn(&T) -> bool,
) -> Option<T> {
    let allowed = (0..MAX_DRAWS).map(|_| draw()).filter(|drawn| is_allowed(drawn));
    let mut repeated = None;
    for drawn in allowed.take(1 + MAX_REDRAWS) {
        if is_new(&drawn) {
            return Some(drawn);
        }
        repeated = Some(drawn);
    }
    repeated
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
    seed: u64,
    /// The configurations proposed, each as a text.
    proposed: BTreeSet<String>,
}

impl RandomSearch {
    fn new(space: Space, seed: u64) -> Self {
        Self { space, seed, proposed: BTreeSet::new() }
    }

    /// The text by which a repeated configuration is recognized.
    fn duplicate_key(&self, configuration: &Configuration) -> Option<String> {
        match &self.space {
            Space::Parameters(_) => text(configuration),
            Space::Own(part) => part.implementation().and_then(|space| space.duplicate_key(configuration)),
        }
    }

    fn is_new(&self, configuration: &Configuration) -> bool {
        self.duplicate_key(configuration).is_none_or(|key| !self.proposed.contains(&key))
    }
}

impl Sampler for RandomSearch {
    fn propose(&mut self, trial: u64) -> Option<Configuration> {
        self.propose_allowed(trial, &|_| true)
    }

    fn propose_allowed(&mut self, trial: u64, is_allowed: &IsAllowed<'_>) -> Option<Configuration> {
        let mut rng = trial_stream(self.seed, trial);
        match &self.space {
            Space::Parameters(space) => {
                let drawn = draw_allowed(|| space.sample(&mut rng), is_allowed, |drawn| self.is_new(drawn));
                // where draws find nothing new, a small space is gone through, so that none of it stays untried
                if drawn.as_ref().is_some_and(|drawn| self.is_new(drawn)) {
                    drawn
                } else {
                    find_untried(space, |listed| is_allowed(listed) && self.is_new(listed), drawn)
                }
            }
            Space::Own(part) => {
                let space = part.implementation()?;
                draw_allowed(|| space.sample(&mut rng), is_allowed, |drawn| self.is_new(drawn))
            }
        }
    }

    fn observe_start(&mut self, _trial: u64, configuration: &Configuration) {
        self.proposed.extend(self.duplicate_key(configuration));
    }

    fn learn(&mut self, _trial: u64, _configuration: &Configuration, _worth: Worth) {}

    fn observe_failure(&mut self, _trial: u64, _configuration: &Configuration) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameter_space::ParameterSpace;
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
        let space = Space::Parameters(ParameterSpace::parse(&["lr=log:1e-4:1", "n=int:1:9"]).unwrap());
        let mut sampler = RandomSearch::new(space, 4);
        let forwards: Vec<_> = (0..10).map(|trial| sampler.propose(trial)).collect();
        let mut backwards: Vec<_> = (0..10).rev().map(|trial| sampler.propose(trial)).collect();
        backwards.reverse();
        assert_eq!(forwards, backwards);
    }

    #[test]
    fn a_draw_is_allowed_or_there_is_none() {
        let mut next = 0;
        let mut count = || {
            next += 1;
            next
        };
        assert_eq!(draw_allowed(&mut count, |n| n % 1000 == 0, |_| true), Some(1000));
        assert_eq!(draw_allowed(&mut count, |n| n % 10 == 0, |_| false), Some(2010), "after 100 redraws");
        assert_eq!(draw_allowed(count, |_| false, |_| true), None);
    }
}

//! Samplers: which configuration is tried next.
//!
//! A new sampler of this crate is a file next to this one and its line in [`samplers`].

pub(crate) mod grid;
mod known;
mod model_based;
pub(crate) mod random;
mod spec;
pub(crate) mod surrogate;
pub(crate) mod worth;

pub use grid::GridSampling;
pub use model_based::{GpSampling, TpeGpSampling, TpeSampling};
pub(crate) use model_based::{front_sampler, parzen_sampler};
pub use random::RandomSampling;
pub use spec::SamplerSpec;

use crate::samplers::worth::Worth;
use crate::shelf::PartShelf;
use crate::space::Space;
use foretell::Configuration;
use serde_json::{Map, Value as Json};
use std::sync::Arc;

/// The samplers of this crate.
pub(crate) fn samplers() -> PartShelf<dyn SamplerFamily> {
    let mut shelf = PartShelf::new("sampler");
    add_sampler::<RandomSampling>(&mut shelf);
    add_sampler::<GridSampling>(&mut shelf);
    add_sampler::<TpeSampling>(&mut shelf);
    add_sampler::<GpSampling>(&mut shelf);
    add_sampler::<TpeGpSampling>(&mut shelf);
    shelf
}

/// Adds the samplers of the family `F` to the `shelf`.
fn add_sampler<F: NamedSampler>(shelf: &mut PartShelf<dyn SamplerFamily>) {
    shelf.add((F::NAME, F::ABOUT), &[], |given| match given {
        Json::Null => Ok((Arc::new(F::default()), Json::Null)),
        given => Err(format!("{given}: this sampler takes no settings. Leave them out")),
    });
}

/// Samplers that a catalogue knows by name.
pub trait NamedSampler: SamplerFamily + Default + 'static {
    /// Their name in requests and logs.
    const NAME: &'static str;
    /// What they do, in a sentence for help texts.
    const ABOUT: &'static str;
}

/// Whether a configuration may be tried.
pub type IsAllowed<'a> = dyn Fn(&Configuration) -> bool + 'a;

/// The most proposals that a sampler is asked for until one is allowed.
const MAX_PROPOSALS: usize = 1_000;

/// Proposes configurations. Proposals depend only on the seed and on the results received, so a study is restored by replaying its log.
pub trait Sampler: Send + Sync {
    /// The configuration of trial `trial`; `None` if the space is spent. Asked once a trial, in the order of their numbers; not
    /// asked for a trial that a log has already.
    fn propose(&mut self, trial: u64) -> Option<Configuration>;

    /// The configuration of trial `trial`, drawn until it `is_allowed` by the study's limits and by what ran out of memory; `None` if the
    /// space has none left. A sampler that draws from a region that it is told should override it: by default up to 1,000 proposals are
    /// asked for, and the last one is returned.
    fn propose_allowed(&mut self, trial: u64, is_allowed: &IsAllowed<'_>) -> Option<Configuration> {
        let mut proposed = self.propose(trial)?;
        for _ in 1..MAX_PROPOSALS {
            if is_allowed(&proposed) {
                break;
            }
            proposed = self.propose(trial)?;
        }
        Some(proposed)
    }

    /// Trial `trial` was started with this configuration: its proposal, or what a log has, or a user wants.
    fn observe_start(&mut self, trial: u64, configuration: &Configuration);

    /// Tells the worth of trial `trial`, each time that the trial reaches its planned epoch or is stopped.
    fn learn(&mut self, trial: u64, configuration: &Configuration, worth: Worth);

    /// Trial `trial` failed: it has no score.
    fn observe_failure(&mut self, trial: u64, configuration: &Configuration);

    /// The sampler's state as JSON, for people to read; `None` if it has none. A resumed study does not need it.
    fn learned_state(&self) -> Option<Json> {
        None
    }
}

/// Creates the samplers of one name.
pub trait SamplerFamily: Send + Sync {
    /// The settings of a sampler for a study of so many `trials`. `asked` are the fields of the request; `there` are the settings that an
    /// existing study has.
    fn settings(&self, asked: &Map<String, Json>, trials: u64, there: Option<&Json>) -> Json {
        let _ = (asked, trials, there);
        Json::Null
    }

    /// The fields of a request that correspond to `settings`; empty if the field `sampler` contains them.
    fn fields(&self, settings: &Json) -> Map<String, Json> {
        let _ = settings;
        Map::new()
    }

    /// Whether its samplers learn from a reward for each of their own proposals. Every trial then needs a final value or a forecast of it:
    /// there are no rungs, no repeats and no queued configurations, the number of trials is planned, and a formula can be the reward.
    fn is_rewarded(&self) -> bool {
        false
    }

    /// Whether its samplers learn from forecasts of trials that were not trained to their end.
    fn learns_from_forecasts(&self) -> bool {
        false
    }

    /// Whether its samplers propose trial `trial` by a Gaussian process, which with several objectives is told each of them.
    fn is_by_process(&self, trial: u64) -> bool {
        let _ = trial;
        false
    }

    /// The number of configurations of `space` that its samplers propose in all; `None` if they do not try all.
    fn combinations(&self, space: &Space) -> Option<u64> {
        let _ = space;
        None
    }

    /// Checks that there is a sampler of `space`.
    ///
    /// # Errors
    /// Why there is none, and what to do.
    fn check(&self, space: &Space) -> Result<(), String> {
        let _ = space;
        Ok(())
    }

    /// A description of a sampler with these `settings`, for `search --explain`.
    fn in_words(&self, settings: &Json) -> Option<String> {
        let _ = settings;
        None
    }

    /// The sampler of `space` with the study's `seed`.
    ///
    /// # Errors
    /// Why there is none.
    fn sampler(&self, settings: &Json, space: &Space, seed: u64) -> Result<Box<dyn Sampler>, String>;
}

impl<F> SamplerFamily for F
where
    F: Fn(&Json, &Space, u64) -> Result<Box<dyn Sampler>, String> + Send + Sync,
{
    fn sampler(&self, settings: &Json, space: &Space, seed: u64) -> Result<Box<dyn Sampler>, String> {
        self(settings, space, seed)
    }
}

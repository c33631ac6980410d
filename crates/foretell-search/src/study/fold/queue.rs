//! The configurations that were enqueued, in order.

use super::step::AppendRecord;
use crate::record::{EarlierTrial, Record};
use crate::samplers::random::{draw_allowed, trial_stream};
use crate::space::Space;
use crate::study::{Study, StudyError, StudySettings};
use foretell::Configuration;
use std::collections::{BTreeMap, BTreeSet};

/// The stream of a trial from which what an enqueued configuration leaves open is drawn, where the sampler says nothing.
const OPEN_VALUES_STREAM: u64 = 1 << 60;

/// The configurations that were enqueued: each new trial takes the next one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConfigurationQueue {
    all: Vec<Configuration>,
    taken: usize,
    /// The orders by which they came.
    orders: BTreeSet<String>,
    /// The trials of earlier studies that some of them repeat, by their places.
    repeated: BTreeMap<usize, EarlierTrial>,
}

impl ConfigurationQueue {
    pub(crate) fn new(all: Vec<Configuration>) -> Self {
        Self { all, ..Self::default() }
    }

    /// All configurations that were enqueued so far.
    pub fn all(&self) -> &[Configuration] {
        &self.all
    }

    /// Those that no trial has taken yet.
    pub fn waiting(&self) -> &[Configuration] {
        &self.all[self.taken..]
    }

    /// Whether this order is carried out.
    fn has(&self, order: Option<&String>) -> bool {
        order.is_some_and(|order| self.orders.contains(order))
    }

    /// The number of configurations that people enqueued.
    pub(super) fn by_people(&self) -> usize {
        self.all.len() - self.repeated.len()
    }

    /// The trials of earlier studies that are tried again.
    pub(super) fn repeated_trials(&self) -> impl ExactSizeIterator<Item = &EarlierTrial> {
        self.repeated.values()
    }

    pub(super) fn push(
        &mut self,
        configuration: &Configuration,
        order: Option<&String>,
        earlier: Option<&EarlierTrial>,
    ) {
        self.repeated.extend(earlier.map(|earlier| (self.all.len(), earlier.clone())));
        self.all.push(configuration.clone());
        self.orders.extend(order.cloned());
    }

    /// A new trial begins: it has taken the next one, if there is any. The trial of an earlier study that it repeats.
    pub(super) fn take(&mut self) -> Option<EarlierTrial> {
        let earlier = self.repeated.get(&self.taken).cloned();
        self.taken = (self.taken + 1).min(self.all.len());
        earlier
    }

    /// The surplus of `wanted` over the enqueued: each configuration as often as it is there more often.
    pub(crate) fn missing(&self, wanted: Vec<Configuration>) -> Vec<Configuration> {
        let mut there = self.all.clone();
        let mut missing = wanted;
        missing.retain(|it| match there.iter().position(|known| known == it) {
            Some(place) => {
                there.swap_remove(place);
                false
            }
            None => true,
        });
        missing
    }
}

impl Study {
    /// The configurations that people want tried next.
    pub fn queue(&self) -> &ConfigurationQueue {
        &self.queue
    }

    /// Checks that `configuration`, which may name only some parameters, can be enqueued.
    ///
    /// # Errors
    /// [`StudyError`] if it is not in the space, the sampler draws every trial itself, or the plan has no place for a further trial.
    pub fn check_enqueue(&self, configuration: &Configuration) -> Result<(), StudyError> {
        self.spec.check_queued(configuration)?;
        let all = self.trials.len() + self.queue.waiting().len();
        let is_full = all as u64 >= self.settings.trials && !self.spec.schedule.takes_more_trials();
        if is_full { Err(StudyError::NoRoom { trials: self.settings.trials }) } else { Ok(()) }
    }

    /// Enqueues `configuration`: the next new trial has it, and where it names only some parameters the sampler chooses the rest. Where
    /// all trials are started, or spoken for, there is one more. The same `order` twice changes nothing.
    ///
    /// # Errors
    /// The error of `append`; enqueue the same again.
    pub(crate) fn enqueue<E>(
        &mut self,
        configuration: Configuration,
        order: Option<String>,
        append: &mut AppendRecord<'_, E>,
    ) -> Result<(), E> {
        // a start that could not be stored has its configuration already, so it must come before this one
        self.retry_start(append)?;
        if !self.queue.has(order.as_ref()) {
            self.emit(Record::Enqueued { configuration, order, earlier: None }, append)?;
        }
        let needed = (self.trials.len() + self.queue.waiting().len()) as u64;
        if needed <= self.settings.trials || !self.spec.schedule.takes_more_trials() {
            return Ok(());
        }
        self.change_settings(StudySettings { trials: needed, ..self.settings.clone() }, append)
    }

    /// The configuration enqueued for the new trial number `trial`, completed by the sampler's proposal.
    pub(super) fn enqueued_for(&mut self, trial: u64) -> Option<Configuration> {
        let given = self.queue.waiting().first()?.clone();
        let Space::Parameters(space) = &self.spec.space else { return Some(given) };
        let implied = space.with_implied_values(&given);
        if space.check_configuration(&implied).is_ok() {
            return Some(implied);
        }
        let space = space.clone();
        let mut rng = trial_stream(self.spec.seed, trial ^ OPEN_VALUES_STREAM);
        let proposed = self.allowed_proposal(trial).unwrap_or_default();
        let first = space.complete_configuration(&given, &proposed, &mut rng);
        if self.spec.allows(&first) {
            return Some(first);
        }
        // the proposal keeps the limits only with values that the user has chosen otherwise
        let nothing = Configuration::new();
        let allowed = draw_allowed(
            || space.complete_configuration(&given, &nothing, &mut rng),
            |whole| self.spec.allows(whole),
            |_| true,
        );
        allowed.or(Some(first))
    }
}

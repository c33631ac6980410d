//! The orders of a person about a running trial.

use super::step::AppendRecord;
use crate::record::{Decision, Reason, Record};
use crate::study::Study;
use foretell::Action;

/// A manual order about a running trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ManualOrder {
    /// The trial is stopped, for good: no scheduler promotes it. It counts with its last forecast, or else its last value.
    Stop,
    /// No policy stops it from now on. A training that diverges still ends.
    Keep,
}

impl Study {
    /// Carries out a person's order about `trial`: one decision is recorded, unless it is kept already. Returns the decision;
    /// `None` if the trial does not run, or was kept before.
    ///
    /// # Errors
    /// The error of `append`; nothing has changed.
    pub fn by_hand<E>(
        &mut self,
        trial: u64,
        order: ManualOrder,
        append: &mut AppendRecord<'_, E>,
    ) -> Result<Option<Decision>, E> {
        self.retry_start(append)?;
        let Some(judged) = self.trial(trial).filter(|trial| trial.is_open()) else { return Ok(None) };
        if order == ManualOrder::Keep && judged.kept {
            return Ok(None);
        }
        let (action, reason) = match order {
            ManualOrder::Stop => (Action::Stop, Reason::ByHand),
            ManualOrder::Keep => (Action::Continue, Reason::Kept),
        };
        let known = judged.decision.as_ref();
        let last = judged.curve.last_point().map(|(_, score)| self.spec.direction.to_value(score));
        let decision = Decision {
            trial,
            step: judged.step,
            action,
            reason,
            forecast: known.and_then(|decision| decision.forecast),
            value: last.filter(|value| value.is_finite()),
            incumbent: known.and_then(|decision| decision.incumbent),
            probability: known.and_then(|decision| decision.probability),
            chance: known.and_then(|decision| decision.chance),
            shadow: false,
        };
        self.emit(Record::Decided(decision.clone()), append)?;
        self.measure_resource(Some(trial), append)?;
        Ok(Some(decision))
    }
}

//! Running totals of a study, so that no event needs a look at all its trials.

use super::best::Tally;
use super::repeats::{RepeatGroup, RepeatGroups};
use crate::study::{StudySpec, Trial, TrialState};
use std::cmp::Ordering;
use std::collections::BTreeSet;

/// The progress of a study.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StudyProgress {
    /// Trials by state.
    pub trials: Tally,
    /// Epochs trained and recorded, failed attempts included.
    pub spent: u64,
    /// Whether any trial has reported.
    pub has_reports: bool,
    /// The trials that count, the best first; of equal ones the lowest number.
    leaders: BTreeSet<LeadingTrial>,
    /// The trials of each configuration, where there are repeats.
    repeats: RepeatGroups,
    /// The number of trials that had ended when the best score was reached, and that score.
    improved: Option<(u64, f64)>,
}

impl StudyProgress {
    /// The number of trials that have ended since one was the best so far.
    pub fn without_improvement(&self) -> u64 {
        self.improved.map_or(0, |(at, _)| self.trials.ended_count().saturating_sub(at))
    }

    /// A trial has ended: notes whether it is the best so far.
    pub(in crate::study) fn note_improvement(&mut self) {
        let Some((_, score)) = self.leader() else { return };
        if self.improved.is_none_or(|(_, best)| score > best) {
            self.improved = Some((self.trials.ended_count(), score));
        }
    }

    /// A trial of a study with several objectives has ended: notes whether it joined the front.
    pub(in crate::study) fn note_front(&mut self, joined: bool) {
        if joined {
            // a front has no best score, so nothing is ever compared with this 0
            self.improved = Some((self.trials.ended_count(), 0.0));
        }
    }

    /// The best trial's number and score (larger is better).
    pub(in crate::study) fn leader(&self) -> Option<(usize, f64)> {
        self.leaders.first().map(|leader| (leader.trial, leader.score))
    }

    /// The trials that count with their scores (larger is better), the best first. A configuration that is trained repeatedly counts once,
    /// with its mean, and after those that have all their repeats.
    pub(in crate::study) fn leaders(&self) -> impl Iterator<Item = (usize, f64)> {
        self.leaders.iter().map(|leader| (leader.trial, leader.score))
    }

    /// The trials of each configuration.
    pub(in crate::study) fn repeats(&self) -> &RepeatGroups {
        &self.repeats
    }

    /// The trial whose configuration is to be trained with a further seed.
    pub(in crate::study) fn repeat_due(&self, spec: &StudySpec) -> Option<usize> {
        let rival =
            |group: &RepeatGroup| self.leaders().find(|leader| !group.has(leader.0)).map(|leader| leader.1);
        self.repeats.due(spec, rival)
    }

    /// Changes the group of `trial`, and who leads it.
    fn update_group(&mut self, trial: &Trial, spec: &StudySpec, change: impl FnOnce(&mut RepeatGroup)) {
        let group = self.repeats.group_mut(&trial.configuration);
        let leader = |group: &RepeatGroup| {
            let (trial, score) = group.result()?;
            Some(LeadingTrial { is_whole: group.is_whole(spec.repeats()), score, trial })
        };
        if let Some(before) = leader(group) {
            self.leaders.remove(&before);
        }
        change(group);
        self.leaders.extend(leader(group));
    }

    /// Adds `trial` as it is now. O(log trials).
    pub(in crate::study) fn add(&mut self, index: usize, trial: &Trial, spec: &StudySpec) {
        self.trials.total += 1;
        *self.state_count(&trial.state) += 1;
        self.trials.out_of_memory += u64::from(trial.state.is_out_of_memory());
        self.spent += trial.cost();
        self.has_reports |= trial.has_reported();
        if spec.repeats() > 1 {
            self.update_group(trial, spec, |group| group.add(index, trial, spec));
        } else {
            self.leaders.extend(LeadingTrial::new(index, trial, spec));
        }
    }

    /// Removes what [`add`](Self::add) added. O(log trials).
    pub(in crate::study) fn remove(&mut self, index: usize, trial: &Trial, spec: &StudySpec) {
        self.trials.total -= 1;
        *self.state_count(&trial.state) -= 1;
        self.trials.out_of_memory -= u64::from(trial.state.is_out_of_memory());
        self.spent -= trial.cost();
        if spec.repeats() > 1 {
            self.update_group(trial, spec, |group| group.remove(index));
        } else if let Some(leader) = LeadingTrial::new(index, trial, spec) {
            self.leaders.remove(&leader);
        }
    }

    fn state_count(&mut self, state: &TrialState) -> &mut u64 {
        match state {
            TrialState::Running | TrialState::Interrupted => &mut self.trials.running,
            TrialState::Paused { .. } => &mut self.trials.paused,
            TrialState::Completed { .. } => &mut self.trials.completed,
            TrialState::Stopped { .. } => &mut self.trials.stopped,
            TrialState::Failed { .. } => &mut self.trials.failed,
        }
    }
}

/// A trial that has achieved a score; ordered by whether all its repeats have, by score, the largest first, then by number.
#[derive(Clone, Copy, Debug)]
struct LeadingTrial {
    is_whole: bool,
    score: f64,
    trial: usize,
}

impl LeadingTrial {
    fn new(index: usize, trial: &Trial, spec: &StudySpec) -> Option<Self> {
        let value = trial.achieved_result(spec)?;
        // −0 and 0 are equal scores
        Some(Self { is_whole: true, score: spec.direction.to_score(value) + 0.0, trial: index })
    }
}

impl Ord for LeadingTrial {
    fn cmp(&self, other: &Self) -> Ordering {
        other
            .is_whole
            .cmp(&self.is_whole)
            .then(other.score.total_cmp(&self.score))
            .then(self.trial.cmp(&other.trial))
    }
}

impl PartialOrd for LeadingTrial {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for LeadingTrial {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for LeadingTrial {}

//! Finished trials by which running ones may be dominated.

/// A finished trial: all that it came to, larger being better.
#[derive(Clone, Debug, PartialEq)]
struct TrialStanding {
    score: f64,
    others: Vec<f64>,
    /// The number of trials that are at least as good in every objective; of equal ones, those that completed before.
    ahead: usize,
}

impl TrialStanding {
    /// Whether it is no worse than `other` in anything.
    fn covers(&self, other: &Self) -> bool {
        self.score >= other.score && is_no_worse(&self.others, &other.others)
    }
}

/// Whether `a` is no worse than `b` in any objective.
pub(crate) fn is_no_worse(a: &[f64], b: &[f64]) -> bool {
    a.iter().zip(b).all(|(a, b)| a >= b)
}

/// The finished trials that fewer than n others dominate: with n = 1 the front. If n others are at least as
/// good as a trial in every objective, it is never the n-th best of those that could dominate a running trial, so it is not kept.
#[derive(Clone, Debug, Default)]
pub(crate) struct FrontStandings {
    kept: Vec<TrialStanding>,
    joined: u64,
}

impl FrontStandings {
    /// A trial finished with `score`, and what else it came to. O(kept).
    pub(crate) fn push(&mut self, score: f64, others: Vec<f64>, nth_best: usize) {
        let mut new = TrialStanding { score, others, ahead: 0 };
        new.ahead = self.kept.iter().filter(|kept| kept.covers(&new)).count();
        if new.ahead >= nth_best {
            return;
        }
        self.joined += 1;
        for kept in &mut self.kept {
            // of two equal trials only the later one has the other ahead: counted on both sides, both would be dropped once a better one comes
            kept.ahead += usize::from(new.covers(kept) && !kept.covers(&new));
        }
        self.kept.retain(|kept| kept.ahead < nth_best);
        self.kept.push(new);
    }

    /// The score that a trial with these `others` has to beat: the n-th best of those that are no worse in them. O(kept log kept).
    pub(crate) fn incumbent(&self, others: &[f64], nth_best: usize) -> Option<f64> {
        let no_worse = self.kept.iter().filter(|kept| is_no_worse(&kept.others, others));
        let scores = no_worse.map(|kept| kept.score);
        if nth_best == 1 {
            return scores.max_by(f64::total_cmp);
        }
        let mut scores: Vec<f64> = scores.collect();
        scores.sort_by(|a, b| b.total_cmp(a));
        scores.get(nth_best.checked_sub(1)?).copied()
    }

    /// The number of trials that have joined so far.
    pub(crate) fn joined_count(&self) -> u64 {
        self.joined
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_trial_has_to_beat_the_best_that_costs_no_more() {
        let mut standings = FrontStandings::default();
        assert_eq!(standings.incumbent(&[-1.0], 1), None);
        for (score, weights) in [(0.9, 100.0), (0.7, 10.0), (0.8, 200.0), (0.6, 10.0)] {
            standings.push(score, vec![-weights], 1);
        }
        assert_eq!(standings.kept.len(), 2);
        for (weights, incumbent) in [(500.0, Some(0.9)), (100.0, Some(0.9)), (99.0, Some(0.7)), (9.0, None)] {
            assert_eq!(standings.incumbent(&[-weights], 1), incumbent, "{weights}");
        }
    }

    proptest! {
        #[test]
        fn what_is_kept_answers_as_all_would(
            trials in prop::collection::vec((0_u8..6, 0_u8..6, 0_u8..6), 0..30),
            asked in (0_u8..6, 0_u8..6),
            nth_best in 1_usize..4,
        ) {
            let mut standings = FrontStandings::default();
            let float = f64::from;
            for &(score, a, b) in &trials {
                standings.push(float(score), vec![float(a), float(b)], nth_best);
            }
            let mut scores: Vec<u8> =
                trials.iter().filter(|trial| trial.1 >= asked.0 && trial.2 >= asked.1).map(|trial| trial.0).collect();
            scores.sort_unstable_by(|a, b| b.cmp(a));
            let expected = scores.get(nth_best - 1).copied().map(float);
            prop_assert_eq!(standings.incumbent(&[float(asked.0), float(asked.1)], nth_best), expected);
        }
    }
}

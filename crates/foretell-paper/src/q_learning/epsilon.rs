//! ε by the number of networks proposed: MetaQNN's schedule, and the same for other numbers.

use serde::{Deserialize, Serialize};

/// A stage of an [`EpsilonSchedule`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EpsilonStage {
    /// ε, the share of layers drawn uniformly, 0 to 1.
    pub epsilon: f64,
    /// The number of unique networks proposed at this ε.
    pub models: u64,
}

/// ε by the number of unique networks proposed so far.
///
/// The default is MetaQNN's: 1.0 for 1500 networks; 0.9, 0.8 and 0.7 for 100 each; 0.6 to 0.1 for 150 each; 2700 in
/// all. After the last stage its ε stays.
///
/// ```
/// # use foretell_paper::EpsilonSchedule;
/// let paper = EpsilonSchedule::default();
/// assert_eq!((paper.total_models(), paper.epsilon_after(1499), paper.epsilon_after(1500)), (2700, 1.0, 0.9));
/// let short = paper.scale_to(27);
/// assert_eq!((short.total_models(), short.epsilon_after(14), short.epsilon_after(15)), (27, 1.0, 0.9));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EpsilonSchedule {
    /// The stages, in order.
    pub stages: Vec<EpsilonStage>,
}

impl Default for EpsilonSchedule {
    fn default() -> Self {
        let models = [1500, 100, 100, 100, 150, 150, 150, 150, 150, 150];
        let stages = models.into_iter().enumerate();
        let stages = stages.map(|(i, models)| EpsilonStage { epsilon: (10 - i) as f64 / 10.0, models });
        Self { stages: stages.collect() }
    }
}

impl EpsilonSchedule {
    /// The number of unique networks that the schedule is for.
    pub fn total_models(&self) -> u64 {
        self.stages.iter().map(|stage| stage.models).sum()
    }

    /// ε after `unique` networks.
    pub fn epsilon_after(&self, unique: u64) -> f64 {
        let mut end = 0;
        let stage = self.stages.iter().find(|stage| {
            end += stage.models;
            unique < end
        });
        stage.or(self.stages.last()).map_or(1.0, |stage| stage.epsilon)
    }

    /// Scales the schedule to `total` networks: each stage ends at the nearest whole number to its share, so that the
    /// sum is exact; stages of a short schedule may be empty. An empty schedule stays empty.
    #[must_use]
    pub fn scale_to(&self, total: u64) -> Self {
        // twice as wide, so that the products below cannot overflow
        let own = u128::from(self.total_models());
        if own == 0 {
            return self.clone();
        }
        let (mut end, mut before) = (0, 0);
        let stages = self.stages.iter().map(|stage| {
            end += u128::from(stage.models);
            let now = ((2 * end * u128::from(total) + own) / (2 * own)) as u64;
            let models = now - std::mem::replace(&mut before, now);
            EpsilonStage { models, ..*stage }
        });
        Self { stages: stages.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-12
    }

    #[test]
    fn the_papers_schedule_has_2700_networks_and_scaling_keeps_shares() {
        let paper = EpsilonSchedule::default();
        let mut counts: Vec<(f64, u64)> = Vec::new();
        for unique in 0..paper.total_models() {
            let epsilon = paper.epsilon_after(unique);
            match counts.last_mut() {
                Some((last, count)) if last.total_cmp(&epsilon).is_eq() => *count += 1,
                _ => counts.push((epsilon, 1)),
            }
        }
        let models: Vec<u64> = counts.iter().map(|&(_, count)| count).collect();
        assert_eq!(models, [1500, 100, 100, 100, 150, 150, 150, 150, 150, 150]);
        assert!(close(counts[0].0, 1.0) && close(counts[9].0, 0.1));
        assert!(close(paper.epsilon_after(1_000_000), 0.1));
        for total in 0..6000 {
            let scaled = paper.scale_to(total);
            assert_eq!(scaled.total_models(), total);
            for (ours, papers) in scaled.stages.iter().zip(&paper.stages) {
                let share = papers.models as f64 * total as f64 / 2700.0;
                assert!((ours.models as f64 - share).abs() <= 1.0, "{total}: {ours:?}");
            }
        }
    }
}

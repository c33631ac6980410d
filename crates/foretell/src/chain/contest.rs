//! The trials of a search against each other: forecasts, chances to end best, and whether earlier runs may count.

use super::forecaster::{Chain, ChainEnd};

/// Earlier runs count only while the new points are likelier with them than without by this much.
const TRUSTED: f64 = 2.0;
/// L is held to at most this. A few points of a search, forecast from a single trial, are likelier with any earlier runs: without a limit, earlier runs of
/// another program would count long after they have stopped to fit.
const MOST_TRUST: f64 = 6.0;
/// A single point counts for at most this.
const MOST_OF_A_POINT: f64 = 3.0;
/// Before so many points and trials there is nothing to forecast from.
const FEWEST_POINTS: usize = 4;
const FEWEST_TRIALS: usize = 2;
/// The most earlier runs that are kept, the last ones: more cost time and change nothing.
const MOST_LESSONS: usize = 1000;

/// The state of a trial in a contest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entrant {
    Running,
    Stopped,
    Completed,
    /// It diverged or failed: it does not compete, and nothing is learned from it.
    Gone,
}

/// A trial as a contest sees it: where it ends, and its chance to end best of all trials seen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prospect {
    /// The median of its final score.
    pub median: f64,
    /// Half the distance between the 84.1 % and the 15.9 % quantile.
    pub sd: f64,
    /// The central 80 % interval of its final score, lower end first.
    pub interval_80: (f64, f64),
    /// The central 90 % interval.
    pub interval_90: (f64, f64),
    /// The central 95 % interval.
    pub interval_95: (f64, f64),
    /// The chance that it ends best of all trials: with earlier runs of all planned ones, else of those seen so far.
    pub chance: f64,
    /// The number of trials among which that chance is: each has 1/`rivals` on average.
    pub rivals: u64,
    /// Whether earlier runs count.
    pub is_taught: bool,
    /// The chance times the number of trials seen, as it is without earlier runs: 1 on average. Those are not to stop a trial that leads among its own.
    pub alone: f64,
    /// Whether no trial has completed yet and it is the running one that is forecast to end highest: stopping it could leave a search without a
    /// completed trial.
    pub must_finish: bool,
}

impl Prospect {
    /// The same with each score as `value` gives it.
    #[must_use]
    pub fn map(self, value: impl Fn(f64) -> f64) -> Self {
        let interval = |(low, high): (f64, f64)| {
            let (low, high) = (value(low), value(high));
            (low.min(high), low.max(high))
        };
        let (low, high) = interval((self.median - self.sd, self.median + self.sd));
        Self {
            median: value(self.median),
            sd: (high - low) / 2.0,
            interval_80: interval(self.interval_80),
            interval_90: interval(self.interval_90),
            interval_95: interval(self.interval_95),
            ..self
        }
    }
}

/// The trials of a search, and earlier runs to learn from.
///
/// The earlier runs enter the regressions of the [`Chain`] as far as they go. Each chance is multiplied by F₀(x)^(N − n) for the N − n trials to come, with F₀
/// the mean distribution of the final scores of earlier runs. They count only while
///
/// L = Σ ln(p(y | with earlier runs)/p(y | without)) > 2
///
/// over the points y of the new search from its second trial on, each one forecast one level ahead, each summand held to ±3 and the
/// sum to at most 6. Else the chances are those
/// of a search that starts cold. Measured in `docs/research/chain.md`.
#[derive(Clone, Debug)]
pub struct Contest {
    alone: Chain,
    /// The same with the earlier runs, which come first.
    taught: Option<Chain>,
    lessons: usize,
    /// L.
    trust: f64,
    entrants: Vec<Entrant>,
}

impl Contest {
    /// A contest of trainings of so many `epochs`. `lessons` are the scores of earlier runs at the first [levels](crate::chain_levels), as far as they go; the
    /// last 1,000 are kept.
    pub fn new(epochs: u64, lessons: &[Vec<f64>]) -> Self {
        let alone = Chain::new(epochs);
        let known: Vec<&Vec<f64>> = lessons.iter().filter(|lesson| !lesson.is_empty()).collect();
        let kept = &known[known.len().saturating_sub(MOST_LESSONS)..];
        let taught = (!kept.is_empty()).then(|| {
            let mut chain = alone.clone();
            kept.iter().for_each(|lesson| {
                chain.push(lesson);
            });
            chain.count_from_here();
            chain
        });
        Self { alone, taught, lessons: kept.len(), trust: 0.0, entrants: Vec::new() }
    }

    /// The epochs of the levels.
    pub fn levels(&self) -> &[u64] {
        self.alone.levels()
    }

    /// Trials up to number `trial` take part.
    pub fn enter(&mut self, trial: usize) {
        while self.entrants.len() <= trial {
            self.entrants.push(Entrant::Running);
            self.alone.push(&[]);
            if let Some(taught) = &mut self.taught {
                taught.push(&[]);
            }
        }
    }

    /// The number of levels that `trial` has reached.
    pub fn reached(&self, trial: usize) -> usize {
        if trial < self.entrants.len() { self.alone.reached(trial) } else { 0 }
    }

    /// `trial` has this `score` at its next level. If that is not finite, it leaves the contest.
    pub fn reach(&mut self, trial: usize, score: f64) {
        self.enter(trial);
        if self.entrants[trial] == Entrant::Gone || self.alone.is_completed(trial) {
            return;
        }
        if !score.is_finite() {
            return self.leave(trial);
        }
        if let Some(taught) = &mut self.taught {
            let there = self.lessons + trial;
            // what is known without lessons has to be something: the trials before, and as many points as a whole training
            let known: usize = (0..self.entrants.len()).map(|other| self.alone.reached(other)).sum();
            if trial > 0 && known >= self.alone.levels().len() {
                let with = taught.log_density(there, score);
                let gained = with
                    .zip(self.alone.log_density(trial, score))
                    .map_or(0.0, |(with, without)| with - without);
                self.trust = (self.trust + gained.clamp(-MOST_OF_A_POINT, MOST_OF_A_POINT)).min(MOST_TRUST);
            }
            taught.extend(there, score);
        }
        self.alone.extend(trial, score);
        // one that was paused trains again
        self.entrants[trial] =
            if self.alone.is_completed(trial) { Entrant::Completed } else { Entrant::Running };
    }

    /// `trial` has ended by itself: its last score stands at all higher levels.
    pub fn complete(&mut self, trial: usize, score: f64) {
        self.enter(trial);
        while score.is_finite() && self.entrants[trial] != Entrant::Gone && !self.alone.is_completed(trial) {
            if let Some(taught) = &mut self.taught {
                taught.extend(self.lessons + trial, score);
            }
            self.alone.extend(trial, score);
        }
        if self.alone.is_completed(trial) {
            self.entrants[trial] = Entrant::Completed;
        }
    }

    /// `trial` was stopped. It still competes, as it is forecast.
    pub fn stop(&mut self, trial: usize) {
        self.enter(trial);
        if self.entrants[trial] == Entrant::Running {
            self.entrants[trial] = Entrant::Stopped;
        }
    }

    /// `trial` diverged or failed.
    pub fn leave(&mut self, trial: usize) {
        self.enter(trial);
        self.entrants[trial] = Entrant::Gone;
        self.alone.remove(trial);
        if let Some(taught) = &mut self.taught {
            taught.remove(self.lessons + trial);
        }
    }

    /// The number of earlier runs, and of those that completed.
    pub fn lessons(&self) -> (usize, usize) {
        let completed =
            |chain: &Chain| (0..self.lessons).filter(|&lesson| chain.is_completed(lesson)).count();
        (self.lessons, self.taught.as_ref().map_or(0, completed))
    }

    /// Whether earlier runs count by now.
    pub fn is_taught(&self) -> bool {
        self.taught.is_some() && self.trust > TRUSTED
    }

    /// What is to be expected of `trial` in a search of `planned` trials; `None` while too little is known.
    pub fn prospect(&mut self, trial: usize, planned: u64) -> Option<Prospect> {
        let seen: Vec<usize> =
            (0..self.entrants.len()).filter(|&other| self.alone.reached(other) > 0).collect();
        let points: usize = seen.iter().map(|&other| self.alone.reached(other)).sum();
        if seen.len() < FEWEST_TRIALS || points < FEWEST_POINTS || !seen.contains(&trial) {
            return None;
        }
        let is_taught = self.is_taught();
        // diverged trials do not compete, but were seen
        let gone = self.entrants.iter().filter(|&&entrant| entrant == Entrant::Gone).count();
        let seen_so_far = (seen.len() + gone) as u64;
        let (lessons, to_come) =
            if is_taught { (self.lessons, planned.saturating_sub(seen_so_far)) } else { (0, 0) };
        let alone = self.alone.chance(trial, &seen, &[], 0)? * seen_so_far as f64;
        let chain = if is_taught { self.taught.as_mut()? } else { &mut self.alone };
        let rivals: Vec<usize> = seen.iter().map(|other| lessons + other).collect();
        let earlier: Vec<usize> = (0..lessons).collect();
        let end = chain.forecast(lessons + trial)?;
        let chance = chain.chance(lessons + trial, &rivals, &earlier, to_come)?;
        let must_finish = leads_before_the_first(chain, &self.entrants, lessons, trial, end);
        Some(Prospect {
            median: chain.score(end.mean),
            sd: {
                let (low, high) = chain.interval_68(end);
                (high - low) / 2.0
            },
            interval_80: chain.interval_80(end),
            interval_90: chain.interval_90(end),
            interval_95: chain.interval_95(end),
            chance,
            rivals: if is_taught { planned.max(seen_so_far) } else { seen_so_far },
            is_taught,
            alone,
            must_finish,
        })
    }
}

/// Whether no trial has completed and no running one is forecast to end above `trial`.
fn leads_before_the_first(
    chain: &mut Chain,
    entrants: &[Entrant],
    lessons: usize,
    trial: usize,
    end: ChainEnd,
) -> bool {
    let mut ahead = |other: usize| {
        entrants[other] == Entrant::Running
            && other != trial
            && chain.forecast(lessons + other).is_some_and(|theirs| theirs.mean > end.mean)
    };
    !entrants.contains(&Entrant::Completed) && !(0..entrants.len()).any(&mut ahead)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A curve of six epochs that ends near `end`, at the levels 1, 2, 3, 5 and 6.
    fn curve(end: f64) -> Vec<f64> {
        [1.0, 2.0, 3.0, 5.0, 6.0].map(|epoch: f64| end * (1.0 - 0.5 * (-epoch / 2.0).exp())).to_vec()
    }

    fn train(contest: &mut Contest, trial: usize, scores: &[f64]) {
        scores.iter().for_each(|&score| contest.reach(trial, score));
    }

    #[test]
    fn a_trial_far_behind_has_no_chance_and_the_first_one_must_finish() {
        let mut contest = Contest::new(6, &[]);
        train(&mut contest, 0, &curve(0.7)[..2]);
        train(&mut contest, 1, &curve(0.2)[..2]);
        let (leader, loser) = (contest.prospect(0, 40).unwrap(), contest.prospect(1, 40).unwrap());
        assert!(leader.must_finish && !loser.must_finish, "{leader:?} {loser:?}");
        assert!(leader.chance > loser.chance);
        train(&mut contest, 0, &curve(0.7)[2..]);
        let loser = contest.prospect(1, 40).unwrap();
        assert!(loser.chance < 0.2 && loser.median < 0.5 && loser.rivals == 2, "{loser:?}");
        assert!(loser.interval_95.0 <= loser.interval_80.0 && loser.interval_80.1 <= loser.interval_95.1);
        train(&mut contest, 2, &curve(0.1)[..2]);
        assert!(!contest.prospect(2, 40).unwrap().must_finish);
    }

    #[test]
    fn all_chances_sum_to_one_unless_a_completed_trial_may_stay_the_best() {
        let mut contest = Contest::new(40, &[]);
        for (trial, end) in [0.4, 0.5, 0.55, 0.6, 0.62].into_iter().enumerate() {
            train(&mut contest, trial, &curve(end)[..3]);
        }
        let sum: f64 = (0..5).map(|trial| contest.prospect(trial, 40).unwrap().chance).sum();
        assert!((sum - 1.0).abs() < 0.02, "{sum}");
    }

    #[test]
    fn a_diverged_trial_counts_among_those_seen_and_teaches_nothing() {
        let mut contest = Contest::new(6, &[]);
        train(&mut contest, 0, &curve(0.7));
        train(&mut contest, 1, &curve(0.5)[..3]);
        let before = contest.prospect(1, 40).unwrap();
        train(&mut contest, 2, &[1e6, f64::NAN]);
        let after = contest.prospect(1, 40).unwrap();
        assert_eq!((after.chance, after.rivals), (before.chance, before.rivals + 1));
        assert_eq!(contest.prospect(2, 40), None);
    }

    #[test]
    fn lessons_count_where_they_fit_and_are_put_aside_where_they_do_not() {
        let earlier = |scale: f64, shape: fn(f64) -> Vec<f64>| -> Vec<Vec<f64>> {
            (0..30).map(|i| shape(scale * (0.4 + 0.01 * f64::from(i)))).collect()
        };
        let falling = |end: f64| curve(end).into_iter().rev().collect();
        let search = |lessons: &[Vec<f64>]| {
            let mut contest = Contest::new(6, lessons);
            for (trial, end) in [0.6, 0.5, 0.63].into_iter().enumerate() {
                train(&mut contest, trial, &curve(end)[..4]);
            }
            contest
        };
        assert!(search(&earlier(1.0, curve)).is_taught());
        assert!(!search(&earlier(1.0, falling)).is_taught());
        assert!(!search(&[]).is_taught());
        // before the second trial nothing is known of them
        let mut first = Contest::new(6, &earlier(1.0, curve));
        train(&mut first, 0, &curve(0.6));
        assert!(!first.is_taught());
        assert_eq!(first.lessons(), (30, 30));
    }

    #[test]
    fn the_chance_alone_is_that_of_a_search_without_lessons() {
        let earlier: Vec<Vec<f64>> = (0..30).map(|i| curve(0.4 + 0.01 * f64::from(i))).collect();
        let prospect = |lessons: &[Vec<f64>]| {
            let mut contest = Contest::new(6, lessons);
            for (trial, end) in [0.6, 0.5, 0.63].into_iter().enumerate() {
                train(&mut contest, trial, &curve(end)[..4]);
            }
            contest.prospect(0, 40).unwrap()
        };
        let (taught, cold) = (prospect(&earlier), prospect(&[]));
        assert!(taught.is_taught && !cold.is_taught);
        assert!((taught.alone - cold.chance * cold.rivals as f64).abs() < 1e-12, "{taught:?}, {cold:?}");
        assert!((cold.alone - cold.chance * cold.rivals as f64).abs() < 1e-12, "{cold:?}");
    }

    #[test]
    fn a_trial_that_ended_early_stands_where_it_ended() {
        let mut contest = Contest::new(6, &[]);
        train(&mut contest, 0, &curve(0.7)[..3]);
        contest.complete(0, 0.66);
        train(&mut contest, 1, &curve(0.4)[..3]);
        assert_eq!(contest.reached(0), 5);
        assert!(!contest.prospect(1, 40).unwrap().must_finish);
    }
}

//! The trials of a search against each other: forecasts, chances to end best, and whether earlier runs may count.

use super::end::ChainEnd;
use super::forecaster::ChainForecaster;
use super::guard::{LessonGuard, LessonVerdict, ScoreMotion};

/// Before so many points and trials there is nothing to forecast from.
const MIN_POINTS: usize = 4;
const MIN_TRIALS: usize = 2;
/// The most earlier runs that are kept, the last ones: more cost time and change nothing.
const MAX_EARLIER_RUNS: usize = 1000;

/// The state of a trial in a contest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EntrantState {
    Running,
    Stopped,
    Completed,
    /// Diverged or failed: the trial does not compete, and nothing is learned from it.
    Gone,
}

/// A trial as a contest sees it: where it ends, and its chance to end best of all trials seen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrialProspect {
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

impl TrialProspect {
    /// Returns the prospect with each score as `value` gives it.
    #[must_use]
    pub fn map_scores(self, value: impl Fn(f64) -> f64) -> Self {
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

/// What a contest is told of a trial.
#[derive(Clone, Copy, Debug)]
enum ContestEvent {
    /// The trial has this score at its next level.
    Reach(f64),
    /// The trial has ended by itself with this score.
    Complete(f64),
    Stop,
    Leave,
}

/// The trials of a search, and earlier studies to learn from.
///
/// The runs of earlier studies enter the regressions of the [`ChainForecaster`] as far as they go. Each chance is multiplied by F₀(x)^(N − n) for the N − n trials to
/// come, with F₀ the mean distribution of the final scores of earlier runs. They count only while both
///
/// L = Σ ln(p(y | with earlier runs)/p(y | without)) > 2
///
/// over the points y of the new search from its second trial on, each one forecast one level ahead, each summand held to ±3 and the sum to at most 6, and
///
/// F = Σ mean of ln(p(end | forecast with earlier runs)/p(end | forecast without)) > 0
///
/// over the trials that completed from the second on, at least one, the mean over a trial's levels between R/3 and ¾ R, each summand held to ±3. Else the
/// chances are those of a search that starts cold.
///
/// A study that does not move is left out: if the 10 to 90 % range of its last scores, or the median distance of its trials' first and last scores, is
/// less than a tenth of that of the trials of the search, of which there are at least two, one of them complete.
///
/// Measured in `docs/research/chain.md`.
#[derive(Clone, Debug)]
pub struct TrialContest {
    epochs: u64,
    studies: Vec<Vec<Vec<f64>>>,
    /// Why each study is left out.
    faults: Vec<Option<LessonVerdict>>,
    alone: ChainForecaster,
    /// The chain with the earlier runs, which come first.
    taught: Option<ChainForecaster>,
    lessons: usize,
    guard: LessonGuard,
    entrants: Vec<EntrantState>,
    /// All that it was told, where there are earlier studies: if other ones are left out, it is told again.
    told: Vec<(usize, ContestEvent)>,
}

impl TrialContest {
    /// A contest of trainings of so many `epochs`. `studies` are earlier ones: for each run the scores at the first [levels](crate::chain_levels), as far as
    /// they go; the last 1,000 runs are kept.
    pub fn new(epochs: u64, studies: &[Vec<Vec<f64>>]) -> Self {
        let mut room = MAX_EARLIER_RUNS;
        let mut kept: Vec<Vec<Vec<f64>>> =
            studies.iter().rev().map(|study| last_runs(study, &mut room)).collect();
        kept.reverse();
        let faults = vec![None; kept.len()];
        Self::without(epochs, kept, faults)
    }

    /// A contest without the studies that have a fault.
    fn without(epochs: u64, studies: Vec<Vec<Vec<f64>>>, faults: Vec<Option<LessonVerdict>>) -> Self {
        let alone = ChainForecaster::new(epochs);
        let mut chain = alone.clone();
        for (study, _) in studies.iter().zip(&faults).filter(|(_, fault)| fault.is_none()) {
            study.iter().for_each(|run| {
                chain.push(run);
            });
        }
        let lessons = chain.len();
        // next to many earlier points, the search's own would hardly ever make enough of a difference to fit again
        chain.restart_point_count();
        Self {
            epochs,
            studies,
            faults,
            alone,
            taught: (lessons > 0).then_some(chain),
            lessons,
            guard: LessonGuard::default(),
            entrants: Vec::new(),
            told: Vec::new(),
        }
    }

    /// The epochs of the levels.
    pub fn level_epochs(&self) -> &[u64] {
        self.alone.level_epochs()
    }

    /// Trials up to number `trial` take part.
    pub fn ensure_trial(&mut self, trial: usize) {
        while self.entrants.len() <= trial {
            self.entrants.push(EntrantState::Running);
            self.alone.push(&[]);
            if let Some(taught) = &mut self.taught {
                taught.push(&[]);
            }
        }
    }

    /// The number of levels that `trial` has reached.
    pub fn reached_level_count(&self, trial: usize) -> usize {
        if trial < self.entrants.len() { self.alone.reached_level_count(trial) } else { 0 }
    }

    /// `trial` has this `score` at its next level. If that is not finite, it leaves the contest.
    pub fn record_level_score(&mut self, trial: usize, score: f64) {
        self.record_event(trial, ContestEvent::Reach(score));
    }

    /// `trial` has ended by itself: its last score stands at all higher levels.
    pub fn complete_trial(&mut self, trial: usize, score: f64) {
        self.record_event(trial, ContestEvent::Complete(score));
    }

    /// `trial` was stopped. It still competes, as it is forecast.
    pub fn stop_trial(&mut self, trial: usize) {
        self.record_event(trial, ContestEvent::Stop);
    }

    /// `trial` diverged or failed.
    pub fn fail_trial(&mut self, trial: usize) {
        self.record_event(trial, ContestEvent::Leave);
    }

    fn record_event(&mut self, trial: usize, event: ContestEvent) {
        self.take(trial, event);
        if self.studies.is_empty() {
            return;
        }
        self.told.push((trial, event));
        // whether studies move is seen from trials that have ended
        if self.entrants[trial] != EntrantState::Running {
            self.exclude_motionless_studies();
        }
    }

    fn take(&mut self, trial: usize, event: ContestEvent) {
        self.ensure_trial(trial);
        if self.entrants[trial] == EntrantState::Gone {
            return;
        }
        match event {
            ContestEvent::Reach(score) if !score.is_finite() => self.remove(trial),
            ContestEvent::Leave => self.remove(trial),
            ContestEvent::Reach(_) | ContestEvent::Complete(_) if self.alone.is_completed(trial) => {
                self.entrants[trial] = EntrantState::Completed;
            }
            ContestEvent::Reach(score) => self.extend(trial, score),
            ContestEvent::Complete(score) if score.is_finite() => self.fill_higher_levels(trial, score),
            ContestEvent::Complete(_) => {}
            ContestEvent::Stop if self.entrants[trial] == EntrantState::Running => {
                self.entrants[trial] = EntrantState::Stopped
            }
            ContestEvent::Stop => {}
        }
    }

    fn remove(&mut self, trial: usize) {
        self.entrants[trial] = EntrantState::Gone;
        self.alone.remove_curve(trial);
        if let Some(taught) = &mut self.taught {
            taught.remove_curve(self.lessons + trial);
        }
    }

    fn extend(&mut self, trial: usize, score: f64) {
        if let Some(taught) = &mut self.taught {
            let there = self.lessons + trial;
            // what is known without lessons has to be something: the trials before, and as many points as a whole training
            let known: usize =
                (0..self.entrants.len()).map(|other| self.alone.reached_level_count(other)).sum();
            // before the point is taken in, because it must be a forecast that is weighed
            if trial > 0 && known >= self.alone.level_epochs().len() {
                let densities = (taught.log_density(there, score), self.alone.log_density(trial, score));
                self.guard
                    .weigh_point(densities.0.zip(densities.1).map_or(0.0, |(with, without)| with - without));
            }
            taught.append_score(there, score);
        }
        self.alone.append_score(trial, score);
        // one that was paused trains again
        self.entrants[trial] = EntrantState::Running;
        if self.alone.is_completed(trial) {
            self.entrants[trial] = EntrantState::Completed;
            self.guard.weigh_end(trial, score);
        } else if let Some(taught) = &mut self.taught {
            let level = self.alone.level_epochs()[self.alone.reached_level_count(trial) - 1];
            let with = taught.foreseen(self.lessons + trial);
            self.guard.store_forecasts(trial, (level, self.epochs), with, self.alone.foreseen(trial));
        }
    }

    /// All higher levels of `trial` have this score.
    fn fill_higher_levels(&mut self, trial: usize, score: f64) {
        self.guard.weigh_end(trial, score);
        // straight to the chains: scores that were never trained are no evidence for or against earlier studies
        while !self.alone.is_completed(trial) {
            if let Some(taught) = &mut self.taught {
                taught.append_score(self.lessons + trial, score);
            }
            self.alone.append_score(trial, score);
        }
        self.entrants[trial] = EntrantState::Completed;
    }

    /// Leaves out the studies that do not move, compared with the trials so far. If these are others than before, the contest begins again without them.
    fn exclude_motionless_studies(&mut self) {
        let ends = |curve: &[f64]| Some((*curve.first()?, *curve.last()?));
        let seen: Vec<(f64, f64)> =
            (0..self.entrants.len()).filter_map(|trial| ends(self.alone.scores(trial))).collect();
        let Some(search) = ScoreMotion::new(seen.iter().copied()) else { return };
        if seen.len() < MIN_TRIALS || !self.entrants.contains(&EntrantState::Completed) {
            return;
        }
        let fault =
            |study: &Vec<Vec<f64>>| ScoreMotion::new(study.iter().filter_map(|run| ends(run)))?.fault(search);
        let faults: Vec<Option<LessonVerdict>> = self.studies.iter().map(fault).collect();
        if faults == self.faults {
            return;
        }
        let mut again = Self::without(self.epochs, std::mem::take(&mut self.studies), faults);
        let told = std::mem::take(&mut self.told);
        // taken and not recorded, which would look for studies that do not move once more after each event
        told.iter().for_each(|&(trial, event)| again.take(trial, event));
        *self = Self { told, ..again };
    }

    /// Of each earlier study the number of runs, and whether it counts by now.
    pub fn study_verdicts(&self) -> Vec<(usize, LessonVerdict)> {
        let together = self.guard.verdict();
        let verdict = |(study, fault): (&Vec<Vec<f64>>, &Option<LessonVerdict>)| {
            (study.len(), fault.unwrap_or(together))
        };
        self.studies.iter().zip(&self.faults).map(verdict).collect()
    }

    /// Whether earlier runs count by now.
    pub fn uses_earlier_runs(&self) -> bool {
        self.taught.is_some() && self.guard.verdict() == LessonVerdict::Counts
    }

    /// What is to be expected of `trial` in a search of `planned` trials; `None` while too little is known.
    pub fn trial_prospect(&mut self, trial: usize, planned: u64) -> Option<TrialProspect> {
        let seen: Vec<usize> =
            (0..self.entrants.len()).filter(|&other| self.alone.reached_level_count(other) > 0).collect();
        let points: usize = seen.iter().map(|&other| self.alone.reached_level_count(other)).sum();
        if seen.len() < MIN_TRIALS || points < MIN_POINTS || !seen.contains(&trial) {
            return None;
        }
        let is_taught = self.uses_earlier_runs();
        // diverged trials do not compete, but were seen
        let gone = self.entrants.iter().filter(|&&entrant| entrant == EntrantState::Gone).count();
        let seen_so_far = (seen.len() + gone) as u64;
        let (lessons, to_come) =
            if is_taught { (self.lessons, planned.saturating_sub(seen_so_far)) } else { (0, 0) };
        let alone = self.alone.win_probability(trial, &seen, &[], 0)?;
        let chain = if is_taught { self.taught.as_mut()? } else { &mut self.alone };
        let end = chain.forecast(lessons + trial)?;
        let chance = if is_taught {
            let rivals: Vec<usize> = seen.iter().map(|other| lessons + other).collect();
            let earlier: Vec<usize> = (0..lessons).collect();
            chain.win_probability(lessons + trial, &rivals, &earlier, to_come)?
        } else {
            alone
        };
        let alone = alone * seen_so_far as f64;
        let must_finish = leads_before_completion(chain, &self.entrants, lessons, trial, end);
        Some(TrialProspect {
            median: chain.to_score(end.mean),
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

/// The last runs of a study that have points, at most as many as there is `room` for, which is used up.
fn last_runs(study: &[Vec<f64>], room: &mut usize) -> Vec<Vec<f64>> {
    let known: Vec<&Vec<f64>> = study.iter().filter(|run| !run.is_empty()).collect();
    let kept = known[known.len().saturating_sub(*room)..].iter().copied().cloned().collect::<Vec<_>>();
    *room -= kept.len();
    kept
}

/// Whether no trial has completed and no running one is forecast to end above `trial`.
fn leads_before_completion(
    chain: &mut ChainForecaster,
    entrants: &[EntrantState],
    lessons: usize,
    trial: usize,
    end: ChainEnd,
) -> bool {
    let mut ahead = |other: usize| {
        entrants[other] == EntrantState::Running
            && other != trial
            && chain.forecast(lessons + other).is_some_and(|theirs| theirs.mean > end.mean)
    };
    !entrants.contains(&EntrantState::Completed) && !(0..entrants.len()).any(&mut ahead)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A curve of six epochs that ends near `end`, at the levels 1, 2, 3, 5 and 6.
    fn curve(end: f64) -> Vec<f64> {
        [1.0, 2.0, 3.0, 5.0, 6.0].map(|epoch: f64| end * (1.0 - 0.5 * (-epoch / 2.0).exp())).to_vec()
    }

    fn train(contest: &mut TrialContest, trial: usize, scores: &[f64]) {
        scores.iter().for_each(|&score| contest.record_level_score(trial, score));
    }

    #[test]
    fn a_trial_far_behind_has_no_chance_and_the_first_one_must_finish() {
        let mut contest = TrialContest::new(6, &[]);
        train(&mut contest, 0, &curve(0.7)[..2]);
        train(&mut contest, 1, &curve(0.2)[..2]);
        let (leader, loser) =
            (contest.trial_prospect(0, 40).unwrap(), contest.trial_prospect(1, 40).unwrap());
        assert!(leader.must_finish && !loser.must_finish, "{leader:?} {loser:?}");
        assert!(leader.chance > loser.chance);
        train(&mut contest, 0, &curve(0.7)[2..]);
        let loser = contest.trial_prospect(1, 40).unwrap();
        assert!(loser.chance < 0.2 && loser.median < 0.5 && loser.rivals == 2, "{loser:?}");
        assert!(loser.interval_95.0 <= loser.interval_80.0 && loser.interval_80.1 <= loser.interval_95.1);
        train(&mut contest, 2, &curve(0.1)[..2]);
        assert!(!contest.trial_prospect(2, 40).unwrap().must_finish);
    }

    #[test]
    fn all_chances_sum_to_one_unless_a_completed_trial_may_stay_the_best() {
        let mut contest = TrialContest::new(40, &[]);
        for (trial, end) in [0.4, 0.5, 0.55, 0.6, 0.62].into_iter().enumerate() {
            train(&mut contest, trial, &curve(end)[..3]);
        }
        let sum: f64 = (0..5).map(|trial| contest.trial_prospect(trial, 40).unwrap().chance).sum();
        assert!((sum - 1.0).abs() < 0.02, "{sum}");
    }

    #[test]
    fn a_diverged_trial_counts_among_those_seen_and_teaches_nothing() {
        let mut contest = TrialContest::new(6, &[]);
        train(&mut contest, 0, &curve(0.7));
        train(&mut contest, 1, &curve(0.5)[..3]);
        let before = contest.trial_prospect(1, 40).unwrap();
        train(&mut contest, 2, &[1e6, f64::NAN]);
        let after = contest.trial_prospect(1, 40).unwrap();
        assert_eq!((after.chance, after.rivals), (before.chance, before.rivals + 1));
        assert_eq!(contest.trial_prospect(2, 40), None);
    }

    type Shape = fn(f64) -> Vec<f64>;

    /// 30 runs of an earlier study, of which three in four were stopped.
    fn earlier(shape: impl Fn(f64) -> Vec<f64>) -> Vec<Vec<f64>> {
        let run = |i: usize| {
            let whole = shape(0.4 + 0.01 * i as f64);
            whole[..if i.is_multiple_of(4) { 5 } else { 3 }].to_vec()
        };
        (0..30).map(run).collect()
    }

    /// A search after `studies`: so many trials at a time, each to its end.
    fn search(studies: &[Vec<Vec<f64>>], workers: usize, shape: Shape) -> TrialContest {
        let mut contest = TrialContest::new(6, studies);
        let curves: Vec<Vec<f64>> = [0.6, 0.5, 0.63, 0.45, 0.58, 0.52, 0.64, 0.41].map(shape).to_vec();
        for (batch, together) in curves.chunks(workers).enumerate() {
            for level in 0..5 {
                for (place, curve) in together.iter().enumerate() {
                    contest.record_level_score(batch * workers + place, curve[level]);
                }
            }
        }
        contest
    }

    fn verdicts(studies: &[Vec<Vec<f64>>], workers: usize) -> Vec<LessonVerdict> {
        search(studies, workers, curve).study_verdicts().into_iter().map(|(_, verdict)| verdict).collect()
    }

    #[test]
    fn lessons_count_where_they_fit_and_are_put_aside_where_they_do_not() {
        let falling = |end: f64| -> Vec<f64> { curve(end).into_iter().rev().collect() };
        for workers in [1, 8] {
            assert_eq!(verdicts(&[earlier(curve)], workers), [LessonVerdict::Counts], "{workers} workers");
            assert_eq!(
                verdicts(&[earlier(falling)], workers),
                [LessonVerdict::NextNoBetter],
                "{workers} workers"
            );
            assert!(!search(&[], workers, curve).uses_earlier_runs());
        }
        // before the second trial has completed nothing is known of them
        let mut first = TrialContest::new(6, &[earlier(curve)]);
        train(&mut first, 0, &curve(0.6));
        train(&mut first, 1, &curve(0.5)[..4]);
        assert_eq!(first.study_verdicts(), [(30, LessonVerdict::Untested)]);
        first.record_level_score(1, curve(0.5)[4]);
        assert_eq!(first.study_verdicts(), [(30, LessonVerdict::Counts)]);
    }

    #[test]
    fn a_study_that_does_not_move_is_left_out_as_if_it_had_not_been_there() {
        let still: [(&str, Shape, LessonVerdict); 4] = [
            ("one constant", |_| vec![0.5; 5], LessonVerdict::Flat),
            ("a constant each", |end| vec![end; 5], LessonVerdict::Flat),
            (
                "a hundredth",
                |end| curve(end).iter().map(|score| 0.5 + 0.01 * score).collect(),
                LessonVerdict::Flat,
            ),
            ("all end alike", |end| vec![0.1, 0.3, 0.5 + 0.001 * end, 0.5, 0.5], LessonVerdict::Alike),
        ];
        for workers in [1, 8] {
            let cold = search(&[], workers, curve);
            for (name, shape, verdict) in still {
                assert_eq!(verdicts(&[earlier(shape)], workers), [verdict], "{name}, {workers} workers");
                let mut after = search(&[earlier(shape)], workers, curve);
                train(&mut after, 8, &curve(0.55)[..3]);
                let mut alike = cold.clone();
                train(&mut alike, 8, &curve(0.55)[..3]);
                assert_eq!(
                    after.trial_prospect(8, 40),
                    alike.trial_prospect(8, 40),
                    "{name}, {workers} workers"
                );
                // the one beside it counts
                let both = verdicts(&[earlier(shape), earlier(curve)], workers);
                assert_eq!(both, [verdict, LessonVerdict::Counts], "{name}, {workers} workers");
            }
        }
    }

    #[test]
    fn only_the_last_thousand_runs_are_kept() {
        let many = |count: usize| vec![curve(0.5); count];
        let kept = |studies: &[Vec<Vec<f64>>]| {
            TrialContest::new(6, studies).study_verdicts().iter().map(|(runs, _)| *runs).collect::<Vec<_>>()
        };
        assert_eq!(kept(&[many(600), many(300), many(500)]), [200, 300, 500]);
    }

    #[test]
    fn the_chance_alone_is_that_of_a_search_without_lessons() {
        let prospect = |studies: &[Vec<Vec<f64>>]| {
            let mut contest = search(studies, 1, curve);
            train(&mut contest, 8, &curve(0.62)[..3]);
            contest.trial_prospect(8, 40).unwrap()
        };
        let (taught, cold) = (prospect(&[earlier(curve)]), prospect(&[]));
        assert!(taught.is_taught && !cold.is_taught);
        assert!((taught.alone - cold.chance * cold.rivals as f64).abs() < 1e-12, "{taught:?}, {cold:?}");
        assert!((cold.alone - cold.chance * cold.rivals as f64).abs() < 1e-12, "{cold:?}");
    }

    #[test]
    fn a_trial_that_ended_early_stands_where_it_ended() {
        let mut contest = TrialContest::new(6, &[]);
        train(&mut contest, 0, &curve(0.7)[..3]);
        contest.complete_trial(0, 0.66);
        train(&mut contest, 1, &curve(0.4)[..3]);
        assert_eq!(contest.reached_level_count(0), 5);
        assert!(!contest.trial_prospect(1, 40).unwrap().must_finish);
    }
}

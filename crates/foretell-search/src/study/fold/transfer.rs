//! The configurations of earlier studies that are tried again: where a second search starts.

use super::step::AppendRecord;
use crate::parameter_space::ParameterSpace;
use crate::record::{EarlierTrial, Record};
use crate::samplers::surrogate::UnitCube;
use crate::samplers::{GridSampling, NamedSampler, SamplerSpec};
use crate::space::Space;
use crate::stopping::split_lesson;
use crate::study::Study;
use foretell::{Configuration, Run};

/// The most configurations of earlier studies that a study tries again. Simulated: docs/research/chain.md, "Where a second search starts".
const MAX_REPEATED: usize = 8;
/// A further one differs by at least this part of the range from every trial, in some parameter: nearer ones teach nothing new.
const MIN_DISTANCE: f64 = 0.1;

impl Study {
    /// Enqueues the configuration of an earlier study that is due: the best one first, after the script's own configuration. Further
    /// ones follow only while a repeated one is the best of this study, every second proposal and one at a time, because the lesson may be
    /// wrong: then one training is lost.
    ///
    /// # Errors
    /// The error of `append`.
    pub(super) fn try_earlier<E>(&mut self, append: &mut AppendRecord<'_, E>) -> Result<(), E> {
        let Some((configuration, earlier)) = self.earlier_due() else { return Ok(()) };
        self.emit(Record::Enqueued { configuration, order: None, earlier: Some(earlier) }, append)
    }

    /// The earlier trial to repeat next, if one is due.
    fn earlier_due(&mut self) -> Option<(Configuration, EarlierTrial)> {
        let repeated = self.queue.repeated_trials().len();
        let is_open = !self.warm_start.is_empty()
            && repeated < MAX_REPEATED
            && self.queue.waiting().is_empty()
            // somebody who enqueues several has a plan of his own
            && self.queue.by_people() <= 1
            && self.searches_freely(&self.spec.sampler);
        if !is_open || repeated > 0 && !self.leads_by_earlier() {
            return None;
        }
        // a job that continues a trial, or for which there is no budget, needs no configuration
        let job = self.next_job().filter(|job| self.may_start(*job))?;
        if (job.trial as usize) < self.trials.len() || self.unknown.contains(&job.trial) {
            return None;
        }
        let Space::Parameters(space) = &self.spec.space else { return None };
        let own = self.queue.all().first();
        let cube = UnitCube::new(space.clone());
        let tried: Vec<_> = self.trials.iter().map(|trial| cube.point(&trial.configuration)).collect();
        let candidates = self.ranked_earlier()?;
        candidates.into_iter().find_map(|(run, earlier)| {
            let fitting = fit_to_space(space, &run.configuration, own)?;
            let point = cube.point(&fitting);
            let is_new =
                tried.iter().all(|other| point.iter().zip(other).any(|(a, b)| coordinates_differ(*a, *b)));
            is_new.then_some((fitting, earlier))
        })
    }

    /// Whether a configuration of somebody else has a place among the proposals: a grid is complete without it, replays and other tools choose
    /// their trials themselves, and samplers that learn from rewards draw every configuration.
    fn searches_freely(&self, sampler: &SamplerSpec) -> bool {
        !self.brings_sampler
            && !self.knowledge.is_replayed()
            && !sampler.is_rewarded()
            && sampler.name() != GridSampling::NAME
    }

    /// Whether the best trial so far repeats one of an earlier study, none of these runs, and the last proposal was another one.
    fn leads_by_earlier(&self) -> bool {
        self.progress.leader().is_some_and(|(best, _)| self.trials[best].earlier.is_some())
            && self.running.iter().all(|&index| self.trials[index].earlier.is_none())
            && self.trials.last().is_some_and(|last| last.earlier.is_none())
    }

    /// The completed runs of the newest earlier study with a parameter of this one, the best first. A study whose values don't differ
    /// says nothing, so it is passed over.
    fn ranked_earlier(&self) -> Option<Vec<(&Run, EarlierTrial)>> {
        let direction = self.spec.direction;
        let mut studies: Vec<(&str, Vec<(&Run, f64)>)> = Vec::new();
        for run in &self.warm_start {
            let Some(score) = self.spec.run_score.value_of(&run.curve) else { continue };
            // runs of a file of curves may be of any program, and only their curves are learned from
            let study = Some(split_lesson(&run.id).0).filter(|study| !study.is_empty());
            let Some(study) = study else { continue };
            match studies.iter_mut().find(|(name, _)| *name == study) {
                Some((_, runs)) => runs.push((run, score)),
                None => studies.push((study, vec![(run, score)])),
            }
        }
        let Space::Parameters(space) = &self.spec.space else { return None };
        // the newest comes last
        studies.into_iter().rev().find_map(|(_, mut runs)| {
            let longest = runs.iter().map(|(run, _)| last_step(run)).fold(0.0, f64::max);
            runs.retain(|(run, _)| last_step(run) >= longest);
            runs.sort_by(|a, b| b.1.total_cmp(&a.1));
            let (best, worst) = (runs.first()?.1, runs.last()?.1);
            let fits = runs.iter().any(|(run, _)| fit_to_space(space, &run.configuration, None).is_some());
            if best <= worst || !fits {
                return None;
            }
            let ranked = runs.into_iter().map(|(run, score)| {
                let (id, value) = (run.id.clone(), direction.to_value(score));
                (run, EarlierTrial { id, value, is_best: score >= best })
            });
            Some(ranked.collect())
        })
    }
}

fn last_step(run: &Run) -> f64 {
    run.curve.last_point().map_or(0.0, |(step, _)| step)
}

/// Whether two coordinates differ by enough; a value and none always do.
fn coordinates_differ(a: Option<f64>, b: Option<f64>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() >= MIN_DISTANCE,
        (None, None) => false,
        _ => true,
    }
}

/// `earlier` as a configuration of `space`: a value outside its range becomes the nearest one, a parameter that is new has the script's `own`
/// value or stays open, and one that is gone is dropped. `None` if no parameter is left, or the rest does not go together.
fn fit_to_space(
    space: &ParameterSpace,
    earlier: &Configuration,
    own: Option<&Configuration>,
) -> Option<Configuration> {
    let mut fitting = Configuration::new();
    let mut known = 0;
    for parameter in space.parameters() {
        let before = earlier.get(&parameter.name).and_then(|value| parameter.kind.nearest_value(value));
        known += usize::from(before.is_some());
        let value = before.or_else(|| own?.get(&parameter.name).cloned());
        if let Some(value) = value.filter(|_| parameter.applies_in(&fitting)) {
            fitting.insert(parameter.name.clone(), value);
        }
    }
    (known > 0 && space.check_part(&fitting).is_ok()).then_some(fitting)
}

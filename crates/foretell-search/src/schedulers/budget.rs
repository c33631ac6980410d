//! One default for a budget: which sampler, scheduler and policy spend it best.

use crate::defaults::DEFAULT_ETA as ETA;
use crate::schedulers::schedule::Schedule;
use crate::space::Space;
use crate::stopping::policy::Policy;

/// Rungs below the end: at R/9 and R/3.
const RUNGS: u32 = 2;

/// What spends a budget best, as measured by `benches/peers/budget.py`, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// Who is trained, and how far.
    pub schedule: Schedule,
    /// By what rule trials are stopped.
    pub policy: Policy,
    /// Why, in a sentence or two.
    pub why: String,
}

impl Choice {
    /// The choice for trials of `space` with up to `max_resource` each. With `checkpoints` a paused trial goes on from where it
    /// was; without, nobody is paused, so that no epoch is trained twice.
    pub fn new(space: &Space, max_resource: u64, checkpoints: bool) -> Self {
        let proposals = match space {
            Space::Parameters(_) => {
                "tpe-gp proposes in turn what resembles good trials and where a Gaussian process expects most"
            }
            Space::Metaqnn(_) => "networks are drawn at random",
            Space::Own(_) => "configurations are drawn at random",
        };
        if max_resource < ETA {
            let why = format!(
                "{proposals}; {max_resource} epoch(s) are too few for rungs: each trial is trained to its end"
            );
            return Self { schedule: Schedule::Full, policy: Policy::None, why };
        }
        let (schedule, policy, rungs) = if checkpoints {
            let schedule = Schedule::Asha { eta: ETA, rungs: Some(RUNGS) };
            let mut levels = schedule.levels(max_resource).unwrap_or_default();
            levels.pop();
            let again: u64 = levels.iter().sum();
            let rungs = format!(
                "asha trains the best third of each rung further, from its checkpoint (the first trial that has none trains its epochs again, at most {again}, and from then on no trial is paused; with `checkpoints` off, none is paused from the beginning)"
            );
            (schedule, Policy::None, rungs)
        } else {
            let rungs =
                "the policy asha stops at each rung who is not among the best third, and pauses nobody";
            (Schedule::Full, Policy::Asha(ETA), rungs.to_owned())
        };
        let why =
            format!("{proposals}; {rungs}; no rung lies below a ninth of a training, where ranks say little");
        Self { schedule, policy, why }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameter_space::ParameterSpace;

    #[test]
    fn every_choice_is_a_valid_study() {
        let space = Space::Parameters(ParameterSpace::parse(&["x=float:0:1"]).unwrap());
        for max_resource in [1, 2, 3, 8, 9, 100] {
            for checkpoints in [true, false] {
                let Choice { schedule, policy, why } = Choice::new(&space, max_resource, checkpoints);
                let study = crate::StudySpec {
                    schedule,
                    policy,
                    max_resource,
                    ..crate::StudySpec::new(space.clone(), "score", foretell::Direction::Maximize)
                };
                study.validate().unwrap();
                assert!(why.contains("tpe"));
                assert_eq!(why.contains("at most 44"), checkpoints && max_resource == 100);
            }
        }
    }
}

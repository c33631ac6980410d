//! Grid search: all combinations of the parameters' values, the last parameter varying fastest.

use super::known::text;
use super::worth::Worth;
use super::{IsAllowed, NamedSampler, Sampler, SamplerFamily};
use crate::limits::MAX_PLANNED_TRIALS;
use crate::parameter::Parameter;
use crate::parameter_space::ParameterSpace;
use crate::space::Space;
use foretell::Configuration;
use serde_json::Value as Json;
use std::collections::BTreeSet;

/// The most combinations of a grid.
const MAX_COMBINATIONS: u64 = 1 << 20;

/// All combinations, in order.
#[derive(Clone, Debug)]
struct GridCursor {
    all: Vec<Configuration>,
    /// Those before were tried.
    next: usize,
}

impl GridCursor {
    fn new(space: &ParameterSpace) -> Self {
        // a study of a larger space, or of one with real numbers, is refused
        Self { all: space.all(MAX_COMBINATIONS).unwrap_or_default(), next: 0 }
    }

    /// The first combination that `is_fitting` and is not tried. What does not fit now may do so later.
    fn next(
        &mut self,
        is_tried: impl Fn(&Configuration) -> bool,
        is_fitting: &IsAllowed<'_>,
    ) -> Option<Configuration> {
        while self.all.get(self.next).is_some_and(&is_tried) {
            self.next += 1;
        }
        self.all[self.next..].iter().find(|next| is_fitting(next) && !is_tried(next)).cloned()
    }
}

/// The first parameter without a finite number of values.
fn first_endless_parameter(space: &ParameterSpace) -> Option<&Parameter> {
    space.parameters().iter().find(|parameter| parameter.kind.value_count().is_none())
}

/// All combinations in order; parameters with a finite number of values only.
#[derive(Clone, Copy, Debug, Default)]
pub struct GridSampling;

impl NamedSampler for GridSampling {
    const NAME: &'static str = "grid";
    const ABOUT: &'static str =
        "Try all combinations in order (parameters with a step, choices and flags only).";
}

impl SamplerFamily for GridSampling {
    fn combinations(&self, space: &Space) -> Option<u64> {
        parameters(space).ok()?.all(MAX_PLANNED_TRIALS).map(|all| all.len() as u64)
    }

    fn check(&self, space: &Space) -> Result<(), String> {
        let space = parameters(space)?;
        if let Some(Parameter { name, kind, .. }) = first_endless_parameter(space) {
            return Err(format!(
                "it tries all values, but those of {name}={kind} are endless. Add a step, as in {kind}:STEP, or write choice:a,b,c"
            ));
        }
        match space.combinations() {
            Some(all) if all <= MAX_COMBINATIONS => Ok(()),
            _ => Err(format!(
                "it tries all combinations, but there are more than {MAX_COMBINATIONS}. Use fewer values, or another sampler"
            )),
        }
    }

    fn sampler(&self, _: &Json, space: &Space, _seed: u64) -> Result<Box<dyn Sampler>, String> {
        Ok(Box::new(GridSearch { grid: GridCursor::new(parameters(space)?), tried: BTreeSet::new() }))
    }
}

/// The parameters of `space`.
///
/// # Errors
/// The refusal of another space.
pub(super) fn parameters(space: &Space) -> Result<&ParameterSpace, String> {
    match space {
        Space::Parameters(space) => Ok(space),
        Space::Own(_) => {
            Err("it searches parameters, not layers. With the space metaqnn, choose random or q-learning"
                .to_owned())
        }
    }
}

/// All combinations in order, but for those that were tried already.
struct GridSearch {
    grid: GridCursor,
    /// The configurations tried, as JSON.
    tried: BTreeSet<String>,
}

impl Sampler for GridSearch {
    fn propose(&mut self, trial: u64) -> Option<Configuration> {
        self.propose_allowed(trial, &|_| true)
    }

    fn propose_allowed(&mut self, _trial: u64, is_allowed: &IsAllowed<'_>) -> Option<Configuration> {
        self.grid.next(|next| text(next).is_some_and(|text| self.tried.contains(&text)), is_allowed)
    }

    fn observe_start(&mut self, _trial: u64, configuration: &Configuration) {
        self.tried.extend(text(configuration));
    }

    fn learn(&mut self, _trial: u64, _configuration: &Configuration, _worth: Worth) {}

    fn observe_failure(&mut self, _trial: u64, _configuration: &Configuration) {}
}

//! Grid search: all combinations of the parameters' values, the last parameter varying fastest.

use crate::parameter::Parameter;
use crate::parameter_space::ParameterSpace;
use foretell::Configuration;

/// The most combinations of a grid.
pub(crate) const MOST: u64 = 1 << 20;

/// All combinations, in order.
#[derive(Clone, Debug)]
pub(super) struct Grid {
    all: Vec<Configuration>,
    /// Those before were tried.
    next: usize,
}

impl Grid {
    pub(super) fn new(space: &ParameterSpace) -> Self {
        // a study of a larger space, or of one with real numbers, is refused
        Self { all: space.all(MOST).unwrap_or_default(), next: 0 }
    }

    /// The first combination for which `is_new` holds.
    pub(super) fn next(&mut self, is_new: impl Fn(&Configuration) -> bool) -> Option<Configuration> {
        while self.all.get(self.next).is_some_and(|next| !is_new(next)) {
            self.next += 1;
        }
        self.all.get(self.next).cloned()
    }
}

/// The first parameter without a finite number of values.
pub(crate) fn endless(space: &ParameterSpace) -> Option<&Parameter> {
    space.parameters().iter().find(|parameter| parameter.kind.values().is_none())
}

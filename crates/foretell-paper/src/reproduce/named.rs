//! Names without repeats.

use std::collections::BTreeSet;

/// The different names, in the order in which they appear.
pub(super) fn distinct<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = BTreeSet::new();
    names.into_iter().filter(|name| seen.insert(*name)).collect()
}

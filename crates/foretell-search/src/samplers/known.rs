//! Configurations that were proposed before.

use crate::parameter_space::ParameterSpace;
use foretell::Configuration;

/// A space of so many configurations is looked through for one that was not proposed.
const MAX_LISTED_CONFIGURATIONS: u64 = 1 << 16;

/// A configuration of a space in which hardly one is left that `is_fitting`: allowed, and not tried; `None` if there is none. In a space
/// too large to be looked through it is `repeated`.
pub(super) fn find_untried(
    space: &ParameterSpace,
    is_fitting: impl Fn(&Configuration) -> bool,
    repeated: Option<Configuration>,
) -> Option<Configuration> {
    match space.all(MAX_LISTED_CONFIGURATIONS) {
        Some(all) => all.into_iter().find(is_fitting),
        None => repeated,
    }
}

pub(super) fn text(configuration: &Configuration) -> Option<String> {
    serde_json::to_string(configuration).ok()
}

//! What the names of predictors, samplers, policies and spaces mean in this process. Its flags are made once, and so is this.

use foretell_search::Catalogue;
use std::sync::OnceLock;

static CATALOGUE: OnceLock<Catalogue> = OnceLock::new();

/// The catalogue of this process.
pub(crate) fn catalogue() -> &'static Catalogue {
    CATALOGUE.get_or_init(usual)
}

/// The catalogue of the command as it is built.
#[cfg(feature = "paper")]
pub(crate) fn usual() -> Catalogue {
    foretell_paper::catalogue()
}

/// The catalogue of the command as it is built.
#[cfg(not(feature = "paper"))]
pub(crate) fn usual() -> Catalogue {
    Catalogue::default()
}

/// Makes `catalogue` that of this process, unless there is one.
pub(crate) fn set(catalogue: &Catalogue) {
    // a second command of one process has the flags of the first
    let _ = CATALOGUE.set(catalogue.clone());
}

//! The processes that run the trials of a study: a trainer, over whatever link, and workers elsewhere.

pub(crate) mod executor;
pub(crate) mod trainer;
pub(crate) mod worker;

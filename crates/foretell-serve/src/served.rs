//! What all requests share.

use std::path::PathBuf;

use crate::folder;
use crate::options::Options;
use crate::owner::Owner;
use crate::problem::Problem;
use crate::views::Views;

/// What all requests share.
pub(crate) struct Served {
    pub(crate) options: Options,
    pub(crate) owner: Owner,
    pub(crate) views: Views,
}

impl Served {
    pub(crate) fn new(options: Options) -> Self {
        Self { owner: Owner::new(options.folder.clone(), options.lease), views: Views::default(), options }
    }

    /// The log of the study called `name`.
    pub(crate) fn log(&self, name: &str) -> Result<PathBuf, Problem> {
        folder::log(&self.options.folder, name).ok_or_else(|| Problem::no_study(name))
    }
}

/// Runs `work`, which may take a while, on a thread of its own, so that other requests are answered meanwhile.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(_) => Err(Problem::midway(
            &"a calculation panicked; its message is on standard error: please report it",
        )),
    }
}

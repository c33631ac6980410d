//! State that all requests share.

use std::path::PathBuf;

use crate::folder;
use crate::folds::Folds;
use crate::options::Options;
use crate::owner::Owner;
use crate::problem::Problem;

/// State that all requests share.
pub(crate) struct Served {
    pub(crate) options: Options,
    pub(crate) owner: Owner,
    pub(crate) folds: Folds,
}

impl Served {
    pub(crate) fn new(options: Options) -> Self {
        Self { owner: Owner::new(&options), folds: Folds::new(&options.catalogue), options }
    }

    /// The studies' names and logs.
    pub(crate) fn studies(&self) -> Result<Vec<(String, PathBuf)>, Problem> {
        folder::there(&self.options.folder)?;
        Ok(folder::studies(&self.options.folder))
    }

    /// The name and the log of the study that was written last: the running one, if any runs.
    pub(crate) fn latest(&self) -> Option<(String, PathBuf)> {
        let changed = |log: &PathBuf| std::fs::metadata(log).and_then(|data| data.modified()).ok();
        folder::studies(&self.options.folder).into_iter().max_by_key(|(_, log)| changed(log))
    }

    /// Reads that study. Its errors are reported to whoever asks for it.
    pub(crate) fn read_latest(&self) {
        if let Some((name, log)) = self.latest() {
            let _ = self.folds.read(&name, &log, |_, _| ());
        }
    }

    /// The log of the study called `name`.
    pub(crate) fn log(&self, name: &str) -> Result<PathBuf, Problem> {
        folder::log(&self.options.folder, name)
    }
}

/// Runs `work`, which may take a while, on a thread of its own, so that other requests are answered meanwhile.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(_) => Err(Problem::midway(
            &"a calculation panicked. Its message is on standard error; please report it",
        )),
    }
}

//! State that all requests share.

use std::path::PathBuf;

use crate::folder;
use crate::folds::StudyFolds;
use crate::options::ServeOptions;
use crate::owner::StudyOwner;
use crate::problem::RequestProblem;

/// State that all requests share.
pub(crate) struct ServerState {
    pub(crate) options: ServeOptions,
    pub(crate) owner: StudyOwner,
    pub(crate) folds: StudyFolds,
}

impl ServerState {
    pub(crate) fn new(options: ServeOptions) -> Self {
        Self { owner: StudyOwner::new(&options), folds: StudyFolds::new(&options.catalogue), options }
    }

    /// The studies' names and logs.
    pub(crate) fn studies(&self) -> Result<Vec<(String, PathBuf)>, RequestProblem> {
        folder::there(&self.options.folder)?;
        Ok(folder::studies(&self.options.folder))
    }

    /// The name and the log of the study that was written last: the running one, if any runs.
    pub(crate) fn latest(&self) -> Option<(String, PathBuf)> {
        let studies = folder::studies(&self.options.folder).into_iter();
        studies.max_by_key(|(_, log)| std::fs::metadata(log).and_then(|data| data.modified()).ok())
    }

    /// Reads that study. Its errors are reported to whoever asks for it.
    pub(crate) fn read_latest(&self) {
        if let Some((name, log)) = self.latest() {
            let _ = self.folds.read(&name, &log, |_, _| ());
        }
    }

    /// The log of the study called `name`.
    pub(crate) fn log(&self, name: &str) -> Result<PathBuf, RequestProblem> {
        folder::log(&self.options.folder, name)
    }
}

/// Runs `work`, which may take a while, on a thread of its own, so that other requests are answered meanwhile.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, RequestProblem> + Send + 'static,
) -> Result<T, RequestProblem> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(_) => Err(RequestProblem::midway(
            &"a calculation panicked. Its message is on standard error; please report it",
        )),
    }
}

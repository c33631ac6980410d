//! A build without the server: trials run on this machine alone.

use super::flags::SearchArguments;
use super::study_run::StudyRun;
use crate::asked::RecordedCommand;
use crate::failure::{CommandResult, Failure};
use crate::interrupt::Interrupt;
use std::path::Path;
use std::time::Duration;

/// The access of other machines to a search: none.
pub(super) struct Fleet;

/// There are no jobs to wait for.
pub(super) const JOB_END_TIMEOUT: Duration = Duration::ZERO;

impl Fleet {
    /// Refuses flags that need the server.
    pub(super) fn open(
        search: StudyRun,
        arguments: &SearchArguments,
        _interrupt: &Interrupt,
    ) -> Result<(StudyRun, Option<Self>), Failure> {
        let control = &arguments.control;
        if control.serve.is_some() || control.on.is_some() {
            return Err(Failure::input(
                "--serve and --on: this program was built without the server. Build it with the feature `serve`",
            ));
        }
        Ok((search, None))
    }

    /// Nothing would be started.
    pub(super) fn explain_engine(
        _arguments: &SearchArguments,
        _directory: &Path,
    ) -> Result<Option<String>, Failure> {
        Ok(None)
    }

    /// Nobody else owns a study.
    pub(super) fn hand_over(
        _arguments: &SearchArguments,
        _asked: &RecordedCommand,
        _directory: &Path,
    ) -> Result<bool, Failure> {
        Ok(false)
    }

    /// There is nothing to end.
    pub(super) fn end(self) -> CommandResult {
        Ok(())
    }
}

//! The reports of a trial that was killed, or whose search was, before they were read: they are still in the file that it appended to.

use std::path::PathBuf;

use foretell_logs::printed::{Report, ReportReader};
use foretell_search::SourcePosition;

use crate::fleet::executor::UnreadReports;
use crate::process::followed::FollowedFile;
use crate::process::output::OutputLine;

/// The number of bytes read at a time.
const BUFFER_BYTES: usize = 64 * 1024;

/// What the file at `path` has from `position` on, read by `reports`: the reports after that of step `reported`.
pub(crate) fn read_unread(
    path: PathBuf,
    position: SourcePosition,
    reported: Option<u64>,
    mut reports: ReportReader,
) -> UnreadReports {
    let name = path.display().to_string();
    let (mut followed, is_found) = FollowedFile::resume_at(path, position);
    let lost = (!is_found).then(|| {
        format!(
            "{name} is another file than the one that was read until step {}: values that were written to that one since are lost. Let the script append to its file",
            position.after
        )
    });
    followed.read_header().iter().for_each(|header| reports.read_header(header));
    let mut read: Vec<Report> = Vec::new();
    let mut buffer = vec![0; BUFFER_BYTES];
    // what is no file any more is refused when the trial starts
    while let Ok(count @ 1..) = followed.read_new_bytes(&mut buffer, true) {
        followed.lines.push(&buffer[..count], |OutputLine { bytes, cut, transient, .. }| {
            let take = if transient { ReportReader::read_transient } else { ReportReader::read };
            if !cut {
                read.extend(take(&mut reports, bytes).into_iter().flatten());
            }
        });
    }
    read.extend(reports.flush().into_iter().flatten());
    read.retain(|report| report.training == 0 && reported.is_none_or(|last| report.step > last));
    UnreadReports { reports: read, lost }
}

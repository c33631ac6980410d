//! Differences between an existing study and the requested one.

use super::described_study::DEFAULT_STUDIES_FOLDER;
use super::flags::SearchArguments;
use crate::asked::{RecordedCommand, quote_for_shell};
use crate::failure::Failure;
use foretell_search::{FieldDifference, StudySpec, redact_words};
use std::path::Path;

/// Names the settings in which the study in `directory` differs from the one that was asked for, of those that may not
/// change. `new_study` is a command that starts the study elsewhere.
pub(super) fn refuse_other_study(
    directory: &Path,
    there: &StudySpec,
    asked: &StudySpec,
    new_study: Option<&str>,
) -> Failure {
    let parts: Vec<String> = there.conflicts(asked).iter().flat_map(FieldDifference::in_words).collect();
    let way_on = new_study
        .map_or(String::new(), |command| format!(" To start a new study that learns from it:\n  {command}"));
    Failure::input(format!(
        "{}: contains another study. Yours differs in: {}.{way_on}",
        directory.display(),
        parts.join(", "),
    ))
}

/// The command that was `asked` for with another folder instead of `directory`, for a study that learns from the one there.
pub(super) fn new_study(asked: &RecordedCommand, arguments: &SearchArguments, directory: &Path) -> String {
    let free = (2..).map(|number| format!("{}-{number}", directory.display()));
    let folder = free.into_iter().find(|folder| !Path::new(folder).exists()).unwrap_or_default();
    let place = match arguments.name {
        Some(_) => [
            "--name".to_owned(),
            folder.trim_start_matches(DEFAULT_STUDIES_FOLDER).trim_start_matches('/').to_owned(),
        ],
        None => ["--out".to_owned(), folder],
    };
    let own = asked.line.iter().position(|word| word == "--").unwrap_or(asked.line.len());
    let (flags, command) = asked.line.split_at(own);
    let is_place = |word: &str| word == "--name" || word == "--out";
    let was_place = |at: usize| {
        let word = &flags[at];
        is_place(word.split('=').next().unwrap_or_default()) || (at > 0 && is_place(&flags[at - 1]))
    };
    let kept = (2..flags.len()).filter(|at| !was_place(*at)).map(|at| flags[at].clone());
    let mut words = vec!["foretell".to_owned(), "search".to_owned()];
    words.extend(place);
    words.extend(["--learn-from".to_owned(), directory.display().to_string()]);
    words.extend(kept);
    words.extend_from_slice(command);
    quote_for_shell(&redact_words(&words))
}

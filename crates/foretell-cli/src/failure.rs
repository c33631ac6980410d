//! Failures of a command: one message on standard error, exit code 2 for bad input and 1 for the rest.

use crate::terminal::note;
use clap::error::ErrorKind;
use std::fmt::Display;
use std::path::Path;

/// The reason why a command failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The user can fix it: wrong usage or bad input. Exit code 2.
    Input(String),
    /// Something went wrong on the way. Exit code 1.
    Midway(String),
    /// The program was asked to end. The exit code is that of a shell: 128 and the signal's number.
    Interrupted(String, u8),
}

impl Failure {
    /// Bad input, described by `error`.
    pub(crate) fn input(error: impl Display) -> Self {
        Self::Input(error.to_string())
    }

    /// A failure midway, described by `error`.
    pub(crate) fn midway(error: impl Display) -> Self {
        Self::Midway(error.to_string())
    }

    /// A failure midway with the file or folder at `path`.
    pub(crate) fn midway_at(path: &Path, error: impl Display) -> Self {
        Self::Midway(format!("{}: {error}", path.display()))
    }

    /// The message.
    pub(crate) fn message(&self) -> &str {
        let (Self::Input(message) | Self::Midway(message) | Self::Interrupted(message, _)) = self;
        message
    }

    /// Prints the message and gives the exit code.
    pub(crate) fn report(self) -> u8 {
        note(&format!("error: {}", self.message()));
        match self {
            Self::Input(_) => 2,
            Self::Midway(_) => 1,
            Self::Interrupted(_, code) => code,
        }
    }
}

impl From<foretell_run::StoredError> for Failure {
    fn from(error: foretell_run::StoredError) -> Self {
        Self::input(error)
    }
}

/// The result of every command.
pub(crate) type CommandResult = Result<(), Failure>;

/// `, did you mean X?` where one of the `known` names is near `name`.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let near = known.into_iter().map(|known| (strsim::damerau_levenshtein(name, known), known));
    let near = near.filter(|(distance, known)| distance * 3 <= known.len().max(3)).min();
    near.map_or(String::new(), |(_, known)| format!(", did you mean `{known}`?"))
}

/// The error that clap found, in one line, without its advice on usage.
pub(crate) fn brief(error: &clap::Error) -> String {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        return "help and version are for the command line only. Leave the key out".to_owned();
    }
    let text = error.to_string();
    let said = text.split("\n\nUsage").next().unwrap_or_default();
    let said = said.split("\n\nFor more").next().unwrap_or_default();
    let words: Vec<&str> = said.trim_start_matches("error: ").split_whitespace().collect();
    words.join(" ")
}

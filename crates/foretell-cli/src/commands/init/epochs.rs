//! The number of epochs of a whole training, and the signs it is known from.

/// The number of epochs of a whole training, by how it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Epochs {
    /// The training reported this many until its end; the options may name another number.
    Watched { reported: u64, options: Option<u64> },
    /// The output names them; a training that was watched to its end may have ended earlier.
    Announced { epochs: u64, reported: Option<u64> },
    /// The options name them; no training was watched to its end.
    Options(u64),
    /// The options name them; the training that was watched stopped early by itself.
    Early { epochs: u64, reported: u64 },
    /// The user answered a question.
    Said(u64),
    /// The number is unknown.
    Unknown,
}

/// The number written if it is unknown.
const GUESS: u64 = 10;

impl Epochs {
    /// From the epochs `reported` until the end, those `announced` by the output, and those named by the `options`; `stopped` if the output
    /// mentions early stopping.
    pub(super) fn from_signs(
        reported: Option<u64>,
        announced: Option<u64>,
        options: Option<u64>,
        stopped: bool,
    ) -> Self {
        match (reported, announced, options) {
            (Some(reported), announced, Some(epochs))
                if epochs > reported && (stopped || announced.is_some_and(|epochs| epochs > reported)) =>
            {
                Self::Early { epochs, reported }
            }
            (Some(reported), Some(epochs), None) if epochs > reported => {
                Self::Announced { epochs, reported: Some(reported) }
            }
            (Some(reported), _, options) => {
                Self::Watched { reported, options: options.filter(|&other| other != reported) }
            }
            // a header such as `Epoch 0/7` may mean seven epochs or eight: an option is sure
            (None, _, Some(epochs)) => Self::Options(epochs),
            (None, Some(epochs), None) => Self::Announced { epochs, reported: None },
            (None, None, None) => Self::Unknown,
        }
    }

    /// The number, if it is known.
    pub(super) fn number(self) -> Option<u64> {
        match self {
            Self::Watched { reported, .. } => Some(reported),
            Self::Announced { epochs, .. }
            | Self::Options(epochs)
            | Self::Early { epochs, .. }
            | Self::Said(epochs) => Some(epochs),
            Self::Unknown => None,
        }
    }

    /// The number to write, and a comment on how far it can be trusted.
    pub(super) fn written(self) -> (u64, String) {
        let comment = match self {
            Self::Watched { options: None, .. } => "as reported by the test run, which completed".to_owned(),
            Self::Watched { reported, options: Some(options) } => format!(
                "the test run completed after {reported}, but its options set {options}; use that if it stopped early"
            ),
            Self::Announced { reported: None, .. } => "from its output".to_owned(),
            Self::Announced { reported: Some(reported), .. } => {
                format!("from its output; the test run ended after {reported}")
            }
            Self::Options(_) => "from its options; the test run did not complete".to_owned(),
            Self::Early { reported, .. } => {
                format!("from its options; the test run stopped early after {reported}")
            }
            Self::Said(_) => "as you answered".to_owned(),
            Self::Unknown => format!(
                "IN DOUBT: neither its output nor its options show the number, and the test run did not complete. {GUESS} is a guess; longer trials are ended there"
            ),
        };
        (self.number().unwrap_or(GUESS), format!("epochs of a full trial: {comment}"))
    }
}

#[cfg(test)]
mod tests {
    use super::Epochs;

    #[test]
    fn what_was_seen_comes_before_what_is_said_and_doubt_is_named() {
        let cases = [
            ((Some(12), None, None), 12, "which completed"),
            ((Some(7), None, Some(12)), 7, "its options set 12"),
            ((Some(12), Some(12), Some(12)), 12, "which completed"),
            ((Some(7), Some(12), Some(12)), 12, "stopped early after 7"),
            ((Some(7), Some(12), None), 12, "ended after 7"),
            ((None, Some(7), Some(8)), 8, "from its options"),
            ((None, Some(12), None), 12, "from its output"),
            ((None, None, Some(15)), 15, "did not complete"),
            ((None, None, None), 10, "IN DOUBT"),
        ];
        for ((reported, announced, options), number, comment) in cases {
            let (written, said) = Epochs::from_signs(reported, announced, options, false).written();
            assert!(written == number && said.contains(comment), "{written}: {said}");
        }
        let (written, said) = Epochs::from_signs(Some(7), None, Some(12), true).written();
        assert!(written == 12 && said.contains("stopped early after 7"), "{written}: {said}");
    }
}

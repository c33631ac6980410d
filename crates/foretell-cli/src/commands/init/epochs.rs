//! The number of epochs of a whole training, R, as far as it is proven, and what it may be otherwise.

/// The number of epochs of a whole training, by how it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EpochCount {
    /// The training reported this many until its end; the options may name another number.
    Watched { reported: u64, options: Option<u64> },
    /// The library that reports the values was asked for so many.
    Library(u64),
    /// A training whose option was set to `tried` completed at step `last`, so that the option's own value makes so many `epochs`.
    Tried { epochs: u64, tried: u64, last: u64 },
    /// The user answered a question.
    Said(u64),
    /// Nothing proves it: it may be the number of the `option`, or the one that was `seen`.
    Open { option: Option<u64>, seen: Option<u64> },
}

impl EpochCount {
    /// From the epochs `reported` until the end, those that the `library` was asked for, those `announced` by the output, and those named by the
    /// `options`; `stopped` if the output mentions early stopping.
    pub(super) fn from_signs(
        reported: Option<u64>,
        library: Option<u64>,
        announced: Option<u64>,
        options: Option<u64>,
        stopped: bool,
    ) -> Self {
        let named = options.or(announced);
        match (reported, library) {
            // a training that stopped early does not show how long others are
            (Some(reported), _)
                if named.is_some_and(|named| named > reported)
                    && (stopped || announced.is_some_and(|announced| announced > reported)) =>
            {
                Self::Open { option: named, seen: Some(reported) }
            }
            (Some(reported), _) => {
                Self::Watched { reported, options: options.filter(|&other| other != reported) }
            }
            (None, Some(library)) => Self::Library(library),
            (None, None) => {
                Self::Open { option: options, seen: announced.filter(|&seen| options != Some(seen)) }
            }
        }
    }

    /// The number if the training with the option at `tried` completed after `last` steps, and the option's own value is `option`.
    pub(super) fn from_try(option: u64, tried: u64, last: u64) -> Option<Self> {
        let all = last.checked_mul(option)?;
        let is_whole = tried > 0 && all > 0 && all.is_multiple_of(tried);
        is_whole.then(|| Self::Tried { epochs: all / tried, tried, last })
    }

    /// The number, if it is proven.
    pub(super) fn number(self) -> Option<u64> {
        match self {
            Self::Watched { reported: epochs, .. }
            | Self::Library(epochs)
            | Self::Tried { epochs, .. }
            | Self::Said(epochs) => Some(epochs),
            Self::Open { .. } => None,
        }
    }

    /// Where the number comes from, or what it may be.
    pub(super) fn comment(self) -> String {
        let comment = match self {
            Self::Watched { options: None, .. } => "as reported by the test run, which completed".to_owned(),
            Self::Watched { reported, options: Some(options) } if reported > options => format!(
                "as reported by the test run, which completed; its options set {options}, which are other units"
            ),
            Self::Watched { reported, options: Some(options) } => format!(
                "the test run completed after {reported}, but its options set {options}; use that if it stopped early"
            ),
            Self::Library(_) => "as the library was asked for".to_owned(),
            Self::Tried { epochs, tried, last } if epochs.checked_mul(tried) != last.checked_mul(epochs) => {
                let (noun, each) = (if tried == 1 { "epoch" } else { "epochs" }, last / tried);
                format!("a run of {tried} {noun} ended at step {last}, so these are steps, {each} per epoch")
            }
            Self::Tried { tried, .. } => {
                let noun = if tried == 1 { "epoch" } else { "epochs" };
                format!("from its options; a run of {tried} {noun} ended at step {tried}, so both are epochs")
            }
            Self::Said(_) => "as you answered".to_owned(),
            Self::Open { option, seen } => {
                let option = option.map(|option| format!("{option}, as its options or its output say"));
                let seen = seen.map(|seen| format!("{seen}, as the values that were read suggest"));
                let may_be: Vec<String> = option.into_iter().chain(seen).collect();
                let may_be = match may_be.is_empty() {
                    true => String::new(),
                    false => format!(". It may be {}", may_be.join(", or ")),
                };
                format!(
                    "not proven, because no run completed, so it is left out: the first trial shows it, and no trial is stopped before{may_be}"
                )
            }
        };
        format!("epochs of a full trial: {comment}")
    }

    /// The line of the study file: a comment where nothing is proven.
    pub(super) fn line(self) -> String {
        match (self, self.number()) {
            (_, Some(epochs)) => format!("epochs = {epochs}"),
            (Self::Open { option, seen }, None) => {
                option.or(seen).map_or("# epochs = 10".to_owned(), |epochs| format!("# epochs = {epochs}"))
            }
            (_, None) => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::EpochCount;

    #[test]
    fn only_what_a_run_has_shown_is_written() {
        let signs = |reported, library, announced, options| {
            EpochCount::from_signs(reported, library, announced, options, false)
        };
        let cases = [
            (signs(Some(12), None, None, None), Some(12), "which completed"),
            (signs(Some(7), None, None, Some(12)), Some(7), "its options set 12"),
            (signs(Some(12), None, Some(12), Some(12)), Some(12), "which completed"),
            (
                signs(Some(7), None, Some(12), Some(12)),
                None,
                "It may be 12, as its options or its output say, or 7",
            ),
            (signs(None, Some(9), Some(7), Some(8)), Some(9), "as the library was asked for"),
            (signs(None, None, Some(7), Some(8)), None, "It may be 8"),
            (signs(None, None, Some(12), None), None, "or 12"),
            (signs(None, None, None, None), None, "the first trial shows it"),
            (EpochCount::from_signs(Some(7), None, None, Some(12), true), None, "or 7"),
        ];
        for (epochs, number, comment) in cases {
            assert_eq!(epochs.number(), number, "{epochs:?}");
            let said = epochs.comment();
            assert!(said.contains(comment.trim_start_matches("or ")), "{epochs:?}: {said}");
            assert_eq!(epochs.line().starts_with('#'), number.is_none(), "{epochs:?}");
        }
    }

    #[test]
    fn a_run_of_two_epochs_shows_the_unit() {
        let tried = |option, tried, last| {
            EpochCount::from_try(option, tried, last).map(|epochs| (epochs.number(), epochs.comment()))
        };
        let (steps, said) = tried(8, 2, 600).expect("steps");
        assert!(steps == Some(2400) && said.contains("300 per epoch"), "{said}");
        let (epochs, said) = tried(8, 2, 2).expect("epochs");
        assert!(epochs == Some(8) && said.contains("both are epochs"), "{said}");
        assert_eq!(tried(3, 2, 5), None, "no whole number");
    }
}

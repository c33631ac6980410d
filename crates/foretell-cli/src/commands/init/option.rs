//! An option of a training script, as its parser, its help or its source describes it.

/// The values that an option takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum OptionType {
    #[default]
    Unknown,
    Whole,
    Real,
    Truth,
    Text,
}

/// How a value is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum OptionStyle {
    /// `--lr 0.1`
    #[default]
    Separate,
    /// `--lr=0.1`
    Joined,
    /// `lr=0.1`
    Word,
    /// In a configuration file, not in the command.
    File,
}

/// An option of the script.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ScriptFlag {
    /// Without dashes, `-` as `_`.
    pub(super) name: String,
    /// How it is written in the command: `--lr`, or `lr`.
    pub(super) flag: String,
    /// As text; `None` where it is not known.
    pub(super) default: Option<String>,
    pub(super) choices: Vec<String>,
    pub(super) values: OptionType,
    /// Whether it takes several values.
    pub(super) is_list: bool,
    /// Whether it takes none.
    pub(super) is_flag: bool,
    pub(super) style: OptionStyle,
    /// The smallest and the largest value it takes.
    pub(super) range: Option<(f64, f64)>,
    /// The sub-commands that it belongs to, outermost first.
    pub(super) level: Vec<String>,
    /// Whether a library defines it for all scripts.
    pub(super) is_foreign: bool,
}

impl ScriptFlag {
    /// The option that is written `flag`.
    pub(super) fn new(flag: &str) -> Self {
        Self { name: plain_name(flag), flag: flag.to_owned(), ..Self::default() }
    }

    /// The words of its name, without the levels above it: of `model.hidden-dim` these are `hidden` and `dim`.
    pub(super) fn words(&self) -> Vec<String> {
        let last = self.name.rsplit('.').next().unwrap_or_default().to_lowercase();
        last.split(['_', '-']).filter(|word| !word.is_empty()).map(str::to_owned).collect()
    }

    /// The default as a number.
    pub(super) fn number(&self) -> Option<f64> {
        self.default.as_ref().and_then(|text| text.parse::<f64>().ok()).filter(|number| number.is_finite())
    }

    /// Whether the script leaves it open by default: `None`.
    pub(super) fn is_none(&self) -> bool {
        self.default.as_ref().is_some_and(|text| ["none", "null", ""].contains(&text.to_lowercase().as_str()))
    }

    /// The values of its default, if that is a list.
    pub(super) fn list(&self) -> Vec<String> {
        let text = self.default.as_deref().unwrap_or_default().trim();
        let inner =
            ["[]", "()"].iter().find_map(|pair| text.strip_prefix(&pair[..1])?.strip_suffix(&pair[1..]));
        let parts = inner.unwrap_or(text).split([',', ' ']).map(|part| part.trim().trim_matches(['"', '\'']));
        parts.filter(|part| !part.is_empty()).map(str::to_owned).collect()
    }

    /// The type, also by the default and the choices.
    pub(super) fn type_of(&self) -> OptionType {
        let default = self.default.as_deref().unwrap_or_default();
        let truths = !self.choices.is_empty()
            && self.choices.iter().all(|choice| {
                is_truth_word(choice) || ["null", "none"].contains(&choice.to_lowercase().as_str())
            });
        if self.is_flag || is_truth_word(default) || truths {
            return OptionType::Truth;
        }
        match (self.values, default.parse::<i64>().is_ok(), default.parse::<f64>().is_ok()) {
            (OptionType::Unknown, true, _) => OptionType::Whole,
            (OptionType::Unknown, false, true) => OptionType::Real,
            (known, ..) => known,
        }
    }

    /// The words that give it the value of `placeholder`.
    pub(super) fn words_with_value(&self, placeholder: &str) -> Vec<String> {
        match self.style {
            OptionStyle::Separate if !self.is_flag => vec![self.flag.clone(), placeholder.to_owned()],
            OptionStyle::Separate | OptionStyle::Joined | OptionStyle::Word | OptionStyle::File => {
                vec![format!("{}={placeholder}", self.flag)]
            }
        }
    }
}

fn is_truth_word(text: &str) -> bool {
    ["true", "false", "yes", "no"].contains(&text.to_lowercase().as_str())
}

/// The options that are known of a script.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct KnownOptions {
    pub(super) options: Vec<ScriptFlag>,
    /// The names of positional arguments, in order.
    pub(super) positional: Vec<String>,
    /// The sub-commands in use, outermost first.
    pub(super) used: Vec<String>,
    /// The length of a training, as a library was asked for it.
    pub(super) length: Option<u64>,
    /// The length of the loop that prints the metric.
    pub(super) looped: Option<u64>,
    /// Whether the batch size changes how many values the metric has.
    pub(super) counts_batches: bool,
    /// The message with which the parser refused the command.
    pub(super) refused: Option<String>,
}

/// The name of an option without its dashes, `-` as `_`.
pub(super) fn plain_name(flag: &str) -> String {
    flag.trim_start_matches('-').replace('-', "_")
}

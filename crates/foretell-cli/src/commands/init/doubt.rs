//! A doubt about the study file: the doubtful setting, its line, and the text to write there.

/// A possible text of the line in doubt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LineChoice {
    /// The lines to write: `metric = "val_acc"`, `maximize = true`.
    pub(super) lines: Vec<String>,
    /// What that means: the values that would be read.
    pub(super) meaning: String,
}

/// A reason why a person should look at the study file before the search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Doubt {
    /// What is in doubt.
    pub(super) what: String,
    /// The line of the study file that it is about: `metric`.
    pub(super) line: &'static str,
    /// What may be written there, as it is now first.
    pub(super) choices: Vec<LineChoice>,
    /// What else can be done, in a sentence; empty if a choice is all.
    pub(super) advice: String,
}

impl LineChoice {
    /// The choice of the series `metric` of a `library`, or of the printed output.
    pub(super) fn of_series(
        metric: &str,
        library: Option<&str>,
        minimize: Option<bool>,
        meaning: String,
    ) -> Self {
        let metric = format!("metric = {}", toml::Value::String(metric.to_owned()));
        let source = library.map(|library| format!("source = {}", toml::Value::String(library.to_owned())));
        let way =
            minimize.map(|minimize| if minimize { "minimize = true" } else { "maximize = true" }.to_owned());
        Self { lines: std::iter::once(metric).chain(source).chain(way).collect(), meaning }
    }
}

impl Doubt {
    /// A doubt without a choice: what to do is in the `advice`.
    pub(super) fn with_advice(what: String, line: &'static str, advice: String) -> Self {
        Self { what, line, choices: Vec::new(), advice }
    }

    /// The doubt and its advice, in one line.
    pub(super) fn in_words(&self) -> String {
        let Self { what, line, choices, advice } = self;
        let written = choices.iter().map(|LineChoice { lines, meaning }| {
            let meaning = if meaning.is_empty() { String::new() } else { format!(" ({meaning})") };
            format!("{}{meaning}", lines.join(", "))
        });
        let written = written.collect::<Vec<_>>().join("; or ");
        let choice = if written.is_empty() { String::new() } else { format!(". Write {written}") };
        let advice = if advice.is_empty() { String::new() } else { format!(". {advice}") };
        format!("{what} (line {line}){choice}{advice}")
    }
}

#[cfg(test)]
mod tests {
    use super::{Doubt, LineChoice};

    #[test]
    fn a_doubt_names_its_line_and_what_to_write() {
        let choice =
            |name: &str, meaning: &str| LineChoice::of_series(name, None, Some(true), meaning.to_owned());
        let choices = vec![choice("a loss", "0.5, 0.4"), choice("b loss", "0.6, 0.3")];
        let doubt =
            Doubt { what: "two series are alike".to_owned(), line: "metric", choices, advice: String::new() };
        assert_eq!(
            doubt.in_words(),
            "two series are alike (line metric). Write metric = \"a loss\", minimize = true (0.5, 0.4); or metric = \"b loss\", minimize = true (0.6, 0.3)"
        );
    }
}

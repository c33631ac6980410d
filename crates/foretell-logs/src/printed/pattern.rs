//! The `--metric` pattern: a regular expression that finds a metric's values in the output of a trial.

use regex::bytes::{Captures, Match, Regex, RegexBuilder};
use regex_syntax::ast::{self, Ast, Visitor};
use std::ops::Range;
use thiserror::Error;

use super::number::{PrintedNumber, reading_at};
use super::report::{ReportProblem, whole_step};
use super::words;

/// The named group that holds the step.
const STEP_GROUP: &str = "step";
/// The value of a training that diverged.
const NOT_FINITE: &str = r"[-+]?(?i:nan|inf(?:inity)?)\b";

/// Why a pattern was refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PatternError {
    /// The pattern is no regular expression.
    #[error("the metric pattern `{pattern}` is not a regular expression: {problem}")]
    Syntax {
        /// The pattern.
        pattern: String,
        /// The problem with it.
        problem: String,
    },
    /// A place of a template is not closed.
    #[error(
        "the closing brace is missing in `{pattern}`. Write {{value}} in the place of the value, and {{step}} in that of the epoch"
    )]
    Brace {
        /// The pattern.
        pattern: String,
    },
    /// The pattern is a name, which finds its epochs by itself.
    #[error(
        "--step needs a metric that is a line or a pattern, but `{metric}` is a name. Write '{metric} {{value}}', or leave --step out"
    )]
    Step {
        /// The metric.
        metric: String,
    },
    /// The pattern has no group for the value.
    #[error(
        "the metric pattern `{pattern}` contains {found} groups for the value instead of 1, as in `val_acc=([\\d.]+)`. \
         Write (?:…) for groups that capture nothing, and (?P<step>\\d+) for the step"
    )]
    Groups {
        /// The pattern.
        pattern: String,
        /// The number of capture groups it has, `step` not counted.
        found: usize,
    },
}

/// A regular expression with one capture group for the value, and if wanted a group named `step`.
///
/// It is matched against each line of standard output and standard error; every match in a line is a report. The
/// value is read as a number, whole even where the group ends inside it (`[\d.]+` in 1.2e-05); `nan` and `inf` count as
/// diverged, and are found in the value's place even by a group that matches digits only. `\d`, `\w` and `\s` mean ASCII.
#[derive(Clone, Debug)]
pub struct MetricPattern {
    regex: Regex,
    /// The pattern with not-a-number or an infinity as the value: `[\d.]+` would pass a diverged training over in silence.
    not_finite: Option<Regex>,
    value: usize,
    /// Finds the epoch in other lines.
    heading: Option<Regex>,
}

/// One match: the step, if the pattern finds it, and the number.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PatternMatch {
    pub(crate) step: Option<u64>,
    pub(crate) reading: PrintedNumber,
}

/// A number in a template: its reader decides where it ends.
const VALUE_PATTERN: &str = r"([-+]?(?:[0-9]|\.[0-9])[^\s|;]*|[-+]?(?i:nan|inf(?:inity)?)\b)";
/// A step in a template.
const STEP_VALUE: &str = r"(?P<step>[0-9][0-9,]*)";

impl MetricPattern {
    /// The pattern `pattern`, in the syntax of the `regex` crate (much like Perl's and Python's).
    ///
    /// # Errors
    /// [`PatternError::Syntax`], and [`PatternError::Groups`] unless there is one group besides `step`.
    pub fn new(pattern: &str) -> Result<Self, PatternError> {
        let regex = build_byte_regex(pattern).map_err(|error| PatternError::Syntax {
            pattern: pattern.to_owned(),
            problem: error.to_string(),
        })?;
        let groups = regex.capture_names().enumerate().skip(1);
        let values: Vec<usize> =
            groups.filter(|(_, name)| *name != Some(STEP_GROUP)).map(|(index, _)| index).collect();
        match values[..] {
            [value] => {
                let not_finite = group_contents(pattern, value).and_then(|Range { start, end }| {
                    build_byte_regex(&[&pattern[..start], NOT_FINITE, &pattern[end..]].concat()).ok()
                });
                Ok(Self { regex, not_finite, value, heading: None })
            }
            _ => Err(PatternError::Groups { pattern: pattern.to_owned(), found: values.len() }),
        }
    }

    /// The pattern of a line template: text with `{value}` in the place of the value, and if wanted `{step}`, and `{}` for other words. Blanks
    /// match any number of blanks.
    ///
    /// # Errors
    /// [`PatternError::Groups`] unless there is one `{value}`.
    pub fn from_template(text: &str) -> Result<Self, PatternError> {
        let expression = expression(text);
        Self::new(&expression).map_err(|error| match error {
            PatternError::Groups { found, .. } => PatternError::Groups { pattern: text.to_owned(), found },
            other => other,
        })
    }

    /// Takes the epochs that the template `step` finds in lines above.
    ///
    /// # Errors
    /// [`PatternError`] if `step` has no `{step}` and no group.
    pub fn with_step(self, step: &str) -> Result<Self, PatternError> {
        let text =
            if step.contains("{step}") { expression(step).replace("?P<step>", "") } else { step.to_owned() };
        let found = Self::new(&text)?;
        Ok(Self { heading: Some(found.regex), ..self })
    }

    /// Whether the epochs stand in lines above.
    pub(crate) fn has_heading(&self) -> bool {
        self.heading.is_some()
    }

    /// The epoch that `line` names as a heading.
    pub(crate) fn heading(&self, line: &[u8]) -> Option<f64> {
        let found = self.heading.as_ref()?.captures(line)?;
        let number = found.get(1).filter(is_filled)?;
        Some(reading_at(line, number.start())?.value(super::number::DecimalNotation::Point))
    }

    /// The pattern's text.
    pub fn as_str(&self) -> &str {
        self.regex.as_str()
    }

    /// The value of each match in `line`; none when nothing matches.
    pub(crate) fn find(&self, line: &[u8]) -> Vec<Result<PatternMatch, ReportProblem>> {
        for regex in [Some(&self.regex), self.not_finite.as_ref()].into_iter().flatten() {
            let matches = regex.captures_iter(line);
            let matches: Vec<_> =
                matches.filter_map(|captures| self.read_captures(&captures, line)).collect();
            if !matches.is_empty() {
                return matches;
            }
        }
        Vec::new()
    }

    fn read_captures(
        &self,
        captures: &Captures<'_>,
        line: &[u8],
    ) -> Option<Result<PatternMatch, ReportProblem>> {
        let value = captures.get(self.value).filter(is_filled)?;
        let before = String::from_utf8_lossy(&line[..value.start()]);
        let (label, _) = words::label(&before);
        let is_epoch = words::counter(label).is_some_and(|named| named.counter == words::CounterUnit::Epoch)
            && before.trim_end().ends_with(label);
        if captures.name(STEP_GROUP).is_none() && is_epoch {
            let found = format!("{label} {}", String::from_utf8_lossy(value.as_bytes()));
            return Some(Err(ReportProblem::Epoch { found }));
        }
        let step = captures.name(STEP_GROUP).filter(is_filled).map(|step| read_step(&step)).transpose();
        Some(step.and_then(|step| Ok(PatternMatch { step, reading: read_value(&value, line)? })))
    }
}

/// The regular expression of a template.
fn build_byte_regex(pattern: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(pattern).unicode(false).build()
}

fn expression(text: &str) -> String {
    let mut expression = String::new();
    // otherwise the template `acc {value}` would be found in `val_acc 0.5`, too
    if text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_') {
        expression.push_str(r"\b");
    }
    let mut rest = text.trim();
    while let Some(character) = rest.chars().next() {
        let placeholder = [("{value}", VALUE_PATTERN), ("{step}", STEP_VALUE), ("{}", r"\S+?")];
        if let Some((name, stands)) = placeholder.into_iter().find(|(name, _)| rest.starts_with(name)) {
            expression.push_str(r"\s*");
            expression.push_str(stands);
            rest = &rest[name.len()..];
        } else if character.is_whitespace() {
            expression.push_str(r"\s*");
            rest = rest.trim_start();
        } else {
            expression.push_str(&regex_syntax::escape(&character.to_string()));
            rest = &rest[character.len_utf8()..];
        }
    }
    expression
}

/// Where in `pattern` the contents of its capture group number `group` stand.
fn group_contents(pattern: &str, group: usize) -> Option<Range<usize>> {
    struct GroupSearch(usize);
    impl Visitor for GroupSearch {
        type Output = ();
        type Err = Range<usize>;

        fn finish(self) -> Result<(), Self::Err> {
            Ok(())
        }

        fn visit_pre(&mut self, part: &Ast) -> Result<(), Self::Err> {
            match part {
                Ast::Group(group) if group.capture_index() == Some(self.0 as u32) => {
                    let inner = group.ast.span();
                    Err(inner.start.offset..inner.end.offset)
                }
                _ => Ok(()),
            }
        }
    }
    let parsed = ast::parse::Parser::new().parse(pattern).ok()?;
    ast::visit(&parsed, GroupSearch(group)).err()
}

/// Whether a group has found any text: `acc=(\S*)` finds none in `acc=`, which is a line without a value.
fn is_filled(found: &Match<'_>) -> bool {
    !found.as_bytes().trim_ascii().is_empty()
}

fn read_step(found: &Match<'_>) -> Result<u64, ReportProblem> {
    let text = String::from_utf8_lossy(found.as_bytes());
    let number = reading_at(text.trim().as_bytes(), 0)
        .map(|reading| reading.value(super::number::DecimalNotation::Point));
    number.and_then(whole_step).ok_or_else(|| ReportProblem::Step { found: text.into_owned() })
}

/// The number in the match; the whole one where the match cuts it short: `([\d.]+)` finds 1.2 in `loss=1.2e-05`.
fn read_value(found: &Match<'_>, line: &[u8]) -> Result<PrintedNumber, ReportProblem> {
    let blanks = found.as_bytes().len() - found.as_bytes().trim_ascii_start().len();
    reading_at(line, found.start() + blanks).ok_or_else(|| ReportProblem::Number {
        found: String::from_utf8_lossy(found.as_bytes()).into_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::{MetricPattern, PatternMatch};
    use crate::printed::number::DecimalNotation;

    fn matches_in_line(pattern: &str, line: &str) -> Vec<Result<(Option<u64>, f64), String>> {
        let matches = MetricPattern::new(pattern).expect("a good pattern").find(line.as_bytes());
        let plain = |found: PatternMatch| (found.step, found.reading.value(DecimalNotation::Point));
        matches.into_iter().map(|result| result.map(plain).map_err(|problem| problem.to_string())).collect()
    }

    #[test]
    fn finds_values_and_steps() {
        let plain = r"val_acc=([\d.]+)";
        let stepped = r"epoch (?P<step>\d+).*loss: (\S+)";
        let cases = [
            (plain, "val_acc=0.71", vec![(None, 0.71)]),
            (plain, "epoch 3: val_acc=0.71, lr=0.1", vec![(None, 0.71)]),
            (plain, "we reached val_acc=0.71.", vec![(None, 0.71)]), // a full stop is no digit
            (plain, "val_acc=0.5 val_acc=0.6", vec![(None, 0.5), (None, 0.6)]),
            (plain, "acc=0.71", vec![]),
            (plain, "\u{e9} val_acc=1", vec![(None, 1.0)]),
            (stepped, "epoch 12 loss: 1.5e-3", vec![(Some(12), 1.5e-3)]),
            (stepped, "epoch 12 loss: inf", vec![(Some(12), f64::INFINITY)]),
            (r"acc: (\S+) epoch: (?P<step>[\d.]+)", "acc: 0.5 epoch: 3.0", vec![(Some(3), 0.5)]),
            (r"(?:train|val) acc (?<value>[\d.]+)%", "val acc 71.5%", vec![(None, 71.5)]),
        ];
        for (pattern, line, expected) in cases {
            let expected: Vec<_> = expected.into_iter().map(Ok).collect();
            assert_eq!(matches_in_line(pattern, line), expected, "{pattern} on {line}");
        }
        assert!(matches!(matches_in_line(r"=(\S+)", "loss=nan")[..], [Ok((None, value))] if value.is_nan()));
    }

    #[test]
    fn a_number_that_the_pattern_cuts_short_is_read_whole() {
        let cases = [
            (r"loss=([\d.]+)", "loss=1.2e-05, lr=0.1", 1.2e-5),
            (r"loss=(\d+)", "loss=0.71", 0.71),
            (r"loss=(\d)", "loss=12.", 12.0),
            (r"loss=([\d.]+)", "loss=1.2-3", 1.2), // 1.2-3 is no number
        ];
        for (pattern, line, whole) in cases {
            assert_eq!(matches_in_line(pattern, line), [Ok((None, whole))], "{pattern} on {line}");
        }
    }

    #[test]
    fn a_group_that_finds_no_text_finds_no_value() {
        for line in ["acc=", "acc= ", "acc= 0.5", "acc=, lr=0.1", "精度acc="] {
            assert_eq!(matches_in_line(r"acc=([^,\s]*)", line), [], "{line}");
        }
        assert_eq!(matches_in_line(r"acc=(\S*)", "acc= acc=0.5"), [Ok((None, 0.5))]);
        assert_eq!(matches_in_line(r"epoch=(?P<step>\d*) acc=(\S*)", "epoch= acc=0.5"), [Ok((None, 0.5))]);
        let stepped = MetricPattern::new(r"acc=(\S*)").and_then(|pattern| pattern.with_step(r"epoch (\d*)"));
        let stepped = stepped.expect("a good pattern");
        assert_eq!((stepped.heading(b"epoch "), stepped.heading(b"epoch 7")), (None, Some(7.0)));
    }

    #[test]
    fn a_group_of_digits_finds_a_diverged_value_too() {
        let stepped = r"epoch (?P<step>\d+): (?:val|test)_loss (?<value>[0-9.]+|-)%?$";
        let cases = [
            (r"loss=([\d.]+)", "loss=nan", None),
            (r"loss=([\d.]+)", "loss=-Infinity, lr=0.1", None),
            (r"loss=(\d+)(?:,|$)", "epoch 2 loss=inf, lr=0.1", None),
            (stepped, "epoch 7: val_loss NaN%", Some(7)),
        ];
        for (pattern, line, step) in cases {
            let found = matches_in_line(pattern, line);
            assert!(
                matches!(found[..], [Ok((at, value))] if at == step && !value.is_finite()),
                "{pattern} on {line}: {found:?}"
            );
        }
        for line in ["loss=nano", "loss=information", "lossless nan", "loss="] {
            assert_eq!(matches_in_line(r"loss=([\d.]+)", line), [], "{line}");
        }
        let (pattern, line) = (r"loss=([\d.]+)", "train loss=nan val loss=0.5");
        assert_eq!(matches_in_line(pattern, line), [Ok((None, 0.5))], "as ever where a number is found");
    }

    #[test]
    fn what_is_no_number_is_refused_and_shown() {
        assert!(
            matches!(&matches_in_line(r"=(\S+)", "loss=low")[..], [Err(problem)] if problem.contains("low"))
        );
        assert!(
            matches!(&matches_in_line(r"(?<step>\S+):(\S+)", "-1:0.5")[..], [Err(problem)] if problem.contains("-1"))
        );
    }

    #[test]
    fn a_pattern_without_exactly_one_value_group_is_refused() {
        let cases = [
            ("val_acc=[0-9.]+", "0 groups"),
            ("(a)(b)", "2 groups"),
            (r"(?<step>\d+)", "0 groups"),
            ("(", "not a regular"),
        ];
        for (pattern, expected) in cases {
            let message = MetricPattern::new(pattern).expect_err(pattern).to_string();
            assert!(message.contains(expected), "{pattern} gave {message:?}");
        }
    }
}

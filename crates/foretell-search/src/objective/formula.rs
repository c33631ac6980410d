//! Formulas over named values: `val_acc - 1e-8*weights`, `width^2 * depth`.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeSet;
use std::fmt;
use thiserror::Error;

/// More levels of parentheses than any formula has.
const MAX_NESTING_DEPTH: usize = 64;

/// The reason why a formula is invalid.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum FormulaError {
    /// The text is no formula.
    #[error(
        "{text}: {problem} at {at}. Write names, numbers, + - * / ^ and parentheses, for example width^2 * depth"
    )]
    Syntax {
        /// The formula.
        text: String,
        /// The problem.
        problem: &'static str,
        /// Where: the rest from there.
        at: String,
    },
    /// A name in the formula is the name of nothing.
    #[error("{text}: unknown name {name}. A formula can use {known}")]
    Unknown {
        /// The formula.
        text: String,
        /// The name.
        name: String,
        /// The names there are.
        known: String,
    },
}

/// A formula over named values, or a name alone.
///
/// Operators are `+ - * / ^` (also `× ÷ −`), from the weakest: sums, products, signs, powers; powers are read from the right. A name
/// has letters, digits, `_` and `.`; any other stands in backticks, as in `` `val/acc` - 0.1 ``. O(length) to read and to evaluate.
#[derive(Clone, Debug, PartialEq)]
pub struct Formula {
    text: String,
    root: FormulaNode,
}

#[derive(Clone, Debug, PartialEq)]
enum FormulaNode {
    Number(f64),
    Name(String),
    Negative(Box<FormulaNode>),
    Two(BinaryOperator, Box<FormulaNode>, Box<FormulaNode>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BinaryOperator {
    Plus,
    Minus,
    Times,
    Over,
    Power,
}

impl Formula {
    /// The formula in `text`.
    ///
    /// # Errors
    /// [`FormulaError::Syntax`].
    ///
    /// ```
    /// use foretell_search::Formula;
    /// let formula = Formula::parse("3 - 2 * width^2")?;
    /// assert_eq!(formula.evaluate(|name| (name == "width").then_some(4.0)), Some(-29.0));
    /// # Ok::<(), foretell_search::FormulaError>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, FormulaError> {
        let text = text.trim();
        let mut reader = FormulaParser { text, rest: text, depth: 0 };
        let root = reader.sum()?;
        reader.skip();
        if !reader.rest.is_empty() {
            return Err(reader.syntax_error("unexpected text"));
        }
        Ok(Self { text: text.to_owned(), root })
    }

    /// The formula in `text` over the names `known`; a name that is not among them stands alone, and is reported by trials.
    ///
    /// # Errors
    /// [`FormulaError`].
    pub fn parse_with_names(text: &str, known: &[&str]) -> Result<Self, FormulaError> {
        let text = text.trim();
        match Self::parse(text) {
            Ok(formula) if formula.sole_name().is_some() => Ok(formula),
            // `val/acc` is a name where there are no parameters val and acc
            parsed if is_name(text) && !parsed.as_ref().is_ok_and(|formula| formula.names_any_of(known)) => {
                Ok(Self { text: format!("`{text}`"), root: FormulaNode::Name(text.to_owned()) })
            }
            Ok(formula) => formula.check(known).map(|()| formula),
            Err(error) => Err(error),
        }
    }

    fn names_any_of(&self, known: &[&str]) -> bool {
        self.names().iter().any(|name| known.contains(name))
    }

    /// Checks that all its names are among those `known`.
    ///
    /// # Errors
    /// [`FormulaError::Unknown`].
    pub(crate) fn check(&self, known: &[&str]) -> Result<(), FormulaError> {
        match self.names().into_iter().find(|name| !known.contains(name)) {
            Some(name) => Err(FormulaError::Unknown {
                text: self.to_string(),
                name: name.to_owned(),
                known: known.join(", "),
            }),
            None => Ok(()),
        }
    }

    /// The name, if the formula is one name alone.
    pub fn sole_name(&self) -> Option<&str> {
        if let FormulaNode::Name(name) = &self.root { Some(name) } else { None }
    }

    /// The names in it.
    pub fn names(&self) -> BTreeSet<&str> {
        let mut names = BTreeSet::new();
        self.root.names(&mut names);
        names
    }

    /// The value where names have the values that `of` gives; `None` where one has none, or the value is not finite.
    pub fn evaluate(&self, of: impl Fn(&str) -> Option<f64>) -> Option<f64> {
        self.root.value(&of).filter(|value| value.is_finite())
    }
}

impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.sole_name().unwrap_or(&self.text))
    }
}

impl Serialize for Formula {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for Formula {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

impl FormulaNode {
    fn names<'a>(&'a self, names: &mut BTreeSet<&'a str>) {
        match self {
            Self::Number(_) => {}
            Self::Name(name) => drop(names.insert(name)),
            Self::Negative(of) => of.names(names),
            Self::Two(_, left, right) => {
                left.names(names);
                right.names(names);
            }
        }
    }

    fn value(&self, of: &impl Fn(&str) -> Option<f64>) -> Option<f64> {
        Some(match self {
            Self::Number(number) => *number,
            Self::Name(name) => of(name)?,
            Self::Negative(node) => -node.value(of)?,
            Self::Two(operator, left, right) => {
                let (left, right) = (left.value(of)?, right.value(of)?);
                match operator {
                    BinaryOperator::Plus => left + right,
                    BinaryOperator::Minus => left - right,
                    BinaryOperator::Times => left * right,
                    BinaryOperator::Over => left / right,
                    BinaryOperator::Power => left.powf(right),
                }
            }
        })
    }
}

/// Whether a metric may be called by `text`: a name such as `val/acc`, `top-1` or `acc@1`.
fn is_name(text: &str) -> bool {
    text.starts_with(char::is_alphabetic) && text.chars().all(|c| c.is_alphanumeric() || "_-./@:".contains(c))
}

/// Reads a formula from left to right.
struct FormulaParser<'a> {
    text: &'a str,
    rest: &'a str,
    depth: usize,
}

impl FormulaParser<'_> {
    fn syntax_error(&self, problem: &'static str) -> FormulaError {
        let at = match self.rest.is_empty() {
            true => "the end".to_owned(),
            false => format!("`{}`", self.rest.chars().take(20).collect::<String>()),
        };
        FormulaError::Syntax { text: self.text.to_owned(), problem, at }
    }

    fn skip(&mut self) {
        self.rest = self.rest.trim_start();
    }

    /// Takes one of `signs`, if it comes next.
    fn take(&mut self, signs: &[(char, BinaryOperator)]) -> Option<BinaryOperator> {
        self.skip();
        let next = self.rest.chars().next()?;
        let (_, operator) = signs.iter().find(|(sign, _)| *sign == next)?;
        self.rest = &self.rest[next.len_utf8()..];
        Some(*operator)
    }

    fn sum(&mut self) -> Result<FormulaNode, FormulaError> {
        let signs = [('+', BinaryOperator::Plus), ('-', BinaryOperator::Minus), ('−', BinaryOperator::Minus)];
        let mut left = self.parse_product()?;
        while let Some(operator) = self.take(&signs) {
            left = FormulaNode::Two(operator, Box::new(left), Box::new(self.parse_product()?));
        }
        Ok(left)
    }

    fn parse_product(&mut self) -> Result<FormulaNode, FormulaError> {
        let signs = [
            ('*', BinaryOperator::Times),
            ('×', BinaryOperator::Times),
            ('/', BinaryOperator::Over),
            ('÷', BinaryOperator::Over),
        ];
        let mut left = self.parse_signed()?;
        while let Some(operator) = self.take(&signs) {
            left = FormulaNode::Two(operator, Box::new(left), Box::new(self.parse_signed()?));
        }
        Ok(left)
    }

    fn parse_signed(&mut self) -> Result<FormulaNode, FormulaError> {
        self.depth += 1;
        // each level is a call of its own, so text from outside could otherwise exhaust the stack
        if self.depth > MAX_NESTING_DEPTH {
            return Err(self.syntax_error("there are too many parentheses or signs"));
        }
        let node = match self.take(&[('-', BinaryOperator::Minus), ('−', BinaryOperator::Minus)]) {
            Some(_) => FormulaNode::Negative(Box::new(self.parse_signed()?)),
            None => self.parse_power()?,
        };
        self.depth -= 1;
        Ok(node)
    }

    fn parse_power(&mut self) -> Result<FormulaNode, FormulaError> {
        let base = self.parse_atom()?;
        match self.take(&[('^', BinaryOperator::Power)]) {
            // the exponent is read with its sign and its own powers, so that 2^-1 is read, and 2^3^2 from the right
            Some(operator) => Ok(FormulaNode::Two(operator, Box::new(base), Box::new(self.parse_signed()?))),
            None => Ok(base),
        }
    }

    fn parse_atom(&mut self) -> Result<FormulaNode, FormulaError> {
        self.skip();
        let rest = self.rest;
        match rest.chars().next() {
            Some('(') => {
                self.rest = &rest[1..];
                let inner = self.sum()?;
                self.skip();
                self.rest =
                    self.rest.strip_prefix(')').ok_or_else(|| self.syntax_error("a `)` is missing"))?;
                Ok(inner)
            }
            Some('`') => {
                let end = rest[1..].find('`').filter(|&end| end > 0);
                let end = end.ok_or_else(|| self.syntax_error("a closing backtick is missing"))?;
                self.rest = &rest[end + 2..];
                Ok(FormulaNode::Name(rest[1..=end].to_owned()))
            }
            Some(first) if first.is_ascii_digit() || first == '.' => self.number(),
            Some(first) if first.is_alphabetic() || first == '_' => {
                let end = rest.find(|c: char| !c.is_alphanumeric() && !"_.".contains(c));
                let end = end.unwrap_or(rest.len());
                self.rest = &rest[end..];
                Ok(FormulaNode::Name(rest[..end].to_owned()))
            }
            _ => Err(self.syntax_error("expected a name, a number or `(`")),
        }
    }

    fn number(&mut self) -> Result<FormulaNode, FormulaError> {
        let rest = self.rest;
        let mut end = digits_end(rest, 0);
        if let Some(exponent) = rest[end..].strip_prefix(['e', 'E']) {
            let sign = usize::from(exponent.starts_with(['+', '-']));
            // without a digit the `e` is no exponent, and must not be lost with the number
            if exponent[sign..].starts_with(|c: char| c.is_ascii_digit()) {
                end = digits_end(rest, end + 1 + sign);
            }
        }
        let number = rest[..end].parse::<f64>().ok().filter(|number| number.is_finite());
        let number = number.ok_or_else(|| self.syntax_error("expected a number"))?;
        self.rest = &rest[end..];
        Ok(FormulaNode::Number(number))
    }
}

/// The end of the digits in `text` that begin at `from`; a point counts as one of them.
fn digits_end(text: &str, from: usize) -> usize {
    text[from..].find(|c: char| !c.is_ascii_digit() && c != '.').map_or(text.len(), |end| from + end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Option<f64> {
        let known = |name: &str| match name {
            "w" => Some(4.0),
            "d" => Some(2.0),
            "val/acc" => Some(0.5),
            _ => None,
        };
        Formula::parse(text).unwrap().evaluate(known)
    }

    #[test]
    fn formulas_are_read_as_they_are_written_by_hand() {
        let cases = [
            ("1 + 2 * w", Some(9.0)),
            ("(1 + 2) × w", Some(12.0)),
            ("w - d - 1", Some(1.0)),
            ("w / d / 2", Some(1.0)),
            ("-d^2", Some(-4.0)),
            ("2^-1", Some(0.5)),
            ("2^3^0", Some(2.0)),
            ("1e-1*w − .4", Some(0.0)),
            ("2e*0", None),
            ("`val/acc` * 2", Some(1.0)),
            ("w ÷ (d - 2)", None),
            ("unknown", None),
        ];
        for (text, expected) in cases {
            let found = Formula::parse(text).ok().and_then(|_| value(text));
            assert_eq!(found.map(|x| (x * 1e9).round() / 1e9), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_formula_is_refused_with_its_place() {
        for (text, problem) in [
            ("", "expected a name, a number or `(` at the end"),
            ("w +", "expected a name, a number or `(` at the end"),
            ("w d", "unexpected text at `d`"),
            ("(w", "a `)` is missing at the end"),
            ("w % 2", "unexpected text at `% 2`"),
            ("1.2.3", "expected a number at `1.2.3`"),
            ("`a", "closing backtick is missing at ``a`"),
            (&"(".repeat(100), "too many parentheses"),
            (&"-".repeat(100_000), "too many parentheses"),
        ] {
            let said = Formula::parse(text).unwrap_err().to_string();
            assert!(said.contains(problem), "{said}");
        }
    }

    #[test]
    fn a_name_with_other_signs_is_one_unless_parameters_make_it_a_formula() {
        let named = Formula::parse_with_names("val/acc", &["w"]).unwrap();
        assert_eq!((named.sole_name(), named.to_string()), (Some("val/acc"), "val/acc".to_owned()));
        let written = serde_json::to_string(&named).unwrap();
        assert_eq!(serde_json::from_str::<Formula>(&written).unwrap(), named);
        assert_eq!(Formula::parse_with_names("w/d", &["w", "d"]).unwrap().names().len(), 2);
        assert!(Formula::parse_with_names("w/x", &["w", "d"]).is_err(), "a slip of the pen");
    }
}

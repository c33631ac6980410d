//! Comparisons as conditions and limits write them: `layers>=3`, `latency<=20`.

/// How two values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `=`.
    Equal,
    /// `!=`.
    Unequal,
    /// `<`.
    Below,
    /// `<=`.
    AtMost,
    /// `>=`.
    AtLeast,
    /// `>`.
    Above,
}

/// The signs of each comparison, its own first. A sign that starts with another one is listed before that one.
const COMPARISON_SIGNS: [(&str, Comparison); 10] = [
    ("<=", Comparison::AtMost),
    ("≤", Comparison::AtMost),
    (">=", Comparison::AtLeast),
    ("≥", Comparison::AtLeast),
    ("!=", Comparison::Unequal),
    ("≠", Comparison::Unequal),
    ("=", Comparison::Equal),
    ("==", Comparison::Equal),
    ("<", Comparison::Below),
    (">", Comparison::Above),
];

impl Comparison {
    /// Splits `text` at its first comparison: `layers >= 3` is `layers`, at least, `3`.
    pub(crate) fn split(text: &str) -> Option<(&str, Self, &str)> {
        let at = COMPARISON_SIGNS.iter().filter_map(|(sign, _)| text.find(sign)).min()?;
        let (before, rest) = text.split_at(at);
        let found = COMPARISON_SIGNS.iter().filter(|(sign, _)| rest.starts_with(sign));
        // `<=` begins with `<`, so the longest sign is the one that is meant
        let (sign, comparison) = found.max_by_key(|(sign, _)| sign.len())?;
        Some((before.trim(), *comparison, rest[sign.len()..].trim()))
    }

    /// The sign by which it is written.
    pub(crate) fn sign(self) -> &'static str {
        COMPARISON_SIGNS.iter().find(|(_, comparison)| *comparison == self).map_or("=", |(sign, _)| sign)
    }

    /// Whether it holds between `left` and `right`; between a number and NaN none does.
    pub(crate) fn holds(self, left: f64, right: f64) -> bool {
        let Some(order) = left.partial_cmp(&right) else { return false };
        match self {
            Self::Equal => order.is_eq(),
            Self::Unequal => order.is_ne(),
            Self::Below => order.is_lt(),
            Self::AtMost => order.is_le(),
            Self::AtLeast => order.is_ge(),
            Self::Above => order.is_gt(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_sign_at_the_first_place_is_read() {
        for (text, expected) in [
            ("layers >= 3", Some(("layers", Comparison::AtLeast, "3"))),
            ("layers≥3", Some(("layers", Comparison::AtLeast, "3"))),
            ("o=a<b", Some(("o", Comparison::Equal, "a<b"))),
            ("o == a", Some(("o", Comparison::Equal, "a"))),
            ("o!=a", Some(("o", Comparison::Unequal, "a"))),
            ("n<3", Some(("n", Comparison::Below, "3"))),
            ("layers", None),
        ] {
            assert_eq!(Comparison::split(text), expected, "{text}");
        }
    }

    #[test]
    fn each_sign_is_read_as_the_comparison_that_writes_it() {
        for (_, comparison) in COMPARISON_SIGNS {
            let text = format!("a{}1", comparison.sign());
            assert_eq!(Comparison::split(&text), Some(("a", comparison, "1")));
        }
        assert!(Comparison::Unequal.holds(1.0, 2.0) && !Comparison::Unequal.holds(1.0, f64::NAN));
    }
}

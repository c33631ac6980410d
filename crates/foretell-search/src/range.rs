//! Ranges of the numbers that studies and replays share.

use thiserror::Error;

/// The reason why a number is out of range.
#[derive(Debug, Error, Clone, Copy, PartialEq)]
pub enum RangeError {
    /// A number that must be at least 1.
    #[error("{field} is 0, but must be at least 1")]
    Zero {
        /// The field.
        field: &'static str,
    },
    /// A number that no search counts up to.
    #[error("{field} {value} is too large. The maximum is {most}")]
    Endless {
        /// The field.
        field: &'static str,
        /// The given value.
        value: u64,
        /// The maximum, one of [`limits`](crate::limits).
        most: u64,
    },
    /// A share outside [0, 1).
    #[error("{field} {value} is outside [0, 1)")]
    Share {
        /// The field.
        field: &'static str,
        /// The given value.
        value: f64,
    },
    /// A factor that leaves no growth.
    #[error("{field} {value} is not a number above 1. For example, 1.25 waits for a quarter more")]
    Growth {
        /// The field.
        field: &'static str,
        /// The given value.
        value: f64,
    },
}

impl RangeError {
    /// The field.
    pub fn field(&self) -> &'static str {
        match self {
            Self::Zero { field }
            | Self::Endless { field, .. }
            | Self::Share { field, .. }
            | Self::Growth { field, .. } => field,
        }
    }
}

/// Checks that no field is above `most`.
pub(crate) fn at_most(most: u64, fields: &[(&'static str, u64)]) -> Result<(), RangeError> {
    match fields.iter().find(|(_, value)| *value > most) {
        Some(&(field, value)) => Err(RangeError::Endless { field, value, most }),
        None => Ok(()),
    }
}

/// Checks that no field is 0.
pub(crate) fn at_least_one(fields: &[(&'static str, u64)]) -> Result<(), RangeError> {
    match fields.iter().find(|(_, value)| *value == 0) {
        Some((field, _)) => Err(RangeError::Zero { field }),
        None => Ok(()),
    }
}

/// Checks that `value` is in [0, 1).
pub(crate) fn share(field: &'static str, value: f64) -> Result<(), RangeError> {
    if (0.0..1.0).contains(&value) { Ok(()) } else { Err(RangeError::Share { field, value }) }
}

/// Checks that `factor`, if any, is a finite number above 1.
pub(crate) fn growth(field: &'static str, factor: Option<f64>) -> Result<(), RangeError> {
    match factor {
        Some(value) if !(value > 1.0 && value.is_finite()) => Err(RangeError::Growth { field, value }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_range_ends_where_it_says() {
        assert_eq!(at_least_one(&[("a", 1), ("b", 0)]), Err(RangeError::Zero { field: "b" }));
        assert!(at_most(9, &[("a", 9)]).is_ok());
        let endless = at_most(9, &[("a", 1), ("epochs", 10)]).unwrap_err();
        assert_eq!(endless.to_string(), "epochs 10 is too large. The maximum is 9");
        assert!(share("s", 0.0).is_ok() && share("s", 1.0).is_err() && share("s", f64::NAN).is_err());
        assert!(growth("f", None).is_ok() && growth("f", Some(1.25)).is_ok());
        for value in [1.0, f64::NAN, f64::INFINITY] {
            assert!(growth("f", Some(value)).is_err(), "{value}");
        }
    }
}

//! Whether every number of a record is finite: JSON has no infinities and no NaN, and would hold `null` in their place.

use std::fmt::{self, Display};

use serde::ser::{
    Error, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

/// A field that JSON cannot hold.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NotFinite {
    /// Where the field is, such as `forecast.interval[1]`; empty for the record itself.
    pub(crate) field: String,
    /// Its value, such as `inf`; for other problems, what the record's own encoder said.
    pub(crate) value: String,
}

impl NotFinite {
    fn of(value: impl Display) -> Self {
        Self { field: String::new(), value: value.to_string() }
    }

    /// The same field, seen from one level further out.
    fn inside(mut self, outer: &str) -> Self {
        let joint = if self.field.is_empty() || self.field.starts_with('[') { "" } else { "." };
        self.field = format!("{outer}{joint}{}", self.field);
        self
    }
}

impl Display for NotFinite {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "`{}` is {}", self.field, self.value)
    }
}

impl std::error::Error for NotFinite {}

impl Error for NotFinite {
    fn custom<T: Display>(message: T) -> Self {
        Self::of(message)
    }
}

/// Checks that all numbers of `record` are finite. Writes nothing; O(size of the record).
///
/// # Errors
/// [`NotFinite`] names the first field that is not.
pub(crate) fn check_finite<T: Serialize + ?Sized>(record: &T) -> Result<(), NotFinite> {
    record.serialize(Check { items: 0 })
}

/// Visits a value; for a sequence it counts the items seen.
struct Check {
    items: usize,
}

const NEW: Check = Check { items: 0 };

impl Check {
    fn item<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), NotFinite> {
        let index = self.items;
        self.items += 1;
        check_finite(value).map_err(|problem| problem.inside(&format!("[{index}]")))
    }
}

fn named<T: Serialize + ?Sized>(name: &str, value: &T) -> Result<(), NotFinite> {
    check_finite(value).map_err(|problem| problem.inside(name))
}

/// Values without numbers that could be infinite.
macro_rules! always_finite {
    ($($method:ident($kind:ty)),* $(,)?) => {
        $(fn $method(self, _: $kind) -> Result<(), NotFinite> { Ok(()) })*
    };
}

impl Serializer for Check {
    type Ok = ();
    type Error = NotFinite;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    always_finite! {
        serialize_bool(bool), serialize_i8(i8), serialize_i16(i16), serialize_i32(i32), serialize_i64(i64),
        serialize_u8(u8), serialize_u16(u16), serialize_u32(u32), serialize_u64(u64), serialize_char(char),
        serialize_i128(i128), serialize_u128(u128), serialize_str(&str), serialize_bytes(&[u8]),
        serialize_unit_struct(&'static str),
    }

    fn serialize_f32(self, value: f32) -> Result<(), NotFinite> {
        self.serialize_f64(f64::from(value))
    }

    fn serialize_f64(self, value: f64) -> Result<(), NotFinite> {
        if value.is_finite() { Ok(()) } else { Err(NotFinite::of(value)) }
    }

    fn serialize_none(self) -> Result<(), NotFinite> {
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), NotFinite> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), NotFinite> {
        Ok(())
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, _: &'static str) -> Result<(), NotFinite> {
        Ok(())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), NotFinite> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), NotFinite> {
        named(variant, value)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self, NotFinite> {
        Ok(NEW)
    }

    fn serialize_tuple(self, _: usize) -> Result<Self, NotFinite> {
        Ok(NEW)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, NotFinite> {
        Ok(NEW)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, NotFinite> {
        Ok(NEW)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self, NotFinite> {
        Ok(NEW)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, NotFinite> {
        Ok(NEW)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, NotFinite> {
        Ok(NEW)
    }
}

/// The compounds whose parts have no names, and those whose parts have.
macro_rules! compounds {
    (items: $($of_items:ident::$item:ident),*; fields: $($of_fields:ident),*) => {
        $(impl $of_items for Check {
            type Ok = ();
            type Error = NotFinite;
            fn $item<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), NotFinite> { self.item(value) }
            fn end(self) -> Result<(), NotFinite> { Ok(()) }
        })*
        $(impl $of_fields for Check {
            type Ok = ();
            type Error = NotFinite;
            fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), NotFinite> {
                named(name, value)
            }
            fn end(self) -> Result<(), NotFinite> { Ok(()) }
        })*
    };
}

compounds! {
    items: SerializeSeq::serialize_element, SerializeTuple::serialize_element,
        SerializeTupleStruct::serialize_field, SerializeTupleVariant::serialize_field;
    fields: SerializeStruct, SerializeStructVariant
}

impl SerializeMap for Check {
    type Ok = ();
    type Error = NotFinite;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, _: &T) -> Result<(), NotFinite> {
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), NotFinite> {
        self.item(value)
    }

    fn serialize_entry<K: Serialize + ?Sized, V: Serialize + ?Sized>(
        &mut self,
        key: &K,
        value: &V,
    ) -> Result<(), NotFinite> {
        check_finite(value).map_err(|problem| {
            let key = serde_json::to_string(key).unwrap_or_default();
            problem.inside(key.trim_matches('"'))
        })
    }

    fn end(self) -> Result<(), NotFinite> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::check_finite;
    use serde::Serialize;
    use std::collections::BTreeMap;

    #[derive(Clone, Default, Serialize)]
    struct Record {
        name: &'static str,
        value: Option<f64>,
        points: Vec<(f64, f32)>,
        metrics: BTreeMap<String, f64>,
        nested: Option<Box<Record>>,
        choice: Choice,
    }

    #[derive(Clone, Default, Serialize)]
    enum Choice {
        #[default]
        Nothing,
        Number(f64),
        Both {
            low: f64,
            high: f64,
        },
        Pair(f64, f64),
    }

    #[test]
    fn the_field_that_is_not_finite_is_named() {
        let record = Record { value: Some(1.0), points: vec![(1.0, 2.0)], ..Record::default() };
        assert_eq!(check_finite(&record), Ok(()));
        let metrics = |value| BTreeMap::from([("a".to_owned(), 0.0), ("loss".to_owned(), value)]);
        let nested = |inner| Record { nested: Some(Box::new(inner)), ..record.clone() };
        let cases = [
            (Record { value: Some(f64::INFINITY), ..record.clone() }, "`value` is inf"),
            (Record { points: vec![(0.0, 0.0), (1.0, f32::NAN)], ..record.clone() }, "`points[1][1]` is NaN"),
            (Record { metrics: metrics(f64::NEG_INFINITY), ..record.clone() }, "`metrics.loss` is -inf"),
            (nested(Record { metrics: metrics(f64::NAN), ..record.clone() }), "`nested.metrics.loss` is NaN"),
            (Record { choice: Choice::Number(f64::NAN), ..record.clone() }, "`choice.Number` is NaN"),
            (
                Record { choice: Choice::Both { low: 0.0, high: f64::NAN }, ..record.clone() },
                "`choice.high` is NaN",
            ),
            (Record { choice: Choice::Pair(0.0, f64::INFINITY), ..record.clone() }, "`choice[1]` is inf"),
        ];
        for (record, expected) in cases {
            assert_eq!(check_finite(&record).expect_err(expected).to_string(), expected);
        }
    }
}

//! R, the epochs of a complete trial, where nobody gives it: trials show it.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// R while no trial has shown it: a trial may train for as long as it likes. Written as `null`.
pub const UNKNOWN_RESOURCE: u64 = u64::MAX;

/// R, if it is known.
pub fn known_resource(max_resource: u64) -> Option<u64> {
    (max_resource != UNKNOWN_RESOURCE).then_some(max_resource)
}

/// The value for a log that leaves R out.
pub(crate) fn unknown_resource() -> u64 {
    UNKNOWN_RESOURCE
}

/// Writes R, or `null` while it is unknown.
///
/// # Errors
/// The serializer's.
pub fn serialize<S: Serializer>(max_resource: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    known_resource(*max_resource).serialize(serializer)
}

/// Reads R, which is unknown where it is `null`.
///
/// # Errors
/// The deserializer's.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(UNKNOWN_RESOURCE))
}

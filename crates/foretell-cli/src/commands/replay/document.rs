//! The JSON document of a replay.

use super::families::FamilyComparison;
use super::report::SettingRow;
use serde::Serialize;

/// The JSON document.
#[derive(Serialize)]
pub(super) struct ReplayDocument<'a> {
    pub(super) schema: &'static str,
    pub(super) seed: u64,
    pub(super) scheduler: &'static str,
    pub(super) rows: Vec<&'a SettingRow>,
    /// With several sets: all of them, by family.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) families: Option<FamilyComparison>,
}

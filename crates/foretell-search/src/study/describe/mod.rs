//! The plain values of a study: its description and settings, its trials, and their totals. They know neither the fold nor the judge.

pub(super) mod best;
pub(super) mod objectives;
pub(super) mod parts;
pub(super) mod progress;
pub(in crate::study) mod repeats;
pub(super) mod settings;
pub(super) mod spec;
pub(super) mod trial;

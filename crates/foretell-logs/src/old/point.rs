//! One value of a log, with where it stands.

/// One logged value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LoggedPoint {
    /// The step that the tool counts.
    pub(crate) step: f64,
    /// The epoch that the same row has.
    pub(crate) epoch: Option<f64>,
    /// Seconds, from any origin.
    pub(crate) time: Option<f64>,
    /// As it was logged.
    pub(crate) value: f64,
}

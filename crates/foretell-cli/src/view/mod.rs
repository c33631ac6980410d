//! A study as people see it: its report, the rows of its trials, its front and its picture.

pub(crate) mod front;
pub(crate) mod picture;
pub(crate) mod report;
pub(crate) mod rows;

//! The fold: records follow from events, are applied in order, and make the same study again after a crash.

mod apply;
pub(super) mod by_hand;
mod change;
pub(super) mod mend;
pub(super) mod queue;
mod resource;
pub(super) mod restore;
mod returned;
pub(super) mod step;
mod transfer;

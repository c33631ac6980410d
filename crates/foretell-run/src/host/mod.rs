//! A study that this process owns: its host, its driver, and how others reach it.

pub(crate) mod access;
pub(crate) mod door;
pub(crate) mod driver;
pub(crate) mod hosted;
pub(crate) mod leases;
pub(crate) mod orders;
pub(crate) mod work;

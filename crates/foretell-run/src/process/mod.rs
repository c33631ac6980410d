//! Trials as processes of this machine: started, read, stopped, and nothing of them left.

pub(crate) mod abandoned;
pub(crate) mod checkpoints;
pub(crate) mod control_group;
pub(crate) mod executor;
pub(crate) mod followed;
pub(crate) mod group;
pub(crate) mod guardian;
pub(crate) mod hook;
pub(crate) mod life;
pub(crate) mod local_trials;
pub(crate) mod message;
pub(crate) mod outbox;
pub(crate) mod output;
pub(crate) mod params_watch;
pub(crate) mod parent;
pub(crate) mod reading;
pub(crate) mod start_error;
pub(crate) mod stored_output;
pub(crate) mod strays;
pub(crate) mod terminal;
pub(crate) mod trial;
pub(crate) mod unread;
pub(crate) mod usage;
pub(crate) mod watcher;

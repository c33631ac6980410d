//! Spaces, samplers, schedulers and the study: which training to run next, and when to stop it.
//!
//! Everything here is pure: no files, processes, clock, threads or global random state. [`Study::step`] turns what
//! happened outside into what to do, and the same function drives a live search, a replay, and a restart after a crash.

mod brackets;
mod layer_space;
mod parameter;
mod parameter_space;
mod q_learning;
mod random;
mod record;
mod space;
mod study;
mod summary;

pub use brackets::*;
pub use layer_space::{
    Action as LayerAction, LayerSpace, LayerSpaceError, NETWORK, Pool, State, StateKey, Trajectory,
};
pub use parameter::{Condition, Parameter, ParameterError, ParameterKind};
pub use parameter_space::{ParameterSpace, ParameterSpaceError};
pub use q_learning::*;
pub use random::{RandomNetwork, RandomSampler, replay_stream, trial_seed, trial_stream};
pub use record::{Decision, Input, Reason, Record, RecordedForecast};
pub use space::{LAYERS, Sampler, Space, WEIGHTS};
pub use study::{Stopping, Study, StudyError, StudySpec, Trial, TrialState};
pub use summary::{Best, Shadow, Spent, StoppedTrial, Summary, Tally};

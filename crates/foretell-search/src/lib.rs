//! Spaces, samplers, schedulers and the study: which training to run next, and when to stop it.
//!
//! Everything here is pure: no files, processes, clock, threads or global random state. [`Study::step`] turns what
//! happened outside into what to do, and the same function drives a live search, a replay, and a restart after a crash.

mod asha;
mod brackets;
mod f_hyperband;
mod full;
mod hyperband;
mod layer_space;
mod parameter;
mod parameter_space;
mod q_learning;
mod random;
mod range;
mod record;
mod replay;
mod sampler;
mod schedule;
mod scheduler;
mod space;
mod stopper;
mod study;
mod successive_halving;
mod summary;

pub use asha::Asha;
pub use brackets::*;
pub use f_hyperband::{Kappa, KappaError, KappaOf, LevelData, LevelResults, Reference};
pub use full::Full;
pub use hyperband::Hyperband;
pub use layer_space::{
    Action as LayerAction, LayerSpace, LayerSpaceError, NETWORK, Pool, State, StateKey, Trajectory,
};
pub use parameter::{Condition, Parameter, ParameterError, ParameterKind};
pub use parameter_space::{ParameterSpace, ParameterSpaceError};
pub use q_learning::*;
pub use random::{RandomNetwork, RandomSampler, replay_stream, trial_seed, trial_stream};
pub use range::RangeError;
pub use record::{Decision, Input, Reason, Record, RecordedForecast};
pub use replay::{
    OrderingOutcome, Outcome, ReplayError, ReplaySpec, Setting, Table, Trace, TrialTrace, replay,
};
pub use sampler::{Sampler, SamplerSpec};
pub use schedule::{Schedule, ScheduleError};
pub use scheduler::{End, Job, Next, Scheduler};
pub use space::{LAYERS, Space, WEIGHTS};
pub use stopper::{ByForecast, ErrorBudget, Evidence, Look, Stopper, Watch};
pub use study::{Policy, Stopping, Study, StudyError, StudySpec, Trial, TrialState};
pub use successive_halving::SuccessiveHalving;
pub use summary::{Audit, Best, Shadow, Spent, StoppedTrial, Summary, Tally};

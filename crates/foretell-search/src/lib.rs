#![doc = include_str!("../README.md")]
//!
//! Everything here is pure: no files, processes, clock, threads or global random state. [`Study::step`] takes what
//! happened outside and returns what to do; the same function drives a live search, a replay, and a restart after a crash.
// docs.rs shows which feature brings an item
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod colours;
mod defaults;
mod difference;
mod front;
mod judge;
mod layer_space;
mod lengths;
mod lessons;
mod objective;
mod parameter;
mod parameter_space;
mod range;
mod record;
mod replay;
mod request;
mod returned;
mod samplers;
mod saving;
mod schedulers;
mod session;
mod space;
mod stopping;
mod store;
mod study;
mod summary;
mod times;

pub use defaults::{
    DEFAULT_EPOCHS, DEFAULT_ETA, DEFAULT_KAPPA, DEFAULT_METRIC, DEFAULT_PATIENCE, DEFAULT_TRIALS,
};
pub use difference::{Difference, differences};
pub use front::{Front, FrontObjective, FrontStep, FrontStopped, FrontTrial};
pub use judge::Judge;
pub use layer_space::{
    Action as LayerAction, LayerSpace, LayerSpaceError, NETWORK, Pool, State, StateKey, Trajectory,
};
pub use lessons::{Lessons, Sure};
pub use objective::{Bound, Formula, FormulaError, Limit, Objective, ObjectiveError};
pub use parameter::{Condition, Parameter, ParameterError, ParameterKind, split_at_commas};
pub use parameter_space::{ParameterSpace, ParameterSpaceError};
pub use range::RangeError;
pub use record::{Decision, Input, Reason, Record, RecordedForecast};
pub use replay::{
    FrontKept, Nearest, OrderingOutcome, Outcome, RecordedSampler, ReplayError, ReplaySpec, Setting, Table,
    Taken, Teacher, Trace, TrialTrace, replay, replay_log, replay_watched,
};
pub use request::{
    MOST_TRIALS, Queued, Refit, Refusal, Rungs, SamplerName, SchedulerName, StudyRequest, read_fields,
};
pub use returned::{Relation, Returned};
pub use samplers::q_learning::{
    EpsilonSchedule, EpsilonStage, QLearner, QLearning, QLearningError, Replay, Reward, RewardKind,
};
pub use samplers::random::{RandomNetwork, RandomSampler, replay_stream, trial_stream};
pub use samplers::surrogate::{Contour, Relevance, Relevances, Slice, Surface, relevances, relevances_of};
pub use samplers::worth::Worth;
pub use samplers::{Sampler, SamplerSpec};
pub use saving::Saving;
pub use schedulers::asha::Asha;
pub use schedulers::brackets::{Bracket, BracketError, Plan, Rung, Totals, levels, plan, successive_halving};
pub use schedulers::budget::Choice;
pub use schedulers::f_hyperband::{Kappa, KappaError, KappaOf, LevelData, LevelResults, Reference};
pub use schedulers::full::Full;
pub use schedulers::hyperband::Hyperband;
pub use schedulers::rank::{Rank, Ranks};
pub use schedulers::schedule::{Schedule, ScheduleError};
pub use schedulers::successive_halving::SuccessiveHalving;
pub use schedulers::{End, Job, Next, Scheduler};
pub use session::{Answer, Ending, Session, SessionError, Start};
pub use space::{FLOPS, Space, WEIGHTS};
pub use stopping::caution::{Caution, Stopping};
pub use stopping::policy::{Policy, PolicyName};
pub use stopping::{
    AshaRule, ForecastRule, Foreseen, LceRule, MedianRule, Needs, PatienceRule, Place, Ruling,
    RungsFirstRule, Standing, StopRule, Watched,
};
pub use store::{Memory, Records, Store, StoreError};
pub use study::{
    Best, Fit, Fitted, Losses, Mended, Order, Parts, Progress, Queue, RestoreError, Settings, Study,
    StudyError, StudySpec, Tally, Trial, TrialState, Turn,
};
pub use summary::{Audit, Shadow, Spent, StoppedTrial, Summary};
pub use times::{Moment, Times, Timing};

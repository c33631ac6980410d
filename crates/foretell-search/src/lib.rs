//! Spaces, samplers, schedulers and the study: which training to run next, and when to stop it.
//!
//! Everything here is pure: no files, processes, clock, threads or global random state. [`Study::step`] takes what
//! happened outside and returns what to do; the same function drives a live search, a replay, and a restart after a crash.
//!
//! ```
//! use foretell_search::{ParameterSpace, plan, trial_stream};
//! // a space, and the configuration of trial 0 of a study with seed 7
//! let space = ParameterSpace::parse(&["lr=log:1e-4:1", "optimizer=choice:sgd,adam"])?;
//! let configuration = space.sample(&mut trial_stream(7, 0));
//! assert!(space.check(&configuration).is_ok());
//! // Hyperband for trainings of 81 epochs: its first bracket starts 81 of them with one epoch each
//! let hyperband = plan(81, 3)?;
//! assert_eq!((hyperband.brackets[0].rungs[0].configurations, hyperband.brackets[0].rungs[0].resource), (81, 1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | files | what they have |
//! |---|---|
//! | `parameter`, `parameter_space`, `layer_space/`, `space` | what is searched: [`ParameterSpace`], [`LayerSpace`], [`Space`] |
//! | `random`, `surrogate/`, `q_learning/`, `sampler`, `worth` | who proposes configurations: [`RandomSampler`], [`SamplerSpec`], [`QLearner`], [`Sampler`] |
//! | `brackets`, `full`, `successive_halving`, `hyperband`, `f_hyperband`, `asha`, `schedule`, `scheduler` | who is trained next, and how far: [`Schedule`], [`Scheduler`] |
//! | `budget` | what spends a budget best: [`Choice`] |
//! | `rank` | by what trials are compared at a rung: [`Rank`] |
//! | `stopping/` | stop rules, one file each: [`StopRule`] |
//! | `policy` | by what rule trials are stopped: [`Policy`] |
//! | `study/`, `record`, `summary` | a study as a fold over its records, and the judge of its running trials: [`Study`], [`Record`], [`Summary`] |
//! | `judge` | the same for trials that another tool runs: [`Judge`] |
//! | `times` | how long it took, by the times in its log: [`Times`] |
//! | `request/` | a study as anybody asks for it, every choice optional, and all defaults: [`StudyRequest`] |
//! | `defaults` | those that stand nowhere else |
//! | `difference` | in what two descriptions differ |
//! | `session/`, `store` | the four verbs by which any program drives a study: [`Session`]; where its records go: [`Store`] |
//! | `replay/` | the same on recorded runs: [`replay()`] |

mod asha;
mod brackets;
mod budget;
mod caution;
mod decision;
mod defaults;
mod difference;
mod f_hyperband;
mod full;
mod hyperband;
mod judge;
mod layer_space;
mod parameter;
mod parameter_space;
mod policy;
mod q_learning;
mod random;
mod range;
mod rank;
mod record;
mod replay;
mod request;
mod sampler;
mod schedule;
mod scheduler;
mod session;
mod space;
mod stopping;
mod store;
mod study;
mod successive_halving;
mod summary;
mod surrogate;
mod times;
mod worth;

pub use asha::Asha;
pub use brackets::{Bracket, BracketError, Plan, Rung, Totals, levels, plan, successive_halving};
pub use budget::Choice;
pub use caution::{Caution, Stopping};
pub use defaults::{
    DEFAULT_EPOCHS, DEFAULT_ETA, DEFAULT_KAPPA, DEFAULT_METRIC, DEFAULT_PATIENCE, DEFAULT_TRIALS,
};
pub use difference::{Difference, differences};
pub use f_hyperband::{Kappa, KappaError, KappaOf, LevelData, LevelResults, Reference};
pub use full::Full;
pub use hyperband::Hyperband;
pub use judge::Judge;
pub use layer_space::{
    Action as LayerAction, LayerSpace, LayerSpaceError, NETWORK, Pool, State, StateKey, Trajectory,
};
pub use parameter::{Condition, Parameter, ParameterError, ParameterKind};
pub use parameter_space::{ParameterSpace, ParameterSpaceError};
pub use policy::Policy;
pub use q_learning::{
    EpsilonSchedule, EpsilonStage, QLearner, QLearning, QLearningError, Replay, Reward, RewardKind,
};
pub use random::{RandomNetwork, RandomSampler, replay_stream, trial_stream};
pub use range::RangeError;
pub use rank::{Rank, Ranks};
pub use record::{Decision, Input, Reason, Record, RecordedForecast};
pub use replay::{
    Nearest, OrderingOutcome, Outcome, RecordedSampler, ReplayError, ReplaySpec, Setting, Table, Taken,
    Trace, TrialTrace, replay, replay_log,
};
pub use request::{
    MOST_TRIALS, PolicyName, Queued, Refit, Refusal, Rungs, SamplerName, SchedulerName, StudyRequest,
};
pub use sampler::{Sampler, SamplerSpec};
pub use schedule::{Schedule, ScheduleError};
pub use scheduler::{End, Job, Next, Scheduler};
pub use session::{Answer, Ending, Session, SessionError, Start};
pub use space::Space;
pub use stopping::{
    AshaRule, ForecastRule, Foreseen, MedianRule, Needs, PatienceRule, Place, Ruling, StopRule, Watched,
};
pub use store::{Memory, Records, Store, StoreError};
pub use study::{
    Best, Fit, Fitted, Losses, Mended, Order, Parts, Progress, RestoreError, Settings, Study, StudyError,
    StudySpec, Tally, Trial, TrialState, Turn,
};
pub use successive_halving::SuccessiveHalving;
pub use summary::{Audit, Shadow, Spent, StoppedTrial, Summary};
pub use surrogate::{Relevance, Relevances, relevances};
pub use times::{Moment, Times, Timing};
pub use worth::Worth;

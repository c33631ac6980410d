#![doc = include_str!("../README.md")]
//!
//! [`Study::step`] takes an event (a worker is idle, a trial reported, a trial ended) and returns the actions to take. A live search, a
//! replay and a restart after a crash all call this function. [`Session`] wraps it in four verbs.
//!
//! # A session with your own stop rule
//!
//! ```
#![doc = include_str!("../examples/embed.rs")]
//! ```
//!
//! # Your own sampler
//!
//! ```
//! use foretell::{Configuration, Direction, Value};
//! use foretell_search::{
//!     MemoryStore, ParameterSpace, Sampler, Session, Space, StudyParts, StudySpec, TrainingEnd, Worth,
//! };
//!
//! /// Tries the learning rates of a list.
//! struct Listed(Vec<f64>);
//!
//! impl Sampler for Listed {
//!     fn propose(&mut self, trial: u64) -> Option<Configuration> {
//!         let rate = self.0.get(usize::try_from(trial).ok()?)?;
//!         Some(Configuration::from([("lr".to_owned(), Value::Number(*rate))]))
//!     }
//!     fn observe_start(&mut self, _: u64, _: &Configuration) {}
//!     fn learn(&mut self, _: u64, _: &Configuration, _: Worth) {} // a sampler that learns does so here
//!     fn observe_failure(&mut self, _: u64, _: &Configuration) {}
//! }
//!
//! let space = Space::Parameters(ParameterSpace::parse(&["lr=log:1e-4:1"])?);
//! let spec = StudySpec { trials: 3, max_resource: 1, burn_in: 1, ..StudySpec::new(space, "val_acc", Direction::Maximize) };
//! let parts = StudyParts { sampler: Some(Box::new(Listed(vec![0.5, 0.01, 0.1]))), ..StudyParts::default() };
//! let mut session = Session::open(spec, parts, MemoryStore::default())?;
//! while let Some(start) = session.ask()? {
//!     let rate = start.configuration["lr"].as_number().unwrap_or_default();
//!     session.report(start.trial, 1, 0.9 - (rate - 0.01).abs(), Default::default())?;
//!     session.tell(start.trial, TrainingEnd::Finished)?;
//! }
//! assert_eq!(session.best().map(|best| best.trial), Some(1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
// docs.rs shows which feature brings an item
#![cfg_attr(docsrs, feature(doc_cfg))]

mod catalogue;
pub mod colors;
mod comparison;
mod condition;
mod defaults;
mod difference;
mod front;
mod judge;
mod length_watch;
mod lengths;
mod lessons;
pub mod limits;
mod objective;
mod parameter;
mod parameter_space;
mod part;
mod range;
mod record;
mod replay;
mod request;
pub mod resource;
mod returned;
mod samplers;
mod saving;
mod schedulers;
mod secret;
mod session;
mod shelf;
mod space;
mod stopping;
mod store;
mod study;
mod summary;
mod times;
mod value_text;
mod view;

pub use catalogue::Catalogue;
pub use comparison::Comparison;
pub use condition::{Condition, ConditionClause, ConditionError, ValueTest};
pub use defaults::{DEFAULT_ETA, DEFAULT_PATIENCE};
pub use difference::{FieldDifference, differences};
pub use front::{FrontObjective, FrontStep, FrontStopped, FrontTrial, ParetoFront};
pub use judge::Judge;
pub use length_watch::{LengthMismatch, LengthNotice, LengthSource, LengthWatch};
pub use lessons::PredictorChoice;
pub use objective::{Formula, FormulaError, Limit, LimitSide, Objective, ObjectiveError};
pub use parameter::{Parameter, ParameterError, ParameterKind};
pub use parameter_space::{ParameterSpace, ParameterSpaceError};
pub use part::{NamedSettings, PartError, StudyPart};
pub use record::{Decision, EarlierTrial, Reason, Record, RecordedForecast, SourcePosition, StudyInput};
pub use replay::{
    BestSoFarPoint, FrontKept, NearestSampler, OrderingOutcome, PredictorTeacher, ReplayError, ReplayOutcome,
    ReplaySetting, RunTable, TakenRuns, TrialTrace, best_so_far_moments, replay, replay_log,
    replay_with_callback,
};
pub use request::{Queued, Refit, Refusal, RungSettings, SchedulerName, StudyRequest, read_fields};
pub use resource::{UNKNOWN_RESOURCE, known_resource};
pub use returned::{ReturnRelation, ReturnedTrial};
pub use samplers::random::trial_stream;
pub use samplers::surrogate::{Contour, Relevances, ResponseSurface, Slice, relevances, relevances_of};
pub use samplers::worth::Worth;
pub use samplers::{
    GpSampling, GridSampling, IsAllowed, NamedSampler, RandomSampling, Sampler, SamplerFamily, SamplerSpec,
    TpeGpSampling, TpeSampling,
};
pub use saving::Saving;
pub use schedulers::asha::Asha;
pub use schedulers::brackets::{
    Bracket, BracketError, BracketTotals, HyperbandPlan, Rung, levels, plan, successive_halving,
};
pub use schedulers::f_hyperband::{Kappa, KappaError, KappaOf, Reference};
pub use schedulers::full::FullTraining;
pub use schedulers::hyperband::Hyperband;
pub use schedulers::rank::{Rank, TrialRanks};
pub use schedulers::schedule::{Schedule, ScheduleError};
pub use schedulers::successive_halving::SuccessiveHalving;
pub use schedulers::{JobEnd, NextAction, Scheduler, TrainingJob};
pub use secret::{
    LAST_SECRET_WORDS, REDACTED, SECRET_WORDS, is_secret_name, redact_line, redact_words, replace_secrets,
};
pub use session::{Session, SessionError, TrainingAnswer, TrainingEnd, TrainingStart};
pub use space::{SearchSpace, Space};
pub use stopping::caution::{Caution, StoppingDefaults};
pub use stopping::policy::StopPolicy;
pub use stopping::{
    AshaRule, ChainRule, EarlierStudy, EndForecast, ForecastRule, LessonStatus, MedianRule, NamedRule,
    NoStopping, OracleRule, PatienceRule, RuleLearner, RuleNeeds, Ruling, RungPlace, StopRule, StudyPlan,
    TrialOutcome, WatchedTrial, name_lesson,
};
pub use store::{MemoryStore, RecordIterator, Store, StoreError};
pub use study::{
    Best, ConfigurationQueue, FittedModel, LogLosses, ManualOrder, MendedRecord, ModelFit, RestoreError,
    Study, StudyError, StudyParts, StudyProgress, StudySettings, StudySpec, Tally, Trial, TrialState,
};
pub use summary::{ShadowSummary, Spent, StoppedTrial, StoppingAudit, StudySummary};
pub use times::{RecordTime, StudyTimes, StudyTiming};
pub use value_text::split_at_commas;
pub use view::{
    DecisionView, LastMetrics, ReportColumns, StudyView, TRIAL_COLUMNS, date, see_metrics, settings,
    trial_rows,
};

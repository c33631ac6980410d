//! Replay: the course that a study would have taken on recorded runs. It is a study: only its trainings are looked up.

mod courses;
mod drive;
mod error;
mod front;
mod nearest;
mod outcome;
mod recording;
mod setting;
mod table;

pub use courses::{BestSoFarPoint, best_so_far_moments};
pub(crate) use drive::ReplayTrace;
pub use drive::TrialTrace;
pub use error::ReplayError;
pub use front::FrontKept;
pub use nearest::{NearestSampler, TakenRuns};
pub use outcome::{OrderingOutcome, ReplayOutcome};
pub use setting::{PredictorTeacher, ReplaySetting};
pub use table::RunTable;

use crate::record::Record;
use crate::samplers::random::trial_stream;
use crate::samplers::{Sampler, SamplerSpec};
use crate::schedulers::brackets::plan;
use crate::schedulers::schedule::{Schedule, ScheduleError};
use crate::space::Space;
use crate::stopping::name_lesson;
use crate::study::{RunRecording, Study, StudyError, StudyParts, StudySpec};
use drive::ReplayDriver;
use foretell::{Configuration, Run};
use nearest::space_of;
use rand::RngExt;
use rayon::prelude::*;
use recording::{ForecasterBank, RecordedRuns, ReplaySampler};
use std::sync::Arc;

/// The recorded runs of one ordering: those behind the trials, in the order of a sampler that learns nothing, and those handed in for
/// a warm start.
struct OrderingDraw {
    ordering: u64,
    trials: Vec<usize>,
    warm_start: Vec<usize>,
    /// The runs of each earlier search.
    before: Vec<Vec<usize>>,
    /// The runs of none of them: a sampler that learns chooses among these, too, as it would in a search.
    others: Vec<usize>,
}

impl OrderingDraw {
    /// The runs of its warm start.
    fn earlier(&self, table: &RunTable) -> Vec<Run> {
        let whole =
            |&run: &usize| Run { curve: table.curve(run, table.points() as u64), ..table.run(run).clone() };
        self.warm_start.iter().map(whole).collect()
    }
}

/// Draws the runs of ordering number `ordering`: for a pass over all runs a random order; for Hyperband one bracket
/// after another, without repeats until fewer runs are left than the next bracket needs.
fn draw(setting: &ReplaySetting, table: &RunTable, ordering: u64) -> Result<OrderingDraw, ReplayError> {
    let mut random = trial_stream(setting.study.seed, ordering);
    let mut pool: Vec<usize> = (0..table.len()).collect();
    shuffle(&mut pool, &mut random);
    let warm_start = pool.split_off(pool.len() - setting.warm_start);
    let Schedule::Hyperband { eta, runs, .. } = setting.study.schedule else {
        let size = setting.trials(table);
        let rest = pool.split_off(size);
        let searches = || rest.chunks(size.max(1)).map(<[usize]>::to_vec);
        let before = searches().take(setting.earlier_searches).collect();
        let others = searches().skip(setting.earlier_searches).flatten().collect();
        return Ok(OrderingDraw { ordering, trials: pool, warm_start, before, others });
    };
    let plan = plan(setting.study.max_resource, eta).map_err(ScheduleError::from)?;
    let mut trials = Vec::new();
    let mut left = Vec::new();
    for _ in 0..runs {
        for bracket in &plan.brackets {
            let wanted = bracket.totals().configurations as usize;
            let end = trials.len() + wanted;
            while trials.len() < end {
                // a bracket takes its runs from one shuffle, so that none is in it twice unless it has more places than there are runs
                if left.is_empty() || left.len() < wanted.min(pool.len()) {
                    shuffle(&mut pool, &mut random);
                    left.clone_from(&pool);
                }
                trials.extend(left.drain(..left.len().min(end - trials.len())));
            }
        }
    }
    Ok(OrderingDraw { ordering, trials, warm_start, before: Vec::new(), others: Vec::new() })
}

fn shuffle(items: &mut [usize], random: &mut impl rand::Rng) {
    for i in (1..items.len()).rev() {
        items.swap(i, random.random_range(0..=i));
    }
}

impl ReplaySetting {
    /// The setting of one order: with the lessons of the runs that are held back in it.
    fn with_lessons(&self, table: &RunTable, draw: &OrderingDraw) -> Self {
        let taught = self.teacher.as_ref().and_then(|teacher| {
            teacher(&draw.earlier(table), &self.study(table, draw.trials.len()), table.options())
        });
        let mut setting = self.clone();
        if let Some((predictor, stop_probability)) = taught {
            setting.predictor = Some(predictor);
            setting.study.criterion.stop_probability = stop_probability;
            setting.study.policy = setting.study.policy.by_forecasts();
        }
        setting
    }
}

/// The sampler of one ordering, which notes in `taken` the runs it takes: the sampled runs in their order, or by one that learns.
fn ordering_sampler(
    StudySpec { sampler, seed, .. }: &StudySpec,
    table: &RunTable,
    draw: &OrderingDraw,
    taken: &TakenRuns,
) -> Result<Box<dyn Sampler>, ReplayError> {
    let recorded = |&run: &usize| (run, table.run(run).configuration.clone());
    let mut drawn: Vec<(usize, Configuration)> = draw.trials.iter().map(recorded).collect();
    if *sampler == SamplerSpec::default() {
        return Ok(Box::new(ReplaySampler::new(drawn, TakenRuns::clone(taken))));
    }
    drawn.extend(draw.others.iter().map(recorded));
    let space = space_of(drawn.iter().map(|(_, configuration)| configuration)).ok_or(ReplayError::NoSpace)?;
    let inner = sampler
        .sampler(&Space::Parameters(space.clone()), seed.wrapping_add(draw.ordering))
        .map_err(StudyError::from)?;
    Ok(Box::new(NearestSampler::new(inner, space, drawn, TakenRuns::clone(taken))))
}

/// The curves of the searches before that of `draw`, one after another, each as far as it was trained.
fn lessons(
    setting: &ReplaySetting,
    table: &Arc<RunTable>,
    draw: &OrderingDraw,
) -> Result<Vec<Run>, ReplayError> {
    let mut alone = ReplaySetting { warm_start: 0, ..setting.clone() };
    let (table, before) = match &setting.earlier {
        Some(other) => {
            // their runs are as long as they are, not as those of this search
            alone.study.max_resource = other.points() as u64;
            (other, self::draw(&alone, other, draw.ordering)?.before)
        }
        None => (table, draw.before.clone()),
    };
    let mut lessons: Vec<Run> = Vec::new();
    for (number, trials) in before.into_iter().enumerate() {
        let search = OrderingDraw {
            ordering: draw.ordering,
            trials,
            warm_start: Vec::new(),
            before: Vec::new(),
            others: Vec::new(),
        };
        let (trace, _) = replay_after(&alone, table, &search, &lessons)?;
        lessons.extend(trace.trials.iter().filter(|trial| trial.trained > 0).map(|trial| {
            let curve = table.curve(trial.run, trial.trained);
            let run = table.run(trial.run);
            Run { curve, id: name_lesson(&format!("search {number}"), &run.id), ..run.clone() }
        }));
    }
    Ok(lessons)
}

/// One search that learns from `lessons`, by a rule that makes no forecasts by a predictor.
fn replay_after(
    setting: &ReplaySetting,
    table: &Arc<RunTable>,
    draw: &OrderingDraw,
    lessons: &[Run],
) -> Result<(ReplayTrace, Vec<Record>), ReplayError> {
    drive_study(setting, table, draw, (None, lessons), false)
}

/// Replays one ordering: drives a study of the runs of `draw` to its end.
fn replay_one(
    setting: &ReplaySetting,
    table: &Arc<RunTable>,
    draw: &OrderingDraw,
    bank: Option<Arc<ForecasterBank>>,
    keep_log: bool,
) -> Result<(ReplayTrace, Vec<Record>), ReplayError> {
    let lessons = lessons(setting, table, draw)?;
    let earlier = if lessons.is_empty() { draw.earlier(table) } else { lessons };
    drive_study(setting, table, draw, (bank, earlier.as_slice()), keep_log)
}

/// Drives a study of the runs of `draw`, which learns from `earlier` runs, to its end.
fn drive_study(
    setting: &ReplaySetting,
    table: &Arc<RunTable>,
    draw: &OrderingDraw,
    (bank, earlier): (Option<Arc<ForecasterBank>>, &[Run]),
    keep_log: bool,
) -> Result<(ReplayTrace, Vec<Record>), ReplayError> {
    let taken = TakenRuns::default();
    let parts = StudyParts {
        sampler: Some(ordering_sampler(&setting.study, table, draw, &taken)?),
        predictor: bank.as_ref().map(|bank| bank.predictor()),
        ..StudyParts::default()
    };
    // curves of earlier searches have places, and no recorded run: rules that look their ends up are refused
    let warm_start =
        if draw.warm_start.len() == earlier.len() { draw.warm_start.clone() } else { vec![0; earlier.len()] };
    let recorded =
        Arc::new(RecordedRuns::new(setting, Arc::clone(table), (warm_start, TakenRuns::clone(&taken)), bank));
    let recording: Arc<dyn RunRecording> = recorded.clone();
    let mut study = Study::assemble(setting.study(table, draw.trials.len()), parts, Some(recording))?;
    let warm_start = study.warm_start(earlier);
    let mut drive = ReplayDriver {
        table,
        taken,
        workers: setting.workers,
        retrain: setting.retrain,
        trials_a_run: match setting.study.schedule {
            Schedule::Hyperband { runs, .. } => draw.trials.len() as u64 / runs,
            _ => 0,
        },
        study,
        trace: ReplayTrace::default(),
        log: keep_log.then_some(warm_start),
    };
    drive.run();
    let (trace, log) = (drive.trace, drive.log.unwrap_or_default());
    recorded.failure().map_or(Ok((trace, log)), |error| Err(error.into()))
}

/// Replays `settings` on `table`. Orderings run in parallel; settings with the same predictor share forecasters, whose models
/// are fitted once for each ordering, level and τ. The result does not depend on the number of threads.
///
/// O(settings · orderings · trials · T) besides the fits.
///
/// # Errors
/// The [`ReplayError`] of the first setting that is not valid, or whose predictor cannot be fitted.
pub fn replay(table: &Arc<RunTable>, settings: &[ReplaySetting]) -> Result<Vec<ReplayOutcome>, ReplayError> {
    replay_with_callback(table, settings, &|| ())
}

/// Like [`replay`], but calls `watch` after each ordering, from any thread.
///
/// # Errors
/// Those of [`replay`].
pub fn replay_with_callback(
    table: &Arc<RunTable>,
    settings: &[ReplaySetting],
    watch: &(dyn Fn() + Sync),
) -> Result<Vec<ReplayOutcome>, ReplayError> {
    settings.iter().try_for_each(|setting| setting.validate(table))?;
    let orderings = settings.iter().map(|setting| setting.orderings).max().unwrap_or(0);
    let by_ordering: Vec<Vec<Option<OrderingOutcome>>> = (0..orderings)
        .into_par_iter()
        .map(|ordering| {
            let replayed = replay_ordering(table, settings, ordering);
            watch();
            replayed
        })
        .collect::<Result<_, _>>()?;
    let mut outcomes: Vec<ReplayOutcome> =
        settings.iter().map(|setting| ReplayOutcome::new(setting.study.clone(), table)).collect();
    for ordering in by_ordering {
        for (outcome, one) in outcomes.iter_mut().zip(ordering) {
            outcome.orderings.extend(one);
        }
    }
    Ok(outcomes)
}

/// The log of ordering number `ordering` of a replay: the records that a live study of the same runs would write.
///
/// # Errors
/// Those of [`replay`].
pub fn replay_log(
    table: &Arc<RunTable>,
    setting: &ReplaySetting,
    ordering: usize,
) -> Result<Vec<Record>, ReplayError> {
    setting.validate(table)?;
    let draw = draw(setting, table, ordering as u64)?;
    let setting = &setting.with_lessons(table, &draw);
    let bank = setting.predictor.clone().map(|predictor| Arc::new(ForecasterBank::new(predictor)));
    replay_one(setting, table, &draw, bank, true).map(|(_, log)| log)
}

fn replay_ordering(
    table: &Arc<RunTable>,
    settings: &[ReplaySetting],
    ordering: usize,
) -> Result<Vec<Option<OrderingOutcome>>, ReplayError> {
    let mut banks: Vec<Arc<ForecasterBank>> = Vec::new();
    let mut results = Vec::new();
    for setting in settings {
        if ordering >= setting.orderings {
            results.push(None);
            continue;
        }
        let draw = draw(setting, table, ordering as u64)?;
        let setting = &setting.with_lessons(table, &draw);
        let bank = setting.predictor.as_ref().map(|predictor| {
            let known = banks.iter().position(|bank| bank.is_of(predictor)).unwrap_or_else(|| {
                banks.push(Arc::new(ForecasterBank::new(Arc::clone(predictor))));
                banks.len() - 1
            });
            banks[known].next_setting();
            Arc::clone(&banks[known])
        });
        let (trace, _) = replay_one(setting, table, &draw, bank, false)?;
        // a sampler that learns chooses its trials itself, and others where others are stopped
        let taken: Vec<usize> = match setting.study.sampler == SamplerSpec::default() {
            true => draw.trials,
            false => trace.trials.iter().map(|trial| trial.run).collect(),
        };
        results.push(Some(OrderingOutcome::new(setting, table, &taken, trace)?));
    }
    Ok(results)
}

//! A search that runs: the study's folder opened, and its driver started.

#[cfg(feature = "serve")]
mod elsewhere;

use super::changes;
use super::conflict;
use super::display::StudyDisplay;
use super::flags::SearchArguments;
use super::notices::NoticePrinter;
use super::workload::Workload;
use crate::catalogue::catalogue;
use crate::failure::{CommandResult, Failure};
use crate::interrupt::Interrupt;
use crate::output::note;
use crate::terminal::keep_unsaid_in;
use foretell::Run;
use foretell_run::log_path;
use foretell_run::{
    Driver, DriverError, EventLogSurvey, EventStore, FullDiskWait, Guardian, LocalTrials, Orders, RunOutcome,
    TrialSetup, adopt_orphans, end_all_abandoned, remove_checkpoints, trial_directory,
};
use foretell_search::{Refusal, Session, SessionError, Study, StudyRequest, StudySpec, StudyTimes};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How long a stopped trial may take to end before it is killed.
const STOP_GRACE_PERIOD: Duration = Duration::from_secs(4);
/// How long an interrupted search may take to end: its trials have [`STOP_GRACE_PERIOD`] of it.
pub(super) const INTERRUPT_TIMEOUT: Duration = Duration::from_secs(5);

/// The study to search.
pub(super) struct DescribedStudy {
    /// The study, if it is new.
    pub(super) spec: StudySpec,
    /// The request: settings that it leaves open are those of the existing study. Without it, that study must be `spec`.
    pub(super) request: Option<StudyRequest>,
    /// The command for a new study instead, if the folder contains another one.
    pub(super) new_study: Option<String>,
}

/// A study in its folder, ready to run.
pub(crate) struct StudyRun {
    directory: PathBuf,
    driver: Driver<LocalTrials, EventStore>,
    workload: Workload,
    /// Trials that were there when the study was opened.
    found: usize,
    /// Ends the trials should this process be killed; last, so that it is the last to go.
    _guardian: Option<Guardian>,
}

impl StudyRun {
    /// Opens the study that is `described` in `directory`, or begins it there with the runs of `warm_start` to learn from.
    pub(super) fn open(
        directory: &Path,
        described: DescribedStudy,
        arguments: &SearchArguments,
        workload: &Workload,
        warm_start: &[Run],
        interrupt: &Interrupt,
    ) -> Result<Self, Failure> {
        let (mut store, survey) = EventStore::open(log_path(directory)).map_err(Failure::input)?;
        if let Some(dropped) = &survey.dropped {
            note(&format!(
                "{}: removed an incomplete last line of {} bytes, which was never acknowledged",
                directory.display(),
                dropped.bytes
            ));
        }
        keep_unsaid_in(directory);
        let room = FullDiskWait::until_canceled(Arc::clone(&interrupt.flag), note);
        store.set_full_disk_wait(room.clone());
        let detects_score = described.request.as_ref().is_some_and(|request| request.score.is_none());
        let mut session = open_session(directory, described, store, &survey)?;
        if let Some(text) = survey
            .study
            .as_deref()
            .and_then(|there| changes::describe_changed_settings(there, session.study()))
        {
            note(&text);
        }
        let before = Duration::from_millis(session.store().times().elapsed_millis());
        let study = session.study();
        let found = study.trials().len();
        // before any trial starts: processes of a killed search would go on using the GPU and the folders of the trials that continue
        end_abandoned_trials(directory, found as u64)?;
        // trials that are there count, even if fewer are asked for now
        StudySpec { trials: study.spec().trials.max(found as u64), ..study.spec().clone() }
            .check_burn_in(warm_start.len().max(study.warm_start_runs().len()))
            .map_err(|error| failure_in_directory(directory, &error))?;
        session.warm_start(warm_start).map_err(Failure::midway)?;
        let workers = arguments.workers();
        let setup = TrialSetup {
            directory: directory.to_owned(),
            command: workload.command.clone(),
            metric: workload.metric.clone(),
            max_resource: session.study().spec().given_resource(),
            environment: environment(workload, workers),
            space: Some(session.study().spec().space.clone()),
            watch: arguments.control.watch(workload.is_built_in(), workload.hook(), session.study().spec()),
            gpus: arguments.control.gpus.clone(),
            unplaced: workload.unplaced.clone(),
            config: workload.config.clone(),
            working_dir: None,
        };
        // another program may have children of its own, which must not be taken for what a trial left behind
        adopt_orphans(!is_foretell_command());
        let guardian = guardian(directory);
        let trials = LocalTrials::new(setup, STOP_GRACE_PERIOD)
            .with_full_disk_wait(room)
            .with_series(session.study().series());
        let driver = Driver::new(session, trials, workers, workload.what_is_missed())
            .with_limits(arguments.limits(before));
        let driver = driver.with_orders(Orders::for_study(directory));
        let driver = if detects_score { driver.with_score_detection() } else { driver };
        let (directory, workload) = (directory.to_owned(), workload.clone());
        Ok(Self { directory, driver, workload, found, _guardian: guardian })
    }

    /// The study as it stands.
    pub(super) fn study(&self) -> &Study {
        self.driver.session().study()
    }

    /// How long it has taken.
    pub(super) fn times(&self) -> &StudyTimes {
        self.driver.session().store().times()
    }

    /// Where it is kept.
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The number of trials the study had when it was opened.
    pub(super) fn trials_found(&self) -> usize {
        self.found
    }

    /// How many trials run at a time.
    pub(super) fn workers(&self) -> usize {
        self.driver.workers()
    }

    /// The workload of a trial.
    pub(super) fn workload(&self) -> &Workload {
        &self.workload
    }

    /// Runs the study to its end, or until `interrupt` comes, and shows it on `display`.
    pub(super) fn run(&mut self, interrupt: &Interrupt, display: &mut StudyDisplay) -> CommandResult {
        let mut notices =
            NoticePrinter::new(&self.workload, self.driver.session().warm_start_range(), display);
        let ran = self.driver.run(&interrupt.flag, &mut |study, event| notices.observe(study, &event));
        let finish = ran.map_err(|error| match error {
            _ if interrupt.flag.load(Ordering::SeqCst) => {
                Failure::Interrupted(format!("interrupted; {error}"), interrupt.exit_code())
            }
            DriverError::ObserverRefused(_) => Failure::input(error),
            _ => Failure::midway(error),
        })?;
        self.driver.session_mut().store_mut().sync().map_err(Failure::midway)?;
        self.write_q_table()?;
        let how = match finish {
            RunOutcome::Done => return Ok(()),
            RunOutcome::Canceled => "interrupted",
            RunOutcome::Unfinished => "not finished",
            RunOutcome::LimitReached(limit) => {
                note(&format!("the {limit} is reached, so the search ends. A larger limit continues it"));
                return Ok(());
            }
        };
        let said = format!(
            "{how}; all reported epochs are kept in {}. To continue, run the same command again",
            self.directory.display()
        );
        Err(match finish {
            RunOutcome::Canceled => Failure::Interrupted(said, interrupt.exit_code()),
            RunOutcome::Done | RunOutcome::Unfinished | RunOutcome::LimitReached(_) => Failure::Midway(said),
        })
    }

    /// Writes the state of the sampler next to the log, for people to read. A resumed study does not read this file.
    fn write_q_table(&self) -> CommandResult {
        let Some(learned) = self.study().learned_state() else { return Ok(()) };
        let path = self.directory.join("q_table.json");
        let text = serde_json::to_string_pretty(&learned).map_err(Failure::midway)?;
        foretell_run::write_atomically(&path, text.as_bytes())
            .map_err(|error| Failure::midway(format!("cannot write {}: {error}", path.display())))
    }
}

/// The session on the study in `store`. A study without a report whose trials failed starts from the beginning, with the command as it is
/// now, and without the checkpoints of those trials. Any other study continues: its trials may have written values that nobody has read.
fn open_session(
    directory: &Path,
    DescribedStudy { mut spec, request, new_study }: DescribedStudy,
    mut store: EventStore,
    survey: &EventLogSurvey,
) -> Result<Session<EventStore>, Failure> {
    if let Some(there) = &survey.study {
        let again = request
            .map_or_else(|| Ok(spec.clone()), |request| request.resolve_with(Some(there), catalogue()));
        if !survey.has_reports && survey.has_failures {
            end_abandoned_trials(directory, survey.trials)?;
            // a new trial must not continue from the checkpoint of an earlier one of the same number
            (0..survey.trials).for_each(|trial| remove_checkpoints(&trial_directory(directory, trial)));
            note(&format!(
                "{}: nothing was reported yet, so the study starts from scratch",
                directory.display()
            ));
            store.clear().map_err(Failure::midway)?;
        } else if again.as_ref().is_err_and(|refusal| refusal.differs) && !there.conflicts(&spec).is_empty() {
            return Err(conflict::refuse_other_study(directory, there, &spec, new_study.as_deref()));
        } else {
            spec = again?;
        }
    }
    Session::open(spec.clone(), catalogue().into(), store).map_err(|error| match error {
        SessionError::Another { there } => {
            conflict::refuse_other_study(directory, &there, &spec, new_study.as_deref())
        }
        SessionError::Store(error) => Failure::midway(error),
        // the enqueued configurations were not checked yet
        SessionError::Study(error) if survey.study.is_none() => Refusal::from(error).into(),
        error => failure_in_directory(directory, &error),
    })
}

/// A guardian of the study in `directory`; `None` if this program is not the command itself (for example in Python), or if the
/// guardian cannot be started. The next start of the study then ends the remaining processes.
fn guardian(directory: &Path) -> Option<Guardian> {
    let program = std::env::current_exe().ok()?;
    let directory = std::path::absolute(directory).ok()?;
    is_foretell_command()
        .then(|| Guardian::start(&[program.into(), "guard".into()], &directory, note).ok())
        .flatten()
}

/// Whether this program is the command itself, and not Python, say.
fn is_foretell_command() -> bool {
    let program = std::env::current_exe().unwrap_or_default();
    program.file_stem().is_some_and(|name| name.to_string_lossy().starts_with("foretell"))
}

/// Ends the processes that a killed search left running, of its first `trials` trials.
fn end_abandoned_trials(directory: &Path, trials: u64) -> CommandResult {
    let directories = (0..trials).map(|trial| trial_directory(directory, trial));
    end_all_abandoned(directories, STOP_GRACE_PERIOD).map(drop).map_err(Failure::midway)
}

/// Each worker has its share of the cores, the built-in networks one: their results depend on it, and several trials at a
/// time use the cores better than several threads a trial. The built-in networks keep the memory of a step for the next one, where the
/// C library is glibc: given back and taken again it costs them a tenth of the time.
fn environment(workload: &Workload, workers: usize) -> BTreeMap<String, String> {
    threads(workers, workload.is_built_in())
}

/// The variables that limit the threads of one of `workers` trials at a time.
pub(crate) fn threads(workers: usize, is_built_in: bool) -> BTreeMap<String, String> {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let threads = if is_built_in { 1 } else { (cores / workers).max(1) };
    let names = ["OMP_NUM_THREADS", "RAYON_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"];
    let threads = names.into_iter().map(|name| (name, threads.to_string()));
    let memory = ["MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_"].into_iter();
    let memory = memory.filter(|_| is_built_in).map(|name| (name, (1_u64 << 30).to_string()));
    let unset = threads.chain(memory).filter(|(name, _)| std::env::var_os(name).is_none());
    unset.map(|(name, value)| (name.to_owned(), value)).collect()
}

fn failure_in_directory(directory: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::input(format!("{}: {error}", directory.display()))
}

//! Trials as local processes: one command for all, one folder for each.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use foretell::Configuration;
use foretell_search::{Space, TrainingStart, known_resource};
use serde_json::{Map, Value};

use crate::config_file::ConfigFile;
use crate::fleet::executor::{Executor, ExecutorError, StartPoint, UnreadReports};
use crate::log::room::FullDiskWait;
use crate::process::abandoned::runs_elsewhere;
use crate::process::checkpoints::{self, checkpoint_directory, trial_directory};
use crate::process::executor::LocalProcesses;
use crate::process::message::{MessageKind, ProcessStatus, TrialMessage, TrialNotice};
use crate::process::params_watch::ParamsWatch;
use crate::process::trial::{TrialSpec, WatchSettings};
use foretell_logs::printed::MetricSource;

/// The common settings of the trials of a study.
#[derive(Clone, Debug)]
pub struct TrialSetup {
    /// The study's folder; trials have theirs in it, see [`trial_directory`].
    pub directory: PathBuf,
    /// Program and arguments, with placeholders.
    pub command: Vec<String>,
    /// Where the metric is in the output.
    pub metric: MetricSource,
    /// The number of epochs of a full trial; unknown where trials show it, and each start has it.
    pub max_resource: u64,
    /// Environment variables to add. `FORETELL_WORKER` is added to them: the worker's number, from 0.
    pub environment: BTreeMap<String, String>,
    /// The search space, which defines how values are written.
    pub space: Option<Space>,
    /// The limits of each trial, in addition to its output.
    pub watch: WatchSettings,
    /// The GPUs that are handed out, one to a worker, by `CUDA_VISIBLE_DEVICES`; none where there are none.
    pub gpus: Vec<String>,
    /// Parameters without a placeholder: a trial must open its file of parameters.
    pub unplaced: Vec<String>,
    /// The command's configuration file; `{config}` stands for a trial's copy of it.
    pub config: Option<ConfigFile>,
    /// The folder in which trials run; that of this process where none is named.
    pub working_dir: Option<PathBuf>,
}

/// Runs each trial of a study as a local process.
#[derive(Debug)]
pub struct LocalTrials {
    processes: LocalProcesses,
    setup: TrialSetup,
    /// Watches the first trial, where there are parameters that no placeholder stands for.
    params_watch: Option<ParamsWatch>,
    /// Whether one trial is, or was, watched.
    is_watched: bool,
}

/// The values of `configuration` as a program is given them.
fn format_values(space: Option<&Space>, configuration: &Configuration) -> Map<String, Value> {
    match space {
        Some(space) => space.program_values(configuration),
        None => match serde_json::to_value(configuration) {
            Ok(Value::Object(values)) => values,
            _ => Map::new(),
        },
    }
}

impl LocalTrials {
    /// Trials by `setup`, with the time `grace` between SIGTERM and SIGKILL for those that are stopped.
    pub fn new(setup: TrialSetup, grace: Duration) -> Self {
        let processes = LocalProcesses::new(grace);
        Self { processes, setup, params_watch: None, is_watched: false }
    }

    /// Trials that are read by the series that an earlier run of the study chose, as its log has it.
    #[must_use]
    pub fn with_series(self, series: Option<&str>) -> Self {
        let chosen = series.and_then(|series| serde_json::from_str(series).ok());
        Self { processes: self.processes.with_chosen_series(chosen), ..self }
    }

    /// Trials that wait out a full disk as `room` says before they start.
    #[must_use]
    pub fn with_full_disk_wait(self, room: FullDiskWait) -> Self {
        Self { processes: self.processes.with_full_disk_wait(room), ..self }
    }

    fn start_once(
        &mut self,
        start: &TrainingStart,
        worker: usize,
        resumes: bool,
    ) -> Result<(), ExecutorError> {
        let spec = self.trial_spec(start, worker, resumes)?;
        Ok(self.processes.start(&spec).map(drop)?)
    }

    /// Where in `messages` the watched trial reports for the first time, or ends well.
    fn first_report_index(&self, messages: &[TrialMessage]) -> Option<usize> {
        let watched = self.params_watch.as_ref()?.trial;
        messages.iter().position(|message| {
            message.trial == watched
                && matches!(
                    message.kind,
                    MessageKind::Report(_)
                        | MessageKind::Settled(_)
                        | MessageKind::Ended { status: ProcessStatus::Exited(0), .. }
                )
        })
    }

    fn last_checkpoint_folder(&self, trial: u64) -> PathBuf {
        checkpoint_directory(&trial_directory(&self.setup.directory, trial))
    }

    fn trial_spec(
        &self,
        start: &TrainingStart,
        worker: usize,
        resumes: bool,
    ) -> Result<TrialSpec, ExecutorError> {
        let parameters = format_values(self.setup.space.as_ref(), &start.configuration);
        let directory = trial_directory(&self.setup.directory, start.trial);
        let command = match &self.setup.config {
            Some(config) => config.write_trial_copy(&self.setup.command, &directory, &parameters)?,
            None => self.setup.command.clone(),
        };
        let checkpoint_dir = self.last_checkpoint_folder(start.trial);
        let mut environment = self.setup.environment.clone();
        environment.insert("FORETELL_WORKER".to_owned(), worker.to_string());
        if let Some(gpu) = worker.checked_rem(self.setup.gpus.len()).map(|place| &self.setup.gpus[place]) {
            environment.insert("CUDA_VISIBLE_DEVICES".to_owned(), gpu.clone());
        }
        Ok(TrialSpec {
            trial: start.trial,
            command,
            parameters,
            seed: u64::from(start.seed),
            max_resource: known_resource(self.setup.max_resource).unwrap_or(start.until),
            until: start.until,
            directory,
            resume_from: resumes.then(|| checkpoint_dir.clone()),
            checkpoint_dir,
            resumed_at: if resumes { start.from } else { 0 },
            working_dir: self.setup.working_dir.clone(),
            environment,
            metric: self.setup.metric.clone(),
            watch: self.setup.watch.clone(),
        })
    }
}

impl Executor for LocalTrials {
    fn start(&mut self, start: &TrainingStart, worker: usize) -> Result<StartPoint, ExecutorError> {
        let directory = trial_directory(&self.setup.directory, start.trial);
        // another machine may still write there, so that this attempt gets a copy
        if runs_elsewhere(&directory) {
            checkpoints::copy_to_next_folder(&directory)?;
        }
        let mut checkpoints = fs::read_dir(self.last_checkpoint_folder(start.trial)).into_iter().flatten();
        let has_checkpoint = checkpoints.next().is_some();
        let resumes = start.from > 0 && has_checkpoint;
        if !self.setup.unplaced.is_empty() && !std::mem::replace(&mut self.is_watched, true) {
            self.params_watch = ParamsWatch::new(start.trial, &directory);
        }
        let room = self.processes.full_disk_wait().clone();
        room.retry_while_full(
            |error: &ExecutorError| error.as_ref(),
            || self.start_once(start, worker, resumes),
        )?;
        // even if nothing was reported, because a worker that was cut off before its first report may have left a checkpoint
        Ok(if has_checkpoint { StartPoint::Resumed } else { StartPoint::Anew })
    }

    fn unread_reports(&mut self, start: &TrainingStart) -> Result<UnreadReports, ExecutorError> {
        let Some(position) = start.read else { return Ok(UnreadReports::default()) };
        let spec = self.trial_spec(start, 0, false)?;
        Ok(self.processes.unread_reports(&spec, position, start.reported)?)
    }

    fn stop(&mut self, trial: u64) {
        self.processes.stop(trial);
    }

    fn take_messages(&mut self, wait: Duration) -> Vec<TrialMessage> {
        let mut messages = self.processes.receive_messages(wait);
        if let Some(place) = self.first_report_index(&messages)
            && let Some(watch) = self.params_watch.take()
            && !watch.was_opened()
        {
            let unread = TrialNotice::Unread { parameters: self.setup.unplaced.join(",") };
            let kind = MessageKind::Noticed(unread);
            messages.insert(place, TrialMessage { trial: watch.trial, kind });
        }
        messages
    }

    fn discard_checkpoints(&mut self, trial: u64) {
        checkpoints::remove_checkpoints(&trial_directory(&self.setup.directory, trial));
    }

    fn forget_checkpoints(&mut self, trial: u64) {
        // the folders before it may still be written to by other processes
        checkpoints::empty(&self.last_checkpoint_folder(trial));
    }
}

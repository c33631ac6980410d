//! A worker: takes trials from a study on another machine, and runs them as that machine would.
//!
//! One thread runs the processes of all slots, and one thread for each slot talks to the server: a server that is away holds up no
//! training.

mod http_link;
mod slot;
mod unsent;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use thiserror::Error;

use crate::fleet::trainer::{GivenTraining, Trainer, TrainingEvent, TrainingFailure, TrainingMessage};
use crate::host::access::ServerAccess;
use crate::host::work::{Work, WorkError};
use crate::process::abandoned::{end_abandoned, runs_elsewhere};
use crate::process::checkpoints::trial_directory;
use crate::process::local_trials::{LocalTrials, TrialSetup};
use crate::supervised::spawn_supervised;
use http_link::{HttpLink, RequestError};
use slot::{SlotRequest, WorkerSlot};

/// The time that a stopped training may take to end before it is killed; it writes its checkpoint then.
const STOP_GRACE: Duration = Duration::from_secs(10);
/// The time that the worker waits for its trainings before it looks whether it is to end.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The settings of a worker, including those that differ on its machine.
#[derive(Clone, Debug)]
pub struct WorkerSettings {
    /// Where the server is.
    pub access: ServerAccess,
    /// The study; the only one there where none is named.
    pub study: Option<String>,
    /// A name that no other worker has.
    pub name: String,
    /// This version of Foretell.
    pub version: String,
    /// This program: what runs the built-in networks.
    pub program: PathBuf,
    /// The number of trials that run at a time.
    pub slots: usize,
    /// The GPUs that are handed out, one to a slot.
    pub gpus: Vec<String>,
    /// A slot that has nothing to do for so long ends, and the worker with its last one.
    pub idle_exit: Option<Duration>,
    /// The folder in which the command runs; that of the search where none is named.
    pub workdir: Option<PathBuf>,
    /// Where the trials' folders are kept if the study's own folder is not seen here.
    pub folder: PathBuf,
    /// Environment variables to add.
    pub environment: BTreeMap<String, String>,
}

/// The reason why a worker could not run.
#[derive(Debug, Error)]
pub enum WorkerError {
    /// The server refuses.
    #[error("{0}")]
    Refused(String),
    /// The server is not there.
    #[error("no server answers: {0}")]
    ServerAway(String),
    /// Nobody has said which study.
    #[error("the server serves several studies. Choose one of {0}")]
    SeveralStudies(String),
    /// There is nothing to run.
    #[error(
        "study {0} has no command, because its trials report over HTTP. Workers need a study that `foretell search -- COMMAND` started"
    )]
    NoCommand(String),
    /// The folder of the command is not there.
    #[error(
        "{}: the study's command runs in this folder, which does not exist on this machine. Choose another one with --workdir DIR", .0.display()
    )]
    MissingWorkdir(PathBuf),
    /// The study's metric or configuration file.
    #[error(transparent)]
    Work(#[from] WorkError),
    /// A folder cannot be made, or a thread not be started.
    #[error("{0}")]
    System(String),
}

/// A worker that is ready to run trials.
pub struct Worker {
    settings: WorkerSettings,
    study: String,
    work: Work,
    /// The folder that the trials' folders are in.
    directory: PathBuf,
    is_shared: bool,
}

/// The trainings of a worker, and who hears of them.
struct WorkerTrainings<'a> {
    trainer: Trainer<LocalTrials>,
    directory: &'a Path,
    slots: Vec<Sender<TrainingMessage>>,
    /// The slot of each trial that runs.
    places: BTreeMap<u64, usize>,
    say: &'a dyn Fn(&str),
    /// Whether the worker was asked to end.
    leave: &'a AtomicBool,
}

impl Worker {
    /// Asks the server what there is to run, and waits for it for as long as an idle slot stays.
    ///
    /// # Errors
    /// [`WorkerError`].
    pub fn join_study(
        mut settings: WorkerSettings,
        leave: &AtomicBool,
        say: &dyn Fn(&str),
    ) -> Result<Self, WorkerError> {
        let begun = Instant::now();
        let mut is_said = false;
        loop {
            let away = match Self::fetch_study_work(&settings) {
                Err(JoinError::Away(why)) => why,
                Err(JoinError::Failed(error)) => return Err(error),
                Ok((study, work)) => return Self::from_study_work(settings, study, work),
            };
            let patience = settings.idle_exit.unwrap_or(Duration::MAX);
            if begun.elapsed() >= patience || leave.load(Ordering::SeqCst) {
                return Err(WorkerError::ServerAway(away));
            }
            if !std::mem::replace(&mut is_said, true) {
                say(&format!("no server answers ({away}); trying again"));
            }
            // the file may name another address by now, because a server that is started again may run on another machine
            if let Some(now) = settings.access.reload() {
                settings.access = now;
            }
            thread::sleep(Duration::from_millis(500).min(patience));
        }
    }

    fn fetch_study_work(settings: &WorkerSettings) -> Result<(String, Work), JoinError> {
        let study = match &settings.study {
            Some(study) => study.clone(),
            None => match HttpLink::new(settings.access.clone(), String::new(), String::new())
                .fetch_studies()?
                .as_slice()
            {
                [study] => study.clone(),
                [] => return Err(JoinError::Away("there is no study on the server yet".to_owned())),
                several => return Err(JoinError::Failed(WorkerError::SeveralStudies(several.join(", ")))),
            },
        };
        check_name(&study).map_err(JoinError::Failed)?;
        let mut link = HttpLink::new(settings.access.clone(), study.clone(), settings.name.clone());
        let work = link.fetch_work(&settings.version)?;
        Ok((study, work))
    }

    fn from_study_work(settings: WorkerSettings, study: String, mut work: Work) -> Result<Self, WorkerError> {
        if work.command.is_empty() {
            return Err(WorkerError::NoCommand(study));
        }
        if work.is_built_in {
            work.command[0] = settings.program.to_string_lossy().into_owned();
        }
        let folder = settings.workdir.clone().unwrap_or_else(|| work.folder.clone());
        if !folder.is_dir() {
            return Err(WorkerError::MissingWorkdir(folder));
        }
        work.folder = folder;
        let name = format!("{study}-{}", work.mark);
        check_name(&name)?;
        let is_shared = work.is_shared();
        let directory = if is_shared { work.study.clone() } else { settings.folder.join(&name) };
        fs::create_dir_all(&directory)
            .map_err(|error| WorkerError::System(format!("{}: {error}", directory.display())))?;
        Ok(Self { settings, study, work, directory, is_shared })
    }

    /// The study.
    pub fn study_name(&self) -> &str {
        &self.study
    }

    /// The folder that the trials' folders are in.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Whether that is the study's own folder: then a trial continues here from the checkpoint that another worker wrote.
    pub fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// Runs trials until there is nothing more to do, or `leave` is set: then what runs is asked to end, and handed back.
    ///
    /// # Errors
    /// [`WorkerError`].
    pub fn run(&self, leave: &AtomicBool, say: &dyn Fn(&str)) -> Result<(), WorkerError> {
        let (wishes, wished) = channel();
        let leaving = Arc::new(AtomicBool::new(false));
        let mut slots = Vec::new();
        for number in 0..self.settings.slots {
            let (sender, heard) = channel();
            slots.push(sender);
            let slot = self.make_slot(number, heard, wishes.clone(), Arc::clone(&leaving));
            let ended = wishes.clone();
            spawn_supervised(
                &format!("slot {number}"),
                move || slot.run(),
                move |why| drop(ended.send(SlotRequest::Ended(Some(why.to_owned())))),
            )
            .map_err(|error| WorkerError::System(format!("cannot start a thread: {error}")))?;
        }
        let work = &self.work;
        let trials = LocalTrials::new(self.trial_setup()?, STOP_GRACE);
        let mut trainer = Trainer::new(trials, work.max_resource, work.expected_report.clone());
        trainer.retries = work.retries;
        let (directory, places) = (self.directory.as_path(), BTreeMap::new());
        let mut trainings = WorkerTrainings { trainer, directory, slots, places, say, leave };
        let (mut open, mut refused) = (self.settings.slots, None);
        while open > 0 {
            if leave.load(Ordering::SeqCst) && !leaving.swap(true, Ordering::SeqCst) {
                say("the worker ends: running trials are handed back");
                trainings.trainer.hand_back_all();
            }
            for wish in wished.try_iter() {
                match wish {
                    SlotRequest::Ended(why) => {
                        open -= 1;
                        refused = refused.or(why);
                    }
                    wish => trainings.fulfill_request(wish, leaving.load(Ordering::SeqCst)),
                }
            }
            trainings.pass_on_events();
        }
        refused.map_or(Ok(()), |why| Err(WorkerError::Refused(why)))
    }

    fn make_slot(
        &self,
        number: usize,
        heard: Receiver<TrainingMessage>,
        wishes: Sender<SlotRequest>,
        leaving: Arc<AtomicBool>,
    ) -> WorkerSlot {
        let name = format!("{}/{number}", self.settings.name);
        WorkerSlot {
            number,
            link: HttpLink::new(self.settings.access.clone(), self.study.clone(), name),
            heard,
            wishes,
            leaving,
            idle_exit: self.settings.idle_exit,
            directory: self.directory.clone(),
            is_shared: self.is_shared,
        }
    }

    fn trial_setup(&self) -> Result<TrialSetup, WorkerError> {
        let Self { settings, work, .. } = self;
        Ok(TrialSetup {
            directory: self.directory.clone(),
            command: work.command.clone(),
            metric: work.metric_source()?,
            max_resource: work.max_resource,
            environment: settings.environment.clone(),
            space: work.space.clone(),
            watch: work.watch_settings(),
            gpus: settings.gpus.clone(),
            unplaced: work.unplaced.clone(),
            config: work.read_config()?,
            working_dir: Some(work.folder.clone()),
        })
    }
}

/// Refuses a name that leads out of the worker's folder: names come from the server.
fn check_name(name: &str) -> Result<(), WorkerError> {
    let mut parts = Path::new(name).components();
    let is_plain = matches!((parts.next(), parts.next()), (Some(std::path::Component::Normal(_)), None));
    if is_plain && !name.contains(char::is_control) && !name.ends_with('/') {
        return Ok(());
    }
    Err(WorkerError::Refused(format!(
        "the study {name:?} cannot be joined: this is not the name of a folder"
    )))
}

/// Why a worker has not joined a study.
enum JoinError {
    Away(String),
    Failed(WorkerError),
}

impl From<RequestError> for JoinError {
    fn from(trouble: RequestError) -> Self {
        match trouble {
            RequestError::Away(why) => Self::Away(why),
            RequestError::Refused { text, .. } => Self::Failed(WorkerError::Refused(text)),
        }
    }
}

impl WorkerTrainings<'_> {
    fn fulfill_request(&mut self, wish: SlotRequest, leaving: bool) {
        match wish {
            SlotRequest::Start(slot, given) if leaving => {
                self.tell_slot(slot, TrainingMessage::HandedBack);
                (self.say)(&format!("trial {} is handed back", given.trial()));
            }
            SlotRequest::Start(slot, given) => self.start_training(slot, given),
            SlotRequest::Stop(trial) => self.trainer.stop(trial),
            SlotRequest::Over(trial, is_useless) => {
                if is_useless {
                    self.trainer.discard(trial);
                }
            }
            SlotRequest::Say(text) => (self.say)(&text),
            SlotRequest::Ended(_) => {}
        }
    }

    fn start_training(&mut self, slot: usize, given: GivenTraining) {
        let trial = given.trial();
        (self.say)(&format!("trial {trial} starts after epoch {}", given.start.from));
        let directory = trial_directory(self.directory, trial);
        if !runs_elsewhere(&directory) {
            // what a killed worker of this machine left running; what cannot be looked for is not there
            let _ = end_abandoned(&directory, STOP_GRACE);
        }
        self.places.insert(trial, slot);
        if let Err(error) = self.trainer.start_training(slot, given) {
            let failure = TrainingFailure { why: error.to_string(), is_of_the_command: false };
            self.tell_slot(slot, TrainingMessage::Failed(failure));
        }
    }

    fn pass_on_events(&mut self) {
        for (given, happening) in self.trainer.receive_events(POLL_INTERVAL, Some(self.leave)) {
            let trial = given.trial();
            match happening {
                // the trainings of this worker share it
                TrainingEvent::Chosen(_) | TrainingEvent::PrintedLast(_) => {}
                TrainingEvent::Noticed(notice) => (self.say)(&format!("trial {trial}: {notice}")),
                TrainingEvent::Heard(heard) => {
                    match &heard {
                        TrainingMessage::Finished => (self.say)(&format!("trial {trial} has ended")),
                        TrainingMessage::HandedBack => {
                            (self.say)(&format!("trial {trial} has ended, and is handed back"))
                        }
                        TrainingMessage::Failed(failure) => {
                            (self.say)(&format!("trial {trial} has failed: {}", failure.why))
                        }
                        TrainingMessage::Alive
                        | TrainingMessage::Began { .. }
                        | TrainingMessage::Report(_)
                        | TrainingMessage::Read(_) => {}
                    }
                    if let Some(&slot) = self.places.get(&trial) {
                        self.tell_slot(slot, heard);
                    }
                }
            }
        }
    }

    fn tell_slot(&self, slot: usize, heard: TrainingMessage) {
        // a slot that has ended needs to hear nothing
        let _ = self.slots[slot].send(heard);
    }
}

#[cfg(test)]
mod tests {
    use super::check_name;

    #[test]
    fn a_study_whose_name_leads_elsewhere_is_refused() {
        for name in ["../x", "..", ".", "", "/etc", "a/b", "a/", "./a", "a\nb", "a\u{1b}[2J", "a\0"] {
            let error = check_name(name).expect_err(name).to_string();
            assert!(error.contains(&format!("{name:?}")) && !error.contains(['\n', '\u{1b}']), "{error}");
        }
        for name in ["digits", "a.b-c_1", "two words", "größe"] {
            check_name(name).expect(name);
        }
    }
}

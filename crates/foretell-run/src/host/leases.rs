//! The workers of the trials whose trainings are elsewhere, and how long each of them may be silent.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use foretell_search::TrainingStart;
use serde::{Deserialize, Serialize};

use crate::log::atomic_write::write_atomically;

/// The file in a study's folder that says who runs which trial, for the next process that hosts the study.
const LEASES_FILE: &str = "leases.json";
/// A training that only reports may be silent for this many times the mean pause between the study's reports.
// of the mean and not the longest pause, because a trial that changes workers has a pause as long as its lease: leases would
// grow
const SILENCE_PAUSE_FACTOR: u32 = 10;
/// The longest lease of a training that only reports; also while nothing is known of the study's pauses.
// with a minute, a script with epochs of ten minutes would lose every trial to another worker (decision 42)
const MAX_REPORT_LEASE: Duration = Duration::from_secs(3600);
/// A trial that has started again so often without passing its furthest epoch does not start once more.
// otherwise a trial that takes longer than its workers may run would start again for ever
const MAX_VAIN_STARTS: u32 = 2;

/// The time that a trial may be silent before another worker gets it.
///
/// | the training                | may be silent for                                                         |
/// |-----------------------------|---------------------------------------------------------------------------|
/// | renews its lease            | the lease                                                                 |
/// | only reports                | ten times the mean pause between reports, from the lease to an hour       |
/// | and none has reported yet   | an hour                                                                   |
///
/// A worker that renews promises to do so: a third of the lease is a good interval. One that only reports promises nothing; its
/// epochs may be long.
///
/// # What a lease promises
///
/// At any time at most one lease holds a trial, and only what its holder reports becomes part of the curve. A lease ends when its
/// worker tells the end or hands the trial back. When it expires, nothing happens until another worker asks: then the trial *moves*
/// to that worker, and the lease is *lost*. Messages that come with a lost lease:
///
/// | message                                                | nobody has reported a new step since     | somebody has |
/// |--------------------------------------------------------|------------------------------------------|--------------|
/// | a report that this lease has made before               | acknowledged, as a copy                  | the same     |
/// | a report of the next steps                             | recorded, as late: the trial moves back  | refused; its epochs count as trained |
/// | a report of a step that is recorded                    | refused; its epochs count as trained     | the same     |
/// | the end of a training that went well                   | the trial ends                           | refused      |
/// | a failure, `renew`, `begin`, a hand-back               | refused                                  | refused      |
///
/// So each curve is that of one training, or of several that each continued from the recorded end of the one before. A training
/// that continued after recorded epochs, and ends without a single report, has not completed: its checkpoint may be ahead of
/// the records. The trial continues elsewhere once, and the second time it fails. After a restart of the host, lost leases are
/// unknown, and all of their messages are refused.
#[derive(Debug)]
pub struct Leases {
    held: BTreeMap<u64, Lease>,
    lease: Duration,
    /// The pauses before reports, added up, and how many.
    pauses: (Duration, u32),
    /// Tells the keys of this host from those of the one before.
    stamp: String,
    keys_given: u64,
    noted: Option<PathBuf>,
    /// Trainings that their workers handed back: they continue elsewhere first of all.
    returned: VecDeque<TrainingStart>,
    /// The workers that name themselves.
    workers: BTreeMap<String, WorkerContact>,
    /// The leases that were lost, by trial.
    lost: BTreeMap<u64, Vec<LostLease>>,
    /// The trials whose training ended without a report after it had gone on.
    ended_silently: BTreeSet<u64>,
    /// How often each trial has started again since it passed its furthest epoch.
    again: BTreeMap<u64, VainStarts>,
    /// The limit that ends workers, in words.
    limit: Option<String>,
}

/// The starts of a trial that have trained nothing new.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct VainStarts {
    starts: u32,
    furthest: u64,
}

/// A lease whose trial has moved to another worker.
#[derive(Debug)]
struct LostLease {
    lease: Lease,
    /// Whether nobody has reported a new step since.
    may_return: bool,
}

impl LostLease {
    fn has_key(&self, key: Option<&str>) -> bool {
        key.is_some() && self.lease.key.as_deref() == key
    }
}

/// A training that nobody holds.
#[derive(Debug, PartialEq)]
pub(crate) struct UnheldTraining {
    pub(crate) start: TrainingStart,
    /// Whether a worker had it.
    pub(crate) had_worker: bool,
}

/// The sender of a message about a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MessageSender {
    /// The holder, or somebody who names no lease.
    Holder,
    /// A worker that has lost it, and may get it back.
    Returning,
    /// Anybody else.
    Stranger,
}

/// A worker that names itself.
#[derive(Clone, Copy, Debug)]
struct WorkerContact {
    last_heard: Instant,
    /// The number of its last `ask`; a lower one was late on its way.
    turn: u64,
}

/// The presentation of a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkerView {
    /// Its name.
    pub name: String,
    /// The trial that it runs.
    pub trial: Option<u64>,
    /// The time since it was last heard, in seconds.
    pub heard_seconds_ago: f64,
}

/// The lease of the worker that runs a trial.
#[derive(Debug)]
pub(crate) struct Lease {
    pub(crate) start: TrainingStart,
    /// Unknown where the host before noted none: the first key that is named is taken.
    pub(crate) key: Option<String>,
    pub(crate) worker: Option<String>,
    heard: Instant,
    renews: bool,
    /// Whether the training runs in the process that hosts the study: it is never silent.
    is_here: bool,
    /// Whether the training has announced where it continues, or reported a step of before.
    has_begun: bool,
    /// The number of the attempt that it began last, where it numbers them.
    attempt: Option<u64>,
    /// The epochs after which it has begun.
    base: u64,
    /// The last step that was reported under it.
    step: Option<u64>,
    /// Whether the host before noted the lease: its training may have reported there.
    is_noted: bool,
    /// The time that the worker may be silent, if not the usual one: no time at all if no worker was given the lease.
    patience: Option<Duration>,
}

/// A lease as it is noted.
#[derive(Debug, Default, Serialize, Deserialize)]
struct LeaseNote {
    lease: Option<String>,
    worker: Option<String>,
    #[serde(default)]
    renews: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    again: VainStarts,
}

fn is_default(again: &VainStarts) -> bool {
    *again == VainStarts::default()
}

impl Leases {
    /// Leases of this length.
    pub fn new(lease: Duration) -> Self {
        let since = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        let stamp = format!("{:x}", since.as_nanos());
        Self {
            held: BTreeMap::new(),
            lease,
            pauses: (Duration::ZERO, 0),
            stamp,
            keys_given: 0,
            noted: None,
            returned: VecDeque::new(),
            workers: BTreeMap::new(),
            lost: BTreeMap::new(),
            ended_silently: BTreeSet::new(),
            again: BTreeMap::new(),
            limit: None,
        }
    }

    /// Names the limit that ends workers, for example "their time limit 1:00:00".
    #[must_use]
    pub fn with_limit(self, limit: Option<String>) -> Self {
        Self { limit, ..self }
    }

    /// Notes the leases in the study's `folder`, so that a worker finds its trial again when the host is restarted.
    #[must_use]
    pub fn with_folder(self, folder: &Path) -> Self {
        Self { noted: Some(folder.join(LEASES_FILE)), ..self }
    }

    /// Starts from the [pauses](foretell_search::StudyTimes::pauses) that the study's log knows.
    #[must_use]
    pub fn with_pauses(self, (milliseconds, count): (u64, u64)) -> Self {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        Self { pauses: (Duration::from_millis(milliseconds), count), ..self }
    }

    /// The time within which a training that renews should be heard.
    pub(crate) fn lease_duration(&self) -> Duration {
        self.lease
    }

    pub(crate) fn lease_of(&self, trial: u64) -> Option<&Lease> {
        self.held.get(&trial)
    }

    pub(crate) fn held_trials(&self) -> Vec<u64> {
        self.held.keys().copied().collect()
    }

    /// The trial that `worker` runs.
    pub(crate) fn trial_of_worker(&self, worker: &str) -> Option<u64> {
        let held = self.held.iter().find(|(_, lease)| lease.worker.as_deref() == Some(worker));
        held.map(|(trial, _)| *trial)
    }

    /// Whether the worker of `trial` has been silent for too long.
    pub(crate) fn is_silent(&self, trial: u64) -> bool {
        let lease = self.held.get(&trial);
        lease.is_some_and(|lease| !lease.is_here && lease.heard.elapsed() >= self.max_silence(lease))
    }

    fn max_silence(&self, lease: &Lease) -> Duration {
        let longest = self.lease.max(MAX_REPORT_LEASE);
        match self.pauses {
            _ if lease.patience.is_some() => lease.patience.unwrap_or_default(),
            _ if lease.renews => self.lease,
            (_, 0) => longest,
            (pauses, count) => {
                (pauses / count).saturating_mul(SILENCE_PAUSE_FACTOR).clamp(self.lease, longest)
            }
        }
    }

    /// Hands the training out under a key of its own.
    pub(crate) fn grant_lease(&mut self, start: TrainingStart, worker: Option<&str>) {
        let (trial, key) = (start.trial, self.next_key());
        self.insert_lease(start, Some(key), worker.map(str::to_owned));
        // a worker that asks in turns renews its lease from the beginning
        let promises = worker.is_some_and(|name| self.workers.contains_key(name));
        if let Some(lease) = self.held.get_mut(&trial) {
            lease.renews = promises;
        }
        // before the worker gets its answer: a trial without a note was given to nobody, see `take_over`
        self.write_notes();
    }

    /// The training runs in the process that hosts the study: it has a key, so that reports of others are refused.
    pub(crate) fn grant_local_lease(&mut self, start: TrainingStart) -> String {
        let (trial, key) = (start.trial, self.next_key());
        self.insert_lease(start, Some(key.clone()), None);
        if let Some(lease) = self.held.get_mut(&trial) {
            lease.is_here = true;
        }
        key
    }

    fn next_key(&mut self) -> String {
        self.keys_given += 1;
        format!("{}-{}", self.stamp, self.keys_given - 1)
    }

    /// The trials that the host before noted as run elsewhere.
    pub(crate) fn noted_trials(&self) -> Vec<u64> {
        self.read_notes().unwrap_or_default().into_keys().collect()
    }

    /// The leases that the host before noted; `None` if the file is missing or damaged.
    fn read_notes(&self) -> Option<BTreeMap<u64, LeaseNote>> {
        serde_json::from_slice(&crate::regular::read(self.noted.as_ref()?).ok()?).ok()
    }

    /// Takes over trials that ran under the host before.
    ///
    /// A lease is noted before its worker gets an answer. So a trial without a note was given to nobody, because the host ended in
    /// between, and the next worker that asks gets it at once. If the notes are missing as a whole, any trial may have a worker.
    pub(crate) fn take_over(&mut self, starts: Vec<TrainingStart>) {
        let mut noted = self.read_notes();
        for start in starts {
            let trial = start.trial;
            let known = noted.as_mut().map(|noted| noted.remove(&trial));
            let is_nobodys = matches!(known, Some(None));
            let LeaseNote { lease, worker, renews, again } = known.flatten().unwrap_or_default();
            self.insert_lease(start, lease, worker);
            self.again.insert(trial, again);
            if let Some(lease) = self.held.get_mut(&trial) {
                (lease.renews, lease.is_noted) = (renews, true);
                lease.patience = is_nobodys.then_some(Duration::ZERO);
            }
        }
        self.write_notes();
    }

    fn insert_lease(&mut self, start: TrainingStart, key: Option<String>, worker: Option<String>) {
        let heard = Instant::now();
        let base = start.from;
        let lease = Lease {
            start,
            key,
            worker,
            heard,
            renews: false,
            is_here: false,
            has_begun: false,
            attempt: None,
            base,
            step: None,
            is_noted: false,
            patience: None,
        };
        self.held.insert(lease.start.trial, lease);
    }

    /// Takes a trial from a worker that has been silent for too long.
    fn reclaim_silent(&mut self) -> Option<UnheldTraining> {
        let trial = self.held_trials().into_iter().find(|&trial| self.is_silent(trial))?;
        // without a key no worker is known, so that the start does not count as one in vain
        let had_worker = self.lease_of(trial).is_some_and(|lease| lease.key.is_some());
        self.lose_lease(trial).map(|start| UnheldTraining { start, had_worker })
    }

    /// The training of `trial`, which has `trained` so many epochs, is to start again. If it has done so too often without training anything
    /// new, an error with the reason.
    pub(crate) fn start_again(&mut self, trial: u64, trained: u64) -> Result<(), String> {
        let again = self.again.entry(trial).or_default();
        if trained > again.furthest {
            *again = VainStarts { starts: 0, furthest: trained };
        }
        again.starts += 1;
        if again.starts <= MAX_VAIN_STARTS {
            return Ok(());
        }
        self.again.remove(&trial);
        let passed = match trained {
            0 => "without reporting an epoch".to_owned(),
            trained => format!("without passing epoch {trained}"),
        };
        let limit = self.limit.as_deref().unwrap_or("a time limit or a lost machine");
        Err(format!(
            "it started {} times {passed}, because its worker always ended before ({limit}). Raise the limit above the time of a trial, or write checkpoints to FORETELL_CHECKPOINT_DIR, from which a trial continues",
            MAX_VAIN_STARTS + 1
        ))
    }

    /// The holder of `trial` loses it.
    fn lose_lease(&mut self, trial: u64) -> Option<TrainingStart> {
        let lease = self.held.remove(&trial)?;
        let start = lease.start.clone();
        self.lost.entry(trial).or_default().push(LostLease { lease, may_return: true });
        Some(start)
    }

    fn find_lost_lease(&self, trial: u64, key: Option<&str>) -> Option<&LostLease> {
        self.lost.get(&trial)?.iter().find(|lost| lost.has_key(key))
    }

    /// Gives `trial` back to the worker that has lost it with the lease `key`, from the one that it moved to.
    pub(crate) fn give_back(&mut self, trial: u64, key: Option<&str>) {
        let Some(lost) = self.lost.get_mut(&trial) else { return };
        let Some(place) = lost.iter().position(|lost| lost.has_key(key)) else { return };
        let mut lease = lost.remove(place).lease;
        (lease.heard, lease.patience) = (Instant::now(), None);
        // the worker that it moved to may have handed it back, and then it must not be handed out once more
        self.returned.retain(|start| start.trial != trial);
        self.lose_lease(trial);
        self.held.insert(trial, lease);
        self.write_notes();
    }

    /// A new step of `trial` was reported: no worker that has lost it continues from its present step.
    pub(crate) fn forbid_return(&mut self, trial: u64) {
        for lost in self.lost.get_mut(&trial).into_iter().flatten() {
            lost.may_return = false;
        }
    }

    /// Notes that `step` of `trial` was reported under the lease `key`, and answers how many epochs were trained for it since the
    /// last one; 0 if it was reported before. The first report under a lease tells nothing of the steps that are recorded up to
    /// `before`: its training may have gone on from another worker's checkpoint.
    pub(crate) fn record_step(&mut self, trial: u64, step: u64, before: u64, key: Option<&str>) -> u64 {
        let lost = self.lost.get_mut(&trial).into_iter().flatten().map(|lost| &mut lost.lease);
        let lease = lost.filter(|lease| key.is_some() && lease.key.as_deref() == key).last();
        let Some(lease) = lease.or(self.held.get_mut(&trial)) else { return 0 };
        let epochs = match lease.step {
            Some(last) => step.saturating_sub(last),
            // the epoch that is reported was trained in any case
            None => step.saturating_sub(lease.base.max(before)).max(1),
        };
        lease.step = lease.step.max(Some(step));
        epochs
    }

    /// Whether `key` is that of a lease that has lost `trial`.
    pub(crate) fn is_lost(&self, trial: u64, key: Option<&str>) -> bool {
        self.find_lost_lease(trial, key).is_some()
    }

    /// Whether `step` of `trial` was reported under the lost lease `key`.
    pub(crate) fn has_reported(&self, trial: u64, step: u64, key: Option<&str>) -> bool {
        let lost = self.find_lost_lease(trial, key);
        lost.is_some_and(|lost| lost.lease.step.is_some_and(|last| step <= last))
    }

    /// Whether the training of `trial`, which ends now, went on after epochs that are recorded, and has reported nothing since.
    pub(crate) fn is_silent_end(&self, trial: u64) -> bool {
        // a lease of the host before may have reported there, which is not known here
        let lease = self.held.get(&trial);
        lease.is_some_and(|lease| lease.step.is_none() && lease.start.from > 0 && !lease.is_noted)
    }

    /// The training of `trial` has ended without a report: whether that is the first time.
    pub(crate) fn note_silent_end(&mut self, trial: u64) -> bool {
        self.ended_silently.insert(trial)
    }

    /// Makes the worker of `trial` silent for too long.
    #[cfg(test)]
    pub(crate) fn expire_lease(&mut self, trial: u64) {
        if let Some(lease) = self.held.get_mut(&trial) {
            lease.patience = Some(Duration::ZERO);
        }
    }

    pub(crate) fn end_lease(&mut self, trial: u64) -> Option<Lease> {
        self.held.remove(&trial)
    }

    /// The worker of `trial` hands it back.
    pub(crate) fn hand_back(&mut self, trial: u64) {
        if let Some(lease) = self.end_lease(trial) {
            self.returned.push_back(lease.start);
            self.write_notes();
        }
    }

    /// Whether `trial` was handed back, and nobody has it yet.
    pub(crate) fn is_handed_back(&self, trial: u64) -> bool {
        self.returned.iter().any(|start| start.trial == trial)
    }

    /// The first training that was handed back, else one whose worker is silent.
    pub(crate) fn next_unheld(&mut self) -> Option<UnheldTraining> {
        let returned = self.returned.pop_front().map(|start| UnheldTraining { start, had_worker: true });
        returned.or_else(|| self.reclaim_silent())
    }

    /// The training of `trial` begins, or begins again, with `trained` epochs reported: it may repeat those. Answers whether this is
    /// no copy of an earlier message: attempts are numbered.
    pub(crate) fn note_attempt(
        &mut self,
        trial: u64,
        trained: u64,
        after: u64,
        attempt: Option<u64>,
    ) -> bool {
        let Some(lease) = self.held.get_mut(&trial) else { return true };
        if attempt.is_some() && lease.attempt >= attempt {
            return false;
        }
        lease.attempt = attempt.or(lease.attempt);
        (lease.start.from, lease.has_begun) = (trained, true);
        (lease.base, lease.step) = (after, None);
        true
    }

    /// Whether a report of `step` is the first sign that the training of `trial` repeats what was reported before its lease.
    pub(crate) fn note_first_repeat(&mut self, trial: u64, step: u64) -> bool {
        let lease = self.held.get_mut(&trial).filter(|lease| step <= lease.start.from);
        lease.is_some_and(|lease| !std::mem::replace(&mut lease.has_begun, true))
    }

    /// Whether the training of `trial` may report `step` again, with another value: it went on from before it.
    pub(crate) fn may_repeat(&self, trial: u64, step: u64) -> bool {
        self.held.get(&trial).is_some_and(|lease| step <= lease.start.from)
    }

    /// Worker `name` asks for the `turn`th time. Answers whether that ask is not outdated.
    pub(crate) fn accept_turn(&mut self, name: &str, turn: u64) -> bool {
        let heard = Instant::now();
        let seen = self.workers.entry(name.to_owned()).or_insert(WorkerContact { last_heard: heard, turn });
        // an equal number is a question that got no answer, and is asked again
        if turn < seen.turn {
            return false;
        }
        *seen = WorkerContact { last_heard: heard, turn };
        true
    }

    /// Worker `name` knows that there is nothing more to do.
    pub(crate) fn dismiss_worker(&mut self, name: &str) {
        self.workers.remove(name);
    }

    /// The workers that name themselves and were heard in the last `time`.
    pub(crate) fn recent_workers(&self, time: Duration) -> Vec<WorkerView> {
        let views = self.workers.iter().map(|(name, seen)| {
            let trial = self.trial_of_worker(name);
            let heard = trial.and_then(|trial| self.lease_of(trial)).map_or(seen.last_heard, |it| it.heard);
            let heard_seconds_ago = heard.max(seen.last_heard).elapsed().as_secs_f64();
            WorkerView { name: name.clone(), trial, heard_seconds_ago }
        });
        views.filter(|view| view.heard_seconds_ago < time.as_secs_f64()).collect()
    }

    /// Whether no training runs elsewhere.
    pub(crate) fn has_no_remote_trials(&self) -> bool {
        self.held.values().all(|lease| lease.is_here)
    }

    /// The sender of a message about `trial` under the lease `key`; one that names none is believed.
    pub(crate) fn classify_sender(&mut self, trial: u64, key: Option<&str>) -> MessageSender {
        let is_here = self.held.get(&trial).is_some_and(|lease| lease.is_here);
        if let Some(lost) = self.find_lost_lease(trial, key) {
            return if lost.may_return && !is_here {
                MessageSender::Returning
            } else {
                MessageSender::Stranger
            };
        }
        let is_returned = key.is_some() && self.is_handed_back(trial);
        let Some(lease) = self.held.get_mut(&trial) else {
            return if is_returned { MessageSender::Stranger } else { MessageSender::Holder };
        };
        match (&lease.key, key) {
            (Some(there), Some(given)) if there != given => MessageSender::Stranger,
            (None, Some(given)) => {
                lease.key = Some(given.to_owned());
                MessageSender::Holder
            }
            _ => MessageSender::Holder,
        }
    }

    /// The worker of `trial` was heard.
    pub(crate) fn note_life_sign(&mut self, trial: u64, sign: LifeSign) {
        let Some(lease) = self.held.get_mut(&trial) else { return };
        match sign {
            LifeSign::Asked => {}
            LifeSign::Renewed => lease.renews = true,
            // where renewals come in between, the time since the last sign is no pause between reports
            LifeSign::Reported if lease.renews => {}
            LifeSign::Reported => {
                let (pauses, count) = self.pauses;
                self.pauses = (pauses.saturating_add(lease.heard.elapsed()), count.saturating_add(1));
            }
        }
        (lease.heard, lease.patience) = (Instant::now(), None);
    }

    fn write_notes(&self) {
        let Some(file) = &self.noted else { return };
        let elsewhere = self.held.iter().filter(|(_, lease)| !lease.is_here);
        let noted = elsewhere.map(|(trial, lease)| {
            let again = self.again.get(trial).copied().unwrap_or_default();
            let (key, worker) = (lease.key.clone(), lease.worker.clone());
            (*trial, LeaseNote { lease: key, worker, renews: lease.renews, again })
        });
        let noted: BTreeMap<u64, LeaseNote> = noted.collect();
        // without it a worker waits for a lease after a restart, and no more: no trial is held up for it
        let _ = serde_json::to_vec(&noted).map(|text| write_atomically(file, &text));
    }
}

/// The sign by which a worker was heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LifeSign {
    /// The worker asked for its own trial again.
    Asked,
    /// The worker renewed its lease.
    Renewed,
    /// The training reported.
    Reported,
}

#[cfg(test)]
mod tests {
    use super::{Leases, LifeSign, MAX_REPORT_LEASE, UnheldTraining};
    use foretell_search::TrainingStart;
    use std::time::Duration;

    const MINUTE: Duration = Duration::from_secs(60);

    /// The start of trial 0, of nine epochs.
    fn first_start() -> TrainingStart {
        TrainingStart {
            trial: 0,
            configuration: Default::default(),
            seed: 0,
            from: 0,
            until: 9,
            reported: None,
            read: None,
        }
    }

    fn held(leases: Leases) -> Leases {
        let mut leases = leases;
        leases.grant_lease(first_start(), None);
        leases
    }

    fn patience(leases: &Leases) -> Duration {
        leases.max_silence(leases.lease_of(0).expect("it is held"))
    }

    #[test]
    fn who_renews_has_the_lease_and_who_only_reports_ten_pauses() {
        assert_eq!(patience(&held(Leases::new(MINUTE))), MAX_REPORT_LEASE, "nothing is known yet");
        let cases = [(10, MINUTE), (30_000, Duration::from_secs(300)), (7_200_000, MAX_REPORT_LEASE)];
        for (milliseconds, expected) in cases {
            assert_eq!(patience(&held(Leases::new(MINUTE).with_pauses((3 * milliseconds, 3)))), expected);
        }
        let mut renewing = held(Leases::new(MINUTE).with_pauses((7_200_000, 1)));
        renewing.note_life_sign(0, LifeSign::Renewed);
        assert_eq!(patience(&renewing), MINUTE);
        let mut reporting = held(Leases::new(MINUTE));
        reporting.note_life_sign(0, LifeSign::Reported);
        assert_eq!(patience(&reporting), MINUTE, "its pause was short");
    }

    #[test]
    fn after_a_restart_a_trial_that_was_given_to_nobody_is_free_at_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let start = |trial| TrainingStart { trial, ..first_start() };
        let restarted = || {
            let mut leases = Leases::new(MINUTE).with_folder(folder.path());
            leases.take_over(vec![start(0), start(1)]);
            leases
        };
        let nobody_knows = restarted().next_unheld();
        assert_eq!(nobody_knows, None, "without notes, any of them may have a worker");
        std::fs::write(folder.path().join(super::LEASES_FILE), "{}").expect("it is written");
        let mut before = Leases::new(MINUTE).with_folder(folder.path());
        before.grant_lease(start(0), Some("a"));
        // the host ended after it had recorded trial 1 and before it noted a worker
        let mut after = restarted();
        assert_eq!(after.next_unheld(), Some(UnheldTraining { start: start(1), had_worker: false }));
        assert_eq!(after.next_unheld(), None, "trial 0 has its worker");
    }
    #[test]
    fn a_trial_starts_again_twice_without_a_new_epoch_and_a_restart_of_the_host_does_not_forget_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let start = first_start();
        let limit = Some("time limit of the jobs: 1:00:00".to_owned());
        let host = || Leases::new(MINUTE).with_folder(folder.path()).with_limit(limit.clone());
        let mut leases = host();
        assert_eq!(leases.start_again(0, 5), Ok(()));
        assert_eq!(leases.start_again(0, 6), Ok(()), "epoch 6 is new");
        assert_eq!(leases.start_again(0, 6), Ok(()));
        leases.grant_lease(start.clone(), Some("a"));
        let mut leases = host();
        leases.take_over(vec![start]);
        let why = leases.start_again(0, 6).expect_err("the third time");
        assert!(why.contains("3 times without passing epoch 6") && why.contains("1:00:00"), "{why}");
    }
}

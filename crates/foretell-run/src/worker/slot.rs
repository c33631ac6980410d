//! One slot of a worker: a thread that asks for a training, passes on what it reports, and obeys the answers.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use foretell_search::Start;

use super::client::Trouble;
use super::link::{Asked, Given, Link};
use super::unsent::Unsent;
use crate::hosted::Reading;
use crate::local_trials::trial_directory;

/// The pauses between tries while the server is away, or has nothing to do: from the first to the last.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));
/// A slot whose training has ended waits at least so long for a server that is away.
const AWAY: Duration = Duration::from_secs(600);
/// How long a worker that is asked to end tries to hand back its training.
const PARTING: Duration = Duration::from_secs(8);

/// What a slot hears of its training.
#[derive(Debug)]
pub(super) enum Heard {
    /// It repeats epochs: it has begun after so many.
    Began(u64),
    /// It reports.
    Report(Reading),
    /// It has ended well, or was stopped.
    Finished,
    /// It has failed.
    Failed(String),
    /// It was interrupted, since this worker ends.
    HandedBack,
}

/// What a slot wants.
#[derive(Debug)]
pub(super) enum Wish {
    /// A training to be started in slot number `.0`.
    Start(usize, Start),
    /// The training of a trial to be stopped.
    Stop(u64),
    /// The training of a trial is over; whether its checkpoints are of no more use.
    Over(u64, bool),
    /// Something to be said.
    Say(String),
    /// A slot has ended; the text says why, if that is an error.
    Ended(Option<String>),
}

/// One slot.
pub(super) struct Slot {
    pub(super) number: usize,
    pub(super) link: Link,
    pub(super) heard: Receiver<Heard>,
    pub(super) wishes: Sender<Wish>,
    /// Whether the worker is to end.
    pub(super) leaving: Arc<AtomicBool>,
    /// How long a slot without a training stays.
    pub(super) idle_exit: Option<Duration>,
    /// The folder that the trials' folders are in.
    pub(super) directory: PathBuf,
    /// Whether the study's process removes checkpoints.
    pub(super) is_shared: bool,
}

/// A training on its way through a slot.
struct Training {
    given: Given,
    /// What was heard and not passed on yet.
    waiting: VecDeque<Heard>,
    unsent: Unsent,
    /// Since when the server is away.
    away: Option<Instant>,
    /// When the server was last heard.
    answered: Instant,
    /// Whether it was asked to stop.
    is_stopped: bool,
}

/// What the server answers.
enum Sent {
    /// Whether to stop.
    Answer(bool),
    /// How the trial is, once its training has ended.
    End(String),
}

/// How a training goes on.
enum Step {
    GoesOn,
    Over,
}

impl Slot {
    /// Trains until there is nothing more to do, the worker is to end, or there was nothing to do for long.
    pub(super) fn run(mut self) {
        let why = self.work().err();
        self.wish(Wish::Ended(why));
    }

    fn work(&mut self) -> Result<(), String> {
        let (mut idle_since, mut pause, mut said) = (Instant::now(), PAUSES.0, false);
        while !self.is_leaving() {
            match self.link.ask() {
                Ok(Asked::Task(given)) => {
                    self.train(given);
                    (idle_since, pause, said) = (Instant::now(), PAUSES.0, false);
                    continue;
                }
                Ok(Asked::Done) => return Ok(()),
                Ok(Asked::Nothing) => {}
                // an earlier question of this worker came late: it is asked again by the next number
                Err(Trouble::Refused { field, .. }) if field.as_deref() == Some("turn") => {}
                Err(Trouble::Refused { text, .. }) => return Err(text),
                Err(Trouble::Away(text)) => {
                    if !std::mem::replace(&mut said, true) {
                        self.wish(Wish::Say(format!("the server is away ({text}); trying again")));
                    }
                }
            }
            if self.idle_exit.is_some_and(|most| idle_since.elapsed() >= most) {
                return Ok(());
            }
            self.sleep(pause);
            pause = (pause * 2).min(PAUSES.1);
        }
        Ok(())
    }

    /// Sleeps for `time`, or until the worker is to end.
    fn sleep(&self, time: Duration) {
        let until = Instant::now() + time;
        while !self.is_leaving() && Instant::now() < until {
            std::thread::sleep(PAUSES.0.min(until.saturating_duration_since(Instant::now())));
        }
    }

    fn train(&mut self, given: Given) {
        let trial = given.start.trial;
        let (unsent, left) = Unsent::of(&trial_directory(&self.directory, trial));
        let mut waiting: VecDeque<Heard> = left.into_iter().map(Heard::Report).collect();
        if !waiting.is_empty() {
            // what the worker before reported is repeated by this one
            waiting.push_back(Heard::Began(given.start.from));
        }
        let start = given.start.clone();
        let answered = Instant::now();
        let mut training = Training { given, waiting, unsent, away: None, answered, is_stopped: false };
        self.wish(Wish::Start(self.number, start));
        while let Step::GoesOn = self.listen(&mut training) {}
    }

    /// Takes in what is heard of the training, and passes the first of it on; shows that it is alive where nothing is heard.
    fn listen(&mut self, training: &mut Training) -> Step {
        let renewal = training.given.lease / 3;
        let wait = match (training.away, training.waiting.is_empty()) {
            (Some(since), _) => since.elapsed().clamp(PAUSES.0, PAUSES.1),
            (None, false) => Duration::ZERO,
            (None, true) => renewal.saturating_sub(training.answered.elapsed()),
        };
        if !self.take_in(training, wait) {
            return Step::Over;
        }
        let is_due = training.answered.elapsed() >= renewal;
        let sent = match training.waiting.front() {
            Some(heard) => self.send(&training.given, heard),
            None if is_due || training.away.is_some() => self.link.renew(&training.given).map(Sent::Answer),
            None => return Step::GoesOn,
        };
        match sent {
            Ok(sent) => self.obey(training, sent),
            Err(Trouble::Away(text) | Trouble::Refused { status: 401 | 403, text, .. }) => {
                self.wait_for_server(training, &text)
            }
            Err(Trouble::Refused { text, field, .. }) => {
                let is_report = matches!(training.waiting.front(), Some(Heard::Report(_)));
                if is_report && field.as_deref().is_some_and(|field| ["value", "step"].contains(&field)) {
                    self.wish(Wish::Say(format!("a report is not recorded: {text}")));
                    training.waiting.pop_front();
                    return Step::GoesOn;
                }
                self.abandon(training, &text)
            }
        }
    }

    /// Takes in what is heard, and waits up to `wait` for the first; `false` if nobody runs trainings any more.
    fn take_in(&self, training: &mut Training, wait: Duration) -> bool {
        let first = match self.heard.recv_timeout(wait) {
            Ok(first) => first,
            Err(RecvTimeoutError::Timeout) => return true,
            Err(RecvTimeoutError::Disconnected) => return false,
        };
        for heard in std::iter::once(first).chain(self.heard.try_iter()) {
            if let (Heard::Report(reading), true) = (&heard, training.away.is_some()) {
                training.unsent.keep(reading);
            }
            training.waiting.push_back(heard);
        }
        true
    }

    fn send(&mut self, given: &Given, heard: &Heard) -> Result<Sent, Trouble> {
        let link = &mut self.link;
        match heard {
            Heard::Began(after) => link.begin(given, *after).map(Sent::Answer),
            Heard::Report(reading) => link.report(given, reading).map(Sent::Answer),
            Heard::Finished => link.tell(given, None).map(Sent::End),
            Heard::Failed(why) => link.tell(given, Some(why)).map(Sent::End),
            Heard::HandedBack => link.hand_back(given).map(Sent::End),
        }
    }

    fn obey(&self, training: &mut Training, sent: Sent) -> Step {
        if let Some(since) = training.away.take() {
            let seconds = since.elapsed().as_secs();
            self.wish(Wish::Say(format!("the server is back after {seconds} s")));
        }
        training.answered = Instant::now();
        training.waiting.pop_front();
        if training.waiting.is_empty() {
            training.unsent.clear();
        }
        let trial = training.given.start.trial;
        match sent {
            Sent::Answer(true) if !std::mem::replace(&mut training.is_stopped, true) => {
                self.wish(Wish::Stop(trial));
                Step::GoesOn
            }
            Sent::Answer(_) => Step::GoesOn,
            Sent::End(state) => {
                let is_of_use = ["paused", "handed_back", "completed", "running"].contains(&state.as_str());
                self.wish(Wish::Over(trial, !self.is_shared && !is_of_use));
                Step::Over
            }
        }
    }

    /// The server is away: reports wait on disk, and the training goes on.
    fn wait_for_server(&self, training: &mut Training, why: &str) -> Step {
        let is_first = training.away.is_none();
        let since = *training.away.get_or_insert_with(Instant::now);
        if is_first {
            let trial = training.given.start.trial;
            self.wish(Wish::Say(format!(
                "the server is away ({why}); trial {trial} goes on, and its reports wait on disk"
            )));
            for heard in &training.waiting {
                if let Heard::Report(reading) = heard {
                    training.unsent.keep(reading);
                }
            }
        }
        let patience = if self.is_leaving() { Some(PARTING) } else { self.idle_exit.map(|it| it.max(AWAY)) };
        if training.has_ended() && patience.is_some_and(|most| since.elapsed() >= most) {
            self.wish(Wish::Over(training.given.start.trial, false));
            return Step::Over;
        }
        Step::GoesOn
    }

    /// The trial is not this worker's any more: its training is ended.
    fn abandon(&self, training: &mut Training, why: &str) -> Step {
        let trial = training.given.start.trial;
        self.wish(Wish::Say(format!("trial {trial} is left: {why}")));
        self.wish(Wish::Stop(trial));
        while !training.has_ended() && self.take_in(training, PAUSES.1) {}
        training.unsent.clear();
        self.wish(Wish::Over(trial, false));
        Step::Over
    }

    fn wish(&self, wish: Wish) {
        // without anybody who fulfils it, the worker has ended
        let _ = self.wishes.send(wish);
    }

    fn is_leaving(&self) -> bool {
        self.leaving.load(Ordering::SeqCst)
    }
}

impl Training {
    /// Whether its process has ended.
    fn has_ended(&self) -> bool {
        let ends = |heard: &Heard| matches!(heard, Heard::Finished | Heard::Failed(_) | Heard::HandedBack);
        self.waiting.iter().any(ends)
    }
}
